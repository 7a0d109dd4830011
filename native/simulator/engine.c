/* engine.c - runs a simulation and frees it; what the steps are made of is in step_host.c and step_servers.c. */
#include "simulator/work.h"

#include <stdlib.h>
#include <string.h>

const char *const ts_sim_kind_names[TS_SIM_KINDS + 1] = {"parse", "pull",     "lookup",      "dense",     "all-reduce", "push",
                                                         "update", "eviction", "maintenance", "migration", "faults",    NULL};

void ts_sim_free(ts_sim *sim) {
  free(sim->tables);
  memset(sim, 0, sizeof *sim);
}

void ts_sim_outcome_free(ts_sim_outcome *out) {
  ts_timeline_free(&out->line);
  free(out->step_task);
  memset(out, 0, sizeof *out);
}

int32_t ts_sim_run(const ts_sim *sim, ts_sim_outcome *out, ts_err err) {
  memset(out, 0, sizeof *out);
  out->step_task = calloc((size_t)sim->warmup + sim->steps + 1, sizeof *out->step_task);
  if (out->step_task == NULL) return ts_fail(err, TS_ENOMEM, "Cannot simulate: out of memory");
  ts_sim_context context = {.sim = sim, .out = out, .line = &out->line};
  int32_t status = sim->servers == 0 ? ts_sim_run_host(&context, err) : ts_sim_run_servers(&context, err);
  out->asked = context.costs.count;
  for (uint32_t i = 0; i < out->asked; i++) out->ask[i] = context.costs.known[i].kind;
  if (status != TS_OK) ts_sim_outcome_free(out);
  return status;
}
