/* media.c - the formulas of media.h: what an access needs of cores, media and links, and what comes of it. */
#include "media/media.h"

#include "media/parts.h"

double ts_media_norm(double a, double b, double p) {
  double high = TS_MAX(a, b), low = TS_MIN(a, b);
  if (high <= 0 || low <= 0) return high;
  double ratio = low / high;
  if (ratio < 1e-3 && p >= 1) return high;
  return high * ts_det_pow(1 + ts_det_pow(ratio, p), 1 / p);
}

double ts_media_lines(const ts_medium *m, uint32_t bytes) {
  return (double)(((uint64_t)bytes + m->line - 1) / m->line);
}

/* A stream waits for its lines as much longer from a far socket as a random line does. */
static double far_factor(const ts_medium *m, const ts_media_access *a, const ts_media_op_model *op) {
  return 1 + (double)a->hops * m->hop_ns / op->first_ns;
}

/* Lines of a random access that come as those of a stream: prefetchers have seen the lines before them. */
static double lines_ahead(const ts_medium *m, const ts_media_access *a) {
  return a->prefetch ? TS_MAX(0, ts_media_lines(m, a->bytes) - 1 - m->prefetch_above) : 0;
}

/* Bytes that the modules move for one access. `threads` 0: no contention. */
static double moved_bytes(const ts_medium *m, const ts_media_access *a, const ts_media_op_model *op, double threads) {
  double n = ts_media_lines(m, a->bytes), granules = (double)(((uint64_t)a->bytes + m->granule - 1) / m->granule);
  if (a->sequential) granules = (double)a->bytes / m->granule;
  double used = a->sequential ? (double)m->granule / m->line : n / granules, amplification = 1;
  double most = TS_MIN(op->limit, used);
  if (op->knee > 0 && most > 1 && threads > 0) {
    double on_module = threads, knee = op->knee;
    if (m->modules > 1) {
      /* An access that fills a chunk keeps its thread on one module, and threads crowd where others wait. */
      double fills = a->sequential ? 0 : TS_MIN(1, (double)a->bytes / m->chunk);
      on_module = TS_MAX(threads / ts_det_pow(m->modules, op->spread),
                         fills * m->crowding * (1 + (threads - 1) / m->modules));
    }
    if (!a->sequential && op->knee_size > 0 && a->bytes > m->granule)
      knee *= ts_det_pow((double)m->granule / a->bytes, op->knee_size);
    double x = ts_det_pow(on_module / knee, op->contention);
    amplification += (most - 1) * x / (1 + x);
  }
  double whole = granules * m->granule;
  if (a->region > 0 && op->combine > 0 && whole > a->bytes) {
    double kept = TS_MIN(1, op->combine * m->modules / (double)a->region);
    whole -= (whole - a->bytes) * kept * kept;
  }
  double moved = whole * amplification;
  if (a->sequential) return moved;
  moved += op->overhead_bytes;
  if (a->prefetch && (a->op == TS_MEDIA_READ || a->op == TS_MEDIA_WRITE_CACHED))
    moved += n > m->prefetch_above ? m->prefetch_lines * m->line : m->prefetch_bytes;
  return moved;
}

/* Idle latency of a random line in a region of known size. */
static double region_ns(const ts_medium *m, const ts_media_op_model *op, double region) {
  double near = TS_MIN(1, op->buffer1 * m->modules / region);
  double behind = TS_MAX(near, TS_MIN(1, op->buffer2 * m->modules / region));
  return near * op->buffer1_ns + (behind - near) * op->buffer2_ns + (1 - behind) * op->media_ns;
}

double ts_media_alone_ns(const ts_medium *m, const ts_media_access *a) {
  const ts_media_op_model *op = &m->op[a->op];
  double n = ts_media_lines(m, TS_MAX(a->bytes, 1)), ahead = lines_ahead(m, a), hop = (double)a->hops * m->hop_ns;
  bool stream = a->sequential && !a->fenced;
  double first = stream ? op->sequential_latency_ns : op->first_ns;
  if (a->region > 0 && op->buffer1 > 0 && !a->sequential) first = region_ns(m, op, (double)a->region);
  first += hop * (stream ? op->sequential_latency_ns / op->first_ns : 1);
  double further = a->fenced ? op->fence_ns + (n - 1) * op->fence_next_ns
                   : m->queued
                       ? 0
                       : ((n - 1 - ahead) * op->next_ns + ahead * op->sequential_ns) / op->in_flight;
  double chunks = TS_MIN(m->modules, TS_MAX(1, (double)a->bytes / m->chunk));
  double rest = TS_MAX(0, moved_bytes(m, a, op, 0) - TS_MAX(m->granule, op->overhead_bytes + m->granule));
  double transfer = rest / (op->bandwidth * m->power * chunks);
  return first * m->latency_scale + ts_media_norm(further * m->latency_scale, transfer, 4);
}

