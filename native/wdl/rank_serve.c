/* rank_serve.c - asynchronous steps: a server's side. Who comes first is served first, one message at a time, each by all
 * threads. */
#include "base/control.h"
#include "wdl/common/batch_order.h"
#include "wdl/rank_async.h"

#include <string.h>

typedef struct serving {
  ts_async_call *call;
  ts_trainer *trainer;
  uint64_t start, newest; /* when the call began; the latest step that asked for rows */
  uint64_t updates;       /* of the dense weights in this call */
  uint32_t waiting[TS_MICRO_SHARDS], count; /* trainers without a step, in their order */
} serving;

static bool failed(const ts_trainer *t) { return atomic_load_explicit(&t->failed, memory_order_relaxed); }

static void fail(serving *s, int32_t status) {
  if (s->call->status == TS_OK) s->call->status = status;
  if (status != TS_OK) atomic_store_explicit(&s->trainer->failed, true, memory_order_relaxed);
}

/* Words of the first failure alone are kept. */
static ts_err err_of(serving *s) {
  return s->call->status == TS_OK ? (ts_err){s->call->message, sizeof s->call->message} : (ts_err){NULL, 0};
}

static void fail_table(ts_trainer *t, uint32_t table, int32_t status) {
  if (status == TS_OK) return;
  t->part_status[table] = status;
  atomic_store_explicit(&t->failed, true, memory_order_relaxed);
}

static ts_async_note *reply_of(serving *s, uint32_t lane, uint64_t step) {
  ts_async_note *reply = &s->trainer->over->async->replies[lane];
  *reply = (ts_async_note){.step = step, .failed = failed(s->trainer), .cancelled = ts_control_cancelled(s->trainer->over->control)};
  return reply;
}

/* ---- rows ---- */

static void look_up(void *context, uint32_t table) {
  ts_trainer *t = context;
  fail_table(t, table, ts_rank_serve(t, table, ts_trainer_part_err(t, table)));
}

static void update(void *context, uint32_t table) {
  ts_trainer *t = context;
  fail_table(t, table, ts_rank_update(t, table, ts_trainer_part_err(t, table)));
}

static void serve_keys(serving *s, uint32_t lane, const ts_async_note *note) {
  ts_trainer *t = s->trainer;
  ts_exchange *x = ts_rank_exchange(t);
  ts_exchange_pack(x, 0);
  ts_rank_said(t, ts_exchange_keys(x, ts_rank_message_err(t)));
  if (ts_rank_silent(t)) return;
  s->newest = TS_MAX(s->newest, note->step);
  const ts_err err = err_of(s);
  if (!failed(t)) fail(s, ts_store_set_step(t->store, (int64_t)s->newest, err.text, err.cap));
  if (!failed(t)) ts_pool_run(t->pool, t->options.tables.count, look_up, t);
  ts_async_note *reply = reply_of(s, lane, note->step);
  reply->missed = ts_tickets_missing(&t->over->async->rows, note->step);
  ts_async_post(t, t->over->async->lanes[lane].trainer, reply, sizeof *reply);
  if (!ts_rank_silent(t)) ts_rank_said(t, ts_exchange_send_rows(x, 0, ts_rank_message_err(t)));
}

/* Gradients of a trainer that failed come as well, and change nothing. */
static void serve_gradients(serving *s, uint32_t lane, const ts_async_note *note) {
  ts_trainer *t = s->trainer;
  ts_rank_said(t, ts_exchange_send_gradients(ts_rank_exchange(t), ts_rank_message_err(t)));
  if (ts_rank_silent(t)) return;
  if (!failed(t) && note->failed == 0) {
    ts_pool_run(t->pool, t->options.tables.count, update, t);
    ts_tickets_finish(&t->over->async->rows, note->step);
  }
  ts_async_note *reply = reply_of(s, lane, note->step);
  ts_async_post(t, t->over->async->lanes[lane].trainer, reply, sizeof *reply);
}

/* ---- dense weights ---- */

static int32_t read_batch(ts_trainer *t, uint64_t step, ts_err err) {
  ts_batch *b = &t->over->async->batch;
  const uint32_t batch = t->options.batch;
  t->batch = b;
  return ts_cache_read(&t->data, ts_batch_start(t->options.seed, t->data.header.rows, batch, step), batch, batch, NULL, b->numerics,
                       b->keys, err);
}

