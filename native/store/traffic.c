/* traffic.c - what an emulated medium costs over the real one. Each call counts its accesses to the medium and how long
 * the machine took for them, and waits once for what the model's time exceeds that. A build with TS_WITHOUT_EMULATION
 * leaves all of it out, to show what it costs when it is off. */
#include "store/store.h"

#include <string.h>

/* The CPU's time stamp: a call of the clock would cost as much as the access that is timed. */
static inline uint64_t ticks_now(void) {
#if defined(__x86_64__)
  return __builtin_ia32_rdtsc();
#else
  return ts_now_ns();
#endif
}

#ifdef TS_WITHOUT_EMULATION
#define EMULATION(t) ((void)(t), (const ts_emulation *)NULL)
#define MEMORY_MODE(store) ((ts_memory_mode *)NULL)
#else
#define EMULATION(t) ((const ts_emulation *)(t)->emulation)
#define MEMORY_MODE(store) ((store)->memory_mode)
#endif

uint32_t ts_traffic_tier(const ts_store *store) {
  for (uint32_t t = 0; t < store->memory_tiers; t++)
    if (EMULATION(&store->tiers[t]) != NULL) return t;
  return UINT32_MAX;
}

void ts_traffic_begin(const ts_store *store, ts_traffic *traffic) {
  *traffic = (ts_traffic){0};
  if (ts_traffic_tier(store) == UINT32_MAX) return;
  traffic->start = ts_now_ns();
  traffic->start_ticks = ticks_now();
  traffic->others = ts_emulation_others(EMULATION(&store->tiers[ts_traffic_tier(store)]), TS_EMULATION_CALLS);
}

void ts_traffic_in_background(const ts_store *store, ts_traffic *traffic) {
  uint32_t tier = ts_traffic_tier(store);
  if (tier == UINT32_MAX) return;
  traffic->background = true;
  traffic->others = ts_emulation_others(EMULATION(&store->tiers[tier]), TS_EMULATION_BACKGROUND);
}

void ts_traffic_write(ts_shard *shard, uint32_t tier, uint64_t row, const void *from, ts_traffic *traffic) {
  ts_rows *rows = &shard->rows[tier];
  if (tier > 0) ts_count(shard->table, TS_STAT_tier1_written + (tier - 1), rows->stride);
  if (EMULATION(&shard->table->store->tiers[tier]) == NULL) {
    rows->tier->ops->write(rows->tier, ts_rows_at(rows, row), from, rows->stride);
    return;
  }
  uint64_t start = ticks_now();
  rows->tier->ops->write(rows->tier, ts_rows_at(rows, row), from, rows->stride);
  traffic->ticks += ticks_now() - start;
  traffic->writes++;
}

void ts_traffic_read(ts_shard *shard, uint32_t tier, uint64_t row, void *to, ts_traffic *traffic) {
  ts_rows *rows = &shard->rows[tier];
  if (EMULATION(&shard->table->store->tiers[tier]) == NULL) {
    memcpy(to, ts_rows_at(rows, row), rows->stride);
    return;
  }
  uint64_t start = ticks_now();
  memcpy(to, ts_rows_at(rows, row), rows->stride);
  traffic->ticks += ticks_now() - start;
  traffic->reads++;
}

static void wait_ns(ts_table *table, uint64_t from, uint64_t ns) {
  if (ns == 0) return;
  ts_spin_until(from + ns);
  ts_count(table, TS_STAT_emulation_wait_ns, ns);
}

/* Waits until the model's time for `work` has passed, of which `real` went by already; longer, if the other side keeps the
 * medium busy meanwhile. `others`: what it was counted for when the work began. */
static void wait_shared(ts_table *table, ts_emulation *emulation, ts_emulation_side side, const ts_emulation_work *work,
                        uint64_t others, uint64_t real) {
  ts_emulation_done(emulation, side, work);
  uint64_t start = ts_now_ns(), waited = 0, seen;
  do {
    seen = ts_emulation_others(emulation, side);
    uint64_t model = ts_emulation_shared_ns(emulation, work, seen - others);
    if (model <= real + waited) break;
    waited = model - real;
    ts_spin_until(start + waited);
  } while (ts_emulation_others(emulation, side) != seen);
  if (waited > 0) ts_count(table, TS_STAT_emulation_wait_ns, waited);
}

/* What the machine took for the accesses that go to the medium: the rest are of memory as it is. */
static uint64_t of_medium(const ts_store_tier *tier, uint64_t real_ns) {
  return (uint64_t)((double)real_ns * ts_emulation_share(EMULATION(tier)));
}

