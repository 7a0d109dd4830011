/* floor_kernels.c - the loops of the floor: two prefetch stages in flight, no branch but for a full bucket. Compiled
 * for each vector width and width of a row, with -DKERNELS=floor_<vectors>_<dim>, -DBENCH_DIM=<dim> and the flags of the
 * vectors; all compute the same bits. */
#include "floor.h"

#include <string.h>
#ifdef __x86_64__
#include <immintrin.h>
#endif

#define RING 256u /* more than the largest distance */

static inline uint64_t bucket_of(const floor_table *t, int64_t key) {
  return (uint64_t)key * 0x9e3779b97f4a7c15u >> t->shift;
}

/* Bit i: slot i holds the key. */
static inline unsigned matches(const int64_t *bucket, int64_t key) {
#if defined(__AVX512F__)
  return _mm512_cmpeq_epi64_mask(_mm512_load_si512(bucket), _mm512_set1_epi64(key));
#elif defined(__AVX2__)
  const __m256i wanted = _mm256_set1_epi64x(key);
  __m256i low = _mm256_cmpeq_epi64(_mm256_load_si256((const __m256i *)(const void *)bucket), wanted);
  __m256i high = _mm256_cmpeq_epi64(_mm256_load_si256((const __m256i *)(const void *)(bucket + 4)), wanted);
  return (unsigned)_mm256_movemask_pd(_mm256_castsi256_pd(low)) |
         (unsigned)_mm256_movemask_pd(_mm256_castsi256_pd(high)) << 4;
#else
  unsigned mask = 0;
  for (unsigned i = 0; i < FLOOR_BUCKET; i++) mask |= (unsigned)(bucket[i] == key) << i;
  return mask;
#endif
}

/* The slot of a key that is there: the bench looks up no others, so an empty slot need not be looked for. */
static inline uint64_t find(const floor_table *t, int64_t key) {
  for (uint64_t b = bucket_of(t, key);; b = (b + 1) & t->mask) {
    unsigned mask = matches(t->keys + b * FLOOR_BUCKET, key);
    if (__builtin_expect(mask != 0, 1)) return b * FLOOR_BUCKET + (unsigned)__builtin_ctz(mask);
  }
}

#define LINE 16u /* numbers a cache line */

static inline __attribute__((always_inline)) void ask(const float *row) {
  for (unsigned j = 0; j < BENCH_DIM; j += LINE) __builtin_prefetch(row + j);
}

static void lookup(const floor_table *t, const int64_t *keys, uint32_t n, uint32_t distance, float *restrict out) {
  const float *row[RING];
  const uint32_t last = n - 1;
  for (uint32_t i = 0; i < 2 * distance && i < n; i++)
    __builtin_prefetch(t->keys + bucket_of(t, keys[i]) * FLOOR_BUCKET);
  for (uint32_t i = 0; i < distance && i < n; i++) {
    row[i % RING] = t->rows + find(t, keys[i]) * BENCH_ROW_FLOATS;
    ask(row[i % RING]);
  }
  for (uint32_t i = 0; i < n; i++) {
    uint32_t far = i + 2 * distance < n ? i + 2 * distance : last;
    __builtin_prefetch(t->keys + bucket_of(t, keys[far]) * FLOOR_BUCKET);
    uint32_t near = i + distance;
    if (near < n) {
      const float *r = t->rows + find(t, keys[near]) * BENCH_ROW_FLOATS;
      row[near % RING] = r;
      ask(r);
    }
    memcpy(out + (uint64_t)i * BENCH_DIM, row[i % RING], BENCH_DIM * sizeof(float));
  }
}

static void update(const floor_table *t, const int64_t *keys, uint32_t n, uint32_t distance,
                   const float *const *gradients) {
  float *row[RING];
  for (uint32_t i = 0; i < 2 * distance && i < n; i++)
    __builtin_prefetch(t->keys + bucket_of(t, keys[i]) * FLOOR_BUCKET);
  for (uint32_t i = 0; i < n + distance; i++) {
    if (i + distance < n) __builtin_prefetch(t->keys + bucket_of(t, keys[i + distance]) * FLOOR_BUCKET);
    if (i < n) {
      float *r = t->rows + find(t, keys[i]) * BENCH_ROW_FLOATS;
      row[i % RING] = r;
      for (unsigned j = 0; j < BENCH_ROW_FLOATS; j += LINE) __builtin_prefetch(r + j, 1);
    }
    if (i >= distance) bench_adagrad(row[(i - distance) % RING], gradients[i - distance]);
  }
}

#define TEXT(x) #x
#define TEXT_OF(x) TEXT(x)
const floor_kernels KERNELS = {TEXT_OF(KERNELS), lookup, update};
