/* table.h - an open SSDHASH table, as its parts share it.
 *
 * Three mutexes, taken in this order:
 *   compacting  one compaction at a time
 *   append      whoever adds or removes records; held during writes, never during reads. The index and what is said of
 *               files changes only under append and state together, so either is enough to read it
 *   state       index, files, which chunks of memory hold which records; never held during a system call on the medium
 *               but for closing and deleting files
 *
 * Append streams: each has one file being written, and up to two chunks of memory: one is filled while the other is
 * on its way, whose memory serves other streams after that. A stream has one write in flight, so that a dead process leaves at most one torn write a stream, in its newest
 * file. Records in chunks are read from memory.
 *
 * A file lives as active (of a stream), sealed, compacting, doomed (no live record). A doomed file is deleted when what
 * made it so is on the medium (mark) and nobody reads it. */
#ifndef TS_SSDHASH_TABLE_H
#define TS_SSDHASH_TABLE_H

#include "index/index.h"
#include "tiers/ssdhash/format.h"
#include "tiers/ssdhash/ring.h"
#include "tiers/ssdhash/ssdhash.h"

/* Records of a kind die at about the same time, so that victims are emptier. Puts go by the age of what they
 * replace (SepBIT, FAST 2022: the next life of a block is about as long as its last), survivors by themselves. */
#define TS_SSD_STREAMS 5u
#define TS_SSD_HOT 0u
#define TS_SSD_COLD 1u
#define TS_SSD_SURVIVORS 2u
/* Where there are checkpoints: rows put as of one, and survivors that were put before the last one began; and records that
 * only live in checkpoints. */
#define TS_SSD_AS_OF 3u
#define TS_SSD_RETAINED 4u
#define TS_SSD_PLAIN_STREAMS 3u /* of a table without checkpoints */

#define TS_SSD_BATCH 2048u    /* keys of a get handled together */
#define TS_SSD_PUT_BATCH 256u /* records a put adds between two looks at the locks */

typedef enum ts_ssd_file_state { TS_SSD_ACTIVE, TS_SSD_SEALED, TS_SSD_COMPACTING, TS_SSD_DOOMED } ts_ssd_file_state;

/* A checkpoint of an open table, t->cuts[i], oldest first. */
typedef struct ts_ssd_cut {
  uint64_t number, sequence;
  uint64_t charged; /* bytes of its file */
  bool complete;
  bool lost; /* DRAM refused to tell what it retains: it cannot be completed */
} ts_ssd_cut;

/* Of a file: its records of later than cut `cut` began at `slot`. */
typedef struct ts_ssd_mark {
  uint64_t cut;
  uint32_t slot;
} ts_ssd_mark;

/* Of a file and t->cuts[i]: records that are dead and that this checkpoint, but none later, may have. */
typedef struct ts_ssd_retained {
  uint64_t *bits; /* NULL with a count: not known, so the file stays as it is */
  uint32_t count;
} ts_ssd_retained;

typedef struct ts_ssd_file {
  uint64_t number;
  uint32_t id; /* its place in files[], the high part of locations */
  int handle; /* of the table's disk; -1: none */
  ts_ssd_file_state state;
  uint32_t stream;
  ts_ssd_layout layout;
  uint32_t capacity, count, live;
  uint32_t memory_from;      /* this record and those behind it are in chunks */
  uint32_t readers;          /* reads under way */
  bool bad;                  /* a live record could not be read: no victim again */
  bool dirty;                /* written since it was last synchronized */
  uint64_t begun;            /* the last cut when it was made */
  uint64_t through;          /* format.h */
  ts_ssd_mark *marks;        /* of cuts that began while it was written, oldest first */
  uint32_t mark_count, retained_count; /* the latter: of all cuts */
  ts_ssd_retained retained[TS_RECORDS_CUTS];
  uint64_t charged;          /* bytes */
  uint64_t born;             /* `appended` when it began */
  uint64_t mark;             /* doomed: may go when all records before this append are written */
  const uint64_t *live_bits; /* while opening: from the live map */
  uint32_t live_bits_count;
} ts_ssd_file;

typedef struct ts_ssd_chunk {
  ts_ssd_buffer buffer;
  bool used;             /* filled or written: its records are read here */
  ts_ssd_file *file;
  uint64_t offset;          /* in the file; its first chunk begins with the header */
  uint32_t first, capacity; /* records */
  uint32_t fill;
  uint32_t length;       /* bytes when full */
  uint32_t written;      /* bytes, whole blocks that will not change */
  uint32_t flushed_fill; /* records that are on the medium */
  uint64_t first_append; /* `appended` of its first record that is not */
  bool submitted;        /* its write is in the ring */
  int32_t result;
} ts_ssd_chunk;

