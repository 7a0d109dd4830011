/* Training over ranks: the same rows, dense weights, loss and scores on 1, 2, 4 and 8 ranks, with servers and without, on every
 * kind of tier and on mixed ones, with any number of threads; one rank against the trainer of one process; failures reach all
 * ranks. Ranks are threads here (memory_ranks.h). */
#include "test/ranks_job.h"

#include <math.h>

/* The library's own, but on threads that are of another version (see the Makefile). */
int32_t __real_ts_version(char *out, uint64_t cap, uint64_t *needed);
int32_t __wrap_ts_version(char *out, uint64_t cap, uint64_t *needed);
static _Thread_local bool older;
static void last_is_older(uint32_t rank, uint32_t ranks) { older = rank + 1 == ranks; }
int32_t __wrap_ts_version(char *out, uint64_t cap, uint64_t *needed) {
  const int32_t status = __real_ts_version(out, cap, needed);
  if (older) snprintf(out, cap, "0.0.1");
  return status;
}

static const struct {
  const char *name, *more;
} models[] = {
    {"wdl", NULL},
    {"wdl with dropout and Adam", "dropout=0.3 deep_optimizer=adam"},
    {"deepfm", "model=deepfm"},
    {"dlrm", "model=dlrm bottom=17,8"},
    {"rows sent in BF16", "ranks_rows=bf16"},
    {"rows in BF16 in two parts", "ranks_rows=bf16 ranks_ahead=rows"},
    {"stale rows", "async_embedding=1"},
    {"micro-shards without samples, tables without keys", "batch=5 deep_optimizer=adam"},
    {"shared table", "tables=a:4:none:C1,C2,C3;b:8:none:C4"},
    {"bags", "tables=a:4:mean:C1,C2,C3;b:8:sum:C4,C5;c:4:sqrtn:C6,C20;d:4:none:C7"},
    {"bags of deepfm", "model=deepfm tables=a:4:mean:C1,C2,C3;b:4:none:C4 ranks_keys=all embedding_fusion=0"},
    {"admission", "admission=counter admission.frequency=4 admission.default_value=0.25 record_frequency=1"},
    {"rows that expire", "expire.steps=3 record_version=1 record_frequency=1"},
    {"light rows that expire", "expire.l2=0.001 expire.l2_every=4 record_frequency=1 async_embedding=1"},
    {"bags of rows that are admitted and expire",
     "tables=a:4:mean:C1,C2,C3;b:8:sum:C4,C5;d:4:none:C7 admission=counter admission.frequency=3 expire.steps=4"},
};

static void any_number_of_ranks(uint32_t steps) {
  uint64_t digests[sizeof models / sizeof *models];
  for (uint32_t i = 0; i < sizeof models / sizeof *models; i++) {
    job_plan plan = {.name = models[i].name, .ranks = 1, .steps = steps, .more = models[i].more, .places = {dram}, .empty = i % 2 == 1};
    const outcome one = expect_same(plan, NULL);
    CHECK_MSG(one.loss > 0.1 && one.loss < 1 && one.scores[2] == 700, "%s: loss %g, %g rows scored", plan.name, one.loss, one.scores[2]);
    digests[i] = one.digest;
    for (uint32_t before = 0; before < i; before++)
      CHECK_MSG(digests[before] != one.digest, "%s is as %s", plan.name, models[before].name);
    for (plan.ranks = 2; plan.ranks <= 8; plan.ranks *= 2) expect_same(plan, &one);
    plan.servers = 3;
    for (plan.ranks = 4; plan.ranks <= 7; plan.ranks += plan.ranks == 4 ? 1 : 2) expect_same(plan, &one); /* 1, 2 and 4 train */
  }
}

/* Options that change no results, with `more`, and each on another number of ranks. */
static void expect_no_change(const char *more, const char *const *ways, uint32_t count, uint32_t steps) {
  job_plan plan = {.name = "one", .ranks = 1, .steps = steps, .more = more, .empty = more != NULL, .places = {dram}};
  const outcome one = expect_same(plan, NULL);
  for (uint32_t i = 0; i < count; i++) {
    char all[512];
    snprintf(all, sizeof all, "%s%s%s", ways[i], more == NULL ? "" : " ", more == NULL ? "" : more);
    plan.name = plan.more = all;
    plan.ranks = 1u << (more == NULL ? i % 4 : 1 + i % 3);
    expect_same(plan, &one);
  }
}

