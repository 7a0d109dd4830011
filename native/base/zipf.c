/* zipf.c - builds the buckets and the alias table of a Zipf-Mandelbrot law. Every step is plain IEEE arithmetic, so
 * that the same law gives the same ranks on every machine. */
#include "base/zipf.h"

#include <stdlib.h>

#define SPREAD 0.96   /* smallest weight over largest weight in a bucket */
#define SUMMED 65536u /* ranks whose weights are added one by one */

double ts_zipf_weight(const ts_zipf *zipf, uint64_t rank) {
  return zipf->s == 0 ? 1.0 : ts_det_pow((double)(rank + 1) + zipf->q, -zipf->s);
}

double ts_zipf_weight_sum(const ts_zipf *zipf, uint64_t end) {
  double sum = 0;
  for (uint64_t r = 0; r < TS_MIN(end, SUMMED); r++) sum += ts_zipf_weight(zipf, r);
  if (end <= SUMMED) return sum;
  double a = SUMMED + 0.5 + zipf->q, b = (double)end + 0.5 + zipf->q, e = 1.0 - zipf->s;
  if (e > -1e-9 && e < 1e-9) return sum + ts_det_log(b / a);
  return sum + (ts_det_pow(b, e) - ts_det_pow(a, e)) / e;
}

bool ts_zipf_keep(const ts_zipf *zipf, const ts_zipf_bucket *bucket, uint64_t rank, double u) {
  double ratio = ((double)(bucket->first + 1) + zipf->q) / ((double)(rank + 1) + zipf->q);
  return u < ts_det_pow(ratio, zipf->s);
}

/* The first rank after the bucket that starts at `first`: weights fall by at most SPREAD inside. */
static uint64_t bucket_end(const ts_zipf *zipf, uint64_t first) {
  if (zipf->s == 0) return zipf->n;
  double growth = ts_det_pow(SPREAD, -1.0 / zipf->s);
  double last = ((double)(first + 1) + zipf->q) * growth - zipf->q; /* largest rank, counted from 1, that still fits */
  if (last >= (double)zipf->n) return zipf->n;
  uint64_t end = (uint64_t)last;
  return end > first ? end : first + 1;
}

bool ts_alias_fill(ts_alias *first, size_t stride, uint32_t count, double *share) {
  uint32_t *small = calloc(2 * (size_t)count, sizeof *small), *large = small + count, smalls = 0, larges = 0;
  if (small == NULL) return false;
#define PLACE(i) ((ts_alias *)(void *)((unsigned char *)first + (i) * stride))
  for (uint32_t i = count; i-- > 0;) {
    *PLACE(i) = (ts_alias){UINT32_MAX, i}; /* also for those that rounding leaves a hair below 1 */
    if (share[i] < 1.0) small[smalls++] = i;
    else large[larges++] = i;
  }
  while (smalls > 0 && larges > 0) {
    const uint32_t l = small[--smalls], g = large[larges - 1];
    *PLACE(l) = (ts_alias){(uint32_t)(share[l] * 0x1.0p32), g};
    share[g] = share[g] + share[l] - 1.0;
    if (share[g] < 1.0) {
      larges--;
      small[smalls++] = g;
    }
  }
#undef PLACE
  free(small);
  return true;
}

int32_t ts_zipf_create(uint64_t n, double s, double q, ts_zipf *out, ts_err err) {
  *out = (ts_zipf){.n = n, .s = s, .q = q};
  for (uint64_t at = 0; at < n; at = bucket_end(out, at)) out->count++;
  out->buckets = calloc(out->count, sizeof *out->buckets);
  double *share = calloc(out->count, sizeof *share);
  bool made = out->buckets != NULL && share != NULL;
  double sum = 0;
  uint64_t at = 0;
  for (uint32_t i = 0; made && i < out->count; i++) {
    ts_zipf_bucket *b = &out->buckets[i];
    uint64_t end = bucket_end(out, at);
    double weight = ts_zipf_weight(out, at);
    b->first = at;
    b->length = end - at;
    b->sure = ts_zipf_weight(out, end - 1) / weight;
    share[i] = weight * (double)b->length; /* what is kept of it follows the law */
    sum += share[i];
    at = end;
  }
  for (uint32_t i = 0; made && i < out->count; i++) share[i] *= (double)out->count / sum;
  made = made && ts_alias_fill(&out->buckets->alias, sizeof *out->buckets, out->count, share);
  free(share);
  if (made) return TS_OK;
  ts_zipf_free(out);
  return ts_fail(err, TS_ENOMEM, "Cannot prepare the key distribution: out of memory");
}

void ts_zipf_free(ts_zipf *zipf) {
  free(zipf->buckets);
  *zipf = (ts_zipf){0};
}
