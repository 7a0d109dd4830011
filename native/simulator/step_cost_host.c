/* step_cost_host.c - the cost of a step on one host; see step_cost.h. The rules and the order of parts are those of
 * step_host.c. */
#include "simulator/step_cost.h"

#include <stdlib.h>
#include <string.h>

#define MOST_STEPS 96u

/* A part of a step by itself: times from its start. */
typedef struct part {
  ts_sim_kind kind;
  uint32_t pool, tasks;
  double end;                           /* of the last task */
  double mean;                          /* until when a place is held, on average */
  double turn[TS_HELD], turned[TS_HELD]; /* how long media are held, and until when */
  double first_end, first_turn[TS_HELD]; /* the same of the tasks that start at once, if others follow */
  double first_done, last_alone;         /* when the first task is done; the last one's time by itself */
} part;

typedef struct model {
  ts_sim_context *c;
  ts_step_costs *out;
  ts_sim_memory memory;
  uint32_t slices, tasks;
  double *place, *done, *started; /* of a pool; of tasks */
  part parse, bring, lookup, evict, up, down, faults, dense, update;
  part evict_late; /* eviction that begins when its lookups are over */
  double free[TS_HELD], even[TS_HELD_MEDIA]; /* when all places of a pool are free, and on average */
  double evicted[MOST_STEPS], ends[MOST_STEPS], parsed[MOST_STEPS];
} model;

/* Times the tasks of a part in their order: each takes the place that is free first. */
static void add_task(model *m, part *p, const ts_sim_work *w, uint32_t places, uint32_t index, double ready) {
  uint32_t at = 0;
  for (uint32_t i = 1; i < places; i++)
    if (m->place[i] < m->place[at]) at = i;
  double start = TS_MAX(ready, m->place[at]), done = start + (double)w->spec.work;
  p->last_alone = (double)w->spec.work;
  for (uint32_t i = 0; i < w->spec.turns; i++) {
    uint32_t r = w->spec.turn[i].resource;
    double ps = (double)w->spec.turn[i].ps;
    p->turned[r] = TS_MAX(start, p->turned[r]) + ps;
    p->turn[r] += ps;
    if (p->tasks < places) p->first_turn[r] += ps;
    p->last_alone = TS_MAX(p->last_alone, ps);
    done = TS_MAX(done, p->turned[r]);
  }
  if (p->tasks == 0) p->first_done = done;
  p->mean += (done - m->place[at]) / places;
  if (p->tasks < places) p->first_end = TS_MAX(p->first_end, done);
  m->place[at] = done;
  m->done[index] = done;
  p->end = TS_MAX(p->end, done);
  p->tasks++;
  ts_step_busy(m->out, w, p->pool, 1);
}

static void begin_part(model *m, part *p, ts_sim_kind kind, uint32_t pool) {
  memset(p, 0, sizeof *p);
  p->kind = kind;
  p->pool = pool;
  memset(m->place, 0, (size_t)m->out->places[pool] * sizeof *m->place);
}

/* A part of which every slice of every table is a task. */
typedef void fill_task(model *m, ts_sim_work *w, const ts_sim_table *table, const ts_sim_rows *r);
static void bring(model *m, ts_sim_work *w, const ts_sim_table *t, const ts_sim_rows *r) { ts_sim_bring_up(m->c, w, t, r, true); }
static void evict(model *m, ts_sim_work *w, const ts_sim_table *t, const ts_sim_rows *r) { ts_sim_push_down(m->c, w, t, r); }
static void look_up(model *m, ts_sim_work *w, const ts_sim_table *t, const ts_sim_rows *r) { ts_sim_lookup_part(m->c, w, t, r); }
static void update(model *m, ts_sim_work *w, const ts_sim_table *t, const ts_sim_rows *r) {
  ts_sim_update_part(m->c, w, t, r, t->all > 0 ? m->c->sim->flush_rows / m->tasks : 0);
}

