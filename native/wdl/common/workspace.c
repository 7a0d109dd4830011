/* workspace.c - pieces that are allocations of their own. */
#include "wdl/common/workspace.h"

#include <stdlib.h>

void *ts_workspace_allocate(ts_workspace *space, uint64_t bytes) {
  void *piece = space->count < TS_WORKSPACE_PIECES ? aligned_alloc(64, TS_MAX(bytes, 64u)) : NULL;
  if (piece == NULL) space->failed = true;
  else space->pieces[space->count++] = piece;
  return piece;
}

void ts_workspace_free(ts_workspace *space) {
  while (space->count > 0) free(space->pieces[--space->count]);
  space->failed = false;
}
