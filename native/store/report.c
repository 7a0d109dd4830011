/* report.c - what a store says about itself: counters, every byte, the real medium of each tier, a digest of its rows.
 *
 * When the bytes of an expired row go depends on where it is, so counters are read, and set to 0, after the sweep: the number
 * of expired rows is then that of the rows and steps alone. */
#include "store/batches.h"
#include "store/store.h"

#include <string.h>

/* A table's counters, with those that its records keep. */
static void add_statistics(ts_table *table, uint64_t sums[TS_STATISTIC_COUNT]) {
  for (uint32_t i = 0; i < TS_STATISTIC_COUNT; i++)
    sums[i] += atomic_load_explicit(&table->statistics[i], memory_order_relaxed);
  if (table->records == NULL) return;
  ts_records_counts c;
  ts_records_tier(table->store)->records->count(table->records, &c);
  sums[TS_STAT_records_read_bytes] += c.bytes_read;
  sums[TS_STAT_records_written_bytes] += c.bytes_written;
  sums[TS_STAT_records_compacted] += c.compacted_rows;
}

/* What went to a device's memory, which has it for all tables together. */
static void add_link(ts_store *store, uint64_t sums[TS_STATISTIC_COUNT]) {
  if (!ts_is_on_device(store)) return;
  ts_link_counts c;
  const ts_link_counts *before = &store->link_before;
  store->tiers[0].tier.ops->device->count(&store->tiers[0].tier, &c);
  sums[TS_STAT_link_up_bytes] += c.up_bytes - before->up_bytes;
  sums[TS_STAT_link_down_bytes] += c.down_bytes - before->down_bytes;
  sums[TS_STAT_link_transfers] += c.transfers - before->transfers;
  sums[TS_STAT_link_host_bytes] += c.host_bytes - before->host_bytes;
  sums[TS_STAT_link_ns] += c.ns - before->ns;
}

static void copy_statistics(const uint64_t sums[TS_STATISTIC_COUNT], uint64_t *out, uint32_t n, uint32_t *needed) {
  if (needed != NULL) *needed = TS_STATISTIC_COUNT;
  for (uint32_t i = 0; i < n && i < TS_STATISTIC_COUNT; i++) out[i] = sums[i];
}

uint64_t ts_store_counted(const ts_store *store, ts_statistic which) {
  uint64_t sum = 0;
  uint32_t count = atomic_load_explicit(&store->table_count, memory_order_acquire);
  for (uint32_t i = 0; i < count; i++)
    sum += atomic_load_explicit(&store->tables[i]->statistics[which], memory_order_relaxed);
  return sum;
}

int32_t ts_store_statistics(ts_store *store, uint64_t *out, uint32_t n, uint32_t *needed, char *err, uint32_t err_cap) {
  ts_err e = {err, err_cap};
  if (store == NULL || (out == NULL && n > 0)) return ts_fail(e, TS_EINVAL, "Cannot read statistics: an argument is NULL");
  int32_t status = ts_store_check(store, "read statistics", e);
  if (status != TS_OK) return status;
  uint64_t sums[TS_STATISTIC_COUNT] = {0};
  uint32_t count = atomic_load_explicit(&store->table_count, memory_order_acquire);
  for (uint32_t i = 0; n > 0 && status == TS_OK && i < count; i++) {
    status = ts_expire_all(store->tables[i], e);
    add_statistics(store->tables[i], sums);
  }
  if (status != TS_OK) return status;
  if (n > 0) add_link(store, sums);
  copy_statistics(sums, out, n, needed);
  return TS_OK;
}

int32_t ts_table_statistics(ts_store *store, uint32_t number, uint64_t *out, uint32_t n, uint32_t *needed, char *err,
                            uint32_t err_cap) {
  ts_err e = {err, err_cap};
  ts_table *table = NULL;
  int32_t status = ts_store_table(store, number, &table, e);
  if (status != TS_OK) return status;
  if (out == NULL && n > 0) return ts_fail(e, TS_EINVAL, "Cannot read statistics: the output is NULL");
  status = n > 0 ? ts_expire_all(table, e) : TS_OK;
  if (status != TS_OK) return status;
  uint64_t sums[TS_STATISTIC_COUNT] = {0};
  add_statistics(table, sums);
  copy_statistics(sums, out, n, needed);
  return TS_OK;
}

