/* restore.c - a chain, up to one of its checkpoints, brought back into a store: its tables are made where they are missing, and
 * refilled from the newest link to the oldest (merge.h). */
#include "base/control.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/lanes.h"
#include "checkpoint/merge.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct restore {
  ts_store *store;
  const ts_restore_part *part;
  uint64_t *control;
  ts_checkpoint_reader *reader;
  ts_refill *refill;
  const ts_manifest *lines;
  uint32_t tables;
  uint32_t *numbers; /* [tables] in the store, of those of the checkpoint */
  atomic_bool warms; /* pages are had ready for its rows */
} restore;

static int32_t lacks(const char *what, ts_err err) {
  return ts_fail(err, TS_EFORMAT, "Cannot restore a store: the checkpoint's manifest does not say its %s", what);
}

static const char *table_line(const restore *r, uint32_t i, const char *name) {
  char key[64];
  snprintf(key, sizeof key, "table.%u.%s", i, name);
  return ts_manifest_get(r->lines, key);
}

/* ---- tables ---- */

static int32_t create(restore *r, const char *name, const char *options, uint32_t *number, ts_err err) {
  ts_config *config = NULL;
  int32_t status = ts_config_create(&config);
  if (status == TS_OK) status = ts_config_set(config, "name", name, err.text, err.cap);
  for (const char *at = options; status == TS_OK && *at != '\0';) {
    const char *end = strchr(at, '\n'), *is = memchr(at, '=', strlen(at));
    char key[128], value[256];
    if (end == NULL || is == NULL || is > end || (size_t)(is - at) >= sizeof key || (size_t)(end - is) > sizeof value) {
      status = lacks("tables' options in a form that can be read", err);
      break;
    }
    snprintf(key, sizeof key, "%.*s", (int)(is - at), at);
    snprintf(value, sizeof value, "%.*s", (int)(end - is - 1), is + 1);
    status = ts_config_set(config, key, value, err.text, err.cap);
    at = end + 1;
  }
  if (status == TS_OK) status = ts_table_create(r->store, config, number, err.text, err.cap);
  ts_config_free(config);
  return status;
}

/* The store's table for table i of the checkpoint. */
static int32_t find_table(restore *r, uint32_t i, ts_err err) {
  const char *name = table_line(r, i, "name"), *options = table_line(r, i, "options"), *bytes = table_line(r, i, "row_bytes");
  int32_t status = TS_OK;
  if (name == NULL || options == NULL || bytes == NULL) return lacks("tables", err);
  if (ts_table_named(r->store, name, &r->numbers[i], NULL, 0) == TS_OK) {
    const ts_table *table = r->store->tables[r->numbers[i]];
    status = ts_table_same_options("restore", name, table->options, "the store", options, "the checkpoint", err);
  } else {
    status = create(r, name, options, &r->numbers[i], err);
  }
  if (status == TS_OK && strtoull(bytes, NULL, 10) != r->store->tables[r->numbers[i]]->layout.stride)
    status = ts_fail(err, TS_EFORMAT, "Cannot restore table \"%s\": its rows have %s bytes in the checkpoint and %u here", name, bytes,
                     r->store->tables[r->numbers[i]]->layout.stride);
  return status;
}

/* ---- blocks ---- */

/* Moves the entries whose keys this store is to have to the front of the payload, which is the reader's memory and not read
 * again. Every entry begins with its key. */
static int32_t choose(const restore *r, ts_checkpoint_block *block, ts_err err) {
  if (block->kind == TS_BLOCK_FILTER)
    return ts_fail(err, TS_EUNSUPPORTED, "Cannot restore over ranks: table \"%s\" has a Bloom filter, whose counters cannot be taken apart",
                   r->store->tables[r->numbers[block->table]]->name);
  const uint64_t each = block->count == 0 ? 0 : block->bytes / block->count;
  if (block->count != 0 && (each < sizeof(int64_t) || each * block->count != block->bytes))
    return lacks("blocks' entries, which do not fit their length", err);
  unsigned char *payload = (unsigned char *)block->payload;
  uint32_t kept = 0;
  for (uint32_t i = 0; i < block->count; i++) {
    int64_t key;
    memcpy(&key, payload + i * each, sizeof key);
    if (!r->part->keeps(r->part->context, r->numbers[block->table], key)) continue;
    if (kept != i) memcpy(payload + kept * each, payload + i * each, each);
    kept++;
  }
  block->count = kept;
  block->bytes = kept * each;
  return TS_OK;
}

