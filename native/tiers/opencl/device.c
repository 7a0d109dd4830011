/* device.c - see device.h. */
#include "tiers/opencl/device.h"

#include "optimizers/optimizer.h"
#include "tiers/opencl/kernels.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GROUP TS_OPENCL_LANES /* items: every device takes so many */
/* What a CPU gathers: an item's rows, asked for so many rows ahead. Processor time a key, index included: 33.4 ns where 16 rows
 * are asked for and then copied, 29.9, 29.5 and 28.6 with 64 rows 16, 24 and 32 ahead; 128 rows took 5 % less than 64. 256
 * rows take 1 to 6 % less time again (Zen 5): a piece of 8,192 is one thread's of PoCL's then, beside the one that looks for keys. */
#define ROWS_AN_ITEM 256u
#define ROWS_AHEAD 32u
#define MOST_PLATFORMS 16u
#define MOST_DEVICES 32u /* of a platform */
/* Of the memory, what transfers go through: an eighth, so that 64 KiB are mostly rows; more than 16 MiB each way makes no
 * transfer cheaper, since what a command costs is spread over megabytes then. */
#define STAGING_SHARE 8u
#define MOST_STAGING (UINT64_C(32) << 20)

int32_t ts_opencl_fail(const ts_opencl *d, cl_int code, const char *what, ts_err err) {
  char words[64];
  return ts_fail(err, ts_cl_status(code), "Cannot %s the OpenCL device \"%s\": %s", what, d->name, ts_cl_words(code, words));
}

/* ---- the device ---- */

static void device_text(const ts_opencl *d, cl_device_id id, cl_uint what, char *out, size_t cap) {
  out[0] = '\0';
  if (d->cl.GetDeviceInfo(id, what, cap, out, NULL) != CL_SUCCESS) snprintf(out, cap, "unknown");
  out[cap - 1] = '\0';
}

static uint64_t device_number(const ts_opencl *d, cl_uint what) {
  uint64_t value = 0; /* little-endian hosts: also of 32 bits */
  return d->cl.GetDeviceInfo(d->id, what, sizeof value, &value, NULL) == CL_SUCCESS ? value : 0;
}

/* A GPU before an accelerator before a CPU; what is not wanted: 0. */
static uint32_t rank_of(const char *wanted, const char *platform, const char *name, uint64_t type) {
  if (wanted != NULL && strstr(platform, wanted) == NULL && strstr(name, wanted) == NULL) return 0;
  return type & CL_DEVICE_TYPE_GPU ? 3 : type & CL_DEVICE_TYPE_CPU ? 1 : 2;
}

static int32_t choose(ts_opencl *d, const char *wanted, ts_err err) {
  cl_platform_id platforms[MOST_PLATFORMS];
  cl_uint count = 0, best = 0, seen = 0;
  const cl_int found = d->cl.GetPlatformIDs(MOST_PLATFORMS, platforms, &count);
  if (found == CL_PLATFORM_NOT_FOUND_KHR || (found == CL_SUCCESS && count == 0))
    return ts_fail(err, TS_EUNAVAILABLE, "Cannot open OpenCL: no driver is installed; a GPU's own brings one, and the package "
                                         "pocl-opencl-icd one that computes on the CPU");
  if (found != CL_SUCCESS) return ts_opencl_fail(d, found, "look for", err);
  ts_cl_used();
  for (cl_uint p = 0; p < TS_MIN(count, MOST_PLATFORMS); p++) {
    char platform[sizeof d->platform] = "";
    cl_device_id devices[MOST_DEVICES];
    cl_uint n = 0;
    d->cl.GetPlatformInfo(platforms[p], CL_PLATFORM_NAME, sizeof platform - 1, platform, NULL);
    if (d->cl.GetDeviceIDs(platforms[p], CL_DEVICE_TYPE_ALL, MOST_DEVICES, devices, &n) != CL_SUCCESS) continue;
    for (cl_uint i = 0; i < TS_MIN(n, MOST_DEVICES); i++, seen++) {
      char name[sizeof d->name];
      uint64_t type = 0;
      device_text(d, devices[i], CL_DEVICE_NAME, name, sizeof name);
      d->cl.GetDeviceInfo(devices[i], CL_DEVICE_TYPE, sizeof type, &type, NULL);
      const uint32_t rank = rank_of(wanted, platform, name, type);
      if (rank <= best) continue;
      best = rank;
      d->id = devices[i];
      d->is_cpu = (type & CL_DEVICE_TYPE_CPU) != 0;
      d->is_gpu = (type & CL_DEVICE_TYPE_GPU) != 0;
      memcpy(d->name, name, sizeof name);
      memcpy(d->platform, platform, sizeof platform);
    }
  }
  if (best == 0)
    return ts_fail(err, TS_EUNAVAILABLE, "Cannot open OpenCL: none of %u devices has \"%s\" in its name or its platform's; see "
                                         "clinfo -l, of the package clinfo", seen, wanted == NULL ? "" : wanted);
  device_text(d, d->id, CL_DRIVER_VERSION, d->driver, sizeof d->driver);
  device_text(d, d->id, CL_DEVICE_VERSION, d->version, sizeof d->version);
  if ((device_number(d, CL_DEVICE_ENDIAN_LITTLE) & 1) == 0)
    return ts_fail(err, TS_EUNAVAILABLE, "Cannot open the OpenCL device \"%s\": it is not little-endian", d->name);
  return TS_OK;
}

