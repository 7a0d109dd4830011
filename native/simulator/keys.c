/* keys.c - drawing keys. See keys.h. */
#include "simulator/keys.h"

#include <assert.h>
#include <stdlib.h>

#define GOLDEN UINT64_C(0x9e3779b97f4a7c15)
#define POSITION_BITS 12 /* TS_KEYS_MOST_BAG */

/* Uses of random words: each is a stream of its own. */
enum { WORD_DRAW, WORD_REPEAT, WORD_GAP, WORD_PARENT, WORD_LENGTH, WORD_PHASE };

static_assert(TS_KEYS_MOST_BAG < 1u << POSITION_BITS, "a bag's positions fit the counter");

static inline uint64_t word(const ts_keys_table *t, uint32_t use, uint64_t counter) {
  return ts_mix64(t->base[use] + (counter + 1) * GOLDEN);
}

static inline uint64_t below(uint64_t random, uint64_t n) { return (uint64_t)((unsigned __int128)random * n >> 64); }

/* The last i with before[i] <= u, for cumulated shares. */
static uint32_t find(const double *before, uint32_t count, double u) {
  uint32_t low = 0, high = count;
  while (high - low > 1) {
    uint32_t middle = low + (high - low) / 2;
    if (before[middle] <= u) low = middle;
    else high = middle;
  }
  return low;
}

static uint32_t bag_length(const ts_keys_table *t, uint64_t sample) {
  if (t->bag > 0) return t->bag;
  return t->length[find(t->length_before, t->lengths, ts_unit(word(t, WORD_LENGTH, sample)))];
}

/* A bijection of [0, rows): four rounds of a Feistel network on the next even number of bits, walked until it lands
 * inside (Black and Rogaway, CT-RSA 2002). */
static uint64_t scatter(uint64_t mask, uint64_t rows, uint64_t x) {
  uint32_t half = 1;
  while (half < 32 && (UINT64_C(1) << (2 * half)) < rows) half++;
  uint64_t low = (UINT64_C(1) << half) - 1;
  do {
    uint64_t left = x >> half, right = x & low;
    for (uint64_t round = 0; round < 4; round++) {
      uint64_t next = left ^ (ts_mix64(right + mask + round * GOLDEN) & low);
      left = right;
      right = next;
    }
    x = left << half | right;
  } while (x >= rows);
  return x;
}

/* Place `at` of a pass over n, whose blocks are shuffled anew in each pass. */
static uint64_t in_blocks(uint64_t mask, uint64_t pass, uint64_t n, uint64_t block, uint64_t at) {
  if (block < 2) return at;
  uint64_t first = at / block * block;
  return first + scatter(ts_mix64(mask ^ ts_mix64(pass + GOLDEN) ^ ts_mix64(first)), TS_MIN(block, n - first), at - first);
}

/* The sample of the first epoch that comes again. */
static uint64_t of_epoch(const ts_keys_table *t, uint64_t sample) {
  if (t->epoch == 0 || sample < t->epoch) return sample;
  return in_blocks(t->mask + 1, sample / t->epoch, t->epoch, t->epoch_block, sample % t->epoch);
}

/* Whether a key is the walk's, and the number of its row in the walk. */
static bool walks(const ts_keys_table *t, uint64_t sample, uint32_t position, uint64_t *row) {
  const ts_keys_walk *w = &t->walk;
  if (w->rows == 0) return false;
  uint64_t key = w->start + position + (t->bag > 0 ? sample * t->bag : (uint64_t)((double)sample * t->mean_bag));
  uint64_t at = key / w->turn * w->run, place = key % w->turn;
  if (w->even) {
    uint64_t gone = (uint64_t)((unsigned __int128)place * w->run / w->turn);
    if ((uint64_t)((unsigned __int128)(place + 1) * w->run / w->turn) == gone) return false;
    at += gone;
  } else {
    if (place < w->turn - w->run) return false;
    at += place - (w->turn - w->run);
  }
  *row = in_blocks(t->mask + 2, at / w->rows, w->rows, w->block, at % w->rows);
  return true;
}

/* Follows repeats back to the sample and position whose key this is. */
static void origin(const ts_keys_table *t, uint64_t *sample, uint32_t *position) {
  for (;;) {
    uint64_t counter = *sample << POSITION_BITS | *position;
    if (word(t, WORD_REPEAT, counter) >= t->repeat_below) return;
    uint64_t r = word(t, WORD_GAP, counter);
    uint32_t class = find(t->gap_before, t->gaps, ts_unit(r));
    uint64_t gap = ts_gap_first(class) + below(ts_mix64(r + GOLDEN), ts_gap_count(class));
    if (gap > *sample) return; /* before the first sample there is nothing */
    uint64_t earlier = *sample - gap;
    uint32_t length = bag_length(t, earlier);
    if (length == 0) return;
    *sample = earlier;
    *position %= length;
  }
}

