/* evictors.c - background eviction: a pool of threads for all tables of a store.
 *
 * A shard that had to look for victims keeps a few places free from then on. When it has fewer than its low mark, it is
 * put into a queue, and a thread frees places up to twice the mark, a few rows under each hold of the shard's lock. Threads
 * sleep on a condition while the queue is empty. A call that finds no free place all the same evicts for itself. */
#include "base/sync_point.h"
#include "store/store.h"

#include <stdlib.h>

#define ROWS_A_HOLD 64u      /* rows moved under one hold of the lock */
#define LOW_SHARE 64u        /* one row in so many is kept free; none in small shards, whose rows all count */

struct ts_evictors {
  ts_store *store;
  uint32_t threads, started;
  pthread_mutex_t lock;
  pthread_cond_t work, idle;
  ts_shard *first, *last;
  uint32_t busy;
  bool stop;
  pthread_t ids[];
};

uint64_t ts_evictors_bytes(uint32_t threads) { return sizeof(ts_evictors) + threads * sizeof(pthread_t); }

/* Free places that a shard should have, and how many to make when it has fewer. */
static uint64_t shard_low(const ts_shard *shard, uint32_t tier) {
  const ts_rows *rows = &shard->rows[tier];
  if (rows->policy == NULL) return 0;
  uint64_t places = ts_rows_first_of(rows, rows->chunk_count);
  if (rows->budget->rows_only) places = TS_MIN(places, rows->budget->limit / rows->stride);
  return places / LOW_SHARE / 2;
}

static bool is_short(const ts_shard *shard, uint32_t tier, uint64_t mark) {
  const ts_rows *rows = &shard->rows[tier];
  if (rows->policy == NULL || mark == 0) return false;
  if (rows->budget->rows_only) {
    uint64_t used = atomic_load_explicit(&rows->budget->used, memory_order_relaxed);
    return rows->budget->limit - TS_MIN(used, rows->budget->limit) < mark * rows->stride;
  }
  return ts_rows_spare(rows) < mark;
}

/* Frees places in one shard. */
static void look_after(ts_shard *shard) {
  ts_table *table = shard->table;
  for (uint32_t tier = 0; tier < table->store->memory_tiers; tier++)
    for (;;) {
      uint32_t freed = 0;
      ts_traffic traffic;
      ts_traffic_begin(table->store, &traffic);
      ts_traffic_in_background(table->store, &traffic);
      ts_descent_begin(table->store);
      pthread_mutex_lock(&shard->lock);
      int32_t status = TS_OK;
      const uint64_t mark = 2 * shard_low(shard, tier);
      ts_rows *rows = &shard->rows[tier];
      /* Memory that another shard gave up is better than evicting. */
      if (is_short(shard, tier, mark) && (rows->budget->rows_only || ts_rows_reserve(rows, mark) < mark))
        /* A failure is for the next call that meets it: it can tell somebody. */
        status = ts_evict(shard, tier, ROWS_A_HOLD, &freed, &traffic, (ts_err){NULL, 0});
      for (uint32_t t = 0; t < table->store->memory_tiers; t++) ts_rows_settle(&shard->rows[t]);
      pthread_mutex_unlock(&shard->lock);
      ts_descent_end(table->store);
      ts_traffic_wait(table, &traffic);
      if (status != TS_OK || freed == 0) break;
    }
}

static void *run(void *argument) {
  ts_evictors *e = argument;
  pthread_mutex_lock(&e->lock);
  for (;;) {
    TS_SYNC("evictors:looks");
    while (e->first == NULL && !e->stop) pthread_cond_wait(&e->work, &e->lock);
    if (e->stop) break;
    ts_shard *shard = e->first;
    e->first = shard->next_queued;
    if (e->first == NULL) e->last = NULL;
    shard->queued = false;
    e->busy++;
    pthread_mutex_unlock(&e->lock);
    TS_SYNC("evictors:taken");
    look_after(shard);
    TS_SYNC("evictors:done");
    pthread_mutex_lock(&e->lock);
    if (--e->busy == 0 && e->first == NULL) pthread_cond_broadcast(&e->idle);
  }
  pthread_mutex_unlock(&e->lock);
  return NULL;
}

int32_t ts_evictors_create(ts_store *store, uint32_t threads, ts_evictors **out, ts_err err) {
  ts_evictors *e = calloc(1, ts_evictors_bytes(threads));
  if (e == NULL) return ts_fail(err, TS_ENOMEM, "Cannot open store: out of memory");
  e->store = store;
  e->threads = threads;
  pthread_mutex_init(&e->lock, NULL);
  pthread_cond_init(&e->work, NULL);
  pthread_cond_init(&e->idle, NULL);
  for (; e->started < threads; e->started++)
    if (pthread_create(&e->ids[e->started], NULL, run, e) != 0) {
      uint32_t got = e->started;
      ts_evictors_destroy(e);
      return ts_fail(err, TS_ENOMEM, "Cannot open store: the system refused thread %u of %u for eviction; lower "
                                     "eviction_threads", got + 1, threads);
    }
  *out = e;
  return TS_OK;
}

void ts_evictors_destroy(ts_evictors *e) {
  if (e == NULL) return;
  pthread_mutex_lock(&e->lock);
  e->stop = true;
  pthread_cond_broadcast(&e->work);
  pthread_mutex_unlock(&e->lock);
  for (uint32_t i = 0; i < e->started; i++) pthread_join(e->ids[i], NULL);
  pthread_mutex_destroy(&e->lock);
  pthread_cond_destroy(&e->work);
  pthread_cond_destroy(&e->idle);
  free(e);
}

void ts_evictors_call(ts_shard *shard) {
  ts_evictors *e = shard->table->store->evictors;
  if (e == NULL) return;
  bool needed = false;
  for (uint32_t t = 0; t < shard->table->store->memory_tiers; t++)
    needed = needed || is_short(shard, t, shard_low(shard, t));
  if (!needed) return;
  TS_SYNC("evictors:call");
  pthread_mutex_lock(&e->lock);
  if (!shard->queued) {
    shard->queued = true;
    shard->next_queued = NULL;
    if (e->last != NULL)
      e->last->next_queued = shard;
    else
      e->first = shard;
    e->last = shard;
    pthread_cond_signal(&e->work);
  }
  pthread_mutex_unlock(&e->lock);
}

void ts_evictors_settle(ts_evictors *e) {
  if (e == NULL) return;
  TS_SYNC("evictors:settle");
  pthread_mutex_lock(&e->lock);
  while (e->first != NULL || e->busy > 0) pthread_cond_wait(&e->idle, &e->lock);
  pthread_mutex_unlock(&e->lock);
}
