/* What a full store does with an update that needs new rows: it refuses and has stepped nothing, on every storage type, for
 * rows of 1 to 64 weights, in both ways of counting; and the same call steps each row once when there is room again. A key
 * whose row a refused lookup has created does not wait for admission any more. */
#include "test/foreign_threads.h"
#include "test/store_types.h"

#define BATCH 200u
#define FILL 50u
#define MOST_DIM 64u
#define RATE 0.5f

static char message[512];
#define ERR message, sizeof message

static int64_t keys[BATCH];
static float rows[BATCH * MOST_DIM], before[BATCH * MOST_DIM], gradients[BATCH * MOST_DIM];

/* Looks new keys up until the store refuses; how many there are. */
static int64_t fill(ts_store *store, const char *name) {
  for (int64_t first = 0; first < 400000; first += FILL) {
    for (uint32_t i = 0; i < FILL; i++) keys[i] = first + i;
    const int32_t status = ts_table_lookup(store, 0, keys, FILL, rows, ERR);
    if (status == TS_OK) continue;
    CHECK_MSG(status == TS_EFULL, "%s: %s", name, message);
    return first;
  }
  CHECK_MSG(false, "%s takes everything", name);
  return 0;
}

static uint64_t different(const float *a, const float *b, uint32_t dim, const uint8_t *found) {
  uint64_t n = 0;
  for (uint32_t i = 0; i < BATCH; i++)
    n += found[i] && memcmp(a + i * dim, b + i * dim, dim * sizeof *a) != 0;
  return n;
}

static void update_a_full_store(const storage_type *type, const char *sizes, const char *counts, uint32_t dim,
                                const char *policy) {
  ts_config *config = config_of_type(type, sizes, counts);
  ts_config_set(config, "policy", policy, NULL, 0);
  ts_store *store = open_config(config);
  if (store == NULL) return;
  config = CONFIG("name", "t", "learning_rate", "0.5", "record_version", dim % 2 == 0 ? "1" : "0");
  set_number(config, "dim", dim);
  add_config(store, config);
  const int64_t there = fill(store, type->name);
  uint8_t found[BATCH], after[BATCH];
  uint32_t refused = 0;
  for (int64_t round = 0; round < 12 && test_failures == 0; round++) {
    /* Rows of all ages, and new keys between them. */
    for (uint32_t i = 0; i < BATCH; i++)
      keys[i] = i % 2 == 0 ? (there / BATCH * i + round) % there : 1000000 + round * BATCH + i;
    for (uint32_t i = 0; i < BATCH * dim; i++) gradients[i] = (float)(i % 9) * 0.25f + 0.25f;
    CHECK(ts_table_find(store, 0, keys, BATCH, 0, before, found, ERR) == TS_OK);
    int32_t status = ts_table_update(store, 0, keys, BATCH, gradients, ERR);
    if (status == TS_OK) continue; /* here and there a place was free */
    refused++;
    CHECK_MSG(status == TS_EFULL, "%s: %s", type->name, message);
    CHECK(ts_table_find(store, 0, keys, BATCH, 0, rows, after, ERR) == TS_OK);
    for (uint32_t i = 0; i < BATCH; i++) CHECK_MSG(!found[i] || after[i], "%s: a row is lost", type->name);
    CHECK_MSG(different(rows, before, dim, found) == 0, "%s, %s, dim %u, %s: a refused update has stepped %llu rows; %s",
              type->name, counts, dim, policy, (unsigned long long)different(rows, before, dim, found), message);
    CHECK(limits_hold(store));
    /* Room: rows that are not of the batch go, more at a time until it is enough. */
    int64_t next = 0;
    for (uint32_t tries = 0; status == TS_EFULL && tries < 40; tries++) {
      int64_t others[BATCH];
      uint32_t n = 0;
      uint64_t removed;
      for (; n < BATCH && next < there; next++) {
        bool used = false;
        for (uint32_t i = 0; i < BATCH; i += 2) used = used || keys[i] == next;
        if (!used) others[n++] = next;
      }
      CHECK(ts_table_remove(store, 0, others, n, &removed, ERR) == TS_OK);
      memcpy(before, rows, sizeof before);
      memcpy(found, after, sizeof found);
      status = ts_table_update(store, 0, keys, BATCH, gradients, ERR);
      CHECK(ts_table_find(store, 0, keys, BATCH, 0, rows, after, ERR) == TS_OK);
      if (status == TS_EFULL)
        CHECK_MSG(different(rows, before, dim, found) == 0, "%s, %s, dim %u: refused again, and stepped", type->name, counts,
                  dim);
    }
    CHECK_MSG(status == TS_OK, "%s, %s, dim %u: %s", type->name, counts, dim, message);
    for (uint32_t i = 0; i < BATCH * dim; i++) before[i] -= RATE * gradients[i];
    CHECK_MSG(different(rows, before, dim, found) == 0, "%s, %s, dim %u: %llu rows have not stepped once", type->name,
              counts, dim, (unsigned long long)different(rows, before, dim, found));
    CHECK(limits_hold(store));
    CHECK_MSG(ts_store_settle(store, ERR) == TS_OK, "%s: %s", type->name, message); /* background eviction charges, too */
    CHECK(charges_agree(store));
    break;
  }
  CHECK_MSG(refused > 0, "%s, %s, dim %u: nothing was refused", type->name, counts, dim);
  CHECK(ts_store_close(store) == TS_OK);
}

