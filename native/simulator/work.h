/* work.h - turns rows into core time and turns on media; shared by the two shapes of a step. Internal to simulator/. */
#ifndef TS_SIMULATOR_WORK_H
#define TS_SIMULATOR_WORK_H

#include "simulator/access_cost.h"

/* The media of one machine. */
typedef struct ts_sim_memory {
  uint32_t read[TS_SIM_TIERS], write[TS_SIM_TIERS]; /* resources; equal where both share a bus */
} ts_sim_memory;

/* A run under way. */
typedef struct ts_sim_context {
  const ts_sim *sim;
  ts_sim_outcome *out;
  ts_timeline *line;
  bool counted;  /* the step counts */
  bool expected; /* counts of rows are expected ones, without spread */
  double split;  /* expected: parts that a drawn count would be shared out to */
  ts_access_costs costs;
} ts_sim_context;

/* Whether reads and writes of a tier take turns of their own. */
bool ts_sim_full_duplex(const ts_sim_tier *tier);
ts_sim_memory ts_sim_add_memory(ts_sim_context *c, uint32_t machine, uint32_t machines);

/* Work that grows by accesses: core time of the one who does it and turns on the media. */
typedef struct ts_sim_work {
  ts_line_spec spec;
  uint32_t threads; /* that do such accesses at the same time */
  const ts_sim_memory *memory;
  uint64_t read_ps[TS_SIM_TIERS], write_ps[TS_SIM_TIERS]; /* of the media, as if each were alone */
} ts_sim_work;

ts_sim_work ts_sim_begin(ts_sim_kind kind, uint32_t step, uint32_t actor, uint32_t pool, uint32_t threads,
                         const ts_sim_memory *memory);
void ts_sim_turn(ts_sim_work *work, uint32_t resource, uint64_t ps);
/* `rows` random accesses of `bytes` in a tier. */
void ts_sim_access(ts_sim_context *c, ts_sim_work *work, uint32_t tier, bool write, double rows, uint32_t bytes);
/* The same of rows that may lie behind the DRAM cache of Memory Mode: every row access goes through here. */
void ts_sim_row_access(ts_sim_context *c, ts_sim_work *work, uint32_t tier, bool write, double rows, uint32_t bytes);
/* Adds what reads and writes that are on their way together cost each other; once, when all accesses are in. */
void ts_sim_mix(ts_sim_context *c, ts_sim_work *work);
/* Adds the task, mixed. */
uint32_t ts_sim_end(ts_sim_context *c, ts_sim_work *work);

/* `mean` with a seeded spread: rounded to a whole number, never below 0; where counts are expected ones, `mean`. */
double ts_sim_spread(const ts_sim_context *c, double mean, double variance, uint32_t step, uint32_t actor, uint32_t table);

/* Time of the dense part of a worker's step: dense_ps on average, with `dense_spread`; where counts are expected ones, that of
 * the slowest worker on average. */
uint64_t ts_sim_dense_ps(const ts_sim_context *c, uint32_t step, uint32_t worker);
/* The same of rest_ps. */
uint64_t ts_sim_rest_ps(const ts_sim_context *c, uint32_t step, uint32_t worker);

int32_t ts_sim_run_host(ts_sim_context *c, ts_err err);
int32_t ts_sim_run_servers(ts_sim_context *c, ts_err err);

#endif
