/* initializer.h - a row's first weights, a pure function of (seed, table name, key): no lock, no order, the same on
 * every tier and machine. */
#ifndef TS_INITIALIZER_H
#define TS_INITIALIZER_H

#include "base/base.h"

typedef enum ts_initializer_kind {
  TS_INIT_CONSTANT,
  TS_INIT_UNIFORM,
  TS_INIT_TRUNCATED_NORMAL,
  TS_INIT_GLOROT,
  TS_INIT_DEFAULT_VALUE_MATRIX
} ts_initializer_kind;

typedef struct ts_initializer {
  ts_initializer_kind kind; /* the base's, for a default-value matrix */
  uint64_t matrix_rows;     /* 0: not a default-value matrix */
  float value, low, high, mean, stddev;
  uint64_t seed;      /* of store and table together */
  const float *normal; /* truncated normal: inverse distribution function, TS_NORMAL_PIECES + 1 points */
} ts_initializer;

#define TS_NORMAL_PIECES 4096u

/* Reads the options "initializer" and "initializer.*". `normal` stays the caller's to set. */
int32_t ts_initializer_read(ts_config_reader *reader, uint32_t dim, uint64_t seed, const char *table,
                            ts_initializer *out);
/* The TS_NORMAL_PIECES + 1 points of the inverse distribution function of a standard normal cut at two standard deviations. */
const float *ts_initializer_normal(void);
void ts_initializer_weights(const ts_initializer *init, int64_t key, float *weights, uint32_t dim);

#endif
