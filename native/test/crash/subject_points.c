/* subject_points.c - whole stores with restore points (checkpoint/points.c) under the crash lab, over each tier that keeps
 * them and with tiers above it: rows change, come and go, before and while points are made, the newest are kept, and the store
 * is opened again at the newest or an older one, with other shards. What an image holds is what a store says that takes it up. */
#include "store/store.h"
#include "test/crash/lab.h"
#include "test/crash/pmem.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PATH "/d"
#define KEYS 160u
#define DIM 4u
#define KEEP 3u

typedef struct kind {
  const char *storage, *size;
  bool ssd;     /* the tier that keeps points; else PMEM */
  bool is_pmem; /* of PMEM: on fsdax */
} kind;

static const kind kinds[] = {{"SSDHASH", "4194304", true, false},
                             {"DRAM_SSDHASH", "4096,1048576", true, false},
                             {"DRAM_PMEM_SSDHASH", "2048,4096,1048576", true, false},
                             {"PMEM_LIBPMEM", "4194304", false, true},
                             {"DRAM_PMEM", "4096,262144", false, false}};

typedef struct point {
  uint64_t number, digest;
} point;

typedef struct work {
  lab_run *run;
  const kind *kind;
  lab_pmem pmem;
  ts_store *store;
  uint64_t drawn;
  point points[KEEP];
  uint32_t n, tables;
  char words[1024];
} work;

#define WORDS(w) (w)->words, sizeof(w)->words

static uint64_t draw(work *w, uint64_t below) { return ts_random64(w->run->seed, 77, w->drawn++) % below; }

static ts_config *config_of(const char *const *pairs) {
  ts_config *config = NULL;
  if (ts_config_create(&config) != TS_OK) abort();
  for (; pairs[0] != NULL; pairs += 2)
    if (ts_config_set(config, pairs[0], pairs[1], NULL, 0) != TS_OK) abort();
  return config;
}
#define CONFIG(...) config_of((const char *const[]){__VA_ARGS__, NULL})

/* Opens a store and takes up the point of this number, 0: the newest; NULL: one of them was refused, in words. */
static ts_store *open_store(const kind *k, const ts_disk_ops *disk, const lab_pmem *pmem, const char *shards, uint64_t number,
                            uint64_t *taken, char *words, uint32_t cap) {
  ts_config *config = CONFIG("storage", k->storage, "size", k->size, "seed", "9", "shards", shards, "persistent", "1",
                             "eviction_threads", "0");
  /* Few rows fit the memory above, so they move up and down. */
  if (strchr(k->size, ',') != NULL && ts_config_set(config, "size_counts", "rows", NULL, 0) != TS_OK) abort();
  if (k->ssd) {
    static const char *const ssd[] = {"ssd_path", PATH, "ssdhash.io", "pread", "ssdhash.direct", "buffered", "ssdhash.file_bytes", "12288",
                                      "ssdhash.buffer_bytes", "4096", "ssdhash.garbage_percent", "20"};
    for (uint32_t i = 0; i < 12; i += 2)
      if (ts_config_set(config, ssd[i], ssd[i + 1], NULL, 0) != TS_OK) abort();
    if (strstr(k->storage, "PMEM") != NULL && ts_config_set(config, "path", "/dev/shm", NULL, 0) != TS_OK) abort();
  } else if (ts_config_set(config, "path", PATH, NULL, 0) != TS_OK) {
    abort();
  }
  if (strstr(k->storage, "DRAM_PMEM") != NULL && ts_config_set(config, "pmem", "libpmem", NULL, 0) != TS_OK) abort();
  ts_store *store = NULL;
  int32_t status = ts_store_open_on(config, disk, &pmem->ops, &store, (ts_err){words, cap});
  ts_config_free(config);
  if (status != TS_OK) return NULL;
  char text[24];
  snprintf(text, sizeof text, "%llu", (unsigned long long)number);
  config = CONFIG("number", text);
  status = ts_store_resume(store, config, NULL, taken, words, cap);
  ts_config_free(config);
  if (status == TS_OK) return store;
  ts_store_close(store);
  return NULL;
}

/* Whether a call did what it should, or the medium has failed or is full. */
static bool expected(work *w, const char *what, int32_t status) {
  if (status == TS_OK) return true;
  if (status != TS_EFULL && !lab_failed(w->run)) lab_problem(w->run, "%s: %s failed: %s", w->kind->storage, what, w->words);
  return false;
}

