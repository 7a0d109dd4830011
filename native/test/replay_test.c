/* Replay: each policy that is exact against a model of it written from its paper with plain lists, Belady's algorithm against trying
 * everything, and what each policy is known for: a scan must not wash away what is hot. */
#include "cache/policy.h"
#include "test/check.h"
#include "base/zipf.h"
#include "cache/replay_batches.h"
#include "cache/replay_log.h"

#include <stdlib.h>
#include <string.h>

static char message[512];

static uint64_t hits_of(const char *policy, uint64_t capacity, const int64_t *keys, uint64_t n) {
  uint64_t hits = UINT64_MAX;
  int32_t status = ts_cache_replay(policy, capacity, keys, n, &hits, message, sizeof message);
  CHECK_MSG(status == TS_OK, "%s: %s", policy, message);
  CHECK_MSG(hits <= n, "%s: %llu hits", policy, (unsigned long long)hits);
  return hits;
}

/* ---- models: entries in an array, oldest first; O(capacity) an access ---- */

typedef struct entry {
  int64_t key;
  uint64_t count, time;
  bool mark;
} entry;

typedef struct queue {
  entry *e;
  uint64_t n;
} queue;

static queue new_queue(uint64_t capacity) { return (queue){calloc(capacity + 1, sizeof(entry)), 0}; }
static uint64_t find(const queue *q, int64_t key) {
  uint64_t i = 0;
  while (i < q->n && q->e[i].key != key) i++;
  return i;
}
static entry take(queue *q, uint64_t at) {
  entry e = q->e[at];
  memmove(q->e + at, q->e + at + 1, (--q->n - at) * sizeof *q->e);
  return e;
}
static void put(queue *q, entry e) { q->e[q->n++] = e; }

static uint64_t model_lru(uint64_t capacity, const int64_t *keys, uint64_t n) {
  queue q = new_queue(capacity);
  uint64_t hits = 0;
  for (uint64_t i = 0; i < n; i++) {
    uint64_t at = find(&q, keys[i]);
    if (at < q.n) hits++, put(&q, take(&q, at));
    else {
      if (q.n == capacity) take(&q, 0);
      put(&q, (entry){.key = keys[i]});
    }
  }
  free(q.e);
  return hits;
}

static uint64_t model_clock(uint64_t capacity, const int64_t *keys, uint64_t n) {
  queue q = new_queue(capacity);
  uint64_t hits = 0, hand = 0;
  for (uint64_t i = 0; i < n; i++) {
    uint64_t at = find(&q, keys[i]);
    if (at < q.n) {
      hits++, q.e[at].mark = true;
    } else if (q.n < capacity) {
      put(&q, (entry){.key = keys[i]});
    } else {
      for (; q.e[hand].mark; hand = (hand + 1) % capacity) q.e[hand].mark = false;
      q.e[hand] = (entry){.key = keys[i]};
      hand = (hand + 1) % capacity;
    }
  }
  free(q.e);
  return hits;
}

static uint64_t model_sieve(uint64_t capacity, const int64_t *keys, uint64_t n) {
  queue q = new_queue(capacity);
  uint64_t hits = 0, hand = 0;
  for (uint64_t i = 0; i < n; i++) {
    uint64_t at = find(&q, keys[i]);
    if (at < q.n) {
      hits++, q.e[at].mark = true;
      continue;
    }
    if (q.n == capacity) {
      for (; q.e[hand].mark; hand = (hand + 1) % q.n) q.e[hand].mark = false;
      take(&q, hand); /* the next newer one takes its place */
      if (hand == q.n) hand = 0;
    }
    put(&q, (entry){.key = keys[i]});
  }
  free(q.e);
  return hits;
}

static void age(queue *q, uint64_t *events, uint64_t rows) {
  if (*events < 10 * rows) return;
  *events = 0;
  for (uint64_t i = 0; i < q->n; i++) q->e[i].count /= 2;
}

static uint64_t model_lfu(uint64_t capacity, const int64_t *keys, uint64_t n) {
  queue q = new_queue(capacity);
  uint64_t hits = 0, events = 0;
  for (uint64_t i = 0; i < n; i++) {
    uint64_t at = find(&q, keys[i]);
    if (at < q.n) {
      hits++, events++;
      q.e[at].count = TS_MIN(q.e[at].count + 1, 255);
      q.e[at].time = i;
      continue;
    }
    if (q.n == capacity) {
      age(&q, &events, q.n);
      uint64_t least = 0;
      for (uint64_t j = 1; j < q.n; j++)
        if (q.e[j].count < q.e[least].count || (q.e[j].count == q.e[least].count && q.e[j].time < q.e[least].time))
          least = j;
      take(&q, least);
    }
    age(&q, &events, q.n + 1);
    events++;
    put(&q, (entry){.key = keys[i], .count = 1, .time = i});
  }
  free(q.e);
  return hits;
}

