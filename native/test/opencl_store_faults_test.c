/* A device that refuses a call in the middle of what a store does beside lookups and updates: keys that wait for admission, rows
 * that expire, an index that grows, checkpoints, restores, restore points. Every call of OpenCL in turn is refused, for every n
 * that there is. Each time there is one error or none, and what is there afterwards is what a store in DRAM has that met none. */
#include "test/checkpoint_calls.h"
#include "test/refusing_device.h"

#include <sys/stat.h>

#define DIM 16u
#define BATCH 200u /* of one piece of work in the store */
#define MOST_CALLS 400u /* that a refusal is tried at */
static float here[BATCH * DIM], there[BATCH * DIM], gradients[BATCH * DIM];

typedef struct store_of {
  ts_store *store;
  uint32_t table;
} store_of;

static ts_config *store_config(const char *storage, bool persistent) {
  const bool device = strncmp(storage, "HBM", 3) == 0;
  ts_config *config = CONFIG("storage", storage, "size", !device ? "67108864" : strchr(storage, '_') == NULL ? "8388608" : strstr(storage, "SSDHASH") != NULL ? "524288,4194304,67108864" : "524288,67108864",
                             "eviction_threads", "0", "path", folder);
  if (device) ts_config_set(config, "hbm", "opencl", NULL, 0);
  if (persistent) ts_config_set(config, "persistent", "1", NULL, 0);
  return config;
}

static store_of open_with(const char *storage, const char *const *options) {
  store_of o = {.store = open_config(store_config(storage, false))};
  if (o.store == NULL) exit(1);
  ts_config *config = CONFIG("name", "a", "dim", "16", "optimizer", "adagrad");
  for (; options != NULL && *options != NULL; options += 2) ts_config_set(config, options[0], options[1], NULL, 0);
  o.table = add_config(o.store, config);
  return o;
}

static uint64_t digest_of(ts_store *store) {
  uint64_t digest = 0;
  CHECK_MSG(ts_store_digest(store, &digest, ERR) == TS_OK, "%s", text);
  return digest;
}

/* ---- admission, expiry, growth ---- */

/* Keys of a step: half of them new, each looked up in two steps, so that it is admitted by the second. */
static void keys_of(int64_t step, int64_t keys[BATCH]) {
  for (uint32_t i = 0; i < BATCH; i++) keys[i] = (step * (int64_t)BATCH / 2 + i) * 7 - 1000;
}

typedef int32_t action(const store_of *o, const int64_t *keys, float *rows);
static int32_t look_up(const store_of *o, const int64_t *keys, float *rows) { return ts_table_lookup(o->store, o->table, keys, BATCH, rows, ERR); }
static int32_t step(const store_of *o, const int64_t *keys, float *rows) {
  (void)rows;
  return ts_table_update(o->store, o->table, keys, BATCH, gradients, ERR);
}
static int32_t expire(const store_of *o, const int64_t *keys, float *rows) {
  (void)keys, (void)rows;
  return ts_table_expire(o->store, o->table, 0, NULL, ERR);
}

/* The n-th call of each action is refused, then the action is repeated: as if it had been done once. */
static void act_as_in_dram(const char *storage, const char *name, const char *const *options, bool expires) {
  store_of device = open_with(storage, options), dram = open_with("DRAM", options);
  static const struct {
    const char *name;
    action *act;
  } actions[] = {{"a lookup", look_up}, {"a step", step}, {"expiry", expire}};
  uint64_t refused[3] = {0};
  uint64_t n = 1;
  for (bool any = true; any && n < MOST_CALLS && test_failures < 5; n++) {
    int64_t keys[BATCH];
    keys_of((int64_t)n, keys);
    any = false;
    for (uint32_t x = 0; x < (expires ? 3u : 2u); x++) {
      CHECK(!expires || x > 0 || (ts_store_set_step(device.store, (int64_t)n, ERR) == TS_OK && ts_store_set_step(dram.store, (int64_t)n, ERR) == TS_OK));
      refuse_call(n);
      int32_t status = actions[x].act(&device, keys, here);
      refuse_at = 0;
      any = any || hit;
      refused[x] += hit;
      CHECK_MSG(ended_well(status), "%s, %s, %s, call %llu: %d \"%s\"", storage, name, actions[x].name, (unsigned long long)n, status, text);
      if (status != TS_OK) CHECK_MSG(actions[x].act(&device, keys, here) == TS_OK, "%s, %s, again: %s", storage, name, text);
      CHECK_MSG(actions[x].act(&dram, keys, there) == TS_OK, "%s", text);
      CHECK_MSG(x != 0 || memcmp(here, there, sizeof here) == 0, "%s, %s, call %llu: other rows are looked up", storage, name, (unsigned long long)n);
      CHECK_MSG(digest_of(device.store) == digest_of(dram.store), "%s, %s, %s, call %llu (%d): other rows than in DRAM", storage, name,
                actions[x].name, (unsigned long long)n, status);
      CHECK_MSG(counted_rows(device.store, device.table) == counted_rows(dram.store, dram.table), "%s, %s, %s, call %llu: other keys", storage,
                name, actions[x].name, (unsigned long long)n);
      CHECK(limits_hold(device.store) && charges_agree(device.store));
    }
  }
  CHECK_MSG(refused[0] > 3 && refused[1] > 3, "%s, %s: %llu lookups and %llu steps meet a refusal", storage, name, (unsigned long long)refused[0],
            (unsigned long long)refused[1]);
  CHECK(ts_store_close(device.store) == TS_OK && ts_store_close(dram.store) == TS_OK);
}

