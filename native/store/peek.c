/* peek.c - looking at rows without changing anything: read-only lookup, tiers, frequencies and versions. */
#include "base/sync_point.h"
#include "store/store.h"

#include <string.h>

/* Called for keys[i]: its row (shard locked, or inside an epoch: do not block, do not keep the pointer), or NULL and how often
 * a key that is not admitted was looked up. */
typedef void visitor(void *context, uint64_t i, const unsigned char *row, uint64_t waiting);

/* Keys that are not in the first tier: in a lower memory tier, in records, or nowhere. */
static int32_t peek_below(ts_table *table, const int64_t *keys, const uint32_t *which, uint32_t n, ts_work *work,
                          visitor *visit, uint64_t base, void *context, ts_err err) {
  uint32_t left[TS_FAST_BLOCK], m = 0;
  uint64_t waiting[TS_FAST_BLOCK];
  for (uint32_t j = 0; j < n; j++) {
    uint32_t i = which[j];
    ts_shard *shard = ts_shard_of(table, ts_index_hash(keys[i]));
    pthread_mutex_lock(&shard->lock);
    ts_location l = ts_index_find_one(&shard->index, keys[i]);
    uint32_t tier = TS_LOCATION_TIER(l);
    const unsigned char *row = NULL;
    int32_t status = tier < TS_NOT_ADMITTED ? ts_row_see(shard, l, &row, err) : TS_OK;
    if (status != TS_OK) {
      pthread_mutex_unlock(&shard->lock);
      return status;
    }
    const uint64_t seen = table->admission.kind == TS_ADMIT_BLOOM ? ts_bloom_frequency(table->admission.bloom, keys[i]) : 0;
    if (row != NULL) {
      /* Of an expired row there may be an older record, which is not to be found either. */
      const bool expired = ts_row_expired(table, row);
      visit(context, base + i, expired ? NULL : row, expired ? seen : 0);
    } else {
      waiting[m] = l != TS_LOCATION_NONE ? TS_LOCATION_ROW(l) : seen;
      left[m++] = i;
    }
    pthread_mutex_unlock(&shard->lock);
  }
  uint8_t found[TS_FAST_BLOCK] = {0};
  for (uint32_t first = 0; table->records != NULL && first < m; first += work->staging_capacity) {
    int64_t asked[TS_FAST_BLOCK];
    unsigned char *rows[TS_FAST_BLOCK];
    uint32_t count = TS_MIN(m - first, work->staging_capacity);
    for (uint32_t j = 0; j < count; j++) {
      asked[j] = keys[left[first + j]];
      rows[j] = ts_work_staging(work, j);
    }
    int32_t status = ts_records_tier(table->store)->records->get(table->records, count, asked, rows, found + first, err);
    if (status != TS_OK) return status;
    for (uint32_t j = 0; j < count; j++) {
      if (found[first + j] && ts_row_expired(table, rows[j])) found[first + j] = 0;
      if (found[first + j]) visit(context, base + left[first + j], rows[j], 0);
    }
  }
  for (uint32_t j = 0; j < m; j++)
    if (!found[j]) visit(context, base + left[j], NULL, waiting[j]);
  return TS_OK;
}

/* Rows of a device that were found, where the CPU can read them. */
static int32_t to_staging(ts_table *table, ts_work *work, uint32_t n, void **rows, ts_err err) {
  ts_tier *tier = &table->store->tiers[0].tier;
  const int32_t status = tier->ops->device->read(tier, n, (const void *const *)rows, table->layout.stride, work->staging,
                                                 work->staging_bytes, NULL, err);
  for (uint32_t i = 0; i < n; i++)
    if (rows[i] != NULL) rows[i] = ts_work_staging(work, i);
  return status;
}

