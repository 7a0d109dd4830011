/* The six policies as a pool sees them: victims are rows, each once, all of them when asked; orders are exact where
 * they are defined to be; history survives moves, renumbering, refused memory and touches that come too late. */
#include "cache/policy_parts.h"
#include "test/check.h"

#include <stdlib.h>
#include <string.h>

#define SPAN 96u /* words side by side; the pool's last span is shorter */

/* A pool in pieces, as the store's is. */
typedef struct pool {
  ts_policy_word *words;
  uint64_t slots;
  int64_t charged, limit;
  ts_policy *policy;
} pool;

static ts_policy_word *span(void *context, uint64_t first, uint64_t *n) {
  const pool *p = context;
  *n = first < p->slots ? TS_MIN(SPAN - first % SPAN, p->slots - first) : 0;
  return *n == 0 ? NULL : p->words + first;
}

static void *take(void *context, uint64_t bytes) {
  pool *p = context;
  if (p->charged + (int64_t)bytes > p->limit) return NULL;
  p->charged += (int64_t)bytes;
  return aligned_alloc(64, TS_ROUND_UP(bytes, 64u));
}

static void give_back(void *context, void *memory, uint64_t bytes) {
  pool *p = context;
  p->charged -= (int64_t)bytes;
  free(memory);
}

static void open_pool(pool *p, ts_policy_kind kind, uint64_t slots, int64_t limit) {
  *p = (pool){.words = calloc(slots, sizeof(ts_policy_word)), .slots = slots, .limit = limit};
  const ts_policy_pool ops = {p, span, take, give_back};
  CHECK(ts_policy_create(kind, &ops, &p->policy) == TS_OK);
}

static void close_pool(pool *p) {
  ts_policy_destroy(p->policy);
  CHECK_MSG(p->charged == 0, "%lld bytes stay charged", (long long)p->charged);
  free(p->words);
}

static uint64_t hash_of(uint64_t key) { return ts_mix64(key + 1); }
static void insert(pool *p, uint64_t slot, uint64_t key) {
  ts_policy_insert(p->policy, slot, &p->words[slot], hash_of(key));
}
static void evict(pool *p, uint64_t slot, uint64_t key) {
  ts_policy_remove(p->policy, slot, &p->words[slot], hash_of(key), true);
}
static void touch(pool *p, uint64_t slot) {
  ts_policy_word *word = &p->words[slot];
  const uint64_t hash = 0;
  ts_policy_touch(p->policy, &word, &hash, 1);
}
static uint64_t draw(uint64_t *counter) { return ts_random64(42, 7, (*counter)++); }

/* DeepRec's own test of its LRU. */
static void lru_has_the_exact_order(void) {
  pool p;
  open_pool(&p, TS_LRU, 30, INT64_MAX);
  for (uint64_t i = 0; i < 100; i++) {
    if (i < 30) insert(&p, i, i);
    else touch(&p, i % 30);
  }
  uint64_t slots[50];
  CHECK(ts_policy_victims(p.policy, 50, slots) == 30);
  for (uint64_t i = 0; i < 30; i++) CHECK_MSG(slots[i] == (10 + i) % 30, "victim %d is %d", (int)i, (int)slots[i]);
  for (uint64_t i = 0; i < 30; i++) evict(&p, slots[i], slots[i]);
  CHECK(ts_policy_victims(p.policy, 50, slots) == 0);
  close_pool(&p);
}

