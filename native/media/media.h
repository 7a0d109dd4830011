/* media.h - what a modelled medium costs: latency, bandwidth and the time of a batch, from a few physical parameters.
 * The one definition of every media model: native/emulation slows a store down by it, native/simulator counts virtual
 * time with it, models/media/calibration fits and validates it against published measurements.
 *
 * One access of `bytes` moves n = ceil(bytes / line) lines. Two sides limit it.
 *
 *   Core (Little's law)   a core keeps `in_flight` lines on their way, so one thread needs
 *                           (first + (n - 1) x next) / in_flight          random; + hops x hop
 *                           n x sequential / in_flight                    sequential, prefetchers run ahead
 *                         with prefetchers the lines of a random access after `prefetch_above` come at `sequential` too.
 *                         a fence after every access adds `fence` + (n - 1) x `fence_next`: nothing overlaps it.
 *   Media                 `modules` modules, each moving `bandwidth` bytes a second of whole granules:
 *                           moved = granules x granule x amplification + overhead of a random access
 *                         amplification = 1 + (limit - 1) x c,  limit = at most lines of a granule that the access uses,
 *                           c = x^s / (1 + x^s), x = threads of a module / `knee`: the more threads share the
 *                           module's buffer, the more often a granule leaves it half used and is moved again. Cached
 *                           stores leave the CPU line by line in no order, so their knee is below one thread.
 *                         threads of a module = threads / modules^spread, or for a random access of a chunk at least
 *                           crowding (1 + (threads - 1) / modules), less the time that they wait at fences; an
 *                           access larger than a granule lowers the knee by (granule / bytes)^knee_size.
 *                         occupancy = k / (k + modules - 1): k accesses in flight fall on modules at random (a closed
 *                           queueing network of equal stations); k = threads x (1 + depth / n) x chunks of one access.
 *                           This is what 4 KiB-aligned accesses of an interleaved set suffer from.
 *   Links                 a NUMA hop and a host link have a cap each for reads and writes.
 *
 * Real media bend smoothly between the two: rate = (core^-p + media^-p)^(-1/p), p = `sharpness`.
 * Reads and writes together, r the share of bytes read: ((r/R)^q + ((1-r)/W)^q)^(-1/q), q = `duplex` of the media: 1 for
 * a shared bus, under 1 where changing direction costs. The directions of a host link are independent of each other.
 * A fence lets nothing overlap: one access after the other, each of its latency, so that persisting has one time whether
 * its latency or its bandwidth is asked. The same holds of `depth` accesses that a thread keeps under way.
 * Latency of one access: first + the further lines + the media's time for its bytes on the modules that it touches.
 * At load u (share of the peak of that mix), each coefficient c being c r + c_write (1-r):
 *   idle x (1 + w),  w = linear u + queue u^2 / (1 - u), bent to its bound: a closed network of `cores` with `waiting`
 *   lines each, where by Little's law no more waits than is in flight: idle x (1 + w) <= cores x waiting x line / peak.
 * With `depth` the threads are the load: threads x depth accesses in flight over what they get, by Little again.
 * Percentiles: a fixed part and an exponential one, of `jitter` and all that waits; stores
 * besides meet a stall of `stall_ns` once in `stall_every` stores to a line, the rarer the more of `stall_region` they
 * are spread over.
 * A random line in a region of known size: the modules keep `buffer1` bytes each near and `buffer2` bytes behind them,
 * each answers the share of the region that it holds; the rest comes from the media. Stores that use a part of their
 * granule find the rest of it in the module's buffer with the chance (combine / region)^2.
 *
 * Options, "<prefix>." in front; bandwidths in bytes/s, times in ns. <op> is read, write_nt, write_cached, write_flush.
 *   medium           name                    line             bytes in flight at once                       (64)
 *   granule          bytes moved at once (64)   modules       of the interleaved set                        (1)
 *   chunk            bytes before the next module (4096)      crowding         of threads on a module      (1)
 *   threads          that share the medium (1)                capacity         bytes of what the name says (0: not known)
 *   queued           1: requests wait in the device (a drive), not in a core's buffers: a thread has `depth` in flight (0)
 *   cores, waiting, waiting_write    of the machine that loads the medium; lines that one keeps waiting (16, 16, waiting)
 *   stall_ns, stall_every, stall_region    of stores (0: none, 0, 0)
 *   sharpness (4)  contention = s (3)  duplex = q (1)  speed: platform factor on module bandwidths (1)
 *   power_w, rated_w   power budget of a module, module bandwidths x (power_w / rated_w)^2       (no limit)
 *   prefetch_bytes   moved in vain by a random access of few lines with prefetchers on                     (0)
 *   prefetch_lines   the same for one of more than `prefetch_above` lines (15)                               (0)
 *   hop_ns (0)  hop_read, hop_write: cap of the socket link (none)  hop_duplex (2)
 *   link_read, link_write: cap of the host link, all modules together (none)  link_accesses: accesses/s of it (none)
 *   load_linear, load_queue (0)  load_linear_write, load_queue_write (as reads)
 *   latency_scale: platform factor on latencies (1)
 *   <op>_latency_ns (required)  _next_latency_ns (first)  _sequential_ns (next)  _in_flight (10)
 *   <op>_sequential_latency_ns (first)  _buffer1, _buffer2 (0: none)  _buffer1_ns, _buffer2_ns, _media_ns (first)
 *   <op>_bandwidth (required; of one module)  _knee (no contention)  _knee_size (0)  _limit (granule / line)  _spread (1)
 *   <op>_depth (in_flight)  _overhead_bytes (0)  _contention (contention)  _fence_ns (0)  _combine, _jitter_ns (0)
 *   <op>_fence_next_ns: of each further line of an access before a fence (next / in_flight)
 *
 * Doubles with + - * / and ts_det_pow only: equal on every machine. */
