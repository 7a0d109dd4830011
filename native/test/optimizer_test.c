/* Update rules against oracles in double precision, DeepRec's checked numbers, and update calls as threads and parts of
 * a batch make them. */
#include "test/optimizer_table.h"

/* ---- the oracle: the formulas as they stand in the literature, in doubles ---- */

typedef struct oracle {
  double *w, *a, *b;
  double p;   /* decays so far */
  double row; /* the row's sum of means of squared gradients */
  uint32_t dim;
} oracle;

static void oracle_make(oracle *o, const char *options, const table *t, uint32_t row) {
  const uint32_t dim = layout_of(t)->dim;
  *o = (oracle){.dim = dim, .row = parameter(options, "initial_accumulator", 0), .w = calloc(dim, 8), .a = calloc(dim, 8), .b = calloc(dim, 8)};
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
  for (uint32_t j = 0; j < o->dim; j++) o->row += (double)gradient[j] * (double)gradient[j] / o->dim;
  const double alpha = lr * sqrt(1 - pow(beta2, (double)t)) / (1 - pow(beta1, (double)t));
  for (uint32_t j = 0; j < o->dim; j++) {
    double g = (double)gradient[j];
    if (strcmp(kind, "sgd") == 0) {
      w[j] -= lr * g;
    } else if (strcmp(kind, "rowwise-adagrad") == 0) {
      w[j] -= lr * g / (sqrt(o->row) + epsilon);
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

int main(void) {
  rows_follow_the_formulas_in_double_precision();
  many_rows_follow_the_formulas();
  deeprecs_numbers_come_out();
  a_row_catches_up_one_decay_a_step();
  steps_count_calls_on_any_number_of_threads();
  splitting_a_call_changes_nothing();
  return test_result();
}
