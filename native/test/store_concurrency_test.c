/* Threads side by side, on every storage type and with first tiers so small that rows move all the time: each thread has a
 * table of its own, keys of its own in a table of all, and reads keys that nobody changes. Each row it looks up must be
 * what this thread last made of it (plain gradient descent, every step computed beside). At the end the limits hold, the
 * charges agree, and no row is missing or there twice.
 *
 * TIERSTORE_ROUNDS in the environment: calls of a thread, for long runs. */
#include "test/foreign_threads.h"
#include "test/store_types.h"

#include <pthread.h>

#define THREADS 3u
#define OWN 1200u    /* keys of a thread in each of its tables */
#define SHARED 2000u /* keys that nobody changes */
#define BATCH 300u
#define DIM 150u
#define RATE 0.5f

typedef struct worker {
  ts_store *store;
  uint32_t number, rounds, shared_table;
  float *model[2]; /* of its own table and of the table of all: a row's elements are equal but for the first values */
  bool *there[2];
  const float *first; /* of the table of all: [SHARED][DIM] */
  uint64_t wrong, calls;
  char text[512];
} worker;

/* Own keys of threads and shared ones lie beside each other. */
static int64_t own_key(uint32_t thread, uint32_t i) { return ((int64_t)i * 4 + thread + 1) * (i % 2 == 0 ? 1 : -1); }
static int64_t shared_key(uint32_t i) { return (int64_t)i * 4; }

static bool failed(worker *w, int32_t status) {
  if (status == TS_OK) return false;
  w->wrong++;
  return true;
}

static void *work(void *argument) {
  worker *w = argument;
  int64_t keys[BATCH];
  uint32_t numbers[BATCH];
  float *rows = malloc(sizeof(float) * BATCH * DIM), *again = malloc(sizeof(float) * BATCH * DIM);
  for (uint32_t round = 0; round < w->rounds && w->wrong == 0; round++) {
    const uint64_t r = ts_random64(77, w->number, round);
    const uint32_t which = r % 2, table = which == 0 ? w->number : w->shared_table, n = 1 + (uint32_t)(r >> 8) % BATCH;
    const uint32_t from = (uint32_t)(r >> 20) % OWN;
    for (uint32_t i = 0; i < n; i++) {
      numbers[i] = (from + i * 3) % OWN;
      keys[i] = own_key(w->number, numbers[i]);
    }
    if (failed(w, ts_table_lookup(w->store, table, keys, n, rows, w->text, sizeof w->text))) break;
    float *model = w->model[which];
    for (uint32_t i = 0; i < n; i++) {
      float *row = model + (size_t)numbers[i] * DIM;
      if (!w->there[which][numbers[i]]) memcpy(row, rows + (size_t)i * DIM, DIM * sizeof *row);
      w->there[which][numbers[i]] = true;
      w->wrong += memcmp(row, rows + (size_t)i * DIM, DIM * sizeof *row) != 0;
    }
    if (w->wrong > 0) snprintf(w->text, sizeof w->text, "round %u: rows differ from the model", round);
    if ((r >> 40) % 4 != 0) { /* each key once: gradients do not add up */
      for (uint32_t i = 0; i < n * DIM; i++) again[i] = (float)(int)((r >> 44) % 17) * 0.125f - 1 + 0.25f * (float)(i % 3);
      if (failed(w, ts_table_update(w->store, table, keys, n, again, w->text, sizeof w->text))) break;
      for (uint32_t i = 0; i < n; i++)
        for (uint32_t j = 0; j < DIM; j++) model[(size_t)numbers[i] * DIM + j] -= RATE * again[i * DIM + j];
    }
    if ((r >> 50) % 8 == 0) { /* gone, and new again */
      uint64_t removed;
      if (failed(w, ts_table_remove(w->store, table, keys, 1, &removed, w->text, sizeof w->text))) break;
      w->wrong += removed != 1;
      w->there[which][numbers[0]] = false;
    }
    for (uint32_t i = 0; i < n; i++) {
      numbers[i] = (uint32_t)((r >> 30) + i) % SHARED;
      keys[i] = shared_key(numbers[i]);
    }
    uint8_t found[BATCH];
    int32_t status = (r >> 54) % 2 == 0 ? ts_table_lookup(w->store, w->shared_table, keys, n, rows, w->text, sizeof w->text)
                                        : ts_table_find(w->store, w->shared_table, keys, n, 0, rows, found, w->text, sizeof w->text);
    if (failed(w, status)) break;
    uint64_t before = w->wrong;
    for (uint32_t i = 0; i < n; i++)
      w->wrong += memcmp(w->first + (size_t)numbers[i] * DIM, rows + (size_t)i * DIM, DIM * sizeof(float)) != 0;
    if (w->wrong > before) snprintf(w->text, sizeof w->text, "round %u: %llu rows that nobody changes did", round,
                                    (unsigned long long)(w->wrong - before));
    int32_t tiers[BATCH];
    if (failed(w, ts_table_lookup_tier(w->store, w->shared_table, keys, n, tiers, w->text, sizeof w->text))) break;
    for (uint32_t i = 0; i < n && w->wrong == 0; i++)
      if (tiers[i] < 0) {
        w->wrong++;
        snprintf(w->text, sizeof w->text, "round %u: a row is in no tier", round);
      }
    w->calls++;
  }
  free(rows);
  free(again);
  return NULL;
}

