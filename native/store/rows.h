/* rows.h - the rows of one table in one tier: chunks of equal rows, numbered from 0, with a list of freed ones.
 *
 * Freed rows are linked through themselves (through the policy's key where there is one), so freeing never allocates.
 * Where the tier has a cache policy, each row also has its key and a mark byte in DRAM beside the chunk. */
#ifndef TS_ROWS_H
#define TS_ROWS_H

#include "store/budget.h"
#include "tiers/tier.h"

/* Mark byte of a row under a cache policy. */
#define TS_MARK_LIVE 0x80u       /* holds a row */
#define TS_MARK_PINNED 0x40u     /* used by the batch in progress: not evicted */
#define TS_MARK_REFERENCED 0x20u /* looked up since the clock hand passed */
#define TS_MARK_AGE 0x0Fu        /* rebalancing rounds since the last lookup, saturating */

typedef struct ts_chunk {
  unsigned char *rows;
  int64_t *keys;  /* policy only */
  uint8_t *marks; /* policy only */
} ts_chunk;

typedef struct ts_rows {
  ts_tier *tier;
  ts_budget *budget;      /* of the tier */
  ts_budget *dram_budget; /* of the first tier: chunk list and policy bytes */
  bool policy;
  uint32_t shift; /* log2 of rows a chunk */
  uint64_t stride; /* bytes a row */
  ts_chunk *chunks;
  uint64_t chunk_count, chunk_capacity;
  ts_purpose list_purpose; /* what the chunk list is charged as: the index, or the headroom when nothing else is left */
  uint64_t list_grant;     /* bytes already charged to the index for the list's next growth */
  uint64_t dram_wanted;    /* after a short reservation: bytes of the first tier that would have helped, or 0 */
  uint64_t next;       /* first row never used */
  uint64_t first_free; /* head of the freed rows, or TS_NO_ROW */
  uint64_t free_count;
  uint64_t live;
  uint64_t paid; /* rows charged ahead of use, when only rows count */
  uint64_t hand; /* of the clock */
} ts_rows;

#define TS_NO_ROW UINT64_MAX

void ts_rows_init(ts_rows *rows, ts_tier *tier, ts_budget *budget, ts_budget *dram_budget, bool policy, uint64_t stride);
void ts_rows_destroy(ts_rows *rows);

/* Adds chunks until `want` rows can be taken without fail, or the budget or the medium refuses; returns how many of
 * the wanted can. */
uint64_t ts_rows_reserve(ts_rows *rows, uint64_t want);
/* Gives back what was charged ahead and not used. */
void ts_rows_settle(ts_rows *rows);
/* A reserved row. */
uint64_t ts_rows_take(ts_rows *rows, int64_t key);
void ts_rows_free(ts_rows *rows, uint64_t row);
/* As ts_rows_free, but the place stays reserved for this batch call. */
void ts_rows_vacate(ts_rows *rows, uint64_t row);
/* Removes the last chunk, which must hold no live row. */
void ts_rows_drop_chunk(ts_rows *rows);
/* Rows that can be taken without adding a chunk. */
static inline uint64_t ts_rows_spare(const ts_rows *rows) {
  return rows->free_count + (rows->chunk_count << rows->shift) - rows->next;
}
/* Bytes of chunks and of the policy beside them. */
uint64_t ts_rows_chunk_bytes(const ts_rows *rows);

static inline unsigned char *ts_rows_at(const ts_rows *rows, uint64_t row) {
  return rows->chunks[row >> rows->shift].rows + (row & ((UINT64_C(1) << rows->shift) - 1)) * rows->stride;
}
static inline uint8_t *ts_rows_mark(const ts_rows *rows, uint64_t row) {
  return &rows->chunks[row >> rows->shift].marks[row & ((UINT64_C(1) << rows->shift) - 1)];
}
static inline int64_t *ts_rows_key(const ts_rows *rows, uint64_t row) {
  return &rows->chunks[row >> rows->shift].keys[row & ((UINT64_C(1) << rows->shift) - 1)];
}

#endif
