/* SSDHASH against a plain array: random puts, gets and removals with files and limits so small that compaction runs all
 * the time, closing, and copies of the files as a dying process leaves them. */
#include "test/ssdhash_world.h"

#define KEYS 700

typedef struct model {
  uint64_t stamp[KEYS]; /* 0: absent */
  uint64_t version[KEYS];
  uint64_t next;
  uint64_t flushed[KEYS]; /* stamps at the last flush */
  bool removed[KEYS];     /* since then */
} model;

static int64_t model_key(uint32_t i) {
  return i == 0 ? INT64_MIN : i == 1 ? -1 : i == 2 ? INT64_MAX : (int64_t)ts_mix64(i);
}

typedef struct numbered {
  int64_t key;
  uint32_t i;
} numbered;

static int by_number(const void *a, const void *b) {
  int64_t x = ((const numbered *)a)->key, y = ((const numbered *)b)->key;
  return x < y ? -1 : x > y;
}

/* Its number, KEYS if it is none of the model's. */
static uint32_t model_number(int64_t key) {
  static numbered all[KEYS];
  if (all[0].key == 0) {
    for (uint32_t i = 0; i < KEYS; i++) all[i] = (numbered){model_key(i), i};
    qsort(all, KEYS, sizeof all[0], by_number);
  }
  numbered wanted = {key, 0}, *at = bsearch(&wanted, all, KEYS, sizeof all[0], by_number);
  return at == NULL ? KEYS : at->i;
}

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
      uint32_t i = model_number(keys[k]);
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

/* Opens a copy of the files as they are now, which is what a process that dies leaves: what was flushed must be there,
 * as new or newer, and after a flush exactly the model. */
static void crash(const char *directory, const world *w, const model *m, bool exactly, const char *const *options) {
  char copy[512], command[1100];
  snprintf(copy, sizeof copy, "%s.crash", directory);
  snprintf(command, sizeof command, "rm -rf %s; cp -r %s %s", copy, directory, copy);
  CHECK(system(command) == 0);
  world v;
  uint32_t bytes = w->open.row_bytes;
  world_make(&v, copy, w->open.table, bytes, w->medium.limit, w->dram.limit, options);
  CHECK_MSG(world_open(&v) == TS_OK, "%s", v.message);
  if (v.table != NULL && exactly) compare(&v, m);
  unsigned char *row = malloc(bytes), *expected = malloc(bytes);
  for (uint32_t i = 0; i < KEYS && v.table != NULL && !exactly; i++) {
    int64_t key = model_key(i);
    uint8_t found;
    CHECK_MSG(ops->get(v.table, 1, &key, &row, &found, err_of(&v)) == TS_OK, "%s", v.message);
    CHECK_MSG(found || m->flushed[i] == 0 || m->removed[i], "key %u is lost", i);
    if (!found) continue;
    uint64_t stamp = stamp_of(row, bytes);
    fill(expected, bytes, key, stamp);
    CHECK(memcmp(row, expected, bytes) == 0);
    CHECK_MSG((stamp >= m->flushed[i] || m->removed[i]) && stamp < m->next, "key %u is of %llu, flushed was %llu", i,
              (unsigned long long)stamp, (unsigned long long)m->flushed[i]);
  }
  free(row);
  free(expected);
  world_end(&v);
}

static void flushed(model *m) {
  memcpy(m->flushed, m->stamp, sizeof m->stamp);
  memset(m->removed, 0, sizeof m->removed);
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
  bool async =
      ((const ts_ssdhash_options *)w.options)->settings.async_compaction != 0; /* then files move while they are copied */
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
      CHECK_MSG(ops->put(w.table, n, keys, versions, rows, NULL, err_of(&w)) == TS_OK, "%s", w.message);
    } else if (what < 90) {
      for (uint32_t i = 0; i < n; i++) {
        uint32_t k = (uint32_t)(ts_random64(3, round, i) % KEYS);
        keys[i] = model_key(k);
        m->stamp[k] = 0;
        m->removed[k] = true;
      }
      CHECK(ops->remove(w.table, n, keys, NULL, err_of(&w)) == TS_OK);
    } else if (what < 93) {
      CHECK_MSG(ops->flush(w.table, err_of(&w)) == TS_OK, "%s", w.message);
      flushed(m);
      if (what == 92 && !async) crash(directory, &w, m, true, options);
    } else if (what < 95 && !async) {
      crash(directory, &w, m, false, options);
    } else if (what < 96) {
      ops->count(w.table, &counts);
      compactions += counts.compactions;
      world_close(&w, true);
      flushed(m);
      CHECK_MSG(world_open(&w) == TS_OK, "%s", w.message);
      if (w.table == NULL) break;
      compare(&w, m);
    }
    if (round % 100 == 0) compare(&w, m);
    CHECK(w.medium.used <= limit);
    if (round % 20 == 0)
      CHECK_MSG(du(directory) <= limit, "%llu bytes on the medium", (unsigned long long)du(directory));
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

int main(void) {
  static const char *const sync[] = {"file_bytes=32768", "buffer_bytes=8192", "async_compaction=0", NULL};
  static const char *const async[] = {"file_bytes=32768", "buffer_bytes=8192", "async_compaction=1", NULL};
  static const char *const plain[] = {"file_bytes=65536", "buffer_bytes=4096", "io=pread", NULL};
  make_root(true);
  model_test("disk", 128, 250, sync);
  remove_root();
  make_root(false);
  model_test("sync", 128, 1000, sync);
  model_test("async", 128, 1000, async);
  model_test("plain", 132, 600, plain);
  model_test("short", 4, 1000, sync);
  model_test("long", 5000, 300, sync);
  remove_root();
  return test_result();
}
