/* fast.c - rows in the first tier, found and copied without a lock.
 *
 * The idea: a lookup costs two memory accesses that nothing can avoid, the bucket of the index and the row. Keys go
 * through in blocks, each stage a short loop over the whole block; what a stage will need is asked for while another block
 * is in the stage before it. In a short loop the CPU itself runs far ahead and keeps as many accesses on their way as the
 * memory takes; one long loop that does everything for each key, with prefetches, is slower here (docs/performance-lessons.md). */
#include "base/sync_point.h"
#include "store/flow.h"
#include "store/store.h"

#include "kernels/gather.h"

#define BLOCKS_AN_EPOCH 8u /* others wait for at most so many blocks ... */
#define BLOCKS_ALONE 256u  /* ... or so many, where rows do not move: a millisecond */

typedef struct found {
  const void *rows[TS_FAST_BLOCK]; /* NULL: not in the first tier */
  uint64_t hashes[TS_FAST_BLOCK];
  ts_location locations[TS_FAST_BLOCK];
} found;

/* Tells the policies of looked-up rows; inside the epoch. */
static void touch(ts_table *table, void *const *rows, const uint64_t *hashes, const ts_location *locations, uint32_t n) {
  if (!atomic_load_explicit(&table->tracking, memory_order_relaxed)) return;
  /* A policy serves a shard: words by shard. */
  uint32_t at[TS_MAX_SHARDS + 1] = {0};
  for (uint32_t i = 0; i < n; i++) at[rows[i] == NULL ? 0 : ts_shard_number(table, hashes[i]) + 1]++;
  at[0] = 0;
  for (uint32_t s = 0; s < table->shard_count; s++) at[s + 1] += at[s];
  ts_policy_word *words[TS_FAST_BLOCK];
  uint64_t sorted[TS_FAST_BLOCK];
  uint32_t next[TS_MAX_SHARDS];
  for (uint32_t s = 0; s < table->shard_count; s++) next[s] = at[s];
  for (uint32_t i = 0; i < n; i++) {
    if (rows[i] == NULL) continue;
    uint32_t s = ts_shard_number(table, hashes[i]);
    words[next[s]] = ts_rows_word(&table->shards[s].rows[0], TS_LOCATION_ROW(locations[i]));
    sorted[next[s]++] = hashes[i];
  }
  for (uint32_t s = 0; s < table->shard_count; s++)
    if (at[s + 1] > at[s])
      ts_policy_touch(table->shards[s].rows[0].policy, words + at[s], sorted + at[s], at[s + 1] - at[s]);
}

static uint32_t find_block(const ts_table *table, const int64_t *keys, uint32_t n, found *f) {
  ts_index_home homes[TS_FAST_BLOCK];
  ts_index_approach(table->indexes, table->shard_bits, keys, n, f->hashes, homes);
  ts_index_read(table->store->level, keys, f->hashes, homes, n, NULL, 0, f->locations);
  return n - ts_rows_locate(table->store->level, table->first, table->shard_bits, f->hashes, f->locations, n, f->rows);
}

uint32_t ts_fast_block(ts_table *table, const int64_t *keys, uint32_t n, void **rows, uint64_t *hashes) {
  found f;
  uint32_t missed = find_block(table, keys, n, &f);
  memcpy(rows, f.rows, n * sizeof *rows);
  memcpy(hashes, f.hashes, n * sizeof *hashes);
  return missed;
}

static void mark_missed(const void *const *rows, uint32_t n, uint64_t first, uint64_t *missed) {
  for (uint32_t i = 0; i < n; i++)
    if (rows[i] == NULL) missed[(first + i) / 64] |= UINT64_C(1) << (first + i) % 64;
}


/* ---- rows found a moment ago ----
 *
 * With skewed keys most of a batch are keys that were there before. A small table, each key with one place, leads from them
 * to their rows without the index: 3 ns a key less at Zipf 1.2. It lives for one epoch, so all that it names is still
 * there. Where few keys repeat it costs more than it saves: after a few blocks it must have proved its worth. Calls that
 * are over by then do without: clearing the table costs them more (3 ns a key of a call of 2,048) than it can bring. */

