/* engine_options.c - options of a simulation, as text pairs; the list is in tierstore.h. */
#include "simulator/engine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const write_names[] = {"nt", "cached", "flush", NULL};
static const ts_media_op write_ops[] = {TS_MEDIA_WRITE_NT, TS_MEDIA_WRITE_CACHED, TS_MEDIA_WRITE_FLUSH};
static const char *const places[] = {"critical", "gap", NULL};
static const char *const devices[] = {"cores", "accelerator", NULL};

static uint64_t whole(ts_config_reader *r, const char *key, uint64_t fallback, uint64_t min, uint64_t max) {
  return ts_config_u64(r, key, fallback, min, max);
}

/* "1.5,2,3" into `count` numbers, 0 or more each. */
static void numbers(ts_config_reader *r, const char *key, uint32_t count, double *out) {
  const char *text = ts_config_text(r, key, "");
  if (r->status != TS_OK) return;
  const char *at = text == NULL ? "" : text;
  for (uint32_t i = 0; i < count; i++) {
    char *end = NULL;
    out[i] = strtod(at, &end);
    bool last = i + 1 == count;
    if (end == at || !(out[i] >= 0 && out[i] <= 1e300) || *end != (last ? '\0' : ',')) {
      r->status = ts_fail(r->err, TS_EINVAL,
                          "Cannot open simulation: option \"%s\" needs %u numbers, 0 or more, with commas between, found "
                          "\"%.60s\" at number %u", key, count, at, i + 1);
      return;
    }
    at = end + 1;
  }
}

static void read_tier(ts_config_reader *r, uint32_t n, ts_sim_tier *tier) {
  char prefix[16], key[40];
  snprintf(prefix, sizeof prefix, "tier%u", n);
#define KEY(name) (snprintf(key, sizeof key, "%s.%s", prefix, name), key)
  tier->write = write_ops[ts_config_choice(r, KEY("write"), "cached", write_names)];
  tier->round = (uint32_t)whole(r, KEY("round"), 1, 1, 1 << 20);
  uint32_t count = (uint32_t)whole(r, KEY("devices"), 1, 1, 1024);
  tier->hops = (uint32_t)whole(r, KEY("hops"), 0, 0, 8);
  tier->remote = ts_config_f64(r, KEY("remote"), 1, 0, 1);
  tier->depth = (uint32_t)whole(r, KEY("depth"), 1, 1, 65536);
  tier->fenced = whole(r, KEY("fenced"), 0, 0, 1) != 0;
  tier->region = whole(r, KEY("region"), 0, 0, UINT64_C(1000000000000000000));
  tier->read_ps = whole(r, KEY("read_ps"), 0, 0, UINT64_C(1000000000000));
  tier->write_ps = whole(r, KEY("write_ps"), 0, 0, UINT64_C(1000000000000));
  const char *label = ts_config_text(r, KEY("label"), prefix);
  if (r->status == TS_OK) snprintf(tier->name, sizeof tier->name, "%s", label);
#undef KEY
  if (r->status != TS_OK) return;
  r->status = ts_medium_read(r, prefix, TS_MEDIA_OP_BIT(TS_MEDIA_READ) | TS_MEDIA_OP_BIT(tier->write), &tier->medium);
  /* Devices side by side are modules of one set, each behind a link of its own. */
  tier->medium.modules *= count;
  tier->medium.link_read *= count, tier->medium.link_write *= count, tier->medium.link_accesses *= count;
}

static void read_tables(ts_config_reader *r, ts_sim *sim) {
  uint32_t n = sim->table_count;
  sim->tables = calloc((size_t)n + 1, sizeof *sim->tables);
  double *column = calloc((size_t)n + 1, sizeof *column);
  if (sim->tables == NULL || column == NULL) {
    r->status = ts_fail(r->err, TS_ENOMEM, "Cannot open simulation: out of memory");
    free(column);
    return;
  }
#define COLUMN(key, field, type)                                                       \
  do {                                                                                 \
    if (n > 0) numbers(r, key, n, column);                                             \
    for (uint32_t i = 0; i < n; i++) sim->tables[i].field = (type)column[i];           \
  } while (0)
  COLUMN("tables.distinct", distinct, double);
  COLUMN("tables.variance", variance, double);
  COLUMN("tables.all", all, double);
  COLUMN("tables.lookups", lookups, double);
  COLUMN("tables.value_bytes", value_bytes, uint32_t);
  COLUMN("tables.row_bytes", row_bytes, uint32_t);
  if (ts_config_has(r->config, "tables.in_place")) COLUMN("tables.in_place", in_place, bool);
  for (uint32_t t = 0; t < sim->tier_count; t++) {
    char key[24];
    snprintf(key, sizeof key, "tables.in%u", t);
    COLUMN(key, in_tier[t], double);
  }
#undef COLUMN
  free(column);
}

static void read_memory_mode(ts_config_reader *r, ts_sim_memory_mode *mode) {
  mode->on = whole(r, "memory_mode", 0, 0, 1) != 0;
  mode->read_clean = ts_config_f64(r, "memory_mode.read_clean", 0, 0, 1);
  mode->read_dirty = ts_config_f64(r, "memory_mode.read_dirty", 0, 0, 1);
  mode->write_clean = ts_config_f64(r, "memory_mode.write_clean", 0, 0, 1);
  mode->write_dirty = ts_config_f64(r, "memory_mode.write_dirty", 0, 0, 1);
  mode->known = ts_config_f64(r, "memory_mode.known", 0, 0, 1);
}

