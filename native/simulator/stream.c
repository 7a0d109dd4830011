/* stream.c - see stream.h. */
#include "simulator/stream.h"

#include <stdlib.h>
#include <string.h>

#define FREE UINT32_MAX
#define NO_GROUP UINT32_MAX
#define HOT_SHARE 1000u /* a key with more than a thousandth of the accesses is counted on its own */
#define MOST_PARENTS 16 /* earlier accesses of a row that an access may repeat */
#define MOST_BINS 52u

static uint64_t hash(int64_t key) { return ts_mix64((uint64_t)key ^ UINT64_C(0x5851f42d4c957f2d)); }

static int32_t no_memory(ts_err err) { return ts_fail(err, TS_ENOMEM, "Cannot measure the stream: out of memory"); }

static int32_t no_stream(ts_err err) { return ts_fail(err, TS_EINVAL, "Cannot measure the stream: an argument is NULL"); }

int32_t ts_stream_create(uint64_t most, ts_stream **out, char *text, uint32_t text_cap) {
  ts_err err = {text, text_cap};
  if (out == NULL) return no_stream(err);
  if (most < 1024 || most > UINT32_MAX / 2)
    return ts_fail(err, TS_EINVAL, "Cannot measure the stream: %llu accesses may be kept; give 1024 to %u",
                   (unsigned long long)most, UINT32_MAX / 2);
  ts_stream *s = calloc(1, sizeof *s);
  *out = s;
  if (s == NULL) return no_memory(err);
  s->most = most;
  s->threshold = UINT64_MAX;
  s->slot_mask = 1023;
  s->slots = malloc((s->slot_mask + 1) * sizeof *s->slots);
  if (s->slots == NULL) {
    free(s);
    *out = NULL;
    return no_memory(err);
  }
  memset(s->slots, 0xff, (s->slot_mask + 1) * sizeof *s->slots);
  return TS_OK;
}

int32_t ts_stream_close(ts_stream *s) {
  if (s == NULL) return TS_OK;
  free(s->row);
  free(s->time);
  free(s->repeat);
  free(s->table);
  free(s->slots);
  free(s);
  return TS_OK;
}

static void place(ts_stream *s, uint32_t row) {
  uint64_t at = hash(s->table[row].key) & s->slot_mask;
  while (s->slots[at] != FREE) at = (at + 1) & s->slot_mask;
  s->slots[at] = row;
}

static bool resize_slots(ts_stream *s, uint64_t slots) {
  uint32_t *more = malloc(slots * sizeof *more);
  if (more == NULL) return false;
  memset(more, 0xff, slots * sizeof *more);
  free(s->slots);
  s->slots = more;
  s->slot_mask = slots - 1;
  for (uint32_t i = 0; i < s->rows; i++) place(s, i);
  return true;
}

/* The row of a key, new if need be; FREE if memory is short. */
static uint32_t row_of(ts_stream *s, int64_t key, uint64_t h) {
  uint64_t at = h & s->slot_mask;
  for (; s->slots[at] != FREE; at = (at + 1) & s->slot_mask)
    if (s->table[s->slots[at]].key == key) return s->slots[at];
  if (s->rows == s->rows_capacity) {
    uint32_t capacity = s->rows_capacity == 0 ? 1024 : s->rows_capacity * 2;
    ts_stream_row *more = realloc(s->table, capacity * sizeof *more);
    if (more == NULL) return FREE;
    s->table = more;
    s->rows_capacity = capacity;
  }
  s->table[s->rows] = (ts_stream_row){.key = key, .group = NO_GROUP};
  s->slots[at] = s->rows++;
  if (s->rows * UINT64_C(3) / 2 > s->slot_mask && !resize_slots(s, 2 * (s->slot_mask + 1))) return FREE;
  return s->rows - 1;
}

static bool grow(ts_stream *s) {
  uint64_t capacity = TS_MIN(s->most, s->capacity == 0 ? 65536 : 2 * s->capacity);
  uint32_t *row = realloc(s->row, capacity * sizeof *row);
  if (row != NULL) s->row = row;
  uint64_t *time = realloc(s->time, capacity * sizeof *time);
  if (time != NULL) s->time = time;
  uint8_t *repeat = realloc(s->repeat, capacity);
  if (repeat != NULL) s->repeat = repeat;
  if (row == NULL || time == NULL || repeat == NULL) return false;
  s->capacity = capacity;
  return true;
}

