/* mpi.c - ranks as processes of an MPI job. Compiled by set-up, once for each MPI that is installed (mpicc.openmpi,
 * mpicc.mpich, ...), into a library of its own, since MPIs have no binary interface in common; opened by ranks.c.
 *
 * Waits are MPI's own, which ask for the message without a pause, or ours (`yields`): the call is begun, and between two looks at
 * it this thread gives its processor away, first to who is ready to run, then for longer and longer.
 *
 * MPI is initialised once in a process and ended when the process has closed its ranks. Any thread may call, one at a time:
 * MPI_THREAD_SERIALIZED is asked for. */
#include "ranks/ops.h"

#include <limits.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sched.h>
#include <time.h>

/* What was posted to one rank and is under way. */
typedef struct posted {
  MPI_Request *requests;
  int count, room;
} posted;

static struct {
  ts_ranks_ops ops;
  MPI_Comm world;
  uint32_t yields;
  posted *posted; /* by rank */
  uint32_t served; /* the rank whose message was found last */
  int *counts[4]; /* of alltoallv: send counts and places, receive counts and places */
  char library[MPI_MAX_LIBRARY_VERSION_STRING];
} job;

/* Looks before it sleeps, and nanoseconds of its sleeps: a message on one machine comes within the looks, one over a network
 * takes tens of microseconds, and a wait of a millisecond is late by a tenth of one. */
#define LOOKS 32
#define SHORTEST 10000
#define LONGEST 100000

/* Between two looks, of which this is number `look`, counting from 0. */
static void pass_time(int look) {
  if (look < LOOKS) {
    sched_yield();
    return;
  }
  const long sleeps = look - LOOKS + 1, ns = sleeps < LONGEST / SHORTEST ? sleeps * SHORTEST : LONGEST;
  clock_nanosleep(CLOCK_MONOTONIC, 0, &(struct timespec){.tv_nsec = ns}, NULL);
}

static int finish(MPI_Request *requests, int count) {
  MPI_Status statuses[2];
  for (int look = 0;; look++) {
    int done = 0;
    const int code = MPI_Testall(count, requests, &done, statuses);
    if (code != MPI_SUCCESS || done) return code;
    pass_time(look);
  }
}

static void wait_by(void *context, uint32_t yields) {
  (void)context;
  job.yields = yields;
}

static int gather(void *context, const void *send, uint64_t bytes, void *receive) {
  MPI_Request request;
  (void)context;
  if (job.yields) {
    const int code = MPI_Iallgather(send, (int)bytes, MPI_BYTE, receive, (int)bytes, MPI_BYTE, job.world, &request);
    return code == MPI_SUCCESS ? finish(&request, 1) : code;
  }
  return MPI_Allgather(send, (int)bytes, MPI_BYTE, receive, (int)bytes, MPI_BYTE, job.world);
}

static int alltoall(void *context, const void *send, uint64_t bytes, void *receive) {
  MPI_Request request;
  (void)context;
  if (job.yields) {
    const int code = MPI_Ialltoall(send, (int)bytes, MPI_BYTE, receive, (int)bytes, MPI_BYTE, job.world, &request);
    return code == MPI_SUCCESS ? finish(&request, 1) : code;
  }
  return MPI_Alltoall(send, (int)bytes, MPI_BYTE, receive, (int)bytes, MPI_BYTE, job.world);
}

/* Counts and places of pieces that lie one behind the other; false where MPI's integers cannot hold them. */
static int places(const uint64_t *bytes, int *counts, int *at) {
  uint64_t sum = 0;
  for (uint32_t r = 0; r < job.ops.size; r++) {
    counts[r] = (int)bytes[r];
    at[r] = (int)sum;
    sum += bytes[r];
    if (sum > INT_MAX) return 0;
  }
  return 1;
}

static int alltoallv(void *context, const void *send, const uint64_t *send_bytes, void *receive,
                     const uint64_t *receive_bytes) {
  (void)context;
  if (!places(send_bytes, job.counts[0], job.counts[1]) || !places(receive_bytes, job.counts[2], job.counts[3]))
    return MPI_ERR_COUNT;
  if (job.yields) {
    MPI_Request request;
    const int code = MPI_Ialltoallv(send, job.counts[0], job.counts[1], MPI_BYTE, receive, job.counts[2], job.counts[3], MPI_BYTE,
                                    job.world, &request);
    return code == MPI_SUCCESS ? finish(&request, 1) : code;
  }
  return MPI_Alltoallv(send, job.counts[0], job.counts[1], MPI_BYTE, receive, job.counts[2], job.counts[3], MPI_BYTE,
                       job.world);
}

static int swap(void *context, uint32_t partner, const void *send, uint64_t send_bytes, void *receive,
                uint64_t receive_bytes) {
  (void)context;
  if (send_bytes > INT_MAX || receive_bytes > INT_MAX) return MPI_ERR_COUNT;
  if (job.yields) {
    MPI_Request requests[2];
    int code = MPI_Irecv(receive, (int)receive_bytes, MPI_BYTE, (int)partner, 0, job.world, &requests[0]);
    if (code == MPI_SUCCESS) code = MPI_Isend(send, (int)send_bytes, MPI_BYTE, (int)partner, 0, job.world, &requests[1]);
    return code == MPI_SUCCESS ? finish(requests, 2) : code;
  }
  return MPI_Sendrecv(send, (int)send_bytes, MPI_BYTE, (int)partner, 0, receive, (int)receive_bytes, MPI_BYTE, (int)partner, 0,
                      job.world, MPI_STATUS_IGNORE);
}