static void part_of_tables(model *m, part *p, ts_sim_kind kind, uint32_t pool, uint32_t threads, fill_task *fill,
                           const part *after) {
  uint32_t places = (uint32_t)m->out->places[pool];
  begin_part(m, p, kind, pool);
  if (after != NULL) { /* each task follows that one's, and its turns come after all of that one's */
    memcpy(m->started, m->done, m->tasks * sizeof *m->done);
    memcpy(p->turned, after->turned, sizeof p->turned);
  }
  for (uint32_t t = 0; t < m->c->sim->table_count; t++) {
    ts_sim_rows r = ts_sim_slice(m->c, 0, t, m->slices);
    ts_sim_work w = ts_sim_begin(kind, 0, t, pool, threads, &m->memory);
    fill(m, &w, &m->c->sim->tables[t], &r);
    ts_sim_mix(m->c, &w);
    for (uint32_t s = 0; s < m->slices; s++) {
      uint32_t index = t * m->slices + s;
      add_task(m, p, &w, places, index, after == NULL ? 0 : m->started[index]);
    }
    for (uint32_t i = 0; i < m->c->sim->tier_count; i++)
      for (uint32_t write = 0; write < 2; write++) {
        m->out->bytes[i][write] += m->c->out->bytes[i][write] * m->slices;
        m->out->accesses[i][write] += m->c->out->accesses[i][write] * m->slices;
        m->c->out->bytes[i][write] = m->c->out->accesses[i][write] = 0;
      }
  }
}

static void add_parts(model *m) {
  ts_sim_context *c = m->c;
  const ts_sim *sim = c->sim;
  uint32_t looking = TS_MIN(sim->cores, m->tasks);
  ts_sim_work w = ts_sim_begin(TS_SIM_PARSE, 0, 0, 0, 1, &m->memory);
  w.spec.work = sim->parse_ps;
  begin_part(m, &m->parse, TS_SIM_PARSE, sim->ahead > 0 ? TS_HELD_STAGE : TS_HELD_CORES);
  add_task(m, &m->parse, &w, 1, 0, 0);
  if (ts_sim_prefetches(sim))
    part_of_tables(m, &m->bring, TS_SIM_LOOKUP, TS_HELD_STAGE, sim->stage_threads, bring, NULL);
  part_of_tables(m, &m->lookup, TS_SIM_LOOKUP, TS_HELD_CORES, looking, look_up, NULL);
  if (sim->promote && sim->background > 0) {
    part_of_tables(m, &m->evict, TS_SIM_EVICTION, TS_HELD_BACKGROUND, sim->background, evict, &m->lookup);
    ts_step_costs counted = *m->out; /* the same work, timed another way, and counted once */
    part_of_tables(m, &m->evict_late, TS_SIM_EVICTION, TS_HELD_BACKGROUND, sim->background, evict, NULL);
    *m->out = counted;
  }
  double moved = sim->tier_count < 2 ? 0 : sim->migrate_count / 2;
  begin_part(m, &m->up, TS_SIM_MIGRATION, TS_HELD_CORES);
  for (uint32_t core = 0; core < sim->cores && moved > 0; core++) {
    w = ts_sim_begin(TS_SIM_MIGRATION, 0, core, 0, sim->cores, &m->memory);
    ts_sim_pages_up(c, &w, moved / sim->cores);
    ts_sim_mix(c, &w);
    add_task(m, &m->up, &w, sim->cores, 0, 0);
  }
  begin_part(m, &m->down, TS_SIM_MIGRATION, TS_HELD_BACKGROUND);
  w = ts_sim_begin(TS_SIM_MIGRATION, 0, 0, 0, 1, &m->memory);
  if (moved > 0) ts_sim_pages_down(c, &w, moved);
  ts_sim_mix(c, &w);
  if (moved > 0) add_task(m, &m->down, &w, 1, 0, 0);
  begin_part(m, &m->faults, TS_SIM_FAULTS, TS_HELD_CORES);
  w = ts_sim_begin(TS_SIM_FAULTS, 0, 0, 0, 1, &m->memory);
  w.spec.work = (uint64_t)(sim->fault_count * sim->fault_ps / sim->cores);
  if (sim->fault_count > 0) add_task(m, &m->faults, &w, 1, 0, 0);
  begin_part(m, &m->dense, TS_SIM_DENSE, sim->accelerator ? TS_HELD_ACCELERATOR : TS_HELD_CORES);
  w = ts_sim_begin(TS_SIM_DENSE, 0, 0, 0, 1, &m->memory);
  w.spec.work = ts_sim_dense_ps(c, 0, 0) + sim->rest_ps;
  uint32_t parts = sim->accelerator ? 1 : sim->cores;
  for (uint32_t core = 0; core < parts; core++) add_task(m, &m->dense, &w, parts, 0, 0);
  part_of_tables(m, &m->update, TS_SIM_UPDATE, TS_HELD_CORES, looking, update, NULL);
  for (uint32_t i = 0; i < sim->tier_count; i++) /* pages, which no table has */
    for (uint32_t write = 0; write < 2; write++) {
      m->out->bytes[i][write] += c->out->bytes[i][write];
      m->out->accesses[i][write] += c->out->accesses[i][write];
    }
}

