/* One flipped bit anywhere in a chain of checkpoints, a full one, deltas, what compaction made of them, or the shares of ranks: it
 * is missed by the file's name, or it changes nothing. A byte out of ten, one of its bits; in long runs (TIERSTORE_ROUNDS) every bit of every byte. */
#include "checkpoint/file.h"
#include "checkpoint/tend.h"
#include "store/store.h"
#include "test/checkpoint_calls.h"
#include "test/crash/disk.h"

#include <stdlib.h>
#include <string.h>

#define PATH "/chain"
#define DEALT "/dealt"
#define SHARES 3u
#define DIM 2u
#define MOST 40u

static char words[1024];
static const ts_err err = {words, sizeof words};
#define WORDS words, sizeof words

typedef enum form { CHAIN, COMPACTED, IN_SHARES } form;

static lab_disk disk;
static const char *path; /* of what is read */

static ts_store *open_store(void) {
  ts_config *config = CONFIG("storage", "DRAM", "track_changes", "1", "seed", "9", "shards", "1", "eviction_threads", "0");
  ts_store *store = NULL;
  CHECK_MSG(ts_store_open_on(config, &disk.ops, NULL, &store, err) == TS_OK, "%s", words);
  ts_config_free(config);
  return store;
}

static void add_table(ts_store *store, ts_config *config) {
  uint32_t table;
  CHECK_MSG(ts_table_create(store, config, &table, WORDS) == TS_OK, "%s", words);
  ts_config_free(config);
}

static void update(ts_store *store, int64_t first, uint32_t n, float gradient) {
  int64_t keys[MOST];
  float gradients[MOST * DIM];
  for (uint32_t i = 0; i < n; i++) keys[i] = first + i;
  for (uint32_t i = 0; i < n * DIM; i++) gradients[i] = gradient + (float)i / 100;
  for (uint32_t t = 0; t < 3; t++) CHECK_MSG(ts_table_update(store, t, keys, n, gradients, WORDS) == TS_OK, "%s", words);
}

static uint64_t digest(ts_store *store) {
  uint64_t d = 0;
  CHECK_MSG(ts_store_digest(store, &d, WORDS) == TS_OK, "%s", words);
  return d;
}

/* The newest checkpoint's blocks, dealt out to as many files as ranks would have written; nothing else stays. */
static void deal(void) {
  ts_checkpoint_reader *from = NULL;
  ts_checkpoint_writer *to[SHARES];
  ts_checkpoint_share shares[SHARES];
  ts_checkpoint_origin origin = {0};
  ts_checkpoint_block block = {.kind = TS_BLOCK_ROWS};
  CHECK_MSG(ts_checkpoint_reader_open(&disk.ops, PATH, 0, &from, err) == TS_OK, "%s", words);
  CHECK_MSG(ts_checkpoint_writer_open(&disk.ops, DEALT, false, &origin, &to[0], err) == TS_OK, "%s", words);
  for (uint32_t i = 1; i < SHARES; i++)
    CHECK_MSG(ts_checkpoint_share_open(&disk.ops, DEALT, ts_checkpoint_number(to[0]), i, &to[i], err) == TS_OK, "%s", words);
  CHECK(ts_checkpoint_select(from, 0, err) == TS_OK);
  for (uint32_t n = 0; block.kind != TS_BLOCK_END; n++) {
    CHECK_MSG(ts_checkpoint_next(from, &block, err) == TS_OK, "%s", words);
    if (block.kind == TS_BLOCK_END) CHECK_MSG(n >= SHARES, "%u blocks", n);
    else CHECK(ts_checkpoint_append(to[n % SHARES], block.kind, block.table, block.count, block.payload, block.bytes, err) == TS_OK);
  }
  for (uint32_t i = 1; i < SHARES; i++) CHECK_MSG(ts_checkpoint_share_end(to[i], &shares[i], err) == TS_OK, "%s", words);
  CHECK_MSG(ts_checkpoint_add_shares(to[0], shares, SHARES, err) == TS_OK, "%s", words);
  CHECK_MSG(ts_checkpoint_commit(to[0], ts_checkpoint_link_manifest(from, 0), &origin, err) == TS_OK, "%s", words);
  for (uint32_t i = 1; i < SHARES; i++) ts_checkpoint_share_leave(to[i]);
  ts_checkpoint_reader_close(from);
  ts_disk_remove_all(&disk.ops, PATH);
}

/* Rows, keys that wait, a filter; changed rows and removed ones in deltas; one written while the store goes on. Returns the digest of
 * the newest. */
