/* tables.c - creating tables and asking them about themselves. */
#include "store/store.h"

#include <stdlib.h>
#include <string.h>

#define LATE_TABLE (UINT64_C(64) << 10) /* bytes that a full store first makes room for, for a new table */

static bool charge_index(void *context, int64_t bytes) {
  ts_shard *shard = context;
  ts_budget *budget = ts_dram_budget(shard->table->store);
  if (bytes <= 0) {
    ts_budget_give_back(budget, TS_PURPOSE_INDEX, (uint64_t)-bytes);
    return true;
  }
  if (shard->index_grant >= (uint64_t)bytes) { /* charged when it was granted */
    shard->index_grant -= (uint64_t)bytes;
    return true;
  }
  return ts_budget_take(budget, TS_PURPOSE_INDEX, (uint64_t)bytes);
}

static bool charge_filter(void *context, int64_t bytes) {
  ts_table *table = context;
  ts_budget *budget = ts_dram_budget(table->store);
  if (bytes > 0) return ts_budget_take(budget, TS_PURPOSE_POLICY, (uint64_t)bytes);
  ts_budget_give_back(budget, TS_PURPOSE_POLICY, (uint64_t)-bytes);
  return true;
}

static uint64_t fixed_bytes(const ts_table *table) {
  return sizeof(ts_table) + strlen(table->name) + 1 + strlen(table->options) + 1 + table->shard_count * sizeof(ts_shard);
}

static void destroy_shard(ts_shard *shard) {
  ts_store *store = shard->table->store;
  for (uint32_t t = 0; t < store->memory_tiers; t++)
    if (shard->rows[t].tier != NULL) ts_rows_destroy(&shard->rows[t]);
  ts_index_destroy(&shard->index);
  ts_budget_give_back(ts_dram_budget(store), TS_PURPOSE_INDEX, shard->index_grant);
  pthread_mutex_destroy(&shard->lock);
}

void ts_table_destroy(ts_table *table) {
  if (table == NULL) return;
  ts_store *store = table->store;
  if (table->shards != NULL) {
    for (uint32_t s = 0; s < table->shard_count; s++)
      if (table->shards[s].table != NULL) destroy_shard(&table->shards[s]);
    free(table->shards);
    ts_budget_give_back(ts_dram_budget(store), TS_PURPOSE_BUFFERS, fixed_bytes(table));
  }
  if (table->records != NULL) ts_records_tier(store)->records->close(table->records, table->kept);
  ts_bloom_destroy(table->admission.bloom);
  ts_tracking_end(table);
  free(table->options);
  pthread_mutex_destroy(&table->expiring);
  pthread_mutex_destroy(&table->fetching);
  free(table->name);
  free(table);
}

/* "admission" and "admission.*". */
static int32_t read_admission(ts_config_reader *r, ts_table *table) {
  static const char *const kinds[] = {"none", "counter", "bloom", "cbf" /* the name before */, NULL};
  ts_admission *a = &table->admission;
  ts_text *found = r->found;
  r->found = NULL; /* by the name of today */
  a->kind = (ts_admission_kind)TS_MIN(ts_config_choice(r, "admission", "none", kinds), TS_ADMIT_BLOOM);
  r->found = found;
  ts_config_found(r, "admission", "%s", kinds[a->kind]);
  if (a->kind == TS_ADMIT_ALL) return r->status;
  a->frequency = ts_config_u64(r, "admission.frequency", 1, 1, UINT64_C(1) << 30);
  a->default_value = (float)ts_config_f64(r, "admission.default_value", 0, -3e38, 3e38);
  if (a->kind == TS_ADMIT_COUNTED) return r->status;
  uint64_t keys = ts_config_u64(r, "admission.keys", UINT64_C(1) << 20, 1, UINT64_C(1) << 40);
  double error = ts_config_f64(r, "admission.error", 0.01, 1e-12, 0.5);
  uint32_t bits = (uint32_t)ts_config_u64(r, "admission.counter_bits", 32, 8, 64);
  if (r->status != TS_OK) return r->status;
  return r->status = ts_bloom_create(keys, error, bits, a->frequency, charge_filter, table, &a->bloom, r->err);
}

