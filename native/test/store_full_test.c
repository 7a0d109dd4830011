/* Every policy on every storage type, with every tier full: budgets of a few dozen rows to a few thousand, several times as
 * many keys, so that rows move through all tiers all the time and the last one refuses. Seeded random calls: lookups and
 * updates of rows and of bags, read-only lookups, removals, new tables, questions. By one thread, and by four at once.
 *
 * Each thread keeps what its own keys must be, to the bit: whether a key has a row, and its weights (plain gradient descent
 * with steps that are exact). A refused call may have created rows and must have changed none. After every call the limits
 * hold; at the end the charges agree and every row is in one tier.
 *
 * A failure prints the cell and the seed; the program runs that seed alone, in all cells, when it is given. In the
 * environment, for long runs: TIERSTORE_STORES, a sixtieth of which is the seeds a cell, and TIERSTORE_ROUNDS, calls a
 * thread. */
#include "test/foreign_threads.h"
#include "test/store_types.h"

#include <pthread.h>

#define ROUNDS 32u
#define TABLES 3u
#define KEYS 800u /* of a table, shared out between the threads */
#define LONGEST 1500u
#define MOST_THREADS 4u
#define RATE 0.5f

/* Wide rows fill the smallest tiers that there are where everything counts. */
static const uint32_t narrow[] = {1, 2, 5, 16, 33, 64}, wide[] = {700, 850, 1000};
#define MOST_DIM 1000u
#define MOST_VALUES 100000u /* of a batch */

/* One store, and what all threads know of it. */
typedef struct cell {
  const storage_type *type;
  const char *policy;
  uint64_t seed; /* of the calls; all stores have the same, so that new rows are the same */
  uint32_t threads, rounds;
  bool rows_only; /* only rows count; or everything does */
  ts_store *store;
  uint32_t dim[TABLES];
  float *first[TABLES]; /* [KEYS][dim]: what new rows have */
  _Atomic uint32_t tables;
} cell;

typedef struct worker {
  cell *cell;
  uint32_t number;
  uint64_t counter, refused, wrong;
  bool *there[TABLES];  /* [KEYS], its own keys */
  float *rows[TABLES];  /* [KEYS][dim] */
  uint32_t numbers[LONGEST];
  int64_t keys[LONGEST];
  uint64_t n;
  float values[MOST_VALUES], sums[MOST_VALUES];
  char text[640], message[512];
} worker;

#define ERR w->message, sizeof w->message

static uint64_t any(worker *w, uint64_t below) {
  return ts_random64(w->cell->seed, 16 + w->number, w->counter++) % below;
}

static int64_t key_of(uint32_t i) { return i % 2 == 0 ? (int64_t)i : i % 4 == 1 ? -(int64_t)i : (int64_t)ts_mix64(i); }

static void fail(worker *w, const char *what) {
  if (w->wrong++ == 0) snprintf(w->text, sizeof w->text, "%s; last message: %s", what, w->message);
}

/* ---- what must be ---- */

static float *row_of(worker *w, uint32_t t, uint32_t i) { return w->rows[t] + (size_t)i * w->cell->dim[t]; }
static const float *first_of(const worker *w, uint32_t t, uint32_t i) {
  return w->cell->first[t] + (size_t)i * w->cell->dim[t];
}

static void create_row(worker *w, uint32_t t, uint32_t i) {
  if (w->there[t][i]) return;
  w->there[t][i] = true;
  memcpy(row_of(w, t, i), first_of(w, t, i), w->cell->dim[t] * sizeof(float));
}

static void create_batch(worker *w, uint32_t t) {
  for (uint64_t i = 0; i < w->n; i++) create_row(w, t, w->numbers[i]);
}

/* Gradients of equal keys are summed in the order of the batch; what stands in for the sum of a key is its first place. */
static void step_batch(worker *w, uint32_t t) {
  static _Thread_local uint64_t place[KEYS];
  const uint32_t dim = w->cell->dim[t];
  memset(place, 0, sizeof place);
  for (uint64_t i = 0; i < w->n; i++) {
    const uint32_t k = w->numbers[i];
    const float *g = w->values + i * dim;
    if (place[k] == 0) {
      place[k] = i + 1;
      memcpy(w->sums + i * dim, g, dim * sizeof *g);
    } else {
      for (uint32_t j = 0; j < dim; j++) w->sums[(place[k] - 1) * dim + j] += g[j];
    }
  }
  for (uint64_t i = 0; i < w->n; i++) {
    float *row = row_of(w, t, w->numbers[i]);
    if (place[w->numbers[i]] != i + 1) continue;
    for (uint32_t j = 0; j < dim; j++) row[j] -= RATE * w->sums[i * dim + j];
  }
}

