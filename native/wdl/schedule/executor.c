/* executor.c - the three ways to run a graph. Times of tasks are taken in each: the phases of a step come from them,
 * and the cost model learns from them. */
#include "wdl/schedule/executor.h"

#include <stdlib.h>
#include <string.h>

#define KINDS 16u

const char *const ts_executor_names[] = {"inline", "pool", "cost_model", NULL};

struct ts_executor {
  ts_executor_kind kind;
  ts_pool *pool;
  ts_graph *graph;
  void *context;
  uint64_t *took; /* of each task in this run */
  uint32_t runs;
  uint32_t first; /* pool: first task of the phase */
  /* cost_model, under lock: */
  pthread_mutex_t lock;
  pthread_cond_t changed;
  uint32_t *waits; /* of each task: what it still waits for */
  uint32_t *ready; /* heap of tasks, the longest path first, then the lower number */
  uint32_t ready_count, done;
  uint32_t sleeping;
};

int32_t ts_executor_create(ts_executor_kind kind, ts_pool *pool, ts_graph *graph, ts_executor **out, ts_err err) {
  ts_executor *x = calloc(1, sizeof *x);
  if (x == NULL) return ts_fail(err, TS_ENOMEM, "Cannot plan the tasks of a step: out of memory");
  x->kind = kind;
  x->pool = pool;
  x->graph = graph;
  pthread_mutex_init(&x->lock, NULL);
  pthread_cond_init(&x->changed, NULL);
  x->took = calloc(graph->count + 1, sizeof *x->took);
  x->waits = calloc(graph->count + 1, sizeof *x->waits);
  x->ready = calloc(graph->count + 1, sizeof *x->ready);
  if (x->took == NULL || x->waits == NULL || x->ready == NULL) {
    ts_executor_destroy(x);
    return ts_fail(err, TS_ENOMEM, "Cannot plan the tasks of a step: out of memory");
  }
  *out = x;
  return TS_OK;
}

void ts_executor_destroy(ts_executor *x) {
  if (x == NULL) return;
  pthread_mutex_destroy(&x->lock);
  pthread_cond_destroy(&x->changed);
  free(x->took);
  free(x->waits);
  free(x->ready);
  free(x);
}

static void run_task(ts_executor *x, uint32_t i) {
  const ts_task *task = &x->graph->tasks[i];
  x->took[i] = 0;
  if (task->run == NULL) return;
  const uint64_t start = ts_now_ns();
  task->run(x->context, task->part);
  x->took[i] = ts_now_ns() - start;
}

/* Divides the wall time of tasks [from, to) among their kinds. */
static void share_time(const ts_executor *x, uint32_t from, uint32_t to, uint64_t wall, uint64_t *kind_ns,
                       uint32_t kinds) {
  uint64_t of_kind[KINDS] = {0}, all = 0;
  for (uint32_t i = from; i < to; i++) {
    of_kind[TS_MIN(x->graph->tasks[i].kind, KINDS - 1)] += x->took[i];
    all += x->took[i];
  }
  for (uint32_t k = 0; k < TS_MIN(kinds, KINDS); k++)
    if (all > 0) kind_ns[k] += (uint64_t)((double)wall * ((double)of_kind[k] / (double)all));
}

/* ---- pool ---- */

static void run_of_phase(void *context, uint32_t part) {
  ts_executor *x = context;
  run_task(x, x->first + part);
}

static void run_phases(ts_executor *x, uint64_t *kind_ns, uint32_t kinds) {
  const ts_graph *g = x->graph;
  for (uint32_t at = 0; at < g->count;) {
    uint32_t end = at;
    while (end < g->count && g->tasks[end].phase == g->tasks[at].phase) end++;
    x->first = at;
    const uint64_t start = ts_now_ns();
    ts_pool_run(x->pool, end - at, run_of_phase, x);
    share_time(x, at, end, ts_now_ns() - start, kind_ns, kinds);
    at = end;
  }
}

/* ---- cost_model ---- */

