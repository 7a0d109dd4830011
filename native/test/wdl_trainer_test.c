/* The trainer as a whole on real stores: gradients through the embeddings, the same bits for any number of threads and
 * any storage type, learning, filling, cancelling, errors. */
#include "store/statistics.h"
#include "test/foreign_threads.h"
#include "test/wdl_fixture.h"
#include "wdl/input/cache_format.h"

#include <math.h>

static ts_config *storage_options(const char *storage, const char *size) {
  ts_config *config = options("storage", storage, "seed", "5", "size", size, NULL);
  if (strstr(storage, "DRAM_PMEM") != NULL) ts_config_set(config, "pmem", "libpmem", NULL, 0);
  if (strcmp(storage, "PMEM_MBIND") == 0) ts_config_set(config, "pmem_nodes", "0", NULL, 0);
  if (strcmp(storage, "DRAM") != 0) ts_config_set(config, "path", folder, NULL, 0);
  return config;
}

static ts_store *open_store_of(ts_config *config) {
  ts_store *store = NULL;
  int32_t status = ts_store_open(config, &store, message, sizeof message);
  CHECK_MSG(status == TS_OK, "%s", message);
  ts_config_free(config);
  return store;
}

static ts_store *open_store(const char *storage, const char *size) {
  return open_store_of(storage_options(storage, size));
}

static ts_trainer *open_trainer(ts_store *store, ts_config *config) {
  ts_trainer *trainer = NULL;
  int32_t status = ts_trainer_open(store, config, &trainer, message, sizeof message);
  CHECK_MSG(status == TS_OK, "%s", message);
  ts_config_free(config);
  return trainer;
}

static double loss_of(ts_trainer *trainer, const char *path) {
  double result[4] = {0};
  CHECK(ts_trainer_evaluate(trainer, path, 0, result, NULL, message, sizeof message) == TS_OK);
  return result[0];
}

/* One batch is the whole file, so evaluate gives the loss that train descends: SGD moves every row by -rate times the
 * slope of that loss, duplicates in the batch and the mean over it included. */
static void embeddings_descend_the_loss(void) {
  const char *path = in_folder("one.cache");
  CHECK(run(ts_data_generate, options("out", path, "rows", "64", "scale", "0.001", NULL), NULL) == TS_OK);
  ts_store *store = open_store("DRAM", "");
  ts_trainer *t =
      open_trainer(store, options("data", path, "batch", "64", "dim", "3", "hidden", "20,9", "deep_optimizer", "sgd",
                                  "deep_learning_rate", "0.5", "initializer", "uniform", NULL));
  if (t == NULL) return;
  CHECK(ts_trainer_fill(t, NULL, message, sizeof message) == TS_OK);
  uint32_t checked = 0, moved = 0;
  for (uint32_t table = 0; table < 26; table += 5) {
    static int64_t keys[100000];
    uint64_t n = 0;
    CHECK(ts_table_keys(store, table, keys, 100000, &n, message, sizeof message) == TS_OK);
    double slope[6][3];
    float before[6][3], after[6][3];
    uint64_t some = TS_MIN(n, 3);
    for (uint64_t k = 0; k < some; k++) {
      CHECK(ts_table_find(store, table, &keys[k], 1, 0, before[k], NULL, message, sizeof message) == TS_OK);
      for (uint32_t d = 0; d < 3; d++) {
        /* ts_table_update with rate 0.5: gradient -2 e moves the weight by e. */
        const float e = 0x1p-6f;
        float gradient[3] = {0};
        gradient[d] = -2 * e;
        ts_table_update(store, table, &keys[k], 1, gradient, NULL, 0);
        double right = loss_of(t, path);
        gradient[d] = 4 * e;
        ts_table_update(store, table, &keys[k], 1, gradient, NULL, 0);
        double left = loss_of(t, path);
        gradient[d] = -2 * e;
        ts_table_update(store, table, &keys[k], 1, gradient, NULL, 0);
        slope[k][d] = (right - left) / (2.0 * (double)e);
        /* A ReLU that switches inside the interval bends the loss: no slope to compare. */
        if (fabs(right + left - 2 * loss_of(t, path)) > 5e-7) slope[k][d] = __builtin_nan("");
      }
    }
    /* All slopes of this table are at the same point: train one step, look, and take the trainer afresh. */
    CHECK(ts_trainer_train(t, 0, 1, NULL, NULL, NULL, NULL, message, sizeof message) == TS_OK);
    for (uint64_t k = 0; k < some; k++) {
      CHECK(ts_table_find(store, table, &keys[k], 1, 0, after[k], NULL, message, sizeof message) == TS_OK);
      for (uint32_t d = 0; d < 3; d++) {
        if (isnan(slope[k][d])) continue;
        double found = ((double)before[k][d] - (double)after[k][d]) / 0.5;
        CHECK_MSG(fabs(found - slope[k][d]) < 2e-5 + 0.03 * fabs(slope[k][d]), "table %u: moved %g, slope %g", table,
                  found, slope[k][d]);
        checked++;
        moved += fabs(slope[k][d]) > 1e-4;
      }
    }
  }
  CHECK_MSG(checked >= 40 && moved >= 5, "%u checked, %u moved", checked, moved);
  ts_trainer_close(t);
  ts_store_close(store);
}

