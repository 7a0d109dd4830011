/* dnnl.h - oneDNN, opened when first needed: one table of its functions and one engine for the process.
 *
 * The table is filled from libdnnl.so.2 if there is one, else from libdnnl.so.3. `sgemm` is the same in both. The C
 * interface of primitives changed between them, and the descriptors below are those of version 2: with version 3
 * `primitives` is false, and what needs them (fused products, BF16) is refused by name. */
#ifndef TS_WDL_DENSE_DNNL_H
#define TS_WDL_DENSE_DNNL_H

#include "base/base.h"

/* Descriptors of oneDNN 2 as its C header lays them out, as far as they are read here. */
#define TS_DNNL_DIMENSIONS 12
typedef struct ts_dnnl_md {
  int32_t ndims;
  int64_t dims[TS_DNNL_DIMENSIONS];
  int32_t data_type;
  int64_t padded_dims[TS_DNNL_DIMENSIONS], padded_offsets[TS_DNNL_DIMENSIONS], offset0;
  int32_t format_kind;
  union {
    struct {
      int64_t strides[TS_DNNL_DIMENSIONS]; /* of the outer blocks */
      int32_t inner_nblks;
      int64_t inner_blks[TS_DNNL_DIMENSIONS], inner_idxs[TS_DNNL_DIMENSIONS];
    } blocking;
    char room[1024]; /* the real descriptor is smaller (696 bytes in all in 2.6) */
  } format;
} ts_dnnl_md;
typedef struct ts_dnnl_operation { /* dnnl_matmul_desc_t, opaque: 2800 bytes in 2.6 */
  _Alignas(16) char room[8192];
} ts_dnnl_operation;
typedef struct ts_dnnl_argument {
  int32_t id;
  void *memory;
} ts_dnnl_argument;

/* Constants of dnnl_types.h, version 2. */
enum {
  TS_DNNL_CPU = 1,
  TS_DNNL_IN_ORDER = 1,
  TS_DNNL_BF16 = 2,
  TS_DNNL_F32 = 3,
  TS_DNNL_U8 = 6,
  TS_DNNL_TAG_ANY = 1,
  TS_DNNL_BLOCKED = 2,
  TS_DNNL_USER_SCRATCHPAD = 1,
  TS_DNNL_RELU = 0x1f,
  TS_DNNL_LINEAR = 0x7f,
  TS_DNNL_MULTIPLY = 0x1fff1,
  TS_DNNL_QUERY_IMPLEMENTATION = 8,
  TS_DNNL_QUERY_WEIGHTS = 131,
  TS_DNNL_QUERY_SCRATCHPAD = 136,
  TS_DNNL_ARG_SRC = 1,
  TS_DNNL_ARG_DST = 17,
  TS_DNNL_ARG_WEIGHTS = 33,
  TS_DNNL_ARG_BIAS = 41,
  TS_DNNL_ARG_SCRATCHPAD = 80,
};
/* Second operand of the binary post-op at this place. */
#define TS_DNNL_ARG_POST_OP(place) (16384 * ((place) + 1) | 2)

typedef struct ts_dnnl {
  int32_t major, minor, patch;
  bool primitives; /* version 2 and an engine */
  int32_t cpu_isa; /* what oneDNN uses of this CPU: dnnl_cpu_isa_t */
  void *engine;
  int (*sgemm)(char transa, char transb, int64_t m, int64_t n, int64_t k, float alpha, const float *a, int64_t lda,
               const float *b, int64_t ldb, float beta, float *c, int64_t ldc);
  void (*omp_set_num_threads)(int threads); /* NULL where oneDNN was built without OpenMP */
  /* Version 2 only. */
  int (*engine_create)(void **engine, int kind, size_t index);
  int (*effective_cpu_isa)(void);
  int (*stream_create)(void **stream, void *engine, unsigned flags);
  int (*stream_wait)(void *stream);
  int (*stream_destroy)(void *stream);
  int (*md_by_strides)(ts_dnnl_md *md, int ndims, const int64_t *dims, int type, const int64_t *strides);
  int (*md_by_tag)(ts_dnnl_md *md, int ndims, const int64_t *dims, int type, int tag);
  int (*matmul_init)(ts_dnnl_operation *operation, const ts_dnnl_md *src, const ts_dnnl_md *weights,
                     const ts_dnnl_md *bias, const ts_dnnl_md *dst);
  int (*attr_create)(void **attr);
  int (*attr_destroy)(void *attr);
  int (*attr_scratchpad)(void *attr, int mode);
  int (*attr_post_ops)(void *attr, const void *post_ops);
  int (*post_ops_create)(void **post_ops);
  int (*post_ops_destroy)(void *post_ops);
  int (*post_ops_eltwise)(void *post_ops, float scale, int algorithm, float alpha, float beta);
  int (*post_ops_binary)(void *post_ops, int algorithm, const ts_dnnl_md *operand);
  int (*post_ops_sum)(void *post_ops, float scale);
  int (*pd_create)(void **pd, const void *operation, const void *attr, void *engine, const void *hint);
  int (*pd_destroy)(void *pd);
  int (*pd_query)(const void *pd, int what, int index, void *result);
  const ts_dnnl_md *(*pd_query_md)(const void *pd, int what, int index);
  int (*primitive_create)(void **primitive, const void *pd);
  int (*primitive_execute)(const void *primitive, void *stream, int count, const ts_dnnl_argument *arguments);
  int (*primitive_destroy)(void *primitive);
  int (*memory_create)(void **memory, const ts_dnnl_md *md, void *engine, void *handle);
  int (*memory_set)(void *memory, void *handle);
  int (*memory_destroy)(void *memory);
  size_t (*md_size)(const ts_dnnl_md *md);
} ts_dnnl;

/* The process's table. Errors: TS_EUNAVAILABLE naming the library and its package. */
int32_t ts_dnnl_open(const ts_dnnl **out, ts_err err);

/* TS_EUNAVAILABLE unless primitives can be used; `what` needs them and `instead` does without. */
int32_t ts_dnnl_need_primitives(const ts_dnnl *dnnl, const char *what, const char *instead, ts_err err);
/* TS_EUNAVAILABLE unless this CPU and this oneDNN multiply BF16 in hardware. */
int32_t ts_dnnl_need_bf16(const ts_dnnl *dnnl, ts_err err);

/* oneDNN runs its products on OpenMP threads. Work is spread by our own pool, so each thread that calls asks for one; the
 * setting is the calling thread's. Nothing is left to be done when a thread ends: threads of the caller's may outlive
 * this library. */
void ts_dnnl_single_thread(const ts_dnnl *dnnl);

#endif
