/* reader.c - reads a chain of checkpoints: a delta and its parents down to a full one (file.h). */
#include "base/control.h"
#include "base/crc32c.h"
#include "checkpoint/ahead.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of a block: its share, and where in that. */
typedef struct spot {
  uint32_t share;
  uint64_t at;
} spot;

struct ts_checkpoint_reader {
  const ts_disk_ops *disk;
  ts_chain own, *chain;  /* the chain, its own or lent */
  ts_chain_link **links; /* from the one that was asked for to the full one */
  uint32_t count;
  ts_chain_link *link; /* the one that is being read */
  ts_block_cursor cursor; /* the thread's while there is one */
  ts_ahead *ahead;        /* NULL: the blocks are read here */
  uint32_t share;         /* these two: of the block that came last */
  uint64_t shown;
  spot *before; /* where its BEFORE blocks lie */
  uint64_t before_count, before_capacity;
  ts_read_block block;    /* one that was read here */
  ts_block_memory again;  /* one of BEFORE, read again */
  uint64_t *control;     /* NULL: nobody wants to know how far it is */
};

static int32_t no_memory(const ts_checkpoint_reader *r, ts_err err) {
  return ts_fail(err, TS_ENOMEM, "Cannot read checkpoints of %s: out of memory", r->chain->path);
}

static int32_t take_links(ts_checkpoint_reader *r, uint32_t number, ts_err err) {
  const ts_chain *chain = r->chain;
  if (chain->count == 0) return ts_fail(err, TS_EINVAL, "Cannot read checkpoints of %s: there is none", chain->path);
  ts_chain_link *link = number == 0 ? &chain->links[chain->count - 1] : ts_chain_find(chain, number);
  if (link == NULL)
    return ts_fail(err, TS_EINVAL, "Cannot read checkpoint %u of %s: there is none of that number; the newest is %u", number,
                   chain->path, chain->links[chain->count - 1].number);
  r->links = calloc(chain->count, sizeof *r->links);
  if (r->links == NULL) return no_memory(r, err);
  return ts_chain_needed(chain, link, r->links, &r->count, err);
}

int32_t ts_checkpoint_reader_open(const ts_disk_ops *disk, const char *path, uint32_t number,
                                  ts_checkpoint_reader **out, ts_err err) {
  *out = NULL;
  ts_checkpoint_reader *r = calloc(1, sizeof *r);
  if (r == NULL) return ts_fail(err, TS_ENOMEM, "Cannot read checkpoints of %s: out of memory", path);
  r->disk = disk == NULL ? &ts_disk_system : disk;
  r->cursor.file = -1;
  r->chain = &r->own;
  int32_t status = ts_chain_read(r->disk, path, &r->own, err);
  if (status == TS_OK) status = take_links(r, number, err);
  if (status != TS_OK) {
    ts_checkpoint_reader_close(r);
    return status;
  }
  *out = r;
  return TS_OK;
}

int32_t ts_checkpoint_reader_of(ts_chain *chain, ts_chain_link *link, ts_checkpoint_reader **out, ts_err err) {
  ts_checkpoint_reader *r = calloc(1, sizeof *r);
  *out = NULL;
  if (r == NULL || (r->links = calloc(1, sizeof *r->links)) == NULL) {
    free(r);
    return ts_fail(err, TS_ENOMEM, "Cannot read checkpoints of %s: out of memory", chain->path);
  }
  r->disk = chain->disk;
  r->chain = chain;
  r->cursor.file = -1;
  r->links[r->count++] = link;
  *out = r;
  return TS_OK;
}

static void deselect(ts_checkpoint_reader *r) {
  ts_ahead_close(r->ahead);
  r->ahead = NULL;
  ts_block_cursor_end(&r->cursor);
}

void ts_checkpoint_reader_close(ts_checkpoint_reader *r) {
  if (r == NULL) return;
  deselect(r);
  ts_chain_free(&r->own);
  free(r->links);
  free(r->before);
  free(r->again.memory);
  free(r);
}

uint32_t ts_checkpoint_links(const ts_checkpoint_reader *r) { return r->count; }

const ts_manifest *ts_checkpoint_link_manifest(const ts_checkpoint_reader *r, uint32_t link) {
  return &r->links[link]->manifest;
}

uint64_t ts_checkpoint_link_bytes(const ts_checkpoint_reader *r, uint32_t link) { return r->links[link]->bytes; }

ts_checkpoint_origin ts_checkpoint_reader_origin(const ts_checkpoint_reader *r) {
  ts_checkpoint_origin origin = {.number = r->links[0]->number, .restored = true};
  memcpy(origin.id, r->links[0]->id, TS_CHECKPOINT_ID);
  return origin;
}

const char *ts_checkpoint_where(const ts_checkpoint_reader *r, char *out, size_t cap) {
  char *data = ts_chain_data(r->chain, r->link, r->share);
  snprintf(out, cap, "%s, the block at offset %llu", data == NULL ? r->chain->path : data, (unsigned long long)r->shown);
  free(data);
  return out;
}

int32_t ts_checkpoint_select_part(ts_checkpoint_reader *r, uint32_t link, uint64_t from, uint64_t until, ts_err err) {
  deselect(r);
  r->before_count = 0;
  r->link = r->links[link];
  const int32_t status = ts_block_cursor_open(&r->cursor, r->chain, r->link, 0, err);
  r->cursor.at = from;
  r->cursor.until = until;
  return status;
}

