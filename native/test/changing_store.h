/* changing_store.h - stores with all that rows and keys can have, and streams of calls on them, the same for every store of a
 * seed: what tests of cuts and of checkpoints change stores with. */
#ifndef TS_TEST_CHANGING_STORE_H
#define TS_TEST_CHANGING_STORE_H

#include "test/store_types.h"

static char message[512];
#define ERR message, sizeof message

#define TABLES 4u
#define KEYS 1200u
#define BATCH 200u

typedef struct world {
  uint64_t seed;
  const storage_type *type;
  bool tracks;
  uint32_t dims[TABLES];
} world;

static inline uint64_t any(const world *w, uint64_t stream, uint64_t n, uint64_t below) { return ts_random64(w->seed, stream, n) % below; }

static inline int64_t key_of(uint32_t i) {
  static const int64_t extremes[] = {INT64_MIN, INT64_MAX, 0, -1};
  return i < 4 ? extremes[i] : i % 2 == 0 ? (int64_t)i : (int64_t)ts_mix64(i);
}

static inline void add_tables(const world *w, ts_store *store) {
  static const char *const optimizers[] = {"sgd", "adagrad", "adam", "ftrl", "adagrad-decay", "adamw", "rowwise-adagrad"};
  for (uint32_t t = 0; t < TABLES; t++) {
    char name[16];
    snprintf(name, sizeof name, "table-%u", t);
    ts_config *config = CONFIG("name", name, "optimizer", optimizers[any(w, 10, t, 7)]);
    set_number(config, "dim", w->dims[t]);
    if (any(w, 11, t, 3) == 0) ts_config_set(config, "dtype", "bf16", NULL, 0);
    set_number(config, "record_frequency", any(w, 12, t, 2));
    set_number(config, "record_version", any(w, 13, t, 2));
    if (any(w, 14, t, 3) == 0) set_number(config, "expire.steps", 3 + any(w, 15, t, 10));
    if (t > 0 && any(w, 16, t, 3) > 0) {
      ts_config_set(config, "admission", t % 2 == 0 ? "counter" : "bloom", NULL, 0);
      set_number(config, "admission.frequency", 1 + any(w, 17, t, 3));
      if (t % 2 == 1) set_number(config, "admission.keys", 3000);
      if (t % 2 == 1) set_number(config, "admission.counter_bits", 8u << any(w, 18, t, 4));
    }
    add_config(store, config);
  }
}

/* One tier is large; several are small, but hold all rows together. Below HBM, DRAM has lists of one tier's chunks more. */
static inline ts_config *store_config(const world *w, const storage_type *type, uint32_t shards, uint64_t limits) {
  static const char *const policies[] = {"lru", "lfu", "clock", "s3fifo", "sieve", "tinylfu"};
  const char *sizes = type->tiers == 1   ? "67108864"
                      : type->tiers == 2 ? (type->ssd ? "4194304,268435456" : "1500000,67108864")
                      : has_hbm_above(type) ? "6291456,600000,268435456"
                                            : "4194304,600000,268435456";
  ts_config *config = config_of_type(type, sizes, "all");
  set_number(config, "seed", w->seed);
  set_number(config, "shards", shards);
  set_number(config, "track_changes", w->tracks);
  set_number(config, "eviction_threads", limits % 3);
  ts_config_set(config, "policy", policies[limits % 6], NULL, 0);
  return config;
}
static inline ts_store *open_store(const world *w, const storage_type *type, uint32_t shards, uint64_t limits) {
  ts_store *store = open_config(store_config(w, type, shards, limits));
  if (store != NULL) add_tables(w, store);
  return store;
}

/* Call number `n` of a stream of calls, the same in every store. `steps`: it may set the step. Of side-by-side streams each has keys
 * of its own, one in `parts`: of a row that steps while it is looked up nobody knows what is seen. */
static inline int32_t call_part(const world *w, ts_store *store, uint64_t stream, uint64_t n, bool steps, uint32_t part,
                                uint32_t parts) {
  int64_t keys[BATCH];
  float values[BATCH * 64];
  const uint32_t t = (uint32_t)any(w, stream, n * 8, TABLES), count = 1 + (uint32_t)any(w, stream, n * 8 + 1, BATCH);
  const uint64_t what = any(w, stream, n * 8 + 2, 20), from = any(w, stream, n * 8 + 3, KEYS);
  for (uint32_t i = 0; i < count; i++) {
    const uint64_t r = ts_random64(w->seed, stream + 1000, n * 1024 + i);
    keys[i] = key_of((uint32_t)((r % 3 == 0 ? r >> 8 : from + (r >> 8) % 150) % (KEYS / parts)) * parts + part);
  }
  for (uint32_t i = 0; i < count * w->dims[t]; i++) values[i] = (float)((i + n) % 17) * 0.01f - 0.08f;
  uint64_t gone;
  if (what < 9) return ts_table_update(store, t, keys, count, values, ERR);
  if (what < 16) return ts_table_lookup(store, t, keys, count, values, ERR);
  if (what == 16) return ts_table_remove(store, t, keys, 1 + count / 8, &gone, ERR);
  if (what == 17) {
    const int32_t status = ts_table_expire(store, t, 100, &gone, ERR);
    return status == TS_EINVAL ? TS_OK : status; /* of a table without expiry */
  }
  if (what == 18 && steps) return ts_store_set_step(store, ts_step(store) + 1, ERR);
  if (what == 19 && steps && any(w, stream, n * 8 + 4, 8) == 0) return ts_table_set_learning_rate(store, t, 0.01 + 0.001 * (double)(n % 7), ERR);
  return TS_OK;
}
static inline int32_t call(const world *w, ts_store *store, uint64_t stream, uint64_t n, bool steps) {
  return call_part(w, store, stream, n, steps, 0, 1);
}

#endif