/* Number, first and last use of each row, without repeats. */
static void count(ts_stream *s) {
  for (uint32_t i = 0; i < s->rows; i++) s->table[i].count = 0;
  for (uint64_t i = 0; i < s->n; i++) {
    if (s->repeat[i]) continue;
    ts_stream_row *r = &s->table[s->row[i]];
    if (r->count++ == 0) r->first = s->time[i];
    r->last = s->time[i];
  }
}

static int by_count(const void *a, const void *b) {
  uint64_t x = ((const ts_stream_row *)a)->count, y = ((const ts_stream_row *)b)->count;
  return (x < y) - (x > y);
}

/* Takes the most used rows out, to be counted from now on; `group` 0 marks them in the table. */
static void take_hot(ts_stream *s) {
  count(s);
  uint64_t least = s->n / HOT_SHARE;
  for (uint32_t i = 0; i < s->rows; i++) {
    ts_stream_row *r = &s->table[i];
    r->group = NO_GROUP;
    if (r->count <= least) continue;
    if (s->hot < TS_STREAM_MOST_HOT) {
      s->hottest[s->hot++] = *r;
    } else {
      uint32_t lowest = 0;
      for (uint32_t j = 1; j < s->hot; j++)
        if (s->hottest[j].count < s->hottest[lowest].count) lowest = j;
      if (s->hottest[lowest].count < r->count) s->hottest[lowest] = *r;
    }
  }
  qsort(s->hottest, s->hot, sizeof *s->hottest, by_count);
}

static uint32_t hot_of(const ts_stream *s, int64_t key) {
  for (uint32_t i = 0; i < s->hot; i++)
    if (s->hottest[i].key == key) return i;
  return FREE;
}

/* Halves the rows that are kept. */
static bool thin(ts_stream *s) {
  if (s->threshold == UINT64_MAX) take_hot(s);
  s->threshold /= 2;
  uint32_t *moved = malloc(TS_MAX(s->rows, 1) * sizeof *moved);
  if (moved == NULL) return false;
  uint32_t kept = 0;
  for (uint32_t i = 0; i < s->rows; i++) {
    bool stays = hash(s->table[i].key) <= s->threshold && hot_of(s, s->table[i].key) == FREE;
    moved[i] = stays ? kept : FREE;
    if (stays) s->table[kept++] = s->table[i];
  }
  uint64_t n = 0;
  for (uint64_t i = 0; i < s->n; i++) {
    if (moved[s->row[i]] == FREE) continue;
    s->row[n] = moved[s->row[i]];
    s->time[n++] = s->time[i];
  }
  free(moved);
  s->n = n;
  s->rows = kept;
  return resize_slots(s, s->slot_mask + 1);
}

int32_t ts_stream_add(ts_stream *s, const int64_t *keys, uint64_t n, char *text, uint32_t text_cap) {
  ts_err err = {text, text_cap};
  if (s == NULL || (keys == NULL && n > 0)) return no_stream(err);
  for (uint64_t i = 0; i < n; i++) {
    uint64_t time = s->accesses++, h = hash(keys[i]);
    if (s->hot > 0) {
      uint32_t hot = hot_of(s, keys[i]);
      if (hot != FREE) {
        s->hottest[hot].count++;
        s->hottest[hot].last = time;
        continue;
      }
    }
    if (h > s->threshold) continue;
    if (s->n == s->capacity && s->capacity < s->most && !grow(s)) return no_memory(err);
    uint32_t row = row_of(s, keys[i], h);
    if (row == FREE) return no_memory(err);
    s->row[s->n] = row;
    s->repeat[s->n] = 0;
    s->time[s->n++] = time;
    while (s->n >= s->most)
      if (!thin(s)) return no_memory(err);
  }
  return TS_OK;
}

int32_t ts_stream_facts(ts_stream *s, double *out, char *text, uint32_t text_cap) {
  ts_err err = {text, text_cap};
  if (s == NULL || out == NULL) return no_stream(err);
  out[0] = (double)s->accesses;
  out[1] = (double)s->n;
  out[2] = (double)s->rows;
  out[3] = ((double)s->threshold + 1) * 0x1.0p-64;
  return TS_OK;
}

/* The exponent and two bits below it: quarter-octave classes of x >= 1, exact for x < 8. */
static uint32_t quarter_octave(uint64_t x) {
  uint32_t top = 63u - (uint32_t)__builtin_clzll(x);
  return top < 2 ? (uint32_t)x : top * 4 + (uint32_t)(x >> (top - 2) & 3);
}

