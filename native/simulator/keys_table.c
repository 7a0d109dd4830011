/* keys_table.c - a table of keys from its options: buckets, alias table, cumulated shares. */
#include "simulator/keys.h"

#include <stdlib.h>
#include <string.h>

/* Streams of random words of a table: eight a table. */
enum { STREAM_MASK = 6, STREAMS = 8 };

static const char *const tails[] = {"none", "zipf", "folded", NULL};
enum { TAIL_NONE, TAIL_ZIPF, TAIL_FOLDED };
static const char *const key_kinds[] = {"hashed", "rows", NULL};
static const char *const spreads[] = {"turns", "evenly", NULL};

static int by_weight(const void *a, const void *b) {
  double x = ((const ts_keys_bucket *)a)->weight, y = ((const ts_keys_bucket *)b)->weight;
  return (x < y) - (x > y);
}

static int32_t no_memory(ts_err err) { return ts_fail(err, TS_ENOMEM, "Cannot make a table of keys: out of memory"); }

static bool is_share(double x) { return x >= 0 && x <= 1; }

static bool is_whole(double x, double most) { return x >= 0 && x <= most && x == (double)(uint64_t)x; }

void ts_keys_table_free(ts_keys_table *t) {
  free(t->buckets);
  free(t->choices);
  free(t->length);
  free(t->length_before);
  *t = (ts_keys_table){0};
}

/* Steps, then what they leave to the tail. */
static int32_t make_buckets(ts_keys_table *t, const double *steps, uint64_t count, const ts_law *tail, uint64_t life,
                            ts_err err) {
  if (count > TS_KEYS_MOST_STEPS)
    return ts_fail(err, TS_EINVAL, "Cannot make a table of keys: %llu steps; give %u at most", (unsigned long long)count,
                   TS_KEYS_MOST_STEPS);
  if (count + tail->count > TS_KEYS_MOST_BUCKETS)
    return ts_fail(err, TS_EINVAL, "Cannot make a table of keys: its law has %u buckets; %u are the most", tail->count,
                   TS_KEYS_MOST_BUCKETS);
  t->buckets = calloc(count + tail->count + 1, sizeof *t->buckets);
  if (t->buckets == NULL) return no_memory(err);
  double sum = 0, rows = 0;
  for (uint64_t i = 0; i < count; i++) {
    const double *s = steps + 3 * i;
    if (!is_whole(s[0], TS_LAW_MOST_ROWS) || s[0] == 0 || !is_share(s[1]) || !is_whole(s[2], TS_LAW_MOST_ROWS))
      return ts_fail(err, TS_EINVAL, "Cannot make a table of keys: step %llu is %g rows, share %g, life %g; give whole rows of 1 "
                     "or more, a share from 0 to 1, a whole life of 0 or more samples", (unsigned long long)i, s[0], s[1], s[2]);
    sum += s[1];
    rows += s[0];
    t->buckets[t->count++] = (ts_keys_bucket){.rows = (uint64_t)s[0], .life = (uint64_t)s[2], .weight = s[1] / s[0]};
  }
  double left = tail->count > 0 ? 1 - sum : 0;
  if (left < -1e-9) return ts_fail(err, TS_EINVAL, "Cannot make a table of keys: the shares of its steps add up to %g; give 1 at most", sum);
  const bool all_walk = t->walk.rows > 0 && t->walk.run == t->walk.turn;
  if (tail->count == 0 && !(sum > 0) && !all_walk) return ts_fail(err, TS_EINVAL, "Cannot make a table of keys: no row has a share of the accesses");
  if (left < 0) left = 0;
  for (uint32_t i = 0; i < tail->count; i++) {
    const ts_law_bucket *b = &tail->buckets[i];
    t->buckets[t->count++] = (ts_keys_bucket){.rows = b->rows, .life = life, .weight = b->weight / tail->total * left};
    rows += (double)b->rows;
  }
  if (rows > (double)TS_LAW_MOST_ROWS) return ts_fail(err, TS_EINVAL, "Cannot make a table of keys: %g rows; give 2^53 at most", rows);
  qsort(t->buckets, t->count, sizeof *t->buckets, by_weight);
  double total = 0;
  for (uint32_t i = t->count; i-- > 0;) total += t->buckets[i].weight * (double)t->buckets[i].rows;
  double before = 0;
  for (uint32_t i = 0; i < t->count; i++) {
    ts_keys_bucket *b = &t->buckets[i];
    b->weight /= total;
    b->first = t->rows;
    b->before = before;
    before += b->weight * (double)b->rows;
    t->rows += b->rows;
  }
  return TS_OK;
}

