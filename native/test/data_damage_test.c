/* Damaged rows never train: every flipped byte of a cache file is found when it is verified, and by a trainer or an
 * evaluation when it comes to those rows, whatever reads them. Labels and numerics that cannot be trained on are refused,
 * too. What a writer leaves when it is killed can be told from what one writes. */
#include "test/wdl_fixture.h"
#include "wdl/input/cache_format.h"

#include <fcntl.h>
#include <math.h>
#include <sys/file.h>

#define ROWS 3000u

static uint64_t verified(const char *name) {
  message[0] = '\0';
  return (uint64_t)(int64_t)ts_data_verify(in_folder(name), NULL, message, sizeof message);
}

static void flip(const char *name, uint64_t at, uint8_t bits) {
  int fd = open(in_folder(name), O_RDWR);
  uint8_t byte = 0;
  CHECK(fd >= 0 && pread(fd, &byte, 1, (off_t)at) == 1);
  byte ^= bits;
  CHECK(pwrite(fd, &byte, 1, (off_t)at) == 1);
  close(fd);
}

static uint64_t place_of(uint64_t row, uint64_t column_at, uint64_t width) {
  return TS_CACHE_PAGE + row / TS_CACHE_GROUP * TS_CACHE_GROUP_BYTES + column_at + row % TS_CACHE_GROUP * width;
}

static void every_flip_is_found(void) {
  CHECK(run(ts_data_generate, options("out", in_folder("a"), "rows", "3000", "scale", "0.0005", NULL), NULL) == TS_OK);
  uint64_t control[TS_CONTROL_WORDS] = {0};
  CHECK(ts_data_verify(in_folder("a"), control, message, sizeof message) == TS_OK);
  CHECK(control[TS_CONTROL_DONE] == ROWS && control[TS_CONTROL_TOTAL] == ROWS);
  control[TS_CONTROL_CANCEL] = 1;
  CHECK(ts_data_verify(in_folder("a"), control, message, sizeof message) == TS_ECANCELLED);
  const uint64_t header = sizeof(ts_cache_header);
  const uint64_t body = 3 * (TS_CACHE_GROUP_BYTES + sizeof(uint64_t));
  for (uint64_t i = 0; i < 600; i++) {
    const uint64_t random = ts_random64(1, 2, i);
    /* A third in the header, the others anywhere behind its page, the sums and the zeros of the last group included. */
    const uint64_t at = i % 3 == 0 ? random % header : TS_CACHE_PAGE + random % body;
    const uint8_t bits = (uint8_t)(1u << (random >> 40) % 8);
    flip("a", at, bits);
    CHECK_MSG((int32_t)verified("a") == TS_EFORMAT && strstr(message, folder) != NULL, "byte %llu: %s",
              (unsigned long long)at, message);
    flip("a", at, bits);
  }
  CHECK(verified("a") == TS_OK);
}

static void two_groups_changed_places(void) {
  ts_cache_group *groups = malloc(2 * sizeof *groups);
  int fd = open(in_folder("a"), O_RDWR);
  CHECK(pread(fd, groups, 2 * sizeof *groups, TS_CACHE_PAGE) == 2 * sizeof *groups);
  CHECK(pwrite(fd, groups + 1, sizeof *groups, TS_CACHE_PAGE) == sizeof *groups);
  CHECK(pwrite(fd, groups, sizeof *groups, TS_CACHE_PAGE + sizeof *groups) == sizeof *groups);
  CHECK((int32_t)verified("a") == TS_EFORMAT && strstr(message, "rows 0 to 1023 are damaged") != NULL);
  CHECK(pwrite(fd, groups, 2 * sizeof *groups, TS_CACHE_PAGE) == 2 * sizeof *groups);
  CHECK(verified("a") == TS_OK);
  close(fd);
  free(groups);
}

/* Trains over "a" until something is refused; the steps that were taken. */
static int32_t train(const char *stage, uint64_t *control) {
  ts_store *store = NULL;
  ts_config *config = options("storage", "DRAM", "size", "268435456", NULL);
  CHECK(ts_store_open(config, &store, message, sizeof message) == TS_OK);
  ts_config_free(config);
  config = options("data", in_folder("a"), "batch", "100", "hidden", "8", "dim", "4", "wide_buckets", "100", "stage",
                   stage, NULL);
  ts_trainer *t = NULL;
  CHECK_MSG(ts_trainer_open(store, config, &t, message, sizeof message) == TS_OK, "%s", message);
  ts_config_free(config);
  double loss;
  message[0] = '\0';
  int32_t status = ts_trainer_train(t, 0, 30, NULL, NULL, &loss, control, message, sizeof message);
  ts_trainer_close(t);
  ts_store_close(store);
  return status;
}