typedef struct ts_ssd_stream {
  ts_ssd_file *file;
  ts_ssd_chunk chunks[2];
  ts_ssd_chunk *filling, *writing;
} ts_ssd_stream;

typedef struct ts_ssd_request {
  const ts_ssd_file *file;
  uint32_t length; /* bytes to read */
  uint64_t offset;
  uint32_t first, n; /* in the sorted keys */
} ts_ssd_request;

/* What one get needs; idle ones are kept for all tables of the tier. */
typedef struct ts_ssd_reader {
  struct ts_ssd_reader *next;
  ts_ring ring;
  bool has_ring;
  int64_t thread;
  uint32_t depth, batch, slot_bytes;
  unsigned char *slab; /* depth * slot_bytes */
  uint64_t *hashes, *locations, *sorted, *swap;
  ts_ssd_request *requests;
  uint32_t *free_slots;
  uint32_t *slot_request;
} ts_ssd_reader;

#define TS_SSD_WALKS 16u
typedef struct ts_ssd_walk {
  uint64_t token; /* 0: free */
  ts_index_cursor cursor;
} ts_ssd_walk;

typedef struct ts_ssd_table {
  ts_ssd_settings options;
  char *folder, *table;
  uint32_t row_bytes;
  uint64_t name_hash;
  int folder_lock; /* handle; -1: none */
  ts_budget *budget, *dram;
  ts_pieces *pieces;
  bool direct, io_uring, ring_writes;
  const char *why_not_direct, *why_not_ring;
  uint32_t block;                    /* smallest read */
  uint32_t alignment;                /* of memory */
  uint32_t depth, batch, slot_bytes; /* of a reader: reads in flight, keys together, the longest read of a record */

  /* Checkpoints (cuts.c). The list changes under append and state, grows shorter only under compacting, too. */
  ts_ssd_cut cuts[TS_RECORDS_CUTS];
  uint32_t cut_count;
  uint64_t begun, begun_sequence; /* the last cut that began, and where its records end */
  uint64_t retained;              /* of all files */
  uint64_t retaining;             /* `through` of the next file of retained records */
  bool durable;                   /* there was a cut, or the table was opened at one */
  bool sync_failed;               /* so it is not known what the medium has */
  uint64_t timeline, at, *control, *layout;
  uint32_t layout_words, note_bytes;
  void *note;
  const ts_disk_ops *disk;

  pthread_mutex_t compacting, append, state;
  pthread_cond_t freed; /* with state: a read ended */

  ts_index index;
  ts_ssd_file **files;
  uint32_t file_slots, max_files, shift; /* location = id << shift | record */
  uint64_t next_number;
  uint64_t medium_bytes, records; /* charged for files; records in them, live or not */
  uint64_t doomed_bytes, reserve, reserve_wanted, map_bytes;
  uint64_t promised; /* files.c: what files and reserve have together at least */
  bool temporary;    /* no live map is wanted */
  bool looks;        /* ts_records_options */
  bool can_replace;  /* there is memory for it, whatever else DRAM holds */
  bool surviving;    /* what is appended are survivors */
  int ballast;            /* handle; files.c: the disk's part of the reserve, -1: none */
  uint64_t ballast_bytes; /* at most `reserve` */
  bool no_ballast;        /* room for it cannot be taken: the disk fails */
  bool disk_full;         /* why there was no room last: not the limit */
  bool hopeless;          /* nor could compaction make any: what is live takes it all */
  bool removed; /* since the last live map */
  bool rows_paid; /* each live record, where only rows count */
  bool closing;

  ts_ssd_stream streams[TS_SSD_STREAMS];
  ts_ring write_ring;
  uint32_t version_bytes;
  uint64_t sequence, appended;
  uint64_t largest_file;
  uint64_t buffer_bytes, chunk_memory; /* wanted, and the memory of a chunk for the widest version */

  ts_ssd_shared *shared;
  ts_ssd_walk walks[TS_SSD_WALKS];
  uint64_t next_walk;

  pthread_t thread;
  bool has_thread, wanted;
  _Atomic bool stop;
  pthread_cond_t work; /* with state */

  _Atomic uint64_t bytes_read, bytes_written, reads, writes;
  uint64_t payload_written, compactions, compacted_rows, retained_rows;
  char trouble[256]; /* what background compaction or a bad file last said */
} ts_ssd_table;

