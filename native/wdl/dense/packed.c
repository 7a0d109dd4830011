/* packed.c - weights into the order oneDNN reads them. */
#include "wdl/dense/packed.h"
#include "wdl/dense/lanes.h"

TS_INLINE ts_lanes load(const float *from, bool bf16) {
  ts_lanes x = ts_load_floats(from);
  return bf16 ? ts_round_halves(x) : x;
}

TS_INLINE void pack_rows(const ts_packed_layout *layout, void *packed, uint32_t row, uint32_t rows, const float *from,
                         uint32_t stride) {
  const ts_packed_layout l = *layout;
  const uint32_t step = l.pairs ? 2 : 1;
  for (uint32_t first = 0; first < l.n; first += l.n_block) {
    size_t base = ts_packed_index(&l, row, first);
    uint32_t width = TS_MIN(l.n_block, l.n - first);
    for (uint32_t r = 0; r < rows; r += step, base += (size_t)step * l.n_block)
      for (uint32_t i = 0; i < width; i += TS_LANES) {
        const float *at = from + (size_t)r * stride + first + i;
        if (l.pairs) ts_store_pairs((uint16_t *)packed + base + 2 * i, load(at, true), load(at + stride, true));
        else ts_store_elements(packed, base + i, load(at, l.bf16), l.bf16);
      }
  }
}

TS_INLINE void pack_transposed(const ts_packed_layout *layout, void *packed, uint32_t column, uint32_t columns,
                               const float *from, uint32_t stride, uint32_t level) {
  const ts_packed_layout l = *layout;
  const uint32_t step = l.pairs ? 2 : 1;
  for (uint32_t i = 0; i < columns; i += TS_LANES) {
    const size_t base = ts_packed_index(&l, 0, column + i);
    for (uint32_t k = 0; k < l.k; k += TS_LANES) {
      ts_lanes tile[TS_LANES];
      for (uint32_t t = 0; t < TS_LANES; t++) tile[t] = load(from + (size_t)(i + t) * stride + k, l.bf16);
      ts_transpose(tile, level);
      for (uint32_t t = 0; t < TS_LANES; t += step) {
        const size_t at = base + (size_t)(k + t) * l.n_block;
        if (l.pairs) ts_store_pairs((uint16_t *)packed + at, tile[t], tile[t + 1]);
        else ts_store_elements(packed, at, tile[t], l.bf16);
      }
    }
  }
}

#define PARAMETERS                                                                                               \
  (const ts_packed_layout *l, void *packed, uint32_t at, uint32_t count, const float *from, uint32_t stride)
#define ARGUMENTS (l, packed, at, count, from, stride)
TS_EVERY_LEVEL(rows, pack_rows, PARAMETERS, ARGUMENTS)
TS_EVERY_LEVEL(transposed, pack_transposed, PARAMETERS, (l, packed, at, count, from, stride, own_level))

void ts_pack_rows(const ts_packed_layout *l, void *packed, uint32_t row, uint32_t count, const float *from,
                  uint32_t stride) {
  rows_levels[ts_cpu_level()](l, packed, row, count, from, stride);
}

void ts_pack_transposed(const ts_packed_layout *l, void *packed, uint32_t column, uint32_t columns, const float *from,
                        uint32_t stride) {
  transposed_levels[ts_cpu_level()](l, packed, column, columns, from, stride);
}