typedef struct group_sum {
  uint64_t code;
  double keys, count, first, last;
} group_sum;

static uint64_t group_code(const ts_stream *s, const ts_stream_row *r) {
  uint64_t span = r->last - r->first;
  /* Spans below 1/2^20 of the stream are alike; classes are half octaves. */
  double part = ((double)span + 1) / (double)s->accesses;
  uint32_t class = 0;
  while (class < 40 && part < 1) {
    part *= 1.4142135623730951;
    class++;
  }
  uint64_t begin = r->first * 16 / s->accesses, end = r->last * 16 / s->accesses;
  return (uint64_t)quarter_octave(r->count) << 32 | (uint64_t)class << 16 | begin << 8 | end;
}

static int by_code(const void *a, const void *b) {
  uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return (x > y) - (x < y);
}

/* The most used rows stay apart from the groups, if they were there from the beginning to the end: within twenty of their
 * mean gaps (one in e^20 rows that never changed would not be). */
static bool stands_apart(const ts_stream *s, const ts_stream_row *r, uint64_t least) {
  uint64_t slack = 20 * (s->accesses / r->count);
  return r->count >= least && r->count > 40 && r->first <= slack && s->accesses - 1 - r->last <= slack;
}

static int down(const void *a, const void *b) {
  uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return (x < y) - (x > y);
}

/* The number of accesses that TS_STREAM_MOST_HOT rows at most have or exceed. */
static int32_t least_apart(const ts_stream *s, uint64_t *least, ts_err err) {
  uint64_t *counts = malloc(TS_MAX(s->rows, 1) * sizeof *counts);
  if (counts == NULL) return no_memory(err);
  for (uint32_t i = 0; i < s->rows; i++) counts[i] = s->table[i].count;
  qsort(counts, s->rows, sizeof *counts, down);
  *least = s->rows > TS_STREAM_MOST_HOT ? counts[TS_STREAM_MOST_HOT] + 1 : 1;
  free(counts);
  return TS_OK;
}

/* Groups of like rows; rows that stand apart, or without an access that is no repeat, are in none. */
static int32_t make_groups(ts_stream *s, group_sum **out, uint32_t *count_out, ts_err err) {
  count(s);
  uint64_t least = 0;
  int32_t status = least_apart(s, &least, err);
  if (status != TS_OK) return status;
  uint64_t *codes = malloc(TS_MAX(s->rows, 1) * sizeof *codes), n = 0;
  if (codes == NULL) return no_memory(err);
  for (uint32_t i = 0; i < s->rows; i++)
    if (s->table[i].count > 0 && !stands_apart(s, &s->table[i], least)) codes[n++] = group_code(s, &s->table[i]);
  qsort(codes, n, sizeof *codes, by_code);
  uint32_t groups = 0;
  for (uint64_t i = 0; i < n; i++)
    if (groups == 0 || codes[i] != codes[groups - 1]) codes[groups++] = codes[i];
  group_sum *g = calloc(TS_MAX(groups, 1), sizeof *g);
  if (g == NULL) {
    free(codes);
    return no_memory(err);
  }
  for (uint32_t i = 0; i < s->rows; i++) {
    ts_stream_row *r = &s->table[i];
    r->group = NO_GROUP;
    if (r->count == 0 || stands_apart(s, r, least)) continue;
    uint64_t code = group_code(s, r);
    const uint64_t *found = bsearch(&code, codes, groups, sizeof *codes, by_code);
    r->group = (uint32_t)(found - codes);
    group_sum *sum = &g[r->group];
    sum->keys++;
    sum->count += (double)r->count;
    sum->first += (double)r->first;
    sum->last += (double)r->last;
  }
  free(codes);
  *out = g;
  *count_out = s->groups = groups;
  return TS_OK;
}

int32_t ts_stream_groups(ts_stream *s, double *out, uint64_t cap, uint64_t *n, char *text, uint32_t text_cap) {
  ts_err err = {text, text_cap};
  if (s == NULL || n == NULL || (out == NULL && cap > 0)) return no_stream(err);
  group_sum *g = NULL;
  uint32_t groups = 0;
  int32_t status = make_groups(s, &g, &groups, err);
  if (status != TS_OK) return status;
  *n = groups;
  if (groups > cap)
    status = ts_fail(err, TS_ERANGE, "Cannot write the groups: there are %u, and there is room for %llu", groups, (unsigned long long)cap);
  for (uint32_t i = 0; i < groups && status == TS_OK; i++) {
    out[4 * i] = g[i].keys;
    out[4 * i + 1] = g[i].count / g[i].keys;
    out[4 * i + 2] = g[i].first / g[i].keys;
    out[4 * i + 3] = g[i].last / g[i].keys;
  }
  free(g);
  return status;
}

