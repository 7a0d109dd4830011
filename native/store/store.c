/* store.c - opening and closing a store: the storage type, its tiers and their limits. */
#include "store/store.h"

#include <stdlib.h>
#include <string.h>

#define DEFAULT_SIZE (UINT64_C(1) << 30)
/* What a tier needs at least when everything counts: buffers, an index and a chunk of rows for a small table. */
#define MINIMUM_FIRST (UINT64_C(1) << 20)
#define MINIMUM_LOWER (UINT64_C(64) << 10)
/* Room beyond the limit when only rows count, for the unused rest of each table's last chunk (rows.c makes chunks at
 * most a 64th of the limit, and at most 32 KiB). Address space, not memory, except in a pool file. */
#define ROWS_ONLY_SLACK (UINT64_C(16) << 20)
#define MOST_BUFFERS (UINT64_C(64) << 20)

typedef struct kind {
  const char *storage;
  uint32_t tiers;
  const ts_tier_ops *ops[TS_MAX_TIERS];
} kind;

static const char *const storages[] = {"DRAM", "PMEM_LIBPMEM", "PMEM_MEMKIND", "DRAM_PMEM", NULL};
static const char *const pmems[] = {"libpmem", "memkind", NULL};

static int32_t read_kind(ts_config_reader *r, kind *out) {
  uint32_t storage = ts_config_choice(r, "storage", NULL, storages);
  if (r->status != TS_OK) return r->status;
  bool has_pmem = ts_config_has(r->config, "pmem");
  uint32_t pmem = has_pmem || storage == 3 ? ts_config_choice(r, "pmem", NULL, pmems) : 0;
  if (r->status != TS_OK) return r->status;
  switch (storage) {
    case 0: *out = (kind){storages[0], 1, {&ts_dram_tier}}; break;
    case 1: *out = (kind){storages[1], 1, {&ts_pmem_libpmem_tier}}; break;
    case 2: *out = (kind){storages[2], 1, {&ts_pmem_memkind_tier}}; break;
    default:
      *out = (kind){storages[3], 2, {&ts_dram_tier, pmem == 0 ? &ts_pmem_libpmem_tier : &ts_pmem_memkind_tier}};
  }
  return TS_OK;
}

static int32_t read_sizes(ts_config_reader *r, const kind *k, bool rows_only, uint64_t sizes[TS_MAX_TIERS]) {
  for (uint32_t t = 0; t < TS_MAX_TIERS; t++) sizes[t] = DEFAULT_SIZE;
  uint32_t given = ts_config_u64_list(r, "size", sizes, TS_MAX_TIERS);
  if (r->status != TS_OK) return r->status;
  if (given > k->tiers)
    return r->status = ts_fail(r->err, TS_EINVAL, "Cannot open store: %s has %u tier%s, \"size\" lists %u; remove the rest",
                               k->storage, k->tiers, k->tiers == 1 ? "" : "s", given);
  for (uint32_t t = 0; t < k->tiers; t++) {
    uint64_t least = rows_only ? 1 : t == 0 ? MINIMUM_FIRST : MINIMUM_LOWER;
    if (sizes[t] < least)
      return r->status = ts_fail(r->err, TS_EINVAL,
                                 "Cannot open store: %llu bytes for tier %u (%s) are below the minimum of %llu bytes",
                                 (unsigned long long)sizes[t], t, k->ops[t]->type, (unsigned long long)least);
    if (sizes[t] > UINT64_C(1) << 46)
      return r->status = ts_fail(r->err, TS_EINVAL, "Cannot open store: %llu bytes for tier %u are above 64 TiB",
                                 (unsigned long long)sizes[t], t);
  }
  return TS_OK;
}

int32_t ts_store_close(ts_store *store) {
  if (store == NULL) return TS_OK;
  uint32_t count = atomic_load(&store->table_count);
  for (uint32_t i = 0; i < count; i++) ts_table_destroy(store->tables[i]);
  for (ts_batch *b = store->idle; b != NULL;) {
    ts_batch *next = b->next;
    free(b->memory);
    free(b);
    b = next;
  }
  for (uint32_t t = 0; t < store->tier_count; t++) {
    if (store->tiers[t].tier.state != NULL) store->tiers[t].tier.ops->close(&store->tiers[t].tier);
    ts_emulation_destroy(store->tiers[t].emulation);
  }
  ts_memory_mode_destroy(store->memory_mode);
  ts_blocks_destroy(store->blocks);
  pthread_mutex_destroy(&store->growth);
  pthread_mutex_destroy(&store->tables_lock);
  pthread_mutex_destroy(&store->buffers_lock);
  pthread_cond_destroy(&store->buffer_free);
  free(store);
  return TS_OK;
}

