/* floor.c - the least that a step of Wide & Deep must do: the matrix products of its dense layers alone, each in oneDNN
 * or MKL, whichever is faster (dense_floor.h), and gathers and scatters of its embeddings by the store bench's floor
 * (floor.h), one table a column that holds every key of the data. No wide part, loss, activation, dense optimizer, copy, or input.
 *
 *   prepare data=<file> dims=<widths> threads=<n> bf16=0|1 mkl=<library that exports MKL; none: oneDNN alone>
 *   train steps=<n>        seconds and processor time of one step
 *   embedding steps=<n>    of gathers and scatters alone
 *   dense steps=<n>        of products alone */
#include "batches.h"
#include "dense_floor.h"
#include "dense_mkl.h"
#include "floor.h"

#include "wdl/input/planted.h"

#include <string.h>

#define DISTANCE 16u /* keys ahead */

static wdl_batches batches;
static floor_table tables[TS_CATEGORIES];
static const floor_kernels *kernels[TS_CATEGORIES];
static float *rows[TS_CATEGORIES], *gradients;
static const int64_t *keys; /* of the step */
static _Thread_local bench_distinct distinct[2]; /* narrow and wide rows */
static _Thread_local uint32_t widths[2];

static bool fill(uint32_t c, char *error) {
  const ts_cache_header *h = &batches.cache.header;
  if (h->vocabulary != TS_VOCABULARY_SYNTHETIC)
    return bench_fail(error, "Cannot fill the floor: \"%s\" is not synthetic data", batches.cache.path);
  kernels[c] = floor_kernels_for(batches.dims[c], "auto");
  if (kernels[c] == NULL) return bench_fail(error, "Cannot have a floor of rows of %u weights: 16, 64 or 128", batches.dims[c]);
  if (!floor_table_open(&tables[c], TS_MAX(h->cardinality[c], 8u), batches.dims[c], error)) return false;
  const uint64_t mask = ts_planted_key_mask(h->seed);
  for (uint64_t left = h->cardinality[c]; left > 0; left--) floor_table_add(&tables[c], ts_planted_key(mask, c, left - 1));
  rows[c] = bench_pages((uint64_t)batches.rows * batches.dims[c] * sizeof(float));
  return true;
}

static bool prepare(const bench_options *options, char *reply, char *error) {
  const uint64_t start = bench_now_ns();
  if (batches.keys != NULL) return bench_fail(error, "Cannot prepare twice");
  if (!wdl_batches_open(&batches, options, error)) return false;
  if (batches.rows != DENSE_BATCH) return bench_fail(error, "Cannot have a floor of batches of %u rows: %u", batches.rows, DENSE_BATCH);
  uint64_t count = 0;
  for (uint32_t c = 0; c < TS_CATEGORIES; c++) {
    if (!fill(c, error)) return false;
    count += batches.cache.header.cardinality[c];
  }
  const ts_err err = {error, BENCH_TEXT};
  const bool bf16 = bench_number(options, "bf16", 0) != 0;
  const ts_dnnl *dnnl;
  if (ts_dnnl_open(&dnnl, err) != TS_OK || ts_dnnl_need_primitives(dnnl, "the floor", "nothing", err) != TS_OK ||
      (bf16 && ts_dnnl_need_bf16(dnnl, err) != TS_OK))
    return false;
  const char *mkl = bench_text(options, "mkl", "");
  if (*mkl != '\0' && !dense_mkl_open(mkl, error, BENCH_TEXT)) return false;
  dense_floor_open(dnnl, batches.inputs, bf16);
  const uint32_t theirs = dense_floor_mkl();
  snprintf(reply, BENCH_TEXT, "seconds=%.3f rows=%llu inputs=%u kernels=%s onednn=%d.%d.%d products=oneDNN:%u,MKL:%u%s",
           (double)(bench_now_ns() - start) * 1e-9, (unsigned long long)count, batches.inputs, kernels[0]->name, dnnl->major,
           dnnl->minor, dnnl->patch, DENSE_PRODUCTS - theirs, theirs, *mkl == '\0' ? ",not-asked" : "");
  gradients = wdl_gradients(&batches); /* from here on it can be measured */
  return true;
}

static void gather(void *context, uint32_t c) {
  (void)context;
  kernels[c]->lookup(&tables[c], keys + (uint64_t)c * batches.rows, batches.rows, DISTANCE, rows[c]);
}

static void scatter(void *context, uint32_t c) {
  (void)context;
  uint32_t which = 0;
  while (which < 1 && widths[which] != 0 && widths[which] != batches.dims[c]) which++;
  bench_distinct *d = &distinct[which];
  if (widths[which] != batches.dims[c]) bench_distinct_open_for(d, batches.rows, widths[which] = batches.dims[c]);
  bench_distinct_find(d, keys + (uint64_t)c * batches.rows, batches.rows, gradients);
  kernels[c]->update(&tables[c], d->keys, d->count, DISTANCE, d->gradients);
}

static bool train(uint64_t number, char *error) {
  (void)error;
  keys = wdl_batch_keys(&batches, number, 0);
  ts_pool_run(batches.pool, TS_CATEGORIES, gather, NULL);
  dense_floor_step(batches.pool);
  ts_pool_run(batches.pool, TS_CATEGORIES, scatter, NULL);
  return true;
}

static bool embedding(uint64_t number, char *error) {
  (void)error;
  keys = wdl_batch_keys(&batches, number, 0);
  ts_pool_run(batches.pool, TS_CATEGORIES, gather, NULL);
  ts_pool_run(batches.pool, TS_CATEGORIES, scatter, NULL);
  return true;
}

static bool dense(uint64_t number, char *error) {
  (void)number, (void)error;
  dense_floor_step(batches.pool);
  return true;
}

bool bench_obey(const char *verb, const bench_options *options, char *reply, char *error) {
  if (strcmp(verb, "prepare") == 0) return prepare(options, reply, error);
  if (gradients == NULL) return bench_fail(error, "Cannot do \"%s\" before prepare", verb);
  if (strcmp(verb, "train") == 0) return wdl_measure(options, train, reply, error);
  if (strcmp(verb, "embedding") == 0) return wdl_measure(options, embedding, reply, error);
  if (strcmp(verb, "dense") == 0) return wdl_measure(options, dense, reply, error);
  return bench_fail(error, "Cannot do \"%s\"", verb);
}
