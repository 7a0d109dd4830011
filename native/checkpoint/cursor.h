/* cursor.h - where in a link's data somebody reads: block after block, share after share, each block checked. */
#ifndef TS_CHECKPOINT_CURSOR_H
#define TS_CHECKPOINT_CURSOR_H

#include "checkpoint/chain.h"
#include "checkpoint/window.h"

/* Zeros but for the file, which is -1: nothing is open. */
typedef struct ts_block_cursor {
  const ts_chain *chain;
  const ts_chain_link *link;
  uint32_t share;
  char *data; /* path of the share's file */
  int file;   /* -1: none */
  uint64_t until;      /* where its part of the share ends; 0: with the last share */
  uint64_t at, blocks; /* bytes and blocks of the share before the next block */
  uint32_t blocks_crc; /* CRC32C of the headers of those */
  ts_window window;    /* what next reads through; zeros: nothing was read since the share was opened, or all was */
} ts_block_cursor;

/* A block that was read. */
typedef struct ts_read_block {
  unsigned char *payload; /* of no alignment; whose it is, who reads it says */
  uint32_t share;
  ts_block_header header;
} ts_read_block;

/* A block in memory of its own, which later blocks are read into. Zeros: none yet; free(memory) ends it. */
typedef struct ts_block_memory {
  ts_read_block block; /* its payload is that memory */
  unsigned char *memory;
  uint64_t capacity;
} ts_block_memory;

/* Before the first block of a share; what was open is closed. Chain and link must outlive the cursor.
 * Errors: TS_EIO, TS_ENOMEM. */
int32_t ts_block_cursor_open(ts_block_cursor *cursor, const ts_chain *chain, const ts_chain_link *link, uint32_t share, ts_err err);
void ts_block_cursor_end(ts_block_cursor *cursor);
/* Where the first block begins that lies at `from` of the open share or behind it; 0: none does within some MiB.
 * Errors: TS_EIO, TS_ENOMEM. */
int32_t ts_block_cursor_find(const ts_block_cursor *cursor, uint64_t from, uint64_t *place, ts_err err);
/* Whether so many blocks with headers of this checksum are those that were written to the open share. Errors: TS_EFORMAT. */
int32_t ts_block_cursor_whole(const ts_block_cursor *cursor, uint64_t blocks, uint32_t blocks_crc, ts_err err);
/* The next block, whose payload is the cursor's until the next call. *there is false behind the last one of the last share, when all were there that were written.
 * Errors: TS_EIO, TS_EFORMAT (damaged: file and offset), TS_ENOMEM. */
int32_t ts_block_cursor_next(ts_block_cursor *cursor, ts_read_block *out, bool *there, ts_err err);
/* The block at an offset of the share; the cursor stays where it is. Errors: as ts_block_cursor_next. */
int32_t ts_block_read(ts_block_cursor *cursor, uint64_t place, ts_block_memory *out, ts_err err);
/* A copy of the block in memory of its own. Errors: TS_ENOMEM. */
int32_t ts_block_keep(const ts_block_cursor *cursor, const ts_read_block *block, ts_block_memory *out, ts_err err);

#endif
