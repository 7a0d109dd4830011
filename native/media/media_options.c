/* media_options.c - reads a medium's parameters from the options "<prefix>.*"; media.h lists them. */
#include "media/media.h"

#include <stdio.h>
#include <string.h>

static const char *const op_names[TS_MEDIA_OPS] = {"read", "write_nt", "write_cached", "write_flush"};

typedef struct ts_media_options {
  ts_config_reader *r;
  const char *prefix, *op; /* op NULL: the medium's own */
} ts_media_options;

static void key_of(const ts_media_options *o, const char *what, char key[96]) {
  if (o->op == NULL) snprintf(key, 96, "%s.%s", o->prefix, what);
  else snprintf(key, 96, "%s.%s_%s", o->prefix, o->op, what);
}

static double number(const ts_media_options *o, const char *what, double fallback, double min, double max) {
  char key[96];
  key_of(o, what, key);
  return ts_config_f64(o->r, key, fallback, min, max);
}

static uint32_t whole(const ts_media_options *o, const char *what, uint64_t fallback, uint64_t min, uint64_t max) {
  char key[96];
  key_of(o, what, key);
  return (uint32_t)ts_config_u64(o->r, key, fallback, min, max);
}

static double required(const ts_media_options *o, const char *what, double min, double max) {
  char key[96];
  key_of(o, what, key);
  if (o->r->status == TS_OK && !ts_config_has(o->r->config, key)) {
    o->r->status = ts_fail(o->r->err, TS_EINVAL,
                           "Cannot open %s: option \"%s\" is missing; it is required with \"%s.medium\"", o->r->what,
                           key, o->prefix);
    return min;
  }
  return ts_config_f64(o->r, key, min, min, max);
}

static void read_op(const ts_media_options *o, const ts_medium *m, double in_flight, double contention,
                    ts_media_op_model *op) {
  op->given = true;
  op->first_ns = required(o, "latency_ns", 0.001, 1e9);
  op->bandwidth = required(o, "bandwidth", 1, 1e15) / 1e9;
  op->next_ns = number(o, "next_latency_ns", op->first_ns, 0.001, 1e9);
  op->sequential_ns = number(o, "sequential_ns", op->next_ns, 0.001, 1e9);
  op->sequential_latency_ns = number(o, "sequential_latency_ns", op->first_ns, 0.001, 1e9);
  op->buffer1 = number(o, "buffer1", 0, 0, 1e15);
  op->buffer2 = number(o, "buffer2", 0, 0, 1e15);
  op->buffer1_ns = number(o, "buffer1_ns", op->first_ns, 0.001, 1e9);
  op->buffer2_ns = number(o, "buffer2_ns", op->first_ns, 0.001, 1e9);
  op->media_ns = number(o, "media_ns", op->first_ns, 0.001, 1e9);
  op->in_flight = number(o, "in_flight", in_flight, 0.1, 10000);
  op->fence_ns = number(o, "fence_ns", 0, 0, 1e9);
  op->fence_next_ns = number(o, "fence_next_ns", op->next_ns / op->in_flight, 0, 1e9);
  op->knee = number(o, "knee", 0, 0, 1e6);
  op->knee_size = number(o, "knee_size", 0, 0, 2);
  op->limit = number(o, "limit", (double)m->granule / m->line, 1, 4096);
  op->spread = number(o, "spread", 1, 0, 4);
  op->contention = number(o, "contention", contention, 0.1, 16);
  op->depth = number(o, "depth", op->in_flight, 0, 1e6);
  op->overhead_bytes = number(o, "overhead_bytes", 0, 0, 1e6);
  op->combine = number(o, "combine", 0, 0, 1e15);
  op->jitter_ns = number(o, "jitter_ns", 0, 0, 1e9);
}

