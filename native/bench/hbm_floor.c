/* hbm_floor.c - what an OpenCL device gives a lookup: rows in one buffer there, gathered by one kernel a batch, one transfer each
 * way. Nothing is evicted, admitted, counted or locked. Rows are made and stepped here and sent once, before any round.
 *
 * Options: device=<part of a name>, and index=
 *   known    (default) where the rows of a batch lie is known before it is timed: the gather alone
 *   device   the index is on the device, too: keys go up, the kernel looks for each in open addressing, load at most 0.5
 * Lookups are thread 0's alone, as the device has one queue. */
#include "contender.h"
#include "tiers/opencl/cl.h"

#include <stdlib.h>
#include <string.h>

#define GROUP 64u /* items; BENCH_BATCH is a multiple */
#define MOST_BATCHES 1024u
#define NONE INT64_MIN

static const char source[] =
    "#define MIX 0xd6e8feb86659fd93UL\n"
    "__kernel void known(__global const uint *rows, __global const uint *at, __global uint *out) {\n"
    "  const size_t i = get_global_id(0), from = (size_t)at[i] * ROW;\n"
    "  for (uint j = 0; j < DIM; j++) out[i * DIM + j] = rows[from + j];\n"
    "}\n"
    "__kernel void sought(__global const uint *rows, __global const long *sought, __global uint *out,\n"
    "                     __global const long *keys, __global const uint *at, const ulong mask) {\n"
    "  const size_t i = get_global_id(0);\n"
    "  const long key = sought[i];\n"
    "  ulong h = (ulong)key;\n"
    "  h = (h ^ (h >> 32)) * MIX;\n"
    "  h = (h ^ (h >> 32)) * MIX;\n"
    "  h = (h ^ (h >> 32)) & mask;\n"
    "  while (keys[h] != key) h = (h + 1) & mask;\n"
    "  const size_t from = (size_t)at[h] * ROW;\n"
    "  for (uint j = 0; j < DIM; j++) out[i * DIM + j] = rows[from + j];\n"
    "}\n";

static struct {
  ts_cl cl;
  cl_context context;
  cl_command_queue queue;
  cl_kernel kernel;
  cl_mem rows, up, out, keys, at;
  bool on_device; /* the index */
  /* here */
  uint64_t count, mask; /* rows; slots of the index less 1 */
  float *made;          /* [count][BENCH_ROW_FLOATS], until they are sent */
  int64_t *slot_keys;
  uint32_t *slot_rows;
  bench_distinct distinct;
  struct {
    const int64_t *keys;
    uint32_t *rows;
  } batches[MOST_BATCHES]; /* that were seen */
  uint32_t seen;
} f;

static bool failed(cl_int code, const char *what, char *error) {
  char words[64];
  return bench_fail(error, "Cannot %s the device: %s", what, ts_cl_words(code, words));
}

static cl_mem buffer(uint64_t bytes, const void *from, cl_int *code) {
  cl_mem made = *code == CL_SUCCESS ? f.cl.CreateBuffer(f.context, CL_MEM_READ_WRITE, bytes, NULL, code) : NULL;
  if (made != NULL && from != NULL) *code = f.cl.EnqueueWriteBuffer(f.queue, made, 1, 0, bytes, from, 0, NULL, NULL);
  return made;
}

/* The first device whose name has the word; without one, the first of all. */
static bool choose(const char *wanted, cl_device_id *out, char *error) {
  cl_platform_id platforms[16];
  cl_uint count = 0;
  if (f.cl.GetPlatformIDs(16, platforms, &count) != CL_SUCCESS || count == 0)
    return bench_fail(error, "no driver of OpenCL: pocl-opencl-icd brings one that computes on the CPU");
  for (cl_uint p = 0; p < TS_MIN(count, 16u); p++) {
    cl_device_id devices[16];
    cl_uint n = 0;
    if (f.cl.GetDeviceIDs(platforms[p], CL_DEVICE_TYPE_ALL, 16, devices, &n) != CL_SUCCESS) continue;
    for (cl_uint i = 0; i < TS_MIN(n, 16u); i++) {
      char name[256] = "";
      f.cl.GetDeviceInfo(devices[i], CL_DEVICE_NAME, sizeof name - 1, name, NULL);
      if (strstr(name, wanted) == NULL) continue;
      *out = devices[i];
      return true;
    }
  }
  return bench_fail(error, "no device of OpenCL has \"%s\" in its name", wanted);
}

bool contender_open(const bench_options *options, uint64_t keys, char *error) {
  char text[512] = "", flags[128];
  const char *sources = source;
  cl_device_id device = NULL;
  cl_int code = CL_SUCCESS;
  if (ts_cl_load(&f.cl, (ts_err){text, sizeof text}) != TS_OK) return bench_fail(error, "%s", text);
  if (!choose(bench_text(options, "device", ""), &device, error)) return false;
  f.on_device = strcmp(bench_text(options, "index", "known"), "device") == 0;
  f.context = f.cl.CreateContext(NULL, 1, &device, NULL, NULL, &code);
  f.queue = code == CL_SUCCESS ? f.cl.CreateCommandQueue(f.context, device, 0, &code) : NULL;
  cl_program program = code == CL_SUCCESS ? f.cl.CreateProgramWithSource(f.context, 1, &sources, NULL, &code) : NULL;
  snprintf(flags, sizeof flags, "-cl-std=CL1.2 -DROW=%uu -DDIM=%uu", BENCH_ROW_FLOATS, BENCH_DIM);
  if (code == CL_SUCCESS) code = f.cl.BuildProgram(program, 1, &device, flags, NULL, NULL);
  if (code == CL_SUCCESS) f.kernel = f.cl.CreateKernel(program, f.on_device ? "sought" : "known", &code);
  if (code != CL_SUCCESS) return failed(code, "open", error);
  uint64_t slots = 1024;
  while (slots < 2 * keys) slots *= 2;
  f.mask = slots - 1;
  f.made = bench_pages(keys * BENCH_ROW_BYTES);
  f.slot_keys = bench_pages(slots * sizeof *f.slot_keys);
  f.slot_rows = bench_pages(slots * sizeof *f.slot_rows);
  for (uint64_t i = 0; i < slots; i++) f.slot_keys[i] = NONE;
  bench_distinct_open(&f.distinct);
  return true;
}

