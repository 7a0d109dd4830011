/* lane.c - a trainer and the servers over messages from one rank to another. */
#include "ranks/lane.h"

#include <string.h>

/* Ranks of the lane among all. */
static uint32_t of_all(const ts_lane *l, uint32_t rank) { return rank == 0 ? l->trainer : l->all->first_owner + rank - 1; }
static bool is_trainer(const ts_lane *l) { return l->ranks->ops.rank == 0; }
/* Whether this rank has messages with that one. */
static bool meets(const ts_lane *l, uint32_t rank) { return is_trainer(l) != (rank == 0); }

static int gather(void *context, const void *send, uint64_t bytes, void *receive) {
  const ts_lane *l = context;
  memset(receive, 0, bytes * l->ranks->ops.size);
  memcpy((char *)receive + bytes * l->ranks->ops.rank, send, bytes);
  return 0;
}

/* A trainer does not wait until its counts are taken, so a server that waits for one trainer keeps no other from its turn. */
static int alltoall(void *context, const void *send, uint64_t bytes, void *receive) {
  const ts_lane *l = context;
  int code = gather(context, (const char *)send + bytes * l->ranks->ops.rank, bytes, receive);
  if (!is_trainer(l)) return ts_ranks_take(l->all, l->trainer, receive, bytes);
  for (uint32_t r = 1; r < l->ranks->ops.size && code == 0; r++)
    code = ts_ranks_post(l->all, of_all(l, r), (const char *)send + bytes * r, bytes);
  return code;
}

static int alltoallv(void *context, const void *send, const uint64_t *sent, void *receive, const uint64_t *received) {
  const ts_lane *l = context;
  const char *from = send;
  char *to = receive;
  int code = 0;
  for (uint32_t r = 0; r < l->ranks->ops.size && code == 0; from += sent[r++])
    if (meets(l, r) && sent[r] > 0) code = ts_ranks_post(l->all, of_all(l, r), from, sent[r]);
  for (uint32_t r = 0; r < l->ranks->ops.size && code == 0; to += received[r++])
    if (meets(l, r) && received[r] > 0) code = ts_ranks_take(l->all, of_all(l, r), to, received[r]);
  return code;
}

static void error_text(void *context, int code, char *out, uint32_t cap) {
  const ts_ranks_ops *ops = &((ts_lane *)context)->all->ops;
  ops->error_text(ops->context, code, out, cap);
}

int32_t ts_lane_open(ts_lane *l, ts_ranks *all, uint32_t trainer, ts_err err) {
  *l = (ts_lane){.all = all, .trainer = trainer};
  const ts_ranks_ops ops = {.version = TS_RANKS_OPS_VERSION,
                            .rank = ts_ranks_owns(all) ? all->ops.rank - all->first_owner + 1 : 0,
                            .size = all->owners + 1,
                            .library = all->ops.library,
                            .context = l,
                            .gather = gather,
                            .alltoall = alltoall,
                            .alltoallv = alltoallv,
                            .error_text = error_text};
  const int32_t status = ts_ranks_make(&ops, all->owners, &l->ranks, err);
  if (status == TS_OK) l->ranks->lane_of = all;
  return status;
}

void ts_lane_close(ts_lane *l) {
  ts_ranks_close(l->ranks);
  l->ranks = NULL;
}
