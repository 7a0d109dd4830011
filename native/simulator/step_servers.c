/* step_servers.c - training steps of workers that share parameter servers: bursts of pulls, the gap in which workers
 * compute, bursts of pushes; see engine.h. */
#include "simulator/work.h"

#include <stdlib.h>
#include <string.h>

#define KEY_BYTES 8.0 /* a key on the wire */

typedef struct machine {
  ts_sim_memory memory;
  uint32_t cores, background, lock, in, out;
} machine;

typedef struct cluster {
  ts_sim_context *c;
  machine *servers;
  uint32_t *host_in, *host_out, *worker, *stage; /* links of hosts; compute and input of workers */
  uint32_t hosts;
  uint32_t *updated, *pulled, *pushed, *computed, *reduced, *parsed; /* tasks, last step */
} cluster;

static uint64_t wire_ps(const ts_sim *sim, double bytes) {
  return sim->net_bandwidth <= 0 || bytes <= 0 ? 0 : (uint64_t)(bytes / sim->net_bandwidth * 1e12 + 0.5);
}

/* A message holds the sender's line and, as it arrives, the receiver's. */
static uint32_t send(cluster *k, ts_sim_kind kind, uint32_t step, uint32_t actor, uint32_t out, uint32_t in, double bytes,
                     uint32_t after) {
  ts_line_spec spec = {.kind = kind, .step = step, .actor = actor, .pool = TS_NONE, .after = k->c->sim->net_latency_ps};
  uint64_t ps = wire_ps(k->c->sim, bytes);
  spec.turn[spec.turns++] = (ts_turn){out, ps};
  if (in != out) spec.turn[spec.turns++] = (ts_turn){in, ps};
  if (k->c->counted) k->c->out->net_bytes += bytes;
  ts_timeline_wait(k->c->line, after);
  return ts_timeline_add(k->c->line, &spec);
}

/* Rows of one worker's batch that one server holds, by tier. */
typedef struct share {
  double rows, in_tier[TS_SIM_TIERS], missing, value_bytes, keys;
} share;

static share share_of(const cluster *k, uint32_t step, uint32_t worker, uint32_t t) {
  const ts_sim *sim = k->c->sim;
  const ts_sim_table *table = &sim->tables[t];
  double servers = sim->servers;
  share s = {0};
  s.rows = ts_sim_spread(sim, table->distinct, table->variance, step, worker, t) / servers;
  s.keys = table->lookups / servers;
  /* A row that is brought up for one worker is there for the others: misses count once in all batches. */
  for (uint32_t i = 1; i < sim->tier_count; i++) {
    double mean = table->in_tier[i] / sim->workers;
    s.in_tier[i] = ts_sim_spread(sim, mean, mean, step, worker + sim->workers * i, t) / servers;
    s.missing += s.in_tier[i];
  }
  if (s.missing > s.rows) s.missing = s.rows;
  s.in_tier[0] = s.rows - s.missing;
  s.value_bytes = table->value_bytes;
  return s;
}

static void maintain(cluster *k, ts_sim_work *w, const ts_sim_table *table, const share *s, bool read_again) {
  uint32_t tiers = k->c->sim->tier_count;
  for (uint32_t t = 1; t < tiers; t++) {
    if (read_again) ts_sim_row_access(k->c, w, t, false, s->in_tier[t], table->row_bytes);
    ts_sim_row_access(k->c, w, 0, true, s->in_tier[t], table->row_bytes);
  }
  for (uint32_t t = 0; t + 1 < tiers && k->c->sim->trains; t++) { /* what did not change is still below */
    double leaving = 0;
    for (uint32_t below = t + 1; below < tiers; below++) leaving += s->in_tier[below];
    ts_sim_row_access(k->c, w, t, false, leaving, table->row_bytes);
    ts_sim_row_access(k->c, w, t + 1, true, leaving, table->row_bytes);
  }
}

static uint64_t locked_ps(const ts_sim *sim, double rows) {
  return (uint64_t)(rows * (double)sim->lock_ps * (1 + sim->lock_contention * (sim->workers - 1)) + 0.5);
}

