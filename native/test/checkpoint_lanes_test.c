/* Blocks that several threads give away: each block once, those of BEFORE last and from the end, the first error of the file told,
 * nothing missing unnoticed; and a store that is restored so has the rows that it had. */
#include "base/sync_point.h"
#include "checkpoint/lanes.h"
#include "store/store.h"
#include "test/checkpoint_calls.h"
#include "test/lab_chain.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define PATH "/chain"
#define BLOCKS 400u

static char words[1024];
static const ts_err err = {words, sizeof words};
#define ERR words, sizeof words

/* ---- threads that the system refuses ---- */

static uint32_t refused; /* so many are made, then none; UINT32_MAX: all */

int __real_pthread_create(pthread_t *id, const pthread_attr_t *how, void *(*run)(void *), void *argument);
int __wrap_pthread_create(pthread_t *id, const pthread_attr_t *how, void *(*run)(void *), void *argument);
int __wrap_pthread_create(pthread_t *id, const pthread_attr_t *how, void *(*run)(void *), void *argument) {
  if (refused == 0) return EAGAIN;
  if (refused != UINT32_MAX) refused--;
  return __real_pthread_create(id, how, run, argument);
}

/* ---- a checkpoint ---- */

static lab_disk disk;
static uint64_t places[BLOCKS + 1]; /* of the headers */

static uint64_t bytes_of(uint32_t i) { return 8 + ts_mix64(i) % 9000 * (i % 50 == 7 ? 20 : 1); }
static bool is_before(uint32_t i) { return i % 10 == 3; }

static void begin(void) {
  static unsigned char payload[200000];
  ts_checkpoint_writer *w = begin_chain(&disk, PATH, err);
  for (uint32_t i = 0; i < BLOCKS; i++) {
    memset(payload, (int)(i + 1), bytes_of(i));
    places[i + 1] = places[i] + sizeof(ts_block_header) + bytes_of(i);
    /* What looks like a header and is of another place is not taken for one. */
    if (i > 0 && bytes_of(i) > 200) memcpy(payload + 100, &(uint32_t){TS_CHECKPOINT_MAGIC}, 4);
    CHECK(ts_checkpoint_append(w, is_before(i) ? TS_BLOCK_BEFORE : TS_BLOCK_ROWS, i, 1, payload, bytes_of(i), err) == TS_OK);
  }
  end_chain(w, err);
}

static unsigned char *data_of(lab_disk *of) {
  for (uint32_t i = 0; i < of->now.entry_count; i++)
    if (strstr(of->now.entries[i].path, ".ckpt") != NULL) return of->now.inodes[of->now.entries[i].inode].bytes;
  abort();
}

/* ---- what is given away ---- */

typedef struct taker {
  atomic_uint times[BLOCKS], all;
  uint32_t last_before; /* the number of the BEFORE block that came last */
  uint32_t refuses;     /* this one; UINT32_MAX: none */
} taker;

static int32_t take(void *context, ts_checkpoint_block *b, ts_err to) {
  taker *t = context;
  CHECK(b->table < BLOCKS && b->bytes == bytes_of(b->table) && b->payload[0] == (unsigned char)(b->table + 1));
  CHECK(b->kind == (is_before(b->table) ? TS_BLOCK_BEFORE : TS_BLOCK_ROWS));
  if (b->table == t->refuses) return ts_fail(to, TS_EFULL, "refused");
  if (is_before(b->table)) {
    CHECK(atomic_load(&t->all) >= BLOCKS - BLOCKS / 10 && b->table < t->last_before);
    t->last_before = b->table;
  }
  atomic_fetch_add(&t->times[b->table], 1);
  atomic_fetch_add(&t->all, 1);
  return TS_OK;
}

static void clear(taker *t) {
  memset(t->times, 0, sizeof t->times);
  atomic_store(&t->all, 0);
  t->last_before = BLOCKS;
}

static int32_t give(uint32_t lanes, taker *t, bool *done) {
  ts_checkpoint_reader *r = NULL;
  uint64_t control[TS_CONTROL_WORDS] = {0};
  words[0] = '\0';
  clear(t);
  CHECK_MSG(ts_checkpoint_reader_open(&disk.ops, PATH, 0, &r, err) == TS_OK, "%s", words);
  const int32_t status = ts_checkpoint_lanes(r, lanes, take, t, control, done, err);
  if (status == TS_OK && *done) CHECK(control[TS_CONTROL_DONE] == places[BLOCKS]);
  ts_checkpoint_reader_close(r);
  return status;
}

/* ---- tests ---- */

