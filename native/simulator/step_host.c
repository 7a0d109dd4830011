/* step_host.c - training steps of one machine whose memory holds the tables; the overlap is that of native/wdl: see
 * engine.h. Tables are tasks of their own, cut into slices where there are more cores than tables, so that every core has
 * work; dense work is cut into one shard a core, as the trainer cuts the batch. */
#include "simulator/step_parts.h"

#include <stdlib.h>
#include <string.h>

/* Of the products of a dense layer (output, gradient of inputs, gradient of weights: equal numbers of operations), the
 * last are tasks of their own: a third of the work. */
#define GRADIENT_PARTS 3u

typedef struct host {
  ts_sim_context *c;
  ts_sim_memory memory;
  uint32_t cores, stage, background, accelerator, slices, tasks;
  uint32_t *lookup, *update; /* of the slices, last step that has them */
  uint32_t *lookup_next;
  uint32_t *evicted; /* [lag][tasks]: ring of eviction tasks */
  ts_sim_rows *work; /* of the step whose lookups were added last */
  ts_sim_rows *update_work;
} host;

static ts_sim_rows rows_of(const host *h, uint32_t step, uint32_t index) {
  return ts_sim_slice(h->c, step, index / h->slices, h->slices);
}

/* Reads a batch and, if asked, brings its rows up. Ahead of its step it is added one step early, so that its turns come
 * before those of the updates that it overlaps with. */
static uint32_t add_parse(host *h, uint32_t step, const uint32_t *ends) {
  const ts_sim *sim = h->c->sim;
  bool ahead = sim->ahead > 0;
  uint32_t held = sim->async ? 2 : 1, slots = sim->ahead + held; /* a batch read ahead waits for its slot */
  if (ahead && step >= slots) ts_timeline_wait(h->c->line, ends[step - slots]);
  if (!ahead && step > held - 1) ts_timeline_wait(h->c->line, ends[step - held]);
  ts_sim_work w = ts_sim_begin(TS_SIM_PARSE, step, 0, ahead ? h->stage : h->cores, 1, &h->memory);
  w.spec.work = sim->parse_ps;
  uint32_t parsed = ts_sim_end(h->c, &w);
  if (!ts_sim_prefetches(sim)) return parsed;
  uint32_t joined = TS_NONE;
  for (uint32_t i = 0; i < h->tasks; i++) {
    ts_sim_rows r = rows_of(h, step, i);
    ts_sim_work bring = ts_sim_begin(TS_SIM_LOOKUP, step, i, h->stage, sim->stage_threads, &h->memory);
    ts_sim_bring_up(h->c, &bring, &sim->tables[i / h->slices], &r, true);
    ts_timeline_wait(h->c->line, parsed);
    joined = ts_sim_end(h->c, &bring);
  }
  ts_timeline_wait(h->c->line, parsed);
  for (uint32_t i = 0; i < h->tasks && joined != TS_NONE; i++) ts_timeline_wait(h->c->line, joined - i);
  return ts_timeline_join(h->c->line, TS_SIM_PARSE, step, 0);
}

/* Lookups of a step; those of the step before must have read what they need. */
static void add_lookups(host *h, uint32_t step, uint32_t parsed, uint32_t after) {
  const ts_sim *sim = h->c->sim;
  uint32_t ring = step % TS_MAX(sim->lag, 1u);
  for (uint32_t i = 0; i < h->tasks; i++) {
    h->work[i] = rows_of(h, step, i);
    ts_sim_work w = ts_sim_begin(TS_SIM_LOOKUP, step, i, h->cores, TS_MIN(sim->cores, h->tasks), &h->memory);
    ts_sim_lookup_part(h->c, &w, &sim->tables[i / h->slices], &h->work[i]);
    ts_timeline_wait(h->c->line, parsed);
    ts_timeline_wait(h->c->line, after);
    if (sim->background > 0) ts_timeline_wait(h->c->line, h->evicted[ring * h->tasks + i]);
    h->lookup_next[i] = ts_sim_end(h->c, &w);
  }
  if (!sim->promote || sim->background == 0) return;
  for (uint32_t i = 0; i < h->tasks; i++) {
    ts_sim_work w = ts_sim_begin(TS_SIM_EVICTION, step, i, h->background, sim->background, &h->memory);
    ts_sim_push_down(h->c, &w, &sim->tables[i / h->slices], &h->work[i]);
    ts_timeline_wait(h->c->line, h->lookup_next[i]);
    h->evicted[ring * h->tasks + i] = ts_sim_end(h->c, &w);
  }
}

