/* rank_async.c - asynchronous steps: memory, a trainer's side, and what follows when all steps are done. */
#include "wdl/rank_async.h"
#include "base/control.h"
#include "wdl/state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- opening ---- */

static bool open_batch(ts_async *a, const ts_trainer *t) {
  const uint64_t batch = t->options.batch;
  a->batch.numerics = malloc(TS_NUMERICS * batch * sizeof(float));
  a->batch.keys = malloc(TS_CATEGORIES * batch * sizeof(int64_t));
  return a->batch.numerics != NULL && a->batch.keys != NULL;
}

int32_t ts_async_open(ts_trainer *t, const ts_exchange_options *options, ts_err err) {
  ts_ranks *ranks = t->over->ranks;
  const bool trains = ts_ranks_trains(ranks), first = ranks->ops.rank == ranks->first_owner;
  const uint32_t lanes = trains ? 1 : ranks->trainers;
  ts_async *a = t->over->async = calloc(1, sizeof *a);
  if (a == NULL) return ts_fail(err, TS_ENOMEM, "Cannot open trainer over ranks: out of memory");
  ts_exchange_options whole = *options; /* a trainer has the whole batch */
  whole.own = options->items;
  a->floats = ts_model_weights(&t->model);
  int32_t status = TS_OK;
  for (uint32_t i = 0; i < lanes && status == TS_OK; i++) {
    status = ts_lane_open(&a->lanes[i], ranks, trains ? ranks->ops.rank : i, err);
    if (status == TS_OK) status = ts_exchange_open(&a->exchanges[i], a->lanes[i].ranks, &whole, err);
    a->weights[i] = trains || first ? malloc(a->floats * sizeof(float)) : NULL;
    if (status == TS_OK && (trains || first) && a->weights[i] == NULL) status = TS_ENOMEM;
  }
  if (status == TS_OK && first && ts_model_has_wide(&t->model) && !open_batch(a, t)) status = TS_ENOMEM;
  if (status != TS_ENOMEM) return status;
  return ts_fail(err, status, "Cannot open trainer over ranks: no memory for what %u trainers are sent", lanes);
}

void ts_async_close(ts_trainer *t) {
  ts_async *a = t->over->async;
  if (a == NULL) return;
  for (uint32_t i = 0; i < TS_MICRO_SHARDS; i++) {
    ts_exchange_close(&a->exchanges[i]);
    ts_lane_close(&a->lanes[i]);
    free(a->weights[i]);
  }
  free(a->batch.numerics);
  free(a->batch.keys);
  free(a);
}

/* ---- messages ---- */

void ts_async_said(ts_trainer *t, int code, const char *what) {
  ts_rank_said(t, ts_ranks_failed(t->over->ranks, code, what, ts_rank_message_err(t)));
}

void ts_async_post(ts_trainer *t, uint32_t to, const void *send, uint64_t bytes) {
  if (!ts_rank_silent(t)) ts_async_said(t, ts_ranks_post(t->over->ranks, to, send, bytes), "send");
}

void ts_async_take(ts_trainer *t, uint32_t from, void *receive, uint64_t bytes) {
  if (!ts_rank_silent(t)) ts_async_said(t, ts_ranks_take(t->over->ranks, from, receive, bytes), "receive");
}

void ts_async_settle(ts_trainer *t, uint32_t to) {
  if (!ts_rank_silent(t)) ts_async_said(t, ts_ranks_settle(t->over->ranks, to), "send");
}

/* ---- a trainer ---- */

/* To all servers, or of NEXT and DENSE to the first. */
void ts_async_tell(ts_trainer *t, uint32_t what) {
  const ts_ranks *ranks = t->over->ranks;
  ts_async_note *note = &t->over->async->told[what];
  note->what = what;
  if (what == TS_ASYNC_KEYS || what == TS_ASYNC_GRADIENTS) {
    note->step = t->step;
    note->failed = atomic_load_explicit(&t->failed, memory_order_relaxed);
  }
  const uint32_t end = what == TS_ASYNC_NEXT || what == TS_ASYNC_DENSE ? ranks->first_owner + 1 : ranks->ops.size;
  for (uint32_t r = ranks->first_owner; r < end; r++) ts_async_post(t, r, note, sizeof *note);
}

