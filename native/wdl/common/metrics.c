/* metrics.c - exact AUC by a radix sort of all scores, and logloss. */
#include "wdl/common/metrics.h"

#include <string.h>

#define DIGIT 11u

uint64_t ts_ranked(float score, bool positive) {
  if (score == 0) score = 0; /* -0 ties with 0 */
  uint32_t bits;
  memcpy(&bits, &score, sizeof bits);
  bits = bits >> 31 ? ~bits : bits | 0x80000000u; /* order of floats as order of integers */
  return (uint64_t)bits << 1 | positive;
}

/* Adds the pairs of one group of tied scores. Twice the sum, so that halves stay whole. */
typedef struct pairs {
  unsigned __int128 twice;
  uint64_t positives, negatives;
} pairs;

static void add_tied(pairs *p, uint64_t positives, uint64_t negatives) {
  p->twice += (unsigned __int128)positives * (2 * p->negatives + negatives);
  p->positives += positives;
  p->negatives += negatives;
}

static double area(const pairs *p) {
  if (p->positives == 0 || p->negatives == 0) return __builtin_nan("");
  return (double)p->twice / (2.0 * (double)p->positives * (double)p->negatives);
}

double ts_auc(uint64_t *ranked, uint64_t *scratch, uint64_t n) {
  uint64_t *from = ranked, *to = scratch;
  for (uint32_t shift = 1; shift < 33; shift += DIGIT) { /* bit 0 is the label */
    uint64_t at[1u << DIGIT] = {0}, sum = 0;
    for (uint64_t i = 0; i < n; i++) at[from[i] >> shift & ((1u << DIGIT) - 1)]++;
    for (uint32_t d = 0; d < 1u << DIGIT; d++) {
      uint64_t count = at[d];
      at[d] = sum;
      sum += count;
    }
    for (uint64_t i = 0; i < n; i++) to[at[from[i] >> shift & ((1u << DIGIT) - 1)]++] = from[i];
    uint64_t *swap = from;
    from = to;
    to = swap;
  }
  pairs p = {0};
  for (uint64_t i = 0; i < n;) {
    uint64_t score = from[i] >> 1, positives = 0, negatives = 0;
    for (; i < n && from[i] >> 1 == score; i++) {
      if (from[i] & 1) positives++;
      else negatives++;
    }
    add_tied(&p, positives, negatives);
  }
  return area(&p);
}

double ts_auc_of_bins(const uint64_t *positives, const uint64_t *negatives, uint32_t bins) {
  pairs p = {0};
  for (uint32_t i = 0; i < bins; i++) add_tied(&p, positives[i], negatives[i]);
  return area(&p);
}

double ts_logloss(double logit, bool positive) {
  double p = ts_sigmoid(positive ? logit : -logit);
  return -ts_det_log(TS_MIN(TS_MAX(p, 1e-7), 1.0 - 1e-7));
}