#ifndef TS_MEDIA_H
#define TS_MEDIA_H

#include "base/base.h"

#define TS_CACHE_LINE 64u
#define TS_MEDIUM_NAME 64u

typedef enum ts_media_op {
  TS_MEDIA_READ,         /* loads */
  TS_MEDIA_WRITE_NT,     /* non-temporal stores (libpmem copies) */
  TS_MEDIA_WRITE_CACHED, /* ordinary stores, written back by the CPU caches */
  TS_MEDIA_WRITE_FLUSH,  /* stores flushed line by line (clwb) */
  TS_MEDIA_OPS
} ts_media_op;

#define TS_MEDIA_OP_BIT(op) (1u << (op))

typedef struct ts_media_op_model {
  bool given; /* the medium's file has this operation */
  double first_ns, next_ns, sequential_ns, sequential_latency_ns, in_flight, fence_ns, fence_next_ns;
  double buffer1, buffer2, buffer1_ns, buffer2_ns, media_ns;
  double bandwidth; /* bytes/ns (= GB/s) of one module */
  double knee, knee_size, limit, spread, contention, depth, overhead_bytes, combine, jitter_ns;
} ts_media_op_model;

typedef struct ts_medium {
  char name[TS_MEDIUM_NAME];
  uint32_t threads; /* that share the medium, for the callers that do not say */
  uint32_t line, granule, modules, chunk;
  uint64_t capacity; /* bytes; 0: not known */
  bool queued;       /* a drive: requests wait there, not in a core's buffers */
  double crowding;
  double sharpness, duplex, power; /* power: factor of the power budget and the platform on module bandwidths */
  double prefetch_bytes, prefetch_lines, prefetch_above;
  double hop_ns, hop_read, hop_write, hop_duplex; /* caps in bytes/ns; 0: none */
  double link_read, link_write, link_accesses;
  double load_linear, load_linear_write, load_queue, load_queue_write, latency_scale;
  double cores, waiting, waiting_write, stall_ns, stall_every, stall_region;
  ts_media_op_model op[TS_MEDIA_OPS];
} ts_medium;

/* Zero is a sensible default for every field but op, bytes and threads; read_share counts with `mixed` only. */
typedef struct ts_media_access {
  ts_media_op op;
  uint32_t bytes;    /* of one access */
  uint32_t threads;  /* that do such accesses at the same time */
  bool sequential;
  bool fenced;       /* a fence after every access (persisted one by one) */
  bool prefetch;     /* the hardware prefetchers are on */
  bool mixed;        /* reads and writes are in flight together, read_share says how much of the bytes are reads */
  double read_share; /* 0..1; reads are those of this access's size, writes non-temporal unless op is another write */
  uint32_t hops;     /* NUMA hops from the core */
  uint64_t region;   /* bytes that accesses fall on; 0: not known, or far larger than any buffer */
  uint32_t depth;    /* accesses that each thread keeps in flight; 0: as many as a core's buffers hold, one at a drive */
  uint32_t devices;  /* of the medium side by side, accesses spread evenly (drives, expanders, sets of modules); 0: one */
  double percentile; /* for latencies: of accesses, over 0 and under 100; 0: the mean */
} ts_media_access;

/* Reads the options "<prefix>.*" of a named medium. `ops` is a bit set of the operations that must be there.
 * Errors: TS_EINVAL for a missing, unreadable or out-of-range option. */
int32_t ts_medium_read(ts_config_reader *reader, const char *prefix, uint32_t ops, ts_medium *out);

/* Latency of an access; `load` is the share of the peak of this mix that others use, 0..1. With `depth` and load 0 the
 * threads of the access are the load. */
double ts_medium_latency_ns(const ts_medium *medium, const ts_media_access *access, double load);
/* Useful bytes/s of all threads together. */
double ts_medium_bandwidth(const ts_medium *medium, const ts_media_access *access);
/* Bytes that the media move for one that is asked for: write amplification, or read amplification. */
double ts_medium_amplification(const ts_medium *medium, const ts_media_access *access);
/* Bytes/s the medium and its links could deliver however many cores asked: what `load` is a share of. */
double ts_medium_peak(const ts_medium *medium, const ts_media_access *access);
/* Bytes/s of the medium and its links at this number of threads, with their contention, however fast the cores. */
double ts_medium_capacity(const ts_medium *medium, const ts_media_access *access);
/* Time of reads that take `read_ns` alone and writes that take `write_ns` alone, both on their way together. */
double ts_medium_mixed_ns(const ts_medium *medium, double read_ns, double write_ns);
/* Time of work that takes `alone` ns, of which the medium is busy `share` ns, when others keep it busy for `others` ns more:
 * alone^p = core^p + share^p. */
double ts_medium_shared_ns(const ts_medium *medium, double alone, double share, double others);
/* Picoseconds of `count` independent accesses by one of the threads; never less than one latency. 0 for none. */
uint64_t ts_medium_batch_ps(const ts_medium *medium, const ts_media_access *access, uint64_t count);

#endif
