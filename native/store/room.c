/* room.c - first-tier memory on its way between shards, and between rows and the index.
 *
 * The indexes share the first tier's limit with the rows there. When one must grow and the limit is used up, cold rows
 * make place: the shard with most memory gives up a chunk, its rows move down.
 *
 * Shards take chunks as they come, so those that fill early could hold memory that others need more. A shard that has
 * nothing and finds nothing is given a chunk at once. And every few hundred calls the mean time that a row stays in each
 * shard is compared, rows divided by evictions, where a row that got no place counts as one that left: shards that keep
 * their rows much longer than another give chunks, the oldest first, for as many bytes as the young ones turned over. That
 * drives all shards to the same characteristic time, which is what one cache over all of them would have (Che, Tung, Wang
 * 2002). It needs no knowledge of the policy. */
#include "store/store.h"

#include "base/sync_point.h"

#include <string.h>

#define CALLS_A_SHARD 2u      /* slow calls for each shard between two rebalancing rounds */
#define AGES_APART 2u         /* chunks move between shards whose ages differ by more than this factor */
#define MOVES_A_ROUND 16u     /* of a shard's chunks one in so many, and one more, at most */
#define FEEDING_TRIES 64u     /* chunks of other shards for one of a shard that has none */

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
static int32_t move_inside(ts_shard *shard, uint32_t tier, uint64_t from, ts_err err) {
  ts_rows *rows = &shard->rows[tier];
  const int32_t status = ts_rows_copy(rows, rows->first_free, from, err);
  if (status != TS_OK) return status;
  int64_t key = *ts_rows_key(rows, from);
  uint8_t flags = *ts_rows_flags(rows, from);
  uint64_t below = flags & TS_ROW_COPY ? ts_rows_below(rows, from) : 0;
  uint64_t to = rows->first_free;
  memcpy(&rows->first_free, ts_rows_key(rows, to), sizeof rows->first_free);
  rows->free_count--;
  *ts_rows_key(rows, to) = key;
  *ts_rows_flags(rows, to) = flags & TS_ROW_STAYS;
  if (flags & TS_ROW_COPY) ts_rows_set_below(rows, to, below);
  ts_policy_move(rows->policy, from, ts_rows_word(rows, from), to, ts_rows_word(rows, to));
  ts_index_move(&shard->index, key, ts_index_hash(key), TS_LOCATION(tier, to));
  return TS_OK;
}

int32_t ts_room_release(ts_shard *shard, uint32_t tier, ts_traffic *traffic, ts_err err) {
  ts_rows *rows = &shard->rows[tier];
  if (rows->chunk_count == 0) return ts_fail(err, TS_EFULL, "there are none");
  const uint64_t first = ts_rows_first_of(rows, rows->chunk_count - 1);
  shard->full = true;
  atomic_store_explicit(&shard->table->tracking, true, memory_order_relaxed);
  ts_spare_copies(shard, tier, first);
  ts_rows_unlink(rows, first);
  int32_t status = TS_OK;
  bool moved = false;
  for (uint64_t row = first; status == TS_OK && row < rows->next;) {
    if (!ts_policy_holds(ts_rows_word(rows, row))) {
      row++;
      continue;
    }
    if (rows->first_free != TS_NO_ROW) {
      status = move_inside(shard, tier, row++, err);
      moved = moved || status == TS_OK;
      continue;
    }
    uint32_t freed = 0;
    status = ts_evict(shard, tier, 64, &freed, traffic, err);
    if (status == TS_OK && freed == 0) status = ts_fail(err, TS_EFULL, "the tiers below are full");
    ts_rows_unlink(rows, first);
  }
  /* Readers may look at the places the rows had. */
  if (moved && tier == 0) ts_epoch_wait(&shard->table->store->epochs);
  if (status == TS_OK) {
    rows->next = TS_MIN(rows->next, first);
    ts_rows_drop_chunk(rows);
    ts_count(shard->table, TS_STAT_rebalanced_chunks, 1);
  } else {
    relink_chunk(rows, first);
  }
  return status;
}

