/* lookups.c - lookups by several threads at once, timed: what they wait for one another on a table that they share, against one of
 * each thread's own. */
#include "gauge/gauge.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

typedef struct common {
  ts_store *store;
  uint64_t n;
  uint32_t threads, rounds;
  atomic_uint begun; /* rounds that threads stand before, of all of them together */
  atomic_bool stop;
  _Atomic(int32_t) failed; /* the first failure of any thread */
  ts_err err;
} common;

typedef struct job {
  common *c;
  const int64_t *keys;
  uint32_t table;
  float *rows;
  double *seconds;
  pthread_t id;
} job;

static void *look_up(void *argument) {
  job *j = argument;
  common *c = j->c;
  for (uint32_t r = 0; r < c->rounds; r++) {
    atomic_fetch_add(&c->begun, 1);
    while (atomic_load(&c->begun) < (r + 1) * c->threads && !atomic_load(&c->stop)) sched_yield(); /* all begin together */
    if (atomic_load(&c->stop)) return NULL;
    char text[256];
    const uint64_t start = ts_now_ns();
    const int32_t status = ts_table_lookup(c->store, j->table, j->keys, c->n, j->rows, text, sizeof text);
    j->seconds[r] = (double)(ts_now_ns() - start) / 1e9;
    if (status == TS_OK) continue;
    int32_t none = TS_OK;
    if (atomic_compare_exchange_strong(&c->failed, &none, status)) ts_fail(c->err, status, "%s", text);
    atomic_store(&c->stop, true);
  }
  return NULL;
}

int32_t ts_gauge_lookups(ts_store *store, const uint32_t *tables, uint32_t threads, const int64_t *keys, uint64_t n, uint32_t dim,
                         uint32_t rounds, double *seconds, char *err, uint32_t err_cap) {
  const ts_err e = {err, err_cap};
  if (store == NULL || tables == NULL || keys == NULL || seconds == NULL)
    return ts_fail(e, TS_EINVAL, "Cannot time lookups: an argument is NULL");
  if (threads < 1 || threads > TS_GAUGE_CPUS || n < 1 || n > UINT32_MAX || dim < 1 || rounds < 1 || rounds > 1u << 20)
    return ts_fail(e, TS_EINVAL, "Cannot time lookups: threads must be 1 to %u, rounds 1 to 2^20, keys and weights at least 1",
                   TS_GAUGE_CPUS);
  common c = {.store = store, .n = n, .threads = threads, .rounds = rounds, .err = e};
  job *jobs = calloc(threads, sizeof *jobs);
  float *rows = malloc((size_t)threads * n * dim * sizeof *rows);
  int32_t status = jobs == NULL || rows == NULL ? ts_fail(e, TS_ENOMEM, "Cannot time lookups: out of memory") : TS_OK;
  uint32_t started = 0;
  for (; status == TS_OK && started < threads; started++) {
    job *j = &jobs[started];
    *j = (job){&c, keys + started * n, tables[started], rows + (size_t)started * n * dim, seconds + (size_t)started * rounds, 0};
    if (pthread_create(&j->id, NULL, look_up, j) != 0) {
      status = ts_fail(e, TS_ENOMEM, "Cannot time lookups: thread %u of %u could not be started", started + 1, threads);
      atomic_store(&c.stop, true);
      break;
    }
  }
  for (uint32_t i = 0; i < started; i++) pthread_join(jobs[i].id, NULL);
  free(jobs);
  free(rows);
  return status == TS_OK ? atomic_load(&c.failed) : status;
}
