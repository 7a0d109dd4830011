/* move.c - where the rows of a batch are: into the first tier if there is a place or a colder row to swap with, else
 * read in the second tier where they are. A row is always in exactly one tier.
 *
 * New rows come first: their places were reserved (room.c). Then rows of the second tier come up: into a free place, or
 * by changing places with a victim through a spare row, which needs no free place at all, so a full store still moves. */
#include "store/store.h"

#include <string.h>

#define PREFETCH_AHEAD 16u

/* Accesses to the emulated medium in one call, and how long the machine really took for them. */
typedef struct traffic {
  uint64_t reads, writes, evicted, promoted, in_place;
  bool no_victim; /* every first-tier row belongs to this part of the batch: do not look again */
  bool timed;
  uint64_t ticks;
} traffic;

/* The CPU's time stamp: a call of the clock would cost as much as the access that is timed. */
static inline uint64_t ticks_now(void) {
#if defined(__x86_64__)
  return __builtin_ia32_rdtsc();
#else
  return ts_now_ns();
#endif
}

static void write_row(ts_table *table, uint32_t tier, uint64_t row, const void *from, traffic *moved) {
  ts_tier *t = table->rows[tier].tier;
  uint64_t start = moved->timed ? ticks_now() : 0;
  t->ops->write(t, ts_rows_at(&table->rows[tier], row), from, table->stride);
  if (moved->timed) moved->ticks += ticks_now() - start;
}

static void read_row(const ts_table *table, uint32_t tier, uint64_t row, void *to, traffic *moved) {
  uint64_t start = moved->timed ? ticks_now() : 0;
  memcpy(to, ts_rows_at(&table->rows[tier], row), table->stride);
  if (moved->timed) moved->ticks += ticks_now() - start;
}

static void move_down(ts_table *table, uint64_t row, traffic *t) {
  int64_t key = *ts_rows_key(&table->rows[0], row);
  uint64_t below = ts_rows_take(&table->rows[1], key);
  write_row(table, 1, below, ts_rows_at(&table->rows[0], row), t);
  ts_index_move(&table->index, key, ts_index_hash(key), TS_LOCATION(1, below));
}

void ts_move_down(ts_table *table, uint64_t row) {
  traffic untimed = {0};
  move_down(table, row, &untimed);
}

static void initialise(const ts_table *table, int64_t key, unsigned char *row) {
  memset(row, 0, table->stride);
  ts_initializer_weights(&table->initializer, key, (float *)(void *)row, table->dim);
  for (uint32_t s = 1; s < table->slots; s++) {
    float *slot = (float *)(void *)(row + (size_t)s * table->slot_bytes);
    float first = ts_optimizer_initial(&table->optimizer, s);
    for (uint32_t j = 0; j < table->dim; j++) slot[j] = first;
  }
}

/* A first-tier row that may leave, or TS_NO_ROW. Rows of a part are pinned until its end, so when none is left once
 * none comes back. */
static uint64_t victim(ts_table *table, traffic *t) {
  if (t->no_victim) return TS_NO_ROW;
  uint64_t row = ts_clock_victim(&table->rows[0], table->rows[0].next);
  t->no_victim = row == TS_NO_ROW;
  return row;
}

/* A first-tier place for a new key, or TS_NO_ROW if everything there belongs to this batch. */
static uint64_t place_for(ts_table *table, int64_t key, traffic *t) {
  ts_rows *first = &table->rows[0];
  if (ts_rows_reserve(first, 1) == 1) return ts_rows_take(first, key);
  if (table->store->tier_count == 1) return TS_NO_ROW;
  uint64_t row = victim(table, t);
  if (row == TS_NO_ROW) return TS_NO_ROW;
  move_down(table, row, t);
  t->writes++;
  t->evicted++;
  *ts_rows_key(first, row) = key;
  *ts_rows_mark(first, row) = TS_MARK_LIVE;
  return row;
}

static void create(ts_table *table, ts_batch *b, uint32_t i, traffic *t) {
  ts_rows *first = &table->rows[0];
  uint64_t row = place_for(table, b->keys[i], t);
  if (row != TS_NO_ROW) {
    b->rows[i] = ts_rows_at(first, row);
    if (first->tier->ops->write_op == TS_MEDIA_WRITE_NT) {
      initialise(table, b->keys[i], b->spare_row);
      write_row(table, 0, row, b->spare_row, t);
    } else {
      initialise(table, b->keys[i], b->rows[i]);
    }
    b->locations[i] = TS_LOCATION(0, row);
    if (first->policy) *ts_rows_mark(first, row) |= TS_MARK_PINNED;
  } else {
    row = ts_rows_take(&table->rows[1], b->keys[i]);
    initialise(table, b->keys[i], b->spare_row);
    write_row(table, 1, row, b->spare_row, t);
    t->writes++;
    b->rows[i] = ts_rows_at(&table->rows[1], row);
    b->locations[i] = TS_LOCATION(1, row);
  }
  ts_index_insert(&table->index, b->keys[i], b->hashes[i], b->locations[i]);
}

