/* pieces.h - memory of any size, by pages: whatever is given back goes to the system at once, so that what is resident is
 * what was taken. malloc keeps what was freed beside pieces that are still in use. */
#ifndef TS_PIECES_H
#define TS_PIECES_H

#include "base/base.h"

#define TS_PAGE UINT64_C(4096)
#define TS_MALLOC_OVERHEAD 16u /* of glibc's blocks, beside rounding to as much */

/* What a piece takes, to be charged by whoever takes it: whole pages, but of less than one what malloc needs. */
static inline uint64_t ts_piece_bytes(uint64_t bytes) {
  return bytes < TS_PAGE ? TS_ROUND_UP(bytes, 64u) + TS_MALLOC_OVERHEAD : TS_ROUND_UP(bytes, TS_PAGE);
}

typedef struct ts_pieces ts_pieces;
/* node: NUMA node to bind to, -1: none. NULL: no memory. */
ts_pieces *ts_pieces_create(int node);
void ts_pieces_destroy(ts_pieces *pieces);
/* Zeroed and aligned to 64 bytes, to pages from one on; NULL when the machine has no memory. Thread-safe. */
void *ts_piece_take(ts_pieces *pieces, uint64_t bytes);
/* With the bytes that were asked for. */
void ts_piece_give_back(ts_pieces *pieces, void *piece, uint64_t bytes);

/* Memory from the system, undefined which pages: aligned to huge pages, which are asked for, where it is large enough for one
 * and they are wanted; without them otherwise, also where the system makes them unasked. NULL: there is none. */
unsigned char *ts_pages_map(uint64_t bytes, int node, bool huge);
/* Has such memory, of whole huge pages, which nobody has written yet, in huge pages from now on: not only asked for, had. A device's
 * requests are as large as the pages that they go to. False: the system gives none, or does not tell (before Linux 6.1). */
bool ts_pages_have_huge(unsigned char *memory, uint64_t bytes);

#endif
