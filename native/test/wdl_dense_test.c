/* The MLP against plain definitions in double precision: finite differences of a reference of its own, formulas of the
 * optimizers, the same bits for any number of threads, fused and separate, FP32 and BF16. */
#include "test/wdl_fixture.h"
#include "base/cpu_level.h"
#include "wdl/dense/mlp.h"
#include "wdl/dense/product.h"
#include "wdl/dense/vector.h"

#include <math.h>
#include <sys/wait.h>

#define BATCH 52u
#define INPUTS 21u
#define MOST 64u

static float coefficient[BATCH * MOST], logit[BATCH];

/* An MLP with its memory. */
typedef struct world {
  ts_mlp mlp;
  void *parameters, *step;
} world;

static ts_mlp_options small(void) {
  ts_mlp_options o = {.batch = BATCH, .pieces = 1, .shards = TS_SHARDS, .in = INPUTS, .hidden = {19, 37, 7}, .count = 3};
  o.head = o.own_input = o.input_gradient = o.fusion = true;
  o.seed = 3;
  o.rule.kind = TS_SGD;
  return o;
}

static void *arena(uint64_t bytes) {
  void *at = aligned_alloc(64, TS_ROUND_UP(bytes, 64));
  memset(at, 0, bytes);
  return at;
}

static bool start(world *w, const ts_mlp_options *o) {
  memset(w, 0, sizeof *w);
  const int32_t status = ts_mlp_open(&w->mlp, o, (ts_err){message, sizeof message});
  CHECK_MSG(status == TS_OK, "%s", message);
  if (status != TS_OK) return false;
  ts_workspace space = {0};
  ts_mlp_plan_parameters(&w->mlp, &space);
  space = (ts_workspace){.base = w->parameters = arena(space.used)};
  ts_mlp_plan_parameters(&w->mlp, &space);
  space = (ts_workspace){0};
  ts_mlp_plan_step(&w->mlp, &space);
  /* What a step finds in its memory must not matter: not numbers, but for the padding of x. */
  const uint64_t bytes = space.used;
  space = (ts_workspace){.base = w->step = arena(bytes)};
  ts_mlp_plan_step(&w->mlp, &space);
  memset(w->step, 0xff, bytes);
  if (o->own_input) memset(w->mlp.x, 0, o->batch * w->mlp.x_stride * sizeof(float));
  CHECK(ts_mlp_bind(&w->mlp) == TS_OK);
  ts_mlp_initialise(&w->mlp);
  for (uint32_t r = 0; r < o->batch; r++)
    for (uint32_t i = 0; i < o->in && o->own_input; i++)
      w->mlp.x[r * w->mlp.x_stride + i] = (float)ts_unit(ts_random64(1, r, i)) * 2 - 1;
  for (uint32_t i = 0; i < BATCH * MOST; i++) coefficient[i] = (float)ts_unit(ts_random64(2, 1, i)) - 0.5f;
  return true;
}

static void stop(world *w) {
  ts_mlp_close(&w->mlp);
  free(w->parameters);
  free(w->step);
}

static void shards_of(const world *w, bool backward) {
  for (uint32_t p = 0; p < w->mlp.options.pieces; p++)
    for (uint32_t s = 0; s < w->mlp.options.shards; s++) {
      const ts_mlp_rows at = ts_mlp_cut(&w->mlp, p, s, w->mlp.options.batch);
      if (backward) CHECK(ts_mlp_backward(&w->mlp, at, coefficient) == TS_OK);
      else CHECK(ts_mlp_forward(&w->mlp, at, true, logit) == TS_OK);
    }
}

static void step_of(world *w, uint64_t number) {
  ts_mlp_begin(&w->mlp, number);
  w->mlp.dy = coefficient;
  w->mlp.dy_stride = MOST;
  shards_of(w, false);
  shards_of(w, true);
  for (uint32_t p = 0; p < ts_mlp_update_parts(&w->mlp); p++) CHECK(ts_mlp_update(&w->mlp, p) == TS_OK);
}

/* ---- the reference: the same function in double, from the weights as they are ---- */

static double weight(const ts_mlp_layer *l, uint32_t i, uint32_t o) { return (double)ts_parameters_row(&l->w, i)[o]; }

/* Where `changed` is among weights or inputs, it counts as `value`. */
static double seen(const float *at, const float *changed, double value) { return at == changed ? value : (double)*at; }

