/* state.h - named bytes (base/named.h) as STATE blocks: what a checkpoint keeps beside the rows of a store's tables. */
#ifndef TS_CHECKPOINT_STATE_H
#define TS_CHECKPOINT_STATE_H

#include "base/named.h"
#include "checkpoint/file.h"

/* Appends all pieces, cut into blocks where they are long; *blocks: how many. Errors: as ts_checkpoint_append, TS_ENOMEM. */
int32_t ts_checkpoint_append_state(ts_checkpoint_writer *writer, const ts_named *state, uint64_t *blocks, ts_err err);

/* What the link that is selected has of it: `blocks` STATE blocks, however many others lie between them; none: *out is empty.
 * ts_named_free frees it. Errors: as ts_checkpoint_next; TS_EFORMAT: there are fewer, or they are not what was appended. */
int32_t ts_checkpoint_read_state(ts_checkpoint_reader *reader, uint64_t blocks, ts_named *out, ts_err err);

#endif
