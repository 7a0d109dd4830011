/* ssdhash_world.h - what the tests of SSDHASH share: a table with its budgets, rows that tell of which key and write
 * they are, and the table's files. */
#ifndef TS_TEST_SSDHASH_WORLD_H
#define TS_TEST_SSDHASH_WORLD_H

#include "test/check.h"
#include "tiers/ssdhash/ssdhash.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Another tier of records has the same tests where it says so before. */
#ifndef WORLD_RECORDS
#define WORLD_RECORDS ts_ssdhash_records
#endif
static const ts_records_ops *const ops = &WORLD_RECORDS;
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

static inline ts_err err_of(world *w) {
  w->message[0] = '\0';
  return (ts_err){w->message, sizeof w->message};
}

static inline const char *where(const char *name) {
  static char path[512];
  snprintf(path, sizeof path, "%s/%s", root, name);
  mkdir(path, 0755);
  return path;
}

/* Options are "key=value" texts up to NULL. */
static inline void world_make(world *w, const char *directory, const char *table, uint32_t row_bytes, uint64_t limit,
                       uint64_t dram, const char *const *options) {
  memset(w, 0, sizeof *w);
  w->epochs = aligned_alloc(64, sizeof *w->epochs);
  ts_epochs_init(w->epochs);
  ts_blocks_create(TS_INDEX_BLOCK, UINT64_C(64) << 20, -1, &w->blocks);
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
  w->open =
      (ts_records_options){.directory = strdup(directory), .table = table, .row_bytes = row_bytes, .budget = &w->medium,
                           .dram = &w->dram, .epochs = w->epochs, .blocks = w->blocks, .options = w->options};
}

static inline int32_t world_open(world *w) { return ops->open(&w->open, &w->table, err_of(w)); }

static inline void world_close(world *w, bool keep) {
  if (w->table != NULL) ops->close(w->table, keep);
  w->table = NULL;
  CHECK_MSG(w->medium.used == 0, "%llu", (unsigned long long)w->medium.used);
  CHECK_MSG(w->dram.used == 0, "%llu", (unsigned long long)w->dram.used);
}

static inline void world_end(world *w) {
  if (w->table != NULL) world_close(w, false);
  ts_blocks_destroy(w->blocks);
  free(w->epochs);
  free(w->options);
  free((char *)w->open.directory);
}

static inline void fill(unsigned char *row, uint32_t bytes, int64_t key, uint64_t stamp) {
  for (uint32_t i = 0; i < bytes; i += 8) {
    uint64_t word = ts_random64((uint64_t)key, stamp, i);
    memcpy(row + i, &word, bytes - i < 8 ? bytes - i : 8);
  }
  memcpy(row, &stamp, bytes < 8 ? bytes : 8);
}

static inline uint64_t stamp_of(const unsigned char *row, uint32_t bytes) {
  uint64_t stamp = 0;
  memcpy(&stamp, row, bytes < 8 ? bytes : 8);
  return stamp;
}

static inline int32_t put_one(world *w, int64_t key, uint64_t stamp, uint64_t version) {
  unsigned char *row = malloc(w->open.row_bytes);
  fill(row, w->open.row_bytes, key, stamp);
  int32_t status = ops->put(w->table, 1, &key, &version, (const unsigned char *const *)&row, NULL, err_of(w));
  free(row);
  return status;
}

/* Puts keys first .. first + n, a thousand a call. */
static inline int32_t put_many(world *w, int64_t first, uint32_t n, uint64_t stamp) {
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
    status = ops->put(w->table, m, keys, NULL, rows, NULL, err_of(w));
  }
  free(memory);
  return status;
}

/* How many of the keys are there with this stamp; `wrong` counts those that differ. */
static inline uint32_t read_many(world *w, int64_t first, uint32_t n, uint64_t stamp, uint32_t *wrong,
                                 int32_t *status) {
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

static inline uint64_t du(const char *path) {
  uint64_t sum = 0;
  char name[512];
  DIR *dir = opendir(path);
  for (struct dirent *e = dir == NULL ? NULL : readdir(dir); e != NULL; e = readdir(dir)) {
    struct stat s;
    if (e->d_name[0] == '.') continue;
    CHECK(snprintf(name, sizeof name, "%s/%s", path, e->d_name) < (int)sizeof name);
    if (stat(name, &s) != 0) continue; /* deleted meanwhile */
    sum += S_ISDIR(s.st_mode) ? du(name) : (uint64_t)s.st_size;
  }
  if (dir != NULL) closedir(dir);
  return sum;
}

/* The path of the n-th log file of a table folder by name. */
static inline void log_file(const char *directory, const char *table, uint32_t n, char *out, size_t cap) {
  char folder[512], found[600] = "";
  struct dirent **names;
  CHECK(snprintf(folder, sizeof folder, "%s/%s.ssdhash", directory, table) < (int)sizeof folder);
  int count = scandir(folder, &names, NULL, alphasort);
  for (int i = 0; i < count; i++) {
    if (strstr(names[i]->d_name, ".log") != NULL && n-- == 0)
      snprintf(found, sizeof found, "%s/%.32s", folder, names[i]->d_name);
    free(names[i]);
  }
  free(names);
  snprintf(out, cap, "%s", found);
}

/* Makes a table of 3000 rows of 128 bytes in several closed files. */
static inline void make_files(world *w, const char *directory) {
  static const char *const options[] = {"file_bytes=65536", "buffer_bytes=8192", NULL};
  world_make(w, directory, "t", 128, 4 << 20, 8 << 20, options);
  CHECK(world_open(w) == TS_OK);
  CHECK(put_many(w, 0, 3000, 1) == TS_OK);
}

static inline void flip(const char *path, off_t offset) {
  unsigned char byte = 0;
  int fd = open(path, O_RDWR);
  CHECK(fd >= 0 && pread(fd, &byte, 1, offset) == 1);
  byte ^= 4;
  CHECK(pwrite(fd, &byte, 1, offset) == 1);
  close(fd);
}

/* In memory where there is such a file system, unless `disk`: the tests make many small writes. */
static inline void make_root(bool disk) {
  const char *base = getenv("TMPDIR");
  if (base == NULL) base = "/tmp";
  if (!disk && access("/dev/shm", W_OK) == 0) base = "/dev/shm";
  snprintf(root, sizeof root, "%s/ssdhash-test-XXXXXX", base);
  CHECK_MSG(mkdtemp(root) != NULL, "%s: %s", root, strerror(errno));
}

static inline void remove_root(void) {
  char command[300];
  snprintf(command, sizeof command, "rm -rf %s", root);
  CHECK(system(command) == 0);
}

#endif
