/* policy_s3fifo.c - S3-FIFO (Yang, Zhang, Qiu, Yue, Rashmi, SOSP 2023): three queues and no order of use. New rows enter
 * a small queue, a tenth of the pool; what was used there more than once moves on to the main queue, the rest leaves, and
 * its keys are remembered as ghosts. A key that comes back as a ghost enters the main queue at once. In the main queue
 * what was used gets another round for each use, three at most.
 *
 * The row's half of the word: two bits of use, the queue, and 11 bits of number in order of entry to its queue. A
 * thousandth of the pool's rows has the same number, and goes by slot: in pools of up to a thousand rows both queues are
 * exact. Numbers are moved down by a scan before they run out. A row that gets another round enters the main queue anew.
 *
 * The ghosts are 16-bit fingerprints in the other halves (policy_departed.c), as many as the pool has slots; each group
 * of sixteen is a queue of its own, so the ghosts are in order of leaving but for the chance of the groups, and a stranger
 * is taken for one with probability 16 / 65,535. */
#include "cache/policy_parts.h"

#define MAIN 4u
#define USE 8u /* the lowest of two bits */
#define USES (3u * USE)
#define NUMBER_SHIFT 5
#define NUMBERS 2048u
#define NUMBER_MASK (TS_LOW_HALF & ~((1u << NUMBER_SHIFT) - 1))
#define ORDERED 1000u /* parts of the pool that are told apart */

static inline int64_t rank_in(uint32_t word, uint32_t queue) {
  return (word & (TS_HELD | TS_OFFERED | MAIN)) == (TS_HELD | queue) ? (int64_t)((word & NUMBER_MASK) >> NUMBER_SHIFT) : -1;
}
static int64_t rank_small(uint32_t word) { return rank_in(word, 0); }
static int64_t rank_main(uint32_t word) { return rank_in(word, MAIN); }

static uint32_t renumbered(uint32_t word, uint32_t queue) {
  if ((word & (TS_HELD | MAIN)) != (TS_HELD | queue)) return word;
  uint32_t number = (word & NUMBER_MASK) >> NUMBER_SHIFT;
  number = number > NUMBERS / 2 ? number - NUMBERS / 2 : 0;
  return (word & ~NUMBER_MASK) | number << NUMBER_SHIFT;
}

/* The number of the next row that enters a queue: of the main one if `bits` has MAIN. */
static uint32_t next_number(ts_policy *policy, ts_queue *queue, uint32_t bits) {
  if (++queue->in_number > 1 + policy->rows / ORDERED) {
    queue->in_number = 1;
    if (++queue->number == NUMBERS) {
      ts_words_change(policy, renumbered, bits);
      queue->number = NUMBERS / 2;
      ts_order_clear(&queue->order);
    }
  }
  return (uint32_t)queue->number;
}

/* ---- ghosts ---- */

static uint32_t fingerprint(uint64_t mixed) {
  uint32_t f = (uint32_t)(mixed & 0xffff);
  return (f == 0 ? 1 : f) << 16;
}

/* Takes a key out of the ghosts; false if it is none. */
static bool ghost_returns(ts_policy *policy, uint64_t hash) {
  uint64_t mixed = ts_departed_mix(hash), n;
  ts_policy_word *cells = ts_departed_cells(policy, mixed, &n);
  for (uint64_t i = 0; i < n; i++) {
    if ((ts_word_load(&cells[i]) & ~TS_LOW_HALF) != fingerprint(mixed)) continue;
    for (; i + 1 < n; i++) ts_word_put(&cells[i], ~TS_LOW_HALF, ts_word_load(&cells[i + 1]) & ~TS_LOW_HALF);
    ts_word_put(&cells[n - 1], ~TS_LOW_HALF, 0);
    return true;
  }
  return false;
}

static void remember(ts_policy *policy, uint64_t hash) {
  uint64_t mixed = ts_departed_mix(hash), n;
  ts_policy_word *cells = ts_departed_cells(policy, mixed, &n);
  if (n == 0) return;
  for (uint64_t i = n - 1; i > 0; i--)
    ts_word_put(&cells[i], ~TS_LOW_HALF, ts_word_load(&cells[i - 1]) & ~TS_LOW_HALF);
  ts_word_put(&cells[0], ~TS_LOW_HALF, fingerprint(mixed));
}

/* ---- the queues ---- */

static void enter(ts_policy *policy, uint64_t slot, ts_policy_word *word, uint32_t bits) {
  ts_queue *queue = bits & MAIN ? &policy->main : &policy->queue;
  const uint32_t number = next_number(policy, queue, bits & MAIN);
  ts_word_put(word, TS_LOW_HALF, number << NUMBER_SHIFT | bits | TS_HELD);
  ts_order_push(&queue->order, ts_order_key(number, slot));
}