static inline ts_ssd_file *ts_ssd_file_of(const ts_ssd_table *t, ts_location location) {
  return t->files[location >> t->shift];
}
static inline uint32_t ts_ssd_record_of(const ts_ssd_table *t, ts_location location) {
  return (uint32_t)(location & ((UINT64_C(1) << t->shift) - 1));
}

/* ---- medium.c: folder, files, system calls ---- */
int32_t ts_ssd_folder_open(ts_ssd_table *t, const char *directory, ts_err err);
/* Opens or creates a log file by the table's way of io. -1 with errno. */
#define TS_SSD_PATH 4096u
#define TS_SSD_MAP_NAME "live"
#define TS_SSD_MAP_NEW "live.new"
/* A file of the table's folder; both return `out`. */
const char *ts_ssd_path(const ts_ssd_table *t, const char *name, char out[TS_SSD_PATH]);
const char *ts_ssd_log_path(const ts_ssd_table *t, uint64_t number, char out[TS_SSD_PATH]);
/* A handle of the disk, or a negated errno. */
int ts_ssd_open_log(const ts_ssd_table *t, uint64_t number, bool create);
/* All bytes or an error naming file and offset. Reading beyond the end is TS_EFORMAT. */
int32_t ts_ssd_pread(ts_ssd_table *t, const ts_ssd_file *file, void *out, uint64_t length, uint64_t offset, ts_err err);
int32_t ts_ssd_pwrite(ts_ssd_table *t, const ts_ssd_file *file, const void *in, uint64_t length, uint64_t offset,
                      ts_err err);
int32_t ts_ssd_io_error(const ts_ssd_table *t, const char *what, const ts_ssd_file *file, uint64_t offset, int error,
                        ts_err err);
/* Takes [offset, offset + length) of the disk for a file before anything is written there. TS_SSD_NO_ROOM: it is full. File
 * systems that cannot promise room get zeros there instead. */
int32_t ts_ssd_allocate(ts_ssd_table *t, const ts_ssd_file *file, uint64_t offset, uint64_t length, ts_err err);
/* The ballast file is so long from now on, or, where the disk refuses, as long as it was. */
void ts_ssd_ballast_resize(ts_ssd_table *t, uint64_t bytes);
void ts_ssd_ballast_remove(ts_ssd_table *t);
void *ts_ssd_take_memory(ts_ssd_table *t, uint64_t bytes); /* charged; NULL if refused */
void *ts_ssd_take_needed(ts_ssd_table *t, uint64_t bytes); /* the same for a put that cannot do without */
void ts_ssd_give_memory(ts_ssd_table *t, void *memory, uint64_t bytes);

/* ---- shared.c ---- */
void ts_ssd_join(ts_ssd_table *t);
/* Frees what is idle if this was the last table. */
void ts_ssd_leave(ts_ssd_table *t);
/* Of at least so many bytes, aligned, charged; without memory if refused. */
ts_ssd_buffer ts_ssd_take_buffer(ts_ssd_table *t, uint64_t bytes);
void ts_ssd_give_buffer(ts_ssd_table *t, ts_ssd_buffer *buffer);
/* One buffer that fits this table's compaction stays with the tier from now on; false: DRAM refuses it. */
bool ts_ssd_keep_last(ts_ssd_table *t);
/* Waits for it where another table's compaction has it; whoever has it waits for nothing but the device. */
ts_ssd_buffer ts_ssd_take_last(ts_ssd_table *t);
void ts_ssd_give_last(ts_ssd_table *t, ts_ssd_buffer *buffer); /* or any other */

/* ---- files.c: the set of files and the bytes charged for them ---- */
/* Charges; survivors and live maps may use the whole reserve, puts what is not kept for survivors. */
bool ts_ssd_charge(ts_ssd_table *t, uint64_t bytes, bool survivors);
void ts_ssd_discharge(ts_ssd_table *t, uint64_t bytes);
/* append held: makes sure that the table can have `fresh` more records and still replace each one. TS_SSD_NO_ROOM, or
 * TS_EFULL where DRAM refuses. */