static double reference_loss(const ts_mlp *m, const float *changed, double value, double *logits) {
  double sum = 0;
  const uint32_t threshold = ts_dropout_threshold(m->options.dropout);
  for (uint32_t r = 0; r < m->options.batch; r++) {
    double x[MOST] = {0}, y[MOST] = {0};
    for (uint32_t i = 0; i < m->options.in; i++) x[i] = seen(&m->x[r * m->x_stride + i], changed, value);
    for (uint32_t l = 0; l < m->options.count; l++) {
      const ts_mlp_layer *layer = &m->layers[l];
      const ts_dropout_row random = ts_dropout_row_of(m->options.seed, m->step, m->options.stream * TS_MLP_LAYERS + l, r);
      for (uint32_t o = 0; o < layer->out; o++) {
        y[o] = seen(&layer->b.value[o], changed, value);
        for (uint32_t i = 0; i < layer->in; i++)
          y[o] += x[i] * seen(&ts_parameters_row(&layer->w, i)[o], changed, value);
        if (y[o] < 0) y[o] = 0;
        if (threshold > 0) y[o] = ts_dropout_bits(random, o) < threshold ? 0 : y[o] / (1 - m->options.dropout);
      }
      memcpy(x, y, sizeof x);
    }
    const uint32_t last = m->layers[m->options.count - 1].out;
    if (!m->options.head) {
      for (uint32_t o = 0; o < last; o++) sum += y[o] * (double)coefficient[r * MOST + o];
      continue;
    }
    double z = seen(&m->output_bias.value[0], changed, value);
    for (uint32_t o = 0; o < last; o++) z += y[o] * seen(&m->output.value[o], changed, value);
    if (logits != NULL) logits[r] = z;
    sum += z * (double)coefficient[r];
  }
  return sum;
}

static uint32_t compared, kinks;

static void compare(const ts_mlp *m, const char *what, const float *at, float gradient) {
  const double h = 1e-5, old = (double)*at, middle = reference_loss(m, NULL, 0, NULL);
  const double right = reference_loss(m, at, old + h, NULL) - middle, left = middle - reference_loss(m, at, old - h, NULL);
  if (fabs(right - left) > 1e-9 + 1e-5 * fabs(right)) { /* a ReLU switches inside the interval */
    kinks++;
    return;
  }
  compared++;
  const double expected = (right + left) / (2 * h);
  CHECK_MSG(fabs(expected - (double)gradient) < 2e-5 * (fabs(expected) + 1), "%s: by difference %g, by backward %g", what,
            expected, (double)gradient);
}

static void check_gradients(const ts_mlp_options *o) {
  world w;
  if (!start(&w, o)) return;
  compared = kinks = 0;
  for (uint32_t l = 0; l < o->count; l++) /* biases that are not all alike */
    for (uint32_t i = 0; i < w.mlp.layers[l].out; i++)
      w.mlp.layers[l].b.value[i] = (float)ts_unit(ts_random64(9, l, i)) * 0.2f;
  step_of(&w, 5); /* the learning rate is 0: gradients alone */
  const ts_mlp *m = &w.mlp;
  double logits[BATCH] = {0};
  reference_loss(m, NULL, 0, logits);
  for (uint32_t r = 0; r < BATCH && o->head; r++)
    CHECK_MSG(fabs(logits[r] - (double)logit[r]) < 1e-5, "row %u: %g, in double %g", r, (double)logit[r], logits[r]);
  for (uint32_t l = 0; l < o->count; l++) {
    const ts_mlp_layer *layer = &m->layers[l];
    for (uint32_t u = 0; u < layer->out; u++) compare(m, "bias", &layer->b.value[u], layer->b.gradient[u]);
    for (uint32_t i = 0; i < layer->in; i += 2)
      for (uint32_t u = 0; u < layer->out; u += 3)
        compare(m, "weight", &ts_parameters_row(&layer->w, i)[u], layer->w.gradient[(size_t)i * layer->out_width + u]);
    for (uint32_t i = layer->in; i < layer->in_width; i++)
      for (uint32_t u = 0; u < layer->out_width; u++)
        CHECK(layer->w.gradient[(size_t)i * layer->out_width + u] == 0 && weight(layer, i, u) == 0);
  }
  for (uint32_t u = 0; u < m->layers[o->count - 1].out && o->head; u++)
    compare(m, "output", &m->output.value[u], m->output.gradient[u]);
  if (o->head) compare(m, "output bias", &m->output_bias.value[0], m->output_bias.gradient[0]);
  for (uint32_t r = 0; r < BATCH; r += 3)
    for (uint32_t i = 0; i < INPUTS; i += 4)
      compare(m, "input", &m->x[r * m->x_stride + i], m->dx[r * m->dx_stride + i]);
  CHECK_MSG(compared > 200 && kinks < compared / 10, "%u compared, %u kinks", compared, kinks);
  stop(&w);
}