/* Rows come, are used, change slots and leave at random, and what is offered is held against what is there. */
static void victims_are_rows(ts_policy_kind kind, int64_t limit) {
  enum { SLOTS = 700, MOST = 800 };
  pool p;
  open_pool(&p, kind, SLOTS, limit);
  uint64_t key[SLOTS], slots[MOST], r = (uint64_t)kind * 1000000, rows = 0, next = 0;
  bool held[SLOTS] = {false}, offered[SLOTS];
  for (int step = 0; step < 6000; step++) {
    uint64_t slot = draw(&r) % SLOTS, other = draw(&r) % SLOTS, what = draw(&r) % 16;
    if (what < 8 && !held[slot]) {
      insert(&p, slot, key[slot] = next++ % 3000);
      held[slot] = true, rows++;
    } else if (what < 12) {
      touch(&p, slot); /* a free slot too: it must stay free */
    } else if (what == 12 && held[slot] && !held[other]) {
      ts_policy_move(p.policy, slot, &p.words[slot], other, &p.words[other]);
      held[slot] = false, held[other] = true, key[other] = key[slot];
    } else if (what == 13 && held[slot]) {
      ts_policy_remove(p.policy, slot, &p.words[slot], hash_of(key[slot]), false);
      held[slot] = false, rows--;
    } else if (what >= 14) {
      uint32_t want = what == 15 && step % 8 == 0 ? MOST : (uint32_t)(draw(&r) % 20);
      uint32_t given = ts_policy_victims(p.policy, want, slots);
      CHECK_MSG(given == TS_MIN(want, rows), "%s gives %u of %u rows, wanted %u", ts_policy_names[kind], given,
                (unsigned)rows, want);
      memset(offered, 0, sizeof offered);
      for (uint32_t i = 0; i < given; i++) {
        CHECK_MSG(slots[i] < SLOTS && held[slots[i]] && !offered[slots[i]], "%s, step %d: slot %d",
                  ts_policy_names[kind], step, (int)slots[i]);
        offered[slots[i]] = true;
        CHECK(!(ts_word_load(&p.words[slots[i]]) & TS_OFFERED));
        if (want == MOST || draw(&r) % 4 == 0) continue; /* the pool leaves some in */
        evict(&p, slots[i], key[slots[i]]);
        held[slots[i]] = false, rows--;
      }
    }
    if (step % 64 == 0)
      for (uint64_t s = 0; s < SLOTS; s++)
        CHECK_MSG(ts_policy_holds(&p.words[s]) == held[s], "%s, slot %d", ts_policy_names[kind], (int)s);
    if (test_failures > 20) break;
  }
  close_pool(&p);
}

/* ---- exact orders in a pool that is much larger than the list of candidates ---- */

#define LARGE 30000u

typedef struct wanted {
  uint64_t rank, slot;
} wanted;

static int by_rank(const void *a, const void *b) {
  const wanted *x = a, *y = b;
  if (x->rank != y->rank) return x->rank < y->rank ? -1 : 1;
  return x->slot < y->slot ? -1 : x->slot > y->slot;
}

static void check_order(pool *p, uint32_t want, uint64_t *slots, wanted *all, uint64_t n, const char *what) {
  qsort(all, n, sizeof *all, by_rank);
  uint32_t given = ts_policy_victims(p->policy, want, slots), wrong = 0;
  CHECK_MSG(given == TS_MIN(want, n), "%s: %u", what, given);
  for (uint32_t i = 0; i < given; i++) wrong += slots[i] != all[i].slot;
  CHECK_MSG(wrong == 0, "%s: %u of %u victims are out of order", what, wrong, given);
}

/* lru by last use, lfu by frequency and then last use; `start`: of the clock, so late that
 * stamps are renumbered on the way. */
static void order_is_exact(ts_policy_kind kind, bool falling, uint64_t start) {
  enum { VICTIMS = 300 };
  pool p;
  uint64_t *slots = calloc(LARGE + 5, sizeof *slots);
  open_pool(&p, kind, LARGE, INT64_MAX);
  uint64_t *used = calloc(LARGE, sizeof *used), *frequency = calloc(LARGE, sizeof *frequency), r = 99, time = 0;
  wanted *all = calloc(LARGE, sizeof *all);
  atomic_store(&p.policy->clock, start);
  for (uint64_t i = 0; i < LARGE; i++) {
    uint64_t slot = falling ? LARGE - 1 - i : i;
    insert(&p, slot, slot);
    used[slot] = ++time, frequency[slot] = 1;
  }
  for (int part = 0; part < 6; part++) {
    for (uint32_t call = 0; call < 60; call++) {
      ts_policy_word *words[64];
      uint64_t hashes[64] = {0};
      time++;
      for (uint32_t i = 0; i < 64; i++) {
        uint64_t slot = draw(&r) % LARGE;
        while (used[slot] == time) slot = draw(&r) % LARGE; /* once a call */
        words[i] = &p.words[slot];
        used[slot] = time, frequency[slot]++;
      }
      ts_policy_touch(p.policy, words, hashes, 64);
    }
    /* A row moves, a row leaves and another comes into its slot. */
    uint64_t gone = draw(&r) % LARGE, from = draw(&r) % LARGE;
    while (from == gone) from = draw(&r) % LARGE;
    ts_policy_remove(p.policy, gone, &p.words[gone], hash_of(gone), false);
    ts_policy_move(p.policy, from, &p.words[from], gone, &p.words[gone]);
    used[gone] = used[from], frequency[gone] = frequency[from];
    insert(&p, from, from);
    used[from] = ++time, frequency[from] = 1;
    for (uint64_t i = 0; i < LARGE; i++)
      all[i] = (wanted){(kind == TS_LFU ? frequency[i] << 40 : 0) + used[i], i};
    check_order(&p, part == 5 ? LARGE + 5 : VICTIMS, slots, all, LARGE, ts_policy_names[kind]);
    for (uint32_t i = 0; part < 5 && i < VICTIMS; i++) {
      evict(&p, slots[i], slots[i]);
      insert(&p, slots[i], slots[i]);
      used[slots[i]] = ++time, frequency[slots[i]] = 1;
    }
  }
  CHECK_MSG(start == 0 || atomic_load(&p.policy->clock) < start, "%s was not renumbered", ts_policy_names[kind]);
  free(used), free(frequency), free(all), free(slots);
  close_pool(&p);
}

