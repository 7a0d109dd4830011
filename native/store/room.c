/* room.c - first-tier memory on its way between shards, and between rows and the index.
 *
 * The indexes share the first tier's limit with the rows there. When one must grow and the limit is used up, cold rows
 * make place: the shard with most memory gives up a chunk, its rows move down.
 *
 * Shards take chunks as they come, so one that fills early could hold memory that others need more. Every few hundred
 * calls the mean time that a row stays in each shard is compared, rows divided by evictions: where one keeps its rows
 * much longer than another, a chunk changes hands. That drives all shards to the same characteristic time, which is what
 * one cache over all of them would have (Che, Tung, Wang 2002). It needs no knowledge of the policy. */
#include "base/sync_point.h"
#include "store/store.h"

#include <string.h>

#define CALLS_A_SHARD 2u      /* slow calls for each shard between two rebalancing rounds */
#define AGES_APART 2u         /* chunks move between shards whose ages differ by more than this factor */
#define MOVES_A_ROUND 16u     /* one chunk in so many at most */

/* Unlinks free places of the last chunk, which is about to go. */
static void unlink_chunk(ts_rows *rows, uint64_t first) {
  uint64_t kept = TS_NO_ROW, row = rows->first_free;
  while (row != TS_NO_ROW) {
    uint64_t next;
    memcpy(&next, ts_rows_key(rows, row), sizeof next);
    if (row >= first) {
      rows->free_count--;
    } else {
      memcpy(ts_rows_key(rows, row), &kept, sizeof kept);
      kept = row;
    }
    row = next;
  }
  rows->first_free = kept;
}

/* Links the places of a chunk that stays after all. */
static void relink_chunk(ts_rows *rows, uint64_t first) {
  for (uint64_t row = first; row < rows->next; row++) {
    if (ts_policy_holds(ts_rows_word(rows, row))) continue;
    memcpy(ts_rows_key(rows, row), &rows->first_free, sizeof rows->first_free);
    rows->first_free = row;
    rows->free_count++;
  }
}

/* Moves a row to a free place of the same tier. The place it had stays unlinked. */
static void move_inside(ts_shard *shard, uint64_t from) {
  ts_rows *rows = &shard->rows[0];
  int64_t key = *ts_rows_key(rows, from);
  uint8_t flags = *ts_rows_flags(rows, from);
  uint64_t below = flags & TS_ROW_COPY ? ts_rows_below(rows, from) : 0;
  uint64_t to = rows->first_free;
  memcpy(&rows->first_free, ts_rows_key(rows, to), sizeof rows->first_free);
  rows->free_count--;
  memcpy(ts_rows_at(rows, to), ts_rows_at(rows, from), rows->stride);
  *ts_rows_key(rows, to) = key;
  *ts_rows_flags(rows, to) = flags & TS_ROW_RECORD;
  if (flags & TS_ROW_COPY) ts_rows_set_below(rows, to, below);
  ts_policy_move(rows->policy, from, ts_rows_word(rows, from), to, ts_rows_word(rows, to));
  ts_index_move(&shard->index, key, ts_index_hash(key), TS_LOCATION(0, to));
}