static int32_t release_of(ts_shard *shard, uint32_t tier, ts_err err) {
  ts_traffic traffic;
  ts_traffic_begin(shard->table->store, &traffic);
  pthread_mutex_lock(&shard->lock);
  int32_t status = ts_room_release(shard, tier, &traffic, err);
  if (ts_index_is_wide(&shard->index)) ts_spare_index(shard);
  for (uint32_t t = 0; t < shard->table->store->memory_tiers; t++) ts_rows_settle(&shard->rows[t]);
  pthread_mutex_unlock(&shard->lock);
  ts_traffic_wait(shard->table, &traffic);
  return status;
}

static uint64_t held_by(ts_shard *shard, uint32_t tier, uint64_t *chunks) {
  pthread_mutex_lock(&shard->lock);
  const uint64_t bytes = ts_rows_bytes(&shard->rows[tier]);
  *chunks = shard->rows[tier].chunk_count;
  pthread_mutex_unlock(&shard->lock);
  return bytes;
}

/* The shard with most rows in DRAM, or NULL. */
static ts_shard *largest(ts_store *store) {
  ts_shard *giver = NULL;
  uint64_t most = 0;
  uint32_t n = atomic_load_explicit(&store->table_count, memory_order_acquire);
  for (uint32_t i = 0; i < n; i++)
    for (uint32_t s = 0; s < store->tables[i]->shard_count; s++) {
      ts_shard *shard = &store->tables[i]->shards[s];
      uint64_t chunks, held = held_by(shard, store->dram, &chunks);
      if (held > most) {
        most = held;
        giver = shard;
      }
    }
  return giver;
}

/* One chunk less somewhere: the largest shard gives it, or any other that can. */
static int32_t release_any(ts_store *store, ts_err err) {
  ts_shard *giver = largest(store);
  if (giver == NULL) return ts_fail(err, TS_EFULL, "there are none");
  int32_t status = release_of(giver, store->dram, err);
  uint32_t n = atomic_load_explicit(&store->table_count, memory_order_acquire);
  for (uint32_t i = 0; status != TS_OK && i < n; i++)
    for (uint32_t s = 0; s < store->tables[i]->shard_count; s++)
      if (&store->tables[i]->shards[s] != giver &&
          release_of(&store->tables[i]->shards[s], store->dram, (ts_err){NULL, 0}) == TS_OK)
        return TS_OK;
  return status;
}

/* The same; what removed rows left in the tier below is room for rows to move to. */
static int32_t release_one(ts_store *store, ts_err err) {
  int32_t status = release_any(store, err);
  if (status == TS_EFULL && store->memory_tiers - 1 > store->dram && ts_spare_sweep(store, store->memory_tiers - 1))
    status = release_any(store, err);
  return status;
}

/* What removed rows left in DRAM, or above it, where DRAM has what lies beside rows. */
static bool spare_any(ts_store *store) {
  bool freed = false;
  for (uint32_t t = store->dram + 1; !freed && t-- > 0;) freed = ts_spare_sweep(store, t);
  return freed;
}

int32_t ts_room_free(ts_shard *shard, uint64_t bytes, ts_err err) {
  ts_store *store = shard->table->store;
  ts_budget *budget = ts_dram_budget(store);
  char why[384] = "there is no tier below";
  int32_t status = TS_OK;
  TS_SYNC("room:free:wait");
  pthread_mutex_lock(&store->growth);
  TS_SYNC("room:free:alone");
  while (status == TS_OK && !ts_budget_take(budget, TS_PURPOSE_INDEX, bytes))
    if (!spare_any(store)) status = ts_is_dram_left(store) ? release_one(store, (ts_err){why, sizeof why}) : TS_EFULL;
  pthread_mutex_unlock(&store->growth);
  if (status != TS_OK)
    return ts_fail(err, status,
                   "Cannot add rows to table \"%s\": its index needs %llu bytes more, tier %u (%s) is full with %llu of "
                   "%llu bytes used, and rows there cannot move: %s; raise its size",
                   shard->table->name, (unsigned long long)bytes, store->dram, store->tiers[store->dram].type,
                   (unsigned long long)atomic_load(&budget->used), (unsigned long long)budget->limit, why);
  TS_SYNC("room:free:granted");
  pthread_mutex_lock(&shard->lock);
  shard->index_grant += bytes;
  pthread_mutex_unlock(&shard->lock);
  return TS_OK;
}

