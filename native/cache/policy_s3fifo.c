/* policy_s3fifo.c - S3-FIFO (Yang, Zhang, Qiu, Yue, Rashmi, SOSP 2023): three queues and no order of use. New rows enter a
 * small queue, a tenth of the pool; what was used there more than once moves on to the main queue, the rest leaves, and
 * its keys are remembered as ghosts. A key that comes back as a ghost enters the main queue at once. In the main queue
 * what was used gets another round for each use, three at most.
 *
 * The row's half of the word: two bits of use, the queue, and 11 bits of number in order of entry. Of each queue, a
 * thousandth of the pool's rows has the same number, and goes by slot: in pools of up to a thousand rows the queues are
 * exact. Numbers are moved down by a scan before they run out. The ghosts are 16-bit fingerprints in the other halves
 * (policy_departed.c), as many as the pool has slots; each group of eight is a queue of its own, so the ghosts are in
 * order of leaving but for the chance of the groups, and a stranger is taken for one with probability 8 / 65,535. */
#include "cache/policy_parts.h"

#define MAIN 4u
#define USE 8u /* the lowest of two bits */
#define USES (3u * USE)
#define NUMBER_SHIFT 5
#define NUMBERS 2048u
#define NUMBER_MASK (TS_LOW_HALF & ~((1u << NUMBER_SHIFT) - 1))
#define ORDERED 1000u /* parts of the pool that are told apart */

enum { SMALL_QUEUE, MAIN_QUEUE };

static int64_t rank(uint32_t word, uint32_t queue_bit) {
  if ((word & (TS_HELD | TS_OFFERED | MAIN)) != (TS_HELD | queue_bit)) return -1;
  return (word & NUMBER_MASK) >> NUMBER_SHIFT;
}
static int64_t small_rank(uint32_t word) { return rank(word, 0); }
static int64_t main_rank(uint32_t word) { return rank(word, MAIN); }

static uint32_t renumbered(uint32_t word, uint32_t queue_bit) {
  if (!(word & TS_HELD) || (word & MAIN) != queue_bit) return word;
  uint32_t number = (word & NUMBER_MASK) >> NUMBER_SHIFT;
  number = number > NUMBERS / 2 ? number - NUMBERS / 2 : 0;
  return (word & ~NUMBER_MASK) | number << NUMBER_SHIFT;
}

/* Puts a row at the end of a queue. */
static void enter(ts_policy *policy, uint64_t slot, ts_policy_word *word, int queue, uint32_t uses) {
  uint32_t bit = queue == MAIN_QUEUE ? MAIN : 0;
  if (++policy->in_number[queue] > 1 + policy->rows / ORDERED) {
    policy->in_number[queue] = 1;
    if (++policy->number[queue] == NUMBERS) {
      ts_words_change(policy, renumbered, bit);
      policy->number[queue] = NUMBERS / 2;
      ts_order_clear(&policy->orders[queue]);
    }
  }
  uint64_t number = policy->number[queue];
  ts_word_put(word, TS_LOW_HALF, (uint32_t)number << NUMBER_SHIFT | uses | bit | TS_HELD);
  ts_order_push(&policy->orders[queue], ts_order_key((int64_t)number, slot));
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

static void insert(ts_policy *policy, uint64_t slot, ts_policy_word *word, uint64_t hash) {
  int queue = ghost_returns(policy, hash) ? MAIN_QUEUE : SMALL_QUEUE;
  policy->queued[queue]++;
  enter(policy, slot, word, queue, 0);
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
  policy->queued[bits & MAIN ? MAIN_QUEUE : SMALL_QUEUE]--;
  if (evicted && !(bits & MAIN)) remember(policy, hash);
}

static void moved(ts_policy *policy, uint64_t to, uint32_t bits) {
  int queue = bits & MAIN ? MAIN_QUEUE : SMALL_QUEUE;
  ts_order_push(&policy->orders[queue], ts_order_key((bits & NUMBER_MASK) >> NUMBER_SHIFT, to));
}

static uint32_t victims(ts_policy *policy, uint32_t want, uint64_t *slots) {
  uint64_t left[2] = {policy->queued[SMALL_QUEUE], policy->queued[MAIN_QUEUE]}; /* not offered by this call */
  uint64_t steps = 0, key;
  uint32_t given = 0;
  bool in_small = false; /* the small queue is asked until one leaves or it is empty */
  while (given < want && left[SMALL_QUEUE] + left[MAIN_QUEUE] > 0) {
    in_small = left[SMALL_QUEUE] > 0 &&
               (in_small || left[SMALL_QUEUE] * 10 >= policy->rows || left[MAIN_QUEUE] == 0);
    int queue = in_small ? SMALL_QUEUE : MAIN_QUEUE;
    ts_order *order = &policy->orders[queue];
    if (!ts_order_pop(order, &key)) {
      if (!(in_small ? ts_order_fill(policy, order, 0, small_rank) : ts_order_fill(policy, order, 0, main_rank)))
        left[queue] = 0;
      continue;
    }
    ts_policy_word *word = ts_word_at(policy, ts_order_slot(key));
    if (word == NULL) continue;
    uint32_t w = ts_word_load(word);
    if (rank(w, in_small ? 0 : MAIN) != ts_order_rank(key)) continue;
    /* Every row has left its queue for good after four rounds, unless other threads go on touching it. */
    bool patient = ++steps <= 5 * policy->rows;
    if (in_small && (w & USES) > USE && patient) {
      policy->queued[SMALL_QUEUE]--, left[SMALL_QUEUE]--;
      policy->queued[MAIN_QUEUE]++, left[MAIN_QUEUE]++;
      enter(policy, ts_order_slot(key), word, MAIN_QUEUE, 0);
    } else if (!in_small && (w & USES) > 0 && patient) {
      enter(policy, ts_order_slot(key), word, MAIN_QUEUE, (w & USES) - USE);
    } else {
      ts_offer(slots, &given, ts_order_slot(key), word);
      left[queue]--;
      in_small = false;
    }
  }
  return ts_offered(policy, slots, given);
}

const ts_policy_ops ts_policy_s3fifo = {TS_LOW_HALF, insert, touch, removed, moved, victims};
