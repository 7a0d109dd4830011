/* opt.h - the best that any policy can do: Belady's algorithm (A Study of Replacement Algorithms for a Virtual-Storage
 * Computer, IBM Systems Journal 1966): the entry whose next use lies furthest ahead leaves. It must know the stream, so
 * it is for replay only. Like the policies it cannot refuse a key: what is asked for comes in. */
#ifndef TS_OPT_H
#define TS_OPT_H

#include "base/base.h"

/* Hits of a cache of `capacity` > 0 entries on the stream, those among the first `uncounted` keys left out. *bytes, unless it is
 * NULL, becomes the memory it took if that was more. Errors: TS_ENOMEM. n < 2^32 - 1. */
int32_t ts_opt_replay(uint64_t capacity, const int64_t *keys, uint64_t n, uint64_t uncounted, uint64_t *hits, uint64_t *bytes);

#endif
