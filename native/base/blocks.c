/* blocks.c - see blocks.h for the idea. New blocks are cut from the last extent, which is address space: the system gives
 * it memory where blocks are used. Blocks that came back wait in a list beside them; those used last are kept with their
 * memory and taken first, the memory of the others goes back to the system at once, so that what is held and not taken
 * stays below the limit that the owner has charged. Huge pages, whose unused part is held too, are asked for where the
 * limit has room for that, and only in extents without holes. Extents go back at the end. */
#include "base/blocks.h"

#include "base/poison.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define HUGE_PAGE (UINT64_C(2) << 20)
#define FIRST_BLOCKS 8u
#define EXTENT_SHARE 16u
#define MOST_EXTENT (UINT64_C(64) << 20)

typedef struct extent {
  unsigned char *base;
  uint64_t bytes;
  uint64_t holes; /* blocks without memory */
} extent;

struct ts_blocks {
  pthread_mutex_t lock;
  uint64_t block_bytes; /* with what is between two */
  int node;
  bool huge;
  uint64_t most_kept; /* idle blocks with their memory */
  unsigned char **idle; /* [blocks of all extents]: used last at the end */
  uint64_t idle_count, gone; /* the first `gone` of them have no memory */
  unsigned char *fresh; /* of the last extent: blocks that nobody had yet */
  uint64_t fresh_blocks;
  extent *extents;
  uint32_t count, capacity;
  uint64_t total, taken; /* bytes */
  ts_pieces *pieces;
};

static bool add_extent(ts_blocks *blocks) {
  if (blocks->count == blocks->capacity) {
    uint32_t capacity = blocks->capacity == 0 ? 16 : 2 * blocks->capacity;
    extent *more = realloc(blocks->extents, capacity * sizeof *more);
    if (more == NULL) return false;
    blocks->extents = more;
    blocks->capacity = capacity;
  }
  /* Doubling up to the first huge page, then by shares in whole huge pages. */
  uint64_t least = TS_ROUND_UP(FIRST_BLOCKS * blocks->block_bytes, (uint64_t)sysconf(_SC_PAGESIZE));
  uint64_t bytes = TS_MAX(least, TS_MIN(blocks->total, HUGE_PAGE));
  if (blocks->total >= HUGE_PAGE) {
    uint64_t share = TS_MIN(blocks->total / EXTENT_SHARE, MOST_EXTENT) / HUGE_PAGE * HUGE_PAGE;
    bytes = TS_MAX(share, TS_ROUND_UP(least, HUGE_PAGE));
  }
  /* A place for each of its blocks to be idle in, so that giving one back cannot fail. */
  unsigned char **idle = realloc(blocks->idle, (blocks->total + bytes) / blocks->block_bytes * sizeof *idle);
  if (idle == NULL) return false;
  blocks->idle = idle;
  unsigned char *base = ts_pages_map(bytes, blocks->node, blocks->huge);
  if (base == NULL && bytes > least) base = ts_pages_map(bytes = least, blocks->node, blocks->huge);
  if (base == NULL) return false;
  TS_POISON(base, bytes);
  blocks->extents[blocks->count++] = (extent){.base = base, .bytes = bytes};
  blocks->total += bytes;
  blocks->fresh = base;
  blocks->fresh_blocks = bytes / blocks->block_bytes;
  return true;
}

