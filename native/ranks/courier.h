/* courier.h - a thread that makes a rank's messages while others compute. One errand at a time; a rank makes no other message
 * between begin and wait, so messages keep their order. */
#ifndef TS_RANKS_COURIER_H
#define TS_RANKS_COURIER_H

#include "base/base.h"

typedef struct ts_courier ts_courier;
typedef void ts_errand(void *context);

/* Errors: TS_ENOMEM, also where the system gives no thread. */
int32_t ts_courier_open(ts_courier **out, ts_err err);
void ts_courier_close(ts_courier *courier); /* waits; NULL is accepted */
/* The errand before it has been waited for. */
void ts_courier_begin(ts_courier *courier, ts_errand *errand, void *context);
/* Returns once it is done; at once where none was begun. What it wrote is seen. */
void ts_courier_wait(ts_courier *courier);

/* Waits at most so many nanoseconds; whether it is done. Such waiting is not counted. */
bool ts_courier_wait_for(ts_courier *courier, uint64_t ns);

/* Since it was opened: nanoseconds of errands, and of waiting for them. */
typedef struct ts_courier_times {
  uint64_t busy_ns, waited_ns;
} ts_courier_times;
ts_courier_times ts_courier_count(ts_courier *courier);

#endif
