/* tickets.h - numbers of steps that several ranks work on at once, and how far apart these may be.
 *
 * Steps are handed out in their order, each to who asks next, so a slow rank takes fewer of them. Step k is handed out only when
 * all steps before k - bound are done: so a step misses the updates of at most `bound` steps before it (stale synchronous
 * parallel, Ho et al., NIPS 2013). With bound 0 one step follows the other. */
#ifndef TS_RANKS_TICKETS_H
#define TS_RANKS_TICKETS_H

#include "base/base.h"

#define TS_MOST_STALENESS 1024u

typedef struct ts_tickets {
  uint32_t bound;
  uint64_t next, end; /* to be handed out */
  uint64_t low;       /* the lowest step that is not done; the others that are done are below low + bound + 1 */
  uint8_t done[TS_MOST_STALENESS + 1]; /* of steps low to low + bound, by step modulo bound + 1 */
} ts_tickets;

/* Steps from `first` to before `end`; bound is up to TS_MOST_STALENESS. */
void ts_tickets_begin(ts_tickets *tickets, uint64_t first, uint64_t end, uint32_t bound);
/* The next step; false: there is none, or not before others are done. */
bool ts_tickets_take(ts_tickets *tickets, uint64_t *step);
/* A step that was handed out is done. False: it is none that may be under way. */
bool ts_tickets_finish(ts_tickets *tickets, uint64_t step);
/* How many of the steps before this one are not done. */
uint32_t ts_tickets_missing(const ts_tickets *tickets, uint64_t step);

#endif
