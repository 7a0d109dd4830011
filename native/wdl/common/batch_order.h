/* batch_order.h - which rows of the train file each step takes: a pure function of seed, sizes and step. */
#ifndef TS_WDL_BATCH_ORDER_H
#define TS_WDL_BATCH_ORDER_H

#include "base/base.h"

/* First row of the batch of a step, counting from 0; batch <= rows. */
uint64_t ts_batch_start(uint64_t seed, uint64_t rows, uint64_t batch, uint64_t step);

#endif
