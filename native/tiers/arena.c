/* arena.c - a contiguous range of memory handed out in blocks: first fit over a sorted list of free ranges that are
 * joined when neighbours come back. Blocks are large (a chunk of rows), so the list stays short. */
#include "tiers/tier.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define ALIGN 64u
#define PAGE 4096u

typedef struct range {
  uint64_t offset, bytes;
} range;

struct ts_arena {
  pthread_mutex_t lock;
  unsigned char *base;
  range *ranges; /* free, by offset */
  size_t count, capacity;
  bool pages;
};

int32_t ts_arena_create(void *base, uint64_t bytes, bool pages, ts_arena **out, ts_err err) {
  ts_arena *arena = calloc(1, sizeof *arena);
  if (arena != NULL) arena->ranges = malloc(16 * sizeof *arena->ranges);
  if (arena == NULL || arena->ranges == NULL) {
    free(arena);
    return ts_fail(err, TS_ENOMEM, "Cannot manage %llu bytes: out of memory", (unsigned long long)bytes);
  }
  pthread_mutex_init(&arena->lock, NULL);
  arena->base = base;
  arena->pages = pages;
  arena->capacity = 16;
  arena->ranges[0] = (range){0, bytes};
  arena->count = bytes > 0;
  *out = arena;
  return TS_OK;
}

void ts_arena_destroy(ts_arena *arena) {
  if (arena == NULL) return;
  pthread_mutex_destroy(&arena->lock);
  free(arena->ranges);
  free(arena);
}

void *ts_arena_take(ts_arena *arena, uint64_t bytes) {
  bytes = TS_ROUND_UP(bytes, ALIGN);
  void *block = NULL;
  pthread_mutex_lock(&arena->lock);
  for (size_t i = 0; i < arena->count; i++) {
    range *r = &arena->ranges[i];
    if (r->bytes < bytes) continue;
    block = arena->base + r->offset;
    r->offset += bytes;
    r->bytes -= bytes;
    if (r->bytes == 0) {
      memmove(r, r + 1, (arena->count - i - 1) * sizeof *r);
      arena->count--;
    }
    break;
  }
  pthread_mutex_unlock(&arena->lock);
  return block;
}

/* Pages of the free range that the block had a part of: at its ends, with what was free beside it. Locked: nobody has them. */
static void give_pages(const ts_arena *arena, const range *r, uint64_t offset, uint64_t bytes) {
  const uint64_t first = TS_MAX(TS_ROUND_UP(r->offset, PAGE), offset / PAGE * PAGE);
  const uint64_t end = TS_MIN((r->offset + r->bytes) / PAGE * PAGE, TS_ROUND_UP(offset + bytes, PAGE));
  if (arena->pages && end > first) madvise(arena->base + first, end - first, MADV_DONTNEED);
}

void ts_arena_give_back(ts_arena *arena, void *block, uint64_t bytes) {
  bytes = TS_ROUND_UP(bytes, ALIGN);
  uint64_t offset = (uint64_t)((unsigned char *)block - arena->base);
  pthread_mutex_lock(&arena->lock);
  size_t i = 0;
  while (i < arena->count && arena->ranges[i].offset < offset) i++;
  bool joins_left = i > 0 && arena->ranges[i - 1].offset + arena->ranges[i - 1].bytes == offset;
  bool joins_right = i < arena->count && offset + bytes == arena->ranges[i].offset;
  size_t in = i; /* of the range that it is in now */
  if (joins_left && joins_right) {
    in--;
    arena->ranges[i - 1].bytes += bytes + arena->ranges[i].bytes;
    memmove(&arena->ranges[i], &arena->ranges[i + 1], (arena->count - i - 1) * sizeof(range));
    arena->count--;
  } else if (joins_left) {
    in--;
    arena->ranges[i - 1].bytes += bytes;
  } else if (joins_right) {
    arena->ranges[i].offset = offset;
    arena->ranges[i].bytes += bytes;
  } else {
    if (arena->count == arena->capacity) {
      range *more = realloc(arena->ranges, 2 * arena->capacity * sizeof *more);
      if (more == NULL) { /* the block is lost to the arena, not to the process: it goes when the arena goes */
        pthread_mutex_unlock(&arena->lock);
        return;
      }
      arena->ranges = more;
      arena->capacity *= 2;
    }
    memmove(&arena->ranges[i + 1], &arena->ranges[i], (arena->count - i) * sizeof(range));
    arena->ranges[i] = (range){offset, bytes};
    arena->count++;
  }
  give_pages(arena, &arena->ranges[in], offset, bytes);
  pthread_mutex_unlock(&arena->lock);
}
