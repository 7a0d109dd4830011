/* Random stores against a plain map: seeded budgets, tables, widths, optimizers, row types, policies, shards, admission,
 * expiry, metadata and calls (lookups, bags, updates, removals, finds, expiry) on every storage type that opens here. The
 * store must agree with the map (rows read, which rows exist, their weights and slots, lookups counted, steps stamped, one
 * tier a row), stay within every limit after every call with nothing charged twice or forgotten, and change nothing when it
 * refuses.
 *
 * A counting Bloom filter is an array of numbers here, with the store's hash vectors (the filter's own test holds those
 * against DeepRec's). It is small enough for keys to share counters. Keys of one batch that share some are admitted in an
 * order that is the store's own: where that order decides, either answer is right; it must be the one the rows show, and
 * the numbers afterwards are the same.
 *
 * A failure prints the seed of its store; the program runs that one alone when given the seed. TIERSTORE_STORES in the
 * environment: how many stores, for long runs. */
#include "test/foreign_threads.h"
#include "test/store_types.h"

#include <math.h>

#define STORES 36u
#define STEPS 60u
#define CHECK_EVERY 15u /* calls between two comparisons of all rows */
#define TABLES 4u
#define KEYS 1500u /* different keys of a table */
#define LONGEST 4000u
#define MOST_DIM 2500u

static char message[512];
#define ERR message, sizeof message

enum { ADMIT_ALL, ADMIT_COUNTED, ADMIT_BLOOM };

/* Beside the first ones: stores that once failed. */
static const struct {
  uint64_t seed;
  uint32_t types; /* how many types there were: the seed chose among them */
} failed_once[] = {
    {664, 14}, /* a refused lookup left keys waiting for the rows that it had created on the SSD */
};

/* What a table must hold: slots of weights by number of the key. */
typedef struct model {
  uint32_t dim, slots, optimizer, steps_to_live;
  uint32_t admission, admit; /* how, and the frequency */
  bool frequency, version, by_steps, by_weight, norm, half;
  double weight_to_live;
  int64_t every; /* steps between two judgements of weights */
  uint64_t expired;
  uint64_t seed, updates; /* rounding depends on them */
  float learning_rate;
  bool *there;
  float *rows;  /* [KEYS][slots][dim] */
  float *first; /* [KEYS][slots][dim]: a new row, taken from a store of its own */
  uint64_t *counted;
  int64_t *versions; /* of the last update; of a key that waits for its row, of its last lookup */
  int64_t *dates;    /* of the last update, or else of the creation */
  uint64_t count;
  /* ADMIT_BLOOM */
  ts_bloom *hashes;    /* for its hash vectors alone */
  uint64_t *counters;  /* the filter */
  uint64_t *adds;      /* what one batch adds to each, 0 between batches */
} model;

typedef struct world {
  uint64_t seed, counter;
  int64_t step;
  const storage_type *type;
  ts_store *store;
  uint32_t tables;
  model table[TABLES];
} world;

#define SEED (unsigned long long)w->seed

static uint64_t any(world *w, uint64_t below) { return ts_random64(w->seed, 1, w->counter++) % below; }

/* Key number i: small ones, negative ones, extremes. */
static int64_t key_of(uint32_t i) {
  switch (i) {
    case 0: return INT64_MIN;
    case 1: return INT64_MAX;
    case 2: return 0;
    case 3: return -1;
    case 4: return -2;
    default: return i % 2 == 0 ? (int64_t)i : (int64_t)ts_mix64(i);
  }
}

#define RULES 5u
static const char *const optimizers[RULES] = {"sgd", "adagrad", "ftrl", "ftrl-row-norm", "rowwise-adagrad"};
static const ts_optimizer_kind kinds[RULES] = {TS_SGD, TS_ADAGRAD, TS_FTRL, TS_FTRL_ROW_NORM, TS_ROWWISE_ADAGRAD};
static bool is_ftrl(const model *m) { return kinds[m->optimizer] == TS_FTRL || kinds[m->optimizer] == TS_FTRL_ROW_NORM; }

/* 5 counters a key for a few keys less than there are: most share some. */
#define BLOOM_KEYS 1200u
#define BLOOM_ERROR "0.04"