/* ---- checkpoints ---- */

static void fill(const store_of *o) {
  int64_t keys[BATCH];
  for (int64_t s = 0; s < 14; s++) {
    keys_of(s, keys);
    CHECK_MSG(ts_table_lookup(o->store, o->table, keys, BATCH, here, ERR) == TS_OK && ts_table_update(o->store, o->table, keys, BATCH, gradients, ERR) == TS_OK, "%s", text);
  }
}

static void remove_chain(const char *chain) {
  char command[256];
  snprintf(command, sizeof command, "rm -rf '%s'", chain);
  CHECK(system(command) == 0);
}

static int32_t write_checkpoint(ts_store *store, const char *chain) { return write_checkpoint_to(store, chain, "full", NULL, ERR); }

static int32_t restore(ts_store *store, const char *chain) {
  ts_config *config = CONFIG("path", chain);
  const int32_t status = ts_store_restore(store, config, NULL, ERR);
  ts_config_free(config);
  return status;
}

static void checkpoints(const char *storage) {
  char chain[192];
  snprintf(chain, sizeof chain, "%s/chain", folder);
  store_of o = open_with(storage, NULL);
  fill(&o);
  const uint64_t digest = digest_of(o.store);
  uint64_t refused = 0, n = 1;
  for (;; n++) {
    refuse_call(n);
    const int32_t status = write_checkpoint(o.store, chain);
    refuse_at = 0;
    CHECK_MSG(ended_well(status), "%s, a checkpoint, call %llu: %d \"%s\"", storage, (unsigned long long)n, status, text);
    CHECK_MSG(digest_of(o.store) == digest, "%s, a checkpoint, call %llu: other rows", storage, (unsigned long long)n);
    refused += status != TS_OK;
    if (!hit || test_failures > 5 || n == MOST_CALLS) break;
    remove_chain(chain);
  }
  CHECK_MSG(refused > 1, "%s: %llu checkpoints were refused", storage, (unsigned long long)refused);
  ts_store_close(o.store);
  for (n = 1, refused = 0;; n++) {
    ts_store *store = open_config(store_config(storage, false));
    refuse_call(n);
    const int32_t status = restore(store, chain);
    refuse_at = 0;
    CHECK_MSG(ended_well(status), "%s, a restore, call %llu: %d \"%s\"", storage, (unsigned long long)n, status, text);
    const bool was_hit = hit;
    refused += status != TS_OK;
    if (status != TS_OK) {
      uint64_t rows[TS_MAX_TIERS] = {0}, all = 0;
      if (ts_table_rows(store, 0, rows, TS_MAX_TIERS, NULL, 0) == TS_OK)
        for (uint32_t t = 0; t < TS_MAX_TIERS; t++) all += rows[t];
      CHECK_MSG(all == 0, "%s, a restore, call %llu: %llu rows stay", storage, (unsigned long long)n, (unsigned long long)all);
      CHECK_MSG(restore(store, chain) == TS_OK, "%s, a restore after one that was refused at %llu: %s", storage, (unsigned long long)n, text);
    }
    CHECK_MSG(digest_of(store) == digest, "%s, a restore, call %llu: other rows", storage, (unsigned long long)n);
    ts_store_close(store);
    if (!was_hit || test_failures > 5 || n == MOST_CALLS) break;
  }
  CHECK_MSG(refused > 1, "%s: %llu restores were refused", storage, (unsigned long long)refused);
  remove_chain(chain);
}