static void keep_all(ts_keys_table *t, uint32_t i) { t->choices[i] = (ts_keys_choice){UINT32_MAX, i}; }

/* Vose's method, as in base/zipf.c. */
static int32_t make_choices(ts_keys_table *t, ts_err err) {
  if (t->count == 0) return TS_OK; /* every key is the walk's */
  t->choices = calloc(t->count, sizeof *t->choices);
  double *share = calloc(t->count, sizeof *share);
  uint32_t *small = calloc(2 * (size_t)t->count, sizeof *small);
  if (t->choices == NULL || share == NULL || small == NULL) {
    free(share);
    free(small);
    return no_memory(err);
  }
  uint32_t *large = small + t->count, smalls = 0, larges = 0;
  for (uint32_t i = t->count; i-- > 0;) {
    share[i] = t->buckets[i].weight * (double)t->buckets[i].rows * t->count;
    if (share[i] < 1.0) small[smalls++] = i;
    else large[larges++] = i;
  }
  while (smalls > 0 && larges > 0) {
    uint32_t s = small[--smalls], l = large[larges - 1];
    t->choices[s] = (ts_keys_choice){(uint32_t)(share[s] * 0x1.0p32), l};
    share[l] = share[l] + share[s] - 1.0;
    if (share[l] < 1.0) {
      larges--;
      small[smalls++] = l;
    }
  }
  while (larges > 0) keep_all(t, large[--larges]);
  while (smalls > 0) keep_all(t, small[--smalls]);
  free(share);
  free(small);
  return TS_OK;
}

/* A share as a threshold for random words. */
static uint64_t threshold(double share) { return share >= 1 ? UINT64_MAX : (uint64_t)(share * 0x1.0p64); }

static int32_t make_gaps(ts_keys_table *t, double share, const double *gaps, uint64_t count, ts_err err) {
  t->repeat_below = threshold(share);
  if (share == 0) return TS_OK;
  if (count == 0 || count > TS_MOST_GAPS)
    return ts_fail(err, TS_EINVAL, "Cannot make a table of keys: repeats have %llu shares of gaps; give 1 to %u", (unsigned long long)count, TS_MOST_GAPS);
  t->gaps = (uint32_t)count;
  double sum = 0;
  for (uint64_t i = 0; i < count; i++) {
    if (!is_share(gaps[i])) return ts_fail(err, TS_EINVAL, "Cannot make a table of keys: gap %llu has the share %g", (unsigned long long)i, gaps[i]);
    t->gap_before[i] = sum;
    sum += gaps[i];
  }
  if (!(sum > 0)) return ts_fail(err, TS_EINVAL, "Cannot make a table of keys: the shares of gaps add up to 0");
  for (uint64_t i = 0; i < count; i++) t->gap_before[i] /= sum;
  return TS_OK;
}