/* New rows of an lfu pool that leaves nothing of frequency 1 must be found before the candidates listed earlier. */
static void lfu_takes_new_rows_first(void) {
  pool p;
  open_pool(&p, TS_LFU, 20000, INT64_MAX);
  for (uint64_t i = 0; i < 20000; i++) insert(&p, i, i);
  for (uint64_t i = 0; i < 20000; i++) touch(&p, i);
  uint64_t slot;
  for (uint64_t key = 20000; key < 20100; key++) {
    CHECK(ts_policy_victims(p.policy, 1, &slot) == 1);
    CHECK_MSG(slot == 0, "slot %d, which was used more often than the new row", (int)slot);
    evict(&p, slot, key - 1);
    insert(&p, slot, key);
  }
  close_pool(&p);
}

static void lfu_forgets_what_was_hot(void) {
  enum { ROWS = 500, HOT = 20 };
  pool p;
  open_pool(&p, TS_LFU, ROWS, INT64_MAX);
  for (uint64_t i = 0; i < ROWS; i++) insert(&p, i, i);
  for (int times = 0; times < 400; times++)
    for (uint64_t i = 0; i < HOT; i++) touch(&p, i);
  uint64_t slots[HOT + 40], now_hot = 0, once_hot = 0, r = 5, key = ROWS;
  uint32_t given = ts_policy_victims(p.policy, HOT + 40, slots);
  for (uint32_t i = 0; i < given; i++) once_hot += slots[i] < HOT;
  CHECK_MSG(once_hot == 0, "%d hot rows among the first victims", (int)once_hot);
  bool left[HOT] = {false};
  for (int step = 0; step < 100 * ROWS; step++) { /* others are hot now; one key in 50 is new */
    touch(&p, HOT + draw(&r) % 200);
    if (step % 50 != 0) continue;
    CHECK(ts_policy_victims(p.policy, 1, slots) == 1);
    if (slots[0] < HOT) left[slots[0]] = true;
    now_hot += step > 5 * ROWS && slots[0] >= HOT && slots[0] < HOT + 200;
    evict(&p, slots[0], key);
    insert(&p, slots[0], key++);
  }
  uint32_t gone = 0;
  for (uint32_t i = 0; i < HOT; i++) gone += left[i];
  CHECK_MSG(gone == HOT, "%u of %d once hot rows left", gone, HOT);
  CHECK_MSG(now_hot == 0, "%d rows left that are hot now", (int)now_hot);
  close_pool(&p);
}

/* Numbers of queues run out after very many rows; the order must be that of a pool whose numbers have not. */
static void numbers_are_renewed(ts_policy_kind kind) {
  enum { ROWS = 600 };
  pool p, q;
  open_pool(&p, kind, ROWS, INT64_MAX);
  open_pool(&q, kind, ROWS, INT64_MAX);
  uint64_t r = 17, same = 0, limit = kind == TS_SIEVE ? (UINT64_C(1) << 29) - 1000 : 0;
  for (uint64_t i = 0; i < ROWS; i++) {
    if (i == 0) p.policy->queue.number = limit;
    insert(&p, i, i), insert(&q, i, i);
  }
  for (uint64_t key = ROWS; key < ROWS + 3000; key++) {
    for (int i = 0; i < 2; i++) {
      uint64_t slot = draw(&r) % ROWS;
      touch(&p, slot), touch(&q, slot);
    }
    uint64_t a, b;
    CHECK(ts_policy_victims(p.policy, 1, &a) == 1 && ts_policy_victims(q.policy, 1, &b) == 1);
    same += a == b;
    evict(&p, a, key), insert(&p, a, key);
    evict(&q, b, key), insert(&q, b, key);
  }
  CHECK_MSG(same == 3000, "%s: %d of 3000 victims are the same", ts_policy_names[kind], (int)same);
  CHECK(p.policy->queue.number < limit);
  close_pool(&p), close_pool(&q);
}

