/* leveldb.cc - LevelDB with everything in its block cache: bloom filters of 10 bits, no compression, 64 MiB memtable.
 * Options: path=<folder>. */
#include <leveldb/cache.h>
#include <leveldb/db.h>
#include <leveldb/filter_policy.h>
#include <leveldb/write_batch.h>

#include <string>

#include "peers/rows.h"

namespace {

leveldb::DB *db;
bench_distinct distinct[BENCH_THREADS];

leveldb::Slice slice(const int64_t &key) { return leveldb::Slice(reinterpret_cast<const char *>(&key), sizeof key); }
leveldb::Slice slice(const Row &row) { return leveldb::Slice(reinterpret_cast<const char *>(&row), sizeof row); }

bool failed(char *error, const leveldb::Status &status) {
  return bench_fail(error, "LevelDB: %s", status.ToString().c_str());
}

}  // namespace

bool contender_open(const bench_options *options, uint64_t keys, char *error) {
  for (bench_distinct &d : distinct) bench_distinct_open(&d);
  leveldb::Options o;
  o.create_if_missing = true;
  o.error_if_exists = true;
  o.compression = leveldb::kNoCompression;
  o.write_buffer_size = 64 << 20;
  o.block_cache = leveldb::NewLRUCache(keys * 512);
  o.filter_policy = leveldb::NewBloomFilterPolicy(10);
  leveldb::Status status = leveldb::DB::Open(o, bench_text(options, "path", ""), &db);
  return status.ok() || failed(error, status);
}

bool contender_create(const int64_t *keys, uint32_t n, char *error) {
  const Row row = first_row();
  leveldb::WriteBatch batch;
  for (uint32_t i = 0; i < n; i++) batch.Put(slice(keys[i]), slice(row));
  leveldb::Status status = db->Write(leveldb::WriteOptions(), &batch);
  return status.ok() || failed(error, status);
}

bool contender_ready(const bench_options *, char *) {
  db->CompactRange(nullptr, nullptr);
  return true;
}

bool contender_lookup(unsigned, const int64_t *keys, uint32_t n, float *out, char *error) {
  static thread_local std::string value;
  for (uint32_t i = 0; i < n; i++) {
    leveldb::Status status = db->Get(leveldb::ReadOptions(), slice(keys[i]), &value);
    if (!status.ok()) return failed(error, status);
    memcpy(out + uint64_t{i} * BENCH_DIM, value.data(), BENCH_DIM * sizeof(float));
  }
  return true;
}

bool contender_update(unsigned thread, const int64_t *keys, uint32_t n, const float *gradients, char *error) {
  static thread_local std::string value;
  bench_distinct &d = distinct[thread];
  bench_distinct_find(&d, keys, n, gradients);
  leveldb::WriteBatch batch;
  for (uint32_t i = 0; i < d.count; i++) {
    leveldb::Status status = db->Get(leveldb::ReadOptions(), slice(d.keys[i]), &value);
    if (!status.ok()) return failed(error, status);
    Row row;
    memcpy(&row, value.data(), sizeof row);
    bench_adagrad(row.values, d.gradients[i]);
    batch.Put(slice(d.keys[i]), slice(row));
  }
  leveldb::Status status = db->Write(leveldb::WriteOptions(), &batch);
  return status.ok() || failed(error, status);
}

bool contender_command(const char *verb, const bench_options *, char *, char *error) {
  return bench_fail(error, "Cannot do \"%s\"", verb);
}
