/* options.c - reads a trainer's options. */
#include "ranks/tickets.h"
#include "wdl/options.h"

#include <stdio.h>
#include <string.h>

const char *const ts_model_names[] = {"wdl", "dlrm", "deepfm", NULL};
const char *const ts_bf16_names[] = {"off", "dense", "rows", "all", NULL};
const char *const ts_first_layer_names[] = {"auto", "samples", "distinct", NULL};
const char *const ts_ahead_names[] = {"none", "keys", "rows", NULL}; /* and stale rows: async_embedding */
const char *const ts_initializer_options[TS_INITIALIZER_OPTIONS] = {
    "initializer",        "initializer.value",   "initializer.low",  "initializer.high", "initializer.mean",
    "initializer.stddev", "initializer.fan_out", "initializer.rows", "initializer.base"};

/* The trainer's words, and the store's. Dense layers have all but the last two. */
static const char *const rule_names[] = {"sgd", "adagrad", "adagrad_decay", "adam", "adam_async", "adamw", "ftrl", "rowwise_adagrad", NULL};
static const char *const dense_names[] = {"sgd", "adagrad", "adagrad_decay", "adam", "adam_async", "adamw", NULL};
static const struct {
  const char *name;
  ts_optimizer_kind kind;
} rules[] = {{"sgd", TS_SGD},   {"adagrad", TS_ADAGRAD},       {"adagrad-decay", TS_ADAGRAD_DECAY},
             {"adam", TS_ADAM}, {"adam-async", TS_ADAM_ASYNC}, {"adamw", TS_ADAMW},
             {"ftrl", TS_FTRL}, {"rowwise-adagrad", TS_ROWWISE_ADAGRAD}};

static bool is_ftrl(ts_optimizer_kind kind) { return kind == TS_FTRL; }
static bool has_accumulator(ts_optimizer_kind kind) {
  return kind == TS_ADAGRAD || kind == TS_ADAGRAD_DECAY || is_ftrl(kind);
}
static bool has_decay(ts_optimizer_kind kind) { return kind == TS_ADAGRAD_DECAY; }
static bool has_betas(ts_optimizer_kind kind) { return kind == TS_ADAM || kind == TS_ADAM_ASYNC || kind == TS_ADAMW; }
static bool is_rowwise(ts_optimizer_kind kind) { return kind == TS_ROWWISE_ADAGRAD; }
static bool has_weight_decay(ts_optimizer_kind kind) { return kind == TS_ADAMW; }

/* Options that only some rules have; given with none of these, they would do nothing. */
static const struct {
  const char *option, *rules;
  bool (*has)(ts_optimizer_kind kind);
} of_rules[] = {
    {"deep_beta1", "adam, adam_async or adamw", has_betas},   {"deep_beta2", "adam, adam_async or adamw", has_betas},
    {"deep_epsilon", "adam, adam_async or adamw", has_betas}, {"deep_weight_decay", "adamw", has_weight_decay},
    {"deep_decay_rate", "adagrad_decay", has_decay},          {"deep_decay_step", "adagrad_decay", has_decay},
    {"deep_decay_baseline", "adagrad_decay", has_decay},      {"embedding_l1", "ftrl", is_ftrl},
    {"embedding_l2", "ftrl", is_ftrl},                        {"embedding_l2_shrinkage", "ftrl", is_ftrl},
    {"embedding_initial_accumulator", "rowwise_adagrad", is_rowwise},
    {"embedding_epsilon", "rowwise_adagrad", is_rowwise}};