static bool no_limit(void *context, int64_t bytes) {
  (void)context;
  (void)bytes;
  return true;
}

static int32_t add_table(ts_store *store, const model *m, uint32_t number) {
  ts_config *config = CONFIG("optimizer", optimizers[m->optimizer]);
  char name[32];
  snprintf(name, sizeof name, "table-%u", number);
  ts_config_set(config, "name", name, NULL, 0);
  set_number(config, "dim", m->dim);
  if (is_ftrl(m)) ts_config_set(config, "l1", "0.01", NULL, 0);
  if (m->half) ts_config_set(config, "dtype", "bf16", NULL, 0);
  if (m->admission == ADMIT_BLOOM) {
    set_number(config, "admission.keys", BLOOM_KEYS);
    ts_config_set(config, "admission.error", BLOOM_ERROR, NULL, 0);
    set_number(config, "admission.counter_bits", 8u << number % 4);
  }
  if (m->admission != ADMIT_ALL) {
    ts_config_set(config, "admission", m->admission == ADMIT_COUNTED ? "counter" : "bloom", NULL, 0);
    set_number(config, "admission.frequency", m->admit);
    ts_config_set(config, "admission.default_value", "0.25", NULL, 0);
  }
  if (m->by_steps) set_number(config, "expire.steps", m->steps_to_live);
  if (m->by_weight) {
    char text[32];
    snprintf(text, sizeof text, "%.17g", m->weight_to_live);
    ts_config_set(config, "expire.l2", text, NULL, 0);
    set_number(config, "expire.l2_every", (unsigned long long)m->every);
    ts_config_set(config, "expire.l2_form", m->norm ? "norm" : "half-squared", NULL, 0);
  }
  set_number(config, "record_frequency", m->frequency);
  set_number(config, "record_version", m->version);
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
  static const uint32_t slots[RULES] = {1, 2, 3, 3, 2}; /* as ts_table_find reads them */
  static const uint32_t dims[] = {1, 3, 4, 16, 17, 33, 64, 301};
  char name[32];
  snprintf(name, sizeof name, "table-%u", t);
  *m = (model){.dim = dims[any(w, sizeof dims / sizeof *dims)], .optimizer = (uint32_t)any(w, RULES), .learning_rate = 0.01f};
  if (any(w, 12) == 0) m->dim = MOST_DIM;
  m->slots = slots[m->optimizer];
  m->admission = any(w, 2) == 0 ? 1 + (uint32_t)any(w, 2) : ADMIT_ALL;
  m->admit = m->admission == ADMIT_ALL ? 0 : 1 + (uint32_t)any(w, 4);
  m->by_steps = any(w, 4) == 0;
  m->steps_to_live = 1 + (uint32_t)any(w, 20);
  m->by_weight = any(w, 4) == 0;
  m->norm = any(w, 2) == 0;
  m->half = any(w, 3) == 0;
  /* About what half of the new rows have: truncated normal weights of variance 0.77 * 0.05^2. */
  const double half_squared = 0.5 * 0.77 * 0.0025 * m->dim * (0.25 + 0.25 * (double)any(w, 4));
  m->weight_to_live = m->norm ? sqrt(2 * half_squared) : half_squared;
  m->seed = ts_hash_bytes(name, strlen(name), w->seed);
  m->frequency = any(w, 2) == 0;
  m->every = (int64_t)any(w, 12);
  m->version = m->by_steps || m->by_weight || any(w, 2) == 0;
  const size_t floats = (size_t)m->slots * m->dim;
  m->there = calloc(KEYS, sizeof *m->there);
  m->rows = calloc(KEYS * floats, sizeof(float));
  m->first = calloc(KEYS * floats, sizeof(float));
  m->counted = calloc(KEYS, sizeof *m->counted);
  m->versions = malloc(KEYS * sizeof *m->versions);
  m->dates = calloc(KEYS, sizeof *m->dates);
  for (uint32_t i = 0; i < KEYS; i++) m->versions[i] = -1;
  if (m->admission != ADMIT_BLOOM) return;
  int32_t status = ts_bloom_create(BLOOM_KEYS, strtod(BLOOM_ERROR, NULL), 8, m->admit, no_limit, NULL, &m->hashes,
                                   (ts_err){ERR});
  CHECK_MSG(status == TS_OK, "%s", message);
  m->counters = calloc(ts_bloom_counters(m->hashes), sizeof *m->counters);
  m->adds = calloc(ts_bloom_counters(m->hashes), sizeof *m->adds);
}

