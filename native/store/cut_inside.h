/* cut_inside.h - a cut that is open: cut.c begins and ends it and takes touches, cut_walk.c writes the rest. */
#ifndef TS_CUT_INSIDE_H
#define TS_CUT_INSIDE_H

#include "store/store.h"

/* BEFORE entries of a table until they are given to the sink. Tables share slices where memory is short. */
typedef struct ts_cut_slice {
  pthread_mutex_t lock;
  uint32_t table, count; /* table: of the entries */
  uint64_t used;
  unsigned char *entries; /* [cut->slice_bytes] */
  uint64_t *told;         /* [cut->told_mask + 1] hashes, which are the keys mixed; 0: none */
} ts_cut_slice;

typedef struct ts_cut_table {
  uint64_t updates; /* update calls before the cut */
  float learning_rate;
  ts_changes changes;    /* until the cut; no words: none are kept */
  uint64_t *larger[2];   /* maps that follow it, where it has become too small; NULL: its own spare one */
  uint32_t larger_log2;
  bool marked;             /* rows may have TS_ROW_TOLD */
  uint64_t *filter_told; /* bits of the filter's parts that the sink has; NULL: no filter */
} ts_cut_table;

struct ts_cut {
  ts_store *store;
  ts_cut_sink *sink;
  void *context;
  bool delta, detached, stepped;
  uint64_t in_place; /* the number of a restore point (kept.c); 0: none */
  int64_t step;
  uint32_t table_count, slice_count;
  ts_cut_table *tables;
  ts_cut_slice *slices;
  uint64_t slice_bytes, told_mask;
  unsigned char *rows; /* what the walk gathers */
  uint64_t rows_bytes;
  pthread_mutex_t filters, failing;
  _Atomic int32_t status;
  char why[512];
  uint64_t bytes; /* of the cut with all it points to */
};

#define TS_FILTER_PART (UINT64_C(16) << 10) /* bytes of a filter that are told together */

/* Takes down the first failure. */
void ts_cut_fail(ts_cut *cut, int32_t status, const char *why);
/* Rows of a table, about. */
uint64_t ts_cut_rows_of(ts_table *table);
/* Gives a block to the sink; a failure is taken down. */
void ts_cut_give(ts_cut *cut, ts_cut_part part, uint32_t table, uint32_t count, const void *bytes, uint64_t n);
static inline bool ts_cut_failed(const ts_cut *cut) {
  return atomic_load_explicit(&cut->status, memory_order_acquire) != TS_OK;
}
/* Whether keys of this hash are in the cut. */
static inline bool ts_cut_has(const ts_cut *cut, uint32_t table, uint64_t hash) {
  return !cut->delta || ts_changes_has(&cut->tables[table].changes, hash);
}
/* Whether what there was of the key has been told, as far as that is remembered. */
bool ts_cut_told(ts_cut *cut, uint32_t table, uint64_t hash);
/* Whether the row that lies there has a flag that says so; its shard is locked. */
bool ts_cut_marked(const ts_table *table, uint64_t hash, ts_location location);
/* Tells a part of a table's filter, unless that was done. */
void ts_cut_tell_filter(ts_cut *cut, const ts_table *table, uint64_t part);
/* Touches come no more. */
void ts_cut_detach(ts_cut *cut);
/* Tells what there was of a key, whatever was told before. */
void ts_cut_tell(ts_cut *cut, const ts_table *table, const ts_touched *touched);
/* Gives away what touches have left in the slices. */
void ts_cut_flush(ts_cut *cut);


/* ---- kept.c: of a cut in place ---- */

/* Begins it in the kept tier of every table; the gate is closed, no row moves. */
int32_t ts_kept_begin(ts_cut *cut, ts_err err);
/* Whether a touch has to be told. */
bool ts_kept_must_tell(ts_table *table, const ts_touched *touched, bool change);
/* Puts down, as of the point, what memory has of a table. */
void ts_kept_walk(ts_cut *cut, ts_table *table, uint64_t *control);
/* After a failure: gives the point up in every table. The gate is closed, no row moves. */
void ts_kept_give_up(ts_cut *cut);

#endif
