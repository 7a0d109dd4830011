/* rank_async.h - asynchronous steps over servers: what the two sides share (rank_async.c trains, rank_serve.c serves).
 *
 *   a trainer                                        servers; the first one also has the dense weights and the tickets
 *   NEXT: the step before is done            ─→
 *                                            ←─      the next step's number, or the end; dense weights        (tickets.h)
 *   KEYS, keys of a whole batch              ─→
 *                                            ←─      how many updates the rows miss; rows
 *   GRADIENTS, of the keys                   ─→      steps the rows
 *   DENSE, gradients                         ─→      steps the weights; the wide part reads the batch itself
 *                                            ←─      done, from every server
 *   GONE                                     ─→
 *
 * Trainers work beside each other, each on a batch of its own; servers serve who comes first. A trainer tells that a step is done
 * when all servers have told it so: so a step that is handed out finds every update that it may not miss. */
#ifndef TS_WDL_RANK_ASYNC_H
#define TS_WDL_RANK_ASYNC_H

#include "ranks/lane.h"
#include "ranks/tickets.h"
#include "wdl/trainer.h"
#include "wdl/weights.h"

/* What goes before everything else, either way. */
typedef struct ts_async_note {
  uint32_t what;              /* to a server: TS_ASYNC_NEXT, ... */
  uint32_t failed, cancelled; /* whether this rank has, or its call is */
  uint32_t missed;            /* updates of steps before, that were not done when rows or weights were read */
  uint64_t step;              /* NEXT: the one that is done; TS_NO_STEP: none; its answer: the next, TS_NO_STEP: the end */
  uint64_t done;              /* by the first server: steps done in this call */
  double loss;                /* NEXT: sum of the step's losses */
} ts_async_note;

struct ts_async {
  ts_lane lanes[TS_MICRO_SHARDS]; /* of a trainer its own, the first; of a server those of all trainers */
  ts_exchange exchanges[TS_MICRO_SHARDS];
  ts_async_note replies[TS_MICRO_SHARDS]; /* of a server, under way */
  ts_async_note told[TS_ASYNC_GONE + 1];  /* of a trainer, under way */
  float *weights[TS_MICRO_SHARDS];        /* that trainers are sent, or a trainer gets */
  uint64_t floats;                        /* of them */
  uint32_t missed;                        /* of the step under way */
  bool heard_failed, heard_cancelled;
  ts_tickets tickets, rows, dense; /* handed out and done; updates of this server's rows; of the dense weights */
  ts_batch batch;                  /* of the first server: numerics and keys of the step whose gradients came */
  uint64_t batches[TS_MICRO_SHARDS];          /* since it was opened: steps, by trainer, */
  uint64_t missing[TS_MOST_STALENESS + 1];    /* and by how many updates they missed */
};

/* A call, as a rank sees it. */
typedef struct ts_async_call {
  ts_trainer *trainer;
  uint64_t first, steps, before; /* of the trainer; how many; of the caller's before them */
  uint64_t *phase_ns;
  int32_t status; /* of this rank's steps */
  char message[512];
  /* The first server's, and in the end everyone's: */
  uint64_t done, *at_ns; /* steps done, and when, since the call began, in the order in which they were */
  double *losses;        /* by step */
} ts_async_call;

/* A rank's part of a call: a trainer's, a server's. What goes wrong is in call->status, or in the trainer's over->status. */
void ts_async_work(ts_async_call *call);
void ts_async_serve(ts_async_call *call);

/* Takes a lane and its messages for the step under way (server: of the trainer `lane`); NULL: over all ranks again. */
static inline void ts_async_use(ts_trainer *t, uint32_t lane) {
  t->over->group = t->over->async->lanes[lane].ranks;
  t->over->lane = &t->over->async->exchanges[lane];
}
static inline void ts_async_leave(ts_trainer *t) {
  t->over->group = t->over->ranks;
  t->over->lane = NULL;
}
/* The rank with dense weights and tickets. */
static inline uint32_t ts_async_first(const ts_trainer *t) { return t->over->ranks->first_owner; }

/* What a message ended with: the carrier's code, and what could not be done. */
void ts_async_said(ts_trainer *trainer, int code, const char *what);
/* Messages; nothing once one has failed. */
void ts_async_post(ts_trainer *trainer, uint32_t to, const void *send, uint64_t bytes);
void ts_async_take(ts_trainer *trainer, uint32_t from, void *receive, uint64_t bytes);
void ts_async_settle(ts_trainer *trainer, uint32_t to);

#endif
