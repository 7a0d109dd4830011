/* law_draw.c - see law_draw.h. */
#include "simulator/law_draw.h"

#include <stdlib.h>

int32_t ts_law_draw_create(const ts_law *law, ts_law_draw *out, ts_err err) {
  *out = (ts_law_draw){.count = law->count};
  out->buckets = calloc(law->count, sizeof *out->buckets);
  double *share = calloc(law->count, sizeof *share);
  bool made = out->buckets != NULL && share != NULL;
  uint64_t first = 0;
  for (uint32_t i = 0; made && i < law->count; i++) {
    out->buckets[i].first = first;
    out->buckets[i].rows = law->buckets[i].rows;
    share[i] = (double)law->buckets[i].rows * law->buckets[i].weight / law->total * (double)law->count;
    first += law->buckets[i].rows;
  }
  made = made && ts_alias_fill(&out->buckets->alias, sizeof *out->buckets, law->count, share);
  free(share);
  if (made) return TS_OK;
  ts_law_draw_free(out);
  return ts_fail(err, TS_ENOMEM, "Cannot prepare the drawing of keys: out of memory");
}

void ts_law_draw_free(ts_law_draw *draw) {
  free(draw->buckets);
  *draw = (ts_law_draw){0};
}

int32_t ts_law_scale(const ts_law *law, double share, ts_law *out, ts_err err) {
  /* A bucket gives at most: the end of a row that began before it, whole rows, the beginning of another. */
  ts_law_bucket *b = calloc(3 * (size_t)law->count + 1, sizeof *b);
  if (b == NULL) return ts_fail(err, TS_ENOMEM, "Cannot make a model of the popularity law: out of memory");
  const double step = 1 / share;
  uint32_t count = 0;
  double begun = 0, weight = 0; /* rows and weight of the row of the model that is not full yet */
  for (uint32_t i = 0; i < law->count; i++) {
    const double w = law->buckets[i].weight;
    double left = (double)law->buckets[i].rows;
    if (begun > 0) {
      const double take = TS_MIN(left, step - begun);
      begun += take;
      weight += take * w;
      left -= take;
      if (begun >= step) {
        b[count++] = (ts_law_bucket){1, weight};
        begun = weight = 0;
      }
    }
    if (left <= 0) continue;
    const uint64_t whole = (uint64_t)(left / step);
    if (whole > 0) b[count++] = (ts_law_bucket){whole, step * w};
    left -= (double)whole * step;
    if (left > 0) begun = left, weight = left * w;
  }
  if (begun > 0 && (weight > 0 || count == 0)) b[count++] = (ts_law_bucket){1, weight};
  int32_t status = ts_law_buckets(b, count, out, err);
  free(b);
  return status;
}
