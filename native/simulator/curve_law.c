/* curve_law.c - the curve of a popularity law of any number of rows, whatever the policy.
 *
 * A cache of a thousand million rows behaves as one of some ten thousand does, if the law is smaller by the same factor:
 * what decides is how popular the rows are near the border, not how many they are. So each size gets a model of the law
 * (ts_law_scale) in which its cache has `samples` rows. Its batches are smaller by the factor, too. What a batch counts once
 * is computed for the law itself, because the model's most popular rows stand for many. */
#include "simulator/curve.h"

#include "cache/key_table.h"
#include "cache/opt.h"
#include "cache/replay_batches.h"
#include "simulator/law_draw.h"

#include <stdlib.h>
#include <string.h>

#define FILL 4u        /* misses a place of the cache before anything counts, ... */
#define MOST_WARM 64u  /* ... but no more lookups a place than this */
#define COUNTED 40000u /* misses that are counted: half a percent of the ratio */
#define LEAST 400000u  /* lookups that are, at least */
#define MOST 8000000u
#define PIECE 16384u

typedef struct model {
  ts_law law;
  ts_law_draw draw;
  uint64_t seed, drawn;
} model;

static void draw(model *m, int64_t *keys, uint64_t n) {
  for (uint64_t i = 0; i < n; i++) keys[i] = (int64_t)ts_law_row(&m->draw, ts_random64(m->seed, 0, m->drawn++));
}

/* Misses a lookup of a policy of the store. */
static int32_t replay(model *m, ts_policy_kind kind, uint64_t size, uint64_t batch, double *ratio, ts_curve_facts *facts) {
  ts_batches *cache;
  int32_t status = ts_batches_create(kind, size, &cache);
  int64_t *keys = malloc(TS_MAX(batch, PIECE) * sizeof *keys);
  if (status == TS_OK && keys == NULL) status = TS_ENOMEM;
  uint64_t rows = 0, misses = 0, lookups = 0, before = 0, start = 0;
  bool counting = false;
  const uint64_t at_once = TS_MAX(batch, PIECE / batch * batch);
  while (status == TS_OK) {
    draw(m, keys, at_once);
    for (uint64_t i = 0; i < at_once; i += batch) ts_batches_run(cache, keys + i, batch, &rows, &misses);
    lookups += at_once;
    if (!counting && (misses >= FILL * size || lookups >= MOST_WARM * size)) {
      counting = true;
      before = misses;
      start = lookups;
    } else if (counting && lookups - start >= LEAST && (misses - before >= COUNTED || lookups - start >= MOST)) {
      *ratio = (double)(misses - before) / (double)(lookups - start);
      break;
    }
  }
  facts->replayed += lookups;
  if (status == TS_OK) facts->bytes = TS_MAX(facts->bytes, ts_batches_bytes(cache));
  ts_batches_destroy(cache);
  free(keys);
  return status;
}

/* The same of Belady's: its stream must be known, with each row once a batch. */
static int32_t replay_opt(model *m, uint64_t size, uint64_t batch, double *ratio, ts_curve_facts *facts) {
  const uint64_t warm = TS_ROUND_UP(16 * size, batch), counted = TS_ROUND_UP(TS_MAX(8 * size, LEAST), batch);
  int64_t *keys = malloc((warm + counted) * sizeof *keys);
  ts_key_table seen = {0};
  uint64_t bytes = 0;
  int32_t status = keys == NULL || !ts_key_table_init(&seen, batch, 0.5) ? TS_ENOMEM : TS_OK;
  if (status == TS_OK) {
    uint64_t kept = 0, first = 0, hits = 0;
    draw(m, keys, warm + counted);
    for (uint64_t b = 0; b < warm + counted; b += batch) {
      if (b == warm) first = kept;
      kept += batch == 1 ? 1 : ts_key_once(&seen, keys + b, batch, keys + kept);
    }
    status = ts_opt_replay(size, keys, kept, first, &hits, &bytes);
    *ratio = (double)(kept - first - hits) / (double)counted;
  }
  facts->replayed += warm + counted;
  facts->bytes = TS_MAX(facts->bytes, (warm + counted) * sizeof *keys + ts_key_table_bytes(&seen) + bytes);
  ts_key_table_free(&seen);
  free(keys);
  return status;
}

static int32_t one_size(const ts_curve_ask *ask, const ts_law *law, uint64_t size, double *ratio, ts_curve_facts *facts,
                        ts_err err) {
  const double share = size <= ask->samples ? 1 : (double)ask->samples / (double)size;
  const uint64_t places = share == 1 ? size : ask->samples;
  const uint64_t batch = TS_MAX((uint64_t)((double)ask->batch * share + 0.5), 1);
  facts->rate = TS_MIN(facts->rate, share);
  model m = {.seed = ask->seed};
  int32_t status = ts_law_scale(law, share, &m.law, err);
  if (status == TS_OK) status = ts_law_draw_create(&m.law, &m.draw, err);
  if (status == TS_OK) {
    double misses = 1;
    uint32_t kind = 0;
    while (ts_policy_names[kind] != NULL && strcmp(ts_policy_names[kind], ask->policy) != 0) kind++;
    status = kind == TS_POLICIES ? replay_opt(&m, places, batch, &misses, facts)
                                 : replay(&m, (ts_policy_kind)kind, places, batch, &misses, facts);
    if (status != TS_OK) ts_fail(err, status, "Cannot make a miss-ratio curve: out of memory for a model of %llu places", (unsigned long long)places);
    *ratio = TS_MIN(misses * (double)ask->batch / ts_law_distinct(law, (double)ask->batch), 1.0);
  }
  ts_law_draw_free(&m.draw);
  ts_law_free(&m.law);
  return status;
}

int32_t ts_curve_law_sampled(const ts_curve_ask *ask, const ts_law *law, double *ratios, ts_curve_facts *facts, ts_err err) {
  uint64_t asked = 0; /* rows that are ever asked for */
  for (uint32_t i = 0; i < law->count; i++) asked += law->buckets[i].weight > 0 ? law->buckets[i].rows : 0;
  *facts = (ts_curve_facts){.lookups = ts_law_distinct(law, (double)ask->batch), .distinct = (double)law->rows, .rate = 1};
  int32_t status = TS_OK;
  for (uint32_t i = 0; status == TS_OK && i < ask->count; i++) {
    if (ask->sizes[i] == 0) ratios[i] = 1;
    else if (ask->sizes[i] >= asked) ratios[i] = 0;
    else status = one_size(ask, law, ask->sizes[i], &ratios[i], facts, err);
  }
  return status;
}
