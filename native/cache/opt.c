/* opt.c - Belady's algorithm: the next use of each access by one pass backwards, then a heap of the entries by next use,
 * in which every entry knows its place. 4 bytes an access, 12 an entry, and the maps: of distinct keys, at most 28 each. */
#include "cache/opt.h"
#include "cache/key_table.h"
#include "cache/slot_map.h"

#include <stdlib.h>

#define NEVER UINT32_MAX

typedef struct heap {
  uint32_t *next;  /* by slot: position of the next use */
  uint32_t *slots; /* max-heap by next use */
  uint32_t *place; /* by slot: place in the heap */
  uint64_t count;
} heap;

static void put(heap *h, uint64_t at, uint32_t slot) {
  h->slots[at] = slot;
  h->place[slot] = (uint32_t)at;
}

/* Puts a slot whose next use has changed where it belongs. */
static void settle(heap *h, uint32_t slot) {
  uint64_t at = h->place[slot];
  while (at > 0 && h->next[h->slots[(at - 1) / 2]] < h->next[slot]) {
    put(h, at, h->slots[(at - 1) / 2]);
    at = (at - 1) / 2;
  }
  for (;;) {
    uint64_t child = 2 * at + 1;
    if (child >= h->count) break;
    if (child + 1 < h->count && h->next[h->slots[child + 1]] > h->next[h->slots[child]]) child++;
    if (h->next[h->slots[child]] <= h->next[slot]) break;
    put(h, at, h->slots[child]);
    at = child;
  }
  put(h, at, slot);
}

/* next[i]: the position after i at which keys[i] comes again, or NEVER. Distinct keys get numbers as they are found.
 * @return whether there are no more of them than `room` and the memory was there; *distinct: how many, room + 1 if more. */
static bool next_uses(const int64_t *keys, uint64_t n, uint64_t room, uint32_t *next, uint64_t *distinct, uint64_t *bytes) {
  ts_slot_map seen = {0};
  uint32_t *last = malloc(room * sizeof *last);
  uint64_t found = 0;
  bool ok = last != NULL && ts_slot_map_init(&seen, room);
  *bytes = room * sizeof *last + ts_slot_map_bytes(&seen, room);
  for (uint64_t i = n; ok && i-- > 0;) {
    uint32_t number = ts_slot_map_find(&seen, keys[i]);
    next[i] = number == TS_NO_SLOT ? NEVER : last[number];
    if (number == TS_NO_SLOT) {
      ok = found < room;
      number = (uint32_t)found++;
      if (!ok) break;
      ts_slot_map_add(&seen, keys[i], number);
    }
    last[number] = (uint32_t)i;
  }
  ts_slot_map_free(&seen);
  free(last);
  *distinct = found;
  return ok;
}

int32_t ts_opt_replay(uint64_t capacity, const int64_t *keys, uint64_t n, uint64_t uncounted, uint64_t *hits, uint64_t *bytes) {
  *hits = 0;
  if (n == 0) return TS_OK;
  uint64_t found = 0, distinct = 0, numbering = 0, room = ts_distinct_estimate(keys, n);
  room = TS_MIN(room + room / 16 + 64, n);
  uint32_t *next = malloc(n * sizeof *next);
  bool ok = next != NULL && next_uses(keys, n, room, next, &distinct, &numbering);
  if (!ok && distinct > room) ok = next_uses(keys, n, room = n, next, &distinct, &numbering);
  const uint64_t slots = TS_MAX(TS_MIN(capacity, distinct), 1);
  uint32_t *entries = ok ? malloc(3 * slots * sizeof *entries) : NULL;
  ts_slot_map map = {0};
  ok = ok && entries != NULL && ts_slot_map_init(&map, slots);
  const uint64_t caching = 3 * slots * sizeof *entries + ts_slot_map_bytes(&map, slots);
  if (bytes != NULL) *bytes = TS_MAX(*bytes, n * sizeof *next + TS_MAX(numbering, caching));
  heap h = {entries, entries == NULL ? NULL : entries + slots, entries == NULL ? NULL : entries + 2 * slots, 0};
  for (uint64_t i = 0; ok && i < n; i++) {
    uint32_t slot = ts_slot_map_find(&map, keys[i]);
    if (slot != TS_NO_SLOT) {
      found += i >= uncounted;
    } else {
      if (h.count < slots) {
        put(&h, h.count, slot = (uint32_t)h.count);
        h.count++;
      } else {
        slot = h.slots[0];
        ts_slot_map_remove(&map, slot);
      }
      ts_slot_map_add(&map, keys[i], slot);
    }
    h.next[slot] = next[i];
    settle(&h, slot);
  }
  ts_slot_map_free(&map);
  free(entries);
  free(next);
  if (!ok) return TS_ENOMEM;
  *hits = found;
  return TS_OK;
}
