/* evict.c - rows on their way down: from a memory tier to the one below it, or to the tier of records.
 *
 * A row whose bytes are below already, as a copy in the next memory tier or as a record, only loses its place: nothing is
 * written. A place below is found among the free ones, then by giving up copies of rows that are above, then by moving
 * other rows further down; where the shard has no row there either, since others have all of that tier, its rows go past it
 * to the records. The place above may be used again when every reader that might look at it has left. */
#include "base/sync_point.h"
#include "store/store.h"

#include <string.h>

#define ROUND TS_ROWS_SEEN /* rows that leave together: one wait for readers, one batch of records */

/* Gives up to `want` copies in tier 1 of rows that are in tier 0. */
static void give_up_copies(ts_shard *shard, uint64_t want) {
  ts_rows *above = &shard->rows[0], *below = &shard->rows[1];
  want = TS_MIN(want, below->copies);
  for (uint64_t looked = 0; want > 0 && looked < above->next; looked++) {
    uint64_t row = shard->steal_hand = shard->steal_hand + 1 < above->next ? shard->steal_hand + 1 : 0;
    uint8_t *flags = ts_rows_flags(above, row);
    if (!ts_policy_holds(ts_rows_word(above, row)) || !(*flags & TS_ROW_COPY)) continue;
    uint64_t place = ts_rows_below(above, row);
    *flags &= TS_ROW_STAYS;
    below->copies--;
    ts_rows_free(below, place);
    want--;
  }
}

uint64_t ts_evict_places(ts_shard *shard, uint32_t tier, uint64_t want, int32_t *status, ts_traffic *traffic, ts_err err) {
  ts_rows *rows = &shard->rows[tier];
  ts_store *store = shard->table->store;
  uint64_t got = ts_rows_reserve(rows, want);
  if (got < want && tier == 1) {
    give_up_copies(shard, want - got);
    got = ts_rows_reserve(rows, want);
  }
  while (got < want && tier + 1 < store->tier_count) {
    uint32_t freed = 0;
    *status = ts_evict(shard, tier, (uint32_t)TS_MIN(want - got, ROUND), &freed, traffic, err);
    if (*status != TS_OK || freed == 0) break;
    got = ts_rows_reserve(rows, want);
  }
  return got;
}

/* Lookups count in the row above alone. */
static void copy_frequency(const ts_row_layout *layout, const unsigned char *row, unsigned char *copy) {
  ts_row_set_frequency(layout, copy, ts_row_frequency(layout, row));
}

/* Rows to a memory tier below: those that moved are at the front of `slots` afterwards, the others, which have no copy in the
 * next tier, behind them. */
static uint32_t to_memory(ts_shard *shard, uint32_t tier, uint32_t lower, uint64_t *slots, uint32_t n, int32_t *status,
                          ts_traffic *traffic, ts_err err) {
  ts_rows *from = &shard->rows[tier], *to = &shard->rows[lower];
  const bool counts = shard->table->layout.frequency_offset != 0;
  uint32_t moved = 0, clean = 0;
  const unsigned char *bytes[ROUND];
  *status = ts_rows_see(from, n, slots, bytes, err); /* also of copies: making places may give these up */
  if (*status != TS_OK) return 0;
  for (uint32_t i = 0; i < n; i++) {
    uint64_t row = slots[i], place;
    int64_t key = *ts_rows_key(from, row);
    uint8_t flags = *ts_rows_flags(from, row);
    if (flags & TS_ROW_COPY) {
      place = ts_rows_below(from, row);
      to->copies--;
      clean++;
      if (counts) copy_frequency(&shard->table->layout, bytes[i], ts_rows_at(to, place));
      if (to->policy != NULL) *ts_rows_key(to, place) = key;
    } else {
      if (*status != TS_OK || ts_evict_places(shard, lower, 1, status, traffic, err) == 0) continue;
      /* Making the place may have given up this row's record; it has no copy. */
      flags = *ts_rows_flags(from, row);
      place = ts_rows_take(to, key);
      ts_traffic_write(shard, lower, place, bytes[i], traffic);
    }
    uint64_t hash = ts_index_hash(key);
    if (to->policy != NULL) {
      *ts_rows_flags(to, place) = flags & TS_ROW_STAYS;
      ts_policy_insert(to->policy, place, ts_rows_word(to, place), hash);
    }
    ts_index_move(&shard->index, key, hash, TS_LOCATION(lower, place));
    *ts_rows_flags(from, row) = 0; /* its copy is no copy any more: nobody may give it up */
    slots[i] = slots[moved];
    slots[moved++] = row;
  }
  if (tier == 0) ts_count(shard->table, TS_STAT_evicted_clean, clean);
  return moved;
}

/* Removes up to `want` records of rows that are in memory, too: room for others. */
uint32_t ts_give_up_records(ts_shard *shard, uint32_t want) {
  ts_table *table = shard->table;
  uint32_t gone = 0;
  for (uint32_t t = 0; t < table->store->memory_tiers && shard->recorded > 0; t++) {
    ts_rows *rows = &shard->rows[t];
    for (uint64_t row = 0; row < rows->next && gone < want && shard->recorded > 0; row++) {
      uint8_t *flags = ts_rows_flags(rows, row);
      /* A free place has a link for a key, old flags, and a word that need not be 0: policies keep what left in there. */
      if (!ts_policy_holds(ts_rows_word(rows, row)) || !(*flags & TS_ROW_RECORD)) continue;
      const int64_t key = *ts_rows_key(rows, row);
      ts_kept_before_loss(shard, t, row);
      if (ts_records_remove(table, key, (ts_err){NULL, 0}) != TS_OK) return gone;
      *flags &= (uint8_t)~TS_ROW_RECORD;
      shard->recorded--;
      gone++;
    }
  }
  return gone;
}

