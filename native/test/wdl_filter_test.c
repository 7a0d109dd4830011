/* Tables of the trainer whose keys have to earn a row, or whose rows go again: the same training ends in the same rows on
 * every storage type, whatever the number of threads and of shards, with rows of fp32 and of bf16. */
#include "test/foreign_threads.h"
#include "test/store_types.h"

#define STEPS 24u
#define TABLES "a:4:none:C3;b:4:none:C4,C12;c:4:sum:C16,C21"

static char data[160];

static const struct {
  const char *name, *options;
  ts_statistic happens[2];
} filters[] = {
    {"expiry by steps", "expire.steps=6", {TS_STAT_expired, TS_STAT_created}},
    {"expiry by weight", "expire.l2=0.0005 expire.l2_every=8", {TS_STAT_expired, TS_STAT_created}},
    {"admission by counter", "admission=counter admission.frequency=3", {TS_STAT_not_admitted, TS_STAT_created}},
    {"admission by filter",
     "admission=bloom admission.frequency=3 admission.keys=300 admission.error=0.3 admission.counter_bits=8",
     {TS_STAT_not_admitted, TS_STAT_created}},
    {"admission by counter and expiry",
     "admission=counter admission.frequency=2 expire.steps=5 expire.l2=0.0002 expire.l2_every=4",
     {TS_STAT_not_admitted, TS_STAT_expired}},
    {"admission by filter and expiry",
     "admission=bloom admission.frequency=3 admission.keys=300 admission.error=0.3 admission.counter_bits=8 expire.steps=5",
     {TS_STAT_not_admitted, TS_STAT_expired}},
};

static void set_all(ts_config *config, const char *pairs) {
  char text[512];
  snprintf(text, sizeof text, "%s", pairs);
  for (char *pair = strtok(text, " "); pair != NULL; pair = strtok(NULL, " ")) {
    char *equals = strchr(pair, '=');
    *equals = '\0';
    ts_config_set(config, pair, equals + 1, NULL, 0);
  }
}

typedef struct outcome {
  uint64_t digest, happened[2];
} outcome;

static outcome train(const storage_type *type, uint32_t filter, const char *shards, const char *more) {
  char text[512] = "";
  outcome o = {0};
  /* A first tier for a fraction of the rows, so that they move. */
  ts_config *config = config_of_type(type,
                                     type->tiers == 1   ? "67108864"
                                     : type->tiers == 2 ? "8192,67108864"
                                                        : "8192,16384,67108864",
                                     "rows");
  ts_config_set(config, "shards", shards, NULL, 0);
  ts_store *store = open_config(config);
  if (store == NULL) exit(1);
  config = CONFIG("data", data, "batch", "64", "hidden", "8", "wide_buckets", "50", "tables", TABLES, "initializer", "uniform",
                  "initializer.low", "-0.05", "initializer.high", "0.05", "embedding_learning_rate", "0.02");
  set_all(config, filters[filter].options);
  set_all(config, more);
  ts_trainer *t = NULL;
  CHECK_MSG(ts_trainer_open(store, config, &t, text, sizeof text) == TS_OK, "%s", text);
  ts_config_free(config);
  if (t == NULL) exit(1);
  CHECK_MSG(ts_trainer_train(t, 0, STEPS, NULL, NULL, NULL, NULL, text, sizeof text) == TS_OK, "%s", text);
  CHECK(ts_trainer_digest(t, &o.digest, text, sizeof text) == TS_OK);
  for (uint32_t i = 0; i < 2; i++) o.happened[i] = counter_of(store, filters[filter].happens[i]);
  ts_trainer_close(t);
  CHECK(ts_store_close(store) == TS_OK);
  return o;
}

/* DRAM in all ways; the others on one shard and thread, and on several, with rows of one of the two kinds. */
static void same_rows_everywhere(uint32_t filter, const char *rows, bool all_types) {
  static const struct {
    const char *shards, *more;
  } ways[] = {{"1", "threads=1"}, {"16", "threads=4"}, {"1", "threads=4"}, {"8", "threads=1"}};
  outcome first = {0};
  for (uint32_t i = 0; i < (all_types ? STORAGE_TYPES : 1); i++)
    for (uint32_t w = uses_opencl(&storage_types[i]); w < (i == 0 ? sizeof ways / sizeof *ways : 2); w++) {
      char more[64];
      snprintf(more, sizeof more, "%s bf16=%s", ways[w].more, rows);
      const outcome o = train(&storage_types[i], filter, ways[w].shards, more);
      CHECK_MSG(o.happened[0] > 0 && o.happened[1] > 0, "%s on %s: %llu and %llu", filters[filter].name,
                storage_types[i].name, (unsigned long long)o.happened[0], (unsigned long long)o.happened[1]);
      if (i == 0 && w == 0) first = o;
      CHECK_MSG(o.digest == first.digest, "%s, %s, shards %s on %s: %016llx, expected %016llx", filters[filter].name, more,
                ways[w].shards, storage_types[i].name, (unsigned long long)o.digest, (unsigned long long)first.digest);
      /* What was counted of admission is no accident either; how soon an expired row's bytes go may differ. */
      if (filters[filter].happens[0] == TS_STAT_not_admitted)
        CHECK_MSG(o.happened[0] == first.happened[0], "%s, %s, shards %s on %s: %llu refused, expected %llu",
                  filters[filter].name, more, ways[w].shards, storage_types[i].name, (unsigned long long)o.happened[0],
                  (unsigned long long)first.happened[0]);
    }
}

int main(void) {
  char text[512] = "";
  if (!make_folder("filter")) return 1;
  snprintf(data, sizeof data, "%s/train.cache", folder);
  ts_config *config = CONFIG("out", data, "rows", "4096", "scale", "0.001", "seed", "3");
  CHECK_MSG(ts_data_generate(config, NULL, text, sizeof text) == TS_OK, "%s", text);
  ts_config_free(config);
  for (uint32_t f = 0; f < sizeof filters / sizeof *filters; f++) {
    same_rows_everywhere(f, "off", f % 2 == 0);
    same_rows_everywhere(f, "rows", f % 2 == 1);
  }
  unlink(data);
  remove_folder();
  return test_result();
}