/* A server answers a worker's pull. */
static uint32_t serve_pull(cluster *k, uint32_t step, uint32_t worker, uint32_t server, uint32_t asked) {
  const ts_sim *sim = k->c->sim;
  machine *m = &k->servers[server];
  uint32_t threads = TS_MIN(sim->cores, sim->workers);
  ts_sim_work w = ts_sim_begin(TS_SIM_LOOKUP, step, worker, m->cores, threads, &m->memory);
  double rows = 0, bytes = 0;
  uint64_t misses = 0;
  for (uint32_t t = 0; t < sim->table_count; t++) {
    const ts_sim_table *table = &sim->tables[t];
    share s = share_of(k, step, worker, t);
    rows += s.rows;
    bytes += s.rows * s.value_bytes;
    w.spec.work += (uint64_t)(s.rows * (double)sim->row_ps);
    if (!sim->promote || sim->memory_mode.on) {
      for (uint32_t i = 0; i < sim->tier_count && !sim->memory_mode.on; i++)
        ts_sim_row_access(k->c, &w, i, false, s.in_tier[i], table->value_bytes);
      if (sim->memory_mode.on) ts_sim_row_access(k->c, &w, 0, false, s.rows, table->value_bytes);
      continue;
    }
    ts_sim_row_access(k->c, &w, 0, false, s.in_tier[0], table->value_bytes);
    uint64_t before = w.spec.work;
    for (uint32_t i = 1; i < sim->tier_count; i++)
      ts_sim_row_access(k->c, &w, i, false, s.in_tier[i], sim->gap ? table->value_bytes : table->row_bytes);
    if (!sim->gap) maintain(k, &w, table, &s, false);
    misses += w.spec.work - before;
  }
  /* The kernel's work: faults stop the request that meets them, also hint faults, which move their page up. */
  w.spec.work += (uint64_t)(sim->fault_count * sim->fault_ps / sim->workers / sim->servers);
  if (sim->migrate_count > 0 && sim->tier_count > 1) {
    double up = sim->migrate_count / 2 / sim->workers / sim->servers;
    w.spec.work += (uint64_t)(up * sim->migrate_ps);
    ts_sim_access(k->c, &w, 1, false, up, sim->page_bytes);
    ts_sim_access(k->c, &w, 0, true, up, sim->page_bytes);
  }
  if (sim->lock_ps > 0 || sim->lock_misses) {
    uint64_t held = sim->gap ? 0 : locked_ps(sim, rows) + (sim->lock_misses ? misses : 0);
    ts_sim_turn(&w, m->lock, held);
  }
  ts_timeline_wait(k->c->line, asked);
  uint32_t served = ts_sim_end(k->c, &w);
  k->pulled[worker * sim->servers + server] = served;
  return send(k, TS_SIM_PULL, step, worker, m->out, k->host_in[worker / sim->per_host], bytes, served);
}

static void maintain_in_gap(cluster *k, uint32_t step, uint32_t server, uint32_t *maintained) {
  const ts_sim *sim = k->c->sim;
  machine *m = &k->servers[server];
  for (uint32_t worker = 0; worker < sim->workers; worker++) {
    ts_sim_work w = ts_sim_begin(TS_SIM_MAINTENANCE, step, worker, m->background, TS_MAX(sim->background, 1u), &m->memory);
    double rows = 0;
    for (uint32_t t = 0; t < sim->table_count; t++) {
      share s = share_of(k, step, worker, t);
      rows += s.rows;
      maintain(k, &w, &sim->tables[t], &s, true);
    }
    w.spec.work += (uint64_t)(rows * (double)sim->lock_ps);
    for (uint32_t other = 0; other < sim->workers; other++)
      ts_timeline_wait(k->c->line, k->pulled[other * sim->servers + server]); /* every pull has been answered */
    maintained[worker] = ts_sim_end(k->c, &w);
  }
}

/* Pages that the kernel moves down to make room, by a thread of its own, when the pulls have been answered. */
static void demote(cluster *k, uint32_t step, uint32_t server) {
  const ts_sim *sim = k->c->sim;
  if (sim->migrate_count <= 0 || sim->tier_count < 2) return;
  machine *m = &k->servers[server];
  double pages = sim->migrate_count / 2 / sim->servers;
  ts_sim_work w = ts_sim_begin(TS_SIM_MIGRATION, step, server, m->background, 1, &m->memory);
  w.spec.work = (uint64_t)(pages * sim->migrate_ps);
  ts_sim_access(k->c, &w, 0, false, pages, sim->page_bytes);
  ts_sim_access(k->c, &w, 1, true, pages, sim->page_bytes);
  for (uint32_t worker = 0; worker < sim->workers; worker++)
    ts_timeline_wait(k->c->line, k->pulled[worker * sim->servers + server]);
  ts_sim_end(k->c, &w);
}

