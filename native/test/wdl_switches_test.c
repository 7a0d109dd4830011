/* The trainer's switches: those that keep results give the same bits in every combination and on every kind of storage;
 * the others change what they say and nothing else. The three models learn. */
#include "test/foreign_threads.h"
#include "test/wdl_fixture.h"
#include "wdl/input/cache_format.h"
#include "store/statistics.h"

#include <math.h>

#define STEPS 24u

typedef struct outcome {
  uint64_t digest;
  double loss, auc;
  char description[4096];
} outcome;

static double fact(const outcome *o, const char *name) {
  const size_t n = strlen(name);
  for (const char *line = o->description; line != NULL && *line != '\0';
       line = strchr(line, '\n'), line += line != NULL)
    if (strncmp(line, name, n) == 0 && line[n] == '=') return strtod(line + n + 1, NULL);
  return NAN;
}

static bool says(const outcome *o, const char *line) {
  const char *at = strstr(o->description, line);
  return at != NULL && (at == o->description || at[-1] == '\n') && at[strlen(line)] == '\n';
}

static ts_store *open_store(const char *storage) {
  const bool tiered = strchr(storage, '_') != NULL;
  ts_config *config = options("storage", storage, "seed", "5", "path", folder, "size",
                              tiered ? "65536,268435456" : "268435456", "size_counts", tiered ? "rows" : "all", NULL);
  if (strcmp(storage, "DRAM_PMEM") == 0) ts_config_set(config, "pmem", "libpmem", NULL, 0);
  ts_store *store = NULL;
  CHECK_MSG(ts_store_open(config, &store, message, sizeof message) == TS_OK, "%s", message);
  ts_config_free(config);
  return store;
}

/* Trains in two calls with an evaluation between; `more` is "key=value key=value ...". */
static outcome train(const char *storage, const char *more) {
  outcome o = {0};
  ts_store *store = open_store(storage);
  if (store == NULL) return o;
  ts_config *config = options("data", in_folder("train.cache"), "batch", "200", "hidden", "48,24", "dim", "8", "seed",
                              "1", "wide_buckets", "500", NULL);
  if (strstr(more, "model=dlrm") != NULL) ts_config_set(config, "bottom", "32,16", NULL, 0);
  char text[1024];
  snprintf(text, sizeof text, "%s", more);
  for (char *pair = strtok(text, " "); pair != NULL; pair = strtok(NULL, " ")) {
    char *equals = strchr(pair, '=');
    *equals = '\0';
    ts_config_set(config, pair, equals + 1, NULL, 0);
  }
  ts_trainer *t = NULL;
  CHECK_MSG(ts_trainer_open(store, config, &t, message, sizeof message) == TS_OK, "%s: %s", more, message);
  ts_config_free(config);
  if (t != NULL) {
    double result[4], loss[2];
    uint64_t needed, phases[TS_PHASES], steps[STEPS];
    CHECK_MSG(ts_trainer_train(t, 0, STEPS / 3, NULL, NULL, &loss[0], NULL, message, sizeof message) == TS_OK, "%s: %s",
              more, message);
    CHECK_MSG(ts_trainer_evaluate(t, in_folder("few.cache"), 500, result, NULL, message, sizeof message) == TS_OK,
              "%s", message);
    CHECK(ts_trainer_train(t, 0, STEPS - STEPS / 3, steps, phases, &loss[1], NULL, message, sizeof message) == TS_OK);
    o.loss = loss[0] + loss[1];
    uint64_t sum = 0, all = 0;
    for (uint32_t i = 0; i < STEPS - STEPS / 3; i++) all += steps[i];
    for (uint32_t i = 0; i < TS_PHASES; i++) sum += phases[i];
    CHECK_MSG(sum <= all && sum > 0 && phases[TS_PHASE_DENSE] > 0, "%s: phases %llu of %llu", more,
              (unsigned long long)sum, (unsigned long long)all);
    CHECK(ts_trainer_digest(t, &o.digest, message, sizeof message) == TS_OK);
    CHECK(ts_trainer_describe(t, o.description, sizeof o.description, &needed) == TS_OK);
    CHECK(ts_trainer_evaluate(t, in_folder("few.cache"), 0, result, NULL, message, sizeof message) == TS_OK);
    o.auc = result[1];
  }
  ts_trainer_close(t);
  ts_store_close(store);
  return o;
}

