/* law_folded.c - Zipf draws without an upper end, folded into a table by modulo, as numpy's zipf is used in benchmarks of
 * embedding tables: the head is a Zipf law, and what lies beyond the table becomes an almost even floor under all rows. */
#include "simulator/keys.h"

#include <stdlib.h>

#include "base/zipf.h"

/* Hurwitz zeta(s, a) = sum over k >= 0 of (a + k)^-s, by Euler-Maclaurin after eight terms: relative error below 1e-9 for
 * a >= 1. */
static double hurwitz(double s, double a) {
  double sum = 0;
  for (int k = 0; k < 8; k++) sum += ts_det_pow(a + k, -s);
  double b = a + 8, f = ts_det_pow(b, -s);
  return sum + f * b / (s - 1) + f / 2 + s * f / b / 12 - s * (s + 1) * (s + 2) * f / (b * b * b) / 720;
}

int32_t ts_law_folded(uint64_t rows, double s, ts_law *out, ts_err err) {
  *out = (ts_law){0};
  if (rows == 0) return ts_fail(err, TS_EINVAL, "Cannot make the popularity law: it has no rows; give at least 1");
  if (!(s > 1 && s <= 100))
    return ts_fail(err, TS_EINVAL, "Cannot make the popularity law: s is %g; a folded Zipf law needs s above 1, at most 100", s);
  ts_law plain;
  int32_t status = ts_law_zipf(rows, s, 0, NULL, 0, &plain, err);
  if (status != TS_OK) return status;
  double scale = ts_det_pow((double)rows, -s), before = 0;
  for (uint32_t i = 0; i < plain.count; i++) {
    ts_law_bucket *b = &plain.buckets[i];
    double middle = before + ((double)b->rows + 1) / 2; /* rank counted from 1 */
    before += (double)b->rows;
    b->weight += scale * hurwitz(s, 1 + middle / (double)rows);
  }
  status = ts_law_buckets(plain.buckets, plain.count, out, err);
  ts_law_free(&plain);
  return status;
}
