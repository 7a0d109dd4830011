/* subject_checkpoints.c - chains of checkpoints (native/checkpoint) under the crash lab: the model of model.h is trained,
 * checkpointed, compacted, restored and restarted. */
#include "checkpoint/tend.h"
#include "test/crash/lab.h"
#include "test/crash/model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PATH "/chain"
#define STEPS 12u

/* What the workload knows of its checkpoints. */
typedef struct known {
  uint32_t number;
  uint64_t digest;
  bool abandoned;
} known;

typedef struct work {
  lab_run *run;
  model m;
  known known[STEPS];
  uint32_t count;
  char words[1024];
  ts_err err;
} work;

static void may_commit(void *context, uint64_t digest) { lab_may_commit(((work *)context)->run, digest); }

/* A call failed, or did not, without a reason. */
static bool expected(work *w, const char *what, int32_t status) {
  if (status == TS_OK) return true;
  if (!lab_failed(w->run)) lab_problem(w->run, "%s failed: %s", what, w->words);
  return false;
}

static void checkpoint(work *w, bool delta) {
  const uint64_t digest = model_digest(&w->m);
  delta = delta && w->m.origin.number != 0;
  if (!expected(w, "a checkpoint", model_checkpoint(&w->m, &w->run->disk.ops, PATH, delta, may_commit, w, w->err))) return;
  lab_acknowledge(w->run, digest);
  if (w->count < STEPS) w->known[w->count++] = (known){w->m.origin.number, digest, false};
}

static void compact(work *w) {
  if (w->count == 0) return;
  if (!expected(w, "a compaction", ts_chain_compact(&w->run->disk.ops, PATH, NULL, w->err))) return;
  if (w->known[w->count - 1].number == w->m.origin.number || w->m.origin.restored) w->known[0] = w->known[w->count - 1], w->count = 1;
}

/* A writer that is given up after some blocks, while another is refused. */
static void give_up(work *w) {
  ts_checkpoint_writer *writer, *second = NULL;
  const ts_disk_ops *disk = &w->run->disk.ops;
  if (!expected(w, "a writer", ts_checkpoint_writer_open(disk, PATH, false, &w->m.origin, &writer, w->err))) return;
  ts_checkpoint_append(writer, TS_BLOCK_ROWS, 0, 1, "0123456789", 10, w->err);
  if (ts_checkpoint_writer_open(disk, PATH, false, &w->m.origin, &second, w->err) != TS_EUNAVAILABLE) {
    lab_problem(w->run, "a second writer was let into the folder");
    ts_checkpoint_abandon(second);
  }
  ts_checkpoint_abandon(writer);
}

/* What a process leaves that is killed while it writes. */
static void leave(work *w) {
  const ts_disk_ops *disk = &w->run->disk.ops;
  if (w->count == 0) return;
  const uint32_t number = w->known[w->count - 1].number + 100;
  static const char *const endings[] = {".ckpt", ".manifest.new", ".full.ckpt"};
  for (uint32_t i = 0; i < 3; i++) {
    char path[64];
    snprintf(path, sizeof path, PATH "/%08x%s", number, endings[i]);
    const int file = disk->create(disk, path);
    if (file < 0) continue;
    disk->write(disk, file, "left", 4, 0);
    disk->close(disk, file);
  }
}

/* The process ends and another one begins with the newest checkpoint; where it cannot read that, the next one does. */
static void restart(work *w) {
  if (w->count == 0) return;
  const ts_disk_ops *disk = &w->run->disk.ops;
  int32_t status = model_restore(&w->m, disk, PATH, 0, w->err);
  if (status != TS_OK && lab_failed(w->run)) status = model_restore(&w->m, disk, PATH, 0, w->err);
  if (!expected(w, "a restore", status)) return;
  if (!lab_failed(w->run) && model_digest(&w->m) != w->known[w->count - 1].digest)
    lab_problem(w->run, "the newest checkpoint was restored to another state");
}