static uint64_t train_digest(ts_config *config, const char *threads, const char *seed, double *loss, uint64_t *evicted) {
  ts_store *store = open_store_of(config);
  if (store == NULL) return 0;
  ts_trainer *t = open_trainer(store, options("data", in_folder("train.cache"), "batch", "200", "hidden", "48,24",
                                              "threads", threads, "seed", seed, "dim", "8", NULL));
  uint64_t digest = 0, steps[30], phases[TS_PHASES], sum = 0, control[TS_CONTROL_WORDS] = {0};
  if (t != NULL) {
    int32_t status = ts_trainer_train(t, 0, 30, steps, phases, loss, control, message, sizeof message);
    CHECK_MSG(status == TS_OK, "%s", message);
    CHECK(control[TS_CONTROL_DONE] == 30 && control[TS_CONTROL_TOTAL] == 30);
    for (uint32_t i = 0; i < 30; i++) sum += steps[i];
    uint64_t total = 0, statistics[TS_STATISTIC_COUNT];
    for (uint32_t i = 0; i < TS_PHASES; i++) total += phases[i];
    CHECK_MSG(total <= sum && phases[TS_PHASE_INPUT] > 0 && phases[TS_PHASE_DENSE] > 0 &&
                  phases[TS_PHASE_LOOKUP] + phases[TS_PHASE_UPDATE] + phases[TS_PHASE_EVICTION] > 0,
              "phases %llu of %llu", (unsigned long long)total, (unsigned long long)sum);
    CHECK(ts_trainer_digest(t, &digest, message, sizeof message) == TS_OK);
    CHECK(ts_store_statistics(store, statistics, TS_STATISTIC_COUNT, NULL, message, sizeof message) == TS_OK);
    if (evicted != NULL) *evicted = statistics[TS_STAT_evicted];
  }
  ts_trainer_close(t);
  ts_store_close(store);
  return digest;
}

static void results_are_the_same_everywhere(void) {
  double loss[6];
  uint64_t one = train_digest(storage_options("DRAM", ""), "1", "1", &loss[0], NULL);
  CHECK(train_digest(storage_options("DRAM", ""), "2", "1", &loss[1], NULL) == one);
  CHECK(train_digest(storage_options("DRAM", ""), "5", "1", &loss[2], NULL) == one);
  CHECK(loss[0] == loss[1] && loss[0] == loss[2]);
  CHECK(train_digest(storage_options("DRAM", ""), "1", "2", &loss[3], NULL) != one);
}

