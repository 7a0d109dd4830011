/* records.c - puts and removals of a table's records, with what the store knows of them.
 *
 * Whether a key has a record is known before: a row in memory has a flag for it, and a row that is in no memory tier was
 * looked for among the records. A tier without an index of its own (LEVELDB) counts its rows by that and need not read
 * before it writes. After an error of the medium nobody knows what became of the call's records; from then on the tier
 * of this table looks for itself. */
#include "base/sync_point.h"
#include "store/store.h"

static const ts_records_ops *ops_of(const ts_table *table) { return ts_records_tier(table->store)->records; }

int32_t ts_records_put(ts_table *table, uint32_t n, const int64_t *keys, const uint64_t *versions,
                       const unsigned char *const *rows, const uint8_t *known, ts_err err) {
  if (atomic_load_explicit(&table->doubtful, memory_order_relaxed)) known = NULL;
  int32_t status = ops_of(table)->put(table->records, n, keys, versions, rows, known, err);
  if (status != TS_OK && status != TS_EFULL) atomic_store_explicit(&table->doubtful, true, memory_order_relaxed);
  TS_SYNC("records:put");
  ts_fetch_changed(table, keys, n); /* also after an error: some may be there */
  return status;
}

int32_t ts_records_remove(ts_table *table, int64_t key, ts_err err) {
  const uint8_t there = TS_RECORD_THERE;
  const bool doubtful = atomic_load_explicit(&table->doubtful, memory_order_relaxed);
  int32_t status = ops_of(table)->remove(table->records, 1, &key, doubtful ? NULL : &there, err);
  if (status != TS_OK) atomic_store_explicit(&table->doubtful, true, memory_order_relaxed);
  ts_fetch_changed(table, &key, 1);
  return status;
}

bool ts_records_has(ts_table *table, int64_t key) {
  uint8_t found = 0;
  int32_t status = ops_of(table)->contains(table->records, 1, &key, &found, (ts_err){NULL, 0});
  if (status != TS_OK) atomic_store_explicit(&table->doubtful, true, memory_order_relaxed);
  return status == TS_OK && found;
}
