/* demand.c - rows a step needs and where they are; see demand.h for the formulas. */
#include "simulator/demand.h"

#include <math.h>

static double rows_seen(const ts_demand_table *table, double steps) {
  return table->lookups <= 0 ? 0 : ts_law_distinct(table->law, table->lookups * steps);
}

static double bytes_seen(const ts_demand_table *tables, uint32_t count, double steps) {
  double bytes = 0;
  for (uint32_t i = 0; i < count; i++) bytes += tables[i].row_bytes * rows_seen(&tables[i], steps);
  return bytes;
}

/* Lookups in steps whose distinct rows fill `capacity` bytes; +infinity if all rows of all tables fit. */
static double window_of(const ts_demand_table *tables, uint32_t count, double capacity) {
  double all = 0;
  for (uint32_t i = 0; i < count; i++)
    if (tables[i].lookups > 0) all += tables[i].row_bytes * (double)tables[i].law->rows;
  if (capacity >= all) return INFINITY;
  if (capacity <= 0) return 0;
  double low = 0, high = 1;
  while (bytes_seen(tables, count, high) < capacity) {
    low = high;
    high *= 2;
    if (high > 0x1p200) return INFINITY; /* what is left is never asked for */
  }
  for (uint32_t i = 0; i < 60 && high - low > high * 1e-12; i++) {
    double middle = low + (high - low) / 2;
    if (bytes_seen(tables, count, middle) < capacity) low = middle;
    else high = middle;
  }
  return high;
}

/* Distinct rows a step that come back after more than `window` steps. */
static double beyond(const ts_demand_table *table, double window, double distinct) {
  if (window == INFINITY) return 0;
  if (window <= 0) return distinct;
  double late = rows_seen(table, window + 1) - rows_seen(table, window);
  return late < 0 ? 0 : late > distinct ? distinct : late;
}

/* Distinct rows a step of the table that are looked up at least `rate` times a step and byte; *bytes grows by theirs. */
static double hot(const ts_demand_table *table, double rate, double *bytes) {
  const ts_law *law = table->law;
  double distinct = 0;
  for (uint32_t b = 0; b < law->count; b++) {
    double lookups = law->buckets[b].weight / law->total * table->lookups, rows = (double)law->buckets[b].rows;
    if (lookups < rate * table->row_bytes) break; /* heaviest first */
    distinct += rows * ts_one_minus_exp(lookups);
    *bytes += rows * table->row_bytes;
  }
  return distinct;
}

/* The most popular rows by bytes: whole buckets above a rate, and a part of those at it. */
static void lfu(const ts_demand_table *tables, uint32_t count, double capacity, double *resident) {
  double high = 0;
  for (uint32_t i = 0; i < count; i++) {
    const ts_law *law = tables[i].law;
    double rate = law->buckets[0].weight / law->total * tables[i].lookups / tables[i].row_bytes;
    if (rate > high) high = rate;
  }
  high *= 2; /* nothing is this hot */
  double low = 0;
  for (uint32_t round = 0; round < 200; round++) {
    double rate = low + (high - low) / 2, bytes = 0;
    if (rate <= low || rate >= high) break;
    for (uint32_t i = 0; i < count; i++) hot(&tables[i], rate, &bytes);
    if (bytes > capacity) low = rate;
    else high = rate;
  }
  double inside = 0, with_edge = 0;
  double in[count], edge[count];
  for (uint32_t i = 0; i < count; i++) in[i] = hot(&tables[i], high, &inside);
  for (uint32_t i = 0; i < count; i++) edge[i] = hot(&tables[i], low, &with_edge);
  double share = with_edge > inside ? (capacity - inside) / (with_edge - inside) : 1;
  share = share < 0 ? 0 : share > 1 ? 1 : share;
  for (uint32_t i = 0; i < count; i++) resident[i] = in[i] + share * (edge[i] - in[i]);
}

void ts_demand_of(const ts_demand_table *tables, uint32_t count, ts_demand_policy policy, const double *capacity,
                  uint32_t tiers, ts_demand *out) {
  for (uint32_t i = 0; i < count; i++) {
    double distinct = rows_seen(&tables[i], 1), variance = rows_seen(&tables[i], 2) - distinct;
    out[i] = (ts_demand){.distinct = distinct, .variance = variance < 0 ? 0 : variance};
  }
  double above = 0;
  double found[count > 0 ? count : 1], resident[count > 0 ? count : 1];
  for (uint32_t i = 0; i < count; i++) found[i] = 0;
  for (uint32_t t = 0; t < tiers; t++) {
    above += t + 1 < tiers ? capacity[t] : INFINITY;
    if (t + 1 == tiers) {
      for (uint32_t i = 0; i < count; i++) resident[i] = out[i].distinct;
    } else if (policy == TS_DEMAND_LFU) {
      lfu(tables, count, above, resident);
    } else {
      double window = window_of(tables, count, above);
      for (uint32_t i = 0; i < count; i++) resident[i] = out[i].distinct - beyond(&tables[i], window, out[i].distinct);
    }
    for (uint32_t i = 0; i < count; i++) {
      double here = resident[i] - found[i];
      out[i].in_tier[t] = here < 0 ? 0 : here;
      found[i] = found[i] > resident[i] ? found[i] : resident[i];
    }
  }
}