/* First tiers that hold a part of the rows, counted by their rows alone: 26 tables on disks have buffers that take more. */
static void tiers_do_not_change_results(void) {
  static const struct {
    const char *storage, *size, *size_counts;
  } cases[] = {
      {"PMEM_LIBPMEM", "268435456", "all"},
      {"PMEM_MEMKIND", "268435456", "all"},
      {"PMEM_MBIND", "268435456", "all"},
      {"SSDHASH", "268435456", "rows"},
      {"LEVELDB", "268435456", "rows"},
      {"DRAM_PMEM", "1048576,268435456", "all"},
      {"DRAM_SSDHASH", "65536,268435456", "rows"},
      {"DRAM_LEVELDB", "65536,268435456", "rows"},
      {"DRAM_PMEM_SSDHASH", "65536,131072,268435456", "rows"},
      {"DRAM_PMEM_LEVELDB", "65536,131072,268435456", "rows"},
  };
  setenv("MEMKIND_DAX_KMEM_NODES", "0", 0);
  double expected, loss = 0;
  uint64_t plain = train_digest(storage_options("DRAM", ""), "2", "1", &expected, NULL);
  for (uint32_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    ts_config *probe = storage_options(cases[i].storage, cases[i].size);
    ts_config_set(probe, "size_counts", cases[i].size_counts, NULL, 0);
    int32_t available = ts_store_probe(probe, message, sizeof message);
    ts_config_free(probe);
    if (available == TS_EUNAVAILABLE) {
      SKIP("wdl_trainer_test: tiers_do_not_change_results", "%s: %s", cases[i].storage, message);
      continue;
    }
    /* Opening 26 databases takes long on a slow disk: one such type runs with both numbers of threads. */
    const bool slow = strstr(cases[i].storage, "LEVELDB") != NULL && strcmp(cases[i].storage, "DRAM_LEVELDB") != 0;
    for (uint32_t threads = slow ? 2 : 1; threads <= 2; threads++) {
      ts_config *config = storage_options(cases[i].storage, cases[i].size);
      ts_config_set(config, "size_counts", cases[i].size_counts, NULL, 0);
      uint64_t evicted = 0, digest = train_digest(config, threads == 1 ? "1" : "2", "1", &loss, &evicted);
      CHECK_MSG(digest == plain && loss == expected, "%s of %s bytes (%s), %u threads: loss %.17g, on DRAM %.17g",
                cases[i].storage, cases[i].size, cases[i].size_counts, threads, loss, expected);
      CHECK_MSG(evicted > 1000 || strchr(cases[i].size, ',') == NULL, "%s of %s bytes (%s): %llu rows moved down",
                cases[i].storage, cases[i].size, cases[i].size_counts, (unsigned long long)evicted);
    }
  }
}

