/* curve.h - miss ratios of caches of many sizes: of a stream of keys, exactly or from a sample of its rows, and of a
 * popularity law, by formula or from a small model of it. */
#ifndef TS_SIMULATOR_CURVE_H
#define TS_SIMULATOR_CURVE_H

#include "simulator/law.h"

/* What a curve is of. */
typedef struct ts_curve_ask {
  const char *policy;   /* one of ts_policy_names, or opt */
  uint64_t batch;       /* lookups of a batch, in which each row counts once; 1: every lookup counts */
  uint64_t uncounted;   /* keys at the beginning that only fill the caches (whole batches of them) */
  uint64_t samples;     /* rows that a sample, or the cache of a model, should have */
  double rate;          /* share of the rows in a sample; 0: by `samples` */
  uint64_t seed;
  const uint64_t *sizes; /* rows of each cache, rising */
  uint32_t count;
} ts_curve_ask;

/* What was found besides the ratios. */
typedef struct ts_curve_facts {
  double lookups;  /* rows that counted, each once a batch: what misses are a share of */
  double distinct; /* rows of the stream or of the law; estimated where sampled */
  double cold;     /* of `lookups`, those of rows that had not come before; 0 for laws */
  double rate;     /* share of the rows that was looked at; 1: all. Laws: the smallest over the sizes */
  uint64_t replayed; /* lookups that were simulated */
  uint64_t bytes;    /* memory, the most at any time, that of a sample among it; without keys given by the caller */
} ts_curve_facts;

/* ratios[i]: share of misses of a cache of sizes[i] rows. Errors: TS_EINVAL, TS_ENOMEM. */
int32_t ts_curve_exact(const ts_curve_ask *ask, const int64_t *keys, uint64_t n, double *ratios, ts_curve_facts *facts,
                       ts_err err);
/* Of what a sample has kept, all or some rows. errors, which may be NULL, gets the standard error of each ratio: the spread between
 * eight parts of the sample's rows, each a sample of its own, over the square root of eight; 0 where all is kept. */
int32_t ts_curve_of_sample(const ts_curve_ask *ask, const ts_key_sample *sample, double *ratios, double *errors,
                           ts_curve_facts *facts, ts_err err);
/* From the rows whose hash is below a threshold, in caches that are smaller by the same factor (SHARDS, Waldspurger et al.,
 * FAST 2015; miniature simulation, the same, ATC 2017). The number of lookups is that of the whole stream, so that a
 * popular row more or less in the sample is no error. */
int32_t ts_curve_sampled(const ts_curve_ask *ask, const int64_t *keys, uint64_t n, double *ratios, ts_curve_facts *facts,
                         ts_err err);
/* Independent draws from the law, in the steady state: each size in a model of the law whose cache has `samples` rows. */
int32_t ts_curve_law_sampled(const ts_curve_ask *ask, const ts_law *law, double *ratios, ts_curve_facts *facts, ts_err err);

#endif
