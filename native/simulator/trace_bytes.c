/* trace_bytes.c - keys out of the bytes of traces, for readers that find and name what is wrong: lines of decimal digits, records of
 * libCacheSim, whole numbers of 8 to 64 bits.
 *
 * The idea of lines: ends first, 64 bytes at a time, so that no line waits for the one before it; then the eight bytes in front of an
 * end, which have the last digits whatever the line's length, become a number in three multiplications. */
#include "base/base.h"

#include <string.h>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#define ZEROS UINT64_C(0x3030303030303030)
#define MOST_DIGITS 18u /* that fit 64 bits, whatever they are */
#define RECORD 24u
#define LONGEST_LINE 65536u

/* Bytes of 64 that are line feeds. */
static inline uint64_t feeds(const uint8_t *at) {
  uint64_t mask = 0;
#if defined(__SSE2__)
  const __m128i feed = _mm_set1_epi8('\n');
  for (uint32_t i = 0; i < 4; i++)
    mask |= (uint64_t)(uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(_mm_loadu_si128((const __m128i *)(const void *)(at + 16 * i)), feed))
            << 16 * i;
#else
  for (uint32_t i = 0; i < 64; i++) mask |= (uint64_t)(at[i] == '\n') << i;
#endif
  return mask;
}

/* The last `digits` (1 to 8) of the eight bytes before `end`, as a number; *bad becomes not 0 if one of them is no digit. */
static inline uint64_t eight(const uint8_t *end, uint32_t digits, uint64_t *bad) {
  uint64_t word;
  memcpy(&word, end - 8, 8);
  word = (word ^ ZEROS) & UINT64_MAX << (64 - 8 * digits); /* the byte order is the lowest first */
  *bad |= (word | (word + UINT64_C(0x7676767676767676))) & UINT64_C(0x8080808080808080);
  word = (word * 10 + (word >> 8)) & UINT64_C(0x00ff00ff00ff00ff);
  word = (word * 100 + (word >> 16)) & UINT64_C(0x0000ffff0000ffff);
  return (word * 10000 + (word >> 32)) & UINT64_C(0xffffffff);
}

/* The number of a line; false: it is no number of up to 18 digits. At least 24 bytes lie before `end`. */
static inline bool number(const uint8_t *end, uint64_t digits, int64_t *out) {
  uint64_t bad = 0;
  if (TS_LIKELY(digits - 1 < 8)) {
    *out = (int64_t)eight(end, (uint32_t)digits, &bad);
    return bad == 0;
  }
  if (digits - 1 >= MOST_DIGITS) return false;
  uint64_t value = eight(end, 8, &bad);
  value += UINT64_C(100000000) * eight(end - 8, TS_MIN((uint32_t)digits - 8, 8), &bad);
  if (digits > 16) value += UINT64_C(10000000000000000) * eight(end - 16, (uint32_t)digits - 16, &bad);
  *out = (int64_t)value;
  return bad == 0;
}

/* The same where there may be fewer bytes in front. */
static bool number_at_front(const uint8_t *start, uint64_t digits, int64_t *out) {
  uint8_t bytes[32];
  if (digits - 1 >= MOST_DIGITS) return false;
  memset(bytes, '0', sizeof bytes);
  memcpy(bytes + sizeof bytes - digits, start, digits);
  return number(bytes + sizeof bytes, digits, out);
}

int32_t ts_trace_lines(const uint8_t *block, uint64_t bytes, int64_t *keys, uint64_t cap, uint64_t *out) {
  if (out == NULL || (block == NULL && bytes > 0) || (keys == NULL && cap > 0)) return TS_EINVAL;
  uint64_t count = 0, start = 0;
  for (uint64_t at = 0; at < bytes; at += 64) {
    uint8_t tail[64] = {0};
    if (bytes - at < 64) memcpy(tail, block + at, bytes - at);
    for (uint64_t ends = feeds(bytes - at < 64 ? tail : block + at); ends != 0; ends &= ends - 1) {
      const uint64_t feed = at + (uint64_t)__builtin_ctzll(ends);
      const uint64_t end = feed - (feed > start && block[feed - 1] == '\r');
      if (count == cap) goto done;
      if (TS_LIKELY(end >= 24) ? !number(block + end, end - start, &keys[count]) : !number_at_front(block + start, end - start, &keys[count]))
        goto done;
      count++;
      start = feed + 1;
    }
  }
done:
  out[0] = count;
  out[1] = start;
  return TS_OK;
}

