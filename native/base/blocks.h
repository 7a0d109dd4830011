/* blocks.h - memory in blocks of one size, from extents that ask for huge pages: no fragmentation, and what a freed
 * segment leaves the next one takes. Extents grow with the total, so that little is held in advance. */
#ifndef TS_BLOCKS_H
#define TS_BLOCKS_H

#include "base/base.h"

#define TS_INDEX_BLOCK (UINT64_C(32) << 10)

typedef struct ts_blocks ts_blocks;
/* node: NUMA node to bind to, -1: none. Errors: TS_ENOMEM. */
int32_t ts_blocks_create(uint64_t block_bytes, int node, ts_blocks **out);
void ts_blocks_destroy(ts_blocks *blocks);
/* 64-byte aligned, contents undefined; NULL when the machine has no memory. Thread-safe. */
void *ts_blocks_take(ts_blocks *blocks);
void ts_blocks_give_back(ts_blocks *blocks, void *block);
/* Bytes of extents that are not in taken blocks. */
uint64_t ts_blocks_slack(ts_blocks *blocks);

#endif
