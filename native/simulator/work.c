/* work.c - what the parts of a step need: core time of the one who does them and turns on media; see work.h. */
#include "simulator/work.h"

#include <stdio.h>
#include <string.h>

bool ts_sim_full_duplex(const ts_sim_tier *tier) { return tier->medium.duplex > 1.5; }

ts_sim_memory ts_sim_add_memory(ts_sim_context *c, uint32_t machine, uint32_t machines) {
  ts_sim_memory memory;
  memset(&memory, 0, sizeof memory);
  for (uint32_t t = 0; t < c->sim->tier_count; t++) {
    const ts_sim_tier *tier = &c->sim->tier[t];
    char where[24] = "";
    if (machines > 1) snprintf(where, sizeof where, " %u", machine);
    if (ts_sim_full_duplex(tier)) {
      memory.read[t] = ts_timeline_resource(c->line, 1, "%.30s%s, reads", tier->name, where);
      memory.write[t] = ts_timeline_resource(c->line, 1, "%.30s%s, writes", tier->name, where);
    } else {
      memory.read[t] = memory.write[t] = ts_timeline_resource(c->line, 1, "%.30s%s", tier->name, where);
    }
  }
  return memory;
}

ts_sim_work ts_sim_begin(ts_sim_kind kind, uint32_t step, uint32_t actor, uint32_t pool, uint32_t threads,
                         const ts_sim_memory *memory) {
  ts_sim_work work = {.threads = TS_MAX(threads, 1u), .memory = memory};
  work.spec.kind = kind;
  work.spec.step = step;
  work.spec.actor = actor;
  work.spec.pool = pool;
  return work;
}

/* Reads and writes of one task are on their way together: where both share a bus, changing direction has its price. */
void ts_sim_mix(ts_sim_context *c, ts_sim_work *work) {
  for (uint32_t t = 0; t < c->sim->tier_count && work->memory != NULL; t++) {
    if (work->memory->read[t] != work->memory->write[t]) continue;
    double both = ts_medium_mixed_ns(&c->sim->tier[t].medium, (double)work->read_ps[t], (double)work->write_ps[t]);
    uint64_t sum = work->read_ps[t] + work->write_ps[t];
    if (both > (double)sum) ts_sim_turn(work, work->memory->read[t], (uint64_t)(both + 0.5) - sum);
  }
}

void ts_sim_turn(ts_sim_work *work, uint32_t resource, uint64_t ps) {
  if (ps == 0) return;
  for (uint32_t i = 0; i < work->spec.turns; i++)
    if (work->spec.turn[i].resource == resource) {
      work->spec.turn[i].ps += ps;
      return;
    }
  if (work->spec.turns < TS_LINE_TURNS) work->spec.turn[work->spec.turns++] = (ts_turn){resource, ps};
}

static void access_hops(ts_sim_context *c, ts_sim_work *work, uint32_t t, bool write, double rows, uint32_t bytes,
                        uint32_t hops) {
  ts_access_kind kind = {.tier = t, .bytes = bytes, .threads = work->threads, .hops = hops, .write = write};
  /* A row that is expected in less than every step makes less than every step wait. */
  double often = c->expected && rows * c->split < 1 ? rows * c->split : 1;
  ts_access_cost cost = ts_access_cost_of(c->sim, &c->costs, kind, rows / often);
  if (often < 1) cost = (ts_access_cost){(uint64_t)((double)cost.core_ps * often), (uint64_t)((double)cost.medium_ps * often)};
  work->spec.work += cost.core_ps;
  *(write ? &work->write_ps[t] : &work->read_ps[t]) += cost.medium_ps;
  ts_sim_turn(work, write ? work->memory->write[t] : work->memory->read[t], cost.medium_ps);
}

void ts_sim_access(ts_sim_context *c, ts_sim_work *work, uint32_t t, bool write, double rows, uint32_t bytes) {
  if (rows <= 0 || bytes == 0) return;
  const ts_sim_tier *tier = &c->sim->tier[t];
  bytes = TS_ROUND_UP(bytes, TS_MAX(tier->round, 1u));
  if (c->counted) {
    c->out->bytes[t][write] += rows * bytes;
    c->out->accesses[t][write] += rows;
  }
  double far = tier->hops == 0 ? 0 : tier->remote * rows;
  if (rows > far) access_hops(c, work, t, write, rows - far, bytes, 0);
  if (far > 0) access_hops(c, work, t, write, far, bytes, tier->hops);
}

