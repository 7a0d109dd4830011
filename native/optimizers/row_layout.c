/* row_layout.c - builds layouts; reads and writes single slots. */
#include "optimizers/row_layout.h"

const char *const ts_row_type_names[TS_ROW_TYPES + 1] = {"fp32", "bf16", NULL};

ts_row_layout ts_row_layout_make(ts_row_type type, uint32_t dim, uint32_t slots, uint32_t scalars, bool frequency,
                                 bool version) {
  ts_row_layout l = {.type = type, .dim = dim, .slots = slots, .scalars = scalars};
  l.weight_bytes = TS_ROUND_UP(dim * (type == TS_BF16 ? 2u : 4u), 16u); /* DeepRec's padding */
  l.slot_bytes = TS_ROUND_UP(dim * 4u, 16u);
  uint32_t end = l.weight_bytes + (slots - 1) * l.slot_bytes;
  if (scalars > 0) l.scalar_offset = end;
  end += scalars * (uint32_t)sizeof(uint32_t);
  if (frequency) {
    l.frequency_offset = end;
    end += (uint32_t)sizeof(uint32_t);
  }
  if (version) {
    l.version_offset = end;
    end += (uint32_t)sizeof(int64_t);
  }
  l.stride = end;
  return l;
}

void ts_row_read(const ts_row_layout *l, const void *row, uint32_t slot, float *out) {
  const unsigned char *from = (const unsigned char *)row + ts_row_slot_offset(l, slot);
  if (slot > 0 || l->type == TS_FP32) {
    memcpy(out, from, l->dim * sizeof(float));
    return;
  }
  for (uint32_t j = 0; j < l->dim; j++) {
    uint16_t half;
    memcpy(&half, from + j * sizeof half, sizeof half);
    out[j] = ts_bf16_widen(half);
  }
}

void ts_row_write(const ts_row_layout *l, void *row, uint32_t slot, const float *values) {
  unsigned char *to = (unsigned char *)row + ts_row_slot_offset(l, slot);
  if (slot > 0 || l->type == TS_FP32) {
    memcpy(to, values, l->dim * sizeof(float));
    return;
  }
  for (uint32_t j = 0; j < l->dim; j++) {
    uint16_t half = ts_bf16_nearest(values[j]);
    memcpy(to + j * sizeof half, &half, sizeof half);
  }
}
