/* stack_distance.h - the misses of LRU caches of all sizes in one pass over a stream (Mattson et al., Evaluation
 * techniques for storage hierarchies, 1970): a lookup hits every cache that is larger than the number of other rows asked
 * for since its row was. */
#ifndef TS_SIMULATOR_STACK_DISTANCE_H
#define TS_SIMULATOR_STACK_DISTANCE_H

#include "base/base.h"

typedef struct ts_stack ts_stack;

/* For up to `rows` distinct keys; sizes rise. Errors: TS_ENOMEM. */
int32_t ts_stack_create(uint64_t rows, const uint64_t *sizes, uint32_t count, ts_stack **out);
void ts_stack_destroy(ts_stack *stack);
/* n keys in batches of `batch` (the last may be shorter): each row counts once a batch, and hits if it was there before the
 * batch. `counted`: whether they count at all, or only warm up. False: there are more than `rows` keys. */
bool ts_stack_run(ts_stack *stack, const int64_t *keys, uint64_t n, uint64_t batch, bool counted);
/* misses[i]: of a cache of sizes[i] rows; returns how many rows were counted; *cold: those that came for the first time. */
uint64_t ts_stack_misses(const ts_stack *stack, uint64_t *misses, uint64_t *cold);
uint64_t ts_stack_rows(const ts_stack *stack);
/* 16 a row for the table and 0.6 for its order, more where there is room for more. */
uint64_t ts_stack_bytes(const ts_stack *stack);

#endif