static void free_model(model *m) {
  free(m->there);
  free(m->rows);
  free(m->first);
  free(m->counted);
  free(m->versions);
  free(m->dates);
  ts_bloom_destroy(m->hashes);
  free(m->counters);
  free(m->adds);
}

static void learn_first_values(world *w, uint32_t t) {
  model *m = &w->table[t], plain = *m;
  plain.admission = ADMIT_ALL;
  plain.by_steps = plain.by_weight = plain.frequency = plain.version = false;
  ts_config *config = CONFIG("storage", "DRAM");
  set_number(config, "seed", w->seed);
  ts_store *store = open_config(config);
  for (uint32_t before = 0; before < t; before++) {
    char name[32];
    snprintf(name, sizeof name, "other-%u", before);
    add_config(store, CONFIG("name", name));
  }
  CHECK(add_table(store, &plain, t) == TS_OK);
  static float row[MOST_DIM];
  for (uint32_t i = 0; i < KEYS; i++) {
    int64_t key = key_of(i);
    CHECK(ts_table_lookup(store, t, &key, 1, row, ERR) == TS_OK);
    for (uint32_t s = 0; s < m->slots; s++)
      ts_table_find(store, t, &key, 1, s, m->first + ((size_t)i * m->slots + s) * m->dim, NULL, ERR);
  }
  ts_store_close(store);
}

static float *row_of(const model *m, uint32_t i) { return m->rows + (size_t)i * m->slots * m->dim; }

static void create_row(const world *w, model *m, uint32_t i) {
  if (m->there[i]) return;
  m->dates[i] = w->step;
  m->versions[i] = -1;
  m->there[i] = true;
  m->count++;
  const size_t floats = (size_t)m->slots * m->dim;
  memcpy(row_of(m, i), m->first + i * floats, floats * sizeof(float));
}

static void remove_row(model *m, uint32_t i) {
  m->count -= m->there[i];
  m->there[i] = false;
  m->counted[i] = 0;
  m->versions[i] = -1;
}

/* The row as the rule's kernel wants it, and back. Rounding of bf16 depends on seed, key and step. */
static void step_row(const world *w, model *m, uint32_t i, uint64_t call_number, const float *gradient) {
  static unsigned char row[(3 * (MOST_DIM + 4)) * sizeof(float)];
  ts_optimizer o = {.kind = kinds[m->optimizer], .learning_rate = m->learning_rate, .l1 = is_ftrl(m) ? 0.01f : 0, .epsilon = 1e-8f};
  ts_optimizer_prepare(&o, m->half ? TS_BF16 : TS_FP32, m->dim, false, false, m->seed, ts_cpu_level());
  o.steps = call_number - 1;
  ts_optimizer_call call;
  ts_optimizer_begin(&o, w->step, &call);
  if (atomic_load(&w->store->stepped)) call.moment = TS_STEP_MOMENT(w->step);
  const int64_t key = key_of(i);
  float *slots = row_of(m, i);
  void *at = row;
  for (uint32_t s = 0; s < o.layout.slots; s++) ts_row_write(&o.layout, row, s, slots + (size_t)s * m->dim);
  if (o.layout.slots < m->slots) ts_row_set_scalar_float(&o.layout, row, 0, slots[m->dim]);
  o.apply(&o, &call, &at, &gradient, &key, 1);
  for (uint32_t s = 0; s < m->slots; s++) ts_optimizer_read_row(&o, row, s, slots + (size_t)s * m->dim);
  if (m->version) m->versions[i] = w->step;
  m->dates[i] = w->step;
}

static bool is_light(const model *m, uint32_t i) {
  double sum = 0;
  const float *row = row_of(m, i);
  for (uint32_t j = 0; j < m->dim; j++) sum += (double)row[j] * (double)row[j];
  return (m->norm ? sqrt(sum) : 0.5 * sum) < m->weight_to_live;
}

static bool is_due(const world *w, const model *m, uint32_t i) {
  const bool judged = m->every > 0 && m->dates[i] < w->step / m->every * m->every;
  return (m->by_weight && judged && is_light(m, i)) || (m->by_steps && w->step - m->dates[i] > (int64_t)m->steps_to_live);
}

