/* The binary cache: rows come back as written, damaged and cut files are refused by name, failures leave nothing. */
#include "test/wdl_fixture.h"
#include "wdl/cache_format.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#define ROWS 2500u

static float label_of(uint64_t r) { return (float)(r % 3 == 0); }
static float numeric_of(uint64_t r, uint32_t j) { return (float)r * 0.5f + (float)j; }
static int64_t key_of(uint64_t r, uint32_t c) { return (int64_t)ts_mix64(r * 31 + c); }

static void write_rows(const char *path) {
  unlink(path);
  ts_err err = {message, sizeof message};
  ts_cache_writer writer;
  CHECK(ts_cache_writer_open(path, &writer, err) == TS_OK);
  ts_cache_group *group = calloc(1, sizeof *group);
  for (uint64_t g = 0; g * TS_CACHE_GROUP < ROWS; g++) {
    for (uint64_t i = 0; i < TS_CACHE_GROUP; i++) {
      uint64_t r = g * TS_CACHE_GROUP + i;
      group->labels[i] = label_of(r);
      for (uint32_t j = 0; j < TS_NUMERICS; j++) group->numerics[j][i] = numeric_of(r, j);
      for (uint32_t c = 0; c < TS_CATEGORIES; c++) group->keys[c][i] = key_of(r, c);
    }
    CHECK(ts_cache_writer_group(&writer, g, group, err) == TS_OK);
  }
  ts_cache_header header = {.vocabulary = TS_VOCABULARY_IMPORTED, .rows = ROWS};
  CHECK(files_named("rows.cache") == 1); /* the part only: not in place yet */
  CHECK(access(path, F_OK) != 0);
  CHECK(ts_cache_writer_header(&writer, &header, err) == TS_OK);
  CHECK(ts_cache_writer_rename(&writer, err) == TS_OK);
  ts_cache_writer_close(&writer);
  CHECK(files_named("rows.cache") == 1);
  free(group);
}

static void rows_come_back(void) {
  ts_cache cache;
  ts_err err = {message, sizeof message};
  CHECK(ts_cache_open(in_folder("rows.cache"), &cache, err) == TS_OK);
  CHECK(cache.header.rows == ROWS);
  static float labels[1500], numerics[TS_NUMERICS * 1500];
  static int64_t keys[TS_CATEGORIES * 1500], column[1500];
  uint64_t first = 700; /* over a group border, unaligned at both ends */
  CHECK(ts_cache_read(&cache, first, 1400, 1500, labels, numerics, keys, err) == TS_OK);
  CHECK(ts_cache_read_column(&cache, 7, first, 1400, column, err) == TS_OK);
  int wrong = 0;
  for (uint64_t i = 0; i < 1400; i++) {
    wrong += labels[i] != label_of(first + i) || column[i] != key_of(first + i, 7);
    for (uint32_t j = 0; j < TS_NUMERICS; j++) wrong += numerics[j * 1500 + i] != numeric_of(first + i, j);
    for (uint32_t c = 0; c < TS_CATEGORIES; c++) wrong += keys[c * 1500 + i] != key_of(first + i, c);
  }
  CHECK_MSG(wrong == 0, "%d values differ", wrong);
  CHECK(truncate(in_folder("rows.cache"), TS_CACHE_PAGE + TS_CACHE_GROUP_BYTES) == 0); /* cut under an open reader */
  CHECK(ts_cache_read(&cache, first, 1400, 1500, labels, numerics, keys, err) == TS_EFORMAT);
  ts_cache_close(&cache);
}

static void expect_refused(int32_t status, const char *part) {
  ts_cache cache;
  int32_t found = ts_cache_open(in_folder("rows.cache"), &cache, (ts_err){message, sizeof message});
  CHECK_MSG(found == status, "status %d", found);
  CHECK_MSG(strstr(message, "rows.cache") != NULL && strstr(message, part) != NULL, "%s", message);
  if (found == TS_OK) ts_cache_close(&cache);
}

static void change_byte(uint64_t at) {
  int fd = open(in_folder("rows.cache"), O_RDWR);
  unsigned char byte;
  CHECK(pread(fd, &byte, 1, (off_t)at) == 1);
  byte ^= 0x10;
  CHECK(pwrite(fd, &byte, 1, (off_t)at) == 1);
  close(fd);
}

static void damage_is_refused(void) {
  unlink(in_folder("rows.cache"));
  expect_refused(TS_EIO, "No such file");
  write_text(in_folder("rows.cache"), "1\t2\t3\n", 6);
  expect_refused(TS_EFORMAT, "too few");
  char page[8192];
  memset(page, '7', sizeof page);
  write_text(in_folder("rows.cache"), page, sizeof page);
  expect_refused(TS_EFORMAT, "must be imported");
  write_rows(in_folder("rows.cache"));
  change_byte(8);
  expect_refused(TS_EFORMAT, "cache format");
  change_byte(8);
  change_byte(100);
  expect_refused(TS_EFORMAT, "header is damaged");
  change_byte(100);
  struct stat st;
  stat(in_folder("rows.cache"), &st);
  CHECK(truncate(in_folder("rows.cache"), st.st_size - 1) == 0);
  expect_refused(TS_EFORMAT, "bytes, its header says");
  CHECK(ts_data_describe(in_folder("rows.cache"), NULL, 0, NULL, message, sizeof message) == TS_EFORMAT);
}

static void failures_leave_nothing(void) {
  ts_err err = {message, sizeof message};
  CHECK(run(ts_data_generate, options("out", in_folder("no/such/folder"), "rows", "10", "scale", "0.001", NULL), NULL) == TS_EIO);
  CHECK(strstr(message, "no/such/folder") != NULL);
  /* A limit on the size of files stands for a full disk. */
  signal(SIGXFSZ, SIG_IGN);
  struct rlimit old, small;
  getrlimit(RLIMIT_FSIZE, &old);
  small = old;
  small.rlim_cur = 1u << 20;
  setrlimit(RLIMIT_FSIZE, &small);
  int32_t status = run(ts_data_generate, options("out", in_folder("full.cache"), "rows", "10000", "scale", "0.001", "threads", "2", NULL), NULL);
  setrlimit(RLIMIT_FSIZE, &old);
  CHECK_MSG(status == TS_EIO, "status %d", status);
  CHECK_MSG(strstr(message, "full.cache") != NULL, "%s", message);
  CHECK(files_named("full.cache") == 0);
  ts_cache_writer writer;
  CHECK(ts_cache_writer_open(in_folder("given-up.cache"), &writer, err) == TS_OK);
  CHECK(files_named("given-up.cache") == 1);
  ts_cache_writer_close(&writer);
  CHECK(files_named("given-up.cache") == 0);
}

int main(void) {
  make_folder();
  write_rows(in_folder("rows.cache"));
  rows_come_back();
  damage_is_refused();
  failures_leave_nothing();
  remove_folder();
  return test_result();
}
