/* subject_pmem.c - a PMEM table (tiers/pmem) under the crash lab: rows come, change and go, checkpoints begin, take rows as of them,
 * complete and are dropped, and the table is opened again at the newest or an older one. On fsdax what was drained is durable; on
 * other file systems what was synchronised is. */
#include "test/crash/lab.h"
#include "test/crash/pmem.h"
#include "tiers/pmem/table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define KEYS 40u
#define ROW 24u
#define FOLDER "/pools"

typedef struct state {
  uint64_t stamp[KEYS]; /* 0: absent */
} state;

typedef struct cut {
  uint64_t number;
  bool complete;
  state state;
} cut;

typedef struct work {
  lab_run *run; /* NULL: nobody records */
  lab_pmem pmem;
  uint64_t seed, drawn, next, number;
  ts_budget medium, dram;
  ts_records *table;
  state now;
  uint64_t waiting[KEYS]; /* as of the checkpoint that has begun; 0: none */
  cut cuts[TS_RECORDS_CUTS + 1];
  uint32_t n;
  cut doubtful; /* its completion failed: opened again, the table may have it */
  uint64_t layout[2];
  char words[1024];
} work;

#define ERR(w) ((w)->words[0] = '\0', (ts_err){(w)->words, sizeof(w)->words})
static const ts_records_ops *const ops = &ts_pmem_records;

static uint64_t draw(work *w, uint64_t below) { return ts_random64(w->seed, 77, w->drawn++) % below; }

static uint64_t one(int64_t key, uint64_t stamp) { return ts_random64((uint64_t)key, stamp, 1); }

static uint64_t digest_of(const state *s, uint64_t number) {
  uint64_t digest = ts_mix64(number);
  for (uint32_t i = 0; i < KEYS; i++)
    if (s->stamp[i] != 0) digest += one(i, s->stamp[i]);
  return digest;
}

static void fill(unsigned char row[ROW], int64_t key, uint64_t stamp) {
  const uint64_t words[3] = {stamp, ts_mix64(stamp), ts_mix64(stamp ^ (uint64_t)key)};
  memcpy(row, words, ROW);
}

/* What the tables of all images share. */
static ts_epochs *epochs;
static ts_blocks *blocks;

static int32_t open_table(work *w, uint64_t at) {
  if (epochs == NULL) {
    epochs = aligned_alloc(64, sizeof *epochs);
    if (epochs == NULL || ts_blocks_create(TS_INDEX_BLOCK, UINT64_C(1) << 20, -1, &blocks) != TS_OK) abort();
    ts_epochs_init(epochs);
  }
  const ts_records_options options = {.directory = FOLDER,
                                      .table = "t",
                                      .row_bytes = ROW,
                                      .budget = &w->medium,
                                      .dram = &w->dram,
                                      .epochs = epochs,
                                      .blocks = blocks,
                                      .layout = w->layout,
                                      .layout_words = 2,
                                      .at = at,
                                      .disk = &w->pmem.disk->ops,
                                      .pmem = &w->pmem.ops};
  return ops->open(&options, &w->table, ERR(w));
}

static void close_it(work *w) {
  if (w->table != NULL) ops->close(w->table, true);
  w->table = NULL;
}

static void make(work *w, lab_disk *disk, bool is_pmem, uint64_t seed, lab_run *run) {
  *w = (work){.run = run, .seed = seed, .next = 1 + seed % 1000 * 100000, .layout = {ROW, 7}};
  lab_pmem_begin(&w->pmem, disk, is_pmem);
  w->medium.limit = (28 + seed % 40) << 10; /* some are too small for what they are asked */
  w->dram.limit = 8 << 20;
}

/* What the table has, read; false: something is wrong. */
static bool read_digest(work *w, uint64_t *digest) {
  ts_records_checkpoint list[TS_RECORDS_CUTS];
  const uint32_t n = ops->cuts->list(w->table, list);
  unsigned char memory[KEYS + 1][ROW], row[ROW], *rows[KEYS + 1];
  int64_t keys[KEYS + 1];
  uint64_t versions[KEYS + 1], cursor = 0;
  uint32_t got;
  for (uint32_t i = 0; i <= KEYS; i++) rows[i] = memory[i];
  if (ops->walk(w->table, &cursor, KEYS + 1, keys, versions, rows, &got, ERR(w)) != TS_OK) return false;
  *digest = ts_mix64(n == 0 ? 0 : list[n - 1].number);
  for (uint32_t i = 0; i < got; i++) {
    uint64_t stamp;
    memcpy(&stamp, rows[i], sizeof stamp);
    fill(row, keys[i], stamp);
    if (memcmp(row, rows[i], ROW) != 0 || versions[i] != stamp % 7) {
      (void)ts_fail(ERR(w), TS_EFORMAT, "key %lld has a row that was never put", (long long)keys[i]);
      return false;
    }
    *digest += one(keys[i], stamp);
  }
  uint32_t bytes;
  const void *note = ops->cuts->note(w->table, &bytes);
  uint64_t number = 0;
  if (n > 0 && bytes == 40) memcpy(&number, (const unsigned char *)note + 32, sizeof number);
  if (n == 0 || (bytes == 40 && number == list[n - 1].number)) return true;
  (void)ts_fail(ERR(w), TS_EFORMAT, "the note has %u bytes and says %llu", bytes, (unsigned long long)number);
  return false;
}

