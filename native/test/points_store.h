/* points_store.h - stores of one table with restore points, on every storage type that keeps them: what tests of restore points
 * make, change, copy and open again. */
#ifndef TS_TEST_POINTS_STORE_H
#define TS_TEST_POINTS_STORE_H

#include "store/store.h"
#include "test/check.h"
#include "test/config.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DIM 8u
#define MOST 1024u

static char folder[128], message[512];
#define ERR message, sizeof message
static uint64_t seed, draws;

static inline uint64_t draw(uint64_t below) { return ts_random64(seed, 5, draws++) % below; }

static inline int remove_one(const char *file, const struct stat *status, int type, struct FTW *walk) {
  (void)status, (void)type, (void)walk;
  return remove(file);
}
static inline void remove_tree(const char *top) { nftw(top, remove_one, 16, FTW_DEPTH | FTW_PHYS); }

static const char *copy_from;
static char copy_to[400];
static inline int copy_one(const char *file, const struct stat *status, int type, struct FTW *walk) {
  (void)walk;
  char to[1024];
  static unsigned char bytes[1 << 16];
  snprintf(to, sizeof to, "%s%s", copy_to, file + strlen(copy_from));
  if (type == FTW_D) return mkdir(to, 0700) != 0 && errno != EEXIST;
  const int in = open(file, O_RDONLY), out = open(to, O_WRONLY | O_CREAT | O_TRUNC, status->st_mode & 0777);
  for (ssize_t n; in >= 0 && out >= 0 && (n = read(in, bytes, sizeof bytes)) > 0;)
    if (write(out, bytes, (size_t)n) != n) return 1;
  if (in >= 0) close(in);
  if (out >= 0) close(out);
  return 0; /* a file that went meanwhile is none of the copy */
}
static inline void copy_tree(const char *from, const char *to) {
  copy_from = from;
  snprintf(copy_to, sizeof copy_to, "%s", to);
  nftw(from, copy_one, 16, FTW_PHYS);
}

/* ---- stores ---- */

static inline int32_t make_table(ts_store *store, const char *dim) {
  uint32_t table;
  ts_config *config = CONFIG("name", "t", "optimizer", "adagrad", "dim", dim);
  const int32_t status = ts_table_create(store, config, &table, ERR);
  ts_config_free(config);
  return status;
}

/* Whether the last tier is PMEM over libpmem, not SSDHASH. */
static inline bool in_pmem(const char *storage) { return strstr(storage, "SSDHASH") == NULL; }
static inline const char *holder_of(const char *storage) { return in_pmem(storage) ? "libpmem" : "memkind"; }
static inline const char *files_of(const char *storage) { return in_pmem(storage) ? ".pmem" : "t.ssdhash"; } /* of a table, in its folder's name */

/* NULL: it was refused, the message says why. number: 0, the newest. */
static inline ts_store *open_at(const char *storage, const char *path, uint64_t number, uint64_t *taken) {
  char text[24];
  snprintf(text, sizeof text, "%llu", (unsigned long long)number);
  ts_config *config = CONFIG("storage", storage, "path", path, "pmem", holder_of(storage), "persistent", "1", "shards", "2", "eviction_threads",
                             "0", "size", strcmp(storage, "DRAM_PMEM_SSDHASH") == 0 ? "4194304,4194304,67108864"
                                          : strncmp(storage, "DRAM", 4) != 0     ? "67108864"
                                                                                : "4194304,67108864");
  ts_store *store = NULL;
  int32_t status = ts_store_open(config, &store, ERR);
  ts_config_free(config);
  if (status != TS_OK) return NULL;
  config = CONFIG("number", text);
  status = ts_store_resume(store, config, NULL, taken, ERR);
  ts_config_free(config);
  if (status == TS_OK) status = make_table(store, "8");
  if (status == TS_OK) return store;
  ts_store_close(store);
  return NULL;
}

static inline ts_store *open_twin(void) {
  ts_config *config = CONFIG("storage", "DRAM");
  ts_store *store = NULL;
  CHECK_MSG(ts_store_open(config, &store, ERR) == TS_OK && make_table(store, "8") == TS_OK, "%s", message);
  ts_config_free(config);
  return store;
}

static inline void step(ts_store *store, int64_t first, uint32_t n, float gradient) {
  int64_t keys[MOST];
  static float gradients[MOST * DIM];
  for (uint32_t i = 0; i < n; i++) keys[i] = first + i;
  for (uint32_t i = 0; i < n * DIM; i++) gradients[i] = gradient + (float)i / 1000;
  CHECK_MSG(ts_table_update(store, 0, keys, n, gradients, ERR) == TS_OK, "%s", message);
}