static void insert(ts_policy *policy, uint64_t slot, ts_policy_word *word, uint64_t hash) {
  const bool ghost = ghost_returns(policy, hash);
  policy->queued += !ghost;
  enter(policy, slot, word, ghost ? MAIN : 0);
}

static uint32_t touched(uint32_t word, uint32_t unused) {
  (void)unused;
  return (word & USES) == USES ? word : word + USE;
}

static void touch(ts_policy *policy, ts_policy_word *const *words, uint32_t n) {
  (void)policy;
  ts_words_touch(words, n, touched, 0);
}

static void removed(ts_policy *policy, uint32_t bits, uint64_t hash, bool evicted) {
  if (bits & MAIN) return;
  policy->queued--;
  if (evicted) remember(policy, hash);
}

static void moved(ts_policy *policy, uint64_t to, uint32_t bits) {
  ts_queue *queue = bits & MAIN ? &policy->main : &policy->queue;
  ts_order_push(&queue->order, ts_order_key((bits & NUMBER_MASK) >> NUMBER_SHIFT, to));
}

/* The oldest row of a queue, out of its list; NULL: none is left. */
static inline __attribute__((always_inline)) ts_policy_word *oldest(ts_policy *policy, ts_queue *queue,
                                                                    int64_t (*rank)(uint32_t word), uint64_t *slot) {
  uint64_t key;
  for (;;) {
    if (!ts_order_pop(&queue->order, &key)) {
      if (ts_order_fill(policy, &queue->order, 0, rank)) continue;
      return NULL;
    }
    *slot = ts_order_slot(key);
    ts_policy_word *word = ts_word_at(policy, *slot);
    if (word != NULL && rank(ts_word_load(word)) == ts_order_rank(key)) return word;
  }
}

/* The next row to leave the small queue; on the way, those used more than once go over to the main queue. NULL: none is
 * left; *left counts. */
static ts_policy_word *from_small(ts_policy *policy, uint64_t *left, uint64_t *slot) {
  for (;;) {
    ts_policy_word *word = oldest(policy, &policy->queue, rank_small, slot);
    if (word == NULL) {
      *left = 0;
      return NULL;
    }
    --*left;
    if ((ts_word_load(word) & USES) <= USE) return word;
    enter(policy, *slot, word, MAIN);
    policy->queued--;
  }
}

/* The next row to leave the main queue; on the way, those that were used go to its end. NULL: none is left. */
static ts_policy_word *from_main(ts_policy *policy, uint64_t *slot) {
  /* Three rounds take every use away; what is used again and again meanwhile has to leave all the same. */
  for (uint64_t patience = 4 * policy->rows;; patience--) {
    ts_policy_word *word = oldest(policy, &policy->main, rank_main, slot);
    if (word == NULL) return NULL;
    const uint32_t uses = ts_word_load(word) & USES;
    if (uses == 0 || patience == 0) return word;
    enter(policy, *slot, word, MAIN | (uses - USE));
  }
}

/* A pool that has filled up has all rows in the small queue: all but its newest tenth become the main queue, as in the authors'
 * own code (libCacheSim), so that loops and scans find something that stays. */
static uint32_t settled(uint32_t word, uint32_t from) {
  const int64_t number = rank_small(word);
  return number >= 0 && number < from ? word | MAIN : word;
}

static void settle(ts_policy *policy) {
  if (policy->queued < policy->rows) return;
  const uint64_t small = TS_MAX(policy->rows / 10 / (1 + policy->rows / ORDERED), 1);
  if (policy->queue.number < small) return;
  ts_words_change(policy, settled, (uint32_t)(policy->queue.number + 1 - small));
  policy->main.number = policy->queue.number;
  policy->main.in_number = 1;
  ts_order_clear(&policy->queue.order), ts_order_clear(&policy->main.order);
  policy->queued = ts_words_count(policy, rank_small);
}

static uint32_t victims(ts_policy *policy, uint32_t want, uint64_t *slots) {
  settle(policy);
  uint64_t small = policy->queued, slot = 0; /* rows in the small queue, not offered by this call */
  uint32_t given = 0;
  while (given < want) {
    ts_policy_word *word = small > 0 && small * 10 >= policy->rows ? from_small(policy, &small, &slot) : NULL;
    if (word == NULL) word = from_main(policy, &slot);
    if (word == NULL && small > 0) word = from_small(policy, &small, &slot);
    if (word == NULL) word = from_main(policy, &slot);
    if (word == NULL) break;
    ts_offer(slots, &given, slot, word);
  }
  return ts_offered(policy, slots, given);
}

const ts_policy_ops ts_policy_s3fifo = {TS_LOW_HALF, insert, touch, removed, moved, victims};
