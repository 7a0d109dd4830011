/* Checkpoints in a PMEM table (tiers/pmem) on files of an ordinary file system, by libpmem: the model, D1 to D5, limits, what is
 * refused, every flipped bit. Crashes: crash_test. */
#define WORLD_RECORDS ts_pmem_records
#define CP_OPTIONS NULL
#include "test/record_checkpoints.h"
#include "tiers/pmem/table.h"

#include <stdatomic.h>

/* The file of a table "t" with this number. */
static void pool_file(const char *directory, uint32_t segment, char *out, size_t cap) {
  snprintf(out, cap, "%s/%016llx.pmem/%u.pool", directory, (unsigned long long)ts_hash_bytes("t", 1, 0), segment);
}

/* ---- what is refused ---- */

static void misuse(void) {
  world w;
  static cp_model m;
  cp_make(&m, &w, where("misuse"), 1 << 20, 6, NULL);
  const int64_t key = 1;
  unsigned char row[CP_ROW] = {0};
  const unsigned char *rows = row;
  CHECK_MSG(m.cuts->put(w.table, 1, &key, NULL, &rows, err_of(&w)) == TS_EINVAL, "%s", w.message);
  CHECK(m.cuts->complete(w.table, 1, NULL, 0, err_of(&w)) == TS_EINVAL);
  CHECK(m.cuts->begin(w.table, 0, err_of(&w)) == TS_EINVAL);
  CHECK(cp_begin(&m, 0) == TS_OK);
  CHECK_MSG(m.cuts->begin(w.table, 2, err_of(&w)) == TS_EINVAL && strstr(w.message, "not complete yet") != NULL, "%s", w.message);
  CHECK(m.cuts->complete(w.table, 1, NULL, UINT32_MAX, err_of(&w)) == TS_EINVAL);
  CHECK_MSG(cp_complete(&m) == TS_OK, "%s", w.message); /* of nothing */
  CHECK(m.cuts->complete(w.table, 1, NULL, 0, err_of(&w)) == TS_EINVAL);
  CHECK(m.cuts->begin(w.table, 1, err_of(&w)) == TS_EINVAL);
  for (uint32_t i = 1; i < TS_RECORDS_CUTS; i++) take(&m);
  CHECK_MSG(m.cuts->begin(w.table, 100, err_of(&w)) == TS_EINVAL && strstr(w.message, "drop one") != NULL, "%s", w.message);
  world_close(&w, true);
  w.open.temporary = true;
  CHECK_MSG(world_open(&w) == TS_EINVAL && strstr(w.message, "has checkpoints") != NULL, "%s", w.message);
  w.open.temporary = false;
  cp_reopen(&m, TS_RECORDS_CUTS - 1, true);
  world_close(&w, false);
  w.open.temporary = true;
  CHECK_MSG(world_open(&w) == TS_OK, "%s", w.message);
  CHECK_MSG(m.cuts->begin(w.table, 1, err_of(&w)) == TS_EINVAL && strstr(w.message, "open it to stay") != NULL, "%s", w.message);
  world_end(&w);
}

/* Without a checkpoint nothing is kept, and what is there is made anew. */
static void a_table_without_checkpoints_opens_empty(void) {
  world w;
  static cp_model m;
  const char *directory = where("none");
  cp_make(&m, &w, directory, 1 << 20, 7, NULL);
  put_range(&m, 0, CP_KEYS);
  world_close(&w, true);
  CHECK(du(directory) > 0);
  w.open.at = 1;
  CHECK_MSG(world_open(&w) == TS_EINVAL && strstr(w.message, "has none") != NULL, "%s", w.message);
  w.open.at = 0;
  CHECK_MSG(world_open(&w) == TS_OK, "%s", w.message);
  static const cp_state nothing;
  cp_check(&w, &nothing, "no checkpoint");
  world_end(&w);
}