/* Time of one access on the core's side, ns. */
static double core_ns(const ts_medium *m, const ts_media_access *a, const ts_media_op_model *op) {
  if (a->fenced) return ts_media_alone_ns(m, a);
  if (m->queued) return ts_media_alone_ns(m, a) / TS_MAX(1, a->depth);
  double n = ts_media_lines(m, a->bytes), hop = (double)a->hops * m->hop_ns, all;
  if (a->sequential) {
    /* Without prefetchers a load of a stream waits like a further line of an access; stores that need no load do not. */
    bool loads = a->op == TS_MEDIA_READ || a->op == TS_MEDIA_WRITE_CACHED;
    all = n * (loads && !a->prefetch ? op->next_ns : op->sequential_ns) * far_factor(m, a, op);
  } else {
    double ahead = lines_ahead(m, a);
    all = op->first_ns + hop + (n - 1 - ahead) * (op->next_ns + hop) + ahead * op->sequential_ns * far_factor(m, a, op);
  }
  double ns = all * m->latency_scale / op->in_flight;
  return a->depth > 0 ? TS_MAX(ns, ts_media_alone_ns(m, a) / a->depth) : ns;
}

/* Share of the modules that have work. */
static double occupancy(const ts_medium *m, const ts_media_access *a, const ts_media_op_model *op) {
  if (m->modules == 1) return 1;
  double n = ts_media_lines(m, a->bytes), chunks = TS_MAX(1, (double)a->bytes / m->chunk);
  double k = m->queued ? (double)a->threads * TS_MAX(1, a->depth) : a->threads * (1 + op->depth / n) * chunks;
  return k / (k + m->modules - 1);
}

/* Time of one access on the media's side for all threads together, ns; without links. */
static double media_ns(const ts_medium *m, const ts_media_access *a, const ts_media_op_model *op, bool free) {
  double rate = op->bandwidth * m->power * m->modules;
  if (!free) rate *= occupancy(m, a, op);
  /* A thread that waits at a fence has nothing in the module's buffer. */
  double busy = free || !a->fenced ? 1 : 1 - op->fence_ns * m->latency_scale / core_ns(m, a, op);
  return moved_bytes(m, a, op, free ? 0 : a->threads * busy) / rate;
}

static double link_ns(const ts_medium *m, const ts_media_access *a, bool write) {
  double cap = write ? m->link_write : m->link_read, ns = cap > 0 ? a->bytes / cap : 0;
  if (m->link_accesses > 0 && !a->sequential) ns = TS_MAX(ns, 1 / m->link_accesses);
  return ns;
}

static double hop_link_ns(const ts_medium *m, const ts_media_access *a, bool write) {
  double cap = write ? m->hop_write : m->hop_read;
  return a->hops > 0 && cap > 0 ? a->bytes / cap : 0;
}

/* ns a useful byte, all threads together: the parts of one direction. */
typedef struct ts_side {
  double core, media, link, hop;
} ts_side;

static ts_side side_of(const ts_medium *m, const ts_media_access *access, ts_media_op which, bool free) {
  ts_media_access a = *access;
  a.op = which;
  const ts_media_op_model *op = &m->op[which];
  bool write = which != TS_MEDIA_READ;
  double bytes = a.bytes;
  return (ts_side){core_ns(m, &a, op) / a.threads / bytes, media_ns(m, &a, op, free) / bytes,
                   link_ns(m, &a, write) / bytes, hop_link_ns(m, &a, write) / bytes};
}

/* Directions of a full-duplex link do not wait for each other; the larger of two times, bent as little as may be. */
#define LINK_DUPLEX 16

/* What counts: all, all but the cores, or the media with neither cores nor contention. */
typedef enum ts_media_sides { ALL, CAPACITY, PEAK } ts_media_sides;