/* "expire.*". */
static void read_expiry(ts_config_reader *r, const ts_config *config, ts_table *table) {
  static const char *const forms[] = {"half-squared", "norm", NULL};
  ts_expiry *e = &table->expiry;
  e->by_steps = ts_config_has(config, "expire.steps");
  if (e->by_steps) e->steps = (int64_t)ts_config_u64(r, "expire.steps", 0, 0, INT64_MAX);
  e->by_weight = ts_config_has(config, "expire.l2");
  e->swept = -1;
  if (!e->by_weight) return;
  e->weight = ts_config_f64(r, "expire.l2", 0, 0, 1e300);
  e->every = (int64_t)ts_config_u64(r, "expire.l2_every", 1000, 0, UINT64_C(1) << 62);
  e->norm = ts_config_choice(r, "expire.l2_form", "half-squared", forms) == 1;
}

/* The store's table of this name, or NULL. */
static ts_table *named(const ts_store *store, const char *name) {
  const uint32_t count = atomic_load(&store->table_count);
  for (uint32_t i = 0; i < count; i++)
    if (strcmp(store->tables[i]->name, name) == 0) return store->tables[i];
  return NULL;
}

static int32_t read_found(ts_table *table, const ts_config *config, ts_config_reader *r, ts_err err) {
  ts_store *store = table->store;
  const char *name = ts_config_text(r, "name", NULL);
  if (r->status != TS_OK) return r->status;
  if (name == NULL || name[0] == '\0')
    return ts_fail(err, TS_EINVAL, "Cannot create table: option \"name\" is required");
  table->name = strdup(name);
  if (table->name == NULL) return ts_fail(err, TS_ENOMEM, "Cannot create table \"%s\": out of memory", name);
  table->name_hash = ts_hash_bytes(name, strlen(name), 0);
  const ts_table *twin = named(store, name);
  if (twin != NULL && !twin->resumed)
    return ts_fail(err, TS_EINVAL, "Cannot create table \"%s\": the store has one of this name", name);
  uint32_t dim = (uint32_t)ts_config_u64(r, "dim", 16, 1, 65536);
  ts_row_type type = (ts_row_type)ts_config_choice(r, "dtype", "fp32", ts_row_type_names);
  ts_optimizer_read(r, name, &table->optimizer);
  ts_initializer_read(r, dim, store->seed, name, &table->initializer);
  table->initializer.normal = store->normal;
  read_expiry(r, config, table);
  bool frequency = ts_config_u64(r, "record_frequency", 0, 0, 1) == 1;
  bool version = ts_config_u64(r, "record_version", 0, 0, 1) == 1 || ts_may_expire(table);
  read_admission(r, table); /* last: it takes memory */
  if (version && table->admission.kind == TS_ADMIT_COUNTED)
    table->admission.count_bits = ts_waiting_count_bits(table->admission.frequency);
  int32_t status = ts_config_finish(r);
  if (status != TS_OK) return status;
  ts_optimizer_prepare(&table->optimizer, type, dim, frequency, version, ts_hash_bytes(name, strlen(name), store->seed),
                       store->level);
  table->layout = table->optimizer.layout;
  ts_reuse_table_init(&table->reuse, table->number, table->layout.stride, table->admission.frequency, store->seed);
  return TS_OK;
}