/* Accesses that one demand access becomes (DRAM read, DRAM write, PMEM read, PMEM write):
 *   read hit 1 0 0 0   read miss 1 1 1 0, with a dirty victim 1 1 1 1
 *   write hit 1 1 0 0, or 0 1 0 0 where the line is known to be there   write miss 1 2 1 0, dirty 1 2 1 1 */
void ts_sim_row_access(ts_sim_context *c, ts_sim_work *work, uint32_t tier, bool write, double rows, uint32_t bytes) {
  const ts_sim_memory_mode *mode = &c->sim->memory_mode;
  if (!mode->on) {
    ts_sim_access(c, work, tier, write, rows, bytes);
    return;
  }
  if (rows <= 0 || bytes == 0) return;
  double clean = rows * (write ? mode->write_clean : mode->read_clean);
  double dirty = rows * (write ? mode->write_dirty : mode->read_dirty);
  double miss = clean + dirty;
  double unread = write ? (rows - miss) * mode->known : 0; /* write hits that need no read of the tag */
  uint32_t lines = TS_ROUND_UP(bytes, TS_CACHE_LINE);
  ts_sim_access(c, work, 0, false, rows - unread, lines);
  ts_sim_access(c, work, 0, true, write ? rows + miss : miss, lines);
  ts_sim_access(c, work, 1, false, miss, lines);
  ts_sim_access(c, work, 1, true, dirty, lines);
}

uint32_t ts_sim_end(ts_sim_context *c, ts_sim_work *work) {
  ts_sim_mix(c, work);
  return ts_timeline_add(c->line, &work->spec);
}

/* A seeded standard normal number. Twelve uniform numbers have variance 1 around 6 (central limit), with no function. */
static double normal(const ts_sim *sim, uint64_t stream) {
  double z = -6;
  for (uint32_t i = 0; i < 12; i++) z += ts_unit(ts_random64(sim->seed, stream, i));
  return z;
}

double ts_sim_spread(const ts_sim_context *c, double mean, double variance, uint32_t step, uint32_t actor, uint32_t table) {
  if (mean <= 0 || c->expected) return mean <= 0 ? 0 : mean;
  double deviation = variance > 0 ? ts_det_pow(variance, 0.5) : 0;
  double value = mean + deviation * normal(c->sim, ((uint64_t)step << 32 | actor) * TS_SIM_TABLES + table);
  return value <= 0 ? 0 : (double)(uint64_t)(value + 0.5);
}

/* Numbers that no table draws. */
#define DENSE_STREAM (UINT64_C(1) << 63)
/* Steps whose slowest workers make the expected one. */
#define EXPECTED_STEPS 16u

/* A worker's dense time over the mean one, log-normal with mean 1: exp(s z - s^2 / 2), s^2 = ln(1 + spread^2), of which the
 * series' first two terms are taken below a spread of 0.5 and x / (1 + x) above. */
static double dense_factor(const ts_sim *sim, uint32_t part, uint32_t step, uint32_t worker) {
  double x = sim->dense_spread * sim->dense_spread, variance = x <= 0.25 ? x - x * x / 2 : x / (1 + x);
  double z = normal(sim, DENSE_STREAM | (uint64_t)part << 48 | (uint64_t)step << 16 | worker);
  const double e = 2.718281828459045;
  return ts_det_pow(e, ts_det_pow(variance, 0.5) * z - variance / 2);
}

static uint64_t spread_ps(const ts_sim_context *c, uint64_t ps, uint32_t part, uint32_t step, uint32_t worker) {
  const ts_sim *sim = c->sim;
  if (sim->dense_spread <= 0 || ps == 0) return ps;
  if (!c->expected) return (uint64_t)((double)ps * dense_factor(sim, part, step, worker) + 0.5);
  double sum = 0;
  for (uint32_t i = 0; i < EXPECTED_STEPS; i++) {
    double slowest = 0;
    for (uint32_t w = 0; w < sim->workers; w++) slowest = TS_MAX(slowest, dense_factor(sim, part, sim->warmup + i, w));
    sum += slowest;
  }
  return (uint64_t)((double)ps * sum / EXPECTED_STEPS + 0.5);
}

uint64_t ts_sim_dense_ps(const ts_sim_context *c, uint32_t step, uint32_t worker) {
  return spread_ps(c, c->sim->dense_ps, 0, step, worker);
}

uint64_t ts_sim_rest_ps(const ts_sim_context *c, uint32_t step, uint32_t worker) {
  return spread_ps(c, c->sim->rest_ps, 1, step, worker);
}
