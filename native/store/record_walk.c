/* record_walk.c - the rows that are records only: records of rows in memory are copies, which the main index knows. */
#include "store/store.h"

int32_t ts_records_each(ts_table *table, bool with_rows, ts_record_visit *visit, void *context, ts_err err) {
  with_rows = with_rows || ts_may_expire(table);
  int64_t keys[TS_FAST_BLOCK];
  unsigned char *rows[TS_FAST_BLOCK];
  uint32_t most = TS_FAST_BLOCK;
  ts_work *work = with_rows ? ts_work_acquire(table, TS_FAST_BLOCK, TS_WORK_LOOKUP) : NULL;
  if (with_rows) most = TS_MIN(most, work->staging_capacity);
  for (uint32_t i = 0; with_rows && i < most; i++) rows[i] = ts_work_staging(work, i);
  uint64_t cursor = 0;
  int32_t status;
  for (;;) {
    uint32_t got = 0;
    status = ts_records_tier(table->store)->records->walk(table->records, &cursor, most, keys, NULL,
                                                          with_rows ? rows : NULL, &got, err);
    if (status != TS_OK || got == 0) break;
    for (uint32_t i = 0; i < got; i++) {
      ts_shard *shard = ts_shard_of(table, ts_index_hash(keys[i]));
      pthread_mutex_lock(&shard->lock);
      bool above = TS_LOCATION_TIER(ts_index_find_one(&shard->index, keys[i])) < TS_NOT_ADMITTED;
      pthread_mutex_unlock(&shard->lock);
      if (!above && !(with_rows && ts_row_expired(table, rows[i]))) visit(context, keys[i], with_rows ? rows[i] : NULL);
    }
  }
  if (work != NULL) ts_work_release(table->store, work);
  return status;
}
