/* Row copies, bags, bag gradients and sums of gradients against plain loops, at every level, whole and in pieces. */
#include "test/levels.h"
#include "kernels/gather.h"
#include "test/check.h"

#include <math.h>
#include <stdlib.h>

#define ROWS 64u
static const uint32_t dims[] = {1, 3, 4, 8, 16, 17, 30, 32, 64, 111, 128, 130};
#define DIMS (sizeof dims / sizeof *dims)

/* Rows of a table with a slot and a version, so that rows lie at 4-byte boundaries. */
typedef struct rows {
  ts_row_layout layout;
  unsigned char *memory;
  float *weights; /* [ROWS][dim] */
} rows;

static float value(uint64_t stream, uint64_t i) { return (float)(2 * ts_unit(ts_random64(3, stream, i)) - 1); }

static rows make(ts_row_type type, uint32_t dim) {
  rows r = {.layout = ts_row_layout_make(type, dim, 2, 0, true, true)};
  r.memory = calloc(ROWS, r.layout.stride);
  r.weights = calloc((size_t)ROWS * dim, sizeof(float));
  for (uint32_t i = 0; i < ROWS; i++) {
    unsigned char *row = r.memory + (size_t)i * r.layout.stride;
    for (uint32_t j = 0; j < dim; j++) r.weights[i * dim + j] = value(i, j);
    ts_row_write(&r.layout, row, 0, r.weights + i * dim);
    ts_row_read(&r.layout, row, 0, r.weights + i * dim); /* what bf16 holds */
  }
  return r;
}

static void drop(rows *r) {
  free(r->memory);
  free(r->weights);
}

static const void *row_at(const rows *r, uint32_t i) { return r->memory + (size_t)i * r->layout.stride; }

static void gathered_rows_are_copies(void) {
  for (ts_row_type type = TS_FP32; type <= TS_BF16; type++)
    for (uint32_t d = 0; d < DIMS; d++)
      for (uint32_t level = 0; level <= ts_cpu_level(); level++) {
        enum { N = 301 };
        const uint32_t dim = dims[d];
        rows r = make(type, dim);
        const void *pointers[N];
        const uint32_t apart = (d + level) % 3 == 0 ? dim : dim + 5; /* close together, and in a wider matrix */
        float *out = malloc(N * apart * sizeof *out);
        uint32_t which[N];
        for (uint32_t i = 0; i < N * apart; i++) out[i] = 12345.0f;
        for (uint32_t i = 0; i < N; i++) {
          which[i] = (uint32_t)(ts_random64(1, level, i) % ROWS);
          pointers[i] = i % 7 == 3 ? NULL : row_at(&r, which[i]);
        }
        /* With nothing to come, or with as many as there are; every other time. */
        ts_gather_rows(level, &r.layout, pointers, N, pointers, (d + level) % 2 == 0 ? N : 0, out, apart);
        uint32_t wrong = 0;
        for (uint32_t i = 0; i < N; i++)
          for (uint32_t j = 0; j < apart; j++)
            wrong += out[i * apart + j] !=
                     (pointers[i] == NULL || j >= dim ? 12345.0f : r.weights[which[i] * dim + j]);
        CHECK_MSG(wrong == 0, "%s, dim %u, level %u: %u wrong", ts_row_type_names[type], dim, level, wrong);
        ts_gather_rows(level, &r.layout, NULL, 0, NULL, 0, NULL, 0);
        free(out);
        drop(&r);
      }
}

static void gradients_sum_in_order(void) {
  for (uint32_t d = 0; d < DIMS; d++)
    for (uint32_t level = 0; level <= ts_cpu_level(); level++) {
      enum { N = 200, SUMS = 20 };
      const uint32_t dim = dims[d];
      float *g = malloc(N * dim * sizeof *g), *sums = calloc(SUMS * dim, sizeof *sums);
      float *expected = calloc(SUMS * dim, sizeof *expected), *targets[N];
      const float *gradients[N];
      for (uint32_t i = 0; i < N; i++) {
        uint32_t to = (uint32_t)(ts_random64(4, 4, i) % SUMS);
        targets[i] = sums + to * dim;
        gradients[i] = g + i * dim;
        for (uint32_t j = 0; j < dim; j++) {
          g[i * dim + j] = value(900 + i, j);
          expected[to * dim + j] += g[i * dim + j];
        }
      }
      ts_gradients_add(level, dim, targets, gradients, N);
      CHECK_MSG(memcmp(sums, expected, SUMS * dim * sizeof *sums) == 0, "dim %u, level %u", dim, level);
      free(g);
      free(sums);
      free(expected);
    }
}

/* ---- bags ---- */

#define BAGS 40u

typedef struct bag_case {
  uint64_t offsets[BAGS + 1];
  uint32_t n;
  const void *pointers[BAGS * 12];
  uint32_t which[BAGS * 12]; /* ROWS: NULL */
  float weights[BAGS * 12];
} bag_case;

