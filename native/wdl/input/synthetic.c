/* synthetic.c - writes synthetic Criteo data: threads take row groups, make them with the planted model and write them
 * at their place. What is known about the rows (planted AUC and so on) is gathered as whole numbers or a group at a
 * time and added up in the order of the groups, so that the file does not depend on the number of threads. */
#include "base/control.h"
#include "wdl/common/metrics.h"
#include "wdl/input/planted.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Logits are binned for the AUC: 1/4096 wide from -16 to 16, an error below 1e-5. */
#define BINS 131072u
#define BINS_A_UNIT 4096.0

/* Sums over the rows of one group. */
typedef struct group_sums {
  uint64_t digest, unseen;
  double logloss, numeric, numeric_square, categorical, categorical_square;
} group_sums;

/* One thread's counts: [0] of the whole logit, [1] of its numeric part; [][0] negatives, [][1] positives. */
typedef struct counts {
  uint64_t bins[2][2][BINS];
} counts;

typedef struct generation {
  const ts_planted *planted;
  ts_cache_writer *writer;
  uint64_t rows, groups;
  group_sums *sums;              /* a group each */
  counts **counts;               /* a thread each */
  uint64_t *seen[TS_CATEGORIES]; /* bit per rank: in the train rows; NULL if not asked */
  uint64_t *control;
  atomic_ullong next;
  atomic_int status; /* first failure */
  char message[512]; /* of the thread that set status */
} generation;

static uint32_t bin_of(double logit) {
  double at = (logit + 16.0) * BINS_A_UNIT;
  return at <= 0 ? 0 : at >= BINS - 1 ? BINS - 1 : (uint32_t)at;
}

static void fail(generation *g, int32_t status, const char *message) {
  int expected = TS_OK;
  if (atomic_compare_exchange_strong(&g->status, &expected, status))
    snprintf(g->message, sizeof g->message, "%s", message);
}

static void add_group(generation *g, counts *tally, uint64_t index, uint32_t count, const ts_cache_group *group,
                      const double *numeric, const double *categorical) {
  group_sums *s = &g->sums[index];
  s->digest = ts_cache_group_digest(group, index, count);
  for (uint32_t i = 0; i < count; i++) {
    bool positive = group->labels[i] > 0;
    double logit = g->planted->bias + numeric[i] + categorical[i];
    s->logloss += ts_logloss(logit, positive);
    s->numeric += numeric[i];
    s->numeric_square += numeric[i] * numeric[i];
    s->categorical += categorical[i];
    s->categorical_square += categorical[i] * categorical[i];
    tally->bins[0][positive][bin_of(logit)]++;
    tally->bins[1][positive][bin_of(numeric[i])]++;
  }
  if (g->seen[0] == NULL) return;
  for (uint32_t c = 0; c < TS_CATEGORIES; c++)
    for (uint32_t i = 0; i < count; i++) {
      uint64_t rank = ts_planted_rank(g->planted->key_mask, c, group->keys[c][i]);
      s->unseen += !(g->seen[c][rank / 64] >> (rank % 64) & 1);
    }
}

static void generate_part(void *context, uint32_t part) {
  generation *g = context;
  char message[512];
  ts_cache_group *group = calloc(1, sizeof *group);
  double *numeric = malloc(TS_CACHE_GROUP * sizeof *numeric),
         *categorical = malloc(TS_CACHE_GROUP * sizeof *categorical);
  if (group == NULL || numeric == NULL || categorical == NULL)
    fail(g, TS_ENOMEM, "Cannot write synthetic data: out of memory");
  while (atomic_load(&g->status) == TS_OK) {
    uint64_t index = atomic_fetch_add(&g->next, 1);
    if (index >= g->groups) break;
    uint64_t first = index * TS_CACHE_GROUP;
    uint32_t count = (uint32_t)TS_MIN(g->rows - first, TS_CACHE_GROUP);
    if (count < TS_CACHE_GROUP) memset(group, 0, sizeof *group);
    ts_planted_rows(g->planted, first, count, group, numeric, categorical);
    add_group(g, g->counts[part], index, count, group, numeric, categorical);
    int32_t status = ts_cache_writer_group(g->writer, index, group, (ts_err){message, sizeof message});
    if (status != TS_OK) fail(g, status, message);
    ts_control_add(g->control, count);
    if (ts_control_cancelled(g->control)) fail(g, TS_ECANCELLED, "Writing synthetic data was cancelled");
  }
  free(group);
  free(numeric);
  free(categorical);
}

