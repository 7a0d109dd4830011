/* criteo_kernels_avx2.c - separators 64 bytes, keys and whole numbers four fields at a time. */
#include "wdl/input/criteo_kernels.h"

#if defined(__x86_64__)
#include <immintrin.h>

#define AVX2 __attribute__((target("avx2,bmi,bmi2,popcnt")))

AVX2 static inline uint64_t equal(__m256i low, __m256i high, char c) {
  const __m256i all = _mm256_set1_epi8(c);
  return (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(low, all)) |
         (uint64_t)(uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(high, all)) << 32;
}

AVX2 static void scan(const char *text, uint32_t from, uint32_t to, char separator, ts_criteo_scan *s) {
  uint32_t count = s->count, lines = s->lines;
  uint64_t special = 0;
  for (uint32_t i = from; i < to; i += 64) {
    const __m256i low = _mm256_loadu_si256((const __m256i *)(text + i)),
                  high = _mm256_loadu_si256((const __m256i *)(text + i + 32));
    uint64_t inside = _bzhi_u64(~UINT64_C(0), to - i < 64 ? to - i : 64);
    uint64_t ends = equal(low, high, '\n') & inside, all = (equal(low, high, separator) & inside) | ends;
    special |= (equal(low, high, '"') | equal(low, high, '\0')) & inside;
    for (uint64_t left = ends; left != 0; left = _blsr_u64(left))
      s->line_ends[lines++] = count + (uint32_t)_mm_popcnt_u64(all & (_blsi_u64(left) - 1));
    /* Eight positions at a time, wanted or not: one branch instead of eight. */
    uint32_t found = (uint32_t)_mm_popcnt_u64(all);
    for (uint32_t k = 0; k < found; k += 8)
#pragma GCC unroll 8
      for (uint32_t j = 0; j < 8; j++, all = _blsr_u64(all)) s->at[count + k + j] = i + (uint32_t)_tzcnt_u64(all);
    count += found;
  }
  s->count = count;
  s->lines = lines;
  s->special |= special != 0;
}

/* Lengths of four fields, one a lane. */
AVX2 static inline __m256i lengths(const uint32_t *length) {
  return _mm256_cvtepu32_epi64(_mm_loadu_si128((const __m128i *)length));
}

/* All ones in the last `length` bytes of each lane; a count of 64 or more, also a negative one, shifts everything out.
 */
AVX2 static inline __m256i last_bytes(__m256i length) {
  return _mm256_sllv_epi64(_mm256_set1_epi8(-1),
                           _mm256_sub_epi64(_mm256_set1_epi64x(64), _mm256_slli_epi64(length, 3)));
}

AVX2 static inline __m256i at_most(__m256i x, char most) {
  return _mm256_cmpeq_epi8(_mm256_min_epu8(x, _mm256_set1_epi8(most)), x);
}

/* A bit a lane of which a byte in `bad` is set. */
AVX2 static inline uint64_t lanes_with(__m256i bad) {
  const __m256i none = _mm256_cmpeq_epi64(bad, _mm256_setzero_si256());
  return ~(uint32_t)_mm256_movemask_pd(_mm256_castsi256_pd(none)) & 15u;
}

AVX2 static uint64_t keys(const uint64_t *word, const uint32_t *length, uint32_t n, int64_t *out) {
  const __m256i eight = _mm256_set1_epi64x(8);
  const __m256i places = _mm256_set1_epi16(0x0110); /* 16 times the first digit of a pair and the second */
  const __m256i order = _mm256_setr_epi8(6, 4, 2, 0, -1, -1, -1, -1, 14, 12, 10, 8, -1, -1, -1, -1, /* both halves */
                                         6, 4, 2, 0, -1, -1, -1, -1, 14, 12, 10, 8, -1, -1, -1, -1);
  uint64_t other = 0;
  for (uint32_t i = 0; i < n; i += 4) {
    const __m256i w = _mm256_loadu_si256((const __m256i *)(word + i)), size = lengths(length + i),
                  in = last_bytes(size);
    const __m256i digit = _mm256_sub_epi8(w, _mm256_set1_epi8('0'));
    const __m256i letter = _mm256_sub_epi8(_mm256_or_si256(w, _mm256_set1_epi8(0x20)), _mm256_set1_epi8('a'));
    const __m256i is_digit = at_most(digit, 9), known = _mm256_or_si256(is_digit, at_most(letter, 5));
    const __m256i nibble =
        _mm256_and_si256(_mm256_blendv_epi8(_mm256_add_epi8(letter, _mm256_set1_epi8(10)), digit, is_digit), in);
    const __m256i bad = _mm256_or_si256(_mm256_andnot_si256(known, in), _mm256_cmpgt_epi64(size, eight));
    const __m256i key = _mm256_shuffle_epi8(_mm256_maddubs_epi16(nibble, places), order);
    const __m256i empty = _mm256_cmpeq_epi64(size, _mm256_setzero_si256());
    _mm256_storeu_si256((__m256i *)(out + i), _mm256_or_si256(key, empty));
    other |= lanes_with(bad) << i;
  }
  return other;
}

AVX2 static uint64_t integers(const uint64_t *word, const uint32_t *length, uint32_t n, int32_t *out) {
  const __m256i sixty_four = _mm256_set1_epi64x(64), one = _mm256_set1_epi64x(1);
  uint64_t other = 0;
  for (uint32_t i = 0; i < n; i += 4) {
    const __m256i w = _mm256_loadu_si256((const __m256i *)(word + i)), size = lengths(length + i);
    const __m256i start = _mm256_srlv_epi64(w, _mm256_sub_epi64(sixty_four, _mm256_slli_epi64(size, 3)));
    const __m256i minus =
        _mm256_cmpeq_epi64(_mm256_and_si256(start, _mm256_set1_epi64x(0xff)), _mm256_set1_epi64x('-'));
    const __m256i digits = _mm256_add_epi64(size, minus), in = last_bytes(digits);
    const __m256i digit = _mm256_and_si256(_mm256_sub_epi8(w, _mm256_set1_epi8('0')), in);
    const __m256i nothing = _mm256_and_si256(minus, _mm256_cmpgt_epi64(one, digits));
    const __m256i longer = _mm256_cmpgt_epi64(size, _mm256_set1_epi64x(8));
    const __m256i bad = _mm256_or_si256(_mm256_andnot_si256(at_most(digit, 9), in), _mm256_or_si256(longer, nothing));
    const __m256i pairs = _mm256_maddubs_epi16(digit, _mm256_set1_epi16(0x010a));
    const __m256i fours = _mm256_madd_epi16(pairs, _mm256_set1_epi32(0x00010064));
    const __m256i x =
        _mm256_add_epi64(_mm256_mul_epu32(fours, _mm256_set1_epi64x(10000)), _mm256_srli_epi64(fours, 32));
    const __m256i value = _mm256_sub_epi64(_mm256_xor_si256(x, minus), minus);
    const __m256i low = _mm256_permutevar8x32_epi32(value, _mm256_setr_epi32(0, 2, 4, 6, 0, 2, 4, 6));
    _mm_storeu_si128((__m128i *)(out + i), _mm256_castsi256_si128(low));
    other |= lanes_with(bad) << i;
  }
  return other;
}

const ts_criteo_kernels ts_criteo_kernels_avx2 = {scan, keys, integers};
#else
typedef int ts_no_avx2; /* a file is not empty */
#endif
