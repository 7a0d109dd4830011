/* Expiry is a function of keys and steps: the same calls leave the same rows, answers and counts on every storage type, under
 * every policy, in fp32 and bf16, from one thread and from four that work side by side on keys of their own, however rarely
 * or often somebody sweeps. A run tries two policies with each of the others; TIERSTORE_ROUNDS in the environment, as the
 * nightly run has it: all six. */
#include "test/foreign_threads.h"
#include "test/store_types.h"

#include <pthread.h>

#define PARTS 4u
#define KEYS 720u /* different ones, a quarter for each part */
#define BATCH 60u
#define STEPS 32u
#define TABLES 3u
#define DIM 8u

static char message[512];
#define ERR message, sizeof message
#define OK(call) CHECK_MSG((call) == TS_OK, "%s", message)

typedef struct seen {
  uint64_t answers, digest, rows, keys, early, late; /* early, late: rows expired in either half of the steps */
} seen;

typedef struct part {
  ts_store *store;
  uint32_t number;
  int64_t step;
  uint64_t answers;
} part;

static void *work_on(void *argument) {
  part *p = argument;
  int64_t keys[BATCH];
  float rows[BATCH * DIM];
  char text[256];
  for (uint32_t t = 0; t < TABLES; t++) {
    for (uint32_t i = 0; i < BATCH; i++) {
      /* Hot keys, and a window that moves on: rows age, expire and some come back. */
      const uint64_t r = ts_random64(7, (uint64_t)p->step * TABLES + t, p->number * BATCH + i);
      const uint64_t at = r % 3 == 0 ? (r >> 8) % 12 : ((uint64_t)p->step * 9 + (r >> 8) % 70) % (KEYS / PARTS);
      keys[i] = (int64_t)ts_mix64(at * PARTS + p->number);
    }
    CHECK_MSG(ts_table_lookup(p->store, t, keys, BATCH, rows, text, sizeof text) == TS_OK, "%s", text);
    p->answers = ts_hash_bytes(rows, sizeof rows, p->answers);
    for (uint32_t j = 0; j < BATCH * DIM; j++)
      rows[j] = 0.3f * rows[j] + 0.01f * (float)((int64_t)((uint64_t)keys[j / DIM] + j % DIM + (uint64_t)p->step) % 7);
    /* Every third step leaves rows without an update. */
    if (p->step % 3 == 2) continue;
    CHECK_MSG(ts_table_update(p->store, t, keys, BATCH / 2, rows, text, sizeof text) == TS_OK, "%s", text);
  }
  return NULL;
}

static void all_parts(part *parts, bool side_by_side) {
  pthread_t threads[PARTS];
  for (uint32_t i = 0; i < PARTS; i++)
    if (side_by_side)
      CHECK(pthread_create(&threads[i], NULL, work_on, &parts[i]) == 0);
    else
      work_on(&parts[i]);
  for (uint32_t i = 0; side_by_side && i < PARTS; i++) pthread_join(threads[i], NULL);
}

static void add_tables(ts_store *store, const char *dtype) {
  add_config(store, CONFIG("name", "steps", "dim", "8", "dtype", dtype, "optimizer", "adagrad", "expire.steps", "9"));
  add_config(store, CONFIG("name", "weight", "dim", "8", "dtype", dtype, "learning_rate", "0.1", "expire.l2", "0.01",
                           "expire.l2_every", "5"));
  add_config(store, CONFIG("name", "both", "dim", "8", "dtype", dtype, "optimizer", "ftrl", "admission", "counter",
                           "admission.frequency", "2", "record_frequency", "1", "expire.steps", "14", "expire.l2", "0.11",
                           "expire.l2_form", "norm", "expire.l2_every", "4"));
}

static seen run(const storage_type *type, const char *policy, const char *dtype, const char *shards, bool side_by_side,
                uint32_t sweep_every) {
  ts_config *config = config_of_type(type, type->tiers == 1 ? "" : type->tiers == 2 ? "6000" : "6000,9000", "rows");
  ts_config_set(config, "policy", policy, NULL, 0);
  ts_config_set(config, "shards", shards, NULL, 0);
  ts_store *store = open_config(config);
  seen s = {0};
  if (store == NULL) return s;
  add_tables(store, dtype);
  part parts[PARTS];
  for (uint32_t i = 0; i < PARTS; i++) parts[i] = (part){.store = store, .number = i};
  for (uint32_t step = 0; step < STEPS; step++) {
    if (step == STEPS / 2) {
      s.early = counter_of(store, TS_STAT_expired);
      OK(ts_store_reset_statistics(store, ERR));
    }
    OK(ts_store_set_step(store, step, ERR));
    for (uint32_t i = 0; i < PARTS; i++) parts[i].step = step;
    all_parts(parts, side_by_side);
    for (uint32_t t = 0; sweep_every > 0 && step % sweep_every == 0 && t < TABLES; t++)
      OK(ts_table_expire(store, t, 100, NULL, ERR));
  }
  s.late = counter_of(store, TS_STAT_expired); /* before anything that waits for expired rows */
  for (uint32_t i = 0; i < PARTS; i++) s.answers = ts_hash_bytes(&parts[i].answers, sizeof parts[i].answers, s.answers);
  OK(ts_store_settle(store, ERR));
  OK(ts_store_digest(store, &s.digest, ERR));
  for (uint32_t t = 0; t < TABLES; t++) {
    uint64_t n;
    OK(ts_table_keys(store, t, NULL, 0, &n, ERR));
    s.keys = s.keys << 16 | n;
    s.rows = s.rows << 16 | counted_rows(store, t);
  }
  CHECK(counter_of(store, TS_STAT_expired) == s.late);
  ts_store_close(store);
  return s;
}