static bool available(const char *storage) {
  ts_config *config = options("storage", storage, "path", folder, "size", "65536,1048576", "size_counts", "rows", NULL);
  if (strcmp(storage, "DRAM_PMEM") == 0) ts_config_set(config, "pmem", "libpmem", NULL, 0);
  const int32_t status = ts_store_probe(config, message, sizeof message);
  ts_config_free(config);
  if (status == TS_EUNAVAILABLE) SKIP("wdl_switches_test", "%s: %s", storage, message);
  return status == TS_OK;
}

/* A factorial over what must not matter: of each switch, every value meets every value of each other one somewhere. */
static void same_bits(const char *model) {
  static const char *const storages[] = {"DRAM", "DRAM_SSDHASH", "DRAM_PMEM"};
  static const char *const executors[] = {"inline", "pool", "cost_model"};
  static const char *const stages[] = {"stage=0", "stage=1 stage_what=input", "stage=3 stage_what=lookup readers=3",
                                       "stage=2 stage_what=auto readers=2"};
  char plain[256];
  snprintf(plain, sizeof plain, "model=%s threads=1 executor=inline stage=0 embedding_fusion=0 memory_reuse=0", model);
  const outcome expected = train("DRAM", plain);
  CHECK(expected.digest != 0 && fact(&expected, "minor_faults") >= 0);
  for (uint32_t i = 0; i < 36; i++) {
    char more[256];
    const char *storage = storages[i % 3];
    if (!available(storage)) continue;
    snprintf(more, sizeof more, "model=%s executor=%s %s threads=%u embedding_fusion=%u memory_reuse=%u", model,
             executors[i / 3 % 3], stages[i / 9 % 4], 1 + (i + i / 3) % 3, (i + i / 9) % 2, (i / 2 + i / 9) % 2);
    const outcome found = train(storage, more);
    CHECK_MSG(found.digest == expected.digest && found.loss == expected.loss && found.auc == expected.auc,
              "%s, %s: loss %.17g, expected %.17g", storage, more, found.loss, expected.loss);
  }
}

static void asynchronous_embedding_is_one_update_late(const char *way) {
  char plain[256], first[256];
  snprintf(plain, sizeof plain, "threads=1 %s", way);
  snprintf(first, sizeof first, "threads=1 async_embedding=1 %s", way);
  const outcome now = train("DRAM", plain);
  const outcome late = train("DRAM", first);
  CHECK_MSG(late.digest != now.digest && fabs(late.loss - now.loss) < 0.05 && late.loss != now.loss, "loss %f, %f",
            late.loss, now.loss);
  const double stale = fact(&late, "stale_share");
  CHECK_MSG(stale > 0.05 && stale < 1, "stale share %f", stale);
  CHECK(isnan(fact(&now, "stale_share")));
  static const char *const others[] = {"threads=3 executor=pool stage=0",
                                       "threads=2 executor=cost_model stage=4 readers=2",
                                       "threads=2 executor=inline stage=2 stage_what=lookup memory_reuse=0",
                                       "threads=4 executor=cost_model embedding_fusion=0 memory_reuse=0"};
  for (uint32_t i = 0; i < 4; i++) {
    char more[256];
    snprintf(more, sizeof more, "async_embedding=1 %s %s", others[i], way);
    const outcome found = train(i % 2 == 0 ? "DRAM_SSDHASH" : "DRAM", more);
    CHECK_MSG(found.digest == late.digest && found.loss == late.loss, "%s: loss %.17g, expected %.17g", more,
              found.loss, late.loss);
  }
}

