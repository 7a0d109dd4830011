/* device.h - one device with its queue, kernels and memory, as the files of this folder share it. */
#ifndef TS_TIERS_OPENCL_DEVICE_H
#define TS_TIERS_OPENCL_DEVICE_H

#include "tiers/opencl/cl.h"
#include "tiers/opencl/kernels.h"
#include "tiers/tier.h"

#include <stdatomic.h>

typedef enum ts_opencl_kernel { TS_GATHER, TS_SCATTER, TS_WIDEN, TS_STEP, TS_OPENCL_KERNELS } ts_opencl_kernel;

/* A buffer of rows, and which of the pool's addresses it is. */
typedef struct ts_opencl_part {
  cl_mem buffer;
  uint64_t first, bytes;
  void *pages;  /* of ours that it is; NULL: the driver's */
  bool in_host; /* memory of the host, which kernels reach over the link */
} ts_opencl_part;

/* Memory of the device, or of the host. */
typedef struct ts_opencl_kind {
  uint64_t limit, held; /* bytes that it may have, and has */
  uint64_t first, end;  /* where its addresses begin, and where those with memory end */
  uint64_t ns;          /* wall time of taking it, and of making one buffer of parts */
} ts_opencl_kind;

/* What became of the pool when the first steps were over. */
typedef enum ts_opencl_plan { TS_OPENCL_NOT_YET, TS_OPENCL_PLANNED, TS_OPENCL_AS_IT_WAS } ts_opencl_plan;

/* Commands of one queue are carried out in their order, so the last one that a call enqueues is what commits it. */
typedef struct ts_opencl {
  ts_cl cl;
  cl_device_id id;
  cl_context context;
  cl_command_queue queue;
  cl_program program;
  cl_kernel kernels[TS_OPENCL_KERNELS];
  cl_mem up, down; /* what goes to the device in one transfer, and what comes from there */
  uint64_t up_bytes, down_bytes, staging_bytes; /* theirs, and what they may have together */
  uint64_t most_bytes; /* of the device's memory in one piece */
  bool is_cpu, is_gpu;
  char name[128], platform[64], driver[64], version[96];
  pthread_mutex_t lock; /* queue, kernels' arguments, up and down, what is counted */
  ts_link_counts link;
  uint64_t begun; /* when who holds the lock took it */
  /* pool.c: rows */
  unsigned char *base; /* their addresses: reserved, and never to be touched */
  uint64_t reserved;
  ts_arena *arena;     /* those that have memory */
  _Atomic uint64_t taken; /* bytes of blocks */
  ts_opencl_kind kinds[2]; /* of the device, of the host; with all that follows under the lock */
  ts_opencl_part parts[TS_OPENCL_PARTS]; /* by address, so those of the device first */
  uint32_t part_count;
  bool bound[TS_OPENCL_KERNELS]; /* to the parts that there are */
  uint32_t waits, longest; /* refusals until the device is asked again, and how many it was last time */
  /* Of the first steps: */
  uint32_t pool_steps, steps_seen; /* 0: the pool is taken at opening */
  bool told;
  int64_t newest;
  uint64_t taken_half;               /* when half of them were over */
  uint64_t widest_up, widest_down;   /* what the largest call needed to go in one transfer */
  uint64_t least_up, least_down;     /* without which a table's rows could not step */
  ts_opencl_plan planned;
} ts_opencl;

/* Finds the device whose names contain `wanted` (NULL: a GPU, else any), builds the kernels, takes memory: `bytes` of the
 * device's, with place->pool_steps less than that, and place->host_bytes of the host's when they are needed. Errors: TS_EUNAVAILABLE (no loader, no driver, no such device, or no compiler), TS_ENOMEM, TS_EINVAL (more than the device
 * gives in one piece). */
int32_t ts_opencl_open(const ts_tier_place *place, uint64_t bytes, ts_opencl **out, ts_err err);
void ts_opencl_close(ts_opencl *d); /* NULL: nothing */

