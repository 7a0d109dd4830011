/* Memory flows between tables: to one that comes late, from one that falls silent, and from one that has been emptied, with
 * every row right on the way.
 *
 * TIERSTORE_KEYS in the environment: for long runs, so many keys fill the table that is emptied. */
#include "test/foreign_threads.h"
#include "test/store_types.h"

#define BATCH 500u
#define DIM 16u
#define HOT 2000u /* keys of a table that comes late */

static char message[512];
#define ERR message, sizeof message
static int64_t keys[BATCH];
static float rows[BATCH * 64], again[BATCH * 64];

static int32_t look_up(ts_store *store, uint32_t table, int64_t from) {
  for (uint32_t i = 0; i < BATCH; i++) keys[i] = from + i;
  return ts_table_lookup(store, table, keys, BATCH, rows, ERR);
}

static uint64_t hits_of(ts_store *store, uint32_t table, uint64_t *all) {
  uint64_t counters[TS_STATISTIC_COUNT];
  CHECK(ts_table_statistics(store, table, counters, TS_STATISTIC_COUNT, NULL, ERR) == TS_OK);
  *all = counters[TS_STAT_lookup_keys];
  return counters[TS_STAT_tier0_hits];
}

static uint32_t add_plain(ts_store *store, const char *name, uint32_t dim) {
  ts_config *config = CONFIG("name", name);
  set_number(config, "dim", dim);
  return add_config(store, config);
}

/* So many calls for the hot keys of `n` tables, one after the other; the share of first-tier hits in the last quarter. */
static double use(ts_store *store, const uint32_t *tables, uint32_t n, uint32_t calls) {
  uint64_t hits[2] = {0}, all[2] = {0};
  for (uint32_t call = 0; call < calls && test_failures == 0; call++) {
    if (call == calls - calls / 4)
      for (uint32_t t = 0; t < n; t++) {
        uint64_t looked;
        hits[0] += hits_of(store, tables[t], &looked);
        all[0] += looked;
      }
    CHECK_MSG(look_up(store, tables[call % n], (call / n % (HOT / BATCH)) * BATCH) == TS_OK, "%s", message);
  }
  for (uint32_t t = 0; t < n; t++) {
    uint64_t looked;
    hits[1] += hits_of(store, tables[t], &looked);
    all[1] += looked;
  }
  return (double)(hits[1] - hits[0]) / (double)(all[1] - all[0]);
}

/* The bound that docs/store.md states is 2 calls a shard for a round, and a sixteenth of what the others hold each: a few
 * rounds bring what these tables need. */
static void late_tables(const storage_type *type, const char *policy, uint32_t shards) {
  static const char *const sizes[] = {"", "", "6291456,134217728", "10485760,4194304,134217728"},
                    *const below_hbm[] = {"", "6291456,134217728", "6291456,10485760,134217728",
                                          "6291456,10485760,4194304,134217728"};
  ts_config *config = config_of_type(type, (has_hbm_above(type) ? below_hbm : sizes)[type->tiers], "all");
  ts_config_set(config, "policy", policy, NULL, 0);
  set_number(config, "shards", shards);
  ts_store *store = open_config(config);
  if (store == NULL) return;
  const uint32_t a = add_plain(store, "a", DIM);
  const uint32_t b = add_plain(store, "b", DIM);
  for (int64_t first = 0; first < 100000; first += BATCH)
    CHECK_MSG(look_up(store, a, first) == TS_OK, "%s: %s", type->name, message);
  const uint32_t round = 2 * 2 * shards, bound = 6 * round + 4 * HOT / BATCH;
  double share = use(store, &b, 1, 4 * bound / 3);
  CHECK_MSG(share > 0.99, "%s, %s, %u shards: table b came late and has %.1f %% hits in the first tier", type->name, policy,
            shards, 100 * share);
  /* a stays silent; c comes, and both are used in turn. */
  const uint32_t c = add_plain(store, "c", DIM), both[] = {b, c};
  if (c == UINT32_MAX) return;
  share = use(store, both, 2, 2 * bound);
  CHECK_MSG(share > 0.99, "%s, %s, %u shards: b and c have %.1f %%", type->name, policy, shards, 100 * share);
  /* And the other way: a comes back. */
  share = use(store, &a, 1, 2 * bound);
  CHECK_MSG(share > 0.99, "%s, %s, %u shards: a came back and has %.1f %%", type->name, policy, shards, 100 * share);
  CHECK(limits_hold(store) && ts_store_settle(store, ERR) == TS_OK && charges_agree(store));
  CHECK(ts_store_close(store) == TS_OK);
}

