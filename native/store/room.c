/* room.c - memory for new rows, before anything changes.
 *
 * A batch first finds out how many of its keys have no row, then secures index slots and row places for all of them, and
 * only then inserts: a full store refuses with nothing changed. In a tiered store the index shares the first tier's
 * limit with the rows there; when it must grow and the limit is used up, cold rows make place: the table with the most
 * first-tier memory gives up a chunk, its rows move down.
 *
 * Tables take first-tier chunks as they come, so a table that fills early could hold memory that others need more. Every
 * few hundred calls rebalancing compares the ages of the coldest rows: where one table keeps rows that were not looked
 * up for rounds while another evicts younger ones, chunks change hands. That drives all tables to the same
 * characteristic time, which is what one LRU over all of them would have (Che, Tung, Wang 2002). */
#include "store/store.h"

#include <string.h>

#define CALLS_A_TABLE 4u       /* lookups of each table between two rebalancing rounds */
#define ROWS_A_CALL 4096u      /* a round looks at every first-tier row: not more than so many a call on average */
#define TABLES_A_ROUND 256u   /* first tables only: their states take 46 KiB of stack */
#define MOVES_A_ROUND 8u       /* at most this share (one in) of a table's chunks leaves in a round */

/* What a table lacks for the batch. */
typedef struct lack {
  ts_table *table;
  ts_batch *batch;
  uint64_t missing;      /* keys without a row */
  uint64_t index_wanted; /* bytes the index could not get */
} lack;

static int32_t look(void *context, ts_part part) {
  lack *l = context;
  ts_batch *b = l->batch;
  (void)part;
  ts_index_find(&l->table->index, b->keys, b->hashes, b->count, b->locations);
  /* The hashes of missing keys, gathered where the row pointers will be. */
  uint64_t *hashes = (uint64_t *)(void *)b->rows;
  uint32_t n = 0;
  for (uint32_t i = 0; i < b->count; i++)
    if (b->locations[i] == TS_LOCATION_NONE) hashes[n++] = b->hashes[i];
  l->missing += n;
  return n == 0 ? TS_OK : ts_index_reserve(&l->table->index, hashes, n, &l->index_wanted);
}

/* Places for the missing rows: in the first tier as far as they go, the rest below. *dram_wanted: what the list of
 * chunks of a lower tier could not get in the first. */
static int32_t reserve_rows(ts_table *table, uint64_t missing, uint32_t *full_tier, uint64_t *dram_wanted) {
  uint64_t got = ts_rows_reserve(&table->rows[0], missing);
  *full_tier = 0;
  *dram_wanted = 0;
  for (uint32_t t = 1; got < missing && t < table->store->tier_count; t++) {
    got += ts_rows_reserve(&table->rows[t], missing - got);
    *full_tier = t;
    *dram_wanted = table->rows[t].dram_wanted;
  }
  return got < missing ? TS_EFULL : TS_OK;
}

/* Frees first-tier memory by taking chunks of rows from tables, and charges it for the next growth of the table's index
 * or list of chunks: `grant` is one of the table's fields. No lock held. */
static int32_t free_first_tier(ts_table *table, uint64_t bytes, uint64_t *grant) {
  ts_store *store = table->store;
  int32_t status = TS_OK;
  pthread_mutex_lock(&store->growth);
  while (!ts_budget_take(&store->tiers[0].budget, TS_PURPOSE_INDEX, bytes)) {
    ts_table *giver = NULL;
    uint64_t most = 0;
    uint32_t n = atomic_load_explicit(&store->table_count, memory_order_acquire);
    for (uint32_t i = 0; store->tier_count > 1 && i < n; i++) {
      ts_table *t = store->tables[i];
      pthread_mutex_lock(&t->lock);
      uint64_t held = t->rows[0].chunk_count * ts_rows_chunk_bytes(&t->rows[0]);
      pthread_mutex_unlock(&t->lock);
      if (held > most) {
        most = held;
        giver = t;
      }
    }
    if (giver == NULL) {
      status = TS_EFULL;
      break;
    }
    pthread_mutex_lock(&giver->lock);
    if (giver->rows[0].chunk_count > 0) status = ts_room_release_chunk(giver);
    pthread_mutex_unlock(&giver->lock);
    if (status != TS_OK) break;
  }
  if (status == TS_OK) {
    pthread_mutex_lock(&table->lock);
    *grant += bytes;
    pthread_mutex_unlock(&table->lock);
  }
  pthread_mutex_unlock(&store->growth);
  return status;
}

