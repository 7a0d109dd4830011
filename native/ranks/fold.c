/* fold.c - distinct keys and sums by the tree. */
#include "ranks/fold.h"

#include <stdlib.h>
#include <string.h>

#define EMPTY UINT32_MAX

int32_t ts_fold_open(ts_fold *f, uint32_t room, ts_err err) {
  memset(f, 0, sizeof *f);
  f->room = room;
  for (f->slots = 16; f->slots < 2 * (uint64_t)room;) f->slots *= 2;
  const size_t n = (size_t)room + 1;
  f->keys = calloc(n, sizeof *f->keys);
  f->of = calloc(n, sizeof *f->of);
  f->first = calloc(n + 2, sizeof *f->first);
  f->sorted = calloc(n, sizeof *f->sorted);
  f->met = calloc(n, sizeof *f->met);
  f->owner = calloc(n, sizeof *f->owner);
  f->number = calloc(n, sizeof *f->number);
  f->from = calloc(n, sizeof *f->from);
  f->leaf = calloc(n, 1);
  f->table = calloc(f->slots, sizeof *f->table);
  if (f->keys != NULL && f->of != NULL && f->first != NULL && f->sorted != NULL && f->met != NULL && f->owner != NULL &&
      f->number != NULL && f->from != NULL && f->leaf != NULL && f->table != NULL)
    return TS_OK;
  ts_fold_close(f);
  return ts_fail(err, TS_ENOMEM, "Cannot train: no memory for the %u keys of a batch", room);
}

void ts_fold_close(ts_fold *f) {
  free(f->keys);
  free(f->of);
  free(f->first);
  free(f->sorted);
  free(f->met);
  free(f->owner);
  free(f->number);
  free(f->from);
  free(f->leaf);
  free(f->table);
  memset(f, 0, sizeof *f);
}

void ts_fold_begin(ts_fold *f) {
  f->count = f->items = 0;
  memset(f->table, 0xff, f->slots * sizeof *f->table);
}

/* Where a key is in the table, or would be. */
static uint32_t slot_of(const ts_fold *f, int64_t key) {
  uint32_t at = (uint32_t)ts_mix64((uint64_t)key) & (f->slots - 1);
  while (f->table[at] != EMPTY && f->met[f->table[at]] != key) at = (at + 1) & (f->slots - 1);
  return at;
}

bool ts_fold_has(const ts_fold *f, int64_t key) { return f->table[slot_of(f, key)] != EMPTY; }

void ts_fold_add(ts_fold *f, int64_t key) {
  const uint32_t at = slot_of(f, key);
  if (f->table[at] == EMPTY) {
    f->table[at] = f->count;
    f->met[f->count++] = key;
  }
  f->of[f->items++] = f->table[at];
}

void ts_fold_add_apart(ts_fold *f, int64_t key) {
  f->met[f->count] = key;
  f->of[f->items++] = f->count++;
}

/* Keys of one owner together; they keep their order. */
static void sort_by_owner(ts_fold *f, ts_fold_owner *owner_of, const void *context, uint32_t owners, uint32_t *counts) {
  uint32_t at[TS_FOLD_OWNERS];
  memset(counts, 0, owners * sizeof *counts);
  for (uint32_t i = 0; i < f->count; i++) counts[f->owner[i] = owner_of(context, f->met[i])]++;
  at[0] = 0;
  for (uint32_t o = 1; o < owners; o++) at[o] = at[o - 1] + counts[o - 1];
  for (uint32_t i = 0; i < f->count; i++) {
    f->number[i] = at[f->owner[i]]++;
    f->keys[f->number[i]] = f->met[i];
  }
  for (uint32_t i = 0; i < f->items; i++) f->of[i] = f->number[f->of[i]];
}

static void sort_items(ts_fold *f) {
  memset(f->first, 0, ((size_t)f->count + 2) * sizeof *f->first);
  uint32_t *at = f->first + 1; /* where the next item of a key goes; in the end where those of the next key begin */
  for (uint32_t i = 0; i < f->items; i++) at[f->of[i] + 1]++;
  for (uint32_t k = 1; k < f->count; k++) at[k] += at[k - 1];
  for (uint32_t i = 0; i < f->items; i++) f->sorted[at[f->of[i]]++] = i;
}

void ts_fold_end(ts_fold *f, ts_fold_owner *owner_of, const void *context, uint32_t owners, uint32_t *counts) {
  if (owner_of != NULL) sort_by_owner(f, owner_of, context, owners, counts);
  else memcpy(f->keys, f->met, f->count * sizeof *f->keys);
  sort_items(f);
}

static void add(float *to, const float *values, uint32_t n) {
  for (uint32_t d = 0; d < n; d++) to[d] += values[d];
}

/* Items of one key. */
typedef struct some {
  const ts_fold *fold;
  uint32_t at, end, dim;
  float *scratch;
} some;

/* The sum over leaves [first, first + count); false: they have no items. Items are taken as they come, leaf by leaf. */
static bool sum_leaves(some *s, uint32_t first, uint32_t count, uint32_t level, float *out) {
  const ts_fold *f = s->fold;
  if (s->at == s->end || f->leaf[f->sorted[s->at]] >= first + count) return false;
  if (count == 1) {
    memcpy(out, f->from[f->sorted[s->at++]], s->dim * sizeof *out);
    while (s->at < s->end && f->leaf[f->sorted[s->at]] == first) add(out, f->from[f->sorted[s->at++]], s->dim);
    return true;
  }
  const bool left = sum_leaves(s, first, count / 2, level + 1, out);
  float *right = left ? s->scratch + (size_t)level * s->dim : out;
  if (sum_leaves(s, first + count / 2, count / 2, level + 1, right) && left) add(out, right, s->dim);
  return true;
}

void ts_fold_sum(const ts_fold *f, uint32_t first, uint32_t count, uint32_t leaves, uint32_t dim, float *scratch, float *out) {
  for (uint32_t k = first; k < first + count; k++) {
    some s = {f, f->first[k], f->first[k + 1], dim, scratch};
    sum_leaves(&s, 0, leaves, 0, out + (size_t)(k - first) * dim);
  }
}

void ts_tree_sum(float *values, uint64_t stride, uint32_t leaves, uint64_t n) {
  for (uint32_t distance = 1; distance < leaves; distance *= 2)
    for (uint32_t leaf = 0; leaf < leaves; leaf += 2 * distance) {
      float *to = values + leaf * stride;
      const float *other = values + (leaf + distance) * stride;
      for (uint64_t i = 0; i < n; i++) to[i] += other[i];
    }
}