#define RECENT_BITS 12u /* with 10 bits half of that gain, with 13 no more */
#define RECENT (1u << RECENT_BITS)
#define TRIAL 8u /* blocks */
#define WORTH 5u /* of so many keys one must have been found there: in a trial 0.12 at Zipf 0.9, 0.30 at 1.05 */

typedef struct recent {
  struct {
    int64_t key;
    const void *row;
  } entries[RECENT + 1]; /* the last receives what is not to be kept */
  uint32_t hits;
  bool used;
} recent;

static inline uint32_t recent_place(int64_t key) {
  return (uint32_t)((uint64_t)key * UINT64_C(0x9e3779b97f4a7c15) >> (64 - RECENT_BITS));
}

static void recent_clear(recent *r) {
  memset(r, 0, sizeof *r);
  r->entries[0].key = 1; /* key 0 would be at place 0; 1 is not */
  r->used = true;
}

/* ---- the stages ----
 *
 * A block of keys goes through four: its buckets are asked for; they are read, and its rows asked for; the keys that are not
 * at home are looked for in the next bucket; its rows are copied. Blocks follow each other a stage apart, so that what one
 * asks for comes while the others work. Blocks of 64 and 128 keys were slower than of 256. */

typedef struct block {
  uint32_t n;
  uint32_t here;       /* rows found so far */
  uint32_t sought;     /* keys that are looked for in the index ... */
  const int64_t *keys; /* ... these */
  bool whole;          /* they are all keys of the block; otherwise, in own, those numbered at[0..sought) */
  uint32_t left;       /* of them not found yet */
  const void *rows[TS_FAST_BLOCK]; /* of all keys; NULL: not in the first tier */
  uint64_t hashes[TS_FAST_BLOCK];
  ts_index_home homes[TS_FAST_BLOCK];
  ts_index_left lefts[TS_FAST_BLOCK];
  int64_t own[TS_FAST_BLOCK];
  uint8_t at[TS_FAST_BLOCK];
} block;

#define STAGES 4u

typedef struct stages {
  const ts_table *table;
  uint32_t level;
  block ring[STAGES];
  recent recent;
} stages;

static void ask_block(stages *s, block *b, const int64_t *keys, uint32_t n) {
  b->n = n;
  b->whole = !s->recent.used;
  if (b->whole) {
    b->keys = keys;
    b->sought = n;
  } else {
    uint32_t sought = 0;
    for (uint32_t i = 0; i < n; i++) {
      const int64_t key = keys[i];
      const uint32_t place = recent_place(key);
      b->rows[i] = s->recent.entries[place].row; /* until it is found, whatever was there */
      b->own[sought] = key;
      b->at[sought] = (uint8_t)i;
      sought += s->recent.entries[place].key != key;
    }
    b->keys = b->own;
    b->sought = sought;
    s->recent.hits += n - sought;
  }
  b->here = n - b->sought;
  if (b->sought == 0) return;
  ts_index_hash_all(s->level, b->keys, b->sought, b->hashes);
  ts_index_aim(s->level, s->table->indexes, s->table->shard_bits, b->hashes, b->sought, false, b->homes);
}

static void keep(recent *r, int64_t key, const void *row) {
  const uint32_t place = row == NULL ? RECENT : recent_place(key);
  r->entries[place].key = key;
  r->entries[place].row = row;
}

static void read_block(stages *s, block *b, const block *next) {
  ts_location locations[TS_FAST_BLOCK];
  const void *rows[TS_FAST_BLOCK];
  if (b->sought == 0) return;
  b->left = ts_index_read_home(s->level, b->keys, b->hashes, b->homes, b->sought, next->homes,
                               TS_MIN(next->sought, b->sought), locations, b->lefts);
  b->here += ts_rows_locate(s->level, s->table->first, s->table->shard_bits, b->hashes, locations, b->sought,
                            b->whole ? b->rows : rows);
  if (b->whole) return;
  for (uint32_t j = 0; j < b->sought; j++) {
    b->rows[b->at[j]] = rows[j];
    keep(&s->recent, b->keys[j], rows[j]);
  }
}

