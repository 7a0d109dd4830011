/* Checkpoints in an SSDHASH table against a model: what the table has and what each checkpoint has, through puts, removals,
 * compactions, completions, drops and reopenings at any of them; the defects D1 to D5 that OpenEmbedding's persistent
 * tables have; limits; threads; disks that fail. */
#include "base/sync_point.h"
#include "test/record_checkpoints.h"
#include "tiers/ssdhash/table.h"
#include "tierstore.h"

#include <stdatomic.h>

/* ---- what is refused ---- */

static void misuse(void) {
  world w;
  static cp_model m;
  cp_make(&m, &w, where("misuse"), 1 << 20, 6, small);
  const int64_t key = 1;
  unsigned char row[CP_ROW] = {0};
  const unsigned char *rows = row;
  CHECK_MSG(m.cuts->put(w.table, 1, &key, NULL, &rows, err_of(&w)) == TS_EINVAL, "%s", w.message);
  CHECK(m.cuts->complete(w.table, 1, NULL, 0, err_of(&w)) == TS_EINVAL);
  CHECK(m.cuts->begin(w.table, 0, err_of(&w)) == TS_EINVAL);
  CHECK(cp_begin(&m, 0) == TS_OK);
  CHECK_MSG(m.cuts->begin(w.table, 2, err_of(&w)) == TS_EINVAL && strstr(w.message, "not complete yet") != NULL, "%s", w.message);
  CHECK(m.cuts->complete(w.table, 1, NULL, UINT32_MAX, err_of(&w)) == TS_EINVAL);
  CHECK(cp_complete(&m) == TS_OK);
  CHECK(m.cuts->complete(w.table, 1, NULL, 0, err_of(&w)) == TS_EINVAL);
  CHECK(m.cuts->begin(w.table, 1, err_of(&w)) == TS_EINVAL);
  for (uint32_t i = 1; i < TS_RECORDS_CUTS; i++) take(&m);
  CHECK_MSG(m.cuts->begin(w.table, 100, err_of(&w)) == TS_EINVAL && strstr(w.message, "drop one") != NULL, "%s", w.message);
  world_close(&w, true);
  w.open.temporary = true;
  CHECK_MSG(world_open(&w) == TS_EINVAL && strstr(w.message, "has checkpoints") != NULL, "%s", w.message);
  w.open.temporary = false;
  cp_reopen(&m, TS_RECORDS_CUTS - 1, true);
  world_end(&w);
  cp_make(&m, &w, where("none"), 1 << 20, 6, small);
  world_close(&w, false);
  w.open.temporary = true;
  CHECK(world_open(&w) == TS_OK);
  CHECK_MSG(m.cuts->begin(w.table, 1, err_of(&w)) == TS_EINVAL, "%s", w.message);
  world_close(&w, false);
  w.open.temporary = false;
  w.open.at = 3;
  CHECK_MSG(world_open(&w) == TS_EINVAL && strstr(w.message, "no checkpoints") != NULL, "%s", w.message);
  world_end(&w);
  const ts_records_cuts *cuts;
  CHECK_MSG(ts_records_cuts_of(&ts_leveldb_records, &cuts, err_of(&w)) == TS_EUNSUPPORTED && strstr(w.message, "LEVELDB") != NULL,
            "%s", w.message);
  CHECK(ts_records_cuts_of(&ts_null_records, &cuts, err_of(&w)) == TS_EUNSUPPORTED && strstr(w.message, "NULL") != NULL);
  CHECK(ts_records_cuts_of(ops, &cuts, err_of(&w)) == TS_OK && cuts == ops->cuts);
}

