/* Limits are hard for the system, too: what a process holds more while it has a store is at most what ts_store_memory says,
 * and that at most the limit, for every storage type, while tables grow and shrink.
 *
 * Beside it there is what malloc keeps of the store's small structures (TOLERANCE), and of LevelDB what leveldb.h lists.
 * Each store has a process of its own, so that what one leaves in malloc is not another's. Thread stacks and libraries are
 * there before the first look. */
#include "test/checkpoint_calls.h"
#include "test/store_types.h"

#include <sys/wait.h>

#define LIMIT (UINT64_C(6) << 20)
#define LOWER (UINT64_C(8) << 20)
#define TOLERANCE (UINT64_C(256) << 10)
#define TOLERANCE_LEVELDB (UINT64_C(2) << 20)
#define TOLERANCE_OPENCL (UINT64_C(4) << 20) /* what PoCL keeps beside its buffers, 1.8 MB seen */
#define DIM 4u
#define MANY 80u
#define BATCH 2048u

static char message[512];
#define ERR message, sizeof message

/* Private memory of this process. */
static uint64_t resident(void) {
  FILE *file = fopen("/proc/self/status", "r");
  char line[256];
  unsigned long long kilobytes = 0;
  while (file != NULL && fgets(line, sizeof line, file) != NULL)
    if (sscanf(line, "RssAnon: %llu", &kilobytes) == 1) break;
  if (file != NULL) fclose(file);
  return kilobytes * 1024;
}

/* What the store says that it holds in such memory: tiers of memkind and mbind, and HBM, are ordinary memory here, libpmem's a file. */
static uint64_t told(ts_store *store, const storage_type *type) {
  static char text[8192];
  uint64_t needed, sum = 0;
  CHECK(ts_store_memory(store, text, sizeof text, &needed) == TS_OK);
  for (char *line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n")) {
    unsigned tier;
    char purpose[32], place[32];
    unsigned long long bytes;
    if (sscanf(line, "tier=%u purpose=%31s place=%31s bytes=%llu", &tier, purpose, place, &bytes) != 4) continue;
    const bool in_file = strcmp(type->storage, "PMEM_LIBPMEM") == 0 || (type->pmem != NULL && strcmp(type->pmem, "libpmem") == 0);
    if (strcmp(place, "DRAM") == 0 || strcmp(place, "HBM") == 0 || (strcmp(place, "PMEM") == 0 && !in_file)) sum += bytes;
  }
  return sum;
}

static void look(ts_store *store, const storage_type *type, uint64_t before, const char *when) {
  const uint64_t now = resident(), held = now > before ? now - before : 0, said = told(store, type);
  const uint64_t tolerance = TOLERANCE + (strstr(type->storage, "LEVELDB") != NULL ? TOLERANCE_LEVELDB : 0) +
                             (uses_opencl(type) ? TOLERANCE_OPENCL : 0);
  CHECK_MSG(held <= said + tolerance, "%s, %s: %llu bytes are resident, the store tells of %llu", type->name, when,
            (unsigned long long)held, (unsigned long long)said);
  CHECK_MSG(limits_hold(store), "%s, %s: a limit is exceeded", type->name, when);
}

/* What is loaded and started by the first store is not another's; kernels are compiled when they run first. */
static void start_once(const storage_type *type, const char *sizes) {
  static const int64_t keys[4] = {1, 2, 3, 4};
  float rows[4 * DIM];
  ts_store *store = open_config(config_of_type(type, sizes, "all"));
  if (store == NULL) return;
  add_config(store, CONFIG("name", "a", "dim", "4"));
  for (uint32_t i = 0; i < 2; i++) CHECK_MSG(ts_table_lookup(store, 0, keys, 4, rows, ERR) == TS_OK, "%s: %s", type->name, message);
  CHECK_MSG(ts_table_update(store, 0, keys, 4, rows, ERR) == TS_OK, "%s: %s", type->name, message);
  ts_store_close(store);
}

static void run(const storage_type *type) {
  char sizes[96];
  snprintf(sizes, sizeof sizes, "%llu", (unsigned long long)LIMIT);
  for (uint32_t t = 1; t < type->tiers; t++)
    snprintf(sizes + strlen(sizes), sizeof sizes - strlen(sizes), ",%llu", (unsigned long long)(type->ssd && t + 1 == type->tiers ? 16 * LOWER : LOWER));
  if (type->tiers == 1 && type->ssd) snprintf(sizes, sizeof sizes, "%llu", (unsigned long long)(16 * LOWER));
  start_once(type, sizes);
  const uint64_t before = resident();
  ts_store *store = open_config(config_of_type(type, sizes, "all"));
  if (store == NULL) return;
  static int64_t keys[BATCH];
  static float rows[BATCH * DIM];
  add_config(store, CONFIG("name", "a", "dim", "4"));
  add_config(store, CONFIG("name", "b", "dim", "4"));
  for (uint32_t t = 0; t < 2; t++) {
    uint64_t made = 0;
    for (uint32_t call = 0; call < 60; call++) {
      for (uint32_t i = 0; i < BATCH; i++) keys[i] = (int64_t)ts_mix64(made + i + 1);
      const int32_t status = ts_table_lookup(store, t, keys, BATCH, rows, ERR);
      CHECK_MSG(status == TS_OK || status == TS_EFULL, "%s: %s", type->name, message);
      if (status != TS_OK) break;
      made += BATCH;
      if (call % 20 == 0) look(store, type, before, t == 0 ? "the first table grows" : "the second table grows");
    }
    look(store, type, before, t == 0 ? "the first table has grown" : "the second table has grown");
    for (uint64_t from = 0; t == 0 && from < made; from += BATCH) {
      for (uint32_t i = 0; i < BATCH; i++) keys[i] = (int64_t)ts_mix64(from + i + 1);
      CHECK(ts_table_remove(store, t, keys, BATCH, NULL, ERR) == TS_OK);
    }
    CHECK(ts_store_settle(store, ERR) == TS_OK);
    look(store, type, before, t == 0 ? "the first table is empty" : "at the end");
  }
  ts_store_close(store);
}

