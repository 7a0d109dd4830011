/* Hand-overs between threads of an SSDHASH table, forced by sync points (base/sync_point.h): what happens by chance once in
 * a million runs happens here in each. */
#include "base/sync_point.h"
#include "test/ssdhash_world.h"
#include "tiers/ssdhash/table.h"

#include <time.h>

#define PATIENCE 120 /* seconds, for what takes milliseconds, and under a sanitizer on a busy machine many of them */

typedef struct call {
  pthread_t id;
  world *w;
  int64_t first;
  ts_records *table;
  uint32_t n, right, wrong, stamp;
  _Atomic bool stop;
  int32_t status;
  char text[512];
} call;

static void *get_one(void *argument) {
  call *c = argument;
  const uint32_t bytes = c->w->open.row_bytes;
  unsigned char *row = malloc(bytes), *expected = malloc(bytes);
  uint8_t found = 0;
  c->status = ops->get(c->w->table, 1, &c->first, &row, &found, (ts_err){c->text, sizeof c->text});
  fill(expected, bytes, c->first, c->stamp);
  c->right = found && memcmp(row, expected, bytes) == 0;
  free(row);
  free(expected);
  return NULL;
}

/* Puts keys one by one until one is refused; n: how many were taken. */
static void *put_until_refused(void *argument) {
  call *c = argument;
  const uint32_t bytes = c->w->open.row_bytes;
  unsigned char *row = malloc(bytes);
  for (c->n = 0; c->status == TS_OK && c->n < 100000; c->n++) {
    const int64_t key = c->first + c->n;
    fill(row, bytes, key, c->stamp);
    c->status = ops->put(c->w->table, 1, &key, NULL, (const unsigned char *const *)&row, NULL,
                            (ts_err){c->text, sizeof c->text});
  }
  c->n--;
  free(row);
  return NULL;
}

/* False: it hangs; nothing after that makes sense. */
static bool joined(pthread_t id) {
  struct timespec until;
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_sec += PATIENCE;
  return pthread_timedjoin_np(id, NULL, &until) == 0;
}

/* A put finds the limit reached and only a file that is still read in the way. The reader leaves after the put has looked
 * and before it sleeps: nobody would wake it. */
static void last_reader_leaves_before_the_wait(void) {
  static const char *const options[] = {"file_bytes=65536", "buffer_bytes=16384", NULL};
  world w;
  world_make(&w, where("wait"), "t", 128, 1 << 20, 8 << 20, options);
  CHECK(world_open(&w) == TS_OK);
  CHECK_MSG(put_many(&w, 0, 3000, 1) == TS_OK && ops->flush(w.table, err_of(&w)) == TS_OK, "%s", w.message);
  ts_sync_start();
  ts_sync_close("ssd:get:arrived");
  ts_sync_close("ssd:room:before_wait");
  call reader = {.w = &w, .first = 0, .stamp = 1}, writer = {.w = &w, .first = 10000, .stamp = 3};
  pthread_create(&reader.id, NULL, get_one, &reader);
  CHECK(ts_sync_await("ssd:get:arrived", 1));
  /* All records of its file die: the file waits for the reader alone. */
  CHECK_MSG(put_many(&w, 0, 1000, 2) == TS_OK && ops->flush(w.table, err_of(&w)) == TS_OK, "%s", w.message);
  pthread_create(&writer.id, NULL, put_until_refused, &writer);
  CHECK(ts_sync_await("ssd:room:before_wait", 1));
  ts_sync_open("ssd:get:arrived");
  CHECK(ts_sync_await("ssd:get:left", 1));
  ts_sync_open("ssd:room:before_wait");
  const bool woken = joined(writer.id);
  CHECK_MSG(woken, "%s", "the put sleeps though the reader has left");
  if (!woken) _exit(1);
  CHECK(joined(reader.id) && reader.right == 1);
  CHECK(ts_sync_stop());
  CHECK_MSG(writer.status == TS_EFULL && strstr(writer.text, "limit") != NULL, "%d %s", writer.status, writer.text);
  uint32_t wrong = 0;
  int32_t status;
  CHECK(read_many(&w, 0, 1000, 2, &wrong, &status) == 1000 && read_many(&w, 1000, 2000, 1, &wrong, &status) == 2000);
  CHECK_MSG(read_many(&w, 10000, writer.n, 3, &wrong, &status) == writer.n && wrong == 0, "%u of %u", wrong, writer.n);
  world_end(&w);
}

