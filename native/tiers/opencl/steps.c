/* steps.c - optimizer steps on the device, and the trial that says whether it takes them with the bits of the host's rules. */
#include "tiers/opencl/device.h"

#include "optimizers/optimizer.h"
#include "tiers/opencl/kernels.h"

#include <stdlib.h>
#include <string.h>

static bool is_of_whole_rows(ts_optimizer_kind kind) {
  return kind == TS_FTRL_ROW_NORM || kind == TS_ADAGRAD_DECAY || kind == TS_ADAGRAD_DECAY_V2 || kind == TS_ROWWISE_ADAGRAD;
}

static void put_float(uint32_t *word, float value) { memcpy(word, &value, sizeof value); }
static void put_long(uint32_t *low, uint32_t *high, uint64_t value) {
  *low = (uint32_t)value;
  *high = (uint32_t)(value >> 32);
}

/* What is the same for all rows; the numbers of ts_rule_values_of. */
static void put_header(const ts_optimizer *o, const ts_optimizer_call *call, uint32_t n, uint32_t words[TS_STEP_WORDS]) {
  const ts_row_layout *l = &o->layout;
  memset(words, 0, TS_STEP_WORDS * sizeof *words);
  words[TS_STEP_RULE] = o->kind == TS_ADAM_ASYNC && o->apply_sparse_rmsprop ? TS_STEP_RMSPROP : o->kind;
  words[TS_STEP_BF16] = l->type == TS_BF16;
  words[TS_STEP_DIM] = l->dim;
  words[TS_STEP_ROWS] = n;
  words[TS_STEP_WEIGHT_WORDS] = l->weight_bytes / 4;
  words[TS_STEP_SLOT_WORDS] = l->slot_bytes / 4;
  words[TS_STEP_SCALAR_WORD] = l->scalar_offset / 4;
  words[TS_STEP_VERSION_WORD] = l->version_offset / 4;
  put_long(&words[TS_STEP_VERSION_LOW], &words[TS_STEP_VERSION_HIGH], (uint64_t)call->global_step);
  words[TS_STEP_PERIODS] = call->periods;
  put_long(&words[TS_STEP_SEED_LOW], &words[TS_STEP_SEED_HIGH], o->seed);
  put_long(&words[TS_STEP_MOMENT_LOW], &words[TS_STEP_MOMENT_HIGH], call->moment);
  put_float(&words[TS_STEP_RATE], call->rate);
  put_float(&words[TS_STEP_LEARNING_RATE], call->learning_rate);
  put_float(&words[TS_STEP_L1], o->l1);
  put_float(&words[TS_STEP_L2], o->l2);
  put_float(&words[TS_STEP_SHRINKAGE2], 2.0f * o->l2_shrinkage);
  put_float(&words[TS_STEP_DECAY_RATE], o->decay_rate);
  put_float(&words[TS_STEP_DECAY_BASELINE], o->decay_baseline);
  put_float(&words[TS_STEP_ONE_MINUS_BETA1], (float)(1.0 - o->beta1));
  put_float(&words[TS_STEP_ONE_MINUS_BETA2], (float)(1.0 - o->beta2));
  put_float(&words[TS_STEP_EPSILON], o->epsilon);
  put_float(&words[TS_STEP_WEIGHT_DECAY], o->weight_decay);
}

static uint64_t bytes_a_row(const ts_optimizer *o) {
  return sizeof(uint64_t) * (o->layout.type == TS_BF16 ? 2 : 1) + o->layout.dim * sizeof(float);
}

static uint64_t rows_at_a_time(const ts_opencl *d, const ts_optimizer *o) {
  const uint64_t header = TS_STEP_WORDS * sizeof(uint32_t);
  return d->up_bytes < header ? 0 : (d->up_bytes - header) / bytes_a_row(o);
}

