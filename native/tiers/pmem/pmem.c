/* pmem.c - the table as the store sees it: opening and closing, counters, description. */
#include "tiers/pmem/table.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The index as dense as that of other tiers of records: at most 16 bytes a row from 80 % of the slots on. */
#define INDEX_FULL 96
#define INDEX_FRESH 88

static int32_t read_options(ts_config_reader *reader, void **options) {
  *options = NULL;
  return reader->status;
}

static int32_t probe(const char *directory, ts_err err) {
  const ts_libpmem *library;
  const int32_t status = ts_libpmem_load(&library, err);
  if (status != TS_OK) return status;
  if (access(directory, R_OK | W_OK | X_OK) == 0) return TS_OK;
  return ts_fail(err, TS_EIO, "Cannot use PMEM in %s: files cannot be made there: %s", directory, strerror(errno));
}

/* The index may use the headroom, and what the store has borrowed: rows can only move down, and free memory, when it knows
 * them. */
static bool charge_index(void *context, int64_t bytes) {
  ts_pm_table *t = context;
  if (bytes >= 0) return ts_budget_take_lent(t->dram, TS_PURPOSE_INDEX, (uint64_t)bytes);
  ts_budget_give_back(t->dram, TS_PURPOSE_INDEX, (uint64_t)-bytes);
  return true;
}

/* Makes and locks the folder. */
static int32_t open_folder(ts_pm_table *t, const char *directory, ts_err err) {
  char path[TS_PM_PATH];
  const int n = snprintf(path, sizeof path, "%s/%016llx.pmem", directory, (unsigned long long)t->name_hash);
  if (n < 0 || n >= (int)sizeof path)
    return ts_fail(err, TS_EINVAL, "Cannot open the PMEM table \"%s\": its path has more than %u bytes", t->name, TS_PM_PATH - 1);
  t->directory = strdup(path);
  if (t->directory == NULL) return ts_fail(err, TS_ENOMEM, "Cannot open the PMEM table \"%s\": out of memory", t->name);
  int error = t->disk->make_folder(t->disk, path);
  /* Also one that was there: who made it may not have come so far. */
  if (error == 0 || error == -EEXIST) error = t->disk->sync_folder(t->disk, directory);
  if (error != 0) return ts_disk_fail(err, "create folder", path, error);
  t->folder = t->disk->lock_folder(t->disk, path);
  if (t->folder >= 0) return TS_OK;
  if (t->folder == -EWOULDBLOCK)
    return ts_fail(err, TS_EIO, "Cannot open the folder %s of table \"%s\": another store has it open; give each store a path of its own", path,
                   t->name);
  return ts_disk_fail(err, "lock folder", path, t->folder);
}

static void free_table(ts_pm_table *t) {
  if (t->folder >= 0) t->disk->close(t->disk, t->folder);
  pthread_rwlock_destroy(&t->lock);
  pthread_mutex_destroy(&t->cutting);
  free(t->segments);
  free(t->staging);
  free(t->note);
  free(t->layout);
  free(t->directory);
  free(t->name);
  free(t);
}

static void close_table(ts_records *records, bool keep) {
  ts_pm_table *t = (ts_pm_table *)records;
  if (t == NULL) return;
  for (; t->rows_paid > 0; t->rows_paid--) ts_budget_give_back_row(t->budget, t->row_bytes);
  for (uint32_t i = t->segment_count; i-- > 0;) {
    char path[TS_PM_PATH];
    t->pmem->close(t->pmem, &t->segments[i].map);
    if (!keep && ts_pm_path(t, i, path, (ts_err){0}) == TS_OK) t->pmem->unlink(t->pmem, path);
  }
  if (!keep && t->disk == &ts_disk_system) rmdir(t->directory);
  ts_budget_give_back(t->budget, TS_PURPOSE_ROWS, t->medium_bytes);
  ts_budget_give_back(t->dram, TS_PURPOSE_BUFFERS, t->place_bytes);
  ts_index_destroy(&t->index);
  free_table(t);
}

static int32_t no_memory(const char *table, ts_err err) {
  return ts_fail(err, TS_ENOMEM, "Cannot open the PMEM table \"%s\": out of memory", table);
}

