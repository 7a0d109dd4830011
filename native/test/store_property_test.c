/* Random stores against a plain map: seeded budgets, tables, widths, optimizers and batches on every storage type that
 * opens here. The store must agree with the map (rows read, which rows exist, their weights and slots, one tier a row),
 * stay within every limit after every call with nothing charged twice or forgotten, and change nothing when it refuses.
 * A failure prints the seed of its store; the program runs that one alone when given the seed. */
#include "store/store.h"
#include "test/check.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STORES 20u
#define STEPS 165u
#define CHECK_EVERY 15u /* calls between two comparisons of all rows */
#define TABLES 4u
#define KEYS 2000u /* different keys of a table */
#define LONGEST 4000u

static char message[512], folder[64];
#define ERR message, sizeof message

/* What a table must hold: slots of weights by number of the key. */
typedef struct model {
  uint32_t dim, slots, optimizer;
  float learning_rate;
  bool *there;
  float *rows; /* [KEYS][slots][dim] */
  float *first; /* [KEYS][slots][dim]: a new row, taken from a store of its own */
  uint64_t count;
} model;

typedef struct world {
  uint64_t seed, counter, digest;
  ts_store *store;
  uint32_t tables;
  model table[TABLES];
} world;

static uint64_t any(world *w, uint64_t below) { return ts_random64(w->seed, 1, w->counter++) % below; }

/* Key number i: small ones, negative ones, extremes. */
static int64_t key_of(uint32_t i) {
  switch (i) {
    case 0: return INT64_MIN;
    case 1: return INT64_MAX;
    case 2: return 0;
    case 3: return -1;
    default: return i % 2 == 0 ? (int64_t)i : (int64_t)ts_mix64(i);
  }
}

static const char *const optimizers[] = {"sgd", "adagrad", "ftrl", "ftrl-row-norm"};

static void set(ts_config *config, const char *key, const char *format, unsigned long long value) {
  char text[64];
  snprintf(text, sizeof text, format, value);
  CHECK(ts_config_set(config, key, text, NULL, 0) == TS_OK);
}

static int32_t add_table(ts_store *store, const model *m, uint32_t number) {
  ts_config *config;
  CHECK(ts_config_create(&config) == TS_OK);
  set(config, "name", "table-%llu", number);
  set(config, "dim", "%llu", m->dim);
  ts_config_set(config, "optimizer", optimizers[m->optimizer], NULL, 0);
  if (m->optimizer >= 2) ts_config_set(config, "l1", "0.01", NULL, 0);
  uint32_t table;
  int32_t status = ts_table_create(store, config, &table, ERR);
  ts_config_free(config);
  CHECK(status != TS_OK || table == number);
  return status;
}

/* First values come from a store of DRAM that looks each key up alone; the steps are computed with the rule's kernel,
 * which the store test holds against formulas. */
static void make_model(world *w, uint32_t t) {
  model *m = &w->table[t];
  static const uint32_t slots[] = {1, 2, 3, 3};
  static const uint32_t dims[] = {1, 3, 4, 16, 17, 33, 64};
  m->dim = dims[any(w, sizeof dims / sizeof *dims)];
  if (any(w, 12) == 0) m->dim = 2500;
  m->optimizer = (uint32_t)any(w, 4);
  m->slots = slots[m->optimizer];
  m->learning_rate = 0.01f;
  m->count = 0;
  size_t floats = (size_t)m->slots * m->dim;
  m->there = calloc(KEYS, sizeof *m->there);
  m->rows = calloc(KEYS * floats, sizeof(float));
  m->first = calloc(KEYS * floats, sizeof(float));
}

static void free_model(model *m) {
  free(m->there);
  free(m->rows);
  free(m->first);
}

