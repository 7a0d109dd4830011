/* null.c - a tier that keeps nothing: what is put is gone, what is got was never there. A store over it does all that a
 * store of records does but hold rows, so a bench over it measures the store and not a medium. */
#include "tiers/records.h"

/* Stands for every table: there is nothing to tell them apart by. */
static char nothing;

static int32_t null_read_options(ts_config_reader *reader, void **options) {
  *options = NULL;
  return reader->status;
}

static int32_t null_open(const ts_records_options *options, ts_records **out, ts_err err) {
  (void)options, (void)err;
  *out = (ts_records *)(void *)&nothing;
  return TS_OK;
}

static void null_close(ts_records *records, bool keep) { (void)records, (void)keep; }

static int32_t null_put(ts_records *records, uint32_t n, const int64_t *keys, const uint64_t *versions,
                        const unsigned char *const *rows, const uint8_t *known, ts_err err) {
  (void)records, (void)n, (void)keys, (void)versions, (void)rows, (void)known, (void)err;
  return TS_OK;
}

static int32_t null_contains(ts_records *records, uint32_t n, const int64_t *keys, uint8_t *found, ts_err err) {
  (void)records, (void)keys, (void)err;
  for (uint32_t i = 0; i < n; i++) found[i] = 0;
  return TS_OK;
}

static int32_t null_get(ts_records *records, uint32_t n, const int64_t *keys, unsigned char *const *rows, uint8_t *found,
                        ts_err err) {
  (void)rows;
  return null_contains(records, n, keys, found, err);
}

static int32_t null_remove(ts_records *records, uint32_t n, const int64_t *keys, const uint8_t *known, ts_err err) {
  (void)records, (void)n, (void)keys, (void)known, (void)err;
  return TS_OK;
}

static int32_t null_walk(ts_records *records, uint64_t *cursor, uint32_t n, int64_t *keys, uint64_t *versions,
                         unsigned char *const *rows, uint32_t *got, ts_err err) {
  (void)records, (void)cursor, (void)n, (void)keys, (void)versions, (void)rows, (void)err;
  *got = 0;
  return TS_OK;
}

static int32_t null_flush(ts_records *records, ts_err err) {
  (void)records, (void)err;
  return TS_OK;
}

static void null_count(ts_records *records, ts_records_counts *out) {
  (void)records;
  *out = (ts_records_counts){0};
}

static void null_describe(const ts_records *records, ts_text *text) { (void)records, (void)text; }

const ts_records_ops ts_null_records = {
    .type = "NULL",
    .place = "NULL",
    .read_options = null_read_options,
    .open = null_open,
    .close = null_close,
    .put = null_put,
    .get = null_get,
    .contains = null_contains,
    .remove = null_remove,
    .walk = null_walk,
    .flush = null_flush,
    .count = null_count,
    .describe = null_describe,
};
