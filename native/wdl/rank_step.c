/* rank_step.c - the tasks of a training step over ranks and the graph they form.
 *
 *   distinct keys of the tables -> keys sent -> rows looked up by their owners -> rows sent -> into the network's input
 *     -> micro-shards of this rank -> outputs of all samples, on every rank
 *     -> gradients: of parts of the dense weights, of the tables' keys -> those of keys sent
 *     -> updates of the tables by their owners, beside them dense gradients summed over the ranks
 *     -> the optimizer's step of each part, columns of the wide part
 *
 * Messages follow one another by edges, in the same order on every rank. Every rank has the whole batch and the outputs of
 * all its samples, so loss, the wide part's gradients and whether training diverged are computed everywhere alike. A rank
 * that fails still takes part in the messages; all learn of it with the outputs, before anything is updated, or at the step's
 * end. */
#include "wdl/common/metrics.h"
#include "wdl/trainer.h"

#include <string.h>

static bool stopped(ts_trainer *t) { return atomic_load_explicit(&t->failed, memory_order_relaxed); }
static void stop(ts_trainer *t) { atomic_store_explicit(&t->failed, true, memory_order_relaxed); }

static void fail_dense(ts_trainer *t) {
  atomic_store_explicit(&t->dense_failed, true, memory_order_relaxed);
  stop(t);
}

static void fail_table(ts_trainer *t, uint32_t table, int32_t status) {
  t->part_status[table] = status;
  if (status != TS_OK) stop(t);
}

/* ---- rows ---- */

/* What the step before this one did for it already is not done again. */
static bool was_asked(const ts_trainer *t) { return t->ahead == t->step; }

static void ask(void *context, uint32_t table) {
  ts_trainer *t = context;
  if (!was_asked(t)) ts_rank_ask(t, ts_rank_exchange(t), table, t->batch->keys);
}

static void send_keys(void *context, uint32_t part) {
  ts_trainer *t = context;
  if (was_asked(t)) return;
  ts_exchange_pack(ts_rank_exchange(t), part);
  if (t->over->lane != NULL) ts_async_tell(t, TS_ASYNC_KEYS);
  if (!ts_rank_silent(t)) ts_rank_said(t, ts_exchange_keys(ts_rank_exchange(t), ts_rank_message_err(t)));
}

static void serve(void *context, uint32_t table) {
  ts_trainer *t = context;
  if (!ts_rank_silent(t)) fail_table(t, table, ts_rank_serve(t, table, ts_trainer_part_err(t, table)));
}

static void send_rows(void *context, uint32_t part) {
  ts_trainer *t = context;
  const ts_ahead way = was_asked(t) ? t->options.ranks_ahead : TS_AHEAD_NONE;
  (void)part;
  if (t->over->lane != NULL) ts_async_hear(t);
  if (!ts_rank_silent(t) && way != TS_AHEAD_STALE)
    ts_rank_said(t, ts_exchange_send_rows(ts_rank_exchange(t), way == TS_AHEAD_ROWS, ts_rank_message_err(t)));
  uint64_t parts[2];
  ts_exchange_count_parts(ts_rank_exchange(t), parts);
  *(way >= TS_AHEAD_ROWS ? &t->over->rows_ahead : &t->over->rows_after) += parts[0];
  t->over->rows_after += parts[1];
}

static void spread(void *context, uint32_t table) {
  ts_trainer *t = context;
  if (!stopped(t)) ts_rank_spread(t, table, 0, t->batch->keys, NULL);
}

static void push(void *context, uint32_t table) {
  ts_trainer *t = context;
  if (!stopped(t)) ts_rank_push(t, table, 0);
}

static void send_gradients(void *context, uint32_t part) {
  ts_trainer *t = context;
  (void)part;
  if (t->over->lane != NULL) ts_async_tell(t, TS_ASYNC_GRADIENTS);
  if (!ts_rank_silent(t)) ts_rank_said(t, ts_exchange_send_gradients(ts_rank_exchange(t), ts_rank_message_err(t)));
}

static void update(void *context, uint32_t table) {
  ts_trainer *t = context;
  if (!stopped(t)) fail_table(t, table, ts_rank_update(t, table, ts_trainer_part_err(t, table)));
}

/* ---- layers ---- */

static int32_t forward(ts_trainer *t, ts_batch *batch, uint32_t shard, bool training) {
  const uint32_t piece = ts_ranks_first_shard(t->over->group) + shard;
  const ts_mlp_rows at = ts_mlp_cut(&t->model.top, piece, 0, t->rows);
  if (!training && at.rows == 0) return TS_OK;
  return ts_model_forward(&t->model, 0, at, training, batch);
}

