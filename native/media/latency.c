/* latency.c - how long an access takes: alone, under load, with many in flight, and at a percentile. */
#include "media/media.h"
#include "media/parts.h"

/* What an access waits at a load of 0..1, as a share of its idle latency: bent to the bound of a closed network. */
static double waiting(const ts_medium *m, const ts_media_access *a, double idle, double load) {
  double u = TS_MIN(1, TS_MAX(0, load)), r = ts_media_read_share(a);
  if (u == 0) return 0;
  double linear = m->load_linear * r + m->load_linear_write * (1 - r);
  double queue = m->load_queue * r + m->load_queue_write * (1 - r);
  double lines = m->cores * (m->waiting * r + m->waiting_write * (1 - r));
  double bound = lines * m->line / ts_medium_peak(m, a) * 1e9 / idle - 1;
  if (bound <= 0) return 0;
  if (u > 1 - 1e-9) return bound;
  double open = linear * u + queue * u * u / (1 - u);
  if (open <= 0) return 0;
  /* The smaller of the two, bent. */
  return 1 / ts_media_norm(1 / open, 1 / bound, 2);
}

/* The x that `percentile` % of the times are below: a fixed part, an exponential one of this mean, and rare stalls. */
static double quantile(const ts_medium *m, const ts_media_access *a, double fixed, double mean, double percentile) {
  double above = 1 - percentile / 100, stall = 0;
  if (a->op != TS_MEDIA_READ && m->stall_every > 0 && a->region > 0)
    stall = TS_MIN(1, m->stall_region / (double)a->region) / m->stall_every;
  double usual = above > stall ? (above - stall) / (1 - stall) : above;
  double ns = fixed - mean * ts_det_log(TS_MAX(usual, 1e-300));
  return above > stall ? ns : TS_MAX(ns, m->stall_ns);
}

double ts_medium_latency_ns(const ts_medium *medium, const ts_media_access *access, double load) {
  ts_media_access a = *access;
  a.bytes = TS_MAX(1, a.bytes);
  a.threads = TS_MAX(1, a.threads);
  const ts_medium *m = medium;
  ts_medium all;
  if (a.devices > 1) {
    all = ts_media_devices(medium, a.devices);
    m = &all;
    a.devices = 1;
  }
  double idle = ts_media_alone_ns(m, &a), wait = idle * waiting(m, &a, idle, load);
  if (a.depth > 0 && load <= 0) {
    double in_flight = (double)a.threads * a.depth * a.bytes / ts_medium_bandwidth(m, &a) * 1e9;
    wait = TS_MAX(0, in_flight - idle);
  }
  if (a.percentile <= 0) return idle + wait;
  double jitter = TS_MIN(idle, m->op[a.op].jitter_ns * m->latency_scale);
  return quantile(m, &a, idle - jitter, jitter + wait, a.percentile);
}
