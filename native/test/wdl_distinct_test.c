/* The first layer over distinct rows against the same layer sample by sample: weights after some steps, gradients of rows, scores;
 * the same bits for any number of threads; what is refused. */
#include "test/wdl_fixture.h"
#include "wdl/dense/mlp.h"

#include <math.h>

#define BATCH 333u
#define VECTORS 3u
#define OTHERS 5u
#define STRIDE 128u /* of tables' rows and of the expanded input */

static const uint32_t dims[VECTORS] = {16, 48, 16}, cardinality[VECTORS] = {20, 5000, 1};
static ts_fold folds[VECTORS];
static float table[VECTORS][BATCH][STRIDE];  /* of each sample */
static float gradients[VECTORS][BATCH][STRIDE]; /* of distinct rows */
static float others[BATCH][16];
static float logit[BATCH], loss_gradient[BATCH];

typedef struct world {
  ts_mlp mlp;
  void *parameters, *step;
} world;

static void *arena(uint64_t bytes, int content) {
  void *at = aligned_alloc(64, TS_ROUND_UP(bytes, 64));
  if (at == NULL) exit(2);
  memset(at, content, bytes);
  return at;
}

static void make_batch(void) {
  for (uint32_t v = 0; v < VECTORS; v++) {
    CHECK(ts_fold_open(&folds[v], BATCH, (ts_err){message, sizeof message}) == TS_OK);
    ts_fold_begin(&folds[v]);
    for (uint32_t r = 0; r < BATCH; r++) {
      const uint64_t key = ts_random64(1, v, r) % cardinality[v];
      ts_fold_add(&folds[v], (int64_t)key);
      for (uint32_t i = 0; i < dims[v]; i++) table[v][r][i] = (float)ts_unit(ts_random64(2 + v, key, i)) - 0.5f;
    }
    ts_fold_end(&folds[v], NULL, NULL, 1, NULL);
  }
  for (uint32_t r = 0; r < BATCH; r++) {
    loss_gradient[r] = (float)ts_unit(ts_random64(9, 0, r)) - 0.5f;
    for (uint32_t i = 0; i < OTHERS; i++) others[r][i] = (float)ts_unit(ts_random64(10, r, i)) - 0.5f;
  }
}

static ts_mlp_options plain(void) {
  ts_mlp_options o = {.batch = BATCH, .pieces = 1, .shards = TS_SHARDS, .hidden = {83, 20}, .count = 2};
  o.in = OTHERS;
  for (uint32_t v = 0; v < VECTORS; v++) o.in += dims[v];
  o.head = o.fusion = o.own_input = o.input_gradient = true;
  o.seed = 3;
  o.rule.kind = TS_SGD;
  atomic_init(&o.rule.learning_rate, 0.01f);
  return o;
}

static ts_mlp_options by_rows(const ts_mlp_options *o) {
  ts_mlp_options d = *o;
  d.own_input = d.input_gradient = false;
  d.vectors.count = VECTORS;
  memcpy(d.vectors.dims, dims, sizeof dims);
  return d;
}

static bool start(world *w, const ts_mlp_options *o) {
  const int32_t status = ts_mlp_open(&w->mlp, o, (ts_err){message, sizeof message});
  CHECK_MSG(status == TS_OK, "%s", message);
  if (status != TS_OK) return false;
  ts_workspace space = {0};
  ts_mlp_plan_parameters(&w->mlp, &space);
  space = (ts_workspace){.base = w->parameters = arena(space.used, 0)};
  ts_mlp_plan_parameters(&w->mlp, &space);
  space = (ts_workspace){0};
  ts_mlp_plan_step(&w->mlp, &space);
  space = (ts_workspace){.base = w->step = arena(space.used, 0xff)};
  ts_mlp_plan_step(&w->mlp, &space);
  CHECK(ts_mlp_bind(&w->mlp) == TS_OK);
  ts_mlp_initialise(&w->mlp);
  if (o->vectors.count == 0) {
    memset(w->mlp.x, 0, BATCH * w->mlp.x_stride * sizeof(float));
    for (uint32_t r = 0; r < BATCH; r++) {
      float *x = w->mlp.x + r * w->mlp.x_stride;
      for (uint32_t v = 0; v < VECTORS; x += dims[v++]) memcpy(x, table[v][r], dims[v] * sizeof *x);
      memcpy(x, others[r], OTHERS * sizeof *x);
    }
    return true;
  }
  w->mlp.x = others[0];
  w->mlp.x_stride = 16;
  for (uint32_t v = 0; v < VECTORS; v++)
    w->mlp.vectors.vector[v].batch = (ts_distinct_batch){&folds[v], table[v][0], STRIDE, gradients[v][0], STRIDE};
  ts_distinct_lay_out(&w->mlp.vectors);
  return true;
}