static void any_threads_and_messages(uint32_t steps) {
  static const char *const counted[] = {"ranks_keys=all", "ranks_ahead=rows", "ranks_ahead=rows ranks_keys=all", "ranks_ahead=keys ranks_messages=separate"};
  static const char *const bags[] = {"ranks_keys=all memory_reuse=0", "ranks_ahead=rows threads=2", "micro_batch=4 embedding_fusion=0"};
  static const char *const dlrm[] = {"micro_batch=2", "micro_batch=8 threads=2 ranks_ahead=rows", "micro_batch=4 executor=cost_model threads=3", "micro_batch=8 memory_reuse=0"};
  expect_no_change("admission=counter admission.frequency=4 record_frequency=1", counted, 4, steps);
  expect_no_change("tables=a:4:mean:C1,C2,C3;b:8:sum:C4,C5", bags, 3, steps);
  expect_no_change("model=dlrm bottom=17,8 dropout=0.3", dlrm, 4, steps);
  static const char *const ways[] = {"micro_batch=4", "micro_batch=2 threads=2", "micro_batch=8", "micro_batch=2 executor=inline", "threads=2", "threads=3 executor=cost_model", "executor=inline", "ranks_messages=separate", "ranks_keys=all", "threads=2 ranks_keys=all ranks_messages=separate",
                                     "embedding_fusion=0", "memory_reuse=0", "stage=0", "stage_what=lookup stage=2 readers=2",
                                     "ranks_ahead=keys", "ranks_ahead=rows", "ranks_ahead=rows threads=2", "ranks_ahead=rows threads=3 executor=cost_model ranks_messages=separate",
                                     "ranks_ahead=rows ranks_keys=all executor=inline", "ranks_ahead=keys executor=cost_model threads=2"};
  expect_no_change(NULL, ways, sizeof ways / sizeof *ways, steps);
}

static void any_tiers(uint32_t steps) {
  static const struct {
    const char *name;
    place places[3];
    uint32_t kinds;
  } kinds[] = {{"DRAM_PMEM", {pmem}, 1}, {"DRAM_SSDHASH", {ssd}, 1}, {"mixed", {dram, pmem, ssd}, 3}};
  job_plan plan = {.name = "DRAM", .ranks = 1, .steps = steps, .places = {dram}};
  const outcome one = expect_same(plan, NULL);
  for (uint32_t i = 0; i < 3; i++)
    for (uint32_t ranks = 2; ranks <= 8; ranks *= 2) {
      plan = (job_plan){.name = kinds[i].name, .ranks = ranks, .steps = steps, .kinds = kinds[i].kinds};
      memcpy(plan.places, kinds[i].places, sizeof plan.places);
      expect_same(plan, &one);
    }
  plan = (job_plan){.name = "servers with SSDHASH", .ranks = 4, .servers = 2, .steps = steps, .places = {dram, dram, ssd}, .kinds = 3};
  expect_same(plan, &one);
}

/* Ranks whose first tiers are the memory of one OpenCL device, each with a pool, a queue and several threads of its own. */
static void on_a_device(uint32_t steps) {
#ifdef __SANITIZE_THREAD__
  SKIP("wdl_ranks_test: on_a_device", "%s", "PoCL is not built for the thread sanitizer");
#else
  ts_config *config = options("storage", on_device.storage, "size", on_device.size, "size_counts", "rows", "hbm", "opencl", NULL);
  const int32_t available = ts_store_probe(config, message, sizeof message);
  ts_config_free(config);
  if (available == TS_EUNAVAILABLE) {
    SKIP("wdl_ranks_test: on_a_device", "%s", message);
    return;
  }
  job_plan plan = {.name = "DRAM", .ranks = 1, .steps = steps, .places = {dram}};
  const outcome one = expect_same(plan, NULL);
  for (uint32_t ranks = 1; ranks <= 4; ranks *= 2) {
    plan = (job_plan){.name = "HBM_DRAM of OpenCL", .ranks = ranks, .steps = steps, .more = "threads=3", .places = {on_device}, .kinds = 1};
    expect_same(plan, &one);
  }
  plan = (job_plan){.name = "HBM_DRAM of OpenCL beside DRAM", .ranks = 2, .steps = steps, .more = "ranks_ahead=rows threads=2", .places = {on_device, dram}, .kinds = 2};
  expect_same(plan, &one);
#endif
}

