/* parse.c - how fast Criteo text in memory becomes columns on one core: MB (10^6 bytes) of text a second, for each
 * level of kernels and each choice of numerics. Run it under real-time priority on one CPU for a quiet figure:
 *
 *   make -C native/bench parse && chrt -f 50 taskset -c 1 native/build/bench/parse [rounds] [file]
 *
 * Without a file the text is made here, in the shape of Criteo Kaggle: its shares of missing values and sizes of
 * counts, ids of eight hexadecimal digits, one in forty missing. Rounds of all variants are interleaved. */
#include "base/cpu_level.h"
#include "wdl/input/criteo_parse.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_BYTES (64u << 20)
#define MOST_ROUNDS 1000u

static char *make_text(size_t *n) {
  static const double missing[TS_NUMERICS] = {.45, 0, .22, .21, .05, .25, .05, 0, .05, .45, .05, .78, .21};
  static const double mean[TS_NUMERICS] = {.82, 2.22, 2.21, 1.73, 7.25, 3.62, 1.53, 2.06, 3.63, .37, .84, .32, 1.92};
  static const double spread[TS_NUMERICS] = {1.01, 2.12, 1.29, .98, 2.83, 1.82, 1.34, 1.20, 1.69, .39, .71, .63, 1.08};
  char *text = malloc(TEXT_BYTES + 1024), *at = text;
  if (text == NULL) exit(1);
  for (uint64_t row = 0; at < text + TEXT_BYTES; row++) {
    at += sprintf(at, "%u", ts_unit(ts_random64(1, 99, row)) < 0.25);
    for (uint32_t j = 0; j < TS_NUMERICS; j++) {
      *at++ = '\t';
      if (ts_unit(ts_random64(1, j, row)) < missing[j]) continue;
      double log = mean[j] + spread[j] * ts_det_normal(ts_random64(2, j, row), ts_random64(3, j, row));
      long count = (long)(ts_det_exp(log < 15 ? log : 15) - 0.5) - (j == 1 ? 2 : 0);
      at += sprintf(at, "%ld", count);
    }
    for (uint32_t c = 0; c < TS_CATEGORIES; c++) {
      uint64_t word = ts_random64(4, c, row);
      *at++ = '\t';
      if (word % 40 != 0) at += sprintf(at, "%08x", (unsigned)(word >> 32));
    }
    *at++ = '\n';
  }
  *n = (size_t)(at - text);
  return text;
}

static char *read_text(const char *path, size_t *n) {
  FILE *f = fopen(path, "rb");
  char *text = malloc(TEXT_BYTES);
  if (f == NULL || text == NULL) {
    fprintf(stderr, "Cannot read \"%s\"\n", path);
    exit(1);
  }
  *n = fread(text, 1, TEXT_BYTES, f);
  fclose(f);
  return text;
}

static int by_value(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

int main(int count, char **words) {
  uint32_t rounds = count > 1 ? (uint32_t)atoi(words[1]) : 15;
  if (rounds < 1 || rounds > MOST_ROUNDS) {
    fprintf(stderr, "Cannot measure: rounds from 1 to %u are possible\n", MOST_ROUNDS);
    return 2;
  }
  size_t n;
  char *from = count > 2 ? read_text(words[2], &n) : make_text(&n);
  /* A margin around the text, as a reader's blocks have. */
  char *text = calloc(1, n + 2 * TS_PARSE_MARGIN);
  ts_criteo_block *block = calloc(1, sizeof *block);
  ts_numerics *numerics = malloc(TS_NUMERICS_KINDS * sizeof *numerics);
  if (text == NULL || block == NULL || numerics == NULL) return 1;
  memcpy(text += TS_PARSE_MARGIN, from, n);
  char message[512];
  ts_criteo_layout layout;
  uint64_t header;
  if (ts_criteo_layout_find(text, TS_MIN(n, TS_BLOCK_BYTES), TS_CRITEO_AUTO, "text", &layout, &header,
                            (ts_err){message, sizeof message}) != TS_OK) {
    fprintf(stderr, "%s\n", message);
    return 1;
  }
  text += header;
  n -= header;
  static double rate[TS_LEVELS][TS_NUMERICS_KINDS][MOST_ROUNDS];
  uint32_t levels = ts_cpu_level() + 1;
  uint64_t rows = 0, faults = 0;
  for (uint32_t kind = 0; kind < TS_NUMERICS_KINDS; kind++) ts_numerics_prepare(kind, &numerics[kind]);
  for (uint32_t round = 0; round < rounds; round++)
    for (uint32_t level = 0; level < levels; level++)
      for (uint32_t kind = 0; kind < TS_NUMERICS_KINDS; kind++) {
        uint64_t start = ts_now_ns();
        size_t at = 0;
        rows = faults = 0;
        while (at < n) {
          size_t size = TS_MIN(n - at, TS_BLOCK_BYTES);
          const char *last = memrchr(text + at, '\n', size);
          if (last == NULL) break;
          size = (size_t)(last + 1 - (text + at));
          if (!ts_criteo_parse(level, &layout, &numerics[kind], text + at, (uint32_t)size, true, block)) return 1;
          rows += block->rows;
          faults += block->fault_count;
          at += size;
        }
        rate[level][kind][round] = (double)at / ((double)(ts_now_ns() - start) * 1e-3);
      }
  static const char *const names[TS_LEVELS] = {"baseline", "avx2", "avx512"};
  printf("%zu bytes, %llu rows, %llu lines that are no rows, %u rounds; MB/s: median (least to most)\n", n,
         (unsigned long long)rows, (unsigned long long)faults, rounds);
  for (uint32_t level = 0; level < levels; level++)
    for (uint32_t kind = 0; kind < TS_NUMERICS_KINDS; kind++) {
      double *r = rate[level][kind];
      qsort(r, rounds, sizeof *r, by_value);
      printf("%-8s %-7s %7.0f (%.0f to %.0f)\n", names[level], ts_numerics_names[kind], r[rounds / 2], r[0],
             r[rounds - 1]);
    }
  ts_criteo_block_free(block);
  free(block);
  free(numerics);
  free(from);
  return 0;
}
