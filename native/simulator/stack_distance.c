/* stack_distance.c - see stack_distance.h.
 *
 * The idea: each row has the position of its last lookup, and a bit is set at each of these positions. A row's distance is
 * the number of bits after its own: read from the bits themselves where that is near, else from a Fenwick tree (1994) over
 * blocks of 512 bits. There are four positions a row; when they are used up, rows are numbered anew in their order. */
#include "simulator/stack_distance.h"

#include "base/cpu_level.h"
#include "cache/key_table.h"

#include <stdlib.h>
#include <string.h>

#define NEW UINT32_MAX          /* a row that has no position yet */
#define MARK (UINT32_C(1) << 31) /* a row of this batch: its position is below */
#define NEAR 16u                /* words of bits that are read one by one */
#define BLOCK_BITS 9
#define BLOCK_WORDS (1u << (BLOCK_BITS - 6))
#define AHEAD 24u

struct ts_stack {
  ts_key_table table; /* key -> position */
  uint64_t rows, room;
  uint64_t *bits;
  uint32_t *tree; /* [1..blocks]: Fenwick sums of set bits */
  uint32_t positions, blocks, next;
  const uint64_t *sizes;
  uint32_t count;
  uint64_t *bins; /* [count + 1]: lookups that miss the first so many sizes */
  uint64_t cold, counted;
  uint32_t *batch; /* entries of the rows of a batch */
  uint64_t batch_room;
  bool popcount;
};

int32_t ts_stack_create(uint64_t rows, const uint64_t *sizes, uint32_t count, ts_stack **out) {
  *out = NULL;
  ts_stack *s = calloc(1, sizeof *s);
  if (s == NULL) return TS_ENOMEM;
  s->room = TS_MAX(rows, 1);
  const uint64_t positions = TS_ROUND_UP(4 * s->room + 4096, UINT64_C(1) << BLOCK_BITS);
  s->positions = (uint32_t)positions;
  s->blocks = (uint32_t)(positions >> BLOCK_BITS);
  s->popcount = ts_cpu_level() >= TS_LEVEL_AVX2;
  s->count = count;
  s->bits = calloc(positions / 64, sizeof *s->bits);
  s->tree = calloc(s->blocks + 1, sizeof *s->tree);
  s->bins = calloc((size_t)count + 1, sizeof *s->bins);
  uint64_t *copy = malloc(((size_t)count + 1) * sizeof *copy);
  s->sizes = copy;
  if (positions >= MARK || s->bits == NULL || s->tree == NULL || s->bins == NULL || copy == NULL ||
      !ts_key_table_init(&s->table, s->room, 0.8)) {
    ts_stack_destroy(s);
    return TS_ENOMEM;
  }
  if (count > 0) memcpy(copy, sizes, count * sizeof *copy);
  *out = s;
  return TS_OK;
}

void ts_stack_destroy(ts_stack *s) {
  if (s == NULL) return;
  ts_key_table_free(&s->table);
  free(s->bits);
  free(s->tree);
  free(s->bins);
  free((void *)(uintptr_t)s->sizes);
  free(s->batch);
  free(s);
}

uint64_t ts_stack_rows(const ts_stack *s) { return s->rows; }

uint64_t ts_stack_bytes(const ts_stack *s) {
  return sizeof *s + ts_key_table_bytes(&s->table) + s->positions / 8 + (s->blocks + 1) * sizeof *s->tree +
         s->batch_room * sizeof *s->batch + (2 * (uint64_t)s->count + 2) * sizeof(uint64_t);
}

TS_INLINE void add(ts_stack *s, uint32_t position, uint32_t what) {
  for (uint32_t i = (position >> BLOCK_BITS) + 1; i <= s->blocks; i += i & -i) s->tree[i] += what;
}
TS_INLINE void set(ts_stack *s, uint32_t position) {
  s->bits[position >> 6] |= UINT64_C(1) << (position & 63);
  add(s, position, 1);
}
TS_INLINE void clear(ts_stack *s, uint32_t position) {
  s->bits[position >> 6] &= ~(UINT64_C(1) << (position & 63));
  add(s, position, UINT32_MAX); /* - 1 */
}