/* ---- against the trainer of one process ---- */

/* One step of plain gradient descent: every dense weight and every row as there, but for the order of sums. */
static void one_step_is_that_of_one_process(void) {
  static const char *const names[] = {"mlp.0.w", "mlp.1.w", "mlp.1.b", "output.w", "output.b", "wide.numeric", "wide.C3"};
  ts_store *stores[2];
  ts_trainer *trainers[2];
  ts_ranks *ranks = NULL;
  double loss[2];
  CHECK(ts_ranks_make(NULL, 0, &ranks, (ts_err){message, sizeof message}) == TS_OK);
  for (uint32_t i = 0; i < 2; i++) {
    ts_config *config = options("storage", "DRAM", "seed", "5", NULL);
    CHECK(ts_store_open(config, &stores[i], message, sizeof message) == TS_OK);
    ts_config_free(config);
    config = options("data", train_file, "batch", "203", "hidden", "24,9", "dim", "4", "seed", "1", "wide_buckets", "300",
                     "deep_optimizer", "sgd", "deep_learning_rate", "1", NULL);
    const int32_t status = i == 0 ? ts_trainer_open(stores[i], config, &trainers[i], message, sizeof message)
                                  : ts_trainer_open_ranks(stores[i], ranks, config, &trainers[i], message, sizeof message);
    CHECK_MSG(status == TS_OK, "%s", message);
    ts_config_free(config);
    CHECK(ts_trainer_train(trainers[i], 0, 1, NULL, NULL, &loss[i], NULL, message, sizeof message) == TS_OK);
  }
  CHECK_MSG(loss[0] == loss[1], "the first loss is %.17g, alone %.17g", loss[1], loss[0]);
  static float values[2][40000];
  for (uint32_t i = 0; i < sizeof names / sizeof *names; i++) {
    uint64_t n = 0;
    for (uint32_t k = 0; k < 2; k++)
      CHECK(ts_trainer_parameters(trainers[k], names[i], values[k], 40000, &n, message, sizeof message) == TS_OK);
    double most = 0, size = 0;
    for (uint64_t v = 0; v < n; v++) {
      most = fmax(most, fabs((double)values[0][v] - values[1][v]));
      size = fmax(size, fabs((double)values[0][v]));
    }
    CHECK_MSG(most <= 1e-5 * size, "%s: differs by %g of %g", names[i], most, size);
  }
  static int64_t keys[10000];
  uint64_t n = 0;
  CHECK(ts_table_keys(stores[0], 2, keys, 10000, &n, message, sizeof message) == TS_OK);
  CHECK(n > 20 && ts_table_lookup(stores[0], 2, keys, n, values[0], message, sizeof message) == TS_OK);
  CHECK(ts_table_lookup(stores[1], 2, keys, n, values[1], message, sizeof message) == TS_OK);
  double most = 0;
  for (uint64_t v = 0; v < n * 4; v++) most = fmax(most, fabs((double)values[0][v] - values[1][v]));
  CHECK_MSG(most < 1e-6, "rows differ by %g", most);
  for (uint32_t i = 0; i < 2; i++) {
    ts_trainer_close(trainers[i]);
    ts_store_close(stores[i]);
  }
  ts_ranks_close(ranks);
}

