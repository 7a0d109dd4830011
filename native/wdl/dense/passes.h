/* passes.h - what the files behind vector.h share. */
#ifndef TS_WDL_DENSE_PASSES_H
#define TS_WDL_DENSE_PASSES_H

#include "wdl/dense/lanes.h"
#include "wdl/dense/vector.h"

typedef uint8_t ts_byte_lanes __attribute__((vector_size(16)));
typedef int8_t ts_sign_lanes __attribute__((vector_size(16)));
typedef int16_t ts_signed_words __attribute__((vector_size(64)));
typedef int8_t ts_wide_sign_lanes __attribute__((vector_size(32)));

/* Matrices from this size on are written past the caches. */
#define TS_STREAM_BYTES (UINT64_C(1) << 20)

/* Elements as floats, and back. */
TS_INLINE ts_float_lanes ts_widen(ts_lanes x, bool bf16) { return (ts_float_lanes)(bf16 ? x << 16 : x); }
TS_INLINE ts_lanes ts_narrow(ts_float_lanes x, bool bf16) {
  return bf16 ? ts_round_halves((ts_lanes)x) : (ts_lanes)x;
}

/* One public function of a pass: NAME, its body, parameters and arguments. The type is a constant in the loops. */
#define TS_PASS(NAME, BODY, PARAMETERS, ARGUMENTS)  \
  TS_EVERY_LEVEL(BODY, BODY, PARAMETERS, ARGUMENTS) \
  void NAME PARAMETERS { BODY##_levels[ts_cpu_level()] ARGUMENTS; }
/* One that streams: the body's arguments end with the level. */
#define TS_STREAMING_PASS(NAME, BODY, PARAMETERS, ARGUMENTS, OF_BODY) \
  TS_EVERY_LEVEL(BODY, BODY, PARAMETERS, OF_BODY)                  \
  void NAME PARAMETERS { BODY##_levels[ts_cpu_level()] ARGUMENTS; }

#endif
