/* dense.c - the dense layers of Wide & Deep against their matrix products in oneDNN alone.
 *
 * ours: forward, backward and update (Adagrad) of an MLP over all shards and parts. floor: dense_floor.c over the
 * same threads. Rounds of both alternate.
 *
 * Usage: dense [rounds] [threads]. One line a case: floor / ours by processor time and by wall time (medians over the
 * rounds), then milliseconds of processor time a step of both. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dense_floor.h"
#include "wdl/dense/mlp.h"

#define MOST_ROUNDS 1000u

static const ts_dnnl *library;
static ts_pool *pool;

/* ---- ours ---- */

static ts_mlp mlp;
static char *parameters, *step_memory;
static float logit[DENSE_BATCH], loss_gradient[DENSE_BATCH];

static void ours_open(uint32_t in, bool bf16) {
  char text[512];
  ts_mlp_options o = {.batch = DENSE_BATCH, .pieces = 1, .shards = TS_SHARDS, .in = in, .count = DENSE_LAYERS, .head = true,
                      .own_input = true, .input_gradient = true, .fusion = true, .bf16 = bf16};
  memcpy(o.hidden, dense_hidden, sizeof dense_hidden);
  o.rule.kind = TS_ADAGRAD;
  o.rule.initial_accumulator = 0.1f;
  atomic_init(&o.rule.learning_rate, 1e-6f); /* weights hardly move: all rounds are alike */
  if (ts_mlp_open(&mlp, &o, (ts_err){text, sizeof text}) != TS_OK) dense_stop(text);
  ts_workspace space = {0};
  ts_mlp_plan_parameters(&mlp, &space);
  space = (ts_workspace){.base = parameters = dense_take(space.used)};
  memset(parameters, 0, 1);
  ts_mlp_plan_parameters(&mlp, &space);
  memset(parameters, 0, space.used);
  space = (ts_workspace){0};
  ts_mlp_plan_step(&mlp, &space);
  space = (ts_workspace){.base = step_memory = dense_take(space.used)};
  ts_mlp_plan_step(&mlp, &space);
  memset(step_memory, 0, space.used);
  if (ts_mlp_bind(&mlp) != TS_OK) dense_stop("oneDNN refused memory");
  ts_mlp_initialise(&mlp);
  for (uint32_t r = 0; r < DENSE_BATCH; r++) {
    loss_gradient[r] = (float)(ts_unit(ts_random64(1, 1, r)) - 0.5) / (float)DENSE_BATCH;
    for (uint32_t i = 0; i < in; i++)
      mlp.x[r * mlp.x_stride + i] = (float)ts_unit(ts_random64(2, r, i)) - 0.5f;
  }
}

static void ours_shard(void *context, uint32_t shard) {
  (void)context;
  const ts_mlp_rows at = ts_mlp_cut(&mlp, 0, shard, DENSE_BATCH);
  if ((ts_mlp_forward(&mlp, at, true, logit) | ts_mlp_backward(&mlp, at, loss_gradient)) != TS_OK) dense_stop("a shard failed");
}

static void ours_part(void *context, uint32_t part) {
  (void)context;
  if (ts_mlp_update(&mlp, part) != TS_OK) dense_stop("a part failed");
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

static void floor_step(void) { dense_floor_step(pool); }

static times time_step(void (*step)(void)) {
  uint64_t processor = dense_processor_ns(CLOCK_PROCESS_CPUTIME_ID), wall = ts_now_ns();
  step();
  return (times){(double)(dense_processor_ns(CLOCK_PROCESS_CPUTIME_ID) - processor), (double)(ts_now_ns() - wall)};
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
  dense_floor_open(library, in, bf16);
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
  dense_floor_close();
}

int main(int count, char **words) {
  char text[512];
  const ts_err err = {text, sizeof text};
  const uint32_t rounds = count > 1 ? (uint32_t)strtoul(words[1], NULL, 10) : 15;
  const uint32_t threads = count > 2 ? (uint32_t)strtoul(words[2], NULL, 10) : 1;
  if (rounds < 1 || rounds > MOST_ROUNDS || threads < 1) dense_stop("usage: dense [rounds] [threads]");
  if (ts_dnnl_open(&library, err) != TS_OK || ts_dnnl_need_primitives(library, "this bench", "nothing else", err) != TS_OK ||
      ts_pool_create(threads, &pool, err) != TS_OK)
    dense_stop(text);
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
