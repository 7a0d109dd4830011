/* cache_format.h - the binary form of Criteo data that training reads: a header of one page, then row groups.
 *
 *   offset 0              ts_cache_header, padded with zeros to TS_CACHE_PAGE bytes
 *   TS_CACHE_PAGE + g*G   group g, G = TS_CACHE_GROUP_BYTES; the last group is filled up with zeros
 *   behind the last       uint64_t sums[groups]: of each group as it lies in the file (cache_sums.c)
 *
 * A group holds TS_CACHE_GROUP rows column by column, so that a batch is copied with one read a column and group:
 *
 *   float   labels[1024]          0 or 1
 *   float   numerics[13][1024]    transformed as the header's `numerics` says
 *   int64_t keys[26][1024]
 *
 * A group is compared with its sum when a process first reads rows of it, so that no damaged row is ever given out.
 * Numbers are little-endian as the machine has them; other machines refuse the file by its magic. Files are written
 * beside their final path and renamed, so a path holds a whole file or none. */
#ifndef TS_INPUT_CACHE_FORMAT_H
#define TS_INPUT_CACHE_FORMAT_H

#include "wdl/input/numerics.h"

#include <pthread.h>
#include <stdatomic.h>

#define TS_CATEGORIES 26u /* C1..C26 */

#define TS_CACHE_MAGIC UINT64_C(0x3143574445495453) /* "STIEDWC1" */
#define TS_CACHE_VERSION 4u
#define TS_CACHE_PAGE 4096u
#define TS_CACHE_GROUP 1024u /* rows */
#define TS_CACHE_NUMERICS_AT (TS_CACHE_GROUP * 4u)
#define TS_CACHE_KEYS_AT (TS_CACHE_NUMERICS_AT + TS_NUMERICS * TS_CACHE_GROUP * 4u)
#define TS_CACHE_GROUP_BYTES (TS_CACHE_KEYS_AT + TS_CATEGORIES * TS_CACHE_GROUP * 8u)

#define TS_CACHE_FAULTS 16u /* kinds of faults that a header counts */

/* Where the keys come from, hence what the vocabulary is. */
enum { TS_VOCABULARY_SYNTHETIC = 1, TS_VOCABULARY_IMPORTED = 2 };

/* The page at the start. Figures that are not known are NaN. */
typedef struct ts_cache_header {
  uint64_t magic;
  uint32_t version;
  uint32_t vocabulary; /* TS_VOCABULARY_* */
  uint64_t rows;
  uint64_t file_bytes;                 /* of the whole file */
  uint64_t key_digest;                 /* ts_cache_key_digest over all rows */
  uint64_t cardinality[TS_CATEGORIES]; /* synthetic: the vocabulary; imported: distinct keys in this file */
  double click_rate;                   /* share of rows with label 1 */
  /* synthetic data: the generator's options and what its planted model reaches on these rows */
  uint64_t seed;
  uint32_t split;    /* 0 train, 1 test */
  uint32_t numerics; /* TS_NUMERICS_* */
  double scale, skew_s, skew_q, skew_rows;
  double planted_auc, planted_logloss;
  double numeric_auc;          /* of the numeric part of the planted logit */
  double categorical_variance; /* its share of the variance of the logit, 0..1 */
  double unseen_share;         /* (row, column) pairs whose key is in no train row */
  /* imported data: lines of the text (of train and test rows together) that were left out, by kind TS_FAULT_* */
  uint64_t skipped[TS_CACHE_FAULTS];
  char first_skipped[256]; /* place and fault of the first of them, "" if there is none */
  uint64_t sums_checksum;  /* ts_hash_bytes of the sums behind the groups */
  uint64_t checksum;       /* ts_hash_bytes of the bytes before it */
} ts_cache_header;

_Static_assert(sizeof(ts_cache_header) <= TS_CACHE_PAGE, "the header is one page");

/* ---- reading ---- */

/* An open cache file. Reads are pread calls: a file cut short under our feet is an error, never a signal. */
typedef struct ts_cache {
  int fd;
  char *path;
  ts_cache_header header;
  uint64_t *sums;            /* of its groups; NULL: of a file that is being written, nothing is compared */
  _Atomic uint64_t *checked; /* a bit a group: it was compared and is whole */
} ts_cache;

