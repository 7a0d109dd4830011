/* refusing_device.h - a device whose n-th call is refused as if it had no memory left, whatever thread makes it, and that can
 * say that it is a GPU. The functions of
 * OpenCL come through dlsym, which the linker gives us (--wrap, see the Makefile): one file of a program includes this. */
#ifndef TS_TEST_REFUSING_DEVICE_H
#define TS_TEST_REFUSING_DEVICE_H

#include "test/store_types.h"
#include "tiers/opencl/cl.h"

#include <dlfcn.h>

static _Atomic uint64_t asked, refuse_at; /* calls so far; the one that is refused, 0: none */
static _Atomic bool hit;
static ts_cl real;

static bool refuses(void) {
  const bool now = atomic_fetch_add(&asked, 1) + 1 == refuse_at;
  if (now) hit = true;
  return now;
}

#define REFUSED CL_MEM_OBJECT_ALLOCATION_FAILURE
#define GIVE(name, parameters, arguments) \
  static cl_int my_##name parameters { return refuses() ? REFUSED : real.name arguments; }
#define MAKE(type, name, parameters, arguments) \
  static type my_##name parameters {            \
    if (!refuses()) return real.name arguments; \
    *code = REFUSED;                            \
    return NULL;                                \
  }
MAKE(cl_context, CreateContext, (const intptr_t *p, cl_uint n, const cl_device_id *d, void (*f)(const char *, const void *, size_t, void *), void *u, cl_int *code), (p, n, d, f, u, code))
MAKE(cl_command_queue, CreateCommandQueue, (cl_context c, cl_device_id d, cl_bitfield p, cl_int *code), (c, d, p, code))
MAKE(cl_program, CreateProgramWithSource, (cl_context c, cl_uint n, const char **s, const size_t *l, cl_int *code), (c, n, s, l, code))
GIVE(BuildProgram, (cl_program p, cl_uint n, const cl_device_id *d, const char *o, void (*f)(cl_program, void *), void *u), (p, n, d, o, f, u))
MAKE(cl_kernel, CreateKernel, (cl_program p, const char *name, cl_int *code), (p, name, code))
GIVE(SetKernelArg, (cl_kernel k, cl_uint i, size_t n, const void *v), (k, i, n, v))
static _Atomic bool is_full; /* it has no more memory of its own */
static cl_mem my_CreateBuffer(cl_context c, cl_bitfield f, size_t n, void *h, cl_int *code) {
  if (!refuses() && !(is_full && (f & (CL_MEM_USE_HOST_PTR | CL_MEM_ALLOC_HOST_PTR)) == 0)) return real.CreateBuffer(c, f, n, h, code);
  *code = REFUSED;
  return NULL;
}
GIVE(EnqueueFillBuffer, (cl_command_queue q, cl_mem b, const void *p, size_t pn, size_t at, size_t n, cl_uint w, const cl_event *l, cl_event *e), (q, b, p, pn, at, n, w, l, e))
GIVE(EnqueueCopyBuffer, (cl_command_queue q, cl_mem a, cl_mem b, size_t from, size_t to, size_t n, cl_uint w, const cl_event *l, cl_event *e), (q, a, b, from, to, n, w, l, e))
MAKE(void *, EnqueueMapBuffer, (cl_command_queue q, cl_mem b, cl_uint wait, cl_bitfield f, size_t at, size_t n, cl_uint w, const cl_event *l, cl_event *e, cl_int *code), (q, b, wait, f, at, n, w, l, e, code))
GIVE(EnqueueNDRangeKernel, (cl_command_queue q, cl_kernel k, cl_uint d, const size_t *o, const size_t *g, const size_t *s, cl_uint w, const cl_event *l, cl_event *e), (q, k, d, o, g, s, w, l, e))
GIVE(EnqueueWriteBuffer, (cl_command_queue q, cl_mem b, cl_uint wait, size_t at, size_t n, const void *p, cl_uint w, const cl_event *l, cl_event *e), (q, b, wait, at, n, p, w, l, e))
GIVE(EnqueueReadBuffer, (cl_command_queue q, cl_mem b, cl_uint wait, size_t at, size_t n, void *p, cl_uint w, const cl_event *l, cl_event *e), (q, b, wait, at, n, p, w, l, e))
GIVE(EnqueueReadBufferRect, (cl_command_queue q, cl_mem b, cl_uint wait, const size_t *o, const size_t *h, const size_t *r, size_t a, size_t c, size_t x, size_t y, void *p, cl_uint w, const cl_event *l, cl_event *e), (q, b, wait, o, h, r, a, c, x, y, p, w, l, e))
GIVE(EnqueueUnmapMemObject, (cl_command_queue q, cl_mem b, void *p, cl_uint w, const cl_event *l, cl_event *e), (q, b, p, w, l, e))
GIVE(Flush, (cl_command_queue q), (q))
GIVE(Finish, (cl_command_queue q), (q))

/* A device that says that it is a GPU takes a GPU's way: rows by lanes side by side, and over a link. */
static bool says_gpu;
static cl_int my_GetDeviceInfo(cl_device_id d, cl_uint what, size_t n, void *value, size_t *needed) {
  const cl_int code = real.GetDeviceInfo(d, what, n, value, needed);
  if (says_gpu && what == CL_DEVICE_TYPE && n == sizeof(uint64_t)) memcpy(value, &(uint64_t){CL_DEVICE_TYPE_GPU}, n);
  return code;
}

#define ALL(X)                                                                                                               \
  X(CreateContext) X(CreateCommandQueue) X(CreateProgramWithSource) X(BuildProgram) X(CreateKernel) X(SetKernelArg)          \
  X(CreateBuffer) X(EnqueueFillBuffer) X(EnqueueCopyBuffer) X(EnqueueMapBuffer) X(EnqueueNDRangeKernel) X(EnqueueWriteBuffer) \
  X(EnqueueReadBuffer) X(EnqueueReadBufferRect) X(EnqueueUnmapMemObject) X(Flush) X(Finish) X(GetDeviceInfo)

void *__real_dlsym(void *handle, const char *name);
void *__wrap_dlsym(void *handle, const char *name);
void *__wrap_dlsym(void *handle, const char *name) {
  void *found = __real_dlsym(handle, name);
#define MINE(function)                               \
  if (strcmp(name, "cl" #function) == 0) {           \
    memcpy(&real.function, &found, sizeof found);    \
    return (void *)(uintptr_t)my_##function;         \
  }
  ALL(MINE)
  return found;
}

static char text[512];
#define ERR text, sizeof text

/* From now on the n-th call is refused. */
static inline void refuse_call(uint64_t n) {
  asked = 0;
  hit = false;
  text[0] = '\0';
  refuse_at = n;
}

/* Whether a call ended as it should: well, or, if a call of the device was refused, with the error that says so. */
static inline bool ended_well(int32_t status) {
  return status == TS_OK || (hit && status == TS_ENOMEM && strstr(text, "no memory left on the device") != NULL);
}

#endif
