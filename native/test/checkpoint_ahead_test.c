/* Blocks that a thread reads ahead: the same ones in the same order, the same errors after the same blocks, and no thread stays. */
#include "check.h"
#include "base/control.h"
#include "base/sync_point.h"
#include "checkpoint/ahead.h"
#include "test/lab_chain.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PATH "/chain"
#define BLOCKS 100u
#define LARGE 20u /* a block larger than what is read ahead */

static char words[1024];
static const ts_err err = {words, sizeof words};

/* ---- what the reader asks the system for ---- */

static bool refuse_thread, refuse_memory;
static uint32_t threads; /* that were made */

int __real_pthread_create(pthread_t *id, const pthread_attr_t *how, void *(*run)(void *), void *argument);
int __wrap_pthread_create(pthread_t *id, const pthread_attr_t *how, void *(*run)(void *), void *argument);
int __wrap_pthread_create(pthread_t *id, const pthread_attr_t *how, void *(*run)(void *), void *argument) {
  if (refuse_thread) return EAGAIN;
  threads++;
  return __real_pthread_create(id, how, run, argument);
}
void *__real_calloc(size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size) { return refuse_memory ? NULL : __real_calloc(n, size); }

/* ---- a checkpoint ---- */

static lab_disk disk;
static uint64_t places[BLOCKS]; /* of the headers */

static uint64_t bytes_of(uint32_t i) { return i == LARGE ? TS_AHEAD_BYTES + 4096 : 40000 + i * 512; }

static void begin(void) {
  static unsigned char payload[TS_AHEAD_BYTES + 4096];
  ts_checkpoint_writer *w = begin_chain(&disk, PATH, err);
  for (uint32_t i = 0; i < BLOCKS; i++) {
    memset(payload, (int)(i + 1), bytes_of(i));
    places[i] = i == 0 ? 0 : places[i - 1] + sizeof(ts_block_header) + bytes_of(i - 1);
    CHECK(ts_checkpoint_append(w, i % 10 == 3 ? TS_BLOCK_BEFORE : TS_BLOCK_ROWS, i, 1, payload, bytes_of(i), err) == TS_OK);
  }
  end_chain(w, err);
}

static ts_checkpoint_reader *reader(void) {
  ts_checkpoint_reader *r = NULL;
  CHECK_MSG(ts_checkpoint_reader_open(&disk.ops, PATH, 0, &r, err) == TS_OK, "%s", words);
  CHECK(ts_checkpoint_link_bytes(r, 0) >= TS_AHEAD_LEAST);
  return r;
}

static void expect_block(const ts_checkpoint_block *b, uint32_t i) {
  CHECK(b->table == i && b->bytes == bytes_of(i) && b->kind == (i % 10 == 3 ? TS_BLOCK_BEFORE : TS_BLOCK_ROWS));
  CHECK(b->payload[0] == i + 1 && b->payload[b->bytes - 1] == i + 1);
}

/* Takes blocks until one fails or there is none; how many. */
static uint32_t take_all(ts_checkpoint_reader *r, int32_t *status) {
  ts_checkpoint_block b;
  for (uint32_t i = 0;; i++) {
    *status = ts_checkpoint_next(r, &b, err);
    if (*status != TS_OK || b.kind == TS_BLOCK_END) return i;
    expect_block(&b, i);
    char where[256], offset[64];
    snprintf(offset, sizeof offset, ".ckpt, the block at offset %llu", (unsigned long long)places[i]);
    CHECK_MSG(strstr(ts_checkpoint_where(r, where, sizeof where), offset) != NULL, "%s", where);
  }
}

static void expect_all(ts_checkpoint_reader *r) {
  int32_t status;
  CHECK(ts_checkpoint_select(r, 0, err) == TS_OK);
  CHECK_MSG(take_all(r, &status) == BLOCKS && status == TS_OK, "%s", words);
  ts_checkpoint_block b;
  CHECK(ts_checkpoint_next(r, &b, err) == TS_OK && b.kind == TS_BLOCK_END);
  for (uint32_t i = BLOCKS - 7; i < BLOCKS; i -= 10) {
    CHECK_MSG(ts_checkpoint_previous_before(r, &b, err) == TS_OK, "%s", words);
    expect_block(&b, i);
  }
  CHECK(ts_checkpoint_previous_before(r, &b, err) == TS_OK && b.kind == TS_BLOCK_END);
}

