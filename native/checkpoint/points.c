/* points.c - restore points of a persistent store: who makes them, which stay, and how a store goes on from one.
 *
 * A point is a checkpoint in place of each table's kept tier (store/kept.c) and a file beside, a checkpoint of the chain in the
 * store's folder whose rows are those that neither tier nor walk could keep. Its manifest comes last when it is made and goes
 * first when it is dropped: so a manifest that is there has its tables. One point is made at a time, by a thread of its own. */
#include "base/control.h"
#include "base/seeded_bug.h"
#include "base/sync_point.h"
#include "checkpoint/chain.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/tend.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MOST_KEPT (TS_RECORDS_CUTS - 1u) /* beside the one that is being made */

typedef struct ts_keeper {
  ts_store *store;
  pthread_mutex_t lock; /* who asks for a point */
  char *path;           /* of the chain */
  pthread_t thread;
  bool running;         /* there is one to be joined */
  ts_checkpoint *point; /* the one under way */
  uint32_t keep, last;  /* last: the highest number that was tried */
  uint32_t folders;     /* 1 + of so many tables the folders' names are durable, and that of the store's; 0: nothing is */
  uint64_t control[TS_CONTROL_WORDS];  /* progress and cancellation of the one under way */
  int32_t status;       /* of the one that ended, until it has been told */
  char words[512];
  ts_checkpoint_origin origin;
} ts_keeper;

/* ---- what there is ---- */

/* Drops all but the newest `keep` that are whole, and in the tables what no manifest has. */
static int32_t tidy(const ts_keeper *k, uint32_t keep, ts_err err) {
  ts_chain chain;
  int32_t status = ts_chain_read(k->store->disk, k->path, &chain, err);
  if (status != TS_OK) return status;
  uint64_t numbers[TS_RECORDS_CUTS];
  uint32_t n = 0, whole = 0;
  for (uint32_t i = chain.count; status == TS_OK && i-- > 0;) {
    ts_chain_link *needed[1];
    uint32_t count;
    const bool is_whole = !chain.links[i].delta && ts_chain_needed(&chain, &chain.links[i], needed, &count, (ts_err){NULL, 0}) == TS_OK;
    if (whole >= keep) {
      status = ts_chain_forget(&chain, &chain.links[i], err);
    } else if (n < TS_RECORDS_CUTS) {
      numbers[n++] = chain.links[i].number;
      whole += is_whole;
    }
  }
  /* What was removed from the chain, by whomever, must not come back when its tables have gone. */
  const int error = status == TS_OK ? chain.disk->sync_folder(chain.disk, k->path) : 0;
  if (error != 0) status = ts_disk_fail(err, "synchronise the folder", k->path, error);
  if (status == TS_OK) status = ts_kept_tidy(k->store, numbers, n, err);
  ts_chain_free(&chain);
  return status;
}

/* ---- making one ---- */

/* The store's folder and the tables' folders in it have durable names before the first manifest that needs them. */
static int32_t sync_folders(ts_keeper *k, ts_err err) {
  const uint32_t tables = atomic_load_explicit(&k->store->table_count, memory_order_acquire);
  if (k->folders > (TS_BUG("the folder of a later table is not synchronised") ? 0 : tables)) return TS_OK;
  const ts_disk_ops *disk = k->store->disk;
  char *up = ts_chain_path(k->store->folder.path, "..");
  if (up == NULL) return ts_fail(err, TS_ENOMEM, "Cannot make a restore point: out of memory");
  int error = disk->sync_folder(disk, k->store->folder.path);
  if (error == 0) error = disk->sync_folder(disk, up);
  free(up);
  if (error != 0) return ts_disk_fail(err, "synchronise the folder", k->store->folder.path, error);
  k->folders = tables + 1;
  return TS_OK;
}

static void *make(void *context) {
  ts_keeper *k = context;
  const ts_err err = {k->words, sizeof k->words};
  k->status = sync_folders(k, err);
  if (k->status == TS_OK) k->status = ts_checkpoint_write(k->point, k->control, k->words, sizeof k->words);
  ts_checkpoint_close(k->point);
  k->point = NULL;
  TS_SYNC("points:made");
  /* What cannot be dropped now is dropped with the next one. */
  if (k->status == TS_OK) tidy(k, k->keep, (ts_err){NULL, 0});
  return NULL;
}

