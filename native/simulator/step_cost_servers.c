/* step_cost_servers.c - the cost of a step of workers that share parameter servers; see step_cost.h. The rules and the
 * order are those of step_servers.c; all shares of a batch are equal, so that the parts of one worker at one server stand
 * for all. */
#include "simulator/step_cost.h"

#include <stdlib.h>
#include <string.h>

/* When what a server has is free again. */
typedef struct server {
  double held[TS_HELD], pulled, pushed, maintained;
} server;

typedef struct model {
  const ts_sim *sim;
  ts_step_costs *out;
  uint32_t hosts;
  server *servers;
  double *cores, *background; /* places, of one server after the other */
  double *host_in, *host_out, *arrived;
  ts_sim_work pull, gap, down, push;
  double asked_ps, answer_ps, pushed_ps, latency_ps, dense_ps;
} model;

static double later(double a, double b) { return a > b ? a : b; } /* evaluates each once */

static double take(double *free, double ready, double ps) { return *free = later(*free, ready) + ps; }

/* Equal tasks take places in turn. */
static double work_at(server *s, double *place, double ready, const ts_sim_work *w) {
  double start = later(ready, *place), done = start + (double)w->spec.work;
  for (uint32_t i = 0; i < w->spec.turns; i++)
    done = later(done, take(&s->held[w->spec.turn[i].resource], start, (double)w->spec.turn[i].ps));
  return *place = done;
}

static double send(const model *m, double *out, double *in, double ready, double ps) {
  double sent = take(out, ready, ps), received = take(in, ready, ps);
  return later(sent, received) + m->latency_ps;
}

static double largest(const double *of, uint32_t n) {
  double most = 0;
  for (uint32_t i = 0; i < n; i++) most = later(most, of[i]);
  return most;
}

static void pulls(model *m) {
  const ts_sim *sim = m->sim;
  for (uint32_t w = 0; w < sim->workers; w++) {
    uint32_t host = w / sim->per_host;
    for (uint32_t i = 0; i < sim->servers; i++) {
      server *s = &m->servers[i];
      double asked = send(m, &m->host_out[host], &s->held[TS_HELD_SERVER_IN], 0, m->asked_ps);
      double served = work_at(s, &m->cores[i * sim->cores + w % sim->cores], asked, &m->pull);
      s->pulled = later(s->pulled, served);
      double answer = send(m, &s->held[TS_HELD_SERVER_OUT], &m->host_in[host], served, m->answer_ps);
      m->arrived[w] = later(m->arrived[w], answer);
    }
  }
  m->out->span_ps[TS_SIM_PULL] = largest(m->arrived, sim->workers);
}

static void maintain(model *m) {
  const ts_sim *sim = m->sim;
  uint32_t threads = TS_MAX(sim->background, 1u);
  for (uint32_t i = 0; i < sim->servers; i++) {
    server *s = &m->servers[i];
    double *place = &m->background[(size_t)i * threads];
    for (uint32_t w = 0; w < sim->workers && sim->gap; w++)
      s->maintained = later(s->maintained, work_at(s, &place[w % threads], s->pulled, &m->gap));
    m->out->span_ps[TS_SIM_MAINTENANCE] = later(m->out->span_ps[TS_SIM_MAINTENANCE], s->maintained - s->pulled);
    double moved = work_at(s, &place[sim->gap ? sim->workers % threads : 0], s->pulled, &m->down);
    if (m->down.spec.work > 0) m->out->span_ps[TS_SIM_MIGRATION] = moved - s->pulled;
  }
  if (!sim->gap) m->out->span_ps[TS_SIM_MAINTENANCE] = 0;
}