/* The lock, for a call whose time counts. */
void ts_opencl_begin(ts_opencl *d);
void ts_opencl_end(ts_opencl *d);
/* Counts a transfer from the device. */
static inline void ts_opencl_came(ts_opencl *d, uint64_t bytes) {
  d->link.down_bytes += bytes;
  d->link.transfers++;
}

/* Notes what a call would need to go in one transfer each way; lock held. */
static inline void ts_opencl_needs(ts_opencl *d, uint64_t up, uint64_t down) {
  d->widest_up = TS_MAX(d->widest_up, up);
  d->widest_down = TS_MAX(d->widest_down, down);
}

/* Counts those of n rows that kernels reach over the link, so many bytes of each; lock held. */
static inline void ts_opencl_reach(ts_opencl *d, uint32_t n, const void *const *rows, uint32_t bytes) {
  const unsigned char *first = d->base + d->kinds[1].first;
  uint64_t there = 0;
  if (d->kinds[1].held == 0) return;
  for (uint32_t i = 0; i < n; i++) there += (const unsigned char *)rows[i] >= first;
  d->link.host_bytes += there * bytes;
}

/* The upload of a call, to be filled by the CPU; lock held. NULL after an error. */
void *ts_opencl_map(ts_opencl *d, uint64_t bytes, const char *what, int32_t *status, ts_err err);
int32_t ts_opencl_unmap(ts_opencl *d, void *upload, const char *what, ts_err err);
/* Unmaps a buffer; tried twice, since drivers keep one that stays mapped for ever. */
cl_int ts_opencl_let_go(ts_opencl *d, cl_mem buffer, void *mapped);
/* Starts a kernel over n rows, so many items side by side in each; its arguments are the pool's parts, then buffers, then
 * numbers. */
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
/* Where a row lies in the pool, in bytes from its beginning. */
static inline uint64_t ts_opencl_at(const ts_opencl *d, const void *row) {
  return (uint64_t)((const unsigned char *)row - d->base);
}

/* ---- pool.c ---- */

/* A buffer that is there, also where drivers take memory late. */
int32_t ts_opencl_take_buffer(ts_opencl *d, uint64_t bytes, bool in_host, cl_mem *out, ts_err err);
void ts_opencl_release(ts_opencl *d, cl_mem *buffer); /* NULL then; NULL before: nothing */
/* At most so many bytes of the device and of the host for rows. Errors: TS_ENOMEM. */
int32_t ts_opencl_pool_open(ts_opencl *d, uint64_t bytes, uint64_t host_bytes, ts_err err);
void ts_opencl_pool_close(ts_opencl *d);
/* A block for rows, all of one part; NULL: neither device nor host may or will give it. Thread-safe. */
void *ts_opencl_pool_take(ts_opencl *d, uint64_t bytes);
void ts_opencl_pool_give_back(ts_opencl *d, void *block, uint64_t bytes);
/* The part of an address, in bytes from the first; lock held. */
const ts_opencl_part *ts_opencl_part_of(const ts_opencl *d, uint64_t offset);
/* The first arguments of a kernel: buffers that hold rows, the address of the first. Lock held. */
cl_int ts_opencl_bind(ts_opencl *d, ts_opencl_kernel kernel, const ts_opencl_part *parts, uint32_t n, const void *base);
/* Of ts_tier_device_ops. */
void ts_opencl_stepped(ts_tier *tier, int64_t step);

/* steps.c: of ts_tier_device_ops. */
int32_t ts_opencl_try(ts_tier *tier, const struct ts_optimizer *optimizer, bool *same, ts_err err);
int32_t ts_opencl_step(ts_tier *tier, const struct ts_optimizer *optimizer, const struct ts_optimizer_call *call, uint32_t n,
                       void *const *rows, const float *const *gradients, const int64_t *keys, uint32_t *stepped, ts_err err);

#endif
