/* blocks.c - see blocks.h for the idea. Blocks that came back wait in a list through their own first words; new ones are
 * cut from the last extent. An extent is a sixteenth of what there is, so that the memory held in advance stays small
 * beside what is used; it is touched only where blocks are used. Extents go back to the system at the end. */
#include "base/blocks.h"

#include <linux/mempolicy.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define HUGE_PAGE (UINT64_C(2) << 20)
#define FIRST_BLOCKS 8u
#define EXTENT_SHARE 16u
#define MOST_EXTENT (UINT64_C(64) << 20)
#define MOST_NODES 1024u

typedef struct extent {
  unsigned char *base;
  uint64_t bytes;
} extent;

typedef struct idle_block {
  struct idle_block *next;
} idle_block;

struct ts_blocks {
  pthread_mutex_t lock;
  uint64_t block_bytes;
  int node;
  idle_block *idle;
  unsigned char *fresh; /* of the last extent: blocks that nobody had yet */
  uint64_t fresh_blocks;
  extent *extents;
  uint32_t count, capacity;
  uint64_t total, taken; /* bytes */
};

static bool bind_to(int node, void *base, uint64_t bytes) {
  if (node < 0) return true;
  unsigned long mask[MOST_NODES / (8 * sizeof(unsigned long))] = {0};
  const unsigned bits = 8 * sizeof *mask;
  if ((unsigned)node >= MOST_NODES) return false;
  mask[(unsigned)node / bits] = 1ul << ((unsigned)node % bits);
  return syscall(SYS_mbind, base, bytes, MPOL_BIND, mask, (unsigned long)MOST_NODES, 0ul) == 0;
}

/* Memory from the system: aligned to huge pages, which are asked for, where it is large enough for one. */
static unsigned char *map(uint64_t bytes, int node) {
  uint64_t align = bytes >= HUGE_PAGE ? HUGE_PAGE : 0;
  unsigned char *base = mmap(NULL, bytes + align, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (base == MAP_FAILED) return NULL;
  if (align > 0) {
    uint64_t before = (align - (uintptr_t)base % align) % align;
    if (before > 0) munmap(base, before);
    base += before;
    if (align > before) munmap(base + bytes, align - before);
    madvise(base, bytes, MADV_HUGEPAGE); /* a hint; works without */
  }
  if (!bind_to(node, base, bytes)) {
    munmap(base, bytes);
    return NULL;
  }
  return base;
}

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
  unsigned char *base = map(bytes, blocks->node);
  if (base == NULL && bytes > least) base = map(bytes = least, blocks->node);
  if (base == NULL) return false;
  blocks->extents[blocks->count++] = (extent){base, bytes};
  blocks->total += bytes;
  blocks->fresh = base;
  blocks->fresh_blocks = bytes / blocks->block_bytes;
  return true;
}

int32_t ts_blocks_create(uint64_t block_bytes, int node, ts_blocks **out) {
  ts_blocks *blocks = calloc(1, sizeof *blocks);
  if (blocks == NULL) return TS_ENOMEM;
  blocks->block_bytes = TS_ROUND_UP(block_bytes, 64u);
  blocks->node = node;
  pthread_mutex_init(&blocks->lock, NULL);
  if (node >= 0) { /* a node that is not there shows now, not when memory is needed */
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    unsigned char *trial = map(page, node);
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
  for (uint32_t i = 0; i < blocks->count; i++) munmap(blocks->extents[i].base, blocks->extents[i].bytes);
  free(blocks->extents);
  pthread_mutex_destroy(&blocks->lock);
  free(blocks);
}

void *ts_blocks_take(ts_blocks *blocks) {
  void *block = NULL;
  pthread_mutex_lock(&blocks->lock);
  if (blocks->idle != NULL) {
    block = blocks->idle;
    blocks->idle = blocks->idle->next;
  } else if (blocks->fresh_blocks > 0 || add_extent(blocks)) {
    block = blocks->fresh;
    blocks->fresh += blocks->block_bytes;
    blocks->fresh_blocks--;
  }
  if (block != NULL) blocks->taken += blocks->block_bytes;
  pthread_mutex_unlock(&blocks->lock);
  return block;
}

void ts_blocks_give_back(ts_blocks *blocks, void *block) {
  if (block == NULL) return;
  pthread_mutex_lock(&blocks->lock);
  idle_block *idle = block;
  idle->next = blocks->idle;
  blocks->idle = idle;
  blocks->taken -= blocks->block_bytes;
  pthread_mutex_unlock(&blocks->lock);
}

uint64_t ts_blocks_slack(ts_blocks *blocks) {
  pthread_mutex_lock(&blocks->lock);
  uint64_t slack = blocks->total - blocks->taken;
  pthread_mutex_unlock(&blocks->lock);
  return slack;
}
