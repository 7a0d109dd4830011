/* update.h - one update under way: update.c collects its keys and makes their rows, step.c steps them. */
#ifndef TS_STORE_UPDATE_H
#define TS_STORE_UPDATE_H

#include "store/store.h"

#include "kernels/gather.h"

typedef struct update {
  ts_table *table;
  ts_work *work;
  ts_optimizer_call call;
  /* The batch: gradients[i * stride ..) of keys[i]; or, of bags, what spreads them a block at a time. */
  const int64_t *keys;
  uint64_t n;
  const float *gradients;
  uint64_t stride; /* floats from one gradient to the next */
  const ts_bags *bags; /* at the first key */
  uint32_t turn;       /* the shard to begin with */
  bool plain;          /* rows of the first tier change in place, without a question */
  uint64_t changes[TS_MAX_SHARDS]; /* of each shard's index, when the locations in work were found */
  bool fetched;        /* the records of all keys are read, and in the list of their table */
  uint32_t absent;     /* keys without a row in memory, in work->picked */
  uint64_t below;      /* rows that stepped in a lower memory tier */
  uint64_t stepped;    /* rows that stepped below all memory */
} update;

/* ---- update.c ---- */

/* Moves the absent keys of the work to its front; order and locations are no longer those of the keys. */
void ts_update_to_front(update *u);
/* The first `count` keys of the work, as many at a time as are staged: brings their rows up or makes them; with `call`,
 * steps those that have a row where they are. */
int32_t ts_update_bring(update *u, uint32_t count, const ts_optimizer_call *call, ts_err err);

/* ---- step.c ---- */

/* Finds the rows of the work's keys, which are in order by shard, without a lock. Errors: those of a device whose rows may have
 * expired. */
int32_t ts_update_find(update *u, ts_err err);
/* Steps the rows of all keys of the work, which were found. */
int32_t ts_update_step(update *u, ts_err err);

#endif
