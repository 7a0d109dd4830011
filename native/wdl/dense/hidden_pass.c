/* hidden_pass.c - which units of a hidden layer are above zero, and its activations transposed (vector.h). */
#include "wdl/dense/tiles.h"

TS_INLINE void hidden_tile(const void *block, uint32_t rows, uint32_t width, bool bf16, uint8_t *alive,
                           const ts_target *to, uint32_t i, uint32_t r) {
  ts_lanes tile[TS_LANES];
  for (uint32_t k = 0; k < TS_LANES; k++) {
    ts_lanes v = {0};
    if (r + k < rows) {
      const size_t at = (size_t)(r + k) * width + i;
      v = ts_load_elements(block, at, bf16);
      ts_byte_lanes above = (ts_byte_lanes)__builtin_convertvector(ts_widen(v, bf16) > 0, ts_sign_lanes);
      memcpy(alive + at, &above, sizeof above);
    }
    tile[k] = v;
  }
  if (to->t.to == NULL) return;
  ts_transpose(tile, to->level);
  ts_store_tile(to, i, r, tile, bf16);
}

/* A BF16 value is above zero where its bits as a signed number are, unless it is no number: -1, else 0. In arithmetic,
 * because GCC takes comparisons of words apart when it inlines them into wider code; unsigned, since it wraps. */
TS_INLINE ts_signed_words words_above_zero(ts_words x) {
  return (ts_signed_words)(-x & ~x & (x - (uint16_t)0x7f81)) >> 15;
}

TS_INLINE void hidden_square(const uint16_t *block, uint32_t width, uint8_t *alive, const ts_target *to, uint32_t i,
                             uint32_t r) {
  ts_lanes tile[2][TS_LANES];
  for (uint32_t k = 0; k < TS_SQUARE; k++) {
    const size_t at = (size_t)(r + k) * width + i;
    ts_words v;
    memcpy(&v, block + at, sizeof v);
    const ts_wide_sign_lanes above = __builtin_convertvector(words_above_zero(v), ts_wide_sign_lanes);
    memcpy(alive + at, &above, sizeof above);
    tile[k / TS_LANES][k % TS_LANES] = (ts_lanes)v;
  }
  ts_store_square(to, i, r, tile[0], tile[1]);
}

TS_INLINE void hidden_pass(const void *block, uint32_t rows, uint32_t width, bool bf16, uint8_t *alive,
                           const ts_transposed *transposed, uint32_t level) {
  const ts_target to = ts_target_of(transposed, width, bf16, level);
  const uint32_t height = to.t.to == NULL ? rows : to.t.padded;
  const ts_squares s = ts_squares_of(rows, width, bf16 && to.t.to != NULL);
  for (uint32_t i = 0; i < width; i += TS_LANES) {
    for (uint32_t r = 0; i < s.columns && i % TS_SQUARE == 0 && r < s.rows; r += TS_SQUARE)
      hidden_square(block, width, alive, &to, i, r);
    for (uint32_t r = i < s.columns ? s.rows : 0; r < height; r += TS_LANES)
      hidden_tile(block, rows, width, bf16, alive, &to, i, r);
  }
  if (to.streams) ts_stream_end();
}

TS_INLINE void typed_hidden_pass(const void *block, uint32_t rows, uint32_t width, bool bf16, uint8_t *alive,
                                 const ts_transposed *transposed, uint32_t level) {
  if (bf16) hidden_pass(block, rows, width, true, alive, transposed, level);
  else hidden_pass(block, rows, width, false, alive, transposed, level);
}

TS_STREAMING_PASS(ts_hidden_pass, typed_hidden_pass,
     (const void *block, uint32_t rows, uint32_t width, bool bf16, uint8_t *alive, const ts_transposed *transposed),
     (block, rows, width, bf16, alive, transposed),
     (block, rows, width, bf16, alive, transposed, own_level))
