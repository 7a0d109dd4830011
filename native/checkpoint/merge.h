/* merge.h - what a chain says together. A delta speaks for all keys of the slots in its maps, so of each link only the rows
 * count whose slot is in no newer link's map: links are gone through from the newest to the oldest, and each key is met
 * in one of them. Restore reads this, and compaction writes it into one file. Memory: a map a table and a block. */
#ifndef TS_CHECKPOINT_MERGE_H
#define TS_CHECKPOINT_MERGE_H

#include "checkpoint/file.h"

typedef struct ts_checkpoint_merge ts_checkpoint_merge;
/* The reader stays the caller's, who uses it for nothing else until the merge is closed. Errors: TS_ENOMEM. */
int32_t ts_checkpoint_merge_open(ts_checkpoint_reader *reader, ts_checkpoint_merge **out, ts_err err);
void ts_checkpoint_merge_close(ts_checkpoint_merge *merge);
/* Goes on to the next link, first to the newest. *there: false if there was none left. Errors: TS_EIO. */
int32_t ts_checkpoint_merge_link(ts_checkpoint_merge *merge, bool *there, ts_err err);
/* The next block of the link, as ts_checkpoint_next: of ROWS, BEFORE and WAITING the entries that count, FILTER and STATE
 * of the newest link, no MAP; blocks of which nothing counts are left out.
 * Errors: as ts_checkpoint_next; TS_EFORMAT (entries that do not fit their block, maps of another size). */
int32_t ts_checkpoint_merge_next(ts_checkpoint_merge *merge, ts_checkpoint_block *out, ts_err err);
/* As ts_checkpoint_previous_before. */
int32_t ts_checkpoint_merge_previous_before(ts_checkpoint_merge *merge, ts_checkpoint_block *out, ts_err err);

#endif
