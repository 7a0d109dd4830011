/* Checkpoints as files: what was written is what is read, and a chain refuses by name what does not belong to it. */
#include "check.h"
#include "checkpoint/file.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char words[1024];
static const ts_err err = {words, sizeof words};

static char folder[64], path[80];

static void begin(void) {
  snprintf(folder, sizeof folder, "/tmp/tierstore-checkpoint-XXXXXX");
  CHECK(mkdtemp(folder) != NULL);
  snprintf(path, sizeof path, "%s/chain", folder);
}

static int remove_entry(const char *entry, const struct stat *status, int type, struct FTW *walk) {
  (void)status, (void)type, (void)walk;
  return remove(entry);
}

static void end(void) { CHECK(nftw(folder, remove_entry, 16, FTW_DEPTH | FTW_PHYS) == 0); }

/* A checkpoint of two ROWS blocks, a BEFORE before and one after them; `mark` is in every payload. */
static void write_one(bool delta, ts_checkpoint_origin *origin, unsigned char mark) {
  ts_checkpoint_writer *w = NULL;
  unsigned char payload[300];
  memset(payload, mark, sizeof payload);
  CHECK_MSG(ts_checkpoint_writer_open(NULL, path, delta, origin, &w, err) == TS_OK, "%s", words);
  if (w == NULL) return;
  CHECK(ts_checkpoint_append(w, TS_BLOCK_BEFORE, 0, 1, payload, 100, err) == TS_OK);
  CHECK(ts_checkpoint_append(w, TS_BLOCK_ROWS, 0, 3, payload, 300, err) == TS_OK);
  CHECK(ts_checkpoint_append(w, TS_BLOCK_ROWS, 1, 0, NULL, 0, err) == TS_OK);
  CHECK(ts_checkpoint_append(w, TS_BLOCK_BEFORE, 7, 2, payload, 200, err) == TS_OK);
  ts_manifest own = {0};
  ts_manifest_put(&own, "step", "%d", mark);
  ts_manifest_put(&own, "table.0.name", "%s", "a=b\n\\\x7f\xc3\xbc");
  CHECK_MSG(ts_checkpoint_commit(w, &own, origin, err) == TS_OK, "%s", words);
  ts_manifest_free(&own);
}

/* Checks that link `link` is as write_one wrote it with `mark`. */
static void expect_link(ts_checkpoint_reader *r, uint32_t link, unsigned char mark) {
  static const ts_checkpoint_block wanted[] = {
      {TS_BLOCK_BEFORE, 0, 1, 100, NULL}, {TS_BLOCK_ROWS, 0, 3, 300, NULL}, {TS_BLOCK_ROWS, 1, 0, 0, NULL}, {TS_BLOCK_BEFORE, 7, 2, 200, NULL}};
  ts_checkpoint_block b;
  CHECK(ts_checkpoint_select(r, link, err) == TS_OK);
  for (uint32_t i = 0; i < 4; i++) {
    CHECK_MSG(ts_checkpoint_next(r, &b, err) == TS_OK, "%s", words);
    CHECK(b.kind == wanted[i].kind && b.table == wanted[i].table && b.count == wanted[i].count && b.bytes == wanted[i].bytes);
    for (uint64_t n = 0; n < b.bytes; n++) CHECK(b.payload[n] == mark);
  }
  CHECK(ts_checkpoint_next(r, &b, err) == TS_OK && b.kind == TS_BLOCK_END);
  CHECK(ts_checkpoint_previous_before(r, &b, err) == TS_OK && b.kind == TS_BLOCK_BEFORE && b.table == 7 && b.payload[0] == mark);
  CHECK(ts_checkpoint_previous_before(r, &b, err) == TS_OK && b.kind == TS_BLOCK_BEFORE && b.table == 0 && b.count == 1);
  CHECK(ts_checkpoint_previous_before(r, &b, err) == TS_OK && b.kind == TS_BLOCK_END);
  uint64_t step = 0;
  const ts_manifest *m = ts_checkpoint_link_manifest(r, link);
  CHECK(ts_manifest_u64(m, "step", &step) && step == mark);
  CHECK(strcmp(ts_manifest_get(m, "table.0.name"), "a=b\n\\\x7f\xc3\xbc") == 0);
}