/* How many keys, in batches, a table takes from `from` on. */
static int64_t grow(ts_store *store, uint32_t table, int64_t from, int64_t most) {
  int64_t n = 0;
  for (; n < most && test_failures == 0; n += BATCH) {
    const int32_t status = look_up(store, table, from + n);
    if (status == TS_EFULL) break;
    CHECK_MSG(status == TS_OK, "%s", message);
  }
  return n;
}

/* Every kept row of a table is what it was: first values are a function of seed, table and key. */
static void compare_rows(ts_store *store, ts_store *whole, uint32_t table, int64_t from, int64_t to, int64_t step) {
  for (int64_t first = from; first < to && test_failures == 0; first += BATCH * step) {
    uint8_t found[BATCH];
    uint32_t n = 0;
    for (int64_t k = first; k < to && n < BATCH; k += step) keys[n++] = k;
    CHECK(ts_table_find(store, table, keys, n, 0, rows, found, ERR) == TS_OK);
    CHECK(ts_table_lookup(whole, table, keys, n, again, ERR) == TS_OK);
    uint64_t lost = 0;
    const uint32_t dim = store->tables[table]->layout.dim;
    for (uint32_t i = 0; i < n; i++) lost += !found[i] || memcmp(rows + i * dim, again + i * dim, dim * sizeof *rows) != 0;
    CHECK_MSG(lost == 0, "%s: %llu of %u rows are lost or wrong", store->storage, (unsigned long long)lost, n);
  }
}

/* Table a fills the store and gives up all but every 50th row; b, of another width, must then get the room. Then b is
 * emptied, all of it, and a grows again. */
static void emptied_table(const storage_type *type, const char *sizes, uint32_t shards, uint32_t dim, int64_t most) {
  ts_config *config = config_of_type(type, sizes, "all");
  set_number(config, "shards", shards);
  ts_store *store = open_config(config), *whole = open_config(CONFIG("storage", "DRAM"));
  if (store == NULL) return;
  const uint32_t a = add_plain(store, "a", dim), b = add_plain(store, "b", DIM);
  add_plain(whole, "a", dim);
  add_plain(whole, "b", DIM);
  const int64_t filled = grow(store, a, 0, most);
  CHECK_MSG(filled < most || most > 1000000, "%s is not full", type->name);
  for (int64_t first = 0; first < filled; first += BATCH) {
    uint32_t n = 0;
    uint64_t removed;
    for (int64_t k = first; k < first + (int64_t)BATCH; k++)
      if (k % 50 != 0) keys[n++] = k;
    CHECK(ts_table_remove(store, a, keys, n, &removed, ERR) == TS_OK);
  }
  /* In bytes of rows and index b can have about what a had. */
  const int64_t expected = filled * (int64_t)(store->tables[a]->layout.stride + 18) /
                           (int64_t)(store->tables[b]->layout.stride + 18) * 7 / 10;
  int64_t taken = grow(store, b, 0, expected / BATCH * BATCH);
  CHECK_MSG(taken >= expected / (int64_t)BATCH * (int64_t)BATCH,
            "%s, %u shards, dim %u: %lld rows were removed, then another table gets %lld rows of %lld: %s", type->name, shards,
            dim, (long long)filled, (long long)taken, (long long)expected, message);
  compare_rows(store, whole, a, 0, filled, 50);
  compare_rows(store, whole, b, 0, taken, 1);
  for (int64_t first = 0; first < taken; first += BATCH) {
    uint64_t removed;
    for (uint32_t i = 0; i < BATCH; i++) keys[i] = first + i;
    CHECK(ts_table_remove(store, b, keys, BATCH, &removed, ERR) == TS_OK);
  }
  const int64_t more = filled / 2 / (int64_t)BATCH * (int64_t)BATCH, grown = grow(store, a, filled, more);
  CHECK_MSG(grown == more, "%s, %u shards, dim %u: the emptied table leaves the first %lld rows of %lld: %s", type->name,
            shards, dim, (long long)grown, (long long)more, message);
  compare_rows(store, whole, a, 0, filled, 50);
  compare_rows(store, whole, a, filled, filled + grown, 1);
  CHECK(limits_hold(store) && charges_agree(store));
  CHECK(ts_store_close(store) == TS_OK);
  ts_store_close(whole);
}