/* What a checkpoint retains takes room, and a full tier says for which. A record that none retains can always be replaced. */
static void what_is_retained_is_named(void) {
  world w;
  static cp_model m;
  cp_make(&m, &w, where("room"), 80 << 10, 8, NULL);
  put_range(&m, 0, 300);
  for (uint32_t i = 0; i < 20; i++) put_range(&m, 0, 300);
  take(&m);
  uint32_t i = 0;
  while (i < 5000 && cp_put_one(&m, i % 300)) i++;
  CHECK_MSG(i < 5000 && i > 0 && strstr(w.message, "stay for the checkpoints 1") != NULL, "%u puts: %s", i, w.message);
  const uint32_t replaced = i; /* these are of now: no checkpoint has them */
  for (uint32_t k = 0; k < replaced; k++) CHECK_MSG(cp_put_one(&m, k), "%s", w.message);
  cp_check(&w, &m.now, "full");
  ts_records_counts counts;
  ops->count(w.table, &counts);
  CHECK_MSG(counts.retained == replaced, "%llu of %u", (unsigned long long)counts.retained, replaced);
  world_close(&w, true);
  cp_reopen(&m, 0, true);
  cp_check(&w, &m.now, "full, opened again");
  world_end(&w);
}

/* Rows that were put once stay where they are: a checkpoint of them writes a note and a root. */
static void nothing_is_copied_at_the_request(void) {
  world w;
  static cp_model m;
  ts_records_counts before, after;
  cp_make(&m, &w, where("copied"), 1 << 20, 9, NULL);
  put_range(&m, 0, CP_KEYS);
  take(&m);
  for (uint32_t n = 0; n < 5; n++) {
    ops->count(w.table, &before);
    take(&m);
    ops->count(w.table, &after);
    CHECK_MSG(after.bytes_written - before.bytes_written <= 256 && after.payload_written == before.payload_written, "%llu",
              (unsigned long long)(after.bytes_written - before.bytes_written));
  }
  /* Of a row that changes after a checkpoint one record more is there, however often it changes. */
  for (uint32_t n = 0; n < 10; n++) put_range(&m, 0, 7);
  ops->count(w.table, &after);
  CHECK(after.retained == 7);
  world_end(&w);
}

/* ---- damage ---- */

/* Each bit of what a checkpoint needs, flipped: it is refused with the name of the file, or what is opened is right. */
static void flipped_bits(void) {
  world w;
  static cp_model m;
  const char *directory = where("bits");
  char path[600], why[600];
  cp_make(&m, &w, directory, 1 << 20, 10, NULL);
  put_range(&m, 0, 5);
  take(&m);
  put_range(&m, 1, 4);
  take(&m);
  const int64_t key = cp_key(4);
  CHECK(ops->remove(w.table, 1, &key, NULL, err_of(&w)) == TS_OK);
  m.now.stamp[4] = 0;
  take(&m);
  const cp_state state = m.now;
  ts_pm_table *t = (ts_pm_table *)w.table;
  const uint64_t places = 16, place_bytes = t->place_bytes;
  world_close(&w, true);
  pool_file(directory, 0, path, sizeof path);
  uint32_t refused = 0, right = 0;
  const uint64_t ends[4][2] = {{0, 64}, {TS_PM_PAGE, TS_PM_PAGE + sizeof(ts_pm_root)}, {2 * TS_PM_PAGE, 2 * TS_PM_PAGE + sizeof(ts_pm_root)},
                               {TS_PM_WORD, TS_PM_FIRST + places * place_bytes}};
  unsigned char *before = malloc(TS_PM_FIRST + places * place_bytes), *bytes = malloc(TS_PM_FIRST + places * place_bytes);
  const int fd = open(path, O_RDWR);
  const ssize_t all = (ssize_t)(TS_PM_FIRST + places * place_bytes);
  CHECK(fd >= 0 && pread(fd, before, (size_t)all, 0) == all);
  for (uint32_t part = 0; part < 4; part++)
    for (uint64_t at = ends[part][0]; at < ends[part][1] && test_failures == 0; at++) {
      if (at > TS_PM_WORD + 8 && at < TS_PM_FIRST) continue; /* nothing is there */
      memcpy(bytes, before, (size_t)all);
      bytes[at] ^= (unsigned char)(1u << (at * 5 % 8));
      CHECK(pwrite(fd, bytes, (size_t)all, 0) == all);
      const int32_t status = world_open(&w);
      if (status != TS_OK) {
        CHECK_MSG(status == TS_EFORMAT && strstr(w.message, ".pool") != NULL, "at %llu: %d %s", (unsigned long long)at, status, w.message);
        refused++;
      } else {
        CHECK_MSG(cp_equal(&w, &state, why, sizeof why), "at %llu: %s", (unsigned long long)at, why);
        right++;
        world_close(&w, true);
      }
      w.table = NULL;
    }
  CHECK_MSG(refused > 4 * (sizeof(ts_pm_head) + CP_ROW) && right > 0, "%u refused, %u right", refused, right);
  /* A place that moved to another one, with its sums. */
  memcpy(bytes, before, (size_t)all);
  memcpy(bytes + TS_PM_FIRST, before + TS_PM_FIRST + 4 * place_bytes, place_bytes);
  CHECK(pwrite(fd, bytes, (size_t)all, 0) == all);
  CHECK_MSG(world_open(&w) == TS_EFORMAT && strstr(w.message, "rows are there") != NULL, "%s", w.message);
  /* A file cut short, and gone. */
  CHECK(pwrite(fd, before, (size_t)all, 0) == all && ftruncate(fd, 20000) == 0);
  CHECK_MSG(world_open(&w) == TS_EFORMAT && strstr(w.message, "another length") != NULL, "%s", w.message);
  close(fd);
  free(before);
  free(bytes);
  w.table = NULL;
  ts_blocks_destroy(w.blocks);
  free(w.epochs);
  free((char *)w.open.directory);
}

