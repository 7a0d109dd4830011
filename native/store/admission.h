/* admission.h - which keys get a row, and which rows stay: a table's options of admission and expiry. */
#ifndef TS_ADMISSION_H
#define TS_ADMISSION_H

#include "index/index.h"
#include "store/bloom.h"

typedef enum ts_admission_kind { TS_ADMIT_ALL, TS_ADMIT_COUNTED, TS_ADMIT_CBF } ts_admission_kind;

typedef struct ts_admission {
  ts_admission_kind kind;
  uint64_t frequency; /* lookups that are not answered with a row */
  float default_value;
  ts_bloom *bloom;
} ts_admission;

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
