/* The Memory Mode model: hits, clean and dirty misses of a direct-mapped cache, against a slow model that keeps whole
 * page numbers, and the time it gives to them. */
#include "emulation/emulation.h"
#include "test/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static ts_config *options(const char *cache_bytes, const char *seed) {
  ts_config *config;
  CHECK(ts_config_create(&config) == TS_OK);
  const char *const pairs[][2] = {{"memory_mode.medium", "made-up"},
                                  {"memory_mode.cache_bytes", cache_bytes},
                                  {"memory_mode.seed", seed},
                                  {"memory_mode.granule", "256"},
                                  {"memory_mode.sharpness", "64"},
                                  {"memory_mode.in_flight", "10"},
                                  {"memory_mode.read_latency_ns", "300"},
                                  {"memory_mode.read_next_latency_ns", "100"},
                                  {"memory_mode.read_bandwidth", "1e12"},
                                  {"memory_mode.write_cached_latency_ns", "300"},
                                  {"memory_mode.write_cached_knee", "0.001"},
                                  {"memory_mode.write_cached_bandwidth", "64e9"}};
  for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) ts_config_set(config, pairs[i][0], pairs[i][1], NULL, 0);
  return config;
}

static ts_memory_mode *open_mode(const char *cache_bytes, const char *seed) {
  ts_config *config = options(cache_bytes, seed);
  ts_memory_mode *mode = NULL;
  char message[256] = "";
  CHECK_MSG(ts_memory_mode_create(config, &mode, (ts_err){message, sizeof message}) == TS_OK, "%s", message);
  ts_config_free(config);
  return mode;
}

static bool counts(const ts_memory_mode_count *c, uint64_t hits, uint64_t clean, uint64_t dirty, uint64_t fills) {
  return c->hits == hits && c->clean_misses == clean && c->dirty_misses == dirty && c->fills == fills;
}

/* One page of cache: every other page conflicts, so the state machine can be walked through. */
static void states_follow_each_other(void) {
  ts_memory_mode *mode = open_mode("4096", "1");
  CHECK(ts_memory_mode_cache_bytes(mode) == 4096 && strcmp(ts_memory_mode_medium(mode), "made-up") == 0);
  ts_memory_mode_count c = {0};
  const uintptr_t a = 0x10000, b = 0x20000;
  ts_memory_mode_access(mode, a, 128, false, &c);
  CHECK(counts(&c, 0, 2, 0, 1)); /* empty lines; both in one granule */
  ts_memory_mode_access(mode, a, 128, true, &c);
  CHECK(counts(&c, 2, 2, 0, 1)); /* write hit: dirty now */
  ts_memory_mode_access(mode, b, 64, false, &c);
  CHECK(counts(&c, 2, 2, 1, 2)); /* takes one dirty line's place */
  ts_memory_mode_access(mode, b, 128, true, &c);
  CHECK(counts(&c, 3, 2, 2, 3)); /* hit, then the other dirty one */
  ts_memory_mode_access(mode, b + 4032, 128, false, &c);
  CHECK(counts(&c, 3, 3, 3, 5)); /* an empty last line; and the next page's first, where b's dirty first one was */
  ts_memory_mode_access(mode, b + 4096, 64, false, &c);
  ts_memory_mode_access(mode, a, 0, true, &c);
  CHECK(counts(&c, 4, 3, 3, 5));
  ts_memory_mode_destroy(mode);
}

/* Against a model with whole page numbers in place of tags. */
static void agrees_with_a_slow_model(void) {
  enum { PAGES = 64, ADDRESSES = 512 };
  ts_memory_mode *mode = open_mode("262144", "7"); /* 64 pages */
  static uint64_t owner[PAGES * 64];
  static bool dirty[PAGES * 64];
  memset(owner, 0xff, sizeof owner);
  memset(dirty, 0, sizeof dirty);
  uint64_t seed = ts_mix64(7 + 0x9e3779b97f4a7c15u), hits = 0, clean = 0, wrote = 0;
  ts_memory_mode_count c = {0};
  for (uint64_t i = 0; i < 200000; i++) {
    uint64_t r = ts_random64(3, 0, i);
    uintptr_t address = (uintptr_t)(r % (ADDRESSES * 4096)) & ~(uintptr_t)15;
    uint32_t bytes = 16 + (uint32_t)(r >> 40) % 300;
    bool write = (r >> 63) != 0;
    ts_memory_mode_access(mode, address, bytes, write, &c);
    for (uint64_t line = address / 64; line <= (address + bytes - 1) / 64; line++) {
      uint64_t page = line / 64, place = ((ts_mix64(page ^ seed) >> 32) * PAGES >> 32) * 64 + line % 64;
      if (owner[place] == page) hits++;
      else if (owner[place] != UINT64_MAX && dirty[place]) wrote++;
      else clean++;
      if (owner[place] != page) dirty[place] = false;
      owner[place] = page;
      dirty[place] = dirty[place] || write;
    }
  }
  CHECK_MSG(c.hits == hits && c.clean_misses == clean && c.dirty_misses == wrote, "%llu %llu %llu",
            (unsigned long long)c.hits, (unsigned long long)c.clean_misses, (unsigned long long)c.dirty_misses);
  CHECK(hits > 0 && clean > 0 && wrote > 0);
  CHECK(c.fills > 0 && c.fills <= c.clean_misses + c.dirty_misses);
  ts_memory_mode_destroy(mode);
}

