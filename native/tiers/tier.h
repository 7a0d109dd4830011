/* tier.h - a place rows live. One file a medium implements this interface; the store above knows no medium.
 *
 * A tier hands out blocks of memory for rows (a few KiB to a few hundred each) and writes whole rows the way its
 * medium likes. It does not limit itself: the store charges its byte limit first (tiers/budget.h). Reads go through
 * the pointer: this interface is for media that are memory to the CPU, and for the memory of a device, whose pointers are
 * places that nobody may follow (ts_tier_device_ops); the others are in records.h.
 * How to add a tier: docs/architecture.md. */
#ifndef TS_TIER_H
#define TS_TIER_H

#include "base/base.h"
#include "emulation/emulation.h"

typedef struct ts_tier ts_tier;

/* Where a tier's memory is to be; a tier takes what its medium has a choice of. */
typedef struct ts_tier_place {
  const char *path;   /* directory of its files */
  const char *device; /* part of the name of an OpenCL device, or of its platform's; NULL: a GPU before others */
  uint64_t host_bytes; /* of `bytes`: memory of the host that a device's pool may go on in */
  uint32_t pool_steps; /* a device's pool is sized from so many steps; 0: from `bytes` */
  ts_numa dram, pmem, hbm; /* nodes of ordinary memory; of tiers of PMEM and of HBM without a library */
} ts_tier_place;

struct ts_optimizer;
struct ts_optimizer_call;

/* What went over the link of a device since it was opened. */
typedef struct ts_link_counts {
  uint64_t up_bytes, down_bytes; /* to the device, from it: rows, where they lie, gradients */
  uint64_t transfers;            /* both ways */
  uint64_t host_bytes;           /* of rows that kernels read or wrote in memory of the host */
  uint64_t ns;                   /* wall time of calls that moved or stepped rows there: kernels, and copies at the host's end */
} ts_link_counts;

/* Weights of n rows, `dim` of each, to to + i * stride as floats. */
typedef struct ts_gathering {
  uint32_t n, dim;
  bool widen; /* they are bf16 */
  /* Writes rows[first .. first + m), NULL where there is none, and says how many there are; called once for each, in order. */
  uint32_t (*find)(void *context, uint32_t first, uint32_t m);
  void *context;
  const void *const *rows;
  float *to; /* where rows[i] is NULL, what lies there then means nothing */
  uint64_t stride;
} ts_gathering;

/* Of a tier that is memory of a device, behind a link: rows come and go by these calls alone, many at a time. They are
 * carried out in the order in which they are made, whatever thread makes them; sizes are multiples of 4 bytes. A call
 * that fails has changed no row, but where it says otherwise. Errors: TS_ENOMEM (the device has no memory left), TS_EIO. */
typedef struct ts_tier_device_ops {
  /* `bytes` of rows[i] to to + i * pitch; where rows[i] is NULL, what lies there then means nothing. With places: to
   * to + places[i] * pitch, and of NULL nowhere. */
  int32_t (*read)(ts_tier *tier, uint32_t n, const void *const *rows, uint32_t bytes, void *to, uint64_t pitch,
                  const uint32_t *places, ts_err err);
  /* Weights of a batch, while it is found. */
  int32_t (*gather)(ts_tier *tier, const ts_gathering *gathering, ts_err err);
  /* from[i] to rows[i], which differ. After an error some may be written. */
  int32_t (*write)(ts_tier *tier, uint32_t n, void *const *rows, const unsigned char *const *from, uint32_t bytes, ts_err err);
  /* A row to another place of the tier. */
  int32_t (*copy)(ts_tier *tier, void *to, const void *from, uint32_t bytes, ts_err err);
  /* Whether rows step on the device to the bits that the rule gives on the CPU; tried, on rows of its own. */
  int32_t (*try_steps)(ts_tier *tier, const struct ts_optimizer *optimizer, bool *same, ts_err err);
  /* As ts_optimizer_apply, with the versions of rows; *stepped, also after an error: the first so many have. */
  int32_t (*step)(ts_tier *tier, const struct ts_optimizer *optimizer, const struct ts_optimizer_call *call, uint32_t n,
                  void *const *rows, const float *const *gradients, const int64_t *keys, uint32_t *stepped, ts_err err);
  /* A step of training begins (ts_store_set_step). */
  void (*stepped)(ts_tier *tier, int64_t step);
  /* Whether the device refused memory when a block was last asked for, of a tier that has not all it may have. */
  bool (*refused)(ts_tier *tier);
  void (*count)(ts_tier *tier, ts_link_counts *out);
} ts_tier_device_ops;

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
  /* Both NULL where memory costs nothing the first time. warm: has the pages ready of what take() is to give next, `bytes` of it,
   * until *stop; for a thread beside those that fill the rows. cool: gives those back that nobody took. */
  void (*warm)(ts_tier *tier, uint64_t bytes, const _Atomic bool *stop);
  void (*cool)(ts_tier *tier);
  /* Writes a row; not of a device's memory. Durable order is not promised: tiers are volatile until checkpoints come. */
  void (*write)(ts_tier *tier, void *to, const void *from, size_t bytes);
  /* Adds "medium=... key=value" facts. */
  void (*describe)(const ts_tier *tier, ts_text *text);
  const ts_tier_device_ops *device; /* NULL: the CPU may follow what take() gives */
} ts_tier_ops;

struct ts_tier {
  const ts_tier_ops *ops;
  void *state;
  uint64_t slack; /* bytes of memory that it may hold beside what was taken: the rest of a page */
};

extern const ts_tier_ops ts_dram_tier, ts_pmem_libpmem_tier, ts_pmem_memkind_tier, ts_pmem_mbind_tier, ts_hbm_memkind_tier,
    ts_hbm_mbind_tier, ts_hbm_opencl_tier;

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
/* Makes free what nobody has: of a range that was trimmed. */
void ts_arena_add(ts_arena *arena, uint64_t offset, uint64_t bytes);
/* Takes for good what is free up to offset `end` without a break, from offset `from` on; returns where that begins, `end` if
 * nothing is. */
uint64_t ts_arena_trim(ts_arena *arena, uint64_t from, uint64_t end);
/* Has the kernel give the pages of the `bytes` beyond the frontier, step by step until *stop; as far as it can. */
void ts_arena_warm(ts_arena *arena, uint64_t bytes, const _Atomic bool *stop);
/* Gives back what was warmed and lies beyond the frontier still; after warm has returned. */
void ts_arena_cool(ts_arena *arena);
/* Bytes from the beginning that have been taken at some time: nothing beyond was touched, but by ts_arena_warm. */
uint64_t ts_arena_frontier(ts_arena *arena);

#endif
