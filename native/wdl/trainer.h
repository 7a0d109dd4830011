/* trainer.h - the parts of a trainer, shared by the files that open, train, fill, evaluate and describe.
 *
 * One step is a graph of tasks (schedule/):  look up the tables | shards of the batch: forward, loss, backward to the
 * embeddings | parts of the dense weights: gradient and optimizer; columns of the wide part | update the tables. Batches
 * come from the stage, which may prepare them ahead. With asynchronous embedding the lookups of the next batch are part
 * of the graph as well: each before the update of its table. */
#ifndef TS_WDL_TRAINER_H
#define TS_WDL_TRAINER_H

#include "base/owner.h"
#include "ranks/courier.h"
#include "ranks/exchange.h"
#include "wdl/network.h"
#include "wdl/options.h"
#include "wdl/schedule/executor.h"
#include "wdl/schedule/stage.h"

#include <stdatomic.h>

#define TS_NO_STEP UINT64_MAX
/* Asynchronous embedding: every so manyth step is looked at, and of those the last ones. */
#define TS_STALE_EVERY 64u
#define TS_STALE_STEPS 8u

typedef struct ts_async ts_async;

/* A trainer that is one of several ranks (over_ranks.c). */
typedef struct ts_over_ranks {
  ts_ranks *ranks;
  ts_ranks *group;   /* those that share the batch under way: all, or a lane (ranks/lane.h) in asynchronous steps */
  ts_exchange *lane; /* messages of the lane; NULL: not in an asynchronous step */
  ts_async *async;   /* NULL: ranks train in step */
  ts_exchange exchange[2]; /* of a step, by its number; of the step after it where something is done ahead, otherwise one */
  ts_courier *courier;     /* NULL: nothing is done ahead */
  uint32_t most;        /* samples of a rank at most */
  void *told, *heard;   /* how a rank's part of a step went: a flag and its samples' outputs; of this, of all */
  float *scratch;       /* as many as the dense weights' gradients */
  const uint64_t *control; /* of the call under way */
  uint32_t cancelled_by;   /* 1 + the lowest rank whose call was cancelled when they last agreed; 0: none */
  int32_t status;       /* of messages: after a failure no more are sent */
  char message[512];
  int32_t ahead_status[TS_CATEGORIES]; /* of rows looked up for the step after the one under way */
  char ahead_message[TS_CATEGORIES][512];
  uint64_t rows_ahead, rows_after; /* that this rank asked for, and that came before and after the update of the step before */
} ts_over_ranks;

struct ts_trainer {
  ts_owner owner;
  ts_store *store;
  ts_trainer_options options;
  ts_cache data;
  ts_pool *pool;
  uint32_t tables[TS_CATEGORIES];   /* the store's number of each of options.tables */
  uint32_t table_of[TS_CATEGORIES]; /* the same by column of the data, TS_NO_TABLE: in none */
  ts_table_scratch scratch[TS_CATEGORIES];
  uint64_t step; /* done so far: says where in the file the next batch is */
  ts_model model;
  ts_stage *stage;
  ts_graph graph;
  ts_executor *executor;
  ts_over_ranks *over; /* NULL: this process alone */

  /* Memory: of parameters; of a step and of two inputs, where it is planned, in the same block. */
  ts_workspace workspace, step_space, input_space[2];
  uint64_t workspace_bytes;

  /* The step under way. */
  uint32_t rows;          /* in use: options.batch, fewer at the end of an evaluation */
  ts_batch *batch, *next; /* next: of the step after this, whose rows are read now; NULL: none */
  uint64_t ahead;         /* the step whose rows have been read, TS_NO_STEP: none */
  uint64_t ended;         /* the step before which this call ends */

  /* Failures of parallel parts: the first of the lowest table is told. */
  int32_t part_status[TS_CATEGORIES];
  char part_message[TS_CATEGORIES][512];
  atomic_bool ahead_failed;
  atomic_bool dense_failed, failed; /* failed: nothing more of this step is begun */

  /* Since it was opened. */
  uint64_t minor_faults;
  uint64_t staled[TS_STALE_STEPS], staled_count; /* stale.c: the last steps that are looked at */
};

/* Which input a step has. Over ranks rows that come ahead stay in messages' memory. */
static inline bool ts_trainer_two_inputs(const ts_trainer *t) { return t->options.async_embedding && t->over == NULL; }
static inline uint32_t ts_trainer_input(const ts_trainer *t, uint64_t step) {
  return ts_trainer_two_inputs(t) ? step & 1 : 0;
}
/* Whether a step needs the batch of the step after it. */
static inline bool ts_trainer_two_batches(const ts_trainer *t) {
  return t->options.async_embedding || t->options.ranks_ahead != TS_AHEAD_NONE;
}