static void gradients_match_differences(void) {
  for (uint32_t variant = 0; variant < 10; variant++) {
    ts_mlp_options o = small();
    if (variant == 1 || variant == 4) o.fusion = false;
    if (variant == 2) o.fusion = false, o.sgemm = true;
    if (variant == 3 || variant == 4) o.dropout = 0.4;
    if (variant == 5) o.head = false;
    if (variant == 6) o.pieces = 3;
    if (variant == 7) o.shards = 1, o.dropout = 0.2, o.pieces = 2;
    if (variant == 8) o.fusion = false, o.sgemm = true, o.pieces = 2, o.head = false;
    if (variant == 9) o.count = 1;
    check_gradients(&o);
  }
}

/* ---- the same bits ---- */

static world *shared;

static void run_shard(void *context, uint32_t task) {
  (void)context;
  const ts_mlp_rows at = ts_mlp_cut(&shared->mlp, 0, task, shared->mlp.options.batch);
  CHECK(ts_mlp_forward(&shared->mlp, at, true, logit) == TS_OK);
  CHECK(ts_mlp_backward(&shared->mlp, at, coefficient) == TS_OK);
}

static void run_part(void *context, uint32_t part) {
  (void)context;
  CHECK(ts_mlp_update(&shared->mlp, part) == TS_OK);
}

static uint64_t digest_with(const ts_mlp_options *o, uint32_t threads) {
  world w;
  ts_pool *pool = NULL;
  if (!start(&w, o)) return 0;
  CHECK(ts_pool_create(threads, &pool, (ts_err){message, sizeof message}) == TS_OK);
  shared = &w;
  for (uint64_t step = 0; step < 4; step++) {
    ts_mlp_begin(&w.mlp, step);
    ts_pool_run(pool, TS_SHARDS, run_shard, NULL);
    ts_pool_run(pool, ts_mlp_update_parts(&w.mlp), run_part, NULL);
  }
  ts_pool_destroy(pool);
  uint64_t digest = ts_mlp_digest(&w.mlp, 0);
  digest = ts_hash_bytes(w.mlp.dx, o->batch * w.mlp.dx_stride * sizeof(float), digest);
  stop(&w);
  return digest;
}

static bool has_bf16(void) {
  const ts_dnnl *library;
  return ts_dnnl_open(&library, (ts_err){0}) == TS_OK && ts_dnnl_need_bf16(library, (ts_err){0}) == TS_OK;
}

static void threads_do_not_change_results(void) {
  for (uint32_t variant = 0; variant < 6; variant++) {
    ts_mlp_options o = small();
    o.hidden[0] = 200; /* several parts a layer */
    o.fusion = variant % 2 == 0;
    o.bf16 = variant >= 4;
    o.sgemm = variant == 3;
    o.dropout = variant == 2 ? 0.3 : 0;
    o.rule.kind = variant % 3 == 0 ? TS_ADAGRAD : TS_ADAM;
    o.rule.initial_accumulator = 0.1f;
    o.rule.beta1 = 0.9;
    o.rule.beta2 = 0.999;
    o.rule.epsilon = 1e-8f;
    atomic_init(&o.rule.learning_rate, 0.01f);
    if (o.bf16 && !has_bf16()) continue;
    const uint64_t one = digest_with(&o, 1);
    CHECK_MSG(digest_with(&o, 2) == one && digest_with(&o, 5) == one, "variant %u", variant);
    o.seed++;
    CHECK(digest_with(&o, 1) != one);
  }
}

/* ---- close to each other ---- */

