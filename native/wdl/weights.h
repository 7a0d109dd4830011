/* weights.h - the weights of a model, without optimizer state, as one piece of floats: what goes from who steps them to who
 * computes with them. Rows as they lie in memory, padding included: those of the top and the bottom, then of the wide part. */
#ifndef TS_WDL_WEIGHTS_H
#define TS_WDL_WEIGHTS_H

#include "wdl/network.h"

uint64_t ts_model_weights(const ts_model *model); /* how many floats */
void ts_model_copy_weights(const ts_model *model, float *out);
/* Those of a model of the same shape become this one's. No call works on it meanwhile. */
void ts_model_take_weights(ts_model *model, const float *in);

#endif
