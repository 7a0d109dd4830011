/* opt.c - Belady's algorithm: the next use of each access by one pass backwards, then a heap of the entries by next use,
 * in which every entry knows its place. 4 bytes an access, 12 an entry, and the maps. */
#include "cache/opt.h"
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

/* next[i]: the position after i at which keys[i] comes again, or NEVER. Distinct keys get numbers as they appear. */
static bool next_uses(const int64_t *keys, uint64_t n, uint32_t *next) {
  ts_slot_map seen = {0};
  uint32_t *last = malloc(n * sizeof *last), distinct = 0;
  bool ok = last != NULL && ts_slot_map_init(&seen, n);
  for (uint64_t i = n; ok && i-- > 0;) {
    uint32_t number = ts_slot_map_find(&seen, keys[i]);
    next[i] = number == TS_NO_SLOT ? NEVER : last[number];
    if (number == TS_NO_SLOT) ts_slot_map_add(&seen, keys[i], number = distinct++);
    last[number] = (uint32_t)i;
  }
  ts_slot_map_free(&seen);
  free(last);
  return ok;
}

int32_t ts_opt_replay(uint64_t capacity, const int64_t *keys, uint64_t n, uint64_t uncounted, uint64_t *hits) {
  *hits = 0;
  if (n == 0) return TS_OK;
  uint64_t slots = TS_MIN(capacity, n), found = 0;
  uint32_t *next = malloc(n * sizeof *next);
  uint32_t *entries = malloc(3 * slots * sizeof *entries);
  ts_slot_map map = {0};
  bool ok = next != NULL && entries != NULL && next_uses(keys, n, next) && ts_slot_map_init(&map, slots);
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
