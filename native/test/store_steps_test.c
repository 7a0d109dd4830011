/* Rows that are there step, however full the store is: every storage type with a disk below, every policy, one thread and
 * four, until every tier is full of rows, then batches of any rows and all rows. No such update is refused; what is refused,
 * because it asks for a new row too, has stepped nothing: neither weights nor versions nor frequencies. */
#include "test/foreign_threads.h"
#include "test/store_types.h"

#include <pthread.h>

#define KEYS 40000u /* that a store may be asked for */
#define MOST_THREADS 4u
#define DIM 48u
#define BATCH 2000u

typedef struct cell {
  const storage_type *type;
  const char *policy, *counts;
  ts_store *store;
  uint32_t threads, there; /* keys 0..there have rows */
  _Atomic int64_t next_new;
} cell;

typedef struct worker {
  cell *cell;
  pthread_t id;
  uint32_t number;
  uint64_t count;
  int32_t *steps; /* of each key: all weights are -steps */
  int64_t *keys;
  uint32_t refused;
  char text[512];
  bool wrong;
} worker;

static void fail(worker *w, const char *what) {
  char why[512];
  snprintf(why, sizeof why, "%s", w->text);
  snprintf(w->text, sizeof w->text, "%.100s: %.380s", what, why);
  w->wrong = true;
}

static uint64_t any(worker *w, uint64_t n) { return ts_random64(77 + w->number, ++w->count, 3) % n; }

/* Each row has taken the steps it should have. */
static void check(worker *w, uint64_t n) {
  static _Thread_local float rows[BATCH * DIM];
  static _Thread_local uint8_t found[BATCH];
  static _Thread_local uint64_t frequencies[BATCH];
  static _Thread_local int64_t versions[BATCH];
  for (uint64_t at = 0; at < n && !w->wrong; at += BATCH) {
    const uint64_t m = TS_MIN(n - at, BATCH);
    const int64_t *keys = w->keys + at;
    if (ts_table_find(w->cell->store, 0, keys, m, 0, rows, found, w->text, sizeof w->text) != TS_OK) return fail(w, "find");
    if (ts_table_metadata(w->cell->store, 0, keys, m, frequencies, versions, w->text, sizeof w->text) != TS_OK)
      return fail(w, "metadata");
    for (uint64_t i = 0; i < m; i++) {
      if (keys[i] >= (int64_t)w->cell->there) continue;
      if (!found[i]) return fail(w, "a row is lost");
      for (uint32_t j = 0; j < DIM; j++)
        if (rows[i * DIM + j] != -(float)w->steps[keys[i]]) return fail(w, "a row has not taken its steps");
      if (frequencies[i] != 1 || (versions[i] >= 0) != (w->steps[keys[i]] > 0)) return fail(w, "a row's metadata changed");
    }
  }
}

/* Own keys, all different: every `threads`th. */
static uint64_t choose(worker *w, uint64_t n) {
  const uint64_t own = w->cell->there / w->cell->threads, stride = 1 + any(w, 7), from = any(w, own);
  n = TS_MIN(n, own / stride);
  for (uint64_t i = 0; i < n; i++) w->keys[i] = (int64_t)((from + i * stride) % own * w->cell->threads + w->number);
  return n;
}

static void step(worker *w, uint64_t n, bool refusable) {
  static _Thread_local float *gradients;
  if (gradients == NULL) gradients = malloc(sizeof(float) * DIM * KEYS);
  for (uint64_t i = 0; i < n * DIM; i++) gradients[i] = 1;
  const int32_t status = ts_table_update(w->cell->store, 0, w->keys, n, gradients, w->text, sizeof w->text);
  free(gradients);
  gradients = NULL;
  if (status == TS_OK)
    for (uint64_t i = 0; i < n; i++) w->steps[w->keys[i]]++;
  else if (status == TS_EFULL && refusable)
    w->refused++;
  else
    return fail(w, "an update of rows that are there was refused");
  check(w, n);
  if (!limits_hold(w->cell->store)) fail(w, "a limit is exceeded");
}

static void *work(void *argument) {
  worker *w = argument;
  for (uint32_t round = 0; round < 10 && !w->wrong; round++) {
    step(w, choose(w, round == 5 ? KEYS : 1 + any(w, 1500)), false);
    if (w->wrong || round % 3 != 1) continue;
    /* The same with new rows, of which there are more than places. */
    uint64_t n = choose(w, 300);
    for (uint64_t i = 0; i < n; i += 2) w->keys[i] = atomic_fetch_add(&w->cell->next_new, 1);
    for (uint64_t i = 0; i < n; i += 2) w->keys[i] = TS_MIN(w->keys[i], (int64_t)KEYS - 1);
    step(w, n, true);
  }
  if (!w->wrong) check(w, choose(w, KEYS));
  return NULL;
}

