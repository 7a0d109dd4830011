/* Every call that is long, cancelled at each operation of its disk: what was there stays whole and no file more is left, or the
 * call had come to its end. Progress only rises, and ends where it said it would. */
#include "base/control.h"
#include "checkpoint/tend.h"
#include "test/checkpoint_calls.h"
#include "store/store.h"
#include "test/crash/disk.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define PATH "/chain"
#define KEYS 400u
#define DIM 4u

static char words[1024];
static const ts_err err = {words, sizeof words};
#define WORDS words, sizeof words

/* ---- a disk that cancels ---- */

/* Over another one: asks for the end at its n-th operation, and looks at progress at each. Threads of a store use it, too. */
typedef struct watching_disk {
  ts_disk_ops ops; /* first */
  const ts_disk_ops *under;
  uint64_t control[TS_CONTROL_WORDS];
  atomic_ullong operations, cancel_at, last; /* last: progress that was seen */
  atomic_bool fell, beyond;
} watching_disk;

static const ts_disk_ops *reach(const ts_disk_ops *ops) {
  watching_disk *d = (watching_disk *)(uintptr_t)ops;
  if (atomic_fetch_add(&d->operations, 1) == atomic_load(&d->cancel_at)) __atomic_store_n(&d->control[TS_CONTROL_CANCEL], 1, __ATOMIC_RELAXED);
  /* The one before is read first, so that a thread beside this one does not make it look as if progress fell. */
  const uint64_t before = atomic_load(&d->last), done = __atomic_load_n(&d->control[TS_CONTROL_DONE], __ATOMIC_RELAXED);
  if (done < before) atomic_store(&d->fell, true);
  if (done > __atomic_load_n(&d->control[TS_CONTROL_TOTAL], __ATOMIC_RELAXED)) atomic_store(&d->beyond, true);
  atomic_store(&d->last, TS_MAX(done, before));
  return d->under;
}

#define UNDER(name, result, parameters, arguments) \
  static result watched_##name parameters {        \
    const ts_disk_ops *u = reach(d);               \
    return u->name arguments;                      \
  }
UNDER(make_folder, int, (const ts_disk_ops *d, const char *path), (u, path))
UNDER(list, int, (const ts_disk_ops *d, const char *folder, void (*each)(void *context, const char *name), void *context),
      (u, folder, each, context))
UNDER(lock_folder, int, (const ts_disk_ops *d, const char *folder), (u, folder))
UNDER(sync_folder, int, (const ts_disk_ops *d, const char *folder), (u, folder))
UNDER(open, int, (const ts_disk_ops *d, const char *path), (u, path))
UNDER(create, int, (const ts_disk_ops *d, const char *path), (u, path))
UNDER(reopen, int, (const ts_disk_ops *d, const char *path), (u, path))
UNDER(size, int64_t, (const ts_disk_ops *d, int file), (u, file))
UNDER(read, int64_t, (const ts_disk_ops *d, int file, void *out, uint64_t bytes, uint64_t offset), (u, file, out, bytes, offset))
UNDER(write, int64_t, (const ts_disk_ops *d, int file, const void *in, uint64_t bytes, uint64_t offset), (u, file, in, bytes, offset))
UNDER(sync, int, (const ts_disk_ops *d, int file), (u, file))
UNDER(close, int, (const ts_disk_ops *d, int file), (u, file))
UNDER(allocate, int, (const ts_disk_ops *d, int file, uint64_t offset, uint64_t bytes), (u, file, offset, bytes))
UNDER(truncate, int, (const ts_disk_ops *d, int file, uint64_t length), (u, file, length))
UNDER(descriptor, int, (const ts_disk_ops *d, int file), (u, file))
UNDER(rename, int, (const ts_disk_ops *d, const char *from, const char *to), (u, from, to))
UNDER(unlink, int, (const ts_disk_ops *d, const char *path), (u, path))
UNDER(remove_folder, int, (const ts_disk_ops *d, const char *path), (u, path))

