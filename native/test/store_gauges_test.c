/* Gauges of a store: a loop whose distances are known; readings beside threads that look rows up and update them; and rows that
 * gauges must not change. */
#include "test/store_types.h"

#include "cache/reuse.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>

#define LOOP 8000u
#define DIM 16u
#define ROW_BYTES (DIM * 4.0)
#define THREADS 3u
#define ROUNDS 60u
#define BATCH 500u

enum { GROUPS = TS_REUSE_GROUPS, BINS = TS_REUSE_BINS, COLUMNS = TS_REUSE_COLUMNS, FACTS = 7, ALL = FACTS + BINS + GROUPS * COLUMNS };

static char text[512];

static ts_store *open_dram(bool gauges) {
  ts_config *config = CONFIG("storage", "DRAM", "size", "67108864");
  if (gauges) {
    ts_config_set(config, "gauges", "1", NULL, 0);
    ts_config_set(config, "gauges.rate", "0.5", NULL, 0);
  }
  ts_store *store = open_config(config);
  if (store == NULL) return NULL;
  for (uint32_t t = 0; t <= THREADS; t++) {
    char name[16];
    snprintf(name, sizeof name, "t%u", t);
    ts_config *table = CONFIG("name", name, "optimizer", "sgd", "learning_rate", "0.5");
    set_number(table, "dim", DIM);
    add_config(store, table);
  }
  return store;
}

static bool read_gauges(ts_store *store, uint64_t *out) {
  uint32_t needed = 0;
  const int32_t status = ts_store_gauges(store, out, ALL, &needed, text, sizeof text);
  CHECK_MSG(status == TS_OK && needed == ALL, "%s, %u numbers", text, needed);
  return status == TS_OK;
}

static const uint64_t *group_of(const uint64_t *out, uint32_t g) { return out + FACTS + BINS + (size_t)g * COLUMNS; }

/* Lookups of all groups; those that hit at no size; those whose distance lies within (from, to]. */
typedef struct totals {
  uint64_t lookups, never, within, beyond;
} totals;
static totals add_up(const uint64_t *out, double from, double to) {
  totals t = {0};
  for (uint32_t g = 0; g < GROUPS; g++) {
    const uint64_t *counts = group_of(out, g);
    uint64_t told = counts[1];
    t.lookups += counts[0];
    t.never += counts[1];
    for (uint32_t b = 0; b < BINS; b++) {
      const double bound = (double)out[FACTS + b], below = b == 0 ? 0 : (double)out[FACTS + b - 1];
      *(bound > from && below < to ? &t.within : &t.beyond) += counts[2 + b];
      told += counts[2 + b];
    }
    CHECK_MSG(told <= counts[0], "group %u tells %llu of %llu lookups", g, (unsigned long long)told, (unsigned long long)counts[0]);
  }
  return t;
}

/* One row after the other, again and again: between two lookups of a row all others come once. */
static void loop_has_one_distance(void) {
  ts_store *store = open_dram(true);
  if (store == NULL) return;
  int64_t keys[BATCH];
  float rows[BATCH * DIM];
  uint64_t out[ALL];
  for (uint32_t i = 0; i < 5 * LOOP; i += BATCH) {
    for (uint32_t j = 0; j < BATCH; j++) keys[j] = (i + j) % LOOP;
    CHECK(ts_table_lookup(store, 0, keys, BATCH, rows, text, sizeof text) == TS_OK);
  }
  if (!read_gauges(store, out)) return;
  const double bytes = LOOP * ROW_BYTES;
  const totals t = add_up(out, 0.9 * bytes, 1.1 * bytes);
  CHECK_MSG(out[5] == 5 * LOOP, "%llu lookups are told", (unsigned long long)out[5]);
  CHECK_MSG(t.lookups > 4.5 * LOOP && t.lookups < 5.5 * LOOP, "%llu lookups are estimated", (unsigned long long)t.lookups);
  CHECK_MSG(t.never == out[3] << out[2] && t.never * 5 == t.lookups, "%llu of %llu lookups never hit, %llu rows are sampled",
            (unsigned long long)t.never, (unsigned long long)t.lookups, (unsigned long long)out[3]);
  CHECK_MSG(t.beyond == 0 && t.within == 4 * t.never, "%llu have the loop's distance, %llu another",
            (unsigned long long)t.within, (unsigned long long)t.beyond);
  CHECK(ts_store_reset_statistics(store, text, sizeof text) == TS_OK && read_gauges(store, out));
  const totals none = add_up(out, 0, 0);
  CHECK(none.lookups == 0 && out[5] == 0);
  CHECK(ts_store_close(store) == TS_OK);
}

