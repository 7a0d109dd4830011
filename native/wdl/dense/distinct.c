/* distinct.c - products of distinct rows. */
#include "wdl/dense/distinct.h"
#include "wdl/dense/passes.h"

/* Between rows of sums and of gradients: a multiple of 4 KiB apart they would share a few sets of the caches. */
#define GAP TS_LANES

/* ---- sums over rows ---- */

#define WIDE 16u  /* lanes of sixteen that stay in registers with AVX-512 */
#define NARROW 4u /* and below */

TS_INLINE void add_rows(const float *const *rows, uint32_t count, ts_float_lanes *sums, uint32_t lanes, uint32_t at) {
  for (uint32_t k = 0; k < count; k++)
    for (uint32_t i = 0; i < lanes; i++) sums[i] += (ts_float_lanes)ts_load_floats(rows[k] + at + i * TS_LANES);
}

typedef struct finish {
  const float *bias;
  const uint8_t *keep;
  float scale;
  bool bf16;
  void *to;
} finish;

TS_INLINE void forward_lanes(const float *const *rows, uint32_t count, const float *sums, uint32_t at, const finish *f,
                             uint32_t lanes, bool bf16) {
  ts_float_lanes sum[WIDE];
  for (uint32_t i = 0; i < lanes; i++)
    sum[i] = (ts_float_lanes)ts_load_floats(sums + at + i * TS_LANES) + (ts_float_lanes)ts_load_floats(f->bias + at + i * TS_LANES);
  add_rows(rows, count, sum, lanes, at);
  for (uint32_t i = 0; i < lanes; i++) {
    ts_float_lanes v = (ts_float_lanes)((ts_lanes)sum[i] & (ts_lanes)(sum[i] > 0));
    if (f->keep != NULL) {
      ts_byte_lanes kept;
      memcpy(&kept, f->keep + at + i * TS_LANES, sizeof kept);
      v = v * __builtin_convertvector(kept, ts_float_lanes) * f->scale;
    }
    ts_store_elements(f->to, at + i * TS_LANES, ts_narrow(v, bf16), bf16);
  }
}

TS_INLINE void forward_row(const float *const *rows, uint32_t count, uint32_t units, const float *sums, const finish *f,
                           uint32_t level) {
  const uint32_t many = level == TS_LEVEL_AVX512 ? WIDE : NARROW;
  uint32_t at = 0;
  for (; at + many * TS_LANES <= units; at += many * TS_LANES) {
    if (f->bf16) forward_lanes(rows, count, sums, at, f, many, true);
    else forward_lanes(rows, count, sums, at, f, many, false);
  }
  for (; at < units; at += TS_LANES) forward_lanes(rows, count, sums, at, f, 1, f->bf16);
}

/* to = the sum of `count` rows in their order. */
TS_INLINE void sum_row(const float *const *rows, uint32_t count, uint32_t units, float *to, uint32_t level) {
  const uint32_t many = level == TS_LEVEL_AVX512 ? WIDE : NARROW;
  for (uint32_t at = 0, lanes; at < units; at += lanes * TS_LANES) {
    ts_float_lanes sum[WIDE] = {0};
    lanes = at + many * TS_LANES <= units ? many : 1;
    if (lanes == many) add_rows(rows, count, sum, many, at);
    else add_rows(rows, count, sum, 1, at);
    for (uint32_t i = 0; i < lanes; i++) ts_store_floats(to + at + i * TS_LANES, (ts_lanes)sum[i]);
  }
}

TS_EVERY_LEVEL(forward_row, forward_row,
               (const float *const *rows, uint32_t count, uint32_t units, const float *sums, const finish *f),
               (rows, count, units, sums, f, own_level))
TS_EVERY_LEVEL(sum_row, sum_row, (const float *const *rows, uint32_t count, uint32_t units, float *to),
               (rows, count, units, to, own_level))

void ts_distinct_forward(const ts_distinct *d, uint32_t first, uint32_t rows, const float *sums, const float *bias,
                         const uint8_t *keep, float scale, bool bf16, void *to) {
  const uint32_t level = ts_cpu_level();
  for (uint32_t r = 0; r < rows; r++) {
    const float *of[TS_DISTINCT_VECTORS];
    for (uint32_t v = 0; v < d->count; v++) {
      const ts_distinct_vector *vector = &d->vector[v];
      of[v] = d->sums + (vector->base + (size_t)vector->batch.fold->of[first + r]) * d->sums_stride;
    }
    const size_t at = (size_t)r * d->units;
    const finish f = {.bias = bias, .keep = keep == NULL ? NULL : keep + at, .scale = scale, .bf16 = bf16,
                      .to = (char *)to + at * (bf16 ? 2 : 4)};
    forward_row_levels[level](of, d->count, d->units, sums + at, &f);
  }
}

