/* step_servers.c - training steps of workers that share parameter servers: bursts of pulls, the gap in which workers
 * compute, bursts of pushes; see engine.h. */
#include "simulator/step_parts.h"

#include <stdlib.h>
#include <string.h>

typedef struct machine {
  ts_sim_memory memory;
  uint32_t cores, background, lock, in, out;
} machine;

typedef struct cluster {
  ts_sim_context *c;
  machine *servers;
  uint32_t *host_in, *host_out, *worker, *stage; /* links of hosts; compute and input of workers */
  uint32_t hosts;
  uint32_t *updated, *pulled, *pushed, *computed, *reduced, *parsed, *rested; /* tasks, last step */
} cluster;

static uint64_t wire_ps(const ts_sim *sim, double bytes) {
  return sim->net_bandwidth <= 0 || bytes <= 0 ? 0 : (uint64_t)(bytes / sim->net_bandwidth * 1e12 + 0.5);
}

/* Messages hold the sender's line and, as they arrive, the receiver's: for their bytes, and each for its price at either end (the gap
 * of Culler's LogP and of Alexandrov's LogGP). */
static uint32_t send(cluster *k, ts_sim_kind kind, uint32_t step, uint32_t actor, uint32_t out, uint32_t in, double bytes,
                     uint32_t messages, uint32_t after) {
  ts_line_spec spec = {.kind = kind, .step = step, .actor = actor, .pool = TS_NONE, .after = k->c->sim->net_latency_ps};
  uint64_t ps = wire_ps(k->c->sim, bytes) + messages * k->c->sim->message_ps;
  spec.turn[spec.turns++] = (ts_turn){out, ps};
  if (in != out) spec.turn[spec.turns++] = (ts_turn){in, ps};
  if (k->c->counted) k->c->out->net_bytes += bytes;
  ts_timeline_wait(k->c->line, after);
  return ts_timeline_add(k->c->line, &spec);
}

/* The first row that a request reads, before anything of it comes under the lock; the rest and the lock go on side by side. */
static uint32_t first_row(cluster *k, ts_sim_work *w, uint32_t asked) {
  const ts_sim *sim = k->c->sim;
  double rows = 0;
  for (uint32_t t = 0; t < sim->table_count; t++) rows += sim->tables[t].distinct / sim->servers;
  if (sim->lock_ps == 0 || rows < 1) return asked;
  ts_line_spec first = {.kind = w->spec.kind, .step = w->spec.step, .actor = w->spec.actor, .pool = w->spec.pool,
                        .work = (uint64_t)((double)w->spec.work / rows)};
  w->spec.work -= first.work;
  ts_timeline_wait(k->c->line, asked);
  return ts_timeline_add(k->c->line, &first);
}

/* A server answers a worker's pull. */
static uint32_t serve_pull(cluster *k, uint32_t step, uint32_t worker, uint32_t server, uint32_t asked) {
  const ts_sim *sim = k->c->sim;
  machine *m = &k->servers[server];
  uint32_t threads = TS_MIN(sim->cores, sim->workers);
  ts_sim_work w = ts_sim_begin(TS_SIM_LOOKUP, step, worker, m->cores, threads, &m->memory);
  double bytes = ts_sim_pull_part(k->c, &w, step, worker, m->lock);
  ts_timeline_wait(k->c->line, first_row(k, &w, asked));
  uint32_t served = ts_sim_end(k->c, &w);
  k->pulled[worker * sim->servers + server] = served;
  return send(k, TS_SIM_PULL, step, worker, m->out, k->host_in[worker / sim->per_host], bytes, 1, served);
}

