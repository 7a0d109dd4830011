/* store.c - opening and closing a store: the storage type, its tiers and their limits. */
#include "store/store.h"

#include <stdlib.h>
#include <string.h>

#define DEFAULT_SIZE (UINT64_C(1) << 30)
/* What a tier needs at least when everything counts: buffers, an index and a chunk of rows for a small table. */
#define MINIMUM_DRAM (UINT64_C(1) << 20)
#define MINIMUM_DRAM_OVER_FILES (UINT64_C(4) << 20) /* it holds index and buffers of the tier in files, too */
#define MINIMUM_ROWS (UINT64_C(64) << 10) /* of a tier that holds rows alone */
/* Of the tier that pays for them, for what the index's blocks hold beside those in use. */
#define SLACK_SHARE 64u
#define MOST_SLACK (UINT64_C(4) << 20)
/* Room beyond the limit when only rows count, for the unused rest of each table's last chunk (rows.c makes chunks at
 * most a 64th of the limit, and at most 32 KiB). Address space, not memory, except in a pool file. */
#define ROWS_ONLY_SLACK (UINT64_C(16) << 20)
#define INDEX_STEP (UINT64_C(1) << 20)
#define MOST_WORK (UINT64_C(64) << 20)
#define MANY_SHARDS_FROM (UINT64_C(64) << 20) /* of the first tier, and of DRAM below it */
#define MOST_EVICTION_THREADS 64u
#define MOST_NODES 64u /* in a list of them */
#define MOST_POOL_STEPS 1000000u
#define GAUGES_RATE 0x1p-12 /* what a lookup of a sampled row costs: half a microsecond */
#define LEAST_HOST_BYTES 65536u /* as of a tier of rows */

static int32_t read_sizes(ts_config_reader *r, const ts_storage_type *type, bool rows_only,
                          uint64_t sizes[TS_MAX_TIERS]) {
  const uint32_t tiers = ts_storage_tiers(type);
  for (uint32_t t = 0; t < TS_MAX_TIERS; t++) sizes[t] = DEFAULT_SIZE;
  uint32_t given = ts_config_u64_list(r, "size", sizes, TS_MAX_TIERS);
  if (r->status != TS_OK) return r->status;
  if (given > tiers)
    return r->status = ts_fail(r->err, TS_EINVAL, "Cannot open store: %s has %u tier%s, \"size\" lists %u; remove the rest",
                               type->name, tiers, tiers == 1 ? "" : "s", given);
  for (uint32_t t = 0; t < tiers; t++) {
    const bool over_files = t == type->dram && ts_storage_in_files(type);
    uint64_t least = rows_only ? 1 : t != type->dram ? MINIMUM_ROWS : over_files ? MINIMUM_DRAM_OVER_FILES : MINIMUM_DRAM;
    if (sizes[t] < least)
      return r->status = ts_fail(r->err, TS_EINVAL,
                                 "Cannot open store: %llu bytes for tier %u (%s) are below the minimum of %llu bytes%s",
                                 (unsigned long long)sizes[t], t, ts_storage_tier_type(type, t), (unsigned long long)least,
                                 over_files ? ", for it also holds the index and the buffers of the tier in files" : "");
    if (sizes[t] > UINT64_C(1) << 46)
      return r->status = ts_fail(r->err, TS_EINVAL, "Cannot open store: %llu bytes for tier %u are above 64 TiB",
                                 (unsigned long long)sizes[t], t);
  }
  return TS_OK;
}

/* Everything of the options but the tiers' own. */
typedef struct options {
  ts_storage_type type;
  uint64_t sizes[TS_MAX_TIERS];
  bool rows_only;
  const char *path, *ssd_path;
  const char *files; /* the one of them that is for files of records */
  uint64_t seed;
  ts_policy_kind policy;
  uint32_t eviction_threads, shards, level;
  bool track_changes, persistent, gauges;
  double gauges_rate;
  int node; /* of index and buffers, -1: any */
  ts_numa dram, pmem, hbm;
  const char *device;
  uint64_t host_bytes;
  uint32_t pool_steps;
  void *records_options;
} options;

static int32_t read_threads(ts_config_reader *r, options *o) {
  const char *name = "TF_MULTI_TIER_EV_EVICTION_THREADS", *from = getenv(name);
  uint64_t fallback = 1;
  if (from != NULL && from[0] != '\0') {
    char *end;
    fallback = strtoull(from, &end, 10);
    if (*end != '\0' || from[0] == '-' || fallback > MOST_EVICTION_THREADS)
      return r->status = ts_fail(r->err, TS_EINVAL, "Cannot open store: %s is \"%s\" in the environment; it must be 0..%u",
                                 name, from, MOST_EVICTION_THREADS);
  }
  o->eviction_threads = (uint32_t)ts_config_u64(r, "eviction_threads", fallback, 0, MOST_EVICTION_THREADS);
  return r->status;
}

