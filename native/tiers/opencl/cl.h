/* cl.h - the part of OpenCL that the tier of device memory uses: types, constants and prototypes of the Khronos specification
 * (OpenCL 1.2), so that building needs no headers of it; and the functions themselves, of the ICD loader that is opened when a
 * store first asks for it. */
#ifndef TS_TIERS_OPENCL_CL_H
#define TS_TIERS_OPENCL_CL_H

#include "base/base.h"

typedef struct _cl_platform_id *cl_platform_id;
typedef struct _cl_device_id *cl_device_id;
typedef struct _cl_context *cl_context;
typedef struct _cl_command_queue *cl_command_queue;
typedef struct _cl_mem *cl_mem;
typedef struct _cl_program *cl_program;
typedef struct _cl_kernel *cl_kernel;
typedef struct _cl_event *cl_event;
typedef int32_t cl_int;
typedef uint32_t cl_uint;
typedef uint64_t cl_bitfield;

enum {
  CL_SUCCESS = 0,
  CL_MEM_OBJECT_ALLOCATION_FAILURE = -4,
  CL_OUT_OF_RESOURCES = -5,
  CL_OUT_OF_HOST_MEMORY = -6,
  CL_PLATFORM_NOT_FOUND_KHR = -1001
};
enum {
  CL_PLATFORM_NAME = 0x0902,
  CL_DEVICE_TYPE = 0x1000,
  CL_DEVICE_MAX_MEM_ALLOC_SIZE = 0x1010,
  CL_DEVICE_SINGLE_FP_CONFIG = 0x101B,
  CL_DEVICE_GLOBAL_MEM_SIZE = 0x101F,
  CL_DEVICE_ENDIAN_LITTLE = 0x1026,
  CL_DEVICE_NAME = 0x102B,
  CL_DRIVER_VERSION = 0x102D,
  CL_DEVICE_VERSION = 0x102F,
  CL_PROGRAM_BUILD_LOG = 0x1183
};
#define CL_DEVICE_TYPE_CPU (UINT64_C(1) << 1)
#define CL_DEVICE_TYPE_GPU (UINT64_C(1) << 2)
#define CL_DEVICE_TYPE_ALL UINT64_C(0xFFFFFFFF)
#define CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT (UINT64_C(1) << 7)
#define CL_MEM_READ_WRITE UINT64_C(1)
#define CL_MEM_READ_ONLY (UINT64_C(1) << 2)
#define CL_MEM_USE_HOST_PTR (UINT64_C(1) << 3)
#define CL_MEM_ALLOC_HOST_PTR (UINT64_C(1) << 4)
#define CL_MAP_READ UINT64_C(1)
#define CL_MAP_WRITE_INVALIDATE_REGION UINT64_C(4)

/* X(result, name, arguments): the specification's functions, without their prefix. */
#define TS_CL_FUNCTIONS(X)                                                                                                     \
  X(cl_int, GetPlatformIDs, (cl_uint, cl_platform_id *, cl_uint *))                                                            \
  X(cl_int, GetPlatformInfo, (cl_platform_id, cl_uint, size_t, void *, size_t *))                                              \
  X(cl_int, GetDeviceIDs, (cl_platform_id, cl_bitfield, cl_uint, cl_device_id *, cl_uint *))                                   \
  X(cl_int, GetDeviceInfo, (cl_device_id, cl_uint, size_t, void *, size_t *))                                                  \
  X(cl_context, CreateContext,                                                                                                 \
    (const intptr_t *, cl_uint, const cl_device_id *, void (*)(const char *, const void *, size_t, void *), void *, cl_int *)) \
  X(cl_int, ReleaseContext, (cl_context))                                                                                      \
  X(cl_command_queue, CreateCommandQueue, (cl_context, cl_device_id, cl_bitfield, cl_int *))                                   \
  X(cl_int, ReleaseCommandQueue, (cl_command_queue))                                                                           \
  X(cl_program, CreateProgramWithSource, (cl_context, cl_uint, const char **, const size_t *, cl_int *))                       \
  X(cl_int, BuildProgram,                                                                                                      \
    (cl_program, cl_uint, const cl_device_id *, const char *, void (*)(cl_program, void *), void *))                           \
  X(cl_int, GetProgramBuildInfo, (cl_program, cl_device_id, cl_uint, size_t, void *, size_t *))                                \
  X(cl_int, ReleaseProgram, (cl_program))                                                                                      \
  X(cl_kernel, CreateKernel, (cl_program, const char *, cl_int *))                                                             \
  X(cl_int, ReleaseKernel, (cl_kernel))                                                                                        \
  X(cl_int, SetKernelArg, (cl_kernel, cl_uint, size_t, const void *))                                                          \
  X(cl_mem, CreateBuffer, (cl_context, cl_bitfield, size_t, void *, cl_int *))                                                 \
  X(cl_int, ReleaseMemObject, (cl_mem))                                                                                        \
  X(cl_int, EnqueueFillBuffer,                                                                                                 \
    (cl_command_queue, cl_mem, const void *, size_t, size_t, size_t, cl_uint, const cl_event *, cl_event *))                   \
  X(cl_int, EnqueueCopyBuffer,                                                                                                 \
    (cl_command_queue, cl_mem, cl_mem, size_t, size_t, size_t, cl_uint, const cl_event *, cl_event *))                         \
  X(void *, EnqueueMapBuffer,                                                                                                  \
    (cl_command_queue, cl_mem, cl_uint, cl_bitfield, size_t, size_t, cl_uint, const cl_event *, cl_event *, cl_int *))         \
  X(cl_int, EnqueueUnmapMemObject, (cl_command_queue, cl_mem, void *, cl_uint, const cl_event *, cl_event *))                  \
  X(cl_int, EnqueueNDRangeKernel,                                                                                              \
    (cl_command_queue, cl_kernel, cl_uint, const size_t *, const size_t *, const size_t *, cl_uint, const cl_event *,          \
     cl_event *))                                                                                                              \
  X(cl_int, EnqueueWriteBuffer,                                                                                                \
    (cl_command_queue, cl_mem, cl_uint, size_t, size_t, const void *, cl_uint, const cl_event *, cl_event *))                  \
  X(cl_int, EnqueueReadBuffer,                                                                                                 \
    (cl_command_queue, cl_mem, cl_uint, size_t, size_t, void *, cl_uint, const cl_event *, cl_event *))                        \
  X(cl_int, EnqueueReadBufferRect,                                                                                             \
    (cl_command_queue, cl_mem, cl_uint, const size_t *, const size_t *, const size_t *, size_t, size_t, size_t, size_t,        \
     void *, cl_uint, const cl_event *, cl_event *))                                                                           \
  X(cl_int, Flush, (cl_command_queue))                                                                                         \
  X(cl_int, Finish, (cl_command_queue))

typedef struct ts_cl {
#define TS_CL_MEMBER(result, name, arguments) result(*name) arguments;
  TS_CL_FUNCTIONS(TS_CL_MEMBER)
#undef TS_CL_MEMBER
} ts_cl;

/* Opens the ICD loader. Errors: TS_EUNAVAILABLE, which names the package that brings it. */
int32_t ts_cl_load(ts_cl *cl, ts_err err);
/* Drivers may have threads from here on; a child that is forked later is refused by ts_cl_load. */
void ts_cl_used(void);
/* An error code of OpenCL in words: "-5 (out of resources)" into text, which is returned. */
const char *ts_cl_words(cl_int code, char text[64]);
/* TS_ENOMEM where memory was refused, of the device or the host; else TS_EIO. */
int32_t ts_cl_status(cl_int code);

#endif
