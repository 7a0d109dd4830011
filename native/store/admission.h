/* admission.h - which keys get a row, and which rows stay: a table's options of admission and expiry.
 *
 * A key that waits for its row has an index entry with a word of 33 bits instead of a place. It is the number of lookups,
 * or, where rows record versions and both fit, a flag, the step of the last lookup and that number, which has a few bits more
 * than the frequency needs. What does not fit leaves the step out: it is not known then, and the count is always exact. */
#ifndef TS_ADMISSION_H
#define TS_ADMISSION_H

#include "index/index.h"
#include "optimizers/row_layout.h"
#include "store/bloom.h"

typedef enum ts_admission_kind { TS_ADMIT_ALL, TS_ADMIT_COUNTED, TS_ADMIT_BLOOM } ts_admission_kind;

typedef struct ts_admission {
  ts_admission_kind kind;
  uint64_t frequency; /* lookups that are not answered with a row */
  float default_value;
  uint32_t count_bits; /* of a word with a step; 0: words keep none */
  ts_bloom *bloom;
} ts_admission;

#define TS_WAITING_BITS (TS_LOCATION_ROW_BITS - 1u)
#define TS_WAITING_STEP (UINT64_C(1) << TS_WAITING_BITS) /* the flag: there is a step */

static inline uint32_t ts_waiting_count_bits(uint64_t frequency) {
  const uint32_t bits = 64u - (uint32_t)__builtin_clzll(frequency | 1) + 4u;
  return bits < TS_WAITING_BITS ? bits : 0;
}

static inline uint64_t ts_waiting_word(const ts_admission *a, uint64_t count, int64_t step) {
  const uint32_t bits = a->count_bits;
  if (bits == 0 || count >> bits != 0 || (uint64_t)step >> (TS_WAITING_BITS - bits) != 0) return TS_MIN(count, UINT32_MAX);
  return TS_WAITING_STEP | (uint64_t)step << bits | count;
}

static inline uint64_t ts_waiting_count(const ts_admission *a, uint64_t word) {
  return word & TS_WAITING_STEP ? word & ((UINT64_C(1) << a->count_bits) - 1) : word;
}

/* TS_NO_VERSION: not known. */
static inline int64_t ts_waiting_step(const ts_admission *a, uint64_t word) {
  return word & TS_WAITING_STEP ? (int64_t)((word & (TS_WAITING_STEP - 1)) >> a->count_bits) : TS_NO_VERSION;
}

typedef struct ts_expiry {
  bool by_steps, by_weight;
  bool norm; /* by_weight: compares the norm, not half the sum of squares */
  int64_t steps;
  int64_t every; /* by_weight: rows are judged at the steps that are multiples of this; 0: only when expiry is asked for */
  double weight;
  /* What has expired by step `swept` has been taken away, -1: nothing; and by `sweeping` when the sweep has come round. */
  _Atomic int64_t swept;
  int64_t sweeping;
  /* Where the next piece begins: in a shard's index, or in the records. */
  uint32_t shard;
  ts_index_cursor cursor;
  bool in_records;
  uint64_t records_cursor;
} ts_expiry;

#endif
