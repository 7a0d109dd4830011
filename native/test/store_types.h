/* store_types.h - the storage types that every test of the store runs over, and opening one. PMEM types run their real code
 * paths on ordinary memory: libpmem on a file with PMEM_IS_PMEM_FORCE, memkind and mbind on node 0; HBM types too. */
#ifndef TS_TEST_STORE_TYPES_H
#define TS_TEST_STORE_TYPES_H

#include "store/store.h"
#include "test/check.h"
#include "test/config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct storage_type {
  const char *name, *storage, *pmem, *hbm;
  uint32_t tiers; /* without HBM above others */
  bool ssd;
} storage_type;

__attribute__((unused)) static const storage_type storage_types[] = {
    {"DRAM", "DRAM", NULL, NULL, 1, false},
    {"PMEM_LIBPMEM", "PMEM_LIBPMEM", NULL, NULL, 1, false},
    {"PMEM_MEMKIND", "PMEM_MEMKIND", NULL, NULL, 1, false},
    {"SSDHASH", "SSDHASH", NULL, NULL, 1, true},
    {"LEVELDB", "LEVELDB", NULL, NULL, 1, true},
    {"DRAM_PMEM over libpmem", "DRAM_PMEM", "libpmem", NULL, 2, false},
    {"DRAM_PMEM over memkind", "DRAM_PMEM", "memkind", NULL, 2, false},
    {"DRAM_SSDHASH", "DRAM_SSDHASH", NULL, NULL, 2, true},
    {"DRAM_LEVELDB", "DRAM_LEVELDB", NULL, NULL, 2, true},
    {"DRAM_PMEM_SSDHASH over memkind", "DRAM_PMEM_SSDHASH", "memkind", NULL, 3, true},
    {"DRAM_PMEM_SSDHASH over libpmem", "DRAM_PMEM_SSDHASH", "libpmem", NULL, 3, true},
    {"DRAM_PMEM_LEVELDB over libpmem", "DRAM_PMEM_LEVELDB", "libpmem", NULL, 3, true},
    {"PMEM_MBIND", "PMEM_MBIND", NULL, NULL, 1, false},
    {"DRAM_PMEM over mbind", "DRAM_PMEM", "mbind", NULL, 2, false},
    {"HBM of memkind", "HBM", NULL, "memkind", 1, false},
    {"HBM_DRAM of memkind", "HBM_DRAM", NULL, "memkind", 1, false},
    {"HBM_DRAM of mbind", "HBM_DRAM", NULL, "mbind", 1, false},
    {"HBM_DRAM_PMEM of mbind", "HBM_DRAM_PMEM", "mbind", "mbind", 2, false},
    {"HBM_DRAM_LEVELDB of mbind", "HBM_DRAM_LEVELDB", NULL, "mbind", 2, true},
    {"HBM_DRAM_SSDHASH of memkind", "HBM_DRAM_SSDHASH", NULL, "memkind", 2, true},
    {"HBM_DRAM_PMEM_LEVELDB of memkind", "HBM_DRAM_PMEM_LEVELDB", "memkind", "memkind", 3, true},
    {"HBM_DRAM_PMEM_SSDHASH of mbind", "HBM_DRAM_PMEM_SSDHASH", "libpmem", "mbind", 3, true},
    {"HBM of opencl", "HBM", NULL, "opencl", 1, false},
    {"HBM_DRAM of opencl", "HBM_DRAM", NULL, "opencl", 1, false},
    {"HBM_DRAM_PMEM of opencl", "HBM_DRAM_PMEM", "mbind", "opencl", 2, false},
    {"HBM_DRAM_LEVELDB of opencl", "HBM_DRAM_LEVELDB", NULL, "opencl", 2, true},
    {"HBM_DRAM_SSDHASH of opencl", "HBM_DRAM_SSDHASH", NULL, "opencl", 2, true},
    {"HBM_DRAM_PMEM_LEVELDB of opencl", "HBM_DRAM_PMEM_LEVELDB", "memkind", "opencl", 3, true},
    {"HBM_DRAM_PMEM_SSDHASH of opencl", "HBM_DRAM_PMEM_SSDHASH", "libpmem", "opencl", 3, true},
};
#define ON_DEVICE 7u /* the last so many, which need an OpenCL device: PoCL's is the CPU */

