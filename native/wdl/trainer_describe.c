/* trainer_describe.c - what a trainer is and how its steps went, as text. */
#include "wdl/trainer.h"

static const char *yes(bool value) { return value ? "1" : "0"; }

static void add_model(ts_text *text, const ts_trainer *t) {
  const ts_model *m = &t->model;
  uint64_t dense = ts_mlp_parameters(&m->top) + (ts_model_has_bottom(m) ? ts_mlp_parameters(&m->bottom) : 0);
  uint64_t wide = ts_model_has_wide(m) ? TS_NUMERICS + (uint64_t)TS_CATEGORIES * m->buckets : 0;
  ts_text_add(text, "model=%s\ndense_parameters=%llu\nwide_parameters=%llu\ninputs=%u\ndims=", ts_model_names[m->kind],
              (unsigned long long)dense, (unsigned long long)wide, m->top.options.in);
  for (uint32_t v = 0; v < m->columns.count; v++) ts_text_add(text, "%s%u", v == 0 ? "" : ",", m->columns.dims[v]);
  ts_text_add(text, "\ntables=");
  ts_tables_write(&t->options.tables, text);
  ts_text_add(text, "\ndeep_optimizer=%s\nembedding_optimizer=%s\nwide_optimizer=%s\n", t->options.deep.name,
              t->options.embedding.name, ts_model_has_wide(m) ? "ftrl" : "none");
  char kernels[2048];
  ts_mlp_kernels(&m->top, kernels, sizeof kernels);
  ts_text_add(text, "kernels=%s\nbf16=%s\nfirst_layer=%s\n", kernels, ts_bf16_names[t->options.bf16],
              ts_first_layer_names[t->options.first_layer]);
}

static void add_schedule(ts_text *text, const ts_trainer *t) {
  const ts_trainer_options *o = &t->options;
  const ts_graph *g = &t->graph;
  ts_text_add(text, "step=%llu\nthreads=%u\nexecutor=%s\ntasks=%u\nshards=%u\nmicro_batch=%u\ndeterministic=%s\n",
              (unsigned long long)t->step, ts_pool_threads(t->pool), ts_executor_names[o->executor], g->count, t->model.shards * t->model.pieces,
              o->micro_batch, yes(o->deterministic && o->ranks_staleness == 0));
  if (ts_executor_knows_costs(t->executor))
    ts_text_add(text, "schedule=measured\nwork_ns=%llu\nlongest_path_ns=%llu\n", (unsigned long long)ts_graph_work(g),
                (unsigned long long)ts_graph_longest_path(g));
  else ts_text_add(text, "schedule=unmeasured\n");
  ts_text_add(text, "embedding_fusion=%s\ngraph_fusion=%s\nmemory_reuse=%s\nminor_faults=%llu\n",
              yes(o->embedding_fusion), yes(t->model.top.options.fusion), yes(o->memory_reuse),
              (unsigned long long)t->minor_faults);
}

static void add_stage(ts_text *text, const ts_trainer *t) {
  const ts_stage_statistics s = ts_stage_count(t->stage);
  const uint64_t work = s.read_ns + s.lookup_ns;
  ts_text_add(text, "stage=%u\nreaders=%u\nstage_what=%s\nstage_choice=%s\n", t->options.stage, t->options.readers,
              ts_stage_names[t->options.stage_what],
              ts_stage_choice(t->stage) == TS_STAGE_AUTO ? "undecided" : ts_stage_names[ts_stage_choice(t->stage)]);
  if (t->options.stage_what == TS_STAGE_AUTO) ts_text_add(text, "stage_trial=%u\n", TS_STAGE_TRIAL_STEPS);
  ts_text_add(text,
              "staged_batches=%llu\nstaged_hits=%llu\nstaged_rows=%llu\nstaged_input_ns=%llu\nstaged_lookup_ns=%llu\n"
              "overlapped_ns=%llu\n",
              (unsigned long long)s.batches, (unsigned long long)s.hits, (unsigned long long)s.rows,
              (unsigned long long)s.read_ns, (unsigned long long)s.lookup_ns,
              (unsigned long long)(work > s.waited_ns ? work - s.waited_ns : 0));
  ts_text_add(text, "async_embedding=%s\n", yes(t->options.async_embedding));
  double share;
  if (ts_trainer_stale_share(t, &share)) ts_text_add(text, "stale_share=%.9g\n", share);
}

static void add_ranks(ts_text *text, const ts_trainer *t) {
  const ts_over_ranks *o = t->over;
  static const char *const ways[] = {"none", "keys", "rows", "stale"};
  ts_courier_times times = {0};
  if (o->courier != NULL) times = ts_courier_count(o->courier);
  ts_text_add(text, "ranks_ahead=%s\nranks_rows_ahead=%llu\nranks_rows_after=%llu\nranks_ahead_ns=%llu\nranks_waited_ns=%llu\n",
              ways[t->options.ranks_ahead], (unsigned long long)o->rows_ahead, (unsigned long long)o->rows_after,
              (unsigned long long)times.busy_ns, (unsigned long long)times.waited_ns);
  if (o->async != NULL) ts_async_describe(t, text);
}

int32_t ts_trainer_describe(ts_trainer *t, char *out, uint64_t cap, uint64_t *needed) {
  if (t == NULL || !ts_owner_is_here(&t->owner)) return TS_EINVAL;
  ts_text text = {0};
  add_model(&text, t);
  add_schedule(&text, t);
  add_stage(&text, t);
  if (t->over != NULL) add_ranks(&text, t);
  return ts_text_return(&text, out, cap, needed);
}