static void every_block_comes_once(void) {
  begin();
  for (uint32_t lanes = 0; lanes <= TS_LANES_MOST + 1; lanes++)
    for (uint32_t threads = 0; threads < 3; threads++) {
      taker t = {.refuses = UINT32_MAX};
      bool done;
      refused = threads == 2 ? UINT32_MAX : threads;
      CHECK_MSG(give(lanes, &t, &done) == TS_OK, "%s", words);
      CHECK(done == (lanes > 1));
      for (uint32_t i = 0; done && i < BLOCKS; i++) CHECK_MSG(atomic_load(&t.times[i]) == 1, "%u lanes, block %u: %u times", lanes, i, atomic_load(&t.times[i]));
      CHECK(done || atomic_load(&t.all) == 0);
    }
  lab_disk_end(&disk);
}

static void *open_it(void *nothing) {
  CHECK(ts_sync_await("lanes:before_block", BLOCKS / 2)); /* the others are through */
  ts_sync_open("lanes:before_block");
  return nothing;
}

/* Lanes that begin one after the other: order is nobody's business. */
static void any_lane_may_be_late(void) {
  begin();
  taker t = {.refuses = UINT32_MAX};
  bool done;
  ts_sync_start();
  ts_sync_close_first("lanes:before_block");
  refused = UINT32_MAX;
  pthread_t opener;
  CHECK(__real_pthread_create(&opener, NULL, open_it, NULL) == 0);
  CHECK_MSG(give(3, &t, &done) == TS_OK && done, "%s", words);
  CHECK(pthread_join(opener, NULL) == 0);
  CHECK(ts_sync_stop());
  for (uint32_t i = 0; i < BLOCKS; i++) CHECK(atomic_load(&t.times[i]) == 1);
  lab_disk_end(&disk);
}

/* One flipped bit anywhere is named, wherever parts begin; of two the first is told, or the one that stopped the other. */
static void damage_is_named(void) {
  begin();
  unsigned char *data = data_of(&disk);
  for (uint64_t at = 0; at < places[BLOCKS]; at += 1 + ts_mix64(at) % 8191) {
    for (uint32_t lanes = 2; lanes <= TS_LANES_MOST; lanes += 2) {
      taker t = {.refuses = UINT32_MAX};
      bool done;
      char wanted[128];
      uint32_t block = 0;
      while (places[block + 1] <= at) block++;
      data[at] ^= 16;
      CHECK_MSG(give(lanes, &t, &done) == TS_EFORMAT, "byte %llu: not seen", (unsigned long long)at);
      /* A header that is damaged where a part would begin: the part begins with the next one, and the one before it meets it. */
      snprintf(wanted, sizeof wanted, "the block at offset %llu", (unsigned long long)places[block]);
      CHECK_MSG(strstr(words, wanted) != NULL, "byte %llu: %s", (unsigned long long)at, words);
      CHECK(at >= places[block] + sizeof(ts_block_header) ? strstr(words, "bit 4 is flipped") != NULL : true);
      data[at] ^= 16;
    }
  }
  lab_disk_end(&disk);
}

/* A manifest whose sums are not those of the blocks. */
static void other_blocks_are_noticed(void) {
  begin();
  for (uint32_t i = 0; i < disk.now.entry_count; i++) {
    if (strstr(disk.now.entries[i].path, ".manifest") == NULL) continue;
    ts_checkpoint_reader *r = NULL;
    CHECK(ts_checkpoint_reader_open(&disk.ops, PATH, 0, &r, err) == TS_OK);
    uint64_t at[TS_LANES_MOST + 1];
    uint32_t found = 0;
    CHECK(ts_checkpoint_split(r, 0, 2, at, &found, err) == TS_OK && found == 2 && at[2] == places[BLOCKS]);
    /* The second part read twice is as many bytes as it is, and not the whole. */
    ts_checkpoint_reader *twice[2] = {r, r};
    ts_checkpoint_block b = {.kind = TS_BLOCK_ROWS};
    CHECK(ts_checkpoint_select_part(r, 0, at[1], at[2], err) == TS_OK);
    while (b.kind != TS_BLOCK_END) CHECK(ts_checkpoint_next(r, &b, err) == TS_OK);
    CHECK(ts_checkpoint_parts_whole(twice, 2, err) == TS_EFORMAT && strstr(words, "blocks are not the") != NULL);
    /* A part that ends within a block. */
    CHECK(ts_checkpoint_select_part(r, 0, at[1], at[2] - 1, err) == TS_OK);
    int32_t status = TS_OK;
    do status = ts_checkpoint_next(r, &b, err);
    while (status == TS_OK && b.kind != TS_BLOCK_END);
    CHECK_MSG(status == TS_EFORMAT && strstr(words, "covered") != NULL, "%s", words);
    ts_checkpoint_reader_close(r);
  }
  lab_disk_end(&disk);
}