static void train(work *w, uint64_t calls) {
  for (; calls > 0 && w->store != NULL && w->tables > 0; calls--) {
    int64_t keys[8];
    float rows[8 * DIM];
    uint64_t removed;
    for (uint32_t i = 0; i < 8; i++) keys[i] = (int64_t)draw(w, KEYS) - 50;
    for (uint32_t i = 0; i < 8 * DIM; i++) rows[i] = (float)draw(w, 100) / 50 - 1;
    const uint32_t table = (uint32_t)draw(w, w->tables);
    switch (draw(w, 5)) {
      case 0: expected(w, "a removal", ts_table_remove(w->store, table, keys, 4, &removed, WORDS(w))); break;
      case 1: expected(w, "a lookup", ts_table_lookup(w->store, table, keys, 8, rows, WORDS(w))); break;
      default: expected(w, "an update", ts_table_update(w->store, table, keys, 8, rows, WORDS(w)));
    }
  }
}

static void add_table(work *w) {
  static const char *const names[] = {"a", "b"};
  if (w->tables == 2 || w->store == NULL) return;
  ts_config *config = CONFIG("name", names[w->tables], "dim", "4", "optimizer", "adagrad");
  if (w->tables == 1 && ts_config_set(config, "admission", "counter", NULL, 0) == TS_OK) ts_config_set(config, "admission.frequency", "2", NULL, 0);
  uint32_t table;
  w->tables += expected(w, "a table", ts_table_create(w->store, config, &table, WORDS(w)));
  ts_config_free(config);
}

static void persist(work *w) {
  point p = {0};
  ts_config *config = CONFIG("keep", "3");
  bool good = expected(w, "a digest", ts_store_digest(w->store, &p.digest, WORDS(w)));
  if (good) lab_may_commit(w->run, p.digest);
  good = good && expected(w, "a restore point", ts_store_persist(w->store, config, &p.number, WORDS(w)));
  ts_config_free(config);
  if (!good) return;
  if (draw(w, 3) == 0) train(w, 1 + draw(w, 4)); /* beside what is made */
  if (!expected(w, "making a restore point", ts_store_persisted(w->store, NULL, WORDS(w)))) return;
  lab_acknowledge(w->run, p.digest);
  if (w->n == KEEP) memmove(w->points, w->points + 1, --w->n * sizeof *w->points);
  w->points[w->n++] = p;
}

/* Closes the store and goes on from one of its points, mostly the newest. */
static void restart(work *w) {
  const char *const shards[] = {"1", "2", "4"};
  ts_store_close(w->store);
  w->store = NULL;
  /* After a failure nobody knows how many there are. */
  const bool any = w->n > 0 && !lab_failed(w->run);
  const uint32_t at = any ? (draw(w, 3) > 0 ? w->n - 1 : (uint32_t)draw(w, w->n)) : 0;
  const uint64_t number = any && at + 1 < w->n ? w->points[at].number : 0;
  uint64_t taken = 0, digest = 0;
  /* Later ones go one after the other. */
  for (uint32_t i = w->n; number != 0 && i-- > at;) lab_may_commit(w->run, w->points[i].digest);
  w->store = open_store(w->kind, &w->run->disk.ops, &w->pmem, shards[draw(w, 3)], number, &taken, WORDS(w));
  if (w->store == NULL) {
    expected(w, "going on", TS_EIO);
    return;
  }
  w->tables = 0;
  while (w->tables < 2 && ts_table_named(w->store, w->tables == 0 ? "a" : "b", &(uint32_t){0}, NULL, 0) == TS_OK) w->tables++;
  if (taken != 0 && !expected(w, "a digest", ts_store_digest(w->store, &digest, WORDS(w)))) return;
  if (any && (taken != w->points[at].number || digest != w->points[at].digest)) {
    lab_problem(w->run, "%s: point %llu of %llu came back as another state", w->kind->storage, (unsigned long long)taken,
                (unsigned long long)w->points[at].number);
    return;
  }
  if (taken != 0) lab_acknowledge(w->run, digest);
  w->n = any ? at + 1 : 0;
  if (!any && taken != 0) w->points[w->n++] = (point){taken, digest};
  if (w->tables == 0) add_table(w);
}

/* The folder is there, whatever fails: it is not the store's. */
static void make_directory(const ts_disk_ops *disk) {
  while (disk->make_folder(disk, PATH) != -EEXIST) {}
  while (disk->sync_folder(disk, "/") != 0) {}
}

