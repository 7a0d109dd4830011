/* wide.h - the wide part: a linear model on the numerics and on hashed ids, trained by per-coordinate FTRL.
 *
 * Weights are the trainer's own and lie in DRAM on every configuration: DeepRec keeps its 10,000 buckets a column as
 * ordinary variables too (modelzoo/wide_and_deep). Bucket = ts_mix64(key) mod buckets; collisions share a weight.
 *
 * FTRL-proximal with learning rate power -1/2 (McMahan et al., KDD 2013, in TensorFlow's form):
 *   n' = n + g^2;  z += g - (sqrt(n') - sqrt(n)) / rate * w
 *   w  = 0 where |z| <= l1, else (sign(z) l1 - z) / (sqrt(n') / rate + 2 l2)
 * Gradients of equal buckets are summed in the order of the rows first. */
#ifndef TS_WDL_WIDE_H
#define TS_WDL_WIDE_H

#include "wdl/common/workspace.h"
#include "wdl/input/cache_format.h"

typedef struct ts_wide_weight {
  float w, n, z;
  float gradient; /* of the current step */
} ts_wide_weight;

typedef struct ts_wide {
  uint32_t batch, buckets;
  float learning_rate, l1, l2;
  ts_wide_weight numeric[TS_NUMERICS];
  ts_wide_weight *column[TS_CATEGORIES]; /* buckets each */
  uint32_t *bucket;                      /* TS_CATEGORIES x batch: of the current batch */
  uint32_t *touched;                     /* TS_CATEGORIES x batch: distinct buckets of the current step */
  uint8_t *marked;                       /* TS_CATEGORIES x buckets: in the list of touched */
} ts_wide;

/* Plans the memory (workspace.h): what lives as long as the model, and what a step needs. */
void ts_wide_plan_parameters(ts_wide *wide, ts_workspace *space, uint32_t batch, uint32_t buckets);
void ts_wide_plan_step(ts_wide *wide, ts_workspace *space);
void ts_wide_initialise(ts_wide *wide, float initial_accumulator);

/* Adds the wide logits of rows [first, first + rows) to logit. numerics is [13][batch], keys is [26][batch]. Keeps the
 * buckets for the update. */
void ts_wide_forward(const ts_wide *wide, uint32_t first, uint32_t rows, const float *numerics, const int64_t *keys,
                     float *logit);

/* The buckets of a column's rows [first, first + rows) alone, of samples whose forward is not computed here. */
void ts_wide_find(const ts_wide *wide, uint32_t column, uint32_t first, uint32_t rows, const int64_t *keys);

/* One FTRL step of one column (part 0..25) or of the numerics (part 26): independent parts. */
#define TS_WIDE_PARTS (TS_CATEGORIES + 1u)
void ts_wide_update(ts_wide *wide, uint32_t part, uint32_t batch, const float *numerics, const float *loss_gradient);

/* 64-bit digest of weights and optimizer state. */
uint64_t ts_wide_digest(const ts_wide *wide, uint64_t h);

#endif