/* Ragged: empty bags at both ends, beside each other and in between; bag 5's weights cancel. */
static void fill(bag_case *c, const rows *r, uint64_t seed) {
  c->n = 0;
  for (uint32_t b = 0; b < BAGS; b++) {
    uint32_t length = (uint32_t)(ts_random64(seed, 1, b) % 11);
    if (b < 2 || b == 9 || b == 10 || b >= BAGS - 2) length = 0;
    if (b == 5) length = 4;
    c->offsets[b] = c->n;
    for (uint32_t i = 0; i < length; i++, c->n++) {
      c->which[c->n] = (uint32_t)(ts_random64(seed, 2, c->n) % (ROWS + 3));
      if (c->which[c->n] > ROWS) c->which[c->n] = ROWS;
      c->pointers[c->n] = c->which[c->n] == ROWS ? NULL : row_at(r, c->which[c->n]);
      c->weights[c->n] = b == 5 ? 0.0f : 0.25f + (float)ts_unit(ts_random64(seed, 3, c->n));
    }
  }
  c->offsets[BAGS] = c->n;
}

static double divisor_of(const bag_case *c, uint32_t bag, bool weighted, uint32_t combiner) {
  double sum = 0;
  for (uint64_t i = c->offsets[bag]; i < c->offsets[bag + 1]; i++) {
    double w = weighted ? (double)c->weights[i] : 1;
    sum += combiner == TS_COMBINER_SQRTN ? w * w : w;
  }
  return combiner == TS_COMBINER_SUM ? 1 : combiner == TS_COMBINER_MEAN ? sum : sqrt(sum);
}

/* What ts_table_lookup_bags promises, in doubles. */
static double expected(const bag_case *c, const rows *r, uint32_t bag, uint32_t j, bool weighted, uint32_t combiner,
                       double max_norm) {
  const uint32_t dim = r->layout.dim;
  double sum = 0;
  for (uint64_t i = c->offsets[bag]; i < c->offsets[bag + 1]; i++) {
    if (c->which[i] == ROWS) continue;
    const float *row = r->weights + (size_t)c->which[i] * dim;
    double squares = 0;
    for (uint32_t k = 0; k < dim; k++) squares += (double)row[k] * (double)row[k];
    double scale = max_norm > 0 && sqrt(squares) > max_norm ? max_norm / sqrt(squares) : 1;
    sum += scale * (double)row[j] * (weighted ? (double)c->weights[i] : 1);
  }
  double divisor = divisor_of(c, bag, weighted, combiner);
  return divisor == 0 ? 0 : sum / divisor;
}

static void accumulate(const bag_case *c, const rows *r, uint32_t level, bool weighted, uint32_t combiner,
                       float max_norm, uint64_t pieces, float *out) {
  ts_bags bags;
  ts_bags_begin(&bags, level, r->layout.dim, c->offsets, BAGS, weighted ? c->weights : NULL, combiner);
  ts_bags_clear_empty(&bags, out);
  uint32_t done = 0;
  for (uint64_t p = 0; done < c->n; p++) {
    uint32_t piece = pieces == 0 ? c->n : (uint32_t)(ts_random64(pieces, 0, p) % 8);
    piece = TS_MIN(piece, c->n - done);
    ts_bags_accumulate(&bags, &r->layout, c->pointers + done, piece, max_norm, out);
    done += piece;
  }
  CHECK(bags.bag == BAGS && bags.key == c->n);
}

static void bags_combine_their_rows(void) {
  for (ts_row_type type = TS_FP32; type <= TS_BF16; type++)
    for (uint32_t d = 0; d < DIMS; d++)
      for (uint32_t variant = 0; variant < 3 * 2 * 3; variant++) {
        const uint32_t dim = dims[d], combiner = variant % 3;
        const bool weighted = variant / 3 % 2 == 1;
        /* About half of the rows are longer than sqrt(dim / 3). */
        const float max_norm = variant / 6 == 0 ? 0 : variant / 6 == 1 ? (float)sqrt(dim / 3.0) : 1000;
        rows r = make(type, dim);
        bag_case c;
        fill(&c, &r, variant * 100 + d);
        const size_t bytes = BAGS * dim * sizeof(float);
        float *out[TS_LEVELS + 1];
        for (uint32_t i = 0; i <= TS_LEVELS; i++) {
          out[i] = malloc(bytes);
          for (uint32_t j = 0; j < BAGS * dim; j++) out[i][j] = NAN; /* needs no first value */
        }
        for (uint32_t level = 0; level <= ts_cpu_level(); level++) {
          accumulate(&c, &r, level, weighted, combiner, max_norm, 0, out[level]);
          accumulate(&c, &r, level, weighted, combiner, max_norm, 1 + variant, out[TS_LEVELS]);
          CHECK_MSG(memcmp(out[level], out[0], bytes) == 0, "dim %u, variant %u, level %u", dim, variant, level);
          CHECK_MSG(memcmp(out[TS_LEVELS], out[0], bytes) == 0, "pieces, dim %u, variant %u, level %u", dim, variant,
                    level);
        }
        double worst = 0;
        for (uint32_t b = 0; b < BAGS; b++)
          for (uint32_t j = 0; j < dim; j++) {
            double right = expected(&c, &r, b, j, weighted, combiner, (double)max_norm);
            double error = fabs((double)out[0][b * dim + j] - right);
            worst = isnan(error) || error > worst ? error : worst;
          }
        CHECK_MSG(worst < 2e-6, "%s, dim %u, combiner %u, weights %d, max_norm %g: %g", ts_row_type_names[type], dim,
                  combiner, weighted, (double)max_norm, worst);
        for (uint32_t i = 0; i <= TS_LEVELS; i++) free(out[i]);
        drop(&r);
      }
}