static void run_shard(void *context, uint32_t shard) {
  ts_trainer *t = context;
  ts_model *m = &t->model;
  if (stopped(t)) return;
  const ts_mlp_rows at = ts_mlp_cut(&m->top, ts_ranks_first_shard(t->over->group) + shard, 0, t->rows);
  int32_t status = forward(t, t->batch, shard, true);
  for (uint32_t r = at.first; r < at.first + at.rows; r++)
    m->loss_gradient[r] = (float)((ts_sigmoid(m->logit[r]) - (t->batch->labels[r] > 0)) / t->options.batch);
  if (status == TS_OK) status = ts_model_backward(m, 0, at);
  if (status != TS_OK) fail_dense(t);
}

/* What a rank tells of a step: whether it failed, and then its samples' outputs. */
typedef struct report {
  uint32_t failed;
  float outputs[];
} report;

static size_t report_bytes(const ts_trainer *t) { return sizeof(report) + t->over->most * sizeof(float); }

/* Samples of every rank are those of one cut of the batch. */
static void gather(ts_trainer *t) {
  ts_over_ranks *o = t->over;
  const ts_mlp_rows mine = ts_rank_samples(t);
  report *told = o->told;
  told->failed = stopped(t);
  memcpy(told->outputs, t->model.logit + mine.first, mine.rows * sizeof(float));
  if (!ts_rank_silent(t)) ts_rank_said(t, ts_ranks_gather(o->group, told, report_bytes(t), o->heard, ts_rank_message_err(t)));
  if (ts_rank_silent(t)) return;
  for (uint32_t r = 0; r < o->group->ops.size; r++) {
    const report *heard = (const void *)((const char *)o->heard + r * report_bytes(t));
    if (heard->failed) stop(t);
    if (r >= o->group->trainers) continue;
    const uint32_t first = (uint32_t)((uint64_t)t->rows * r / o->group->trainers);
    const uint32_t end = (uint32_t)((uint64_t)t->rows * (r + 1) / o->group->trainers);
    memcpy(t->model.logit + first, heard->outputs, (end - first) * sizeof(float));
  }
}

static void gather_outputs(void *context, uint32_t part) {
  ts_trainer *t = context;
  ts_model *m = &t->model;
  (void)part;
  gather(t);
  for (uint32_t r = 0; r < t->rows && !stopped(t); r++) {
    const bool positive = t->batch->labels[r] > 0;
    m->losses[r] = ts_logloss(m->logit[r], positive);
    m->loss_gradient[r] = (float)((ts_sigmoid(m->logit[r]) - positive) / t->options.batch);
  }
}

/* Micro-batches of this rank, each of as many of its micro-shards; 1 where it does not train. */
static uint32_t pieces_of(const ts_trainer *t) {
  return TS_MAX(1u, TS_MIN(t->options.micro_batch, ts_ranks_shards(t->over->group)));
}

static ts_mlp *mlp_of(ts_model *m, uint32_t *part) {
  const uint32_t of_top = ts_mlp_update_parts(&m->top);
  if (*part < of_top) return &m->top;
  *part -= of_top;
  return &m->bottom;
}

/* Of one micro-batch: parts of the dense weights, one behind the other. */
static void gradient(void *context, uint32_t part) {
  ts_trainer *t = context;
  const uint32_t parts = ts_model_parts(&t->model), each = ts_ranks_shards(t->over->group) / pieces_of(t), from = part / parts * each;
  part %= parts;
  const ts_mlp *mlp = mlp_of(&t->model, &part);
  if (!stopped(t) && ts_mlp_gradient_apart(mlp, part, ts_ranks_first_shard(t->over->group), from, from + each) != TS_OK) fail_dense(t);
}

static int32_t sum(ts_trainer *t, const ts_mlp *mlp) {
  return ts_ranks_sum(t->over->group, mlp->gradients, ts_mlp_gradient_floats(mlp), t->over->scratch, ts_rank_message_err(t));
}

static void sum_gradients(void *context, uint32_t part) {
  ts_trainer *t = context;
  (void)part;
  if (ts_rank_silent(t) || !ts_ranks_trains(t->over->group)) return;
  ts_rank_said(t, sum(t, &t->model.top));
  if (!ts_rank_silent(t) && ts_model_has_bottom(&t->model)) ts_rank_said(t, sum(t, &t->model.bottom));
}

void ts_rank_apply(void *context, uint32_t part) {
  ts_trainer *t = context;
  const ts_mlp *mlp = mlp_of(&t->model, &part);
  if (!stopped(t)) ts_mlp_apply(mlp, part);
}

