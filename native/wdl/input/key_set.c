/* key_set.c - linear probing from the key's mixed bits. */
#include "wdl/input/key_set.h"

#include <stdlib.h>

static uint64_t *slot_of(const ts_key_set *set, uint64_t key) {
  uint64_t at = ts_mix64(key) & (set->capacity - 1);
  while (set->slots[at] != 0 && set->slots[at] != key) at = (at + 1) & (set->capacity - 1);
  return &set->slots[at];
}

static bool grow(ts_key_set *set) {
  ts_key_set larger = {.capacity = set->capacity == 0 ? 64 : set->capacity * 2};
  larger.slots = calloc(larger.capacity, sizeof *larger.slots);
  if (larger.slots == NULL) return false;
  for (uint64_t i = 0; i < set->capacity; i++)
    if (set->slots[i] != 0) *slot_of(&larger, set->slots[i]) = set->slots[i];
  free(set->slots);
  set->slots = larger.slots;
  set->capacity = larger.capacity;
  return true;
}

bool ts_key_set_add(ts_key_set *set, int64_t key, bool *added) {
  *added = false;
  if (key == 0) {
    *added = !set->zero;
    set->count += *added;
    set->zero = true;
    return true;
  }
  if ((set->count + 1) * 4 > set->capacity * 3 && !grow(set)) return false;
  uint64_t *slot = slot_of(set, (uint64_t)key);
  if (*slot == 0) {
    *slot = (uint64_t)key;
    set->count++;
    *added = true;
  }
  return true;
}

bool ts_key_set_add_all(ts_key_set *set, const int64_t *keys, uint64_t n) {
  enum { AHEAD = 12 };
  bool added;
  for (uint64_t i = 0; i < n; i++) {
    if (i + AHEAD < n && set->capacity > 0)
      __builtin_prefetch(&set->slots[ts_mix64((uint64_t)keys[i + AHEAD]) & (set->capacity - 1)]);
    if (!ts_key_set_add(set, keys[i], &added)) return false;
  }
  return true;
}

bool ts_key_set_has(const ts_key_set *set, int64_t key) {
  if (key == 0) return set->zero;
  return set->capacity != 0 && *slot_of(set, (uint64_t)key) != 0;
}

void ts_key_set_free(ts_key_set *set) {
  free(set->slots);
  *set = (ts_key_set){0};
}
