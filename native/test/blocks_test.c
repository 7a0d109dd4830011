/* Blocks: distinct, aligned, used again; no more memory is held beside those in use than was allowed. */
#include "base/blocks.h"
#include "test/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define BLOCKS 3000u
#ifndef MADV_COLLAPSE /* Linux 6.1 */
#define MADV_COLLAPSE 25
#endif

static int by_address(const void *a, const void *b) {
  const unsigned char *x = *(unsigned char *const *)a, *y = *(unsigned char *const *)b;
  return (x > y) - (x < y);
}

/* Bytes of these blocks that are in memory. */
static uint64_t held_in(unsigned char *const *blocks) {
  unsigned char resident[TS_INDEX_BLOCK / 4096];
  uint64_t held = 0;
  for (uint32_t i = 0; i < BLOCKS; i++) {
    if (mincore(blocks[i], TS_INDEX_BLOCK, resident) != 0) continue;
    for (uint32_t p = 0; p < sizeof resident; p++) held += (resident[p] & 1u) * UINT64_C(4096);
  }
  return held;
}

static void blocks_are_distinct_and_used_again(uint64_t most_slack) {
  ts_blocks *blocks;
  CHECK(ts_blocks_create(TS_INDEX_BLOCK, most_slack, -1, &blocks) == TS_OK);
  CHECK(ts_blocks_slack(blocks) == 0);
  static unsigned char *taken[BLOCKS];
  uint32_t too_much = 0;
  for (uint32_t i = 0; i < BLOCKS; i++) {
    taken[i] = ts_blocks_take(blocks);
    CHECK(taken[i] != NULL && (uintptr_t)taken[i] % 64 == 0);
    memset(taken[i], (int)i, TS_INDEX_BLOCK);
    too_much += ts_blocks_slack(blocks) > most_slack;
  }
  for (uint32_t i = 0; i < BLOCKS; i++)
    CHECK(taken[i][0] == (unsigned char)i && taken[i][TS_INDEX_BLOCK - 1] == (unsigned char)i);
  qsort(taken, BLOCKS, sizeof *taken, by_address);
  for (uint32_t i = 1; i < BLOCKS; i++) CHECK(taken[i] - taken[i - 1] >= (ptrdiff_t)TS_INDEX_BLOCK);
  for (uint32_t i = 0; i < 100; i++) ts_blocks_give_back(blocks, taken[i * 7]);
  CHECK(ts_blocks_slack(blocks) <= most_slack);
  for (uint32_t i = 0; i < 100; i++) {
    void *again = ts_blocks_take(blocks);
    CHECK(bsearch(&again, taken, 700, sizeof *taken, by_address) != NULL);
    memset(again, 1, TS_INDEX_BLOCK);
  }
  for (uint32_t i = 0; i < BLOCKS; i++) {
    ts_blocks_give_back(blocks, taken[i]);
    too_much += ts_blocks_slack(blocks) > most_slack;
  }
  const uint64_t held = held_in(taken);
  CHECK_MSG(too_much == 0 && held <= most_slack, "%u times too much, %llu bytes held in the end", too_much,
            (unsigned long long)held);
  ts_blocks_destroy(blocks);
}

/* Holes stay holes, whatever the kernel makes of the memory around them: it is asked for huge pages, as khugepaged would try
 * by itself, and single blocks are used again. */
static void huge_pages_fill_no_holes(void) {
  const uint64_t huge = UINT64_C(2) << 20, slack = UINT64_C(8) << 20;
  ts_blocks *blocks;
  CHECK(ts_blocks_create(TS_INDEX_BLOCK, slack, -1, &blocks) == TS_OK);
  static unsigned char *taken[BLOCKS];
  for (uint32_t i = 0; i < BLOCKS; i++) memset(taken[i] = ts_blocks_take(blocks), 1, TS_INDEX_BLOCK);
  /* A kernel without huge pages, or without this call (before Linux 6.1), shows nothing. */
  const bool can = madvise((void *)((uintptr_t)taken[BLOCKS / 2] / huge * huge), huge, MADV_COLLAPSE) == 0;
  uint64_t kept = 0;
  for (uint32_t i = 0; i < BLOCKS; i++)
    if (i % 64 != 0)
      ts_blocks_give_back(blocks, taken[i]);
    else
      kept += TS_INDEX_BLOCK;
  for (uint32_t i = 0; i < BLOCKS; i += 32) madvise((void *)((uintptr_t)taken[i] / huge * huge), huge, MADV_COLLAPSE);
  uint64_t held = held_in(taken);
  CHECK_MSG(held <= kept + slack, "%llu bytes are held, %llu taken", (unsigned long long)held, (unsigned long long)kept);
  /* All are used again: then huge pages are right. */
  for (uint32_t i = 0; i < BLOCKS; i++)
    if (i % 64 != 0) memset(taken[i] = ts_blocks_take(blocks), 1, TS_INDEX_BLOCK);
  CHECK(!can || madvise((void *)((uintptr_t)taken[BLOCKS / 2] / huge * huge), huge, MADV_COLLAPSE) == 0);
  ts_blocks_destroy(blocks);
  if (!can) printf("skipped: holes beside huge pages (the kernel makes none when asked)\n");
}

static void a_missing_node_is_refused(void) {
  ts_blocks *blocks = NULL;
  CHECK(ts_blocks_create(TS_INDEX_BLOCK, 0, 1000, &blocks) == TS_ENOMEM && blocks == NULL);
  CHECK(ts_blocks_create(TS_INDEX_BLOCK, 0, 1 << 20, &blocks) == TS_ENOMEM && blocks == NULL);
}

typedef struct worker {
  ts_blocks *blocks;
  unsigned char mark;
  uint32_t spoilt;
} worker;

static void *take_and_give(void *context) {
  worker *w = context;
  unsigned char *mine[16] = {0};
  for (uint32_t i = 0; i < 20000; i++) {
    uint32_t which = (uint32_t)(ts_random64(w->mark, 0, i) % 16);
    if (mine[which] == NULL) {
      mine[which] = ts_blocks_take(w->blocks);
      memset(mine[which], w->mark, 256);
    } else {
      for (uint32_t j = 0; j < 256; j++) w->spoilt += mine[which][j] != w->mark;
      ts_blocks_give_back(w->blocks, mine[which]);
      mine[which] = NULL;
    }
  }
  for (uint32_t i = 0; i < 16; i++) ts_blocks_give_back(w->blocks, mine[i]);
  return NULL;
}

static void threads_share_them(void) {
  ts_blocks *blocks;
  CHECK(ts_blocks_create(TS_INDEX_BLOCK, UINT64_C(64) << 20, -1, &blocks) == TS_OK);
  worker workers[3];
  pthread_t ids[3];
  for (uint32_t i = 0; i < 3; i++) {
    workers[i] = (worker){blocks, (unsigned char)(i + 1), 0};
    CHECK(pthread_create(&ids[i], NULL, take_and_give, &workers[i]) == 0);
  }
  for (uint32_t i = 0; i < 3; i++) {
    pthread_join(ids[i], NULL);
    CHECK(workers[i].spoilt == 0);
  }
  ts_blocks_destroy(blocks);
}

int main(void) {
  blocks_are_distinct_and_used_again(0);
  blocks_are_distinct_and_used_again(UINT64_C(1) << 20);
  blocks_are_distinct_and_used_again(UINT64_C(64) << 20);
  huge_pages_fill_no_holes();
  a_missing_node_is_refused();
  threads_share_them();
  return test_result();
}