static void stop(world *w) {
  ts_mlp_close(&w->mlp);
  free(w->parameters);
  free(w->step);
}

static world *shared;

static void multiply(void *context, uint32_t vector) {
  (void)context;
  CHECK(ts_mlp_multiply_vector(&shared->mlp, vector) == TS_OK);
}

static void run_shard(void *context, uint32_t shard) {
  (void)context;
  const ts_mlp_rows at = ts_mlp_cut(&shared->mlp, 0, shard, BATCH);
  CHECK(ts_mlp_forward(&shared->mlp, at, true, logit) == TS_OK);
  CHECK(ts_mlp_backward(&shared->mlp, at, loss_gradient) == TS_OK);
}

static void run_part(void *context, uint32_t part) {
  (void)context;
  CHECK(ts_mlp_update(&shared->mlp, part) == TS_OK);
}

static void run_steps(world *w, ts_pool *pool, uint32_t steps) {
  shared = w;
  for (uint32_t step = 0; step < steps; step++) {
    ts_mlp_begin(&w->mlp, step);
    ts_pool_run(pool, w->mlp.vectors.count, multiply, NULL);
    ts_pool_run(pool, TS_SHARDS, run_shard, NULL);
    ts_pool_run(pool, ts_mlp_update_parts(&w->mlp), run_part, NULL);
  }
}

/* Sums of squares of differences and of values. */
typedef struct difference {
  double off, size;
} difference;

static void compare(difference *d, double a, double b) {
  d->off += (a - b) * (a - b);
  d->size += a * a;
}

/* Of the rows' gradients: those of the samples of each row, added up. */
static double gradients_differ(const ts_mlp *samples) {
  difference d = {0};
  uint32_t at = 0;
  for (uint32_t v = 0; v < VECTORS; at += dims[v++])
    for (uint32_t u = 0; u < folds[v].count; u++)
      for (uint32_t i = 0; i < dims[v]; i++) {
        double sum = 0;
        for (uint32_t k = folds[v].first[u]; k < folds[v].first[u + 1]; k++)
          sum += (double)samples->dx[folds[v].sorted[k] * samples->dx_stride + at + i];
        compare(&d, sum, (double)gradients[v][u][i]);
      }
  return sqrt(d.off / d.size);
}

/* Of the weights, relative to how far they moved. */
static double weights_differ(const ts_mlp *a, const ts_mlp *b, const ts_mlp *fresh) {
  difference d = {0};
  for (uint32_t l = 0; l < a->options.count; l++)
    for (uint32_t i = 0; i < a->layers[l].in; i++)
      for (uint32_t o = 0; o < a->layers[l].out; o++) {
        const double first = (double)ts_parameters_row(&fresh->layers[l].w, i)[o];
        compare(&d, (double)ts_parameters_row(&a->layers[l].w, i)[o] - first, (double)ts_parameters_row(&b->layers[l].w, i)[o] - first);
      }
  return sqrt(d.off / d.size);
}

static void same_as_samples(const ts_mlp_options *o, double most, const char *name) {
  world w[3];
  ts_pool *pool = NULL;
  const ts_mlp_options d = by_rows(o);
  float scores[BATCH];
  difference score = {0};
  if (!start(&w[0], o) || !start(&w[1], &d) || !start(&w[2], o)) return;
  CHECK(ts_pool_create(1, &pool, (ts_err){message, sizeof message}) == TS_OK);
  CHECK_MSG(ts_mlp_parameters(&w[0].mlp) == ts_mlp_parameters(&w[1].mlp), "%s", name);
  /* The first step's gradients, then more steps; in BF16 units switch from then on. */
  for (uint32_t call = 0; call < (o->bf16 ? 1u : 2u); call++) {
    run_steps(&w[0], pool, 1 + 2 * call);
    memcpy(scores, logit, sizeof scores);
    run_steps(&w[1], pool, 1 + 2 * call);
    for (uint32_t r = 0; r < BATCH; r++) compare(&score, (double)scores[r], (double)logit[r]);
    const double rows = gradients_differ(&w[0].mlp), weights = weights_differ(&w[0].mlp, &w[1].mlp, &w[2].mlp);
    CHECK_MSG(rows < most && weights < most && sqrt(score.off / score.size) < most, "%s: rows %g, weights %g, scores %g", name, rows,
              weights, sqrt(score.off / score.size));
  }
  /* As weights are read and written by name, so are these. */
  float *values = arena((uint64_t)o->in * o->hidden[0] * sizeof(float), 0);
  ts_mlp_read(&w[1].mlp, 0, values);
  CHECK(memcmp(values + (size_t)o->hidden[0], ts_parameters_row(&w[1].mlp.layers[0].w, 1), o->hidden[0] * sizeof *values) == 0);
  free(values);
  ts_pool_destroy(pool);
  for (uint32_t i = 0; i < 3; i++) stop(&w[i]);
}