/* Difference of weights after some steps, relative to how far they moved (root mean squares). */
static double distance(const ts_mlp_options *a, const ts_mlp_options *b) {
  world w[2], fresh;
  if (!start(&w[0], a) || !start(&w[1], b) || !start(&fresh, a)) return NAN;
  for (uint64_t s = 0; s < 3; s++) step_of(&w[0], s), step_of(&w[1], s);
  double most = 0, moved = 0;
  for (uint32_t l = 0; l < a->count; l++)
    for (uint32_t i = 0; i < w[0].mlp.layers[l].in; i++)
      for (uint32_t o = 0; o < w[0].mlp.layers[l].out; o++) {
        const double x = weight(&w[0].mlp.layers[l], i, o);
        most += pow(x - weight(&w[1].mlp.layers[l], i, o), 2);
        moved += pow(x - weight(&fresh.mlp.layers[l], i, o), 2);
      }
  stop(&w[0]), stop(&w[1]), stop(&fresh);
  return sqrt(most / moved);
}

/* The same of the scores of fresh MLPs. */
static double score_distance(const ts_mlp_options *a, const ts_mlp_options *b) {
  world w[2];
  float first[BATCH];
  double most = 0, size = 0;
  if (!start(&w[0], a) || !start(&w[1], b)) return NAN;
  shards_of(&w[0], false);
  memcpy(first, logit, sizeof first);
  shards_of(&w[1], false);
  for (uint32_t r = 0; r < BATCH; r++) most += pow((double)(first[r] - logit[r]), 2), size += pow((double)first[r], 2);
  stop(&w[0]), stop(&w[1]);
  return sqrt(most / size);
}

static void forms_agree(void) {
  ts_mlp_options a = small();
  atomic_init(&a.rule.learning_rate, 0.002f);
  for (uint32_t dropping = 0; dropping < 2; dropping++) {
    a.dropout = dropping ? 0.3 : 0;
    ts_mlp_options b = a;
    b.fusion = false;
    CHECK_MSG(distance(&a, &b) < 1e-5, "fused and separate: %g", distance(&a, &b));
    b.sgemm = true;
    CHECK_MSG(distance(&a, &b) < 1e-5, "fused and sgemm: %g", distance(&a, &b));
    b = a;
    b.pieces = 4;
    if (!dropping) CHECK_MSG(distance(&a, &b) < 1e-5, "one piece and four: %g", distance(&a, &b));
    if (!has_bf16()) continue;
    b = a;
    b.bf16 = true;
    const double far = distance(&a, &b);
    /* Of every operand 2^-9 is rounded off; what weights show most is the half percent of units whose ReLU switches. */
    CHECK_MSG(far > 1e-4 && far < 0.12, "FP32 and BF16: %g", far);
    CHECK_MSG(score_distance(&a, &b) < 0.01, "scores in FP32 and BF16: %g", score_distance(&a, &b));
    ts_mlp_options c = b;
    c.fusion = false;
    CHECK_MSG(distance(&b, &c) < 1e-2, "BF16, fused and separate: %g", distance(&b, &c));
  }
}

/* ---- optimizers ---- */

static void follow(ts_optimizer_kind kind, double t, double g, double *w, double *a, double *b) {
  const double rate = 0.05, beta1 = 0.9, beta2 = 0.99;
  if (kind == TS_SGD) {
    *w -= rate * g;
  } else if (kind == TS_ADAGRAD || kind == TS_ADAGRAD_DECAY) {
    if (kind == TS_ADAGRAD_DECAY && t > 2) *a = fmax(*a * 0.5, 0.1); /* a period is two steps: once, from global step 2 */
    *a += g * g;
    *w -= rate * g / sqrt(*a);
  } else {
    *a = beta1 * *a + (1 - beta1) * g;
    *b = beta2 * *b + (1 - beta2) * g * g;
    const double old = *w;
    *w -= rate * sqrt(1 - pow(beta2, t)) / (1 - pow(beta1, t)) * *a / (sqrt(*b) + 1e-8);
    if (kind == TS_ADAMW) *w -= 0.01 * old;
  }
}

