/* reuse.c - see reuse.h.
 *
 * The idea: nearly every key is not in the sample, so all that most lookups pay is the test: a multiplication and a comparison,
 * a vector of keys at a time. Multiplicative hashing (Knuth, The Art of Computer Programming 3, 6.4) is enough for it: it maps
 * keys one to one, and the low values are spread over any run of keys.
 *
 * Sampled rows lie in the order of their last lookups at places that are only appended to; a place has the row's bytes, blocks of
 * places have their sums. A distance is the rest of the place's block and the sums of the blocks behind. Where the places are used
 * up, rows move together. */
#include "cache/reuse.h"

#include "base/cpu_level.h"
#include "cache/key_table.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define GROUP 64u     /* keys tested together */
#define SAMPLED 512u  /* hashes handed over at a time: there is room for them after moving together */
#define BLOCK 64u     /* places */
#define SPREAD 1024u  /* places beside three a row: few stay in the caches, many need not be moved so often */
#define TOO_OFTEN 8u  /* times as many sampled lookups as there should be ... */
#define SLACK 64u     /* ... and so many */
#define OCTAVE 8u
#define FIRST_OCTAVE 12u

typedef struct place {
  uint32_t entry; /* of the row, or TS_NO_ENTRY */
  uint32_t batch; /* of its last lookup */
  uint64_t seen : 31, table : 16, level : 8; /* lookups, while that matters; leading zeros of its hash */
} place;

struct ts_reuse {
  pthread_mutex_t lock;
  _Atomic uint32_t shift; /* a row is in the sample if its hash has as many leading zeros */
  uint32_t level, capacity, rows, positions, next, batch, next_batch;
  ts_key_table table; /* identity -> position */
  place *places;
  uint32_t *weights;
  uint64_t *sums; /* of blocks of weights */
  uint64_t counts[TS_REUSE_GROUPS][TS_REUSE_COLUMNS];
};

static uint32_t positions_for(uint32_t rows) { return 2 * rows + 2 * SAMPLED; }

int32_t ts_reuse_create(uint32_t rows, uint32_t shift, uint32_t level, ts_reuse **out) {
  *out = NULL;
  ts_reuse *s = calloc(1, sizeof *s);
  if (s == NULL) return TS_ENOMEM;
  pthread_mutex_init(&s->lock, NULL);
  s->level = level;
  s->capacity = rows;
  s->positions = positions_for(rows);
  atomic_store(&s->shift, shift);
  s->places = calloc(s->positions, sizeof *s->places);
  s->weights = calloc(s->positions, sizeof *s->weights);
  s->sums = calloc(s->positions / BLOCK, sizeof *s->sums);
  if (s->places == NULL || s->weights == NULL || s->sums == NULL || !ts_key_table_init(&s->table, rows, 0.6)) {
    ts_reuse_destroy(s);
    return TS_ENOMEM;
  }
  *out = s;
  return TS_OK;
}

void ts_reuse_destroy(ts_reuse *s) {
  if (s == NULL) return;
  ts_key_table_free(&s->table);
  free(s->places);
  free(s->weights);
  free(s->sums);
  pthread_mutex_destroy(&s->lock);
  free(s);
}

uint64_t ts_reuse_bytes(uint32_t rows) {
  const uint64_t page = 4096, positions = positions_for(rows);
  const uint64_t buckets = (uint64_t)((double)rows / (TS_BUCKET_KEYS * 0.6)) + rows / 1024 + 4;
  return TS_ROUND_UP(sizeof(ts_reuse), page) + TS_ROUND_UP(buckets * sizeof(ts_key_bucket), page) +
         TS_ROUND_UP(positions * sizeof(place), page) + TS_ROUND_UP(positions * sizeof(uint32_t), page) +
         TS_ROUND_UP(positions / BLOCK * sizeof(uint64_t), page);
}

void ts_reuse_table_init(ts_reuse_table *table, uint32_t number, uint32_t row_bytes, uint64_t refused, uint64_t seed) {
  atomic_store(&table->salt, ts_random64(seed, number, 0));
  table->number = number;
  table->row_bytes = row_bytes;
  table->refused = refused;
}

/* ---- the test ---- */

typedef struct hashing {
  uint64_t factor, added;
} hashing;
static inline hashing hashing_of(uint64_t salt) { return (hashing){ts_random64(salt, 0, 0) | 1, ts_random64(salt, 0, 1)}; }
static inline uint64_t hash_of(hashing h, int64_t key) { return (uint64_t)key * h.factor + h.added; }

/* Hashes of keys that are below `limit`, until there might be no room for those of the next group; *looked: keys that were looked
 * at. */