static int32_t read_options(ts_table *table, const ts_config *config, ts_err err) {
  ts_text found = {0};
  ts_config_reader r = ts_config_read(config, "table", err);
  r.found = &found;
  const int32_t status = read_found(table, config, &r, err);
  table->options = found.bytes;
  return found.failed && status == TS_OK ? ts_fail(err, TS_ENOMEM, "Cannot create table: out of memory") : status;
}
static int32_t create_shard(ts_table *table, uint32_t s) {
  ts_store *store = table->store;
  ts_shard *shard = &table->shards[s];
  pthread_mutex_init(&shard->lock, NULL);
  shard->table = table;
  table->indexes[s] = &shard->index;
  const ts_index_options options = {.epochs = &store->epochs,
                                    .blocks = store->blocks,
                                    .charge = charge_index,
                                    .charge_context = shard,
                                    .skip_bits = table->shard_bits};
  int32_t status = ts_index_init(&shard->index, &options);
  for (uint32_t t = 0; status == TS_OK && t < store->memory_tiers; t++) {
    ts_store_tier *tier = &store->tiers[t];
    status = ts_rows_init(&shard->rows[t], &tier->tier, ts_blocks_pieces(store->blocks), &tier->budget,
                          ts_dram_budget(store), table->layout.stride, tier->budget.limit / table->shard_count,
                          t + 1 < store->tier_count, store->policy, t == 0 && store->memory_tiers > 1, t > store->dram);
  }
  if (store->memory_tiers > 0 && status == TS_OK) table->first[s] = ts_rows_view_of(&shard->rows[0]);
  return status;
}

static int32_t open_records(ts_table *table, ts_err err) {
  ts_store *store = table->store;
  if (!ts_has_records(store)) return TS_OK;
  ts_store_tier *tier = ts_records_tier(store);
  const ts_row_layout *l = &table->layout;
  const uint64_t layout[] = {l->type, l->dim, l->slots, l->weight_bytes, l->slot_bytes, l->scalar_offset, l->frequency_offset,
                             l->version_offset, l->stride};
  const ts_records_options options = {.directory = tier->directory,
                                      .table = table->name,
                                      .row_bytes = table->layout.stride,
                                      .temporary = !store->persistent,
                                      .layout = layout,
                                      .layout_words = sizeof layout / sizeof *layout,
                                      .at = store->opens_at,
                                      .looks = store->opens_to_look,
                                      .control = store->opens_control,
                                      .disk = store->disk,
                                      .pmem = store->pmem,
                                      .versions = table->layout.version_offset != 0,
                                      .budget = &tier->budget,
                                      .dram = ts_dram_budget(store),
                                      .epochs = &store->epochs,
                                      .blocks = store->blocks,
                                      .options = tier->records_options};
  table->kept = table->resumed = store->opens_at != 0;
  return tier->records->open(&options, &table->records, err);
}

/* What a table needs once its options are known. */
static int32_t build(ts_table *table, ts_err err) {
  ts_store *store = table->store;
  ts_budget *first = ts_dram_budget(store);
  table->shard_count = store->shards;
  table->shard_bits = (uint32_t)__builtin_ctz(store->shards);
  if (ts_is_on_device(store)) {
    ts_tier *tier = &store->tiers[0].tier;
    const int32_t tried = tier->ops->device->try_steps(tier, &table->optimizer, &table->steps_on_device, err);
    if (tried != TS_OK) return tried;
  }
  if (!ts_budget_take(first, TS_PURPOSE_BUFFERS, fixed_bytes(table)))
    return ts_fail(err, TS_EFULL, "Cannot create table \"%s\": the first tier's %llu bytes are used up; raise its size",
                   table->name, (unsigned long long)first->limit);
  table->shards = aligned_alloc(64, table->shard_count * sizeof *table->shards);
  if (table->shards == NULL) {
    ts_budget_give_back(first, TS_PURPOSE_BUFFERS, fixed_bytes(table));
    return ts_fail(err, TS_ENOMEM, "Cannot create table \"%s\": out of memory", table->name);
  }
  memset(table->shards, 0, table->shard_count * sizeof *table->shards);
  int32_t status = TS_OK;
  for (uint32_t s = 0; status == TS_OK && s < table->shard_count; s++) status = create_shard(table, s);
  if (status != TS_OK)
    return ts_fail(err, status, "Cannot create table \"%s\": no room for its index in the first tier's %llu bytes; raise its "
                   "size or lower \"shards\"", table->name, (unsigned long long)first->limit);
  /* Rows of a small first tier leave soon: each lookup counts from the beginning. */
  atomic_store(&table->tracking, ts_is_tiered(store) && table->shard_count == 1);
  status = open_records(table, err);
  if (status == TS_OK) status = ts_tracking_begin(table, err);
  return status == TS_OK ? ts_work_prepare(table, err) : status;
}

