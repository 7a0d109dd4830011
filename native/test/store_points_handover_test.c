/* Restore points of a store where it is hard: rows that move, change, lose their record or go before the point's walk has come to
 * them; a point that is cancelled under way. Hand-overs are forced by sync points (base/sync_point.h).
 *
 * With a number as its argument the program runs the walk of that seed alone. */
#include "base/sync_point.h"
#include "test/points_store.h"

#include <pthread.h>
#include <sched.h>

static uint64_t alone = UINT64_MAX;

/* ---- before the walk ---- */

static void before_the_walk(const char *storage, uint64_t which) {
  char path[256];
  snprintf(path, sizeof path, "%s/walk", folder);
  CHECK(mkdir(path, 0700) == 0);
  seed = which;
  draws = 0;
  uint64_t taken;
  ts_store *a = open_at(storage, path, 0, &taken);
  CHECK_MSG(a != NULL, "%s", message);
  if (a == NULL) return;
  step(a, 0, 600, 1);
  persist_now(a, "2");
  const uint64_t before = persisted(a);
  CHECK(before == (a->memory_tiers > 0 ? 600 : 0)); /* all fit the first tier */
  step(a, 100, 300, 2);
  step(a, 600, 100, 3);
  move_down(a, 0, 50, false);
  move_down(a, 1, 20, false);
  const uint64_t want = digest(a), above = differing(a);
  ts_sync_start();
  ts_sync_close("kept:walk:piece");
  CHECK_MSG(persist(a, "2", NULL) == TS_OK, "%s", message);
  CHECK(ts_sync_await("kept:walk:piece", 1));
  for (uint32_t i = 0; i < 14; i++) {
    const int64_t first = (int64_t)draw(700);
    switch (draw(8)) {
      case 0: move_down(a, 0, (uint32_t)draw(200), false); break;
      case 1: move_down(a, 1, (uint32_t)draw(100), false); break;
      case 2: move_down(a, 0, (uint32_t)draw(200), true); break;
      case 3: step(a, first, 1 + (uint32_t)draw(200), 4); break;
      case 4: look_up(a, first, 1 + (uint32_t)draw(200)); break;
      case 5: take_away(a, first, 1 + (uint32_t)draw(50)); break;
      case 6: step(a, 1000 + first, 1 + (uint32_t)draw(50), 5); break;
      default: move_down(a, 0, 1000, false);
    }
  }
  CHECK(ts_sync_stop());
  CHECK_MSG(ts_store_persisted(a, NULL, ERR) == TS_OK, "%s", message);
  /* Each row above that had changed once, whoever was first; those that had moved down before are there. */
  CHECK_MSG(persisted(a) == before + above, "%llu, not %llu", (unsigned long long)(persisted(a) - before), (unsigned long long)above);
  ts_store_close(a);
  check_at("before the walk", storage, path, 0, want);
  remove_tree(path);
}

/* ---- cancelled ---- */

typedef struct {
  ts_store *store;
  uint64_t control[TS_CONTROL_WORDS];
  int32_t status;
} waiter;

static void *wait_for_point(void *context) {
  waiter *w = context;
  char words[256];
  w->status = ts_store_persisted(w->store, w->control, words, sizeof words);
  return NULL;
}

/* A point that is cancelled under way leaves the one before it, and the next one has what changed. */
static void cancelled(const char *storage, const char *path) {
  uint64_t taken;
  ts_store *a = open_at(storage, path, 0, &taken);
  CHECK_MSG(a != NULL, "%s", message);
  if (a == NULL) return;
  step(a, 0, 600, 1);
  const uint64_t one = persist_now(a, "2"), first = digest(a);
  step(a, 100, 300, 2);
  ts_sync_start();
  ts_sync_close("kept:walk:piece");
  CHECK_MSG(persist(a, "2", NULL) == TS_OK, "%s", message);
  CHECK(ts_sync_await("kept:walk:piece", 1));
  waiter w = {.store = a, .control = {[TS_CONTROL_CANCEL] = 1}};
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, wait_for_point, &w) == 0);
  /* What was done is told after the cancellation was handed over. */
  while (__atomic_load_n(&w.control[TS_CONTROL_TOTAL], __ATOMIC_RELAXED) == 0) sched_yield();
  CHECK(ts_sync_stop());
  pthread_join(thread, NULL);
  CHECK(w.status == TS_ECANCELLED);
  CHECK_MSG(ts_store_persisted(a, NULL, ERR) == TS_OK, "%s", "it is told once");
  step(a, 200, 20, 3);
  const uint64_t second = digest(a), two = persist_now(a, "2");
  ts_store_close(a);
  check_at("cancelled", storage, path, two, second);
  check_at("cancelled", storage, path, one, first);
}

static void on_one(const char *storage) {
  if (alone != UINT64_MAX) {
    before_the_walk(storage, alone);
    return;
  }
  for (uint64_t s = 0; s < 24 && test_failures == 0; s++) before_the_walk(storage, s);
  if (strncmp(storage, "DRAM_", 5) == 0) in_folder(cancelled, storage); /* others have no rows to put down */
}

int main(int argc, char **argv) {
  if (argc > 1) alone = strtoull(argv[1], NULL, 10);
  on_each_storage(on_one);
  return test_result();
}