static uint64_t write_chain(form is) {
  lab_disk_begin(&disk);
  path = is == IN_SHARES ? DEALT : PATH;
  ts_store *store = open_store();
  add_table(store, CONFIG("name", "rows", "dim", "2", "optimizer", "adagrad", "record_version", "1"));
  add_table(store, CONFIG("name", "waiting", "dim", "2", "optimizer", "sgd", "admission", "counter", "admission.frequency", "3"));
  add_table(store, CONFIG("name", "filter", "dim", "2", "optimizer", "sgd", "admission", "bloom", "admission.frequency", "2",
                          "admission.keys", "100"));
  uint64_t newest = 0, gone;
  for (uint32_t i = 0; i < (is == IN_SHARES ? 1u : 3u); i++) {
    update(store, 10 * i, 25, 1);
    CHECK_MSG(ts_table_remove(store, 0, (const int64_t[]){10 * i + 1}, 1, &gone, WORDS) == TS_OK && gone == 1, "%s", words);
    CHECK_MSG(ts_store_set_step(store, i + 1, WORDS) == TS_OK, "%s", words);
    newest = digest(store);
    ts_checkpoint *c = NULL;
    ts_config *config = CONFIG("path", PATH, "kind", i == 0 ? "full" : "delta");
    CHECK_MSG(ts_checkpoint_begin(store, config, &c, WORDS) == TS_OK, "%s", words);
    ts_config_free(config);
    update(store, 0, 5, -1); /* beside it: what there was of these keys is told */
    CHECK_MSG(ts_checkpoint_write(c, NULL, WORDS) == TS_OK, "%s", words);
    CHECK(ts_checkpoint_close(c) == TS_OK);
  }
  ts_store_close(store);
  if (is == COMPACTED) CHECK_MSG(ts_chain_compact(&disk.ops, PATH, NULL, err) == TS_OK, "%s", words);
  if (is == IN_SHARES) deal();
  return newest;
}

/* The state that is restored, or 0: it was refused. */
static uint64_t restored(void) {
  ts_store *store = open_store();
  ts_config *config = CONFIG("path", path);
  const uint64_t state = ts_store_restore(store, config, NULL, WORDS) == TS_OK ? digest(store) : 0;
  ts_config_free(config);
  ts_store_close(store);
  return state;
}

static void flips(form is) {
  const uint32_t wanted_files[] = {[CHAIN] = 6, [COMPACTED] = 2, [IN_SHARES] = 1 + SHARES}; /* a manifest and blocks each */
  const bool all = getenv("TIERSTORE_ROUNDS") != NULL;
  const uint64_t wanted = write_chain(is);
  CHECK_MSG(restored() == wanted, "the whole chain: %s", words);
  uint64_t tried = 0, harmless = 0;
  uint32_t files = 0;
  for (uint32_t e = 0; e < disk.now.entry_count; e++) {
    const lab_entry *entry = &disk.now.entries[e];
    if (entry->inode < 0) continue;
    const char *name = strrchr(entry->path, '/') + 1;
    const lab_inode *file = &disk.now.inodes[entry->inode];
    files += file->length > 0;
    for (uint64_t n = 0; n < file->length * 8; n += all ? 1 : 77) {
      unsigned char *byte = &file->bytes[n / 8];
      const unsigned char was = *byte;
      *byte ^= (unsigned char)(1u << n % 8);
      words[0] = '\0';
      const bool passes = ts_chain_verify(&disk.ops, path, NULL, err) == TS_OK;
      if (!passes) CHECK_MSG(strstr(words, name) != NULL, "bit %llu of %s is refused without its name: %s", (unsigned long long)n, name, words);
      /* A restore looks at more than a verification: it is asked where that found nothing, and now and then where it did. */
      words[0] = '\0';
      if (passes || tried % 8 == 0) {
        const uint64_t state = restored();
        CHECK_MSG(state == wanted || (state == 0 && strstr(words, name) != NULL), "bit %llu of %s: %s", (unsigned long long)n, name,
                  state != 0 ? "another state" : words);
        CHECK_MSG(passes || state == 0, "bit %llu of %s is refused by a verification alone", (unsigned long long)n, name);
      }
      harmless += passes;
      tried++;
      *byte = was;
    }
  }
  CHECK_MSG(files == wanted_files[is], "%u files", files);
  CHECK_MSG(harmless == 0, "%llu of %llu bits were not missed", (unsigned long long)harmless, (unsigned long long)tried);
  if (getenv("TIERSTORE_SHOW") != NULL) printf("%u files, %llu bits, %llu harmless\n", files, (unsigned long long)tried, (unsigned long long)harmless);
  CHECK_MSG(restored() == wanted, "the chain as it was: %s", words);
  lab_disk_end(&disk);
}

int main(void) {
  flips(CHAIN);
  flips(COMPACTED);
  flips(IN_SHARES);
  return test_result();
}
