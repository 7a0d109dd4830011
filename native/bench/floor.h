/* floor.h - the table of the floor, and its batch loops, compiled once for each vector width. */
#ifndef BENCH_FLOOR_H
#define BENCH_FLOOR_H

#include "contender.h"

#define FLOOR_EMPTY INT64_MIN
#define FLOOR_BUCKET 8u

typedef struct floor_table {
  int64_t *keys; /* buckets of 8 */
  float *rows;   /* as many rows as key slots: slot number = row number */
  uint64_t mask; /* buckets - 1 */
  unsigned shift;
} floor_table;

typedef struct floor_kernels {
  const char *name;
  /* distance: keys between the prefetch of a bucket, of its row, and the use of it */
  void (*lookup)(const floor_table *t, const int64_t *keys, uint32_t n, uint32_t distance, float *out);
  void (*update)(const floor_table *t, const int64_t *keys, uint32_t n, uint32_t distance, const float *const *gradients);
} floor_kernels;

extern const floor_kernels floor_avx512, floor_avx2, floor_baseline;

#endif