/* Restores an earlier checkpoint and goes on from there; the store that was is refused, and so are the checkpoints in between. */
static void go_back(work *w) {
  if (w->count < 2) return;
  const ts_disk_ops *disk = &w->run->disk.ops;
  const uint32_t to = (uint32_t)model_random(&w->m, w->count - 1);
  model old = w->m, back = {.random = w->m.random};
  if (!expected(w, "the restore of an earlier checkpoint", model_restore(&back, disk, PATH, w->known[to].number, w->err))) return;
  if (model_digest(&back) != w->known[to].digest)
    lab_problem(w->run, "checkpoint %u was restored to another state", w->known[to].number);
  w->m = back;
  const uint32_t abandoned = w->known[w->count - 1].number;
  const bool overtaken = !old.origin.restored && old.origin.number == abandoned;
  w->count = to + 1;
  const uint32_t before = w->run->promise_count;
  checkpoint(w, true);
  if (w->run->promise_count == before || lab_failed(w->run)) return;
  ts_checkpoint_writer *writer = NULL;
  int32_t status = overtaken ? ts_checkpoint_writer_open(disk, PATH, true, &old.origin, &writer, w->err) : TS_EFORMAT;
  if (status != TS_EFORMAT && (status == TS_OK || !lab_failed(w->run))) {
    lab_problem(w->run, "a store that was overtaken was let go on");
    ts_checkpoint_abandon(writer);
  }
  status = model_restore(&back, disk, PATH, abandoned, w->err);
  /* If the newest manifest could not be read, nobody knows of what timeline others are. */
  if (status != TS_EINVAL && !lab_failed(w->run))
    lab_problem(w->run, "checkpoint %u was restored, whose timeline is abandoned", abandoned);
}

static void run_work(lab_run *run) {
  work *w = calloc(1, sizeof *w);
  if (w == NULL) abort();
  w->run = run;
  w->err = (ts_err){w->words, sizeof w->words};
  model_begin(&w->m, run->seed);
  /* Each thing that can be done, in a drawn order: F full, D delta, C compaction, G given up, L left, R restart, B back. */
  char steps[STEPS + 1] = "FDDDDCCGLRBB";
  for (uint32_t i = STEPS - 1; i > 0; i--) {
    const uint64_t other = model_random(&w->m, i + 1);
    const char step = steps[i];
    steps[i] = steps[other];
    steps[other] = step;
  }
  for (uint32_t i = 0; i < STEPS; i++) {
    switch (steps[i]) {
      case 'F': checkpoint(w, false); break;
      case 'C': compact(w); break;
      case 'G': give_up(w); break;
      case 'L': leave(w); break;
      case 'R': restart(w); break;
      case 'B': go_back(w); break;
      default: checkpoint(w, true);
    }
    model_train(&w->m);
  }
  free(w);
}

static bool is_empty(const ts_disk_ops *disk, int32_t status, const char *words) {
  (void)disk;
  return (status == TS_EINVAL && strstr(words, "there is none") != NULL) ||
         (status == TS_EIO && strstr(words, "No such file or directory") != NULL);
}

static lab_answer open_newest(const ts_disk_ops *disk, uint64_t *digest, ts_err err) {
  model m = {0};
  const int32_t status = model_restore(&m, disk, PATH, 0, err);
  *digest = model_digest(&m);
  return status == TS_OK ? LAB_STATE : is_empty(disk, status, err.text) ? LAB_NOTHING : LAB_REFUSED;
}

static uint32_t manifests(const lab_disk *disk) {
  uint32_t n = 0;
  for (uint32_t i = 0; i < disk->now.entry_count; i++) {
    const char *dot = strrchr(disk->now.entries[i].path, '.');
    n += dot != NULL && strcmp(dot, ".manifest") == 0;
  }
  return n;
}

