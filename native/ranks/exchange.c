/* exchange.c - lays messages out, sends them, makes keys distinct at both ends. */
#include "ranks/exchange.h"

#include <stdlib.h>
#include <string.h>

/* ---- memory ---- */

/* items: of the tables, keys at most; NULL: none. */
static bool open_side(ts_exchange_side *side, const ts_exchange *e, const uint32_t *items, ts_err err) {
  const uint32_t tables = e->options.tables, parts = tables * e->ranks->ops.size;
  uint64_t keys = 0, values = 0;
  side->folds = calloc(tables, sizeof *side->folds);
  for (uint32_t t = 0; t < tables && side->folds != NULL; t++) {
    const uint32_t room = items == NULL ? 0 : items[t];
    if (ts_fold_open(&side->folds[t], room, err) != TS_OK) return false;
    keys += room;
    values += (uint64_t)room * (e->dims[t] + 1);
  }
  side->shards = calloc((uint64_t)parts * TS_MICRO_SHARDS, sizeof *side->shards);
  side->counts = calloc(parts, sizeof *side->counts);
  side->at = calloc(parts, sizeof *side->at);
  side->value_at = calloc(parts, sizeof *side->value_at);
  side->keys = calloc(keys + 1, sizeof *side->keys);
  side->times = calloc(e->options.counted ? keys + 1 : 1, sizeof *side->times);
  side->later = calloc(e->options.parts ? keys + 1 : 1, 1);
  side->values = calloc(values + 1, sizeof *side->values);
  return side->folds != NULL && side->shards != NULL && side->counts != NULL && side->at != NULL && side->value_at != NULL && side->keys != NULL &&
         side->times != NULL && side->later != NULL && side->values != NULL;
}

static void close_side(ts_exchange_side *side, uint32_t tables) {
  for (uint32_t t = 0; t < tables && side->folds != NULL; t++) ts_fold_close(&side->folds[t]);
  free(side->folds);
  free(side->shards);
  free(side->counts);
  free(side->at);
  free(side->value_at);
  free(side->keys);
  free(side->times);
  free(side->later);
  free(side->values);
}

int32_t ts_exchange_open(ts_exchange *e, ts_ranks *ranks, const ts_exchange_options *options, ts_err err) {
  memset(e, 0, sizeof *e);
  e->ranks = ranks;
  e->options = *options;
  const uint32_t tables = options->tables;
  e->dims = calloc(tables, sizeof *e->dims);
  e->row_at = calloc(tables, sizeof *e->row_at);
  e->firsts = calloc(tables, sizeof *e->firsts);
  e->key_at = calloc(tables, sizeof *e->key_at);
  uint64_t values = 0, keys = 0;
  for (uint32_t t = 0; t < tables && e->dims != NULL && e->row_at != NULL && e->key_at != NULL; t++) {
    e->key_at[t] = keys;
    keys += options->items[t];
    e->dims[t] = options->dims[t];
    e->row_at[t] = values;
    e->widest = TS_MAX(e->widest, e->dims[t]);
    values += (uint64_t)options->items[t] * (e->dims[t] + 1);
  }
  e->options.dims = e->dims;
  e->rows = calloc(ts_ranks_owns(ranks) ? values + 1 : 1, sizeof *e->rows);
  e->times = calloc(ts_ranks_owns(ranks) && options->counted ? keys + 1 : 1, sizeof *e->times);
  e->scratch = calloc((uint64_t)tables * TS_FOLD_LEVELS * e->widest, sizeof *e->scratch);
  for (uint32_t i = 0; i < 2; i++) {
    e->bytes[i] = calloc(ranks->ops.size, sizeof *e->bytes[i]);
    e->halves[i] = calloc(options->bf16 ? values + 1 : 1, sizeof *e->halves[i]);
  }
  const bool made = e->dims != NULL && e->row_at != NULL && e->key_at != NULL && e->times != NULL && e->firsts != NULL && e->rows != NULL && e->scratch != NULL && e->bytes[0] != NULL &&
                    e->bytes[1] != NULL && e->halves[0] != NULL && e->halves[1] != NULL &&
                    (!options->parts || ts_exchange_open_parts(e, keys, values)) && open_side(&e->asked, e, ts_ranks_trains(ranks) ? options->own : NULL, err) &&
                    open_side(&e->owned, e, ts_ranks_owns(ranks) ? options->items : NULL, err);
  e->options.items = e->options.own = NULL; /* the caller's */
  return made ? TS_OK : ts_fail(err, TS_ENOMEM, "Cannot train over ranks: no memory for the messages of a batch");
}

