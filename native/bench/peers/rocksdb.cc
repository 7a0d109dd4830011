/* rocksdb.cc - RocksDB, in memory (all in the block cache) and cold (direct reads, a small cache).
 *
 * Options: path=<folder>; cache=<bytes> of the block cache; direct=1 reads and compacts with O_DIRECT. No compression
 * (rows are noise), bloom filters of 10 bits, 4 KiB blocks with a hash index in each, no log of writes: the store that is
 * compared has none either. Compacted to one level before any round.
 *
 *   cold threads=<n> multiget=<0|1> ms=<n>   uniform reads: n threads with Get, or one with MultiGet of n keys */
#include <rocksdb/cache.h>
#include <rocksdb/db.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/table.h>
#include <rocksdb/write_batch.h>

#include <atomic>
#include <memory>
#include <thread>

#include "peers/rows.h"

namespace {

constexpr size_t GET_AT_ONCE = 1024;
rocksdb::DB *db;
uint64_t rows;
struct Work {
  bench_distinct distinct;
  std::vector<rocksdb::Slice> keys;
  std::vector<rocksdb::PinnableSlice> values;
  std::vector<rocksdb::Status> statuses;
};
Work work[BENCH_THREADS];

rocksdb::Slice slice(const int64_t &key) { return rocksdb::Slice(reinterpret_cast<const char *>(&key), sizeof key); }
rocksdb::Slice slice(const Row &row) { return rocksdb::Slice(reinterpret_cast<const char *>(&row), sizeof row); }

bool failed(char *error, const rocksdb::Status &status) {
  return bench_fail(error, "RocksDB: %s", status.ToString().c_str());
}

rocksdb::WriteOptions without_log() {
  rocksdb::WriteOptions options;
  options.disableWAL = true;
  return options;
}

// Calls visit(value, position) for all keys.
template <class Visit>
bool get_all(Work &w, const int64_t *keys, uint32_t n, char *error, Visit visit) {
  for (uint32_t first = 0; first < n; first += GET_AT_ONCE) {
    size_t count = std::min<size_t>(GET_AT_ONCE, n - first);
    w.keys.clear();
    for (size_t i = 0; i < count; i++) w.keys.push_back(slice(keys[first + i]));
    w.values.resize(GET_AT_ONCE);
    w.statuses.resize(GET_AT_ONCE);
    db->MultiGet(rocksdb::ReadOptions(), db->DefaultColumnFamily(), count, w.keys.data(), w.values.data(),
                 w.statuses.data());
    for (size_t i = 0; i < count; i++) {
      if (!w.statuses[i].ok()) return failed(error, w.statuses[i]);
      visit(w.values[i], first + static_cast<uint32_t>(i));
      w.values[i].Reset();
    }
  }
  return true;
}

bool cold(const bench_options *options, char *reply, char *error) {
  const unsigned in_flight = static_cast<unsigned>(bench_number(options, "threads", 32));
  const bool multi = bench_number(options, "multiget", 0) != 0;
  const uint64_t limit = bench_number(options, "ms", 1000) * 1000000u;
  static std::atomic<uint64_t> draws{0};
  std::atomic<uint64_t> done{0}, bad{0};
  auto key_of = [](uint64_t draw) { return bench_id(bench_mix(draw * 0x9e3779b97f4a7c15u) % rows); };
  const uint64_t cpu = bench_cpu_ns(), start = bench_now_ns();
  auto single = [&] {
    rocksdb::PinnableSlice value;
    uint64_t own = 0;
    do {
      int64_t key = key_of(++draws);
      if (!db->Get(rocksdb::ReadOptions(), db->DefaultColumnFamily(), slice(key), &value).ok()) bad++;
      value.Reset();
      own++;
    } while (bench_now_ns() - start < limit);
    done += own;
  };
  auto several = [&] {
    std::vector<int64_t> keys(in_flight);
    std::vector<rocksdb::Slice> slices(in_flight);
    std::vector<rocksdb::PinnableSlice> values(in_flight);
    std::vector<rocksdb::Status> statuses(in_flight);
    rocksdb::ReadOptions read;
    read.async_io = true;
    do {
      for (unsigned i = 0; i < in_flight; i++) {
        keys[i] = key_of(++draws);
        slices[i] = slice(keys[i]);
      }
      db->MultiGet(read, db->DefaultColumnFamily(), in_flight, slices.data(), values.data(), statuses.data());
      for (unsigned i = 0; i < in_flight; i++) {
        if (!statuses[i].ok()) bad++;
        values[i].Reset();
      }
      done += in_flight;
    } while (bench_now_ns() - start < limit);
  };
  std::vector<std::thread> threads;
  if (multi) several();
  else
    for (unsigned t = 0; t < in_flight; t++) threads.emplace_back(single);
  for (std::thread &thread : threads) thread.join();
  if (bad != 0) return bench_fail(error, "RocksDB: %llu reads failed", static_cast<unsigned long long>(bad));
  snprintf(reply, BENCH_TEXT, "rows=%llu seconds=%.6f cpu=%.6f", static_cast<unsigned long long>(done),
           static_cast<double>(bench_now_ns() - start) * 1e-9, static_cast<double>(bench_cpu_ns() - cpu) * 1e-9);
  return true;
}

}  // namespace

