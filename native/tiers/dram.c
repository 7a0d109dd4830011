/* dram.c - rows in ordinary memory: one reserved address range, touched as rows come, with transparent huge pages
 * asked for where the tier is large enough; the rest of the last one is charged as slack. */
#include "tiers/tier.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define HUGE_FROM (UINT64_C(64) << 20) /* below, a partly used huge page could be several percent of the limit */

typedef struct dram {
  void *mapped, *base;
  uint64_t bytes;
  ts_arena *arena;
  bool huge;
  int node; /* bound to it, or -1 */
} dram;

static void dram_close(ts_tier *tier) {
  dram *d = tier->state;
  ts_arena_destroy(d->arena);
  if (d->mapped != NULL) munmap(d->mapped, d->bytes + TS_HUGE_PAGE);
  free(d);
  tier->state = NULL;
}

static int32_t dram_open(ts_tier *tier, uint64_t bytes, const char *path, int node, ts_err err) {
  (void)path;
  dram *d = calloc(1, sizeof *d);
  if (d == NULL) return ts_fail(err, TS_ENOMEM, "Cannot open the DRAM tier: out of memory");
  tier->state = d;
  d->bytes = TS_ROUND_UP(bytes, TS_HUGE_PAGE);
  void *base = mmap(NULL, d->bytes + TS_HUGE_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (base == MAP_FAILED) {
    int32_t status = ts_fail(err, TS_ENOMEM, "Cannot reserve %llu bytes for the DRAM tier: %s; choose a smaller size",
                             (unsigned long long)bytes, strerror(errno));
    dram_close(tier);
    return status;
  }
  d->mapped = base;
  d->base = base = (void *)TS_ROUND_UP((uintptr_t)base, TS_HUGE_PAGE);
  if (node >= 0) {
    int32_t bound = ts_bind_memory(base, d->bytes, node, err);
    if (bound != TS_OK) {
      dram_close(tier);
      return bound;
    }
  }
  d->node = node;
  d->huge = bytes >= HUGE_FROM;
  if (d->huge) tier->slack = TS_HUGE_PAGE;
  int32_t status = ts_arena_create(base, d->bytes, d->huge ? TS_ARENA_HUGE : TS_ARENA_PAGES, &d->arena, err);
  if (status != TS_OK) dram_close(tier);
  return status;
}

static void *dram_take(ts_tier *tier, uint64_t bytes) { return ts_arena_take(((dram *)tier->state)->arena, bytes); }

static void dram_give_back(ts_tier *tier, void *block, uint64_t bytes) {
  ts_arena_give_back(((dram *)tier->state)->arena, block, bytes);
}

static void dram_write(ts_tier *tier, void *to, const void *from, size_t bytes) {
  (void)tier;
  memcpy(to, from, bytes);
}

static void dram_describe(const ts_tier *tier, ts_text *text) {
  const dram *d = tier->state;
  ts_text_add(text, " medium=DRAM huge_pages=%s", d->huge ? "asked" : "no");
  if (d->node >= 0) ts_text_add(text, " node=%d", d->node);
}

const ts_tier_ops ts_dram_tier = {
    .type = "DRAM",
    .place = "DRAM",
    .write_op = TS_MEDIA_WRITE_CACHED,
    .open = dram_open,
    .close = dram_close,
    .take = dram_take,
    .give_back = dram_give_back,
    .write = dram_write,
    .describe = dram_describe,
};