/* Nodes of an option, with the policy that it means; any, if it is not given. */
static int32_t read_list(ts_config_reader *r, const char *key, ts_numa_policy policy, ts_numa *out) {
  uint64_t nodes[MOST_NODES];
  if (!ts_config_has(r->config, key)) return r->status;
  const uint32_t given = ts_config_u64_list(r, key, nodes, MOST_NODES);
  if (r->status == TS_OK && given == 0)
    return r->status = ts_fail(r->err, TS_EINVAL, "Cannot open store: \"%s\" lists no node", key);
  for (uint32_t i = 0; r->status == TS_OK && i < given; i++) r->status = ts_numa_add(out, nodes[i], r->err);
  out->policy = policy;
  return r->status;
}

/* Nodes of a tier of mbind, which the type must have. */
static int32_t read_bound(ts_config_reader *r, const char *key, const ts_storage_type *type, const ts_tier_ops *tier,
                          ts_numa *out) {
  if (read_list(r, key, TS_NUMA_BIND, out) == TS_OK && out->policy != TS_NUMA_ANY && !ts_storage_has(type, tier))
    return r->status = ts_fail(r->err, TS_EINVAL, "Cannot open store: \"%s\" is for a tier of mbind, %s has none", key,
                               type->name);
  return r->status;
}

static int32_t read_nodes(ts_config_reader *r, options *o) {
  o->node = (int)ts_config_f64(r, "numa_node", -1, -1, TS_NUMA_NODES - 1);
  if (r->status != TS_OK) return r->status;
  if (read_bound(r, "pmem_nodes", &o->type, &ts_pmem_mbind_tier, &o->pmem) != TS_OK) return r->status;
  if (read_bound(r, "hbm_nodes", &o->type, &ts_hbm_mbind_tier, &o->hbm) != TS_OK) return r->status;
  if (read_list(r, "interleave_nodes", TS_NUMA_WEIGHTED_INTERLEAVE, &o->dram) != TS_OK) return r->status;
  if (o->node < 0) return r->status;
  if (o->dram.policy != TS_NUMA_ANY)
    return r->status = ts_fail(r->err, TS_EINVAL, "Cannot open store: \"numa_node\" binds what \"interleave_nodes\" interleaves; "
                                                  "leave one of them out");
  o->dram.policy = TS_NUMA_BIND;
  return r->status = ts_numa_add(&o->dram, (uint64_t)o->node, r->err);
}

/* Rows of a device step together, under one lock: a table there has one shard. Memory of the host that its pool may go on in
 * counts against the same tier. */
static int32_t read_device(ts_config_reader *r, options *o) {
  static const char *const keys[] = {"hbm_device", "hbm_pool_steps", "hbm_host_bytes"};
  const bool on_device = ts_storage_has(&o->type, &ts_hbm_opencl_tier);
  o->device = ts_config_text(r, keys[0], NULL);
  o->pool_steps = (uint32_t)ts_config_u64(r, keys[1], 0, 0, MOST_POOL_STEPS);
  o->host_bytes = ts_config_u64(r, keys[2], 0, 0, UINT64_C(1) << 46);
  for (uint32_t i = 0; r->status == TS_OK && !on_device && i < sizeof keys / sizeof *keys; i++)
    if (ts_config_has(r->config, keys[i]))
      return r->status = ts_fail(r->err, TS_EINVAL, "Cannot open store: \"%s\" is for hbm=opencl, %s here has no such tier", keys[i],
                                 o->type.name);
  if (r->status == TS_OK && o->host_bytes > 0 && o->host_bytes < LEAST_HOST_BYTES)
    return r->status = ts_fail(r->err, TS_EINVAL, "Cannot open store: \"hbm_host_bytes\" is %llu; it must be 0, or at least %u",
                               (unsigned long long)o->host_bytes, LEAST_HOST_BYTES);
  if (on_device) o->shards = 1;
  if (r->status == TS_OK) o->sizes[0] += o->host_bytes;
  return r->status;
}