static void read_rules(const ts_config *config, ts_config_reader *r, ts_trainer_options *o) {
  ts_part_rule *deep = &o->deep;
  const uint32_t which = ts_config_choice(r, "deep_optimizer", "adagrad", dense_names);
  deep->name = rules[which].name;
  deep->kind = rules[which].kind;
  deep->learning_rate = ts_config_f64(r, "deep_learning_rate", 0.01, 0, 1e6);
  deep->initial_accumulator = ts_config_f64(r, "deep_initial_accumulator", TS_INITIAL_ACCUMULATOR, 1e-30, 1e30);
  deep->beta1 = ts_config_f64(r, "deep_beta1", 0.9, 0, 0.999999);
  deep->beta2 = ts_config_f64(r, "deep_beta2", 0.999, 0, 0.999999);
  deep->epsilon = ts_config_f64(r, "deep_epsilon", 1e-8, 1e-30, 1e30);
  deep->weight_decay = ts_config_f64(r, "deep_weight_decay", 1e-4, 0, 1);
  deep->decay_rate = ts_config_f64(r, "deep_decay_rate", 0.9, 0, 1);
  deep->decay_step = ts_config_u64(r, "deep_decay_step", 100000, 1, UINT64_C(1) << 62);
  deep->has_baseline = ts_config_has(config, "deep_decay_baseline");
  deep->decay_baseline = ts_config_f64(r, "deep_decay_baseline", TS_INITIAL_ACCUMULATOR, 0, 1e30);
  o->embedding = *deep;
  const char *const same = rule_names[which];
  const uint32_t other = ts_config_choice(r, "embedding_optimizer", same, rule_names);
  o->embedding.name = rules[other].name;
  o->embedding.kind = rules[other].kind;
  o->embedding.learning_rate = ts_config_f64(r, "embedding_learning_rate", deep->learning_rate, 0, 1e6);
  o->embedding.l1 = ts_config_f64(r, "embedding_l1", 0, 0, 1e30);
  o->embedding.l2 = ts_config_f64(r, "embedding_l2", 0, 0, 1e30);
  o->embedding.l2_shrinkage = ts_config_f64(r, "embedding_l2_shrinkage", 0, 0, 1e30);
  const double initial = ts_config_f64(r, "embedding_initial_accumulator", 0, 0, 1e30);
  const double epsilon = ts_config_f64(r, "embedding_epsilon", 1e-8, 1e-30, 1);
  if (is_rowwise(o->embedding.kind)) { /* its sums are of other things than those of the dense layers */
    o->embedding.initial_accumulator = initial;
    o->embedding.epsilon = epsilon;
  }
  static const char *const wide_rules[] = {"ftrl", NULL};
  ts_config_choice(r, "wide_optimizer", "ftrl", wide_rules);
  o->wide_learning_rate = ts_config_f64(r, "wide_learning_rate", 0.2, 1e-30, 1e6);
  o->wide_l1 = ts_config_f64(r, "wide_l1", 0, 0, 1e30);
  o->wide_l2 = ts_config_f64(r, "wide_l2", 0, 0, 1e30);
  o->wide_initial_accumulator = ts_config_f64(r, "wide_initial_accumulator", TS_INITIAL_ACCUMULATOR, 1e-30, 1e30);
}

static bool flag(ts_config_reader *r, const char *key, bool fallback) {
  return ts_config_u64(r, key, fallback, 0, 1) == 1;
}

static void read_schedule(ts_config_reader *r, ts_trainer_options *o) {
  static const char *const whats[] = {"input", "lookup", "auto", NULL};
  o->stage = (uint32_t)ts_config_u64(r, "stage", 1, 0, TS_STAGE_DEPTH);
  o->stage_what = (ts_stage_what)ts_config_choice(r, "stage_what", "input", whats);
  o->readers = (uint32_t)ts_config_u64(r, "readers", 1, 1, TS_STAGE_THREADS);
  o->async_embedding = flag(r, "async_embedding", false);
  o->micro_batch = (uint32_t)ts_config_u64(r, "micro_batch", 1, 1, TS_MICRO_BATCHES);
  o->embedding_fusion = flag(r, "embedding_fusion", true);
  o->graph_fusion = flag(r, "graph_fusion", true);
  o->dropout = ts_config_f64(r, "dropout", 0, 0, 0.9);
  o->memory_reuse = flag(r, "memory_reuse", true);
  o->executor = (ts_executor_kind)ts_config_choice(r, "executor", "pool", ts_executor_names);
  o->bf16 = (ts_bf16_kind)ts_config_choice(r, "bf16", "off", ts_bf16_names);
  o->deterministic = flag(r, "deterministic", true);
  o->first_layer = (ts_first_layer)ts_config_choice(r, "first_layer", "auto", ts_first_layer_names);
}

/* Widths of layers; `given` of them, `room` possible. */
static int32_t check_widths(const char *option, const uint64_t *widths, uint32_t given, uint32_t room, uint32_t *out,
                            ts_err err) {
  if (given > room)
    return ts_fail(err, TS_EINVAL, "Cannot open trainer: option \"%s\" has %u layers, at most %u are possible", option,
                   given, room);
  for (uint32_t l = 0; l < given; l++) {
    if (widths[l] < 1 || widths[l] > 16384)
      return ts_fail(err, TS_EINVAL, "Cannot open trainer: widths in \"%s\" must be from 1 to 16384, found %llu",
                     option, (unsigned long long)widths[l]);
    out[l] = (uint32_t)widths[l];
  }
  return TS_OK;
}