/* What checkpoints hold is counted and named where the limit refuses a put, and is given back by a drop. */
static void what_is_retained_is_named(void) {
  world w;
  static cp_model m;
  cp_make(&m, &w, where("room"), 240 << 10, 7, small);
  put_range(&m, 0, 300);
  take(&m);
  uint32_t i = 0;
  int64_t key;
  for (; i < 4000 && cp_put_one(&m, i % 300); i++)
    if (i % 300 == 299) take(&m);
  CHECK_MSG(i < 4000 && strstr(w.message, "stay for the checkpoints 1") != NULL, "%u: %s", i, w.message);
  ts_records_counts counts;
  ops->count(w.table, &counts);
  CHECK_MSG(counts.retained >= 300, "%llu", (unsigned long long)counts.retained);
  while (m.n > 1) CHECK(cp_drop(&m, 0) == TS_OK);
  CHECK_MSG(cp_put_one(&m, i % 300), "%s", w.message);
  cp_check(&w, &m.now, "room");
  key = cp_key(0);
  CHECK(ops->remove(w.table, 1, &key, NULL, err_of(&w)) == TS_OK);
  world_end(&w);
}

/* ---- damage ---- */

/* Any byte of a checkpoint's file; and any log file that is not there. */
static void damage(void) {
  world w;
  static cp_model m;
  char path[600], kept[700], command[2100];
  struct stat s;
  const char *directory = where("damage");
  cp_make(&m, &w, directory, 1 << 20, 8, small);
  put_range(&m, 0, CP_KEYS);
  take(&m);
  for (uint32_t round = 0; round < 6; round++) {
    put_range(&m, 0, CP_KEYS / 2);
    if (round == 2) take(&m);
  }
  world_close(&w, true);
  CHECK(snprintf(path, sizeof path, "%s/t.ssdhash/checkpoint.0000000000000002", directory) < (int)sizeof path);
  CHECK(stat(path, &s) == 0);
  for (off_t at = 0; at < s.st_size; at += at < 120 ? 1 : 7) {
    flip(path, at);
    CHECK_MSG(world_open(&w) == TS_EFORMAT && strstr(w.message, path) != NULL, "byte %lld: %s", (long long)at, w.message);
    flip(path, at);
  }
  uint32_t files = 0, refused = 0;
  for (;; files++) {
    log_file(directory, "t", files, path, sizeof path);
    if (path[0] == '\0') break;
    snprintf(kept, sizeof kept, "%s/kept", root);
    snprintf(command, sizeof command, "rm -rf %s; cp -r %s %s", kept, directory, kept);
    CHECK(system(command) == 0);
    log_file(kept, "t", files, path, sizeof path);
    unlink(path);
    world v;
    char why[600];
    world_make(&v, kept, "t", CP_ROW, 1 << 20, 8 << 20, small);
    const int32_t status = world_open(&v);
    refused += status != TS_OK;
    /* Whole, from other files, or refused. */
    if (status == TS_OK)
      CHECK_MSG(cp_equal(&v, &m.all[1].state, why, sizeof why), "%s", why);
    else
      CHECK_MSG(status == TS_EFORMAT && strstr(v.message, "rows") != NULL, "%s", v.message);
    world_end(&v);
  }
  CHECK(files > 3 && refused > 1);
  cp_reopen(&m, 1, true);
  cp_check(&w, &m.now, "damage");
  world_end(&w);
}

/* One flipped bit anywhere in the log files: the table has the rows of the checkpoint or is refused with the file's name. An
 * older checkpoint that it belonged to is gone, and said to be. */
