/* tables.c - creating tables and asking them about themselves. */
#include "store/store.h"

#include <stdlib.h>
#include <string.h>

static bool charge_index(void *context, int64_t bytes) {
  ts_table *table = context;
  ts_budget *budget = &table->store->tiers[0].budget;
  if (bytes <= 0) {
    ts_budget_give_back(budget, TS_PURPOSE_INDEX, (uint64_t)-bytes);
    return true;
  }
  if (table->index_grant >= (uint64_t)bytes) { /* charged when it was granted */
    table->index_grant -= (uint64_t)bytes;
    return true;
  }
  return ts_budget_take(budget, TS_PURPOSE_INDEX, (uint64_t)bytes);
}

static uint64_t fixed_bytes(const char *name) { return sizeof(ts_table) + strlen(name) + 1; }

void ts_table_destroy(ts_table *table) {
  if (table == NULL) return;
  ts_store *store = table->store;
  for (uint32_t t = 0; t < store->tier_count; t++)
    if (table->rows[t].tier != NULL) ts_rows_destroy(&table->rows[t]);
  ts_index_destroy(&table->index);
  ts_budget_give_back(&store->tiers[0].budget, TS_PURPOSE_INDEX, table->index_grant);
  ts_budget_give_back(&store->tiers[0].budget, TS_PURPOSE_BUFFERS, fixed_bytes(table->name));
  pthread_mutex_destroy(&table->lock);
  free(table->name);
  free(table);
}

static int32_t read_options(ts_table *table, const ts_config *config, ts_err err) {
  ts_store *store = table->store;
  ts_config_reader r = ts_config_read(config, "table", err);
  const char *name = ts_config_text(&r, "name", NULL);
  if (r.status != TS_OK) return r.status;
  if (name == NULL || name[0] == '\0')
    return ts_fail(err, TS_EINVAL, "Cannot create table: option \"name\" is required");
  table->name = strdup(name);
  if (table->name == NULL) return ts_fail(err, TS_ENOMEM, "Cannot create table \"%s\": out of memory", name);
  table->name_hash = ts_hash_bytes(name, strlen(name), 0);
  uint32_t count = atomic_load(&store->table_count);
  for (uint32_t i = 0; i < count; i++)
    if (strcmp(store->tables[i]->name, name) == 0)
      return ts_fail(err, TS_EINVAL, "Cannot create table \"%s\": the store has one of this name", name);
  table->dim = (uint32_t)ts_config_u64(&r, "dim", 16, 1, 65536);
  ts_optimizer *o = &table->optimizer;
  o->kind = (ts_optimizer_kind)ts_config_choice(&r, "optimizer", "sgd", ts_optimizer_names);
  o->learning_rate = (float)ts_config_f64(&r, "learning_rate", 0.01, 0, 1e6);
  if (o->kind != TS_SGD) o->initial_accumulator = (float)ts_config_f64(&r, "initial_accumulator", 0.1, 1e-30, 1e30);
  if (o->kind == TS_FTRL || o->kind == TS_FTRL_ROW_NORM) {
    o->l1 = (float)ts_config_f64(&r, "l1", 0, 0, 1e30);
    o->l2 = (float)ts_config_f64(&r, "l2", 0, 0, 1e30);
    if (r.status == TS_OK && !(o->learning_rate > 0)) /* the rule divides by it */
      return ts_fail(err, TS_EINVAL, "Cannot create table \"%s\": ftrl needs a learning_rate above 0", name);
  }
  ts_initializer_read(&r, table->dim, store->seed, name, &table->initializer);
  table->initializer.normal = store->normal;
  int32_t status = ts_config_finish(&r);
  table->slots = ts_optimizer_slots(o->kind);
  table->slot_bytes = TS_ROUND_UP(table->dim * (uint32_t)sizeof(float), 16u); /* DeepRec's padding */
  table->stride = (uint64_t)table->slots * table->slot_bytes;
  o->dim = table->dim;
  o->slot_floats = table->slot_bytes / (uint32_t)sizeof(float);
  ts_optimizer_select(o);
  return status;
}