static void search_on(stages *s, block *b, bool all) {
  ts_location locations[TS_FAST_BLOCK];
  uint32_t lefts[TS_FAST_BLOCK];
  const uint32_t count = b->left;
  if (count == 0) return;
  for (uint32_t p = 0; p < count; p++) lefts[p] = b->lefts[p].key;
  b->left = ts_index_read_on(s->level, b->keys, b->hashes, b->homes, b->lefts, count, all, locations);
  for (uint32_t p = 0; p < count; p++) {
    const uint32_t j = lefts[p];
    const ts_location l = locations[j];
    if (l >> TS_LOCATION_ROW_BITS != 0) continue;
    const void *row = ts_rows_view_at(&s->table->first[ts_shard_number(s->table, b->hashes[j])], l);
    __builtin_prefetch(row);
    b->rows[b->whole ? j : b->at[j]] = row;
    b->here++;
    if (!b->whole) keep(&s->recent, b->keys[j], row);
  }
}

/* Where few keys repeat, and the CPU has the loop of flow.c, all keys behind the trial are left to that. */
static uint64_t look_up_blocks(ts_table *table, const int64_t *keys, uint64_t n, float *out, uint64_t stride,
                               uint64_t first, uint64_t *missed) {
  uint64_t blocks = (n + TS_FAST_BLOCK - 1) / TS_FAST_BLOCK, misses = 0;
  stages s;
  s.table = table;
  s.level = table->store->level;
  s.recent.hits = 0;
  s.recent.used = blocks > TRIAL;
  if (s.recent.used) recent_clear(&s.recent);
  for (uint32_t i = 0; i < STAGES; i++) s.ring[i].n = s.ring[i].here = s.ring[i].sought = s.ring[i].left = 0;
  if (!s.recent.used && ts_flow_serves(table)) blocks = 0;
  for (uint64_t t = 0; blocks > 0 && t < blocks + STAGES - 1; t++) {
    block *asking = &s.ring[t % STAGES], *reading = &s.ring[(t + 3) % STAGES], *searching = &s.ring[(t + 2) % STAGES];
    const block *copying = &s.ring[(t + 1) % STAGES];
    asking->n = asking->here = asking->sought = asking->left = 0;
    if (s.recent.used && t == TRIAL) {
      s.recent.used = s.recent.hits >= TRIAL * TS_FAST_BLOCK / WORTH;
      if (!s.recent.used && ts_flow_serves(table)) blocks = TRIAL;
    }
    if (t < blocks)
      ask_block(&s, asking, keys + t * TS_FAST_BLOCK, (uint32_t)TS_MIN(n - t * TS_FAST_BLOCK, TS_FAST_BLOCK));
    read_block(&s, reading, asking);
    search_on(&s, searching, false);
    if (copying->n > 0)
      ts_gather_rows(s.level, &table->layout, copying->rows, copying->n, searching->rows, searching->n,
                     out + (t + 1 - STAGES) * TS_FAST_BLOCK * stride, stride);
    search_on(&s, searching, true); /* the last few, whose buckets have come meanwhile */
    if (searching->here == searching->n) continue;
    mark_missed(searching->rows, searching->n, first + (t - 2) * TS_FAST_BLOCK, missed);
    misses += searching->n - searching->here;
  }
  const uint64_t done = TS_MIN(blocks * TS_FAST_BLOCK, n);
  if (done == n) return misses;
  return misses + ts_flow_lookup(table, keys + done, (uint32_t)(n - done), out + done * stride, stride, first + done, missed);
}

