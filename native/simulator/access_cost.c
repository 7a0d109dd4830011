/* access_cost.c - rows into picoseconds. A group of accesses by one thread costs its core what the medium gives one
 * thread (latency and lines in flight), and takes the medium for the share of its bandwidth that they need when all
 * threads of the group are at it: bytes / bandwidth(threads). With one thread both are equal; with enough threads the
 * medium is the limit, also past the knee where more threads get less. */
#include "simulator/access_cost.h"

/* Rows that go to a disk are gathered in buffers and written in one piece. */
#define BUFFER_BYTES (256u << 10)

static uint64_t to_ps(double ps) { return ps <= 0 ? 0 : ps >= 9e18 ? UINT64_C(9000000000000000000) : (uint64_t)(ps + 0.5); }

static bool same(ts_access_kind a, ts_access_kind b) {
  return a.tier == b.tier && a.bytes == b.bytes && a.threads == b.threads && a.hops == b.hops && a.write == b.write;
}

static struct ts_access_known ask(const ts_sim *sim, ts_access_costs *costs, ts_access_kind kind, bool gathered) {
  for (uint32_t i = 0; i < costs->count; i++)
    if (same(costs->known[i].kind, kind)) return costs->known[i];
  const ts_sim_tier *tier = &sim->tier[kind.tier];
  ts_media_access access = {.op = kind.write ? tier->write : TS_MEDIA_READ,
                            .bytes = kind.bytes,
                            .threads = tier->depth,
                            .fenced = kind.write && tier->fenced,
                            .hops = kind.hops,
                            .prefetch = sim->prefetchers,
                            .region = tier->region,
                            .sequential = gathered};
  struct ts_access_known known = {.kind = kind};
  known.one_ns = 1e9 / ts_medium_bandwidth(&tier->medium, &access) * kind.bytes;
  known.latency_ns = ts_medium_latency_ns(&tier->medium, &access, 0);
  access.threads = kind.threads * tier->depth;
  known.all_ns = 1e9 / ts_medium_bandwidth(&tier->medium, &access) * kind.bytes;
  if (costs->count < TS_ACCESS_COSTS) costs->known[costs->count++] = known;
  return known;
}

ts_access_cost ts_access_cost_of(const ts_sim *sim, ts_access_costs *costs, ts_access_kind kind, double rows) {
  const ts_sim_tier *tier = &sim->tier[kind.tier];
  bool gathered = kind.write && tier->depth > 1;
  double per_row = (double)(kind.write ? tier->write_ps : tier->read_ps) * rows;
  if (gathered) {
    rows = rows * kind.bytes / BUFFER_BYTES;
    kind.bytes = BUFFER_BYTES;
  }
  struct ts_access_known cost = ask(sim, costs, kind, gathered);
  double one_ns = cost.one_ns;
  /* Software that follows one row's pointers before the next one's waits for each of them. */
  if (!kind.write && sim->rows_in_flight > 0) one_ns = TS_MAX(one_ns, cost.latency_ns / sim->rows_in_flight);
  /* Waiting for the last of them costs a latency, whatever few they are. */
  double core = rows * one_ns < cost.latency_ns && !gathered ? cost.latency_ns : rows * one_ns;
  return (ts_access_cost){to_ps(core * 1000 + per_row), to_ps(rows * cost.all_ns * 1000)};
}
