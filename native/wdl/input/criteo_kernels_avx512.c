/* criteo_kernels_avx512.c - separators 64 bytes, keys and whole numbers eight fields at a time. */
#include "wdl/input/criteo_kernels.h"

#if defined(__x86_64__)
#include <immintrin.h>

#define AVX512 __attribute__((target("avx512f,avx512vl,avx512dq,avx512bw,bmi,bmi2,popcnt")))

AVX512 static void scan(const char *text, uint32_t from, uint32_t to, char separator, ts_criteo_scan *s) {
  const __m512i separators = _mm512_set1_epi8(separator), ends_of_lines = _mm512_set1_epi8('\n'),
                quotes = _mm512_set1_epi8('"');
  const __m512i lanes = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  uint32_t count = s->count, lines = s->lines;
  uint64_t special = 0;
  for (uint32_t i = from; i < to; i += 64) {
    const __m512i c = _mm512_loadu_si512(text + i);
    const uint64_t inside = _bzhi_u64(~UINT64_C(0), to - i < 64 ? to - i : 64);
    const uint64_t ends = _mm512_mask_cmpeq_epi8_mask(inside, c, ends_of_lines);
    const uint64_t all = _mm512_mask_cmpeq_epi8_mask(inside, c, separators) | ends;
    special |= _mm512_mask_cmpeq_epi8_mask(inside, c, quotes) | (_mm512_testn_epi8_mask(c, c) & inside);
    for (uint64_t left = ends; left != 0; left = _blsr_u64(left))
      s->line_ends[lines++] = count + (uint32_t)_mm_popcnt_u64(all & (_blsi_u64(left) - 1));
#pragma GCC unroll 4
    for (uint32_t k = 0; k < 64; k += 16) {
      const __mmask16 part = (__mmask16)(all >> k);
      const __m512i at = _mm512_add_epi32(lanes, _mm512_set1_epi32((int)(i + k)));
      _mm512_storeu_si512(s->at + count, _mm512_maskz_compress_epi32(part, at));
      count += (uint32_t)_mm_popcnt_u32(part);
    }
  }
  s->count = count;
  s->lines = lines;
  s->special |= special != 0;
}

/* Lengths of eight fields, one a lane. */
AVX512 static inline __m512i lengths(const uint32_t *length) {
  return _mm512_cvtepu32_epi64(_mm256_loadu_si256((const __m256i *)length));
}

/* All ones in the last `length` bytes of each lane; a count of 64 or more, also a negative one, shifts everything out.
 */
AVX512 static inline __m512i last_bytes(__m512i length) {
  return _mm512_sllv_epi64(_mm512_set1_epi8(-1), _mm512_sub_epi64(_mm512_set1_epi64(64), _mm512_slli_epi64(length, 3)));
}

/* A bit a lane of which a byte is bad; hardly ever taken, so a loop. */
AVX512 static inline uint64_t lanes_with(uint64_t bad_bytes) {
  uint64_t lanes = 0;
  for (uint32_t k = 0; bad_bytes != 0; k++, bad_bytes >>= 8) lanes |= (uint64_t)((bad_bytes & 0xff) != 0) << k;
  return lanes;
}

AVX512 static uint64_t keys(const uint64_t *word, const uint32_t *length, uint32_t n, int64_t *out) {
  const __m512i places = _mm512_set1_epi16(0x0110); /* 16 times the first digit of a pair and the second */
  const __m512i order =
      _mm512_broadcast_i32x4(_mm_setr_epi8(6, 4, 2, 0, -1, -1, -1, -1, 14, 12, 10, 8, -1, -1, -1, -1));
  uint64_t other = 0;
  for (uint32_t i = 0; i < n; i += 8) {
    const __m512i w = _mm512_loadu_si512(word + i), size = lengths(length + i), in = last_bytes(size);
    const __m512i digit = _mm512_sub_epi8(w, _mm512_set1_epi8('0'));
    const __m512i letter = _mm512_sub_epi8(_mm512_or_si512(w, _mm512_set1_epi8(0x20)), _mm512_set1_epi8('a'));
    const uint64_t is_digit = _mm512_cmple_epu8_mask(digit, _mm512_set1_epi8(9));
    const uint64_t is_letter = _mm512_cmple_epu8_mask(letter, _mm512_set1_epi8(5));
    const __m512i any = _mm512_mask_mov_epi8(_mm512_add_epi8(letter, _mm512_set1_epi8(10)), is_digit, digit);
    const __m512i pairs = _mm512_maddubs_epi16(_mm512_and_si512(any, in), places);
    const __mmask8 empty = _mm512_testn_epi64_mask(size, size);
    const __m512i key = _mm512_mask_mov_epi64(_mm512_shuffle_epi8(pairs, order), empty, _mm512_set1_epi64(-1));
    _mm512_storeu_si512(out + i, key);
    const uint64_t bad = ~(is_digit | is_letter) & (uint64_t)_mm512_movepi8_mask(in);
    other |= (lanes_with(bad) | _mm512_cmpgt_epu64_mask(size, _mm512_set1_epi64(8))) << i;
  }
  return other;
}

AVX512 static uint64_t integers(const uint64_t *word, const uint32_t *length, uint32_t n, int32_t *out) {
  uint64_t other = 0;
  for (uint32_t i = 0; i < n; i += 8) {
    const __m512i w = _mm512_loadu_si512(word + i), size = lengths(length + i);
    const __m512i start = _mm512_srlv_epi64(w, _mm512_sub_epi64(_mm512_set1_epi64(64), _mm512_slli_epi64(size, 3)));
    const __mmask8 minus =
        _mm512_cmpeq_epi64_mask(_mm512_and_si512(start, _mm512_set1_epi64(0xff)), _mm512_set1_epi64('-'));
    const __m512i digits = _mm512_mask_sub_epi64(size, minus, size, _mm512_set1_epi64(1)), in = last_bytes(digits);
    const __m512i digit = _mm512_and_si512(_mm512_sub_epi8(w, _mm512_set1_epi8('0')), in);
    const uint64_t bad = _mm512_cmpgt_epu8_mask(digit, _mm512_set1_epi8(9));
    const __m512i pairs = _mm512_maddubs_epi16(digit, _mm512_set1_epi16(0x010a));
    const __m512i fours = _mm512_madd_epi16(pairs, _mm512_set1_epi32(0x00010064));
    const __m512i x = _mm512_add_epi64(_mm512_mul_epu32(fours, _mm512_set1_epi64(10000)), _mm512_srli_epi64(fours, 32));
    const __m512i value = _mm512_mask_sub_epi64(x, minus, _mm512_setzero_si512(), x);
    _mm256_storeu_si256((__m256i *)(out + i), _mm512_cvtepi64_epi32(value));
    const __mmask8 nothing = (__mmask8)(minus & _mm512_testn_epi64_mask(digits, digits));
    other |= (lanes_with(bad) | nothing | _mm512_cmpgt_epu64_mask(size, _mm512_set1_epi64(8))) << i;
  }
  return other;
}

const ts_criteo_kernels ts_criteo_kernels_avx512 = {scan, keys, integers};
#else
typedef int ts_no_avx512; /* a file is not empty */
#endif
