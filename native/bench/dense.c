/* dense.c - the dense layers of Wide & Deep against their matrix products in oneDNN alone.
 *
 * ours: forward, backward and update (Adagrad) of an MLP over all shards and parts. floor: the three products of each
 * layer and nothing else (no bias, no ReLU, no optimizer, no transposing or packing), each in the form that is fastest
 * here (sgemm; matmul with its right side packed beforehand; blocks of 64 rows or more), on inputs that lie ready in
 * the form it wants, over the same threads. Rounds of both alternate.
 *
 * Usage: dense [rounds] [threads]. One line a case: floor / ours by processor time and by wall time (medians over the
 * rounds), then milliseconds of processor time a step of both. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "wdl/dense/mlp.h"

#define BATCH 2048u
#define LAYERS 3u
#define FORMS 4u
#define TRIES 4u /* runs of a form, of which the fastest counts */
#define MOST_ROUNDS 1000u

static const uint32_t hidden[LAYERS] = {1024, 512, 256};
static const ts_dnnl *library;
static ts_pool *pool;

static void stop(const char *what) {
  fprintf(stderr, "dense: %s\n", what);
  exit(1);
}

/* Memory with small numbers in it, which are numbers in BF16 too. */
static char *take(uint64_t bytes) {
  bytes = TS_ROUND_UP(bytes, UINT64_C(1) << 21);
  char *at = aligned_alloc(1u << 21, bytes);
  if (at == NULL) stop("no memory");
  for (uint64_t i = 0; i < bytes / 2; i++)
    ((uint16_t *)(void *)at)[i] = (uint16_t)(0x3c00 | (ts_mix64(i) & 0x80ff));
  return at;
}

/* ---- the floor ---- */

typedef enum what { FORWARD, BACKWARD, GRADIENT, WHATS } what;

/* One product of a layer over the whole batch, cut into `tasks`. */
typedef struct job {
  uint32_t tasks, m, k, n;
  ts_product *product, *tail; /* tail: of the last rows, where they are fewer */
  const char *form;
  char *a, *b, *c, *scratch;
  size_t a_task, c_task; /* bytes from task to task */
} job;

static job jobs[LAYERS][WHATS];

static void run_job(const job *j, uint32_t task) {
  const ts_product *p = task + 1 == j->tasks && j->tail != NULL ? j->tail : j->product;
  if (ts_product_run(p, task, j->a + task * j->a_task, j->c + task * j->c_task) != TS_OK) stop("oneDNN refused a product");
}

static ts_product *make(const job *j, uint32_t m, bool bf16, bool bf16_out, bool sgemm, const ts_product *like) {
  char text[512];
  const ts_product_shape shape = {.m = m, .k = j->k, .n = j->n, .bf16 = bf16, .bf16_out = bf16_out, .sgemm = sgemm};
  ts_product *p = NULL;
  if (ts_product_create(library, &shape, j->tasks, like, &p, (ts_err){text, sizeof text}) != TS_OK) stop(text);
  if (ts_product_bind(p, 0, j->tasks, j->b, NULL) != TS_OK) stop("oneDNN refused memory");
  for (uint32_t t = 0; t < j->tasks; t++)
    if (ts_product_bind_slot(p, t, j->scratch + t * (UINT64_C(1) << 18), NULL) != TS_OK) stop("oneDNN refused memory");
  if (ts_product_scratch(p) > UINT64_C(1) << 18) stop("oneDNN wants more scratch than expected");
  return p;
}

