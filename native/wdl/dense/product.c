/* product.c - oneDNN's matmul primitive, or its sgemm. */
#include "wdl/dense/product.h"

#include "base/cpu_level.h"

#include <stdlib.h>
#include <string.h>

enum { A, B, C, SCRATCH, BIAS, KEEP, MEMORIES };
#define KEEP_PLACE 1 /* of the mask among the post-ops: after ReLU */

struct ts_product {
  const ts_dnnl *dnnl;
  ts_product_shape shape;
  ts_packed_layout layout;
  ts_dnnl_md md[MEMORIES];
  const ts_dnnl_md *used_md[MEMORIES]; /* those above, or the primitive descriptor's */
  void *pd, *primitive;
  uint64_t scratch;
  const char *implementation;
  uint32_t slots;
  struct {
    void *memory[MEMORIES], *stream;
    const void *b;
  } slot[];
};

static const int32_t argument_ids[MEMORIES] = {TS_DNNL_ARG_SRC,        TS_DNNL_ARG_WEIGHTS, TS_DNNL_ARG_DST,
                                               TS_DNNL_ARG_SCRATCHPAD, TS_DNNL_ARG_BIAS,    TS_DNNL_ARG_POST_OP(KEEP_PLACE)};

static int strided_md(const ts_dnnl *d, ts_dnnl_md *md, uint32_t rows, uint32_t columns, uint32_t stride, int type) {
  const int64_t dims[2] = {rows, columns}, strides[2] = {stride, 1};
  return d->md_by_strides(md, 2, dims, type, strides);
}

static int dense_md(const ts_dnnl *d, ts_dnnl_md *md, uint32_t rows, uint32_t columns, int type) {
  return strided_md(d, md, rows, columns, columns, type);
}

static uint32_t c_stride(const ts_product_shape *s) { return s->c_stride == 0 ? s->n : s->c_stride; }

/* Elements from a row of a row-major FP32 B to the next. oneDNN's kernels without AVX-512 walk down its columns, and rows that
 * lie a multiple of 2 KiB apart share a few sets of the L1 cache: products with 1024 columns were at 30 GFLOP/s where others
 * and those with 16 more between rows were at 73 to 77 (2.6.3, Zen 2; with 512 columns 52). */
static uint32_t stride_of(const ts_product_shape *s) {
  const bool apart = !s->bf16 && s->n % 512 == 0 && ts_cpu_level() < TS_LEVEL_AVX512;
  return s->n + (apart ? TS_LANES : 0);
}

/* Whether elements of B are where ts_packed_index says; fills the layout in if so. */
static bool understand(const ts_dnnl_md *md, const ts_product_shape *s, ts_packed_layout *out) {
  const int64_t *blocks = md->format.blocking.inner_blks, *indices = md->format.blocking.inner_idxs;
  const int64_t *strides = md->format.blocking.strides;
  ts_packed_layout l = {.k = s->k, .n = s->n, .bf16 = s->bf16, .k_padded = s->k, .n_block = s->n};
  if (md->format_kind != TS_DNNL_BLOCKED || md->offset0 != 0) return false;
  switch (md->format.blocking.inner_nblks) {
    case 0:
      if ((strides[0] != s->n && strides[0] != stride_of(s)) || strides[1] != 1) return false;
      l.n_block = (uint32_t)strides[0];
      break;
    case 2: /* [n / block][k / 16][16][block] */
      if (s->bf16 || indices[0] != 0 || indices[1] != 1) return false;
      l.n_block = (uint32_t)blocks[1];
      break;
    case 3: /* [n / block][k / 32][16][block][2] */
      if (!s->bf16 || indices[0] != 0 || indices[1] != 1 || indices[2] != 0 || blocks[2] != 2) return false;
      l.n_block = (uint32_t)blocks[1];
      l.pairs = true;
      break;
    default: return false;
  }
  if (md->format.blocking.inner_nblks > 0) {
    int64_t depth = blocks[0] * (l.pairs ? 2 : 1);
    l.k_padded = (uint32_t)md->padded_dims[0];
    if (strides[0] != depth * l.n_block || strides[1] != (int64_t)l.k_padded * l.n_block) return false;
  }
  if (l.n_block % TS_LANES != 0 || l.k_padded % (l.pairs ? 2 : 1) != 0) return false;
  *out = l;
  return true;
}

