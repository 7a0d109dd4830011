/* SSDHASH against a plain array: random puts, gets and removals with files and limits so small that compaction runs all the
 * time; several threads; reopening; damaged and full media. */
#include "test/check.h"
#include "tiers/ssdhash/ssdhash.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const ts_records_ops *const ops = &ts_ssdhash_records;
static char root[256];

typedef struct world {
  ts_epochs *epochs;
  ts_blocks *blocks;
  ts_budget medium, dram;
  void *options;
  ts_records_options open;
  ts_records *table;
  char message[512];
} world;

static ts_err err_of(world *w) {
  w->message[0] = '\0';
  return (ts_err){w->message, sizeof w->message};
}

static const char *where(const char *name) {
  static char path[512];
  snprintf(path, sizeof path, "%s/%s", root, name);
  mkdir(path, 0755);
  return path;
}

/* Options are "key=value" texts up to NULL. */
static void world_make(world *w, const char *directory, const char *table, uint32_t row_bytes, uint64_t limit, uint64_t dram,
                       const char *const *options) {
  memset(w, 0, sizeof *w);
  w->epochs = aligned_alloc(64, sizeof *w->epochs);
  ts_epochs_init(w->epochs);
  ts_blocks_create(TS_INDEX_BLOCK, -1, &w->blocks);
  w->medium.limit = limit;
  w->dram.limit = dram;
  ts_config *config;
  ts_config_create(&config);
  for (; options != NULL && *options != NULL; options++) {
    char key[64];
    const char *equals = strchr(*options, '=');
    snprintf(key, sizeof key, "ssdhash.%.*s", (int)(equals - *options), *options);
    ts_config_set(config, key, equals + 1, NULL, 0);
  }
  ts_config_reader reader = ts_config_read(config, "store", err_of(w));
  CHECK_MSG(ops->read_options(&reader, &w->options) == TS_OK, "%s", w->message);
  CHECK_MSG(ts_config_finish(&reader) == TS_OK, "%s", w->message);
  ts_config_free(config);
  w->open = (ts_records_options){strdup(directory), table, row_bytes, &w->medium, &w->dram, w->epochs, w->blocks, w->options};
}

static int32_t world_open(world *w) { return ops->open(&w->open, &w->table, err_of(w)); }

static void world_close(world *w, bool keep) {
  if (w->table != NULL) ops->close(w->table, keep);
  w->table = NULL;
  CHECK_MSG(w->medium.used == 0, "%llu", (unsigned long long)w->medium.used);
  CHECK_MSG(w->dram.used == 0, "%llu", (unsigned long long)w->dram.used);
}

static void world_end(world *w) {
  if (w->table != NULL) world_close(w, false);
  ts_blocks_destroy(w->blocks);
  free(w->epochs);
  free(w->options);
  free((char *)w->open.directory);
}

static void fill(unsigned char *row, uint32_t bytes, int64_t key, uint64_t stamp) {
  for (uint32_t i = 0; i < bytes; i += 8) {
    uint64_t word = ts_random64((uint64_t)key, stamp, i);
    memcpy(row + i, &word, bytes - i < 8 ? bytes - i : 8);
  }
}

static int32_t put_one(world *w, int64_t key, uint64_t stamp, uint64_t version) {
  unsigned char *row = malloc(w->open.row_bytes);
  fill(row, w->open.row_bytes, key, stamp);
  int32_t status = ops->put(w->table, 1, &key, &version, (const unsigned char *const *)&row, err_of(w));
  free(row);
  return status;
}

/* Puts keys first .. first + n, a thousand a call. */
static int32_t put_many(world *w, int64_t first, uint32_t n, uint64_t stamp) {
  uint32_t bytes = w->open.row_bytes;
  unsigned char *memory = malloc((size_t)bytes * 1000);
  const unsigned char *rows[1000];
  int64_t keys[1000];
  int32_t status = TS_OK;
  for (uint32_t at = 0; at < n && status == TS_OK; at += 1000) {
    uint32_t m = TS_MIN(1000, n - at);
    for (uint32_t i = 0; i < m; i++) {
      keys[i] = first + at + i;
      rows[i] = memory + (size_t)i * bytes;
      fill(memory + (size_t)i * bytes, bytes, keys[i], stamp);
    }
    status = ops->put(w->table, m, keys, NULL, rows, err_of(w));
  }
  free(memory);
  return status;
}