/* Processor time of all tasks one after the other on this thread. */
static uint64_t processor_ns(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static uint64_t time_job(const job *j) {
  uint64_t best = UINT64_MAX;
  for (uint32_t i = 0; i < TRIES; i++) {
    uint64_t start = processor_ns(CLOCK_THREAD_CPUTIME_ID);
    for (uint32_t t = 0; t < j->tasks; t++) run_job(j, t);
    best = TS_MIN(best, processor_ns(CLOCK_THREAD_CPUTIME_ID) - start);
  }
  return best;
}

/* The fastest form of a product of `rows` x k x n over the whole batch or the whole weight matrix. */
static job fastest(what w, uint32_t rows, uint32_t k, uint32_t n, bool bf16, bool bf16_out) {
  static const uint32_t cut[FORMS] = {64, 256, 128, 256};
  static const char *const names[FORMS] = {"matmul 64", "matmul 256", "sgemm 128", "sgemm 256"};
  const size_t size = bf16 ? 2 : 4;
  job base = {.k = k, .n = n}, best = {0};
  base.a = take((uint64_t)TS_ROUND_UP(rows, 256u) * k * size);
  base.b = take((uint64_t)TS_ROUND_UP(k, 32u) * TS_ROUND_UP(n, 64u) * size);
  base.c = take((uint64_t)TS_ROUND_UP(rows, 256u) * n * 4);
  base.scratch = take((uint64_t)(rows / 64 + 1) << 18);
  uint64_t best_ns = UINT64_MAX;
  for (uint32_t f = 0; f < (bf16 ? 2 : FORMS); f++) {
    job j = base;
    j.m = TS_MIN(cut[f], rows);
    j.tasks = (rows + j.m - 1) / j.m;
    j.form = names[f];
    j.a_task = (size_t)j.m * k * size;
    j.c_task = (size_t)j.m * n * (bf16_out ? 2 : 4);
    j.product = make(&j, j.m, bf16, bf16_out, f >= 2, NULL);
    if (rows % j.m != 0) j.tail = make(&j, rows % j.m, bf16, bf16_out, f >= 2, j.product);
    const uint64_t ns = time_job(&j);
    job *worse = ns < best_ns ? &best : &j;
    ts_product_destroy(worse->tail);
    ts_product_destroy(worse->product);
    if (ns >= best_ns) continue;
    best_ns = ns;
    best = j;
  }
  if (getenv("TIERBENCH_VERBOSE") != NULL)
    printf("  %-8s %5u x %5u x %5u %-10s %7.3f ms %6.1f GFLOP/s\n", w == FORWARD ? "forward" : w == BACKWARD ? "backward" : "gradient",
           rows, k, n, best.form, (double)best_ns * 1e-6, 2.0 * rows * k * n / (double)best_ns);
  return best;
}

static void floor_open(uint32_t in, bool bf16) {
  uint32_t inputs = TS_ROUND_UP(in, TS_LANES);
  for (uint32_t l = 0; l < LAYERS; l++) {
    const uint32_t units = hidden[l];
    jobs[l][FORWARD] = fastest(FORWARD, BATCH, inputs, units, bf16, bf16 && l + 1 < LAYERS);
    jobs[l][BACKWARD] = fastest(BACKWARD, BATCH, units, inputs, bf16, bf16 && l > 0);
    jobs[l][GRADIENT] = fastest(GRADIENT, inputs, BATCH, units, bf16, false);
    inputs = units;
  }
}

static void floor_close(void) {
  for (uint32_t i = 0; i < LAYERS * WHATS; i++) {
    job *j = &jobs[i / WHATS][i % WHATS];
    ts_product_destroy(j->tail);
    ts_product_destroy(j->product);
    free(j->a), free(j->b), free(j->c), free(j->scratch);
  }
}

/* A shard's share of a job, as ours has it. */
static void floor_shard(void *context, uint32_t shard) {
  (void)context;
  for (uint32_t i = 0; i < 2 * LAYERS; i++) {
    const job *j = i < LAYERS ? &jobs[i][FORWARD] : &jobs[2 * LAYERS - 1 - i][BACKWARD];
    for (uint32_t t = j->tasks * shard / TS_SHARDS; t < j->tasks * (shard + 1) / TS_SHARDS; t++) run_job(j, t);
  }
}

static void floor_part(void *context, uint32_t part) {
  (void)context;
  uint32_t l = 0;
  while (part >= jobs[l][GRADIENT].tasks) part -= jobs[l++][GRADIENT].tasks;
  run_job(&jobs[l][GRADIENT], part);
}

static void floor_step(void) {
  uint32_t parts = 0;
  for (uint32_t l = 0; l < LAYERS; l++) parts += jobs[l][GRADIENT].tasks;
  ts_pool_run(pool, TS_SHARDS, floor_shard, NULL);
  ts_pool_run(pool, parts, floor_part, NULL);
}

/* ---- ours ---- */

static ts_mlp mlp;
static char *parameters, *step_memory;
static float logit[BATCH], loss_gradient[BATCH];

static void ours_open(uint32_t in, bool bf16) {
  char text[512];
  ts_mlp_options o = {.batch = BATCH, .pieces = 1, .shards = TS_SHARDS, .in = in, .count = LAYERS, .head = true,
                      .own_input = true, .input_gradient = true, .fusion = true, .bf16 = bf16};
  memcpy(o.hidden, hidden, sizeof hidden);
  o.rule.kind = TS_ADAGRAD;
  o.rule.initial_accumulator = 0.1f;
  atomic_init(&o.rule.learning_rate, 1e-6f); /* weights hardly move: all rounds are alike */
  if (ts_mlp_open(&mlp, &o, (ts_err){text, sizeof text}) != TS_OK) stop(text);
  ts_workspace space = {0};
  ts_mlp_plan_parameters(&mlp, &space);
  space = (ts_workspace){.base = parameters = take(space.used)};
  memset(parameters, 0, 1);
  ts_mlp_plan_parameters(&mlp, &space);
  memset(parameters, 0, space.used);
  space = (ts_workspace){0};
  ts_mlp_plan_step(&mlp, &space);
  space = (ts_workspace){.base = step_memory = take(space.used)};
  ts_mlp_plan_step(&mlp, &space);
  memset(step_memory, 0, space.used);
  if (ts_mlp_bind(&mlp) != TS_OK) stop("oneDNN refused memory");
  ts_mlp_initialise(&mlp);
  for (uint32_t r = 0; r < BATCH; r++) {
    loss_gradient[r] = (float)(ts_unit(ts_random64(1, 1, r)) - 0.5) / (float)BATCH;
    for (uint32_t i = 0; i < in; i++)
      mlp.x[r * mlp.x_stride + i] = (float)ts_unit(ts_random64(2, r, i)) - 0.5f;
  }
}

static void ours_shard(void *context, uint32_t shard) {
  (void)context;
  const ts_mlp_rows at = ts_mlp_cut(&mlp, 0, shard, BATCH);
  if ((ts_mlp_forward(&mlp, at, true, logit) | ts_mlp_backward(&mlp, at, loss_gradient)) != TS_OK) stop("a shard failed");
}

static void ours_part(void *context, uint32_t part) {
  (void)context;
  if (ts_mlp_update(&mlp, part) != TS_OK) stop("a part failed");
}

static void ours_step(void) {
  ts_mlp_begin(&mlp, 1);
  ts_pool_run(pool, TS_SHARDS, ours_shard, NULL);
  ts_pool_run(pool, ts_mlp_update_parts(&mlp), ours_part, NULL);
}

/* ---- rounds ---- */

typedef struct times {
  double processor, wall;
} times;

static times time_step(void (*step)(void)) {
  uint64_t processor = processor_ns(CLOCK_PROCESS_CPUTIME_ID), wall = ts_now_ns();
  step();
  return (times){(double)(processor_ns(CLOCK_PROCESS_CPUTIME_ID) - processor), (double)(ts_now_ns() - wall)};
}

static int compare(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return x < y ? -1 : x > y;
}

static double median(double *x, uint32_t n) {
  qsort(x, n, sizeof *x, compare);
  return x[n / 2];
}

static void run_case(uint32_t in, bool bf16, uint32_t rounds) {
  static double processor[MOST_ROUNDS], wall[MOST_ROUNDS], ours_ms[MOST_ROUNDS], floor_ms[MOST_ROUNDS];
  floor_open(in, bf16);
  ours_open(in, bf16);
  for (uint32_t i = 0; i < 2; i++) floor_step(), ours_step();
  for (uint32_t i = 0; i < rounds; i++) {
    const times floor = time_step(floor_step), ours = time_step(ours_step);
    processor[i] = floor.processor / ours.processor;
    wall[i] = floor.wall / ours.wall;
    floor_ms[i] = floor.processor * 1e-6;
    ours_ms[i] = ours.processor * 1e-6;
  }
  const double share = median(processor, rounds), wall_share = median(wall, rounds);
  printf("%4u-1024-512-256-1 %s: floor/ours %.3f (wall %.3f), ours %.2f ms, floor %.2f ms\n", in, bf16 ? "bf16" : "fp32",
         share, wall_share, median(ours_ms, rounds), median(floor_ms, rounds));
  fflush(stdout);
  ts_mlp_close(&mlp);
  free(parameters), free(step_memory);
  floor_close();
}

int main(int count, char **words) {
  char text[512];
  const ts_err err = {text, sizeof text};
  const uint32_t rounds = count > 1 ? (uint32_t)strtoul(words[1], NULL, 10) : 15;
  const uint32_t threads = count > 2 ? (uint32_t)strtoul(words[2], NULL, 10) : 1;
  if (rounds < 1 || rounds > MOST_ROUNDS || threads < 1) stop("usage: dense [rounds] [threads]");
  if (ts_dnnl_open(&library, err) != TS_OK || ts_dnnl_need_primitives(library, "this bench", "nothing else", err) != TS_OK ||
      ts_pool_create(threads, &pool, err) != TS_OK)
    stop(text);
  for (uint32_t bf16 = 0; bf16 < 2; bf16++) {
    if (bf16 == 1 && ts_dnnl_need_bf16(library, err) != TS_OK) {
      printf("%s\n", text);
      break;
    }
    run_case(429, bf16 == 1, rounds);
    run_case(2189, bf16 == 1, rounds);
  }
  ts_pool_destroy(pool);
  return 0;
}
