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

/* A sequentially consistent store or load orders itself among its like only; this orders all that is around it (C17,
 * 7.17.3 and 7.17.4.1). ThreadSanitizer knows no fences: there the accesses beside it are sequentially consistent, which it
 * takes for more. */
static inline void ts_epoch_fence(void) {
#if !defined(__SANITIZE_THREAD__)
  atomic_thread_fence(memory_order_seq_cst);
#endif
}

static inline void ts_epoch_enter(ts_epochs *epochs, ts_epoch_slot *slot) {
  atomic_store(&slot->entered, atomic_load_explicit(&epochs->now, memory_order_acquire));
  ts_epoch_fence(); /* what the reader loads next comes after the announcement: see epoch.c */
}
static inline void ts_epoch_leave(ts_epoch_slot *slot) { atomic_store_explicit(&slot->entered, 0, memory_order_release); }

/* Returns when every reader that was inside has left. Must not be called from inside. */
void ts_epoch_wait(ts_epochs *epochs);

#endif