static void training_learns(void) {
  ts_store *store = open_store("DRAM", "");
  ts_trainer *t = open_trainer(store, options("data", in_folder("train.cache"), "batch", "256", "hidden", "32",
                                              "threads", "2", "deep_learning_rate", "0.007", "deep_initial_accumulator",
                                              "1e-8", "wide_learning_rate", "0.02", "wide_initial_accumulator", "1e-7",
                                              "initializer", "truncated-normal", "initializer.stddev", "0.01", NULL));
  if (t == NULL) return;
  double before[4], after[4], loss;
  uint64_t control[TS_CONTROL_WORDS] = {0}, digest[2];
  CHECK(ts_trainer_evaluate(t, in_folder("test.cache"), 0, before, control, message, sizeof message) == TS_OK);
  CHECK(before[2] == 10000 && before[3] == 1 && control[TS_CONTROL_DONE] == 10000);
  CHECK(ts_trainer_train(t, 0, 400, NULL, NULL, &loss, NULL, message, sizeof message) == TS_OK);
  CHECK(ts_trainer_digest(t, &digest[0], message, sizeof message) == TS_OK);
  CHECK(ts_trainer_evaluate(t, in_folder("test.cache"), 0, after, NULL, message, sizeof message) == TS_OK);
  CHECK(ts_trainer_digest(t, &digest[1], message, sizeof message) == TS_OK);
  CHECK(digest[0] == digest[1]); /* evaluation changes nothing */
  double planted = described(in_folder("test.cache"), "planted_auc"),
         numeric = described(in_folder("test.cache"), "numeric_auc");
  CHECK_MSG(after[1] > numeric + 0.03 && after[1] < planted + 0.005, "AUC %f, numerics alone %f, planted %f", after[1],
            numeric, planted);
  CHECK_MSG(after[0] < before[0] - 0.05 && after[0] > described(in_folder("test.cache"), "planted_logloss") - 0.005,
            "logloss %f -> %f", before[0], after[0]);
  CHECK(after[3] < 0.1 && after[3] > 0);
  double part[4];
  CHECK(ts_trainer_evaluate(t, in_folder("test.cache"), 777, part, NULL, message, sizeof message) == TS_OK &&
        part[2] == 777);
  CHECK(ts_trainer_evaluate(t, in_folder("none"), 0, part, NULL, message, sizeof message) == TS_EIO);
  CHECK(ts_trainer_fill(t, control, message, sizeof message) == TS_OK);
  CHECK(control[TS_CONTROL_DONE] == control[TS_CONTROL_TOTAL]);
  for (uint32_t c = 0; c < 26; c++) {
    uint64_t rows[4] = {0};
    char name[32];
    snprintf(name, sizeof name, "cardinality.%u", c);
    CHECK(ts_table_rows(store, c, rows, 1, message, sizeof message) == TS_OK);
    CHECK_MSG((double)rows[0] == described(in_folder("train.cache"), name), "table %u: %llu rows", c,
              (unsigned long long)rows[0]);
  }
  CHECK(ts_trainer_evaluate(t, in_folder("test.cache"), 0, part, NULL, message, sizeof message) == TS_OK &&
        part[3] == 0);
  ts_trainer_close(t);
  ts_store_close(store);
}

static void imported_rows_fill_and_train(void) {
  FILE *f = fopen(in_folder("text"), "w");
  for (uint32_t r = 0; r < 3000; r++) {
    fprintf(f, "%u", r % 5 == 0);
    for (uint32_t j = 0; j < 13; j++) fprintf(f, "\t%u", (r * (j + 3)) % 50);
    for (uint32_t c = 0; c < 26; c++) fprintf(f, "\t%x", r % (c * 30 + 2));
    fputc('\n', f);
  }
  fclose(f);
  CHECK(run(ts_data_import,
            options("in", in_folder("text"), "train_out", in_folder("real.cache"), "test_out", in_folder("held.cache"),
                    NULL),
            NULL) == TS_OK);
  ts_store *store = open_store("DRAM", "");
  ts_trainer *t =
      open_trainer(store, options("data", in_folder("real.cache"), "batch", "300", "hidden", "16", "dim", "4", NULL));
  if (t == NULL) return;
  uint64_t control[TS_CONTROL_WORDS] = {0};
  CHECK(ts_trainer_fill(t, control, message, sizeof message) == TS_OK);
  for (uint32_t c = 0; c < 26; c++) {
    uint64_t rows = 0;
    char name[32];
    snprintf(name, sizeof name, "cardinality.%u", c);
    ts_table_rows(store, c, &rows, 1, message, sizeof message);
    CHECK(rows > 0 && (double)rows == described(in_folder("real.cache"), name));
  }
  CHECK(control[TS_CONTROL_DONE] == control[TS_CONTROL_TOTAL]);
  double first, last = 0;
  CHECK(ts_trainer_train(t, 0, 9, NULL, NULL, &first, NULL, message, sizeof message) == TS_OK);
  for (uint32_t i = 0; i < 30; i++)
    CHECK(ts_trainer_train(t, 0, 9, NULL, NULL, &last, NULL, message, sizeof message) == TS_OK);
  CHECK_MSG(last < first, "%f -> %f", first, last);
  ts_trainer_close(t);
  ts_store_close(store);
}

static void refuse(ts_config *config, int32_t status, const char *wanted) {
  ts_store *store = open_store("DRAM", "");
  ts_trainer *t = NULL;
  int32_t found = ts_trainer_open(store, config, &t, message, sizeof message);
  CHECK_MSG(found == status && strstr(message, wanted) != NULL && t == NULL, "%d \"%s\" does not say \"%s\"", found,
            message, wanted);
  ts_config_free(config);
  ts_store_close(store);
}

