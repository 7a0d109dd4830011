/* rows_locate.h - addresses of eight rows at a time (rows_locate.c, flow.c). */
#ifndef TS_ROWS_LOCATE_H
#define TS_ROWS_LOCATE_H

#include "index/probe_avx512.h"
#include "store/rows.h"

#ifdef TS_PROBE_VECTORS
/* The views of all shards; rows have the same length in all. */
typedef struct ts_rows_views {
  _Alignas(64) uint64_t chunks[TS_PROBE_SHARDS];
  uint64_t from[TS_PROBE_SHARDS];
  uint64_t stride;
  uint32_t bits;
} ts_rows_views;

/* bits: at most TS_PROBE_MOST_BITS. */
static inline void ts_rows_views_of(ts_rows_views *all, const ts_rows_view *views, uint32_t bits) {
  memset(all, 0, sizeof *all);
  all->stride = views[0].stride;
  all->bits = bits;
  for (uint32_t s = 0; s < 1u << bits; s++) {
    all->chunks[s] = (uintptr_t)views[s].chunks;
    all->from[s] = views[s].from;
  }
}

/* What ts_rows_view_at computes. Of *first the lanes stay whose locations are of the first tier; the others are NULL. */
TS_PROBE_AVX512_INLINE __m512i ts_rows_locate8(const ts_rows_views *all, __m512i hash, __m512i location, __mmask8 *first) {
  const __m512i shard = ts_probe_shard(hash, all->bits);
  *first = _mm512_mask_testn_epi64_mask(*first, location, _mm512_set1_epi64((int64_t)(UINT64_MAX << TS_LOCATION_ROW_BITS)));
  const __m512i y = _mm512_add_epi64(location, ts_probe_of_shard(all->from, shard));
  const __m512i size = _mm512_sub_epi64(_mm512_set1_epi64(63 - TS_LEVEL_BITS), _mm512_lzcnt_epi64(y));
  const __m512i part = _mm512_srlv_epi64(y, size), inside = _mm512_sub_epi64(y, _mm512_sllv_epi64(part, size));
  const __m512i chunk = _mm512_add_epi64(_mm512_slli_epi64(size, TS_LEVEL_BITS), part);
  const __m512i at = _mm512_add_epi64(ts_probe_of_shard(all->chunks, shard), _mm512_slli_epi64(chunk, 3));
  const __m512i start = _mm512_mask_i64gather_epi64(_mm512_setzero_si512(), *first, at, NULL, 1);
  return _mm512_maskz_add_epi64(*first, start, _mm512_mullo_epi64(inside, _mm512_set1_epi64((int64_t)all->stride)));
}
#endif

#endif
