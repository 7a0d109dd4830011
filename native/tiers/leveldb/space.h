/* space.h - what a database takes on the medium, and in DRAM for its tables. The rule is in leveldb.h. */
#ifndef TS_LEVELDB_SPACE_H
#define TS_LEVELDB_SPACE_H

#include "tiers/budget.h"

/* Of one database. Calls are made under the lock of the records object. */
typedef struct ts_leveldb_space {
  ts_budget *budget, *dram;
  const char *folder;
  uint64_t record_bytes;     /* key, value and what LevelDB adds to them in a log */
  uint64_t largest_batch;    /* bytes logged at once, at most */
  uint64_t most_compaction;  /* bytes a compaction may need besides what is there */
  double table_dram;         /* bytes of index and filter blocks a byte of tables */
  uint64_t measured, since;  /* bytes of files; bytes logged after */
  uint64_t manifest, first_manifest; /* of the measured; as it was when the database was opened */
  uint64_t charged;          /* on the medium */
  uint64_t index_charged, buffers_charged; /* in DRAM, for tables */
} ts_leveldb_space;

/* Sums the sizes of the folder's files. */
void ts_leveldb_measure(ts_leveldb_space *space);
/* Whether the manifest has grown to what is kept for it: LevelDB begins a new one when the database is opened. */
bool ts_leveldb_outgrown(const ts_leveldb_space *space);
/* Charges what the database with `rows` rows needs when `bytes` more are logged; gives back what it needs no more.
 * False: a limit refuses, *dram_refused says which. */
bool ts_leveldb_charge(ts_leveldb_space *space, uint64_t rows, uint64_t bytes, bool *dram_refused);
uint64_t ts_leveldb_need(const ts_leveldb_space *space, uint64_t rows, uint64_t bytes);
void ts_leveldb_give_back(ts_leveldb_space *space);

#endif
