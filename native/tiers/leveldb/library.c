/* library.c - the functions of LevelDB's C interface that the tier uses, by dlopen.
 *
 * LevelDB has one background thread for all databases of a process and starts it once. A process that was forked after
 * that has no such thread, and LevelDB does not know: whoever waits for it waits for ever. So such a child is refused. */
#include "base/owner.h"
#include "tiers/leveldb/library.h"

static ts_first_user first_user = TS_FIRST_USER;

void ts_leveldb_used(void) { ts_first_user_note(&first_user); }

int32_t ts_leveldb_open_library(ts_leveldb_api *api, ts_err err) {
  static const char *const sonames[] = {"libleveldb.so.1d", "libleveldb.so.1", NULL};
  void *handle;
  int32_t status = ts_library_open(sonames, "libleveldb1d", &handle, err);
  if (status != TS_OK) return status;
  status = ts_first_user_check(&first_user, "LevelDB", err);
  if (status != TS_OK) return status;
#define SYMBOL(name) {"leveldb_" #name, (void **)&api->name}
  const ts_symbol symbols[] = {
      SYMBOL(open), SYMBOL(close), SYMBOL(write), SYMBOL(get), SYMBOL(property_value), SYMBOL(compact_range),
      SYMBOL(destroy_db), SYMBOL(create_iterator), SYMBOL(iter_destroy), SYMBOL(iter_valid), SYMBOL(iter_seek),
      SYMBOL(iter_seek_to_first), SYMBOL(iter_next), SYMBOL(iter_key), SYMBOL(iter_value), SYMBOL(iter_get_error),
      SYMBOL(writebatch_create), SYMBOL(writebatch_destroy), SYMBOL(writebatch_clear), SYMBOL(writebatch_put),
      SYMBOL(writebatch_delete), SYMBOL(options_create), SYMBOL(options_destroy), SYMBOL(options_set_filter_policy),
      SYMBOL(options_set_create_if_missing), SYMBOL(options_set_paranoid_checks), SYMBOL(options_set_write_buffer_size),
      SYMBOL(options_set_max_open_files), SYMBOL(options_set_cache), SYMBOL(options_set_block_size),
      SYMBOL(options_set_max_file_size), SYMBOL(options_set_compression), SYMBOL(filterpolicy_create_bloom),
      SYMBOL(filterpolicy_destroy), SYMBOL(readoptions_create), SYMBOL(readoptions_destroy),
      SYMBOL(readoptions_set_verify_checksums), SYMBOL(readoptions_set_fill_cache), SYMBOL(writeoptions_create),
      SYMBOL(writeoptions_destroy), SYMBOL(writeoptions_set_sync), SYMBOL(cache_create_lru), SYMBOL(cache_destroy),
      SYMBOL(free), SYMBOL(major_version), SYMBOL(minor_version),
      {NULL, NULL},
  };
#undef SYMBOL
  return ts_library_symbols(handle, sonames[0], symbols, err);
}
