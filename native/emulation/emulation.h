/* emulation.h - slowing a fast medium down to a modelled one, at the grain of a batch.
 *
 * The store does its real accesses (libpmem, memkind), then waits until the time that the media model gives for
 * these accesses has passed: the wait is the difference between model and machine, never negative. A store without
 * emulation holds a NULL pointer and pays one branch a batch.
 *
 * Two models:
 *   - ts_emulation: a medium that rows are read from and written to in place (fsdax, KMEM DAX).
 *   - ts_memory_mode: PMEM behind a direct-mapped DRAM cache of 64-byte lines (Memory Mode), fed with the address of
 *     every row access; it counts hits, clean and dirty misses and gives the time of the misses.
 *
 * Options of ts_store_open, read here:
 *   emulate.medium      name of the media model, for ts_store_describe; absent: no emulation
 *   emulate.threads     threads that share the medium's bandwidth                              (default 1)
 *   emulate.share       share of the accesses that go to the medium, for a DRAM tier whose pages are interleaved with it: the
 *                       mean over all placements of the pages                      (required there, refused elsewhere)
 *   emulate.*           parameters of the medium, as native/media/media.h names them; loads, non-temporal and cached
 *                       stores are required
 *   memory_mode.*       the same of the PMEM behind the cache; loads and cached stores are required
 *   memory_mode.cache_bytes     the DRAM cache, a power of two is not required
 *   memory_mode.seed            page placement: virtual 4 KiB pages are mapped to seeded places in the cache
 *
 * Rows and background moves share one modelled bandwidth: whoever waits says how long the medium itself was busy for it
 * (ts_emulation_done), and takes longer by what the other side kept it busy meanwhile (ts_emulation_shared_ns). The
 * threads of `emulate.threads` are all taken to be busy; background threads come on top of them, as they come.
 */
#ifndef TS_EMULATION_H
#define TS_EMULATION_H

#include "media/media.h"

typedef struct ts_emulation ts_emulation;
typedef struct ts_memory_mode ts_memory_mode;

/* NULL in *out when the options ask for no emulation. Reads the options with its prefix only. */
int32_t ts_emulation_create(const ts_config *config, ts_emulation **out, ts_err err);
void ts_emulation_destroy(ts_emulation *emulation);
const char *ts_emulation_medium(const ts_emulation *emulation);
/* Share of the tier's accesses that go to the medium: counts below are of the tier, costs of that share of them. */
double ts_emulation_share(const ts_emulation *emulation);
/* Modelled time in ns of `count` independent random accesses of `bytes` each by one of the threads. */
uint64_t ts_emulation_cost_ns(const ts_emulation *emulation, ts_media_op op, uint32_t bytes, uint64_t count);

typedef enum ts_emulation_side { TS_EMULATION_CALLS, TS_EMULATION_BACKGROUND, TS_EMULATION_SIDES } ts_emulation_side;
/* What one side did: time alone, and how long the medium was busy with it, for its share of the bandwidth and in all. */
typedef struct ts_emulation_work {
  double alone_ns, share_ns, busy_ns;
} ts_emulation_work;
/* Adds accesses. A call is one of the threads, a background move comes on top of them. */
void ts_emulation_add(const ts_emulation *emulation, ts_emulation_side side, ts_media_op op, uint32_t bytes,
                      uint64_t count, ts_emulation_work *work);
/* Busy time of the medium, ns, that the other side was counted for so far; only differences mean something. */
uint64_t ts_emulation_others(const ts_emulation *emulation, ts_emulation_side side);
void ts_emulation_done(ts_emulation *emulation, ts_emulation_side side, const ts_emulation_work *work);
/* Time of the work when the other side kept the medium busy for `others` ns meanwhile. */
uint64_t ts_emulation_shared_ns(const ts_emulation *emulation, const ts_emulation_work *work, uint64_t others);

int32_t ts_memory_mode_create(const ts_config *config, ts_memory_mode **out, ts_err err);
void ts_memory_mode_destroy(ts_memory_mode *mode);
const char *ts_memory_mode_medium(const ts_memory_mode *mode);
uint64_t ts_memory_mode_cache_bytes(const ts_memory_mode *mode);
/* What the accesses of one batch amounted to; the caller zeroes it, adds up over its rows, and waits once. */
typedef struct ts_memory_mode_count {
  uint64_t hits, clean_misses, dirty_misses; /* in cache lines */
  uint64_t fills;                            /* granules read from PMEM: missed lines of one access share them */
} ts_memory_mode_count;
/* One row access: `bytes` at virtual address `address`. Safe from several threads; counts are then approximate. */
void ts_memory_mode_access(ts_memory_mode *mode, uintptr_t address, uint32_t bytes, bool write,
                           ts_memory_mode_count *count);
/* Extra time in ns over DRAM hits of the counted misses (fill from PMEM, write-back of dirty victims). */
uint64_t ts_memory_mode_cost_ns(const ts_memory_mode *mode, const ts_memory_mode_count *count);

#endif
