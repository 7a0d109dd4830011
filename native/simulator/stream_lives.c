/* stream_lives.c - what ts_stream keeps, summed up: lives of rows, groups of like lives, repeats. */
#include "simulator/gaps.h"
#include "simulator/stream.h"

#include <stdlib.h>
#include <string.h>

#define NO_GROUP UINT32_MAX
#define MOST_PARENTS 16 /* earlier accesses of a row that an access may repeat */
/* Gain in log likelihood that a change of a row's rate must bring. */
#define LEAST_GAIN 8.0

static int32_t no_memory(ts_err err) { return ts_fail(err, TS_ENOMEM, "Cannot measure the stream: out of memory"); }

static int32_t no_stream(ts_err err) { return ts_fail(err, TS_EINVAL, "Cannot measure the stream: an argument is NULL"); }

void ts_stream_forget(ts_stream *s) {
  free(s->life);
  free(s->lives);
  s->life = NULL;
  s->lives = NULL;
  s->life_count = s->groups = 0;
}

/* Every row is one life, and no access a repeat. */
static int32_t one_life(ts_stream *s, ts_err err) {
  ts_stream_forget(s);
  s->life = malloc(TS_MAX(s->n, 1) * sizeof *s->life);
  s->lives = calloc(TS_MAX(s->rows, 1), sizeof *s->lives);
  if (s->life == NULL || s->lives == NULL) {
    ts_stream_forget(s);
    return no_memory(err);
  }
  s->life_count = s->rows;
  memcpy(s->life, s->row, s->n * sizeof *s->life);
  memset(s->repeat, 0, s->n);
  return TS_OK;
}

/* Number, first and last use of each life, without repeats. */
static int32_t ts_stream_count(ts_stream *s, ts_err err) {
  if (s->life == NULL && s->n > 0) {
    int32_t status = one_life(s, err);
    if (status != TS_OK) return status;
  }
  for (uint32_t i = 0; i < s->life_count; i++) s->lives[i].count = 0;
  for (uint64_t i = 0; i < s->n; i++) {
    if (s->repeat[i]) continue;
    ts_stream_life *r = &s->lives[s->life[i]];
    if (r->count++ == 0) r->first = s->time[i];
    r->last = s->time[i];
  }
  return TS_OK;
}

/* Log likelihood of c accesses at an even rate over t, up to what does not change. */
static double even(uint64_t c, double t) { return c == 0 ? 0 : (double)c * ts_det_log((double)c / t); }

typedef struct cut {
  const ts_stream *s;
  const uint64_t *access; /* of the row, in time */
  uint32_t *life;
  uint32_t lives;
} cut;

/* Cuts the row's time [begin, end), which holds accesses [low, high), where its rate changes most, and again both parts. */
static void cut_row(cut *c, uint64_t low, uint64_t high, uint64_t begin, uint64_t end) {
  while (high > low) {
    double all = even(high - low, (double)(end - begin)), best = LEAST_GAIN;
    uint64_t at = 0, when = 0;
    for (uint64_t i = low; i < high && high - low > 1; i++) {
      uint64_t time = c->s->time[c->access[i]];
      for (uint64_t after = 0; after < 2; after++) {
        uint64_t middle = time + after;
        if (middle <= begin || middle >= end) continue;
        double gain = even(i + after - low, (double)(middle - begin)) + even(high - i - after, (double)(end - middle)) - all;
        if (gain <= best) continue;
        best = gain;
        at = i + after;
        when = middle;
      }
    }
    if (when == 0) break;
    if (at - low < high - at) { /* the shorter part by a call, so that calls do not go deeper than 64 */
      cut_row(c, low, at, begin, when);
      low = at;
      begin = when;
    } else {
      cut_row(c, at, high, when, end);
      high = at;
      end = when;
    }
  }
  if (high == low) return;
  for (uint64_t i = low; i < high; i++) c->life[c->access[i]] = c->lives;
  c->lives++;
}

