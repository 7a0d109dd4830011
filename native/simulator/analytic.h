/* analytic.h - miss ratios from formulas, for independent draws from a popularity law of any number of rows. */
#ifndef TS_SIMULATOR_ANALYTIC_H
#define TS_SIMULATOR_ANALYTIC_H

#include "simulator/law.h"

/* lru: Che, Tung and Wang (2002): a row is in the cache if it was asked for within the last T lookups, and T is such that
 * `size` rows are. fifo, random: Fricker, Robert and Roberts (2012), Martina, Garetto and Leonardi (2014): a row is there
 * with probability pT / (1 + pT). popular: the `size` most popular rows stay, what no policy without knowledge of the keys
 * to come can better. */
typedef enum ts_formula { TS_FORMULA_LRU, TS_FORMULA_FIFO, TS_FORMULA_RANDOM, TS_FORMULA_POPULAR, TS_FORMULAS } ts_formula;
extern const char *const ts_formula_names[TS_FORMULAS + 1];

/* Share of misses in the steady state. `batch` lookups come together and count each row once (1: each lookup counts); rows
 * that the cache holds when the batch comes are hits. */
double ts_formula_misses(const ts_law *law, ts_formula formula, uint64_t size, uint64_t batch);

#endif
