/* checkpoint.c - checkpoints of a trainer: those of its store, with the trainer's state (state.h) in STATE blocks. */
#include "checkpoint/checkpoint.h"
#include "checkpoint/state.h"
#include "wdl/state.h"

#include <stdlib.h>

#define BLOCKS_LINE "state_blocks" /* of the manifest: how many STATE blocks there are */
#define STEP_LINE "trainer_step"   /* steps trained */

/* The state at the cut, until it is written. */
typedef struct saved {
  ts_named state;
  uint64_t step;
} saved;

static int32_t write_state(void *context, ts_checkpoint_writer *writer, ts_manifest *lines, ts_err err) {
  const saved *s = context;
  uint64_t blocks = 0;
  const int32_t status = ts_checkpoint_append_state(writer, &s->state, &blocks, err);
  ts_manifest_put(lines, BLOCKS_LINE, "%llu", (unsigned long long)blocks);
  ts_manifest_put(lines, STEP_LINE, "%llu", (unsigned long long)s->step);
  return status;
}

static void free_state(void *context) {
  saved *s = context;
  ts_named_free(&s->state);
  free(s);
}

/* The state at the cut, as a part of the checkpoint. Errors: TS_ENOMEM. */
static int32_t save(ts_trainer *t, ts_checkpoint_part *out, ts_err err) {
  saved *s = calloc(1, sizeof *s);
  if (s == NULL) return ts_fail(err, TS_ENOMEM, "Cannot begin a checkpoint: out of memory");
  s->step = t->step;
  const int32_t status = ts_trainer_save_state(t, &s->state, err);
  if (status == TS_OK) *out = (ts_checkpoint_part){s, write_state, free_state};
  else free_state(s);
  return status;
}

int32_t ts_trainer_checkpoint_begin(ts_trainer *t, const ts_config *config, ts_checkpoint **out, char *err_text,
                                    uint32_t err_cap) {
  char own_text[512];
  const ts_err err = err_text == NULL ? (ts_err){own_text, sizeof own_text} : (ts_err){err_text, err_cap};
  if (t == NULL || out == NULL) return ts_fail(err, TS_EINVAL, "Cannot begin a checkpoint: a trainer and a place for it are needed");
  *out = NULL;
  int32_t status = ts_owner_check(&t->owner, "trainer", err);
  if (status != TS_OK) return status;
  ts_checkpoint_part part = {0};
  status = !ts_trainer_is_one_of_many(t) || t->over->ranks->ops.rank == 0 ? save(t, &part, err) : TS_OK;
  if (ts_trainer_is_one_of_many(t)) status = ts_rank_checkpoint_begin(t, config, status, out, err);
  else if (status == TS_OK) status = ts_checkpoint_begin(t->store, config, out, err.text, err.cap);
  if (status == TS_OK && part.write != NULL) ts_checkpoint_add_part(*out, part);
  else if (part.free != NULL) part.free(part.context);
  return status;
}

int32_t ts_trainer_persist(ts_trainer *t, const ts_config *config, uint64_t *number, char *err_text, uint32_t err_cap) {
  const ts_err err = {err_text, err_cap};
  if (t == NULL) return ts_fail(err, TS_EINVAL, "Cannot make a restore point: the trainer is NULL");
  int32_t status = ts_owner_check(&t->owner, "trainer", err);
  if (status != TS_OK) return status;
  if (ts_trainer_is_one_of_many(t))
    return ts_fail(err, TS_EUNSUPPORTED, "Cannot make a restore point: over several ranks there are none in place; write checkpoints");
  ts_checkpoint_part part;
  status = save(t, &part, err);
  return status == TS_OK ? ts_points_persist(t->store, config, part, number, err) : status;
}

/* What is restored with the store. */
typedef struct restoring {
  ts_trainer *trainer;
  ts_named state;
  uint64_t which; /* of checkpoints: equal on all ranks */
  bool agreed;
} restoring;

static int32_t check(void *context, ts_checkpoint_reader *reader, ts_err err) {
  restoring *r = context;
  uint64_t blocks;
  if (!ts_manifest_u64(ts_checkpoint_link_manifest(reader, 0), BLOCKS_LINE, &blocks))
    return ts_fail(err, TS_EINVAL, "Cannot restore the trainer: the checkpoint is one of a store without a trainer; restore the store");
  const ts_checkpoint_origin origin = ts_checkpoint_reader_origin(reader);
  r->which = ts_hash_bytes(origin.id, sizeof origin.id, 0);
  int32_t status = ts_checkpoint_select(reader, 0, err);
  if (status == TS_OK) status = ts_checkpoint_read_state(reader, blocks, &r->state, err);
  return status == TS_OK ? ts_trainer_check_state(r->trainer, &r->state, err) : status;
}

/* Over ranks when all of them are so far, or on none. */
static int32_t load(void *context, ts_err err) {
  restoring *r = context;
  const int32_t status = ts_trainer_is_one_of_many(r->trainer) ? ts_rank_agree_about(r->trainer, TS_OK, r->which, "checkpoint", err) : TS_OK;
  r->agreed = true;
  return status == TS_OK ? ts_trainer_load_state(r->trainer, &r->state, err) : status;
}

/* Whether this rank holds a key's row. */
static bool keeps(void *context, uint32_t table, int64_t key) {
  const ts_trainer *t = ((const restoring *)context)->trainer;
  for (uint32_t i = 0; i < t->options.tables.count; i++)
    if (t->tables[i] == table) return ts_ranks_owner(t->over->ranks, i, key) == t->over->ranks->ops.rank;
  return false;
}

int32_t ts_trainer_take_up(ts_trainer *t, ts_err err) {
  restoring r = {.trainer = t};
  int32_t status = ts_points_take_part(t->store, check, &r, err);
  if (status == TS_OK && r.state.bytes != NULL && ts_trainer_is_one_of_many(t))
    status = ts_fail(err, TS_EUNSUPPORTED, "Cannot open trainer over ranks: the store is at a restore point, which is of one process; restore a checkpoint");
  if (status == TS_OK && r.state.bytes != NULL) status = load(&r, err);
  ts_named_free(&r.state);
  return status;
}

int32_t ts_trainer_restore(ts_trainer *t, const ts_config *config, uint64_t *control, char *err_text, uint32_t err_cap) {
  char own_text[512];
  const ts_err err = err_text == NULL ? (ts_err){own_text, sizeof own_text} : (ts_err){err_text, err_cap};
  if (t == NULL) return ts_fail(err, TS_EINVAL, "Cannot restore the trainer: it is NULL");
  int32_t status = ts_owner_check(&t->owner, "trainer", err);
  if (status != TS_OK) return status;
  const bool many = ts_trainer_is_one_of_many(t);
  restoring r = {.trainer = t};
  const ts_restore_part part = {.context = &r, .check = check, .load = load, .keeps = many ? keeps : NULL};
  status = ts_checkpoint_restore(t->store, config, &part, control, err);
  if (many && !r.agreed) status = ts_rank_agree_about(t, status, r.which, "checkpoint", err);
  ts_named_free(&r.state);
  return status;
}