#define WATCHED(name) .name = watched_##name
static const ts_disk_ops watching = {WATCHED(make_folder), WATCHED(list), WATCHED(lock_folder), WATCHED(sync_folder),
                                     WATCHED(open), WATCHED(create), WATCHED(reopen), WATCHED(size), WATCHED(read),
                                     WATCHED(write), WATCHED(sync), WATCHED(close), WATCHED(allocate),
                                     WATCHED(truncate), WATCHED(descriptor), WATCHED(rename), WATCHED(unlink),
                                     WATCHED(remove_folder)};

#define NEVER UINT64_MAX

/* ---- stores ---- */

typedef struct kind {
  const char *storage, *size; /* size: NULL: the type's own */
  bool persistent;
} kind;
static const kind chains = {"DRAM", NULL, false}, points = {"DRAM_SSDHASH", "8192,1048576", true};

typedef struct world {
  lab_disk disk;
  watching_disk watched;
  const kind *kind;
  ts_store *store;
  uint64_t first, older, newest; /* digests: of the first and the last complete checkpoint or point, and of what the store has */
} world;

static ts_store *open_store(world *w, const char *shards) {
  ts_config *config = CONFIG("storage", w->kind->storage, "seed", "9", "shards", shards, "eviction_threads", "0");
  static const char *const more[] = {"persistent", "1", "size_counts", "rows", "ssd_path", PATH, "ssdhash.io", "pread", "ssdhash.direct",
                                     "buffered", "ssdhash.file_bytes", "12288", "ssdhash.buffer_bytes", "4096"};
  if (w->kind->size != NULL) CHECK(ts_config_set(config, "size", w->kind->size, WORDS) == TS_OK);
  for (uint32_t i = 0; w->kind->persistent && i < sizeof more / sizeof *more; i += 2)
    CHECK(ts_config_set(config, more[i], more[i + 1], WORDS) == TS_OK);
  if (!w->kind->persistent) CHECK(ts_config_set(config, "track_changes", "1", WORDS) == TS_OK);
  ts_store *store = NULL;
  CHECK_MSG(ts_store_open_on(config, &w->watched.ops, NULL, &store, err) == TS_OK, "%s", words);
  ts_config_free(config);
  return store;
}

static void train(ts_store *store, int64_t first, uint32_t n, float gradient) {
  int64_t keys[KEYS];
  float gradients[KEYS * DIM];
  for (uint32_t i = 0; i < n; i++) keys[i] = first + i;
  for (uint32_t i = 0; i < n * DIM; i++) gradients[i] = gradient + (float)i / 100;
  for (uint32_t t = 0; t < 2; t++) CHECK_MSG(ts_table_update(store, t, keys, n, gradients, WORDS) == TS_OK, "%s", words);
}

static void add_tables(ts_store *store) {
  for (uint32_t i = 0; i < 2; i++) {
    uint32_t table;
    ts_config *config = CONFIG("name", i == 0 ? "a" : "b", "dim", "4", "optimizer", "adagrad");
    CHECK_MSG(ts_table_create(store, config, &table, WORDS) == TS_OK, "%s", words);
    ts_config_free(config);
  }
}

static uint64_t digest(ts_store *store) {
  uint64_t d = 0;
  CHECK_MSG(ts_store_digest(store, &d, WORDS) == TS_OK, "%s", words);
  return d;
}

static int32_t write_checkpoint(ts_store *store, const char *how, uint64_t *control) {
  return write_checkpoint_to(store, PATH, how, control, WORDS);
}

static int32_t restore(ts_store *store, uint64_t *control) {
  ts_config *config = CONFIG("path", PATH);
  const int32_t status = ts_store_restore(store, config, control, WORDS);
  ts_config_free(config);
  return status;
}

static int32_t persist(ts_store *store, uint64_t *control) {
  ts_config *config = CONFIG("keep", "2");
  uint64_t number;
  int32_t status = ts_store_persist(store, config, &number, WORDS);
  ts_config_free(config);
  return status == TS_OK ? ts_store_persisted(store, control, WORDS) : status;
}

