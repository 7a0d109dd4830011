/* Checkpoints over ranks: cut on some number of ranks and tiers while training goes on, restored on others, in the other layout, on
 * one rank alone; rows, dense weights and loss are those of training that never stopped. What fails leaves the checkpoint before.
 * Ranks are threads here (memory_ranks.h). */
#include "test/memory_ranks.h"
#include "test/wdl_fixture.h"

#include <ftw.h>
#include <pthread.h>

static char train_file[512], chain[512];
static const char *tables; /* options of the tables of every trainer */

#define BEFORE 5u /* steps up to the cut, */
#define AFTER 6u  /* and behind it */

typedef struct layout {
  uint32_t ranks, servers;
  const char *storages[3]; /* of ranks 0, 1, 2, 3 = 0, ... */
  const char *more;        /* of the trainer: "key=value key=value" */
} layout;

typedef enum action {
  CUT,     /* trains, cuts, writes beside training, commits */
  RESTORE, /* restores, trains */
  AGAIN,   /* restores, cuts at once and trains beside that */
  CANCEL,  /* restores, cuts; the last rank's write is cancelled */
  DELTA    /* cuts a delta */
} action;

typedef struct member {
  const layout *plan;
  action action;
  memory_job *job;
  uint32_t number;
  int32_t status;
  char text[512];
  uint64_t at_cut, at_end;
  double loss;
} member;

typedef struct writing {
  ts_checkpoint *checkpoint;
  uint64_t control[TS_CONTROL_WORDS];
} writing;

static void *write_it(void *argument) {
  writing *w = argument;
  ts_checkpoint_write(w->checkpoint, w->control, NULL, 0); /* the commit tells what came of it */
  return NULL;
}

static int32_t open_store(const member *m, ts_store **store, char *text, uint32_t cap) {
  const layout *l = m->plan;
  uint32_t kinds = 0;
  while (kinds < 3 && l->storages[kinds] != NULL) kinds++;
  const char *storage = l->storages[m->number % kinds];
  const char *size = strchr(storage, '_') == NULL ? "64000000" : "60000,64000000";
  ts_config *config = options("storage", storage, "size", size, "size_counts", "rows", "seed", "5", "path", folder, "track_changes", "1", NULL);
  if (strstr(storage, "PMEM") != NULL) ts_config_set(config, "pmem", "libpmem", NULL, 0);
  const int32_t status = ts_store_open(config, store, text, cap);
  ts_config_free(config);
  return status;
}

static int32_t restore(ts_trainer *t, char *text, uint32_t cap) {
  ts_config *config = options("path", chain, NULL);
  const int32_t status = ts_trainer_restore(t, config, NULL, text, cap);
  ts_config_free(config);
  return status;
}

static int32_t cut_and_train(member *m, ts_trainer *t) {
  ts_checkpoint *c = NULL;
  ts_config *config = options("path", chain, "kind", m->action == DELTA ? "delta" : "auto", NULL);
  int32_t status = ts_trainer_checkpoint_begin(t, config, &c, m->text, sizeof m->text);
  ts_config_free(config);
  if (status != TS_OK) return status;
  writing w = {.checkpoint = c};
  w.control[TS_CONTROL_CANCEL] = m->action == CANCEL && m->number + 1 == m->plan->ranks;
  pthread_t writer;
  if (pthread_create(&writer, NULL, write_it, &w) != 0) abort();
  status = ts_trainer_train(t, 0, AFTER, NULL, NULL, &m->loss, NULL, m->text, sizeof m->text);
  pthread_join(writer, NULL);
  if (status == TS_OK) status = ts_trainer_checkpoint_commit(t, c, m->text, sizeof m->text);
  ts_checkpoint_close(c);
  return status;
}

static int32_t work(member *m, ts_trainer *t) {
  int32_t status;
  if (m->action == CUT || m->action == DELTA)
    status = ts_trainer_train(t, 0, BEFORE, NULL, NULL, NULL, NULL, m->text, sizeof m->text);
  else
    status = restore(t, m->text, sizeof m->text);
  if (status == TS_OK) status = ts_trainer_digest(t, &m->at_cut, m->text, sizeof m->text);
  if (status == TS_OK && m->action == RESTORE)
    status = ts_trainer_train(t, 0, AFTER, NULL, NULL, &m->loss, NULL, m->text, sizeof m->text);
  else if (status == TS_OK)
    status = cut_and_train(m, t);
  return status == TS_OK ? ts_trainer_digest(t, &m->at_end, m->text, sizeof m->text) : status;
}