/* A reply of every server. One that has failed ends this step. */
void ts_async_hear(ts_trainer *t) {
  ts_async *a = t->over->async;
  for (uint32_t r = t->over->ranks->first_owner; r < t->over->ranks->ops.size; r++) {
    ts_async_note note = {0};
    ts_async_take(t, r, &note, sizeof note);
    a->missed = TS_MAX(a->missed, note.missed);
    a->heard_failed |= note.failed != 0;
    a->heard_cancelled |= note.cancelled != 0;
  }
  if (a->heard_failed) atomic_store_explicit(&t->failed, true, memory_order_relaxed);
}

static void send_dense(ts_trainer *t) {
  const ts_model *m = &t->model;
  const uint32_t first = ts_async_first(t);
  t->over->async->told[TS_ASYNC_DENSE].step = t->step;
  ts_async_tell(t, TS_ASYNC_DENSE);
  ts_async_post(t, first, m->top.gradients, ts_mlp_gradient_floats(&m->top) * sizeof(float));
  if (ts_model_has_bottom(m)) ts_async_post(t, first, m->bottom.gradients, ts_mlp_gradient_floats(&m->bottom) * sizeof(float));
  if (ts_model_has_wide(m)) ts_async_post(t, first, m->loss_gradient, t->options.batch * sizeof(float));
}

static void settle_all(ts_trainer *t) {
  for (uint32_t r = t->over->ranks->first_owner; r < t->over->ranks->ops.size; r++) ts_async_settle(t, r);
}

/* The step that was handed out. Whether it is done. */
static bool run_step(ts_async_call *c, double *loss) {
  ts_trainer *t = c->trainer;
  const ts_err err = {c->message, sizeof c->message};
  c->status = ts_trainer_run_tasks(t, c->phase_ns, err);
  if (c->status != TS_OK) return false; /* before the first message */
  c->status = ts_trainer_failure(t, err);
  const bool whole = !atomic_load(&t->failed);
  if (whole) send_dense(t);
  ts_async_hear(t);
  settle_all(t); /* what was sent may change from here on */
  if (!whole || ts_rank_silent(t)) {
    ts_trainer_give_step(t);
    ts_stage_give_back(t->stage, t->step);
    return false;
  }
  const uint64_t step = t->step;
  c->status = ts_trainer_end_step(t, loss, err); /* that of a model that diverged is done like any other */
  t->step = step;
  return true;
}

void ts_async_work(ts_async_call *c) {
  ts_trainer *t = c->trainer;
  ts_async *a = t->over->async;
  const uint32_t first = ts_async_first(t);
  ts_async_note *next = &a->told[TS_ASYNC_NEXT];
  *next = (ts_async_note){.step = TS_NO_STEP};
  ts_async_use(t, 0);
  for (;;) {
    const uint64_t start = ts_now_ns();
    ts_async_note answer = {0};
    next->failed = c->status != TS_OK || a->heard_failed;
    next->cancelled = a->heard_cancelled || ts_control_cancelled(t->over->control);
    ts_async_tell(t, TS_ASYNC_NEXT);
    ts_async_take(t, first, &answer, sizeof answer);
    ts_async_settle(t, first);
    ts_control_set((uint64_t *)t->over->control, c->before + answer.done);
    if (ts_rank_silent(t) || answer.step == TS_NO_STEP) break;
    ts_async_take(t, first, a->weights[0], a->floats * sizeof(float));
    ts_model_take_weights(&t->model, a->weights[0]);
    c->phase_ns[TS_PHASE_LOOKUP] += ts_now_ns() - start;
    a->missed = answer.missed;
    t->step = answer.step;
    double loss = 0;
    const bool done = run_step(c, &loss);
    *next = (ts_async_note){.step = done ? t->step : TS_NO_STEP, .loss = loss, .missed = a->missed};
  }
  ts_async_tell(t, TS_ASYNC_GONE);
  settle_all(t);
  ts_async_leave(t);
}

/* ---- the end of a call ---- */

/* Of the first server, to all others; to those that train the dense weights as well, with their optimizer's state. */
static void send_state(ts_trainer *t, uint32_t to, const ts_named *state) {
  ts_async_post(t, to, &state->used, sizeof state->used);
  ts_async_post(t, to, state->bytes, state->used);
}

