/* key_sample.c - see key_sample.h. */
#include "simulator/key_sample.h"

#include <stdlib.h>
#include <string.h>

/* Kept keys between two looks at what is needed. */
#define CHECK_EVERY 65536u
#define AT_ONCE 4096u
#define LEAST_ROOM 1024u
/* What a curve takes at most for a kept lookup and a kept row: Belady's next uses and one of eight groups; the maps of Belady, or
 * a policy's words, entries and table. */
#define BYTES_A_LOOKUP 6u
#define BYTES_A_ROW 45u

bool ts_key_sample_init(ts_key_sample *s, uint64_t batch, uint64_t uncounted, uint64_t threshold) {
  *s = (ts_key_sample){.batch = batch, .uncounted = uncounted / batch * batch, .threshold = threshold, .next_check = CHECK_EVERY};
  if (batch == 1) return true;
  s->seen_room = TS_MIN(batch, LEAST_ROOM);
  return ts_key_table_init(&s->seen, s->seen_room, 0.5);
}

void ts_key_sample_free(ts_key_sample *s) {
  free(s->keys);
  free(s->ends);
  ts_key_table_free(&s->seen);
}

double ts_key_sample_rate(const ts_key_sample *s) { return s->threshold == 0 ? 1 : (double)s->threshold * 0x1.0p-64; }

uint64_t ts_key_sample_bytes(const ts_key_sample *s) {
  return sizeof *s + s->n * sizeof *s->keys + s->batches * sizeof *s->ends + ts_key_table_bytes(&s->seen);
}

static double kept_rows(const ts_key_sample *s) {
  return (double)ts_distinct_of(&s->distinct, s->added) * ts_key_sample_rate(s);
}

uint64_t ts_key_sample_needs(const ts_key_sample *s) {
  return s->n * BYTES_A_LOOKUP + (uint64_t)(kept_rows(s) * BYTES_A_ROW) + (s->batch > 1 ? s->n * sizeof *s->keys : 0);
}

ts_key_view ts_key_sample_view(const ts_key_sample *s) {
  ts_key_view v = {.keys = s->keys, .n = s->n, .first = s->added < s->uncounted ? s->n : s->first};
  if (s->batch == 1 || s->threshold == 0) {
    v.batch = s->batch;
    v.batches = (s->n + s->batch - 1) / s->batch;
  } else {
    v.ends = s->ends;
    v.closed = s->batches;
    v.batches = s->batches + (s->n > (s->batches == 0 ? 0 : s->ends[s->batches - 1]));
  }
  return v;
}

static bool end_batch(ts_key_sample *s) {
  if (s->threshold == 0) return true;
  const uint64_t last = s->batches == 0 ? 0 : s->ends[s->batches - 1];
  if (s->n == last) return true;
  if (s->batches == s->ends_room) {
    const uint64_t room = TS_MAX(2 * s->ends_room, LEAST_ROOM);
    uint64_t *more = realloc(s->ends, room * sizeof *more);
    if (more == NULL) return false;
    s->ends = more;
    s->ends_room = room;
  }
  s->ends[s->batches++] = s->n;
  return true;
}

/* Whether the batch under way has the key for the first time; *ok: the memory was there. */
static bool is_new(ts_key_sample *s, int64_t key, uint64_t hash, bool *ok) {
  uint64_t home = ts_key_home(&s->seen, hash);
  if (ts_key_find(&s->seen, key, home) != TS_NO_ENTRY) return false;
  if (s->seen_count == s->seen_room) {
    ts_key_table more;
    *ok = ts_key_table_init(&more, TS_MIN(2 * s->seen_room, s->batch), 0.5);
    if (!*ok) return false;
    for (uint64_t b = 0; b < s->seen.count; b++)
      for (uint32_t used = s->seen.buckets[b].used; used != 0; used &= used - 1) {
        const int64_t other = s->seen.buckets[b].keys[__builtin_ctz(used)];
        ts_key_add(&more, other, ts_key_home(&more, ts_key_hash(other)), 0);
      }
    ts_key_table_free(&s->seen);
    s->seen = more;
    s->seen_room = TS_MIN(2 * s->seen_room, s->batch);
    home = ts_key_home(&s->seen, hash);
  }
  ts_key_add(&s->seen, key, home, 0);
  s->seen_count++;
  return true;
}

