/* exchange_parts.c - rows in two parts: which come in which, and messages that have one of them. */
#include "ranks/exchange.h"

#include <stdlib.h>
#include <string.h>

bool ts_exchange_open_parts(ts_exchange *e, uint64_t keys, uint64_t values) {
  const bool owns = ts_ranks_owns(e->ranks);
  e->places = calloc(owns ? keys + 1 : 1, sizeof *e->places);
  e->part_keys = calloc(owns ? keys + 1 : 1, sizeof *e->part_keys);
  e->part_times = calloc(owns && e->options.counted ? keys + 1 : 1, sizeof *e->part_times);
  for (uint32_t i = 0; i < 2; i++) e->packed[i] = calloc(values + 1, sizeof(float));
  return e->part_times != NULL && e->places != NULL && e->part_keys != NULL && e->packed[0] != NULL && e->packed[1] != NULL;
}

void ts_exchange_close_parts(ts_exchange *e) {
  free(e->places);
  free(e->part_keys);
  free(e->part_times);
  for (uint32_t i = 0; i < 2; i++) free(e->packed[i]);
}

void ts_exchange_split(ts_exchange *e, uint32_t table, const ts_exchange *running) {
  const ts_fold *f = &e->owned.folds[table], *theirs = &running->owned.folds[table];
  uint32_t *places = e->places + e->key_at[table], first = 0, last = f->count;
  int64_t *keys = e->part_keys + e->key_at[table];
  for (uint32_t k = 0; k < f->count; k++) {
    places[k] = ts_fold_has(theirs, f->keys[k]) ? --last : first++;
    keys[places[k]] = f->keys[k];
  }
  if (e->options.counted) {
    uint32_t *times = e->times + e->key_at[table], *placed = e->part_times + e->key_at[table];
    for (uint32_t k = 0; k < f->count; k++) placed[places[k]] = times[k];
    memcpy(times, placed, f->count * sizeof *times);
  }
  e->firsts[table] = first;
  for (uint32_t r = 0, i = 0; r < e->ranks->ops.size; r++) {
    const uint32_t p = r * e->options.tables + table;
    for (uint32_t n = 0; n < e->owned.counts[p]; n++, i++)
      e->owned.later[e->owned.at[p] + n] = places[f->of[i]] >= first;
  }
}

/* Of one side's keys of a rank and table, those of a part: their values to packed memory (`pack`) or from it. Returns the bytes. */
static uint64_t move(const ts_exchange *e, const ts_exchange_side *side, uint16_t *halves, uint32_t piece, uint32_t table,
                     uint32_t part, char *packed, bool pack) {
  const bool bf16 = e->options.bf16;
  const uint64_t width = ts_exchange_width(e, table), bytes = width * (bf16 ? sizeof *halves : sizeof(float));
  const char *start = packed;
  for (uint32_t i = 0; i < side->counts[piece]; i++) {
    if (side->later[side->at[piece] + i] != part) continue;
    const uint64_t at = side->value_at[piece] + i * width;
    void *values = bf16 ? (void *)(halves + at) : (void *)(side->values + at);
    if (pack) memcpy(packed, values, bytes);
    else memcpy(values, packed, bytes);
    packed += bytes;
  }
  return (uint64_t)(packed - start);
}

/* Of the keys that were asked of a rank and table, those whose rows come in a part. */
static uint64_t asked_of(const ts_exchange *e, uint32_t piece, uint32_t part) {
  if (!e->split) return part == 0 ? e->asked.counts[piece] : 0;
  uint64_t keys = 0;
  for (uint32_t i = 0; i < e->asked.counts[piece]; i++) keys += e->asked.later[e->asked.at[piece] + i] == part;
  return keys;
}

void ts_exchange_count_parts(const ts_exchange *e, uint64_t *counts) {
  counts[0] = counts[1] = 0;
  for (uint32_t p = 0; p < e->options.tables * e->ranks->ops.size; p++)
    for (uint32_t part = 0; part < 2; part++) counts[part] += asked_of(e, p, part);
}

int32_t ts_exchange_send_part(ts_exchange *e, uint32_t part, ts_err err) {
  const uint32_t tables = e->options.tables, step = e->options.separate ? 1 : tables, size = e->ranks->ops.size;
  const uint64_t each = e->options.bf16 ? sizeof(uint16_t) : sizeof(float);
  for (uint32_t first = 0; first < tables; first += step) {
    char *out = e->packed[0], *in = e->packed[1];
    for (uint32_t r = 0; r < size; r++) {
      e->bytes[0][r] = e->bytes[1][r] = 0;
      for (uint32_t t = first; t < first + step; t++) {
        const uint64_t packed = move(e, &e->owned, e->halves[0], r * tables + t, t, part, out, true);
        out += packed;
        e->bytes[0][r] += packed;
        e->bytes[1][r] += asked_of(e, r * tables + t, part) * ts_exchange_width(e, t) * each;
      }
    }
    const int32_t status = ts_ranks_alltoallv(e->ranks, e->packed[0], e->bytes[0], in, e->bytes[1], err);
    if (status != TS_OK) return status;
    for (uint32_t r = 0; r < size; r++)
      for (uint32_t t = first; t < first + step; t++) in += move(e, &e->asked, e->halves[1], r * tables + t, t, part, in, false);
  }
  return TS_OK;
}
