/* clock.c - the monotonic clock, and waiting on it the way a stalled core waits. */
#include "base/base.h"

#include <time.h>

uint64_t ts_now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

void ts_spin_until(uint64_t deadline_ns) {
  while (ts_now_ns() < deadline_ns) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
  }
}