/* How many of them this machine has. */
static inline uint32_t storage_types_here(void) {
  static _Atomic uint32_t here = 0;
  if (atomic_load(&here) == 0) {
    const uint32_t all = sizeof storage_types / sizeof *storage_types;
    char why[256] = "PoCL is not built for the thread sanitizer";
    bool has = false;
#ifndef __SANITIZE_THREAD__
    /* In a child: once a process has used OpenCL, its children cannot. */
    int ends[2] = {-1, -1};
    fflush(NULL);
    const pid_t child = pipe(ends) == 0 ? fork() : -1;
    if (child == 0) {
      ts_config *config = NULL;
      ts_config_create(&config);
      ts_config_set(config, "storage", "HBM", NULL, 0);
      ts_config_set(config, "hbm", "opencl", NULL, 0);
      ts_config_set(config, "size", "1048576", NULL, 0);
      const bool opens = ts_store_probe(config, why, sizeof why) != TS_EUNAVAILABLE;
      _exit(!opens && write(ends[1], why, sizeof why) == sizeof why ? 1 : 0);
    }
    int status = -1;
    CHECK(child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status));
    has = status == 0;
    CHECK(has || read(ends[0], why, sizeof why) == sizeof why);
    close(ends[0]);
    close(ends[1]);
#endif
    if (!has) printf("skipped: storage types with hbm=opencl (%s)\n", why);
    atomic_store(&here, has ? all : all - ON_DEVICE);
  }
  return atomic_load(&here);
}
#define STORAGE_TYPES storage_types_here()

/* Whether HBM is above other tiers of it. */
static inline bool has_hbm_above(const storage_type *type) { return strncmp(type->storage, "HBM_", 4) == 0; }
static inline uint32_t all_tiers_of(const storage_type *type) { return type->tiers + has_hbm_above(type); }

static char folder[128];

/* A folder for the tiers' files; false if there cannot be one. In memory where there is such a file system: LevelDB waits
 * for the disk thousands of times with the small buffers that tests have. TIERSTORE_TEST_FOLDER names another place. */
static inline bool make_folder(const char *name) {
  setenv("PMEM_IS_PMEM_FORCE", "1", 1);
  setenv("MEMKIND_DAX_KMEM_NODES", "0", 1);
  setenv("MEMKIND_HBW_NODES", "0", 1);
  const char *place = getenv("TIERSTORE_TEST_FOLDER");
  if (place == NULL) place = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
  snprintf(folder, sizeof folder, "%s/tierstore-%s-XXXXXX", place, name);
  return mkdtemp(folder) != NULL;
}

static inline void remove_folder(void) { CHECK_MSG(rmdir(folder) == 0, "files are left in %s", folder); }

static inline void set_number(ts_config *config, const char *key, unsigned long long value) {
  char text[32];
  snprintf(text, sizeof text, "%llu", value);
  ts_config_set(config, key, text, NULL, 0);
}

static inline bool uses_mbind(const storage_type *type) {
  return strcmp(type->storage, "PMEM_MBIND") == 0 || (type->pmem != NULL && strcmp(type->pmem, "mbind") == 0);
}

static inline bool uses_opencl(const storage_type *type) { return type->hbm != NULL && strcmp(type->hbm, "opencl") == 0; }

static inline bool uses_hbm_mbind(const storage_type *type) { return type->hbm != NULL && strcmp(type->hbm, "mbind") == 0; }

/* Types whose pool on the device is sized from the first steps; that of the others is whole. */
static inline bool has_growing_pool(const storage_type *type) {
  return uses_opencl(type) && (strcmp(type->storage, "HBM_DRAM_PMEM") == 0 || strcmp(type->storage, "HBM_DRAM_SSDHASH") == 0);
}