static int32_t take_block(void *context, ts_checkpoint_block *block, ts_err err) {
  restore *r = context;
  static const int parts[] = {[TS_BLOCK_ROWS] = TS_CUT_ROWS, [TS_BLOCK_BEFORE] = TS_CUT_BEFORE, [TS_BLOCK_WAITING] = TS_CUT_WAITING,
                              [TS_BLOCK_FILTER] = TS_CUT_FILTER};
  if (ts_control_cancelled(r->control)) return ts_fail(err, TS_ECANCELLED, "Cannot restore a store: it was cancelled");
  if (block->kind == TS_BLOCK_STATE) return TS_OK;
  if (block->table >= r->tables) return lacks("every table that its blocks are of", err);
  /* From the first block on: what is read before that waits for the medium, and a busy thread would make it wait for a CPU, too. */
  if (!atomic_exchange_explicit(&r->warms, true, memory_order_relaxed)) ts_refill_warm(r->refill);
  if (r->part != NULL && r->part->keeps != NULL) {
    const int32_t status = choose(r, block, err);
    if (status != TS_OK || block->count == 0) return status;
  }
  return ts_refill_part(r->refill, (ts_cut_part)parts[block->kind], r->numbers[block->table], block->count, block->payload, block->bytes,
                        err);
}

/* A full checkpoint into a store that holds all rows alike, and has none: nothing hangs on the order in which they
 * come. */
static bool may_split(const restore *r) {
  return (r->part == NULL || r->part->keeps == NULL) && ts_checkpoint_links(r->reader) == 1 && ts_refill_any_order(r->refill);
}

static int32_t take_links(restore *r, ts_err err) {
  ts_checkpoint_merge *merge = NULL;
  ts_checkpoint_block block;
  bool there = true, done = false;
  if (may_split(r)) {
    const uint32_t lanes = ts_lanes_for(ts_checkpoint_link_bytes(r->reader, 0));
    const int32_t status = ts_checkpoint_lanes(r->reader, lanes, take_block, r, r->control, &done, err);
    if (status != TS_OK || done) return status;
  }
  ts_checkpoint_count_in(r->reader, r->control);
  int32_t status = ts_checkpoint_merge_open(r->reader, &merge, err);
  while (status == TS_OK && there) {
    status = ts_checkpoint_merge_link(merge, &there, err);
    if (status != TS_OK || !there) break;
    /* The rows, then over them what they were at the cut. */
    for (block.kind = TS_BLOCK_ROWS; status == TS_OK && block.kind != TS_BLOCK_END;) {
      status = ts_checkpoint_merge_next(merge, &block, err);
      if (status == TS_OK && block.kind != TS_BLOCK_END && block.kind != TS_BLOCK_BEFORE) status = take_block(r, &block, err);
    }
    for (block.kind = TS_BLOCK_ROWS; status == TS_OK && block.kind != TS_BLOCK_END;) {
      status = ts_checkpoint_merge_previous_before(merge, &block, err);
      if (status == TS_OK && block.kind != TS_BLOCK_END) status = take_block(r, &block, err);
    }
  }
  ts_checkpoint_merge_close(merge);
  return status;
}

/* ---- the whole ---- */