static int32_t evaluate(const char *name) {
  ts_store *store = NULL;
  ts_config *config = options("storage", "DRAM", "size", "268435456", NULL);
  CHECK(ts_store_open(config, &store, message, sizeof message) == TS_OK);
  ts_config_free(config);
  config = options("data", in_folder("whole"), "batch", "100", "hidden", "8", "dim", "4", "wide_buckets", "100", NULL);
  ts_trainer *t = NULL;
  CHECK_MSG(ts_trainer_open(store, config, &t, message, sizeof message) == TS_OK, "%s", message);
  ts_config_free(config);
  double result[4];
  message[0] = '\0';
  int32_t status = ts_trainer_evaluate(t, in_folder(name), 0, result, NULL, message, sizeof message);
  ts_trainer_close(t);
  ts_store_close(store);
  return status;
}

static void damaged_rows_do_not_train(void) {
  CHECK(run(ts_data_generate, options("out", in_folder("whole"), "rows", "3000", "scale", "0.0005", NULL), NULL) ==
        TS_OK);
  CHECK(train("0", NULL) == TS_OK && evaluate("a") == TS_OK);
  const uint64_t places[] = {place_of(1500, 0, 4) + 3, place_of(2999, TS_CACHE_NUMERICS_AT, 4) + 2,
                             place_of(7, TS_CACHE_KEYS_AT, 8)};
  const char *const named[] = {"rows 1024 to 2047 are damaged", "rows 2048 to 2999 are damaged",
                               "rows 0 to 1023 are damaged"};
  for (uint32_t i = 0; i < 3; i++) {
    flip("a", places[i], 0x40);
    for (uint32_t staged = 0; staged < 2; staged++) {
      uint64_t control[TS_CONTROL_WORDS] = {0};
      const int32_t status = train(staged ? "4" : "0", control);
      CHECK_MSG(status == TS_EFORMAT && strstr(message, named[i]) != NULL, "status %d: %s", status, message);
      CHECK(control[TS_CONTROL_DONE] < 30);
    }
    CHECK_MSG(evaluate("a") == TS_EFORMAT && strstr(message, named[i]) != NULL, "%s", message);
    flip("a", places[i], 0x40);
  }
  CHECK(train("4", NULL) == TS_OK && evaluate("a") == TS_OK);
}

/* A file with right sums over values that nobody may train on. */
static void write_values(const char *name, uint64_t row, float label, float numeric) {
  ts_cache_writer writer;
  ts_err err = {message, sizeof message};
  ts_cache_group *group = calloc(1, sizeof *group);
  ts_cache_header header = {.vocabulary = TS_VOCABULARY_IMPORTED, .rows = 1500};
  CHECK(ts_cache_writer_open(in_folder(name), &writer, err) == TS_OK);
  for (uint64_t g = 0; g < 2; g++) {
    memset(group, 0, sizeof *group);
    if (row / TS_CACHE_GROUP == g) {
      group->labels[row % TS_CACHE_GROUP] = label;
      group->numerics[4][row % TS_CACHE_GROUP] = numeric;
    }
    header.key_digest += ts_cache_group_digest(group, g, g == 0 ? 1024 : 476);
    CHECK(ts_cache_writer_group(&writer, g, group, err) == TS_OK);
  }
  CHECK(ts_cache_writer_header(&writer, &header, err) == TS_OK);
  CHECK(ts_cache_writer_rename(&writer, err) == TS_OK);
  ts_cache_writer_close(&writer);
  free(group);
}

static void values_are_looked_at(void) {
  write_values("values", 1400, 1, -3.5f);
  CHECK_MSG(verified("values") == TS_OK, "%s", message);
  const float labels[] = {NAN, 2, -1, 0.5f, INFINITY};
  for (uint32_t i = 0; i < 5; i++) {
    write_values("values", 1100, labels[i], 0);
    CHECK_MSG((int32_t)verified("values") == TS_EFORMAT && strstr(message, "the label of row 1100 is ") != NULL, "%s",
              message);
    CHECK(evaluate("values") == TS_EFORMAT && strstr(message, "expected 0 or 1") != NULL);
  }
  const float numerics[] = {NAN, INFINITY, -INFINITY};
  for (uint32_t i = 0; i < 3; i++) {
    write_values("values", 3, 1, numerics[i]);
    CHECK_MSG((int32_t)verified("values") == TS_EFORMAT && strstr(message, "I5 of row 3 is ") != NULL, "%s", message);
  }
  write_values("values", 1501, NAN, NAN); /* behind the last row: zeros that were not, but nobody's rows */
  CHECK(verified("values") == TS_OK);
}

static void what_is_being_written_is_locked(void) {
  ts_cache_writer writer;
  CHECK(ts_cache_writer_open(in_folder("part"), &writer, (ts_err){message, sizeof message}) == TS_OK);
  CHECK(files_named("part.part-") == 1);
  int fd = open(writer.temporary, O_RDWR);
  CHECK(fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) != 0);
  ts_cache_writer_close(&writer);
  CHECK(flock(fd, LOCK_EX | LOCK_NB) == 0 && files_named("part.part-") == 0);
  close(fd);
}

int main(void) {
  make_folder();
  every_flip_is_found();
  two_groups_changed_places();
  damaged_rows_do_not_train();
  values_are_looked_at();
  what_is_being_written_is_locked();
  remove_folder();
  return test_result();
}