static void run_on(lab_run *run, const kind *k) {
  work *w = calloc(1, sizeof *w);
  if (w == NULL) abort();
  *w = (work){.run = run, .kind = k};
  lab_pmem_begin(&w->pmem, &run->disk, k->is_pmem);
  make_directory(&run->disk.ops);
  uint64_t taken;
  w->store = open_store(k, &run->disk.ops, &w->pmem, "2", 0, &taken, WORDS(w));
  if (w->store == NULL) expected(w, "opening", TS_EIO);
  add_table(w);
  train(w, 8);
  for (uint32_t turn = 0; turn < 14 && (w->store != NULL || lab_failed(run)); turn++) {
    const uint64_t what = draw(w, 8);
    if (w->store == NULL || what == 0) restart(w);
    else if (what == 1) add_table(w);
    else if (what < 6 && w->tables > 0) persist(w);
    if (w->tables > 0) train(w, 1 + draw(w, 5));
  }
  ts_store_close(w->store);
  free(w);
}

static lab_answer open_on(const ts_disk_ops *disk, const kind *k, uint64_t *digest, ts_err err) {
  lab_pmem pmem;
  uint64_t taken = 0;
  lab_pmem_begin(&pmem, (lab_disk *)(uintptr_t)disk, k->is_pmem);
  make_directory(disk);
  ts_store *store = open_store(k, disk, &pmem, "1", 0, &taken, err.text, err.cap);
  if (store == NULL) return LAB_REFUSED;
  lab_answer answer = taken == 0 ? LAB_NOTHING : ts_store_digest(store, digest, err.text, err.cap) == TS_OK ? LAB_STATE : LAB_REFUSED;
  ts_store_close(store);
  return answer;
}

/* Each point that is listed is whole, and a store on it makes another. */
static bool go_on(lab_disk *disk, const kind *k, uint64_t seed, ts_err err) {
  lab_run run = {.seed = seed};
  work *w = calloc(1, sizeof *w);
  if (w == NULL) abort();
  *w = (work){.run = &run, .kind = k};
  lab_pmem_begin(&w->pmem, disk, k->is_pmem);
  uint64_t taken = 0, before = 0, after = 0;
  w->store = open_store(k, &disk->ops, &w->pmem, "2", 0, &taken, WORDS(w));
  bool good = w->store != NULL;
  if (good && taken == 0) add_table(w);
  else if (good) w->tables = 1;
  if (good) train(w, 4);
  ts_config *config = CONFIG("keep", "2");
  good = good && ts_store_digest(w->store, &before, WORDS(w)) == TS_OK && ts_store_persist(w->store, config, NULL, WORDS(w)) == TS_OK &&
         ts_store_persisted(w->store, NULL, WORDS(w)) == TS_OK;
  ts_config_free(config);
  ts_store_close(w->store);
  if (good) {
    w->store = open_store(k, &disk->ops, &w->pmem, "1", 0, &taken, WORDS(w));
    good = w->store != NULL && ts_store_digest(w->store, &after, WORDS(w)) == TS_OK;
    ts_store_close(w->store);
    if (good && before != after) {
      snprintf(WORDS(w), "the next restore point is another state");
      good = false;
    }
  }
  if (!good) (void)ts_fail(err, TS_EFORMAT, "%s", run.problem[0] != '\0' ? run.problem : w->words);
  free(w);
  free(run.promises);
  return good;
}

#define SUBJECT(name, i, title)                                                                                                            \
  static void run_##name(lab_run *run) { run_on(run, &kinds[i]); }                                                                         \
  static lab_answer open_##name(const ts_disk_ops *disk, uint64_t *digest, ts_err err) { return open_on(disk, &kinds[i], digest, err); }   \
  static bool go_on_##name(lab_disk *disk, uint64_t seed, ts_err err) { return go_on(disk, &kinds[i], seed, err); }                        \
  static const lab_subject name = {title, run_##name, open_##name, go_on_##name, NULL};

SUBJECT(ssdhash, 0, "points-ssdhash")
SUBJECT(dram_ssdhash, 1, "points-dram-ssdhash")
SUBJECT(dram_pmem_ssdhash, 2, "points-dram-pmem-ssdhash")
SUBJECT(pmem, 3, "points-pmem")
SUBJECT(dram_pmem, 4, "points-dram-pmem")

const lab_subject *const lab_points[] = {&ssdhash, &dram_ssdhash, &dram_pmem_ssdhash, &pmem, &dram_pmem, NULL};
