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

static inline void ts_control_set(uint64_t *control, uint64_t done) {
  if (control != NULL) __atomic_store_n(&control[TS_CONTROL_DONE], done, __ATOMIC_RELAXED);
}

static inline bool ts_control_cancelled(const uint64_t *control) {
  return control != NULL && __atomic_load_n(&control[TS_CONTROL_CANCEL], __ATOMIC_RELAXED) != 0;
}

#endif
