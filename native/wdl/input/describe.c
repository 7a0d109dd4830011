/* describe.c - what a cache file holds, as text. */
#include "wdl/input/criteo_field.h"

#include <math.h>

static void add_known(ts_text *text, const char *name, double value) {
  if (!isnan(value)) ts_text_add(text, "%s=%.9g\n", name, value);
}

/* The sum always, so that "none" is said; kinds where there are some. */
static void add_skipped(ts_text *text, const ts_cache_header *h) {
  uint64_t sum = 0;
  for (uint32_t k = 0; k < TS_FAULTS; k++) sum += h->skipped[k];
  ts_text_add(text, "skipped=%llu\n", (unsigned long long)sum);
  for (uint32_t k = 0; k < TS_FAULTS; k++)
    if (h->skipped[k] > 0) ts_text_add(text, "skipped.%s=%llu\n", ts_fault_name(k), (unsigned long long)h->skipped[k]);
  if (sum > 0) ts_text_add(text, "skipped.first=%s\n", h->first_skipped);
}

int32_t ts_data_describe(const char *path, char *out, uint64_t cap, uint64_t *needed, char *err_text,
                         uint32_t err_cap) {
  ts_err err = {err_text, err_cap};
  ts_cache cache;
  int32_t status = ts_cache_open(path, &cache, err);
  if (status != TS_OK) return status;
  const ts_cache_header *h = &cache.header;
  ts_text text = {0};
  bool synthetic = h->vocabulary == TS_VOCABULARY_SYNTHETIC;
  ts_text_add(&text, "source=%s\nrows=%llu\ndigest=%016llx\nbytes=%llu\n", synthetic ? "synthetic" : "imported",
              (unsigned long long)h->rows, (unsigned long long)h->key_digest, (unsigned long long)h->file_bytes);
  for (uint32_t c = 0; c < TS_CATEGORIES; c++)
    ts_text_add(&text, "cardinality.%u=%llu\n", c, (unsigned long long)h->cardinality[c]);
  add_known(&text, "click_rate", h->click_rate);
  ts_text_add(&text, "numerics=%s\n", ts_numerics_names[h->numerics]);
  if (!synthetic) add_skipped(&text, h);
  if (synthetic) {
    ts_text_add(&text, "split=%s\nseed=%llu\n", h->split == 0 ? "train" : "test", (unsigned long long)h->seed);
    add_known(&text, "scale", h->scale);
    add_known(&text, "skew_s", h->skew_s);
    add_known(&text, "skew_q", h->skew_q);
    add_known(&text, "planted_auc", h->planted_auc);
    add_known(&text, "planted_logloss", h->planted_logloss);
    add_known(&text, "numeric_auc", h->numeric_auc);
    add_known(&text, "categorical_variance", h->categorical_variance);
  }
  add_known(&text, "unseen_share", h->unseen_share);
  ts_cache_close(&cache);
  return ts_text_tell(&text, path, out, cap, needed, err);
}