/* How many of the keys are there with this stamp; `wrong` counts those that differ. */
static uint32_t read_many(world *w, int64_t first, uint32_t n, uint64_t stamp, uint32_t *wrong, int32_t *status) {
  uint32_t bytes = w->open.row_bytes, right = 0;
  unsigned char *memory = calloc(n, bytes), *expected = malloc(bytes);
  unsigned char **rows = calloc(n, sizeof *rows);
  int64_t *keys = calloc(n, sizeof *keys);
  uint8_t *found = malloc(n);
  for (uint32_t i = 0; i < n; i++) {
    keys[i] = first + i;
    rows[i] = memory + (size_t)i * bytes;
  }
  *status = ops->get(w->table, n, keys, rows, found, err_of(w));
  for (uint32_t i = 0; i < n; i++) {
    if (!found[i]) continue;
    fill(expected, bytes, keys[i], stamp);
    if (memcmp(expected, rows[i], bytes) == 0)
      right++;
    else
      ++*wrong;
  }
  free(memory);
  free(expected);
  free(rows);
  free(keys);
  free(found);
  return right;
}

static uint64_t du(const char *path) {
  uint64_t sum = 0;
  char name[512];
  DIR *dir = opendir(path);
  for (struct dirent *e = dir == NULL ? NULL : readdir(dir); e != NULL; e = readdir(dir)) {
    struct stat s;
    if (e->d_name[0] == '.') continue;
    snprintf(name, sizeof name, "%s/%s", path, e->d_name);
    if (stat(name, &s) != 0) continue; /* deleted meanwhile */
    sum += S_ISDIR(s.st_mode) ? du(name) : (uint64_t)s.st_size;
  }
  if (dir != NULL) closedir(dir);
  return sum;
}

/* The path of the n-th log file of a table folder by name. */
static void log_file(const char *directory, const char *table, uint32_t n, char *out, size_t cap) {
  char folder[512];
  struct dirent **names;
  snprintf(folder, sizeof folder, "%s/%s.ssdhash", directory, table);
  int count = scandir(folder, &names, NULL, alphasort);
  out[0] = '\0';
  for (int i = 0; i < count; i++) {
    if (strstr(names[i]->d_name, ".log") != NULL && n-- == 0) snprintf(out, cap, "%s/%.64s", folder, names[i]->d_name);
    free(names[i]);
  }
  free(names);
}

/* ---- against a model ---- */

#define KEYS 700

typedef struct model {
  uint64_t stamp[KEYS]; /* 0: absent */
  uint64_t version[KEYS];
  uint64_t next;
} model;

static int64_t model_key(uint32_t i) { return i == 0 ? INT64_MIN : i == 1 ? -1 : i == 2 ? INT64_MAX : (int64_t)ts_mix64(i); }

static void compare(world *w, const model *m) {
  uint32_t bytes = w->open.row_bytes, live = 0;
  unsigned char *memory = malloc((size_t)KEYS * bytes), *expected = malloc(bytes);
  unsigned char *rows[KEYS];
  int64_t keys[KEYS];
  uint8_t found[KEYS], there[KEYS];
  for (uint32_t i = 0; i < KEYS; i++) {
    keys[i] = model_key(i);
    rows[i] = memory + (size_t)i * bytes;
    live += m->stamp[i] != 0;
  }
  CHECK_MSG(ops->get(w->table, KEYS, keys, rows, found, err_of(w)) == TS_OK, "%s", w->message);
  CHECK(ops->contains(w->table, KEYS, keys, there, err_of(w)) == TS_OK);
  for (uint32_t i = 0; i < KEYS; i++) {
    CHECK_MSG(found[i] == (m->stamp[i] != 0) && there[i] == found[i], "key %u found %u", i, found[i]);
    if (!found[i]) continue;
    fill(expected, bytes, keys[i], m->stamp[i]);
    CHECK_MSG(memcmp(expected, rows[i], bytes) == 0, "key %u", i);
  }
  /* A walk gives each once, with its version. */
  uint64_t cursor = 0, versions[64];
  uint32_t got, seen = 0;
  static uint8_t once[KEYS];
  memset(once, 0, sizeof once);
  do {
    CHECK_MSG(ops->walk(w->table, &cursor, 64, keys, versions, rows, &got, err_of(w)) == TS_OK, "%s", w->message);
    for (uint32_t k = 0; k < got; k++) {
      uint32_t i = 0;
      while (i < KEYS && model_key(i) != keys[k]) i++;
      CHECK(i < KEYS && !once[i] && m->stamp[i] != 0);
      if (i == KEYS) continue;
      once[i] = 1;
      fill(expected, bytes, keys[k], m->stamp[i]);
      CHECK(memcmp(expected, rows[k], bytes) == 0 && versions[k] == m->version[i]);
    }
    seen += got;
  } while (got > 0);
  CHECK_MSG(seen == live, "%u of %u", seen, live);
  ts_records_counts counts;
  ops->count(w->table, &counts);
  CHECK_MSG(counts.rows == live, "%llu, not %u", (unsigned long long)counts.rows, live);
  free(memory);
  free(expected);
}

