/* bf16 weights: how they are rounded, what rounding depends on, and that training with them follows fp32. */
#include "test/levels.h"
#include "test/optimizer_table.h"

/* Gradient descent from 1 by -1/1024, an eighth of the distance to the next bf16: every eighth weight must go up. */
static void rounding_keeps_the_mean(void) {
  enum { ROWS = 4096, DIM = 64 };
  table t;
  make(&t, "optimizer sgd learning_rate 1", TS_BF16, DIM, ROWS, false, ts_cpu_level(), 1);
  float *g = malloc(sizeof(float) * ROWS * DIM);
  for (uint32_t i = 0; i < ROWS * DIM; i++) g[i] = -0x1.0p-10f;
  step(&t, 1, g);
  const double p = 0.125;
  uint32_t total = 0, columns[DIM] = {0}, pairs = 0, neighbours = 0;
  bool previous[DIM] = {0};
  for (uint32_t i = 0; i < ROWS; i++) {
    float w[DIM];
    uint32_t ups = 0;
    ts_row_read(layout_of(&t), row_of(&t, i), 0, w);
    for (uint32_t j = 0; j < DIM; j++) {
      bool up = w[j] == 1.0f + 0x1.0p-7f;
      CHECK(up || w[j] == 1.0f);
      ups += up;
      columns[j] += up;
      pairs += up && j > 0 && w[j - 1] != 1.0f; /* elements beside each other ... */
      neighbours += up && previous[j];          /* ... and in one column are independent */
      previous[j] = up;
    }
    CHECK_MSG(ups < 30, "row %u: %u", i, ups); /* 8 expected, deviation 2.6: beyond eight deviations */
    total += ups;
  }
  const double n = (double)ROWS * DIM;
  CHECK_MSG(fabs(total - n * p) < 5 * sqrt(n * p * (1 - p)), "%u went up", total);
  for (uint32_t j = 0; j < DIM; j++)
    CHECK_MSG(fabs(columns[j] - ROWS * p) < 5 * sqrt(ROWS * p * (1 - p)), "column %u: %u", j, columns[j]);
  const double expected_pairs = (double)ROWS * (DIM - 1) * p * p;
  const double expected_neighbours = (double)(ROWS - 1) * DIM * p * p;
  CHECK_MSG(fabs(pairs - expected_pairs) < 5 * sqrt(expected_pairs * 1.3), "%u, expected %g", pairs, expected_pairs);
  CHECK_MSG(fabs(neighbours - expected_neighbours) < 5 * sqrt(expected_neighbours * 1.3), "%u, expected %g", neighbours,
            expected_neighbours);

  /* Many small steps arrive: to the nearest, every one of them would be lost. */
  for (uint32_t s = 2; s <= 256; s++) step(&t, s, g);
  double sum = 0;
  for (uint32_t i = 0; i < ROWS; i += 16) sum += (double)weight_of(&t, i, i % DIM);
  double mean = sum / (ROWS / 16.0); /* 256 steps of deviation 2^-7 sqrt(p (1 - p)), over 256 rows */
  CHECK_MSG(fabs(mean - 1.25) < 6 * 0x1.0p-7 * sqrt(p * (1 - p)), "mean %g", mean);
  free(g);
  drop(&t);
}

/* The share that goes up is the value's place between its neighbours, over the whole range and for both signs. */
static void rounding_is_proportional(void) {
  static const double places[] = {1.0 / 512, 1.0 / 100, 0.1, 0.25, 0.5, 0.7, 0.9, 1 - 1.0 / 512};
  for (uint32_t place = 0; place < sizeof places / sizeof *places; place++)
    for (int sign = -1; sign <= 1; sign += 2) {
      enum { ROWS = 4000, DIM = 16 };
      table t;
      make(&t, "optimizer sgd learning_rate 1", TS_BF16, DIM, ROWS, false, ts_cpu_level(), (float)sign * 3.0f);
      float *g = malloc(sizeof(float) * ROWS * DIM);
      for (uint32_t i = 0; i < ROWS * DIM; i++) g[i] = (float)(-sign * places[place] * 0x1.0p-6);
      step(&t, place, g);
      double sum = 0, p = places[place], n = ROWS * DIM;
      for (uint32_t i = 0; i < ROWS; i++) {
        float w[DIM];
        ts_row_read(layout_of(&t), row_of(&t, i), 0, w);
        for (uint32_t j = 0; j < DIM; j++) sum += fabs((double)w[j]) > 3.0;
      }
      CHECK_MSG(fabs(sum - n * p) < 5 * sqrt(n * p * (1 - p)), "%g, sign %d: %g of %g", p, sign, sum, n);
      free(g);
      drop(&t);
    }
}

static void rounding_depends_on_seed_key_moment_element_and_value_only(void) {
  enum { DIM = 256 };
  float g[DIM];
  for (uint32_t j = 0; j < DIM; j++) g[j] = -0x1.0p-8f; /* half way */
  uint16_t first[DIM], other[DIM];
  for (int difference = 0; difference < 4; difference++) {
    for (int run = 0; run < 2; run++) {
      table t;
      make(&t, "optimizer sgd learning_rate 1", TS_BF16, DIM, 1, false, run == 0 ? 0 : ts_cpu_level(), 1);
      if (run == 1 && difference == 1) t.optimizer.seed = 6;
      if (run == 1 && difference == 2) t.keys[0] ^= INT64_MIN;
      ts_optimizer_call skipped;
      if (run == 1 && difference == 3) ts_optimizer_begin(&t.optimizer, 0, &skipped);
      step(&t, 1, g);
      memcpy(run == 0 ? first : other, row_of(&t, 0), sizeof first);
      drop(&t);
    }
    uint32_t different = 0;
    for (uint32_t j = 0; j < DIM; j++) different += first[j] != other[j];
    CHECK_MSG(difference == 0 ? different == 0 : different > 88 && different < 168, "%d: %u", difference, different);
  }
  for (uint32_t distance = 1; distance <= DIM / 2; distance *= 2) { /* no part of a row repeats another */
    uint32_t different = 0;
    for (uint32_t j = 0; j < DIM / 2; j++) different += first[j] != first[j + distance];
    CHECK_MSG(different > 32 && different < 96, "at a distance of %u: %u", distance, different);
  }
}

