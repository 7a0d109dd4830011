/* memory_mode.c - PMEM behind a direct-mapped DRAM cache of 64-byte lines, as Memory Mode has it: one tag per cache
 * line, fed with row accesses only. It knows neither the index nor the dense layers nor the CPU caches, so its figures
 * are good for ratios between configurations and are not calibrated on hardware.
 *
 * Placement: a process sees virtual pages; the cache is indexed by physical addresses, which the kernel hands out page
 * by page. A seeded mix of the virtual page number stands for that: a page goes to one place in the cache, its 64 lines
 * keep their order inside it, and the same seed and addresses give the same conflicts.
 *
 * State machine of a line (as published for Cascade Lake, media file of the model): read hit; miss with a clean or an
 * empty victim: fill from PMEM; miss with a dirty victim: write back, then fill; a write makes the line dirty, and a
 * write miss allocates like a read miss.
 *
 * A state is one 32-bit word: valid bit, dirty bit, 30 bits of the mixed page number. Two pages of one place differ in
 * these bits but for one pair in 2^30. Threads race on words without locks: a lost update miscounts one line. */
#include "emulation/emulation.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#define PAGE_BITS 12u
#define LINE_BITS 6u
#define LINES_IN_PAGE (1u << (PAGE_BITS - LINE_BITS))
#define VALID 1u
#define DIRTY 2u

struct ts_memory_mode {
  ts_medium medium;
  uint64_t cache_bytes, pages, seed;
  uint32_t granule_bits;
  _Atomic uint32_t *lines;
};

int32_t ts_memory_mode_create(const ts_config *config, ts_memory_mode **out, ts_err err) {
  *out = NULL;
  if (config == NULL) return TS_OK;
  ts_config_reader reader = ts_config_read(config, "Memory Mode model", err);
  ts_config_ignore_others(&reader, "memory_mode.");
  if (!ts_config_has(config, "memory_mode.medium")) return ts_config_finish(&reader);
  ts_memory_mode *mode = calloc(1, sizeof *mode);
  if (mode == NULL) return ts_fail(err, TS_ENOMEM, "Cannot open Memory Mode model: out of memory");
  uint32_t ops = TS_MEDIA_OP_BIT(TS_MEDIA_READ) | TS_MEDIA_OP_BIT(TS_MEDIA_WRITE_CACHED);
  int32_t status = ts_medium_read(&reader, "memory_mode", ops, &mode->medium);
  /* At least one page, at most what 32 bits of page index hold (16 TiB). */
  mode->cache_bytes = ts_config_u64(&reader, "memory_mode.cache_bytes", 0, 1u << PAGE_BITS, UINT64_C(1) << 44);
  mode->seed = ts_mix64(ts_config_u64(&reader, "memory_mode.seed", 0, 0, UINT64_MAX) + 0x9e3779b97f4a7c15u);
  if (status == TS_OK) status = ts_config_finish(&reader);
  if (status == TS_OK && mode->cache_bytes == 0)
    status = ts_fail(err, TS_EINVAL, "Cannot open Memory Mode model: option \"memory_mode.cache_bytes\" is missing");
  if (status == TS_OK) {
    mode->pages = mode->cache_bytes >> PAGE_BITS;
    for (uint32_t g = mode->medium.granule; g > 1; g >>= 1) mode->granule_bits++;
    mode->lines = calloc(mode->pages * LINES_IN_PAGE, sizeof *mode->lines);
    if (mode->lines == NULL)
      status = ts_fail(err, TS_ENOMEM, "Cannot open Memory Mode model: no memory for the tags of %llu cache lines",
                       (unsigned long long)(mode->pages * LINES_IN_PAGE));
  }
  if (status != TS_OK) {
    free(mode);
    return status;
  }
  *out = mode;
  return TS_OK;
}

void ts_memory_mode_destroy(ts_memory_mode *mode) {
  if (mode == NULL) return;
  free(mode->lines);
  free(mode);
}

const char *ts_memory_mode_medium(const ts_memory_mode *mode) { return mode == NULL ? "" : mode->medium.name; }

uint64_t ts_memory_mode_cache_bytes(const ts_memory_mode *mode) { return mode == NULL ? 0 : mode->cache_bytes; }

void ts_memory_mode_access(ts_memory_mode *mode, uintptr_t address, uint32_t bytes, bool write,
                           ts_memory_mode_count *count) {
  if (bytes == 0) return;
  uint64_t line = (uint64_t)address >> LINE_BITS;
  uint64_t last = ((uint64_t)address + bytes - 1) >> LINE_BITS;
  uint64_t page = UINT64_MAX, filled = UINT64_MAX;
  uint32_t tag = 0, dirty = write ? DIRTY : 0;
  _Atomic uint32_t *place = NULL;
  for (; line <= last; line++) {
    if (line / LINES_IN_PAGE != page) {
      page = line / LINES_IN_PAGE;
      uint64_t mixed = ts_mix64(page ^ mode->seed);
      /* The upper half chooses the place, the lower half is the tag. */
      place = mode->lines + ((mixed >> 32) * mode->pages >> 32) * LINES_IN_PAGE;
      tag = (uint32_t)mixed << 2 | VALID;
    }
    _Atomic uint32_t *word = place + line % LINES_IN_PAGE;
    uint32_t old = atomic_load_explicit(word, memory_order_relaxed);
    if (TS_LIKELY((old & ~DIRTY) == tag)) {
      count->hits++;
      if (dirty != 0 && (old & DIRTY) == 0) atomic_store_explicit(word, tag | dirty, memory_order_relaxed);
      continue;
    }
    if ((old & DIRTY) != 0) count->dirty_misses++;
    else count->clean_misses++;
    uint64_t granule = (line << LINE_BITS) >> mode->granule_bits;
    if (granule != filled) count->fills++;
    filled = granule;
    atomic_store_explicit(word, tag | dirty, memory_order_relaxed);
  }
}

/* A miss waits for its line: the first of a granule at full latency, others of it at the latency of a buffered line.
 * Write-backs are posted, nobody waits for them, but they take the medium's time: line by line, as cached stores do. */
uint64_t ts_memory_mode_cost_ns(const ts_memory_mode *mode, const ts_memory_mode_count *count) {
  uint64_t misses = count->clean_misses + count->dirty_misses;
  if (mode == NULL || misses == 0) return 0;
  const ts_medium *m = &mode->medium;
  /* A fill brings the lines of one granule that missed; as many as they are on average. */
  uint64_t fills = TS_MAX(1, TS_MIN(count->fills, misses));
  uint32_t lines = (uint32_t)TS_MIN((misses + fills / 2) / fills, m->granule / TS_CACHE_LINE);
  ts_media_access fill = {.op = TS_MEDIA_READ, .bytes = TS_MAX(1, lines) * TS_CACHE_LINE, .threads = m->threads, .prefetch = true};
  ts_media_access back = {.op = TS_MEDIA_WRITE_CACHED, .bytes = TS_CACHE_LINE, .threads = m->threads, .prefetch = true};
  double alone = (double)ts_medium_batch_ps(m, &fill, fills) / 1000;
  double share = 1e9 / ts_medium_capacity(m, &fill) * fill.bytes * (double)fills * m->threads;
  double writes = 1e9 / ts_medium_capacity(m, &back) * back.bytes * (double)count->dirty_misses * m->threads;
  return (uint64_t)(ts_medium_shared_ns(m, alone, share, writes) + 0.5);
}
