/* product.h - one matrix product C[m x n] = A[m x k] B[k x n], made once and run many times by many threads.
 *
 * A and C are row-major, A is dense, and C too unless a stride is given. B lies in the layout that oneDNN multiplies fastest from; whoever writes B writes
 * it so (packed.h), once, and all products with it share it. Bias, ReLU and dropout may be part of the product, as may
 * the conversion of its result to BF16. Sums are FP32. A product runs on the calling thread alone.
 *
 * Every slot has a stream and memory objects of its own: two calls at a time need two slots. */
#ifndef TS_WDL_DENSE_PRODUCT_H
#define TS_WDL_DENSE_PRODUCT_H

#include "wdl/dense/dnnl.h"
#include "wdl/dense/packed.h"

typedef struct ts_product_shape {
  uint32_t m, k, n;
  uint32_t c_stride;   /* elements from row to row of C; 0: n */
  bool bf16;           /* A and B */
  bool bf16_out;       /* C */
  bool bias, relu;     /* C = max(0, A B + bias) */
  float dropout_scale; /* after that: kept elements times this, the others 0; 0: no dropout */
  bool accumulate;     /* C += A B */
  bool sgemm;          /* dnnl_sgemm instead of a primitive: FP32 and nothing fused */
} ts_product_shape;

typedef struct ts_product ts_product;

/* `like` is NULL, or a product whose B this one shares. Errors: TS_EUNAVAILABLE, TS_ENOMEM. */
int32_t ts_product_create(const ts_dnnl *dnnl, const ts_product_shape *shape, uint32_t slots, const ts_product *like,
                          ts_product **out, ts_err err);
void ts_product_destroy(ts_product *product); /* NULL is accepted */

const ts_packed_layout *ts_product_layout(const ts_product *product); /* of B */
uint64_t ts_product_scratch(const ts_product *product);               /* bytes a slot */
const char *ts_product_implementation(const ts_product *product);     /* oneDNN's name of it */

/* Where B and the bias of slots [first, first + count) are, and a slot's scratch and dropout mask (m x n, 1 keeps); not
 * while the product runs. */
int32_t ts_product_bind(ts_product *product, uint32_t first, uint32_t count, const void *b, const float *bias);
int32_t ts_product_bind_slot(ts_product *product, uint32_t slot, void *scratch, const uint8_t *keep);

int32_t ts_product_run(const ts_product *product, uint32_t slot, const void *a, void *c);

#endif
