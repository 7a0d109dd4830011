/* cut.h - a state of the store held fast while it goes on changing: what a checkpoint is written from.
 *
 * The gate makes it a state between calls: whatever changes a store is inside; who begins a cut closes it and waits until
 * nobody is. Afterwards the store goes on, and the cut is written beside it:
 *
 *   walk     every shard's index from the top tier down, then the records. What stays where it is is met, and so is what
 *            moves down, at worst twice: rows that nobody changed
 *   touch    whoever changes, creates or removes a row, counts a key that waits for admission, or moves a row up, under
 *            its shard's lock, first tells what there was of the key. Of what was told of a key the first counts, and it
 *            counts before what the walk met
 *
 * A touch goes into a small buffer that is given to the sink when it is full: nobody waits for memory. A row
 * in memory that a policy may move has a bit that says that it was told, which goes where the row goes in memory. Of other
 * keys a table of the last ones touched keeps most from being told twice; what it has forgotten is told again, which
 * changes nothing.
 *
 * The changes of a table (option track_changes): a bit for each slot of keys that have the same low bits of their hash.
 * It is set whenever a row or a waiting key of the slot changes, comes or goes. A cut freezes the bits and begins anew; a
 * cut that is not kept puts them back. A delta holds the slots that are set, whole: what is not in it of a slot is gone. */
#ifndef TS_CUT_H
#define TS_CUT_H

#include "base/base.h"
#include "index/index.h"

#include <stdatomic.h>

typedef struct ts_cut ts_cut;
#define TS_ORIGIN_BYTES 32u

/* ---- gate.c ---- */

typedef struct ts_gate {
  _Alignas(64) _Atomic uint32_t inside; /* calls that may change the store */
  _Atomic bool closed;
  pthread_mutex_t lock;
  pthread_cond_t moved;
} ts_gate;

void ts_gate_init(ts_gate *gate);
void ts_gate_destroy(ts_gate *gate);
void ts_gate_enter_closed(ts_gate *gate);
void ts_gate_left_closed(ts_gate *gate);
/* Around every public call that may change the store. Waits while the gate is closed, so nothing may be held: no lock, no
 * working memory, no epoch's slot. Not to be entered twice by one call. */
static inline void ts_gate_enter(ts_gate *gate) {
  atomic_fetch_add(&gate->inside, 1);
  if (TS_UNLIKELY(atomic_load(&gate->closed))) ts_gate_enter_closed(gate);
}
static inline void ts_gate_leave(ts_gate *gate) {
  atomic_fetch_sub(&gate->inside, 1);
  if (TS_UNLIKELY(atomic_load(&gate->closed))) ts_gate_left_closed(gate);
}
/* Returns when nobody is inside; one caller at a time has the gate closed. */
void ts_gate_close(ts_gate *gate);
void ts_gate_open(ts_gate *gate);

/* ---- changes.c ---- */

#define TS_CHANGES_LOG2_LEAST 12u
#define TS_CHANGES_LOG2_MOST 36u

/* Bits of slots: [1 << log2] of them. Starts as zeros. */
typedef struct ts_changes {
  uint64_t *words; /* NULL: none are kept */
  uint32_t log2;
} ts_changes;

static inline uint64_t ts_changes_slot(const ts_changes *c, uint64_t hash) { return hash & ((UINT64_C(1) << c->log2) - 1); }
static inline uint64_t ts_changes_words(uint32_t log2) { return UINT64_C(1) << (log2 - 6); }
static inline bool ts_changes_has(const ts_changes *c, uint64_t hash) {
  const uint64_t slot = ts_changes_slot(c, hash);
  return c->words[slot / 64] >> slot % 64 & 1;
}
/* Shards share words. */
static inline void ts_changes_set(ts_changes *c, uint64_t hash) {
  const uint64_t slot = ts_changes_slot(c, hash), bit = UINT64_C(1) << slot % 64;
  if (__atomic_load_n(&c->words[slot / 64], __ATOMIC_RELAXED) & bit) return;
  __atomic_fetch_or(&c->words[slot / 64], bit, __ATOMIC_RELAXED);
}
/* Every slot that has something of `from`'s; sizes may differ. Other threads may set bits of `into` meanwhile. */
void ts_changes_add(ts_changes *into, const ts_changes *from);
uint64_t ts_changes_count(const ts_changes *c);

/* ---- what a cut consists of ---- */

/* Parts are arrays of `count` entries of equal length:
 *   ROWS     {key 8, row}: as rows lie in memory
 *   BEFORE   {ts_cut_before, row}: what there was of a key at the cut. Of a key's entries the first counts, and it counts
 *            before ROWS and WAITING. The row is zeros unless `what` says TS_CUT_ROW
 *   WAITING  ts_cut_waiting: keys that admission counts
 *   FILTER   ts_cut_place, then `count` 64-bit words of a Bloom filter's counters; zeros behind the last counter
 *   CHANGES  ts_cut_place, then `count` 64-bit words of the table's slots: of a delta, before its rows */
typedef enum ts_cut_part { TS_CUT_ROWS, TS_CUT_BEFORE, TS_CUT_WAITING, TS_CUT_FILTER, TS_CUT_CHANGES } ts_cut_part;
typedef enum ts_cut_what { TS_CUT_ABSENT, TS_CUT_ROW, TS_CUT_WAITS } ts_cut_what;
typedef struct ts_cut_before {
  int64_t key;
  uint32_t what, waiting; /* waiting: the count of a key that waits */
  int64_t step;           /* of its last lookup, TS_NO_VERSION: not known; 0 of others */
} ts_cut_before;
typedef struct ts_cut_waiting {
  int64_t key;
  uint32_t count, zero;
  int64_t step;
} ts_cut_waiting;
typedef struct ts_cut_place {
  uint32_t log2, zero; /* CHANGES: slots as a power of two */
  uint64_t first_word;
} ts_cut_place;

/* Takes a block of a part, of one table. Called by several threads at once, with shards locked: it must not wait for the
 * store. A failure ends the cut: it is told by ts_cut_write. */
typedef int32_t ts_cut_sink(void *context, ts_cut_part part, uint32_t table, uint32_t count, const void *bytes, uint64_t n,
                            ts_err err);

#endif