/* Mean loss of so many steps of plain gradient descent, of one process or of one rank alone. */
static double loss_of(bool over_ranks, const char *more, uint32_t steps, char *described, uint64_t cap) {
  ts_store *store = NULL;
  ts_trainer *trainer = NULL;
  ts_ranks *ranks = NULL;
  double loss = NAN;
  uint64_t needed;
  CHECK(ts_ranks_make(NULL, 0, &ranks, (ts_err){message, sizeof message}) == TS_OK);
  ts_config *config = options("storage", "DRAM", "seed", "5", NULL);
  CHECK(ts_store_open(config, &store, message, sizeof message) == TS_OK);
  ts_config_free(config);
  config = options("data", train_file, "batch", "203", "hidden", "24,9", "dim", "4", "seed", "1", "wide_buckets", "300",
                   "deep_optimizer", "sgd", "deep_learning_rate", "1", NULL);
  set_all(config, more);
  const int32_t status = over_ranks ? ts_trainer_open_ranks(store, ranks, config, &trainer, message, sizeof message)
                                    : ts_trainer_open(store, config, &trainer, message, sizeof message);
  CHECK_MSG(status == TS_OK, "%s", message);
  ts_config_free(config);
  CHECK(ts_trainer_train(trainer, 0, steps, NULL, NULL, &loss, NULL, message, sizeof message) == TS_OK);
  CHECK(ts_trainer_describe(trainer, described, cap, &needed) == TS_OK && needed <= cap);
  ts_trainer_close(trainer);
  ts_store_close(store);
  ts_ranks_close(ranks);
  return loss;
}

/* Stale rows miss exactly one update, as those of one process do; rows ahead miss none. */
static void what_comes_ahead(void) {
  static char described[8192];
  const double stale = loss_of(false, "async_embedding=1", 6, described, sizeof described);
  const double fresh = loss_of(true, "stage=1", 6, described, sizeof described);
  const uint64_t all = fact(described, "ranks_rows_after=");
  CHECK(fabs(fresh - stale) > 1e-4 && fact(described, "ranks_rows_ahead=") == 0 && all > 0);
  const double over = loss_of(true, "async_embedding=1", 6, described, sizeof described);
  CHECK_MSG(fabs(over - stale) < 1e-6, "stale rows: loss %.17g, of one process %.17g", over, stale);
  CHECK(strstr(described, "ranks_ahead=stale") != NULL && strstr(described, "stale_share=0.") != NULL);
  const uint64_t first = fact(described, "ranks_rows_after="); /* of the first step */
  CHECK(first > 0 && first < all / 3 && first + fact(described, "ranks_rows_ahead=") == all);
  CHECK(loss_of(true, "ranks_ahead=rows", 6, described, sizeof described) == fresh);
  const uint64_t ahead = fact(described, "ranks_rows_ahead=");
  CHECK_MSG(ahead > 0 && fact(described, "ranks_rows_after=") > first && ahead + fact(described, "ranks_rows_after=") == all,
            "%llu of %llu rows came ahead", (unsigned long long)ahead, (unsigned long long)all);
}

/* ---- what is counted ---- */

/* Keys, frequencies and versions of a table after so many steps, and the trainer's scores of keys that have no row. */
typedef struct counted {
  uint64_t keys, lookups, versions;
  double unseen, logloss;
} counted;

static counted count_of(bool over_ranks, const char *more) {
  static int64_t keys[20000], versions[20000];
  static uint64_t frequencies[20000];
  ts_store *store = NULL;
  ts_trainer *trainer = NULL;
  ts_ranks *ranks = NULL;
  counted c = {0};
  double scores[4];
  CHECK(ts_ranks_make(NULL, 0, &ranks, (ts_err){message, sizeof message}) == TS_OK);
  ts_config *config = options("storage", "DRAM", "seed", "5", NULL);
  CHECK(ts_store_open(config, &store, message, sizeof message) == TS_OK);
  ts_config_free(config);
  config = options("data", train_file, "batch", "203", "hidden", "24,9", "dim", "4", "seed", "1", "wide_buckets", "300",
                   "deep_optimizer", "sgd", "admission", "counter", "admission.frequency", "5", "admission.default_value", "0.5",
                   "record_frequency", "1", "record_version", "1", NULL);
  set_all(config, more);
  CHECK_MSG((over_ranks ? ts_trainer_open_ranks(store, ranks, config, &trainer, message, sizeof message)
                        : ts_trainer_open(store, config, &trainer, message, sizeof message)) == TS_OK, "%s", message);
  ts_config_free(config);
  CHECK(ts_trainer_train(trainer, 0, 8, NULL, NULL, NULL, NULL, message, sizeof message) == TS_OK);
  for (uint32_t table = 0; table < 26; table++) {
    uint64_t n = 0;
    CHECK(ts_table_keys(store, table, keys, 20000, &n, message, sizeof message) == TS_OK && n <= 20000);
    CHECK(ts_table_metadata(store, table, keys, n, frequencies, versions, message, sizeof message) == TS_OK);
    c.keys += n;
    for (uint64_t i = 0; i < n; i++) {
      c.lookups += frequencies[i];
      c.versions += (uint64_t)versions[i];
    }
  }
  CHECK(ts_trainer_evaluate(trainer, test_file, 700, scores, NULL, message, sizeof message) == TS_OK);
  c.logloss = scores[0];
  c.unseen = scores[3];
  ts_trainer_close(trainer);
  ts_store_close(store);
  ts_ranks_close(ranks);
  return c;
}