static void promote_one(ts_table *table, ts_batch *b, uint32_t i, traffic *t) {
  ts_rows *first = &table->rows[0], *second = &table->rows[1];
  uint64_t from = TS_LOCATION_ROW(b->locations[i]), row;
  if (ts_rows_reserve(first, 1) == 1) {
    row = ts_rows_take(first, b->keys[i]);
    read_row(table, 1, from, ts_rows_at(first, row), t);
    ts_rows_vacate(second, from);
  } else {
    table->shortage++;
    row = victim(table, t);
    if (row == TS_NO_ROW) {
      b->rows[i] = ts_rows_at(second, from);
      t->in_place++;
      return;
    }
    int64_t leaving = *ts_rows_key(first, row);
    read_row(table, 1, from, b->spare_row, t);
    write_row(table, 1, from, ts_rows_at(first, row), t);
    ts_index_move(&table->index, leaving, ts_index_hash(leaving), TS_LOCATION(1, from));
    memcpy(ts_rows_at(first, row), b->spare_row, table->stride);
    *ts_rows_key(first, row) = b->keys[i];
    t->writes++;
    t->evicted++;
  }
  t->reads++;
  t->promoted++;
  ts_clock_touch(first, row);
  b->rows[i] = ts_rows_at(first, row);
  b->locations[i] = TS_LOCATION(0, row);
  ts_index_move(&table->index, b->keys[i], b->hashes[i], b->locations[i]);
}

void ts_move_resolve(ts_table *table, ts_batch *b, bool promote) {
  ts_store *store = table->store;
  const bool tiered = store->tier_count > 1;
  uint64_t missing = 0, below = 0, created = 0;
  for (uint32_t i = 0; i < b->count; i++) {
    ts_location l = b->locations[i];
    if (l == TS_LOCATION_NONE) {
      missing++;
    } else if (TS_LOCATION_TIER(l) == 0) {
      uint64_t row = TS_LOCATION_ROW(l);
      b->rows[i] = ts_rows_at(&table->rows[0], row);
      __builtin_prefetch(b->rows[i]);
      if (tiered) {
        if (promote)
          ts_clock_touch(&table->rows[0], row);
        else
          *ts_rows_mark(&table->rows[0], row) |= TS_MARK_PINNED;
      }
    } else {
      b->rows[i] = ts_rows_at(&table->rows[TS_LOCATION_TIER(l)], TS_LOCATION_ROW(l));
      __builtin_prefetch(b->rows[i]);
      below++;
    }
  }
  if (promote) {
    ts_count(store, TS_STAT_lookup_distinct, b->count);
    ts_count(store, TS_STAT_tier0_hits, b->count - missing - below);
    ts_count(store, TS_STAT_tier1_hits, below);
  }
  ts_count(store, TS_STAT_created, missing);
  if (missing == 0 && (below == 0 || !promote)) return;

  /* New rows of a single-tier store are written to its medium, too. */
  const uint32_t medium = tiered ? 1 : 0;
  const ts_emulation *emulation = store->tiers[medium].emulation;
  traffic t = {.timed = emulation != NULL};
  uint64_t start = ts_now_ns(), start_ticks = t.timed ? ticks_now() : 0;
  if (missing > 0) {
    for (uint32_t i = 0; i < b->count; i++)
      if (b->locations[i] == TS_LOCATION_NONE) create(table, b, i, &t);
    created = missing;
    if (t.evicted + t.writes > 0) table->shortage += missing;
  }
  if (below > 0 && promote)
    for (uint32_t i = 0; i < b->count; i++)
      if (TS_LOCATION_TIER(b->locations[i]) != 0) promote_one(table, b, i, &t);

  if (emulation != NULL) {
    uint64_t writes = tiered ? t.writes : created;
    uint64_t model =
        ts_emulation_cost_ns(emulation, TS_MEDIA_READ, (uint32_t)table->stride, t.reads) +
        ts_emulation_cost_ns(emulation, table->rows[medium].tier->ops->write_op, (uint32_t)table->stride, writes);
    /* Ticks to nanoseconds by the clock over the same stretch. */
    uint64_t now = ts_now_ns(), stretch = ticks_now() - start_ticks;
    uint64_t real = stretch == 0 ? 0 : (uint64_t)((double)t.ticks * (double)(now - start) / (double)stretch);
    if (model > real) {
      ts_spin_until(now + model - real);
      ts_count(store, TS_STAT_emulation_wait_ns, model - real);
    }
  }
  if (tiered) ts_count(store, TS_STAT_eviction_ns, ts_now_ns() - start);
  ts_count(store, TS_STAT_evicted, t.evicted);
  ts_count(store, TS_STAT_promoted, t.promoted);
  ts_count(store, TS_STAT_in_place_reads, t.in_place);
}

void ts_move_unpin(ts_table *table, ts_batch *b) {
  if (table->store->tier_count == 1) return;
  for (uint32_t i = 0; i < b->count; i++)
    if (TS_LOCATION_TIER(b->locations[i]) == 0)
      *ts_rows_mark(&table->rows[0], TS_LOCATION_ROW(b->locations[i])) &= (uint8_t)~TS_MARK_PINNED;
}