static inline void look_up(ts_store *store, int64_t first, uint32_t n) {
  int64_t keys[MOST];
  static float rows[MOST * DIM];
  for (uint32_t i = 0; i < n; i++) keys[i] = first + i;
  CHECK_MSG(ts_table_lookup(store, 0, keys, n, rows, ERR) == TS_OK, "%s", message);
}

static inline void take_away(ts_store *store, int64_t first, uint32_t n) {
  int64_t keys[MOST];
  uint64_t gone;
  for (uint32_t i = 0; i < n; i++) keys[i] = first + i;
  CHECK_MSG(ts_table_remove(store, 0, keys, n, &gone, ERR) == TS_OK, "%s", message);
}

static inline uint64_t digest(ts_store *store) {
  uint64_t found = 0;
  CHECK_MSG(ts_store_digest(store, &found, ERR) == TS_OK, "%s", message);
  return found;
}

/* Rows of a memory tier move down, or those that have records lose them, as in a call. */
static inline void move_down(ts_store *store, uint32_t tier, uint32_t n, bool give_up) {
  ts_gate_enter(&store->gate);
  for (uint32_t s = 0; tier < store->memory_tiers && s < store->tables[0]->shard_count; s++) {
    ts_shard *shard = &store->tables[0]->shards[s];
    ts_traffic traffic;
    uint32_t freed;
    ts_traffic_begin(store, &traffic);
    ts_descent_begin(store);
    pthread_mutex_lock(&shard->lock);
    if (give_up)
      ts_give_up_records(shard, n);
    else
      CHECK_MSG(ts_evict(shard, tier, n, &freed, &traffic, (ts_err){ERR}) == TS_OK, "%s", message);
    pthread_mutex_unlock(&shard->lock);
    ts_descent_end(store);
  }
  ts_gate_leave(&store->gate);
}

static inline uint64_t persisted(ts_store *store) {
  uint64_t all[TS_STATISTIC_COUNT] = {0};
  CHECK(ts_store_statistics(store, all, TS_STATISTIC_COUNT, NULL, ERR) == TS_OK);
  return all[TS_STAT_persisted];
}

/* Rows in memory that differ from their records, or have none. */
static inline uint64_t differing(ts_store *store) {
  uint64_t n = 0;
  for (uint32_t s = 0; s < store->tables[0]->shard_count; s++) {
    const ts_shard *shard = &store->tables[0]->shards[s];
    ts_index_cursor cursor = {0};
    int64_t key;
    ts_location l;
    while (ts_index_next(&shard->index, &cursor, &key, &l))
      n += !(*ts_rows_flags(&shard->rows[TS_LOCATION_TIER(l)], TS_LOCATION_ROW(l)) & TS_ROW_SAVED);
  }
  return n;
}

static inline int32_t persist(ts_store *store, const char *keep, uint64_t *number) {
  ts_config *config = CONFIG("keep", keep);
  const int32_t status = ts_store_persist(store, config, number, ERR);
  ts_config_free(config);
  return status;
}

static inline uint64_t persist_now(ts_store *store, const char *keep) {
  uint64_t number = 0;
  CHECK_MSG(persist(store, keep, &number) == TS_OK && ts_store_persisted(store, NULL, ERR) == TS_OK, "%s", message);
  return number;
}

static inline void check_at(const char *what, const char *storage, const char *path, uint64_t number, uint64_t want) {
  uint64_t taken = 0;
  ts_store *store = open_at(storage, path, number, &taken);
  CHECK_MSG(store != NULL && (number == 0 || taken == number), "%s: %s", what, message);
  if (store == NULL) return;
  CHECK_MSG(digest(store) == want, "%s (seed %llu, %s): point %llu is another state", what, (unsigned long long)seed, storage,
            (unsigned long long)taken);
  ts_store_close(store);
}

static inline void in_folder(void (*test)(const char *storage, const char *path), const char *storage) {
  char path[256];
  snprintf(path, sizeof path, "%s/one", folder);
  CHECK(mkdir(path, 0700) == 0);
  test(storage, path);
  remove_tree(path);
}

/* Calls `test` on every storage type whose last tier outlives the store. */
static inline void on_each_storage(void (*test)(const char *storage)) {
  static const char *const storages[] = {"SSDHASH", "DRAM_SSDHASH", "DRAM_PMEM_SSDHASH", "PMEM_LIBPMEM", "DRAM_PMEM"};
  setenv("PMEM_IS_PMEM_FORCE", "1", 1);
  setenv("MEMKIND_DAX_KMEM_NODES", "0", 1);
  snprintf(folder, sizeof folder, "%s/tierstore-points-XXXXXX", access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
  CHECK(mkdtemp(folder) != NULL);
  for (uint32_t i = 0; i < sizeof storages / sizeof *storages; i++) test(storages[i]);
  CHECK_MSG(rmdir(folder) == 0, "files are left in %s", folder);
}

#endif
