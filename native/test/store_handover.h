/* store_handover.h - what the tests of hand-overs in a store share: calls on threads of their own, and a store whose first
 * tier is full of rows that are known. */
#ifndef TS_TEST_STORE_HANDOVER_H
#define TS_TEST_STORE_HANDOVER_H

#include "base/sync_point.h"
#include "test/store_types.h"

#include <pthread.h>
#include <time.h>

#define PATIENCE 120 /* seconds, for what takes milliseconds, and under a sanitizer on a busy machine many of them */
#define DIM 64u
#define FIRST 20000 /* keys from here on push others out */

static const storage_type over_ssd = {"DRAM_SSDHASH", "DRAM_SSDHASH", NULL, NULL, 2, true};

typedef struct call {
  pthread_t id;
  ts_store *store;
  uint32_t table;
  int64_t key; /* first of n */
  uint32_t n;
  float *rows;
  uint8_t found[1];
  int32_t status;
  _Atomic bool done;
  char text[512];
} call;

static inline int64_t *keys_of(const call *c) {
  int64_t *keys = malloc(c->n * sizeof *keys);
  for (uint32_t i = 0; i < c->n; i++) keys[i] = c->key + i;
  return keys;
}

static inline void *lookup(void *argument) {
  call *c = argument;
  int64_t *keys = keys_of(c);
  c->status = ts_table_lookup(c->store, c->table, keys, c->n, c->rows, c->text, sizeof c->text);
  free(keys);
  c->done = true;
  return NULL;
}

static inline void *find(void *argument) {
  call *c = argument;
  c->status = ts_table_find(c->store, 0, &c->key, 1, 0, c->rows, c->found, c->text, sizeof c->text);
  c->done = true;
  return NULL;
}

static inline void *settle(void *argument) {
  call *c = argument;
  c->status = ts_store_settle(c->store, c->text, sizeof c->text);
  c->done = true;
  return NULL;
}

static inline void start_in(call *c, ts_store *store, uint32_t table, void *(*what)(void *), int64_t key, uint32_t n) {
  *c = (call){.store = store, .table = table, .key = key, .n = n, .rows = calloc(n, sizeof(float) * DIM)};
  pthread_create(&c->id, NULL, what, c);
}

static inline void start(call *c, ts_store *store, void *(*what)(void *), int64_t key, uint32_t n) {
  start_in(c, store, 0, what, key, n);
}

/* What hangs ends the program: nothing after it makes sense. */
static inline void join(call *c) {
  struct timespec until;
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_sec += PATIENCE;
  const bool ended = pthread_timedjoin_np(c->id, NULL, &until) == 0;
  CHECK_MSG(ended, "%s", "a call hangs");
  if (!ended) _exit(1);
  CHECK_MSG(c->status == TS_OK, "%d %s", c->status, c->text);
}

/* Steps a key's row: all its weights become `value` less. */
static inline void step(ts_store *store, int64_t key, float value) {
  float gradient[DIM];
  char text[512];
  for (uint32_t j = 0; j < DIM; j++) gradient[j] = value;
  CHECK_MSG(ts_table_update(store, 0, &key, 1, gradient, text, sizeof text) == TS_OK, "%s", text);
}

static inline bool is(const float *row, float value) {
  for (uint32_t j = 0; j < DIM; j++)
    if (row[j] != value) return false;
  return true;
}

/* A store whose first tier is full of rows, key k's weights all -k - 1. */
static inline ts_store *full_store(const char *evictors, uint32_t rows) {
  ts_config *config = config_of_type(&over_ssd, "4194304,268435456", "all");
  ts_config_set(config, "eviction_threads", evictors, NULL, 0);
  ts_store *store = open_config(config);
  if (store == NULL) return NULL;
  config = CONFIG("name", "t", "learning_rate", "1", "initializer", "constant");
  set_number(config, "dim", DIM);
  add_config(store, config);
  float *row = calloc(rows, sizeof(float) * DIM);
  int64_t *keys = malloc(rows * sizeof *keys);
  char text[512];
  for (uint32_t i = 0; i < rows; i++) {
    keys[i] = i;
    for (uint32_t j = 0; j < DIM; j++) row[i * DIM + j] = (float)(i + 1);
  }
  float *out = malloc(rows * sizeof(float) * DIM);
  CHECK_MSG(ts_table_lookup(store, 0, keys, rows, out, text, sizeof text) == TS_OK, "%s", text);
  CHECK_MSG(ts_table_update(store, 0, keys, rows, row, text, sizeof text) == TS_OK, "%s", text);
  free(out);
  free(row);
  free(keys);
  return store;
}

static inline int32_t tier_of(ts_store *store, int64_t key) {
  int32_t tier = -1;
  CHECK(ts_table_lookup_tier(store, 0, &key, 1, &tier, NULL, 0) == TS_OK);
  return tier;
}

/* Keys that are pushed through the first tier, so that what nobody uses leaves it. */
static inline void push_out(ts_store *store, int64_t key) {
  call c;
  for (int64_t first = FIRST; tier_of(store, key) == 0 && first < 40 * FIRST; first += 4000) {
    start(&c, store, lookup, first, 4000);
    join(&c);
    free(c.rows);
  }
  CHECK(tier_of(store, key) == 1);
}

#endif
