/* Restore points: a store whose last tier outlives it, closed while calls go on, and opened again. What it is then must be, to the
 * byte, a second store that was stopped at the point, and both must go on alike: on every storage type that has such a tier,
 * with other numbers of shards from life to life, first tiers so small that rows move all the time, and all that rows and keys can
 * have. Older points by number; those of an abandoned timeline; what is dropped; what is refused, by name.
 *
 * A failure prints its seed; the program runs that one alone when given it. TIERSTORE_ROUNDS in the environment: how many. */
#include "test/changing_store.h"
#include "test/foreign_threads.h"
#include "test/store_snapshot.h"

#include <ftw.h>
#include <sys/stat.h>
#include <unistd.h>

#define ROUNDS 24u
#define THREADS 3u
#define LIVES 3u

static char path[256];

/* Whether the last tier is in memory of libpmem. */
static bool in_pmem(const storage_type *type) {
  return !type->ssd && (strcmp(type->storage, "PMEM_LIBPMEM") == 0 || (type->pmem != NULL && strcmp(type->pmem, "libpmem") == 0));
}

static bool lasts(const storage_type *type) { return strstr(type->storage, "SSDHASH") != NULL || in_pmem(type); }

/* The n-th storage type whose last tier outlives the store; with the same one as `like`, if that is not NULL. */
static const storage_type *lasting_type(uint64_t n, const storage_type *like) {
  const storage_type *found[STORAGE_TYPES];
  uint32_t count = 0;
  for (uint32_t i = 0; i < STORAGE_TYPES; i++) {
    const storage_type *type = &storage_types[i];
    if (lasts(type) && (like == NULL || in_pmem(type) == in_pmem(like))) found[count++] = type;
  }
  return found[n % count];
}
#define LASTING_TYPES 8u /* at least so many: seeds go through them, then through numbers of threads */

static int remove_one(const char *file, const struct stat *status, int type, struct FTW *walk) {
  (void)status, (void)type, (void)walk;
  return remove(file);
}
static void remove_tree(const char *top) { nftw(top, remove_one, 16, FTW_DEPTH | FTW_PHYS); }

typedef struct worker {
  const world *w;
  ts_store *store;
  uint32_t number, threads, life;
} worker;

static void *work(void *argument) {
  const worker *k = argument;
  for (uint32_t i = 0; i < 60; i++) (void)call_part(k->w, k->store, 700 + k->life * 50 + k->number * 3000, i, k->threads == 1, k->number, k->threads);
  return NULL;
}

static ts_store *open_point(const world *w, const storage_type *type, uint32_t shards, uint64_t limits, uint64_t number, uint64_t *taken) {
  ts_config *config = store_config(w, type, shards, limits);
  ts_config_set(config, "path", path, NULL, 0);
  set_number(config, "persistent", 1);
  if (in_pmem(type) && type->tiers == 2) ts_config_set(config, "size", "4194304,268435456", NULL, 0); /* the first has the index */
  ts_store *store = open_config(config);
  if (store == NULL) return NULL;
  config = CONFIG("number", "0");
  set_number(config, "number", number);
  const int32_t status = ts_store_resume(store, config, NULL, taken, ERR);
  ts_config_free(config);
  if (status == TS_OK) {
    add_tables(w, store);
    return store;
  }
  ts_store_close(store);
  return NULL;
}

static uint64_t persist(ts_store *store, uint32_t keep, bool wait) {
  uint64_t number = 0;
  ts_config *config = CONFIG("keep", "1");
  set_number(config, "keep", keep);
  CHECK_MSG(ts_store_persist(store, config, &number, ERR) == TS_OK, "%s", message);
  ts_config_free(config);
  if (wait) CHECK_MSG(ts_store_persisted(store, NULL, ERR) == TS_OK, "%s", message);
  return number;
}

static void both(const world *w, ts_store *a, ts_store *b, uint64_t stream, uint32_t calls) {
  for (uint32_t i = 0; i < calls; i++) {
    CHECK_MSG(call(w, a, stream, i, true) == TS_OK, "seed %llu: %s", (unsigned long long)w->seed, message);
    CHECK_MSG(call(w, b, stream, i, true) == TS_OK, "seed %llu: %s", (unsigned long long)w->seed, message);
  }
}

static void compare(const world *w, ts_store *a, ts_store *b, const char *what) {
  snapshot x, y;
  snapshot_take(b, &x);
  snapshot_take(a, &y);
  const uint64_t differ = snapshots_differ(&x, &y, what);
  CHECK_MSG(differ == 0, "seed %llu (%s): %llu keys differ, %s", (unsigned long long)w->seed, a->storage, (unsigned long long)differ, what);
  for (uint32_t t = 0; t < TABLES; t++) {
    CHECK(atomic_load(&a->tables[t]->optimizer.steps) == atomic_load(&b->tables[t]->optimizer.steps));
    CHECK(atomic_load(&a->tables[t]->optimizer.learning_rate) == atomic_load(&b->tables[t]->optimizer.learning_rate));
  }
  CHECK(ts_step(a) == ts_step(b));
  snapshot_free(&x);
  snapshot_free(&y);
}

