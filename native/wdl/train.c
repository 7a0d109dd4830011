/* train.c - runs steps: batch, graph of tasks, times. */
#include "store/statistics.h"
#include "base/control.h"
#include "wdl/trainer.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#define KINDS TS_PHASES

static uint64_t miss_time_so_far(const ts_trainer *t) { return ts_store_counted(t->store, TS_STAT_miss_ns); }

static uint64_t minor_faults(void) {
  struct rusage usage;
  return getrusage(RUSAGE_SELF, &usage) == 0 ? (uint64_t)usage.ru_minflt : 0;
}

/* The store sums eviction over threads, and up to `threads` tables are at work at a time: their share of the wall time
 * of lookups and updates is the sum over threads divided by the threads, at most the whole. */
static void add_phases(const ts_trainer *t, const uint64_t *kind_ns, uint64_t evicted, uint64_t *phase_ns) {
  const uint64_t threads = TS_MIN(ts_pool_threads(t->pool), t->options.tables.count);
  const uint64_t rows = kind_ns[TS_PHASE_LOOKUP] + kind_ns[TS_PHASE_UPDATE], share = TS_MIN(evicted / threads, rows);
  for (uint32_t k = 0; k < KINDS; k++) phase_ns[k] += kind_ns[k];
  if (rows == 0) return;
  const uint64_t of_lookup = (uint64_t)((double)share * ((double)kind_ns[TS_PHASE_LOOKUP] / (double)rows));
  phase_ns[TS_PHASE_LOOKUP] -= of_lookup;
  phase_ns[TS_PHASE_UPDATE] -= share - of_lookup;
  phase_ns[TS_PHASE_EVICTION] += share;
}

/* The batch of this step and, where its rows are read now, of the next. */
static int32_t take_batches(ts_trainer *t, ts_err err) {
  if (t->next == NULL) {
    int32_t status = ts_stage_take(t->stage, t->step, &t->batch, err);
    if (status != TS_OK) return status;
  } else {
    t->batch = t->next;
    t->next = NULL;
  }
  if (!ts_trainer_two_batches(t) || t->step + 1 >= t->ended) return TS_OK;
  return ts_stage_take(t->stage, t->step + 1, &t->next, err);
}

static int32_t take_memory(ts_trainer *t, ts_err err) {
  int32_t status = ts_trainer_take_step(t, err);
  if (status == TS_OK) status = ts_trainer_take_input(t, ts_trainer_input(t, t->step), err);
  if (status == TS_OK && t->next != NULL) status = ts_trainer_take_input(t, ts_trainer_input(t, t->step + 1), err);
  return status;
}

int32_t ts_trainer_failure(ts_trainer *t, ts_err err) {
  for (uint32_t i = 0; i < t->options.tables.count; i++)
    if (t->part_status[i] != TS_OK) return ts_fail(err, t->part_status[i], "%s", t->part_message[i]);
  return atomic_load(&t->dense_failed) ? ts_fail(err, TS_EINTERNAL, "Cannot train: oneDNN refused a matrix product")
                                       : TS_OK;
}

int32_t ts_trainer_run_tasks(ts_trainer *t, uint64_t *phase_ns, ts_err err) {
  const uint64_t start = ts_now_ns();
  t->rows = t->options.batch;
  int32_t status = take_batches(t, err);
  if (status == TS_OK) status = ts_store_set_step(t->store, (int64_t)t->step, err.text, err.cap);
  if (status != TS_OK) return status;
  phase_ns[TS_PHASE_INPUT] += ts_now_ns() - start;
  status = take_memory(t, err);
  if (status != TS_OK) return status;
  uint64_t kind_ns[KINDS] = {0};
  const uint64_t evicted = miss_time_so_far(t);
  memset(t->part_status, 0, sizeof t->part_status);
  atomic_store(&t->failed, false);
  atomic_store(&t->dense_failed, false);
  atomic_store(&t->ahead_failed, false);
  ts_model_begin(&t->model, t->step, ts_trainer_input(t, t->step));
  ts_executor_run(t->executor, t, kind_ns, KINDS);
  add_phases(t, kind_ns, miss_time_so_far(t) - evicted, phase_ns);
  return TS_OK;
}

int32_t ts_trainer_end_step(ts_trainer *t, double *loss, ts_err err) {
  double sum = 0;
  for (uint32_t r = 0; r < t->options.batch; r++) sum += t->model.losses[r];
  *loss += sum;
  const int32_t finite = ts_trainer_check_outputs(t, "train on", err);
  ts_trainer_give_step(t);
  ts_trainer_give_input(t, ts_trainer_input(t, t->step));
  if (t->options.async_embedding && t->next != NULL && t->step % TS_STALE_EVERY == 0) t->staled[t->staled_count++ % TS_STALE_STEPS] = t->step;
  t->ahead = t->next != NULL && !atomic_load(&t->ahead_failed) ? t->step + 1 : TS_NO_STEP;
  ts_stage_give_back(t->stage, t->step);
  t->step++;
  return finite; /* that step is done like any other */
}