/* Weights go round between the hosts, then gradients to the servers: both out of the same link, in this order. */
static double pass(model *m, double ring_ps) {
  const ts_sim *sim = m->sim;
  pulls(m);
  maintain(m);
  double computed = 0, reduced = 0, updated = 0, pushed = 0;
  for (uint32_t w = 0; w < sim->workers; w++) {
    m->arrived[w] += m->dense_ps;
    computed = later(computed, m->arrived[w]);
  }
  m->out->span_ps[TS_SIM_DENSE] = m->dense_ps + (double)sim->rest_ps;
  for (uint32_t h = 0; h < m->hosts && ring_ps > 0; h++)
    reduced = later(reduced, send(m, &m->host_out[h], &m->host_in[(h + 1) % m->hosts], computed, ring_ps));
  if (ring_ps > 0) m->out->span_ps[TS_SIM_ALLREDUCE] = reduced - computed;
  for (uint32_t w = 0; w < sim->workers; w++)
    for (uint32_t i = 0; i < sim->servers; i++) {
      server *s = &m->servers[i];
      double *out = &m->host_out[w / sim->per_host];
      s->pushed = later(s->pushed, send(m, out, &s->held[TS_HELD_SERVER_IN], m->arrived[w], m->pushed_ps));
    }
  for (uint32_t w = 0; w < sim->workers; w++)
    for (uint32_t i = 0; i < sim->servers; i++) {
      server *s = &m->servers[i];
      pushed = later(pushed, s->pushed);
      double ready = later(s->pushed, s->maintained);
      updated = later(updated, work_at(s, &m->cores[i * sim->cores + w % sim->cores], ready, &m->push));
    }
  m->out->span_ps[TS_SIM_PUSH] = later(0, pushed - computed);
  m->out->span_ps[TS_SIM_UPDATE] = later(0, updated - pushed);
  return later(updated, reduced);
}

static void busy_links(model *m, double ring_ps) {
  const ts_sim *sim = m->sim;
  double workers = sim->workers, on_host = TS_MIN(sim->per_host, sim->workers), servers = sim->servers;
  double (*busy)[TS_HELD] = m->out->busy_ps;
  busy[TS_SIM_PULL][TS_HELD_SERVER_IN] = workers * m->asked_ps;
  busy[TS_SIM_PULL][TS_HELD_SERVER_OUT] = workers * m->answer_ps;
  busy[TS_SIM_PULL][TS_HELD_HOST_OUT] = on_host * servers * m->asked_ps;
  busy[TS_SIM_PULL][TS_HELD_HOST_IN] = on_host * servers * m->answer_ps;
  busy[TS_SIM_PUSH][TS_HELD_SERVER_IN] = workers * m->pushed_ps;
  busy[TS_SIM_PUSH][TS_HELD_HOST_OUT] = on_host * servers * m->pushed_ps;
  busy[TS_SIM_ALLREDUCE][TS_HELD_HOST_IN] = busy[TS_SIM_ALLREDUCE][TS_HELD_HOST_OUT] = ring_ps;
  busy[TS_SIM_PARSE][TS_HELD_STAGE] = (double)ts_sim_read_ps(sim);
  busy[TS_SIM_DENSE][TS_HELD_ACCELERATOR] = m->dense_ps + (double)sim->rest_ps;
}

