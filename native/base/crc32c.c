/* crc32c.c - see crc32c.h. */
#include "base/crc32c.h"

#include <pthread.h>
#include <string.h>

/* Four bits at a time. */
static const uint32_t table[16] = {0x00000000, 0x105ec76f, 0x20bd8ede, 0x30e349b1, 0x417b1dbc, 0x5125dad3,
                                   0x61c69362, 0x7198540d, 0x82f63b78, 0x92a8fc17, 0xa24bb5a6, 0xb21572c9,
                                   0xc38d26c4, 0xd3d3e1ab, 0xe330a81a, 0xf36e6f75};

static uint32_t crc_table(uint32_t crc, const unsigned char *p, size_t n) {
  for (size_t i = 0; i < n; i++) {
    crc ^= p[i];
    crc = table[crc & 15] ^ crc >> 4;
    crc = table[crc & 15] ^ crc >> 4;
  }
  return crc;
}

#if defined(__x86_64__)
/* The instruction takes three cycles and begins one each: three strips of so many bytes go side by side. */
#define STRIP 512u

/* What a checksum becomes by a strip of zeros: it is linear, so by each of its bytes. */
static uint32_t past[4][256];
static pthread_once_t past_once = PTHREAD_ONCE_INIT;

static void make_past(void) {
  static const unsigned char zeros[STRIP];
  for (uint32_t bit = 0; bit < 32; bit++) {
    const uint32_t of_bit = crc_table(UINT32_C(1) << bit, zeros, STRIP);
    for (uint32_t v = 0; v < 256; v++)
      if (v >> bit % 8 & 1) past[bit / 8][v] ^= of_bit;
  }
}

static uint32_t pass(uint32_t crc) {
  return past[0][crc & 255] ^ past[1][crc >> 8 & 255] ^ past[2][crc >> 16 & 255] ^ past[3][crc >> 24];
}

__attribute__((target("sse4.2"))) static uint32_t crc_hardware(uint32_t crc, const unsigned char *p, size_t n) {
  if (n >= 3 * STRIP) pthread_once(&past_once, make_past);
  for (; n >= 3 * STRIP; n -= 3 * STRIP, p += 3 * STRIP) {
    uint64_t strips[3] = {crc, 0, 0};
    for (size_t i = 0; i < STRIP; i += 8) {
      uint64_t words[3];
      if (i % 64 == 0)
        for (uint32_t k = 0; k < 3; k++) __builtin_prefetch(p + (k + 3) * STRIP + i);
      for (uint32_t k = 0; k < 3; k++) memcpy(&words[k], p + k * STRIP + i, 8);
      strips[0] = __builtin_ia32_crc32di(strips[0], words[0]);
      strips[1] = __builtin_ia32_crc32di(strips[1], words[1]);
      strips[2] = __builtin_ia32_crc32di(strips[2], words[2]);
    }
    crc = pass(pass((uint32_t)strips[0]) ^ (uint32_t)strips[1]) ^ (uint32_t)strips[2];
  }
  uint64_t c = crc;
  for (; n >= 8; n -= 8, p += 8) {
    uint64_t word;
    memcpy(&word, p, 8);
    c = __builtin_ia32_crc32di(c, word);
  }
  crc = (uint32_t)c;
  for (; n > 0; n--, p++) crc = __builtin_ia32_crc32qi(crc, *p);
  return crc;
}
#endif

uint32_t ts_crc32c(uint32_t crc, const void *bytes, size_t n) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("sse4.2")) return ~crc_hardware(~crc, bytes, n);
#endif
  return ~crc_table(~crc, bytes, n);
}

/* The checksum is linear: two checksums differ by what the flipped bits alone would give, so the eight bits of the last byte
 * are tried, then those of the byte before it, which have passed through one byte of zeros more. */
bool ts_crc32c_flipped(uint32_t stored, uint32_t found, uint64_t n, uint64_t *byte, uint32_t *bit) {
  const uint32_t difference = stored ^ found;
  uint32_t flips[8];
  for (uint32_t b = 0; b < 8; b++) flips[b] = crc_table(1u << b, (const unsigned char[1]){0}, 1);
  for (uint64_t i = n; i-- > 0;) {
    for (uint32_t b = 0; b < 8; b++) {
      if (flips[b] == difference) {
        *byte = i;
        *bit = b;
        return true;
      }
      flips[b] = crc_table(flips[b], (const unsigned char[1]){0}, 1);
    }
  }
  return false;
}

/* The checksum is linear: what the first part leaves passes through as many bytes of zeros as the second one has. */
uint32_t ts_crc32c_join(uint32_t first, uint32_t second, uint64_t n) {
  for (uint64_t i = 0; i < n; i++) first = crc_table(first, (const unsigned char[1]){0}, 1);
  return first ^ second;
}
