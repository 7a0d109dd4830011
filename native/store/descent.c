/* descent.c - memory for calls that move rows into the tier of records.
 *
 * A row that moves down frees memory, but needs some before: the index of the tier below grows, a write buffer begins.
 * That comes out of the first tier's headroom. Where the tier is small for its tables and many threads move rows, they
 * would use it up together, or other calls' working memory would, none of them could go on, and the call would be refused
 * though all rows have a place. So each borrows a share of what is free before it begins (budget.h), and waits for others
 * to leave where that is not there. One alone may always go on: the headroom is restored to more than it needs (room.c).
 * Who comes beside one that found nothing to borrow borrows for both.
 *
 * Whoever is inside may lock a shard and what comes after it, and the lock on growth; nobody waits to enter with one of
 * these, so those inside leave. */
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

uint64_t ts_descent_share(const ts_store *store) { return TS_MIN(ts_dram_budget(store)->headroom / 8, MOST_NEEDED); }

/* lock held */
static bool enter(ts_store *store) {
  ts_descent *d = &store->descent;
  const uint64_t share = ts_descent_share(store);
  const uint32_t lacking = d->inside + 1 - d->shares;
  const bool lent = ts_budget_lend(ts_dram_budget(store), lacking * share, share); /* the rest is for who reads */
  if (!lent && d->inside > 0) return false;
  if (lent) d->shares += lacking;
  d->inside++;
  return true;
}

bool ts_descent_try(ts_store *store) {
  ts_descent *d = &store->descent;
  if (!counts(store)) return true;
  pthread_mutex_lock(&d->lock);
  const bool entered = enter(store);
  pthread_mutex_unlock(&d->lock);
  return entered;
}

void ts_descent_begin(ts_store *store) {
  ts_descent *d = &store->descent;
  if (!counts(store)) return;
  pthread_mutex_lock(&d->lock);
  while (!enter(store)) {
    TS_SYNC("descent:wait");
    pthread_cond_wait(&d->left, &d->lock);
  }
  pthread_mutex_unlock(&d->lock);
  TS_SYNC("descent:entered");
}

void ts_descent_end(ts_store *store) {
  ts_descent *d = &store->descent;
  if (!counts(store)) return;
  pthread_mutex_lock(&d->lock);
  d->inside--;
  d->shares = TS_MIN(d->shares, d->inside);
  ts_budget_unlend(ts_dram_budget(store), d->shares * ts_descent_share(store));
  pthread_cond_broadcast(&d->left);
  pthread_mutex_unlock(&d->lock);
  TS_SYNC("descent:left");
}
