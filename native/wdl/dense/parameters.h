/* parameters.h - dense weights with their optimizer state, trained by the rules of the store's tables.
 *
 * Each row of a weight matrix is a row as tables have it: FP32 weights, then the rule's slots and scalars
 * (optimizers/row_layout.h). So the formulas are those of optimizers/, and whoever needs the matrix as one piece
 * (oneDNN) has a packed copy of it anyway. */
#ifndef TS_WDL_DENSE_PARAMETERS_H
#define TS_WDL_DENSE_PARAMETERS_H

#include "optimizers/optimizer.h"
#include "wdl/common/workspace.h"

typedef struct ts_parameters {
  ts_optimizer optimizer; /* rule and layout; steps are counted by whoever begins them */
  uint32_t rows, width, stride; /* stride: floats from row to row */
  float *value;
  float *gradient; /* rows x width, dense */
} ts_parameters;

/* width is a multiple of 16. */
void ts_parameters_prepare(ts_parameters *p, const ts_optimizer *rule, uint32_t rows, uint32_t width);
/* See workspace.h: values live as long as the model, gradients as long as a step. */
void ts_parameters_plan_values(ts_parameters *p, ts_workspace *space);
void ts_parameters_plan_gradient(ts_parameters *p, ts_workspace *space);
/* All weights 0, slots at the rule's first values. */
void ts_parameters_start(ts_parameters *p);
/* One step of rows [first, first + count) with their gradients. */
void ts_parameters_step(const ts_parameters *p, const ts_optimizer_call *call, uint32_t first, uint32_t count);
uint64_t ts_parameters_digest(const ts_parameters *p, uint64_t h);

static inline float *ts_parameters_row(const ts_parameters *p, uint32_t row) {
  return p->value + (size_t)row * p->stride;
}

#endif
