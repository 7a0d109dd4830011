/* simulate_demand.c - ts_simulate_demand: rows a step needs and where they are, from popularity laws. */
#include "simulator/memory_mode_sample.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_TABLES 64u
#define MOST_HITTERS 64u
#define MOST_POINTS 64u
#define MOST_BUCKETS 8192u /* of one law: a profile's steps, up to 4,096, and the buckets of what follows them */

typedef struct demand_options {
  uint32_t tables, tiers, points;
  uint32_t workers;
  ts_demand_policy policy;
  double capacity[TS_DEMAND_TIERS], point[MOST_POINTS];
  double page_bytes;   /* > 0: whole pages are placed by their heat, as the kernel does */
  ts_law law[MOST_TABLES];
  double lookups[MOST_TABLES]; /* of one worker's batch */
  double row_bytes[MOST_TABLES];
  bool memory_mode;
  ts_mm_options mm;
  double pair[2 * MOST_BUCKETS]; /* a reuse histogram while it is read: rows and weight by turns */
  ts_law_bucket bucket[MOST_BUCKETS];
} demand_options;

static const char *const policies[] = {"lru", "lfu", NULL};
static const char *const placements[] = {"random", "contiguous", NULL};

static uint32_t list(ts_config_reader *r, const char *key, double *out, uint32_t most) {
  const char *text = ts_config_text(r, key, ""), *at = text;
  uint32_t n = 0;
  while (r->status == TS_OK && at != NULL && *at != '\0') {
    char *end = NULL;
    double x = strtod(at, &end);
    if (end == at || !(x >= 0 && x <= 1e300) || n == most || (*end != ',' && *end != '\0')) {
      r->status = ts_fail(r->err, TS_EINVAL, "Cannot simulate: option \"%s\" needs at most %u numbers, 0 or more, with "
                                             "commas between, found \"%.60s\"", key, most, at);
      return n;
    }
    out[n++] = x;
    at = *end == ',' ? end + 1 : end;
  }
  return n;
}

static int32_t law_of_buckets(demand_options *o, uint32_t n, ts_law *out, ts_err err) {
  for (uint32_t i = 0; i + 1 < n; i += 2) o->bucket[i / 2] = (ts_law_bucket){(uint64_t)o->pair[i], o->pair[i + 1]};
  return ts_law_buckets(o->bucket, n / 2, out, err);
}

static void read_table(ts_config_reader *r, demand_options *o, uint32_t t) {
  char key[40];
  double hitters[MOST_HITTERS];
#define KEY(name) (snprintf(key, sizeof key, "table%u.%s", t, name), key)
  o->lookups[t] = ts_config_f64(r, KEY("lookups"), 1, 0, 1e15);
  o->row_bytes[t] = ts_config_f64(r, KEY("row_bytes"), 64, 1, 1e9);
  uint64_t rows = ts_config_u64(r, KEY("rows"), 1, 1, TS_LAW_MOST_ROWS);
  double s = ts_config_f64(r, KEY("s"), 0, 0, 10), q = ts_config_f64(r, KEY("q"), 0, 0, 1e15);
  uint32_t heavy = list(r, KEY("hitters"), hitters, MOST_HITTERS), n = list(r, KEY("buckets"), o->pair, 2 * MOST_BUCKETS);
#undef KEY
  if (r->status != TS_OK) return;
  r->status = n > 0 ? law_of_buckets(o, n, &o->law[t], r->err)
                    : ts_law_zipf(rows, s, q, hitters, heavy, &o->law[t], r->err);
}

static int32_t read_options(const ts_config *config, demand_options *o, ts_err err) {
  memset(o, 0, sizeof *o);
  ts_config_reader reader = ts_config_read(config, "simulation", err), *r = &reader;
  o->workers = (uint32_t)ts_config_u64(r, "workers", 1, 1, 65536);
  o->policy = ts_config_choice(r, "policy", "lru", policies) == 1 ? TS_DEMAND_LFU : TS_DEMAND_LRU;
  o->tiers = list(r, "capacity", o->capacity, TS_DEMAND_TIERS - 1) + 1;
  o->points = list(r, "seen", o->point, MOST_POINTS);
  o->page_bytes = ts_config_f64(r, "page_bytes", 0, 0, 1e12);
  o->memory_mode = ts_config_has(config, "cache_bytes");
  o->mm.cache_bytes = ts_config_f64(r, "cache_bytes", 0, 0, 1e18);
  o->mm.contiguous = ts_config_choice(r, "placement", "random", placements) == 1;
  o->mm.trains = ts_config_u64(r, "trains", 1, 0, 1) != 0;
  o->mm.seed = ts_config_u64(r, "seed", 0, 0, UINT64_MAX);
  o->mm.samples = (uint32_t)ts_config_u64(r, "samples", 200000, 1, 100000000);
  o->mm.threads = (uint32_t)ts_config_u64(r, "threads", 1, 1, 256);
  uint32_t tables = (uint32_t)ts_config_u64(r, "tables", 0, 0, MOST_TABLES);
  for (uint32_t t = 0; t < tables && r->status == TS_OK; t++) {
    read_table(r, o, t);
    if (r->status == TS_OK) o->tables = t + 1;
  }
  return ts_config_finish(r);
}

