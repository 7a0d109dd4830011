/* curve_keys.c - curves of a stream of keys. */
#include "simulator/curve.h"

#include "cache/opt.h"
#include "cache/replay_batches.h"
#include "cache/replay_log.h"
#include "simulator/key_sample.h"
#include "simulator/stack_distance.h"

#include <stdlib.h>
#include <string.h>

/* Parts of a sample whose curves tell its error, chosen by another hash. */
#define GROUPS 8u
#define GROUP_BITS 3
#define GROUP UINT64_C(0x9fb21c651e98df25)
_Static_assert(GROUPS == 1u << GROUP_BITS, "a group has a number of so many bits");

static int32_t no_memory(ts_err err, uint64_t n) {
  return ts_fail(err, TS_ENOMEM, "Cannot make a miss-ratio curve of %llu keys: out of memory", (unsigned long long)n);
}

static uint64_t longest_batch(const ts_key_view *v) {
  if (v->batch > 0) return TS_MIN(v->batch, v->n);
  uint64_t most = 0;
  for (uint64_t b = 0, start = 0; b < v->batches; start = ts_key_view_end(v, b++)) most = TS_MAX(most, ts_key_view_end(v, b) - start);
  return most;
}

/* The keys with each row once a batch, for Belady's policy, which looks at one stream. *first: as in the view. */
static int64_t *once(const ts_key_view *v, uint64_t *n, uint64_t *first, uint64_t *bytes) {
  ts_key_table seen = {0};
  int64_t *out = malloc(TS_MAX(v->n, 1) * sizeof *out);
  const bool ok = out != NULL && ts_key_table_init(&seen, longest_batch(v), 0.5);
  uint64_t kept = 0;
  *first = 0;
  for (uint64_t b = 0, start = 0; ok && b < v->batches; b++) {
    if (start <= v->first) *first = kept;
    const uint64_t end = ts_key_view_end(v, b);
    kept += ts_key_once(&seen, v->keys + start, end - start, out + kept);
    start = end;
  }
  if (v->first == v->n) *first = kept;
  *n = kept;
  *bytes = v->n * sizeof *out + ts_key_table_bytes(&seen);
  ts_key_table_free(&seen);
  if (ok) return out;
  free(out);
  return NULL;
}

static int32_t replay_opt(const ts_key_view *v, uint64_t size, uint64_t *misses, uint64_t *bytes) {
  const bool single = v->batch == 1;
  uint64_t n = v->n, first = v->first, took = 0, hits = 0, replayed = 0;
  int64_t *own = single ? NULL : once(v, &n, &first, &took);
  int32_t status = (!single && own == NULL) || n >= UINT32_MAX
                       ? TS_ENOMEM
                       : ts_opt_replay(size, single ? v->keys : own, n, first, &hits, &replayed);
  free(own);
  *misses = n - first - hits;
  *bytes = TS_MAX(*bytes, took + replayed);
  return status;
}

/* Misses of a policy of the store, or of Belady's, at one size above 0. */
static int32_t replay(const ts_key_view *v, const char *policy, uint64_t size, uint64_t *misses, uint64_t *bytes) {
  *misses = 0;
  if (v->n == 0) return TS_OK;
  if (strcmp(policy, "opt") == 0) return replay_opt(v, size, misses, bytes);
  uint32_t kind = 0;
  while (strcmp(ts_policy_names[kind], policy) != 0) kind++;
  if (v->batch == 1 && kind == TS_SIEVE && v->n < UINT32_MAX) {
    uint64_t hits, used;
    const int32_t status = ts_sieve_replay(size, v->keys, v->n, v->first, &hits, &used);
    *misses = v->n - v->first - (status == TS_OK ? hits : 0);
    *bytes = TS_MAX(*bytes, used);
    return status;
  }
  ts_batches *cache;
  const int32_t status = ts_batches_create((ts_policy_kind)kind, TS_MIN(size, v->n), &cache);
  if (status != TS_OK) return status;
  uint64_t rows = 0, before = 0;
  for (uint64_t b = 0, start = 0; b < v->batches; b++) {
    if (start <= v->first) before = *misses;
    const uint64_t end = ts_key_view_end(v, b);
    ts_batches_run(cache, v->keys + start, end - start, &rows, misses);
    start = end;
  }
  *misses = v->first == v->n ? 0 : *misses - before;
  *bytes = TS_MAX(*bytes, ts_batches_bytes(cache));
  ts_batches_destroy(cache);
  return TS_OK;
}

