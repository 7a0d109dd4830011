/* Each fixed byte of what SSDHASH keeps on the medium, damaged in turn: of a record (checksum, sequence, key, version), of a
 * log file's header, of the live map. Whatever comes after (get, compaction, opening again) gives the exact rows or one
 * clear error: never another row, never an endless compaction. */
#include "test/ssdhash_world.h"
#include "tiers/ssdhash/format.h"

#define ROW 24u
#define KEYS 4000u
#define SECONDS 300 /* all of it takes a few, sanitizers more; a call that does not return ends the program here */

static const char *const options[] = {"file_bytes=65536", "buffer_bytes=8192", NULL};
static const uint64_t wide = UINT64_C(1) << 40; /* a version of eight bytes */

static uint64_t stamps[KEYS]; /* what each key holds */

/* Puts the keys of [first, first + n) that are drawn: one of `of`, by chance of the stamp; never `except`. */
static int32_t put_some(world *w, uint32_t first, uint32_t n, uint64_t stamp, uint32_t of, int64_t except) {
  static unsigned char memory[KEYS][ROW];
  const unsigned char *rows[KEYS];
  int64_t keys[KEYS];
  uint64_t versions[KEYS];
  uint32_t m = 0;
  for (uint32_t key = first; key < first + n; key++) {
    if (key == except || ts_random64(3, stamp, key) % of != 0) continue;
    keys[m] = key;
    versions[m] = wide + stamp;
    rows[m] = memory[m];
    stamps[key] = stamp;
    fill(memory[m++], ROW, key, stamp);
  }
  return ops->put(w->table, m, keys, versions, rows, NULL, err_of(w));
}

static void make(world *w, const char *directory) {
  world_make(w, directory, "t", ROW, 2 << 20, 8 << 20, options);
  CHECK_MSG(world_open(w) == TS_OK, "%s", w->message);
  CHECK_MSG(put_some(w, 0, KEYS, 1, 1, -1) == TS_OK && ops->flush(w->table, err_of(w)) == TS_OK, "%s", w->message);
}

/* Every key has its row; but `lost` is refused by name of its file. */
static void check_rows(world *w, int64_t lost, const char *path, uint32_t byte) {
  static unsigned char memory[KEYS][ROW];
  unsigned char *rows[KEYS], expected[ROW];
  int64_t keys[KEYS];
  uint8_t found[KEYS];
  uint32_t missing = 0, wrong = 0;
  for (uint32_t i = 0; i < KEYS; i++) {
    keys[i] = i;
    rows[i] = memory[i];
  }
  int32_t status = ops->get(w->table, KEYS, keys, rows, found, err_of(w));
  for (uint32_t i = 0; i < KEYS; i++) {
    fill(expected, ROW, i, stamps[i]);
    missing += !found[i] && i != lost;
    wrong += found[i] && (memcmp(rows[i], expected, ROW) != 0 || i == lost);
  }
  CHECK_MSG(missing == 0 && wrong == 0, "byte %u: %u missing, %u wrong", byte, missing, wrong);
  CHECK_MSG(lost < 0 ? status == TS_OK
                     : status == TS_EFORMAT && strstr(w->message, path) != NULL && strstr(w->message, "offset") != NULL,
            "byte %u: %d %s", byte, status, w->message);
}

/* Where the record of a key that was put in order lies: in the first file. */
static off_t record_at(uint32_t slot) {
  ts_ssd_layout l;
  CHECK(ts_ssd_layout_make(ROW, 8, &l));
  return (off_t)ts_ssd_offset(&l, slot);
}

