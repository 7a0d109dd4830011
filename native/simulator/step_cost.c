/* step_cost.c - the public call: the options of a simulation in, what one of its steps costs out, as "key=value" lines. */
#include "simulator/step_cost.h"

#include <stdlib.h>
#include <string.h>

const char *const ts_held_names[TS_HELD_MEDIA] = {"cores", "stage threads", "background threads", "accelerator", "lock",
                                                  "server link in", "server link out", "worker link in", "worker link out"};

ts_sim_memory ts_step_memory(const ts_sim *sim) {
  ts_sim_memory memory;
  memset(&memory, 0, sizeof memory);
  for (uint32_t t = 0; t < sim->tier_count; t++) {
    memory.read[t] = TS_HELD_MEDIA + 2 * t;
    memory.write[t] = memory.read[t] + (ts_sim_full_duplex(&sim->tier[t]) ? 1 : 0);
  }
  return memory;
}

void ts_step_busy(ts_step_costs *out, const ts_sim_work *work, uint32_t pool, double times) {
  out->busy_ps[work->spec.kind][pool] += (double)work->spec.work * times;
  for (uint32_t i = 0; i < work->spec.turns; i++)
    out->busy_ps[work->spec.kind][work->spec.turn[i].resource] += (double)work->spec.turn[i].ps * times;
}

void ts_step_bounds(ts_step_costs *out) {
  for (uint32_t r = 0; r < TS_HELD; r++) {
    double busy = 0;
    for (uint32_t k = 0; k < TS_SIM_KINDS; k++) busy += out->busy_ps[k][r];
    out->step_ps = TS_MAX(out->step_ps, busy / TS_MAX(out->places[r], 1));
  }
}

int32_t ts_step_cost_of(const ts_sim *sim, ts_step_costs *out, ts_err err) {
  memset(out, 0, sizeof *out);
  ts_sim_outcome counted = {0};
  ts_sim_context c = {.sim = sim, .out = &counted, .counted = true, .expected = true};
  return sim->servers == 0 ? ts_step_cost_host(&c, out, err) : ts_step_cost_servers(&c, out, err);
}

static void write_out(ts_text *text, const ts_sim *sim, const ts_step_costs *costs) {
  ts_text_add(text, "step_ps=%.17g\nnet_bytes=%.17g\n", costs->step_ps, costs->net_bytes);
  for (uint32_t k = 0; k < TS_SIM_KINDS; k++) {
    if (costs->span_ps[k] > 0) ts_text_add(text, "phase kind=%s span_ps=%.17g\n", ts_sim_kind_names[k], costs->span_ps[k]);
    for (uint32_t r = 0; r < TS_HELD; r++) {
      if (costs->busy_ps[k][r] <= 0) continue;
      ts_text_add(text, "busy kind=%s places=%.0f ps=%.17g", ts_sim_kind_names[k], TS_MAX(costs->places[r], 1),
                  costs->busy_ps[k][r]);
      uint32_t tier = (r - TS_HELD_MEDIA) / 2;
      if (r < TS_HELD_MEDIA) ts_text_add(text, " on=%s\n", ts_held_names[r]);
      else ts_text_add(text, " tier=%u on=%s%s\n", tier, sim->tier[tier].name, (r - TS_HELD_MEDIA) % 2 == 1 ? ", writes" : "");
    }
  }
  for (uint32_t t = 0; t < sim->tier_count; t++)
    for (uint32_t w = 0; w < 2; w++)
      ts_text_add(text, "traffic tier=%u op=%s bytes=%.17g accesses=%.17g\n", t, w == 0 ? "read" : "write",
                  costs->bytes[t][w], costs->accesses[t][w]);
}

int32_t ts_step_cost(const ts_config *config, char *out, uint64_t cap, uint64_t *needed, char *message, uint32_t err_cap) {
  ts_err err = {message, err_cap};
  if (config == NULL || needed == NULL)
    return ts_fail(err, TS_EINVAL, "Cannot say what a step costs: a config and needed are needed");
  ts_sim sim;
  int32_t status = ts_sim_read(config, &sim, err);
  if (status != TS_OK) return status;
  ts_step_costs costs;
  status = ts_step_cost_of(&sim, &costs, err);
  if (status == TS_OK) {
    ts_text text = {0};
    write_out(&text, &sim, &costs);
    status = ts_text_tell(&text, "the cost of a step", out, cap, needed, err);
  }
  ts_sim_free(&sim);
  return status;
}