/* Adds the parts up into the header. */
static void summarise(generation *g, ts_cache_header *h) {
  group_sums all = {0};
  for (uint64_t i = 0; i < g->groups; i++) {
    const group_sums *s = &g->sums[i];
    all.digest += s->digest;
    all.unseen += s->unseen;
    all.logloss += s->logloss;
    all.numeric += s->numeric;
    all.numeric_square += s->numeric_square;
    all.categorical += s->categorical;
    all.categorical_square += s->categorical_square;
  }
  counts *sum = g->counts[0];
  for (uint32_t part = 1; g->counts[part] != NULL; part++)
    for (uint32_t i = 0; i < BINS; i++)
      for (uint32_t k = 0; k < 4; k++) sum->bins[k / 2][k % 2][i] += g->counts[part]->bins[k / 2][k % 2][i];
  uint64_t positives = 0;
  for (uint32_t i = 0; i < BINS; i++) positives += sum->bins[0][1][i];
  double n = (double)g->rows;
  double numeric = all.numeric_square / n - all.numeric / n * (all.numeric / n);
  double categorical = all.categorical_square / n - all.categorical / n * (all.categorical / n);
  h->key_digest = all.digest;
  h->click_rate = (double)positives / n;
  h->planted_auc = ts_auc_of_bins(sum->bins[0][1], sum->bins[0][0], BINS);
  h->numeric_auc = ts_auc_of_bins(sum->bins[1][1], sum->bins[1][0], BINS);
  h->planted_logloss = all.logloss / n;
  h->categorical_variance = categorical / (categorical + numeric);
  h->unseen_share = g->seen[0] == NULL ? __builtin_nan("") : (double)all.unseen / (n * TS_CATEGORIES);
}

/* Marks the ids of one column of the train file. */
typedef struct marking {
  generation *g;
  ts_cache train;
  atomic_int status;
  char message[TS_CATEGORIES][512];
} marking;

static void mark_column(void *context, uint32_t c) {
  marking *m = context;
  int64_t keys[TS_CACHE_GROUP];
  uint64_t vocabulary = m->g->planted->ranks[c].n;
  for (uint64_t first = 0; first < m->train.header.rows; first += TS_CACHE_GROUP) {
    uint64_t count = TS_MIN(m->train.header.rows - first, TS_CACHE_GROUP);
    int32_t status =
        ts_cache_read_column(&m->train, c, first, count, keys, (ts_err){m->message[c], sizeof m->message[c]});
    if (status != TS_OK) {
      atomic_store(&m->status, status);
      return;
    }
    for (uint64_t i = 0; i < count; i++) {
      uint64_t rank = ts_planted_rank(m->g->planted->key_mask, c, keys[i]);
      if (rank < vocabulary) m->g->seen[c][rank / 64] |= UINT64_C(1) << (rank % 64);
    }
  }
}

/* Fills g->seen from the train file that goes with these test rows. */
static int32_t mark_train_ids(generation *g, ts_pool *pool, const char *path, ts_err err) {
  marking *m = calloc(1, sizeof *m);
  if (m == NULL) return ts_fail(err, TS_ENOMEM, "Cannot write synthetic data: out of memory");
  m->g = g;
  int32_t status = ts_cache_open(path, &m->train, err);
  const ts_cache_header *h = &m->train.header;
  const ts_planted_options *o = &g->planted->options;
  if (status == TS_OK && (h->vocabulary != TS_VOCABULARY_SYNTHETIC || h->split != 0 || h->seed != o->seed ||
                          h->scale != o->scale || h->skew_s != o->skew_s || h->skew_q != o->skew_q ||
                          h->skew_rows != o->skew_rows))
    status =
        ts_fail(err, TS_EINVAL,
                "Cannot compare with \"%s\": it must be synthetic train data of the same seed, scale and skew", path);
  for (uint32_t c = 0; c < TS_CATEGORIES && status == TS_OK; c++) {
    g->seen[c] = calloc(g->planted->ranks[c].n / 64 + 1, sizeof(uint64_t));
    if (g->seen[c] == NULL) status = ts_fail(err, TS_ENOMEM, "Cannot write synthetic data: out of memory");
  }
  if (status == TS_OK) {
    ts_pool_run(pool, TS_CATEGORIES, mark_column, m);
    status = atomic_load(&m->status);
    for (uint32_t c = 0; c < TS_CATEGORIES && status != TS_OK; c++)
      if (m->message[c][0] != '\0') {
        ts_fail(err, status, "%s", m->message[c]);
        break;
      }
  }
  ts_cache_close(&m->train);
  free(m);
  return status;
}

