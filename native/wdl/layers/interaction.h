/* interaction.h - DLRM's dot interaction (Naumov et al. 2019): of vectors v_0 .. v_(count-1) of equal width, v_0 itself
 * and the dot products of all pairs, the lower triangle row by row without the diagonal: (1,0), (2,0), (2,1), (3,0) ...
 */
#ifndef TS_WDL_INTERACTION_H
#define TS_WDL_INTERACTION_H

#include "base/base.h"

typedef struct ts_interaction {
  uint32_t count, dim;
  uint32_t stride;     /* floats from row to row of the vectors, which stand side by side from position 0 */
  uint32_t out_stride; /* of the result; what is beyond its width is set to zero */
} ts_interaction;

static inline uint32_t ts_interaction_width(uint32_t count, uint32_t dim) { return dim + count * (count - 1) / 2; }

/* Rows [first, first + rows) of v -> out. */
void ts_interaction_forward(const ts_interaction *x, uint32_t first, uint32_t rows, const float *v, float *out);
/* dout -> dv, which has the shape of v. */
void ts_interaction_backward(const ts_interaction *x, uint32_t first, uint32_t rows, const float *v, const float *dout,
                             float *dv);

#endif