/* All but the files. */
static int32_t make(const ts_records_options *o, ts_pm_table *t, ts_err err) {
  pthread_rwlockattr_t attributes;
  pthread_rwlockattr_init(&attributes);
  /* Puts do not wait for ever while others read. */
  pthread_rwlockattr_setkind_np(&attributes, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
  pthread_rwlock_init(&t->lock, &attributes);
  pthread_rwlockattr_destroy(&attributes);
  pthread_mutex_init(&t->cutting, NULL);
  t->name = strdup(o->table);
  t->layout_words = o->layout_words;
  t->layout = malloc((size_t)o->layout_words * 8 + 1);
  t->row_bytes = o->row_bytes;
  t->place_bytes = (uint32_t)TS_ROUND_UP((uint64_t)sizeof(ts_pm_head) + o->row_bytes, 64);
  t->staging = malloc(t->place_bytes);
  if (t->name == NULL || t->layout == NULL || t->staging == NULL) return no_memory(o->table, err);
  if (o->layout_words > 0) memcpy(t->layout, o->layout, (size_t)o->layout_words * 8);
  t->temporary = o->temporary;
  t->budget = o->budget;
  t->dram = o->dram;
  t->disk = o->disk != NULL ? o->disk : &ts_disk_system;
  t->pmem = o->pmem != NULL ? o->pmem : &ts_pmem_system;
  t->name_hash = ts_hash_bytes(t->name, strlen(t->name), 0);
  t->pool = ts_mix64(ts_now_ns() ^ ts_mix64((uintptr_t)t ^ (uint64_t)getpid()));
  t->epoch = t->timeline = 1;
  const int32_t opened = open_folder(t, o->directory, err);
  if (opened != TS_OK) return opened;
  if (!ts_budget_take_first(t->dram, TS_PURPOSE_BUFFERS, t->place_bytes))
    return ts_fail(err, TS_EFULL, "Cannot open the PMEM table \"%s\": no DRAM for a row; raise the first size", o->table);
  /* Its growth must fit what is left of the headroom, or no row could be moved down to make room; see ssdhash.c. */
  uint64_t segment = o->dram->headroom / 16;
  if (segment < 4 * TS_INDEX_BLOCK) segment = TS_MIN(segment, TS_INDEX_BLOCK - 64);
  const ts_index_options index = {.epochs = o->epochs,
                                  .blocks = o->blocks,
                                  .charge = charge_index,
                                  .charge_context = t,
                                  .full = INDEX_FULL,
                                  .fresh = INDEX_FRESH,
                                  .segment_bytes = segment};
  const int32_t status = ts_index_init(&t->index, &index);
  if (status == TS_OK) return TS_OK;
  ts_budget_give_back(t->dram, TS_PURPOSE_BUFFERS, t->place_bytes);
  return ts_fail(err, status, "Cannot open the PMEM table \"%s\": no DRAM for its index; raise the first size", o->table);
}

/* Where rows alone count, those that were recovered do. */
static int32_t pay_rows(ts_pm_table *t, ts_err err) {
  const uint64_t rows = ts_index_live(&t->index);
  while (t->rows_paid < rows && ts_budget_take_row(t->budget, t->row_bytes)) t->rows_paid++;
  if (t->rows_paid == rows) return TS_OK;
  return ts_fail(err, TS_EFULL, "Cannot open the PMEM table \"%s\": its %llu rows do not fit the tier's %llu bytes; raise the size", t->name,
                 (unsigned long long)rows, (unsigned long long)t->budget->limit);
}

static int32_t open_table(const ts_records_options *options, ts_records **out, ts_err err) {
  const ts_libpmem *library;
  if (options->row_bytes < 4 || options->row_bytes > UINT32_MAX / 4)
    return ts_fail(err, TS_EINVAL, "Cannot open the PMEM table \"%s\": rows of %u bytes; 4 to 2^30 are wanted", options->table, options->row_bytes);
  if (options->layout_words > TS_PM_LAYOUT_WORDS)
    return ts_fail(err, TS_EINVAL, "Cannot open the PMEM table \"%s\": a layout of %u words; at most %u are taken", options->table,
                   options->layout_words, TS_PM_LAYOUT_WORDS);
  int32_t status = options->pmem == NULL ? ts_libpmem_load(&library, err) : TS_OK;
  if (status != TS_OK) return status;
  ts_pm_table *t = calloc(1, sizeof *t);
  if (t == NULL) return no_memory(options->table, err);
  t->folder = -1;
  status = make(options, t, err);
  if (status != TS_OK) {
    free_table(t);
    return status;
  }
  status = ts_pm_recover(t, options->at, options->looks, options->control, err);
  if (status == TS_OK) status = pay_rows(t, err);
  if (status != TS_OK) {
    close_table((ts_records *)t, true);
    return status;
  }
  *out = (ts_records *)t;
  return TS_OK;
}

/* Puts are drained when they return; only a checkpoint is made durable. */
static int32_t flush(ts_records *records, ts_err err) {
  (void)records, (void)err;
  return TS_OK;
}

static void count(ts_records *records, ts_records_counts *out) {
  ts_pm_table *t = (ts_pm_table *)records;
  pthread_rwlock_rdlock(&t->lock);
  *out = (ts_records_counts){.rows = ts_index_live(&t->index),
                             .medium_bytes = t->medium_bytes,
                             .bytes_read = atomic_load(&t->bytes_read),
                             .bytes_written = t->bytes_written,
                             .reads = atomic_load(&t->reads),
                             .writes = t->copies,
                             .payload_written = t->payload_written,
                             .retained = t->retained};
  pthread_rwlock_unlock(&t->lock);
}

static void describe(const ts_records *records, ts_text *text) {
  ts_pm_table *t = (ts_pm_table *)(uintptr_t)records;
  char cuts[192];
  pthread_rwlock_rdlock(&t->lock);
  ts_pmem_describe(t->segment_count > 0 && t->segments[0].map.is_pmem, ts_file_system(t->directory), text);
  ts_text_add(text, " files=%u place=%u folder=%s", t->segment_count, t->place_bytes, t->directory);
  ts_pm_say_cuts(t, true, cuts, sizeof cuts);
  if (cuts[0] != '\0') ts_text_add(text, " checkpoints=%s", cuts);
  if (ts_pm_is_pending(t)) ts_text_add(text, " begun=%llu", (unsigned long long)t->cuts[t->cut_count - 1].cut.number);
  pthread_rwlock_unlock(&t->lock);
}

const ts_records_ops ts_pmem_records = {
    .type = "PMEM_LIBPMEM",
    .place = "PMEM",
    .read_options = read_options,
    .probe = probe,
    .open = open_table,
    .close = close_table,
    .put = ts_pm_put,
    .get = ts_pm_get,
    .contains = ts_pm_contains,
    .remove = ts_pm_remove,
    .walk = ts_pm_walk_some,
    .flush = flush,
    .count = count,
    .describe = describe,
    .cuts = &ts_pm_cuts,
};