static void model_test(const char *name, uint32_t row_bytes, uint32_t rounds, const char *const *options) {
  const char *directory = where(name);
  world w;
  model *m = calloc(1, sizeof *m);
  m->next = 1;
  uint64_t limit = (uint64_t)KEYS * (row_bytes + 26) * 9 / 4 + (300 << 10);
  world_make(&w, directory, "a/b", row_bytes, limit, 8 << 20, options);
  CHECK_MSG(world_open(&w) == TS_OK, "%s", w.message);
  unsigned char *memory = malloc((size_t)50 * row_bytes);
  uint64_t turn = 0, compactions = 0;
  ts_records_counts counts;
  for (uint32_t round = 0; round < rounds && test_failures == 0; round++) {
    uint32_t what = (uint32_t)(ts_random64(1, 0, turn++) % 100), n = 1 + (uint32_t)(ts_random64(1, 1, turn) % 50);
    const unsigned char *rows[50];
    int64_t keys[50];
    uint64_t versions[50];
    if (what < 80) {
      for (uint32_t i = 0; i < n; i++) { /* skewed, and the same key twice in a call now and then */
        double u = ts_unit(ts_random64(2, round, i));
        uint32_t k = (uint32_t)(u * u * KEYS);
        keys[i] = model_key(k);
        m->stamp[k] = m->next++;
        versions[i] = round < rounds / 3 ? 0 : round < rounds / 2 ? round : (uint64_t)round << 30;
        m->version[k] = versions[i];
        rows[i] = memory + (size_t)i * row_bytes;
        fill(memory + (size_t)i * row_bytes, row_bytes, keys[i], m->stamp[k]);
      }
      CHECK_MSG(ops->put(w.table, n, keys, versions, rows, err_of(&w)) == TS_OK, "%s", w.message);
    } else if (what < 90) {
      for (uint32_t i = 0; i < n; i++) {
        uint32_t k = (uint32_t)(ts_random64(3, round, i) % KEYS);
        keys[i] = model_key(k);
        m->stamp[k] = 0;
      }
      CHECK(ops->remove(w.table, n, keys, err_of(&w)) == TS_OK);
    } else if (what < 93) {
      CHECK_MSG(ops->flush(w.table, err_of(&w)) == TS_OK, "%s", w.message);
    } else if (what < 94) {
      ops->count(w.table, &counts);
      compactions += counts.compactions;
      world_close(&w, true);
      CHECK_MSG(world_open(&w) == TS_OK, "%s", w.message);
      if (w.table == NULL) break;
      compare(&w, m);
    }
    if (round % 100 == 0) compare(&w, m);
    CHECK(w.medium.used <= limit);
    if (round % 20 == 0) CHECK_MSG(du(directory) <= limit, "%llu bytes on the medium", (unsigned long long)du(directory));
  }
  if (w.table != NULL) {
    compare(&w, m);
    ops->count(w.table, &counts);
    compactions += counts.compactions;
    CHECK_MSG(compactions > 0 && counts.medium_bytes <= limit, "%llu", (unsigned long long)compactions);
    world_close(&w, false);
  }
  CHECK_MSG(du(directory) == 0, "%llu bytes stay", (unsigned long long)du(directory));
  world_end(&w);
  free(memory);
  free(m);
}

/* ---- threads ---- */

#define THREADS 4
#define SHARE 400

typedef struct worker {
  world *w;
  uint32_t number;
  _Atomic int *stop;
} worker;