static int32_t make_bags(ts_keys_table *t, const double *bags, uint64_t count, ts_err err) {
  t->bag = t->most_bag = 1;
  if (count == 0) return TS_OK;
  if (count > TS_KEYS_MOST_BAG + 1) return ts_fail(err, TS_EINVAL, "Cannot make a table of keys: %llu bag lengths; give %u at most", (unsigned long long)count, TS_KEYS_MOST_BAG + 1);
  t->length = calloc(count, sizeof *t->length);
  t->length_before = calloc(count, sizeof *t->length_before);
  if (t->length == NULL || t->length_before == NULL) return no_memory(err);
  double sum = 0;
  t->most_bag = 0;
  for (uint64_t i = 0; i < count; i++) {
    double length = bags[2 * i], share = bags[2 * i + 1];
    if (!is_whole(length, TS_KEYS_MOST_BAG) || !is_share(share))
      return ts_fail(err, TS_EINVAL, "Cannot make a table of keys: bags of %g keys with the share %g; give 0 to %u keys, a share from 0 to 1", length, share, TS_KEYS_MOST_BAG);
    t->length[i] = (uint32_t)length;
    t->length_before[i] = sum;
    t->most_bag = TS_MAX(t->most_bag, t->length[i]);
    sum += share;
  }
  if (!(sum > 0) || t->most_bag == 0) return ts_fail(err, TS_EINVAL, "Cannot make a table of keys: no bag holds a key");
  for (uint64_t i = 0; i < count; i++) {
    t->length_before[i] /= sum;
    t->mean_bag += t->length[i] * bags[2 * i + 1] / sum;
  }
  t->lengths = (uint32_t)count;
  t->bag = count == 1 ? t->length[0] : 0;
  return TS_OK;
}

static int32_t read_order(ts_config_reader *r, ts_keys_table *t) {
  ts_keys_walk *w = &t->walk;
  w->rows = ts_config_u64(r, "walk_rows", 0, 0, TS_LAW_MOST_ROWS);
  w->run = ts_config_u64(r, "walk_run", 1, 1, TS_LAW_MOST_ROWS);
  w->turn = ts_config_u64(r, "walk_turn", 1, 1, TS_LAW_MOST_ROWS);
  w->start = ts_config_u64(r, "walk_start", 0, 0, TS_LAW_MOST_ROWS);
  w->block = ts_config_u64(r, "walk_block", 1, 1, TS_LAW_MOST_ROWS);
  w->even = ts_config_choice(r, "walk_spread", "turns", spreads) == 1;
  t->epoch = ts_config_u64(r, "epoch", 0, 0, TS_LAW_MOST_ROWS);
  t->epoch_block = ts_config_u64(r, "epoch_block", 1, 1, TS_LAW_MOST_ROWS);
  t->era = ts_config_u64(r, "era", 0, 0, TS_LAW_MOST_ROWS);
  t->era_start = ts_config_u64(r, "era_start", 0, 0, TS_LAW_MOST_ROWS);
  t->span = ts_config_u64(r, "era_rows", 0, 0, TS_LAW_MOST_ROWS);
  if (r->status == TS_OK && w->run > w->turn)
    r->status = ts_fail(r->err, TS_EINVAL, "Cannot make a table of keys: %llu of %llu keys are the walk's; give at most all",
                        (unsigned long long)w->run, (unsigned long long)w->turn);
  return r->status;
}

static int32_t read_law(ts_config_reader *r, uint32_t *tail, ts_law *law, uint64_t *life) {
  *tail = ts_config_choice(r, "tail", "none", tails);
  uint64_t rows = ts_config_u64(r, "rows", 0, 0, TS_LAW_MOST_ROWS);
  double s = ts_config_f64(r, "s", 0, 0, 100), q = ts_config_f64(r, "q", 0, 0, 1e15);
  *life = ts_config_u64(r, "life", 0, 0, TS_LAW_MOST_ROWS);
  *law = (ts_law){0};
  if (r->status != TS_OK || *tail == TAIL_NONE || rows == 0) return r->status;
  return *tail == TAIL_ZIPF ? ts_law_zipf(rows, s, q, NULL, 0, law, r->err) : ts_law_folded(rows, s, law, r->err);
}