static int make_attr(const ts_product *p, void **attr) {
  const ts_dnnl *d = p->dnnl;
  const ts_product_shape *s = &p->shape;
  void *post_ops = NULL;
  int bad = d->attr_create(attr);
  if (bad) return bad;
  bad = d->attr_scratchpad(*attr, TS_DNNL_USER_SCRATCHPAD) | d->post_ops_create(&post_ops);
  if (!bad && s->accumulate) bad = d->post_ops_sum(post_ops, 1.0f);
  if (!bad && s->relu) bad = d->post_ops_eltwise(post_ops, 1.0f, TS_DNNL_RELU, 0.0f, 0.0f);
  if (!bad && s->dropout_scale > 0)
    bad = d->post_ops_binary(post_ops, TS_DNNL_MULTIPLY, &p->md[KEEP]) |
          d->post_ops_eltwise(post_ops, 1.0f, TS_DNNL_LINEAR, s->dropout_scale, 0.0f);
  if (!bad) bad = d->attr_post_ops(*attr, post_ops);
  if (post_ops != NULL) d->post_ops_destroy(post_ops);
  return bad;
}

static int make_pd(ts_product *p) {
  const ts_dnnl *d = p->dnnl;
  ts_dnnl_operation operation;
  void *attr = NULL;
  int bad = d->matmul_init(&operation, &p->md[A], p->used_md[B], p->shape.bias ? &p->md[BIAS] : NULL, &p->md[C]);
  if (!bad) bad = make_attr(p, &attr);
  if (!bad) bad = d->pd_create(&p->pd, &operation, attr, d->engine, NULL);
  if (attr != NULL) d->attr_destroy(attr);
  return bad;
}

/* Chooses the layout of B: the other product's, else oneDNN's wish, else (where that is not understood) row-major. */
static int choose(ts_product *p, const ts_product *like) {
  const ts_dnnl *d = p->dnnl;
  const ts_product_shape *s = &p->shape;
  const int64_t dims[2] = {s->k, s->n};
  const int type = s->bf16 ? TS_DNNL_BF16 : TS_DNNL_F32;
  int bad = dense_md(d, &p->md[A], s->m, s->k, type) | dense_md(d, &p->md[BIAS], 1, s->n, TS_DNNL_F32) |
            strided_md(d, &p->md[C], s->m, s->n, c_stride(s), s->bf16_out ? TS_DNNL_BF16 : TS_DNNL_F32) |
            dense_md(d, &p->md[KEEP], s->m, s->n, TS_DNNL_U8);
  if (bad) return bad;
  for (uint32_t m = 0; m < MEMORIES; m++) p->used_md[m] = &p->md[m];
  if (like != NULL) {
    p->used_md[B] = like->used_md[B];
    p->layout = like->layout;
    return make_pd(p);
  }
  bad = d->md_by_tag(&p->md[B], 2, dims, type, TS_DNNL_TAG_ANY);
  if (!bad) bad = make_pd(p);
  if (bad) return bad;
  const ts_dnnl_md *wish = d->pd_query_md(p->pd, TS_DNNL_QUERY_WEIGHTS, 0);
  const bool blocked = wish != NULL && wish->format_kind == TS_DNNL_BLOCKED && wish->format.blocking.inner_nblks > 0;
  if (wish != NULL && (blocked || stride_of(s) == s->n) && understand(wish, s, &p->layout)) return 0;
  d->pd_destroy(p->pd);
  p->pd = NULL;
  bad = strided_md(d, &p->md[B], s->k, s->n, stride_of(s), type);
  if (!bad) bad = make_pd(p);
  return bad || !understand(&p->md[B], s, &p->layout);
}

static int make_memories(ts_product *p) {
  const ts_dnnl *d = p->dnnl;
  static char nothing[64]; /* memory objects must not be made with NULL, which would ask for memory */
  const bool used[MEMORIES] = {true, false, true, true, p->shape.bias, p->shape.dropout_scale > 0};
  int bad = 0;
  for (uint32_t i = 0; i < p->slots && !bad; i++) {
    bad = d->stream_create(&p->slot[i].stream, d->engine, TS_DNNL_IN_ORDER);
    for (uint32_t m = 0; m < MEMORIES && !bad; m++)
      if (used[m]) bad = d->memory_create(&p->slot[i].memory[m], p->used_md[m], d->engine, nothing);
  }
  return bad;
}

static const char *fused_name(const ts_product_shape *s) {
  return s->dropout_scale > 0 ? " with bias, ReLU and dropout" : s->relu ? " with bias and ReLU" : "";
}