/* Opens checkpoint `number` and expects these links from it down, or these words. */
static void expect_open(uint32_t number, uint32_t links, const unsigned char *marks) {
  ts_checkpoint_reader *r = NULL;
  CHECK_MSG(ts_checkpoint_reader_open(NULL, path, number, &r, err) == TS_OK, "%s", words);
  if (r == NULL) return;
  CHECK(ts_checkpoint_links(r) == links);
  for (uint32_t i = 0; i < links; i++) expect_link(r, i, marks[i]);
  ts_checkpoint_reader_close(r);
}

static void expect_refused(uint32_t number, int32_t status, const char *part) {
  ts_checkpoint_reader *r = NULL;
  words[0] = '\0';
  CHECK(ts_checkpoint_reader_open(NULL, path, number, &r, err) == status);
  CHECK_MSG(strstr(words, part) != NULL, "\"%s\" is not in \"%s\"", part, words);
  ts_checkpoint_reader_close(r);
}

static void in_folder(char *out, size_t cap, const char *name) { snprintf(out, cap, "%s/%s", path, name); }

static void move(const char *from, const char *to) {
  char a[128], b[128];
  in_folder(a, sizeof a, from);
  in_folder(b, sizeof b, to);
  CHECK(rename(a, b) == 0);
}

static void copy(const char *from, const char *to) {
  char a[128], b[128], bytes[4096];
  in_folder(a, sizeof a, from);
  in_folder(b, sizeof b, to);
  FILE *in = fopen(a, "rb"), *out = fopen(b, "wb");
  const size_t n = fread(bytes, 1, sizeof bytes, in);
  CHECK(fwrite(bytes, 1, n, out) == n);
  fclose(in);
  fclose(out);
}

static bool exists(const char *name) {
  char file[128];
  in_folder(file, sizeof file, name);
  return access(file, F_OK) == 0;
}

static void chains(void) {
  begin();
  ts_checkpoint_origin origin = {0};
  write_one(false, &origin, 1);
  write_one(true, &origin, 2);
  write_one(true, &origin, 3);
  expect_open(0, 3, (const unsigned char[]){3, 2, 1});
  expect_open(2, 2, (const unsigned char[]){2, 1});
  write_one(false, &origin, 4);
  write_one(true, &origin, 5);
  expect_open(0, 2, (const unsigned char[]){5, 4});
  expect_open(3, 3, (const unsigned char[]){3, 2, 1});
  expect_refused(9, TS_EINVAL, "none of that number; the newest is 5");
  end();
}

static void refused_by_name(void) {
  begin();
  expect_refused(0, TS_EIO, "folder of checkpoints");
  ts_checkpoint_origin origin = {0}, other = {0};
  write_one(false, &origin, 1);
  write_one(true, &origin, 2);
  write_one(true, &origin, 3);
  move("00000002.manifest", "aside");
  expect_refused(0, TS_EFORMAT, "its parent, checkpoint 2 (00000002.manifest), is missing");
  copy("00000001.manifest", "00000002.manifest");
  expect_refused(0, TS_EFORMAT, "00000002.manifest: it is the manifest of checkpoint 1; a link of the chain is doubled");
  move("aside", "00000002.manifest");
  move("00000001.ckpt", "aside");
  expect_refused(0, TS_EFORMAT, "00000001.ckpt is missing");
  copy("00000002.ckpt", "00000001.ckpt");
  ts_checkpoint_reader *r = NULL;
  ts_checkpoint_block b;
  CHECK_MSG(ts_checkpoint_reader_open(NULL, path, 0, &r, err) == TS_OK, "%s", words);
  CHECK(ts_checkpoint_select(r, 2, err) == TS_OK && ts_checkpoint_next(r, &b, err) == TS_EFORMAT);
  CHECK_MSG(strstr(words, "00000001.ckpt: the block at offset 0 was written for another file") != NULL, "%s", words);
  ts_checkpoint_reader_close(r);
  move("aside", "00000001.ckpt");
  char file[128];
  in_folder(file, sizeof file, "00000002.ckpt");
  CHECK(truncate(file, 300) == 0);
  expect_refused(0, TS_EFORMAT, "00000002.ckpt: it has 300 bytes, 856 were written; it was truncated");
  CHECK(truncate(file, 900) == 0);
  expect_refused(0, TS_EFORMAT, "00000002.ckpt: it has 900 bytes, 856 were written; it was appended to");
  /* A chain of another folder, with the same numbers. */
  char own[80];
  snprintf(own, sizeof own, "%s", path);
  snprintf(path, sizeof path, "%s/other", folder);
  write_one(false, &other, 1);
  write_one(true, &other, 2);
  snprintf(path, sizeof path, "%s", own);
  move("../other/00000002.manifest", "00000002.manifest");
  expect_refused(0, TS_EFORMAT, "checkpoint 2 is of another chain");
  end();
}

