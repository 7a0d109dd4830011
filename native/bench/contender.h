/* contender.h - what the store's bench asks of a contender: the floor, our store, or another map or database. Each is
 * a process of its own (so that resident memory and huge pages are its own), driven over pipes by the harness: the
 * contender implements the functions below, commands.c has main(). All contenders get the same batches from one workload
 * file, hold rows of 16 weights and 16 Adagrad accumulators, and do the same arithmetic, so that a digest over what they
 * look up must be equal to the last bit. */
#ifndef BENCH_CONTENDER_H
#define BENCH_CONTENDER_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef BENCH_DIM /* the floor's loops are compiled for other widths too */
#define BENCH_DIM 16u
#endif
#define BENCH_ROW_FLOATS (2 * BENCH_DIM) /* weights, then accumulators */
#define BENCH_ROW_BYTES (4 * BENCH_ROW_FLOATS)
#define BENCH_BATCH 53248u /* 2048 samples x 26 columns */
#define BENCH_THREADS 2u
#define BENCH_FIRST_WEIGHT 0.05f
#define BENCH_FIRST_ACCUMULATOR 0.1f
#define BENCH_LEARNING_RATE 0.01f
#define BENCH_TEXT 4096

/* "name=value" words of a command line. */
typedef struct bench_options {
  char *words[64];
  unsigned count;
} bench_options;

/* The value of an option, or the fallback. */
const char *bench_text(const bench_options *options, const char *name, const char *fallback);
uint64_t bench_number(const bench_options *options, const char *name, uint64_t fallback);

/* Writes the message of a failure and returns false, so that a failure is one statement. */
bool bench_fail(char *error, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* ---- what a contender implements; `error` has BENCH_TEXT bytes; false is failure ---- */

/* Does one command and prints "name=value" words to `reply`. The store bench's contenders have it from harness.c, which
 * calls the functions below; commands.c has main(). */
bool bench_obey(const char *verb, const bench_options *options, char *reply, char *error);

/* Opens an empty table that will hold `keys` rows. */
bool contender_open(const bench_options *options, uint64_t keys, char *error);
/* Creates rows of n keys, all different and new, with the first weight and accumulator. One thread. */
bool contender_create(const int64_t *keys, uint32_t n, char *error);
/* After all rows were created; before any lookup. */
bool contender_ready(const bench_options *options, char *error);
/* Copies the weights of every key, duplicates included, to out[i * BENCH_DIM ..). */
bool contender_lookup(unsigned thread, const int64_t *keys, uint32_t n, float *out, char *error);
/* One Adagrad step a distinct key; gradients of equal keys are summed in the order of the batch. */
bool contender_update(unsigned thread, const int64_t *keys, uint32_t n, const float *gradients, char *error);
/* Any other command; prints one line of "name=value" words to `reply`. */
bool contender_command(const char *verb, const bench_options *options, char *reply, char *error);

/* ---- what the harness has for them ---- */

/* The id of the r-th most frequent key of the workload. */
int64_t bench_id(uint64_t rank);
/* Room for the rows of a batch while no round runs; it is there before memory is measured. */
float *bench_scratch(void);
uint64_t bench_now_ns(void);
/* CPU time of this process, all its threads, the kernel's part included. */
uint64_t bench_cpu_ns(void);
/* A 64-bit mixer, for shards and random draws. */
static inline uint64_t bench_mix(uint64_t x) {
  x = (x ^ (x >> 32)) * 0xd6e8feb86659fd93u;
  x = (x ^ (x >> 32)) * 0xd6e8feb86659fd93u;
  return x ^ (x >> 32);
}

/* Zeroed memory in huge pages where the kernel grants them; ends the process when there is none. */
void *bench_pages(uint64_t bytes);

/* Shared by the floor and the peers: the distinct keys of a batch in order of appearance, each with its gradient, which
 * stands in the batch where the key comes once and is a sum otherwise. */
typedef struct bench_distinct {
  uint32_t count;
  int64_t *keys;
  const float **gradients;
  /* the work space */
  uint32_t dim, table_bits;
  uint32_t *table;
  uint32_t *sum_of;
  float *sums;
} bench_distinct;
void bench_distinct_open(bench_distinct *d);
/* For batches of at most `keys` (below 65535), gradients of `dim` numbers: 16, 64 or 128. */
void bench_distinct_open_for(bench_distinct *d, uint32_t keys, uint32_t dim);
/* gradients may be NULL: keys only. */
void bench_distinct_find(bench_distinct *d, const int64_t *keys, uint32_t n, const float *gradients);

/* a <- a + g^2; w <- w - lr g / sqrt(a): the store's formula, in its order of operations. */
static inline __attribute__((always_inline)) void bench_adagrad(float *__restrict row,
                                                                        const float *__restrict g) {
  float *__restrict sums = row + BENCH_DIM;
  for (unsigned j = 0; j < BENCH_DIM; j++) {
    float a = sums[j] + g[j] * g[j];
    sums[j] = a;
    row[j] -= BENCH_LEARNING_RATE * g[j] / __builtin_sqrtf(a);
  }
}

#ifdef __cplusplus
}
#endif

#endif