/* A key that is there twice in a call hits the second time at every size, and has one distance. */
static void repeats_hit(void) {
  ts_store *store = open_dram(true);
  if (store == NULL) return;
  int64_t keys[BATCH];
  float rows[BATCH * DIM];
  uint64_t out[ALL];
  for (uint32_t round = 0; round < 4; round++) {
    for (uint32_t j = 0; j < BATCH; j++) keys[j] = j / 2;
    CHECK(ts_table_lookup(store, 0, keys, BATCH, rows, text, sizeof text) == TS_OK);
  }
  if (!read_gauges(store, out)) return;
  const totals t = add_up(out, 0, 2 * BATCH * ROW_BYTES);
  CHECK_MSG(t.lookups == 8 * t.never && t.within == 3 * t.never && t.beyond == 0, "%llu lookups, %llu never hit, %llu by distance",
            (unsigned long long)t.lookups, (unsigned long long)t.never, (unsigned long long)t.within);
  CHECK(ts_store_close(store) == TS_OK);
}

typedef struct worker {
  ts_store *store;
  uint32_t number;
  atomic_uint *running;
  bool failed;
} worker;

static void *work(void *argument) {
  worker *w = argument;
  int64_t keys[BATCH];
  float rows[BATCH * DIM];
  char error[512];
  for (uint32_t r = 0; r < ROUNDS && !w->failed; r++) {
    for (uint32_t j = 0; j < BATCH; j++) keys[j] = (int64_t)(ts_random64(5, w->number, r * BATCH + j) % 3000) / (1 + j % 7);
    /* Its own table, and one that all look up and nobody updates. */
    for (uint32_t k = 0; k < 2; k++) {
      const uint32_t table = k == 0 ? w->number : THREADS;
      w->failed |= ts_table_lookup(w->store, table, keys, BATCH, rows, error, sizeof error) != TS_OK;
    }
    for (uint32_t i = 0; i < BATCH * DIM; i++) rows[i] = 0.25f;
    w->failed |= ts_table_update(w->store, w->number, keys, BATCH, rows, error, sizeof error) != TS_OK;
  }
  atomic_fetch_sub(w->running, 1);
  return NULL;
}

/* Counts only grow, and tell in the end what was looked up. */
static void readings_beside_lookups(void) {
  ts_store *store = open_dram(true);
  if (store == NULL) return;
  atomic_uint running = THREADS;
  worker workers[THREADS];
  pthread_t ids[THREADS];
  for (uint32_t i = 0; i < THREADS; i++) {
    workers[i] = (worker){.store = store, .number = i, .running = &running};
    pthread_create(&ids[i], NULL, work, &workers[i]);
  }
  uint64_t *before = calloc(ALL, sizeof *before), *now = calloc(ALL, sizeof *now);
  for (bool last = false; !last;) {
    last = atomic_load(&running) == 0;
    if (!read_gauges(store, now)) break;
    CHECK(now[5] >= before[5]);
    for (uint32_t i = FACTS + BINS; i < ALL; i++)
      CHECK_MSG(now[i] >= before[i], "count %u fell from %llu to %llu", i, (unsigned long long)before[i], (unsigned long long)now[i]);
    uint64_t *swap = before;
    before = now;
    now = swap;
  }
  for (uint32_t i = 0; i < THREADS; i++) {
    pthread_join(ids[i], NULL);
    CHECK(!workers[i].failed);
  }
  const totals t = add_up(before, 0, 0);
  const uint64_t all = 2 * THREADS * ROUNDS * BATCH;
  CHECK_MSG(before[5] == all && fabs((double)t.lookups - (double)all) < 0.2 * (double)all, "%llu lookups told, %llu estimated of %llu",
            (unsigned long long)before[5], (unsigned long long)t.lookups, (unsigned long long)all);
  free(before);
  free(now);
  CHECK(ts_store_close(store) == TS_OK);
}

/* The same calls with gauges and without leave the same rows. */
static void rows_stay_the_same(void) {
  uint64_t digests[2] = {0};
  for (uint32_t gauges = 0; gauges < 2; gauges++) {
    ts_store *store = open_dram(gauges == 1);
    if (store == NULL) return;
    atomic_uint running = 1;
    worker w = {.store = store, .number = 1, .running = &running};
    work(&w);
    CHECK(!w.failed && ts_store_digest(store, &digests[gauges], text, sizeof text) == TS_OK);
    CHECK(ts_store_close(store) == TS_OK);
  }
  CHECK(digests[0] == digests[1] && digests[0] != 0);
}

static void bad_input_is_named(void) {
  ts_store *store = open_dram(false);
  if (store == NULL) return;
  uint64_t out[1];
  CHECK(ts_store_gauges(store, NULL, 0, NULL, text, sizeof text) == TS_EINVAL && strstr(text, "gauges=1") != NULL);
  CHECK(ts_store_close(store) == TS_OK);
  store = open_dram(true);
  if (store == NULL) return;
  uint32_t needed = 0;
  CHECK(ts_store_gauges(store, NULL, 0, &needed, text, sizeof text) == TS_OK && needed == ALL);
  CHECK(ts_store_gauges(store, out, 1, NULL, text, sizeof text) == TS_ERANGE && strstr(text, "room for 1 numbers") != NULL);
  CHECK(ts_store_gauges(store, NULL, 1, NULL, text, sizeof text) == TS_EINVAL);
  CHECK(ts_store_close(store) == TS_OK);
}

int main(void) {
  loop_has_one_distance();
  repeats_hit();
  readings_beside_lookups();
  rows_stay_the_same();
  bad_input_is_named();
  return test_result();
}
