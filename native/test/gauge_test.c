/* A medium of this machine is asked: what is refused, that answers are what was asked for, that nothing is left behind. */
#include "gauge/gauge.h"
#include "test/check.h"

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

int main(void) {
  test_memory();
  test_refused();
  test_other_media();
  test_drive();
  return test_result();
}