static void flipped_bits(void) {
  static cp_model m, saved;
  world w;
  char path[600], why[600], text_of[4096];
  const char *directory = where("flipped");
  uint32_t refused = 0, lost = 0, whole = 0;
  cp_make(&m, &w, directory, 1 << 20, 50, small);
  put_range(&m, 0, 150);
  take(&m);
  for (uint32_t round = 0; round < 8; round++) put_range(&m, 0, 100);
  take(&m);
  put_range(&m, 50, 120);
  world_close(&w, true);
  saved = m;
  for (uint32_t file = 0;; file++) {
    struct stat s;
    log_file(directory, "t", file, path, sizeof path);
    if (path[0] == '\0') break;
    CHECK(stat(path, &s) == 0);
    for (off_t at = file % 50; at < s.st_size; at += at < 80 ? 9 : 211) {
      char copy[512], command[1200], name[16];
      snprintf(copy, sizeof copy, "%s/flip", root);
      snprintf(command, sizeof command, "rm -rf %s; cp -r %s %s", copy, directory, copy);
      CHECK(system(command) == 0);
      log_file(copy, "t", file, path, sizeof path);
      snprintf(name, sizeof name, "%s", strrchr(path, '/') + 9);
      flip(path, at);
      world v;
      world_make(&v, copy, "t", CP_ROW, 1 << 20, 8 << 20, small);
      const int32_t status = world_open(&v);
      if (status == TS_OK) {
        CHECK_MSG(cp_equal(&v, &saved.all[1].state, why, sizeof why), "byte %lld: %s", (long long)at, why);
        ts_records_checkpoint list[TS_RECORDS_CUTS];
        const uint32_t n = m.cuts->list(v.table, list);
        ts_text text = {0};
        ops->describe(v.table, &text);
        CHECK(ts_text_return(&text, text_of, sizeof text_of, NULL) == TS_OK);
        CHECK(n == 2 || strstr(text_of, "checkpoint 1 was dropped") != NULL);
        whole += n == 2;
        lost += n == 1;
      } else {
        refused++;
        CHECK_MSG(status == TS_EFORMAT && strstr(v.message, name) != NULL, "%s, byte %lld: %s", name, (long long)at, v.message);
      }
      world_end(&v);
    }
  }
  CHECK_MSG(refused > 20 && lost > 5 && whole > 20, "%u refused, %u lost an older one, %u whole", refused, lost, whole);
  cp_reopen(&m, 1, true);
  world_end(&w);
}

/* Opening counts the bytes of log files that it has read, and stops when told to. */
static void progress(void) {
  world w;
  static cp_model m;
  uint64_t control[TS_CONTROL_WORDS] = {0};
  cp_make(&m, &w, where("progress"), 1 << 20, 51, small);
  put_range(&m, 0, CP_KEYS);
  take(&m);
  world_close(&w, true);
  w.open.control = control;
  control[TS_CONTROL_CANCEL] = 1;
  CHECK_MSG(world_open(&w) == TS_ECANCELLED, "%s", w.message);
  control[TS_CONTROL_CANCEL] = 0;
  control[TS_CONTROL_DONE] = control[TS_CONTROL_TOTAL] = 0;
  cp_reopen(&m, 0, true);
  cp_check(&w, &m.now, "progress");
  CHECK_MSG(control[TS_CONTROL_DONE] > CP_KEYS * CP_ROW && control[TS_CONTROL_DONE] <= control[TS_CONTROL_TOTAL], "%llu of %llu",
            (unsigned long long)control[TS_CONTROL_DONE], (unsigned long long)control[TS_CONTROL_TOTAL]);
  world_end(&w);
}

/* ---- disks that fail ---- */

typedef struct failing {
  ts_disk_ops ops; /* first */
  uint32_t at, n;
  int error;      /* -1: a short write */
  bool logs[1024]; /* handles of log files, which do not fail here */
} failing;

static bool is_log(const char *path) { return strstr(path, ".log") != NULL; }

