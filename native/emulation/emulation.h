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
 *   emulate.in_flight   cache lines a core keeps in flight (Little's law)                      (default 10)
 *   emulate.granule     bytes the medium reads or writes at once (Optane: 256)                 (default 64)
 *   emulate.read_latency_ns                      idle latency of a random load
 *   emulate.read_next_latency_ns    the same for every further line of one access, which the medium has buffered
 *                                   (a sequential load)                             (default read_latency_ns)
 *   emulate.read_bandwidth                       bytes/s of all threads together, granule-sized random loads
 *   emulate.write_nt_latency_ns, .write_nt_bandwidth         non-temporal stores (libpmem copies)
 *   emulate.write_cached_latency_ns, .write_cached_bandwidth ordinary cached stores, written back line by line
 *   emulate.read_in_flight, .write_nt_in_flight, .write_cached_in_flight   by operation           (default in_flight)
 *   emulate.write_nt_next_latency_ns, .write_cached_next_latency_ns        as read_next_latency_ns
 *   memory_mode.medium, .threads, .in_flight, .granule, .read_*, .write_cached_*   the PMEM behind the cache
 *   memory_mode.cache_bytes     the DRAM cache, a power of two is not required
 *   memory_mode.seed            page placement: virtual 4 KiB pages are mapped to seeded places in the cache
 * Latencies and bandwidths are required where a medium is named; options and formulas are in media/media.h.
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
/* Modelled time in ns of `count` independent random accesses of `bytes` each by one of the threads. */
uint64_t ts_emulation_cost_ns(const ts_emulation *emulation, ts_media_op op, uint32_t bytes, uint64_t count);

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
