/* lookup.c - lookup or create: the fast path first, then what it missed; rows one by one, and combined into bags. */
#include "store/store.h"

#include "kernels/gather.h"
#include "store/batches.h"

#include <string.h>

/* One call, or a piece of it. */
typedef struct lookup {
  ts_table *table;
  ts_work *work;
  const int64_t *keys;
  uint64_t n;
  const uint32_t *times;  /* lookups that keys[i] stands for; NULL: 1 */
  const uint64_t *missed; /* bit i: keys[i] */
  const uint64_t *passed; /* bit i: a filter had counted keys[i] often enough before any key of this call; NULL: no filter */
  float *out;             /* NULL: rows are only brought up */
  uint64_t stride;        /* floats from row to row of out */
  bool count, existing;
} lookup;

/* The distinct keys of the part; *met: how many there are with repetitions. False: too many. */
static bool collect(const lookup *l, ts_part part, uint64_t *met) {
  ts_work_clear(l->work);
  *met = 0;
  for (uint64_t w = 0; w < (l->n + 63) / 64; w++)
    for (uint64_t bits = l->missed[w]; bits != 0; bits &= bits - 1) {
      const uint64_t bit = bits & -bits;
      const uint64_t i = w * 64 + (uint64_t)__builtin_ctzll(bits);
      int64_t key = l->keys[i];
      uint64_t hash = ts_index_hash(key);
      if (!ts_part_has(part, hash)) continue;
      const uint32_t number = ts_work_add(l->work, key, hash);
      if (number == UINT32_MAX) return false;
      ++*met;
      l->work->times[number] += l->times == NULL ? 1 : l->times[i];
      l->work->passed[number] = l->passed != NULL && (l->passed[w] & bit) != 0;
    }
  return true;
}

/* Staged rows become plain weights. */
static void read_weights(const lookup *l) {
  const ts_row_layout *layout = &l->table->layout;
  if (layout->type == TS_FP32) return; /* they are */
  for (uint32_t d = 0; d < l->work->count; d++) {
    unsigned char *row = ts_work_staging(l->work, d);
    float *scratch = (float *)(void *)l->work->spare_row;
    ts_row_read(layout, row, 0, scratch);
    memcpy(row, scratch, layout->dim * sizeof(float));
  }
}

/* in_order: no key comes twice, so the work has them in the order that they have here. */
static void write_out(const lookup *l, ts_part part, bool in_order) {
  const uint32_t dim = l->table->layout.dim;
  uint32_t next = 0;
  for (uint64_t w = 0; w < (l->n + 63) / 64; w++)
    for (uint64_t bits = l->missed[w]; bits != 0; bits &= bits - 1) {
      uint64_t i = w * 64 + (uint64_t)__builtin_ctzll(bits);
      uint64_t hash = ts_index_hash(l->keys[i]);
      if (!ts_part_has(part, hash)) continue;
      const uint32_t d = in_order ? next++ : ts_work_number(l->work, l->keys[i], hash);
      if (l->work->state[d] == TS_BROUGHT)
        memcpy(l->out + i * l->stride, ts_work_staging(l->work, d), dim * sizeof(float));
      else
        for (uint32_t j = 0; j < dim; j++) l->out[i * l->stride + j] = l->table->admission.default_value;
    }
}

static int32_t serve_part(const lookup *l, ts_part part, ts_err err) {
  uint64_t met;
  if (!collect(l, part, &met)) { /* too many: the halves */
    int32_t status = serve_part(l, (ts_part){part.parts * 2, part.part}, err);
    return status != TS_OK ? status : serve_part(l, (ts_part){part.parts * 2, part.part + part.parts}, err);
  }
  ts_bring bring = {.table = l->table, .work = l->work, .count = l->count, .existing = l->existing};
  int32_t status = ts_bring_all(&bring, err);
  if (status != TS_OK || l->out == NULL) return status;
  read_weights(l);
  write_out(l, part, met == l->work->count);
  return TS_OK;
}

/* Keys of a call count in each other's counters. So all are judged before the first is counted: whichever shard or part is
 * served first, the same keys get rows. */
static void ask_filter(const lookup *l, uint64_t passed[TS_PIECE / 64]) {
  const ts_admission *a = &l->table->admission;
  for (uint64_t w = 0; w < (l->n + 63) / 64; w++) {
    passed[w] = 0;
    for (uint64_t bits = l->missed[w]; bits != 0; bits &= bits - 1)
      if (ts_bloom_frequency(a->bloom, l->keys[w * 64 + (uint64_t)__builtin_ctzll(bits)]) >= a->frequency)
        passed[w] |= bits & -bits;
  }
}

/* More keys than the working memory holds, if they are all different. Where a key is served alike whether it comes once or
 * twice, they are taken in their order: that is one way through the batch. Else all repetitions of a key must come together,
 * so keys are taken by their hash, in as many parts as different keys need: that a part is too large shows only when it is
 * half done. */
