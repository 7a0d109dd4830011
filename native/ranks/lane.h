/* lane.h - one trainer and the servers, as ranks of their own: what they exchange for a step of that trainer alone.
 *
 * On a lane the trainer is rank 0 and the servers follow, so that rows, gradients and owners of keys (exchange.h) are as they are
 * over all ranks. It has messages between the trainer and a server only, each begun by one side and taken by the other: nothing is
 * collective, and a server is on the lanes of all trainers at once. Of counts only the trainer's go out. */
#ifndef TS_RANKS_LANE_H
#define TS_RANKS_LANE_H

#include "ranks/ranks.h"

typedef struct ts_lane {
  ts_ranks *all, *ranks; /* all of them; the trainer and the servers */
  uint32_t trainer;      /* of all */
} ts_lane;

/* `all` has servers and outlives the lane, which is closed where it was opened. Errors: TS_ENOMEM; ts_lane_close follows. */
int32_t ts_lane_open(ts_lane *lane, ts_ranks *all, uint32_t trainer, ts_err err);
void ts_lane_close(ts_lane *lane);

#endif