/* Settling after removals, when neither the first tier nor the disk has a byte left. */
static void settling_needs_no_room(const char *storage) {
  ts_store *store = open_config(CONFIG("storage", storage, "size", "5242880,67108864", "path", folder));
  if (store == NULL) return;
  add_config(store, CONFIG("name", "t", "dim", "64"));
  uint64_t removed;
  for (uint32_t i = 0; i < BATCH; i++) keys[i] = i;
  for (uint32_t round = 0; round < 200; round++, keys[0] += BATCH) {
    for (uint32_t i = 1; i < BATCH; i++) keys[i] = keys[0] + i;
    CHECK_MSG(ts_table_lookup(store, 0, keys, BATCH, rows, ERR) == TS_OK, "%s", message);
  }
  for (keys[0] = 0; keys[0] < 100 * BATCH; keys[0] += BATCH) {
    for (uint32_t i = 1; i < BATCH; i++) keys[i] = keys[0] + i;
    CHECK(ts_table_remove(store, 0, keys, BATCH / 2, &removed, ERR) == TS_OK);
  }
  uint64_t taken[2];
  for (uint32_t t = 0; t < 2; t++) {
    ts_budget *budget = &store->tiers[t].budget;
    taken[t] = budget->limit - atomic_load(&budget->used);
    CHECK(ts_budget_take_first(budget, TS_PURPOSE_BUFFERS, taken[t]));
  }
  CHECK_MSG(ts_store_settle(store, ERR) == TS_OK, "%s: %s", storage, message);
  for (uint32_t t = 0; t < 2; t++) ts_budget_give_back(&store->tiers[t].budget, TS_PURPOSE_BUFFERS, taken[t]);
  CHECK(ts_store_close(store) == TS_OK);
}

/* Looks new keys up, each batch until it is admitted, until the store refuses; `keys` are that batch then. */
static bool fill_admitted(ts_store *store, const char *name) {
  for (int64_t first = 0; first < 400000; first += BATCH) {
    for (uint32_t i = 0; i < BATCH; i++) keys[i] = first + i;
    int32_t status = ts_table_lookup(store, 0, keys, BATCH, rows, ERR);
    if (status == TS_OK) status = ts_table_lookup(store, 0, keys, BATCH, rows, ERR);
    if (status == TS_OK) continue;
    CHECK_MSG(status == TS_EFULL, "%s: %s", name, message);
    return status == TS_EFULL;
  }
  CHECK_MSG(false, "%s takes everything", name);
  return false;
}

