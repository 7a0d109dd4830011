/* floor.h - the table of the floor, and its batch loops, compiled once for each vector width. */
#ifndef BENCH_FLOOR_H
#define BENCH_FLOOR_H

#include "contender.h"

#define FLOOR_EMPTY INT64_MIN
#define FLOOR_BUCKET 8u

typedef struct floor_table {
  int64_t *keys; /* buckets of 8 */
  float *rows;   /* as many rows as key slots: slot number = row number */
  uint32_t dim;  /* weights a row; as many accumulators follow */
  uint64_t mask; /* buckets - 1 */
  unsigned shift;
} floor_table;

typedef struct floor_kernels {
  const char *name;
  /* distance: keys between the prefetch of a bucket, of its row, and the use of it */
  void (*lookup)(const floor_table *t, const int64_t *keys, uint32_t n, uint32_t distance, float *out);
  void (*update)(const floor_table *t, const int64_t *keys, uint32_t n, uint32_t distance, const float *const *gradients);
} floor_kernels;

extern const floor_kernels floor_avx512_16, floor_avx2_16, floor_baseline_16, floor_avx512_64, floor_avx2_64,
    floor_baseline_64, floor_avx512_128, floor_avx2_128, floor_baseline_128;

/* Room for so many keys at a load of 0.7 or less. */
bool floor_table_open(floor_table *t, uint64_t keys, uint32_t dim, char *error);
/* Creates a row; false if the key has one. */
bool floor_table_add(floor_table *t, int64_t key);
/* The widest this CPU has, or what is wanted ("baseline", "avx2"); NULL for a width other than 16, 64 and 128. */
const floor_kernels *floor_kernels_for(uint32_t dim, const char *wanted);

#endif
