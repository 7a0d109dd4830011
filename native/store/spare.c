/* spare.c - memory of rows that were removed goes back to the tier's limit, so that other tables can have it.
 *
 * Such rows leave an index that is too large, which becomes smaller whenever three quarters of its keys have gone, and
 * before a limit refuses; and free places, which only their own shard can use. In a first tier whose rows can move down,
 * room.c gives up chunks. In a tier alone, and in the lowest of memory, nothing can move down; but rows of the last chunks
 * can move to free places of the others. They have no key beside them, so the index is walked for them, once for all
 * chunks of a shard; shards that have much to give come first. */
#include "store/store.h"

#include <stdlib.h>
#include <string.h>

#define MUCH 8u                        /* first those that can give so many parts of their chunks, or more */
#define GRANT (UINT64_C(64) << 10) /* bytes for the first segments that are rebuilt smaller */

void ts_spare_copies(ts_shard *shard, uint32_t tier, uint64_t first) {
  ts_rows *rows = &shard->rows[tier];
  if (tier == 0 || rows->copies == 0) return;
  ts_rows *above = &shard->rows[tier - 1];
  for (uint64_t row = 0; row < above->next && rows->copies > 0; row++) {
    uint8_t *flags = ts_rows_flags(above, row);
    if (!ts_policy_holds(ts_rows_word(above, row)) || !(*flags & TS_ROW_COPY)) continue;
    const uint64_t place = ts_rows_below(above, row);
    if (place < first) continue;
    *flags &= TS_ROW_STAYS;
    rows->copies--;
    ts_rows_free(rows, place);
  }
}

/* Places from `first` on that hold no row are free again, after their links were cut: those that the index does not name. */
static void relink(ts_shard *shard, uint32_t tier, uint64_t first) {
  ts_rows *rows = &shard->rows[tier];
  bool *holds = calloc(rows->next - first, sizeof *holds);
  ts_index_cursor cursor = {0};
  int64_t key;
  ts_location l;
  if (holds == NULL) return; /* nobody has them until their chunks go */
  while (ts_index_next(&shard->index, &cursor, &key, &l))
    if (TS_LOCATION_TIER(l) == tier && TS_LOCATION_ROW(l) >= first) holds[TS_LOCATION_ROW(l) - first] = true;
  for (uint64_t row = first; row < rows->next; row++) {
    if (holds[row - first]) continue;
    rows->live++; /* which freeing takes off again */
    ts_rows_free(rows, row);
  }
  free(holds);
}

/* Rows from `first` on move to free places before it; false if the medium refuses. */
static bool move_down(ts_shard *shard, uint32_t tier, uint64_t first) {
  ts_rows *rows = &shard->rows[tier];
  ts_index_cursor cursor = {0};
  int64_t key;
  ts_location l;
  bool moved = false, refused = false;
  while (!refused && ts_index_next(&shard->index, &cursor, &key, &l)) {
    if (TS_LOCATION_TIER(l) != tier || TS_LOCATION_ROW(l) < first) continue;
    const uint64_t to = ts_rows_take(rows, key);
    refused = ts_rows_copy(rows, to, TS_LOCATION_ROW(l), (ts_err){NULL, 0}) != TS_OK;
    if (refused) {
      ts_rows_free(rows, to);
      break;
    }
    rows->live--; /* it was there already */
    ts_index_move(&shard->index, key, ts_index_hash(key), TS_LOCATION(tier, to));
    moved = true;
  }
  if (moved) ts_epoch_wait(&shard->table->store->epochs); /* readers may look at the places the rows had */
  if (refused) relink(shard, tier, first);
  return !refused;
}

/* Of a tier whose rows can leave it: chunks that its free places make up for. */
static bool give_free_places(ts_shard *shard, uint32_t tier) {
  ts_rows *rows = &shard->rows[tier];
  ts_traffic none = {0};
  bool given = false;
  while (rows->chunk_count > 0 && ts_rows_spare(rows) >= ts_rows_in(rows, rows->chunk_count - 1) &&
         ts_room_release(shard, tier, &none, (ts_err){NULL, 0}) == TS_OK)
    given = true;
  return given;
}

/* Shard locked. `share`: not for less than so many parts of the chunks; 0: for any. */
static bool give_chunks(ts_shard *shard, uint32_t tier, uint64_t share) {
  ts_rows *rows = &shard->rows[tier];
  if (rows->budget->rows_only) return false;
  const uint32_t dram = shard->table->store->dram;
  if (rows->policy != NULL) return tier <= dram && share == 0 && give_free_places(shard, tier);
  /* Copies in memory that what lies beside rows could have are the first to go. */
  if (tier > 0 && tier == dram && share == 0) ts_spare_copies(shard, tier, 0);
  uint64_t keep = 0;
  while (ts_rows_first_of(rows, keep) < rows->live) keep++;
  const uint64_t all = ts_rows_first_of(rows, rows->chunk_count), first = ts_rows_first_of(rows, keep);
  if (keep >= rows->chunk_count || (share > 0 && all - first < all / share)) return false;
  ts_spare_copies(shard, tier, first);
  ts_rows_unlink(rows, first);
  if (rows->next > first && !move_down(shard, tier, first)) return false;
  rows->next = TS_MIN(rows->next, first);
  while (rows->chunk_count > keep) ts_rows_drop_chunk(rows);
  return true;
}

/* A smaller segment is there before the larger one goes: the headroom lends the memory for that. */
bool ts_spare_index(ts_shard *shard) {
  ts_budget *dram = ts_dram_budget(shard->table->store);
  ts_index_clear_reservations(&shard->index); /* of a call that was refused */
  const uint64_t lent = ts_budget_take_first(dram, TS_PURPOSE_INDEX, GRANT) ? GRANT : 0, before = shard->index_grant;
  shard->index_grant += lent;
  const uint64_t bytes = ts_index_shrink(&shard->index), left = shard->index_grant - TS_MIN(shard->index_grant, before);
  ts_budget_give_back(dram, TS_PURPOSE_INDEX, left);
  shard->index_grant -= left;
  return bytes > 0;
}

static bool sweep(ts_store *store, uint32_t tier, uint64_t share) {
  bool freed = false;
  const uint32_t n = atomic_load_explicit(&store->table_count, memory_order_acquire);
  for (uint32_t i = 0; i < n; i++)
    for (uint32_t s = 0; s < store->tables[i]->shard_count; s++) {
      ts_shard *shard = &store->tables[i]->shards[s];
      pthread_mutex_lock(&shard->lock);
      if (tier < store->memory_tiers && give_chunks(shard, tier, share)) freed = true;
      if (tier == store->dram && ts_spare_index(shard)) freed = true;
      pthread_mutex_unlock(&shard->lock);
    }
  return freed;
}

bool ts_spare_sweep(ts_store *store, uint32_t tier) { return sweep(store, tier, MUCH) || sweep(store, tier, 0); }

bool ts_spare_free(ts_store *store, uint32_t tier, bool all) {
  pthread_mutex_lock(&store->growth);
  const bool freed = all ? sweep(store, tier, 0) : ts_spare_sweep(store, tier);
  pthread_mutex_unlock(&store->growth);
  return freed;
}
