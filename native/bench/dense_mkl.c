/* dense_mkl.c - MKL by the names of its interface (32-bit sizes), looked up when it is opened: the build needs no header.
 * PyTorch exports sgemm for Fortran alone: by columns, so left and right change places. */
#include "dense_mkl.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of MKL's header: row-major, no transpose, packed storage, the right side. */
enum { ROW_MAJOR = 101, NO_TRANS = 111, PACKED = 151, B_MATRIX = 162 };

static struct {
  void (*sgemm)(const char *ta, const char *tb, const int *m, const int *n, const int *k, const float *alpha, const float *a,
                const int *lda, const float *b, const int *ldb, const float *beta, float *c, const int *ldc);
  void (*gemm_bf16)(int layout, int ta, int tb, int m, int n, int k, float alpha, const void *a, int lda, const void *b, int ldb,
                    float beta, float *c, int ldc);
  size_t (*pack_size)(int which, int m, int n, int k);
  void (*pack)(int layout, int which, int trans, int m, int n, int k, float alpha, const float *source, int ld, float *packed);
  void (*compute)(int layout, int ta, int tb, int m, int n, int k, const float *a, int lda, const float *b, int ldb, float beta,
                  float *c, int ldc);
} mkl;

size_t dense_mkl_packed_bytes(const dense_mkl_shape *s) {
  return s->bf16 ? 0 : mkl.pack_size(B_MATRIX, (int)s->m, (int)s->n, (int)s->k);
}

void dense_mkl_pack(const dense_mkl_shape *s, const void *b, void *packed) {
  mkl.pack(ROW_MAJOR, B_MATRIX, NO_TRANS, (int)s->m, (int)s->n, (int)s->k, 1.0f, b, (int)s->n, packed);
}

void dense_mkl_run(const dense_mkl_shape *s, const void *a, const void *b, const void *packed, float *c) {
  const int m = (int)s->m, n = (int)s->n, k = (int)s->k;
  if (s->bf16) mkl.gemm_bf16(ROW_MAJOR, NO_TRANS, NO_TRANS, m, n, k, 1.0f, a, k, b, n, 0.0f, c, n);
  else if (packed != NULL) mkl.compute(ROW_MAJOR, NO_TRANS, PACKED, m, n, k, a, k, packed, n, 0.0f, c, n);
  else mkl.sgemm("N", "N", &n, &m, &k, &(const float){1.0f}, b, &n, a, &k, &(const float){0.0f}, c, &n);
}

/* Of a number that BF16 has. */
static uint16_t bf16_of(float x) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  return (uint16_t)(bits >> 16);
}

/* Whether a small product of whole numbers is right: these calls have no header that would check their arguments. */
static bool multiplies(bool bf16, bool packed) {
  enum { M = 5, K = 3, N = 7 };
  const dense_mkl_shape shape = {.m = M, .k = K, .n = N, .bf16 = bf16};
  float a[M * K], b[K * N], c[M * N];
  uint16_t a16[M * K], b16[K * N];
  for (int i = 0; i < M * K; i++) a[i] = (float)(i % 4 - 1), a16[i] = bf16_of(a[i]);
  for (int i = 0; i < K * N; i++) b[i] = (float)(i % 5 - 2), b16[i] = bf16_of(b[i]);
  void *right = packed ? aligned_alloc(64, (dense_mkl_packed_bytes(&shape) + 63) / 64 * 64) : NULL;
  if (packed && right == NULL) return false;
  if (packed) dense_mkl_pack(&shape, b, right);
  dense_mkl_run(&shape, bf16 ? (const void *)a16 : a, bf16 ? (const void *)b16 : b, right, c);
  free(right);
  bool same = true;
  for (int m = 0; m < M; m++)
    for (int n = 0; n < N; n++) {
      float sum = 0;
      for (int k = 0; k < K; k++) sum += a[m * K + k] * b[k * N + n];
      same = same && c[m * N + n] == sum;
    }
  return same;
}

bool dense_mkl_open(const char *path, char *error, size_t capacity) {
  setenv("MKL_NUM_THREADS", "1", 1); /* the floor's pool has the threads */
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) {
    snprintf(error, capacity, "Cannot open MKL: %s", dlerror());
    return false;
  }
  const struct {
    const char *name;
    void *at;
  } wanted[] = {{"cblas_gemm_bf16bf16f32", &mkl.gemm_bf16}, {"cblas_sgemm_pack_get_size", &mkl.pack_size},
                {"cblas_sgemm_pack", &mkl.pack},            {"cblas_sgemm_compute", &mkl.compute},
                {"sgemm_", &mkl.sgemm}};
  for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
    void *found = dlsym(library, wanted[i].name);
    if (found == NULL) {
      snprintf(error, capacity, "Cannot use MKL of \"%s\": it lacks %s", path, wanted[i].name);
      mkl.sgemm = NULL;
      return false;
    }
    *(void **)wanted[i].at = found;
  }
  const bool right = multiplies(false, false) && multiplies(false, true) && multiplies(true, false);
  if (!right) {
    snprintf(error, capacity, "Cannot use MKL of \"%s\": it takes other arguments, its products are wrong", path);
    mkl.sgemm = NULL;
  }
  return right;
}

bool dense_mkl_here(void) { return mkl.sgemm != NULL; }
