/* The LEVELDB tier: against a model, across closing and opening, at its limits, on damaged files, under threads, and
 * DeepRec's case. */
#include "test/check.h"
#include "test/foreign_threads.h"
#include "tiers/leveldb/leveldb.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const ts_records_ops *const ops = &ts_leveldb_records;
static char message[1024], directory[PATH_MAX];
static const ts_err err = {message, sizeof message};
static ts_budget medium, dram;

static void fresh_budgets(uint64_t limit) {
  medium = (ts_budget){.limit = limit};
  dram = (ts_budget){.limit = UINT64_C(64) << 20};
}

/* `text`: "key=value key=value", without "leveldb.". */
static void *options_of(const char *text) {
  ts_config *config;
  if (ts_config_create(&config) != TS_OK) exit(1);
  char key[64], value[64], name[80];
  for (int n; sscanf(text, " %63[^=]=%63s%n", key, value, &n) == 2; text += n) {
    snprintf(name, sizeof name, "leveldb.%s", key);
    ts_config_set(config, name, value, NULL, 0);
  }
  ts_config_reader reader = ts_config_read(config, "store", err);
  void *options = NULL;
  int32_t status = ops->read_options(&reader, &options);
  if (status == TS_OK) status = ts_config_finish(&reader);
  if (status != TS_OK) {
    free(options);
    options = NULL;
  }
  ts_config_free(config);
  return options;
}

static int32_t try_open(const char *table, uint32_t row_bytes, const char *text, ts_records **out) {
  void *options = options_of(text);
  CHECK_MSG(options != NULL, "%s", message);
  ts_records_options all = {.directory = directory,
                            .table = table,
                            .row_bytes = row_bytes,
                            .budget = &medium,
                            .dram = &dram,
                            .options = options};
  int32_t status = ops->open(&all, out, err);
  free(options);
  return status;
}

static ts_records *open_records(const char *table, uint32_t row_bytes, const char *text) {
  ts_records *r = NULL;
  int32_t status = try_open(table, row_bytes, text, &r);
  CHECK_MSG(status == TS_OK, "%s", message);
  if (r == NULL) exit(1);
  return r;
}

static void close_records(ts_records *r, bool keep) {
  ops->close(r, keep);
  for (int p = 0; p < TS_PURPOSES; p++) CHECK(medium.reserved[p] == 0 && dram.reserved[p] == 0);
  CHECK(medium.used == 0 && dram.used == 0);
}

static uint64_t rows_of(ts_records *r) {
  ts_records_counts counts;
  ops->count(r, &counts);
  return counts.rows;
}

/* Row bytes that tell key, version and position. */
static void fill(unsigned char *row, uint32_t bytes, int64_t key, uint64_t version) {
  for (uint32_t i = 0; i < bytes; i++)
    row[i] = (unsigned char)(ts_mix64((uint64_t)key * 31 + version + i / 8) >> (i % 8));
}

static bool is_filled(const unsigned char *row, uint32_t bytes, int64_t key, uint64_t version) {
  unsigned char expected[8192];
  fill(expected, bytes, key, version);
  return memcmp(row, expected, bytes) == 0;
}

static int32_t put_one(ts_records *r, uint32_t bytes, int64_t key, uint64_t version) {
  unsigned char row[8192];
  const unsigned char *rows[] = {row};
  fill(row, bytes, key, version);
  return ops->put(r, 1, &key, &version, rows, NULL, err);
}

/* Sum of the sizes of the files in a table's folder. */
static uint64_t folder_bytes(const char *table) {
  char path[PATH_MAX + 64];
  snprintf(path, sizeof path, "%s/leveldb-%s", directory, table);
  DIR *folder = opendir(path);
  if (folder == NULL) return 0;
  uint64_t bytes = 0;
  for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
    struct stat s;
    if (fstatat(dirfd(folder), entry->d_name, &s, 0) == 0 && S_ISREG(s.st_mode)) bytes += (uint64_t)s.st_size;
  }
  closedir(folder);
  return bytes;
}

static uint32_t entries_left(void) {
  uint32_t n = 0;
  DIR *folder = opendir(directory);
  for (struct dirent *entry; folder != NULL && (entry = readdir(folder)) != NULL;) n += entry->d_name[0] != '.';
  if (folder != NULL) closedir(folder);
  return n;
}

/* ---- what a killed process leaves ---- */

