/* tracking.c - memory for the maps of changes (cut.h): two a table that take turns, charged to the first tier.
 *
 * A map that has few slots for its rows is right, but a delta then holds many rows that did not change. So it grows when a full
 * cut begins, which needs no map: the next deltas count from there. */
#include "store/store.h"

#define FIRST_LOG2 16u
#define SLOTS_A_ROW 8u /* one row in ten changed: then at most 1.1 rows more of ten share its slot by chance */
#define SHARE 64u      /* of the first tier: both maps of a table, at most */

static uint64_t bytes_of(uint32_t log2) { return ts_changes_words(log2) * sizeof(uint64_t); }

void ts_tracking_give_back(ts_store *store, uint64_t *words, uint32_t log2) {
  if (words == NULL) return;
  ts_piece_give_back(ts_blocks_pieces(store->blocks), words, bytes_of(log2));
  ts_budget_give_back(ts_dram_budget(store), TS_PURPOSE_POLICY, ts_piece_bytes(bytes_of(log2)));
}

static uint64_t *take(ts_store *store, uint32_t log2) {
  ts_budget *budget = ts_dram_budget(store);
  const uint64_t charged = ts_piece_bytes(bytes_of(log2));
  if (!ts_budget_take(budget, TS_PURPOSE_POLICY, charged)) return NULL;
  uint64_t *words = ts_piece_take(ts_blocks_pieces(store->blocks), bytes_of(log2));
  if (words == NULL) ts_budget_give_back(budget, TS_PURPOSE_POLICY, charged);
  return words;
}

static bool take_pair(ts_store *store, uint32_t log2, uint64_t *pair[2]) {
  pair[0] = take(store, log2);
  pair[1] = pair[0] == NULL ? NULL : take(store, log2);
  if (pair[1] != NULL) return true;
  ts_tracking_give_back(store, pair[0], log2);
  return false;
}

static bool is_small(const ts_store *store, uint32_t log2) {
  return 2 * bytes_of(log2) <= ts_dram_budget(store)->limit / SHARE;
}

int32_t ts_tracking_begin(ts_table *table, ts_err err) {
  ts_store *store = table->store;
  if (!store->track_changes) return TS_OK;
  uint32_t log2 = TS_CHANGES_LOG2_LEAST;
  uint64_t *pair[2];
  while (log2 < FIRST_LOG2 && is_small(store, log2 + 1)) log2++;
  if (!take_pair(store, log2, pair))
    return ts_fail(err, TS_EFULL, "Cannot create table \"%s\": no room to keep its changes in the first tier's %llu bytes; "
                   "raise its size", table->name, (unsigned long long)ts_dram_budget(store)->limit);
  table->changes = (ts_changes){pair[0], log2};
  table->spare_changes = pair[1];
  return TS_OK;
}

void ts_tracking_end(ts_table *table) {
  ts_tracking_give_back(table->store, table->changes.words, table->changes.log2);
  ts_tracking_give_back(table->store, table->spare_changes, table->changes.log2);
}

bool ts_tracking_resize(ts_table *table, uint32_t log2) {
  uint64_t *pair[2];
  if (table->changes.words == NULL || table->changes.log2 == log2) return true;
  if (log2 < TS_CHANGES_LOG2_LEAST || log2 > TS_CHANGES_LOG2_MOST || !take_pair(table->store, log2, pair)) return false;
  ts_tracking_end(table);
  table->changes = (ts_changes){pair[0], log2};
  table->spare_changes = pair[1];
  return true;
}

bool ts_tracking_grow(ts_table *table, uint64_t rows, uint64_t *pair[2], uint32_t *log2) {
  ts_store *store = table->store;
  if (table->changes.words == NULL) return false;
  *log2 = table->changes.log2;
  while (*log2 < TS_CHANGES_LOG2_MOST && UINT64_C(1) << *log2 < rows * SLOTS_A_ROW && is_small(store, *log2 + 1)) ++*log2;
  return *log2 > table->changes.log2 && take_pair(store, *log2, pair);
}
