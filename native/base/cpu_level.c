/* cpu_level.c - asks the CPU. */
#include "base/cpu_level.h"

uint32_t ts_cpu_level(void) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("bmi2"))
    return TS_LEVEL_AVX512;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2")) return TS_LEVEL_AVX2;
#endif
  return TS_LEVEL_BASELINE;
}
