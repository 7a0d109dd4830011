/* policy_lru.c - the row that was not used for the longest time leaves, exactly.
 *
 * The word is the stamp of the last touch: the number of the touch call, so rows of one call share one, and ties go by
 * slot. Stamps have 30 bits. Long before they run out, they are renumbered by a scan: the newer half of the range keeps
 * its distances, the older half is pressed together two to one, so no order is turned round, and only rows that were
 * not used in the last quarter of a billion calls can become ties. If nothing is inserted or evicted for another quarter
 * of a billion calls, the stamp stands still until then. */
#include "cache/policy_parts.h"

#define STAMP_SHIFT 2
#define STAMPS (UINT32_C(1) << 30)
#define FLAGS ((UINT32_C(1) << STAMP_SHIFT) - 1)

static int64_t rank(uint32_t word) { return (word & FLAGS) == TS_HELD ? (int64_t)(word >> STAMP_SHIFT) : -1; }

static uint32_t renumbered(uint32_t word, uint32_t unused) {
  (void)unused;
  uint32_t stamp = word >> STAMP_SHIFT;
  stamp = stamp < STAMPS / 2 ? stamp / 2 : stamp - STAMPS / 4;
  return word & TS_HELD ? stamp << STAMP_SHIFT | (word & FLAGS) : word;
}

static void renumber_if_late(ts_policy *policy) {
  while (atomic_load_explicit(&policy->clock, memory_order_relaxed) >= STAMPS / 4 * 3) {
    uint64_t now = atomic_load_explicit(&policy->clock, memory_order_relaxed);
    /* A clock past the end has given out the last stamp since. */
    uint64_t past = now >= STAMPS ? now - (STAMPS - 1) : 0;
    ts_words_change(policy, renumbered, 0);
    atomic_fetch_sub_explicit(&policy->clock, past + STAMPS / 4, memory_order_relaxed);
    ts_order_clear(&policy->queue.order);
  }
}

static uint32_t now(ts_policy *policy) {
  uint64_t time = atomic_fetch_add_explicit(&policy->clock, 1, memory_order_relaxed) + 1;
  return (uint32_t)TS_MIN(time, STAMPS - 1);
}

static void insert(ts_policy *policy, uint64_t slot, ts_policy_word *word, uint64_t hash) {
  (void)hash;
  renumber_if_late(policy);
  uint32_t stamp = now(policy);
  ts_word_put(word, UINT32_MAX, stamp << STAMP_SHIFT | TS_HELD);
  ts_order_push(&policy->queue.order, ts_order_key(stamp, slot));
}

static uint32_t touched(uint32_t word, uint32_t stamp) { return stamp << STAMP_SHIFT | (word & FLAGS); }

static void touch(ts_policy *policy, ts_policy_word *const *words, uint32_t n) {
  ts_words_touch(words, n, touched, now(policy));
}

static void moved(ts_policy *policy, uint64_t to, uint32_t bits) {
  if (bits & TS_HELD) ts_order_push(&policy->queue.order, ts_order_key(bits >> STAMP_SHIFT, to));
}

static uint32_t victims(ts_policy *policy, uint32_t want, uint64_t *slots) {
  renumber_if_late(policy);
  return ts_order_victims(policy, want, slots, rank);
}

const ts_policy_ops ts_policy_lru = {UINT32_MAX, insert, touch, NULL, moved, victims};