/* ---- products ---- */

static int32_t make(const ts_distinct *d, const ts_product_shape *shape, const ts_product *like, ts_product **out, uint64_t *scratch,
                    ts_err err) {
  ts_product_shape s = *shape;
  s.bf16 = d->bf16;
  s.sgemm = d->sgemm;
  const int32_t status = ts_product_create(d->dnnl, &s, d->count, like, out, err);
  if (status == TS_OK) *scratch = TS_MAX(*scratch, TS_ROUND_UP(ts_product_scratch(*out), 64));
  return status;
}

static int32_t make_products(ts_distinct *d, ts_distinct_vector *v, ts_err err) {
  const ts_product_shape forward = {.m = TS_DISTINCT_ROWS, .k = v->dim, .n = d->units, .c_stride = (uint32_t)d->sums_stride};
  const ts_product_shape backward = {.m = TS_DISTINCT_ROWS, .k = d->units, .n = v->dim};
  int32_t status = make(d, &forward, NULL, &v->forward, &d->scratch_bytes, err);
  if (status == TS_OK) status = make(d, &backward, NULL, &v->backward, &d->scratch_bytes, err);
  for (uint32_t more = 0; more < 2 && status == TS_OK; more++) {
    const ts_product_shape gradient = {.m = v->dim, .k = TS_DISTINCT_ROWS, .n = d->units, .accumulate = more == 1};
    status = make(d, &gradient, more == 1 ? v->gradient[0] : NULL, &v->gradient[more], &d->scratch_bytes, err);
  }
  return status;
}

/* The first vector of the same width. */
static uint32_t like_of(const ts_distinct *d, uint32_t vector) {
  uint32_t v = 0;
  while (d->vector[v].dim != d->vector[vector].dim) v++;
  return v;
}

int32_t ts_distinct_open(ts_distinct *d, const ts_dnnl *dnnl, const ts_distinct_options *o, uint32_t units, uint32_t batch, bool bf16,
                         bool sgemm, ts_err err) {
  *d = (ts_distinct){.dnnl = dnnl, .units = units, .batch = batch, .bf16 = bf16, .sgemm = sgemm, .sums_stride = units + GAP};
  if (o->count > TS_DISTINCT_VECTORS)
    return ts_fail(err, TS_EINVAL, "Cannot make an MLP: it has %u vectors, at most %u are possible", o->count, TS_DISTINCT_VECTORS);
  int32_t status = TS_OK;
  for (uint32_t i = 0; i < o->count && status == TS_OK; i++) {
    if (o->dims[i] == 0 || o->dims[i] % TS_LANES != 0)
      return ts_fail(err, TS_EINVAL, "Cannot make an MLP: widths of vectors must be multiples of %u, found %u", TS_LANES, o->dims[i]);
    d->vector[i].dim = o->dims[i];
    d->vector[i].first = d->inputs;
    d->inputs += o->dims[i];
  }
  d->count = o->count;
  for (uint32_t i = 0; i < d->count && status == TS_OK; i++) {
    ts_distinct_vector *v = &d->vector[i], *like = &d->vector[like_of(d, i)];
    if (like == v) status = make_products(d, v, err);
    v->forward = like->forward;
    v->backward = like->backward;
    memcpy(v->gradient, like->gradient, sizeof v->gradient);
  }
  return status;
}

void ts_distinct_close(ts_distinct *d) {
  for (uint32_t i = 0; i < d->count; i++) {
    ts_distinct_vector *v = &d->vector[i];
    if (like_of(d, i) != i) continue;
    ts_product_destroy(v->forward);
    ts_product_destroy(v->backward);
    for (uint32_t more = 2; more-- > 0;) ts_product_destroy(v->gradient[more]);
  }
  *d = (ts_distinct){0};
}

/* ---- memory ---- */

/* What a vector's block of rows works in: the rows, in the products' type and transposed; sums of gradients, in FP32, in the
 * products' type and packed; gradients of the rows. */
typedef struct work {
  float *rows, *sums, *gradients;
  void *block, *transposed, *rounded, *packed, *scratch;
  const float **at; /* gradients of the samples of a row */
} work;

static char *carve(char **at, uint64_t bytes) {
  char *here = *at;
  *at += TS_ROUND_UP(bytes, 64);
  return here;
}