/* Rounding differs, so do the bits; what is learnt does not. auto chooses by the keys of the first batches. */
static void distinct_rows_train_the_same(void) {
  static const char *const kinds[] = {"bf16=off", "bf16=rows", "dropout=0.2", "deep_optimizer=adam deep_learning_rate=0.001"};
  for (uint32_t i = 0; i < 4; i++) {
    char more[256];
    snprintf(more, sizeof more, "dim=32 first_layer=samples %s", kinds[i]);
    const outcome samples = train("DRAM", more);
    snprintf(more, sizeof more, "dim=32 first_layer=distinct %s", kinds[i]);
    const outcome distinct = train("DRAM", more);
    CHECK_MSG(samples.digest != distinct.digest && fabs(samples.loss - distinct.loss) < 0.004 && fabs(samples.auc - distinct.auc) < 0.01,
              "%s: loss %.9g and %.9g, AUC %.6g and %.6g", kinds[i], samples.loss, distinct.loss, samples.auc, distinct.auc);
    snprintf(more, sizeof more, "dim=32 %s", kinds[i]);
    CHECK(train("DRAM", more).digest == distinct.digest && says(&distinct, "first_layer=distinct"));
  }
  const outcome narrow = train("DRAM", "dim=8"); /* no multiple of 16 */
  CHECK(says(&narrow, "first_layer=samples"));
}

static void distinct_rows_are_refused_by_name(void) {
  static const struct {
    const char *key, *value, *wanted;
  } cases[] = {{"dim", "24", "widths of rows are not multiples of 16"},
               {"model", "deepfm", "model is not wdl"},
               {"micro_batch", "2", "micro_batch cuts the batch"},
               {"tables", "a:16:none:C1,C2", "columns share a table"},
               {"tables", "a:16:sum:C1,C2", "a table has bags"}};
  for (uint32_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    ts_store *store = open_store("DRAM");
    ts_config *config = options("data", in_folder("train.cache"), "batch", "64", "hidden", "8", "first_layer", "distinct", cases[i].key,
                                cases[i].value, NULL);
    ts_trainer *t = NULL;
    const int32_t status = ts_trainer_open(store, config, &t, message, sizeof message);
    CHECK_MSG(status == TS_EINVAL && strstr(message, cases[i].wanted) != NULL, "%d: %s", status, message);
    ts_config_free(config);
    ts_trainer_close(t);
    ts_store_close(store);
  }
}

/* What "one update late" means, to the value: of two steps on the same rows, the second sees them as the first did.
 * With the dense part and the wide part standing still, two steps at once move a row by twice the first step. */
static void late_rows_have_the_values_of_a_step_before(void) {
  double moved[2] = {0};
  for (uint32_t late = 0; late < 2; late++) {
    ts_store *store = open_store("DRAM");
    ts_trainer *t = NULL;
    /* One batch is the whole file: every step has the same rows. */
    ts_config *config = options("data", in_folder("one.cache"), "batch", "64", "hidden", "8", "dim", "4",
                                "deep_optimizer", "sgd", "deep_learning_rate", "0", "embedding_learning_rate", "4",
                                "wide_learning_rate", "1e-30", "async_embedding", late == 1 ? "1" : "0", NULL);
    CHECK_MSG(ts_trainer_open(store, config, &t, message, sizeof message) == TS_OK, "%s", message);
    ts_config_free(config);
    CHECK(ts_trainer_fill(t, NULL, message, sizeof message) == TS_OK);
    int64_t key;
    uint64_t n;
    static int64_t keys[1000];
    float row[3][4];
    double loss;
    CHECK(ts_table_keys(store, 8, keys, 1000, &n, message, sizeof message) == TS_OK);
    key = keys[0];
    CHECK(ts_table_find(store, 8, &key, 1, 0, row[0], NULL, message, sizeof message) == TS_OK);
    CHECK(ts_trainer_train(t, 0, 1, NULL, NULL, &loss, NULL, message, sizeof message) == TS_OK);
    CHECK(ts_table_find(store, 8, &key, 1, 0, row[1], NULL, message, sizeof message) == TS_OK);
    CHECK(ts_trainer_train(t, 0, 2, NULL, NULL, &loss, NULL, message, sizeof message) == TS_OK);
    CHECK(ts_table_find(store, 8, &key, 1, 0, row[2], NULL, message, sizeof message) == TS_OK);
    /* Steps 2 and 3 of a call: late, both saw row[1]. */
    double first = 0, rest = 0;
    for (uint32_t j = 0; j < 4; j++) {
      first += fabs((double)row[1][j] - (double)row[0][j]);
      rest += fabs((double)row[2][j] - (double)row[1][j]);
    }
    CHECK(first > 1e-4);
    /* A third call of one step from here tells what a step at row[1] was: half of `rest` if late. */
    moved[late] = rest;
    ts_trainer_close(t);
    ts_store_close(store);
  }
  /* The same beginning, but the third step differs. */
  CHECK_MSG(moved[0] != moved[1] && fabs(moved[0] - moved[1]) < 0.5 * moved[0], "%.9g %.9g", moved[0], moved[1]);
  /* By hand: one step at row[1], twice. */
  ts_store *store = open_store("DRAM");
  ts_trainer *t = NULL;
  ts_config *config =
      options("data", in_folder("one.cache"), "batch", "64", "hidden", "8", "dim", "4", "deep_optimizer", "sgd",
              "deep_learning_rate", "0", "embedding_learning_rate", "4", "wide_learning_rate", "1e-30", NULL);
  CHECK(ts_trainer_open(store, config, &t, message, sizeof message) == TS_OK);
  ts_config_free(config);
  CHECK(ts_trainer_fill(t, NULL, message, sizeof message) == TS_OK);
  static int64_t keys[1000];
  uint64_t n;
  float row[2][4];
  CHECK(ts_table_keys(store, 8, keys, 1000, &n, message, sizeof message) == TS_OK);
  CHECK(ts_trainer_train(t, 0, 1, NULL, NULL, NULL, NULL, message, sizeof message) == TS_OK);
  CHECK(ts_table_find(store, 8, keys, 1, 0, row[0], NULL, message, sizeof message) == TS_OK);
  CHECK(ts_trainer_train(t, 0, 1, NULL, NULL, NULL, NULL, message, sizeof message) == TS_OK);
  CHECK(ts_table_find(store, 8, keys, 1, 0, row[1], NULL, message, sizeof message) == TS_OK);
  double step = 0;
  for (uint32_t j = 0; j < 4; j++) step += fabs((double)row[1][j] - (double)row[0][j]);
  CHECK_MSG(fabs(2 * step - moved[1]) < 1e-5 * moved[1], "twice %.9g is not %.9g", step, moved[1]);
  ts_trainer_close(t);
  ts_store_close(store);
}

