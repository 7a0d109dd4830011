/* format.h - what an SSDHASH table is on the medium. All numbers are little-endian.
 *
 *   <directory>/<escaped table name>.ssdhash/
 *     <number, 16 hexadecimal digits>.log   log files; numbers grow and are never used twice
 *     live                                  the live map of the last close, or flush after removals; may be absent
 *     checkpoint.<number, the same>         a complete checkpoint
 *     ballast                               of an open table: the reserve of files.c; never read, removed when opening
 *
 * Log file: a header of 4096 bytes, then pages. A page holds a fixed number of fixed-size records back to back and is
 * padded with zeros to a multiple of 4096 bytes; its size is chosen so that padding costs at most 1 % where that is
 * possible within 64 KiB; a longer record has its own. So record number <-> offset is arithmetic. Records may straddle
 * device blocks: at 128 byte rows that makes 1 read in 4 one 512-byte sector longer (1 in 28, one 4 KiB block longer), and
 * saves the 1 to 20 percent of space and of bytes written that padding to blocks would cost.
 *
 * Record: checksum 4, sequence 6, key 8, version 0, 4 or 8, row. The file's header says the row's length and how wide
 * versions are: tables that record none do not pay for them, and files grow wider ones when they come. The checksum is
 * CRC32C over file number, record number and everything behind itself, so a record at the wrong place does not pass; 0
 * is stored as 1: a slot of zeros is no record. The sequence is the number of the put: of a key's records, the largest
 * counts; compaction copies it unchanged.
 *
 * A file that was closed before it was full has its number of records in the header (`count`); of a full one that field
 * may be 0. Only the newest file of an append stream may be neither: there the process died, and its records count up
 * to the first that is not valid, behind which no valid one may follow.
 *
 * Live map: header {magic 8, files 4, reserved 4, sequence 8}, then for each file {number 8, count 4, reserved 4, bits
 * of its first `count` records in whole 64-bit words, 1: live}, then CRC32C of all that, 4, and 4 bytes that are 1 from
 * a close to the next open: then exactly these files must be there. Records that it calls dead stay so; later ones are
 * judged by sequence.
 *
 * Checkpoint: header (ts_ssd_image), layout words of 8 bytes, note filled up to 8 bytes; then for each log file that there
 * was {number 8, count 4, closed 4, bits of its first `count` records in whole 64-bit words, 1: the checkpoint has it},
 * then the number of its rows, 8, CRC32C of all that, 4, and 4 zeros. What compaction wrote later is not in there: a record behind `count` of a file
 * that was not closed, or of a file that is not listed, belongs to the checkpoint if its sequence is below the
 * checkpoint's and its file's header says `through` this checkpoint or a later one. Such a record is a copy; where the
 * original is there, too, they are the same. */
#ifndef TS_SSDHASH_FORMAT_H
#define TS_SSDHASH_FORMAT_H

#include "base/base.h"
#include "base/crc32c.h"

#include <string.h>

#define TS_SSD_MAGIC UINT64_C(0x31676f4c48647353) /* "SsdHLog1" */
#define TS_SSD_MAP_MAGIC UINT64_C(0x317061764c647353)
#define TS_SSD_IMAGE_MAGIC UINT64_C(0x3176734364487373)
#define TS_SSD_FORMAT 2u
#define TS_SSD_BLOCK 4096u /* of writes, headers and pages; reads go down to the device's block */
#define TS_SSD_RECORD_FIXED 18u

typedef struct ts_ssd_header {
  uint64_t magic;
  uint32_t format, row_bytes;
  uint64_t name_hash, number;
  uint32_t stream, version_bytes;
  uint32_t page_bytes, page_records;
  uint32_t capacity;           /* records of the full file */
  uint32_t count;              /* records, 0: full, or the process died */
  uint64_t through;            /* the last checkpoint that can have its records; UINT64_MAX: any */
  uint32_t reserved, checksum; /* CRC32C of the bytes before it */
} ts_ssd_header;
_Static_assert(sizeof(ts_ssd_header) == 72, "header without holes");

typedef struct ts_ssd_image {
  uint64_t magic;
  uint32_t format, row_bytes;
  uint64_t name_hash, number;
  uint64_t timeline;    /* how often the table had been opened at a checkpoint */
  uint64_t sequence;    /* its records have smaller ones */
  uint64_t next_number; /* of log files: smaller ones may have been there */
  uint32_t files, layout_words, note_bytes, reserved;
} ts_ssd_image;
_Static_assert(sizeof(ts_ssd_image) == 72, "header without holes");

typedef struct ts_ssd_image_entry {
  uint64_t number;
  uint32_t count, closed;
} ts_ssd_image_entry;

typedef struct ts_ssd_image_tail {
  uint64_t rows;               /* it has */
  uint32_t checksum, reserved; /* CRC32C of all before it */
} ts_ssd_image_tail;

/* Where records of one version width lie. */
typedef struct ts_ssd_layout {
  uint32_t version_bytes, record_bytes, page_bytes, page_records;
} ts_ssd_layout;

/* False if a row is too long for 32-bit pages. */
bool ts_ssd_layout_make(uint32_t row_bytes, uint32_t version_bytes, ts_ssd_layout *out);

static inline uint64_t ts_ssd_offset(const ts_ssd_layout *l, uint32_t record) {
  return TS_SSD_BLOCK + (uint64_t)(record / l->page_records) * l->page_bytes +
         (uint64_t)(record % l->page_records) * l->record_bytes;
}
/* Bytes of a file up to the end of the page of the last of `records`. */
static inline uint64_t ts_ssd_extent(const ts_ssd_layout *l, uint32_t records) {
  return TS_SSD_BLOCK + ((uint64_t)records + l->page_records - 1) / l->page_records * l->page_bytes;
}

typedef struct ts_ssd_record {
  uint64_t sequence, version;
  int64_t key;
  const unsigned char *row;
} ts_ssd_record;

void ts_ssd_encode(const ts_ssd_layout *l, uint32_t row_bytes, uint64_t number, uint32_t slot,
                   const ts_ssd_record *record, unsigned char *out);
/* False: the checksum is wrong. */
bool ts_ssd_decode(const ts_ssd_layout *l, uint32_t row_bytes, uint64_t number, uint32_t slot, const unsigned char *in,
                   ts_ssd_record *record);

#endif