/* Puts the first n keys once. */
static void *put_all(void *argument) {
  call *c = argument;
  c->status = put_many(c->w, c->first, c->n, c->stamp);
  return NULL;
}

static void *close_table(void *argument) {
  world_close(((call *)argument)->w, true);
  return NULL;
}

/* Compaction has read records of a file; before it goes on, all of them are put again: the newer ones stay. */
static void records_change_while_they_are_compacted(void) {
  enum { KEYS = 3000 };
  static const char *const options[] = {"file_bytes=65536", "buffer_bytes=8192", "async_compaction=1", NULL};
  world w;
  world_make(&w, where("change"), "t", 128, 4 << 20, 8 << 20, options);
  CHECK(world_open(&w) == TS_OK);
  CHECK(put_many(&w, 0, KEYS, 1) == TS_OK);
  ts_sync_start();
  ts_sync_close_first("ssd:compact:read");
  /* Keys by chance, again and again, until the thread that compacts has read live records. */
  for (uint64_t stamp = 2; ts_sync_reached("ssd:compact:read") == 0 && stamp < 200; stamp++)
    for (int64_t key = 0; key < KEYS; key++)
      if (ts_random64(5, stamp, (uint64_t)key) % 3 == 0) CHECK_MSG(put_one(&w, key, stamp, 0) == TS_OK, "%s", w.message);
  CHECK(ts_sync_await("ssd:compact:read", 1));
  call writer = {.w = &w, .n = KEYS, .stamp = 1000};
  pthread_create(&writer.id, NULL, put_all, &writer);
  CHECK(joined(writer.id) && writer.status == TS_OK);
  int64_t gone[] = {1, 3, 5, 7};
  CHECK(ops->remove(w.table, 4, gone, NULL, err_of(&w)) == TS_OK);
  ts_sync_open("ssd:compact:read");
  CHECK(ts_sync_await("ssd:compact:rewritten", 1));
  CHECK(ts_sync_stop());
  uint32_t wrong = 0;
  int32_t status;
  CHECK_MSG(read_many(&w, 0, KEYS, 1000, &wrong, &status) == KEYS - 4 && wrong == 0 && status == TS_OK, "%u wrong", wrong);
  world_close(&w, true);
  CHECK_MSG(world_open(&w) == TS_OK, "%s", w.message);
  CHECK(w.table != NULL && read_many(&w, 0, KEYS, 1000, &wrong, &status) == KEYS - 4 && wrong == 0);
  world_end(&w);
}

/* Reads of a ring that end early or fail are done again by plain calls; writes too. */
static void spoil(void *context, void *value) {
  int32_t *result = value;
  uint32_t *times = context;
  const uint32_t which = (*times)++ % 3;
  if (which == 0 && *result > 512) *result -= 512;
  if (which == 1) *result = -EIO;
}

static void rings_that_fail(void) {
  static const char *const options[] = {"file_bytes=65536", "buffer_bytes=8192", "io=io_uring", NULL};
  world w;
  world_make(&w, where("ring"), "t", 128, 4 << 20, 8 << 20, options);
  if (world_open(&w) != TS_OK) {
    fprintf(stderr, "ssdhash_handover_test: rings_that_fail skipped: %s\n", w.message);
    world_end(&w);
    return;
  }
  uint32_t reads = 0, writes = 0, wrong = 0;
  int32_t status;
  ts_sync_start();
  ts_sync_call("ssd:get:ring_read", spoil, &reads);
  ts_sync_call("ssd:log:ring_wrote", spoil, &writes);
  CHECK(put_many(&w, 0, 5000, 1) == TS_OK && ops->flush(w.table, err_of(&w)) == TS_OK);
  CHECK_MSG(read_many(&w, 0, 5000, 1, &wrong, &status) == 5000 && wrong == 0 && status == TS_OK, "%s", w.message);
  CHECK_MSG(reads > 10 && writes > 10, "%u reads, %u writes", reads, writes);
  CHECK(ts_sync_stop());
  world_close(&w, true);
  CHECK_MSG(world_open(&w) == TS_OK, "%s", w.message);
  CHECK(w.table != NULL && read_many(&w, 0, 5000, 1, &wrong, &status) == 5000 && wrong == 0);
  world_end(&w);
}

