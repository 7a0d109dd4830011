/* planted.c - the planted model of synthetic Criteo data: vocabularies, effects, numerics, labels. */
#include "wdl/input/planted.h"

#include <stdlib.h>
#include <string.h>

/* Numbers of distinct ids in the Kaggle Display Advertising data, as commonly listed for DLRM. */
static const uint64_t criteo_kaggle_cardinality[TS_CATEGORIES] = {
    1460, 583,   10131227, 2202608, 305,  24,   12517, 633,     3,  93145, 5683,   8351593, 3194,
    27,   14992, 5461306,  10,      5652, 2173, 4,     7046547, 18, 15,    286181, 105,     142572};

/* Shape of the numerics, estimated on a small sample of real Criteo rows: share of missing values, mean and standard
 * deviation of log(1 + |x|) where present. Most columns count; I2 goes down to -2. */
typedef struct shape {
  double missing, mean, deviation, lowest;
} shape;

static const shape numeric_shape[TS_NUMERICS] = {
    {0.45, 0.82, 1.01, 0}, {0.00, 2.22, 2.12, -2}, {0.22, 2.21, 1.29, 0}, {0.21, 1.73, 0.98, 0}, {0.05, 7.25, 2.83, 0},
    {0.25, 3.62, 1.82, 0}, {0.05, 1.53, 1.34, 0},  {0.00, 2.06, 1.20, 0}, {0.05, 3.63, 1.69, 0}, {0.45, 0.37, 0.39, 0},
    {0.05, 0.84, 0.71, 0}, {0.78, 0.32, 0.63, 0},  {0.21, 1.92, 1.08, 0}};

/* Streams of random words. Rows of train and test use 64 streams each from here on. */
enum { STREAM_MASK = 1, STREAM_SIGN = 2, STREAM_ATOM = 16, STREAM_EFFECT = 64, STREAM_ROWS = 1024 };
enum { ROW_NUMERIC = 32, ROW_LABEL = 63 };

uint64_t ts_planted_vocabulary(uint32_t column, double scale) {
  uint64_t kaggle = criteo_kaggle_cardinality[column];
  uint64_t n = (uint64_t)((double)kaggle * scale + 0.5);
  return TS_MIN(kaggle, TS_MAX(n, 3));
}

uint64_t ts_planted_key_mask(uint64_t seed) { return ts_random64(seed, STREAM_MASK, 0); }

int64_t ts_planted_key(uint64_t key_mask, uint32_t column, uint64_t rank) {
  return (int64_t)ts_mix64(((uint64_t)(column + 1) << 40 | rank) ^ key_mask);
}

uint64_t ts_planted_rank(uint64_t key_mask, uint32_t column, int64_t key) {
  /* ts_mix64 backwards: each xor-shift and each odd factor has an inverse. */
  uint64_t x = (uint64_t)key;
  x ^= x >> 31 ^ x >> 62;
  x *= 0x319642b2d24d8ec3u;
  x ^= x >> 27 ^ x >> 54;
  x *= 0x96de1b173f119089u;
  x ^= x >> 30 ^ x >> 60;
  return (x ^ key_mask) - ((uint64_t)(column + 1) << 40);
}

/* Sum of four uniforms of 16 bits, brought to mean 0 and variance 1. */
static inline double irwin_hall(uint64_t word) {
  uint32_t sum = (uint32_t)((word & 0xffff) + (word >> 16 & 0xffff) + (word >> 32 & 0xffff) + (word >> 48));
  return ((double)(sum + 2) * 0x1.0p-16 - 2.0) * 1.7320508075688772;
}

static inline double raw_effect(uint64_t base, uint64_t rank) {
  return irwin_hall(ts_mix64(base + (rank + 1) * 0x9e3779b97f4a7c15u));
}

static uint64_t effect_base(const ts_planted *p, uint32_t column) {
  return ts_random64(p->options.seed, STREAM_EFFECT + column, 0);
}

