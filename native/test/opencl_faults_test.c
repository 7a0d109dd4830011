/* A device that refuses: every call of OpenCL in turn fails as if the device had no memory left, for every n that there is,
 * while a store is opened, a table made, and rows are looked up, made, stepped, moved and removed. Each gives one error, or
 * goes another way and says nothing; nothing that was there has changed, and the same call goes through afterwards. */
#include "test/refusing_device.h"

#define DIM 16u
#define KEYS 5200u /* 13 batches, more than the first tier holds */
#define BATCH 400u /* which fits one transfer */
static int64_t keys[KEYS];
static float rows[KEYS * DIM], ones[KEYS * DIM];

typedef struct world {
  ts_store *store;
  uint32_t table;
  uint64_t digest, count;
} world;

static void look(const world *w, uint64_t *digest, uint64_t *count) {
  CHECK_MSG(ts_store_digest(w->store, digest, ERR) == TS_OK, "%s", text);
  CHECK_MSG(ts_table_keys(w->store, w->table, NULL, 0, count, ERR) == TS_OK, "%s", text);
}

typedef int32_t action(const world *w);
static int32_t look_up_top(const world *w) { return ts_table_lookup(w->store, w->table, keys, BATCH, rows, ERR); }
static int32_t look_up_low(const world *w) { return ts_table_lookup(w->store, w->table, keys + KEYS - BATCH, BATCH, rows, ERR); }
static int32_t find_some(const world *w) { return ts_table_find(w->store, w->table, keys, BATCH, 0, rows, NULL, ERR); }
static int32_t step(const world *w) { return ts_table_update(w->store, w->table, keys, BATCH, ones, ERR); }
static int32_t look_up_bags(const world *w) {
  static const uint64_t offsets[] = {0, 100, BATCH};
  return ts_table_lookup_bags(w->store, w->table, keys, offsets, 2, NULL, TS_COMBINER_SUM, 0, rows, ERR);
}
static int32_t make(const world *w) {
  static int64_t next = 1000000;
  int64_t fresh[BATCH];
  for (uint32_t i = 0; i < BATCH; i++) fresh[i] = next + i;
  const int32_t status = ts_table_lookup(w->store, w->table, fresh, BATCH / 2, rows, ERR);
  if (status == TS_OK) next += BATCH;
  return status;
}

/* Of a call that was refused nothing is left; one that was not makes what it makes. */
static void refuse_each(const char *of, const char *what, world *w, action *act, bool changes) {
  uint64_t hits = 0;
  for (refuse_at = 1;; refuse_at++) {
    look(w, &w->digest, &w->count);
    const uint64_t at = refuse_at;
    asked = 0;
    hit = false;
    text[0] = '\0';
    const int32_t status = act(w);
    refuse_at = 0;
    hits += hit;
    uint64_t digest, count;
    look(w, &digest, &count);
    CHECK_MSG(hit || status == TS_OK, "%s, %s: %d %s", of, what, status, text);
    if (status != TS_OK) CHECK_MSG(status == TS_ENOMEM && strstr(text, "no memory left on the device") != NULL, "%s, %s, call %llu: %d \"%s\"", of, what, (unsigned long long)at, status, text);
    if (status != TS_OK || !changes)
      CHECK_MSG(digest == w->digest && count == w->count, "%s, %s, call %llu: %d, digest %llx of %llu rows, before %llx of %llu", of, what,
                (unsigned long long)at, status, (unsigned long long)digest, (unsigned long long)count, (unsigned long long)w->digest,
                (unsigned long long)w->count);
    CHECK_MSG(limits_hold(w->store) && charges_agree(w->store), "%s, %s, call %llu: limits", of, what, (unsigned long long)at);
    refuse_at = at;
    if (!hit || test_failures > 5) break;
  }
  refuse_at = 0;
  CHECK_MSG(hits >= 3, "%s, %s asks the device %llu times", of, what, (unsigned long long)hits);
}