static void *run_rank(void *argument) {
  member *m = argument;
  const ts_ranks_ops ops = memory_ops(m->job, m->number);
  ts_ranks *ranks = NULL;
  ts_store *store = NULL;
  ts_trainer *trainer = NULL;
  m->status = ts_ranks_make(&ops, m->plan->servers, &ranks, (ts_err){m->text, sizeof m->text});
  if (m->status == TS_OK && (m->status = open_store(m, &store, m->text, sizeof m->text)) != TS_OK) ts_ranks_abort(ranks, 1);
  if (m->status == TS_OK) {
    ts_config *config = options("data", train_file, "batch", "203", "hidden", "24,9", "dim", "4", "seed", "1", "wide_buckets", "300",
                                "deep_optimizer", "adam", "embedding_optimizer", "adam", NULL);
    /* Rows that know steps are not sent ahead. */
    const bool dated = strstr(tables, "expire") != NULL;
    char text[256], *rest = text;
    snprintf(text, sizeof text, "%s %s", m->plan->more == NULL || dated ? "" : m->plan->more, tables);
    for (char *pair; (pair = strtok_r(rest, " ", &rest)) != NULL;) {
      char *equals = strchr(pair, '=');
      *equals = '\0';
      ts_config_set(config, pair, equals + 1, NULL, 0);
    }
    m->status = ts_trainer_open_ranks(store, ranks, config, &trainer, m->text, sizeof m->text);
    ts_config_free(config);
  }
  if (m->status == TS_OK) m->status = work(m, trainer);
  ts_trainer_close(trainer);
  ts_store_close(store);
  ts_ranks_close(ranks);
  return NULL;
}

static member members[MOST_RANKS];

static void run_job(const layout *plan, action what) {
  static memory_job job;
  pthread_t threads[MOST_RANKS];
  memory_start(&job, plan->ranks);
  for (uint32_t r = 0; r < plan->ranks; r++) {
    members[r] = (member){.plan = plan, .action = what, .job = &job, .number = r};
    pthread_create(&threads[r], NULL, run_rank, &members[r]);
  }
  for (uint32_t r = 0; r < plan->ranks; r++) pthread_join(threads[r], NULL);
  memory_end(&job);
}

static int remove_entry(const char *path, const struct stat *status, int type, struct FTW *walk) {
  (void)status, (void)type, (void)walk;
  return remove(path);
}

static void remove_chain(void) { nftw(chain, remove_entry, 16, FTW_DEPTH | FTW_PHYS); }

static member expected;

static void expect_same(const layout *plan, action what, const char *name) {
  run_job(plan, what);
  for (uint32_t r = 0; r < plan->ranks; r++) {
    const member *m = &members[r];
    CHECK_MSG(m->status == TS_OK, "%s, rank %u of %u: %s", name, r, plan->ranks, m->text);
    if (m->status != TS_OK) continue;
    CHECK_MSG(m->at_cut == expected.at_cut, "%s, rank %u of %u, %u servers: another state", name, r, plan->ranks, plan->servers);
    CHECK_MSG(m->loss == expected.loss, "%s, rank %u of %u: loss %.17g, expected %.17g", name, r, plan->ranks, m->loss, expected.loss);
    CHECK_MSG(m->at_end == expected.at_end, "%s, rank %u of %u, %u servers: another end", name, r, plan->ranks, plan->servers);
  }
}

static void expect_error(const layout *plan, action what, int32_t status, const char *words) {
  run_job(plan, what);
  for (uint32_t r = 0; r < plan->ranks; r++)
    CHECK_MSG(members[r].status == status && strstr(members[r].text, words) != NULL, "rank %u: status %d, \"%s\", expected \"%s\"", r,
              members[r].status, members[r].text, words);
}

static int32_t verify(void) {
  message[0] = '\0';
  return ts_checkpoint_verify(chain, NULL, message, sizeof message);
}

static const layout alone = {.ranks = 1, .storages = {"DRAM"}}, two = {.ranks = 2, .storages = {"DRAM"}};
/* Each into the next. */
static const layout layouts[] = {{.ranks = 2, .storages = {"DRAM"}},
                                 {.ranks = 4, .servers = 2, .storages = {"DRAM", "DRAM_SSDHASH"}},
                                 {.ranks = 8, .storages = {"DRAM_SSDHASH", "DRAM", "DRAM_PMEM"}, .more = "ranks_ahead=rows"},
                                 {.ranks = 1, .storages = {"DRAM_PMEM"}},
                                 {.ranks = 4, .storages = {"SSDHASH", "DRAM"}, .more = "threads=2 ranks_messages=separate"},
                                 {.ranks = 2, .servers = 1, .storages = {"DRAM"}}};

