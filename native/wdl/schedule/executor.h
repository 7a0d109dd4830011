/* executor.h - runs a graph of tasks.
 *
 *   inline      one task after the other on the calling thread, in the order in which they were added
 *   pool        phase after phase; the tasks of a phase are spread over the threads, taken in their order
 *   cost_model  whenever a thread is free it takes the ready task with the longest remaining path, by the costs that
 * tasks had in the first runs (list scheduling by critical path: Graham 1969, Hu 1961). No thread is idle while a task
 * is ready; threads without one sleep.
 *
 * Tasks within a phase must not wait for one another under pool: whoever builds the graph sees to that. */
#ifndef TS_WDL_EXECUTOR_H
#define TS_WDL_EXECUTOR_H

#include "wdl/schedule/graph.h"

typedef enum ts_executor_kind { TS_EXECUTOR_INLINE, TS_EXECUTOR_POOL, TS_EXECUTOR_COST_MODEL } ts_executor_kind;
extern const char *const ts_executor_names[];

typedef struct ts_executor ts_executor;

/* `graph` belongs to the caller, is finished, and outlives the executor. `pool` may be shared with others that do not
 * work at the same time. Errors: TS_ENOMEM. */
int32_t ts_executor_create(ts_executor_kind kind, ts_pool *pool, ts_graph *graph, ts_executor **out, ts_err err);
void ts_executor_destroy(ts_executor *executor); /* NULL is accepted */

/* Runs all tasks once. kind_ns[k] grows by the wall time that went into tasks of kind k; where kinds overlap, the wall
 * time is divided in the proportion of their tasks' times. */
void ts_executor_run(ts_executor *executor, void *context, uint64_t *kind_ns, uint32_t kinds);
/* Runs until costs are taken as known. */
#define TS_EXECUTOR_LEARNS 16u
/* Whether the schedule rests on measured costs by now. */
bool ts_executor_knows_costs(const ts_executor *executor);

#endif
