/* courier.c - the thread that makes messages. */
#include "ranks/courier.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

struct ts_courier {
  pthread_t thread;
  pthread_mutex_t lock;
  pthread_cond_t changed;
  ts_errand *errand; /* NULL: none */
  void *context;
  ts_courier_times times;
  bool stop;
};

static void *work(void *argument) {
  ts_courier *c = argument;
  pthread_mutex_lock(&c->lock);
  for (;;) {
    while (c->errand == NULL && !c->stop) pthread_cond_wait(&c->changed, &c->lock);
    if (c->errand == NULL) break;
    pthread_mutex_unlock(&c->lock);
    const uint64_t start = ts_now_ns();
    c->errand(c->context);
    pthread_mutex_lock(&c->lock);
    c->times.busy_ns += ts_now_ns() - start;
    c->errand = NULL;
    pthread_cond_broadcast(&c->changed);
  }
  pthread_mutex_unlock(&c->lock);
  return NULL;
}

int32_t ts_courier_open(ts_courier **out, ts_err err) {
  ts_courier *c = calloc(1, sizeof *c);
  *out = NULL;
  if (c == NULL) return ts_fail(err, TS_ENOMEM, "Cannot train over ranks: out of memory");
  pthread_mutex_init(&c->lock, NULL);
  pthread_condattr_t clock;
  pthread_condattr_init(&clock);
  pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
  pthread_cond_init(&c->changed, &clock);
  pthread_condattr_destroy(&clock);
  if (pthread_create(&c->thread, NULL, work, c) == 0) {
    *out = c;
    return TS_OK;
  }
  pthread_cond_destroy(&c->changed);
  pthread_mutex_destroy(&c->lock);
  free(c);
  return ts_fail(err, TS_ENOMEM, "Cannot train over ranks: the system gives no thread for messages");
}

void ts_courier_close(ts_courier *c) {
  if (c == NULL) return;
  pthread_mutex_lock(&c->lock);
  c->stop = true;
  pthread_cond_broadcast(&c->changed);
  pthread_mutex_unlock(&c->lock);
  pthread_join(c->thread, NULL);
  pthread_cond_destroy(&c->changed);
  pthread_mutex_destroy(&c->lock);
  free(c);
}

void ts_courier_begin(ts_courier *c, ts_errand *errand, void *context) {
  pthread_mutex_lock(&c->lock);
  c->errand = errand;
  c->context = context;
  pthread_cond_broadcast(&c->changed);
  pthread_mutex_unlock(&c->lock);
}

void ts_courier_wait(ts_courier *c) {
  pthread_mutex_lock(&c->lock);
  const uint64_t start = ts_now_ns();
  if (c->errand != NULL) {
    while (c->errand != NULL) pthread_cond_wait(&c->changed, &c->lock);
    c->times.waited_ns += ts_now_ns() - start;
  }
  pthread_mutex_unlock(&c->lock);
}

bool ts_courier_wait_for(ts_courier *c, uint64_t ns) {
  struct timespec end;
  clock_gettime(CLOCK_MONOTONIC, &end);
  const uint64_t at = (uint64_t)end.tv_nsec + ns;
  end.tv_sec += (time_t)(at / 1000000000u);
  end.tv_nsec = (long)(at % 1000000000u);
  pthread_mutex_lock(&c->lock);
  while (c->errand != NULL && pthread_cond_timedwait(&c->changed, &c->lock, &end) == 0) continue;
  const bool done = c->errand == NULL;
  pthread_mutex_unlock(&c->lock);
  return done;
}

ts_courier_times ts_courier_count(ts_courier *c) {
  pthread_mutex_lock(&c->lock);
  const ts_courier_times times = c->times;
  pthread_mutex_unlock(&c->lock);
  return times;
}
