/* network.h - the three models behind one interface, made of the layers in layers/ and dense/.
 *
 *   wdl      logit = MLP(embeddings, numerics) + linear(numerics, hashed ids)          Cheng et al. 2016; DeepRec's
 * modelzoo deepfm   logit = MLP(embeddings, numerics) + linear(numerics, hashed ids) + FM(embeddings)          Guo et
 * al. 2017 dlrm     logit = MLP(b, dots of all pairs of b and the embeddings), b = MLP(numerics)              Naumov et
 * al. 2019
 *
 * Embeddings lie in rows of the input, `columns` says where. wdl and deepfm have the numerics behind them in the same
 * row; dlrm has b before them. The tables write rows there and read gradients from a matrix of the same shape: with
 * fusion directly, without it through blocks of their own. There are two inputs, so that the rows of the next batch can
 * be read while this one computes. */
#ifndef TS_WDL_NETWORK_H
#define TS_WDL_NETWORK_H

#include "wdl/dense/mlp.h"
#include "wdl/layers/columns.h"
#include "wdl/layers/fm.h"
#include "wdl/layers/interaction.h"
#include "wdl/layers/wide.h"
#include "wdl/options.h"
#include "wdl/schedule/stage.h"

typedef struct ts_model {
  ts_model_kind kind;
  uint32_t batch, pieces, shards; /* shards of a piece */
  uint32_t buckets;               /* of the wide part, a column */
  bool fused;                     /* tables and the input without blocks between */
  ts_fold *folds[2];              /* of each vector's keys, for two batches; NULL: the first layer goes by samples */
  ts_columns columns;
  ts_mlp top, bottom; /* bottom: dlrm */
  ts_wide wide;       /* wdl, deepfm */
  ts_fm fm;
  ts_interaction interaction;
  /* A step's memory: */
  float *input[2], *blocks[2]; /* rows of embeddings, for two batches */
  float *dx;                   /* gradients of the input */
  float *numerics;             /* dlrm: the bottom's input */
  float *crossed, *dcrossed;   /* dlrm: the interaction's result, which is the top's input, and its gradient */
  float *fm_sums;
  float *logit, *loss_gradient;
  double *losses;
} ts_model;

static inline bool ts_model_has_wide(const ts_model *model) { return model->kind != TS_DLRM; }
static inline bool ts_model_has_bottom(const ts_model *model) { return model->kind == TS_DLRM; }

/* Errors: TS_EINVAL, TS_EUNAVAILABLE (oneDNN), TS_ENOMEM. After any result ts_model_close frees what was made. */
int32_t ts_model_open(ts_model *model, const ts_trainer_options *options, ts_err err);
void ts_model_close(ts_model *model);

/* Memory (workspace.h): of parameters; of a step; of the input of one batch. */
void ts_model_plan_parameters(ts_model *model, ts_workspace *space);
void ts_model_plan_step(ts_model *model, ts_workspace *space);
void ts_model_plan_input(ts_model *model, ts_workspace *space, uint32_t which);
/* After a step's memory was laid out. */
int32_t ts_model_bind(ts_model *model);
void ts_model_initialise(ts_model *model, const ts_trainer_options *options);

/* Where a vector (layers/tables.h) is to be written, or its gradient read: that of sample r at result + r * *stride. */
float *ts_model_rows(const ts_model *model, uint32_t which, uint32_t vector, uint64_t *stride);
const float *ts_model_gradients(const ts_model *model, uint32_t which, uint32_t vector, uint64_t *stride);

/* Whether the first layer goes by distinct rows (dense/distinct.h): then whoever writes a vector tells its keys, of `rows` samples,
 * before ts_model_lay_out of this input, which comes before ts_model_multiply of each vector, all before forward; and gradients are
 * those of distinct rows, the first ones at ts_model_gradients, in the order of the fold's keys, when ts_model_update of the part
 * of the vector's number is done. */
static inline bool ts_model_by_distinct_rows(const ts_model *model) { return model->folds[0] != NULL; }
void ts_model_tell_keys(const ts_model *model, uint32_t which, uint32_t vector, const int64_t *keys, uint32_t rows);
static inline const ts_fold *ts_model_fold(const ts_model *model, uint32_t which, uint32_t vector) {
  return &model->folds[which][vector];
}
void ts_model_lay_out(ts_model *model, uint32_t which);
int32_t ts_model_multiply(const ts_model *model, uint32_t vector);

/* Before a step: its number in the run and which input it has. */
void ts_model_begin(ts_model *model, uint64_t step, uint32_t which);
/* Rows of a shard -> logits. */
int32_t ts_model_forward(const ts_model *model, uint32_t which, ts_mlp_rows at, bool training, const ts_batch *batch);
/* loss_gradient -> the gradients of the embeddings, and what weight gradients need. */
int32_t ts_model_backward(const ts_model *model, uint32_t which, ts_mlp_rows at);

/* Independent parts of the dense weights, and of the wide part (TS_WIDE_PARTS, or none). */
uint32_t ts_model_parts(const ts_model *model);
/* The gradient of one piece added to a part; after the last piece, the optimizer's step. */
int32_t ts_model_update(const ts_model *model, uint32_t part, uint32_t piece);

uint64_t ts_model_digest(const ts_model *model);

#endif
