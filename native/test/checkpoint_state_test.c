/* Named bytes in a checkpoint: what was appended is what is read, in pieces of any length and with other blocks between; blocks
 * that are missing or in another order are refused. */
#include "check.h"
#include "checkpoint/state.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char words[1024];
static const ts_err err = {words, sizeof words};
static char folder[64], path[80];

static int remove_entry(const char *entry, const struct stat *status, int type, struct FTW *walk) {
  (void)status, (void)type, (void)walk;
  return remove(entry);
}

static ts_checkpoint_writer *begin(void) {
  ts_checkpoint_writer *w = NULL;
  snprintf(folder, sizeof folder, "/tmp/tierstore-state-XXXXXX");
  CHECK(mkdtemp(folder) != NULL);
  snprintf(path, sizeof path, "%s/chain", folder);
  ts_checkpoint_origin origin = {0};
  CHECK_MSG(ts_checkpoint_writer_open(NULL, path, false, &origin, &w, err) == TS_OK, "%s", words);
  return w;
}

static int32_t commit_and_read(ts_checkpoint_writer *w, uint64_t blocks, ts_named *out) {
  ts_manifest own = {0};
  ts_checkpoint_origin origin = {0};
  CHECK_MSG(ts_checkpoint_commit(w, &own, &origin, err) == TS_OK, "%s", words);
  ts_checkpoint_reader *r = NULL;
  CHECK_MSG(ts_checkpoint_reader_open(NULL, path, 0, &r, err) == TS_OK, "%s", words);
  CHECK(ts_checkpoint_select(r, 0, err) == TS_OK);
  words[0] = '\0';
  const int32_t status = ts_checkpoint_read_state(r, blocks, out, err);
  ts_checkpoint_reader_close(r);
  CHECK(nftw(folder, remove_entry, 16, FTW_DEPTH | FTW_PHYS) == 0);
  return status;
}

#define LONG ((UINT64_C(9) << 20) + 5)

static void pieces(ts_named *s, const unsigned char *bytes) {
  ts_named_put(s, "empty", NULL, 0);
  ts_named_put(s, "long", bytes, LONG);
  ts_named_put(s, "short", bytes, 7);
  ts_named_put(s, "exact", bytes + 3, UINT64_C(4) << 20);
}

static void what_was_appended_is_read(void) {
  unsigned char *bytes = malloc(LONG);
  for (uint64_t i = 0; i < LONG; i++) bytes[i] = (unsigned char)ts_mix64(i);
  ts_named state = {0}, found;
  pieces(&state, bytes);
  CHECK(ts_named_allocate(&state) == TS_OK);
  pieces(&state, bytes);
  ts_checkpoint_writer *w = begin();
  uint64_t blocks = 0;
  CHECK(ts_checkpoint_append(w, TS_BLOCK_BEFORE, 0, 1, bytes, 32, err) == TS_OK);
  CHECK_MSG(ts_checkpoint_append_state(w, &state, &blocks, err) == TS_OK, "%s", words);
  CHECK(ts_checkpoint_append(w, TS_BLOCK_ROWS, 0, 1, bytes, 32, err) == TS_OK);
  CHECK_MSG(blocks == 6, "%llu blocks", (unsigned long long)blocks); /* 1 + 3 + 1 + 1 */
  CHECK_MSG(commit_and_read(w, blocks, &found) == TS_OK, "%s", words);
  CHECK(found.used == state.used && memcmp(found.bytes, state.bytes, state.used) == 0);
  ts_named_free(&found);
  ts_named_free(&state);
  free(bytes);
}

static void nothing_is_nothing(void) {
  ts_checkpoint_writer *w = begin();
  const ts_named none = {0};
  ts_named found;
  uint64_t blocks = 9;
  CHECK(ts_checkpoint_append_state(w, &none, &blocks, err) == TS_OK && blocks == 0);
  CHECK(commit_and_read(w, 0, &found) == TS_OK && found.used == 0 && found.bytes == NULL);
}

/* A block by hand: name "a" or "b", an offset, four bytes. */
static void append(ts_checkpoint_writer *w, char name, uint64_t offset) {
  unsigned char payload[21];
  const ts_state_head head = {.name_bytes = 1, .offset = offset};
  memcpy(payload, &head, sizeof head);
  payload[16] = (unsigned char)name;
  memcpy(payload + 17, "1234", 4);
  CHECK(ts_checkpoint_append(w, TS_BLOCK_STATE, 0, 1, payload, sizeof payload, err) == TS_OK);
}

static void other_orders_are_refused(void) {
  static const struct {
    const char *names;
    uint64_t offsets[3];
    uint64_t blocks;
    const char *words;
  } cases[] = {{"aaa", {0, 4, 8}, 3, ""},
               {"aba", {0, 0, 4}, 3, "not in the order"},
               {"aaa", {0, 8, 4}, 3, "not in the order"},
               {"aaa", {4, 0, 4}, 3, "not in the order"},
               {"aaa", {0, 4, 4}, 3, "not in the order"},
               {"aaa", {0, 4, 8}, 4, "it has 3 blocks of named bytes, its manifest says 4"}};
  for (uint32_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    ts_checkpoint_writer *w = begin();
    for (uint32_t b = 0; b < 3; b++) append(w, cases[i].names[b], cases[i].offsets[b]);
    ts_named found;
    const int32_t status = commit_and_read(w, cases[i].blocks, &found);
    const bool right = cases[i].words[0] == '\0';
    CHECK_MSG(status == (right ? TS_OK : TS_EFORMAT) && strstr(words, cases[i].words) != NULL, "%u: %s", i, words);
    CHECK(right || found.bytes == NULL);
    uint64_t at = 0;
    ts_named_piece piece;
    if (right) CHECK(ts_named_next(&found, &at, &piece) && piece.bytes == 12 && memcmp(piece.content, "123412341234", 12) == 0);
    ts_named_free(&found);
  }
}

int main(void) {
  what_was_appended_is_read();
  nothing_is_nothing();
  other_orders_are_refused();
  return test_result();
}
