/* evaluate.c - a media model asked from outside, many questions a call: fitting and validation use the very formulas
 * that emulation and simulation use. */
#include "tierstore.h"
#include "media/media.h"

enum { LATENCY, LATENCY_AT, BANDWIDTH, PEAK, AMPLIFICATION, KINDS };

/* False for a number that means nothing. */
static bool access_of(const double *q, ts_media_access *a) {
  if (!(q[0] >= 0 && q[0] < KINDS && q[1] >= 0 && q[1] < TS_MEDIA_OPS)) return false;
  if (!(q[2] >= 1 && q[2] <= UINT32_MAX && q[3] >= 1 && q[3] <= 65536 && q[7] <= 1)) return false;
  if (!(q[8] >= 0 && q[8] <= 16 && q[9] >= 0 && q[9] <= 1e15 && q[10] >= 0 && q[10] <= 1e18)) return false;
  if (!(q[11] >= 0 && q[11] <= 65536 && q[12] >= 0 && q[12] <= 1024 && q[13] >= 0 && q[13] < 100)) return false;
  *a = (ts_media_access){.op = (ts_media_op)q[1], .bytes = (uint32_t)q[2], .threads = (uint32_t)q[3],
                         .sequential = q[4] != 0, .fenced = q[5] != 0, .prefetch = q[6] != 0, .mixed = q[7] >= 0,
                         .read_share = TS_MAX(0, q[7]), .hops = (uint32_t)q[8], .region = (uint64_t)q[10],
                         .depth = (uint32_t)q[11], .devices = (uint32_t)q[12], .percentile = q[13]};
  return true;
}

int32_t ts_media_evaluate(const ts_config *config, const double *queries, uint64_t n, double *out, char *err,
                          uint32_t err_cap) {
  ts_err e = {err, err_cap};
  if (config == NULL || (n > 0 && (queries == NULL || out == NULL)))
    return ts_fail(e, TS_EINVAL, "Cannot evaluate a media model: options, queries or room for answers are missing");
  ts_config_reader reader = ts_config_read(config, "media model", e);
  ts_medium medium;
  int32_t status = ts_medium_read(&reader, "medium", 0, &medium);
  if (status == TS_OK) status = ts_config_finish(&reader);
  if (status != TS_OK) return status;
  for (uint64_t i = 0; i < n; i++) {
    const double *q = queries + i * TS_MEDIA_QUERY;
    ts_media_access a;
    if (!access_of(q, &a))
      return ts_fail(e, TS_EINVAL, "Cannot evaluate a media model: query %llu has a number out of range",
                     (unsigned long long)i);
    bool both = a.mixed && a.read_share > 0 && a.read_share < 1;
    ts_media_op other = a.op == TS_MEDIA_READ ? TS_MEDIA_WRITE_NT : TS_MEDIA_READ;
    bool needs_other = both || (a.mixed && a.op == TS_MEDIA_READ && a.read_share <= 0);
    if (!medium.op[a.op].given || (needs_other && !medium.op[other].given))
      return ts_fail(e, TS_EINVAL, "Cannot evaluate media model \"%s\": query %llu asks for an operation it has no "
                     "parameters for", medium.name, (unsigned long long)i);
    switch ((int)q[0]) {
    case LATENCY: out[i] = ts_medium_latency_ns(&medium, &a, q[9]); break;
    case LATENCY_AT: out[i] = ts_medium_latency_ns(&medium, &a, q[9] / ts_medium_peak(&medium, &a)); break;
    case BANDWIDTH: out[i] = ts_medium_bandwidth(&medium, &a); break;
    case AMPLIFICATION: out[i] = ts_medium_amplification(&medium, &a); break;
    default: out[i] = ts_medium_peak(&medium, &a); break;
    }
  }
  return TS_OK;
}