static void timelines(void) {
  begin();
  ts_checkpoint_origin origin = {0};
  for (unsigned char i = 1; i <= 4; i++) write_one(i > 1, &origin, i);
  ts_checkpoint_reader *r = NULL;
  CHECK(ts_checkpoint_reader_open(NULL, path, 2, &r, err) == TS_OK);
  ts_checkpoint_origin restored = ts_checkpoint_reader_origin(r);
  ts_checkpoint_reader_close(r);
  write_one(true, &restored, 5);
  expect_open(0, 3, (const unsigned char[]){5, 2, 1});
  expect_open(2, 2, (const unsigned char[]){2, 1});
  expect_refused(4, TS_EINVAL, "its timeline was abandoned when checkpoint 2 was restored and went on as checkpoint 5");
  expect_refused(3, TS_EINVAL, "abandoned");
  /* The store that wrote 4 is still there. */
  ts_checkpoint_writer *w = NULL;
  CHECK(ts_checkpoint_writer_open(NULL, path, true, &origin, &w, err) == TS_EFORMAT && w == NULL);
  CHECK_MSG(strstr(words, "descends from checkpoint 4, but another went on to 5") != NULL, "%s", words);
  /* Training begun anew in the same folder. */
  ts_checkpoint_origin fresh = {0};
  CHECK(ts_checkpoint_writer_open(NULL, path, true, &fresh, &w, err) == TS_EINVAL && w == NULL);
  write_one(false, &fresh, 6);
  expect_open(0, 1, (const unsigned char[]){6});
  expect_open(5, 3, (const unsigned char[]){5, 2, 1});
  end();
}

static void what_writers_leave(void) {
  begin();
  ts_checkpoint_origin origin = {0};
  ts_checkpoint_writer *w = NULL, *second = NULL;
  write_one(false, &origin, 1);
  CHECK(ts_checkpoint_writer_open(NULL, path, true, &origin, &w, err) == TS_OK && exists("00000002.ckpt"));
  CHECK(ts_checkpoint_writer_open(NULL, path, true, &origin, &second, err) == TS_EUNAVAILABLE && second == NULL);
  CHECK_MSG(strstr(words, "another writer is at work there") != NULL, "%s", words);
  expect_open(0, 1, (const unsigned char[]){1});
  ts_checkpoint_abandon(w);
  CHECK(!exists("00000002.ckpt"));
  /* As a process leaves it that was killed before and within its commit. */
  copy("00000001.ckpt", "00000002.ckpt");
  copy("00000001.ckpt", "00000002.manifest.new");
  copy("00000001.ckpt", "00000001.full.ckpt");
  copy("00000001.ckpt", "mine.ckpt");
  expect_open(0, 1, (const unsigned char[]){1});
  write_one(true, &origin, 2);
  CHECK(!exists("00000002.ckpt") && exists("00000003.ckpt") && !exists("00000002.manifest.new") && !exists("00000001.full.ckpt"));
  CHECK(exists("mine.ckpt"));
  expect_open(0, 2, (const unsigned char[]){2, 1});
  CHECK(ts_checkpoint_writer_open(NULL, "/tmp/tierstore-no-such/folder", false, NULL, &w, err) == TS_EIO);
  end();
}

int main(void) {
  chains();
  refused_by_name();
  timelines();
  what_writers_leave();
  return test_result();
}