static void side_by_side(const storage_type *type, const char *shards, const char *eviction_threads, uint32_t threads,
                         uint32_t rounds) {
  ts_config *config = config_of_type(type,
                                     type->tiers == 1   ? "67108864"
                                     : type->tiers == 3 ? "5242880,1048576,67108864"
                                     : type->ssd        ? "4194304,67108864"
                                                        : "1048576,67108864",
                                     "all");
  ts_config_set(config, "shards", type->ssd && type->tiers > 1 ? "1" : shards, NULL, 0);
  ts_config_set(config, "eviction_threads", eviction_threads, NULL, 0);
  ts_store *store = open_config(config);
  if (store == NULL) return;
  char name[32];
  for (uint32_t t = 0; t <= THREADS; t++) {
    snprintf(name, sizeof name, "t%u", t);
    ts_config *table = CONFIG("name", name, "learning_rate", "0.5");
    set_number(table, "dim", DIM);
    add_config(store, table);
  }
  float *first = malloc(sizeof(float) * SHARED * DIM);
  int64_t *keys = malloc(sizeof(int64_t) * SHARED);
  char text[512] = "";
  for (uint32_t i = 0; i < SHARED; i++) keys[i] = shared_key(i);
  CHECK_MSG(ts_table_lookup(store, THREADS, keys, SHARED, first, text, sizeof text) == TS_OK, "%s: %s", type->name, text);
  worker workers[THREADS] = {0};
  pthread_t ids[THREADS];
  for (uint32_t i = 0; i < threads; i++) {
    worker *w = &workers[i];
    *w = (worker){.store = store, .number = i, .rounds = rounds, .shared_table = THREADS, .first = first};
    for (uint32_t k = 0; k < 2; k++) {
      w->model[k] = calloc(OWN * DIM, sizeof(float));
      w->there[k] = calloc(OWN, sizeof(bool));
    }
    if (i > 0) pthread_create(&ids[i], NULL, work, w);
  }
  work(&workers[0]);
  for (uint32_t i = 1; i < threads; i++) pthread_join(ids[i], NULL);
  CHECK(ts_store_settle(store, text, sizeof text) == TS_OK);
  uint64_t expected = SHARED, listed = 0;
  for (uint32_t i = 0; i < threads; i++) {
    worker *w = &workers[i];
    CHECK_MSG(w->wrong == 0 && w->calls == rounds, "%s, %s shards, %s eviction threads, thread %u of %u: %s", type->name,
              shards, eviction_threads, i, threads, w->text);
    for (uint32_t k = 0; k < OWN; k++) expected += w->there[1][k];
    for (uint32_t k = 0; k < 2; k++) {
      free(w->model[k]);
      free(w->there[k]);
    }
  }
  CHECK(ts_table_keys(store, THREADS, NULL, 0, &listed, text, sizeof text) == TS_OK);
  const uint64_t sum = counted_rows(store, THREADS);
  CHECK_MSG(listed == expected && sum == expected, "%s: %llu listed, %llu counted, %llu expected", type->name,
            (unsigned long long)listed, (unsigned long long)sum, (unsigned long long)expected);
  CHECK_MSG(limits_hold(store) && charges_agree(store), "%s", type->name);
  free(first);
  free(keys);
  CHECK(ts_store_close(store) == TS_OK);
}

int main(void) {
  if (!make_folder("threads")) return 1;
  const char *more = getenv("TIERSTORE_ROUNDS");
  const uint32_t rounds = more != NULL ? (uint32_t)strtoul(more, NULL, 10) : 60;
  static const char *const evictors[] = {"0", "1", "3"};
  for (uint32_t i = 0; i < STORAGE_TYPES && test_failures == 0; i++) {
#if defined(__SANITIZE_THREAD__)
    if (strstr(storage_types[i].storage, "LEVELDB") != NULL) {
      SKIP("store_concurrency_test", "%s: LevelDB is not built for the thread sanitizer", storage_types[i].name);
      continue;
    }
#endif
    side_by_side(&storage_types[i], "1", evictors[i % 3], THREADS, rounds);
    side_by_side(&storage_types[i], "16", evictors[(i + 1) % 3], THREADS - 1, rounds);
  }
  remove_folder();
  return test_result();
}
