/* tickets.c - hands steps out within a bound. */
#include "ranks/tickets.h"

#include <string.h>

void ts_tickets_begin(ts_tickets *t, uint64_t first, uint64_t end, uint32_t bound) {
  *t = (ts_tickets){.bound = bound, .next = first, .end = end, .low = first};
}

bool ts_tickets_take(ts_tickets *t, uint64_t *step) {
  if (t->next >= t->end || t->next - t->low > t->bound) return false;
  *step = t->next++;
  return true;
}

bool ts_tickets_finish(ts_tickets *t, uint64_t step) {
  const uint64_t span = (uint64_t)t->bound + 1;
  if (step < t->low || step - t->low >= span || t->done[step % span]) return false;
  t->done[step % span] = 1;
  for (; t->done[t->low % span]; t->low++) t->done[t->low % span] = 0;
  return true;
}

uint32_t ts_tickets_missing(const ts_tickets *t, uint64_t step) {
  uint32_t missing = 0;
  for (uint64_t s = t->low; s < step; s++) missing += s - t->low > t->bound || !t->done[s % ((uint64_t)t->bound + 1)];
  return missing;
}
