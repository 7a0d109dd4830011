/* Blocks: distinct, aligned, used again; little is held in advance. */
#include "base/blocks.h"
#include "test/check.h"

#include <stdlib.h>
#include <string.h>

#define BLOCKS 3000u

static int by_address(const void *a, const void *b) {
  const unsigned char *x = *(unsigned char *const *)a, *y = *(unsigned char *const *)b;
  return (x > y) - (x < y);
}

static void blocks_are_distinct_and_used_again(void) {
  ts_blocks *blocks;
  CHECK(ts_blocks_create(TS_INDEX_BLOCK, -1, &blocks) == TS_OK);
  CHECK(ts_blocks_slack(blocks) == 0);
  static unsigned char *taken[BLOCKS];
  uint32_t too_far_ahead = 0;
  for (uint32_t i = 0; i < BLOCKS; i++) {
    taken[i] = ts_blocks_take(blocks);
    CHECK(taken[i] != NULL && (uintptr_t)taken[i] % 64 == 0);
    taken[i][0] = taken[i][TS_INDEX_BLOCK - 1] = (unsigned char)i;
    uint64_t bytes = (i + 1) * TS_INDEX_BLOCK;
    uint64_t ahead = bytes < 2 << 20 ? TS_MAX(bytes, 8 * TS_INDEX_BLOCK) : TS_MAX(bytes / 16, UINT64_C(2) << 20);
    too_far_ahead += ts_blocks_slack(blocks) > ahead;
  }
  CHECK_MSG(too_far_ahead == 0, "%u times", too_far_ahead);
  for (uint32_t i = 0; i < BLOCKS; i++)
    CHECK(taken[i][0] == (unsigned char)i && taken[i][TS_INDEX_BLOCK - 1] == (unsigned char)i);
  qsort(taken, BLOCKS, sizeof *taken, by_address);
  for (uint32_t i = 1; i < BLOCKS; i++) CHECK(taken[i] - taken[i - 1] >= (ptrdiff_t)TS_INDEX_BLOCK);
  uint64_t slack = ts_blocks_slack(blocks);
  for (uint32_t i = 0; i < 100; i++) ts_blocks_give_back(blocks, taken[i]);
  CHECK(ts_blocks_slack(blocks) == slack + 100 * TS_INDEX_BLOCK);
  for (uint32_t i = 0; i < 100; i++) {
    void *again = ts_blocks_take(blocks);
    CHECK(bsearch(&again, taken, 100, sizeof *taken, by_address) != NULL);
  }
  CHECK(ts_blocks_slack(blocks) == slack);
  ts_blocks_destroy(blocks);
}

static void a_missing_node_is_refused(void) {
  ts_blocks *blocks = NULL;
  CHECK(ts_blocks_create(TS_INDEX_BLOCK, 1000, &blocks) == TS_ENOMEM && blocks == NULL);
  CHECK(ts_blocks_create(TS_INDEX_BLOCK, 1 << 20, &blocks) == TS_ENOMEM && blocks == NULL);
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
  CHECK(ts_blocks_create(TS_INDEX_BLOCK, -1, &blocks) == TS_OK);
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
  blocks_are_distinct_and_used_again();
  a_missing_node_is_refused();
  threads_share_them();
  return test_result();
}
