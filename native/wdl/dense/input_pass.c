/* input_pass.c - rows of floats into a block of the type in hand, and transposed (vector.h). */
#include "wdl/dense/tiles.h"

TS_INLINE void input_tile(const float *x, size_t stride, uint32_t columns, uint32_t rows, uint32_t width, bool bf16,
                          void *block, const ts_target *to, uint32_t i, uint32_t r) {
  ts_lanes tile[TS_LANES];
  for (uint32_t k = 0; k < TS_LANES; k++) {
    ts_lanes v = {0};
    if (r + k < rows) {
      const float *from = x + (r + k) * stride + i;
      if (i + TS_LANES <= columns) v = ts_load_floats(from);
      else if (i < columns) memcpy(&v, from, (columns - i) * sizeof(float));
      if (bf16) v = ts_round_halves(v);
      if (block != NULL) ts_store_elements(block, (size_t)(r + k) * width + i, v, bf16);
    }
    tile[k] = v;
  }
  if (to->t.to == NULL) return;
  ts_transpose(tile, to->level);
  ts_store_tile(to, i, r, tile, bf16);
}

TS_INLINE void input_square(const float *x, size_t stride, uint32_t width, uint16_t *block, const ts_target *to,
                            uint32_t i, uint32_t r) {
  ts_lanes tile[2][TS_LANES];
  for (uint32_t k = 0; k < TS_SQUARE; k++) {
    const float *from = x + (r + k) * stride + i;
    const ts_words low = (ts_words)ts_round_halves(ts_load_floats(from));
    const ts_words high = (ts_words)ts_round_halves(ts_load_floats(from + TS_LANES));
    const ts_words v = ts_even_words(low, high, to->level);
    memcpy(block + (size_t)(r + k) * width + i, &v, sizeof v);
    tile[k / TS_LANES][k % TS_LANES] = (ts_lanes)v;
  }
  ts_store_square(to, i, r, tile[0], tile[1]);
}

TS_INLINE void input_pass(const float *x, size_t stride, uint32_t columns, uint32_t rows, uint32_t width, bool bf16,
                          void *block, const ts_transposed *transposed, uint32_t level) {
  const ts_target to = ts_target_of(transposed, width, bf16, level);
  const uint32_t height = to.t.to == NULL ? rows : to.t.padded;
  const ts_squares s = ts_squares_of(rows, columns, bf16 && block != NULL && to.t.to != NULL);
  for (uint32_t i = 0; i < width; i += TS_LANES) {
    for (uint32_t r = 0; i < s.columns && i % TS_SQUARE == 0 && r < s.rows; r += TS_SQUARE)
      input_square(x, stride, width, block, &to, i, r);
    for (uint32_t r = i < s.columns ? s.rows : 0; r < height; r += TS_LANES)
      input_tile(x, stride, columns, rows, width, bf16, block, &to, i, r);
  }
  if (to.streams) ts_stream_end();
}

TS_INLINE void typed_input_pass(const float *x, size_t stride, uint32_t columns, uint32_t rows, uint32_t width,
                                bool bf16, void *block, const ts_transposed *transposed, uint32_t level) {
  if (bf16) input_pass(x, stride, columns, rows, width, true, block, transposed, level);
  else input_pass(x, stride, columns, rows, width, false, block, transposed, level);
}

TS_STREAMING_PASS(ts_input_pass, typed_input_pass,
     (const float *x, size_t stride, uint32_t columns, uint32_t rows, uint32_t width, bool bf16, void *block,
      const ts_transposed *transposed),
     (x, stride, columns, rows, width, bf16, block, transposed),
     (x, stride, columns, rows, width, bf16, block, transposed, own_level))

void ts_rows_backward(const float *dy, size_t stride, uint32_t rows, uint32_t columns, uint32_t width, bool bf16,
                      void *delta) {
  ts_input_pass(dy, stride, columns, rows, width, bf16, delta, &(ts_transposed){0});
}