static void learn_first_values(world *w, uint32_t t) {
  model *m = &w->table[t];
  ts_config *config;
  ts_store *store = NULL;
  ts_config_create(&config);
  ts_config_set(config, "storage", "DRAM", NULL, 0);
  set(config, "seed", "%llu", w->seed);
  CHECK_MSG(ts_store_open(config, &store, ERR) == TS_OK, "%s", message);
  ts_config_free(config);
  for (uint32_t before = 0; before <= t; before++) CHECK(add_table(store, &w->table[before], before) == TS_OK);
  static float row[4096];
  for (uint32_t i = 0; i < KEYS; i++) {
    int64_t key = key_of(i);
    CHECK(ts_table_lookup(store, t, &key, 1, row, ERR) == TS_OK);
    for (uint32_t s = 0; s < m->slots; s++)
      ts_table_find(store, t, &key, 1, s, m->first + ((size_t)i * m->slots + s) * m->dim, NULL, ERR);
  }
  ts_store_close(store);
}

static void create_row(model *m, uint32_t i) {
  if (m->there[i]) return;
  m->there[i] = true;
  m->count++;
  size_t floats = (size_t)m->slots * m->dim;
  memcpy(m->rows + i * floats, m->first + i * floats, floats * sizeof(float));
}

static void step_row(model *m, uint32_t i, const float *gradient) {
  static float row[3 * 4096];
  ts_optimizer o = {.kind = (ts_optimizer_kind)m->optimizer, .learning_rate = m->learning_rate,
                    .l1 = m->optimizer >= 2 ? 0.01f : 0};
  ts_optimizer_prepare(&o, TS_FP32, m->dim, false, false, 0, ts_cpu_level());
  ts_optimizer_call call;
  ts_optimizer_begin(&o, 0, &call);
  uint32_t padded = TS_ROUND_UP(m->dim, 4u);
  float *slots = m->rows + (size_t)i * m->slots * m->dim;
  void *at = row;
  for (uint32_t s = 0; s < m->slots; s++) memcpy(row + s * padded, slots + (size_t)s * m->dim, m->dim * sizeof(float));
  o.apply(&o, &call, &at, &gradient, NULL, 1);
  for (uint32_t s = 0; s < m->slots; s++) memcpy(slots + (size_t)s * m->dim, row + s * padded, m->dim * sizeof(float));
}

/* Limits hold, and what is charged is what is there: rows, or all that was reserved. */
static void within_limits(const world *w) {
  for (uint32_t t = 0; t < w->store->tier_count; t++) {
    uint64_t used = atomic_load(&w->store->tiers[t].budget.used);
    CHECK_MSG(used <= w->store->tiers[t].budget.limit, "seed %llu: tier %u uses %llu of %llu bytes",
              (unsigned long long)w->seed, t, (unsigned long long)used,
              (unsigned long long)w->store->tiers[t].budget.limit);
    uint64_t there = 0;
    if (w->store->rows_only)
      for (uint32_t i = 0; i < w->tables; i++) {
        const ts_table *table = w->store->tables[i];
        for (uint32_t s = 0; t < w->store->memory_tiers && s < table->shard_count; s++)
          there += table->shards[s].rows[t].live * table->layout.stride;
      }
    else
      for (uint32_t p = 0; p < TS_PURPOSES; p++) there += atomic_load(&w->store->tiers[t].budget.reserved[p]);
    CHECK_MSG(used == there, "seed %llu: tier %u: %llu bytes charged, %llu there", (unsigned long long)w->seed, t,
              (unsigned long long)used, (unsigned long long)there);
  }
}

