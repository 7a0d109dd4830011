/* optimizer.c - names, slots and the choice of kernels. */
#include "optimizers/optimizer.h"

const char *const ts_optimizer_names[TS_OPTIMIZERS + 1] = {"sgd", "adagrad", "ftrl", "ftrl-row-norm", NULL};

uint32_t ts_optimizer_slots(ts_optimizer_kind kind) {
  switch (kind) {
    case TS_ADAGRAD: return 2;
    case TS_FTRL:
    case TS_FTRL_ROW_NORM: return 3;
    default: return 1;
  }
}

float ts_optimizer_initial(const ts_optimizer *optimizer, uint32_t slot) {
  return slot == 1 ? optimizer->initial_accumulator : 0.0f;
}

uint32_t ts_cpu_level(void) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512bw"))
    return 2;
  if (__builtin_cpu_supports("avx2")) return 1;
#endif
  return 0;
}

void ts_optimizer_select(ts_optimizer *optimizer) {
  static ts_optimizer_apply *(*const select[TS_OPTIMIZERS])(uint32_t) = {ts_sgd_select, ts_adagrad_select, ts_ftrl_select,
                                                                         ts_ftrl_row_norm_select};
  optimizer->apply = select[optimizer->kind](ts_cpu_level());
}
