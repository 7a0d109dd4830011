/* dram.c - rows in memory that the kernel hands out: one reserved address range, touched as rows come, with transparent huge
 * pages asked for where the tier is large enough; the rest of the last one is charged as slack. Three tiers are made of it:
 * DRAM, on any node, on one, or interleaved over several; and PMEM_MBIND and HBM_MBIND: PMEM, CXL memory or HBM that is
 * system memory of NUMA nodes, bound to these by mbind(2), without a library. To the CPU that is plain memory, so rows are
 * copied into it. */
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
  ts_numa numa;
} dram;

#define SAMPLED 512u /* pages that are asked where they lie */

static void dram_close(ts_tier *tier) {
  dram *d = tier->state;
  ts_arena_destroy(d->arena);
  if (d->mapped != NULL) munmap(d->mapped, d->bytes + TS_HUGE_PAGE);
  free(d);
  tier->state = NULL;
}

static int32_t open_on(ts_tier *tier, uint64_t bytes, const ts_numa *numa, ts_err err) {
  const char *type = tier->ops->type;
  dram *d = calloc(1, sizeof *d);
  if (d == NULL) return ts_fail(err, TS_ENOMEM, "Cannot open the %s tier: out of memory", type);
  tier->state = d;
  d->bytes = TS_ROUND_UP(bytes, TS_HUGE_PAGE);
  void *base = mmap(NULL, d->bytes + TS_HUGE_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (base == MAP_FAILED) {
    int32_t status = ts_fail(err, TS_ENOMEM, "Cannot reserve %llu bytes for the %s tier: %s; choose a smaller size",
                             (unsigned long long)bytes, type, strerror(errno));
    dram_close(tier);
    return status;
  }
  d->mapped = base;
  d->base = base = (void *)TS_ROUND_UP((uintptr_t)base, TS_HUGE_PAGE);
  d->numa = *numa;
  d->huge = bytes >= HUGE_FROM;
  if (d->huge) tier->slack = TS_HUGE_PAGE;
  int32_t status = ts_numa_place(numa, base, d->bytes, err);
  if (status == TS_OK)
    status = ts_arena_create(base, d->bytes, d->huge ? TS_ARENA_HUGE : TS_ARENA_PAGES, &d->arena, err);
  if (status != TS_OK) dram_close(tier);
  return status;
}

static int32_t dram_open(ts_tier *tier, uint64_t bytes, const ts_tier_place *place, ts_err err) {
  return open_on(tier, bytes, &place->dram, err);
}

static int32_t open_bound(ts_tier *tier, uint64_t bytes, const ts_numa *nodes, const char *option, ts_err err) {
  if (nodes->policy == TS_NUMA_ANY)
    return ts_fail(err, TS_EINVAL, "Cannot open the mbind tier: option \"%s\" must name the NUMA nodes of its memory", option);
  return open_on(tier, bytes, nodes, err);
}

static int32_t pmem_open(ts_tier *tier, uint64_t bytes, const ts_tier_place *place, ts_err err) {
  return open_bound(tier, bytes, &place->pmem, "pmem_nodes", err);
}

static int32_t hbm_open(ts_tier *tier, uint64_t bytes, const ts_tier_place *place, ts_err err) {
  return open_bound(tier, bytes, &place->hbm, "hbm_nodes", err);
}

static void *dram_take(ts_tier *tier, uint64_t bytes) { return ts_arena_take(((dram *)tier->state)->arena, bytes); }

static void dram_give_back(ts_tier *tier, void *block, uint64_t bytes) {
  ts_arena_give_back(((dram *)tier->state)->arena, block, bytes);
}

static void dram_warm(ts_tier *tier, uint64_t bytes, const _Atomic bool *stop) {
  ts_arena_warm(((dram *)tier->state)->arena, bytes, stop);
}

static void dram_cool(ts_tier *tier) { ts_arena_cool(((dram *)tier->state)->arena); }

static void dram_write(ts_tier *tier, void *to, const void *from, size_t bytes) {
  (void)tier;
  memcpy(to, from, bytes);
}

/* " medium=... nodes_asked=0,2 pages=0:128,2:384": the nodes of the policy if there is one, and where pages of a sample lie. */
static void dram_describe(const ts_tier *tier, ts_text *text) {
  const dram *d = tier->state;
  ts_text_add(text, " medium=%s huge_pages=%s", d->numa.policy == TS_NUMA_BIND ? "node" : "DRAM", d->huge ? "asked" : "no");
  if (d->numa.policy == TS_NUMA_WEIGHTED_INTERLEAVE) ts_text_add(text, " policy=weighted-interleave");
  if (d->numa.policy != TS_NUMA_ANY) {
    ts_text_add(text, " nodes_asked=");
    ts_numa_list(&d->numa, text);
  }
  uint32_t on[TS_NUMA_NODES] = {0};
  ts_numa_pages(d->base, ts_arena_frontier(d->arena), SAMPLED, on);
  ts_numa_describe_pages(on, text);
}

/* They differ in their nodes alone. */
#define TIER_OF_PAGES(type_, place_, open_)                                                                   \
  {                                                                                                           \
    .type = type_, .place = place_, .write_op = TS_MEDIA_WRITE_CACHED, .open = open_, .close = dram_close,    \
    .take = dram_take, .give_back = dram_give_back, .warm = dram_warm, .cool = dram_cool, .write = dram_write, \
    .describe = dram_describe                                                                                 \
  }

const ts_tier_ops ts_dram_tier = TIER_OF_PAGES("DRAM", "DRAM", dram_open);
const ts_tier_ops ts_pmem_mbind_tier = TIER_OF_PAGES("PMEM_MBIND", "PMEM", pmem_open);
const ts_tier_ops ts_hbm_mbind_tier = TIER_OF_PAGES("HBM_MBIND", "HBM", hbm_open);
