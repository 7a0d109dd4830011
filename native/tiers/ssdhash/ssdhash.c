/* ssdhash.c - the tier as the store sees it: options, opening and closing, counters, description. */
#include "tiers/ssdhash/table.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* The index as dense as its segments allow: at most 16 bytes a row from 80 % of the slots on. */
#define INDEX_FULL 96
#define INDEX_FRESH 88

static int32_t read_options(ts_config_reader *reader, void **options) {
  static const char *const io[] = {"auto", "io_uring", "pread", NULL};
  static const char *const direct[] = {"auto", "direct", "buffered", NULL};
  ts_ssdhash_options *o = calloc(1, sizeof *o);
  if (o == NULL) return ts_fail(reader->err, TS_ENOMEM, "Cannot read the ssdhash.* options: out of memory");
  uint64_t async = 0;
  const char *environment = getenv("TF_SSDHASH_ASYNC_COMPACTION");
  if (environment != NULL && environment[0] != '\0' && !ts_config_has(reader->config, "ssdhash.async_compaction")) {
    if (strcmp(environment, "1") == 0 || strcmp(environment, "true") == 0) {
      async = 1;
    } else if (strcmp(environment, "0") != 0 && strcmp(environment, "false") != 0 && reader->status == TS_OK) {
      reader->status = ts_fail(
          reader->err, TS_EINVAL,
          "Cannot open %s: TF_SSDHASH_ASYNC_COMPACTION is \"%s\" in the environment; 0, 1, false or true is wanted",
          reader->what, environment);
    }
  }
  o->settings.file_bytes = ts_config_u64(reader, "ssdhash.file_bytes", 0, 0, UINT64_C(1) << 40);
  o->settings.buffer_bytes = ts_config_u64(reader, "ssdhash.buffer_bytes", 0, 0, UINT64_C(64) << 20);
  o->settings.depth = (uint32_t)ts_config_u64(reader, "ssdhash.depth", 128, 1, 4096);
  o->settings.garbage_percent = (uint32_t)ts_config_u64(reader, "ssdhash.garbage_percent", 48, 5, 95);
  o->settings.async_compaction = (uint32_t)ts_config_u64(reader, "ssdhash.async_compaction", async, 0, 1);
  o->settings.io = ts_config_choice(reader, "ssdhash.io", "auto", io);
  o->settings.direct = ts_config_choice(reader, "ssdhash.direct", "auto", direct);
  if (reader->status != TS_OK) {
    free(o);
    return reader->status;
  }
  o->shared.lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
  o->shared.returned = o->shared.last_returned = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
  *options = o;
  return TS_OK;
}

static int32_t probe(const char *directory, ts_err err) {
  char reason[128], path[4096];
  if (snprintf(path, sizeof path, "%s/.ssdhash-probe-XXXXXX", directory) >= (int)sizeof path)
    return ts_fail(err, TS_EINVAL, "Cannot use SSDHASH: the path has more than %zu bytes", sizeof path);
  int fd = mkstemp(path);
  if (fd < 0)
    return ts_fail(err, TS_EIO, "Cannot use SSDHASH in %s: a file cannot be made there: %s", directory,
                   strerror_r(errno, reason, sizeof reason));
  close(fd);
  unlink(path);
  return TS_OK;
}

/* The index may use the headroom, and what the store has borrowed: rows can only move down, and free memory, when it knows
 * them. */
static bool charge_index(void *context, int64_t bytes) {
  ts_ssd_table *t = context;
  if (bytes >= 0) return ts_budget_take_lent(t->dram, TS_PURPOSE_INDEX, (uint64_t)bytes);
  ts_budget_give_back(t->dram, TS_PURPOSE_INDEX, (uint64_t)-bytes);
  return true;
}