/* After a crash: nothing is damaged, the store goes on, what was left is gone, and the chain compacts. */
static bool go_on(lab_disk *disk, uint64_t seed, ts_err err) {
  model m = {.random = seed}, back = {0};
  const ts_disk_ops *ops = &disk->ops;
  if (model_restore(&m, ops, PATH, 0, err) == TS_OK) {
    if (ts_chain_verify(ops, PATH, NULL, err) != TS_OK) return false;
  } else {
    model_begin(&m, seed);
  }
  for (uint32_t i = 0; i < 2; i++) {
    model_train(&m);
    const uint64_t digest = model_digest(&m);
    if (model_checkpoint(&m, ops, PATH, m.origin.number != 0, NULL, NULL, err) != TS_OK ||
        model_restore(&back, ops, PATH, 0, err) != TS_OK)
      return false;
    if (model_digest(&back) != digest) return ts_fail(err, TS_EFORMAT, "the next checkpoint is not what was written"), false;
    if (lab_disk_files(disk) != 2 * manifests(disk))
      return ts_fail(err, TS_EFORMAT, "%u files are left of %u checkpoints", lab_disk_files(disk), manifests(disk)), false;
    if (i == 0 && ts_chain_compact(ops, PATH, NULL, err) != TS_OK) return false;
  }
  return true;
}

/* ---- what no crash does ---- */

typedef struct chain_of {
  lab_disk disk;
  model m, after_first;
  uint64_t digests[4]; /* of number i + 1 */
} chain_of;

/* A full checkpoint and two deltas. */
static bool make_chain(chain_of *c, uint64_t seed, ts_err err) {
  lab_disk_begin(&c->disk);
  model_begin(&c->m, seed);
  for (uint32_t i = 0; i < 3; i++) {
    c->digests[i] = model_digest(&c->m);
    if (model_checkpoint(&c->m, &c->disk.ops, PATH, i > 0, NULL, NULL, err) != TS_OK) return false;
    if (i == 0) c->after_first = c->m;
    model_train(&c->m);
  }
  return true;
}

static lab_inode *file_of(lab_disk *disk, const char *path) {
  for (uint32_t i = 0; i < disk->now.entry_count; i++)
    if (strcmp(disk->now.entries[i].path, path) == 0) return &disk->now.inodes[disk->now.entries[i].inode];
  return NULL;
}

static void set_file(lab_disk *disk, const char *path, const unsigned char *bytes, uint64_t n) {
  disk->ops.unlink(&disk->ops, path);
  const int file = disk->ops.create(&disk->ops, path);
  disk->ops.write(&disk->ops, file, bytes, n, 0);
  disk->ops.close(&disk->ops, file);
}

static void copy_file(lab_disk *from, const char *a, lab_disk *to, const char *b) {
  const lab_inode *inode = file_of(from, a);
  if (inode == NULL) return; /* what was to be there is not: said by whoever expected it */
  unsigned char *bytes = malloc(inode->length);
  if (bytes == NULL) abort();
  memcpy(bytes, inode->bytes, inode->length);
  set_file(to, b, bytes, inode->length);
  free(bytes);
}

/* Reads one data file, block by block, beside the one that was written: what is handed out is what was written there. Then
 * restores `number`, which is to be refused with these words, or (words NULL) give what it was. */
static bool refused(chain_of *c, lab_disk *original, uint32_t number, const char *part, ts_err err) {
  char words[1024] = "";
  const ts_err own = {words, sizeof words};
  ts_checkpoint_reader *now = NULL, *was = NULL;
  int32_t status = ts_checkpoint_reader_open(&c->disk.ops, PATH, number, &now, own);
  bool good = true;
  if (status == TS_OK && ts_checkpoint_reader_open(&original->ops, PATH, number, &was, err) == TS_OK)
    for (uint32_t link = 0; status == TS_OK && good && link < ts_checkpoint_links(now) && link < ts_checkpoint_links(was); link++) {
      ts_checkpoint_block a = {.kind = TS_BLOCK_ROWS}, b;
      status = ts_checkpoint_select(now, link, own);
      ts_checkpoint_select(was, link, err);
      while (status == TS_OK && good && a.kind != TS_BLOCK_END) {
        status = ts_checkpoint_next(now, &a, own);
        if (status == TS_OK && ts_checkpoint_next(was, &b, err) == TS_OK)
          good = a.kind == b.kind && a.table == b.table && a.count == b.count && a.bytes == b.bytes &&
                 (a.bytes == 0 || memcmp(a.payload, b.payload, a.bytes) == 0);
      }
    }
  ts_checkpoint_reader_close(now);
  ts_checkpoint_reader_close(was);
  if (!good) return ts_fail(err, TS_EFORMAT, "\"%s\": a block was read that was not written there", part == NULL ? "" : part), false;
  model m = {0};
  if (status == TS_OK) status = model_restore(&m, &c->disk.ops, PATH, number, own);
  if (status == TS_OK && part == NULL && model_digest(&m) == c->digests[number - 1]) return true;
  if (status != TS_OK && part != NULL && strstr(words, part) != NULL) return true;
  return ts_fail(err, TS_EFORMAT, "expected \"%s\" of checkpoint %u, found %s", part == NULL ? "its state" : part, number,
                 status == TS_OK ? "that it was restored" : words),
         false;
}

