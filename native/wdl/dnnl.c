/* dnnl.c - finds oneDNN. Its C interface is stable over versions 2 and 3 for the one function used. */
#include "wdl/dnnl.h"

#include <dlfcn.h>
#include <string.h>

int32_t ts_dnnl_open(ts_dnnl *out, ts_err err) {
  static const char *const sonames[] = {"libdnnl.so.2", "libdnnl.so.3", NULL};
  void *library;
  int32_t status = ts_library_open(sonames, "libdnnl2", &library, err);
  if (status != TS_OK) return status;
  const ts_symbol symbols[] = {{"dnnl_sgemm", (void **)&out->sgemm}, {NULL, NULL}};
  status = ts_library_symbols(library, "oneDNN", symbols, err);
  /* dlsym also looks into the libraries oneDNN was linked with; a build without OpenMP needs no limit. */
  void *limit = dlsym(library, "omp_set_num_threads");
  memcpy(&out->omp_set_num_threads, &limit, sizeof limit);
  return status;
}