/* Applies what one worker pushed, when all have. */
static uint32_t update(cluster *k, uint32_t step, uint32_t worker, uint32_t server) {
  const ts_sim *sim = k->c->sim;
  machine *m = &k->servers[server];
  ts_sim_work w = ts_sim_begin(TS_SIM_UPDATE, step, worker, m->cores, TS_MIN(sim->cores, sim->workers), &m->memory);
  double rows = 0;
  for (uint32_t t = 0; t < sim->table_count && sim->trains; t++) {
    const ts_sim_table *table = &sim->tables[t];
    share s = share_of(k, step, worker, t);
    rows += s.rows;
    w.spec.work += (uint64_t)(s.rows * (double)sim->update_ps);
    for (uint32_t i = 0; i < sim->tier_count; i++) {
      double here = sim->promote || sim->memory_mode.on ? (i == 0 ? s.rows : 0) : s.in_tier[i];
      ts_sim_row_access(k->c, &w, i, false, here, table->row_bytes);
      ts_sim_row_access(k->c, &w, i, true, here, table->row_bytes);
    }
    double flushed = sim->flush_rows / sim->workers / sim->servers / sim->table_count;
    ts_sim_row_access(k->c, &w, sim->tier_count - 1, true, flushed, table->row_bytes);
  }
  if (!sim->gap) ts_sim_turn(&w, m->lock, locked_ps(sim, rows));
  for (uint32_t other = 0; other < sim->workers; other++)
    ts_timeline_wait(k->c->line, k->pushed[other * sim->servers + server]);
  return ts_sim_end(k->c, &w);
}

static void pulls(cluster *k, uint32_t step, const uint32_t *ends) {
  const ts_sim *sim = k->c->sim;
  for (uint32_t worker = 0; worker < sim->workers; worker++) {
    if (sim->ahead > 0 && step >= sim->ahead) ts_timeline_wait(k->c->line, ends[step - sim->ahead]);
    if (sim->ahead == 0 && step > 0) ts_timeline_wait(k->c->line, ends[step - 1]);
    ts_sim_work w = ts_sim_begin(TS_SIM_PARSE, step, worker, k->stage[worker], 1, NULL);
    w.spec.work = sim->parse_ps;
    k->parsed[worker] = ts_sim_end(k->c, &w);
  }
  uint32_t *arrived = k->computed; /* what the dense part of a worker waits for */
  for (uint32_t worker = 0; worker < sim->workers; worker++) {
    double keys = 0;
    for (uint32_t t = 0; t < sim->table_count; t++) keys += sim->tables[t].distinct;
    for (uint32_t server = 0; server < sim->servers; server++) {
      ts_timeline_wait(k->c->line, step == 0 ? TS_NONE : ends[step - 1]);
      uint32_t asked = send(k, TS_SIM_PULL, step, worker, k->host_out[worker / sim->per_host], k->servers[server].in,
                            keys * KEY_BYTES / sim->servers, k->parsed[worker]);
      uint32_t answer = serve_pull(k, step, worker, server, asked);
      k->pushed[worker * sim->servers + server] = answer;
    }
    for (uint32_t server = 0; server < sim->servers; server++)
      ts_timeline_wait(k->c->line, k->pushed[worker * sim->servers + server]);
    arrived[worker] = ts_timeline_join(k->c->line, TS_SIM_PULL, step, worker);
  }
}