typedef uint64_t (*model)(uint64_t capacity, const int64_t *keys, uint64_t n);

/* Kinds of streams: uniform, Zipf, loops with noise, and a hot set that wanders. */
static void make_stream(int kind, uint64_t universe, int64_t *keys, uint64_t n) {
  ts_zipf zipf;
  CHECK(ts_zipf_create(universe, 1.0, 0, &zipf, (ts_err){message, sizeof message}) == TS_OK);
  for (uint64_t i = 0; i < n; i++) {
    uint64_t word = ts_random64(3, (uint64_t)kind, i), rank = ts_zipf_rank(&zipf, word);
    uint64_t key = kind == 0   ? word % universe
                   : kind == 1 ? rank
                   : kind == 2 ? (word % 8 == 0 ? rank : i % (universe / 2))
                               : (rank + i / 500) % universe;
    keys[i] = (int64_t)key - (int64_t)universe / 2; /* negative ones and 0 too */
  }
  ts_zipf_free(&zipf);
}

static void agree_with_models(void) {
  enum { N = 12000 };
  static int64_t keys[N];
  static const struct {
    const char *name;
    model model;
  } exact[] = {{"lru", model_lru}, {"clock", model_clock}, {"sieve", model_sieve}, {"lfu", model_lfu}};
  static const uint64_t capacities[] = {1, 2, 3, 7, 33, 100, 300};
  for (int kind = 0; kind < 4; kind++) {
    make_stream(kind, 1000, keys, N);
    for (uint32_t c = 0; c < sizeof capacities / sizeof *capacities; c++) {
      uint64_t capacity = capacities[c], best = hits_of("opt", capacity, keys, N);
      for (uint32_t p = 0; p < sizeof exact / sizeof *exact; p++) {
        uint64_t ours = hits_of(exact[p].name, capacity, keys, N), theirs = exact[p].model(capacity, keys, N);
        CHECK_MSG(ours == theirs, "%s, stream %d, capacity %d: %d hits, the model has %d", exact[p].name, kind,
                  (int)capacity, (int)ours, (int)theirs);
      }
      for (int p = 0; p < TS_POLICIES; p++) {
        uint64_t ours = hits_of(ts_policy_names[p], capacity, keys, N);
        CHECK_MSG(ours <= best, "%s has %d hits, opt %d", ts_policy_names[p], (int)ours, (int)best);
      }
    }
  }
}

/* The fast ways of LRU and SIEVE against the policies' own code at one key a batch: caches of all sizes, logs that are squeezed,
 * tables for more rows than a million, and hits that do not count. */