static uint32_t add_migration(host *h, uint32_t step, uint32_t before) {
  const ts_sim *sim = h->c->sim;
  double moved = sim->migrate_count / 2;
  if (moved <= 0 || sim->tier_count < 2) return before;
  uint32_t last = TS_NONE;
  for (uint32_t core = 0; core < sim->cores; core++) {
    ts_sim_work up = ts_sim_begin(TS_SIM_MIGRATION, step, core, h->cores, sim->cores, &h->memory);
    ts_sim_pages_up(h->c, &up, moved / sim->cores);
    ts_timeline_wait(h->c->line, before);
    last = ts_sim_end(h->c, &up);
  }
  for (uint32_t core = 0; core < sim->cores; core++) ts_timeline_wait(h->c->line, last - core);
  uint32_t joined = ts_timeline_join(h->c->line, TS_SIM_MIGRATION, step, 0);
  ts_sim_work down = ts_sim_begin(TS_SIM_MIGRATION, step, sim->cores, h->background, 1, &h->memory);
  ts_sim_pages_down(h->c, &down, moved);
  ts_timeline_wait(h->c->line, before);
  ts_sim_end(h->c, &down);
  return joined;
}

/* The kernel's work: faults stop the step. */
static uint32_t add_kernel(host *h, uint32_t step, uint32_t before) {
  const ts_sim *sim = h->c->sim;
  before = add_migration(h, step, before);
  if (sim->fault_count <= 0) return before;
  ts_timeline_wait(h->c->line, before);
  ts_sim_work w = ts_sim_begin(TS_SIM_FAULTS, step, 0, h->cores, 1, &h->memory);
  /* Faults are met by all cores in turn. */
  w.spec.work = (uint64_t)(sim->fault_count * sim->fault_ps / sim->cores);
  return ts_sim_end(h->c, &w);
}

static uint32_t join_all(host *h, ts_sim_kind kind, uint32_t step, const uint32_t *tasks, uint32_t n) {
  for (uint32_t i = 0; i < n; i++) ts_timeline_wait(h->c->line, tasks[i]);
  return ts_timeline_join(h->c->line, kind, step, 0);
}

static uint32_t add_dense(host *h, uint32_t step, uint32_t looked_up, uint32_t before) {
  const ts_sim *sim = h->c->sim;
  if (sim->accelerator) {
    ts_sim_work w = ts_sim_begin(TS_SIM_DENSE, step, 0, h->accelerator, 1, &h->memory);
    w.spec.work = ts_sim_dense_ps(h->c, step, 0) + ts_sim_rest_ps(h->c, step, 0);
    ts_timeline_wait(h->c->line, looked_up);
    ts_timeline_wait(h->c->line, before);
    return ts_sim_end(h->c, &w);
  }
  uint64_t dense_ps = ts_sim_dense_ps(h->c, step, 0) + ts_sim_rest_ps(h->c, step, 0);
  uint32_t micro = TS_MAX(sim->micro, 1u), shards = TS_NONE, first_gradient = TS_NONE, last = TS_NONE;
  for (uint32_t m = 0; m < micro; m++) {
    for (uint32_t s = 0; s < sim->cores; s++) {
      ts_sim_work w = ts_sim_begin(TS_SIM_DENSE, step, s, h->cores, 1, &h->memory);
      w.spec.work = dense_ps / micro / GRADIENT_PARTS * (GRADIENT_PARTS - 1);
      ts_timeline_wait(h->c->line, looked_up);
      ts_timeline_wait(h->c->line, before);
      last = ts_sim_end(h->c, &w);
    }
    for (uint32_t s = 0; s < sim->cores; s++) ts_timeline_wait(h->c->line, last - s);
    shards = ts_timeline_join(h->c->line, TS_SIM_DENSE, step, 0);
    for (uint32_t s = 0; s < sim->cores; s++) {
      ts_sim_work w = ts_sim_begin(TS_SIM_DENSE, step, s, h->cores, 1, &h->memory);
      w.spec.work = dense_ps / micro / GRADIENT_PARTS;
      ts_timeline_wait(h->c->line, shards);
      last = ts_sim_end(h->c, &w);
      if (first_gradient == TS_NONE) first_gradient = last;
    }
  }
  for (uint32_t s = 0; s < sim->cores; s++) ts_timeline_wait(h->c->line, last - s);
  return ts_timeline_join(h->c->line, TS_SIM_DENSE, step, 0);
}