/* Sizes of files and buffers, from the options and the limits. */
static int32_t sizes(ts_ssd_table *t, ts_err err) {
  ts_ssd_layout layouts[3];
  uint64_t record = 0;
  for (uint32_t i = 0; i < 3; i++)
    if (!ts_ssd_layout_make(t->row_bytes, i * 4, &layouts[i]))
      return ts_fail(err, TS_EINVAL,
                     "Cannot open the SSDHASH table \"%s\": rows of %u bytes are longer than a file's page can be",
                     t->table, t->row_bytes);
  record = layouts[0].record_bytes;
  t->largest_file =
      t->options.file_bytes > 0 ? t->options.file_bytes : TS_MAX(t->budget->limit / 128, UINT64_C(64) << 10);
  /* Locations number records below 7 << 33; 4096 files of the largest kind must fit. */
  t->largest_file = TS_MIN(t->largest_file, ((UINT64_C(7) << TS_LOCATION_ROW_BITS) >> 13) * record);
  t->buffer_bytes = t->options.buffer_bytes;
  if (t->buffer_bytes == 0) {
    const uint64_t part = t->dram->rows_only ? UINT64_MAX : TS_MAX(t->dram->limit / 4096, UINT64_C(16) << 10);
    t->buffer_bytes = TS_MIN(part, UINT64_C(256) << 10);
    t->buffer_bytes = TS_MIN(t->buffer_bytes, TS_MAX(t->largest_file / 4, TS_SSD_BLOCK));
  }
  uint64_t most = 0;
  for (uint32_t i = 0; i < 3; i++) {
    uint64_t records = ts_ssd_chunk_records(t, &layouts[i]);
    t->chunk_memory = TS_MAX(t->chunk_memory, ts_ssd_extent(&layouts[i], (uint32_t)records));
    uint64_t chunks = TS_MAX(1, t->largest_file / (records / layouts[i].page_records * layouts[i].page_bytes));
    most = TS_MAX(most, chunks * records);
  }
  while (t->shift < 32 && (UINT64_C(1) << t->shift) < most) t->shift++;
  t->max_files = UINT32_MAX / 2; /* files that are there may be larger; recovery sets it */
  return TS_OK;
}

/* What a read takes: at most a 512th of the DRAM limit, down to 16 reads in flight; never more than 4 MiB. A limit of
 * rows alone says nothing about buffers. */
static void read_sizes(ts_ssd_table *t) {
  ts_ssd_layout layout;
  ts_ssd_layout_make(t->row_bytes, 8, &layout);
  /* The longest read of one record: it may begin anywhere in a block. */
  t->slot_bytes = (uint32_t)TS_ROUND_UP((uint64_t)layout.record_bytes + t->block - 1, t->block);
  t->depth = t->io_uring ? t->options.depth : 1;
  t->batch = TS_SSD_BATCH;
  while (t->depth > 1 && (uint64_t)t->depth * t->slot_bytes > (4u << 20)) t->depth /= 2;
  while (!t->dram->rows_only && t->batch > 256 &&
         (uint64_t)t->depth * t->slot_bytes + (uint64_t)t->batch * 72 > t->dram->limit / 512) {
    t->depth = t->depth > 16 ? TS_MAX(16, t->depth / 2) : t->depth;
    t->batch /= 2;
  }
}

static void stop_thread(ts_ssd_table *t) {
  if (!t->has_thread) return;
  pthread_mutex_lock(&t->state);
  t->stop = true;
  pthread_cond_signal(&t->work);
  pthread_mutex_unlock(&t->state);
  pthread_join(t->thread, NULL);
  t->has_thread = false;
}

static void dispose(ts_ssd_table *t, bool remove_files) {
  stop_thread(t);
  if (t->ring_writes || t->write_ring.fd >= 0) ts_ring_close(&t->write_ring);
  ts_ssd_streams_free(t);
  ts_ssd_leave(t);
  for (uint32_t id = 0; id < t->file_slots; id++)
    if (t->files[id] != NULL) ts_ssd_file_drop(t, t->files[id], remove_files || (t->files[id]->state == TS_SSD_DOOMED && !t->durable));
  free(t->files);
  ts_ssd_ballast_remove(t);
  for (uint32_t i = 0; remove_files && i < t->cut_count; i++)
    if (t->cuts[i].complete) ts_ssd_image_remove(t, t->cuts[i].number, (ts_err){0});
  if (t->medium_bytes + t->reserve > 0) ts_budget_give_back(t->budget, TS_PURPOSE_ROWS, t->medium_bytes + t->reserve);
  if (remove_files && t->folder_lock >= 0) {
    char path[TS_SSD_PATH];
    t->disk->unlink(t->disk, ts_ssd_path(t, TS_SSD_MAP_NAME, path));
    t->disk->unlink(t->disk, ts_ssd_path(t, TS_SSD_MAP_NEW, path));
    t->disk->remove_folder(t->disk, t->folder);
  }
  if (t->folder_lock >= 0) t->disk->close(t->disk, t->folder_lock);
  if (t->budget->rows_only)
    for (uint64_t rows = t->rows_paid ? ts_index_live(&t->index) : 0; rows > 0; rows--)
      ts_budget_give_back_row(t->budget, t->row_bytes);
  ts_index_destroy(&t->index);
  pthread_mutex_destroy(&t->compacting);
  pthread_mutex_destroy(&t->append);
  pthread_mutex_destroy(&t->state);
  pthread_cond_destroy(&t->freed);
  pthread_cond_destroy(&t->work);
  free(t->folder);
  free(t->table);
  free(t->layout);
  free(t->note);
  free(t);
}

