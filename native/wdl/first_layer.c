/* first_layer.c - whether the first layer multiplies each distinct row of a batch once, or sample by sample.
 *
 * It depends on the options and the data alone, so that a trainer that goes on from a checkpoint chooses the same. */
#include "ranks/fold.h"
#include "wdl/common/batch_order.h"
#include "wdl/options.h"

#include <stdlib.h>

#define LOOKED_AT 2u /* batches */

/* Adding a sample's row of P and its gradient up takes as long as the products of so many weights of a row: measured as 7 in FP32
 * and 17 in BF16, whose products take half the time (docs/performance-lessons.md). */
static uint64_t sums_as_weights(const ts_trainer_options *o) { return o->bf16 == TS_BF16_DENSE || o->bf16 == TS_BF16_ALL ? 18 : 8; }

/* What stands against distinct rows, or NULL. */
static const char *obstacle(const ts_trainer_options *o) {
  if (o->model != TS_WDL) return "model is not wdl";
  if (o->apart > 0) return "ranks add up over samples";
  if (o->micro_batch > 1) return "micro_batch cuts the batch";
  for (uint32_t i = 0; i < o->tables.count; i++) {
    const ts_table_plan *plan = &o->tables.plans[i];
    if (ts_table_is_bag(plan)) return "a table has bags";
    if (plan->count > 1) return "columns share a table";
    if (plan->dim % TS_LANES != 0) return "widths of rows are not multiples of 16";
  }
  return NULL;
}

/* Distinct keys of a column in one batch. */
static int32_t count_distinct(const ts_trainer_options *o, const ts_cache *data, uint32_t column, uint64_t step, int64_t *keys,
                              ts_fold *fold, ts_err err) {
  const uint64_t first = ts_batch_start(o->seed, data->header.rows, o->batch, step);
  const int32_t status = ts_cache_read_column(data, column, first, o->batch, keys, err);
  ts_fold_begin(fold);
  for (uint32_t r = 0; r < o->batch && status == TS_OK; r++) ts_fold_add(fold, keys[r]);
  return status;
}

static int32_t measure(const ts_trainer_options *o, const ts_cache *data, bool *worth, ts_err err) {
  int64_t *keys = malloc(o->batch * sizeof *keys);
  if (keys == NULL) return ts_fail(err, TS_ENOMEM, "Cannot open trainer: out of memory");
  ts_fold fold;
  int32_t status = ts_fold_open(&fold, o->batch, err);
  uint64_t by_samples = 0, by_rows = 0;
  for (uint32_t i = 0; i < o->tables.count && status == TS_OK; i++)
    for (uint64_t step = 0; step < LOOKED_AT && status == TS_OK; step++) {
      const uint64_t dim = o->tables.plans[i].dim;
      status = count_distinct(o, data, o->tables.plans[i].columns[0], step, keys, &fold, err);
      by_samples += o->batch * dim;
      by_rows += fold.count * dim + o->batch * sums_as_weights(o);
    }
  *worth = by_rows < by_samples;
  ts_fold_close(&fold);
  free(keys);
  return status;
}

int32_t ts_trainer_choose_first_layer(ts_trainer_options *o, const ts_cache *data, ts_err err) {
  const char *const against = obstacle(o);
  if (against != NULL && o->first_layer == TS_FIRST_DISTINCT)
    return ts_fail(err, TS_EINVAL, "Cannot open trainer: first_layer \"distinct\" is not possible: %s", against);
  if (against != NULL) o->first_layer = TS_FIRST_SAMPLES;
  if (o->first_layer != TS_FIRST_AUTO) return TS_OK;
  bool worth = false;
  const int32_t status = measure(o, data, &worth, err);
  o->first_layer = worth ? TS_FIRST_DISTINCT : TS_FIRST_SAMPLES;
  return status;
}
