/* dense_floor.c - the matrix products of Wide & Deep's dense layers alone: the three products of each layer and nothing
 * else (no bias, no ReLU, no optimizer, no transposing or packing), each in the form that is fastest here (oneDNN's sgemm;
 * its matmul with the right side packed beforehand; the same two of MKL, where dense_mkl_open() found it; blocks of 64 rows
 * or more), on inputs that lie ready in the form it wants. */
#include "dense_floor.h"

#include "dense_mkl.h"
#include "wdl/dense/mlp.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TRIES 4u /* runs of a form, of which the fastest counts */

const uint32_t dense_hidden[DENSE_LAYERS] = {1024, 512, 256};
static const ts_dnnl *library;

void dense_stop(const char *what) {
  fprintf(stderr, "%s\n", what);
  exit(1);
}

/* Memory with small numbers in it, which are numbers in BF16 too. */
char *dense_take(uint64_t bytes) {
  bytes = TS_ROUND_UP(bytes, UINT64_C(1) << 21);
  char *at = aligned_alloc(1u << 21, bytes);
  if (at == NULL) dense_stop("no memory");
  for (uint64_t i = 0; i < bytes / 2; i++)
    ((uint16_t *)(void *)at)[i] = (uint16_t)(0x3c00 | (ts_mix64(i) & 0x80ff));
  return at;
}


typedef enum what { FORWARD, BACKWARD, GRADIENT, WHATS } what;

/* A library's way to multiply blocks of `rows`. */
typedef struct form {
  const char *name;
  uint32_t rows;
  enum { MATMUL, SGEMM, MKL, MKL_PACKED } by;
} form;

static const form forms[] = {{"matmul 64", 64, MATMUL}, {"matmul 256", 256, MATMUL}, {"sgemm 128", 128, SGEMM},
                             {"sgemm 256", 256, SGEMM}, {"mkl 128", 128, MKL},       {"mkl 256", 256, MKL},
                             {"mkl packed 128", 128, MKL_PACKED}, {"mkl packed 256", 256, MKL_PACKED}};

/* One product of a layer over the whole batch, cut into `tasks`. */
typedef struct job {
  uint32_t tasks, m, k, n;
  ts_product *product, *tail; /* tail: of the last rows, where they are fewer */
  dense_mkl_shape shapes[2]; /* MKL: of a block, and of the last */
  char *packed[2];           /* MKL: right sides for these shapes, or NULL */
  const form *form;
  char *a, *b, *c, *scratch;
  size_t a_task, c_task; /* bytes from task to task */
} job;

static job jobs[DENSE_LAYERS][WHATS];

static bool by_mkl(const job *j) { return j->form->by == MKL || j->form->by == MKL_PACKED; }

static void run_job(const job *j, uint32_t task) {
  if (by_mkl(j)) {
    const uint32_t which = task + 1 == j->tasks;
    dense_mkl_run(&j->shapes[which], j->a + task * j->a_task, j->b, j->packed[which], (float *)(void *)(j->c + task * j->c_task));
    return;
  }
  const ts_product *p = task + 1 == j->tasks && j->tail != NULL ? j->tail : j->product;
  if (ts_product_run(p, task, j->a + task * j->a_task, j->c + task * j->c_task) != TS_OK) dense_stop("oneDNN refused a product");
}

static ts_product *make(const job *j, uint32_t m, bool bf16, bool bf16_out, bool sgemm, const ts_product *like) {
  char text[512];
  const ts_product_shape shape = {.m = m, .k = j->k, .n = j->n, .bf16 = bf16, .bf16_out = bf16_out, .sgemm = sgemm};
  ts_product *p = NULL;
  if (ts_product_create(library, &shape, j->tasks, like, &p, (ts_err){text, sizeof text}) != TS_OK) dense_stop(text);
  if (ts_product_bind(p, 0, j->tasks, j->b, NULL) != TS_OK) dense_stop("oneDNN refused memory");
  for (uint32_t t = 0; t < j->tasks; t++)
    if (ts_product_bind_slot(p, t, j->scratch + t * (UINT64_C(1) << 18), NULL) != TS_OK) dense_stop("oneDNN refused memory");
  if (ts_product_scratch(p) > UINT64_C(1) << 18) dense_stop("oneDNN wants more scratch than expected");
  return p;
}