/* Looks keys up until the store refuses. */
static uint32_t fill(ts_store *store, const char *name) {
  char text[512];
  static int64_t keys[50];
  static float rows[50 * DIM];
  for (uint32_t first = 0; first < KEYS; first += 50) {
    for (uint32_t i = 0; i < 50; i++) keys[i] = first + i;
    const int32_t status = ts_table_lookup(store, 0, keys, 50, rows, text, sizeof text);
    if (status == TS_OK) continue;
    CHECK_MSG(status == TS_EFULL, "%s: %s", name, text);
    return first;
  }
  CHECK_MSG(false, "%s takes everything", name);
  return KEYS;
}

static void run_cell(cell *c, const char *sizes) {
  ts_config *config = config_of_type(c->type, sizes, c->counts);
  ts_config_set(config, "policy", c->policy, NULL, 0);
  set_number(config, "eviction_threads", c->threads > 1 ? 1 : 0);
  c->store = open_config(config);
  if (c->store == NULL) return;
  config = CONFIG("name", "t", "learning_rate", "1", "initializer", "constant", "record_version", "1", "record_frequency", "1");
  set_number(config, "dim", DIM);
  add_config(c->store, config);
  c->there = fill(c->store, c->type->name);
  atomic_store(&c->next_new, c->there + 100);
  worker *workers = calloc(c->threads, sizeof *workers);
  for (uint32_t i = 0; i < c->threads; i++) {
    workers[i] = (worker){.cell = c, .number = i};
    workers[i].steps = calloc(2 * KEYS, sizeof *workers[i].steps);
    workers[i].keys = calloc(KEYS, sizeof *workers[i].keys);
    pthread_create(&workers[i].id, NULL, work, &workers[i]);
  }
  uint32_t refused = 0;
  for (uint32_t i = 0; i < c->threads; i++) {
    pthread_join(workers[i].id, NULL);
    refused += workers[i].refused;
    CHECK_MSG(!workers[i].wrong, "%s, %s, %s, %u threads, %u rows: %s", c->type->name, c->counts, c->policy, c->threads,
              c->there, workers[i].text);
    free(workers[i].steps);
    free(workers[i].keys);
  }
  free(workers);
  CHECK_MSG(refused > 0 || test_failures > 0, "%s, %s: nothing was refused", c->type->name, c->counts);
  char text[512] = "";
  CHECK_MSG(ts_store_settle(c->store, text, sizeof text) == TS_OK, "%s: %s", c->type->name, text);
  CHECK_MSG(limits_hold(c->store) && charges_agree(c->store), "%s, %s", c->type->name, c->counts);
  if (getenv("TIERSTORE_SHOW") != NULL)
    fprintf(stderr, "%s, %s, %s, %u threads: %u rows, %u refused\n", c->type->name, c->counts, c->policy, c->threads, c->there,
            refused);
  CHECK(ts_store_close(c->store) == TS_OK);
}

int main(void) {
  if (!make_folder("steps")) return 1;
  const char *every = getenv("TIERSTORE_STEPS"); /* "all": each policy with each type; otherwise one after the other */
  for (uint32_t i = getenv("FROM") ? atoi(getenv("FROM")) : 0; i < STORAGE_TYPES; i++) {
    const storage_type *type = &storage_types[i];
#if defined(__SANITIZE_THREAD__)
    if (strstr(type->storage, "LEVELDB") != NULL) continue; /* it is not instrumented, all reports would be about it */
#endif
    const char *few = type->tiers == 1 ? "400000" : type->tiers == 2 ? "300000,900000" : "300000,200000,900000";
    const char *all = type->tiers == 1   ? (type->ssd ? "6291456" : "1048576")
                      : type->tiers == 3 ? "5242880,262144,1310720"
                      : type->ssd        ? "5242880,1310720"
                                         : "1048576,262144";
    for (uint32_t p = 0; p < (type->tiers > 1 ? TS_POLICIES : 1); p++)
      for (uint32_t t = 0; t < 4 && test_failures == 0; t++) {
        if (every == NULL && type->tiers > 1 && (p + t + i) % 6 != 0) continue;
        cell c = {.type = type, .policy = ts_policy_names[p], .counts = t % 2 == 0 ? "all" : "rows",
                  .threads = t < 2 ? 1 : MOST_THREADS};
        run_cell(&c, t % 2 == 0 ? all : few);
      }
  }
  remove_folder();
  return test_result();
}
