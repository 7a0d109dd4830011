/* Imports as a whole: the same files for every number of readers, several files, broken lines left out and counted, the
 * choice of numerics, and reading a cache file from many threads at once. */
#include "test/wdl_fixture.h"
#include "wdl/input/criteo_field.h"

#include <math.h>

/* Rows of a small vocabulary, so that test rows meet keys that training saw. */
static void add_row(FILE *f, uint32_t row) {
  fprintf(f, "%u", ts_random64(1, 0, row) % 4 == 0);
  for (uint32_t j = 0; j < TS_NUMERICS; j++)
    if (ts_random64(2, j, row) % 5 == 0) fprintf(f, "\t");
    else fprintf(f, "\t%u", (unsigned)(ts_random64(3, j, row) % 3000));
  for (uint32_t c = 0; c < TS_CATEGORIES; c++)
    fprintf(f, "\t%08x", (unsigned)ts_mix64(ts_random64(4, c, row) % (50 * (c + 1))));
  fprintf(f, "\n");
}

static const char *const broken_lines[] = {
    "0\t1\n", "",
    "2\t1\t1\t1\t1\t1\t1\t1\t1\t1\t1\t1\t1\t1\t1\t1\t1\t1\t1\t1\t1\t1\t1\t1\t1\t1\t1\t1\t1\t1\t1\t"
    "1\t1\t1\t1\t1\t1\t1\t1\t1\n",
    "\n"};

/* Rows [first, first + count), and after every `broken_every`-th a broken line, by turns of three kinds. */
static void write_rows(const char *name, uint32_t first, uint32_t count, uint32_t broken_every, bool last_newline) {
  FILE *f = fopen(in_folder(name), "wb");
  if (f == NULL) exit(2);
  for (uint32_t i = 0, k = 0; i < count; i++) {
    add_row(f, first + i);
    if (broken_every == 0 || (i + 1) % broken_every != 0) continue;
    if (k % 4 == 1) fwrite("0\t\0\n", 1, 4, f);
    else fputs(broken_lines[k % 4], f);
    k++;
  }
  if (!last_newline) {
    fflush(f);
    if (ftruncate(fileno(f), ftell(f) - 1) != 0) exit(2);
  }
  fclose(f);
}

static char *read_whole(const char *name, size_t *n) {
  FILE *f = fopen(in_folder(name), "rb");
  *n = 0;
  if (f == NULL) return NULL;
  fseek(f, 0, SEEK_END);
  *n = (size_t)ftell(f);
  rewind(f);
  char *bytes = malloc(*n + 1);
  *n = fread(bytes, 1, *n, f);
  fclose(f);
  return bytes;
}

static bool same_files(const char *a, const char *b) {
  size_t m, n;
  char *x = read_whole(a, &m), *y = read_whole(b, &n);
  bool same = x != NULL && y != NULL && m == n && m > 0 && memcmp(x, y, n) == 0;
  free(x);
  free(y);
  return same;
}