uint64_t dense_processor_ns(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Processor time of all tasks one after the other on this thread. */
static uint64_t time_job(const job *j) {
  uint64_t best = UINT64_MAX;
  for (uint32_t i = 0; i < TRIES; i++) {
    uint64_t start = dense_processor_ns(CLOCK_THREAD_CPUTIME_ID);
    for (uint32_t t = 0; t < j->tasks; t++) run_job(j, t);
    best = TS_MIN(best, dense_processor_ns(CLOCK_THREAD_CPUTIME_ID) - start);
  }
  return best;
}

static void open_job(job *j, uint32_t rows, bool bf16, bool bf16_out) {
  const uint32_t last = rows - (j->tasks - 1) * j->m;
  if (!by_mkl(j)) {
    j->product = make(j, j->m, bf16, bf16_out, j->form->by == SGEMM, NULL);
    if (last != j->m) j->tail = make(j, last, bf16, bf16_out, j->form->by == SGEMM, j->product);
    return;
  }
  for (uint32_t i = 0; i < 2; i++) {
    j->shapes[i] = (dense_mkl_shape){.m = i == 0 ? j->m : last, .k = j->k, .n = j->n, .bf16 = bf16};
    if (j->form->by == MKL) continue;
    j->packed[i] = dense_take(dense_mkl_packed_bytes(&j->shapes[i]));
    dense_mkl_pack(&j->shapes[i], j->b, j->packed[i]);
  }
}

static void close_job(job *j) {
  ts_product_destroy(j->tail);
  ts_product_destroy(j->product);
  free(j->packed[0]), free(j->packed[1]);
}

/* The fastest form of a product of `rows` x k x n over the whole batch or the whole weight matrix. */
static job fastest(what w, uint32_t rows, uint32_t k, uint32_t n, bool bf16, bool bf16_out) {
  const size_t size = bf16 ? 2 : 4;
  job base = {.k = k, .n = n}, best = {0};
  base.a = dense_take((uint64_t)TS_ROUND_UP(rows, 256u) * k * size);
  base.b = dense_take((uint64_t)TS_ROUND_UP(k, 32u) * TS_ROUND_UP(n, 64u) * size);
  base.c = dense_take((uint64_t)TS_ROUND_UP(rows, 256u) * n * 4);
  base.scratch = dense_take((uint64_t)(rows / 64 + 1) << 18);
  uint64_t best_ns = UINT64_MAX;
  for (uint32_t f = 0; f < sizeof forms / sizeof *forms; f++) {
    job j = base;
    j.form = &forms[f];
    if (by_mkl(&j) && !dense_mkl_here()) continue;
    if (bf16 && (j.form->by == SGEMM || j.form->by == MKL_PACKED)) continue;
    j.m = TS_MIN(j.form->rows, rows);
    j.tasks = (rows + j.m - 1) / j.m;
    j.a_task = (size_t)j.m * k * size;
    j.c_task = (size_t)j.m * n * (bf16_out && !by_mkl(&j) ? 2 : 4);
    open_job(&j, rows, bf16, bf16_out);
    const uint64_t ns = time_job(&j);
    close_job(ns < best_ns ? &best : &j);
    if (ns >= best_ns) continue;
    best_ns = ns;
    best = j;
  }
  if (getenv("TIERBENCH_VERBOSE") != NULL)
    printf("  %-8s %5u x %5u x %5u %-14s %7.3f ms %6.1f GFLOP/s\n", w == FORWARD ? "forward" : w == BACKWARD ? "backward" : "gradient",
           rows, k, n, best.form->name, (double)best_ns * 1e-6, 2.0 * rows * k * n / (double)best_ns);
  return best;
}

void dense_floor_open(const ts_dnnl *dnnl, uint32_t in, bool bf16) {
  library = dnnl;
  uint32_t inputs = TS_ROUND_UP(in, TS_LANES);
  for (uint32_t l = 0; l < DENSE_LAYERS; l++) {
    const uint32_t units = dense_hidden[l];
    jobs[l][FORWARD] = fastest(FORWARD, DENSE_BATCH, inputs, units, bf16, bf16 && l + 1 < DENSE_LAYERS);
    jobs[l][BACKWARD] = fastest(BACKWARD, DENSE_BATCH, units, inputs, bf16, bf16 && l > 0);
    jobs[l][GRADIENT] = fastest(GRADIENT, inputs, DENSE_BATCH, units, bf16, false);
    inputs = units;
  }
}

void dense_floor_close(void) {
  for (uint32_t i = 0; i < DENSE_LAYERS * WHATS; i++) {
    job *j = &jobs[i / WHATS][i % WHATS];
    close_job(j);
    free(j->a), free(j->b), free(j->c), free(j->scratch);
  }
}

uint32_t dense_floor_mkl(void) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < DENSE_LAYERS * WHATS; i++) count += by_mkl(&jobs[i / WHATS][i % WHATS]);
  return count;
}

/* A shard's share of a job, as ours has it. */
static void floor_shard(void *context, uint32_t shard) {
  (void)context;
  for (uint32_t i = 0; i < 2 * DENSE_LAYERS; i++) {
    const job *j = i < DENSE_LAYERS ? &jobs[i][FORWARD] : &jobs[2 * DENSE_LAYERS - 1 - i][BACKWARD];
    for (uint32_t t = j->tasks * shard / TS_SHARDS; t < j->tasks * (shard + 1) / TS_SHARDS; t++) run_job(j, t);
  }
}

static void floor_part(void *context, uint32_t part) {
  (void)context;
  uint32_t l = 0;
  while (part >= jobs[l][GRADIENT].tasks) part -= jobs[l++][GRADIENT].tasks;
  run_job(&jobs[l][GRADIENT], part);
}

void dense_floor_step(ts_pool *pool) {
  uint32_t parts = 0;
  for (uint32_t l = 0; l < DENSE_LAYERS; l++) parts += jobs[l][GRADIENT].tasks;
  ts_pool_run(pool, TS_SHARDS, floor_shard, NULL);
  ts_pool_run(pool, parts, floor_part, NULL);
}