int32_t ts_store_reset_statistics(ts_store *store, char *err, uint32_t err_cap) {
  const ts_err e = {err, err_cap};
  int32_t status = ts_store_check(store, "reset statistics", e);
  if (status != TS_OK) return status;
  uint32_t count = atomic_load_explicit(&store->table_count, memory_order_acquire);
  for (uint32_t i = 0; i < count; i++) {
    status = ts_expire_all(store->tables[i], e);
    if (status != TS_OK) return status;
  }
  for (uint32_t i = 0; i < count; i++) {
    ts_table *table = store->tables[i];
    for (uint32_t j = 0; j < TS_STATISTIC_COUNT; j++) atomic_store(&table->statistics[j], 0);
    if (table->records == NULL) continue;
    /* Records count since they were opened: start from the negative of that. */
    ts_records_counts c;
    ts_records_tier(store)->records->count(table->records, &c);
    atomic_store(&table->statistics[TS_STAT_records_read_bytes], 0 - c.bytes_read);
    atomic_store(&table->statistics[TS_STAT_records_written_bytes], 0 - c.bytes_written);
    atomic_store(&table->statistics[TS_STAT_records_compacted], 0 - c.compacted_rows);
  }
  if (ts_is_on_device(store)) store->tiers[0].tier.ops->device->count(&store->tiers[0].tier, &store->link_before);
  if (store->reuse != NULL) ts_reuse_reset(store->reuse);
  return TS_OK;
}

int32_t ts_statistics_names(char *out, uint64_t cap, uint64_t *needed) {
  ts_text text = {0};
#define TS_STATISTIC_LINE(name, unit) ts_text_add(&text, #name " " unit "\n");
  TS_STATISTICS(TS_STATISTIC_LINE)
#undef TS_STATISTIC_LINE
  return ts_text_return(&text, out, cap, needed);
}

/* Bytes of a tier's rows: those that hold one, of rows or records. */
static uint64_t row_bytes_in(ts_store *store, uint32_t t) {
  uint64_t bytes = 0;
  uint32_t count = atomic_load_explicit(&store->table_count, memory_order_acquire);
  for (uint32_t i = 0; i < count; i++) {
    uint64_t rows[TS_MAX_TIERS];
    ts_table *table = store->tables[i];
    if (ts_table_rows(store, i, rows, TS_MAX_TIERS, NULL, 0) == TS_OK) bytes += rows[t] * table->layout.stride;
  }
  return bytes;
}

int32_t ts_store_memory(ts_store *store, char *out, uint64_t cap, uint64_t *needed) {
  if (ts_store_check(store, "describe a store", (ts_err){0}) != TS_OK) return TS_EINVAL;
  static const char *const names[TS_PURPOSES] = {"rows", "index", "policy", "buffers", "buffers"};
  ts_text text = {0};
  for (uint32_t t = 0; t < store->tier_count; t++) {
    ts_store_tier *tier = &store->tiers[t];
    ts_text_add(&text, "tier=%u limit=%llu used=%llu\n", t, (unsigned long long)tier->budget.limit,
                (unsigned long long)atomic_load(&tier->budget.used));
    uint64_t bytes[TS_PURPOSES];
    for (uint32_t p = 0; p < TS_PURPOSES; p++) bytes[p] = atomic_load(&tier->budget.reserved[p]);
    bytes[TS_PURPOSE_BUFFERS] += bytes[TS_PURPOSE_WORK];
    uint64_t live = TS_MIN(row_bytes_in(store, t), bytes[TS_PURPOSE_ROWS]);
    uint64_t slack = bytes[TS_PURPOSE_ROWS] - live;
    if (t == store->dram && strcmp(tier->place, "DRAM") == 0) { /* what the index's memory may hold beside it is charged with the buffers */
      slack += store->block_slack;
      bytes[TS_PURPOSE_BUFFERS] -= store->block_slack;
    }
    ts_text_add(&text, "tier=%u purpose=slack place=%s bytes=%llu\n", t, tier->place, (unsigned long long)slack);
    bytes[TS_PURPOSE_ROWS] = live;
    for (uint32_t p = 0; p < (t == store->dram ? TS_PURPOSE_WORK : TS_PURPOSE_INDEX); p++)
      ts_text_add(&text, "tier=%u purpose=%s place=%s bytes=%llu\n", t, names[p],
                  p == TS_PURPOSE_ROWS ? tier->place : "DRAM", (unsigned long long)bytes[p]);
  }
  return ts_text_return(&text, out, cap, needed);
}