static void unclosed_databases_are_discarded(void) {
  fresh_budgets(UINT64_C(64) << 20);
  pid_t child = fork();
  if (child == 0) {
    ts_records *r = open_records("killed", 32, "");
    for (int64_t key = 0; key < 50; key++)
      if (put_one(r, 32, key, 1) != TS_OK) _exit(2);
    /* Closed and kept once: opening takes the mark of that away. */
    close_records(r, true);
    r = open_records("killed", 32, "");
    if (rows_of(r) != 50 || test_failures > 0) _exit(3);
    if (put_one(r, 32, 50, 1) != TS_OK || ops->flush(r, err) != TS_OK) _exit(4);
    _exit(0);
  }
  int status = -1;
  CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
  ts_records *r = open_records("killed", 32, "");
  uint8_t found = 9;
  const int64_t key = 7;
  ts_text text = {0};
  ops->describe(r, &text);
  CHECK(rows_of(r) == 0 && ops->contains(r, 1, &key, &found, err) == TS_OK && found == 0);
  CHECK_MSG(strstr(text.bytes, "discarded=1") != NULL, "%s", text.bytes);
  free(text.bytes);
  close_records(r, false);
  CHECK(entries_left() == 0);
}

/* ---- DeepRec's case ---- */

static void deeprec_case(void) {
  fresh_budgets(UINT64_C(64) << 20);
  ts_records *r = open_records("case 10", 8, "");
  for (int64_t key = 0; key < 100; key++) {
    const unsigned char *row = (const unsigned char *)&key;
    CHECK(ops->put(r, 1, &key, NULL, &row, NULL, err) == TS_OK);
  }
  CHECK(rows_of(r) == 100);
  const int64_t two[] = {12, 88};
  CHECK(ops->remove(r, 2, two, NULL, err) == TS_OK && rows_of(r) == 98);
  CHECK(ops->remove(r, 2, two, NULL, err) == TS_OK && rows_of(r) == 98);
  int64_t keys[10], values[10];
  uint64_t cursor = 0;
  unsigned char *rows[10];
  uint32_t got;
  for (int i = 0; i < 10; i++) rows[i] = (unsigned char *)&values[i];
  CHECK(ops->walk(r, &cursor, 10, keys, NULL, rows, &got, err) == TS_OK && got == 10);
  for (int64_t i = 0; i < 10; i++) CHECK(keys[i] == i && values[i] == i);
  close_records(r, false);
}

/* ---- the model ---- */

#define KEYS 700u
#define ROW 120u

typedef struct model {
  bool there[KEYS];
  uint64_t version[KEYS];
  uint64_t rows;
} model;

static int64_t key_of(uint32_t i) {
  static const int64_t ends[] = {INT64_MIN, INT64_MIN + 1, -2, -1, 0, 1, INT64_MAX - 1, INT64_MAX};
  return i < 8 ? ends[i] : (int64_t)ts_mix64(i);
}

static uint64_t seed = 1;
static uint32_t draw(uint32_t n) {
  static uint64_t counter;
  return (uint32_t)(ts_random64(seed, 0, counter++) % n);
}

static unsigned char space[256][ROW];

static void model_put(ts_records *r, model *m) {
  uint32_t n = draw(200), at[256] = {0};
  int64_t keys[256] = {0};
  uint64_t versions[256] = {0};
  const unsigned char *rows[256] = {0};
  for (uint32_t i = 0; i < n; i++) {
    at[i] = draw(4) == 0 && i > 0 ? at[draw(i)] : draw(KEYS); /* also twice in one call: the last counts */
    keys[i] = key_of(at[i]);
    versions[i] = ts_random64(2, 0, draw(1u << 30));
    fill(space[i], ROW, keys[i], versions[i]);
    rows[i] = space[i];
  }
  int32_t status = ops->put(r, n, keys, versions, rows, NULL, err);
  CHECK_MSG(status == TS_OK, "%s", message);
  for (uint32_t i = 0; i < n; i++) {
    m->rows += !m->there[at[i]];
    m->there[at[i]] = true;
    m->version[at[i]] = versions[i];
  }
}

static void model_get(ts_records *r, const model *m, bool contains) {
  uint32_t n = draw(256), at[256] = {0}, wrong = 0;
  int64_t keys[256] = {0};
  unsigned char *rows[256] = {0};
  uint8_t found[256];
  for (uint32_t i = 0; i < n; i++) {
    at[i] = draw(KEYS);
    keys[i] = key_of(at[i]);
    rows[i] = space[i];
    memset(space[i], 0x5a, ROW);
  }
  int32_t status = contains ? ops->contains(r, n, keys, found, err) : ops->get(r, n, keys, rows, found, err);
  CHECK_MSG(status == TS_OK, "%s", message);
  for (uint32_t i = 0; i < n; i++) {
    wrong += found[i] != m->there[at[i]];
    if (found[i] && !contains)
      wrong += !is_filled(space[i], ROW, keys[i], m->version[at[i]]);
    else
      for (uint32_t b = 0; b < ROW; b++) wrong += space[i][b] != 0x5a;
  }
  CHECK_MSG(wrong == 0, "%u wrong", wrong);
}

