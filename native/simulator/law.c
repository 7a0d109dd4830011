/* law.c - see law.h. Sums run from the lightest bucket to the heaviest, in plain IEEE arithmetic: the same on every
 * machine. */
#include "simulator/law.h"

#include "base/zipf.h"

#include <stdlib.h>
#include <string.h>

static int32_t no_memory(ts_err err) { return ts_fail(err, TS_ENOMEM, "Cannot make the popularity law: out of memory"); }

void ts_law_free(ts_law *law) {
  free(law->buckets);
  *law = (ts_law){0};
}

static int by_weight(const void *a, const void *b) {
  double x = ((const ts_law_bucket *)a)->weight, y = ((const ts_law_bucket *)b)->weight;
  return (x < y) - (x > y);
}

static bool is_weight(double w) { return w >= 0 && w <= 1.7976931348623157e308; }

/* Sorts, joins equal weights, sums. `out->buckets` holds `count` checked buckets. */
static int32_t finish(ts_law *out, uint32_t count, ts_err err) {
  ts_law_bucket *b = out->buckets;
  qsort(b, count, sizeof *b, by_weight);
  out->count = 0;
  for (uint32_t i = 0; i < count; i++) {
    if (b[i].rows == 0) continue;
    if (out->count > 0 && b[out->count - 1].weight == b[i].weight) b[out->count - 1].rows += b[i].rows;
    else b[out->count++] = b[i];
  }
  out->rows = 0;
  out->total = 0;
  for (uint32_t i = out->count; i-- > 0;) {
    out->rows += b[i].rows;
    out->total += (double)b[i].rows * b[i].weight;
  }
  int32_t status = TS_OK;
  if (out->rows == 0) status = ts_fail(err, TS_EINVAL, "Cannot make the popularity law: it has no rows; give at least 1");
  else if (!(out->total > 0) || !is_weight(out->total))
    status = ts_fail(err, TS_EINVAL, "Cannot make the popularity law: the weights of its %llu rows add up to %g; give at least "
                     "one row a positive weight", (unsigned long long)out->rows, out->total);
  if (status != TS_OK) ts_law_free(out);
  return status;
}

static int32_t check_rows(uint64_t *rows, uint64_t more, ts_err err) {
  if (more > TS_LAW_MOST_ROWS || *rows + more > TS_LAW_MOST_ROWS)
    return ts_fail(err, TS_EINVAL, "Cannot make the popularity law: it has more than 2^53 rows");
  *rows += more;
  return TS_OK;
}

int32_t ts_law_buckets(const ts_law_bucket *buckets, uint32_t count, ts_law *out, ts_err err) {
  *out = (ts_law){0};
  uint64_t rows = 0;
  for (uint32_t i = 0; i < count; i++) {
    if (!is_weight(buckets[i].weight))
      return ts_fail(err, TS_EINVAL, "Cannot make the popularity law: bucket %u has the weight %g; give 0 or a positive number",
                     i, buckets[i].weight);
    int32_t status = check_rows(&rows, buckets[i].rows, err);
    if (status != TS_OK) return status;
  }
  out->buckets = calloc(TS_MAX(count, 1), sizeof *out->buckets);
  if (out->buckets == NULL) return no_memory(err);
  if (count > 0) memcpy(out->buckets, buckets, count * sizeof *buckets);
  return finish(out, count, err);
}

static int32_t check_zipf(uint64_t rows, double s, double q, const double *hitters, uint32_t hitter_count, ts_err err) {
  if (rows == 0) return ts_fail(err, TS_EINVAL, "Cannot make the popularity law: it has no rows; give at least 1");
  if (rows > TS_LAW_MOST_ROWS) return check_rows(&(uint64_t){0}, rows, err);
  if (!(s >= 0 && s <= 100)) return ts_fail(err, TS_EINVAL, "Cannot make the popularity law: s is %g; give 0 to 100", s);
  if (!(q >= 0 && q <= 1e15)) return ts_fail(err, TS_EINVAL, "Cannot make the popularity law: q is %g; give 0 to 1e15", q);
  if (hitter_count > rows)
    return ts_fail(err, TS_EINVAL, "Cannot make the popularity law: it has %u heavy hitters and %llu rows", hitter_count,
                   (unsigned long long)rows);
  double sum = 0;
  for (uint32_t i = 0; i < hitter_count; i++) {
    if (!(hitters[i] > 0 && hitters[i] <= 1))
      return ts_fail(err, TS_EINVAL, "Cannot make the popularity law: heavy hitter %u has the share %g; give a share above 0, "
                     "at most 1", i, hitters[i]);
    sum += hitters[i];
  }
  if (hitter_count < rows && !(sum < 1))
    return ts_fail(err, TS_EINVAL, "Cannot make the popularity law: the heavy hitters have %g of all accesses, and %llu other "
                   "rows nothing; give shares that add up to less than 1", sum, (unsigned long long)(rows - hitter_count));
  return TS_OK;
}

