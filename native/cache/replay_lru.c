/* replay_lru.c - see replay_lru.h.
 *
 * The idea: no list. Every access writes its entry's place at the end of a log and the position there into the entry, so
 * a hit changes one cache line and one word of a stream. An entry of the log that is no longer its row's newest is
 * stale. The row that leaves is the first one from the log's front that is not stale: exactly the least recently used.
 * When the log is full, stale entries are squeezed out.
 *
 * Keys pass in blocks: all homes of a block are computed and asked for before the first is used; the entries that the
 * front of the log names are asked for ahead, too.
 *
 * Memory: with up to a million rows 26 bytes of table and 32 of log a row; above that 16 and 6, and no more rows are
 * provided for than the stream has distinct keys. */
#include "cache/replay_lru.h"
#include "cache/key_table.h"

#include <stdlib.h>

#define BLOCK 128u
#define AHEAD 24u /* entries of the log */
#define SMALL (UINT64_C(1) << 20)

typedef struct lru {
  ts_key_table table;
  uint32_t *log;
  uint32_t head, tail, size; /* the log is [head, tail) */
  uint64_t rows, capacity;
} lru;

static void squeeze(lru *l) {
  uint32_t kept = 0;
  for (uint32_t i = l->head; i < l->tail; i++) {
    if (i + AHEAD < l->tail) __builtin_prefetch(&l->table.buckets[l->log[i + AHEAD] >> 3], 1);
    const uint32_t entry = l->log[i];
    uint32_t *word = ts_key_word(&l->table, entry);
    if (*word != i) continue;
    l->log[kept] = entry;
    *word = kept++;
  }
  l->head = 0;
  l->tail = kept;
}

/* The row to leave; there is one. The log has always room for AHEAD entries beyond its end, so asking needs no check. */
static inline uint32_t oldest(lru *l) {
  for (;;) {
    const uint32_t at = l->head++, entry = l->log[at];
    __builtin_prefetch(&l->table.buckets[l->log[at + AHEAD] >> 3], 1);
    /* A place that another row has now names that row's newest position, which is another. */
    if (*ts_key_word(&l->table, entry) == at) return entry;
  }
}

/* False: the log is full of rows, which were provided for by a wrong estimate. */
static bool run(lru *l, const int64_t *keys, uint64_t n, uint64_t *all_hits) {
  uint64_t hits = 0;
  uint32_t homes[2][BLOCK];
  for (uint64_t first = 0; first < n + BLOCK; first += BLOCK) {
    uint32_t *ask = homes[first / BLOCK & 1];
    const uint32_t *use = homes[~(first / BLOCK) & 1];
    const uint64_t asked = first < n ? TS_MIN(n - first, BLOCK) : 0;
    for (uint64_t i = 0; i < asked; i++) {
      const uint64_t home = ts_key_home(&l->table, ts_key_hash(keys[first + i]));
      ts_key_ask(&l->table, home);
      ask[i] = (uint32_t)home;
    }
    if (first == 0) continue;
    if (l->size - l->tail < BLOCK) {
      squeeze(l);
      if (l->size - l->tail < BLOCK) return false;
    }
    const int64_t *block = keys + first - BLOCK;
    const uint32_t m = (uint32_t)TS_MIN(n - (first - BLOCK), BLOCK);
    for (uint32_t i = 0; i < m; i++) {
      uint32_t entry = ts_key_find(&l->table, block[i], use[i]);
      if (entry != TS_NO_ENTRY) {
        hits++;
        *ts_key_word(&l->table, entry) = l->tail;
      } else {
        if (l->rows == l->capacity) ts_key_remove(&l->table, oldest(l));
        else l->rows++;
        entry = ts_key_add(&l->table, block[i], use[i], l->tail);
      }
      l->log[l->tail++] = entry;
    }
  }
  *all_hits = hits;
  return true;
}

/* *full: there are more distinct keys than `room`. */
static int32_t replay(uint64_t capacity, uint64_t room, const int64_t *keys, uint64_t n, uint64_t uncounted, uint64_t *hits,
                      uint64_t *bytes, bool *full) {
  lru l = {.capacity = capacity};
  const bool small = capacity <= SMALL;
  const uint64_t size = (small ? room * 8 : room + room / 2) + 4 * BLOCK;
  if (size > UINT32_MAX - AHEAD) return TS_ENOMEM;
  l.size = (uint32_t)size;
  l.log = calloc(size + AHEAD, sizeof *l.log);
  int32_t status = TS_ENOMEM;
  if (l.log != NULL && ts_key_table_init(&l.table, room, small ? 0.5 : 0.8)) {
    status = TS_OK;
    *bytes = ts_key_table_bytes(&l.table) + (size + AHEAD) * sizeof *l.log;
    uint64_t ignored;
    *full = !run(&l, keys, uncounted, &ignored) || !run(&l, keys + uncounted, n - uncounted, hits);
  }
  free(l.log);
  ts_key_table_free(&l.table);
  return status;
}

int32_t ts_lru_replay(uint64_t capacity, const int64_t *keys, uint64_t n, uint64_t uncounted, uint64_t *hits,
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
    status = replay(capacity, room, keys, n, uncounted, hits, &used, &full);
    if (status == TS_OK && full) status = replay(capacity, capacity, keys, n, uncounted, hits, &used, &full);
  }
  if (bytes != NULL) *bytes = used;
  return status;
}
