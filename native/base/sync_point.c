/* sync_point.c - see sync_point.h. One lock and one condition for all points: tests are not in a hurry. A thread that
 * waits longer than the test is patient goes on, so that a test fails and does not hang. */
#include "base/sync_point.h"

#if defined(TS_SYNC_POINTS)

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#define MOST_POINTS 128u
#define MOST_AFTER 4u

typedef struct point {
  const char *name;
  uint64_t reached, passed;
  bool closed;
  uint64_t closed_until; /* for those who came no later than this one; 0: for all */
  uint32_t after[MOST_AFTER], after_count; /* points that must have been passed */
  void (*callback)(void *context, void *value);
  void *context;
} point;

double ts_sync_patience = 20;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static point points[MOST_POINTS];
static uint32_t count;
static atomic_bool on;
static uint64_t run; /* number of this start */
static bool late;

/* lock held */
static point *find(const char *name) {
  for (uint32_t i = 0; i < count; i++)
    if (strcmp(points[i].name, name) == 0) return &points[i];
  if (count == MOST_POINTS) __builtin_trap(); /* a test's build alone */
  points[count] = (point){.name = name};
  return &points[count++];
}

static struct timespec deadline(void) {
  struct timespec t;
  clock_gettime(CLOCK_REALTIME, &t);
  t.tv_sec += (time_t)ts_sync_patience;
  t.tv_nsec += (long)((ts_sync_patience - (double)(time_t)ts_sync_patience) * 1e9);
  if (t.tv_nsec >= 1000000000) t.tv_sec++, t.tv_nsec -= 1000000000;
  return t;
}

static bool may_pass(const point *p, uint64_t number) {
  for (uint32_t i = 0; i < p->after_count; i++)
    if (points[p->after[i]].passed == 0) return false;
  return !p->closed || (p->closed_until > 0 && number > p->closed_until);
}

void ts_sync_reach(const char *name, void *value) {
  if (!atomic_load_explicit(&on, memory_order_acquire)) return;
  pthread_mutex_lock(&lock);
  point *p = find(name);
  const uint64_t number = ++p->reached;
  pthread_cond_broadcast(&changed);
  const uint64_t mine = run;
  if (p->callback != NULL) {
    void (*callback)(void *, void *) = p->callback;
    void *context = p->context;
    pthread_mutex_unlock(&lock);
    callback(context, value);
    pthread_mutex_lock(&lock);
  }
  const struct timespec until = deadline();
  while (run == mine && on && !may_pass(p, number))
    if (pthread_cond_timedwait(&changed, &lock, &until) == ETIMEDOUT && run == mine && !may_pass(p, number)) {
      late = true;
      break;
    }
  if (run == mine) {
    p->passed++;
    pthread_cond_broadcast(&changed);
  }
  pthread_mutex_unlock(&lock);
}

void ts_sync_start(void) {
  pthread_mutex_lock(&lock);
  run++;
  count = 0;
  late = false;
  atomic_store_explicit(&on, true, memory_order_release);
  pthread_mutex_unlock(&lock);
}

bool ts_sync_stop(void) {
  pthread_mutex_lock(&lock);
  atomic_store_explicit(&on, false, memory_order_release);
  run++;
  const bool in_time = !late;
  pthread_cond_broadcast(&changed);
  pthread_mutex_unlock(&lock);
  return in_time;
}

void ts_sync_order(const char *first, const char *then) {
  pthread_mutex_lock(&lock);
  const uint32_t before = (uint32_t)(find(first) - points);
  point *p = find(then);
  if (p->after_count == MOST_AFTER) __builtin_trap();
  p->after[p->after_count++] = before;
  pthread_mutex_unlock(&lock);
}

static void set_closed(const char *name, bool closed, bool first) {
  pthread_mutex_lock(&lock);
  point *p = find(name);
  p->closed = closed;
  p->closed_until = first ? p->reached + 1 : 0;
  pthread_cond_broadcast(&changed);
  pthread_mutex_unlock(&lock);
}

void ts_sync_close(const char *name) { set_closed(name, true, false); }
void ts_sync_close_first(const char *name) { set_closed(name, true, true); }
void ts_sync_open(const char *name) { set_closed(name, false, false); }

void ts_sync_call(const char *name, void (*callback)(void *context, void *value), void *context) {
  pthread_mutex_lock(&lock);
  point *p = find(name);
  p->callback = callback;
  p->context = context;
  pthread_mutex_unlock(&lock);
}

uint64_t ts_sync_reached(const char *name) {
  pthread_mutex_lock(&lock);
  const uint64_t times = find(name)->reached;
  pthread_mutex_unlock(&lock);
  return times;
}

bool ts_sync_await(const char *name, uint64_t times) {
  pthread_mutex_lock(&lock);
  const struct timespec until = deadline();
  bool in_time = true;
  while (find(name)->reached < times && in_time)
    in_time = pthread_cond_timedwait(&changed, &lock, &until) != ETIMEDOUT || find(name)->reached >= times;
  pthread_mutex_unlock(&lock);
  return in_time;
}

#endif
