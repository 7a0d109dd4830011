/* gaps.h - classes of gaps between uses: 1, 2, 3, and from 4 on four classes an octave. */
#ifndef TS_SIMULATOR_GAPS_H
#define TS_SIMULATOR_GAPS_H

#include "base/base.h"

#define TS_MOST_GAPS 200u /* classes: gaps up to 2^51 */

/* Class of a gap of 1 or more. */
static inline uint32_t ts_gap_class(uint64_t gap) {
  uint32_t top = 63u - (uint32_t)__builtin_clzll(gap);
  return top < 2 ? (uint32_t)gap - 1 : 3 + (top - 2) * 4 + (uint32_t)(gap >> (top - 2) & 3);
}

/* The shortest gap of a class, and how many gaps it has. */
static inline uint64_t ts_gap_first(uint32_t class) {
  return class < 3 ? class + 1 : (UINT64_C(4) + ((class - 3) & 3)) << ((class - 3) >> 2);
}
static inline uint64_t ts_gap_count(uint32_t class) { return class < 3 ? 1 : UINT64_C(1) << ((class - 3) >> 2); }

#endif
