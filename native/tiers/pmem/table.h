/* table.h - the inside of a PMEM table: shared by the files of this folder only.
 *
 *   format.c   what lies in its files
 *   segments.c files, places, lists of places
 *   put.c      puts, removals, gets, walks
 *   cuts.c     checkpoints
 *   recover.c  opening a table at one of them
 *   pmem.c     the table as the store sees it
 *
 * A record is never changed where it lies, but for the word that says until when it holds. A put writes to a free place; the
 * record that it replaces is retained by the newest checkpoint that has it, in a list, or its place is free again. A
 * checkpoint that begins closes an epoch and nothing else. When it is dropped its list goes to the one before it, as far as
 * that has the records too. Lists go through the places themselves, so none of this takes DRAM; the index does.
 *
 * Locks: `cutting` (begin, complete, drop), then `lock`, which readers share. A table always has a free place beside what it
 * needs, so a record that no checkpoint retains can be replaced however full the tier is. */
#ifndef TS_PM_TABLE_H
#define TS_PM_TABLE_H

#include "base/pmem.h"
#include "index/index.h"
#include "tiers/pmem/format.h"

#define TS_PM_SEGMENT_BITS 24u /* of a place's number: which of its segment */
#define TS_PM_SEGMENTS (7u << (TS_LOCATION_ROW_BITS - TS_PM_SEGMENT_BITS))
#define TS_PM_NO_PLACE UINT64_MAX
#define TS_PM_PATH 4096u
#define TS_PM_WALKS 8u
#define TS_PM_BATCH 64u

typedef struct ts_pm_segment {
  ts_pmem_map map;
  uint32_t places;
} ts_pm_segment;

/* Places linked through themselves. */
typedef struct ts_pm_list {
  uint64_t first; /* place + 1, 0: none */
  uint64_t count;
} ts_pm_list;

typedef struct ts_pm_kept {
  ts_pm_cut cut;
  bool complete;
  bool dropped; /* incomplete, but a root that names it may be on the medium: it keeps its records until the table closes */
  ts_pm_list retained, note;
} ts_pm_kept;

typedef struct ts_pm_walk {
  uint64_t token;
  ts_index_cursor cursor;
} ts_pm_walk;

typedef struct ts_pm_table {
  /* Of the options. */
  char *name;
  char *directory; /* its own, locked */
  uint64_t *layout;
  uint32_t layout_words, row_bytes, place_bytes;
  bool temporary;
  ts_budget *budget, *dram;
  const ts_pmem_ops *pmem;
  const ts_disk_ops *disk; /* of the folder */
  int folder;              /* its lock */
  uint64_t name_hash;

  pthread_mutex_t cutting;
  pthread_rwlock_t lock;
  ts_index index;
  ts_pm_segment *segments;
  uint32_t segment_count, segment_capacity;
  uint64_t medium_bytes;
  uint64_t rows_paid; /* where rows alone count */
  uint32_t next; /* place of the last segment that was never used */
  ts_pm_list free;
  unsigned char *staging; /* a place; lock held */
  uint64_t pool;
  ts_pm_root root; /* the newest that is durable; sequence 0: none; cutting held */
  uint32_t epoch, timeline;
  uint64_t digest; /* of what the index has */
  uint64_t begun;  /* the last checkpoint's number */
  ts_pm_kept cuts[TS_RECORDS_CUTS];
  uint32_t cut_count;
  bool sync_failed;
  void *note; /* of the checkpoint that was opened */
  uint32_t note_bytes;
  ts_pm_walk walks[TS_PM_WALKS];
  uint64_t next_walk;
  uint64_t copies, bytes_written, payload_written, retained;
  _Atomic uint64_t reads, bytes_read;
} ts_pm_table;

/* ---- segments.c; lock held ---- */

