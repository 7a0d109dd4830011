/* ops.h - what ranks need of whoever carries their messages: a table of functions that a shim compiled against the installed
 * MPI fills (shim/mpi.c), or a test. The library itself moves nothing between processes.
 *
 * Ranks are numbered from 0. Calls are collective but for `swap`, which two ranks make, those of messages from one rank to
 * another, and `end`: every rank makes the same calls in the same order. One call at a time, from any thread. All return 0, or a
 * number of the carrier's that `error_text` puts into words. */
#ifndef TS_RANKS_OPS_H
#define TS_RANKS_OPS_H

#include <stdint.h>

#define TS_RANKS_OPS_VERSION 3u

typedef struct ts_ranks_ops {
  uint32_t version; /* TS_RANKS_OPS_VERSION */
  uint32_t rank, size;
  const char *library; /* name and version of the MPI */
  void *context;
  /* From each rank `bytes` to every rank, its own too: to receive + rank * bytes. */
  int (*gather)(void *context, const void *send, uint64_t bytes, void *receive);
  /* `bytes` to each rank: rank r's lie at send + r * bytes, what it sent arrives at receive + r * bytes. */
  int (*alltoall)(void *context, const void *send, uint64_t bytes, void *receive);
  /* The same with another number for each; pieces lie one behind the other. All together below 2 GiB. */
  int (*alltoallv)(void *context, const void *send, const uint64_t *send_bytes, void *receive, const uint64_t *receive_bytes);
  /* With one other rank: `send_bytes` there, `receive_bytes` from it. Below 2 GiB. */
  int (*swap)(void *context, uint32_t partner, const void *send, uint64_t send_bytes, void *receive, uint64_t receive_bytes);
  /* Messages from one rank to another, which keep their order between the two. `post` begins to send, without waiting for the other,
   * and `send` stays as it is until `settle`, which waits until everything that was posted to this rank has been taken over. `take`
   * waits for the next message from a rank, which must have `bytes`. `next` waits until there is one from any of the first `ranks`
   * ranks, whose number *from becomes; those that have one are served in turn. Messages are below 2 GiB. */
  int (*post)(void *context, uint32_t to, const void *send, uint64_t bytes);
  int (*settle)(void *context, uint32_t to);
  int (*take)(void *context, uint32_t from, void *receive, uint64_t bytes);
  int (*next)(void *context, uint32_t ranks, uint32_t *from);
  /* Whether who waits for a message gives its processor away meanwhile (`yields`), or asks without a pause, as MPI's own calls
   * do, until it is there. May be NULL: there is nothing to choose. */
  void (*wait_by)(void *context, uint32_t yields);
  void (*error_text)(void *context, int code, char *out, uint32_t cap);
  /* Ends the processes of all ranks, wherever they are; this one with `code`. */
  void (*abort)(void *context, int code);
  void (*end)(void *context); /* this rank makes no more calls */
} ts_ranks_ops;

/* The shim's one function. NULL, with words in `why`, if there is no job to join. May be called once in a process. */
typedef const ts_ranks_ops *ts_ranks_shim(char *why, uint32_t cap);
#define TS_RANKS_SHIM "ts_ranks_shim_open"

#endif
