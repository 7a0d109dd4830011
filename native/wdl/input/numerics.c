/* numerics.c - the transforms of numeric values. */
#include "wdl/input/numerics.h"

const char *const ts_numerics_names[TS_NUMERICS_KINDS + 1] = {"log", "min_max", NULL};

/* DeepRec, modelzoo/wide_and_deep/train.py: what is taken off each column, and what the rest is divided by. */
static const float minimum[TS_NUMERICS] = {0, -3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
static const float range[TS_NUMERICS] = {1539, 22069, 65535, 561, 2655388, 233523, 26297,
                                         5106, 24376, 9,     181, 1807,    6879};

static float log_transform(double x) {
  double y = ts_det_log(1.0 + (x < 0 ? -x : x)) * 0.5;
  return (float)(x < 0 ? -y : y);
}

static inline float min_max(uint32_t column, float x) { return (x - minimum[column]) / range[column]; }

float ts_numeric_transform(uint32_t kind, uint32_t column, double x) {
  return kind == TS_NUMERICS_LOG ? log_transform(x) : min_max(column, (float)x);
}

void ts_numerics_prepare(uint32_t kind, ts_numerics *out) {
  out->kind = kind;
  for (uint32_t i = 0; i < TS_TRANSFORM_TABLE; i++) out->log[i] = log_transform(i);
}

void ts_numerics_transform(const ts_numerics *numerics, uint32_t column, const int32_t *x, uint32_t n, float *out) {
  if (numerics->kind == TS_NUMERICS_MIN_MAX) {
    for (uint32_t i = 0; i < n; i++) out[i] = min_max(column, (float)x[i]);
    return;
  }
  for (uint32_t i = 0; i < n; i++) {
    uint32_t size = x[i] < 0 ? 0 - (uint32_t)x[i] : (uint32_t)x[i];
    if (TS_UNLIKELY(size >= TS_TRANSFORM_TABLE)) out[i] = log_transform(x[i]);
    else out[i] = x[i] < 0 ? -numerics->log[size] : numerics->log[size];
  }
}