static void run(const storage_type *type, bool frequency) {
  world w = {0};
  ts_config *config = config_of_type(type, "", "all");
  ts_config_set(config, "eviction_threads", "0", NULL, 0);
  ts_config_set(config, "size", !has_hbm_above(type) ? "67108864" : type->tiers == 1 ? "524288,67108864" : "524288,67108864,67108864", NULL, 0);
  /* Opening and making a table: refused at each call, with nothing left of it. */
  for (refuse_at = 1;; refuse_at++) {
    asked = 0;
    hit = false;
    text[0] = '\0';
    int32_t status = ts_store_open(config, &w.store, ERR);
    if (status == TS_OK) {
      ts_config *of_table = CONFIG("name", "a", "dim", "16", "optimizer", "adagrad", "record_frequency", frequency ? "1" : "0");
      status = ts_table_create(w.store, of_table, &w.table, ERR);
      ts_config_free(of_table);
      if (status != TS_OK) ts_store_close(w.store);
    }
    CHECK_MSG(status == TS_OK || (hit && status == TS_ENOMEM && strstr(text, "no memory left on the device") != NULL),
              "%s, opening, call %llu: %d %s", type->name, (unsigned long long)refuse_at, status, text);
    if (!hit || test_failures > 5) break;
    if (status == TS_OK) ts_store_close(w.store);
  }
  refuse_at = 0;
  ts_config_free(config);
  if (test_failures > 0) return;
  for (uint32_t first = 0; first < KEYS; first += BATCH)
    CHECK_MSG(ts_table_lookup(w.store, w.table, keys + first, BATCH, rows, ERR) == TS_OK, "%s", text);
  uint64_t in[TS_MAX_TIERS];
  CHECK(ts_table_rows(w.store, w.table, in, TS_MAX_TIERS, ERR) == TS_OK);
  CHECK_MSG(!has_hbm_above(type) || (in[0] > 500 && in[1] > 500), "%s: %llu rows on the device", type->name, (unsigned long long)in[0]);
  CHECK_MSG(look_up_top(&w) == TS_OK, "%s", text); /* the rows that step are there again */
  refuse_each(type->name, "a step", &w, step, true);
  refuse_each(type->name, "a lookup", &w, look_up_top, frequency);
  refuse_each(type->name, "a lookup of what is below", &w, look_up_low, frequency);
  refuse_each(type->name, "bags", &w, look_up_bags, frequency);
  refuse_each(type->name, "a look", &w, find_some, false);
  refuse_each(type->name, "new rows", &w, make, true);
  ts_store_close(w.store);
}

/* An update of more rows than go in one transfer, each call refused in turn: a row has taken its whole step or none, the message
 * says how many have at most, and without such words none has. */
static void larger_than_one_transfer(void) {
  static float before[BATCH * DIM], after[BATCH * DIM], now[BATCH * DIM];
  uint64_t parts = 0, whole = 0;
  for (uint64_t n = 1;; n++) {
    world w = {0}, dram = {0};
    w.store = open_config(CONFIG("storage", "HBM_DRAM", "hbm", "opencl", "size", "65536,67108864", "eviction_threads", "0"));
    dram.store = open_config(CONFIG("storage", "DRAM", "size", "67108864"));
    if (w.store == NULL || dram.store == NULL) return;
    w.table = add_config(w.store, CONFIG("name", "a", "dim", "16", "optimizer", "adagrad"));
    dram.table = add_config(dram.store, CONFIG("name", "a", "dim", "16", "optimizer", "adagrad"));
    CHECK(ts_table_lookup(w.store, w.table, keys, BATCH, before, ERR) == TS_OK && step(&dram) == TS_OK);
    CHECK(ts_table_lookup(dram.store, dram.table, keys, BATCH, after, ERR) == TS_OK);
    refuse_call(n);
    const int32_t status = step(&w);
    refuse_at = 0;
    const char *said = strstr(text, "; up to ");
    const uint64_t most = status == TS_OK ? BATCH : said == NULL ? 0 : strtoull(said + strlen("; up to "), NULL, 10);
    CHECK_MSG(ended_well(status), "call %llu: %d \"%s\"", (unsigned long long)n, status, text);
    CHECK(ts_table_find(w.store, w.table, keys, BATCH, 0, now, NULL, ERR) == TS_OK);
    uint64_t stepped = 0;
    for (uint32_t i = 0; i < BATCH; i++) {
      const bool has = memcmp(now + i * DIM, after + i * DIM, DIM * sizeof *now) == 0;
      stepped += has;
      CHECK_MSG(has || memcmp(now + i * DIM, before + i * DIM, DIM * sizeof *now) == 0, "call %llu: half a step of row %u", (unsigned long long)n, i);
    }
    CHECK_MSG(stepped <= most && (status != TS_OK || stepped == BATCH), "call %llu: %llu rows have stepped: %d \"%s\"", (unsigned long long)n,
              (unsigned long long)stepped, status, text);
    parts += status != TS_OK && stepped > 0;
    whole += status != TS_OK && stepped == 0;
    ts_store_close(w.store);
    ts_store_close(dram.store);
    if (!hit || test_failures > 5) break;
  }
  CHECK_MSG(parts > 3 && whole > 3, "%llu updates ended in the middle, %llu before", (unsigned long long)parts, (unsigned long long)whole);
}

int main(void) {
  if (!make_folder("opencl-faults")) return 1;
  if (STORAGE_TYPES == sizeof storage_types / sizeof *storage_types) {
    for (uint32_t i = 0; i < KEYS; i++) keys[i] = (int64_t)i * 3 - 500;
    for (uint32_t i = 0; i < KEYS * DIM; i++) ones[i] = 1;
    larger_than_one_transfer();
    for (uint32_t i = STORAGE_TYPES - ON_DEVICE; i < STORAGE_TYPES && test_failures == 0; i++) {
      if (all_tiers_of(&storage_types[i]) > 3 || storage_types[i].pmem != NULL) continue;
      if (!storage_types[i].ssd || strcmp(storage_types[i].storage, "HBM_DRAM_SSDHASH") == 0) run(&storage_types[i], false);
      if (strcmp(storage_types[i].storage, "HBM_DRAM") != 0) continue;
      run(&storage_types[i], true);
      says_gpu = true;
      run(&storage_types[i], false);
      says_gpu = false;
    }
  }
  remove_folder();
  return test_result();
}