static bool run_stack(ts_stack *stack, const ts_key_view *v) {
  if (v->batch > 0)
    return ts_stack_run(stack, v->keys, v->first, v->batch, false) &&
           ts_stack_run(stack, v->keys + v->first, v->n - v->first, v->batch, true);
  for (uint64_t b = 0, start = 0; b < v->batches; b++) {
    const uint64_t end = ts_key_view_end(v, b);
    if (!ts_stack_run(stack, v->keys + start, end - start, TS_MAX(end - start, 2), start >= v->first)) return false;
    start = end;
  }
  return true;
}

/* What LRU caches of all sizes miss. */
typedef struct stack_facts {
  uint64_t rows, cold, seen; /* lookups that count, of them first ones, distinct rows */
} stack_facts;

static int32_t stack_curve(const ts_key_view *v, uint64_t distinct, const uint64_t *sizes, uint32_t count, uint64_t *misses,
                           stack_facts *found, uint64_t *bytes) {
  const uint64_t most = TS_MAX(v->n, 1);
  for (uint64_t room = TS_MIN(distinct + distinct / 32 + 64, most);; room = most) {
    ts_stack *stack;
    int32_t status = ts_stack_create(room, sizes, count, &stack);
    if (status != TS_OK) return status;
    const bool fits = run_stack(stack, v);
    found->rows = ts_stack_misses(stack, misses, &found->cold);
    found->seen = ts_stack_rows(stack);
    *bytes = TS_MAX(*bytes, ts_stack_bytes(stack));
    ts_stack_destroy(stack);
    if (fits) return TS_OK;
    if (room == most) return TS_ENOMEM;
  }
}

/* Misses of caches of ask->sizes, times rate, on a view of which `distinct` rows are expected. `scaled` has room for the sizes. */
static int32_t misses_of(const ts_curve_ask *ask, const ts_key_view *v, double rate, uint64_t distinct, uint64_t *scaled,
                         uint64_t *misses, stack_facts *found, uint64_t *bytes) {
  for (uint32_t i = 0; i < ask->count; i++)
    scaled[i] = rate >= 1 ? ask->sizes[i] : TS_MAX((uint64_t)((double)ask->sizes[i] * rate + 0.5), ask->sizes[i] > 0);
  if (strcmp(ask->policy, "lru") == 0) return stack_curve(v, distinct, scaled, ask->count, misses, found, bytes);
  int32_t status = TS_OK;
  for (uint32_t i = 0; status == TS_OK && i < ask->count; i++)
    if (scaled[i] > 0) status = replay(v, ask->policy, scaled[i], &misses[i], bytes);
  return status;
}

/* Shares of `rows` lookups that `misses` of a sample stand for. */
static void ratios_of(const ts_curve_ask *ask, const uint64_t *misses, double rate, double rows, double *ratios) {
  for (uint32_t i = 0; i < ask->count; i++)
    ratios[i] = rows == 0 ? 0 : ask->sizes[i] == 0 ? 1 : TS_MIN((double)misses[i] / rate / rows, 1.0);
}

