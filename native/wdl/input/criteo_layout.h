/* criteo_layout.h - which column of a Criteo text is which field.
 *
 * Two forms: tab-separated without header (Kaggle and Terabyte: label, I1..I13, C1..C26) and comma-separated, with a
 * header in any order (Label or label, I1.., C1.., with or without Id) or without one in the order above. A header may
 * stand over tabs too. Fields may be quoted. Lines end in \n or \r\n. */
#ifndef TS_INPUT_CRITEO_LAYOUT_H
#define TS_INPUT_CRITEO_LAYOUT_H

#include "wdl/input/criteo_field.h"

#define TS_CRITEO_COLUMNS 64u /* most columns of a file, ours and others */

/* field[i] is 0 label, 1..13 numerics, 14..39 categories, or -1 ignored. */
typedef struct ts_criteo_layout {
  char separator;
  uint32_t columns;
  int8_t field[TS_CRITEO_COLUMNS];
} ts_criteo_layout;

/* One field of a line: its text without quotes. */
typedef struct ts_criteo_cell {
  const char *text;
  uint32_t n;
} ts_criteo_cell;

enum { TS_CRITEO_AUTO, TS_CRITEO_TSV, TS_CRITEO_CSV };

/* Cuts the line text[0..n) into cells, at most TS_CRITEO_COLUMNS of them; *columns counts all. False: a quoted field
 * does not end before a separator; the last cell is the one. */
bool ts_criteo_cut(char separator, const char *text, uint32_t n, ts_criteo_cell *cells, uint32_t *columns);

/* Finds the layout by the beginning of a file, whole lines in text[0..n), whose first line with anything on it is
 * number `line`. *header is the number of bytes of the header and of what is before it, 0 if there is none. Errors:
 * TS_EFORMAT (unknown, double or missing columns, another form than `format`). */
int32_t ts_criteo_layout_find(const char *text, uint64_t n, uint32_t format, const char *path, ts_criteo_layout *out,
                              uint64_t *header, ts_err err);

#endif
