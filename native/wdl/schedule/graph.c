/* graph.c - builds a graph of tasks and finds its longest paths. */
#include "wdl/schedule/graph.h"

#include <stdlib.h>

/* Room for one more; on failure the graph is marked and stays as it is. */
static bool grow(void **array, uint32_t count, uint32_t *capacity, size_t size) {
  if (count < *capacity) return true;
  const uint32_t more = *capacity == 0 ? 64 : *capacity * 2;
  void *grown = realloc(*array, more * size);
  if (grown == NULL) return false;
  *array = grown;
  *capacity = more;
  return true;
}

uint32_t ts_graph_add(ts_graph *g, ts_task_run *run, uint32_t part, uint32_t phase, uint32_t kind) {
  if (g->failed || !grow((void **)&g->tasks, g->count, &g->capacity, sizeof *g->tasks)) {
    g->failed = true;
    return 0;
  }
  g->tasks[g->count] = (ts_task){.run = run, .part = part, .phase = phase, .kind = kind};
  if (phase >= g->phases) g->phases = phase + 1;
  return g->count++;
}

void ts_graph_edge(ts_graph *g, uint32_t from, uint32_t to) {
  if (g->failed || !grow((void **)&g->edges, g->edge_count, &g->edge_capacity, sizeof *g->edges)) {
    g->failed = true;
    return;
  }
  g->edges[g->edge_count++] = (struct ts_edge){from, to};
  g->tasks[to].waits_for++;
}

static int by_start(const void *a, const void *b) {
  const struct ts_edge *x = a, *y = b;
  if (x->from != y->from) return x->from < y->from ? -1 : 1;
  return x->to < y->to ? -1 : x->to > y->to;
}

int32_t ts_graph_finish(ts_graph *g, ts_err err) {
  if (g->failed) return ts_fail(err, TS_ENOMEM, "Cannot plan the tasks of a step: out of memory");
  if (g->edge_count > 0) qsort(g->edges, g->edge_count, sizeof *g->edges, by_start);
  uint32_t edge = 0;
  for (uint32_t i = 0; i < g->count; i++) {
    ts_task *task = &g->tasks[i];
    task->first = edge;
    while (edge < g->edge_count && g->edges[edge].from == i) edge++;
    task->successors = edge - task->first;
    task->cost = 1;
    if (i > 0 && task->phase < g->tasks[i - 1].phase)
      return ts_fail(err, TS_EINTERNAL,
                     "Cannot plan the tasks of a step: task %u is of a phase before its predecessor's", i);
  }
  for (uint32_t e = 0; e < g->edge_count; e++)
    if (g->edges[e].from >= g->edges[e].to)
      return ts_fail(err, TS_EINTERNAL, "Cannot plan the tasks of a step: task %u waits for task %u", g->edges[e].to,
                     g->edges[e].from);
  ts_graph_measure_paths(g);
  return TS_OK;
}

void ts_graph_free(ts_graph *g) {
  free(g->tasks);
  free(g->edges);
  *g = (ts_graph){0};
}

void ts_graph_measure_paths(ts_graph *g) {
  for (uint32_t i = g->count; i-- > 0;) {
    ts_task *task = &g->tasks[i];
    uint64_t rest = 0;
    for (uint32_t e = task->first; e < task->first + task->successors; e++)
      rest = TS_MAX(rest, g->tasks[g->edges[e].to].path);
    task->path = task->cost + rest;
  }
}

uint64_t ts_graph_longest_path(const ts_graph *g) {
  uint64_t longest = 0;
  for (uint32_t i = 0; i < g->count; i++) longest = TS_MAX(longest, g->tasks[i].path);
  return longest;
}

uint64_t ts_graph_work(const ts_graph *g) {
  uint64_t sum = 0;
  for (uint32_t i = 0; i < g->count; i++) sum += g->tasks[i].run == NULL ? 0 : g->tasks[i].cost;
  return sum;
}
