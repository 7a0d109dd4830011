/* train.c - the training step: batch, lookup, dense part, update, each timed. */
#include "store/statistics.h"
#include "wdl/control.h"
#include "wdl/metrics.h"
#include "wdl/trainer.h"

#include <string.h>

/* First row of the next batch. Each pass over the file starts at its own offset (so that no rows are always left over)
 * and takes the batches in an order of its own: an arithmetic progression with a step coprime to their number. */
static uint64_t batch_start(const ts_trainer *t) {
  uint64_t rows = t->data.header.rows, batch = t->options.batch, batches = rows / batch;
  uint64_t pass = t->step / batches, at = t->step % batches;
  uint64_t offset = ts_random64(t->options.seed, 0x6f72646572u, 3 * pass) % (rows - batches * batch + 1);
  uint64_t start = ts_random64(t->options.seed, 0x6f72646572u, 3 * pass + 1) % batches;
  uint64_t stride = 1 + ts_random64(t->options.seed, 0x6f72646572u, 3 * pass + 2) % batches;
  for (;; stride++) {
    uint64_t a = stride, b = batches;
    while (b != 0) {
      uint64_t rest = a % b;
      a = b;
      b = rest;
    }
    if (a == 1) break;
  }
  uint64_t index = (uint64_t)(((unsigned __int128)at * stride + start) % batches);
  return offset + index * batch;
}

static void look_up_table(void *context, uint32_t c) {
  ts_trainer *t = context;
  size_t at = (size_t)c * t->options.batch;
  ts_err err = ts_trainer_part_err(t, c);
  t->part_status[c] = ts_table_lookup(t->store, t->tables[c], t->keys + at, t->rows,
                                      t->embeddings + at * t->options.dim, err.text, err.cap);
}

static void update_table(void *context, uint32_t c) {
  ts_trainer *t = context;
  size_t at = (size_t)c * t->options.batch;
  ts_err err = ts_trainer_part_err(t, c);
  t->part_status[c] = ts_table_update(t->store, t->tables[c], t->keys + at, t->rows,
                                      t->embeddings + at * t->options.dim, err.text, err.cap);
}

int32_t ts_trainer_forward(ts_trainer *t, ts_mlp_rows at, bool training) {
  uint32_t first = at.first, rows = at.rows;
  uint32_t dim = t->options.dim, batch = t->options.batch, width = t->mlp.layers[0].in_width;
  for (uint32_t j = 0; j < TS_NUMERICS; j++)
    for (uint32_t r = first; r < first + rows; r++)
      t->mlp.x[(size_t)r * width + j] = t->numerics[(size_t)j * batch + r];
  for (uint32_t c = 0; c < TS_CATEGORIES; c++)
    for (uint32_t r = first; r < first + rows; r++)
      memcpy(t->mlp.x + (size_t)r * width + TS_EMBEDDINGS_AT + c * dim, t->embeddings + ((size_t)c * batch + r) * dim,
             dim * sizeof(float));
  int32_t status = ts_mlp_forward(&t->mlp, at, training, t->logit);
  ts_wide_forward(&t->wide, first, rows, t->numerics, t->keys, t->logit);
  return status;
}

/* A block of rows: forward, loss, backward to the gradients of the embeddings. */
static void run_shard(void *context, uint32_t shard) {
  ts_trainer *t = context;
  uint32_t batch = t->options.batch, dim = t->options.dim, width = t->mlp.layers[0].in_width;
  ts_mlp_rows at = ts_mlp_cut(&t->mlp, 0, shard, batch);
  uint32_t first = at.first, rows = at.rows;
  int32_t status = ts_trainer_forward(t, at, true);
  for (uint32_t r = first; r < first + rows; r++) {
    bool positive = t->labels[r] > 0;
    t->losses[r] = ts_logloss(t->logit[r], positive);
    t->loss_gradient[r] = (float)((ts_sigmoid(t->logit[r]) - positive) / batch);
  }
  status |= ts_mlp_backward(&t->mlp, at, t->loss_gradient);
  for (uint32_t c = 0; c < TS_CATEGORIES; c++)
    for (uint32_t r = first; r < first + rows; r++)
      memcpy(t->embeddings + ((size_t)c * batch + r) * dim, t->mlp.dx + (size_t)r * width + TS_EMBEDDINGS_AT + c * dim,
             dim * sizeof(float));
  t->part_status[shard] = status;
}

