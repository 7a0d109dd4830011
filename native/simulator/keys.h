/* keys.h - keys of a profile: a pure function of (seed, table, sample, position in the sample's bag), so the same keys
 * on every machine, in any order and on any number of threads. No state, no permutation array: 10^12 rows cost the
 * memory of their buckets.
 *
 * A table's rows are buckets of equally popular rows (law.h). A draw takes a bucket from an alias table (Walker 1977,
 * Vose 1991) and a rank in it uniformly. Then, where the profile has them:
 *   lives    the rows of a bucket are replaced by others after so many samples, each at its own time: drift; by new
 *            ones, or by rows of a pool that come and go;
 *   repeats  a share of the keys are what the same table had some samples ago: use soon after use, which popularity
 *            alone does not give;
 *   parent   a share of the samples take the rank that lies at the quantile of the parent table's rank: columns that
 *            go together. Popularity stays as it is, to the width of one row of the parent;
 *   walk     a share of the keys go through rows of their own, each once a pass, in one order or in blocks that are
 *            shuffled in each pass; evenly among the other keys, or in turns with them: loops, scans that come again;
 *   epoch    after so many samples the same come again, in order or in shuffled blocks: passes over a data set;
 *   era      after so many samples the ranks are dealt anew to the rows: popularity that changes all at once. */
#ifndef TS_SIMULATOR_KEYS_H
#define TS_SIMULATOR_KEYS_H

#include "simulator/gaps.h"
#include "simulator/law.h"

#define TS_KEYS_MOST_BAG 4095u  /* keys of one sample in one table */
#define TS_KEYS_MOST_STEPS 4096u
#define TS_KEYS_MOST_BUCKETS 65536u
#define TS_KEYS_MOST_TABLES 4096u

/* Rows of equal popularity, heaviest first by `weight`. */
typedef struct ts_keys_bucket {
  uint64_t first, rows; /* ranks [first, first + rows) */
  uint64_t life;        /* samples until a row is replaced by a new one; 0: never */
  double weight;        /* share of one row */
  double before;        /* share of all buckets before this one */
} ts_keys_bucket;

typedef struct ts_keys_choice {
  uint32_t stay, other; /* alias table: the own bucket below `stay`, else `other` */
} ts_keys_choice;

/* Of every `turn` keys the last `run` are the walk's, or as many evenly among them. Numbers of keys, `start` of them gone. */
typedef struct ts_keys_walk {
  uint64_t rows; /* 0: there is no walk */
  uint64_t run, turn, start;
  uint64_t block; /* rows that are shuffled among themselves in each pass; 0, 1: none */
  bool even;
} ts_keys_walk;

typedef struct ts_keys_table {
  uint32_t count;
  ts_keys_bucket *buckets;
  ts_keys_choice *choices;
  uint64_t rows;          /* that are alive at one time, without those of the walk */
  uint64_t span;          /* numbers of rows below this are the law's: more than `rows` if eras deal to more */
  ts_keys_walk walk;
  uint64_t epoch, epoch_block; /* samples; 0: none */
  uint64_t era, era_start;     /* samples; 0: none; so many of the first are gone at the beginning */
  uint64_t pool;          /* rows that lives return to; 0: each life is a new row */
  bool as_rows;           /* keys are row numbers, else spread over 64 bits */
  uint64_t repeat_below;  /* of a random word: a repeat */
  uint32_t gaps;
  double gap_before[TS_MOST_GAPS]; /* cumulated shares of classes of gaps */
  uint32_t parent;        /* UINT32_MAX: none */
  uint64_t parent_below;
  uint32_t bag;           /* keys of every sample; 0: lengths vary */
  uint32_t lengths;
  uint32_t *length;
  double *length_before;  /* cumulated shares, lengths + 1 of them */
  uint32_t most_bag;
  double mean_bag;
  uint64_t base[6];       /* of the random words, by use */
  uint64_t mask;
} ts_keys_table;

struct ts_keys {
  uint64_t seed;
  uint32_t count;
  ts_keys_table *tables;
};

/* Parts of ts_keys_add_table (keys_table.c). */
int32_t ts_keys_table_create(const ts_keys *keys, const ts_config *config, const double *steps, uint64_t step_count,
                             const double *gaps, uint64_t gap_count, const double *bags, uint64_t bag_count,
                             ts_keys_table *out, ts_err err);
void ts_keys_table_free(ts_keys_table *table);

/* The law of a table's rows that are alive at one time. */
int32_t ts_keys_table_law(const ts_keys_table *table, ts_law *out, ts_err err);

/* np.random.zipf(s) folded into `rows` rows by modulo: rank r has weight sum over k >= 0 of (r + k rows)^-s. s > 1.
 * Errors: TS_EINVAL, TS_ENOMEM. */
int32_t ts_law_folded(uint64_t rows, double s, ts_law *out, ts_err err);

#endif
