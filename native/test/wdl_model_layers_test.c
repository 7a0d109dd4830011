/* The layers between embeddings and MLP against double precision: values by their definitions, gradients by finite
 * differences; and that every kind of CPU gives the same bits is left to their fixed order of sums. */
#include "test/check.h"
#include "wdl/layers/columns.h"
#include "wdl/layers/fm.h"
#include "wdl/layers/interaction.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ROWS 7u
#define COUNT 5u

static float random_value(uint64_t stream, uint64_t i) { return (float)ts_unit(ts_random64(5, stream, i)) * 2 - 1; }

static const uint32_t dims[] = {1, 3, 16, 20, 33};

/* sum over rows of g[r] * y[r], y by its definition. */
static double fm_loss(const double *v, uint32_t dim, const float *g) {
  double loss = 0;
  for (uint32_t r = 0; r < ROWS; r++)
    for (uint32_t j = 0; j < dim; j++) {
      double sum = 0, squares = 0;
      for (uint32_t i = 0; i < COUNT; i++) {
        const double x = v[(r * COUNT + i) * dim + j];
        sum += x;
        squares += x * x;
      }
      loss += (double)g[r] * 0.5 * (sum * sum - squares);
    }
  return loss;
}

static void fm_follows_its_definition(void) {
  for (uint32_t d = 0; d < sizeof dims / sizeof *dims; d++) {
    const uint32_t dim = dims[d], at = 3, stride = at + COUNT * dim + 2;
    ts_fm fm = {.count = COUNT, .dim = dim, .at = at, .stride = stride};
    float *v = calloc(ROWS * stride, sizeof *v), *dv = calloc(ROWS * stride, sizeof *dv);
    float *sums = calloc(ROWS * dim, sizeof *sums), g[ROWS], logit[ROWS];
    double *plain = calloc(ROWS * COUNT * dim, sizeof *plain);
    for (uint32_t r = 0; r < ROWS; r++) {
      g[r] = random_value(1, r);
      logit[r] = 0.25f;
      for (uint32_t i = 0; i < COUNT * dim; i++)
        plain[r * COUNT * dim + i] = (double)(v[r * stride + at + i] = random_value(2, r * 1000 + i));
    }
    for (uint32_t i = 0; i < ROWS * stride; i++) dv[i] = 0.5f; /* gradients are added */
    ts_fm_forward(&fm, 0, 3, v, sums, logit);
    ts_fm_forward(&fm, 3, ROWS - 3, v, sums, logit);
    ts_fm_backward(&fm, 0, ROWS, v, sums, g, dv);
    double loss = 0;
    for (uint32_t r = 0; r < ROWS; r++) loss += (double)g[r] * ((double)logit[r] - 0.25);
    CHECK_MSG(fabs(loss - fm_loss(plain, dim, g)) < 1e-5 * dim, "dim %u: %g, expected %g", dim, loss,
              fm_loss(plain, dim, g));
    for (uint32_t r = 0; r < ROWS; r++)
      for (uint32_t i = 0; i < COUNT * dim; i++) {
        double *x = &plain[r * COUNT * dim + i], old = *x;
        *x = old + 1e-4;
        double slope = fm_loss(plain, dim, g);
        *x = old - 1e-4;
        slope = (slope - fm_loss(plain, dim, g)) / 2e-4;
        *x = old;
        const double found = (double)dv[r * stride + at + i] - 0.5;
        CHECK_MSG(fabs(found - slope) < 2e-6 * COUNT, "dim %u row %u value %u: %g, slope %g", dim, r, i, found, slope);
      }
    for (uint32_t r = 0; r < ROWS; r++)
      for (uint32_t i = 0; i < stride; i++)
        CHECK((i >= at && i < at + COUNT * dim) || dv[r * stride + i] == 0.5f); /* what lies between is left alone */
    free(v), free(dv), free(sums), free(plain);
  }
}

static double cross_loss(const double *v, uint32_t dim, const float *g, uint32_t width) {
  double loss = 0;
  for (uint32_t r = 0; r < ROWS; r++) {
    const double *row = v + (size_t)r * COUNT * dim;
    const float *to = g + (size_t)r * width;
    for (uint32_t j = 0; j < dim; j++) loss += (double)*to++ * row[j];
    for (uint32_t i = 1; i < COUNT; i++)
      for (uint32_t k = 0; k < i; k++) {
        double dot = 0;
        for (uint32_t j = 0; j < dim; j++) dot += row[i * dim + j] * row[k * dim + j];
        loss += (double)*to++ * dot;
      }
  }
  return loss;
}

