/* Synthetic Criteo: the same bytes with any number of threads, and the promises of the planted model. */
#include "test/wdl_fixture.h"
#include "wdl/common/metrics.h"
#include "wdl/input/planted.h"

#include <math.h>

static char *read_file(const char *path, size_t *n) {
  FILE *f = fopen(path, "rb");
  if (f == NULL) return NULL;
  fseek(f, 0, SEEK_END);
  *n = (size_t)ftell(f);
  rewind(f);
  char *bytes = malloc(*n);
  if (fread(bytes, 1, *n, f) != *n) *n = 0;
  fclose(f);
  return bytes;
}

static int32_t generate(const char *name, const char *rows, const char *split, const char *seed, const char *threads) {
  return run(ts_data_generate,
             options("out", in_folder(name), "rows", rows, "split", split, "seed", seed, "threads", threads, "scale",
                     "0.002", NULL),
             NULL);
}

static void files_do_not_depend_on_threads(void) {
  CHECK(generate("a.cache", "5000", "train", "7", "1") == TS_OK);
  CHECK(generate("b.cache", "5000", "train", "7", "3") == TS_OK);
  CHECK(generate("c.cache", "5000", "train", "8", "3") == TS_OK);
  size_t a_size, b_size, c_size;
  char *a = read_file(in_folder("a.cache"), &a_size), *b = read_file(in_folder("b.cache"), &b_size),
       *c = read_file(in_folder("c.cache"), &c_size);
  CHECK(a_size == b_size && memcmp(a, b, a_size) == 0);
  CHECK(a_size == c_size && memcmp(a, c, a_size) != 0);
  free(a);
  free(b);
  free(c);
  /* Same key stream on every machine: these figures must never change by themselves. */
  ts_cache cache;
  CHECK(ts_cache_open(in_folder("a.cache"), &cache, (ts_err){message, sizeof message}) == TS_OK);
  CHECK_MSG(cache.header.key_digest == UINT64_C(0x122a902bbca6ba79), "digest %llx",
            (unsigned long long)cache.header.key_digest);
  ts_cache_close(&cache);
}

static void planted_model_keeps_its_promises(void) {
  CHECK(generate("train.cache", "120000", "train", "1", "2") == TS_OK);
  CHECK(run(ts_data_generate,
            options("out", in_folder("test.cache"), "rows", "40000", "split", "test", "seed", "1", "scale", "0.002",
                    "train", in_folder("train.cache"), NULL),
            NULL) == TS_OK);
  const char *path = in_folder("test.cache");
  double auc = described(path, "planted_auc"), numeric = described(path, "numeric_auc");
  CHECK_MSG(auc > 0.75 && auc < 0.85, "%f", auc);
  CHECK_MSG(numeric < auc - 0.05 && numeric > 0.55, "%f", numeric);
  double share = described(path, "categorical_variance"), unseen = described(path, "unseen_share"),
         clicks = described(path, "click_rate");
  CHECK_MSG(share >= 0.5 && share < 0.7, "%f", share);
  CHECK_MSG(unseen > 0.001 && unseen < 0.1, "%f", unseen);
  CHECK_MSG(clicks > 0.2 && clicks < 0.3, "%f", clicks);
  CHECK(isnan(described(in_folder("train.cache"), "unseen_share"))); /* not known, so not said */
  CHECK(described(path, "cardinality.2") == (double)ts_planted_vocabulary(2, 0.002));
  /* The train file must belong to the test rows. */
  CHECK(run(ts_data_generate,
            options("out", in_folder("x.cache"), "rows", "10", "split", "test", "seed", "2", "scale", "0.002", "train",
                    in_folder("train.cache"), NULL),
            NULL) == TS_EINVAL);
}

