/* criteo_kernels.h - the vector parts of criteo_parse.c: one set a level of CPU, all with the same results. */
#ifndef TS_INPUT_CRITEO_KERNELS_H
#define TS_INPUT_CRITEO_KERNELS_H

#include "base/cpu_level.h"

#include <stdbool.h>
#include <stdint.h>

#define TS_PARSE_RUN 64u /* fields that the kernels take at a time */

/* What a scan found. */
typedef struct ts_criteo_scan {
  uint32_t *at;        /* positions of separators and line ends */
  uint32_t count;      /* of them, those before the scan included */
  uint32_t *line_ends; /* indexes into `at` of the line ends */
  uint32_t lines;
  bool special; /* a quote or a NUL byte is there */
} ts_criteo_scan;

typedef struct ts_criteo_kernels {
  /* Adds what is in text[from..to), from a multiple of 64; reads whole groups of 64 bytes, writes up to 64 beyond
   * count. */
  void (*scan)(const char *text, uint32_t from, uint32_t to, char separator, ts_criteo_scan *scan);
  /* Fields by their last eight bytes (word, first character lowest) and length, n of them, n <= TS_PARSE_RUN, followed
   * by fields of length 0 up to a multiple of eight. Keys and whole numbers; an empty key is -1, an empty number 0. The
   * result is a bitmap of the fields that are something else: keys beyond eight digits, numbers beyond eight characters
   * or not whole, anything broken; their results mean nothing. */
  uint64_t (*keys)(const uint64_t *word, const uint32_t *length, uint32_t n, int64_t *out);
  uint64_t (*integers)(const uint64_t *word, const uint32_t *length, uint32_t n, int32_t *out);
} ts_criteo_kernels;

extern const ts_criteo_kernels ts_criteo_kernels_baseline;
#if defined(__x86_64__)
extern const ts_criteo_kernels ts_criteo_kernels_avx2, ts_criteo_kernels_avx512;
#endif

#endif
