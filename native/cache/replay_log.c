/* replay_log.c - see replay_log.h.
 *
 * The idea: no list. Rows stand in a log in the order in which they came to its end, and each row's word in the table names its
 * position there. The log is [head, tail); when it is full, what is stale in it is squeezed out.
 *
 * LRU: every access goes to the end of the log, so a hit changes one cache line and one word of a stream. An entry that is no
 * longer its row's newest is stale. The row that leaves is the first one from the log's front that is not stale: exactly the
 * least recently used.
 *
 * SIEVE: a row stands where it came in, and a hit sets a mark in its word. `head` is SIEVE's hand: it goes on to the end of the log
 * and from there to its beginning, takes marks away and lets the first row without one leave, which leaves a hole.
 *
 * Keys pass in blocks: all homes of a block are computed and asked for before the first is used; the entries that the
 * head of the log names are asked for ahead, too.
 *
 * Memory: with up to a million rows 26 bytes of table and 32 of log a row (SIEVE: 8); above that 16 and 6, and no more rows are
 * provided for than the stream has distinct keys. */
#include "cache/replay_log.h"
#include "cache/key_table.h"

#include <stdlib.h>

#define BLOCK 128u
#define AHEAD 24u /* entries of the log */
#define SMALL (UINT64_C(1) << 20)
#define HOLE UINT32_MAX
#define MARK 1u /* SIEVE: in a row's word, below its position */

typedef enum order { LRU, SIEVE } order;

typedef struct cache {
  ts_key_table table;
  uint32_t *log;
  uint32_t head, tail, size;
  uint64_t rows, capacity;
} cache;

static inline void ask_ahead(const cache *c, uint32_t at) {
  const uint32_t entry = c->log[at + AHEAD]; /* the log has room for so many beyond its end */
  if (entry != HOLE) __builtin_prefetch(&c->table.buckets[entry >> 3], 1);
}

static inline __attribute__((always_inline)) void squeeze(cache *c, order by) {
  uint32_t kept = 0, head = 0;
  for (uint32_t i = by == LRU ? c->head : 0; i < c->tail; i++) {
    if (i == c->head) head = kept;
    if (i + AHEAD < c->tail) ask_ahead(c, i);
    const uint32_t entry = c->log[i];
    if (by == SIEVE && entry == HOLE) continue;
    uint32_t *word = ts_key_word(&c->table, entry);
    if (by == LRU && *word != i) continue;
    *word = by == LRU ? kept : kept << 1 | (*word & MARK);
    c->log[kept++] = entry;
  }
  c->head = c->head < c->tail ? head : kept;
  c->tail = kept;
}

/* The row to leave; there is one. */
static inline uint32_t oldest(cache *c) {
  for (;;) {
    const uint32_t at = c->head++, entry = c->log[at];
    ask_ahead(c, at);
    /* A place that another row has now names that row's newest position, which is another. */
    if (*ts_key_word(&c->table, entry) == at) return entry;
  }
}

static inline uint32_t unmarked(cache *c) {
  for (;; c->head++) {
    if (c->head == c->tail) c->head = 0;
    const uint32_t entry = c->log[c->head];
    ask_ahead(c, c->head);
    if (entry == HOLE) continue;
    uint32_t *word = ts_key_word(&c->table, entry);
    if (*word & MARK) {
      *word &= ~MARK;
      continue;
    }
    c->log[c->head++] = HOLE;
    if (c->head == c->tail) c->head = 0; /* it was the newest: what comes now is not gone on to */
    return entry;
  }
}

