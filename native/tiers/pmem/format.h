/* format.h - what lies in the pool files of a PMEM table, in the byte order of the machine.
 *
 * A table is a folder <16 hexadecimal digits of its name's hash>.pmem with files <n>.pool, n from 0, each a segment of places of one size:
 *
 *   0        ts_pm_geometry
 *   4096     places; of file 0: ts_pm_root, even sequences
 *   8192     ts_pm_root, odd sequences
 *   12288    the word: low 32 bits of the sequence of the newest root, and its checksum
 *   16384    places
 *
 * A place begins with a ts_pm_head, then the row. The record there is of every checkpoint whose epoch is at least `from` and
 * below `until`. All but `until` and `link` never changes while a checkpoint needs it. `sum` is over the pool, the number of
 * the place, and all of head and row before and behind; `until` has its own checksum, which is over `sum` too, so that it
 * belongs to no other record. A place whose sums are wrong is free, or has lost its record: which one, the checkpoint tells,
 * as its root has the number of its records and the sum of their sums.
 *
 * Roots are written in turns, each made durable before the word names it. A root whose sums are wrong while the word does not name
 * it was being written; else it is damaged. */
#ifndef TS_PM_FORMAT_H
#define TS_PM_FORMAT_H

#include "tiers/records.h"

#define TS_PM_MAGIC "TSPMEM1" /* with its NUL, 8 bytes */
#define TS_PM_PAGE UINT64_C(4096)
#define TS_PM_WORD (3 * TS_PM_PAGE)
#define TS_PM_FIRST (4 * TS_PM_PAGE) /* where the places of file 0 begin; of the others: TS_PM_PAGE */
#define TS_PM_LAYOUT_WORDS 256u

typedef struct ts_pm_geometry {
  char magic[8];
  uint64_t pool;  /* drawn when file 0 was made */
  uint64_t table; /* hash of its name */
  uint64_t bytes; /* of this file */
  uint32_t row_bytes, place_bytes, segment, layout_words;
  uint32_t sum; /* CRC32C of all of it, sum 0 */
  uint32_t zero;
  uint64_t layout[TS_PM_LAYOUT_WORDS];
} ts_pm_geometry;

typedef struct ts_pm_cut {
  uint64_t number, rows;
  uint64_t digest; /* sum of ts_pm_digest of its records */
  uint32_t epoch, timeline;
  uint32_t note_bytes, note_sum;
} ts_pm_cut;

typedef struct ts_pm_root {
  uint64_t sequence; /* from 1 */
  uint64_t pool;
  uint32_t timeline, segments, cuts;
  uint32_t sum; /* CRC32C of all of it, sum 0 */
  ts_pm_cut cut[TS_RECORDS_CUTS]; /* oldest first */
} ts_pm_root;

#define TS_PM_NOTE UINT32_C(0x80000000) /* in `length`: a part of a checkpoint's note; its key is the number of the part */
#define TS_PM_OPEN UINT32_MAX           /* `until` of what has not been replaced */

typedef struct ts_pm_head {
  int64_t key;
  uint64_t version;
  uint32_t from, timeline;
  uint32_t length; /* bytes of the row */
  uint32_t sum;
  uint64_t until; /* the epoch, and above it the checksum */
  uint64_t link;  /* of lists of places, while the table is open: means nothing to who opens it */
} ts_pm_head;

_Static_assert(sizeof(ts_pm_geometry) <= TS_PM_PAGE && sizeof(ts_pm_root) <= TS_PM_PAGE, "they have a page each");
_Static_assert(sizeof(ts_pm_head) == 48 && sizeof(ts_pm_geometry) % 8 == 0 && sizeof(ts_pm_root) % 8 == 0, "whole words, no holes");

uint32_t ts_pm_geometry_sum(const ts_pm_geometry *geometry);
uint32_t ts_pm_root_sum(const ts_pm_root *root);
/* Of the record at a place. */
uint32_t ts_pm_sum(uint64_t pool, uint64_t place, const ts_pm_head *head, const void *row);
uint64_t ts_pm_until(uint64_t pool, uint64_t place, uint32_t sum, uint32_t epoch);
uint64_t ts_pm_word(uint64_t pool, uint64_t sequence);
static inline uint64_t ts_pm_digest(const ts_pm_head *head) { return ts_mix64((uint64_t)head->sum << 32 ^ (uint64_t)head->key); }

#endif