static void restore_file(chain_of *c, lab_disk *original, const char *path) { copy_file(original, path, &c->disk, path); }

/* One bit of each file, drawn. */
static bool flips(chain_of *c, lab_disk *original, uint64_t seed, ts_err err) {
  for (uint32_t i = 0; i < 60; i++) {
    const lab_entry *entry = &original->now.entries[ts_random64(seed, 1, i) % original->now.entry_count];
    if (entry->inode < 0) continue;
    lab_inode *inode = file_of(&c->disk, entry->path);
    const uint64_t byte = i < 20 ? ts_random64(seed, 2, i) % TS_MIN(inode->length, 64u) : ts_random64(seed, 2, i) % inode->length;
    const unsigned char bit = (unsigned char)(1u << ts_random64(seed, 3, i) % 8);
    inode->bytes[byte] ^= bit;
    const uint32_t number = (uint32_t)strtoul(strrchr(entry->path, '/') + 1, NULL, 16);
    const bool good = refused(c, original, number, "damaged at offset", err);
    inode->bytes[byte] ^= bit;
    if (!good) return false;
  }
  return true;
}

/* Blocks of a data file: where each begins. */
static uint32_t blocks_of(const lab_inode *inode, uint64_t *places, uint32_t cap) {
  uint32_t n = 0;
  for (uint64_t at = 0; at + sizeof(ts_block_header) <= inode->length && n < cap; n++) {
    ts_block_header header;
    memcpy(&header, inode->bytes + at, sizeof header);
    places[n] = at;
    at += sizeof header + header.bytes;
  }
  return n;
}

/* A block that is whole, at another place of its file, and in another file. */
static bool moved_blocks(chain_of *c, lab_disk *original, ts_err err) {
  lab_inode *first = file_of(&c->disk, PATH "/00000001.ckpt");
  uint64_t places[256];
  const uint32_t n = blocks_of(first, places, 256);
  for (uint32_t i = 0; i < n; i++)
    for (uint32_t k = i + 1; k < n; k++) {
      ts_block_header a, b;
      memcpy(&a, first->bytes + places[i], sizeof a);
      memcpy(&b, first->bytes + places[k], sizeof b);
      if (a.bytes != b.bytes || a.payload_crc == b.payload_crc) continue;
      memmove(first->bytes + places[i], first->bytes + places[k], sizeof b + b.bytes);
      const bool good = refused(c, original, 1, "was written for another place", err);
      restore_file(c, original, PATH "/00000001.ckpt");
      return good;
    }
  return true;
}

/* A disk with a copy of the chain's first checkpoint. */
static void copy_first(lab_disk *original, lab_disk *to) {
  lab_disk_begin(to);
  to->ops.make_folder(&to->ops, PATH);
  copy_file(original, PATH "/00000001.ckpt", to, PATH "/00000001.ckpt");
  copy_file(original, PATH "/00000001.manifest", to, PATH "/00000001.manifest");
}

