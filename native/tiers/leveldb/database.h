/* database.h - an open LevelDB database, as the tier's parts share it.
 *
 * LevelDB locks itself, so reads go straight to it, but for a lock that keeps it open. Writes take the database's lock,
 * which also covers the numbers that only they change, and who has that one may open the database again. */
#ifndef TS_LEVELDB_DATABASE_H
#define TS_LEVELDB_DATABASE_H

#include "tiers/leveldb/leveldb.h"
#include "tiers/leveldb/library.h"
#include "tiers/leveldb/space.h"

#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>

#define TS_LEVELDB_KEY_BYTES 8u
#define TS_LEVELDB_VERSION_BYTES 8u
#define TS_LEVELDB_PIECE 256u                      /* keys handled at a time */
#define TS_LEVELDB_MARK_KEY "\0"                   /* one byte: sorts before every key of eight */
#define TS_LEVELDB_LOOK_EVERY_NS UINT64_C(1000000) /* for new tables, at most */

typedef struct ts_leveldb_options {
  uint64_t cache_bytes, write_buffer_bytes, block_bytes, file_bytes, open_files; /* UINT64_MAX: not given */
  uint32_t bloom_bits, compression;
  bool random_access;
} ts_leveldb_options;

struct ts_records {
  ts_leveldb_api api;
  ts_leveldb_options options;
  void *db, *db_options, *filter, *cache, *read, *read_once, *write, *write_sync, *batch;
  uint32_t row_bytes;
  bool discarded;
  char folder[PATH_MAX];
  uint64_t fixed_dram;
  pthread_rwlock_t open;  /* whoever uses db without `lock` reads; who opens it again has `lock`, and writes */
  uint64_t read_before, written_before; /* with open: bytes by LevelDB's statistics until then */
  pthread_mutex_t lock;   /* for all that changes; below until `rows` */
  ts_leveldb_space space;
  unsigned char *value;   /* one record's, on its way into a batch */
  uint64_t gone;          /* replaced and removed records since the last whole compaction */
  uint64_t logged;
  uint64_t compactions;
  _Atomic uint64_t rows, reads, writes, payload_written;
  /* of the look for new mappings */
  atomic_flag looking;
  _Atomic uint64_t next_look_ns;
  uint64_t tables_signature, pause_ns;
  _Atomic uint32_t mapped, tables;
};

/* ---- options.c ---- */

static inline uint64_t ts_leveldb_within(uint64_t n, uint64_t least, uint64_t most) {
  return n < least ? least : n > most ? most : n;
}

int32_t ts_leveldb_read_options(ts_config_reader *reader, void **options);
/* The options that were not given. */
void ts_leveldb_derive(ts_leveldb_options *o, const ts_budget *budget, const ts_budget *dram);
/* The most bytes of one batch: a quarter of a write buffer, or a row. */
uint64_t ts_leveldb_batch_bytes(const ts_records *r);
/* Sets what the database takes in DRAM, and what a compaction may take on the medium. */
void ts_leveldb_plan_memory(ts_records *r);

/* ---- open.c, mark.c ---- */

int32_t ts_leveldb_probe(const char *directory, ts_err err);
int32_t ts_leveldb_open(const ts_records_options *options, ts_records **out, ts_err err);
void ts_leveldb_close(ts_records *r, bool keep);
/* Closes the database and opens it: LevelDB begins a new manifest, and what reads had still used is removed. Waits for those
 * under way. lock held. After an error it is closed, and the next write tries again. */
int32_t ts_leveldb_open_again(ts_records *r, ts_err err);
/* Keeps the database as it is until ts_leveldb_unuse, which must follow; an error if it is closed. */
int32_t ts_leveldb_use(const ts_records *r, ts_err err);
void ts_leveldb_unuse(const ts_records *r);
int32_t ts_leveldb_write_mark(ts_records *r, ts_err err);
int32_t ts_leveldb_take_mark(ts_records *r, bool *there, ts_err err);

/* ---- keys.c: a key is its number in big-endian order, the sign bit flipped ---- */

static inline uint64_t ts_leveldb_ordered(int64_t key) { return (uint64_t)key ^ (UINT64_C(1) << 63); }

static inline void ts_leveldb_put_ordered(char out[TS_LEVELDB_KEY_BYTES], uint64_t u) {
  for (int i = 0; i < 8; i++) out[i] = (char)(u >> (56 - 8 * i) & 0xff);
}

static inline uint64_t ts_leveldb_get_ordered(const char *in) {
  uint64_t u = 0;
  for (int i = 0; i < 8; i++) u = u << 8 | (unsigned char)in[i];
  return u;
}

static inline void ts_leveldb_put_u64(unsigned char *out, uint64_t u) {
  for (int i = 0; i < 8; i++) out[i] = (unsigned char)(u >> (8 * i));
}

static inline uint64_t ts_leveldb_get_u64(const unsigned char *in) {
  uint64_t u = 0;
  for (int i = 7; i >= 0; i--) u = u << 8 | in[i];
  return u;
}

typedef struct ts_leveldb_key {
  int64_t key;
  uint32_t at; /* in the call */
} ts_leveldb_key;

/* Keys first .. first + n of a call in LevelDB's order, equal ones in the caller's. */
void ts_leveldb_sort(ts_leveldb_key *sorted, const int64_t *keys, uint32_t first, uint32_t n);

/* ---- read.c, write.c ---- */

/* One record: *value is LevelDB's, NULL if absent. */
int32_t ts_leveldb_fetch(ts_records *r, int64_t key, char **value, ts_err err);
int32_t ts_leveldb_get(ts_records *r, uint32_t n, const int64_t *keys, unsigned char *const *rows, uint8_t *found,
                       ts_err err);
int32_t ts_leveldb_contains(ts_records *r, uint32_t n, const int64_t *keys, uint8_t *found, ts_err err);
int32_t ts_leveldb_walk(ts_records *r, uint64_t *cursor, uint32_t n, int64_t *keys, uint64_t *versions,
                        unsigned char *const *rows, uint32_t *got, ts_err err);
int32_t ts_leveldb_put(ts_records *r, uint32_t n, const int64_t *keys, const uint64_t *versions,
                       const unsigned char *const *rows, const uint8_t *known, ts_err err);
int32_t ts_leveldb_remove(ts_records *r, uint32_t n, const int64_t *keys, const uint8_t *known, ts_err err);
int32_t ts_leveldb_flush(ts_records *r, ts_err err);

/* ---- mappings.c ---- */

/* Tables mapped from `folder` (an absolute path without links); advises MADV_RANDOM on each. */
uint32_t ts_leveldb_advise(const char *folder);
/* Called after reads. LevelDB maps a table at its first read, and compactions bring new ones. */
void ts_leveldb_look_for_tables(ts_records *r);

/* ---- errors.c ---- */

/* Status and message from LevelDB's, which is freed. */
int32_t ts_leveldb_failed(const ts_records *r, ts_err err, const char *what, char *words);
int32_t ts_leveldb_wrong_length(const ts_records *r, ts_err err, int64_t key, size_t found);
uint64_t ts_leveldb_property(const ts_records *r, const char *name);
uint32_t ts_leveldb_count_tables(const ts_records *r);
/* Bytes of tables that were read and written since the database was opened. */
void ts_leveldb_traffic(const ts_records *r, uint64_t *read, uint64_t *written);

#endif
