/* tables.h - which columns of the data feed which embedding table, and what of them the network sees.
 *
 * A table without a combiner gives one vector for each of its columns: its rows are shared between them. One with a
 * combiner gives one vector: the columns' ids of a sample are a bag, whose rows are combined (ts_table_lookup_bags). An
 * id that is missing in the text is left out of a bag, so bags are ragged; without a combiner it is an id like others. */
#ifndef TS_WDL_TABLES_H
#define TS_WDL_TABLES_H

#include "wdl/input/cache_format.h"
#include "wdl/common/workspace.h"

#define TS_TABLE_NAME_BYTES 64u
#define TS_COMBINER_NONE 3u /* beside TS_COMBINER_SUM, _MEAN and _SQRTN */

typedef struct ts_table_plan {
  char name[TS_TABLE_NAME_BYTES];
  uint32_t dim, combiner;
  uint32_t columns[TS_CATEGORIES], count; /* counting from 0 */
  uint32_t vector;                        /* its first vector, of all tables' */
} ts_table_plan;

typedef struct ts_tables {
  ts_table_plan plans[TS_CATEGORIES];
  uint32_t count;
  uint32_t vectors, dims[TS_CATEGORIES]; /* the network's vectors and their widths */
} ts_tables;

static inline bool ts_table_is_bag(const ts_table_plan *plan) { return plan->combiner != TS_COMBINER_NONE; }

/* One table a column, C1 to C26. */
void ts_tables_by_column(ts_tables *tables, const uint32_t *dims);
/* "name:dim:combiner:C3,C4;name:..." with the combiners none, sum, mean and sqrtn; a column that is in no table has no
 * embedding. Errors: TS_EINVAL. */
int32_t ts_tables_read(ts_tables *tables, const char *text, ts_err err);
/* The same text back. */
void ts_tables_write(const ts_tables *tables, ts_text *out);

/* What lookups and updates of a table of several columns work in. */
typedef struct ts_table_scratch {
  int64_t *keys;     /* of all its columns */
  uint64_t *offsets; /* of bags */
  float *rows;       /* of bags, or gradients of all keys */
} ts_table_scratch;

/* Memory for batches of so many samples; none for a table of one column without a combiner. */
void ts_table_plan_scratch(const ts_table_plan *plan, ts_table_scratch *scratch, ts_workspace *space, uint32_t batch);
/* The ids of samples 0 .. rows - 1 as bags; keys has its columns `batch` apart. */
void ts_table_make_bags(const ts_table_plan *plan, const ts_table_scratch *scratch, const int64_t *keys, uint32_t batch,
                        uint32_t rows);

#endif