int32_t ts_keys_table_create(const ts_keys *keys, const ts_config *config, const double *steps, uint64_t step_count,
                             const double *gaps, uint64_t gap_count, const double *bags, uint64_t bag_count,
                             ts_keys_table *out, ts_err err) {
  *out = (ts_keys_table){.parent = UINT32_MAX};
  if ((steps == NULL && step_count > 0) || (gaps == NULL && gap_count > 0) || (bags == NULL && bag_count > 0))
    return ts_fail(err, TS_EINVAL, "Cannot make a table of keys: an array is NULL");
  ts_config_reader r = ts_config_read(config, "a table of keys", err);
  uint32_t tail;
  ts_law law;
  uint64_t life;
  int32_t status = read_law(&r, &tail, &law, &life);
  out->as_rows = ts_config_choice(&r, "keys", "hashed", key_kinds) == 1;
  if (status == TS_OK) status = read_order(&r, out);
  double repeats = ts_config_f64(&r, "repeats", 0, 0, 0.999);
  bool has_parent = ts_config_has(config, "parent");
  out->pool = ts_config_u64(&r, "pool", 0, 0, TS_LAW_MOST_ROWS);
  uint64_t parent = ts_config_u64(&r, "parent", 0, 0, TS_KEYS_MOST_TABLES);
  double parent_share = ts_config_f64(&r, "parent_share", 0, 0, 1);
  if (status == TS_OK) status = ts_config_finish(&r);
  if (status == TS_OK && has_parent && parent >= keys->count)
    status = ts_fail(err, TS_EINVAL, "Cannot make a table of keys: its parent is table %llu; give one that was added before, 0 to %u",
                     (unsigned long long)parent, keys->count - 1);
  if (status == TS_OK && has_parent && keys->tables[parent].count == 0)
    status = ts_fail(err, TS_EINVAL, "Cannot make a table of keys: its parent is table %llu, whose keys are all a walk's and have no "
                     "quantiles to follow; give another parent, or none", (unsigned long long)parent);
  if (status == TS_OK) status = make_buckets(out, steps, step_count, &law, life, err);
  ts_law_free(&law);
  if (status == TS_OK && out->era > 0 && out->span > 0 && out->span < out->rows)
    status = ts_fail(err, TS_EINVAL, "Cannot make a table of keys: eras deal to %llu rows; give at least the %llu of the law",
                     (unsigned long long)out->span, (unsigned long long)out->rows);
  out->span = out->era > 0 ? TS_MAX(out->span, out->rows) : out->rows;
  if (status == TS_OK && out->span + out->walk.rows > TS_LAW_MOST_ROWS)
    status = ts_fail(err, TS_EINVAL, "Cannot make a table of keys: its law and its walk have more than 2^53 rows");
  if (status == TS_OK) status = make_choices(out, err);
  if (status == TS_OK) status = make_gaps(out, repeats, gaps, gap_count, err);
  if (status == TS_OK) status = make_bags(out, bags, bag_count, err);
  if (status != TS_OK) {
    ts_keys_table_free(out);
    return status;
  }
  if (has_parent && parent_share > 0) {
    out->parent = (uint32_t)parent;
    out->parent_below = threshold(parent_share);
  }
  uint64_t a = ts_mix64(keys->seed + UINT64_C(0x9e3779b97f4a7c15)); /* as ts_random64 begins */
  for (uint32_t use = 0; use < 6; use++)
    out->base[use] = ts_mix64(a ^ ((uint64_t)STREAMS * keys->count + use + UINT64_C(0xd1b54a32d192ed03)));
  out->mask = ts_random64(keys->seed, (uint64_t)STREAMS * keys->count + STREAM_MASK, 0);
  return TS_OK;
}

int32_t ts_keys_table_law(const ts_keys_table *t, ts_law *out, ts_err err) {
  const double walk = t->walk.rows > 0 ? (double)t->walk.run / (double)t->walk.turn : 0;
  ts_law_bucket *buckets = calloc((size_t)t->count + 1, sizeof *buckets);
  if (buckets == NULL) return no_memory(err);
  for (uint32_t i = 0; i < t->count; i++) buckets[i] = (ts_law_bucket){t->buckets[i].rows, t->buckets[i].weight * (1 - walk)};
  if (walk > 0) buckets[t->count] = (ts_law_bucket){t->walk.rows, walk / (double)t->walk.rows};
  int32_t status = ts_law_buckets(buckets, t->count + (walk > 0), out, err);
  free(buckets);
  return status;
}