static void fast_ways_are_the_policies(void) {
  static const struct {
    ts_policy_kind kind;
    int32_t (*replay)(uint64_t capacity, const int64_t *keys, uint64_t n, uint64_t uncounted, uint64_t *hits, uint64_t *bytes);
    uint64_t most; /* bytes a row */
  } fast[] = {{TS_LRU, ts_lru_replay, 24}, {TS_SIEVE, ts_sieve_replay, 24}};
  enum { N = 400000, MANY = 2200000, DISTINCT = 1500000 };
  int64_t *keys = malloc(MANY * sizeof *keys);
  static const uint64_t capacities[] = {1, 2, 5, 64, 1000, 20000, 100000};
  for (uint32_t f = 0; f < sizeof fast / sizeof *fast; f++) {
    const char *name = ts_policy_names[fast[f].kind];
    for (int kind = 0; kind < 4; kind++) {
      make_stream(kind, 60000, keys, N);
      for (uint32_t c = 0; c < sizeof capacities / sizeof *capacities; c++) {
        ts_batches *b = NULL;
        uint64_t rows = 0, misses = 0, hits = 0, later = 0, before = 0;
        CHECK(ts_batches_create(fast[f].kind, capacities[c], &b) == TS_OK);
        for (uint64_t i = 0; i < N; i++) {
          if (i == N / 3) before = i - misses;
          ts_batches_run(b, keys + i, 1, &rows, &misses);
        }
        ts_batches_destroy(b);
        CHECK(fast[f].replay(capacities[c], keys, N, 0, &hits, NULL) == TS_OK);
        CHECK(fast[f].replay(capacities[c], keys, N, N / 3, &later, NULL) == TS_OK);
        CHECK_MSG(hits == N - misses && later == hits - before,
                  "%s, stream %d, capacity %d: %d hits, %d of them late; the policy %d, %d", name, kind, (int)capacities[c],
                  (int)hits, (int)later, (int)(N - misses), (int)(N - misses - before));
      }
    }
    uint64_t hits = 0, bytes = 0, after = 0;
    for (int64_t i = 0; i < MANY; i++) keys[i] = i < DISTINCT ? i : i - DISTINCT;
    CHECK(fast[f].replay(UINT64_MAX, keys, MANY, 0, &hits, &bytes) == TS_OK && hits == MANY - DISTINCT);
    CHECK_MSG(bytes <= fast[f].most * DISTINCT, "%s: %llu bytes", name, (unsigned long long)bytes);
    CHECK(fast[f].replay(DISTINCT - 1, keys, MANY, 0, &after, NULL) == TS_OK && after == 0);
    CHECK(fast[f].replay(DISTINCT, keys, MANY, 0, &after, NULL) == TS_OK && after == hits);
    CHECK(fast[f].replay(5, keys, 10, 99, &hits, NULL) == TS_OK && hits == 0);
  }
  free(keys);
}

/* Most hits from position `at` on with the keys of `in` (a bit each) in the cache. */
static uint32_t try_all(uint32_t capacity, const int64_t *keys, uint32_t n, uint32_t at, uint32_t in) {
  if (at == n) return 0;
  uint32_t bit = 1u << keys[at];
  if (in & bit) return 1 + try_all(capacity, keys, n, at + 1, in);
  if ((uint32_t)__builtin_popcount(in) < capacity) return try_all(capacity, keys, n, at + 1, in | bit);
  uint32_t best = 0;
  for (uint32_t out = in; out != 0; out &= out - 1) {
    uint32_t hits = try_all(capacity, keys, n, at + 1, (in & ~(out & -out)) | bit);
    best = TS_MAX(best, hits);
  }
  return best;
}

static void opt_is_the_best(void) {
  for (uint64_t round = 0; round < 600; round++) {
    int64_t keys[14];
    uint32_t n = 1 + (uint32_t)(ts_random64(9, round, 100) % 14);
    uint32_t capacity = 1 + (uint32_t)(ts_random64(9, round, 101) % 3);
    uint64_t universe = 2 + ts_random64(9, round, 102) % 5;
    for (uint32_t i = 0; i < n; i++) keys[i] = (int64_t)(ts_random64(9, round, i) % universe);
    uint64_t ours = hits_of("opt", capacity, keys, n), best = try_all(capacity, keys, n, 0, 0);
    CHECK_MSG(ours == best, "round %d: %d hits, the best is %d", (int)round, (int)ours, (int)best);
  }
}

/* A cache that everything fits into misses each key once; one that is a row too small for a loop shows lru's worst. */
static void sizes_at_the_edge(void) {
  enum { N = 5000 };
  static int64_t keys[N];
  make_stream(0, 200, keys, N);
  bool seen[200] = {false};
  uint64_t distinct = 0;
  for (int i = 0; i < N; i++) {
    distinct += !seen[keys[i] + 100];
    seen[keys[i] + 100] = true;
  }
  for (int p = 0; p <= TS_POLICIES; p++) {
    const char *name = p < TS_POLICIES ? ts_policy_names[p] : "opt";
    CHECK_MSG(hits_of(name, distinct, keys, N) == N - distinct, "%s", name);
    CHECK_MSG(hits_of(name, UINT64_MAX, keys, N) == N - distinct, "%s", name);
    CHECK_MSG(hits_of(name, distinct - 1, keys, N) < N - distinct, "%s holds more than its capacity", name);
    CHECK(hits_of(name, 5, NULL, 0) == 0);
  }
  for (int i = 0; i < N; i++) keys[i] = i % 101;
  CHECK(hits_of("lru", 100, keys, N) == 0);
  CHECK(hits_of("lru", 101, keys, N) == N - 101);
  /* Extreme keys are keys. */
  const int64_t extreme[] = {INT64_MIN, INT64_MAX, -1, 0, -2, INT64_MIN, INT64_MAX, -1, 0, -2};
  for (int p = 0; p <= TS_POLICIES; p++)
    CHECK(hits_of(p < TS_POLICIES ? ts_policy_names[p] : "opt", 5, extreme, 10) == 5);
}