/* ns a useful byte, all threads together. */
static double byte_ns(const ts_medium *m, const ts_media_access *access, ts_media_sides sides) {
  bool free = sides == PEAK;
  ts_media_access a = *access;
  if (a.threads == 0) a.threads = 1;
  double core, media, link, hop;
  double r = ts_media_read_share(&a);
  ts_media_op write = a.op == TS_MEDIA_READ ? TS_MEDIA_WRITE_NT : a.op;
  if (r >= 1 || r <= 0) {
    ts_side s = side_of(m, &a, r >= 1 ? TS_MEDIA_READ : write, free);
    core = s.core, media = s.media, link = s.link, hop = s.hop;
  } else {
    ts_side in = side_of(m, &a, TS_MEDIA_READ, free), out = side_of(m, &a, write, free);
    core = r * in.core + (1 - r) * out.core;
    media = ts_media_norm(r * in.media, (1 - r) * out.media, m->duplex);
    link = ts_media_norm(r * in.link, (1 - r) * out.link, LINK_DUPLEX);
    hop = ts_media_norm(r * in.hop, (1 - r) * out.hop, m->hop_duplex);
  }
  if (sides != ALL) core = 0;
  double p = m->sharpness;
  return ts_media_norm(ts_media_norm(ts_media_norm(core, media, p), link, p), hop, p);
}

/* The medium with as many devices side by side as the access says. */
static double with_devices(const ts_medium *m, const ts_media_access *a, ts_media_sides sides) {
  if (a->bytes == 0) return 0;
  if (a->devices <= 1) return 1e9 / byte_ns(m, a, sides);
  ts_medium all = ts_media_devices(m, a->devices);
  return 1e9 / byte_ns(&all, a, sides);
}

ts_medium ts_media_devices(const ts_medium *m, uint32_t devices) {
  ts_medium all = *m;
  all.modules *= devices;
  all.link_read *= devices, all.link_write *= devices, all.link_accesses *= devices;
  return all;
}

double ts_media_read_share(const ts_media_access *a) {
  if (!a->mixed) return a->op == TS_MEDIA_READ ? 1 : 0;
  return TS_MIN(1, TS_MAX(0, a->read_share));
}

double ts_medium_bandwidth(const ts_medium *m, const ts_media_access *a) { return with_devices(m, a, ALL); }

double ts_medium_capacity(const ts_medium *m, const ts_media_access *a) { return with_devices(m, a, CAPACITY); }

double ts_medium_peak(const ts_medium *m, const ts_media_access *a) { return with_devices(m, a, PEAK); }

double ts_medium_amplification(const ts_medium *m, const ts_media_access *a) {
  if (a->bytes == 0) return 0;
  ts_medium all = ts_media_devices(m, TS_MAX(1, a->devices));
  return moved_bytes(&all, a, &m->op[a->op], TS_MAX(1, a->threads)) / a->bytes;
}

uint64_t ts_medium_batch_ps(const ts_medium *m, const ts_media_access *access, uint64_t count) {
  if (count == 0 || access->bytes == 0) return 0;
  ts_media_access a = *access;
  if (a.threads == 0) a.threads = 1;
  /* The last access ends one latency after its start, however many went before. */
  double ns = 1e9 / ts_medium_bandwidth(m, &a) * a.bytes * a.threads * (double)count;
  double latency = ts_medium_latency_ns(m, &a, 0);
  double ps = TS_MAX(ns, latency) * 1000;
  return ps >= 1.8e19 ? UINT64_MAX : (uint64_t)(ps + 0.5);
}

/* Parts of a time alone that the media and the link are needed for. */
typedef struct ts_needs {
  double media, link;
} ts_needs;

static ts_needs needs_of(const ts_medium *m, const ts_media_op_model *op, double cap, double ns) {
  double media = op->given ? 1 / (op->bandwidth * m->power * m->modules) : 1, link = cap > 0 ? 1 / cap : 0;
  double both = ts_media_norm(media, link, m->sharpness);
  return (ts_needs){ns * media / both, ns * link / both};
}

double ts_medium_mixed_ns(const ts_medium *m, double read_ns, double write_ns) {
  const ts_media_op_model *stores = &m->op[TS_MEDIA_WRITE_NT];
  if (!stores->given) stores = &m->op[TS_MEDIA_WRITE_CACHED];
  ts_needs in = needs_of(m, &m->op[TS_MEDIA_READ], m->link_read, read_ns), out = needs_of(m, stores, m->link_write, write_ns);
  double media = ts_media_norm(in.media, out.media, m->duplex), link = ts_media_norm(in.link, out.link, LINK_DUPLEX);
  return ts_media_norm(media, link, m->sharpness);
}

double ts_medium_shared_ns(const ts_medium *m, double alone, double share, double others) {
  if (others <= 0 || alone <= 0) return alone;
  double own = TS_MIN(1, share / alone), both = (share + others) / alone;
  double rest = 1 - (own > 0 ? ts_det_pow(own, m->sharpness) : 0) + ts_det_pow(both, m->sharpness);
  return alone * ts_det_pow(rest, 1 / m->sharpness);
}