/* The parts of one worker at one server; their traffic is that of all of them. */
static void parts(ts_sim_context *c, model *m, const ts_sim_memory *memory) {
  const ts_sim *sim = c->sim;
  uint32_t threads = TS_MIN(sim->cores, sim->workers);
  double pairs = (double)sim->workers * sim->servers;
  m->pull = ts_sim_begin(TS_SIM_LOOKUP, 0, 0, TS_HELD_CORES, threads, memory);
  double answer = ts_sim_pull_part(c, &m->pull, 0, 0, TS_HELD_LOCK);
  m->gap = ts_sim_begin(TS_SIM_MAINTENANCE, 0, 0, TS_HELD_BACKGROUND, TS_MAX(sim->background, 1u), memory);
  if (sim->gap) ts_sim_gap_part(c, &m->gap, 0, 0);
  m->push = ts_sim_begin(TS_SIM_UPDATE, 0, 0, TS_HELD_CORES, threads, memory);
  ts_sim_push_part(c, &m->push, 0, 0, TS_HELD_LOCK);
  for (uint32_t t = 0; t < sim->tier_count; t++)
    for (uint32_t write = 0; write < 2; write++) {
      m->out->bytes[t][write] = c->out->bytes[t][write] * pairs;
      m->out->accesses[t][write] = c->out->accesses[t][write] * pairs;
      c->out->bytes[t][write] = c->out->accesses[t][write] = 0;
    }
  m->down = ts_sim_begin(TS_SIM_MIGRATION, 0, 0, TS_HELD_BACKGROUND, 1, memory);
  if (sim->migrate_count > 0 && sim->tier_count > 1) ts_sim_pages_down(c, &m->down, sim->migrate_count / 2 / sim->servers);
  for (uint32_t t = 0; t < sim->tier_count; t++)
    for (uint32_t write = 0; write < 2; write++) {
      m->out->bytes[t][write] += c->out->bytes[t][write] * sim->servers;
      m->out->accesses[t][write] += c->out->accesses[t][write] * sim->servers;
    }
  ts_sim_work *all[] = {&m->pull, &m->gap, &m->down, &m->push};
  for (uint32_t i = 0; i < 4; i++) ts_sim_mix(c, all[i]);
  ts_step_busy(m->out, &m->pull, TS_HELD_CORES, sim->workers);
  ts_step_busy(m->out, &m->gap, TS_HELD_BACKGROUND, sim->workers);
  ts_step_busy(m->out, &m->down, TS_HELD_BACKGROUND, 1);
  ts_step_busy(m->out, &m->push, TS_HELD_CORES, sim->workers);
  double ps = 1e12 / sim->net_bandwidth;
  const double message_ps = (double)sim->message_ps;
  m->answer_ps = answer * ps + message_ps;
  m->asked_ps = ts_sim_asked_bytes(sim) / sim->servers * ps + message_ps;
  m->pushed_ps = ts_sim_pushed_bytes(sim) / sim->servers * ps + message_ps;
  m->latency_ps = (double)sim->net_latency_ps;
  m->dense_ps = (double)ts_sim_dense_ps(c, 0, 0);
  m->out->net_bytes = (answer * sim->servers + ts_sim_asked_bytes(sim) + ts_sim_pushed_bytes(sim)) * sim->workers;
}

int32_t ts_step_cost_servers(ts_sim_context *c, ts_step_costs *out, ts_err err) {
  const ts_sim *sim = c->sim;
  model m = {.sim = sim, .out = out, .hosts = (sim->workers + sim->per_host - 1) / sim->per_host};
  uint32_t background = TS_MAX(sim->background, 1u);
  m.servers = calloc(sim->servers, sizeof *m.servers);
  m.cores = calloc((size_t)sim->servers * (sim->cores + background) + sim->workers + 2 * (size_t)m.hosts, sizeof *m.cores);
  if (m.servers == NULL || m.cores == NULL) {
    free(m.servers);
    free(m.cores);
    return ts_fail(err, TS_ENOMEM, "Cannot say what a step costs: out of memory");
  }
  m.background = m.cores + (size_t)sim->servers * sim->cores;
  m.arrived = m.background + (size_t)sim->servers * background;
  m.host_in = m.arrived + sim->workers;
  m.host_out = m.host_in + m.hosts;
  out->places[TS_HELD_CORES] = sim->cores;
  out->places[TS_HELD_BACKGROUND] = background;
  out->places[TS_HELD_STAGE] = TS_MAX(sim->stage_threads, 1u);
  ts_sim_memory memory = ts_step_memory(sim);
  c->split = sim->servers;
  parts(c, &m, &memory);
  /* Ring all-reduce: see step_servers.c. */
  double ring = m.hosts < 2 ? 0 : 2.0 * (m.hosts - 1) / m.hosts * sim->allreduce_bytes;
  double ring_ps = ring * 1e12 / sim->net_bandwidth + (ring > 0 ? 2.0 * (m.hosts - 1) * (double)sim->message_ps : 0), parse = (double)ts_sim_read_ps(sim);
  out->net_bytes += ring * m.hosts;
  double served = pass(&m, ring_ps);
  out->span_ps[TS_SIM_PARSE] = parse;
  busy_links(&m, ring_ps);
  /* A batch is read when the step `ahead` before its own has ended; workers pull when they have their rest behind them. */
  out->step_ps = later((double)sim->rest_ps + served, (parse + served) / TS_MAX(sim->ahead, 1u));
  ts_step_bounds(out);
  free(m.servers);
  free(m.cores);
  return TS_OK;
}
