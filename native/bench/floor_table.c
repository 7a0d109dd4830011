/* floor_table.c - the floor's table: made and filled here, used by floor_kernels.c. */
#include "floor.h"

#include <string.h>

bool floor_table_open(floor_table *t, uint64_t keys, uint32_t dim, char *error) {
  uint64_t buckets = 1;
  unsigned bits = 0;
  for (; (double)keys > 0.7 * (double)(buckets * FLOOR_BUCKET); bits++) buckets *= 2;
  if (bits == 0) return bench_fail(error, "Cannot make a floor for %llu keys: too few", (unsigned long long)keys);
  t->keys = bench_pages(buckets * FLOOR_BUCKET * sizeof(int64_t));
  t->rows = bench_pages(buckets * FLOOR_BUCKET * 2 * dim * sizeof(float));
  t->dim = dim;
  t->mask = buckets - 1;
  t->shift = 64 - bits;
  for (uint64_t i = 0; i < buckets * FLOOR_BUCKET; i++) t->keys[i] = FLOOR_EMPTY;
  return true;
}

bool floor_table_add(floor_table *t, int64_t key) {
  uint64_t slot = ((uint64_t)key * 0x9e3779b97f4a7c15u >> t->shift) * FLOOR_BUCKET;
  for (; t->keys[slot] != FLOOR_EMPTY; slot = (slot + 1) & (t->mask * FLOOR_BUCKET + FLOOR_BUCKET - 1))
    if (t->keys[slot] == key) return false;
  t->keys[slot] = key;
  for (unsigned j = 0; j < t->dim; j++) {
    t->rows[slot * 2 * t->dim + j] = BENCH_FIRST_WEIGHT;
    t->rows[slot * 2 * t->dim + t->dim + j] = BENCH_FIRST_ACCUMULATOR;
  }
  return true;
}

const floor_kernels *floor_kernels_for(uint32_t dim, const char *wanted) {
  static const floor_kernels *const of_dims[][3] = {
      {&floor_baseline_16, &floor_avx2_16, &floor_avx512_16},
      {&floor_baseline_64, &floor_avx2_64, &floor_avx512_64},
      {&floor_baseline_128, &floor_avx2_128, &floor_avx512_128}};
  const floor_kernels *const *of = dim == 16 ? of_dims[0] : dim == 64 ? of_dims[1] : dim == 128 ? of_dims[2] : NULL;
  if (of == NULL) return NULL;
  unsigned level = 0;
#ifdef __x86_64__
  if (__builtin_cpu_supports("avx2") && strcmp(wanted, "baseline") != 0) level = 1;
  if (__builtin_cpu_supports("avx512f") && strcmp(wanted, "auto") == 0) level = 2;
#else
  (void)wanted;
#endif
  return of[level];
}