/* Bucket and rank in it; returns the bucket. */
static const ts_keys_bucket *draw(const ts_keys *keys, const ts_keys_table *t, uint64_t sample, uint32_t position,
                                  uint64_t *rank);

/* The middle of the share that the parent's row has, as a quantile. */
static double parent_quantile(const ts_keys *keys, const ts_keys_table *t, uint64_t sample) {
  const ts_keys_table *parent = &keys->tables[t->parent];
  uint32_t position = 0;
  uint64_t rank;
  sample = of_epoch(parent, sample);
  if (parent->repeat_below > 0) origin(parent, &sample, &position);
  const ts_keys_bucket *b = draw(keys, parent, sample, position, &rank);
  return b->before + ((double)(rank - b->first) + 0.5) * b->weight;
}

static const ts_keys_bucket *at_quantile(const ts_keys_table *t, double u, uint64_t *rank) {
  uint32_t low = 0, high = t->count;
  while (high - low > 1) {
    uint32_t middle = low + (high - low) / 2;
    if (t->buckets[middle].before <= u) low = middle;
    else high = middle;
  }
  const ts_keys_bucket *b = &t->buckets[low];
  double offset = b->weight > 0 ? (u - b->before) / b->weight : 0;
  uint64_t row = offset <= 0 ? 0 : (uint64_t)offset;
  *rank = b->first + TS_MIN(row, b->rows - 1);
  return b;
}

static const ts_keys_bucket *draw(const ts_keys *keys, const ts_keys_table *t, uint64_t sample, uint32_t position,
                                  uint64_t *rank) {
  uint64_t counter = sample << POSITION_BITS | position;
  if (t->parent != UINT32_MAX && position == 0 && bag_length(&keys->tables[t->parent], of_epoch(&keys->tables[t->parent], sample)) > 0 &&
      word(t, WORD_PARENT, counter) < t->parent_below)
    return at_quantile(t, parent_quantile(keys, t, sample), rank);
  uint64_t r = word(t, WORD_DRAW, counter);
  uint32_t at = (uint32_t)((r >> 32) * t->count >> 32);
  if ((uint32_t)r >= t->choices[at].stay) at = t->choices[at].other;
  const ts_keys_bucket *b = &t->buckets[at];
  *rank = b->rows == 1 ? b->first : b->first + below(ts_mix64(r + GOLDEN), b->rows);
  return b;
}

static int64_t key_from(const ts_keys_table *t, uint64_t id) { return (int64_t)(t->as_rows ? id : ts_mix64(id ^ t->mask)); }

static int64_t key_of(const ts_keys_table *t, const ts_keys_bucket *b, uint64_t rank, uint64_t sample) {
  uint64_t id = rank, rows = t->span + t->walk.rows;
  if (t->era > 0 && b->life == 0) return key_from(t, scatter(t->mask + ((sample + t->era_start) / t->era + 1) * GOLDEN, t->span, id));
  if (t->as_rows) id = scatter(t->mask, t->span, id);
  if (b->life > 0) {
    uint64_t life = (sample + below(word(t, WORD_PHASE, rank), b->life)) / b->life;
    if (t->pool > 0) id = rows + below(ts_mix64(word(t, WORD_PHASE, rank) + (life + 1) * GOLDEN), t->pool);
    else id += life * rows;
  }
  return key_from(t, id);
}

static uint64_t fill(const ts_keys *keys, const ts_keys_table *t, uint64_t first, uint64_t samples, int64_t *out,
                     uint64_t *offsets) {
  uint64_t n = 0;
  for (uint64_t i = 0; i < samples; i++) {
    if (offsets != NULL) offsets[i] = n;
    const uint64_t own = of_epoch(t, first + i);
    uint32_t length = bag_length(t, own);
    for (uint32_t j = 0; j < length; j++) {
      uint64_t sample = own, rank;
      uint32_t position = j;
      if (walks(t, sample, position, &rank)) {
        out[n++] = key_from(t, t->span + rank);
        continue;
      }
      if (t->repeat_below > 0) origin(t, &sample, &position);
      const ts_keys_bucket *b = draw(keys, t, sample, position, &rank);
      out[n++] = key_of(t, b, rank, sample);
    }
  }
  if (offsets != NULL) offsets[samples] = n;
  return n;
}

int32_t ts_keys_create(uint64_t seed, ts_keys **out, char *text, uint32_t text_cap) {
  ts_err err = {text, text_cap};
  if (out == NULL) return ts_fail(err, TS_EINVAL, "Cannot make keys: out is NULL");
  *out = calloc(1, sizeof **out);
  if (*out == NULL) return ts_fail(err, TS_ENOMEM, "Cannot make keys: out of memory");
  (*out)->seed = seed;
  return TS_OK;
}

