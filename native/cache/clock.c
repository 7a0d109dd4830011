/* clock.c - see clock.h. */
#include "cache/clock.h"

#include <string.h>

uint64_t ts_clock_victim(ts_rows *rows, uint64_t end) {
  if (end > rows->next) end = rows->next;
  /* Two rounds clear every bit that can be cleared; what is left then is pinned or free. */
  for (uint64_t step = 0; step < 2 * end; step++) {
    if (rows->hand >= end) rows->hand = 0;
    uint64_t row = rows->hand++;
    uint8_t *mark = ts_rows_mark(rows, row);
    if (!(*mark & TS_MARK_LIVE) || *mark & TS_MARK_PINNED) continue;
    if (*mark & TS_MARK_REFERENCED) {
      *mark &= (uint8_t)~TS_MARK_REFERENCED;
      continue;
    }
    return row;
  }
  return TS_NO_ROW;
}

void ts_clock_grow_older(ts_rows *rows, uint64_t counts[TS_MARK_AGE + 1]) {
  memset(counts, 0, (TS_MARK_AGE + 1) * sizeof *counts);
  for (uint64_t row = 0; row < rows->next; row++) {
    uint8_t *mark = ts_rows_mark(rows, row);
    if (!(*mark & TS_MARK_LIVE)) continue;
    if ((*mark & TS_MARK_AGE) < TS_MARK_AGE) ++*mark;
    counts[*mark & TS_MARK_AGE]++;
  }
}
