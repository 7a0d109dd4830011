/* policy_tinylfu.c - W-TinyLFU (Einziger, Friedman, Manes, TinyLFU: A Highly Efficient Cache Admission Policy, ACM ToS
 * 2017): new rows enter a small window, a hundredth of the pool; the oldest of it and the one that the main part would
 * give up are compared by how often they were used lately, and the rarer one leaves.
 *
 * The paper asks one sketch about all keys. Here a row that is in counts in its own word, so a touch changes that word
 * alone; only when it leaves, its count goes into a sketch of the departed, and comes back with it. The sketch is a
 * count-min of four rows with 4-bit counters in the upper halves of the words (policy_departed.c): a key's eight
 * neighbouring cells, one of them a row, chosen by the hash; the counter of a row lies at the same place in each cell.
 * Counters keep the largest count put in, so keys that share one do not add up. All counts are halved when ten times
 * as many rows were used as the pool holds.
 *
 * The window is a queue by number (as in policy_s3fifo.c: a hundredth of the window shares one); the main part is a
 * CLOCK over the slots, whose hand waits at its candidate until that leaves or is used. */
#include "cache/policy_parts.h"

#define WINDOW 4u
#define USED 8u
#define COUNT 16u /* the lowest of four bits */
#define COUNTS (15u * COUNT)
#define NUMBER_SHIFT 8
#define NUMBERS 256u
#define NUMBER_MASK (TS_LOW_HALF & ~((1u << NUMBER_SHIFT) - 1))
#define WINDOW_SHARE 100u
#define ORDERED 100u /* parts of the window that are told apart */
#define PERIOD 10u   /* of ageing, in pools */

static int64_t window_rank(uint32_t word) {
  if ((word & (TS_HELD | TS_OFFERED | WINDOW)) != (TS_HELD | WINDOW)) return -1;
  return (word & NUMBER_MASK) >> NUMBER_SHIFT;
}

/* ---- the sketch ---- */

/* The cell of a row of the sketch, and its counter in there. */
static ts_policy_word *counter(ts_policy_word *cells, uint64_t n, uint64_t mixed, uint32_t row, uint32_t *shift) {
  *shift = 16 + 4 * row;
  return &cells[(mixed >> 3 * row & 7) % n];
}

static uint32_t recall(ts_policy *policy, uint64_t hash) {
  uint64_t mixed = ts_departed_mix(hash), n;
  ts_policy_word *cells = ts_departed_cells(policy, mixed, &n);
  uint32_t least = n == 0 ? 0 : 15, shift;
  for (uint32_t row = 0; row < 4 && n > 0; row++) {
    ts_policy_word *cell = counter(cells, n, mixed, row, &shift);
    least = TS_MIN(least, ts_word_load(cell) >> shift & 15);
  }
  return least;
}

static void remember(ts_policy *policy, uint64_t hash, uint32_t count) {
  uint64_t mixed = ts_departed_mix(hash), n;
  ts_policy_word *cells = ts_departed_cells(policy, mixed, &n);
  uint32_t shift;
  for (uint32_t row = 0; row < 4 && n > 0; row++) {
    ts_policy_word *cell = counter(cells, n, mixed, row, &shift);
    if ((ts_word_load(cell) >> shift & 15) < count) ts_word_put(cell, 15u << shift, count << shift);
  }
}

static uint32_t aged(uint32_t word, uint32_t unused) {
  (void)unused;
  uint32_t count = (word & COUNTS) / 2 & COUNTS;
  return (word >> 1 & 0x77770000u) | (word & TS_LOW_HALF & ~COUNTS) | count;
}

static void age_if_due(ts_policy *policy) {
  if (atomic_load_explicit(&policy->events, memory_order_relaxed) < PERIOD * policy->rows) return;
  atomic_store_explicit(&policy->events, 0, memory_order_relaxed);
  ts_words_change(policy, aged, 0);
}

/* ---- window and main part ---- */

static uint32_t renumbered(uint32_t word, uint32_t unused) {
  (void)unused;
  if ((word & (TS_HELD | WINDOW)) != (TS_HELD | WINDOW)) return word;
  uint32_t number = (word & NUMBER_MASK) >> NUMBER_SHIFT;
  number = number > NUMBERS / 2 ? number - NUMBERS / 2 : 0;
  return (word & ~NUMBER_MASK) | number << NUMBER_SHIFT;
}

static uint64_t rows_a_number(const ts_policy *policy) { return 1 + policy->rows / WINDOW_SHARE / ORDERED; }

static void insert(ts_policy *policy, uint64_t slot, ts_policy_word *word, uint64_t hash) {
  age_if_due(policy);
  atomic_fetch_add_explicit(&policy->events, 1, memory_order_relaxed);
  if (++policy->in_number > rows_a_number(policy)) {
    policy->in_number = 1;
    if (++policy->number == NUMBERS) {
      ts_words_change(policy, renumbered, 0);
      policy->number = NUMBERS / 2;
      ts_order_clear(&policy->order);
    }
  }
  uint32_t count = TS_MIN(recall(policy, hash) + 1, 15) * COUNT, number = (uint32_t)policy->number;
  policy->queued++;
  ts_word_put(word, TS_LOW_HALF, number << NUMBER_SHIFT | count | WINDOW | TS_HELD);
  ts_order_push(&policy->order, ts_order_key(number, slot));
}

