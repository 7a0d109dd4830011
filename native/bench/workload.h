/* workload.h - the key streams of the bench: made once by the program `workload`, then mapped by every contender, so
 * that all see the same batches and nobody draws random numbers in a measured round. */
#ifndef BENCH_WORKLOAD_H
#define BENCH_WORKLOAD_H

#include "contender.h"

#define BENCH_MAGIC 0x31786863746162u
#define BENCH_DISTRIBUTIONS 4u

typedef struct workload {
  uint64_t magic, keys, batches; /* batches a distribution and thread */
  int64_t stream[];              /* [distribution][thread][batch][BENCH_BATCH] */
} workload;

extern const char *const workload_names[BENCH_DISTRIBUTIONS];

/* Writes the file. */
bool workload_write(const char *path, uint64_t keys, uint64_t batches, char *error);
/* Maps it. */
bool workload_map(const char *path, const workload **out, char *error);
const int64_t *workload_batch(const workload *w, unsigned distribution, unsigned thread, uint64_t batch);

#endif
