/* optimizer.h - sparse update rules: one file a rule, each a function over a batch of rows.
 *
 * A row is `slots` arrays of `dim` floats, each padded to `slot_floats`: slot 0 the weights, the others what the rule
 * keeps. Kernels exist for the baseline, AVX2 and AVX-512, chosen when a table is created; all three give the same
 * bits, because the arithmetic is IEEE add, multiply, divide and square root per element, without contraction
 * (-ffp-contract=off), and the one reduction (row norm) runs over sixteen fixed lanes. */
#ifndef TS_OPTIMIZER_H
#define TS_OPTIMIZER_H

#include "base/base.h"

typedef enum ts_optimizer_kind { TS_SGD, TS_ADAGRAD, TS_FTRL, TS_FTRL_ROW_NORM, TS_OPTIMIZERS } ts_optimizer_kind;

typedef struct ts_optimizer ts_optimizer;

/* rows[i] takes one step with the gradient gradients + i * stride floats, for i < n. */
typedef void ts_optimizer_apply(const ts_optimizer *optimizer, float *const *rows, const float *gradients, size_t stride,
                                uint32_t n);

struct ts_optimizer {
  ts_optimizer_kind kind;
  uint32_t dim, slot_floats;
  float learning_rate, initial_accumulator, l1, l2;
  ts_optimizer_apply *apply;
};

extern const char *const ts_optimizer_names[TS_OPTIMIZERS + 1];

/* Arrays a row keeps, weights included: 1, 2, 3, 3. */
uint32_t ts_optimizer_slots(ts_optimizer_kind kind);
/* First value of slot s >= 1. */
float ts_optimizer_initial(const ts_optimizer *optimizer, uint32_t slot);
/* Chooses the kernel for this CPU. */
void ts_optimizer_select(ts_optimizer *optimizer);

/* Defines NAME_baseline, NAME_avx2 and NAME_avx512 from one always-inlined body, and NAME_select. */
#define TS_KERNELS(NAME, BODY)                                                                                        \
  static void NAME##_baseline(const ts_optimizer *o, float *const *r, const float *g, size_t s, uint32_t n) {         \
    BODY(o, r, g, s, n);                                                                                              \
  }                                                                                                                   \
  __attribute__((target("avx2"))) static void NAME##_avx2(const ts_optimizer *o, float *const *r, const float *g,     \
                                                          size_t s, uint32_t n) {                                     \
    BODY(o, r, g, s, n);                                                                                              \
  }                                                                                                                   \
  __attribute__((target("avx512f,avx512vl,avx512dq,avx512bw"))) static void NAME##_avx512(                            \
      const ts_optimizer *o, float *const *r, const float *g, size_t s, uint32_t n) {                                 \
    BODY(o, r, g, s, n);                                                                                              \
  }                                                                                                                   \
  ts_optimizer_apply *NAME##_select(uint32_t level) {                                                                 \
    return level >= 2 ? NAME##_avx512 : level == 1 ? NAME##_avx2 : NAME##_baseline;                                   \
  }

/* 0 baseline, 1 AVX2, 2 AVX-512. */
uint32_t ts_cpu_level(void);

ts_optimizer_apply *ts_sgd_select(uint32_t level);
ts_optimizer_apply *ts_adagrad_select(uint32_t level);
ts_optimizer_apply *ts_ftrl_select(uint32_t level);
ts_optimizer_apply *ts_ftrl_row_norm_select(uint32_t level);

#endif
