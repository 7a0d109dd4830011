/* curve_keys.c - curves of a stream of keys. */
#include "simulator/curve.h"

#include "cache/key_table.h"
#include "cache/opt.h"
#include "cache/replay_batches.h"
#include "cache/replay_log.h"
#include "simulator/stack_distance.h"

#include <stdlib.h>
#include <string.h>

#define SAMPLE UINT64_C(0x2545f4914f6cdd1d)

/* Keys in batches: batch b ends before ends[b]; the first `uncounted` batches only fill the caches. */
typedef struct stream {
  const int64_t *keys; /* `own`, or the caller's */
  int64_t *own;
  uint64_t *ends;
  uint64_t batches, uncounted;
  uint64_t bytes; /* of what was made for it, the most at any time */
} stream;

static void free_stream(stream *s) {
  free(s->own);
  free(s->ends);
}

static int32_t no_memory(ts_err err, uint64_t n) {
  return ts_fail(err, TS_ENOMEM, "Cannot make a miss-ratio curve of %llu keys: out of memory", (unsigned long long)n);
}

/* The batches of the stream: `once` with each row once in its batch, else with every lookup, as a policy is told of them; and of
 * these only rows whose hash is below the threshold (0: all). *rows: all that there are, each once a batch and sampled or not, in
 * the batches that count. */
static bool gather(const int64_t *keys, uint64_t n, const ts_curve_ask *ask, bool once, uint64_t threshold, stream *out,
                   uint64_t *rows) {
  const uint64_t batch = ask->batch, batches = (n + batch - 1) / batch, size = TS_MIN(batch, n);
  const bool whole = threshold == 0 && (!once || batch == 1); /* the caller's keys are it */
  ts_key_table seen = {0};
  uint64_t room = whole ? 0 : 1024, count = 0;
  *out = (stream){.keys = keys,
                  .own = whole ? NULL : malloc(room * sizeof(int64_t)),
                  .ends = malloc(TS_MAX(batches, 1) * sizeof(uint64_t)),
                  .batches = batches,
                  .uncounted = TS_MIN(ask->uncounted / batch, batches)};
  bool ok = (whole || out->own != NULL) && out->ends != NULL && ts_key_table_init(&seen, size, 0.5);
  *rows = 0;
  for (uint64_t b = 0; ok && b < batches; b++) {
    const uint64_t end = TS_MIN(n, (b + 1) * batch);
    for (uint64_t i = b * batch; ok && i < end; i++) {
      const uint64_t hash = ts_key_hash(keys[i]), home = ts_key_home(&seen, hash);
      const bool first = batch == 1 || ts_key_find(&seen, keys[i], home) == TS_NO_ENTRY;
      if (first && batch > 1) ts_key_add(&seen, keys[i], home, 0);
      *rows += first && b >= out->uncounted;
      if (whole || (once && !first)) continue;
      /* Not the hash that places keys in tables: the sample would crowd into one part of them. */
      if (threshold != 0 && ts_mix64(hash + SAMPLE) >= threshold) continue;
      if (count == room) {
        int64_t *larger = realloc(out->own, 2 * room * sizeof *larger);
        ok = larger != NULL;
        if (!ok) break;
        out->own = larger;
        room *= 2;
      }
      out->own[count++] = keys[i];
    }
    out->ends[b] = whole ? end : count;
    if (batch == 1) continue;
    if (size >= 256) memset(seen.buckets, 0, ts_key_table_bytes(&seen)); /* about as many as the batch */
    else for (uint64_t k = 0; k < seen.count; k++) seen.buckets[k].used = seen.buckets[k].past = 0;
  }
  if (!whole) out->keys = out->own;
  out->bytes = batches * sizeof *out->ends + room * sizeof *out->own + ts_key_table_bytes(&seen);
  ts_key_table_free(&seen);
  return ok;
}

static uint64_t start_of(const stream *s, uint64_t b) { return b == 0 ? 0 : s->ends[b - 1]; }

/* Misses of a policy of the store, or of Belady's, at one size; each: batches are of one lookup. */
static int32_t replay(const stream *s, const char *policy, bool each, uint64_t size, uint64_t *misses, uint64_t *bytes) {
  const uint64_t n = s->batches == 0 ? 0 : s->ends[s->batches - 1], first = start_of(s, s->uncounted);
  *misses = n - first;
  if (size == 0 || n == 0) return TS_OK;
  if (strcmp(policy, "opt") == 0) {
    uint64_t hits;
    int32_t status = n >= UINT32_MAX ? TS_ENOMEM : ts_opt_replay(size, s->keys, n, first, &hits);
    *misses -= status == TS_OK ? hits : 0;
    *bytes = TS_MAX(*bytes, n * 4 + TS_MIN(size, n) * 28);
    return status;
  }
  uint32_t kind = 0;
  while (strcmp(ts_policy_names[kind], policy) != 0) kind++;
  if (each && kind == TS_SIEVE && n < UINT32_MAX) {
    uint64_t hits, used;
    const int32_t status = ts_sieve_replay(size, s->keys, n, first, &hits, &used);
    *misses -= status == TS_OK ? hits : 0;
    *bytes = TS_MAX(*bytes, used);
    return status;
  }
  ts_batches *cache;
  int32_t status = ts_batches_create((ts_policy_kind)kind, TS_MIN(size, n), &cache);
  if (status != TS_OK) return status;
  uint64_t rows = 0, before = 0;
  *misses = 0;
  for (uint64_t b = 0; b < s->batches; b++) {
    if (b == s->uncounted) before = *misses;
    const uint64_t start = start_of(s, b);
    if (s->ends[b] > start) ts_batches_run(cache, s->keys + start, s->ends[b] - start, &rows, misses);
  }
  *misses = s->uncounted == s->batches ? 0 : *misses - before;
  *bytes = TS_MAX(*bytes, ts_batches_bytes(cache));
  ts_batches_destroy(cache);
  return TS_OK;
}

