/* A run that holds: no pass is lost between its look at the word and its wait, other words wake nobody wrongly, and cancelling ends
 * both sides. */
#include "base/control.h"
#include "base/sync_point.h"
#include "test/check.h"

#include <pthread.h>

static void pass(void *context, void *value) {
  (void)value;
  uint64_t *control = context;
  /* Its first look was past; the second time it holds at another unit, which is none of its. */
  CHECK(ts_control_pass(control, ts_sync_reached("control:held") == 1 ? 9 : 0) == TS_OK);
}

/* The caller lets it on when it has looked and not yet begun to wait. */
static void passed_before_the_wait(void) {
  uint64_t control[TS_CONTROL_WORDS] = {[TS_CONTROL_HOLD] = 4};
  ts_sync_start();
  ts_sync_call("control:held", pass, control);
  ts_control_hold(control, 2); /* not here */
  CHECK(ts_sync_reached("control:held") == 0);
  ts_control_hold(control, 3);
  CHECK(ts_sync_reached("control:held") == 1 && control[TS_CONTROL_HOLD] == 9);
  ts_control_hold(control, 8);
  CHECK(ts_sync_reached("control:held") == 2 && control[TS_CONTROL_HOLD] == 0);
  ts_control_hold(control, 8);
  ts_control_hold(NULL, 8);
  CHECK(ts_sync_reached("control:held") == 2);
  CHECK(ts_sync_stop());
}

static void cancel(void *context, void *value) {
  (void)value;
  __atomic_store_n(&((uint64_t *)context)[TS_CONTROL_CANCEL], 1, __ATOMIC_RELEASE);
}

static void *wait_for_five(void *context) {
  static int32_t status;
  status = ts_control_wait(context, 5);
  return &status;
}

/* Whoever waits for a unit is woken by a run that holds there, and by one that is cancelled. */
static void both_sides(void) {
  for (uint32_t cancels = 0; cancels < 2; cancels++) {
    uint64_t control[TS_CONTROL_WORDS] = {[TS_CONTROL_HOLD] = cancels ? 3 : 6};
    pthread_t thread;
    void *status;
    ts_sync_start();
    ts_sync_call("control:held", cancels ? cancel : pass, control);
    CHECK(pthread_create(&thread, NULL, wait_for_five, control) == 0);
    for (uint64_t done = 0; done < 6 && !ts_control_cancelled(control); done++) {
      ts_control_set(control, done);
      ts_control_hold(control, done);
    }
    pthread_join(thread, &status);
    CHECK(*(const int32_t *)status == (cancels ? TS_ECANCELLED : TS_OK));
    CHECK(ts_sync_stop());
  }
}

int main(void) {
  passed_before_the_wait();
  both_sides();
  return test_result();
}
