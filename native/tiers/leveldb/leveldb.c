/* leveldb.c - the LEVELDB tier's operations behind records.h, and what it says of itself; the manual is leveldb.h. */
#include "tiers/leveldb/database.h"

static void leveldb_count(ts_records *r, ts_records_counts *out) {
  *out = (ts_records_counts){.rows = atomic_load(&r->rows),
                             .reads = atomic_load(&r->reads),
                             .writes = atomic_load(&r->writes),
                             .payload_written = atomic_load(&r->payload_written)};
  pthread_mutex_lock(&r->lock);
  ts_leveldb_measure(&r->space);
  out->medium_bytes = r->space.measured;
  out->compactions = r->compactions;
  out->bytes_written = r->logged;
  pthread_mutex_unlock(&r->lock);
  if (ts_leveldb_use(r, (ts_err){0}) != TS_OK) return;
  uint64_t read, written;
  ts_leveldb_traffic(r, &read, &written);
  out->bytes_read += r->read_before + read;
  out->bytes_written += r->written_before + written;
  ts_leveldb_unuse(r);
}

static void leveldb_describe(const ts_records *r, ts_text *text) {
  const ts_leveldb_options *o = &r->options;
  if (ts_leveldb_use(r, (ts_err){0}) != TS_OK) {
    ts_text_add(text, " medium=leveldb path=%s closed=1", r->folder);
    return;
  }
  uint64_t memory = ts_leveldb_property(r, "leveldb.approximate-memory-usage");
  uint64_t charged = 2 * (o->write_buffer_bytes + ts_leveldb_batch_bytes(r)) + o->cache_bytes;
  uint32_t tables = ts_leveldb_count_tables(r);
  uint32_t mapped = o->random_access ? ts_leveldb_advise(r->folder) : 0;
  ts_text_add(text,
              " medium=leveldb library=%d.%d path=%s cache=%llu write_buffer=%llu bloom_bits=%u block=%llu file=%llu "
              "compression=%s random_access=%d tables=%u advised=%u memory=%llu excess=%llu discarded=%d",
              r->api.major_version(), r->api.minor_version(), r->folder, (unsigned long long)o->cache_bytes,
              (unsigned long long)o->write_buffer_bytes, o->bloom_bits, (unsigned long long)o->block_bytes,
              (unsigned long long)o->file_bytes, o->compression == 0 ? "none" : "snappy", o->random_access, tables,
              mapped,
              (unsigned long long)memory, (unsigned long long)(memory > charged ? memory - charged : 0), r->discarded);
  ts_leveldb_unuse(r);
}

const ts_records_ops ts_leveldb_records = {
    .type = "LEVELDB",
    .place = "SSD",
    .read_options = ts_leveldb_read_options,
    .probe = ts_leveldb_probe,
    .open = ts_leveldb_open,
    .close = ts_leveldb_close,
    .put = ts_leveldb_put,
    .get = ts_leveldb_get,
    .contains = ts_leveldb_contains,
    .remove = ts_leveldb_remove,
    .walk = ts_leveldb_walk,
    .flush = ts_leveldb_flush,
    .count = leveldb_count,
    .describe = leveldb_describe,
};