static void bad_options_are_refused(void) {
  const char *data = in_folder("train.cache");
  refuse(options("batch", "10", NULL), TS_EINVAL, "\"data\" is required");
  refuse(options("data", in_folder("none"), NULL), TS_EIO, "none");
  refuse(options("data", data, "bach", "10", NULL), TS_EINVAL, "\"bach\"");
  refuse(options("data", data, "batch", "999999", NULL), TS_EINVAL, "use a smaller batch");
  refuse(options("data", data, "hidden", "10,0", NULL), TS_EINVAL, "\"hidden\"");
  refuse(options("data", data, "hidden", "1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1", NULL), TS_EINVAL, "17 layers");
  refuse(options("data", data, "deep_optimizer", "adamx", NULL), TS_EINVAL, "\"adamx\"");
  refuse(options("data", data, "batch", "100", "initializer", "zeros", NULL), TS_EINVAL, "\"zeros\"");
}

static void cancelling_keeps_what_was_done(void) {
  ts_store *store = open_store("DRAM", "");
  ts_trainer *t = open_trainer(store, options("data", in_folder("train.cache"), "batch", "100", "hidden", "16", NULL));
  if (t == NULL) return;
  uint64_t control[TS_CONTROL_WORDS] = {1};
  double loss = -1;
  CHECK(ts_trainer_train(t, 0, 5, NULL, NULL, &loss, control, message, sizeof message) == TS_ECANCELLED && loss == 0);
  CHECK(ts_trainer_fill(t, control, message, sizeof message) == TS_ECANCELLED);
  double result[4];
  CHECK(ts_trainer_evaluate(t, in_folder("test.cache"), 0, result, control, message, sizeof message) == TS_ECANCELLED);
  control[0] = 0;
  CHECK(ts_trainer_train(t, 0, 5, NULL, NULL, &loss, control, message, sizeof message) == TS_OK && loss > 0);
  ts_trainer_close(t);
  ts_store_close(store);
}

typedef struct holder {
  uint64_t *control;
  uint64_t first, every, all; /* steps before the first hold, between two, and in all */
  uint64_t held_ns, holds;
  bool cancels; /* at the second */
} holder;

static void *hold_and_pass(void *argument) {
  holder *h = argument;
  for (uint64_t at = h->first; at < h->all; at += h->every) {
    CHECK(ts_control_wait(h->control, at) == TS_OK);
    const uint64_t start = ts_now_ns();
    usleep(20000);
    CHECK(__atomic_load_n(&h->control[TS_CONTROL_DONE], __ATOMIC_ACQUIRE) == at);
    h->held_ns += ts_now_ns() - start;
    h->holds++;
    if (h->cancels && h->holds == 2) {
      __atomic_store_n(&h->control[TS_CONTROL_CANCEL], 1, __ATOMIC_RELEASE);
      CHECK(ts_control_wait(h->control, at + 1) == TS_ECANCELLED);
      return NULL;
    }
    CHECK(ts_control_pass(h->control, at + h->every < h->all ? at + h->every + 1 : 0) == TS_OK);
  }
  return NULL;
}