static int fails(const ts_disk_ops *disk) {
  failing *f = (failing *)(uintptr_t)disk;
  return f->n++ == f->at ? f->error : 0;
}
static bool of_log(const ts_disk_ops *disk, int file) { return ((const failing *)(uintptr_t)disk)->logs[file]; }
static int noted(const ts_disk_ops *disk, const char *path, int file) {
  CHECK(file < 1024);
  if (file >= 0) ((failing *)(uintptr_t)disk)->logs[file] = is_log(path);
  return file;
}
static int failing_create(const ts_disk_ops *disk, const char *path) {
  const int error = is_log(path) ? 0 : fails(disk);
  return error > 0 ? -error : noted(disk, path, ts_disk_system.create(&ts_disk_system, path));
}
static int noting_reopen(const ts_disk_ops *disk, const char *path) {
  return noted(disk, path, ts_disk_system.reopen(&ts_disk_system, path));
}
static int64_t failing_write(const ts_disk_ops *disk, int file, const void *in, uint64_t bytes, uint64_t offset) {
  const int error = of_log(disk, file) ? 0 : fails(disk);
  return error > 0 ? -error : ts_disk_system.write(&ts_disk_system, file, in, error < 0 ? bytes / 2 : bytes, offset);
}
static int failing_sync(const ts_disk_ops *disk, int file) {
  const int error = of_log(disk, file) ? 0 : fails(disk);
  return error > 0 ? -error : ts_disk_system.sync(&ts_disk_system, file);
}
static int failing_sync_folder(const ts_disk_ops *disk, const char *path) {
  const int error = fails(disk);
  return error > 0 ? -error : ts_disk_system.sync_folder(&ts_disk_system, path);
}
static int failing_rename(const ts_disk_ops *disk, const char *from, const char *to) {
  const int error = fails(disk);
  return error > 0 ? -error : ts_disk_system.rename(&ts_disk_system, from, to);
}
static int failing_unlink(const ts_disk_ops *disk, const char *path) {
  const int error = is_log(path) ? 0 : fails(disk);
  return error > 0 ? -error : ts_disk_system.unlink(&ts_disk_system, path);
}

/* Each operation of completing and dropping fails in turn: the call says so, the table goes on, what was complete is there
 * again, and another try succeeds. */
static void operations_fail(int error) {
  world w;
  static cp_model m;
  char name[32];
  uint32_t failed = 0;
  for (uint32_t at = 0;; at++) {
    failing disk = {.ops = ts_disk_system, .at = UINT32_MAX, .error = error};
    disk.ops.create = failing_create;
    disk.ops.reopen = noting_reopen;
    disk.ops.write = failing_write;
    disk.ops.sync = failing_sync;
    disk.ops.sync_folder = failing_sync_folder;
    disk.ops.rename = failing_rename;
    disk.ops.unlink = failing_unlink;
    snprintf(name, sizeof name, "fail%d-%u", error, at);
    cp_make(&m, &w, where(name), 1 << 20, 9 + at, small);
    world_close(&w, false);
    w.open.disk = &disk.ops;
    CHECK(world_open(&w) == TS_OK);
    put_range(&m, 0, 60);
    take(&m);
    put_range(&m, 30, 90);
    CHECK(cp_begin(&m, 4) == TS_OK);
    put_range(&m, 60, 100);
    disk.n = 0;
    disk.at = at;
    const int32_t status = cp_complete(&m);
    int32_t dropped = TS_OK;
    if (status == TS_OK) {
      dropped = cp_drop(&m, 0);
    } else {
      CHECK_MSG((error == ENOSPC ? status == TS_EFULL : status == TS_EIO) && strstr(w.message, name) != NULL, "%d %s",
                status, w.message);
      cp_check_list(&m, &w);
    }
    failed += status != TS_OK || dropped != TS_OK;
    const bool reached = disk.n > at;
    disk.at = UINT32_MAX;
    put_range(&m, 0, 30);
    if (at % 2 == 0) { /* try again */
      if (status != TS_OK) CHECK_MSG(cp_complete(&m) == TS_OK, "%s", w.message);
      if (dropped != TS_OK) CHECK_MSG(cp_drop(&m, 0) == TS_OK, "%s", w.message);
    } else if (status != TS_OK) { /* or give it up */
      CHECK_MSG(cp_drop(&m, m.n - 1) == TS_OK, "%s", w.message);
    } else if (dropped != TS_OK) { /* it may be gone */
      CHECK(cp_drop(&m, 0) == TS_OK);
    }
    for (uint32_t round = 0; round < 4; round++) put_range(&m, 0, 100);
    world_close(&w, true);
    cp_reopen(&m, cp_complete_ones(&m) - 1, true);
    cp_check(&w, &m.now, name);
    world_end(&w);
    if (!reached) break;
  }
  CHECK(error < 0 ? failed == 0 : failed >= 6);
}

