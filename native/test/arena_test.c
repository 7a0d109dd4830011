/* A range of memory handed out in blocks: what is given back leaves memory by whole pages, those that two blocks shared, too,
 * and huge pages bring nothing back. */
#include "test/check.h"
#include "tiers/tier.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define BYTES (UINT64_C(48) << 20)
#define BLOCK (UINT64_C(32) << 10)
#define BLOCKS (BYTES / BLOCK)
#define KEPT 64u /* one block in so many stays */
#ifndef MADV_COLLAPSE /* Linux 6.1 */
#define MADV_COLLAPSE 25
#endif

static unsigned char *range(void) {
  const uintptr_t base = (uintptr_t)mmap(NULL, BYTES + TS_HUGE_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return (unsigned char *)TS_ROUND_UP(base, TS_HUGE_PAGE);
}

/* Bytes of the range that are in memory. */
static uint64_t held_in(unsigned char *base) {
  static unsigned char resident[BYTES / 4096];
  uint64_t held = 0;
  CHECK(mincore(base, BYTES, resident) == 0);
  for (uint64_t p = 0; p < sizeof resident; p++) held += (resident[p] & 1u) * UINT64_C(4096);
  return held;
}

static void collapse_all(unsigned char *base) {
  for (uint64_t at = 0; at < BYTES; at += TS_HUGE_PAGE) madvise(base + at, TS_HUGE_PAGE, MADV_COLLAPSE);
}

static void pages_that_blocks_share_go_with_the_last(void) {
  unsigned char *base = range(), *blocks[100];
  ts_arena *arena = NULL;
  CHECK(ts_arena_create(base, BYTES, TS_ARENA_PAGES, &arena, (ts_err){0}) == TS_OK);
  for (uint32_t order = 0; order < 3; order++) {
    for (uint32_t i = 0; i < 100; i++) memset(blocks[i] = ts_arena_take(arena, 6000), 1, 6000);
    CHECK(held_in(base) >= 600000);
    for (uint32_t i = 0; i < 100; i++) {
      const uint32_t which = order == 0 ? i : order == 1 ? 99 - i : (i * 37) % 100;
      ts_arena_give_back(arena, blocks[which], 6000);
    }
    CHECK_MSG(held_in(base) == 0, "order %u: %llu bytes are held", order, (unsigned long long)held_in(base));
  }
  ts_arena_destroy(arena);
  munmap(base, BYTES);
}

static void huge_pages_fill_no_holes(void) {
  unsigned char *base = range();
  static unsigned char *blocks[BLOCKS];
  ts_arena *arena = NULL;
  CHECK(ts_arena_create(base, BYTES, TS_ARENA_HUGE, &arena, (ts_err){0}) == TS_OK);
  for (uint64_t i = 0; i < BLOCKS; i++) memset(blocks[i] = ts_arena_take(arena, BLOCK), 1, BLOCK);
  /* A kernel without huge pages, or without this call (before Linux 6.1), shows nothing. */
  const bool can = madvise(base, TS_HUGE_PAGE, MADV_COLLAPSE) == 0;
  for (uint64_t i = 0; i < BLOCKS; i++)
    if (i % KEPT != 0) ts_arena_give_back(arena, blocks[i], BLOCK);
  collapse_all(base);
  CHECK_MSG(held_in(base) == BYTES / KEPT, "%llu bytes are held", (unsigned long long)held_in(base));
  /* A block in the midst of nothing takes no more than it has. */
  unsigned char *one = ts_arena_take(arena, BLOCK);
  memset(one, 1, BLOCK);
  CHECK_MSG(held_in(base) == BYTES / KEPT + BLOCK, "%llu bytes are held", (unsigned long long)held_in(base));
  /* All is taken again: then huge pages are right. */
  for (uint64_t i = 1; i < BLOCKS - BLOCKS / KEPT; i++) memset(ts_arena_take(arena, BLOCK), 1, BLOCK);
  CHECK(ts_arena_take(arena, BLOCK) == NULL);
  CHECK(!can || madvise(base, TS_HUGE_PAGE, MADV_COLLAPSE) == 0);
  ts_arena_destroy(arena);
  munmap(base, BYTES);
  if (!can) printf("skipped: holes beside huge pages (the kernel makes none when asked)\n");
}

/* What is free at an end goes for good until it is given back; what is taken stays where it is. */
static void the_free_end_can_be_trimmed(void) {
  unsigned char *base = range();
  ts_arena *arena = NULL;
  CHECK(ts_arena_create(base, 1024, TS_ARENA_FILE, &arena, (ts_err){0}) == TS_OK);
  CHECK(ts_arena_take(arena, 256) == base);
  CHECK(ts_arena_trim(arena, 512, 1024) == 512 && ts_arena_trim(arena, 0, 512) == 256 && ts_arena_trim(arena, 0, 256) == 256);
  CHECK(ts_arena_take(arena, 64) == NULL);
  ts_arena_add(arena, 512, 512);
  CHECK(ts_arena_take(arena, 512) == base + 512 && ts_arena_take(arena, 64) == NULL);
  ts_arena_give_back(arena, base, 256);
  CHECK(ts_arena_trim(arena, 0, 1024) == 1024); /* its end is taken */
  CHECK(ts_arena_take(arena, 256) == base);
  ts_arena_destroy(arena);
  munmap(base, BYTES);
}

static void warmed_pages_are_there_and_go_where_nobody_took_them(void) {
  const _Atomic bool go_on = false, stop = true;
  for (int kind = TS_ARENA_FILE; kind <= TS_ARENA_HUGE; kind++) {
    unsigned char *base = range();
    ts_arena *arena = NULL;
    CHECK(ts_arena_create(base, BYTES, (ts_arena_kind)kind, &arena, (ts_err){0}) == TS_OK);
    memset(ts_arena_take(arena, BLOCK), 1, BLOCK);
    const uint64_t before = held_in(base);
    ts_arena_warm(arena, 4 * TS_HUGE_PAGE, &stop);
    CHECK(held_in(base) == before);
    ts_arena_warm(arena, 4 * TS_HUGE_PAGE, &go_on);
    const uint64_t warmed = held_in(base);
    CHECK_MSG(warmed == before + (kind == TS_ARENA_FILE ? 0 : 4 * TS_HUGE_PAGE), "kind %d: %llu bytes are held", kind, (unsigned long long)warmed);
    for (uint64_t i = 1; i < 2 * TS_HUGE_PAGE / BLOCK; i++) memset(ts_arena_take(arena, BLOCK), 1, BLOCK);
    ts_arena_cool(arena);
    CHECK_MSG(held_in(base) == 2 * TS_HUGE_PAGE, "kind %d: %llu bytes are held", kind, (unsigned long long)held_in(base));
    for (uint64_t i = 0; i < 2 * TS_HUGE_PAGE; i++) CHECK(base[i] == 1);
    ts_arena_warm(arena, 2 * BYTES, &go_on); /* more than there is */
    CHECK(held_in(base) == (kind == TS_ARENA_FILE ? 2 * TS_HUGE_PAGE : BYTES));
    ts_arena_cool(arena);
    CHECK(held_in(base) == 2 * TS_HUGE_PAGE);
    ts_arena_destroy(arena);
    munmap(base, BYTES);
  }
}

int main(void) {
  warmed_pages_are_there_and_go_where_nobody_took_them();
  the_free_end_can_be_trimmed();
  pages_that_blocks_share_go_with_the_last();
  huge_pages_fill_no_holes();
  return test_result();
}