static void micro_batches_sum_to_the_batch(const char *model) {
  static const uint32_t counts[] = {2, 3, 8, 64};
  char more[256];
  snprintf(more, sizeof more, "model=%s", model);
  const outcome whole = train("DRAM", more);
  for (uint32_t i = 0; i < 4; i++) {
    snprintf(more, sizeof more, "model=%s micro_batch=%u executor=inline", model, counts[i]);
    const outcome cut = train("DRAM", more);
    CHECK_MSG(fabs(cut.loss - whole.loss) < 1e-4 && fabs(cut.auc - whole.auc) < 1e-3, "%s: loss %.9g, expected %.9g",
              more, cut.loss, whole.loss);
    snprintf(more, sizeof more, "model=%s micro_batch=%u threads=3 executor=%s memory_reuse=%u", model, counts[i],
             i % 2 == 0 ? "pool" : "cost_model", i / 2);
    const outcome other = train("DRAM", more);
    CHECK_MSG(cut.digest == other.digest && cut.loss == other.loss, "%s", more);
  }
}

/* Switches that change the sums: near, not equal. */
static void the_other_switches_stay_near(void) {
  const outcome plain = train("DRAM", "threads=2");
  CHECK(says(&plain, "deterministic=1") && says(&plain, "executor=pool") && says(&plain, "model=wdl") &&
        says(&plain, "stage_choice=input") && says(&plain, "async_embedding=0"));
  CHECK_MSG(fact(&plain, "dense_parameters") == (13 + 26 * 8) * 48 + 48 + 48 * 24 + 24 + 24 + 1, "%g",
            fact(&plain, "dense_parameters"));
  CHECK(says(&plain, "schedule=measured") && fact(&plain, "work_ns") >= fact(&plain, "longest_path_ns") &&
        fact(&plain, "longest_path_ns") > 0);
  const outcome fast = train("DRAM", "threads=3 deterministic=0");
  CHECK_MSG(fabs(fast.loss - plain.loss) < 1e-4 && says(&fast, "shards=3"), "loss %f, %f", fast.loss, plain.loss);
  const outcome rows = train("DRAM", "threads=2 bf16=rows");
  CHECK_MSG(rows.digest != plain.digest && fabs(rows.loss - plain.loss) < 0.01, "loss %f, %f", rows.loss, plain.loss);
  const outcome dropped = train("DRAM", "threads=2 dropout=0.5"),
                again = train("DRAM", "threads=1 dropout=0.5 executor=cost_model");
  CHECK(dropped.digest != plain.digest && dropped.digest == again.digest);
  static const char *const optimizers[] = {"sgd", "adagrad_decay", "adam", "adam_async", "adamw"};
  for (uint32_t i = 0; i < 5; i++) {
    char more[256];
    snprintf(more, sizeof more, "deep_optimizer=%s deep_learning_rate=0.001", optimizers[i]);
    const outcome one = train("DRAM", more);
    snprintf(more, sizeof more, "deep_optimizer=%s deep_learning_rate=0.001 threads=3 executor=cost_model",
             optimizers[i]);
    const outcome two = train("DRAM", more);
    CHECK_MSG(one.digest == two.digest && isfinite(one.loss) && one.loss < 2 * 0.75, "%s: loss %f", optimizers[i],
              one.loss);
    snprintf(more, sizeof more, "embedding_optimizer=%s embedding_learning_rate=0.001", optimizers[i]);
    const outcome part = train("DRAM", more);
    CHECK_MSG(part.digest != one.digest && part.digest != plain.digest && isfinite(part.loss), "%s", more);
  }
  const char *const rule = "embedding_optimizer=rowwise_adagrad embedding_learning_rate=0.001";
  char more[256];
  const outcome rowwise = train("DRAM", rule);
  snprintf(more, sizeof more, "%s threads=3 executor=cost_model embedding_epsilon=1e-8", rule);
  const outcome same = train("DRAM", more);
  snprintf(more, sizeof more, "%s embedding_initial_accumulator=1", rule);
  const outcome slower = train("DRAM", more);
  CHECK_MSG(rowwise.digest == same.digest && rowwise.digest != slower.digest && rowwise.loss < 2 * 0.75, "loss %f, digests %llx %llx %llx",
            rowwise.loss, (unsigned long long)rowwise.digest, (unsigned long long)same.digest, (unsigned long long)slower.digest);
}

