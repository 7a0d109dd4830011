/* tier.c - rows in the memory of an OpenCL device: a GPU, or, for trials, a CPU. The device has a pool (pool.c), whose places
 * are addresses that nobody can touch: rows come and go through it in batches, each one transfer and one kernel.
 * A batch that is larger than what transfers go through takes several. */
#include "tiers/opencl/device.h"

#include <string.h>

static int32_t opencl_open(ts_tier *tier, uint64_t bytes, const ts_tier_place *place, ts_err err) {
  ts_opencl *d = NULL;
  const int32_t status = ts_opencl_open(place, bytes - place->host_bytes, &d, err);
  if (status != TS_OK) return status;
  tier->state = d;
  tier->slack = bytes - d->kinds[0].limit - d->kinds[1].limit;
  return TS_OK;
}

static void opencl_close(ts_tier *tier) {
  ts_opencl_close(tier->state);
  tier->state = NULL;
}

static void *opencl_take(ts_tier *tier, uint64_t bytes) { return ts_opencl_pool_take(tier->state, bytes); }

static void opencl_give_back(ts_tier *tier, void *block, uint64_t bytes) {
  ts_opencl_pool_give_back(tier->state, block, bytes);
}

/* A name without spaces, as descriptions are made of words. */
static void add_word(ts_text *text, const char *key, const char *name) {
  ts_text_add(text, " %s=", key);
  for (const char *c = name; *c != '\0'; c++) ts_text_add(text, "%c", *c == ' ' ? '_' : *c);
}

static void opencl_describe(const ts_tier *tier, ts_text *text) {
  const ts_opencl *d = tier->state;
  ts_text_add(text, " medium=opencl kind=%s device_type=%s", d->is_cpu ? "emulated" : "measured",
              d->is_cpu ? "cpu" : d->is_gpu ? "gpu" : "accelerator");
  add_word(text, "device", d->name);
  add_word(text, "platform", d->platform);
  add_word(text, "driver", d->driver);
  add_word(text, "version", d->version);
  pthread_mutex_lock(&((ts_opencl *)tier->state)->lock);
  const ts_opencl_kind on_device = d->kinds[0], in_host = d->kinds[1];
  const uint64_t staging = d->up_bytes + d->down_bytes;
  const uint32_t parts = d->part_count, plan = d->planned;
  pthread_mutex_unlock(&((ts_opencl *)tier->state)->lock);
  ts_text_add(text, " pool_bytes=%llu pool_parts=%u pool_ns=%llu staging_bytes=%llu", (unsigned long long)on_device.held, parts,
              (unsigned long long)on_device.ns, (unsigned long long)staging);
  if (d->pool_steps > 0)
    ts_text_add(text, " pool_plan=%s", plan == TS_OPENCL_PLANNED ? "made" : plan == TS_OPENCL_NOT_YET ? "to-come" : "refused");
  ts_text_add(text, " host_bytes=%llu host_ns=%llu", (unsigned long long)in_host.held, (unsigned long long)in_host.ns);
}

/* ---- batches ---- */

/* What `down` has of n rows, each to its place. */
static int32_t spread(ts_opencl *d, uint32_t n, const void *const *rows, uint32_t out, unsigned char *to, uint64_t pitch,
                      const uint32_t *places, ts_err err) {
  cl_int code = CL_SUCCESS;
  unsigned char *from = d->cl.EnqueueMapBuffer(d->queue, d->down, 1, CL_MAP_READ, 0, (size_t)n * out, 0, NULL, NULL, &code);
  if (from == NULL) return ts_opencl_fail(d, code, "read rows of", err);
  for (uint32_t i = 0; i < n; i++)
    if (rows[i] != NULL) memcpy(to + places[i] * pitch, from + (uint64_t)i * out, out);
  ts_opencl_came(d, (uint64_t)n * out);
  code = ts_opencl_let_go(d, d->down, from);
  return code == CL_SUCCESS ? TS_OK : ts_opencl_fail(d, code, "read rows of", err);
}

static const char *const what_reads = "read rows of";