static int32_t serve_many(const lookup *all, uint64_t misses, ts_err err) {
  const ts_table *table = all->table;
  const uint32_t capacity = all->work->capacity;
  int32_t status = TS_OK;
  if (table->admission.kind == TS_ADMIT_ALL && table->store->tier_count == 1 && capacity >= 64) {
    for (uint64_t first = 0; status == TS_OK && first < all->n; first += capacity / 64 * 64) {
      lookup l = *all;
      l.keys += first;
      l.times = all->times == NULL ? NULL : all->times + first;
      l.missed += first / 64;
      l.out = all->out == NULL ? NULL : all->out + first * all->stride;
      l.n = TS_MIN(all->n - first, capacity / 64 * 64);
      status = serve_part(&l, (ts_part){1, 0}, err);
    }
    return status;
  }
  uint64_t parts = 2;
  while (misses / parts > capacity / 8 * 7) parts *= 2;
  for (uint64_t i = 0; status == TS_OK && i < parts; i++) status = serve_part(all, (ts_part){parts, i}, err);
  return status;
}

/* The keys marked in l->missed, `misses` of them. */
static int32_t serve_missed(lookup l, uint64_t misses, ts_err err) {
  uint64_t passed[TS_PIECE / 64];
  if (l.count && l.table->admission.kind == TS_ADMIT_BLOOM) {
    ask_filter(&l, passed);
    l.passed = passed;
  }
  l.work = ts_work_acquire(l.table, misses, TS_WORK_LOOKUP);
  int32_t status = misses > l.work->capacity ? serve_many(&l, misses, err) : serve_part(&l, (ts_part){1, 0}, err);
  ts_work_release(l.table->store, l.work);
  return status;
}

static void miss_all(uint64_t n, uint64_t missed[TS_PIECE / 64]) {
  memset(missed, 0xFF, n / 64 * 8);
  if (n % 64 != 0) missed[n / 64] = (UINT64_C(1) << n % 64) - 1;
}

#define KEYS_IN_CACHE 8192u

static int32_t lookup_piece(ts_table *table, ts_epoch_slot *slot, const int64_t *keys, const uint32_t *times, uint64_t n,
                            float *out, uint64_t stride, ts_err err) {
  ts_store *store = table->store;
  uint64_t missed[TS_PIECE / 64], misses;
  /* Few keys are still in a cache when their rows have been found; many have left it, and are fetched at full speed before. */
  const bool before = n > KEYS_IN_CACHE;
  if (store->reuse != NULL && before) ts_reuse_see(store->reuse, &table->reuse, keys, n);
  const bool in_place = store->memory_mode != NULL || ts_traffic_tier(store) == 0;
  uint64_t start = in_place ? ts_now_ns() : 0;
  if (store->memory_tiers > 0) {
    misses = ts_fast_lookup(table, slot, keys, times, n, out, stride, missed);
    ts_count(table, TS_STAT_tier0_hits, n - misses);
  } else {
    misses = n;
    miss_all(n, missed);
  }
  uint64_t real = in_place ? ts_now_ns() - start : 0;
  lookup l = {.table = table, .keys = keys, .times = times, .n = n, .missed = missed, .out = out, .stride = stride, .count = true};
  int32_t status = misses == 0 ? TS_OK : serve_missed(l, misses, err);
  if (in_place && status == TS_OK) ts_traffic_in_place(table, keys, n, real, false);
  if (store->reuse != NULL && !before && status == TS_OK) ts_reuse_see(store->reuse, &table->reuse, keys, n);
  return status;
}

/* stride 0: that of the table's rows. */
static int32_t look_up(ts_store *store, uint32_t number, const int64_t *keys, const uint32_t *times, uint64_t n, float *rows,
                       uint64_t stride, ts_err e) {
  ts_table *table = NULL;
  int32_t status = ts_store_table(store, number, &table, e);
  if (status != TS_OK) return status;
  if (n == 0) return TS_OK;
  if (keys == NULL || rows == NULL)
    return ts_fail(e, TS_EINVAL, "Cannot look up %llu keys in table \"%s\": keys and rows must not be NULL",
                   (unsigned long long)n, table->name);
  if (stride == 0) stride = table->layout.dim;
  ts_gate_enter(&store->gate);
  ts_epoch_slot *slot = ts_epoch_claim(&store->epochs);
  for (uint64_t first = 0; status == TS_OK && first < n; first += TS_PIECE)
    status = lookup_piece(table, slot, keys + first, times == NULL ? NULL : times + first, TS_MIN(n - first, TS_PIECE),
                          rows + first * stride, stride, e);
  ts_epoch_release(slot);
  ts_gate_leave(&store->gate);
  ts_count(table, TS_STAT_lookup_calls, 1);
  ts_count(table, TS_STAT_lookup_keys, n);
  return status;
}