/* Rows that are gone by the present step; `now`: all light ones, too. */
static void follow_expiry(world *w, uint32_t t, bool now) {
  model *m = &w->table[t];
  for (uint32_t i = 0; i < KEYS; i++) {
    if (!m->there[i] || !(is_due(w, m, i) || (now && m->by_weight && is_light(m, i)))) continue;
    m->expired++;
    remove_row(m, i);
  }
}

/* The least of the key's counters before the batch; or, of a key that comes so many times in it, the most that the store
 * may find there: all other keys came first. */
static uint64_t bloom_frequency(const model *m, int64_t key, uint64_t times) {
  uint64_t indices[TS_BLOOM_HASHES], least = UINT64_MAX;
  ts_bloom_indices(m->hashes, key, indices);
  for (uint32_t i = 0; i < ts_bloom_hashes(m->hashes); i++) {
    uint64_t own = 0;
    for (uint32_t j = 0; j < ts_bloom_hashes(m->hashes); j++) own += indices[j] == indices[i] ? times : 0;
    const uint64_t others = times > 0 ? m->adds[indices[i]] - own : 0;
    least = TS_MIN(least, TS_MIN(m->counters[indices[i]] + others, m->admit));
  }
  return least;
}

static void bloom_add(model *m, int64_t key, uint64_t times) {
  uint64_t indices[TS_BLOOM_HASHES];
  ts_bloom_indices(m->hashes, key, indices);
  for (uint32_t i = 0; i < ts_bloom_hashes(m->hashes); i++) m->adds[indices[i]] += times;
}

/* Every row of the table by read-only lookups, every slot, what is known of them, and the counts. */
static void agrees(world *w, uint32_t t) {
  const model *m = &w->table[t];
  static int64_t keys[KEYS], versions[KEYS];
  static uint64_t frequencies[KEYS];
  static uint8_t found[KEYS];
  static int32_t tiers[KEYS];
  float *rows = malloc((size_t)KEYS * m->dim * sizeof(float));
  for (uint32_t i = 0; i < KEYS; i++) keys[i] = key_of(i);
  uint64_t wrong = 0, known = 0, placed[TS_MAX_TIERS] = {0}, counts[TS_MAX_TIERS] = {0}, listed = 0;
  for (uint32_t s = 0; s < m->slots; s++) {
    CHECK_MSG(ts_table_find(w->store, t, keys, KEYS, s, rows, found, ERR) == TS_OK, "seed %llu: %s", SEED, message);
    for (uint32_t i = 0; i < KEYS; i++) {
      wrong += found[i] != m->there[i];
      if (found[i] && m->there[i])
        wrong += memcmp(rows + (size_t)i * m->dim, row_of(m, i) + (size_t)s * m->dim, m->dim * sizeof(float)) != 0;
    }
  }
  CHECK(ts_table_lookup_tier(w->store, t, keys, KEYS, tiers, ERR) == TS_OK);
  CHECK(ts_table_metadata(w->store, t, keys, KEYS, frequencies, versions, ERR) == TS_OK);
  for (uint32_t i = 0; i < KEYS; i++) {
    wrong += (tiers[i] >= 0) != m->there[i];
    if (tiers[i] >= 0) placed[tiers[i]]++;
    const bool counts_lookups = m->there[i] ? m->frequency : m->admission == ADMIT_COUNTED;
    const uint64_t filtered = !m->there[i] && m->admission == ADMIT_BLOOM ? bloom_frequency(m, keys[i], 0) : 0;
    known += frequencies[i] != (counts_lookups ? m->counted[i] : filtered);
    known += versions[i] != m->versions[i];
  }
  CHECK(ts_table_rows(w->store, t, counts, TS_MAX_TIERS, ERR) == TS_OK);
  CHECK(ts_table_keys(w->store, t, NULL, 0, &listed, ERR) == TS_OK);
  CHECK_MSG(wrong == 0 && memcmp(placed, counts, sizeof placed) == 0 && listed == m->count,
            "seed %llu (%s), table %u: %llu differences, %llu + %llu + %llu + %llu rows counted, %llu listed, %llu expected",
            SEED, w->type->name, t, (unsigned long long)wrong, (unsigned long long)counts[0], (unsigned long long)counts[1],
            (unsigned long long)counts[2], (unsigned long long)counts[3], (unsigned long long)listed,
            (unsigned long long)m->count);
  uint64_t counters[TS_STATISTIC_COUNT];
  CHECK(ts_table_statistics(w->store, t, counters, TS_STATISTIC_COUNT, NULL, ERR) == TS_OK);
  const uint64_t left = counters[TS_STAT_created] - counters[TS_STAT_removed] - counters[TS_STAT_expired];
  CHECK_MSG(left == m->count, "seed %llu (%s), table %u: %llu rows are there by the statistics, not %llu", SEED,
            w->type->name, t, (unsigned long long)left, (unsigned long long)m->count);
  CHECK_MSG(known == 0, "seed %llu (%s), table %u: %llu frequencies or versions differ", SEED, w->type->name, t,
            (unsigned long long)known);
  free(rows);
}