/* Pages by their hottest row: those that fit the first tier have all rows up to a rank, and of the others the rows that
 * happen to lie on them. (1 - x)^m by squaring. */
static double power(double x, uint64_t m) {
  double out = 1;
  for (; m > 0; m >>= 1, x *= x)
    if (m & 1) out *= x;
  return out;
}

static double rows_up_to(const ts_demand_table *table, double rank) {
  double distinct = 0;
  const ts_law *law = table->law;
  for (uint32_t b = 0; b < law->count && rank > 0; b++) {
    double rows = TS_MIN(rank, (double)law->buckets[b].rows);
    distinct += rows * ts_one_minus_exp(law->buckets[b].weight / law->total * table->lookups);
    rank -= rows;
  }
  return distinct;
}

static void by_pages(const ts_demand_table *tables, uint32_t count, double page, double capacity, ts_demand *out) {
  double all = 0;
  for (uint32_t t = 0; t < count; t++) all += (double)tables[t].law->rows * tables[t].row_bytes;
  for (uint32_t t = 0; t < count; t++) {
    /* Tables get first-tier memory in proportion to their bytes: page heat of tables is not compared. */
    double share = all > 0 ? TS_MIN(1, capacity / all) : 1, rows = (double)tables[t].law->rows;
    uint64_t on_page = (uint64_t)TS_MAX(1, page / tables[t].row_bytes);
    double low = 0, high = 1;
    for (uint32_t i = 0; i < 100; i++) {
      double middle = low + (high - low) / 2;
      if (1 - power(1 - middle, on_page) < share) low = middle;
      else high = middle;
    }
    double hot = rows_up_to(&tables[t], share >= 1 ? rows : rows * high), distinct = out[t].distinct;
    double by_chance = share >= 1 ? 1 : 1 - power(1 - high, on_page - 1);
    double inside = TS_MIN(distinct, hot + by_chance * (distinct - hot));
    out[t].in_tier[0] = inside;
    out[t].in_tier[1] = distinct - inside;
  }
}

static void write_out(ts_text *text, const demand_options *o, const ts_demand_table *all, const ts_demand *of_all,
                      const ts_demand *of_one) {
  for (uint32_t t = 0; t < o->tables; t++) {
    ts_text_add(text, "table distinct=%.17g variance=%.17g all=%.17g", of_one[t].distinct, of_one[t].variance,
                of_all[t].distinct);
    for (uint32_t i = 0; i < o->tiers; i++) ts_text_add(text, " in%u=%.17g", i, of_all[t].in_tier[i]);
    for (uint32_t p = 0; p < o->points; p++)
      ts_text_add(text, " seen%u=%.17g", p, all[t].lookups <= 0 ? 0 : ts_law_distinct(all[t].law, all[t].lookups * o->point[p]));
    ts_text_add(text, "\n");
  }
}

int32_t ts_simulate_demand(const ts_config *config, char *out, uint64_t cap, uint64_t *needed, char *message,
                           uint32_t err_cap) {
  ts_err err = {message, err_cap};
  if (config == NULL || needed == NULL) return ts_fail(err, TS_EINVAL, "Cannot simulate: a config and needed are needed");
  demand_options *o = calloc(1, sizeof *o);
  if (o == NULL) return ts_fail(err, TS_ENOMEM, "Cannot simulate: out of memory");
  int32_t status = read_options(config, o, err);
  if (status == TS_OK) {
    ts_demand_table one[MOST_TABLES], all[MOST_TABLES];
    ts_demand of_one[MOST_TABLES], of_all[MOST_TABLES];
    for (uint32_t t = 0; t < o->tables; t++) {
      one[t] = (ts_demand_table){&o->law[t], o->lookups[t], o->row_bytes[t]};
      all[t] = (ts_demand_table){&o->law[t], o->lookups[t] * o->workers, o->row_bytes[t]};
    }
    ts_demand_of(one, o->tables, o->policy, o->capacity, 1, of_one);
    ts_demand_of(all, o->tables, o->policy, o->capacity, o->tiers, of_all);
    if (o->page_bytes > 0 && o->tiers == 2) by_pages(all, o->tables, o->page_bytes, o->capacity[0], of_all);
    ts_text text = {0};
    write_out(&text, o, all, of_all, of_one);
    if (o->memory_mode) {
      double shares[2][TS_MM_RESULTS] = {{0}};
      status = ts_mm_sample(all, o->tables, &o->mm, shares, err);
      ts_text_add(&text, "memory_mode read_hit=%.17g read_clean=%.17g read_dirty=%.17g write_hit=%.17g write_clean=%.17g "
                         "write_dirty=%.17g\n", shares[0][0], shares[0][1], shares[0][2], shares[1][0], shares[1][1],
                  shares[1][2]);
    }
    if (status == TS_OK) status = ts_text_tell(&text, "the demand", out, cap, needed, err);
    else free(text.bytes);
  }
  for (uint32_t t = 0; t < o->tables; t++) ts_law_free(&o->law[t]);
  free(o);
  return status;
}