/* With as many widths as columns, in DeepRec's proportion. */
static void columns_have_widths_of_their_own(void) {
  const char *dims = "dims=8,8,16,16,8,8,8,8,8,16,8,16,8,8,8,16,8,8,8,8,16,8,8,16,8,16";
  char more[256];
  snprintf(more, sizeof more, "%s threads=2", dims);
  const outcome one = train("DRAM", more);
  CHECK_MSG(fact(&one, "inputs") == 13 + 18 * 8 + 8 * 16, "%g", fact(&one, "inputs"));
  snprintf(more, sizeof more, "%s threads=1 embedding_fusion=0 executor=cost_model memory_reuse=0", dims);
  const outcome two = train("DRAM", more);
  CHECK(one.digest == two.digest && one.loss == two.loss);
}

/* Promotion ahead of the step really happens, and hits are counted. */
static void staged_rows_come_up(void) {
  const outcome o = train("DRAM_SSDHASH", "stage=2 stage_what=lookup");
  CHECK_MSG(fact(&o, "staged_batches") > 0 && fact(&o, "staged_rows") > 0 &&
                fact(&o, "staged_hits") <= fact(&o, "staged_batches"),
            "%s", o.description);
}

/* ---- the models ---- */

static ts_trainer *open_model(ts_store *store, const char *model, const char *data, const char *batch, const char *rate,
                              const char *accumulator, const char *stddev) {
  ts_trainer *t = NULL;
  ts_config *config = options("model", model, "data", data, "batch", batch, "hidden", "32", "threads", "2",
                              "deep_learning_rate", rate, "deep_initial_accumulator", accumulator, "wide_learning_rate",
                              "0.05", "wide_initial_accumulator", "1e-2", "initializer.stddev", stddev, NULL);
  if (strcmp(model, "dlrm") == 0) ts_config_set(config, "bottom", "32", NULL, 0);
  CHECK_MSG(ts_trainer_open(store, config, &t, message, sizeof message) == TS_OK, "%s", message);
  ts_config_free(config);
  return t;
}

