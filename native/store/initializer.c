/* initializer.c - constant, uniform, truncated normal, Glorot, and DeepRec's default-value matrix. The matrix is never
 * stored: its row r is what the base initialiser gives for key r, computed when needed. */
#include "store/initializer.h"

#include <math.h>
#include <string.h>

int32_t ts_initializer_read(ts_config_reader *r, uint32_t dim, uint64_t seed, const char *table, ts_initializer *out) {
  static const char *const names[] = {"constant", "uniform", "truncated-normal", "glorot", "default-value-matrix", NULL};
  static const char *const bases[] = {"constant", "uniform", "truncated-normal", "glorot", NULL};
  *out = (ts_initializer){0};
  out->kind = ts_config_choice(r, "initializer", "truncated-normal", names);
  bool matrix = out->kind == TS_INIT_DEFAULT_VALUE_MATRIX;
  if (matrix) {
    out->matrix_rows = ts_config_u64(r, "initializer.rows", 4096, 1, UINT64_C(1) << 40);
    out->kind = ts_config_choice(r, "initializer.base", "truncated-normal", bases);
  }
  const double limit = 1e30;
  switch (out->kind) {
    case TS_INIT_CONSTANT: out->value = (float)ts_config_f64(r, "initializer.value", 0, -limit, limit); break;
    case TS_INIT_UNIFORM:
      out->low = (float)ts_config_f64(r, "initializer.low", -0.05, -limit, limit);
      out->high = (float)ts_config_f64(r, "initializer.high", 0.05, -limit, limit);
      if (r->status == TS_OK && !(out->low < out->high))
        r->status = ts_fail(r->err, TS_EINVAL, "Cannot open %s: initializer.low %g must be below initializer.high %g",
                            r->what, (double)out->low, (double)out->high);
      break;
    case TS_INIT_TRUNCATED_NORMAL:
      out->mean = (float)ts_config_f64(r, "initializer.mean", 0, -limit, limit);
      out->stddev = (float)ts_config_f64(r, "initializer.stddev", 0.05, 0, limit);
      break;
    default: { /* Glorot and Bengio 2010: uniform in +-sqrt(6 / (fan_in + fan_out)) */
      double fan_out = (double)ts_config_u64(r, "initializer.fan_out", dim, 1, UINT32_MAX);
      out->high = (float)sqrt(6.0 / ((double)dim + fan_out)); /* IEEE: correctly rounded everywhere */
      out->low = -out->high;
      out->kind = TS_INIT_UNIFORM;
    }
  }
  out->seed = ts_hash_bytes(table, strlen(table), seed);
  return r->status;
}

/* Density of the standard normal. */
static double normal_density(double x) { return ts_det_exp(-0.5 * x * x) * 0.39894228040143268; /* 1 / sqrt(2 pi) */ }

/* Its distribution function by the continued series of Marsaglia (2004): exact to 1e-15 for |x| <= 2. */
static double normal_cdf(double x, double density) {
  double term = x, sum = x;
  for (int i = 3; i < 80; i += 2) {
    term *= x * x / i;
    sum += term;
  }
  return 0.5 + sum * density;
}

static float points[TS_NORMAL_PIECES + 1]; /* the same for every store: made once in a process */

/* Each point by Newton's steps from the one before it, and the upper half by symmetry. The density falls by a factor of 7
 * at most, and neighbours are 0.005 apart at most, so three steps leave nothing but rounding. */
static void fill_normal(void) {
  const double low = normal_cdf(-2, normal_density(-2)), span = 1 - 2 * low;
  double x = -2;
  points[0] = -2;
  points[TS_NORMAL_PIECES / 2] = 0;
  points[TS_NORMAL_PIECES] = 2;
  for (uint32_t i = 1; i < TS_NORMAL_PIECES / 2; i++) {
    const double target = low + span * i / TS_NORMAL_PIECES;
    for (int round = 0; round < 3; round++) {
      const double density = normal_density(x);
      x += (target - normal_cdf(x, density)) / density;
    }
    points[i] = (float)x;
    points[TS_NORMAL_PIECES - i] = -points[i];
  }
}

const float *ts_initializer_normal(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, fill_normal);
  return points;
}

void ts_initializer_weights(const ts_initializer *init, int64_t key, float *weights, uint32_t dim) {
  uint64_t stream = init->matrix_rows > 0 ? (uint64_t)key % init->matrix_rows : (uint64_t)key;
  switch (init->kind) {
    case TS_INIT_CONSTANT:
      for (uint32_t j = 0; j < dim; j++) weights[j] = init->value;
      return;
    case TS_INIT_UNIFORM: {
      const double span = (double)init->high - (double)init->low;
      for (uint32_t j = 0; j < dim; j++) {
        float w = (float)((double)init->low + span * ts_unit(ts_random64(init->seed, stream, j)));
        weights[j] = w < init->high ? w : init->low; /* rounding may reach the open end */
      }
      return;
    }
    default:
      /* Inverse distribution function, linear between 4097 points: 12 bits choose the piece, 20 the place in it. */
      for (uint32_t j = 0; j < dim; j++) {
        uint64_t bits = ts_random64(init->seed, stream, j / 2) >> (j % 2 * 32) & 0xFFFFFFFFu;
        uint32_t piece = (uint32_t)(bits >> 20);
        float place = (float)(bits & 0xFFFFFu) * 0x1.0p-20f;
        float z = init->normal[piece] + place * (init->normal[piece + 1] - init->normal[piece]);
        weights[j] = init->mean + init->stddev * z;
      }
  }
}
