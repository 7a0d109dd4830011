/* tbb.cc - TBB's concurrent_hash_map: an accessor, i.e. a lock, a key, as its interface wants it. */
#include <tbb/concurrent_hash_map.h>

#include "peers/rows.h"

namespace {

using Map = tbb::concurrent_hash_map<int64_t, Row>;
Map *rows;
bench_distinct distinct[BENCH_THREADS];

}  // namespace

bool contender_open(const bench_options *, uint64_t keys, char *) {
  rows = new Map(keys);  // room for all: growing is not what is measured
  for (bench_distinct &d : distinct) bench_distinct_open(&d);
  return true;
}

bool contender_create(const int64_t *keys, uint32_t n, char *) {
  for (uint32_t i = 0; i < n; i++) rows->emplace(keys[i], first_row());
  return true;
}

bool contender_ready(const bench_options *, char *) { return true; }

bool contender_lookup(unsigned, const int64_t *keys, uint32_t n, float *out, char *error) {
  for (uint32_t i = 0; i < n; i++) {
    Map::const_accessor row;
    if (!rows->find(row, keys[i])) return bench_fail(error, "Cannot find a key that was created");
    memcpy(out + uint64_t{i} * BENCH_DIM, row->second.values, BENCH_DIM * sizeof(float));
  }
  return true;
}

bool contender_update(unsigned thread, const int64_t *keys, uint32_t n, const float *gradients, char *error) {
  bench_distinct &d = distinct[thread];
  bench_distinct_find(&d, keys, n, gradients);
  for (uint32_t i = 0; i < d.count; i++) {
    Map::accessor row;
    if (!rows->find(row, d.keys[i])) return bench_fail(error, "Cannot find a key that was created");
    bench_adagrad(row->second.values, d.gradients[i]);
  }
  return true;
}

bool contender_command(const char *verb, const bench_options *, char *, char *error) {
  return bench_fail(error, "Cannot do \"%s\"", verb);
}