/* All own rows of a table by a read-only lookup, in pieces. */
static void check_rows(worker *w, uint32_t t) {
  const uint32_t dim = w->cell->dim[t];
  uint8_t found[LONGEST];
  for (uint32_t from = w->number; from < KEYS && w->wrong == 0;) {
    uint32_t n = 0;
    for (; n < TS_MIN(300, MOST_VALUES / dim) && from < KEYS; from += w->cell->threads) {
      w->numbers[n] = from;
      w->keys[n++] = key_of(from);
    }
    if (ts_table_find(w->cell->store, t, w->keys, n, 0, w->values, found, ERR) != TS_OK) return fail(w, "find failed");
    for (uint32_t i = 0; i < n; i++) {
      const uint32_t k = w->numbers[i];
      if (found[i] != w->there[t][k]) return fail(w, found[i] ? "a removed row is there" : "a row is lost");
      if (found[i] && memcmp(w->values + (size_t)i * dim, row_of(w, t, k), dim * sizeof(float)) != 0)
        return fail(w, "a row is wrong");
    }
  }
}

/* The rows of the batch. */
static void check_batch(worker *w, uint32_t t) {
  const uint32_t dim = w->cell->dim[t];
  uint8_t found[LONGEST];
  if (ts_table_find(w->cell->store, t, w->keys, w->n, 0, w->values, found, ERR) != TS_OK) return fail(w, "find failed");
  for (uint64_t i = 0; i < w->n; i++) {
    const uint32_t k = w->numbers[i];
    if (found[i] != w->there[t][k]) return fail(w, "after a refusal a row is lost");
    if (found[i] && memcmp(w->values + i * dim, row_of(w, t, k), dim * sizeof(float)) != 0)
      return fail(w, "a refused call has changed a row");
  }
}

/* New rows of the batch may stay; every other row is as before. */
static void follow_refusal(worker *w, uint32_t t, int32_t status) {
  int32_t tiers[LONGEST];
  w->refused++;
  if (status != TS_EFULL) return fail(w, "a call failed");
  if (ts_table_lookup_tier(w->cell->store, t, w->keys, w->n, tiers, ERR) != TS_OK) return fail(w, "tiers failed");
  for (uint64_t i = 0; i < w->n; i++)
    if (tiers[i] >= 0) create_row(w, t, w->numbers[i]);
  if (any(w, 4) == 0) return check_rows(w, t);
  check_batch(w, t);
}

/* ---- the calls ---- */

static void fill_batch(worker *w, uint32_t t) {
  const uint32_t own = KEYS / w->cell->threads, range = 1 + (uint32_t)any(w, own), from = (uint32_t)any(w, own);
  const uint64_t longest = TS_MIN(LONGEST, MOST_VALUES / w->cell->dim[t]);
  w->n = any(w, 10) == 0 ? any(w, longest) : any(w, 100);
  for (uint64_t i = 0; i < w->n; i++) {
    w->numbers[i] = (uint32_t)((from + any(w, range)) % own) * w->cell->threads + w->number;
    w->keys[i] = key_of(w->numbers[i]);
  }
}

static void fill_values(worker *w, uint32_t dim) {
  const uint64_t r = any(w, UINT64_MAX);
  for (uint64_t i = 0; i < w->n * dim; i++) w->values[i] = (float)(int)((r + i * 7) % 33) * 0.125f - 2;
}

static void compare_batch(worker *w, uint32_t t) {
  const uint32_t dim = w->cell->dim[t];
  for (uint64_t i = 0; i < w->n; i++) {
    const float *row = row_of(w, t, w->numbers[i]);
    for (uint32_t j = 0; j < dim; j++) /* a bag adds to 0: it has no -0 */
      if (w->values[i * dim + j] != row[j]) return fail(w, "a lookup gave a wrong row");
  }
}

static void look_up(worker *w, uint32_t t, const uint64_t *offsets) {
  ts_store *store = w->cell->store;
  const int32_t status =
      offsets == NULL ? ts_table_lookup(store, t, w->keys, w->n, w->values, ERR)
                      : ts_table_lookup_bags(store, t, w->keys, offsets, w->n, NULL, TS_COMBINER_SUM, 0, w->values, ERR);
  if (status != TS_OK) return follow_refusal(w, t, status);
  create_batch(w, t);
  compare_batch(w, t);
}

