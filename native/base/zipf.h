/* zipf.h - ranks of a bounded Zipf-Mandelbrot law: rank r of 1..n has weight (r + q)^-s.
 *
 * Exact in the law, small in memory: neighbouring ranks whose weights differ by at most 4 % share a bucket; a bucket
 * is drawn from an alias table (Walker 1977, Vose 1991), a rank in it uniformly, and kept with probability
 * weight(rank) / weight(first rank). Ten million ranks take about 400 buckets. */
#ifndef TS_BASE_ZIPF_H
#define TS_BASE_ZIPF_H

#include "base/base.h"

/* A place of an alias table: stay here below `stay`, else go to place `other`. */
typedef struct ts_alias {
  uint32_t stay, other;
} ts_alias;

/* Vose's method: every place holds the same probability, its own or one other's. share: [count] with mean 1, used up;
 * first: of place 0, the others each `stride` bytes on. False: no memory. */
bool ts_alias_fill(ts_alias *first, size_t stride, uint32_t count, double *share);

typedef struct ts_zipf_bucket {
  uint64_t first, length; /* ranks [first, first + length), counted from 0 */
  ts_alias alias;
  double sure;            /* weight of the last rank / weight of the first: keep at once below */
} ts_zipf_bucket;

typedef struct ts_zipf {
  uint64_t n;
  double s, q;
  uint32_t count;
  ts_zipf_bucket *buckets;
} ts_zipf;

/* n > 0, s >= 0, q >= 0. Errors: TS_ENOMEM. */
int32_t ts_zipf_create(uint64_t n, double s, double q, ts_zipf *out, ts_err err);
void ts_zipf_free(ts_zipf *zipf);

/* Weight of a rank counted from 0. */
double ts_zipf_weight(const ts_zipf *zipf, uint64_t rank);
/* Sum of the weights of ranks [0, end): the first 65,536 one by one, the others by the integral at midpoints
 * (relative error below 1e-9). */
double ts_zipf_weight_sum(const ts_zipf *zipf, uint64_t end);

/* Whether a rank drawn in a bucket is kept, when `sure` does not decide; u in [0, 1). */
bool ts_zipf_keep(const ts_zipf *zipf, const ts_zipf_bucket *bucket, uint64_t rank, double u);

/* A rank counted from 0 out of one random word; more words are derived from it when needed. */
static inline uint64_t ts_zipf_rank(const ts_zipf *zipf, uint64_t word) {
  for (;;) {
    uint32_t at = (uint32_t)((word >> 32) * zipf->count >> 32);
    const ts_zipf_bucket *b = &zipf->buckets[at];
    if ((uint32_t)word >= b->alias.stay) b = &zipf->buckets[b->alias.other];
    if (b->length == 1) return b->first;
    word = ts_mix64(word + 0x9e3779b97f4a7c15u);
    uint64_t rank = b->first + (uint64_t)((unsigned __int128)word * b->length >> 64);
    double u = (double)(uint32_t)word * 0x1.0p-32;
    if (TS_LIKELY(u < b->sure) || ts_zipf_keep(zipf, b, rank, u)) return rank;
    word = ts_mix64(word + 0x9e3779b97f4a7c15u);
  }
}

#endif