/* Renumbering meets stamps of the older half too: they must stay in order, and before those of the newer half. */
static void old_stamps_stay_old(ts_policy_kind kind, uint64_t stamps) {
  enum { PART = 200 };
  pool p;
  open_pool(&p, kind, 3 * PART, INT64_MAX);
  for (uint64_t i = 0; i < 3 * PART; i++) {
    if (i < PART) atomic_store(&p.policy->clock, stamps / 2 - 8 * (PART - i)); /* up to the middle, eight apart */
    if (i == PART) atomic_store(&p.policy->clock, stamps / 4 * 3 - PART - 1);
    insert(&p, i, i);
  }
  uint64_t slots[3 * PART], wrong = 0;
  CHECK(atomic_load(&p.policy->clock) < stamps / 4 * 3);
  CHECK(ts_policy_victims(p.policy, 3 * PART, slots) == 3 * PART);
  for (uint64_t i = 0; i < 3 * PART; i++) wrong += slots[i] != i;
  CHECK_MSG(wrong == 0, "%s: %d of %d", ts_policy_names[kind], (int)wrong, 3 * PART);
  close_pool(&p);
}

/* A key's uses must come back with it, and strangers must not get them. */
static void tinylfu_remembers_the_departed(void) {
  enum { ROWS = 2000, KNOWN = 100, USES = 6 };
  pool p;
  open_pool(&p, TS_TINYLFU, ROWS, INT64_MAX);
  for (uint64_t i = 0; i < ROWS; i++) insert(&p, i, i);
  for (uint64_t i = 0; i < KNOWN; i++) {
    for (int use = 1; use < USES; use++) touch(&p, i);
    evict(&p, i, i);
  }
  uint32_t back = 0, strangers = 0;
  for (uint64_t i = 0; i < KNOWN; i++) {
    insert(&p, i, i);
    back += (ts_word_load(&p.words[i]) >> 4 & 15) == USES + 1;
    ts_policy_remove(p.policy, i, &p.words[i], hash_of(i), false);
    insert(&p, i, ROWS + i);
    strangers += (ts_word_load(&p.words[i]) >> 4 & 15) > 1;
  }
  CHECK_MSG(back == KNOWN, "%u of %d keys", back, KNOWN);
  CHECK_MSG(strangers < KNOWN / 20, "%u of %d strangers", strangers, KNOWN);
  close_pool(&p);
}

/* s3fifo's and tinylfu's numbers are short and run out often: a queue nobody uses must stay first in, first out. */
static void short_numbers_keep_the_queue(ts_policy_kind kind) {
  enum { ROWS = 900 };
  pool p;
  open_pool(&p, kind, ROWS, INT64_MAX);
  for (uint64_t i = 0; i < ROWS; i++) insert(&p, i, i);
  uint64_t slot, last = UINT64_MAX, wrong = 0, *came = calloc(ROWS, sizeof *came), key = ROWS, first;
  for (uint64_t i = 0; i < ROWS; i++) came[i] = i;
  /* Before tinylfu ages: then a new row wins over an old one. */
  const int steps = kind == TS_TINYLFU ? 8000 : 20000;
  for (int i = 0; i < steps; i++, key++) {
    CHECK(ts_policy_victims(p.policy, 1, &slot) == 1);
    first = came[slot];
    if (i > 1 && kind == TS_S3FIFO) wrong += first != last + 1;
    /* tinylfu: what came last leaves first, once the window holds a hundredth, of equals. */
    if (i > 1000 && kind == TS_TINYLFU) wrong += key - first > 20;
    last = first;
    ts_policy_remove(p.policy, slot, &p.words[slot], hash_of(first), false);
    insert(&p, slot, key);
    came[slot] = key;
  }
  CHECK_MSG(wrong == 0, "%s: %d of %d victims out of order", ts_policy_names[kind], (int)wrong, steps);
  free(came);
  close_pool(&p);
}

