/* library.h - the functions of LevelDB's C interface that the tier uses, found at run time. */
#ifndef TS_LEVELDB_LIBRARY_H
#define TS_LEVELDB_LIBRARY_H

#include "base/base.h"

/* Of leveldb/c.h 1.23: opaque types as void, booleans as uint8_t. */
typedef struct ts_leveldb_api {
  void *(*open)(const void *options, const char *name, char **error);
  void (*close)(void *db);
  void (*write)(void *db, const void *options, void *batch, char **error);
  char *(*get)(void *db, const void *options, const char *key, size_t key_bytes, size_t *bytes, char **error);
  char *(*property_value)(void *db, const char *name);
  void (*compact_range)(void *db, const char *start, size_t start_bytes, const char *limit, size_t limit_bytes);
  void (*destroy_db)(const void *options, const char *name, char **error);
  void *(*create_iterator)(void *db, const void *options);
  void (*iter_destroy)(void *iterator);
  uint8_t (*iter_valid)(const void *iterator);
  void (*iter_seek)(void *iterator, const char *key, size_t bytes);
  void (*iter_seek_to_first)(void *iterator);
  void (*iter_next)(void *iterator);
  const char *(*iter_key)(const void *iterator, size_t *bytes);
  const char *(*iter_value)(const void *iterator, size_t *bytes);
  void (*iter_get_error)(const void *iterator, char **error);
  void *(*writebatch_create)(void);
  void (*writebatch_destroy)(void *batch);
  void (*writebatch_clear)(void *batch);
  void (*writebatch_put)(void *batch, const char *key, size_t key_bytes, const char *value, size_t bytes);
  void (*writebatch_delete)(void *batch, const char *key, size_t key_bytes);
  void *(*options_create)(void);
  void (*options_destroy)(void *options);
  void (*options_set_filter_policy)(void *options, void *policy);
  void (*options_set_create_if_missing)(void *options, uint8_t yes);
  void (*options_set_paranoid_checks)(void *options, uint8_t yes);
  void (*options_set_write_buffer_size)(void *options, size_t bytes);
  void (*options_set_max_open_files)(void *options, int files);
  void (*options_set_cache)(void *options, void *cache);
  void (*options_set_block_size)(void *options, size_t bytes);
  void (*options_set_max_file_size)(void *options, size_t bytes);
  void (*options_set_compression)(void *options, int compression);
  void *(*filterpolicy_create_bloom)(int bits);
  void (*filterpolicy_destroy)(void *policy);
  void *(*readoptions_create)(void);
  void (*readoptions_destroy)(void *options);
  void (*readoptions_set_verify_checksums)(void *options, uint8_t yes);
  void (*readoptions_set_fill_cache)(void *options, uint8_t yes);
  void *(*writeoptions_create)(void);
  void (*writeoptions_destroy)(void *options);
  void (*writeoptions_set_sync)(void *options, uint8_t yes);
  void *(*cache_create_lru)(size_t bytes);
  void (*cache_destroy)(void *cache);
  void (*free)(void *memory);
  int (*major_version)(void);
  int (*minor_version)(void);
} ts_leveldb_api;

/* Errors: TS_EUNAVAILABLE, also in a process that was forked from one that had a database open. */
int32_t ts_leveldb_open_library(ts_leveldb_api *api, ts_err err);
void ts_leveldb_used(void); /* before a database is opened */

#endif
