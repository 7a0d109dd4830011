/* criteo_field.h - what one field of Criteo text means, and what can be wrong with a line. These functions define the
 * form; the vector kernels of criteo_parse.c only do its usual cases faster.
 *
 * Label: a number that is 0 or 1. Numerics: whole or decimal numbers (3, 3.0, -1, 2.5e3) that a 32-bit float holds; an
 * empty one counts as 0, as the model sees it. Categories: 1 to 16 hexadecimal digits, the number is the key; an empty
 * one is a value of its own, TS_MISSING_KEY. */
#ifndef TS_INPUT_CRITEO_FIELD_H
#define TS_INPUT_CRITEO_FIELD_H

#include "wdl/input/cache_format.h"

#define TS_CRITEO_FIELDS (1u + TS_NUMERICS + TS_CATEGORIES)
#define TS_MISSING_KEY INT64_C(-1)
/* Longest line: a Criteo row takes a few hundred bytes. */
#define TS_LINE_BYTES (64u << 10)

/* Kinds of faults: a name for counts, and what a message says. %s is the column. An X-macro: cache headers count each
 * kind in this order, so new ones go to the end. */
#define TS_FAULT_KINDS(X)                                                        \
  X(COLUMNS, columns, "the number of columns is wrong")                          \
  X(LABEL, label, "the label must be 0 or 1")                                    \
  X(NUMBER, number, "column %s must be a number or empty")                       \
  X(NUMBER_RANGE, number_range, "column %s is beyond what a 32-bit float holds") \
  X(KEY, key, "column %s must be up to 16 hexadecimal digits or empty")          \
  X(KEY_RANGE, key_range, "column %s has more than 16 hexadecimal digits")       \
  X(QUOTE, quote, "a quoted field must end with a quote")                        \
  X(EMPTY, empty, "the line is empty and not the last one")                      \
  X(LONG, long, "the line is longer than 65536 bytes; this is no Criteo text")   \
  X(NUL, nul, "the line holds a NUL byte; this is no text")

enum {
#define TS_FAULT_ENUM(NAME, name, text) TS_FAULT_##NAME,
  TS_FAULT_KINDS(TS_FAULT_ENUM)
#undef TS_FAULT_ENUM
      TS_FAULTS,
  TS_FAULT_NONE = TS_FAULTS
};

_Static_assert(TS_FAULTS <= TS_CACHE_FAULTS, "a cache header counts every kind of fault");

/* Fields are text[0..n), not NUL-terminated. Each returns TS_FAULT_NONE or what is wrong. */
uint32_t ts_criteo_label(const char *text, uint32_t n, float *out);
uint32_t ts_criteo_number(const char *text, uint32_t n, double *out);
uint32_t ts_criteo_key(const char *text, uint32_t n, int64_t *out);

/* "label", "I1", "C26": field is 0 label, 1..13 numerics, 14..39 categories. */
void ts_criteo_field_name(int field, char *out, size_t cap);
const char *ts_fault_name(uint32_t kind);
/* What is wrong, without place and without what was found. */
void ts_fault_text(uint32_t kind, int field, char *out, size_t cap);
/* A short, printable piece of what was found: a broken line may hold anything. */
void ts_found_text(const char *text, uint64_t n, char *out, size_t cap);

#endif