/* Puts a part where it may start. `behind`: the same part timed beside one that began at `ready`; it ends no sooner than that
 * says. Returns its end. */
static double put_behind(model *m, const part *p, double ready, const part *behind) {
  if (p->tasks == 0) return ready;
  uint32_t places = (uint32_t)m->out->places[p->pool];
  /* A part of more tasks than places fills those that are free before the last one. */
  double even = TS_MAX(ready, m->even[p->pool]), late = 0;
  double begin = p->tasks > places ? even : TS_MAX(ready, m->free[p->pool]);
  for (uint32_t r = TS_HELD_MEDIA; r < TS_HELD && p->tasks > places; r++) /* what the first wait for a medium, all do */
    if (p->first_turn[r] > 0) late = TS_MAX(late, m->free[r] + p->first_turn[r] - begin - p->first_end);
  double end = begin + p->end + late, mean = even + late + p->mean;
  if (behind != NULL) {
    end = TS_MAX(end, ready + behind->end);
    mean = TS_MAX(mean, ready + behind->mean);
  }
  for (uint32_t r = TS_HELD_MEDIA; r < TS_HELD; r++) {
    if (p->turn[r] <= 0) continue;
    m->free[r] = TS_MAX(begin + late + p->turned[r], TS_MAX(begin, m->free[r]) + p->turn[r]);
    if (behind != NULL) m->free[r] = TS_MAX(m->free[r], ready + behind->turned[r]);
    end = TS_MAX(end, m->free[r]);
  }
  m->even[p->pool] = TS_MIN(end, mean);
  m->free[p->pool] = TS_MAX(end, m->free[p->pool]);
  m->out->span_ps[p->kind] = end - begin;
  return end;
}

static double put(model *m, const part *p, double ready) { return put_behind(m, p, ready, NULL); }

static double end_of(const double *of, uint32_t step, uint32_t back) {
  return step < back ? 0 : of[step - back];
}

static double put_parse(model *m, uint32_t step) {
  const ts_sim *sim = m->c->sim;
  uint32_t held = sim->async ? 2 : 1;
  double ready = end_of(m->ends, step, sim->ahead > 0 ? sim->ahead + held : held), end;
  if (sim->ahead > 0 && !ts_sim_prefetches(sim)) {
    /* Threads of the stage read a batch each. */
    end = TS_MAX(ready, end_of(m->parsed, step, sim->stage_threads)) + m->parse.end;
    m->out->span_ps[TS_SIM_PARSE] = m->parse.end;
  } else {
    end = put(m, &m->parse, ready);
    end = put(m, &m->bring, end);
  }
  return m->parsed[step] = end;
}

