/* open.c - finds, opens, closes and removes a table's database. */
#include "tiers/leveldb/database.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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

int32_t ts_leveldb_probe(const char *directory, ts_err err) {
  ts_leveldb_api api;
  int32_t status = ts_leveldb_open_library(&api, err);
  return status == TS_OK ? check_directory(directory, err) : status;
}

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
  const ts_leveldb_options *o = &r->options;
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
  ts_leveldb_used();
  r->db = r->api.open(r->db_options, r->folder, &words);
  return words == NULL ? TS_OK : ts_leveldb_failed(r, err, "open", words);
}

static int32_t remove_database(ts_records *r, ts_err err) {
  char *words = NULL;
  if (r->db != NULL) r->api.close(r->db);
  r->db = NULL;
  r->api.destroy_db(r->db_options, r->folder, &words);
  return words == NULL ? TS_OK : ts_leveldb_failed(r, err, "remove", words);
}

static int32_t is_empty(ts_records *r, bool *empty, ts_err err) {
  char *words = NULL;
  void *all = r->api.create_iterator(r->db, r->read_once);
  r->api.iter_seek_to_first(all);
  *empty = !r->api.iter_valid(all);
  r->api.iter_get_error(all, &words);
  r->api.iter_destroy(all);
  return words == NULL ? TS_OK : ts_leveldb_failed(r, err, "open", words);
}

int32_t ts_leveldb_open_again(ts_records *r, ts_err err) {
  pthread_rwlock_wrlock(&r->open);
  if (r->db != NULL) {
    uint64_t read, written;
    ts_leveldb_traffic(r, &read, &written);
    r->read_before += read;
    r->written_before += written;
    r->api.close(r->db);
    r->db = NULL;
  }
  const int32_t status = open_database(r, err);
  pthread_rwlock_unlock(&r->open);
  ts_leveldb_measure(&r->space);
  if (status == TS_OK) r->space.first_manifest = r->space.manifest;
  return status;
}

int32_t ts_leveldb_use(const ts_records *r, ts_err err) {
  pthread_rwlock_rdlock((pthread_rwlock_t *)(uintptr_t)&r->open);
  if (r->db != NULL) return TS_OK;
  ts_leveldb_unuse(r);
  return ts_fail(err, TS_EIO, "Cannot read the LevelDB database \"%s\": it was closed to begin a new manifest, and opening it again has failed; the next write tries it",
                 r->folder);
}

void ts_leveldb_unuse(const ts_records *r) { pthread_rwlock_unlock((pthread_rwlock_t *)(uintptr_t)&r->open); }

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
  pthread_rwlock_destroy(&r->open);
  free(r->value);
  free(r);
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
  r->value = malloc(TS_LEVELDB_VERSION_BYTES + r->row_bytes);
  if (r->value == NULL) return ts_fail(err, TS_ENOMEM, "Cannot open the LEVELDB tier: out of memory");
  make_options(r);
  bool marked = false, empty = false, refused = false;
  status = open_database(r, err);
  if (status == TS_OK) status = ts_leveldb_take_mark(r, &marked, err);
  if (status == TS_OK && !marked) {
    status = is_empty(r, &empty, err);
    if (status == TS_OK && !empty) {
      r->discarded = true;
      status = remove_database(r, err);
      if (status == TS_OK) status = open_database(r, err);
    }
  }
  if (status != TS_OK) return status;
  r->api.options_set_create_if_missing(r->db_options, 0); /* from here on a database that is not there is an error */
  ts_leveldb_measure(&r->space);
  r->space.first_manifest = r->space.manifest;
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
  if (marked) ts_leveldb_write_mark(r, (ts_err){0});
  return status;
}

int32_t ts_leveldb_open(const ts_records_options *options, ts_records **out, ts_err err) {
  *out = NULL;
  ts_records *r = calloc(1, sizeof *r);
  if (r == NULL) return ts_fail(err, TS_ENOMEM, "Cannot open the LEVELDB tier: out of memory");
  if (options->options != NULL)
    r->options = *(const ts_leveldb_options *)options->options;
  else
    r->options = (ts_leveldb_options){UINT64_MAX, UINT64_MAX, 4096, UINT64_MAX, UINT64_MAX, 10, 0, true};
  ts_leveldb_derive(&r->options, options->budget, options->dram);
  r->row_bytes = options->row_bytes;
  /* Key, version and row; 24 bytes for lengths, sequence numbers and restarts. */
  r->space = (ts_leveldb_space){.budget = options->budget,
                                .dram = options->dram,
                                .folder = r->folder,
                                .record_bytes = TS_LEVELDB_KEY_BYTES + TS_LEVELDB_VERSION_BYTES +
                                                (uint64_t)options->row_bytes + 24};
  ts_leveldb_plan_memory(r);
  pthread_mutex_init(&r->lock, NULL);
  /* Reads that come one after the other must not keep a writer waiting for ever. */
  pthread_rwlockattr_t fair;
  pthread_rwlockattr_init(&fair);
  pthread_rwlockattr_setkind_np(&fair, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
  pthread_rwlock_init(&r->open, &fair);
  pthread_rwlockattr_destroy(&fair);
  atomic_flag_clear(&r->looking);
  r->pause_ns = TS_LEVELDB_LOOK_EVERY_NS;
  int32_t status = start(r, options, err);
  if (status == TS_OK)
    *out = r;
  else
    dismantle(r);
  return status;
}

void ts_leveldb_close(ts_records *r, bool keep) {
  if (r == NULL) return;
  ts_err nobody = {0};
  if (!keep)
    remove_database(r, nobody);
  else if (r->db != NULL || ts_leveldb_open_again(r, nobody) == TS_OK)
    ts_leveldb_write_mark(r, nobody);
  for (uint64_t i = r->space.budget->rows_only ? atomic_load(&r->rows) : 0; i > 0; i--)
    ts_budget_give_back_row(r->space.budget, r->row_bytes);
  dismantle(r);
}