/* n rows through `down`, where each has `out` bytes; `skip` bytes into each, `number` values of the kernel's. */
static int32_t fetch(ts_opencl *d, ts_opencl_kernel kernel, uint32_t n, const void *const *rows, uint32_t skip, uint32_t number,
                     uint32_t out, unsigned char *to, uint64_t pitch, const uint32_t *places, ts_err err) {
  const char *what = what_reads;
  const cl_mem buffers[] = {d->up, d->down};
  const uint32_t numbers[] = {n, number, skip / 4, out / 4, 0};
  int32_t status;
  uint64_t *at = ts_opencl_map(d, n * sizeof *at, what, &status, err);
  if (at == NULL) return status;
  memcpy(at, rows, n * sizeof *at);
  status = ts_opencl_unmap(d, at, what, err);
  if (status == TS_OK) status = ts_opencl_start(d, kernel, buffers, numbers, n, ts_opencl_lanes(d, number), what, err);
  if (status != TS_OK) return status;
  if (places != NULL) return spread(d, n, rows, out, to, pitch, places, err);
  const size_t origin[3] = {0, 0, 0}, region[3] = {out, n, 1};
  const cl_int code = pitch == out || n == 1
                          ? d->cl.EnqueueReadBuffer(d->queue, d->down, 1, 0, (size_t)n * out, to, 0, NULL, NULL)
                          : d->cl.EnqueueReadBufferRect(d->queue, d->down, 1, origin, origin, region, out, 0, pitch, 0, to, 0,
                                                        NULL, NULL);
  if (code != CL_SUCCESS) return ts_opencl_fail(d, code, what, err);
  ts_opencl_came(d, (uint64_t)n * out);
  return TS_OK;
}

/* Rows of `out` bytes that fit both ways at a time. */
static uint32_t rows_at_a_time(const ts_opencl *d, uint32_t out) {
  return (uint32_t)TS_MIN(d->down_bytes / out, d->up_bytes / sizeof(uint64_t));
}

static int32_t opencl_read(ts_tier *tier, uint32_t n, const void *const *rows, uint32_t bytes, void *to, uint64_t pitch,
                           const uint32_t *places, ts_err err) {
  ts_opencl *d = tier->state;
  int32_t status = TS_OK;
  ts_opencl_begin(d);
  ts_opencl_needs(d, n * sizeof(uint64_t), (uint64_t)n * bytes);
  ts_opencl_reach(d, n, rows, bytes);
  for (uint32_t skip = 0, part; status == TS_OK && skip < bytes; skip += part) {
    part = (uint32_t)TS_MIN(bytes - skip, d->down_bytes); /* of a row that is larger than what it goes through */
    const uint32_t most = rows_at_a_time(d, part);
    for (uint32_t first = 0; status == TS_OK && first < n; first += most)
      status = fetch(d, TS_GATHER, TS_MIN(n - first, most), rows + first, skip, part / 4, part,
                     (unsigned char *)to + (places == NULL ? first * pitch : 0) + skip, pitch,
                     places == NULL ? NULL : places + first, err);
  }
  ts_opencl_end(d);
  return status;
}

/* ---- gathers ---- */

/* How many of the rows that are left a CPU gathers while the next are found; multiples of TS_FAST_BLOCK. Each piece wakes threads, so
 * there should be few; the last is waited for when nothing is left to be found, so it should be small. Of 53,248 keys on two cores this
 * takes 4 to 12 % less time than pieces of 8,192 (medians of two runs, uniform and Zipf 1.05). */
#define MOST_IN_PIECE 16384u
#define LEAST_IN_PIECE 2048u
static uint32_t next_piece(uint32_t left) {
  const uint32_t share = TS_MAX(left / 5 * 2, LEAST_IN_PIECE) & ~(LEAST_IN_PIECE / 8 - 1);
  return TS_MIN(TS_MIN(share, MOST_IN_PIECE), left);
}

