/* options.c - the options of the LEVELDB tier, what they are where none are given, and the memory they come to. */
#include "tiers/leveldb/database.h"

#include <stdlib.h>

#define FEWEST_FILES 1000u               /* LevelDB's own default of open files */
#define FILE_BUFFER (UINT64_C(64) << 10) /* of LevelDB's writable files */

int32_t ts_leveldb_read_options(ts_config_reader *reader, void **options) {
  static const char *const compressions[] = {"none", "snappy", NULL};
  ts_leveldb_options *o = malloc(sizeof *o);
  if (o == NULL)
    return reader->status = ts_fail(reader->err, TS_ENOMEM, "Cannot read the LevelDB options: out of memory");
  *o = (ts_leveldb_options){
      .cache_bytes = ts_config_u64(reader, "leveldb.cache_bytes", UINT64_MAX, 0, UINT64_C(1) << 40),
      .write_buffer_bytes = ts_config_u64(reader, "leveldb.write_buffer_bytes", UINT64_MAX, 64 << 10, 1 << 30),
      .block_bytes = ts_config_u64(reader, "leveldb.block_bytes", 4096, 1 << 10, 4 << 20),
      .file_bytes = ts_config_u64(reader, "leveldb.file_bytes", UINT64_MAX, 1 << 20, 1 << 30),
      .open_files = ts_config_u64(reader, "leveldb.open_files", UINT64_MAX, 74, 50000),
      .bloom_bits = (uint32_t)ts_config_u64(reader, "leveldb.bloom_bits", 10, 0, 30),
      .compression = ts_config_choice(reader, "leveldb.compression", "none", compressions),
      .random_access = ts_config_u64(reader, "leveldb.random_access", 1, 0, 1) == 1,
  };
  if (reader->status != TS_OK) {
    free(o);
    return reader->status;
  }
  *options = o;
  return TS_OK;
}

void ts_leveldb_derive(ts_leveldb_options *o, const ts_budget *budget, const ts_budget *dram) {
  if (o->cache_bytes == UINT64_MAX) o->cache_bytes = ts_leveldb_within(dram->limit / 1024, 64 << 10, 16 << 20);
  if (o->write_buffer_bytes == UINT64_MAX)
    o->write_buffer_bytes = ts_leveldb_within(dram->limit / 256, 64 << 10, 4 << 20);
  if (o->file_bytes == UINT64_MAX) o->file_bytes = ts_leveldb_within(budget->limit / 1024, 2 << 20, 64 << 20);
  /* Tables can be half full, where a compaction cuts them early. */
  if (o->open_files == UINT64_MAX)
    o->open_files = ts_leveldb_within(2 * (budget->limit / o->file_bytes), FEWEST_FILES, 50000);
}

uint64_t ts_leveldb_batch_bytes(const ts_records *r) {
  return TS_MAX(r->options.write_buffer_bytes / 4, r->space.record_bytes);
}

void ts_leveldb_plan_memory(ts_records *r) {
  const ts_leveldb_options *o = &r->options;
  uint64_t batch = ts_leveldb_batch_bytes(r), record = r->space.record_bytes, block = o->block_bytes;
  /* Two memtables, each full when a last batch comes; the batch, whose text doubles as it grows, and the value; buffers
   * of log, manifest and table under construction; blocks of a compaction's inputs and of reads. */
  r->fixed_dram = 2 * (o->write_buffer_bytes + batch) + o->cache_bytes + 2 * batch + record + 3 * FILE_BUFFER +
                  16 * TS_MAX(block, record);
  /* A table's index has an entry of at most 40 bytes a block; its filter, bloom_bits a key, an offset of 4 bytes a
   * 2 KiB, and at least 9 bytes a filter, of which there is one a block or 2 KiB, whichever is more. */
  double filter = o->bloom_bits == 0 ? 0
                                     : (double)o->bloom_bits / 8 / (double)record + 4.0 / 2048 +
                                           9.0 / (double)TS_MAX(block, 2048);
  r->space.table_dram = 40.0 / (double)block + filter;
  r->space.largest_batch = batch;
  r->space.most_compaction = 25 * o->file_bytes + 14 * o->write_buffer_bytes + 2 * batch + (UINT64_C(10) << 20);
}
