/* sync_point.h - named places in the code at which tests take hold of a thread, or of a value.
 *
 * The idea (RocksDB's sync points): a race that needs two threads at two lines at once is found once in a million runs by
 * chance, and in every run by a test that can make the one line wait for the other. A point is a name in the code,
 * "ssd:make_room:before_wait". Only objects that are compiled with TS_SYNC_POINTS have them, which the Makefile does for
 * the tests that include this header; in the library the macros are nothing.
 *
 * Where points are: at every wait and hand-over between threads of store and tiers, where a call lets go of one lock and
 * before it takes the next, and at system calls that can fail (there the value is what the call is to do or gave back). */
#ifndef TS_SYNC_POINT_H
#define TS_SYNC_POINT_H

#include <stdbool.h>
#include <stdint.h>

#if defined(TS_SYNC_POINTS)

#define TS_SYNC(point) ts_sync_reach(point, (void *)0)
/* The callback of a test may look at the value and change it. */
#define TS_SYNC_VALUE(point, value) ts_sync_reach(point, &(value))

/* ---- what the code calls ---- */

void ts_sync_reach(const char *point, void *value);

/* ---- what tests call ---- */

/* Points do something between start and stop. Stop lets everybody go on and forgets all that was asked for; it returns
 * false if a thread waited longer than ts_sync_patience seconds: it was let go, and what the test wanted did not happen. */
void ts_sync_start(void);
bool ts_sync_stop(void);
extern double ts_sync_patience; /* 20 */

/* Nobody passes `then` before somebody has passed `first`. */
void ts_sync_order(const char *first, const char *then);
/* Whoever reaches the point from now on stays there until ts_sync_open. */
void ts_sync_close(const char *point);
/* The same for the next thread alone. */
void ts_sync_close_first(const char *point);
void ts_sync_open(const char *point);
/* Called by each thread that reaches the point, before it waits there; value: of TS_SYNC_VALUE, else NULL. */
void ts_sync_call(const char *point, void (*callback)(void *context, void *value), void *context);
/* How often the point was reached since start. */
uint64_t ts_sync_reached(const char *point);
/* Waits until it was reached so often; false: it was not within ts_sync_patience seconds. */
bool ts_sync_await(const char *point, uint64_t times);

#else
#define TS_SYNC(point) ((void)0)
#define TS_SYNC_VALUE(point, value) ((void)0)
#endif
#endif