static void a_missing_file_is_named(void) {
  world w;
  static cp_model m;
  char path[600];
  const char *directory = where("missing");
  cp_make(&m, &w, directory, 1 << 20, 11, NULL);
  for (uint32_t i = 0; i < 6; i++) {
    put_range(&m, 0, CP_KEYS);
    take(&m);
  }
  ts_pm_table *t = (ts_pm_table *)w.table;
  CHECK_MSG(t->segment_count > 1, "%u", t->segment_count);
  world_close(&w, true);
  pool_file(directory, 1, path, sizeof path);
  CHECK(unlink(path) == 0);
  CHECK_MSG(world_open(&w) == TS_EFORMAT && strstr(w.message, "/1.pool is missing") != NULL, "%s", w.message);
  w.table = NULL;
  world_end(&w);
}

/* What is damaged while a table is open is named when it is read, and not returned. */
static void a_damaged_row_is_not_returned(void) {
  world w;
  static cp_model m;
  cp_make(&m, &w, where("row"), 1 << 20, 12, NULL);
  put_range(&m, 0, 3);
  ts_pm_table *t = (ts_pm_table *)w.table;
  const int64_t key = cp_key(1);
  ((unsigned char *)(ts_pm_at(t, ts_index_find_one(&t->index, key)) + 1))[5] ^= 1;
  unsigned char row[CP_ROW], *rows = row;
  uint8_t found;
  CHECK_MSG(ops->get(w.table, 1, &key, &rows, &found, err_of(&w)) == TS_EFORMAT && strstr(w.message, "offset 16") != NULL, "%s", w.message);
  world_end(&w);
}

/* ---- opening ---- */

static void progress(void) {
  world w;
  static cp_model m;
  uint64_t control[TS_CONTROL_WORDS] = {0};
  cp_make(&m, &w, where("progress"), 1 << 20, 13, NULL);
  put_range(&m, 0, CP_KEYS);
  take(&m);
  const uint64_t bytes = ((ts_pm_table *)w.table)->medium_bytes;
  world_close(&w, true);
  w.open.control = control;
  control[TS_CONTROL_CANCEL] = 1;
  CHECK_MSG(world_open(&w) == TS_ECANCELLED, "%s", w.message);
  w.table = NULL;
  memset(control, 0, sizeof control); /* it adds to what other tables have */
  cp_reopen(&m, 0, true);
  CHECK(control[TS_CONTROL_DONE] == bytes && control[TS_CONTROL_TOTAL] == bytes);
  cp_check(&w, &m.now, "progress");
  world_end(&w);
}