int32_t ts_medium_read(ts_config_reader *reader, const char *prefix, uint32_t ops, ts_medium *out) {
  memset(out, 0, sizeof *out);
  ts_media_options o = {reader, prefix, NULL};
  char key[96];
  key_of(&o, "medium", key);
  const char *medium = ts_config_text(reader, key, "");
  if (medium == NULL) medium = "";
  if (reader->status == TS_OK && strlen(medium) >= sizeof out->name)
    reader->status = ts_fail(reader->err, TS_EINVAL, "Cannot open %s: the name in \"%s\" is longer than %u bytes",
                             reader->what, key, TS_MEDIUM_NAME - 1);
  if (reader->status != TS_OK) return reader->status;
  strcpy(out->name, medium);
  out->threads = whole(&o, "threads", 1, 1, 65536);
  out->line = whole(&o, "line", TS_CACHE_LINE, TS_CACHE_LINE, 1u << 20);
  out->granule = whole(&o, "granule", out->line, TS_CACHE_LINE, 1u << 20);
  out->modules = whole(&o, "modules", 1, 1, 1024);
  out->chunk = whole(&o, "chunk", 4096, 64, 1u << 30);
  out->queued = whole(&o, "queued", 0, 0, 1) != 0;
  out->capacity = (uint64_t)number(&o, "capacity", 0, 0, 1e18);
  out->crowding = number(&o, "crowding", 1, 0, 100);
  out->sharpness = number(&o, "sharpness", 4, 0.5, 64);
  out->duplex = number(&o, "duplex", 1, 0.2, 64);
  double speed = number(&o, "speed", 1, 0.01, 100), rated = number(&o, "rated_w", 0, 0, 1000);
  double power = number(&o, "power_w", rated, 0, 1000);
  out->power = rated > 0 ? speed * (power / rated) * (power / rated) : speed;
  out->prefetch_bytes = number(&o, "prefetch_bytes", 0, 0, 1e6);
  out->prefetch_lines = number(&o, "prefetch_lines", 0, 0, 1e6);
  out->prefetch_above = number(&o, "prefetch_above", 15, 0, 1e6);
  out->hop_ns = number(&o, "hop_ns", 0, 0, 1e9);
  out->hop_read = number(&o, "hop_read", 0, 0, 1e15) / 1e9;
  out->hop_write = number(&o, "hop_write", 0, 0, 1e15) / 1e9;
  out->hop_duplex = number(&o, "hop_duplex", 2, 0.2, 64);
  out->link_read = number(&o, "link_read", 0, 0, 1e15) / 1e9;
  out->link_write = number(&o, "link_write", 0, 0, 1e15) / 1e9;
  out->link_accesses = number(&o, "link_accesses", 0, 0, 1e15) / 1e9;
  out->load_linear = number(&o, "load_linear", 0, 0, 100);
  out->load_linear_write = number(&o, "load_linear_write", out->load_linear, 0, 100);
  out->load_queue = number(&o, "load_queue", 0, 0, 100);
  out->load_queue_write = number(&o, "load_queue_write", out->load_queue, 0, 100);
  out->latency_scale = number(&o, "latency_scale", 1, 0.01, 100);
  out->cores = number(&o, "cores", 16, 1, 65536);
  out->waiting = number(&o, "waiting", 16, 0.1, 1e6);
  out->waiting_write = number(&o, "waiting_write", out->waiting, 0.1, 1e6);
  out->stall_ns = number(&o, "stall_ns", 0, 0, 1e9);
  out->stall_every = number(&o, "stall_every", 0, 0, 1e15);
  out->stall_region = number(&o, "stall_region", 0, 0, 1e15);
  double in_flight = number(&o, "in_flight", 10, 0.1, 10000), contention = number(&o, "contention", 3, 0.1, 16);
  for (uint32_t i = 0; i < 2 && reader->status == TS_OK; i++) {
    uint32_t size = i == 0 ? out->granule : out->line;
    if ((size & (size - 1)) != 0)
      reader->status = ts_fail(reader->err, TS_EINVAL,
                               "Cannot open %s: option \"%s.%s\" must be a power of two, found %u", reader->what, prefix,
                               i == 0 ? "granule" : "line", size);
  }
  for (uint32_t i = 0; i < TS_MEDIA_OPS; i++) {
    o.op = op_names[i];
    key_of(&o, "latency_ns", key);
    if ((ops >> i & 1) == 0 && !ts_config_has(reader->config, key)) continue;
    read_op(&o, out, in_flight, contention, &out->op[i]);
  }
  return reader->status;
}
