/* step.c - the tasks of a training step and the graph they form.
 *
 *   lookups of the tables (-> products of distinct rows) -> shards of micro-batch 0 -> shards of micro-batch 1 -> ... -> updates of the tables
 *                               |                          |                               columns of the wide part
 *                               gradients of the parts     gradients ..., and then the optimizer's step of each part
 *
 * Gradients of a micro-batch are summed while the shards of the next one run. With asynchronous embedding, lookups of
 * the next batch are ready from the start and come before the update of their table, so they read what the step before
 * this one left: the same on any number of threads. */
#include "wdl/common/metrics.h"
#include "wdl/trainer.h"

static bool stopped(ts_trainer *t) { return atomic_load_explicit(&t->failed, memory_order_relaxed); }
static void stop(ts_trainer *t) { atomic_store_explicit(&t->failed, true, memory_order_relaxed); }

static void look_up_table(void *context, uint32_t table) {
  ts_trainer *t = context;
  if (stopped(t) || t->ahead == t->step) return; /* read already, while the step before computed */
  t->part_status[table] = ts_trainer_look_up(t, table, t->batch, t->step, ts_trainer_part_err(t, table));
  if (t->part_status[table] != TS_OK) stop(t);
}

/* A failure is left to the step that needs the rows: it looks them up again and tells of it. */
static void look_ahead(void *context, uint32_t table) {
  ts_trainer *t = context;
  if (stopped(t) || t->next == NULL) return;
  char text[512];
  if (ts_trainer_look_up(t, table, t->next, t->step + 1, (ts_err){text, sizeof text}) != TS_OK)
    atomic_store_explicit(&t->ahead_failed, true, memory_order_relaxed);
}

static void lay_out(void *context, uint32_t part) {
  (void)part;
  ts_trainer *t = context;
  if (!stopped(t)) ts_model_lay_out(&t->model, ts_trainer_input(t, t->step));
}

static void fail_dense(ts_trainer *t) {
  atomic_store_explicit(&t->dense_failed, true, memory_order_relaxed);
  stop(t);
}

static void multiply_vector(void *context, uint32_t vector) {
  ts_trainer *t = context;
  if (!stopped(t) && ts_model_multiply(&t->model, vector) != TS_OK) fail_dense(t);
}

static void run_shard(void *context, uint32_t part) {
  ts_trainer *t = context;
  ts_model *m = &t->model;
  if (stopped(t)) return;
  const uint32_t batch = t->options.batch, which = ts_trainer_input(t, t->step);
  const ts_mlp_rows at = ts_mlp_cut(&m->top, part / m->shards, part % m->shards, batch);
  int32_t status = ts_model_forward(m, which, at, true, t->batch);
  for (uint32_t r = at.first; r < at.first + at.rows; r++) {
    const bool positive = t->batch->labels[r] > 0;
    m->losses[r] = ts_logloss(m->logit[r], positive);
    m->loss_gradient[r] = (float)((ts_sigmoid(m->logit[r]) - positive) / batch);
  }
  if (status == TS_OK) status = ts_model_backward(m, which, at);
  if (status != TS_OK) fail_dense(t);
}

static void update_part(void *context, uint32_t part) {
  ts_trainer *t = context;
  const uint32_t parts = ts_model_parts(&t->model);
  if (!stopped(t) && ts_model_update(&t->model, part % parts, part / parts) != TS_OK) fail_dense(t);
}

static void update_wide(void *context, uint32_t part) {
  ts_trainer *t = context;
  if (!stopped(t)) ts_wide_update(&t->model.wide, part, t->options.batch, t->batch->numerics, t->model.loss_gradient);
}

static void update_table(void *context, uint32_t table) {
  ts_trainer *t = context;
  if (stopped(t)) return;
  t->part_status[table] = ts_trainer_update(t, table, ts_trainer_part_err(t, table));
  if (t->part_status[table] != TS_OK) stop(t);
}

/* Gradients of one micro-batch for every part of the dense weights, in `gradients` those of the one before. */
static void add_gradients(ts_trainer *t, uint32_t piece, uint32_t phase, uint32_t shards_done, uint32_t *gradients) {
  const uint32_t parts = ts_model_parts(&t->model);
  for (uint32_t p = 0; p < parts; p++) {
    const uint32_t task = ts_graph_add(&t->graph, update_part, piece * parts + p, phase, TS_PHASE_DENSE);
    ts_graph_edge(&t->graph, shards_done, task);
    if (piece > 0) ts_graph_edge(&t->graph, gradients[p], task);
    gradients[p] = task;
  }
}

