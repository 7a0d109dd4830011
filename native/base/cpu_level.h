/* cpu_level.h - which of the three kinds of kernels this CPU runs, and the macro that compiles one body for each.
 *
 * A body is an always-inlined function in plain C; the compiler vectorises it for every level. All levels give the same
 * bits, because the arithmetic is IEEE add, multiply, divide and square root per element, without contraction
 * (-ffp-contract=off), and reductions run over sixteen fixed lanes. */
#ifndef TS_CPU_LEVEL_H
#define TS_CPU_LEVEL_H

#include <stdint.h>

#define TS_LEVEL_BASELINE 0u
#define TS_LEVEL_AVX2 1u
#define TS_LEVEL_AVX512 2u
#define TS_LEVELS 3u

/* The highest level this CPU runs. */
uint32_t ts_cpu_level(void);

#define TS_INLINE static inline __attribute__((always_inline))

#if defined(__x86_64__)
/* Prefetching for writing is a no-op on the few AVX2 CPUs without it (Haswell), never a fault. */
#define TS_TARGET_AVX2 __attribute__((target("avx2,prfchw")))
#define TS_TARGET_AVX512 __attribute__((target("avx512f,avx512vl,avx512dq,avx512bw,prfchw")))
#else
#define TS_TARGET_AVX2
#define TS_TARGET_AVX512
#endif

/* Defines static NAME_baseline, NAME_avx2 and NAME_avx512 with the parameter list PARAMETERS, all of which pass
 * ARGUMENTS to BODY, and the table NAME_levels[TS_LEVELS]. ARGUMENTS may name `own_level`, the constant of the level. */
#define TS_AT_LEVEL(LEVEL, BODY, ARGUMENTS) \
  {                                         \
    enum { own_level = LEVEL };             \
    BODY ARGUMENTS;                         \
  }
#define TS_EVERY_LEVEL(NAME, BODY, PARAMETERS, ARGUMENTS)                                                     \
  static void NAME##_baseline PARAMETERS TS_AT_LEVEL(TS_LEVEL_BASELINE, BODY, ARGUMENTS)                      \
  TS_TARGET_AVX2 static void NAME##_avx2 PARAMETERS TS_AT_LEVEL(TS_LEVEL_AVX2, BODY, ARGUMENTS)               \
  TS_TARGET_AVX512 static void NAME##_avx512 PARAMETERS TS_AT_LEVEL(TS_LEVEL_AVX512, BODY, ARGUMENTS)         \
  static void(*const NAME##_levels[TS_LEVELS]) PARAMETERS = {NAME##_baseline, NAME##_avx2, NAME##_avx512};

#define TS_LANES 16u

/* The sum of sixteen lanes by a fixed tree: the same bits whatever the vector width. Overwrites them. */
TS_INLINE float ts_sum_of_lanes(float lane[TS_LANES]) {
  for (uint32_t width = TS_LANES / 2; width > 0; width /= 2)
    for (uint32_t k = 0; k < width; k++) lane[k] += lane[k + width];
  return lane[0];
}

TS_INLINE float ts_sum_of_squares(const float *x, uint32_t n) {
  float lane[TS_LANES] = {0};
  uint32_t j = 0;
  for (; j + TS_LANES <= n; j += TS_LANES)
    for (uint32_t k = 0; k < TS_LANES; k++) lane[k] += x[j + k] * x[j + k];
  for (uint32_t k = 0; j + k < n; k++) lane[k] += x[j + k] * x[j + k];
  return ts_sum_of_lanes(lane);
}

#endif
