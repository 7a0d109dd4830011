/* epoch.h - when may memory that lock-free readers may still look at be used again?
 *
 * The idea: a reader announces itself in a slot of its own before it follows pointers and signs off afterwards, a few
 * hundred keys at a time. Who takes something away first makes it unreachable, then waits for the readers that were
 * inside at that moment; whoever comes later cannot see it any more. A wait is therefore a few microseconds. */
#ifndef TS_EPOCH_H
#define TS_EPOCH_H

#include "base/base.h"

#include <stdatomic.h>

#define TS_EPOCH_SLOTS 128u

typedef struct ts_epoch_slot {
  _Alignas(64) _Atomic uint64_t entered; /* the time of entry, 0: outside */
  _Atomic uint32_t claimed;
} ts_epoch_slot;

typedef struct ts_epochs {
  _Alignas(64) _Atomic uint64_t now; /* starts at 1 */
  ts_epoch_slot slots[TS_EPOCH_SLOTS];
} ts_epochs;

void ts_epochs_init(ts_epochs *epochs);
/* A slot for one call; waits (yielding) while all are taken. */
ts_epoch_slot *ts_epoch_claim(ts_epochs *epochs);
void ts_epoch_release(ts_epoch_slot *slot);

static inline void ts_epoch_enter(ts_epochs *epochs, ts_epoch_slot *slot) {
  /* Sequentially consistent: what the reader loads next comes after the announcement. */
  atomic_store(&slot->entered, atomic_load_explicit(&epochs->now, memory_order_relaxed));
}
static inline void ts_epoch_leave(ts_epoch_slot *slot) { atomic_store_explicit(&slot->entered, 0, memory_order_release); }

/* Returns when every reader that was inside has left. Must not be called from inside. */
void ts_epoch_wait(ts_epochs *epochs);

#endif