static bool tampered_links(chain_of *c, lab_disk *original, uint64_t seed, ts_err err) {
  lab_disk *disk = &c->disk;
  bool good = true;
#define EXPECT(number, words) good = good && refused(c, original, number, words, err)
  /* Missing, doubled, truncated. */
  disk->ops.unlink(&disk->ops, PATH "/00000002.manifest");
  EXPECT(3, "its parent, checkpoint 2 (00000002.manifest), is missing");
  EXPECT(1, NULL);
  copy_file(original, PATH "/00000001.manifest", disk, PATH "/00000002.manifest");
  EXPECT(3, "00000002.manifest: it is the manifest of checkpoint 1; a link of the chain is doubled");
  restore_file(c, original, PATH "/00000002.manifest");
  const lab_inode *second = file_of(original, PATH "/00000002.ckpt");
  set_file(disk, PATH "/00000002.ckpt", second->bytes, second->length - 100);
  EXPECT(3, "it was truncated");
  /* Data of another link. */
  copy_file(original, PATH "/00000003.ckpt", disk, PATH "/00000002.ckpt");
  file_of(disk, PATH "/00000002.ckpt")->length = TS_MIN(file_of(disk, PATH "/00000002.ckpt")->length, second->length);
  if (file_of(disk, PATH "/00000002.ckpt")->length == second->length) EXPECT(2, "was written for another file");
  restore_file(c, original, PATH "/00000002.ckpt");
  /* Checkpoint 2 as the same store wrote it into a copy of the folder: number, chain and timeline are right. */
  chain_of other = {.m = c->after_first};
  copy_first(original, &other.disk);
  other.m.random = seed;
  model_train(&other.m);
  good = good && model_checkpoint(&other.m, &other.disk.ops, PATH, true, NULL, NULL, err) == TS_OK;
  copy_file(&other.disk, PATH "/00000002.ckpt", disk, PATH "/00000002.ckpt");
  copy_file(&other.disk, PATH "/00000002.manifest", disk, PATH "/00000002.manifest");
  EXPECT(3, "checkpoint 2 is not the one that it was made from");
  lab_disk_end(&other.disk);
  /* Checkpoint 3 in a copy that went back to checkpoint 1 and on from there: of a timeline that is abandoned there. */
  copy_first(original, &other.disk);
  good = good && model_restore(&other.m, &other.disk.ops, PATH, 1, err) == TS_OK &&
         model_checkpoint(&other.m, &other.disk.ops, PATH, true, NULL, NULL, err) == TS_OK;
  copy_file(original, PATH "/00000003.ckpt", &other.disk, PATH "/00000003.ckpt");
  copy_file(original, PATH "/00000003.manifest", &other.disk, PATH "/00000003.manifest");
  good = good && refused(&other, original, 3, "it is of timeline 1, which was abandoned", err);
  lab_disk_end(&other.disk);
  restore_file(c, original, PATH "/00000002.ckpt");
  restore_file(c, original, PATH "/00000002.manifest");
  /* Another chain, with the same numbers. */
  chain_of foreign;
  good = make_chain(&foreign, seed + 1, err) && good;
  copy_file(&foreign.disk, PATH "/00000002.ckpt", disk, PATH "/00000002.ckpt");
  copy_file(&foreign.disk, PATH "/00000002.manifest", disk, PATH "/00000002.manifest");
  EXPECT(3, "checkpoint 2 is of another chain");
  lab_disk_end(&foreign.disk);
#undef EXPECT
  return good;
}

static bool tamper(uint64_t seed, ts_err err) {
  chain_of *c = calloc(1, sizeof *c);
  if (c == NULL) abort();
  bool good = make_chain(c, seed, err);
  lab_disk original;
  lab_image(&c->disk, &(lab_image_choice){.point = c->disk.op_count, .style = 1}, &original);
  good = good && flips(c, &original, seed, err) && moved_blocks(c, &original, err) && tampered_links(c, &original, seed, err);
  lab_disk_end(&original);
  lab_disk_end(&c->disk);
  free(c);
  return good;
}

const lab_subject lab_checkpoints = {"checkpoints", run_work, open_newest, go_on, tamper};
