/* rows.h - the rows of one shard in one memory tier: chunks of rows, numbered from 0.
 *
 * Chunks grow with the shard: 64 of one size, then 64 of twice that size, and so on. So the list of their addresses stays
 * small enough for the first-level cache and never moves (readers follow it without a lock), and at most a 64th of the
 * rows is reserved without need.
 *
 * Freed rows are linked through themselves, or through the key beside them, so freeing never allocates. Places in a device's
 * memory have addresses like others, which nobody may follow: ts_rows_see brings rows to where the CPU can read them. A row may be
 * freed only when no lock-free reader can look at it any more (ts_epoch_wait).
 *
 * In a tier that rows can be evicted from, and in a device's memory, each row has beside it, in DRAM: its key, the policy's word, flags, and the
 * place of its copy in the next memory tier. */
#ifndef TS_ROWS_H
#define TS_ROWS_H

#include "base/pieces.h"
#include "cache/policy.h"
#include "tiers/budget.h"
#include "tiers/tier.h"

/* Flags of a row. SAVED and STALE rows have a record in the tier of records below: the same bytes, or older ones. */
#define TS_ROW_SAVED 0x1u
#define TS_ROW_STALE 0x2u
#define TS_ROW_RECORD (TS_ROW_SAVED | TS_ROW_STALE)
#define TS_ROW_COPY 0x4u /* `below` is a place in the next memory tier that holds the same bytes */
#define TS_ROW_BELOW_HIGH 0x8u /* bit 32 of that place */
#define TS_ROW_TURN 0x10u /* kept.c: equal to the table's turn where a restore point under way is done with the row */
#define TS_ROW_TOLD 0x20u /* cut.c: a cut under way was told what there was of the row */
#define TS_ROW_STAYS (TS_ROW_RECORD | TS_ROW_TURN | TS_ROW_TOLD) /* what a row has wherever it lies in memory */

#define TS_LEVEL_CHUNKS 64u /* chunks of one size */
#define TS_LEVEL_BITS 6u

typedef struct ts_rows {
  /* What readers need first. */
  unsigned char **chunks; /* [chunk_capacity] */
  uint64_t stride;        /* bytes a row */
  uint32_t shift;         /* log2 of rows in the smallest chunk */
  bool has_below;
  bool is_below_dram;     /* dram_budget is a higher tier's */
  bool is_keyed;          /* keys, words and flags lie beside the rows: with a policy, and in a device's memory */
  ts_tier *tier;
  ts_pieces *pieces;      /* what is kept beside the rows */
  ts_budget *budget;      /* of the tier */
  ts_budget *dram_budget; /* pays for what is kept beside the rows; of a higher, of this or of a lower tier */
  ts_policy *policy;      /* NULL: rows are never evicted from here */
  int64_t **beside; /* [chunk_capacity], where keyed: keys of the chunk's rows, then their words, below, flags */
  uint64_t chunk_count, chunk_capacity;
  uint64_t next;       /* first row never used */
  uint64_t first_free; /* head of the freed rows, or TS_NO_ROW */
  uint64_t free_count;
  uint64_t live;   /* rows that are here */
  uint64_t copies; /* places that hold a copy of a row of the tier above */
  uint64_t paid;   /* rows charged ahead of use, when only rows count */
  unsigned char *host;  /* of a device's memory: where rows are looked at, [host_rows]; shard locked */
  uint32_t host_rows;
  uint64_t dram_wanted; /* after a short reservation: bytes of DRAM that would have helped, or 0 */
} ts_rows;

#define TS_NO_ROW UINT64_MAX

/* `share`: bytes of the tier that this shard may hope for; sets the size of chunks. With `evicted`, rows get keys, words
 * and flags for eviction by this kind of policy; `has_below`, a place for that of a copy, too. Errors: TS_ENOMEM, TS_EFULL. */
int32_t ts_rows_init(ts_rows *rows, ts_tier *tier, ts_pieces *pieces, ts_budget *budget, ts_budget *dram_budget,
                     uint64_t stride, uint64_t share, bool evicted, ts_policy_kind kind, bool has_below, bool is_below_dram);
void ts_rows_destroy(ts_rows *rows);

/* Adds chunks until `want` rows can be taken without fail, or the budget or the medium refuses; returns how many of
 * the wanted can. */
uint64_t ts_rows_reserve(ts_rows *rows, uint64_t want);
/* Gives back what was charged ahead and not used. */
void ts_rows_settle(ts_rows *rows);
/* A reserved row; where keyed, its key is set, its word is not. */
uint64_t ts_rows_take(ts_rows *rows, int64_t key);
/* The row becomes a free place; its word must not be held any more (ts_policy_holds). Its key is a link from then on, and
 * its flags and the rest of its word say nothing about a row. */
void ts_rows_free(ts_rows *rows, uint64_t row);
/* Takes the free places from row `first` on out of the list. */
void ts_rows_unlink(ts_rows *rows, uint64_t first);
/* Removes the last chunk, which must hold no row. */
void ts_rows_drop_chunk(ts_rows *rows);
/* First row of a chunk; of chunk `chunk_count`: all rows there are. */
uint64_t ts_rows_first_of(const ts_rows *rows, uint64_t chunk);
/* Bytes of all chunks. */
uint64_t ts_rows_bytes(const ts_rows *rows);
#define TS_ROWS_SEEN 256u /* host_rows at most */
/* Rows that can be looked at together. */
static inline uint32_t ts_rows_at_once(const ts_rows *rows) { return rows->host != NULL ? rows->host_rows : TS_ROWS_SEEN; }
/* out[i]: the row of slots[i] as the CPU can read it, n <= ts_rows_at_once; of a device, until the next call for these rows. Shard
 * locked. Errors: those of the device. */
