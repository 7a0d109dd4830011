/* report.c - what a store says about itself: counters, every byte, the real medium of each tier, a digest of its rows. */
#include "store/store.h"

#include <string.h>

int32_t ts_store_statistics(ts_store *store, uint64_t *out, uint32_t n, uint32_t *needed, char *err, uint32_t err_cap) {
  ts_err e = {err, err_cap};
  if (store == NULL || (out == NULL && n > 0)) return ts_fail(e, TS_EINVAL, "Cannot read statistics: an argument is NULL");
  if (needed != NULL) *needed = TS_STATISTIC_COUNT;
  for (uint32_t i = 0; i < n && i < TS_STATISTIC_COUNT; i++)
    out[i] = atomic_load_explicit(&store->statistics[i], memory_order_relaxed);
  return TS_OK;
}

int32_t ts_store_reset_statistics(ts_store *store, char *err, uint32_t err_cap) {
  if (store == NULL) return ts_fail((ts_err){err, err_cap}, TS_EINVAL, "Cannot reset statistics: the store is NULL");
  for (uint32_t i = 0; i < TS_STATISTIC_COUNT; i++) atomic_store(&store->statistics[i], 0);
  return TS_OK;
}

int32_t ts_statistics_names(char *out, uint64_t cap, uint64_t *needed) {
  ts_text text = {0};
#define TS_STATISTIC_LINE(name, unit) ts_text_add(&text, #name " " unit "\n");
  TS_STATISTICS(TS_STATISTIC_LINE)
#undef TS_STATISTIC_LINE
  return ts_text_return(&text, out, cap, needed);
}

int32_t ts_store_memory(ts_store *store, char *out, uint64_t cap, uint64_t *needed) {
  if (store == NULL) return TS_EINVAL;
  static const char *const names[TS_PURPOSES] = {"rows", "index", "policy", "buffers"};
  ts_text text = {0};
  for (uint32_t t = 0; t < store->tier_count; t++) {
    ts_store_tier *tier = &store->tiers[t];
    ts_text_add(&text, "tier=%u limit=%llu used=%llu\n", t, (unsigned long long)tier->budget.limit,
                (unsigned long long)atomic_load(&tier->budget.used));
    uint64_t live = 0, count = atomic_load(&store->table_count);
    for (uint32_t i = 0; i < count; i++) {
      ts_table *table = store->tables[i];
      pthread_mutex_lock(&table->lock);
      live += table->rows[t].live * table->stride;
      pthread_mutex_unlock(&table->lock);
    }
    for (uint32_t p = 0; p < TS_PURPOSES; p++) {
      uint64_t bytes = atomic_load(&tier->budget.reserved[p]);
      if (p == TS_PURPOSE_ROWS) {
        ts_text_add(&text, "tier=%u purpose=slack place=%s bytes=%llu\n", t, tier->tier.ops->place,
                    (unsigned long long)(bytes > live ? bytes - live : 0));
        bytes = live;
      } else if (t > 0) {
        continue;
      }
      ts_text_add(&text, "tier=%u purpose=%s place=%s bytes=%llu\n", t, names[p],
                  p == TS_PURPOSE_ROWS ? tier->tier.ops->place : "DRAM", (unsigned long long)bytes);
    }
  }
  return ts_text_return(&text, out, cap, needed);
}

int32_t ts_store_describe(ts_store *store, char *out, uint64_t cap, uint64_t *needed) {
  if (store == NULL) return TS_EINVAL;
  ts_text text = {0};
  for (uint32_t t = 0; t < store->tier_count; t++) {
    ts_store_tier *tier = &store->tiers[t];
    ts_text_add(&text, "tier=%u type=%s", t, tier->tier.ops->type);
    tier->tier.ops->describe(&tier->tier, &text);
    if (tier->emulation != NULL) ts_text_add(&text, " emulates=%s", ts_emulation_medium(tier->emulation));
    if (t == 0 && store->memory_mode != NULL)
      ts_text_add(&text, " emulates=%s memory_mode_cache=%llu", ts_memory_mode_medium(store->memory_mode),
                  (unsigned long long)ts_memory_mode_cache_bytes(store->memory_mode));
    ts_text_add(&text, "\n");
  }
  return ts_text_return(&text, out, cap, needed);
}

static uint64_t row_digest(const ts_table *table, int64_t key, const unsigned char *row) {
  uint64_t h = table->name_hash ^ ts_mix64((uint64_t)key);
  for (uint32_t s = 0; s < table->slots; s++)
    h = ts_hash_bytes(row + (size_t)s * table->slot_bytes, table->dim * sizeof(float), h);
  return h;
}

int32_t ts_store_digest(ts_store *store, uint64_t *digest, char *err, uint32_t err_cap) {
  if (store == NULL || digest == NULL)
    return ts_fail((ts_err){err, err_cap}, TS_EINVAL, "Cannot digest a store: an argument is NULL");
  uint64_t sum = 0, count = atomic_load_explicit(&store->table_count, memory_order_acquire);
  for (uint32_t i = 0; i < count; i++) {
    ts_table *table = store->tables[i];
    pthread_mutex_lock(&table->lock);
    ts_index_cursor cursor = {0};
    int64_t key;
    ts_location l;
    while (ts_index_next(&table->index, &cursor, &key, &l)) /* a sum: the order of rows does not matter */
      sum += row_digest(table, key, ts_rows_at(&table->rows[TS_LOCATION_TIER(l)], TS_LOCATION_ROW(l)));
    sum += ts_mix64(table->name_hash);
    pthread_mutex_unlock(&table->lock);
  }
  *digest = sum;
  return TS_OK;
}
