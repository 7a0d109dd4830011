/* Streams of keys in bounded memory: what is kept whole gives the exact curve, a thinned sample what a sample of that rate drawn at
 * once gives, blocks do not matter, memory ends where it was said to, and errors are as large as stated. */
#include "base/zipf.h"
#include "test/check.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static char message[512];
static const ts_err err = {message, sizeof message};

enum { SIZES = 6 };
static const uint64_t sizes[SIZES] = {100, 1000, 4000, 10000, 20000, 40000};
static const char *const policies[] = {"lru", "lfu", "clock", "s3fifo", "sieve", "tinylfu", "opt"};

static ts_config *options_of(const char *format, ...) __attribute__((format(printf, 1, 2)));
static ts_config *options_of(const char *format, ...) {
  char text[200];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  ts_config *config = NULL;
  ts_config_create(&config);
  for (char *word = strtok(text, " "); word != NULL; word = strtok(NULL, " ")) {
    char *value = strchr(word, '=');
    *value++ = '\0';
    ts_config_set(config, word, value, NULL, 0);
  }
  return config;
}

static int64_t *zipf_keys(double s, uint64_t rows, uint64_t n) {
  ts_zipf zipf;
  CHECK(ts_zipf_create(rows, s, 0, &zipf, err) == TS_OK);
  int64_t *keys = malloc(n * sizeof *keys);
  for (uint64_t i = 0; i < n; i++) keys[i] = (int64_t)ts_zipf_rank(&zipf, ts_random64(7, rows, i)) - 5;
  ts_zipf_free(&zipf);
  return keys;
}

/* @param block Keys that are added at a time; 0: changing numbers. */
static ts_key_sample *sample_of(ts_config *config, const int64_t *keys, uint64_t n, uint64_t block) {
  ts_key_sample *sample = NULL;
  CHECK_MSG(ts_key_sample_create(config, &sample, message, sizeof message) == TS_OK, "%s", message);
  ts_config_free(config);
  for (uint64_t at = 0, turn = 0; at < n; turn++) {
    const uint64_t some = TS_MIN(block > 0 ? block : ts_random64(9, 1, turn) % 9000, n - at);
    CHECK(ts_key_sample_add(sample, keys + at, some, 0, message, sizeof message) == TS_OK);
    at += some;
  }
  return sample;
}

static void curve_of(const ts_key_sample *sample, const char *policy, double *ratios, double *errors, double *facts) {
  ts_config *config = options_of("policy=%s", policy);
  CHECK_MSG(ts_key_sample_curve(sample, config, sizes, SIZES, ratios, errors, facts, message, sizeof message) == TS_OK, "%s", message);
  ts_config_free(config);
}

static void curve_of_keys(ts_config *config, const int64_t *keys, uint64_t n, double *ratios, double *facts) {
  CHECK_MSG(ts_simulate_curve(config, keys, n, sizes, SIZES, ratios, facts, message, sizeof message) == TS_OK, "%s", message);
  ts_config_free(config);
}

/* All kept: the exact curve. Thinned: that of a sample drawn at once, of the same rate. */
static void samples_are_samples(void) {
  enum { N = 100003 };
  static const uint64_t batches[] = {1, 2, 700, 30000};
  int64_t *keys = zipf_keys(0.9, 40000, N);
  for (int thinned = 0; thinned < 2; thinned++)
    for (int b = 0; b < 4; b++) {
      const int batch = (int)batches[b];
      ts_key_sample *sample = sample_of(options_of("batch=%d rows=%d", batch, thinned ? 6000 : 0), keys, N, 0);
      double facts[6], kept[6];
      CHECK(ts_key_sample_facts(sample, kept, message, sizeof message) == TS_OK);
      CHECK_MSG(kept[0] == N && (thinned ? kept[2] <= 0.5 : kept[2] == 1 && kept[1] == N), "batch %d: %g of rows", batch, kept[2]);
      for (uint32_t p = 0; p < sizeof policies / sizeof *policies; p++) {
        double ratios[SIZES], expected[SIZES], errors[SIZES];
        curve_of(sample, policies[p], ratios, errors, facts);
        double others[6];
        ts_config *asked = thinned ? options_of("policy=%s batch=%d method=sampled rate=%.17g", policies[p], batch, kept[2])
                                   : options_of("policy=%s batch=%d", policies[p], batch);
        curve_of_keys(asked, keys, N, expected, others);
        CHECK_MSG(memcmp(ratios, expected, sizeof ratios) == 0, "%s, batch %d, thinned %d: %.5f, expected %.5f", policies[p], batch,
                  thinned, ratios[2], expected[2]);
        CHECK_MSG(facts[0] == others[0] && facts[0] == kept[4] && facts[3] == others[3], "%s, batch %d: %g lookups, expected %g",
                  policies[p], batch, facts[0], others[0]);
        for (int i = 0; i < SIZES; i++) CHECK(thinned ? errors[i] >= 0 : errors[i] == 0);
        CHECK_MSG(facts[5] >= 8 * kept[1], "%g bytes for %g keys", facts[5], kept[1]);
      }
      ts_key_sample_close(sample);
    }
  free(keys);
}