int32_t ts_blocks_create(uint64_t block_bytes, uint64_t most_slack, int node, ts_blocks **out) {
  ts_blocks *blocks = calloc(1, sizeof *blocks);
  ts_pieces *pieces = ts_pieces_create(node);
  if (blocks == NULL || pieces == NULL) {
    free(blocks);
    ts_pieces_destroy(pieces);
    return TS_ENOMEM;
  }
  blocks->pieces = pieces;
  blocks->block_bytes = TS_ROUND_UP(block_bytes, 4096u) + TS_BETWEEN;
  /* Half for the rest of a huge page, half for blocks that come back. */
  blocks->huge = most_slack >= 2 * HUGE_PAGE;
  blocks->most_kept = (blocks->huge ? most_slack - HUGE_PAGE : most_slack) / blocks->block_bytes;
  blocks->node = node;
  pthread_mutex_init(&blocks->lock, NULL);
  if (node >= 0) { /* a node that is not there shows now, not when memory is needed */
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    unsigned char *trial = ts_pages_map(page, node, false);
    if (trial == NULL) {
      ts_blocks_destroy(blocks);
      return TS_ENOMEM;
    }
    munmap(trial, page);
  }
  *out = blocks;
  return TS_OK;
}

void ts_blocks_destroy(ts_blocks *blocks) {
  if (blocks == NULL) return;
  for (uint32_t i = 0; i < blocks->count; i++) {
    TS_UNPOISON(blocks->extents[i].base, blocks->extents[i].bytes);
    munmap(blocks->extents[i].base, blocks->extents[i].bytes);
  }
  free(blocks->extents);
  free(blocks->idle);
  ts_pieces_destroy(blocks->pieces);
  pthread_mutex_destroy(&blocks->lock);
  free(blocks);
}

ts_pieces *ts_blocks_pieces(ts_blocks *blocks) { return blocks->pieces; }

/* A block of the extent loses its memory, or gets it back. While one has none the kernel may make no huge pages there: it
 * would fill the hole. */
static void change_holes(ts_blocks *blocks, const unsigned char *block, bool hole) {
  extent *e = blocks->extents;
  while (block < e->base || block >= e->base + e->bytes) e++;
  if (hole ? e->holes++ == 0 : --e->holes == 0)
    if (blocks->huge && e->bytes >= HUGE_PAGE) madvise(e->base, e->bytes, hole ? MADV_NOHUGEPAGE : MADV_HUGEPAGE);
}

void *ts_blocks_take(ts_blocks *blocks) {
  void *block = NULL;
  pthread_mutex_lock(&blocks->lock);
  if (blocks->idle_count > 0) {
    block = blocks->idle[--blocks->idle_count];
    if (blocks->gone > blocks->idle_count) {
      blocks->gone--;
      change_holes(blocks, block, false);
    }
  } else if (blocks->fresh_blocks > 0 || add_extent(blocks)) {
    block = blocks->fresh;
    blocks->fresh += blocks->block_bytes;
    blocks->fresh_blocks--;
  }
  if (block != NULL) {
    TS_UNPOISON(block, blocks->block_bytes - TS_BETWEEN);
    blocks->taken += blocks->block_bytes;
  }
  pthread_mutex_unlock(&blocks->lock);
  return block;
}

void ts_blocks_give_back(ts_blocks *blocks, void *block) {
  if (block == NULL) return;
  pthread_mutex_lock(&blocks->lock);
  TS_POISON(block, blocks->block_bytes);
  blocks->idle[blocks->idle_count++] = block;
  blocks->taken -= blocks->block_bytes;
  while (blocks->idle_count - blocks->gone > blocks->most_kept) {
    unsigned char *least = blocks->idle[blocks->gone++];
    change_holes(blocks, least, true);
    madvise(least, blocks->block_bytes, MADV_DONTNEED);
  }
  pthread_mutex_unlock(&blocks->lock);
}

uint64_t ts_blocks_slack(ts_blocks *blocks) {
  pthread_mutex_lock(&blocks->lock);
  uint64_t slack = (blocks->idle_count - blocks->gone) * blocks->block_bytes;
  /* The page that is begun. */
  if (blocks->huge)
    slack += TS_MIN((HUGE_PAGE - (uintptr_t)blocks->fresh % HUGE_PAGE) % HUGE_PAGE,
                    blocks->fresh_blocks * blocks->block_bytes);
  pthread_mutex_unlock(&blocks->lock);
  return slack;
}