/* False: the log is full of rows, which were provided for by a wrong estimate. */
static inline __attribute__((always_inline)) bool run(cache *c, order by, const int64_t *keys, uint64_t n, uint64_t *all_hits) {
  uint64_t hits = 0;
  uint32_t homes[2][BLOCK];
  for (uint64_t first = 0; first < n + BLOCK; first += BLOCK) {
    uint32_t *ask = homes[first / BLOCK & 1];
    const uint32_t *use = homes[~(first / BLOCK) & 1];
    const uint64_t asked = first < n ? TS_MIN(n - first, BLOCK) : 0;
    for (uint64_t i = 0; i < asked; i++) {
      const uint64_t home = ts_key_home(&c->table, ts_key_hash(keys[first + i]));
      ts_key_ask(&c->table, home);
      ask[i] = (uint32_t)home;
    }
    if (first == 0) continue;
    if (c->size - c->tail < BLOCK) {
      squeeze(c, by);
      if (c->size - c->tail < BLOCK) return false;
    }
    const int64_t *block = keys + first - BLOCK;
    const uint32_t m = (uint32_t)TS_MIN(n - (first - BLOCK), BLOCK);
    for (uint32_t i = 0; i < m; i++) {
      uint32_t entry = ts_key_find(&c->table, block[i], use[i]);
      if (entry != TS_NO_ENTRY) {
        hits++;
        uint32_t *word = ts_key_word(&c->table, entry);
        *word = by == LRU ? c->tail : *word | MARK;
        if (by == SIEVE) continue;
      } else {
        if (c->rows == c->capacity) ts_key_remove(&c->table, by == LRU ? oldest(c) : unmarked(c));
        else c->rows++;
        entry = ts_key_add(&c->table, block[i], use[i], by == LRU ? c->tail : c->tail << 1);
      }
      c->log[c->tail++] = entry;
    }
  }
  *all_hits = hits;
  return true;
}

static bool run_by(cache *c, order by, const int64_t *keys, uint64_t n, uint64_t *hits) {
  return by == LRU ? run(c, LRU, keys, n, hits) : run(c, SIEVE, keys, n, hits);
}

/* *full: there are more distinct keys than `room`. */
static int32_t replay(order by, uint64_t capacity, uint64_t room, const int64_t *keys, uint64_t n, uint64_t uncounted,
                      uint64_t *hits, uint64_t *bytes, bool *full) {
  cache c = {.capacity = capacity};
  const bool small = capacity <= SMALL;
  const uint64_t size = (!small ? room + room / 2 : by == LRU ? room * 8 : room * 2) + 4 * BLOCK;
  if (size > (by == LRU ? UINT32_MAX : UINT32_MAX / 2) - AHEAD) return TS_ENOMEM;
  c.size = (uint32_t)size;
  c.log = calloc(size + AHEAD, sizeof *c.log);
  int32_t status = TS_ENOMEM;
  if (c.log != NULL && ts_key_table_init(&c.table, room, small ? 0.5 : 0.8)) {
    status = TS_OK;
    *bytes = ts_key_table_bytes(&c.table) + (size + AHEAD) * sizeof *c.log;
    uint64_t ignored;
    *full = !run_by(&c, by, keys, uncounted, &ignored) || !run_by(&c, by, keys + uncounted, n - uncounted, hits);
  }
  free(c.log);
  ts_key_table_free(&c.table);
  return status;
}

static int32_t replay_by(order by, uint64_t capacity, const int64_t *keys, uint64_t n, uint64_t uncounted, uint64_t *hits,
                         uint64_t *bytes) {
  uint64_t used = 0;
  bool full = false;
  int32_t status = TS_OK;
  *hits = 0;
  capacity = TS_MIN(capacity, n);
  uncounted = TS_MIN(uncounted, n);
  if (n > 0) {
    uint64_t room = capacity;
    if (capacity > SMALL) {
      const uint64_t distinct = ts_distinct_estimate(keys, n);
      room = TS_MIN(room, distinct + distinct / 32); /* four standard errors; the table has a quarter to spare */
    }
    status = replay(by, capacity, room, keys, n, uncounted, hits, &used, &full);
    if (status == TS_OK && full) status = replay(by, capacity, capacity, keys, n, uncounted, hits, &used, &full);
  }
  if (bytes != NULL) *bytes = used;
  return status;
}

int32_t ts_lru_replay(uint64_t capacity, const int64_t *keys, uint64_t n, uint64_t uncounted, uint64_t *hits,
                      uint64_t *bytes) {
  return replay_by(LRU, capacity, keys, n, uncounted, hits, bytes);
}

int32_t ts_sieve_replay(uint64_t capacity, const int64_t *keys, uint64_t n, uint64_t uncounted, uint64_t *hits,
                        uint64_t *bytes) {
  return replay_by(SIEVE, capacity, keys, n, uncounted, hits, bytes);
}
