/* analytic.c - see analytic.h. One time T solves sum(rows * in(decay * T)) = size, in() rising, so T is found by halving
 * the interval between two powers of two; sums over buckets, lightest first. */
#include "simulator/analytic.h"

const char *const ts_formula_names[TS_FORMULAS + 1] = {"lru", "fifo", "random", "popular", NULL};

static double is_in(ts_formula formula, double x) { return formula == TS_FORMULA_LRU ? ts_one_minus_exp(x) : x / (1 + x); }
static double is_out(ts_formula formula, double x) { return formula == TS_FORMULA_LRU ? ts_det_exp(-x) : 1 / (1 + x); }

/* What a bucket's time is counted by: lru asks for a row not being in T lookups; the others renew at its rate. */
static double rate(const ts_law *law, ts_formula formula, uint32_t i) {
  return formula == TS_FORMULA_LRU ? ts_law_decay(law, i) : law->buckets[i].weight / law->total;
}

static double held(const ts_law *law, ts_formula formula, double time) {
  double sum = 0;
  for (uint32_t i = law->count; i-- > 0;) sum += (double)law->buckets[i].rows * is_in(formula, rate(law, formula, i) * time);
  return sum;
}

static double time_of(const ts_law *law, ts_formula formula, double size) {
  double low = 0, high = 1;
  while (high < 0x1p200 && held(law, formula, high) < size) {
    low = high;
    high *= 2;
  }
  for (int i = 0; i < 60 && high - low > 1e-13 * high; i++) {
    const double middle = low + (high - low) / 2;
    if (held(law, formula, middle) < size) low = middle;
    else high = middle;
  }
  return high;
}

/* Expected misses of one batch: rows asked for and not there. */
static double popular(const ts_law *law, uint64_t size, uint64_t batch) {
  double sum = 0;
  uint64_t kept = size;
  for (uint32_t i = 0; i < law->count; i++) {
    const uint64_t rows = law->buckets[i].rows, out = rows - TS_MIN(kept, rows);
    kept -= rows - out;
    sum += (double)out * ts_one_minus_exp((double)batch * ts_law_decay(law, i));
  }
  return sum;
}

double ts_formula_misses(const ts_law *law, ts_formula formula, uint64_t size, uint64_t batch) {
  uint64_t asked = 0; /* rows that are ever asked for: a cache of as many misses nothing in the long run */
  for (uint32_t i = 0; i < law->count; i++) asked += law->buckets[i].weight > 0 ? law->buckets[i].rows : 0;
  batch = TS_MAX(batch, 1);
  if (size >= asked) return 0;
  if (size == 0) return 1;
  double misses = 0;
  if (formula == TS_FORMULA_POPULAR) {
    misses = popular(law, size, batch);
  } else {
    const double time = time_of(law, formula, (double)size);
    for (uint32_t i = law->count; i-- > 0;)
      misses += (double)law->buckets[i].rows * ts_one_minus_exp((double)batch * ts_law_decay(law, i)) *
                is_out(formula, rate(law, formula, i) * time);
  }
  return TS_MIN(misses / ts_law_distinct(law, (double)batch), 1.0);
}
