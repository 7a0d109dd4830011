/* optimizer.h - sparse update rules: one file a rule, each a function over a batch of rows.
 *
 * Options of a table, beside "optimizer" (ts_optimizer_read; an option that a rule does not have is refused):
 *   learning_rate        all rules; above 0 for ftrl and ftrl-row-norm, which divide by it          (default 0.01)
 *   initial_accumulator  adagrad, adagrad-decay, adagrad-decay-v2, ftrl, ftrl-row-norm: first value of the sum of
 *                        squared gradients, above 0                                                  (default 0.1);
 *                        rowwise-adagrad: of the row's sum of their means, 0 or more                   (default 0)
 *   decay_step           adagrad-decay, adagrad-decay-v2: global steps a period, 1..2^62          (default 100000)
 *   decay_rate           the same: factor on the sum once a period, 0..1                             (default 0.9)
 *   decay_baseline       the same: the sum does not decay below it          (default: initial_accumulator's value)
 *   beta1, beta2         adam, adam-async, adamw: 0..0.999999                                (default 0.9, 0.999)
 *   epsilon              the same and rowwise-adagrad, above 0                                     (default 1e-8)
 *   apply_sparse_rmsprop adam-async: 0 | 1, the other form of its step                                (default 0)
 *   weight_decay         adamw: share of the weight that each step takes off, 0..1                 (default 1e-4)
 *   l1, l2               ftrl, ftrl-row-norm                                                       (default 0, 0)
 *   l2_shrinkage         the same: FTRL-V2's addition of 2 l2_shrinkage w to the gradient             (default 0)
 *
 * Every rule is lazy: a row that is not in the batch does not change. Formulas and sources stand in the rule's file.
 * Where DeepRec's result depends on chance or on the number of threads, ours does not; the files say how. */
#ifndef TS_OPTIMIZER_H
#define TS_OPTIMIZER_H

#include <stdatomic.h>

#include "base/base.h"
#include "base/cpu_level.h"
#include "optimizers/row_layout.h"

typedef enum ts_optimizer_kind {
  TS_SGD,
  TS_ADAGRAD,
  TS_FTRL,
  TS_FTRL_ROW_NORM,
  TS_ADAGRAD_DECAY,
  TS_ADAGRAD_DECAY_V2,
  TS_ADAM,
  TS_ADAM_ASYNC,
  TS_ADAMW,
  TS_ROWWISE_ADAGRAD,
  TS_OPTIMIZERS
} ts_optimizer_kind;

typedef struct ts_optimizer ts_optimizer;

/* One update call: what is the same for all its rows. */
typedef struct ts_optimizer_call {
  uint64_t step;       /* update calls of the table so far, this one included */
  uint64_t moment;     /* of stochastic rounding; ts_optimizer_begin: the same */
  int64_t global_step; /* of the store: AdagradDecay's periods */
  float rate;          /* learning rate; Adam's bias-corrected one */
  float learning_rate; /* as set */
  uint32_t periods;    /* AdagradDecay: floor(global_step / decay_step) */
} ts_optimizer_call;

/* rows[i] takes one step with the gradient gradients[i] (dim floats), for i < n; keys[i] is the row's key, used for
 * bf16 rows' random bits only (NULL is accepted for fp32). Rows ahead are prefetched. Rows of one call differ. */
typedef void ts_optimizer_apply(const ts_optimizer *optimizer, const ts_optimizer_call *call, void *const *rows,
                                const float *const *gradients, const int64_t *keys, uint32_t n);

struct ts_optimizer {
  ts_optimizer_kind kind;
  ts_row_layout layout;
  uint64_t seed; /* of stochastic rounding: random bits depend on (seed, key, moment, element, value) only */
  _Atomic(float) learning_rate;
  float initial_accumulator, l1, l2, l2_shrinkage;
  float decay_rate, decay_baseline;
  uint64_t decay_step;
  double beta1, beta2;
  float epsilon, weight_decay;
  bool apply_sparse_rmsprop;
  _Atomic uint64_t steps; /* update calls begun */
  ts_optimizer_apply *apply;
};

extern const char *const ts_optimizer_names[TS_OPTIMIZERS + 1];

/* Arrays a row keeps, weights included: 1 sgd and rowwise-adagrad; 2 adagrad and its decaying forms (the sum of squared gradients); 3 ftrl
 * (n, then z) and adam's kin (m, then v). */
uint32_t ts_optimizer_slots(ts_optimizer_kind kind);

/* Reads "optimizer" and the chosen rule's options; marks those only. `table` names the table in messages. Afterwards
 * ts_optimizer_prepare makes it usable. */
int32_t ts_optimizer_read(ts_config_reader *r, const char *table, ts_optimizer *out);
/* Lays rows out and chooses kernels for a level (ts_cpu_level(), or a lower one). */
void ts_optimizer_prepare(ts_optimizer *optimizer, ts_row_type type, uint32_t dim, bool frequency, bool version,
                          uint64_t seed, uint32_t level);
/* Refuses what the rule cannot take: a number outside 0..1e6, or 0 with ftrl. Safe beside updates. */
int32_t ts_optimizer_set_learning_rate(ts_optimizer *optimizer, const char *table, double learning_rate, ts_err err);

/* A new row: the given weights (bf16: rounded to the nearest; NULL: zeros, for whoever writes them in place), the
 * rule's first values, frequency 0, no version, padding of zeros. */
void ts_optimizer_start_row(const ts_optimizer *optimizer, void *row, const float *weights);

/* What of a row can be read as `dim` floats, counted from 0: the slots, and for rowwise-adagrad its sum, in each place. */
uint32_t ts_optimizer_readable(const ts_optimizer *optimizer);
void ts_optimizer_read_row(const ts_optimizer *optimizer, const void *row, uint32_t slot, float *out);

/* Opens an update call: counts it (Adam's t; once a call however its rows are split over shards or threads) and
 * computes what its rows share. Equal on every machine. Safe under several threads. */
void ts_optimizer_begin(ts_optimizer *optimizer, int64_t global_step, ts_optimizer_call *call);

ts_optimizer_apply *ts_sgd_select(uint32_t level);
ts_optimizer_apply *ts_rowwise_adagrad_select(uint32_t level);
ts_optimizer_apply *ts_adagrad_select(uint32_t level);
ts_optimizer_apply *ts_adagrad_decay_select(uint32_t level);
ts_optimizer_apply *ts_adam_select(uint32_t level);
ts_optimizer_apply *ts_adam_rmsprop_select(uint32_t level);
ts_optimizer_apply *ts_adamw_select(uint32_t level);
ts_optimizer_apply *ts_ftrl_select(uint32_t level);
ts_optimizer_apply *ts_ftrl_row_norm_select(uint32_t level);

#endif