typedef struct batch {
  uint64_t n;
  uint32_t numbers[LONGEST];
  int64_t keys[LONGEST];
  uint32_t times[KEYS];
  bool admitted[KEYS], seen[KEYS];
} batch;

/* What the batch adds to the filter: all keys without a row, admitted or not. */
static void fill_adds(model *m, const batch *b) {
  for (uint32_t k = 0; k < KEYS; k++)
    if (b->times[k] > 0 && !m->there[k]) bloom_add(m, key_of(k), b->times[k]);
}

static void take_adds(model *m) {
  for (uint64_t i = 0; i < ts_bloom_counters(m->hashes); i++) {
    m->counters[i] = TS_MIN(m->counters[i] + m->adds[i], m->admit);
    m->adds[i] = 0;
  }
}

/* A key without a row; the batch is in adds. Where the order inside of the batch decides, the store has. */
static bool is_admitted(world *w, uint32_t t, const batch *b, uint32_t k, bool lookup) {
  const model *m = &w->table[t];
  const int64_t key = key_of(k);
  switch (m->admission) {
    case ADMIT_ALL: return true;
    case ADMIT_COUNTED: return m->counted[k] >= m->admit;
    default: break;
  }
  if (bloom_frequency(m, key, 0) >= m->admit) return true;
  if (!lookup || bloom_frequency(m, key, b->times[k]) < m->admit) return false;
  int32_t tier = -1;
  CHECK(ts_table_lookup_tier(w->store, t, &key, 1, &tier, ERR) == TS_OK);
  return tier >= 0;
}

static void count_batch(batch *b) {
  memset(b->times, 0, sizeof b->times);
  for (uint64_t i = 0; i < b->n; i++) b->times[b->numbers[i]]++;
}

/* What ts_table_waiting promises. */
static int64_t waiting_version(const world *w, const model *m, uint32_t k) {
  uint32_t bits = 4;
  for (uint64_t f = m->admit; f > 0; f >>= 1) bits++;
  const bool fits = m->counted[k] >> bits == 0 && w->step >> (32 - bits) == 0;
  return m->admission == ADMIT_COUNTED && m->version && fits ? w->step : -1;
}

/* Which keys get a row, or have one. */
static void admit(world *w, uint32_t t, batch *b, bool lookup) {
  model *m = &w->table[t];
  count_batch(b);
  memset(b->seen, 0, sizeof b->seen);
  if (lookup && m->admission == ADMIT_BLOOM) fill_adds(m, b);
  for (uint64_t i = 0; i < b->n; i++) {
    const uint32_t k = b->numbers[i];
    if (b->seen[k]) continue;
    b->seen[k] = true;
    b->admitted[k] = m->there[k] || is_admitted(w, t, b, k, lookup);
    if (b->admitted[k]) {
      if (!m->there[k] && m->admission != ADMIT_COUNTED) m->counted[k] = 0;
      create_row(w, m, k);
    }
    if (lookup && (b->admitted[k] ? m->frequency : m->admission == ADMIT_COUNTED)) m->counted[k] += b->times[k];
    if (lookup && !b->admitted[k]) m->versions[k] = waiting_version(w, m, k);
  }
  if (m->admission == ADMIT_BLOOM) take_adds(m);
}