/* The slot of a key, or the free one where it would be. */
static uint64_t slot_of(int64_t key) {
  uint64_t h = bench_mix((uint64_t)key);
  for (h &= f.mask; f.slot_keys[h] != key && f.slot_keys[h] != NONE;) h = (h + 1) & f.mask;
  return h;
}

bool contender_create(const int64_t *keys, uint32_t n, char *error) {
  (void)error;
  for (uint32_t i = 0; i < n; i++) {
    const uint64_t slot = slot_of(keys[i]);
    float *row = f.made + f.count * BENCH_ROW_FLOATS;
    f.slot_keys[slot] = keys[i];
    f.slot_rows[slot] = (uint32_t)f.count++;
    for (uint32_t j = 0; j < BENCH_DIM; j++) row[j] = BENCH_FIRST_WEIGHT, row[BENCH_DIM + j] = BENCH_FIRST_ACCUMULATOR;
  }
  return true;
}

bool contender_update(unsigned thread, const int64_t *keys, uint32_t n, const float *gradients, char *error) {
  (void)thread;
  if (f.made == NULL) return bench_fail(error, "Cannot step: the rows are on the device, which only gathers here");
  bench_distinct_find(&f.distinct, keys, n, gradients);
  for (uint32_t i = 0; i < f.distinct.count; i++)
    bench_adagrad(f.made + (uint64_t)f.slot_rows[slot_of(f.distinct.keys[i])] * BENCH_ROW_FLOATS, f.distinct.gradients[i]);
  return true;
}

bool contender_ready(const bench_options *options, char *error) {
  (void)options;
  cl_int code = CL_SUCCESS;
  const uint64_t slots = f.mask + 1;
  f.rows = buffer(f.count * BENCH_ROW_BYTES, f.made, &code);
  f.up = buffer(BENCH_BATCH * sizeof(int64_t), NULL, &code);
  f.out = buffer(BENCH_BATCH * BENCH_DIM * sizeof(float), NULL, &code);
  if (f.on_device) f.keys = buffer(slots * sizeof *f.slot_keys, f.slot_keys, &code);
  if (f.on_device) f.at = buffer(slots * sizeof *f.slot_rows, f.slot_rows, &code);
  const cl_mem buffers[] = {f.rows, f.up, f.out, f.keys, f.at};
  for (cl_uint i = 0; code == CL_SUCCESS && i < (f.on_device ? 5 : 3); i++)
    code = f.cl.SetKernelArg(f.kernel, i, sizeof buffers[i], &buffers[i]);
  if (code == CL_SUCCESS && f.on_device) code = f.cl.SetKernelArg(f.kernel, 5, sizeof f.mask, &f.mask);
  if (code != CL_SUCCESS) return failed(code, "send rows to", error);
  f.made = NULL; /* its pages stay: a process of a bench ends soon */
  return true;
}

/* Where a batch's rows lie; found out when it is first seen, which is in no round that counts. */
static const uint32_t *rows_of(const int64_t *keys) {
  for (uint32_t b = 0; b < f.seen; b++)
    if (f.batches[b].keys == keys) return f.batches[b].rows;
  if (f.seen == MOST_BATCHES) return NULL;
  uint32_t *rows = malloc(BENCH_BATCH * sizeof *rows);
  if (rows == NULL) return NULL;
  for (uint32_t i = 0; i < BENCH_BATCH; i++) rows[i] = f.slot_rows[slot_of(keys[i])];
  f.batches[f.seen].keys = keys;
  f.batches[f.seen++].rows = rows;
  return rows;
}

bool contender_lookup(unsigned thread, const int64_t *keys, uint32_t n, float *out, char *error) {
  if (thread != 0 || n != BENCH_BATCH) return bench_fail(error, "Cannot gather %u keys of thread %u: %u of thread 0", n, thread, BENCH_BATCH);
  const uint32_t *rows = f.on_device ? NULL : rows_of(keys);
  if (rows == NULL && !f.on_device) return bench_fail(error, "Cannot gather: more than %u batches", MOST_BATCHES);
  const size_t items = BENCH_BATCH, group = GROUP;
  const void *up = f.on_device ? (const void *)keys : rows;
  cl_int code = f.cl.EnqueueWriteBuffer(f.queue, f.up, 0, 0, n * (f.on_device ? sizeof *keys : sizeof *rows), up, 0, NULL, NULL);
  if (code == CL_SUCCESS) code = f.cl.EnqueueNDRangeKernel(f.queue, f.kernel, 1, NULL, &items, &group, 0, NULL, NULL);
  if (code == CL_SUCCESS) code = f.cl.EnqueueReadBuffer(f.queue, f.out, 1, 0, (size_t)n * BENCH_DIM * sizeof *out, out, 0, NULL, NULL);
  return code == CL_SUCCESS || failed(code, "gather rows of", error);
}

bool contender_command(const char *verb, const bench_options *options, char *reply, char *error) {
  (void)options, (void)reply;
  return bench_fail(error, "Cannot do \"%s\"", verb);
}
