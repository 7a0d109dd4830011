/* slot_map.c - see slot_map.h. */
#include "cache/slot_map.h"

#include <stdlib.h>
#include <string.h>

bool ts_slot_map_init(ts_slot_map *map, uint64_t slots) {
  uint64_t size = 4;
  while (size < 2 * slots) size *= 2;
  map->keys = malloc(TS_MAX(slots, 1) * sizeof *map->keys);
  map->table = malloc(size * sizeof *map->table);
  map->mask = size - 1;
  if (map->keys == NULL || map->table == NULL) {
    ts_slot_map_free(map);
    return false;
  }
  memset(map->table, 0xff, size * sizeof *map->table);
  return true;
}

void ts_slot_map_free(ts_slot_map *map) {
  free(map->keys);
  free(map->table);
  *map = (ts_slot_map){0};
}

static uint64_t home(const ts_slot_map *map, int64_t key) { return ts_slot_map_hash(key) & map->mask; }

uint32_t ts_slot_map_find(const ts_slot_map *map, int64_t key) {
  for (uint64_t at = home(map, key);; at = (at + 1) & map->mask) {
    uint32_t slot = map->table[at];
    if (slot == TS_NO_SLOT || map->keys[slot] == key) return slot;
  }
}

void ts_slot_map_add(ts_slot_map *map, int64_t key, uint32_t slot) {
  uint64_t at = home(map, key);
  while (map->table[at] != TS_NO_SLOT) at = (at + 1) & map->mask;
  map->table[at] = slot;
  map->keys[slot] = key;
}

void ts_slot_map_remove(ts_slot_map *map, uint32_t slot) {
  uint64_t hole = home(map, map->keys[slot]);
  while (map->table[hole] != slot) hole = (hole + 1) & map->mask;
  for (uint64_t at = (hole + 1) & map->mask; map->table[at] != TS_NO_SLOT; at = (at + 1) & map->mask) {
    /* An entry may move up to the hole if its home is not behind it. */
    uint64_t from_home = (at - home(map, map->keys[map->table[at]])) & map->mask;
    if (from_home < ((at - hole) & map->mask)) continue;
    map->table[hole] = map->table[at];
    hole = at;
  }
  map->table[hole] = TS_NO_SLOT;
}
