/* trainer.h - the parts of a Wide & Deep trainer, shared by the files that open, train, fill and evaluate.
 *
 * One step:  read the batch | look up 26 tables, in parallel | 8 shards: join numerics and embeddings, forward, loss,
 * backward to the embeddings | weight gradients and dense optimizers, in independent parts | update 26 tables. */
#ifndef TS_WDL_TRAINER_H
#define TS_WDL_TRAINER_H

#include "wdl/input/cache_format.h"
#include "wdl/mlp.h"
#include "wdl/wide.h"

#include <stdatomic.h>

/* DeepRec's initial accumulator, for Adagrad and FTRL alike. */
#define TS_INITIAL_ACCUMULATOR 0.1

typedef struct ts_trainer_options {
  uint32_t batch, dim, hidden[TS_MLP_LAYERS], layers, threads, wide_buckets;
  uint64_t seed;
  bool adagrad;
  double deep_learning_rate, deep_initial_accumulator;
  double wide_learning_rate, wide_l1, wide_l2, wide_initial_accumulator;
} ts_trainer_options;

struct ts_trainer {
  ts_store *store;
  ts_trainer_options options;
  ts_cache data;
  ts_pool *pool;
  uint32_t tables[TS_CATEGORIES];
  uint64_t step; /* done so far: says where in the file the next batch is */
  ts_mlp mlp;
  ts_wide wide;
  ts_workspace workspace;
  uint64_t workspace_bytes;

  /* The current batch, column by column, `batch` apart. */
  uint32_t rows; /* in use: options.batch, fewer at the end of an evaluation */
  float *labels, *numerics;
  int64_t *keys;
  float *embeddings; /* [26][batch][dim]: rows looked up, then their gradients */
  uint8_t *found;    /* [26][batch], evaluation */
  float *logit, *loss_gradient;
  double *losses;

  /* Failures of parallel parts: the first of the lowest part is told. */
  int32_t part_status[TS_CATEGORIES];
  char part_message[TS_CATEGORIES][512];
};

/* Position of the first embedding in a row of the input: the numerics, rounded up to 16 floats, come first. */
#define TS_EMBEDDINGS_AT TS_ROUND_UP(TS_NUMERICS, TS_LANES)

/* Runs task(trainer, table) for all 26 tables and reports a failure of one. */
int32_t ts_trainer_each_table(ts_trainer *trainer, void (*task)(void *trainer, uint32_t table), ts_err err);
/* Message buffer of one table's part; its task sets part_status[table]. */
static inline ts_err ts_trainer_part_err(ts_trainer *t, uint32_t table) {
  return (ts_err){t->part_message[table], sizeof t->part_message[table]};
}

/* Joins numerics and embeddings of rows [first, first + rows) into the MLP's input and computes their logits. */
int32_t ts_trainer_forward(ts_trainer *trainer, uint32_t first, uint32_t rows);

#endif
