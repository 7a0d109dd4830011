/* step_parts.c - rows of the parts of a step; see step_parts.h. */
#include "simulator/step_parts.h"

#define KEY_BYTES 8.0 /* a key on the wire */

/* Whether rows of the table come up to the first tier when they are used. */
static bool promotes(const ts_sim *sim, const ts_sim_table *table) { return sim->promote && !table->in_place; }

ts_sim_rows ts_sim_slice(const ts_sim_context *c, uint32_t step, uint32_t t, uint32_t slices) {
  const ts_sim *sim = c->sim;
  const ts_sim_table *table = &sim->tables[t];
  ts_sim_rows r = {.lookups = table->lookups / slices};
  for (uint32_t i = 0; i < sim->tier_count; i++) {
    double share = table->all > 0 ? table->in_tier[i] / table->all : 0;
    /* Rows of a lower tier come and go one by one: their number is spread like a count. */
    double variance = i == 0 ? table->variance * share : table->in_tier[i];
    double all = ts_sim_spread(c, table->distinct * share, TS_MIN(variance, table->distinct * share), step, i, t);
    r.in_tier[i] = all / slices;
    r.distinct += r.in_tier[i];
  }
  return r;
}

ts_sim_rows ts_sim_share(const ts_sim_context *c, uint32_t step, uint32_t worker, uint32_t t) {
  const ts_sim *sim = c->sim;
  const ts_sim_table *table = &sim->tables[t];
  double servers = sim->servers, missing = 0;
  ts_sim_rows r = {.lookups = table->lookups / servers};
  r.distinct = ts_sim_spread(c, table->distinct, table->variance, step, worker, t) / servers;
  if (!promotes(sim, table)) { /* rows stay where they are, for every worker */
    for (uint32_t i = 0; i < sim->tier_count; i++)
      r.in_tier[i] = table->all > 0 ? r.distinct * table->in_tier[i] / table->all : 0;
    return r;
  }
  /* A row that is brought up for one worker is there for the others: misses count once in all batches. */
  for (uint32_t i = 1; i < sim->tier_count; i++) {
    double mean = table->in_tier[i] / sim->workers;
    r.in_tier[i] = ts_sim_spread(c, mean, mean, step, worker + sim->workers * i, t) / servers;
    missing += r.in_tier[i];
  }
  r.in_tier[0] = r.distinct - TS_MIN(missing, r.distinct);
  return r;
}

void ts_sim_bring_up(ts_sim_context *c, ts_sim_work *w, const ts_sim_table *table, const ts_sim_rows *r, bool read_again) {
  for (uint32_t t = 1; t < c->sim->tier_count && !table->in_place; t++) {
    w->spec.work += (uint64_t)(r->in_tier[t] * (double)c->sim->miss_ps);
    if (read_again) ts_sim_row_access(c, w, t, false, r->in_tier[t], table->row_bytes);
    ts_sim_row_access(c, w, 0, true, r->in_tier[t], table->row_bytes);
  }
}

void ts_sim_push_down(ts_sim_context *c, ts_sim_work *w, const ts_sim_table *table, const ts_sim_rows *r) {
  uint32_t tiers = c->sim->tier_count;
  if (!c->sim->trains || table->in_place) return; /* what did not change is still below */
  for (uint32_t t = 0; t + 1 < tiers; t++) {
    double leaving = 0;
    for (uint32_t below = t + 1; below < tiers; below++) leaving += r->in_tier[below];
    ts_sim_row_access(c, w, t, false, leaving, table->row_bytes);
    ts_sim_row_access(c, w, t + 1, true, leaving, table->row_bytes);
  }
}

bool ts_sim_prefetches(const ts_sim *sim) { return sim->prefetch && sim->promote && sim->ahead > 0; }

/* Core time of a row, with what it waits for the other threads that work at the same memory. */
static double row_ps(const ts_sim *sim, uint64_t alone_ps) {
  const uint32_t threads = sim->servers > 0 ? TS_MIN(sim->cores, sim->workers) : sim->cores;
  return (double)alone_ps + (double)(threads - 1) * (double)sim->contend_ps;
}