/* ---- tests ---- */

static void same_blocks(void) {
  begin();
  ts_checkpoint_reader *r = reader();
  ts_checkpoint_block b;
  threads = 0;
  expect_all(r);
  CHECK(threads == 1);
  /* Left anywhere, and begun anew. */
  for (uint32_t taken = 0; taken < BLOCKS; taken += 9) {
    CHECK(ts_checkpoint_select(r, 0, err) == TS_OK);
    for (uint32_t i = 0; i < taken; i++) CHECK(ts_checkpoint_next(r, &b, err) == TS_OK);
  }
  expect_all(r);
  ts_checkpoint_reader_close(r);
  lab_disk_end(&disk);
}

static void without_a_thread(void) {
  begin();
  ts_checkpoint_reader *r = reader();
  threads = 0;
  refuse_thread = true;
  expect_all(r);
  refuse_thread = false;
  CHECK(threads == 0);
  refuse_memory = true;
  CHECK(ts_checkpoint_select(r, 0, err) == TS_ENOMEM);
  CHECK_MSG(strcmp(words, "Cannot read checkpoints of /chain: out of memory") == 0, "%s", words);
  refuse_memory = false;
  expect_all(r);
  ts_checkpoint_reader_close(r);
  lab_disk_end(&disk);
}

/* Each read fails once, with a thread and without: after the same blocks, in the same words. */
static void reads_fail(void) {
  char alone[sizeof words];
  begin();
  ts_checkpoint_reader *whole = reader();
  const uint64_t before = disk.reads;
  int32_t whole_status;
  CHECK(ts_checkpoint_select(whole, 0, err) == TS_OK && take_all(whole, &whole_status) == BLOCKS);
  const uint64_t reads = disk.reads - before;
  ts_checkpoint_reader_close(whole);
  CHECK_MSG(reads > 4, "%llu reads", (unsigned long long)reads);
  for (uint64_t at = 0; at < reads; at++) {
    uint32_t taken[2];
    for (uint32_t t = 0; t < 2; t++) {
      ts_checkpoint_reader *r = reader();
      ts_checkpoint_block b;
      refuse_thread = t == 0;
      disk.fault = LAB_READ_EIO;
      disk.fault_at = disk.reads + at; /* the first opens the file */
      disk.fault_met = false;
      const int32_t selected = ts_checkpoint_select(r, 0, err);
      int32_t status = selected;
      taken[t] = selected == TS_OK ? take_all(r, &status) : 0;
      CHECK(disk.fault_met && status == TS_EIO);
      disk.fault = LAB_NO_FAULT;
      if (t == 0) memcpy(alone, words, sizeof words);
      if (t == 1 && selected == TS_OK) CHECK(ts_checkpoint_next(r, &b, err) == TS_EIO); /* told again */
      ts_checkpoint_reader_close(r);
    }
    refuse_thread = false;
    CHECK(taken[0] == taken[1]);
    CHECK_MSG(strcmp(alone, words) == 0, "\"%s\" alone, \"%s\" ahead", alone, words);
  }
  lab_disk_end(&disk);
}

static void damage_is_named(void) {
  begin();
  unsigned char *data = NULL;
  for (uint32_t i = 0; i < disk.now.entry_count; i++)
    if (strstr(disk.now.entries[i].path, ".ckpt") != NULL) data = disk.now.inodes[disk.now.entries[i].inode].bytes;
  CHECK(data != NULL);
  for (uint32_t i = 0; i < BLOCKS && data != NULL; i += 11) {
    char wanted[128];
    const uint64_t at = places[i] + sizeof(ts_block_header) + 1000;
    data[at] ^= 8;
    ts_checkpoint_reader *r = reader();
    int32_t status;
    CHECK(ts_checkpoint_select(r, 0, err) == TS_OK);
    CHECK(take_all(r, &status) == i && status == TS_EFORMAT);
    snprintf(wanted, sizeof wanted, "the block at offset %llu is damaged at offset %llu: bit 3 is flipped", (unsigned long long)places[i],
             (unsigned long long)at);
    CHECK_MSG(strstr(words, wanted) != NULL, "%s", words);
    ts_checkpoint_reader_close(r);
    data[at] ^= 8;
  }
  lab_disk_end(&disk);
}