/* Rows that a refused lookup created stay, and their keys wait no more: they are in no list of those that do, and when their
 * rows have expired nothing is left of what was counted before. */
static void keys_with_rows_wait_no_more(const storage_type *type, const char *sizes, const char *counts, bool bags) {
  ts_store *store = open_config(config_of_type(type, sizes, counts));
  if (store == NULL) return;
  add_config(store, CONFIG("name", "t", "dim", "64", "admission", "counter", "expire.steps", "5"));
  int64_t waiting[BATCH];
  int32_t tiers[BATCH];
  uint64_t cursor[4] = {0}, offsets[BATCH + 1], frequencies[BATCH], n, both = 0, left = 0;
  int64_t versions[BATCH];
  if (!fill_admitted(store, type->name)) return;
  for (uint32_t i = 0; i <= BATCH; i++) offsets[i] = i;
  if (bags) /* the same keys again */
    CHECK(ts_table_lookup_bags(store, 0, keys, offsets, BATCH, NULL, TS_COMBINER_SUM, 0, rows, ERR) == TS_EFULL);
  do {
    CHECK(ts_table_waiting(store, 0, cursor, waiting, NULL, NULL, BATCH, &n, ERR) == TS_OK);
    CHECK(ts_table_lookup_tier(store, 0, waiting, n, tiers, ERR) == TS_OK);
    for (uint64_t i = 0; i < n; i++) both += tiers[i] >= 0;
  } while (n > 0);
  CHECK_MSG(both == 0, "%s, %s: %llu keys have a row and wait for one", type->name, counts, (unsigned long long)both);
  CHECK(ts_table_lookup_tier(store, 0, keys, BATCH, tiers, ERR) == TS_OK);
  CHECK(ts_store_set_step(store, 9, ERR) == TS_OK && ts_table_expire(store, 0, 0, NULL, ERR) == TS_OK);
  CHECK(ts_table_metadata(store, 0, keys, BATCH, frequencies, versions, ERR) == TS_OK);
  for (uint32_t i = 0; i < BATCH; i++) left += tiers[i] >= 0 && (frequencies[i] != 0 || versions[i] != -1);
  CHECK_MSG(left == 0, "%s, %s: %llu rows have expired and their keys need not be admitted anew", type->name, counts,
            (unsigned long long)left);
  CHECK(ts_store_close(store) == TS_OK);
}

int main(void) {
  if (!make_folder("refusal")) return 1;
  settling_needs_no_room("DRAM_SSDHASH");
  settling_needs_no_room("DRAM_LEVELDB");
  static const uint32_t dims[] = {1, 2, 7, 16, 33, 64};
  for (uint32_t i = 0; i < STORAGE_TYPES; i++) {
    const storage_type *type = &storage_types[i];
    const char *few = type->tiers == 1 ? "120000" : type->tiers == 2 ? "30000,90000" : "30000,20000,90000";
    const char *fewer = type->tiers == 1 ? "3000" : type->tiers == 2 ? "1000,2000" : "1000,1000,1000";
    const char *all = type->tiers == 1   ? (type->ssd ? "6291456" : "1048576")
                      : type->tiers == 3 ? "5242880,262144,1048576"
                      : type->ssd        ? "5242880,1048576"
                                         : "1048576,262144";
    for (uint32_t d = 0; d < sizeof dims / sizeof *dims && test_failures == 0; d++) {
      update_a_full_store(type, few, "rows", dims[d], ts_policy_names[(i + d) % TS_POLICIES]);
      if (dims[d] == 64) keys_with_rows_wait_no_more(type, fewer, "rows", i % 2 == 0);
      if (dims[d] == 64) keys_with_rows_wait_no_more(type, all, "all", i % 2 == 1);
      if (!type->ssd || dims[d] == 64) update_a_full_store(type, all, "all", dims[d], ts_policy_names[(i + d) % TS_POLICIES]);
    }
  }
  remove_folder();
  return test_result();
}