/* Every row of the table by read-only lookups, every slot, and the counts. */
static void agrees(const world *w, uint32_t t) {
  const model *m = &w->table[t];
  static int64_t keys[KEYS];
  static uint8_t found[KEYS];
  static int32_t tiers[KEYS];
  float *rows = malloc((size_t)KEYS * m->dim * sizeof(float));
  for (uint32_t i = 0; i < KEYS; i++) keys[i] = key_of(i);
  uint64_t wrong = 0, placed[2] = {0}, counts[2], listed;
  for (uint32_t s = 0; s < m->slots; s++) {
    CHECK(ts_table_find(w->store, t, keys, KEYS, s, rows, found, ERR) == TS_OK);
    for (uint32_t i = 0; i < KEYS; i++) {
      wrong += found[i] != m->there[i];
      if (found[i] && m->there[i])
        wrong += memcmp(rows + (size_t)i * m->dim, m->rows + ((size_t)i * m->slots + s) * m->dim,
                        m->dim * sizeof(float)) != 0;
    }
  }
  CHECK(ts_table_lookup_tier(w->store, t, keys, KEYS, tiers, ERR) == TS_OK);
  for (uint32_t i = 0; i < KEYS; i++) {
    wrong += (tiers[i] >= 0) != m->there[i];
    if (tiers[i] >= 0) placed[tiers[i]]++;
  }
  CHECK(ts_table_rows(w->store, t, counts, 2, ERR) == TS_OK);
  CHECK(ts_table_keys(w->store, t, NULL, 0, &listed, ERR) == TS_OK);
  CHECK_MSG(wrong == 0 && placed[0] == counts[0] && placed[1] == counts[1] && listed == m->count,
            "seed %llu, table %u: %llu differences, %llu + %llu rows counted, %llu listed, %llu expected",
            (unsigned long long)w->seed, t, (unsigned long long)wrong, (unsigned long long)counts[0],
            (unsigned long long)counts[1], (unsigned long long)listed, (unsigned long long)m->count);
  free(rows);
}

static void one_call(world *w, uint32_t step) {
  uint32_t t = (uint32_t)any(w, w->tables);
  if (step > STEPS / 4 && any(w, 10) != 0) t = 0; /* the other tables grow old: their memory moves */
  model *m = &w->table[t];
  bool update = any(w, 3) == 0;
  uint64_t longest = TS_MIN(LONGEST, 400000 / m->dim), n = any(w, 12) == 0 ? any(w, longest) : any(w, 200);
  uint64_t range = 1 + any(w, KEYS), from = any(w, KEYS);
  uint32_t *numbers = malloc((n + 1) * sizeof *numbers);
  int64_t *keys = malloc((n + 1) * sizeof *keys);
  float *values = calloc(n * m->dim + 1, sizeof *values), *sum = malloc(m->dim * sizeof *sum);
  for (uint64_t i = 0; i < n; i++) {
    numbers[i] = (uint32_t)((from + any(w, range)) % KEYS);
    keys[i] = key_of(numbers[i]);
  }
  for (uint64_t i = 0; update && i < n * m->dim; i++)
    values[i] = (float)ts_unit(ts_random64(w->seed, 2, w->counter + i)) - 0.5f;
  int32_t status = update ? ts_table_update(w->store, t, keys, n, values, ERR)
                          : ts_table_lookup(w->store, t, keys, n, values, ERR);
  within_limits(w);
  CHECK(ts_store_digest(w->store, &w->digest, ERR) == TS_OK);
  if (status == TS_OK) {
    bool *stepped = calloc(KEYS, sizeof *stepped);
    uint64_t wrong = 0;
    for (uint64_t i = 0; i < n; i++) {
      create_row(m, numbers[i]);
      if (!update) {
        const float *row = m->rows + (size_t)numbers[i] * m->slots * m->dim;
        wrong += memcmp(values + i * m->dim, row, m->dim * sizeof(float)) != 0;
      } else if (!stepped[numbers[i]]) {
        stepped[numbers[i]] = true;
        memset(sum, 0, m->dim * sizeof *sum);
        for (uint64_t k = i; k < n; k++)
          if (numbers[k] == numbers[i])
            for (uint32_t j = 0; j < m->dim; j++) sum[j] += values[k * m->dim + j];
        step_row(m, numbers[i], sum);
      }
    }
    CHECK_MSG(wrong == 0, "seed %llu: %llu of %llu rows differ", (unsigned long long)w->seed, (unsigned long long)wrong,
              (unsigned long long)n);
    free(stepped);
  } else {
    CHECK_MSG(status == TS_EFULL, "seed %llu: %s", (unsigned long long)w->seed, message);
    /* New rows may stay; no row has stepped, which the comparison of all rows tells. */
    for (uint64_t i = 0; i < n; i++) {
      int32_t tier;
      CHECK(ts_table_lookup_tier(w->store, t, &keys[i], 1, &tier, ERR) == TS_OK);
      if (tier >= 0) create_row(m, numbers[i]);
    }
    agrees(w, t);
  }
  free(numbers);
  free(keys);
  free(values);
  free(sum);
}