/* Lookups that nobody counts, of rows that do not expire. */
static uint64_t look_up(ts_table *table, ts_epoch_slot *slot, const int64_t *keys, uint64_t n, float *out, uint64_t stride,
                        uint64_t *missed) {
  ts_store *store = table->store;
  const uint64_t an_epoch = BLOCKS_ALONE * TS_FAST_BLOCK; /* tracking begins before the first row moves */
  uint64_t misses = 0;
  for (uint64_t first = 0; first < n; first += an_epoch) {
    ts_epoch_enter(&store->epochs, slot);
    misses += look_up_blocks(table, keys + first, TS_MIN(n - first, an_epoch), out + first * stride, stride, first, missed);
    ts_epoch_leave(slot);
  }
  return misses;
}

/* Counts the lookups of rows that were found, outside of any epoch: under the shards' locks, so that nobody moves a row
 * while it is counted. A row that has left the first tier meanwhile counts as missed. Returns how many did. */
static uint64_t count_lookups(ts_table *table, const int64_t *keys, const uint32_t *times, uint64_t from, uint64_t to,
                              uint64_t *missed) {
  const ts_row_layout *layout = &table->layout;
  ts_shard *locked = NULL;
  uint64_t gone = 0;
  for (uint64_t i = from; i < to; i++) {
    if (missed[i / 64] >> i % 64 & 1) continue;
    ts_shard *shard = ts_shard_of(table, ts_index_hash(keys[i]));
    if (shard != locked) {
      if (locked != NULL) pthread_mutex_unlock(&locked->lock);
      pthread_mutex_lock(&shard->lock);
      locked = shard;
    }
    const ts_location l = ts_index_find_one(&shard->index, keys[i]);
    if (l >> TS_LOCATION_ROW_BITS == 0) {
      unsigned char *row = ts_rows_at(&shard->rows[0], l);
      ts_touch_one(table, keys[i], row, l, true);
      ts_row_set_frequency(layout, row, ts_row_frequency(layout, row) + (times == NULL ? 1 : times[i]));
    } else {
      missed[i / 64] |= UINT64_C(1) << i % 64;
      gone++;
    }
  }
  if (locked != NULL) pthread_mutex_unlock(&locked->lock);
  return gone;
}

/* Expired rows are left to bring.c, as if they were not there. Returns how many there are. */
static uint32_t pass_over_expired(const ts_table *table, uint32_t n, const void **rows) {
  uint32_t expired = 0;
  for (uint32_t i = 0; i < n; i++) {
    if (rows[i] == NULL || !ts_row_has_expired(table, rows[i])) continue;
    rows[i] = NULL;
    expired++;
  }
  return expired;
}

static uint64_t look_up_counted(ts_table *table, ts_epoch_slot *slot, const int64_t *keys, const uint32_t *times, uint64_t n,
                                float *out, uint64_t stride, uint64_t *missed) {
  ts_store *store = table->store;
  uint64_t misses = 0;
  for (uint64_t from = 0; from < n; from += BLOCKS_AN_EPOCH * TS_FAST_BLOCK) {
    ts_epoch_enter(&store->epochs, slot);
    for (uint64_t first = from; first < TS_MIN(from + BLOCKS_AN_EPOCH * TS_FAST_BLOCK, n); first += TS_FAST_BLOCK) {
      found f;
      const uint32_t m = (uint32_t)TS_MIN(n - first, TS_FAST_BLOCK);
      uint32_t absent = find_block(table, keys + first, m, &f);
      TS_SYNC("fast:found");
      if (ts_may_expire(table)) absent += pass_over_expired(table, m, f.rows);
      if (out != NULL) ts_gather_rows(store->level, &table->layout, f.rows, m, NULL, 0, out + first * stride, stride);
      touch(table, (void *const *)(uintptr_t)f.rows, f.hashes, f.locations, m);
      if (absent > 0) mark_missed(f.rows, m, first, missed);
      misses += absent;
    }
    ts_epoch_leave(slot);
    if (table->layout.frequency_offset != 0)
      misses += count_lookups(table, keys, times, from, TS_MIN(from + BLOCKS_AN_EPOCH * TS_FAST_BLOCK, n), missed);
  }
  return misses;
}

/* ---- rows of a device ---- */

/* Rows of keys whose lookups no policy is told of: the stages of look_up_blocks but the last; `asked` blocks came before. Returns
 * how many are absent. */
