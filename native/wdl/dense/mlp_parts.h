/* mlp_parts.h - what the files of the MLP share among themselves. */
#ifndef TS_WDL_DENSE_MLP_PARTS_H
#define TS_WDL_DENSE_MLP_PARTS_H

#include "wdl/dense/mlp.h"
#include "wdl/dense/vector.h"

/* Rows of a weight matrix whose gradient is one product: their gradient, weights and optimizer state fit a second-level
 * cache, there are enough of them to spread, and it is what oneDNN's blocks of packed columns hold. */
#define TS_UPDATE_ROWS 64u

static inline uint32_t ts_mlp_layer_parts(const ts_mlp_layer *layer) {
  return (layer->width + TS_UPDATE_ROWS - 1) / TS_UPDATE_ROWS;
}
static inline uint64_t ts_mlp_delta_bytes(const ts_mlp_layer *layer) {
  return TS_ROUND_UP(ts_packed_bytes(ts_product_layout(layer->gradient[0][0])), 64);
}
static inline void *ts_mlp_delta_of(const ts_mlp_layer *layer, uint32_t piece) {
  return (char *)layer->delta + piece * ts_mlp_delta_bytes(layer);
}
/* Kept units are scaled up so that sums keep their mean; 1 without dropout. */
static inline float ts_mlp_dropout_scale(const ts_mlp *mlp) { return (float)(1.0 / (1.0 - mlp->options.dropout)); }

/* Shards that may run at a time. */
static inline uint32_t ts_mlp_chains(const ts_mlp *mlp) {
  return mlp->options.apart > 0 ? mlp->options.pieces * mlp->options.shards : mlp->options.shards;
}

/* Bytes of an element of blocks, transposed inputs and packed matrices. */
static inline size_t ts_mlp_element(const ts_mlp *mlp) { return mlp->options.bf16 ? 2 : 4; }

/* The layer of a part that is no vector's, which becomes the number of its block of rows; NULL for the last part. And that block's
 * rows. */
const ts_mlp_layer *ts_mlp_layer_of(const ts_mlp *mlp, uint32_t *part);
uint32_t ts_mlp_part_rows(const ts_mlp_layer *layer, uint32_t part);

/* mlp_apart.c: memory of gradients kept apart, where the parameters' gradients lie then. */
void ts_mlp_plan_apart(ts_mlp *mlp, ts_workspace *space);

#endif
