/* epoch.c - see epoch.h for the idea.
 *
 * Why a wait is enough. The reader: announce; fence; load pointers. The writer: unlink; move the time on; fence; look at
 * every slot. Two sequentially consistent fences have an order. If the reader's comes first, the writer's look sees the
 * announcement, or a later one of that slot, and waits until it is taken back; taking it back is a release that the look
 * acquires, so all that the reader read came before. If the writer's fence comes first, the reader's loads see the unlinked
 * pointer. Without the fences both could miss each other: the announcement is a store and the pointer a load elsewhere,
 * which C17 lets pass each other even if the store is sequentially consistent (loads of pointers only acquire), and so do
 * the unlinking stores and the look. x86 orders the store all the same (it is an exchange), other machines do not.
 *
 * A slot whose time is not older than the wait's entered after the time moved on: it read a time that was written after the
 * unlinking, and acquired it, so it sees that. A reader may announce an old time when the clock moves between its two steps;
 * it is then waited for once too often, never too little. */
#include "base/sync_point.h"
#include "base/epoch.h"

#include <sched.h>

#define SPINS_BEFORE_YIELD 200u

void ts_epochs_init(ts_epochs *epochs) {
  atomic_store(&epochs->now, 1);
  for (uint32_t i = 0; i < TS_EPOCH_SLOTS; i++) {
    atomic_store(&epochs->slots[i].entered, 0);
    atomic_store(&epochs->slots[i].claimed, 0);
  }
}

ts_epoch_slot *ts_epoch_claim(ts_epochs *epochs) {
  /* Threads start to look at different places, named by their stacks, so that they rarely meet. */
  uint32_t start = (uint32_t)(ts_mix64((uint64_t)(uintptr_t)__builtin_frame_address(0) >> 12));
  for (;;) {
    for (uint32_t i = 0; i < TS_EPOCH_SLOTS; i++) {
      ts_epoch_slot *slot = &epochs->slots[(start + i) % TS_EPOCH_SLOTS];
      uint32_t expected = 0;
      if (atomic_load_explicit(&slot->claimed, memory_order_relaxed) == 0 &&
          atomic_compare_exchange_strong(&slot->claimed, &expected, 1))
        return slot;
    }
    TS_SYNC("epoch:claim:all_taken");
    sched_yield();
  }
}

void ts_epoch_release(ts_epoch_slot *slot) { atomic_store_explicit(&slot->claimed, 0, memory_order_release); }

void ts_epoch_wait(ts_epochs *epochs) {
  uint64_t time = atomic_fetch_add(&epochs->now, 1) + 1;
  ts_epoch_fence();
  TS_SYNC("epoch:wait:begin");
  for (uint32_t i = 0; i < TS_EPOCH_SLOTS; i++) {
    uint32_t spins = 0;
    for (;;) {
      uint64_t entered = atomic_load(&epochs->slots[i].entered);
      if (entered == 0 || entered >= time) break;
      if (spins == 0) TS_SYNC("epoch:wait:reader_inside");
      if (++spins > SPINS_BEFORE_YIELD) sched_yield(); /* the reader may not be running */
#if defined(__x86_64__)
      else __builtin_ia32_pause();
#endif
    }
  }
}
