/* rank_checkpoint.c - checkpoints of all ranks: each cuts its rows between the same two calls and writes them as its share; rank 0
 * has the dense weights, which are equal on all that train, and commits the manifest when every share is on the disk. */
#include "checkpoint/checkpoint.h"
#include "store/store.h"
#include "wdl/trainer.h"

#include <stdlib.h>
#include <string.h>

/* Every row must have an owner among the ranks. */
static int32_t check_tables(const ts_trainer *t, ts_err err) {
  for (uint32_t i = 0; i < TS_MAX_TABLES && t->store->tables[i] != NULL; i++) {
    bool ours = false;
    for (uint32_t k = 0; k < t->options.tables.count; k++) ours |= t->tables[k] == i;
    if (!ours)
      return ts_fail(err, TS_EINVAL, "Cannot begin a checkpoint over ranks: table \"%s\" is not the trainer's, so no rank is known to "
                     "have its rows; keep it in another store", t->store->tables[i]->name);
  }
  return TS_OK;
}

int32_t ts_rank_checkpoint_begin(ts_trainer *t, const ts_config *config, int32_t status, ts_checkpoint **out, ts_err err) {
  ts_ranks *ranks = t->over->ranks;
  const uint32_t me = ranks->ops.rank;
  uint32_t number = 0, numbers[TS_MOST_RANKS];
  if (status == TS_OK) status = check_tables(t, err);
  if (status == TS_OK && me == 0) status = ts_checkpoint_begin_share(t->store, config, 0, 0, out, err);
  if (status == TS_OK && me == 0) number = ts_checkpoint_begun_number(*out);
  status = ts_rank_agree(t, status, err);
  if (status == TS_OK) status = ts_ranks_gather(ranks, &number, sizeof number, numbers, err);
  if (status == TS_OK) {
    if (me > 0) status = ts_checkpoint_begin_share(t->store, config, numbers[0], me, out, err);
    status = ts_rank_agree(t, status, err);
  }
  if (status != TS_OK) {
    ts_checkpoint_close(*out);
    *out = NULL;
  }
  return status;
}

/* What a rank tells of its share. Updates are those of an owner: a rank without rows counts none. */
typedef struct told {
  ts_checkpoint_share share;
  uint64_t updates[TS_CATEGORIES];
} told;

static int32_t commit(ts_trainer *t, ts_checkpoint *c, int32_t status, ts_err err) {
  ts_ranks *ranks = t->over->ranks;
  const uint32_t size = ranks->ops.size, tables = t->options.tables.count;
  told mine = {0}, *all = calloc(size, sizeof *all);
  ts_checkpoint_share *shares = calloc(size, sizeof *shares);
  if (status == TS_OK && (all == NULL || shares == NULL)) status = ts_fail(err, TS_ENOMEM, "Cannot commit the checkpoint: out of memory");
  if (status == TS_OK) status = ts_checkpoint_share_written(c, &mine.share, err);
  for (uint32_t i = 0; status == TS_OK && i < tables; i++) mine.updates[i] = ts_checkpoint_table_updates(c, t->tables[i]);
  status = ts_rank_agree(t, status, err);
  if (status == TS_OK) status = ts_ranks_gather(ranks, &mine, sizeof mine, all, err);
  if (status == TS_OK) {
    uint64_t updates[TS_CATEGORIES];
    for (uint32_t i = 0; i < size; i++) shares[i] = all[i].share;
    for (uint32_t i = 0; i < tables; i++) updates[t->tables[i]] = all[ranks->first_owner].updates[i];
    status = ts_checkpoint_commit_shares(c, shares, size, updates, tables, err);
    status = ts_rank_agree(t, status, err);
  }
  free(all);
  free(shares);
  return status;
}

int32_t ts_trainer_checkpoint_commit(ts_trainer *t, ts_checkpoint *c, char *err_text, uint32_t err_cap) {
  char own_text[512];
  const ts_err err = err_text == NULL ? (ts_err){own_text, sizeof own_text} : (ts_err){err_text, err_cap};
  if (t == NULL || c == NULL) return ts_fail(err, TS_EINVAL, "Cannot commit the checkpoint: a trainer and its checkpoint are needed");
  int32_t status = ts_owner_check(&t->owner, "trainer", err);
  if (status != TS_OK) return status;
  const bool written = ts_checkpoint_is_written(c);
  if (!written) status = ts_checkpoint_write(c, NULL, err.text, err.cap);
  if (!ts_trainer_is_one_of_many(t)) return status;
  return commit(t, c, status, err);
}