static int32_t full(const ts_table *table, uint32_t tier, const char *what, uint64_t missing, ts_err err) {
  const ts_store_tier *t = &table->store->tiers[tier];
  return ts_fail(err, TS_EFULL,
                 "Cannot add %llu rows to table \"%s\": tier %u (%s) is full with %llu of %llu bytes used, and %s; raise "
                 "its size",
                 (unsigned long long)missing, table->name, tier, t->tier.ops->type,
                 (unsigned long long)atomic_load(&t->budget.used), (unsigned long long)t->budget.limit, what);
}

int32_t ts_room_for(ts_table *table, ts_batch *batch, const int64_t *keys, uint64_t n, bool *single, ts_err err) {
  pthread_mutex_lock(&table->lock);
  for (;;) {
    lack l = {.table = table, .batch = batch};
    ts_index_clear_reservations(&table->index);
    int32_t status = TS_OK;
    *single = ts_batch_collect(batch, (ts_part){1, 0}, keys, n);
    if (*single)
      status = look(&l, (ts_part){1, 0});
    else
      status = ts_batch_parts(batch, keys, n, look, &l);
    uint32_t tier = 0;
    const char *what = "the index cannot grow";
    const bool for_index = status == TS_EFULL;
    uint64_t wanted = l.index_wanted;
    if (status == TS_OK) {
      status = reserve_rows(table, l.missing, &tier, &wanted);
      what = "no row is free there";
    }
    if (status == TS_OK) return TS_OK;
    for (uint32_t t = 0; t < table->store->tier_count; t++) ts_rows_settle(&table->rows[t]);
    pthread_mutex_unlock(&table->lock);
    if (status == TS_ENOMEM) return ts_fail(err, TS_ENOMEM, "Cannot add rows to table \"%s\": out of memory", table->name);
    uint64_t *grant = for_index ? &table->index_grant : &table->rows[tier].list_grant;
    if (wanted > 0 && !for_index) { /* the lower tier has room, but not the first for the list of its chunks */
      tier = 0;
      what = "the list of lower rows cannot grow";
    }
    if (wanted == 0 || table->store->tier_count == 1 || free_first_tier(table, wanted, grant) != TS_OK)
      return full(table, tier, what, l.missing, err);
    pthread_mutex_lock(&table->lock);
  }
}

int32_t ts_room_release_chunk(ts_table *table) {
  ts_rows *first = &table->rows[0], *second = &table->rows[1];
  ts_store *store = table->store;
  uint64_t begin = (first->chunk_count - 1) << first->shift;
  uint64_t live = 0, start = ts_now_ns(), moved = 0;
  for (uint64_t row = begin; row < first->next; row++) live += (*ts_rows_mark(first, row) & TS_MARK_LIVE) != 0;
  uint64_t got = ts_rows_reserve(second, live);
  if (got < live) {
    ts_rows_settle(second);
    return TS_EFULL;
  }
  for (uint64_t row = begin; row < first->next; row++) {
    uint8_t mark = *ts_rows_mark(first, row);
    if (!(mark & TS_MARK_LIVE)) continue;
    uint64_t leaving = row;
    if (mark & TS_MARK_REFERENCED) { /* in use: a colder row goes in its stead */
      uint64_t victim = ts_clock_victim(first, begin);
      if (victim != TS_NO_ROW) leaving = victim;
    }
    ts_move_down(table, leaving);
    moved++;
    if (leaving != row) {
      memcpy(ts_rows_at(first, leaving), ts_rows_at(first, row), table->stride);
      *ts_rows_key(first, leaving) = *ts_rows_key(first, row);
      *ts_rows_mark(first, leaving) = mark;
      ts_index_move(&table->index, *ts_rows_key(first, row), ts_index_hash(*ts_rows_key(first, row)),
                    TS_LOCATION(0, leaving));
    }
    ts_rows_free(first, row);
  }
  ts_rows_settle(second);
  ts_rows_drop_chunk(first);
  if (store->tiers[1].emulation != NULL) {
    uint64_t cost = ts_emulation_cost_ns(store->tiers[1].emulation, second->tier->ops->write_op,
                                         (uint32_t)table->stride, moved);
    uint64_t now = ts_now_ns();
    if (start + cost > now) {
      ts_spin_until(start + cost);
      ts_count(store, TS_STAT_emulation_wait_ns, start + cost - now);
    }
  }
  ts_count(store, TS_STAT_evicted, moved);
  ts_count(store, TS_STAT_eviction_ns, ts_now_ns() - start);
  return TS_OK;
}