static int32_t check_manifest(restore *r, ts_err err) {
  uint64_t seed, tables;
  r->lines = ts_checkpoint_link_manifest(r->reader, 0);
  if (!ts_manifest_u64(r->lines, "seed", &seed)) return lacks("seed", err);
  if (!ts_manifest_u64(r->lines, "tables", &tables) || tables > TS_MAX_TABLES) return lacks("tables", err);
  if (seed != r->store->seed)
    return ts_fail(err, TS_EINVAL, "Cannot restore a store: its seed is %llu, that of the checkpoint %llu; open it with that one",
                   (unsigned long long)r->store->seed, (unsigned long long)seed);
  r->tables = (uint32_t)tables;
  r->numbers = calloc(TS_MAX(r->tables, 1u), sizeof *r->numbers);
  return r->numbers == NULL ? ts_fail(err, TS_ENOMEM, "Cannot restore a store: out of memory") : TS_OK;
}

/* Step and tables, before rows. */
static int32_t prepare(restore *r, ts_err err) {
  uint64_t step, set;
  if (!ts_manifest_u64(r->lines, "step", &step) || step > INT64_MAX || !ts_manifest_u64(r->lines, "step_set", &set)) return lacks("step", err);
  ts_refill_state(r->refill, (int64_t)step, set == 1);
  int32_t status = TS_OK;
  for (uint32_t i = 0; status == TS_OK && i < r->tables; i++) status = find_table(r, i, err);
  return status;
}

/* Room for the rows that the checkpoint says it has; no more than its files can hold. */
static void expect_rows(restore *r) {
  const uint64_t bytes = ts_checkpoint_reader_bytes(r->reader);
  if (r->part != NULL && r->part->keeps != NULL) return; /* a share of them */
  for (uint32_t i = 0; i < r->tables; i++) {
    const char *rows = table_line(r, i, "rows");
    const uint64_t most = bytes / r->store->tables[r->numbers[i]]->layout.stride;
    if (rows != NULL) ts_refill_expect(r->refill, r->numbers[i], TS_MIN(strtoull(rows, NULL, 10), most));
  }
}

/* What tables have beside their rows. */
static int32_t finish(restore *r, ts_err err) {
  bool tracks = true;
  for (uint32_t i = 0; i < r->tables; i++) {
    const char *updates = table_line(r, i, "updates"), *rate = table_line(r, i, "learning_rate"),
               *log2 = table_line(r, i, "changes_log2");
    if (updates == NULL || rate == NULL) return lacks("tables' updates and learning rates", err);
    ts_refill_table_state(r->refill, r->numbers[i], strtoull(updates, NULL, 10), strtof(rate, NULL));
    /* Maps of a chain are of one size. */
    if (log2 != NULL && !ts_tracking_resize(r->store->tables[r->numbers[i]], (uint32_t)strtoul(log2, NULL, 10))) tracks = false;
  }
  if (r->part != NULL && r->part->load != NULL) {
    const int32_t status = r->part->load(r->part->context, err);
    if (status != TS_OK) return status;
  }
  ts_checkpoint_origin origin = ts_checkpoint_reader_origin(r->reader);
  memset(r->store->origin, 0, sizeof r->store->origin);
  if (tracks) memcpy(r->store->origin, &origin, sizeof origin); /* else the next one is a full one */
  return TS_OK;
}

int32_t ts_checkpoint_restore(ts_store *store, const ts_config *config, const ts_restore_part *part, uint64_t *control, ts_err err) {
  int32_t status = ts_store_check(store, "restore a store", err);
  if (status != TS_OK) return status;
  ts_config_reader c = ts_config_read(config, "checkpoint", err);
  const char *path = ts_config_text(&c, "path", NULL);
  const uint32_t number = (uint32_t)ts_config_u64(&c, "number", 0, 0, UINT32_MAX);
  if (ts_config_finish(&c) != TS_OK) return c.status;
  if (path == NULL || path[0] == '\0') return ts_fail(err, TS_EINVAL, "Cannot restore a store: option \"path\" is required, a folder");
  restore r = {.store = store, .part = part, .control = control};
  status = ts_checkpoint_reader_open(store->disk, path, number, &r.reader, err);
  if (status != TS_OK) return status;
  ts_control_start(control, ts_checkpoint_reader_bytes(r.reader));
  status = check_manifest(&r, err);
  if (status == TS_OK && part != NULL && part->check != NULL) status = part->check(part->context, r.reader, err);
  if (status == TS_OK) status = ts_refill_begin(store, &r.refill, err);
  if (status == TS_OK) {
    status = prepare(&r, err);
    if (status == TS_OK) expect_rows(&r);
    if (status == TS_OK) status = take_links(&r, err);
    if (status == TS_OK) status = finish(&r, err);
    ts_refill_end(r.refill, status == TS_OK);
  }
  free(r.numbers);
  ts_checkpoint_reader_close(r.reader);
  if (status == TS_OK) ts_control_finish(control);
  return status;
}