/* Each changes its own keys and reads everybody's: rows are whole, of their key. */
static void *work(void *argument) {
  worker *me = argument;
  world *w = me->w;
  uint32_t bytes = w->open.row_bytes;
  char text[512];
  ts_err err = {text, sizeof text};
  uint64_t stamps[SHARE] = {0};
  unsigned char *memory = malloc((size_t)SHARE * bytes), *expected = malloc(bytes);
  for (uint32_t round = 1; round <= 60; round++) {
    const unsigned char *rows[SHARE];
    unsigned char *out[SHARE];
    int64_t keys[SHARE];
    uint8_t found[SHARE];
    uint32_t n = 0;
    for (uint32_t i = 0; i < SHARE; i++) {
      if (ts_random64(me->number, round, i) % 3 == 0) continue;
      keys[n] = (int64_t)(i * THREADS + me->number);
      stamps[i] = round;
      rows[n] = memory + (size_t)n * bytes;
      fill(memory + (size_t)n * bytes, bytes, keys[n], round);
      n++;
    }
    int32_t status = ops->put(w->table, n, keys, NULL, rows, err);
    CHECK_MSG(status == TS_OK, "%s", text);
    for (uint32_t i = 0; i < SHARE; i++) {
      keys[i] = (int64_t)(i * THREADS + me->number);
      out[i] = memory + (size_t)i * bytes;
    }
    status = ops->get(w->table, SHARE, keys, out, found, err);
    CHECK_MSG(status == TS_OK, "%s", text);
    for (uint32_t i = 0; i < SHARE; i++) {
      CHECK(found[i] == (stamps[i] != 0));
      if (!found[i]) continue;
      fill(expected, bytes, keys[i], stamps[i]);
      CHECK(memcmp(expected, out[i], bytes) == 0);
    }
    if (round % 10 == me->number) { /* a neighbour's rows: of some round, but whole */
      for (uint32_t i = 0; i < SHARE; i++) keys[i] = (int64_t)(i * THREADS + (me->number + 1) % THREADS);
      CHECK(ops->get(w->table, SHARE, keys, out, found, err) == TS_OK);
      for (uint32_t i = 0; i < SHARE; i++) {
        if (!found[i]) continue;
        uint64_t stamp = 1;
        for (; stamp <= 60; stamp++) {
          fill(expected, bytes, keys[i], stamp);
          if (memcmp(expected, out[i], bytes) == 0) break;
        }
        CHECK(stamp <= 60);
      }
    }
    if (round % 16 == 15) {
      int64_t gone[8];
      for (uint32_t i = 0; i < 8; i++) {
        uint32_t k = (round * 8 + i) % SHARE;
        gone[i] = (int64_t)(k * THREADS + me->number);
        stamps[k] = 0;
      }
      CHECK(ops->remove(w->table, 8, gone, err) == TS_OK);
    }
    if (round % 20 == 0) CHECK(ops->flush(w->table, err) == TS_OK);
  }
  free(memory);
  free(expected);
  return NULL;
}

static void threads_test(const char *const *options) {
  world w;
  world_make(&w, where("threads"), "t", 128, 900 << 10, 16 << 20, options);
  CHECK_MSG(world_open(&w) == TS_OK, "%s", w.message);
  pthread_t ids[THREADS];
  worker workers[THREADS];
  for (uint32_t i = 0; i < THREADS; i++) {
    workers[i] = (worker){.w = &w, .number = i};
    pthread_create(&ids[i], NULL, work, &workers[i]);
  }
  for (uint32_t i = 0; i < THREADS; i++) pthread_join(ids[i], NULL);
  ts_records_counts counts;
  ops->count(w.table, &counts);
  CHECK(counts.compactions > 0);
  world_end(&w);
}

/* ---- DeepRec's eleventh case ---- */

static int by_key(const void *a, const void *b) {
  int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return x < y ? -1 : x > y;
}

/* Ten keys of 126 weights, walked while they are still in the write buffer, and from the medium. */
static void deeprec_iterator(void) {
  world w;
  world_make(&w, where("deeprec"), "emb", 126 * 4, 64 << 20, 8 << 20, NULL);
  CHECK(world_open(&w) == TS_OK);
  float row[126];
  const unsigned char *rows[1] = {(const unsigned char *)row};
  for (int64_t key = 9; key >= 0; key--) {
    for (uint32_t i = 0; i < 126; i++) row[i] = (float)key;
    CHECK(ops->put(w.table, 1, &key, NULL, rows, err_of(&w)) == TS_OK);
  }
  for (uint32_t flushed = 0; flushed < 2; flushed++) {
    ts_records_counts before, after;
    ops->count(w.table, &before);
    uint64_t cursor = 0;
    uint32_t got, n = 0;
    struct {
      int64_t key;
      float row[126];
    } all[10];
    do {
      int64_t keys[3];
      float out[3][126];
      unsigned char *to[3] = {(unsigned char *)out[0], (unsigned char *)out[1], (unsigned char *)out[2]};
      CHECK(ops->walk(w.table, &cursor, 3, keys, NULL, to, &got, err_of(&w)) == TS_OK);
      for (uint32_t i = 0; i < got && n < 10; i++, n++) {
        all[n].key = keys[i];
        memcpy(all[n].row, out[i], sizeof out[i]);
      }
    } while (got > 0);
    CHECK(n == 10);
    qsort(all, n, sizeof all[0], by_key);
    for (uint32_t k = 0; k < n; k++) {
      CHECK(all[k].key == k);
      for (uint32_t i = 0; i < 126; i++) CHECK(all[k].row[i] == (float)k);
    }
    ops->count(w.table, &after);
    CHECK_MSG((after.reads > before.reads) == (flushed == 1), "%llu reads", (unsigned long long)(after.reads - before.reads));
    world_close(&w, true);
    CHECK(world_open(&w) == TS_OK);
  }
  world_end(&w);
}

/* ---- the index ---- */

