/* memory_mode_sample.c - samples rows behind a direct-mapped cache; the idea is in memory_mode_sample.h. */
#include "simulator/memory_mode_sample.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST_RIVALS 256u /* 1 GB of cache before 256 GB of tables; more rivals change nothing that shows */

ts_mm_result ts_mm_touch(ts_mm_line *line, uint32_t owner, bool write) {
  if (line->owner == owner) {
    line->dirty = line->dirty || write;
    return TS_MM_HIT;
  }
  ts_mm_result result = line->owner != UINT32_MAX && line->dirty ? TS_MM_DIRTY : TS_MM_CLEAN;
  *line = (ts_mm_line){owner, write};
  return result;
}

typedef struct sampler {
  const ts_demand_table *tables;
  uint32_t count, buckets; /* buckets of all tables */
  const ts_mm_options *options;
  double bytes, rivals;    /* of all tables; mean number of others in a place */
  double *end_bytes;       /* of buckets, table after table, cumulative */
  double *chance;          /* of a row of each bucket to be asked for in a step */
  struct stratum {
    uint32_t table, bucket, samples;
    uint64_t first; /* number of its first sample */
    uint64_t counts[2][TS_MM_RESULTS];
  } *strata;
} sampler;

static double rate_of(const ts_demand_table *table, uint32_t bucket) {
  const ts_law *law = table->law;
  return law->buckets[bucket].weight / law->total * table->lookups;
}

/* Chance that a random row of all tables, by bytes, is asked for in a step. */
static double rival_chance(const sampler *s, double at) {
  double place = at * s->bytes;
  uint32_t low = 0, high = s->buckets - 1;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (place < s->end_bytes[middle]) high = middle;
    else low = middle + 1;
  }
  return s->chance[low];
}

/* Numbers of a sample, one after the other. */
typedef struct draw {
  uint64_t seed, stream, next;
} draw;

static double unit(draw *d) { return ts_unit(ts_random64(d->seed, d->stream, d->next++)); }

static uint32_t rivals_of(const sampler *s, draw *d) {
  double mean = s->rivals;
  if (s->options->contiguous) {
    uint32_t whole = (uint32_t)mean;
    return whole + (unit(d) < mean - whole ? 1 : 0);
  }
  /* Poisson by inversion; a sum of two halves where e^-mean would vanish. */
  uint32_t n = 0;
  for (double left = mean; left > 0; left -= 32) {
    double part = left < 32 ? left : 32, p = 1 - ts_one_minus_exp(part), sum = p, u = unit(d);
    for (uint32_t k = 1; u >= sum && k < 200; k++) {
      p *= part / k;
      sum += p;
      n++;
    }
  }
  return n;
}

static void sample(const sampler *s, struct stratum *stratum, uint64_t number) {
  draw d = {s->options->seed, number, 0};
  double own = s->chance[stratum - s->strata];
  uint32_t n = rivals_of(s, &d), same = 0;
  if (n > MOST_RIVALS) n = MOST_RIVALS;
  uint32_t in_step[MOST_RIVALS + 1];
  double others = 0;
  for (uint32_t i = 0; i < n; i++) {
    double chance = rival_chance(s, unit(&d));
    others += chance;
    if (unit(&d) < chance) in_step[same++] = i + 1;
  }
  /* Between its last access and this one: the first of all of them to come is the row itself, or it is not. */
  bool trains = s->options->trains;
  bool alone = others <= 0 || unit(&d) * (own + others) < own;
  ts_mm_line line = {alone ? 0 : 1 + n, trains};
  uint32_t place = (uint32_t)(unit(&d) * (same + 1)); /* of the row among those of the step */
  if (place > same) place = same;
  for (uint32_t pass = 0; pass < (trains ? 2u : 1u); pass++)
    for (uint32_t i = 0; i <= same; i++) {
      uint32_t who = i == place ? 0 : in_step[i < place ? i : i - 1];
      ts_mm_result result = ts_mm_touch(&line, who, pass == 1);
      if (who == 0) stratum->counts[pass][result]++;
    }
}

static void work(void *context, uint32_t part) {
  sampler *s = context;
  struct stratum *stratum = &s->strata[part];
  for (uint32_t i = 0; i < stratum->samples; i++) sample(s, stratum, stratum->first + i);
}

int32_t ts_mm_sample(const ts_demand_table *tables, uint32_t count, const ts_mm_options *options,
                     double shares[2][TS_MM_RESULTS], ts_err err) {
  memset(shares, 0, 2 * sizeof *shares);
  sampler s = {.tables = tables, .count = count, .options = options};
  double weight = 0;
  for (uint32_t t = 0; t < count; t++) s.buckets += tables[t].law->count;
  s.strata = calloc((size_t)s.buckets + 1, sizeof *s.strata);
  s.end_bytes = calloc((size_t)s.buckets + 1, sizeof *s.end_bytes);
  s.chance = calloc((size_t)s.buckets + 1, sizeof *s.chance);
  ts_pool *pool = NULL;
  int32_t status = s.strata == NULL || s.end_bytes == NULL || s.chance == NULL
                       ? ts_fail(err, TS_ENOMEM, "Cannot sample Memory Mode: out of memory")
                       : ts_pool_create(TS_MAX(options->threads, 1u), &pool, err);
  if (status != TS_OK) {
    free(s.strata);
    free(s.end_bytes);
    free(s.chance);
    return status;
  }
  uint32_t at = 0;
  for (uint32_t t = 0; t < count; t++) {
    for (uint32_t b = 0; b < tables[t].law->count; b++, at++) {
      s.strata[at].table = t;
      s.strata[at].bucket = b;
      s.bytes += (double)tables[t].law->buckets[b].rows * tables[t].row_bytes;
      s.end_bytes[at] = s.bytes;
      s.chance[at] = ts_one_minus_exp(rate_of(&tables[t], b));
      weight += (double)tables[t].law->buckets[b].rows * s.chance[at];
    }
  }
  double ratio = options->cache_bytes > 0 ? s.bytes / options->cache_bytes : MOST_RIVALS;
  s.rivals = options->contiguous ? TS_MAX(0, ratio - 1) : ratio;
  if (s.rivals > MOST_RIVALS) s.rivals = MOST_RIVALS;
  uint64_t first = 0;
  for (uint32_t i = 0; i < s.buckets; i++) {
    struct stratum *stratum = &s.strata[i];
    const ts_demand_table *table = &tables[stratum->table];
    double own = (double)table->law->buckets[stratum->bucket].rows * s.chance[i];
    stratum->samples = own <= 0 || weight <= 0 ? 0 : 1 + (uint32_t)(options->samples * (own / weight));
    stratum->first = first;
    first += stratum->samples;
  }
  ts_pool_run(pool, s.buckets, work, &s);
  ts_pool_destroy(pool);
  for (uint32_t i = 0; i < s.buckets && weight > 0; i++) {
    const struct stratum *stratum = &s.strata[i];
    if (stratum->samples == 0) continue;
    const ts_demand_table *table = &tables[stratum->table];
    double own = (double)table->law->buckets[stratum->bucket].rows * s.chance[i];
    for (uint32_t pass = 0; pass < 2; pass++)
      for (uint32_t r = 0; r < TS_MM_RESULTS; r++)
        shares[pass][r] += own / weight * (double)stratum->counts[pass][r] / stratum->samples;
  }
  free(s.strata);
  free(s.end_bytes);
  free(s.chance);
  return TS_OK;
}