/* The rows of a view that are in one group. keys has room for all. False: out of memory. */
static bool group_of(const ts_key_view *v, uint32_t group, int64_t *keys, uint64_t *ends, ts_key_view *out) {
  *out = (ts_key_view){.keys = keys, .ends = ends, .batch = v->batch == 1};
  for (uint64_t b = 0, i = 0; b < v->batches; b++) {
    const uint64_t end = ts_key_view_end(v, b), before = out->n;
    if (i <= v->first) out->first = out->n;
    for (; i < end; i++)
      if (ts_mix64(ts_key_hash(v->keys[i]) + GROUP) >> (64 - GROUP_BITS) == group) keys[out->n++] = v->keys[i];
    if (ends != NULL && out->n > before) ends[out->closed++] = out->n;
  }
  if (v->first == v->n) out->first = out->n;
  out->batches = ends != NULL ? out->closed : out->n;
  return true;
}

/* The largest number of keys that a group has. */
static uint64_t largest_group(const ts_key_view *v) {
  uint64_t counts[GROUPS] = {0}, most = 0;
  for (uint64_t i = 0; i < v->n; i++) counts[ts_mix64(ts_key_hash(v->keys[i]) + GROUP) >> (64 - GROUP_BITS)]++;
  for (uint32_t g = 0; g < GROUPS; g++) most = TS_MAX(most, counts[g]);
  return most;
}

/* Standard errors of the ratios, by the spread between groups of the sample's rows, each a sample of its own. */
static int32_t errors_of(const ts_curve_ask *ask, const ts_key_view *v, double rate, double rows, uint64_t distinct, double *errors,
                         uint64_t *scratch, uint64_t *bytes) {
  const uint64_t most = TS_MAX(largest_group(v), 1);
  int64_t *keys = malloc(most * sizeof *keys);
  uint64_t *ends = v->batch == 1 ? NULL : malloc(most * sizeof *ends), took = 0;
  double *ratios = malloc((size_t)(GROUPS + 1) * TS_MAX(ask->count, 1) * sizeof *ratios);
  int32_t status = keys == NULL || ratios == NULL || (v->batch != 1 && ends == NULL) ? TS_ENOMEM : TS_OK;
  for (uint32_t g = 0; status == TS_OK && g < GROUPS; g++) {
    ts_key_view part;
    stack_facts found;
    group_of(v, g, keys, ends, &part);
    uint64_t *scaled = scratch, *misses = scratch + ask->count + 1;
    memset(misses, 0, ask->count * sizeof *misses);
    status = misses_of(ask, &part, rate / GROUPS, distinct / GROUPS + distinct / 64, scaled, misses, &found, &took);
    ratios_of(ask, misses, rate / GROUPS, rows, ratios + (size_t)g * ask->count);
  }
  for (uint32_t i = 0; status == TS_OK && i < ask->count; i++) {
    double mean = 0, squares = 0;
    for (uint32_t g = 0; g < GROUPS; g++) mean += ratios[(size_t)g * ask->count + i] / GROUPS;
    for (uint32_t g = 0; g < GROUPS; g++) {
      const double off = ratios[(size_t)g * ask->count + i] - mean;
      squares += off * off;
    }
    errors[i] = __builtin_sqrt(squares / (GROUPS - 1) / GROUPS);
  }
  *bytes = TS_MAX(*bytes, took + most * (sizeof *keys + (ends == NULL ? 0 : sizeof *ends)));
  free(ratios);
  free(ends);
  free(keys);
  return status;
}

/* Rows that count, each once a batch; UINT64_MAX: out of memory. */
static uint64_t rows_of(const ts_key_view *v, uint64_t *bytes) {
  if (v->batch == 1) return v->n - v->first;
  uint64_t n, first, took;
  int64_t *keys = once(v, &n, &first, &took);
  if (keys == NULL) return UINT64_MAX;
  *bytes = TS_MAX(*bytes, took);
  free(keys);
  return n - first;
}

/* What a curve of a view is made of. */
typedef struct source {
  ts_key_view view;
  double rate;
  uint64_t rows;     /* of the whole stream; UINT64_MAX: to be counted */
  uint64_t distinct; /* of the whole stream, about */
  uint64_t bytes;    /* that hold it */
} source;

