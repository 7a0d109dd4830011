/* stale.c - asynchronous embedding: which share of a batch's rows the step before it changed after they were read.
 *
 * A step only notes its number; whoever asks reads the batches of some of those steps and of the ones after them again. So
 * the figure takes time from no step. */
#include "wdl/common/batch_order.h"
#include "wdl/input/criteo_field.h"
#include "wdl/trainer.h"

#include <stdlib.h>
#include <string.h>

static int by_number(const void *a, const void *b) {
  const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return x < y ? -1 : x > y;
}

static bool read_keys(const ts_trainer *t, uint64_t step, int64_t *keys) {
  const uint32_t batch = t->options.batch;
  const uint64_t first = ts_batch_start(t->options.seed, t->data.header.rows, batch, step);
  return ts_cache_read(&t->data, first, batch, batch, NULL, NULL, keys, (ts_err){NULL, 0}) == TS_OK;
}

/* Keys of one step and of the next, column by column; `sorted` has room for as many. */
static void count_pairs(const ts_trainer *t, const int64_t *keys, const int64_t *next, int64_t *sorted, uint64_t *stale,
                        uint64_t *pairs) {
  const uint32_t batch = t->options.batch;
  for (uint32_t i = 0; i < t->options.tables.count; i++) {
    const ts_table_plan *plan = &t->options.tables.plans[i];
    const size_t n = (size_t)plan->count * batch;
    for (uint32_t c = 0; c < plan->count; c++)
      memcpy(sorted + (size_t)c * batch, keys + (size_t)plan->columns[c] * batch, batch * sizeof *sorted);
    qsort(sorted, n, sizeof *sorted, by_number);
    for (uint32_t c = 0; c < plan->count; c++)
      for (uint32_t r = 0; r < batch; r++) {
        const int64_t *key = next + (size_t)plan->columns[c] * batch + r;
        if (ts_table_is_bag(plan) && *key == TS_MISSING_KEY) continue;
        *stale += bsearch(key, sorted, n, sizeof *sorted, by_number) != NULL;
        (*pairs)++;
      }
  }
}

bool ts_trainer_stale_share(const ts_trainer *t, double *share) {
  const size_t n = (size_t)TS_CATEGORIES * t->options.batch;
  const uint64_t steps = TS_MIN(t->staled_count, (uint64_t)TS_STALE_STEPS);
  int64_t *const keys = steps == 0 ? NULL : malloc(3 * n * sizeof *keys);
  if (keys == NULL) return false;
  uint64_t stale = 0, pairs = 0;
  bool read = true;
  for (uint64_t i = 0; read && i < steps; i++) {
    read = read_keys(t, t->staled[i], keys) && read_keys(t, t->staled[i] + 1, keys + n);
    if (read) count_pairs(t, keys, keys + n, keys + 2 * n, &stale, &pairs);
  }
  free(keys);
  if (!read || pairs == 0) return false;
  *share = (double)stale / (double)pairs;
  return true;
}