static int32_t peek_rows(ts_table *table, const int64_t *keys, uint64_t n, visitor *visit, void *context, ts_err err) {
  ts_store *store = table->store;
  const bool device = ts_is_on_device(store);
  ts_work *work = table->records == NULL && !device ? NULL : ts_work_acquire(table, TS_FAST_BLOCK, TS_WORK_LOOKUP);
  const uint32_t block = device ? TS_MIN(TS_FAST_BLOCK, work->staging_capacity) : TS_FAST_BLOCK;
  ts_epoch_slot *slot = ts_epoch_claim(&store->epochs);
  int32_t status = TS_OK;
  for (uint64_t first = 0; status == TS_OK && first < n; first += block) {
    void *rows[TS_FAST_BLOCK];
    uint64_t hashes[TS_FAST_BLOCK];
    uint32_t which[TS_FAST_BLOCK], m = (uint32_t)TS_MIN(n - first, block), missed = 0;
    if (store->memory_tiers > 0) {
      ts_epoch_enter(&store->epochs, slot);
      ts_fast_block(table, keys + first, m, rows, hashes);
      if (device) status = to_staging(table, work, m, rows, err);
      TS_SYNC("peek:found");
      for (uint32_t i = 0; status == TS_OK && i < m; i++) {
        if (rows[i] != NULL && !ts_row_expired(table, rows[i]))
          visit(context, first + i, rows[i], 0);
        else
          which[missed++] = i;
      }
      ts_epoch_leave(slot);
    } else {
      for (; missed < m; missed++) which[missed] = missed;
    }
    if (status == TS_OK && missed > 0) status = peek_below(table, keys + first, which, missed, work, visit, first, context, err);
  }
  ts_epoch_release(slot);
  if (work != NULL) ts_work_release(store, work);
  return status;
}

/* ---- ts_table_find ---- */

typedef struct find {
  const ts_table *table;
  uint32_t slot;
  float *rows;
  uint8_t *found;
} find;

static void visit_find(void *context, uint64_t i, const unsigned char *row, uint64_t waiting) {
  const find *f = context;
  (void)waiting;
  float *to = f->rows + i * f->table->layout.dim;
  if (row != NULL)
    ts_optimizer_read_row(&f->table->optimizer, row, f->slot, to);
  else
    memset(to, 0, f->table->layout.dim * sizeof *to);
  if (f->found != NULL) f->found[i] = row != NULL;
}

int32_t ts_table_find(ts_store *store, uint32_t number, const int64_t *keys, uint64_t n, uint32_t slot, float *rows,
                      uint8_t *found, char *err, uint32_t err_cap) {
  ts_err e = {err, err_cap};
  ts_table *table = NULL;
  int32_t status = ts_store_table(store, number, &table, e);
  if (status != TS_OK) return status;
  if (slot >= ts_optimizer_readable(&table->optimizer))
    return ts_fail(e, TS_EINVAL, "Cannot read slot %u of table \"%s\": its rows have slots 0 to %u", slot, table->name,
                   ts_optimizer_readable(&table->optimizer) - 1);
  if (n == 0) return TS_OK;
  if (keys == NULL || rows == NULL)
    return ts_fail(e, TS_EINVAL, "Cannot find %llu keys in table \"%s\": keys and rows must not be NULL",
                   (unsigned long long)n, table->name);
  find f = {.table = table, .slot = slot, .rows = rows, .found = found};
  return peek_rows(table, keys, n, visit_find, &f, e);
}

/* ---- ts_table_metadata ---- */

typedef struct metadata {
  const ts_table *table;
  uint64_t *frequencies;
  int64_t *versions;
} metadata;

static void visit_metadata(void *context, uint64_t i, const unsigned char *row, uint64_t waiting) {
  const metadata *m = context;
  const ts_row_layout *layout = &m->table->layout;
  const ts_admission *a = &m->table->admission;
  if (m->frequencies != NULL) m->frequencies[i] = row == NULL ? ts_waiting_count(a, waiting) : ts_row_frequency(layout, row);
  if (m->versions != NULL) m->versions[i] = row == NULL ? ts_waiting_step(a, waiting) : ts_row_version(layout, row);
}

