/* Asynchronous steps over servers: with staleness 0 the bits of ranks in step; otherwise every step is done once, by whoever was
 * free, and misses no more updates than it may; a slow rank takes fewer; failures and cancelled calls reach all ranks, and a rank
 * that is gone ends the others. */
#include "ranks/tickets.h"
#include "test/ranks_job.h"

#define STEPS 12u

/* Numbers behind "name=", and how many there are. */
static uint32_t list(const char *described, const char *name, uint64_t *values) {
  const char *at = strstr(described, name);
  uint32_t count = 0;
  CHECK_MSG(at != NULL, "%s is not described", name);
  if (at == NULL) return 0;
  char *end = NULL;
  for (at += strlen(name); *at != '\n' && *at != '\0'; at = end + (*end == ',')) values[count++] = strtoull(at, &end, 10);
  return count;
}

static uint64_t sum(const uint64_t *values, uint32_t count) {
  uint64_t all = 0;
  for (uint32_t i = 0; i < count; i++) all += values[i];
  return all;
}

static void without_staleness(void) {
  static const struct {
    const char *name, *more, *way;
    uint32_t ranks, servers;
  } cases[] = {
      {"wdl", "", "stage=0", 2, 1},
      {"wdl, four that train", "", "threads=2", 7, 3},
      {"dropout and Adam", "dropout=0.3 deep_optimizer=adam", "executor=cost_model threads=2", 3, 1},
      {"Adagrad that decays", "deep_optimizer=adagrad_decay deep_decay_step=3", "micro_batch=4", 3, 1},
      {"deepfm", "model=deepfm", "ranks_keys=all", 4, 2},
      {"dlrm", "model=dlrm bottom=17,8", "memory_reuse=0", 3, 1},
      {"rows in BF16", "ranks_rows=bf16", "ranks_messages=separate", 4, 2},
      {"tables without keys", "batch=5 deep_optimizer=adam", "ranks_keys=all ranks_messages=separate", 6, 4},
      {"bags", "tables=a:4:mean:C1,C2,C3;b:8:sum:C4,C5;c:4:sqrtn:C6,C20;d:4:none:C7", "embedding_fusion=0", 10, 2},
      {"admission", "admission=counter admission.frequency=4 admission.default_value=0.25 record_frequency=1", "threads=3", 4, 2},
      {"rows that expire", "expire.steps=3 record_version=1 record_frequency=1", "executor=inline", 3, 1},
  };
  for (uint32_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char all[512];
    job_plan plan = {.name = cases[i].name, .ranks = 1, .steps = STEPS, .warmup = i % 3, .more = cases[i].more, .places = {dram}, .empty = i % 2 == 1};
    const outcome one = expect_same(plan, NULL);
    snprintf(all, sizeof all, "ranks_staleness=0 %s %s", cases[i].way, cases[i].more);
    plan.more = all;
    plan.ranks = cases[i].ranks;
    plan.servers = cases[i].servers;
    const outcome first = expect_same(plan, &one);
    uint64_t missed[TS_MOST_STALENESS + 1], batches[8];
    CHECK(list(first.described, "ranks_missed=", missed) == 1 && missed[0] == STEPS + plan.warmup);
    CHECK(list(first.described, "ranks_batches=", batches) == plan.ranks - plan.servers && sum(batches, plan.ranks - plan.servers) == missed[0]);
  }
}

