/* bring.h - one chunk of keys of one shard: bring.c decides what becomes of each, place.c carries that out. */
#ifndef TS_BRING_H
#define TS_BRING_H

#include "store/store.h"

#define TS_BRING_CHUNK 256u

typedef enum ts_fate { PRESENT, FETCHED, CREATED, REFUSED } ts_fate;
typedef struct ts_bring_chunk {
  const ts_bring *bring;
  ts_shard *shard;
  const uint32_t *numbers; /* of the keys in the work */
  uint32_t n;
  int64_t keys[TS_BRING_CHUNK];
  uint64_t hashes[TS_BRING_CHUNK];
  ts_location locations[TS_BRING_CHUNK];
  ts_fate fate[TS_BRING_CHUNK];
  bool staged[TS_BRING_CHUNK];    /* a device's row, which is at its staging place already */
  bool asks[TS_BRING_CHUNK];      /* a key without a row, whose lookups are counted for admission */
  uint64_t taken[TS_BRING_CHUNK]; /* of a device: the place that the row was written to, or TS_NO_ROW */
  ts_traffic *traffic;
  uint64_t index_wanted;
  bool no_index; /* no room there: rows are served where they are, new ones become records */
  bool starved; /* rows got no place in the first tier, where the shard has none at all */
} ts_bring_chunk;

static inline bool ts_location_in_memory(ts_location l) { return TS_LOCATION_TIER(l) < TS_NOT_ADMITTED; }

/* Lookups that the index counted of a key without a row before this call. */
static inline uint64_t ts_bring_counted(const ts_bring_chunk *c, uint32_t i) {
  const ts_location l = c->locations[i];
  return l == TS_LOCATION_NONE ? 0 : ts_waiting_count(&c->bring->table->admission, TS_LOCATION_ROW(l));
}

/* Says where a key is from now on. */
static inline void ts_bring_locate(ts_bring_chunk *c, uint32_t i, ts_location to) {
  if (c->locations[i] == TS_LOCATION_NONE)
    ts_index_insert(&c->shard->index, c->keys[i], c->hashes[i], to);
  else
    ts_index_move(&c->shard->index, c->keys[i], c->hashes[i], to);
  c->locations[i] = to;
}

/* Rows in a device's memory to their staging places, in one transfer. */
int32_t ts_bring_stage(ts_bring_chunk *c, ts_err err);
/* The row of a key that is in memory, as the CPU can read it; staged before. */
static inline const unsigned char *ts_bring_row(const ts_bring_chunk *c, uint32_t i) {
  return c->staged[i] ? ts_work_staging(c->bring->work, c->numbers[i])
                      : ts_rows_at(&c->shard->rows[TS_LOCATION_TIER(c->locations[i])], TS_LOCATION_ROW(c->locations[i]));
}

/* Counts the keys that ask for admission; where places for the chunk's rows could not be had, they have not been. */
void ts_bring_count_asking(ts_bring_chunk *c);
/* The chunk's changes; shard locked, index reserved. */
int32_t ts_bring_place(ts_bring_chunk *c, ts_err err);

#endif
