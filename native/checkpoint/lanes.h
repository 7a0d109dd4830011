/* lanes.h - the blocks of a full checkpoint given away by several threads at once, each from a part of its file. */
#ifndef TS_CHECKPOINT_LANES_H
#define TS_CHECKPOINT_LANES_H

#include "checkpoint/file.h"

#define TS_LANES_MOST 4u
#define TS_LANES_LEAST (UINT64_C(32) << 20) /* bytes of a link that are worth more than one */

/* Takes a block; called by several threads at once. */
typedef int32_t (*ts_lanes_take)(void *context, ts_checkpoint_block *block, ts_err err);

/* How many lanes a link of so many bytes is worth on this machine; some of them wait for the medium while others have a CPU. */
uint32_t ts_lanes_for(uint64_t bytes);
/* Gives away all blocks of the reader's link 0, a full one: those of other kinds in any order, then those of BEFORE from the last
 * to the first. lanes: at most TS_LANES_MOST. *done is false, and nothing was given away, where one lane is all there would be.
 * Errors: as ts_checkpoint_next and `take`: of those that lanes met, the one that lies first in the file. What was taken by
 * then are not the blocks before it alone. */
int32_t ts_checkpoint_lanes(ts_checkpoint_reader *reader, uint32_t lanes, ts_lanes_take take, void *context, uint64_t *control,
                            bool *done, ts_err err);

#endif