static void index_bytes(void) {
  world w;
  world_make(&w, where("index"), "t", 16, 64 << 20, 64 << 20, NULL);
  CHECK(world_open(&w) == TS_OK);
  uint64_t before = 0;
  double worst = 0;
  for (int64_t n = 0; n < 500000; n += 20000) {
    CHECK_MSG(put_many(&w, n, 20000, 1) == TS_OK, "%s", w.message);
    uint64_t index = w.dram.reserved[TS_PURPOSE_INDEX];
    CHECK(index >= before || n > 0);
    before = index;
    if (n >= 100000) worst = TS_MAX(worst, (double)index / (double)(n + 20000));
  }
  CHECK_MSG(worst <= 16.0, "%.2f bytes a row", worst);
  uint32_t wrong = 0;
  int32_t status;
  CHECK(read_many(&w, 250000, 3000, 1, &wrong, &status) == 3000 && wrong == 0);
  world_end(&w);
}

/* ---- reopening ---- */

static void removal_survives(void) {
  const char *directory = where("removal");
  world w;
  world_make(&w, directory, "t", 64, 16 << 20, 8 << 20, NULL);
  CHECK(world_open(&w) == TS_OK);
  CHECK(put_many(&w, 0, 5000, 1) == TS_OK && put_many(&w, 0, 5000, 2) == TS_OK);
  int64_t gone[100];
  for (int64_t i = 0; i < 100; i++) gone[i] = i * 7;
  CHECK(ops->remove(w.table, 100, gone, err_of(&w)) == TS_OK);
  /* A process that dies after a flush. */
  CHECK(ops->flush(w.table, err_of(&w)) == TS_OK);
  pid_t child = fork();
  if (child == 0) {
    char copy[1200];
    snprintf(copy, sizeof copy, "cp -r %s %s.dead", directory, directory);
    _exit(system(copy));
  }
  int state;
  waitpid(child, &state, 0);
  char dead[512];
  snprintf(dead, sizeof dead, "%s.dead", directory);
  for (uint32_t which = 0; which < 2; which++) {
    world v;
    world_make(&v, which == 0 ? dead : directory, "t", 64, 16 << 20, 8 << 20, NULL);
    if (which == 1) world_close(&w, true);
    CHECK_MSG(world_open(&v) == TS_OK, "%s", v.message);
    if (v.table != NULL) {
      uint32_t wrong = 0;
      int32_t status;
      CHECK(read_many(&v, 0, 5000, 2, &wrong, &status) == 4900 && wrong == 0 && status == TS_OK);
    }
    world_end(&v);
  }
  world_end(&w);
}

/* A process that dies without a word, while it puts: what was flushed is there, the rest is whole or absent. */
static void death(const char *const *options) {
  const char *directory = where("death");
  pid_t child = fork();
  if (child == 0) {
    world w;
    world_make(&w, directory, "t", 128, 1 << 20, 8 << 20, options);
    if (world_open(&w) != TS_OK || put_many(&w, 0, 1000, 1) != TS_OK || ops->flush(w.table, err_of(&w)) != TS_OK) _exit(1);
    for (uint64_t stamp = 2; stamp < 12; stamp++)
      if (put_many(&w, 0, 1000, stamp) != TS_OK) _exit(1);
    kill(getpid(), SIGKILL);
  }
  int state;
  waitpid(child, &state, 0);
  CHECK(WIFSIGNALED(state) && WTERMSIG(state) == SIGKILL);
  world w;
  world_make(&w, directory, "t", 128, 1 << 20, 8 << 20, options);
  CHECK_MSG(world_open(&w) == TS_OK, "%s", w.message);
  if (w.table != NULL) {
    uint32_t sum = 0, wrong, before = 0;
    int32_t status;
    for (uint64_t stamp = 11; stamp >= 1; stamp--) {
      wrong = 0;
      sum += read_many(&w, 0, 1000, stamp, &wrong, &status);
      CHECK_MSG(status == TS_OK, "%s", w.message);
      if (stamp == 1) before = sum;
    }
    CHECK_MSG(before == 1000, "%u rows", before);
  }
  world_end(&w);
}

/* ---- faults ---- */

/* Makes a table of 3000 rows of 128 bytes in several closed files. */
static void make_files(world *w, const char *directory) {
  static const char *const options[] = {"file_bytes=65536", "buffer_bytes=8192", NULL};
  world_make(w, directory, "t", 128, 4 << 20, 8 << 20, options);
  CHECK(world_open(w) == TS_OK);
  CHECK(put_many(w, 0, 3000, 1) == TS_OK);
}

static void flip(const char *path, off_t offset) {
  unsigned char byte = 0;
  int fd = open(path, O_RDWR);
  CHECK(fd >= 0 && pread(fd, &byte, 1, offset) == 1);
  byte ^= 4;
  CHECK(pwrite(fd, &byte, 1, offset) == 1);
  close(fd);
}

