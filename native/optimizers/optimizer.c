/* optimizer.c - names, options, slots, the choice of kernels, and what one update call's rows share. */
#include "optimizers/optimizer.h"

const char *const ts_optimizer_names[TS_OPTIMIZERS + 1] = {
    "sgd",  "adagrad",    "ftrl",  "ftrl-row-norm", "adagrad-decay", "adagrad-decay-v2",
    "adam", "adam-async", "adamw", "rowwise-adagrad", NULL};

static bool is_adagrad_decay(ts_optimizer_kind kind) { return kind == TS_ADAGRAD_DECAY || kind == TS_ADAGRAD_DECAY_V2; }
static bool is_adam(ts_optimizer_kind kind) { return kind == TS_ADAM || kind == TS_ADAM_ASYNC || kind == TS_ADAMW; }
static bool is_ftrl(ts_optimizer_kind kind) { return kind == TS_FTRL || kind == TS_FTRL_ROW_NORM; }

uint32_t ts_optimizer_slots(ts_optimizer_kind kind) {
  if (kind == TS_SGD || kind == TS_ROWWISE_ADAGRAD) return 1;
  return kind == TS_ADAGRAD || is_adagrad_decay(kind) ? 2 : 3;
}

/* uint32 scalars a row keeps: 1 for the decaying adagrads, a count, and for the row-wise one, the bits of its sum; else 0. */
static uint32_t scalars_of(ts_optimizer_kind kind) { return is_adagrad_decay(kind) || kind == TS_ROWWISE_ADAGRAD ? 1 : 0; }

/* First value of slot s >= 1. */
static float first_of(const ts_optimizer *o, uint32_t slot) {
  return slot == 1 ? o->initial_accumulator : 0.0f; /* 0 for Adam's m */
}

int32_t ts_optimizer_read(ts_config_reader *r, const char *table, ts_optimizer *out) {
  *out = (ts_optimizer){0};
  const ts_optimizer_kind kind = (ts_optimizer_kind)ts_config_choice(r, "optimizer", "sgd", ts_optimizer_names);
  out->kind = kind;
  const float rate = (float)ts_config_f64(r, "learning_rate", 0.01, 0, 1e6);
  atomic_init(&out->learning_rate, rate);
  if (kind == TS_ADAGRAD || is_adagrad_decay(kind) || is_ftrl(kind))
    out->initial_accumulator = (float)ts_config_f64(r, "initial_accumulator", 0.1, 1e-30, 1e30);
  if (kind == TS_ROWWISE_ADAGRAD) {
    out->initial_accumulator = (float)ts_config_f64(r, "initial_accumulator", 0, 0, 1e30);
    out->epsilon = (float)ts_config_f64(r, "epsilon", 1e-8, 1e-30, 1);
  }
  if (is_adagrad_decay(kind)) {
    out->decay_step = ts_config_u64(r, "decay_step", 100000, 1, UINT64_C(1) << 62);
    out->decay_rate = (float)ts_config_f64(r, "decay_rate", 0.9, 0, 1);
    out->decay_baseline = (float)ts_config_f64(r, "decay_baseline", (double)out->initial_accumulator, 0, 1e30);
  }
  if (is_adam(kind)) {
    out->beta1 = ts_config_f64(r, "beta1", 0.9, 0, 0.999999);
    out->beta2 = ts_config_f64(r, "beta2", 0.999, 0, 0.999999);
    out->epsilon = (float)ts_config_f64(r, "epsilon", 1e-8, 1e-30, 1);
  }
  if (kind == TS_ADAM_ASYNC) out->apply_sparse_rmsprop = ts_config_u64(r, "apply_sparse_rmsprop", 0, 0, 1) == 1;
  if (kind == TS_ADAMW) out->weight_decay = (float)ts_config_f64(r, "weight_decay", 1e-4, 0, 1);
  if (is_ftrl(kind)) {
    out->l1 = (float)ts_config_f64(r, "l1", 0, 0, 1e30);
    out->l2 = (float)ts_config_f64(r, "l2", 0, 0, 1e30);
    out->l2_shrinkage = (float)ts_config_f64(r, "l2_shrinkage", 0, 0, 1e30);
    if (r->status == TS_OK && !(rate > 0))
      r->status = ts_fail(r->err, TS_EINVAL, "Cannot create table \"%s\": ftrl needs a learning_rate above 0", table);
  }
  return r->status;
}