/* Every step is done, and none misses more than it may. Scores and dense weights are the same on all ranks. */
static void within_the_bound(uint32_t rounds) {
  for (uint32_t round = 0; round < rounds; round++) {
    const uint32_t staleness = (uint32_t)(ts_random64(3, 0, round) % 9), trainers = 1u << ts_random64(3, 1, round) % 4;
    const uint32_t servers = 1 + (uint32_t)(ts_random64(3, 2, round) % 3);
    char more[128], name[128];
    snprintf(more, sizeof more, "ranks_staleness=%u deep_optimizer=sgd deep_learning_rate=0.05 %s", staleness, round % 3 == 0 ? "model=dlrm bottom=17,8" : "wide_learning_rate=0.01");
    snprintf(name, sizeof name, "staleness %u, %u train, %u serve", staleness, trainers, servers);
    job_plan plan = {.name = name, .ranks = trainers + servers, .servers = servers, .steps = 2 * STEPS, .more = more, .places = {dram}};
    static outcome results[MOST_RANKS];
    if (round == 0) plan = (job_plan){.name = name, .ranks = 3, .servers = 1, .steps = 2 * STEPS, .more = more, .places = {dram, dram, ssd}, .kinds = 3};
    run_job(&plan, results);
    for (uint32_t r = 0; r < plan.ranks; r++) {
      uint64_t missed[TS_MOST_STALENESS + 1], batches[8];
      CHECK_MSG(results[r].status == TS_OK, "%s, rank %u: %s", name, r, results[r].text);
      if (results[r].status != TS_OK) continue;
      const uint32_t kinds = list(results[r].described, "ranks_missed=", missed), of = list(results[r].described, "ranks_batches=", batches);
      CHECK_MSG(kinds == staleness + 1 && sum(missed, kinds) == plan.steps, "%s, rank %u: %u kinds, %llu steps", name, r, kinds,
                (unsigned long long)sum(missed, kinds));
      CHECK_MSG(of == plan.ranks - plan.servers && sum(batches, of) == plan.steps, "%s, rank %u: %u train", name, r, of);
      CHECK_MSG(results[r].digest == results[0].digest && results[r].loss == results[0].loss, "%s, rank %u: another digest or loss", name, r);
      CHECK_MSG(memcmp(results[r].scores, results[0].scores, sizeof results[r].scores) == 0, "%s, rank %u: other scores", name, r);
      CHECK_MSG(results[r].loss > 0.1 && results[r].loss < 1, "%s: loss %g", name, results[r].loss);
    }
  }
}

/* ---- a slow rank ---- */

#define BOUND 5u
static _Atomic uint32_t posts_of_slow;

/* Rank 1 has asked for its first step and got it: held until all steps are done that may be without it. Rank 0 begins when
 * rank 1 has its step. */
static void hold_rank_1(void *context, uint32_t rank, bool posts) {
  memory_job *job = context;
  while (rank == 0 && posts && posts_of_slow < 2 && !job->aborted) sched_yield();
  if (rank != 1 || !posts || ++posts_of_slow != 2) return;
  const uint64_t *done = &members[2].result.control[TS_CONTROL_DONE];
  for (uint64_t seen = 0; seen < BOUND && !job->aborted; seen = __atomic_load_n(done, __ATOMIC_RELAXED)) {
    CHECK(seen <= BOUND + 1);
    sched_yield();
  }
}

static void a_slow_rank_takes_fewer(void) {
  static outcome results[MOST_RANKS];
  posts_of_slow = 0;
  const job_plan plan = {.name = "slow", .ranks = 3, .servers = 1, .steps = BOUND + 3, .more = "ranks_staleness=5", .places = {dram}, .before = hold_rank_1};
  run_job(&plan, results);
  uint64_t batches[8], missed[TS_MOST_STALENESS + 1];
  for (uint32_t r = 0; r < 3; r++) CHECK_MSG(results[r].status == TS_OK, "slow, rank %u: %s", r, results[r].text);
  CHECK(list(results[0].described, "ranks_batches=", batches) == 2 && list(results[0].described, "ranks_missed=", missed) == BOUND + 1);
  CHECK_MSG(batches[0] >= BOUND && batches[1] >= 1 && batches[0] + batches[1] == plan.steps, "the slow rank took %llu steps, the other one %llu",
            (unsigned long long)batches[1], (unsigned long long)batches[0]);
  CHECK_MSG(missed[1] >= BOUND, "%llu steps missed the update of the slow one", (unsigned long long)missed[1]);
}

/* ---- failures ---- */

