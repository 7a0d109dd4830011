/* dense_mkl.h - products of MKL for the floor of the dense layers. MKL is the one within PyTorch, which exports it: no other
 * package, and the same products as the peer's. Opened once, then used from any thread. */
#ifndef BENCH_DENSE_MKL_H
#define BENCH_DENSE_MKL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* m rows of k numbers (`a`) times k rows of n (`b`) into m rows of n floats (`c`), all row by row. */
typedef struct dense_mkl_shape {
  uint32_t m, k, n;
  bool bf16; /* of a and b */
} dense_mkl_shape;

/* Opens `path`, a library that exports MKL, with one thread a call. `error` has `capacity` bytes. False: it cannot be
 * opened, lacks a function, or multiplies a small example wrongly. */
bool dense_mkl_open(const char *path, char *error, size_t capacity);
/* Whether a library is open. */
bool dense_mkl_here(void);
/* Bytes of a right side of `shape` in MKL's own order; 0 for BF16, which it does not export. */
size_t dense_mkl_packed_bytes(const dense_mkl_shape *shape);
void dense_mkl_pack(const dense_mkl_shape *shape, const void *b, void *packed);
/* `packed`: from dense_mkl_pack() of the same shape, or NULL, and then `b` is read. */
void dense_mkl_run(const dense_mkl_shape *shape, const void *a, const void *b, const void *packed, float *c);

#endif