bool contender_open(const bench_options *options, uint64_t keys, char *error) {
  rows = keys;
  for (Work &w : work) bench_distinct_open(&w.distinct);
  rocksdb::BlockBasedTableOptions table;
  table.block_cache = rocksdb::NewLRUCache(bench_number(options, "cache", keys * 512));
  table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(10));
  table.data_block_index_type = rocksdb::BlockBasedTableOptions::kDataBlockBinaryAndHash;
  rocksdb::Options o;
  o.create_if_missing = true;
  o.error_if_exists = true;
  o.compression = rocksdb::kNoCompression;
  o.write_buffer_size = 64 << 20;
  o.use_direct_reads = o.use_direct_io_for_flush_and_compaction = bench_number(options, "direct", 0) != 0;
  o.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  rocksdb::Status status = rocksdb::DB::Open(o, bench_text(options, "path", ""), &db);
  return status.ok() || failed(error, status);
}

bool contender_create(const int64_t *keys, uint32_t n, char *error) {
  const Row row = first_row();
  rocksdb::WriteBatch batch;
  for (uint32_t i = 0; i < n; i++) batch.Put(slice(keys[i]), slice(row));
  rocksdb::Status status = db->Write(without_log(), &batch);
  return status.ok() || failed(error, status);
}

bool contender_ready(const bench_options *, char *error) {
  rocksdb::Status status = db->Flush(rocksdb::FlushOptions());
  if (status.ok()) status = db->CompactRange(rocksdb::CompactRangeOptions(), nullptr, nullptr);
  return status.ok() || failed(error, status);
}

bool contender_lookup(unsigned thread, const int64_t *keys, uint32_t n, float *out, char *error) {
  return get_all(work[thread], keys, n, error, [&](const rocksdb::Slice &value, uint32_t i) {
    memcpy(out + uint64_t{i} * BENCH_DIM, value.data(), BENCH_DIM * sizeof(float));
  });
}

bool contender_update(unsigned thread, const int64_t *keys, uint32_t n, const float *gradients, char *error) {
  Work &w = work[thread];
  bench_distinct_find(&w.distinct, keys, n, gradients);
  rocksdb::WriteBatch batch;
  bool ok = get_all(w, w.distinct.keys, w.distinct.count, error, [&](const rocksdb::Slice &value, uint32_t i) {
    Row row;
    memcpy(&row, value.data(), sizeof row);
    bench_adagrad(row.values, w.distinct.gradients[i]);
    batch.Put(slice(w.distinct.keys[i]), slice(row));
  });
  if (!ok) return false;
  rocksdb::Status status = db->Write(without_log(), &batch);
  return status.ok() || failed(error, status);
}

bool contender_command(const char *verb, const bench_options *options, char *reply, char *error) {
  if (strcmp(verb, "cold") == 0) return cold(options, reply, error);
  return bench_fail(error, "Cannot do \"%s\"", verb);
}
