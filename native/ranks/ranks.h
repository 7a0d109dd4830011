/* ranks.h - the ranks that train one model together, as one of them sees them.
 *
 * Two layouts. Collocated: every rank trains and owns a share of the rows. With servers: the last `servers` ranks own rows and
 * nothing else, the others train and own none. What trains is 1, 2, 4 or 8 ranks, each with an equal number of the batch's
 * TS_MICRO_SHARDS micro-shards, one behind the other: so the sums over a rank's micro-shards are whole subtrees of the one tree
 *
 *   ((0 + 1) + (2 + 3)) + ((4 + 5) + (6 + 7))
 *
 * by which everything that is summed over samples is summed, and results are the same bits on any number of ranks. */
#ifndef TS_RANKS_H
#define TS_RANKS_H

#include "base/owner.h"
#include "ranks/message_times.h"
#include "ranks/ops.h"

#define TS_MICRO_SHARDS 8u
#define TS_MOST_RANKS 1024u

struct ts_ranks {
  ts_owner owner;
  ts_ranks *lane_of; /* NULL, or of a lane (lane.h) all the ranks: they count its messages */
  ts_ranks_ops ops; /* a copy; of one rank alone without a carrier */
  uint32_t trainers, first_owner, owners;
  void *gathered;   /* room for what all ranks say (ts_ranks_agree) */
  uint64_t calls, sent_bytes, received_bytes, ns; /* since they were opened: messages, not agreements */
  ts_message_times times;
};

/* Ranks over a carrier's functions, which are copied. ops NULL: one rank alone. Errors: TS_EINVAL (numbers that do not fit),
 * TS_ENOMEM. After an error the carrier is the caller's to end. */
int32_t ts_ranks_make(const ts_ranks_ops *ops, uint32_t servers, ts_ranks **out, ts_err err);

static inline bool ts_ranks_trains(const ts_ranks *ranks) { return ranks->ops.rank < ranks->trainers; }
static inline bool ts_ranks_owns(const ts_ranks *ranks) { return ranks->ops.rank >= ranks->first_owner; }
/* Micro-shards of a rank: how many, and the first. */
static inline uint32_t ts_ranks_shards(const ts_ranks *ranks) {
  return ts_ranks_trains(ranks) ? TS_MICRO_SHARDS / ranks->trainers : 0;
}
static inline uint32_t ts_ranks_first_shard(const ts_ranks *ranks) { return ranks->ops.rank * ts_ranks_shards(ranks); }

/* Who owns a key's row: by bits that no shard of a store uses, another rank for a key of another table. */
static inline uint32_t ts_ranks_owner(const ts_ranks *ranks, uint32_t table, int64_t key) {
  const uint64_t h = ts_mix64((uint64_t)key ^ ts_mix64(UINT64_C(0x6f776e65722e) + table));
  return ranks->first_owner + (uint32_t)(((h >> 32) * ranks->owners) >> 32);
}

/* Messages, counted and timed. Errors: TS_EINTERNAL with the carrier's words. */
int32_t ts_ranks_gather(ts_ranks *ranks, const void *send, uint64_t bytes, void *receive, ts_err err);
int32_t ts_ranks_alltoall(ts_ranks *ranks, const void *send, uint64_t bytes, void *receive, ts_err err);
int32_t ts_ranks_alltoallv(ts_ranks *ranks, const void *send, const uint64_t *send_bytes, void *receive,
                           const uint64_t *receive_bytes, ts_err err);

/* From one rank to another (ops.h), counted and timed. The carrier's code, 0: all is well; ts_ranks_failed puts it into words. */
int ts_ranks_post(ts_ranks *ranks, uint32_t to, const void *send, uint64_t bytes);
int ts_ranks_settle(ts_ranks *ranks, uint32_t to);
int ts_ranks_take(ts_ranks *ranks, uint32_t from, void *receive, uint64_t bytes);
int ts_ranks_next(ts_ranks *ranks, uint32_t *from); /* a rank that trains */
/* TS_OK of 0, otherwise TS_EINTERNAL with the carrier's words; `what`: could not be done. */
int32_t ts_ranks_failed(const ts_ranks *ranks, int code, const char *what, ts_err err);

/* The sum of the trainers' values by the tree, in place and on every trainer; `scratch` has n floats, too. Halves are added
 * by one rank each and then handed round, so a rank sends less than 2 n floats. Trainers call, and nobody else. */
int32_t ts_ranks_sum(ts_ranks *ranks, float *values, uint64_t n, float *scratch, ts_err err);

/* Every rank tells how it went so far, whether it asks for an end, and a word that must be equal on all of them. TS_OK on all
 * ranks, or on all of them the error of the lowest rank that has one, with its number; if words differ, TS_EINVAL about `what`.
 * asks: 1 if this rank does; becomes 1 + the lowest rank that does, 0: none. NULL: not this one, and it does not want to know. */
int32_t ts_ranks_agree(ts_ranks *ranks, int32_t status, uint64_t word, const char *what, uint32_t *asks, ts_err err);

#endif
