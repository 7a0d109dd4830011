/* Restore points of a store where it is hard: rows that move, change, lose their record or go before the point's walk has come to
 * them; a process that ends at any hand-over while a point is made or dropped; disks that fail; one flipped bit anywhere; and the
 * defects D1 to D5 that OpenEmbedding's persistent tables have. Hand-overs are forced by sync points (base/sync_point.h). */
#include "base/sync_point.h"
#include "store/store.h"
#include "test/check.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DIM 8u
#define MOST 1024u
#define IMAGES 64u

static char folder[128], message[512];
#define ERR message, sizeof message
static uint64_t seed, draws;

static uint64_t draw(uint64_t below) { return ts_random64(seed, 5, draws++) % below; }

static int remove_one(const char *file, const struct stat *status, int type, struct FTW *walk) {
  (void)status, (void)type, (void)walk;
  return remove(file);
}
static void remove_tree(const char *top) { nftw(top, remove_one, 16, FTW_DEPTH | FTW_PHYS); }

static const char *copy_from;
static char copy_to[400];
static int copy_one(const char *file, const struct stat *status, int type, struct FTW *walk) {
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
static void copy_tree(const char *from, const char *to) {
  copy_from = from;
  snprintf(copy_to, sizeof copy_to, "%s", to);
  nftw(from, copy_one, 16, FTW_PHYS);
}

/* ---- stores ---- */

static ts_config *config_of(const char *const pairs[]) {
  ts_config *config = NULL;
  ts_config_create(&config);
  for (uint32_t i = 0; pairs[i] != NULL; i += 2) ts_config_set(config, pairs[i], pairs[i + 1], NULL, 0);
  return config;
}
#define CONFIG(...) config_of((const char *const[]){__VA_ARGS__, NULL})

static int32_t make_table(ts_store *store, const char *dim) {
  uint32_t table;
  ts_config *config = CONFIG("name", "t", "optimizer", "adagrad", "dim", dim);
  const int32_t status = ts_table_create(store, config, &table, ERR);
  ts_config_free(config);
  return status;
}

/* Whether the last tier is PMEM over libpmem, not SSDHASH. */
static bool in_pmem(const char *storage) { return strstr(storage, "SSDHASH") == NULL; }
static const char *holder_of(const char *storage) { return in_pmem(storage) ? "libpmem" : "memkind"; }
static const char *files_of(const char *storage) { return in_pmem(storage) ? ".pmem" : "t.ssdhash"; } /* of a table, in its folder's name */

/* NULL: it was refused, the message says why. number: 0, the newest. */
static ts_store *open_at(const char *storage, const char *path, uint64_t number, uint64_t *taken) {
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

static ts_store *open_twin(void) {
  ts_config *config = CONFIG("storage", "DRAM");
  ts_store *store = NULL;
  CHECK_MSG(ts_store_open(config, &store, ERR) == TS_OK && make_table(store, "8") == TS_OK, "%s", message);
  ts_config_free(config);
  return store;
}

static void step(ts_store *store, int64_t first, uint32_t n, float gradient) {
  int64_t keys[MOST];
  static float gradients[MOST * DIM];
  for (uint32_t i = 0; i < n; i++) keys[i] = first + i;
  for (uint32_t i = 0; i < n * DIM; i++) gradients[i] = gradient + (float)i / 1000;
  CHECK_MSG(ts_table_update(store, 0, keys, n, gradients, ERR) == TS_OK, "%s", message);
}

static void look_up(ts_store *store, int64_t first, uint32_t n) {
  int64_t keys[MOST];
  static float rows[MOST * DIM];
  for (uint32_t i = 0; i < n; i++) keys[i] = first + i;
  CHECK_MSG(ts_table_lookup(store, 0, keys, n, rows, ERR) == TS_OK, "%s", message);
}

static void take_away(ts_store *store, int64_t first, uint32_t n) {
  int64_t keys[MOST];
  uint64_t gone;
  for (uint32_t i = 0; i < n; i++) keys[i] = first + i;
  CHECK_MSG(ts_table_remove(store, 0, keys, n, &gone, ERR) == TS_OK, "%s", message);
}

static uint64_t digest(ts_store *store) {
  uint64_t found = 0;
  CHECK_MSG(ts_store_digest(store, &found, ERR) == TS_OK, "%s", message);
  return found;
}

/* Rows of a memory tier move down, or those that have records lose them, as in a call. */
static void move_down(ts_store *store, uint32_t tier, uint32_t n, bool give_up) {
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

static uint64_t persisted(ts_store *store) {
  uint64_t all[TS_STATISTIC_COUNT] = {0};
  CHECK(ts_store_statistics(store, all, TS_STATISTIC_COUNT, NULL, ERR) == TS_OK);
  return all[TS_STAT_persisted];
}

/* Rows in memory that differ from their records, or have none. */
static uint64_t differing(ts_store *store) {
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

static int32_t persist(ts_store *store, const char *keep, uint64_t *number) {
  ts_config *config = CONFIG("keep", keep);
  const int32_t status = ts_store_persist(store, config, number, ERR);
  ts_config_free(config);
  return status;
}

static uint64_t persist_now(ts_store *store, const char *keep) {
  uint64_t number = 0;
  CHECK_MSG(persist(store, keep, &number) == TS_OK && ts_store_persisted(store, NULL, ERR) == TS_OK, "%s", message);
  return number;
}

static void check_at(const char *what, const char *storage, const char *path, uint64_t number, uint64_t want) {
  uint64_t taken = 0;
  ts_store *store = open_at(storage, path, number, &taken);
  CHECK_MSG(store != NULL && (number == 0 || taken == number), "%s: %s", what, message);
  if (store == NULL) return;
  CHECK_MSG(digest(store) == want, "%s (seed %llu, %s): point %llu is another state", what, (unsigned long long)seed, storage,
            (unsigned long long)taken);
  ts_store_close(store);
}

/* ---- before the walk ---- */

static void before_the_walk(const char *storage, uint64_t which) {
  char path[256];
  snprintf(path, sizeof path, "%s/walk", folder);
  CHECK(mkdir(path, 0700) == 0);
  seed = which;
  draws = 0;
  uint64_t taken;
  ts_store *a = open_at(storage, path, 0, &taken);
  CHECK_MSG(a != NULL, "%s", message);
  if (a == NULL) return;
  step(a, 0, 600, 1);
  persist_now(a, "2");
  const uint64_t before = persisted(a);
  CHECK(before == (a->memory_tiers > 0 ? 600 : 0)); /* all fit the first tier */
  step(a, 100, 300, 2);
  step(a, 600, 100, 3);
  move_down(a, 0, 50, false);
  move_down(a, 1, 20, false);
  const uint64_t want = digest(a), above = differing(a);
  ts_sync_start();
  ts_sync_close("kept:walk:piece");
  CHECK_MSG(persist(a, "2", NULL) == TS_OK, "%s", message);
  CHECK(ts_sync_await("kept:walk:piece", 1));
  for (uint32_t i = 0; i < 14; i++) {
    const int64_t first = (int64_t)draw(700);
    switch (draw(8)) {
      case 0: move_down(a, 0, (uint32_t)draw(200), false); break;
      case 1: move_down(a, 1, (uint32_t)draw(100), false); break;
      case 2: move_down(a, 0, (uint32_t)draw(200), true); break;
      case 3: step(a, first, 1 + (uint32_t)draw(200), 4); break;
      case 4: look_up(a, first, 1 + (uint32_t)draw(200)); break;
      case 5: take_away(a, first, 1 + (uint32_t)draw(50)); break;
      case 6: step(a, 1000 + first, 1 + (uint32_t)draw(50), 5); break;
      default: move_down(a, 0, 1000, false);
    }
  }
  CHECK(ts_sync_stop());
  CHECK_MSG(ts_store_persisted(a, NULL, ERR) == TS_OK, "%s", message);
  /* Each row above that had changed once, whoever was first; those that had moved down before are there. */
  CHECK_MSG(persisted(a) == before + above, "%llu, not %llu", (unsigned long long)(persisted(a) - before), (unsigned long long)above);
  ts_store_close(a);
  check_at("before the walk", storage, path, 0, want);
  remove_tree(path);
}

/* ---- cancelled ---- */

typedef struct {
  ts_store *store;
  uint64_t control[TS_CONTROL_WORDS];
  int32_t status;
} waiter;

static void *wait_for_point(void *context) {
  waiter *w = context;
  char words[256];
  w->status = ts_store_persisted(w->store, w->control, words, sizeof words);
  return NULL;
}

/* A point that is cancelled under way leaves the one before it, and the next one has what changed. */
static void cancelled(const char *storage, const char *path) {
  uint64_t taken;
  ts_store *a = open_at(storage, path, 0, &taken);
  CHECK_MSG(a != NULL, "%s", message);
  if (a == NULL) return;
  step(a, 0, 600, 1);
  const uint64_t one = persist_now(a, "2"), first = digest(a);
  step(a, 100, 300, 2);
  ts_sync_start();
  ts_sync_close("kept:walk:piece");
  CHECK_MSG(persist(a, "2", NULL) == TS_OK, "%s", message);
  CHECK(ts_sync_await("kept:walk:piece", 1));
  waiter w = {.store = a, .control = {[TS_CONTROL_CANCEL] = 1}};
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, wait_for_point, &w) == 0);
  /* What was done is told after the cancellation was handed over. */
  while (__atomic_load_n(&w.control[TS_CONTROL_TOTAL], __ATOMIC_RELAXED) == 0) sched_yield();
  CHECK(ts_sync_stop());
  pthread_join(thread, NULL);
  CHECK(w.status == TS_ECANCELLED);
  CHECK_MSG(ts_store_persisted(a, NULL, ERR) == TS_OK, "%s", "it is told once");
  step(a, 200, 20, 3);
  const uint64_t second = digest(a), two = persist_now(a, "2");
  ts_store_close(a);
  check_at("cancelled", storage, path, two, second);
  check_at("cancelled", storage, path, one, first);
}

/* ---- D1 to D5: defects of another system's persistent tables ---- */

/* D1: back to a point, then one key is trained: the next point has the 63 others as they were there, not as the abandoned
 * timeline left them, and no key that only that had. */
static void d1(const char *storage, const char *path) {
  uint64_t taken, one;
  ts_store *a = open_at(storage, path, 0, &taken), *b = open_twin();
  step(a, 0, 64, 1), step(b, 0, 64, 1);
  one = persist_now(a, "3");
  step(a, 0, 65, 2);
  move_down(a, 0, 1000, false);
  persist_now(a, "3");
  ts_store_close(a);
  a = open_at(storage, path, one, &taken);
  CHECK_MSG(a != NULL, "%s", message);
  if (a == NULL) return;
  for (uint32_t i = 0; i < 20; i++) step(a, 0, 1, 3), step(b, 0, 1, 3);
  const uint64_t number = persist_now(a, "3");
  ts_store_close(a);
  check_at("D1", storage, path, number, digest(b));
  ts_store_close(b);
}

/* D2: a point is not durable yet while rows are replaced and the next is asked for; all of them are whole. */
static void d2(const char *storage, const char *path) {
  uint64_t taken, numbers[4], digests[4];
  ts_store *a = open_at(storage, path, 0, &taken);
  for (uint32_t i = 0; i < 4; i++) {
    step(a, 0, 40, 1);
    digests[i] = digest(a);
    CHECK_MSG(ts_store_persisted(a, NULL, ERR) == TS_OK, "%s", message);
    ts_sync_start();
    if (i == 1) ts_sync_close_first("kept:walk:piece");
    CHECK_MSG(persist(a, "4", &numbers[i]) == TS_OK, "%s", message);
    for (uint32_t k = 0; k < 20; k++) {
      step(a, 0, 40, 2);
      move_down(a, 0, 1000, false);
      look_up(a, 0, 40);
    }
    CHECK(ts_sync_stop());
  }
  ts_store_close(a);
  for (uint32_t i = 4; i-- > 0;) check_at("D2", storage, path, numbers[i], digests[i]); /* the newest first: those after it go */
}

/* D3: a point that was dropped is refused. */
static void d3(const char *storage, const char *path) {
  uint64_t taken, numbers[3];
  ts_store *a = open_at(storage, path, 0, &taken);
  for (uint32_t i = 0; i < 3; i++) {
    step(a, 0, 40, 1);
    numbers[i] = persist_now(a, "1");
  }
  const uint64_t want = digest(a);
  ts_store_close(a);
  for (uint32_t i = 0; i < 2; i++)
    CHECK_MSG(open_at(storage, path, numbers[i], &taken) == NULL && strstr(message, "dropped") != NULL, "D3: %s", message);
  check_at("D3", storage, path, numbers[2], want);
}

/* D4: rows of another geometry are refused. */
static void d4(const char *storage, const char *path) {
  uint64_t taken;
  ts_store *a = open_at(storage, path, 0, &taken);
  step(a, 0, 10, 1);
  persist_now(a, "1");
  const uint64_t want = digest(a);
  ts_store_close(a);
  ts_config *config = CONFIG("storage", storage, "path", path, "persistent", "1", "pmem", holder_of(storage)), *none = CONFIG("number", "0");
  CHECK(ts_store_open(config, &a, ERR) == TS_OK && ts_store_resume(a, none, NULL, NULL, ERR) == TS_OK);
  CHECK_MSG(make_table(a, "9") == TS_EINVAL && strstr(message, "\"dim\" is 9") != NULL, "D4: %s", message);
  ts_config_free(config);
  ts_config_free(none);
  ts_store_close(a);
  check_at("D4", storage, path, 0, want);
}

/* D5: at every hand-over while points are made and dropped, a process that ends there leaves one, and none older than the last
 * that was called durable. */
static struct {
  const char *path;
  uint32_t count;
  uint64_t durable[IMAGES], acknowledged;
} images;

static void keep_image(void *context, void *value) {
  (void)context, (void)value;
  char to[256];
  if (images.count == IMAGES) return;
  snprintf(to, sizeof to, "%s/image-%u", folder, images.count);
  CHECK(mkdir(to, 0700) == 0);
  copy_tree(images.path, to);
  images.durable[images.count++] = images.acknowledged;
}

static void d5(const char *storage, const char *path) {
  static const char *const points[] = {"kept:walk:piece", "kept:put",        "ssd:cut:begun",  "ssd:cut:synced",   "kept:completed",
                                       "ssd:cut:removed", "pmem:cut:begun", "pmem:cut:synced", "pmem:cut:removed", "points:made"};
  uint64_t taken, numbers[4], digests[4];
  images.path = path;
  images.count = 0;
  images.acknowledged = 0;
  ts_store *a = open_at(storage, path, 0, &taken);
  const uint64_t nothing = digest(a);
  ts_sync_start();
  for (uint32_t i = 0; i < sizeof points / sizeof *points; i++) ts_sync_call(points[i], keep_image, NULL);
  for (uint32_t i = 0; i < 4; i++) {
    step(a, 0, 30, (float)i);
    digests[i] = digest(a);
    numbers[i] = persist_now(a, "1");
    images.acknowledged = numbers[i];
  }
  CHECK(ts_sync_stop());
  ts_store_close(a);
  CHECK_MSG(images.count > 20, "%u", images.count);
  for (uint32_t k = 0; k < images.count; k++) {
    char image[256];
    snprintf(image, sizeof image, "%s/image-%u", folder, k);
    a = open_at(storage, image, 0, &taken);
    CHECK_MSG(a != NULL, "D5, image %u: %s", k, message);
    if (a == NULL) continue;
    uint64_t want = taken == 0 ? nothing : 0;
    for (uint32_t i = 0; i < 4; i++)
      if (numbers[i] == taken) want = digests[i];
    CHECK_MSG(taken >= images.durable[k] && digest(a) == want, "D5, image %u: point %llu, and %llu was durable", k,
              (unsigned long long)taken, (unsigned long long)images.durable[k]);
    ts_store_close(a);
    remove_tree(image);
  }
}

/* ---- disks that fail, bits that flip ---- */

static void pmem_sync_fails(void *context, void *value) {
  (void)context;
  *(int *)value = -EIO;
}

static void sync_fails(void *context, void *value) {
  (void)context;
  struct {
    const void *file;
    int error;
  } *s = value;
  s->error = EIO;
}

static void a_failure_leaves_the_last_one(const char *storage, const char *path) {
  uint64_t taken;
  ts_store *a = open_at(storage, path, 0, &taken);
  step(a, 0, 100, 1);
  const uint64_t number = persist_now(a, "1"), want = digest(a);
  step(a, 0, 100, 2);
  ts_sync_start();
  ts_sync_call("ssd:medium:sync", sync_fails, NULL);
  ts_sync_call("pmem:medium:sync", pmem_sync_fails, NULL);
  CHECK_MSG(persist(a, "1", NULL) == TS_OK, "%s", message);
  CHECK_MSG(ts_store_persisted(a, NULL, ERR) == TS_EIO && strstr(message, "synchronize") != NULL, "%s", message);
  CHECK_MSG(ts_store_persisted(a, NULL, ERR) == TS_OK, "%s", "it is told once");
  CHECK(ts_sync_stop());
  step(a, 0, 100, 3);
  CHECK_MSG(persist(a, "1", NULL) == TS_EIO && strstr(message, "not known") != NULL, "%s", message);
  look_up(a, 0, 100);
  ts_store_close(a);
  check_at("a sync that failed", storage, path, number, want);
}

static char files[64][400];
static uint32_t file_count;
static int list_one(const char *file, const struct stat *status, int type, struct FTW *walk) {
  (void)walk;
  if (type == FTW_F && status->st_size > 0 && file_count < 64) snprintf(files[file_count++], sizeof files[0], "%s", file);
  return 0;
}

static void flip(const char *file, uint64_t at, unsigned char bit) {
  unsigned char byte = 0;
  const int fd = open(file, O_RDWR);
  CHECK(fd >= 0 && pread(fd, &byte, 1, (off_t)at) == 1);
  byte ^= bit;
  CHECK(pwrite(fd, &byte, 1, (off_t)at) == 1);
  close(fd);
}

/* Each bit that counts is missed by name; no other state is ever taken up. */
static void one_bit(const char *storage, const char *path) {
  uint64_t taken, refused = 0, tried = 0;
  ts_store *a = open_at(storage, path, 0, &taken);
  step(a, 0, 20, 1);
  persist_now(a, "1");
  step(a, 5, 20, 1);
  persist_now(a, "1");
  const uint64_t want = digest(a);
  ts_store_close(a);
  char copy[256];
  snprintf(copy, sizeof copy, "%s/flipped", folder);
  file_count = 0;
  nftw(path, list_one, 16, FTW_PHYS);
  CHECK_MSG(file_count >= (in_pmem(storage) ? 2 : 3), "%u files", file_count); /* the table's, and the one beside */
  for (uint32_t f = 0; f < file_count; f++)
    for (uint32_t i = 0; i < 40; i++) {
      struct stat status;
      CHECK(stat(files[f], &status) == 0);
      /* The beginning, where headers are, and anywhere. */
      const uint64_t at = i < 20 ? draw(TS_MIN((uint64_t)status.st_size, 128u)) : draw((uint64_t)status.st_size);
      char damaged[700];
      mkdir(copy, 0700);
      copy_tree(path, copy);
      snprintf(damaged, sizeof damaged, "%s%s", copy, files[f] + strlen(path));
      flip(damaged, at, (unsigned char)(1u << draw(8)));
      message[0] = '\0';
      a = open_at(storage, copy, 0, &taken);
      tried++;
      if (a == NULL) {
        refused++;
        CHECK_MSG(strstr(message, files_of(storage)) != NULL || strstr(message, "points") != NULL || strstr(message, "table \"t\"") != NULL,
                  "byte %llu of %s: %s", (unsigned long long)at, files[f], message);
      } else {
        CHECK_MSG(digest(a) == want, "byte %llu of %s: another state", (unsigned long long)at, files[f]);
        ts_store_close(a);
      }
      remove_tree(copy);
    }
  CHECK_MSG(refused > tried / 4, "%llu of %llu were refused", (unsigned long long)refused, (unsigned long long)tried);
}

/* A table's files of another store, whose point has the same number. */
static void tables_of_another_store(const char *storage, const char *path) {
  char other[256], from[400], to[400];
  uint64_t taken;
  snprintf(other, sizeof other, "%s/other", folder);
  CHECK(mkdir(other, 0700) == 0);
  const char *const paths[] = {path, other};
  for (uint32_t i = 0; i < 2; i++) {
    ts_store *a = open_at(storage, paths[i], 0, &taken);
    step(a, 0, 20, (float)i);
    persist_now(a, "1");
    ts_store_close(a);
  }
  char name[64];
  if (in_pmem(storage)) snprintf(name, sizeof name, "%016llx.pmem", (unsigned long long)ts_hash_bytes("t", 1, 0));
  else snprintf(name, sizeof name, "t.ssdhash");
  snprintf(from, sizeof from, "%s/tierstore-kept/%s", other, name);
  snprintf(to, sizeof to, "%s/tierstore-kept/%s", path, name);
  remove_tree(to);
  copy_tree(from, to);
  CHECK_MSG(open_at(storage, path, 0, &taken) == NULL && strstr(message, "not of this store") != NULL, "%s", message);
  remove_tree(to);
  CHECK_MSG(open_at(storage, path, 0, &taken) == NULL && strstr(message, "table \"t\"") != NULL, "no files at all: %s", message);
  remove_tree(other);
}

static void in_folder(void (*test)(const char *storage, const char *path), const char *storage) {
  char path[256];
  snprintf(path, sizeof path, "%s/one", folder);
  CHECK(mkdir(path, 0700) == 0);
  test(storage, path);
  remove_tree(path);
}

int main(int argc, char **argv) {
  static const char *const storages[] = {"SSDHASH", "DRAM_SSDHASH", "DRAM_PMEM_SSDHASH", "PMEM_LIBPMEM", "DRAM_PMEM"};
  setenv("PMEM_IS_PMEM_FORCE", "1", 1);
  setenv("MEMKIND_DAX_KMEM_NODES", "0", 1);
  snprintf(folder, sizeof folder, "%s/tierstore-points-XXXXXX", access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
  if (mkdtemp(folder) == NULL) return 1;
  for (uint32_t i = 0; i < sizeof storages / sizeof *storages; i++) {
    if (argc > 1) {
      before_the_walk(storages[i], strtoull(argv[1], NULL, 10));
      continue;
    }
    for (uint64_t s = 0; s < 24 && test_failures == 0; s++) before_the_walk(storages[i], s);
    in_folder(d1, storages[i]);
    in_folder(d2, storages[i]);
    in_folder(d3, storages[i]);
    in_folder(d4, storages[i]);
    in_folder(d5, storages[i]);
    in_folder(a_failure_leaves_the_last_one, storages[i]);
    if (strncmp(storages[i], "DRAM_", 5) == 0) in_folder(cancelled, storages[i]); /* others have no rows to put down */
    in_folder(one_bit, storages[i]);
    in_folder(tables_of_another_store, storages[i]);
  }
  CHECK_MSG(rmdir(folder) == 0, "files are left in %s", folder);
  return test_result();
}
