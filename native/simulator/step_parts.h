/* step_parts.h - what the parts of a step touch: which rows are read and written in which tier, and the core time beside.
 * The engine puts these parts on its timeline with seeded counts of rows; step_cost adds them up with expected ones.
 * Internal to simulator/. */
#ifndef TS_SIMULATOR_STEP_PARTS_H
#define TS_SIMULATOR_STEP_PARTS_H

#include "simulator/work.h"

/* Rows of one table in one step that one task has: a slice of the table, or what a server holds of a worker's batch. */
typedef struct ts_sim_rows {
  double distinct, in_tier[TS_SIM_TIERS], lookups;
} ts_sim_rows;

/* One host: a slice of table t. */
ts_sim_rows ts_sim_slice(const ts_sim_context *c, uint32_t step, uint32_t t, uint32_t slices);
/* Servers: the part of one worker's rows of table t that one server holds. */
ts_sim_rows ts_sim_share(const ts_sim_context *c, uint32_t step, uint32_t worker, uint32_t t);

/* Rows of lower tiers come up to the first, with read_again also out of where they are. */
void ts_sim_bring_up(ts_sim_context *c, ts_sim_work *w, const ts_sim_table *table, const ts_sim_rows *r, bool read_again);
/* As many rows leave each tier as came up through it. */
void ts_sim_push_down(ts_sim_context *c, ts_sim_work *w, const ts_sim_table *table, const ts_sim_rows *r);

/* Parts of a step of one host; lookups bring rows up and, without background threads, push others down. */
bool ts_sim_prefetches(const ts_sim *sim);
void ts_sim_lookup_part(ts_sim_context *c, ts_sim_work *w, const ts_sim_table *table, const ts_sim_rows *r);
void ts_sim_update_part(ts_sim_context *c, ts_sim_work *w, const ts_sim_table *table, const ts_sim_rows *r, double flushed);

/* Parts of a step at one server, for one worker. Bytes of the answer to a pull; the lock is a resource. */
double ts_sim_pull_part(ts_sim_context *c, ts_sim_work *w, uint32_t step, uint32_t worker, uint32_t lock);
void ts_sim_push_part(ts_sim_context *c, ts_sim_work *w, uint32_t step, uint32_t worker, uint32_t lock);
void ts_sim_gap_part(ts_sim_context *c, ts_sim_work *w, uint32_t step, uint32_t worker);

/* Pages that NUMA balancing moves: up by whoever touches them (the hint fault moves the page before it returns), down by a
 * thread of the kernel's own. */
void ts_sim_pages_up(ts_sim_context *c, ts_sim_work *w, double pages);
void ts_sim_pages_down(ts_sim_context *c, ts_sim_work *w, double pages);

/* With servers a worker's batch is read and its duplicates are found before it asks: core time of both. */
uint64_t ts_sim_read_ps(const ts_sim *sim);

/* Bytes on the wire: what one worker asks all servers for, and what it pushes to them. */
double ts_sim_asked_bytes(const ts_sim *sim);
double ts_sim_pushed_bytes(const ts_sim *sim);

#endif
