/* format.h - what a checkpoint is on the disk. All numbers are little-endian.
 *
 *   <path>/                     the folder of a chain
 *     <number, 8 hex>.ckpt      data of a checkpoint: blocks, one behind the other
 *     <number>.full.ckpt        the same, made by compaction
 *     <number>.<rank, 4 hex>.ckpt  over ranks: data of ranks 1 and above. Rank 0's is <number>.ckpt
 *     <number>.manifest         text (manifest.h): what the data is. What has no manifest is no checkpoint
 *     <number>.manifest.new     a manifest that was being written
 *
 * Block: a header of 64 bytes, then its payload. The header says which file it was written for (128 random bits, in the
 * manifest too) and where in it, so a block of another file, of an earlier attempt or at another place does not pass.
 *
 * Payloads are arrays of entries of equal length, so that an entry's length is bytes / count:
 *   ROWS     {key 8, row}: rows as they lie in memory
 *   BEFORE   {key 8, what 4, waiting 4, step 8, row}: what was there of a key at the cut, before it changed. Of the entries
 *            of one key the first counts, and it counts before ROWS and WAITING
 *   WAITING  {key 8, count 4, zero 4, step 8}: keys that admission counts
 *   FILTER   {zero 8, first word 8}, then count 64-bit words of the counters of a table's Bloom filter, in any order
 *   MAP      {slots as a power of two 4, zero 4, first word 8}, then count 64-bit words of a table's map of changed slots:
 *            of a delta. A key's slot is ts_checkpoint_slot. What a delta says of the keys of these slots is all there is
 *            of them; of other keys its parent speaks. It comes before the first of the table's ROWS and WAITING
 *   STATE    named bytes of a trainer: {length of the name 4, zero 4, offset 8, name, bytes}; count is 1
 * FILTER and STATE are whole in a delta, too.
 *
 * Over ranks a checkpoint is full, and its manifest of format 2: line `shares` has the number of data files, and lines
 * share.<rank>.file, .blocks, .bytes and .blocks_crc32c say of those of ranks 1 and above what the lines without a share say of
 * rank 0's. A key is in one share alone; STATE is in rank 0's.
 */
#ifndef TS_CHECKPOINT_FORMAT_H
#define TS_CHECKPOINT_FORMAT_H

#include "base/base.h"

#define TS_CHECKPOINT_FORMAT 1u
#define TS_CHECKPOINT_SHARES_FORMAT 2u /* of manifests: one with several data files; blocks are of TS_CHECKPOINT_FORMAT */
#define TS_CHECKPOINT_MAGIC UINT32_C(0x6b434b54) /* "TKCk" */
#define TS_CHECKPOINT_BLOCK_MOST (UINT64_C(64) << 20) /* payload bytes: what a reader has memory for */
#define TS_CHECKPOINT_ID 16u                          /* bytes of an identity: random, 32 hexadecimal digits in text */

typedef enum ts_block_kind {
  TS_BLOCK_END, /* in no file: what a reader says behind the last block */
  TS_BLOCK_ROWS,
  TS_BLOCK_BEFORE,
  TS_BLOCK_WAITING,
  TS_BLOCK_FILTER,
  TS_BLOCK_MAP,
  TS_BLOCK_STATE,
  TS_BLOCK_KINDS
} ts_block_kind;

typedef struct ts_block_header {
  uint32_t magic, format;
  uint32_t kind, table, count;
  uint32_t number; /* of the checkpoint */
  uint64_t bytes;  /* of the payload */
  uint64_t place;  /* of this header in the file */
  uint8_t file[TS_CHECKPOINT_ID];
  uint32_t payload_crc; /* CRC32C of the payload */
  uint32_t header_crc;  /* CRC32C of the 60 bytes before it */
} ts_block_header;
_Static_assert(sizeof(ts_block_header) == 64, "header without holes");

typedef enum ts_before_what { TS_BEFORE_ABSENT, TS_BEFORE_ROW, TS_BEFORE_WAITING } ts_before_what;
/* What is before the row of a BEFORE entry. The row's bytes are zeros unless `what` is TS_BEFORE_ROW. */
typedef struct ts_before_entry {
  int64_t key;
  uint32_t what, waiting; /* waiting: the count of admission */
  uint64_t step;
} ts_before_entry;
_Static_assert(sizeof(ts_before_entry) == 24, "entry without holes");
typedef struct ts_waiting_entry {
  int64_t key;
  uint32_t count, zero;
  uint64_t step;
} ts_waiting_entry;
_Static_assert(sizeof(ts_waiting_entry) == 24, "entry without holes");
typedef struct ts_map_head {
  uint32_t slots_log2, zero;
  uint64_t first_word;
} ts_map_head;
_Static_assert(sizeof(ts_map_head) == 16, "head without holes");
typedef struct ts_state_head {
  uint32_t name_bytes, zero;
  uint64_t offset;
} ts_state_head;
_Static_assert(sizeof(ts_state_head) == 16, "head without holes");

#define TS_CHECKPOINT_SLOTS_LOG2_MOST 36u

/* A key's slot among 2^slots_log2: the lowest bits of the key's hash in the index, whose highest choose the shard. */
static inline uint64_t ts_checkpoint_slot(int64_t key, uint32_t slots_log2) {
  return ts_mix64((uint64_t)key + 0x9e3779b97f4a7c15u) & ((UINT64_C(1) << slots_log2) - 1);
}

#endif