static int32_t take_state(ts_trainer *t, ts_err err) {
  ts_named state = {0};
  ts_async_take(t, ts_async_first(t), &state.used, sizeof state.used);
  if (ts_rank_silent(t)) return TS_OK;
  state.bytes = malloc(state.used);
  if (state.bytes == NULL) return ts_fail(err, TS_ENOMEM, "Cannot train over ranks: no memory for the dense weights");
  ts_async_take(t, ts_async_first(t), state.bytes, state.used);
  const int32_t status = ts_rank_silent(t) ? TS_OK : ts_trainer_load_state(t, &state, err);
  free(state.bytes);
  return status;
}

/* Everybody gets what the first server knows of the call. */
static int32_t share(ts_async_call *c, ts_err err) {
  ts_trainer *t = c->trainer;
  ts_async *a = t->over->async;
  const ts_ranks *ranks = t->over->ranks;
  const uint32_t first = ts_async_first(t);
  ts_named state = {0};
  const struct {
    void *content;
    uint64_t bytes;
  } parts[] = {{&c->done, sizeof c->done},
               {c->at_ns, c->steps * sizeof *c->at_ns},
               {c->losses, c->steps * sizeof *c->losses},
               {a->batches, sizeof a->batches},
               {a->missing, sizeof a->missing}};
  int32_t status = TS_OK;
  if (ranks->ops.rank == first) {
    t->step = c->first + c->done;
    status = ts_trainer_save_state(t, &state, err);
    for (uint32_t r = 0; r < ranks->ops.size; r++) {
      for (uint32_t i = 0; i < sizeof parts / sizeof *parts && r != first; i++)
        if (parts[i].bytes > 0) ts_async_post(t, r, parts[i].content, parts[i].bytes);
      if (r < ranks->trainers) send_state(t, r, &state);
    }
    for (uint32_t r = 0; r < ranks->ops.size; r++) ts_async_settle(t, r);
    ts_named_free(&state);
    return status;
  }
  for (uint32_t i = 0; i < sizeof parts / sizeof *parts; i++)
    if (parts[i].bytes > 0) ts_async_take(t, first, parts[i].content, parts[i].bytes);
  if (ts_ranks_trains(ranks)) status = take_state(t, err);
  t->step = c->first + c->done;
  return status;
}

int32_t ts_async_train(ts_trainer *t, uint64_t before, uint64_t steps, uint64_t *step_ns, uint64_t *phase_ns, double *loss,
                       uint64_t *done, ts_err err) {
  ts_async_call c = {.trainer = t, .first = t->step, .before = before, .steps = steps, .phase_ns = phase_ns};
  ts_async *a = t->over->async;
  c.at_ns = calloc(steps + 1, sizeof *c.at_ns);
  c.losses = calloc(steps + 1, sizeof *c.losses);
  a->heard_failed = a->heard_cancelled = false;
  int32_t status = TS_OK;
  if (c.at_ns == NULL || c.losses == NULL)
    status = ts_fail(err, TS_ENOMEM, "Cannot train: no memory for the times of %llu steps", (unsigned long long)steps);
  status = ts_rank_agree(t, status, err);
  if (status == TS_OK) {
    (ts_ranks_trains(t->over->ranks) ? ts_async_work : ts_async_serve)(&c);
    status = share(&c, err);
    if (c.status != TS_OK) status = ts_fail(err, c.status, "%s", c.message);
    status = ts_rank_agree(t, status, err);
    *done = c.done;
    for (uint64_t i = 0; i < c.steps; i++) *loss += c.losses[i];
    for (uint64_t i = 0; i < c.done && step_ns != NULL; i++) step_ns[i] = c.at_ns[i] - (i == 0 ? 0 : c.at_ns[i - 1]);
  }
  free(c.at_ns);
  free(c.losses);
  return status;
}

static void add_list(ts_text *text, const char *name, const uint64_t *values, uint32_t count) {
  ts_text_add(text, "%s=", name);
  for (uint32_t i = 0; i < count; i++) ts_text_add(text, "%s%llu", i == 0 ? "" : ",", (unsigned long long)values[i]);
  ts_text_add(text, "\n");
}

void ts_async_describe(const ts_trainer *t, ts_text *text) {
  const ts_async *a = t->over->async;
  ts_text_add(text, "ranks_staleness=%u\n", t->options.ranks_staleness);
  add_list(text, "ranks_batches", a->batches, t->over->ranks->trainers);
  add_list(text, "ranks_missed", a->missing, t->options.ranks_staleness + 1);
}