static bool has_bf16(void) {
  const ts_dnnl *library;
  return ts_dnnl_open(&library, (ts_err){0}) == TS_OK && ts_dnnl_need_bf16(library, (ts_err){0}) == TS_OK;
}

static void every_form_is_as_samples(void) {
  ts_mlp_options o = plain();
  same_as_samples(&o, 1e-5, "fused");
  o.dropout = 0.3;
  same_as_samples(&o, 1e-5, "fused, dropout");
  o.fusion = false;
  same_as_samples(&o, 1e-5, "separate, dropout");
  o.sgemm = true;
  o.dropout = 0;
  same_as_samples(&o, 1e-5, "sgemm");
  o = plain();
  o.count = 1; /* the first layer is the last */
  same_as_samples(&o, 1e-5, "one layer");
  if (!has_bf16()) SKIP("wdl_distinct_test", "no BF16 products on this machine");
  if (!has_bf16()) return;
  for (o = plain(); o.count > 0; o.count--) {
    o.bf16 = true; /* sums of gradients are rounded, not each gradient: 2^-9; from FP32 both are 0.05 away */
    same_as_samples(&o, 0.005, "bf16");
  }
}

static uint64_t digest_with(const ts_mlp_options *o, uint32_t threads) {
  world w;
  ts_pool *pool = NULL;
  if (!start(&w, o)) return 0;
  memset(gradients, 0, sizeof gradients);
  CHECK(ts_pool_create(threads, &pool, (ts_err){message, sizeof message}) == TS_OK);
  run_steps(&w, pool, 3);
  ts_pool_destroy(pool);
  const uint64_t digest = ts_hash_bytes(gradients, sizeof gradients, ts_mlp_digest(&w.mlp, 0));
  stop(&w);
  return digest;
}

static void threads_do_not_change_results(void) {
  for (uint32_t bf16 = 0; bf16 < (has_bf16() ? 2u : 1u); bf16++) {
    ts_mlp_options o = plain();
    o.bf16 = bf16 == 1;
    o = by_rows(&o);
    const uint64_t one = digest_with(&o, 1);
    CHECK(digest_with(&o, 2) == one && digest_with(&o, 5) == one);
    o.seed++;
    CHECK(digest_with(&o, 1) != one);
  }
}

/* Gradients may lie where the rows lay: no row is needed any more where the gradient of one is written. */
static void gradients_take_the_place_of_rows(void) {
  const ts_mlp_options all = plain(), o = by_rows(&all);
  static float expected[VECTORS][BATCH][STRIDE], place[VECTORS][BATCH][STRIDE];
  world w;
  ts_pool *pool = NULL;
  CHECK(ts_pool_create(1, &pool, (ts_err){message, sizeof message}) == TS_OK);
  for (uint32_t same = 0; same < 2; same++) {
    if (!start(&w, &o)) return;
    memset(gradients, 0, sizeof gradients);
    memcpy(place, table, sizeof place);
    for (uint32_t v = 0; v < VECTORS && same == 1; v++)
      w.mlp.vectors.vector[v].batch.rows = w.mlp.vectors.vector[v].batch.gradients = place[v][0];
    run_steps(&w, pool, 1);
    if (same == 0) memcpy(expected, gradients, sizeof expected);
    for (uint32_t v = 0; v < VECTORS && same == 1; v++)
      for (uint32_t u = 0; u < folds[v].count; u++)
        CHECK_MSG(memcmp(expected[v][u], place[v][u], dims[v] * sizeof(float)) == 0, "vector %u, row %u", v, u);
    stop(&w);
  }
  ts_pool_destroy(pool);
}

static void refuse(const ts_mlp_options *o, const char *wanted) {
  ts_mlp mlp;
  const int32_t status = ts_mlp_open(&mlp, o, (ts_err){message, sizeof message});
  CHECK_MSG(status == TS_EINVAL && strstr(message, wanted) != NULL, "%d: %s", status, message);
  ts_mlp_close(&mlp);
}

static void others_are_refused(void) {
  const ts_mlp_options all = plain(), o = by_rows(&all);
  ts_mlp_options bad = o;
  bad.vectors.dims[1] = 24;
  refuse(&bad, "multiples of 16, found 24");
  bad = o;
  bad.vectors.count = 33;
  refuse(&bad, "33 vectors, at most 32");
  bad = o;
  bad.pieces = 2;
  refuse(&bad, "one piece");
  bad = o;
  bad.in = 80;
  refuse(&bad, "other inputs");
}

int main(void) {
  make_batch();
  every_form_is_as_samples();
  threads_do_not_change_results();
  gradients_take_the_place_of_rows();
  others_are_refused();
  for (uint32_t v = 0; v < VECTORS; v++) ts_fold_close(&folds[v]);
  return test_result();
}
