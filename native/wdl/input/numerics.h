/* numerics.h - what the model gets for a numeric value. A cache file holds transformed values and says by which choice.
 */
#ifndef TS_INPUT_NUMERICS_H
#define TS_INPUT_NUMERICS_H

#include "base/base.h"

#define TS_NUMERICS 13u /* I1..I13 */

/* TS_NUMERICS_LOG      sign(x) log(1 + |x|) / 2, and 0 where the value is missing. Criteo's numerics are counts with
 * heavy tails; this brings 10 to 1.2, 10,000 to 4.6 and needs no statistics of the file. TS_NUMERICS_MIN_MAX  (x -
 * minimum) / range in fp32, a missing value counting as 0: DeepRec's Wide & Deep reference, with the minima and ranges
 * that its training script states (those of the Kaggle train file). */
enum { TS_NUMERICS_LOG = 0, TS_NUMERICS_MIN_MAX = 1, TS_NUMERICS_KINDS = 2 };

/* The words of the option "numerics", in the order above, ended by NULL. */
extern const char *const ts_numerics_names[TS_NUMERICS_KINDS + 1];

float ts_numeric_transform(uint32_t kind, uint32_t column, double x);

#define TS_TRANSFORM_TABLE 65536u

/* The same for many whole numbers at once. */
typedef struct ts_numerics {
  uint32_t kind;
  float log[TS_TRANSFORM_TABLE]; /* of the small whole numbers */
} ts_numerics;

void ts_numerics_prepare(uint32_t kind, ts_numerics *out);
void ts_numerics_transform(const ts_numerics *numerics, uint32_t column, const int32_t *x, uint32_t n, float *out);

#endif