static bool same_values(const world *w, uint32_t t, const batch *b, const float *values) {
  const model *m = &w->table[t];
  uint64_t wrong = 0;
  for (uint64_t i = 0; i < b->n; i++) {
    const float *row = row_of(m, b->numbers[i]);
    for (uint32_t j = 0; j < m->dim; j++) /* a bag adds to 0: it has no -0 */
      wrong += values[i * m->dim + j] != (b->admitted[b->numbers[i]] ? row[j] : 0.25f);
  }
  return wrong == 0;
}

static void apply(world *w, uint32_t t, batch *b, const float *gradients) {
  model *m = &w->table[t];
  float *sum = malloc(m->dim * sizeof *sum);
  memset(b->seen, 0, sizeof b->seen);
  m->updates += b->n > 0;
  for (uint64_t i = 0; i < b->n; i++) {
    const uint32_t k = b->numbers[i];
    if (b->seen[k] || !b->admitted[k]) continue;
    b->seen[k] = true;
    memset(sum, 0, m->dim * sizeof *sum);
    for (uint64_t j = i; j < b->n; j++)
      if (b->numbers[j] == k)
        for (uint32_t e = 0; e < m->dim; e++) sum[e] += gradients[j * m->dim + e];
    step_row(w, m, k, m->updates, sum);
  }
  free(sum);
}

/* A refused call: new rows may stay; no row has stepped, which the comparison of all rows tells. */
static void after_refusal(world *w, uint32_t t, int32_t status, batch *b, bool lookup) {
  model *m = &w->table[t];
  CHECK_MSG(status == TS_EFULL, "seed %llu (%s): %s", SEED, w->type->name, message);
  static uint64_t frequencies[KEYS];
  static int64_t keys[KEYS], versions[KEYS];
  static int32_t tiers[KEYS];
  for (uint32_t i = 0; i < KEYS; i++) keys[i] = key_of(i);
  count_batch(b);
  if (m->admission == ADMIT_BLOOM && lookup) fill_adds(m, b);
  CHECK(ts_table_lookup_tier(w->store, t, keys, KEYS, tiers, ERR) == TS_OK);
  CHECK(ts_table_metadata(w->store, t, keys, KEYS, frequencies, versions, ERR) == TS_OK);
  for (uint32_t i = 0; i < KEYS; i++) {
    if (tiers[i] >= 0)
      create_row(w, m, i);
    else
      m->versions[i] = versions[i];
    m->counted[i] = frequencies[i]; /* of the keys that came before the refusal */
  }
  m->updates = atomic_load(&w->store->tables[t]->optimizer.steps);
  if (m->admission == ADMIT_BLOOM) { /* some of the batch was added */
    uint64_t wrong = 0;
    for (uint64_t i = 0; i < ts_bloom_counters(m->hashes); i++) {
      const uint64_t now = ts_bloom_counter(w->store->tables[t]->admission.bloom, i);
      wrong += now < m->counters[i] || now > TS_MIN(m->counters[i] + m->adds[i], m->admit);
      m->counters[i] = now;
      m->adds[i] = 0;
    }
    CHECK_MSG(wrong == 0, "seed %llu: %llu counters of the filter", SEED, (unsigned long long)wrong);
  }
  agrees(w, t);
}

