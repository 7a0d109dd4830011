/* records.h - a tier the CPU cannot dereference: rows are put and got in batches, by key. SSDHASH and LEVELDB implement
 * it, PMEM_LIBPMEM with checkpoints in place, and NULL, which keeps nothing.
 *
 * A records object holds the rows of one table; all of one tier share the tier's budget. It is safe under several
 * threads. It knows which keys it holds: a put replaces, a get tells what is missing. It never calls back into the
 * store. DRAM that it needs (its index, buffers) is charged to `dram`, with purpose INDEX or BUFFERS; when that is
 * refused, it may use the headroom (purpose BUFFERS), and fails with TS_EFULL after that. Bytes on the medium are charged
 * to `budget`, purpose ROWS, before they are taken.
 *
 * A limit never refuses to replace what is there: whoever adds a record takes the room for replacing it, too, on the
 * medium and in DRAM. So rows that have records can step whatever the tier is filled with.
 *
 * Errors name file and offset. After a failed put the records of the call hold their former contents or the new ones,
 * never a mixture; after a failed get, rows that were found stay right. The process survives everything. */
#ifndef TS_RECORDS_H
#define TS_RECORDS_H

#include "base/blocks.h"
#include "base/disk.h"
#include "base/epoch.h"
#include "base/pmem.h"
#include "tiers/budget.h"

typedef struct ts_records ts_records;

typedef struct ts_records_options {
  const char *directory; /* of the tier; the object makes a folder or files of its own in it */
  const char *table;     /* its name, any text: hash or escape it for file names */
  uint32_t row_bytes;    /* of every row, at least 4, no upper limit but memory */
  bool temporary;        /* goes with the process or at its close: nothing is written for who opens it again */
  bool versions;         /* rows may have versions other than 0 */
  ts_budget *budget;     /* of the medium */
  ts_budget *dram;
  ts_epochs *epochs;
  ts_blocks *blocks; /* for a ts_index */
  /* Of checkpoints (ts_records_cuts); all may be 0 or NULL. `layout` says what the bytes of a row mean, in words of the
   * caller's: a checkpoint of another layout is refused. at: which checkpoint to open, 0: the newest, if there is one.
   * looks: only whether the checkpoint can be opened is asked; opening it fails as it would, and changes nothing, and what is
   * opened is closed again without another call.
   * control: uint64_t[TS_CONTROL_WORDS]; opening counts bytes of log files there, and stops when told to. disk: what
   * checkpoint files are written through, NULL: ts_disk_system. */
  const uint64_t *layout;
  uint32_t layout_words;
  bool looks;
  uint64_t at, *control;
  const ts_disk_ops *disk;
  const ts_pmem_ops *pmem; /* what pools are written through, NULL: ts_pmem_system */
  /* Of the tier: read once by read_options, the same for all its tables, which may keep there what they share. */
  void *options;
} ts_records_options;

/* What a caller knows of a key before it puts or removes its record. */
typedef enum ts_record_known { TS_RECORD_UNKNOWN, TS_RECORD_NONE, TS_RECORD_THERE } ts_record_known;

/* Counters, for statistics; all since open. */
typedef struct ts_records_counts {
  uint64_t rows;            /* live records */
  uint64_t medium_bytes;    /* on the medium now */
  uint64_t bytes_read, bytes_written; /* by system calls, whole blocks */
  uint64_t reads, writes;   /* system requests */
  uint64_t payload_written; /* row bytes of puts */
  uint64_t compactions, compacted_rows;
  uint64_t retained;      /* records that were replaced or removed and stay for a checkpoint; at least that many do */
  uint64_t retained_rows; /* of these, so many were written again to be kept */
} ts_records_counts;

#define TS_RECORDS_CUTS 8u /* checkpoints at a time, the one that is being written among them */

typedef struct ts_records_checkpoint {
  uint64_t number;
  bool complete; /* false: it has begun */
} ts_records_checkpoint;

/* Checkpoints in place. A checkpoint is a number; numbers rise. When it begins nothing is copied: the rows that the tier
 * then has stay, whatever becomes of them, until the checkpoint is dropped. When it is complete, it is on the medium:
 * whatever happens, opening the table again gives exactly its rows, or those of another one that is complete. Opening
 * begins a new timeline: what came after the checkpoint that is opened never comes back, later checkpoints are dropped.
 * A table that has checkpoints is opened at one of them; what came after the newest is lost when it closes.
 *
 * What is retained takes room: a put of a record that a checkpoint needs may be TS_EFULL, which names the checkpoints.
 * A checkpoint is complete or is not there: whichever call fails, those that were complete stay so. */
typedef struct ts_records_cuts {
  /* From now on what is put and removed is later than the checkpoint. Not beside a put, unless it is the same to the
   * caller on which side of it the put is. One may be incomplete at a time. Errors: TS_EINVAL (number, another one
   * incomplete, too many, a temporary table), TS_EFULL. */
  int32_t (*begin)(ts_records *records, uint64_t number, ts_err err);
  /* As put, of rows that belong to the checkpoint that is incomplete. A key must not have been put or removed since it
   * began. */
  int32_t (*put)(ts_records *records, uint32_t n, const int64_t *keys, const uint64_t *versions,
                 const unsigned char *const *rows, ts_err err);
  /* Makes it durable, beside puts, removals and gets. `note`: bytes of the caller's that it keeps, at most 1 MiB.
   * Errors: TS_EINVAL (it has not begun), TS_EFULL, TS_EIO: it may be tried again; after a synchronization that failed no
   * checkpoint of this table completes until it is opened again, because what the medium has is not known. */
  int32_t (*complete)(ts_records *records, uint64_t number, const void *note, uint32_t note_bytes, ts_err err);
  /* Gives up the room that only this checkpoint holds. Errors: TS_EINVAL (no such checkpoint; the only complete one),
   * TS_EIO. */
  int32_t (*drop)(ts_records *records, uint64_t number, ts_err err);
  /* Those there are, oldest first; returns how many. */
  uint32_t (*list)(ts_records *records, ts_records_checkpoint out[TS_RECORDS_CUTS]);
  /* The note of the checkpoint that was opened; bytes 0: none was. It is the table's. */
  const void *(*note)(ts_records *records, uint32_t *bytes);
} ts_records_cuts;

