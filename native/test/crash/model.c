/* model.c - see model.h. */
#include "test/crash/model.h"

#include "checkpoint/merge.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

uint64_t model_random(model *m, uint64_t below) {
  m->random = ts_mix64(m->random + 0x9e3779b97f4a7c15u);
  return m->random % below;
}

/* Negative, zero and extreme keys are ordinary ones. */
static int64_t key_of(uint32_t index) {
  return index == 0 ? INT64_MIN : index == 1 ? INT64_MAX : (int64_t)index - 40;
}

static uint32_t index_of(int64_t key) {
  if (key == INT64_MIN) return 0;
  if (key == INT64_MAX) return 1;
  return key >= -38 && key < (int64_t)MODEL_KEYS - 40 ? (uint32_t)(key + 40) : MODEL_KEYS;
}

void model_begin(model *m, uint64_t seed) {
  *m = (model){.random = seed};
  for (int i = 0; i < 4; i++) model_train(m);
}

static void note(model *m, uint32_t table, uint32_t index) {
  m->changed[table] |= UINT64_C(1) << ts_checkpoint_slot(key_of(index), MODEL_SLOTS_LOG2);
}

static void change(model *m, uint32_t table, uint32_t index) {
  model_cell *cell = &m->cells[table][index];
  note(m, table, index);
  switch (model_random(m, 5)) {
    case 0: *cell = (model_cell){0}; break;
    case 1: *cell = (model_cell){.what = TS_BEFORE_WAITING, .waiting = 1 + cell->waiting, .step = m->step}; break;
    default:
      *cell = (model_cell){.what = TS_BEFORE_ROW};
      for (uint32_t i = 0; i < MODEL_ROW; i++) cell->row[i] = (unsigned char)model_random(m, 256);
  }
}

void model_train(model *m) {
  m->step++;
  for (uint64_t n = 2 + model_random(m, 10); n > 0; n--)
    change(m, (uint32_t)model_random(m, MODEL_TABLES), (uint32_t)model_random(m, MODEL_KEYS));
  m->filter[model_random(m, 8)] |= UINT64_C(1) << model_random(m, 64);
  m->state[model_random(m, MODEL_STATE)] = (unsigned char)model_random(m, 256);
}

uint64_t model_digest(const model *m) {
  uint64_t h = ts_hash_bytes(m->cells, sizeof m->cells, m->step);
  h = ts_hash_bytes(m->filter, sizeof m->filter, h);
  return ts_hash_bytes(m->state, sizeof m->state, h);
}

/* ---- writing ---- */

typedef struct entries {
  unsigned char bytes[MODEL_KEYS * (sizeof(ts_before_entry) + MODEL_ROW)];
  uint64_t used;
  uint32_t count;
} entries;

static void add(entries *e, const void *bytes, uint64_t n) {
  memcpy(e->bytes + e->used, bytes, n);
  e->used += n;
}

static int32_t append(ts_checkpoint_writer *w, ts_block_kind kind, uint32_t table, entries *e, ts_err err) {
  const int32_t status =
      e->count == 0 ? TS_OK : ts_checkpoint_append(w, kind, table, e->count, e->bytes, e->used, err);
  e->used = e->count = 0;
  return status;
}

/* Trains on, with what each key was before it changes in a block of BEFORE; some keys come twice. */
static int32_t train_beside(model *m, ts_checkpoint_writer *w, ts_err err) {
  int32_t status = TS_OK;
  for (uint64_t n = model_random(m, 4); status == TS_OK && n > 0; n--) {
    entries e = {.used = 0};
    const uint32_t table = (uint32_t)model_random(m, MODEL_TABLES);
    for (uint64_t k = 1 + model_random(m, 3); k > 0; k--) {
      const uint32_t index = (uint32_t)model_random(m, MODEL_KEYS);
      const model_cell *cell = &m->cells[table][index];
      const ts_before_entry before = {key_of(index), cell->what, cell->waiting, cell->step};
      add(&e, &before, sizeof before);
      add(&e, cell->row, MODEL_ROW);
      e.count++;
      change(m, table, index);
    }
    status = append(w, TS_BLOCK_BEFORE, table, &e, err);
  }
  return status;
}

