/* Emulation: options, and the time that a batch takes on a made-up medium. The formulas themselves: media_test.c; how far
 * the shipped media are from published figures: docs/accuracy.md. */
#include "emulation/emulation.h"
#include "test/check.h"

#include <stdlib.h>
#include <string.h>

static ts_config *simple(void) {
  ts_config *config;
  CHECK(ts_config_create(&config) == TS_OK);
  static const char *const pairs[][2] = {
      {"emulate.medium", "made-up"},           {"emulate.in_flight", "10"},          {"emulate.granule", "256"},
      {"emulate.read_latency_ns", "300"},
      {"emulate.read_bandwidth", "1e9"},       {"emulate.read_next_latency_ns", "100"},
      {"emulate.write_nt_latency_ns", "100"},  {"emulate.write_nt_bandwidth", "1e10"},
      {"emulate.write_cached_latency_ns", "200"}, {"emulate.write_cached_bandwidth", "2e9"},
      {"emulate.sharpness", "64"}, {"emulate.write_cached_knee", "0"}, {"storage", "DRAM_PMEM"}};
  for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) ts_config_set(config, pairs[i][0], pairs[i][1], NULL, 0);
  return config;
}

/* By hand: 1 GB/s is one byte a nanosecond. */
static void formula_is_the_stated_one(void) {
  ts_config *config = simple();
  ts_emulation *e = NULL;
  CHECK(ts_emulation_create(config, &e, (ts_err){0}) == TS_OK && e != NULL);
  CHECK(strcmp(ts_emulation_medium(e), "made-up") == 0);
  CHECK(ts_emulation_cost_ns(e, TS_MEDIA_READ, 128, 10) == 2560);         /* 256 B moved at 1 B/ns */
  CHECK(ts_emulation_cost_ns(e, TS_MEDIA_READ, 257, 10) == 5120);         /* two granules */
  CHECK(ts_emulation_cost_ns(e, TS_MEDIA_READ, 64, 1) == 300);            /* never under the latency */
  CHECK(ts_emulation_cost_ns(e, TS_MEDIA_WRITE_NT, 256, 1000) == 40000);  /* 4 lines x 100 / 10 */
  CHECK(ts_emulation_cost_ns(e, TS_MEDIA_WRITE_CACHED, 128, 100) == 12800); /* a granule at 2 B/ns */
  CHECK(ts_emulation_cost_ns(e, TS_MEDIA_READ, 0, 10) == 0 && ts_emulation_cost_ns(e, TS_MEDIA_READ, 64, 0) == 0);
  ts_emulation_destroy(e);
  ts_config_set(config, "emulate.read_bandwidth", "1e12", NULL, 0);
  CHECK(ts_emulation_create(config, &e, (ts_err){0}) == TS_OK);
  CHECK(ts_emulation_cost_ns(e, TS_MEDIA_READ, 256, 1000) == 60000); /* (300 + 3 x 100) / 10 */
  ts_emulation_destroy(e);
  ts_config_set(config, "emulate.threads", "4", NULL, 0);
  CHECK(ts_emulation_create(config, &e, (ts_err){0}) == TS_OK);
  CHECK(ts_emulation_cost_ns(e, TS_MEDIA_WRITE_CACHED, 128, 100) == 51200);
  ts_emulation_destroy(e);
  /* A share of the accesses goes to the medium, the rest costs nothing there. */
  ts_config_set(config, "emulate.share", "0.25", NULL, 0);
  CHECK(ts_emulation_create(config, &e, (ts_err){0}) == TS_OK && ts_emulation_share(e) == 0.25);
  CHECK(ts_emulation_cost_ns(e, TS_MEDIA_WRITE_CACHED, 128, 400) == 51200);
  ts_emulation_work quarter = {0};
  ts_emulation_add(e, TS_EMULATION_CALLS, TS_MEDIA_READ, 64, 400, &quarter);
  ts_emulation_destroy(e);
  ts_config_set(config, "emulate.share", "1", NULL, 0);
  CHECK(ts_emulation_create(config, &e, (ts_err){0}) == TS_OK && ts_emulation_share(e) == 1);
  ts_emulation_work whole = {0};
  ts_emulation_add(e, TS_EMULATION_CALLS, TS_MEDIA_READ, 64, 100, &whole);
  CHECK(quarter.alone_ns == whole.alone_ns && quarter.share_ns == whole.share_ns && quarter.busy_ns == whole.busy_ns);
  ts_emulation_destroy(e);
  ts_config_free(config);
}

/* A machine has its prefetchers on: what they fetch in vain takes the medium's time, as the simulator has it. */
static void prefetchers_are_on(void) {
  ts_config *config = simple();
  ts_config_set(config, "emulate.prefetch_bytes", "256", NULL, 0);
  ts_emulation *e = NULL;
  CHECK(ts_emulation_create(config, &e, (ts_err){0}) == TS_OK && e != NULL);
  CHECK(ts_emulation_cost_ns(e, TS_MEDIA_READ, 128, 10) == 5120); /* a granule and 256 B in vain at 1 B/ns */
  CHECK(ts_emulation_cost_ns(e, TS_MEDIA_WRITE_NT, 256, 1000) == 40000);
  ts_emulation_destroy(e);
  ts_config_free(config);
}

static void refused(const char *key, const char *value, const char *said) {
  ts_config *config = simple();
  ts_config_set(config, key, value, NULL, 0);
  char message[256] = "";
  ts_emulation *e = (ts_emulation *)config;
  CHECK_MSG(ts_emulation_create(config, &e, (ts_err){message, sizeof message}) == TS_EINVAL, "%s", key);
  CHECK(e == NULL);
  CHECK_MSG(strstr(message, said) != NULL, "message \"%s\"", message);
  ts_config_free(config);
}

static void options_are_checked(void) {
  refused("emulate.raed_bandwidth", "1", "unknown option \"emulate.raed_bandwidth\"");
  refused("emulate.granule", "100", "power of two");
  refused("emulate.threads", "0", "emulate.threads");
  refused("emulate.share", "1.5", "emulate.share");
  refused("emulate.read_latency_ns", "fast", "emulate.read_latency_ns");
  ts_config *config;
  CHECK(ts_config_create(&config) == TS_OK);
  char message[256] = "";
  ts_err err = {message, sizeof message};
  ts_emulation *e = NULL;
  CHECK(ts_emulation_create(config, &e, err) == TS_OK && e == NULL);
  CHECK(ts_emulation_cost_ns(NULL, TS_MEDIA_READ, 64, 10) == 0);
  ts_config_set(config, "emulate.threads", "2", NULL, 0);
  CHECK(ts_emulation_create(config, &e, err) == TS_EINVAL && strstr(message, "emulate.threads") != NULL);
  ts_config_set(config, "emulate.medium", "x", NULL, 0);
  CHECK(ts_emulation_create(config, &e, err) == TS_EINVAL && strstr(message, "emulate.read_latency_ns") != NULL);
  ts_config_free(config);
}

int main(void) {
  formula_is_the_stated_one();
  prefetchers_are_on();
  options_are_checked();
  return test_result();
}