bool ts_room_make(ts_store *store, uint64_t bytes) {
  ts_budget *budget = ts_dram_budget(store);
  bool there = false, more = true;
  ts_descent_begin(store);
  pthread_mutex_lock(&store->growth);
  while (!there && more) {
    there = ts_budget_take(budget, TS_PURPOSE_INDEX, bytes);
    if (!there)
      more = spare_any(store) || (ts_is_dram_left(store) && release_one(store, (ts_err){NULL, 0}) == TS_OK);
  }
  pthread_mutex_unlock(&store->growth);
  ts_descent_end(store);
  if (there) ts_budget_give_back(budget, TS_PURPOSE_INDEX, bytes);
  return there;
}

/* What is used without working memory, which comes and goes by itself. */
static uint64_t used_to_stay(const ts_budget *budget) {
  uint64_t used = ts_budget_taken(budget), work = atomic_load(&budget->reserved[TS_PURPOSE_WORK]);
  return used - TS_MIN(work, used);
}

/* The headroom is short when buffers and index have taken a quarter of it (eighths: what may be left, without working
 * memory and with it). */
static bool is_above(const ts_budget *budget, uint64_t stay, uint64_t all) {
  const uint64_t eighth = budget->headroom / 8;
  return used_to_stay(budget) > budget->limit - stay * eighth || ts_budget_taken(budget) > budget->limit - all * eighth;
}

static bool is_short_of_headroom(const ts_store *store) {
  const ts_budget *budget = ts_dram_budget(store);
  return ts_is_dram_left(store) && !budget->rows_only && is_above(budget, 6, 2);
}

/* What grew into the headroom is given back to it. */
static void restore_headroom(ts_store *store) {
  while (is_above(ts_dram_budget(store), 7, 3))
    if (release_one(store, (ts_err){NULL, 0}) != TS_OK) return;
}

void ts_room_restore(ts_store *store) {
  if (!is_short_of_headroom(store) || pthread_mutex_trylock(&store->growth) != 0) return;
  if (ts_descent_try(store)) { /* or those inside do it when they leave */
    restore_headroom(store);
    ts_descent_end(store);
  }
  pthread_mutex_unlock(&store->growth);
}

/* Calls `visit` for every shard. */
static void each_shard(ts_store *store, void (*visit)(ts_shard *shard, void *context), void *context) {
  const uint32_t n = atomic_load_explicit(&store->table_count, memory_order_acquire);
  for (uint32_t i = 0; i < n; i++)
    for (uint32_t s = 0; s < store->tables[i]->shard_count; s++) visit(&store->tables[i]->shards[s], context);
}

/* What the shards tell, all under the lock on growth. */
typedef struct round {
  uint32_t tier;
  uint64_t shards, youngest, wanted;
  ts_shard *oldest; /* of those that can give a chunk */
} round;

/* The mean time that rows stay, if the shard can give a chunk; else 0. From where none left they stay for ever, also in
 * a table that has been emptied. */
static void look_at(ts_shard *shard, void *context) {
  round *r = context;
  pthread_mutex_lock(&shard->lock);
  const uint64_t rows = shard->rows[r->tier].live;
  const bool gives = shard->rows[r->tier].chunk_count > 1;
  pthread_mutex_unlock(&shard->lock);
  const uint64_t evictions = shard->lately = atomic_load_explicit(&shard->evictions[r->tier], memory_order_relaxed);
  if (evictions > 0) r->youngest = TS_MIN(r->youngest, TS_MAX(rows, 1u) * 1024 / evictions);
  shard->age = !gives ? 0 : evictions == 0 ? UINT64_MAX / 2 : 1 + rows * 1024 / evictions;
  r->shards++;
}