/* Rows and counts of a table, as they are when the walk comes to them. */
static int32_t walk(model *m, ts_checkpoint_writer *w, uint32_t table, const uint64_t *map, ts_err err) {
  entries rows = {.used = 0}, waiting = {.used = 0};
  int32_t status = TS_OK;
  for (uint32_t i = 0; status == TS_OK && i < MODEL_KEYS; i++) {
    const model_cell *cell = &m->cells[table][i];
    const int64_t key = key_of(i);
    const bool wanted = map == NULL || (*map >> ts_checkpoint_slot(key, MODEL_SLOTS_LOG2) & 1) != 0;
    if (wanted && cell->what == TS_BEFORE_ROW) {
      add(&rows, &key, sizeof key);
      add(&rows, cell->row, MODEL_ROW);
      rows.count++;
    } else if (wanted && cell->what == TS_BEFORE_WAITING) {
      const ts_waiting_entry entry = {key, cell->waiting, 0, cell->step};
      add(&waiting, &entry, sizeof entry);
      waiting.count++;
    }
    if (i % 32 != 31) continue;
    status = append(w, TS_BLOCK_ROWS, table, &rows, err);
    if (status == TS_OK) status = append(w, TS_BLOCK_WAITING, table, &waiting, err);
    if (status == TS_OK) status = train_beside(m, w, err);
  }
  return status;
}

static int32_t write_all(model *m, ts_checkpoint_writer *w, const model *cut, bool delta, ts_err err) {
  int32_t status = train_beside(m, w, err);
  for (uint32_t t = 0; status == TS_OK && t < MODEL_TABLES; t++) {
    struct {
      ts_map_head head;
      uint64_t word;
    } map = {{.slots_log2 = MODEL_SLOTS_LOG2}, cut->changed[t]};
    status = ts_checkpoint_append(w, TS_BLOCK_FILTER, t, 4, cut->filter + 4 * t, 32, err);
    if (status == TS_OK && delta) status = ts_checkpoint_append(w, TS_BLOCK_MAP, t, 1, &map, sizeof map, err);
    if (status == TS_OK) status = walk(m, w, t, delta ? &cut->changed[t] : NULL, err);
  }
  for (uint32_t at = 0; status == TS_OK && at < MODEL_STATE; at += 200)
    status = ts_checkpoint_append(w, TS_BLOCK_STATE, 0, 1, cut->state + at, TS_MIN(200u, MODEL_STATE - at), err);
  return status;
}

int32_t model_checkpoint(model *m, const ts_disk_ops *disk, const char *path, bool delta,
                         void (*before_commit)(void *context, uint64_t digest), void *context, ts_err err) {
  ts_checkpoint_writer *w;
  int32_t status = ts_checkpoint_writer_open(disk, path, delta, &m->origin, &w, err);
  if (status != TS_OK) return status;
  const model cut = *m;
  memset(m->changed, 0, sizeof m->changed);
  status = write_all(m, w, &cut, delta, err);
  if (status == TS_OK) {
    ts_manifest own = {0};
    ts_manifest_put(&own, "step", "%llu", (unsigned long long)cut.step);
    if (before_commit != NULL) before_commit(context, model_digest(&cut));
    status = ts_checkpoint_commit(w, &own, &m->origin, err);
    ts_manifest_free(&own);
  } else {
    ts_checkpoint_abandon(w);
  }
  for (uint32_t t = 0; status != TS_OK && t < MODEL_TABLES; t++) m->changed[t] |= cut.changed[t];
  return status;
}

/* ---- restoring ---- */

typedef struct restored {
  model *m;
  uint64_t filters, states;
} restored;

static int32_t wrong(const char *what, ts_err err) { return ts_fail(err, TS_EFORMAT, "The checkpoint has %s", what); }

