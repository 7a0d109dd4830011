/* top_share.h - what share of the accesses go to the `rows` most popular rows of a law. */
#ifndef TS_TEST_TOP_SHARE_H
#define TS_TEST_TOP_SHARE_H

#include "simulator/law.h"

static inline double top_share(const ts_law *law, uint64_t rows) {
  double sum = 0;
  for (uint32_t i = 0; i < law->count && rows > 0; i++) {
    uint64_t take = TS_MIN(rows, law->buckets[i].rows);
    sum += (double)take * law->buckets[i].weight;
    rows -= take;
  }
  return TS_MIN(sum / law->total, 1.0);
}

#endif