static uint32_t find_blocks(stages *s, uint32_t asked, const int64_t *keys, uint32_t n, const void **rows) {
  const uint32_t blocks = (n + TS_FAST_BLOCK - 1) / TS_FAST_BLOCK;
  uint32_t absent = n;
  for (uint32_t i = 0; i < STAGES; i++) s->ring[i].n = s->ring[i].here = s->ring[i].sought = s->ring[i].left = 0;
  for (uint32_t t = 0; t < blocks + STAGES - 1; t++) {
    block *asking = &s->ring[t % STAGES], *reading = &s->ring[(t + 3) % STAGES], *searching = &s->ring[(t + 2) % STAGES];
    block *ending = &s->ring[(t + 1) % STAGES];
    asking->n = asking->here = asking->sought = asking->left = 0;
    if (s->recent.used && asked + t == TRIAL) s->recent.used = s->recent.hits >= TRIAL * TS_FAST_BLOCK / WORTH;
    if (t < blocks) ask_block(s, asking, keys + t * TS_FAST_BLOCK, TS_MIN(n - t * TS_FAST_BLOCK, TS_FAST_BLOCK));
    read_block(s, reading, asking);
    search_on(s, searching, false);
    search_on(s, ending, true); /* the last few, whose buckets have come meanwhile */
    if (ending->n == 0) continue;
    memcpy(rows + (t + 1 - STAGES) * TS_FAST_BLOCK, ending->rows, ending->n * sizeof *rows);
    absent -= ending->here;
  }
  return absent;
}

/* The same where a policy is told. */
static uint32_t find_and_touch(ts_table *table, const int64_t *keys, uint32_t n, const void **rows) {
  uint32_t absent = 0;
  for (uint32_t first = 0; first < n; first += TS_FAST_BLOCK) {
    const uint32_t m = TS_MIN(n - first, TS_FAST_BLOCK);
    found f;
    absent += find_block(table, keys + first, m, &f);
    touch(table, (void *const *)(uintptr_t)f.rows, f.hashes, f.locations, m);
    memcpy(rows + first, f.rows, m * sizeof *rows);
  }
  return absent;
}

/* Where a CPU has the loop of flow.c, the first keys of a batch tell whether it is better to remember those found lately. */
static uint32_t find_untold(stages *s, uint32_t first, const int64_t *keys, uint32_t n, const void **rows) {
  uint32_t absent = 0, tried = 0;
  if (ts_flow_finds(s->table) && first == 0 && s->recent.used) {
    tried = TS_MIN(n, TRIAL * TS_FAST_BLOCK);
    absent = find_blocks(s, 0, keys, tried, rows);
    s->recent.used = s->recent.hits >= tried / WORTH;
  }
  if (tried == n) return absent;
  if (ts_flow_finds(s->table) && !s->recent.used) return absent + ts_flow_rows(s->table, keys + tried, n - tried, rows + tried);
  return absent + find_blocks(s, (first + tried) / TS_FAST_BLOCK, keys + tried, n - tried, rows + tried);
}

#define ON_DEVICE TS_PIECE /* keys whose rows' addresses are on the stack, half a megabyte: a batch is one transfer each way */

typedef struct finding {
  stages stages;
  const int64_t *keys;
  const void **rows;
  uint32_t absent;
} finding;

/* Within the epoch of the whole batch, so that what was found lately is still there. */
static void begin_finding(finding *f, ts_table *table, const int64_t *keys, uint32_t n, const void **rows) {
  f->stages.table = table;
  f->stages.level = table->store->level;
  f->stages.recent.hits = 0;
  f->stages.recent.used = n > TRIAL * TS_FAST_BLOCK;
  if (f->stages.recent.used) recent_clear(&f->stages.recent);
  f->keys = keys;
  f->rows = rows;
  f->absent = 0;
}