static double put_lookups(model *m, uint32_t step, double after) {
  const ts_sim *sim = m->c->sim;
  if (m->parsed[step] < 0) put_parse(m, step);
  uint32_t lag = TS_MAX(sim->lag, 1u);
  /* Each lookup waits for the eviction of its own rows, in the same order: the first one's is over before the last one's. */
  double evicted = end_of(m->evicted, step, lag), first = evicted - (m->evict.end - m->evict.first_done);
  double end = put(m, &m->lookup, TS_MAX(TS_MAX(m->parsed[step], after), first));
  if (evicted > 0) end = TS_MAX(end, evicted + m->lookup.last_alone);
  m->free[TS_HELD_CORES] = TS_MAX(m->free[TS_HELD_CORES], end);
  /* Each eviction follows its own lookups; what held those up held up all of them. */
  m->evicted[step] = put_behind(m, &m->evict_late, end - m->lookup.end, &m->evict);
  return end;
}

static double period(model *m) {
  const ts_sim *sim = m->c->sim;
  uint32_t steps = MOST_STEPS - 2, counted = 24, reach = sim->async ? 2 : 1;
  steps = TS_MIN(steps, counted + 8 + TS_MAX(sim->lag, sim->ahead));
  for (uint32_t k = 0; k < MOST_STEPS; k++) m->parsed[k] = -1;
  double dense = 0, looked = 0;
  for (uint32_t k = 0; k < steps; k++) {
    double before = end_of(m->ends, k, 1);
    if (!sim->async || k == 0) looked = put_lookups(m, k, before);
    if (sim->ahead > 0) put_parse(m, k + reach);
    double ready = put(m, &m->up, looked);
    put(m, &m->down, looked);
    if (m->up.end > 0) m->out->span_ps[TS_SIM_MIGRATION] = m->up.end;
    ready = put(m, &m->faults, ready);
    double next = 0;
    if (sim->async && sim->accelerator) next = put_lookups(m, k + 1, before);
    dense = put(m, &m->dense, TS_MAX(ready, dense));
    if (sim->async && !sim->accelerator) next = put_lookups(m, k + 1, before);
    m->ends[k] = put(m, &m->update, TS_MAX(dense, TS_MAX(looked, next)));
    looked = next;
  }
  return (m->ends[steps - 1] - m->ends[steps - 1 - counted]) / counted;
}

int32_t ts_step_cost_host(ts_sim_context *c, ts_step_costs *out, ts_err err) {
  const ts_sim *sim = c->sim;
  model *m = calloc(1, sizeof *m);
  uint32_t slices = sim->table_count == 0 ? 1 : (sim->cores + sim->table_count - 1) / sim->table_count;
  uint32_t tasks = sim->table_count * slices, most = TS_MAX(TS_MAX(sim->cores, 256u), TS_MAX(sim->stage_threads, sim->background));
  double *numbers = calloc((size_t)most + 2 * (size_t)tasks + 2, sizeof *numbers);
  if (m == NULL || numbers == NULL) {
    free(m);
    free(numbers);
    return ts_fail(err, TS_ENOMEM, "Cannot say what a step costs: out of memory");
  }
  *m = (model){.c = c, .out = out, .memory = ts_step_memory(sim), .slices = slices, .tasks = tasks};
  m->place = numbers;
  m->done = numbers + most;
  m->started = m->done + tasks + 1;
  out->places[TS_HELD_CORES] = sim->cores;
  out->places[TS_HELD_STAGE] = TS_MAX(sim->stage_threads, 1u);
  out->places[TS_HELD_BACKGROUND] = TS_MAX(sim->background, 1u);
  out->places[TS_HELD_ACCELERATOR] = 1;
  c->split = slices;
  add_parts(m);
  out->step_ps = period(m);
  ts_step_bounds(out);
  free(numbers);
  free(m);
  return TS_OK;
}
