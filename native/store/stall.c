/* stall.c - what an emulated medium costs over the real one, for the rows of a batch. */
#include "store/store.h"

uint64_t ts_batch_rows_in(const ts_batch *batch, uint32_t tier) {
  uint64_t rows = 0;
  for (uint32_t i = 0; i < batch->count; i++) rows += TS_LOCATION_TIER(batch->locations[i]) == tier;
  return rows;
}

uint64_t ts_batch_excess(const ts_batch *batch, uint64_t rows, uint64_t real_ns, uint64_t model_ns) {
  if (rows == 0) return 0;
  uint64_t share = real_ns * rows / batch->count;
  return model_ns > share ? model_ns - share : 0;
}

uint64_t ts_memory_mode_excess(ts_table *table, const ts_batch *batch, uint32_t bytes, bool write) {
  ts_store *store = table->store;
  if (store->memory_mode == NULL) return 0;
  ts_memory_mode_count count = {0};
  for (uint32_t i = 0; i < batch->count; i++)
    ts_memory_mode_access(store->memory_mode, (uintptr_t)batch->rows[i], bytes, write, &count);
  ts_count(store, TS_STAT_memory_mode_line_hits, count.hits);
  ts_count(store, TS_STAT_memory_mode_clean_misses, count.clean_misses);
  ts_count(store, TS_STAT_memory_mode_dirty_misses, count.dirty_misses);
  return ts_memory_mode_cost_ns(store->memory_mode, &count);
}
