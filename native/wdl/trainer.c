/* trainer.c - opens and closes a trainer: creates its tables, plans its memory and its steps. */
#include "wdl/state.h"
#include "wdl/trainer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define HUGE_PAGE (UINT64_C(2) << 20)

static void plan_step(ts_trainer *t, ts_workspace *space) {
  ts_model_plan_step(&t->model, space);
  const ts_tables *tables = &t->options.tables;
  for (uint32_t i = 0; i < tables->count; i++)
    ts_table_plan_scratch(&tables->plans[i], &t->scratch[i], space, t->options.batch);
}

/* Lays the memory out; with space->base NULL it only measures. */
static void plan(ts_trainer *t, ts_workspace *space) {
  ts_model_plan_parameters(&t->model, space);
  if (!t->options.memory_reuse) return;
  plan_step(t, space);
  ts_model_plan_input(&t->model, space, 0);
  if (ts_trainer_two_inputs(t)) ts_model_plan_input(&t->model, space, 1);
}

static int32_t allocate(ts_trainer *t, ts_err err) {
  ts_workspace measure = {0};
  plan(t, &measure);
  t->workspace_bytes = TS_ROUND_UP(measure.used, HUGE_PAGE);
  void *base = mmap(NULL, t->workspace_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (base == MAP_FAILED)
    return ts_fail(err, TS_ENOMEM,
                   "Cannot open trainer: no memory for %llu bytes of layers and batches; use a smaller "
                   "batch or smaller layers",
                   (unsigned long long)t->workspace_bytes);
  madvise(base, t->workspace_bytes, MADV_HUGEPAGE); /* a hint; works without */
  t->workspace.base = base;
  plan(t, &t->workspace);
  t->step_space.separate = t->input_space[0].separate = t->input_space[1].separate = !t->options.memory_reuse;
  if (!t->options.memory_reuse || ts_model_bind(&t->model) == TS_OK) return TS_OK;
  return ts_fail(err, TS_EINTERNAL, "Cannot open trainer: oneDNN refused memory");
}

int32_t ts_trainer_take_input(ts_trainer *t, uint32_t which, ts_err err) {
  if (t->options.memory_reuse || t->input_space[which].count > 0) return TS_OK;
  ts_model_plan_input(&t->model, &t->input_space[which], which);
  return t->input_space[which].failed ? ts_fail(err, TS_ENOMEM, "Cannot run a step: no memory for its rows") : TS_OK;
}

int32_t ts_trainer_take_step(ts_trainer *t, ts_err err) {
  if (t->options.memory_reuse) return TS_OK;
  plan_step(t, &t->step_space);
  if (t->step_space.failed) return ts_fail(err, TS_ENOMEM, "Cannot run a step: no memory for its layers");
  return ts_model_bind(&t->model) == TS_OK ? TS_OK
                                           : ts_fail(err, TS_EINTERNAL, "Cannot run a step: oneDNN refused memory");
}

void ts_trainer_give_input(ts_trainer *t, uint32_t which) { ts_workspace_free(&t->input_space[which]); }
void ts_trainer_give_step(ts_trainer *t) { ts_workspace_free(&t->step_space); }

static int32_t create_table(ts_trainer *t, uint32_t table, ts_err err) {
  const ts_trainer_options *o = &t->options;
  const ts_table_plan *plan = &o->tables.plans[table];
  ts_config *config;
  int32_t status = ts_config_create(&config);
  if (status != TS_OK) return ts_fail(err, status, "Cannot open trainer: out of memory");
  char dim[16];
  snprintf(dim, sizeof dim, "%u", plan->dim);
  const bool bf16 = o->bf16 == TS_BF16_ROWS || o->bf16 == TS_BF16_ALL;
  const char *const pairs[][2] = {{"name", plan->name}, {"dim", dim}, {"dtype", bf16 ? "bf16" : "fp32"}};
  for (uint32_t i = 0; i < sizeof pairs / sizeof *pairs && status == TS_OK; i++)
    status = ts_config_set(config, pairs[i][0], pairs[i][1], err.text, err.cap);
  if (status == TS_OK) status = ts_part_rule_set(&o->embedding, config, err);
  for (uint32_t i = 0; i < TS_INITIALIZER_OPTIONS && status == TS_OK; i++)
    if (o->initializer[i] != NULL)
      status = ts_config_set(config, ts_initializer_options[i], o->initializer[i], err.text, err.cap);
  for (uint32_t i = 0; i < TS_TABLE_OPTIONS && status == TS_OK; i++)
    if (o->of_table[table][i] != NULL)
      status = ts_config_set(config, ts_table_options[i], o->of_table[table][i], err.text, err.cap);
  if (status == TS_OK) status = ts_table_create(t->store, config, &t->tables[table], err.text, err.cap);
  for (uint32_t c = 0; c < plan->count; c++) t->table_of[plan->columns[c]] = t->tables[table];
  ts_config_free(config);
  return status;
}

static int32_t create_stage(ts_trainer *t, ts_err err) {
  const ts_trainer_options *o = &t->options;
  const ts_stage_options stage = {.depth = o->stage,
                                  .threads = o->readers,
                                  .held = ts_trainer_two_batches(t) ? 2 : 1,
                                  .what = o->stage_what,
                                  .allocate = !o->memory_reuse,
                                  .batch = o->batch,
                                  .seed = o->seed,
                                  .data = &t->data,
                                  .store = t->store,
                                  .tables = t->table_of};
  return ts_stage_create(&stage, &t->stage, err);
}

/* With its part of every batch. */
static int32_t make_over(ts_trainer *t, ts_ranks *ranks, ts_err err) {
  t->over = calloc(1, sizeof *t->over);
  if (t->over == NULL) return ts_fail(err, TS_ENOMEM, "Cannot open trainer: out of memory");
  t->over->ranks = t->over->group = ranks;
  t->options.apart = TS_MAX(ts_ranks_shards(ranks), 1u);
  return TS_OK;
}

int32_t ts_trainer_open(ts_store *store, const ts_config *config, ts_trainer **out, char *err_text, uint32_t err_cap) {
  return ts_trainer_make(store, NULL, config, out, (ts_err){err_text, err_cap});
}

int32_t ts_trainer_make(ts_store *store, ts_ranks *ranks, const ts_config *config, ts_trainer **out, ts_err err) {
  if (store == NULL || out == NULL) return ts_fail(err, TS_EINVAL, "Cannot open trainer: a store is needed");
  *out = NULL;
  uint32_t needed;
  int32_t status = ts_store_statistics(store, NULL, 0, &needed, err.text, err.cap); /* of this process? */
  if (status != TS_OK) return status;
  ts_trainer *t = calloc(1, sizeof *t);
  if (t == NULL) return ts_fail(err, TS_ENOMEM, "Cannot open trainer: out of memory");
  ts_owner_make(&t->owner);
  t->store = store;
  t->data.fd = -1;
  t->ahead = TS_NO_STEP;
  for (uint32_t c = 0; c < TS_CATEGORIES; c++) t->table_of[c] = TS_NO_TABLE;
  if (ranks != NULL) status = make_over(t, ranks, err);
  if (status == TS_OK) status = ts_trainer_read_options(config, &t->options, err);
  const ts_trainer_options *o = &t->options;
  if (status == TS_OK) status = ts_cache_open(o->data, &t->data, err);
  if (status == TS_OK && t->data.header.rows < o->batch)
    status = ts_fail(err, TS_EINVAL,
                     "Cannot open trainer: a batch of %u is more than the %llu rows of \"%s\"; use a smaller batch",
                     o->batch, (unsigned long long)t->data.header.rows, o->data);
  if (status == TS_OK) status = ts_trainer_choose_first_layer(&t->options, &t->data, err);
  if (status == TS_OK) status = ts_model_open(&t->model, o, err);
  if (status == TS_OK) status = ts_pool_create(o->executor == TS_EXECUTOR_INLINE ? 1 : o->threads, &t->pool, err);
  if (status == TS_OK) status = allocate(t, err);
  if (status == TS_OK && ranks != NULL) status = ts_rank_open(t, err);
  if (status == TS_OK) status = ranks == NULL ? ts_trainer_plan_step(t, err) : ts_rank_plan(t, err);
  if (status == TS_OK) status = ts_executor_create(o->executor, t->pool, &t->graph, &t->executor, err);
  if (status == TS_OK) status = create_stage(t, err);
  /* Tables last: they stay in the store. */
  for (uint32_t i = 0; i < o->tables.count && status == TS_OK; i++) status = create_table(t, i, err);
  if (status == TS_OK) ts_model_initialise(&t->model, o);
  if (status == TS_OK) status = ts_trainer_take_up(t, err);
  if (status != TS_OK) {
    ts_trainer_close(t);
    return status;
  }
  *out = t;
  return TS_OK;
}

int32_t ts_trainer_close(ts_trainer *t) {
  if (t == NULL || !ts_owner_is_here(&t->owner)) return TS_OK; /* its threads are the parent's */
  ts_stage_destroy(t->stage);
  ts_rank_close(t);
  ts_executor_destroy(t->executor);
  ts_graph_free(&t->graph);
  ts_pool_destroy(t->pool);
  ts_model_close(&t->model);
  ts_cache_close(&t->data);
  ts_trainer_give_step(t);
  for (uint32_t i = 0; i < 2; i++) ts_trainer_give_input(t, i);
  if (t->workspace.base != NULL) munmap(t->workspace.base, t->workspace_bytes);
  ts_owner_free(&t->owner);
  free(t);
  return TS_OK;
}

int32_t ts_trainer_digest(ts_trainer *t, uint64_t *digest, char *err_text, uint32_t err_cap) {
  uint64_t rows = 0;
  if (t == NULL || digest == NULL)
    return ts_fail((ts_err){err_text, err_cap}, TS_EINVAL,
                   "Cannot compute a digest: a trainer and a place for it are needed");
  int32_t status = ts_owner_check(&t->owner, "trainer", (ts_err){err_text, err_cap});
  if (status == TS_OK && t->over != NULL) return ts_rank_digest(t, digest, (ts_err){err_text, err_cap});
  if (status == TS_OK) status = ts_store_digest(t->store, &rows, err_text, err_cap);
  if (status == TS_OK) *digest = ts_mix64(ts_model_digest(&t->model) ^ ts_mix64(rows));
  return status;
}
