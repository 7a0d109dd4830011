/* graph.h - the tasks of a training step and what each must wait for. Built once when the trainer opens and run every
 * step.
 *
 * Tasks are added in an order in which they could run one after the other. Each belongs to a phase; a task waits only
 * for tasks of its own phase before it or of earlier phases, and tasks of one phase do not wait for one another unless
 * they say so. So the same graph can run on one thread, phase after phase, or in any order that its edges allow:
 * results never depend on which, because every task writes what no other task reads or writes unless an edge says who
 * comes first. */
#ifndef TS_WDL_GRAPH_H
#define TS_WDL_GRAPH_H

#include "base/base.h"

typedef void ts_task_run(void *context, uint32_t part);

typedef struct ts_task {
  ts_task_run *run; /* NULL: nothing to do, it joins others */
  uint32_t part;
  uint32_t phase;             /* not falling from task to task */
  uint32_t kind;              /* what its time counts as: TS_PHASE_* */
  uint32_t waits_for;         /* tasks before it */
  uint32_t first, successors; /* its edges in `edges` */
  uint64_t cost;              /* nanoseconds, measured */
  uint64_t path;              /* of the longest way from its start to the end of the graph */
} ts_task;

typedef struct ts_graph {
  ts_task *tasks;
  uint32_t count, capacity, phases;
  struct ts_edge {
    uint32_t from, to;
  } * edges; /* sorted by `from` once finished */
  uint32_t edge_count, edge_capacity;
  bool failed; /* out of memory */
} ts_graph;

/* Number of the new task. */
uint32_t ts_graph_add(ts_graph *graph, ts_task_run *run, uint32_t part, uint32_t phase, uint32_t kind);
/* `to` waits for `from`, which was added before it. */
void ts_graph_edge(ts_graph *graph, uint32_t from, uint32_t to);
/* Errors: TS_ENOMEM. Afterwards nothing is added. */
int32_t ts_graph_finish(ts_graph *graph, ts_err err);
void ts_graph_free(ts_graph *graph);

/* Computes every task's longest remaining path from the costs. */
void ts_graph_measure_paths(ts_graph *graph);
/* The longest path of all, and the sum of the costs: the time on endless threads, and on one. */
uint64_t ts_graph_longest_path(const ts_graph *graph);
uint64_t ts_graph_work(const ts_graph *graph);

#endif