/* Gives up the last chunk of the shard's first tier. Shard locked. */
static int32_t release_chunk(ts_shard *shard, ts_traffic *traffic, ts_err err) {
  ts_rows *rows = &shard->rows[0];
  if (rows->chunk_count == 0) return ts_fail(err, TS_EFULL, "there are none");
  const uint64_t first = ts_rows_first_of(rows, rows->chunk_count - 1);
  shard->full = true;
  atomic_store_explicit(&shard->table->tracking, true, memory_order_relaxed);
  unlink_chunk(rows, first);
  int32_t status = TS_OK;
  bool moved = false;
  for (uint64_t row = first; status == TS_OK && row < rows->next;) {
    if (!ts_policy_holds(ts_rows_word(rows, row))) {
      row++;
      continue;
    }
    if (rows->first_free != TS_NO_ROW) {
      move_inside(shard, row++);
      moved = true;
      continue;
    }
    uint32_t freed = 0;
    status = ts_evict(shard, 0, 64, &freed, traffic, err);
    if (status == TS_OK && freed == 0) status = ts_fail(err, TS_EFULL, "the tiers below are full");
    unlink_chunk(rows, first);
  }
  if (moved) ts_epoch_wait(&shard->table->store->epochs); /* readers may look at the places the rows had */
  if (status == TS_OK) {
    rows->next = TS_MIN(rows->next, first);
    ts_rows_drop_chunk(rows);
    ts_count(shard->table, TS_STAT_rebalanced_chunks, 1);
  } else {
    relink_chunk(rows, first);
  }
  return status;
}

static int32_t release_of(ts_shard *shard, ts_err err) {
  ts_traffic traffic;
  ts_traffic_begin(shard->table->store, &traffic);
  pthread_mutex_lock(&shard->lock);
  int32_t status = release_chunk(shard, &traffic, err);
  for (uint32_t t = 0; t < shard->table->store->memory_tiers; t++) ts_rows_settle(&shard->rows[t]);
  pthread_mutex_unlock(&shard->lock);
  ts_traffic_wait(shard->table, &traffic);
  return status;
}

/* The shard with most first-tier memory, or NULL. */
static ts_shard *largest(ts_store *store) {
  ts_shard *giver = NULL;
  uint64_t most = 0;
  uint32_t n = atomic_load_explicit(&store->table_count, memory_order_acquire);
  for (uint32_t i = 0; i < n; i++)
    for (uint32_t s = 0; s < store->tables[i]->shard_count; s++) {
      ts_shard *shard = &store->tables[i]->shards[s];
      pthread_mutex_lock(&shard->lock);
      uint64_t held = ts_rows_bytes(&shard->rows[0]);
      pthread_mutex_unlock(&shard->lock);
      if (held > most) {
        most = held;
        giver = shard;
      }
    }
  return giver;
}

/* One chunk less somewhere: the largest shard gives it, or any other that can. */
static int32_t release_one(ts_store *store, ts_err err) {
  ts_shard *giver = largest(store);
  if (giver == NULL) return ts_fail(err, TS_EFULL, "there are none");
  int32_t status = release_of(giver, err);
  uint32_t n = atomic_load_explicit(&store->table_count, memory_order_acquire);
  for (uint32_t i = 0; status != TS_OK && i < n; i++)
    for (uint32_t s = 0; s < store->tables[i]->shard_count; s++)
      if (&store->tables[i]->shards[s] != giver && release_of(&store->tables[i]->shards[s], (ts_err){NULL, 0}) == TS_OK)
        return TS_OK;
  return status;
}

int32_t ts_room_free(ts_shard *shard, uint64_t bytes, ts_err err) {
  ts_store *store = shard->table->store;
  ts_budget *budget = &store->tiers[0].budget;
  char why[384] = "there is no tier below";
  int32_t status = TS_OK;
  TS_SYNC("room:free:wait");
  pthread_mutex_lock(&store->growth);
  TS_SYNC("room:free:alone");
  while (status == TS_OK && !ts_budget_take(budget, TS_PURPOSE_INDEX, bytes))
    status = ts_is_tiered(store) ? release_one(store, (ts_err){why, sizeof why}) : TS_EFULL;
  pthread_mutex_unlock(&store->growth);
  if (status != TS_OK)
    return ts_fail(err, status,
                   "Cannot add rows to table \"%s\": its index needs %llu bytes more, tier 0 (%s) is full with %llu of "
                   "%llu bytes used, and rows there cannot move: %s; raise its size",
                   shard->table->name, (unsigned long long)bytes, store->tiers[0].type,
                   (unsigned long long)atomic_load(&budget->used), (unsigned long long)budget->limit, why);
  TS_SYNC("room:free:granted");
  pthread_mutex_lock(&shard->lock);
  shard->index_grant += bytes;
  pthread_mutex_unlock(&shard->lock);
  return TS_OK;
}

