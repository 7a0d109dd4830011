/* bags.c - ragged bags of rows: combined into one vector a bag, and a bag's gradient spread back to its keys. A bag may
 * begin in one piece of keys and end in another: its sum so far lies in the output. */
#include "kernels/gather.h"

static bool ends(const ts_bags *b) { return b->key == b->offsets[b->bag + 1]; }

/* The divisor is known when a bag begins, because weights are all there: nothing need be carried over pieces. */
static float divisor_of(const ts_bags *b) {
  if (b->combiner == TS_COMBINER_SUM) return 1.0f;
  const uint64_t first = b->offsets[b->bag], last = b->offsets[b->bag + 1];
  const bool squares = b->combiner == TS_COMBINER_SQRTN;
  double sum = (double)(last - first);
  if (b->weights != NULL) {
    sum = 0;
    for (uint64_t i = first; i < last; i++) {
      double w = (double)b->weights[i];
      sum += squares ? w * w : w;
    }
  }
  return (float)(squares ? __builtin_sqrt(sum) : sum);
}

/* Goes on to the first bag from `bag` on that has keys. */
static void enter(ts_bags *b, uint64_t bag) {
  while (bag < b->count && b->offsets[bag] == b->offsets[bag + 1]) bag++;
  b->bag = bag;
  if (bag < b->count) b->divisor = divisor_of(b);
}

void ts_bags_begin(ts_bags *b, uint32_t level, uint32_t dim, const uint64_t *offsets, uint64_t count, const float *weights,
                   uint32_t combiner) {
  *b = (ts_bags){.level = level, .dim = dim, .combiner = combiner, .offsets = offsets, .count = count, .weights = weights};
  enter(b, 0);
}

void ts_bags_clear_empty(const ts_bags *b, float *out) {
  for (uint64_t bag = 0; bag < b->count; bag++)
    if (b->offsets[bag] == b->offsets[bag + 1]) memset(out + bag * b->dim, 0, b->dim * sizeof(float));
}

/* The sum of some rows of one bag, on top of what `sum` holds. */
TS_INLINE void add_rows(const ts_row_layout *layout, const void *const *rows, const float *weights, uint32_t n,
                        float max_norm, float *restrict sum, const uint32_t dim) {
  const bool bf16 = layout->type == TS_BF16;
  for (uint32_t i = 0; i < n; i++) {
    if (rows[i] == NULL) continue;
    const float weight = weights == NULL ? 1.0f : weights[i];
    const float *restrict row = rows[i];
    if (!bf16) {
      float scale = 1.0f;
      if (max_norm > 0.0f) {
        float norm = __builtin_sqrtf(ts_sum_of_squares(row, dim));
        if (norm > max_norm) scale = max_norm / norm;
      }
      for (uint32_t j = 0; j < dim; j++) sum[j] += row[j] * scale * weight;
      continue;
    }
    const uint16_t *restrict halves = rows[i];
    float scale = 1.0f;
    if (max_norm > 0.0f) {
      /* The lanes of ts_sum_of_squares, without a float copy of the row. */
      float lane[TS_LANES] = {0};
      uint32_t j = 0;
      for (; j + TS_LANES <= dim; j += TS_LANES)
        for (uint32_t k = 0; k < TS_LANES; k++) lane[k] += ts_bf16_widen(halves[j + k]) * ts_bf16_widen(halves[j + k]);
      for (uint32_t k = 0; j + k < dim; k++) lane[k] += ts_bf16_widen(halves[j + k]) * ts_bf16_widen(halves[j + k]);
      float norm = __builtin_sqrtf(ts_sum_of_lanes(lane));
      if (norm > max_norm) scale = max_norm / norm;
    }
    for (uint32_t j = 0; j < dim; j++) sum[j] += ts_bf16_widen(halves[j]) * scale * weight;
  }
}

TS_INLINE void accumulate(const ts_row_layout *layout, const void *const *rows, const float *weights, uint32_t n,
                          float max_norm, float *sum) {
  switch (layout->dim) {
    case 8: add_rows(layout, rows, weights, n, max_norm, sum, 8); break;
    case 16: add_rows(layout, rows, weights, n, max_norm, sum, 16); break;
    case 32: add_rows(layout, rows, weights, n, max_norm, sum, 32); break;
    case 64: add_rows(layout, rows, weights, n, max_norm, sum, 64); break;
    default: add_rows(layout, rows, weights, n, max_norm, sum, layout->dim);
  }
}

TS_EVERY_LEVEL(accumulate, accumulate,
               (const ts_row_layout *layout, const void *const *rows, const float *weights, uint32_t n, float max_norm,
                float *sum),
               (layout, rows, weights, n, max_norm, sum))

TS_INLINE void scale_body(const float *restrict from, float factor, float *restrict to, uint32_t dim) {
  for (uint32_t j = 0; j < dim; j++) to[j] = from[j] * factor;
}
TS_INLINE void divide_body(float *restrict x, float divisor, uint32_t dim) {
  for (uint32_t j = 0; j < dim; j++) x[j] /= divisor;
}
TS_EVERY_LEVEL(scale, scale_body, (const float *from, float factor, float *to, uint32_t dim), (from, factor, to, dim))
TS_EVERY_LEVEL(divide, divide_body, (float *x, float divisor, uint32_t dim), (x, divisor, dim))

static void finish(const ts_bags *b, float *sum) {
  if (b->divisor == 0.0f)
    memset(sum, 0, b->dim * sizeof(float));
  else if (b->divisor != 1.0f)
    divide_levels[b->level](sum, b->divisor, b->dim);
}

void ts_bags_accumulate(ts_bags *b, const ts_row_layout *layout, const void *const *rows, uint32_t n, float max_norm,
                        float *out) {
  for (uint32_t done = 0; done < n && b->bag < b->count;) {
    float *sum = out + b->bag * b->dim;
    if (b->key == b->offsets[b->bag]) memset(sum, 0, b->dim * sizeof(float));
    uint32_t count = (uint32_t)TS_MIN(b->offsets[b->bag + 1] - b->key, (uint64_t)(n - done));
    accumulate_levels[b->level](layout, rows + done, b->weights == NULL ? NULL : b->weights + b->key, count, max_norm, sum);
    done += count;
    b->key += count;
    if (ends(b)) {
      finish(b, sum);
      enter(b, b->bag + 1);
    }
  }
}

void ts_bags_spread(ts_bags *b, const float *gradients, uint32_t n, float *out) {
  for (uint32_t i = 0; i < n && b->bag < b->count; i++, out += b->dim) {
    float weight = b->weights == NULL ? 1.0f : b->weights[b->key];
    scale_levels[b->level](gradients + b->bag * b->dim, b->divisor == 0.0f ? 0.0f : weight / b->divisor, out, b->dim);
    b->key++;
    if (ends(b)) enter(b, b->bag + 1);
  }
}
