/* policy_tinylfu.c - W-TinyLFU (Einziger, Friedman, Manes, TinyLFU: A Highly Efficient Cache Admission Policy, ACM ToS
 * 2017): new rows enter a small window, a hundredth of the pool; the oldest of it and the one that the main part would
 * give up are compared by how often they were used lately, and the rarer one leaves.
 *
 * The paper asks one sketch about all keys. Here a row that is in counts in its own word, exactly and up to 15, so a touch
 * changes that word alone; when it leaves, its count goes into a table of the departed and comes back with it. A cell of
 * that table is the upper half of a word (policy_departed.c): 12 bits of the key's hash and the count. Each group of sixteen
 * gives up its rarest key for a new one, of equals the one that left first, so what was used often is remembered longest;
 * a stranger is taken for another key with probability 16 / 4,095. (A count-min sketch in as many bits answers nearly every
 * stranger with somebody's count: ten pools of keys depart while it ages once.)
 *
 * Uses count until a row has 15 of them, as in the paper's sketch, and when 2.5 pools of uses were counted all counts are
 * halved: those of rows that are in are rounded up, so that a key that is new does not displace one that was used before
 * for its age alone.
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
#define AGEING 5u    /* uses between two halvings, in half pools */
#define CELL_COUNT (UINT32_C(15) << 16)
#define CELL_KEY (~TS_LOW_HALF & ~CELL_COUNT)

static int64_t window_rank(uint32_t word) {
  if ((word & (TS_HELD | TS_OFFERED | WINDOW)) != (TS_HELD | WINDOW)) return -1;
  return (word & NUMBER_MASK) >> NUMBER_SHIFT;
}

/* ---- counts of the departed ---- */

static uint32_t fingerprint(uint64_t mixed) {
  uint32_t f = (uint32_t)(mixed & 4095);
  return (f == 0 ? 1 : f) << 20;
}

/* The count that a key left with, halved since as all others were; 0: it is not known. Its cell becomes free. */
static uint32_t recall(ts_policy *policy, uint64_t hash) {
  uint64_t mixed = ts_departed_mix(hash), n;
  ts_policy_word *cells = ts_departed_cells(policy, mixed, &n);
  for (uint64_t i = 0; i < n; i++) {
    uint32_t cell = ts_word_load(&cells[i]);
    if ((cell & CELL_KEY) != fingerprint(mixed)) continue;
    ts_word_put(&cells[i], ~TS_LOW_HALF, 0);
    return (cell & CELL_COUNT) >> 16;
  }
  return 0;
}

/* The group is in order of leaving, the latest first. A key that is rarer than all of its group is forgotten. */
static void remember(ts_policy *policy, uint64_t hash, uint32_t count) {
  uint64_t mixed = ts_departed_mix(hash), n, at = 0;
  ts_policy_word *cells = ts_departed_cells(policy, mixed, &n);
  uint32_t least = UINT32_MAX;
  for (uint64_t i = 0; i < n && least > 0; i++) {
    uint32_t cell = ts_word_load(&cells[i]), key = cell & CELL_KEY;
    uint32_t worth = key == 0 || key == fingerprint(mixed) ? 0 : 1 + ((cell & CELL_COUNT) >> 16);
    if (worth <= least) least = worth, at = i;
  }
  if (n == 0 || least > 1 + count) return;
  for (uint64_t i = at; i > 0; i--)
    ts_word_put(&cells[i], ~TS_LOW_HALF, ts_word_load(&cells[i - 1]) & ~TS_LOW_HALF);
  ts_word_put(&cells[0], ~TS_LOW_HALF, fingerprint(mixed) | count << 16);
}

static uint32_t aged(uint32_t word, uint32_t unused) {
  (void)unused;
  uint32_t count = ((word & COUNTS) + COUNT) / 2 & COUNTS, departed = (word & CELL_COUNT) / 2 & CELL_COUNT;
  return (word & ~(COUNTS | CELL_COUNT)) | count | departed;
}

static void age_if_due(ts_policy *policy) {
  if (2 * atomic_load_explicit(&policy->events, memory_order_relaxed) < AGEING * policy->rows) return;
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
  if (++policy->queue.in_number > rows_a_number(policy)) {
    policy->queue.in_number = 1;
    if (++policy->queue.number == NUMBERS) {
      ts_words_change(policy, renumbered, 0);
      policy->queue.number = NUMBERS / 2;
      ts_order_clear(&policy->queue.order);
    }
  }
  uint32_t before = recall(policy, hash), number = (uint32_t)policy->queue.number, count = TS_MIN(before + 1, 15) * COUNT;
  policy->queued++;
  ts_word_put(word, TS_LOW_HALF, number << NUMBER_SHIFT | count | WINDOW | TS_HELD);
  ts_order_push(&policy->queue.order, ts_order_key(number, slot));
}

static uint32_t touched(uint32_t word, uint32_t unused) {
  (void)unused;
  return ((word & COUNTS) == COUNTS ? word : word + COUNT) | USED;
}

static void touch(ts_policy *policy, ts_policy_word *const *words, uint32_t n) {
  uint32_t counted = 0;
  for (uint32_t i = 0; i < n; i++) counted += (ts_word_load(words[i]) & COUNTS) != COUNTS;
  if (counted > 0) atomic_fetch_add_explicit(&policy->events, counted, memory_order_relaxed);
  ts_words_touch(words, n, touched, 0);
}

static void removed(ts_policy *policy, uint32_t bits, uint64_t hash, bool evicted) {
  if (bits & WINDOW) policy->queued--;
  if (evicted) remember(policy, hash, (bits & COUNTS) / COUNT);
}

static void moved(ts_policy *policy, uint64_t to, uint32_t bits) {
  if (bits & WINDOW) ts_order_push(&policy->queue.order, ts_order_key((bits & NUMBER_MASK) >> NUMBER_SHIFT, to));
}

/* A pool that has filled up has all rows in the window: all but the newest become the main part. */
static uint32_t settled(uint32_t word, uint32_t from) {
  bool old = (word & WINDOW) && (word & NUMBER_MASK) >> NUMBER_SHIFT < from;
  return word & TS_HELD && old ? word & ~WINDOW : word;
}

static void settle(ts_policy *policy) {
  uint64_t numbers = TS_MAX(policy->rows / WINDOW_SHARE / rows_a_number(policy), 1);
  if (policy->queued <= policy->rows / 2 || policy->queue.number < numbers) return;
  ts_words_change(policy, settled, (uint32_t)(policy->queue.number + 1 - numbers));
  policy->queued = ts_words_count(policy, window_rank);
}

/* The oldest row of the window; it stays in the list. */
static ts_policy_word *oldest(ts_policy *policy, uint64_t *slot) {
  ts_order *order = &policy->queue.order;
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
      ts_order_pop(&policy->queue.order, &key);
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
