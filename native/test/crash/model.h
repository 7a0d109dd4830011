/* model.h - the smallest thing that has checkpoints: tables of keys with rows and with counts of admission, a Bloom filter, named
 * bytes. It changes while a checkpoint of it is written, as a store does, and is restored as one: through the files' own writer,
 * reader and merge. What it should be is one digest. */
#ifndef TS_TEST_CRASH_MODEL_H
#define TS_TEST_CRASH_MODEL_H

#include "checkpoint/file.h"

#define MODEL_TABLES 2u
#define MODEL_KEYS 96u
#define MODEL_ROW 24u
#define MODEL_SLOTS_LOG2 6u
#define MODEL_STATE 300u

typedef struct model_cell {
  uint32_t what; /* ts_before_what */
  uint32_t waiting;
  uint64_t step;
  unsigned char row[MODEL_ROW];
} model_cell;

typedef struct model {
  uint64_t random; /* state of its random numbers */
  uint64_t step;
  model_cell cells[MODEL_TABLES][MODEL_KEYS];
  uint64_t changed[MODEL_TABLES]; /* since the last checkpoint: a bit a slot */
  uint64_t filter[8];
  unsigned char state[MODEL_STATE];
  ts_checkpoint_origin origin;
} model;

void model_begin(model *m, uint64_t seed);
uint64_t model_random(model *m, uint64_t below);
/* Changes, creates and removes some rows and counts. */
void model_train(model *m);
uint64_t model_digest(const model *m);

/* A checkpoint of what the model is now; it goes on changing while that is written. before_commit (NULL: nothing) is called when
 * all is written, with the digest of what the checkpoint has. After a failure its changes go to the next delta. */
int32_t model_checkpoint(model *m, const ts_disk_ops *disk, const char *path, bool delta,
                         void (*before_commit)(void *context, uint64_t digest), void *context, ts_err err);
/* What checkpoint `number` (0: the newest) has; the random numbers stay. Errors: as the reader's; the model is then as it was. */
int32_t model_restore(model *m, const ts_disk_ops *disk, const char *path, uint32_t number, ts_err err);

#endif