/* All are found, then fetched. */
static int32_t gather_over_link(ts_opencl *d, const ts_gathering *g, ts_err err) {
  const ts_opencl_kernel kernel = g->widen ? TS_WIDEN : TS_GATHER;
  int32_t status = TS_OK;
  if (g->find(g->context, 0, g->n) == 0) return TS_OK;
  ts_opencl_begin(d);
  ts_opencl_needs(d, g->n * sizeof(uint64_t), (uint64_t)g->n * g->dim * sizeof *g->to);
  ts_opencl_reach(d, g->n, g->rows, g->dim * (g->widen ? 2 : 4));
  for (uint32_t skip = 0, part; status == TS_OK && skip < g->dim; skip += part) {
    part = (uint32_t)TS_MIN(g->dim - skip, d->down_bytes / sizeof *g->to & ~UINT64_C(1)); /* two halves are a word */
    const uint32_t out = part * (uint32_t)sizeof *g->to, most = rows_at_a_time(d, out);
    for (uint32_t first = 0; status == TS_OK && first < g->n; first += most)
      status = fetch(d, kernel, TS_MIN(g->n - first, most), g->rows + first, skip * (g->widen ? 2 : 4), part, out,
                     (unsigned char *)(g->to + first * g->stride + skip), g->stride * sizeof *g->to, NULL, err);
  }
  ts_opencl_end(d);
  return status;
}

/* Memory of ours as the device sees it, which is a CPU. */
static cl_mem same_memory(ts_opencl *d, const void *memory, uint64_t bytes, bool written, int32_t *status, ts_err err) {
  cl_int code = CL_SUCCESS;
  void *there = (void *)(uintptr_t)memory;
  cl_mem buffer = d->cl.CreateBuffer(d->context, (written ? CL_MEM_READ_WRITE : CL_MEM_READ_ONLY) | CL_MEM_USE_HOST_PTR, bytes, there,
                                     &code);
  *status = buffer != NULL ? TS_OK : ts_opencl_fail(d, code, what_reads, err);
  return buffer;
}

/* Starts the gather of m rows that were found; lock held. */
static int32_t start_piece(ts_opencl *d, const ts_gathering *g, cl_mem out, uint32_t first, uint32_t m, ts_err err) {
  int32_t status;
  cl_mem addresses = same_memory(d, g->rows + first, m * sizeof *g->rows, false, &status, err);
  if (addresses == NULL) return status;
  const cl_mem buffers[] = {addresses, out};
  const uint32_t numbers[] = {m, g->dim, 0, (uint32_t)g->stride, first};
  ts_opencl_reach(d, m, g->rows + first, g->dim * (g->widen ? 2 : 4));
  status = ts_opencl_start(d, g->widen ? TS_WIDEN : TS_GATHER, buffers, numbers, m, 1, what_reads, err);
  ts_opencl_release(d, &addresses); /* the kernel has it until it ends */
  return status;
}

/* A device that is a CPU gathers into the caller's memory, piece by piece while the next is found. What is counted is what
 * would cross a link. */
static int32_t gather_here(ts_opencl *d, const ts_gathering *g, ts_err err) {
  const uint64_t bytes = ((g->n - 1) * g->stride + g->dim) * sizeof *g->to;
  cl_mem out = NULL;
  int32_t status = TS_OK;
  for (uint32_t first = 0, m; status == TS_OK && first < g->n; first += m) {
    m = next_piece(g->n - first);
    if (g->find(g->context, first, m) == 0) continue;
    ts_opencl_begin(d);
    if (out == NULL) out = same_memory(d, g->to, bytes, true, &status, err);
    if (status == TS_OK) status = start_piece(d, g, out, first, m, err);
    ts_opencl_end(d);
  }
  if (out == NULL) return status;
  const uint64_t start = ts_now_ns();
  /* The buffer is this memory: the specification has a read to where it lies for that, and nothing is copied. */
  const cl_int code = d->cl.EnqueueReadBuffer(d->queue, out, 1, 0, bytes, g->to, 0, NULL, NULL);
  if (code != CL_SUCCESS && status == TS_OK) status = ts_opencl_fail(d, code, what_reads, err);
  if (status != TS_OK) d->cl.Finish(d->queue); /* nobody writes to the caller's memory, or reads it, after this */
  pthread_mutex_lock(&d->lock);
  ts_opencl_release(d, &out);
  ts_opencl_needs(d, g->n * sizeof(uint64_t), (uint64_t)g->n * g->dim * sizeof *g->to);
  ts_opencl_came(d, (uint64_t)g->n * g->dim * sizeof *g->to);
  d->link.up_bytes += g->n * sizeof(uint64_t);
  d->link.transfers++;
  d->link.ns += ts_now_ns() - start;
  pthread_mutex_unlock(&d->lock);
  return status;
}

static int32_t opencl_gather(ts_tier *tier, const ts_gathering *g, ts_err err) {
  ts_opencl *d = tier->state;
  return g->n == 0 ? TS_OK : (d->is_cpu ? gather_here : gather_over_link)(d, g, err);
}