static void add_updates(host *h, uint32_t step, uint32_t dense, const ts_sim_rows *work) {
  const ts_sim *sim = h->c->sim;
  for (uint32_t i = 0; i < h->tasks; i++) {
    const ts_sim_table *table = &sim->tables[i / h->slices];
    ts_sim_work w = ts_sim_begin(TS_SIM_UPDATE, step, i, h->cores, TS_MIN(sim->cores, h->tasks), &h->memory);
    ts_sim_update_part(h->c, &w, table, &work[i], table->all > 0 ? sim->flush_rows / h->tasks : 0);
    ts_timeline_wait(h->c->line, dense);
    ts_timeline_wait(h->c->line, h->lookup[i]);
    ts_timeline_wait(h->c->line, h->lookup_next[i]); /* with async, those of the next step read first */
    h->update[i] = ts_sim_end(h->c, &w);
  }
}

/* Lookups of a step, at the latest moment that the rules allow; parses the batch if nobody did. */
static void look_up(host *h, uint32_t step, uint32_t *parsed, uint32_t after, const uint32_t *ends) {
  if (parsed[step % 4] == TS_NONE) parsed[step % 4] = add_parse(h, step, ends);
  add_lookups(h, step, parsed[step % 4], after);
  parsed[step % 4] = TS_NONE;
}

static void run(host *h) {
  const ts_sim *sim = h->c->sim;
  /* The last step that counts has lookups of a next one beside it, too. */
  uint32_t last = sim->warmup + sim->steps, steps = last + (sim->async ? 1 : 0), dense = TS_NONE, reach = sim->async ? 2 : 1;
  uint32_t *ends = h->c->out->step_task, parsed[4] = {TS_NONE, TS_NONE, TS_NONE, TS_NONE};
  size_t numbers = h->tasks * sizeof *h->lookup, copied = h->tasks * sizeof *h->work;
  for (uint32_t k = 0; k < steps; k++) {
    h->c->counted = k >= sim->warmup && k < last;
    uint32_t before = k == 0 ? TS_NONE : ends[k - 1];
    if (!sim->async || k == 0) {
      look_up(h, k, parsed, before, ends);
      memcpy(h->lookup, h->lookup_next, numbers);
      memcpy(h->update_work, h->work, copied);
    }
    if (sim->ahead > 0 && k + reach < steps) parsed[(k + reach) % 4] = add_parse(h, k + reach, ends);
    uint32_t ready = add_kernel(h, k, join_all(h, TS_SIM_LOOKUP, k, h->lookup, h->tasks));
    bool next = sim->async && k + 1 < steps;
    /* On the same cores dense work goes first, it is on the longest path; beside an accelerator lookups do. */
    if (next && sim->accelerator) look_up(h, k + 1, parsed, before, ends);
    dense = add_dense(h, k, ready, dense);
    if (next && !sim->accelerator) look_up(h, k + 1, parsed, before, ends);
    add_updates(h, k, dense, h->update_work);
    ends[k] = join_all(h, TS_SIM_UPDATE, k, h->update, h->tasks);
    if (next) {
      memcpy(h->lookup, h->lookup_next, numbers);
      memcpy(h->update_work, h->work, copied);
    }
  }
}

int32_t ts_sim_run_host(ts_sim_context *c, ts_err err) {
  const ts_sim *sim = c->sim;
  host h = {.c = c};
  h.memory = ts_sim_add_memory(c, 0, 1);
  h.cores = ts_timeline_resource(c->line, sim->cores, "cores");
  h.stage = ts_timeline_resource(c->line, TS_MAX(sim->stage_threads, 1u), "stage threads");
  h.background = ts_timeline_resource(c->line, TS_MAX(sim->background, 1u), "background threads");
  h.accelerator = ts_timeline_resource(c->line, 1, "accelerator");
  h.slices = sim->table_count == 0 ? 1 : (sim->cores + sim->table_count - 1) / sim->table_count;
  h.tasks = sim->table_count * h.slices;
  uint32_t lag = TS_MAX(sim->lag, 1u);
  uint32_t *numbers = calloc((size_t)h.tasks * (3 + lag) + 1, sizeof *numbers);
  h.work = calloc(2 * (size_t)h.tasks + 1, sizeof *h.work);
  if (numbers == NULL || h.work == NULL) {
    free(numbers);
    free(h.work);
    return ts_fail(err, TS_ENOMEM, "Cannot simulate: out of memory");
  }
  for (size_t i = 0; i < (size_t)h.tasks * (3 + lag); i++) numbers[i] = TS_NONE;
  h.lookup = numbers;
  h.lookup_next = numbers + h.tasks;
  h.update = numbers + 2 * (size_t)h.tasks;
  h.evicted = numbers + 3 * (size_t)h.tasks;
  h.update_work = h.work + h.tasks;
  run(&h);
  free(numbers);
  free(h.work);
  return c->line->failed ? ts_fail(err, TS_ENOMEM, "Cannot simulate: out of memory") : TS_OK;
}
