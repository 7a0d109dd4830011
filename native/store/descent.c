/* descent.c - how many calls may move rows into the tier of records side by side.
 *
 * A row that moves down frees memory, but needs some before: the index of the tier below grows, a write buffer begins.
 * That comes out of the first tier's headroom. Where the tier is small for its tables and many threads move rows, they
 * would use it up together, none of them could go on, and the call would be refused though all rows have a place. So each
 * counts on a share of what is free, and waits for others where that is not there. One alone may always go on: the
 * headroom is restored to more than it needs (room.c).
 *
 * Whoever is inside may lock a shard and what comes after it; nobody enters with such a lock, so those inside leave. */
#include "base/sync_point.h"
#include "store/store.h"

#define MOST_NEEDED (UINT64_C(3) << 19) /* bytes: the index's two largest segments, and buffers */

void ts_descent_init(ts_descent *d) {
  pthread_mutex_init(&d->lock, NULL);
  pthread_cond_init(&d->left, NULL);
}

void ts_descent_destroy(ts_descent *d) {
  pthread_mutex_destroy(&d->lock);
  pthread_cond_destroy(&d->left);
}

static bool counts(const ts_store *store) {
  return ts_is_tiered(store) && ts_has_records(store) && !store->rows_only;
}

/* Beside so many others. */
static bool may_enter(const ts_store *store, uint32_t others) {
  const ts_budget *budget = &store->tiers[0].budget;
  const uint64_t needed = TS_MIN(budget->headroom / 8, MOST_NEEDED), used = atomic_load(&budget->used);
  return others == 0 || (used < budget->limit && budget->limit - used >= (others + 1) * needed);
}

void ts_descent_begin(ts_store *store) {
  ts_descent *d = &store->descent;
  if (!counts(store) || may_enter(store, atomic_fetch_add(&d->inside, 1))) return;
  pthread_mutex_lock(&d->lock);
  atomic_fetch_add(&d->waiting, 1);
  atomic_fetch_sub(&d->inside, 1);
  while (!may_enter(store, atomic_load(&d->inside))) {
    TS_SYNC("descent:wait");
    pthread_cond_wait(&d->left, &d->lock);
  }
  atomic_fetch_add(&d->inside, 1);
  atomic_fetch_sub(&d->waiting, 1);
  pthread_mutex_unlock(&d->lock);
}

void ts_descent_end(ts_store *store) {
  ts_descent *d = &store->descent;
  if (!counts(store)) return;
  atomic_fetch_sub(&d->inside, 1);
  TS_SYNC("descent:left");
  /* Whoever waits looked at `inside` after it said that it waits: one of the two sees the other. */
  if (atomic_load(&d->waiting) == 0) return;
  pthread_mutex_lock(&d->lock);
  pthread_cond_broadcast(&d->left);
  pthread_mutex_unlock(&d->lock);
}