/* Bytes of a field that needs no decoding; there must be one. Blanks and quotes are taken off fields, so that they are not plain. */
static inline uint64_t plain_field(const uint8_t *at, const uint8_t *end, uint8_t separator) {
  const uint8_t *from = at;
  while (at < end && *at > ' ' && *at < 127 && *at != '"' && *at != separator) at++;
  return (uint64_t)(at - from);
}

int32_t ts_trace_column(const uint8_t *block, uint64_t bytes, uint32_t separator, uint32_t fields, uint32_t column, int64_t *keys,
                        uint64_t cap, uint64_t *out) {
  if (out == NULL || (block == NULL && bytes > 0) || (keys == NULL && cap > 0) || separator > 126 || column >= fields) return TS_EINVAL;
  out[0] = out[1] = 0;
  const uint8_t *at = block, *end = block + bytes;
  while (out[0] < cap && at < end && *at != '#') {
    uint64_t value = 0;
    for (uint32_t field = 0; field < fields; field++) {
      uint64_t length = 0;
      if (field == column) {
        value = 0;
        for (; at + length < end && (uint8_t)(at[length] - '0') < 10 && length <= MOST_DIGITS; length++) value = 10 * value + at[length] - '0';
        if (length > MOST_DIGITS) return TS_OK;
      } else {
        length = plain_field(at, end, (uint8_t)separator);
      }
      at += length;
      if (length == 0 || at == end) return TS_OK;
      if (field + 1 < fields && *at++ != separator) return TS_OK;
    }
    at += *at == '\r';
    if (at == end || *at != '\n' || (uint64_t)(++at - block) - out[1] > LONGEST_LINE) return TS_OK;
    keys[out[0]++] = (int64_t)value;
    out[1] = (uint64_t)(at - block);
  }
  return TS_OK;
}

int32_t ts_trace_records(const uint8_t *block, uint64_t records, uint64_t first, uint32_t before, int64_t *keys, uint64_t *good) {
  if (good == NULL || (records > 0 && (block == NULL || keys == NULL))) return TS_EINVAL;
  for (uint64_t i = 0; i < records; i++, block += RECORD) {
    uint32_t time;
    int64_t next;
    memcpy(&time, block, sizeof time);
    memcpy(&keys[i], block + 4, sizeof *keys);
    memcpy(&next, block + 16, sizeof next);
    if (TS_UNLIKELY(time < before || (next <= (int64_t)(first + i) && next != -1))) {
      *good = i;
      return TS_OK;
    }
    before = time;
  }
  *good = records;
  return TS_OK;
}

#define WIDEN(type)                                                        \
  for (uint64_t i = 0; i < n; i++) {                                       \
    type value;                                                            \
    memcpy(&value, (const char *)numbers + i * sizeof value, sizeof value); \
    keys[i] = (int64_t)value;                                              \
  }                                                                        \
  return TS_OK

int32_t ts_trace_widen(const void *numbers, uint64_t n, uint32_t bytes, uint32_t has_sign, int64_t *keys) {
  if (n > 0 && (numbers == NULL || keys == NULL)) return TS_EINVAL;
  switch (bytes * 2 + (has_sign != 0)) {
    case 2: WIDEN(uint8_t);
    case 3: WIDEN(int8_t);
    case 4: WIDEN(uint16_t);
    case 5: WIDEN(int16_t);
    case 8: WIDEN(uint32_t);
    case 9: WIDEN(int32_t);
    case 16:
    case 17: WIDEN(int64_t);
    default: return TS_EINVAL;
  }
}
