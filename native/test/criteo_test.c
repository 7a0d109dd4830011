/* Import of Criteo text: every variant of the form gives the same rows; every kind of broken input is named. */
#include "test/wdl_fixture.h"
#include "wdl/input/criteo_parse.h"
#include "wdl/input/key_set.h"

#include <math.h>

#define ROWS 3000u

/* Row r as text: some numerics empty, some keys empty, label every fourth. */
static double numeric_of(uint32_t r, uint32_t j) {
  return j == 1 ? (double)(r % 7) - 2 : (double)((r * 13 + j * 7) % 90000);
}
static bool numeric_empty(uint32_t r, uint32_t j) { return (r + j) % 5 == 0; }
static uint32_t key_of(uint32_t r, uint32_t c) {
  return (uint32_t)(ts_mix64((uint64_t)(r % (40 * (c + 1))) * 64 + c) >> 32);
}
static bool key_empty(uint32_t r, uint32_t c) { return (r + c) % 11 == 0; }

enum {
  TABS = 1,
  HEADER = 2,
  ID = 4,
  CRLF = 8,
  POINT_ZERO = 16,
  QUOTED = 32,
  LABEL_LAST = 64,
  LOWER = 128,
  BOM = 256,
  BLANK_END = 512,
  NO_LAST_NEWLINE = 1024
};

static char *build_text(unsigned form, uint32_t rows, size_t *length) {
  char *text = NULL, cells[41][32];
  FILE *f = open_memstream(&text, length);
  if (f == NULL) exit(2);
  const char *quote = form & QUOTED ? "\"" : "";
  uint32_t before = (form & ID ? 1u : 0u);
  if (form & BOM) fprintf(f, "\xef\xbb\xbf");
  for (uint32_t line = form & HEADER ? 0 : 1; line <= rows; line++) {
    uint32_t r = line - 1, n = 0;
    if (before) line == 0 ? sprintf(cells[n++], "Id") : sprintf(cells[n++], "%u", 10000000 + r);
    char label[8];
    snprintf(label, sizeof label, "%s", line == 0 ? (form & LOWER ? "label" : "Label") : r % 4 == 0 ? "1" : "0");
    if (!(form & LABEL_LAST)) strcpy(cells[n++], label);
    for (uint32_t j = 0; j < TS_NUMERICS; j++, n++)
      line == 0             ? sprintf(cells[n], "I%u", j + 1)
      : numeric_empty(r, j) ? sprintf(cells[n], "%s", "")
                            : sprintf(cells[n], form & POINT_ZERO ? "%.1f" : "%.0f", numeric_of(r, j));
    for (uint32_t c = 0; c < TS_CATEGORIES; c++, n++)
      line == 0         ? sprintf(cells[n], "C%u", c + 1)
      : key_empty(r, c) ? sprintf(cells[n], "%s", "")
                        : sprintf(cells[n], "%08x", key_of(r, c));
    if (form & LABEL_LAST) strcpy(cells[n++], label);
    for (uint32_t i = 0; i < n; i++)
      fprintf(f, "%s%s%s%s", i == 0 ? "" : form & TABS ? "\t" : ",", quote, cells[i], quote);
    if (line < rows || !(form & NO_LAST_NEWLINE)) fprintf(f, form & CRLF ? "\r\n" : "\n");
  }
  if (form & BLANK_END) fprintf(f, "\n");
  fclose(f);
  return text;
}

static int32_t import_file(const char *name, const char *format) {
  return run(ts_data_import,
             options("in", in_folder(name), "train_out", in_folder("train.cache"), "test_out", in_folder("test.cache"),
                     "format", format, "test_every", "4", NULL),
             NULL);
}

