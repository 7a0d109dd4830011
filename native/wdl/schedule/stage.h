/* stage.h - batches prepared ahead of their steps by threads of their own.
 *
 * Batches lie in a ring of slots, one more than are prepared ahead for each that a step holds. Threads share the work
 * as a queue: each takes the next step's number, reads that batch into its slot and, where asked, brings its rows into
 * the first tier. A step asks for its batch by number and waits if it is not there; one that nobody has begun it reads
 * itself. So what a step gets does not depend on the stage. */
#ifndef TS_WDL_STAGE_H
#define TS_WDL_STAGE_H

#include "wdl/input/cache_format.h"

#define TS_STAGE_DEPTH 8u /* most batches ahead */
#define TS_STAGE_THREADS 16u
#define TS_NO_TABLE UINT32_MAX

typedef enum ts_stage_what { TS_STAGE_INPUT, TS_STAGE_LOOKUP, TS_STAGE_AUTO, TS_STAGE_NOTHING } ts_stage_what;
extern const char *const ts_stage_names[]; /* input, lookup, auto, nothing */

/* One batch, column by column, `batch` apart. */
typedef struct ts_batch {
  uint64_t step;
  float *labels, *numerics;
  int64_t *keys;
  int32_t status; /* of reading it */
  char message[512];
} ts_batch;

typedef struct ts_stage_options {
  uint32_t depth; /* 0: every batch is read when it is asked for */
  uint32_t threads;
  uint32_t held; /* batches that a step holds at a time: 1 or 2 */
  ts_stage_what what;
  bool allocate; /* memory of a batch lives from reading it to giving it back, instead of as long as the stage */
  uint32_t batch;
  uint64_t seed;
  const ts_cache *data;
  ts_store *store;
  const uint32_t *tables; /* of the columns; TS_NO_TABLE: in none */
} ts_stage_options;

typedef struct ts_stage_statistics {
  uint64_t batches; /* that the threads prepared */
  uint64_t hits;    /* of them, those that were ready when their step asked */
  uint64_t
      rows; /* keys whose rows were below the first tier when the stage looked, and were brought up if they exist */
  uint64_t read_ns, lookup_ns; /* work of the threads */
  uint64_t waited_ns;          /* of steps, for batches under way */
} ts_stage_statistics;

typedef struct ts_stage ts_stage;

/* Errors: TS_ENOMEM. */
int32_t ts_stage_create(const ts_stage_options *options, ts_stage **out, ts_err err);
/* Waits for the threads. NULL is accepted. */
void ts_stage_destroy(ts_stage *stage);

/* Steps from `first` to before `end` may be prepared from now on. Nothing is held. */
void ts_stage_begin(ts_stage *stage, uint64_t first, uint64_t end);
/* Stops preparing and forgets what was prepared; waits for what is under way. */
void ts_stage_end(ts_stage *stage);

/* The batch of a step, which is the next that was not asked for; held until it is given back. */
int32_t ts_stage_take(ts_stage *stage, uint64_t step, ts_batch **out, ts_err err);
/* Gives back the batch of the lowest step held. */
void ts_stage_give_back(ts_stage *stage, uint64_t step);

/* auto: tells what a step took. The ways are tried in turn for TS_STAGE_TRIAL steps each, TS_STAGE_ROUNDS times; the
 * one with the least time is kept. Returns the way in use. */
#define TS_STAGE_TRIAL 8u
#define TS_STAGE_ROUNDS 2u
#define TS_STAGE_WAYS 3u /* nothing, input, lookup */
#define TS_STAGE_TRIAL_STEPS (TS_STAGE_WAYS * TS_STAGE_TRIAL * TS_STAGE_ROUNDS)
void ts_stage_tell(ts_stage *stage, uint64_t step, uint64_t ns);
/* What is staged: TS_STAGE_AUTO while it is not decided, TS_STAGE_NOTHING where reading ahead is off. */
ts_stage_what ts_stage_choice(ts_stage *stage);
ts_stage_statistics ts_stage_count(ts_stage *stage);

#endif