/* Of each vector what its distinct rows give; returns the task that all of it is done at. */
static uint32_t multiply_vectors(ts_trainer *t, uint32_t looked_up) {
  ts_graph *g = &t->graph;
  const uint32_t laid_out = ts_graph_add(g, lay_out, 0, 1, TS_PHASE_DENSE);
  ts_graph_edge(g, looked_up, laid_out);
  const uint32_t first = g->count;
  for (uint32_t v = 0; v < t->model.columns.count; v++)
    ts_graph_edge(g, laid_out, ts_graph_add(g, multiply_vector, v, 2, TS_PHASE_DENSE));
  const uint32_t multiplied = ts_graph_add(g, NULL, 0, 2, TS_PHASE_DENSE);
  for (uint32_t v = 0; v < t->model.columns.count; v++) ts_graph_edge(g, first + v, multiplied);
  return multiplied;
}

#define MOST_PARTS 16384u

int32_t ts_trainer_plan_step(ts_trainer *t, ts_err err) {
  ts_graph *g = &t->graph;
  const ts_model *m = &t->model;
  const bool ahead = t->options.async_embedding;
  const uint32_t tables = t->options.tables.count;
  uint32_t looked_ahead[TS_CATEGORIES], gradients[MOST_PARTS];
  if (ts_model_parts(m) > MOST_PARTS)
    return ts_fail(err, TS_EINVAL,
                   "Cannot open trainer: the dense weights have %u parts; %u are possible: use smaller layers",
                   ts_model_parts(m), MOST_PARTS);
  uint32_t lookups[TS_CATEGORIES];
  for (uint32_t c = 0; c < tables; c++) lookups[c] = ts_graph_add(g, look_up_table, c, 0, TS_PHASE_LOOKUP);
  const uint32_t looked_up = ts_graph_add(g, NULL, 0, 0, TS_PHASE_LOOKUP);
  for (uint32_t c = 0; c < tables; c++) ts_graph_edge(g, lookups[c], looked_up);
  const bool distinct = ts_model_by_distinct_rows(m);
  const uint32_t ready = distinct ? multiply_vectors(t, looked_up) : looked_up, base = distinct ? 3 : 1;
  uint32_t done = ready, before = 0;
  for (uint32_t piece = 0; piece < m->pieces; piece++) {
    const uint32_t phase = base + piece, first = g->count;
    for (uint32_t s = 0; s < m->shards; s++) {
      const uint32_t shard = ts_graph_add(g, run_shard, piece * m->shards + s, phase, TS_PHASE_DENSE);
      /* Shards of one number share their working memory. */
      ts_graph_edge(g, piece == 0 ? ready : before + s, shard);
    }
    if (piece > 0) add_gradients(t, piece - 1, phase, done, gradients);
    for (uint32_t c = 0; piece == 0 && ahead && c < tables; c++) {
      looked_ahead[c] = ts_graph_add(g, look_ahead, c, phase, TS_PHASE_LOOKUP);
      ts_graph_edge(g, lookups[c], looked_ahead[c]); /* they work in the table's scratch memory */
    }
    done = ts_graph_add(g, NULL, 0, phase, TS_PHASE_DENSE);
    for (uint32_t s = 0; s < m->shards; s++) ts_graph_edge(g, first + s, done);
    before = first;
  }
  add_gradients(t, m->pieces - 1, base + m->pieces, done, gradients);
  for (uint32_t part = 0; ts_model_has_wide(m) && part < TS_WIDE_PARTS; part++)
    ts_graph_edge(g, done, ts_graph_add(g, update_wide, part, base + m->pieces, TS_PHASE_DENSE));
  for (uint32_t c = 0; c < tables; c++) {
    const uint32_t update = ts_graph_add(g, update_table, c, base + 1 + m->pieces, TS_PHASE_UPDATE);
    ts_graph_edge(g, distinct ? gradients[t->options.tables.plans[c].vector] : done, update);
    if (ahead) ts_graph_edge(g, looked_ahead[c], update);
  }
  return ts_graph_finish(g, err);
}