/* One table a column, as wide as `dims` says, or all as `dim` says. */
static int32_t make_tables(ts_tables *tables, const uint64_t *dims, uint32_t given, uint32_t dim, ts_err err) {
  uint32_t widths[TS_CATEGORIES];
  if (given != 0 && given != TS_CATEGORIES)
    return ts_fail(err, TS_EINVAL, "Cannot open trainer: option \"dims\" has %u widths; %u are needed, one a column",
                   given, TS_CATEGORIES);
  for (uint32_t c = 0; c < TS_CATEGORIES; c++) {
    if (given != 0 && (dims[c] < 1 || dims[c] > 1024))
      return ts_fail(err, TS_EINVAL,
                     "Cannot open trainer: widths in \"dims\" must be from 1 to 1024, found %llu for C%u",
                     (unsigned long long)dims[c], c + 1);
    widths[c] = given == 0 ? dim : (uint32_t)dims[c];
  }
  ts_tables_by_column(tables, widths);
  return TS_OK;
}

static int32_t check_tables(const ts_trainer_options *o, ts_err err) {
  const ts_table_plan *first = &o->tables.plans[0];
  for (uint32_t i = 1; o->model != TS_WDL && i < o->tables.count; i++)
    if (o->tables.plans[i].dim != first->dim)
      return ts_fail(err, TS_EINVAL,
                     "Cannot open trainer: model \"%s\" multiplies embeddings with one another, so all widths must be "
                     "equal; table %s has %u and %s has %u",
                     ts_model_names[o->model], first->name, first->dim, o->tables.plans[i].name, o->tables.plans[i].dim);
  return TS_OK;
}

static int32_t check_together(const ts_config *config, const ts_trainer_options *o, ts_err err) {
  for (uint32_t i = 0; i < sizeof of_rules / sizeof *of_rules; i++)
    if (ts_config_has(config, of_rules[i].option) && !of_rules[i].has(o->deep.kind) &&
        !of_rules[i].has(o->embedding.kind))
      return ts_fail(err, TS_EINVAL,
                     "Cannot open trainer: option \"%s\" is of %s; deep_optimizer is %s, embedding_optimizer %s",
                     of_rules[i].option, of_rules[i].rules, o->deep.name, o->embedding.name);
  if (ts_config_has(config, "tables") && ts_config_has(config, "dims"))
    return ts_fail(err, TS_EINVAL, "Cannot open trainer: options \"tables\" and \"dims\" both say how wide rows are");
  if (ts_config_has(config, "bottom") && o->model != TS_DLRM)
    return ts_fail(err, TS_EINVAL, "Cannot open trainer: option \"bottom\" is of model \"dlrm\"; model is \"%s\"",
                   ts_model_names[o->model]);
  if (o->micro_batch > o->batch)
    return ts_fail(err, TS_EINVAL,
                   "Cannot open trainer: micro_batch %u cuts a batch of %u rows into parts without rows",
                   o->micro_batch, o->batch);
  return TS_OK;
}

