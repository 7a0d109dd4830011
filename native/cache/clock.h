/* clock.h - which row leaves the first tier: CLOCK (Corbato 1968), an approximation of LRU with one bit a row. A hand
 * goes round the rows; a row looked up since the hand last passed gets another round, the first that was not is the
 * victim. Rows of the batch in progress are pinned and passed over. New rows start without the bit, so keys that come
 * once leave first.
 *
 * The age in the mark counts rebalancing rounds since the last lookup; it compares rows of different tables, whose
 * hands turn at different speeds (store/room.c). */
#ifndef TS_CLOCK_H
#define TS_CLOCK_H

#include "store/rows.h"

/* A lookup of a row of the batch in progress. */
static inline void ts_clock_touch(ts_rows *rows, uint64_t row) {
  *ts_rows_mark(rows, row) = TS_MARK_LIVE | TS_MARK_PINNED | TS_MARK_REFERENCED;
}

/* The next victim below row number `end`, or TS_NO_ROW if every row there is pinned. */
uint64_t ts_clock_victim(ts_rows *rows, uint64_t end);

/* Adds a round to the age of every row; counts[a] becomes the number of rows of age a. */
void ts_clock_grow_older(ts_rows *rows, uint64_t counts[TS_MARK_AGE + 1]);

#endif