static void one_call(world *w, uint32_t step) {
  uint32_t t = (uint32_t)any(w, w->tables);
  if (step > STEPS / 4 && any(w, 10) != 0) t = 0; /* the other tables grow old: their memory moves */
  model *m = &w->table[t];
  static batch b;
  const uint64_t kind = any(w, 12), longest = TS_MIN(LONGEST, 400000 / m->dim);
  b.n = any(w, 12) == 0 ? any(w, longest) : any(w, 200);
  const uint64_t range = 1 + any(w, KEYS), from = any(w, KEYS);
  float *values = calloc(b.n * m->dim + m->dim, sizeof *values);
  for (uint64_t i = 0; i < b.n; i++) {
    b.numbers[i] = (uint32_t)((from + any(w, range)) % KEYS);
    b.keys[i] = key_of(b.numbers[i]);
  }
  static uint64_t offsets[LONGEST + 1];
  for (uint64_t i = 0; i <= b.n; i++) offsets[i] = i; /* bags of one key: the row itself, or its gradient */
  int32_t status = TS_OK;
  if (kind < 6) { /* lookup, as rows or as bags */
    uint64_t before = 0, after = 0;
    for (uint32_t i = TS_STAT_tier0_hits; i <= TS_STAT_created; i++) before += counter_of(w->store, (ts_statistic)i);
    status = kind < 4 ? ts_table_lookup(w->store, t, b.keys, b.n, values, ERR)
                      : ts_table_lookup_bags(w->store, t, b.keys, offsets, b.n, NULL, TS_COMBINER_SUM, 0, values, ERR);
    if (status == TS_OK) {
      for (uint32_t i = TS_STAT_tier0_hits; i <= TS_STAT_created; i++) after += counter_of(w->store, (ts_statistic)i);
      CHECK_MSG(m->admit > 0 || after - before == b.n, "seed %llu (%s): %llu of %llu keys counted", SEED, w->type->name,
                (unsigned long long)(after - before), (unsigned long long)b.n);
      admit(w, t, &b, true);
      CHECK_MSG(same_values(w, t, &b, values), "seed %llu (%s), step %u: rows of call kind %llu differ", SEED, w->type->name,
                step, (unsigned long long)kind);
    }
  } else if (kind < 10) {
    for (uint64_t i = 0; i < b.n * m->dim; i++) values[i] = (float)ts_unit(ts_random64(w->seed, 2, w->counter + i)) - 0.5f;
    w->step += any(w, 2) == 0 ? (int64_t)any(w, 8) : 0;
    CHECK(ts_store_set_step(w->store, w->step, ERR) == TS_OK);
    for (uint32_t i = 0; i < w->tables; i++) follow_expiry(w, i, false);
    status = kind < 9 ? ts_table_update(w->store, t, b.keys, b.n, values, ERR)
                      : ts_table_update_bags(w->store, t, b.keys, offsets, b.n, NULL, TS_COMBINER_MEAN, values, ERR);
    if (status == TS_OK) {
      admit(w, t, &b, false);
      apply(w, t, &b, values);
    }
  } else if (kind == 10) {
    uint64_t removed = 0, expected = 0;
    b.n = TS_MIN(b.n, 60);
    status = ts_table_remove(w->store, t, b.keys, b.n, &removed, ERR);
    for (uint64_t i = 0; i < b.n; i++) {
      expected += m->there[b.numbers[i]];
      remove_row(m, b.numbers[i]);
    }
    CHECK_MSG(status == TS_OK && removed == expected, "seed %llu (%s): %llu removed, %llu were there: %s", SEED, w->type->name,
              (unsigned long long)removed, (unsigned long long)expected, message);
  } else if (m->by_steps || m->by_weight) {
    uint64_t counters[TS_STATISTIC_COUNT] = {0};
    const bool now = any(w, 2) == 0;
    status = ts_table_expire(w->store, t, now ? 0 : 1 + any(w, KEYS), NULL, ERR);
    CHECK_MSG(status == TS_OK, "seed %llu: %s", SEED, message);
    follow_expiry(w, t, now);
    CHECK(ts_table_statistics(w->store, t, counters, TS_STATISTIC_COUNT, NULL, ERR) == TS_OK);
    CHECK_MSG(now ? counters[TS_STAT_expired] == m->expired : counters[TS_STAT_expired] <= m->expired,
              "seed %llu (%s): %llu rows have expired, not %llu", SEED, w->type->name,
              (unsigned long long)m->expired, (unsigned long long)counters[TS_STAT_expired]);
  }
  CHECK_MSG(limits_hold(w->store), "seed %llu (%s): a limit is exceeded", SEED, w->type->name);
  if (w->store->evictors == NULL || step % CHECK_EVERY == 0) {
    CHECK(ts_store_settle(w->store, ERR) == TS_OK);
    CHECK_MSG(charges_agree(w->store), "seed %llu (%s): charged is not what is there", SEED, w->type->name);
  }
  if (status != TS_OK) after_refusal(w, t, status, &b, kind < 6);
  free(values);
}

