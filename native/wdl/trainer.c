/* trainer.c - opens and closes a Wide & Deep trainer: reads its options, creates its tables, plans its memory. */
#include "wdl/trainer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define HUGE_PAGE (UINT64_C(2) << 20)

/* Options of a table that the trainer hands on. */
static const char *const initializer_options[] = {"initializer",         "initializer.value", "initializer.low",
                                                  "initializer.high",    "initializer.mean",  "initializer.stddev",
                                                  "initializer.fan_out", "initializer.rows",  "initializer.base"};
#define INITIALIZER_OPTIONS (sizeof initializer_options / sizeof *initializer_options)

typedef struct reading {
  const char *data;
  const char *initializer[INITIALIZER_OPTIONS];
} reading;

static int32_t read_options(const ts_config *config, ts_trainer_options *o, reading *also, ts_err err) {
  static const char *const optimizers[] = {"sgd", "adagrad", NULL};
  ts_config_reader r = ts_config_read(config, "trainer", err);
  also->data = ts_config_text(&r, "data", NULL);
  for (uint32_t i = 0; i < INITIALIZER_OPTIONS; i++)
    also->initializer[i] = ts_config_text(&r, initializer_options[i], NULL);
  o->batch = (uint32_t)ts_config_u64(&r, "batch", 2048, 1, 1u << 20);
  o->dim = (uint32_t)ts_config_u64(&r, "dim", 16, 1, 1024);
  o->threads = (uint32_t)ts_config_u64(&r, "threads", 1, 1, 1024);
  o->wide_buckets = (uint32_t)ts_config_u64(&r, "wide_buckets", 10000, 1, 1u << 28);
  o->seed = ts_config_u64(&r, "seed", 0, 0, UINT64_MAX);
  o->adagrad = ts_config_choice(&r, "deep_optimizer", "adagrad", optimizers) == 1;
  o->deep_learning_rate = ts_config_f64(&r, "deep_learning_rate", 0.01, 0, 1e6);
  o->deep_initial_accumulator = ts_config_f64(&r, "deep_initial_accumulator", TS_INITIAL_ACCUMULATOR, 1e-30, 1e30);
  o->wide_learning_rate = ts_config_f64(&r, "wide_learning_rate", 0.2, 1e-30, 1e6);
  o->wide_l1 = ts_config_f64(&r, "wide_l1", 0, 0, 1e30);
  o->wide_l2 = ts_config_f64(&r, "wide_l2", 0, 0, 1e30);
  o->wide_initial_accumulator = ts_config_f64(&r, "wide_initial_accumulator", TS_INITIAL_ACCUMULATOR, 1e-30, 1e30);
  uint64_t hidden[TS_MLP_LAYERS] = {1024, 512, 256};
  uint32_t given = ts_config_u64_list(&r, "hidden", hidden, TS_MLP_LAYERS);
  o->layers = given == 0 ? 3 : given;
  int32_t status = ts_config_finish(&r);
  if (status != TS_OK) return status;
  if (also->data == NULL) return ts_fail(err, TS_EINVAL, "Cannot open trainer: option \"data\" is required");
  if (o->layers > TS_MLP_LAYERS)
    return ts_fail(err, TS_EINVAL, "Cannot open trainer: option \"hidden\" has %u layers, at most %u are possible",
                   o->layers, TS_MLP_LAYERS);
  for (uint32_t l = 0; l < o->layers; l++) {
    if (hidden[l] < 1 || hidden[l] > 16384)
      return ts_fail(err, TS_EINVAL, "Cannot open trainer: widths in \"hidden\" must be from 1 to 16384, found %llu",
                     (unsigned long long)hidden[l]);
    o->hidden[l] = (uint32_t)hidden[l];
  }
  return TS_OK;
}