/* Set bits in [0, position]. */
TS_INLINE uint32_t up_to(const ts_stack *s, uint32_t position) {
  uint32_t sum = 0, block = position >> BLOCK_BITS;
  for (uint32_t i = block; i > 0; i &= i - 1) sum += s->tree[i];
  const uint64_t *word = s->bits + (uint64_t)block * BLOCK_WORDS, *last = s->bits + (position >> 6);
  for (; word < last; word++) sum += (uint32_t)__builtin_popcountll(*word);
  return sum + (uint32_t)__builtin_popcountll(*last & (UINT64_MAX >> (63 - (position & 63))));
}

/* Set bits after `position`. */
TS_INLINE uint32_t after(const ts_stack *s, uint32_t position) {
  const uint32_t first = position >> 6, end = (s->next + 63) >> 6;
  if (end - first > NEAR) return (uint32_t)s->rows - up_to(s, position);
  uint32_t sum = (uint32_t)__builtin_popcountll(s->bits[first] & ~(UINT64_MAX >> (63 - (position & 63))));
  for (uint32_t w = first + 1; w < end; w++) sum += (uint32_t)__builtin_popcountll(s->bits[w]);
  return sum;
}

TS_INLINE void renumber(ts_stack *s) {
  for (uint64_t b = 0; b < s->table.count; b++)
    for (uint32_t used = s->table.buckets[b].used; used != 0; used &= used - 1) {
      uint32_t *word = &s->table.buckets[b].words[__builtin_ctz(used)];
      *word = up_to(s, *word) - 1;
    }
  memset(s->bits, 0, s->positions / 8);
  memset(s->tree, 0, (s->blocks + 1) * sizeof *s->tree);
  s->next = (uint32_t)s->rows;
  for (uint32_t w = 0; w < s->next / 64; w++) s->bits[w] = UINT64_MAX;
  if (s->next % 64 != 0) s->bits[s->next / 64] = (UINT64_C(1) << s->next % 64) - 1;
  for (uint32_t i = 1; i <= s->blocks; i++) { /* each sum goes on to the next that contains it */
    const uint32_t first = (i - 1) << BLOCK_BITS;
    if (s->next > first) s->tree[i] += TS_MIN(s->next - first, UINT32_C(1) << BLOCK_BITS);
    const uint32_t above = i + (i & -i);
    if (above <= s->blocks) s->tree[above] += s->tree[i];
  }
}

TS_INLINE void count_distance(ts_stack *s, uint32_t distance, bool counted) {
  if (!counted) return;
  /* Sizes that the distance misses: those of at most so many rows. */
  uint32_t low = 0, n = s->count;
  while (n > 0) {
    const uint32_t half = n / 2;
    const bool above = s->sizes[low + half] <= distance;
    low = above ? low + half + 1 : low;
    n = above ? n - half - 1 : half;
  }
  s->bins[low]++;
  s->counted++;
}

TS_INLINE void count_cold(ts_stack *s, bool counted) {
  s->cold += counted;
  s->counted += counted;
}

/* One key a batch. */
TS_INLINE bool run_single(ts_stack *s, const int64_t *keys, uint64_t n, bool counted) {
  for (uint64_t i = 0; i < n; i++) {
    if (i + AHEAD < n) ts_key_ask(&s->table, ts_key_home(&s->table, ts_key_hash(keys[i + AHEAD])));
    if (s->next == s->positions) renumber(s);
    const uint64_t home = ts_key_home(&s->table, ts_key_hash(keys[i]));
    const uint32_t entry = ts_key_find(&s->table, keys[i], home);
    if (entry == TS_NO_ENTRY) {
      if (s->rows == s->room) return false;
      ts_key_add(&s->table, keys[i], home, s->next);
      s->rows++;
      count_cold(s, counted);
    } else {
      uint32_t *word = ts_key_word(&s->table, entry);
      count_distance(s, after(s, *word), counted);
      if (*word >> 6 == s->next >> 6) {
        s->bits[*word >> 6] ^= UINT64_C(1) << (*word & 63) | UINT64_C(1) << (s->next & 63); /* sums stay */
        *word = s->next++;
        continue;
      }
      clear(s, *word);
      *word = s->next;
    }
    set(s, s->next++);
  }
  return true;
}