/* Uniform rows over n times the cache: a line is there if it was the last touched of the k pages at its place, one
 * time in k. Placement is random, so k is Poisson with mean n and the share of hits that of places in use:
 * (1 - e^-n) / n. */
static void hit_ratio_is_that_of_random_placement(void) {
  ts_memory_mode *mode = open_mode("4194304", "5"); /* 1024 pages */
  ts_memory_mode_count c = {0};
  const uint64_t rows = 4 * 4194304 / 128;
  for (uint64_t i = 0; i < 2000000; i++) {
    if (i == 1000000) c = (ts_memory_mode_count){0};
    uint64_t r = ts_random64(9, 1, i) % rows;
    ts_memory_mode_access(mode, (uintptr_t)(0x7f0000000000u + r * 128), 128, false, &c);
  }
  double ratio = (double)c.hits / (double)(c.hits + c.clean_misses + c.dirty_misses);
  double want = (1 - 0.0183156) / 4;
  CHECK_MSG(ratio > want * 0.93 && ratio < want * 1.07, "%g, want about %g", ratio, want);
  CHECK(c.dirty_misses == 0);
  ts_memory_mode_destroy(mode);
}

static void seeds_place_pages(void) {
  ts_memory_mode_count count[3] = {{0}};
  const char *const seeds[3] = {"1", "1", "2"};
  for (int s = 0; s < 3; s++) {
    ts_memory_mode *mode = open_mode("131072", seeds[s]);
    for (uint64_t i = 0; i < 20000; i++)
      ts_memory_mode_access(mode, (uintptr_t)(ts_random64(4, 2, i) % (1u << 19)), 64, i % 3 == 0, &count[s]);
    ts_memory_mode_destroy(mode);
  }
  CHECK(memcmp(&count[0], &count[1], sizeof count[0]) == 0);
  CHECK(memcmp(&count[0], &count[2], sizeof count[0]) != 0);
}

static void misses_cost(void) {
  ts_memory_mode *mode = open_mode("4096", "1");
  CHECK(ts_memory_mode_cost_ns(mode, &(ts_memory_mode_count){.hits = 1000}) == 0);
  CHECK(ts_memory_mode_cost_ns(mode, &(ts_memory_mode_count){.clean_misses = 1, .fills = 1}) == 300);
  /* 100 rows of two lines: (100 x 300 + 100 x 100) / 10 */
  CHECK(ts_memory_mode_cost_ns(mode, &(ts_memory_mode_count){.clean_misses = 200, .fills = 100}) == 4000);
  /* 100000 x 300 / 10: write-backs hide behind the waiting as long as the medium is fast */
  CHECK(ts_memory_mode_cost_ns(mode, &(ts_memory_mode_count){.dirty_misses = 100000, .fills = 100000}) == 3000000);
  ts_memory_mode_destroy(mode);
  ts_config *config = options("4096", "1");
  ts_config_set(config, "memory_mode.read_bandwidth", "64e9", NULL, 0);
  ts_config_set(config, "memory_mode.threads", "2", NULL, 0);
  ts_config_set(config, "memory_mode.in_flight", "1000", NULL, 0);
  CHECK(ts_memory_mode_create(config, &mode, (ts_err){0}) == TS_OK);
  /* 2 x (256 / 64 + 256 / 64) ns: a line that is written back writes a granule */
  CHECK(ts_memory_mode_cost_ns(mode, &(ts_memory_mode_count){.dirty_misses = 1000, .fills = 1000}) == 16000);
  ts_memory_mode_destroy(mode);
  ts_config_free(config);
}

static void options_are_checked(void) {
  static const char *const bad[][3] = {{"memory_mode.cache_bytes", "100", "memory_mode.cache_bytes"},
                                       {"memory_mode.sede", "1", "unknown option \"memory_mode.sede\""},
                                       {"memory_mode.write_nt_latency_ns", "1", "write_nt_bandwidth"}};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    ts_config *config = options("4096", "1");
    ts_config_set(config, bad[i][0], bad[i][1], NULL, 0);
    char message[256] = "";
    ts_memory_mode *mode = NULL;
    CHECK(ts_memory_mode_create(config, &mode, (ts_err){message, sizeof message}) == TS_EINVAL && mode == NULL);
    CHECK_MSG(strstr(message, bad[i][2]) != NULL, "message \"%s\"", message);
    ts_config_free(config);
  }
  ts_config *config;
  CHECK(ts_config_create(&config) == TS_OK);
  ts_config_set(config, "storage", "DRAM", NULL, 0);
  ts_memory_mode *mode = NULL;
  CHECK(ts_memory_mode_create(config, &mode, (ts_err){0}) == TS_OK && mode == NULL);
  ts_config_free(config);
}

int main(void) {
  states_follow_each_other();
  agrees_with_a_slow_model();
  hit_ratio_is_that_of_random_placement();
  seeds_place_pages();
  misses_cost();
  options_are_checked();
  return test_result();
}