static void memory_is_charged(ts_policy_kind kind) {
  const uint64_t slots = 200000;
  pool p;
  open_pool(&p, kind, slots, INT64_MAX);
  for (uint64_t i = 0; i < slots; i++) insert(&p, i, i);
  uint64_t victim[64], key = slots;
  for (int round = 0; round < 100; round++) {
    CHECK(ts_policy_victims(p.policy, 64, victim) == 64);
    for (int i = 0; i < 64; i++) evict(&p, victim[i], key), insert(&p, victim[i], key++);
  }
  CHECK_MSG(p.charged <= (int64_t)(sizeof(ts_policy) + slots / (kind == TS_S3FIFO ? 4 : 8)), "%s: %lld bytes beside the words",
            ts_policy_names[kind], (long long)p.charged);
  close_pool(&p);
  const ts_policy_pool ops = {&p, span, take, give_back};
  p = (pool){.limit = 10};
  ts_policy *none;
  CHECK(ts_policy_create(kind, &ops, &none) == TS_EFULL && none == NULL && p.charged == 0);
}

/* ---- threads ---- */

typedef struct racers {
  pool *p;
  atomic_bool stop;
} racers;

static void *touches(void *argument) {
  racers *race = argument;
  uint64_t r = (uint64_t)(uintptr_t)&r, hashes[64] = {0};
  ts_policy_word *words[64];
  while (!atomic_load_explicit(&race->stop, memory_order_relaxed)) {
    for (int i = 0; i < 64; i++) words[i] = &race->p->words[draw(&r) % race->p->slots];
    ts_policy_touch(race->p->policy, words, hashes, 64);
  }
  return NULL;
}

static void late_touches_hold_nothing(ts_policy_kind kind) {
  enum { ROWS = 100, ROUNDS = 2000 };
  pool p;
  open_pool(&p, kind, ROWS, INT64_MAX);
  racers race = {.p = &p};
  pthread_t ids[2];
  for (uint64_t i = 0; i < ROWS; i++) insert(&p, i, i);
  for (int i = 0; i < 2; i++) CHECK(pthread_create(&ids[i], NULL, touches, &race) == 0);
  uint64_t slots[ROWS];
  for (int round = 0; round < ROUNDS; round++) {
    uint32_t want = round % 10 == 0 ? ROWS : 32, given = ts_policy_victims(p.policy, want, slots);
    CHECK_MSG(given == want, "%s: %u of %u", ts_policy_names[kind], given, want);
    for (uint32_t i = 0; i < given; i++) evict(&p, slots[i], slots[i]);
    for (uint32_t i = 0; i < given; i++) CHECK(!ts_policy_holds(&p.words[slots[i]]));
    for (uint32_t i = 0; i < given; i++) insert(&p, slots[i], slots[i]);
  }
  atomic_store(&race.stop, true);
  for (int i = 0; i < 2; i++) pthread_join(ids[i], NULL);
  close_pool(&p);
}

int main(void) {
  lru_has_the_exact_order();
  for (int kind = 0; kind < TS_POLICIES; kind++) {
    victims_are_rows(kind, INT64_MAX);
    victims_are_rows(kind, (int64_t)sizeof(ts_policy)); /* no list but the small one inside */
    memory_is_charged(kind);
    late_touches_hold_nothing(kind);
  }
  order_is_exact(TS_LRU, false, 0);
  order_is_exact(TS_LRU, true, 0);
  order_is_exact(TS_LFU, false, 0);
  order_is_exact(TS_LRU, false, (UINT64_C(3) << 28) - LARGE - 500);
  order_is_exact(TS_LFU, true, (UINT64_C(3) << 20) - LARGE - 500);
  old_stamps_stay_old(TS_LRU, UINT64_C(1) << 30);
  old_stamps_stay_old(TS_LFU, UINT64_C(1) << 22);
  tinylfu_remembers_the_departed();
  lfu_takes_new_rows_first();
  lfu_forgets_what_was_hot();
  numbers_are_renewed(TS_SIEVE);
  short_numbers_keep_the_queue(TS_S3FIFO);
  short_numbers_keep_the_queue(TS_TINYLFU);
  return test_result();
}
