/* Miss-ratio curves: stack distances against caches replayed one by one, samples and formulas against the exact curve,
 * published figures, monotone curves, and the limits. */
#include "base/zipf.h"
#include "cache/key_table.h"
#include "simulator/analytic.h"
#include "simulator/law_draw.h"
#include "simulator/stack_distance.h"
#include "test/check.h"
#include "test/top_share.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char message[512];
static const ts_err err = {message, sizeof message};

#define MOST_SIZES 64u

/* Options as "key=value" words. */
static ts_config *options_of(const char *text) {
  ts_config *config = NULL;
  char copy[256];
  snprintf(copy, sizeof copy, "%s", text);
  ts_config_create(&config);
  for (char *word = strtok(copy, " "); word != NULL; word = strtok(NULL, " ")) {
    char *value = strchr(word, '=');
    *value++ = '\0';
    ts_config_set(config, word, value, NULL, 0);
  }
  return config;
}

static double *curve_of(const char *options, const int64_t *keys, uint64_t n, const uint64_t *sizes, uint32_t count,
                        double facts[6]) {
  static double ratios[4][MOST_SIZES];
  static uint32_t turn;
  double *out = ratios[turn++ % 4];
  ts_config *config = options_of(options);
  CHECK_MSG(ts_simulate_curve(config, keys, n, sizes, count, out, facts, message, sizeof message) == TS_OK, "%s: %s", options,
            message);
  ts_config_free(config);
  for (uint32_t i = 0; i < count; i++) CHECK_MSG(out[i] >= 0 && out[i] <= 1, "%s: %g", options, out[i]);
  return out;
}

static double *law_curve_of(const char *options, const ts_law *law, const uint64_t *sizes, uint32_t count, double facts[6]) {
  static double ratios[4][MOST_SIZES];
  static uint32_t turn;
  static uint64_t rows[4096];
  static double weights[4096];
  double *out = ratios[turn++ % 4];
  for (uint32_t i = 0; i < law->count; i++) rows[i] = law->buckets[i].rows, weights[i] = law->buckets[i].weight;
  ts_config *config = options_of(options);
  CHECK_MSG(ts_simulate_law_curve(config, rows, weights, law->count, sizes, count, out, facts, message, sizeof message) == TS_OK,
            "%s: %s", options, message);
  ts_config_free(config);
  for (uint32_t i = 0; i < count; i++) CHECK_MSG(out[i] >= 0 && out[i] <= 1, "%s: %g", options, out[i]);
  return out;
}

static void make_stream(int kind, uint64_t universe, int64_t *keys, uint64_t n) {
  ts_zipf zipf;
  CHECK(ts_zipf_create(universe, 1.0, 0, &zipf, err) == TS_OK);
  for (uint64_t i = 0; i < n; i++) {
    const uint64_t word = ts_random64(3, (uint64_t)kind, i), rank = ts_zipf_rank(&zipf, word);
    const uint64_t key = kind == 0   ? word % universe
                         : kind == 1 ? rank
                         : kind == 2 ? (word % 8 == 0 ? rank : i % (universe / 2))
                                     : (rank + i / 500) % universe;
    keys[i] = (int64_t)key - (int64_t)universe / 2;
  }
  ts_zipf_free(&zipf);
}

