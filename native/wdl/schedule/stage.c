/* stage.c - the ring of batches and the threads that fill it. */
#include "wdl/schedule/stage.h"

#include <stdlib.h>
#include <string.h>

#include "store/batches.h"
#include "wdl/common/batch_order.h"

#define SLOTS (TS_STAGE_DEPTH + 2u)

const char *const ts_stage_names[] = {"input", "lookup", "auto", "nothing", NULL};

enum { EMPTY, FILLING, READY };

typedef struct slot {
  ts_batch batch;
  int state;
  bool wanted; /* a step waits: enough of bringing rows up */
} slot;

struct ts_stage {
  ts_stage_options options;
  pthread_mutex_t lock;
  pthread_cond_t work, ready;
  pthread_t threads[TS_STAGE_THREADS];
  uint32_t started, slots, under_way;
  bool stop;
  uint64_t next, end; /* the next step to prepare, and where to stop */
  uint64_t oldest;    /* the lowest step that was not given back */
  slot ring[SLOTS];
  ts_stage_statistics statistics;
  /* auto */
  ts_stage_what choice;
  uint64_t trial_start, trial_ns[TS_STAGE_WAYS];
  bool on_trial;
};

static const ts_stage_what ways[TS_STAGE_WAYS] = {TS_STAGE_NOTHING, TS_STAGE_INPUT, TS_STAGE_LOOKUP};

/* What is done ahead for a step; under lock. */
static ts_stage_what way_of(const ts_stage *s, uint64_t step) {
  if (s->options.depth == 0) return TS_STAGE_NOTHING;
  if (s->choice != TS_STAGE_AUTO) return s->choice;
  if (step < s->trial_start || step - s->trial_start >= TS_STAGE_TRIAL_STEPS)
    return TS_STAGE_INPUT; /* the trial is not told of yet */
  return ways[(step - s->trial_start) / TS_STAGE_TRIAL % TS_STAGE_WAYS];
}

static bool allocate(const ts_stage_options *o, ts_batch *b) {
  const uint64_t batch = o->batch;
  b->labels = aligned_alloc(64, TS_ROUND_UP(batch * sizeof(float), 64));
  b->numerics = aligned_alloc(64, TS_ROUND_UP(TS_NUMERICS * batch * sizeof(float), 64));
  b->keys = aligned_alloc(64, TS_ROUND_UP(TS_CATEGORIES * batch * sizeof(int64_t), 64));
  return b->labels != NULL && b->numerics != NULL && b->keys != NULL;
}

static void release(ts_batch *b) {
  free(b->labels);
  free(b->numerics);
  free(b->keys);
  b->labels = b->numerics = NULL;
  b->keys = NULL;
}

static void read_batch(const ts_stage *s, uint64_t step, ts_batch *b) {
  const ts_stage_options *o = &s->options;
  ts_err err = {b->message, sizeof b->message};
  b->step = step;
  if (o->allocate && !allocate(o, b)) {
    b->status = ts_fail(err, TS_ENOMEM, "Cannot read a batch: out of memory");
    return;
  }
  const uint64_t first = ts_batch_start(o->seed, o->data->header.rows, o->batch, step);
  b->status = ts_cache_read(o->data, first, o->batch, o->batch, b->labels, b->numerics, b->keys, err);
}

/* Brings the batch's rows up, column by column, until the step wants it. A failure is left to the step's own lookup,
 * which meets it again and tells of it. */
static void bring_up(ts_stage *s, slot *at) {
  const ts_stage_options *o = &s->options;
  for (uint32_t c = 0; c < TS_CATEGORIES; c++) {
    if (o->tables[c] == TS_NO_TABLE) continue;
    pthread_mutex_lock(&s->lock);
    const bool enough = at->wanted || s->stop;
    pthread_mutex_unlock(&s->lock);
    uint64_t lower = 0;
    if (enough || ts_table_promote(o->store, o->tables[c], at->batch.keys + (size_t)c * o->batch, o->batch, &lower,
                                   (ts_err){NULL, 0}) != TS_OK)
      return;
    pthread_mutex_lock(&s->lock);
    s->statistics.rows += lower;
    pthread_mutex_unlock(&s->lock);
  }
}

static bool may_prepare(const ts_stage *s) {
  return s->next < s->end && s->next < s->oldest + s->options.held + s->options.depth &&
         s->ring[s->next % s->slots].state == EMPTY && way_of(s, s->next) != TS_STAGE_NOTHING;
}

static void *prepare(void *argument) {
  ts_stage *s = argument;
  pthread_mutex_lock(&s->lock);
  for (;;) {
    while (!s->stop && !may_prepare(s)) pthread_cond_wait(&s->work, &s->lock);
    if (s->stop) break;
    const uint64_t step = s->next++;
    const ts_stage_what way = way_of(s, step);
    slot *at = &s->ring[step % s->slots];
    at->state = FILLING;
    at->wanted = false;
    s->under_way++;
    pthread_mutex_unlock(&s->lock);
    const uint64_t start = ts_now_ns();
    read_batch(s, step, &at->batch);
    const uint64_t read = ts_now_ns();
    if (way == TS_STAGE_LOOKUP && at->batch.status == TS_OK) bring_up(s, at);
    const uint64_t brought = ts_now_ns();
    pthread_mutex_lock(&s->lock);
    s->statistics.batches++;
    s->statistics.read_ns += read - start;
    s->statistics.lookup_ns += brought - read;
    at->state = READY;
    s->under_way--;
    pthread_cond_broadcast(&s->ready);
  }
  pthread_mutex_unlock(&s->lock);
  return NULL;
}

