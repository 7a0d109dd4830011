/* floor.c - the least that any store of rows must do for a batch: find the key in a cache line of eight, copy or step
 * the row of the same number. No locks, admission, eviction, growth or statistics; room for all keys was taken at the
 * start, at a load of 0.7 or less. What a store reaches is read as a share of this. */
#include "floor.h"

#include <string.h>

static floor_table table;
static const floor_kernels *kernels;
static uint32_t lookup_distance = 32, update_distance = 32;
static bench_distinct distinct[BENCH_THREADS];

bool contender_open(const bench_options *options, uint64_t keys, char *error) {
  kernels = floor_kernels_for(BENCH_DIM, bench_text(options, "kernels", "auto"));
  if (!floor_table_open(&table, keys, BENCH_DIM, error)) return false;
  for (unsigned t = 0; t < BENCH_THREADS; t++) bench_distinct_open(&distinct[t]);
  return true;
}

bool contender_create(const int64_t *keys, uint32_t n, char *error) {
  (void)error;
  for (uint32_t i = 0; i < n; i++) floor_table_add(&table, keys[i]);
  return true;
}

bool contender_ready(const bench_options *options, char *error) {
  (void)options, (void)error;
  return true;
}

bool contender_lookup(unsigned thread, const int64_t *keys, uint32_t n, float *out, char *error) {
  (void)thread, (void)error;
  kernels->lookup(&table, keys, n, lookup_distance, out);
  return true;
}

bool contender_update(unsigned thread, const int64_t *keys, uint32_t n, const float *gradients, char *error) {
  (void)error;
  bench_distinct *d = &distinct[thread];
  bench_distinct_find(d, keys, n, gradients);
  kernels->update(&table, d->keys, d->count, update_distance, d->gradients);
  return true;
}

/* "distance lookup=<n> update=<n>": the driver tries some and keeps the best. "kernels": which run. */
bool contender_command(const char *verb, const bench_options *options, char *reply, char *error) {
  if (strcmp(verb, "distance") == 0) {
    uint64_t lookup = bench_number(options, "lookup", lookup_distance);
    uint64_t update = bench_number(options, "update", update_distance);
    if (lookup == 0 || update == 0 || lookup > 128 || update > 128)
      return bench_fail(error, "Cannot prefetch %llu and %llu keys ahead: 1 to 128", (unsigned long long)lookup,
                        (unsigned long long)update);
    lookup_distance = (uint32_t)lookup;
    update_distance = (uint32_t)update;
  } else if (strcmp(verb, "kernels") != 0) {
    return bench_fail(error, "Cannot do \"%s\"", verb);
  }
  snprintf(reply, BENCH_TEXT, "kernels=%s lookup=%u update=%u", kernels->name, lookup_distance, update_distance);
  return true;
}
