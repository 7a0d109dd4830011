/* dnnl.c - finds oneDNN and fills the table. */
#include "wdl/dense/dnnl.h"

#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

#define AVX512_CORE_BF16 0xe7 /* dnnl_cpu_isa_avx512_core_bf16: the bits of all it includes */

/* The first fields of dnnl_version_t, the same in versions 2 and 3. */
typedef struct version {
  int major, minor, patch;
} version;

static struct {
  pthread_once_t once;
  ts_dnnl table;
  int32_t status;
  char message[512];
} library = {.once = PTHREAD_ONCE_INIT};

static _Thread_local bool single_thread_asked;

static int32_t open_primitives(ts_dnnl *t, void *handle, ts_err err) {
  const ts_symbol symbols[] = {
      {"dnnl_engine_create", (void **)&t->engine_create},
      {"dnnl_get_effective_cpu_isa", (void **)&t->effective_cpu_isa},
      {"dnnl_stream_create", (void **)&t->stream_create},
      {"dnnl_stream_wait", (void **)&t->stream_wait},
      {"dnnl_stream_destroy", (void **)&t->stream_destroy},
      {"dnnl_memory_desc_init_by_strides", (void **)&t->md_by_strides},
      {"dnnl_memory_desc_init_by_tag", (void **)&t->md_by_tag},
      {"dnnl_memory_desc_get_size", (void **)&t->md_size},
      {"dnnl_matmul_desc_init", (void **)&t->matmul_init},
      {"dnnl_primitive_attr_create", (void **)&t->attr_create},
      {"dnnl_primitive_attr_destroy", (void **)&t->attr_destroy},
      {"dnnl_primitive_attr_set_scratchpad_mode", (void **)&t->attr_scratchpad},
      {"dnnl_primitive_attr_set_post_ops", (void **)&t->attr_post_ops},
      {"dnnl_post_ops_create", (void **)&t->post_ops_create},
      {"dnnl_post_ops_destroy", (void **)&t->post_ops_destroy},
      {"dnnl_post_ops_append_eltwise", (void **)&t->post_ops_eltwise},
      {"dnnl_post_ops_append_binary", (void **)&t->post_ops_binary},
      {"dnnl_post_ops_append_sum", (void **)&t->post_ops_sum},
      {"dnnl_primitive_desc_create", (void **)&t->pd_create},
      {"dnnl_primitive_desc_destroy", (void **)&t->pd_destroy},
      {"dnnl_primitive_desc_query", (void **)&t->pd_query},
      {"dnnl_primitive_desc_query_md", (void **)&t->pd_query_md},
      {"dnnl_primitive_create", (void **)&t->primitive_create},
      {"dnnl_primitive_execute", (void **)&t->primitive_execute},
      {"dnnl_primitive_destroy", (void **)&t->primitive_destroy},
      {"dnnl_memory_create", (void **)&t->memory_create},
      {"dnnl_memory_set_data_handle", (void **)&t->memory_set},
      {"dnnl_memory_destroy", (void **)&t->memory_destroy},
      {NULL, NULL},
  };
  int32_t status = ts_library_symbols(handle, "oneDNN", symbols, err);
  if (status != TS_OK) return status;
  if (t->engine_create(&t->engine, TS_DNNL_CPU, 0) != 0)
    return ts_fail(err, TS_EINTERNAL, "Cannot use oneDNN: it could not make an engine for the CPU");
  t->cpu_isa = t->effective_cpu_isa();
  t->primitives = true;
  return TS_OK;
}

static void open_library(void) {
  static const char *const sonames[] = {"libdnnl.so.2", "libdnnl.so.3", NULL};
  ts_err err = {library.message, sizeof library.message};
  ts_dnnl *t = &library.table;
  void *handle;
  const version *(*get_version)(void) = NULL;
  const ts_symbol symbols[] = {
      {"dnnl_sgemm", (void **)&t->sgemm}, {"dnnl_version", (void **)&get_version}, {NULL, NULL}};
  library.status = ts_library_open(sonames, "libdnnl2", &handle, err);
  if (library.status == TS_OK) library.status = ts_library_symbols(handle, "oneDNN", symbols, err);
  if (library.status != TS_OK) return;
  const version *v = get_version();
  t->major = v->major;
  t->minor = v->minor;
  t->patch = v->patch;
  /* dlsym also looks into the libraries oneDNN was linked with; a build without OpenMP needs no limit. */
  void *limit = dlsym(handle, "omp_set_num_threads");
  memcpy(&t->omp_set_num_threads, &limit, sizeof limit);
  if (t->major == 2) library.status = open_primitives(t, handle, err);
}

int32_t ts_dnnl_open(const ts_dnnl **out, ts_err err) {
  pthread_once(&library.once, open_library);
  *out = &library.table;
  return library.status == TS_OK ? TS_OK : ts_fail(err, library.status, "%s", library.message);
}

int32_t ts_dnnl_need_primitives(const ts_dnnl *dnnl, const char *what, const char *instead, ts_err err) {
  if (dnnl->primitives) return TS_OK;
  return ts_fail(err, TS_EUNAVAILABLE, "Cannot use %s: it needs oneDNN 2.x, found %d.%d.%d; install libdnnl2 or %s",
                 what, dnnl->major, dnnl->minor, dnnl->patch, instead);
}

int32_t ts_dnnl_need_bf16(const ts_dnnl *dnnl, ts_err err) {
  int32_t status = ts_dnnl_need_primitives(dnnl, "BF16 products", "set bf16 to off or rows", err);
  if (status != TS_OK) return status;
#if defined(__x86_64__)
  if (!__builtin_cpu_supports("avx512bf16"))
    return ts_fail(err, TS_EUNAVAILABLE, "Cannot use BF16 products: this CPU lacks avx512_bf16; set bf16 to off or rows");
#else
  return ts_fail(err, TS_EUNAVAILABLE,
                 "Cannot use BF16 products: they need an x86-64 CPU with avx512_bf16; set bf16 to off or rows");
#endif
  if ((dnnl->cpu_isa & AVX512_CORE_BF16) != AVX512_CORE_BF16)
    return ts_fail(err, TS_EUNAVAILABLE,
                   "Cannot use BF16 products: this CPU has avx512_bf16, but oneDNN does not use it (its instruction set "
                   "is limited to 0x%x, see ONEDNN_MAX_CPU_ISA); lift the limit or set bf16 to off or rows",
                   (unsigned)dnnl->cpu_isa);
  return TS_OK;
}

void ts_dnnl_single_thread(const ts_dnnl *dnnl) {
  if (single_thread_asked) return;
  if (dnnl->omp_set_num_threads != NULL) dnnl->omp_set_num_threads(1);
  single_thread_asked = true;
}
