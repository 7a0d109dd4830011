/* options.h - the options of a trainer, read and checked. Their manual is ts_trainer_open's in tierstore.h. */
#ifndef TS_WDL_OPTIONS_H
#define TS_WDL_OPTIONS_H

#include "optimizers/optimizer.h"
#include "wdl/dense/mlp.h"
#include "wdl/input/cache_format.h"
#include "wdl/layers/tables.h"
#include "wdl/schedule/executor.h"
#include "wdl/schedule/stage.h"

/* DeepRec's initial accumulator, for Adagrad and FTRL alike. */
#define TS_INITIAL_ACCUMULATOR 0.1
#define TS_MICRO_BATCHES 64u

typedef enum ts_model_kind { TS_WDL, TS_DLRM, TS_DEEPFM } ts_model_kind;
extern const char *const ts_model_names[];

typedef enum ts_bf16_kind { TS_BF16_OFF, TS_BF16_DENSE, TS_BF16_ROWS, TS_BF16_ALL } ts_bf16_kind;
extern const char *const ts_bf16_names[];

/* How the first layer multiplies the vectors: sample by sample, or each distinct row of a batch once. */
typedef enum ts_first_layer { TS_FIRST_AUTO, TS_FIRST_SAMPLES, TS_FIRST_DISTINCT } ts_first_layer;
extern const char *const ts_first_layer_names[];

/* What ranks do for the next batch while a step runs (rank_ahead.c). */
typedef enum ts_ahead { TS_AHEAD_NONE, TS_AHEAD_KEYS, TS_AHEAD_ROWS, TS_AHEAD_STALE } ts_ahead;
extern const char *const ts_ahead_names[];

/* An update rule of a part of the model, in the words of a table's options (optimizers/optimizer.h). */
typedef struct ts_part_rule {
  const char *name; /* the store's */
  ts_optimizer_kind kind;
  double learning_rate, initial_accumulator, beta1, beta2, epsilon, weight_decay, decay_rate, decay_baseline;
  double l1, l2, l2_shrinkage;
  uint64_t decay_step;
  bool has_baseline;
} ts_part_rule;

#define TS_INITIALIZER_OPTIONS 9u
extern const char *const ts_initializer_options[TS_INITIALIZER_OPTIONS];

/* Options of ts_table_create that each table may have for itself (table_options.c). */
#define TS_TABLE_OPTIONS 12u
extern const char *const ts_table_options[TS_TABLE_OPTIONS];

typedef struct ts_trainer_options {
  const char *data; /* the caller's */
  const char *initializer[TS_INITIALIZER_OPTIONS];
  const char *of_table[TS_CATEGORIES][TS_TABLE_OPTIONS]; /* what each table is given; NULL: nothing */
  ts_model_kind model;
  ts_tables tables;
  uint32_t batch, hidden[TS_MLP_LAYERS], layers, bottom[TS_MLP_LAYERS], bottom_layers;
  uint32_t threads, wide_buckets;
  uint64_t seed;
  ts_part_rule deep, embedding;
  double wide_learning_rate, wide_l1, wide_l2, wide_initial_accumulator;
  uint32_t stage, readers, micro_batch;
  ts_stage_what stage_what;
  bool async_embedding, embedding_fusion, graph_fusion, memory_reuse, deterministic;
  uint32_t apart; /* over ranks: micro-shards of this rank, at least 1; otherwise 0 */
  bool ranks_separate, ranks_duplicates, ranks_bf16;
  ts_ahead ranks_ahead; /* TS_AHEAD_STALE: with async_embedding */
  bool ranks_async;         /* ranks train asynchronously, */
  uint32_t ranks_staleness; /* and a step may miss the updates of so many before it */
  bool graph_fusion_asked; /* otherwise it is as this oneDNN allows */
  double dropout;
  ts_executor_kind executor;
  ts_bf16_kind bf16;
  ts_first_layer first_layer; /* not TS_FIRST_AUTO any more once ts_trainer_choose_first_layer has chosen */
} ts_trainer_options;

/* Over ranks out->apart is set before. Errors: TS_EINVAL. Texts belong to the config. */
int32_t ts_trainer_read_options(const ts_config *config, ts_trainer_options *out, ts_err err);

/* Chooses how the first layer goes, from keys of the first batches (first_layer.c). Errors: TS_EINVAL (asked for by distinct rows,
 * which this model cannot have), those of reading, TS_ENOMEM. */
int32_t ts_trainer_choose_first_layer(ts_trainer_options *options, const ts_cache *data, ts_err err);

/* Reads ts_table_options, those of all tables and those of single ones, into of_table; the tables are known. */
void ts_trainer_read_table_options(ts_config_reader *r, ts_trainer_options *out);

/* Sets a rule's options, those that the rule has, as a table takes them. */
int32_t ts_part_rule_set(const ts_part_rule *rule, ts_config *config, ts_err err);
/* The same as a rule for dense weights. */
int32_t ts_part_rule_read(const ts_part_rule *rule, ts_optimizer *out, ts_err err);

#endif