static uint32_t syncs_left;
static void sync_fails(void *context, void *value) {
  (void)context;
  struct {
    const ts_ssd_file *file;
    int error;
  } *s = value;
  if (syncs_left-- == 0) s->error = EIO;
}

/* A log file cannot be synchronized: no checkpoint completes any more, no file goes, and opening takes up the last one. */
static void synchronization_fails(void) {
  world w;
  static cp_model m;
  for (uint32_t at = 0; at < 3; at++) {
    cp_make(&m, &w, where("sync"), 300 << 10, 20 + at, small);
    put_range(&m, 0, 100);
    take(&m);
    put_range(&m, 0, 100);
    ts_sync_start();
    syncs_left = at == 2 ? 0 : at; /* 2: when compaction moves what the checkpoint has */
    if (at < 2) CHECK(cp_begin(&m, 3) == TS_OK);
    ts_sync_call("ssd:medium:sync", sync_fails, NULL);
    uint32_t puts = 0;
    if (at < 2) {
      CHECK_MSG(cp_complete(&m) == TS_EIO && strstr(w.message, "synchronize") != NULL, "%s", w.message);
      CHECK_MSG(cp_complete(&m) == TS_EIO && strstr(w.message, "not known") != NULL, "%s", w.message);
    }
    int32_t status = TS_OK;
    for (; puts < 60000 && status == TS_OK; puts++) {
      const uint32_t i = puts % 100;
      unsigned char row[CP_ROW];
      const unsigned char *rows = row;
      const int64_t key = cp_key(i);
      fill(row, CP_ROW, key, 1);
      status = ops->put(w.table, 1, &key, NULL, &rows, NULL, err_of(&w));
    }
    CHECK_MSG(status == TS_EIO && strstr(w.message, "not known") != NULL, "%u puts: %d %s", puts, status, w.message);
    CHECK_MSG(m.cuts->begin(w.table, 50, err_of(&w)) != TS_OK, "%s", w.message);
    CHECK(ts_sync_stop());
    world_close(&w, true);
    cp_reopen(&m, 0, true);
    cp_check(&w, &m.now, "sync");
    world_end(&w);
  }
}

/* ---- threads ---- */

typedef struct trainer {
  pthread_t id;
  cp_model *m; /* shared: each thread has keys of its own */
  pthread_rwlock_t *gate;
  uint32_t number;
  uint64_t stamp;
  atomic_bool *stop;
} trainer;

#define TRAINERS 4u

static void *train(void *argument) {
  trainer *t = argument;
  world *w = t->m->w;
  char text[512];
  for (uint64_t turn = 0; !atomic_load(t->stop); turn++) {
    const uint32_t i = (uint32_t)(ts_random64(t->number, 5, turn) % (CP_KEYS / TRAINERS)) * TRAINERS + t->number;
    unsigned char row[CP_ROW];
    const unsigned char *rows = row;
    const int64_t key = cp_key(i);
    pthread_rwlock_rdlock(t->gate);
    int32_t status = TS_OK;
    if (t->m->waiting[i] != 0) {
      fill(row, CP_ROW, key, t->m->waiting[i]);
      status = t->m->cuts->put(w->table, 1, &key, NULL, &rows, (ts_err){text, sizeof text});
      t->m->waiting[i] = 0;
    }
    const bool remove = ts_random64(t->number, 6, turn) % 10 == 0;
    fill(row, CP_ROW, key, ++t->stamp);
    if (status == TS_OK)
      status = remove ? ops->remove(w->table, 1, &key, NULL, (ts_err){text, sizeof text})
                      : ops->put(w->table, 1, &key, NULL, &rows, NULL, (ts_err){text, sizeof text});
    CHECK_MSG(status == TS_OK, "%s", text);
    t->m->now.stamp[i] = remove ? 0 : t->stamp;
    pthread_rwlock_unlock(t->gate);
  }
  return NULL;
}

