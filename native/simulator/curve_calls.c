/* curve_calls.c - the public calls about miss ratios: options, checks, and the method that was asked for. */
#include "simulator/analytic.h"
#include "simulator/curve.h"
#include "simulator/key_sample.h"

#include "cache/policy.h"

#include <stdlib.h>
#include <string.h>

#define SAMPLES_OF_KEYS 1048576u
#define PLACES_OF_MODEL 16384u
#define MOST_BATCH (UINT64_C(1) << 31)
/* Of a batch's table, a lookup; and what a sample must have beside it. */
#define BYTES_OF_BATCH 26u
#define LEAST_SAMPLE (UINT64_C(8) << 20)

int32_t ts_simulate_law(const ts_config *config, const double *hitters, uint32_t n, uint64_t *rows, double *weights,
                        uint32_t cap, uint32_t *needed, char *err, uint32_t err_cap) {
  const ts_err e = {err, err_cap};
  ts_config_reader r = ts_config_read(config, "popularity law", e);
  const uint64_t count = ts_config_u64(&r, "rows", 0, 0, UINT64_MAX);
  const double s = ts_config_f64(&r, "s", 1.05, 0, 100), q = ts_config_f64(&r, "q", 0, 0, 1e15);
  int32_t status = ts_config_finish(&r);
  if (status != TS_OK) return status;
  if (needed == NULL || (n > 0 && hitters == NULL) || (cap > 0 && (rows == NULL || weights == NULL)))
    return ts_fail(e, TS_EINVAL, "Cannot make the popularity law: hitters, rows, weights and needed must not be NULL");
  ts_law law;
  status = ts_law_zipf(count, s, q, hitters, n, &law, e);
  if (status != TS_OK) return status;
  *needed = law.count;
  if (law.count > cap) {
    status = ts_fail(e, TS_ERANGE, "Cannot copy the popularity law: it has %u buckets, there is room for %u", law.count, cap);
  } else {
    for (uint32_t i = 0; i < law.count; i++) {
      rows[i] = law.buckets[i].rows;
      weights[i] = law.buckets[i].weight;
    }
  }
  ts_law_free(&law);
  return status;
}

static int32_t check_sizes(const uint64_t *sizes, uint32_t count, const double *ratios, ts_err err) {
  if (count > 0 && (sizes == NULL || ratios == NULL))
    return ts_fail(err, TS_EINVAL, "Cannot make a miss-ratio curve: sizes and ratios must not be NULL");
  for (uint32_t i = 1; i < count; i++)
    if (sizes[i] <= sizes[i - 1])
      return ts_fail(err, TS_EINVAL, "Cannot make a miss-ratio curve: size %u is %llu after %llu; give rising sizes", i,
                     (unsigned long long)sizes[i], (unsigned long long)sizes[i - 1]);
  return TS_OK;
}

static void give(double *facts, const ts_curve_facts *f) {
  if (facts == NULL) return;
  facts[0] = f->lookups;
  facts[1] = f->distinct;
  facts[2] = f->cold;
  facts[3] = f->rate;
  facts[4] = (double)f->replayed;
  facts[5] = (double)f->bytes;
}

/* lru, ..., opt: what can be replayed. */
static const char *const replayed[] = {"lru", "lfu", "clock", "s3fifo", "sieve", "tinylfu", "opt", NULL};
_Static_assert(sizeof replayed / sizeof *replayed == TS_POLICIES + 2, "every policy of the store, and opt");

