/* subject_points.c - whole stores with restore points (checkpoint/points.c) under the crash lab, over each tier that keeps
 * them and with tiers above it: rows change, come and go, before and while points are made, the newest are kept, and the store
 * is opened again at the newest or an older one, with other shards. What an image holds is what a store says that takes it up. */
#include "checkpoint/checkpoint.h"
#include "store/store.h"
#include "test/config.h"
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
  /* The point that is made waits before it looks at rows, until what happens beside it has happened. */
  pthread_mutex_t lock;
  pthread_cond_t released;
  bool holds;
} work;

#define WORDS(w) (w)->words, sizeof(w)->words

static uint64_t draw(work *w, uint64_t below) { return ts_random64(w->run->seed, 77, w->drawn++) % below; }

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

/* Rows in memory give up their records, as where the last tier is full. */
static void give_up_records(work *w) {
  ts_table *table = w->store->tables[draw(w, w->tables)];
  if (w->store->memory_tiers == 0) return;
  ts_gate_enter(&w->store->gate);
  for (uint32_t s = 0; s < table->shard_count; s++) {
    ts_descent_begin(w->store);
    pthread_mutex_lock(&table->shards[s].lock);
    ts_give_up_records(&table->shards[s], 40);
    pthread_mutex_unlock(&table->shards[s].lock);
    ts_descent_end(w->store);
  }
  ts_gate_leave(&w->store->gate);
}

static void hold(work *w, bool holds) {
  pthread_mutex_lock(&w->lock);
  w->holds = holds;
  pthread_cond_signal(&w->released);
  pthread_mutex_unlock(&w->lock);
}

static int32_t wait_for_release(void *context, ts_checkpoint_writer *writer, ts_manifest *lines, ts_err err) {
  work *w = context;
  (void)writer, (void)lines, (void)err;
  pthread_mutex_lock(&w->lock);
  while (w->holds) pthread_cond_wait(&w->released, &w->lock);
  pthread_mutex_unlock(&w->lock);
  return TS_OK;
}

static work *work_of(lab_run *run, const kind *k) {
  work *w = calloc(1, sizeof *w);
  if (w == NULL) abort();
  *w = (work){.run = run, .kind = k, .lock = PTHREAD_MUTEX_INITIALIZER, .released = PTHREAD_COND_INITIALIZER};
  return w;
}