/* Limits from a few rows to more than all rows need, in both ways of counting. */
static ts_store *open_random(world *w, uint32_t types) {
  static const char *const policies[] = {"lru", "lfu", "clock", "s3fifo", "sieve", "tinylfu"};
  static const uint32_t shards[] = {0, 1, 4, 16};
  w->type = &storage_types[(w->seed + any(w, 2)) % types];
  const bool rows = any(w, 2) == 0;
  uint64_t sizes[3];
  for (uint32_t t = 0; t < 3; t++) {
    const bool last = t + 1 == w->type->tiers;
    if (rows)
      sizes[t] = UINT64_C(1) << (8 + any(w, last ? 18 : 12));
    else if (last && w->type->ssd) /* a full SSD tier refuses in the middle of an update, which the map cannot follow */
      sizes[t] = UINT64_C(512) << 20;
    else if (t == 0)
      sizes[t] = w->type->ssd ? (5 << 20) + any(w, 1 << 20) : (1 << 20) + any(w, 1 << 20);
    else
      sizes[t] = (64 << 10) + any(w, last ? 64 << 20 : 2 << 20);
  }
  char text[96];
  snprintf(text, sizeof text, w->type->tiers == 1 ? "%llu" : w->type->tiers == 2 ? "%llu,%llu" : "%llu,%llu,%llu",
           (unsigned long long)sizes[0], (unsigned long long)sizes[1], (unsigned long long)sizes[2]);
  if (has_hbm_above(w->type)) {
    char below[96];
    memcpy(below, text, sizeof below);
    const uint64_t hbm = rows ? UINT64_C(1) << (8 + any(w, 12)) : (64 << 10) + any(w, 1 << 20);
    snprintf(text, sizeof text, "%llu,%.60s", (unsigned long long)hbm, below);
  }
  ts_config *config = config_of_type(w->type, text, rows ? "rows" : "all");
  if (has_growing_pool(w->type) && any(w, 2) == 0) set_number(config, "hbm_host_bytes", (64 << 10) + any(w, 1 << 20));
  set_number(config, "seed", w->seed);
  set_number(config, "eviction_threads", any(w, 4));
  if (rows || !w->type->ssd) set_number(config, "shards", shards[any(w, 4)]);
  ts_config_set(config, "policy", policies[any(w, 6)], NULL, 0);
  ts_store *store = NULL;
  int32_t status = ts_store_open(config, &store, ERR);
  CHECK_MSG(status == TS_OK || status == TS_EUNAVAILABLE, "seed %llu: %s", SEED, message);
  ts_config_free(config);
  return store;
}

static void run(uint64_t seed, uint32_t types) {
  world here = {.seed = seed}, *w = &here;
  w->store = open_random(w, types);
  if (w->store == NULL) return;
  const uint32_t wanted = 1 + (uint32_t)any(w, TABLES);
  for (; w->tables < wanted; w->tables++) {
    make_model(w, w->tables);
    int32_t status = add_table(w->store, &w->table[w->tables], w->tables);
    CHECK_MSG(status == TS_OK || status == TS_EFULL, "seed %llu: %s", SEED, message);
    if (status == TS_OK) continue;
    free_model(&w->table[w->tables]);
    break;
  }
  for (uint32_t t = 0; t < w->tables; t++) learn_first_values(w, t);
  for (uint32_t step = 1; w->tables > 0 && step <= STEPS && test_failures == 0; step++) {
    one_call(w, step);
    for (uint32_t t = 0; step % CHECK_EVERY == 0 && t < w->tables && test_failures == 0; t++) agrees(w, t);
  }
  for (uint32_t t = 0; t < w->tables; t++) free_model(&w->table[t]);
  CHECK(ts_store_close(w->store) == TS_OK);
}

int main(int count, char **arguments) {
  if (!make_folder("property")) return 1;
  const char *more = getenv("TIERSTORE_STORES");
  const uint64_t stores = more != NULL ? strtoull(more, NULL, 10) : STORES;
  if (count > 1) {
    run(strtoull(arguments[1], NULL, 10), STORAGE_TYPES); /* the seed of a failure */
  } else {
    for (uint64_t seed = 1; seed <= stores && test_failures == 0; seed++) run(seed, STORAGE_TYPES);
    for (size_t i = 0; i < sizeof failed_once / sizeof *failed_once && test_failures == 0; i++)
      run(failed_once[i].seed, failed_once[i].types);
  }
  remove_folder();
  return test_result();
}
