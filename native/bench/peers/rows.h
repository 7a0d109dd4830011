/* rows.h - what the peers have in common: the row, and a batch sorted by shard. */
#ifndef BENCH_PEERS_ROWS_H
#define BENCH_PEERS_ROWS_H

#include <cstring>
#include <vector>

#include "contender.h"

struct alignas(16) Row {
  float values[BENCH_ROW_FLOATS];
};
static_assert(sizeof(Row) == BENCH_ROW_BYTES, "weights and accumulators, nothing else");

inline Row first_row() {
  Row row;
  for (unsigned j = 0; j < BENCH_DIM; j++) {
    row.values[j] = BENCH_FIRST_WEIGHT;
    row.values[BENCH_DIM + j] = BENCH_FIRST_ACCUMULATOR;
  }
  return row;
}

#endif