/* Trains 2 and 12 steps, held before the first or the third and then every four. Returns the digest. */
static uint64_t train_held(uint64_t first, bool holds, bool cancels, uint64_t *held) {
  ts_store *store = open_store("DRAM", "");
  ts_trainer *t = open_trainer(store, options("data", in_folder("train.cache"), "batch", "100", "hidden", "16", "threads", "2", NULL));
  if (t == NULL) return 0;
  uint64_t control[TS_CONTROL_WORDS] = {[TS_CONTROL_HOLD] = holds ? first + 1 : 0}, ns[12] = {0}, digest = 0, sum = 0;
  holder h = {.control = control, .first = first, .every = 4, .all = 14, .cancels = cancels};
  pthread_t thread;
  if (holds) CHECK(pthread_create(&thread, NULL, hold_and_pass, &h) == 0);
  const uint64_t start = ts_now_ns();
  const int32_t status = ts_trainer_train(t, 2, 12, ns, NULL, NULL, control, message, sizeof message);
  CHECK(status == (cancels ? TS_ECANCELLED : TS_OK));
  const uint64_t wall = ts_now_ns() - start;
  if (holds) pthread_join(thread, NULL);
  for (uint32_t i = 0; i < 12; i++) sum += ns[i];
  CHECK_MSG(sum + h.held_ns <= wall, "steps %llu, held %llu, wall %llu", (unsigned long long)sum, (unsigned long long)h.held_ns,
            (unsigned long long)wall);
  CHECK(control[TS_CONTROL_DONE] == (cancels ? first + 4 : 14));
  CHECK(ts_trainer_digest(t, &digest, message, sizeof message) == TS_OK);
  ts_trainer_close(t);
  ts_store_close(store);
  *held = h.holds;
  return digest;
}

/* A run waits where its caller says, in no step's time, and comes to the same rows. */
static void training_holds(void) {
  uint64_t held = 0;
  const uint64_t plain = train_held(0, false, false, &held);
  CHECK(train_held(2, true, false, &held) == plain && held == 3);
  CHECK(train_held(0, true, false, &held) == plain && held == 4);
  CHECK(train_held(2, true, true, &held) != plain && held == 2);
  CHECK(ts_control_wait(NULL, 1) == TS_EINVAL && ts_control_pass(NULL, 1) == TS_EINVAL);
}

/* Parameters have the shape on paper, and what is set is what the model computes with. */
static void parameters_by_name(void) {
  ts_store *store = open_store("DRAM", "");
  ts_trainer *t = open_trainer(store, options("data", in_folder("train.cache"), "batch", "100", "hidden", "20,9", "dim", "5",
                                              "wide_buckets", "7", NULL));
  if (t == NULL) return;
  static const struct {
    const char *name;
    uint64_t count;
  } shapes[] = {{"mlp.0.w", (13 + 26 * 5) * 20}, {"mlp.0.b", 20},     {"mlp.1.w", 20 * 9}, {"mlp.1.b", 9}, {"output.w", 9},
                {"output.b", 1},                 {"wide.numeric", 13}, {"wide.C1", 7},      {"wide.C26", 7}};
  static float values[4000], back[4000];
  for (uint32_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
    uint64_t needed = 0;
    CHECK(ts_trainer_parameters(t, shapes[i].name, NULL, 0, &needed, message, sizeof message) == TS_ERANGE);
    CHECK_MSG(needed == shapes[i].count, "%s: %llu", shapes[i].name, (unsigned long long)needed);
    for (uint32_t k = 0; k < needed; k++) values[k] = 0;
    CHECK(ts_trainer_set_parameters(t, shapes[i].name, values, needed - 1, message, sizeof message) == TS_EINVAL);
    CHECK(ts_trainer_set_parameters(t, shapes[i].name, values, needed, message, sizeof message) == TS_OK);
  }
  double zero = loss_of(t, in_folder("test.cache"));
  CHECK_MSG(fabs(zero - log(2)) < 1e-7, "all parameters zero: logloss %f", zero);
  /* One path from the last input, weight 5 of C26, to the output, against rows read by hand. */
  values[(13 + 26 * 5 - 1) * 20 + 3] = 2;
  CHECK(ts_trainer_set_parameters(t, "mlp.0.w", values, shapes[0].count, message, sizeof message) == TS_OK);
  CHECK(ts_trainer_parameters(t, "mlp.0.w", back, 4000, NULL, message, sizeof message) == TS_OK);
  CHECK(memcmp(values, back, shapes[0].count * sizeof *values) == 0);
  memset(values, 0, sizeof values);
  values[3 * 9 + 8] = 3;
  CHECK(ts_trainer_set_parameters(t, "mlp.1.w", values, 180, message, sizeof message) == TS_OK);
  memset(values, 0, sizeof values);
  values[8] = 1;
  CHECK(ts_trainer_set_parameters(t, "output.w", values, 9, message, sizeof message) == TS_OK);
  CHECK(ts_trainer_fill(t, NULL, message, sizeof message) == TS_OK);
  ts_cache cache;
  CHECK(ts_cache_open(in_folder("train.cache"), &cache, (ts_err){message, sizeof message}) == TS_OK);
  static float labels[50];
  static int64_t keys[26 * 50];
  CHECK(ts_cache_read(&cache, 0, 50, 50, labels, NULL, keys, (ts_err){message, sizeof message}) == TS_OK);
  ts_cache_close(&cache);
  double expected = 0, result[4];
  for (uint32_t r = 0; r < 50; r++) {
    float row[5];
    ts_table_find(store, 25, &keys[25 * 50 + r], 1, 0, row, NULL, message, sizeof message);
    const double logit = row[4] > 0 ? 6 * (double)row[4] : 0;
    expected += log1p(exp(labels[r] > 0 ? -logit : logit)) / 50;
  }
  CHECK(ts_trainer_evaluate(t, in_folder("train.cache"), 50, result, NULL, message, sizeof message) == TS_OK);
  CHECK_MSG(fabs(result[0] - expected) < 1e-6, "logloss %f, by hand %f", result[0], expected);
  CHECK(ts_trainer_parameters(t, "wide.C27", back, 4000, NULL, message, sizeof message) == TS_EINVAL &&
        strstr(message, "\"wide.C27\"") != NULL);
  CHECK(ts_trainer_parameters(t, "mlp.2.w", back, 4000, NULL, message, sizeof message) == TS_EINVAL);
  ts_trainer_close(t);
  ts_store_close(store);
}

