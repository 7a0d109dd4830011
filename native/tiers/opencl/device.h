/* device.h - one device with its queue, kernels and memory, as the files of this folder share it. */
#ifndef TS_TIERS_OPENCL_DEVICE_H
#define TS_TIERS_OPENCL_DEVICE_H

#include "tiers/opencl/cl.h"
#include "tiers/tier.h"

typedef enum ts_opencl_kernel { TS_GATHER, TS_SCATTER, TS_WIDEN, TS_STEP, TS_OPENCL_KERNELS } ts_opencl_kernel;

/* Commands of one queue are carried out in their order, so the last one that a call enqueues is what commits it. */
typedef struct ts_opencl {
  ts_cl cl;
  cl_device_id id;
  cl_context context;
  cl_command_queue queue;
  cl_program program;
  cl_kernel kernels[TS_OPENCL_KERNELS];
  cl_mem pool, up, down; /* rows; what goes to the device in one transfer, and what comes from there */
  uint64_t pool_bytes, up_bytes, down_bytes;
  bool is_cpu, is_gpu;
  char name[128], platform[64], driver[64], version[96];
  pthread_mutex_t lock; /* queue, kernels' arguments, up and down, what is counted */
  ts_link_counts link;
  uint64_t begun; /* when who holds the lock took it */
  unsigned char *base;  /* addresses of rows: reserved, and never to be touched */
  ts_arena *arena;
} ts_opencl;

/* Finds the device whose names contain `wanted` (NULL: a GPU, else any), builds the kernels, takes `bytes` of its memory.
 * Errors: TS_EUNAVAILABLE (no loader, no driver, no such device, or no compiler), TS_ENOMEM, TS_EINVAL (more than the device
 * gives in one piece). */
int32_t ts_opencl_open(const char *wanted, uint64_t bytes, ts_opencl **out, ts_err err);
void ts_opencl_close(ts_opencl *d); /* NULL: nothing */

/* The lock, for a call whose time counts. */
void ts_opencl_begin(ts_opencl *d);
void ts_opencl_end(ts_opencl *d);
/* Counts a transfer from the device. */
static inline void ts_opencl_came(ts_opencl *d, uint64_t bytes) {
  d->link.down_bytes += bytes;
  d->link.transfers++;
}

/* The upload of a call, to be filled by the CPU; lock held. NULL after an error. */
void *ts_opencl_map(ts_opencl *d, uint64_t bytes, const char *what, int32_t *status, ts_err err);
int32_t ts_opencl_unmap(ts_opencl *d, void *upload, const char *what, ts_err err);
/* Starts a kernel over n rows, so many items side by side in each; its last arguments are numbers. */
int32_t ts_opencl_start(ts_opencl *d, ts_opencl_kernel kernel, const cl_mem *buffers, const uint32_t *numbers, uint32_t n,
                        uint32_t lanes, const char *what, ts_err err);
int32_t ts_opencl_fail(const ts_opencl *d, cl_int code, const char *what, ts_err err);
#define TS_OPENCL_LANES 64u
/* Items side by side of rows of so many words: a power of two. */
static inline uint32_t ts_opencl_lanes(const ts_opencl *d, uint32_t words) {
  uint32_t lanes = 1;
  while (!d->is_cpu && lanes < words && lanes < TS_OPENCL_LANES) lanes *= 2;
  return lanes;
}
/* Where a row lies in the pool, in words; NULL: no row. */
static inline uint64_t ts_opencl_at(const ts_opencl *d, const void *row) {
  return row == NULL ? UINT64_MAX : (uint64_t)((const unsigned char *)row - d->base) / sizeof(uint32_t);
}

/* steps.c: of ts_tier_device_ops. */
int32_t ts_opencl_try(ts_tier *tier, const struct ts_optimizer *optimizer, bool *same, ts_err err);
int32_t ts_opencl_step(ts_tier *tier, const struct ts_optimizer *optimizer, const struct ts_optimizer_call *call, uint32_t n,
                       void *const *rows, const float *const *gradients, const int64_t *keys, uint32_t *stepped, ts_err err);

#endif