static void failures_reach_all(void) {
  expect_error("collocated", (job_plan){.ranks = 2, .more = "ranks_staleness=1", .places = {dram}}, TS_EINVAL, "ranks_staleness is for ranks with servers");
  expect_error("ahead", (job_plan){.ranks = 2, .servers = 1, .more = "ranks_staleness=1 ranks_ahead=keys", .places = {dram}}, TS_EINVAL, "leave ranks_ahead");
  expect_error("stale rows ahead", (job_plan){.ranks = 2, .servers = 1, .more = "ranks_staleness=1 async_embedding=1", .places = {dram}}, TS_EINVAL, "leave ranks_ahead");
  expect_error("other bounds", (job_plan){.ranks = 3, .servers = 1, .more = "ranks_staleness=1", .odd = "ranks_staleness=2", .places = {dram}}, TS_EINVAL,
               "rank 2 has another configuration");
  expect_error("in step and not", (job_plan){.ranks = 3, .servers = 1, .odd = "ranks_staleness=0", .places = {dram}}, TS_EINVAL, "rank 2 has another configuration");
  expect_error("too large", (job_plan){.ranks = 3, .servers = 1, .more = "ranks_staleness=1025", .places = {dram}}, TS_EINVAL, "ranks_staleness");
  expect_error("first server full", (job_plan){.ranks = 3, .servers = 1, .empty = true, .more = "ranks_staleness=2", .places = {dram, dram, tinier}, .kinds = 3},
               TS_EFULL, "Rank 2 of 3: ");
  expect_error("second server full", (job_plan){.ranks = 6, .servers = 2, .empty = true, .more = "ranks_staleness=2", .places = {dram, dram, tinier}, .kinds = 3},
               TS_EFULL, "Rank 5 of 6: ");
  expect_error("diverged", (job_plan){.ranks = 3, .servers = 1, .more = "ranks_staleness=3 model=deepfm deep_optimizer=sgd deep_learning_rate=1e6", .places = {dram}},
               TS_EDIVERGED, "diverged");
  expect_error("cancelled server", (job_plan){.ranks = 3, .servers = 1, .more = "ranks_staleness=2", .cancelled = true, .places = {dram}}, TS_ECANCELLED,
               "Training was cancelled by rank 2 of 3 after ");
  expect_error("cancelled second server", (job_plan){.ranks = 4, .servers = 2, .more = "ranks_staleness=2", .cancelled = true, .places = {dram}}, TS_ECANCELLED,
               "Training was cancelled by rank 3 of 4 after ");
}

/* ---- a rank that is gone ---- */

static uint32_t leaver, messages_left;

static void leave(void *context, uint32_t rank, bool posts) {
  memory_job *job = context;
  (void)posts;
  if (rank == leaver && __atomic_sub_fetch(&messages_left, 1, __ATOMIC_RELAXED) == 0) memory_abort(&job->ranks[rank], 1);
}

static void a_rank_that_is_gone_ends_all(uint32_t rounds) {
  static outcome results[MOST_RANKS];
  for (uint32_t round = 0; round < rounds; round++) {
    leaver = (uint32_t)(ts_random64(9, 0, round) % 5);
    messages_left = 1 + (uint32_t)(ts_random64(9, 1, round) % 60);
    const job_plan plan = {.name = "gone", .ranks = 5, .servers = 1, .steps = 200, .more = "ranks_staleness=4", .places = {dram}, .before = leave};
    run_job(&plan, results);
    for (uint32_t r = 0; r < plan.ranks; r++)
      CHECK_MSG(results[r].status == TS_EINTERNAL && strstr(results[r].text, "a rank is gone") != NULL, "rank %u is gone after some messages, rank %u: %d \"%s\"",
                leaver, r, results[r].status, results[r].text);
  }
}

int main(void) {
  const bool nightly = getenv("TIERSTORE_ROUNDS") != NULL;
  make_data();
  without_staleness();
  within_the_bound(nightly ? 100 : 8);
  a_slow_rank_takes_fewer();
  failures_reach_all();
  a_rank_that_is_gone_ends_all(nightly ? 200 : 8);
  remove_folder();
  return test_result();
}
