/* rows_locate.c - addresses of many rows: what ts_rows_view_at computes, eight at a time where the CPU has AVX-512. There
 * the highest bit of eight numbers is one instruction, and eight views are chosen from by another. */
#include "store/rows.h"

#include "base/cpu_level.h"
#include "index/index.h"

#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
#define VECTORS 1
#include <immintrin.h>
#define AVX512 __attribute__((target("avx512f,avx512vl,avx512dq,avx512bw,avx512cd")))
#endif

static uint32_t locate_each(const ts_rows_view *views, uint32_t bits, const uint64_t *hashes, const ts_location *locations,
                            uint32_t n, const void **rows) {
  uint32_t here = 0;
  for (uint32_t i = 0; i < n; i++) {
    const bool first = locations[i] >> TS_LOCATION_ROW_BITS == 0;
    rows[i] = first ? ts_rows_view_at(&views[hashes[i] >> 1 >> (63 - bits)], locations[i]) : NULL;
    here += first;
  }
  return here;
}

#ifdef VECTORS
#define LANES 8u
#define MOST_BITS 4u /* of the shard: two registers hold a value for each */
#define SHARDS (1u << MOST_BITS)

AVX512 static inline __m512i of_shard(const uint64_t values[SHARDS], __m512i shard) {
  return _mm512_permutex2var_epi64(_mm512_loadu_si512(values), shard, _mm512_loadu_si512(values + LANES));
}

AVX512 static uint32_t locate_avx512(const ts_rows_view *views, uint32_t bits, const uint64_t *hashes,
                                     const ts_location *locations, uint32_t n, const void **rows) {
  uint64_t chunks[SHARDS] = {0}, from[SHARDS] = {0};
  for (uint32_t s = 0; s < 1u << bits; s++) {
    chunks[s] = (uintptr_t)views[s].chunks;
    from[s] = views[s].from;
  }
  const __m128i to_shard = _mm_cvtsi32_si128((int)(64 - bits));
  const __m512i stride = _mm512_set1_epi64((int64_t)views[0].stride);
  const __m512i highest = _mm512_set1_epi64(63 - TS_LEVEL_BITS), not_rows = _mm512_set1_epi64((int64_t)(UINT64_MAX << TS_LOCATION_ROW_BITS));
  uint32_t here = 0;
  for (uint32_t i = 0; i < n; i += LANES) {
    const __mmask8 valid = (__mmask8)(n - i >= LANES ? 0xFF : (1u << (n - i)) - 1);
    const __m512i shard = _mm512_srl_epi64(_mm512_maskz_loadu_epi64(valid, hashes + i), to_shard);
    const __m512i row = _mm512_maskz_loadu_epi64(valid, locations + i);
    const __mmask8 first = _mm512_mask_testn_epi64_mask(valid, row, not_rows);
    const __m512i y = _mm512_add_epi64(row, of_shard(from, shard));
    const __m512i size = _mm512_sub_epi64(highest, _mm512_lzcnt_epi64(y));
    const __m512i part = _mm512_srlv_epi64(y, size), inside = _mm512_sub_epi64(y, _mm512_sllv_epi64(part, size));
    const __m512i chunk = _mm512_add_epi64(_mm512_slli_epi64(size, TS_LEVEL_BITS), part);
    const __m512i at = _mm512_add_epi64(of_shard(chunks, shard), _mm512_slli_epi64(chunk, 3));
    const __m512i start = _mm512_mask_i64gather_epi64(_mm512_setzero_si512(), first, at, NULL, 1);
    const __m512i address = _mm512_maskz_add_epi64(first, start, _mm512_mullo_epi64(inside, stride));
    _mm512_mask_storeu_epi64(rows + i, valid, address);
    here += (uint32_t)__builtin_popcount(first);
  }
  return here;
}
#endif

uint32_t ts_rows_locate(uint32_t level, const ts_rows_view *views, uint32_t bits, const uint64_t *hashes,
                        const uint64_t *locations, uint32_t n, const void **rows) {
#ifdef VECTORS
  if (level >= TS_LEVEL_AVX512 && bits <= MOST_BITS && n >= LANES)
    return locate_avx512(views, bits, hashes, locations, n, rows);
#else
  (void)level;
#endif
  return locate_each(views, bits, hashes, locations, n, rows);
}
