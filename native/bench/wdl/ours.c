/* ours.c - our trainer through the library's public interface and nothing else. Options: library=<path>; store.<option> and
 * trainer.<option> go to ts_store_open and ts_trainer_open; those of batches.h for the embeddings alone.
 *
 *   prepare ...                      opens a store and a trainer, and creates all rows
 *   train steps=<n>                  seconds and processor time of one step; input: its share of the wall time; loss
 *   evaluate data=<file>             auc and logloss
 *   embedding steps=<n>              seconds of lookup and update of the 26 tables alone, gradients given
 *   describe                         what the trainer is */
#include "../library.h"
#include "batches.h"

#include <stdlib.h>
#include <string.h>

#define FUNCTIONS(X)                                                                                                      \
  X(ts_config_create) X(ts_config_free) X(ts_config_set) X(ts_store_open) X(ts_table_lookup) X(ts_table_update)           \
  X(ts_trainer_open) X(ts_trainer_fill) X(ts_trainer_train) X(ts_trainer_evaluate) X(ts_trainer_describe)

static struct {
#define FIELD(name) __typeof__(name) *name;
  FUNCTIONS(FIELD)
#undef FIELD
} lib;

static ts_store *store;
static ts_trainer *trainer;
static wdl_batches batches;
static float *rows[TS_CATEGORIES], *gradients;

