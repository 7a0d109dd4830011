/* subject_store.c - a store under the crash lab: tables of rows that change, come and go, before and while checkpoints of them are
 * written, restored by another store. */
#include "checkpoint/tend.h"
#include "store/store.h"
#include "test/config.h"
#include "test/crash/lab.h"

#include <stdlib.h>
#include <string.h>

#define PATH "/chain"
#define KEYS 300u
#define DIM 4u

typedef struct work {
  lab_run *run;
  ts_store *store;
  uint64_t drawn, newest; /* digest of the newest checkpoint, 0: there is none */
  char words[1024];
} work;

#define WORDS(w) (w)->words, sizeof(w)->words

static uint64_t draw(work *w, uint64_t below) { return ts_random64(w->run->seed, 77, w->drawn++) % below; }

static ts_store *open_store(const ts_disk_ops *disk, const char *shards, char *words, uint32_t cap) {
  ts_config *config = CONFIG("storage", "DRAM", "track_changes", "1", "seed", "9", "shards", shards);
  ts_store *store = NULL;
  ts_store_open_on(config, disk, NULL, &store, (ts_err){words, cap});
  ts_config_free(config);
  return store;
}

static bool expected(work *w, const char *what, int32_t status) {
  if (status == TS_OK) return true;
  if (!lab_failed(w->run)) lab_problem(w->run, "%s failed: %s", what, w->words);
  return false;
}

static uint64_t digest_of(work *w) {
  uint64_t digest = 0;
  expected(w, "a digest", ts_store_digest(w->store, &digest, WORDS(w)));
  return digest;
}

static void train(work *w, uint64_t calls) {
  for (; calls > 0; calls--) {
    int64_t keys[8];
    float rows[8 * DIM];
    uint64_t removed;
    for (uint32_t i = 0; i < 8; i++) keys[i] = (int64_t)draw(w, KEYS) - 50;
    for (uint32_t i = 0; i < 8 * DIM; i++) rows[i] = (float)draw(w, 100) / 50 - 1;
    const uint32_t table = (uint32_t)draw(w, 2);
    switch (draw(w, 4)) {
      case 0: expected(w, "a removal", ts_table_remove(w->store, table, keys, 4, &removed, WORDS(w))); break;
      case 1: expected(w, "a lookup", ts_table_lookup(w->store, table, keys, 8, rows, WORDS(w))); break;
      default: expected(w, "an update", ts_table_update(w->store, table, keys, 8, rows, WORDS(w)));
    }
  }
}

static void begin(work *w) {
  w->store = open_store(&w->run->disk.ops, "4", WORDS(w));
  ts_config *first = CONFIG("name", "a", "dim", "4", "optimizer", "adagrad");
  ts_config *second = CONFIG("name", "b", "dim", "4", "optimizer", "adagrad", "admission", "counter", "admission.frequency", "2");
  uint32_t table;
  if (w->store == NULL || ts_table_create(w->store, first, &table, WORDS(w)) != TS_OK ||
      ts_table_create(w->store, second, &table, WORDS(w)) != TS_OK)
    abort();
  ts_config_free(first);
  ts_config_free(second);
  train(w, 20);
}

/* give_up: the cut is closed and nothing written. */
static void checkpoint(work *w, const char *kind, bool give_up) {
  ts_checkpoint *c = NULL;
  ts_config *config = CONFIG("path", PATH, "kind", kind);
  const uint64_t digest = digest_of(w);
  int32_t status = ts_checkpoint_begin(w->store, config, &c, WORDS(w));
  ts_config_free(config);
  if (!expected(w, "a cut", status)) return;
  train(w, draw(w, 4));
  if (!give_up) {
    lab_may_commit(w->run, digest);
    if (expected(w, "a checkpoint", ts_checkpoint_write(c, NULL, WORDS(w)))) {
      lab_acknowledge(w->run, digest);
      w->newest = digest;
    }
  }
  ts_checkpoint_close(c);
}

static int32_t restore(ts_store *store, char *words, uint32_t cap) {
  ts_config *config = CONFIG("path", PATH);
  const int32_t status = ts_store_restore(store, config, NULL, words, cap);
  ts_config_free(config);
  return status;
}

static void restart(work *w) {
  if (w->newest == 0) return;
  ts_store *store = open_store(&w->run->disk.ops, "2", WORDS(w));
  if (store == NULL) abort();
  if (!expected(w, "a restore", restore(store, WORDS(w)))) {
    ts_store_close(store);
    return;
  }
  ts_store_close(w->store);
  w->store = store;
  if (!lab_failed(w->run) && digest_of(w) != w->newest) lab_problem(w->run, "the newest checkpoint was restored to another state");
}

static void run_work(lab_run *run) {
  work *w = calloc(1, sizeof *w);
  if (w == NULL) abort();
  w->run = run;
  begin(w);
  /* D as a delta where there can be one, F full, G given up, C compaction, R restart. */
  char steps[] = "DDDDFGGCR";
  for (uint32_t i = sizeof steps - 2; i > 0; i--) {
    const uint64_t other = draw(w, i + 1);
    const char step = steps[i];
    steps[i] = steps[other];
    steps[other] = step;
  }
  for (const char *step = steps; *step != '\0'; step++) {
    if (*step == 'R') restart(w);
    else if (*step == 'C' && w->newest != 0)
      expected(w, "a compaction", ts_chain_compact(&run->disk.ops, PATH, NULL, (ts_err){WORDS(w)}));
    else if (*step != 'C') checkpoint(w, *step == 'F' ? "full" : "auto", *step == 'G');
    train(w, 3);
  }
  ts_store_close(w->store);
  free(w);
}

static lab_answer open_newest(const ts_disk_ops *disk, uint64_t *digest, ts_err err) {
  ts_store *store = open_store(disk, "1", err.text, err.cap);
  if (store == NULL) return LAB_REFUSED;
  const int32_t status = restore(store, err.text, err.cap);
  lab_answer answer = LAB_REFUSED;
  if (status == TS_OK && ts_store_digest(store, digest, err.text, err.cap) == TS_OK) answer = LAB_STATE;
  else if (strstr(err.text, "there is none") != NULL || strstr(err.text, "No such file or directory") != NULL) answer = LAB_NOTHING;
  ts_store_close(store);
  return answer;
}

const lab_subject lab_store = {"store", run_work, open_newest, NULL, NULL};