static void maintain_in_gap(cluster *k, uint32_t step, uint32_t server, uint32_t *maintained) {
  const ts_sim *sim = k->c->sim;
  machine *m = &k->servers[server];
  for (uint32_t worker = 0; worker < sim->workers; worker++) {
    ts_sim_work w = ts_sim_begin(TS_SIM_MAINTENANCE, step, worker, m->background, TS_MAX(sim->background, 1u), &m->memory);
    ts_sim_gap_part(k->c, &w, step, worker);
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
  ts_sim_work w = ts_sim_begin(TS_SIM_MIGRATION, step, server, m->background, 1, &m->memory);
  ts_sim_pages_down(k->c, &w, sim->migrate_count / 2 / sim->servers);
  for (uint32_t worker = 0; worker < sim->workers; worker++)
    ts_timeline_wait(k->c->line, k->pulled[worker * sim->servers + server]);
  ts_sim_end(k->c, &w);
}

/* Applies what one worker pushed, when all have. */
static uint32_t update(cluster *k, uint32_t step, uint32_t worker, uint32_t server) {
  const ts_sim *sim = k->c->sim;
  machine *m = &k->servers[server];
  ts_sim_work w = ts_sim_begin(TS_SIM_UPDATE, step, worker, m->cores, TS_MIN(sim->cores, sim->workers), &m->memory);
  ts_sim_push_part(k->c, &w, step, worker, m->lock);
  for (uint32_t other = 0; other < sim->workers; other++)
    ts_timeline_wait(k->c->line, k->pushed[other * sim->servers + server]);
  return ts_sim_end(k->c, &w);
}

static void pulls(cluster *k, uint32_t step, const uint32_t *ends) {
  const ts_sim *sim = k->c->sim;
  for (uint32_t worker = 0; worker < sim->workers && step > 0 && sim->rest_ps > 0; worker++) {
    ts_sim_work rest = ts_sim_begin(TS_SIM_DENSE, step, worker, k->worker[worker], 1, NULL);
    rest.spec.work = ts_sim_rest_ps(k->c, step, worker);
    ts_timeline_wait(k->c->line, ends[step - 1]);
    k->rested[worker] = ts_sim_end(k->c, &rest);
  }
  for (uint32_t worker = 0; worker < sim->workers; worker++) {
    if (sim->ahead > 0 && step >= sim->ahead) ts_timeline_wait(k->c->line, ends[step - sim->ahead]);
    if (sim->ahead == 0 && step > 0) ts_timeline_wait(k->c->line, ends[step - 1]);
    ts_sim_work w = ts_sim_begin(TS_SIM_PARSE, step, worker, k->stage[worker], 1, NULL);
    w.spec.work = ts_sim_read_ps(sim);
    k->parsed[worker] = ts_sim_end(k->c, &w);
  }
  uint32_t *arrived = k->computed; /* what the dense part of a worker waits for */
  for (uint32_t worker = 0; worker < sim->workers; worker++) {
    for (uint32_t server = 0; server < sim->servers; server++) {
      ts_timeline_wait(k->c->line, step == 0 ? TS_NONE : ends[step - 1]);
      ts_timeline_wait(k->c->line, k->rested[worker]);
      uint32_t asked = send(k, TS_SIM_PULL, step, worker, k->host_out[worker / sim->per_host], k->servers[server].in,
                            ts_sim_asked_bytes(sim) / sim->servers, 1, k->parsed[worker]);
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
    w.spec.work = ts_sim_dense_ps(k->c, number, worker);
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
                            2 * (k->hosts - 1), TS_NONE);
  }
  for (uint32_t worker = 0; worker < sim->workers; worker++) {
    for (uint32_t server = 0; server < sim->servers; server++)
      k->pushed[worker * sim->servers + server] =
          send(k, TS_SIM_PUSH, number, worker, k->host_out[worker / sim->per_host], k->servers[server].in,
               ts_sim_pushed_bytes(sim) / sim->servers, 1, k->computed[worker]);
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
  uint32_t *numbers = calloc(4 * pairs + 5 * (size_t)sim->workers + 3 * (size_t)k.hosts, sizeof *numbers);
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
  k.rested = k.parsed + sim->workers;
  for (uint32_t i = 0; i < sim->workers; i++) k.rested[i] = TS_NONE;
  k.host_in = k.rested + sim->workers;
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