static int32_t read_options(const ts_config *config, options *o, ts_err err) {
  static const char *const counts[] = {"all", "rows", NULL};
  static const char *const kernels[] = {"auto", "avx512", "avx2", "baseline", NULL};
  ts_config_reader r = ts_config_read(config, "store", err);
  *o = (options){0};
  if (ts_storage_type_read(&r, &o->type) != TS_OK) return r.status;
  o->persistent = ts_config_u64(&r, "persistent", 0, 0, 1) == 1;
  if (o->persistent) ts_storage_make_lasting(&o->type);
  o->rows_only = ts_config_choice(&r, "size_counts", "all", counts) == 1;
  if (read_sizes(&r, &o->type, o->rows_only, o->sizes) != TS_OK) return r.status;
  o->path = ts_config_text(&r, "path", NULL);
  o->ssd_path = ts_config_text(&r, "ssd_path", o->path);
  o->seed = ts_config_u64(&r, "seed", 0, 0, UINT64_MAX);
  o->policy = (ts_policy_kind)ts_config_choice(&r, "policy", "clock", ts_policy_names);
  if (r.status != TS_OK || read_threads(&r, o) != TS_OK) return r.status;
  uint64_t shards = ts_config_u64(&r, "shards", 0, 0, TS_MAX_SHARDS);
  if (r.status == TS_OK && (shards & (shards - 1)) != 0)
    return ts_fail(err, TS_EINVAL, "Cannot open store: option \"shards\" is %llu; it must be a power of two, or 0",
                   (unsigned long long)shards);
  o->shards = shards > 0 ? (uint32_t)shards : TS_MIN(o->sizes[0], o->sizes[o->type.dram]) < MANY_SHARDS_FROM ? 1 : 16;
  o->track_changes = ts_config_u64(&r, "track_changes", 0, 0, 1) == 1;
  o->gauges = ts_config_u64(&r, "gauges", 0, 0, 1) == 1;
  o->gauges_rate = ts_config_f64(&r, "gauges.rate", GAUGES_RATE, 1e-12, 0.5);
  if (r.status == TS_OK && !o->gauges && ts_config_has(config, "gauges.rate"))
    return ts_fail(err, TS_EINVAL, "Cannot open store: \"gauges.rate\" is the rate of gauges=1, and there are none");
  if (r.status == TS_OK && o->persistent) r.status = ts_kept_check(&o->type, err);
  if (read_nodes(&r, o) != TS_OK || read_device(&r, o) != TS_OK) return r.status;
  const uint32_t best = ts_cpu_level(), level = ts_config_choice(&r, "kernels", "auto", kernels);
  o->level = level == 0 ? best : 3 - level;
  if (r.status == TS_OK && o->level > best)
    return ts_fail(err, TS_EUNAVAILABLE, "Cannot open store: this CPU has no %s, which option \"kernels\" asks for",
                   kernels[level]);
  ts_config_ignore_prefix(&r, "emulate.");
  ts_config_ignore_prefix(&r, "memory_mode.");
  if (o->type.records != NULL) {
    const bool ssd = strcmp(o->type.records->place, "SSD") == 0;
    o->files = ssd ? o->ssd_path : o->path;
    if (r.status == TS_OK && o->files == NULL && ts_storage_in_files(&o->type))
      return ts_fail(err, TS_EINVAL, "Cannot open store: %s needs option \"path\"%s, a directory for its files", o->type.name,
                     ssd ? " or \"ssd_path\"" : "");
    if (r.status == TS_OK && o->type.records == &ts_pmem_records && ts_config_has(config, "emulate.medium"))
      return ts_fail(err, TS_EINVAL, "Cannot open store: emulate.medium slows rows in memory down, and with persistent=1 those of %s "
                                     "are records; leave one of the two out", o->type.name);
    if (r.status == TS_OK) r.status = o->type.records->read_options(&r, &o->records_options);
  }
  return ts_config_finish(&r);
}

int32_t ts_store_check(const ts_store *store, const char *what, ts_err err) {
  if (store == NULL) return ts_fail(err, TS_EINVAL, "Cannot %s: the store is NULL", what);
  return ts_owner_check(&store->owner, "store", err);
}

