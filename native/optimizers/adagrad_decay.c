/* adagrad_decay.c - DeepRec's AdagradDecay and AdagradDecayV2: Adagrad whose sum of squares decays, so that old
 * gradients do not stop learning for ever. Slot 1 is a; scalar 0 is p, the number of decays the row has had.
 *   if floor(global_step / decay_step) > p: a <- max(a decay_rate, decay_baseline), p <- p + 1
 *   a <- a + g^2; w <- w - lr g / sqrt(a)
 * A row decays at most once a step, however many periods have passed since it was last seen, and then once at each of
 * its next steps until it has caught up. On embedding rows V1 and V2 of DeepRec have this one rule, slots and defaults;
 * both names are kept. p is one number a row here, not an array. */
#include "optimizers/kernel.h"

/* `decay_rate` and `decay_baseline` are 1 and minus infinity for a row that does not decay now. */
TS_INLINE void step(const ts_rule_values v, float *restrict w, float *restrict a, float *restrict b,
                    const float *restrict g, uint32_t n) {
  (void)b;
  for (uint32_t j = 0; j < n; j++) {
    float decayed = a[j] * v.decay_rate;
    decayed = decayed > v.decay_baseline ? decayed : v.decay_baseline;
    a[j] = decayed + g[j] * g[j];
    w[j] -= v.rate * g[j] / __builtin_sqrtf(a[j]);
  }
}

TS_INLINE void decay_row(const ts_optimizer *o, const ts_rule_values v, const ts_row_parts p) {
  ts_rule_values values = v;
  uint32_t decays = ts_row_scalar(&o->layout, p.row, 0);
  if (v.periods > decays) {
    ts_row_set_scalar(&o->layout, p.row, 0, decays + 1);
  } else {
    values.decay_rate = 1.0f;
    values.decay_baseline = -__builtin_inff();
  }
  TS_ROW_RUN(step, values, p);
}

TS_KERNELS(ts_adagrad_decay, decay_row, 2, 1)