int32_t ts_trainer_read_options(const ts_config *config, ts_trainer_options *o, ts_err err) {
  ts_config_reader r = ts_config_read(config, "trainer", err);
  o->data = ts_config_text(&r, "data", NULL);
  for (uint32_t i = 0; i < TS_INITIALIZER_OPTIONS; i++)
    o->initializer[i] = ts_config_text(&r, ts_initializer_options[i], NULL);
  o->model = (ts_model_kind)ts_config_choice(&r, "model", "wdl", ts_model_names);
  o->batch = (uint32_t)ts_config_u64(&r, "batch", 2048, 1, 1u << 20);
  const uint32_t dim = (uint32_t)ts_config_u64(&r, "dim", 16, 1, 1024);
  o->threads = (uint32_t)ts_config_u64(&r, "threads", 1, 1, 1024);
  o->wide_buckets = (uint32_t)ts_config_u64(&r, "wide_buckets", 10000, 1, 1u << 28);
  o->seed = ts_config_u64(&r, "seed", 0, 0, UINT64_MAX);
  read_rules(config, &r, o);
  read_schedule(&r, o);
  o->graph_fusion_asked = ts_config_has(config, "graph_fusion");
  uint64_t hidden[TS_MLP_LAYERS] = {1024, 512, 256}, bottom[TS_MLP_LAYERS] = {512, 256}, dims[TS_CATEGORIES];
  uint32_t layers = ts_config_u64_list(&r, "hidden", hidden, TS_MLP_LAYERS);
  uint32_t bottom_layers = ts_config_u64_list(&r, "bottom", bottom, TS_MLP_LAYERS);
  const uint32_t widths = ts_config_u64_list(&r, "dims", dims, TS_CATEGORIES);
  const char *const tables = ts_config_text(&r, "tables", NULL);
  if (o->apart > 0) {
    static const char *const messages[] = {"fused", "separate", NULL}, *const rows[] = {"fp32", "bf16", NULL};
    static const char *const keys[] = {"distinct", "all", NULL};
    o->ranks_separate = ts_config_choice(&r, "ranks_messages", "fused", messages) == 1;
    o->ranks_duplicates = ts_config_choice(&r, "ranks_keys", "distinct", keys) == 1;
    o->ranks_bf16 = ts_config_choice(&r, "ranks_rows", "fp32", rows) == 1;
    o->ranks_ahead = (ts_ahead)ts_config_choice(&r, "ranks_ahead", "none", ts_ahead_names);
    if (o->async_embedding && o->ranks_ahead != TS_AHEAD_NONE)
      return ts_fail(err, TS_EINVAL, "Cannot open trainer: async_embedding sends all rows ahead; leave ranks_ahead \"%s\" out",
                     ts_ahead_names[o->ranks_ahead]);
    if (o->async_embedding) o->ranks_ahead = TS_AHEAD_STALE;
    o->ranks_async = ts_config_has(config, "ranks_staleness");
    o->ranks_staleness = (uint32_t)ts_config_u64(&r, "ranks_staleness", 0, 0, TS_MOST_STALENESS);
    if (o->ranks_async) o->apart = TS_SHARDS; /* who trains has whole batches */
  }
  int32_t status = r.status;
  if (status == TS_OK && tables != NULL) status = ts_tables_read(&o->tables, tables, err);
  else if (status == TS_OK) status = make_tables(&o->tables, dims, widths, dim, err);
  if (status != TS_OK) return status;
  ts_trainer_read_table_options(&r, o);
  status = ts_config_finish(&r);
  if (status != TS_OK) return status;
  if (o->data == NULL) return ts_fail(err, TS_EINVAL, "Cannot open trainer: option \"data\" is required");
  o->layers = layers == 0 ? 3 : layers;
  o->bottom_layers = bottom_layers == 0 ? 2 : bottom_layers;
  status = check_widths("hidden", hidden, o->layers, TS_MLP_LAYERS, o->hidden, err);
  /* The bottom's last layer, as wide as an embedding, is not in the list. */
  if (status == TS_OK) status = check_widths("bottom", bottom, o->bottom_layers, TS_MLP_LAYERS - 1, o->bottom, err);
  if (status == TS_OK) status = check_tables(o, err);
  return status == TS_OK ? check_together(config, o, err) : status;
}

static int32_t set_number(ts_config *config, const char *key, double value, ts_err err) {
  char text[32];
  snprintf(text, sizeof text, "%.17g", value);
  return ts_config_set(config, key, text, err.text, err.cap);
}

int32_t ts_part_rule_set(const ts_part_rule *rule, ts_config *config, ts_err err) {
  char steps[24];
  snprintf(steps, sizeof steps, "%llu", (unsigned long long)rule->decay_step);
  int32_t status = ts_config_set(config, "optimizer", rule->name, err.text, err.cap);
  const struct {
    const char *key;
    double value;
    bool has;
  } numbers[] = {{"learning_rate", rule->learning_rate, true},
                 {"initial_accumulator", rule->initial_accumulator, has_accumulator(rule->kind) || is_rowwise(rule->kind)},
                 {"decay_rate", rule->decay_rate, has_decay(rule->kind)},
                 {"decay_baseline", rule->decay_baseline, has_decay(rule->kind) && rule->has_baseline},
                 {"l1", rule->l1, is_ftrl(rule->kind)},
                 {"l2", rule->l2, is_ftrl(rule->kind)},
                 {"l2_shrinkage", rule->l2_shrinkage, is_ftrl(rule->kind)},
                 {"beta1", rule->beta1, has_betas(rule->kind)},
                 {"beta2", rule->beta2, has_betas(rule->kind)},
                 {"epsilon", rule->epsilon, has_betas(rule->kind) || is_rowwise(rule->kind)},
                 {"weight_decay", rule->weight_decay, has_weight_decay(rule->kind)}};
  for (uint32_t i = 0; i < sizeof numbers / sizeof *numbers && status == TS_OK; i++)
    if (numbers[i].has) status = set_number(config, numbers[i].key, numbers[i].value, err);
  if (status == TS_OK && has_decay(rule->kind)) status = ts_config_set(config, "decay_step", steps, err.text, err.cap);
  return status;
}

int32_t ts_part_rule_read(const ts_part_rule *rule, ts_optimizer *out, ts_err err) {
  ts_config *config;
  int32_t status = ts_config_create(&config);
  if (status != TS_OK) return ts_fail(err, status, "Cannot open trainer: out of memory");
  status = ts_part_rule_set(rule, config, err);
  if (status == TS_OK) {
    ts_config_reader r = ts_config_read(config, "trainer", err);
    status = ts_optimizer_read(&r, "dense layers", out);
    if (status == TS_OK) status = ts_config_finish(&r);
  }
  ts_config_free(config);
  return status;
}