static void any_layout_into_another(void) {
  const uint32_t count = sizeof layouts / sizeof *layouts;
  for (uint32_t i = 0; i < count; i++) {
    remove_chain();
    expect_same(&layouts[i], CUT, "cut");
    CHECK_MSG(verify() == TS_OK, "%s", message);
    expect_same(&layouts[(i + 1) % count], RESTORE, "restored");
  }
}

/* A job that was restored cuts again; the chain then has both, and what is compacted is the newest. */
static void chains(void) {
  static char text[1 << 18];
  uint64_t needed;
  remove_chain();
  expect_same(&layouts[1], CUT, "cut");
  expect_same(&two, AGAIN, "cut again");
  CHECK(ts_checkpoint_describe(chain, text, sizeof text, &needed, message, sizeof message) == TS_OK);
  CHECK_MSG(strstr(text, "shares=4") != NULL && strstr(text, "shares=2") != NULL && strstr(text, "checkpoint=2") != NULL, "%s", text);
  CHECK_MSG(ts_checkpoint_compact(chain, NULL, message, sizeof message) == TS_OK, "%s", message);
  CHECK(ts_checkpoint_describe(chain, text, sizeof text, &needed, message, sizeof message) == TS_OK);
  CHECK_MSG(strstr(text, "shares=4") == NULL && access(in_folder("chain/00000001.0001.ckpt"), F_OK) != 0, "%s", text);
  expect_same(&layouts[2], RESTORE, "restored after compaction");
}

static void flip(const char *path, long at) {
  FILE *f = fopen(path, "r+b");
  CHECK(f != NULL && fseek(f, at, SEEK_SET) == 0);
  const int byte = fgetc(f);
  fseek(f, at, SEEK_SET);
  fputc(byte ^ 4, f);
  fclose(f);
}

static void failures(void) {
  remove_chain();
  expect_error(&two, DELTA, TS_EUNSUPPORTED, "Rank 0 of 2: Cannot begin a delta");
  CHECK(access(in_folder("chain/00000001.ckpt"), F_OK) != 0);
  expect_error(&two, RESTORE, TS_EIO, "Rank 0 of 2: ");
  expect_same(&two, CUT, "cut");
  expect_error(&layouts[4], CANCEL, TS_ECANCELLED, "Rank 3 of 4: ");
  CHECK_MSG(verify() == TS_OK, "%s", message);
  expect_same(&two, RESTORE, "the one before");
  /* As after a crash between the shares and the manifest: the next writer removes what is left. */
  CHECK(link(in_folder("chain/00000001.0001.ckpt"), in_folder("chain/00000002.0001.ckpt")) == 0);
  expect_same(&two, RESTORE, "beside leftovers");
  expect_same(&two, AGAIN, "over leftovers");
  CHECK_MSG(verify() == TS_OK, "%s", message);

  layout others = two;
  others.more = "dropout=0.5";
  expect_error(&others, RESTORE, TS_EINVAL, "option \"dropout\"");
  char share[600];
  snprintf(share, sizeof share, "%s/00000003.0001.ckpt", chain);
  flip(share, 5000);
  CHECK_MSG(verify() == TS_EFORMAT && strstr(message, "00000003.0001.ckpt") != NULL, "%s", message);
  expect_error(&layouts[1], RESTORE, TS_EFORMAT, "00000003.0001.ckpt");
  flip(share, 5000);
  CHECK(truncate(share, 1000) == 0);
  expect_error(&two, RESTORE, TS_EFORMAT, "truncated");
  CHECK(unlink(share) == 0);
  CHECK_MSG(verify() == TS_EFORMAT && strstr(message, "missing") != NULL, "%s", message);
  expect_error(&two, RESTORE, TS_EFORMAT, "00000003.0001.ckpt is missing");
}

int main(void) {
  setenv("PMEM_IS_PMEM_FORCE", "1", 1);
  make_folder();
  snprintf(train_file, sizeof train_file, "%s", in_folder("train.cache"));
  snprintf(chain, sizeof chain, "%s", in_folder("chain"));
  CHECK(run(ts_data_generate, options("out", train_file, "rows", "3000", "scale", "0.001", NULL), NULL) == TS_OK);
  static const char *const kinds[] = {"admission=counter admission.frequency=3 record_frequency=1",
                                      "admission=counter admission.frequency=2 expire.steps=4 record_version=1", ""};
  for (uint32_t i = 0; i < 3; i++) {
    tables = kinds[i];
    remove_chain();
    run_job(&alone, CUT);
    expected = members[0];
    CHECK_MSG(expected.status == TS_OK, "%s: %s", tables, expected.text);
    any_layout_into_another();
  }
  chains();
  failures();
  remove_chain();
  remove_folder();
  return test_result();
}