int32_t ts_store_settle(ts_store *store, char *err, uint32_t err_cap) {
  ts_err e = {err, err_cap};
  int32_t status = ts_store_check(store, "settle a store", e);
  if (status != TS_OK) return status;
  ts_evictors_settle(store->evictors);
  uint32_t count = atomic_load_explicit(&store->table_count, memory_order_acquire);
  for (uint32_t i = 0; status == TS_OK && i < count; i++)
    if (store->tables[i]->records != NULL)
      status = ts_records_tier(store)->records->flush(store->tables[i]->records, e);
  return status;
}

int32_t ts_store_describe(ts_store *store, char *out, uint64_t cap, uint64_t *needed) {
  if (ts_store_check(store, "describe a store", (ts_err){0}) != TS_OK) return TS_EINVAL;
  ts_text text = {0};
  for (uint32_t t = 0; t < store->tier_count; t++) {
    ts_store_tier *tier = &store->tiers[t];
    ts_text_add(&text, "tier=%u type=%s", t, tier->type);
    if (tier->records != NULL) {
      ts_text_add(&text, " medium=%s", tier->place);
      if (tier->directory != NULL) ts_text_add(&text, " path=%s", tier->directory);
      if (atomic_load_explicit(&store->table_count, memory_order_acquire) > 0)
        tier->records->describe(store->tables[0]->records, &text);
    } else {
      tier->tier.ops->describe(&tier->tier, &text);
    }
    if (tier->emulation != NULL) ts_text_add(&text, " emulates=%s", ts_emulation_medium(tier->emulation));
    if (t == 0 && store->memory_mode != NULL)
      ts_text_add(&text, " emulates=%s memory_mode_cache=%llu", ts_memory_mode_medium(store->memory_mode),
                  (unsigned long long)ts_memory_mode_cache_bytes(store->memory_mode));
    ts_text_add(&text, "\n");
  }
  return ts_text_return(&text, out, cap, needed);
}

int32_t ts_table_named(ts_store *store, const char *name, uint32_t *number, char *err, uint32_t err_cap) {
  ts_err e = {err, err_cap};
  if (store == NULL || name == NULL || number == NULL)
    return ts_fail(e, TS_EINVAL, "Cannot find a table by its name: an argument is NULL");
  int32_t here = ts_store_check(store, "find a table", e);
  if (here != TS_OK) return here;
  uint32_t count = atomic_load_explicit(&store->table_count, memory_order_acquire);
  for (uint32_t i = 0; i < count; i++) {
    if (strcmp(store->tables[i]->name, name) != 0) continue;
    *number = i;
    return TS_OK;
  }
  return ts_fail(e, TS_EINVAL, "Cannot find the table \"%s\": the store has %u tables and none of this name", name, count);
}

