/* policy_parts.h - what the policies share: the policy's state, changes of words, and the list of candidates.
 *
 * The list of candidates (ts_order) stands in for the linked list that such policies have elsewhere. A key is a rank
 * (what the policy orders rows by, lowest first) and a slot. A scan over all words puts the lowest keys into a small
 * array; that array is a heap, so that rows which come in later with a low rank find their place in it. `bound` is what
 * makes it exact: every row with a key below it is in the list. A candidate counts only if its row still has the rank
 * it was listed with; touches can only have raised it, so such a row goes back into the list with the rank it has now.
 * With room for one candidate in 64 slots, a candidate costs about a hundred words of scanning. */
#ifndef TS_POLICY_PARTS_H
#define TS_POLICY_PARTS_H

#include "cache/policy.h"

#define TS_HELD TS_POLICY_HELD
#define TS_OFFERED 2u /* given out by the call in progress */
#define TS_LOW_HALF 0xffffu

#define TS_SLOT_BITS 33
#define TS_ORDER_INLINE 32u
#define TS_ORDER_LONGEST 16384u
#define TS_ORDER_SHARE 64u /* slots a candidate */

typedef struct ts_order {
  uint64_t *keys; /* a min-heap of rank << 33 | slot */
  uint32_t count, capacity;
  uint64_t bound;
  uint64_t inside[TS_ORDER_INLINE];
} ts_order;

/* Rows in an order, numbered as they enter. */
typedef struct ts_queue {
  ts_order order;
  uint64_t number;    /* given to who enters: sieve, s3fifo, tinylfu */
  uint64_t in_number; /* rows that got it: s3fifo, tinylfu */
} ts_queue;

typedef struct ts_policy_ops {
  uint32_t own; /* bits of the word that belong to the row */
  void (*insert)(ts_policy *policy, uint64_t slot, ts_policy_word *word, uint64_t hash);
  void (*touch)(ts_policy *policy, ts_policy_word *const *words, uint32_t n);
  /* `bits`: the row's part of the word as it was. */
  void (*removed)(ts_policy *policy, uint32_t bits, uint64_t hash, bool evicted); /* may be NULL */
  void (*moved)(ts_policy *policy, uint64_t to, uint32_t bits);                   /* may be NULL */
  uint32_t (*victims)(ts_policy *policy, uint32_t want, uint64_t *slots);
} ts_policy_ops;

struct ts_policy {
  ts_policy_pool pool;
  const ts_policy_ops *ops;
  /* What touches change. */
  _Alignas(64) _Atomic uint64_t clock; /* touch calls: lru, lfu */
  _Atomic uint64_t events;             /* rows touched since the last ageing: lfu, tinylfu */
  /* The rest is under the pool's lock. */
  _Alignas(64) uint64_t rows; /* held */
  uint64_t slots;             /* one above the highest seen */
  uint64_t hand;              /* a slot (clock, tinylfu) or a key (sieve) */
  uint64_t cells;             /* slots whose upper halves are the table of the departed */
  uint64_t queued;            /* rows in `queue`: s3fifo, tinylfu */
  ts_queue queue;             /* of all rows (lru, lfu, sieve), s3fifo's small queue, tinylfu's window */
  ts_queue main;              /* s3fifo's main queue */
};

extern const ts_policy_ops ts_policy_lru, ts_policy_lfu, ts_policy_clock, ts_policy_s3fifo, ts_policy_sieve,
    ts_policy_tinylfu;

/* ---- words ---- */

static inline uint32_t ts_word_load(const ts_policy_word *word) {
  return atomic_load_explicit(word, memory_order_relaxed);
}

/* Replaces the bits of the mask, whatever touches do to the others meanwhile; returns the word before. */
static inline uint32_t ts_word_put(ts_policy_word *word, uint32_t mask, uint32_t bits) {
  uint32_t old = ts_word_load(word);
  while (!atomic_compare_exchange_weak_explicit(word, &old, (old & ~mask) | bits, memory_order_relaxed,
                                                memory_order_relaxed))
    ;
  return old;
}

static inline ts_policy_word *ts_word_at(const ts_policy *policy, uint64_t slot) {
  uint64_t n;
  return policy->pool.span(policy->pool.context, slot, &n);
}

/* A touch of each word: next(word, argument) is what it becomes. An exchange that fails is not repeated: either
 * somebody else touched the row just now, or it has left. */