/* m of the n rows that are not NULL; one transfer, one kernel. Lock held. */
static int32_t step(ts_opencl *d, const ts_optimizer *o, const ts_optimizer_call *call, uint32_t n,
                    uint32_t m, void *const *rows, const float *const *gradients, const int64_t *keys, ts_err err) {
  static const char *const what = "step rows on";
  const ts_row_layout *l = &o->layout;
  const bool keyed = l->type == TS_BF16;
  const cl_mem buffers[] = {d->up};
  int32_t status;
  uint32_t *words = ts_opencl_map(d, TS_STEP_WORDS * sizeof *words + m * bytes_a_row(o), what, &status, err);
  if (words == NULL) return status;
  put_header(o, call, m, words);
  uint64_t *at = (uint64_t *)(void *)(words + TS_STEP_WORDS);
  float *gradient = (float *)(void *)(at + (keyed ? 2 : 1) * (uint64_t)m);
  uint32_t k = 0;
  for (uint32_t i = 0; i < n; i++) {
    if (rows[i] == NULL) continue;
    at[k] = (uintptr_t)rows[i];
    if (keyed) at[m + k] = (uint64_t)keys[i];
    memcpy(gradient + (uint64_t)k++ * l->dim, gradients[i], l->dim * sizeof *gradient);
  }
  status = ts_opencl_unmap(d, words, what, err);
  const uint32_t lanes = is_of_whole_rows(o->kind) ? 1 : ts_opencl_lanes(d, l->dim);
  return status == TS_OK ? ts_opencl_start(d, TS_STEP, buffers, NULL, m, lanes, what, err) : status;
}

int32_t ts_opencl_step(ts_tier *tier, const ts_optimizer *o, const ts_optimizer_call *call, uint32_t n, void *const *rows,
                       const float *const *gradients, const int64_t *keys, uint32_t *stepped, ts_err err) {
  ts_opencl *d = tier->state;
  int32_t status = TS_OK;
  *stepped = 0;
  ts_opencl_begin(d);
  const uint64_t most = rows_at_a_time(d, o);
  ts_opencl_needs(d, TS_STEP_WORDS * sizeof(uint32_t) + n * bytes_a_row(o), 0);
  ts_opencl_reach(d, n, (const void *const *)rows, o->layout.stride);
  while (status == TS_OK && *stepped < n) {
    const uint32_t first = *stepped;
    uint32_t end = first, m = 0;
    for (; end < n && m < most; end++) m += rows[end] != NULL;
    if (m > 0) status = step(d, o, call, end - first, m, rows + first, gradients + first, keys + first, err);
    if (status == TS_OK) *stepped = end;
  }
  ts_opencl_end(d);
  return status;
}

/* ---- the trial ---- */

#define TRIED 64u /* rows */
#define TRIED_STEPS 3u

/* Numbers of all magnitudes that training meets, with zeros and subnormal ones; signs unless they are of a sum of squares. */
static float number(uint64_t r, bool positive) {
  const int exponent = (int)(r >> 8 & 63) - (r & 7 ? 40 : 145);
  const float x = r % 61 == 0 ? 0.0f : (float)__builtin_ldexp(1.0 + ts_unit(ts_mix64(r)), exponent / (r & 16 ? 1 : 4));
  return positive || (r & 32) ? x : -x;
}

static void make_rows(const ts_optimizer *o, uint32_t n, unsigned char *rows, float *gradients) {
  const ts_row_layout *l = &o->layout;
  uint64_t r = 1;
  for (uint32_t i = 0; i < n; i++) {
    unsigned char *row = rows + (uint64_t)i * l->stride;
    float *g = gradients + (uint64_t)i * l->dim;
    for (uint32_t j = 0; j < l->dim; j++) g[j] = number(ts_mix64(r++), false);
    ts_optimizer_start_row(o, row, g);
    for (uint32_t s = 1; s < l->slots; s++)
      for (uint32_t j = 0; i % 2 == 1 && j < l->dim; j++) ts_row_slot(l, row, s)[j] = number(ts_mix64(r++), true);
    if (i % 2 == 1 && o->kind == TS_ROWWISE_ADAGRAD) ts_row_set_scalar_float(l, row, 0, number(ts_mix64(r++), true));
    for (uint32_t j = 0; j < l->dim; j++) g[j] = number(ts_mix64(r++), false);
  }
}