void ts_exchange_close(ts_exchange *e) {
  close_side(&e->asked, e->options.tables);
  close_side(&e->owned, e->options.tables);
  free(e->dims);
  free(e->row_at);
  free(e->firsts);
  free(e->key_at);
  free(e->times);
  ts_exchange_close_parts(e);
  free(e->rows);
  free(e->scratch);
  for (uint32_t i = 0; i < 2; i++) {
    free(e->bytes[i]);
    free(e->halves[i]);
  }
  memset(e, 0, sizeof *e);
}

/* ---- layout ---- */

/* Part `i` of a message in its order: rank by rank all tables, or table by table all ranks. */
static uint32_t part(const ts_exchange *e, uint32_t i, uint32_t *table) {
  const uint32_t tables = e->options.tables, size = e->ranks->ops.size;
  *table = e->options.separate ? i / size : i % tables;
  return e->options.separate ? i % size * tables + *table : i;
}

static void lay_out(const ts_exchange *e, ts_exchange_side *side) {
  uint64_t keys = 0, values = 0;
  for (uint32_t i = 0, table; i < e->options.tables * e->ranks->ops.size; i++) {
    const uint32_t p = part(e, i, &table);
    side->at[p] = keys;
    side->value_at[p] = values;
    keys += side->counts[p];
    values += (uint64_t)side->counts[p] * ts_exchange_width(e, table);
  }
}

/* Of a message: keys, how often they occur, in which part their rows come, floats, BF16. */
typedef enum unit { KEYS, TIMES, PARTS, ROWS, HALVES } unit;

/* Bytes to or from each rank, of the tables from `first` to before `end`. */
static void measure(const ts_exchange *e, const ts_exchange_side *side, unit u, uint32_t first, uint32_t end,
                    uint64_t *bytes) {
  for (uint32_t r = 0; r < e->ranks->ops.size; r++) {
    bytes[r] = 0;
    for (uint32_t t = first; t < end; t++) {
      const uint64_t each = u == KEYS    ? sizeof(int64_t)
                            : u == TIMES ? sizeof(uint32_t)
                            : u == PARTS ? 1
                                         : ts_exchange_width(e, t) * (u == ROWS ? sizeof(float) : sizeof(uint16_t));
      bytes[r] += side->counts[r * e->options.tables + t] * each;
    }
  }
}

/* Of rank 0's part of a table, which is the first in either order. */
static void *start_of(const ts_exchange_side *side, unit u, uint32_t table, uint16_t *halves) {
  if (u == KEYS) return side->keys + side->at[table];
  if (u == TIMES) return side->times + side->at[table];
  if (u == PARTS) return side->later + side->at[table];
  return u == ROWS ? (void *)(side->values + side->value_at[table]) : (void *)(halves + side->value_at[table]);
}

/* From one side to the other, in one message or one a table. */
static int32_t send(ts_exchange *e, ts_exchange_side *from, ts_exchange_side *to, unit u, ts_err err) {
  const uint32_t tables = e->options.tables, step = e->options.separate ? 1 : tables;
  int32_t status = TS_OK;
  for (uint32_t t = 0; t < tables && status == TS_OK; t += step) {
    measure(e, from, u, t, t + step, e->bytes[0]);
    measure(e, to, u, t, t + step, e->bytes[1]);
    status = ts_ranks_alltoallv(e->ranks, start_of(from, u, t, e->halves[0]), e->bytes[0],
                                start_of(to, u, t, e->halves[1]), e->bytes[1], err);
  }
  return status;
}

/* ---- keys ---- */

typedef struct of_table {
  const ts_exchange *exchange;
  uint32_t table;
} of_table;

static uint32_t owner_of(const void *context, int64_t key) {
  const of_table *c = context;
  return ts_ranks_owner(c->exchange->ranks, c->table, key);
}

void ts_exchange_add(ts_exchange *e, uint32_t table, int64_t key, uint32_t shard) {
  ts_fold *f = &e->asked.folds[table];
  f->leaf[f->items] = (uint8_t)shard;
  if (e->options.duplicates) ts_fold_add_apart(f, key);
  else ts_fold_add(f, key);
}

/* Which keys are of which micro-shard, for owners that sum over them. Keys that stay apart are numbered as items before they
 * are sorted, and of an owner stay in that order. */
static void count_shards(ts_exchange *e, uint32_t table) {
  const ts_fold *f = &e->asked.folds[table];
  const uint32_t tables = e->options.tables, first = ts_ranks_first_shard(e->ranks);
  for (uint32_t r = 0; r < e->ranks->ops.size; r++)
    memset(e->asked.shards + (r * tables + table) * TS_MICRO_SHARDS, 0, TS_MICRO_SHARDS * sizeof(uint32_t));
  for (uint32_t i = 0; i < f->items; i++)
    e->asked.shards[(f->owner[i] * tables + table) * TS_MICRO_SHARDS + first + f->leaf[i]]++;
}