static work work_of(const ts_distinct *d, const ts_distinct_vector *v, char *at, uint64_t *bytes) {
  const uint64_t size = d->bf16 ? 2 : 4, rows = (uint64_t)TS_DISTINCT_ROWS * v->dim, sums = (uint64_t)TS_DISTINCT_ROWS * d->units;
  const uintptr_t start = (uintptr_t)at;
  work w;
  w.rows = (float *)(void *)carve(&at, rows * sizeof(float));
  w.gradients = (float *)(void *)carve(&at, rows * sizeof(float));
  w.sums = (float *)(void *)carve(&at, sums * sizeof(float));
  w.block = carve(&at, rows * size);
  w.transposed = carve(&at, rows * size);
  w.rounded = d->bf16 ? (void *)carve(&at, sums * size) : w.sums;
  w.packed = carve(&at, ts_packed_bytes(ts_product_layout(v->gradient[0])));
  w.scratch = carve(&at, d->scratch_bytes);
  w.at = (const float **)(void *)carve(&at, d->batch * sizeof *w.at);
  if (bytes != NULL) *bytes = (uintptr_t)at - start;
  return w;
}

void ts_distinct_plan_parameters(ts_distinct *d, ts_workspace *space) {
  for (uint32_t i = 0; i < d->count; i++) {
    ts_distinct_vector *v = &d->vector[i];
    v->packed = ts_workspace_take(space, ts_packed_bytes(ts_product_layout(v->forward)), 1);
    v->packed_transposed = ts_workspace_take(space, ts_packed_bytes(ts_product_layout(v->backward)), 1);
  }
}

void ts_distinct_plan_step(ts_distinct *d, ts_workspace *space) {
  if (d->count == 0) return;
  for (uint32_t i = 0; i < d->count; i++) {
    uint64_t bytes;
    work_of(d, &d->vector[i], NULL, &bytes);
    d->vector[i].work = ts_workspace_take(space, bytes, 1);
  }
  d->delta = ts_workspace_take(space, d->batch * d->sums_stride, sizeof(float));
  /* Of a batch without a repetition; what a batch does not need is not touched. */
  d->sums = ts_workspace_take(space, (uint64_t)d->count * TS_ROUND_UP(d->batch, TS_DISTINCT_ROWS) * d->sums_stride, sizeof(float));
}

int32_t ts_distinct_bind(ts_distinct *d) {
  int32_t status = TS_OK;
  for (uint32_t i = 0; i < d->count; i++) {
    const ts_distinct_vector *v = &d->vector[i];
    const work w = work_of(d, v, v->work, NULL);
    status |= ts_product_bind(v->forward, i, 1, v->packed, NULL) | ts_product_bind_slot(v->forward, i, w.scratch, NULL);
    status |= ts_product_bind(v->backward, i, 1, v->packed_transposed, NULL) | ts_product_bind_slot(v->backward, i, w.scratch, NULL);
    for (uint32_t more = 0; more < 2; more++)
      status |= ts_product_bind(v->gradient[more], i, 1, w.packed, NULL) | ts_product_bind_slot(v->gradient[more], i, w.scratch, NULL);
  }
  return status == TS_OK ? TS_OK : TS_EINTERNAL;
}

void ts_distinct_pack(const ts_distinct *d, uint32_t vector, const ts_parameters *w) {
  const ts_distinct_vector *v = &d->vector[vector];
  const float *rows = ts_parameters_row(w, v->first);
  ts_pack_rows(ts_product_layout(v->forward), v->packed, 0, v->dim, rows, w->stride);
  ts_pack_transposed(ts_product_layout(v->backward), v->packed_transposed, 0, v->dim, rows, w->stride);
}

/* ---- a batch ---- */

void ts_distinct_lay_out(ts_distinct *d) {
  uint32_t base = 0;
  for (uint32_t i = 0; i < d->count; i++) {
    d->vector[i].base = base;
    base += TS_ROUND_UP(d->vector[i].batch.fold->count, TS_DISTINCT_ROWS);
  }
}

/* Distinct rows [first, first + rows), and zeros up to TS_DISTINCT_ROWS, in the products' type; and transposed, if `transposed`. */
static void take_rows(const ts_distinct *d, const ts_distinct_vector *v, uint32_t first, uint32_t rows, const work *w, bool transposed) {
  const ts_distinct_batch *b = &v->batch;
  for (uint32_t i = 0; i < rows; i++)
    memcpy(w->rows + (size_t)i * v->dim, b->rows + b->fold->sorted[b->fold->first[first + i]] * b->stride, v->dim * sizeof(float));
  memset(w->rows + (size_t)rows * v->dim, 0, (size_t)(TS_DISTINCT_ROWS - rows) * v->dim * sizeof(float));
  const ts_transposed to = {.to = transposed ? w->transposed : NULL, .stride = TS_DISTINCT_ROWS, .padded = TS_DISTINCT_ROWS};
  ts_input_pass(w->rows, v->dim, v->dim, TS_DISTINCT_ROWS, v->dim, d->bf16, w->block, &to);
}