TS_INLINE bool run_batch(ts_stack *s, const int64_t *keys, uint64_t n, bool counted) {
  uint64_t distinct = 0;
  if (s->positions - s->next < TS_MIN(n, s->room)) renumber(s);
  for (uint64_t i = 0; i < n; i++) {
    if (i + AHEAD < n) ts_key_ask(&s->table, ts_key_home(&s->table, ts_key_hash(keys[i + AHEAD])));
    const uint64_t home = ts_key_home(&s->table, ts_key_hash(keys[i]));
    uint32_t entry = ts_key_find(&s->table, keys[i], home);
    if (entry == TS_NO_ENTRY) {
      if (s->rows + 1 > s->room) return false;
      entry = ts_key_add(&s->table, keys[i], home, NEW);
      s->rows++; /* it has no bit yet: taken off below */
      count_cold(s, counted);
      s->batch[distinct++] = entry;
      continue;
    }
    uint32_t *word = ts_key_word(&s->table, entry);
    if (*word & MARK) continue; /* NEW has the mark, too */
    s->batch[distinct++] = entry;
    *word |= MARK;
  }
  /* All distances are those before the batch. */
  uint64_t fresh = 0;
  for (uint64_t i = 0; i < distinct; i++) fresh += *ts_key_word(&s->table, s->batch[i]) == NEW;
  s->rows -= fresh;
  for (uint64_t i = 0; i < distinct; i++) {
    const uint32_t word = *ts_key_word(&s->table, s->batch[i]);
    if (word != NEW) count_distance(s, after(s, word & ~MARK), counted);
  }
  for (uint64_t i = 0; i < distinct; i++) {
    uint32_t *word = ts_key_word(&s->table, s->batch[i]);
    if (*word == NEW) s->rows++;
    else clear(s, *word & ~MARK);
    *word = s->next;
    set(s, s->next++);
  }
  return true;
}

TS_INLINE bool run(ts_stack *s, const int64_t *keys, uint64_t n, uint64_t batch, bool counted) {
  if (batch <= 1) return run_single(s, keys, n, counted);
  for (uint64_t first = 0; first < n; first += batch)
    if (!run_batch(s, keys + first, TS_MIN(n - first, batch), counted)) return false;
  return true;
}

static bool run_anywhere(ts_stack *s, const int64_t *keys, uint64_t n, uint64_t batch, bool counted) {
  return run(s, keys, n, batch, counted);
}
#if defined(__x86_64__)
__attribute__((target("popcnt"))) static bool run_popcount(ts_stack *s, const int64_t *keys, uint64_t n, uint64_t batch,
                                                           bool counted) {
  return run(s, keys, n, batch, counted);
}
#else
#define run_popcount run_anywhere
#endif

bool ts_stack_run(ts_stack *s, const int64_t *keys, uint64_t n, uint64_t batch, bool counted) {
  const uint64_t most = TS_MIN(TS_MIN(batch, n), s->room);
  if (batch > 1 && most > s->batch_room) {
    free(s->batch);
    s->batch = malloc((most + 1) * sizeof *s->batch);
    s->batch_room = s->batch == NULL ? 0 : most;
    if (s->batch == NULL) return false;
  }
  return (s->popcount ? run_popcount : run_anywhere)(s, keys, n, batch, counted);
}

uint64_t ts_stack_misses(const ts_stack *s, uint64_t *misses, uint64_t *cold) {
  uint64_t sum = s->cold;
  if (cold != NULL) *cold = s->cold;
  for (uint32_t i = s->count; i-- > 0;) misses[i] = sum += s->bins[i + 1];
  return s->counted;
}
