/* Epochs: who is inside is waited for, and nothing that a reader can reach is taken away. */
#include "base/epoch.h"
#include "test/check.h"

#include <sched.h>
#include <stdlib.h>

static void a_wait_ignores_who_is_outside(void) {
  static ts_epochs epochs;
  ts_epochs_init(&epochs);
  ts_epoch_slot *slot = ts_epoch_claim(&epochs);
  ts_epoch_wait(&epochs);
  ts_epoch_enter(&epochs, slot);
  ts_epoch_leave(slot);
  ts_epoch_wait(&epochs);
  CHECK(atomic_load(&epochs.now) == 3);
  ts_epoch_release(slot);
}

static void slots_are_given_once(void) {
  static ts_epochs epochs;
  ts_epochs_init(&epochs);
  ts_epoch_slot *slots[TS_EPOCH_SLOTS];
  for (uint32_t i = 0; i < TS_EPOCH_SLOTS; i++) {
    slots[i] = ts_epoch_claim(&epochs);
    for (uint32_t j = 0; j < i; j++) CHECK(slots[i] != slots[j]);
  }
  for (uint32_t i = 0; i < TS_EPOCH_SLOTS; i++) ts_epoch_release(slots[i]);
  slots[0] = ts_epoch_claim(&epochs); /* would wait for ever if none had come back */
  ts_epoch_release(slots[0]);
}

typedef struct visit {
  ts_epochs epochs;
  atomic_uint stage; /* 1: the reader is inside, 2: it is about to leave, 3: the writer's wait is over */
} visit;

static void *stay_inside(void *context) {
  visit *v = context;
  ts_epoch_slot *slot = ts_epoch_claim(&v->epochs);
  ts_epoch_enter(&v->epochs, slot);
  atomic_store(&v->stage, 1);
  for (int i = 0; i < 2000; i++) sched_yield(); /* time enough for a wait that does not wait */
  unsigned expected = 1;
  CHECK(atomic_compare_exchange_strong(&v->stage, &expected, 2));
  ts_epoch_leave(slot);
  ts_epoch_release(slot);
  return NULL;
}

static void a_wait_lasts_until_readers_left(void) {
  static visit v;
  ts_epochs_init(&v.epochs);
  pthread_t reader;
  CHECK(pthread_create(&reader, NULL, stay_inside, &v) == 0);
  while (atomic_load(&v.stage) == 0) sched_yield();
  ts_epoch_wait(&v.epochs);
  CHECK(atomic_exchange(&v.stage, 3) == 2);
  pthread_join(reader, NULL);
}

/* Readers follow a pointer that the writer replaces; what it replaces it spoils after a wait. */
typedef struct shelf {
  ts_epochs epochs;
  uint64_t *_Atomic book;
  atomic_bool stop;
  atomic_ulong torn, reads;
} shelf;

static void *read_book(void *context) {
  shelf *s = context;
  ts_epoch_slot *slot = ts_epoch_claim(&s->epochs);
  while (!atomic_load_explicit(&s->stop, memory_order_relaxed)) {
    ts_epoch_enter(&s->epochs, slot);
    const uint64_t *book = atomic_load_explicit(&s->book, memory_order_acquire);
    for (int i = 0; i < 50; i++)
      if (*(const volatile uint64_t *)book != 42) atomic_fetch_add(&s->torn, 1);
    ts_epoch_leave(slot);
    atomic_fetch_add_explicit(&s->reads, 1, memory_order_relaxed);
  }
  ts_epoch_release(slot);
  return NULL;
}

static void nothing_reachable_is_taken_away(void) {
  static shelf s;
  ts_epochs_init(&s.epochs);
  uint64_t *first = malloc(sizeof *first);
  *first = 42;
  atomic_store(&s.book, first);
  pthread_t readers[3];
  for (int i = 0; i < 3; i++) CHECK(pthread_create(&readers[i], NULL, read_book, &s) == 0);
  for (int i = 0; i < 3000 || atomic_load(&s.reads) < 1000; i++) {
    uint64_t *book = malloc(sizeof *book), *old = atomic_load(&s.book);
    *book = 42;
    atomic_store_explicit(&s.book, book, memory_order_release);
    ts_epoch_wait(&s.epochs);
    *old = 13;
    free(old);
  }
  atomic_store(&s.stop, true);
  for (int i = 0; i < 3; i++) pthread_join(readers[i], NULL);
  CHECK(atomic_load(&s.torn) == 0);
  free(atomic_load(&s.book));
}

int main(void) {
  a_wait_ignores_who_is_outside();
  slots_are_given_once();
  a_wait_lasts_until_readers_left();
  nothing_reachable_is_taken_away();
  return test_result();
}
