/* tools.c - clocks, memory, options and the distinct keys of a batch. */
#include "contender.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>

bool bench_fail(char *error, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(error, BENCH_TEXT, format, arguments);
  va_end(arguments);
  return false;
}

const char *bench_text(const bench_options *options, const char *name, const char *fallback) {
  size_t length = strlen(name);
  for (unsigned i = 0; i < options->count; i++)
    if (strncmp(options->words[i], name, length) == 0 && options->words[i][length] == '=')
      return options->words[i] + length + 1;
  return fallback;
}

uint64_t bench_number(const bench_options *options, const char *name, uint64_t fallback) {
  const char *text = bench_text(options, name, NULL);
  return text == NULL ? fallback : strtoull(text, NULL, 10);
}

uint64_t bench_now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

uint64_t bench_cpu_ns(void) {
  struct rusage r;
  getrusage(RUSAGE_SELF, &r);
  return (uint64_t)(r.ru_utime.tv_sec + r.ru_stime.tv_sec) * 1000000000u +
         (uint64_t)(r.ru_utime.tv_usec + r.ru_stime.tv_usec) * 1000u;
}

void *bench_pages(uint64_t bytes) {
  const uint64_t huge = 2u << 20;
  bytes = (bytes + huge - 1) / huge * huge;
  char *at = mmap(NULL, bytes + huge, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (at == MAP_FAILED) {
    fprintf(stderr, "Cannot get %llu bytes\n", (unsigned long long)bytes);
    exit(1);
  }
  at += (huge - (uintptr_t)at % huge) % huge;
  madvise(at, bytes, MADV_HUGEPAGE);
  return at;
}

/* Open addressing with 16 bits of hash beside the 16-bit number of the distinct key: four bytes an entry, two entries or
 * more a key, so it stays in the second-level cache, and other keys' entries are passed without looking at the keys. */
#define EMPTY 0xffffffffu
_Static_assert(BENCH_BATCH < 65535, "numbers of distinct keys are 16 bits, the last means empty");

void bench_distinct_open_for(bench_distinct *d, uint32_t keys, uint32_t dim) {
  d->dim = dim;
  for (d->table_bits = 1; 1u << d->table_bits < 2 * keys;) d->table_bits++;
  d->table = (uint32_t *)bench_pages(sizeof(uint32_t) << d->table_bits);
  d->keys = (int64_t *)bench_pages(keys * sizeof(int64_t));
  d->gradients = (const float **)bench_pages(keys * sizeof(float *));
  d->sum_of = (uint32_t *)bench_pages(keys * sizeof(uint32_t));
  d->sums = (float *)bench_pages((uint64_t)keys * dim * sizeof(float));
}

void bench_distinct_open(bench_distinct *d) { bench_distinct_open_for(d, BENCH_BATCH, BENCH_DIM); }

/* Compiled for each width, so that sums are straight vector code. */
static inline __attribute__((always_inline)) void find_distinct(bench_distinct *d, const int64_t *keys, uint32_t n,
                                                                const float *gradients, const uint32_t dim) {
  uint32_t *restrict table = d->table;
  const uint32_t bits = d->table_bits;
  uint32_t count = 0, sums = 0;
  memset(table, 0xff, sizeof(uint32_t) << bits);
  for (uint32_t i = 0; i < n; i++) {
    uint64_t hash = (uint64_t)keys[i] * 0x9e3779b97f4a7c15u;
    uint32_t at = (uint32_t)(hash >> (64 - bits)), tag = (uint32_t)(hash >> 16) & 0xffff0000u;
    const float *g = gradients == NULL ? NULL : gradients + (uint64_t)i * dim;
    for (;; at = (at + 1) & ((1u << bits) - 1)) {
      uint32_t entry = table[at];
      if (entry == EMPTY) {
        table[at] = tag | count;
        d->keys[count] = keys[i];
        d->gradients[count] = g;
        d->sum_of[count++] = EMPTY;
        break;
      }
      uint32_t number = entry & 0xffffu;
      if ((entry & 0xffff0000u) != tag || d->keys[number] != keys[i]) continue;
      if (g == NULL) break;
      float *restrict sum = d->sums + (uint64_t)d->sum_of[number] * dim;
      if (d->sum_of[number] == EMPTY) {
        d->sum_of[number] = sums;
        sum = d->sums + (uint64_t)sums++ * dim;
        memcpy(sum, d->gradients[number], dim * sizeof(float));
        d->gradients[number] = sum;
      }
      for (unsigned j = 0; j < dim; j++) sum[j] += g[j];
      break;
    }
  }
  d->count = count;
}

void bench_distinct_find(bench_distinct *d, const int64_t *keys, uint32_t n, const float *gradients) {
  if (d->dim == 16) find_distinct(d, keys, n, gradients, 16);
  else if (d->dim == 64) find_distinct(d, keys, n, gradients, 64);
  else find_distinct(d, keys, n, gradients, d->dim);
}