static void *read_until_told(void *argument) {
  call *c = argument;
  uint32_t wrong = 0;
  while (!atomic_load(&c->stop)) {
    unsigned char row[128], *to = row, expected[128];
    uint8_t found = 0;
    c->status = ops->get(c->table, 1, &c->first, &to, &found, (ts_err){c->text, sizeof c->text});
    fill(expected, sizeof expected, c->first, c->stamp);
    wrong += c->status != TS_OK || !found || memcmp(row, expected, sizeof row) != 0;
  }
  c->wrong = wrong;
  return NULL;
}

/* Tables share readers and buffers; opening one leaves those of others alone (the thread sanitizer tells). */
static void tables_open_beside_readers(void) {
  world w;
  world_make(&w, where("beside"), "t", 128, 8 << 20, 8 << 20, NULL);
  CHECK(world_open(&w) == TS_OK);
  CHECK(put_many(&w, 0, 100, 1) == TS_OK && ops->flush(w.table, err_of(&w)) == TS_OK);
  call reader = {.w = &w, .table = w.table, .first = 7, .stamp = 1};
  pthread_create(&reader.id, NULL, read_until_told, &reader);
  for (uint32_t i = 0; i < 20; i++) {
    ts_records *other;
    ts_records_options options = w.open;
    char name[16], text[512];
    snprintf(name, sizeof name, "t%u", i);
    options.table = name;
    const int32_t status = ops->open(&options, &other, (ts_err){text, sizeof text});
    CHECK_MSG(status == TS_OK, "%s", text);
    if (status == TS_OK) ops->close(other, false);
  }
  atomic_store(&reader.stop, true);
  CHECK(joined(reader.id));
  CHECK_MSG(reader.wrong == 0, "%u: %s", reader.wrong, reader.text);
  world_end(&w);
}

/* The thread that compacts is asked again while it compacts, and looks again before it sleeps; a table that closes ends it,
 * however much there is left to tidy. */
static void the_compactor_is_asked_while_it_compacts(void) {
  enum { KEYS = 3000 };
  static const char *const options[] = {"file_bytes=65536", "buffer_bytes=8192", "async_compaction=1", NULL};
  world w;
  world_make(&w, where("asked"), "t", 128, 4 << 20, 8 << 20, options);
  ts_sync_start();
  ts_sync_close_first("ssd:compact:read");
  CHECK(world_open(&w) == TS_OK);
  CHECK(ts_sync_await("ssd:compactor:looks", 1));
  for (uint64_t stamp = 1; ts_sync_reached("ssd:compact:read") == 0 && stamp < 200; stamp++)
    for (int64_t key = 0; key < KEYS; key++)
      if (stamp == 1 || ts_random64(5, stamp, (uint64_t)key) % 3 == 0)
        CHECK_MSG(put_one(&w, key, stamp, 0) == TS_OK, "%s", w.message);
  CHECK(ts_sync_await("ssd:compact:read", 1));
  const uint64_t looked = ts_sync_reached("ssd:compactor:looks");
  CHECK_MSG(put_many(&w, 0, KEYS, 1000) == TS_OK, "%s", w.message); /* all that is older is garbage: asks */
  CHECK(ts_sync_reached("ssd:compactor:looks") == looked);
  ts_sync_open("ssd:compact:read");
  CHECK(ts_sync_await("ssd:compactor:looks", looked + 1));
  uint32_t wrong = 0;
  int32_t status;
  CHECK(read_many(&w, 0, KEYS, 1000, &wrong, &status) == KEYS && wrong == 0);
  /* Garbage again, and the table closes as its compaction begins. */
  ts_sync_close_first("ssd:compact:read");
  const uint64_t read = ts_sync_reached("ssd:compact:read");
  for (uint64_t stamp = 1001; ts_sync_reached("ssd:compact:read") == read && stamp < 1200; stamp++)
    for (int64_t key = 0; key < KEYS; key++)
      if (ts_random64(5, stamp, (uint64_t)key) % 3 == 0) CHECK_MSG(put_one(&w, key, stamp, 0) == TS_OK, "%s", w.message);
  CHECK(put_many(&w, 0, KEYS, 2000) == TS_OK);
  call closer = {.w = &w};
  pthread_create(&closer.id, NULL, close_table, &closer);
  ts_sync_open("ssd:compact:read");
  const bool closed = joined(closer.id);
  CHECK_MSG(closed, "%s", "closing a table that compacts hangs");
  if (!closed) _exit(1);
  CHECK(ts_sync_stop());
  CHECK_MSG(world_open(&w) == TS_OK, "%s", w.message);
  CHECK(w.table != NULL && read_many(&w, 0, KEYS, 2000, &wrong, &status) == KEYS && wrong == 0);
  world_end(&w);
}