int32_t ts_table_lookup(ts_store *store, uint32_t number, const int64_t *keys, uint64_t n, float *rows, char *err,
                        uint32_t err_cap) {
  return look_up(store, number, keys, NULL, n, rows, 0, (ts_err){err, err_cap});
}

int32_t ts_table_lookup_strided(ts_store *store, uint32_t number, const int64_t *keys, const uint32_t *times, uint64_t n,
                                float *rows, uint64_t stride, ts_err err) {
  return look_up(store, number, keys, times, n, rows, stride, err);
}

/* Marks the keys that are not in the first tier, and tells no policy. */
static uint64_t not_in_first(ts_table *table, ts_epoch_slot *slot, const int64_t *keys, uint64_t n,
                             uint64_t missed[TS_PIECE / 64]) {
  uint64_t misses = 0;
  memset(missed, 0, (n + 63) / 64 * sizeof *missed);
  for (uint64_t first = 0; first < n; first += TS_FAST_BLOCK) {
    void *rows[TS_FAST_BLOCK];
    uint64_t hashes[TS_FAST_BLOCK];
    const uint32_t m = (uint32_t)TS_MIN(n - first, TS_FAST_BLOCK);
    ts_epoch_enter(&table->store->epochs, slot);
    misses += ts_fast_block(table, keys + first, m, rows, hashes);
    ts_epoch_leave(slot);
    for (uint32_t i = 0; i < m; i++)
      if (rows[i] == NULL) missed[(first + i) / 64] |= UINT64_C(1) << (first + i) % 64;
  }
  return misses;
}

int32_t ts_table_promote(ts_store *store, uint32_t number, const int64_t *keys, uint64_t n, uint64_t *lower, ts_err err) {
  ts_table *table = NULL;
  int32_t status = ts_store_table(store, number, &table, err);
  *lower = 0;
  /* One tier, or records alone: there is nowhere to bring them. */
  if (status != TS_OK || n == 0 || !ts_is_tiered(store)) return status;
  ts_gate_enter(&store->gate); /* what it meets of expired rows goes */
  ts_epoch_slot *slot = ts_epoch_claim(&store->epochs);
  for (uint64_t first = 0; status == TS_OK && first < n; first += TS_PIECE) {
    uint64_t missed[TS_PIECE / 64], m = TS_MIN(n - first, TS_PIECE);
    const uint64_t misses = not_in_first(table, slot, keys + first, m, missed);
    *lower += misses;
    lookup l = {.table = table, .keys = keys + first, .n = m, .missed = missed, .existing = true};
    if (misses > 0) status = serve_missed(l, misses, err);
  }
  ts_epoch_release(slot);
  ts_gate_leave(&store->gate);
  return status;
}

int32_t ts_lookup_make_rows(ts_table *table, const int64_t *keys, uint64_t n, ts_err err) {
  ts_epoch_slot *slot = ts_epoch_claim(&table->store->epochs);
  int32_t status = TS_OK;
  for (uint64_t first = 0; status == TS_OK && first < n; first += TS_PIECE) {
    uint64_t missed[TS_PIECE / 64], m = TS_MIN(n - first, TS_PIECE);
    uint64_t misses = m;
    /* An expired row is as good as none, which only its shard can tell. */
    if (ts_may_expire(table))
      miss_all(m, missed);
    else
      misses = ts_fast_absent(table, slot, keys + first, m, missed);
    lookup l = {.table = table, .keys = keys + first, .n = m, .missed = missed};
    if (misses > 0) status = serve_missed(l, misses, err);
  }
  ts_epoch_release(slot);
  return status;
}

/* ---- bags ---- */

int32_t ts_bags_check(const ts_table *table, const char *what, const int64_t *keys, const uint64_t *offsets, uint64_t bags,
                      uint32_t combiner, const void *rows, ts_err err) {
  if (offsets == NULL || rows == NULL || (keys == NULL && offsets[bags] > 0))
    return ts_fail(err, TS_EINVAL, "Cannot %s %llu bags of table \"%s\": keys, offsets and rows must not be NULL", what,
                   (unsigned long long)bags, table->name);
  if (combiner > TS_COMBINER_SQRTN)
    return ts_fail(err, TS_EINVAL, "Cannot %s bags of table \"%s\": combiner %u is none of 0 (sum), 1 (mean), 2 (sqrtn)",
                   what, table->name, combiner);
  if (offsets[0] != 0)
    return ts_fail(err, TS_EINVAL, "Cannot %s bags of table \"%s\": the first offset is %llu; it must be 0", what,
                   table->name, (unsigned long long)offsets[0]);
  for (uint64_t b = 0; b < bags; b++)
    if (offsets[b + 1] < offsets[b])
      return ts_fail(err, TS_EINVAL, "Cannot %s bags of table \"%s\": offset %llu is %llu after %llu; offsets must not fall",
                     what, table->name, (unsigned long long)(b + 1), (unsigned long long)offsets[b + 1],
                     (unsigned long long)offsets[b]);
  return TS_OK;
}