/* Keys get rows, and rows their frequencies and versions, as in one process; what waits is scored as there. */
static void counts_are_those_of_one_process(void) {
  static const char *const ways[] = {"stage=1", "ranks_keys=all", "ranks_ahead=keys"};
  const counted one = count_of(false, "stage=1");
  CHECK(one.keys > 100 && one.lookups > 5 * one.keys && one.unseen > 0.01);
  for (uint32_t i = 0; i < 3; i++) {
    const counted c = count_of(true, ways[i]);
    CHECK_MSG(c.keys == one.keys && c.lookups == one.lookups && c.versions == one.versions && c.unseen == one.unseen,
              "%s: %llu rows, %llu lookups, %llu versions, %g unseen", ways[i], (unsigned long long)c.keys,
              (unsigned long long)c.lookups, (unsigned long long)c.versions, c.unseen);
    CHECK_MSG(fabs(c.logloss - one.logloss) < 1e-5, "%s: logloss %.17g, of one process %.17g", ways[i], c.logloss, one.logloss);
  }
  static char described[8192];
  const double bags = loss_of(false, "tables=a:4:mean:C1,C2,C3;b:8:sum:C4,C5;c:4:sqrtn:C6,C20", 6, described, sizeof described);
  const double over = loss_of(true, "tables=a:4:mean:C1,C2,C3;b:8:sum:C4,C5;c:4:sqrtn:C6,C20", 6, described, sizeof described);
  CHECK_MSG(fabs(bags - over) < 1e-6, "bags: loss %.17g, of one process %.17g", over, bags);
}

/* ---- failures ---- */

static void failures_reach_all(void) {
  expect_error("other seed", (job_plan){.ranks = 4, .odd = "seed=2", .places = {dram}}, TS_EINVAL,
               "rank 3 has another configuration, data or library than rank 0");
  expect_error("no data", (job_plan){.ranks = 2, .odd = "data=/nowhere", .places = {dram}}, TS_EIO, "Rank 1 of 2: ");
  expect_error("full before the first step", (job_plan){.ranks = 2, .places = {dram, tiny}, .kinds = 2}, TS_EFULL, "Rank 1 of 2: ");
  expect_error("full in a step", (job_plan){.ranks = 4, .empty = true, .places = {dram, dram, tinier}, .kinds = 3}, TS_EFULL,
               "Rank 2 of 4: ");
  expect_error("diverged", (job_plan){.ranks = 2, .more = "model=deepfm deep_optimizer=sgd deep_learning_rate=1e6", .places = {dram}},
               TS_EDIVERGED, "diverged");
  expect_error("micro-batches", (job_plan){.ranks = 2, .more = "micro_batch=3", .places = {dram}}, TS_EINVAL, "micro_batch 3");
  expect_error("other version", (job_plan){.ranks = 2, .started = last_is_older, .places = {dram}}, TS_EINVAL,
               "rank 1 has another configuration, data or library than rank 0");
  expect_error("other admission", (job_plan){.ranks = 4, .odd = "admission=counter admission.frequency=2", .places = {dram}}, TS_EINVAL,
               "rank 3 has another configuration, data or library than rank 0");
  expect_error("ahead twice", (job_plan){.ranks = 2, .more = "async_embedding=1 ranks_ahead=rows", .places = {dram}}, TS_EINVAL, "async_embedding sends all rows ahead");
  expect_error("full in a lookup ahead", (job_plan){.ranks = 4, .empty = true, .more = "ranks_ahead=rows", .places = {dram, dram, tinier}, .kinds = 3}, TS_EFULL, "Rank 2 of 4: ");
  expect_error("filter", (job_plan){.ranks = 2, .more = "table.C1.admission=bloom table.C1.admission.frequency=2 table.C1.admission.keys=99", .places = {dram}}, TS_EINVAL, "\"C1\" has admission \"bloom\"");
  expect_error("dates ahead", (job_plan){.ranks = 2, .more = "expire.steps=5 ranks_ahead=rows", .places = {dram}}, TS_EINVAL, "has option \"expire.steps\"");
  expect_error("three ranks", (job_plan){.ranks = 3, .places = {dram}}, TS_EINVAL, "3 ranks train");
  expect_error("no trainer", (job_plan){.ranks = 2, .servers = 2, .places = {dram}}, TS_EINVAL, "one must train");
}

