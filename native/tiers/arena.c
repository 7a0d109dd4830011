/* arena.c - a contiguous range of memory handed out in blocks: first fit over a sorted list of free ranges that are
 * joined when neighbours come back. Blocks are large (a chunk of rows), so the list stays short. */
#include "base/poison.h"
#include "tiers/tier.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define ALIGN 64u
#define PAGE 4096u
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* Linux 5.14 */
#endif
#define REGIONS 64u /* of a range with huge pages: mappings are few in a process */

typedef struct range {
  uint64_t offset, bytes;
} range;

struct ts_arena {
  pthread_mutex_t lock;
  unsigned char *base;
  range *ranges; /* free, by offset */
  size_t count, capacity;
  ts_arena_kind kind;
  uint64_t frontier; /* all below has been taken once */
  uint64_t warmed;   /* up to here pages were asked for ahead of time; 0: none */
  uint64_t bytes, region_bytes, holes[REGIONS]; /* bytes below the frontier that nobody has */
};

int32_t ts_arena_create(void *base, uint64_t bytes, ts_arena_kind kind, ts_arena **out, ts_err err) {
  ts_arena *arena = calloc(1, sizeof *arena);
  if (arena != NULL) arena->ranges = malloc(16 * sizeof *arena->ranges);
  if (arena == NULL || arena->ranges == NULL) {
    free(arena);
    return ts_fail(err, TS_ENOMEM, "Cannot manage %llu bytes: out of memory", (unsigned long long)bytes);
  }
  pthread_mutex_init(&arena->lock, NULL);
  arena->base = base;
  arena->kind = kind;
  arena->bytes = bytes;
  arena->region_bytes = TS_ROUND_UP(bytes / REGIONS + 1, TS_HUGE_PAGE);
  if (kind != TS_ARENA_FILE) madvise(base, bytes, kind == TS_ARENA_HUGE ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
  arena->capacity = 16;
  arena->ranges[0] = (range){0, bytes};
  arena->count = bytes > 0;
  *out = arena;
  return TS_OK;
}

void ts_arena_destroy(ts_arena *arena) {
  if (arena == NULL) return;
  TS_UNPOISON(arena->base, TS_MIN(arena->bytes, arena->frontier + PAGE));
  pthread_mutex_destroy(&arena->lock);
  free(arena->ranges);
  free(arena);
}

/* A part of what was taken once becomes free, or is taken again: huge pages are for regions without holes. Locked. */
static void change_holes(ts_arena *arena, uint64_t from, uint64_t end, bool hole) {
  if (arena->kind != TS_ARENA_HUGE) return;
  for (uint64_t at = from, next; at < end; at = next) {
    const uint64_t region = at / arena->region_bytes, before = arena->holes[region];
    next = TS_MIN(end, (region + 1) * arena->region_bytes);
    arena->holes[region] += hole ? next - at : at - next;
    if ((before == 0) == (arena->holes[region] == 0)) continue;
    const uint64_t first = region * arena->region_bytes;
    madvise(arena->base + first, TS_MIN(arena->region_bytes, arena->bytes - first), hole ? MADV_NOHUGEPAGE : MADV_HUGEPAGE);
  }
}

void *ts_arena_take(ts_arena *arena, uint64_t asked) {
  const uint64_t bytes = TS_ROUND_UP(asked, ALIGN);
  void *block = NULL;
  pthread_mutex_lock(&arena->lock);
  for (size_t i = 0; i < arena->count; i++) {
    range *r = &arena->ranges[i];
    if (r->bytes < bytes) continue;
    block = arena->base + r->offset;
    TS_POISON(block, bytes);
    TS_UNPOISON(block, asked);
    change_holes(arena, r->offset, TS_MIN(r->offset + bytes, arena->frontier), false);
    r->offset += bytes;
    if (r->offset > arena->frontier) {
      arena->frontier = r->offset;
      TS_POISON(arena->base + r->offset, TS_MIN(PAGE, arena->bytes - r->offset));
    }
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
  if (arena->kind != TS_ARENA_FILE && end > first) madvise(arena->base + first, end - first, MADV_DONTNEED);
}

/* A range that is free, joined with its neighbours; returns which it is in now, or NULL: it is lost to the arena, for want of
 * memory. Locked. */
static const range *add(ts_arena *arena, uint64_t offset, uint64_t bytes) {
  size_t i = 0;
  while (i < arena->count && arena->ranges[i].offset < offset) i++;
  bool joins_left = i > 0 && arena->ranges[i - 1].offset + arena->ranges[i - 1].bytes == offset;
  bool joins_right = i < arena->count && offset + bytes == arena->ranges[i].offset;
  if (joins_left && joins_right) {
    arena->ranges[i - 1].bytes += bytes + arena->ranges[i].bytes;
    memmove(&arena->ranges[i], &arena->ranges[i + 1], (arena->count - i - 1) * sizeof(range));
    arena->count--;
    return &arena->ranges[i - 1];
  }
  if (joins_left) {
    arena->ranges[i - 1].bytes += bytes;
    return &arena->ranges[i - 1];
  }
  if (joins_right) {
    arena->ranges[i].offset = offset;
    arena->ranges[i].bytes += bytes;
    return &arena->ranges[i];
  }
  if (arena->count == arena->capacity) {
    range *more = realloc(arena->ranges, 2 * arena->capacity * sizeof *more);
    if (more == NULL) return NULL;
    arena->ranges = more;
    arena->capacity *= 2;
  }
  memmove(&arena->ranges[i + 1], &arena->ranges[i], (arena->count - i) * sizeof(range));
  arena->ranges[i] = (range){offset, bytes};
  arena->count++;
  return &arena->ranges[i];
}

void ts_arena_give_back(ts_arena *arena, void *block, uint64_t bytes) {
  bytes = TS_ROUND_UP(bytes, ALIGN);
  TS_POISON(block, bytes);
  const uint64_t offset = (uint64_t)((unsigned char *)block - arena->base);
  pthread_mutex_lock(&arena->lock);
  const range *in = add(arena, offset, bytes);
  if (in != NULL) { /* a block that is lost goes when the arena goes */
    change_holes(arena, offset, offset + bytes, true);
    give_pages(arena, in, offset, bytes);
  }
  pthread_mutex_unlock(&arena->lock);
}

void ts_arena_add(ts_arena *arena, uint64_t offset, uint64_t bytes) {
  pthread_mutex_lock(&arena->lock);
  add(arena, offset, bytes);
  pthread_mutex_unlock(&arena->lock);
}

uint64_t ts_arena_trim(ts_arena *arena, uint64_t from, uint64_t end) {
  uint64_t begin = end;
  pthread_mutex_lock(&arena->lock);
  for (size_t i = 0; i < arena->count; i++) {
    range *r = &arena->ranges[i];
    if (r->offset + r->bytes != end || end <= from) continue;
    begin = TS_MAX(r->offset, from);
    r->bytes = begin - r->offset;
    if (r->bytes == 0) {
      memmove(r, r + 1, (arena->count - i - 1) * sizeof *r);
      arena->count--;
    }
    break;
  }
  pthread_mutex_unlock(&arena->lock);
  return begin;
}

/* The kernel clears a page when it is touched first. Where a thread fills memory as fast as it can, that is a third of its time. */
void ts_arena_warm(ts_arena *arena, uint64_t bytes, const _Atomic bool *stop) {
  if (arena->kind == TS_ARENA_FILE) return;
  const uint64_t from = TS_ROUND_UP(ts_arena_frontier(arena), TS_HUGE_PAGE), end = TS_MIN(from + bytes, arena->bytes);
  for (uint64_t at = from, step; at < end && !atomic_load(stop); at += step) {
    step = TS_MIN(end - at, TS_HUGE_PAGE);
    pthread_mutex_lock(&arena->lock);
    arena->warmed = at + step;
    pthread_mutex_unlock(&arena->lock);
    if (madvise(arena->base + at, step, MADV_POPULATE_WRITE) != 0) break; /* an older kernel, or no memory: whoever comes touches them */
  }
}

void ts_arena_cool(ts_arena *arena) {
  pthread_mutex_lock(&arena->lock);
  const uint64_t from = TS_ROUND_UP(arena->frontier, arena->kind == TS_ARENA_HUGE ? TS_HUGE_PAGE : PAGE);
  if (arena->warmed > from) madvise(arena->base + from, arena->warmed - from, MADV_DONTNEED);
  arena->warmed = 0;
  pthread_mutex_unlock(&arena->lock);
}

uint64_t ts_arena_frontier(ts_arena *arena) {
  pthread_mutex_lock(&arena->lock);
  const uint64_t frontier = arena->frontier;
  pthread_mutex_unlock(&arena->lock);
  return frontier;
}