/* Lock held: buffers of transfers may be made anew. */
static int32_t try_rule(ts_opencl *d, const ts_optimizer *o, bool *same, ts_err err) {
  const ts_row_layout *l = &o->layout;
  const uint32_t n = (uint32_t)TS_MIN(TS_MIN(rows_at_a_time(d, o), d->down_bytes / l->stride), TRIED);
  *same = false;
  if (n == 0) return TS_OK; /* one row does not fit the transfers */
  const uint64_t bytes = (uint64_t)n * l->stride;
  unsigned char *here = calloc(2, bytes), *there = here + bytes;
  float *gradients = calloc((uint64_t)n * l->dim, sizeof *gradients);
  if (here == NULL || gradients == NULL) {
    free(here);
    free(gradients);
    return ts_fail(err, TS_ENOMEM, "Cannot try the steps of the OpenCL device \"%s\": out of memory", d->name);
  }
  make_rows(o, n, here, gradients);
  ts_optimizer tried = *o; /* its calls are not the table's */
  int64_t keys[TRIED];
  const float *g[TRIED];
  void *rows[TRIED];
  for (uint32_t i = 0; i < n; i++) {
    keys[i] = (int64_t)ts_mix64(i);
    g[i] = gradients + (uint64_t)i * l->dim;
    rows[i] = here + (uint64_t)i * l->stride;
  }
  const ts_opencl_part part = {.buffer = d->down, .bytes = bytes};
  cl_int code = d->cl.EnqueueWriteBuffer(d->queue, d->down, 1, 0, bytes, here, 0, NULL, NULL);
  int32_t status = code == CL_SUCCESS ? TS_OK : ts_opencl_fail(d, code, "write rows to", err);
  if (status == TS_OK) {
    code = ts_opencl_bind(d, TS_STEP, &part, 1, here);
    status = code == CL_SUCCESS ? TS_OK : ts_opencl_fail(d, code, "step rows on", err);
  }
  d->bound[TS_STEP] = status == TS_OK;
  for (uint32_t s = 1; status == TS_OK && s <= TRIED_STEPS; s++) {
    ts_optimizer_call call;
    ts_optimizer_begin(&tried, (int64_t)(s * o->decay_step), &call);
    status = step(d, o, &call, n, n, rows, g, keys, err);
    o->apply(o, &call, rows, g, keys, n);
    for (uint32_t i = 0; i < n; i++) ts_row_set_version(l, rows[i], call.global_step);
  }
  if (status == TS_OK) {
    code = d->cl.EnqueueReadBuffer(d->queue, d->down, 1, 0, bytes, there, 0, NULL, NULL);
    if (code != CL_SUCCESS) status = ts_opencl_fail(d, code, "read rows of", err);
  }
  d->bound[TS_STEP] = false; /* to the pool, when rows there step */
  d->least_up = TS_MAX(d->least_up, TS_STEP_WORDS * sizeof(uint32_t) + bytes_a_row(o));
  d->least_down = TS_MAX(d->least_down, (uint64_t)l->stride);
  *same = status == TS_OK && memcmp(here, there, bytes) == 0;
  free(here);
  free(gradients);
  return status;
}

int32_t ts_opencl_try(ts_tier *tier, const ts_optimizer *o, bool *same, ts_err err) {
  ts_opencl *d = tier->state;
  pthread_mutex_lock(&d->lock);
  const int32_t status = try_rule(d, o, same, err);
  pthread_mutex_unlock(&d->lock);
  return status;
}
