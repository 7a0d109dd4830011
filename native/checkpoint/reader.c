/* reader.c - reads a chain of checkpoints: a delta and its parents down to a full one (file.h). */
#include "base/control.h"
#include "base/crc32c.h"
#include "base/seeded_bug.h"
#include "checkpoint/chain.h"

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
  /* The link that is being read, and of it the share: */
  ts_chain_link *link;
  uint32_t share;
  char *data;
  int file; /* -1: none */
  uint64_t at, shown, blocks; /* the next block, the one that came last, those so far */
  uint32_t blocks_crc;
  spot *before; /* where its BEFORE blocks lie */
  uint64_t before_count, before_capacity;
  unsigned char *payload;
  uint64_t payload_capacity;
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
  r->file = -1;
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
  r->file = -1;
  r->links[r->count++] = link;
  *out = r;
  return TS_OK;
}

static void deselect(ts_checkpoint_reader *r) {
  if (r->file >= 0) r->disk->close(r->disk, r->file);
  free(r->data);
  r->file = -1;
  r->data = NULL;
  r->link = NULL;
}

void ts_checkpoint_reader_close(ts_checkpoint_reader *r) {
  if (r == NULL) return;
  deselect(r);
  ts_chain_free(&r->own);
  free(r->links);
  free(r->before);
  free(r->payload);
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
  snprintf(out, cap, "%s, the block at offset %llu", r->data, (unsigned long long)r->shown);
  return out;
}

/* Opens the data of a share of a link. */
static int32_t open_share(ts_checkpoint_reader *r, ts_chain_link *link, uint32_t share, ts_err err) {
  deselect(r);
  if ((r->data = ts_chain_data(r->chain, link, share)) == NULL) return no_memory(r, err);
  r->file = r->disk->open(r->disk, r->data);
  if (r->file < 0) return ts_disk_fail(err, "open", r->data, r->file);
  r->link = link;
  r->share = share;
  return TS_OK;
}

/* From the first block of a share. */
static int32_t begin_share(ts_checkpoint_reader *r, ts_chain_link *link, uint32_t share, ts_err err) {
  r->at = r->blocks = 0;
  r->blocks_crc = 0;
  return open_share(r, link, share, err);
}

int32_t ts_checkpoint_select(ts_checkpoint_reader *r, uint32_t link, ts_err err) {
  r->before_count = 0;
  return begin_share(r, r->links[link], 0, err);
}

/* Words for a part whose checksum is wrong. */
static int32_t damaged(const ts_checkpoint_reader *r, uint64_t place, uint64_t part, uint64_t bytes, uint32_t stored,
                       uint32_t found, const char *what, ts_err err) {
  uint64_t byte;
  uint32_t bit;
  if (ts_crc32c_flipped(stored, found, bytes, &byte, &bit))
    return ts_fail(err, TS_EFORMAT, "Cannot read %s: the block at offset %llu is damaged at offset %llu: bit %u is flipped", r->data,
                   (unsigned long long)place, (unsigned long long)(part + byte), bit);
  const uint32_t difference = stored ^ found;
  if (bytes == offsetof(ts_block_header, header_crc) && (difference & (difference - 1)) == 0) /* the header's own checksum */
    return ts_fail(err, TS_EFORMAT, "Cannot read %s: the block at offset %llu is damaged at offset %llu: bit %d is flipped", r->data,
                   (unsigned long long)place, (unsigned long long)(part + bytes + (uint64_t)__builtin_ctz(difference) / 8),
                   __builtin_ctz(difference) % 8);
  return ts_fail(err, TS_EFORMAT, "Cannot read %s: the block at offset %llu is damaged: the checksum of its %s is %08x, not %08x",
                 r->data, (unsigned long long)place, what, found, stored);
}

static int32_t misplaced(const ts_checkpoint_reader *r, uint64_t place, const char *how, ts_err err) {
  return ts_fail(err, TS_EFORMAT, "Cannot read %s: the block at offset %llu %s", r->data, (unsigned long long)place, how);
}