/* The point under way has come to its end; lock held. */
static int32_t join(ts_keeper *k, ts_err err) {
  if (k->running) pthread_join(k->thread, NULL);
  k->running = false;
  const int32_t status = k->status;
  k->status = TS_OK;
  return status == TS_OK ? TS_OK : ts_fail(err, status, "%s", k->words);
}

#define LOOK_NS 10000000 /* between two looks at the caller's control */

/* Waits for the thread, if there is one, and hands progress and cancellation over meanwhile; lock held. */
static void watch(ts_keeper *k, uint64_t *control) {
  while (k->running && control != NULL) {
    if (ts_control_cancelled(control)) __atomic_store_n(&k->control[TS_CONTROL_CANCEL], 1, __ATOMIC_RELAXED);
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += LOOK_NS;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    k->running = pthread_timedjoin_np(k->thread, NULL, &until) != 0;
    for (uint32_t i = TS_CONTROL_DONE; i <= TS_CONTROL_TOTAL; i++)
      __atomic_store_n(&control[i], __atomic_load_n(&k->control[i], __ATOMIC_RELAXED), __ATOMIC_RELAXED);
  }
}

static int32_t begin(ts_keeper *k, uint32_t keep, ts_checkpoint_part part, ts_err err) {
  ts_store *store = k->store;
  bool any = false;
  int32_t status = store->folder.path != NULL ? ts_folder_has(&store->folder, TS_POINTS, &any, err) : TS_OK;
  if (status == TS_OK && any) status = tidy(k, MOST_KEPT, err);
  if (status == TS_OK) status = ts_point_begin(store, k->path, k->last + 1, &k->origin, &k->point, err);
  if (status != TS_OK) {
    if (part.free != NULL) part.free(part.context);
    return status;
  }
  k->keep = keep;
  k->last = ts_checkpoint_begun_number(k->point);
  ts_checkpoint_add_part(k->point, part);
  memset(k->control, 0, sizeof k->control);
  k->running = pthread_create(&k->thread, NULL, make, k) == 0;
  if (k->running) return TS_OK;
  ts_checkpoint_close(k->point);
  k->point = NULL;
  return ts_fail(err, TS_ENOMEM, "Cannot make a restore point: the system refused a thread");
}

/* ---- the keeper ---- */

static void end_keeper(ts_store *store) {
  ts_keeper *k = store->keeper;
  if (k->running) pthread_join(k->thread, NULL);
  pthread_mutex_destroy(&k->lock);
  free(k->path);
  free(k);
  store->keeper = NULL;
}

/* Errors: TS_EINVAL, TS_EUNSUPPORTED, TS_ENOMEM. */
static int32_t keeper_of(ts_store *store, const char *what, ts_keeper **out, ts_err err) {
  if (!store->persistent)
    return ts_fail(err, TS_EINVAL, "Cannot %s: the store was opened without persistent=1; what its tiers have goes when it closes",
                   what);
  if (store->resumable)
    return ts_fail(err, TS_EINVAL, "Cannot %s: \"%s\" has restore points; take one up first (ts_store_resume)", what,
                   store->folder.path);
  pthread_mutex_lock(&store->tables_lock);
  if (store->keeper == NULL) {
    ts_keeper *k = calloc(1, sizeof *k);
    char *path = ts_chain_path(store->folder.path, TS_POINTS);
    if (k == NULL || path == NULL) {
      free(k);
      free(path);
    } else {
      k->store = store;
      k->path = path;
      pthread_mutex_init(&k->lock, NULL);
      store->keeper = k;
      store->end_keeper = end_keeper;
    }
  }
  *out = store->keeper;
  pthread_mutex_unlock(&store->tables_lock);
  return *out != NULL ? TS_OK : ts_fail(err, TS_ENOMEM, "Cannot %s: out of memory", what);
}