static void optimizers_follow_their_formulas(void) {
  static const ts_optimizer_kind kinds[] = {TS_SGD, TS_ADAGRAD, TS_ADAGRAD_DECAY, TS_ADAM, TS_ADAM_ASYNC, TS_ADAMW};
  for (uint32_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
    ts_mlp_options o = small();
    const ts_optimizer_kind kind = o.rule.kind = kinds[k];
    const bool sums = kind == TS_ADAGRAD || kind == TS_ADAGRAD_DECAY;
    atomic_init(&o.rule.learning_rate, 0.05f);
    o.rule.initial_accumulator = 0.1f;
    o.rule.decay_step = 2;
    o.rule.decay_rate = 0.5f;
    o.rule.decay_baseline = 0.1f;
    o.rule.beta1 = 0.9;
    o.rule.beta2 = 0.99;
    o.rule.epsilon = 1e-8f;
    o.rule.weight_decay = 0.01f;
    world w;
    if (!start(&w, &o)) return;
    /* One weight of each kind of parameter. */
    const ts_mlp_layer *layer = &w.mlp.layers[1];
    const float *value[4] = {&ts_parameters_row(&layer->w, 4)[11], &layer->b.value[30], &w.mlp.output.value[2],
                             &w.mlp.output_bias.value[0]};
    const float *gradient[4] = {&layer->w.gradient[4 * layer->out_width + 11], &layer->b.gradient[30],
                                &w.mlp.output.gradient[2], &w.mlp.output_bias.gradient[0]};
    double x[4], a[4], b[4] = {0};
    for (uint32_t i = 0; i < 4; i++) x[i] = (double)*value[i], a[i] = sums ? (double)0.1f : 0;
    for (uint32_t t = 1; t <= 3; t++) {
      step_of(&w, t - 1);
      for (uint32_t i = 0; i < 4; i++) {
        CHECK(t > 1 || *gradient[i] != 0);
        follow(kind, t, (double)*gradient[i], &x[i], &a[i], &b[i]);
        CHECK_MSG(fabs(x[i] - (double)*value[i]) < 2e-6 * (1 + fabs(x[i])), "%s, step %u, parameter %u: %g, formula %g",
                  ts_optimizer_names[kind], t, i, (double)*value[i], x[i]);
      }
    }
    /* The next products see the new weights, both ways. */
    double logits[BATCH];
    reference_loss(&w.mlp, NULL, 0, logits);
    shards_of(&w, false), shards_of(&w, true);
    for (uint32_t r = 0; r < BATCH; r++)
      CHECK_MSG(fabs(logits[r] - (double)logit[r]) < 1e-4 * (1 + fabs(logits[r])), "%s: %g, in double %g",
                ts_optimizer_names[kind], (double)logit[r], logits[r]);
    compared = 0;
    for (uint32_t r = 0; r < BATCH; r += 5)
      compare(&w.mlp, "input after steps", &w.mlp.x[r * w.mlp.x_stride + 3], w.mlp.dx[r * w.mlp.dx_stride + 3]);
    CHECK(compared > 3);
    stop(&w);
  }
}

/* ---- pieces, strides, several, by name ---- */

static void pieces_keep_to_themselves(void) {
  ts_mlp_options o = small();
  o.pieces = 3;
  atomic_init(&o.rule.learning_rate, 0.05f);
  world a, b;
  if (!start(&a, &o) || !start(&b, &o)) return;
  step_of(&a, 0);
  ts_mlp_begin(&b.mlp, 0);
  for (uint32_t p = o.pieces; p-- > 0;)
    for (uint32_t s = 0; s < o.shards; s++)
      CHECK(ts_mlp_forward(&b.mlp, ts_mlp_cut(&b.mlp, p, s, BATCH), true, logit) == TS_OK);
  for (uint32_t p = 0; p < o.pieces; p++) {
    for (uint32_t s = 0; s < o.shards; s++)
      CHECK(ts_mlp_backward(&b.mlp, ts_mlp_cut(&b.mlp, p, s, BATCH), coefficient) == TS_OK);
    for (uint32_t part = 0; part < ts_mlp_update_parts(&b.mlp); part++) CHECK(ts_mlp_gradient(&b.mlp, part, p) == TS_OK);
  }
  for (uint32_t part = 0; part < ts_mlp_update_parts(&b.mlp); part++) ts_mlp_apply(&b.mlp, part);
  CHECK(ts_mlp_digest(&a.mlp, 0) == ts_mlp_digest(&b.mlp, 0));
  stop(&a), stop(&b);
}