static void serve_dense(serving *s, uint32_t lane, const ts_async_note *note) {
  ts_trainer *t = s->trainer;
  ts_model *m = &t->model;
  const uint32_t from = t->over->async->lanes[lane].trainer;
  ts_async_take(t, from, m->top.gradients, ts_mlp_gradient_floats(&m->top) * sizeof(float));
  if (ts_model_has_bottom(m)) ts_async_take(t, from, m->bottom.gradients, ts_mlp_gradient_floats(&m->bottom) * sizeof(float));
  if (ts_model_has_wide(m)) ts_async_take(t, from, m->loss_gradient, t->options.batch * sizeof(float));
  if (ts_rank_silent(t)) return;
  if (!failed(t) && ts_model_has_wide(m)) fail(s, read_batch(t, note->step, err_of(s)));
  if (failed(t)) return;
  ts_model_begin(m, s->call->first + s->updates++, 0);
  ts_pool_run(t->pool, ts_model_parts(m), ts_rank_apply, t);
  if (ts_model_has_wide(m)) ts_pool_run(t->pool, TS_WIDE_PARTS, ts_rank_update_wide, t);
  ts_tickets_finish(&t->over->async->dense, note->step);
}

/* ---- tickets ---- */

static void hand_out(serving *s, uint32_t lane, uint64_t step) {
  ts_trainer *t = s->trainer;
  ts_async *a = t->over->async;
  const uint32_t to = a->lanes[lane].trainer;
  ts_async_note *reply = reply_of(s, lane, step);
  reply->done = s->call->done;
  if (step != TS_NO_STEP) {
    reply->missed = ts_tickets_missing(&a->dense, step);
    ts_model_copy_weights(&t->model, a->weights[lane]);
  }
  ts_async_post(t, to, reply, sizeof *reply);
  if (step != TS_NO_STEP) ts_async_post(t, to, a->weights[lane], a->floats * sizeof(float));
}

static void count(serving *s, uint32_t lane, const ts_async_note *note) {
  ts_async *a = s->trainer->over->async;
  ts_async_call *c = s->call;
  if (!ts_tickets_finish(&a->tickets, note->step)) return;
  c->losses[note->step - c->first] = note->loss;
  c->at_ns[c->done++] = ts_now_ns() - s->start;
  a->batches[lane]++;
  a->missing[TS_MIN(note->missed, TS_MOST_STALENESS)]++;
}

/* Once something failed, or a call is cancelled, no more steps are handed out; those under way end. */
static void serve_next(serving *s, uint32_t lane, const ts_async_note *note) {
  ts_async *a = s->trainer->over->async;
  if (note->step != TS_NO_STEP) count(s, lane, note);
  s->waiting[s->count++] = lane;
  const bool ends = note->failed || note->cancelled || failed(s->trainer) || ts_control_cancelled(s->trainer->over->control);
  if (ends) a->tickets.end = a->tickets.next;
  ts_control_set((uint64_t *)s->trainer->over->control, s->call->before + s->call->done);
  while (s->count > 0) {
    uint64_t step = TS_NO_STEP;
    if (!ts_tickets_take(&a->tickets, &step) && a->tickets.next < a->tickets.end) return; /* not before others are done */
    hand_out(s, s->waiting[0], step);
    memmove(s->waiting, s->waiting + 1, --s->count * sizeof *s->waiting);
  }
}

/* ---- the loop ---- */

static void serve(serving *s, uint32_t from, uint32_t *gone) {
  ts_trainer *t = s->trainer;
  ts_async_note note = {0};
  ts_async_take(t, from, &note, sizeof note);
  ts_async_settle(t, from); /* it has what it was sent before */
  if (ts_rank_silent(t)) return;
  ts_async_use(t, from);
  switch (note.what) {
  case TS_ASYNC_NEXT: serve_next(s, from, &note); break;
  case TS_ASYNC_KEYS: serve_keys(s, from, &note); break;
  case TS_ASYNC_GRADIENTS: serve_gradients(s, from, &note); break;
  case TS_ASYNC_DENSE: serve_dense(s, from, &note); break;
  default: (*gone)++; break;
  }
}

void ts_async_serve(ts_async_call *c) {
  ts_trainer *t = c->trainer;
  ts_async *a = t->over->async;
  serving s = {.call = c, .trainer = t, .start = ts_now_ns(), .newest = c->first};
  const uint32_t bound = t->options.ranks_staleness;
  ts_tickets_begin(&a->tickets, c->first, c->first + c->steps, bound);
  ts_tickets_begin(&a->rows, c->first, c->first + c->steps, bound);
  ts_tickets_begin(&a->dense, c->first, c->first + c->steps, bound);
  memset(t->part_status, 0, sizeof t->part_status);
  atomic_store(&t->failed, false);
  atomic_store(&t->dense_failed, false);
  t->rows = t->options.batch;
  t->ahead = TS_NO_STEP;
  fail(&s, ts_trainer_take_step(t, err_of(&s)));
  for (uint32_t gone = 0; gone < t->over->ranks->trainers && !ts_rank_silent(t);) {
    uint32_t from;
    ts_async_said(t, ts_ranks_next(t->over->ranks, &from), "wait for a trainer");
    if (ts_rank_silent(t)) break;
    serve(&s, from, &gone);
  }
  ts_async_leave(t);
  ts_trainer_give_step(t);
  t->batch = NULL;
  fail(&s, ts_trainer_failure(t, err_of(&s)));
}
