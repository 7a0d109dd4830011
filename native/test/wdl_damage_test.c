/* One flipped bit anywhere in a chain of a trainer's checkpoints (rows, dense weights, state of optimizers, position in the data;
 * full, deltas, compacted): it is missed by the file's name, in verification and in the trainer's restore. A bit of some
 * thousands; in long runs (TIERSTORE_ROUNDS) one of 13. */
#include "checkpoint/tend.h"
#include "store/store.h"
#include "test/crash/disk.h"
#include "test/wdl_fixture.h"

#include <stdlib.h>
#include <string.h>

#define PATH "/chain"
/* Bits from one that is tried to the next in short runs: a prime, so that all bits of a byte come. */
#define STRIDE 2003u
/* Of so many refused bits one is given to a restore, too. */
#define RESTORES 40u

static const ts_err err = {message, sizeof message};
static lab_disk disk;

static both open_trained(void) {
  both t = {0};
  ts_config *config = options("storage", "DRAM", "track_changes", "1", "seed", "5", "shards", "1", "eviction_threads", "0", NULL);
  CHECK_MSG(ts_store_open_on(config, &disk.ops, NULL, &t.store, err) == TS_OK, "%s", message);
  ts_config_free(config);
  config = options("data", in_folder("train.cache"), "batch", "50", "hidden", "4", "dim", "2", "seed", "1", "wide_buckets", "9",
                   "deep_optimizer", "adam", "threads", "1", NULL);
  CHECK_MSG(ts_trainer_open(t.store, config, &t.trainer, message, sizeof message) == TS_OK, "%s", message);
  ts_config_free(config);
  return t;
}

/* A full one and two deltas. Returns the digest of the newest. */
static uint64_t write_chain(bool compacted) {
  lab_disk_begin(&disk);
  both t = open_trained();
  uint64_t newest = 0;
  for (uint32_t i = 0; i < 3; i++) {
    CHECK_MSG(ts_trainer_train(t.trainer, 0, 2, NULL, NULL, NULL, NULL, message, sizeof message) == TS_OK, "%s", message);
    newest = digest_of(&t);
    ts_checkpoint *c = NULL;
    ts_config *config = options("path", PATH, "kind", i == 0 ? "full" : "delta", NULL);
    CHECK_MSG(ts_trainer_checkpoint_begin(t.trainer, config, &c, message, sizeof message) == TS_OK, "%s", message);
    ts_config_free(config);
    CHECK_MSG(ts_checkpoint_write(c, NULL, message, sizeof message) == TS_OK, "%s", message);
    CHECK(ts_checkpoint_close(c) == TS_OK);
  }
  close_both(&t);
  if (compacted) CHECK_MSG(ts_chain_compact(&disk.ops, PATH, NULL, err) == TS_OK, "%s", message);
  return newest;
}

/* The state that is restored, or 0: it was refused. */
static uint64_t restored(void) {
  both t = open_trained();
  ts_config *config = options("path", PATH, NULL);
  message[0] = '\0';
  const uint64_t state = ts_trainer_restore(t.trainer, config, NULL, message, sizeof message) == TS_OK ? digest_of(&t) : 0;
  ts_config_free(config);
  close_both(&t);
  return state;
}

static void flips(bool compacted) {
  const bool all = getenv("TIERSTORE_ROUNDS") != NULL;
  const uint64_t wanted = write_chain(compacted);
  CHECK_MSG(restored() == wanted, "the whole chain: %s", message);
  uint64_t tried = 0, restores = 0;
  for (uint32_t e = 0; e < disk.now.entry_count; e++) {
    const lab_entry *entry = &disk.now.entries[e];
    if (entry->inode < 0) continue;
    const char *name = strrchr(entry->path, '/') + 1;
    const lab_inode *file = &disk.now.inodes[entry->inode];
    /* Every bit of what is short: manifests. */
    for (uint64_t n = 0; n < file->length * 8; n += all ? 13 : file->length < 4096 ? 61 : STRIDE) {
      unsigned char *byte = &file->bytes[n / 8];
      const unsigned char was = *byte;
      *byte ^= (unsigned char)(1u << n % 8);
      message[0] = '\0';
      const bool passes = ts_chain_verify(&disk.ops, PATH, NULL, err) == TS_OK;
      CHECK_MSG(!passes && strstr(message, name) != NULL, "bit %llu of %s: %s", (unsigned long long)n, name, passes ? "not missed" : message);
      if (passes || tried % (all ? 64 * RESTORES : RESTORES) == 0) {
        const uint64_t state = restored();
        CHECK_MSG(state == 0 && strstr(message, name) != NULL, "bit %llu of %s: %s", (unsigned long long)n, name,
                  state == wanted ? "restored all the same" : state != 0 ? "another state" : message);
        restores++;
      }
      tried++;
      *byte = was;
    }
  }
  CHECK_MSG(tried > 100 && restores > 5, "%llu bits, %llu restores", (unsigned long long)tried, (unsigned long long)restores);
  if (getenv("TIERSTORE_SHOW") != NULL) printf("%llu bits, %llu restores\n", (unsigned long long)tried, (unsigned long long)restores);
  CHECK_MSG(restored() == wanted, "the chain as it was: %s", message);
  lab_disk_end(&disk);
}

int main(void) {
  make_folder();
  CHECK(run(ts_data_generate, options("out", in_folder("train.cache"), "rows", "500", "scale", "0.0001", NULL), NULL) == TS_OK);
  flips(false);
  flips(true);
  remove_folder();
  return test_result();
}