static void input_may_lie_anywhere(void) {
  ts_mlp_options o = small();
  static float x[BATCH * 29 + 5], dx[BATCH * 23];
  for (uint32_t bf16 = 0; bf16 < (has_bf16() ? 2u : 1u); bf16++) {
    o.bf16 = bf16 == 1;
    world a, b;
    o.own_input = true;
    if (!start(&a, &o)) return;
    o.own_input = false;
    if (!start(&b, &o)) return;
    for (uint32_t i = 0; i < sizeof x / sizeof *x; i++) x[i] = NAN; /* what lies between is not read */
    for (uint32_t i = 0; i < sizeof dx / sizeof *dx; i++) dx[i] = 7;
    for (uint32_t r = 0; r < BATCH; r++)
      memcpy(x + 5 + r * 29, a.mlp.x + r * a.mlp.x_stride, INPUTS * sizeof(float));
    b.mlp.x = x + 5, b.mlp.x_stride = 29, b.mlp.dx = dx, b.mlp.dx_stride = 23;
    step_of(&a, 0), step_of(&b, 0);
    CHECK(ts_mlp_digest(&a.mlp, 0) == ts_mlp_digest(&b.mlp, 0));
    for (uint32_t r = 0; r < BATCH; r++) {
      CHECK(memcmp(dx + r * 23, a.mlp.dx + r * a.mlp.dx_stride, INPUTS * sizeof(float)) == 0);
      CHECK(dx[r * 23 + 21] == 7 && dx[r * 23 + 22] == 7);
    }
    stop(&a), stop(&b);
  }
}

static void several_exist_at_once(void) {
  ts_mlp_options o = small();
  atomic_init(&o.rule.learning_rate, 0.05f);
  world alone, a, b;
  if (!start(&alone, &o) || !start(&a, &o)) return;
  o.stream = 1;
  o.head = false;
  if (!start(&b, &o)) return;
  for (uint64_t s = 0; s < 2; s++) step_of(&alone, s);
  for (uint64_t s = 0; s < 2; s++) step_of(&a, s), step_of(&b, s);
  CHECK(ts_mlp_digest(&alone.mlp, 0) == ts_mlp_digest(&a.mlp, 0));
  CHECK(weight(&a.mlp.layers[0], 0, 0) != weight(&b.mlp.layers[0], 0, 0));
  stop(&alone), stop(&a), stop(&b);
}

static void parameters_go_in_and_out(void) {
  ts_mlp_options o = small();
  world a, b;
  if (!start(&a, &o)) return;
  o.seed = 77;
  if (!start(&b, &o)) return;
  static float values[MOST * MOST];
  uint64_t count = 0;
  CHECK(ts_mlp_parameter_count(&a.mlp) == 8);
  for (uint32_t i = 0; i < ts_mlp_parameter_count(&a.mlp); i++) {
    const ts_mlp_parameter p = ts_mlp_parameter_at(&a.mlp, i);
    static const char *const names[] = {"0.w", "0.b", "1.w", "1.b", "2.w", "2.b", "output.w", "output.b"};
    static const uint32_t rows[] = {21, 1, 19, 1, 37, 1, 7, 1}, columns[] = {19, 19, 37, 37, 7, 7, 1, 1};
    CHECK_MSG(strcmp(p.name, names[i]) == 0 && p.rows == rows[i] && p.columns == columns[i], "%s", p.name);
    ts_mlp_read(&a.mlp, i, values);
    if (i == 2) CHECK((double)values[3 * 37 + 5] == weight(&a.mlp.layers[1], 3, 5));
    ts_mlp_write(&b.mlp, i, values);
    count += (uint64_t)p.rows * p.columns;
  }
  CHECK(ts_mlp_parameters(&a.mlp) == count);
  CHECK(ts_mlp_digest(&a.mlp, 0) == ts_mlp_digest(&b.mlp, 0));
  shards_of(&a, false);
  float first[BATCH];
  memcpy(first, logit, sizeof first);
  shards_of(&b, false);
  CHECK(memcmp(first, logit, sizeof first) == 0); /* products saw the new weights */
  /* Scores are those of training without dropout, also of fewer rows. */
  for (uint32_t s = 0; s < TS_SHARDS; s++)
    CHECK(ts_mlp_forward(&b.mlp, ts_mlp_cut(&b.mlp, 0, s, 3), false, logit) == TS_OK);
  CHECK(memcmp(first, logit, 3 * sizeof *first) == 0);
  stop(&a), stop(&b);
}