static void model_remove(ts_records *r, model *m) {
  uint32_t n = draw(60);
  int64_t keys[64] = {0};
  for (uint32_t i = 0; i < n; i++) {
    uint32_t at = draw(KEYS);
    keys[i] = key_of(at);
    m->rows -= m->there[at];
    m->there[at] = false;
  }
  int32_t status = ops->remove(r, n, keys, NULL, err);
  CHECK_MSG(status == TS_OK, "%s", message);
}

static void model_walk(ts_records *r, const model *m) {
  uint64_t cursor = 0, rows_seen = 0, wrong = 0;
  int64_t last = 0;
  uint32_t got = 1, n = 2 + draw(200);
  bool keys_only = draw(2) == 0;
  while (got > 0) {
    int64_t keys[256];
    uint64_t versions[256];
    unsigned char *rows[256];
    for (uint32_t i = 0; i < n; i++) rows[i] = keys_only ? NULL : space[i];
    int32_t status = ops->walk(r, &cursor, n, keys, versions, rows, &got, err);
    CHECK_MSG(status == TS_OK && got <= n, "%s", message);
    if (status != TS_OK) return;
    for (uint32_t i = 0; i < got; i++) {
      uint32_t at = 0;
      while (at < KEYS && key_of(at) != keys[i]) at++;
      wrong += at == KEYS || !m->there[at] || versions[i] != m->version[at];
      wrong += rows_seen > 0 && keys[i] <= last;
      if (!keys_only) wrong += !is_filled(space[i], ROW, keys[i], versions[i]);
      last = keys[i];
      rows_seen++;
    }
  }
  CHECK_MSG(rows_seen == m->rows && wrong == 0, "n %u: %d of %d rows, %d wrong", n, (int)rows_seen, (int)m->rows,
            (int)wrong);
}

static void against_a_model(const char *text, int steps) {
  static model m;
  memset(&m, 0, sizeof m);
  fresh_budgets(UINT64_C(64) << 20);
  ts_records *r = open_records("model", ROW, text);
  for (int step = 0; step < steps; step++) {
    uint32_t what = draw(100);
    if (what < 40)
      model_put(r, &m);
    else if (what < 60)
      model_get(r, &m, false);
    else if (what < 70)
      model_get(r, &m, true);
    else if (what < 90)
      model_remove(r, &m);
    else if (what < 96)
      model_walk(r, &m);
    else if (what < 98)
      CHECK(ops->flush(r, err) == TS_OK);
    else {
      close_records(r, true);
      r = open_records("model", ROW, text);
    }
    CHECK_MSG(rows_of(r) == m.rows, "step %d: %d rows, not %d", step, (int)rows_of(r), (int)m.rows);
    CHECK(folder_bytes("model") <= medium.used);
  }
  ts_records_counts before, counts;
  ops->count(r, &before);
  CHECK(put_one(r, ROW, key_of(9), 4) == TS_OK);
  ops->count(r, &counts);
  CHECK(counts.medium_bytes >= folder_bytes("model") && counts.payload_written == before.payload_written + ROW);
  CHECK(counts.writes == before.writes + 1 && counts.bytes_written >= before.bytes_written + ROW);
  close_records(r, false);
  CHECK(entries_left() == 0);
}

/* The ends of the keys come at every length of a call. */
static void walks_reach_both_ends(void) {
  fresh_budgets(UINT64_C(64) << 20);
  for (uint32_t set = 0; set < 32; set++) {
    static const int64_t all[] = {INT64_MIN, -1, INT64_MAX - 2, INT64_MAX - 1, INT64_MAX};
    ts_records *r = open_records("ends", 4, "");
    uint32_t expected = 0;
    for (uint32_t i = 0; i < 5; i++)
      if (set >> i & 1) {
        CHECK(put_one(r, 4, all[i], 0) == TS_OK);
        expected++;
      }
    for (uint32_t n = 2; n < 7; n++) {
      uint64_t cursor = 0;
      uint32_t got = 1, total = 0, calls = 0;
      int64_t keys[8];
      while (got > 0 && calls++ < 20) {
        CHECK(ops->walk(r, &cursor, n, keys, NULL, NULL, &got, err) == TS_OK);
        total += got;
      }
      CHECK_MSG(total == expected && got == 0, "set %u by %u: %u keys, not %u", set, n, total, expected);
    }
    uint64_t cursor = 0;
    int64_t key;
    uint32_t got;
    CHECK(ops->walk(r, &cursor, 1, &key, NULL, NULL, &got, err) == TS_EINVAL);
    close_records(r, false);
  }
}