int32_t ts_store_open(const ts_config *config, ts_store **out, char *err, uint32_t err_cap) {
  ts_err e = {err, err_cap};
  if (out == NULL) return ts_fail(e, TS_EINVAL, "Cannot open store: the output is NULL");
  static const char *const counts[] = {"all", "rows", NULL};
  ts_config_reader r = ts_config_read(config, "store", e);
  kind k = {0};
  uint64_t sizes[TS_MAX_TIERS];
  if (read_kind(&r, &k) != TS_OK) return r.status;
  bool rows_only = ts_config_choice(&r, "size_counts", "all", counts) == 1;
  if (read_sizes(&r, &k, rows_only, sizes) != TS_OK) return r.status;
  const char *path = ts_config_text(&r, "path", NULL);
  uint64_t seed = ts_config_u64(&r, "seed", 0, 0, UINT64_MAX);
  ts_config_ignore_prefix(&r, "emulate.");
  ts_config_ignore_prefix(&r, "memory_mode.");
  if (ts_config_finish(&r) != TS_OK) return r.status;

  ts_store *store = aligned_alloc(_Alignof(ts_store), sizeof *store);
  if (store == NULL) return ts_fail(e, TS_ENOMEM, "Cannot open store: out of memory");
  memset(store, 0, sizeof *store);
  ts_epochs_init(&store->epochs);
  pthread_mutex_init(&store->growth, NULL);
  pthread_mutex_init(&store->tables_lock, NULL);
  pthread_mutex_init(&store->buffers_lock, NULL);
  pthread_cond_init(&store->buffer_free, NULL);
  store->storage = k.storage;
  store->seed = seed;
  store->rows_only = rows_only;
  ts_initializer_fill_normal(store->normal);
  int32_t status = ts_blocks_create(TS_INDEX_BLOCK, -1, &store->blocks);
  if (status != TS_OK) ts_fail(e, status, "Cannot open store: out of memory");
  for (uint32_t t = 0; status == TS_OK && t < k.tiers; t++) {
    ts_store_tier *tier = &store->tiers[t];
    tier->budget.limit = sizes[t];
    tier->budget.rows_only = rows_only;
    tier->tier.ops = k.ops[t];
    store->tier_count = t + 1;
    status = k.ops[t]->open(&tier->tier, sizes[t] + (rows_only ? ROWS_ONLY_SLACK : 0), path, e);
  }
  ts_budget *first = &store->tiers[0].budget;
  first->headroom = TS_MIN(first->limit / 16, MOST_BUFFERS);
  /* Two calls side by side leave half the headroom for lists that must grow before memory can be freed. */
  store->batch_limit = rows_only ? MOST_BUFFERS / 4 : first->headroom / 4;
  if (status == TS_OK && !ts_budget_take(first, TS_PURPOSE_BUFFERS, sizeof *store))
    status = ts_fail(e, TS_EINVAL, "Cannot open store: %llu bytes do not hold its fixed part",
                     (unsigned long long)first->limit);
  /* The last tier is the PMEM, if any: that is the one a media model applies to. */
  if (status == TS_OK) status = ts_emulation_create(config, &store->tiers[k.tiers - 1].emulation, e);
  if (status == TS_OK && store->tiers[k.tiers - 1].emulation != NULL &&
      strcmp(k.ops[k.tiers - 1]->place, "PMEM") != 0)
    status = ts_fail(e, TS_EINVAL, "Cannot open store: emulate.medium slows a PMEM tier down, %s has none", k.storage);
  if (status == TS_OK) status = ts_memory_mode_create(config, &store->memory_mode, e);
  if (status == TS_OK && store->memory_mode != NULL && strcmp(k.storage, "DRAM") != 0)
    status = ts_fail(e, TS_EINVAL, "Cannot open store: Memory Mode is modelled for storage DRAM, not for %s", k.storage);
  if (status != TS_OK) {
    ts_store_close(store);
    return status;
  }
  *out = store;
  return TS_OK;
}

int32_t ts_store_probe(const ts_config *config, char *err, uint32_t err_cap) {
  ts_store *store;
  int32_t status = ts_store_open(config, &store, err, err_cap);
  return status == TS_OK ? ts_store_close(store) : status;
}