/* A table's part in a round. */
typedef struct standing {
  uint64_t ages[TS_MARK_AGE + 1];
  uint64_t chunks, chunk_bytes, rows_a_chunk;
  uint64_t shortage;
  uint32_t evicts_age; /* age of the rows it would evict for its shortage */
  uint64_t given;
} standing;

/* The age that the oldest `n` rows have at least. */
static uint32_t age_of_oldest(const uint64_t ages[TS_MARK_AGE + 1], uint64_t n) {
  uint64_t sum = 0;
  for (uint32_t age = TS_MARK_AGE; age > 0; age--) {
    sum += ages[age];
    if (sum >= n) return age;
  }
  return 0;
}

static void round_of(ts_store *store, standing *s, uint32_t n) {
  uint64_t rows = 0;
  for (uint32_t i = 0; i < n; i++) {
    ts_table *t = store->tables[i];
    pthread_mutex_lock(&t->lock);
    ts_clock_grow_older(&t->rows[0], s[i].ages);
    s[i].chunks = t->rows[0].chunk_count;
    s[i].chunk_bytes = ts_rows_chunk_bytes(&t->rows[0]);
    s[i].rows_a_chunk = UINT64_C(1) << t->rows[0].shift;
    s[i].shortage = t->shortage;
    s[i].evicts_age = age_of_oldest(s[i].ages, TS_MAX(t->shortage, 1));
    s[i].given = 0;
    rows += t->rows[0].live;
    t->shortage = 0;
    pthread_mutex_unlock(&t->lock);
  }
  atomic_store_explicit(&store->calls_to_rebalance, TS_MAX((uint64_t)CALLS_A_TABLE * n, rows / ROWS_A_CALL),
                        memory_order_relaxed);
  uint64_t moves = 0, limit = 0;
  for (uint32_t i = 0; i < n; i++) limit += s[i].chunks;
  limit = limit / MOVES_A_ROUND + 1;
  while (moves < limit) {
    ts_table *giver = NULL;
    uint32_t from = 0, youngest = TS_MARK_AGE;
    bool needed = false;
    for (uint32_t i = 0; i < n; i++)
      if (s[i].shortage > 0 && s[i].evicts_age <= youngest) {
        youngest = s[i].evicts_age;
        needed = true;
      }
    if (!needed) return;
    /* The table with a chunk's worth of rows clearly older than the youngest victims elsewhere. */
    uint32_t oldest = youngest + 1;
    for (uint32_t i = 0; i < n; i++) {
      if (s[i].chunks == 0 || s[i].given > s[i].chunks / MOVES_A_ROUND) continue;
      uint32_t age = age_of_oldest(s[i].ages, s[i].rows_a_chunk);
      if (age > oldest) {
        oldest = age;
        giver = store->tables[i];
        from = i;
      }
    }
    if (giver == NULL) return;
    pthread_mutex_lock(&giver->lock);
    int32_t status = giver->rows[0].chunk_count > 0 ? ts_room_release_chunk(giver) : TS_EFULL;
    pthread_mutex_unlock(&giver->lock);
    if (status != TS_OK) return;
    ts_count(store, TS_STAT_rebalanced_chunks, 1);
    uint64_t left = s[from].rows_a_chunk;
    for (uint32_t age = TS_MARK_AGE; left > 0; age--) {
      uint64_t take = TS_MIN(left, s[from].ages[age]);
      s[from].ages[age] -= take;
      left -= take;
      if (age == 0) break;
    }
    s[from].chunks--;
    s[from].given++;
    moves++;
  }
}

void ts_room_rebalance(ts_store *store) {
  if (store->tier_count == 1) return;
  uint64_t left = atomic_load_explicit(&store->calls_to_rebalance, memory_order_relaxed);
  if (left > 0) {
    atomic_compare_exchange_strong(&store->calls_to_rebalance, &left, left - 1);
    return;
  }
  if (pthread_mutex_trylock(&store->growth) != 0) return;
  standing states[TABLES_A_ROUND];
  uint32_t count = atomic_load_explicit(&store->table_count, memory_order_acquire), n = TS_MIN(count, TABLES_A_ROUND);
  if (n > 1) round_of(store, states, n);
  pthread_mutex_unlock(&store->growth);
}
