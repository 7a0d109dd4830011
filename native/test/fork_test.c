/* A process that opened a store or a trainer forks: in the child every call on the handle is refused with one message,
 * closing touches nothing, and a store of its own works; in the parent nothing has changed. On every storage type that has
 * files, threads or mappings. */
#include "test/store_types.h"

#include <signal.h>
#include <sys/wait.h>

#if defined(__SANITIZE_THREAD__)
/* memkind's handlers before a fork hold more locks at once than the thread sanitizer's search for deadlocks can (64). */
__attribute__((visibility("default"))) const char *__tsan_default_options(void);
const char *__tsan_default_options(void) { return "detect_deadlocks=0"; }
#endif

#define KEYS 3000u
#define DIM 16u

static int64_t keys[KEYS];
static float rows[KEYS * DIM], ones[KEYS * DIM];
static char text[512];

/* In the child: refused in these words. */
static void refused(int32_t status, const char *call) {
  CHECK_MSG(status == TS_EINVAL && strstr(text, "forked") != NULL && strstr(text, "open another") != NULL, "%s: %d %s", call,
            status, text);
  text[0] = '\0';
}
#define REFUSED(call) refused(call, #call)

static void every_call_is_refused(ts_store *store, ts_trainer *trainer, const char *data) {
  uint64_t number, offsets[2] = {0, 1}, words[TS_STATISTIC_COUNT];
  uint32_t table, n = sizeof text;
  int32_t tiers[1];
  uint8_t found[1];
  double result[8];
  ts_config *config = CONFIG("name", "another");
  REFUSED(ts_table_create(store, config, &table, text, n));
  REFUSED(ts_table_set_learning_rate(store, 0, 1, text, n));
  REFUSED(ts_table_lookup(store, 0, keys, KEYS, rows, text, n));
  REFUSED(ts_table_find(store, 0, keys, 1, 0, rows, found, text, n));
  REFUSED(ts_table_update(store, 0, keys, KEYS, ones, text, n));
  REFUSED(ts_table_lookup_bags(store, 0, keys, offsets, 1, NULL, 0, 0, rows, text, n));
  REFUSED(ts_table_update_bags(store, 0, keys, offsets, 1, NULL, 0, ones, text, n));
  REFUSED(ts_table_remove(store, 0, keys, 1, &number, text, n));
  REFUSED(ts_store_set_step(store, 1, text, n));
  REFUSED(ts_table_expire(store, 0, 1, &number, text, n));
  REFUSED(ts_table_metadata(store, 0, keys, 1, NULL, NULL, text, n));
  REFUSED(ts_table_lookup_tier(store, 0, keys, 1, tiers, text, n));
  REFUSED(ts_table_rows(store, 0, words, 1, text, n));
  REFUSED(ts_table_keys(store, 0, NULL, 0, &number, text, n));
  REFUSED(ts_table_row_bytes(store, 0, &number, text, n));
  int64_t walked[1];
  uint64_t cursor[4] = {0};
  REFUSED(ts_table_walk(store, 0, cursor, walked, 1, &number, text, n));
  REFUSED(ts_table_waiting(store, 0, cursor, walked, NULL, NULL, 1, &number, text, n));
  REFUSED(ts_table_named(store, "a", &table, text, n));
  REFUSED(ts_table_describe(store, 0, NULL, 0, &number, text, n));
  REFUSED(ts_store_digest(store, &number, text, n));
  REFUSED(ts_store_statistics(store, words, TS_STATISTIC_COUNT, &table, text, n));
  REFUSED(ts_table_statistics(store, 0, words, TS_STATISTIC_COUNT, &table, text, n));
  REFUSED(ts_store_reset_statistics(store, text, n));
  REFUSED(ts_store_settle(store, text, n));
  CHECK(ts_store_memory(store, NULL, 0, &number) == TS_EINVAL);
  CHECK(ts_store_describe(store, NULL, 0, &number) == TS_EINVAL);
  ts_trainer *another;
  REFUSED(ts_trainer_open(store, config, &another, text, n));
  if (trainer != NULL) {
    REFUSED(ts_trainer_train(trainer, 0, 1, words, NULL, result, NULL, text, n));
    REFUSED(ts_trainer_fill(trainer, NULL, text, n));
    REFUSED(ts_trainer_evaluate(trainer, data, 10, result, NULL, text, n));
    REFUSED(ts_trainer_digest(trainer, &number, text, n));
    REFUSED(ts_trainer_parameters(trainer, "output.b", rows, 1, &number, text, n));
    REFUSED(ts_trainer_set_parameters(trainer, "output.b", rows, 1, text, n));
    CHECK(ts_trainer_describe(trainer, NULL, 0, &number) == TS_EINVAL);
    CHECK(ts_trainer_close(trainer) == TS_OK);
  }
  ts_config_free(config);
  CHECK(ts_store_close(store) == TS_OK);
}

static ts_config *config_here(const storage_type *type) {
  return config_of_type(type,
                        type->tiers == 1   ? "16777216"
                        : type->tiers == 2 ? "4194304,67108864"
                                           : "4194304,1048576,67108864",
                        "all");
}

