/* cl.c - see cl.h. */
#include "tiers/opencl/cl.h"

#include "base/owner.h"

#include <stdio.h>

static ts_first_user first_user = TS_FIRST_USER;

void ts_cl_used(void) { ts_first_user_note(&first_user); }

int32_t ts_cl_load(ts_cl *cl, ts_err err) {
  static const char *const sonames[] = {"libOpenCL.so.1", NULL};
  void *handle;
  const ts_symbol symbols[] = {
#define SYMBOL(result, name, arguments) {"cl" #name, (void **)&cl->name},
      TS_CL_FUNCTIONS(SYMBOL)
#undef SYMBOL
      {NULL, NULL},
  };
  int32_t status = ts_library_open(sonames, "ocl-icd-libopencl1", &handle, err);
  if (status == TS_OK) status = ts_first_user_check(&first_user, "OpenCL", err);
  return status == TS_OK ? ts_library_symbols(handle, sonames[0], symbols, err) : status;
}

const char *ts_cl_words(cl_int code, char text[64]) {
  const char *words = code == CL_MEM_OBJECT_ALLOCATION_FAILURE ? "no memory left on the device"
                      : code == CL_OUT_OF_RESOURCES            ? "out of resources"
                      : code == CL_OUT_OF_HOST_MEMORY          ? "no memory left on the host"
                                                               : "an OpenCL error";
  snprintf(text, 64, "%d (%s)", code, words);
  return text;
}

int32_t ts_cl_status(cl_int code) {
  return code == CL_MEM_OBJECT_ALLOCATION_FAILURE || code == CL_OUT_OF_RESOURCES || code == CL_OUT_OF_HOST_MEMORY ? TS_ENOMEM
                                                                                                                : TS_EIO;
}