static inline __attribute__((always_inline)) void ts_words_touch(ts_policy_word *const *words, uint32_t n,
                                                                 uint32_t (*next)(uint32_t word, uint32_t argument),
                                                                 uint32_t argument) {
  for (uint32_t i = 0; i < n; i++) {
    uint32_t old = ts_word_load(words[i]);
    if (!(old & TS_HELD)) continue;
    uint32_t new = next(old, argument);
    if (new != old)
      atomic_compare_exchange_strong_explicit(words[i], &old, new, memory_order_relaxed, memory_order_relaxed);
  }
}

/* Changes every word under the pool's lock (ageing, renumbering): next(word, argument) is what it becomes. */
static inline __attribute__((always_inline)) void ts_words_change(ts_policy *policy,
                                                                  uint32_t (*next)(uint32_t word, uint32_t argument),
                                                                  uint32_t argument) {
  uint64_t n;
  for (uint64_t slot = 0;; slot += n) {
    ts_policy_word *words = policy->pool.span(policy->pool.context, slot, &n);
    if (n == 0) return;
    for (uint64_t i = 0; i < n; i++) {
      uint32_t old = ts_word_load(&words[i]), new;
      while ((new = next(old, argument)) != old &&
             !atomic_compare_exchange_weak_explicit(&words[i], &old, new, memory_order_relaxed, memory_order_relaxed))
        ;
    }
  }
}

/* Words that have a rank: rank(word) is negative for the others. */
static inline __attribute__((always_inline)) uint64_t ts_words_count(ts_policy *policy, int64_t (*rank)(uint32_t word)) {
  uint64_t n, count = 0;
  for (uint64_t slot = 0;; slot += n) {
    const ts_policy_word *words = policy->pool.span(policy->pool.context, slot, &n);
    if (n == 0) return count;
    for (uint64_t i = 0; i < n; i++) count += rank(ts_word_load(&words[i])) >= 0;
  }
}

/* ---- victims ---- */

/* Gives a slot out and marks it, so that the same call does not find it again. */
static inline void ts_offer(uint64_t *slots, uint32_t *given, uint64_t slot, ts_policy_word *word) {
  atomic_fetch_or_explicit(word, TS_OFFERED, memory_order_relaxed);
  slots[(*given)++] = slot;
}
/* Ends the call: takes the marks away. */
uint32_t ts_offered(ts_policy *policy, const uint64_t *slots, uint32_t given);

/* A walk over the slots from the policy's hand on. */
typedef struct ts_walk {
  ts_policy_word *word; /* at the hand */
  uint64_t left;        /* words side by side from here on */
  uint32_t wraps;       /* times the hand came to the end */
} ts_walk;

/* The word at the hand; NULL: the pool has no slot. */
static inline ts_policy_word *ts_walk_here(ts_policy *policy, ts_walk *walk) {
  if (walk->left > 0) return walk->word;
  walk->word = policy->pool.span(policy->pool.context, policy->hand, &walk->left);
  if (walk->left > 0) return walk->word;
  policy->hand = 0;
  walk->wraps++;
  walk->word = policy->pool.span(policy->pool.context, 0, &walk->left);
  return walk->left > 0 ? walk->word : NULL;
}
static inline void ts_walk_on(ts_policy *policy, ts_walk *walk) {
  policy->hand++;
  walk->word++;
  walk->left--;
}

/* ---- the list of candidates (policy_order.c) ---- */

static inline uint64_t ts_order_slot(uint64_t key) { return key & ((UINT64_C(1) << TS_SLOT_BITS) - 1); }
static inline int64_t ts_order_rank(uint64_t key) { return (int64_t)(key >> TS_SLOT_BITS); }
static inline uint64_t ts_order_key(int64_t rank, uint64_t slot) { return (uint64_t)rank << TS_SLOT_BITS | slot; }

void ts_order_init(ts_order *order);
void ts_order_free(ts_policy *policy, ts_order *order);
/* Forgets the candidates (ranks have changed, or the hand has jumped). */
static inline void ts_order_clear(ts_order *order) { order->count = 0, order->bound = 0; }
/* A row has this key now. */
void ts_order_push(ts_order *order, uint64_t key);
bool ts_order_pop(ts_order *order, uint64_t *key);

/* Parts of ts_order_fill that need not be inline. */
void ts_order_fit(ts_policy *policy, ts_order *order);
void ts_order_halve(ts_order *order);
void ts_order_heapify(ts_order *order);

#define TS_ORDER_SAMPLES 512u

/* A first guess of the bound, so that a scan that meets the rows in falling order does not fill the list over and over:
 * the eighth of 512 samples. */