static int32_t resume(ts_store *store, const char *which, uint64_t *control) {
  ts_config *config = CONFIG("number", which);
  uint64_t number;
  const int32_t status = ts_store_resume(store, config, control, &number, WORDS);
  ts_config_free(config);
  return status;
}

/* Two checkpoints, or points, and training after them. */
static void begin(world *w, const kind *k) {
  *w = (world){.kind = k};
  lab_disk_begin(&w->disk);
  w->watched.ops = watching;
  w->watched.under = &w->disk.ops;
  w->watched.cancel_at = NEVER;
  if (k->persistent) CHECK(w->disk.ops.make_folder(&w->disk.ops, PATH) == 0);
  w->store = open_store(w, "4");
  if (k->persistent) CHECK_MSG(resume(w->store, "0", NULL) == TS_OK, "%s", words);
  add_tables(w->store);
  for (uint32_t i = 0; i < 2; i++) {
    train(w->store, 100 * i, 300, 1);
    w->older = digest(w->store);
    if (i == 0) w->first = w->older;
    CHECK_MSG((k->persistent ? persist(w->store, NULL) : write_checkpoint(w->store, "auto", NULL)) == TS_OK, "%s", words);
  }
  train(w->store, 50, 200, -1);
  w->newest = digest(w->store);
}

static void end(world *w) {
  ts_store_close(w->store);
  lab_disk_end(&w->disk);
}

/* ---- what is called ---- */

static int32_t call_full(world *w) { return write_checkpoint(w->store, "full", w->watched.control); }
static int32_t call_delta(world *w) { return write_checkpoint(w->store, "delta", w->watched.control); }
static int32_t call_restore(world *w) { return restore(w->store, w->watched.control); }
static int32_t call_verify(world *w) { return ts_chain_verify(&w->watched.ops, PATH, w->watched.control, err); }
static int32_t call_compact(world *w) { return ts_chain_compact(&w->watched.ops, PATH, w->watched.control, err); }
static int32_t call_persisted(world *w) { return persist(w->store, w->watched.control); }
static int32_t call_resume(world *w) { return resume(w->store, "0", w->watched.control); }
static int32_t call_resume_older(world *w) { return resume(w->store, "1", w->watched.control); }

/* Another store in place of the one that wrote. */
static void reopen_store(world *w) {
  ts_store_close(w->store);
  w->store = open_store(w, "2");
}

/* What a restore of the chain gives now. */
static void expect_chain(world *w, uint64_t wanted) {
  ts_store *back = open_store(w, "1");
  CHECK_MSG(restore(back, NULL) == TS_OK, "%s", words);
  CHECK(digest(back) == wanted);
  ts_store_close(back);
}

/* A checkpoint came or did not; the next delta has all that changed. */
static void after_write(world *w, bool whole) {
  expect_chain(w, whole ? w->newest : w->older);
  CHECK_MSG(write_checkpoint(w->store, "delta", NULL) == TS_OK, "%s", words);
  expect_chain(w, w->newest);
}

static void after_restore(world *w, bool whole) {
  uint32_t tables = 0;
  if (!whole) CHECK(ts_table_named(w->store, "a", &tables, NULL, 0) != TS_OK); /* as empty as it was */
  if (!whole) CHECK_MSG(restore(w->store, NULL) == TS_OK, "%s", words);
  CHECK(digest(w->store) == w->older);
}

static void after_tending(world *w, bool whole) {
  (void)whole;
  expect_chain(w, w->older);
  CHECK_MSG(ts_chain_verify(&w->disk.ops, PATH, NULL, err) == TS_OK, "%s", words);
}

static void after_persist(world *w, bool whole) {
  reopen_store(w);
  CHECK_MSG(resume(w->store, "0", NULL) == TS_OK, "%s", words);
  CHECK(digest(w->store) == (whole ? w->newest : w->older));
}

static void after_resume(world *w, bool whole) {
  if (!whole) CHECK_MSG(resume(w->store, "0", NULL) == TS_OK, "%s", words);
  CHECK(digest(w->store) == w->older);
}