/* Closes it in the middle of calls of several threads, which the point does not have. */
static void close_busy(const world *w, ts_store *store, uint32_t threads, uint32_t life) {
  worker workers[THREADS];
  pthread_t ids[THREADS];
  for (uint32_t i = 0; i < threads; i++) {
    workers[i] = (worker){w, store, i, threads, life};
    pthread_create(&ids[i], NULL, work, &workers[i]);
  }
  for (uint32_t i = 0; i < threads; i++) pthread_join(ids[i], NULL);
  ts_store_close(store);
}

static void one_round(uint64_t seed) {
  world w = {.seed = seed, .type = lasting_type(seed, NULL)};
  const uint32_t threads = seed / LASTING_TYPES % 2 == 0 ? 1 : THREADS;
  for (uint32_t t = 0; t < TABLES; t++) w.dims[t] = (uint32_t[]){1, 4, 17, 64}[any(&w, 2, t, 4)];
  snprintf(path, sizeof path, "%s/round", folder);
  CHECK(mkdir(path, 0700) == 0);
  uint64_t taken = 99;
  ts_store *a = open_point(&w, w.type, 4, seed, 0, &taken), *b = open_store(&w, &storage_types[0], 2, 0);
  CHECK_MSG(a != NULL && b != NULL && taken == 0, "%s", message);
  uint64_t last = 0, before = 0;
  for (uint32_t life = 0; a != NULL && b != NULL && life < LIVES && test_failures == 0; life++) {
    both(&w, a, b, 200 + life * 10, 40 + (uint32_t)any(&w, 4, life, 40));
    before = persist(a, 3, any(&w, 5, life, 2) == 0);
    both(&w, a, b, 205 + life * 10, 20);
    last = persist(a, 3, false); /* the one before may be under way */
    CHECK(last > before && before > taken);
    close_busy(&w, a, threads, life);
    /* Another type with the same last tier, now and then. */
    const storage_type *type = any(&w, 8, life, 2) == 0 ? w.type : lasting_type(any(&w, 9, life, 1000), w.type);
    a = open_point(&w, type, 1u << any(&w, 7, life, 4), seed + life, 0, &taken);
    CHECK_MSG(a != NULL && taken == last, "seed %llu: took up %llu, not %llu: %s", (unsigned long long)seed, (unsigned long long)taken,
              (unsigned long long)last, message);
    if (a == NULL) break;
    ts_evictors_settle(a->evictors);
    CHECK_MSG(limits_hold(a) && charges_agree(a), "seed %llu: limits", (unsigned long long)seed);
    compare(&w, a, b, "taken up");
  }
  if (a != NULL && test_failures == 0) {
    both(&w, a, b, 300, 40);
    compare(&w, a, b, "gone on");
    /* Back to an older one: its timeline goes on, the other's points are gone. */
    const uint64_t older = persist(a, 3, true);
    ts_store *c = open_store(&w, &storage_types[0], 1, 0);
    for (uint32_t life = 0; life < LIVES; life++) { /* c is b at that time */
      for (uint32_t i = 0; i < 40 + (uint32_t)any(&w, 4, life, 40); i++) CHECK(call(&w, c, 200 + life * 10, i, true) == TS_OK);
      for (uint32_t i = 0; i < 20; i++) CHECK(call(&w, c, 205 + life * 10, i, true) == TS_OK);
    }
    for (uint32_t i = 0; i < 40; i++) CHECK(call(&w, c, 300, i, true) == TS_OK);
    both(&w, a, b, 310, 30);
    const uint64_t newer = persist(a, 3, true);
    ts_store_close(a);
    a = open_point(&w, w.type, 2, seed, older, &taken);
    CHECK_MSG(a != NULL && taken == older, "seed %llu: %s", (unsigned long long)seed, message);
    if (a != NULL) {
      compare(&w, a, c, "taken up, an older one");
      both(&w, a, c, 320, 30);
      const uint64_t other = persist(a, 1, true);
      CHECK(other > older);
      ts_store_close(a);
      a = open_point(&w, w.type, 8, seed, 0, &taken);
      CHECK_MSG(a != NULL && taken == other, "seed %llu: %s", (unsigned long long)seed, message);
      if (a != NULL) compare(&w, a, c, "on the new timeline");
      ts_store_close(a);
      a = open_point(&w, w.type, 8, seed, newer == other ? older : newer, &taken); /* abandoned, or dropped by keep=1 */
      CHECK_MSG(a == NULL && strstr(message, "dropped or never complete") != NULL, "seed %llu: %s", (unsigned long long)seed, message);
    }
    ts_store_close(c);
  }
  ts_store_close(a);
  ts_store_close(b);
  remove_tree(path);
}

int main(int argc, char **argv) {
  const char *rounds = getenv("TIERSTORE_ROUNDS");
  if (!make_folder("points")) return 1;
  if (argc > 1) {
    one_round(strtoull(argv[1], NULL, 10));
  } else {
    const uint64_t n = rounds != NULL ? strtoull(rounds, NULL, 10) : ROUNDS;
    for (uint64_t i = 0; i < n && test_failures == 0; i++) one_round(i);
  }
  remove_folder();
  return test_result();
}
