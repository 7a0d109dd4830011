/* seeded_bugs.c - one bug of each kind that a sanitizer is there for, by name: `make nets` runs each under the sanitizer
 * that must catch it. No test of the library but for its allocators, whose memory the address net must see through, too; a
 * net that lets these through would let the library's own through.
 *
 * A bug is real at run time, not one that the compiler sees: indexes and counts come from the command line's length. As
 * a library it is called by seeded_bugs.ts, to prove the same of the nets in Deno. */
#include "base/blocks.h"
#include "tiers/tier.h"

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int none(int one) { return one - 1; }

/* address */
static int heap_overflow(int one) {
  char *bytes = calloc(8, 1);
  if (bytes == NULL) return 2;
  bytes[7 + one] = 1;
  const int sum = bytes[0];
  free(bytes);
  return sum;
}
static int use_after_free(int one) {
  char *volatile bytes = calloc(8, 1);
  if (bytes == NULL) return 2;
  char *const kept = bytes;
  free(bytes);
  return kept[one] == 77;
}
static int leak(int one) {
  void *volatile lost = malloc((size_t)one * 40);
  if (lost == NULL) return 2;
  lost = NULL;
  return 0;
}
static int after_piece(int one) {
  unsigned char *piece = ts_piece_take(ts_pieces_create(-1), 2 * TS_PAGE);
  return piece == NULL ? 2 : piece[2 * TS_PAGE - 1 + (unsigned)one];
}
static int after_small_piece(int one) {
  unsigned char *piece = ts_piece_take(ts_pieces_create(-1), 72);
  return piece == NULL ? 2 : piece[71 + one];
}
static int returned_piece(int one) {
  ts_pieces *pieces = ts_pieces_create(-1);
  unsigned char *piece = ts_piece_take(pieces, TS_PAGE);
  ts_piece_give_back(pieces, piece, TS_PAGE);
  return piece[one];
}
static int after_block(int one) {
  ts_blocks *blocks = NULL;
  if (ts_blocks_create(TS_INDEX_BLOCK, 0, -1, &blocks) != TS_OK) return 2;
  unsigned char *block = ts_blocks_take(blocks);
  ts_blocks_take(blocks);
  return block[TS_INDEX_BLOCK - 1 + (unsigned)one];
}
static int returned_block(int one) {
  ts_blocks *blocks = NULL;
  if (ts_blocks_create(TS_INDEX_BLOCK, TS_INDEX_BLOCK, -1, &blocks) != TS_OK) return 2;
  unsigned char *block = ts_blocks_take(blocks);
  ts_blocks_give_back(blocks, block);
  return block[one];
}
/* Of a DRAM tier's rows: after the last that was taken, or where none are any more. */
static int of_rows(int at, bool returned) {
  ts_tier tier = {.ops = &ts_dram_tier};
  const ts_tier_place anywhere = {0};
  if (ts_dram_tier.open(&tier, UINT64_C(1) << 20, &anywhere, (ts_err){0}) != TS_OK) return 2;
  unsigned char *rows = ts_dram_tier.take(&tier, 1000);
  if (returned) ts_dram_tier.give_back(&tier, rows, 1000);
  return rows[at];
}
static int after_rows(int one) { return of_rows(999 + one, false); }
static int returned_rows(int one) { return of_rows(one, true); }

/* undefined */
static int signed_overflow(int one) {
  volatile int most = INT32_MAX;
  return most + one == 0;
}
static int misaligned(int one) {
  char *bytes = calloc(16, 1);
  if (bytes == NULL) return 2;
  volatile uint32_t *at = (volatile uint32_t *)(void *)(bytes + one); /* NOLINT */
  const uint32_t found = *at;
  free(bytes);
  return found != 0;
}
static int wide_shift(int one) {
  volatile int by = 31 + one;
  return (1 << by) == 2;
}

/* thread */
static int64_t shared;
static void *add(void *argument) {
  shared += *(int *)argument;
  return NULL;
}
static int race(int one) {
  pthread_t ids[2];
  for (int i = 0; i < 2; i++)
    if (pthread_create(&ids[i], NULL, add, &one) != 0) return 2;
  for (int i = 0; i < 2; i++) pthread_join(ids[i], NULL);
  return shared < 1;
}
static pthread_mutex_t first = PTHREAD_MUTEX_INITIALIZER, second = PTHREAD_MUTEX_INITIALIZER;
/* One after the other, so that it does not hang. */
static int lock_order(int one) {
  pthread_mutex_lock(&first);
  pthread_mutex_lock(&second);
  pthread_mutex_unlock(&second);
  pthread_mutex_unlock(&first);
  pthread_mutex_lock(&second);
  pthread_mutex_lock(&first);
  pthread_mutex_unlock(&first);
  pthread_mutex_unlock(&second);
  return one - 1;
}

/* `one` is 1. */
__attribute__((visibility("default"))) int seeded_bug(const char *name, int one);
int seeded_bug(const char *name, int one) {
  static const struct {
    const char *name;
    int (*run)(int one);
  } bugs[] = {{"none", none},
              {"heap-overflow", heap_overflow},
              {"use-after-free", use_after_free},
              {"leak", leak},
              {"after-piece", after_piece},
              {"after-small-piece", after_small_piece},
              {"returned-piece", returned_piece},
              {"after-block", after_block},
              {"returned-block", returned_block},
              {"after-rows", after_rows},
              {"returned-rows", returned_rows},
              {"signed-overflow", signed_overflow},
              {"misaligned", misaligned},
              {"wide-shift", wide_shift},
              {"race", race},
              {"lock-order", lock_order}};
  for (size_t i = 0; i < sizeof bugs / sizeof *bugs; i++)
    if (strcmp(name, bugs[i].name) == 0) return bugs[i].run(one);
  fprintf(stderr, "seeded_bugs: name a bug\n");
  return 3;
}

int main(int count, char **words) { return seeded_bug(count == 2 ? words[1] : "", count - 1); }