/* Groups of this many rows. */
static inline uint64_t ts_cache_groups(uint64_t rows) { return (rows + TS_CACHE_GROUP - 1) / TS_CACHE_GROUP; }

/* Errors: TS_EIO (missing, unreadable), TS_EFORMAT (no cache file, another version, cut short, damaged header or sums),
 * TS_ENOMEM. */
int32_t ts_cache_open(const char *path, ts_cache *out, ts_err err);
void ts_cache_close(ts_cache *cache);

/* Reads exactly n bytes at a place; a short file is TS_EFORMAT. */
int32_t ts_cache_read_at(const ts_cache *cache, void *out, uint64_t n, uint64_t at, ts_err err);

/* Both reads may run in any number of threads at once on one ts_cache, and pread has no position that they could share.
 * Errors: TS_EIO, TS_EFORMAT naming the rows that are damaged, or a label that is neither 0 nor 1. */

/* Copies rows [first, first + count): labels[i], numerics[j*stride + i], keys[c*stride + i]. Each may be NULL. */
int32_t ts_cache_read(const ts_cache *cache, uint64_t first, uint64_t count, uint64_t stride, float *labels,
                      float *numerics, int64_t *keys, ts_err err);
/* Copies the keys of one column. */
int32_t ts_cache_read_column(const ts_cache *cache, uint32_t column, uint64_t first, uint64_t count, int64_t *keys,
                             ts_err err);

/* Compares the groups of rows [first, first + count) with their sums, those that were not compared before. */
int32_t ts_cache_check_rows(const ts_cache *cache, uint64_t first, uint64_t count, ts_err err);

/* ---- writing ---- */

/* One group in memory, as it lies in the file. */
typedef struct ts_cache_group {
  float labels[TS_CACHE_GROUP];
  float numerics[TS_NUMERICS][TS_CACHE_GROUP];
  int64_t keys[TS_CATEGORIES][TS_CACHE_GROUP];
} ts_cache_group;

_Static_assert(sizeof(ts_cache_group) == TS_CACHE_GROUP_BYTES, "a group has no padding");

/* The digest of one group's keys, first `rows` rows. The digest of a file is the sum over its groups. */
uint64_t ts_cache_group_digest(const ts_cache_group *group, uint64_t index, uint32_t rows);

/* The sum of group `index` as it lies in the file: any change within eight bytes changes it for sure, any other but for
 * one in 2^64. Begun, fed with the group's words from the first to the last, and ended. */
typedef struct ts_cache_sum {
  uint64_t lanes[4];
} ts_cache_sum;
ts_cache_sum ts_cache_sum_begin(uint64_t index);
void ts_cache_sum_add(ts_cache_sum *sum, const uint64_t *words, uint64_t n); /* n: a multiple of 4 */
uint64_t ts_cache_sum_end(const ts_cache_sum *sum);

typedef struct ts_cache_writer {
  int fd;
  char *path, *temporary;
  pthread_mutex_t lock;
  uint64_t *sums, room; /* of the groups written so far; how many there is room for */
} ts_cache_writer;

/* What is written beside the path is locked (flock) until it is in place: what nobody has locked was left by a process
 * that is gone, and may be removed. Errors: TS_EIO, TS_ENOMEM. */
int32_t ts_cache_writer_open(const char *path, ts_cache_writer *out, ts_err err);
/* Writes group `index`; several threads may write different groups. Errors: TS_EIO (disk full and the like), TS_ENOMEM. */
int32_t ts_cache_writer_group(ts_cache_writer *writer, uint64_t index, const ts_cache_group *group, ts_err err);
/* Fills in magic, version, file_bytes and checksums, writes the sums and the header. Errors: TS_EIO. */
int32_t ts_cache_writer_header(const ts_cache_writer *writer, ts_cache_header *header, ts_err err);
/* Puts the file in place. Errors: TS_EIO. */
int32_t ts_cache_writer_rename(ts_cache_writer *writer, ts_err err);
/* Frees the writer; a file not renamed is removed. */
void ts_cache_writer_close(ts_cache_writer *writer);

#endif
