/* parameters.c - dense parameters by name, in the shape that a model has on paper: rows of inputs times columns of
 * outputs, without the padding that products want. For comparisons with other implementations.
 *
 * In memory the numerics come behind the embeddings; on paper they come first. */
#include "wdl/trainer.h"

#include <stdlib.h>
#include <string.h>

/* One parameter: of an MLP, or of the wide part. */
typedef struct view {
  ts_mlp *mlp;
  uint32_t index; /* there */
  ts_wide_weight *wide;
  uint32_t rows, columns;
  uint32_t first; /* row of the MLP's input with which the paper's order begins; 0: the same order */
} view;

static bool of_mlp(ts_mlp *mlp, const char *name, view *out) {
  for (uint32_t i = 0; i < ts_mlp_parameter_count(mlp); i++) {
    const ts_mlp_parameter p = ts_mlp_parameter_at(mlp, i);
    if (strcmp(p.name, name) != 0) continue;
    *out = (view){.mlp = mlp, .index = i, .rows = p.rows, .columns = p.columns};
    return true;
  }
  return false;
}

static bool starts(const char *name, const char *prefix) { return strncmp(name, prefix, strlen(prefix)) == 0; }

static bool of_model(ts_model *m, const char *name, view *out) {
  if (starts(name, "bottom.")) return ts_model_has_bottom(m) && of_mlp(&m->bottom, name + strlen("bottom."), out);
  if (starts(name, "output.")) return of_mlp(&m->top, name, out);
  if (starts(name, "mlp.")) {
    if (!of_mlp(&m->top, name + strlen("mlp."), out)) return false;
    if (strcmp(name, "mlp.0.w") == 0 && !ts_model_has_bottom(m)) out->first = m->columns.all;
    return true;
  }
  if (!ts_model_has_wide(m)) return false;
  if (strcmp(name, "wide.numeric") == 0) {
    *out = (view){.wide = m->wide.numeric, .rows = TS_NUMERICS, .columns = 1};
    return true;
  }
  char *end = NULL;
  const unsigned long c = starts(name, "wide.C") ? strtoul(name + strlen("wide.C"), &end, 10) : 0;
  if (c < 1 || c > TS_CATEGORIES || *end != '\0') return false;
  *out = (view){.wide = m->wide.column[c - 1], .rows = m->buckets, .columns = 1};
  return true;
}

static int32_t find(ts_trainer *t, const char *what, const char *name, view *out, ts_err err) {
  if (t == NULL || name == NULL)
    return ts_fail(err, TS_EINVAL, "Cannot %s a parameter: a trainer and a name are needed", what);
  int32_t status = ts_owner_check(&t->owner, "trainer", err);
  if (status != TS_OK) return status;
  ts_model *m = &t->model;
  if (of_model(m, name, out)) return TS_OK;
  return ts_fail(err, TS_EINVAL,
                 "Cannot %s parameter \"%s\": model \"%s\" has none of this name; it has mlp.0.w, mlp.0.b to "
                 "mlp.%u.b, output.w, output.b, %s",
                 what, name, ts_model_names[m->kind], t->options.layers - 1,
                 ts_model_has_wide(m) ? "wide.numeric, wide.C1 to wide.C26" : "bottom.0.w, bottom.0.b and so on");
}

static int32_t out_of_memory(const char *name, ts_err err) {
  return ts_fail(err, TS_ENOMEM, "Cannot read or set parameter \"%s\": out of memory", name);
}

/* Turns the rows round: `first` of them come last in the result. */
static void rotate(const float *from, float *to, uint32_t rows, uint32_t columns, uint32_t first) {
  const size_t n = (size_t)rows * columns, head = (size_t)first * columns;
  memcpy(to, from + head, (n - head) * sizeof *to);
  memcpy(to + n - head, from, head * sizeof *to);
}

int32_t ts_trainer_parameters(ts_trainer *t, const char *name, float *out, uint64_t n, uint64_t *needed, char *err_text,
                              uint32_t err_cap) {
  ts_err err = {err_text, err_cap};
  view v = {0};
  int32_t status = find(t, "read", name, &v, err);
  if (status != TS_OK) return status;
  const uint64_t count = (uint64_t)v.rows * v.columns;
  if (needed != NULL) *needed = count;
  if (n < count)
    return ts_fail(err, TS_ERANGE, "Cannot read parameter \"%s\": it has %llu values, there is room for %llu", name,
                   (unsigned long long)count, (unsigned long long)n);
  if (out == NULL) return ts_fail(err, TS_EINVAL, "Cannot read parameter \"%s\": the output must not be NULL", name);
  if (v.wide != NULL) {
    for (uint32_t r = 0; r < v.rows; r++) out[r] = v.wide[r].w;
    return TS_OK;
  }
  float *plain = malloc(count * sizeof *plain);
  if (plain == NULL) return out_of_memory(name, err);
  ts_mlp_read(v.mlp, v.index, plain);
  rotate(plain, out, v.rows, v.columns, v.first);
  free(plain);
  return TS_OK;
}

int32_t ts_trainer_set_parameters(ts_trainer *t, const char *name, const float *values, uint64_t n, char *err_text,
                                  uint32_t err_cap) {
  ts_err err = {err_text, err_cap};
  view v = {0};
  int32_t status = find(t, "set", name, &v, err);
  if (status != TS_OK) return status;
  const uint64_t count = (uint64_t)v.rows * v.columns;
  if (n != count)
    return ts_fail(err, TS_EINVAL, "Cannot set parameter \"%s\": it has %llu values (%u x %u, row-major), found %llu",
                   name, (unsigned long long)count, v.rows, v.columns, (unsigned long long)n);
  if (values == NULL) return ts_fail(err, TS_EINVAL, "Cannot set parameter \"%s\": the values must not be NULL", name);
  if (v.wide != NULL) {
    for (uint32_t r = 0; r < v.rows; r++) v.wide[r].w = values[r];
    return TS_OK;
  }
  float *plain = malloc(count * sizeof *plain);
  if (plain == NULL) return out_of_memory(name, err);
  rotate(values, plain, v.rows, v.columns, v.first == 0 ? 0 : v.rows - v.first);
  ts_mlp_write(v.mlp, v.index, plain);
  ts_mlp_pack(v.mlp);
  free(plain);
  return TS_OK;
}
