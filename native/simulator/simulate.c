/* simulate.c - the public calls: a simulation's options in, its outcome as "key=value" lines out. */
#include "simulator/demand.h"
#include "simulator/engine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHART_TASKS 4096u /* of one step, in the outcome */

static void add_steps(ts_text *text, const ts_sim *sim, const ts_sim_outcome *out) {
  ts_text_add(text, "step_ps=");
  uint64_t before = sim->warmup == 0 ? 0 : ts_timeline_end(&out->line, out->step_task[sim->warmup - 1]);
  uint64_t start = before;
  for (uint32_t i = 0; i < sim->steps; i++) {
    uint64_t end = ts_timeline_end(&out->line, out->step_task[sim->warmup + i]);
    ts_text_add(text, i == 0 ? "%llu" : ",%llu", (unsigned long long)(end - before));
    before = end;
  }
  ts_text_add(text, "\nelapsed_ps=%llu\n", (unsigned long long)(before - start));
}

/* Where the time of the counted steps went, by kind and by what it was spent on. */
static int32_t add_parts(ts_text *text, const ts_sim *sim, const ts_sim_outcome *out, ts_err err) {
  const ts_timeline *line = &out->line;
  uint32_t columns = line->resource_count + 2;
  uint64_t *ps = calloc((size_t)TS_SIM_KINDS * columns, sizeof *ps);
  if (ps == NULL) return ts_fail(err, TS_ENOMEM, "Cannot simulate: out of memory");
  uint64_t until = sim->warmup == 0 ? 0 : ts_timeline_end(line, out->step_task[sim->warmup - 1]);
  int32_t status = ts_timeline_explain(line, out->step_task[sim->warmup + sim->steps - 1], until, columns, ps);
  if (status != TS_OK) status = ts_fail(err, status, "Cannot explain the time of a simulation: this is a bug");
  for (uint32_t k = 0; k < TS_SIM_KINDS && status == TS_OK; k++)
    for (uint32_t c = 0; c < columns; c++) {
      uint64_t part = ps[(size_t)k * columns + c];
      if (part == 0) continue;
      const char *on = c == 0 ? "work" : c + 1 == columns ? "latency" : line->resources[c - 1].name;
      ts_text_add(text, "part kind=%s on=%s ps=%llu\n", ts_sim_kind_names[k], on, (unsigned long long)part);
    }
  free(ps);
  return status;
}

static void add_resources(ts_text *text, const ts_sim_outcome *out) {
  uint64_t end = 0;
  for (uint32_t i = 0; i < out->line.count; i++) end = TS_MAX(end, out->line.tasks[i].end);
  for (uint32_t i = 0; i < out->line.resource_count; i++) {
    const ts_line_resource *r = &out->line.resources[i];
    if (r->busy == 0) continue;
    ts_text_add(text, "resource name=%s places=%u busy_ps=%llu elapsed_ps=%llu\n", r->name, r->places,
                (unsigned long long)r->busy, (unsigned long long)end);
  }
}

static void add_tiers(ts_text *text, const ts_sim *sim, const ts_sim_outcome *out) {
  for (uint32_t t = 0; t < sim->tier_count; t++)
    for (uint32_t w = 0; w < 2; w++)
      ts_text_add(text, "traffic tier=%u op=%s bytes=%.0f accesses=%.0f\n", t, w == 0 ? "read" : "write", out->bytes[t][w],
                  out->accesses[t][w]);
  ts_text_add(text, "net_bytes=%.0f\n", out->net_bytes);
}

/* What the media were asked, as access_cost.c asks it. */
static void add_questions(ts_text *text, const ts_sim *sim, const ts_sim_outcome *out) {
  static const char *const ops[TS_MEDIA_OPS] = {"load", "nt-store", "cached-store", "flushed-store"};
  for (uint32_t i = 0; i < out->asked; i++) {
    const ts_access_kind *a = &out->ask[i];
    const ts_sim_tier *tier = &sim->tier[a->tier];
    const ts_media_op op = a->write ? tier->write : TS_MEDIA_READ;
    /* Software that knows the next rows asks for them before it uses them; what does not go through the caches, or to a
     * drive, cannot be asked for. */
    const bool ahead = tier->depth <= 1 && (op == TS_MEDIA_WRITE_CACHED || (op == TS_MEDIA_READ && sim->rows_in_flight == 0));
    ts_text_add(text,
                "question tier=%u op=%s bytes=%u threads=%u depth=%u hops=%u prefetch=%d ahead=%d region=%llu sequential=%d "
                "fenced=%d\n",
                a->tier, ops[op], a->bytes, a->threads, tier->depth, a->hops, sim->prefetchers, ahead,
                (unsigned long long)tier->region, a->write && tier->depth > 1, a->write && tier->fenced);
  }
}

/* Tasks of the last step, for a chart. */
static void add_chart(ts_text *text, const ts_sim *sim, const ts_sim_outcome *out) {
  uint32_t last = sim->warmup + sim->steps - 1, shown = 0;
  uint64_t start = last == 0 ? 0 : ts_timeline_end(&out->line, out->step_task[last - 1]);
  for (uint32_t i = 0; i < out->line.count && shown < CHART_TASKS; i++) {
    const ts_line_task *task = &out->line.tasks[i];
    if (task->step != last || task->end == task->start) continue;
    shown++;
    ts_text_add(text, "task kind=%s actor=%u start_ps=%lld end_ps=%lld\n", ts_sim_kind_names[task->kind], task->actor,
                (long long)(task->start - start), (long long)(task->end - start));
  }
}

int32_t ts_simulate(const ts_config *config, char *out, uint64_t cap, uint64_t *needed, char *message, uint32_t err_cap) {
  ts_err err = {message, err_cap};
  if (config == NULL || needed == NULL) return ts_fail(err, TS_EINVAL, "Cannot simulate: a config and needed are needed");
  ts_sim sim;
  int32_t status = ts_sim_read(config, &sim, err);
  if (status != TS_OK) return status;
  ts_sim_outcome outcome;
  status = ts_sim_run(&sim, &outcome, err);
  if (status == TS_OK) {
    ts_text text = {0};
    add_steps(&text, &sim, &outcome);
    status = add_parts(&text, &sim, &outcome, err);
    add_resources(&text, &outcome);
    add_tiers(&text, &sim, &outcome);
    add_questions(&text, &sim, &outcome);
    add_chart(&text, &sim, &outcome);
    if (status == TS_OK) status = ts_text_tell(&text, "the simulation", out, cap, needed, err);
    else free(text.bytes);
    ts_sim_outcome_free(&outcome);
  }
  ts_sim_free(&sim);
  return status;
}