/* The block at a place, checked. */
static int32_t read_block(ts_checkpoint_reader *r, uint64_t place, ts_block_header *header, ts_err err) {
  const ts_checkpoint_share *share = &r->link->shares[r->share];
  const uint64_t left = share->bytes - place;
  if (left < sizeof *header) return misplaced(r, place, "is cut off by the end of the file", err);
  int error = ts_disk_read(r->disk, r->file, header, sizeof *header, place);
  if (error != 0) return ts_disk_fail(err, "read", r->data, error);
  const uint32_t crc = ts_crc32c(0, header, offsetof(ts_block_header, header_crc));
  if (crc != header->header_crc && !TS_BUG("a header's checksum is not compared"))
    return damaged(r, place, place, offsetof(ts_block_header, header_crc), header->header_crc, crc, "header", err);
  if (header->magic != TS_CHECKPOINT_MAGIC || header->format != TS_CHECKPOINT_FORMAT)
    return misplaced(r, place, "is of another format; use the version that wrote it", err);
  if ((memcmp(header->file, share->file, TS_CHECKPOINT_ID) != 0 || header->number != r->link->number) &&
      !TS_BUG("a block of another file is not seen"))
    return misplaced(r, place, "was written for another file", err);
  if (header->place != place && !TS_BUG("a block of another place is not seen")) return misplaced(r, place, "was written for another place", err);
  if (header->kind <= TS_BLOCK_END || header->kind >= TS_BLOCK_KINDS)
    return misplaced(r, place, "is of a kind that this version does not know; use the version that wrote it", err);
  if (header->bytes > left - sizeof *header || header->bytes > TS_CHECKPOINT_BLOCK_MOST)
    return misplaced(r, place, "is longer than the file, or than a block may be", err);
  if (header->bytes > r->payload_capacity) {
    free(r->payload);
    r->payload_capacity = TS_ROUND_UP(header->bytes, UINT64_C(4096));
    r->payload = aligned_alloc(64, r->payload_capacity);
    if (r->payload == NULL) {
      r->payload_capacity = 0;
      return no_memory(r, err);
    }
  }
  error = ts_disk_read(r->disk, r->file, r->payload, header->bytes, place + sizeof *header);
  if (error != 0) return ts_disk_fail(err, "read", r->data, error);
  const uint32_t found = ts_crc32c(0, r->payload, header->bytes);
  if (found != header->payload_crc && !TS_BUG("a payload's checksum is not compared"))
    return damaged(r, place, place + sizeof *header, header->bytes, header->payload_crc, found, "payload", err);
  return TS_OK;
}

static ts_checkpoint_block block_of(ts_checkpoint_reader *r, const ts_block_header *header) {
  r->shown = header->place;
  return (ts_checkpoint_block){.kind = (ts_block_kind)header->kind,
                               .table = header->table,
                               .count = header->count,
                               .bytes = header->bytes,
                               .payload = r->payload};
}

static bool note_before(ts_checkpoint_reader *r, uint64_t at) {
  if (r->before_count == r->before_capacity) {
    const uint64_t capacity = r->before_capacity * 2 + 64;
    spot *before = realloc(r->before, capacity * sizeof *before);
    if (before == NULL) return false;
    r->before = before;
    r->before_capacity = capacity;
  }
  r->before[r->before_count++] = (spot){r->share, at};
  return true;
}

int32_t ts_checkpoint_next(ts_checkpoint_reader *r, ts_checkpoint_block *out, ts_err err) {
  *out = (ts_checkpoint_block){0};
  for (const ts_checkpoint_share *share; r->at == (share = &r->link->shares[r->share])->bytes;) {
    if (r->blocks != share->blocks || r->blocks_crc != share->blocks_crc)
      return ts_fail(err, TS_EFORMAT, "Cannot read %s: its %llu blocks are not the %llu that were written", r->data,
                     (unsigned long long)r->blocks, (unsigned long long)share->blocks);
    if (r->share + 1 == r->link->share_count) return TS_OK;
    const int32_t status = begin_share(r, r->link, r->share + 1, err);
    if (status != TS_OK) return status;
  }
  ts_block_header header;
  const int32_t status = read_block(r, r->at, &header, err);
  if (status != TS_OK) return status;
  if (header.kind == TS_BLOCK_BEFORE && !note_before(r, r->at)) return no_memory(r, err);
  r->at += sizeof header + header.bytes;
  r->blocks++;
  r->blocks_crc = ts_crc32c(r->blocks_crc, &header, sizeof header);
  *out = block_of(r, &header);
  return TS_OK;
}

int32_t ts_checkpoint_read_through(ts_checkpoint_reader *r, uint32_t link, uint64_t *control, ts_err err) {
  ts_checkpoint_block block = {.kind = TS_BLOCK_ROWS};
  int32_t status = ts_checkpoint_select(r, link, err);
  while (status == TS_OK && block.kind != TS_BLOCK_END) {
    if (ts_control_cancelled(control))
      return ts_fail(err, TS_ECANCELLED, "Reading the checkpoints of %s was cancelled", r->chain->path);
    status = ts_checkpoint_next(r, &block, err);
    if (status == TS_OK && block.kind != TS_BLOCK_END) ts_control_add(control, sizeof(ts_block_header) + block.bytes);
  }
  return status;
}

int32_t ts_checkpoint_previous_before(ts_checkpoint_reader *r, ts_checkpoint_block *out, ts_err err) {
  *out = (ts_checkpoint_block){0};
  if (r->before_count == 0) return TS_OK;
  ts_block_header header;
  const spot before = r->before[--r->before_count];
  int32_t status = before.share == r->share ? TS_OK : open_share(r, r->link, before.share, err);
  if (status == TS_OK) status = read_block(r, before.at, &header, err);
  if (status == TS_OK) *out = block_of(r, &header);
  return status;
}
