/* replay.c - the simulator's replays, measured: one core, int64 keys in memory, hashing included. Prints lines
 * "name=value". Arguments: distinct keys, lookups, rounds. */
#include "base/zipf.h"
#include "cache/replay_log.h"
#include "simulator/analytic.h"
#include "simulator/curve.h"

#include <stdio.h>
#include <stdlib.h>

static char message[512];
static const ts_err err = {message, sizeof message};

static void check(int32_t status) {
  if (status == TS_OK) return;
  fprintf(stderr, "%s\n", message[0] != '\0' ? message : "out of memory");
  exit(1);
}

static double seconds_since(uint64_t start) { return (double)(ts_now_ns() - start) / 1e9; }

static double farthest(const double *a, const double *b, uint32_t n) {
  double most = 0;
  for (uint32_t i = 0; i < n; i++) most = TS_MAX(most, a[i] > b[i] ? a[i] - b[i] : b[i] - a[i]);
  return most;
}

int main(int argc, char **argv) {
  if (argc != 4) return 2;
  const uint64_t rows = strtoull(argv[1], NULL, 10), n = strtoull(argv[2], NULL, 10), rounds = strtoull(argv[3], NULL, 10);
  int64_t *keys = malloc(n * sizeof *keys);
  if (keys == NULL) return 1;
  static const char *const names[] = {"uniform", "zipf"};
  for (int z = 0; z < 2; z++) {
    ts_zipf zipf;
    check(ts_zipf_create(rows, z == 0 ? 0 : 1.05, 0, &zipf, err));
    for (uint64_t i = 0; i < n; i++) keys[i] = (int64_t)ts_mix64(ts_zipf_rank(&zipf, ts_random64(7, (uint64_t)z, i)));
    ts_zipf_free(&zipf);
    for (uint64_t r = 0; r < rounds; r++) {
      uint64_t hits, bytes;
      const uint64_t start = ts_now_ns();
      check(ts_lru_replay(rows / 100, keys, n, 0, &hits, &bytes));
      printf("rate-%s=%.6g\nhits-%s=%.6f\nbytes-%s=%.6g\n", names[z], (double)n / seconds_since(start) / 1e6, names[z],
             (double)hits / (double)n, names[z], (double)bytes);
    }
  }
  /* The keys are those of the Zipf law now. A cache of all of them, and all sizes in one pass. */
  uint64_t hits, bytes;
  const uint64_t sizes[] = {rows / 1000, rows / 300, rows / 100, rows / 30, rows / 10};
  enum { SIZES = 5 };
  double exact[SIZES], sampled[SIZES], model[SIZES], formula[SIZES];
  ts_curve_facts facts;
  ts_curve_ask ask = {.policy = "lru", .batch = 1, .uncounted = n / 2, .samples = 1 << 20, .sizes = sizes, .count = SIZES};
  check(ts_lru_replay(rows, keys, n, 0, &hits, &bytes));
  uint64_t start = ts_now_ns();
  check(ts_curve_exact(&ask, keys, n, exact, &facts, err));
  printf("rate-distances=%.6g\n", (double)n / seconds_since(start) / 1e6);
  printf("distinct=%.0f\nbytes-whole=%.6g\nbytes-distances=%.6g\n", facts.distinct, (double)bytes, (double)facts.bytes);
  start = ts_now_ns();
  check(ts_curve_sampled(&ask, keys, n, sampled, &facts, err));
  printf("rate-sampled=%.6g\nerror-sampled=%.6f\n", (double)n / seconds_since(start) / 1e6, farthest(exact, sampled, SIZES));
  ts_law law;
  check(ts_law_zipf(rows, 1.05, 0, NULL, 0, &law, err));
  ask.samples = 16384;
  ask.seed = 1;
  check(ts_curve_law_sampled(&ask, &law, model, &facts, err));
  for (uint32_t i = 0; i < SIZES; i++) formula[i] = ts_formula_misses(&law, TS_FORMULA_LRU, sizes[i], 1);
  printf("error-model=%.6f\nerror-formula=%.6f\n", farthest(exact, model, SIZES), farthest(exact, formula, SIZES));
  ts_law_free(&law);
  free(keys);
  /* A million million rows: twelve sizes under three policies and batches of 100,000 lookups. */
  static const uint64_t large[] = {1000000, 10000000, 100000000, 1000000000, 10000000000, 100000000000};
  static const char *const policies[] = {"lru", "s3fifo", "opt"};
  check(ts_law_zipf(UINT64_C(1000000000000), 1.05, 0, NULL, 0, &law, err));
  start = ts_now_ns();
  double six[6];
  for (int p = 0; p < 3; p++)
    for (uint64_t batch = 1; batch <= 100000; batch *= 100000) {
      ts_curve_ask huge = {.policy = policies[p], .batch = batch, .samples = 16384, .seed = 1, .sizes = large, .count = 6};
      check(ts_curve_law_sampled(&huge, &law, six, &facts, err));
      if (p == 0 && batch == 1) {
        double theirs[6];
        for (uint32_t i = 0; i < 6; i++) theirs[i] = ts_formula_misses(&law, TS_FORMULA_LRU, large[i], 1);
        printf("terarow-error-formula=%.6f\n", farthest(six, theirs, 6));
      }
    }
  printf("terarow-seconds=%.6g\n", seconds_since(start));
  ts_law_free(&law);
  return 0;
}
