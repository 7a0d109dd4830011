/* workload.c - ranks drawn from Zipf's law or uniformly, turned into ids by a bijection. Zipf by rejection-inversion
 * (Hoermann and Derflinger, ACM TOMACS 6(3), 1996): exact for any exponent and number of ranks, without tables. Ranks
 * become scattered 63-bit ids, since real ids say nothing about frequency and do not stand beside each other. */
#include "workload.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

const char *const workload_names[BENCH_DISTRIBUTIONS] = {"uniform", "zipf-0.9", "zipf-1.05", "zipf-1.2"};
static const double exponents[BENCH_DISTRIBUTIONS] = {0, 0.9, 1.05, 1.2};

#define BITS63 0x7fffffffffffffffu

/* Each step is a bijection of 63-bit numbers: xor with the own upper half, multiplication by an odd number. */
int64_t bench_id(uint64_t rank) {
  uint64_t x = (rank + 0x2545f4914f6cdd1du) & BITS63;
  x = ((x ^ (x >> 32)) * 0x9fb21c651e98df25u) & BITS63;
  x = ((x ^ (x >> 31)) * 0xbf58476d1ce4e5b9u) & BITS63;
  return (int64_t)(x ^ (x >> 32));
}

typedef struct zipf {
  double s, ranks, low, high, accept;
} zipf;

/* Integral of x^-s, and its inverse; s is not 1. */
static double area(const zipf *z, double x) { return (pow(x, 1 - z->s) - 1) / (1 - z->s); }
static double inverse_area(const zipf *z, double a) { return pow(1 + a * (1 - z->s), 1 / (1 - z->s)); }

static zipf zipf_open(double s, uint64_t ranks) {
  zipf z = {.s = s, .ranks = (double)ranks};
  z.low = area(&z, 1.5) - 1;
  z.high = area(&z, z.ranks + 0.5);
  z.accept = 2 - inverse_area(&z, area(&z, 2.5) - pow(2, -s));
  return z;
}

static uint64_t next_random(uint64_t *state) { return bench_mix(*state += 0x9e3779b97f4a7c15u); }
static double unit(uint64_t *state) { return (double)(next_random(state) >> 11) * 0x1.0p-53; }

/* A rank from 0. */
static uint64_t zipf_draw(const zipf *z, uint64_t *state) {
  for (;;) {
    double u = z->high + unit(state) * (z->low - z->high);
    double x = inverse_area(z, u);
    double k = floor(x + 0.5);
    k = k < 1 ? 1 : k > z->ranks ? z->ranks : k;
    if (k - x <= z->accept || u >= area(z, k + 0.5) - pow(k, -z->s)) return (uint64_t)k - 1;
  }
}

bool workload_write(const char *path, uint64_t keys, uint64_t batches, char *error) {
  FILE *file = fopen(path, "wb");
  if (file == NULL) return bench_fail(error, "Cannot write \"%s\": %s", path, strerror(errno));
  static int64_t batch[BENCH_BATCH];
  workload head = {.magic = BENCH_MAGIC, .keys = keys, .batches = batches};
  bool ok = fwrite(&head, sizeof head, 1, file) == 1;
  for (unsigned d = 0; d < BENCH_DISTRIBUTIONS; d++) {
    zipf z = zipf_open(exponents[d], keys);
    for (unsigned t = 0; t < BENCH_THREADS; t++) {
      uint64_t state = bench_mix(d * 97 + t + 1);
      for (uint64_t b = 0; b < batches && ok; b++) {
        for (uint32_t i = 0; i < BENCH_BATCH; i++)
          batch[i] = bench_id(d == 0 ? (uint64_t)(unit(&state) * (double)keys) : zipf_draw(&z, &state));
        ok = fwrite(batch, sizeof batch, 1, file) == 1;
      }
    }
  }
  int problem = errno;
  if (fclose(file) != 0 || !ok) return bench_fail(error, "Cannot write \"%s\": %s", path, strerror(problem));
  return true;
}

bool workload_map(const char *path, const workload **out, char *error) {
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  struct stat status;
  if (fd < 0 || fstat(fd, &status) != 0)
    return bench_fail(error, "Cannot read the workload \"%s\": %s", path, strerror(errno));
  void *at = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_SHARED | MAP_POPULATE, fd, 0);
  close(fd);
  if (at == MAP_FAILED) return bench_fail(error, "Cannot map the workload \"%s\": %s", path, strerror(errno));
  const workload *w = at;
  uint64_t needed = sizeof *w + BENCH_DISTRIBUTIONS * BENCH_THREADS * w->batches * BENCH_BATCH * sizeof(int64_t);
  if (w->magic != BENCH_MAGIC || (uint64_t)status.st_size != needed)
    return bench_fail(error, "Cannot use the workload \"%s\": it is not one, or is cut off", path);
  *out = w;
  return true;
}

const int64_t *workload_batch(const workload *w, unsigned distribution, unsigned thread, uint64_t batch) {
  return w->stream + ((distribution * BENCH_THREADS + thread) * w->batches + batch % w->batches) * BENCH_BATCH;
}