/* ---- limits ---- */

typedef struct watch {
  const char *table;
  _Atomic bool stop;
  uint64_t most;
} watch;

static void *watch_folder(void *context) {
  watch *w = context;
  while (!atomic_load(&w->stop)) {
    uint64_t bytes = folder_bytes(w->table);
    w->most = TS_MAX(w->most, bytes);
    usleep(200);
  }
  return NULL;
}

static void limit_of_the_medium_holds(void) {
  const uint64_t limit = UINT64_C(12) << 20;
  const uint32_t bytes = 1000;
  fresh_budgets(limit);
  ts_records *r = open_records("full", bytes, "write_buffer_bytes=262144 file_bytes=1048576");
  watch w = {.table = "full"};
  pthread_t watcher;
  if (pthread_create(&watcher, NULL, watch_folder, &w) != 0) exit(1);
  int64_t keys = 0;
  while (keys < 100000 && put_one(r, bytes, keys, 1) == TS_OK) keys++;
  CHECK_MSG(keys < 100000 && strstr(message, "choose a larger size") != NULL, "%s", message);
  CHECK(put_one(r, bytes, keys, 1) == TS_EFULL);
  /* About half of a small limit holds rows, as the manual says. */
  CHECK_MSG((uint64_t)keys * bytes > limit * 2 / 5, "%d rows of %u bytes", (int)keys, bytes);
  CHECK(rows_of(r) == (uint64_t)keys);
  /* What was replaced and removed makes room again, many times over. */
  for (uint64_t round = 2; round < 5; round++) {
    for (int64_t key = 0; key < keys; key += 2) CHECK(ops->remove(r, 1, &key, NULL, err) == TS_OK);
    CHECK(rows_of(r) == (uint64_t)keys / 2);
    for (int64_t key = 0; key < keys * 9 / 10; key += 2) {
      int32_t status = put_one(r, bytes, key, round);
      CHECK_MSG(status == TS_OK, "round %d, key %d: %s", (int)round, (int)key, message);
      if (status != TS_OK) break;
    }
  }
  uint32_t wrong = 0;
  for (int64_t key = 0; key < keys; key++) {
    unsigned char row[1000], *rows[] = {row};
    uint8_t found;
    CHECK(ops->get(r, 1, &key, rows, &found, err) == TS_OK);
    bool expected = key % 2 == 1 || key < keys * 9 / 10;
    wrong += found != expected || (found && !is_filled(row, bytes, key, key % 2 == 1 ? 1 : 4));
  }
  CHECK_MSG(wrong == 0, "%u wrong rows", wrong);
  atomic_store(&w.stop, true);
  pthread_join(watcher, NULL);
  CHECK_MSG(w.most <= limit && w.most > limit / 3, "%d bytes on the medium", (int)w.most);
  close_records(r, false);
}

/* The number of the manifest, 0 if there is none. */
static unsigned long manifest_of(const char *table) {
  char path[PATH_MAX + 64];
  snprintf(path, sizeof path, "%s/leveldb-%s", directory, table);
  DIR *folder = opendir(path);
  unsigned long number = 0, n;
  for (struct dirent *entry; folder != NULL && (entry = readdir(folder)) != NULL;)
    if (sscanf(entry->d_name, "MANIFEST-%lu", &n) == 1) number = TS_MAX(number, n);
  if (folder != NULL) closedir(folder);
  return number;
}

typedef struct reader {
  ts_records *r;
  int64_t keys;
  _Atomic bool stop;
  uint64_t reads, wrong;
  char words[512];
} reader;