static int32_t run_step(ts_trainer *t, uint64_t *phase_ns, double *loss, ts_err err) {
  int32_t status = ts_trainer_run_tasks(t, phase_ns, err);
  if (status == TS_OK) status = ts_rank_agree(t, ts_trainer_failure(t, err), err);
  if (status == TS_OK) return ts_trainer_end_step(t, loss, err);
  ts_trainer_give_step(t);
  return status;
}

/* What the steps so far left in figures is forgotten: they were there to warm up. */
static int32_t begin_counting(ts_trainer *t, uint64_t *phases, double *sum, ts_err err) {
  memset(phases, 0, TS_PHASES * sizeof *phases);
  *sum = 0;
  return ts_store_reset_statistics(t->store, err.text, err.cap);
}

/* A call of ts_trainer_train. */
typedef struct call {
  uint64_t warmup, all, done; /* steps: not counted, all, done */
  uint64_t *step_ns, *control;
  uint64_t phases[TS_PHASES];
  double sum; /* of losses */
} call;

static int32_t check_cancelled(ts_trainer *t, const call *c, ts_err err) {
  char text[128];
  if (!ts_rank_cancelled(t, c->control, "Training", (ts_err){text, sizeof text})) return TS_OK;
  return ts_fail(err, TS_ECANCELLED, "%s after %llu of %llu steps", text, (unsigned long long)c->done, (unsigned long long)c->all);
}

static int32_t train_in_step(ts_trainer *t, call *c, ts_err err) {
  t->ended = t->step + c->all;
  ts_stage_begin(t->stage, t->step, t->ended);
  int32_t status = TS_OK;
  while (c->done < c->all && status == TS_OK) {
    ts_control_hold(c->control, c->done);
    status = check_cancelled(t, c, err);
    const uint64_t start = ts_now_ns();
    if (status == TS_OK) status = run_step(t, c->phases, &c->sum, err);
    if (status != TS_OK) break;
    const uint64_t ns = ts_now_ns() - start;
    ts_stage_tell(t->stage, t->step - 1, ns);
    if (c->step_ns != NULL && c->done >= c->warmup) c->step_ns[c->done - c->warmup] = ns;
    ts_control_set(c->control, ++c->done);
    if (c->done == c->warmup) status = begin_counting(t, c->phases, &c->sum, err);
  }
  /* What was prepared for steps that do not follow is forgotten: a call's first step reads its rows itself. */
  t->batch = t->next = NULL;
  t->ahead = TS_NO_STEP;
  ts_stage_end(t->stage);
  return status;
}

/* Steps that are not counted, then the others. */
static int32_t train_apart(ts_trainer *t, call *c, ts_err err) {
  const uint64_t parts[] = {c->warmup, c->all - c->warmup};
  int32_t status = TS_OK;
  for (uint32_t i = 0; i < 2 && status == TS_OK; i++) {
    uint64_t done = 0;
    if (parts[i] > 0) status = ts_async_train(t, c->done, parts[i], i == 0 ? NULL : c->step_ns, c->phases, &c->sum, &done, err);
    c->done += done;
    if (status == TS_OK && done < parts[i]) status = check_cancelled(t, c, err);
    if (status == TS_OK && i == 0 && c->warmup > 0) status = begin_counting(t, c->phases, &c->sum, err);
  }
  return status;
}

int32_t ts_trainer_train(ts_trainer *t, uint64_t warmup, uint64_t steps, uint64_t *step_ns, uint64_t *phase_ns, double *loss,
                         uint64_t *control, char *err_text, uint32_t err_cap) {
  ts_err err = {err_text, err_cap};
  if (t == NULL) return ts_fail(err, TS_EINVAL, "Cannot train: a trainer is needed");
  int32_t status = ts_owner_check(&t->owner, "trainer", err);
  if (status != TS_OK) return status;
  if (steps > INT64_MAX || warmup > INT64_MAX) return ts_fail(err, TS_EINVAL, "Cannot train so many steps");
  const bool asynchronous = t->over != NULL && t->over->async != NULL;
  if (asynchronous && control != NULL && control[TS_CONTROL_HOLD] != 0)
    return ts_fail(err, TS_EINVAL, "Cannot hold asynchronous training over ranks: its steps have no common end");
  call c = {.warmup = warmup, .all = warmup + steps, .step_ns = step_ns, .control = control};
  ts_control_start(control, c.all);
  ts_rank_control(t, control);
  const uint64_t faults = minor_faults();
  status = (asynchronous ? train_apart : train_in_step)(t, &c, err);
  ts_rank_control(t, NULL);
  for (uint32_t i = 0; i < 2; i++) ts_trainer_give_input(t, i);
  t->minor_faults += minor_faults() - faults;
  if (phase_ns != NULL) memcpy(phase_ns, c.phases, sizeof c.phases);
  if (loss != NULL) *loss = c.done <= warmup ? 0 : c.sum / ((double)(c.done - warmup) * t->options.batch);
  return status;
}
