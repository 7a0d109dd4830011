/* Wide part and metrics against plain definitions: FTRL by hand, O(n^2) AUC. */
#include "test/wdl_fixture.h"
#include "wdl/common/metrics.h"
#include "wdl/layers/wide.h"

#include <math.h>

/* Wide part: forward and one FTRL step against a direct reading of the formula, with and without l1 and l2. */
static void wide_follows_ftrl(void) {
  for (int regularised = 0; regularised < 2; regularised++) {
    enum { ROWS = 40, BUCKETS = 5 };
    ts_wide wide = {0};
    ts_workspace workspace = {0};
    ts_wide_plan_parameters(&wide, &workspace, ROWS, BUCKETS);
    ts_wide_plan_step(&wide, &workspace);
    uint64_t bytes = TS_ROUND_UP(workspace.used, 64);
    workspace = (ts_workspace){.base = aligned_alloc(64, bytes)};
    memset(workspace.base, 0, bytes);
    ts_wide_plan_parameters(&wide, &workspace, ROWS, BUCKETS);
    ts_wide_plan_step(&wide, &workspace);
    wide.learning_rate = 0.2f;
    wide.l1 = regularised ? 0.3f : 0;
    wide.l2 = regularised ? 0.7f : 0;
    ts_wide_initialise(&wide, 0.1f);
    static float numerics[TS_NUMERICS * ROWS], out[ROWS], gradient[ROWS];
    static int64_t keys[TS_CATEGORIES * ROWS];
    double n[TS_CATEGORIES][BUCKETS], z[TS_CATEGORIES][BUCKETS] = {{0}}, w[TS_CATEGORIES][BUCKETS] = {{0}};
    double nn[TS_NUMERICS], nz[TS_NUMERICS] = {0}, nw[TS_NUMERICS] = {0};
    for (uint32_t c = 0; c < TS_CATEGORIES; c++)
      for (uint32_t b = 0; b < BUCKETS; b++) n[c][b] = 0.1;
    for (uint32_t j = 0; j < TS_NUMERICS; j++) nn[j] = 0.1;
    for (uint32_t step = 0; step < 4; step++) {
      for (uint32_t i = 0; i < TS_NUMERICS * ROWS; i++) numerics[i] = (float)ts_unit(ts_random64(step, 1, i));
      for (uint32_t i = 0; i < TS_CATEGORIES * ROWS; i++) keys[i] = (int64_t)(ts_random64(step, 2, i) % 17) - 8;
      for (uint32_t r = 0; r < ROWS; r++) gradient[r] = (float)ts_unit(ts_random64(step, 3, r)) - 0.4f, out[r] = 1;
      ts_wide_forward(&wide, 0, 11, numerics, keys, out);
      ts_wide_forward(&wide, 11, ROWS - 11, numerics, keys, out);
      double g[TS_CATEGORIES][BUCKETS] = {{0}}, ng[TS_NUMERICS] = {0};
      for (uint32_t r = 0; r < ROWS; r++) {
        double expected = 1;
        for (uint32_t j = 0; j < TS_NUMERICS; j++) {
          expected += nw[j] * (double)numerics[j * ROWS + r];
          ng[j] += (double)gradient[r] * (double)numerics[j * ROWS + r];
        }
        for (uint32_t c = 0; c < TS_CATEGORIES; c++) {
          uint64_t b = ts_mix64((uint64_t)keys[c * ROWS + r]) % BUCKETS;
          expected += w[c][b];
          g[c][b] += (double)gradient[r];
        }
        CHECK_MSG(fabs(expected - (double)out[r]) < 1e-4, "step %u row %u: %f %f", step, r, expected, (double)out[r]);
      }
      for (uint32_t part = 0; part < TS_WIDE_PARTS; part++) ts_wide_update(&wide, part, ROWS, numerics, gradient);
      for (uint32_t k = 0; k < TS_CATEGORIES * BUCKETS + TS_NUMERICS; k++) {
        bool numeric = k >= TS_CATEGORIES * BUCKETS;
        uint32_t c = k / BUCKETS, b = k % BUCKETS, j = k - TS_CATEGORIES * BUCKETS;
        double *pn = numeric ? &nn[j] : &n[c][b], *pz = numeric ? &nz[j] : &z[c][b], *pw = numeric ? &nw[j] : &w[c][b];
        double d = numeric ? ng[j] : g[c][b], l1 = (double)wide.l1, l2 = (double)wide.l2, rate = (double)0.2f;
        *pz += d - (sqrt(*pn + d * d) - sqrt(*pn)) / rate * *pw;
        *pn += d * d;
        *pw = fabs(*pz) <= l1 ? 0 : -(*pz - copysign(l1, *pz)) / (sqrt(*pn) / rate + 2 * l2);
      }
    }
    free(workspace.base);
  }
}

static void auc_counts_pairs(void) {
  for (uint32_t round = 0; round < 20; round++) {
    enum { N = 300 };
    float score[N];
    uint64_t ranked[N], scratch[N], bins[2][8] = {{0}};
    bool positive[N];
    double wins = 0, pairs = 0;
    uint32_t levels = round < 10 ? 8 : 1u << 20; /* many ties, then nearly none */
    for (uint32_t i = 0; i < N; i++) {
      uint64_t word = ts_random64(9, round, i);
      score[i] = ((float)(word % levels) - 3) * (round % 2 ? 1e-3f : 1e3f);
      positive[i] = (word >> 40) % 3 == 0;
      if (levels == 8) bins[positive[i]][word % 8]++;
      ranked[i] = ts_ranked(score[i], positive[i]);
    }
    for (uint32_t i = 0; i < N; i++)
      for (uint32_t j = 0; j < N; j++)
        if (positive[i] && !positive[j]) {
          pairs++;
          wins += score[i] > score[j] ? 1 : score[i] == score[j] ? 0.5 : 0;
        }
    double auc = ts_auc(ranked, scratch, N);
    CHECK_MSG(fabs(auc - wins / pairs) < 1e-12, "%f %f", auc, wins / pairs);
    if (levels == 8) CHECK(fabs(ts_auc_of_bins(bins[1], bins[0], 8) - wins / pairs) < 1e-12);
  }
  uint64_t one[2] = {ts_ranked(1, true), ts_ranked(2, true)}, room[2];
  CHECK(isnan(ts_auc(one, room, 2)));
  CHECK(ts_ranked(-0.0f, false) == ts_ranked(0.0f, false));
}

static void logloss_is_clipped(void) {
  CHECK(fabs(ts_logloss(0, true) - log(2)) < 1e-12);
  CHECK(fabs(ts_logloss(1.5, false) + log(1 - 1 / (1 + exp(-1.5)))) < 1e-12);
  CHECK(fabs(ts_logloss(-1000, true) + log(1e-7)) < 1e-9);
  CHECK(fabs(ts_logloss(1000, true) + log(1 - 1e-7)) < 1e-12);
  CHECK(ts_logloss(-800, false) > 0 && ts_sigmoid(-800) < 1e-300);
}

int main(void) {
  wide_follows_ftrl();
  auc_counts_pairs();
  logloss_is_clipped();
  (void)folder, (void)message;
  return test_result();
}
