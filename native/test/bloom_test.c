/* The counting Bloom filter: DeepRec's parameters and vectors, every counter width, saturation, threads, memory. */
#include "store/bloom.h"
#include "test/check.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static char message[512];
static const ts_err err = {message, sizeof message};

typedef struct purse {
  int64_t taken, limit;
} purse;

static bool pay(void *context, int64_t bytes) {
  purse *p = context;
  if (p->taken + bytes > p->limit) return false;
  p->taken += bytes;
  return true;
}

static purse plenty = {0, INT64_MAX / 2};

static ts_bloom *make(uint64_t keys, double error, uint32_t bits, uint64_t frequency) {
  ts_bloom *bloom = NULL;
  int32_t status = ts_bloom_create(keys, error, bits, frequency, pay, &plenty, &bloom, err);
  CHECK_MSG(status == TS_OK, "%s", message);
  if (bloom == NULL) exit(1);
  return bloom;
}

/* What DeepRec's unit test expects for keys 1 to 4. */
static const uint64_t vectors[4][7] = {{17, 7, 48, 89, 9, 20, 56},
                                       {58, 14, 10, 90, 28, 14, 67},
                                       {64, 63, 9, 77, 7, 38, 11},
                                       {39, 10, 79, 28, 58, 55, 60}};

static void parameters_and_vectors_are_deeprecs(void) {
  ts_bloom *bloom = make(10, 0.01, 64, 3);
  CHECK(ts_bloom_counters(bloom) == 96 && ts_bloom_hashes(bloom) == 7);
  for (int64_t key = 1; key <= 4; key++) {
    uint64_t indices[TS_BLOOM_HASHES];
    ts_bloom_indices(bloom, key, indices);
    CHECK_MSG(memcmp(indices, vectors[key - 1], sizeof vectors[0]) == 0, "key %d", (int)key);
  }
  ts_bloom_destroy(bloom);

  /* The setting of the published Wide & Deep script: its counters alone would take 76.7 GiB, which are refused here. */
  purse small = {0, INT64_C(1) << 30};
  CHECK(ts_bloom_create(UINT64_C(1) << 30, 0.01, 64, 3, pay, &small, &bloom, err) == TS_EFULL && bloom == NULL &&
        small.taken == 0);
  CHECK_MSG(strstr(message, "10291878066 counters") != NULL, "%s", message);

  const struct {
    double error;
    uint32_t k;
  } hashes[] = {{0.5, 1}, {0.25, 2}, {0.26, 2}, {0.24, 3}, {0.9, 1}, {0x1p-30, 30}, {0x1p-64, 64}};
  for (size_t i = 0; i < sizeof hashes / sizeof *hashes; i++) {
    bloom = make(100, hashes[i].error, 8, 9);
    CHECK_MSG(ts_bloom_hashes(bloom) == hashes[i].k, "error %g: %u", hashes[i].error, ts_bloom_hashes(bloom));
    /* More hashes than DeepRec's 25 primes still differ from each other. */
    uint64_t indices[TS_BLOOM_HASHES], equal = 0;
    ts_bloom_indices(bloom, -5, indices);
    for (uint32_t a = 0; a < hashes[i].k; a++)
      for (uint32_t b = 0; b < a; b++) equal += indices[a] == indices[b];
    CHECK_MSG(equal * 16 <= hashes[i].k * hashes[i].k, "error %g: %d equal", hashes[i].error, (int)equal);
    ts_bloom_destroy(bloom);
  }
}

typedef struct one_key {
  ts_bloom *bloom;
  int64_t key;
  uint64_t times;
  pthread_barrier_t *start; /* NULL: at once */
} one_key;

static void *add_key(void *context) {
  one_key *job = context;
  if (job->start != NULL) pthread_barrier_wait(job->start);
  for (uint64_t i = 0; i < job->times; i++) ts_bloom_add(job->bloom, job->key, 1);
  return NULL;
}

/* Four keys through four threads; counters that keys share hold the sum. */
static void counters_add_up(uint32_t bits) {
  const uint64_t times = 50; /* the most shared counter stays below 255 */
  ts_bloom *bloom = make(10, 0.01, bits, 255);
  pthread_t threads[4];
  one_key jobs[4];
  uint64_t expected[96] = {0};
  for (int i = 0; i < 4; i++) {
    jobs[i] = (one_key){bloom, i + 1, times, NULL};
    for (int h = 0; h < 7; h++) expected[vectors[i][h]] += times;
    if (pthread_create(&threads[i], NULL, add_key, &jobs[i]) != 0) exit(1);
  }
  for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
  for (uint64_t c = 0; c < 96; c++)
    CHECK_MSG(ts_bloom_counter(bloom, c) == expected[c], "%u bits, counter %d: %d, expected %d", bits, (int)c,
              (int)ts_bloom_counter(bloom, c), (int)expected[c]);
  for (int64_t key = 1; key <= 4; key++) CHECK(ts_bloom_frequency(bloom, key) == times);
  ts_bloom_destroy(bloom);
}