/* Rows of keys that are not all in the first tier, wherever they are now: plain weights in `work`. Counts nothing, the
 * lookup before it did. */
static int32_t bring_block(ts_table *table, ts_work *work, const int64_t *keys, uint32_t m, const void **rows, ts_err err) {
  ts_work_clear(work);
  for (uint32_t i = 0; i < m; i++) ts_work_add(work, keys[i], ts_index_hash(keys[i]));
  const ts_bring bring = {.table = table, .work = work, .again = true};
  int32_t status = ts_bring_all(&bring, err);
  if (status != TS_OK) return status;
  read_weights(&(lookup){.table = table, .work = work});
  float *refused = (float *)(void *)work->spare_row;
  for (uint32_t j = 0; j < table->layout.dim; j++) refused[j] = table->admission.default_value;
  for (uint32_t i = 0; i < m; i++) {
    uint32_t d = ts_work_number(work, keys[i], ts_index_hash(keys[i]));
    rows[i] = work->state[d] == TS_BROUGHT ? (const void *)ts_work_staging(work, d) : refused;
  }
  return TS_OK;
}

/* One step over the keys from `first` on: *done keys are combined. */
static int32_t combine(ts_table *table, ts_epoch_slot *slot, const int64_t *keys, uint64_t n, ts_bags *bags, float max_norm,
                       float *out, uint64_t *done, ts_err err) {
  ts_store *store = table->store;
  const void *rows[TS_FAST_BLOCK];
  uint64_t hashes[TS_FAST_BLOCK];
  uint32_t m = (uint32_t)TS_MIN(n, TS_FAST_BLOCK), missed = m;
  int32_t status = TS_OK;
  ts_epoch_enter(&store->epochs, slot);
  /* Rows of a device come with those that are below. */
  if (store->memory_tiers > 0 && !ts_is_on_device(store)) missed = ts_fast_block(table, keys, m, (void **)(uintptr_t)rows, hashes);
  if (missed == 0) ts_bags_accumulate(bags, &table->layout, rows, m, max_norm, out);
  ts_epoch_leave(slot);
  if (missed > 0) {
    ts_work *work = ts_work_acquire(table, m, TS_WORK_LOOKUP);
    m = TS_MIN(m, work->capacity);
    status = bring_block(table, work, keys, m, rows, err);
    const ts_row_layout plain = ts_row_layout_make(TS_FP32, table->layout.dim, 1, 0, false, false);
    if (status == TS_OK) ts_bags_accumulate(bags, &plain, rows, m, max_norm, out);
    ts_work_release(store, work);
  }
  *done = m;
  return status;
}

int32_t ts_table_lookup_bags(ts_store *store, uint32_t number, const int64_t *keys, const uint64_t *offsets, uint64_t count,
                             const float *weights, uint32_t combiner, float max_norm, float *out, char *err,
                             uint32_t err_cap) {
  ts_err e = {err, err_cap};
  ts_table *table = NULL;
  int32_t status = ts_store_table(store, number, &table, e);
  if (status != TS_OK) return status;
  if (count == 0) return TS_OK;
  status = ts_bags_check(table, "look up", keys, offsets, count, combiner, out, e);
  if (status != TS_OK) return status;
  if (!(max_norm >= 0))
    return ts_fail(e, TS_EINVAL, "Cannot look up bags of table \"%s\": max_norm is %g; it must be 0 (no limit) or more",
                   table->name, (double)max_norm);
  const uint64_t n = offsets[count];
  ts_bags bags;
  ts_bags_begin(&bags, store->level, table->layout.dim, offsets, count, weights, combiner);
  ts_bags_clear_empty(&bags, out);
  ts_gate_enter(&store->gate);
  ts_epoch_slot *slot = ts_epoch_claim(&store->epochs);
  /* All rows come up together, so that reads of lower tiers are issued together. */
  for (uint64_t first = 0; status == TS_OK && first < n; first += TS_PIECE)
    status = lookup_piece(table, slot, keys + first, NULL, TS_MIN(n - first, TS_PIECE), NULL, 0, e);
  uint64_t done = 0;
  for (uint64_t first = 0; status == TS_OK && first < n; first += done)
    status = combine(table, slot, keys + first, n - first, &bags, max_norm, out, &done, e);
  ts_epoch_release(slot);
  ts_gate_leave(&store->gate);
  ts_count(table, TS_STAT_lookup_calls, 1);
  ts_count(table, TS_STAT_lookup_keys, n);
  return status;
}
