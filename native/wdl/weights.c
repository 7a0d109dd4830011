/* weights.c - weights out of a model and into one. */
#include "wdl/weights.h"

#include <string.h>

static uint64_t of_mlp(const ts_mlp *mlp) {
  uint64_t floats = 0;
  for (uint32_t i = 0; i < ts_mlp_parameter_count(mlp); i++) {
    const ts_parameters *p = ts_mlp_rows_of(mlp, i);
    floats += (uint64_t)p->rows * p->width;
  }
  return floats;
}

static float *copy_mlp(const ts_mlp *mlp, float *out) {
  for (uint32_t i = 0; i < ts_mlp_parameter_count(mlp); i++) {
    const ts_parameters *p = ts_mlp_rows_of(mlp, i);
    for (uint32_t r = 0; r < p->rows; r++, out += p->width) memcpy(out, ts_parameters_row(p, r), p->width * sizeof *out);
  }
  return out;
}

static const float *take_mlp(ts_mlp *mlp, const float *in) {
  for (uint32_t i = 0; i < ts_mlp_parameter_count(mlp); i++) {
    const ts_parameters *p = ts_mlp_rows_of(mlp, i);
    for (uint32_t r = 0; r < p->rows; r++, in += p->width) memcpy(ts_parameters_row(p, r), in, p->width * sizeof *in);
  }
  ts_mlp_pack(mlp);
  return in;
}

uint64_t ts_model_weights(const ts_model *m) {
  return of_mlp(&m->top) + (ts_model_has_bottom(m) ? of_mlp(&m->bottom) : 0) +
         (ts_model_has_wide(m) ? TS_NUMERICS + (uint64_t)TS_CATEGORIES * m->buckets : 0);
}

void ts_model_copy_weights(const ts_model *m, float *out) {
  out = copy_mlp(&m->top, out);
  if (ts_model_has_bottom(m)) out = copy_mlp(&m->bottom, out);
  if (!ts_model_has_wide(m)) return;
  for (uint32_t j = 0; j < TS_NUMERICS; j++) *out++ = m->wide.numeric[j].w;
  for (uint32_t c = 0; c < TS_CATEGORIES; c++)
    for (uint32_t b = 0; b < m->buckets; b++) *out++ = m->wide.column[c][b].w;
}

void ts_model_take_weights(ts_model *m, const float *in) {
  in = take_mlp(&m->top, in);
  if (ts_model_has_bottom(m)) in = take_mlp(&m->bottom, in);
  if (!ts_model_has_wide(m)) return;
  for (uint32_t j = 0; j < TS_NUMERICS; j++) m->wide.numeric[j].w = *in++;
  for (uint32_t c = 0; c < TS_CATEGORIES; c++)
    for (uint32_t b = 0; b < m->buckets; b++) m->wide.column[c][b].w = *in++;
}