void ts_sim_lookup_part(ts_sim_context *c, ts_sim_work *w, const ts_sim_table *table, const ts_sim_rows *r) {
  const ts_sim *sim = c->sim;
  w->spec.work += (uint64_t)(r->lookups * (double)sim->key_ps + r->distinct * row_ps(sim, sim->row_ps));
  if (sim->activations) ts_sim_row_access(c, w, 0, true, r->lookups, table->value_bytes);
  if (!promotes(sim, table)) {
    for (uint32_t t = 0; t < sim->tier_count; t++)
      ts_sim_row_access(c, w, t, false, r->in_tier[t], table->value_bytes);
    return;
  }
  /* Which rows stay is decided by which were used: whoever looks a row up says so. */
  if (sim->tier_count > 1)
    w->spec.work += (uint64_t)(r->lookups * (double)sim->track_ps + r->distinct * (double)sim->upkeep_ps);
  if (!ts_sim_prefetches(sim)) ts_sim_bring_up(c, w, table, r, true);
  ts_sim_row_access(c, w, 0, false, r->distinct, table->value_bytes);
  if (sim->background == 0) ts_sim_push_down(c, w, table, r);
}

/* Rows that are changed where they lie. A cached store reads the lines that it writes, so its figure has that in it; past
 * the caches, and of a disk, they are read first. */
static void change_rows(ts_sim_context *c, ts_sim_work *w, uint32_t t, double rows, uint32_t bytes) {
  const ts_sim_tier *tier = &c->sim->tier[t];
  bool reads = c->sim->memory_mode.on || tier->write != TS_MEDIA_WRITE_CACHED || tier->depth > 1;
  if (reads) ts_sim_row_access(c, w, t, false, rows, bytes);
  ts_sim_row_access(c, w, t, true, rows, bytes);
}

void ts_sim_update_part(ts_sim_context *c, ts_sim_work *w, const ts_sim_table *table, const ts_sim_rows *r, double flushed) {
  const ts_sim *sim = c->sim;
  if (sim->trains)
    w->spec.work += (uint64_t)(r->lookups * (double)sim->key_ps + r->distinct * row_ps(sim, sim->update_ps));
  if (sim->trains && sim->activations) ts_sim_row_access(c, w, 0, false, r->lookups, table->value_bytes);
  for (uint32_t t = 0; t < sim->tier_count && sim->trains; t++) {
    double here = promotes(sim, table) ? (t == 0 ? r->distinct : 0) : r->in_tier[t];
    change_rows(c, w, t, here, table->row_bytes);
  }
  if (flushed > 0) ts_sim_row_access(c, w, sim->tier_count - 1, true, flushed, table->row_bytes);
}

static uint64_t locked_ps(const ts_sim *sim, double rows) {
  return (uint64_t)(rows * (double)sim->lock_ps * (1 + sim->lock_contention * (sim->workers - 1)) + 0.5);
}

/* Keeping in order what one worker brings to one server: a row that several workers touch is put in order once. */
static uint64_t kept_ps(const ts_sim *sim) {
  double rows = 0;
  for (uint32_t t = 0; t < sim->table_count; t++) rows += sim->tables[t].all;
  return (uint64_t)(rows / sim->workers / sim->servers * (double)sim->upkeep_ps + 0.5);
}

double ts_sim_pull_part(ts_sim_context *c, ts_sim_work *w, uint32_t step, uint32_t worker, uint32_t lock) {
  const ts_sim *sim = c->sim;
  double rows = 0, bytes = 0;
  uint64_t misses = 0;
  for (uint32_t t = 0; t < sim->table_count; t++) {
    const ts_sim_table *table = &sim->tables[t];
    ts_sim_rows s = ts_sim_share(c, step, worker, t);
    rows += s.distinct;
    bytes += s.distinct * table->value_bytes;
    w->spec.work += (uint64_t)(s.distinct * row_ps(sim, sim->row_ps));
    if (!promotes(sim, table) || sim->memory_mode.on) {
      for (uint32_t i = 0; i < sim->tier_count && !sim->memory_mode.on; i++)
        ts_sim_row_access(c, w, i, false, s.in_tier[i], table->value_bytes);
      if (sim->memory_mode.on) ts_sim_row_access(c, w, 0, false, s.distinct, table->value_bytes);
      continue;
    }
    if (sim->tier_count > 1) w->spec.work += (uint64_t)(s.distinct * (double)sim->track_ps); /* a request has a key once */
    uint64_t before = w->spec.work;
    ts_sim_row_access(c, w, 0, false, s.in_tier[0], table->value_bytes);
    if (sim->tier_count > 1) before = w->spec.work; /* what the first of several tiers answers is no miss */
    for (uint32_t i = 1; i < sim->tier_count; i++)
      ts_sim_row_access(c, w, i, false, s.in_tier[i], sim->gap ? table->value_bytes : table->row_bytes);
    if (!sim->gap) {
      ts_sim_bring_up(c, w, table, &s, false);
      ts_sim_push_down(c, w, table, &s);
    }
    misses += w->spec.work - before;
  }
  /* The kernel's work: faults stop the request that meets them, also hint faults, which move their page up. */
  w->spec.work += (uint64_t)(sim->fault_count * sim->fault_ps / sim->workers / sim->servers);
  if (sim->migrate_count > 0 && sim->tier_count > 1)
    ts_sim_pages_up(c, w, sim->migrate_count / 2 / sim->workers / sim->servers);
  ts_sim_turn(w, lock, locked_ps(sim, rows) + (sim->gap ? 0 : kept_ps(sim) + (sim->lock_misses ? misses : 0)));
  return bytes;
}