int32_t ts_ssd_promise(ts_ssd_table *t, uint32_t fresh, ts_err err);
/* append and state held: records were removed; what was kept for them goes back. */
void ts_ssd_release(ts_ssd_table *t);
/* append held: room for so many bytes of a file that is charged for them, out of the ballast where the disk is full. */
int32_t ts_ssd_file_extend(ts_ssd_table *t, ts_ssd_file *file, uint64_t offset, uint64_t length, ts_err err);
int32_t ts_ssd_file_create(ts_ssd_table *t, uint32_t stream, uint32_t chunk_records, ts_ssd_file **out, ts_err err);
int32_t ts_ssd_file_add(ts_ssd_table *t, ts_ssd_file *file, ts_err err); /* gives it an id */
/* append and state held: one live record less; dooms the file if it was the last. */
void ts_ssd_file_lose(ts_ssd_table *t, ts_ssd_file *file);
/* append held: what must be on the medium before files go that checkpoints had records in. */
int32_t ts_ssd_sync_moved(ts_ssd_table *t, ts_err err);
void ts_ssd_file_doom_if_dead(ts_ssd_table *t, ts_ssd_file *file);
void ts_ssd_file_drop(ts_ssd_table *t, ts_ssd_file *file, bool unlink_it);
/* append held: deletes doomed files that may go; returns bytes freed. */
uint64_t ts_ssd_reap(ts_ssd_table *t);
void ts_ssd_header_make(const ts_ssd_table *t, const ts_ssd_file *file, uint32_t count, unsigned char *block);

/* ---- log.c: chunks and streams; append held ---- */
#define TS_SSD_NO_ROOM 1 /* beside the statuses: the medium's limit; compact and try again */
/* Adds one record to a stream; publishes nothing. */
int32_t ts_ssd_append(ts_ssd_table *t, uint32_t stream, const ts_ssd_record *record, ts_location *location, ts_err err);
int32_t ts_ssd_write_out(ts_ssd_table *t, ts_err err); /* everything, waits */
int32_t ts_ssd_seal_stream(ts_ssd_table *t, uint32_t stream, ts_err err);
void ts_ssd_streams_free(ts_ssd_table *t);
/* The record if it is in memory. state or append held. */
const unsigned char *ts_ssd_in_memory(const ts_ssd_table *t, const ts_ssd_file *file, uint32_t record);
uint32_t ts_ssd_chunk_records(const ts_ssd_table *t, const ts_ssd_layout *layout);
/* Makes the index tell where appended records are (keys may be in it or not, room is reserved), and their old places
 * garbage, or retained by t->cuts[cut] (-1: none). */
void ts_ssd_publish(ts_ssd_table *t, uint32_t n, const int64_t *keys, const uint64_t *hashes,
                    const ts_location *locations, int32_t cut);

/* ---- put.c ---- */
int32_t ts_ssd_put(ts_records *records, uint32_t n, const int64_t *keys, const uint64_t *versions,
                   const unsigned char *const *rows, const uint8_t *known, ts_err err);
int32_t ts_ssd_put_as_of(ts_records *records, uint32_t n, const int64_t *keys, const uint64_t *versions,
                         const unsigned char *const *rows, ts_err err);
int32_t ts_ssd_remove(ts_records *records, uint32_t n, const int64_t *keys, const uint8_t *known, ts_err err);
int32_t ts_ssd_flush(ts_records *records, ts_err err);

/* ---- read.c ---- */
int32_t ts_ssd_get(ts_records *records, uint32_t n, const int64_t *keys, unsigned char *const *rows, uint8_t *found,
                   ts_err err);
int32_t ts_ssd_contains(ts_records *records, uint32_t n, const int64_t *keys, uint8_t *found, ts_err err);
int32_t ts_ssd_walk_some(ts_records *records, uint64_t *cursor, uint32_t n, int64_t *keys, uint64_t *versions,
                         unsigned char *const *rows, uint32_t *got, ts_err err);
extern const ts_records_sweeps ts_ssd_sweeps; /* sweep.c */
void ts_ssd_readers_free(ts_ssd_table *t); /* the idle ones; no table uses them */

/* ---- compact.c; no lock held ---- */
/* hopeless: there is no garbage to make it of; only says so. */
int32_t ts_ssd_make_room(ts_ssd_table *t, bool hopeless, ts_err err);
/* Compacts while there is too much garbage, or wakes the thread that does. */
void ts_ssd_tidy(ts_ssd_table *t);
void *ts_ssd_compactor(void *table);