/* One trial, under the lock on tables. */
static int32_t create_table(ts_store *store, const ts_config *config, uint32_t *number, ts_err e) {
  uint32_t count = atomic_load(&store->table_count);
  int32_t status = TS_OK;
  ts_table *table = aligned_alloc(64, TS_ROUND_UP(sizeof *table, 64u));
  if (table == NULL) {
    status = ts_fail(e, TS_ENOMEM, "Cannot create table: out of memory");
  } else {
    memset(table, 0, sizeof *table);
    table->store = store;
    table->number = count;
    pthread_mutex_init(&table->expiring, NULL);
    pthread_mutex_init(&table->fetching, NULL);
  }
  if (status == TS_OK && count == TS_MAX_TABLES)
    status = ts_fail(e, TS_EINVAL, "Cannot create table: a store holds at most %u", TS_MAX_TABLES);
  if (status == TS_OK) status = read_options(table, config, e);
  ts_table *twin = status == TS_OK ? named(store, table->name) : NULL;
  if (twin != NULL) {
    status = ts_table_same_options("create", table->name, table->options, "the call", twin->options, "the restore point", e);
    if (status == TS_OK) *number = twin->number;
    if (status == TS_OK) twin->resumed = false;
    ts_table_destroy(table);
    return status;
  }
  if (status == TS_OK) status = build(table, e);
  if (status != TS_OK) {
    ts_table_destroy(table);
  } else {
    store->tables[count] = table;
    atomic_store_explicit(&store->table_count, count + 1, memory_order_release);
    *number = count;
  }
  return status;
}

int32_t ts_table_create(ts_store *store, const ts_config *config, uint32_t *number, char *err, uint32_t err_cap) {
  ts_err e = {err, err_cap};
  if (store == NULL || number == NULL) return ts_fail(e, TS_EINVAL, "Cannot create table: a store and an output are needed");
  int32_t status = ts_store_check(store, "create table", e);
  if (status != TS_OK) return status;
  if (store->resumable)
    return ts_fail(e, TS_EINVAL, "Cannot create table: \"%s\" has restore points; take one up first (ts_store_resume), or choose "
                                 "another path", store->folder.path);
  pthread_mutex_lock(&store->tables_lock);
  status = create_table(store, config, number, e);
  /* Rows of other tables may have all of the first tier: they make room. */
  for (uint64_t bytes = LATE_TABLE; status == TS_EFULL && bytes <= ts_dram_budget(store)->limit / 4; bytes *= 4) {
    if (!ts_room_make(store, bytes)) break;
    status = create_table(store, config, number, e);
  }
  pthread_mutex_unlock(&store->tables_lock);
  return status;
}

int32_t ts_store_table(ts_store *store, uint32_t number, ts_table **out, ts_err err) {
  int32_t status = ts_store_check(store, "use a table", err);
  if (status != TS_OK) return status;
  uint32_t count = atomic_load_explicit(&store->table_count, memory_order_acquire);
  if (number >= count) return ts_fail(err, TS_EINVAL, "Cannot use table %u: the store has %u", number, count);
  *out = store->tables[number];
  return TS_OK;
}

int32_t ts_table_set_learning_rate(ts_store *store, uint32_t number, double learning_rate, char *err, uint32_t err_cap) {
  ts_err e = {err, err_cap};
  ts_table *table = NULL;
  int32_t status = ts_store_table(store, number, &table, e);
  if (status != TS_OK) return status;
  ts_gate_enter(&store->gate);
  status = ts_optimizer_set_learning_rate(&table->optimizer, table->name, learning_rate, e);
  ts_gate_leave(&store->gate);
  return status;
}