/* Limits from a few rows to more than all rows need, in both ways of counting. */
static ts_store *open_random(world *w) {
  static const char *const storages[] = {"DRAM", "PMEM_LIBPMEM", "PMEM_MEMKIND", "DRAM_PMEM"};
  const uint64_t draw = any(w, 8), type = TS_MIN(draw, 3); /* most have two tiers */
  bool rows = any(w, 2) == 0, tiered = type == 3;
  ts_config *config;
  ts_config_create(&config);
  ts_config_set(config, "storage", storages[type], NULL, 0);
  if (tiered) ts_config_set(config, "pmem", any(w, 2) == 0 ? "libpmem" : "memkind", NULL, 0);
  ts_config_set(config, "path", folder, NULL, 0);
  ts_config_set(config, "size_counts", rows ? "rows" : "all", NULL, 0);
  set(config, "seed", "%llu", w->seed);
  uint64_t first = rows ? UINT64_C(1) << (8 + any(w, tiered ? 12 : 16)) : (1 << 20) + any(w, 1 << 20);
  uint64_t second = rows ? UINT64_C(1) << (14 + any(w, 12)) : (64 << 10) + any(w, 8 << 20);
  char size[64];
  snprintf(size, sizeof size, tiered ? "%llu,%llu" : "%llu", (unsigned long long)first, (unsigned long long)second);
  ts_config_set(config, "size", size, NULL, 0);
  ts_store *store = NULL;
  int32_t status = ts_store_open(config, &store, ERR);
  CHECK_MSG(status == TS_OK || status == TS_EUNAVAILABLE, "seed %llu: %s", (unsigned long long)w->seed, message);
  ts_config_free(config);
  return store;
}

int main(int count, char **arguments) {
  setenv("PMEM_IS_PMEM_FORCE", "1", 1);
  setenv("MEMKIND_DAX_KMEM_NODES", "0", 1);
  snprintf(folder, sizeof folder, "/tmp/tierstore-property-XXXXXX");
  if (mkdtemp(folder) == NULL) return 1;
  const uint64_t only = count > 1 ? strtoull(arguments[1], NULL, 10) : 0; /* the seed of a failure */
  for (uint64_t seed = 1; seed <= STORES && test_failures == 0; seed++) {
    world w = {.seed = only != 0 ? only : seed};
    w.store = open_random(&w);
    if (w.store == NULL) continue;
    const uint32_t wanted = 1 + (uint32_t)any(&w, TABLES);
    for (; w.tables < wanted; w.tables++) {
      make_model(&w, w.tables);
      int32_t status = add_table(w.store, &w.table[w.tables], w.tables);
      CHECK_MSG(status == TS_OK || status == TS_EFULL, "seed %llu: %s", (unsigned long long)w.seed, message);
      if (status == TS_OK) continue;
      free_model(&w.table[w.tables]);
      break;
    }
    for (uint32_t t = 0; t < w.tables; t++) learn_first_values(&w, t);
    CHECK(ts_store_digest(w.store, &w.digest, ERR) == TS_OK);
    for (uint32_t step = 1; w.tables > 0 && step <= STEPS && test_failures == 0; step++) {
      one_call(&w, step);
      for (uint32_t t = 0; step % CHECK_EVERY == 0 && t < w.tables; t++) agrees(&w, t);
    }
    for (uint32_t t = 0; t < w.tables; t++) free_model(&w.table[t]);
    CHECK(ts_store_close(w.store) == TS_OK);
    if (only != 0) break;
  }
  CHECK_MSG(rmdir(folder) == 0, "pool files in %s", folder);
  return test_result();
}
