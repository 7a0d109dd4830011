/* step_cost.h - what a training step costs, without running it: the expected rows of its parts (step_parts.h), their costs
 * (access_cost.h), and the engine's own rules of what waits for what, followed once instead of step after step.
 *
 * One host: a part of a step (lookups of all tables, dense layers, updates, eviction, ...) is timed alone: its tasks on the
 * places of its pool, in their order, with their turns on the media. A part as a whole then starts when what it waits for
 * has ended and its pool and media are free of the parts before. That is a system of maxima of sums; the step costs its
 * period.
 * Servers: every step starts when all of the one before has ended, so one pass over workers and servers is the step; what
 * spills over the end of a step (reading batches, moving pages down) bounds it from below.
 *
 * Without spread and with whole parts as units it is an approximation of the engine; test/models/simulation/step_cost_test.ts
 * compares both. */
#ifndef TS_SIMULATOR_STEP_COST_H
#define TS_SIMULATOR_STEP_COST_H

#include "simulator/step_parts.h"

/* What is held: pools first, media of a machine from TS_HELD_MEDIA on, reads and writes of a tier apart. */
enum {
  TS_HELD_CORES, TS_HELD_STAGE, TS_HELD_BACKGROUND, TS_HELD_ACCELERATOR, TS_HELD_LOCK, TS_HELD_SERVER_IN,
  TS_HELD_SERVER_OUT, TS_HELD_HOST_IN, TS_HELD_HOST_OUT, TS_HELD_MEDIA, TS_HELD = TS_HELD_MEDIA + 2 * TS_SIM_TIERS
};
extern const char *const ts_held_names[TS_HELD_MEDIA];

typedef struct ts_step_costs {
  double step_ps;
  double span_ps[TS_SIM_KINDS];          /* from the start of a part of the step to its end, others beside it */
  double busy_ps[TS_SIM_KINDS][TS_HELD]; /* of one machine, the busiest; all places of a pool together */
  double places[TS_HELD];
  double bytes[TS_SIM_TIERS][2], accesses[TS_SIM_TIERS][2], net_bytes; /* of all machines */
} ts_step_costs;

/* Ids of resources for ts_sim_work: held by nobody, only added up. */
ts_sim_memory ts_step_memory(const ts_sim *sim);

/* Errors: TS_ENOMEM. */
int32_t ts_step_cost_of(const ts_sim *sim, ts_step_costs *out, ts_err err);
int32_t ts_step_cost_host(ts_sim_context *c, ts_step_costs *out, ts_err err);
int32_t ts_step_cost_servers(ts_sim_context *c, ts_step_costs *out, ts_err err);

/* Adds `times` tasks to what a part of a step holds. */
void ts_step_busy(ts_step_costs *out, const ts_sim_work *work, uint32_t pool, double times);
/* A step is never shorter than the time for which anything is held in it. */
void ts_step_bounds(ts_step_costs *out);

#endif
