/* Chains looked after: each flipped bit is named, a compacted chain says what the chain said, and nothing is read that is not whole. */
#include "check.h"
#include "checkpoint/tend.h"
#include "test/crash/disk.h"
#include "test/crash/model.h"

#include <stdlib.h>
#include <string.h>

#define PATH "/chain"

static char words[2048];
static const ts_err err = {words, sizeof words};

/* A chain of a full checkpoint and `deltas` deltas; digests[i]: of number i + 1. */
static void build(lab_disk *disk, model *m, uint64_t seed, uint32_t deltas, uint64_t *digests) {
  lab_disk_begin(disk);
  model_begin(m, seed);
  for (uint32_t i = 0; i <= deltas; i++) {
    digests[i] = model_digest(m);
    CHECK_MSG(model_checkpoint(m, &disk->ops, PATH, i > 0, NULL, NULL, err) == TS_OK, "%s", words);
    model_train(m);
  }
}

static void chains_restore(void) {
  for (uint64_t seed = 0; seed < 200; seed++) {
    lab_disk disk;
    model m, back = {0};
    uint64_t digests[6];
    build(&disk, &m, seed, 5, digests);
    for (uint32_t i = 0; i < 6; i++) {
      CHECK_MSG(model_restore(&back, &disk.ops, PATH, i + 1, err) == TS_OK, "%s", words);
      CHECK_MSG(model_digest(&back) == digests[i], "seed %llu, checkpoint %u", (unsigned long long)seed, i + 1);
    }
    CHECK_MSG(ts_chain_verify(&disk.ops, PATH, NULL, err) == TS_OK, "%s", words);
    lab_disk_end(&disk);
  }
}

static void chains_compact(void) {
  for (uint64_t seed = 0; seed < 200; seed++) {
    lab_disk disk;
    model m, back = {0};
    uint64_t digests[4], control[TS_CONTROL_WORDS] = {0};
    build(&disk, &m, seed, 3, digests);
    CHECK_MSG(ts_chain_compact(&disk.ops, PATH, control, err) == TS_OK, "%s", words);
    CHECK_MSG(ts_chain_compact(&disk.ops, PATH, NULL, err) == TS_OK, "%s", words);
    CHECK(control[TS_CONTROL_DONE] > 0 && control[TS_CONTROL_DONE] <= control[TS_CONTROL_TOTAL]);
    CHECK(model_restore(&back, &disk.ops, PATH, 0, err) == TS_OK && model_digest(&back) == digests[3]);
    CHECK(back.origin.number == 4 && memcmp(back.origin.id, m.origin.id, sizeof m.origin.id) == 0);
    CHECK(lab_disk_files(&disk) == 2);
    CHECK_MSG(ts_chain_verify(&disk.ops, PATH, NULL, err) == TS_OK, "%s", words);
    /* The store that wrote the chain goes on from it. */
    const uint64_t next = model_digest(&m);
    CHECK_MSG(model_checkpoint(&m, &disk.ops, PATH, true, NULL, NULL, err) == TS_OK, "%s", words);
    CHECK(model_restore(&back, &disk.ops, PATH, 0, err) == TS_OK && model_digest(&back) == next);
    lab_disk_end(&disk);
  }
  lab_disk disk;
  lab_disk_begin(&disk);
  CHECK(ts_chain_compact(&disk.ops, PATH, NULL, err) == TS_EINVAL);
  lab_disk_end(&disk);
}

static void cancelled(void) {
  lab_disk disk;
  model m, back = {0};
  uint64_t digests[3], control[TS_CONTROL_WORDS] = {1};
  build(&disk, &m, 1, 2, digests);
  const uint32_t files = lab_disk_files(&disk);
  CHECK(ts_chain_verify(&disk.ops, PATH, control, err) == TS_ECANCELLED);
  CHECK(ts_chain_compact(&disk.ops, PATH, control, err) == TS_ECANCELLED);
  CHECK(lab_disk_files(&disk) == files);
  CHECK(model_restore(&back, &disk.ops, PATH, 0, err) == TS_OK && model_digest(&back) == digests[2]);
  lab_disk_end(&disk);
}

/* One bit of each byte of each file: the file and the offset are named, and no restore gives anything else than what was. */
static void each_flipped_bit_is_named(void) {
  lab_disk disk;
  model m, back = {0};
  uint64_t digests[3];
  build(&disk, &m, 7, 2, digests);
  for (uint32_t f = 0; f < disk.now.entry_count; f++) {
    const lab_entry *entry = &disk.now.entries[f];
    if (entry->inode < 0) continue;
    lab_inode *inode = &disk.now.inodes[entry->inode];
    for (uint64_t byte = 0; byte < inode->length; byte++) {
      const unsigned char bit = (unsigned char)(1u << (byte * 5 + f) % 8);
      char offset[64];
      inode->bytes[byte] ^= bit;
      snprintf(offset, sizeof offset, "damaged at offset %llu", (unsigned long long)byte);
      CHECK(ts_chain_verify(&disk.ops, PATH, NULL, err) == TS_EFORMAT);
      const char *file = strstr(words, entry->path);
      CHECK_MSG(file != NULL && strstr(words, offset) != NULL, "%s byte %llu: %s", entry->path, (unsigned long long)byte, words);
      for (uint32_t i = 0; i < 3; i++) {
        const int32_t status = model_restore(&back, &disk.ops, PATH, i + 1, err);
        CHECK(status == TS_EFORMAT || (status == TS_OK && model_digest(&back) == digests[i]));
      }
      inode->bytes[byte] ^= bit;
    }
  }
  CHECK_MSG(ts_chain_verify(&disk.ops, PATH, NULL, err) == TS_OK, "%s", words);
  lab_disk_end(&disk);
}

static void described(void) {
  lab_disk disk;
  model m, back = {0};
  uint64_t digests[4];
  build(&disk, &m, 3, 3, digests);
  CHECK(model_restore(&back, &disk.ops, PATH, 2, err) == TS_OK);
  CHECK(model_checkpoint(&back, &disk.ops, PATH, true, NULL, NULL, err) == TS_OK);
  ts_text text = {0};
  CHECK(ts_chain_describe(&disk.ops, PATH, &text, err) == TS_OK);
  CHECK_MSG(strstr(text.bytes, "checkpoint=2\nstate=whole\nlinks=2\nformat=1\nchain=") != NULL, "%s", text.bytes);
  CHECK(strstr(text.bytes, "checkpoint=3\nstate=abandoned\nproblem=") != NULL);
  CHECK(strstr(text.bytes, "checkpoint=5\nstate=whole\nlinks=3\n") != NULL);
  free(text.bytes);
  CHECK_MSG(ts_chain_verify(&disk.ops, PATH, NULL, err) == TS_OK, "%s", words);
  lab_disk_end(&disk);
}

int main(void) {
  chains_restore();
  chains_compact();
  cancelled();
  each_flipped_bit_is_named();
  described();
  return test_result();
}
