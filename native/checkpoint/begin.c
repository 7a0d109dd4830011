/* begin.c - the cut, its blocks on their way into a file, and the commit. */
#include "base/control.h"
#include "checkpoint/checkpoint.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static_assert(sizeof(ts_cut_before) == sizeof(ts_before_entry) && sizeof(ts_cut_waiting) == sizeof(ts_waiting_entry) &&
                  sizeof(ts_cut_place) == sizeof(ts_map_head),
              "entries of a cut are those of the file");
static_assert((int)TS_CUT_ABSENT == TS_BEFORE_ABSENT && (int)TS_CUT_ROW == TS_BEFORE_ROW && (int)TS_CUT_WAITS == TS_BEFORE_WAITING,
              "and what they say, too");
static_assert(sizeof(ts_checkpoint_origin) <= TS_ORIGIN_BYTES, "a store has room for its origin");

struct ts_checkpoint {
  ts_store *store;
  ts_checkpoint_writer *writer; /* NULL: it was committed, or given up */
  ts_cut *cut;                  /* NULL: the same */
  ts_manifest lines;
  ts_checkpoint_part part; /* no functions: none */
  ts_checkpoint_origin *point; /* of a restore point: what the next one descends from; NULL: it is none */
  bool shared;                 /* one of several ranks' */
  uint32_t share;              /* of which: its number; and once it is written, what it is */
  ts_checkpoint_share written;
  int32_t status; /* what became of writing a share, for whoever commits: a failure ... */
  char words[512]; /* ... in words */
};

void ts_checkpoint_add_part(ts_checkpoint *c, ts_checkpoint_part part) { c->part = part; }

static void free_part(ts_checkpoint *c) {
  if (c->part.free != NULL) c->part.free(c->part.context);
  c->part = (ts_checkpoint_part){0};
}

static int32_t append(void *context, ts_cut_part part, uint32_t table, uint32_t count, const void *bytes, uint64_t n, ts_err err) {
  static const ts_block_kind kinds[] = {TS_BLOCK_ROWS, TS_BLOCK_BEFORE, TS_BLOCK_WAITING, TS_BLOCK_FILTER, TS_BLOCK_MAP};
  const ts_checkpoint *c = context;
  return ts_checkpoint_append(c->writer, kinds[part], table, count, bytes, n, err);
}

static void table_lines(ts_checkpoint *c, uint32_t i) {
  const ts_cut_table_state t = ts_cut_table_state_of(c->cut, i);
  char key[64];
#define LINE(name, ...) (snprintf(key, sizeof key, "table.%u." name, i), ts_manifest_put(&c->lines, key, __VA_ARGS__))
  LINE("name", "%s", t.name);
  LINE("options", "%s", t.options);
  LINE("updates", "%llu", (unsigned long long)t.updates);
  LINE("rows", "%llu", (unsigned long long)t.rows);
  LINE("learning_rate", "%.9g", (double)t.learning_rate); /* nine digits tell every float */
  LINE("row_bytes", "%u", t.layout->stride);
  LINE("dtype", "%s", ts_row_type_names[t.layout->type]);
  LINE("dim", "%u", t.layout->dim);
  LINE("slots", "%u", t.layout->slots);
  LINE("weight_bytes", "%u", t.layout->weight_bytes);
  LINE("slot_bytes", "%u", t.layout->slot_bytes);
  LINE("scalar_offset", "%u", t.layout->scalar_offset);
  LINE("frequency_offset", "%u", t.layout->frequency_offset);
  LINE("version_offset", "%u", t.layout->version_offset);
  if (t.changes_log2 > 0) LINE("changes_log2", "%u", t.changes_log2);
#undef LINE
}

static void store_lines(ts_checkpoint *c) {
  const ts_cut_state s = ts_cut_state_of(c->cut);
  ts_manifest_put(&c->lines, "seed", "%llu", (unsigned long long)c->store->seed);
  ts_manifest_put(&c->lines, "step", "%lld", (long long)s.step);
  ts_manifest_put(&c->lines, "step_set", "%d", s.stepped);
  ts_manifest_put(&c->lines, "tables", "%u", s.tables);
  for (uint32_t i = 0; i < s.tables; i++) table_lines(c, i);
}

enum { FULL, DELTA, AUTO };

/* The data file. *delta tells what it came to: of auto what is cheaper. */
static int32_t open_writer(ts_checkpoint *c, const char *path, uint32_t kind, bool *delta, ts_err err) {
  const ts_store *store = c->store;
  ts_checkpoint_origin origin;
  memcpy(&origin, store->origin, sizeof origin);
  if (kind == DELTA && !store->track_changes)
    return ts_fail(err, TS_EINVAL, "Cannot begin a delta in %s: the store does not keep what changes; open it with track_changes=1", path);
  *delta = kind != FULL && store->track_changes;
  return kind == AUTO ? ts_checkpoint_writer_open_cheaper(store->disk, path, delta, &origin, &c->writer, err)
                      : ts_checkpoint_writer_open(store->disk, path, *delta, &origin, &c->writer, err);
}