static void flipped_bit(void) {
  char path[600];
  const char *directory = where("flip");
  world w;
  make_files(&w, directory);
  CHECK(ops->flush(w.table, err_of(&w)) == TS_OK);
  log_file(directory, "t", 2, path, sizeof path);
  flip(path, 20000);
  uint32_t wrong = 0;
  int32_t status;
  CHECK(read_many(&w, 0, 3000, 1, &wrong, &status) == 2999 && wrong == 0);
  CHECK_MSG(status == TS_EFORMAT && strstr(w.message, path) != NULL && strstr(w.message, "offset") != NULL, "%d %s", status, w.message);
  /* The rest of the table goes on, also through compaction. */
  for (uint64_t stamp = 2; stamp < 30; stamp++) CHECK_MSG(put_many(&w, 1500, 1500, stamp) == TS_OK, "%s", w.message);
  CHECK(read_many(&w, 1500, 1500, 29, &wrong, &status) == 1500 && wrong == 0);
  world_close(&w, true);
  CHECK(world_open(&w) == TS_EFORMAT);
  CHECK_MSG(strstr(w.message, path) != NULL && strstr(w.message, "offset") != NULL, "%s", w.message);
  world_end(&w);
}

static void truncated(void) {
  char path[600];
  const char *directory = where("cut");
  world w;
  make_files(&w, directory);
  CHECK(ops->flush(w.table, err_of(&w)) == TS_OK);
  log_file(directory, "t", 1, path, sizeof path);
  CHECK(truncate(path, 30000) == 0);
  uint32_t wrong = 0;
  int32_t status;
  uint32_t right = read_many(&w, 0, 3000, 1, &wrong, &status);
  CHECK_MSG(right > 2000 && right < 3000 && wrong == 0, "%u", right);
  CHECK_MSG(status == TS_EFORMAT && strstr(w.message, path) != NULL && strstr(w.message, "truncated") != NULL, "%s", w.message);
  world_close(&w, true);
  CHECK(world_open(&w) == TS_EFORMAT);
  CHECK_MSG(strstr(w.message, path) != NULL && strstr(w.message, "truncated") != NULL, "%s", w.message);
  /* Any closed file counts: also the last, cut at a record's end, or missing. */
  world_end(&w);
  for (uint32_t how = 0; how < 3; how++) {
    directory = where(how == 0 ? "cut0" : how == 1 ? "cut1" : "cut2");
    make_files(&w, directory);
    world_close(&w, true);
    uint32_t last = 0;
    do log_file(directory, "t", ++last, path, sizeof path);
    while (path[0] != '\0');
    log_file(directory, "t", last - 1, path, sizeof path);
    struct stat s;
    CHECK(stat(path, &s) == 0);
    CHECK(how == 0 ? truncate(path, 0) == 0 : how == 1 ? truncate(path, s.st_size - 4096) == 0 : unlink(path) == 0);
    CHECK_MSG(world_open(&w) == TS_EFORMAT, "%u: %s", how, w.message);
    world_end(&w);
  }
}

/* The last write of a process that died, torn: what is before it stays. Torn anywhere else: an error. */
static void torn_tail(void) {
  const char *directory = where("torn");
  static const char *const options[] = {"file_bytes=262144", "buffer_bytes=65536", NULL};
  char path[600], command[1200], copy[512];
  world w;
  world_make(&w, directory, "t", 128, 16 << 20, 8 << 20, options);
  CHECK(world_open(&w) == TS_OK);
  CHECK(put_many(&w, 0, 1000, 1) == TS_OK && ops->flush(w.table, err_of(&w)) == TS_OK);
  for (uint32_t how = 0; how < 2; how++) {
    snprintf(copy, sizeof copy, "%s.copy%u", directory, how);
    snprintf(command, sizeof command, "cp -r %s %s", directory, copy);
    CHECK(system(command) == 0);
    uint32_t files = 0;
    do log_file(copy, "t", ++files, path, sizeof path);
    while (path[0] != '\0');
    log_file(copy, "t", files - 1, path, sizeof path);
    struct stat s;
    CHECK(stat(path, &s) == 0);
    if (how == 0) /* torn inside the last block */
      CHECK(truncate(path, s.st_size - 4096 + 512) == 0);
    else /* damage before whole records is no torn write */
      flip(path, 5000);
    world v;
    world_make(&v, copy, "t", 128, 16 << 20, 8 << 20, options);
    int32_t status = world_open(&v);
    if (how == 0) {
      CHECK_MSG(status == TS_OK, "%s", v.message);
      uint32_t wrong = 0;
      if (status == TS_OK) {
        uint32_t right = read_many(&v, 0, 1000, 1, &wrong, &status);
        CHECK_MSG(right > 950 && right < 1000 && wrong == 0 && status == TS_OK, "%u", right);
        CHECK(put_many(&v, 0, 1000, 2) == TS_OK);
        world_close(&v, true);
        CHECK(world_open(&v) == TS_OK && read_many(&v, 0, 1000, 2, &wrong, &status) == 1000);
      }
    } else {
      CHECK_MSG(status == TS_EFORMAT && strstr(v.message, path) != NULL, "%d %s", status, v.message);
    }
    world_end(&v);
  }
  world_end(&w);
}

