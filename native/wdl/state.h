/* state.h - what a trainer is at one moment beside the rows of its tables: a stream of named pieces, as a checkpoint keeps it.
 * docs/formats.md has the form.
 *
 * The state is copied between two steps, so training may go on at once. What a trainer that takes it up must have in common
 * with the one it is of stands in it as text ("options"); what leaves results as they are (threads, executor, stage, memory,
 * fusion of embeddings) does not, nor what belongs to the tables, which the store looks after. */
#ifndef TS_WDL_STATE_H
#define TS_WDL_STATE_H

#include "wdl/trainer.h"

typedef struct ts_trainer_state {
  unsigned char *bytes;
  uint64_t used;
} ts_trainer_state;

/* Copies the state of a trainer that no call works on; ts_trainer_state_free frees it. Errors: TS_ENOMEM. */
int32_t ts_trainer_save_state(ts_trainer *trainer, ts_trainer_state *out, ts_err err);
void ts_trainer_state_free(ts_trainer_state *state);

/* Whether a state can be taken up; changes nothing. Errors: TS_EINVAL naming the first option that differs, with both values;
 * TS_EFORMAT: no whole state, or of another version of its form. */
int32_t ts_trainer_check_state(ts_trainer *trainer, const ts_trainer_state *state, ts_err err);
/* Checks it and takes it up: from here on the trainer is the one that was saved. Errors: as ts_trainer_check_state, and the
 * trainer is as before. */
int32_t ts_trainer_load_state(ts_trainer *trainer, const ts_trainer_state *state, ts_err err);

#endif