static void check_rows(const char *name, bool test) {
  ts_cache cache;
  ts_err err = {message, sizeof message};
  int32_t status = ts_cache_open(in_folder(name), &cache, err);
  CHECK_MSG(status == TS_OK, "%s", message);
  if (status != TS_OK) return;
  CHECK(cache.header.rows == (test ? ROWS / 4 : ROWS - ROWS / 4));
  uint64_t n = cache.header.rows;
  float *labels = malloc(n * 4), *numerics = malloc(n * TS_NUMERICS * 4);
  int64_t *keys = malloc(n * TS_CATEGORIES * 8);
  CHECK(ts_cache_read(&cache, 0, n, n, labels, numerics, keys, err) == TS_OK);
  uint32_t wrong = 0;
  for (uint32_t r = 0, at = 0; r < ROWS; r++) {
    if ((r % 4 == 3) != test) continue;
    wrong += labels[at] != (float)(r % 4 == 0);
    for (uint32_t j = 0; j < TS_NUMERICS; j++) {
      double x = numeric_empty(r, j) ? 0 : numeric_of(r, j);
      double wanted = copysign(log1p(fabs(x)) / 2, x);
      wrong += fabs((double)numerics[j * n + at] - wanted) > 1e-6;
    }
    for (uint32_t c = 0; c < TS_CATEGORIES; c++)
      wrong += keys[c * n + at] != (key_empty(r, c) ? TS_MISSING_KEY : (int64_t)key_of(r, c));
    at++;
  }
  CHECK_MSG(wrong == 0, "%u values differ", wrong);
  free(labels);
  free(numerics);
  free(keys);
  ts_cache_close(&cache);
}

static void every_variant_imports(void) {
  const unsigned forms[] = {TABS,
                            TABS | CRLF,
                            TABS | NO_LAST_NEWLINE | POINT_ZERO,
                            TABS | HEADER,
                            0,
                            HEADER,
                            HEADER | ID,
                            HEADER | LOWER | POINT_ZERO,
                            HEADER | ID | QUOTED | CRLF,
                            HEADER | LABEL_LAST | BOM | BLANK_END};
  for (uint32_t i = 0; i < sizeof forms / sizeof *forms; i++) {
    size_t n;
    char *text = build_text(forms[i], ROWS, &n);
    write_text(in_folder("text"), text, n);
    for (int gzip = 0; gzip < 2; gzip++) {
      char command[1200];
      snprintf(command, sizeof command, "gzip -f -n '%s' && mv '%s.gz' '%s'", in_folder("text"), in_folder("text"),
               in_folder("text"));
      if (gzip) CHECK(system(command) == 0);
      int32_t status = import_file("text", i % 3 == 0 ? "auto" : forms[i] & TABS ? "tsv" : "csv");
      CHECK_MSG(status == TS_OK, "form %u gzip %d: %s", forms[i], gzip, message);
      check_rows("train.cache", false);
      check_rows("test.cache", true);
    }
    free(text);
  }
  /* Exact counts, by comparing all pairs of values. */
  uint32_t distinct = 0;
  for (uint32_t r = 0; r < ROWS; r++) {
    bool first = r % 4 != 3;
    for (uint32_t q = 0; first && q < r; q++)
      first = q % 4 == 3 ||
              (key_empty(q, 3) ? 1u << 31 | 1 : key_of(q, 3)) != (key_empty(r, 3) ? 1u << 31 | 1 : key_of(r, 3));
    distinct += first;
  }
  CHECK(described(in_folder("train.cache"), "cardinality.3") == (double)distinct);
  CHECK(isnan(described(in_folder("train.cache"), "planted_auc")));
  double unseen = described(in_folder("test.cache"), "unseen_share");
  CHECK_MSG(unseen >= 0 && unseen < 1, "%f", unseen);
  CHECK(fabs(described(in_folder("train.cache"), "click_rate") - 1.0 / 3) < 1e-6);
}

/* Writes text with one piece replaced in the given line (from 1) and expects the import to fail. */
static void expect_error(unsigned form, uint32_t line, const char *piece, const char *instead, int32_t status,
                         const char *wanted) {
  size_t n;
  char *text = build_text(form, 50, &n), *at = text;
  for (uint32_t l = 1; l < line; l++) at = strchr(at, '\n') + 1;
  char *found = *piece == '\0' ? at : strstr(at, piece), *changed = malloc(n + 64);
  CHECK_MSG(found != NULL, "%s", piece);
  if (found == NULL) return;
  int size = sprintf(changed, "%.*s%s%s", (int)(found - text), text, instead, found + strlen(piece));
  write_text(in_folder("broken"), changed, (size_t)size);
  unlink(in_folder("train.cache"));
  int32_t got = import_file("broken", "auto");
  CHECK_MSG(got == status, "%s -> %s: status %d %s", piece, instead, got, message);
  CHECK_MSG(strstr(message, wanted) != NULL, "\"%s\" does not say \"%s\"", message, wanted);
  CHECK(files_named("train.cache") == 0 && files_named("test.cache") == 0);
  free(text);
  free(changed);
}

