/* demand.h - what a training step asks of the tiers: how many distinct rows of each table, and how many of them are in
 * each tier, from popularity laws alone.
 *
 * Everything comes from one function of a law: D(x), the expected distinct rows in x lookups (ts_law_distinct). With n
 * lookups a step and duplicates found once,
 *
 *   distinct rows a step             D(n)
 *   rows under an LRU of C bytes     the lookup window t for which the rows seen in it fill the cache:
 *                                    sum over tables of row_bytes x D(t x n) = C             (Che et al. 2002; batched)
 *   distinct rows that are not there sum over rows of e^(-p t n) (1 - e^(-p n)) = D((t + 1) n) - D(t n)
 *   variance of the distinct rows    D(2n) - D(n)   (each row comes or does not)
 *   rows never seen in k steps       D((k + 1) n) - D(k n)
 *
 * so a table of 10^12 rows costs as much as a small one. Tables that share a tier share the window. Tiers below an LRU
 * that takes what leaves it are one longer stack: tier i has the windows from t(C0 + .. + Ci-1) to t(C0 + .. + Ci).
 *
 * `lfu` keeps the rows with most lookups a byte; their rate decides, not their order, and nothing is learnt. */
#ifndef TS_SIMULATOR_DEMAND_H
#define TS_SIMULATOR_DEMAND_H

#include "simulator/law.h"

#define TS_DEMAND_TIERS 4u

typedef enum ts_demand_policy { TS_DEMAND_LRU, TS_DEMAND_LFU } ts_demand_policy;

typedef struct ts_demand_table {
  const ts_law *law;
  double lookups;   /* a step, all workers together */
  double row_bytes; /* that a row takes in the first tier */
} ts_demand_table;

/* Expected rows a step of one table. */
typedef struct ts_demand {
  double distinct, variance;
  double in_tier[TS_DEMAND_TIERS]; /* distinct rows that are found in each tier; the rest is in the last one */
} ts_demand;

/* Fills out[t] for each table. capacity[i]: bytes of tier i; the last of `tiers` holds whatever is left and its capacity
 * is not looked at. */
void ts_demand_of(const ts_demand_table *tables, uint32_t count, ts_demand_policy policy, const double *capacity,
                  uint32_t tiers, ts_demand *out);

#endif