int32_t ts_product_create(const ts_dnnl *dnnl, const ts_product_shape *shape, uint32_t slots, const ts_product *like,
                          ts_product **out, ts_err err) {
  ts_product *p = calloc(1, sizeof *p + slots * sizeof p->slot[0]);
  *out = NULL;
  if (p == NULL) return ts_fail(err, TS_ENOMEM, "Cannot prepare a matrix product: out of memory");
  p->dnnl = dnnl;
  p->shape = *shape;
  p->slots = slots;
  if (shape->sgemm) {
    p->layout = (ts_packed_layout){.k = shape->k, .n = shape->n, .k_padded = shape->k, .n_block = stride_of(shape)};
    p->implementation = "sgemm";
    *out = p;
    return TS_OK;
  }
  int bad = choose(p, like);
  if (!bad) bad = dnnl->primitive_create(&p->primitive, p->pd);
  if (!bad) bad = dnnl->pd_query(p->pd, TS_DNNL_QUERY_IMPLEMENTATION, 0, &p->implementation);
  if (!bad) {
    p->used_md[B] = dnnl->pd_query_md(p->pd, TS_DNNL_QUERY_WEIGHTS, 0);
    p->used_md[SCRATCH] = dnnl->pd_query_md(p->pd, TS_DNNL_QUERY_SCRATCHPAD, 0);
    p->scratch = dnnl->md_size(p->used_md[SCRATCH]);
    bad = make_memories(p);
  }
  if (bad) {
    ts_product_destroy(p);
    return ts_fail(err, TS_EUNAVAILABLE,
                   "Cannot prepare a %s product of %u x %u x %u%s: oneDNN %d.%d.%d answers %d on this CPU; set "
                   "graph_fusion to 0 or bf16 to off",
                   shape->bf16 ? "BF16" : "FP32", shape->m, shape->k, shape->n, fused_name(shape), dnnl->major,
                   dnnl->minor, dnnl->patch, bad);
  }
  *out = p;
  return TS_OK;
}

void ts_product_destroy(ts_product *p) {
  if (p == NULL) return;
  for (uint32_t i = 0; i < p->slots; i++) {
    for (uint32_t m = 0; m < MEMORIES; m++)
      if (p->slot[i].memory[m] != NULL) p->dnnl->memory_destroy(p->slot[i].memory[m]);
    if (p->slot[i].stream != NULL) p->dnnl->stream_destroy(p->slot[i].stream);
  }
  if (p->primitive != NULL) p->dnnl->primitive_destroy(p->primitive);
  if (p->pd != NULL) p->dnnl->pd_destroy(p->pd);
  free(p);
}

const ts_packed_layout *ts_product_layout(const ts_product *p) { return &p->layout; }
uint64_t ts_product_scratch(const ts_product *p) { return p->scratch; }
const char *ts_product_implementation(const ts_product *p) { return p->implementation; }

/* oneDNN writes the padding of a memory object's data (zeros) when it is told where they are. For B, which slots share,
 * that is done here, while nobody reads; the others have no padding. */
int32_t ts_product_bind(ts_product *p, uint32_t first, uint32_t count, const void *b, const float *bias) {
  int bad = 0;
  for (uint32_t i = first; i < first + count && !bad; i++) {
    p->slot[i].b = b;
    if (p->primitive == NULL) continue;
    void **memory = p->slot[i].memory;
    bad = memory[B] != NULL ? p->dnnl->memory_set(memory[B], (void *)(uintptr_t)b)
                            : p->dnnl->memory_create(&memory[B], p->used_md[B], p->dnnl->engine, (void *)(uintptr_t)b);
    if (!bad && p->shape.bias) bad = p->dnnl->memory_set(memory[BIAS], (void *)(uintptr_t)bias);
  }
  return bad ? TS_EINTERNAL : TS_OK;
}

int32_t ts_product_bind_slot(ts_product *p, uint32_t slot, void *scratch, const uint8_t *keep) {
  if (p->primitive == NULL) return TS_OK;
  int bad = p->dnnl->memory_set(p->slot[slot].memory[SCRATCH], scratch);
  if (!bad && p->shape.dropout_scale > 0)
    bad = p->dnnl->memory_set(p->slot[slot].memory[KEEP], (void *)(uintptr_t)keep);
  return bad ? TS_EINTERNAL : TS_OK;
}

int32_t ts_product_run(const ts_product *p, uint32_t slot, const void *a, void *c) {
  const ts_dnnl *d = p->dnnl;
  const ts_product_shape *s = &p->shape;
  ts_dnnl_single_thread(d);
  if (p->primitive == NULL)
    return d->sgemm('N', 'N', s->m, s->n, s->k, 1.0f, a, s->k, p->slot[slot].b, p->layout.n_block,
                    s->accumulate ? 1.0f : 0.0f, c, c_stride(s)) == 0
               ? TS_OK
               : TS_EINTERNAL;
  void *const *memory = p->slot[slot].memory, *stream = p->slot[slot].stream;
  if (d->memory_set(memory[A], (void *)(uintptr_t)a) != 0 || d->memory_set(memory[C], c) != 0)
    return TS_EINTERNAL;
  ts_dnnl_argument arguments[MEMORIES];
  int count = 0;
  for (uint32_t m = 0; m < MEMORIES; m++)
    if (memory[m] != NULL) arguments[count++] = (ts_dnnl_argument){argument_ids[m], memory[m]};
  if (d->primitive_execute(p->primitive, stream, count, arguments) != 0 || d->stream_wait(stream) != 0)
    return TS_EINTERNAL;
  return TS_OK;
}