static bool open_library(const char *path, char *error) {
  void *handle = bench_library_open(path, error);
  if (handle == NULL) return false;
#define LOAD(name)                                                             \
  lib.name = (__typeof__(name) *)bench_library_function(handle, #name, error); \
  if (lib.name == NULL) return false;
  FUNCTIONS(LOAD)
#undef LOAD
  return true;
}

static bool prepare(const bench_options *options, char *reply, char *error) {
  const uint64_t start = bench_now_ns();
  if (trainer != NULL) return bench_fail(error, "Cannot prepare twice");
  if (!open_library(bench_text(options, "library", "libtierstore.so"), error)) return false;
  if (!wdl_batches_open(&batches, options, error)) return false;
  char threads[16];
  snprintf(threads, sizeof threads, "%u", batches.threads);
  ts_config *of_store = NULL, *of_trainer = NULL;
  bool ok = lib.ts_config_create(&of_store) == TS_OK && lib.ts_config_create(&of_trainer) == TS_OK &&
            bench_configure(lib.ts_config_set, options, "store.", of_store, error) &&
            lib.ts_store_open(of_store, &store, error, BENCH_TEXT) == TS_OK &&
            lib.ts_config_set(of_trainer, "data", batches.cache.path, error, BENCH_TEXT) == TS_OK &&
            lib.ts_config_set(of_trainer, "threads", threads, error, BENCH_TEXT) == TS_OK &&
            bench_configure(lib.ts_config_set, options, "trainer.", of_trainer, error) &&
            lib.ts_trainer_open(store, of_trainer, &trainer, error, BENCH_TEXT) == TS_OK &&
            lib.ts_trainer_fill(trainer, NULL, error, BENCH_TEXT) == TS_OK;
  lib.ts_config_free(of_store);
  lib.ts_config_free(of_trainer);
  if (!ok) return false;
  gradients = wdl_gradients(&batches);
  for (uint32_t c = 0; c < TS_CATEGORIES; c++)
    rows[c] = bench_pages((uint64_t)batches.rows * batches.dims[c] * sizeof(float));
  uint64_t count = 0;
  for (uint32_t c = 0; c < TS_CATEGORIES; c++) count += batches.cache.header.cardinality[c];
  snprintf(reply, BENCH_TEXT, "seconds=%.3f rows=%llu", (double)(bench_now_ns() - start) * 1e-9, (unsigned long long)count);
  return true;
}

/* The first step of a call is run and not counted: nothing was staged for it, and the caches are others'. */
static bool train(const bench_options *options, char *reply, char *error) {
  const uint64_t steps = bench_number(options, "steps", 0);
  if (steps == 0) return bench_fail(error, "Cannot measure no steps");
  uint64_t *step_ns = calloc(steps + 1, sizeof *step_ns), phase_ns[TS_PHASES], sum = 0;
  if (step_ns == NULL) return bench_fail(error, "Cannot train %llu steps: out of memory", (unsigned long long)steps);
  double loss = 0;
  const uint64_t cpu = bench_cpu_ns();
  const bool ok = lib.ts_trainer_train(trainer, 0, steps + 1, step_ns, phase_ns, &loss, NULL, error, BENCH_TEXT) == TS_OK;
  const double cpu_s = (double)(bench_cpu_ns() - cpu) * 1e-9 / (double)(steps + 1);
  for (uint64_t i = 1; i <= steps; i++) sum += step_ns[i];
  const double all = (double)(sum + step_ns[0]);
  free(step_ns);
  if (!ok) return false;
  int n = snprintf(reply, BENCH_TEXT, "seconds=%.9f cpu=%.9f loss=%.9g", (double)sum * 1e-9 / (double)steps, cpu_s, loss);
  static const char *const names[TS_PHASES] = {"input", "lookup", "dense", "update", "eviction"};
  for (uint32_t p = 0; p < TS_PHASES; p++)
    n += snprintf(reply + n, BENCH_TEXT - (size_t)n, " %s=%.9f", names[p], (double)phase_ns[p] / all);
  return true;
}

static bool evaluate(const bench_options *options, char *reply, char *error) {
  double result[4];
  if (lib.ts_trainer_evaluate(trainer, bench_text(options, "data", ""), 0, result, NULL, error, BENCH_TEXT) != TS_OK) return false;
  snprintf(reply, BENCH_TEXT, "logloss=%.9g auc=%.9g rows=%.0f", result[0], result[1], result[2]);
  return true;
}

/* ---- embeddings alone ---- */

typedef struct one_step {
  uint64_t number;
  bool update;
  bool failed[TS_CATEGORIES];
  char text[TS_CATEGORIES][256];
} one_step;

static void run_table(void *context, uint32_t c) {
  one_step *s = context;
  const int64_t *keys = wdl_batch_keys(&batches, s->number, c);
  /* Tables are numbered in the order of the columns: the trainer is the store's only user. */
  const int32_t status = s->update ? lib.ts_table_update(store, c, keys, batches.rows, gradients, s->text[c], sizeof s->text[c])
                                   : lib.ts_table_lookup(store, c, keys, batches.rows, rows[c], s->text[c], sizeof s->text[c]);
  s->failed[c] = status != TS_OK;
}

static bool embedding(uint64_t number, char *error) {
  static one_step s;
  s.number = number;
  for (uint32_t pass = 0; pass < 2; pass++) {
    s.update = pass == 1;
    ts_pool_run(batches.pool, TS_CATEGORIES, run_table, &s);
    for (uint32_t c = 0; c < TS_CATEGORIES; c++)
      if (s.failed[c]) return bench_fail(error, "%s", s.text[c]);
  }
  return true;
}

static bool describe(char *reply, char *error) {
  uint64_t needed;
  if (lib.ts_trainer_describe(trainer, reply, BENCH_TEXT, &needed) != TS_OK)
    return bench_fail(error, "Cannot read the trainer's description");
  for (char *c = reply; *c != '\0'; c++)
    if (*c == '\n') *c = ' ';
  return true;
}

bool bench_obey(const char *verb, const bench_options *options, char *reply, char *error) {
  if (strcmp(verb, "prepare") == 0) return prepare(options, reply, error);
  if (gradients == NULL) return bench_fail(error, "Cannot do \"%s\" before prepare", verb);
  if (strcmp(verb, "train") == 0) return train(options, reply, error);
  if (strcmp(verb, "evaluate") == 0) return evaluate(options, reply, error);
  if (strcmp(verb, "embedding") == 0) return wdl_measure(options, embedding, reply, error);
  if (strcmp(verb, "describe") == 0) return describe(reply, error);
  return bench_fail(error, "Cannot do \"%s\"", verb);
}