/* Whether a call did what it should, or the medium failed, or is full. */
static bool expected(work *w, const char *what, int32_t status) {
  if (status == TS_OK) return true;
  if (status != TS_EFULL && w->run != NULL && !lab_failed(w->run)) lab_problem(w->run, "%s failed: %s", what, w->words);
  return false;
}

/* Rows change on another thread than the one that opens the table and keeps its checkpoints: what one stored, the other does not
 * drain. */
enum { KEEPER, TRAINER };

static bool put(work *w, uint32_t i, uint64_t stamp, bool as_of) {
  w->pmem.thread = TRAINER;
  unsigned char row[ROW];
  const unsigned char *rows = row;
  const int64_t key = i;
  const uint64_t version = stamp % 7;
  fill(row, key, stamp);
  const int32_t status = as_of ? ops->cuts->put(w->table, 1, &key, &version, &rows, ERR(w))
                               : ops->put(w->table, 1, &key, &version, &rows, NULL, ERR(w));
  w->pmem.thread = KEEPER;
  return expected(w, "a put", status);
}

static int32_t remove_one(work *w, int64_t key) {
  w->pmem.thread = TRAINER;
  const int32_t status = ops->remove(w->table, 1, &key, NULL, ERR(w));
  w->pmem.thread = KEEPER;
  return status;
}

/* A row of memory is put as of the checkpoint before its key changes. */
static bool touch(work *w, uint32_t i) {
  if (w->waiting[i] == 0) return true;
  if (!put(w, i, w->waiting[i], true)) return false;
  w->waiting[i] = 0;
  return true;
}

static void train(work *w, uint64_t calls) {
  for (; calls > 0; calls--) {
    const uint32_t i = (uint32_t)draw(w, KEYS);
    const int64_t key = i;
    if (!touch(w, i)) continue;
    if (draw(w, 3) == 0) {
      if (expected(w, "a removal", remove_one(w, key))) w->now.stamp[i] = 0;
    } else if (put(w, i, w->next, false)) {
      w->now.stamp[i] = w->next++;
    }
  }
}

static bool is_pending(const work *w) { return w->n > 0 && !w->cuts[w->n - 1].complete; }
static uint32_t complete_ones(const work *w) { return w->n - is_pending(w); }

static void begin(work *w) {
  if (!expected(w, "a beginning", ops->cuts->begin(w->table, w->number + 1, ERR(w)))) return;
  w->number++;
  const bool some_wait = draw(w, 2) == 0;
  for (uint32_t i = 0; i < KEYS; i++) {
    w->waiting[i] = some_wait && draw(w, 6) == 0 ? w->next++ : 0;
    if (w->waiting[i] != 0) w->now.stamp[i] = w->waiting[i];
  }
  w->cuts[w->n].number = w->number;
  w->cuts[w->n].complete = false;
  w->cuts[w->n++].state = w->now;
}

/* What is not to become a state after all: rows of memory are put as they are. */
static void forget(work *w, uint32_t at) {
  if (!w->cuts[at].complete)
    for (uint32_t i = 0; i < KEYS; i++) {
      const int64_t key = i;
      if (w->waiting[i] == 0 || put(w, i, w->waiting[i], false)) continue;
      if (remove_one(w, key) == TS_OK) w->now.stamp[i] = 0;
    }
  if (!w->cuts[at].complete) memset(w->waiting, 0, sizeof w->waiting);
  w->n--;
  memmove(&w->cuts[at], &w->cuts[at + 1], (w->n - at) * sizeof w->cuts[0]);
}

