/* policy_lfu.c - the row that was used least often leaves; among equals, the one that was not used for longest. As in
 * DeepRec's LFU new rows enter with frequency 1; unlike there, frequencies age, so what was hot once leaves in the end.
 *
 * Ageing: each time ten times as many rows were looked up as the pool holds, every frequency is halved by a scan (the
 * "reset" of Einziger, Friedman and Manes, TinyLFU, ACM ToS 2017, with its sample of ten cache sizes). Frequencies stop
 * at 255, so a row that nobody asks for any more is down at 0, below every new row, after eight such periods at most.
 *
 * The word: 8 bits of frequency above 22 bits of stamp, together the rank. A stamp is the number of the touch call,
 * renumbered before it runs out as policy_lru.c does. */
#include "cache/policy_parts.h"

#define STAMP_SHIFT 2
#define FREQUENCY_SHIFT 24
#define STAMPS (UINT32_C(1) << (FREQUENCY_SHIFT - STAMP_SHIFT))
#define STAMP_MASK ((STAMPS - 1) << STAMP_SHIFT)
#define FLAGS ((UINT32_C(1) << STAMP_SHIFT) - 1)
#define HIGHEST 255u
#define PERIOD 10u /* of ageing, in pools */

static int64_t rank(uint32_t word) { return (word & FLAGS) == TS_HELD ? (int64_t)(word >> STAMP_SHIFT) : -1; }

static uint32_t renumbered(uint32_t word, uint32_t unused) {
  (void)unused;
  uint32_t stamp = (word & STAMP_MASK) >> STAMP_SHIFT;
  stamp = stamp < STAMPS / 2 ? stamp / 2 : stamp - STAMPS / 4;
  return word & TS_HELD ? (word & ~STAMP_MASK) | stamp << STAMP_SHIFT : word;
}

static uint32_t aged(uint32_t word, uint32_t unused) {
  (void)unused;
  return (word >> FREQUENCY_SHIFT) / 2 << FREQUENCY_SHIFT | (word & ((UINT32_C(1) << FREQUENCY_SHIFT) - 1));
}

static void catch_up(ts_policy *policy) {
  uint64_t time;
  while ((time = atomic_load_explicit(&policy->clock, memory_order_relaxed)) >= STAMPS / 4 * 3) {
    uint64_t past = time >= STAMPS ? time - (STAMPS - 1) : 0;
    ts_words_change(policy, renumbered, 0);
    atomic_fetch_sub_explicit(&policy->clock, past + STAMPS / 4, memory_order_relaxed);
    ts_order_clear(&policy->queue.order);
  }
  if (atomic_load_explicit(&policy->events, memory_order_relaxed) < PERIOD * policy->rows) return;
  atomic_store_explicit(&policy->events, 0, memory_order_relaxed);
  ts_words_change(policy, aged, 0);
  ts_order_clear(&policy->queue.order);
}

static uint32_t now(ts_policy *policy, uint32_t n) {
  atomic_fetch_add_explicit(&policy->events, n, memory_order_relaxed);
  uint64_t time = atomic_fetch_add_explicit(&policy->clock, 1, memory_order_relaxed) + 1;
  return (uint32_t)TS_MIN(time, STAMPS - 1) << STAMP_SHIFT;
}

static void insert(ts_policy *policy, uint64_t slot, ts_policy_word *word, uint64_t hash) {
  (void)hash;
  catch_up(policy);
  uint32_t new = UINT32_C(1) << FREQUENCY_SHIFT | now(policy, 1) | TS_HELD;
  ts_word_put(word, UINT32_MAX, new);
  ts_order_push(&policy->queue.order, ts_order_key(rank(new), slot));
}

static uint32_t touched(uint32_t word, uint32_t stamp) {
  uint32_t frequency = TS_MIN((word >> FREQUENCY_SHIFT) + 1, HIGHEST);
  return frequency << FREQUENCY_SHIFT | stamp | (word & FLAGS);
}

static void touch(ts_policy *policy, ts_policy_word *const *words, uint32_t n) {
  ts_words_touch(words, n, touched, now(policy, n));
}

static void moved(ts_policy *policy, uint64_t to, uint32_t bits) {
  if (bits & TS_HELD) ts_order_push(&policy->queue.order, ts_order_key(rank(bits), to));
}

static uint32_t victims(ts_policy *policy, uint32_t want, uint64_t *slots) {
  catch_up(policy);
  return ts_order_victims(policy, want, slots, rank);
}

const ts_policy_ops ts_policy_lfu = {UINT32_MAX, insert, touch, NULL, moved, victims};