/* Reads all keys, one after the other, and walks over them; counts what is not there, not whole, or refused. */
static void *read_on(void *context) {
  reader *w = context;
  const ts_err e = {w->words, sizeof w->words};
  for (; !atomic_load(&w->stop) || w->reads == 0; w->reads++) {
    for (int64_t key = 0; key < w->keys; key++) {
      unsigned char row[2840], *rows[] = {row};
      uint8_t found = 0;
      uint64_t version;
      w->wrong += ops->get(w->r, 1, &key, rows, &found, e) != TS_OK || !found;
      memcpy(&version, row, 8);
      w->wrong += ts_mix64((uint64_t)key ^ version) != *(const uint64_t *)(const void *)(row + 2824);
    }
    int64_t keys[64];
    uint64_t cursor = 0;
    uint32_t got, all = 0;
    while (ops->walk(w->r, &cursor, 16, keys, NULL, NULL, &got, e) == TS_OK && got > 0) all += got;
    w->wrong += all != w->keys;
  }
  return NULL;
}

static int32_t put_stamped(ts_records *r, int64_t key, uint64_t version) {
  unsigned char row[2840] = {0};
  const unsigned char *rows[] = {row};
  const uint64_t sum = ts_mix64((uint64_t)key ^ version);
  memcpy(row, &version, 8);
  memcpy(row + 2824, &sum, 8);
  return ops->put(r, 1, &key, NULL, rows, NULL, err);
}

/* LevelDB's manifest grows with every table that is written. A full tier must go on replacing its rows all the same, beside
 * reads, and within its limit. */
static void rows_of_a_full_tier_are_replaced_for_ever(void) {
  const uint64_t limit = 567008;
  fresh_budgets(limit);
  ts_records *r = open_records("manifest", 2840, "");
  const unsigned long first = manifest_of("manifest");
  int64_t keys = 0;
  while (keys < 1000 && put_stamped(r, keys, 0) == TS_OK) keys++;
  CHECK(keys > 20 && keys < 1000);
  reader w = {.r = r, .keys = keys};
  watch f = {.table = "manifest"};
  pthread_t ids[2];
  if (pthread_create(&ids[0], NULL, read_on, &w) != 0 || pthread_create(&ids[1], NULL, watch_folder, &f) != 0) exit(1);
  uint64_t refused = 0;
  for (uint64_t round = 1; round < 1500 && refused == 0; round++) {
    refused += put_stamped(r, (int64_t)(round % (uint64_t)keys), round) != TS_OK;
    if (refused == 0) CHECK_MSG(ops->flush(r, err) == TS_OK, "%s", message); /* a table */
  }
  CHECK_MSG(refused == 0, "%s", message);
  atomic_store(&w.stop, true);
  atomic_store(&f.stop, true);
  for (int i = 0; i < 2; i++) pthread_join(ids[i], NULL);
  CHECK_MSG(w.wrong == 0, "%d wrong reads of %d: %s", (int)w.wrong, (int)w.reads, w.words);
  CHECK_MSG(f.most <= limit, "%d bytes on the medium", (int)f.most);
  CHECK_MSG(manifest_of("manifest") > first, "the manifest is still the first one");
  CHECK(rows_of(r) == (uint64_t)keys);
  close_records(r, false);
}

/* While the database cannot be opened again, calls fail; then all is as it was. */
static void a_database_that_does_not_open_again_loses_nothing(void) {
  fresh_budgets(UINT64_C(4) << 20);
  ts_records *r = open_records("again", 2840, "");
  const unsigned long first = manifest_of("again");
  const int64_t keys = 40;
  for (int64_t key = 0; key < keys; key++) CHECK(put_stamped(r, key, 1) == TS_OK);
  char current[PATH_MAX + 64], away[PATH_MAX + 64];
  snprintf(current, sizeof current, "%s/leveldb-again/CURRENT", directory);
  snprintf(away, sizeof away, "%s/leveldb-again/CURRENT.away", directory);
  CHECK(rename(current, away) == 0);
  int32_t status = TS_OK;
  uint64_t round = 2;
  for (; status == TS_OK && round < 5000; round++) { /* until the manifest is too long */
    status = put_stamped(r, 0, round);
    if (status == TS_OK) status = ops->flush(r, err);
  }
  CHECK_MSG(status == TS_EIO || status == TS_EFORMAT, "%d after %d rounds: %s", (int)status, (int)round, message);
  const int64_t key = 1;
  unsigned char row[2840], *rows[] = {row};
  uint8_t found;
  uint64_t cursor = 0, removed_key = 1;
  int64_t walked[4];
  uint32_t got;
  CHECK(ops->get(r, 1, &key, rows, &found, err) == TS_EIO && strstr(message, "opening it again has failed") != NULL);
  CHECK(ops->walk(r, &cursor, 4, walked, NULL, NULL, &got, err) == TS_EIO);
  CHECK(ops->contains(r, 1, &key, &found, err) == TS_EIO);
  CHECK(put_stamped(r, 1, 7) != TS_OK && ops->remove(r, 1, (const int64_t *)&removed_key, NULL, err) != TS_OK);
  CHECK(ops->flush(r, err) != TS_OK && rows_of(r) == (uint64_t)keys);
  ts_text text = {0};
  ops->describe(r, &text);
  CHECK(strstr(text.bytes, "closed=1") != NULL);
  free(text.bytes);
  CHECK(rename(away, current) == 0);
  CHECK_MSG(put_stamped(r, 1, 7) == TS_OK, "%s", message);
  CHECK(manifest_of("again") > first && rows_of(r) == (uint64_t)keys);
  reader w = {.r = r, .keys = keys, .stop = true};
  read_on(&w);
  CHECK_MSG(w.reads == 1 && w.wrong == 0, "%d wrong: %s", (int)w.wrong, w.words);
  close_records(r, false);
}

