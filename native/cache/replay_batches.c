/* replay_batches.c - see replay_batches.h. Places are given out as in store/rows.c: the one freed last first. */
#include "cache/replay_batches.h"
#include "cache/key_table.h"

#include <stdlib.h>
#include <string.h>

#define PIECE 65536u
#define TOGETHER TS_POLICY_TOGETHER
#define NONE UINT32_MAX

struct ts_batches {
  ts_policy *policy;
  ts_key_table table; /* key -> slot */
  uint64_t capacity, rows, next;
  uint32_t first_free;
  uint32_t batch;
  ts_policy_word *words; /* by slot, and so are these: */
  uint32_t *entries;     /* place in the table, or the next free slot */
  uint32_t *seen;        /* the batch that asked for it last */
  /* The keys of a piece that were missed, each once: */
  int64_t *missed;
  uint32_t *times; /* how often */
  uint32_t missed_count;
  uint32_t *numbers; /* hash table of number + 1 */
};

#define NUMBERS (2 * PIECE)

static ts_policy_word *span(void *context, uint64_t first, uint64_t *n) {
  const ts_batches *b = context;
  *n = first < b->next ? b->next - first : 0;
  return *n == 0 ? NULL : b->words + first;
}

int32_t ts_batches_create(ts_policy_kind kind, uint64_t capacity, ts_batches **out) {
  *out = NULL;
  ts_batches *b = calloc(1, sizeof *b);
  if (b == NULL) return TS_ENOMEM;
  b->capacity = capacity;
  b->first_free = NONE;
  const uint64_t slots = TS_MAX(capacity, 1);
  b->words = calloc(slots, sizeof *b->words);
  b->entries = calloc(slots, sizeof *b->entries);
  b->seen = calloc(slots, sizeof *b->seen);
  b->missed = malloc(PIECE * sizeof *b->missed);
  b->times = malloc(PIECE * sizeof *b->times);
  b->numbers = calloc(NUMBERS, sizeof *b->numbers);
  const ts_policy_pool pool = {b, span, ts_policy_take, ts_policy_give_back};
  if (b->words == NULL || b->entries == NULL || b->seen == NULL || b->missed == NULL || b->times == NULL || b->numbers == NULL ||
      capacity >= UINT32_C(1) << 31 || !ts_key_table_init(&b->table, slots, 0.75) ||
      ts_policy_create(kind, &pool, &b->policy) != TS_OK) {
    ts_batches_destroy(b);
    return TS_ENOMEM;
  }
  *out = b;
  return TS_OK;
}

void ts_batches_destroy(ts_batches *b) {
  if (b == NULL) return;
  ts_policy_destroy(b->policy);
  ts_key_table_free(&b->table);
  free(b->words);
  free(b->entries);
  free(b->seen);
  free(b->missed);
  free(b->times);
  free(b->numbers);
  free(b);
}

uint64_t ts_batches_bytes(const ts_batches *b) {
  return sizeof *b + ts_key_table_bytes(&b->table) + b->capacity * 3 * sizeof(uint32_t) + PIECE * (sizeof *b->missed + sizeof *b->times) +
         NUMBERS * sizeof *b->numbers;
}

bool ts_batches_has(const ts_batches *b, int64_t key) {
  return ts_key_find(&b->table, key, ts_key_home(&b->table, ts_key_hash(key))) != TS_NO_ENTRY;
}

static void miss(ts_batches *b, int64_t key, uint64_t hash) {
  uint32_t at = (uint32_t)hash & (NUMBERS - 1);
  for (; b->numbers[at] != 0; at = (at + 1) & (NUMBERS - 1))
    if (b->missed[b->numbers[at] - 1] == key) {
      b->times[b->numbers[at] - 1]++;
      return;
    }
  b->times[b->missed_count] = 1;
  b->missed[b->missed_count++] = key;
  b->numbers[at] = b->missed_count;
}

static void forget_missed(ts_batches *b) {
  if (b->missed_count > NUMBERS / 16) {
    memset(b->numbers, 0, NUMBERS * sizeof *b->numbers);
  } else {
    /* Each number lies in the run that begins at its key's place; runs are cleared to their ends. */
    for (uint32_t i = 0; i < b->missed_count; i++)
      for (uint32_t at = (uint32_t)ts_key_hash(b->missed[i]) & (NUMBERS - 1); b->numbers[at] != 0; at = (at + 1) & (NUMBERS - 1))
        b->numbers[at] = 0;
  }
  b->missed_count = 0;
}