/* One pass gives what a cache of each size, replayed alone, gives. */
static void distances_are_replays(void) {
  enum { N = 60000 };
  static int64_t keys[N];
  static const uint64_t sizes[] = {0, 1, 2, 3, 10, 77, 500, 1000, 2500, 4999, 5000, 1000000};
  enum { COUNT = sizeof sizes / sizeof *sizes };
  for (int kind = 0; kind < 4; kind++) {
    make_stream(kind, 5000, keys, N);
    double facts[6], *ratios = curve_of("policy=lru", keys, N, sizes, COUNT, facts);
    CHECK(facts[0] == N && facts[3] == 1);
    CHECK_MSG(ratios[0] == 1 && ratios[COUNT - 1] == facts[2] / N, "stream %d", kind);
    CHECK_MSG(facts[1] == facts[2], "stream %d: %g distinct keys, %g first comings", kind, facts[1], facts[2]);
    for (uint32_t i = 1; i < COUNT; i++) {
      uint64_t hits = 0;
      CHECK(ts_cache_replay("lru", sizes[i], keys, N, &hits, message, sizeof message) == TS_OK);
      CHECK_MSG(ratios[i] == (double)(N - hits) / N, "stream %d, %d rows: %.6f, replayed %.6f", kind, (int)sizes[i], ratios[i],
                (double)(N - hits) / N);
      CHECK_MSG(ratios[i] <= ratios[i - 1], "stream %d: a larger cache misses more", kind);
    }
    for (int p = 0; p < 2; p++) { /* other policies go size by size */
      const char *name = p == 0 ? "opt" : "sieve";
      ratios = curve_of(p == 0 ? "policy=opt" : "policy=sieve", keys, N, sizes, COUNT, facts);
      for (uint32_t i = 1; i < COUNT; i++) {
        uint64_t hits = 0;
        CHECK(ts_cache_replay(name, sizes[i], keys, N, &hits, message, sizeof message) == TS_OK);
        CHECK_MSG(ratios[i] == (double)(N - hits) / N, "%s, stream %d, %d rows", name, kind, (int)sizes[i]);
      }
    }
  }
}

/* Batches by the definition, with lists: a row hits if it is among the `size` that were last before the batch. */
static uint64_t batch_misses(const int64_t *keys, uint64_t n, uint64_t batch, uint64_t warm, uint64_t size, uint64_t *rows) {
  int64_t *order = malloc(n * sizeof *order); /* last first */
  int64_t *distinct = malloc(batch * sizeof *distinct);
  uint64_t count = 0, misses = 0;
  *rows = 0;
  for (uint64_t b = 0; b < n; b += batch) {
    uint64_t d = 0;
    for (uint64_t i = b; i < TS_MIN(n, b + batch); i++) {
      bool again = false;
      for (uint64_t j = 0; j < d && !again; j++) again = distinct[j] == keys[i];
      if (!again) distinct[d++] = keys[i];
    }
    for (uint64_t i = 0; i < d; i++) {
      uint64_t at = 0;
      while (at < count && order[at] != distinct[i]) at++;
      if (b >= warm) misses += at >= size || at == count, ++*rows;
    }
    for (uint64_t i = 0; i < d; i++) {
      uint64_t at = 0;
      while (at < count && order[at] != distinct[i]) at++;
      if (at == count) count++;
      memmove(order + 1, order, at * sizeof *order);
      order[0] = distinct[i];
    }
  }
  free(order);
  free(distinct);
  return misses;
}

static void batches_count_a_row_once(void) {
  enum { N = 6000 };
  static int64_t keys[N];
  static const uint64_t sizes[] = {1, 5, 40, 120, 300, 600};
  static const uint64_t batches[] = {1, 2, 7, 100, 1111, N};
  for (int kind = 0; kind < 4; kind++)
    for (int b = 0; b < 6; b++)
      for (uint64_t warm = 0; warm < 2; warm++) {
        make_stream(kind, 600, keys, N);
        char options[80];
        const uint64_t uncounted = warm * (N / 3 / batches[b] * batches[b]);
        snprintf(options, sizeof options, "batch=%d uncounted=%d", (int)batches[b], (int)(warm * (N / 3)));
        double facts[6], *ratios = curve_of(options, keys, N, sizes, 6, facts);
        for (uint32_t i = 0; i < 6; i++) {
          uint64_t rows, misses = batch_misses(keys, N, batches[b], uncounted, sizes[i], &rows);
          CHECK_MSG(facts[0] == (double)rows, "%s: %g rows, %d by the definition", options, facts[0], (int)rows);
          CHECK_MSG(ratios[i] == (double)misses / (double)rows, "stream %d, %s, %d rows: %.5f, by the definition %.5f", kind,
                    options, (int)sizes[i], ratios[i], (double)misses / (double)rows);
        }
      }
}

