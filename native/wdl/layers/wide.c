/* wide.c - forward and FTRL step of the linear part. */
#include "wdl/layers/wide.h"

#include <string.h>

void ts_wide_plan_parameters(ts_wide *wide, ts_workspace *space, uint32_t batch, uint32_t buckets) {
  wide->batch = batch;
  wide->buckets = buckets;
  for (uint32_t c = 0; c < TS_CATEGORIES; c++)
    wide->column[c] = ts_workspace_take(space, buckets, sizeof(ts_wide_weight));
  wide->marked = ts_workspace_take(space, (uint64_t)TS_CATEGORIES * buckets, sizeof(uint8_t));
}

void ts_wide_plan_step(ts_wide *wide, ts_workspace *space) {
  wide->bucket = ts_workspace_take(space, (uint64_t)TS_CATEGORIES * wide->batch, sizeof(uint32_t));
  wide->touched = ts_workspace_take(space, (uint64_t)TS_CATEGORIES * wide->batch, sizeof(uint32_t));
}

void ts_wide_initialise(ts_wide *wide, float initial_accumulator) {
  for (uint32_t j = 0; j < TS_NUMERICS; j++) wide->numeric[j].n = initial_accumulator;
  for (uint32_t c = 0; c < TS_CATEGORIES; c++)
    for (uint32_t b = 0; b < wide->buckets; b++) wide->column[c][b].n = initial_accumulator;
}

static inline uint32_t bucket_of(const ts_wide *wide, int64_t key) {
  return (uint32_t)(ts_mix64((uint64_t)key) % wide->buckets);
}

void ts_wide_find(const ts_wide *wide, uint32_t column, uint32_t first, uint32_t rows, const int64_t *keys) {
  const size_t at = (size_t)column * wide->batch;
  for (uint32_t r = first; r < first + rows; r++) wide->bucket[at + r] = bucket_of(wide, keys[at + r]);
}

void ts_wide_forward(const ts_wide *wide, uint32_t first, uint32_t rows, const float *numerics, const int64_t *keys,
                     float *logit) {
  for (uint32_t j = 0; j < TS_NUMERICS; j++) {
    const float *x = numerics + (size_t)j * wide->batch;
    float w = wide->numeric[j].w;
    for (uint32_t r = first; r < first + rows; r++) logit[r] += x[r] * w;
  }
  for (uint32_t c = 0; c < TS_CATEGORIES; c++) {
    const int64_t *key = keys + (size_t)c * wide->batch;
    uint32_t *bucket = wide->bucket + (size_t)c * wide->batch;
    for (uint32_t r = first; r < first + rows; r++) {
      bucket[r] = bucket_of(wide, key[r]);
      logit[r] += wide->column[c][bucket[r]].w;
    }
  }
}

static void ftrl_step(const ts_wide *wide, ts_wide_weight *x) {
  float g = x->gradient, n = x->n + g * g, root = __builtin_sqrtf(n);
  x->z += g - (root - __builtin_sqrtf(x->n)) / wide->learning_rate * x->w;
  x->n = n;
  float size = x->z < 0 ? -x->z : x->z;
  float shrunk = x->z < 0 ? x->z + wide->l1 : x->z - wide->l1;
  x->w = size <= wide->l1 ? 0 : -shrunk / (root / wide->learning_rate + 2 * wide->l2);
  x->gradient = 0;
}

void ts_wide_update(ts_wide *wide, uint32_t part, uint32_t batch, const float *numerics, const float *loss_gradient) {
  if (part == TS_CATEGORIES) {
    for (uint32_t j = 0; j < TS_NUMERICS; j++) {
      const float *x = numerics + (size_t)j * wide->batch;
      for (uint32_t r = 0; r < batch; r++) wide->numeric[j].gradient += loss_gradient[r] * x[r];
      ftrl_step(wide, &wide->numeric[j]);
    }
    return;
  }
  ts_wide_weight *weights = wide->column[part];
  const uint32_t *bucket = wide->bucket + (size_t)part * wide->batch;
  uint32_t *touched = wide->touched + (size_t)part * wide->batch, count = 0;
  uint8_t *marked = wide->marked + (size_t)part * wide->buckets;
  for (uint32_t r = 0; r < batch; r++) {
    uint32_t b = bucket[r];
    weights[b].gradient += loss_gradient[r];
    touched[count] = b;
    count += !marked[b];
    marked[b] = 1;
  }
  for (uint32_t i = 0; i < count; i++) {
    marked[touched[i]] = 0;
    ftrl_step(wide, &weights[touched[i]]);
  }
}

uint64_t ts_wide_digest(const ts_wide *wide, uint64_t h) {
  h = ts_hash_bytes(wide->numeric, sizeof wide->numeric, h);
  for (uint32_t c = 0; c < TS_CATEGORIES; c++)
    h = ts_hash_bytes(wide->column[c], wide->buckets * sizeof(ts_wide_weight), h);
  return h;
}
