/* workspace.h - memory of layers and batches. Planned once: the same planning code runs twice, first to measure (base
 * NULL), then to lay out, so that a step never allocates and one block can fail early. Pieces are aligned to 64 bytes
 * and start as zeros.
 *
 * Or, with `separate`, each piece is an allocation of its own, freed by ts_workspace_free: what a framework without
 * planning does in every step. Such pieces start as they come. */
#ifndef TS_WDL_WORKSPACE_H
#define TS_WDL_WORKSPACE_H

#include "base/base.h"

#define TS_WORKSPACE_PIECES 512u

typedef struct ts_workspace {
  char *base;
  uint64_t used;
  bool separate, failed;
  uint32_t count;
  void *pieces[TS_WORKSPACE_PIECES];
} ts_workspace;

void *ts_workspace_allocate(ts_workspace *space, uint64_t bytes);
/* Frees separate pieces; the workspace can be used again. */
void ts_workspace_free(ts_workspace *space);

static inline void *ts_workspace_take(ts_workspace *space, uint64_t count, uint64_t size) {
  if (space->separate) return ts_workspace_allocate(space, TS_ROUND_UP(count * size, 64));
  void *at = space->base == NULL ? NULL : space->base + space->used;
  space->used += TS_ROUND_UP(count * size, 64);
  return at;
}

#endif
