/* A medium of this machine is asked: what is refused, that answers are what was asked for, that nothing is left behind. */
#include "gauge/gauge.h"
#include "test/check.h"
#include "test/config.h"

#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

static char message[512];

static ts_gauge *open_gauge(const char *kind, const char *folder, int32_t expected) {
  ts_config *config;
  CHECK(ts_config_create(&config) == TS_OK);
  ts_config_set(config, "kind", kind, NULL, 0);
  ts_config_set(config, "bytes", "4194304", NULL, 0);
  if (folder != NULL) ts_config_set(config, "folder", folder, NULL, 0);
  ts_gauge *gauge = NULL;
  CHECK_MSG(ts_gauge_open(config, &gauge, message, sizeof message) == expected, "%s", message);
  ts_config_free(config);
  return gauge;
}

static int32_t take(ts_gauge *gauge, const double q[TS_MEDIA_QUERY], double out[2]) {
  return ts_gauge_take(gauge, q, 2000000, out, message, sizeof message);
}

static void test_memory(void) {
  ts_gauge *gauge = open_gauge("memory", NULL, TS_OK);
  double out[2] = {0}, chase[TS_MEDIA_QUERY] = {0, 0, 64, 1, 0, 0, 0, -1, 0, 0, 0};
  CHECK(take(gauge, chase, out) == TS_OK && out[0] > 0 && out[1] == 0);
  for (double op = 0; op < TS_GAUGE_OPS; op++) {
    for (double bytes = 64; bytes <= 4096; bytes *= 8) {
      double q[TS_MEDIA_QUERY] = {2, op, bytes, 1, 0, op > 0, 0, -1, 0, 0, 0};
      int32_t wanted = ts_gauge_has((ts_gauge_op)op) ? TS_OK : TS_EUNSUPPORTED;
      CHECK_MSG(take(gauge, q, out) == wanted, "operation %g: %s", op, message);
      if (wanted == TS_OK) CHECK(out[0] > 0 && out[0] < 1e15);
    }
  }
  double mixed[TS_MEDIA_QUERY] = {2, 2, 256, 1, 0, 0, 0, 0.5, 0, 0, 0};
  CHECK(take(gauge, mixed, out) == TS_OK && out[0] > 0);
  const double wrong[][2] = {{0, 1}, {0, 3}, {1, 4}, {2, 0}, {2, 2097152}, {3, 0}, {3, 2000}, {7, 1.5}, {8, 1}, {10, 1e18}};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    double q[TS_MEDIA_QUERY] = {2, 0, 64, 1, 0, 0, 0, -1, 0, 0, 0};
    q[(int)wrong[i][0]] = wrong[i][1];
    CHECK_MSG(take(gauge, q, out) == TS_EINVAL, "column %g", wrong[i][0]);
  }
  CHECK(ts_gauge_take(NULL, chase, 1, out, message, sizeof message) == TS_EINVAL);
  CHECK(ts_gauge_close(gauge) == TS_OK && ts_gauge_close(NULL) == TS_OK);
}

/* A device or a file that is there is never opened for writing. */
static void test_refused(void) {
  CHECK(open_gauge("drive", "/dev/null", TS_EINVAL) == NULL && strstr(message, "expected a folder") != NULL);
  CHECK(open_gauge("file", "/proc/self/exe", TS_EINVAL) == NULL);
  CHECK(open_gauge("drive", "/no/such/folder", TS_EIO) == NULL);
  CHECK(open_gauge("tape", NULL, TS_EINVAL) == NULL);
}

static ts_gauge *try_gauge(const char *kind, const char *folder, int32_t *status) {
  ts_config *config;
  CHECK(ts_config_create(&config) == TS_OK);
  ts_config_set(config, "kind", kind, NULL, 0);
  ts_config_set(config, "bytes", "4194304", NULL, 0);
  ts_config_set(config, "folder", folder, NULL, 0);
  ts_gauge *gauge = NULL;
  *status = ts_gauge_open(config, &gauge, message, sizeof message);
  ts_config_free(config);
  return gauge;
}