/* ---- cuts.c: checkpoints of an open table ---- */
extern const ts_records_cuts ts_ssd_cuts;
/* Whether cuts[cut] may have a record that is replaced now; cut -1: false. append or state held. */
bool ts_ssd_in_cut(const ts_ssd_table *t, ts_location location, int32_t cut);
/* Its record is dead and stays for cuts[cut], or no longer does; append and state held. */
void ts_ssd_retain(ts_ssd_table *t, ts_ssd_file *file, uint32_t record, uint32_t cut);
void ts_ssd_release_retained(ts_ssd_table *t, ts_ssd_file *file, uint32_t record, uint32_t cut);
static inline bool ts_ssd_is_retained(const ts_ssd_file *file, uint32_t record, uint32_t cut) {
  const uint64_t *bits = file->retained[cut].bits;
  return bits != NULL && (bits[record / 64] >> (record % 64) & 1) != 0;
}
/* Whether the bits are there for all that the file retains. */
bool ts_ssd_retained_known(const ts_ssd_file *file);
void ts_ssd_retained_free(ts_ssd_table *t, ts_ssd_file *file);
/* append held: how many records of a file the checkpoint can have: those before it began. */
uint32_t ts_ssd_count_before(const ts_ssd_file *file, uint64_t cut);
/* ", and the checkpoints 3, 4 retain 10 records ...", or nothing. state held. */
void ts_ssd_say_retained(const ts_ssd_table *t, char *out, size_t cap);

/* ---- image.c: files of checkpoints ---- */
/* compacting held, all of its records are synchronized: writes the file of cuts[cut], durably. */
int32_t ts_ssd_image_write(ts_ssd_table *t, uint32_t cut, const void *note, uint32_t note_bytes, ts_err err);
int32_t ts_ssd_image_remove(ts_ssd_table *t, uint64_t number, ts_err err);
/* Numbers of those in the folder, rising; free them. Removes what was not finished. */
int32_t ts_ssd_image_list(ts_ssd_table *t, uint64_t **numbers, uint32_t *count, ts_err err);
typedef struct ts_ssd_read_image {
  unsigned char *bytes; /* ts_ssd_give_memory */
  uint64_t length;
  ts_ssd_image header;
  ts_ssd_image_tail tail;
  const unsigned char *note;
  const ts_ssd_image_entry **entries; /* by number; free() */
} ts_ssd_read_image;
int32_t ts_ssd_image_read(ts_ssd_table *t, uint64_t number, ts_ssd_read_image *out, ts_err err);
void ts_ssd_image_free(ts_ssd_table *t, ts_ssd_read_image *image);
/* NULL: it does not list the file. */
const ts_ssd_image_entry *ts_ssd_image_find(const ts_ssd_read_image *image, uint64_t number);

/* ---- restore.c ---- */
/* Opens the table at one of the n checkpoints that there are. */
int32_t ts_ssd_restore(ts_ssd_table *t, const uint64_t *checkpoints, uint32_t n, ts_err err);

/* ---- recover.c ---- */
int32_t ts_ssd_recover(ts_ssd_table *t, ts_err err);
typedef struct ts_ssd_found {
  ts_ssd_file *file;
  uint64_t size;
  uint32_t counted; /* by its header */
  bool newest;      /* of its stream */
} ts_ssd_found;
/* Numbers of the log files, rising; free them. */
int32_t ts_ssd_list(ts_ssd_table *t, uint64_t **numbers, uint32_t *count, ts_err err);
/* Opens one and judges its header; found->file stays NULL for an empty one, which is deleted unless it is in use. */
int32_t ts_ssd_open_file(ts_ssd_table *t, uint64_t number, bool in_use, unsigned char *block, ts_ssd_found *found,
                         ts_err err);
/* Sets what locations and layouts depend on. */
void ts_ssd_measure(ts_ssd_table *t, const ts_ssd_found *found, uint32_t n);
/* Puts a record into the index unless it knows a newer one. */
int32_t ts_ssd_index_record(ts_ssd_table *t, ts_ssd_file *file, uint32_t slot, const ts_ssd_record *record,
                            unsigned char *scratch, ts_err err);
uint64_t ts_ssd_scratch_bytes(const ts_ssd_table *t); /* of the above */
/* Room for reading whole pages of the files, at most 2 MiB unless a page is longer; a huge page where there is one to be had. NULL:
 * the budget refuses even one page. */
unsigned char *ts_ssd_take_pages(ts_ssd_table *t, const ts_ssd_found *found, uint32_t n, uint64_t *bytes);
void ts_ssd_give_pages(ts_ssd_table *t, unsigned char *buffer, uint64_t bytes);
/* append held, nothing in memory unwritten. */
int32_t ts_ssd_write_map(ts_ssd_table *t, ts_err err);

#endif