/* Lays the memory out; with space->base NULL it only measures. */
static void plan(ts_trainer *t, ts_workspace *space) {
  const ts_trainer_options *o = &t->options;
  uint64_t pairs = (uint64_t)TS_CATEGORIES * o->batch;
  ts_mlp_plan_parameters(&t->mlp, space);
  ts_mlp_plan_step(&t->mlp, space);
  ts_wide_plan(&t->wide, space, o->batch, o->wide_buckets);
  t->labels = ts_workspace_take(space, o->batch, sizeof(float));
  t->numerics = ts_workspace_take(space, (uint64_t)TS_NUMERICS * o->batch, sizeof(float));
  t->keys = ts_workspace_take(space, pairs, sizeof(int64_t));
  t->embeddings = ts_workspace_take(space, pairs * o->dim, sizeof(float));
  t->found = ts_workspace_take(space, pairs, 1);
  t->logit = ts_workspace_take(space, o->batch, sizeof(float));
  t->loss_gradient = ts_workspace_take(space, o->batch, sizeof(float));
  t->losses = ts_workspace_take(space, o->batch, sizeof(double));
}

static int32_t allocate(ts_trainer *t, ts_err err) {
  ts_workspace measure = {0};
  plan(t, &measure);
  t->workspace_bytes = TS_ROUND_UP(measure.used, HUGE_PAGE);
  void *base = mmap(NULL, t->workspace_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (base == MAP_FAILED)
    return ts_fail(err, TS_ENOMEM,
                   "Cannot open trainer: no memory for %llu bytes of layers and batches; use a smaller "
                   "batch or smaller layers",
                   (unsigned long long)t->workspace_bytes);
  madvise(base, t->workspace_bytes, MADV_HUGEPAGE); /* a hint; works without */
  t->workspace.base = base;
  plan(t, &t->workspace);
  return ts_mlp_bind(&t->mlp) == TS_OK ? TS_OK : ts_fail(err, TS_EINTERNAL, "Cannot open trainer: oneDNN refused memory");
}

static int32_t create_table(ts_trainer *t, uint32_t column, const reading *from, ts_err err) {
  ts_config *config;
  int32_t status = ts_config_create(&config);
  if (status != TS_OK) return ts_fail(err, status, "Cannot open trainer: out of memory");
  char name[8], dim[16], rate[32], accumulator[32];
  snprintf(name, sizeof name, "C%u", column + 1);
  snprintf(dim, sizeof dim, "%u", t->options.dim);
  snprintf(rate, sizeof rate, "%.17g", t->options.deep_learning_rate);
  snprintf(accumulator, sizeof accumulator, "%.17g", t->options.deep_initial_accumulator);
  const char *const pairs[][2] = {{"name", name},
                                  {"dim", dim},
                                  {"optimizer", t->options.adagrad ? "adagrad" : "sgd"},
                                  {"learning_rate", rate},
                                  {t->options.adagrad ? "initial_accumulator" : NULL, accumulator}};
  for (uint32_t i = 0; i < sizeof pairs / sizeof *pairs && status == TS_OK; i++)
    if (pairs[i][0] != NULL) status = ts_config_set(config, pairs[i][0], pairs[i][1], err.text, err.cap);
  for (uint32_t i = 0; i < INITIALIZER_OPTIONS && status == TS_OK; i++)
    if (from->initializer[i] != NULL)
      status = ts_config_set(config, initializer_options[i], from->initializer[i], err.text, err.cap);
  if (status == TS_OK) status = ts_table_create(t->store, config, &t->tables[column], err.text, err.cap);
  ts_config_free(config);
  return status;
}

static int32_t open_mlp(ts_trainer *t, ts_err err) {
  const ts_trainer_options *o = &t->options;
  ts_mlp_options options = {.batch = o->batch,
                            .pieces = 1,
                            .shards = TS_SHARDS,
                            .in = TS_EMBEDDINGS_AT + TS_CATEGORIES * o->dim,
                            .count = o->layers,
                            .head = true,
                            .own_input = true,
                            .input_gradient = true,
                            .fusion = true,
                            .seed = o->seed};
  memcpy(options.hidden, o->hidden, sizeof options.hidden);
  options.rule.kind = o->adagrad ? TS_ADAGRAD : TS_SGD;
  options.rule.initial_accumulator = (float)o->deep_initial_accumulator;
  atomic_init(&options.rule.learning_rate, (float)o->deep_learning_rate);
  return ts_mlp_open(&t->mlp, &options, err);
}

static void initialise(ts_trainer *t) {
  const ts_trainer_options *o = &t->options;
  ts_mlp_initialise(&t->mlp);
  t->wide.learning_rate = (float)o->wide_learning_rate;
  t->wide.l1 = (float)o->wide_l1;
  t->wide.l2 = (float)o->wide_l2;
  ts_wide_initialise(&t->wide, (float)o->wide_initial_accumulator);
}

int32_t ts_trainer_open(ts_store *store, const ts_config *config, ts_trainer **out, char *err_text, uint32_t err_cap) {
  ts_err err = {err_text, err_cap};
  if (store == NULL || out == NULL) return ts_fail(err, TS_EINVAL, "Cannot open trainer: a store is needed");
  *out = NULL;
  ts_trainer *t = calloc(1, sizeof *t);
  if (t == NULL) return ts_fail(err, TS_ENOMEM, "Cannot open trainer: out of memory");
  t->store = store;
  t->data.fd = -1;
  reading also;
  int32_t status = read_options(config, &t->options, &also, err);
  if (status == TS_OK) status = open_mlp(t, err);
  if (status == TS_OK) status = ts_cache_open(also.data, &t->data, err);
  if (status == TS_OK && t->data.header.rows < t->options.batch)
    status = ts_fail(err, TS_EINVAL,
                     "Cannot open trainer: a batch of %u is more than the %llu rows of \"%s\"; use a smaller batch",
                     t->options.batch, (unsigned long long)t->data.header.rows, also.data);
  if (status == TS_OK) status = ts_pool_create(t->options.threads, &t->pool, err);
  if (status == TS_OK) status = allocate(t, err);
  /* Tables last: they stay in the store. */
  for (uint32_t c = 0; c < TS_CATEGORIES && status == TS_OK; c++) status = create_table(t, c, &also, err);
  if (status != TS_OK) {
    ts_trainer_close(t);
    return status;
  }
  initialise(t);
  *out = t;
  return TS_OK;
}

int32_t ts_trainer_close(ts_trainer *t) {
  if (t == NULL) return TS_OK;
  ts_pool_destroy(t->pool);
  ts_mlp_close(&t->mlp);
  ts_cache_close(&t->data);
  if (t->workspace.base != NULL) munmap(t->workspace.base, t->workspace_bytes);
  free(t);
  return TS_OK;
}

int32_t ts_trainer_each_table(ts_trainer *t, void (*task)(void *trainer, uint32_t table), ts_err err) {
  memset(t->part_status, 0, sizeof t->part_status);
  ts_pool_run(t->pool, TS_CATEGORIES, task, t);
  for (uint32_t c = 0; c < TS_CATEGORIES; c++)
    if (t->part_status[c] != TS_OK) return ts_fail(err, t->part_status[c], "%s", t->part_message[c]);
  return TS_OK;
}

int32_t ts_trainer_digest(ts_trainer *t, uint64_t *digest, char *err_text, uint32_t err_cap) {
  uint64_t rows = 0;
  if (t == NULL || digest == NULL)
    return ts_fail((ts_err){err_text, err_cap}, TS_EINVAL,
                   "Cannot compute a digest: a trainer and a place for it are needed");
  int32_t status = ts_store_digest(t->store, &rows, err_text, err_cap);
  if (status == TS_OK) *digest = ts_mix64(ts_wide_digest(&t->wide, ts_mlp_digest(&t->mlp, 0)) ^ ts_mix64(rows));
  return status;
}