static void update(worker *w, uint32_t t, const uint64_t *offsets) {
  ts_store *store = w->cell->store;
  fill_values(w, w->cell->dim[t]);
  const int32_t status =
      offsets == NULL ? ts_table_update(store, t, w->keys, w->n, w->values, ERR)
                      : ts_table_update_bags(store, t, w->keys, offsets, w->n, NULL, TS_COMBINER_SUM, w->values, ERR);
  if (status != TS_OK) return follow_refusal(w, t, status);
  create_batch(w, t);
  step_batch(w, t);
}

static void remove_some(worker *w, uint32_t t, bool many) {
  uint64_t removed = 0, expected = 0;
  if (!many) w->n = TS_MIN(w->n, 40);
  if (ts_table_remove(w->cell->store, t, w->keys, w->n, &removed, ERR) != TS_OK) return fail(w, "remove failed");
  for (uint64_t i = 0; i < w->n; i++) {
    expected += w->there[t][w->numbers[i]];
    w->there[t][w->numbers[i]] = false;
  }
  if (removed != expected) fail(w, "removed is not what was there");
}

/* What the store says of itself is within its limits. */
static void ask(worker *w) {
  char text[4096], *rest = NULL;
  uint64_t needed, statistics[TS_STATISTIC_COUNT];
  if (ts_store_memory(w->cell->store, text, sizeof text, &needed) != TS_OK) return fail(w, "memory failed");
  for (char *line = strtok_r(text, "\n", &rest); line != NULL; line = strtok_r(NULL, "\n", &rest)) {
    unsigned tier;
    unsigned long long limit, used;
    if (sscanf(line, "tier=%u limit=%llu used=%llu", &tier, &limit, &used) == 3 && used > limit)
      return fail(w, "memory() tells of more than a limit");
  }
  if (ts_store_statistics(w->cell->store, statistics, TS_STATISTIC_COUNT, NULL, ERR) != TS_OK) fail(w, "statistics failed");
}

static void name_table(char name[32], uint32_t t, uint32_t dim) { snprintf(name, 32, "t%u of %u", t, dim); }

static void add_table(worker *w) {
  cell *c = w->cell;
  const uint32_t t = atomic_load(&c->tables);
  char name[32];
  uint32_t number;
  if (t == TABLES) return;
  name_table(name, t, c->dim[t]);
  ts_config *config = CONFIG("name", name, "learning_rate", "0.5");
  set_number(config, "dim", c->dim[t]);
  set_number(config, "record_frequency", c->seed >> t & 1);
  set_number(config, "record_version", c->seed >> (t + 1) & 1);
  const int32_t status = ts_table_create(c->store, config, &number, ERR);
  ts_config_free(config);
  if (status == TS_OK) atomic_store(&c->tables, t + 1);
  else if (status != TS_EFULL) fail(w, "a table could not be added");
}

static void one_call(worker *w, uint32_t round) {
  cell *c = w->cell;
  if (w->number == 0 && round % 16 == 15) add_table(w);
  const uint32_t tables = atomic_load(&c->tables), t = (uint32_t)any(w, tables);
  uint64_t offsets[LONGEST + 1];
  for (uint64_t i = 0; i <= LONGEST; i++) offsets[i] = i; /* bags of one key: the row itself, or its gradient */
  fill_batch(w, t);
  const uint64_t kind = any(w, 20);
  if (kind < 8) look_up(w, t, NULL);
  else if (kind < 9) look_up(w, t, offsets);
  else if (kind < 15) update(w, t, NULL);
  else if (kind < 16) update(w, t, offsets);
  else if (kind < 18) remove_some(w, t, any(w, 8) == 0);
  else if (kind < 19) check_rows(w, t);
  else ask(w);
  if (!limits_hold(c->store)) fail(w, "a limit is exceeded");
}

/* Asks for all own keys, so that all tiers are full. */
static void fill_up(worker *w, uint32_t t) {
  for (uint32_t from = w->number; from < KEYS && w->wrong == 0;) {
    for (w->n = 0; w->n < 100 && from < KEYS; from += w->cell->threads) {
      w->numbers[w->n] = from;
      w->keys[w->n++] = key_of(from);
    }
    look_up(w, t, NULL);
  }
}

