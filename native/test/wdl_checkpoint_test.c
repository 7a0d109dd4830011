/* Checkpoints of trainers: cut from one that trains on, restored on every other storage type, and both go on alike to the bit;
 * chains of deltas with admission, expiry and records; what a restore refuses. */
#include "test/wdl_fixture.h"

#include "store/statistics.h"

#include <ftw.h>
#include <pthread.h>

typedef struct kind {
  const char *storage, *pmem, *size, *size_counts;
} kind;

static const kind DRAM = {"DRAM", NULL, "", "all"};
/* First tiers that hold a part of the rows. */
static const kind kinds[] = {{"DRAM", NULL, "", "all"},
                             {"PMEM_LIBPMEM", NULL, "67108864", "all"},
                             {"PMEM_MEMKIND", NULL, "67108864", "all"},
                             {"PMEM_MBIND", NULL, "67108864", "all"},
                             {"SSDHASH", NULL, "67108864", "rows"},
                             {"LEVELDB", NULL, "67108864", "rows"},
                             {"DRAM_PMEM", "libpmem", "65536,67108864", "rows"},
                             {"DRAM_SSDHASH", NULL, "65536,67108864", "rows"},
                             {"DRAM_LEVELDB", NULL, "65536,67108864", "rows"},
                             {"DRAM_PMEM_SSDHASH", "libpmem", "65536,131072,67108864", "rows"},
                             {"DRAM_PMEM_LEVELDB", "libpmem", "65536,131072,67108864", "rows"}};

static bool open_both(both *b, const kind *k, const char *shards, const char *more) {
  *b = (both){0};
  ts_config *config = options("storage", k->storage, "seed", "5", "shards", shards, "size", k->size, "size_counts",
                              k->size_counts, "track_changes", "1", NULL);
  if (strcmp(k->storage, "DRAM") != 0) ts_config_set(config, "path", folder, NULL, 0);
  if (k->pmem != NULL) ts_config_set(config, "pmem", k->pmem, NULL, 0);
  if (strcmp(k->storage, "PMEM_MBIND") == 0) ts_config_set(config, "pmem_nodes", "0", NULL, 0);
  int32_t status = ts_store_open(config, &b->store, message, sizeof message);
  ts_config_free(config);
  if (status == TS_EUNAVAILABLE) SKIP("wdl_checkpoint_test", "%s: %s", k->storage, message);
  else CHECK_MSG(status == TS_OK, "%s: %s", k->storage, message);
  if (status != TS_OK) return false;
  config = options("data", in_folder("train.cache"), "batch", "100", "hidden", "24,9", "dim", "4", "seed", "1", "wide_buckets",
                   "300", "deep_optimizer", "adam", NULL);
  set_pairs(config, more);
  status = ts_trainer_open(b->store, config, &b->trainer, message, sizeof message);
  CHECK_MSG(status == TS_OK, "%s, %s: %s", k->storage, more, message);
  ts_config_free(config);
  return status == TS_OK;
}

static ts_checkpoint *begin(const both *b, const char *chain, const char *which) {
  ts_checkpoint *c = NULL;
  ts_config *config = options("path", chain, "kind", which, NULL);
  const int32_t status = ts_trainer_checkpoint_begin(b->trainer, config, &c, message, sizeof message);
  CHECK_MSG(status == TS_OK, "%s", message);
  ts_config_free(config);
  return c;
}

static void *write_it(void *checkpoint) {
  char text[512] = "";
  CHECK_MSG(ts_checkpoint_write(checkpoint, NULL, text, sizeof text) == TS_OK, "%s", text);
  return NULL;
}

/* Cuts, and trains on while it is written; the loss of that. */
static double train_beside(const both *b, const char *chain, const char *which, uint64_t steps) {
  ts_checkpoint *c = begin(b, chain, which);
  if (c == NULL) return 0;
  pthread_t writer;
  CHECK(pthread_create(&writer, NULL, write_it, c) == 0);
  const double loss = train_both(b, steps);
  pthread_join(writer, NULL);
  CHECK(ts_checkpoint_close(c) == TS_OK);
  return loss;
}

static int32_t restore(const both *b, const char *chain, const char *number) {
  ts_config *config = options("path", chain, "number", number, NULL);
  message[0] = '\0';
  const int32_t status = ts_trainer_restore(b->trainer, config, NULL, message, sizeof message);
  ts_config_free(config);
  return status;
}

