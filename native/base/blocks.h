/* blocks.h - memory in blocks of one size, from extents: no fragmentation, and what a freed segment leaves the next one
 * takes. Blocks are charged by whoever takes them; what is held beside them is at most what the owner allows, and charges,
 * from the beginning. */
#ifndef TS_BLOCKS_H
#define TS_BLOCKS_H

#include "base/pieces.h"

#define TS_INDEX_BLOCK (UINT64_C(32) << 10)

typedef struct ts_blocks ts_blocks;
/* most_slack: bytes of memory that may be held in blocks that nobody has; from 4 MiB on, huge pages are asked for.
 * node: NUMA node to bind to, -1: none. Errors: TS_ENOMEM. */
int32_t ts_blocks_create(uint64_t block_bytes, uint64_t most_slack, int node, ts_blocks **out);
void ts_blocks_destroy(ts_blocks *blocks);
/* Aligned to pages, contents undefined; NULL when the machine has no memory. Thread-safe. */
void *ts_blocks_take(ts_blocks *blocks);
void ts_blocks_give_back(ts_blocks *blocks, void *block);
/* Bytes of memory held in blocks that nobody has: at most most_slack. */
uint64_t ts_blocks_slack(ts_blocks *blocks);
/* Memory of other sizes, bound to the same node. */
ts_pieces *ts_blocks_pieces(ts_blocks *blocks);

#endif