int32_t ts_table_create(ts_store *store, const ts_config *config, uint32_t *number, char *err, uint32_t err_cap) {
  ts_err e = {err, err_cap};
  if (store == NULL || number == NULL) return ts_fail(e, TS_EINVAL, "Cannot create table: a store and an output are needed");
  pthread_mutex_lock(&store->tables_lock);
  uint32_t count = atomic_load(&store->table_count);
  int32_t status = TS_OK;
  ts_table *table = calloc(1, sizeof *table);
  if (table == NULL) status = ts_fail(e, TS_ENOMEM, "Cannot create table: out of memory");
  else if (count == TS_MAX_TABLES)
    status = ts_fail(e, TS_EINVAL, "Cannot create table: a store holds at most %u", TS_MAX_TABLES);
  if (status == TS_OK) {
    table->store = store;
    status = read_options(table, config, e);
  }
  if (status != TS_OK) {
    if (table != NULL) free(table->name);
    free(table);
    pthread_mutex_unlock(&store->tables_lock);
    return status;
  }
  ts_budget *first = &store->tiers[0].budget;
  table->number = count;
  pthread_mutex_init(&table->lock, NULL);
  if (!ts_budget_take(first, TS_PURPOSE_BUFFERS, fixed_bytes(table->name))) {
    status = ts_fail(e, TS_EFULL, "Cannot create table \"%s\": the first tier's %llu bytes are used up; raise its size",
                     table->name, (unsigned long long)first->limit);
    pthread_mutex_destroy(&table->lock);
    free(table->name);
    free(table);
    pthread_mutex_unlock(&store->tables_lock);
    return status;
  }
  const ts_index_options options = {&store->epochs, store->blocks, charge_index, table, 0, 0, 0};
  status = ts_index_init(&table->index, &options);
  if (status != TS_OK)
    ts_fail(e, status, "Cannot create table \"%s\": no room for its index in the first tier's %llu bytes; raise its size",
            table->name, (unsigned long long)first->limit);
  if (status == TS_OK) status = ts_batch_prepare(table, e);
  for (uint32_t t = 0; status == TS_OK && t < store->tier_count; t++)
    ts_rows_init(&table->rows[t], &store->tiers[t].tier, &store->tiers[t].budget, first,
                 t == 0 && store->tier_count > 1, table->stride);
  if (status != TS_OK) {
    ts_table_destroy(table);
  } else {
    store->tables[count] = table;
    atomic_store_explicit(&store->table_count, count + 1, memory_order_release);
    *number = count;
  }
  pthread_mutex_unlock(&store->tables_lock);
  return status;
}

int32_t ts_store_table(ts_store *store, uint32_t number, ts_table **out, ts_err err) {
  if (store == NULL) return ts_fail(err, TS_EINVAL, "Cannot use a table: the store is NULL");
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
  if (!(learning_rate >= 0 && learning_rate <= 1e6))
    return ts_fail(e, TS_EINVAL, "Cannot set the learning rate of table \"%s\" to %g: it must be from 0 to 1e6",
                   table->name, learning_rate);
  if ((float)learning_rate == 0 && (table->optimizer.kind == TS_FTRL || table->optimizer.kind == TS_FTRL_ROW_NORM))
    return ts_fail(e, TS_EINVAL, "Cannot set the learning rate of table \"%s\" to 0: ftrl divides by it", table->name);
  pthread_mutex_lock(&table->lock);
  table->optimizer.learning_rate = (float)learning_rate;
  pthread_mutex_unlock(&table->lock);
  return TS_OK;
}

int32_t ts_table_rows(ts_store *store, uint32_t number, uint64_t *counts, uint32_t n_tiers, char *err, uint32_t err_cap) {
  ts_err e = {err, err_cap};
  ts_table *table = NULL;
  int32_t status = ts_store_table(store, number, &table, e);
  if (status != TS_OK) return status;
  if (counts == NULL && n_tiers > 0) return ts_fail(e, TS_EINVAL, "Cannot count rows: the output is NULL");
  pthread_mutex_lock(&table->lock);
  for (uint32_t t = 0; t < n_tiers; t++) counts[t] = t < store->tier_count ? table->rows[t].live : 0;
  pthread_mutex_unlock(&table->lock);
  return TS_OK;
}

int32_t ts_table_keys(ts_store *store, uint32_t number, int64_t *keys, uint64_t cap, uint64_t *n, char *err,
                      uint32_t err_cap) {
  ts_err e = {err, err_cap};
  ts_table *table = NULL;
  int32_t status = ts_store_table(store, number, &table, e);
  if (status != TS_OK) return status;
  if ((keys == NULL && cap > 0) || n == NULL) return ts_fail(e, TS_EINVAL, "Cannot list keys: an output is NULL");
  pthread_mutex_lock(&table->lock);
  uint64_t count = 0;
  ts_index_cursor cursor = {0};
  int64_t key;
  ts_location location;
  while (ts_index_next(&table->index, &cursor, &key, &location)) {
    if (count < cap) keys[count] = key;
    count++;
  }
  pthread_mutex_unlock(&table->lock);
  *n = count;
  return TS_OK;
}

int32_t ts_table_row_bytes(ts_store *store, uint32_t number, uint64_t *bytes, char *err, uint32_t err_cap) {
  ts_err e = {err, err_cap};
  ts_table *table = NULL;
  int32_t status = ts_store_table(store, number, &table, e);
  if (status != TS_OK) return status;
  if (bytes == NULL) return ts_fail(e, TS_EINVAL, "Cannot tell the row bytes of table \"%s\": the output is NULL", table->name);
  *bytes = table->stride;
  return TS_OK;
}