/* The thread begins to read when somebody waits for a block. */
static void takes_wait(void) {
  begin();
  ts_checkpoint_reader *r = reader();
  int32_t status;
  ts_sync_start();
  ts_sync_order("ahead:wait_for_block", "ahead:before_read");
  CHECK(ts_checkpoint_select(r, 0, err) == TS_OK);
  CHECK_MSG(take_all(r, &status) == BLOCKS && status == TS_OK, "%s", words);
  CHECK(ts_sync_stop());
  ts_checkpoint_reader_close(r);
  lab_disk_end(&disk);
}

/* The thread stops where it may not read further, and ends there when nobody takes any more. */
static void room_ends(void) {
  begin();
  ts_checkpoint_reader *r = reader();
  ts_checkpoint_block b;
  ts_sync_start();
  CHECK(ts_checkpoint_select(r, 0, err) == TS_OK);
  CHECK(ts_sync_await("ahead:wait_for_room", 1));
  /* The large block is the last one that there is room for. */
  CHECK(ts_sync_reached("ahead:before_read") == LARGE + 1);
  for (uint32_t i = 0; i <= LARGE + 1; i++) CHECK(ts_checkpoint_next(r, &b, err) == TS_OK);
  expect_block(&b, LARGE + 1);
  CHECK(ts_sync_await("ahead:wait_for_room", 2));
  CHECK(ts_sync_reached("ahead:before_read") <= LARGE + 1 + TS_AHEAD_BLOCKS);
  ts_checkpoint_reader_close(r);
  CHECK(ts_sync_stop());
  lab_disk_end(&disk);
}

/* The reader is closed while the thread is about to read. */
static void closed_before_a_read(void) {
  begin();
  ts_checkpoint_reader *r = reader();
  ts_sync_start();
  ts_sync_order("ahead:before_join", "ahead:before_read");
  CHECK(ts_checkpoint_select(r, 0, err) == TS_OK);
  ts_checkpoint_reader_close(r);
  CHECK(ts_sync_reached("ahead:before_read") <= 1);
  CHECK(ts_sync_stop());
  lab_disk_end(&disk);
}

static void cancel(void *context, void *value) {
  (void)value;
  if (ts_sync_reached("ahead:before_read") == 30) __atomic_store_n(&((uint64_t *)context)[TS_CONTROL_CANCEL], 1, __ATOMIC_RELAXED);
}

static void cancelled(void) {
  begin();
  ts_checkpoint_reader *r = reader();
  uint64_t control[TS_CONTROL_WORDS] = {0};
  ts_sync_start();
  ts_sync_call("ahead:before_read", cancel, control);
  CHECK(ts_checkpoint_read_through(r, 0, control, err) == TS_ECANCELLED);
  CHECK(control[TS_CONTROL_DONE] < ts_checkpoint_link_bytes(r, 0));
  CHECK(ts_sync_stop());
  control[TS_CONTROL_CANCEL] = control[TS_CONTROL_DONE] = 0;
  CHECK(ts_checkpoint_read_through(r, 0, control, err) == TS_OK);
  CHECK(control[TS_CONTROL_DONE] == ts_checkpoint_link_bytes(r, 0));
  ts_checkpoint_reader_close(r);
  lab_disk_end(&disk);
}

int main(void) {
  same_blocks();
  without_a_thread();
  reads_fail();
  damage_is_named();
  takes_wait();
  room_ends();
  closed_before_a_read();
  cancelled();
  return test_result();
}
