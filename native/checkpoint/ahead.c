/* ahead.c - see ahead.h. The blocks are a ring: `read` and `given` count those that the thread read and that were given away;
 * the one that was given last is lent until the next is asked for. */
#include "checkpoint/ahead.h"

#include "base/sync_point.h"

#include <pthread.h>
#include <stdlib.h>

struct ts_ahead {
  pthread_t thread;
  pthread_mutex_t lock;
  pthread_cond_t changed;
  ts_block_cursor *cursor;
  ts_block_memory ring[TS_AHEAD_BLOCKS];
  /* Under the lock: */
  uint64_t read, given, bytes; /* bytes: of those that wait */
  bool lent, stop, ended;      /* ended: nothing follows but the status */
  int32_t status;
  char words[1024]; /* of the status */
};

static ts_block_memory *place_of(ts_ahead *a, uint64_t number) { return &a->ring[number % TS_AHEAD_BLOCKS]; }

static bool has_room(const ts_ahead *a) {
  const uint64_t first = a->given - (a->lent ? 1 : 0);
  return a->read - first < TS_AHEAD_BLOCKS && a->bytes < TS_AHEAD_BYTES;
}

static void *read_ahead(void *argument) {
  ts_ahead *a = argument;
  pthread_mutex_lock(&a->lock);
  while (!a->stop && !a->ended) {
    if (!has_room(a)) {
      TS_SYNC("ahead:wait_for_room");
      pthread_cond_wait(&a->changed, &a->lock);
      continue;
    }
    ts_block_memory *block = place_of(a, a->read);
    const ts_err err = {a->words, sizeof a->words};
    ts_read_block next;
    bool there;
    pthread_mutex_unlock(&a->lock);
    TS_SYNC("ahead:before_read");
    int32_t status = ts_block_cursor_next(a->cursor, &next, &there, err);
    if (status == TS_OK && there) status = ts_block_keep(a->cursor, &next, block, err);
    pthread_mutex_lock(&a->lock);
    a->status = status;
    a->ended = status != TS_OK || !there;
    if (!a->ended) {
      a->read++;
      a->bytes += next.header.bytes;
    }
    pthread_cond_signal(&a->changed);
  }
  pthread_mutex_unlock(&a->lock);
  return NULL;
}

static void release(ts_ahead *a) {
  for (uint32_t i = 0; i < TS_AHEAD_BLOCKS; i++) free(a->ring[i].memory);
  pthread_cond_destroy(&a->changed);
  pthread_mutex_destroy(&a->lock);
  free(a);
}

int32_t ts_ahead_open(ts_block_cursor *cursor, ts_ahead **out, ts_err err) {
  ts_ahead *a = calloc(1, sizeof *a);
  *out = NULL;
  if (a == NULL) return ts_fail(err, TS_ENOMEM, "Cannot read checkpoints of %s: out of memory", cursor->chain->path);
  a->cursor = cursor;
  pthread_mutex_init(&a->lock, NULL);
  pthread_cond_init(&a->changed, NULL);
  if (pthread_create(&a->thread, NULL, read_ahead, a) != 0) release(a);
  else *out = a;
  return TS_OK;
}

/* Gives back what was lent. A ring of blocks as large as blocks may be would be far more than is read ahead. */
static void take_back(ts_ahead *a) {
  ts_block_memory *block = place_of(a, a->given - 1);
  if (block->capacity > TS_AHEAD_BYTES / TS_AHEAD_BLOCKS) {
    free(block->memory);
    *block = (ts_block_memory){0};
  }
  a->lent = false;
  pthread_cond_signal(&a->changed);
}

int32_t ts_ahead_next(ts_ahead *a, const ts_read_block **out, ts_err err) {
  int32_t status = TS_OK;
  *out = NULL;
  pthread_mutex_lock(&a->lock);
  if (a->lent) take_back(a);
  while (a->read == a->given && !a->ended) {
    TS_SYNC("ahead:wait_for_block");
    pthread_cond_wait(&a->changed, &a->lock);
  }
  if (a->read > a->given) {
    ts_block_memory *block = place_of(a, a->given++);
    a->bytes -= block->block.header.bytes;
    a->lent = true;
    *out = &block->block;
  } else if (a->status != TS_OK) {
    status = ts_fail(err, a->status, "%s", a->words);
  }
  pthread_mutex_unlock(&a->lock);
  return status;
}

void ts_ahead_close(ts_ahead *a) {
  if (a == NULL) return;
  pthread_mutex_lock(&a->lock);
  a->stop = true;
  pthread_cond_signal(&a->changed);
  pthread_mutex_unlock(&a->lock);
  TS_SYNC("ahead:before_join");
  pthread_join(a->thread, NULL);
  release(a);
}
