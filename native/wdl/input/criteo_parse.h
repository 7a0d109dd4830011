/* criteo_parse.h - a block of Criteo text as columns.
 *
 * First pass: a bitmap of separators and line ends for 64 bytes at a time, turned into a list of positions. Second
 * pass: lines with the right number of columns are taken up to 64 at a time, column by column; a field's last eight
 * bytes are loaded as one word, and eight (AVX-512) or four (AVX2) words become keys or whole numbers in vectors. What
 * these kernels do not know (decimals, ids beyond eight digits, anything wrong) goes to the functions of criteo_field.h
 * field by field; lines with quotes, NUL bytes or another number of columns go to a plain parser line by line. So all
 * kernels give the same rows and the same faults. */
#ifndef TS_INPUT_CRITEO_PARSE_H
#define TS_INPUT_CRITEO_PARSE_H

#include "wdl/input/criteo_layout.h"

/* Bytes that must be readable before and after the text of a block; what they hold does not matter. */
#define TS_PARSE_MARGIN 64u
/* Most bytes of a block. */
#define TS_BLOCK_BYTES (256u << 10)
/* A line of 40 columns has 39 separators and its end, and vectors write up to eight rows beyond the last. */
#define TS_BLOCK_ROWS (TS_BLOCK_BYTES / 40u + 8u)
/* Bytes that the two passes take at a time: few enough for the first-level cache, separators included. */
#define TS_SCAN_BYTES (16u << 10)

/* A line that is no row. */
typedef struct ts_criteo_fault {
  uint32_t line;  /* in the block, from 0 */
  uint32_t rows;  /* of the block before it */
  uint32_t kind;  /* TS_FAULT_* */
  int32_t field;  /* of faults of fields, else -1 */
  uint32_t found; /* columns, for TS_FAULT_COLUMNS */
  char text[44];  /* what was found, printable; "" for faults of whole lines */
} ts_criteo_fault;

/* Everything that a block becomes. Columns are TS_BLOCK_ROWS apart. */
typedef struct ts_criteo_block {
  uint32_t rows, lines;
  float labels[TS_BLOCK_ROWS];
  float numerics[TS_NUMERICS][TS_BLOCK_ROWS];
  int64_t keys[TS_CATEGORIES][TS_BLOCK_ROWS];
  ts_criteo_fault *faults; /* in the order of the lines */
  uint32_t fault_count, fault_capacity;
  /* Inside: where the separators are. */
  uint32_t at[TS_BLOCK_BYTES + 80u], line_ends[TS_SCAN_BYTES];
} ts_criteo_block;

/* What is wrong with a line, without its place. */
void ts_criteo_fault_text(const ts_criteo_fault *fault, const ts_criteo_layout *layout, char *out, size_t cap);

/* Frees what a block points to, not the block. A zeroed block is ready for use. */
void ts_criteo_block_free(ts_criteo_block *block);

/* Parses text[0..n), n <= TS_BLOCK_BYTES, whole lines (each ends in \n), by the kernels of `level`. With keep_on false
 * it stops at the first line that is no row; empty lines are told in the faults and never stop it. False: no memory for
 * the faults. */
bool ts_criteo_parse(uint32_t level, const ts_criteo_layout *layout, const ts_numerics *numerics, const char *text,
                     uint32_t n, bool keep_on, ts_criteo_block *out);

#endif