/* A live record. The others are put again by chance, so that its file is compacted. */
static void live_record(uint32_t byte) {
  enum { LOST = 7 };
  world w;
  char path[600];
  const char *directory = where("live");
  make(&w, directory);
  log_file(directory, "t", 0, path, sizeof path);
  flip(path, record_at(LOST) + byte);
  check_rows(&w, LOST, path, byte);
  ts_records_counts counts = {0};
  for (uint64_t stamp = 2; stamp < 100 && counts.compactions < 12; stamp++) {
    CHECK_MSG(put_some(&w, 0, KEYS, stamp, 3, LOST) == TS_OK, "byte %u: %s", byte, w.message);
    ops->count(w.table, &counts);
  }
  CHECK_MSG(counts.compactions >= 12 && counts.compactions < 100, "byte %u: %llu compactions", byte,
            (unsigned long long)counts.compactions);
  check_rows(&w, LOST, path, byte);
  /* Kept as it is, and refused by name when it is opened. */
  world_close(&w, true);
  CHECK(access(path, F_OK) == 0);
  CHECK_MSG(world_open(&w) == TS_EFORMAT && strstr(w.message, path) != NULL && strstr(w.message, "offset") != NULL,
            "byte %u: %s", byte, w.message);
  flip(path, record_at(LOST) + byte);
  CHECK_MSG(world_open(&w) == TS_OK, "byte %u: %s", byte, w.message);
  if (w.table != NULL) check_rows(&w, -1, path, byte);
  world_end(&w);
}

/* A record that was replaced: nobody misses it, its file goes. */
static void dead_record(uint32_t byte) {
  enum { DEAD = 3 };
  world w;
  char path[600];
  const char *directory = where("dead");
  make(&w, directory);
  log_file(directory, "t", 0, path, sizeof path);
  CHECK(put_some(&w, DEAD, 1, 2, 1, -1) == TS_OK);
  flip(path, record_at(DEAD) + byte);
  uint64_t stamp = 3;
  for (; access(path, F_OK) == 0 && stamp < 100; stamp++)
    CHECK_MSG(put_some(&w, 0, KEYS, stamp, 3, DEAD) == TS_OK, "byte %u: %s", byte, w.message);
  CHECK_MSG(stamp < 100, "byte %u: the file stays", byte);
  check_rows(&w, -1, path, byte);
  world_close(&w, true);
  CHECK_MSG(world_open(&w) == TS_OK, "byte %u: %s", byte, w.message);
  if (w.table != NULL) check_rows(&w, -1, path, byte);
  world_end(&w);
}

/* Of a log file's header, which an open table does not read again, and of the live map. Negative: from the end. */
static void file_byte(bool map, off_t offset, bool may_pass) {
  world w;
  char path[600];
  struct stat s;
  const char *directory = where("file");
  make(&w, directory);
  if (map) {
    world_close(&w, true);
    CHECK(snprintf(path, sizeof path, "%s/t.ssdhash/live", directory) < (int)sizeof path && stat(path, &s) == 0);
    if (offset < 0) offset += s.st_size;
    flip(path, offset);
  } else {
    log_file(directory, "t", 0, path, sizeof path);
    flip(path, offset);
    CHECK_MSG(put_some(&w, 500, KEYS - 500, 2, 2, -1) == TS_OK, "%s", w.message);
    check_rows(&w, -1, path, (uint32_t)offset);
    world_close(&w, true);
  }
  int32_t status = world_open(&w);
  if (may_pass) {
    CHECK_MSG(status == TS_OK, "byte %lld: %s", (long long)offset, w.message);
  } else {
    CHECK_MSG(status == TS_EFORMAT && strstr(w.message, path) != NULL, "byte %lld: %d %s", (long long)offset, status,
              w.message);
    flip(path, offset);
    CHECK_MSG(world_open(&w) == TS_OK, "byte %lld: %s", (long long)offset, w.message);
  }
  if (w.table != NULL) check_rows(&w, -1, path, (uint32_t)offset);
  world_end(&w);
}

int main(void) {
  alarm(SECONDS);
  make_root(false);
  for (uint32_t byte = 0; byte < TS_SSD_RECORD_FIXED + 8; byte++) {
    live_record(byte);
    dead_record(byte);
  }
  for (uint32_t byte = 0; byte < sizeof(ts_ssd_header); byte++) file_byte(false, byte, false);
  file_byte(false, 100, true); /* between header and records nothing is said */
  for (int32_t byte = 0; byte < 24 + 16 + 8; byte++) file_byte(true, byte, false);
  for (int32_t byte = -8; byte < -4; byte++) file_byte(true, byte, false);
  for (int32_t byte = -4; byte < 0; byte++) file_byte(true, byte, true); /* whether the table was closed */
  remove_root();
  return test_result();
}
