/* emulation.c - a medium that rows are read from and written to in place (fsdax, KMEM DAX, CXL memory): the options
 * "emulate.*" and the time a batch of accesses takes there. The waiting itself is the store's: it takes the clock
 * before its real accesses and spins until the modelled time has passed. */
#include "emulation/emulation.h"

#include <stdatomic.h>
#include <stdlib.h>

/* What a tier may do to its rows. */
#define OPS (TS_MEDIA_OP_BIT(TS_MEDIA_READ) | TS_MEDIA_OP_BIT(TS_MEDIA_WRITE_NT) | TS_MEDIA_OP_BIT(TS_MEDIA_WRITE_CACHED))

struct ts_emulation {
  ts_medium medium;
  double share;
  _Atomic uint64_t busy_ns[TS_EMULATION_SIDES];
};

int32_t ts_emulation_create(const ts_config *config, ts_emulation **out, ts_err err) {
  *out = NULL;
  if (config == NULL) return TS_OK;
  ts_config_reader reader = ts_config_read(config, "emulation", err);
  ts_config_ignore_others(&reader, "emulate.");
  /* Without a medium every other option of the prefix is a mistake, not a wish for defaults. */
  if (!ts_config_has(config, "emulate.medium")) return ts_config_finish(&reader);
  ts_emulation *emulation = calloc(1, sizeof *emulation);
  if (emulation == NULL) return ts_fail(err, TS_ENOMEM, "Cannot open emulation: out of memory");
  int32_t status = ts_medium_read(&reader, "emulate", OPS, &emulation->medium);
  emulation->share = ts_config_f64(&reader, "emulate.share", 1, 0, 1);
  if (status == TS_OK) status = ts_config_finish(&reader);
  if (status != TS_OK) {
    free(emulation);
    return status;
  }
  *out = emulation;
  return TS_OK;
}

void ts_emulation_destroy(ts_emulation *emulation) { free(emulation); }

const char *ts_emulation_medium(const ts_emulation *emulation) {
  return emulation == NULL ? "" : emulation->medium.name;
}

double ts_emulation_share(const ts_emulation *emulation) { return emulation->share; }

static uint64_t shared(const ts_emulation *e, uint64_t count) {
  return e->share == 1 ? count : (uint64_t)((double)count * e->share + 0.5);
}

/* The question that the simulator asks, too: a machine has its prefetchers on (native/simulator/access_cost.c). Which region
 * rows fall on is not asked: a tier that is emulated stands for one far larger than any buffer of the medium. */
static ts_media_access access_of(const ts_emulation *e, ts_emulation_side side, ts_media_op op, uint32_t bytes) {
  const uint32_t threads = side == TS_EMULATION_CALLS ? e->medium.threads : 1;
  return (ts_media_access){.op = op, .bytes = bytes, .threads = threads, .prefetch = true};
}

uint64_t ts_emulation_cost_ns(const ts_emulation *emulation, ts_media_op op, uint32_t bytes, uint64_t count) {
  if (emulation == NULL) return 0;
  ts_media_access access = access_of(emulation, TS_EMULATION_CALLS, op, bytes);
  return (ts_medium_batch_ps(&emulation->medium, &access, shared(emulation, count)) + 500) / 1000;
}

void ts_emulation_add(const ts_emulation *emulation, ts_emulation_side side, ts_media_op op, uint32_t bytes,
                      uint64_t count, ts_emulation_work *work) {
  if (emulation == NULL || count == 0 || bytes == 0) return;
  count = shared(emulation, count);
  ts_media_access access = access_of(emulation, side, op, bytes);
  double busy = 1e9 / ts_medium_capacity(&emulation->medium, &access) * bytes * (double)count;
  work->alone_ns += (double)ts_medium_batch_ps(&emulation->medium, &access, count) / 1000;
  work->share_ns += busy * access.threads;
  work->busy_ns += busy;
}

uint64_t ts_emulation_others(const ts_emulation *emulation, ts_emulation_side side) {
  ts_emulation_side other = side == TS_EMULATION_CALLS ? TS_EMULATION_BACKGROUND : TS_EMULATION_CALLS;
  return atomic_load_explicit(&((ts_emulation *)emulation)->busy_ns[other], memory_order_relaxed);
}

void ts_emulation_done(ts_emulation *emulation, ts_emulation_side side, const ts_emulation_work *work) {
  atomic_fetch_add_explicit(&emulation->busy_ns[side], (uint64_t)(work->busy_ns + 0.5), memory_order_relaxed);
}

uint64_t ts_emulation_shared_ns(const ts_emulation *emulation, const ts_emulation_work *work, uint64_t others) {
  return (uint64_t)(ts_medium_shared_ns(&emulation->medium, work->alone_ns, work->share_ns, (double)others) + 0.5);
}
