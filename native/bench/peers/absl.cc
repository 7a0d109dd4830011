/* absl.cc - Abseil's flat_hash_map as a careful user would hold embedding rows in it for several threads: shards behind
 * mutexes, each locked once a batch, the keys of a shard found with prefetch(key) running ahead. Rows are in the map. */
#include <absl/container/flat_hash_map.h>

#include <mutex>

#include "peers/rows.h"

namespace {

constexpr unsigned SHARDS = 16;
constexpr uint32_t AHEAD = 16;  // the best of 4, 8, 16, 32 and 64 here; 8 to 32 are within noise

struct alignas(64) Shard {
  std::mutex mutex;
  absl::flat_hash_map<int64_t, Row> rows;
};

Shard shards[SHARDS];

// The batch's keys and their positions, sorted by shard.
struct Work {
  std::vector<int64_t> keys = std::vector<int64_t>(BENCH_BATCH);
  std::vector<uint32_t> positions = std::vector<uint32_t>(BENCH_BATCH);
  uint32_t first[SHARDS + 1];
  bench_distinct distinct;
};
Work work[BENCH_THREADS];

unsigned shard_of(int64_t key) { return static_cast<uint64_t>(key) * 0x9e3779b97f4a7c15u >> 60; }

void sort_by_shard(Work &w, const int64_t *keys, uint32_t n) {
  uint32_t next[SHARDS + 1] = {0};
  for (uint32_t i = 0; i < n; i++) next[shard_of(keys[i]) + 1]++;
  for (unsigned s = 0; s < SHARDS; s++) next[s + 1] += next[s];
  memcpy(w.first, next, sizeof next);
  for (uint32_t i = 0; i < n; i++) {
    uint32_t at = next[shard_of(keys[i])]++;
    w.keys[at] = keys[i];
    w.positions[at] = i;
  }
}

// Calls visit(row, position in the batch) for all keys. Threads begin at different shards.
template <class Visit>
bool for_rows(Work &w, unsigned thread, char *error, Visit visit) {
  for (unsigned k = 0; k < SHARDS; k++) {
    unsigned s = (k + thread * SHARDS / BENCH_THREADS) % SHARDS;
    std::lock_guard<std::mutex> lock(shards[s].mutex);
    auto &rows = shards[s].rows;
    const uint32_t end = w.first[s + 1];
    for (uint32_t i = w.first[s]; i < w.first[s] + AHEAD && i < end; i++) rows.prefetch(w.keys[i]);
    for (uint32_t i = w.first[s]; i < end; i++) {
      if (i + AHEAD < end) rows.prefetch(w.keys[i + AHEAD]);
      auto found = rows.find(w.keys[i]);
      if (found == rows.end()) return bench_fail(error, "Cannot find a key that was created");
      visit(found->second, w.positions[i]);
    }
  }
  return true;
}

}  // namespace

bool contender_open(const bench_options *, uint64_t, char *) {
  for (Work &w : work) bench_distinct_open(&w.distinct);
  return true;
}

bool contender_create(const int64_t *keys, uint32_t n, char *) {
  for (uint32_t i = 0; i < n; i++) shards[shard_of(keys[i])].rows.emplace(keys[i], first_row());
  return true;
}

bool contender_ready(const bench_options *, char *) { return true; }

bool contender_lookup(unsigned thread, const int64_t *keys, uint32_t n, float *out, char *error) {
  Work &w = work[thread];
  sort_by_shard(w, keys, n);
  return for_rows(w, thread, error, [&](Row &row, uint32_t i) {
    memcpy(out + uint64_t{i} * BENCH_DIM, row.values, BENCH_DIM * sizeof(float));
  });
}

bool contender_update(unsigned thread, const int64_t *keys, uint32_t n, const float *gradients, char *error) {
  Work &w = work[thread];
  bench_distinct_find(&w.distinct, keys, n, gradients);
  sort_by_shard(w, w.distinct.keys, w.distinct.count);
  return for_rows(w, thread, error,
                  [&](Row &row, uint32_t i) { bench_adagrad(row.values, w.distinct.gradients[i]); });
}

bool contender_command(const char *verb, const bench_options *, char *, char *error) {
  return bench_fail(error, "Cannot do \"%s\"", verb);
}