/* ---- threads ---- */

typedef struct reader {
  world *w;
  pthread_t id;
  _Atomic bool stop;
  _Atomic uint64_t read;
  uint64_t wrong;
} reader;

static void *read_on(void *context) {
  reader *r = context;
  while (!atomic_load(&r->stop)) {
    unsigned char row[CP_ROW], expected[CP_ROW], *rows = row;
    char text[256] = "";
    const int64_t key = cp_key((uint32_t)(atomic_fetch_add(&r->read, 1) % CP_KEYS));
    uint8_t found = 0;
    if (ops->get(r->w->table, 1, &key, &rows, &found, (ts_err){text, sizeof text}) != TS_OK) r->wrong++;
    if (!found) continue;
    fill(expected, CP_ROW, key, stamp_of(row, CP_ROW));
    r->wrong += memcmp(row, expected, CP_ROW) != 0;
  }
  return NULL;
}

/* Rows are read while they change and checkpoints come and go. */
static void checkpoints_beside_readers(void) {
  world w;
  static cp_model m;
  reader readers[2] = {{.w = &w}, {.w = &w}};
  cp_make(&m, &w, where("threads"), 1 << 20, 14, NULL);
  put_range(&m, 0, CP_KEYS);
  for (uint32_t i = 0; i < 2; i++) pthread_create(&readers[i].id, NULL, read_on, &readers[i]);
  for (uint32_t i = 0; i < 2; i++)
    while (atomic_load(&readers[i].read) == 0) sched_yield(); /* a thread that has no CPU yet would read nothing */
  for (uint32_t round = 0; round < 60; round++) {
    CHECK(cp_begin(&m, 4) == TS_OK);
    put_range(&m, 0, CP_KEYS / 2);
    for (uint32_t i = 0; i < 20; i++) cp_remove_one(&m, (uint32_t)cp_random(&m, CP_KEYS));
    CHECK_MSG(cp_complete(&m) == TS_OK, "%s", w.message);
    if (m.n > 3) CHECK_MSG(cp_drop(&m, (uint32_t)cp_random(&m, 2)) == TS_OK, "%s", w.message);
  }
  for (uint32_t i = 0; i < 2; i++) {
    atomic_store(&readers[i].stop, true);
    pthread_join(readers[i].id, NULL);
    CHECK_MSG(readers[i].wrong == 0, "%llu of %llu", (unsigned long long)readers[i].wrong, (unsigned long long)readers[i].read);
  }
  cp_check(&w, &m.now, "threads");
  for (uint32_t at = m.n; at-- > 0;) {
    world_close(&w, true);
    cp_reopen(&m, at, false);
    cp_check(&w, &m.now, "threads, opened");
  }
  world_end(&w);
}

int main(void) {
  const ts_libpmem *library;
  if (ts_libpmem_load(&library, (ts_err){0}) != TS_OK) {
    SKIP("checkpoints in PMEM", "libpmem is not installed");
    return 77;
  }
  make_root(false);
  d1_rows_of_an_abandoned_timeline_never_come_back();
  d2_a_checkpoint_that_is_listed_has_all_its_rows();
  d3_a_dropped_checkpoint_is_refused();
  d4_rows_of_another_layout_are_refused();
  d5_there_is_always_a_checkpoint();
  misuse();
  a_table_without_checkpoints_opens_empty();
  what_is_retained_is_named();
  nothing_is_copied_at_the_request();
  flipped_bits();
  a_missing_file_is_named();
  a_damaged_row_is_not_returned();
  progress();
  checkpoints_beside_readers();
  model_test("model", 900 << 10, 3000, 4, false, NULL);
  model_test("crowded", 150 << 10, 3000, 4, true, NULL);
  remove_root();
  return test_result();
}