double ts_planted_effect(const ts_planted *p, uint32_t column, uint64_t rank) {
  return (raw_effect(effect_base(p, column), rank) - p->effect_centre[column]) * p->effect_scale[column];
}

/* Centre and scale from the access-weighted moments: exact over the hottest ids, where single effects matter; the
 * others, together, have mean 0 and variance 1 by construction. */
static void scale_effects(ts_planted *p, uint32_t column, double variance) {
  const ts_zipf *z = &p->ranks[column];
  uint64_t base = effect_base(p, column), head = TS_MIN(z->n, 65536);
  double total = ts_zipf_weight_sum(z, z->n), mean = 0, square = 0, weight = 0;
  for (uint64_t r = 0; r < head; r++) {
    double w = ts_zipf_weight(z, r) / total, e = raw_effect(base, r);
    mean += w * e;
    square += w * e * e;
    weight += w;
  }
  if (head < z->n) square += 1.0 - weight;
  double spread = square - mean * mean;
  p->effect_centre[column] = mean;
  p->effect_scale[column] = spread > 1e-12 ? __builtin_sqrt(variance / spread) : 0;
}

/* A column's part in the variance, before all are scaled to the wanted sum. */
static double column_share(uint64_t vocabulary) {
  return 1.0 / __builtin_sqrt(ts_det_log(8.0 + (double)vocabulary) / ts_det_log(2.0));
}

static void standardise(double *x) {
  double mean = 0, square = 0;
  for (uint32_t i = 0; i < TS_PLANTED_ATOMS; i++) mean += x[i];
  mean /= TS_PLANTED_ATOMS;
  for (uint32_t i = 0; i < TS_PLANTED_ATOMS; i++) square += (x[i] - mean) * (x[i] - mean);
  double deviation = __builtin_sqrt(square / TS_PLANTED_ATOMS);
  for (uint32_t i = 0; i < TS_PLANTED_ATOMS; i++) x[i] = deviation > 0 ? (x[i] - mean) / deviation : 0;
}

static void make_numeric(ts_planted *p, uint32_t j, double variance) {
  const shape *s = &numeric_shape[j];
  double x[TS_PLANTED_ATOMS];
  for (uint32_t i = 0; i < TS_PLANTED_ATOMS; i++) {
    double log = s->mean + s->deviation * ts_det_normal(ts_random64(p->options.seed, STREAM_ATOM + j, 2 * i),
                                                        ts_random64(p->options.seed, STREAM_ATOM + j, 2 * i + 1));
    /* The count whose log(1 + x) is nearest; the cast truncates towards 0. */
    double count = (double)(int64_t)(ts_det_exp(TS_MIN(log, 15.0)) - 0.5) + s->lowest;
    bool missing = (double)i < s->missing * TS_PLANTED_ATOMS;
    if (missing) count = 0;
    p->value[j][i] = ts_numeric_transform(p->options.numerics, j, count);
    x[i] = ts_numeric_transform(TS_NUMERICS_LOG, j, count);
  }
  standardise(x);
  for (uint32_t i = 0; i < TS_PLANTED_ATOMS; i++) x[i] += 0.15 * (x[i] * x[i] - 1.0);
  standardise(x);
  double sign = ts_random64(p->options.seed, STREAM_SIGN, j) >> 63 ? 1.0 : -1.0;
  for (uint32_t i = 0; i < TS_PLANTED_ATOMS; i++) p->effect[j][i] = (float)(sign * __builtin_sqrt(variance) * x[i]);
}

/* The bias at which a normal logit of this deviation has the wanted mean probability, by bisection. */
static double find_bias(double deviation, double rate) {
  double low = -10, high = 10;
  for (int round = 0; round < 50; round++) {
    double bias = 0.5 * (low + high), sum = 0, weight = 0;
    for (int i = -400; i <= 400; i++) {
      double z = i * 0.0125, w = ts_det_exp(-0.5 * z * z);
      sum += w / (1.0 + ts_det_exp(-bias - deviation * z));
      weight += w;
    }
    if (sum / weight < rate) low = bias;
    else high = bias;
  }
  return 0.5 * (low + high);
}