static int remove_entry(const char *path, const struct stat *status, int type, struct FTW *walk) {
  (void)status, (void)type, (void)walk;
  return remove(path);
}

static void remove_chain(const char *chain) { CHECK(nftw(chain, remove_entry, 16, FTW_DEPTH | FTW_PHYS) == 0); }

/* Of each type into the next one, over another number of shards and of threads. */
static void every_type_into_another(void) {
  const uint32_t count = sizeof kinds / sizeof *kinds;
  both plain;
  if (!open_both(&plain, &DRAM, "1", "")) return;
  train_both(&plain, 12);
  const uint64_t at_cut = digest_of(&plain);
  const double expected = train_both(&plain, 9);
  const uint64_t at_end = digest_of(&plain);
  close_both(&plain);
  for (uint32_t i = 0; i < count; i++) {
    const char *chain = in_folder("chain");
    const kind *from = &kinds[i], *to = &kinds[(i + 4) % count];
    both first, second;
    if (open_both(&first, from, "4", "threads=2")) {
      train_both(&first, 12);
      CHECK_MSG(train_beside(&first, chain, "full", 9) == expected, "%s: the cut changes training", from->storage);
      CHECK_MSG(digest_of(&first) == at_end, "%s: the cut changes training", from->storage);
      close_both(&first);
      if (open_both(&second, to, i % 2 == 0 ? "1" : "16", "threads=1 executor=inline stage=0 embedding_fusion=0")) {
        CHECK_MSG(restore(&second, chain, "0") == TS_OK, "%s to %s: %s", from->storage, to->storage, message);
        CHECK_MSG(digest_of(&second) == at_cut, "%s to %s: another state", from->storage, to->storage);
        const double loss = train_both(&second, 9);
        CHECK_MSG(loss == expected, "%s to %s: loss %.17g, expected %.17g", from->storage, to->storage, loss, expected);
        CHECK_MSG(digest_of(&second) == at_end, "%s to %s: another end", from->storage, to->storage);
      }
      close_both(&second);
      remove_chain(chain);
    }
    close_both(&first);
  }
}

/* Deltas on deltas; each restored again, and the newest once more when the chain is compacted. */
static void chains_of_deltas(const char *more) {
  const char *chain = in_folder("chain");
  both first, second;
  uint64_t digests[5];
  double losses[5];
  if (open_both(&first, &kinds[7], "4", more)) {
    train_both(&first, 5);
    for (uint32_t i = 0; i < 5; i++) {
      digests[i] = digest_of(&first);
      losses[i] = train_beside(&first, chain, i == 0 ? "full" : "delta", 5);
    }
  }
  const uint64_t end = digest_of(&first);
  close_both(&first);
  for (uint32_t i = 0; i < 6; i++) {
    char number[8];
    snprintf(number, sizeof number, "%u", i == 5 ? 0 : i + 1);
    if (i == 5) CHECK_MSG(ts_checkpoint_compact(chain, NULL, message, sizeof message) == TS_OK, "%s", message);
    if (!open_both(&second, i % 2 == 0 ? &DRAM : &kinds[4], "16", more)) continue;
    CHECK_MSG(restore(&second, chain, number) == TS_OK, "%s, %u: %s", more, i, message);
    const uint32_t of = i == 5 ? 4 : i;
    CHECK_MSG(digest_of(&second) == digests[of], "%s, %u: another state", more, i);
    const double loss = train_both(&second, 5);
    CHECK_MSG(loss == losses[of], "%s, %u: loss %.17g, expected %.17g", more, i, loss, losses[of]);
    CHECK_MSG(digest_of(&second) == (of == 4 ? end : digests[of + 1]), "%s, %u: another end", more, i);
    close_both(&second);
  }
  remove_chain(chain);
}

