/* The passes between products, element by element: shapes with whole tiles and squares, and with remainders, in matrices
 * that stay in the caches and in ones that are written past them. */
#include "test/check.h"
#include "wdl/dense/vector.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 77, PADDED = 96, WIDTH = 208, COLUMNS = 205, AT = 64 };
#define SMALL 256u  /* rows of a transposed matrix that is cached */
#define LARGE 8192u /* of one that is not */

static void *filled(size_t bytes) {
  void *at = aligned_alloc(64, TS_ROUND_UP(bytes, 64));
  return at == NULL ? NULL : memset(at, 0xee, TS_ROUND_UP(bytes, 64));
}

static uint16_t half_of(float x) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  if (isnan(x)) return (uint16_t)(bits >> 16 | 0x40u);
  return (uint16_t)((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}
static float float_of(uint16_t half) {
  const uint32_t bits = (uint32_t)half << 16;
  float x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

/* Numbers of all kinds: both signs, zeros of both signs, none, infinities, very small ones. */
static float number(uint32_t r, uint32_t i) {
  static const float special[] = {0.0f, -0.0f, NAN, -NAN, INFINITY, -INFINITY, 1e-40f, -1e-40f};
  const uint64_t random = ts_mix64((uint64_t)r << 32 | i);
  return random % 16 < 8 ? special[random % 8] : (float)((double)(random >> 40) / (1 << 23) - 1.0);
}

/* Bits of an element as the products have it. */
static uint32_t bits_of(float x, bool bf16) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bf16 ? half_of(x) : bits;
}
static uint32_t element(const void *from, size_t at, bool bf16) {
  return bf16 ? ((const uint16_t *)from)[at] : ((const uint32_t *)from)[at];
}

static void check_transposed(const void *transposed, uint32_t stride, uint32_t columns, bool bf16) {
  uint32_t wrong = 0;
  for (uint32_t i = 0; i < WIDTH; i++)
    for (uint32_t r = 0; r < PADDED; r++)
      wrong += element(transposed, (size_t)i * stride + AT + r, bf16) !=
               (r < ROWS && i < columns ? bits_of(number(r, i), bf16) : 0);
  CHECK_MSG(wrong == 0, "%u elements, stride %u, bf16 %d", wrong, stride, bf16);
  /* Neighbours are others'. */
  CHECK(element(transposed, AT - 1, bf16) == (bf16 ? 0xeeeeu : 0xeeeeeeeeu));
  CHECK(element(transposed, AT + PADDED, bf16) == (bf16 ? 0xeeeeu : 0xeeeeeeeeu));
}

static void activations_are_transposed(bool bf16, uint32_t stride) {
  const size_t size = bf16 ? 2 : 4;
  float *x = filled(ROWS * WIDTH * sizeof *x);
  void *block = filled(ROWS * WIDTH * size), *transposed = filled((size_t)WIDTH * stride * size);
  uint8_t *alive = filled(ROWS * WIDTH);
  CHECK(x != NULL && block != NULL && transposed != NULL && alive != NULL);
  for (uint32_t r = 0; r < ROWS; r++)
    for (uint32_t i = 0; i < WIDTH; i++) x[r * WIDTH + i] = number(r, i);
  const ts_transposed to = {.to = transposed, .stride = stride, .at = AT, .padded = PADDED};
  ts_input_pass(x, WIDTH, COLUMNS, ROWS, WIDTH, bf16, block, &to);
  check_transposed(transposed, stride, COLUMNS, bf16);
  uint32_t wrong = 0;
  for (uint32_t r = 0; r < ROWS; r++)
    for (uint32_t i = 0; i < WIDTH; i++)
      wrong += element(block, r * WIDTH + i, bf16) != (i < COLUMNS ? bits_of(number(r, i), bf16) : 0);
  CHECK_MSG(wrong == 0, "%u elements of the block", wrong);
  ts_input_pass(x, WIDTH, WIDTH, ROWS, WIDTH, bf16, block, &to);
  memset(transposed, 0xee, (size_t)WIDTH * stride * size);
  ts_hidden_pass(block, ROWS, WIDTH, bf16, alive, &to);
  check_transposed(transposed, stride, WIDTH, bf16);
  for (uint32_t at = wrong = 0; at < ROWS * WIDTH; at++) {
    const float v = bf16 ? float_of(((uint16_t *)block)[at]) : ((float *)block)[at];
    wrong += alive[at] != (v > 0 ? 0xff : 0);
  }
  CHECK_MSG(wrong == 0, "%u of the units above zero, bf16 %d", wrong, bf16);
  free(x), free(block), free(transposed), free(alive);
}

static void gradients_are_packed(bool bf16, uint32_t depth, float scale) {
  const size_t size = bf16 ? 2 : 4;
  const ts_packed_layout l = {.k = depth, .n = WIDTH, .k_padded = depth, .n_block = 64, .bf16 = bf16, .pairs = bf16};
  void *delta = filled(ROWS * WIDTH * size), *packed = filled(ts_packed_bytes(&l));
  uint8_t *alive = filled(ROWS * WIDTH);
  static float sums[WIDTH], expected[WIDTH];
  CHECK(delta != NULL && packed != NULL && alive != NULL);
  for (uint32_t i = 0; i < WIDTH; i++) sums[i] = expected[i] = (float)i;
  for (uint32_t at = 0; at < ROWS * WIDTH; at++) {
    const float v = (float)(ts_mix64(at) % 1000) / 512.0f - 1.0f;
    alive[at] = ts_mix64(at + 99) % 3 == 0 ? 0 : 0xff;
    if (bf16) ((uint16_t *)delta)[at] = half_of(v);
    else ((float *)delta)[at] = v;
  }
  void *given = filled(ROWS * WIDTH * size);
  memcpy(given, delta, ROWS * WIDTH * size);
  ts_delta_pass(delta, ROWS, PADDED, WIDTH, alive, scale, sums, &l, packed, AT);
  uint32_t wrong = 0;
  for (uint32_t r = 0; r < PADDED; r++)
    for (uint32_t i = 0; i < WIDTH; i++) {
      const size_t at = (size_t)r * WIDTH + i;
      uint32_t bits = 0;
      if (r < ROWS && alive[at] != 0) {
        const float v = bf16 ? float_of(((uint16_t *)given)[at]) : ((float *)given)[at];
        bits = bits_of(v * scale, bf16);
        expected[i] += bf16 ? float_of((uint16_t)bits) : v * scale;
      }
      wrong += r < ROWS && element(delta, at, bf16) != bits;
      wrong += element(packed, ts_packed_index(&l, AT + r, i), bf16) != bits;
    }
  CHECK_MSG(wrong == 0, "%u elements, depth %u, bf16 %d, scale %g", wrong, depth, bf16, (double)scale);
  CHECK_MSG(memcmp(sums, expected, sizeof sums) == 0, "sums, depth %u, bf16 %d", depth, bf16);
  CHECK(element(packed, ts_packed_index(&l, AT - 1, 0), bf16) == (bf16 ? 0xeeeeu : 0xeeeeeeeeu));
  CHECK(element(packed, ts_packed_index(&l, AT + PADDED, 0), bf16) == (bf16 ? 0xeeeeu : 0xeeeeeeeeu));
  free(delta), free(given), free(packed), free(alive);
}

int main(void) {
  for (int bf16 = 0; bf16 < 2; bf16++) {
    activations_are_transposed(bf16 == 1, SMALL);
    activations_are_transposed(bf16 == 1, LARGE);
    activations_are_transposed(bf16 == 1, LARGE + 8); /* lines begin elsewhere */
    gradients_are_packed(bf16 == 1, SMALL, 1.0f);
    gradients_are_packed(bf16 == 1, LARGE, 1.0f);
    gradients_are_packed(bf16 == 1, LARGE, 1.25f);
  }
  return test_result();
}