/* Four threads put and remove while checkpoints begin, are completed and dropped beside them. */
static void checkpoints_beside_threads(const char *name, const char *const *options) {
  world w;
  static cp_model m;
  trainer trainers[TRAINERS];
  pthread_rwlock_t gate = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;
  atomic_bool stop = false;
  cp_make(&m, &w, where(name), 600 << 10, 30, options);
  put_range(&m, 0, CP_KEYS);
  for (uint32_t i = 0; i < TRAINERS; i++) {
    trainers[i] = (trainer){.m = &m, .gate = &gate, .number = i, .stop = &stop, .stamp = (uint64_t)(i + 1) << 32};
    pthread_create(&trainers[i].id, NULL, train, &trainers[i]);
  }
  for (uint32_t round = 0; round < 12; round++) {
    pthread_rwlock_wrlock(&gate);
    CHECK_MSG(cp_begin(&m, 5) == TS_OK, "%s", w.message);
    pthread_rwlock_unlock(&gate);
    usleep(2000);
    pthread_rwlock_wrlock(&gate);
    CHECK(cp_put_waiting(&m, CP_KEYS));
    pthread_rwlock_unlock(&gate);
    CHECK_MSG(cp_complete(&m) == TS_OK, "%s", w.message); /* beside them */
    if (m.n > 2) CHECK_MSG(cp_drop(&m, round % 2) == TS_OK, "%s", w.message);
    usleep(2000);
  }
  atomic_store(&stop, true);
  for (uint32_t i = 0; i < TRAINERS; i++) pthread_join(trainers[i].id, NULL);
  cp_check(&w, &m.now, name);
  for (uint32_t at = m.n; at-- > 0;) {
    world_close(&w, true);
    cp_reopen(&m, at, false);
    cp_check(&w, &m.now, name);
  }
  world_end(&w);
}

/* ---- hand-overs ---- */

typedef struct held {
  pthread_t id;
  cp_model *m;
  bool drops;
  int32_t status;
  char text[512];
} held;

static void *complete_or_drop(void *argument) {
  held *h = argument;
  const ts_err err = {h->text, sizeof h->text};
  const uint64_t number = h->m->all[h->drops ? 0 : h->m->n - 1].number;
  h->status = h->drops ? h->m->cuts->drop(h->m->w->table, number, err) : h->m->cuts->complete(h->m->w->table, number, &number, 8, err);
  return NULL;
}

/* Whoever completes or drops a checkpoint is held where it has let go of a lock, or has not taken the next one: every row is
 * replaced or removed meanwhile, and the files of the rows before may go. The checkpoint has its rows all the same. */
