/* row_layout.h - where the parts of a row lie.
 *
 *   slot 0: weights, fp32 or bf16, padded to 16 bytes | slots 1..: dim floats each, padded to 16 bytes |
 *   scalars, uint32 each | frequency, uint32 | version, int64
 *
 * What a table does not ask for takes no bytes, so a plain fp32 row is its padded slots and nothing else. Rows need
 * only be aligned to 4 bytes; the version may lie unaligned, so scalars, frequency and version are copied, never
 * pointed at. */
#ifndef TS_ROW_LAYOUT_H
#define TS_ROW_LAYOUT_H

#include <string.h>

#include "base/base.h"

typedef enum ts_row_type { TS_FP32, TS_BF16, TS_ROW_TYPES } ts_row_type;

/* "fp32", "bf16", NULL: for ts_config_choice. */
extern const char *const ts_row_type_names[TS_ROW_TYPES + 1];

typedef struct ts_row_layout {
  ts_row_type type;
  uint32_t dim, slots;       /* slots: weights included */
  uint32_t scalars;
  uint32_t weight_bytes;     /* slot 0, padded to 16 */
  uint32_t slot_bytes;       /* each other slot, padded to 16 */
  uint32_t scalar_offset;    /* first of the rule's uint32 scalars; 0: none */
  uint32_t frequency_offset; /* 0: none */
  uint32_t version_offset;   /* 0: none */
  uint32_t stride;           /* bytes a row, a multiple of 4 */
} ts_row_layout;

#define TS_NO_VERSION INT64_C(-1) /* of a row that was never updated, as in DeepRec */
#define TS_BORN(step) (-1 - (step)) /* what such a row keeps in place of a version: the step in which it was created */

ts_row_layout ts_row_layout_make(ts_row_type type, uint32_t dim, uint32_t slots, uint32_t scalars, bool frequency,
                                 bool version);

/* Bytes from the row's start to a slot; 0 for the weights. */
static inline uint32_t ts_row_slot_offset(const ts_row_layout *l, uint32_t slot) {
  return slot == 0 ? 0 : l->weight_bytes + (slot - 1) * l->slot_bytes;
}
/* Bytes of a slot that hold numbers, without padding. */
static inline uint32_t ts_row_slot_size(const ts_row_layout *l, uint32_t slot) {
  return l->dim * (slot == 0 && l->type == TS_BF16 ? 2u : 4u);
}
/* slot >= 1, or slot 0 of fp32 rows. */
static inline float *ts_row_slot(const ts_row_layout *l, void *row, uint32_t slot) {
  return (float *)(void *)((unsigned char *)row + ts_row_slot_offset(l, slot));
}

static inline uint32_t ts_row_scalar(const ts_row_layout *l, const void *row, uint32_t scalar) {
  uint32_t value;
  memcpy(&value, (const unsigned char *)row + l->scalar_offset + scalar * sizeof value, sizeof value);
  return value;
}
static inline void ts_row_set_scalar(const ts_row_layout *l, void *row, uint32_t scalar, uint32_t value) {
  memcpy((unsigned char *)row + l->scalar_offset + scalar * sizeof value, &value, sizeof value);
}
/* A scalar that is a float, by its bits. */
static inline float ts_row_scalar_float(const ts_row_layout *l, const void *row, uint32_t scalar) {
  const uint32_t bits = ts_row_scalar(l, row, scalar);
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}
static inline void ts_row_set_scalar_float(const ts_row_layout *l, void *row, uint32_t scalar, float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  ts_row_set_scalar(l, row, scalar, bits);
}
/* 0 where the layout records none; setting is then without effect. The same holds for the version. */
static inline uint32_t ts_row_frequency(const ts_row_layout *l, const void *row) {
  uint32_t value = 0;
  if (l->frequency_offset != 0) memcpy(&value, (const unsigned char *)row + l->frequency_offset, sizeof value);
  return value;
}
static inline void ts_row_set_frequency(const ts_row_layout *l, void *row, uint32_t value) {
  if (l->frequency_offset != 0) memcpy((unsigned char *)row + l->frequency_offset, &value, sizeof value);
}
/* As kept: a version, or TS_BORN. */
static inline int64_t ts_row_stamp(const ts_row_layout *l, const void *row) {
  int64_t value = TS_NO_VERSION;
  if (l->version_offset != 0) memcpy(&value, (const unsigned char *)row + l->version_offset, sizeof value);
  return value;
}
static inline int64_t ts_row_version(const ts_row_layout *l, const void *row) {
  return TS_MAX(ts_row_stamp(l, row), TS_NO_VERSION);
}
/* The step of the row's last update, or else of its creation. */
static inline int64_t ts_row_date(const ts_row_layout *l, const void *row) {
  const int64_t stamp = ts_row_stamp(l, row);
  return stamp < 0 ? TS_BORN(stamp) : stamp;
}
static inline void ts_row_set_version(const ts_row_layout *l, void *row, int64_t value) {
  if (l->version_offset != 0) memcpy((unsigned char *)row + l->version_offset, &value, sizeof value);
}

/* ---- bf16: the upper half of a float ---- */

static inline float ts_bf16_widen(uint16_t half) {
  uint32_t bits = (uint32_t)half << 16;
  float x;
  memcpy(&x, &bits, sizeof x);
  return x;
}
/* Nearest, ties to even; NaN stays NaN. */
static inline uint16_t ts_bf16_nearest(float x) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return (uint16_t)(bits >> 16 | 0x40u);
  return (uint16_t)((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

/* ---- any slot as floats, for what is not a kernel ---- */

void ts_row_read(const ts_row_layout *l, const void *row, uint32_t slot, float *out);
/* Weights in bf16 are rounded to the nearest. Padding keeps its bytes. */
void ts_row_write(const ts_row_layout *l, void *row, uint32_t slot, const float *values);

#endif