static inline __attribute__((always_inline)) uint64_t ts_order_guess(const ts_policy *policy, uint64_t floor,
                                                                     int64_t (*rank)(uint32_t word)) {
  enum { LOWEST = 8 };
  uint64_t lowest[LOWEST], stride = policy->slots / TS_ORDER_SAMPLES, n;
  uint32_t count = 0;
  for (uint64_t slot = stride / 2; slot < policy->slots; slot += stride) {
    const ts_policy_word *word = policy->pool.span(policy->pool.context, slot, &n);
    if (n == 0) break;
    int64_t r = rank(ts_word_load(word));
    uint64_t key = ts_order_key(r, slot);
    if (r < 0 || key < floor || (count == LOWEST && key >= lowest[LOWEST - 1])) continue;
    uint32_t at = count < LOWEST ? count++ : LOWEST - 1;
    for (; at > 0 && lowest[at - 1] > key; at--) lowest[at] = lowest[at - 1];
    lowest[at] = key;
  }
  return count == LOWEST ? lowest[LOWEST - 1] : UINT64_MAX;
}

static inline __attribute__((always_inline)) void ts_order_scan(ts_policy *policy, ts_order *order, uint64_t floor,
                                                                uint64_t bound, int64_t (*rank)(uint32_t word)) {
  uint64_t n;
  uint32_t highest = (uint32_t)ts_order_rank(bound - 1);
  order->count = 0;
  order->bound = bound;
  for (uint64_t slot = 0;; slot += n) {
    const ts_policy_word *words = policy->pool.span(policy->pool.context, slot, &n);
    if (n == 0) return;
    for (uint64_t i = 0; i < n; i++) {
      uint32_t r = (uint32_t)rank(ts_word_load(&words[i])); /* a negative rank is above all others */
      if (TS_LIKELY(r > highest)) continue;
      uint64_t key = ts_order_key(r, slot + i);
      if (key >= order->bound || key < floor) continue;
      order->keys[order->count++] = key;
      if (order->count == order->capacity) {
        ts_order_halve(order);
        highest = (uint32_t)ts_order_rank(order->bound);
      }
    }
  }
}

/* Makes the list anew: the rows with the lowest keys from `floor` on. rank(word) is negative for what is not in this
 * order (no row, offered, in another queue). False: there is no row. */
static inline __attribute__((always_inline)) bool ts_order_fill(ts_policy *policy, ts_order *order, uint64_t floor,
                                                                int64_t (*rank)(uint32_t word)) {
  const uint64_t all = UINT64_C(1) << 63; /* ranks have 30 bits at most */
  ts_order_fit(policy, order);
  uint64_t bound = all;
  if (policy->slots > 8 * (uint64_t)order->capacity && policy->slots >= 4 * TS_ORDER_SAMPLES)
    bound = TS_MIN(all, ts_order_guess(policy, floor, rank));
  ts_order_scan(policy, order, floor, bound, rank);
  if (bound != all && order->count < order->capacity / 8) ts_order_scan(policy, order, floor, all, rank);
  ts_order_heapify(order);
  return order->count > 0;
}

/* Victims of a policy that is nothing but an order: lru, lfu. */
static inline __attribute__((always_inline)) uint32_t ts_order_victims(ts_policy *policy, uint32_t want,
                                                                       uint64_t *slots,
                                                                       int64_t (*rank)(uint32_t word)) {
  ts_order *order = &policy->queue.order;
  uint32_t given = 0;
  uint64_t key, patience = 4 * ((uint64_t)order->count + want) + 64;
  while (given < want) {
    if (!ts_order_pop(order, &key)) {
      if (!ts_order_fill(policy, order, 0, rank)) break;
      continue;
    }
    ts_policy_word *word = ts_word_at(policy, ts_order_slot(key));
    if (word == NULL) continue; /* the pool has given the slot up */
    int64_t now = rank(ts_word_load(word));
    if (now < 0) continue;
    /* Touched since: its place is further back. When other threads touch every candidate before it can be given out,
     * any row is as good as the other. */
    if (now != ts_order_rank(key) && patience > 0) {
      patience--;
      ts_order_push(order, ts_order_key(now, ts_order_slot(key)));
      continue;
    }
    ts_offer(slots, &given, ts_order_slot(key), word);
  }
  return ts_offered(policy, slots, given);
}

/* ---- the table of the departed (policy_departed.c) ---- */

/* The cells of a key: up to 16 upper halves side by side; *n is 0 when there are none. */
ts_policy_word *ts_departed_cells(ts_policy *policy, uint64_t mixed, uint64_t *n);
static inline uint64_t ts_departed_mix(uint64_t hash) { return ts_mix64(hash ^ UINT64_C(0x5851f42d4c957f2d)); }

#endif