/* Threads on the same few keys and counters: nothing is lost, and the limit holds at every width. */
static void same_counters_from_threads(uint32_t bits) {
  /* Narrow counters are full soon, so they get more rounds. */
  const uint64_t times = bits == 8 ? 60 : bits == 16 ? 16000 : 100000;
  for (int round = 0; round < (bits == 8 ? 200 : 5); round++) {
    ts_bloom *bloom = make(1, 0.5, bits, UINT64_MAX >> (64 - bits)); /* two counters for all keys */
    pthread_barrier_t start;
    pthread_barrier_init(&start, NULL, 4);
    one_key job = {bloom, 7, times, &start};
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
      if (pthread_create(&threads[i], NULL, add_key, &job) != 0) exit(1);
    for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
    CHECK_MSG(ts_bloom_frequency(bloom, 7) == 4 * times, "%u bits: %d", bits, (int)ts_bloom_frequency(bloom, 7));
    pthread_barrier_destroy(&start);
    ts_bloom_destroy(bloom);
  }
}

static void frequency_stops_at_the_limit(uint32_t bits) {
  uint64_t most = UINT64_MAX >> (64 - bits);
  const uint64_t limits[] = {1, 3, 200, most};
  for (int i = 0; i < 4; i++) {
    ts_bloom *bloom = make(1000, 0.01, bits, limits[i]);
    const int64_t keys[] = {0, -1, -2, INT64_MIN, INT64_MAX, 1234567};
    for (int k = 0; k < 6; k++) {
      CHECK(ts_bloom_frequency(bloom, keys[k]) == 0);
      CHECK(ts_bloom_add(bloom, keys[k], 0) == 0 && ts_bloom_add(bloom, keys[k], 1) == 0);
      CHECK(ts_bloom_add(bloom, keys[k], 2) == 1);
      CHECK(ts_bloom_frequency(bloom, keys[k]) == TS_MIN(limits[i], 3));
      CHECK(ts_bloom_add(bloom, keys[k], UINT64_MAX) == TS_MIN(limits[i], 3));
      CHECK(ts_bloom_add(bloom, keys[k], UINT64_MAX) == limits[i] && ts_bloom_frequency(bloom, keys[k]) == limits[i]);
    }
    ts_bloom_destroy(bloom);
  }
}

/* Never too low for a key that came; too high for about the asked share of keys that did not. */
static void errors_are_as_asked(void) {
  const uint64_t keys = 20000;
  ts_bloom *bloom = make(keys, 0.02, 8, 3);
  for (uint64_t i = 0; i < keys; i++) ts_bloom_add(bloom, (int64_t)ts_mix64(i), i % 3 + 1);
  uint64_t low = 0, seen = 0;
  for (uint64_t i = 0; i < keys; i++) {
    low += ts_bloom_frequency(bloom, (int64_t)ts_mix64(i)) < i % 3 + 1;
    seen += ts_bloom_frequency(bloom, (int64_t)ts_mix64(i + keys)) > 0;
  }
  CHECK(low == 0);
  CHECK_MSG(seen > keys / 200 && seen < keys / 25, "%d of %d absent keys were seen", (int)seen, (int)keys);
  ts_bloom_destroy(bloom);
}

static void wrong_parameters_are_refused(void) {
  ts_bloom *bloom;
  const struct {
    uint64_t keys;
    double error;
    uint32_t bits;
    uint64_t frequency;
    const char *words;
  } wrong[] = {{10, 0.01, 24, 1, "counters of 24 bits"},
               {10, 0.01, 8, 256, "from 1 to 255, the frequency is 256"},
               {10, 0.01, 16, 65536, "from 1 to 65535"},
               {10, 0.01, 32, 0, "the frequency is 0"},
               {10, 0, 32, 1, "found 0"},
               {10, 1, 32, 1, "found 1"},
               {10, -1, 32, 1, "found -1"},
               {10, __builtin_nan(""), 32, 1, "found"},
               {10, 1e-20, 32, 1, "found 1e-20"},
               {0, 0.01, 32, 1, "for 0 keys"},
               {UINT64_MAX, 0.01, 64, 1, "for 18446744073709551615 keys"}};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    purse p = {0, INT64_MAX / 2};
    CHECK(ts_bloom_create(wrong[i].keys, wrong[i].error, wrong[i].bits, wrong[i].frequency, pay, &p, &bloom, err) ==
              TS_EINVAL &&
          bloom == NULL && p.taken == 0);
    CHECK_MSG(strstr(message, wrong[i].words) != NULL, "\"%s\" lacks \"%s\"", message, wrong[i].words);
  }
}

static void memory_is_charged(void) {
  purse p = {0, 100000};
  ts_bloom *bloom = NULL;
  CHECK(ts_bloom_create(1000, 0.01, 16, 9, pay, &p, &bloom, err) == TS_OK);
  if (bloom == NULL) return;
  CHECK(p.taken == (int64_t)ts_bloom_bytes(bloom) && ts_bloom_bytes(bloom) >= 2 * ts_bloom_counters(bloom));
  ts_bloom_destroy(bloom);
  CHECK(p.taken == 0);
  ts_bloom_destroy(NULL);
}

int main(void) {
  parameters_and_vectors_are_deeprecs();
  for (uint32_t bits = 8; bits <= 64; bits *= 2) {
    counters_add_up(bits);
    same_counters_from_threads(bits);
    frequency_stops_at_the_limit(bits);
  }
  errors_are_as_asked();
  wrong_parameters_are_refused();
  memory_is_charged();
  CHECK(plenty.taken == 0);
  return test_result();
}
