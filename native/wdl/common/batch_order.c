/* batch_order.c - the order of batches. Each pass over the file starts at its own offset (so that no rows are always
 * left over) and takes the batches in an order of its own: an arithmetic progression with a step coprime to their
 * number. */
#include "wdl/common/batch_order.h"

#define STREAM 0x6f72646572u

uint64_t ts_batch_start(uint64_t seed, uint64_t rows, uint64_t batch, uint64_t step) {
  const uint64_t batches = rows / batch, pass = step / batches, at = step % batches;
  const uint64_t offset = ts_random64(seed, STREAM, 3 * pass) % (rows - batches * batch + 1);
  const uint64_t start = ts_random64(seed, STREAM, 3 * pass + 1) % batches;
  uint64_t stride = 1 + ts_random64(seed, STREAM, 3 * pass + 2) % batches;
  for (;; stride++) {
    uint64_t a = stride, b = batches;
    while (b != 0) {
      uint64_t rest = a % b;
      a = b;
      b = rest;
    }
    if (a == 1) break;
  }
  const uint64_t index = (uint64_t)(((unsigned __int128)at * stride + start) % batches);
  return offset + index * batch;
}
