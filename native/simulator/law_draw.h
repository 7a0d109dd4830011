/* law_draw.h - rows drawn from a popularity law, and the law of a small model of it. */
#ifndef TS_SIMULATOR_LAW_DRAW_H
#define TS_SIMULATOR_LAW_DRAW_H

#include "base/zipf.h"
#include "simulator/law.h"

typedef struct ts_draw_bucket {
  uint64_t first, rows; /* rows [first, first + rows) by popularity */
  ts_alias alias;
} ts_draw_bucket;

typedef struct ts_law_draw {
  uint32_t count;
  ts_draw_bucket *buckets;
} ts_law_draw;

/* Errors: TS_ENOMEM. */
int32_t ts_law_draw_create(const ts_law *law, ts_law_draw *out, ts_err err);
void ts_law_draw_free(ts_law_draw *draw);

/* The number of a row, most popular first, out of one random word. */
static inline uint64_t ts_law_row(const ts_law_draw *draw, uint64_t word) {
  const ts_draw_bucket *b = &draw->buckets[(word >> 32) * draw->count >> 32];
  if ((uint32_t)word >= b->alias.stay) b = &draw->buckets[b->alias.other];
  if (b->rows == 1) return b->first;
  return b->first + (uint64_t)((unsigned __int128)ts_mix64(word + 0x9e3779b97f4a7c15u) * b->rows >> 64);
}

/* A law of about rows * share rows, share in (0, 1]: each of its rows stands for 1 / share neighbours in popularity and has
 * the sum of their weights. It is to the law what a sample of its rows is (SHARDS, Waldspurger et al. 2015), without the
 * sample's luck with the most popular ones. Errors: TS_EINVAL, TS_ENOMEM. */
int32_t ts_law_scale(const ts_law *law, double share, ts_law *out, ts_err err);

#endif