static double worst(const double *a, const double *b, uint32_t n) {
  double most = 0;
  for (uint32_t i = 0; i < n; i++) most = TS_MAX(most, a[i] > b[i] ? a[i] - b[i] : b[i] - a[i]);
  return most;
}

/* The exact curve, a sample of it, the model of the law and the formula agree within 0.01 where all can run. */
static void all_ways_agree(void) {
  enum { ROWS = 200000, N = 1800000 };
  static const uint64_t sizes[] = {500, 2000, 4000, 8000, 16000, 32000, 60000};
  static const struct {
    double s, q;
    uint64_t batch;
  } cases[] = {{1.05, 0, 1}, {1.346, 400, 1}, {1.05, 0, 3000}, {0.8, 20, 15000}};
  int64_t *keys = malloc(N * sizeof *keys);
  for (uint32_t c = 0; c < sizeof cases / sizeof *cases; c++) {
    ts_zipf zipf;
    ts_law law;
    CHECK(ts_zipf_create(ROWS, cases[c].s, cases[c].q, &zipf, err) == TS_OK);
    CHECK(ts_law_zipf(ROWS, cases[c].s, cases[c].q, NULL, 0, &law, err) == TS_OK);
    for (uint64_t i = 0; i < N; i++) keys[i] = (int64_t)ts_zipf_rank(&zipf, ts_random64(5, c, i));
    char options[120], what[80];
    const int batch = (int)cases[c].batch;
    snprintf(what, sizeof what, "s %g, q %g, batch %d", cases[c].s, cases[c].q, batch);
    snprintf(options, sizeof options, "batch=%d uncounted=1200000", batch);
    double exact[7], facts[6], sampled_facts[6];
    memcpy(exact, curve_of(options, keys, N, sizes, 7, facts), sizeof exact);
    /* What a cache keeps that is smaller than a batch depends on the order inside it. */
    uint32_t first = 0;
    while (batch > 1 && (double)sizes[first] < 2 * ts_law_distinct(&law, batch)) first++;
    snprintf(options, sizeof options, "batch=%d uncounted=1200000 method=sampled samples=65536", batch);
    double *sampled = curve_of(options, keys, N, sizes, 7, sampled_facts);
    CHECK_MSG(sampled_facts[3] < 0.5 && sampled_facts[0] == facts[0], "%s: sampled %g", what, sampled_facts[3]);
    CHECK_MSG(sampled_facts[1] > 0.97 * facts[1] && sampled_facts[1] < 1.03 * facts[1], "%s: %g of %g rows", what,
              sampled_facts[1], facts[1]);
    CHECK_MSG(worst(exact + first, sampled + first, 7 - first) < 0.01, "%s: a sample differs by %.4f", what,
              worst(exact + first, sampled + first, 7 - first));
    snprintf(options, sizeof options, "batch=%d", batch);
    double *analytic = law_curve_of(options, &law, sizes, 7, NULL);
    CHECK_MSG(worst(exact + first, analytic + first, 7 - first) < 0.01, "%s: the formula differs by %.4f", what,
              worst(exact + first, analytic + first, 7 - first));
    snprintf(options, sizeof options, "batch=%d method=sampled samples=2000", batch);
    double *model = law_curve_of(options, &law, sizes, 7, sampled_facts);
    CHECK_MSG(worst(exact + first, model + first, 7 - first) < 0.01, "%s: the model differs by %.4f", what,
              worst(exact + first, model + first, 7 - first));
    CHECK_MSG(sampled_facts[3] < 0.05, "%s: a model of %g", what, sampled_facts[3]);
    ts_law_free(&law);
    ts_zipf_free(&zipf);
  }
  free(keys);
}