/* HBM above others, for which `sizes` has none, is as small as it may be: where only rows count, as the next tier, or few rows. */
static inline ts_config *config_of_type(const storage_type *type, const char *sizes, const char *counts) {
  uint32_t given = sizes[0] != '\0';
  for (const char *at = sizes; *at != '\0'; at++) given += *at == ',';
  char with_hbm[160];
  if (given > 0 && given < all_tiers_of(type) && has_hbm_above(type)) {
    const bool all = strcmp(counts, "all") == 0;
    snprintf(with_hbm, sizeof with_hbm, "%.*s,%s", all || given == 1 ? 5 : (int)strcspn(sizes, ","),
             all ? "65536" : given == 1 ? "16384" : sizes, sizes);
    sizes = with_hbm;
  }
  ts_config *config = CONFIG("storage", type->storage, "size", sizes, "size_counts", counts, "path", folder);
  if (type->pmem != NULL) ts_config_set(config, "pmem", type->pmem, NULL, 0);
  if (uses_mbind(type)) ts_config_set(config, "pmem_nodes", "0", NULL, 0);
  if (type->hbm != NULL) ts_config_set(config, "hbm", type->hbm, NULL, 0);
  if (uses_hbm_mbind(type)) ts_config_set(config, "hbm_nodes", "0", NULL, 0);
  if (has_growing_pool(type)) ts_config_set(config, "hbm_pool_steps", "3", NULL, 0);
  return config;
}

/* NULL, and a failure, if it does not open; config is freed. */
static inline ts_store *open_config(ts_config *config) {
  char text[512] = "";
  ts_store *store = NULL;
  CHECK_MSG(ts_store_open(config, &store, text, sizeof text) == TS_OK, "%s", text);
  ts_config_free(config);
  return store;
}

static inline uint32_t add_config(ts_store *store, ts_config *config) {
  char text[512] = "";
  uint32_t table = UINT32_MAX;
  CHECK_MSG(ts_table_create(store, config, &table, text, sizeof text) == TS_OK, "%s", text);
  ts_config_free(config);
  return table;
}

static inline uint64_t counter_of(ts_store *store, ts_statistic which) {
  uint64_t all[TS_STATISTIC_COUNT] = {0};
  CHECK(ts_store_statistics(store, all, TS_STATISTIC_COUNT, NULL, NULL, 0) == TS_OK);
  return all[which];
}

/* Rows of a table in all tiers. */
static inline uint64_t counted_rows(ts_store *store, uint32_t table) {
  uint64_t counts[TS_MAX_TIERS] = {0}, sum = 0;
  CHECK(ts_table_rows(store, table, counts, TS_MAX_TIERS, NULL, 0) == TS_OK);
  for (uint32_t t = 0; t < TS_MAX_TIERS; t++) sum += counts[t];
  return sum;
}

/* Limits hold, at this moment. */
static inline bool limits_hold(const ts_store *store) {
  for (uint32_t t = 0; t < store->tier_count; t++)
    if (atomic_load(&store->tiers[t].budget.used) > store->tiers[t].budget.limit) return false;
  return true;
}

/* What is charged is what is there: rows, or all that was reserved. No call under way. */
static inline bool charges_agree(const ts_store *store) {
  for (uint32_t t = 0; t < store->tier_count; t++) {
    const ts_budget *budget = &store->tiers[t].budget;
    uint64_t there = 0;
    for (uint32_t p = 0; !store->rows_only && p < TS_PURPOSES; p++) there += atomic_load(&budget->reserved[p]);
    for (uint32_t i = 0; store->rows_only && i < atomic_load(&store->table_count); i++) {
      const ts_table *table = store->tables[i];
      for (uint32_t s = 0; t < store->memory_tiers && s < table->shard_count; s++)
        there += table->shards[s].rows[t].live * table->layout.stride;
      if (t < store->memory_tiers) continue;
      ts_records_counts counts;
      ts_records_tier((ts_store *)(uintptr_t)store)->records->count(table->records, &counts);
      there += counts.rows * table->layout.stride;
    }
    if (there != atomic_load(&budget->used)) return false;
  }
  return true;
}

/* The same where work in the background (evictors, compaction) may take and give back memory: at some moment of the next seconds. */
static inline bool charges_come_to_agree(ts_store *store) {
  for (uint32_t wait = 0; wait < 5000; wait++) {
    ts_evictors_settle(store->evictors);
    if (charges_agree(store)) return true;
    nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
  }
  return false;
}

#endif
