/* workspace.h - memory planned once: the same planning code runs twice, first to measure (base NULL), then to lay out,
 * so that a step never allocates and one block can fail early. Pieces are aligned to 64 bytes and start as zeros. */
#ifndef TS_WDL_WORKSPACE_H
#define TS_WDL_WORKSPACE_H

#include "base/base.h"

typedef struct ts_workspace {
  char *base;
  uint64_t used;
} ts_workspace;

static inline void *ts_workspace_take(ts_workspace *space, uint64_t count, uint64_t size) {
  void *at = space->base == NULL ? NULL : space->base + space->used;
  space->used += TS_ROUND_UP(count * size, 64);
  return at;
}

#endif
