/* stream.h - what a stream of keys is like, measured in one pass with bounded memory, for fitting a profile.
 *
 * All accesses are kept while they fit. Then the most used keys are counted on their own, and of the others only those
 * stay whose hash is below a falling threshold (a sample of rows, not of accesses, as in SHARDS: Waldspurger et al.,
 * FAST 2015): a kept row keeps all of its accesses.
 *
 * Rows are summed up in groups of like number, time of first use and time of last use, and accesses can be told apart
 * into first causes and repeats soon after (a self-exciting process, declustered: Zhuang, Ogata and Vere-Jones, JASA
 * 2002). No key leaves this file except through ts_stream_keys, which the fidelity score needs. */
#ifndef TS_SIMULATOR_STREAM_H
#define TS_SIMULATOR_STREAM_H

#include "base/base.h"

#define TS_STREAM_MOST_HOT 64u

typedef struct ts_stream_row {
  int64_t key;
  uint64_t count; /* of accesses that are no repeats */
} ts_stream_row;

/* A stretch of a row's time in which it is asked for at one rate: all of it, or one of its lives. */
typedef struct ts_stream_life {
  uint64_t count, first, last; /* of accesses that are no repeats */
  uint32_t group;
} ts_stream_life;

struct ts_stream {
  uint64_t most, accesses;
  uint64_t threshold; /* of hashes: rows at or below are kept */
  uint64_t n;         /* accesses that are kept */
  uint64_t capacity;
  uint32_t *row;   /* of a kept access */
  uint64_t *time;  /* its number among all accesses */
  uint8_t *repeat; /* it is a repeat */
  uint32_t *life;  /* where it belongs; NULL before the first ts_stream_lives */
  uint32_t rows, rows_capacity;
  ts_stream_row *table;
  uint32_t *slots; /* open addressing over rows, by hash; UINT32_MAX: free */
  uint64_t slot_mask;
  uint32_t hot;
  ts_stream_row hottest[TS_STREAM_MOST_HOT]; /* counted, not kept */
  uint32_t life_count, groups;
  ts_stream_life *lives;
};

/* Drops what was found out about lives (stream_lives.c). */
void ts_stream_forget(ts_stream *stream);

#endif
