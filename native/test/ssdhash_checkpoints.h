/* ssdhash_checkpoints.h - what the tests of checkpoints in an SSDHASH table share: a model of what the table and each of its
 * checkpoints have, and a step that changes both. */
#ifndef TS_TEST_SSDHASH_CHECKPOINTS_H
#define TS_TEST_SSDHASH_CHECKPOINTS_H

#include "test/ssdhash_world.h"

#define CP_KEYS 400u
#define CP_ROW 72u

typedef struct cp_state {
  uint64_t stamp[CP_KEYS]; /* 0: absent */
} cp_state;

typedef struct cp_checkpoint {
  uint64_t number;
  bool complete;
  cp_state state;
} cp_checkpoint;

typedef struct cp_model {
  world *w;
  const ts_records_cuts *cuts;
  cp_state now;
  uint64_t waiting[CP_KEYS]; /* rows in memory when the checkpoint began, which are put as of it; 0: none */
  cp_checkpoint all[TS_RECORDS_CUTS];
  uint32_t n;
  uint64_t next, number, turn, seed;
  uint64_t full; /* puts that the limit refused */
} cp_model;

static inline uint64_t cp_random(cp_model *m, uint64_t below) { return ts_random64(m->seed, 77, m->turn++) % below; }

static inline int64_t cp_key(uint32_t i) { return i == 0 ? INT64_MIN : i == 1 ? -1 : (int64_t)ts_mix64(i); }

static inline bool cp_pending(const cp_model *m) { return m->n > 0 && !m->all[m->n - 1].complete; }

/* That the table has these rows and no others. */
static inline bool cp_equal(world *w, const cp_state *state, char *why, size_t cap) {
  static unsigned char memory[CP_KEYS][CP_ROW];
  unsigned char *rows[CP_KEYS], expected[CP_ROW];
  int64_t keys[CP_KEYS];
  uint8_t found[CP_KEYS];
  uint32_t live = 0;
  for (uint32_t i = 0; i < CP_KEYS; i++) {
    keys[i] = cp_key(i);
    rows[i] = memory[i];
    live += state->stamp[i] != 0;
  }
  if (ops->get(w->table, CP_KEYS, keys, rows, found, err_of(w)) != TS_OK) {
    snprintf(why, cap, "%s", w->message);
    return false;
  }
  for (uint32_t i = 0; i < CP_KEYS; i++) {
    if (found[i] != (state->stamp[i] != 0)) {
      snprintf(why, cap, "key %u is %s", i, found[i] ? "there" : "missing");
      return false;
    }
    if (!found[i]) continue;
    fill(expected, CP_ROW, keys[i], state->stamp[i]);
    if (memcmp(expected, rows[i], CP_ROW) != 0) {
      snprintf(why, cap, "key %u has %llu, not %llu", i, (unsigned long long)stamp_of(rows[i], CP_ROW),
               (unsigned long long)state->stamp[i]);
      return false;
    }
  }
  ts_records_counts counts;
  ops->count(w->table, &counts);
  snprintf(why, cap, "%llu rows, not %u", (unsigned long long)counts.rows, live);
  return counts.rows == live;
}

static inline void cp_check(world *w, const cp_state *state, const char *what) {
  char why[600];
  CHECK_MSG(cp_equal(w, state, why, sizeof why), "%s: %s", what, why);
}

/* Puts rows, of the checkpoint that is incomplete or of now. TS_EFULL stops it and is counted; nothing else may be. */
static inline bool cp_put(cp_model *m, uint32_t n, const uint32_t *which, const uint64_t *stamps, bool as_of) {
  unsigned char memory[64][CP_ROW];
  const unsigned char *rows[64];
  int64_t keys[64];
  for (uint32_t i = 0; i < n; i++) {
    keys[i] = cp_key(which[i]);
    rows[i] = memory[i];
    fill(memory[i], CP_ROW, keys[i], stamps[i]);
  }
  const int32_t status = as_of ? m->cuts->put(m->w->table, n, keys, NULL, rows, err_of(m->w))
                               : ops->put(m->w->table, n, keys, NULL, rows, NULL, err_of(m->w));
  CHECK_MSG(status == TS_OK || status == TS_EFULL, "%d %s", status, m->w->message);
  m->full += status == TS_EFULL;
  return status == TS_OK;
}

/* The row of a key as of the checkpoint goes first, whatever becomes of the key. */
static inline bool cp_touch(cp_model *m, uint32_t i) {
  if (m->waiting[i] == 0) return true;
  if (!cp_put(m, 1, &i, &m->waiting[i], true)) return false;
  m->waiting[i] = 0;
  return true;
}