int32_t ts_distinct_multiply(const ts_distinct *d, uint32_t vector) {
  const ts_distinct_vector *v = &d->vector[vector];
  const work w = work_of(d, v, v->work, NULL);
  const uint32_t count = v->batch.fold->count;
  int32_t status = TS_OK;
  for (uint32_t first = 0; first < count; first += TS_DISTINCT_ROWS) {
    take_rows(d, v, first, TS_MIN(count - first, TS_DISTINCT_ROWS), &w, false);
    status |= ts_product_run(v->forward, vector, w.block, d->sums + (size_t)(v->base + first) * d->sums_stride);
  }
  return status == TS_OK ? TS_OK : TS_EINTERNAL;
}

TS_INLINE void widen(const void *from, size_t at, uint32_t units, bool bf16, float *to) {
  for (uint32_t i = 0; i < units; i += TS_LANES)
    ts_store_floats(to + i, (ts_lanes)ts_widen(ts_load_elements(from, at + i, bf16), bf16));
}
TS_EVERY_LEVEL(widen, widen, (const void *from, size_t at, uint32_t units, bool bf16, float *to), (from, at, units, bf16, to))

void ts_distinct_keep_delta(const ts_distinct *d, uint32_t first, uint32_t rows, const void *delta) {
  for (uint32_t r = 0; r < rows; r++)
    widen_levels[ts_cpu_level()](delta, (size_t)r * d->units, d->units, d->bf16, d->delta + (first + r) * d->sums_stride);
}

/* Sums of gradients of distinct rows [first, first + rows), and zeros. */
static void sum_deltas(const ts_distinct *d, const ts_distinct_vector *v, uint32_t first, uint32_t rows, const float **at, float *sums) {
  const ts_fold *f = v->batch.fold;
  const uint32_t level = ts_cpu_level();
  for (uint32_t i = 0; i < rows; i++) {
    const uint32_t from = f->first[first + i], count = f->first[first + i + 1] - from;
    for (uint32_t k = 0; k < count; k++) at[k] = d->delta + f->sorted[from + k] * d->sums_stride;
    sum_row_levels[level](at, count, d->units, sums + (size_t)i * d->units);
  }
  memset(sums + (size_t)rows * d->units, 0, (size_t)(TS_DISTINCT_ROWS - rows) * d->units * sizeof(float));
}

/* Into the products' type, and packed. */
static void pack_sums(const ts_distinct *d, const ts_distinct_vector *v, const work *w) {
  if (d->bf16) ts_rows_backward(w->sums, d->units, TS_DISTINCT_ROWS, d->units, d->units, true, w->rounded);
  ts_pack_rows(ts_product_layout(v->gradient[0]), w->packed, 0, TS_DISTINCT_ROWS, w->sums, d->units);
}

int32_t ts_distinct_gradient(const ts_distinct *d, uint32_t vector, const ts_parameters *weights) {
  const ts_distinct_vector *v = &d->vector[vector];
  const ts_distinct_batch *b = &v->batch;
  const work w = work_of(d, v, v->work, NULL);
  float *gradient = weights->gradient + (size_t)v->first * weights->width;
  int32_t status = TS_OK;
  for (uint32_t first = 0; first < b->fold->count; first += TS_DISTINCT_ROWS) {
    const uint32_t rows = TS_MIN(b->fold->count - first, TS_DISTINCT_ROWS);
    sum_deltas(d, v, first, rows, w.at, w.sums);
    pack_sums(d, v, &w);
    take_rows(d, v, first, rows, &w, true);
    status |= ts_product_run(v->gradient[first > 0], vector, w.transposed, gradient);
    status |= ts_product_run(v->backward, vector, w.rounded, w.gradients);
    /* The rows of this block and of those before it have been taken: gradients may lie where they lay. */
    for (uint32_t i = 0; i < rows; i++)
      memcpy(b->gradients + (first + i) * b->gradient_stride, w.gradients + (size_t)i * v->dim, v->dim * sizeof(float));
  }
  return status == TS_OK ? TS_OK : TS_EINTERNAL;
}