static void rows_change_while_a_checkpoint_is(const char *point, bool drops) {
  world w;
  static cp_model m;
  held h = {.m = &m, .drops = drops};
  cp_make(&m, &w, where(point), 1 << 20, 40, small);
  put_range(&m, 0, CP_KEYS);
  take(&m);
  put_range(&m, 0, CP_KEYS / 2);
  take(&m);
  put_range(&m, CP_KEYS / 4, CP_KEYS);
  if (!drops) CHECK(cp_begin(&m, 3) == TS_OK && cp_put_waiting(&m, CP_KEYS));
  ts_sync_start();
  ts_sync_close_first(point);
  pthread_create(&h.id, NULL, complete_or_drop, &h);
  CHECK_MSG(ts_sync_await(point, 1), "%s", point);
  put_range(&m, 0, CP_KEYS);
  for (uint32_t i = 0; i < CP_KEYS; i += 3) cp_remove_one(&m, i);
  put_range(&m, 0, CP_KEYS / 2);
  CHECK(m.cuts->list(w.table, (ts_records_checkpoint[TS_RECORDS_CUTS]){0}) == m.n);
  ts_sync_open(point);
  pthread_join(h.id, NULL);
  CHECK_MSG(ts_sync_stop() && h.status == TS_OK, "%s: %s", point, h.text);
  if (drops)
    cp_forget(&m, 0);
  else
    m.all[m.n - 1].complete = true;
  cp_check(&w, &m.now, point);
  for (uint32_t at = m.n; at-- > 0;) {
    world_close(&w, true);
    cp_reopen(&m, at, false);
    cp_check(&w, &m.now, point);
  }
  world_end(&w);
}

static void *begin_one(void *argument) {
  held *h = argument;
  h->status = h->m->cuts->begin(h->m->w->table, 2, (ts_err){h->text, sizeof h->text});
  return NULL;
}

/* It has begun when the lock is free: what is put before its caller goes on is later. */
static void rows_change_before_a_begin_returns(void) {
  world w;
  static cp_model m;
  held h = {.m = &m};
  cp_make(&m, &w, where("begun"), 1 << 20, 41, small);
  put_range(&m, 0, CP_KEYS);
  take(&m);
  put_range(&m, 0, CP_KEYS);
  static cp_state before;
  before = m.now;
  ts_sync_start();
  ts_sync_close_first("ssd:cut:begun");
  pthread_create(&h.id, NULL, begin_one, &h);
  CHECK(ts_sync_await("ssd:cut:begun", 1));
  put_range(&m, 0, CP_KEYS);
  ts_sync_open("ssd:cut:begun");
  pthread_join(h.id, NULL);
  CHECK_MSG(ts_sync_stop() && h.status == TS_OK, "%s", h.text);
  m.number = 2;
  m.all[m.n++] = (cp_checkpoint){2, false, before};
  CHECK_MSG(cp_complete(&m) == TS_OK, "%s", w.message);
  world_close(&w, true);
  cp_reopen(&m, 1, true);
  cp_check(&w, &m.now, "begun");
  world_end(&w);
}

int main(void) {
  static const char *const async[] = {"file_bytes=32768", "buffer_bytes=4096", "async_compaction=1", NULL};
  static const char *const plain[] = {"file_bytes=32768", "buffer_bytes=4096", "io=pread", NULL};
  make_root(false);
  d1_rows_of_an_abandoned_timeline_never_come_back();
  d2_a_checkpoint_that_is_listed_has_all_its_rows();
  d3_a_dropped_checkpoint_is_refused();
  d4_rows_of_another_layout_are_refused();
  d5_there_is_always_a_checkpoint();
  misuse();
  what_is_retained_is_named();
  damage();
  flipped_bits();
  progress();
  operations_fail(EIO);
  operations_fail(ENOSPC);
  operations_fail(-1);
  synchronization_fails();
  rows_change_before_a_begin_returns();
  rows_change_while_a_checkpoint_is("ssd:cut:sync", false);
  rows_change_while_a_checkpoint_is("ssd:cut:synced", false);
  rows_change_while_a_checkpoint_is("ssd:cut:walk", false);
  rows_change_while_a_checkpoint_is("ssd:cut:written", false);
  rows_change_while_a_checkpoint_is("ssd:cut:removed", true);
  model_test("model", 900 << 10, 3000, 4, false, small);
  model_test("crowded", 300 << 10, 3000, 4, true, plain);
  model_test("async", 900 << 10, 2000, 4, false, async);
  checkpoints_beside_threads("threads", small);
  checkpoints_beside_threads("threads-async", async);
  remove_root();
  return test_result();
}
