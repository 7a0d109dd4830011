/* pool.c - memory of a device for rows. It is a range of addresses that nobody may touch, of which some have memory: parts, at
 * most eight, each one buffer. Between parts lie addresses without memory, so that no row is in two.
 *
 * Without hbm_pool_steps the device's share is one part, taken at opening. With them it is taken as rows need it, a quarter of
 * the share and then as much again as there is. Where the steps are over, one buffer is made of what they need, with room for
 * as many steps more as they would take, and the parts are copied there. Transfers' buffers are made as large as the steps
 * used them. A share is never exceeded, also not while both are there: where that would be, things stay as they are.
 *
 * With hbm_host_bytes the pool goes on in memory of the host, which kernels reach over the link, when the device's share is
 * used up, or the device refuses. */
#include "tiers/opencl/device.h"

#include <string.h>
#include <sys/mman.h>

#define GAP 64u          /* bytes between parts: where blocks are aligned to */
#define OF_A_KIND 4u     /* parts: a quarter, as much again, ... */
#define SHARE 4u         /* the first part is so much of what its kind may have */
#define HUGE_FROM (UINT64_C(16) << 20) /* bytes of a part: 4096 pages are more than translation caches have */
#define LONGEST_WAIT 1024u /* blocks that are refused before a device that refused memory is asked again */
_Static_assert(2 * OF_A_KIND == TS_OPENCL_PARTS, "both kinds fit");

/* ---- buffers ---- */

/* Drivers may take memory when it is first used: a GPU's is used at once, so that later calls have it. Pages of a CPU come
 * as rows do. */
int32_t ts_opencl_take_buffer(ts_opencl *d, uint64_t bytes, bool in_host, cl_mem *out, ts_err err) {
  const uint32_t zero = 0;
  cl_int code = CL_SUCCESS;
  *out = d->cl.CreateBuffer(d->context, CL_MEM_READ_WRITE | (in_host ? CL_MEM_ALLOC_HOST_PTR : 0), bytes, NULL, &code);
  if (*out != NULL)
    code = d->cl.EnqueueFillBuffer(d->queue, *out, &zero, sizeof zero, 0, d->is_cpu ? sizeof zero : bytes, 0, NULL, NULL);
  if (code == CL_SUCCESS) code = d->cl.Finish(d->queue);
  if (code == CL_SUCCESS) return TS_OK;
  ts_opencl_release(d, out);
  return ts_opencl_fail(d, code, in_host ? "take memory of the host for" : "take memory of", err);
}

void ts_opencl_release(ts_opencl *d, cl_mem *buffer) {
  if (*buffer != NULL) d->cl.ReleaseMemObject(*buffer);
  *buffer = NULL;
}

/* A device that is a CPU gets memory of ours, in huge pages: its drivers ask for none, and rows lie far apart. */
static int32_t take_pages(ts_opencl *d, ts_opencl_part *part, ts_err err) {
  cl_int code = CL_SUCCESS;
  const uint64_t bytes = part->bytes + TS_HUGE_PAGE;
  void *pages = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (pages == MAP_FAILED) return ts_opencl_fail(d, CL_OUT_OF_HOST_MEMORY, "take memory of", err);
  void *first = (void *)TS_ROUND_UP((uintptr_t)pages, TS_HUGE_PAGE);
  madvise(first, part->bytes, MADV_HUGEPAGE);
  part->buffer = d->cl.CreateBuffer(d->context, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, part->bytes, first, &code);
  if (part->buffer == NULL) {
    munmap(pages, bytes);
    return ts_opencl_fail(d, code, "take memory of", err);
  }
  part->pages = pages;
  return TS_OK;
}

static int32_t take_part(ts_opencl *d, ts_opencl_part *part, ts_err err) {
  if (d->is_cpu && part->bytes >= HUGE_FROM) return take_pages(d, part, err);
  return ts_opencl_take_buffer(d, part->bytes, part->in_host, &part->buffer, err);
}