/* What each table keeps with its checkpoint in place says which point it is of. */
static int32_t check_notes(const restore *r, const ts_checkpoint_origin *origin, uint32_t number, ts_err err) {
  for (uint32_t i = 0; i < r->tables; i++) {
    const ts_table *table = r->store->tables[r->numbers[i]];
    const ts_kept kept = ts_table_kept(table);
    uint32_t bytes = 0;
    const void *note = kept.cuts->note(kept.state, &bytes);
    if (bytes != TS_CHECKPOINT_ID || memcmp(note, origin->id, TS_CHECKPOINT_ID) != 0)
      return ts_fail(err, TS_EFORMAT, "Cannot take up restore point %u: checkpoint %u of table \"%s\" is of another one; its files are "
                     "not of this store", number, number, table->name);
  }
  return TS_OK;
}

/* Opens the tables of a point; looks: as far as it takes to know that they can be. */
static int32_t open_tables(restore *r, uint32_t number, bool looks, const ts_checkpoint_origin *origin, ts_err err) {
  ts_store *store = r->store;
  ts_refill_over(r->refill);
  store->opens_at = number;
  store->opens_to_look = looks;
  store->opens_control = r->control;
  int32_t status = prepare(r, err);
  store->opens_at = 0;
  store->opens_to_look = false;
  store->opens_control = NULL;
  if (status == TS_OK) status = check_notes(r, origin, number, err);
  return status;
}

static int32_t take_up(ts_store *store, const char *path, uint32_t number, bool looks, uint64_t *control,
                       ts_checkpoint_origin *origin, ts_err err) {
  restore r = {.store = store, .control = control};
  int32_t status = ts_checkpoint_reader_open(store->disk, path, number, &r.reader, err);
  if (status != TS_OK) return status;
  ts_control_more(control, ts_checkpoint_link_bytes(r.reader, 0));
  *origin = ts_checkpoint_reader_origin(r.reader);
  status = check_manifest(&r, err);
  if (status == TS_OK) status = ts_refill_begin(store, &r.refill, err);
  if (status == TS_OK) {
    status = open_tables(&r, number, looks, origin, err);
    if (status == TS_OK) status = looks ? ts_checkpoint_read_through(r.reader, 0, control, err) : take_links(&r, err);
    if (status == TS_OK && !looks) status = finish(&r, err);
    memset(store->origin, 0, sizeof store->origin); /* no delta has what came before */
    ts_refill_end(r.refill, status == TS_OK && !looks);
  }
  free(r.numbers);
  ts_checkpoint_reader_close(r.reader);
  return status;
}

int32_t ts_point_look(ts_store *store, const char *path, uint32_t number, uint64_t *control, ts_err err) {
  ts_checkpoint_origin origin;
  return take_up(store, path, number, true, control, &origin, err);
}

int32_t ts_point_take_up(ts_store *store, const char *path, uint32_t number, uint64_t *control, ts_checkpoint_origin *origin,
                         ts_err err) {
  return take_up(store, path, number, false, control, origin, err);
}

int32_t ts_store_restore(ts_store *store, const ts_config *config, uint64_t *control, char *err, uint32_t err_cap) {
  return ts_checkpoint_restore(store, config, NULL, control, (ts_err){err, err_cap});
}
