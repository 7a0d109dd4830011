/* policy.c - creation of a policy by name, and what is the same for each of them (see policy.h). */
#include "cache/policy_parts.h"

#include <stdlib.h>
#include <string.h>

void *ts_policy_take(void *context, uint64_t bytes) {
  (void)context;
  return aligned_alloc(64, TS_ROUND_UP(bytes, 64u));
}

void ts_policy_give_back(void *context, void *memory, uint64_t bytes) {
  (void)context, (void)bytes;
  free(memory);
}

const char *const ts_policy_names[TS_POLICIES + 1] = {"lru", "lfu", "clock", "s3fifo", "sieve", "tinylfu", NULL};

static const ts_policy_ops *const all_ops[TS_POLICIES] = {&ts_policy_lru,    &ts_policy_lfu,   &ts_policy_clock,
                                                          &ts_policy_s3fifo, &ts_policy_sieve, &ts_policy_tinylfu};

int32_t ts_policy_create(ts_policy_kind kind, const ts_policy_pool *pool, ts_policy **out) {
  *out = NULL;
  ts_policy *policy = pool->take(pool->context, sizeof *policy);
  if (policy == NULL) return TS_EFULL;
  memset(policy, 0, sizeof *policy);
  policy->pool = *pool;
  policy->ops = all_ops[kind];
  ts_order_init(&policy->queue.order);
  ts_order_init(&policy->main.order);
  *out = policy;
  return TS_OK;
}

void ts_policy_destroy(ts_policy *policy) {
  if (policy == NULL) return;
  ts_order_free(policy, &policy->queue.order);
  ts_order_free(policy, &policy->main.order);
  policy->pool.give_back(policy->pool.context, policy, sizeof *policy);
}

void ts_policy_insert(ts_policy *policy, uint64_t slot, ts_policy_word *word, uint64_t hash) {
  policy->rows++;
  if (slot >= policy->slots) policy->slots = slot + 1;
  policy->ops->insert(policy, slot, word, hash);
}

void ts_policy_touch(ts_policy *policy, ts_policy_word *const *words, const uint64_t *hashes, uint32_t n) {
  (void)hashes; /* a row's history is in its word while it is in */
  if (n > 0) policy->ops->touch(policy, words, n);
}

void ts_policy_repeat(ts_policy *policy, ts_policy_word *word, uint64_t hash, uint64_t times) {
  ts_policy_word *words[64];
  uint64_t hashes[64];
  for (uint32_t i = 0; i < 64 && i < times; i++) words[i] = word, hashes[i] = hash;
  for (uint64_t first = 0; first < times; first += 64)
    ts_policy_touch(policy, words, hashes, (uint32_t)TS_MIN(times - first, 64u));
}

static int ascending(const void *a, const void *b) {
  const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return x < y ? -1 : x > y;
}

void ts_policy_choose(const uint64_t *counts, uint32_t n, uint64_t places, bool *gets) {
  uint64_t keys[TS_POLICY_TOGETHER];
  for (uint32_t i = 0; i < n; i++) gets[i] = places >= n;
  if (places >= n || places == 0) return;
  const uint64_t most = UINT64_MAX >> 8;
  for (uint32_t i = 0; i < n; i++) keys[i] = (most - TS_MIN(counts[i], most)) << 8 | i;
  qsort(keys, n, sizeof *keys, ascending);
  for (uint64_t i = 0; i < places; i++) gets[keys[i] & 255] = true;
}

void ts_policy_remove(ts_policy *policy, uint64_t slot, ts_policy_word *word, uint64_t hash, bool evicted) {
  (void)slot;
  policy->rows--;
  uint32_t bits = ts_word_put(word, policy->ops->own, 0) & policy->ops->own;
  if (policy->ops->removed != NULL) policy->ops->removed(policy, bits, hash, evicted);
}

void ts_policy_move(ts_policy *policy, uint64_t from, ts_policy_word *from_word, uint64_t to, ts_policy_word *to_word) {
  (void)from;
  if (to >= policy->slots) policy->slots = to + 1;
  uint32_t own = policy->ops->own, bits = ts_word_put(from_word, own, 0) & own;
  ts_word_put(to_word, own, bits);
  if (policy->ops->moved != NULL) policy->ops->moved(policy, to, bits);
}

uint32_t ts_policy_victims(ts_policy *policy, uint32_t want, uint64_t *slots) {
  return want == 0 || policy->rows == 0 ? 0 : policy->ops->victims(policy, want, slots);
}