/* `part` bytes of n rows, `skip` bytes into each. */
static int32_t send(ts_opencl *d, uint32_t n, void *const *rows, const unsigned char *const *from, uint32_t skip, uint32_t part,
                    ts_err err) {
  static const char *const what = "write rows to";
  const cl_mem buffers[] = {d->up};
  const uint32_t numbers[] = {n, part / 4, skip / 4};
  int32_t status;
  uint64_t *at = ts_opencl_map(d, n * (sizeof *at + part), what, &status, err);
  if (at == NULL) return status;
  unsigned char *bytes = (unsigned char *)(at + n);
  for (uint32_t i = 0; i < n; i++) {
    at[i] = (uintptr_t)rows[i];
    memcpy(bytes + (uint64_t)i * part, from[i] + skip, part);
  }
  status = ts_opencl_unmap(d, at, what, err);
  return status == TS_OK ? ts_opencl_start(d, TS_SCATTER, buffers, numbers, n, ts_opencl_lanes(d, part / 4), what, err) : status;
}

static int32_t opencl_write(ts_tier *tier, uint32_t n, void *const *rows, const unsigned char *const *from, uint32_t bytes,
                            ts_err err) {
  ts_opencl *d = tier->state;
  int32_t status = TS_OK;
  ts_opencl_begin(d);
  const uint32_t most_part = (uint32_t)((d->up_bytes - sizeof(uint64_t)) & ~UINT64_C(3));
  ts_opencl_needs(d, n * (sizeof(uint64_t) + bytes), 0);
  ts_opencl_reach(d, n, (const void *const *)rows, bytes);
  for (uint32_t skip = 0, part; status == TS_OK && skip < bytes; skip += part) {
    part = TS_MIN(bytes - skip, most_part);
    const uint32_t most = (uint32_t)(d->up_bytes / (sizeof(uint64_t) + part));
    for (uint32_t first = 0; status == TS_OK && first < n; first += most)
      status = send(d, TS_MIN(n - first, most), rows + first, from + first, skip, part, err);
  }
  ts_opencl_end(d);
  return status;
}

static int32_t opencl_copy(ts_tier *tier, void *to, const void *from, uint32_t bytes, ts_err err) {
  ts_opencl *d = tier->state;
  ts_opencl_begin(d);
  const uint64_t from_at = ts_opencl_at(d, from), to_at = ts_opencl_at(d, to);
  const ts_opencl_part *source = ts_opencl_part_of(d, from_at), *target = ts_opencl_part_of(d, to_at);
  ts_opencl_reach(d, 2, (const void *const[]){from, to}, bytes);
  const cl_int code = d->cl.EnqueueCopyBuffer(d->queue, source->buffer, target->buffer, from_at - source->first,
                                              to_at - target->first, bytes, 0, NULL, NULL);
  ts_opencl_end(d);
  return code == CL_SUCCESS ? TS_OK : ts_opencl_fail(d, code, "move a row on", err);
}

static bool opencl_refused(ts_tier *tier) {
  ts_opencl *d = tier->state;
  pthread_mutex_lock(&d->lock);
  const bool refused = d->longest > 0;
  pthread_mutex_unlock(&d->lock);
  return refused;
}

static void opencl_count(ts_tier *tier, ts_link_counts *out) {
  ts_opencl *d = tier->state;
  pthread_mutex_lock(&d->lock);
  *out = d->link;
  pthread_mutex_unlock(&d->lock);
}

static const ts_tier_device_ops device = {.read = opencl_read,
                                          .gather = opencl_gather,
                                          .write = opencl_write,
                                          .copy = opencl_copy,
                                          .try_steps = ts_opencl_try,
                                          .step = ts_opencl_step,
                                          .stepped = ts_opencl_stepped,
                                          .refused = opencl_refused,
                                          .count = opencl_count};

const ts_tier_ops ts_hbm_opencl_tier = {.type = "HBM_OPENCL",
                                        .place = "HBM",
                                        .write_op = TS_MEDIA_WRITE_CACHED,
                                        .open = opencl_open,
                                        .close = opencl_close,
                                        .take = opencl_take,
                                        .give_back = opencl_give_back,
                                        .describe = opencl_describe,
                                        .device = &device};