int32_t ts_checkpoint_select(ts_checkpoint_reader *r, uint32_t link, ts_err err) {
  const int32_t status = ts_checkpoint_select_part(r, link, 0, 0, err);
  return status != TS_OK || r->link->bytes < TS_AHEAD_LEAST ? status : ts_ahead_open(&r->cursor, &r->ahead, err);
}

int32_t ts_checkpoint_split(ts_checkpoint_reader *r, uint32_t link, uint32_t parts, uint64_t *places, uint32_t *found, ts_err err) {
  const ts_chain_link *of = r->links[link];
  ts_block_cursor cursor = {.file = -1};
  int32_t status = TS_OK;
  *found = 1;
  places[0] = 0;
  if (of->share_count == 1 && parts > 1) status = ts_block_cursor_open(&cursor, r->chain, of, 0, err);
  for (uint32_t i = 1; status == TS_OK && cursor.file >= 0 && i < parts; i++) {
    uint64_t place;
    status = ts_block_cursor_find(&cursor, of->bytes / parts * i, &place, err);
    if (status == TS_OK && place > places[*found - 1]) places[(*found)++] = place;
  }
  places[*found] = of->bytes;
  ts_block_cursor_end(&cursor);
  return status;
}

int32_t ts_checkpoint_reader_beside(const ts_checkpoint_reader *r, uint32_t link, ts_checkpoint_reader **out, ts_err err) {
  return ts_checkpoint_reader_of(r->chain, r->links[link], out, err);
}

int32_t ts_checkpoint_parts_whole(ts_checkpoint_reader *const *readers, uint32_t parts, ts_err err) {
  uint64_t blocks = 0;
  uint32_t crc = 0;
  for (uint32_t i = 0; i < parts; i++) {
    const ts_block_cursor *cursor = &readers[i]->cursor;
    crc = ts_crc32c_join(crc, cursor->blocks_crc, cursor->blocks * sizeof(ts_block_header));
    blocks += cursor->blocks;
  }
  return ts_block_cursor_whole(&readers[0]->cursor, blocks, crc, err);
}

static ts_checkpoint_block block_of(ts_checkpoint_reader *r, const ts_read_block *block) {
  const ts_block_header *header = &block->header;
  r->share = block->share;
  r->shown = header->place;
  return (ts_checkpoint_block){.kind = (ts_block_kind)header->kind,
                               .table = header->table,
                               .count = header->count,
                               .bytes = header->bytes,
                               .payload = block->payload};
}

static bool note_before(ts_checkpoint_reader *r) {
  if (r->before_count == r->before_capacity) {
    const uint64_t capacity = r->before_capacity * 2 + 64;
    spot *before = realloc(r->before, capacity * sizeof *before);
    if (before == NULL) return false;
    r->before = before;
    r->before_capacity = capacity;
  }
  r->before[r->before_count++] = (spot){r->share, r->shown};
  return true;
}

int32_t ts_checkpoint_next(ts_checkpoint_reader *r, ts_checkpoint_block *out, ts_err err) {
  const ts_read_block *block = &r->block;
  bool there = true;
  *out = (ts_checkpoint_block){0};
  const int32_t status = r->ahead == NULL ? ts_block_cursor_next(&r->cursor, &r->block, &there, err) : ts_ahead_next(r->ahead, &block, err);
  if (status != TS_OK || !there || block == NULL) return status;
  *out = block_of(r, block);
  ts_control_add(r->control, sizeof block->header + out->bytes);
  return out->kind != TS_BLOCK_BEFORE || note_before(r) ? TS_OK : no_memory(r, err);
}

void ts_checkpoint_count_in(ts_checkpoint_reader *r, uint64_t *control) { r->control = control; }

uint64_t ts_checkpoint_reader_bytes(const ts_checkpoint_reader *r) {
  uint64_t bytes = 0;
  for (uint32_t i = 0; i < r->count; i++) bytes += r->links[i]->bytes;
  return bytes;
}

int32_t ts_checkpoint_read_through(ts_checkpoint_reader *r, uint32_t link, uint64_t *control, ts_err err) {
  ts_checkpoint_block block = {.kind = TS_BLOCK_ROWS};
  int32_t status = ts_checkpoint_select(r, link, err);
  ts_checkpoint_count_in(r, control);
  while (status == TS_OK && block.kind != TS_BLOCK_END) {
    if (ts_control_cancelled(control))
      return ts_fail(err, TS_ECANCELLED, "Reading the checkpoints of %s was cancelled", r->chain->path);
    status = ts_checkpoint_next(r, &block, err);
  }
  return status;
}

int32_t ts_checkpoint_previous_before(ts_checkpoint_reader *r, ts_checkpoint_block *out, ts_err err) {
  *out = (ts_checkpoint_block){0};
  if (r->before_count == 0) return TS_OK;
  const spot before = r->before[--r->before_count];
  ts_ahead_close(r->ahead); /* it has come to the end, and the cursor is the reader's again */
  r->ahead = NULL;
  int32_t status = TS_OK;
  if (before.share != r->cursor.share) status = ts_block_cursor_open(&r->cursor, r->chain, r->link, before.share, err);
  if (status == TS_OK) status = ts_block_read(&r->cursor, before.at, &r->again, err);
  if (status == TS_OK) *out = block_of(r, &r->again.block);
  return status;
}
