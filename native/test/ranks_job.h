/* ranks_job.h - trains over ranks that are threads (memory_ranks.h), for tests: a job as a plan says, what each rank came to, and
 * what all of them must have in common. */
#ifndef TS_TEST_RANKS_JOB_H
#define TS_TEST_RANKS_JOB_H

#include "test/memory_ranks.h"
#include "test/wdl_fixture.h"

static char train_file[512], test_file[512];

/* What a rank's store is. */
typedef struct place {
  const char *storage, *size;
} place;

static const place dram = {"DRAM", "64000000"}, pmem = {"DRAM_PMEM", "100000,64000000"},
                   ssd = {"DRAM_SSDHASH", "100000,64000000"}, on_device = {"HBM_DRAM", "100000,64000000"}, tiny = {"DRAM", "100000"}, tinier = {"DRAM", "20000"};

typedef struct job_plan {
  const char *name;
  uint32_t ranks, servers, steps;
  bool empty; /* tables are not filled before the first step */
  const char *more; /* "key=value key=value" */
  const char *odd;  /* the same for the last rank alone */
  bool cancelled;   /* the last rank's calls */
  bool scores;      /* that call scores, instead of training */
  bool fills;       /* or fills */
  uint32_t warmup;  /* of the steps */
  void (*started)(uint32_t rank, uint32_t ranks); /* NULL, or called on the thread of each rank before all else */
  void (*before)(void *context, uint32_t rank, bool posts); /* memory_ranks.h; context: the job */
  place places[3];  /* of ranks 0, 1, 2, 3 = 0, ... */
  uint32_t kinds;
} job_plan;

typedef struct outcome {
  int32_t status;
  char text[512];
  uint64_t digest;
  double loss, scores[4];
  uint64_t below; /* rows in the second tier in the end */
  uint64_t control[TS_CONTROL_WORDS];
  char described[8192];
} outcome;

typedef struct member {
  const job_plan *plan;
  memory_job *job;
  uint32_t number;
  outcome result;
} member;

static inline void set_all(ts_config *config, const char *more) {
  char text[1024], *rest = text;
  snprintf(text, sizeof text, "%s", more);
  for (char *pair; (pair = strtok_r(rest, " ", &rest)) != NULL;) {
    char *equals = strchr(pair, '=');
    *equals = '\0';
    ts_config_set(config, pair, equals + 1, NULL, 0);
  }
}

static inline int32_t open_store(const member *m, ts_store **store, outcome *o) {
  const place *p = &m->plan->places[m->plan->kinds == 0 ? 0 : m->number % m->plan->kinds];
  ts_config *config = options("storage", p->storage, "size", p->size, "size_counts", "rows", "seed", "5", "path", folder, NULL);
  if (strstr(p->storage, "PMEM") != NULL) ts_config_set(config, "pmem", "libpmem", NULL, 0);
  if (strncmp(p->storage, "HBM", 3) == 0) ts_config_set(config, "hbm", "opencl", NULL, 0);
  const int32_t status = ts_store_open(config, store, o->text, sizeof o->text);
  ts_config_free(config);
  return status;
}

static inline int32_t train(const member *m, ts_store *store, ts_trainer *t, outcome *o) {
  uint64_t *control = o->control, needed;
  if (m->plan->cancelled && m->number + 1 == m->plan->ranks) control[TS_CONTROL_CANCEL] = 1;
  if (m->plan->cancelled && m->plan->fills) return ts_trainer_fill(t, control, o->text, sizeof o->text);
  if (m->plan->cancelled)
    return m->plan->scores ? ts_trainer_evaluate(t, test_file, 700, o->scores, control, o->text, sizeof o->text)
                           : ts_trainer_train(t, 0, m->plan->steps, NULL, NULL, &o->loss, control, o->text, sizeof o->text);
  int32_t status = m->plan->empty ? TS_OK : ts_trainer_fill(t, NULL, o->text, sizeof o->text);
  if (status == TS_OK)
    status = ts_trainer_train(t, m->plan->warmup, m->plan->steps, NULL, NULL, &o->loss, control, o->text, sizeof o->text);
  if (status == TS_OK) status = ts_trainer_describe(t, o->described, sizeof o->described, &needed);
  if (status == TS_OK)
    status = ts_trainer_evaluate(t, test_file, 700, o->scores, NULL, o->text, sizeof o->text);
  for (uint32_t i = 0; status == TS_OK && i < 26; i++) {
    uint64_t rows[4] = {0};
    if (ts_table_rows(store, i, rows, 4, NULL, 0) == TS_OK) o->below += rows[1];
  }
  return status == TS_OK ? ts_trainer_digest(t, &o->digest, o->text, sizeof o->text) : status;
}

