/* policy_departed.c - a table of what left, in the upper halves of the pool's words: 16 bits for each slot, without any
 * memory of its own. A key's cells are sixteen neighbours, a cache line of words, chosen by its hash. The table is as large as
 * the pool was when it was first needed, and follows it when it has grown by an eighth: the old cells are then found by
 * other keys, which the little that a cell can say must bear anyway. */
#include "cache/policy_parts.h"

#define NEIGHBOURS 16u

ts_policy_word *ts_departed_cells(ts_policy *policy, uint64_t mixed, uint64_t *n) {
  if (policy->slots > policy->cells + policy->cells / 8) policy->cells = policy->slots;
  uint64_t groups = TS_MAX(policy->cells / NEIGHBOURS, 1);
  uint64_t first = (uint64_t)((unsigned __int128)mixed * groups >> 64) * NEIGHBOURS;
  ts_policy_word *cells = policy->pool.span(policy->pool.context, first, n);
  *n = TS_MIN(*n, NEIGHBOURS);
  return cells;
}