static void foreign_files(void) {
  const char *directory = where("foreign");
  world w, v;
  make_files(&w, directory);
  world_make(&v, directory, "t", 128, 4 << 20, 8 << 20, NULL);
  CHECK_MSG(world_open(&v) == TS_EIO && strstr(v.message, "another store") != NULL, "%s", v.message);
  world_end(&v);
  world_close(&w, true);
  world_make(&v, directory, "t", 132, 4 << 20, 8 << 20, NULL);
  CHECK_MSG(world_open(&v) == TS_EFORMAT && strstr(v.message, "128") != NULL && strstr(v.message, "132") != NULL, "%s", v.message);
  world_end(&v);
  char command[1200];
  snprintf(command, sizeof command, "mv %s/t.ssdhash %s/u.ssdhash", directory, directory);
  CHECK(system(command) == 0);
  world_make(&v, directory, "u", 128, 4 << 20, 8 << 20, NULL);
  CHECK_MSG(world_open(&v) == TS_EFORMAT && strstr(v.message, "another table") != NULL, "%s", v.message);
  world_end(&v);
  world_end(&w);
}

static void limits(void) {
  world w;
  static const char *const options[] = {"file_bytes=65536", "buffer_bytes=16384", NULL};
  world_make(&w, where("limit"), "t", 128, 1 << 20, 8 << 20, options);
  CHECK(world_open(&w) == TS_OK);
  CHECK(put_many(&w, 0, 4000, 1) == TS_OK);
  int32_t status = put_many(&w, 4000, 4000, 1);
  CHECK_MSG(status == TS_EFULL && strstr(w.message, "limit") != NULL, "%d %s", status, w.message);
  CHECK(w.medium.used <= w.medium.limit);
  uint32_t wrong = 0;
  CHECK(read_many(&w, 0, 4000, 1, &wrong, &status) == 4000 && wrong == 0 && status == TS_OK);
  /* Removals make room. */
  int64_t keys[2000];
  for (int64_t i = 0; i < 2000; i++) keys[i] = i * 2;
  CHECK(ops->remove(w.table, 2000, keys, err_of(&w)) == TS_OK);
  CHECK_MSG(put_many(&w, 10000, 1000, 1) == TS_OK, "%s", w.message);
  CHECK(read_many(&w, 10000, 1000, 1, &wrong, &status) == 1000 && wrong == 0);
  world_end(&w);
  /* DRAM: index and buffers. */
  world_make(&w, where("limit"), "t", 128, 64 << 20, 150 << 10, options);
  CHECK(world_open(&w) == TS_OK);
  status = put_many(&w, 0, 50000, 1);
  CHECK_MSG(status == TS_EFULL && strstr(w.message, "DRAM") != NULL, "%d %s", status, w.message);
  CHECK(w.dram.used <= w.dram.limit);
  world_end(&w);
}

static void full_disk(void) {
  char mount_point[512];
  snprintf(mount_point, sizeof mount_point, "%s", where("tmpfs"));
  if (mount("none", mount_point, "tmpfs", 0, "size=700k") != 0) {
    fprintf(stderr, "ssdhash_test: full_disk skipped: a file system cannot be mounted: %s\n", strerror(errno));
    return;
  }
  world w;
  static const char *const options[] = {"file_bytes=131072", "buffer_bytes=16384", NULL};
  world_make(&w, mount_point, "t", 128, 64 << 20, 8 << 20, options);
  CHECK_MSG(world_open(&w) == TS_OK, "%s", w.message);
  int32_t status = TS_OK;
  int64_t n = 0;
  for (; n < 10000 && status == TS_OK; n++) status = put_one(&w, n, 1, 0);
  n--;
  CHECK_MSG(status == TS_EIO && strstr(w.message, "No space left") != NULL && strstr(w.message, ".log") != NULL && strstr(w.message, "offset") != NULL, "%d %s", status,
            w.message);
  uint32_t wrong = 0;
  CHECK_MSG(read_many(&w, 0, (uint32_t)n, 1, &wrong, &status) == (uint32_t)n && wrong == 0, "%s", w.message);
  CHECK(ops->flush(w.table, err_of(&w)) == TS_EIO);
  /* Room comes back: so do the writes that failed. */
  char remount[] = "size=2m";
  CHECK(mount("none", mount_point, "tmpfs", MS_REMOUNT, remount) == 0);
  CHECK_MSG(put_many(&w, n, 100, 1) == TS_OK, "%s", w.message);
  CHECK_MSG(ops->flush(w.table, err_of(&w)) == TS_OK, "%s", w.message);
  world_close(&w, true);
  CHECK_MSG(world_open(&w) == TS_OK, "%s", w.message);
  CHECK(w.table != NULL && read_many(&w, 0, (uint32_t)n + 100, 1, &wrong, &status) == (uint32_t)n + 100 && wrong == 0);
  world_end(&w);
  umount(mount_point);
}

