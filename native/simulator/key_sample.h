/* key_sample.h - a stream of keys as it comes, kept in bounded memory for curves: all of it while that fits, then the rows whose
 * hash is below a threshold that falls by halves (a sample of rows, not of lookups: SHARDS of fixed size, Waldspurger et al.,
 * FAST 2015). What is kept depends on the keys and their order alone, not on how the stream is cut into calls. */
#ifndef TS_SIMULATOR_KEY_SAMPLE_H
#define TS_SIMULATOR_KEY_SAMPLE_H

#include "cache/key_table.h"

struct ts_key_sample {
  uint64_t batch;     /* lookups that come together */
  uint64_t uncounted; /* of them, those at the beginning that only fill the caches: whole batches */
  uint64_t threshold; /* hashes below it are kept; 0: all are */
  uint64_t most_bytes, most_rows; /* what a curve of it may take, rows that may be kept; 0: any */
  int64_t *keys;
  uint64_t n, room;
  uint64_t *ends; /* where batches end that have kept keys; none with batch 1 or while all are kept */
  uint64_t batches, ends_room;
  uint64_t first;       /* kept keys that only fill the caches */
  uint64_t in_batch;    /* lookups of the batch under way */
  uint64_t added, rows; /* lookups so far; rows that count, each once a batch, kept or not */
  uint64_t next_check;
  ts_key_table seen; /* rows of the batch under way, if batches are longer than 1 */
  uint64_t seen_count, seen_room;
  ts_distinct distinct;
};

/* Kept or given keys in their batches. */
typedef struct ts_key_view {
  const int64_t *keys;
  uint64_t n, first;    /* the first `first` only fill the caches */
  const uint64_t *ends; /* of `closed` batches, the last ends with the keys; or, with batch > 0, each has `batch` keys */
  uint64_t closed, batch, batches;
} ts_key_view;

/* threshold: as in the struct. False: out of memory. */
bool ts_key_sample_init(ts_key_sample *sample, uint64_t batch, uint64_t uncounted, uint64_t threshold);
void ts_key_sample_free(ts_key_sample *sample);
bool ts_key_sample_append(ts_key_sample *sample, const int64_t *keys, uint64_t n, int64_t mix);
ts_key_view ts_key_sample_view(const ts_key_sample *sample);
/* Share of the rows that is kept. */
double ts_key_sample_rate(const ts_key_sample *sample);
/* Memory that it has now, and the most that a curve of it takes on top (an estimate from above). */
uint64_t ts_key_sample_bytes(const ts_key_sample *sample);
uint64_t ts_key_sample_needs(const ts_key_sample *sample);

/* Where batch b of a view ends. */
static inline uint64_t ts_key_view_end(const ts_key_view *v, uint64_t b) {
  return v->batch > 0 ? TS_MIN(v->n, (b + 1) * v->batch) : b < v->closed ? v->ends[b] : v->n;
}

/* The hash that samples are chosen by: not the one that places keys in tables, else a sample would crowd into one part of them. */
static inline uint64_t ts_key_sample_hash(uint64_t hash) { return ts_mix64(hash + UINT64_C(0x2545f4914f6cdd1d)); }

#endif