/* A net whose weights have left the finite numbers has no AUC and no loss: NaN would rank as ties, 0.5, and clip as 16.118. */
static void divergence_is_an_error(void) {
  ts_store *store = open_store("DRAM", "");
  ts_trainer *t = open_trainer(store, options("data", in_folder("train.cache"), "batch", "500", "hidden", "32,16", "dim",
                                              "4", "deep_optimizer", "sgd", "deep_learning_rate", "1e6", "threads", "2", NULL));
  if (t == NULL) return;
  double loss = 0, result[4] = {0};
  int32_t status = TS_OK;
  for (int i = 0; i < 40 && status == TS_OK; i++)
    status = ts_trainer_train(t, 0, 5, NULL, NULL, &loss, NULL, message, sizeof message);
  CHECK_MSG(status == TS_EDIVERGED && strstr(message, "training diverged") != NULL &&
                strstr(message, "lower the learning rates (deep 1e+06, embedding 1e+06, wide 0.2)") != NULL,
            "%d %g %s", status, loss, message);
  status = ts_trainer_evaluate(t, in_folder("test.cache"), 0, result, NULL, message, sizeof message);
  CHECK_MSG(status == TS_EDIVERGED && strstr(message, "Cannot evaluate: training diverged") != NULL && result[1] == 0,
            "%d %g %g %s", status, result[0], result[1], message);
  char name[32];
  uint64_t needed;
  CHECK(ts_status_name(TS_EDIVERGED, name, sizeof name, &needed) == TS_OK && strcmp(name, "TS_EDIVERGED") == 0);
  ts_trainer_close(t);
  ts_store_close(store);
}

int main(void) {
  make_folder();
  CHECK(run(ts_data_generate, options("out", in_folder("train.cache"), "rows", "60500", "scale", "0.001", NULL),
            NULL) == TS_OK);
  CHECK(run(ts_data_generate,
            options("out", in_folder("test.cache"), "rows", "10000", "scale", "0.001", "split", "test", NULL),
            NULL) == TS_OK);
  embeddings_descend_the_loss();
  results_are_the_same_everywhere();
  tiers_do_not_change_results();
  training_learns();
  divergence_is_an_error();
  imported_rows_fill_and_train();
  parameters_by_name();
  bad_options_are_refused();
  cancelling_keeps_what_was_done();
  training_holds();
  remove_folder();
  return test_result();
}