/* Some of a refused batch may be records now, of rows that stay in memory. */
static void after_refusal(ts_shard *shard, uint32_t tier, const uint64_t *slots, uint32_t n) {
  ts_table *table = shard->table;
  ts_rows *rows = &shard->rows[tier];
  for (uint32_t i = 0; i < n; i++) {
    uint8_t *flags = ts_rows_flags(rows, slots[i]);
    if (*flags & TS_ROW_RECORD || !ts_records_has(table, *ts_rows_key(rows, slots[i]))) continue;
    *flags |= TS_ROW_STALE;
    shard->recorded++;
  }
}

/* Rows to the tier of records: all or none. */
static int32_t to_records(ts_shard *shard, uint32_t tier, const uint64_t *slots, uint32_t n, ts_err err) {
  ts_table *table = shard->table;
  ts_rows *from = &shard->rows[tier];
  int64_t keys[ROUND], dirty[ROUND];
  uint64_t versions[ROUND];
  const unsigned char *rows[ROUND];
  uint8_t known[ROUND];
  const unsigned char *bytes[ROUND];
  uint32_t put;
  ts_kept_before_leaving(shard, tier, slots, n);
  const int32_t seen = ts_rows_see(from, n, slots, bytes, err);
  if (seen != TS_OK) return seen;
  for (bool again = false;; again = true) {
    put = 0;
    for (uint32_t i = 0; i < n; i++) {
      const uint8_t flags = *ts_rows_flags(from, slots[i]);
      keys[i] = *ts_rows_key(from, slots[i]);
      if (flags & TS_ROW_SAVED) continue;
      known[put] = flags & TS_ROW_RECORD ? TS_RECORD_THERE : TS_RECORD_NONE;
      dirty[put] = keys[i];
      rows[put] = bytes[i];
      versions[put] = ts_record_version(&table->layout, rows[put]);
      put++;
    }
    /* Some that a refused call has put have no flag yet. */
    int32_t status = put == 0 ? TS_OK : ts_records_put(table, put, dirty, versions, rows, again ? NULL : known, err);
    if (status == TS_OK) break;
    if (status == TS_EFULL && ts_give_up_records(shard, put) > 0) continue; /* each time there are fewer */
    after_refusal(shard, tier, slots, n);
    return status;
  }
  ts_count(table, TS_STAT_tier1_written + (table->store->memory_tiers - 1), put * from->stride);
  for (uint32_t i = 0; i < n; i++) {
    if (*ts_rows_flags(from, slots[i]) & TS_ROW_RECORD) shard->recorded--;
    ts_index_remove(&shard->index, keys[i], ts_index_hash(keys[i]));
  }
  if (tier == 0) ts_count(table, TS_STAT_evicted_clean, n - put);
  return TS_OK;
}

/* Moves these rows down; *moved of them, from the front, left. */
static int32_t evict_rows(ts_shard *shard, uint32_t tier, const uint64_t *which, uint32_t n, uint32_t *moved,
                          ts_traffic *traffic, ts_err err) {
  ts_table *table = shard->table;
  ts_rows *from = &shard->rows[tier];
  uint64_t slots[ROUND];
  *moved = 0;
  const uint32_t round = ts_rows_at_once(from);
  for (uint32_t first = 0; first < n; first += round) {
    uint32_t m = TS_MIN(n - first, round);
    int32_t status = TS_OK;
    memcpy(slots, which + first, m * sizeof *slots);
    const uint32_t all = m;
    m = 0;
    /* Other shards may have all of a tier below: past it. */
    for (uint32_t lower = tier + 1; status == TS_OK && m < all && lower < table->store->memory_tiers; lower++) {
      m += to_memory(shard, tier, lower, slots + m, all - m, &status, traffic, err);
      if (lower <= table->store->dram) atomic_fetch_add_explicit(&shard->evictions[lower], all - m, memory_order_relaxed);
    }
    if (status == TS_OK && m < all && table->records != NULL) {
      status = to_records(shard, tier, slots + m, all - m, err);
      if (status == TS_OK) m = all;
    }
    if (m == 0) return status;
    for (uint32_t i = 0; i < m; i++)
      ts_policy_remove(from->policy, slots[i], ts_rows_word(from, slots[i]), ts_index_hash(*ts_rows_key(from, slots[i])),
                       true);
    TS_SYNC("evict:rows:unreachable");
    if (tier == 0) ts_epoch_wait(&table->store->epochs);
    for (uint32_t i = 0; i < m; i++) ts_rows_free(from, slots[i]);
    *moved += m;
    ts_count(table, tier == 0 ? TS_STAT_evicted : TS_STAT_tier1_evicted + (tier - 1), m);
    if (tier <= table->store->dram) atomic_fetch_add_explicit(&shard->evictions[tier], m, memory_order_relaxed);
    if (status != TS_OK) return status;
  }
  return TS_OK;
}

int32_t ts_evict(ts_shard *shard, uint32_t tier, uint32_t want, uint32_t *freed, ts_traffic *traffic, ts_err err) {
  uint64_t slots[ROUND];
  *freed = 0;
  if (shard->rows[tier].policy == NULL) return TS_OK;
  while (*freed < want) {
    uint32_t moved, n = ts_policy_victims(shard->rows[tier].policy, TS_MIN(want - *freed, ROUND), slots);
    if (n == 0) break;
    int32_t status = evict_rows(shard, tier, slots, n, &moved, traffic, err);
    if (status != TS_OK) return status;
    *freed += moved;
    if (moved == 0) break;
  }
  return TS_OK;
}