int32_t ts_stream_apart(ts_stream *s, double *out, uint64_t cap, uint64_t *n, char *text, uint32_t text_cap) {
  ts_err err = {text, text_cap};
  if (s == NULL || n == NULL || (out == NULL && cap > 0)) return no_stream(err);
  *n = s->hot;
  for (uint32_t i = 0; i < s->rows; i++) *n += s->table[i].count > 0 && s->table[i].group == NO_GROUP;
  if (*n > cap)
    return ts_fail(err, TS_ERANGE, "Cannot write the rows apart: there are %llu, and there is room for %llu",
                   (unsigned long long)*n, (unsigned long long)cap);
  uint64_t at = 0;
  for (uint32_t i = 0; i < s->hot; i++) {
    out[at++] = 0;
    out[at++] = (double)s->hottest[i].count;
  }
  for (uint32_t i = 0; i < s->rows; i++) {
    if (s->table[i].count == 0 || s->table[i].group != NO_GROUP) continue;
    out[at++] = 1;
    out[at++] = (double)s->table[i].count;
  }
  return TS_OK;
}

int32_t ts_stream_decluster(ts_stream *s, const double *rates, uint64_t groups, const double *kernel, uint64_t bins,
                            uint64_t seed, double *out, char *text, uint32_t text_cap) {
  ts_err err = {text, text_cap};
  if (s == NULL || rates == NULL || kernel == NULL || out == NULL) return no_stream(err);
  if (groups != s->groups || bins == 0 || bins > MOST_BINS)
    return ts_fail(err, TS_EINVAL, "Cannot tell repeats: %llu rates and %llu bins; give the %u of the groups and 1 to %u",
                   (unsigned long long)groups, (unsigned long long)bins, s->groups, MOST_BINS);
  /* The last accesses of each row, newest last, chained through the accesses themselves. */
  uint64_t *before = malloc(TS_MAX(s->n, 1) * sizeof *before), *newest = malloc(TS_MAX(s->rows, 1) * sizeof *newest);
  if (before == NULL || newest == NULL) {
    free(before);
    free(newest);
    return no_memory(err);
  }
  for (uint32_t i = 0; i < s->rows; i++) newest[i] = UINT64_MAX;
  for (uint64_t b = 0; b < bins; b++) out[b] = 0;
  for (uint64_t i = 0; i < s->n; i++) {
    uint32_t row = s->row[i], group = s->table[row].group;
    double caused[MOST_BINS] = {0}, sum = 0, own = group == NO_GROUP ? (double)s->table[row].count / (double)s->accesses : rates[group];
    uint64_t at = newest[row];
    for (int p = 0; p < MOST_PARENTS && at != UINT64_MAX; p++, at = before[at]) {
      uint32_t bin = 63u - (uint32_t)__builtin_clzll(s->time[i] - s->time[at]);
      if (bin >= bins) break;
      caused[bin] += kernel[bin];
      sum += kernel[bin];
    }
    double total = own + sum;
    for (uint64_t b = 0; b < bins && sum > 0; b++) out[b] += caused[b] / total;
    s->repeat[i] = sum > 0 && ts_unit(ts_random64(seed, 0, i)) * total >= own;
    before[i] = newest[row];
    newest[row] = i;
  }
  free(before);
  free(newest);
  return TS_OK;
}

int32_t ts_stream_keys(ts_stream *s, int64_t *out, uint64_t cap, uint64_t *n, char *text, uint32_t text_cap) {
  ts_err err = {text, text_cap};
  if (s == NULL || n == NULL || (out == NULL && cap > 0)) return no_stream(err);
  *n = s->n;
  if (s->n > cap)
    return ts_fail(err, TS_ERANGE, "Cannot write the kept keys: there are %llu, and there is room for %llu",
                   (unsigned long long)s->n, (unsigned long long)cap);
  for (uint64_t i = 0; i < s->n; i++) out[i] = s->table[s->row[i]].key;
  return TS_OK;
}