/* A hot set under a Zipf law, then a scan of keys that never come again, then the hot set again. The share of the hits
 * after the scan that the policy would have had without it. */
static double kept_over_scan(const char *policy) {
  enum { CAPACITY = 1000, WARM = 60000, SCAN = 10000, AFTER = 600 };
  static int64_t keys[WARM + SCAN + AFTER];
  ts_zipf zipf;
  CHECK(ts_zipf_create(3000, 1.0, 0, &zipf, (ts_err){message, sizeof message}) == TS_OK);
  for (uint64_t i = 0; i < WARM + AFTER; i++) keys[i] = (int64_t)ts_zipf_rank(&zipf, ts_random64(8, 1, i));
  ts_zipf_free(&zipf);
  double without = (double)(hits_of(policy, CAPACITY, keys, WARM + AFTER) - hits_of(policy, CAPACITY, keys, WARM));
  memmove(keys + WARM + SCAN, keys + WARM, AFTER * sizeof *keys);
  for (int64_t i = 0; i < SCAN; i++) keys[WARM + i] = 1000000 + i;
  uint64_t before = hits_of(policy, CAPACITY, keys, WARM + SCAN);
  return (double)(hits_of(policy, CAPACITY, keys, WARM + SCAN + AFTER) - before) / without;
}

static void scans_wash_away_lru_alone(void) {
  static const struct {
    const char *policy;
    double least, most;
  } wanted[] = {{"lru", 0, 0.7},
                {"lfu", 0.85, 1.01},
                {"s3fifo", 0.95, 1.01}, {"sieve", 0.95, 1.01}, {"tinylfu", 0.85, 1.01}};
  for (uint32_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
    double kept = kept_over_scan(wanted[i].policy);
    CHECK_MSG(kept >= wanted[i].least && kept <= wanted[i].most, "%s keeps %.3f", wanted[i].policy, kept);
  }
}

/* On a Zipf law what remembers frequencies must beat lru clearly, also where queues are no longer exact. */
static void frequency_beats_recency(void) {
  enum { N = 300000, UNIVERSE = 40000, CAPACITY = 4000 };
  int64_t *keys = malloc(N * sizeof *keys);
  make_stream(1, UNIVERSE, keys, N);
  double lru = (double)hits_of("lru", CAPACITY, keys, N) / N;
  static const char *const better[] = {"lfu", "s3fifo", "sieve", "tinylfu"};
  for (int i = 0; i < 4; i++) {
    double ratio = (double)hits_of(better[i], CAPACITY, keys, N) / N;
    CHECK_MSG(ratio > lru + 0.02, "%s has %.4f, lru %.4f", better[i], ratio, lru);
  }
  free(keys);
}

static void bad_input_is_named(void) {
  const int64_t key = 1;
  uint64_t hits = 77;
  CHECK(ts_cache_replay("mru", 5, &key, 1, &hits, message, sizeof message) == TS_EINVAL);
  CHECK_MSG(strstr(message, "\"mru\"") != NULL, "%s", message);
  CHECK_MSG(strstr(message, "lru, lfu, clock, s3fifo, sieve, tinylfu, opt") != NULL, "%s", message);
  CHECK(ts_cache_replay(NULL, 5, &key, 1, &hits, message, sizeof message) == TS_EINVAL);
  CHECK(ts_cache_replay("lru", 0, &key, 1, &hits, message, sizeof message) == TS_EINVAL);
  CHECK(strstr(message, "capacity is 0") != NULL);
  CHECK(ts_cache_replay("lru", 5, NULL, 1, &hits, message, sizeof message) == TS_EINVAL);
  CHECK(ts_cache_replay("lru", 5, &key, 1, NULL, message, sizeof message) == TS_EINVAL);
  CHECK(ts_cache_replay("opt", 5, &key, UINT64_C(1) << 32, &hits, NULL, 0) == TS_EINVAL);
  CHECK(hits == 77);
}

int main(void) {
  agree_with_models();
  opt_is_the_best();
  sizes_at_the_edge();
  scans_wash_away_lru_alone();
  frequency_beats_recency();
  fast_ways_are_the_policies();
  bad_input_is_named();
  return test_result();
}