int32_t ts_table_rows(ts_store *store, uint32_t number, uint64_t *counts, uint32_t n_tiers, char *err, uint32_t err_cap) {
  ts_err e = {err, err_cap};
  ts_table *table = NULL;
  int32_t status = ts_store_table(store, number, &table, e);
  if (status != TS_OK) return status;
  if (counts == NULL && n_tiers > 0) return ts_fail(e, TS_EINVAL, "Cannot count rows: the output is NULL");
  status = ts_expire_all(table, e);
  if (status != TS_OK) return status;
  uint64_t rows[TS_MAX_TIERS] = {0}, recorded = 0;
  for (uint32_t s = 0; s < table->shard_count; s++) {
    ts_shard *shard = &table->shards[s];
    pthread_mutex_lock(&shard->lock);
    for (uint32_t t = 0; t < store->memory_tiers; t++) rows[t] += shard->rows[t].live - shard->rows[t].copies;
    recorded += shard->recorded;
    pthread_mutex_unlock(&shard->lock);
  }
  if (table->records != NULL) {
    ts_records_counts records;
    ts_records_tier(store)->records->count(table->records, &records);
    rows[store->memory_tiers] = records.rows - TS_MIN(recorded, records.rows);
  }
  for (uint32_t t = 0; t < n_tiers; t++) counts[t] = t < store->tier_count ? rows[t] : 0;
  return TS_OK;
}

typedef struct key_list {
  int64_t *keys;
  uint64_t cap, count;
} key_list;

static void list_key(void *context, int64_t key, const unsigned char *row) {
  (void)row;
  key_list *list = context;
  if (list->count < list->cap) list->keys[list->count] = key;
  list->count++;
}

int32_t ts_table_keys(ts_store *store, uint32_t number, int64_t *keys, uint64_t cap, uint64_t *n, char *err,
                      uint32_t err_cap) {
  ts_err e = {err, err_cap};
  ts_table *table = NULL;
  int32_t status = ts_store_table(store, number, &table, e);
  if (status != TS_OK) return status;
  if ((keys == NULL && cap > 0) || n == NULL) return ts_fail(e, TS_EINVAL, "Cannot list keys: an output is NULL");
  ts_evictors_settle(store->evictors); /* a row that moves meanwhile would be met twice, or not at all */
  key_list list = {keys, cap, 0};
  for (uint32_t s = 0; status == TS_OK && s < table->shard_count; s++) {
    ts_shard *shard = &table->shards[s];
    ts_index_cursor cursor = {0};
    ts_entries found;
    pthread_mutex_lock(&shard->lock);
    while ((status = ts_entries_next(shard, &cursor, TS_ENTRIES, ts_may_expire(table), &found, e)) == TS_OK && found.n > 0)
      for (uint32_t i = 0; i < found.n; i++)
        if (TS_LOCATION_TIER(found.locations[i]) < TS_NOT_ADMITTED && !ts_row_expired(table, found.rows[i]))
          list_key(&list, found.keys[i], NULL);
    pthread_mutex_unlock(&shard->lock);
  }
  if (status == TS_OK && table->records != NULL) status = ts_records_each(table, false, list_key, &list, e);
  *n = list.count;
  return status;
}

int32_t ts_table_row_bytes(ts_store *store, uint32_t number, uint64_t *bytes, char *err, uint32_t err_cap) {
  ts_err e = {err, err_cap};
  ts_table *table = NULL;
  int32_t status = ts_store_table(store, number, &table, e);
  if (status != TS_OK) return status;
  if (bytes == NULL) return ts_fail(e, TS_EINVAL, "Cannot tell the row bytes of table \"%s\": the output is NULL", table->name);
  *bytes = table->layout.stride;
  return TS_OK;
}