int32_t ts_simulate_curve(const ts_config *config, const int64_t *keys, uint64_t n, const uint64_t *sizes, uint32_t count,
                          double *ratios, double *facts, char *err, uint32_t err_cap) {
  static const char *const methods[] = {"exact", "sampled", NULL};
  const ts_err e = {err, err_cap};
  ts_config_reader r = ts_config_read(config, "miss-ratio curve", e);
  ts_curve_ask ask = {.sizes = sizes, .count = count};
  ask.policy = replayed[ts_config_choice(&r, "policy", "lru", replayed)];
  const bool sampled = ts_config_choice(&r, "method", "exact", methods) == 1;
  ask.batch = ts_config_u64(&r, "batch", 1, 1, MOST_BATCH);
  ask.uncounted = ts_config_u64(&r, "uncounted", 0, 0, UINT64_MAX);
  ask.samples = ts_config_u64(&r, "samples", SAMPLES_OF_KEYS, 1, UINT64_C(1) << 32);
  ask.rate = ts_config_f64(&r, "rate", 0, 0, 1);
  int32_t status = ts_config_finish(&r);
  if (status == TS_OK) status = check_sizes(sizes, count, ratios, e);
  if (status != TS_OK) return status;
  if (keys == NULL && n > 0) return ts_fail(e, TS_EINVAL, "Cannot make a miss-ratio curve: keys is NULL");
  ts_curve_facts found = {0};
  status = (sampled ? ts_curve_sampled : ts_curve_exact)(&ask, keys, n, ratios, &found, e);
  give(facts, &found);
  return status;
}

int32_t ts_key_sample_create(const ts_config *config, ts_key_sample **out, char *err, uint32_t err_cap) {
  const ts_err e = {err, err_cap};
  if (out == NULL) return ts_fail(e, TS_EINVAL, "Cannot sample keys: out is NULL");
  *out = NULL;
  ts_config_reader r = ts_config_read(config, "sample of keys", e);
  const uint64_t batch = ts_config_u64(&r, "batch", 1, 1, MOST_BATCH), bytes = ts_config_u64(&r, "bytes", 0, 0, UINT64_MAX),
                 rows = ts_config_u64(&r, "rows", 0, 0, UINT64_MAX);
  int32_t status = ts_config_finish(&r);
  if (status != TS_OK) return status;
  const uint64_t table = batch == 1 ? 0 : batch * BYTES_OF_BATCH, least = 2 * table + LEAST_SAMPLE;
  if (bytes > 0 && bytes < least)
    return ts_fail(e, TS_EINVAL, "Cannot sample keys: %llu bytes may be used, batches of %llu lookups need %llu",
                   (unsigned long long)bytes, (unsigned long long)batch, (unsigned long long)least);
  ts_key_sample *s = malloc(sizeof *s);
  if (s == NULL || !ts_key_sample_init(s, batch, 0, 0)) {
    free(s);
    return ts_fail(e, TS_ENOMEM, "Cannot sample keys: out of memory");
  }
  s->most_bytes = bytes;
  s->most_rows = rows;
  *out = s;
  return TS_OK;
}

int32_t ts_key_sample_close(ts_key_sample *sample) {
  if (sample != NULL) ts_key_sample_free(sample);
  free(sample);
  return TS_OK;
}

int32_t ts_key_sample_add(ts_key_sample *sample, const int64_t *keys, uint64_t n, int64_t mix, char *err, uint32_t err_cap) {
  const ts_err e = {err, err_cap};
  if (sample == NULL || (keys == NULL && n > 0)) return ts_fail(e, TS_EINVAL, "Cannot sample keys: an argument is NULL");
  if (ts_key_sample_append(sample, keys, n, mix)) return TS_OK;
  return ts_fail(e, TS_ENOMEM, "Cannot sample keys: out of memory");
}

int32_t ts_key_sample_facts(const ts_key_sample *sample, double *out, char *err, uint32_t err_cap) {
  if (sample == NULL || out == NULL) return ts_fail((ts_err){err, err_cap}, TS_EINVAL, "Cannot sample keys: an argument is NULL");
  out[0] = (double)sample->added;
  out[1] = (double)sample->n;
  out[2] = ts_key_sample_rate(sample);
  out[3] = (double)ts_distinct_of(&sample->distinct, sample->added);
  out[4] = (double)sample->rows;
  out[5] = (double)ts_key_sample_bytes(sample);
  return TS_OK;
}