static bool before(const ts_executor *x, uint32_t a, uint32_t b) {
  const ts_task *tasks = x->graph->tasks;
  return tasks[a].path != tasks[b].path ? tasks[a].path > tasks[b].path : a < b;
}

static void push(ts_executor *x, uint32_t task) {
  uint32_t at = x->ready_count++;
  while (at > 0 && before(x, task, x->ready[(at - 1) / 2])) {
    x->ready[at] = x->ready[(at - 1) / 2];
    at = (at - 1) / 2;
  }
  x->ready[at] = task;
}

static uint32_t pop(ts_executor *x) {
  const uint32_t top = x->ready[0], last = x->ready[--x->ready_count];
  uint32_t at = 0;
  for (;;) {
    uint32_t child = 2 * at + 1;
    if (child >= x->ready_count) break;
    if (child + 1 < x->ready_count && before(x, x->ready[child + 1], x->ready[child])) child++;
    if (!before(x, x->ready[child], last)) break;
    x->ready[at] = x->ready[child];
    at = child;
  }
  x->ready[at] = last;
  return top;
}

/* One thread's part of a run. */
static void take_tasks(void *context, uint32_t part) {
  (void)part;
  ts_executor *x = context;
  const ts_graph *g = x->graph;
  pthread_mutex_lock(&x->lock);
  while (x->done < g->count) {
    if (x->ready_count == 0) {
      x->sleeping++;
      pthread_cond_wait(&x->changed, &x->lock);
      x->sleeping--;
      continue;
    }
    const uint32_t i = pop(x);
    pthread_mutex_unlock(&x->lock);
    run_task(x, i);
    pthread_mutex_lock(&x->lock);
    x->done++;
    uint32_t more = 0;
    for (uint32_t e = g->tasks[i].first; e < g->tasks[i].first + g->tasks[i].successors; e++) {
      const uint32_t next = g->edges[e].to;
      if (--x->waits[next] > 0) continue;
      push(x, next);
      more++;
    }
    /* This thread takes one of them itself. */
    if (x->done == g->count || (more > 1 && x->sleeping > 0)) pthread_cond_broadcast(&x->changed);
  }
  pthread_mutex_unlock(&x->lock);
}

static void run_graph(ts_executor *x) {
  const ts_graph *g = x->graph;
  x->done = x->ready_count = 0;
  for (uint32_t i = 0; i < g->count; i++) {
    x->waits[i] = g->tasks[i].waits_for;
    if (x->waits[i] == 0) push(x, i);
  }
  ts_pool_run(x->pool, ts_pool_threads(x->pool), take_tasks, x);
}

/* The mean over the first runs but one: the first one pays for cold memory. */
static void learn(ts_executor *x) {
  ts_graph *g = x->graph;
  if (x->runs > TS_EXECUTOR_LEARNS || x->runs < 2) return;
  for (uint32_t i = 0; i < g->count; i++) {
    const uint64_t n = x->runs - 1, sum = x->runs == 2 ? 0 : g->tasks[i].cost * (n - 1);
    g->tasks[i].cost = TS_MAX((sum + x->took[i]) / n, 1u);
  }
  ts_graph_measure_paths(g);
}

void ts_executor_run(ts_executor *x, void *context, uint64_t *kind_ns, uint32_t kinds) {
  x->context = context;
  x->runs += x->runs <= TS_EXECUTOR_LEARNS;
  if (x->kind == TS_EXECUTOR_POOL) {
    run_phases(x, kind_ns, kinds);
  } else {
    const uint64_t start = ts_now_ns();
    if (x->kind == TS_EXECUTOR_INLINE)
      for (uint32_t i = 0; i < x->graph->count; i++) run_task(x, i);
    else run_graph(x);
    share_time(x, 0, x->graph->count, ts_now_ns() - start, kind_ns, kinds);
  }
  learn(x);
}

bool ts_executor_knows_costs(const ts_executor *x) { return x->runs >= TS_EXECUTOR_LEARNS; }