static void broken_text_is_named(void) {
  unlink(in_folder("test.cache"));
  /* Row 17 (line 18 of text without header): label 0, I1 17 * 13 = 221. */
  expect_error(TABS, 18, "0\t", "2\t", TS_EFORMAT, "broken:18: the label must be 0 or 1, found \"2\"");
  expect_error(TABS, 18, "0\t", "\t", TS_EFORMAT, "broken:18: the label must be 0 or 1, found \"\"");
  expect_error(TABS, 18, "0\t", "0\tx", TS_EFORMAT, "broken:18: column I1 must be a number or empty, found \"x");
  expect_error(TABS, 18, "0\t221", "0\tinf", TS_EFORMAT, "column I1 must be a number or empty, found \"inf\"");
  expect_error(TABS, 18, "0\t221", "0\tnan", TS_EFORMAT, "column I1 must be a number or empty, found \"nan\"");
  expect_error(TABS, 18, "0\t221", "0\t0x10", TS_EFORMAT, "found \"0x10\"");
  expect_error(TABS, 18, "0\t221", "0\t1e39", TS_EFORMAT,
               "column I1 is beyond what a 32-bit float holds, found \"1e39\"");
  expect_error(TABS, 18, "0\t221", "0\t-1e400", TS_EFORMAT, "column I1 is beyond");
  expect_error(TABS, 18, "0\t221", "0\t-", TS_EFORMAT, "column I1 must be a number or empty, found \"-\"");
  expect_error(TABS, 18, "0\t", "", TS_EFORMAT, "broken:18:");
  expect_error(TABS, 18, "\n", "\t\n", TS_EFORMAT, "broken:18: expected 40 columns, found 41");
  expect_error(TABS, 18, "\n", "g\n", TS_EFORMAT, "broken:18: column C26 must be up to 16 hexadecimal digits or empty");
  expect_error(TABS, 18, "\n", "0123456789\n", TS_EFORMAT, "broken:18: column C26 has more than 16 hexadecimal digits");
  expect_error(TABS, 18, "0\t", "0", TS_EFORMAT, "broken:18: expected 40 columns, found 39 (rows without labels");
  expect_error(TABS, 18, "", "\n", TS_EFORMAT, "broken:18: the line is empty");
  expect_error(HEADER, 1, "I7", "I8", TS_EFORMAT, "broken:1: expected each column once, found \"I8\"");
  expect_error(HEADER, 1, ",I7", "", TS_EFORMAT, "column I7 is missing");
  expect_error(HEADER, 1, "C26", "C27", TS_EFORMAT, "found \"C27\"");
  expect_error(HEADER, 1, "C26", "C26,colour", TS_EFORMAT, "found \"colour\"");
  expect_error(HEADER | QUOTED, 5, "\",\"", "\"\",\"", TS_EFORMAT, "broken:5: a quoted field must end with a quote");
  write_text(in_folder("broken"), "", 0);
  CHECK(import_file("broken", "auto") == TS_EFORMAT && strstr(message, "holds 0 rows") != NULL);
  write_text(in_folder("broken"), "a\0b\n", 4);
  CHECK(import_file("broken", "auto") == TS_EFORMAT && strstr(message, "NUL byte") != NULL);
  char *endless = malloc(3 << 20);
  memset(endless, 'a', 3 << 20);
  write_text(in_folder("broken"), endless, 3 << 20);
  CHECK(import_file("broken", "auto") == TS_EFORMAT && strstr(message, "broken:1: the line is longer") != NULL);
  free(endless);
  CHECK(import_file("missing", "auto") == TS_EIO && strstr(message, "missing") != NULL);
  CHECK(import_file(".", "auto") == TS_EIO);
  size_t n;
  char *text = build_text(TABS, 10, &n);
  write_text(in_folder("broken"), text, n);
  CHECK(import_file("broken", "csv") == TS_EFORMAT && strstr(message, "comma-separated") != NULL);
  free(text);
  CHECK(run(ts_data_import,
            options("in", in_folder("broken"), "train_out", in_folder("same"), "test_out", in_folder("same"), NULL),
            NULL) == TS_EINVAL);
  CHECK(run(ts_data_import,
            options("in", in_folder("broken"), "train_out", in_folder("t"), "test_out", in_folder("no/folder"), NULL),
            NULL) == TS_EIO);
  CHECK(files_named("t.") == 0 && files_named("train.cache") == 0);
}