/* One key without weight and norm is the row itself, bit for bit. */
static void a_bag_of_one_is_its_row(void) {
  rows r = make(TS_FP32, 17);
  const uint64_t offsets[] = {0, 1, 1, 2};
  const void *pointers[] = {row_at(&r, 4), row_at(&r, 9)};
  for (uint32_t combiner = 0; combiner < 3; combiner++) {
    float out[3 * 17];
    ts_bags bags;
    ts_bags_begin(&bags, ts_cpu_level(), 17, offsets, 3, NULL, combiner);
    ts_bags_clear_empty(&bags, out);
    ts_bags_accumulate(&bags, &r.layout, pointers, 2, 0, out);
    CHECK(memcmp(out, r.weights + 4 * 17, 17 * sizeof *out) == 0);
    CHECK(memcmp(out + 34, r.weights + 9 * 17, 17 * sizeof *out) == 0);
    CHECK(out[17] == 0 && out[33] == 0);
  }
  drop(&r);
}

static void bags_without_keys_are_zeros(void) {
  const uint64_t offsets[] = {0, 0, 0};
  float out[6] = {1, 1, 1, 1, 1, 1};
  ts_bags bags;
  ts_bags_begin(&bags, 0, 3, offsets, 2, NULL, TS_COMBINER_MEAN);
  ts_bags_clear_empty(&bags, out);
  CHECK(bags.bag == 2 && bags.key == 0);
  for (int j = 0; j < 6; j++) CHECK(out[j] == 0);
  ts_bags_begin(&bags, 0, 3, offsets, 0, NULL, TS_COMBINER_SUM);
  CHECK(bags.bag == 0);
}

/* The gradient of a key is the derivative of its bag by its row. */
static void gradients_spread_over_the_keys(void) {
  for (uint32_t d = 0; d < DIMS; d++)
    for (uint32_t variant = 0; variant < 6; variant++) {
      const uint32_t dim = dims[d], combiner = variant % 3;
      const bool weighted = variant >= 3;
      rows r = make(TS_FP32, dim);
      bag_case c;
      fill(&c, &r, variant + 10 * d);
      float *g = malloc(BAGS * dim * sizeof *g), *out[TS_LEVELS + 1];
      for (uint32_t i = 0; i < BAGS * dim; i++) g[i] = value(5000, i);
      for (uint32_t i = 0; i <= TS_LEVELS; i++) out[i] = malloc((size_t)c.n * dim * sizeof(float));
      for (uint32_t level = 0; level <= ts_cpu_level(); level++)
        for (uint32_t pieces = 0; pieces < 2; pieces++) {
          float *to = pieces == 0 ? out[level] : out[TS_LEVELS];
          ts_bags bags;
          ts_bags_begin(&bags, level, dim, c.offsets, BAGS, weighted ? c.weights : NULL, combiner);
          for (uint32_t done = 0, piece; done < c.n; done += piece) {
            piece = TS_MIN(pieces == 0 ? c.n : 5, c.n - done);
            ts_bags_spread(&bags, g, piece, to + (size_t)done * dim);
          }
          CHECK_MSG(memcmp(to, out[0], (size_t)c.n * dim * sizeof(float)) == 0,
                    "dim %u, variant %u, level %u, pieces %u", dim, variant, level, pieces);
        }
      double worst = 0;
      for (uint32_t b = 0; b < BAGS; b++)
        for (uint64_t i = c.offsets[b]; i < c.offsets[b + 1]; i++)
          for (uint32_t j = 0; j < dim; j++) {
            double divisor = divisor_of(&c, b, weighted, combiner);
            double factor = divisor == 0 ? 0 : (weighted ? (double)c.weights[i] : 1) / divisor;
            double error = fabs((double)out[0][i * dim + j] - factor * (double)g[b * dim + j]);
            worst = isnan(error) || error > worst ? error : worst;
          }
      CHECK_MSG(worst < 1e-6, "dim %u, variant %u: %g", dim, variant, worst);
      for (uint32_t i = 0; i <= TS_LEVELS; i++) free(out[i]);
      free(g);
      drop(&r);
    }
}

int main(void) {
  skip_missing_levels("gather_test");
  gathered_rows_are_copies();
  gradients_sum_in_order();
  bags_combine_their_rows();
  a_bag_of_one_is_its_row();
  bags_without_keys_are_zeros();
  gradients_spread_over_the_keys();
  return test_result();
}
