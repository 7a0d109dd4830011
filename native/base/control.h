/* control.h - progress and cancellation of long runs through the caller's `control` words, which may be NULL. */
#ifndef TS_CONTROL_H
#define TS_CONTROL_H

#include "base/base.h"

static inline void ts_control_start(uint64_t *control, uint64_t total) {
  if (control == NULL) return;
  __atomic_store_n(&control[TS_CONTROL_DONE], 0, __ATOMIC_RELAXED);
  __atomic_store_n(&control[TS_CONTROL_TOTAL], total, __ATOMIC_RELAXED);
}

static inline void ts_control_add(uint64_t *control, uint64_t units) {
  if (control != NULL) __atomic_fetch_add(&control[TS_CONTROL_DONE], units, __ATOMIC_RELAXED);
}

/* So many units more are known of. */
static inline void ts_control_more(uint64_t *control, uint64_t units) {
  if (control != NULL) __atomic_fetch_add(&control[TS_CONTROL_TOTAL], units, __ATOMIC_RELAXED);
}

/* All is done. What came otherwise than was foreseen is made up for: rows may come and go beside what counts them. */
static inline void ts_control_finish(uint64_t *control) {
  if (control == NULL) return;
  const uint64_t done = __atomic_load_n(&control[TS_CONTROL_DONE], __ATOMIC_RELAXED);
  const uint64_t total = __atomic_load_n(&control[TS_CONTROL_TOTAL], __ATOMIC_RELAXED);
  __atomic_store_n(&control[done < total ? TS_CONTROL_DONE : TS_CONTROL_TOTAL], done < total ? total : done, __ATOMIC_RELAXED);
}

static inline void ts_control_set(uint64_t *control, uint64_t done) {
  if (control != NULL) __atomic_store_n(&control[TS_CONTROL_DONE], done, __ATOMIC_RELAXED);
}

static inline bool ts_control_cancelled(const uint64_t *control) {
  return control != NULL && __atomic_load_n(&control[TS_CONTROL_CANCEL], __ATOMIC_RELAXED) != 0;
}

void ts_control_hold_slowly(uint64_t *control, uint64_t done);

/* Waits where the caller has said so, before a run's next unit. `done`: units before it. */
static inline void ts_control_hold(uint64_t *control, uint64_t done) {
  if (control != NULL && __atomic_load_n(&control[TS_CONTROL_HOLD], __ATOMIC_ACQUIRE) == done + 1) ts_control_hold_slowly(control, done);
}

#endif