static int32_t generate(const ts_planted *planted, uint64_t rows, uint32_t threads, const char *path, const char *train,
                        uint64_t *control, ts_err err) {
  generation *g = calloc(1, sizeof *g);
  ts_pool *pool = NULL;
  ts_cache_writer writer = {.fd = -1};
  if (g == NULL) return ts_fail(err, TS_ENOMEM, "Cannot write synthetic data: out of memory");
  *g = (generation){.planted = planted, .writer = &writer, .rows = rows, .control = control};
  g->groups = (rows + TS_CACHE_GROUP - 1) / TS_CACHE_GROUP;
  g->sums = calloc(g->groups, sizeof *g->sums);
  g->counts = calloc(threads + 1, sizeof *g->counts);
  int32_t status = TS_OK;
  for (uint32_t i = 0; g->counts != NULL && i < threads; i++)
    if ((g->counts[i] = calloc(1, sizeof(counts))) == NULL) status = TS_ENOMEM;
  if (g->sums == NULL || g->counts == NULL || status != TS_OK)
    status = ts_fail(err, TS_ENOMEM, "Cannot write synthetic data: out of memory");
  if (status == TS_OK) status = ts_pool_create(threads, &pool, err);
  if (status == TS_OK && train != NULL) status = mark_train_ids(g, pool, train, err);
  if (status == TS_OK) status = ts_cache_writer_open(path, &writer, err);
  if (status == TS_OK) {
    ts_pool_run(pool, threads, generate_part, g);
    status = atomic_load(&g->status);
    if (status != TS_OK) ts_fail(err, status, "%s", g->message);
  }
  if (status == TS_OK) {
    const ts_planted_options *o = &planted->options;
    ts_cache_header h = {.vocabulary = TS_VOCABULARY_SYNTHETIC,
                         .rows = rows,
                         .numerics = o->numerics,
                         .seed = o->seed,
                         .split = o->split,
                         .scale = o->scale,
                         .skew_s = o->skew_s,
                         .skew_q = o->skew_q,
                         .skew_rows = o->skew_rows};
    for (uint32_t c = 0; c < TS_CATEGORIES; c++) h.cardinality[c] = planted->ranks[c].n;
    summarise(g, &h);
    status = ts_cache_writer_header(&writer, &h, err);
  }
  if (status == TS_OK) status = ts_cache_writer_rename(&writer, err);
  ts_cache_writer_close(&writer);
  ts_pool_destroy(pool);
  for (uint32_t c = 0; c < TS_CATEGORIES; c++) free(g->seen[c]);
  for (uint32_t i = 0; g->counts != NULL && i < threads; i++) free(g->counts[i]);
  free(g->counts);
  free(g->sums);
  free(g);
  return status;
}

int32_t ts_data_generate(const ts_config *config, uint64_t *control, char *err_text, uint32_t err_cap) {
  ts_err err = {err_text, err_cap};
  static const char *const splits[] = {"train", "test", NULL};
  ts_config_reader r = ts_config_read(config, "synthetic data", err);
  const char *path = ts_config_text(&r, "out", NULL);
  uint64_t rows = ts_config_u64(&r, "rows", 0, 1, UINT64_C(1) << 40);
  ts_planted_options options = {0};
  options.split = ts_config_choice(&r, "split", "train", splits);
  options.scale = ts_config_f64(&r, "scale", 1, 1e-9, 1);
  options.skew_s = ts_config_f64(&r, "skew_s", 1.15, 0, 10);
  options.skew_q = ts_config_f64(&r, "skew_q", 2.7, 0, 1e12);
  options.skew_rows = ts_config_f64(&r, "skew_rows", 0, 0, 1e15);
  options.numerics = ts_config_choice(&r, "numerics", "log", ts_numerics_names);
  options.seed = ts_config_u64(&r, "seed", 0, 0, UINT64_MAX);
  uint32_t threads = (uint32_t)ts_config_u64(&r, "threads", 1, 1, 1024);
  const char *train = ts_config_text(&r, "train", NULL);
  int32_t status = ts_config_finish(&r);
  if (status != TS_OK) return status;
  if (path == NULL || rows == 0)
    return ts_fail(err, TS_EINVAL, "Cannot write synthetic data: option \"%s\" is required",
                   path == NULL ? "out" : "rows");
  if (train != NULL && options.split != 1)
    return ts_fail(err, TS_EINVAL,
                   "Cannot write synthetic data: option \"train\" goes with split \"test\", found \"train\"");
  ts_control_start(control, rows);
  ts_planted *planted;
  status = ts_planted_create(&options, &planted, err);
  if (status != TS_OK) return status;
  status = generate(planted, rows, threads, path, train, control, err);
  ts_planted_free(planted);
  return status;
}
