/* replay.c - a stream of keys through a cache of a given size under a policy: the store's policies themselves, over a
 * flat array of words, evicting one entry whenever a key comes to a full cache. LRU and SIEVE have a faster
 * way (replay_log.c). */
#include "cache/opt.h"
#include "cache/policy.h"
#include "cache/replay_log.h"
#include "cache/slot_map.h"

#include <stdlib.h>
#include <string.h>

typedef struct cache {
  ts_policy_word *words;
  uint64_t slots, used;
  ts_slot_map map;
  ts_policy *policy;
} cache;

static ts_policy_word *span(void *context, uint64_t first, uint64_t *n) {
  const cache *c = context;
  *n = first < c->slots ? c->slots - first : 0;
  return *n == 0 ? NULL : c->words + first;
}

static bool access_key(cache *c, int64_t key) {
  uint64_t hash = ts_slot_map_hash(key);
  uint32_t slot = ts_slot_map_find(&c->map, key);
  if (slot != TS_NO_SLOT) {
    ts_policy_word *word = &c->words[slot];
    ts_policy_touch(c->policy, &word, &hash, 1);
    return true;
  }
  if (c->used < c->slots) {
    slot = (uint32_t)c->used++;
  } else {
    uint64_t victim;
    ts_policy_victims(c->policy, 1, &victim); /* a full pool always has one */
    slot = (uint32_t)victim;
    ts_policy_remove(c->policy, victim, &c->words[slot], ts_slot_map_hash(c->map.keys[slot]), true);
    ts_slot_map_remove(&c->map, slot);
  }
  ts_slot_map_add(&c->map, key, slot);
  ts_policy_insert(c->policy, slot, &c->words[slot], hash);
  return false;
}

static int32_t replay(ts_policy_kind kind, uint64_t capacity, const int64_t *keys, uint64_t n, uint64_t *hits) {
  cache c = {.slots = TS_MIN(capacity, n)};
  *hits = 0;
  if (n == 0) return TS_OK;
  const ts_policy_pool pool = {&c, span, ts_policy_take, ts_policy_give_back};
  c.words = calloc(c.slots, sizeof *c.words);
  int32_t status = TS_ENOMEM;
  if (c.words != NULL && ts_slot_map_init(&c.map, c.slots)) status = ts_policy_create(kind, &pool, &c.policy);
  if (status == TS_OK)
    for (uint64_t i = 0; i < n; i++) *hits += access_key(&c, keys[i]);
  ts_policy_destroy(c.policy);
  ts_slot_map_free(&c.map);
  free(c.words);
  return status;
}

static int32_t unknown(const char *policy, ts_err err) {
  ts_text names = {0};
  for (const char *const *name = ts_policy_names; *name != NULL; name++) ts_text_add(&names, "%s, ", *name);
  ts_text_add(&names, "opt");
  char list[128] = "";
  ts_text_return(&names, list, sizeof list, NULL);
  return ts_fail(err, TS_EINVAL, "Cannot replay the stream: policy is \"%s\"; give one of %s", policy, list);
}

int32_t ts_cache_replay(const char *policy, uint64_t capacity, const int64_t *keys, uint64_t n, uint64_t *hits,
                        char *text, uint32_t text_cap) {
  ts_err err = {text, text_cap};
  if (policy == NULL || hits == NULL || (keys == NULL && n > 0))
    return ts_fail(err, TS_EINVAL, "Cannot replay the stream: %s is NULL",
                   policy == NULL ? "policy" : hits == NULL ? "hits" : "keys");
  if (capacity == 0) return ts_fail(err, TS_EINVAL, "Cannot replay the stream: capacity is 0; give at least 1 row");
  if (n >= TS_NO_SLOT)
    return ts_fail(err, TS_EINVAL, "Cannot replay the stream: %llu keys are more than the 4,294,967,294 of one replay",
                   (unsigned long long)n);
  int32_t status;
  uint64_t found = 0;
  if (strcmp(policy, "opt") == 0) {
    status = ts_opt_replay(capacity, keys, n, 0, &found, NULL);
  } else {
    int kind = 0;
    while (ts_policy_names[kind] != NULL && strcmp(policy, ts_policy_names[kind]) != 0) kind++;
    if (ts_policy_names[kind] == NULL) return unknown(policy, err);
    status = kind == TS_LRU     ? ts_lru_replay(capacity, keys, n, 0, &found, NULL)
             : kind == TS_SIEVE ? ts_sieve_replay(capacity, keys, n, 0, &found, NULL)
                                : replay((ts_policy_kind)kind, capacity, keys, n, &found);
  }
  if (status != TS_OK)
    return ts_fail(err, status, "Cannot replay the stream: out of memory for %llu keys in a cache of %llu rows",
                   (unsigned long long)n, (unsigned long long)TS_MIN(capacity, n));
  *hits = found;
  return TS_OK;
}