static void persist(work *w) {
  point p = {0};
  ts_config *config = CONFIG("keep", "3");
  hold(w, true);
  bool good = expected(w, "a digest", ts_store_digest(w->store, &p.digest, WORDS(w)));
  if (good) lab_may_commit(w->run, p.digest);
  good = good && expected(w, "a restore point", ts_points_persist(w->store, config, (ts_checkpoint_part){w, wait_for_release, NULL}, &p.number,
                                                                (ts_err){WORDS(w)}));
  ts_config_free(config);
  if (good && draw(w, 3) == 0) train(w, 1 + draw(w, 4)); /* before the point has come to the rows */
  if (good && draw(w, 3) == 0) give_up_records(w);
  hold(w, false);
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
  work *w = work_of(run, k);
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
  work *w = work_of(&run, k);
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

/* ---- what no crash does ---- */

typedef struct damage {
  lab_entry *entry;
  char path[LAB_PATH];
  unsigned char *bytes;
  uint64_t length;
} damage;

/* A bit of a file is flipped, a sector is zeros, its end is gone, it is gone. */
static damage damage_one(work *w, lab_state *s) {
  uint32_t files = 0;
  for (uint32_t i = 0; i < s->entry_count; i++) files += s->entries[i].inode >= 0 && s->inodes[s->entries[i].inode].length > 0;
  uint64_t at = draw(w, files);
  damage d = {.entry = s->entries};
  for (;; d.entry++)
    if (d.entry->inode >= 0 && s->inodes[d.entry->inode].length > 0 && at-- == 0) break;
  lab_inode *inode = &s->inodes[d.entry->inode];
  snprintf(d.path, LAB_PATH, "%s", d.entry->path);
  d.length = inode->length;
  d.bytes = malloc(d.length);
  if (d.bytes == NULL) abort();
  memcpy(d.bytes, inode->bytes, d.length);
  switch (draw(w, 6)) {
    case 0: snprintf(d.entry->path, LAB_PATH, "/gone"); break;
    case 1: inode->length = draw(w, d.length); break;
    case 2:
      at = draw(w, d.length) / LAB_SECTOR * LAB_SECTOR;
      memset(inode->bytes + at, 0, TS_MIN(LAB_SECTOR, d.length - at));
      break;
    default: inode->bytes[draw(w, d.length)] ^= (unsigned char)(1u << draw(w, 8));
  }
  return d;
}

static void mend(lab_state *s, damage *d) {
  lab_inode *inode = &s->inodes[d->entry->inode];
  snprintf(d->entry->path, LAB_PATH, "%s", d->path);
  inode->length = d->length;
  memcpy(inode->bytes, d->bytes, d->length);
}

/* 1: the point is there as it was; 0: it is refused, in words; -1: there is something else. */
static int is_there(work *w, const point *p, uint64_t number) {
  lab_pmem pmem;
  uint64_t taken = 0, digest = 0;
  lab_pmem_begin(&pmem, &w->run->disk, w->kind->is_pmem);
  w->words[0] = '\0';
  ts_store *store = open_store(w->kind, &w->run->disk.ops, &pmem, "2", number, &taken, WORDS(w));
  if (store == NULL) return w->words[0] != '\0' ? 0 : -1;
  const bool same = ts_store_digest(store, &digest, WORDS(w)) == TS_OK && taken == p->number && digest == p->digest;
  ts_store_close(store);
  return same ? 1 : -1;
}

/* One of three points is asked for where a file is damaged: it is refused, or as it was. After a refusal all are there once the
 * file is mended. */
static bool tamper(uint64_t seed, const kind *k, ts_err err) {
  lab_run run = {.seed = seed};
  lab_disk_begin(&run.disk);
  work *w = work_of(&run, k);
  lab_pmem_begin(&w->pmem, &run.disk, k->is_pmem);
  make_directory(&run.disk.ops);
  uint64_t taken;
  w->store = open_store(k, &run.disk.ops, &w->pmem, "2", 0, &taken, WORDS(w));
  if (w->store == NULL) abort();
  add_table(w);
  add_table(w);
  while (w->n < KEEP) {
    train(w, 6 + draw(w, 8));
    persist(w);
  }
  ts_store_close(w->store);
  const point *asked = &w->points[draw(w, KEEP)], *newest = &w->points[KEEP - 1];
  lab_disk_settle(&run.disk);
  damage d = damage_one(w, &run.disk.now);
  const int found = is_there(w, asked, asked->number);
  bool good = found >= 0;
  if (!good) (void)ts_fail(err, TS_EFORMAT, "%s was damaged: point %llu came back as another state", d.path, (unsigned long long)asked->number);
  if (found == 0) {
    mend(&run.disk.now, &d);
    good = is_there(w, newest, 0) == 1;
    if (!good)
      (void)ts_fail(err, TS_EFORMAT, "%s was damaged: point %llu was refused, and the newest is gone: %s", d.path,
                    (unsigned long long)asked->number, w->words);
  }
  free(d.bytes);
  free(w);
  free(run.promises);
  lab_disk_end(&run.disk);
  return good;
}

#define SUBJECT(name, i, title)                                                                                                            \
  static void run_##name(lab_run *run) { run_on(run, &kinds[i]); }                                                                         \
  static lab_answer open_##name(const ts_disk_ops *disk, uint64_t *digest, ts_err err) { return open_on(disk, &kinds[i], digest, err); }   \
  static bool go_on_##name(lab_disk *disk, uint64_t seed, ts_err err) { return go_on(disk, &kinds[i], seed, err); }                        \
  static bool tamper_##name(uint64_t seed, ts_err err) { return tamper(seed, &kinds[i], err); }                                            \
  static const lab_subject name = {title, run_##name, open_##name, go_on_##name, tamper_##name};

SUBJECT(ssdhash, 0, "points-ssdhash")
SUBJECT(dram_ssdhash, 1, "points-dram-ssdhash")
SUBJECT(dram_pmem_ssdhash, 2, "points-dram-pmem-ssdhash")
SUBJECT(pmem, 3, "points-pmem")
SUBJECT(dram_pmem, 4, "points-dram-pmem")

const lab_subject *const lab_points[] = {&ssdhash, &dram_ssdhash, &dram_pmem_ssdhash, &pmem, &dram_pmem, NULL};