/* Forward left the buckets of this rank's samples. */
void ts_rank_update_wide(void *context, uint32_t part) {
  ts_trainer *t = context;
  ts_wide *wide = &t->model.wide;
  if (stopped(t)) return;
  const ts_mlp_rows mine = ts_rank_samples(t);
  const uint32_t end = mine.first + mine.rows;
  if (part < TS_CATEGORIES) {
    ts_wide_find(wide, part, 0, mine.first, t->batch->keys);
    ts_wide_find(wide, part, end, t->rows - end, t->batch->keys);
  }
  ts_wide_update(wide, part, t->options.batch, t->batch->numerics, t->model.loss_gradient);
}

/* ---- the graph ---- */

/* Tasks `from` to before `from + parts` of a phase that wait for `before`, and what waits for them all. */
static uint32_t add_some(ts_graph *g, ts_task_run *run, uint32_t from, uint32_t parts, uint32_t phase, uint32_t kind,
                         uint32_t before) {
  const uint32_t first = g->count;
  for (uint32_t p = 0; p < parts; p++) {
    const uint32_t task = ts_graph_add(g, run, from + p, phase, kind);
    if (before != UINT32_MAX) ts_graph_edge(g, before, task);
  }
  const uint32_t done = ts_graph_add(g, NULL, 0, phase, kind);
  for (uint32_t p = 0; p < parts; p++) ts_graph_edge(g, first + p, done);
  if (parts == 0 && before != UINT32_MAX) ts_graph_edge(g, before, done);
  return done;
}

static uint32_t add_all(ts_graph *g, ts_task_run *run, uint32_t parts, uint32_t phase, uint32_t kind, uint32_t before) {
  return add_some(g, run, 0, parts, phase, kind, before);
}

/* A task without work behind another one. */
static uint32_t add_after(ts_graph *g, uint32_t before, uint32_t phase) {
  const uint32_t task = ts_graph_add(g, NULL, 0, phase, TS_PHASE_LOOKUP);
  ts_graph_edge(g, before, task);
  return task;
}

/* Micro-shards of this rank, a micro-batch a phase from *phase on, which becomes the last of them. The dense gradients of a
 * micro-batch are computed beside the micro-shards of the next one; those of the last come after the outputs, behind *gradients. */
static uint32_t add_shards(ts_trainer *t, uint32_t parts, uint32_t *phase, uint32_t before, uint32_t *gradients) {
  ts_graph *g = &t->graph;
  const uint32_t pieces = pieces_of(t), each = ts_ranks_shards(t->over->group) / pieces;
  uint32_t done = before;
  *gradients = before;
  for (uint32_t piece = 0; piece < pieces; piece++, *phase += piece < pieces) {
    const uint32_t shards = add_some(g, run_shard, piece * each, each, *phase, TS_PHASE_DENSE, done);
    if (piece > 0) {
      ts_graph_edge(g, done, *gradients = add_after(g, *gradients, *phase));
      *gradients = add_some(g, gradient, (piece - 1) * parts, parts, *phase, TS_PHASE_DENSE, *gradients);
    }
    done = shards;
  }
  return done;
}

/* Phases follow one another under the executor "pool"; the edges say what must. With `ahead` the messages of the next batch's
 * keys go while micro-shards compute, those of gradients and of its rows while dense gradients do. */
