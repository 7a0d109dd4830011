/* levels.h - kernels of levels that this CPU does not run are left out: that is said. */
#ifndef TS_TEST_LEVELS_H
#define TS_TEST_LEVELS_H

#include "base/cpu_level.h"
#include "test/check.h"

static inline void skip_missing_levels(const char *program) {
  if (ts_cpu_level() < TS_LEVEL_AVX2) SKIP(program, "kernels for AVX2: this CPU has none");
  if (ts_cpu_level() < TS_LEVEL_AVX512) SKIP(program, "kernels for AVX-512: this CPU has none");
}

#endif
