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

int32_t ts_trainer_checkpoint_begin(ts_trainer *t, const ts_config *config, ts_checkpoint **out, char *err_text,
                                    uint32_t err_cap) {
  const ts_err err = {err_text, err_cap};
  if (t == NULL || out == NULL) return ts_fail(err, TS_EINVAL, "Cannot begin a checkpoint: a trainer and a place for it are needed");
  *out = NULL;
  int32_t status = ts_owner_check(&t->owner, "trainer", err);
  if (status != TS_OK) return status;
  saved *s = calloc(1, sizeof *s);
  if (s == NULL) return ts_fail(err, TS_ENOMEM, "Cannot begin a checkpoint: out of memory");
  s->step = t->step;
  status = ts_trainer_save_state(t, &s->state, err);
  if (status == TS_OK) status = ts_checkpoint_begin(t->store, config, out, err_text, err_cap);
  if (status == TS_OK) ts_checkpoint_add_part(*out, (ts_checkpoint_part){s, write_state, free_state});
  else free_state(s);
  return status;
}

int32_t ts_trainer_persist(ts_trainer *t, const ts_config *config, uint64_t *number, char *err_text, uint32_t err_cap) {
  const ts_err err = {err_text, err_cap};
  if (t == NULL) return ts_fail(err, TS_EINVAL, "Cannot make a restore point: the trainer is NULL");
  int32_t status = ts_owner_check(&t->owner, "trainer", err);
  if (status != TS_OK) return status;
  saved *s = calloc(1, sizeof *s);
  if (s == NULL) return ts_fail(err, TS_ENOMEM, "Cannot make a restore point: out of memory");
  s->step = t->step;
  status = ts_trainer_save_state(t, &s->state, err);
  if (status == TS_OK) return ts_points_persist(t->store, config, (ts_checkpoint_part){s, write_state, free_state}, number, err);
  free_state(s);
  return status;
}

/* What is restored with the store. */
typedef struct restoring {
  ts_trainer *trainer;
  ts_named state;
} restoring;

static int32_t check(void *context, ts_checkpoint_reader *reader, ts_err err) {
  restoring *r = context;
  uint64_t blocks;
  if (!ts_manifest_u64(ts_checkpoint_link_manifest(reader, 0), BLOCKS_LINE, &blocks))
    return ts_fail(err, TS_EINVAL, "Cannot restore the trainer: the checkpoint is one of a store without a trainer; restore the store");
  int32_t status = ts_checkpoint_select(reader, 0, err);
  if (status == TS_OK) status = ts_checkpoint_read_state(reader, blocks, &r->state, err);
  return status == TS_OK ? ts_trainer_check_state(r->trainer, &r->state, err) : status;
}

static int32_t load(void *context, ts_err err) {
  const restoring *r = context;
  return ts_trainer_load_state(r->trainer, &r->state, err);
}

int32_t ts_trainer_take_up(ts_trainer *t, ts_err err) {
  restoring r = {.trainer = t};
  int32_t status = ts_points_take_part(t->store, check, &r, err);
  if (status == TS_OK && r.state.bytes != NULL) status = load(&r, err);
  ts_named_free(&r.state);
  return status;
}

int32_t ts_trainer_restore(ts_trainer *t, const ts_config *config, uint64_t *control, char *err_text, uint32_t err_cap) {
  const ts_err err = {err_text, err_cap};
  if (t == NULL) return ts_fail(err, TS_EINVAL, "Cannot restore the trainer: it is NULL");
  int32_t status = ts_owner_check(&t->owner, "trainer", err);
  if (status != TS_OK) return status;
  restoring r = {.trainer = t};
  const ts_restore_part part = {.context = &r, .check = check, .load = load};
  status = ts_checkpoint_restore(t->store, config, &part, control, err);
  ts_named_free(&r.state);
  return status;
}