TS_INLINE void find_body(const int64_t *restrict keys, uint64_t n, hashing h, uint64_t limit, uint64_t *restrict out,
                         uint32_t *found, uint64_t *looked) {
  uint32_t count = 0;
  uint64_t i = 0;
  for (; i < n && count + GROUP <= SAMPLED; i += GROUP) {
    const uint32_t m = (uint32_t)TS_MIN(n - i, GROUP);
    if (m == GROUP) {
      uint64_t least = UINT64_MAX;
      for (uint32_t j = 0; j < GROUP; j++) {
        const uint64_t hash = hash_of(h, keys[i + j]);
        least = hash < least ? hash : least;
      }
      if (least >= limit) continue;
    }
    for (uint32_t j = 0; j < m; j++) {
      out[count] = hash_of(h, keys[i + j]);
      count += out[count] < limit;
    }
  }
  *found = count;
  *looked = TS_MIN(i, n);
}
TS_EVERY_LEVEL(find, find_body,
               (const int64_t *restrict keys, uint64_t n, hashing h, uint64_t limit, uint64_t *restrict out, uint32_t *found,
                uint64_t *looked),
               (keys, n, h, limit, out, found, looked))

/* ---- the order; locked ---- */

static void put_weight(ts_reuse *s, uint32_t position, uint32_t bytes) {
  s->sums[position / BLOCK] += bytes - (uint64_t)s->weights[position];
  s->weights[position] = bytes;
}

static uint64_t after(const ts_reuse *s, uint32_t position) {
  const uint32_t block = position / BLOCK, end = (s->next + BLOCK - 1) / BLOCK, within = position % BLOCK;
  const uint32_t *weights = s->weights + block * BLOCK;
  uint64_t sum = 0;
  for (uint32_t p = 0; p < BLOCK; p++) sum += p > within ? weights[p] : 0; /* all of them: no branch to guess */
  for (uint32_t b = block + 1; b < end; b++) sum += s->sums[b];
  return sum;
}

static void leave(ts_reuse *s, uint32_t position) {
  put_weight(s, position, 0);
  s->places[position].entry = TS_NO_ENTRY;
}

static void append(ts_reuse *s, uint32_t entry, place p, uint32_t bytes) {
  *ts_key_word(&s->table, entry) = s->next;
  p.entry = entry;
  s->places[s->next] = p;
  put_weight(s, s->next++, bytes);
}

static void move_together(ts_reuse *s) {
  const uint32_t end = s->next;
  s->next = 0;
  for (uint32_t p = 0; p < end; p++) {
    const place row = s->places[p];
    const uint32_t bytes = s->weights[p];
    put_weight(s, p, 0);
    if (row.entry != TS_NO_ENTRY) append(s, row.entry, row, bytes);
  }
}

/* Takes rows out: of one table, or those whose hash has fewer leading zeros than `shift`. */
static void drop(ts_reuse *s, uint32_t table, uint32_t shift) {
  for (uint32_t p = 0; p < s->next; p++) {
    const place *row = &s->places[p];
    if (row->entry == TS_NO_ENTRY || (row->table != table && row->level >= shift)) continue;
    ts_key_remove(&s->table, row->entry);
    leave(s, p);
    s->rows--;
  }
}

static uint32_t bin_of(uint64_t distance) {
  if (distance <= UINT64_C(1) << FIRST_OCTAVE) return 0;
  const uint64_t d = distance - 1;
  const uint32_t log2 = 63 - (uint32_t)__builtin_clzll(d);
  const uint32_t bin = 1 + (log2 - FIRST_OCTAVE) * OCTAVE + (uint32_t)(d >> (log2 - 3) & (OCTAVE - 1));
  return TS_MIN(bin, TS_REUSE_BINS - 1);
}

uint64_t ts_reuse_bound(uint32_t bin) {
  if (bin == 0) return UINT64_C(1) << FIRST_OCTAVE;
  return (UINT64_C(1) + OCTAVE + (bin - 1) % OCTAVE) << ((bin - 1) / OCTAVE + FIRST_OCTAVE - 3);
}

#define ALL_TABLES UINT32_MAX /* no table has this number */

/* What a batch has put at the end: places from `start` on, `bytes` in all. */
typedef struct latest {
  uint32_t start;
  uint64_t bytes;
} latest;

/* Who a sampled row is, among those of all tables. */
static inline int64_t identity(const ts_reuse_table *table, uint64_t hash) {
  return (int64_t)ts_mix64(hash ^ (table->number + UINT64_C(1)) * UINT64_C(0x9e3779b97f4a7c15));
}

/* Asks for all that the lookups of these rows will read: nothing of it is in a cache, beside a training step. */
static void approach(const ts_reuse *s, const ts_reuse_table *table, const uint64_t *hashes, uint32_t n) {
  for (uint32_t i = 0; i < n; i++)
    ts_key_ask(&s->table, ts_key_home(&s->table, ts_key_hash(identity(table, hashes[i]))));
  for (uint32_t i = 0; i < n; i++) {
    const int64_t id = identity(table, hashes[i]);
    const uint32_t entry = ts_key_find(&s->table, id, ts_key_home(&s->table, ts_key_hash(id)));
    if (entry == TS_NO_ENTRY) continue;
    const uint32_t position = *ts_key_word(&s->table, entry);
    __builtin_prefetch(&s->places[position], 1);
    for (uint32_t p = position; p / BLOCK == position / BLOCK; p += 16) __builtin_prefetch(&s->weights[p], 1);
    __builtin_prefetch(&s->sums[position / BLOCK], 1);
  }
}

