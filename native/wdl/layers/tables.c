/* tables.c - reads and checks what feeds which table, and gathers the ids of a table of several columns. */
#include "wdl/layers/tables.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "wdl/input/criteo_field.h"

static const char *const combiners[] = {"sum", "mean", "sqrtn", "none", NULL}; /* at TS_COMBINER_* */

static void add_vectors(ts_tables *tables, ts_table_plan *plan) {
  plan->vector = tables->vectors;
  for (uint32_t i = 0; i < (ts_table_is_bag(plan) ? 1 : plan->count); i++) tables->dims[tables->vectors++] = plan->dim;
}

void ts_tables_by_column(ts_tables *tables, const uint32_t *dims) {
  *tables = (ts_tables){.count = TS_CATEGORIES};
  for (uint32_t c = 0; c < TS_CATEGORIES; c++) {
    ts_table_plan *plan = &tables->plans[c];
    *plan = (ts_table_plan){.dim = dims[c], .combiner = TS_COMBINER_NONE, .columns = {c}, .count = 1};
    snprintf(plan->name, sizeof plan->name, "C%u", c + 1);
    add_vectors(tables, plan);
  }
}

/* The part of *at before `end` or, but for a colon, the end of the text; *at goes behind it. */
static bool take(const char **at, char end, char *out, size_t cap) {
  const char *stop = strchr(*at, end);
  if (stop == NULL && end == ':') return false;
  const size_t n = stop == NULL ? strlen(*at) : (size_t)(stop - *at);
  if (n >= cap) return false;
  memcpy(out, *at, n);
  out[n] = '\0';
  *at += n + (stop != NULL);
  return true;
}

static bool whole(const char *text, uint32_t most, uint32_t *out) {
  char *end;
  const unsigned long n = *text >= '0' && *text <= '9' ? strtoul(text, &end, 10) : 0;
  *out = (uint32_t)n;
  return n >= 1 && n <= most && *end == '\0';
}

static int32_t read_columns(ts_table_plan *plan, const char *text, uint32_t *taken, ts_err err) {
  for (const char *at = text; *at != '\0';) {
    char name[8];
    uint32_t number;
    if (!take(&at, ',', name, sizeof name) || name[0] != 'C' || !whole(name + 1, TS_CATEGORIES, &number))
      return ts_fail(err, TS_EINVAL, "Cannot open trainer: columns of table \"%s\" must be of C1 to C%u, found \"%s\"",
                     plan->name, TS_CATEGORIES, text);
    if (*taken >> (number - 1) & 1)
      return ts_fail(err, TS_EINVAL, "Cannot open trainer: column C%u of table \"%s\" is in a table already", number,
                     plan->name);
    *taken |= 1u << (number - 1);
    plan->columns[plan->count++] = number - 1;
  }
  return plan->count > 0 ? TS_OK
                         : ts_fail(err, TS_EINVAL, "Cannot open trainer: table \"%s\" has no columns", plan->name);
}

static int32_t read_table(ts_tables *tables, const char *text, uint32_t *taken, ts_err err) {
  ts_table_plan *plan = &tables->plans[tables->count];
  *plan = (ts_table_plan){0};
  const char *at = text;
  char dim[16] = "", combiner[16] = "";
  if (!take(&at, ':', plan->name, sizeof plan->name) || !take(&at, ':', dim, sizeof dim) ||
      !take(&at, ':', combiner, sizeof combiner) || plan->name[0] == '\0')
    return ts_fail(err, TS_EINVAL,
                   "Cannot open trainer: a table must be \"name:dim:combiner:columns\", its name of up to %u bytes, found "
                   "\"%s\"",
                   TS_TABLE_NAME_BYTES - 1, text);
  if (!whole(dim, 1024, &plan->dim))
    return ts_fail(err, TS_EINVAL, "Cannot open trainer: table \"%s\" must have 1 to 1024 weights a row, found \"%s\"",
                   plan->name, dim);
  while (combiners[plan->combiner] != NULL && strcmp(combiners[plan->combiner], combiner) != 0) plan->combiner++;
  if (combiners[plan->combiner] == NULL)
    return ts_fail(err, TS_EINVAL,
                   "Cannot open trainer: the combiner of table \"%s\" must be none, sum, mean or sqrtn, found \"%s\"",
                   plan->name, combiner);
  for (uint32_t i = 0; i < tables->count; i++)
    if (strcmp(tables->plans[i].name, plan->name) == 0)
      return ts_fail(err, TS_EINVAL, "Cannot open trainer: two tables are called \"%s\"", plan->name);
  return read_columns(plan, at, taken, err);
}

int32_t ts_tables_read(ts_tables *tables, const char *text, ts_err err) {
  *tables = (ts_tables){0};
  uint32_t taken = 0;
  for (const char *at = text; *at != '\0';) {
    char one[256];
    if (!take(&at, ';', one, sizeof one))
      return ts_fail(err, TS_EINVAL, "Cannot open trainer: a table in option \"tables\" has more than %zu bytes",
                     sizeof one - 1);
    /* Every table takes a column, so there are never more tables than columns. */
    if (tables->count == TS_CATEGORIES)
      return ts_fail(err, TS_EINVAL, "Cannot open trainer: option \"tables\" has more than %u tables", TS_CATEGORIES);
    int32_t status = read_table(tables, one, &taken, err);
    if (status != TS_OK) return status;
    add_vectors(tables, &tables->plans[tables->count++]);
  }
  return tables->count > 0 ? TS_OK : ts_fail(err, TS_EINVAL, "Cannot open trainer: option \"tables\" has no table");
}

void ts_tables_write(const ts_tables *tables, ts_text *out) {
  for (uint32_t i = 0; i < tables->count; i++) {
    const ts_table_plan *plan = &tables->plans[i];
    ts_text_add(out, "%s%s:%u:%s:", i == 0 ? "" : ";", plan->name, plan->dim, combiners[plan->combiner]);
    for (uint32_t c = 0; c < plan->count; c++) ts_text_add(out, "%sC%u", c == 0 ? "" : ",", plan->columns[c] + 1);
  }
}

void ts_table_plan_scratch(const ts_table_plan *plan, ts_table_scratch *scratch, ts_workspace *space, uint32_t batch) {
  const bool bag = ts_table_is_bag(plan);
  if (!bag && plan->count == 1) return;
  const uint64_t keys = (uint64_t)plan->count * batch;
  scratch->keys = ts_workspace_take(space, keys, sizeof *scratch->keys);
  if (bag) scratch->offsets = ts_workspace_take(space, batch + 1u, sizeof *scratch->offsets);
  scratch->rows = ts_workspace_take(space, (bag ? batch : keys) * plan->dim, sizeof *scratch->rows);
}

void ts_table_make_bags(const ts_table_plan *plan, const ts_table_scratch *scratch, const int64_t *keys, uint32_t batch,
                        uint32_t rows) {
  uint64_t n = 0;
  scratch->offsets[0] = 0;
  for (uint32_t r = 0; r < rows; r++) {
    for (uint32_t c = 0; c < plan->count; c++) {
      const int64_t key = keys[(size_t)plan->columns[c] * batch + r];
      scratch->keys[n] = key;
      n += key != TS_MISSING_KEY;
    }
    scratch->offsets[r + 1] = n;
  }
}