static void models_learn(void) {
  static const char *const models[] = {"wdl", "deepfm", "dlrm"};
  const char *test = in_folder("test.cache");
  const double planted = described(test, "planted_auc");
  for (uint32_t m = 0; m < 3; m++) {
    ts_store *store = open_store("DRAM");
    ts_trainer *t = open_model(store, models[m], in_folder("train.cache"), "256", "0.02", "1e-4", "0.05");
    double before[4], after[4], loss[2];
    CHECK(ts_trainer_evaluate(t, test, 0, before, NULL, message, sizeof message) == TS_OK);
    CHECK(ts_trainer_train(t, 0, 100, NULL, NULL, &loss[0], NULL, message, sizeof message) == TS_OK);
    CHECK(ts_trainer_train(t, 0, 500, NULL, NULL, &loss[1], NULL, message, sizeof message) == TS_OK);
    CHECK(ts_trainer_evaluate(t, test, 0, after, NULL, message, sizeof message) == TS_OK);
    CHECK_MSG(after[1] > 0.74 && after[1] < planted + 0.005, "%s: AUC %f, planted %f", models[m], after[1], planted);
    CHECK_MSG(loss[1] < loss[0] - 0.01 && after[0] < before[0] - 0.05, "%s: loss %f to %f", models[m], loss[0],
              loss[1]);
    ts_trainer_close(t);
    ts_store_close(store);
  }
}

/* With enough rows for the number of ids, Wide & Deep finds what was planted. */
static void planted_model_is_found(void) {
  const char *train_file = in_folder("many.cache"), *test = in_folder("many_test.cache");
  CHECK(run(ts_data_generate, options("out", train_file, "rows", "500000", "scale", "0.00005", "threads", "2", NULL),
            NULL) == TS_OK);
  CHECK(run(ts_data_generate, options("out", test, "rows", "20000", "scale", "0.00005", "split", "test", NULL), NULL) ==
        TS_OK);
  ts_store *store = open_store("DRAM");
  ts_trainer *t = open_model(store, "wdl", train_file, "512", "0.005", "1e-8", "0.01");
  double result[4];
  CHECK(ts_trainer_train(t, 0, 960, NULL, NULL, NULL, NULL, message, sizeof message) == TS_OK);
  CHECK(ts_trainer_evaluate(t, test, 0, result, NULL, message, sizeof message) == TS_OK);
  const double planted = described(test, "planted_auc");
  CHECK_MSG(fabs(result[1] - planted) < 0.005, "AUC %f, planted %f", result[1], planted);
  ts_trainer_close(t);
  ts_store_close(store);
  unlink(train_file);
}

/* One batch is the whole file, so evaluation gives the loss that training descends: SGD moves every row by -rate times
 * the slope of that loss, through every layer of the model. */