int32_t ts_planted_create(const ts_planted_options *options, ts_planted **out, ts_err err) {
  ts_planted *p = calloc(1, sizeof *p);
  *out = NULL;
  if (p == NULL) return ts_fail(err, TS_ENOMEM, "Cannot prepare synthetic data: out of memory");
  p->options = *options;
  p->key_mask = ts_planted_key_mask(options->seed);
  double variance = TS_PLANTED_DEVIATION * TS_PLANTED_DEVIATION, shares = 0;
  for (uint32_t c = 0; c < TS_CATEGORIES; c++) shares += column_share(ts_planted_vocabulary(c, options->scale));
  for (uint32_t c = 0; c < TS_CATEGORIES; c++) {
    uint64_t n = ts_planted_vocabulary(c, options->scale);
    /* A law keeps its shape when q grows with the number of rows. */
    double law_rows = options->skew_rows > 0 ? options->skew_rows : (double)criteo_kaggle_cardinality[c];
    double q = options->skew_q * (double)n / law_rows;
    int32_t status = ts_zipf_create(n, options->skew_s, q, &p->ranks[c], err);
    if (status != TS_OK) {
      ts_planted_free(p);
      return status;
    }
    scale_effects(p, c, variance * TS_PLANTED_CATEGORICAL * column_share(n) / shares);
  }
  for (uint32_t j = 0; j < TS_NUMERICS; j++)
    make_numeric(p, j, variance * (1.0 - TS_PLANTED_CATEGORICAL) / TS_NUMERICS);
  p->bias = find_bias(TS_PLANTED_DEVIATION, TS_PLANTED_CLICK_RATE);
  *out = p;
  return TS_OK;
}

void ts_planted_free(ts_planted *p) {
  if (p == NULL) return;
  for (uint32_t c = 0; c < TS_CATEGORIES; c++) ts_zipf_free(&p->ranks[c]);
  free(p);
}

void ts_planted_rows(const ts_planted *p, uint64_t first, uint32_t count, ts_cache_group *out, double *numeric_logit,
                     double *categorical_logit) {
  uint64_t seed = p->options.seed, streams = STREAM_ROWS + 64 * (uint64_t)p->options.split;
  memset(numeric_logit, 0, count * sizeof *numeric_logit);
  memset(categorical_logit, 0, count * sizeof *categorical_logit);
  for (uint32_t c = 0; c < TS_CATEGORIES; c++) {
    const ts_zipf *z = &p->ranks[c];
    uint64_t base = effect_base(p, c);
    double centre = p->effect_centre[c], scale = p->effect_scale[c];
    for (uint32_t i = 0; i < count; i++) {
      uint64_t rank = ts_zipf_rank(z, ts_random64(seed, streams + c, first + i));
      out->keys[c][i] = ts_planted_key(p->key_mask, c, rank);
      categorical_logit[i] += (raw_effect(base, rank) - centre) * scale;
    }
  }
  for (uint32_t j = 0; j < TS_NUMERICS; j++) {
    for (uint32_t i = 0; i < count; i++) {
      uint32_t atom = (uint32_t)(ts_random64(seed, streams + ROW_NUMERIC + j, first + i) >> 52);
      out->numerics[j][i] = p->value[j][atom];
      numeric_logit[i] += (double)p->effect[j][atom];
    }
  }
  for (uint32_t i = 0; i < count; i++) {
    double u = ts_unit(ts_random64(seed, streams + ROW_LABEL, first + i));
    double probability = 1.0 / (1.0 + ts_det_exp(-(p->bias + numeric_logit[i] + categorical_logit[i])));
    out->labels[i] = u < probability ? 1.0f : 0.0f;
  }
}
