/* threads.c - a fixed set of threads that run one task at a time. Between tasks they spin briefly (steps follow each
 * other closely) and then sleep on a condition. */
#include "base/base.h"

#include <stdatomic.h>
#include <stdlib.h>

#define SPIN_ROUNDS 2000

struct ts_pool {
  uint32_t threads, started;
  pthread_t *ids;
  pthread_mutex_t lock;
  pthread_cond_t work, idle;
  void (*task)(void *context, uint32_t part);
  void *context;
  uint32_t parts;
  atomic_uint next;     /* next part to take */
  atomic_uint round;    /* number of the current task */
  uint32_t running;     /* helpers that have not finished the round, under lock */
  bool stop;
};

static void take_parts(ts_pool *pool) {
  for (;;) {
    uint32_t part = atomic_fetch_add_explicit(&pool->next, 1, memory_order_relaxed);
    if (part >= pool->parts) return;
    pool->task(pool->context, part);
  }
}

static void *helper(void *argument) {
  ts_pool *pool = argument;
  unsigned seen = 0;
  for (;;) {
    for (int i = 0; i < SPIN_ROUNDS && atomic_load_explicit(&pool->round, memory_order_acquire) == seen; i++)
#if defined(__x86_64__)
      __builtin_ia32_pause();
#else
      ;
#endif
    pthread_mutex_lock(&pool->lock);
    while (!pool->stop && atomic_load_explicit(&pool->round, memory_order_relaxed) == seen)
      pthread_cond_wait(&pool->work, &pool->lock);
    if (pool->stop) {
      pthread_mutex_unlock(&pool->lock);
      return NULL;
    }
    seen = atomic_load_explicit(&pool->round, memory_order_relaxed);
    pthread_mutex_unlock(&pool->lock);
    take_parts(pool);
    pthread_mutex_lock(&pool->lock);
    if (--pool->running == 0) pthread_cond_signal(&pool->idle);
    pthread_mutex_unlock(&pool->lock);
  }
}

int32_t ts_pool_create(uint32_t threads, ts_pool **out, ts_err err) {
  if (threads == 0) return ts_fail(err, TS_EINVAL, "Cannot start threads: at least one is needed");
  ts_pool *pool = calloc(1, sizeof *pool);
  if (pool != NULL) pool->ids = calloc(threads, sizeof *pool->ids);
  if (pool == NULL || pool->ids == NULL) {
    free(pool);
    return ts_fail(err, TS_ENOMEM, "Cannot start %u threads: out of memory", threads);
  }
  pool->threads = threads;
  pthread_mutex_init(&pool->lock, NULL);
  pthread_cond_init(&pool->work, NULL);
  pthread_cond_init(&pool->idle, NULL);
  for (uint32_t i = 1; i < threads; i++) {
    if (pthread_create(&pool->ids[i], NULL, helper, pool) != 0) {
      ts_pool_destroy(pool);
      return ts_fail(err, TS_ENOMEM, "Cannot start %u threads: the system refused number %u", threads, i + 1);
    }
    pool->started++;
  }
  *out = pool;
  return TS_OK;
}

void ts_pool_run(ts_pool *pool, uint32_t parts, void (*task)(void *context, uint32_t part), void *context) {
  if (pool->threads == 1 || parts <= 1) {
    for (uint32_t i = 0; i < parts; i++) task(context, i);
    return;
  }
  pthread_mutex_lock(&pool->lock);
  pool->task = task;
  pool->context = context;
  pool->parts = parts;
  pool->running = pool->started;
  atomic_store_explicit(&pool->next, 0, memory_order_relaxed);
  atomic_fetch_add_explicit(&pool->round, 1, memory_order_release);
  pthread_cond_broadcast(&pool->work);
  pthread_mutex_unlock(&pool->lock);
  take_parts(pool);
  pthread_mutex_lock(&pool->lock);
  while (pool->running > 0) pthread_cond_wait(&pool->idle, &pool->lock);
  pthread_mutex_unlock(&pool->lock);
}

uint32_t ts_pool_threads(const ts_pool *pool) { return pool->threads; }

void ts_pool_destroy(ts_pool *pool) {
  if (pool == NULL) return;
  pthread_mutex_lock(&pool->lock);
  pool->stop = true;
  pthread_cond_broadcast(&pool->work);
  pthread_mutex_unlock(&pool->lock);
  for (uint32_t i = 1; i <= pool->started; i++) pthread_join(pool->ids[i], NULL);
  pthread_mutex_destroy(&pool->lock);
  pthread_cond_destroy(&pool->work);
  pthread_cond_destroy(&pool->idle);
  free(pool->ids);
  free(pool);
}
