/* bags.c - ragged bags of rows: combined into one vector a bag, and a bag's gradient spread back to its keys. A bag may
 * begin in one piece of keys and end in another: its sum so far lies in the output. */
#include "kernels/by_width.h"
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

void ts_bags_begin(ts_bags *b, uint32_t level, uint32_t dim, const uint64_t *offsets, uint64_t count,
                   const float *weights, uint32_t combiner) {
  *b = (ts_bags){
      .level = level, .dim = dim, .combiner = combiner, .offsets = offsets, .count = count, .weights = weights};
  enter(b, 0);
}

void ts_bags_clear_empty(const ts_bags *b, float *out) {
  for (uint64_t bag = 0; bag < b->count; bag++)
    if (b->offsets[bag] == b->offsets[bag + 1]) memset(out + bag * b->dim, 0, b->dim * sizeof(float));
}

TS_INLINE float weight_at(const void *row, uint32_t j, const bool bf16) {
  return bf16 ? ts_bf16_widen(((const uint16_t *)row)[j]) : ((const float *)row)[j];
}

/* What scales a row to max_norm: 1, or max_norm over its L2 norm. */
TS_INLINE float scale_to(float max_norm, const void *row, const uint32_t dim, const bool bf16) {
  float lane[TS_LANES] = {0};
  uint32_t j = 0;
  for (; j + TS_LANES <= dim; j += TS_LANES)
    for (uint32_t k = 0; k < TS_LANES; k++) lane[k] += weight_at(row, j + k, bf16) * weight_at(row, j + k, bf16);
  for (uint32_t k = 0; j + k < dim; k++) lane[k] += weight_at(row, j + k, bf16) * weight_at(row, j + k, bf16);
  float norm = __builtin_sqrtf(ts_sum_of_lanes(lane));
  return norm > max_norm ? max_norm / norm : 1.0f;
}

/* Adds some rows of one bag to what `sum` holds. */
TS_INLINE void add_rows(const void *const *rows, const float *weights, uint32_t n, float max_norm, float *restrict sum,
                        const bool bf16, const uint32_t dim) {
  for (uint32_t i = 0; i < n; i++) {
    const void *row = rows[i];
    if (row == NULL) continue;
    const float weight = weights == NULL ? 1.0f : weights[i];
    const float scale = max_norm > 0.0f ? scale_to(max_norm, row, dim, bf16) : 1.0f;
    for (uint32_t j = 0; j < dim; j++) sum[j] += weight_at(row, j, bf16) * scale * weight;
  }
}

TS_INLINE void accumulate_body(const ts_row_layout *layout, const void *const *rows, const float *weights, uint32_t n,
                               float max_norm, float *sum) {
  if (layout->type == TS_FP32) {
    TS_BY_WIDTH(add_rows, layout->dim, rows, weights, n, max_norm, sum, false)
  } else {
    TS_BY_WIDTH(add_rows, layout->dim, rows, weights, n, max_norm, sum, true)
  }
}
TS_EVERY_LEVEL(accumulate, accumulate_body,
               (const ts_row_layout *layout, const void *const *rows, const float *weights, uint32_t n, float max_norm,
                float *sum),
               (layout, rows, weights, n, max_norm, sum))

TS_INLINE void divide_body(float *restrict x, float divisor, uint32_t dim) {
  for (uint32_t j = 0; j < dim; j++) x[j] /= divisor;
}
TS_EVERY_LEVEL(divide, divide_body, (float *x, float divisor, uint32_t dim), (x, divisor, dim))

/* The gradients of n keys of one bag; divisor 0 stands for factors of 0. */
TS_INLINE void spread_body(const float *restrict gradient, const float *weights, float divisor, uint32_t n,
                           float *restrict out, uint32_t dim) {
  for (uint32_t i = 0; i < n; i++, out += dim) {
    const float factor = divisor == 0.0f ? 0.0f : (weights == NULL ? 1.0f : weights[i]) / divisor;
    for (uint32_t j = 0; j < dim; j++) out[j] = gradient[j] * factor;
  }
}
TS_EVERY_LEVEL(spread, spread_body,
               (const float *gradient, const float *weights, float divisor, uint32_t n, float *out, uint32_t dim),
               (gradient, weights, divisor, n, out, dim))

/* The weights of the next keys. */
static const float *weights_of(const ts_bags *b) { return b->weights == NULL ? NULL : b->weights + b->key; }

/* How many of the next n keys belong to the current bag. */
static uint32_t run(const ts_bags *b, uint32_t n) {
  return (uint32_t)TS_MIN(b->offsets[b->bag + 1] - b->key, (uint64_t)n);
}

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
    const uint32_t count = run(b, n - done);
    accumulate_levels[b->level](layout, rows + done, weights_of(b), count, max_norm, sum);
    done += count;
    b->key += count;
    if (ends(b)) {
      finish(b, sum);
      enter(b, b->bag + 1);
    }
  }
}

void ts_bags_spread(ts_bags *b, const float *gradients, uint32_t n, float *out) {
  for (uint32_t done = 0; done < n && b->bag < b->count;) {
    const uint32_t count = run(b, n - done);
    spread_levels[b->level](gradients + b->bag * b->dim, weights_of(b), b->divisor, count, out + (size_t)done * b->dim,
                            b->dim);
    done += count;
    b->key += count;
    if (ends(b)) enter(b, b->bag + 1);
  }
}
