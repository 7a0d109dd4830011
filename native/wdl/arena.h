/* arena.h - memory planned once: the same planning code runs twice, first to measure (base NULL), then to lay out, so
 * that a step never allocates and one block can fail early. Pieces are aligned to 64 bytes and start as zeros. */
#ifndef TS_WDL_ARENA_H
#define TS_WDL_ARENA_H

#include "base/base.h"

typedef struct ts_arena {
  char *base;
  uint64_t used;
} ts_arena;

static inline void *ts_arena_take(ts_arena *arena, uint64_t count, uint64_t size) {
  void *at = arena->base == NULL ? NULL : arena->base + arena->used;
  arena->used += TS_ROUND_UP(count * size, 64);
  return at;
}

#endif