int32_t ts_table_describe(ts_store *store, uint32_t number, char *out, uint64_t cap, uint64_t *needed, char *err,
                          uint32_t err_cap) {
  ts_err e = {err, err_cap};
  ts_table *table = NULL;
  int32_t status = ts_store_table(store, number, &table, e);
  if (status != TS_OK) return status;
  const ts_row_layout *l = &table->layout;
  ts_text text = {0};
  ts_text_add(&text, "dim=%u\nslots=%u\nrow_bytes=%u\ntiers=%u\ndtype=%s\noptimizer=%s\n", l->dim, l->slots, l->stride,
              store->tier_count, ts_row_type_names[l->type], ts_optimizer_names[table->optimizer.kind]);
  if (ts_is_on_device(store)) ts_text_add(&text, "steps=%s\n", table->steps_on_device ? "device" : "host");
  static const char *const admissions[] = {"none", "counter", "bloom"};
  ts_text_add(&text, "admission=%s\nrecord_frequency=%d\nrecord_version=%d\n", admissions[table->admission.kind],
              l->frequency_offset != 0, l->version_offset != 0);
  if (table->expiry.by_steps) ts_text_add(&text, "expire.steps=%lld\n", (long long)table->expiry.steps);
  if (table->expiry.by_weight) ts_text_add(&text, "expire.l2=%.17g\n", table->expiry.weight);
  return ts_text_tell(&text, table->name, out, cap, needed, e);
}

/* Numbers only, the rule's scalars included: not padding, and not when or how often the row was used. */
static uint64_t row_digest(const ts_table *table, int64_t key, const unsigned char *row) {
  const ts_row_layout *l = &table->layout;
  uint64_t h = table->name_hash ^ ts_mix64((uint64_t)key);
  for (uint32_t s = 0; s < l->slots; s++) h = ts_hash_bytes(row + ts_row_slot_offset(l, s), ts_row_slot_size(l, s), h);
  if (l->scalars > 0) h = ts_hash_bytes(row + l->scalar_offset, l->scalars * sizeof(uint32_t), h);
  return h;
}

static int32_t digest_memory(ts_table *table, uint64_t *sum, ts_err err) {
  int32_t status = TS_OK;
  *sum = 0;
  for (uint32_t s = 0; status == TS_OK && s < table->shard_count; s++) {
    ts_shard *shard = &table->shards[s];
    ts_index_cursor cursor = {0};
    ts_entries e;
    pthread_mutex_lock(&shard->lock);
    while ((status = ts_entries_next(shard, &cursor, TS_ENTRIES, true, &e, err)) == TS_OK && e.n > 0)
      for (uint32_t i = 0; i < e.n; i++) /* a sum: the order of rows does not matter */
        if (e.rows[i] != NULL && !ts_row_expired(table, e.rows[i])) *sum += row_digest(table, e.keys[i], e.rows[i]);
    pthread_mutex_unlock(&shard->lock);
  }
  return status;
}

typedef struct digested {
  const ts_table *table;
  uint64_t sum;
} digested;

static void digest_record(void *context, int64_t key, const unsigned char *row) {
  digested *d = context;
  d->sum += row_digest(d->table, key, row);
}

int32_t ts_store_digest_parts(ts_store *store, uint64_t *rows, uint64_t *names, ts_err e) {
  int32_t status = ts_store_check(store, "digest a store", e);
  if (status != TS_OK) return status;
  ts_evictors_settle(store->evictors); /* a row that moves meanwhile could be met twice, or not at all */
  *rows = *names = 0;
  uint32_t count = atomic_load_explicit(&store->table_count, memory_order_acquire);
  for (uint32_t i = 0; status == TS_OK && i < count; i++) {
    ts_table *table = store->tables[i];
    digested d = {.table = table};
    status = digest_memory(table, &d.sum, e);
    if (status == TS_OK && table->records != NULL) status = ts_records_each(table, true, digest_record, &d, e);
    *rows += d.sum;
    *names += ts_mix64(table->name_hash);
  }
  return status;
}

int32_t ts_store_digest(ts_store *store, uint64_t *digest, char *err, uint32_t err_cap) {
  ts_err e = {err, err_cap};
  if (store == NULL || digest == NULL) return ts_fail(e, TS_EINVAL, "Cannot digest a store: an argument is NULL");
  uint64_t rows, names;
  int32_t status = ts_store_digest_parts(store, &rows, &names, e);
  if (status == TS_OK) *digest = rows + names;
  return status;
}