int32_t ts_stage_create(const ts_stage_options *options, ts_stage **out, ts_err err) {
  ts_stage *s = calloc(1, sizeof *s);
  if (s == NULL) return ts_fail(err, TS_ENOMEM, "Cannot prepare batches: out of memory");
  s->options = *options;
  s->slots = options->depth + options->held;
  s->choice = options->depth == 0 ? TS_STAGE_NOTHING : options->what;
  pthread_mutex_init(&s->lock, NULL);
  pthread_cond_init(&s->work, NULL);
  pthread_cond_init(&s->ready, NULL);
  for (uint32_t i = 0; i < s->slots && !options->allocate; i++)
    if (!allocate(options, &s->ring[i].batch)) {
      ts_stage_destroy(s);
      return ts_fail(err, TS_ENOMEM, "Cannot prepare batches: out of memory");
    }
  for (uint32_t i = 0; options->depth > 0 && i < options->threads; i++) {
    if (pthread_create(&s->threads[i], NULL, prepare, s) != 0) {
      ts_stage_destroy(s);
      return ts_fail(err, TS_ENOMEM, "Cannot start %u threads that prepare batches: the system refused number %u",
                     options->threads, i + 1);
    }
    s->started++;
  }
  *out = s;
  return TS_OK;
}

void ts_stage_destroy(ts_stage *s) {
  if (s == NULL) return;
  pthread_mutex_lock(&s->lock);
  s->stop = true;
  pthread_cond_broadcast(&s->work);
  pthread_mutex_unlock(&s->lock);
  for (uint32_t i = 0; i < s->started; i++) pthread_join(s->threads[i], NULL);
  for (uint32_t i = 0; i < s->slots; i++) release(&s->ring[i].batch);
  pthread_mutex_destroy(&s->lock);
  pthread_cond_destroy(&s->work);
  pthread_cond_destroy(&s->ready);
  free(s);
}

void ts_stage_begin(ts_stage *s, uint64_t first, uint64_t end) {
  pthread_mutex_lock(&s->lock);
  s->next = s->oldest = first;
  s->end = end;
  if (s->choice == TS_STAGE_AUTO && !s->on_trial) {
    s->on_trial = true;
    s->trial_start = first;
  }
  pthread_cond_broadcast(&s->work);
  pthread_mutex_unlock(&s->lock);
}

void ts_stage_end(ts_stage *s) {
  pthread_mutex_lock(&s->lock);
  s->end = 0;
  for (uint32_t i = 0; i < s->slots; i++) s->ring[i].wanted = true;
  while (s->under_way > 0) pthread_cond_wait(&s->ready, &s->lock);
  for (uint32_t i = 0; i < s->slots; i++) {
    s->ring[i].state = EMPTY;
    if (s->options.allocate) release(&s->ring[i].batch);
  }
  pthread_mutex_unlock(&s->lock);
}

int32_t ts_stage_take(ts_stage *s, uint64_t step, ts_batch **out, ts_err err) {
  pthread_mutex_lock(&s->lock);
  slot *at = &s->ring[step % s->slots];
  if (s->next <= step) { /* nobody has begun it */
    s->next = step + 1;
    at->state = FILLING;
    pthread_cond_broadcast(&s->work); /* the one after it may be theirs */
    pthread_mutex_unlock(&s->lock);
    read_batch(s, step, &at->batch);
    pthread_mutex_lock(&s->lock);
    at->state = READY;
  } else {
    s->statistics.hits += at->state == READY;
    at->wanted = true;
    const uint64_t start = ts_now_ns();
    while (at->state != READY) pthread_cond_wait(&s->ready, &s->lock);
    s->statistics.waited_ns += ts_now_ns() - start;
  }
  pthread_mutex_unlock(&s->lock);
  *out = &at->batch;
  return at->batch.status == TS_OK ? TS_OK : ts_fail(err, at->batch.status, "%s", at->batch.message);
}

void ts_stage_give_back(ts_stage *s, uint64_t step) {
  slot *at = &s->ring[step % s->slots];
  if (s->options.allocate) release(&at->batch);
  pthread_mutex_lock(&s->lock);
  at->state = EMPTY;
  s->oldest = step + 1;
  pthread_cond_broadcast(&s->work);
  pthread_mutex_unlock(&s->lock);
}

void ts_stage_tell(ts_stage *s, uint64_t step, uint64_t ns) {
  pthread_mutex_lock(&s->lock);
  if (s->choice == TS_STAGE_AUTO && step - s->trial_start < TS_STAGE_TRIAL_STEPS) {
    const uint64_t done = step - s->trial_start;
    s->trial_ns[done / TS_STAGE_TRIAL % TS_STAGE_WAYS] += ns;
    if (done + 1 == TS_STAGE_TRIAL_STEPS) {
      uint32_t best = 0;
      for (uint32_t w = 1; w < TS_STAGE_WAYS; w++)
        if (s->trial_ns[w] < s->trial_ns[best]) best = w;
      s->choice = ways[best];
      pthread_cond_broadcast(&s->work);
    }
  }
  pthread_mutex_unlock(&s->lock);
}

ts_stage_what ts_stage_choice(ts_stage *s) {
  pthread_mutex_lock(&s->lock);
  const ts_stage_what choice = s->choice;
  pthread_mutex_unlock(&s->lock);
  return choice;
}

ts_stage_statistics ts_stage_count(ts_stage *s) {
  pthread_mutex_lock(&s->lock);
  const ts_stage_statistics statistics = s->statistics;
  pthread_mutex_unlock(&s->lock);
  return statistics;
}
