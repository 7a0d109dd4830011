/* kernels.h - what runs on the device, and what it is given: OpenCL C that is compiled at opening. */
#ifndef TS_TIERS_OPENCL_KERNELS_H
#define TS_TIERS_OPENCL_KERNELS_H

#include "base/base.h"

/* Buffers that rows may be in, which a kernel is given first, then where each begins, in words, then the pool's address. */
#define TS_OPENCL_PARTS 8u
#define TS_OPENCL_POOL_ARGUMENTS (TS_OPENCL_PARTS + 2u)

/* The upload of a step: these words, then the addresses of rows, 64 bits each, then their keys (bf16 alone), 64 bits each, then
 * their gradients, `dim` floats each. */
#define TS_STEP_LIST(X)                                                                                                     \
  X(RULE) /* ts_optimizer_kind, or TS_STEP_RMSPROP */                                                                       \
  X(BF16) X(DIM) X(ROWS)                                                                                                    \
  X(WEIGHT_WORDS) X(SLOT_WORDS) /* of slot 0, and of each other slot */                                                     \
  X(SCALAR_WORD) X(VERSION_WORD) /* where they lie in a row; 0: there is none */                                            \
  X(VERSION_LOW) X(VERSION_HIGH) X(PERIODS) X(SEED_LOW) X(SEED_HIGH) X(MOMENT_LOW) X(MOMENT_HIGH)                           \
  X(RATE) X(LEARNING_RATE) X(L1) X(L2) X(SHRINKAGE2) X(DECAY_RATE) X(DECAY_BASELINE) /* floats from here on */              \
  X(ONE_MINUS_BETA1) X(ONE_MINUS_BETA2) X(EPSILON) X(WEIGHT_DECAY)
enum {
#define TS_STEP_WORD(name) TS_STEP_##name,
  TS_STEP_LIST(TS_STEP_WORD)
#undef TS_STEP_WORD
  TS_STEP_USED
};
#define TS_STEP_WORDS 32u
_Static_assert(TS_STEP_USED <= TS_STEP_WORDS, "the kernels say where the offsets begin");
#define TS_STEP_RMSPROP 100u /* adam-async with apply_sparse_rmsprop, among ts_optimizer_kind */

/* ts_gather, ts_scatter, ts_widen, ts_step; compiled with the rules' names defined as their ts_optimizer_kind. */
extern const char ts_opencl_source[];

#endif