/* Samples of other policies, and Belady's, which no policy betters. Models differ by 0.0105 at most (sieve). */
static void samples_of_policies(void) {
  enum { ROWS = 60000, N = 800000 };
  static const uint64_t sizes[] = {3000, 7000, 12000};
  static const char *const policies[] = {"lfu", "clock", "s3fifo", "sieve", "tinylfu", "opt"};
  int64_t *keys = malloc(N * sizeof *keys);
  ts_zipf zipf;
  ts_law law;
  CHECK(ts_zipf_create(ROWS, 0.9, 0, &zipf, err) == TS_OK);
  CHECK(ts_law_zipf(ROWS, 0.9, 0, NULL, 0, &law, err) == TS_OK);
  for (uint64_t i = 0; i < N; i++) keys[i] = (int64_t)ts_mix64(ts_zipf_rank(&zipf, ts_random64(6, 0, i)));
  double best[3], popular[3];
  memcpy(best, curve_of("policy=opt uncounted=350000", keys, N, sizes, 3, NULL), sizeof best);
  memcpy(popular, law_curve_of("policy=popular", &law, sizes, 3, NULL), sizeof popular);
  for (uint32_t p = 0; p < 6; p++) {
    char options[100];
    double exact[3];
    snprintf(options, sizeof options, "policy=%s uncounted=350000", policies[p]);
    memcpy(exact, curve_of(options, keys, N, sizes, 3, NULL), sizeof exact);
    snprintf(options, sizeof options, "policy=%s uncounted=350000 method=sampled rate=0.25", policies[p]);
    double *sampled = curve_of(options, keys, N, sizes, 3, NULL);
    CHECK_MSG(worst(exact, sampled, 3) < 0.01, "%s: a sample differs by %.4f", policies[p], worst(exact, sampled, 3));
    snprintf(options, sizeof options, "policy=%s method=sampled samples=6000", policies[p]);
    double *model = law_curve_of(options, &law, sizes, 3, NULL);
    CHECK_MSG(worst(exact, model, 3) < 0.012, "%s: the model differs by %.4f", policies[p], worst(exact, model, 3));
    for (uint32_t i = 0; i < 3; i++) {
      CHECK_MSG(exact[i] >= best[i] - 1e-12, "%s betters the optimum", policies[p]);
      CHECK_MSG(p == 5 || exact[i] > popular[i] - 0.005, "%s betters what no policy without the future can", policies[p]);
    }
  }
  ts_law_free(&law);
  ts_zipf_free(&zipf);
  free(keys);
}

/* OpenEmbedding's law and 2 GiB of rows of 256 bytes: 8.9 % of the lookups miss, and of rows counted once a batch 9.6 % with
 * 1e4 lookups a batch, 13.4 % with 1e5, 23 % with 1e6. */
static void published_figures(void) {
  ts_law law;
  CHECK(ts_law_zipf(2100000000, 1.346, 4300, NULL, 0, &law, err) == TS_OK);
  static const uint64_t size[] = {(UINT64_C(2) << 30) / 256};
  static const struct {
    const char *options;
    double misses;
  } known[] = {{"batch=1", 0.089}, {"batch=10000", 0.096}, {"batch=100000", 0.134}, {"batch=1000000", 0.232}};
  for (int i = 0; i < 4; i++) {
    double ratio = law_curve_of(known[i].options, &law, size, 1, NULL)[0];
    CHECK_MSG(ratio > known[i].misses - 0.0006 && ratio < known[i].misses + 0.0006, "%s: %.4f", known[i].options, ratio);
    char options[100];
    snprintf(options, sizeof options, "%s method=sampled", known[i].options);
    double model = law_curve_of(options, &law, size, 1, NULL)[0];
    CHECK_MSG(model > ratio - 0.01 && model < ratio + 0.01, "%s: %.4f, the formula %.4f", options, model, ratio);
  }
  ts_law_free(&law);
}

