/* ahead.h - a thread that reads and checks a link's blocks ahead of whoever takes them, in the same order and with the same
 * errors: one that the thread met is told to who takes, after the blocks before it. */
#ifndef TS_CHECKPOINT_AHEAD_H
#define TS_CHECKPOINT_AHEAD_H

#include "checkpoint/cursor.h"

/* Links of fewer bytes are read by whoever takes their blocks: a thread would cost more than it saves. */
#define TS_AHEAD_LEAST (UINT64_C(4) << 20)
/* How far it reads ahead: so many blocks, and while those that wait have fewer than so many bytes. A writer's blocks of rows
 * have some 70 KiB; these are enough to go on over the time that a sleeping thread takes to wake. */
#define TS_AHEAD_BLOCKS 32u
#define TS_AHEAD_BYTES (UINT64_C(4) << 20)

typedef struct ts_ahead ts_ahead;
/* Reads from where the cursor is, which is the thread's until close. *out is NULL, and the call succeeds, where the system gives
 * no thread: the caller reads on by itself. Errors: TS_ENOMEM. */
int32_t ts_ahead_open(ts_block_cursor *cursor, ts_ahead **out, ts_err err);
/* The next block, which is the thread's again at the next call; NULL behind the last one. Errors: as ts_block_cursor_next, and
 * the same again at every later call. */
int32_t ts_ahead_next(ts_ahead *ahead, const ts_read_block **out, ts_err err);
/* Ends the thread, wherever it is; a read that is under way is waited for. NULL: nothing. */
void ts_ahead_close(ts_ahead *ahead);

#endif