/* Half of what was counted before stays: one round has little to go by. */
static void forget_half(ts_shard *shard, void *context) {
  const round *r = context;
  atomic_store_explicit(&shard->evictions[r->tier], shard->lately / 2, memory_order_relaxed);
}

static void find_oldest(ts_shard *shard, void *context) {
  round *r = context;
  if (shard->age > 0 && (r->oldest == NULL || shard->age > r->oldest->age)) r->oldest = shard;
}

/* What young shards turned over is what they would have taken from the others in one cache. */
static void add_wanted(ts_shard *shard, void *context) {
  round *r = context;
  if (shard->age < r->oldest->age / AGES_APART) r->wanted += shard->lately * shard->rows[r->tier].stride;
}

static void rebalance(ts_store *store, uint32_t tier) {
  round r = {.tier = tier, .youngest = UINT64_MAX};
  each_shard(store, look_at, &r);
  each_shard(store, forget_half, &r);
  atomic_store_explicit(&store->calls_to_rebalance, CALLS_A_SHARD * r.shards, memory_order_relaxed);
  each_shard(store, find_oldest, &r);
  if (r.shards < 2 || r.oldest == NULL || r.youngest == UINT64_MAX) return;
  each_shard(store, add_wanted, &r);
  uint64_t given = 0;
  while (given < r.wanted && r.oldest != NULL && r.oldest->age / AGES_APART > r.youngest) {
    ts_shard *giver = r.oldest;
    giver->age = 0; /* has given in this round */
    uint64_t chunks, after;
    const uint64_t held = held_by(giver, tier, &chunks);
    for (uint64_t moves = chunks / MOVES_A_ROUND + 1; moves > 0; moves--)
      if (release_of(giver, tier, (ts_err){NULL, 0}) != TS_OK) break;
    given += held - TS_MIN(held, held_by(giver, tier, &after));
    r.oldest = NULL;
    each_shard(store, find_oldest, &r);
  }
}

static bool has_place(ts_shard *shard) {
  pthread_mutex_lock(&shard->lock);
  const bool yes = shard->rows[0].live > 0 || ts_rows_reserve(&shard->rows[0], 1) > 0;
  ts_rows_settle(&shard->rows[0]);
  pthread_mutex_unlock(&shard->lock);
  return yes;
}

void ts_room_feed(ts_shard *shard) {
  ts_store *store = shard->table->store;
  pthread_mutex_lock(&store->growth);
  round r = {.youngest = UINT64_MAX};
  each_shard(store, look_at, &r);
  for (uint32_t tries = 0; tries < FEEDING_TRIES && !has_place(shard); tries++) {
    r.oldest = NULL;
    each_shard(store, find_oldest, &r);
    if (r.oldest == NULL) break;
    ts_shard *giver = r.oldest;
    giver->age = release_of(giver, 0, (ts_err){NULL, 0}) == TS_OK ? giver->age / AGES_APART : 0;
  }
  pthread_mutex_unlock(&store->growth);
}

void ts_room_balance(ts_store *store) {
  const bool short_of = is_short_of_headroom(store);
  uint64_t left = atomic_load_explicit(&store->calls_to_rebalance, memory_order_relaxed);
  if (left > 0) atomic_compare_exchange_strong(&store->calls_to_rebalance, &left, left - 1);
  if (!short_of && left > 0) return;
  if (pthread_mutex_trylock(&store->growth) != 0) return;
  if (ts_descent_try(store)) {
    if (short_of) restore_headroom(store);
    for (uint32_t t = 0; left == 0 && t <= store->dram && t + 1 < store->tier_count; t++) rebalance(store, t);
    ts_descent_end(store);
  }
  pthread_mutex_unlock(&store->growth);
}