/* No command may use it any more. */
static void release_part(ts_opencl *d, ts_opencl_part *part) {
  ts_opencl_release(d, &part->buffer);
  if (part->pages != NULL) munmap(part->pages, part->bytes + TS_HUGE_PAGE);
  part->pages = NULL;
}

/* ---- parts ---- */

static uint32_t parts_of(const ts_opencl *d, bool in_host) {
  uint32_t n = 0;
  for (uint32_t i = 0; i < d->part_count; i++) n += d->parts[i].in_host == in_host;
  return n;
}

static void bind_anew(ts_opencl *d) { memset(d->bound, 0, sizeof d->bound); }

/* One more part of a kind, which holds `least` bytes; lock held. */
static int32_t add_part(ts_opencl *d, bool in_host, uint64_t wanted, ts_err err) {
  ts_opencl_kind *kind = &d->kinds[in_host];
  const uint32_t n = parts_of(d, in_host);
  ts_opencl_part part = {.first = n == 0 ? kind->first : kind->end + GAP, .bytes = wanted, .in_host = in_host};
  const int32_t status = take_part(d, &part, err);
  if (status != TS_OK) return status;
  const uint32_t at = in_host ? d->part_count : n; /* by address: the device's come first */
  memmove(&d->parts[at + 1], &d->parts[at], (d->part_count - at) * sizeof part);
  d->parts[at] = part;
  d->part_count++;
  kind->held += part.bytes;
  kind->end = part.first + part.bytes;
  bind_anew(d);
  ts_arena_add(d->arena, part.first, part.bytes);
  return TS_OK;
}

/* Memory for a block that found none: as much again as its kind has. False if it may have no more, or is refused. */
static bool grow(ts_opencl *d, bool in_host, uint64_t least) {
  ts_opencl_kind *kind = &d->kinds[in_host];
  const uint64_t rest = kind->limit - kind->held, start = ts_now_ns();
  if (parts_of(d, in_host) == OF_A_KIND || rest < least) return false;
  uint64_t bytes = TS_MAX(TS_MAX(kind->limit / SHARE, kind->held), least);
  if (rest - TS_MIN(bytes, rest) < kind->limit / SHARE / 2) bytes = rest; /* no crumbs */
  bytes = TS_MAX(TS_MIN(TS_MIN(bytes, rest), d->most_bytes) & ~UINT64_C(63), least);
  const bool got = add_part(d, in_host, bytes, (ts_err){NULL, 0}) == TS_OK;
  kind->ns += ts_now_ns() - start;
  return got;
}

void *ts_opencl_pool_take(ts_opencl *d, uint64_t asked) {
  const uint64_t bytes = TS_ROUND_UP(asked, 64u);
  void *block = ts_arena_take(d->arena, asked);
  if (block != NULL) {
    atomic_fetch_add_explicit(&d->taken, bytes, memory_order_relaxed);
    return block;
  }
  pthread_mutex_lock(&d->lock);
  block = ts_arena_take(d->arena, asked); /* another call may have made room */
  if (block == NULL && d->waits > 0) {
    d->waits--;
  } else if (block == NULL) {
    const bool may = d->kinds[0].held < d->kinds[0].limit || d->kinds[1].held < d->kinds[1].limit;
    if (may && (grow(d, false, bytes) || grow(d, true, bytes))) {
      block = ts_arena_take(d->arena, asked);
      d->longest = 0;
    } else if (may) {
      d->longest = TS_MIN(2 * d->longest + 1, LONGEST_WAIT);
      d->waits = d->longest - 1;
    }
  }
  pthread_mutex_unlock(&d->lock);
  if (block != NULL) atomic_fetch_add_explicit(&d->taken, bytes, memory_order_relaxed);
  return block;
}

void ts_opencl_pool_give_back(ts_opencl *d, void *block, uint64_t bytes) {
  atomic_fetch_sub_explicit(&d->taken, TS_ROUND_UP(bytes, 64u), memory_order_relaxed);
  ts_arena_give_back(d->arena, block, bytes);
}