static int32_t open_table(const ts_records_options *options, ts_records **out, ts_err err) {
  if (options->row_bytes < 4)
    return ts_fail(err, TS_EINVAL, "Cannot open the SSDHASH table \"%s\": rows of %u bytes; at least 4 are wanted",
                   options->table, options->row_bytes);
  ts_ssd_table *t = calloc(1, sizeof *t);
  if (t != NULL) t->table = strdup(options->table);
  if (t == NULL || t->table == NULL) {
    free(t);
    return ts_fail(err, TS_ENOMEM, "Cannot open the SSDHASH table \"%s\": out of memory", options->table);
  }
  t->options = ((const ts_ssdhash_options *)options->options)->settings;
  t->shared = &((ts_ssdhash_options *)options->options)->shared;
  t->row_bytes = options->row_bytes;
  t->temporary = options->temporary;
  t->looks = options->looks;
  t->version_bytes = options->versions ? 4 : 0; /* wider from the 2^32nd step on */
  t->at = options->at;
  t->control = options->control;
  t->disk = options->disk != NULL ? options->disk : &ts_disk_system;
  t->layout_words = options->layout_words;
  t->layout = malloc((size_t)t->layout_words * 8 + 1);
  if (t->layout == NULL) {
    free(t->table);
    free(t);
    return ts_fail(err, TS_ENOMEM, "Cannot open the SSDHASH table \"%s\": out of memory", options->table);
  }
  if (t->layout_words > 0) memcpy(t->layout, options->layout, (size_t)t->layout_words * 8);
  t->budget = options->budget;
  t->dram = options->dram;
  t->pieces = ts_blocks_pieces(options->blocks);
  t->name_hash = ts_hash_bytes(t->table, strlen(t->table), 0);
  t->folder_lock = t->write_ring.fd = t->ballast = -1;
  t->next_number = t->sequence = t->appended = 1;
  pthread_mutex_init(&t->compacting, NULL);
  pthread_mutex_init(&t->append, NULL);
  pthread_mutex_init(&t->state, NULL);
  pthread_cond_init(&t->freed, NULL);
  pthread_cond_init(&t->work, NULL);
  /* Its growth must fit what is left of the headroom, or no row could be moved down to make room. Segments of a few
   * blocks would grow by a whole one: below four they have just less than one, which takes what it needs. */
  uint64_t segment = options->dram->headroom / 16;
  if (segment < 4 * TS_INDEX_BLOCK) segment = TS_MIN(segment, TS_INDEX_BLOCK - 64);
  ts_index_options index = {.epochs = options->epochs,
                            .blocks = options->blocks,
                            .charge = charge_index,
                            .charge_context = t,
                            .full = INDEX_FULL,
                            .fresh = INDEX_FRESH,
                            .segment_bytes = segment};
  int32_t status = ts_index_init(&t->index, &index);
  if (status != TS_OK) {
    status = ts_fail(err, status, "Cannot open the SSDHASH table \"%s\": no DRAM for its index; raise the first size",
                     t->table);
    free(t->layout);
    free(t->table);
    free(t);
    return status;
  }
  ts_ssd_join(t);
  status = sizes(t, err);
  if (status == TS_OK) status = ts_ssd_folder_open(t, options->directory, err);
  if (status == TS_OK) {
    const bool possible = t->options.io != 2 && t->disk->descriptor(t->disk, t->folder_lock) >= 0;
    int error = possible ? ts_ring_open(&t->write_ring, 8, false) : -ECANCELED;
    t->io_uring = t->ring_writes = error == 0;
    if (error != 0 && t->options.io == 1)
      status = ts_fail(err, TS_EUNAVAILABLE, "Cannot use ssdhash.io=io_uring: the kernel refuses it: %s; use auto",
                       strerror(-error));
    t->why_not_ring = error == 0           ? NULL
                      : t->options.io == 2 ? "asked for"
                      : error == -ENOSYS   ? "the kernel has no io_uring"
                                           : "the kernel refuses io_uring";
  }
  if (status == TS_OK) read_sizes(t);
  if (status == TS_OK) status = ts_ssd_recover(t, err);
  if (status == TS_OK && t->budget->rows_only) {
    uint64_t paid = 0, rows = ts_index_live(&t->index);
    while (paid < rows && ts_budget_take_row(t->budget, t->row_bytes)) paid++;
    t->rows_paid = paid == rows;
    if (!t->rows_paid) {
      while (paid-- > 0) ts_budget_give_back_row(t->budget, t->row_bytes);
      status = ts_fail(err, TS_EFULL, "Cannot open the SSDHASH table \"%s\": its %llu rows do not fit the tier's %llu bytes; raise the size",
                       t->table, (unsigned long long)rows, (unsigned long long)t->budget->limit);
    }
  }
  if (status == TS_OK && t->options.async_compaction && !t->looks) {
    t->has_thread = pthread_create(&t->thread, NULL, ts_ssd_compactor, t) == 0;
    if (!t->has_thread)
      status = ts_fail(err, TS_ENOMEM, "Cannot start the compaction thread of table \"%s\"", t->table);
  }
  if (status != TS_OK) {
    dispose(t, false);
    return status;
  }
  *out = (ts_records *)t;
  return TS_OK;
}