/* Halves the rows that are kept. */
static bool thin(ts_key_sample *s) {
  const bool whole = s->threshold == 0, batches = s->batch > 1;
  const uint64_t count = whole ? s->n / s->batch : s->batches;
  uint64_t *ends = s->ends;
  if (whole && batches) {
    s->ends_room = TS_MAX(count, LEAST_ROOM);
    ends = malloc(s->ends_room * sizeof *ends);
    if (ends == NULL) return false;
  }
  s->threshold = whole ? UINT64_C(1) << 63 : s->threshold / 2;
  uint64_t kept = 0, b = 0, out = 0, first = s->first;
  for (uint64_t i = 0; i <= s->n; i++) {
    if (i == s->first) first = kept;
    for (; batches && b < count && i == (whole ? (b + 1) * s->batch : ends[b]); b++)
      if (kept > (out == 0 ? 0 : ends[out - 1])) ends[out++] = kept;
    if (i < s->n && ts_key_sample_hash(ts_key_hash(s->keys[i])) < s->threshold) s->keys[kept++] = s->keys[i];
  }
  s->n = kept;
  s->first = first;
  if (batches) {
    s->ends = ends;
    s->batches = out;
  }
  return true;
}

static bool check(ts_key_sample *s) {
  while (s->threshold != 1 && s->n > 0 &&
         ((s->most_bytes > 0 && ts_key_sample_bytes(s) + ts_key_sample_needs(s) > s->most_bytes) ||
          (s->most_rows > 0 && kept_rows(s) > (double)s->most_rows)))
    if (!thin(s)) return false;
  s->next_check = s->n + CHECK_EVERY;
  return true;
}

static bool reserve(ts_key_sample *s, uint64_t more) {
  if (s->n + more <= s->room) return true;
  const uint64_t room = TS_MAX(2 * s->room, s->n + more);
  int64_t *keys = realloc(s->keys, room * sizeof *keys);
  if (keys == NULL) return false;
  s->keys = keys;
  s->room = room;
  return true;
}

/* Keys that count one by one, no more than there is room for. */
static void append_single(ts_key_sample *s, const int64_t *keys, uint64_t n, int64_t mix) {
  const uint64_t threshold = s->threshold;
  int64_t *to = s->keys;
  uint64_t kept = s->n;
  for (uint64_t i = 0; i < n; i++) {
    const int64_t key = keys[i] ^ mix;
    const uint64_t hash = ts_key_hash(key);
    ts_distinct_add(&s->distinct, hash);
    to[kept] = key;
    kept += threshold == 0 || ts_key_sample_hash(hash) < threshold;
  }
  s->n = kept;
}

static bool append_batched(ts_key_sample *s, const int64_t *keys, uint64_t n, int64_t mix, bool counted) {
  bool ok = true;
  for (uint64_t i = 0; ok && i < n; i++) {
    const int64_t key = keys[i] ^ mix;
    const uint64_t hash = ts_key_hash(key);
    ts_distinct_add(&s->distinct, hash);
    s->rows += counted && is_new(s, key, hash, &ok);
    s->keys[s->n] = key;
    s->n += s->threshold == 0 || ts_key_sample_hash(hash) < s->threshold;
  }
  s->in_batch += n;
  if (s->in_batch < s->batch) return ok;
  s->in_batch = 0;
  if (s->seen_count > 0) memset(s->seen.buckets, 0, ts_key_table_bytes(&s->seen));
  s->seen_count = 0;
  return ok && end_batch(s);
}

bool ts_key_sample_append(ts_key_sample *s, const int64_t *keys, uint64_t n, int64_t mix) {
  bool ok = true;
  while (ok && n > 0) {
    if (s->added == s->uncounted) s->first = s->n;
    const bool counted = s->added >= s->uncounted;
    uint64_t some = TS_MIN(TS_MIN(n, AT_ONCE), s->next_check - s->n);
    if (!counted) some = TS_MIN(some, s->uncounted - s->added);
    if (s->batch > 1) some = TS_MIN(some, s->batch - s->in_batch);
    ok = reserve(s, some);
    if (!ok) break;
    if (s->batch > 1) ok = append_batched(s, keys, some, mix, counted);
    else append_single(s, keys, some, mix);
    s->rows += s->batch == 1 && counted ? some : 0;
    s->added += some;
    keys += some;
    n -= some;
    if (s->n == s->next_check) ok = ok && check(s);
  }
  return ok;
}
