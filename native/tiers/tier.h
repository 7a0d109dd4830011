/* tier.h - a place rows live. One file a medium implements this interface; the store above knows no medium.
 *
 * A tier hands out blocks of memory for rows (a few KiB to a few hundred each) and writes whole rows the way its
 * medium likes. It does not limit itself: the store charges its byte limit first (tiers/budget.h). Reads go through
 * the pointer: this interface is for media that are memory to the CPU; the others are in records.h.
 * How to add a tier: docs/architecture.md. */
#ifndef TS_TIER_H
#define TS_TIER_H

#include "base/base.h"
#include "emulation/emulation.h"

typedef struct ts_tier ts_tier;

/* Where a tier's memory is to be; a tier takes what its medium has a choice of. */
typedef struct ts_tier_place {
  const char *path;   /* directory of its files */
  ts_numa dram, pmem, hbm; /* nodes of ordinary memory; of tiers of PMEM and of HBM without a library */
} ts_tier_place;

typedef struct ts_tier_ops {
  const char *type; /* PMEM_LIBPMEM, ... as in storage types */
  const char *place; /* DRAM, PMEM or HBM: the kind of memory, for ts_store_memory */
  ts_media_op write_op; /* how rows are written, for the media model */
  /* Takes what the tier needs for `bytes` of rows in all. */
  int32_t (*open)(ts_tier *tier, uint64_t bytes, const ts_tier_place *place, ts_err err);
  /* Frees it. TS_EIO if something of it stays on a disk. */
  void (*close)(ts_tier *tier);
  /* 64-byte aligned block, or NULL when the medium is exhausted. Thread-safe. */
  void *(*take)(ts_tier *tier, uint64_t bytes);
  void (*give_back)(ts_tier *tier, void *block, uint64_t bytes);
  /* Writes a row. Durable order is not promised: tiers are volatile until checkpoints come. */
  void (*write)(ts_tier *tier, void *to, const void *from, size_t bytes);
  /* Adds "medium=... key=value" facts. */
  void (*describe)(const ts_tier *tier, ts_text *text);
} ts_tier_ops;

struct ts_tier {
  const ts_tier_ops *ops;
  void *state;
  uint64_t slack; /* bytes of memory that it may hold beside what was taken: the rest of a page */
};

extern const ts_tier_ops ts_dram_tier, ts_pmem_libpmem_tier, ts_pmem_memkind_tier, ts_pmem_mbind_tier, ts_hbm_memkind_tier,
    ts_hbm_mbind_tier;

/* ---- arena.c: a contiguous range handed out in blocks, first fit with coalescing ---- */

typedef struct ts_arena ts_arena;
/* Of ordinary memory, whole free pages go back to the system; HUGE asks for huge pages where all has been taken, so that the
 * kernel fills no holes, else there are none. */
typedef enum ts_arena_kind { TS_ARENA_FILE, TS_ARENA_PAGES, TS_ARENA_HUGE } ts_arena_kind;
#define TS_HUGE_PAGE (UINT64_C(2) << 20)
int32_t ts_arena_create(void *base, uint64_t bytes, ts_arena_kind kind, ts_arena **out, ts_err err);
void ts_arena_destroy(ts_arena *arena);
void *ts_arena_take(ts_arena *arena, uint64_t bytes);
void ts_arena_give_back(ts_arena *arena, void *block, uint64_t bytes);
/* Bytes from the beginning that have been taken at some time: nothing beyond was touched. */
uint64_t ts_arena_frontier(ts_arena *arena);

#endif