/* What differs is named, and the trainer is as it was; one of a store alone is none of a trainer. */
static void refusals(void) {
  const char *chain = in_folder("chain"), *alone = in_folder("alone");
  both first, second;
  if (!open_both(&first, &DRAM, "1", "")) return;
  train_both(&first, 3);
  train_beside(&first, chain, "full", 1);
  ts_checkpoint *c = NULL;
  ts_config *config = options("path", alone, NULL);
  CHECK(ts_checkpoint_begin(first.store, config, &c, message, sizeof message) == TS_OK);
  ts_config_free(config);
  write_it(c);
  ts_checkpoint_close(c);
  static const struct {
    const char *more, *words;
  } cases[] = {{"batch=101", "option \"batch\" is 101 here and 100 in the checkpoint"},
               {"initializer=glorot", "option \"initializer\""},
               {"expire.steps=5", "expire.steps"}};
  for (uint32_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    if (!open_both(&second, &DRAM, "1", cases[i].more)) continue;
    const uint64_t before = digest_of(&second);
    CHECK(restore(&second, chain, "0") == TS_EINVAL);
    CHECK_MSG(strstr(message, cases[i].words) != NULL, "%s: %s", cases[i].more, message);
    CHECK(digest_of(&second) == before);
    close_both(&second);
  }
  if (open_both(&second, &DRAM, "1", "")) {
    CHECK(restore(&second, alone, "0") == TS_EINVAL);
    CHECK_MSG(strstr(message, "of a store without a trainer") != NULL, "%s", message);
    CHECK(restore(&second, chain, "7") == TS_EINVAL);
    CHECK(restore(&second, in_folder("nothing"), "0") == TS_EIO);
    CHECK(restore(&second, chain, "0") == TS_OK);
    CHECK(restore(&second, chain, "0") == TS_EINVAL); /* it has rows */
  }
  close_both(&second);
  /* A store of the same tables without a trainer takes the rows of one with a trainer. */
  ts_store *store = NULL;
  config = options("storage", "DRAM", "seed", "5", NULL);
  CHECK(ts_store_open(config, &store, message, sizeof message) == TS_OK);
  ts_config_free(config);
  config = options("path", chain, NULL);
  CHECK_MSG(ts_store_restore(store, config, NULL, message, sizeof message) == TS_OK, "%s", message);
  ts_config_free(config);
  uint64_t digest = 0;
  CHECK(ts_store_digest(store, &digest, message, sizeof message) == TS_OK && digest != 0);
  ts_store_close(store);
  CHECK(ts_trainer_checkpoint_begin(NULL, NULL, &c, message, sizeof message) == TS_EINVAL);
  CHECK(ts_trainer_restore(NULL, NULL, NULL, message, sizeof message) == TS_EINVAL);
  close_both(&first);
  remove_chain(chain);
  remove_chain(alone);
}

/* A trainer may be closed before its checkpoint is written; one that is given up leaves nothing. */
static void outlives_the_trainer(void) {
  const char *chain = in_folder("chain");
  both first, second;
  if (!open_both(&first, &DRAM, "1", "")) return;
  train_both(&first, 4);
  ts_checkpoint *c = begin(&first, chain, "full");
  CHECK(ts_checkpoint_close(c) == TS_OK);
  c = begin(&first, chain, "full");
  const uint64_t digest = digest_of(&first);
  train_both(&first, 3);
  ts_trainer_close(first.trainer);
  write_it(c);
  CHECK(ts_checkpoint_close(c) == TS_OK);
  first.trainer = NULL;
  if (open_both(&second, &DRAM, "1", "")) {
    CHECK_MSG(restore(&second, chain, "0") == TS_OK, "%s", message);
    CHECK(digest_of(&second) == digest);
  }
  close_both(&second);
  close_both(&first);
  remove_chain(chain);
}

int main(void) {
  make_folder();
  setenv("PMEM_IS_PMEM_FORCE", "1", 1);
  setenv("MEMKIND_DAX_KMEM_NODES", "0", 1);
  CHECK(run(ts_data_generate, options("out", in_folder("train.cache"), "rows", "4050", "scale", "0.001", NULL), NULL) == TS_OK);
  every_type_into_another();
  chains_of_deltas("model=dlrm bottom=17,8 bf16=rows dropout=0.2");
  chains_of_deltas("admission=counter admission.frequency=1 expire.steps=8 record_frequency=1");
  chains_of_deltas("model=deepfm admission=bloom admission.frequency=1 admission.keys=3000 record_version=1 async_embedding=1");
  refusals();
  outlives_the_trainer();
  remove_folder();
  return test_result();
}
