/* pieces.c - see pieces.h. Extents are address space, a bit for each of their pages says whether it is taken; the first run
 * that is long enough is used. Pages that come back lose their memory at once, and no huge page can bring it back: so free
 * pages are zero and hold nothing. Extents grow with what there is, so that they stay few; they go back at the end. */
#include "base/pieces.h"

#include "base/poison.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Linux 6.1; headers may be older. */
#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif

#define HUGE_PAGE (UINT64_C(2) << 20)
#define LEAST_EXTENT (UINT64_C(1) << 20)
#define MOST_EXTENT (UINT64_C(64) << 20)
#define EXTENT_SHARE 8u

typedef struct extent {
  struct extent *next;
  unsigned char *base;
  uint64_t pages, longest; /* longest: no free run is longer */
  uint64_t taken[];        /* bits */
} extent;

struct ts_pieces {
  pthread_mutex_t lock;
  extent *extents;
  uint64_t total; /* bytes of address space */
  int node;
};

unsigned char *ts_pages_map(uint64_t bytes, int node, bool huge) {
  uint64_t align = huge && bytes >= HUGE_PAGE ? HUGE_PAGE : 0;
  unsigned char *base = mmap(NULL, bytes + align, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (base == MAP_FAILED) return NULL;
  if (align > 0) {
    uint64_t before = (align - (uintptr_t)base % align) % align;
    if (before > 0) munmap(base, before);
    base += before;
    if (align > before) munmap(base + bytes, align - before);
    madvise(base, bytes, MADV_HUGEPAGE); /* a hint; works without */
  } else {
    madvise(base, bytes, MADV_NOHUGEPAGE);
  }
  if (node >= 0 && ts_bind_memory(base, bytes, node, (ts_err){0}) != TS_OK) {
    munmap(base, bytes);
    return NULL;
  }
  return base;
}

bool ts_pages_have_huge(unsigned char *memory, uint64_t bytes) {
  for (uint64_t at = 0; at < bytes; at += HUGE_PAGE) memory[at] = 0; /* one is had where a write finds nothing */
  return madvise(memory, bytes, MADV_COLLAPSE) == 0;
}

ts_pieces *ts_pieces_create(int node) {
  ts_pieces *pieces = calloc(1, sizeof *pieces);
  if (pieces == NULL) return NULL;
  pieces->node = node;
  pthread_mutex_init(&pieces->lock, NULL);
  return pieces;
}

void ts_pieces_destroy(ts_pieces *pieces) {
  if (pieces == NULL) return;
  for (extent *e = pieces->extents, *next; e != NULL; e = next) {
    next = e->next;
    TS_UNPOISON(e->base, e->pages * TS_PAGE);
    munmap(e->base, e->pages * TS_PAGE);
    free(e);
  }
  pthread_mutex_destroy(&pieces->lock);
  free(pieces);
}

static extent *add_extent(ts_pieces *pieces, uint64_t pages) {
  const uint64_t least = pages * TS_PAGE, share = TS_ROUND_UP(pieces->total / EXTENT_SHARE, LEAST_EXTENT);
  uint64_t bytes = TS_MAX(least, TS_MIN(TS_MAX(share, LEAST_EXTENT), MOST_EXTENT));
  extent *e = calloc(1, sizeof *e + (bytes / TS_PAGE + 63) / 64 * sizeof *e->taken);
  if (e == NULL) return NULL;
  e->base = ts_pages_map(bytes, pieces->node, false);
  if (e->base == NULL && bytes > least) e->base = ts_pages_map(bytes = least, pieces->node, false);
  if (e->base == NULL) {
    free(e);
    return NULL;
  }
  TS_POISON(e->base, bytes);
  e->pages = e->longest = bytes / TS_PAGE;
  e->next = pieces->extents;
  pieces->extents = e;
  pieces->total += bytes;
  return e;
}

/* The first run of free pages that is long enough, or UINT64_MAX; the longest is known after that. */
static uint64_t find(extent *e, uint64_t want) {
  uint64_t run = 0, longest = 0;
  for (uint64_t p = 0; p < e->pages; p++) {
    const uint64_t word = e->taken[p / 64];
    if (p % 64 == 0 && word == UINT64_MAX) { /* none in all of these */
      run = 0;
      p += 63;
    } else if (p % 64 == 0 && word == 0 && run + 64 < want && p + 64 <= e->pages) {
      run += 64;
      p += 63;
    } else if (word >> p % 64 & 1) {
      run = 0;
    } else if (++run == want) {
      return p + 1 - want;
    }
    longest = TS_MAX(longest, run);
  }
  e->longest = longest;
  return UINT64_MAX;
}

static void mark(extent *e, uint64_t first, uint64_t pages, bool taken) {
  for (uint64_t p = first; p < first + pages; p++)
    e->taken[p / 64] = (e->taken[p / 64] & ~(UINT64_C(1) << p % 64)) | (uint64_t)taken << p % 64;
}

static void *take_pages(ts_pieces *pieces, uint64_t pages) {
  uint64_t first = UINT64_MAX;
  pthread_mutex_lock(&pieces->lock);
  extent *e = pieces->extents;
  for (; e != NULL; e = e->next)
    if (e->longest >= pages && (first = find(e, pages)) != UINT64_MAX) break;
  if (e == NULL && (e = add_extent(pieces, pages)) != NULL) first = 0;
  if (e != NULL) mark(e, first, pages, true);
  pthread_mutex_unlock(&pieces->lock);
  return e == NULL ? NULL : e->base + first * TS_PAGE;
}

static void give_back_pages(ts_pieces *pieces, unsigned char *base, uint64_t pages) {
  TS_POISON(base, pages * TS_PAGE);
  madvise(base, pages * TS_PAGE, MADV_DONTNEED);
  pthread_mutex_lock(&pieces->lock);
  extent *e = pieces->extents;
  while (base < e->base || base >= e->base + e->pages * TS_PAGE) e = e->next;
  mark(e, (uint64_t)(base - e->base) / TS_PAGE, pages, false);
  e->longest = e->pages; /* nobody knows */
  pthread_mutex_unlock(&pieces->lock);
}

static uint64_t pages_of(uint64_t bytes) { return (bytes + TS_PAGE - 1 + TS_BETWEEN) / TS_PAGE; }

void *ts_piece_take(ts_pieces *pieces, uint64_t bytes) {
  const uint64_t rounded = TS_ROUND_UP(TS_MAX(bytes, 1u), 64u);
  void *piece = bytes < TS_PAGE ? aligned_alloc(64, rounded) : take_pages(pieces, pages_of(bytes));
  if (piece == NULL) return NULL;
  if (bytes < TS_PAGE) {
    memset(piece, 0, rounded);
    TS_POISON(piece, rounded);
  }
  TS_UNPOISON(piece, bytes);
  return piece;
}

void ts_piece_give_back(ts_pieces *pieces, void *piece, uint64_t bytes) {
  if (piece == NULL) return;
  if (bytes < TS_PAGE)
    free(piece);
  else
    give_back_pages(pieces, piece, pages_of(bytes));
}