static uint32_t touched(uint32_t word, uint32_t unused) {
  (void)unused;
  return ((word & COUNTS) == COUNTS ? word : word + COUNT) | USED;
}

static void touch(ts_policy *policy, ts_policy_word *const *words, uint32_t n) {
  atomic_fetch_add_explicit(&policy->events, n, memory_order_relaxed);
  ts_words_touch(words, n, touched, 0);
}

static void removed(ts_policy *policy, uint32_t bits, uint64_t hash, bool evicted) {
  if (bits & WINDOW) policy->queued--;
  if (evicted) remember(policy, hash, (bits & COUNTS) / COUNT);
}

static void moved(ts_policy *policy, uint64_t to, uint32_t bits) {
  if (bits & WINDOW) ts_order_push(&policy->order, ts_order_key((bits & NUMBER_MASK) >> NUMBER_SHIFT, to));
}

/* A pool that has filled up has all rows in the window: all but the newest become the main part. */
static uint32_t settled(uint32_t word, uint32_t from) {
  bool old = (word & WINDOW) && (word & NUMBER_MASK) >> NUMBER_SHIFT < from;
  return word & TS_HELD && old ? word & ~WINDOW : word;
}

static void settle(ts_policy *policy) {
  uint64_t n, numbers = TS_MAX(policy->rows / WINDOW_SHARE / rows_a_number(policy), 1);
  if (policy->queued <= policy->rows / 2 || policy->number < numbers) return;
  ts_words_change(policy, settled, (uint32_t)(policy->number + 1 - numbers));
  policy->queued = 0;
  for (uint64_t slot = 0;; slot += n) {
    ts_policy_word *words = policy->pool.span(policy->pool.context, slot, &n);
    if (n == 0) break;
    for (uint64_t i = 0; i < n; i++) policy->queued += window_rank(ts_word_load(&words[i])) >= 0;
  }
}

/* The oldest row of the window; it stays in the list. */
static ts_policy_word *oldest(ts_policy *policy, uint64_t *slot) {
  ts_order *order = &policy->order;
  for (;;) {
    if (order->count == 0 && !ts_order_fill(policy, order, 0, window_rank)) return NULL;
    *slot = ts_order_slot(order->keys[0]);
    ts_policy_word *word = ts_word_at(policy, *slot);
    if (word != NULL && window_rank(ts_word_load(word)) == ts_order_rank(order->keys[0])) return word;
    uint64_t stale;
    ts_order_pop(order, &stale);
  }
}

/* The row that the main part would give up; the hand stays there. */
static ts_policy_word *main_candidate(ts_policy *policy, ts_walk *walk) {
  for (uint64_t wraps = walk->wraps; walk->wraps - wraps < 4; ts_walk_on(policy, walk)) {
    ts_policy_word *word = ts_walk_here(policy, walk);
    if (word == NULL) return NULL;
    uint32_t w = ts_word_load(word);
    if ((w & (TS_HELD | TS_OFFERED | WINDOW)) != TS_HELD) continue;
    if (!(w & USED) || walk->wraps - wraps >= 2) return word;
    atomic_fetch_and_explicit(word, ~USED, memory_order_relaxed);
  }
  return NULL;
}

static uint32_t victims(ts_policy *policy, uint32_t want, uint64_t *slots) {
  age_if_due(policy);
  settle(policy);
  ts_walk walk = {0};
  uint64_t slot = 0, window = policy->queued, main_rows = policy->rows - window, key; /* not offered by this call */
  uint32_t given = 0;
  while (given < want && window + main_rows > 0) {
    ts_policy_word *old = window * WINDOW_SHARE > policy->rows || main_rows == 0 ? oldest(policy, &slot) : NULL;
    ts_policy_word *other = main_rows > 0 ? main_candidate(policy, &walk) : NULL;
    if (old == NULL && other == NULL) break;
    bool admit = old != NULL && other != NULL && (ts_word_load(old) & COUNTS) > (ts_word_load(other) & COUNTS);
    if (old != NULL) {
      ts_order_pop(&policy->order, &key);
      window--;
    }
    if (admit) {
      ts_word_put(old, WINDOW | USED, 0);
      policy->queued--;
      main_rows++;
    }
    if (old == NULL || admit) {
      ts_offer(slots, &given, policy->hand, other);
      ts_walk_on(policy, &walk);
      main_rows--;
    } else {
      ts_offer(slots, &given, slot, old);
    }
  }
  return ts_offered(policy, slots, given);
}

const ts_policy_ops ts_policy_tinylfu = {TS_LOW_HALF, insert, touch, removed, moved, victims};