/* ---- restore points ---- */

static int32_t persist(ts_store *store) {
  ts_config *config = CONFIG("keep", "2");
  int32_t status = ts_store_persist(store, config, NULL, ERR);
  ts_config_free(config);
  if (status == TS_OK) status = ts_store_persisted(store, NULL, ERR);
  return status;
}

static int32_t resume(ts_store *store, uint64_t *number) {
  ts_config *config = CONFIG("number", "0");
  const int32_t status = ts_store_resume(store, config, NULL, number, ERR);
  ts_config_free(config);
  return status;
}

static void points(const char *storage) {
  store_of o = {.store = open_config(store_config(storage, true))};
  if (o.store == NULL) return;
  uint64_t number = 0, refused = 0, n = 1, digest = 0;
  CHECK_MSG(resume(o.store, &number) == TS_OK && number == 0, "%s", text);
  o.table = add_config(o.store, CONFIG("name", "a", "dim", "16", "optimizer", "adagrad"));
  fill(&o);
  CHECK_MSG(persist(o.store) == TS_OK, "%s", text);
  for (;; n++) {
    int64_t keys[BATCH];
    keys_of((int64_t)n % 14, keys);
    CHECK_MSG(step(&o, keys, NULL) == TS_OK, "%s", text);
    digest = digest_of(o.store);
    refuse_call(n);
    const int32_t status = persist(o.store);
    refuse_at = 0;
    CHECK_MSG(ended_well(status), "%s, a point, call %llu: %d \"%s\"", storage, (unsigned long long)n, status, text);
    CHECK_MSG(digest_of(o.store) == digest, "%s, a point, call %llu: other rows", storage, (unsigned long long)n);
    refused += status != TS_OK;
    if (!hit || test_failures > 5 || n == MOST_CALLS) break;
  }
  CHECK_MSG(refused > 1, "%s: %llu points were refused", storage, (unsigned long long)refused);
  CHECK_MSG(persist(o.store) == TS_OK, "%s", text);
  CHECK(ts_store_close(o.store) == TS_OK);
  for (n = 1, refused = 0;; n++) {
    ts_store *store = open_config(store_config(storage, true));
    refuse_call(n);
    int32_t status = resume(store, &number);
    refuse_at = 0;
    const bool was_hit = hit;
    CHECK_MSG(ended_well(status), "%s, going on, call %llu: %d \"%s\"", storage, (unsigned long long)n, status, text);
    refused += status != TS_OK;
    if (status != TS_OK) CHECK_MSG(resume(store, &number) == TS_OK, "%s, going on after a refusal at %llu: %s", storage, (unsigned long long)n, text);
    CHECK_MSG(number > 0 && digest_of(store) == digest, "%s, going on, call %llu: other rows", storage, (unsigned long long)n);
    CHECK(ts_store_close(store) == TS_OK);
    if (!was_hit || test_failures > 5 || n == MOST_CALLS) break;
  }
  CHECK_MSG(refused > 0, "%s: no going on was refused", storage);
  remove_chain(folder);
  CHECK(mkdir(folder, 0700) == 0);
}

int main(void) {
  static const char *const plain[] = {NULL};
  static const char *const counter[] = {"admission", "counter", "admission.frequency", "1", NULL};
  static const char *const expiry[] = {"expire.steps", "4", NULL};
  static const char *const both[] = {"admission", "counter", "admission.frequency", "1", "expire.steps", "4", "record_frequency", "1", NULL};
  if (!make_folder("opencl-store-faults")) return 1;
  if (STORAGE_TYPES == sizeof storage_types / sizeof *storage_types) {
    for (uint32_t i = 0; i < BATCH * DIM; i++) gradients[i] = (float)(i % 37) * 0x1p-6f - 0.25f;
    act_as_in_dram("HBM_DRAM", "growing", plain, false);
    act_as_in_dram("HBM_DRAM", "admission", counter, false);
    act_as_in_dram("HBM_DRAM", "expiry", expiry, true);
    act_as_in_dram("HBM_DRAM_SSDHASH", "admission and expiry", both, true);
    act_as_in_dram("HBM", "admission and expiry", both, true);
    checkpoints("HBM_DRAM");
    checkpoints("HBM_DRAM_SSDHASH");
    points("HBM_DRAM_SSDHASH");
  }
  remove_folder();
  return test_result();
}