int32_t ts_store_close(ts_store *store) {
  if (store == NULL || !ts_owner_is_here(&store->owner)) return TS_OK; /* its files and threads are the parent's */
  if (store->end_keeper != NULL) store->end_keeper(store);
  ts_evictors_destroy(store->evictors);
  uint32_t count = atomic_load(&store->table_count);
  for (uint32_t i = 0; i < count; i++) ts_table_destroy(store->tables[i]);
  for (ts_work *w = store->idle; w != NULL;) {
    ts_work *next = w->next;
    ts_piece_give_back(ts_blocks_pieces(store->blocks), w->memory, w->bytes);
    free(w);
    w = next;
  }
  for (uint32_t t = 0; t < store->tier_count; t++) {
    if (store->tiers[t].tier.state != NULL) store->tiers[t].tier.ops->close(&store->tiers[t].tier);
    ts_emulation_destroy(store->tiers[t].emulation);
  }
  for (uint32_t t = 0; t < TS_MAX_TIERS; t++) free(store->tiers[t].records_options); /* of tiers that did not open, too */
  ts_folder_remove(&store->folder);
  ts_memory_mode_destroy(store->memory_mode);
  ts_reuse_destroy(store->reuse);
  if (store->blocks != NULL) ts_blocks_destroy(store->blocks);
  pthread_mutex_destroy(&store->growth);
  pthread_mutex_destroy(&store->tables_lock);
  pthread_mutex_destroy(&store->work_lock);
  pthread_cond_destroy(&store->work_free);
  ts_descent_destroy(&store->descent);
  ts_gate_destroy(&store->gate);
  pthread_mutex_destroy(&store->cutting);
  ts_owner_free(&store->owner);
  free(store);
  return TS_OK;
}

static int32_t open_tier(ts_store *store, uint32_t t, const options *o, ts_err err) {
  ts_store_tier *tier = &store->tiers[t];
  tier->budget.limit = o->sizes[t];
  tier->budget.rows_only = o->rows_only;
  store->tier_count = t + 1;
  tier->type = ts_storage_tier_type(&o->type, t);
  if (t < o->type.memory_tiers) {
    const ts_tier_ops *ops = o->type.memory[t];
    tier->tier.ops = ops;
    tier->place = ops->place;
    store->memory_tiers = t + 1;
    const ts_tier_place place = {.path = o->path, .dram = o->dram, .pmem = o->pmem, .hbm = o->hbm,
                                 .device = o->device, .host_bytes = o->host_bytes, .pool_steps = o->pool_steps};
    return ops->open(&tier->tier, o->sizes[t] + (o->rows_only ? o->sizes[t] / 16 + ROWS_ONLY_SLACK : 0), &place, err);
  }
  tier->records = o->type.records;
  tier->place = tier->records->place;
  if (!ts_storage_in_files(&o->type)) return TS_OK;
  int32_t status = store->disk == &ts_disk_system ? tier->records->probe(o->files, err) : TS_OK;
  if (status == TS_OK && o->persistent) status = ts_folder_keep(store->disk, o->files, &store->folder, err);
  else if (status == TS_OK) status = ts_folder_create(o->files, &store->folder, err);
  tier->directory = store->folder.path;
  if (status == TS_OK && o->persistent) status = ts_folder_has(&store->folder, TS_POINTS, &store->resumable, err);
  if (status == TS_OK && o->persistent && !store->resumable) ts_folder_clear(&store->folder, TS_POINTS);
  return status;
}

/* The media models, each for the one tier that it can stand for. */
static int32_t open_emulation(ts_store *store, const ts_config *config, ts_err err) {
  uint32_t pmem = TS_MAX_TIERS;
  for (uint32_t t = 0; t < store->memory_tiers; t++)
    if (strcmp(store->tiers[t].place, "PMEM") == 0) pmem = t;
  ts_emulation *emulation = NULL;
  int32_t status = ts_emulation_create(config, &emulation, err);
  if (status != TS_OK) return status;
  /* Interleaved pages: a share of the accesses of a tier that is DRAM otherwise. */
  const bool shares = emulation != NULL && ts_config_has(config, "emulate.share");
  if (shares && strcmp(store->storage, "DRAM") == 0) pmem = 0;
  else if (shares) {
    ts_emulation_destroy(emulation);
    return ts_fail(err, TS_EINVAL, "Cannot open store: emulate.share is for storage DRAM, not for %s", store->storage);
  }
  if (pmem < TS_MAX_TIERS) {
    store->tiers[pmem].emulation = emulation;
  } else if (emulation != NULL) {
    ts_emulation_destroy(emulation);
    return ts_fail(err, TS_EINVAL, "Cannot open store: emulate.medium slows a PMEM tier down, %s has none", store->storage);
  }
  status = ts_memory_mode_create(config, &store->memory_mode, err);
  if (status == TS_OK && store->memory_mode != NULL && strcmp(store->storage, "DRAM") != 0)
    status = ts_fail(err, TS_EINVAL, "Cannot open store: Memory Mode is modelled for storage DRAM, not for %s", store->storage);
  return status;
}