/* Mean weight of the ranks [first, first + length): one by one where they are few, else the integral at midpoints
 * (relative error below 1e-9). */
static double mean_weight(const ts_zipf *zipf, uint64_t first, uint64_t length) {
  double sum = 0;
  if (length <= 1024) {
    for (uint64_t r = first; r < first + length; r++) sum += ts_zipf_weight(zipf, r);
    return sum / (double)length;
  }
  double a = (double)first + 0.5 + zipf->q, ratio = ts_det_log(1.0 + (double)length / a), e = 1.0 - zipf->s;
  /* a^e (e^(e ratio) - 1) / e, which for e near 0 is `ratio`. */
  double x = e * ratio;
  double grown = x < 1e-5 && x > -1e-5 ? ratio * (1.0 + x / 2 + x * x / 6)
                 : x < 0               ? -ts_one_minus_exp(-x) / e
                                       : (ts_det_exp(x) - 1.0) / e;
  return ts_det_pow(a, e) * grown / (double)length;
}

int32_t ts_law_zipf(uint64_t rows, double s, double q, const double *hitters, uint32_t hitter_count, ts_law *out,
                    ts_err err) {
  *out = (ts_law){0};
  int32_t status = check_zipf(rows, s, q, hitters, hitter_count, err);
  if (status != TS_OK) return status;
  ts_zipf zipf = {0};
  if (rows > hitter_count) status = ts_zipf_create(rows - hitter_count, s, q, &zipf, err);
  if (status != TS_OK) return status;
  out->buckets = calloc((size_t)zipf.count + hitter_count, sizeof *out->buckets);
  if (out->buckets == NULL) {
    ts_zipf_free(&zipf);
    return no_memory(err);
  }
  double tail = 0, left = 1;
  for (uint32_t i = zipf.count; i-- > 0;) {
    const ts_zipf_bucket *b = &zipf.buckets[i];
    /* A flat law is one bucket of weight 1, whatever its length. */
    double weight = s == 0 ? 1.0 : mean_weight(&zipf, b->first, b->length);
    out->buckets[hitter_count + i] = (ts_law_bucket){b->length, weight};
    tail += weight * (double)b->length;
  }
  for (uint32_t i = 0; i < hitter_count; i++) left -= hitters[i];
  for (uint32_t i = 0; i < hitter_count; i++)
    out->buckets[i] = (ts_law_bucket){1, rows == hitter_count ? hitters[i] : hitters[i] * tail / left};
  const uint32_t count = zipf.count + hitter_count;
  ts_zipf_free(&zipf);
  return finish(out, count, err);
}

double ts_one_minus_exp(double x) {
  /* The series' next term is below 2e-17 x at the border. */
  if (x < 0.02) return x * (1 - x / 2 * (1 - x / 3 * (1 - x / 4 * (1 - x / 5 * (1 - x / 6 * (1 - x / 7))))));
  return 1.0 - ts_det_exp(-x);
}

double ts_law_decay(const ts_law *law, uint32_t bucket) {
  const double p = law->buckets[bucket].weight / law->total;
  if (p < 0.02) return p * (1 + p * (1.0 / 2 + p * (1.0 / 3 + p * (1.0 / 4 + p * (1.0 / 5 + p * (1.0 / 6 + p * (1.0 / 7)))))));
  return p < 1 ? -ts_det_log(1 - p) : 1e9; /* the only row: e^-1e9 is 0 */
}

double ts_law_distinct(const ts_law *law, double lookups) {
  double sum = 0;
  for (uint32_t i = law->count; i-- > 0;)
    sum += (double)law->buckets[i].rows * ts_one_minus_exp(lookups * ts_law_decay(law, i));
  return sum;
}