/* Tables as a recommender has them: hundreds, most of them small. */
static void run_many(const storage_type *type) {
  char sizes[96] = "67108864";
  const uint32_t tables = strstr(type->storage, "LEVELDB") != NULL ? 24 : MANY;
  for (uint32_t t = 1; t < type->tiers; t++) strcat(sizes, ",268435456");
  if (type->tiers == 1 && type->ssd) strcpy(sizes, "268435456");
  start_once(type, sizes);
  const uint64_t before = resident();
  ts_store *store = open_config(config_of_type(type, sizes, "all"));
  if (store == NULL) return;
  static int64_t keys[64];
  static float rows[64 * DIM];
  uint32_t made = 0;
  for (; made < tables; made++) {
    char name[16];
    snprintf(name, sizeof name, "t%u", made);
    ts_config *config = CONFIG("name", name, "dim", "4");
    uint32_t table = 0;
    const int32_t status = ts_table_create(store, config, &table, ERR);
    ts_config_free(config);
    CHECK_MSG(status == TS_OK || status == TS_EFULL, "%s: %s", type->name, message);
    if (status != TS_OK) break;
    for (uint32_t i = 0; i < 64; i++) keys[i] = (int64_t)ts_mix64(i + 1);
    CHECK_MSG(ts_table_lookup(store, table, keys, 64, rows, ERR) == TS_OK, "%s: %s", type->name, message);
    if (made % 20 == 19) look(store, type, before, "small tables come");
  }
  CHECK_MSG(made >= 20, "%s: %u tables, then %s", type->name, made, message);
  for (uint32_t t = 0; t < made; t++) CHECK(ts_table_remove(store, t, keys, 64, NULL, ERR) == TS_OK);
  CHECK(ts_store_settle(store, ERR) == TS_OK);
  look(store, type, before, "small tables are empty");
  ts_store_close(store);
}

#define RESTORED 400000u /* rows of 64 bytes: enough that their pages are had ready ahead of them */

/* A restore has pages ready before rows come: when it is given up nothing of them stays, and when it is not no more than rows need. */
static void run_restore(const storage_type *type) {
  static int64_t keys[BATCH];
  static float rows[BATCH * 16];
  char chain[256];
  snprintf(chain, sizeof chain, "%s/chain", folder);
  ts_store *store = open_config(config_of_type(type, "134217728", "all"));
  add_config(store, CONFIG("name", "a", "dim", "16"));
  for (uint32_t from = 0; from < RESTORED; from += BATCH) {
    for (uint32_t i = 0; i < BATCH; i++) keys[i] = from + i;
    CHECK(ts_table_lookup(store, 0, keys, BATCH, rows, ERR) == TS_OK);
  }
  CHECK_MSG(write_checkpoint_to(store, chain, "full", NULL, ERR) == TS_OK, "%s", message);
  ts_store_close(store);
  for (uint32_t cancelled = 0; cancelled < 2; cancelled++) {
    uint64_t control[TS_CONTROL_WORDS] = {0};
    const uint64_t before = resident();
    store = open_config(config_of_type(type, "134217728", "all"));
    control[TS_CONTROL_CANCEL] = cancelled;
    ts_config *config = CONFIG("path", chain);
    const int32_t status = ts_store_restore(store, config, control, ERR);
    ts_config_free(config);
    CHECK_MSG(status == (cancelled ? TS_ECANCELLED : TS_OK), "%d: %s", status, message);
    look(store, type, before, cancelled ? "a restore was given up" : "rows are restored");
    ts_store_close(store);
  }
  for (uint32_t i = 0; i < 2; i++) {
    char file[320];
    snprintf(file, sizeof file, "%s/00000001.%s", chain, i == 0 ? "ckpt" : "manifest");
    CHECK(unlink(file) == 0);
  }
  CHECK(rmdir(chain) == 0);
}

int main(void) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  SKIP_ALL("store_resident_test", "resident memory: the sanitizer has its own");
  return test_result();
#endif
  if (!make_folder("resident")) return 1;
  for (uint32_t k = 0; k <= 2 * STORAGE_TYPES; k++) {
    const uint32_t i = k / 2 % STORAGE_TYPES;
    fflush(NULL);
    const pid_t child = fork();
    if (child == 0) {
      test_failures = 0;
      (k == 2 * STORAGE_TYPES ? run_restore : k % 2 == 0 ? run : run_many)(&storage_types[i]);
      fflush(NULL);
      _exit(test_result());
    }
    int status = 1;
    CHECK_MSG(child > 0 && waitpid(child, &status, 0) == child && status == 0, "%s: %d", storage_types[i].name, status);
  }
  remove_folder();
  return test_result();
}