static void drop(work *w, uint32_t at) {
  const bool newest = w->cuts[at].complete && at + 1 == complete_ones(w);
  const uint64_t before = newest ? digest_of(&w->cuts[at - 1].state, w->cuts[at - 1].number) : 0;
  if (newest && w->run != NULL) lab_may_commit(w->run, before);
  if (!expected(w, "a drop", ops->cuts->drop(w->table, w->cuts[at].number, ERR(w)))) return;
  if (newest && w->run != NULL) lab_acknowledge(w->run, before);
  forget(w, at);
}

static bool complete(work *w) {
  for (uint32_t i = 0; i < KEYS; i++)
    if (!touch(w, i)) return false;
  const uint32_t at = w->n - 1;
  const uint64_t digest = digest_of(&w->cuts[at].state, w->cuts[at].number);
  unsigned char note[40] = {0};
  memcpy(note + 32, &w->cuts[at].number, 8);
  if (w->run != NULL) lab_may_commit(w->run, digest);
  if (!expected(w, "a checkpoint", ops->cuts->complete(w->table, w->cuts[at].number, note, sizeof note, ERR(w)))) {
    w->doubtful = w->cuts[at];
    return false;
  }
  if (w->run != NULL) lab_acknowledge(w->run, digest);
  w->cuts[at].complete = true;
  return true;
}

/* Opens it at one of the checkpoints (UINT32_MAX: the newest there is); false: that failed, or what is there was never committed. */
static bool reopen(work *w, uint32_t at) {
  bool known = w->doubtful.number == 0;
  for (uint32_t i = 0; i < w->n; i++) known |= w->cuts[i].number == w->doubtful.number;
  if (!known) w->cuts[w->n++] = w->doubtful;
  w->doubtful = (cut){0};
  const uint64_t before = at == UINT32_MAX ? 0 : digest_of(&w->cuts[at].state, w->cuts[at].number);
  close_it(w);
  if (w->run != NULL && at != UINT32_MAX) lab_may_commit(w->run, before);
  if (!expected(w, "opening", open_table(w, at == UINT32_MAX ? 0 : w->cuts[at].number))) return false;
  ts_records_checkpoint list[TS_RECORDS_CUTS];
  const uint32_t n = ops->cuts->list(w->table, list);
  memset(w->waiting, 0, sizeof w->waiting);
  uint32_t kept = 0;
  for (uint32_t i = 0; i < n; i++)
    for (uint32_t k = 0; k < w->n; k++)
      if (w->cuts[k].number == list[i].number) {
        w->cuts[kept] = w->cuts[k];
        w->cuts[kept++].complete = true;
      }
  if (kept != n) {
    if (w->run != NULL) lab_problem(w->run, "%u checkpoints are listed, %u were made", n, kept);
    return false;
  }
  w->n = n;
  w->now = n == 0 ? (state){0} : w->cuts[n - 1].state;
  w->number = n == 0 ? 0 : w->cuts[n - 1].number;
  uint64_t digest;
  const bool right = read_digest(w, &digest) && digest == digest_of(&w->now, w->number);
  if (!right && w->run != NULL) lab_problem(w->run, "opened again, the table has other rows: %s", w->words);
  /* Its root was made durable by opening. */
  if (right && w->run != NULL && n > 0) lab_acknowledge(w->run, digest);
  return right;
}

static void some(work *w, uint32_t turns) {
  for (; turns > 0 && w->table != NULL; turns--) {
    const uint64_t what = draw(w, 20);
    if (what < 8) {
      train(w, 1 + draw(w, 12));
    } else if (what < 12 && !is_pending(w) && w->n < 4) {
      begin(w);
    } else if (what < 16 && is_pending(w)) {
      if (!complete(w) && complete_ones(w) > 1) drop(w, 0);
    } else if (what < 18 && w->n > 0) {
      const uint32_t at = draw(w, 3) > 0 ? 0 : (uint32_t)draw(w, w->n);
      if (!w->cuts[at].complete || complete_ones(w) > 1) drop(w, at);
    } else if (what == 18 && complete_ones(w) > 0) {
      if (!reopen(w, draw(w, 2) == 0 ? UINT32_MAX : (uint32_t)draw(w, complete_ones(w)))) break;
    } else if (what == 19 && !is_pending(w) && w->n < 4) {
      /* A checkpoint straight after a removal. */
      const uint32_t i = (uint32_t)draw(w, KEYS);
      if (expected(w, "a removal", remove_one(w, i))) w->now.stamp[i] = 0;
      begin(w);
      if (is_pending(w)) complete(w);
    }
  }
}

