/* SSDHASH's operations: DeepRec's case, the size of the index, several threads, reopening after a clean end and after
 * death, ways to read and write, options. */
#include "test/ssdhash_world.h"

#include <signal.h>
#include <sys/wait.h>

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
    int32_t status = ops->put(w->table, n, keys, NULL, rows, NULL, err);
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
      CHECK(ops->remove(w->table, 8, gone, NULL, err) == TS_OK);
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
    CHECK(ops->put(w.table, 1, &key, NULL, rows, NULL, err_of(&w)) == TS_OK);
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
    CHECK_MSG((after.reads > before.reads) == (flushed == 1), "%llu reads",
              (unsigned long long)(after.reads - before.reads));
    world_close(&w, true);
    CHECK(world_open(&w) == TS_OK);
  }
  world_end(&w);
}

/* ---- the index ---- */

static void index_bytes(void) {
#ifdef __SANITIZE_THREAD__
  const int64_t count = 120000; /* each lock costs a hundred times more there */
#else
  const int64_t count = 500000;
#endif
  world w;
  world_make(&w, where("index"), "t", 16, 64 << 20, 64 << 20, NULL);
  CHECK(world_open(&w) == TS_OK);
  uint64_t before = 0;
  double worst = 0;
  for (int64_t n = 0; n < count; n += 20000) {
    CHECK_MSG(put_many(&w, n, 20000, 1) == TS_OK, "%s", w.message);
    uint64_t index = w.dram.reserved[TS_PURPOSE_INDEX];
    CHECK(index >= before || n > 0);
    before = index;
    if (n >= 100000) worst = TS_MAX(worst, (double)index / (double)(n + 20000));
  }
  CHECK_MSG(worst <= 16.0, "%.2f bytes a row", worst);
  uint32_t wrong = 0;
  int32_t status;
  CHECK(read_many(&w, count / 2, 3000, 1, &wrong, &status) == 3000 && wrong == 0);
  world_end(&w);
}

/* ---- many tables ---- */

/* Tables of one tier read with the same buffers, and keep no more memory for writing than their streams fill. */
static void tables_share_buffers(void) {
  enum { TABLES = 20, ROWS = 2000 };
  static const char *const options[] = {"file_bytes=65536", "buffer_bytes=8192", NULL};
  world w;
  ts_records *tables[TABLES];
  world_make(&w, where("many"), "t", 128, 64 << 20, 32 << 20, options);
  ts_ssd_shared *shared = &((ts_ssdhash_options *)w.options)->shared;
  uint64_t first = 0;
  for (uint32_t i = 0; i < TABLES; i++) {
    char name[16];
    snprintf(name, sizeof name, "t%u", i);
    w.open.table = name;
    CHECK_MSG(world_open(&w) == TS_OK, "%s", w.message);
    tables[i] = w.table;
    /* Three times: replaced records bring all streams and compaction to life. */
    for (uint64_t stamp = 1; stamp <= 3; stamp++) CHECK_MSG(put_many(&w, 0, ROWS, stamp) == TS_OK, "%s", w.message);
    uint32_t wrong = 0;
    int32_t status;
    CHECK(read_many(&w, 0, ROWS, 3, &wrong, &status) == ROWS && wrong == 0 && status == TS_OK);
    CHECK_MSG(shared->idle_readers == 1, "%u readers", shared->idle_readers);
    if (i == 0) first = w.dram.reserved[TS_PURPOSE_BUFFERS];
  }
  uint64_t all = w.dram.reserved[TS_PURPOSE_BUFFERS];
  CHECK_MSG(all < first + (TABLES - 1) * first / 4, "%llu bytes, the first table's %llu", (unsigned long long)all,
            (unsigned long long)first);
  for (uint32_t i = 0; i < TABLES; i++) {
    CHECK(atomic_load(&w.dram.used) > 0);
    ops->close(tables[i], false);
  }
  w.table = NULL;
  world_close(&w, false); /* nothing stays charged */
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
  CHECK(ops->remove(w.table, 100, gone, NULL, err_of(&w)) == TS_OK);
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
    if (world_open(&w) != TS_OK || put_many(&w, 0, 1000, 1) != TS_OK || ops->flush(w.table, err_of(&w)) != TS_OK)
      _exit(1);
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

/* ---- options ---- */

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
  CHECK_MSG(
      text.bytes != NULL && strstr(text.bytes, "io=pread") != NULL && strstr(text.bytes, "access=buffered") != NULL,
      "%s", text.bytes);
  free(text.bytes);
  world_end(&w);
}

static void options_test(void) {
  static const struct {
    const char *key, *value;
  } bad[] = {{"ssdhash.depth", "0"},
             {"ssdhash.async_compaction", "2"},
             {"ssdhash.io", "mmap"},
             {"ssdhash.garbage_percent", "99"}};
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
  static const char *const sync[] = {"file_bytes=32768", "buffer_bytes=8192", "async_compaction=0", NULL};
  static const char *const async[] = {"file_bytes=32768", "buffer_bytes=8192", "async_compaction=1", NULL};
  options_test();
  make_root(false);
  threads_test(sync);
  threads_test(async);
  deeprec_iterator();
  index_bytes();
  tables_share_buffers();
  removal_survives();
  death(sync);
  death(async);
  plain_io();
  remove_root();
  return test_result();
}