void ts_traffic_wait(ts_table *table, ts_traffic *t) {
  uint32_t tier = ts_traffic_tier(table->store);
  if (tier == UINT32_MAX || t->reads + t->writes == 0) return;
  const ts_store_tier *medium = &table->store->tiers[tier];
  ts_emulation_side side = t->background ? TS_EMULATION_BACKGROUND : TS_EMULATION_CALLS;
  ts_emulation_work work = {0};
  ts_emulation_add(EMULATION(medium), side, TS_MEDIA_READ, table->layout.stride, t->reads, &work);
  ts_emulation_add(EMULATION(medium), side, medium->tier.ops->write_op, table->layout.stride, t->writes, &work);
  /* Ticks to nanoseconds by the clock over the same stretch. */
  uint64_t now = ts_now_ns(), stretch = ticks_now() - t->start_ticks;
  uint64_t real = stretch == 0 ? 0 : (uint64_t)((double)t->ticks * (double)(now - t->start) / (double)stretch);
  wait_shared(table, medium->emulation, side, &work, t->others, of_medium(medium, real));
  const bool background = t->background;
  ts_traffic_begin(table->store, t);
  if (background) ts_traffic_in_background(table->store, t);
}

/* Distinct keys at a time; a key that comes back later in a larger call is counted again. */
#define DISTINCT 2048u

void ts_traffic_in_place(ts_table *table, const int64_t *keys, uint64_t n, uint64_t real_ns, bool write) {
  ts_store *store = table->store;
  uint32_t tier = ts_traffic_tier(store);
  const bool medium = tier == 0;
  if (!medium && MEMORY_MODE(store) == NULL) return;
  uint64_t start = ts_now_ns(), rows_in = 0;
  ts_memory_mode_count count = {0};
  int64_t seen[2 * DISTINCT];
  uint8_t used[2 * DISTINCT];
  ts_epoch_slot *slot = ts_epoch_claim(&store->epochs);
  for (uint64_t i = 0; i < n;) {
    memset(used, 0, sizeof used);
    uint32_t distinct = 0;
    for (; i < n && distinct < DISTINCT; ) {
      int64_t block[TS_FAST_BLOCK];
      uint32_t m = 0;
      for (; i < n && m < TS_FAST_BLOCK && distinct < DISTINCT; i++) {
        uint32_t at = (uint32_t)(ts_index_hash(keys[i]) >> 24) % (2 * DISTINCT);
        while (used[at] && seen[at] != keys[i]) at = (at + 1) % (2 * DISTINCT);
        if (used[at]) continue;
        used[at] = 1;
        seen[at] = keys[i];
        distinct++;
        block[m++] = keys[i];
      }
      void *rows[TS_FAST_BLOCK];
      uint64_t hashes[TS_FAST_BLOCK];
      ts_epoch_enter(&store->epochs, slot);
      ts_fast_block(table, block, m, rows, hashes);
      for (uint32_t j = 0; j < m; j++) {
        if (rows[j] == NULL) continue;
        rows_in++;
        if (MEMORY_MODE(store) != NULL)
          ts_memory_mode_access(MEMORY_MODE(store), (uintptr_t)rows[j], write ? table->layout.stride : table->layout.weight_bytes,
                                write, &count);
      }
      ts_epoch_leave(slot);
    }
  }
  ts_epoch_release(slot);
  uint64_t model = 0;
  if (medium) {
    const ts_store_tier *t = &store->tiers[0];
    uint32_t bytes = write ? table->layout.stride : table->layout.weight_bytes;
    model += ts_emulation_cost_ns(EMULATION(t), TS_MEDIA_READ, bytes, rows_in);
    if (write) model += ts_emulation_cost_ns(EMULATION(t), t->tier.ops->write_op, bytes, rows_in);
    real_ns = of_medium(t, real_ns);
    model = model > real_ns ? model - real_ns : 0;
  }
  if (MEMORY_MODE(store) != NULL) {
    ts_count(table, TS_STAT_memory_mode_line_hits, count.hits);
    ts_count(table, TS_STAT_memory_mode_clean_misses, count.clean_misses);
    ts_count(table, TS_STAT_memory_mode_dirty_misses, count.dirty_misses);
    model += ts_memory_mode_cost_ns(MEMORY_MODE(store), &count);
  }
  /* The time that counting took is not the medium's: it is taken off the wait. */
  uint64_t now = ts_now_ns(), counting = now - start;
  if (model > counting) wait_ns(table, now, model - counting);
}

void ts_traffic_updated(ts_table *table, uint64_t rows, uint64_t real_ns) {
  ts_store *store = table->store;
  uint32_t tier = ts_traffic_tier(store);
  if (tier == UINT32_MAX || rows == 0) return;
  const ts_store_tier *t = &store->tiers[tier];
  uint64_t others = ts_emulation_others(EMULATION(t), TS_EMULATION_CALLS);
  ts_emulation_work work = {0};
  ts_emulation_add(EMULATION(t), TS_EMULATION_CALLS, TS_MEDIA_READ, table->layout.stride, rows, &work);
  ts_emulation_add(EMULATION(t), TS_EMULATION_CALLS, t->tier.ops->write_op, table->layout.stride, rows, &work);
  wait_shared(table, t->emulation, TS_EMULATION_CALLS, &work, others, of_medium(t, real_ns));
}