int32_t ts_keys_close(ts_keys *keys) {
  if (keys == NULL) return TS_OK;
  for (uint32_t i = 0; i < keys->count; i++) ts_keys_table_free(&keys->tables[i]);
  free(keys->tables);
  free(keys);
  return TS_OK;
}

int32_t ts_keys_add_table(ts_keys *keys, const ts_config *config, const double *steps, uint64_t step_count,
                          const double *gaps, uint64_t gap_count, const double *bags, uint64_t bag_count, uint32_t *table,
                          char *text, uint32_t text_cap) {
  ts_err err = {text, text_cap};
  if (keys == NULL || table == NULL)
    return ts_fail(err, TS_EINVAL, "Cannot add a table of keys: %s is NULL", keys == NULL ? "keys" : "table");
  if (keys->count == TS_KEYS_MOST_TABLES)
    return ts_fail(err, TS_EINVAL, "Cannot add a table of keys: there are %u already, the most there can be", keys->count);
  ts_keys_table *more = realloc(keys->tables, (keys->count + 1) * sizeof *more);
  if (more == NULL) return ts_fail(err, TS_ENOMEM, "Cannot add a table of keys: out of memory");
  keys->tables = more;
  int32_t status = ts_keys_table_create(keys, config, steps, step_count, gaps, gap_count, bags, bag_count,
                                        &keys->tables[keys->count], err);
  if (status != TS_OK) return status;
  *table = keys->count++;
  return TS_OK;
}

static int32_t find_table(const ts_keys *keys, uint32_t table, const ts_keys_table **out, ts_err err) {
  if (keys == NULL) return ts_fail(err, TS_EINVAL, "Cannot use keys: keys is NULL");
  if (table >= keys->count)
    return ts_fail(err, TS_EINVAL, "Cannot use keys of table %u: there are %u tables", table, keys->count);
  *out = &keys->tables[table];
  return TS_OK;
}

int32_t ts_keys_fill(ts_keys *keys, uint32_t table, uint64_t first, uint64_t samples, int64_t *out, uint64_t cap,
                     uint64_t *offsets, uint64_t *n, char *text, uint32_t text_cap) {
  ts_err err = {text, text_cap};
  const ts_keys_table *t = NULL;
  int32_t status = find_table(keys, table, &t, err);
  if (status != TS_OK) return status;
  if (n == NULL || (out == NULL && cap > 0)) return ts_fail(err, TS_EINVAL, "Cannot make keys: %s is NULL", n == NULL ? "n" : "out");
  const uint64_t most = UINT64_C(1) << (64 - POSITION_BITS);
  if (first >= most || samples > most - first)
    return ts_fail(err, TS_EINVAL, "Cannot make keys of sample %llu and %llu more: samples go up to 2^52",
                   (unsigned long long)first, (unsigned long long)samples);
  if (t->bag > 0) {
    *n = samples * t->bag; /* at most 2^64 - 2^52 */
  } else {
    *n = 0;
    for (uint64_t i = 0; i < samples; i++) *n += bag_length(t, of_epoch(t, first + i));
  }
  if (*n > cap)
    return ts_fail(err, TS_ERANGE, "Cannot make keys: %llu samples have %llu keys, and there is room for %llu",
                   (unsigned long long)samples, (unsigned long long)*n, (unsigned long long)cap);
  fill(keys, t, first, samples, out, offsets);
  return TS_OK;
}

int32_t ts_keys_law(ts_keys *keys, uint32_t table, uint64_t *rows, double *weights, uint64_t cap, uint64_t *n, char *text,
                    uint32_t text_cap) {
  ts_err err = {text, text_cap};
  const ts_keys_table *t = NULL;
  int32_t status = find_table(keys, table, &t, err);
  if (status != TS_OK) return status;
  if (n == NULL || ((rows == NULL || weights == NULL) && cap > 0))
    return ts_fail(err, TS_EINVAL, "Cannot write the law: %s is NULL", n == NULL ? "n" : "an array");
  ts_law law;
  status = ts_keys_table_law(t, &law, err);
  if (status != TS_OK) return status;
  *n = law.count;
  if (law.count > cap) status = ts_fail(err, TS_ERANGE, "Cannot write the law: it has %u buckets, and there is room for %llu", law.count, (unsigned long long)cap);
  for (uint32_t i = 0; i < law.count && status == TS_OK; i++) {
    rows[i] = law.buckets[i].rows;
    weights[i] = law.buckets[i].weight / law.total;
  }
  ts_law_free(&law);
  return status;
}