static void embeddings_descend_the_loss(const char *model) {
  ts_store *store = open_store("DRAM");
  ts_trainer *t = NULL;
  ts_config *config = options("model", model, "data", in_folder("one.cache"), "batch", "64", "dim", "3", "hidden",
                              "20,9", "deep_optimizer", "sgd", "deep_learning_rate", "0.5", "initializer", "uniform",
                              "initializer.low", "-0.5", "initializer.high", "0.5", NULL);
  if (strcmp(model, "dlrm") == 0) ts_config_set(config, "bottom", "11", NULL, 0);
  CHECK_MSG(ts_trainer_open(store, config, &t, message, sizeof message) == TS_OK, "%s", message);
  ts_config_free(config);
  CHECK(ts_trainer_fill(t, NULL, message, sizeof message) == TS_OK);
  static float weights[30000], after_weights[30000];
  uint32_t checked = 0, moved = 0;
  double result[4], middle;
  for (uint32_t table = 0; table < 26; table += 5) {
    /* Keys of a few rows: those that are there most often. */
    int64_t column[64], keys[3];
    uint64_t n = 0, count = 0;
    ts_cache cache;
    CHECK(ts_cache_open(in_folder("one.cache"), &cache, (ts_err){message, sizeof message}) == TS_OK);
    CHECK(ts_cache_read_column(&cache, table, 0, 64, column, (ts_err){message, sizeof message}) == TS_OK);
    ts_cache_close(&cache);
    for (uint32_t r = 0; r < 64 && n < 3; r++) {
      bool known = false;
      for (uint32_t k = 0; k < n; k++) known |= keys[k] == column[r];
      if (!known) keys[n++] = column[r];
    }
    double slope[3][3], dense_slope[6];
    float before[3][3], after[3][3];
    const float e = 0x1p-7f;
    ts_trainer_evaluate(t, in_folder("one.cache"), 0, result, NULL, message, sizeof message);
    middle = result[0];
    for (uint32_t k = 0; k < TS_MIN(n, 3); k++) {
      CHECK(ts_table_find(store, table, &keys[k], 1, 0, before[k], NULL, message, sizeof message) == TS_OK);
      for (uint32_t d = 0; d < 3; d++) {
        double side[2];
        for (uint32_t s = 0; s < 2; s++) {
          float gradient[3] = {0};
          gradient[d] = s == 0 ? -2 * e : 4 * e; /* rate 0.5: + e, then - e */
          ts_table_update(store, table, &keys[k], 1, gradient, NULL, 0);
          ts_trainer_evaluate(t, in_folder("one.cache"), 0, result, NULL, message, sizeof message);
          side[s] = result[0];
        }
        float gradient[3] = {0};
        gradient[d] = -2 * e;
        ts_table_update(store, table, &keys[k], 1, gradient, NULL, 0);
        /* A ReLU that switches inside the interval bends the loss: no slope to compare. */
        slope[k][d] = fabs(side[0] + side[1] - 2 * middle) > 4e-7 ? NAN : (side[0] - side[1]) / (2.0 * (double)e);
      }
    }
    /* The same for weights of the layer below everything. */
    const char *name = strcmp(model, "dlrm") == 0 ? "bottom.0.w" : "mlp.0.w";
    CHECK(ts_trainer_parameters(t, name, weights, 30000, &count, message, sizeof message) == TS_OK);
    for (uint32_t i = 0; i < 6; i++) {
      const uint64_t at = (table * 37 + i * 101) % count;
      const float old = weights[at];
      double side[2];
      for (uint32_t s = 0; s < 2; s++) {
        weights[at] = s == 0 ? old + e : old - e;
        CHECK(ts_trainer_set_parameters(t, name, weights, count, message, sizeof message) == TS_OK);
        ts_trainer_evaluate(t, in_folder("one.cache"), 0, result, NULL, message, sizeof message);
        side[s] = result[0];
      }
      weights[at] = old;
      dense_slope[i] = fabs(side[0] + side[1] - 2 * middle) > 4e-7 ? NAN : (side[0] - side[1]) / (2.0 * (double)e);
    }
    CHECK(ts_trainer_set_parameters(t, name, weights, count, message, sizeof message) == TS_OK);
    CHECK(ts_trainer_train(t, 0, 1, NULL, NULL, NULL, NULL, message, sizeof message) == TS_OK);
    CHECK(ts_trainer_parameters(t, name, after_weights, 30000, NULL, message, sizeof message) == TS_OK);
    for (uint32_t i = 0; i < 6; i++) {
      const uint64_t at = (table * 37 + i * 101) % count;
      const double found = ((double)weights[at] - (double)after_weights[at]) / 0.5;
      if (isnan(dense_slope[i])) continue;
      CHECK_MSG(fabs(found - dense_slope[i]) < 3e-5 + 0.03 * fabs(dense_slope[i]), "%s %s: moved %g, slope %g", model,
                name, found, dense_slope[i]);
      checked++;
    }
    for (uint32_t k = 0; k < TS_MIN(n, 3); k++) {
      CHECK(ts_table_find(store, table, &keys[k], 1, 0, after[k], NULL, message, sizeof message) == TS_OK);
      for (uint32_t d = 0; d < 3; d++) {
        if (isnan(slope[k][d])) continue;
        const double found = ((double)before[k][d] - (double)after[k][d]) / 0.5;
        CHECK_MSG(fabs(found - slope[k][d]) < 3e-5 + 0.03 * fabs(slope[k][d]), "%s table %u: moved %g, slope %g", model,
                  table, found, slope[k][d]);
        checked++;
        moved += fabs(slope[k][d]) > 1e-4;
      }
    }
  }
  CHECK_MSG(checked >= 40 && moved >= 5, "%s: %u checked, %u moved", model, checked, moved);
  ts_trainer_close(t);
  ts_store_close(store);
}