/* It is there, whatever fails: it is not the table's. */
static void make_directory(const ts_disk_ops *disk) {
  while (disk->make_folder(disk, FOLDER) != -EEXIST) {}
  while (disk->sync_folder(disk, "/") != 0) {}
}

static void run_on(lab_run *run, bool is_pmem) {
  work w;
  make_directory(&run->disk.ops);
  make(&w, &run->disk, is_pmem, run->seed, run);
  if (expected(&w, "opening", open_table(&w, 0))) {
    train(&w, 20);
    some(&w, 24);
  }
  /* After a synchronization that failed only opening it again goes on. */
  if (lab_failed(run) && (w.table == NULL || reopen(&w, UINT32_MAX))) some(&w, 6);
  close_it(&w);
}

static lab_answer answer(work *w, uint64_t at, uint64_t *digest) {
  if (open_table(w, at) != TS_OK) return LAB_REFUSED;
  ts_records_checkpoint list[TS_RECORDS_CUTS];
  if (ops->cuts->list(w->table, list) == 0) return LAB_NOTHING;
  return read_digest(w, digest) ? LAB_STATE : LAB_REFUSED;
}

static lab_answer open_on(const ts_disk_ops *disk, bool is_pmem, uint64_t *digest, ts_err err) {
  work w;
  make(&w, (lab_disk *)(uintptr_t)disk, is_pmem, 39, NULL); /* the largest limit */
  make_directory(disk);
  const lab_answer a = answer(&w, 0, digest);
  if (a == LAB_REFUSED) (void)ts_fail(err, TS_EFORMAT, "%s", w.words);
  close_it(&w);
  return a;
}

/* Opening it crashed, too: nothing has changed by that. */
static bool opens_after_a_second_crash(lab_disk *disk, bool is_pmem, uint64_t seed, ts_err err) {
  uint64_t digest = 0, again = 0;
  const uint32_t ops_of_opening = disk->op_count;
  const lab_answer first = open_on(&disk->ops, is_pmem, &digest, err);
  for (uint32_t i = 1; i <= 14; i++) { /* the roots are written first */
    const uint64_t drawn = ts_random64(seed, 78, i);
    const lab_image_choice choice = {(uint32_t)(i <= 10 ? TS_MIN(i, ops_of_opening) : drawn % (ops_of_opening + 1)),
                                     (uint32_t)(drawn >> 32) % 6, drawn, NULL};
    lab_disk image;
    char words[600] = "";
    lab_image(disk, &choice, &image);
    const lab_answer second = open_on(&image.ops, is_pmem, &again, (ts_err){words, sizeof words});
    lab_disk_end(&image);
    if (second == first && digest == again) continue;
    (void)ts_fail(err, TS_EFORMAT, "a second crash, while it was opened, at operation %u of %u: %s", choice.point, ops_of_opening,
                  second == LAB_STATE ? "other rows" : second == LAB_NOTHING ? "nothing is there" : words);
    return false;
  }
  return true;
}

/* Opened, it goes on as a table does; every checkpoint that is listed then has its rows. */
static bool go_on(lab_disk *disk, bool is_pmem, uint64_t seed, ts_err err) {
  work w;
  if (!opens_after_a_second_crash(disk, is_pmem, seed, err)) return false;
  make(&w, disk, is_pmem, seed, NULL);
  w.medium.limit = 1 << 20;
  bool good = open_table(&w, 0) == TS_OK;
  if (!good) {
    (void)ts_fail(err, TS_EFORMAT, "it cannot be opened a second time: %s", w.words);
    return false;
  }
  /* What is there is not known by its stamps: begin with other rows of all keys. */
  ts_records_checkpoint list[TS_RECORDS_CUTS];
  const uint32_t n = ops->cuts->list(w.table, list);
  w.number = n == 0 ? 0 : list[n - 1].number;
  for (uint32_t i = 0; i < KEYS; i++) {
    const int64_t key = i;
    if (draw(&w, 3) == 0) {
      remove_one(&w, key);
    } else if (put(&w, i, w.next, false)) {
      w.now.stamp[i] = w.next++;
    }
  }
  for (uint32_t i = 0; i < n; i++) { /* room for its own */
    if (i + 1 < n) good = good && ops->cuts->drop(w.table, list[i].number, ERR(&w)) == TS_OK;
  }
  begin(&w);
  train(&w, 20);
  good = good && complete(&w);
  if (good && n > 0) good = ops->cuts->drop(w.table, list[n - 1].number, ERR(&w)) == TS_OK;
  some(&w, 16);
  for (uint32_t at = complete_ones(&w); good && at-- > 0;) good = reopen(&w, at);
  if (!good) (void)ts_fail(err, TS_EFORMAT, "another checkpoint is not what was put: %s", w.words);
  close_it(&w);
  return good;
}

