/* policy_s3fifo.c - S3-FIFO (Yang, Zhang, Qiu, Yue, Rashmi, SOSP 2023): three queues and no order of use. New rows enter
 * a small queue, a tenth of the pool; what was used there more than once moves on to the main queue, the rest leaves, and
 * its keys are remembered as ghosts. A key that comes back as a ghost enters the main queue at once. In the main queue
 * what was used gets another round for each use, three at most.
 *
 * The row's half of the word: two bits of use, the queue, and 11 bits of number in order of entry to the small queue. A
 * thousandth of the pool's rows has the same number, and goes by slot: in pools of up to a thousand rows the small queue
 * is exact. Numbers are moved down by a scan before they run out. The main queue is a hand that goes round the slots, as
 * CLOCK is FIFO with second chances: a row that enters it does so where it lies, not at the end, and so has one use extra
 * where the hand would come in less than half a round. Rows then stay for a round on average, half to one and a half.
 *
 * The ghosts are 16-bit fingerprints in the other halves (policy_departed.c), as many as the pool has slots; each group
 * of eight is a queue of its own, so the ghosts are in order of leaving but for the chance of the groups, and a stranger
 * is taken for one with probability 8 / 65,535. */
#include "cache/policy_parts.h"

#define MAIN 4u
#define USE 8u /* the lowest of two bits */
#define USES (3u * USE)
#define NUMBER_SHIFT 5
#define NUMBERS 2048u
#define NUMBER_MASK (TS_LOW_HALF & ~((1u << NUMBER_SHIFT) - 1))
#define ORDERED 1000u /* parts of the pool that are told apart */

static int64_t rank(uint32_t word) {
  return (word & (TS_HELD | TS_OFFERED | MAIN)) == TS_HELD ? (int64_t)((word & NUMBER_MASK) >> NUMBER_SHIFT) : -1;
}

static uint32_t renumbered(uint32_t word, uint32_t unused) {
  (void)unused;
  if ((word & (TS_HELD | MAIN)) != TS_HELD) return word;
  uint32_t number = (word & NUMBER_MASK) >> NUMBER_SHIFT;
  number = number > NUMBERS / 2 ? number - NUMBERS / 2 : 0;
  return (word & ~NUMBER_MASK) | number << NUMBER_SHIFT;
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

/* What a row that enters the main queue at its slot gets, so that it stays for about one round as it would at the end of a
 * queue: from less than half a round before the hand on, one round more. */
static uint32_t entry(const ts_policy *policy, uint64_t slot) {
  uint64_t ahead = slot >= policy->hand ? slot - policy->hand : slot + policy->slots - policy->hand;
  return 2 * ahead < policy->slots ? MAIN | USE : MAIN;
}

static void insert(ts_policy *policy, uint64_t slot, ts_policy_word *word, uint64_t hash) {
  if (ghost_returns(policy, hash)) {
    ts_word_put(word, TS_LOW_HALF, entry(policy, slot) | TS_HELD);
    return;
  }
  if (++policy->in_number > 1 + policy->rows / ORDERED) {
    policy->in_number = 1;
    if (++policy->number == NUMBERS) {
      ts_words_change(policy, renumbered, 0);
      policy->number = NUMBERS / 2;
      ts_order_clear(&policy->order);
    }
  }
  policy->queued++;
  ts_word_put(word, TS_LOW_HALF, (uint32_t)policy->number << NUMBER_SHIFT | TS_HELD);
  ts_order_push(&policy->order, ts_order_key((int64_t)policy->number, slot));
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
  if (!(bits & MAIN)) ts_order_push(&policy->order, ts_order_key((bits & NUMBER_MASK) >> NUMBER_SHIFT, to));
}

/* The next row to leave the small queue; on the way, those used more than once go over to the main queue. NULL: none is
 * left; *left counts. */
static ts_policy_word *from_small(ts_policy *policy, uint64_t *left, uint64_t *slot) {
  uint64_t key;
  for (;;) {
    if (!ts_order_pop(&policy->order, &key)) {
      if (ts_order_fill(policy, &policy->order, 0, rank)) continue;
      *left = 0;
      return NULL;
    }
    *slot = ts_order_slot(key);
    ts_policy_word *word = ts_word_at(policy, *slot);
    if (word == NULL) continue;
    uint32_t w = ts_word_load(word);
    if (rank(w) != ts_order_rank(key)) continue;
    --*left;
    if ((w & USES) <= USE) return word;
    ts_word_put(word, NUMBER_MASK | USES | MAIN, entry(policy, *slot));
    policy->queued--;
  }
}

/* The next row to leave the main queue, at the hand. NULL: none is left. */
static ts_policy_word *from_main(ts_policy *policy, ts_walk *walk) {
  for (uint32_t wraps = walk->wraps; walk->wraps - wraps < 6; ts_walk_on(policy, walk)) {
    ts_policy_word *word = ts_walk_here(policy, walk);
    if (word == NULL) return NULL;
    uint32_t w = ts_word_load(word);
    if ((w & (TS_HELD | TS_OFFERED | MAIN)) != (TS_HELD | MAIN)) continue;
    /* Three rounds take every use away; what is used again and again meanwhile has to leave all the same. */
    if (!(w & USES) || walk->wraps - wraps > 4) return word;
    ts_word_put(word, USES, (w & USES) - USE);
  }
  return NULL;
}

static uint32_t victims(ts_policy *policy, uint32_t want, uint64_t *slots) {
  ts_walk walk = {0};
  uint64_t small = policy->queued, slot = 0; /* rows in the small queue, not offered by this call */
  uint32_t given = 0;
  while (given < want) {
    ts_policy_word *word = small > 0 && small * 10 >= policy->rows ? from_small(policy, &small, &slot) : NULL;
    if (word == NULL && (word = from_main(policy, &walk)) != NULL) slot = policy->hand;
    if (word == NULL && small > 0) word = from_small(policy, &small, &slot);
    if (word == NULL && (word = from_main(policy, &walk)) != NULL) slot = policy->hand;
    if (word == NULL) break;
    ts_offer(slots, &given, slot, word);
  }
  return ts_offered(policy, slots, given);
}

const ts_policy_ops ts_policy_s3fifo = {TS_LOW_HALF, insert, touch, removed, moved, victims};
