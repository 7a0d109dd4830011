/* Update rules against oracles in double precision, DeepRec's checked numbers, the three levels of kernels against each
 * other, bf16 weights and their rounding, options and layouts. */
#include "optimizers/optimizer.h"
#include "test/check.h"

#include <math.h>
#include <stdlib.h>

static char message[512];
#define ERR ((ts_err){message, sizeof message})

/* ---- a table's rows, without a store ---- */

typedef struct table {
  ts_optimizer optimizer;
  uint32_t rows;
  unsigned char *memory; /* rows behind each other, as in a tier */
  void **pointers;
  const float **gradients;
  int64_t *keys;
} table;

/* Options as "key value key value ...". */
static int32_t read_optimizer(const char *options, ts_optimizer *out) {
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

static double parameter(const char *options, const char *name, double fallback) {
  char copy[512], *state = NULL;
  snprintf(copy, sizeof copy, "%s", options);
  for (char *key = strtok_r(copy, " ", &state); key != NULL; key = strtok_r(NULL, " ", &state)) {
    const char *value = strtok_r(NULL, " ", &state);
    if (strcmp(key, name) == 0) return strtod(value, NULL);
  }
  return fallback;
}

static void *row_of(const table *t, uint32_t i) { return t->memory + (size_t)i * t->optimizer.layout.stride; }
static const ts_row_layout *layout_of(const table *t) { return &t->optimizer.layout; }

static float random_weight(uint64_t seed, uint64_t i) { return (float)(2 * ts_unit(ts_random64(seed, 11, i)) - 1); }

static int64_t key_of(uint32_t i) { return (int64_t)ts_mix64(i + 77); }

/* `weight` NAN: random ones. */
static void make(table *t, const char *options, ts_row_type type, uint32_t dim, uint32_t rows, bool metadata,
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

static void drop(table *t) {
  free(t->memory);
  free(t->pointers);
  free(t->gradients);
  free(t->keys);
}

/* gradients: [rows][dim] */
static void step(table *t, int64_t global_step, const float *gradients) {
  ts_optimizer_call call;
  ts_optimizer_begin(&t->optimizer, global_step, &call);
  for (uint32_t i = 0; i < t->rows; i++) t->gradients[i] = gradients + (size_t)i * layout_of(t)->dim;
  t->optimizer.apply(&t->optimizer, &call, t->pointers, t->gradients, t->keys, t->rows);
}

static float weight_of(const table *t, uint32_t i, uint32_t j) {
  float *w = malloc(layout_of(t)->dim * sizeof *w);
  ts_row_read(layout_of(t), row_of(t, i), 0, w);
  float weight = w[j];
  free(w);
  return weight;
}

/* ---- the oracle: the formulas as they stand in the literature, in doubles ---- */

typedef struct oracle {
  double *w, *a, *b;
  double p; /* decays so far */
  uint32_t dim;
} oracle;

static void oracle_make(oracle *o, const char *options, const table *t, uint32_t row) {
  const uint32_t dim = layout_of(t)->dim;
  *o = (oracle){.dim = dim, .w = calloc(dim, 8), .a = calloc(dim, 8), .b = calloc(dim, 8)};
  float *w = malloc(dim * sizeof *w);
  ts_row_read(layout_of(t), row_of(t, row), 0, w);
  bool adam = strstr(options, "optimizer adam") != NULL;
  for (uint32_t j = 0; j < dim; j++) {
    o->w[j] = (double)w[j];
    if (!adam) o->a[j] = parameter(options, "initial_accumulator", 0.1);
  }
  free(w);
}

static void oracle_drop(oracle *o) {
  free(o->w);
  free(o->a);
  free(o->b);
}

static void oracle_step(oracle *o, const char *options, const char *kind, uint64_t t, int64_t global_step,
                        const float *gradient) {
  const double lr = parameter(options, "learning_rate", 0.01), l1 = parameter(options, "l1", 0);
  const double l2 = parameter(options, "l2", 0), shrinkage = parameter(options, "l2_shrinkage", 0);
  const double beta1 = parameter(options, "beta1", 0.9), beta2 = parameter(options, "beta2", 0.999);
  const double epsilon = parameter(options, "epsilon", 1e-8), decay = parameter(options, "weight_decay", 1e-4);
  const bool rmsprop = parameter(options, "apply_sparse_rmsprop", 0) == 1;
  double *w = o->w, *a = o->a, *b = o->b;
  if (strncmp(kind, "adagrad-decay", 13) == 0 &&
      floor((double)global_step / parameter(options, "decay_step", 100000)) > o->p) {
    double baseline = parameter(options, "decay_baseline", parameter(options, "initial_accumulator", 0.1));
    for (uint32_t j = 0; j < o->dim; j++) a[j] = fmax(a[j] * parameter(options, "decay_rate", 0.9), baseline);
    o->p++;
  }
  const double alpha = lr * sqrt(1 - pow(beta2, (double)t)) / (1 - pow(beta1, (double)t));
  for (uint32_t j = 0; j < o->dim; j++) {
    double g = (double)gradient[j];
    if (strcmp(kind, "sgd") == 0) {
      w[j] -= lr * g;
    } else if (strncmp(kind, "adagrad", 7) == 0) {
      a[j] += g * g;
      w[j] -= lr * g / sqrt(a[j]);
    } else if (strncmp(kind, "adam", 4) == 0) {
      b[j] = beta2 * b[j] + (1 - beta2) * g * g;
      if (rmsprop) {
        a[j] = beta1 * a[j] + lr * g / sqrt(b[j] + epsilon);
        w[j] -= a[j];
      } else {
        a[j] = beta1 * a[j] + (1 - beta1) * g;
        double old = w[j];
        w[j] -= alpha * a[j] / (sqrt(b[j]) + epsilon);
        if (strcmp(kind, "adamw") == 0) w[j] -= decay * old;
      }
    } else { /* FTRL: n in a, z in b */
      g += 2 * shrinkage * w[j];
      double grown = a[j] + g * g;
      b[j] += g - (sqrt(grown) - sqrt(a[j])) / lr * w[j];
      a[j] = grown;
      if (strcmp(kind, "ftrl") == 0)
        w[j] = fabs(b[j]) <= l1 ? 0 : ((b[j] > 0 ? l1 : -l1) - b[j]) / (sqrt(a[j]) / lr + 2 * l2);
    }
  }
  if (strcmp(kind, "ftrl-row-norm") != 0) return;
  double norm = 0;
  for (uint32_t j = 0; j < o->dim; j++) norm += b[j] * b[j];
  norm = sqrt(norm);
  for (uint32_t j = 0; j < o->dim; j++)
    w[j] = norm <= l1 ? 0 : b[j] * (l1 - norm) / ((sqrt(a[j]) / lr + 2 * l2) * norm);
}

/* ---- rules ---- */

static const char *const configurations[] = {
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
};
#define CONFIGURATIONS (sizeof configurations / sizeof *configurations)

/* Largest error of weights after `steps`, relative to the weight or, for small ones, to 1. */
static double worst_error(const char *options, uint32_t dim, uint32_t rows, uint32_t steps) {
  table t;
  make(&t, options, TS_FP32, dim, rows, false, ts_cpu_level(), NAN);
  const char *kind = ts_optimizer_names[t.optimizer.kind];
  oracle *o = malloc(rows * sizeof *o);
  float *g = malloc((size_t)rows * dim * sizeof *g), *w = malloc(dim * sizeof *w);
  for (uint32_t i = 0; i < rows; i++) oracle_make(&o[i], options, &t, i);
  for (uint32_t s = 1; s <= steps; s++) {
    for (uint32_t i = 0; i < rows * dim; i++) g[i] = random_weight(100 + s, i);
    step(&t, s, g);
    for (uint32_t i = 0; i < rows; i++) oracle_step(&o[i], options, kind, s, s, g + (size_t)i * dim);
  }
  double worst = 0;
  for (uint32_t i = 0; i < rows; i++) {
    ts_row_read(layout_of(&t), row_of(&t, i), 0, w);
    for (uint32_t j = 0; j < dim; j++) {
      double error = fabs((double)w[j] - o[i].w[j]) / fmax(1, fabs(o[i].w[j]));
      worst = isnan(error) || error > worst ? error : worst;
    }
    oracle_drop(&o[i]);
  }
  free(o);
  free(g);
  free(w);
  drop(&t);
  return worst;
}

static void rows_follow_the_formulas_in_double_precision(void) {
  for (uint32_t c = 0; c < CONFIGURATIONS; c++) {
    static const uint32_t dims[] = {1, 16, 30};
    for (uint32_t d = 0; d < 3; d++) {
      double error = worst_error(configurations[c], dims[d], 1, 60);
      CHECK_MSG(error <= 1e-6, "%s, dim %u: %g", configurations[c], dims[d], error);
    }
  }
}

/* The sizes of OpenEmbedding's comparison with TensorFlow. */
static void many_rows_follow_the_formulas(void) {
  for (uint32_t c = 0; c < CONFIGURATIONS; c++) {
    double error = worst_error(configurations[c], 1, 1, 10);
    CHECK_MSG(error <= 1e-5, "%s, 1 x 1, 10 steps: %g", configurations[c], error);
    error = worst_error(configurations[c], 1, 1, 100);
    CHECK_MSG(error <= 1e-5, "%s, 1 x 1, 100 steps: %g", configurations[c], error);
    error = worst_error(configurations[c], 111, 11, 10);
    CHECK_MSG(error <= 1e-5, "%s, 11 x 111, 10 steps: %g", configurations[c], error);
    error = worst_error(configurations[c], 111, 11, 100);
    CHECK_MSG(error <= 1e-5, "%s, 11 x 111, 100 steps: %g", configurations[c], error);
  }
}

static void deeprecs_numbers_come_out(void) {
  const float g[9] = {6, 6, 6, 4, 4, 4, 2, 2, 2};
  table t;
  make(&t, "optimizer ftrl-row-norm learning_rate 0.1 l1 2 l2 1e-5", TS_FP32, 3, 3, false, ts_cpu_level(), 1);
  step(&t, 0, g);
  static const double norm[] = {0.8282884, 0.7927219, 0.688026}, plain[] = {0.81422, 0.77166, 0.64628};
  for (uint32_t i = 0; i < 3; i++)
    CHECK_MSG(fabs((double)weight_of(&t, i, 2) - norm[i]) < 1e-6, "row %u: %.7f", i, (double)weight_of(&t, i, 2));
  drop(&t);
  make(&t, "optimizer ftrl learning_rate 0.1 l1 2 l2 1e-5", TS_FP32, 3, 3, false, ts_cpu_level(), 1);
  step(&t, 0, g);
  for (uint32_t i = 0; i < 3; i++)
    CHECK_MSG(fabs((double)weight_of(&t, i, 0) - plain[i]) < 1e-5, "row %u: %.7f", i, (double)weight_of(&t, i, 0));
  drop(&t);

  /* Loss 36 w, gradient 2; the decay fires at global steps 2 and 4. */
  static const double losses[] = {36.0, 32.44417, 29.84779, 27.74195, 25.85250};
  static const char *const names[] = {"optimizer adagrad-decay learning_rate 0.1 decay_step 2",
                                      "optimizer adagrad-decay-v2 learning_rate 0.1 decay_step 2"};
  const float two[2] = {2, 2};
  for (uint32_t v = 0; v < 2; v++) {
    make(&t, names[v], TS_FP32, 2, 1, false, ts_cpu_level(), 1);
    for (int s = 0; s < 5; s++) {
      double loss = 36 * (double)weight_of(&t, 0, 1);
      CHECK_MSG(fabs(loss - losses[s]) < 2e-5, "%s, step %d: %.6f", names[v], s, loss);
      step(&t, s + 1, two);
    }
    drop(&t);
  }

  make(&t, "optimizer adagrad learning_rate 0.1", TS_FP32, 2, 1, false, ts_cpu_level(), 1);
  static const double sums[] = {4.1, 8.1}, weights[] = {0.9012270, 0.8309542};
  for (int s = 0; s < 2; s++) {
    step(&t, s, two);
    CHECK(fabs((double)ts_row_slot(layout_of(&t), row_of(&t, 0), 1)[1] - sums[s]) < 1e-6);
    CHECK(fabs((double)weight_of(&t, 0, 1) - weights[s]) < 1e-6);
  }
  drop(&t);
}

static void a_row_catches_up_one_decay_a_step(void) {
  table t;
  make(&t, "optimizer adagrad-decay decay_step 10 decay_rate 0.5 initial_accumulator 0.25", TS_FP32, 1, 1, false, 0, 0);
  const float g = 4, none = 0;
  float *a = ts_row_slot(layout_of(&t), row_of(&t, 0), 1);
  step(&t, 9, &g);
  CHECK(a[0] == 16.25f && ts_row_scalar(layout_of(&t), row_of(&t, 0), 0) == 0);
  const float expected[] = {8.125f, 4.0625f, 2.03125f, 2.03125f}; /* 35 / 10 = 3 periods */
  for (int s = 0; s < 4; s++) {
    step(&t, 35, &none);
    CHECK_MSG(a[0] == expected[s], "%d: %g", s, (double)a[0]);
  }
  for (int s = 0; s < 20; s++) step(&t, 10000, &none);
  CHECK(a[0] == 0.25f && ts_row_scalar(layout_of(&t), row_of(&t, 0), 0) == 23);
  drop(&t);
}

/* ---- update calls ---- */

static void *begin_many(void *optimizer) {
  for (int i = 0; i < 20000; i++) {
    ts_optimizer_call call;
    ts_optimizer_begin(optimizer, 0, &call);
  }
  return NULL;
}

static void steps_count_calls_on_any_number_of_threads(void) {
  ts_optimizer o;
  CHECK(read_optimizer("optimizer adam learning_rate 0.25", &o) == TS_OK);
  ts_optimizer_call call;
  double power1 = 1, power2 = 1;
  for (uint64_t t = 1; t <= 3000; t++) {
    ts_optimizer_begin(&o, 0, &call);
    power1 *= 0.9;
    power2 *= 0.999;
    double rate = 0.25 * sqrt(1 - power2) / (1 - power1);
    CHECK_MSG(call.step == t && fabs((double)call.rate - rate) <= 1e-7 * rate, "step %llu: %.9g, expected %.9g",
              (unsigned long long)t, (double)call.rate, rate);
  }
  pthread_t threads[3];
  for (int i = 0; i < 3; i++) pthread_create(&threads[i], NULL, begin_many, &o);
  for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
  ts_optimizer_begin(&o, 0, &call);
  CHECK(call.step == 63001);
}

static void splitting_a_call_changes_nothing(void) {
  enum { ROWS = 40, DIM = 16 };
  for (uint32_t c = 0; c < CONFIGURATIONS; c++) {
    table whole, split;
    make(&whole, configurations[c], TS_BF16, DIM, ROWS, false, ts_cpu_level(), NAN);
    make(&split, configurations[c], TS_BF16, DIM, ROWS, false, ts_cpu_level(), NAN);
    float g[ROWS * DIM];
    for (uint64_t s = 1; s <= 3; s++) {
      for (uint32_t i = 0; i < ROWS * DIM; i++) g[i] = random_weight(s, i);
      step(&whole, (int64_t)s, g);
      ts_optimizer_call call;
      ts_optimizer_begin(&split.optimizer, (int64_t)s, &call);
      for (uint32_t i = ROWS; i-- > 0;) { /* one by one and backwards */
        const float *gradient = g + i * DIM;
        split.optimizer.apply(&split.optimizer, &call, &split.pointers[i], &gradient, &split.keys[i], 1);
      }
    }
    const size_t bytes = (size_t)ROWS * layout_of(&whole)->stride;
    CHECK_MSG(memcmp(whole.memory, split.memory, bytes) == 0, "%s", configurations[c]);
    drop(&whole);
    drop(&split);
  }
}

/* ---- kernels ---- */

#define GOLDEN UINT64_C(0xa0fa15dee9816ff7)

static void all_levels_give_the_same_bits(void) {
  static const uint32_t dims[] = {1, 3, 7, 8, 16, 17, 32, 64, 111, 130};
  uint64_t digest = 0;
  for (uint32_t c = 0; c < CONFIGURATIONS; c++)
    for (uint32_t d = 0; d < sizeof dims / sizeof *dims; d++)
      for (ts_row_type type = TS_FP32; type <= TS_BF16; type++) {
        enum { ROWS = 9 };
        const uint32_t dim = dims[d];
        table t[TS_LEVELS];
        float *g = malloc((size_t)ROWS * dim * sizeof *g);
        for (uint32_t level = 0; level <= ts_cpu_level(); level++) {
          make(&t[level], configurations[c], type, dim, ROWS, true, level, NAN); /* rows of 4-byte alignment */
          for (uint32_t s = 1; s <= 4; s++) {
            for (uint32_t i = 0; i < ROWS * dim; i++) g[i] = random_weight(s, i);
            step(&t[level], s, g);
          }
        }
        const size_t bytes = (size_t)ROWS * layout_of(&t[0])->stride;
        for (uint32_t level = 1; level <= ts_cpu_level(); level++) {
          CHECK_MSG(memcmp(t[level].memory, t[0].memory, bytes) == 0, "%s, dim %u, %s, level %u", configurations[c],
                    dim, ts_row_type_names[type], level);
          drop(&t[level]);
        }
        digest = ts_hash_bytes(t[0].memory, bytes, digest);
        drop(&t[0]);
        free(g);
      }
  /* Every machine and every compiler gives these rows: IEEE arithmetic leaves no choice. */
  CHECK_MSG(digest == GOLDEN, "the rows' digest is %llx", (unsigned long long)digest);
}

static void steps_touch_only_their_part_of_the_row(void) {
  static const uint32_t dims[] = {1, 3, 16, 17, 64, 130};
  for (uint32_t c = 0; c < CONFIGURATIONS; c++)
    for (uint32_t d = 0; d < 6; d++)
      for (uint32_t level = 0; level <= ts_cpu_level(); level++)
        for (ts_row_type type = TS_FP32; type <= TS_BF16; type++) {
          table t;
          make(&t, configurations[c], type, dims[d], 1, true, level, NAN);
          const ts_row_layout *l = layout_of(&t);
          unsigned char *row = row_of(&t, 0), *before = malloc(l->stride);
          ts_row_set_frequency(l, row, 0xfeedbeefu);
          ts_row_set_version(l, row, INT64_C(0x123456789abcdef));
          for (uint32_t s = 0; s < l->slots; s++) { /* mark the padding */
            uint32_t used = ts_row_slot_offset(l, s) + ts_row_slot_size(l, s);
            memset(row + used, 0xa5, ts_row_slot_offset(l, s + 1) - used);
          }
          memcpy(before, row, l->stride);
          float *g = malloc(dims[d] * sizeof *g);
          for (uint32_t j = 0; j < dims[d]; j++) g[j] = random_weight(3, j);
          step(&t, 1, g);
          uint32_t wrong = 0;
          for (uint32_t s = 0; s < l->slots; s++) {
            uint32_t used = ts_row_slot_offset(l, s) + ts_row_slot_size(l, s);
            for (uint32_t i = used; i < ts_row_slot_offset(l, s + 1); i++) wrong += row[i] != before[i];
          }
          CHECK_MSG(wrong == 0 && ts_row_frequency(l, row) == 0xfeedbeefu &&
                        ts_row_version(l, row) == INT64_C(0x123456789abcdef),
                    "%s, dim %u, level %u: %u bytes of padding", configurations[c], dims[d], level, wrong);
          free(before);
          free(g);
          drop(&t);
        }
}

/* ---- bf16 ---- */

/* Gradient descent from 1 by -1/1024, an eighth of the distance to the next bf16: every eighth weight must go up. */
static void rounding_keeps_the_mean(void) {
  enum { ROWS = 4096, DIM = 64 };
  table t;
  make(&t, "optimizer sgd learning_rate 1", TS_BF16, DIM, ROWS, false, ts_cpu_level(), 1);
  float *g = malloc(sizeof(float) * ROWS * DIM);
  for (uint32_t i = 0; i < ROWS * DIM; i++) g[i] = -0x1.0p-10f;
  step(&t, 1, g);
  const double p = 0.125;
  uint32_t total = 0, columns[DIM] = {0}, pairs = 0, neighbours = 0;
  bool previous[DIM] = {0};
  for (uint32_t i = 0; i < ROWS; i++) {
    float w[DIM];
    uint32_t ups = 0;
    ts_row_read(layout_of(&t), row_of(&t, i), 0, w);
    for (uint32_t j = 0; j < DIM; j++) {
      bool up = w[j] == 1.0f + 0x1.0p-7f;
      CHECK(up || w[j] == 1.0f);
      ups += up;
      columns[j] += up;
      pairs += up && j > 0 && w[j - 1] != 1.0f; /* elements beside each other ... */
      neighbours += up && previous[j];          /* ... and in one column are independent */
      previous[j] = up;
    }
    CHECK_MSG(ups < 30, "row %u: %u", i, ups); /* 8 expected, deviation 2.6: beyond eight deviations */
    total += ups;
  }
  const double n = (double)ROWS * DIM;
  CHECK_MSG(fabs(total - n * p) < 5 * sqrt(n * p * (1 - p)), "%u went up", total);
  for (uint32_t j = 0; j < DIM; j++)
    CHECK_MSG(fabs(columns[j] - ROWS * p) < 5 * sqrt(ROWS * p * (1 - p)), "column %u: %u", j, columns[j]);
  const double expected_pairs = (double)ROWS * (DIM - 1) * p * p;
  const double expected_neighbours = (double)(ROWS - 1) * DIM * p * p;
  CHECK_MSG(fabs(pairs - expected_pairs) < 5 * sqrt(expected_pairs * 1.3), "%u, expected %g", pairs, expected_pairs);
  CHECK_MSG(fabs(neighbours - expected_neighbours) < 5 * sqrt(expected_neighbours * 1.3), "%u, expected %g", neighbours,
            expected_neighbours);

  /* Many small steps arrive: to the nearest, every one of them would be lost. */
  for (uint32_t s = 2; s <= 256; s++) step(&t, s, g);
  double sum = 0;
  for (uint32_t i = 0; i < ROWS; i += 16) sum += (double)weight_of(&t, i, i % DIM);
  double mean = sum / (ROWS / 16.0); /* 256 steps of deviation 2^-7 sqrt(p (1 - p)), over 256 rows */
  CHECK_MSG(fabs(mean - 1.25) < 6 * 0x1.0p-7 * sqrt(p * (1 - p)), "mean %g", mean);
  free(g);
  drop(&t);
}

/* The share that goes up is the value's place between its neighbours, over the whole range and for both signs. */
static void rounding_is_proportional(void) {
  static const double places[] = {1.0 / 512, 1.0 / 100, 0.1, 0.25, 0.5, 0.7, 0.9, 1 - 1.0 / 512};
  for (uint32_t place = 0; place < sizeof places / sizeof *places; place++)
    for (int sign = -1; sign <= 1; sign += 2) {
      enum { ROWS = 4000, DIM = 16 };
      table t;
      make(&t, "optimizer sgd learning_rate 1", TS_BF16, DIM, ROWS, false, ts_cpu_level(), (float)sign * 3.0f);
      float *g = malloc(sizeof(float) * ROWS * DIM);
      for (uint32_t i = 0; i < ROWS * DIM; i++) g[i] = (float)(-sign * places[place] * 0x1.0p-6);
      step(&t, place, g);
      double sum = 0, p = places[place], n = ROWS * DIM;
      for (uint32_t i = 0; i < ROWS; i++) {
        float w[DIM];
        ts_row_read(layout_of(&t), row_of(&t, i), 0, w);
        for (uint32_t j = 0; j < DIM; j++) sum += fabs((double)w[j]) > 3.0;
      }
      CHECK_MSG(fabs(sum - n * p) < 5 * sqrt(n * p * (1 - p)), "%g, sign %d: %g of %g", p, sign, sum, n);
      free(g);
      drop(&t);
    }
}

static void rounding_depends_on_seed_key_step_and_element_only(void) {
  enum { DIM = 256 };
  float g[DIM];
  for (uint32_t j = 0; j < DIM; j++) g[j] = -0x1.0p-8f; /* half way */
  uint16_t first[DIM], other[DIM];
  for (int difference = 0; difference < 4; difference++) {
    for (int run = 0; run < 2; run++) {
      table t;
      make(&t, "optimizer sgd learning_rate 1", TS_BF16, DIM, 1, false, run == 0 ? 0 : ts_cpu_level(), 1);
      if (run == 1 && difference == 1) t.optimizer.seed = 6;
      if (run == 1 && difference == 2) t.keys[0] ^= INT64_MIN;
      ts_optimizer_call skipped;
      if (run == 1 && difference == 3) ts_optimizer_begin(&t.optimizer, 0, &skipped);
      step(&t, 1, g);
      memcpy(run == 0 ? first : other, row_of(&t, 0), sizeof first);
      drop(&t);
    }
    uint32_t different = 0;
    for (uint32_t j = 0; j < DIM; j++) different += first[j] != other[j];
    CHECK_MSG(difference == 0 ? different == 0 : different > 88 && different < 168, "%d: %u", difference, different);
  }
  for (uint32_t distance = 1; distance <= DIM / 2; distance *= 2) { /* no part of a row repeats another */
    uint32_t different = 0;
    for (uint32_t j = 0; j < DIM / 2; j++) different += first[j] != first[j + distance];
    CHECK_MSG(different > 32 && different < 96, "at a distance of %u: %u", distance, different);
  }
}

static void what_is_not_a_number_stays_so(void) {
  static const uint32_t bits[] = {0x7f800001u, 0x7fc00000u, 0x7fffffffu, 0xffffffffu, 0xff80ffffu};
  for (uint32_t level = 0; level <= ts_cpu_level(); level++)
    for (uint32_t i = 0; i < sizeof bits / sizeof *bits; i++) {
      enum { DIM = 64 };
      table t;
      make(&t, "optimizer sgd learning_rate 1", TS_BF16, DIM, 1, false, level, 1);
      float g[DIM], w[DIM];
      for (uint32_t j = 0; j < DIM; j++) memcpy(&g[j], &bits[i], sizeof g[j]);
      step(&t, 1, g);
      ts_row_read(layout_of(&t), row_of(&t, 0), 0, w);
      uint32_t wrong = 0;
      for (uint32_t j = 0; j < DIM; j++) wrong += !isnan(w[j]);
      CHECK_MSG(wrong == 0, "level %u, %x: %u", level, bits[i], wrong);
      drop(&t);
    }
}

static void exact_values_stay(void) {
  enum { DIM = 65536 };
  table t;
  make(&t, "optimizer sgd learning_rate 1", TS_BF16, DIM, 1, false, ts_cpu_level(), 0);
  uint16_t *row = row_of(&t, 0), *before = malloc(DIM * sizeof *before);
  float *g = calloc(DIM, sizeof *g);
  for (uint32_t level = 0; level <= ts_cpu_level(); level++) {
    ts_optimizer_prepare(&t.optimizer, TS_BF16, DIM, false, false, 5, level);
    for (uint32_t j = 0; j < DIM; j++) row[j] = (uint16_t)j; /* every bf16 there is */
    memcpy(before, row, DIM * sizeof *row);
    step(&t, 1, g);
    uint32_t wrong = 0;
    for (uint32_t j = 0; j < DIM; j++) {
      bool nan = (j & 0x7fff) > 0x7f80;
      wrong += nan ? (row[j] & 0x7fff) <= 0x7f80 : row[j] != before[j];
    }
    CHECK_MSG(wrong == 0, "level %u: %u values changed", level, wrong);
  }
  free(g);
  free(before);
  drop(&t);
}

static void bf16_follows_fp32(void) {
  for (uint32_t c = 0; c < CONFIGURATIONS; c++) {
    if (parameter(configurations[c], "l1", 0) > 0) continue; /* small weights jump to 0 there */
    enum { DIM = 111, STEPS = 20 };
    table wide, narrow;
    make(&wide, configurations[c], TS_FP32, DIM, 1, false, ts_cpu_level(), 0.5f);
    make(&narrow, configurations[c], TS_BF16, DIM, 1, false, ts_cpu_level(), 0.5f);
    float g[DIM], w[DIM], n[DIM];
    for (uint32_t s = 1; s <= STEPS; s++) {
      for (uint32_t j = 0; j < DIM; j++) g[j] = random_weight(s, j);
      step(&wide, s, g);
      step(&narrow, s, g);
    }
    ts_row_read(layout_of(&wide), row_of(&wide, 0), 0, w);
    ts_row_read(layout_of(&narrow), row_of(&narrow, 0), 0, n);
    double difference = 0;
    for (uint32_t j = 0; j < DIM; j++) difference += fabs((double)(w[j] - n[j])) / DIM;
    /* A step's rounding is off by at most 2^-8 of a weight below 8; twenty of them wander less than this on average. */
    CHECK_MSG(difference < 0.05, "%s: %g", configurations[c], difference);
    drop(&wide);
    drop(&narrow);
  }
}

/* ---- options and layouts ---- */

static void options_have_their_defaults_and_limits(void) {
  ts_optimizer o;
  CHECK(read_optimizer("dim 4", &o) == TS_EINVAL && strstr(message, "unknown option \"dim\"") != NULL);
  ts_config *config;
  ts_config_create(&config);
  ts_config_reader r = ts_config_read(config, "table", ERR);
  CHECK(ts_optimizer_read(&r, "t", &o) == TS_OK && o.kind == TS_SGD && o.learning_rate == 0.01f);
  ts_config_free(config);
  CHECK(read_optimizer("optimizer adagrad-decay", &o) == TS_OK && o.decay_step == 100000 && o.decay_rate == 0.9f &&
        o.initial_accumulator == 0.1f && o.decay_baseline == 0.1f);
  CHECK(read_optimizer("optimizer adagrad-decay initial_accumulator 3", &o) == TS_OK && o.decay_baseline == 3.0f);
  CHECK(read_optimizer("optimizer adamw", &o) == TS_OK && o.beta1 == 0.9 && o.beta2 == 0.999 && o.epsilon == 1e-8f &&
        o.weight_decay == 1e-4f);
  CHECK(read_optimizer("optimizer ftrl", &o) == TS_OK && o.l1 == 0 && o.l2 == 0 && o.l2_shrinkage == 0);
  static const char *const wrong[][2] = {
      {"optimizer adamax", "unknown optimizer \"adamax\", known are sgd, adagrad"},
      {"optimizer sgd initial_accumulator 1", "unknown option \"initial_accumulator\""},
      {"optimizer sgd beta1 0.5", "unknown option \"beta1\""},
      {"optimizer adagrad decay_step 5", "unknown option \"decay_step\""},
      {"optimizer adam weight_decay 0.1", "unknown option \"weight_decay\""},
      {"optimizer adam apply_sparse_rmsprop 1", "unknown option \"apply_sparse_rmsprop\""},
      {"optimizer adam l1 1", "unknown option \"l1\""},
      {"optimizer adam beta1 1", "option \"beta1\" must be a number from 0 to 0.999999, found \"1\""},
      {"optimizer adam epsilon 0", "option \"epsilon\""},
      {"optimizer adagrad initial_accumulator 0", "option \"initial_accumulator\""},
      {"optimizer adagrad-decay decay_step 0", "option \"decay_step\" must be a whole number from 1"},
      {"optimizer adagrad-decay decay_rate 1.5", "option \"decay_rate\" must be a number from 0 to 1"},
      {"optimizer adam-async apply_sparse_rmsprop 2", "option \"apply_sparse_rmsprop\""},
      {"optimizer adamw weight_decay 2", "option \"weight_decay\""},
      {"optimizer ftrl l2_shrinkage -1", "option \"l2_shrinkage\""},
      {"optimizer ftrl learning_rate 0", "Cannot create table \"t\": ftrl needs a learning_rate above 0"},
      {"optimizer sgd learning_rate nan", "option \"learning_rate\""},
  };
  for (uint32_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    message[0] = '\0';
    CHECK_MSG(read_optimizer(wrong[i][0], &o) == TS_EINVAL && strstr(message, wrong[i][1]) != NULL, "%s: %s",
              wrong[i][0], message);
  }
  CHECK(read_optimizer("optimizer ftrl-row-norm", &o) == TS_OK);
  CHECK(ts_optimizer_set_learning_rate(&o, "t", 0, ERR) == TS_EINVAL && strstr(message, "to 0: ftrl divides") != NULL);
  CHECK(ts_optimizer_set_learning_rate(&o, "t", -1, ERR) == TS_EINVAL && strstr(message, "from 0 to 1e6") != NULL);
  CHECK(ts_optimizer_set_learning_rate(&o, "t", (double)NAN, ERR) == TS_EINVAL);
  CHECK(ts_optimizer_set_learning_rate(&o, "t", 0.5, ERR) == TS_OK && o.learning_rate == 0.5f);
}

static void layouts_keep_what_is_asked_for(void) {
  static const uint32_t dims[] = {1, 3, 4, 16, 30, 65536};
  for (uint32_t d = 0; d < 6; d++)
    for (uint32_t slots = 1; slots <= 3; slots++) {
      ts_row_layout l = ts_row_layout_make(TS_FP32, dims[d], slots, 0, false, false);
      uint32_t slot = TS_ROUND_UP(dims[d] * 4, 16u);
      CHECK(l.stride == slots * slot && l.slot_bytes == slot);
      CHECK(l.scalar_offset == 0 && l.frequency_offset == 0 && l.version_offset == 0);
      CHECK(ts_row_slot_offset(&l, slots - 1) == (slots - 1) * slot);
    }
  ts_row_layout l = ts_row_layout_make(TS_BF16, 30, 2, 1, true, true);
  CHECK(l.weight_bytes == 64 && l.slot_bytes == 128 && ts_row_slot_offset(&l, 1) == 64 && l.scalar_offset == 192 &&
        l.frequency_offset == 196 && l.version_offset == 200 && l.stride == 208);
  unsigned char row[208] = {0};
  ts_row_set_scalar(&l, row, 0, 7);
  ts_row_set_frequency(&l, row, UINT32_MAX);
  ts_row_set_version(&l, row, INT64_MIN);
  CHECK(ts_row_scalar(&l, row, 0) == 7 && ts_row_frequency(&l, row) == UINT32_MAX);
  CHECK(ts_row_version(&l, row) == INT64_MIN);
  l = ts_row_layout_make(TS_FP32, 4, 1, 0, false, true);
  CHECK(l.version_offset == 16 && l.stride == 24);
  l = ts_row_layout_make(TS_FP32, 4, 1, 0, true, false);
  CHECK(l.frequency_offset == 16 && l.stride == 20 && ts_row_version(&l, row) == TS_NO_VERSION);
  l = ts_row_layout_make(TS_FP32, 4, 1, 0, false, false);
  ts_row_set_frequency(&l, row, 9);
  CHECK(ts_row_frequency(&l, row) == 0);
}

static void rows_begin_with_the_rules_values(void) {
  for (uint32_t c = 0; c < CONFIGURATIONS; c++) {
    table t;
    make(&t, configurations[c], TS_BF16, 5, 2, true, 0, 1.0f / 3);
    const ts_row_layout *l = layout_of(&t);
    ts_optimizer_kind kind = t.optimizer.kind;
    bool adam = kind == TS_ADAM || kind == TS_ADAM_ASYNC || kind == TS_ADAMW;
    uint32_t slots = kind == TS_SGD ? 1 : adam || kind == TS_FTRL || kind == TS_FTRL_ROW_NORM ? 3 : 2;
    CHECK(l->slots == slots);
    CHECK(weight_of(&t, 1, 4) == 0.333984375f); /* the bf16 nearest to a third */
    float values[5], first = (float)parameter(configurations[c], "initial_accumulator", 0.1);
    for (uint32_t s = 1; s < slots; s++) {
      ts_row_read(l, row_of(&t, 1), s, values);
      for (int j = 0; j < 5; j++) CHECK(values[j] == (s == 1 && !adam ? first : 0.0f));
    }
    CHECK(ts_row_frequency(l, row_of(&t, 1)) == 0 && ts_row_version(l, row_of(&t, 1)) == TS_NO_VERSION);
    drop(&t);
  }
}

static void bf16_rounds_to_the_nearest_even(void) {
  CHECK(ts_bf16_nearest(1.0f) == 0x3f80 && ts_bf16_nearest(-2.0f) == 0xc000 && ts_bf16_nearest(0x1.0p-133f) == 0x0001);
  CHECK(ts_bf16_nearest(1.0f + 0x1.0p-8f) == 0x3f80 && ts_bf16_nearest(1.0f + 0x1.8p-7f) == 0x3f82);
  CHECK(ts_bf16_nearest(1.0f + 0x1.2p-8f) == 0x3f81 && ts_bf16_nearest(HUGE_VALF) == 0x7f80);
  CHECK(ts_bf16_nearest(3.4028235e38f) == 0x7f80 && isnan(ts_bf16_widen(ts_bf16_nearest(NAN))));
}

int main(void) {
  rows_follow_the_formulas_in_double_precision();
  many_rows_follow_the_formulas();
  deeprecs_numbers_come_out();
  a_row_catches_up_one_decay_a_step();
  steps_count_calls_on_any_number_of_threads();
  splitting_a_call_changes_nothing();
  all_levels_give_the_same_bits();
  steps_touch_only_their_part_of_the_row();
  rounding_keeps_the_mean();
  rounding_is_proportional();
  rounding_depends_on_seed_key_step_and_element_only();
  what_is_not_a_number_stays_so();
  exact_values_stay();
  bf16_follows_fp32();
  options_have_their_defaults_and_limits();
  layouts_keep_what_is_asked_for();
  rows_begin_with_the_rules_values();
  bf16_rounds_to_the_nearest_even();
  return test_result();
}