static void give_up(ts_checkpoint *c) {
  ts_cut_end(c->cut, false);
  ts_checkpoint_abandon(c->writer);
  c->cut = NULL;
  c->writer = NULL;
}

static void destroy(ts_checkpoint *c) {
  give_up(c);
  free_part(c);
  ts_manifest_free(&c->lines);
  free(c);
}

typedef struct asked {
  const char *path;
  uint32_t kind;
} asked;

static int32_t read_options(const ts_store *store, const ts_config *config, asked *out, ts_err err) {
  static const char *const kinds[] = {"full", "delta", "auto", NULL};
  ts_config_reader r = ts_config_read(config, "checkpoint", err);
  out->path = ts_config_text(&r, "path", NULL);
  out->kind = ts_config_choice(&r, "kind", "auto", kinds);
  if (ts_config_finish(&r) != TS_OK) return r.status;
  if (out->path == NULL || out->path[0] == '\0')
    return ts_fail(err, TS_EINVAL, "Cannot begin a checkpoint: option \"path\" is required, a folder");
  if (strcmp(store->storage, "NULL") == 0)
    return ts_fail(err, TS_EUNSUPPORTED, "Cannot begin a checkpoint: storage NULL keeps no rows");
  return TS_OK;
}

/* Makes the cut of a checkpoint whose writer `status` tells of, and hands it out, or destroys it. */
static int32_t cut(ts_checkpoint *c, bool delta, int32_t status, ts_checkpoint **out, ts_err err) {
  if (status == TS_OK) status = ts_cut_begin(c->store, delta, append, c, &c->cut, err);
  if (status == TS_OK) {
    store_lines(c);
    if (c->lines.failed) status = ts_fail(err, TS_ENOMEM, "Cannot begin a checkpoint: out of memory");
  }
  if (status != TS_OK) {
    destroy(c);
    return status;
  }
  *out = c;
  return TS_OK;
}

int32_t ts_checkpoint_begin(ts_store *store, const ts_config *config, ts_checkpoint **out, char *err_text, uint32_t err_cap) {
  const ts_err err = {err_text, err_cap};
  asked what;
  int32_t status = ts_store_check(store, "begin a checkpoint", err);
  if (status == TS_OK && out == NULL) status = ts_fail(err, TS_EINVAL, "Cannot begin a checkpoint: the output is NULL");
  if (status != TS_OK) return status;
  *out = NULL;
  status = read_options(store, config, &what, err);
  if (status != TS_OK) return status;
  ts_checkpoint *c = calloc(1, sizeof *c);
  if (c == NULL) return ts_fail(err, TS_ENOMEM, "Cannot begin a checkpoint: out of memory");
  c->store = store;
  bool delta = false;
  status = open_writer(c, what.path, what.kind, &delta, err);
  return cut(c, delta, status, out, err);
}

int32_t ts_checkpoint_begin_share(ts_store *store, const ts_config *config, uint32_t number, uint32_t share, ts_checkpoint **out,
                                  ts_err err) {
  asked what;
  *out = NULL;
  int32_t status = read_options(store, config, &what, err);
  if (status == TS_OK && what.kind == DELTA)
    status = ts_fail(err, TS_EUNSUPPORTED, "Cannot begin a delta in %s: over several ranks checkpoints are full; leave kind out", what.path);
  if (status != TS_OK) return status;
  ts_checkpoint *c = calloc(1, sizeof *c);
  if (c == NULL) return ts_fail(err, TS_ENOMEM, "Cannot begin a checkpoint: out of memory");
  *c = (ts_checkpoint){.store = store, .shared = true, .share = share};
  bool delta = false;
  status = share == 0 ? open_writer(c, what.path, FULL, &delta, err)
                      : ts_checkpoint_share_open(store->disk, what.path, number, share, &c->writer, err);
  return cut(c, false, status, out, err);
}

int32_t ts_point_begin(ts_store *store, const char *path, uint32_t least, ts_checkpoint_origin *origin, ts_checkpoint **out,
                       ts_err err) {
  ts_checkpoint *c = calloc(1, sizeof *c);
  if (c == NULL) return ts_fail(err, TS_ENOMEM, "Cannot begin a restore point: out of memory");
  c->store = store;
  c->point = origin;
  int32_t status = ts_checkpoint_writer_open_from(store->disk, path, least, origin, &c->writer, err);
  if (status == TS_OK) status = ts_cut_begin_in_place(store, ts_checkpoint_number(c->writer), append, c, &c->cut, err);
  if (status == TS_OK) {
    store_lines(c);
    if (c->lines.failed) status = ts_fail(err, TS_ENOMEM, "Cannot begin a restore point: out of memory");
  }
  if (status != TS_OK) {
    destroy(c);
    return status;
  }
  *out = c;
  return TS_OK;
}

uint32_t ts_checkpoint_begun_number(const ts_checkpoint *c) { return ts_checkpoint_number(c->writer); }