static bool run_stack(ts_stack *stack, const stream *s) {
  for (uint64_t b = 0; b < s->batches; b++) {
    const uint64_t start = start_of(s, b), n = s->ends[b] - start;
    if (n > 0 && !ts_stack_run(stack, s->keys + start, n, TS_MAX(n, 2), b >= s->uncounted)) return false;
  }
  return true;
}

/* LRU of all sizes; the stream is either gathered or the keys as they are. */
static int32_t stack_curve(const stream *s, const int64_t *keys, uint64_t n, const ts_curve_ask *ask, uint64_t distinct,
                           const uint64_t *sizes, uint64_t *misses, uint64_t *cold, uint64_t *rows, uint64_t *seen,
                           uint64_t *bytes) {
  for (uint64_t room = TS_MIN(distinct + distinct / 32 + 64, TS_MAX(n, 1));; room = n) {
    ts_stack *stack;
    int32_t status = ts_stack_create(room, sizes, ask->count, &stack);
    if (status != TS_OK) return status;
    const uint64_t warm = TS_MIN(ask->uncounted / ask->batch * ask->batch, n);
    const bool fits = s != NULL && ask->batch > 1
                          ? run_stack(stack, s)
                          : ts_stack_run(stack, keys, s != NULL ? start_of(s, s->uncounted) : warm, ask->batch, false) &&
                                ts_stack_run(stack, keys + (s != NULL ? start_of(s, s->uncounted) : warm),
                                             n - (s != NULL ? start_of(s, s->uncounted) : warm), ask->batch, true);
    *rows = ts_stack_misses(stack, misses, cold);
    *seen = ts_stack_rows(stack);
    *bytes = TS_MAX(*bytes, ts_stack_bytes(stack));
    ts_stack_destroy(stack);
    if (fits) return TS_OK;
    if (room == n) return TS_ENOMEM;
  }
}

static int32_t curve(const ts_curve_ask *ask, const int64_t *keys, uint64_t n, double rate, uint64_t distinct, double *ratios,
                     ts_curve_facts *facts, ts_err err) {
  const bool lru = strcmp(ask->policy, "lru") == 0, whole = rate >= 1;
  uint64_t *sizes = malloc(2 * ((size_t)ask->count + 1) * sizeof *sizes), *misses = sizes == NULL ? NULL : sizes + ask->count + 1;
  stream s = {0};
  uint64_t rows = 0, cold = 0, seen = 0, bytes = 0, sampled_rows = 0;
  int32_t status = sizes == NULL ? TS_ENOMEM : TS_OK;
  const uint64_t threshold = whole ? 0 : (uint64_t)(rate * 0x1.0p64);
  for (uint32_t i = 0; status == TS_OK && i < ask->count; i++)
    sizes[i] = whole ? ask->sizes[i] : (uint64_t)((double)ask->sizes[i] * rate + 0.5);
  /* Hits in a batch order lru's rows no otherwise than one does, and Belady's looks ahead by batches; the others count uses. */
  const bool once = lru || strcmp(ask->policy, "opt") == 0;
  if (status == TS_OK && !(lru && whole) && !gather(keys, n, ask, once, threshold, &s, &rows)) status = TS_ENOMEM;
  if (status == TS_OK && lru) {
    const uint64_t kept = whole ? n : s.batches == 0 ? 0 : s.ends[s.batches - 1];
    const uint64_t guess = whole ? distinct : TS_MIN((uint64_t)((double)distinct * rate * 1.1) + 1000, kept);
    status = stack_curve(whole ? NULL : &s, whole ? keys : s.keys, kept, ask, guess, sizes, misses, &cold, &sampled_rows, &seen,
                         &bytes);
    if (whole) rows = sampled_rows;
  }
  for (uint32_t i = 0; status == TS_OK && !lru && i < ask->count; i++) status = replay(&s, ask->policy, ask->batch == 1, sizes[i], &misses[i], &bytes);
  for (uint32_t i = 0; status == TS_OK && i < ask->count; i++)
    ratios[i] = rows == 0 ? 0 : ask->sizes[i] == 0 ? 1 : TS_MIN((double)misses[i] / rate / (double)rows, 1.0);
  *facts = (ts_curve_facts){0};
  if (status == TS_OK)
    *facts = (ts_curve_facts){.lookups = (double)rows,
                              .distinct = lru ? (double)seen / rate : (double)distinct,
                              .cold = (double)cold / rate,
                              .rate = rate,
                              .replayed = whole && lru ? n : s.batches == 0 ? 0 : s.ends[s.batches - 1],
                              .bytes = bytes + s.bytes};
  free(sizes);
  free_stream(&s);
  return status == TS_OK ? TS_OK : no_memory(err, n);
}

int32_t ts_curve_exact(const ts_curve_ask *ask, const int64_t *keys, uint64_t n, double *ratios, ts_curve_facts *facts,
                       ts_err err) {
  return curve(ask, keys, n, 1, ts_distinct_estimate(keys, n), ratios, facts, err);
}

int32_t ts_curve_sampled(const ts_curve_ask *ask, const int64_t *keys, uint64_t n, double *ratios, ts_curve_facts *facts,
                         ts_err err) {
  const uint64_t distinct = ts_distinct_estimate(keys, n);
  double rate = ask->rate > 0 ? ask->rate : (double)ask->samples / (double)TS_MAX(distinct, 1);
  return curve(ask, keys, n, TS_MIN(rate, 1.0), distinct, ratios, facts, err);
}
