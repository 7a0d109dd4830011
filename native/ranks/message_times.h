/* message_times.h - of the time in messages, what was waiting for other ranks and what was moving bytes.
 *
 * Each rank keeps how long each of its messages took. Logs are compared every TS_TIMES_KEPT messages and when asked, so memory is
 * bounded. A message took the rank that came last the shortest, since it waited for nobody: that is the time of moving, on all
 * of its ranks, and what a rank took longer is its waiting. In a swap only the two partners are compared. A rank that may leave a
 * message before the others have come (bytes that the MPI buffers) makes moving shorter than it was. */
#ifndef TS_RANKS_MESSAGE_TIMES_H
#define TS_RANKS_MESSAGE_TIMES_H

#include "base/base.h"
#include "ranks/ops.h"

#define TS_TIMES_KEPT 512u /* of a log: some hundred steps; 4 KiB a rank */
#define TS_TIMES_LOGS 4u   /* messages of all ranks; swaps with the partner at distance 1, 2 and 4 */
#define TS_TIMES_OF_ALL 0u

/* One log as it is sent. */
typedef struct ts_times_log {
  uint64_t count, ns[TS_TIMES_KEPT];
} ts_times_log;

typedef struct ts_message_times {
  ts_times_log logs[TS_TIMES_LOGS];
  ts_times_log *others;           /* room for the logs of all ranks */
  uint64_t waiting_ns, moving_ns; /* of this rank's messages that were compared */
} ts_message_times;

/* Number of the log of swaps with the partner at a distance, 1, 2 or 4. */
static inline uint32_t ts_times_of_swaps(uint32_t distance) { return distance == 4 ? 3 : distance; }

/* Room for the logs of `size` ranks; false: no memory. */
bool ts_message_times_open(ts_message_times *times, uint32_t size);
void ts_message_times_close(ts_message_times *times);

/* A message of so many nanoseconds; compares if its log is full then, which it is on all of its ranks at the same message.
 * The carrier's code, 0: all is well; TS_TIMES_DIFFER where ranks do not have equally many messages. */
#define TS_TIMES_DIFFER (-7531)
int ts_message_times_add(ts_message_times *times, const ts_ranks_ops *ops, uint32_t log, uint64_t ns);
/* Compares what was not yet: every rank calls; `trainers` of them swap. As ts_message_times_add. */
int ts_message_times_compare(ts_message_times *times, const ts_ranks_ops *ops, uint32_t trainers);

#endif