/* Message buffer of one table's part; its task sets part_status[table]. */
static inline ts_err ts_trainer_part_err(ts_trainer *t, uint32_t table) {
  return (ts_err){t->part_message[table], sizeof t->part_message[table]};
}

/* A step's memory, and an input's, where they are not planned. Errors: TS_ENOMEM, TS_EINTERNAL. */
int32_t ts_trainer_take_input(ts_trainer *trainer, uint32_t which, ts_err err);
int32_t ts_trainer_take_step(ts_trainer *trainer, ts_err err);
void ts_trainer_give_input(ts_trainer *trainer, uint32_t which);
void ts_trainer_give_step(ts_trainer *trainer);

/* Rows of a table and the network's vectors (embed.c), for tables of one column and of several. The first writes the
 * vectors of a step's batch, the second steps the rows from the vectors' gradients; the third writes vectors of the first
 * trainer->rows samples without changing anything, and counts pairs of sample and column that have an id, and those of them
 * without a row. One call at a time for each table. */
int32_t ts_trainer_look_up(ts_trainer *trainer, uint32_t table, const ts_batch *batch, uint64_t step, ts_err err);
int32_t ts_trainer_update(ts_trainer *trainer, uint32_t table, ts_err err);
int32_t ts_trainer_find(ts_trainer *trainer, uint32_t table, const int64_t *keys, uint64_t *pairs, uint64_t *absent,
                        ts_err err);

/* Asynchronous embedding (stale.c): of the rows that were looked up ahead, the share that the step between changed. False
 * where there was none, or the data cannot be read again. */
bool ts_trainer_stale_share(const ts_trainer *trainer, double *share);

/* Whether the outputs of the first trainer->rows samples are finite (diverged.c). `action` names the call in the error.
 * Errors: TS_EDIVERGED. */
int32_t ts_trainer_check_outputs(const ts_trainer *trainer, const char *action, ts_err err);

/* Options that results depend on and what the data are, as text (state.c). */
void ts_trainer_write_options(const ts_trainer *trainer, ts_text *text);

/* Over ranks. over_ranks.c: what cannot be done is refused; memory of messages; everybody agrees. rank_step.c: the graph, what
 * follows it, scores of a batch. rank_rows.c: rows of a table between the ranks. All but the last are calls of all ranks. */
int32_t ts_rank_open(ts_trainer *trainer, ts_err err);
/* Opens a trainer, over ranks or, with NULL, of this process alone (trainer.c). */
int32_t ts_trainer_make(ts_store *store, ts_ranks *ranks, const ts_config *config, ts_trainer **out, ts_err err);
void ts_rank_close(ts_trainer *trainer);
/* TS_OK on all ranks, or the same error on all (ts_ranks_agree); a trainer of one process has its own. */
int32_t ts_rank_agree(ts_trainer *trainer, int32_t status, ts_err err);
/* The same about a word that must be equal on all of them as well. */
int32_t ts_rank_agree_about(ts_trainer *trainer, int32_t status, uint64_t word, const char *what, ts_err err);
/* Whether the trainer is one of two ranks or more. */
static inline bool ts_trainer_is_one_of_many(const ts_trainer *t) { return t->over != NULL && t->over->ranks->ops.size > 1; }
/* rank_checkpoint.c: begins a checkpoint of all ranks (ts_trainer_checkpoint_begin); status: how this rank went so far. */
int32_t ts_rank_checkpoint_begin(ts_trainer *trainer, const ts_config *config, int32_t status, ts_checkpoint **out, ts_err err);
/* A call begins, or with NULL ends, that the caller may cancel; whether it is cancelled, of which all ranks learn when they agree
 * and then say the same. A trainer of one process asks its caller. */
void ts_rank_control(ts_trainer *trainer, const uint64_t *control);
bool ts_rank_cancelled(const ts_trainer *trainer, const uint64_t *control, const char *what, ts_err err);
int32_t ts_rank_digest(ts_trainer *trainer, uint64_t *digest, ts_err err);
/* value[0..n-1] become their sums over the ranks; n up to 2. */
int32_t ts_rank_sum_counts(ts_trainer *trainer, uint64_t *values, uint32_t n, ts_err err);
int32_t ts_rank_plan(ts_trainer *trainer, ts_err err);
int32_t ts_rank_plan_step(ts_trainer *trainer, ts_err err);
/* Outputs of the first trainer->rows samples of a batch, on every rank; status: of reading it. Adds to pairs and absent those of
 * this rank's samples. */