static void who_takes_may_refuse(void) {
  begin();
  for (uint32_t i = 0; i < BLOCKS; i += 13) {
    taker t = {.refuses = i};
    bool done;
    CHECK(give(3, &t, &done) == TS_EFULL && strcmp(words, "refused") == 0);
    CHECK(atomic_load(&t.times[i]) == 0);
  }
  lab_disk_end(&disk);
}

static void reads_may_fail(void) {
  begin();
  taker t = {.refuses = UINT32_MAX};
  bool done;
  uint64_t tried = 0;
  disk.reads = 0;
  CHECK(give(4, &t, &done) == TS_OK);
  for (uint64_t at = 0; at < disk.reads; at++, tried++) {
    const uint64_t all = disk.reads;
    disk.fault = LAB_READ_EIO;
    disk.fault_at = at;
    disk.reads = 0;
    ts_checkpoint_reader *r = NULL;
    clear(&t);
    int32_t status = ts_checkpoint_reader_open(&disk.ops, PATH, 0, &r, err);
    if (status == TS_OK) status = ts_checkpoint_lanes(r, 4, take, &t, NULL, &done, err);
    CHECK_MSG(status == TS_EIO, "read %llu: %d", (unsigned long long)at, status);
    ts_checkpoint_reader_close(r);
    disk.fault = LAB_NO_FAULT;
    disk.reads = all;
  }
  CHECK(tried > 20);
  lab_disk_end(&disk);
}

/* ---- a store ---- */

#define ROWS 600000u
#define BATCH 4096u
#define DIM 16u

static ts_store *open_store(const char *shards) {
  ts_store *store = NULL;
  ts_config *config = CONFIG("storage", "DRAM", "size", "268435456", "seed", "5", "shards", shards);
  CHECK_MSG(ts_store_open_on(config, &disk.ops, NULL, &store, err) == TS_OK, "%s", words);
  ts_config_free(config);
  return store;
}

/* waits: keys must be looked up twice, so that some could wait; then the order of blocks counts, and one thread takes them. */
static void a_store_has_its_rows_again(bool waits) {
  static float rows[BATCH * DIM];
  int64_t keys[BATCH];
  uint64_t had = 0, has = 0;
  lab_disk_begin(&disk);
  refused = UINT32_MAX;
  ts_store *store = open_store("4");
  ts_config *table = CONFIG("name", "t", "dim", "16");
  if (waits) ts_config_set(table, "admission", "counter", NULL, 0);
  if (waits) ts_config_set(table, "admission.frequency", "2", NULL, 0);
  uint32_t number;
  CHECK(ts_table_create(store, table, &number, ERR) == TS_OK);
  ts_config_free(table);
  for (uint32_t from = 0; from + BATCH <= ROWS; from += BATCH) {
    for (uint32_t i = 0; i < BATCH; i++) keys[i] = from + i;
    if (waits) CHECK(ts_table_lookup(store, 0, keys, BATCH, rows, ERR) == TS_OK);
    CHECK(ts_table_lookup(store, 0, keys, BATCH, rows, ERR) == TS_OK && ts_table_update(store, 0, keys, BATCH, rows, ERR) == TS_OK);
  }
  CHECK(ts_store_digest(store, &had, ERR) == TS_OK);
  CHECK_MSG(write_checkpoint_to(store, PATH, "full", NULL, ERR) == TS_OK, "%s", words);
  ts_store_close(store);
  const char *const shards[] = {"1", "4", "64"};
  for (uint32_t i = waits ? 2 : 0; i < 3; i++) {
    ts_sync_start();
    store = open_store(shards[i]);
    ts_config *from = CONFIG("path", PATH);
    CHECK_MSG(ts_store_restore(store, from, NULL, ERR) == TS_OK, "%s", words);
    ts_config_free(from);
    CHECK((ts_sync_reached("lanes:before_block") > 0) == (!waits && ts_lanes_for(TS_LANES_LEAST) > 1));
    CHECK(ts_sync_stop());
    CHECK_MSG(ts_store_digest(store, &has, ERR) == TS_OK && has == had, "other rows in %s shards", shards[i]);
    ts_store_close(store);
  }
  lab_disk_end(&disk);
}

int main(void) {
  every_block_comes_once();
  any_lane_may_be_late();
  damage_is_named();
  other_blocks_are_noticed();
  who_takes_may_refuse();
  reads_may_fail();
  a_store_has_its_rows_again(false);
  a_store_has_its_rows_again(true);
  return test_result();
}
