/* mark.c - how a closed database is known: by a record that a running store takes away. */
#include "tiers/leveldb/database.h"

#include <string.h>

#define MARK_FORMAT 1u

/* The mark of a closed database: format, row bytes and number of rows, 8 bytes each. */
int32_t ts_leveldb_write_mark(ts_records *r, ts_err err) {
  unsigned char mark[24];
  ts_leveldb_put_u64(mark, MARK_FORMAT);
  ts_leveldb_put_u64(mark + 8, r->row_bytes);
  ts_leveldb_put_u64(mark + 16, atomic_load(&r->rows));
  char *words = NULL;
  r->api.writebatch_clear(r->batch);
  r->api.writebatch_put(r->batch, TS_LEVELDB_MARK_KEY, 1, (const char *)mark, sizeof mark);
  r->api.write(r->db, r->write_sync, r->batch, &words);
  return words == NULL ? TS_OK : ts_leveldb_failed(r, err, "close", words);
}

int32_t ts_leveldb_take_mark(ts_records *r, bool *there, ts_err err) {
  size_t bytes = 0;
  char *words = NULL, *value = r->api.get(r->db, r->read, TS_LEVELDB_MARK_KEY, 1, &bytes, &words);
  *there = value != NULL;
  if (words != NULL) return ts_leveldb_failed(r, err, "open", words);
  if (value == NULL) return TS_OK;
  unsigned char mark[24] = {0};
  memcpy(mark, value, TS_MIN(bytes, sizeof mark));
  r->api.free(value);
  if (bytes != sizeof mark || ts_leveldb_get_u64(mark) != MARK_FORMAT)
    return ts_fail(err, TS_EFORMAT,
                   "Cannot open the LevelDB database \"%s\": it is not of this format; remove the folder", r->folder);
  if (ts_leveldb_get_u64(mark + 8) != r->row_bytes)
    return ts_fail(err, TS_EFORMAT,
                   "Cannot open the LevelDB database \"%s\": it holds rows of %llu bytes, the table's have %u; remove "
                   "the folder or give the table its former options",
                   r->folder, (unsigned long long)ts_leveldb_get_u64(mark + 8), r->row_bytes);
  atomic_store(&r->rows, ts_leveldb_get_u64(mark + 16));
  /* From here on the number is only right in memory. */
  r->api.writebatch_clear(r->batch);
  r->api.writebatch_delete(r->batch, TS_LEVELDB_MARK_KEY, 1);
  r->api.write(r->db, r->write_sync, r->batch, &words);
  return words == NULL ? TS_OK : ts_leveldb_failed(r, err, "open", words);
}