/* One key a call, so that it is known what a refused call did: all or nothing. */
static inline bool cp_put_one(cp_model *m, uint32_t i) {
  if (!cp_touch(m, i)) return false;
  const uint64_t stamp = m->next++;
  if (!cp_put(m, 1, &i, &stamp, false)) return false;
  m->now.stamp[i] = stamp;
  return true;
}

static inline bool cp_remove_one(cp_model *m, uint32_t i) {
  if (!cp_touch(m, i)) return false;
  const int64_t key = cp_key(i);
  CHECK(ops->remove(m->w->table, 1, &key, NULL, err_of(m->w)) == TS_OK);
  m->now.stamp[i] = 0;
  return true;
}

/* A checkpoint begins; of about one in `of` keys memory had a newer row. */
static inline int32_t cp_begin(cp_model *m, uint32_t of) {
  const int32_t status = m->cuts->begin(m->w->table, m->number + 1, err_of(m->w));
  if (status != TS_OK) return status;
  m->number++;
  for (uint32_t i = 0; i < CP_KEYS; i++) {
    m->waiting[i] = of > 0 && cp_random(m, of) == 0 ? m->next++ : 0;
    if (m->waiting[i] != 0) m->now.stamp[i] = m->waiting[i];
  }
  m->all[m->n++] = (cp_checkpoint){m->number, false, m->now};
  return TS_OK;
}

static inline bool cp_put_waiting(cp_model *m, uint32_t most) {
  for (uint32_t i = 0; i < CP_KEYS && most > 0; i++)
    if (m->waiting[i] != 0) {
      if (!cp_touch(m, i)) return false;
      most--;
    }
  return true;
}

static inline int32_t cp_complete(cp_model *m) {
  cp_checkpoint *c = &m->all[m->n - 1];
  if (!cp_put_waiting(m, CP_KEYS)) return TS_EFULL;
  const int32_t status = m->cuts->complete(m->w->table, c->number, &c->number, sizeof c->number, err_of(m->w));
  if (status == TS_OK) c->complete = true;
  return status;
}

static inline void cp_forget(cp_model *m, uint32_t at) {
  if (at == m->n - 1 && !m->all[at].complete)
    for (uint32_t i = 0; i < CP_KEYS; i++) /* rows in memory stay the newest there are: put them now */
      if (m->waiting[i] != 0) {
        const uint64_t stamp = m->waiting[i];
        m->waiting[i] = 0;
        if (cp_put(m, 1, &i, &stamp, false)) continue;
        /* The row before it cannot be known here; the key goes. */
        cp_remove_one(m, i);
      }
  m->n--;
  memmove(&m->all[at], &m->all[at + 1], (m->n - at) * sizeof m->all[0]);
}

static inline int32_t cp_drop(cp_model *m, uint32_t at) {
  const int32_t status = m->cuts->drop(m->w->table, m->all[at].number, err_of(m->w));
  if (status == TS_OK) cp_forget(m, at);
  return status;
}

static inline uint32_t cp_complete_ones(const cp_model *m) { return m->n - cp_pending(m); }

/* The list of the table is the model's. */
static inline void cp_check_list(cp_model *m, world *w) {
  ts_records_checkpoint list[TS_RECORDS_CUTS];
  const uint32_t n = m->cuts->list(w->table, list);
  CHECK_MSG(n == m->n, "%u checkpoints, not %u", n, m->n);
  for (uint32_t i = 0; i < n && i < m->n; i++)
    CHECK(list[i].number == m->all[i].number && list[i].complete == m->all[i].complete);
}

/* Opens it at a complete checkpoint; what came later is gone. */
static inline void cp_reopen(cp_model *m, uint32_t at, bool newest) {
  world *w = m->w;
  w->open.at = newest ? 0 : m->all[at].number;
  CHECK_MSG(world_open(w) == TS_OK, "%s", w->message);
  w->open.at = 0;
  if (w->table == NULL) exit(1);
  m->now = m->all[at].state;
  m->n = at + 1;
  memset(m->waiting, 0, sizeof m->waiting);
  m->number = m->all[at].number;
  cp_check_list(m, w);
  uint32_t bytes;
  const void *note = m->cuts->note(w->table, &bytes);
  CHECK(bytes == sizeof m->number && memcmp(note, &m->number, bytes) == 0);
}

static inline void cp_make(cp_model *m, world *w, const char *directory, uint64_t limit, uint64_t seed,
                           const char *const *options) {
  memset(m, 0, sizeof *m);
  world_make(w, directory, "t", CP_ROW, limit, 8 << 20, options);
  m->w = w;
  m->cuts = ops->cuts;
  m->next = 1;
  m->seed = seed;
  CHECK_MSG(world_open(w) == TS_OK, "%s", w->message);
}

#endif