static void *work(void *argument) {
  worker *w = argument;
  for (uint32_t t = 0; t < atomic_load(&w->cell->tables) && w->wrong == 0; t++) fill_up(w, t);
  for (uint32_t round = 0; round < w->cell->rounds && w->wrong == 0; round++) one_call(w, round);
  for (uint32_t t = 0; t < atomic_load(&w->cell->tables) && w->wrong == 0; t++) check_rows(w, t);
  return NULL;
}

/* ---- a cell of the matrix ---- */

/* What new rows have comes from a store that has room for all; it serves every cell. */
static float *first_values(uint32_t t, uint32_t dim) {
  static ts_store *store;
  static float *known[TABLES][MOST_DIM + 1];
  if (t == TABLES) { /* the end */
    for (uint32_t i = 0; i < TABLES * (MOST_DIM + 1); i++) free(known[i / (MOST_DIM + 1)][i % (MOST_DIM + 1)]);
    ts_store_close(store);
    return NULL;
  }
  if (known[t][dim] != NULL) return known[t][dim];
  char name[32], message[512];
  name_table(name, t, dim);
  if (store == NULL) store = open_config(CONFIG("storage", "DRAM"));
  ts_config *config = CONFIG("name", name);
  set_number(config, "dim", dim);
  const uint32_t table = add_config(store, config);
  static int64_t keys[KEYS];
  for (uint32_t i = 0; i < KEYS; i++) keys[i] = key_of(i);
  known[t][dim] = malloc(sizeof(float) * KEYS * dim);
  CHECK(ts_table_lookup(store, table, keys, KEYS, known[t][dim], message, sizeof message) == TS_OK);
  return known[t][dim];
}

/* Where only rows count, the tiers have about half of the rows of two tables; where everything does, they are about as small as
 * they may be. */
static ts_store *open_full(const cell *c) {
  const uint64_t r = ts_random64(c->seed, 1, 0);
  uint64_t sizes[3] = {0}, all = 0;
  for (uint32_t t = 0; t < 2; t++) all += (uint64_t)KEYS * (TS_ROUND_UP(c->dim[t], 4) * 4);
  for (uint32_t t = 0; t < c->type->tiers; t++) {
    const bool last = t + 1 == c->type->tiers, leveldb = strstr(c->type->storage, "LEVELDB") != NULL;
    if (c->rows_only)
      sizes[t] = all / (last ? 4 : 10) + r % (all / 16);
    else if (t == 0)
      sizes[t] = (c->type->ssd ? (leveldb ? 5u << 20 : 4u << 20) : 1u << 20) + r % (64u << 10);
    else
      sizes[t] = (last && c->type->ssd ? 512u << 10 : 64u << 10) + r % (64u << 10);
  }
  char text[96];
  snprintf(text, sizeof text, c->type->tiers == 1 ? "%llu" : c->type->tiers == 2 ? "%llu,%llu" : "%llu,%llu,%llu",
           (unsigned long long)sizes[0], (unsigned long long)sizes[1], (unsigned long long)sizes[2]);
  ts_config *config = config_of_type(c->type, text, c->rows_only ? "rows" : "all");
  set_number(config, "eviction_threads", (r >> 32) % 3);
  set_number(config, "shards", c->rows_only ? UINT64_C(1) << (r >> 40) % 3 : 1);
  ts_config_set(config, "policy", c->policy, NULL, 0);
  return open_config(config);
}