/* The figures in the header are those of the rows: recomputed from labels and keys alone. */
static void header_figures_belong_to_the_rows(void) {
  ts_planted_options o = {.seed = 1, .split = 1, .scale = 0.002, .skew_s = 1.15, .skew_q = 2.7};
  ts_planted *planted;
  ts_err err = {message, sizeof message};
  CHECK(ts_planted_create(&o, &planted, err) == TS_OK);
  ts_cache cache;
  CHECK(ts_cache_open(in_folder("test.cache"), &cache, err) == TS_OK);
  enum { N = 40000 };
  static int64_t keys[N];
  static float labels[N];
  static double logit[N];
  static uint64_t ranked[N], scratch[N];
  CHECK(ts_cache_read(&cache, 0, N, N, labels, NULL, NULL, err) == TS_OK);
  int strangers = 0;
  for (uint32_t c = 0; c < TS_CATEGORIES; c++) {
    CHECK(ts_cache_read_column(&cache, c, 0, N, keys, err) == TS_OK);
    for (uint32_t i = 0; i < N; i++) {
      uint64_t rank = ts_planted_rank(planted->key_mask, c, keys[i]);
      strangers += rank >= planted->ranks[c].n || ts_planted_key(planted->key_mask, c, rank) != keys[i];
      logit[i] += ts_planted_effect(planted, c, rank);
    }
  }
  CHECK_MSG(strangers == 0, "%d keys outside the vocabulary", strangers);
  double mean = 0, square = 0;
  for (uint32_t i = 0; i < N; i++) {
    mean += logit[i] / N;
    square += logit[i] * logit[i] / N;
    ranked[i] = ts_ranked((float)logit[i], labels[i] > 0);
  }
  double wanted = TS_PLANTED_DEVIATION * TS_PLANTED_DEVIATION * TS_PLANTED_CATEGORICAL;
  CHECK_MSG(fabs(mean) < 0.05 && fabs(square - mean * mean - wanted) < 0.05, "mean %f variance %f", mean,
            square - mean * mean);
  double auc = ts_auc(ranked, scratch, N);
  CHECK_MSG(auc > cache.header.numeric_auc && auc < cache.header.planted_auc, "AUC of the columns alone %f", auc);
  ts_cache_close(&cache);
  ts_planted_free(planted);
}

/* Frequencies of the sampler against the law, for a flat, a usual and a steep one. */
static void ranks_follow_the_law(void) {
  const double laws[][2] = {{0, 0}, {1.05, 2.7}, {1.0, 0.05}, {2.0, 0}, {1.346, 4300}};
  for (uint32_t k = 0; k < 5; k++) {
    ts_zipf zipf;
    enum { RANKS = 70000, DRAWS = 400000 };
    CHECK(ts_zipf_create(RANKS, laws[k][0], laws[k][1], &zipf, (ts_err){message, sizeof message}) == TS_OK);
    static uint32_t counts[RANKS];
    memset(counts, 0, sizeof counts);
    for (uint64_t i = 0; i < DRAWS; i++) {
      uint64_t rank = ts_zipf_rank(&zipf, ts_random64(5, k, i));
      if (rank < RANKS) counts[rank]++;
      else CHECK(rank < RANKS);
    }
    double total = ts_zipf_weight_sum(&zipf, RANKS), by_hand = 0;
    for (uint64_t r = 0; r < RANKS; r++) by_hand += ts_zipf_weight(&zipf, r);
    CHECK_MSG(fabs(by_hand / total - 1) < 1e-9, "law %u: %.12f", k, by_hand / total);
    /* Cumulated counts at powers of two, within five standard deviations. */
    double expected = 0;
    uint64_t found = 0;
    for (uint64_t r = 0; r < RANKS; r++) {
      expected += ts_zipf_weight(&zipf, r) / total;
      found += counts[r];
      if ((r & (r + 1)) != 0) continue;
      double deviation = sqrt(expected * (1 - expected) / DRAWS) + 1e-9;
      CHECK_MSG(fabs((double)found / DRAWS - expected) < 5 * deviation, "law %u, first %llu ranks: %f, expected %f", k,
                (unsigned long long)r + 1, (double)found / DRAWS, expected);
    }
    ts_zipf_free(&zipf);
  }
}

static void options_and_cancelling(void) {
  CHECK(run(ts_data_generate, options("rows", "10", NULL), NULL) == TS_EINVAL && strstr(message, "\"out\"") != NULL);
  CHECK(run(ts_data_generate, options("out", in_folder("x.cache"), NULL), NULL) == TS_EINVAL &&
        strstr(message, "\"rows\"") != NULL);
  CHECK(run(ts_data_generate, options("out", in_folder("x.cache"), "rows", "10", "skale", "1", NULL), NULL) ==
        TS_EINVAL);
  CHECK(run(ts_data_generate, options("out", in_folder("x.cache"), "rows", "10", "scale", "1.5", NULL), NULL) ==
        TS_EINVAL);
  uint64_t control[TS_CONTROL_WORDS] = {1};
  CHECK(run(ts_data_generate, options("out", in_folder("x.cache"), "rows", "9999", "scale", "0.001", NULL), control) ==
        TS_ECANCELLED);
  CHECK(files_named("x.cache") == 0);
  uint64_t sum = 0;
  for (uint32_t c = 0; c < TS_CATEGORIES; c++) sum += ts_planted_vocabulary(c, 1);
  CHECK(sum == 33762577);
}

int main(void) {
  make_folder();
  files_do_not_depend_on_threads();
  planted_model_keeps_its_promises();
  header_figures_belong_to_the_rows();
  ranks_follow_the_law();
  options_and_cancelling();
  remove_folder();
  return test_result();
}
