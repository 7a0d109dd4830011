/* lmdb.c - LMDB with its file in the page cache: one read transaction a lookup, one write transaction an update, nothing
 * synced. Options: path=<folder>. */
#include <errno.h>
#include <lmdb.h>
#include <string.h>
#include <sys/stat.h>

#include "contender.h"

static MDB_env *env;
static MDB_dbi rows;
static bench_distinct distinct[BENCH_THREADS];

static bool failed(char *error, int status) { return bench_fail(error, "LMDB: %s", mdb_strerror(status)); }

static MDB_val key_value(const int64_t *key) { return (MDB_val){sizeof *key, (void *)(uintptr_t)key}; }

bool contender_open(const bench_options *options, uint64_t keys, char *error) {
  for (unsigned t = 0; t < BENCH_THREADS; t++) bench_distinct_open(&distinct[t]);
  const char *path = bench_text(options, "path", "");
  if (mkdir(path, 0700) != 0 && errno != EEXIST)
    return bench_fail(error, "Cannot make the folder \"%s\": %s", path, strerror(errno));
  MDB_txn *txn = NULL;
  int status = mdb_env_create(&env);
  if (status == 0) status = mdb_env_set_mapsize(env, keys * 1024 + (256u << 20));
  if (status == 0) status = mdb_env_open(env, path, MDB_NOSYNC | MDB_WRITEMAP | MDB_NORDAHEAD, 0600);
  if (status == 0) status = mdb_txn_begin(env, NULL, 0, &txn);
  if (status == 0) status = mdb_dbi_open(txn, NULL, MDB_INTEGERKEY, &rows);
  if (status == 0) status = mdb_txn_commit(txn);
  return status == 0 || failed(error, status);
}

bool contender_create(const int64_t *keys, uint32_t n, char *error) {
  float row[BENCH_ROW_FLOATS];
  for (unsigned j = 0; j < BENCH_DIM; j++) {
    row[j] = BENCH_FIRST_WEIGHT;
    row[BENCH_DIM + j] = BENCH_FIRST_ACCUMULATOR;
  }
  MDB_txn *txn;
  int status = mdb_txn_begin(env, NULL, 0, &txn);
  if (status != 0) return failed(error, status);
  for (uint32_t i = 0; i < n && status == 0; i++) {
    MDB_val key = key_value(keys + i), value = {sizeof row, row};
    status = mdb_put(txn, rows, &key, &value, 0);
  }
  if (status != 0) mdb_txn_abort(txn);
  else status = mdb_txn_commit(txn);
  return status == 0 || failed(error, status);
}

bool contender_ready(const bench_options *options, char *error) {
  (void)options, (void)error;
  return true;
}

bool contender_lookup(unsigned thread, const int64_t *keys, uint32_t n, float *out, char *error) {
  (void)thread;
  MDB_txn *txn;
  int status = mdb_txn_begin(env, NULL, MDB_RDONLY, &txn);
  if (status != 0) return failed(error, status);
  for (uint32_t i = 0; i < n && status == 0; i++) {
    MDB_val key = key_value(keys + i), value;
    status = mdb_get(txn, rows, &key, &value);
    if (status == 0) memcpy(out + (uint64_t)i * BENCH_DIM, value.mv_data, BENCH_DIM * sizeof(float));
  }
  mdb_txn_abort(txn);
  return status == 0 || failed(error, status);
}

bool contender_update(unsigned thread, const int64_t *keys, uint32_t n, const float *gradients, char *error) {
  bench_distinct *d = &distinct[thread];
  bench_distinct_find(d, keys, n, gradients);
  MDB_txn *txn;
  int status = mdb_txn_begin(env, NULL, 0, &txn);
  if (status != 0) return failed(error, status);
  for (uint32_t i = 0; i < d->count && status == 0; i++) {
    MDB_val key = key_value(d->keys + i), value;
    status = mdb_get(txn, rows, &key, &value);
    if (status != 0) break;
    float row[BENCH_ROW_FLOATS];
    memcpy(row, value.mv_data, sizeof row);
    bench_adagrad(row, d->gradients[i]);
    value = (MDB_val){sizeof row, row};
    status = mdb_put(txn, rows, &key, &value, 0);
  }
  if (status != 0) mdb_txn_abort(txn);
  else status = mdb_txn_commit(txn);
  return status == 0 || failed(error, status);
}

bool contender_command(const char *verb, const bench_options *options, char *reply, char *error) {
  (void)options, (void)reply;
  return bench_fail(error, "Cannot do \"%s\"", verb);
}