/* ---- kernels ---- */

static int32_t build(ts_opencl *d, ts_err err) {
  static const char *const names[TS_OPENCL_KERNELS] = {"ts_gather", "ts_scatter", "ts_widen", "ts_step"};
  const bool rounded = (device_number(d, CL_DEVICE_SINGLE_FP_CONFIG) & CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT) != 0;
  const char *source = ts_opencl_source;
  cl_int code = CL_SUCCESS;
  char options[512], an_item[64] = "";
  if (d->is_cpu) snprintf(an_item, sizeof an_item, "-DROWS_AN_ITEM=%u -DAHEAD=%u", ROWS_AN_ITEM, ROWS_AHEAD);
  snprintf(options, sizeof options,
           "-cl-std=CL1.2 %s %s -DSGD=%d -DADAGRAD=%d -DFTRL=%d -DFTRL_ROW_NORM=%d -DADAGRAD_DECAY=%d -DADAGRAD_DECAY_V2=%d "
           "-DADAM=%d -DADAM_ASYNC=%d -DADAMW=%d -DROWWISE_ADAGRAD=%d -DRMSPROP=%u",
           an_item, rounded ? "-cl-fp32-correctly-rounded-divide-sqrt" : "", TS_SGD, TS_ADAGRAD, TS_FTRL, TS_FTRL_ROW_NORM, TS_ADAGRAD_DECAY,
           TS_ADAGRAD_DECAY_V2, TS_ADAM, TS_ADAM_ASYNC, TS_ADAMW, TS_ROWWISE_ADAGRAD, TS_STEP_RMSPROP);
  d->program = d->cl.CreateProgramWithSource(d->context, 1, &source, NULL, &code);
  if (d->program == NULL) return ts_opencl_fail(d, code, "give kernels to", err);
  code = d->cl.BuildProgram(d->program, 1, &d->id, options, NULL, NULL);
  if (code != CL_SUCCESS && ts_cl_status(code) == TS_ENOMEM) return ts_opencl_fail(d, code, "compile kernels for", err);
  if (code != CL_SUCCESS) {
    char log[512] = "";
    d->cl.GetProgramBuildInfo(d->program, d->id, CL_PROGRAM_BUILD_LOG, sizeof log - 1, log, NULL);
    log[strcspn(log, "\r\n")] = '\0';
    return ts_fail(err, TS_EUNAVAILABLE, "Cannot compile kernels for the OpenCL device \"%s\": error %d, %s", d->name, code,
                   log[0] == '\0' ? "the driver says no more" : log);
  }
  for (uint32_t k = 0; k < TS_OPENCL_KERNELS; k++) {
    d->kernels[k] = d->cl.CreateKernel(d->program, names[k], &code);
    if (d->kernels[k] == NULL) return ts_opencl_fail(d, code, "make a kernel for", err);
  }
  return TS_OK;
}

/* ---- memory ---- */

static int32_t take_memory(ts_opencl *d, uint64_t bytes, uint64_t host_bytes, ts_err err) {
  const uint64_t staging = TS_MIN(bytes / STAGING_SHARE, MOST_STAGING) & ~UINT64_C(127);
  const uint64_t all = device_number(d, CL_DEVICE_GLOBAL_MEM_SIZE), rows = (bytes - staging) & ~UINT64_C(63);
  d->most_bytes = device_number(d, CL_DEVICE_MAX_MEM_ALLOC_SIZE);
  d->staging_bytes = staging;
  d->up_bytes = d->down_bytes = staging / 2;
  if ((d->pool_steps == 0 && rows > d->most_bytes) || bytes > all)
    return ts_fail(err, TS_EINVAL, "Cannot take %llu bytes of the OpenCL device \"%s\": it has %llu and gives at most %llu in one "
                                   "piece; choose a smaller size",
                   (unsigned long long)bytes, d->name, (unsigned long long)all, (unsigned long long)d->most_bytes);
  int32_t status = ts_opencl_take_buffer(d, d->up_bytes, false, &d->up, err);
  if (status == TS_OK) status = ts_opencl_take_buffer(d, d->down_bytes, false, &d->down, err);
  return status == TS_OK ? ts_opencl_pool_open(d, rows, host_bytes, err) : status;
}