/* One rank's call is cancelled, and all end after the step that was under way. */
static void a_cancelled_rank_ends_all(void) {
  expect_error("cancelled", (job_plan){.ranks = 4, .cancelled = true, .places = {dram}}, TS_ECANCELLED,
               "Training was cancelled by rank 3 of 4 after 1 of 30 steps");
  expect_error("cancelled server", (job_plan){.ranks = 3, .servers = 1, .more = "ranks_ahead=rows", .cancelled = true, .places = {dram}}, TS_ECANCELLED,
               "Training was cancelled by rank 2 of 3 after 1 of 30 steps");
  expect_error("filling", (job_plan){.ranks = 4, .cancelled = true, .fills = true, .places = {dram}}, TS_ECANCELLED,
               "Rank 3 of 4: Filling the tables was cancelled");
  expect_error("scores", (job_plan){.ranks = 2, .cancelled = true, .scores = true, .places = {dram}}, TS_ECANCELLED,
               "The evaluation was cancelled by rank 1 of 2");
}

/* A rank that is gone in the middle: the others' messages end, and say so. */
typedef struct leaver {
  memory_job *job;
  uint32_t number;
  int32_t status;
  char text[512];
} leaver;

static void *leave(void *argument) {
  leaver *l = argument;
  const ts_ranks_ops ops = memory_ops(l->job, l->number);
  ts_ranks *ranks;
  uint64_t all[4], mine = l->number;
  CHECK(ts_ranks_make(&ops, 0, &ranks, (ts_err){l->text, sizeof l->text}) == TS_OK);
  if (l->number == 2) ts_ranks_abort(ranks, 1);
  else l->status = ts_ranks_gather(ranks, &mine, sizeof mine, all, (ts_err){l->text, sizeof l->text});
  ts_ranks_close(ranks);
  return NULL;
}

static void a_rank_that_is_gone(void) {
  memory_job job;
  leaver ranks[4];
  pthread_t threads[4];
  memory_start(&job, 4);
  for (uint32_t r = 0; r < 4; r++) {
    ranks[r] = (leaver){.job = &job, .number = r};
    pthread_create(&threads[r], NULL, leave, &ranks[r]);
  }
  for (uint32_t r = 0; r < 4; r++) pthread_join(threads[r], NULL);
  for (uint32_t r = 0; r < 4; r++)
    CHECK_MSG(r == 2 || (ranks[r].status == TS_EINTERNAL && strstr(ranks[r].text, "a rank is gone (1)") != NULL), "rank %u: %s", r,
              ranks[r].text);
  memory_end(&job);
}

int main(int argc, char **argv) {
  const uint32_t steps = argc > 1 ? (uint32_t)atoi(argv[1]) : getenv("TIERSTORE_ROUNDS") != NULL ? 300 : 12;
  make_data();
  one_step_is_that_of_one_process();
  what_comes_ahead();
  counts_are_those_of_one_process();
  any_number_of_ranks(steps);
  any_threads_and_messages(steps);
  any_tiers(steps);
  on_a_device(steps);
  failures_reach_all();
  a_cancelled_rank_ends_all();
  a_rank_that_is_gone();
  remove_folder();
  return test_result();
}