/* A line of ts_data_describe, "" if it is not there. */
static const char *fact(const char *path, const char *name) {
  static char text[8192], value[512];
  uint64_t needed;
  size_t n = strlen(name);
  value[0] = '\0';
  if (ts_data_describe(path, text, sizeof text, &needed, message, sizeof message) != TS_OK) return value;
  for (char *line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n"))
    if (strncmp(line, name, n) == 0 && line[n] == '=') snprintf(value, sizeof value, "%s", line + n + 1);
  return value;
}

static int32_t import(const char *in, const char *readers, const char *on_error, const char *max_rows,
                      const char *train, const char *test) {
  return run(ts_data_import,
             options("in", in, "train_out", in_folder(train), "test_out", in_folder(test), "readers", readers,
                     "on_error", on_error, "max_rows", max_rows, "test_every", "7", NULL),
             NULL);
}

static void the_number_of_readers_changes_nothing(void) {
  char in[2000], command[1200];
  write_rows("a", 0, 6000, 97, true);
  write_rows("b", 6000, 11, 0, false);
  write_rows("c", 6011, 5000, 331, false);
  snprintf(command, sizeof command, "gzip -f -n -k '%s'", in_folder("c"));
  CHECK(system(command) == 0);
  write_text(in_folder("empty"), "", 0);
  snprintf(in, sizeof in, "%s\n%s\n%s\n%s", in_folder("a"), in_folder("b"), in_folder("empty"), in_folder("c.gz"));
  static const char *const limits[] = {"0", "6005", "1000"};
  for (uint32_t i = 0; i < 3; i++) {
    CHECK_MSG(import(in, "1", "skip", limits[i], "train.1", "test.1") == TS_OK, "%s", message);
    CHECK_MSG(import(in, "4", "skip", limits[i], "train.4", "test.4") == TS_OK, "%s", message);
    CHECK(same_files("train.1", "train.4") && same_files("test.1", "test.4"));
    uint32_t rows = i == 0 ? 11011 : (uint32_t)atoi(limits[i]);
    CHECK_MSG(described(in_folder("train.4"), "rows") == rows - rows / 7 &&
                  described(in_folder("test.4"), "rows") == rows / 7,
              "limit %s: %s rows", limits[i], fact(in_folder("train.4"), "rows"));
  }
  /* The same rows from one file are the same file: broken lines leave nothing behind. */
  write_rows("whole", 0, 11011, 0, true);
  CHECK(import(in_folder("whole"), "3", "error", "0", "train.whole", "test.whole") == TS_OK);
  CHECK(import(in, "2", "skip", "0", "train.4", "test.4") == TS_OK);
  CHECK(strcmp(fact(in_folder("train.whole"), "digest"), "") != 0);
  char digest[64];
  snprintf(digest, sizeof digest, "%s", fact(in_folder("train.whole"), "digest"));
  CHECK(strcmp(digest, fact(in_folder("train.4"), "digest")) == 0);
  CHECK(described(in_folder("train.whole"), "cardinality.7") == described(in_folder("train.4"), "cardinality.7"));
  CHECK(described(in_folder("test.whole"), "unseen_share") == described(in_folder("test.4"), "unseen_share"));
  CHECK(described(in_folder("train.whole"), "skipped") == 0 &&
        isnan(described(in_folder("train.whole"), "skipped.nul")));
  /* Errors, too: the first in the order of the files. */
  for (uint32_t i = 0; i < 2; i++) {
    CHECK(import(in, i == 0 ? "1" : "4", "error", "0", "train.1", "test.1") == TS_EFORMAT);
    CHECK_MSG(strstr(message, "/a:98: expected 40 columns, found 2") != NULL, "%s", message);
    CHECK(import(in, i == 0 ? "1" : "4", "error", "97", "train.1", "test.1") == TS_OK); /* enough rows before it */
  }
}

static void skipped_lines_are_counted_by_kind(void) {
  write_rows("a", 0, 2000, 100, true); /* 20 broken lines: 5 of each kind, the last an empty one at the end */
  CHECK_MSG(import(in_folder("a"), "2", "skip", "0", "train", "test") == TS_OK, "%s", message);
  const char *const files[] = {"train", "test"};
  for (uint32_t i = 0; i < 2; i++) {
    const char *path = in_folder(files[i]);
    CHECK_MSG(described(path, "skipped") == 19, "%f", described(path, "skipped"));
    CHECK(described(path, "skipped.columns") == 5 && described(path, "skipped.nul") == 5);
    CHECK(described(path, "skipped.label") == 5 && described(path, "skipped.empty") == 4);
    CHECK(isnan(described(path, "skipped.number")));
    CHECK_MSG(strcmp(fact(path, "skipped.first"), "a:101: expected 40 columns, found 2") == 0, "%s",
              fact(path, "skipped.first"));
  }
  /* Lines beyond every limit, between good ones and at the end; also in the mode that names them. */
  static const size_t sizes[] = {70000, 262143, 262144, 262145, 700000};
  for (uint32_t i = 0; i < 5; i++)
    for (uint32_t last = 0; last < 2; last++) {
      FILE *f = fopen(in_folder("long"), "wb");
      for (uint32_t r = 0; r < 20; r++) add_row(f, r);
      for (size_t k = 0; k < sizes[i]; k++) fputc('x', f);
      if (!last) fputc('\n', f);
      for (uint32_t r = 20; !last && r < 40; r++) add_row(f, r);
      fclose(f);
      CHECK_MSG(import(in_folder("long"), "1", "skip", "0", "train", "test") == TS_OK, "%s", message);
      CHECK_MSG(described(in_folder("train"), "skipped.long") == 1 && described(in_folder("train"), "skipped") == 1,
                "%zu bytes", sizes[i]);
      CHECK(described(in_folder("train"), "rows") + described(in_folder("test"), "rows") == (last ? 20 : 40));
      CHECK(import(in_folder("long"), "1", "error", "0", "train", "test") == TS_EFORMAT);
      CHECK_MSG(strstr(message, "/long:21: the line is longer than 65536 bytes") != NULL, "%s", message);
    }
  /* A file that is no Criteo text at all is an error in either mode. */
  write_text(in_folder("letter"), "Dear reader,\nthese are no rows.\n", 31);
  CHECK(import(in_folder("letter"), "1", "skip", "0", "train", "test") == TS_EFORMAT);
  CHECK_MSG(strstr(message, "holds 0 rows") != NULL && strstr(message, "2 lines were skipped") != NULL, "%s", message);
}

static void a_damaged_stream_is_never_skipped(void) {
  char command[1200];
  write_rows("d", 0, 5000, 50, true);
  snprintf(command, sizeof command, "gzip -f -n '%s'", in_folder("d"));
  CHECK(system(command) == 0);
  size_t n;
  char *bytes = read_whole("d.gz", &n);
  write_text(in_folder("cut.gz"), bytes, n / 2);
  free(bytes);
  for (uint32_t i = 0; i < 2; i++) {
    CHECK(import(in_folder("cut.gz"), i == 0 ? "1" : "4", "skip", "0", "train.cut", "test.cut") == TS_EFORMAT);
    const char *line = strstr(message, "(in line ");
    CHECK_MSG(strstr(message, "cut short at byte") != NULL && line != NULL, "%s", message);
    long number = line == NULL ? 0 : atol(line + 9), lines = 0;
    snprintf(command, sizeof command, "zcat '%s' 2>/dev/null | wc -l", in_folder("cut.gz"));
    FILE *f = popen(command, "r");
    CHECK(f != NULL && fscanf(f, "%ld", &lines) == 1 && pclose(f) == 0);
    CHECK_MSG(number == lines + 1 && lines > 2000, "line %ld of %ld whole ones", number, lines);
  }
  CHECK(files_named("train.cut") == 0 && files_named("test.cut") == 0);
}

static void numerics_are_as_chosen(void) {
  write_rows("a", 0, 3000, 0, true);
  static const char *const names[] = {"log", "min_max"};
  for (uint32_t kind = 0; kind < 2; kind++) {
    CHECK(run(ts_data_import,
              options("in", in_folder("a"), "train_out", in_folder("train"), "test_out", in_folder("test"), "numerics",
                      names[kind], "test_every", "1000", NULL),
              NULL) == TS_OK);
    CHECK(strcmp(fact(in_folder("train"), "numerics"), names[kind]) == 0);
    ts_cache cache;
    CHECK(ts_cache_open(in_folder("train"), &cache, (ts_err){message, sizeof message}) == TS_OK);
    float x[TS_NUMERICS * 900];
    CHECK(ts_cache_read(&cache, 0, 900, 900, NULL, x, NULL, (ts_err){message, sizeof message}) == TS_OK);
    uint32_t wrong = 0;
    for (uint32_t j = 0; j < TS_NUMERICS; j++)
      for (uint32_t r = 0; r < 900; r++) {
        double value = ts_random64(2, j, r) % 5 == 0 ? 0 : (double)(ts_random64(3, j, r) % 3000);
        wrong += x[j * 900 + r] != ts_numeric_transform(kind, j, value);
      }
    CHECK_MSG(wrong == 0, "%u values", wrong);
    ts_cache_close(&cache);
    /* Generated data: the same keys and labels, other numerics. */
    CHECK(run(ts_data_generate,
              options("out", in_folder(kind == 0 ? "g0" : "g1"), "rows", "500", "scale", "0.001", "numerics",
                      names[kind], NULL),
              NULL) == TS_OK);
    CHECK(strcmp(fact(in_folder(kind == 0 ? "g0" : "g1"), "numerics"), names[kind]) == 0);
  }
  size_t n;
  ts_cache_group *log = (ts_cache_group *)(void *)(read_whole("g0", &n) + TS_CACHE_PAGE),
                 *scaled = (ts_cache_group *)(void *)(read_whole("g1", &n) + TS_CACHE_PAGE);
  CHECK(memcmp(log->labels, scaled->labels, sizeof log->labels) == 0);
  CHECK(memcmp(log->keys, scaled->keys, sizeof log->keys) == 0);
  for (uint32_t r = 0; r < 500; r++) /* I6: counts from 0 on, at most its range or a little more */
    CHECK(scaled->numerics[5][r] == 0 ? log->numerics[5][r] == 0 : log->numerics[5][r] > scaled->numerics[5][r]);
  free((char *)log - TS_CACHE_PAGE);
  free((char *)scaled - TS_CACHE_PAGE);
  CHECK(run(ts_data_generate, options("out", in_folder("x"), "rows", "5", "numerics", "none", NULL), NULL) ==
        TS_EINVAL);
}

/* Another version of the format is one clear error. */
static void another_version_is_refused(void) {
  size_t n;
  char *bytes = read_whole("train", &n), text[64];
  uint64_t needed;
  const uint32_t old = 2;
  memcpy(bytes + offsetof(ts_cache_header, version), &old, sizeof old);
  write_text(in_folder("old"), bytes, n);
  free(bytes);
  CHECK(ts_data_describe(in_folder("old"), text, sizeof text, &needed, message, sizeof message) == TS_EFORMAT);
  CHECK_MSG(strstr(message, "cache format 2, this library reads 4; write the file again") != NULL, "%s", message);
}

/* ---- one open cache file, many threads ---- */

enum { BATCH = 300, READERS = 4 };

typedef struct reading {
  ts_cache cache;
  int64_t all[TS_CATEGORIES][11011];
  uint32_t wrong[READERS];
} reading;

static void read_batches(void *context, uint32_t part) {
  reading *r = context;
  static _Thread_local float labels[BATCH], x[TS_NUMERICS * BATCH];
  static _Thread_local int64_t keys[TS_CATEGORIES * BATCH];
  char text[512];
  uint64_t rows = r->cache.header.rows;
  for (uint32_t i = 0; i < 200; i++) {
    uint64_t first = ts_random64(9, part, i) % (rows - BATCH);
    if (ts_cache_read(&r->cache, first, BATCH, BATCH, labels, x, keys, (ts_err){text, sizeof text}) != TS_OK)
      r->wrong[part]++;
    for (uint32_t c = 0; c < TS_CATEGORIES; c++)
      r->wrong[part] += memcmp(keys + (size_t)c * BATCH, &r->all[c][first], BATCH * 8) != 0;
  }
}

static void threads_may_read_one_cache(void) {
  reading *r = calloc(1, sizeof *r);
  ts_err err = {message, sizeof message};
  ts_pool *pool;
  CHECK(ts_cache_open(in_folder("train.whole"), &r->cache, err) == TS_OK);
  for (uint32_t c = 0; c < TS_CATEGORIES; c++)
    CHECK(ts_cache_read_column(&r->cache, c, 0, r->cache.header.rows, r->all[c], err) == TS_OK);
  CHECK(ts_pool_create(READERS, &pool, err) == TS_OK);
  ts_pool_run(pool, READERS, read_batches, r);
  for (uint32_t i = 0; i < READERS; i++) CHECK(r->wrong[i] == 0);
  ts_pool_destroy(pool);
  ts_cache_close(&r->cache);
  free(r);
}

int main(void) {
  make_folder();
  the_number_of_readers_changes_nothing();
  skipped_lines_are_counted_by_kind();
  a_damaged_stream_is_never_skipped();
  numerics_are_as_chosen();
  another_version_is_refused();
  threads_may_read_one_cache();
  remove_folder();
  return test_result();
}