int32_t ts_opencl_open(const ts_tier_place *place, uint64_t bytes, ts_opencl **out, ts_err err) {
  ts_opencl *d = calloc(1, sizeof *d);
  if (d == NULL) return ts_fail(err, TS_ENOMEM, "Cannot open the OpenCL tier: out of memory");
  pthread_mutex_init(&d->lock, NULL);
  d->pool_steps = place->pool_steps;
  int32_t status = ts_cl_load(&d->cl, err);
  if (status != TS_OK) d->cl = (ts_cl){0};
  if (status == TS_OK) status = choose(d, place->device, err);
  cl_int code = CL_SUCCESS;
  if (status == TS_OK && (d->context = d->cl.CreateContext(NULL, 1, &d->id, NULL, NULL, &code)) == NULL)
    status = ts_opencl_fail(d, code, "open", err);
  if (status == TS_OK && (d->queue = d->cl.CreateCommandQueue(d->context, d->id, 0, &code)) == NULL)
    status = ts_opencl_fail(d, code, "open a queue to", err);
  if (status == TS_OK) status = build(d, err);
  if (status == TS_OK) status = take_memory(d, bytes, place->host_bytes, err);
  if (status != TS_OK) ts_opencl_close(d);
  else *out = d;
  return status;
}

void ts_opencl_close(ts_opencl *d) {
  if (d == NULL) return;
  if (d->queue != NULL) d->cl.Finish(d->queue);
  ts_opencl_pool_close(d);
  ts_opencl_release(d, &d->up);
  ts_opencl_release(d, &d->down);
  for (uint32_t k = 0; k < TS_OPENCL_KERNELS; k++)
    if (d->kernels[k] != NULL) d->cl.ReleaseKernel(d->kernels[k]);
  if (d->program != NULL) d->cl.ReleaseProgram(d->program);
  if (d->queue != NULL) d->cl.ReleaseCommandQueue(d->queue);
  if (d->context != NULL) d->cl.ReleaseContext(d->context);
  pthread_mutex_destroy(&d->lock);
  free(d);
}

/* ---- commands ---- */

void ts_opencl_begin(ts_opencl *d) {
  pthread_mutex_lock(&d->lock);
  d->begun = ts_now_ns();
}

void ts_opencl_end(ts_opencl *d) {
  d->link.ns += ts_now_ns() - d->begun;
  pthread_mutex_unlock(&d->lock);
}

void *ts_opencl_map(ts_opencl *d, uint64_t bytes, const char *what, int32_t *status, ts_err err) {
  cl_int code = CL_SUCCESS;
  void *upload = d->cl.EnqueueMapBuffer(d->queue, d->up, 1, CL_MAP_WRITE_INVALIDATE_REGION, 0, bytes, 0, NULL, NULL, &code);
  *status = upload != NULL ? TS_OK : ts_opencl_fail(d, code, what, err);
  d->link.up_bytes += upload != NULL ? bytes : 0;
  d->link.transfers += upload != NULL;
  return upload;
}

cl_int ts_opencl_let_go(ts_opencl *d, cl_mem buffer, void *mapped) {
  const cl_int code = d->cl.EnqueueUnmapMemObject(d->queue, buffer, mapped, 0, NULL, NULL);
  if (code == CL_SUCCESS) return code;
  d->cl.Finish(d->queue); /* what was enqueued needs nothing any more */
  return d->cl.EnqueueUnmapMemObject(d->queue, buffer, mapped, 0, NULL, NULL);
}

int32_t ts_opencl_unmap(ts_opencl *d, void *upload, const char *what, ts_err err) {
  const cl_int code = ts_opencl_let_go(d, d->up, upload);
  return code == CL_SUCCESS ? TS_OK : ts_opencl_fail(d, code, what, err);
}

int32_t ts_opencl_start(ts_opencl *d, ts_opencl_kernel kernel, const cl_mem *buffers, const uint32_t *numbers, uint32_t n,
                        uint32_t lanes, const char *what, ts_err err) {
  static const uint32_t with_buffers[TS_OPENCL_KERNELS] = {2, 1, 2, 1}, with_numbers[TS_OPENCL_KERNELS] = {5, 3, 5, 0};
  cl_int code = d->bound[kernel] ? CL_SUCCESS : ts_opencl_bind(d, kernel, d->parts, d->part_count, d->base);
  cl_uint argument = TS_OPENCL_POOL_ARGUMENTS;
  d->bound[kernel] = code == CL_SUCCESS;
  for (uint32_t i = 0; code == CL_SUCCESS && i < with_buffers[kernel]; i++)
    code = d->cl.SetKernelArg(d->kernels[kernel], argument++, sizeof buffers[i], &buffers[i]);
  for (uint32_t i = 0; code == CL_SUCCESS && i < with_numbers[kernel]; i++)
    code = d->cl.SetKernelArg(d->kernels[kernel], argument++, sizeof numbers[i], &numbers[i]);
  /* Groups of one size, whatever the batch: PoCL compiles a kernel again for each size. */
  const uint32_t an_item = d->is_cpu && with_buffers[kernel] == 2 ? ROWS_AN_ITEM : 1;
  const size_t group[2] = {lanes, an_item > 1 ? 8 : GROUP / lanes};
  const size_t items[2] = {lanes, TS_ROUND_UP((n + an_item - 1) / an_item, group[1])};
  if (code == CL_SUCCESS)
    code = d->cl.EnqueueNDRangeKernel(d->queue, d->kernels[kernel], 2, NULL, items, group, 0, NULL, NULL);
  if (code != CL_SUCCESS) return ts_opencl_fail(d, code, what, err);
  d->cl.Flush(d->queue); /* whoever waits next flushes, too */
  return TS_OK;
}