static uint32_t find_piece(void *context, uint32_t first, uint32_t m) {
  finding *f = context;
  ts_table *table = (ts_table *)(uintptr_t)f->stages.table;
  const uint32_t absent = atomic_load_explicit(&table->tracking, memory_order_relaxed)
                              ? find_and_touch(table, f->keys + first, m, f->rows + first)
                              : find_untold(&f->stages, first, f->keys + first, m, f->rows + first);
  f->absent += absent;
  TS_SYNC("fast:found");
  return m - absent;
}

/* Rows that bring.c must look at itself count as missed: where lookups are counted in them, or they may have expired; and
 * all, where the device refuses, which bring.c then says. */
static uint64_t look_up_on_device(ts_table *table, ts_epoch_slot *slot, const int64_t *keys, uint64_t n, float *out,
                                  uint64_t stride, uint64_t *missed) {
  ts_store *store = table->store;
  ts_tier *tier = &store->tiers[0].tier;
  uint64_t misses = 0;
  for (uint64_t from = 0; from < n; from += ON_DEVICE) {
    const void *rows[ON_DEVICE];
    finding f;
    const ts_gathering g = {.n = (uint32_t)TS_MIN(n - from, ON_DEVICE), .dim = table->layout.dim, .widen = table->layout.type == TS_BF16,
                            .find = find_piece, .context = &f, .rows = rows, .to = out == NULL ? NULL : out + from * stride, .stride = stride};
    int32_t status = TS_OK;
    begin_finding(&f, table, keys + from, g.n, rows);
    ts_epoch_enter(&store->epochs, slot);
    if (out == NULL) find_piece(&f, 0, g.n);
    else status = tier->ops->device->gather(tier, &g, (ts_err){NULL, 0});
    ts_epoch_leave(slot);
    if (status != TS_OK) memset(rows, 0, g.n * sizeof *rows);
    if (f.absent > 0 || status != TS_OK) mark_missed(rows, g.n, from, missed);
    misses += status == TS_OK ? f.absent : g.n;
  }
  return misses;
}

uint64_t ts_fast_lookup(ts_table *table, ts_epoch_slot *slot, const int64_t *keys, const uint32_t *times, uint64_t n,
                        float *out, uint64_t stride, uint64_t missed[TS_PIECE / 64]) {
  const bool counted = table->layout.frequency_offset != 0 || out == NULL || ts_may_expire(table) ||
                       atomic_load_explicit(&table->tracking, memory_order_relaxed);
  memset(missed, 0, (n + 63) / 64 * sizeof *missed);
  if (ts_is_on_device(table->store)) {
    if (table->layout.frequency_offset == 0 && !ts_may_expire(table))
      return look_up_on_device(table, slot, keys, n, out, stride, missed);
    for (uint64_t i = 0; i < n; i++) missed[i / 64] |= UINT64_C(1) << i % 64;
    return n;
  }
  return counted ? look_up_counted(table, slot, keys, times, n, out, stride, missed)
                 : look_up(table, slot, keys, n, out, stride, missed);
}

uint64_t ts_fast_absent(ts_table *table, ts_epoch_slot *slot, const int64_t *keys, uint64_t n,
                        uint64_t missed[TS_PIECE / 64]) {
  uint64_t misses = 0;
  memset(missed, 0, (n + 63) / 64 * sizeof *missed);
  for (uint64_t first = 0; first < n; first += TS_FAST_BLOCK) {
    uint64_t hashes[TS_FAST_BLOCK];
    ts_index_home homes[TS_FAST_BLOCK];
    ts_location locations[TS_FAST_BLOCK];
    const uint32_t m = (uint32_t)TS_MIN(n - first, TS_FAST_BLOCK);
    ts_epoch_enter(&table->store->epochs, slot);
    ts_index_approach(table->indexes, table->shard_bits, keys + first, m, hashes, homes);
    ts_index_read(table->store->level, keys + first, hashes, homes, m, NULL, 0, locations);
    ts_epoch_leave(slot);
    for (uint32_t i = 0; i < m; i++) {
      if (TS_LOCATION_TIER(locations[i]) < TS_NOT_ADMITTED) continue;
      missed[(first + i) / 64] |= UINT64_C(1) << (first + i) % 64;
      misses++;
    }
  }
  return misses;
}