/* However the stream is cut, and mixed keys are other keys. */
static void blocks_do_not_matter(void) {
  enum { N = 300000 };
  int64_t *keys = zipf_keys(0.7, 100000, N), *kept[2] = {malloc(N * sizeof *keys), malloc(N * sizeof *keys)};
  for (int batch = 1; batch < 5000; batch = batch * 40 + 1) {
    uint64_t n[2];
    for (int k = 0; k < 2; k++) {
      ts_key_sample *sample = sample_of(options_of("batch=%d rows=14000", batch), keys, N, k == 0 ? N : 0);
      CHECK(ts_key_sample_keys(sample, kept[k], N, &n[k], message, sizeof message) == TS_OK);
      if (k == 0) CHECK(ts_key_sample_keys(sample, kept[k], n[k] - 1, &n[k], message, sizeof message) == TS_ERANGE);
      ts_key_sample_close(sample);
    }
    CHECK(n[0] == n[1] && n[0] < N / 4 && memcmp(kept[0], kept[1], n[0] * sizeof *keys) == 0);
  }
  ts_key_sample *mixed = sample_of(options_of("rows=0"), keys, 5, 5);
  uint64_t n;
  CHECK(ts_key_sample_add(mixed, keys, 5, 77, message, sizeof message) == TS_OK);
  CHECK(ts_key_sample_keys(mixed, kept[0], N, &n, message, sizeof message) == TS_OK && n == 10);
  for (int i = 0; i < 5; i++) CHECK(kept[0][i] == keys[i] && kept[0][5 + i] == (keys[i] ^ 77));
  ts_key_sample_close(mixed);
  free(kept[0]);
  free(kept[1]);
  free(keys);
}

/* Bytes of sample and curve stay within what was given, whatever the stream's length, and are what it takes, not a guess far above. */
static void memory_is_bounded(void) {
  enum { N = 1000000, BYTES = 10 << 20 };
  int64_t *keys = zipf_keys(0.6, 800000, N);
  for (int batch = 1; batch < 5000; batch = batch * 1000) {
    double most[2] = {0, 0};
    for (int k = 0; k < 2; k++) {
      ts_key_sample *sample = sample_of(options_of("batch=%d bytes=%d", batch, BYTES), keys, k == 0 ? N / 4 : N, 65536);
      for (uint32_t p = 0; p < sizeof policies / sizeof *policies; p++) {
        double ratios[SIZES], errors[SIZES], facts[6];
        curve_of(sample, policies[p], ratios, errors, facts);
        most[k] = TS_MAX(most[k], facts[5]);
        CHECK_MSG(facts[5] <= BYTES, "%s, batch %d: %g bytes of %d", policies[p], batch, facts[5], BYTES);
      }
      ts_key_sample_close(sample);
    }
    CHECK_MSG(most[0] > BYTES / 8.0 && most[1] > BYTES / 8.0, "batch %d: %g and %g bytes of %d", batch, most[0], most[1], BYTES);
  }
  free(keys);
}

/* Of ratios that samples miss, most lie within two stated errors, and the errors are no excuse: they are small. */
static void errors_are_as_stated(void) {
  enum { N = 400000 };
  uint32_t within = 0, all = 0;
  double largest = 0;
  for (int k = 0; k < 5; k++) {
    int64_t *keys = zipf_keys(0.7 + 0.08 * k, 200000 + 1000 * (uint64_t)k, N);
    ts_key_sample *sample = sample_of(options_of("rows=%d", 30000), keys, N, 65536);
    for (uint32_t p = 0; p < 2; p++) {
      double ratios[SIZES], errors[SIZES], exact[SIZES], facts[6];
      curve_of(sample, policies[p], ratios, errors, facts);
      curve_of_keys(options_of("policy=%s", policies[p]), keys, N, exact, facts);
      for (int i = 1; i < SIZES; i++) {
        all++;
        within += fabs(ratios[i] - exact[i]) <= 2 * errors[i] + 0.002;
        largest = TS_MAX(largest, errors[i]);
      }
    }
    ts_key_sample_close(sample);
    free(keys);
  }
  CHECK_MSG(within >= 0.85 * all, "%u of %u ratios are within two errors", within, all);
  CHECK_MSG(largest < 0.02, "an error of %g is stated", largest);
}

static void bad_input_is_named(void) {
  ts_key_sample *sample = NULL;
  ts_config *config = options_of("batch=1000000 bytes=20000000");
  CHECK(ts_key_sample_create(config, &sample, message, sizeof message) == TS_EINVAL && sample == NULL);
  CHECK_MSG(strstr(message, "20000000") != NULL && strstr(message, "60388608") != NULL, "%s", message);
  ts_config_free(config);
  config = options_of("rates=1");
  CHECK(ts_key_sample_create(config, &sample, message, sizeof message) == TS_EINVAL);
  ts_config_free(config);
  sample = sample_of(options_of("rows=5"), NULL, 0, 1);
  config = options_of("policy=mru");
  double ratios[SIZES];
  CHECK(ts_key_sample_curve(sample, config, sizes, SIZES, ratios, NULL, NULL, message, sizeof message) == TS_EINVAL);
  ts_config_free(config);
  curve_of(sample, "opt", ratios, NULL, NULL);
  CHECK(ratios[0] == 0); /* of no lookups */
  CHECK(ts_key_sample_add(sample, NULL, 1, 0, message, sizeof message) == TS_EINVAL);
  CHECK(ts_key_sample_close(sample) == TS_OK && ts_key_sample_close(NULL) == TS_OK);
}

int main(void) {
  samples_are_samples();
  blocks_do_not_matter();
  memory_is_bounded();
  errors_are_as_stated();
  bad_input_is_named();
  return test_result();
}