static ts_store *open_one(const storage_type *type, uint32_t *table) {
  ts_store *store = open_config(config_here(type));
  if (store != NULL) *table = add_config(store, CONFIG("name", "a", "learning_rate", "1", "initializer", "constant", "expire.steps", "9"));
  return store;
}

/* Rows that were stepped so often. */
static void check_rows(ts_store *store, uint32_t table, uint32_t steps) {
  uint32_t wrong = 0;
  CHECK_MSG(ts_table_lookup(store, table, keys, KEYS, rows, text, sizeof text) == TS_OK, "%s", text);
  for (uint32_t i = 0; i < KEYS * DIM; i++) wrong += rows[i] != -(float)steps;
  CHECK_MSG(wrong == 0, "%s: %u weights are wrong", store->storage, wrong);
}

static void step(ts_store *store, uint32_t table) {
  CHECK_MSG(ts_table_update(store, table, keys, KEYS, ones, text, sizeof text) == TS_OK, "%s", text);
}

/* Waits for the child, which ends itself when something hangs there. */
static void child_ended_well(pid_t child, const char *name) {
  int status = -1;
  CHECK(waitpid(child, &status, 0) == child);
  CHECK_MSG(WIFEXITED(status) && WEXITSTATUS(status) == 0, "%s: the child ended with %s %d", name,
            WIFSIGNALED(status) ? "signal" : "status", WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
}

static void fork_beside(const storage_type *type) {
  uint32_t table = 0;
  ts_store *store = open_one(type, &table);
  if (store == NULL) return;
  check_rows(store, table, 0);
  step(store, table);
  pid_t child = fork();
  if (child == 0) {
    alarm(20);
    every_call_is_refused(store, NULL, NULL);
#if !defined(__SANITIZE_THREAD__)
    const bool threads = strstr(type->storage, "LEVELDB") != NULL || uses_opencl(type);
    ts_store *own = threads ? NULL : open_one(type, &table);
    if (threads) { /* those of LevelDB and of OpenCL are the parent's */
      ts_config *config = config_here(type);
      CHECK_MSG(ts_store_open(config, &own, text, sizeof text) == TS_EUNAVAILABLE && strstr(text, "forked") != NULL, "%s", text);
      ts_config_free(config);
    } else if (own != NULL) {
      check_rows(own, table, 0);
      step(own, table);
      check_rows(own, table, 1);
      CHECK(ts_store_close(own) == TS_OK);
    }
#endif
    _exit(test_failures > 0);
  }
  child_ended_well(child, type->name);
  check_rows(store, table, 1);
  step(store, table);
  check_rows(store, table, 2);
  CHECK(ts_store_settle(store, text, sizeof text) == TS_OK);
  CHECK(ts_store_close(store) == TS_OK);
}

static void fork_beside_training(void) {
  char data[256];
  snprintf(data, sizeof data, "%s/data", folder);
  ts_config *config = CONFIG("out", data, "rows", "2000", "scale", "0.0001");
  CHECK_MSG(ts_data_generate(config, NULL, text, sizeof text) == TS_OK, "%s", text);
  ts_config_free(config);
  ts_store *store = open_config(CONFIG("storage", "DRAM_SSDHASH", "size", "8388608,67108864", "path", folder));
  ts_trainer *trainer = NULL;
  config = CONFIG("data", data, "batch", "128", "dim", "4", "hidden", "8", "threads", "2", "stage", "1");
  CHECK_MSG(ts_trainer_open(store, config, &trainer, text, sizeof text) == TS_OK, "%s", text);
  ts_config_free(config);
  if (trainer == NULL) return;
  double loss;
  CHECK_MSG(ts_trainer_train(trainer, 0, 5, NULL, NULL, &loss, NULL, text, sizeof text) == TS_OK, "%s", text);
  uint64_t before = 0, after = 0;
  CHECK(ts_trainer_digest(trainer, &before, text, sizeof text) == TS_OK);
  pid_t child = fork();
  if (child == 0) {
    alarm(20);
    every_call_is_refused(store, trainer, data);
    _exit(test_failures > 0);
  }
  child_ended_well(child, "a trainer");
  CHECK(ts_trainer_digest(trainer, &after, text, sizeof text) == TS_OK && after == before);
  CHECK_MSG(ts_trainer_train(trainer, 0, 5, NULL, NULL, &loss, NULL, text, sizeof text) == TS_OK, "%s", text);
  CHECK(ts_trainer_close(trainer) == TS_OK && ts_store_close(store) == TS_OK);
  unlink(data);
}

int main(void) {
  if (!make_folder("fork")) return 1;
#if defined(__SANITIZE_THREAD__)
  SKIP("fork_test", "a child's own store: the thread sanitizer starts no thread in a child");
#elif defined(__SANITIZE_ADDRESS__)
  SKIP("fork_test", "the address sanitizer's allocator stays locked in a child that was forked while another thread held it");
#endif
  for (uint32_t i = 0; i < KEYS; i++) keys[i] = (int64_t)i * 7 - 4000;
  for (uint32_t i = 0; i < KEYS * DIM; i++) ones[i] = 1;
  for (uint32_t i = 0; i < STORAGE_TYPES && test_failures == 0; i++) fork_beside(&storage_types[i]);
  if (test_failures == 0) fork_beside_training();
  remove_folder();
  return test_result();
}