/* Puts keys by chance, again and again, until two files were compacted; stamps: of each key's last put. */
typedef struct churned {
  pthread_t id;
  ts_records *table;
  uint32_t stamps[3000];
  int32_t status;
  char text[512];
} churned;

static void *churn(void *argument) {
  churned *c = argument;
  const ts_err err = {c->text, sizeof c->text};
  unsigned char row[128];
  const unsigned char *from = row;
  for (uint32_t stamp = 1; ts_sync_reached("ssd:compact:rewritten") < 2 && stamp < 500; stamp++)
    for (int64_t key = 0; key < 3000 && c->status == TS_OK; key++) {
      if (stamp > 1 && ts_random64(5, stamp, (uint64_t)key) % 3 != 0) continue;
      fill(row, sizeof row, key, stamp);
      c->status = ops->put(c->table, 1, &key, NULL, &from, NULL, err);
      c->stamps[key] = stamp;
    }
  return NULL;
}

static uint32_t wrong_rows(churned *c) {
  unsigned char row[128], expected[128], *to = row;
  uint32_t wrong = 0;
  for (int64_t key = 0; key < 3000; key++) {
    uint8_t found = 0;
    fill(expected, sizeof expected, key, c->stamps[key]);
    const int32_t status = ops->get(c->table, 1, &key, &to, &found, (ts_err){c->text, sizeof c->text});
    wrong += status != TS_OK || !found || memcmp(row, expected, sizeof row) != 0;
  }
  return wrong;
}

/* Where DRAM is full all compactions share the one buffer that was kept for them: the second waits until the first has
 * brought it back, and both keep their records. */
static void compactions_take_turns_at_the_last_buffer(void) {
  enum { MOST = 4096 };
  static const char *const options[] = {"file_bytes=65536", "buffer_bytes=8192", NULL};
  static ts_ssd_buffer rest[MOST];
  static churned first, second;
  world w;
  world_make(&w, where("turns"), "t", 128, 8 << 20, 8 << 20, options);
  ts_records_options of_other = w.open;
  of_other.table = "u";
  CHECK(world_open(&w) == TS_OK && ops->open(&of_other, &second.table, err_of(&w)) == TS_OK);
  first.table = w.table;
  ts_sync_start();
  first.status = put_many(&w, 0, 3000, 0);
  w.table = second.table;
  second.status = put_many(&w, 0, 3000, 0);
  w.table = first.table;
  ts_ssd_table *t = (ts_ssd_table *)w.table;
  uint32_t taken = 0;
  while (taken < MOST && (rest[taken] = ts_ssd_take_buffer(t, t->chunk_memory)).memory != NULL) taken++;
  CHECK_MSG(taken > 0 && taken < MOST, "%u buffers", taken);
  ts_sync_close_first("ssd:compact:read");
  pthread_create(&first.id, NULL, churn, &first);
  CHECK(ts_sync_await("ssd:compact:read", 1));
  CHECK(ts_sync_reached("ssd:compact:wait_buffer") == 0);
  pthread_create(&second.id, NULL, churn, &second);
  CHECK(ts_sync_await("ssd:compact:wait_buffer", 1));
  CHECK(ts_sync_reached("ssd:compact:read") == 1); /* nothing is read without a buffer */
  ts_sync_open("ssd:compact:read");
  const bool woken = joined(first.id) && joined(second.id);
  CHECK_MSG(woken, "%s", "a compaction sleeps though the buffer is back");
  if (!woken) _exit(1);
  CHECK(ts_sync_stop());
  while (taken > 0) ts_ssd_give_buffer(t, &rest[--taken]);
  CHECK_MSG(first.status == TS_OK && second.status == TS_OK, "%s; %s", first.text, second.text);
  CHECK(wrong_rows(&first) == 0 && wrong_rows(&second) == 0);
  ops->close(second.table, false);
  world_end(&w);
}

