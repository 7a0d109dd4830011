/* criteo_line.h - one line of Criteo text as label, numerics and keys.
 *
 * Two forms: tab-separated without header (Kaggle and Terabyte: label, I1..I13, C1..C26) and comma-separated, with a
 * header in any order (Label or label, I1.., C1.., with or without Id) or without one in the order above. A header may
 * stand over tabs too. Fields may be quoted. Numerics are whole or decimal (3 or 3.0); empty ones count as 0, as the
 * model sees them. Categories are up to 16 hexadecimal digits: the number is the key; an empty one is a value of its
 * own, TS_MISSING_KEY. */
#ifndef TS_INPUT_CRITEO_LINE_H
#define TS_INPUT_CRITEO_LINE_H

#include "wdl/input/cache_format.h"

#define TS_CRITEO_FIELDS (1u + TS_NUMERICS + TS_CATEGORIES)
#define TS_CRITEO_COLUMNS 64u /* most columns of a file, ours and others */
#define TS_MISSING_KEY INT64_C(-1)
#define TS_TRANSFORM_TABLE 65536u

typedef struct ts_criteo_row {
  float label, numerics[TS_NUMERICS];
  int64_t keys[TS_CATEGORIES];
} ts_criteo_row;

/* How the columns of a file map to ours: field[i] is 0 label, 1..13 numerics, 14..39 categories, or -1 ignored. */
typedef struct ts_criteo_layout {
  char separator;
  uint32_t columns;
  int8_t field[TS_CRITEO_COLUMNS];
  float transform[TS_TRANSFORM_TABLE]; /* of the small whole numbers */
} ts_criteo_layout;

/* Where a line comes from, for messages. */
typedef struct ts_criteo_place {
  const char *path;
  uint64_t line;
} ts_criteo_place;

enum { TS_CRITEO_AUTO, TS_CRITEO_TSV, TS_CRITEO_CSV };

/* Finds the layout by the first line; *header says whether that line is a header. The line is changed.
 * Errors: TS_EFORMAT (unknown, double or missing columns). */
int32_t ts_criteo_layout_find(char *first_line, uint32_t format, ts_criteo_place place, ts_criteo_layout *out,
                              bool *header, ts_err err);

/* Parses a line, which it changes. Errors: TS_EFORMAT naming file, line, column and what was found. */
int32_t ts_criteo_parse(const ts_criteo_layout *layout, char *line, ts_criteo_place place, ts_criteo_row *out,
                        ts_err err);

#endif