/* What is used without working memory, which comes and goes by itself. */
static uint64_t used_to_stay(const ts_budget *budget) {
  uint64_t used = atomic_load(&budget->used), work = atomic_load(&budget->reserved[TS_PURPOSE_WORK]);
  return used - TS_MIN(work, used);
}

/* The headroom is short when buffers and index have taken a quarter of it (eighths: what may be left, without working
 * memory and with it). */
static bool is_above(const ts_budget *budget, uint64_t stay, uint64_t all) {
  const uint64_t eighth = budget->headroom / 8;
  return used_to_stay(budget) > budget->limit - stay * eighth || atomic_load(&budget->used) > budget->limit - all * eighth;
}

static bool is_short_of_headroom(const ts_budget *budget) { return !budget->rows_only && is_above(budget, 6, 2); }

/* What grew into the headroom is given back to it. */
static void restore_headroom(ts_store *store) {
  while (is_above(&store->tiers[0].budget, 7, 3))
    if (release_one(store, (ts_err){NULL, 0}) != TS_OK) return;
}

void ts_room_restore(ts_store *store) {
  if (!is_short_of_headroom(&store->tiers[0].budget) || pthread_mutex_trylock(&store->growth) != 0) return;
  restore_headroom(store);
  pthread_mutex_unlock(&store->growth);
}

static void rebalance(ts_store *store) {
  ts_shard *giver = NULL;
  uint64_t oldest = 0, youngest = UINT64_MAX, shards = 0;
  uint32_t n = atomic_load_explicit(&store->table_count, memory_order_acquire);
  for (uint32_t i = 0; i < n; i++)
    for (uint32_t s = 0; s < store->tables[i]->shard_count; s++, shards++) {
      ts_shard *shard = &store->tables[i]->shards[s];
      pthread_mutex_lock(&shard->lock);
      uint64_t rows = shard->rows[0].live, chunks = shard->rows[0].chunk_count;
      pthread_mutex_unlock(&shard->lock);
      uint64_t evictions = atomic_load_explicit(&shard->evictions, memory_order_relaxed);
      /* Half of what was counted before stays: one round has little to go by. */
      atomic_store_explicit(&shard->evictions, evictions / 2, memory_order_relaxed);
      if (evictions > 0) {
        uint64_t age = TS_MAX(rows, 1u) * 1024 / evictions;
        if (age < youngest) youngest = age;
      }
      uint64_t age = rows * 1024 / (evictions + 1);
      if (chunks > 1 && age > oldest) {
        oldest = age;
        giver = shard;
      }
    }
  atomic_store_explicit(&store->calls_to_rebalance, CALLS_A_SHARD * shards, memory_order_relaxed);
  if (shards < 2 || giver == NULL || youngest == UINT64_MAX || oldest / AGES_APART <= youngest) return;
  pthread_mutex_lock(&giver->lock);
  uint64_t moves = giver->rows[0].chunk_count / MOVES_A_ROUND + 1;
  pthread_mutex_unlock(&giver->lock);
  while (moves-- > 0 && release_of(giver, (ts_err){NULL, 0}) == TS_OK) {
  }
}

void ts_room_balance(ts_store *store) {
  const bool short_of = is_short_of_headroom(&store->tiers[0].budget);
  uint64_t left = atomic_load_explicit(&store->calls_to_rebalance, memory_order_relaxed);
  if (left > 0) atomic_compare_exchange_strong(&store->calls_to_rebalance, &left, left - 1);
  if (!short_of && left > 0) return;
  if (pthread_mutex_trylock(&store->growth) != 0) return;
  if (short_of) restore_headroom(store);
  if (left == 0) rebalance(store);
  pthread_mutex_unlock(&store->growth);
}
