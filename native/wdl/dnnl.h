/* dnnl.h - single-precision matrix products from oneDNN, opened when first needed. */
#ifndef TS_WDL_DNNL_H
#define TS_WDL_DNNL_H

#include "base/base.h"

typedef struct ts_dnnl {
  int (*sgemm)(char transa, char transb, int64_t m, int64_t n, int64_t k, float alpha, const float *a, int64_t lda,
               const float *b, int64_t ldb, float beta, float *c, int64_t ldc);
  void (*omp_set_num_threads)(int threads);
} ts_dnnl;

/* Errors: TS_EUNAVAILABLE naming the library and its package. */
int32_t ts_dnnl_open(ts_dnnl *out, ts_err err);

/* oneDNN runs its products on OpenMP threads of its own. The trainer spreads work over its own pool, so each thread
 * that calls asks for one; the setting belongs to the calling thread. */
static inline void ts_dnnl_single_thread(const ts_dnnl *dnnl) {
  if (dnnl->omp_set_num_threads != NULL) dnnl->omp_set_num_threads(1);
}

/* C[m x n] = op(A) op(B), row-major; 'T' reads the matrix transposed. TS_EINTERNAL if oneDNN refuses. */
static inline int32_t ts_dnnl_product(const ts_dnnl *dnnl, char transa, char transb, uint32_t m, uint32_t n, uint32_t k,
                                      const float *a, uint32_t lda, const float *b, uint32_t ldb, float *c,
                                      uint32_t ldc) {
  return dnnl->sgemm(transa, transb, m, n, k, 1.0f, a, lda, b, ldb, 0.0f, c, ldc) == 0 ? TS_OK : TS_EINTERNAL;
}

#endif
