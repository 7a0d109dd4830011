/* slot_map.h - key -> slot of a replayed cache: open addressing over slot numbers, at most half full, so that the keys
 * themselves are kept once, by slot. Entries leave without gravestones: those behind move up. */
#ifndef TS_SLOT_MAP_H
#define TS_SLOT_MAP_H

#include "base/base.h"

#define TS_NO_SLOT UINT32_MAX

typedef struct ts_slot_map {
  int64_t *keys;   /* by slot */
  uint32_t *table; /* slots, or TS_NO_SLOT */
  uint64_t mask;
} ts_slot_map;

/* False: out of memory. slots < TS_NO_SLOT. */
bool ts_slot_map_init(ts_slot_map *map, uint64_t slots);
void ts_slot_map_free(ts_slot_map *map);
/* Of a map for so many slots. */
static inline uint64_t ts_slot_map_bytes(const ts_slot_map *map, uint64_t slots) {
  return slots * sizeof *map->keys + (map->mask + 1) * sizeof *map->table;
}
uint32_t ts_slot_map_find(const ts_slot_map *map, int64_t key);
/* An absent key. */
void ts_slot_map_add(ts_slot_map *map, int64_t key, uint32_t slot);
/* The key of a slot that is in. */
void ts_slot_map_remove(ts_slot_map *map, uint32_t slot);

static inline uint64_t ts_slot_map_hash(int64_t key) { return ts_mix64((uint64_t)key + 0x9e3779b97f4a7c15u); }

#endif