static void run_cell(cell *c) {
  c->rows_only = ts_random64(c->seed, 2, 0) % 2 == 0;
  for (uint32_t t = 0; t < TABLES; t++) {
    const uint64_t r = ts_random64(c->seed, 3, t);
    c->dim[t] = c->rows_only ? narrow[r % (sizeof narrow / sizeof *narrow)] : wide[r % (sizeof wide / sizeof *wide)];
  }
  c->store = open_full(c);
  if (c->store == NULL) return;
  for (uint32_t t = 0; t < TABLES; t++) c->first[t] = first_values(t, c->dim[t]);
  worker *workers = calloc(c->threads, sizeof *workers);
  pthread_t ids[MOST_THREADS];
  for (uint32_t i = 0; i < c->threads; i++) {
    workers[i].cell = c;
    workers[i].number = i;
    for (uint32_t t = 0; t < TABLES; t++) {
      workers[i].there[t] = calloc(KEYS, sizeof(bool));
      workers[i].rows[t] = calloc((size_t)KEYS * c->dim[t], sizeof(float));
    }
  }
  add_table(&workers[0]);
  add_table(&workers[0]); /* the third comes later */
  const uint32_t threads = atomic_load(&c->tables) == 0 ? 0 : c->threads;
  CHECK_MSG(threads > 0, "%s: %s", c->type->name, workers[0].message);
  for (uint32_t i = 1; i < threads; i++) pthread_create(&ids[i], NULL, work, &workers[i]);
  if (threads > 0) work(&workers[0]);
  for (uint32_t i = 1; i < threads; i++) pthread_join(ids[i], NULL);
  char message[512] = "";
  uint64_t refused = 0;
  CHECK_MSG(ts_store_settle(c->store, message, sizeof message) == TS_OK, "%s: %s", c->type->name, message);
  for (uint32_t i = 0; i < threads; i++) {
    refused += workers[i].refused;
    CHECK_MSG(workers[i].wrong == 0, "%s, %s, seed %llu, thread %u of %u: %s", c->type->name, c->policy,
              (unsigned long long)c->seed, i, threads, workers[i].text);
  }
  CHECK_MSG(refused > 0 || test_failures > 0, "%s, %s, seed %llu: no call was refused, so the last tier was not full",
            c->type->name, c->policy, (unsigned long long)c->seed);
  for (uint32_t t = 0; t < atomic_load(&c->tables) && test_failures == 0; t++) {
    uint64_t listed = 0, expected = 0;
    for (uint32_t i = 0; i < threads; i++)
      for (uint32_t k = 0; k < KEYS; k++) expected += workers[i].there[t][k];
    const uint64_t counted = counted_rows(c->store, t);
    CHECK(ts_table_keys(c->store, t, NULL, 0, &listed, message, sizeof message) == TS_OK);
    CHECK_MSG(listed == expected && counted == expected, "%s, %s, seed %llu: %llu rows counted, %llu listed, %llu expected",
              c->type->name, c->policy, (unsigned long long)c->seed, (unsigned long long)counted, (unsigned long long)listed,
              (unsigned long long)expected);
  }
  CHECK_MSG(limits_hold(c->store) && charges_agree(c->store), "%s, %s, seed %llu", c->type->name, c->policy,
            (unsigned long long)c->seed);
  if (getenv("TIERSTORE_SHOW") != NULL)
    fprintf(stderr, "%s, %s, seed %llu, %u threads: %llu refused\n", c->type->name, c->policy, (unsigned long long)c->seed,
            threads, (unsigned long long)refused);
  for (uint32_t t = 0; t < TABLES; t++)
    for (uint32_t i = 0; i < c->threads; i++) {
      free(workers[i].there[t]);
      free(workers[i].rows[t]);
    }
  free(workers);
  CHECK(ts_store_close(c->store) == TS_OK);
}

static uint64_t from_environment(const char *name, uint64_t otherwise) {
  const char *text = getenv(name);
  return text != NULL ? strtoull(text, NULL, 10) : otherwise;
}

int main(int count, char **arguments) {
  if (!make_folder("full")) return 1;
  const uint64_t only = count > 1 ? strtoull(arguments[1], NULL, 10) : 0;
  const uint64_t seeds = only != 0 ? 1 : TS_MAX(from_environment("TIERSTORE_STORES", 60) / 60, 1);
  const uint32_t rounds = (uint32_t)from_environment("TIERSTORE_ROUNDS", ROUNDS);
  uint64_t seed = 0;
  for (uint64_t s = 0; s < seeds; s++)
    for (uint32_t i = 0; i < STORAGE_TYPES; i++) {
      const storage_type *type = &storage_types[i];
#if defined(__SANITIZE_THREAD__)
      if (strstr(type->storage, "LEVELDB") != NULL) {
        SKIP("store_full_test", "%s: LevelDB is not built for the thread sanitizer", type->name);
        continue;
      }
#endif
      for (uint32_t p = 0; p < (type->tiers > 1 ? TS_POLICIES : 1); p++)
        for (uint32_t threads = 1; threads <= MOST_THREADS && test_failures == 0; threads += MOST_THREADS - 1) {
          cell here = {.type = type, .policy = ts_policy_names[p], .seed = only != 0 ? only : ++seed,
                       .threads = threads, .rounds = rounds};
          run_cell(&here);
        }
    }
  first_values(TABLES, 0);
  remove_folder();
  return test_result();
}