void ts_exchange_ask(ts_exchange *e, uint32_t table) {
  const of_table c = {e, table};
  uint32_t counts[TS_FOLD_OWNERS];
  ts_fold_end(&e->asked.folds[table], owner_of, &c, e->ranks->ops.size, counts);
  for (uint32_t r = 0; r < e->ranks->ops.size; r++) e->asked.counts[r * e->options.tables + table] = counts[r];
  if (e->options.duplicates) count_shards(e, table);
}

void ts_exchange_pack(ts_exchange *e, uint32_t extra) {
  const uint32_t tables = e->options.tables;
  e->extra = extra;
  e->split = false;
  lay_out(e, &e->asked);
  for (uint32_t t = 0; t < tables; t++) {
    const int64_t *keys = e->asked.folds[t].keys;
    const uint32_t *first = e->asked.folds[t].first;
    for (uint32_t r = 0; r < e->ranks->ops.size; r++) {
      const uint32_t p = r * tables + t, n = e->asked.counts[p];
      if (n > 0) memcpy(e->asked.keys + e->asked.at[p], keys, n * sizeof *keys);
      for (uint32_t i = 0; e->options.counted && i < n; i++) e->asked.times[e->asked.at[p] + i] = first[i + 1] - first[i];
      keys += n;
      first += n;
    }
  }
}

/* Nothing is done between the counts and the keys: ranks that come from the one message together are together at the other, and
 * none waits there. */
int32_t ts_exchange_keys(ts_exchange *e, ts_err err) {
  const uint32_t tables = e->options.tables;
  int32_t status = ts_ranks_alltoall(e->ranks, e->asked.counts, tables * sizeof(uint32_t), e->owned.counts, err);
  if (status == TS_OK && e->options.duplicates)
    status = ts_ranks_alltoall(e->ranks, e->asked.shards, tables * TS_MICRO_SHARDS * sizeof(uint32_t), e->owned.shards, err);
  if (status != TS_OK) return status;
  lay_out(e, &e->owned);
  status = send(e, &e->asked, &e->owned, KEYS, err);
  return status == TS_OK && e->options.counted ? send(e, &e->asked, &e->owned, TIMES, err) : status;
}

/* Of the owner's distinct keys, in their order. */
static void add_times(ts_exchange *e, uint32_t table) {
  const ts_fold *f = &e->owned.folds[table];
  uint32_t *times = e->times + e->key_at[table];
  memset(times, 0, f->count * sizeof *times);
  for (uint32_t r = 0, i = 0; r < e->ranks->ops.size; r++) {
    const uint32_t p = r * e->options.tables + table;
    for (uint32_t n = 0; n < e->owned.counts[p]; n++, i++) times[f->of[i]] += e->owned.times[e->owned.at[p] + n];
  }
}

void ts_exchange_collect(ts_exchange *e, uint32_t table) {
  ts_fold *f = &e->owned.folds[table];
  ts_fold_begin(f);
  for (uint32_t r = 0; r < e->ranks->ops.size; r++) {
    const uint32_t p = r * e->options.tables + table, *shards = e->owned.shards + p * TS_MICRO_SHARDS;
    uint32_t leaf = e->options.duplicates ? 0 : r, of_leaf = 0; /* who asks trains: below 8 */
    for (uint32_t i = 0; i < e->owned.counts[p]; i++) {
      for (; e->options.duplicates && of_leaf == shards[leaf]; of_leaf = 0) leaf++;
      of_leaf++;
      f->from[f->items] = e->owned.values + e->owned.value_at[p] + (uint64_t)i * ts_exchange_width(e, table);
      f->leaf[f->items] = (uint8_t)leaf;
      ts_fold_add(f, e->owned.keys[e->owned.at[p] + i]);
    }
  }
  ts_fold_end(f, NULL, NULL, 1, NULL);
  e->firsts[table] = f->count;
  if (e->options.counted) add_times(e, table);
}

/* ---- rows ---- */

float *ts_exchange_rows_of(const ts_exchange *e, uint32_t table, uint32_t part, const int64_t **keys,
                           const uint32_t **times, uint32_t *count, uint64_t *stride) {
  const ts_fold *f = &e->owned.folds[table];
  const uint32_t first = part == 0 ? 0 : e->firsts[table];
  *stride = ts_exchange_width(e, table);
  *count = part == 0 ? e->firsts[table] : f->count - first;
  *keys = e->firsts[table] == f->count ? f->keys : e->part_keys + e->key_at[table] + first;
  *times = e->options.counted ? e->times + e->key_at[table] + first : NULL;
  return e->rows + e->row_at[table] + first * *stride;
}

