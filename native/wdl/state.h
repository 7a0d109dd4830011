/* state.h - what a trainer is at one moment beside the rows of its tables: named bytes, as a checkpoint keeps them.
 *
 * The state is copied between two steps, so training may go on at once. What a trainer that takes it up must have in common
 * with the one it is of stands in it as text ("options"); what leaves results as they are (threads, executor, stage, memory,
 * fusion of embeddings) does not, nor what belongs to the tables, which the store looks after. */
#ifndef TS_WDL_STATE_H
#define TS_WDL_STATE_H

#include "base/named.h"
#include "wdl/trainer.h"

/* Copies the state of a trainer that no call works on; ts_named_free frees it. Errors: TS_ENOMEM. */
int32_t ts_trainer_save_state(ts_trainer *trainer, ts_named *out, ts_err err);

/* Whether a state can be taken up; changes nothing. Errors: TS_EINVAL naming the first option that differs, with both values;
 * TS_EFORMAT: no whole state, or of another version of its form. */
int32_t ts_trainer_check_state(ts_trainer *trainer, const ts_named *state, ts_err err);
/* Checks it and takes it up: from here on the trainer is the one that was saved. Errors: as ts_trainer_check_state, and the
 * trainer is as before. */
int32_t ts_trainer_load_state(ts_trainer *trainer, const ts_named *state, ts_err err);

/* Of a trainer on a store that was opened at a restore point: takes the trainer's part of that up. Errors: as
 * ts_trainer_check_state; TS_EINVAL (the point is one of a store without a trainer, or the store has been used since). */
int32_t ts_trainer_take_up(ts_trainer *trainer, ts_err err);

#endif