static uint32_t step(cluster *k, uint32_t number, const uint32_t *ends, uint32_t *maintained) {
  const ts_sim *sim = k->c->sim;
  pulls(k, number, ends);
  for (uint32_t server = 0; server < sim->servers && sim->gap; server++)
    maintain_in_gap(k, number, server, maintained + (size_t)server * sim->workers);
  for (uint32_t server = 0; server < sim->servers; server++) demote(k, number, server);
  for (uint32_t worker = 0; worker < sim->workers; worker++) {
    ts_sim_work w = ts_sim_begin(TS_SIM_DENSE, number, worker, k->worker[worker], 1, NULL);
    w.spec.work = sim->dense_ps;
    ts_timeline_wait(k->c->line, k->computed[worker]);
    k->computed[worker] = ts_sim_end(k->c, &w);
  }
  /* Ring all-reduce between hosts: each sends and receives 2 (n - 1) / n of the weights (Patarasuk and Yuan 2009). */
  double ring = k->hosts < 2 ? 0 : 2.0 * (k->hosts - 1) / k->hosts * sim->allreduce_bytes;
  for (uint32_t host = 0; host < k->hosts; host++) {
    k->reduced[host] = TS_NONE;
    if (ring <= 0) continue;
    for (uint32_t worker = 0; worker < sim->workers; worker++) ts_timeline_wait(k->c->line, k->computed[worker]);
    k->reduced[host] = send(k, TS_SIM_ALLREDUCE, number, host, k->host_out[host], k->host_in[(host + 1) % k->hosts], ring,
                            TS_NONE);
  }
  for (uint32_t worker = 0; worker < sim->workers; worker++) {
    double bytes = 0;
    for (uint32_t t = 0; t < sim->table_count && sim->trains; t++)
      bytes += sim->tables[t].distinct * (sim->tables[t].value_bytes + KEY_BYTES);
    for (uint32_t server = 0; server < sim->servers; server++)
      k->pushed[worker * sim->servers + server] =
          send(k, TS_SIM_PUSH, number, worker, k->host_out[worker / sim->per_host], k->servers[server].in,
               bytes / sim->servers, k->computed[worker]);
  }
  for (uint32_t worker = 0; worker < sim->workers; worker++)
    for (uint32_t server = 0; server < sim->servers; server++) {
      for (uint32_t other = 0; other < sim->workers && sim->gap; other++)
        ts_timeline_wait(k->c->line, maintained[(size_t)server * sim->workers + other]);
      k->updated[worker * sim->servers + server] = update(k, number, worker, server);
    }
  for (uint32_t i = 0; i < sim->workers * sim->servers; i++) ts_timeline_wait(k->c->line, k->updated[i]);
  for (uint32_t host = 0; host < k->hosts; host++) ts_timeline_wait(k->c->line, k->reduced[host]);
  return ts_timeline_join(k->c->line, TS_SIM_UPDATE, number, 0);
}

static void add_machines(cluster *k) {
  const ts_sim *sim = k->c->sim;
  ts_timeline *line = k->c->line;
  for (uint32_t i = 0; i < sim->servers; i++) {
    machine *m = &k->servers[i];
    m->memory = ts_sim_add_memory(k->c, i, sim->servers);
    m->cores = ts_timeline_resource(line, sim->cores, "server cores %u", i);
    m->background = ts_timeline_resource(line, TS_MAX(sim->background, 1u), "maintenance threads %u", i);
    m->lock = ts_timeline_resource(line, 1, "lock %u", i);
    m->in = ts_timeline_resource(line, 1, "server link in %u", i);
    m->out = ts_timeline_resource(line, 1, "server link out %u", i);
  }
  for (uint32_t i = 0; i < k->hosts; i++) {
    k->host_in[i] = ts_timeline_resource(line, 1, "worker link in %u", i);
    k->host_out[i] = ts_timeline_resource(line, 1, "worker link out %u", i);
  }
  for (uint32_t i = 0; i < sim->workers; i++) {
    k->worker[i] = ts_timeline_resource(line, 1, "accelerator %u", i);
    k->stage[i] = ts_timeline_resource(line, TS_MAX(sim->stage_threads, 1u), "stage %u", i);
  }
}

int32_t ts_sim_run_servers(ts_sim_context *c, ts_err err) {
  const ts_sim *sim = c->sim;
  cluster k = {.c = c, .hosts = (sim->workers + sim->per_host - 1) / sim->per_host};
  size_t pairs = (size_t)sim->workers * sim->servers;
  k.servers = calloc(sim->servers, sizeof *k.servers);
  uint32_t *numbers = calloc(4 * pairs + 4 * (size_t)sim->workers + 3 * (size_t)k.hosts, sizeof *numbers);
  if (k.servers == NULL || numbers == NULL) {
    free(k.servers);
    free(numbers);
    return ts_fail(err, TS_ENOMEM, "Cannot simulate: out of memory");
  }
  k.updated = numbers;
  k.pulled = numbers + pairs;
  k.pushed = numbers + 2 * pairs;
  uint32_t *maintained = numbers + 3 * pairs;
  k.worker = numbers + 4 * pairs;
  k.stage = k.worker + sim->workers;
  k.computed = k.stage + sim->workers;
  k.parsed = k.computed + sim->workers;
  k.host_in = k.parsed + sim->workers;
  k.host_out = k.host_in + k.hosts;
  k.reduced = k.host_out + k.hosts;
  add_machines(&k);
  for (uint32_t i = 0; i < sim->warmup + sim->steps && !c->line->failed; i++) {
    c->counted = i >= sim->warmup;
    c->out->step_task[i] = step(&k, i, c->out->step_task, maintained);
  }
  free(k.servers);
  free(numbers);
  return c->line->failed ? ts_fail(err, TS_ENOMEM, "Cannot simulate: out of memory") : TS_OK;
}