static void dram_is_charged_and_bounded(void) {
  fresh_budgets(UINT64_C(256) << 20);
  ts_records *r = NULL;
  dram.limit = 300000;
  CHECK(try_open("dram", 64, "", &r) == TS_EFULL && r == NULL && dram.used == 0 && medium.used == 0);
  CHECK_MSG(strstr(message, "leveldb.cache_bytes") != NULL, "%s", message);
  CHECK(entries_left() == 0);

  fresh_budgets(UINT64_C(256) << 20);
  r = open_records("dram", 64, "cache_bytes=1000000 write_buffer_bytes=100000");
  CHECK(dram.reserved[TS_PURPOSE_BUFFERS] > 1200000 && dram.reserved[TS_PURPOSE_INDEX] <= 65536);
  for (int64_t key = 0; key < 40000; key += 200) {
    int64_t keys[200];
    static unsigned char values[200][64];
    const unsigned char *rows[200];
    for (int i = 0; i < 200; i++) {
      keys[i] = (int64_t)ts_mix64((uint64_t)(key + i));
      rows[i] = values[i];
    }
    CHECK(ops->put(r, 200, keys, NULL, rows, NULL, err) == TS_OK);
  }
  /* At least the filters' 10 bits a key and the index. */
  CHECK_MSG(dram.reserved[TS_PURPOSE_INDEX] > 80000, "%d", (int)dram.reserved[TS_PURPOSE_INDEX]);
  ts_text text = {0};
  ops->describe(r, &text);
  CHECK_MSG(strstr(text.bytes, " excess=0 ") != NULL, "%s", text.bytes);
  free(text.bytes);
  close_records(r, false);

  /* Only rows count: their bytes alone, and the limit in rows. */
  fresh_budgets(64 * 30);
  medium.rows_only = dram.rows_only = true;
  r = open_records("rows", 64, "");
  int64_t key = 0;
  while (put_one(r, 64, key, 0) == TS_OK) key++;
  CHECK_MSG(key == 30 && medium.used == 64 * 30 && dram.used == 0, "%d rows", (int)key);
  CHECK(put_one(r, 64, 3, 0) == TS_OK);
  key = 5;
  CHECK(ops->remove(r, 1, &key, NULL, err) == TS_OK && medium.used == 64 * 29 && put_one(r, 64, 99, 0) == TS_OK);
  close_records(r, true);
  r = open_records("rows", 64, "");
  CHECK(medium.used == 64 * 30 && rows_of(r) == 30);
  close_records(r, false);
}

/* ---- damage and refusals ---- */

/* Flips one bit in the middle of every table of a closed database. */
static uint32_t damage(const char *table) {
  char path[PATH_MAX + 64], file[PATH_MAX + 400];
  snprintf(path, sizeof path, "%s/leveldb-%s", directory, table);
  DIR *folder = opendir(path);
  uint32_t damaged = 0;
  for (struct dirent *entry; folder != NULL && (entry = readdir(folder)) != NULL;) {
    if (strstr(entry->d_name, ".ldb") == NULL) continue;
    snprintf(file, sizeof file, "%s/%s", path, entry->d_name);
    int fd = open(file, O_RDWR);
    struct stat s;
    unsigned char byte;
    if (fd < 0 || fstat(fd, &s) != 0 || pread(fd, &byte, 1, s.st_size / 2) != 1) exit(1);
    byte ^= 0x10;
    if (pwrite(fd, &byte, 1, s.st_size / 2) != 1) exit(1);
    close(fd);
    damaged++;
  }
  if (folder != NULL) closedir(folder);
  return damaged;
}

