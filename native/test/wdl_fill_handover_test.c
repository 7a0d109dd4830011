/* Filling over ranks: a rank that is cancelled ends another one that has not filled its tables yet, and
 * both say the same. Ranks are threads here (memory_ranks.h). */
#include "base/sync_point.h"
#include "test/memory_ranks.h"
#include "test/wdl_fixture.h"

static char train_file[512];

typedef struct filler {
  memory_job *job;
  uint32_t number;
  bool cancelled;
  const char *size;
  int32_t status;
  char text[512];
  uint64_t rows;
} filler;

static void *fill(void *argument) {
  filler *f = argument;
  const ts_err err = {f->text, sizeof f->text};
  const ts_ranks_ops ops = memory_ops(f->job, f->number);
  ts_ranks *ranks = NULL;
  ts_store *store = NULL;
  ts_trainer *trainer = NULL;
  uint64_t control[TS_CONTROL_WORDS] = {[TS_CONTROL_CANCEL] = f->cancelled};
  CHECK_MSG(ts_ranks_make(&ops, 0, &ranks, err) == TS_OK, "%s", f->text);
  ts_config *config = options("storage", "DRAM", "size", f->size, "size_counts", "rows", NULL);
  CHECK_MSG(ts_store_open(config, &store, err.text, err.cap) == TS_OK, "%s", f->text);
  ts_config_free(config);
  config = options("data", train_file, "batch", "100", "hidden", "8", "dim", "4", "wide_buckets", "10", NULL);
  CHECK_MSG(ts_trainer_open_ranks(store, ranks, config, &trainer, err.text, err.cap) == TS_OK, "%s", f->text);
  ts_config_free(config);
  f->status = ts_trainer_fill(trainer, control, err.text, err.cap);
  for (uint32_t table = 0; table < 26; table++) {
    uint64_t rows = 0;
    CHECK(ts_table_rows(store, table, &rows, 1, NULL, 0) == TS_OK);
    f->rows += rows;
  }
  ts_trainer_close(trainer);
  ts_store_close(store);
  ts_ranks_close(ranks);
  return NULL;
}

/* Rank 0 makes no row before it has heard of rank 1's end; rank 1 never comes to that point. */
static void expect_end(filler last, int32_t status, const char *words) {
  memory_job job;
  pthread_t threads[2];
  filler ranks[2] = {{.size = "64000000"}, last};
  memory_start(&job, 2);
  ts_sync_start();
  ts_sync_order("fill:ended", "fill:before_rows");
  for (uint32_t r = 0; r < 2; r++) {
    ranks[r].job = &job;
    ranks[r].number = r;
    pthread_create(&threads[r], NULL, fill, &ranks[r]);
  }
  for (uint32_t r = 0; r < 2; r++) pthread_join(threads[r], NULL);
  CHECK_MSG(ts_sync_stop(), "rank 0 did not hear of it while it filled");
  for (uint32_t r = 0; r < 2; r++)
    CHECK_MSG(ranks[r].status == status && strstr(ranks[r].text, words) != NULL, "rank %u: %d \"%s\"", r, ranks[r].status, ranks[r].text);
  CHECK_MSG(ranks[0].rows == 0, "rank 0 made %llu rows", (unsigned long long)ranks[0].rows);
  memory_end(&job);
}

int main(void) {
  make_folder();
  snprintf(train_file, sizeof train_file, "%s/train.cache", folder);
  CHECK(run(ts_data_generate, options("out", train_file, "rows", "2000", "scale", "0.001", NULL), NULL) == TS_OK);
  expect_end((filler){.cancelled = true, .size = "64000000"}, TS_ECANCELLED, "Rank 1 of 2: Filling the tables was cancelled");
  remove_folder();
  return test_result();
}