static int32_t take(restored *r, const ts_checkpoint_block *b, ts_err err) {
  model *m = r->m;
  const unsigned char *at = b->payload;
  if (b->kind == TS_BLOCK_STATE) {
    if (b->bytes > MODEL_STATE - r->states) return wrong("more named bytes than there were", err);
    memcpy(m->state + r->states, at, b->bytes);
    r->states += b->bytes;
    return TS_OK;
  }
  if (b->table >= MODEL_TABLES) return wrong("a table that was not there", err);
  if (b->kind == TS_BLOCK_FILTER) {
    if (b->bytes != 32) return wrong("another filter than there was", err);
    memcpy(m->filter + 4 * b->table, at, 32);
    r->filters++;
    return TS_OK;
  }
  const uint64_t each = b->bytes / b->count;
  const uint64_t right = b->kind == TS_BLOCK_ROWS ? sizeof(int64_t) + MODEL_ROW
                         : b->kind == TS_BLOCK_WAITING ? sizeof(ts_waiting_entry) : sizeof(ts_before_entry) + MODEL_ROW;
  if (each != right) return wrong("entries of another length than were written", err);
  for (uint32_t i = 0; i < b->count; i++, at += each) {
    int64_t key;
    memcpy(&key, at, sizeof key);
    const uint32_t index = index_of(key);
    if (index == MODEL_KEYS) return wrong("a key that was not there", err);
    model_cell cell = {0};
    if (b->kind == TS_BLOCK_ROWS) {
      cell.what = TS_BEFORE_ROW;
      memcpy(cell.row, at + sizeof key, MODEL_ROW);
    } else if (b->kind == TS_BLOCK_WAITING) {
      ts_waiting_entry entry;
      memcpy(&entry, at, sizeof entry);
      cell = (model_cell){.what = TS_BEFORE_WAITING, .waiting = entry.count, .step = entry.step};
    } else {
      ts_before_entry entry;
      memcpy(&entry, at, sizeof entry);
      cell = (model_cell){.what = entry.what, .waiting = entry.waiting, .step = entry.step};
      memcpy(cell.row, at + sizeof entry, MODEL_ROW);
    }
    m->cells[b->table][index] = cell;
  }
  return TS_OK;
}

/* BEFORE entries count in the order of the file, the first of a key most; so they are applied from the last to the first. */
static int32_t take_backwards(restored *r, const ts_checkpoint_block *b, ts_err err) {
  const uint64_t each = b->bytes / b->count;
  int32_t status = TS_OK;
  for (uint32_t i = b->count; status == TS_OK && i-- > 0;) {
    const ts_checkpoint_block one = {.kind = b->kind, .table = b->table, .count = 1, .bytes = each, .payload = b->payload + i * each};
    status = take(r, &one, err);
  }
  return status;
}

static int32_t take_link(restored *r, ts_checkpoint_merge *merge, ts_err err) {
  ts_checkpoint_block block;
  int32_t status;
  /* Forwards, where BEFORE is passed over; then BEFORE backwards. */
  while ((status = ts_checkpoint_merge_next(merge, &block, err)) == TS_OK && block.kind != TS_BLOCK_END)
    if (block.kind != TS_BLOCK_BEFORE && (status = take(r, &block, err)) != TS_OK) return status;
  while (status == TS_OK && (status = ts_checkpoint_merge_previous_before(merge, &block, err)) == TS_OK &&
         block.kind != TS_BLOCK_END)
    status = take_backwards(r, &block, err);
  return status;
}

int32_t model_restore(model *m, const ts_disk_ops *disk, const char *path, uint32_t number, ts_err err) {
  ts_checkpoint_reader *reader;
  ts_checkpoint_merge *merge;
  int32_t status = ts_checkpoint_reader_open(disk, path, number, &reader, err);
  if (status != TS_OK) return status;
  model back = {.random = m->random, .origin = ts_checkpoint_reader_origin(reader)};
  restored r = {.m = &back};
  if (!ts_manifest_u64(ts_checkpoint_link_manifest(reader, 0), "step", &back.step)) status = wrong("no step", err);
  if (status == TS_OK) status = ts_checkpoint_merge_open(reader, &merge, err);
  if (status == TS_OK) {
    for (bool there = true; status == TS_OK && there;) {
      status = ts_checkpoint_merge_link(merge, &there, err);
      if (status == TS_OK && there) status = take_link(&r, merge, err);
    }
    ts_checkpoint_merge_close(merge);
  }
  ts_checkpoint_reader_close(reader);
  if (status == TS_OK && (r.filters != MODEL_TABLES || r.states != MODEL_STATE)) status = wrong("parts that are missing", err);
  if (status == TS_OK) *m = back;
  return status;
}