int32_t ts_rows_see(ts_rows *rows, uint32_t n, const uint64_t *slots, const unsigned char **out, ts_err err);
/* The bytes of a row to another place of the tier. Errors: those of the device. */
int32_t ts_rows_copy(ts_rows *rows, uint64_t to, uint64_t from, ts_err err);
/* Rows that can be taken without adding a chunk. */
static inline uint64_t ts_rows_spare(const ts_rows *rows) {
  return rows->free_count + ts_rows_first_of(rows, rows->chunk_count) - rows->next;
}

/* The chunk of a row, and its number there. With the rows counted from 64 smallest chunks on, the highest bit tells the
 * size and the six bits below it the chunk. */
static inline uint64_t ts_rows_chunk(const ts_rows *rows, uint64_t row, uint64_t *inside) {
  const uint64_t y = row + ((uint64_t)TS_LEVEL_CHUNKS << rows->shift);
  const uint32_t size = 63u - TS_LEVEL_BITS - (uint32_t)__builtin_clzll(y);
  *inside = y & ((UINT64_C(1) << size) - 1);
  return (size - rows->shift) * TS_LEVEL_CHUNKS + (y >> size) - TS_LEVEL_CHUNKS;
}
static inline unsigned char *ts_rows_at(const ts_rows *rows, uint64_t row) {
  uint64_t inside, chunk = ts_rows_chunk(rows, row, &inside);
  return rows->chunks[chunk] + inside * rows->stride;
}

/* What ts_rows_at needs, for tables that look into many shards. */
typedef struct ts_rows_view {
  unsigned char **chunks; /* of the chunk with the number that the six bits and the size give */
  uint64_t stride;
  uint64_t from; /* where rows are counted from */
  uint64_t unused;
} ts_rows_view;
static inline ts_rows_view ts_rows_view_of(const ts_rows *rows) {
  return (ts_rows_view){.chunks = rows->chunks - (rows->shift + 1) * TS_LEVEL_CHUNKS,
                        .stride = rows->stride,
                        .from = (uint64_t)TS_LEVEL_CHUNKS << rows->shift};
}
static inline unsigned char *ts_rows_view_at(const ts_rows_view *view, uint64_t row) {
  const uint64_t y = row + view->from;
  const uint32_t size = 63u - TS_LEVEL_BITS - (uint32_t)__builtin_clzll(y);
  return view->chunks[size * TS_LEVEL_CHUNKS + (y >> size)] + (y & ((UINT64_C(1) << size) - 1)) * view->stride;
}

/* rows[i]: the row of locations[i] (index.h) in the first tier, or NULL if it is in none or another; by the view of its
 * shard, the top `bits` of the hash. Returns how many are there. rows_locate.c */
uint32_t ts_rows_locate(uint32_t level, const ts_rows_view *views, uint32_t bits, const uint64_t *hashes,
                        const uint64_t *locations, uint32_t n, const void **rows);

/* What lies beside a chunk of n rows. */
static inline ts_policy_word *ts_beside_words(const int64_t *keys, uint64_t n) {
  return (ts_policy_word *)(uintptr_t)(keys + n);
}
static inline uint32_t *ts_beside_below(const int64_t *keys, uint64_t n) {
  return (uint32_t *)(uintptr_t)(ts_beside_words(keys, n) + n);
}
static inline uint8_t *ts_beside_flags(const ts_rows *rows, const int64_t *keys, uint64_t n) {
  return (uint8_t *)(ts_beside_below(keys, n) + (rows->has_below ? n : 0));
}
/* Rows of a chunk. */
static inline uint64_t ts_rows_in(const ts_rows *rows, uint64_t chunk) {
  return UINT64_C(1) << (rows->shift + chunk / TS_LEVEL_CHUNKS);
}
static inline int64_t *ts_rows_key(const ts_rows *rows, uint64_t row) {
  uint64_t inside, chunk = ts_rows_chunk(rows, row, &inside);
  return &rows->beside[chunk][inside];
}
static inline ts_policy_word *ts_rows_word(const ts_rows *rows, uint64_t row) {
  uint64_t inside, chunk = ts_rows_chunk(rows, row, &inside);
  return &ts_beside_words(rows->beside[chunk], ts_rows_in(rows, chunk))[inside];
}
static inline uint8_t *ts_rows_flags(const ts_rows *rows, uint64_t row) {
  uint64_t inside, chunk = ts_rows_chunk(rows, row, &inside);
  return &ts_beside_flags(rows, rows->beside[chunk], ts_rows_in(rows, chunk))[inside];
}
/* The place of the copy of a row with TS_ROW_COPY. */
static inline uint64_t ts_rows_below(const ts_rows *rows, uint64_t row) {
  uint64_t inside, chunk = ts_rows_chunk(rows, row, &inside);
  return (uint64_t)(*ts_rows_flags(rows, row) & TS_ROW_BELOW_HIGH ? 1 : 0) << 32 |
         ts_beside_below(rows->beside[chunk], ts_rows_in(rows, chunk))[inside];
}
static inline void ts_rows_set_below(ts_rows *rows, uint64_t row, uint64_t place) {
  uint64_t inside, chunk = ts_rows_chunk(rows, row, &inside);
  uint8_t *flags = ts_rows_flags(rows, row);
  ts_beside_below(rows->beside[chunk], ts_rows_in(rows, chunk))[inside] = (uint32_t)place;
  *flags = (uint8_t)((*flags & TS_ROW_STAYS) | TS_ROW_COPY | (place >> 32 ? TS_ROW_BELOW_HIGH : 0));
}

#endif
