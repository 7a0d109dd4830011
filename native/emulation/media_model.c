/* media_model.c - reads a medium's parameters and turns accesses into time; the formulas are in media_model.h. */
#include "emulation/media_model.h"

#include <stdio.h>
#include <string.h>

static const char *const op_names[TS_MEDIA_OPS] = {"read", "write_nt", "write_cached"};

/* One number "<prefix>.<op>_<what>", or a message that names it. */
static double number(ts_config_reader *r, const char *prefix, const char *op, const char *what, double fallback,
                     double min, double max) {
  char key[96];
  snprintf(key, sizeof key, "%s.%s_%s", prefix, op, what);
  if (fallback < 0 && r->status == TS_OK && !ts_config_has(r->config, key)) {
    r->status = ts_fail(r->err, TS_EINVAL,
                        "Cannot open %s: option \"%s\" is missing; it is required with \"%s.medium\"", r->what, key,
                        prefix);
    return min;
  }
  return ts_config_f64(r, key, fallback < 0 ? min : fallback, min, max);
}

int32_t ts_media_model_read(ts_config_reader *reader, const char *prefix, uint32_t ops, ts_media_model *out) {
  char key[96];
  memset(out, 0, sizeof *out);
  snprintf(key, sizeof key, "%s.medium", prefix);
  const char *medium = ts_config_text(reader, key, "");
  if (medium == NULL) medium = "";
  if (reader->status == TS_OK && strlen(medium) >= sizeof out->medium)
    reader->status = ts_fail(reader->err, TS_EINVAL, "Cannot open %s: the name in \"%s\" is longer than %u bytes",
                             reader->what, key, TS_MEDIUM_NAME - 1);
  if (reader->status != TS_OK) return reader->status;
  strcpy(out->medium, medium);
  snprintf(key, sizeof key, "%s.threads", prefix);
  out->threads = (uint32_t)ts_config_u64(reader, key, 1, 1, 65536);
  snprintf(key, sizeof key, "%s.granule", prefix);
  out->granule = (uint32_t)ts_config_u64(reader, key, TS_CACHE_LINE, TS_CACHE_LINE, 4096);
  snprintf(key, sizeof key, "%s.in_flight", prefix);
  double in_flight = ts_config_f64(reader, key, 10, 0.1, 10000);
  if (reader->status == TS_OK && (out->granule & (out->granule - 1)) != 0)
    reader->status =
        ts_fail(reader->err, TS_EINVAL, "Cannot open %s: option \"%s.granule\" must be a power of two, found %u",
                reader->what, prefix, out->granule);
  for (uint32_t op = 0; op < TS_MEDIA_OPS; op++) {
    ts_media_op_model *m = &out->op[op];
    if ((ops >> op & 1) == 0) continue;
    m->first_ns = number(reader, prefix, op_names[op], "latency_ns", -1, 0.001, 1e9);
    m->next_ns = number(reader, prefix, op_names[op], "next_latency_ns", m->first_ns, 0.001, 1e9);
    m->in_flight = number(reader, prefix, op_names[op], "in_flight", in_flight, 0.1, 10000);
    m->bandwidth = number(reader, prefix, op_names[op], "bandwidth", -1, 1, 1e15) / 1e9;
  }
  return reader->status;
}

double ts_media_access_ns(const ts_media_model *model, ts_media_op op, uint32_t bytes) {
  if (bytes == 0) return 0;
  const ts_media_op_model *m = &model->op[op];
  uint64_t lines = ((uint64_t)bytes + TS_CACHE_LINE - 1) / TS_CACHE_LINE;
  uint64_t moved = op == TS_MEDIA_WRITE_CACHED ? lines * TS_CACHE_LINE : TS_ROUND_UP((uint64_t)bytes, model->granule);
  double core = (m->first_ns + (double)(lines - 1) * m->next_ns) / m->in_flight;
  double medium = (double)moved * model->threads / m->bandwidth;
  return TS_MAX(core, medium);
}

double ts_media_batch_ns(const ts_media_model *model, ts_media_op op, uint32_t bytes, uint64_t count) {
  if (bytes == 0 || count == 0) return 0;
  double all = (double)count * ts_media_access_ns(model, op, bytes);
  return TS_MAX(all, model->op[op].first_ns);
}