static void close_table(ts_records *records, bool keep) {
  ts_ssd_table *t = (ts_ssd_table *)records;
  if (t == NULL) return;
  stop_thread(t);
  pthread_mutex_lock(&t->append);
  /* Also when the files go: nothing may be in flight when its memory is freed. */
  int32_t status = ts_ssd_write_out(t, (ts_err){0});
  if (keep && status == TS_OK) {
    for (uint32_t s = 0; s < TS_SSD_STREAMS && status == TS_OK; s++) status = ts_ssd_seal_stream(t, s, (ts_err){0});
    ts_ssd_reap(t);
    t->closing = status == TS_OK;
    if (t->cut_count == 0) ts_ssd_write_map(t, (ts_err){0}); /* else it is opened at a checkpoint */
  }
  pthread_mutex_unlock(&t->append);
  dispose(t, !keep);
}

static void count(ts_records *records, ts_records_counts *out) {
  ts_ssd_table *t = (ts_ssd_table *)records;
  pthread_mutex_lock(&t->state);
  *out = (ts_records_counts){.rows = ts_index_live(&t->index),
                             .medium_bytes = t->medium_bytes,
                             .bytes_read = t->bytes_read,
                             .bytes_written = t->bytes_written,
                             .reads = t->reads,
                             .writes = t->writes,
                             .payload_written = t->payload_written,
                             .compactions = t->compactions,
                             .compacted_rows = t->compacted_rows,
                             .retained = t->retained,
                             .retained_rows = t->retained_rows};
  pthread_mutex_unlock(&t->state);
}

static void describe(const ts_records *records, ts_text *text) {
  ts_ssd_table *t = (ts_ssd_table *)(uintptr_t)records;
  pthread_mutex_lock(&t->state);
  uint32_t files = 0;
  for (uint32_t id = 0; id < t->file_slots; id++) files += t->files[id] != NULL;
  ts_text_add(text, " io=%s", t->io_uring ? "io_uring" : "pread");
  if (t->why_not_ring != NULL) ts_text_add(text, " (%s)", t->why_not_ring);
  ts_text_add(text, " access=%s", t->direct ? "direct" : "buffered");
  if (t->why_not_direct != NULL) ts_text_add(text, " (%s)", t->why_not_direct);
  ts_text_add(text, " block=%u depth=%u files=%u folder=%s", t->block, t->depth, files, t->folder);
  for (uint32_t i = 0; i < t->cut_count; i++)
    ts_text_add(text, "%s%llu%s", i == 0 ? " checkpoints=" : ",", (unsigned long long)t->cuts[i].number,
                t->cuts[i].complete ? "" : " (begun)");
  if (t->trouble[0] != '\0') ts_text_add(text, " trouble=\"%s\"", t->trouble);
  pthread_mutex_unlock(&t->state);
}

const ts_records_ops ts_ssdhash_records = {
    .type = "SSDHASH",
    .place = "SSD",
    .read_options = read_options,
    .probe = probe,
    .open = open_table,
    .close = close_table,
    .put = ts_ssd_put,
    .get = ts_ssd_get,
    .contains = ts_ssd_contains,
    .remove = ts_ssd_remove,
    .walk = ts_ssd_walk_some,
    .flush = ts_ssd_flush,
    .count = count,
    .describe = describe,
    .cuts = &ts_ssd_cuts,
    .sweeps = &ts_ssd_sweeps,
};
