/* optimizer_table.h - what the tests of update rules share: a table's rows without a store, and configurations of every
 * rule. */
#ifndef TS_TEST_OPTIMIZER_TABLE_H
#define TS_TEST_OPTIMIZER_TABLE_H

#include "optimizers/optimizer.h"
#include "test/check.h"

#include <math.h>
#include <stdlib.h>

static char message[512];
#define ERR ((ts_err){message, sizeof message})

typedef struct table {
  ts_optimizer optimizer;
  uint32_t rows;
  unsigned char *memory; /* rows behind each other, as in a tier */
  void **pointers;
  const float **gradients;
  int64_t *keys;
} table;

/* Options as "key value key value ...". */
static inline int32_t read_optimizer(const char *options, ts_optimizer *out) {
  ts_config *config;
  CHECK(ts_config_create(&config) == TS_OK);
  char copy[512], *state = NULL;
  snprintf(copy, sizeof copy, "%s", options);
  for (char *key = strtok_r(copy, " ", &state); key != NULL; key = strtok_r(NULL, " ", &state))
    CHECK(ts_config_set(config, key, strtok_r(NULL, " ", &state), message, sizeof message) == TS_OK);
  ts_config_reader r = ts_config_read(config, "table", ERR);
  ts_optimizer_read(&r, "t", out);
  int32_t status = ts_config_finish(&r);
  ts_config_free(config);
  return status;
}

static inline double parameter(const char *options, const char *name, double fallback) {
  char copy[512], *state = NULL;
  snprintf(copy, sizeof copy, "%s", options);
  for (char *key = strtok_r(copy, " ", &state); key != NULL; key = strtok_r(NULL, " ", &state)) {
    const char *value = strtok_r(NULL, " ", &state);
    if (strcmp(key, name) == 0) return strtod(value, NULL);
  }
  return fallback;
}

static inline void *row_of(const table *t, uint32_t i) { return t->memory + (size_t)i * t->optimizer.layout.stride; }
static inline const ts_row_layout *layout_of(const table *t) { return &t->optimizer.layout; }

static inline float random_weight(uint64_t seed, uint64_t i) {
  return (float)(2 * ts_unit(ts_random64(seed, 11, i)) - 1);
}

static inline int64_t key_of(uint32_t i) { return (int64_t)ts_mix64(i + 77); }

/* `weight` NAN: random ones. */
static inline void make(table *t, const char *options, ts_row_type type, uint32_t dim, uint32_t rows, bool metadata,
                 uint32_t level, float weight) {
  *t = (table){.rows = rows};
  CHECK_MSG(read_optimizer(options, &t->optimizer) == TS_OK, "%s: %s", options, message);
  ts_optimizer_prepare(&t->optimizer, type, dim, metadata, metadata, 5, level);
  t->memory = malloc((size_t)rows * t->optimizer.layout.stride);
  t->pointers = malloc(rows * sizeof *t->pointers);
  t->gradients = malloc(rows * sizeof *t->gradients);
  t->keys = malloc(rows * sizeof *t->keys);
  float *weights = malloc(dim * sizeof *weights);
  for (uint32_t i = 0; i < rows; i++) {
    for (uint32_t j = 0; j < dim; j++) weights[j] = isnan(weight) ? random_weight(1, (uint64_t)i * dim + j) : weight;
    t->keys[i] = key_of(i);
    t->pointers[i] = row_of(t, i);
    ts_optimizer_start_row(&t->optimizer, row_of(t, i), weights);
  }
  free(weights);
}

static inline void drop(table *t) {
  free(t->memory);
  free(t->pointers);
  free(t->gradients);
  free(t->keys);
}

/* gradients: [rows][dim] */
static inline void step(table *t, int64_t global_step, const float *gradients) {
  ts_optimizer_call call;
  ts_optimizer_begin(&t->optimizer, global_step, &call);
  for (uint32_t i = 0; i < t->rows; i++) t->gradients[i] = gradients + (size_t)i * layout_of(t)->dim;
  t->optimizer.apply(&t->optimizer, &call, t->pointers, t->gradients, t->keys, t->rows);
}

static inline float weight_of(const table *t, uint32_t i, uint32_t j) {
  float *w = malloc(layout_of(t)->dim * sizeof *w);
  ts_row_read(layout_of(t), row_of(t, i), 0, w);
  float weight = w[j];
  free(w);
  return weight;
}

__attribute__((unused)) static const char *const configurations[] = {
    "optimizer sgd",
    "optimizer sgd learning_rate 0.5",
    "optimizer sgd learning_rate 0",
    "optimizer adagrad",
    "optimizer adagrad learning_rate 0.1 initial_accumulator 1",
    "optimizer adagrad learning_rate 0.02 initial_accumulator 0.001",
    "optimizer adagrad-decay decay_step 1",
    "optimizer adagrad-decay decay_step 7 learning_rate 0.1",
    "optimizer adagrad-decay decay_step 3 decay_rate 0.5 initial_accumulator 0.3",
    "optimizer adagrad-decay decay_step 2 decay_rate 0 decay_baseline 2",
    "optimizer adagrad-decay-v2 decay_step 2 learning_rate 0.1",
    "optimizer adagrad-decay-v2 decay_step 5 decay_rate 1 decay_baseline 0",
    "optimizer adagrad-decay-v2",
    "optimizer adam",
    "optimizer adam learning_rate 0.001",
    "optimizer adam beta1 0.5 beta2 0.9",
    "optimizer adam beta1 0 beta2 0.99",
    "optimizer adam beta1 0.9 beta2 0 epsilon 0.1",
    "optimizer adam epsilon 1e-3 learning_rate 0.1",
    "optimizer adam-async",
    "optimizer adam-async learning_rate 0.001 beta1 0.95 beta2 0.9999",
    "optimizer adam-async apply_sparse_rmsprop 1 epsilon 1e-3 learning_rate 0.001",
    "optimizer adam-async apply_sparse_rmsprop 1 beta1 0 beta2 0.9 epsilon 0.1",
    "optimizer adam-async apply_sparse_rmsprop 1 beta1 0.5 beta2 0.5 epsilon 0.01 learning_rate 0.002",
    "optimizer adamw",
    "optimizer adamw weight_decay 0.01 learning_rate 0.001",
    "optimizer adamw weight_decay 0 epsilon 1e-6",
    "optimizer adamw weight_decay 0.1 beta1 0.8 beta2 0.99",
    "optimizer ftrl",
    "optimizer ftrl learning_rate 0.1 l1 0.01 l2 0.001",
    "optimizer ftrl learning_rate 0.2 l1 0.3 l2_shrinkage 0.01",
    "optimizer ftrl learning_rate 0.05 l2 1 initial_accumulator 0.5",
    "optimizer ftrl-row-norm",
    "optimizer ftrl-row-norm learning_rate 0.1 l1 0.01 l2 0.001",
    "optimizer ftrl-row-norm learning_rate 0.2 l1 0.3 l2_shrinkage 0.01",
    "optimizer ftrl-row-norm learning_rate 0.05 l2 1 initial_accumulator 0.5",
    "optimizer rowwise-adagrad",
    "optimizer rowwise-adagrad learning_rate 0.1 initial_accumulator 0.25",
    "optimizer rowwise-adagrad learning_rate 0.02 epsilon 0.1",
};
#define CONFIGURATIONS (sizeof configurations / sizeof *configurations)

#endif