int32_t ts_rank_plan_step(ts_trainer *t, ts_err err) {
  ts_graph *g = &t->graph;
  ts_ranks *ranks = t->over->group;
  const bool trains = ts_ranks_trains(ranks), ahead = t->options.ranks_ahead != TS_AHEAD_NONE;
  const uint32_t tables = t->options.tables.count, parts = trains ? ts_model_parts(&t->model) : 0;
  const uint32_t wide = trains && ts_model_has_wide(&t->model) ? TS_WIDE_PARTS : 0;
  uint32_t done = add_all(g, ask, tables, 0, TS_PHASE_LOOKUP, UINT32_MAX), keys = 0, rows = 0;
  done = add_all(g, send_keys, 1, 1, TS_PHASE_LOOKUP, done);
  done = add_all(g, serve, tables, 2, TS_PHASE_LOOKUP, done);
  done = add_all(g, send_rows, 1, 3, TS_PHASE_LOOKUP, done);
  if (ahead) keys = add_all(g, ts_rank_ahead_ask, tables, 4, TS_PHASE_LOOKUP, done);
  done = add_all(g, spread, tables, 4, TS_PHASE_LOOKUP, done);
  if (ahead) keys = add_all(g, ts_rank_ahead_keys, 1, 5, TS_PHASE_LOOKUP, keys);
  uint32_t phase = 6, gradients;
  done = add_shards(t, parts, &phase, done, &gradients);
  if (ahead) {
    keys = add_all(g, ts_rank_ahead_wait, 1, phase + 1, TS_PHASE_LOOKUP, keys);
    ts_graph_edge(g, keys, done = add_after(g, done, phase + 1));
  }
  done = add_all(g, gather_outputs, 1, phase + 2, TS_PHASE_DENSE, done);
  const uint32_t outputs = done;
  uint32_t sent = add_all(g, push, tables, phase + 3, TS_PHASE_UPDATE, outputs);
  if (ahead) {
    rows = add_all(g, ts_rank_ahead_serve, tables, phase + 3, TS_PHASE_LOOKUP, outputs);
    ts_graph_edge(g, rows, sent = add_after(g, sent, phase + 3));
    sent = add_all(g, ts_rank_ahead_send, 1, phase + 4, TS_PHASE_UPDATE, sent);
  }
  ts_graph_edge(g, outputs, gradients = add_after(g, gradients, phase + (ahead ? 5 : 3)));
  gradients = add_some(g, gradient, (pieces_of(t) - 1) * parts, parts, phase + (ahead ? 5 : 3), TS_PHASE_DENSE, gradients);
  if (ahead) ts_graph_edge(g, gradients, sent = add_after(g, sent, phase + 5));
  sent = add_all(g, ahead ? ts_rank_ahead_wait : send_gradients, 1, phase + 6, TS_PHASE_UPDATE, sent);
  const uint32_t summed = ts_graph_add(g, sum_gradients, 0, phase + 7, TS_PHASE_DENSE);
  ts_graph_edge(g, gradients, summed);
  ts_graph_edge(g, sent, summed);
  add_all(g, update, tables, phase + 7, TS_PHASE_UPDATE, sent);
  if (t->over->async == NULL) { /* otherwise a server steps them */
    add_all(g, ts_rank_apply, parts, phase + 8, TS_PHASE_DENSE, summed);
    add_all(g, ts_rank_update_wide, wide, phase + 8, TS_PHASE_DENSE, summed);
  }
  return ts_graph_finish(g, err);
}

/* ---- evaluation ---- */

/* What the passes of a scored batch share. */
typedef struct scored {
  ts_trainer *trainer;
  ts_batch *batch;
  uint64_t absent[TS_CATEGORIES];
} scored;

static void ask_scored(void *context, uint32_t table) {
  scored *s = context;
  ts_rank_ask(s->trainer, ts_rank_exchange(s->trainer), table, s->batch->keys);
}

static void find_scored(void *context, uint32_t table) {
  ts_trainer *t = ((scored *)context)->trainer;
  if (!ts_rank_silent(t)) fail_table(t, table, ts_rank_find(t, table, ts_trainer_part_err(t, table)));
}

static void spread_scored(void *context, uint32_t table) {
  scored *s = context;
  if (!stopped(s->trainer)) ts_rank_spread(s->trainer, table, 0, s->batch->keys, &s->absent[table]);
}

static void score_shard(void *context, uint32_t shard) {
  scored *s = context;
  if (!stopped(s->trainer) && forward(s->trainer, s->batch, shard, false) != TS_OK) fail_dense(s->trainer);
}

int32_t ts_rank_score(ts_trainer *t, ts_batch *batch, int32_t status, uint64_t *pairs, uint64_t *absent, ts_err err) {
  scored s = {.trainer = t, .batch = batch};
  const uint32_t tables = t->options.tables.count;
  status = ts_rank_agree(t, status, err);
  if (status != TS_OK) return status;
  memset(t->part_status, 0, sizeof t->part_status);
  atomic_store(&t->failed, false);
  atomic_store(&t->dense_failed, false);
  ts_model_begin(&t->model, t->step, 0);
  ts_pool_run(t->pool, tables, ask_scored, &s);
  send_keys(t, 1); /* with each row whether there is one */
  ts_pool_run(t->pool, tables, find_scored, &s);
  send_rows(t, 0);
  ts_pool_run(t->pool, tables, spread_scored, &s);
  ts_pool_run(t->pool, ts_ranks_shards(t->over->group), score_shard, &s);
  gather(t);
  for (uint32_t i = 0; i < tables; i++) {
    *pairs += ts_rank_exchange(t)->asked.folds[i].items;
    *absent += s.absent[i];
  }
  for (uint32_t i = 0; i < tables && status == TS_OK; i++)
    if (t->part_status[i] != TS_OK) status = ts_fail(err, t->part_status[i], "%s", t->part_message[i]);
  if (status == TS_OK && atomic_load(&t->dense_failed))
    status = ts_fail(err, TS_EINTERNAL, "Cannot evaluate: oneDNN refused a matrix product");
  return ts_rank_agree(t, status, err);
}