/* Bits are flipped, records moved within and between files, files cut short and taken away: what is opened is right, or refused by name. */
static bool tamper_on(uint64_t seed, bool is_pmem, ts_err err) {
  lab_run run = {.seed = seed};
  lab_disk_begin(&run.disk);
  run_on(&run, is_pmem);
  uint64_t expect = 0, digest = 0;
  const lab_image_choice all = {.point = run.disk.op_count, .style = 1};
  bool good = run.problem[0] == '\0';
  if (!good) (void)ts_fail(err, TS_EFORMAT, "%s", run.problem);
  work w;
  lab_disk image;
  lab_image(&run.disk, &all, &image);
  make(&w, &image, is_pmem, 39, NULL);
  const bool there = answer(&w, 0, &expect) == LAB_STATE;
  close_it(&w);
  lab_disk_end(&image);
  for (uint32_t i = 0; there && good && i < 60; i++) {
    lab_image(&run.disk, &all, &image);
    make(&w, &image, is_pmem, 39, NULL);
    w.seed = seed * 1000 + i;
    lab_entry *entries[8];
    uint32_t files = 0;
    for (uint32_t k = 0; k < image.now.entry_count && files < 8; k++)
      if (image.now.entries[k].inode >= 0) entries[files++] = &image.now.entries[k];
    const lab_entry entry = *entries[draw(&w, files)];
    lab_inode *inode = &image.now.inodes[entry.inode];
    const uint64_t places = inode->length / 128, how = draw(&w, 9);
    const uint64_t from = draw(&w, places) * 128, to = draw(&w, places) * 128;
    static const uint64_t named[] = {0, TS_PM_PAGE, 2 * TS_PM_PAGE, TS_PM_WORD};
    if (how < 2) inode->bytes[(named[draw(&w, 4)] + draw(&w, 8) * draw(&w, 40)) % inode->length] ^= (unsigned char)(1u << draw(&w, 8));
    else if (how < 5) inode->bytes[draw(&w, inode->length)] ^= (unsigned char)(1u << draw(&w, 8));
    else if (how == 5) memmove(inode->bytes + to, inode->bytes + from, 128);
    else if (how == 6) inode->length = draw(&w, inode->length);
    else if (how == 8) w.layout[1]++;
    else image.ops.unlink(&image.ops, entry.path);
    const bool first_gone = (how == 6 || how == 7) && strstr(entry.path, "/0.pool") != NULL; /* that is a table that was never there */
    const lab_answer a = answer(&w, 0, &digest);
    good = how == 8 ? a == LAB_REFUSED && strstr(w.words, "word 1 of its layout") != NULL
           : a == LAB_STATE ? digest == expect : a == LAB_REFUSED ? strstr(w.words, ".pool") != NULL || strstr(w.words, "rows are there") != NULL
                                                              : first_gone;
    if (!good) (void)ts_fail(err, TS_EFORMAT, "way %llu in %s: %s %s", (unsigned long long)how, entry.path,
                             a == LAB_STATE ? "other rows" : a == LAB_NOTHING ? "nothing is there" : "refused without a name:", w.words);
    close_it(&w);
    lab_disk_end(&image);
  }
  lab_disk_end(&run.disk);
  free(run.promises);
  return good;
}

static void run_fsdax(lab_run *run) { run_on(run, true); }
static void run_file(lab_run *run) { run_on(run, false); }
static lab_answer open_fsdax(const ts_disk_ops *disk, uint64_t *digest, ts_err err) { return open_on(disk, true, digest, err); }
static lab_answer open_file(const ts_disk_ops *disk, uint64_t *digest, ts_err err) { return open_on(disk, false, digest, err); }
static bool go_on_fsdax(lab_disk *disk, uint64_t seed, ts_err err) { return go_on(disk, true, seed, err); }
static bool go_on_file(lab_disk *disk, uint64_t seed, ts_err err) { return go_on(disk, false, seed, err); }
static bool tamper_fsdax(uint64_t seed, ts_err err) { return tamper_on(seed, true, err); }
static bool tamper_file(uint64_t seed, ts_err err) { return tamper_on(seed, false, err); }

const lab_subject lab_pmem_fsdax = {"pmem-fsdax", run_fsdax, open_fsdax, go_on_fsdax, tamper_fsdax};
const lab_subject lab_pmem_file = {"pmem-file", run_file, open_file, go_on_file, tamper_file};