static void a_flipped_bit_is_found(void) {
  fresh_budgets(UINT64_C(64) << 20);
  ts_records *r = open_records("bit", 200, "");
  for (int64_t key = 0; key < 500; key++) CHECK(put_one(r, 200, key, 3) == TS_OK);
  CHECK(ops->flush(r, err) == TS_OK);
  close_records(r, true);
  CHECK(damage("bit") >= 1);
  r = open_records("bit", 200, "");
  uint32_t right = 0, refused = 0, wrong = 0;
  for (int64_t key = 0; key < 500; key++) {
    unsigned char row[200], *rows[] = {row};
    uint8_t found = 0;
    int32_t status = ops->get(r, 1, &key, rows, &found, err);
    if (status == TS_EFORMAT) {
      refused++;
      CHECK_MSG(strstr(message, "leveldb-bit") != NULL && strstr(message, "Corruption") != NULL, "%s", message);
    } else {
      if (status == TS_OK && found && is_filled(row, 200, key, 3))
        right++;
      else
        wrong++;
    }
  }
  CHECK_MSG(right > 400 && refused > 0 && wrong == 0, "%u right, %u refused, %u wrong", right, refused, wrong);
  int64_t keys[500];
  uint64_t cursor = 0;
  uint32_t got = 1;
  int32_t status = TS_OK;
  while (status == TS_OK && got > 0) status = ops->walk(r, &cursor, 100, keys, NULL, NULL, &got, err);
  CHECK_MSG(status == TS_EFORMAT, "%d", status);
  close_records(r, false);
}

static void wrong_uses_are_refused(void) {
  fresh_budgets(UINT64_C(64) << 20);
  ts_records *r = open_records("a/b \xc3\xa4.", 16, ""), *second = NULL;
  char path[PATH_MAX + 64];
  snprintf(path, sizeof path, "%s/leveldb-a%%2Fb%%20%%C3%%A4%%2E", directory);
  CHECK_MSG(access(path, F_OK) == 0, "%s", path);
  uint64_t used = dram.used;
  CHECK(try_open("a/b \xc3\xa4.", 16, "", &second) == TS_EIO && second == NULL && dram.used == used);
  CHECK_MSG(strstr(message, "already held") != NULL && strstr(message, path) != NULL, "%s", message);
  CHECK(put_one(r, 16, 1, 1) == TS_OK);
  close_records(r, true);
  CHECK(try_open("a/b \xc3\xa4.", 20, "", &second) == TS_EFORMAT && strstr(message, "rows of 16 bytes") != NULL);
  r = open_records("a/b \xc3\xa4.", 16, ""); /* the refusal left it as it was */
  CHECK(rows_of(r) == 1);
  close_records(r, false);

  char names[2][300];
  memset(names, 'x', sizeof names);
  names[0][298] = 'a';
  names[1][298] = 'b';
  names[0][299] = names[1][299] = '\0';
  r = open_records(names[0], 16, "");
  second = open_records(names[1], 16, "");
  CHECK(put_one(r, 16, 1, 1) == TS_OK && rows_of(second) == 0);
  ops->close(r, false);
  close_records(second, false);

  CHECK(ops->probe(directory, err) == TS_OK);
  CHECK(ops->probe("/nowhere/at/all", err) == TS_EIO && strstr(message, "/nowhere/at/all") != NULL);
  CHECK(ops->probe(NULL, err) == TS_EINVAL);
  static const char *const wrong[] = {"bloom_bits=31", "compression=zip", "block_bytes=10", "colour=red"};
  for (int i = 0; i < 4; i++)
    CHECK_MSG(options_of(wrong[i]) == NULL && strstr(message, "leveldb.") != NULL, "%s", wrong[i]);
  CHECK(entries_left() == 0);
}

/* ---- mappings ---- */

/* Whether every mapped table of the folder has the flag "rr" (random read advised); counts them. */
static uint32_t mapped_tables(bool *all_advised) {
  FILE *maps = fopen("/proc/self/smaps", "re");
  char line[PATH_MAX + 200];
  uint32_t tables = 0;
  bool inside = false;
  *all_advised = true;
  while (maps != NULL && fgets(line, sizeof line, maps) != NULL) {
    if (strstr(line, directory) != NULL && strstr(line, ".ldb") != NULL) {
      inside = true;
      tables++;
    } else if (inside && strncmp(line, "VmFlags:", 8) == 0) {
      *all_advised &= strstr(line, " rr") != NULL;
      inside = false;
    }
  }
  if (maps != NULL) fclose(maps);
  return tables;
}