/* Independent parts of the dense optimizers: first the matrices (long), then the wide columns (short). */
static void run_update(void *context, uint32_t part) {
  ts_trainer *t = context;
  uint32_t parts = ts_mlp_update_parts(&t->mlp);
  if (part >= parts) ts_wide_update(&t->wide, part - parts, t->rows, t->numerics, t->loss_gradient);
  else if (ts_mlp_update(&t->mlp, part) != TS_OK)
    __atomic_store_n(&t->part_status[TS_SHARDS], TS_EINTERNAL, __ATOMIC_RELAXED); /* shards use the places before */
}

static int32_t run_dense(ts_trainer *t, ts_err err) {
  memset(t->part_status, 0, sizeof t->part_status);
  ts_mlp_begin(&t->mlp, t->step);
  ts_pool_run(t->pool, TS_SHARDS, run_shard, t);
  ts_pool_run(t->pool, ts_mlp_update_parts(&t->mlp) + TS_WIDE_PARTS, run_update, t);
  for (uint32_t s = 0; s <= TS_SHARDS; s++)
    if (t->part_status[s] != TS_OK) return ts_fail(err, TS_EINTERNAL, "Cannot train: oneDNN refused a matrix product");
  return TS_OK;
}

static uint64_t eviction_so_far(const ts_trainer *t) { return ts_store_counted(t->store, TS_STAT_eviction_ns); }

/* The store sums eviction over threads, and up to `threads` tables are at work at a time: their share of the wall time
 * is the sum over threads divided by the threads, at most the whole. */
static void add_phase(const ts_trainer *t, uint64_t *phase_ns, uint32_t phase, uint64_t wall, uint64_t eviction) {
  uint64_t threads = TS_MIN(t->options.threads, TS_CATEGORIES);
  uint64_t share = TS_MIN(eviction / threads, wall);
  phase_ns[phase] += wall - share;
  phase_ns[TS_PHASE_EVICTION] += share;
}

static int32_t run_step(ts_trainer *t, uint64_t *phase_ns, double *loss, ts_err err) {
  uint64_t batch = t->options.batch, start = ts_now_ns();
  t->rows = t->options.batch;
  int32_t status = ts_cache_read(&t->data, batch_start(t), batch, batch, t->labels, t->numerics, t->keys, err);
  if (status != TS_OK) return status;
  uint64_t evicted = eviction_so_far(t), read = ts_now_ns();
  status = ts_trainer_each_table(t, look_up_table, err);
  if (status != TS_OK) return status;
  uint64_t looked_up = ts_now_ns(), evicted_by_lookup = eviction_so_far(t);
  status = run_dense(t, err);
  if (status != TS_OK) return status;
  uint64_t computed = ts_now_ns();
  status = ts_trainer_each_table(t, update_table, err);
  if (status != TS_OK) return status;
  uint64_t updated = ts_now_ns();
  phase_ns[TS_PHASE_INPUT] += read - start;
  add_phase(t, phase_ns, TS_PHASE_LOOKUP, looked_up - read, evicted_by_lookup - evicted);
  phase_ns[TS_PHASE_DENSE] += computed - looked_up;
  add_phase(t, phase_ns, TS_PHASE_UPDATE, updated - computed, eviction_so_far(t) - evicted_by_lookup);
  for (uint32_t r = 0; r < t->options.batch; r++) *loss += t->losses[r];
  t->step++;
  return TS_OK;
}

int32_t ts_trainer_train(ts_trainer *t, uint64_t steps, uint64_t *step_ns, uint64_t *phase_ns, double *loss,
                         uint64_t *control, char *err_text, uint32_t err_cap) {
  ts_err err = {err_text, err_cap};
  if (t == NULL) return ts_fail(err, TS_EINVAL, "Cannot train: a trainer is needed");
  uint64_t phases[TS_PHASES] = {0}, done = 0;
  double sum = 0;
  int32_t status = TS_OK;
  ts_control_start(control, steps);
  while (done < steps && status == TS_OK) {
    if (ts_control_cancelled(control)) {
      status = ts_fail(err, TS_ECANCELLED, "Training was cancelled after %llu of %llu steps", (unsigned long long)done,
                       (unsigned long long)steps);
      break;
    }
    uint64_t start = ts_now_ns();
    status = run_step(t, phases, &sum, err);
    if (status != TS_OK) break;
    if (step_ns != NULL) step_ns[done] = ts_now_ns() - start;
    ts_control_set(control, ++done);
  }
  if (phase_ns != NULL) memcpy(phase_ns, phases, sizeof phases);
  if (loss != NULL) *loss = done == 0 ? 0 : sum / ((double)done * t->options.batch);
  return status;
}
