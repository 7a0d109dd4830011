/* cursor.c - see cursor.h. */
#include "checkpoint/cursor.h"

#include "base/crc32c.h"
#include "base/seeded_bug.h"

#include <stdlib.h>
#include <string.h>

static int32_t no_memory(const ts_block_cursor *c, ts_err err) {
  return ts_fail(err, TS_ENOMEM, "Cannot read checkpoints of %s: out of memory", c->chain->path);
}

void ts_block_cursor_end(ts_block_cursor *c) {
  ts_window_end(&c->window);
  if (c->file >= 0) c->chain->disk->close(c->chain->disk, c->file);
  free(c->data);
  *c = (ts_block_cursor){.file = -1};
}

int32_t ts_block_cursor_open(ts_block_cursor *c, const ts_chain *chain, const ts_chain_link *link, uint32_t share, ts_err err) {
  ts_block_cursor_end(c);
  *c = (ts_block_cursor){.chain = chain, .link = link, .share = share, .file = -1};
  if ((c->data = ts_chain_data(chain, link, share)) == NULL) return no_memory(c, err);
  c->file = chain->disk->open(chain->disk, c->data);
  return c->file < 0 ? ts_disk_fail(err, "open", c->data, c->file) : TS_OK;
}

/* Words for a part whose checksum is wrong. */
static int32_t damaged(const ts_block_cursor *c, uint64_t place, uint64_t part, uint64_t bytes, uint32_t stored,
                       uint32_t found, const char *what, ts_err err) {
  uint64_t byte;
  uint32_t bit;
  if (ts_crc32c_flipped(stored, found, bytes, &byte, &bit))
    return ts_fail(err, TS_EFORMAT, "Cannot read %s: the block at offset %llu is damaged at offset %llu: bit %u is flipped", c->data,
                   (unsigned long long)place, (unsigned long long)(part + byte), bit);
  const uint32_t difference = stored ^ found;
  if (bytes == offsetof(ts_block_header, header_crc) && (difference & (difference - 1)) == 0) /* the header's own checksum */
    return ts_fail(err, TS_EFORMAT, "Cannot read %s: the block at offset %llu is damaged at offset %llu: bit %d is flipped", c->data,
                   (unsigned long long)place, (unsigned long long)(part + bytes + (uint64_t)__builtin_ctz(difference) / 8),
                   __builtin_ctz(difference) % 8);
  return ts_fail(err, TS_EFORMAT, "Cannot read %s: the block at offset %llu is damaged: the checksum of its %s is %08x, not %08x",
                 c->data, (unsigned long long)place, what, found, stored);
}

static int32_t misplaced(const ts_block_cursor *c, uint64_t place, const char *how, ts_err err) {
  return ts_fail(err, TS_EFORMAT, "Cannot read %s: the block at offset %llu %s", c->data, (unsigned long long)place, how);
}

/* Whether the header of the block at `place` is one that was written there. */
static int32_t check_header(const ts_block_cursor *c, uint64_t place, const ts_block_header *header, ts_err err) {
  const ts_checkpoint_share *share = &c->link->shares[c->share];
  const uint32_t crc = ts_crc32c(0, header, offsetof(ts_block_header, header_crc));
  if (crc != header->header_crc && !TS_BUG("a header's checksum is not compared"))
    return damaged(c, place, place, offsetof(ts_block_header, header_crc), header->header_crc, crc, "header", err);
  if (header->magic != TS_CHECKPOINT_MAGIC || header->format != TS_CHECKPOINT_FORMAT)
    return misplaced(c, place, "is of another format; use the version that wrote it", err);
  if ((memcmp(header->file, share->file, TS_CHECKPOINT_ID) != 0 || header->number != c->link->number) &&
      !TS_BUG("a block of another file is not seen"))
    return misplaced(c, place, "was written for another file", err);
  if (header->place != place && !TS_BUG("a block of another place is not seen")) return misplaced(c, place, "was written for another place", err);
  if (header->kind <= TS_BLOCK_END || header->kind >= TS_BLOCK_KINDS)
    return misplaced(c, place, "is of a kind that this version does not know; use the version that wrote it", err);
  if (header->bytes > share->bytes - place - sizeof *header || header->bytes > TS_CHECKPOINT_BLOCK_MOST)
    return misplaced(c, place, "is longer than the file, or than a block may be", err);
  return TS_OK;
}

static int32_t check_payload(const ts_block_cursor *c, uint64_t place, const ts_read_block *block, ts_err err) {
  const uint32_t found = ts_crc32c(0, block->payload, block->header.bytes), stored = block->header.payload_crc;
  if (found != stored && !TS_BUG("a payload's checksum is not compared"))
    return damaged(c, place, place + sizeof block->header, block->header.bytes, stored, found, "payload", err);
  return TS_OK;
}

/* The block at `place`, through the window. */
static int32_t read_block(ts_block_cursor *c, uint64_t place, ts_read_block *out, ts_err err) {
  ts_block_header *header = &out->header;
  const uint64_t end = c->link->shares[c->share].bytes;
  unsigned char *bytes;
  if (end - place < sizeof *header) return misplaced(c, place, "is cut off by the end of the file", err);
  if (c->window.disk == NULL) ts_window_begin(&c->window, c->chain->disk, c->file, place, c->until != 0 ? c->until : end);
  int error = ts_window_read(&c->window, place, sizeof *header, &bytes);
  if (error != 0) return ts_disk_fail(err, "read", c->data, error);
  memcpy(header, bytes, sizeof *header);
  const int32_t status = check_header(c, place, header, err);
  if (status != TS_OK) return status;
  error = ts_window_read(&c->window, place, sizeof *header + header->bytes, &bytes);
  if (error != 0) return ts_disk_fail(err, "read", c->data, error);
  out->payload = bytes + sizeof *header;
  out->share = c->share;
  return check_payload(c, place, out, err);
}

