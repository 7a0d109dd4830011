/* ours.c - our store through its public interface and nothing else. The library is opened by path, so that one program
 * measures builds that differ. Options: library=<path>; store.<option>=<value> and table.<option>=<value> go to
 * ts_store_open and ts_table_create.
 *
 *   memory                         bytes of ts_store_memory, all places (all=), the medium of an SSD tier (ssd=)
 *   statistics                     every counter of the store
 *   describe                       how the tiers are held
 *   settle                         waits for background work
 *   cold batch=<keys> ms=<n>       uniform lookups of so many keys a call; rows= those that came from the second tier
 *   open                           opens another store of default options and closes it; ms= the opening took
 */
#include "library.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#define FUNCTIONS(X)                                                                                            \
  X(ts_config_create) X(ts_config_free) X(ts_config_set) X(ts_store_open) X(ts_store_close) X(ts_table_create)  \
  X(ts_table_lookup) X(ts_table_update) X(ts_store_statistics) X(ts_statistics_names) X(ts_store_memory)        \
  X(ts_store_describe)

static struct {
#define FIELD(name) __typeof__(name) *name;
  FUNCTIONS(FIELD)
  FIELD(ts_store_settle)
#undef FIELD
} lib;

static ts_store *store;
static uint32_t table;
static uint64_t rows;

/* Builds from before there was background work have no ts_store_settle; there is nothing to wait for in them. */
static bool settle(char *error) {
  return lib.ts_store_settle == NULL || lib.ts_store_settle(store, error, BENCH_TEXT) == TS_OK;
}

