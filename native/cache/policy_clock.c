/* policy_clock.c - CLOCK (Corbato, A Paging Experiment with the Multics System, 1968): LRU approximated by one bit a
 * row. A hand goes round the slots; a row used since the hand last passed loses its bit and stays for another round, the
 * first without it is the victim. New rows start without the bit, so keys that come once leave at the first pass. */
#include "cache/policy_parts.h"

#define USED 4u

static void insert(ts_policy *policy, uint64_t slot, ts_policy_word *word, uint64_t hash) {
  (void)policy, (void)slot, (void)hash;
  ts_word_put(word, UINT32_MAX, TS_HELD);
}

static uint32_t touched(uint32_t word, uint32_t unused) {
  (void)unused;
  return word | USED;
}

static void touch(ts_policy *policy, ts_policy_word *const *words, uint32_t n) {
  (void)policy;
  ts_words_touch(words, n, touched, 0);
}

static uint32_t victims(ts_policy *policy, uint32_t want, uint64_t *slots) {
  ts_walk walk = {0};
  uint32_t given = 0, rounds = 0;
  for (uint64_t seen = 0; given < want; ts_walk_on(policy, &walk)) {
    if (seen >= policy->rows || walk.wraps >= 2) { /* a round is over */
      seen = walk.wraps = 0;
      if (++rounds == 3) break;
    }
    ts_policy_word *word = ts_walk_here(policy, &walk);
    if (word == NULL) break;
    uint32_t w = ts_word_load(word);
    if (!(w & TS_HELD)) continue;
    seen++;
    if (w & TS_OFFERED) continue;
    /* The second round finds no bit but those that were set meanwhile; the third asks no more. */
    if (w & USED && rounds < 2) atomic_fetch_and_explicit(word, ~USED, memory_order_relaxed);
    else ts_offer(slots, &given, policy->hand, word);
  }
  return ts_offered(policy, slots, given);
}

const ts_policy_ops ts_policy_clock = {UINT32_MAX, insert, touch, NULL, NULL, victims};