static uint32_t files_in(const char *folder) {
  uint32_t n = 0;
  char path[600];
  DIR *tables = opendir(folder);
  for (struct dirent *t; tables != NULL && (t = readdir(tables)) != NULL;) {
    if (t->d_name[0] == '.') continue;
    snprintf(path, sizeof path, "%s/%.80s", folder, t->d_name);
    DIR *files = opendir(path);
    for (struct dirent *f; files != NULL && (f = readdir(files)) != NULL;) n += strstr(f->d_name, ".log") != NULL;
    if (files != NULL) closedir(files);
  }
  if (tables != NULL) closedir(tables);
  return n;
}

/* A read knows where its record is and has not read it: the file stays, whatever becomes of its records. */
static void a_file_stays_for_who_will_read_it(void) {
  static const char *const options[] = {"file_bytes=65536", "buffer_bytes=16384", NULL};
  world w;
  const char *folder = where("pinned");
  world_make(&w, folder, "t", 128, 8 << 20, 8 << 20, options);
  CHECK(world_open(&w) == TS_OK);
  CHECK(put_many(&w, 0, 1000, 1) == TS_OK && ops->flush(w.table, err_of(&w)) == TS_OK);
  ts_sync_start();
  ts_sync_close_first("ssd:get:pinned");
  call reader = {.w = &w, .first = 0, .stamp = 1};
  pthread_create(&reader.id, NULL, get_one, &reader);
  CHECK(ts_sync_await("ssd:get:pinned", 1));
  CHECK(put_many(&w, 0, 1000, 2) == TS_OK && ops->flush(w.table, err_of(&w)) == TS_OK);
  const uint32_t with_it = files_in(folder);
  ts_sync_open("ssd:get:pinned");
  CHECK(joined(reader.id) && reader.status == TS_OK && reader.right == 1);
  CHECK(ts_sync_stop());
  CHECK(ops->flush(w.table, err_of(&w)) == TS_OK); /* takes away what nobody reads */
  CHECK_MSG(files_in(folder) < with_it, "%u files, %u while it was read", files_in(folder), with_it);
  uint32_t wrong = 0;
  int32_t status;
  CHECK(read_many(&w, 0, 1000, 2, &wrong, &status) == 1000 && wrong == 0);
  world_end(&w);
}

/* Where DRAM has room for one reader, a second read waits until the first has brought it back, and is woken. */
static void reads_take_turns_at_the_last_reader(void) {
  static const char *const options[] = {"file_bytes=65536", "buffer_bytes=16384", NULL};
  world w;
  world_make(&w, where("readers"), "t", 128, 8 << 20, 8 << 20, options);
  CHECK(world_open(&w) == TS_OK);
  CHECK(put_many(&w, 0, 1000, 1) == TS_OK && ops->flush(w.table, err_of(&w)) == TS_OK);
  ts_sync_start();
  ts_sync_close_first("ssd:get:arrived");
  call first = {.w = &w, .first = 7, .stamp = 1}, second = {.w = &w, .first = 8, .stamp = 1};
  pthread_create(&first.id, NULL, get_one, &first);
  CHECK(ts_sync_await("ssd:get:arrived", 1));
  uint64_t taken = 0;
  while (ts_budget_take(&w.dram, TS_PURPOSE_BUFFERS, 64)) taken += 64;
  pthread_create(&second.id, NULL, get_one, &second);
  CHECK(ts_sync_await("ssd:get:wait_reader", 1));
  CHECK(ts_sync_reached("ssd:get:pinned") == 1);
  ts_sync_open("ssd:get:arrived");
  const bool woken = joined(first.id) && joined(second.id);
  CHECK_MSG(woken, "%s", "a read sleeps though the reader is back");
  if (!woken) _exit(1);
  CHECK(ts_sync_stop());
  CHECK_MSG(first.right == 1 && second.right == 1, "%s %s", first.text, second.text);
  ts_budget_give_back(&w.dram, TS_PURPOSE_BUFFERS, taken);
  world_end(&w);
}