static int32_t make_room(const ts_block_cursor *c, ts_block_memory *out, uint64_t bytes, ts_err err) {
  if (bytes <= out->capacity) return TS_OK;
  free(out->memory);
  out->capacity = TS_ROUND_UP(bytes, UINT64_C(4096));
  out->memory = malloc(out->capacity);
  if (out->memory != NULL) return TS_OK;
  out->capacity = 0;
  return no_memory(c, err);
}

int32_t ts_block_keep(const ts_block_cursor *c, const ts_read_block *block, ts_block_memory *out, ts_err err) {
  const int32_t status = make_room(c, out, block->header.bytes, err);
  if (status != TS_OK) return status;
  out->block = *block;
  out->block.payload = out->memory;
  if (block->header.bytes > 0) memcpy(out->memory, block->payload, block->header.bytes);
  return TS_OK;
}

int32_t ts_block_read(ts_block_cursor *c, uint64_t place, ts_block_memory *out, ts_err err) {
  ts_block_header *header = &out->block.header;
  ts_window_end(&c->window); /* the handle is its own while it lasts */
  if (c->link->shares[c->share].bytes - place < sizeof *header) return misplaced(c, place, "is cut off by the end of the file", err);
  int error = ts_disk_read(c->chain->disk, c->file, header, sizeof *header, place);
  if (error != 0) return ts_disk_fail(err, "read", c->data, error);
  int32_t status = check_header(c, place, header, err);
  if (status == TS_OK) status = make_room(c, out, header->bytes, err);
  if (status != TS_OK) return status;
  out->block.payload = out->memory;
  out->block.share = c->share;
  error = ts_disk_read(c->chain->disk, c->file, out->memory, header->bytes, place + sizeof *header);
  return error != 0 ? ts_disk_fail(err, "read", c->data, error) : check_payload(c, place, &out->block, err);
}

#define SEARCHED (UINT64_C(4) << 20) /* bytes in which a block is looked for; blocks of rows are far smaller */
#define LOOKED_AT (UINT64_C(32) << 10) /* of them at a time */

/* Whether what lies there is the header that was written there: a copy of one anywhere else is not. */
static bool is_header(const ts_block_cursor *c, const unsigned char *bytes, uint64_t place) {
  ts_block_header header;
  memcpy(&header, bytes, sizeof header);
  return header.magic == TS_CHECKPOINT_MAGIC && header.place == place &&
         memcmp(header.file, c->link->shares[c->share].file, TS_CHECKPOINT_ID) == 0 &&
         ts_crc32c(0, &header, offsetof(ts_block_header, header_crc)) == header.header_crc;
}

int32_t ts_block_cursor_find(const ts_block_cursor *c, uint64_t from, uint64_t *place, ts_err err) {
  const uint64_t end = TS_MIN(c->link->shares[c->share].bytes, from + SEARCHED);
  ts_window window = {0};
  int error = 0;
  *place = 0;
  if (from >= end) return TS_OK;
  ts_window_begin(&window, c->chain->disk, c->file, from, end);
  for (uint64_t at = from; error == 0 && *place == 0 && at + sizeof(ts_block_header) <= end; at += LOOKED_AT) {
    const uint64_t bytes = TS_MIN(end - at, LOOKED_AT + sizeof(ts_block_header) - 1);
    unsigned char *piece;
    error = ts_window_read(&window, at, bytes, &piece);
    for (uint64_t i = 0; error == 0 && *place == 0 && i + sizeof(ts_block_header) <= bytes; i++)
      if (is_header(c, piece + i, at + i)) *place = at + i;
  }
  ts_window_end(&window);
  return error == 0 ? TS_OK : ts_disk_fail(err, "read", c->data, error);
}

int32_t ts_block_cursor_whole(const ts_block_cursor *c, uint64_t blocks, uint32_t blocks_crc, ts_err err) {
  const ts_checkpoint_share *share = &c->link->shares[c->share];
  if (blocks == share->blocks && blocks_crc == share->blocks_crc) return TS_OK;
  return ts_fail(err, TS_EFORMAT, "Cannot read %s: its %llu blocks are not the %llu that were written", c->data,
                 (unsigned long long)blocks, (unsigned long long)share->blocks);
}

int32_t ts_block_cursor_next(ts_block_cursor *c, ts_read_block *out, bool *there, ts_err err) {
  *there = false;
  if (c->until != 0 && c->at >= c->until) {
    ts_window_end(&c->window);
    return c->at == c->until ? TS_OK : misplaced(c, c->until, "is covered by the one before it", err);
  }
  while (c->at == c->link->shares[c->share].bytes) {
    ts_window_end(&c->window);
    int32_t status = ts_block_cursor_whole(c, c->blocks, c->blocks_crc, err);
    if (status != TS_OK || c->share + 1 == c->link->share_count) return status;
    status = ts_block_cursor_open(c, c->chain, c->link, c->share + 1, err);
    if (status != TS_OK) return status;
  }
  const int32_t status = read_block(c, c->at, out, err);
  if (status != TS_OK) return status;
  c->at += sizeof out->header + out->header.bytes;
  c->blocks++;
  c->blocks_crc = ts_crc32c(c->blocks_crc, &out->header, sizeof out->header);
  *there = true;
  return TS_OK;
}