static void what_is_not_a_number_stays_so(void) {
  static const uint32_t bits[] = {0x7f800001u, 0x7fc00000u, 0x7fffffffu, 0xffffffffu, 0xff80ffffu};
  for (uint32_t level = 0; level <= ts_cpu_level(); level++)
    for (uint32_t i = 0; i < sizeof bits / sizeof *bits; i++) {
      enum { DIM = 64 };
      table t;
      make(&t, "optimizer sgd learning_rate 1", TS_BF16, DIM, 1, false, level, 1);
      float g[DIM], w[DIM];
      for (uint32_t j = 0; j < DIM; j++) memcpy(&g[j], &bits[i], sizeof g[j]);
      step(&t, 1, g);
      ts_row_read(layout_of(&t), row_of(&t, 0), 0, w);
      uint32_t wrong = 0;
      for (uint32_t j = 0; j < DIM; j++) wrong += !isnan(w[j]);
      CHECK_MSG(wrong == 0, "level %u, %x: %u", level, bits[i], wrong);
      drop(&t);
    }
}

static void exact_values_stay(void) {
  enum { DIM = 65536 };
  table t;
  make(&t, "optimizer sgd learning_rate 1", TS_BF16, DIM, 1, false, ts_cpu_level(), 0);
  uint16_t *row = row_of(&t, 0), *before = malloc(DIM * sizeof *before);
  float *g = calloc(DIM, sizeof *g);
  for (uint32_t level = 0; level <= ts_cpu_level(); level++) {
    ts_optimizer_prepare(&t.optimizer, TS_BF16, DIM, false, false, 5, level);
    for (uint32_t j = 0; j < DIM; j++) row[j] = (uint16_t)j; /* every bf16 there is */
    memcpy(before, row, DIM * sizeof *row);
    step(&t, 1, g);
    uint32_t wrong = 0;
    for (uint32_t j = 0; j < DIM; j++) {
      bool nan = (j & 0x7fff) > 0x7f80;
      wrong += nan ? (row[j] & 0x7fff) <= 0x7f80 : row[j] != before[j];
    }
    CHECK_MSG(wrong == 0, "level %u: %u values changed", level, wrong);
  }
  free(g);
  free(before);
  drop(&t);
}

static void bf16_follows_fp32(void) {
  for (uint32_t c = 0; c < CONFIGURATIONS; c++) {
    if (parameter(configurations[c], "l1", 0) > 0) continue; /* small weights jump to 0 there */
    enum { DIM = 111, STEPS = 20 };
    table wide, narrow;
    make(&wide, configurations[c], TS_FP32, DIM, 1, false, ts_cpu_level(), 0.5f);
    make(&narrow, configurations[c], TS_BF16, DIM, 1, false, ts_cpu_level(), 0.5f);
    float g[DIM], w[DIM], n[DIM];
    for (uint32_t s = 1; s <= STEPS; s++) {
      for (uint32_t j = 0; j < DIM; j++) g[j] = random_weight(s, j);
      step(&wide, s, g);
      step(&narrow, s, g);
    }
    ts_row_read(layout_of(&wide), row_of(&wide, 0), 0, w);
    ts_row_read(layout_of(&narrow), row_of(&narrow, 0), 0, n);
    double difference = 0;
    for (uint32_t j = 0; j < DIM; j++) difference += fabs((double)(w[j] - n[j])) / DIM;
    /* A step's rounding is off by at most 2^-8 of a weight below 8; twenty of them wander less than this on average. */
    CHECK_MSG(difference < 0.05, "%s: %g", configurations[c], difference);
    drop(&wide);
    drop(&narrow);
  }
}

static void bf16_rounds_to_the_nearest_even(void) {
  CHECK(ts_bf16_nearest(1.0f) == 0x3f80 && ts_bf16_nearest(-2.0f) == 0xc000 && ts_bf16_nearest(0x1.0p-133f) == 0x0001);
  CHECK(ts_bf16_nearest(1.0f + 0x1.0p-8f) == 0x3f80 && ts_bf16_nearest(1.0f + 0x1.8p-7f) == 0x3f82);
  CHECK(ts_bf16_nearest(1.0f + 0x1.2p-8f) == 0x3f81 && ts_bf16_nearest(HUGE_VALF) == 0x7f80);
  CHECK(ts_bf16_nearest(3.4028235e38f) == 0x7f80 && isnan(ts_bf16_widen(ts_bf16_nearest(NAN))));
}

int main(void) {
  skip_missing_levels("optimizer_bf16_test");
  rounding_keeps_the_mean();
  rounding_is_proportional();
  rounding_depends_on_seed_key_moment_element_and_value_only();
  what_is_not_a_number_stays_so();
  exact_values_stay();
  bf16_follows_fp32();
  bf16_rounds_to_the_nearest_even();
  return test_result();
}
