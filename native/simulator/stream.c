/* stream.c - see stream.h. */
#include "simulator/stream.h"

#include <stdlib.h>
#include <string.h>

#define FREE UINT32_MAX
#define HOT_SHARE 1000u /* a key with more than a thousandth of the accesses is counted on its own */

static uint64_t hash(int64_t key) { return ts_mix64((uint64_t)key ^ UINT64_C(0x5851f42d4c957f2d)); }

static int32_t no_memory(ts_err err) { return ts_fail(err, TS_ENOMEM, "Cannot measure the stream: out of memory"); }

static int32_t no_stream(ts_err err) { return ts_fail(err, TS_EINVAL, "Cannot measure the stream: an argument is NULL"); }

static bool check_most(uint64_t most, ts_err err) {
  if (most >= 1024 && most <= UINT32_MAX / 2) return true;
  ts_fail(err, TS_EINVAL, "Cannot measure the stream: %llu accesses may be kept; give 1024 to %u", (unsigned long long)most,
          UINT32_MAX / 2);
  return false;
}

int32_t ts_stream_create(uint64_t most, ts_stream **out, char *text, uint32_t text_cap) {
  ts_err err = {text, text_cap};
  if (out == NULL) return no_stream(err);
  if (!check_most(most, err)) return TS_EINVAL;
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
  ts_stream_forget(s);
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
  s->table[s->rows] = (ts_stream_row){.key = key};
  s->slots[at] = s->rows++;
  if (s->rows * UINT64_C(3) / 2 > s->slot_mask && !resize_slots(s, 2 * (s->slot_mask + 1))) return FREE;
  return s->rows - 1;
}

static bool set_capacity(ts_stream *s, uint64_t capacity) {
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

static int by_count(const void *a, const void *b) {
  uint64_t x = ((const ts_stream_row *)a)->count, y = ((const ts_stream_row *)b)->count;
  return (x < y) - (x > y);
}

/* Takes the most used rows out, to be counted from now on. */
static void take_hot(ts_stream *s) {
  for (uint32_t i = 0; i < s->rows; i++) s->table[i].count = 0;
  for (uint64_t i = 0; i < s->n; i++) s->table[s->row[i]].count++;
  uint64_t least = s->n / HOT_SHARE;
  for (uint32_t i = 0; i < s->rows; i++) {
    const ts_stream_row *r = &s->table[i];
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
  ts_stream_forget(s);
  for (uint64_t i = 0; i < n; i++) {
    uint64_t time = s->accesses++, h = hash(keys[i]);
    if (s->hot > 0) {
      uint32_t hot = hot_of(s, keys[i]);
      if (hot != FREE) {
        s->hottest[hot].count++;
        continue;
      }
    }
    if (h > s->threshold) continue;
    if (s->n == s->capacity && s->capacity < s->most && !set_capacity(s, TS_MIN(s->most, TS_MAX(2 * s->capacity, 65536)))) return no_memory(err);
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

int32_t ts_stream_limit(ts_stream *s, uint64_t most, char *text, uint32_t text_cap) {
  ts_err err = {text, text_cap};
  if (s == NULL) return no_stream(err);
  if (!check_most(most, err)) return TS_EINVAL;
  ts_stream_forget(s);
  s->most = most;
  while (s->n >= most)
    if (!thin(s)) return no_memory(err);
  if (s->capacity <= most) return TS_OK;
  uint64_t slots = 1024;
  while (s->rows * UINT64_C(3) / 2 > slots - 1) slots *= 2;
  const uint32_t rows = TS_MAX(s->rows, 1024);
  ts_stream_row *table = realloc(s->table, rows * sizeof *table);
  if (table == NULL) return no_memory(err);
  s->table = table;
  s->rows_capacity = rows;
  return set_capacity(s, most) && resize_slots(s, slots) ? TS_OK : no_memory(err);
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