int32_t ts_sim_read(const ts_config *config, ts_sim *out, ts_err err) {
  const uint64_t day = UINT64_C(86400000000000000);
  memset(out, 0, sizeof *out);
  ts_config_reader reader = ts_config_read(config, "simulation", err), *r = &reader;
  out->seed = whole(r, "seed", 0, 0, UINT64_MAX);
  out->steps = (uint32_t)whole(r, "steps", 64, 1, 1000000);
  out->warmup = (uint32_t)whole(r, "warmup", 8, 0, 100000);
  out->workers = (uint32_t)whole(r, "workers", 1, 1, 4096);
  out->per_host = (uint32_t)whole(r, "per_host", 1, 1, 4096);
  out->servers = (uint32_t)whole(r, "servers", 0, 0, 1024);
  out->cores = (uint32_t)whole(r, "cores", 1, 1, 1024);
  out->background = (uint32_t)whole(r, "background", 1, 0, 256);
  out->stage_threads = (uint32_t)whole(r, "stage_threads", 1, 1, 256);
  out->ahead = (uint32_t)whole(r, "ahead", 1, 0, 64);
  out->micro = (uint32_t)whole(r, "micro", 1, 1, 1024);
  out->lag = (uint32_t)whole(r, "lag", 1, 1, 1024);
  out->prefetch = whole(r, "prefetch", 0, 0, 1) != 0;
  out->async = whole(r, "async", 0, 0, 1) != 0;
  out->promote = whole(r, "promote", 1, 0, 1) != 0;
  out->activations = whole(r, "activations", 0, 0, 1) != 0;
  out->prefetchers = whole(r, "prefetchers", 1, 0, 1) != 0;
  out->trains = whole(r, "trains", 1, 0, 1) != 0;
  out->accelerator = ts_config_choice(r, "dense_on", "cores", devices) == 1;
  out->gap = ts_config_choice(r, "maintenance", "critical", places) == 1;
  out->lock_misses = whole(r, "lock_misses", 0, 0, 1) != 0;
  out->parse_ps = whole(r, "parse_ps", 0, 0, day);
  out->dense_ps = whole(r, "dense_ps", 0, 0, day);
  out->dense_spread = ts_config_f64(r, "dense_spread", 0, 0, 2);
  out->rest_ps = whole(r, "rest_ps", 0, 0, day);
  out->key_ps = whole(r, "key_ps", 0, 0, day);
  out->row_ps = whole(r, "row_ps", 0, 0, day);
  out->update_ps = whole(r, "update_ps", 0, 0, day);
  out->contend_ps = whole(r, "contend_ps", 0, 0, day);
  out->lock_ps = whole(r, "lock_ps", 0, 0, day);
  out->upkeep_ps = whole(r, "upkeep_ps", 0, 0, day);
  out->track_ps = whole(r, "track_ps", 0, 0, day);
  out->miss_ps = whole(r, "miss_ps", 0, 0, day);
  out->rows_in_flight = ts_config_f64(r, "rows_in_flight", 0, 0, 1e6);
  out->lock_contention = ts_config_f64(r, "lock_contention", 0, 0, 1000);
  out->allreduce_bytes = ts_config_f64(r, "allreduce_bytes", 0, 0, 1e15);
  out->net_bandwidth = ts_config_f64(r, "net_bandwidth", 0, 0, 1e15);
  out->net_latency_ps = whole(r, "net_latency_ps", 0, 0, day);
  out->message_ps = whole(r, "message_ps", 0, 0, day);
  out->fault_count = ts_config_f64(r, "fault_count", 0, 0, 1e15);
  out->fault_ps = ts_config_f64(r, "fault_ps", 0, 0, 1e15);
  out->migrate_count = ts_config_f64(r, "migrate_count", 0, 0, 1e15);
  out->migrate_ps = ts_config_f64(r, "migrate_ps", 0, 0, 1e15);
  out->page_bytes = (uint32_t)whole(r, "page_bytes", 4096, 64, 1 << 30);
  out->flush_rows = ts_config_f64(r, "flush_rows", 0, 0, 1e15);
  read_memory_mode(r, &out->memory_mode);
  out->tier_count = (uint32_t)whole(r, "tiers", 1, 1, TS_SIM_TIERS);
  out->table_count = (uint32_t)whole(r, "tables", 0, 0, TS_SIM_TABLES);
  for (uint32_t t = 0; t < out->tier_count && r->status == TS_OK; t++) read_tier(r, t, &out->tier[t]);
  if (r->status == TS_OK) read_tables(r, out);
  int32_t status = ts_config_finish(r);
  if (status == TS_OK && out->memory_mode.on && out->tier_count < 2)
    status = ts_fail(err, TS_EINVAL, "Cannot open simulation: \"memory_mode\" needs two tiers: DRAM and what is behind it");
  if (status == TS_OK && out->servers > 0 && out->activations)
    status = ts_fail(err, TS_EINVAL, "Cannot open simulation: \"activations\" are those of one host, found %u servers", out->servers);
  if (status == TS_OK && out->servers > 0 && out->net_bandwidth <= 0)
    status = ts_fail(err, TS_EINVAL, "Cannot open simulation: with \"servers\" the option \"net_bandwidth\" is needed");
  if (status != TS_OK) ts_sim_free(out);
  return status;
}
