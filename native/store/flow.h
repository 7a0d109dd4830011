/* flow.h - lookups of rows in the first tier, and searches for locations, on a CPU with AVX-512, in one loop. */
#ifndef TS_FLOW_H
#define TS_FLOW_H

#include "store/store.h"

#define TS_FLOW_KEYS (1u << 20) /* at most so many a call */

/* Whether this CPU and the table's rows are such as the loop is for. */
bool ts_flow_serves(const ts_table *table);
/* Copies the weights of n keys, at most TS_FLOW_KEYS, to out[i * stride ..) for those whose rows are in the first tier; sets
 * bit `first + i` of `missed` for the others, whose places in `out` then hold zeros. Returns how many those are. Inside an
 * epoch; ts_flow_serves. */
uint64_t ts_flow_lookup(ts_table *table, const int64_t *keys, uint32_t n, float *out, uint64_t stride, uint64_t first,
                        uint64_t *missed);

/* locations[i]: that of keys[order[i]], of n, at most TS_FLOW_KEYS; TS_LOCATION_NONE where there is none. Inside an epoch;
 * ts_flow_finds. */
void ts_flow_find(const ts_table *table, const int64_t *keys, const uint32_t *order, uint32_t n, ts_location *locations);
/* rows[i]: where the row of keys[i] is, of n, at most TS_FLOW_KEYS; NULL where it is not in the first tier. Returns of how many
 * that is so. Inside an epoch; ts_flow_finds. */
uint32_t ts_flow_rows(const ts_table *table, const int64_t *keys, uint32_t n, const void **rows);
bool ts_flow_finds(const ts_table *table);

#endif