static int32_t curve(const ts_curve_ask *ask, const source *from, double *ratios, double *errors, ts_curve_facts *facts, ts_err err) {
  const bool lru = strcmp(ask->policy, "lru") == 0, whole = from->rate >= 1;
  const ts_key_view *v = &from->view;
  uint64_t *scratch = calloc(2 * ((size_t)ask->count + 1), sizeof *scratch), *misses = scratch == NULL ? NULL : scratch + ask->count + 1;
  uint64_t bytes = 0, rows = from->rows;
  stack_facts found = {0};
  const uint64_t guess = whole ? from->distinct : (uint64_t)((double)from->distinct * from->rate * 1.1) + 1000;
  int32_t status = scratch == NULL ? TS_ENOMEM : misses_of(ask, v, from->rate, guess, scratch, misses, &found, &bytes);
  if (status == TS_OK && rows == UINT64_MAX) rows = lru ? found.rows : rows_of(v, &bytes);
  if (status == TS_OK && rows == UINT64_MAX) status = TS_ENOMEM;
  if (status == TS_OK) ratios_of(ask, misses, from->rate, (double)rows, ratios);
  if (status == TS_OK && errors != NULL) {
    if (whole) memset(errors, 0, ask->count * sizeof *errors);
    else status = errors_of(ask, v, from->rate, (double)rows, guess, errors, scratch, &bytes);
  }
  *facts = (ts_curve_facts){0};
  if (status == TS_OK)
    *facts = (ts_curve_facts){.lookups = (double)rows,
                              .distinct = lru ? (double)found.seen / from->rate : (double)from->distinct,
                              .cold = (double)found.cold / from->rate,
                              .rate = from->rate,
                              .replayed = v->n,
                              .bytes = from->bytes + bytes};
  free(scratch);
  return status == TS_OK ? TS_OK : no_memory(err, v->n);
}

int32_t ts_curve_exact(const ts_curve_ask *ask, const int64_t *keys, uint64_t n, double *ratios, ts_curve_facts *facts,
                       ts_err err) {
  const ts_key_view view = {.keys = keys,
                            .n = n,
                            .first = TS_MIN(ask->uncounted / ask->batch * ask->batch, n),
                            .batch = ask->batch,
                            .batches = n / ask->batch + (n % ask->batch != 0)};
  const source from = {.view = view, .rate = 1, .rows = UINT64_MAX, .distinct = ts_distinct_estimate(keys, n)};
  return curve(ask, &from, ratios, NULL, facts, err);
}

int32_t ts_curve_of_sample(const ts_curve_ask *ask, const ts_key_sample *sample, double *ratios, double *errors,
                           ts_curve_facts *facts, ts_err err) {
  const source from = {.view = ts_key_sample_view(sample),
                       .rate = ts_key_sample_rate(sample),
                       .rows = sample->rows,
                       .distinct = ts_distinct_of(&sample->distinct, sample->added),
                       .bytes = ts_key_sample_bytes(sample)};
  return curve(ask, &from, ratios, errors, facts, err);
}

int32_t ts_curve_sampled(const ts_curve_ask *ask, const int64_t *keys, uint64_t n, double *ratios, ts_curve_facts *facts,
                         ts_err err) {
  const double rate = ask->rate > 0 ? ask->rate : (double)ask->samples / (double)TS_MAX(ts_distinct_estimate(keys, n), 1);
  ts_key_sample sample;
  const uint64_t threshold = rate >= 1 ? 0 : TS_MAX((uint64_t)(rate * 0x1.0p64), 1);
  int32_t status = ts_key_sample_init(&sample, ask->batch, ask->uncounted, threshold) && ts_key_sample_append(&sample, keys, n, 0)
                       ? ts_curve_of_sample(ask, &sample, ratios, NULL, facts, err)
                       : no_memory(err, n);
  ts_key_sample_free(&sample);
  return status;
}
