/* read.c - gets and walks; LevelDB locks itself, so they only keep it open. */
#include "tiers/leveldb/database.h"

#include <string.h>

int32_t ts_leveldb_fetch(ts_records *r, int64_t key, char **value, ts_err err) {
  char encoded[TS_LEVELDB_KEY_BYTES], *words = NULL;
  size_t bytes = 0;
  ts_leveldb_put_ordered(encoded, ts_leveldb_ordered(key));
  *value = r->api.get(r->db, r->read, encoded, TS_LEVELDB_KEY_BYTES, &bytes, &words);
  if (words != NULL) return ts_leveldb_failed(r, err, "read", words);
  if (*value == NULL || bytes == TS_LEVELDB_VERSION_BYTES + (size_t)r->row_bytes) return TS_OK;
  r->api.free(*value);
  *value = NULL;
  return ts_leveldb_wrong_length(r, err, key, bytes);
}

/* get, or contains when rows is NULL. */
static int32_t look_up(ts_records *r, uint32_t n, const int64_t *keys, unsigned char *const *rows, uint8_t *found,
                       ts_err err) {
  int32_t status = ts_leveldb_use(r, err);
  if (status != TS_OK) return status;
  for (uint32_t first = 0; first < n && status == TS_OK; first += TS_LEVELDB_PIECE) {
    ts_leveldb_key sorted[TS_LEVELDB_PIECE];
    uint32_t count = TS_MIN(TS_LEVELDB_PIECE, n - first), looked = 0;
    ts_leveldb_sort(sorted, keys, first, count);
    char *value = NULL; /* of the last key: keys may repeat */
    for (uint32_t i = 0; i < count; i++) {
      if (i == 0 || sorted[i].key != sorted[i - 1].key) {
        if (value != NULL) r->api.free(value);
        looked++;
        status = ts_leveldb_fetch(r, sorted[i].key, &value, err);
        if (status != TS_OK) break;
      }
      found[sorted[i].at] = value != NULL;
      if (value != NULL && rows != NULL) memcpy(rows[sorted[i].at], value + TS_LEVELDB_VERSION_BYTES, r->row_bytes);
    }
    if (value != NULL) r->api.free(value);
    atomic_fetch_add_explicit(&r->reads, looked, memory_order_relaxed);
  }
  ts_leveldb_unuse(r);
  ts_leveldb_look_for_tables(r);
  return status;
}

int32_t ts_leveldb_get(ts_records *r, uint32_t n, const int64_t *keys, unsigned char *const *rows, uint8_t *found,
                       ts_err err) {
  return look_up(r, n, keys, rows, found, err);
}

int32_t ts_leveldb_contains(ts_records *r, uint32_t n, const int64_t *keys, uint8_t *found, ts_err err) {
  return look_up(r, n, keys, NULL, found, err);
}

/* The cursor is the ordered form of the next key to look for, and its last value means the end: so the last but one of
 * all int64 is never the last of a full call, and comes with the last, if that is there. No iterator lives between
 * calls: it would keep replaced files on the medium. */
int32_t ts_leveldb_walk(ts_records *r, uint64_t *cursor, uint32_t n, int64_t *keys, uint64_t *versions,
                        unsigned char *const *rows, uint32_t *got, ts_err err) {
  *got = 0;
  if (n < 2) return ts_fail(err, TS_EINVAL, "Cannot walk the LEVELDB tier by %u rows a call: take at least 2", n);
  if (*cursor == UINT64_MAX) return TS_OK;
  int32_t status = ts_leveldb_use(r, err);
  if (status != TS_OK) return status;
  void *at = r->api.create_iterator(r->db, r->read_once);
  char encoded[TS_LEVELDB_KEY_BYTES];
  ts_leveldb_put_ordered(encoded, *cursor);
  uint64_t next = UINT64_MAX, last = 0;
  for (r->api.iter_seek(at, encoded, TS_LEVELDB_KEY_BYTES); r->api.iter_valid(at); r->api.iter_next(at)) {
    size_t key_bytes, bytes;
    const char *key = r->api.iter_key(at, &key_bytes), *value = r->api.iter_value(at, &bytes);
    if (key_bytes != TS_LEVELDB_KEY_BYTES) {
      status = ts_fail(err, TS_EFORMAT, "Cannot walk the LevelDB database \"%s\": a key has %llu bytes, not %u",
                       r->folder, (unsigned long long)key_bytes, TS_LEVELDB_KEY_BYTES);
      break;
    }
    uint64_t u = ts_leveldb_get_ordered(key);
    int64_t number = (int64_t)(u ^ (UINT64_C(1) << 63));
    if (*got == n || (*got + 1 == n && u == UINT64_MAX - 1)) {
      next = last + 1;
      break;
    }
    if (bytes != TS_LEVELDB_VERSION_BYTES + (size_t)r->row_bytes) {
      status = ts_leveldb_wrong_length(r, err, number, bytes);
      break;
    }
    keys[*got] = number;
    if (versions != NULL) versions[*got] = ts_leveldb_get_u64((const unsigned char *)value);
    if (rows != NULL && rows[*got] != NULL) memcpy(rows[*got], value + TS_LEVELDB_VERSION_BYTES, r->row_bytes);
    ++*got;
    last = u;
  }
  char *words = NULL;
  if (status == TS_OK) r->api.iter_get_error(at, &words);
  r->api.iter_destroy(at);
  ts_leveldb_unuse(r);
  if (words != NULL) status = ts_leveldb_failed(r, err, "walk", words);
  if (status != TS_OK) return status;
  *cursor = next;
  ts_leveldb_look_for_tables(r);
  return TS_OK;
}