int32_t ts_key_sample_curve(const ts_key_sample *sample, const ts_config *config, const uint64_t *sizes, uint32_t count,
                            double *ratios, double *errors, double *facts, char *err, uint32_t err_cap) {
  const ts_err e = {err, err_cap};
  if (sample == NULL) return ts_fail(e, TS_EINVAL, "Cannot make a miss-ratio curve: the sample is NULL");
  ts_config_reader r = ts_config_read(config, "miss-ratio curve of a sample", e);
  ts_curve_ask ask = {.batch = sample->batch, .sizes = sizes, .count = count};
  ask.policy = replayed[ts_config_choice(&r, "policy", "lru", replayed)];
  int32_t status = ts_config_finish(&r);
  if (status == TS_OK) status = check_sizes(sizes, count, ratios, e);
  if (status != TS_OK) return status;
  ts_curve_facts found = {0};
  status = ts_curve_of_sample(&ask, sample, ratios, errors, &found, e);
  give(facts, &found);
  return status;
}

int32_t ts_key_sample_keys(const ts_key_sample *sample, int64_t *out, uint64_t cap, uint64_t *n, char *err, uint32_t err_cap) {
  const ts_err e = {err, err_cap};
  if (sample == NULL || n == NULL || (out == NULL && cap > 0)) return ts_fail(e, TS_EINVAL, "Cannot write the kept keys: an argument is NULL");
  *n = sample->n;
  if (sample->n > cap)
    return ts_fail(e, TS_ERANGE, "Cannot write the kept keys: there are %llu, and there is room for %llu", (unsigned long long)sample->n,
                   (unsigned long long)cap);
  if (sample->n > 0) memcpy(out, sample->keys, sample->n * sizeof *out);
  return TS_OK;
}

static int32_t read_law(const uint64_t *rows, const double *weights, uint32_t n, ts_law *law, ts_err err) {
  if (n > 0 && (rows == NULL || weights == NULL))
    return ts_fail(err, TS_EINVAL, "Cannot make a miss-ratio curve: rows and weights of the law must not be NULL");
  ts_law_bucket *buckets = calloc(TS_MAX(n, 1), sizeof *buckets);
  if (buckets == NULL) return ts_fail(err, TS_ENOMEM, "Cannot make a miss-ratio curve: out of memory");
  for (uint32_t i = 0; i < n; i++) buckets[i] = (ts_law_bucket){rows[i], weights[i]};
  int32_t status = ts_law_buckets(buckets, n, law, err);
  free(buckets);
  return status;
}

int32_t ts_simulate_law_curve(const ts_config *config, const uint64_t *rows, const double *weights, uint32_t buckets,
                              const uint64_t *sizes, uint32_t count, double *ratios, double *facts, char *err,
                              uint32_t err_cap) {
  static const char *const methods[] = {"analytic", "sampled", NULL};
  const ts_err e = {err, err_cap};
  ts_config_reader r = ts_config_read(config, "miss-ratio curve", e);
  ts_curve_ask ask = {.sizes = sizes, .count = count};
  const bool sampled = ts_config_choice(&r, "method", "analytic", methods) == 1;
  uint32_t formula = 0;
  if (sampled) ask.policy = replayed[ts_config_choice(&r, "policy", "lru", replayed)];
  else formula = ts_config_choice(&r, "policy", "lru", ts_formula_names);
  ask.batch = ts_config_u64(&r, "batch", 1, 1, MOST_BATCH);
  ask.samples = ts_config_u64(&r, "samples", PLACES_OF_MODEL, 1, UINT64_C(1) << 30);
  ask.seed = ts_config_u64(&r, "seed", 0, 0, UINT64_MAX);
  int32_t status = ts_config_finish(&r);
  if (status == TS_OK) status = check_sizes(sizes, count, ratios, e);
  if (status != TS_OK) return status;
  ts_law law;
  status = read_law(rows, weights, buckets, &law, e);
  if (status != TS_OK) return status;
  ts_curve_facts found = {.lookups = ts_law_distinct(&law, (double)ask.batch), .distinct = (double)law.rows};
  if (sampled) status = ts_curve_law_sampled(&ask, &law, ratios, &found, e);
  else
    for (uint32_t i = 0; i < count; i++) ratios[i] = ts_formula_misses(&law, (ts_formula)formula, sizes[i], ask.batch);
  give(facts, &found);
  ts_law_free(&law);
  return status;
}