/* One lookup of a sampled row. */
static void use(ts_reuse *s, const ts_reuse_table *table, uint64_t hash, latest *later) {
  const uint32_t level = (uint32_t)__builtin_clzll(hash | 1);
  if (level < s->shift) return; /* the threshold fell meanwhile */
  const uint64_t stands_for = UINT64_C(1) << s->shift;
  const int64_t id = identity(table, hash);
  uint64_t *counts = s->counts[(uint64_t)id % TS_REUSE_GROUPS];
  const uint64_t home = ts_key_home(&s->table, ts_key_hash(id));
  uint32_t entry = ts_key_find(&s->table, id, home);
  counts[0] += stands_for;
  if (entry == TS_NO_ENTRY) {
    counts[1] += stands_for;
    while (s->rows == s->capacity && s->shift < TS_REUSE_MOST_SHIFT) drop(s, ALL_TABLES, ++s->shift);
    if (level < s->shift || s->rows == s->capacity) return;
    entry = ts_key_add(&s->table, id, home, s->next);
    s->rows++;
    const uint32_t bytes = table->refused > 0 ? 0 : table->row_bytes;
    append(s, entry, (place){.batch = s->batch, .seen = 1, .table = table->number & 0xffff, .level = level & 0xff}, bytes);
    later->bytes += bytes;
    return;
  }
  const uint32_t position = *ts_key_word(&s->table, entry);
  place *at = &s->places[position];
  const bool had_row = at->seen > table->refused, again = at->batch == s->batch;
  if (!had_row) at->seen++;
  const uint32_t bytes = at->seen > table->refused ? table->row_bytes : 0;
  if (again) { /* once a batch, but for what it admits */
    if (position >= later->start) later->bytes += bytes - s->weights[position];
    put_weight(s, position, bytes);
    return;
  }
  if (had_row) counts[2 + bin_of(((after(s, position) - later->bytes) << s->shift) + bytes)] += stands_for;
  else counts[1] += stands_for;
  place row = *at;
  row.batch = s->batch;
  leave(s, position);
  append(s, entry, row, bytes);
  later->bytes += bytes;
}

/* ---- a batch ---- */

static void use_all(ts_reuse *s, const ts_reuse_table *table, const uint64_t *hashes, uint32_t n) {
  if (TS_MIN(s->positions, 3 * s->rows + SPREAD) < s->next + n) move_together(s);
  const uint32_t shift = s->shift;
  latest later = {.start = s->next};
  approach(s, table, hashes, n);
  for (uint32_t i = 0; i < n; i++) {
    use(s, table, hashes[i], &later);
    if (TS_LIKELY(s->shift == shift)) continue;
    later.bytes = 0; /* some of these may have gone */
    for (uint32_t p = later.start; p < s->next; p++) later.bytes += s->weights[p];
  }
}

void ts_reuse_see(ts_reuse *s, ts_reuse_table *table, const int64_t *keys, uint64_t n) {
  const uint64_t salt = atomic_load_explicit(&table->salt, memory_order_relaxed);
  const uint32_t shift = atomic_load_explicit(&s->shift, memory_order_relaxed);
  const hashing h = hashing_of(salt);
  uint64_t hashes[SAMPLED], looked, all = 0;
  uint32_t batch = 0;
  for (uint64_t first = 0; first < n; first += looked) {
    uint32_t found;
    find_levels[s->level](keys + first, n - first, h, UINT64_C(1) << (64 - shift), hashes, &found, &looked);
    if (found == 0) continue;
    pthread_mutex_lock(&s->lock);
    if (all == 0) batch = ++s->next_batch;
    s->batch = batch;
    if (atomic_load_explicit(&table->salt, memory_order_relaxed) == salt) use_all(s, table, hashes, found);
    pthread_mutex_unlock(&s->lock);
    all += found;
  }
  if (all <= TOO_OFTEN * (n >> shift) + SLACK) return;
  /* A row that comes in every batch many times costs more than it tells: that it hits is told by those that are not sampled. */
  pthread_mutex_lock(&s->lock);
  if (atomic_load_explicit(&table->salt, memory_order_relaxed) == salt) {
    atomic_store_explicit(&table->salt, ts_random64(salt, 1, 0), memory_order_relaxed);
    drop(s, table->number, 0);
  }
  pthread_mutex_unlock(&s->lock);
}

void ts_reuse_read(ts_reuse *s, ts_reuse_counts *out) {
  pthread_mutex_lock(&s->lock);
  out->shift = s->shift;
  out->rows = s->rows;
  out->bytes = 0;
  for (uint32_t b = 0; b < s->positions / BLOCK; b++) out->bytes += s->sums[b];
  memcpy(out->counts, s->counts, sizeof s->counts);
  pthread_mutex_unlock(&s->lock);
}

void ts_reuse_reset(ts_reuse *s) {
  pthread_mutex_lock(&s->lock);
  memset(s->counts, 0, sizeof s->counts);
  pthread_mutex_unlock(&s->lock);
}