int32_t ts_pm_path(const ts_pm_table *t, uint32_t segment, char out[TS_PM_PATH], ts_err err);
uint64_t ts_pm_first_place(uint32_t segment); /* its offset in the file */
static inline uint64_t ts_pm_place(uint32_t segment, uint32_t n) { return (uint64_t)segment << TS_PM_SEGMENT_BITS | n; }
uint64_t ts_pm_offset(const ts_pm_table *t, uint64_t place);
ts_pm_head *ts_pm_at(const ts_pm_table *t, uint64_t place);
/* Adds a segment that is there to the list; the budget has been charged. */
int32_t ts_pm_segment_add(ts_pm_table *t, const ts_pmem_map *map, ts_err err);
/* Makes sure of `want` free places. TS_EFULL says for which checkpoints records are retained. */
int32_t ts_pm_reserve(ts_pm_table *t, uint64_t want, const char *what, ts_err err);
/* A free place that was reserved. */
uint64_t ts_pm_take(ts_pm_table *t);
void ts_pm_push(ts_pm_table *t, ts_pm_list *list, uint64_t place);
uint64_t ts_pm_pop(ts_pm_table *t, ts_pm_list *list); /* TS_PM_NO_PLACE: it is empty */
/* Writes a record; its `sum` is set. */
void ts_pm_write(ts_pm_table *t, uint64_t place, ts_pm_head *head, uint32_t until, const void *row);
void ts_pm_end(ts_pm_table *t, uint64_t place, uint32_t epoch);
/* Whether the record there is what was written. */
bool ts_pm_is_whole(const ts_pm_table *t, uint64_t place);
/* Every file is durable, as far as it was drained. Errors: TS_EIO, after which the table completes no checkpoint. No lock but
 * perhaps cutting. */
int32_t ts_pm_sync(ts_pm_table *t, ts_err err);

/* ---- put.c ---- */

int32_t ts_pm_put(ts_records *records, uint32_t n, const int64_t *keys, const uint64_t *versions,
                  const unsigned char *const *rows, const uint8_t *known, ts_err err);
int32_t ts_pm_put_as_of(ts_records *records, uint32_t n, const int64_t *keys, const uint64_t *versions,
                        const unsigned char *const *rows, ts_err err);
int32_t ts_pm_remove(ts_records *records, uint32_t n, const int64_t *keys, const uint8_t *known, ts_err err);
int32_t ts_pm_get(ts_records *records, uint32_t n, const int64_t *keys, unsigned char *const *rows, uint8_t *found, ts_err err);
int32_t ts_pm_contains(ts_records *records, uint32_t n, const int64_t *keys, uint8_t *found, ts_err err);
int32_t ts_pm_walk_some(ts_records *records, uint64_t *cursor, uint32_t n, int64_t *keys, uint64_t *versions,
                        unsigned char *const *rows, uint32_t *got, ts_err err);

/* ---- cuts.c ---- */

extern const ts_records_cuts ts_pm_cuts;
static inline bool ts_pm_is_pending(const ts_pm_table *t) {
  return t->cut_count > 0 && !t->cuts[t->cut_count - 1].complete && !t->cuts[t->cut_count - 1].dropped;
}
/* The newest checkpoint that has what holds from one epoch until another, -1: none. */
int32_t ts_pm_retaining(const ts_pm_table *t, uint32_t from, uint32_t until);
void ts_pm_say_cuts(const ts_pm_table *t, bool complete_only, char *out, size_t cap);
/* Makes a root durable, which becomes the table's. Errors: TS_EIO; then it is not known which one it is. cutting held. */
int32_t ts_pm_root_write(ts_pm_table *t, const ts_pm_root *root, ts_err err);
/* The same of a root as it is, with its sequence. */
int32_t ts_pm_root_store(ts_pm_table *t, const ts_pm_root *root, ts_err err);
/* Leaves out one of its checkpoints. */
void ts_pm_root_leave_out(ts_pm_root *root, uint32_t at);

/* ---- recover.c ---- */

/* Opens what is there; looks: no new timeline is begun, and the table is only to be closed again. Errors: TS_EFORMAT, TS_EINVAL,
 * TS_EIO, TS_EFULL, TS_ECANCELLED. */
int32_t ts_pm_recover(ts_pm_table *t, uint64_t at, bool looks, uint64_t *control, ts_err err);

#endif