static inline void *run_rank(void *argument) {
  member *m = argument;
  if (m->plan->started != NULL) m->plan->started(m->number, m->plan->ranks);
  outcome *o = &m->result;
  const ts_ranks_ops ops = memory_ops(m->job, m->number);
  ts_ranks *ranks = NULL;
  ts_store *store = NULL;
  ts_trainer *trainer = NULL;
  o->status = ts_ranks_make(&ops, m->plan->servers, &ranks, (ts_err){o->text, sizeof o->text});
  if (o->status == TS_OK && (o->status = open_store(m, &store, o)) != TS_OK) ts_ranks_abort(ranks, 1);
  if (o->status == TS_OK) {
    ts_config *config = options("data", train_file, "batch", "203", "hidden", "24,9", "dim", "4", "seed", "1", "wide_buckets",
                                "300", NULL);
    if (m->plan->more != NULL) set_all(config, m->plan->more);
    if (m->plan->odd != NULL && m->number + 1 == m->plan->ranks) set_all(config, m->plan->odd);
    o->status = ts_trainer_open_ranks(store, ranks, config, &trainer, o->text, sizeof o->text);
    ts_config_free(config);
  }
  if (o->status == TS_OK) o->status = train(m, store, trainer, o);
  ts_trainer_close(trainer);
  ts_store_close(store);
  ts_ranks_close(ranks);
  return NULL;
}

static member members[MOST_RANKS]; /* of the job under way */

/* Runs a job; results[r] is of rank r. */
static inline void run_job(const job_plan *plan, outcome *results) {
  static memory_job job;
  pthread_t threads[MOST_RANKS];
  memory_start(&job, plan->ranks);
  job.before = plan->before;
  job.before_context = &job;
  for (uint32_t r = 0; r < plan->ranks; r++) {
    members[r] = (member){.plan = plan, .job = &job, .number = r};
    pthread_create(&threads[r], NULL, run_rank, &members[r]);
  }
  for (uint32_t r = 0; r < plan->ranks; r++) {
    pthread_join(threads[r], NULL);
    results[r] = members[r].result;
  }
  memory_end(&job);
  CHECK_MSG(job.wrong == 0, "%s: %d messages of another length than expected, or that nobody took", plan->name, job.wrong);
}

/* Every rank has what one rank alone has. */
static inline outcome expect_same(job_plan plan, const outcome *one) {
  outcome results[MOST_RANKS];
  run_job(&plan, results);
  for (uint32_t r = 0; r < plan.ranks; r++) {
    const outcome *o = &results[r];
    CHECK_MSG(o->status == TS_OK, "%s, rank %u of %u: %s", plan.name, r, plan.ranks, o->text);
    const place *p = &plan.places[plan.kinds == 0 ? 0 : r % plan.kinds];
    CHECK_MSG(strcmp(p->storage, "DRAM") == 0 || o->below > 500, "%s, rank %u of %u: %llu rows below the first tier", plan.name, r,
              plan.ranks, (unsigned long long)o->below);
    if (one == NULL || o->status != TS_OK) continue;
    CHECK_MSG(o->digest == one->digest, "%s, rank %u of %u (%u servers): another digest", plan.name, r, plan.ranks, plan.servers);
    CHECK_MSG(o->loss == one->loss, "%s, rank %u of %u: loss %.17g, expected %.17g", plan.name, r, plan.ranks, o->loss, one->loss);
    CHECK_MSG(memcmp(o->scores, one->scores, sizeof o->scores) == 0, "%s, rank %u of %u: AUC %.17g of %g rows, %g unseen, expected %.17g",
              plan.name, r, plan.ranks, o->scores[1], o->scores[2], o->scores[3], one->scores[1]);
  }
  return results[0];
}

static inline uint64_t fact(const char *described, const char *name) {
  const char *at = strstr(described, name);
  CHECK_MSG(at != NULL, "%s is not described", name);
  return at == NULL ? 0 : strtoull(at + strlen(name), NULL, 10);
}

/* All ranks end with the same error. */
static inline void expect_error(const char *name, job_plan plan, int32_t status, const char *words) {
  outcome results[MOST_RANKS];
  plan.name = name;
  if (plan.steps == 0) plan.steps = 30;
  run_job(&plan, results);
  for (uint32_t r = 0; r < plan.ranks; r++)
    CHECK_MSG(results[r].status == status && strstr(results[r].text, words) != NULL, "%s, rank %u: %d \"%s\"", name, r,
              results[r].status, results[r].text);
}

/* The data of all jobs. */
static inline void make_data(void) {
  setenv("PMEM_IS_PMEM_FORCE", "1", 1);
  make_folder();
  snprintf(train_file, sizeof train_file, "%s/train.cache", folder);
  snprintf(test_file, sizeof test_file, "%s/test.cache", folder);
  CHECK(run(ts_data_generate, options("out", train_file, "rows", "6000", "scale", "0.002", NULL), NULL) == TS_OK);
  CHECK(run(ts_data_generate, options("out", test_file, "rows", "900", "scale", "0.002", "split", "test", NULL), NULL) == TS_OK);
}

#endif