int32_t ts_points_persist(ts_store *store, const ts_config *config, ts_checkpoint_part part, uint64_t *number, ts_err err) {
  ts_keeper *k = NULL;
  int32_t status = ts_store_check(store, "make a restore point", err);
  if (status == TS_OK) status = keeper_of(store, "make a restore point", &k, err);
  uint32_t keep = 0;
  if (status == TS_OK) {
    ts_config_reader r = ts_config_read(config, "restore point", err);
    keep = (uint32_t)ts_config_u64(&r, "keep", 2, 1, MOST_KEPT);
    status = ts_config_finish(&r);
  }
  if (status != TS_OK) {
    if (part.free != NULL) part.free(part.context);
    return status;
  }
  pthread_mutex_lock(&k->lock);
  status = join(k, err);
  if (status != TS_OK && part.free != NULL) part.free(part.context);
  if (status == TS_OK) status = begin(k, keep, part, err);
  if (status == TS_OK && number != NULL) *number = k->last;
  pthread_mutex_unlock(&k->lock);
  return status;
}

int32_t ts_store_persist(ts_store *store, const ts_config *config, uint64_t *number, char *err, uint32_t err_cap) {
  return ts_points_persist(store, config, (ts_checkpoint_part){0}, number, (ts_err){err, err_cap});
}

int32_t ts_store_persisted(ts_store *store, uint64_t *control, char *err_text, uint32_t err_cap) {
  const ts_err err = {err_text, err_cap};
  ts_keeper *k = NULL;
  int32_t status = ts_store_check(store, "wait for a restore point", err);
  if (status == TS_OK) status = keeper_of(store, "wait for a restore point", &k, err);
  if (status != TS_OK) return status;
  pthread_mutex_lock(&k->lock);
  watch(k, control);
  status = join(k, err);
  pthread_mutex_unlock(&k->lock);
  return status;
}

/* ---- going on ---- */

/* The point that is asked for, 0: the newest; NULL: there is none at all. */
static int32_t choose(const ts_chain *chain, uint32_t number, ts_chain_link **out, ts_err err) {
  *out = number != 0 ? ts_chain_find(chain, number) : chain->count > 0 ? &chain->links[chain->count - 1] : NULL;
  if (*out != NULL && (*out)->status != TS_OK) return ts_fail(err, (*out)->status, "%s", (*out)->words);
  if (*out != NULL || number == 0) return TS_OK;
  char there[192] = " none";
  size_t at = 0;
  for (uint32_t i = 0; i < chain->count && at < sizeof there; i++)
    at += (size_t)snprintf(there + at, sizeof there - at, "%s%u", i == 0 ? " " : ", ", chain->links[i].number);
  return ts_fail(err, TS_EINVAL, "Cannot take up restore point %u: it was dropped or never complete; %s has%s", number, chain->path,
                 there);
}

/* Points after the one that is taken up are of a timeline that is abandoned: once it has proved whole they go, the newest first. */
static int32_t forget_later(const ts_keeper *k, const ts_chain *chain, const ts_chain_link *link, bool later, uint64_t *control,
                            ts_err err) {
  int32_t status = later && !TS_BUG("later points go before the older one is looked at")
                       ? ts_point_look(k->store, k->path, link->number, control, err) : TS_OK;
  for (uint32_t i = chain->count; status == TS_OK && i-- > 0 && chain->links[i].number > link->number;)
    status = ts_chain_forget(chain, &chain->links[i], err);
  return status;
}

static int32_t resume(ts_keeper *k, uint32_t number, uint64_t *control, uint64_t *taken, ts_err err) {
  ts_store *store = k->store;
  ts_chain chain;
  ts_chain_link *link = NULL;
  int32_t status = ts_chain_read(store->disk, k->path, &chain, err);
  if (status != TS_OK) return status;
  k->last = chain.highest;
  status = choose(&chain, number, &link, err);
  if (status == TS_OK && link != NULL) status = ts_chain_data_length(&chain, link, err);
  const bool later = status == TS_OK && link != NULL && chain.links[chain.count - 1].number > link->number;
  if (status == TS_OK && link != NULL) status = forget_later(k, &chain, link, later, control, err);
  /* What was dropped does not come back: from there on nobody can stop the call, whose progress was that of looking. */
  if (status == TS_OK && link != NULL) status = ts_point_take_up(store, k->path, link->number, later ? NULL : control, &k->origin, err);
  if (status == TS_OK) *taken = link == NULL ? 0 : link->number;
  ts_chain_free(&chain);
  if (status == TS_OK && *taken != 0) status = tidy(k, MOST_KEPT, err);
  return status;
}