/* ---- from one rank to another; swaps have tag 0 ---- */

#define TAG 1

static int post(void *context, uint32_t to, const void *send, uint64_t bytes) {
  posted *p = &job.posted[to];
  (void)context;
  if (bytes > INT_MAX) return MPI_ERR_COUNT;
  if (p->count == p->room) {
    MPI_Request *more = realloc(p->requests, (size_t)(p->room + 16) * sizeof *more);
    if (more == NULL) return MPI_ERR_NO_MEM;
    p->requests = more;
    p->room += 16;
  }
  const int code = MPI_Isend(send, (int)bytes, MPI_BYTE, (int)to, TAG, job.world, &p->requests[p->count]);
  p->count += code == MPI_SUCCESS;
  return code;
}

static int settle(void *context, uint32_t to) {
  posted *p = &job.posted[to];
  (void)context;
  int code = MPI_SUCCESS;
  for (int i = 0; i < p->count && code == MPI_SUCCESS; i++)
    code = job.yields ? finish(&p->requests[i], 1) : MPI_Wait(&p->requests[i], MPI_STATUS_IGNORE);
  p->count = 0;
  return code;
}

/* A message of another length is an error, not part of the next one. */
static int take(void *context, uint32_t from, void *receive, uint64_t bytes) {
  MPI_Request request;
  MPI_Status status;
  int received = 0;
  (void)context;
  if (bytes > INT_MAX) return MPI_ERR_COUNT;
  int code = MPI_Irecv(receive, (int)bytes, MPI_BYTE, (int)from, TAG, job.world, &request);
  for (int look = 0, done = 0; code == MPI_SUCCESS && !done; look++) {
    code = job.yields ? MPI_Test(&request, &done, &status) : MPI_Wait(&request, &status);
    if (!job.yields) break;
    if (!done && code == MPI_SUCCESS) pass_time(look);
  }
  if (code == MPI_SUCCESS) code = MPI_Get_count(&status, MPI_BYTE, &received);
  return code == MPI_SUCCESS && received != (int)bytes ? MPI_ERR_TRUNCATE : code;
}

/* Ranks after the one that was served last come first. */
static int next(void *context, uint32_t ranks, uint32_t *from) {
  (void)context;
  for (int look = 0;; look++) {
    for (uint32_t i = 1; i <= ranks; i++) {
      const uint32_t r = (job.served + i) % ranks;
      int there = 0;
      const int code = r == job.ops.rank ? MPI_SUCCESS : MPI_Iprobe((int)r, TAG, job.world, &there, MPI_STATUS_IGNORE);
      if (code != MPI_SUCCESS) return code;
      if (!there) continue;
      *from = job.served = r;
      return MPI_SUCCESS;
    }
    if (job.yields) pass_time(look);
  }
}

static void error_text(void *context, int code, char *out, uint32_t cap) {
  (void)context;
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(code, text, &length);
  snprintf(out, cap, "%s", text);
}

static void end_all(void *context, int code) {
  (void)context;
  MPI_Abort(job.world, code);
}

static void end(void *context) {
  (void)context;
  MPI_Comm_free(&job.world);
  MPI_Finalize();
  for (int i = 0; i < 4; i++) free(job.counts[i]);
  for (uint32_t r = 0; r < job.ops.size; r++) free(job.posted[r].requests);
  free(job.posted);
}

ts_ranks_shim ts_ranks_shim_open;
__attribute__((visibility("default"))) const ts_ranks_ops *ts_ranks_shim_open(char *why, uint32_t cap) {
  int begun = 0, level = 0, rank = 0, size = 0, length = 0;
  MPI_Initialized(&begun);
  if (begun) {
    snprintf(why, cap, "this process has joined its job already, and may do so once");
    return NULL;
  }
  if (MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &level) != MPI_SUCCESS) {
    snprintf(why, cap, "MPI could not be initialised");
    return NULL;
  }
  if (level < MPI_THREAD_SERIALIZED) {
    snprintf(why, cap, "this MPI was built without threads (level %d)", level);
    MPI_Finalize();
    return NULL;
  }
  MPI_Comm_dup(MPI_COMM_WORLD, &job.world);
  MPI_Comm_set_errhandler(job.world, MPI_ERRORS_RETURN);
  MPI_Comm_rank(job.world, &rank);
  MPI_Comm_size(job.world, &size);
  MPI_Get_library_version(job.library, &length);
  job.library[strcspn(job.library, "\n,")] = '\0';
  for (char *at = job.library; *at != '\0'; at++)
    if (*at == '\t') *at = ' ';
  for (int i = 0; i < 4; i++) job.counts[i] = calloc((size_t)size, sizeof(int));
  job.posted = calloc((size_t)size, sizeof *job.posted);
  for (int i = 0; i < 4; i++)
    if (job.counts[i] == NULL || job.posted == NULL) {
      snprintf(why, cap, "out of memory");
      return NULL;
    }
  job.ops = (ts_ranks_ops){.version = TS_RANKS_OPS_VERSION,
                           .rank = (uint32_t)rank,
                           .size = (uint32_t)size,
                           .library = job.library,
                           .gather = gather,
                           .alltoall = alltoall,
                           .alltoallv = alltoallv,
                           .swap = swap,
                           .post = post,
                           .settle = settle,
                           .take = take,
                           .next = next,
                           .wait_by = wait_by,
                           .error_text = error_text,
                           .abort = end_all,
                           .end = end};
  return &job.ops;
}
