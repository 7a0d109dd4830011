/* fm.h - the second-order part of a factorization machine (Rendle 2010, as in DeepFM, Guo et al. 2017):
 *   y = 1/2 sum over j of ((sum over i of v_ij)^2 - sum over i of v_ij^2)
 * for vectors v_0 .. v_(count-1) of equal width that stand side by side in a row. d y / d v_i = (sum of v) - v_i. */
#ifndef TS_WDL_FM_H
#define TS_WDL_FM_H

#include "base/base.h"

typedef struct ts_fm {
  uint32_t count, dim;
  uint32_t at;     /* position of the first vector in a row */
  uint32_t stride; /* floats from row to row */
} ts_fm;

/* logit[r] += y of row r, for rows [first, first + rows); sums is [rows of the batch][dim] and is kept for the way
 * back. */
void ts_fm_forward(const ts_fm *fm, uint32_t first, uint32_t rows, const float *v, float *sums, float *logit);
/* dv += gradient[r] * d y / d v; dv has the shape of v. */
void ts_fm_backward(const ts_fm *fm, uint32_t first, uint32_t rows, const float *v, const float *sums,
                    const float *gradient, float *dv);

#endif
