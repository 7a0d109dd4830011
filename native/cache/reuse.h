/* reuse.h - how many bytes of other rows are looked up between two lookups of a row: what LRU of any size would hit, beside
 * lookups as they happen, from a sample of the rows in bounded memory (SHARDS of fixed size: Waldspurger et al., Efficient MRC
 * construction with SHARDS, FAST 2015). All tables share one order, in which a row weighs what its table's rows do.
 *
 * A row is in the sample if its hash is below a threshold; where the sample is full the threshold is halved, and the rows above
 * it go. Each lookup of a sampled row stands for 1/rate lookups; their numbers are powers of two, so counts are whole and only
 * grow. Counts are kept by groups of rows, so that whoever reads them can tell how far they are from the truth. */
#ifndef TS_CACHE_REUSE_H
#define TS_CACHE_REUSE_H

#include "base/base.h"

#include <stdatomic.h>

#define TS_REUSE_GROUPS 16u
#define TS_REUSE_BINS 288u /* of distances: eight to a doubling, from 4 KiB to 256 TiB */
/* Of each group: lookups of its rows; those that no size hits, since the row had not come before, or was not admitted yet; then
 * the others by distance. The rest of the first are repeats in a batch, which every size hits. */
#define TS_REUSE_COLUMNS (2u + TS_REUSE_BINS)
#define TS_REUSE_MOST_SHIFT 40u
#define TS_REUSE_LEAST_ROWS 1024u
#define TS_REUSE_MOST_ROWS 16384u /* powers of two */

typedef struct ts_reuse ts_reuse;

/* A table that is looked up. */
typedef struct ts_reuse_table {
  _Atomic uint64_t salt; /* of its hashes: another one where the sample has met a row that is asked for all the time */
  uint32_t number, row_bytes;
  uint64_t refused; /* first lookups of a key that get no row */
} ts_reuse_table;

/* What was counted, by group. */
typedef struct ts_reuse_counts {
  uint32_t shift; /* the rate is 2^-shift */
  uint32_t rows;  /* in the sample, of all tables ... */
  uint64_t bytes; /* ... and theirs */
  uint64_t counts[TS_REUSE_GROUPS][TS_REUSE_COLUMNS];
} ts_reuse_counts;

/* For a sample of up to `rows`, and of 2^-shift of all at most. level: ts_cpu_level. Errors: TS_ENOMEM. */
int32_t ts_reuse_create(uint32_t rows, uint32_t shift, uint32_t level, ts_reuse **out);
void ts_reuse_destroy(ts_reuse *reuse); /* NULL: nothing */
/* What it takes, whole pages of each array. */
uint64_t ts_reuse_bytes(uint32_t rows);
void ts_reuse_table_init(ts_reuse_table *table, uint32_t number, uint32_t row_bytes, uint64_t refused, uint64_t seed);
/* A batch of lookups, in which a row's first lookup counts by its distance before the batch and the others are hits. Any thread;
 * takes the sampler's own lock where it meets a row of the sample. */
void ts_reuse_see(ts_reuse *reuse, ts_reuse_table *table, const int64_t *keys, uint64_t n);
/* Distances up to so many bytes are in bin `bin` or before. */
uint64_t ts_reuse_bound(uint32_t bin);
void ts_reuse_read(ts_reuse *reuse, ts_reuse_counts *out);
/* Counts are 0 from here on; the order stays. */
void ts_reuse_reset(ts_reuse *reuse);

#endif