static void interaction_follows_its_definition(void) {
  for (uint32_t d = 0; d < sizeof dims / sizeof *dims; d++) {
    const uint32_t dim = dims[d], stride = COUNT * dim + 1, width = ts_interaction_width(COUNT, dim), out = width + 4;
    CHECK(width == dim + 10);
    ts_interaction x = {.count = COUNT, .dim = dim, .stride = stride, .out_stride = out};
    float *v = calloc(ROWS * stride, sizeof *v), *dv = calloc(ROWS * stride, sizeof *dv);
    float *y = malloc(ROWS * out * sizeof *y), *dy = calloc(ROWS * out, sizeof *dy),
          *g = calloc(ROWS * width, sizeof *g);
    double *plain = calloc(ROWS * COUNT * dim, sizeof *plain);
    for (uint32_t i = 0; i < ROWS * out; i++) y[i] = 12345.0f;
    for (uint32_t r = 0; r < ROWS; r++) {
      for (uint32_t i = 0; i < COUNT * dim; i++)
        plain[r * COUNT * dim + i] = (double)(v[r * stride + i] = random_value(3, r * 1000 + i));
      for (uint32_t i = 0; i < width; i++) dy[r * out + i] = g[r * width + i] = random_value(4, r * 1000 + i);
    }
    ts_interaction_forward(&x, 0, 2, v, y);
    ts_interaction_forward(&x, 2, ROWS - 2, v, y);
    ts_interaction_backward(&x, 0, ROWS, v, dy, dv);
    double loss = 0;
    for (uint32_t r = 0; r < ROWS; r++) {
      for (uint32_t i = 0; i < width; i++) loss += (double)g[r * width + i] * (double)y[r * out + i];
      for (uint32_t i = width; i < out; i++) CHECK(y[r * out + i] == 0);
    }
    const double expected = cross_loss(plain, dim, g, width);
    CHECK_MSG(fabs(loss - expected) < 1e-5 * dim, "dim %u: %g, expected %g", dim, loss, expected);
    for (uint32_t r = 0; r < ROWS; r++)
      for (uint32_t i = 0; i < COUNT * dim; i++) {
        double *at = &plain[r * COUNT * dim + i], old = *at;
        *at = old + 1e-4;
        double slope = cross_loss(plain, dim, g, width);
        *at = old - 1e-4;
        slope = (slope - cross_loss(plain, dim, g, width)) / 2e-4;
        *at = old;
        const double found = (double)dv[r * stride + i];
        CHECK_MSG(fabs(found - slope) < 1e-5, "dim %u row %u value %u: %g, slope %g", dim, r, i, found, slope);
      }
    free(v), free(dv), free(y), free(dy), free(g), free(plain);
  }
}

static void columns_come_and_go(void) {
  enum { BATCH = 9 };
  uint32_t widths[TS_CATEGORIES], all = 0;
  for (uint32_t c = 0; c < TS_CATEGORIES; c++) all += widths[c] = 1 + c % 5;
  ts_columns columns;
  ts_columns_lay_out(&columns, BATCH, TS_CATEGORIES, widths, 2);
  columns.stride = all + 20;
  CHECK(columns.all == all && columns.at[0] == 2 && columns.at[25] == 2 + all - widths[25]);
  float *blocks = calloc(BATCH * all, sizeof *blocks), *back = calloc(BATCH * all, sizeof *back);
  float *x = calloc(BATCH * columns.stride, sizeof *x), numerics[TS_NUMERICS * BATCH];
  for (uint32_t i = 0; i < BATCH * all; i++) blocks[i] = (float)i;
  for (uint32_t i = 0; i < BATCH * columns.stride; i++) x[i] = -1;
  for (uint32_t i = 0; i < TS_NUMERICS * BATCH; i++) numerics[i] = (float)i + 0.5f;
  ts_columns_gather(&columns, 0, 4, blocks, x);
  ts_columns_gather(&columns, 4, BATCH - 4, blocks, x);
  ts_columns_join_numerics(BATCH, 0, BATCH, numerics, x + 2 + all, columns.stride, columns.stride - all - 2);
  for (uint32_t r = 0; r < BATCH; r++) {
    const float *row = x + (size_t)r * columns.stride;
    CHECK(row[0] == -1 && row[1] == -1);
    for (uint32_t c = 0; c < TS_CATEGORIES; c++)
      for (uint32_t j = 0; j < widths[c]; j++)
        CHECK(row[columns.at[c] + j] == blocks[columns.before[c] + r * widths[c] + j]);
    for (uint32_t j = 0; j < 18; j++) CHECK(row[2 + all + j] == (j < TS_NUMERICS ? numerics[j * BATCH + r] : 0));
  }
  ts_columns_scatter(&columns, 0, BATCH, x, back);
  CHECK(memcmp(back, blocks, BATCH * all * sizeof *back) == 0);
  free(blocks), free(back), free(x);
}

int main(void) {
  fm_follows_its_definition();
  interaction_follows_its_definition();
  columns_come_and_go();
  return test_result();
}