/* There was room for a second reader, and others took it before it was made: the read waits for the first reader, too. */
static void a_reader_whose_room_was_taken_waits(void) {
  static const char *const options[] = {"file_bytes=65536", "buffer_bytes=16384", NULL};
  world w;
  world_make(&w, where("room"), "t", 128, 8 << 20, 8 << 20, options);
  CHECK(world_open(&w) == TS_OK);
  CHECK(put_many(&w, 0, 1000, 1) == TS_OK && ops->flush(w.table, err_of(&w)) == TS_OK);
  ts_sync_start();
  ts_sync_close_first("ssd:get:arrived");
  call first = {.w = &w, .first = 7, .stamp = 1}, second = {.w = &w, .first = 8, .stamp = 1};
  pthread_create(&first.id, NULL, get_one, &first);
  CHECK(ts_sync_await("ssd:get:arrived", 1));
  const uint32_t made = ts_sync_reached("ssd:get:make_reader");
  ts_sync_close_first("ssd:get:make_reader");
  pthread_create(&second.id, NULL, get_one, &second);
  CHECK(ts_sync_await("ssd:get:make_reader", made + 1));
  uint64_t taken = 0;
  while (ts_budget_take(&w.dram, TS_PURPOSE_BUFFERS, 64)) taken += 64;
  CHECK(ts_sync_reached("ssd:get:wait_reader") == 0);
  ts_sync_open("ssd:get:make_reader");
  CHECK(ts_sync_await("ssd:get:wait_reader", 1));
  ts_sync_open("ssd:get:arrived");
  const bool woken = joined(first.id) && joined(second.id);
  CHECK_MSG(woken, "%s", "a read sleeps though the reader is back");
  if (!woken) _exit(1);
  CHECK(ts_sync_stop());
  CHECK_MSG(first.right == 1 && second.right == 1, "%s %s", first.text, second.text);
  ts_budget_give_back(&w.dram, TS_PURPOSE_BUFFERS, taken);
  world_end(&w);
}

/* A put of many keys lets go of the table between its pieces: what others put then is older than the pieces to come, and
 * newer than those before. */
static void a_put_between_the_pieces_of_another(void) {
  world w;
  world_make(&w, where("pieces"), "t", 128, 8 << 20, 8 << 20, NULL);
  CHECK(world_open(&w) == TS_OK);
  enum { KEYS = 2 * TS_SSD_PUT_BATCH };
  ts_sync_start();
  ts_sync_close_first("ssd:put:unlocked");
  call writer = {.w = &w, .first = 0, .n = KEYS, .stamp = 1};
  pthread_create(&writer.id, NULL, put_all, &writer);
  CHECK(ts_sync_await("ssd:put:unlocked", 1));
  CHECK(put_many(&w, 0, KEYS, 2) == TS_OK);
  int64_t gone = 1;
  CHECK(ops->remove(w.table, 1, &gone, NULL, err_of(&w)) == TS_OK);
  ts_sync_open("ssd:put:unlocked");
  CHECK(joined(writer.id) && writer.status == TS_OK);
  CHECK(ts_sync_stop());
  uint32_t wrong = 0;
  int32_t status;
  CHECK(read_many(&w, 0, KEYS / 2, 2, &wrong, &status) == KEYS / 2 - 1 && wrong == 0);
  CHECK(read_many(&w, KEYS / 2, KEYS / 2, 1, &wrong, &status) == KEYS / 2 && wrong == 0);
  ts_records_counts counts;
  ops->count(w.table, &counts);
  CHECK(counts.rows == KEYS - 1);
  world_end(&w);
}

/* Reads the first n keys. */
static void *get_all(void *argument) {
  call *c = argument;
  c->right = read_many(c->w, c->first, c->n, c->stamp, &c->wrong, &c->status) == c->n && c->wrong == 0;
  return NULL;
}

/* While a read waits for the device, and while a write is under way or waited for, others read: what is being written from
 * memory. */