static void unwritable(void) {
  world w;
  world_make(&w, "/proc/self", "t", 128, 4 << 20, 8 << 20, NULL);
  CHECK_MSG(world_open(&w) == TS_EIO && strstr(w.message, "/proc/self/t.ssdhash") != NULL, "%s", w.message);
  CHECK_MSG(ops->probe("/proc/self", err_of(&w)) == TS_EIO && strstr(w.message, "/proc/self") != NULL, "%s", w.message);
  CHECK(ops->probe(root, err_of(&w)) == TS_OK);
  world_end(&w);
  /* The folder goes away under an open table. */
  const char *directory = where("gone");
  char command[700];
  world_make(&w, directory, "t", 128, 4 << 20, 8 << 20, NULL);
  CHECK(world_open(&w) == TS_OK);
  snprintf(command, sizeof command, "rm -r %s", directory);
  CHECK(system(command) == 0);
  int32_t status = put_one(&w, 1, 1, 0);
  CHECK_MSG(status == TS_EIO && strstr(w.message, ".log") != NULL, "%d %s", status, w.message);
  world_end(&w);
}

/* Without io_uring and without O_DIRECT the results are the same; describe says what is used. */
static void plain_io(void) {
  static const char *const options[] = {"io=pread", "direct=buffered", "file_bytes=65536", "buffer_bytes=8192", NULL};
  world w;
  world_make(&w, where("plain"), "t", 128, 2 << 20, 8 << 20, options);
  CHECK(world_open(&w) == TS_OK);
  for (uint64_t stamp = 1; stamp < 8; stamp++) CHECK_MSG(put_many(&w, 0, 3000, stamp) == TS_OK, "%s", w.message);
  uint32_t wrong = 0;
  int32_t status;
  CHECK(read_many(&w, 0, 3000, 7, &wrong, &status) == 3000 && wrong == 0);
  ts_text text = {0};
  ops->describe(w.table, &text);
  CHECK_MSG(text.bytes != NULL && strstr(text.bytes, "io=pread") != NULL && strstr(text.bytes, "access=buffered") != NULL, "%s", text.bytes);
  free(text.bytes);
  world_end(&w);
}

static void options_test(void) {
  static const struct {
    const char *key, *value;
  } bad[] = {{"ssdhash.depth", "0"}, {"ssdhash.async_compaction", "2"}, {"ssdhash.io", "mmap"}, {"ssdhash.garbage_percent", "99"}};
  for (uint32_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    ts_config *config;
    ts_config_create(&config);
    ts_config_set(config, bad[i].key, bad[i].value, NULL, 0);
    char text[300] = "";
    ts_config_reader reader = ts_config_read(config, "store", (ts_err){text, sizeof text});
    void *options = NULL;
    CHECK(ops->read_options(&reader, &options) == TS_EINVAL);
    CHECK_MSG(strstr(text, bad[i].key) != NULL, "%s", text);
    ts_config_free(config);
  }
}

int main(void) {
  const char *base = getenv("TMPDIR");
  snprintf(root, sizeof root, "%s/ssdhash-test-XXXXXX", base != NULL ? base : "/tmp");
  if (mkdtemp(root) == NULL) {
    perror(root);
    return 1;
  }
  static const char *const sync[] = {"file_bytes=32768", "buffer_bytes=8192", "async_compaction=0", NULL};
  static const char *const async[] = {"file_bytes=32768", "buffer_bytes=8192", "async_compaction=1", NULL};
  static const char *const plain[] = {"file_bytes=65536", "buffer_bytes=4096", "io=pread", NULL};
  options_test();
  model_test("sync", 128, 3000, sync);
  model_test("async", 128, 3000, async);
  model_test("plain", 132, 1500, plain);
  model_test("short", 4, 2000, sync);
  model_test("long", 5000, 300, sync);
  threads_test(sync);
  threads_test(async);
  deeprec_iterator();
  index_bytes();
  removal_survives();
  death(sync);
  death(async);
  flipped_bit();
  truncated();
  torn_tail();
  foreign_files();
  limits();
  full_disk();
  unwritable();
  plain_io();
  char command[300];
  snprintf(command, sizeof command, "rm -rf %s", root);
  CHECK(system(command) == 0);
  return test_result();
}
