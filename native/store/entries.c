/* entries.c - a shard's index walked with the rows that its entries name. */
#include "store/store.h"

int32_t ts_entries_next(ts_shard *shard, ts_index_cursor *cursor, uint32_t most, bool with_rows, ts_entries *out, ts_err err) {
  const uint32_t tiers = shard->table->store->memory_tiers;
  uint64_t slots[TS_ENTRIES];
  uint32_t numbers[TS_ENTRIES], n = 0;
  const unsigned char *rows[TS_ENTRIES];
  if (with_rows && tiers > 0) most = TS_MIN(most, ts_rows_at_once(&shard->rows[0]));
  out->n = 0;
  while (out->n < TS_MIN(most, TS_ENTRIES) &&
         ts_index_next(&shard->index, cursor, &out->keys[out->n], &out->locations[out->n])) {
    const uint32_t tier = TS_LOCATION_TIER(out->locations[out->n]);
    const uint64_t row = TS_LOCATION_ROW(out->locations[out->n]);
    out->rows[out->n] = with_rows && tier > 0 && tier < tiers ? ts_rows_at(&shard->rows[tier], row) : NULL;
    if (with_rows && tier == 0) {
      slots[n] = row;
      numbers[n++] = out->n;
    }
    out->n++;
  }
  const int32_t status = n == 0 ? TS_OK : ts_rows_see(&shard->rows[0], n, slots, rows, err);
  for (uint32_t i = 0; i < n; i++) out->rows[numbers[i]] = rows[i];
  return status;
}
