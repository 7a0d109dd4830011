/* gate.c - see cut.h. */
#include "store/cut.h"

#include "base/sync_point.h"

void ts_gate_init(ts_gate *gate) {
  pthread_mutex_init(&gate->lock, NULL);
  pthread_cond_init(&gate->moved, NULL);
}

void ts_gate_destroy(ts_gate *gate) {
  pthread_mutex_destroy(&gate->lock);
  pthread_cond_destroy(&gate->moved);
}

/* Whoever closes may wait for this call to be outside. */
void ts_gate_left_closed(ts_gate *gate) {
  pthread_mutex_lock(&gate->lock);
  pthread_cond_broadcast(&gate->moved);
  pthread_mutex_unlock(&gate->lock);
}

void ts_gate_enter_closed(ts_gate *gate) {
  do {
    atomic_fetch_sub(&gate->inside, 1);
    ts_gate_left_closed(gate);
    TS_SYNC("gate:enter:wait");
    pthread_mutex_lock(&gate->lock);
    while (atomic_load(&gate->closed)) pthread_cond_wait(&gate->moved, &gate->lock);
    pthread_mutex_unlock(&gate->lock);
    atomic_fetch_add(&gate->inside, 1);
  } while (atomic_load(&gate->closed));
}

void ts_gate_close(ts_gate *gate) {
  pthread_mutex_lock(&gate->lock);
  while (atomic_load(&gate->closed)) pthread_cond_wait(&gate->moved, &gate->lock);
  atomic_store(&gate->closed, true);
  TS_SYNC("gate:close:wait");
  /* A call that comes counts itself, then looks whether it is closed: one of the two sees the other. */
  while (atomic_load(&gate->inside) > 0) pthread_cond_wait(&gate->moved, &gate->lock);
  pthread_mutex_unlock(&gate->lock);
}

void ts_gate_open(ts_gate *gate) {
  pthread_mutex_lock(&gate->lock);
  atomic_store(&gate->closed, false);
  pthread_cond_broadcast(&gate->moved);
  pthread_mutex_unlock(&gate->lock);
}
