/* criteo_kernels.c - separators, keys and whole numbers a byte at a time: what every CPU can. */
#include "wdl/input/criteo_kernels.h"

static void scan(const char *text, uint32_t from, uint32_t to, char separator, ts_criteo_scan *s) {
  for (uint32_t i = from; i < to; i++) {
    char c = text[i];
    s->special |= c == '"' || c == '\0';
    if (c == '\n') s->line_ends[s->lines++] = s->count;
    s->at[s->count] = i;
    s->count += c == separator || c == '\n';
  }
}

/* The field's first character, all its characters below 8 * n bits. */
static inline uint64_t characters(uint64_t word, uint32_t n) { return n == 0 ? 0 : word >> (64 - 8 * n); }

static uint64_t keys(const uint64_t *word, const uint32_t *length, uint32_t n, int64_t *out) {
  uint64_t other = 0;
  for (uint32_t i = 0; i < n; i++) {
    uint64_t key = 0;
    bool fine = length[i] <= 8;
    uint64_t left = fine ? characters(word[i], length[i]) : 0;
    for (uint32_t k = 0; fine && k < length[i]; k++, left >>= 8) {
      uint32_t c = left & 0xff, digit = c - '0', letter = (c | 0x20) - 'a';
      fine = digit <= 9 || letter <= 5;
      key = key << 4 | (digit <= 9 ? digit : letter + 10);
    }
    out[i] = length[i] == 0 ? -1 : (int64_t)key;
    other |= (uint64_t)!fine << i;
  }
  return other;
}

static uint64_t integers(const uint64_t *word, const uint32_t *length, uint32_t n, int32_t *out) {
  uint64_t other = 0;
  for (uint32_t i = 0; i < n; i++) {
    int32_t x = 0;
    bool fine = length[i] <= 8, negative = false;
    uint64_t left = fine ? characters(word[i], length[i]) : 0;
    uint32_t digits = length[i];
    if (fine && (left & 0xff) == '-') {
      negative = true;
      left >>= 8;
      fine = --digits > 0;
    }
    for (uint32_t k = 0; fine && k < digits; k++, left >>= 8) {
      uint32_t digit = (left & 0xff) - '0';
      fine = digit <= 9;
      x = x * 10 + (int32_t)digit;
    }
    out[i] = negative ? -x : x;
    other |= (uint64_t)!fine << i;
  }
  return other;
}

const ts_criteo_kernels ts_criteo_kernels_baseline = {scan, keys, integers};