int32_t ts_rank_score(ts_trainer *trainer, ts_batch *batch, int32_t status, uint64_t *pairs, uint64_t *absent, ts_err err);

/* A trainer's part of the batch: the samples of its micro-shards. */
ts_mlp_rows ts_rank_samples(const ts_trainer *trainer);
void ts_rank_ask(ts_trainer *trainer, ts_exchange *exchange, uint32_t table, const int64_t *keys);
/* An owner's part of the rows, looked up and ready to be sent; rows that do not exist are made. */
int32_t ts_rank_look_up(ts_trainer *trainer, ts_exchange *exchange, uint32_t table, uint32_t part, ts_err err);
/* The same for a step: what was not done ahead; and for scores, which make no rows. */
int32_t ts_rank_serve(ts_trainer *trainer, uint32_t table, ts_err err);
int32_t ts_rank_find(ts_trainer *trainer, uint32_t table, ts_err err);
/* keys: of the batch whose rows came; absent: NULL while training. */
void ts_rank_spread(ts_trainer *trainer, uint32_t table, uint32_t which, const int64_t *keys, uint64_t *absent);
void ts_rank_push(ts_trainer *trainer, uint32_t table, uint32_t which);
int32_t ts_rank_update(ts_trainer *trainer, uint32_t table, ts_err err);

/* The messages of the step under way. Once one failed there are no more. */
static inline ts_exchange *ts_rank_exchange(ts_trainer *t) {
  if (t->over->lane != NULL) return t->over->lane;
  return &t->over->exchange[t->options.ranks_ahead == TS_AHEAD_NONE ? 0 : t->step & 1];
}
static inline ts_err ts_rank_message_err(ts_trainer *t) { return (ts_err){t->over->message, sizeof t->over->message}; }
static inline bool ts_rank_silent(const ts_trainer *t) { return t->over->status != TS_OK; }
static inline void ts_rank_said(ts_trainer *t, int32_t status) {
  t->over->status = status;
  if (status != TS_OK) atomic_store_explicit(&t->failed, true, memory_order_relaxed);
}

/* Tasks for the batch after this one (rank_ahead.c): of tables, its keys; their message begun; of tables, after this step's
 * forward, rows; gradients and those rows begun to be sent; and a wait for what was begun. */
void ts_rank_ahead_ask(void *trainer, uint32_t table);
void ts_rank_ahead_keys(void *trainer, uint32_t part);
void ts_rank_ahead_serve(void *trainer, uint32_t table);
void ts_rank_ahead_send(void *trainer, uint32_t part);
void ts_rank_ahead_wait(void *trainer, uint32_t part);

/* Parts of the dense weights, and of the wide part, stepped by their gradients (rank_step.c). */
void ts_rank_apply(void *trainer, uint32_t part);
void ts_rank_update_wide(void *trainer, uint32_t part);

/* Asynchronous steps (rank_async.c, rank_serve.c). Opens lanes and what they need, before the graph of a step is planned. */
int32_t ts_async_open(ts_trainer *trainer, const ts_exchange_options *options, ts_err err);
void ts_async_close(ts_trainer *trainer);
/* A call of all ranks: steps of all trainers together. step_ns[i], which may be NULL: from one update to the next; phase_ns and
 * loss get this rank's phases and the sum of all losses added, *done the steps that were done. `before` steps of the call were done
 * before these. TS_OK also if the call was cancelled. Errors: those of a step, on all ranks. */
int32_t ts_async_train(ts_trainer *trainer, uint64_t before, uint64_t steps, uint64_t *step_ns, uint64_t *phase_ns, double *loss,
                       uint64_t *done, ts_err err);
void ts_async_describe(const ts_trainer *trainer, ts_text *text);
/* What a trainer tells the servers in its step, and what it hears before rows come. */
enum { TS_ASYNC_NEXT, TS_ASYNC_KEYS, TS_ASYNC_GRADIENTS, TS_ASYNC_DENSE, TS_ASYNC_GONE };
void ts_async_tell(ts_trainer *trainer, uint32_t what);
void ts_async_hear(ts_trainer *trainer);

/* A step's tasks, and what follows them where all went well (train.c). A failure of a task is ts_trainer_failure's. */
int32_t ts_trainer_run_tasks(ts_trainer *trainer, uint64_t *phase_ns, ts_err err);
int32_t ts_trainer_end_step(ts_trainer *trainer, double *loss, ts_err err);
int32_t ts_trainer_failure(ts_trainer *trainer, ts_err err);

/* The graph of a step (step.c). */
int32_t ts_trainer_plan_step(ts_trainer *trainer, ts_err err);

#endif