/* FIFO and RANDOM against simple caches. */
static void fifo_and_random(void) {
  enum { ROWS = 2000, SIZE = 300, N = 600000 };
  static int64_t place[SIZE];
  static bool in[ROWS];
  ts_law law;
  ts_law_draw draw;
  CHECK(ts_law_zipf(ROWS, 0.8, 0, NULL, 0, &law, err) == TS_OK && ts_law_draw_create(&law, &draw, err) == TS_OK);
  for (int random = 0; random < 2; random++) {
    uint64_t misses = 0, used = 0;
    memset(in, 0, sizeof in);
    for (uint64_t i = 0; i < N; i++) {
      const uint64_t row = ts_law_row(&draw, ts_random64(8, 0, i));
      if (in[row]) continue;
      misses += i >= N / 3;
      const uint64_t at = used < SIZE ? used : random ? ts_random64(9, 0, i) % SIZE : used % SIZE;
      if (used++ >= SIZE) in[place[at]] = false;
      place[at] = (int64_t)row;
      in[row] = true;
    }
    const double found = (double)misses / (N - N / 3);
    const double formula = ts_formula_misses(&law, random ? TS_FORMULA_RANDOM : TS_FORMULA_FIFO, SIZE, 1);
    CHECK_MSG(found > formula - 0.005 && found < formula + 0.005, "%.4f, the formula has %.4f", found, formula);
  }
  ts_law_draw_free(&draw);
  ts_law_free(&law);
}

/* Rows and weight stay; the model has as many rows as its share; its popular rows stand for their neighbours. */
static void models_keep_the_law(void) {
  static const double shares[] = {1, 0.5, 0.013, 1e-6, 1e-10};
  for (int i = 0; i < 5; i++) {
    ts_law law, model;
    CHECK(ts_law_zipf(100000007, 1.05, 3, NULL, 0, &law, err) == TS_OK);
    CHECK(ts_law_scale(&law, shares[i], &model, err) == TS_OK);
    const double rows = 100000007 * shares[i];
    CHECK_MSG((double)model.rows >= rows - 1 && (double)model.rows <= rows + 1, "%g: %llu rows", shares[i],
              (unsigned long long)model.rows);
    CHECK_MSG(model.total > law.total * (1 - 1e-9) && model.total < law.total * (1 + 1e-9), "%g", shares[i]);
    for (double part = 0.01; part < 1 && model.rows > 1000; part += 0.09) {
      const double a = top_share(&law, (uint64_t)((double)law.rows * part));
      const double b = top_share(&model, (uint64_t)((double)model.rows * part));
      CHECK_MSG(a > b - 0.001 && a < b + 0.001, "%g, top %g: %g and %g", shares[i], part, a, b);
    }
    ts_law_free(&law);
    ts_law_free(&model);
  }
}

