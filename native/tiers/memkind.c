/* memkind.c - rows on NUMA nodes that memkind chooses, by one of its kinds. Two tiers: PMEM_MEMKIND, a node without CPUs (PMEM
 * or CXL memory as system RAM, KMEM DAX), and HBM_MEMKIND, a node of high bandwidth, which memkind finds by hwloc: more than
 * 200 GB/s by the firmware's HMAT (or than MEMKIND_HBW_THRESHOLD of the environment, in MB/s). Either kind binds pages to the
 * nearest such node, or to those that a variable of the environment names, and to no other. Rows are written with ordinary
 * cached stores: to the CPU this is plain memory.
 *
 * memkind itself knows no limit; the store's byte limit holds. It keeps what is freed for a while, so it is asked for large
 * ranges as they are needed, whose pages this tier gives back itself. */
#include "tiers/tier.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

typedef struct memkind *memkind_t;

#define RANGE_SHARE 16u /* of the tier in a range */
#define MOST_RANGES 64u
#define SAMPLED 512u /* pages of a range that are asked where they lie */

/* Address space that memkind has bound. */
typedef struct space {
  unsigned char *base;
  uint64_t bytes;
  ts_arena *arena;
} space;

/* How a tier's kind is called, and what brings one. */
typedef struct kind {
  const char *symbol, *variable, *help;
} kind;

static const kind of_pmem = {"MEMKIND_DAX_KMEM", "MEMKIND_DAX_KMEM_NODES",
                             "set up a KMEM DAX node, or name an existing node in that variable"};
static const kind of_hbm = {"MEMKIND_HBW", "MEMKIND_HBW_NODES",
                            "HBM must be memory of a NUMA node of its own with more than 200 GB/s by the firmware's HMAT; or name "
                            "an existing node in that variable"};

typedef struct kmem {
  const kind *of;
  memkind_t kind;
  int (*check)(memkind_t kind);
  int (*memalign)(memkind_t kind, void **out, size_t alignment, size_t bytes);
  void (*release)(memkind_t kind, void *block);
  void (*message)(int error, char *text, size_t cap);
  int (*version)(void);
  int node; /* where the first page landed, -1 unknown */
  pthread_mutex_t lock; /* adding a range */
  uint64_t range_bytes;
  uint32_t count;
  space spaces[MOST_RANGES];
} kmem;

static void memkind_tier_close(ts_tier *tier) {
  kmem *k = tier->state;
  for (uint32_t i = 0; i < k->count; i++) {
    ts_arena_destroy(k->spaces[i].arena);
    madvise(k->spaces[i].base, k->spaces[i].bytes, MADV_DONTNEED);
    k->release(k->kind, k->spaces[i].base);
  }
  pthread_mutex_destroy(&k->lock);
  free(k);
  tier->state = NULL;
}

/* The node that really holds a touched page: move_pages with no target nodes only asks. */
static int node_of(void *page) {
  int status = -1;
  void *pages[1] = {page};
  if (syscall(SYS_move_pages, 0, 1UL, pages, NULL, &status, 0) != 0) return -1;
  return status;
}

static int32_t open_kind(ts_tier *tier, uint64_t bytes, const kind *of, ts_err err) {
  kmem *k = calloc(1, sizeof *k);
  if (k == NULL) return ts_fail(err, TS_ENOMEM, "Cannot open the memkind tier: out of memory");
  pthread_mutex_init(&k->lock, NULL);
  k->of = of;
  k->range_bytes = TS_ROUND_UP(bytes / RANGE_SHARE, TS_HUGE_PAGE);
  tier->state = k;
  static const char *const sonames[] = {"libmemkind.so.0", NULL};
  void *handle;
  memkind_t *found = NULL; /* kinds are exported variables */
  const ts_symbol symbols[] = {
      {of->symbol, (void **)&found},
      {"memkind_check_available", (void **)&k->check},
      {"memkind_posix_memalign", (void **)&k->memalign},
      {"memkind_free", (void **)&k->release},
      {"memkind_error_message", (void **)&k->message},
      {"memkind_get_version", (void **)&k->version},
      {NULL, NULL},
  };
  int32_t status = ts_library_open(sonames, "libmemkind0", &handle, err);
  if (status == TS_OK) status = ts_library_symbols(handle, sonames[0], symbols, err);
  if (status != TS_OK) {
    memkind_tier_close(tier);
    return status;
  }
  k->kind = *found;
  const char *nodes = getenv(of->variable);
  int error = k->check(k->kind);
  if (error != 0) {
    char why[256] = "";
    k->message(error, why, sizeof why);
    status = ts_fail(err, TS_EUNAVAILABLE, "Cannot open the memkind tier: %s is not available (%s; %s is %s%s); %s",
                     of->symbol, why, of->variable, nodes == NULL ? "not set" : "set to ", nodes == NULL ? "" : nodes,
                     of->help);
    memkind_tier_close(tier);
    return status;
  }
  /* One probe block: the node exists and takes pages, and we learn which one it is. */
  void *probe = NULL;
  if (k->memalign(k->kind, &probe, 4096, 4096) != 0 || probe == NULL) {
    memkind_tier_close(tier);
    return ts_fail(err, TS_ENOMEM, "Cannot open the memkind tier: a first block of 4096 bytes of %llu was refused",
                   (unsigned long long)bytes);
  }
  memset(probe, 0, 4096);
  k->node = node_of(probe);
  k->release(k->kind, probe);
  return TS_OK;
}