/* What is measured is what was named: no page cache for mapped memory, no memory for a drive. */
static void test_other_media(void) {
  struct statfs about;
  const char *shm = "/dev/shm";
  if (statfs(shm, &about) != 0 || about.f_type != 0x01021994) printf("skipped: a memory file system (%s is none)\n", shm);
  else {
    CHECK(open_gauge("drive", shm, TS_EUNAVAILABLE) == NULL && strstr(message, "in memory") != NULL);
    ts_gauge *gauge = open_gauge("file", shm, TS_OK);
    double out[2], load[TS_MEDIA_QUERY] = {2, 0, 64, 1, 0, 0, 0, -1, 0, 0, 0};
    CHECK(take(gauge, load, out) == TS_OK && out[0] > 0);
    ts_gauge_close(gauge);
  }
  char here[4096];
  int32_t status = TS_OK;
  CHECK(getcwd(here, sizeof here) != NULL);
  if (statfs(here, &about) != 0 || about.f_type == 0x01021994) {
    printf("skipped: a file system on a drive (%s is none)\n", here);
    return;
  }
  ts_gauge *gauge = try_gauge("file", here, &status);
  CHECK_MSG(status == TS_OK || status == TS_EUNAVAILABLE, "%s", message); /* TS_OK: it is a DAX one */
  if (status == TS_EUNAVAILABLE) CHECK_MSG(strstr(message, "DAX") != NULL || strstr(message, "without a name") != NULL, "%s", message);
  ts_gauge_close(gauge);
}

static void test_drive(void) {
  int32_t status;
  ts_gauge *gauge = try_gauge("drive", "/tmp", &status);
  double out[2], read[TS_MEDIA_QUERY] = {2, 0, 4096, 4, 0, 0, 0, -1, 0, 0, 0};
  if (status == TS_OK) status = take(gauge, read, out);
  if (status == TS_EUNAVAILABLE) {
    printf("skipped: a drive (%s)\n", message);
    ts_gauge_close(gauge);
    return;
  }
  CHECK_MSG(status == TS_OK && out[0] > 0, "%s", message);
  double latency[TS_MEDIA_QUERY] = {0, 2, 8192, 1, 0, 0, 0, 0.5, 0, 0, 0}, part[TS_MEDIA_QUERY] = {2, 0, 100, 1, 0, 0, 0, -1};
  CHECK_MSG(take(gauge, latency, out) == TS_OK && out[0] > 0, "%s", message);
  CHECK(take(gauge, part, out) == TS_EINVAL && strstr(message, "whole blocks") != NULL);
  ts_gauge_close(gauge);
}

/* Each thread's lookups are timed, and rows that were not there are there then; what a lookup refuses is said. */
static void test_lookups(void) {
  ts_store *store = NULL;
  ts_config *config = CONFIG("storage", "DRAM", "size", "1048576");
  CHECK(ts_store_open(config, &store, message, sizeof message) == TS_OK);
  ts_config_free(config);
  uint32_t tables[2];
  for (uint32_t i = 0; i < 2; i++) {
    config = CONFIG("name", i == 0 ? "a" : "b", "dim", "8");
    CHECK_MSG(ts_table_create(store, config, &tables[i], message, sizeof message) == TS_OK, "%s", message);
    ts_config_free(config);
  }
  enum { THREADS = 4, N = 100, ROUNDS = 50 };
  int64_t keys[THREADS * N];
  double seconds[THREADS * ROUNDS] = {0};
  for (uint32_t i = 0; i < THREADS * N; i++) keys[i] = i;
  const uint32_t of[THREADS] = {tables[0], tables[0], tables[1], tables[0]};
  CHECK_MSG(ts_gauge_lookups(store, of, THREADS, keys, N, 8, ROUNDS, seconds, message, sizeof message) == TS_OK, "%s", message);
  for (uint32_t i = 0; i < THREADS * ROUNDS; i++) CHECK(seconds[i] > 0 && seconds[i] < 10);
  uint8_t found[THREADS * N];
  static float rows[THREADS * N * 8];
  for (uint32_t t = 0; t < THREADS; t++) {
    CHECK(ts_table_find(store, of[t], keys + t * N, N, 0, rows, found, message, sizeof message) == TS_OK);
    for (uint32_t i = 0; i < N; i++) CHECK(found[i]);
  }
  const uint32_t wrong[2] = {tables[0], 7};
  CHECK(ts_gauge_lookups(store, wrong, 2, keys, N, 8, ROUNDS, seconds, message, sizeof message) == TS_EINVAL);
  CHECK_MSG(strstr(message, "7") != NULL, "%s", message);
  CHECK(ts_gauge_lookups(store, of, 0, keys, N, 8, ROUNDS, seconds, message, sizeof message) == TS_EINVAL);
  static int64_t many[200000];
  for (uint32_t i = 0; i < 200000; i++) many[i] = 1000 + i;
  static double more[2];
  CHECK(ts_gauge_lookups(store, of, 2, many, 100000, 8, 1, more, message, sizeof message) == TS_EFULL);
  CHECK(ts_store_close(store) == TS_OK);
}

int main(void) {
  test_memory();
  test_refused();
  test_other_media();
  test_drive();
  test_lookups();
  return test_result();
}