static void dropout_drops_its_share(void) {
  static uint8_t keep[512 * 1024], again[1024];
  ts_dropout_mask(keep, 512, 1024, 1, 2, 3, 0, ts_dropout_threshold(0.3));
  uint32_t kept = 0;
  for (uint32_t i = 0; i < sizeof keep; i++) kept += keep[i];
  CHECK_MSG(fabs(kept / (double)sizeof keep - 0.7) < 0.003, "%u", kept); /* 4.7 standard deviations */
  ts_dropout_mask(again, 1, 1024, 1, 2, 3, 77, ts_dropout_threshold(0.3));
  CHECK(memcmp(again, keep + 77 * 1024, 1024) == 0);
  ts_dropout_mask(again, 1, 1024, 1, 3, 3, 77, ts_dropout_threshold(0.3));
  CHECK(memcmp(again, keep + 77 * 1024, 1024) != 0);
}

/* ---- packing, each element where ts_packed_index says ---- */

static void packing_puts_every_element(void) {
  const ts_packed_layout layouts[] = {{.k = 48, .n = 80, .k_padded = 48, .n_block = 80},
                                      {.k = 48, .n = 80, .k_padded = 48, .n_block = 64},
                                      {.k = 48, .n = 80, .k_padded = 48, .n_block = 96}, /* rows that lie apart */
                                      {.k = 48, .n = 80, .k_padded = 64, .n_block = 64, .bf16 = true, .pairs = true},
                                      {.k = 48, .n = 80, .k_padded = 48, .n_block = 16, .bf16 = true}};
  static float from[80 * 96];
  static uint32_t packed[2][64 * 128];
  for (uint32_t i = 0; i < 80 * 96; i++) from[i] = (float)(ts_unit(ts_random64(4, 4, i)) - 0.5);
  for (uint32_t v = 0; v < sizeof layouts / sizeof *layouts; v++) {
    const ts_packed_layout *l = &layouts[v];
    ts_pack_rows(l, packed[0], 0, 32, from, 96);
    ts_pack_rows(l, packed[0], 32, 16, from + 32 * 96, 96);
    ts_pack_transposed(l, packed[1], 0, 64, from, 96);
    ts_pack_transposed(l, packed[1], 64, 16, from + 64 * 96, 96);
    for (uint32_t k = 0; k < l->k; k++)
      for (uint32_t n = 0; n < l->n; n++)
        for (uint32_t t = 0; t < 2; t++) {
          const float expected = t == 0 ? from[k * 96 + n] : from[n * 96 + k];
          const size_t at = ts_packed_index(l, k, n);
          if (l->bf16) CHECK(((uint16_t *)packed[t])[at] == ts_bf16_nearest(expected));
          else CHECK(memcmp(&packed[t][at], &expected, 4) == 0);
        }
  }
}

