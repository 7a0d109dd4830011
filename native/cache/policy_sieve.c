/* policy_sieve.c - SIEVE (Zhang, Yang, Yue, Vigfusson, Rashmi, NSDI 2024): a queue in order of entry in which nothing
 * moves, and a hand that goes from its old end to its new one. A row visited since the hand last passed loses its mark
 * and stays where it is, the first unvisited one leaves; behind the hand collect the rows worth keeping, before it the
 * new ones must prove themselves.
 *
 * The word: 29 bits of the row's number in order of entry, and the mark. The hand is a key of that order, and the list
 * of candidates holds the rows next to it; exact until numbers run out and are renumbered (as policy_lru.c does). */
#include "cache/policy_parts.h"

#define VISITED 4u
#define NUMBER_SHIFT 3
#define NUMBERS (UINT32_C(1) << 29)
#define FLAGS ((UINT32_C(1) << NUMBER_SHIFT) - 1)

static int64_t rank(uint32_t word) {
  return (word & (TS_HELD | TS_OFFERED)) == TS_HELD ? (int64_t)(word >> NUMBER_SHIFT) : -1;
}

static uint32_t pressed(uint32_t number) { return number < NUMBERS / 2 ? number / 2 : number - NUMBERS / 4; }

static uint32_t renumbered(uint32_t word, uint32_t unused) {
  (void)unused;
  return word & TS_HELD ? pressed(word >> NUMBER_SHIFT) << NUMBER_SHIFT | (word & FLAGS) : word;
}

static void insert(ts_policy *policy, uint64_t slot, ts_policy_word *word, uint64_t hash) {
  (void)hash;
  if (policy->queue.number == NUMBERS - 1) {
    ts_words_change(policy, renumbered, 0);
    policy->queue.number = pressed(NUMBERS - 1);
    policy->hand = ts_order_key(pressed((uint32_t)ts_order_rank(policy->hand)), ts_order_slot(policy->hand));
    ts_order_clear(&policy->queue.order);
  }
  uint32_t number = (uint32_t)++policy->queue.number;
  ts_word_put(word, UINT32_MAX, number << NUMBER_SHIFT | TS_HELD);
  ts_order_push(&policy->queue.order, ts_order_key(number, slot));
}

static uint32_t touched(uint32_t word, uint32_t unused) {
  (void)unused;
  return word | VISITED;
}

static void touch(ts_policy *policy, ts_policy_word *const *words, uint32_t n) {
  (void)policy;
  ts_words_touch(words, n, touched, 0);
}

static void moved(ts_policy *policy, uint64_t to, uint32_t bits) {
  uint64_t key = ts_order_key(bits >> NUMBER_SHIFT, to);
  if (bits & TS_HELD && key >= policy->hand) ts_order_push(&policy->queue.order, key);
}

static void back_to_the_oldest(ts_policy *policy) {
  policy->hand = 0;
  ts_order_clear(&policy->queue.order);
}

static uint32_t victims(ts_policy *policy, uint32_t want, uint64_t *slots) {
  ts_order *order = &policy->queue.order;
  uint32_t given = 0, rounds = 0;
  uint64_t key, seen = 0;
  while (given < want) {
    if (seen >= policy->rows) {
      seen = 0;
      if (++rounds == 3) break;
    }
    if (!ts_order_pop(order, &key)) {
      if (ts_order_fill(policy, order, policy->hand, rank)) continue;
      if (policy->hand == 0) break;
      back_to_the_oldest(policy);
      continue;
    }
    ts_policy_word *word = ts_word_at(policy, ts_order_slot(key));
    if (word == NULL) continue;
    uint32_t w = ts_word_load(word);
    if (rank(w) != ts_order_rank(key)) continue;
    seen++;
    policy->hand = key + 1;
    if (w & VISITED && rounds < 2) {
      atomic_fetch_and_explicit(word, ~VISITED, memory_order_relaxed);
      continue;
    }
    ts_offer(slots, &given, ts_order_slot(key), word);
    if (w >> NUMBER_SHIFT == policy->queue.number) back_to_the_oldest(policy); /* the newest: nothing to go on to */
  }
  return ts_offered(policy, slots, given);
}

const ts_policy_ops ts_policy_sieve = {UINT32_MAX, insert, touch, NULL, moved, victims};
