/* Updates over a disk that fails, forced by sync points (base/sync_point.h). A read that fails, whichever of the call's, is
 * told before any row has stepped. A write that fails may leave some rows stepped, as many as the message says at most, and
 * each row as before or after its step. When the disk works again, so does the store. */
#include "base/sync_point.h"
#include "test/store_types.h"

#include <errno.h>
#include <sys/types.h>

#define DIM 64u
#define ROWS 9000u
#define BATCH 600u

static char message[1024];
#define ERR message, sizeof message

static int64_t keys[ROWS];
static float rows[ROWS * DIM], gradients[ROWS * DIM];
static int32_t steps[ROWS];

typedef struct fault {
  uint64_t call, which; /* the which-th call fails, and with `always` all after it */
  bool always, met;
} fault;

static void break_call(void *context, void *value) {
  fault *f = context;
  const uint64_t n = f->call++;
  if (n < f->which || (n > f->which && !f->always)) return;
  f->met = true;
  errno = EIO;
  *(ssize_t *)value = -1;
}

static ts_store *make(const char *storage, const char *sizes) {
  ts_store *store = open_config(CONFIG("storage", storage, "size", sizes, "size_counts", "rows", "path", folder, "ssdhash.io", "pread",
                                       "ssdhash.buffer_bytes", "16384", "eviction_threads", "0"));
  if (store == NULL) return NULL;
  ts_config *config = CONFIG("name", "t", "learning_rate", "1", "initializer", "constant");
  set_number(config, "dim", DIM);
  add_config(store, config);
  for (int64_t i = 0; i < (int64_t)ROWS; i++) keys[i] = i;
  for (uint32_t i = 0; i < ROWS * DIM; i++) gradients[i] = 1;
  memset(steps, 0, sizeof steps);
  CHECK_MSG(ts_table_lookup(store, 0, keys, ROWS, rows, ERR) == TS_OK, "%s", message);
  return store;
}

/* How many of the batch have one step more than they should, where so many may; every other row is exact. */
static uint64_t stepped(ts_store *store, uint32_t from) {
  uint64_t more = 0;
  for (int64_t i = 0; i < (int64_t)ROWS; i++) keys[i] = i;
  char text[512];
  CHECK_MSG(ts_table_find(store, 0, keys, ROWS, 0, rows, NULL, text, sizeof text) == TS_OK, "%s", text);
  for (uint32_t i = 0; i < ROWS; i++) {
    const float now = -rows[i * DIM];
    for (uint32_t j = 1; j < DIM; j++) CHECK(rows[i * DIM + j] == rows[i * DIM]);
    if (now == (float)steps[i]) continue;
    CHECK_MSG(i >= from && i < from + BATCH && now == (float)steps[i] + 1, "row %u: %g for %d steps", i, now, steps[i]);
    steps[i]++;
    more++;
  }
  return more;
}

static int32_t update(ts_store *store, uint32_t from) {
  for (uint32_t i = 0; i < BATCH; i++) keys[i] = from + i;
  return ts_table_update(store, 0, keys, BATCH, gradients, ERR);
}

static void reads_fail(const char *storage, const char *sizes) {
  ts_store *store = make(storage, sizes);
  if (store == NULL) return;
  uint32_t broken = 0;
  for (uint64_t which = 0; which < 400 && test_failures == 0; which = which < 3 ? which + 1 : which * 5 / 3) {
    fault f = {.which = which};
    const uint32_t from = (uint32_t)(which * 613) % (ROWS - BATCH);
    ts_sync_start();
    ts_sync_call("ssd:medium:read", break_call, &f);
    const int32_t status = update(store, from);
    CHECK(ts_sync_stop());
    broken += f.met;
    if (f.met && status != TS_OK) { /* compaction may have met it, and passed it over */
      CHECK_MSG(status == TS_EIO && strstr(message, ".log") != NULL, "%s: %d %s", storage, status, message);
      const uint64_t n = stepped(store, from);
      CHECK_MSG(n == 0, "%s: read %llu failed, %llu rows have stepped", storage, (unsigned long long)which, (unsigned long long)n);
      CHECK_MSG(update(store, from) == TS_OK, "%s", message);
    } else {
      CHECK_MSG(status == TS_OK, "%s: %s", storage, message);
    }
    CHECK(stepped(store, from) == BATCH);
  }
  CHECK_MSG(broken > 4, "%s: %u reads failed", storage, broken);
  CHECK(ts_store_close(store) == TS_OK);
}

static void writes_fail(const char *storage, const char *sizes) {
  ts_store *store = make(storage, sizes);
  if (store == NULL) return;
  uint32_t broken = 0;
  for (uint64_t which = 0; which < 30 && test_failures == 0; which++) {
    fault f = {.which = which, .always = true};
    const uint32_t from = (uint32_t)(which * 613) % (ROWS - BATCH);
    ts_sync_start();
    ts_sync_call("ssd:medium:wrote", break_call, &f);
    const int32_t status = update(store, from);
    CHECK(ts_sync_stop());
    const uint64_t n = stepped(store, from);
    if (status == TS_OK) {
      CHECK_MSG(n == BATCH, "%llu", (unsigned long long)n);
      continue;
    }
    broken++;
    CHECK_MSG(status == TS_EIO && f.met, "%s: %d %s", storage, status, message);
    const char *told = strstr(message, "; up to ");
    const uint64_t most = told == NULL ? 0 : strtoull(told + 8, NULL, 10);
    CHECK_MSG(n <= most && most <= BATCH, "%s: %llu rows have stepped: %s", storage, (unsigned long long)n, message);
    CHECK_MSG(update(store, from) == TS_OK && stepped(store, from) == BATCH, "%s", message);
  }
  CHECK_MSG(broken > 4, "%s: %u writes failed", storage, broken);
  CHECK(ts_store_close(store) == TS_OK);
}

int main(void) {
  if (!make_folder("failing")) return 1;
  reads_fail("SSDHASH", "67108864");
  reads_fail("DRAM_SSDHASH", "262144,67108864");
  writes_fail("SSDHASH", "67108864");
  writes_fail("DRAM_SSDHASH", "262144,67108864");
  remove_folder();
  return test_result();
}
