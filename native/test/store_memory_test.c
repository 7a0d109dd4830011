/* ts_store_memory against what the system says: a process of its own opens a store of 512 MiB, fills it, and its resident
 * memory has grown by what the store explains, within 5 %. Memory of a mapped PMEM pool counts as its tier. */
#include "test/foreign_threads.h"
#include "test/store_types.h"

#include <sys/wait.h>

#define DIM 64u
#define BATCH 4096u

static char message[512];
#define ERR message, sizeof message

/* Anonymous memory, and with shared mappings (a pool in a tmpfs or a file), in bytes. */
static void resident(uint64_t *anonymous, uint64_t *mapped) {
  char line[256];
  unsigned long long kib;
  FILE *f = fopen("/proc/self/status", "r");
  *anonymous = *mapped = 0;
  while (f != NULL && fgets(line, sizeof line, f) != NULL) {
    if (sscanf(line, "RssAnon: %llu kB", &kib) == 1) *anonymous += kib << 10;
    if (sscanf(line, "RssFile: %llu kB", &kib) == 1 || sscanf(line, "RssShmem: %llu kB", &kib) == 1) *mapped += kib << 10;
  }
  if (f != NULL) fclose(f);
}

/* Bytes of ts_store_memory by place. Slack of rows is reserved, and touched only in part: at least and at most. */
static void explained(ts_store *store, const char *place, uint64_t *least, uint64_t *most) {
  char text[4096], *rest = NULL;
  uint64_t needed;
  CHECK(ts_store_memory(store, text, sizeof text, &needed) == TS_OK);
  *least = *most = 0;
  for (char *line = strtok_r(text, "\n", &rest); line != NULL; line = strtok_r(NULL, "\n", &rest)) {
    unsigned tier;
    unsigned long long bytes;
    char purpose[16], where[16];
    if (sscanf(line, "tier=%u purpose=%15s place=%15s bytes=%llu", &tier, purpose, where, &bytes) != 4) continue;
    if (strcmp(where, place) != 0) continue;
    *most += bytes;
    if (strcmp(purpose, "slack") != 0) *least += bytes;
  }
}

static void fill(ts_store *store, uint32_t table, int64_t from, int64_t keys_in_all) {
  static float rows[BATCH * DIM];
  static int64_t keys[BATCH];
  for (int64_t first = from; first < from + keys_in_all && test_failures == 0; first += BATCH) {
    for (int64_t i = 0; i < (int64_t)BATCH; i++) keys[i] = (int64_t)ts_mix64((uint64_t)(first + i));
    CHECK_MSG(ts_table_lookup(store, table, keys, BATCH, rows, ERR) == TS_OK, "%s", message);
  }
}

static int measure(const storage_type *type, const char *sizes, int64_t keys) {
  ts_config *config = config_of_type(type, "16777216", "all");
  /* Libraries, stacks and the test's own arrays first. */
  ts_store *store = open_config(config);
  if (store == NULL) return test_result();
  add_config(store, CONFIG("name", "first"));
  add_config(store, CONFIG("name", "wide", "dim", "64"));
  fill(store, 1, 0, 2 * BATCH);
  ts_store_close(store);
  uint64_t anonymous[2], mapped[2], least, most;
  resident(&anonymous[0], &mapped[0]);
  store = open_config(config_of_type(type, sizes, "all"));
  for (int t = 0; t < 4; t++) {
    char name[32];
    snprintf(name, sizeof name, "t%d", t);
    add_config(store, CONFIG("name", name, "dim", "64", "optimizer", "adagrad"));
  }
  for (uint32_t t = 0; t < 4; t++) fill(store, t, 0, keys / 4);
  CHECK(ts_store_settle(store, ERR) == TS_OK);
  resident(&anonymous[1], &mapped[1]);
  explained(store, "DRAM", &least, &most);
  const double grown = (double)(anonymous[1] - anonymous[0]);
  CHECK_MSG(grown >= 0.95 * (double)least && grown <= 1.05 * (double)most,
            "%s: resident memory grew by %.1f MiB, %.1f to %.1f MiB are explained", type->name, grown / 1048576,
            (double)least / 1048576, (double)most / 1048576);
  CHECK_MSG(most > UINT64_C(300) << 20, "%s: only %.1f MiB", type->name, (double)most / 1048576);
  if (getenv("TIERSTORE_SHOW") != NULL)
    fprintf(stderr, "%s: grew %.1f, explained %.1f..%.1f MiB\n", type->name, grown / 1048576, (double)least / 1048576,
            (double)most / 1048576);
  explained(store, "PMEM", &least, &most);
  const double pool = (double)mapped[1] - (double)mapped[0];
  if (most > 0 && strcmp(type->pmem == NULL ? "libpmem" : type->pmem, "libpmem") == 0)
    CHECK_MSG(pool >= 0.95 * (double)least && pool <= 1.05 * (double)most + 4e6,
              "%s: mapped memory grew by %.1f MiB, %.1f to %.1f MiB are explained", type->name, pool / 1048576,
              (double)least / 1048576, (double)most / 1048576);
  CHECK(limits_hold(store) && charges_agree(store));
  ts_store_close(store);
  return test_result();
}

int main(void) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  SKIP_ALL("store_memory_test", "resident memory against what is explained: the sanitizer has its own");
  return test_result();
#endif
  if (!make_folder("memory")) return 1;
  static const struct {
    uint32_t type;
    const char *sizes;
    int64_t keys;
  } cases[] = {{0, "536870912", 900000}, {5, "402653184,134217728", 800000}, {7, "402653184,536870912", 900000}};
  for (uint32_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    pid_t child = fork();
    if (child == 0) _exit(measure(&storage_types[cases[i].type], cases[i].sizes, cases[i].keys));
    int status = -1;
    CHECK_MSG(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0, "%s",
              storage_types[cases[i].type].name);
  }
  remove_folder();
  return test_result();
}