static void limits(void) {
  static const uint64_t sizes[] = {0, 1, 2, 1000};
  static int64_t keys[1000];
  static const char *const ways[] = {"policy=lru", "policy=lru method=sampled", "policy=lru batch=10", "policy=clock",
                                     "policy=opt batch=7", "policy=tinylfu batch=1000 method=sampled"};
  for (int w = 0; w < 6; w++) {
    double facts[6];
    memset(keys, 0, sizeof keys); /* one key: all hits but the first */
    double *r = curve_of(ways[w], keys, 1000, sizes, 4, facts);
    CHECK_MSG(r[0] == 1 && r[1] == 1 / facts[0] && r[3] == 1 / facts[0], "%s: %g %g of %g", ways[w], r[0], r[1], facts[0]);
    for (int64_t i = 0; i < 1000; i++) keys[i] = i * 977; /* all misses */
    r = curve_of(ways[w], keys, 1000, sizes, 4, facts);
    CHECK_MSG(r[0] == 1 && r[3] == 1 && facts[0] == 1000, "%s", ways[w]);
    r = curve_of(ways[w], NULL, 0, sizes, 4, facts); /* nothing */
    CHECK_MSG(r[0] == 0 && facts[0] == 0 && facts[1] == 0, "%s", ways[w]);
    curve_of(ways[w], keys, 1000, NULL, 0, facts);
  }
  static const char *const law_ways[] = {"policy=lru", "policy=fifo batch=5", "policy=popular", "policy=lru method=sampled",
                                         "policy=sieve method=sampled batch=5", "policy=opt method=sampled"};
  for (int w = 0; w < 6; w++) {
    ts_law law;
    CHECK(ts_law_zipf(1, 1, 0, NULL, 0, &law, err) == TS_OK); /* one row */
    double *r = law_curve_of(law_ways[w], &law, sizes, 4, NULL);
    CHECK_MSG(r[0] == 1 && r[1] == 0 && r[3] == 0, "%s: %g %g", law_ways[w], r[0], r[1]);
    ts_law_free(&law);
    CHECK(ts_law_zipf(UINT64_C(1000000000000), 0, 0, NULL, 0, &law, err) == TS_OK); /* nothing comes again */
    r = law_curve_of(law_ways[w], &law, sizes, 4, NULL);
    CHECK_MSG(r[0] == 1 && r[1] > 0.999 && r[3] > 0.999, "%s: %g %g", law_ways[w], r[0], r[1]);
    ts_law_free(&law);
    static const ts_law_bucket idle[] = {{3, 1}, {1000000, 0}}; /* rows that nobody asks for */
    CHECK(ts_law_buckets(idle, 2, &law, err) == TS_OK);
    static const uint64_t three[] = {2, 3};
    r = law_curve_of(law_ways[w], &law, three, 2, NULL);
    CHECK_MSG(r[0] > 0.1 && r[0] < 0.9 && r[1] == 0, "%s: %g %g", law_ways[w], r[0], r[1]);
    ts_law_free(&law);
  }
}

/* Within one size after another, and the same twice. */
static void curves_fall_and_repeat(void) {
  ts_law law;
  uint64_t sizes[40];
  for (uint32_t i = 0; i < 40; i++) sizes[i] = (uint64_t)ts_det_pow(1.9, i + 1.0) + i;
  CHECK(ts_law_zipf(UINT64_C(1000000000000), 1.05, 0, NULL, 0, &law, err) == TS_OK);
  static const char *const ways[] = {"policy=lru", "policy=fifo", "policy=popular", "policy=lru batch=100000"};
  for (int w = 0; w < 4; w++) {
    double *r = law_curve_of(ways[w], &law, sizes, 40, NULL);
    for (uint32_t i = 1; i < 40; i++) CHECK_MSG(r[i] < r[i - 1], "%s: %g after %g", ways[w], r[i], r[i - 1]);
  }
  double facts[6], *once = law_curve_of("policy=s3fifo method=sampled samples=500", &law, sizes + 20, 3, facts);
  double *twice = law_curve_of("policy=s3fifo method=sampled samples=500", &law, sizes + 20, 3, facts);
  CHECK(memcmp(once, twice, 3 * sizeof *once) == 0);
  ts_law_free(&law);
}

static void estimates_and_memory(void) {
  enum { MOST = 3000000 };
  int64_t *keys = malloc(MOST * sizeof *keys);
  for (int64_t i = 0; i < MOST; i++) keys[i] = i * 3 - 1000;
  for (uint64_t n = 1; n <= MOST; n = n * 3 + 1) {
    const double estimate = (double)ts_distinct_estimate(keys, n);
    CHECK_MSG(estimate <= (double)n && estimate > 0.97 * (double)n - 1, "%llu keys: %g", (unsigned long long)n, estimate);
  }
  double facts[6];
  static const uint64_t sizes[] = {1000000, 2000000, 3000000};
  double *r = curve_of("policy=lru", keys, MOST, sizes, 3, facts);
  CHECK(r[0] == 1 && facts[1] == MOST);
  CHECK_MSG(facts[5] <= 24.0 * MOST, "%g bytes a row", facts[5] / MOST);
  /* What is gathered of a stream counts: for Belady's each row once a batch (8 bytes) beside its own 4, for samples what is kept. */
  curve_of("policy=opt batch=100", keys, MOST, sizes, 1, facts);
  CHECK_MSG(facts[5] >= 12.0 * MOST, "%g bytes a row", facts[5] / MOST);
  curve_of("policy=sieve batch=100 method=sampled rate=0.5", keys, MOST, sizes, 1, facts);
  CHECK_MSG(facts[5] >= 4.0 * MOST && facts[5] <= 40.0 * MOST, "%g bytes a row", facts[5] / MOST);
  free(keys);
}

