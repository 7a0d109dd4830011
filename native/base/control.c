/* control.c - runs that wait for their caller between two units, by futexes on the words of `control`. */
#include "base/control.h"

#include "base/sync_point.h"

#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* A futex is 32 bits; of a word that counts these are the ones that change. */
static uint32_t *changing_half(uint64_t *word) {
  return (uint32_t *)(void *)word + (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? 1 : 0);
}

static void wake_all(uint64_t *word) { syscall(SYS_futex, changing_half(word), FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0); }

/* At most 50 ms: who cancels wakes nobody, and units that are counted neither. */
static void wait_while(uint64_t *word, uint64_t value) {
  const struct timespec most = {.tv_nsec = 50000000};
  syscall(SYS_futex, changing_half(word), FUTEX_WAIT_PRIVATE, (uint32_t)value, &most, NULL, 0);
}

void ts_control_hold_slowly(uint64_t *control, uint64_t done) {
  wake_all(&control[TS_CONTROL_DONE]);
  while (__atomic_load_n(&control[TS_CONTROL_HOLD], __ATOMIC_ACQUIRE) == done + 1 &&
         __atomic_load_n(&control[TS_CONTROL_CANCEL], __ATOMIC_RELAXED) == 0) {
    TS_SYNC("control:held");
    wait_while(&control[TS_CONTROL_HOLD], done + 1);
  }
}

int32_t ts_control_wait(uint64_t *control, uint64_t done) {
  if (control == NULL) return TS_EINVAL;
  for (;;) {
    const uint64_t now = __atomic_load_n(&control[TS_CONTROL_DONE], __ATOMIC_ACQUIRE);
    if (now >= done) return TS_OK;
    if (__atomic_load_n(&control[TS_CONTROL_CANCEL], __ATOMIC_RELAXED) != 0) return TS_ECANCELLED;
    wait_while(&control[TS_CONTROL_DONE], now);
  }
}

int32_t ts_control_pass(uint64_t *control, uint64_t hold) {
  if (control == NULL) return TS_EINVAL;
  __atomic_store_n(&control[TS_CONTROL_HOLD], hold, __ATOMIC_RELEASE);
  wake_all(&control[TS_CONTROL_HOLD]);
  return TS_OK;
}