/* The newer point is there until the older one is taken up. */
static void after_resume_older(world *w, bool whole) {
  if (!whole) CHECK_MSG(resume(w->store, "0", NULL) == TS_OK, "%s", words);
  CHECK(digest(w->store) == (whole ? w->first : w->older));
}

typedef struct long_call {
  const char *name;
  const kind *kind;
  int32_t (*call)(world *w);
  void (*after)(world *w, bool whole);
  bool anew;   /* in another store */
  bool writes; /* files may change: logs grow with rows that are put down, and opening drops what no point has */
} long_call;
static const long_call calls[] = {
    {"a full checkpoint", &chains, call_full, after_write, false, false},
    {"a delta", &chains, call_delta, after_write, false, false},
    {"a restore", &chains, call_restore, after_restore, true, false},
    {"a verification", &chains, call_verify, after_tending, false, false},
    {"a compaction", &chains, call_compact, after_tending, false, false},
    {"a restore point", &points, call_persisted, after_persist, false, true},
    {"taking up the newest point", &points, call_resume, after_resume, true, true},
    {"taking up an older point", &points, call_resume_older, after_resume_older, true, true},
};

/* Names and contents of a chain's files, in one number whatever their order. */
static uint64_t files_of(const world *w) {
  uint64_t sum = 0;
  for (uint32_t i = 0; i < w->disk.now.entry_count; i++) {
    const lab_entry *e = &w->disk.now.entries[i];
    const lab_inode *f = e->inode < 0 ? NULL : &w->disk.now.inodes[e->inode];
    sum += ts_hash_bytes(e->path, strlen(e->path), f == NULL ? 1 : ts_hash_bytes(f->bytes, f->length, 2));
  }
  return sum;
}

/* Returns whether the call had come to its end before it was asked to stop. */
static bool try_at(const long_call *c, uint64_t at) {
  world *w = malloc(sizeof *w);
  if (w == NULL) abort();
  begin(w, c->kind);
  if (c->anew) reopen_store(w);
  const uint64_t files = files_of(w);
  const uint32_t names = w->disk.now.entry_count;
  w->watched.last = w->watched.operations = 0;
  w->watched.cancel_at = at;
  const int32_t status = c->call(w);
  const bool asked = w->watched.control[TS_CONTROL_CANCEL] != 0;
  const uint64_t done = w->watched.control[TS_CONTROL_DONE], total = w->watched.control[TS_CONTROL_TOTAL];
  w->watched.cancel_at = NEVER;
  CHECK_MSG(status == TS_OK || (asked && status == TS_ECANCELLED), "%s, cancelled at %llu: %s", c->name, (unsigned long long)at, words);
  CHECK_MSG(!w->watched.fell && !w->watched.beyond, "%s, cancelled at %llu: progress fell or went beyond its end", c->name,
            (unsigned long long)at);
  if (status == TS_OK) CHECK_MSG(done == total && total > 0, "%s: %llu of %llu at the end", c->name, (unsigned long long)done, (unsigned long long)total);
  if (status == TS_ECANCELLED) {
    CHECK_MSG(strstr(words, "cancelled") != NULL, "%s: %s", c->name, words);
    if (!c->writes) CHECK_MSG(files_of(w) == files, "%s, cancelled at %llu: files are not as before", c->name, (unsigned long long)at);
    /* A point that was given up may leave logs, which the next opening drops. */
    if (c->anew) CHECK_MSG(w->disk.now.entry_count <= names, "%s, cancelled at %llu: %u files, before %u", c->name, (unsigned long long)at,
                           w->disk.now.entry_count, names);
  }
  c->after(w, status == TS_OK);
  end(w);
  free(w);
  return !asked;
}

int main(void) {
  for (uint32_t i = 0; i < sizeof calls / sizeof *calls; i++) {
    uint64_t at = 0;
    while (!try_at(&calls[i], at)) at++;
    CHECK_MSG(at > 5, "%s has %llu operations", calls[i].name, (unsigned long long)at); /* that it was cancelled at several */
  }
  return test_result();
}