/* Where a record was read. */
typedef struct ts_record_place {
  uint64_t file, at;
} ts_record_place;

typedef struct ts_records_sweep ts_records_sweep;

/* All live records in the order in which they lie on the medium, in long reads: what a walk of rows costs where it reads one
 * record here and one there. Puts, removals and gets go on beside it. */
typedef struct ts_records_sweeps {
  /* Errors: TS_EFULL (DRAM refuses the smallest buffer), TS_ENOMEM: a walk does it, too. */
  int32_t (*open)(ts_records *records, ts_records_sweep **out, ts_err err);
  void (*close)(ts_records *records, ts_records_sweep *sweep);
  /* Up to `n` records, *got = 0 ends. *read: the rows were read; rows[i] is valid until the next call, and places[i] is
   * where. Otherwise these are keys of which `get` must read the records: those that were put or moved since the sweep
   * began, and those whose place could not be read. Whatever lives all the time comes at least once; what moves meanwhile
   * may come twice. */
  int32_t (*next)(ts_records *records, ts_records_sweep *sweep, uint32_t n, int64_t *keys, const unsigned char **rows,
                  ts_record_place *places, bool *read, uint32_t *got, ts_err err);
  /* same[i]: the record of keys[i] is still the one at places[i]. */
  void (*still)(ts_records *records, uint32_t n, const int64_t *keys, const ts_record_place *places, uint8_t *same);
} ts_records_sweeps;

typedef struct ts_records_ops {
  const char *type;  /* SSDHASH, PMEM_LIBPMEM, LEVELDB, NULL */
  const char *place; /* SSD: rows are in files; PMEM: in files that are mapped; NULL: nowhere */
  /* Reads and checks its own options ("ssdhash." or "leveldb." ones); *options is freed with free(). */
  int32_t (*read_options)(ts_config_reader *reader, void **options);
  /* Whether it can be used here: library present, directory writable. NULL: it needs none, and gets no directory. */
  int32_t (*probe)(const char *directory, ts_err err);
  int32_t (*open)(const ts_records_options *options, ts_records **out, ts_err err);
  /* Closes and removes the files, unless `keep`. */
  void (*close)(ts_records *records, bool keep);
  /* Writes n rows; versions may be NULL (0). `known` says of each key whether it has a record (ts_record_known), so that
   * a tier without an index in DRAM need not read before it writes to keep the number of rows exact; NULL: nothing is
   * known. What is known must be right: the number of rows, and limits that count rows, follow it. Errors: TS_EFULL
   * (limit of the medium, or DRAM; not if all keys have records, unless the medium fails, too), TS_EIO. */
  int32_t (*put)(ts_records *records, uint32_t n, const int64_t *keys, const uint64_t *versions,
                 const unsigned char *const *rows, const uint8_t *known, ts_err err);
  /* Reads n rows into rows[i]; found[i] is 1 or 0, rows[i] untouched if 0. Keys may repeat. Reads are issued together.
   * Errors: TS_EIO, TS_EFORMAT (checksum, key or length wrong). */
  int32_t (*get)(ts_records *records, uint32_t n, const int64_t *keys, unsigned char *const *rows, uint8_t *found,
                 ts_err err);
  /* As get without reading rows where the medium allows to know; may read where not. */
  int32_t (*contains)(ts_records *records, uint32_t n, const int64_t *keys, uint8_t *found, ts_err err);
  /* Removes; absent keys are no error. `known` as for put. */
  int32_t (*remove)(ts_records *records, uint32_t n, const int64_t *keys, const uint8_t *known, ts_err err);
  /* Walks all live records in an order of its own, up to `n` a call: start with *cursor = 0; *got = 0 ends. A record
   * that changes meanwhile is given in its old or new form. versions, rows and each rows[i] may be NULL: where all are,
   * nothing is read if the medium allows to know the keys. */
  int32_t (*walk)(ts_records *records, uint64_t *cursor, uint32_t n, int64_t *keys, uint64_t *versions,
                  unsigned char *const *rows, uint32_t *got, ts_err err);
  /* Writes buffers out and waits. */
  int32_t (*flush)(ts_records *records, ts_err err);
  void (*count)(ts_records *records, ts_records_counts *out);
  void (*describe)(const ts_records *records, ts_text *text);
  const ts_records_cuts *cuts; /* NULL: it keeps no checkpoints */
  const ts_records_sweeps *sweeps; /* NULL: keys are walked and rows got */
} ts_records_ops;

/* The checkpoints of a tier of this type. TS_EUNSUPPORTED by name where it keeps none. */
int32_t ts_records_cuts_of(const ts_records_ops *ops, const ts_records_cuts **out, ts_err err);

extern const ts_records_ops ts_ssdhash_records, ts_pmem_records, ts_leveldb_records, ts_null_records;

#endif