static void tables_are_read_without_neighbours(void) {
  for (int advise = 0; advise < 2; advise++) {
    fresh_budgets(UINT64_C(256) << 20);
    ts_records *r = open_records("maps", 1000, advise ? "file_bytes=1048576" : "file_bytes=1048576 random_access=0");
    for (int64_t key = 0; key < 4000; key++) CHECK(put_one(r, 1000, key, 3) == TS_OK);
    CHECK(ops->flush(r, err) == TS_OK);
    usleep(20000);
    for (int64_t key = 0; key < 8000; key++) {
      uint8_t found;
      const int64_t k = key % 4000;
      CHECK(ops->contains(r, 1, &k, &found, err) == TS_OK && found);
    }
    usleep(20000);
    uint8_t found;
    const int64_t k = 0;
    CHECK(ops->contains(r, 1, &k, &found, err) == TS_OK);
    bool advised;
    uint32_t tables = mapped_tables(&advised);
    CHECK_MSG(tables > 0 && advised == (advise == 1), "%u tables, advised %d", tables, advised);
    close_records(r, false);
  }
}

/* ---- threads ---- */

typedef struct job {
  ts_records *r;
  int64_t first;
  uint32_t wrong;
  char words[512];
} job;

#define SHARE 300

/* Each thread has keys of its own and looks at the others' now and then. */
static void *work(void *context) {
  job *j = context;
  ts_err e = {j->words, sizeof j->words};
  for (int round = 1; round < 12; round++) {
    for (int64_t key = j->first; key < j->first + SHARE; key++) {
      unsigned char row[64], *rows[] = {row};
      const unsigned char *from[] = {row};
      uint64_t version = (uint64_t)round;
      uint8_t found = 0;
      fill(row, 64, key, version);
      j->wrong += ops->put(j->r, 1, &key, &version, from, NULL, e) != TS_OK;
      j->wrong += ops->get(j->r, 1, &key, rows, &found, e) != TS_OK || !found || !is_filled(row, 64, key, version);
      if (round % 3 == 0 && key % 2 == 0) j->wrong += ops->remove(j->r, 1, &key, NULL, e) != TS_OK;
      int64_t other = (key + SHARE) % (4 * SHARE);
      j->wrong += ops->get(j->r, 1, &other, rows, &found, e) != TS_OK;
    }
    j->wrong += round == 6 && ops->flush(j->r, e) != TS_OK;
  }
  return NULL;
}

static void threads_share_a_table(void) {
  fresh_budgets(UINT64_C(64) << 20);
  ts_records *r = open_records("threads", 64, "write_buffer_bytes=65536");
  pthread_t threads[4];
  job jobs[4];
  for (int i = 0; i < 4; i++) {
    jobs[i] = (job){.r = r, .first = i * SHARE};
    if (pthread_create(&threads[i], NULL, work, &jobs[i]) != 0) exit(1);
  }
  for (int i = 0; i < 4; i++) {
    pthread_join(threads[i], NULL);
    CHECK_MSG(jobs[i].wrong == 0, "%u wrong: %s", jobs[i].wrong, jobs[i].words);
  }
  CHECK(rows_of(r) == 4 * SHARE);
  close_records(r, false);
}

int main(void) {
  const char *tmp = getenv("TMPDIR");
  char name[PATH_MAX - 1];
  snprintf(name, sizeof name, "%s/leveldb_test.XXXXXX", tmp == NULL ? "/tmp" : tmp);
  if (mkdtemp(name) == NULL || realpath(name, directory) == NULL) return 1;
  if (ops->probe(directory, err) == TS_EUNAVAILABLE) {
    SKIP_ALL("leveldb_test", "%s", message);
    rmdir(directory);
    return test_result();
  }
  unclosed_databases_are_discarded(); /* forks: before there are threads */
  deeprec_case();
  walks_reach_both_ends();
  against_a_model("write_buffer_bytes=65536", 300);
  against_a_model("write_buffer_bytes=65536 bloom_bits=0 compression=snappy block_bytes=1024 cache_bytes=0", 150);
  limit_of_the_medium_holds();
  rows_of_a_full_tier_are_replaced_for_ever();
  a_database_that_does_not_open_again_loses_nothing();
  dram_is_charged_and_bounded();
  a_flipped_bit_is_found();
  wrong_uses_are_refused();
  tables_are_read_without_neighbours();
  threads_share_a_table();
  CHECK(rmdir(directory) == 0);
  return test_result();
}