void ts_sim_push_part(ts_sim_context *c, ts_sim_work *w, uint32_t step, uint32_t worker, uint32_t lock) {
  const ts_sim *sim = c->sim;
  double rows = 0;
  uint64_t accesses = 0;
  for (uint32_t t = 0; t < sim->table_count && sim->trains; t++) {
    const ts_sim_table *table = &sim->tables[t];
    ts_sim_rows s = ts_sim_share(c, step, worker, t);
    rows += s.distinct;
    w->spec.work += (uint64_t)(s.distinct * row_ps(sim, sim->update_ps));
    uint64_t before = w->spec.work;
    for (uint32_t i = 0; i < sim->tier_count; i++) {
      double here = promotes(sim, table) || sim->memory_mode.on ? (i == 0 ? s.distinct : 0) : s.in_tier[i];
      change_rows(c, w, i, here, table->row_bytes);
    }
    accesses += w->spec.work - before;
    double flushed = sim->flush_rows / sim->workers / sim->servers / sim->table_count;
    ts_sim_row_access(c, w, sim->tier_count - 1, true, flushed, table->row_bytes);
  }
  if (!sim->gap) ts_sim_turn(w, lock, locked_ps(sim, rows) + (sim->lock_misses && sim->tier_count == 1 ? accesses : 0));
}

void ts_sim_gap_part(ts_sim_context *c, ts_sim_work *w, uint32_t step, uint32_t worker) {
  const ts_sim *sim = c->sim;
  for (uint32_t t = 0; t < sim->table_count; t++) {
    ts_sim_rows s = ts_sim_share(c, step, worker, t);
    ts_sim_bring_up(c, w, &sim->tables[t], &s, true);
    ts_sim_push_down(c, w, &sim->tables[t], &s);
  }
  w->spec.work += kept_ps(sim);
}

void ts_sim_pages_up(ts_sim_context *c, ts_sim_work *w, double pages) {
  w->spec.work += (uint64_t)(pages * c->sim->migrate_ps);
  ts_sim_access(c, w, 1, false, pages, c->sim->page_bytes);
  ts_sim_access(c, w, 0, true, pages, c->sim->page_bytes);
}

void ts_sim_pages_down(ts_sim_context *c, ts_sim_work *w, double pages) {
  w->spec.work += (uint64_t)(pages * c->sim->migrate_ps);
  ts_sim_access(c, w, 0, false, pages, c->sim->page_bytes);
  ts_sim_access(c, w, 1, true, pages, c->sim->page_bytes);
}

uint64_t ts_sim_read_ps(const ts_sim *sim) {
  double keys = 0;
  for (uint32_t t = 0; t < sim->table_count; t++) keys += sim->tables[t].lookups;
  return sim->parse_ps + (uint64_t)(keys * (double)sim->key_ps);
}

double ts_sim_asked_bytes(const ts_sim *sim) {
  double keys = 0;
  for (uint32_t t = 0; t < sim->table_count; t++) keys += sim->tables[t].distinct;
  return keys * KEY_BYTES;
}

double ts_sim_pushed_bytes(const ts_sim *sim) {
  double bytes = 0;
  for (uint32_t t = 0; t < sim->table_count && sim->trains; t++)
    bytes += sim->tables[t].distinct * (sim->tables[t].value_bytes + KEY_BYTES);
  return bytes;
}
