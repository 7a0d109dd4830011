/* media_model.h - what a batch of random accesses costs on a modelled medium: a few physical parameters, no tables.
 *
 * Little's law ties the three things a core's memory traffic has: lines in flight = line rate x latency. A core can
 * keep only `in_flight` cache lines on their way, so one thread's line rate is at most in_flight / latency; and the
 * medium moves at most `bandwidth` bytes a second for all T threads together. One access of `bytes` therefore takes
 *
 *   max( (first + (lines - 1) x next) / in_flight ,  moved x T / bandwidth ),     lines = ceil(bytes / 64)
 *
 *   first      idle latency of a random line
 *   next       latency of a further line of the same access: the medium has it in a buffer already (Optane's 256-byte
 *              line buffer, a DRAM row), which idle sequential latency shows
 *   moved      bytes the medium really moves: loads and non-temporal stores round up to its granule (Optane: 256);
 *              cached stores leave the CPU cache line by line at times of the cache's choosing, so they count as they
 *              are and `bandwidth` is the published one of cached stores, which holds that amplification
 *   T          threads that use the medium at the same time, all assumed busy
 *
 * The maximum of both terms has a sharp knee where real media bend smoothly: the model is too fast near saturation.
 * A batch never ends before the latency of its first line. docs/emulation.md has the error against published
 * figures. */
#ifndef TS_MEDIA_MODEL_H
#define TS_MEDIA_MODEL_H

#include "emulation/emulation.h"

#define TS_CACHE_LINE 64u
#define TS_MEDIUM_NAME 64u

typedef struct ts_media_op_model {
  double first_ns, next_ns; /* idle latency of the first and of each further line of an access */
  double in_flight;         /* lines a core keeps in flight */
  double bandwidth;         /* bytes a nanosecond (= GB/s) of all threads */
} ts_media_op_model;

typedef struct ts_media_model {
  char medium[TS_MEDIUM_NAME];
  uint32_t threads, granule;
  ts_media_op_model op[TS_MEDIA_OPS];
} ts_media_model;

/* Reads the options "<prefix>.*" of a named medium. `ops` is a bit set of the operations that must be there.
 * Errors: TS_EINVAL for a missing, unreadable or out-of-range option. */
int32_t ts_media_model_read(ts_config_reader *reader, const char *prefix, uint32_t ops, ts_media_model *out);

/* Nanoseconds of one access, and of `count` independent ones, by one of the threads. */
double ts_media_access_ns(const ts_media_model *model, ts_media_op op, uint32_t bytes);
double ts_media_batch_ns(const ts_media_model *model, ts_media_op op, uint32_t bytes, uint64_t count);

#endif
