/* rows_locate.c - addresses of many rows: what ts_rows_view_at computes, eight at a time where the CPU has AVX-512. There
 * the highest bit of eight numbers is one instruction, and eight views are chosen from by another. */
#include "store/rows_locate.h"

#include "base/cpu_level.h"

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

#ifdef TS_PROBE_VECTORS
TS_PROBE_AVX512 static uint32_t locate_avx512(const ts_rows_view *views, uint32_t bits, const uint64_t *hashes,
                                              const ts_location *locations, uint32_t n, const void **rows) {
  ts_rows_views all;
  ts_rows_views_of(&all, views, bits);
  uint32_t here = 0;
  for (uint32_t i = 0; i < n; i += TS_PROBE_LANES) {
    const __mmask8 valid = (__mmask8)(n - i >= TS_PROBE_LANES ? 0xFF : (1u << (n - i)) - 1);
    __mmask8 first = valid;
    const __m512i address = ts_rows_locate8(&all, _mm512_maskz_loadu_epi64(valid, hashes + i),
                                            _mm512_maskz_loadu_epi64(valid, locations + i), &first);
    _mm512_mask_storeu_epi64(rows + i, valid, address);
    here += (uint32_t)__builtin_popcount(first);
  }
  return here;
}
#endif

uint32_t ts_rows_locate(uint32_t level, const ts_rows_view *views, uint32_t bits, const uint64_t *hashes,
                        const uint64_t *locations, uint32_t n, const void **rows) {
#ifdef TS_PROBE_VECTORS
  if (level >= TS_LEVEL_AVX512 && bits <= TS_PROBE_MOST_BITS && n >= TS_PROBE_LANES)
    return locate_avx512(views, bits, hashes, locations, n, rows);
#else
  (void)level;
#endif
  return locate_each(views, bits, hashes, locations, n, rows);
}
