/* message_times.c - compares how long a message took its ranks. */
#include "ranks/message_times.h"

#include <stdlib.h>

bool ts_message_times_open(ts_message_times *times, uint32_t size) {
  times->others = calloc(size, sizeof *times->others);
  return times->others != NULL;
}

void ts_message_times_close(ts_message_times *times) { free(times->others); }

static int compare(ts_message_times *times, const ts_ranks_ops *ops, uint32_t log) {
  ts_times_log *mine = &times->logs[log];
  const uint32_t others = log == TS_TIMES_OF_ALL ? ops->size : 1, distance = log == 3 ? 4 : log;
  const int code = log == TS_TIMES_OF_ALL
                       ? ops->gather(ops->context, mine, sizeof *mine, times->others)
                       : ops->swap(ops->context, ops->rank ^ distance, mine, sizeof *mine, times->others, sizeof *mine);
  if (code != 0) return code;
  for (uint32_t r = 0; r < others; r++)
    if (times->others[r].count != mine->count) return TS_TIMES_DIFFER;
  for (uint64_t i = 0; i < mine->count; i++) {
    uint64_t least = mine->ns[i];
    for (uint32_t r = 0; r < others; r++) least = TS_MIN(least, times->others[r].ns[i]);
    times->moving_ns += least;
    times->waiting_ns += mine->ns[i] - least;
  }
  mine->count = 0;
  return 0;
}

int ts_message_times_add(ts_message_times *times, const ts_ranks_ops *ops, uint32_t log, uint64_t ns) {
  times->logs[log].ns[times->logs[log].count++] = ns;
  return times->logs[log].count < TS_TIMES_KEPT ? 0 : compare(times, ops, log);
}

int ts_message_times_compare(ts_message_times *times, const ts_ranks_ops *ops, uint32_t trainers) {
  if (ops->gather == NULL) return 0;
  int code = compare(times, ops, TS_TIMES_OF_ALL);
  for (uint32_t distance = 1; distance < trainers && ops->rank < trainers && code == 0; distance *= 2)
    code = compare(times, ops, ts_times_of_swaps(distance));
  return code;
}
