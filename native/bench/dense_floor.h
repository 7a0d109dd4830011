/* dense_floor.h - the least that the dense layers of Wide & Deep must do: their matrix products. One at a time. */
#ifndef BENCH_DENSE_FLOOR_H
#define BENCH_DENSE_FLOOR_H

#include "wdl/dense/dnnl.h"

#include <time.h>

#define DENSE_BATCH 2048u
#define DENSE_LAYERS 3u
extern const uint32_t dense_hidden[DENSE_LAYERS];

/* Ends the process with a message: nothing can be measured. */
void dense_stop(const char *what);
/* Memory with small numbers in it, which are numbers in BF16 too. */
char *dense_take(uint64_t bytes);
uint64_t dense_processor_ns(clockid_t clock);

#define DENSE_PRODUCTS (3u * DENSE_LAYERS)

/* Finds the fastest form of every product over `in` inputs: oneDNN's, or MKL's where dense_mkl_open() found it. */
void dense_floor_open(const ts_dnnl *dnnl, uint32_t in, bool bf16);
/* How many of the DENSE_PRODUCTS are MKL's. */
uint32_t dense_floor_mkl(void);
void dense_floor_close(void);
/* Products of forward, backward and weight gradients of a batch. */
void dense_floor_step(ts_pool *pool);

#endif