int32_t ts_stream_lives(ts_stream *s, uint32_t apart, char *text, uint32_t text_cap) {
  ts_err err = {text, text_cap};
  if (s == NULL) return no_stream(err);
  if (apart == 0 || s->n == 0) return one_life(s, err);
  if (s->life == NULL) {
    int32_t status = one_life(s, err);
    if (status != TS_OK) return status;
  }
  uint64_t *first = calloc((size_t)s->rows + 1, sizeof *first), *access = malloc(s->n * sizeof *access);
  uint32_t *life = malloc(s->n * sizeof *life);
  if (first == NULL || access == NULL || life == NULL) {
    free(first);
    free(access);
    free(life);
    return no_memory(err);
  }
  for (uint64_t i = 0; i < s->n; i++) first[s->row[i] + 1] += s->repeat[i] == 0;
  for (uint32_t r = 0; r < s->rows; r++) first[r + 1] += first[r];
  for (uint64_t i = 0; i < s->n; i++)
    if (!s->repeat[i]) access[first[s->row[i]]++] = i;
  cut c = {.s = s, .access = access, .life = life};
  for (uint32_t r = 0; r < s->rows; r++) cut_row(&c, r == 0 ? 0 : first[r - 1], first[r], 0, s->accesses);
  /* A repeat belongs to the life of the access before it. */
  uint32_t *now = calloc(TS_MAX(s->rows, 1), sizeof *now);
  ts_stream_life *lives = calloc(TS_MAX(c.lives, 1), sizeof *lives);
  bool ok = now != NULL && lives != NULL;
  for (uint64_t i = 0; i < s->n && ok; i++) {
    if (s->repeat[i]) life[i] = now[s->row[i]];
    else now[s->row[i]] = life[i];
  }
  free(now);
  free(first);
  free(access);
  if (!ok) {
    free(life);
    free(lives);
    return no_memory(err);
  }
  ts_stream_forget(s);
  s->life = life;
  s->lives = lives;
  s->life_count = c.lives;
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

static uint64_t group_code(const ts_stream *s, const ts_stream_life *r) {
  uint64_t span = r->last - r->first;
  /* Spans below 1/2^20 of the stream are alike; classes are eighths of octaves. */
  double part = ((double)span + 1) / (double)s->accesses;
  uint32_t class = 0;
  while (class < 160 && part < 1) {
    part *= 1.0905077326652577;
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
static bool stands_apart(const ts_stream *s, const ts_stream_life *r, uint64_t least) {
  uint64_t slack = 20 * (s->accesses / r->count);
  return r->count >= least && r->count > 40 && r->first <= slack && s->accesses - 1 - r->last <= slack;
}

static int down(const void *a, const void *b) {
  uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return (x < y) - (x > y);
}

/* The number of accesses that TS_STREAM_MOST_HOT rows at most have or exceed. */
static int32_t least_apart(const ts_stream *s, uint64_t *least, ts_err err) {
  uint64_t *counts = malloc(TS_MAX(s->life_count, 1) * sizeof *counts);
  if (counts == NULL) return no_memory(err);
  for (uint32_t i = 0; i < s->life_count; i++) counts[i] = s->lives[i].count;
  qsort(counts, s->life_count, sizeof *counts, down);
  *least = s->life_count > TS_STREAM_MOST_HOT ? counts[TS_STREAM_MOST_HOT] + 1 : 1;
  free(counts);
  return TS_OK;
}

/* Groups of like rows; rows that stand apart, or without an access that is no repeat, are in none. */
static int32_t make_groups(ts_stream *s, group_sum **out, uint32_t *count_out, ts_err err) {
  int32_t status = ts_stream_count(s, err);
  if (status != TS_OK) return status;
  uint64_t least = 0;
  status = least_apart(s, &least, err);
  if (status != TS_OK) return status;
  uint64_t *codes = malloc(TS_MAX(s->life_count, 1) * sizeof *codes), n = 0;
  if (codes == NULL) return no_memory(err);
  for (uint32_t i = 0; i < s->life_count; i++)
    if (s->lives[i].count > 0 && !stands_apart(s, &s->lives[i], least)) codes[n++] = group_code(s, &s->lives[i]);
  qsort(codes, n, sizeof *codes, by_code);
  uint32_t groups = 0;
  for (uint64_t i = 0; i < n; i++)
    if (groups == 0 || codes[i] != codes[groups - 1]) codes[groups++] = codes[i];
  group_sum *g = calloc(TS_MAX(groups, 1), sizeof *g);
  if (g == NULL) {
    free(codes);
    return no_memory(err);
  }
  for (uint32_t i = 0; i < s->life_count; i++) {
    ts_stream_life *r = &s->lives[i];
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
  for (uint32_t i = 0; i < s->life_count; i++) *n += s->lives[i].count > 0 && s->lives[i].group == NO_GROUP;
  if (*n > cap)
    return ts_fail(err, TS_ERANGE, "Cannot write the rows apart: there are %llu, and there is room for %llu",
                   (unsigned long long)*n, (unsigned long long)cap);
  uint64_t at = 0;
  for (uint32_t i = 0; i < s->hot; i++) {
    out[at++] = 0;
    out[at++] = (double)s->hottest[i].count;
  }
  for (uint32_t i = 0; i < s->life_count; i++) {
    if (s->lives[i].count == 0 || s->lives[i].group != NO_GROUP) continue;
    out[at++] = 1;
    out[at++] = (double)s->lives[i].count;
  }
  return TS_OK;
}

int32_t ts_stream_decluster(ts_stream *s, const double *rates, uint64_t groups, const double *kernel, uint64_t bins,
                            uint64_t seed, double *out, char *text, uint32_t text_cap) {
  ts_err err = {text, text_cap};
  if (s == NULL || rates == NULL || kernel == NULL || out == NULL) return no_stream(err);
  if (s->life == NULL || groups != s->groups || bins == 0 || bins > TS_MOST_GAPS)
    return ts_fail(err, TS_EINVAL, "Cannot tell repeats: %llu rates and %llu bins; give the %u of the groups and 1 to %u",
                   (unsigned long long)groups, (unsigned long long)bins, s->groups, TS_MOST_GAPS);
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
    uint32_t row = s->row[i], group = s->lives[s->life[i]].group;
    double caused[TS_MOST_GAPS] = {0}, sum = 0, own = group == NO_GROUP ? (double)s->lives[s->life[i]].count / (double)s->accesses : rates[group];
    uint64_t at = newest[row];
    for (int p = 0; p < MOST_PARENTS && at != UINT64_MAX; p++, at = before[at]) {
      uint32_t bin = ts_gap_class(s->time[i] - s->time[at]);
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