static int32_t pmem_open(ts_tier *tier, uint64_t bytes, const ts_tier_place *place, ts_err err) {
  (void)place;
  return open_kind(tier, bytes, &of_pmem, err);
}

static int32_t hbm_open(ts_tier *tier, uint64_t bytes, const ts_tier_place *place, ts_err err) {
  (void)place;
  return open_kind(tier, bytes, &of_hbm, err);
}

/* A range more, that has room for so many bytes. */
static bool add_space(kmem *k, uint64_t bytes) {
  void *base = NULL;
  uint64_t length = TS_MAX(k->range_bytes, TS_ROUND_UP(bytes, TS_HUGE_PAGE));
  if (k->count == MOST_RANGES) return false;
  if (k->memalign(k->kind, &base, 4096, length) != 0) {
    length = TS_ROUND_UP(bytes, TS_HUGE_PAGE);
    if (k->memalign(k->kind, &base, 4096, length) != 0) return false;
  }
  space *s = &k->spaces[k->count];
  *s = (space){.base = base, .bytes = length};
  if (ts_arena_create(base, length, TS_ARENA_PAGES, &s->arena, (ts_err){0}) != TS_OK) {
    k->release(k->kind, base);
    return false;
  }
  k->count++;
  return true;
}

static void *memkind_tier_take(ts_tier *tier, uint64_t bytes) {
  kmem *k = tier->state;
  void *block = NULL;
  pthread_mutex_lock(&k->lock);
  for (uint32_t i = 0; i < k->count && block == NULL; i++) block = ts_arena_take(k->spaces[i].arena, bytes);
  if (block == NULL && add_space(k, bytes)) block = ts_arena_take(k->spaces[k->count - 1].arena, bytes);
  pthread_mutex_unlock(&k->lock);
  return block;
}

static void memkind_tier_give_back(ts_tier *tier, void *block, uint64_t bytes) {
  kmem *k = tier->state;
  pthread_mutex_lock(&k->lock);
  const space *s = k->spaces;
  while ((unsigned char *)block < s->base || (unsigned char *)block >= s->base + s->bytes) s++;
  ts_arena_give_back(s->arena, block, bytes);
  pthread_mutex_unlock(&k->lock);
}

static void memkind_tier_write(ts_tier *tier, void *to, const void *from, size_t bytes) {
  (void)tier;
  memcpy(to, from, bytes);
}

/* Where pages of rows really lie, of a sample over all ranges. */
static void describe_pages(kmem *k, ts_text *text) {
  uint32_t on[TS_NUMA_NODES] = {0};
  pthread_mutex_lock(&k->lock);
  for (uint32_t i = 0; i < k->count; i++) ts_numa_pages(k->spaces[i].base, k->spaces[i].bytes, SAMPLED, on);
  pthread_mutex_unlock(&k->lock);
  ts_numa_describe_pages(on, text);
}

static void memkind_tier_describe(const ts_tier *tier, ts_text *text) {
  kmem *k = tier->state;
  const char *nodes = getenv(k->of->variable);
  ts_text_add(text, " medium=node node=%d nodes_asked=%s memkind=%d", k->node, nodes == NULL ? "auto" : nodes,
              k->version());
  describe_pages(k, text);
}

/* They differ in their kind alone. */
#define TIER_OF_KIND(type_, place_, open_)                                                                         \
  {                                                                                                                \
    .type = type_, .place = place_, .write_op = TS_MEDIA_WRITE_CACHED, .open = open_, .close = memkind_tier_close, \
    .take = memkind_tier_take, .give_back = memkind_tier_give_back, .write = memkind_tier_write,                   \
    .describe = memkind_tier_describe                                                                              \
  }

const ts_tier_ops ts_pmem_memkind_tier = TIER_OF_KIND("PMEM_MEMKIND", "PMEM", pmem_open);
const ts_tier_ops ts_hbm_memkind_tier = TIER_OF_KIND("HBM_MEMKIND", "HBM", hbm_open);