static ts_optimizer_apply *kernel(const ts_optimizer *o, uint32_t level) {
  switch (o->kind) {
    case TS_ADAGRAD: return ts_adagrad_select(level);
    case TS_FTRL: return ts_ftrl_select(level);
    case TS_FTRL_ROW_NORM: return ts_ftrl_row_norm_select(level);
    case TS_ADAGRAD_DECAY:
    case TS_ADAGRAD_DECAY_V2: return ts_adagrad_decay_select(level);
    case TS_ADAM: return ts_adam_select(level);
    case TS_ADAM_ASYNC: return o->apply_sparse_rmsprop ? ts_adam_rmsprop_select(level) : ts_adam_select(level);
    case TS_ADAMW: return ts_adamw_select(level);
    case TS_ROWWISE_ADAGRAD: return ts_rowwise_adagrad_select(level);
    default: return ts_sgd_select(level);
  }
}

void ts_optimizer_prepare(ts_optimizer *o, ts_row_type type, uint32_t dim, bool frequency, bool version, uint64_t seed,
                          uint32_t level) {
  const uint32_t slots = ts_optimizer_slots(o->kind), scalars = scalars_of(o->kind);
  o->layout = ts_row_layout_make(type, dim, slots, scalars, frequency, version);
  o->seed = seed;
  o->apply = kernel(o, level);
}

int32_t ts_optimizer_set_learning_rate(ts_optimizer *o, const char *table, double learning_rate, ts_err err) {
  if (!(learning_rate >= 0 && learning_rate <= 1e6))
    return ts_fail(err, TS_EINVAL, "Cannot set the learning rate of table \"%s\" to %g: it must be from 0 to 1e6",
                   table, learning_rate);
  if ((float)learning_rate == 0 && is_ftrl(o->kind))
    return ts_fail(err, TS_EINVAL, "Cannot set the learning rate of table \"%s\" to 0: ftrl divides by it", table);
  atomic_store_explicit(&o->learning_rate, (float)learning_rate, memory_order_relaxed);
  return TS_OK;
}

void ts_optimizer_start_row(const ts_optimizer *o, void *row, const float *weights) {
  const ts_row_layout *l = &o->layout;
  memset(row, 0, l->stride);
  if (weights != NULL) ts_row_write(l, row, 0, weights);
  for (uint32_t s = 1; s < l->slots; s++) {
    float *slot = ts_row_slot(l, row, s), first = first_of(o, s);
    for (uint32_t j = 0; j < l->dim; j++) slot[j] = first;
  }
  if (o->kind == TS_ROWWISE_ADAGRAD) ts_row_set_scalar_float(l, row, 0, o->initial_accumulator);
  ts_row_set_version(l, row, TS_NO_VERSION);
}

uint32_t ts_optimizer_readable(const ts_optimizer *o) { return o->layout.slots + (o->kind == TS_ROWWISE_ADAGRAD); }

void ts_optimizer_read_row(const ts_optimizer *o, const void *row, uint32_t slot, float *out) {
  const ts_row_layout *l = &o->layout;
  if (slot < l->slots) {
    ts_row_read(l, row, slot, out);
    return;
  }
  const float sum = ts_row_scalar_float(l, row, 0);
  for (uint32_t j = 0; j < l->dim; j++) out[j] = sum;
}

/* beta^step. Exact scaling and IEEE arithmetic only, so equal on every machine; within 1e-13 of the true power. */
static double power(double beta, uint64_t step) { return beta > 0 ? ts_det_pow(beta, (double)step) : 0.0; }

void ts_optimizer_begin(ts_optimizer *o, int64_t global_step, ts_optimizer_call *call) {
  const float rate = atomic_load_explicit(&o->learning_rate, memory_order_relaxed);
  const uint64_t step = atomic_fetch_add_explicit(&o->steps, 1, memory_order_relaxed) + 1;
  *call = (ts_optimizer_call){.step = step,
                              .moment = step,
                              .global_step = global_step,
                              .rate = rate,
                              .learning_rate = rate};
  if (is_adagrad_decay(o->kind) && global_step > 0)
    call->periods = (uint32_t)TS_MIN((uint64_t)global_step / o->decay_step, (uint64_t)UINT32_MAX);
  if (is_adam(o->kind) && !o->apply_sparse_rmsprop)
    call->rate = (float)((double)rate * __builtin_sqrt(1.0 - power(o->beta2, call->step)) /
                         (1.0 - power(o->beta1, call->step)));
}