int32_t ts_table_metadata(ts_store *store, uint32_t number, const int64_t *keys, uint64_t n, uint64_t *frequencies,
                          int64_t *versions, char *err, uint32_t err_cap) {
  ts_err e = {err, err_cap};
  ts_table *table = NULL;
  int32_t status = ts_store_table(store, number, &table, e);
  if (status != TS_OK || n == 0) return status;
  if (keys == NULL)
    return ts_fail(e, TS_EINVAL, "Cannot read metadata of %llu keys of table \"%s\": keys must not be NULL",
                   (unsigned long long)n, table->name);
  metadata m = {.table = table, .frequencies = frequencies, .versions = versions};
  return peek_rows(table, keys, n, visit_metadata, &m, e);
}

/* ---- ts_table_lookup_tier ---- */

/* Whether there are records of these keys; of expired ones there are none. `work`: where they must be read to know. */
static int32_t recorded(ts_table *table, const int64_t *keys, uint32_t n, ts_work *work, uint8_t *found, ts_err err) {
  const ts_records_ops *ops = ts_records_tier(table->store)->records;
  if (work == NULL) return ops->contains(table->records, n, keys, found, err);
  int32_t status = TS_OK;
  for (uint32_t first = 0; status == TS_OK && first < n; first += work->staging_capacity) {
    const uint32_t m = TS_MIN(n - first, work->staging_capacity);
    unsigned char *rows[TS_FAST_BLOCK];
    for (uint32_t i = 0; i < m; i++) rows[i] = ts_work_staging(work, i);
    status = ops->get(table->records, m, keys + first, rows, found + first, err);
    for (uint32_t i = 0; status == TS_OK && i < m; i++)
      found[first + i] = found[first + i] && !ts_row_expired(table, rows[i]);
  }
  return status;
}

/* Memory first: a row that leaves it meanwhile is a record then. */
static int32_t tiers_of(ts_table *table, const int64_t *keys, uint32_t n, ts_work *work, int32_t *tiers, ts_err err) {
  uint8_t found[TS_FAST_BLOCK] = {0};
  bool expired[TS_FAST_BLOCK] = {false};
  for (uint32_t i = 0; i < n; i++) {
    ts_shard *shard = ts_shard_of(table, ts_index_hash(keys[i]));
    pthread_mutex_lock(&shard->lock);
    const ts_location l = ts_index_find_one(&shard->index, keys[i]);
    const uint32_t tier = TS_LOCATION_TIER(l);
    const unsigned char *row;
    const bool look = tier < TS_NOT_ADMITTED && ts_may_expire(table);
    const int32_t seen = look ? ts_row_see(shard, l, &row, err) : TS_OK;
    expired[i] = look && seen == TS_OK && ts_row_has_expired(table, row);
    pthread_mutex_unlock(&shard->lock);
    if (seen != TS_OK) return seen;
    tiers[i] = tier < TS_NOT_ADMITTED && !expired[i] ? (int32_t)tier : -1;
  }
  if (table->records == NULL) return TS_OK;
  int32_t status = recorded(table, keys, n, work, found, err);
  for (uint32_t i = 0; status == TS_OK && i < n; i++)
    if (tiers[i] < 0 && found[i] && !expired[i]) tiers[i] = (int32_t)table->store->memory_tiers;
  return status;
}

int32_t ts_table_lookup_tier(ts_store *store, uint32_t number, const int64_t *keys, uint64_t n, int32_t *tiers, char *err,
                             uint32_t err_cap) {
  ts_err e = {err, err_cap};
  ts_table *table = NULL;
  int32_t status = ts_store_table(store, number, &table, e);
  if (status != TS_OK || n == 0) return status;
  if (keys == NULL || tiers == NULL)
    return ts_fail(e, TS_EINVAL, "Cannot look up the tiers of %llu keys in table \"%s\": keys and tiers must not be NULL",
                   (unsigned long long)n, table->name);
  ts_work *work = table->records == NULL || !ts_may_expire(table) ? NULL : ts_work_acquire(table, 1, TS_WORK_LOOKUP);
  for (uint64_t first = 0; status == TS_OK && first < n; first += TS_FAST_BLOCK)
    status = tiers_of(table, keys + first, (uint32_t)TS_MIN(n - first, TS_FAST_BLOCK), work, tiers + first, e);
  if (work != NULL) ts_work_release(store, work);
  return status;
}