/* Without what is charged for the next growth of an index, which a call under memory pressure may have left. */
static uint64_t index_bytes(const ts_store *store) {
  uint64_t bytes = atomic_load(&ts_dram_budget(store)->reserved[TS_PURPOSE_INDEX]);
  for (uint32_t i = 0; i < atomic_load(&store->table_count); i++)
    for (uint32_t s = 0; s < store->tables[i]->shard_count; s++) bytes -= store->tables[i]->shards[s].index_grant;
  return bytes;
}

static void remove_all(ts_store *store, uint32_t table, int64_t rows_there) {
  for (int64_t first = 0; first < rows_there; first += BATCH) {
    uint64_t removed;
    for (uint32_t i = 0; i < BATCH; i++) keys[i] = first + i;
    CHECK(ts_table_remove(store, table, keys, BATCH, &removed, ERR) == TS_OK);
  }
}

/* Rows that are removed take their part of the indexes' DRAM with them, before anybody asks for it: most of it when few are
 * left, all of it when none is, or when it has settled, if memory was short meanwhile. Then another table has room for as many. */
static void index_of_emptied_table(const storage_type *type, const char *sizes, uint32_t shards, int64_t rows_wanted) {
  ts_config *config = config_of_type(type, sizes, "all");
  set_number(config, "shards", shards);
  ts_store *store = open_config(config);
  if (store == NULL) return;
  const uint32_t a = add_plain(store, "a", 4), b = add_plain(store, "b", 4);
  const uint64_t none = index_bytes(store);
  int64_t filled = grow(store, a, 0, rows_wanted);
  CHECK_MSG(filled == rows_wanted, "%s: %s", type->name, message);
  CHECK(ts_store_settle(store, ERR) == TS_OK);
  const uint64_t full = index_bytes(store) - none;
  remove_all(store, a, filled / 20 * 19);
  CHECK_MSG(index_bytes(store) - none < full / 10 * 3, "%s: a twentieth of the rows is left, and %llu of %llu bytes of index",
            type->name, (unsigned long long)(index_bytes(store) - none), (unsigned long long)full);
  remove_all(store, a, filled);
  CHECK(ts_store_settle(store, ERR) == TS_OK); /* what others had borrowed meanwhile is there again */
  CHECK_MSG(index_bytes(store) <= none + full / 100, "%s: the index of an emptied table keeps %lld of %llu bytes", type->name,
            (long long)(index_bytes(store) - none), (unsigned long long)full);
  filled = grow(store, b, 0, rows_wanted);
  CHECK_MSG(filled == rows_wanted, "%s: an emptied table leaves the next one %lld rows of %lld: %s", type->name,
            (long long)filled, (long long)rows_wanted, message);
  CHECK(limits_hold(store) && ts_store_settle(store, ERR) == TS_OK && charges_agree(store));
  CHECK(ts_store_close(store) == TS_OK);
}

int main(void) {
  if (!make_folder("room")) return 1;
  const char *more = getenv("TIERSTORE_KEYS");
  const int64_t keys_in_all = more != NULL ? (int64_t)strtoull(more, NULL, 10) / 5 : 300000;
  for (uint32_t i = 0; i < STORAGE_TYPES; i++) {
    const storage_type *type = &storage_types[i];
    if (type->ssd) continue;
    /* Below HBM, DRAM has lists of one tier's chunks more. */
    const char *sizes = type->tiers == 1 ? "4194304" : has_hbm_above(type) ? "1310720,3145728" : "1048576,3145728";
    const char *large = type->tiers == 2 ? "33554432,134217728" : "134217728";
    emptied_table(type, more != NULL ? large : sizes, 1, 1, keys_in_all);
    emptied_table(type, more != NULL ? large : sizes, 16, 32, keys_in_all);
  }
  for (uint32_t i = 0; i < STORAGE_TYPES; i++) {
    const storage_type *type = &storage_types[i];
    if (strstr(type->storage, "LEVELDB") != NULL) continue; /* has no index, and what its tables take follows the files */
    static const char *const of_tiers[] = {"25165824", "6291456,67108864", "8388608,1048576,67108864"};
    index_of_emptied_table(type, of_tiers[type->tiers - 1], i % 2 == 0 ? 1 : 16, 200000);
  }
  for (uint32_t i = 0, p = 0; i < STORAGE_TYPES; i++) {
    if (all_tiers_of(&storage_types[i]) == 1) continue;
    late_tables(&storage_types[i], ts_policy_names[p++ % TS_POLICIES], 1);
    late_tables(&storage_types[i], ts_policy_names[p++ % TS_POLICIES], 16);
  }
  remove_folder();
  return test_result();
}