static void refuse(const char *key, const char *value, const char *other, const char *other_value, const char *wanted) {
  ts_store *store = open_store("DRAM");
  ts_trainer *t = NULL;
  ts_config *config = options("data", in_folder("train.cache"), "batch", "100", key, value, other, other_value, NULL);
  const int32_t found = ts_trainer_open(store, config, &t, message, sizeof message);
  CHECK_MSG(found == TS_EINVAL && strstr(message, wanted) != NULL && t == NULL, "%s=%s: %d \"%s\" does not say \"%s\"",
            key, value, found, message, wanted);
  ts_config_free(config);
  ts_store_close(store);
}

static void bad_values_are_refused(void) {
  static const char *const choices[][2] = {
      {"model", "din"},           {"executor", "cost-model"},      {"stage_what", "rows"}, {"bf16", "1"},
      {"wide_optimizer", "adam"}, {"embedding_optimizer", "ftrl-row"}, {"deep_optimizer", "x"}};
  for (uint32_t i = 0; i < sizeof choices / sizeof *choices; i++)
    refuse(choices[i][0], choices[i][1], NULL, NULL, choices[i][1]);
  static const char *const numbers[][2] = {
      {"stage", "9"},         {"readers", "0"},         {"readers", "17"},        {"micro_batch", "0"},
      {"micro_batch", "65"},  {"dropout", "0.95"},      {"async_embedding", "2"}, {"embedding_fusion", "x"},
      {"memory_reuse", "-1"}, {"deterministic", "yes"}, {"graph_fusion", "2"},    {"deep_beta1", "1"},
      {"dims", "8,x"},        {"bottom", "0"}};
  for (uint32_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
    char wanted[64];
    snprintf(wanted, sizeof wanted, "\"%s\"", numbers[i][0]);
    refuse(numbers[i][0], numbers[i][1], NULL, NULL, wanted);
  }
  refuse("dims", "8,8", NULL, NULL, "has 2 widths; 26 are needed");
  const char *dims = "8,8,8,8,8,8,8,8,8,8,8,8,8,8,8,8,8,8,8,8,8,8,8,8,8,4";
  refuse("model", "deepfm", "dims", dims, "C26 has 4");
  refuse("model", "dlrm", "dims", dims, "C26 has 4");
  refuse("model", "deepfm", "bottom", "8", "\"bottom\" is of model \"dlrm\"");
  refuse("deep_optimizer", "adagrad", "deep_beta1", "0.5", "\"deep_beta1\" is of adam");
  refuse("micro_batch", "64", "batch", "10", "micro_batch 64");
}

int main(void) {
  setenv("PMEM_IS_PMEM_FORCE", "1", 1);
  make_folder();
  CHECK(run(ts_data_generate, options("out", in_folder("train.cache"), "rows", "60500", "scale", "0.001", NULL),
            NULL) == TS_OK);
  CHECK(run(ts_data_generate,
            options("out", in_folder("test.cache"), "rows", "10000", "scale", "0.001", "split", "test", NULL),
            NULL) == TS_OK);
  CHECK(run(ts_data_generate,
            options("out", in_folder("few.cache"), "rows", "1500", "scale", "0.001", "split", "test", NULL),
            NULL) == TS_OK);
  CHECK(run(ts_data_generate, options("out", in_folder("one.cache"), "rows", "64", "scale", "0.001", NULL), NULL) ==
        TS_OK);
  same_bits("wdl");
  same_bits("wdl dim=16 first_layer=distinct");
  same_bits("dlrm");
  same_bits("deepfm");
  asynchronous_embedding_is_one_update_late("dim=8");
  asynchronous_embedding_is_one_update_late("dim=16 first_layer=distinct");
  distinct_rows_train_the_same();
  distinct_rows_are_refused_by_name();
  late_rows_have_the_values_of_a_step_before();
  micro_batches_sum_to_the_batch("wdl");
  micro_batches_sum_to_the_batch("dlrm");
  the_other_switches_stay_near();
  columns_have_widths_of_their_own();
  staged_rows_come_up();
  models_learn();
  planted_model_is_found();
  embeddings_descend_the_loss("deepfm");
  embeddings_descend_the_loss("dlrm");
  bad_values_are_refused();
  remove_folder();
  return test_result();
}