static void nobody_waits_for_the_device_of_another(void) {
  static const char *const options[] = {"file_bytes=65536", "buffer_bytes=8192", "io=io_uring", NULL};
  static const char *const points[] = {"ssd:get:wait", "ssd:log:submitted", "ssd:log:wait"};
  world w;
  for (uint32_t i = 0; i < 3; i++) {
    world_make(&w, where(points[i] + 4), "t", 128, 8 << 20, 8 << 20, options);
    if (world_open(&w) != TS_OK) {
      SKIP("ssdhash_handover_test", "nobody_waits_for_the_device_of_another: %s", w.message);
      world_end(&w);
      return;
    }
    CHECK(put_many(&w, 0, 1000, 1) == TS_OK && ops->flush(w.table, err_of(&w)) == TS_OK);
    ts_sync_start();
    ts_sync_close_first(points[i]);
    call held = {.w = &w, .first = i == 0 ? 500 : 2000, .n = i == 0 ? 500 : 1000, .stamp = 1}, other = {.w = &w, .first = 8, .stamp = 1};
    pthread_create(&held.id, NULL, i == 0 ? get_all : put_all, &held);
    CHECK_MSG(ts_sync_await(points[i], 1), "%s", points[i]);
    pthread_create(&other.id, NULL, get_one, &other);
    CHECK_MSG(joined(other.id) && other.right == 1, "%s: %s", points[i], other.text);
    if (i == 0) { /* nor do puts */
      CHECK(put_many(&w, 0, 100, 2) == TS_OK && ops->flush(w.table, err_of(&w)) == TS_OK);
    } else { /* a key of the chunk that is on its way */
      call fresh = {.w = &w, .first = 2000, .stamp = 1};
      pthread_create(&fresh.id, NULL, get_one, &fresh);
      CHECK(joined(fresh.id) && fresh.status == TS_OK);
    }
    ts_sync_open(points[i]);
    const bool ended = joined(held.id);
    CHECK_MSG(ended, "%s: a call hangs", points[i]);
    if (!ended) _exit(1);
    CHECK(ts_sync_stop());
    CHECK_MSG(held.status == TS_OK && (i > 0 || held.right == 1), "%s: %s", points[i], held.text);
    uint32_t wrong = 0;
    int32_t status;
    CHECK(read_many(&w, 0, 100, i == 0 ? 2 : 1, &wrong, &status) == 100 && wrong == 0);
    CHECK(i == 0 || (read_many(&w, 2000, 1000, 1, &wrong, &status) == 1000 && wrong == 0));
    world_end(&w);
  }
}

typedef struct gone {
  const ts_ssd_table *t;
  uint32_t files, held;
} gone;

/* A file goes: whether a chunk of it is in memory still. */
static void look_for_chunks(void *context, void *value) {
  gone *g = context;
  g->files++;
  for (uint32_t s = 0; s < TS_SSD_STREAMS; s++)
    for (uint32_t i = 0; i < 2; i++) {
      const ts_ssd_chunk *c = &g->t->streams[s].chunks[i];
      g->held += c->used && c->file->number == *(const uint64_t *)value;
    }
}

/* The last chunk of a file is written out when it is just full, its records are removed, and the next put writes it once more
 * and seals the file, which has died: it stays until that write has arrived. */
static void a_dead_file_stays_for_its_last_write(void) {
  static const char *const options[] = {"file_bytes=65536", "buffer_bytes=8192", NULL};
  uint32_t files = 0;
  for (uint32_t n = 1; n < 600 && files == 0; n++) {
    world w;
    char name[32];
    snprintf(name, sizeof name, "last%u", n);
    world_make(&w, where(name), "t", 128, 8 << 20, 8 << 20, options);
    CHECK_MSG(world_open(&w) == TS_OK, "%s", w.message);
    CHECK(put_many(&w, 0, n, 1) == TS_OK && ops->flush(w.table, err_of(&w)) == TS_OK);
    for (int64_t key = 0; key < n; key++) CHECK(ops->remove(w.table, 1, &key, NULL, err_of(&w)) == TS_OK);
    gone g = {.t = (const ts_ssd_table *)w.table};
    ts_sync_start();
    ts_sync_call("ssd:medium:unlink", look_for_chunks, &g);
    CHECK(put_one(&w, 1000, 1, 0) == TS_OK);
    int64_t nobody = 5000;
    CHECK(ops->remove(w.table, 1, &nobody, NULL, err_of(&w)) == TS_OK); /* looks for files that can go */
    CHECK(ops->flush(w.table, err_of(&w)) == TS_OK && ops->remove(w.table, 1, &nobody, NULL, err_of(&w)) == TS_OK);
    CHECK(ts_sync_stop());
    CHECK_MSG(g.held == 0, "%u records: a file went with %u chunks in memory", n, g.held);
    files = g.files;
    world_end(&w);
  }
  CHECK(files == 1); /* one of the numbers is that of a file */
}

int main(void) {
  make_root(false);
  a_dead_file_stays_for_its_last_write();
  tables_open_beside_readers();
  last_reader_leaves_before_the_wait();
  records_change_while_they_are_compacted();
  the_compactor_is_asked_while_it_compacts();
  compactions_take_turns_at_the_last_buffer();
  rings_that_fail();
  a_file_stays_for_who_will_read_it();
  reads_take_turns_at_the_last_reader();
  a_reader_whose_room_was_taken_waits();
  a_put_between_the_pieces_of_another();
  nobody_waits_for_the_device_of_another();
  remove_root();
  return test_result();
}
