/* parameters.c - dense parameters by name, in the shape that a model has on paper: rows of inputs times columns of outputs,
 * without the padding that products want. For comparisons with other implementations. */
#include "wdl/trainer.h"

#include <stdlib.h>
#include <string.h>

/* Where the numbers of one parameter lie: value (r, c) is base[row(r) * row_stride + c * column_stride]. */
typedef struct view {
  float *base;
  uint32_t rows, columns;
  uint64_t row_stride, column_stride;
  uint32_t gap_at, gap; /* rows from gap_at on lie `gap` further: padding behind the numerics */
} view;

static float *at(const view *v, uint32_t row, uint32_t column) {
  return v->base + (uint64_t)(row + (row >= v->gap_at ? v->gap : 0)) * v->row_stride + column * v->column_stride;
}

static view matrix(const ts_weights *w, uint32_t rows, uint32_t columns, uint32_t width) {
  return (view){.base = w->value, .rows = rows, .columns = columns, .row_stride = width, .column_stride = 1, .gap_at = UINT32_MAX};
}

static view vector(const ts_weights *w, uint32_t n) { return matrix(w, 1, n, n); }

/* "<prefix>.<number><suffix>" with a number below `count`. */
static bool numbered(const char *name, const char *prefix, const char *suffix, uint32_t count, uint32_t *number) {
  const size_t n = strlen(prefix);
  if (strncmp(name, prefix, n) != 0 || name[n] < '0' || name[n] > '9') return false;
  char *end;
  const unsigned long value = strtoul(name + n, &end, 10);
  if (strcmp(end, suffix) != 0 || value >= count) return false;
  *number = (uint32_t)value;
  return true;
}

static bool of_mlp(const ts_mlp *mlp, const char *name, view *out) {
  uint32_t l;
  if (numbered(name, "mlp.", ".w", mlp->count, &l)) {
    const ts_mlp_layer *layer = &mlp->layers[l];
    *out = matrix(&layer->w, layer->in, layer->out, layer->out_width);
    if (l > 0) return true;
    out->rows -= TS_EMBEDDINGS_AT - TS_NUMERICS;
    out->gap_at = TS_NUMERICS;
    out->gap = TS_EMBEDDINGS_AT - TS_NUMERICS;
    return true;
  }
  if (numbered(name, "mlp.", ".b", mlp->count, &l)) *out = vector(&mlp->layers[l].b, mlp->layers[l].out);
  else if (strcmp(name, "output.w") == 0) *out = matrix(&mlp->output, mlp->layers[mlp->count - 1].out, 1, 1);
  else if (strcmp(name, "output.b") == 0) *out = vector(&mlp->output_bias, 1);
  else return false;
  return true;
}

static view wide_weights(ts_wide_weight *w, uint32_t n) {
  return (view){.base = &w->w, .rows = n, .columns = 1, .row_stride = sizeof *w / sizeof w->w, .gap_at = UINT32_MAX};
}

static bool of_wide(ts_wide *wide, const char *name, view *out) {
  uint32_t number;
  if (numbered(name, "wide.C", "", TS_CATEGORIES + 1, &number) && number > 0)
    *out = wide_weights(wide->column[number - 1], wide->buckets);
  else if (strcmp(name, "wide.numeric") == 0) *out = wide_weights(wide->numeric, TS_NUMERICS);
  else return false;
  return true;
}

static int32_t find(ts_trainer *t, const char *what, const char *name, view *out, ts_err err) {
  if (t == NULL || name == NULL)
    return ts_fail(err, TS_EINVAL, "Cannot %s a parameter: a trainer and a name are needed", what);
  if (of_mlp(&t->mlp, name, out) || of_wide(&t->wide, name, out)) return TS_OK;
  return ts_fail(err, TS_EINVAL,
                 "Cannot %s parameter \"%s\": the model has none of this name; it has mlp.0.w, mlp.0.b to mlp.%u.b, output.w, "
                 "output.b, wide.numeric, wide.C1 to wide.C26",
                 what, name, t->mlp.count - 1);
}

int32_t ts_trainer_parameters(ts_trainer *t, const char *name, float *out, uint64_t n, uint64_t *needed, char *err_text,
                              uint32_t err_cap) {
  ts_err err = {err_text, err_cap};
  view v;
  int32_t status = find(t, "read", name, &v, err);
  if (status != TS_OK) return status;
  const uint64_t count = (uint64_t)v.rows * v.columns;
  if (needed != NULL) *needed = count;
  if (n < count)
    return ts_fail(err, TS_ERANGE, "Cannot read parameter \"%s\": it has %llu values, there is room for %llu", name,
                   (unsigned long long)count, (unsigned long long)n);
  if (out == NULL) return ts_fail(err, TS_EINVAL, "Cannot read parameter \"%s\": the output must not be NULL", name);
  for (uint32_t r = 0; r < v.rows; r++)
    for (uint32_t c = 0; c < v.columns; c++) *out++ = *at(&v, r, c);
  return TS_OK;
}

int32_t ts_trainer_set_parameters(ts_trainer *t, const char *name, const float *values, uint64_t n, char *err_text,
                                  uint32_t err_cap) {
  ts_err err = {err_text, err_cap};
  view v;
  int32_t status = find(t, "set", name, &v, err);
  if (status != TS_OK) return status;
  const uint64_t count = (uint64_t)v.rows * v.columns;
  if (n != count)
    return ts_fail(err, TS_EINVAL, "Cannot set parameter \"%s\": it has %llu values (%u x %u, row-major), found %llu", name,
                   (unsigned long long)count, v.rows, v.columns, (unsigned long long)n);
  if (values == NULL) return ts_fail(err, TS_EINVAL, "Cannot set parameter \"%s\": the values must not be NULL", name);
  for (uint32_t r = 0; r < v.rows; r++)
    for (uint32_t c = 0; c < v.columns; c++) *at(&v, r, c) = *values++;
  return TS_OK;
}