static void bad_input_is_named(void) {
  static const uint64_t falling[] = {5, 5}, size[] = {5};
  const int64_t key = 1;
  double ratio;
  ts_config *config = options_of("policy=mru");
  CHECK(ts_simulate_curve(config, &key, 1, size, 1, &ratio, NULL, message, sizeof message) == TS_EINVAL);
  CHECK_MSG(strstr(message, "mru") != NULL, "%s", message);
  ts_config_free(config);
  config = options_of("policy=clock");
  const uint64_t rows = 5;
  const double weight = 1;
  CHECK(ts_simulate_law_curve(config, &rows, &weight, 1, size, 1, &ratio, NULL, message, sizeof message) == TS_EINVAL);
  CHECK_MSG(strstr(message, "clock") != NULL && strstr(message, "popular") != NULL, "%s", message);
  ts_config_free(config);
  config = options_of("batch=0");
  CHECK(ts_simulate_curve(config, &key, 1, size, 1, &ratio, NULL, message, sizeof message) == TS_EINVAL);
  ts_config_free(config);
  config = options_of("batches=5");
  CHECK(ts_simulate_curve(config, &key, 1, size, 1, &ratio, NULL, message, sizeof message) == TS_EINVAL);
  ts_config_free(config);
  config = options_of("batch=2");
  CHECK(ts_simulate_curve(config, &key, 1, falling, 2, &ratio, NULL, message, sizeof message) == TS_EINVAL);
  CHECK_MSG(strstr(message, "rising") != NULL, "%s", message);
  CHECK(ts_simulate_curve(config, NULL, 1, size, 1, &ratio, NULL, message, sizeof message) == TS_EINVAL);
  CHECK(ts_simulate_law_curve(config, NULL, NULL, 0, size, 1, &ratio, NULL, message, sizeof message) == TS_EINVAL);
  ts_config_free(config);
  uint32_t needed = 0;
  config = options_of("rows=1000 s=1");
  CHECK(ts_simulate_law(config, NULL, 0, NULL, NULL, 0, &needed, message, sizeof message) == TS_ERANGE && needed > 50);
  ts_config_free(config);
}

/* Keys stay in their places when others leave: every bucket has been passed by a key that is still there, and has room. */
static void absent_keys_are_looked_for_once_around(void) {
  ts_key_table table;
  CHECK(ts_key_table_init(&table, 1, 1) && table.count == 4);
  int64_t key = 0;
  for (uint64_t bucket = 0; bucket < table.count; bucket++) {
    int64_t own[TS_BUCKET_KEYS];
    uint32_t n = 0;
    while (table.buckets[bucket].past == 0) {
      while (ts_key_home(&table, ts_key_hash(++key)) != bucket) {}
      const uint32_t entry = ts_key_add(&table, key, bucket, 0);
      if (entry >> 3 == bucket) own[n++] = key;
    }
    while (n > 0) ts_key_remove(&table, ts_key_find(&table, own[--n], bucket));
  }
  alarm(20); /* a search without an end */
  for (int64_t absent = key + 1; absent < key + 100; absent++)
    CHECK(ts_key_find(&table, absent, ts_key_home(&table, ts_key_hash(absent))) == TS_NO_ENTRY);
  alarm(0);
  ts_key_table_free(&table);
}

int main(void) {
  absent_keys_are_looked_for_once_around();
  distances_are_replays();
  batches_count_a_row_once();
  all_ways_agree();
  samples_of_policies();
  published_figures();
  fifo_and_random();
  models_keep_the_law();
  limits();
  curves_fall_and_repeat();
  estimates_and_memory();
  bad_input_is_named();
  return test_result();
}