int32_t ts_opencl_pool_open(ts_opencl *d, uint64_t bytes, uint64_t host_bytes, ts_err err) {
  d->kinds[0] = (ts_opencl_kind){.limit = bytes};
  d->kinds[1] = (ts_opencl_kind){.limit = host_bytes & ~UINT64_C(63), .first = bytes + OF_A_KIND * GAP};
  d->kinds[1].end = d->kinds[1].first;
  d->reserved = d->kinds[1].first + (host_bytes > 0 ? d->kinds[1].limit + OF_A_KIND * GAP : 0);
  void *base = mmap(NULL, d->reserved, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (base == MAP_FAILED) return ts_fail(err, TS_ENOMEM, "Cannot reserve %llu addresses", (unsigned long long)d->reserved);
  d->base = base;
  int32_t status = ts_arena_create(base, d->reserved, TS_ARENA_FILE, &d->arena, err);
  if (status != TS_OK) return status;
  ts_arena_trim(d->arena, 0, d->reserved);
  const uint64_t start = ts_now_ns();
  status = add_part(d, false, d->pool_steps == 0 ? bytes : TS_MAX(bytes / SHARE, UINT64_C(64)) & ~UINT64_C(63), err);
  d->kinds[0].ns = ts_now_ns() - start;
  return status;
}

void ts_opencl_pool_close(ts_opencl *d) {
  ts_arena_destroy(d->arena);
  if (d->base != NULL) munmap(d->base, d->reserved);
  for (uint32_t i = 0; i < d->part_count; i++) release_part(d, &d->parts[i]);
}

const ts_opencl_part *ts_opencl_part_of(const ts_opencl *d, uint64_t offset) {
  uint32_t i = d->part_count - 1;
  while (i > 0 && d->parts[i].first > offset) i--;
  return &d->parts[i];
}

cl_int ts_opencl_bind(ts_opencl *d, ts_opencl_kernel kernel, const ts_opencl_part *parts, uint32_t n, const void *base) {
  const uint64_t address = (uintptr_t)base;
  uint64_t firsts[TS_OPENCL_PARTS];
  cl_int code = CL_SUCCESS;
  for (uint32_t i = 0; i < TS_OPENCL_PARTS; i++) {
    firsts[i] = i < n ? parts[i].first / sizeof(uint32_t) : UINT64_MAX;
    if (code == CL_SUCCESS)
      code = d->cl.SetKernelArg(d->kernels[kernel], i, sizeof(cl_mem), i < n ? &parts[i].buffer : &parts[0].buffer);
  }
  if (code == CL_SUCCESS) code = d->cl.SetKernelArg(d->kernels[kernel], TS_OPENCL_PARTS, sizeof firsts, firsts);
  return code == CL_SUCCESS ? d->cl.SetKernelArg(d->kernels[kernel], TS_OPENCL_PARTS + 1, sizeof address, &address) : code;
}

/* ---- the first steps ---- */

/* One buffer of `bytes` instead of the device's parts; false if that is refused, and nothing has changed. */
static bool join(ts_opencl *d, uint64_t bytes) {
  ts_opencl_part whole = {.bytes = bytes};
  const uint32_t n = parts_of(d, false);
  if (take_part(d, &whole, (ts_err){NULL, 0}) != TS_OK) return false;
  cl_int code = CL_SUCCESS;
  for (uint32_t i = 0; code == CL_SUCCESS && i < n; i++) {
    const ts_opencl_part *p = &d->parts[i];
    if (p->first < bytes)
      code = d->cl.EnqueueCopyBuffer(d->queue, p->buffer, whole.buffer, 0, p->first, TS_MIN(p->bytes, bytes - p->first), 0, NULL,
                                     NULL);
  }
  if (code == CL_SUCCESS) code = d->cl.Finish(d->queue);
  if (code != CL_SUCCESS) {
    d->cl.Finish(d->queue); /* of what was enqueued */
    release_part(d, &whole);
    return false;
  }
  for (uint32_t i = 0; i < n; i++) release_part(d, &d->parts[i]);
  memmove(&d->parts[1], &d->parts[n], (d->part_count - n) * sizeof whole);
  d->parts[0] = whole;
  d->part_count -= n - 1;
  d->kinds[0].held = bytes;
  bind_anew(d);
  return true;
}

/* What the device's share has room for beside what is there. */
static uint64_t room(const ts_opencl *d) {
  return d->kinds[0].limit + d->staging_bytes - d->kinds[0].held - d->up_bytes - d->down_bytes;
}

/* Rows: what was taken, and as much as came in as many steps as the second half of them. */
static bool plan_rows(ts_opencl *d) {
  ts_opencl_kind *kind = &d->kinds[0];
  const uint64_t taken = atomic_load(&d->taken), came = taken - TS_MIN(taken, d->taken_half), end = kind->end;
  uint64_t bytes = TS_MIN(TS_ROUND_UP(taken + 2 * came, 64u), kind->limit);
  if (bytes < end) bytes = ts_arena_trim(d->arena, bytes, end); /* nobody takes what is to go */
  if (bytes == end && parts_of(d, false) == 1) return true;
  if (bytes <= room(d) && join(d, bytes)) {
    kind->end = bytes;
    if (bytes > end) ts_arena_add(d->arena, end, bytes - end);
    return true;
  }
  if (bytes < end) ts_arena_add(d->arena, bytes, end - bytes);
  return false;
}

/* Buffers of transfers as large as the largest needed, within what they may have. */
static bool plan_transfers(ts_opencl *d) {
  uint64_t up = TS_ROUND_UP(TS_MAX(d->widest_up, d->least_up), 128u);
  uint64_t down = TS_ROUND_UP(TS_MAX(d->widest_down, d->least_down), 128u);
  if (up + down > d->staging_bytes) { /* each its part */
    up = TS_MAX((uint64_t)((double)d->staging_bytes * ((double)up / (double)(up + down))), d->least_up) & ~UINT64_C(127);
    down = (d->staging_bytes - TS_MIN(up, d->staging_bytes)) & ~UINT64_C(127);
  }
  cl_mem buffers[2] = {NULL, NULL};
  if (up < d->least_up || down < d->least_down || up == 0 || down == 0 || up + down > room(d)) return false;
  if (ts_opencl_take_buffer(d, up, false, &buffers[0], (ts_err){NULL, 0}) != TS_OK) return false;
  if (ts_opencl_take_buffer(d, down, false, &buffers[1], (ts_err){NULL, 0}) != TS_OK) {
    ts_opencl_release(d, &buffers[0]);
    return false;
  }
  ts_opencl_release(d, &d->up);
  ts_opencl_release(d, &d->down);
  d->up = buffers[0];
  d->down = buffers[1];
  d->up_bytes = up;
  d->down_bytes = down;
  return true;
}

void ts_opencl_stepped(ts_tier *tier, int64_t step) {
  ts_opencl *d = tier->state;
  pthread_mutex_lock(&d->lock);
  const bool counts = d->pool_steps > d->steps_seen && (!d->told || step > d->newest);
  if (counts) {
    /* A step is told when it begins. */
    d->steps_seen += d->told;
    d->told = true;
    d->newest = step;
    if (d->steps_seen == d->pool_steps / 2) d->taken_half = atomic_load(&d->taken);
    if (d->steps_seen == d->pool_steps) {
      const uint64_t start = ts_now_ns();
      const bool transfers = plan_transfers(d), rows = plan_rows(d);
      d->planned = transfers && rows ? TS_OPENCL_PLANNED : TS_OPENCL_AS_IT_WAS;
      d->kinds[0].ns += ts_now_ns() - start;
    }
  }
  pthread_mutex_unlock(&d->lock);
}
