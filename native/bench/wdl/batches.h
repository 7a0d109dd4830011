/* batches.h - the batches that a trainer takes from a cache file, in its order, kept in memory: contenders that are not the
 * trainer get the same ones and read no file in a measured round. */
#ifndef BENCH_WDL_BATCHES_H
#define BENCH_WDL_BATCHES_H

#include "contender.h"
#include "wdl/input/cache_format.h"

typedef struct wdl_batches {
  ts_cache cache;
  uint32_t count, rows; /* batches; rows of each */
  int64_t *keys;        /* [batch][column][row] */
  uint32_t dims[TS_CATEGORIES], inputs; /* widths of embeddings; of the dense layers' input: them and the numerics */
  uint32_t threads;
  ts_pool *pool;
} wdl_batches;

/* Options: data=<cache file> batches=<n> batch=<rows> seed=<n> threads=<n> dims=<one width, or 26 separated by commas>. */
bool wdl_batches_open(wdl_batches *b, const bench_options *options, char *error);
const int64_t *wdl_batch_keys(const wdl_batches *b, uint64_t batch, uint32_t column);

/* Gradients of one table's batch, small numbers, for updates that no network precedes. */
float *wdl_gradients(const wdl_batches *b);

/* Runs one unmeasured step and `steps` measured ones; prints seconds and processor time of one. */
bool wdl_measure(const bench_options *options, bool (*step)(uint64_t number, char *error), char *reply, char *error);

#endif