/* Up to 256 keys: those that are in are told to the policy. */
static void look_up(ts_batches *b, const int64_t *keys, uint32_t n, uint64_t *rows) {
  ts_policy_word *words[TOGETHER];
  uint64_t hashes[TOGETHER], found_hashes[TOGETHER];
  uint32_t found = 0;
  for (uint32_t i = 0; i < n; i++) {
    hashes[i] = ts_key_hash(keys[i]);
    ts_key_ask(&b->table, ts_key_home(&b->table, hashes[i]));
  }
  for (uint32_t i = 0; i < n; i++) {
    const uint32_t entry = ts_key_find(&b->table, keys[i], ts_key_home(&b->table, hashes[i]));
    if (entry == TS_NO_ENTRY) {
      miss(b, keys[i], hashes[i]);
      continue;
    }
    const uint32_t slot = *ts_key_word(&b->table, entry);
    *rows += b->seen[slot] != b->batch;
    b->seen[slot] = b->batch;
    words[found] = &b->words[slot];
    found_hashes[found++] = hashes[i];
  }
  ts_policy_touch(b->policy, words, found_hashes, found);
}

static void evict(ts_batches *b, uint32_t want) {
  uint64_t slots[TOGETHER];
  while (want > 0) {
    const uint32_t n = ts_policy_victims(b->policy, TS_MIN(want, TOGETHER), slots);
    if (n == 0) return;
    for (uint32_t i = 0; i < n; i++) {
      const uint32_t entry = b->entries[slots[i]];
      ts_policy_remove(b->policy, slots[i], &b->words[slots[i]], ts_key_hash(*ts_key_at(&b->table, entry)), true);
      ts_key_remove(&b->table, entry);
    }
    for (uint32_t i = 0; i < n; i++) {
      b->entries[slots[i]] = b->first_free;
      b->first_free = (uint32_t)slots[i];
    }
    b->rows -= n;
    want -= n;
  }
}

static void bring(ts_batches *b, const int64_t *keys, const uint32_t *times, uint32_t n) {
  uint64_t uses[TOGETHER];
  bool gets[TOGETHER];
  if (b->capacity - b->rows < n) evict(b, n - (uint32_t)(b->capacity - b->rows));
  for (uint32_t i = 0; i < n; i++) uses[i] = times[i];
  const uint64_t places = b->capacity - b->rows;
  ts_policy_choose(uses, n, places, gets);
  for (uint32_t i = 0; i < n; i++) {
    if (!gets[i]) continue;
    uint32_t slot = b->first_free;
    if (slot != NONE) b->first_free = b->entries[slot];
    else slot = (uint32_t)b->next++;
    const uint64_t hash = ts_key_hash(keys[i]);
    b->entries[slot] = ts_key_add(&b->table, keys[i], ts_key_home(&b->table, hash), slot);
    b->seen[slot] = b->batch;
    ts_policy_insert(b->policy, slot, &b->words[slot], hash);
    ts_policy_repeat(b->policy, &b->words[slot], hash, times[i] - 1);
  }
  b->rows += TS_MIN(n, places);
}

void ts_batches_run(ts_batches *b, const int64_t *keys, uint64_t n, uint64_t *rows, uint64_t *misses) {
  if (++b->batch == 0) { /* after four thousand million batches numbers begin anew */
    memset(b->seen, 0, TS_MAX(b->capacity, 1) * sizeof *b->seen);
    b->batch = 1;
  }
  for (uint64_t first = 0; first < n; first += PIECE) {
    const uint64_t end = TS_MIN(n, first + PIECE);
    for (uint64_t at = first; at < end; at += TOGETHER)
      look_up(b, keys + at, (uint32_t)TS_MIN(end - at, TOGETHER), rows);
    *rows += b->missed_count;
    *misses += b->missed_count;
    for (uint32_t at = 0; at < b->missed_count; at += TOGETHER)
      bring(b, b->missed + at, b->times + at, TS_MIN(b->missed_count - at, TOGETHER));
    forget_missed(b);
  }
}
