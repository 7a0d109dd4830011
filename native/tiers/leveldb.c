/* leveldb.c - the LEVELDB tier's operations; the manual is leveldb.h. LevelDB locks itself, so reads go straight to it;
 * writes take one lock a table, which keeps the number of rows exact and the charges ahead of the bytes. */
#include "tiers/leveldb.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define KEY_BYTES 8u
#define VERSION_BYTES 8u
#define PIECE 256u                             /* keys handled at a time */
#define FILE_BUFFER (UINT64_C(64) << 10)       /* of LevelDB's writable files */
#define FEWEST_FILES 1000u                     /* LevelDB's own default of open files */
#define MARK_KEY "\0"                          /* one byte: sorts before every key of eight */
#define MARK_FORMAT 1u
#define LOOK_EVERY_NS UINT64_C(1000000)        /* for new tables, at most */

typedef struct leveldb_options {
  uint64_t cache_bytes, write_buffer_bytes, block_bytes, file_bytes, open_files; /* UINT64_MAX: derive it */
  uint32_t bloom_bits, compression;
  bool random_access;
} leveldb_options;

struct ts_records {
  ts_leveldb_api api;
  leveldb_options options;
  void *db, *db_options, *filter, *cache, *read, *read_once, *write, *write_sync, *batch;
  uint32_t row_bytes;
  bool discarded;
  char folder[PATH_MAX];
  uint64_t fixed_dram;
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

/* ---- small parts ---- */

typedef struct sorted_key {
  int64_t key;
  uint32_t at;
} sorted_key;

static int by_key(const void *a, const void *b) {
  const sorted_key *x = a, *y = b;
  if (x->key != y->key) return x->key < y->key ? -1 : 1;
  return x->at < y->at ? -1 : x->at > y->at;
}

/* The keys of one piece in LevelDB's order, equal ones in the caller's. */
static void sort_piece(sorted_key *sorted, const int64_t *keys, uint32_t first, uint32_t n) {
  for (uint32_t i = 0; i < n; i++) sorted[i] = (sorted_key){keys[first + i], first + i};
  if (n > 1) qsort(sorted, n, sizeof *sorted, by_key);
}

static uint64_t ordered(int64_t key) { return (uint64_t)key ^ (UINT64_C(1) << 63); }

static void put_ordered(char out[KEY_BYTES], uint64_t u) {
  for (int i = 0; i < 8; i++) out[i] = (char)(u >> (56 - 8 * i) & 0xff);
}

static uint64_t get_ordered(const char *in) {
  uint64_t u = 0;
  for (int i = 0; i < 8; i++) u = u << 8 | (unsigned char)in[i];
  return u;
}

static void put_u64(unsigned char *out, uint64_t u) {
  for (int i = 0; i < 8; i++) out[i] = (unsigned char)(u >> (8 * i));
}

static uint64_t get_u64(const unsigned char *in) {
  uint64_t u = 0;
  for (int i = 7; i >= 0; i--) u = u << 8 | in[i];
  return u;
}

/* Status and message from LevelDB's, which is freed. */
static int32_t failed(const ts_records *r, ts_err err, const char *what, char *words) {
  int32_t status = ts_fail(err, strncmp(words, "Corruption", 10) == 0 ? TS_EFORMAT : TS_EIO,
                           "Cannot %s the LevelDB database \"%s\": %s", what, r->folder, words);
  r->api.free(words);
  return status;
}

static int32_t wrong_length(const ts_records *r, ts_err err, int64_t key, size_t found) {
  return ts_fail(err, TS_EFORMAT,
                 "Cannot read the LevelDB database \"%s\": the record of key %lld has %llu bytes, not %llu", r->folder,
                 (long long)key, (unsigned long long)found,
                 (unsigned long long)VERSION_BYTES + r->row_bytes);
}

static uint64_t property_number(const ts_records *r, const char *name) {
  char *text = r->api.property_value(r->db, name);
  uint64_t n = text == NULL ? 0 : strtoull(text, NULL, 10);
  if (text != NULL) r->api.free(text);
  return n;
}

static uint32_t count_tables(const ts_records *r) {
  uint32_t tables = 0;
  for (int level = 0; level < 7; level++) {
    char name[40];
    snprintf(name, sizeof name, "leveldb.num-files-at-level%d", level);
    tables += (uint32_t)property_number(r, name);
  }
  return tables;
}

/* ---- mappings ---- */

/* After reads. LevelDB maps a table at its first read, and compactions bring new ones; its statistics tell of those. */
static void look_for_tables(ts_records *r) {
  if (!r->options.random_access) return;
  uint64_t now = ts_now_ns();
  if (now < atomic_load_explicit(&r->next_look_ns, memory_order_relaxed)) return;
  if (atomic_flag_test_and_set_explicit(&r->looking, memory_order_acquire)) return;
  uint64_t pause = LOOK_EVERY_NS;
  char *text = r->api.property_value(r->db, "leveldb.stats");
  uint64_t signature = text == NULL ? 0 : ts_hash_bytes(text, strlen(text), 0);
  if (text != NULL) r->api.free(text);
  bool changed = signature != r->tables_signature;
  if (changed || atomic_load(&r->mapped) < atomic_load(&r->tables)) {
    uint32_t tables = count_tables(r), mapped = ts_leveldb_advise(r->folder);
    /* Tables beyond LevelDB's limit are never mapped: look less and less often while nothing comes of it. */
    bool came = changed || mapped != atomic_load(&r->mapped);
    r->pause_ns = came ? LOOK_EVERY_NS : TS_MIN(2 * r->pause_ns, UINT64_C(1000000000));
    atomic_store(&r->tables, tables);
    atomic_store(&r->mapped, mapped);
    r->tables_signature = signature;
    uint64_t cost = ts_now_ns() - now;
    pause = TS_MAX(20 * cost, r->pause_ns);
  }
  atomic_store_explicit(&r->next_look_ns, now + pause, memory_order_relaxed);
  atomic_flag_clear_explicit(&r->looking, memory_order_release);
}

/* ---- options ---- */

static int32_t leveldb_read_options(ts_config_reader *reader, void **options) {
  static const char *const compressions[] = {"none", "snappy", NULL};
  leveldb_options *o = malloc(sizeof *o);
  if (o == NULL)
    return reader->status = ts_fail(reader->err, TS_ENOMEM, "Cannot read the LevelDB options: out of memory");
  *o = (leveldb_options){
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

static uint64_t within(uint64_t n, uint64_t least, uint64_t most) { return n < least ? least : n > most ? most : n; }

static void derive(leveldb_options *o, const ts_budget *budget, const ts_budget *dram) {
  if (o->cache_bytes == UINT64_MAX) o->cache_bytes = within(dram->limit / 1024, 64 << 10, 16 << 20);
  if (o->write_buffer_bytes == UINT64_MAX) o->write_buffer_bytes = within(dram->limit / 256, 64 << 10, 4 << 20);
  if (o->file_bytes == UINT64_MAX) o->file_bytes = within(budget->limit / 1024, 2 << 20, 64 << 20);
  /* Tables can be half full, where a compaction cuts them early. */
  if (o->open_files == UINT64_MAX) o->open_files = within(2 * (budget->limit / o->file_bytes), FEWEST_FILES, 50000);
}

static int32_t check_directory(const char *directory, ts_err err) {
  struct stat s;
  if (directory == NULL || directory[0] == '\0')
    return ts_fail(err, TS_EINVAL, "Cannot open the LEVELDB tier: option \"path\" must name a directory");
  if (stat(directory, &s) != 0)
    return ts_fail(err, TS_EIO, "Cannot use directory \"%s\" for the LEVELDB tier: %s", directory, strerror(errno));
  if (!S_ISDIR(s.st_mode))
    return ts_fail(err, TS_EIO, "Cannot use \"%s\" for the LEVELDB tier: not a directory", directory);
  if (access(directory, W_OK | X_OK) != 0)
    return ts_fail(err, TS_EIO, "Cannot write in directory \"%s\" of the LEVELDB tier: %s", directory, strerror(errno));
  return TS_OK;
}

static int32_t leveldb_probe(const char *directory, ts_err err) {
  ts_leveldb_api api;
  int32_t status = ts_leveldb_open_library(&api, err);
  return status == TS_OK ? check_directory(directory, err) : status;
}

/* ---- open and close ---- */

/* "leveldb-" and the table's name, what is no letter, digit, "-" or "_" as %XX; a long one is cut and told apart by its
 * hash. */
static int32_t name_folder(ts_records *r, const char *directory, const char *table, ts_err err) {
  char real[PATH_MAX], name[160];
  if (realpath(directory, real) == NULL)
    return ts_fail(err, TS_EIO, "Cannot use directory \"%s\" for the LEVELDB tier: %s", directory, strerror(errno));
  size_t n = 0;
  const char *at = table;
  for (; *at != '\0' && n < 120; at++) {
    unsigned char c = (unsigned char)*at;
    n += (size_t)snprintf(name + n, sizeof name - n, isalnum(c) || c == '-' || c == '_' ? "%c" : "%%%02X", c);
  }
  name[n] = '\0';
  if (*at != '\0')
    snprintf(name + n, sizeof name - n, ".%016llx", (unsigned long long)ts_hash_bytes(table, strlen(table), 0));
  int length = snprintf(r->folder, sizeof r->folder, "%s/leveldb-%s", strcmp(real, "/") == 0 ? "" : real, name);
  if (length < 0 || (size_t)length >= sizeof r->folder)
    return ts_fail(err, TS_EINVAL, "Cannot open the LEVELDB tier: the path is longer than %d bytes", PATH_MAX - 1);
  return TS_OK;
}

static void make_options(ts_records *r) {
  const ts_leveldb_api *api = &r->api;
  const leveldb_options *o = &r->options;
  r->db_options = api->options_create();
  r->cache = api->cache_create_lru(o->cache_bytes);
  r->filter = o->bloom_bits == 0 ? NULL : api->filterpolicy_create_bloom((int)o->bloom_bits);
  api->options_set_create_if_missing(r->db_options, 1);
  api->options_set_paranoid_checks(r->db_options, 1);
  api->options_set_cache(r->db_options, r->cache);
  if (r->filter != NULL) api->options_set_filter_policy(r->db_options, r->filter);
  api->options_set_write_buffer_size(r->db_options, o->write_buffer_bytes);
  api->options_set_max_open_files(r->db_options, (int)o->open_files);
  api->options_set_block_size(r->db_options, o->block_bytes);
  api->options_set_max_file_size(r->db_options, o->file_bytes);
  api->options_set_compression(r->db_options, (int)o->compression);
  r->read = api->readoptions_create();
  r->read_once = api->readoptions_create();
  api->readoptions_set_verify_checksums(r->read, 1);
  api->readoptions_set_verify_checksums(r->read_once, 1);
  api->readoptions_set_fill_cache(r->read_once, 0);
  r->write = api->writeoptions_create();
  r->write_sync = api->writeoptions_create();
  api->writeoptions_set_sync(r->write_sync, 1);
  r->batch = api->writebatch_create();
}

static int32_t open_database(ts_records *r, ts_err err) {
  char *words = NULL;
  r->db = r->api.open(r->db_options, r->folder, &words);
  return words == NULL ? TS_OK : failed(r, err, "open", words);
}

static int32_t remove_database(ts_records *r, ts_err err) {
  char *words = NULL;
  if (r->db != NULL) r->api.close(r->db);
  r->db = NULL;
  r->api.destroy_db(r->db_options, r->folder, &words);
  return words == NULL ? TS_OK : failed(r, err, "remove", words);
}

/* The mark of a closed database: format, row bytes and number of rows, 8 bytes each. */
static int32_t write_mark(ts_records *r, ts_err err) {
  unsigned char mark[24];
  put_u64(mark, MARK_FORMAT);
  put_u64(mark + 8, r->row_bytes);
  put_u64(mark + 16, atomic_load(&r->rows));
  char *words = NULL;
  r->api.writebatch_clear(r->batch);
  r->api.writebatch_put(r->batch, MARK_KEY, 1, (const char *)mark, sizeof mark);
  r->api.write(r->db, r->write_sync, r->batch, &words);
  return words == NULL ? TS_OK : failed(r, err, "close", words);
}

static int32_t take_mark(ts_records *r, bool *there, ts_err err) {
  size_t bytes = 0;
  char *words = NULL, *value = r->api.get(r->db, r->read, MARK_KEY, 1, &bytes, &words);
  *there = value != NULL;
  if (words != NULL) return failed(r, err, "open", words);
  if (value == NULL) return TS_OK;
  unsigned char mark[24] = {0};
  memcpy(mark, value, TS_MIN(bytes, sizeof mark));
  r->api.free(value);
  if (bytes != sizeof mark || get_u64(mark) != MARK_FORMAT)
    return ts_fail(err, TS_EFORMAT,
                   "Cannot open the LevelDB database \"%s\": it is not of this format; remove the folder", r->folder);
  if (get_u64(mark + 8) != r->row_bytes)
    return ts_fail(err, TS_EFORMAT,
                   "Cannot open the LevelDB database \"%s\": it holds rows of %llu bytes, the table's have %u; remove "
                   "the folder or give the table its former options",
                   r->folder, (unsigned long long)get_u64(mark + 8), r->row_bytes);
  atomic_store(&r->rows, get_u64(mark + 16));
  /* From here on the number is only right in memory. */
  r->api.writebatch_clear(r->batch);
  r->api.writebatch_delete(r->batch, MARK_KEY, 1);
  r->api.write(r->db, r->write_sync, r->batch, &words);
  return words == NULL ? TS_OK : failed(r, err, "open", words);
}

static int32_t is_empty(ts_records *r, bool *empty, ts_err err) {
  char *words = NULL;
  void *all = r->api.create_iterator(r->db, r->read_once);
  r->api.iter_seek_to_first(all);
  *empty = !r->api.iter_valid(all);
  r->api.iter_get_error(all, &words);
  r->api.iter_destroy(all);
  return words == NULL ? TS_OK : failed(r, err, "open", words);
}

/* Frees what open made, the charges too; the database's files stay. */
static void dismantle(ts_records *r) {
  const ts_leveldb_api *api = &r->api;
  if (r->db != NULL) api->close(r->db);
  if (r->batch != NULL) {
    api->writebatch_destroy(r->batch);
    api->writeoptions_destroy(r->write);
    api->writeoptions_destroy(r->write_sync);
    api->readoptions_destroy(r->read);
    api->readoptions_destroy(r->read_once);
    api->options_destroy(r->db_options);
    api->cache_destroy(r->cache);
    if (r->filter != NULL) api->filterpolicy_destroy(r->filter);
  }
  ts_leveldb_give_back(&r->space);
  ts_budget_give_back(r->space.dram, TS_PURPOSE_BUFFERS, r->fixed_dram);
  pthread_mutex_destroy(&r->lock);
  free(r->value);
  free(r);
}

/* The most bytes of one batch: a quarter of a write buffer, or a row. */
static uint64_t batch_bytes(const ts_records *r) {
  return TS_MAX(r->options.write_buffer_bytes / 4, r->space.record_bytes);
}

static void plan_memory(ts_records *r) {
  const leveldb_options *o = &r->options;
  uint64_t batch = batch_bytes(r), record = r->space.record_bytes, block = o->block_bytes;
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
  r->space.most_compaction = 25 * o->file_bytes + 14 * o->write_buffer_bytes + 2 * batch + (UINT64_C(10) << 20);
}

/* Everything that may fail after the object exists. */
static int32_t start(ts_records *r, const ts_records_options *options, ts_err err) {
  int32_t status = ts_leveldb_open_library(&r->api, err);
  if (status == TS_OK) status = check_directory(options->directory, err);
  if (status == TS_OK) status = name_folder(r, options->directory, options->table, err);
  if (status != TS_OK) return status;
  uint64_t dram = r->fixed_dram;
  r->fixed_dram = 0;
  if (!ts_budget_take(r->space.dram, TS_PURPOSE_BUFFERS, dram))
    return ts_fail(err, TS_EFULL,
                   "Cannot open the LevelDB database \"%s\": its cache and buffers take %llu bytes of DRAM, more than "
                   "the first tier has left; choose a larger first tier, or a smaller leveldb.cache_bytes or "
                   "leveldb.write_buffer_bytes",
                   r->folder, (unsigned long long)dram);
  r->fixed_dram = dram;
  r->value = malloc(VERSION_BYTES + r->row_bytes);
  if (r->value == NULL) return ts_fail(err, TS_ENOMEM, "Cannot open the LEVELDB tier: out of memory");
  make_options(r);
  bool marked = false, empty = false, refused = false;
  status = open_database(r, err);
  if (status == TS_OK) status = take_mark(r, &marked, err);
  if (status == TS_OK && !marked) {
    status = is_empty(r, &empty, err);
    if (status == TS_OK && !empty) {
      r->discarded = true;
      status = remove_database(r, err);
      if (status == TS_OK) status = open_database(r, err);
    }
  }
  if (status != TS_OK) return status;
  ts_leveldb_measure(&r->space);
  uint64_t rows = atomic_load(&r->rows), paid = 0;
  while (paid < rows && ts_budget_take_row(r->space.budget, r->row_bytes)) paid++;
  if (paid == rows && ts_leveldb_charge(&r->space, rows, 0, &refused)) return TS_OK;
  while (paid-- > 0) ts_budget_give_back_row(r->space.budget, r->row_bytes);
  status = ts_fail(err, TS_EFULL,
                   "Cannot open the LevelDB database \"%s\": it has %llu rows in %llu bytes of files, more than the %s "
                   "has left; choose a larger size",
                   r->folder, (unsigned long long)rows, (unsigned long long)r->space.measured,
                   refused ? "first tier" : "SSD tier");
  /* The rows stay for another try. */
  if (marked) write_mark(r, (ts_err){0});
  return status;
}

static int32_t leveldb_open(const ts_records_options *options, ts_records **out, ts_err err) {
  *out = NULL;
  ts_records *r = calloc(1, sizeof *r);
  if (r == NULL) return ts_fail(err, TS_ENOMEM, "Cannot open the LEVELDB tier: out of memory");
  if (options->options != NULL)
    r->options = *(const leveldb_options *)options->options;
  else
    r->options = (leveldb_options){UINT64_MAX, UINT64_MAX, 4096, UINT64_MAX, UINT64_MAX, 10, 0, true};
  derive(&r->options, options->budget, options->dram);
  r->row_bytes = options->row_bytes;
  /* Key, version and row; 24 bytes for lengths, sequence numbers and restarts. */
  r->space = (ts_leveldb_space){.budget = options->budget,
                                .dram = options->dram,
                                .folder = r->folder,
                                .record_bytes = KEY_BYTES + VERSION_BYTES + (uint64_t)options->row_bytes + 24};
  plan_memory(r);
  pthread_mutex_init(&r->lock, NULL);
  atomic_flag_clear(&r->looking);
  r->pause_ns = LOOK_EVERY_NS;
  int32_t status = start(r, options, err);
  if (status == TS_OK)
    *out = r;
  else
    dismantle(r);
  return status;
}

static void leveldb_close(ts_records *r, bool keep) {
  if (r == NULL) return;
  ts_err nobody = {0};
  if (keep)
    write_mark(r, nobody);
  else
    remove_database(r, nobody);
  for (uint64_t i = r->space.budget->rows_only ? atomic_load(&r->rows) : 0; i > 0; i--)
    ts_budget_give_back_row(r->space.budget, r->row_bytes);
  dismantle(r);
}

/* ---- room ---- */

/* Writes the memtable out and waits. The range holds no key, so no table is compacted. */
static void write_out(ts_records *r) { r->api.compact_range(r->db, MARK_KEY, 1, MARK_KEY, 1); }

/* Room for `bytes` more, under the lock: first as things stand, then measured, written out, compacted. */
static int32_t make_room(ts_records *r, uint64_t bytes, ts_err err) {
  uint64_t rows = atomic_load(&r->rows) + bytes / r->space.record_bytes;
  bool dram = false;
  if (r->space.since >= r->options.write_buffer_bytes) ts_leveldb_measure(&r->space);
  if (ts_leveldb_charge(&r->space, rows, bytes, &dram)) return TS_OK;
  ts_leveldb_measure(&r->space);
  if (ts_leveldb_charge(&r->space, rows, bytes, &dram)) return TS_OK;
  write_out(r);
  ts_leveldb_measure(&r->space);
  if (ts_leveldb_charge(&r->space, rows, bytes, &dram)) return TS_OK;
  /* Worth it when what is gone fills a sixteenth of the files, or would be room enough. */
  uint64_t gone = r->gone * r->space.record_bytes;
  if (r->gone > 0 && (gone >= r->space.measured / 16 || gone >= bytes)) {
    r->api.compact_range(r->db, NULL, 0, NULL, 0);
    r->compactions++;
    r->gone = 0;
    ts_leveldb_measure(&r->space);
    if (ts_leveldb_charge(&r->space, rows, bytes, &dram)) return TS_OK;
  }
  const ts_budget *full = dram ? r->space.dram : r->space.budget;
  return ts_fail(err, TS_EFULL,
                 "Cannot put %llu bytes into the LevelDB database \"%s\": %llu of %llu bytes of the %s are used, and "
                 "with room for compactions it would take %llu instead of %llu; choose a larger size",
                 (unsigned long long)bytes, r->folder, (unsigned long long)atomic_load(&full->used),
                 (unsigned long long)full->limit, dram ? "first tier (for index and filters)" : "SSD tier",
                 (unsigned long long)ts_leveldb_need(&r->space, rows, bytes), (unsigned long long)r->space.charged);
}

/* ---- operations ---- */

/* One record: *value is LevelDB's, NULL if absent. */
static int32_t fetch(ts_records *r, int64_t key, char **value, ts_err err) {
  char encoded[KEY_BYTES], *words = NULL;
  size_t bytes = 0;
  put_ordered(encoded, ordered(key));
  *value = r->api.get(r->db, r->read, encoded, KEY_BYTES, &bytes, &words);
  if (words != NULL) return failed(r, err, "read", words);
  if (*value == NULL || bytes == VERSION_BYTES + (size_t)r->row_bytes) return TS_OK;
  r->api.free(*value);
  *value = NULL;
  return wrong_length(r, err, key, bytes);
}

static int32_t exists(ts_records *r, int64_t key, bool *yes, ts_err err) {
  char *value;
  int32_t status = fetch(r, key, &value, err);
  *yes = value != NULL;
  if (value != NULL) r->api.free(value);
  return status;
}

/* Writes the batch; `bytes` is what it takes in the log. */
static int32_t write_batch(ts_records *r, uint64_t bytes, ts_err err) {
  char *words = NULL;
  r->api.write(r->db, r->write, r->batch, &words);
  r->api.writebatch_clear(r->batch);
  r->space.since += bytes; /* also after a failure: some of it may be there */
  r->logged += bytes;
  atomic_fetch_add_explicit(&r->writes, 1, memory_order_relaxed);
  return words == NULL ? TS_OK : failed(r, err, "write", words);
}

/* One batch of puts, `n` at most PIECE. */
static int32_t put_piece(ts_records *r, uint32_t first, uint32_t n, const int64_t *keys, const uint64_t *versions,
                         const unsigned char *const *rows, ts_err err) {
  sorted_key sorted[PIECE];
  sort_piece(sorted, keys, first, n);
  uint64_t fresh = 0, replaced = 0;
  int32_t status = TS_OK;
  for (uint32_t i = 0; i < n && status == TS_OK; i++) {
    if (i > 0 && sorted[i].key == sorted[i - 1].key) {
      replaced++;
      continue;
    }
    bool there = false;
    status = exists(r, sorted[i].key, &there, err);
    if (status != TS_OK) break;
    if (there) {
      replaced++;
    } else if (ts_budget_take_row(r->space.budget, r->row_bytes)) {
      fresh++;
    } else {
      status = ts_fail(err, TS_EFULL,
                       "Cannot put rows of %u bytes into the LevelDB database \"%s\": the SSD tier is full with %llu of %llu "
                       "bytes used; choose a larger size",
                       r->row_bytes, r->folder, (unsigned long long)atomic_load(&r->space.budget->used),
                       (unsigned long long)r->space.budget->limit);
    }
  }
  r->api.writebatch_clear(r->batch);
  for (uint32_t i = 0; i < n && status == TS_OK; i++) {
    uint32_t at = sorted[i].at;
    char encoded[KEY_BYTES];
    put_ordered(encoded, ordered(keys[at]));
    put_u64(r->value, versions == NULL ? 0 : versions[at]);
    memcpy(r->value + VERSION_BYTES, rows[at], r->row_bytes);
    r->api.writebatch_put(r->batch, encoded, KEY_BYTES, (const char *)r->value, VERSION_BYTES + (size_t)r->row_bytes);
  }
  if (status == TS_OK) status = write_batch(r, n * r->space.record_bytes, err);
  if (status != TS_OK) {
    for (uint64_t i = 0; i < fresh; i++) ts_budget_give_back_row(r->space.budget, r->row_bytes);
    return status;
  }
  atomic_fetch_add(&r->rows, fresh);
  atomic_fetch_add_explicit(&r->payload_written, (uint64_t)n * r->row_bytes, memory_order_relaxed);
  r->gone += replaced;
  return TS_OK;
}

static int32_t leveldb_put(ts_records *r, uint32_t n, const int64_t *keys, const uint64_t *versions,
                           const unsigned char *const *rows, ts_err err) {
  uint64_t piece = within(batch_bytes(r) / r->space.record_bytes, 1, PIECE);
  pthread_mutex_lock(&r->lock);
  int32_t status = TS_OK;
  for (uint32_t first = 0; first < n && status == TS_OK; first += (uint32_t)piece) {
    uint32_t count = (uint32_t)TS_MIN(piece, n - first);
    status = make_room(r, count * r->space.record_bytes, err);
    if (status == TS_OK) status = put_piece(r, first, count, keys, versions, rows, err);
  }
  pthread_mutex_unlock(&r->lock);
  look_for_tables(r);
  return status;
}

static int32_t leveldb_remove(ts_records *r, uint32_t n, const int64_t *keys, ts_err err) {
  int32_t status = TS_OK;
  pthread_mutex_lock(&r->lock);
  for (uint32_t first = 0; first < n && status == TS_OK; first += PIECE) {
    sorted_key sorted[PIECE];
    uint32_t count = TS_MIN(PIECE, n - first);
    sort_piece(sorted, keys, first, count);
    uint64_t found = 0;
    r->api.writebatch_clear(r->batch);
    for (uint32_t i = 0; i < count && status == TS_OK; i++) {
      bool there = false;
      if (i > 0 && sorted[i].key == sorted[i - 1].key) continue;
      status = exists(r, sorted[i].key, &there, err);
      if (status != TS_OK || !there) continue;
      char encoded[KEY_BYTES];
      put_ordered(encoded, ordered(sorted[i].key));
      r->api.writebatch_delete(r->batch, encoded, KEY_BYTES);
      found++;
    }
    if (status != TS_OK || found == 0) continue;
    status = write_batch(r, found * (KEY_BYTES + 24), err);
    if (status != TS_OK) continue;
    atomic_fetch_sub(&r->rows, found);
    r->gone += found;
    for (uint64_t i = 0; i < found; i++) ts_budget_give_back_row(r->space.budget, r->row_bytes);
  }
  /* Its bytes were charged with the rows; this gives back what has become free. */
  bool dram;
  if (r->space.since >= r->options.write_buffer_bytes) ts_leveldb_measure(&r->space);
  (void)ts_leveldb_charge(&r->space, atomic_load(&r->rows), 0, &dram);
  pthread_mutex_unlock(&r->lock);
  look_for_tables(r);
  return status;
}

/* get, or contains when rows is NULL. */
static int32_t look_up(ts_records *r, uint32_t n, const int64_t *keys, unsigned char *const *rows, uint8_t *found,
                       ts_err err) {
  int32_t status = TS_OK;
  for (uint32_t first = 0; first < n && status == TS_OK; first += PIECE) {
    sorted_key sorted[PIECE];
    uint32_t count = TS_MIN(PIECE, n - first), looked = 0;
    sort_piece(sorted, keys, first, count);
    char *value = NULL; /* of the last key: keys may repeat */
    for (uint32_t i = 0; i < count; i++) {
      if (i == 0 || sorted[i].key != sorted[i - 1].key) {
        if (value != NULL) r->api.free(value);
        looked++;
        status = fetch(r, sorted[i].key, &value, err);
        if (status != TS_OK) break;
      }
      found[sorted[i].at] = value != NULL;
      if (value != NULL && rows != NULL) memcpy(rows[sorted[i].at], value + VERSION_BYTES, r->row_bytes);
    }
    if (value != NULL) r->api.free(value);
    atomic_fetch_add_explicit(&r->reads, looked, memory_order_relaxed);
  }
  look_for_tables(r);
  return status;
}

static int32_t leveldb_get(ts_records *r, uint32_t n, const int64_t *keys, unsigned char *const *rows, uint8_t *found,
                           ts_err err) {
  return look_up(r, n, keys, rows, found, err);
}

static int32_t leveldb_contains(ts_records *r, uint32_t n, const int64_t *keys, uint8_t *found, ts_err err) {
  return look_up(r, n, keys, NULL, found, err);
}

/* The cursor is the ordered form of the next key to look for, and its last value means the end: so the last but one of
 * all int64 is never the last of a full call, and comes with the last, if that is there. No iterator lives
 * between calls: it would keep replaced files on the medium. */
static int32_t leveldb_walk(ts_records *r, uint64_t *cursor, uint32_t n, int64_t *keys, uint64_t *versions,
                            unsigned char *const *rows, uint32_t *got, ts_err err) {
  *got = 0;
  if (n < 2) return ts_fail(err, TS_EINVAL, "Cannot walk the LEVELDB tier by %u rows a call: take at least 2", n);
  if (*cursor == UINT64_MAX) return TS_OK;
  int32_t status = TS_OK;
  void *at = r->api.create_iterator(r->db, r->read_once);
  char encoded[KEY_BYTES];
  put_ordered(encoded, *cursor);
  uint64_t next = UINT64_MAX, last = 0;
  for (r->api.iter_seek(at, encoded, KEY_BYTES); r->api.iter_valid(at); r->api.iter_next(at)) {
    size_t key_bytes, bytes;
    const char *key = r->api.iter_key(at, &key_bytes), *value = r->api.iter_value(at, &bytes);
    if (key_bytes != KEY_BYTES) {
      status = ts_fail(err, TS_EFORMAT, "Cannot walk the LevelDB database \"%s\": a key has %llu bytes, not %u",
                       r->folder, (unsigned long long)key_bytes, KEY_BYTES);
      break;
    }
    uint64_t u = get_ordered(key);
    int64_t number = (int64_t)(u ^ (UINT64_C(1) << 63));
    if (*got == n || (*got + 1 == n && u == UINT64_MAX - 1)) {
      next = last + 1;
      break;
    }
    if (bytes != VERSION_BYTES + (size_t)r->row_bytes) {
      status = wrong_length(r, err, number, bytes);
      break;
    }
    keys[*got] = number;
    if (versions != NULL) versions[*got] = get_u64((const unsigned char *)value);
    if (rows != NULL && rows[*got] != NULL) memcpy(rows[*got], value + VERSION_BYTES, r->row_bytes);
    ++*got;
    last = u;
  }
  char *words = NULL;
  if (status == TS_OK) r->api.iter_get_error(at, &words);
  r->api.iter_destroy(at);
  if (words != NULL) status = failed(r, err, "walk", words);
  if (status != TS_OK) return status;
  *cursor = next;
  look_for_tables(r);
  return TS_OK;
}

static int32_t leveldb_flush(ts_records *r, ts_err err) {
  char *words = NULL;
  bool dram;
  pthread_mutex_lock(&r->lock);
  write_out(r); /* syncs the table; tells of no error, the next write does */
  r->api.writebatch_clear(r->batch);
  r->api.write(r->db, r->write_sync, r->batch, &words);
  ts_leveldb_measure(&r->space);
  (void)ts_leveldb_charge(&r->space, atomic_load(&r->rows), 0, &dram);
  pthread_mutex_unlock(&r->lock);
  return words == NULL ? TS_OK : failed(r, err, "flush", words);
}

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
  /* Lines "level files size time read written" in MiB, after three of heading. */
  char *text = r->api.property_value(r->db, "leveldb.stats");
  for (const char *line = text; line != NULL; line = strchr(line, '\n')) {
    line += *line == '\n';
    unsigned level, files;
    double size, seconds, read, written;
    if (sscanf(line, " %u %u %lf %lf %lf %lf", &level, &files, &size, &seconds, &read, &written) != 6) continue;
    out->bytes_read += (uint64_t)(read * 0x1p20);
    out->bytes_written += (uint64_t)(written * 0x1p20);
  }
  if (text != NULL) r->api.free(text);
}

static void leveldb_describe(const ts_records *r, ts_text *text) {
  const leveldb_options *o = &r->options;
  uint64_t memory = property_number(r, "leveldb.approximate-memory-usage");
  uint64_t charged = 2 * (o->write_buffer_bytes + batch_bytes(r)) + o->cache_bytes;
  uint32_t tables = count_tables(r);
  uint32_t mapped = o->random_access ? ts_leveldb_advise(r->folder) : 0;
  ts_text_add(text,
              " medium=leveldb library=%d.%d path=%s cache=%llu write_buffer=%llu bloom_bits=%u block=%llu file=%llu "
              "compression=%s random_access=%d tables=%u advised=%u memory=%llu excess=%llu discarded=%d",
              r->api.major_version(), r->api.minor_version(), r->folder, (unsigned long long)o->cache_bytes,
              (unsigned long long)o->write_buffer_bytes, o->bloom_bits, (unsigned long long)o->block_bytes,
              (unsigned long long)o->file_bytes, o->compression == 0 ? "none" : "snappy", o->random_access, tables,
              mapped,
              (unsigned long long)memory, (unsigned long long)(memory > charged ? memory - charged : 0), r->discarded);
}

const ts_records_ops ts_leveldb_records = {
    .type = "LEVELDB",
    .place = "SSD",
    .read_options = leveldb_read_options,
    .probe = leveldb_probe,
    .open = leveldb_open,
    .close = leveldb_close,
    .put = leveldb_put,
    .get = leveldb_get,
    .contains = leveldb_contains,
    .remove = leveldb_remove,
    .walk = leveldb_walk,
    .flush = leveldb_flush,
    .count = leveldb_count,
    .describe = leveldb_describe,
};