static int32_t open_parts(ts_store *store, const ts_config *config, const options *o, ts_err err) {
  store->block_slack = o->rows_only ? MOST_SLACK : TS_MIN(o->sizes[o->type.dram] / SLACK_SHARE, MOST_SLACK);
  int32_t status = ts_blocks_create(TS_INDEX_BLOCK, store->block_slack, o->node, &store->blocks);
  if (status != TS_OK) return ts_fail(err, status, "Cannot open store: out of memory");
  for (uint32_t t = 0; status == TS_OK && t < ts_storage_tiers(&o->type); t++) status = open_tier(store, t, o, err);
  if (status != TS_OK) return status;
  ts_budget *first = ts_dram_budget(store);
  first->headroom = TS_MIN(first->limit / 16, MOST_WORK);
  /* Moving a row to records can need room for their index first: two of its largest segments. */
  if (o->type.records != NULL) first->headroom = TS_MAX(first->headroom, TS_MIN(first->limit / 8, INDEX_STEP));
  /* Two calls side by side leave half the headroom for what must grow before memory can be freed. */
  store->work_limit = o->rows_only ? MOST_WORK / 4 : first->headroom / 4;
  const bool threads = o->eviction_threads > 0 && ts_is_tiered(store);
  uint64_t gauges = 0;
  if (o->gauges) status = ts_gauges_create(store, first->limit, o->gauges_rate, &gauges, err);
  if (status != TS_OK) return status;
  uint64_t fixed = sizeof *store + TS_OWNER_BYTES + store->block_slack + gauges +
                   (threads ? ts_evictors_bytes(o->eviction_threads) : 0);
  if (!ts_budget_take(first, TS_PURPOSE_BUFFERS, fixed))
    return ts_fail(err, TS_EINVAL, "Cannot open store: %llu bytes do not hold its fixed part",
                   (unsigned long long)first->limit);
  for (uint32_t t = 0; t < store->memory_tiers; t++)
    if (!ts_budget_take(&store->tiers[t].budget, TS_PURPOSE_ROWS, store->tiers[t].tier.slack))
      return ts_fail(err, TS_EINVAL, "Cannot open store: %llu bytes do not hold its fixed part",
                     (unsigned long long)store->tiers[t].budget.limit);
  status = open_emulation(store, config, err);
  return status == TS_OK && threads ? ts_evictors_create(store, o->eviction_threads, &store->evictors, err) : status;
}

int32_t ts_store_open_on(const ts_config *config, const ts_disk_ops *disk, const ts_pmem_ops *pmem, ts_store **out, ts_err e) {
  if (out == NULL) return ts_fail(e, TS_EINVAL, "Cannot open store: the output is NULL");
  options o;
  int32_t status = read_options(config, &o, e);
  ts_store *store = status == TS_OK ? aligned_alloc(64, TS_ROUND_UP(sizeof *store, 64u)) : NULL;
  if (store == NULL) {
    free(o.records_options);
    return status != TS_OK ? status : ts_fail(e, TS_ENOMEM, "Cannot open store: out of memory");
  }
  memset(store, 0, sizeof *store);
  store->disk = disk;
  store->pmem = pmem;
  ts_epochs_init(&store->epochs);
  pthread_mutex_init(&store->growth, NULL);
  pthread_mutex_init(&store->tables_lock, NULL);
  pthread_mutex_init(&store->work_lock, NULL);
  pthread_cond_init(&store->work_free, NULL);
  ts_descent_init(&store->descent);
  ts_gate_init(&store->gate);
  pthread_mutex_init(&store->cutting, NULL);
  ts_owner_make(&store->owner);
  store->storage = o.type.name;
  store->dram = o.type.dram;
  store->seed = o.seed;
  store->rows_only = o.rows_only;
  store->policy = o.policy;
  store->shards = o.shards;
  store->track_changes = o.track_changes;
  store->persistent = o.persistent;
  store->level = o.level;
  store->tiers[ts_storage_tiers(&o.type) - 1].records_options = o.records_options;
  memcpy(store->normal, ts_initializer_normal(), sizeof store->normal);
  status = open_parts(store, config, &o, e);
  if (status != TS_OK) {
    ts_store_close(store);
    return status;
  }
  *out = store;
  return TS_OK;
}

int32_t ts_store_open(const ts_config *config, ts_store **out, char *err, uint32_t err_cap) {
  return ts_store_open_on(config, &ts_disk_system, NULL, out, (ts_err){err, err_cap});
}

int32_t ts_store_probe(const ts_config *config, char *err, uint32_t err_cap) {
  ts_store *store;
  int32_t status = ts_store_open(config, &store, err, err_cap);
  return status == TS_OK ? ts_store_close(store) : status;
}
