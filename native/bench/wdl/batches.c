/* batches.c - batches of a cache file in the trainer's order. */
#include "batches.h"

#include "wdl/common/batch_order.h"

#include <stdlib.h>
#include <string.h>

static bool read_dims(wdl_batches *b, const char *text, char *error) {
  uint32_t commas = 0;
  for (const char *c = text; *c != '\0'; c++) commas += *c == ',';
  if (commas != 0 && commas + 1 != TS_CATEGORIES)
    return bench_fail(error, "Cannot use %u widths: one, or %u are needed", commas + 1, TS_CATEGORIES);
  b->inputs = TS_NUMERICS;
  for (uint32_t c = 0; c < TS_CATEGORIES; c++) {
    char *end;
    b->dims[c] = (uint32_t)strtoul(text, &end, 10);
    if (b->dims[c] == 0 || (*end != ',' && *end != '\0')) return bench_fail(error, "Cannot read the widths at \"%s\"", text);
    if (*end == ',') text = end + 1; /* one width alone is read again for every column */
    b->inputs += b->dims[c];
  }
  return true;
}

bool wdl_batches_open(wdl_batches *b, const bench_options *options, char *error) {
  const ts_err err = {error, BENCH_TEXT};
  b->count = (uint32_t)bench_number(options, "batches", 64);
  b->rows = (uint32_t)bench_number(options, "batch", 2048);
  b->threads = (uint32_t)bench_number(options, "threads", 2);
  if (!read_dims(b, bench_text(options, "dims", "16"), error)) return false;
  if (ts_cache_open(bench_text(options, "data", ""), &b->cache, err) != TS_OK) return false;
  const uint64_t rows = b->cache.header.rows;
  if (b->count == 0 || b->rows == 0 || rows < b->rows)
    return bench_fail(error, "Cannot take %u batches of %u rows from %llu", b->count, b->rows, (unsigned long long)rows);
  const uint64_t of_batch = (uint64_t)TS_CATEGORIES * b->rows;
  b->keys = bench_pages(b->count * of_batch * sizeof *b->keys);
  for (uint32_t i = 0; i < b->count; i++) {
    const uint64_t first = ts_batch_start(bench_number(options, "seed", 0), rows, b->rows, i);
    if (ts_cache_read(&b->cache, first, b->rows, b->rows, NULL, NULL, b->keys + i * of_batch, err) != TS_OK) return false;
  }
  return ts_pool_create(b->threads, &b->pool, err) == TS_OK;
}

const int64_t *wdl_batch_keys(const wdl_batches *b, uint64_t batch, uint32_t column) {
  return b->keys + ((batch % b->count) * TS_CATEGORIES + column) * b->rows;
}

float *wdl_gradients(const wdl_batches *b) {
  uint32_t widest = 0;
  for (uint32_t c = 0; c < TS_CATEGORIES; c++) widest = TS_MAX(widest, b->dims[c]);
  const uint64_t n = (uint64_t)b->rows * widest;
  float *gradients = bench_pages(n * sizeof *gradients);
  for (uint64_t i = 0; i < n; i++) gradients[i] = (float)(bench_mix(i) >> 40) * 0x1.0p-40f - 0x1.0p-17f;
  return gradients;
}

bool wdl_measure(const bench_options *options, bool (*step)(uint64_t number, char *error), char *reply, char *error) {
  static uint64_t done; /* never the same batches from round to round */
  const uint64_t steps = bench_number(options, "steps", 0);
  if (steps == 0) return bench_fail(error, "Cannot measure no steps");
  if (!step(done++, error)) return false; /* what the other contenders pushed out of the caches comes back */
  uint64_t cpu = bench_cpu_ns(), start = bench_now_ns();
  for (uint64_t i = 0; i < steps; i++)
    if (!step(done++, error)) return false;
  snprintf(reply, BENCH_TEXT, "seconds=%.9f cpu=%.9f", (double)(bench_now_ns() - start) * 1e-9 / (double)steps,
           (double)(bench_cpu_ns() - cpu) * 1e-9 / (double)steps);
  return true;
}
