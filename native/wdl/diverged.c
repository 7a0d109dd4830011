/* diverged.c - whether training left the finite numbers. NaN compares false with everything: ranked and clipped like a
 * score it would look like a poor one (AUC 0.5, logloss 16.118), so outputs are looked at before anything uses them. */
#include "wdl/trainer.h"

#include <math.h>

int32_t ts_trainer_check_outputs(const ts_trainer *t, const char *action, ts_err err) {
  uint32_t bad = 0;
  for (uint32_t r = 0; r < t->rows; r++) bad += !isfinite(t->model.logit[r]);
  if (bad == 0) return TS_OK;
  const ts_trainer_options *o = &t->options;
  return ts_fail(err, TS_EDIVERGED,
                 "Cannot %s: training diverged; after %llu steps the model's output is not a finite number for %u of %u "
                 "samples of a batch; lower the learning rates (deep %g, embedding %g, wide %g)",
                 action, (unsigned long long)t->step, bad, t->rows, o->deep.learning_rate, o->embedding.learning_rate,
                 o->wide_learning_rate);
}