static void broken_gzip_is_named(void) {
  size_t n;
  char *text = build_text(TABS, ROWS, &n), command[1200];
  write_text(in_folder("zipped"), text, n);
  free(text);
  snprintf(command, sizeof command, "gzip -f '%s'", in_folder("zipped"));
  CHECK(system(command) == 0);
  FILE *f = fopen(in_folder("zipped.gz"), "rb");
  char *bytes = malloc(n);
  size_t size = fread(bytes, 1, n, f);
  fclose(f);
  const size_t cuts[] = {5, 40, size / 2, size - 12, size - 4};
  for (uint32_t i = 0; i < 5; i++) {
    write_text(in_folder("cut.gz"), bytes, cuts[i]);
    int32_t status = import_file("cut.gz", "auto");
    CHECK_MSG(status == TS_EFORMAT && strstr(message, "cut.gz") != NULL && strstr(message, "cut short") != NULL,
              "cut at %zu: status %d %s", cuts[i], status, message);
  }
  bytes[size / 2] ^= 0x55;
  write_text(in_folder("cut.gz"), bytes, size);
  CHECK_MSG(import_file("cut.gz", "auto") == TS_EFORMAT, "%s", message);
  free(bytes);
  CHECK(files_named("train.cache") == 0 && files_named("test.cache") == 0);
}

static void limits_and_cancelling(void) {
  size_t n;
  char *text = build_text(TABS, 5000, &n);
  write_text(in_folder("text"), text, n);
  free(text);
  CHECK(run(ts_data_import,
            options("in", in_folder("text"), "train_out", in_folder("train.cache"), "test_out", in_folder("test.cache"),
                    "max_rows", "105", NULL),
            NULL) == TS_OK);
  CHECK(described(in_folder("train.cache"), "rows") == 95 && described(in_folder("test.cache"), "rows") == 10);
  uint64_t control[TS_CONTROL_WORDS] = {1};
  CHECK(run(ts_data_import,
            options("in", in_folder("text"), "train_out", in_folder("other.cache"), "test_out",
                    in_folder("another.cache"), NULL),
            control) == TS_ECANCELLED);
  CHECK(files_named("other") == 0 && files_named("another") == 0);
  control[0] = 0;
  CHECK(run(ts_data_import,
            options("in", in_folder("text"), "train_out", in_folder("other.cache"), "test_out",
                    in_folder("another.cache"), NULL),
            control) == TS_OK);
  CHECK(control[TS_CONTROL_DONE] == n && control[TS_CONTROL_TOTAL] == n);
}

static void key_sets_count_exactly(void) {
  ts_key_set set = {0};
  bool added;
  for (int64_t i = -5000; i < 5000; i++) CHECK(ts_key_set_add(&set, i * (INT64_MAX / 5000), &added) && added);
  for (int64_t i = -5000; i < 5000; i++) CHECK(ts_key_set_add(&set, i * (INT64_MAX / 5000), &added) && !added);
  CHECK(set.count == 10000 && ts_key_set_has(&set, 0) && !ts_key_set_has(&set, 1));
  ts_key_set_free(&set);
}

/* Real rows, when the environment names a file of them. */
static void real_rows_import(void) {
  const char *path = getenv("TIERBENCH_CRITEO");
  if (path == NULL) {
    SKIP("criteo_test: real_rows_import", "TIERBENCH_CRITEO names no file");
    return;
  }
  int32_t status =
      run(ts_data_import,
          options("in", path, "train_out", in_folder("train.cache"), "test_out", in_folder("test.cache"), NULL), NULL);
  CHECK_MSG(status == TS_OK, "%s", message);
  CHECK(described(in_folder("train.cache"), "rows") > 100);
  double clicks = described(in_folder("train.cache"), "click_rate");
  CHECK_MSG(clicks > 0.02 && clicks < 0.6, "%f", clicks);
}

int main(void) {
  make_folder();
  every_variant_imports();
  broken_text_is_named();
  broken_gzip_is_named();
  limits_and_cancelling();
  key_sets_count_exactly();
  real_rows_import();
  remove_folder();
  return test_result();
}