/* Which of all runs there are: one policy of three; under the thread sanitizer one of six,
 * and four threads alone, since it has nothing to find where there is one. */
static bool is_run(bool all, uint32_t type, uint32_t policy, uint32_t dtype, uint32_t threads) {
  const uint32_t turn = policy + type + dtype;
#if defined(__SANITIZE_THREAD__)
  return threads > 1 && (all || storage_types[type].tiers == 1 || turn % 6 == 0);
#else
  /* Of a device's memory fewer: each look at its rows is a transfer. */
  if (uses_opencl(&storage_types[type]) && !all) return turn % 6 == 0 && (dtype + policy + threads / 4) % 2 == 0;
  return all || storage_types[type].tiers == 1 || (turn + threads / 4) % 3 == 0;
#endif
}

static void same_rows_whoever_looks(void) {
  static const char *const policies[] = {"lru", "lfu", "clock", "s3fifo", "sieve", "tinylfu"};
  static const char *const dtypes[] = {"fp32", "bf16"};
  const bool all = getenv("TIERSTORE_ROUNDS") != NULL;
  for (uint32_t d = 0; d < 2; d++) {
    const seen expected = run(&storage_types[0], "clock", dtypes[d], "1", false, 0);
    CHECK_MSG(expected.early > 200 && expected.late > 500 && expected.keys == expected.rows, "%llu and %llu expired",
              (unsigned long long)expected.early, (unsigned long long)expected.late);
    for (uint32_t i = 0; i < STORAGE_TYPES; i++)
      for (uint32_t p = 0; p < (storage_types[i].tiers == 1 ? 1 : 6); p++)
        for (uint32_t threads = 1; threads <= 4; threads += 3) {
          if (!is_run(all, i, p, d, threads)) continue;
          const seen got = run(&storage_types[i], policies[p], dtypes[d], p % 2 == 0 ? "4" : "1", threads > 1, p * threads);
          CHECK_MSG(memcmp(&got, &expected, sizeof got) == 0,
                    "%s, %s, %s, %u threads: answers %llx, not %llx; digest %llx, not %llx; rows %llx, not %llx; keys %llx, not "
                    "%llx; %llu and %llu expired, not %llu and %llu",
                    storage_types[i].name, policies[p], dtypes[d], threads, (unsigned long long)got.answers,
                    (unsigned long long)expected.answers, (unsigned long long)got.digest,
                    (unsigned long long)expected.digest, (unsigned long long)got.rows, (unsigned long long)expected.rows,
                    (unsigned long long)got.keys, (unsigned long long)expected.keys, (unsigned long long)got.early,
                    (unsigned long long)got.late, (unsigned long long)expected.early, (unsigned long long)expected.late);
        }
  }
}

/* A step that falls brings nothing back. */
static void a_lower_step_brings_nothing_back(void) {
  for (uint32_t i = 0; i < STORAGE_TYPES; i++) {
    ts_store *store = open_config(config_of_type(&storage_types[i], "", "rows"));
    if (store == NULL) continue;
    add_config(store, CONFIG("name", "t", "dim", "4", "expire.steps", "5"));
    const int64_t keys[3] = {1, 2, 3};
    const float g[12] = {1};
    uint8_t found[3];
    float rows[12];
    uint64_t n;
    int32_t tiers[3];
    int64_t versions[3];
    OK(ts_store_set_step(store, 10, ERR));
    OK(ts_table_update(store, 0, keys, 2, g, ERR));
    OK(ts_table_lookup(store, 0, keys + 2, 1, rows, ERR)); /* no update: its age counts from here */
    OK(ts_store_set_step(store, 13, ERR));
    OK(ts_table_update(store, 0, keys, 1, g, ERR));
    OK(ts_store_set_step(store, 15, ERR));
    OK(ts_table_find(store, 0, keys, 3, 0, rows, found, ERR));
    CHECK_MSG(found[0] && found[1] && found[2], "%s", storage_types[i].name);
    OK(ts_store_set_step(store, 16, ERR));
    OK(ts_table_find(store, 0, keys, 3, 0, rows, found, ERR));
    OK(ts_table_lookup_tier(store, 0, keys, 3, tiers, ERR));
    OK(ts_table_metadata(store, 0, keys, 3, NULL, versions, ERR));
    OK(ts_table_keys(store, 0, NULL, 0, &n, ERR));
    CHECK_MSG(found[0] && !found[1] && !found[2] && tiers[0] >= 0 && tiers[1] < 0 && tiers[2] < 0 && versions[0] == 13 &&
                  versions[1] == -1 && versions[2] == -1 && n == 1,
              "%s: %llu keys", storage_types[i].name, (unsigned long long)n);
    uint64_t removed = 9;
    OK(ts_table_remove(store, 0, keys + 2, 1, &removed, ERR));
    CHECK_MSG(removed == 0, "%s", storage_types[i].name);
    OK(ts_store_set_step(store, 12, ERR));
    OK(ts_table_find(store, 0, keys, 3, 0, rows, found, ERR));
    CHECK_MSG(found[0] && !found[1] && !found[2] && counter_of(store, TS_STAT_expired) == 2, "%s", storage_types[i].name);
    ts_store_close(store);
  }
}

int main(void) {
  if (!make_folder("expiry")) return 1;
  same_rows_whoever_looks();
  a_lower_step_brings_nothing_back();
  remove_folder();
  return test_result();
}