int32_t ts_store_resume(ts_store *store, const ts_config *config, uint64_t *control, uint64_t *number, char *err_text,
                        uint32_t err_cap) {
  const ts_err err = {err_text, err_cap};
  int32_t status = ts_store_check(store, "take up a restore point", err);
  if (status != TS_OK) return status;
  ts_config_reader r = ts_config_read(config, "restore point", err);
  const uint32_t wanted = (uint32_t)ts_config_u64(&r, "number", 0, 0, UINT32_MAX);
  if (ts_config_finish(&r) != TS_OK) return r.status;
  uint64_t taken = 0;
  const bool there = store->resumable;
  if (store->persistent && !there && (atomic_load(&store->table_count) > 0 || store->keeper != NULL))
    return ts_fail(err, TS_EINVAL, "Cannot take up a restore point: the store has tables; do it right after the store is opened");
  store->resumable = false; /* tables are made below */
  ts_keeper *k = NULL;
  status = keeper_of(store, "take up a restore point", &k, err);
  if (status == TS_OK && !there && wanted != 0)
    status = ts_fail(err, TS_EINVAL, "Cannot take up restore point %u: \"%s\" has none", wanted, store->folder.path);
  ts_control_start(control, 0);
  if (status == TS_OK && there) status = resume(k, wanted, control, &taken, err);
  store->resumable = there && status != TS_OK;
  if (status != TS_OK) return status;
  ts_folder_clear(&store->folder, TS_POINTS); /* tables that came after it */
  store->resumed_at = taken;
  ts_control_finish(control);
  if (number != NULL) *number = taken;
  return TS_OK;
}

int32_t ts_points_take_part(ts_store *store, int32_t (*check)(void *context, ts_checkpoint_reader *reader, ts_err err),
                            void *context, ts_err err) {
  if (store->resumed_at == 0) return TS_OK;
  ts_checkpoint_reader *reader = NULL;
  int32_t status = ts_checkpoint_reader_open(store->disk, store->keeper->path, (uint32_t)store->resumed_at, &reader, err);
  if (status != TS_OK) return status;
  const ts_manifest *lines = ts_checkpoint_link_manifest(reader, 0);
  const uint32_t tables = atomic_load_explicit(&store->table_count, memory_order_acquire);
  for (uint32_t i = 0; status == TS_OK && i < tables; i++) {
    char key[64];
    uint64_t updates;
    snprintf(key, sizeof key, "table.%u.updates", i);
    if (ts_manifest_u64(lines, key, &updates) && updates != atomic_load(&store->tables[i]->optimizer.steps))
      status = ts_fail(err, TS_EINVAL, "Cannot go on from restore point %llu: table \"%s\" has been updated since; open the trainer "
                       "before that", (unsigned long long)store->resumed_at, store->tables[i]->name);
  }
  if (status == TS_OK) status = check(context, reader, err);
  ts_checkpoint_reader_close(reader);
  return status;
}

int32_t ts_store_points(ts_store *store, char *out, uint64_t cap, uint64_t *needed, char *err_text, uint32_t err_cap) {
  const ts_err err = {err_text, err_cap};
  int32_t status = ts_store_check(store, "list restore points", err);
  if (status != TS_OK) return status;
  if (!store->persistent) return ts_fail(err, TS_EINVAL, "Cannot list restore points: the store was opened without persistent=1");
  ts_text text = {0};
  bool any = false;
  status = ts_folder_has(&store->folder, TS_POINTS, &any, err);
  if (status == TS_OK && any) {
    char *path = ts_chain_path(store->folder.path, TS_POINTS);
    status = path == NULL ? ts_fail(err, TS_ENOMEM, "Cannot list restore points: out of memory")
                          : ts_chain_describe(store->disk, path, &text, err);
    free(path);
  }
  if (status == TS_OK) return ts_text_tell(&text, "restore points", out, cap, needed, err);
  free(text.bytes);
  return status;
}