/* BF16 by rounding to nearest, ties to even; NaN stays NaN. */
static uint16_t to_half(float x) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return (uint16_t)(bits >> 16 | 0x40u);
  return (uint16_t)((bits + 0x7fffu + (bits >> 16 & 1)) >> 16);
}

static float from_half(uint16_t x) {
  const uint32_t bits = (uint32_t)x << 16;
  float out;
  memcpy(&out, &bits, sizeof out);
  return out;
}

void ts_exchange_reply(ts_exchange *e, uint32_t table, uint32_t part) {
  const ts_fold *f = &e->owned.folds[table];
  const uint64_t n = ts_exchange_width(e, table);
  const uint32_t firsts = e->firsts[table], *places = firsts == f->count ? NULL : e->places + e->key_at[table];
  const float *rows = e->rows + e->row_at[table];
  if (part == 1 && places == NULL) return; /* there are none */
  for (uint32_t i = 0; i < f->items; i++) {
    const uint32_t place = places == NULL ? f->of[i] : places[f->of[i]];
    if ((place >= firsts) != part) continue;
    float *to = e->owned.values + (f->from[i] - e->owned.values);
    const float *row = rows + place * n;
    if (!e->options.bf16) memcpy(to, row, n * sizeof *to);
    else
      for (uint64_t d = 0; d < n; d++) e->halves[0][to - e->owned.values + (int64_t)d] = to_half(row[d]);
  }
}

int32_t ts_exchange_send_rows(ts_exchange *e, uint32_t part, ts_err err) {
  const bool bf16 = e->options.bf16;
  if (part == 1 && !e->split) return TS_OK;
  int32_t status = e->split ? ts_exchange_send_part(e, part, err) : send(e, &e->owned, &e->asked, bf16 ? HALVES : ROWS, err);
  if (e->split && part == 0) return status; /* the second part brings what is missing */
  for (uint32_t t = 0; bf16 && status == TS_OK && t < e->options.tables; t++)
    for (uint32_t r = 0; r < e->ranks->ops.size; r++) {
      const uint32_t p = r * e->options.tables + t;
      const uint64_t first = e->asked.value_at[p], n = (uint64_t)e->asked.counts[p] * ts_exchange_width(e, t);
      for (uint64_t i = first; i < first + n; i++) e->asked.values[i] = from_half(e->halves[1][i]);
    }
  return status;
}

float *ts_exchange_value(const ts_exchange *e, uint32_t table, uint32_t key) {
  const uint32_t tables = e->options.tables;
  const uint32_t *counts = e->asked.counts + table;
  uint32_t r = 0;
  for (; key >= counts[r * tables]; r++) key -= counts[r * tables];
  return e->asked.values + e->asked.value_at[r * tables + table] + (uint64_t)key * ts_exchange_width(e, table);
}

/* ---- gradients ---- */

static float *scratch_of(const ts_exchange *e, uint32_t table) {
  return e->scratch + (uint64_t)table * TS_FOLD_LEVELS * e->widest;
}

void ts_exchange_push(ts_exchange *e, uint32_t table) {
  ts_fold *f = &e->asked.folds[table];
  uint32_t first = 0;
  for (uint32_t r = 0; r < e->ranks->ops.size; r++) {
    const uint32_t p = r * e->options.tables + table;
    ts_fold_sum(f, first, e->asked.counts[p], ts_ranks_shards(e->ranks), e->dims[table], scratch_of(e, table),
                e->asked.values + e->asked.value_at[p]);
    first += e->asked.counts[p];
  }
}

int32_t ts_exchange_send_parts(ts_exchange *e, ts_err err) {
  e->split = true;
  return send(e, &e->owned, &e->asked, PARTS, err);
}

int32_t ts_exchange_send_gradients(ts_exchange *e, ts_err err) { return send(e, &e->asked, &e->owned, ROWS, err); }

const float *ts_exchange_sums(ts_exchange *e, uint32_t table) {
  const ts_fold *f = &e->owned.folds[table];
  float *sums = e->rows + e->row_at[table];
  const uint32_t leaves = e->options.duplicates ? TS_MICRO_SHARDS : e->ranks->trainers;
  ts_fold_sum(f, 0, f->count, leaves, e->dims[table], scratch_of(e, table), sums);
  return sums;
}