/* Of every width, also those whose rows lie apart: each element of C within rounding of the sum. */
static void products_are_sums(void) {
  enum { ROWS_OF_A = 24, DEPTH = 48, WIDEST = 1040 };
  static const uint32_t widths[] = {16, 256, 496, 512, 528, 1024, WIDEST};
  static float a[ROWS_OF_A * DEPTH], weights[DEPTH * WIDEST], c[ROWS_OF_A * WIDEST];
  const ts_dnnl *library = NULL;
  if (ts_dnnl_open(&library, (ts_err){0}) != TS_OK) {
    SKIP("products", "oneDNN is not here");
    return;
  }
  const bool primitives = ts_dnnl_need_primitives(library, "products", "", (ts_err){0}) == TS_OK;
  for (uint32_t i = 0; i < ROWS_OF_A * DEPTH; i++) a[i] = (float)(ts_unit(ts_random64(4, 5, i)) - 0.5);
  for (uint32_t i = 0; i < DEPTH * WIDEST; i++) weights[i] = (float)(ts_unit(ts_random64(4, 6, i)) - 0.5);
  for (uint32_t v = 0; v < sizeof widths / sizeof *widths; v++)
    for (uint32_t form = 0; form < (primitives ? 2 : 1); form++) {
      const uint32_t n = widths[v];
      const ts_product_shape shape = {.m = ROWS_OF_A, .k = DEPTH, .n = n, .sgemm = form == 0};
      ts_product *p = NULL;
      CHECK_MSG(ts_product_create(library, &shape, 1, NULL, &p, (ts_err){message, sizeof message}) == TS_OK, "%s", message);
      const ts_packed_layout *l = ts_product_layout(p);
      void *packed = aligned_alloc(64, TS_ROUND_UP(ts_packed_bytes(l), 64)), *scratch = aligned_alloc(64, TS_ROUND_UP(ts_product_scratch(p) + 64, 64));
      memset(packed, 0, ts_packed_bytes(l));
      ts_pack_rows(l, packed, 0, DEPTH, weights, WIDEST);
      CHECK(ts_product_bind(p, 0, 1, packed, NULL) == TS_OK && ts_product_bind_slot(p, 0, scratch, NULL) == TS_OK);
      CHECK(ts_product_run(p, 0, a, c) == TS_OK);
      for (uint32_t i = 0; i < ROWS_OF_A * n; i++) {
        double sum = 0;
        for (uint32_t k = 0; k < DEPTH; k++) sum += (double)a[i / n * DEPTH + k] * (double)weights[k * WIDEST + i % n];
        CHECK_MSG(fabs(sum - (double)c[i]) < 1e-5, "%u columns, form %u, element %u: %g, not %g", n, form, i, (double)c[i], sum);
      }
      /* Without AVX-512, rows of 2 KiB are kept apart wherever B is row-major. */
      if (l->n_block >= n && ts_cpu_level() < TS_LEVEL_AVX512) CHECK(l->n_block == n + (n % 512 == 0 ? 16 : 0));
      ts_product_destroy(p);
      free(packed);
      free(scratch);
    }
}

/* ---- refusals ---- */

static void refuse(const ts_mlp_options *o, int32_t status, const char *wanted) {
  ts_mlp mlp;
  const int32_t found = ts_mlp_open(&mlp, o, (ts_err){message, sizeof message});
  CHECK_MSG(found == status && strstr(message, wanted) != NULL, "%d \"%s\" does not say \"%s\"", found, message, wanted);
  ts_mlp_close(&mlp);
}

static void what_cannot_be_is_refused(void) {
  const ts_dnnl newer = {.major = 3, .minor = 4};
  const ts_err err = {message, sizeof message};
  CHECK(ts_dnnl_need_primitives(&newer, "graph_fusion", "set graph_fusion to 0", err) == TS_EUNAVAILABLE);
  CHECK_MSG(strstr(message, "graph_fusion: it needs oneDNN 2.x, found 3.4.0") != NULL, "%s", message);
  CHECK(ts_dnnl_need_bf16(&newer, err) == TS_EUNAVAILABLE && strstr(message, "BF16 products: it needs oneDNN 2.x"));
  ts_mlp_options o = small();
  o.dropout = 0.95;
  refuse(&o, TS_EINVAL, "0.95");
  o = small();
  o.hidden[1] = 0;
  refuse(&o, TS_EINVAL, "layer 1 has no units");
  o = small();
  o.sgemm = true;
  refuse(&o, TS_EINVAL, "sgemm neither fuses");
}

/* Run again with oneDNN held to AVX2: other layouts (row-major), the same gradients; and no BF16. */
static void run_limited(void) {
  const pid_t child = fork();
  if (child == 0) {
    setenv("ONEDNN_MAX_CPU_ISA", "AVX2", 1);
    execl("/proc/self/exe", "wdl_dense_test", "limited", (char *)NULL);
    _exit(127);
  }
  int status = 0;
  CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void limited(void) {
  gradients_match_differences();
  ts_mlp_options o = small();
  o.bf16 = true;
  refuse(&o, TS_EUNAVAILABLE, __builtin_cpu_supports("avx512bf16") ? "ONEDNN_MAX_CPU_ISA" : "avx512_bf16");
}

int main(int count, char **words) {
  (void)words, (void)folder;
  if (count > 1) {
    limited();
    return test_result();
  }
  gradients_match_differences();
  threads_do_not_change_results();
  forms_agree();
  optimizers_follow_their_formulas();
  pieces_keep_to_themselves();
  input_may_lie_anywhere();
  several_exist_at_once();
  parameters_go_in_and_out();
  dropout_drops_its_share();
  packing_puts_every_element();
  products_are_sums();
  what_cannot_be_is_refused();
  run_limited();
  return test_result();
}