/* The kept tier's part, before the manifest is there. */
static int32_t complete(ts_checkpoint *c, ts_err err) {
  uint8_t id[TS_CHECKPOINT_ID];
  ts_checkpoint_identity(c->writer, id);
  return ts_kept_complete(c->cut, id, sizeof id, err);
}

bool ts_checkpoint_is_written(const ts_checkpoint *c) { return c->cut == NULL; }

int32_t ts_checkpoint_share_written(const ts_checkpoint *c, ts_checkpoint_share *out, ts_err err) {
  if (!c->shared) return ts_fail(err, TS_EINVAL, "Cannot commit the checkpoint: it is not one of ranks; writing made it durable");
  if (c->status != TS_OK) return ts_fail(err, c->status, "%s", c->words);
  if (c->writer == NULL || c->cut != NULL) return ts_fail(err, TS_EINVAL, "Cannot commit the checkpoint: it is not written, or was committed");
  *out = c->written;
  return TS_OK;
}

uint64_t ts_checkpoint_table_updates(const ts_checkpoint *c, uint32_t table) {
  char key[64];
  uint64_t updates = 0;
  snprintf(key, sizeof key, "table.%u.updates", table);
  ts_manifest_u64(&c->lines, key, &updates);
  return updates;
}

int32_t ts_checkpoint_commit_shares(ts_checkpoint *c, const ts_checkpoint_share *shares, uint32_t count, const uint64_t *updates,
                                    uint32_t tables, ts_err err) {
  ts_checkpoint_origin origin;
  ts_checkpoint_writer *writer = c->writer;
  if (c->share > 0) {
    ts_checkpoint_share_leave(writer);
    c->writer = NULL;
    return TS_OK;
  }
  for (uint32_t i = 0; i < tables; i++) {
    char key[64];
    snprintf(key, sizeof key, "table.%u.updates", i);
    ts_manifest_put(&c->lines, key, "%llu", (unsigned long long)updates[i]);
  }
  int32_t status = ts_checkpoint_add_shares(writer, shares, count, err);
  if (status == TS_OK) {
    c->writer = NULL;
    status = ts_checkpoint_commit(writer, &c->lines, &origin, err);
  }
  return status;
}

/* All but the manifest of a share's checkpoint. */
static int32_t write_cut(ts_checkpoint *c, uint64_t *control, ts_err err) {
  int32_t status = c->part.write != NULL ? c->part.write(c->part.context, c->writer, &c->lines, err) : TS_OK;
  free_part(c);
  if (status == TS_OK) status = ts_cut_write(c->cut, control, err);
  if (status == TS_OK && c->lines.failed) status = ts_fail(err, TS_ENOMEM, "Cannot write a checkpoint: out of memory");
  if (status == TS_OK && c->point != NULL) status = complete(c, err);
  if (status == TS_OK && c->shared) status = ts_checkpoint_share_end(c->writer, &c->written, err);
  if (status != TS_OK) give_up(c);
  return status;
}

/* A share is on the disk; whether it becomes part of a checkpoint the commit says. No delta has what comes after. */
static int32_t write_share(ts_checkpoint *c, uint64_t *control, ts_err err) {
  c->status = write_cut(c, control, (ts_err){c->words, sizeof c->words});
  if (c->status != TS_OK) return ts_fail(err, c->status, "%s", c->words);
  memset(c->store->origin, 0, sizeof c->store->origin);
  ts_cut_end(c->cut, false);
  c->cut = NULL;
  ts_control_finish(control);
  return TS_OK;
}

int32_t ts_checkpoint_write(ts_checkpoint *c, uint64_t *control, char *err_text, uint32_t err_cap) {
  const ts_err err = {err_text, err_cap};
  if (c == NULL) return ts_fail(err, TS_EINVAL, "Cannot write a checkpoint: it is NULL");
  int32_t status = ts_store_check(c->store, "write a checkpoint", err);
  if (status != TS_OK) return status;
  if (c->cut == NULL) return ts_fail(err, TS_EINVAL, "Cannot write a checkpoint: it was written before, or could not be");
  if (c->shared) return write_share(c, control, err);
  status = write_cut(c, control, err);
  if (status != TS_OK) return status;
  ts_checkpoint_origin origin = {0};
  status = ts_checkpoint_commit(c->writer, &c->lines, &origin, err);
  c->writer = NULL;
  if (status == TS_OK && c->point != NULL) *c->point = origin;
  else if (status == TS_OK) memcpy(c->store->origin, &origin, sizeof origin);
  /* Whether the manifest of a point that failed here may come back after a crash is not known: the tables keep theirs. */
  ts_cut_end(c->cut, status == TS_OK || c->point != NULL);
  c->cut = NULL;
  if (status == TS_OK) ts_control_finish(control);
  return status;
}

int32_t ts_checkpoint_close(ts_checkpoint *c) {
  if (c == NULL || ts_store_check(c->store, "close a checkpoint", (ts_err){NULL, 0}) != TS_OK) return TS_OK; /* the parent's */
  destroy(c);
  return TS_OK;
}