static bool open_library(const char *path, char *error) {
  void *handle = bench_library_open(path, error);
  if (handle == NULL) return false;
#define LOAD(name)                                                             \
  lib.name = (__typeof__(name) *)bench_library_function(handle, #name, error); \
  if (lib.name == NULL) return false;
  FUNCTIONS(LOAD)
#undef LOAD
  lib.ts_store_settle = (__typeof__(ts_store_settle) *)dlsym(handle, "ts_store_settle");
  return true;
}

static bool set(ts_config *config, const char *name, const char *format, double value, char *error) {
  char text[64];
  snprintf(text, sizeof text, format, value);
  return lib.ts_config_set(config, name, text, error, BENCH_TEXT) == TS_OK;
}

bool contender_open(const bench_options *options, uint64_t keys, char *error) {
  if (!open_library(bench_text(options, "library", "libtierstore.so"), error)) return false;
  ts_config *of_store = NULL, *of_table = NULL;
  rows = keys;
  bool ok = lib.ts_config_create(&of_store) == TS_OK && lib.ts_config_create(&of_table) == TS_OK &&
            bench_configure(lib.ts_config_set, options, "store.", of_store, error) &&
            lib.ts_store_open(of_store, &store, error, BENCH_TEXT) == TS_OK &&
            lib.ts_config_set(of_table, "name", "bench", error, BENCH_TEXT) == TS_OK &&
            lib.ts_config_set(of_table, "optimizer", "adagrad", error, BENCH_TEXT) == TS_OK &&
            lib.ts_config_set(of_table, "initializer", "constant", error, BENCH_TEXT) == TS_OK &&
            set(of_table, "dim", "%.0f", BENCH_DIM, error) &&
            set(of_table, "initializer.value", "%.9g", BENCH_FIRST_WEIGHT, error) &&
            set(of_table, "initial_accumulator", "%.9g", BENCH_FIRST_ACCUMULATOR, error) &&
            set(of_table, "learning_rate", "%.9g", BENCH_LEARNING_RATE, error) &&
            bench_configure(lib.ts_config_set, options, "table.", of_table, error) &&
            lib.ts_table_create(store, of_table, &table, error, BENCH_TEXT) == TS_OK;
  lib.ts_config_free(of_store);
  lib.ts_config_free(of_table);
  return ok;
}

bool contender_create(const int64_t *keys, uint32_t n, char *error) {
  return lib.ts_table_lookup(store, table, keys, n, bench_scratch(), error, BENCH_TEXT) == TS_OK;
}

bool contender_ready(const bench_options *options, char *error) {
  (void)options;
  return settle(error);
}

bool contender_lookup(unsigned thread, const int64_t *keys, uint32_t n, float *out, char *error) {
  (void)thread;
  return lib.ts_table_lookup(store, table, keys, n, out, error, BENCH_TEXT) == TS_OK;
}

bool contender_update(unsigned thread, const int64_t *keys, uint32_t n, const float *gradients, char *error) {
  (void)thread;
  return lib.ts_table_update(store, table, keys, n, gradients, error, BENCH_TEXT) == TS_OK;
}

/* Counters as "name=value" words; `wanted` (may be NULL) receives the one of that name. */
static bool counters(char *reply, const char *name, uint64_t *wanted, char *error) {
  uint64_t values[256], needed;
  char names[8192];
  uint32_t count = 0;
  if (lib.ts_store_statistics(store, values, sizeof values / sizeof *values, &count, error, BENCH_TEXT) != TS_OK)
    return false;
  if (lib.ts_statistics_names(names, sizeof names, &needed) != TS_OK || count > sizeof values / sizeof *values)
    return bench_fail(error, "Cannot read %u counters", count);
  size_t length = 0;
  bool found = name == NULL;
  char *rest = NULL, *line = strtok_r(names, "\n", &rest);
  for (uint32_t i = 0; i < count && line != NULL; i++, line = strtok_r(NULL, "\n", &rest)) {
    line[strcspn(line, " ")] = '\0';
    if (name != NULL && strcmp(line, name) == 0) *wanted = values[i], found = true;
    if (reply != NULL && length < BENCH_TEXT)
      length += (size_t)snprintf(reply + length, BENCH_TEXT - length, "%s=%llu ", line, (unsigned long long)values[i]);
  }
  return found || bench_fail(error, "Cannot read the counter \"%s\": the store has none of that name", name);
}

static bool memory(char *reply, char *error) {
  char text[65536];
  uint64_t needed;
  if (lib.ts_store_memory(store, text, sizeof text, &needed) != TS_OK)
    return bench_fail(error, "Cannot read the store's account of its memory");
  unsigned long long all = 0, ssd = 0, ssd_rows = 0, tier, bytes;
  char purpose[32], place[32], *rest = NULL;
  for (char *line = strtok_r(text, "\n", &rest); line != NULL; line = strtok_r(NULL, "\n", &rest)) {
    if (sscanf(line, "tier=%llu purpose=%31s place=%31s bytes=%llu", &tier, purpose, place, &bytes) != 4) continue;
    if (strcmp(place, "SSD") != 0) all += bytes;
    else ssd += bytes, ssd_rows += strcmp(purpose, "rows") == 0 ? bytes : 0;
  }
  snprintf(reply, BENCH_TEXT, "all=%llu ssd=%llu ssd_rows=%llu", all, ssd, ssd_rows);
  return true;
}

static bool cold(const bench_options *options, char *reply, char *error) {
  uint64_t batch = bench_number(options, "batch", 32), limit = bench_number(options, "ms", 1000) * 1000000u;
  if (batch == 0 || batch > BENCH_BATCH)
    return bench_fail(error, "Cannot look up %llu keys a call: 1 to %u", (unsigned long long)batch, BENCH_BATCH);
  static int64_t *keys;
  static uint64_t draws; /* never the same sequence again */
  if (keys == NULL) keys = bench_pages(BENCH_BATCH * sizeof *keys);
  uint64_t before, after, looked_up = 0;
  if (!counters(NULL, "tier1_hits", &before, error)) return false;
  uint64_t cpu = bench_cpu_ns(), start = bench_now_ns(), elapsed;
  do {
    for (uint64_t i = 0; i < batch; i++) keys[i] = bench_id(bench_mix(++draws * 0x9e3779b97f4a7c15u) % rows);
    if (lib.ts_table_lookup(store, table, keys, batch, bench_scratch(), error, BENCH_TEXT) != TS_OK) return false;
    looked_up += batch;
    elapsed = bench_now_ns() - start;
  } while (elapsed < limit);
  /* What the background still owes belongs to the rows, too. */
  if (!settle(error)) return false;
  elapsed = bench_now_ns() - start;
  cpu = bench_cpu_ns() - cpu;
  if (!counters(NULL, "tier1_hits", &after, error)) return false;
  snprintf(reply, BENCH_TEXT, "rows=%llu keys=%llu seconds=%.6f cpu=%.6f", (unsigned long long)(after - before),
           (unsigned long long)looked_up, (double)elapsed * 1e-9, (double)cpu * 1e-9);
  return true;
}

static bool open_another(char *reply, char *error) {
  ts_config *config = NULL;
  ts_store *other = NULL;
  bool ok = lib.ts_config_create(&config) == TS_OK &&
            lib.ts_config_set(config, "storage", "DRAM", error, BENCH_TEXT) == TS_OK;
  const uint64_t start = bench_now_ns();
  ok = ok && lib.ts_store_open(config, &other, error, BENCH_TEXT) == TS_OK;
  const uint64_t took = bench_now_ns() - start;
  lib.ts_config_free(config);
  lib.ts_store_close(other);
  snprintf(reply, BENCH_TEXT, "ms=%.6f", (double)took * 1e-6);
  return ok;
}

bool contender_command(const char *verb, const bench_options *options, char *reply, char *error) {
  if (store == NULL) return bench_fail(error, "Cannot do \"%s\" before prepare", verb);
  if (strcmp(verb, "memory") == 0) return memory(reply, error);
  if (strcmp(verb, "statistics") == 0) return counters(reply, NULL, NULL, error);
  if (strcmp(verb, "cold") == 0) return cold(options, reply, error);
  if (strcmp(verb, "open") == 0) return open_another(reply, error);
  if (strcmp(verb, "settle") == 0) return settle(error);
  if (strcmp(verb, "describe") == 0) {
    uint64_t needed;
    if (lib.ts_store_describe(store, reply, BENCH_TEXT, &needed) != TS_OK)
      return bench_fail(error, "Cannot read the store's description");
    for (char *c = reply; *c != '\0'; c++)
      if (*c == '\n') *c = ' ';
    return true;
  }
  return bench_fail(error, "Cannot do \"%s\"", verb);
}
