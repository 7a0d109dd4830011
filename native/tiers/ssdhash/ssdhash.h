/* ssdhash.h - options of the SSDHASH tier: a log-structured record store of our own behind tiers/records.h.
 *
 * A table is a folder of log files. A put appends; the record it replaces becomes garbage, and compaction rewrites the
 * live records of files that are mostly garbage. The DRAM index (index/index.h) maps a key to a record number, at most
 * 16 bytes a row when its segments are full; reads go straight to the device, many at a time.
 *
 * What survives: after ts_records_ops.close with `keep`, everything; when the process dies, everything up to the last
 * flush, and whatever else had been written by then (of each key the newest record that was; a file is removed only
 * after what replaced its records is on the medium). A removal counts as written with the next flush or close: it is
 * kept in the live map (format.h), there are no tombstones. Power failure is outside: the device's cache is not
 * flushed. A table that has checkpoints (records.h, cuts.c) survives power failure, too: it is opened at one of them, and
 * has exactly its rows.
 *
 * A full disk: a record is taken only when the disk has given room for it: by fallocate, and where the file system does
 * not know that call (some of FUSE and NFS), by zeros that are written, and synchronized where they go through the page
 * cache, which makes puts slower. So what was put can be written. Where the disk has no room, garbage is compacted as at
 * the tier's limit, out of a ballast file that the table keeps for that, and then the put of new keys is TS_EFULL; keys that have
 * records can always be put (files.c), but once, when versions pass 2^32 and records grow. A file system that
 * knows no fallocate and besides compresses, or writes what is overwritten elsewhere, may still refuse when a buffer is
 * written: TS_EIO, and the records stay in memory until a later write succeeds.
 *
 * Options of the store (all may be absent):
 *   ssdhash.file_bytes     largest log file, 0: a 128th of the tier's limit, at least 64 KiB; smaller while a table is
 *                          small (a 64th of it), larger where a record needs it                       (default 0)
 *   ssdhash.buffer_bytes   one write buffer, 4 KiB .. 64 MiB; 0: a 4096th of the first tier's limit, from 16 KiB to 256
 *                          KiB; 256 KiB where only rows count. A table has one for each of its three append streams
 *                          and another while that is on its way to the disk                        (default 0)
 *   ssdhash.depth          reads in flight of one call, 1..4096; fewer, down to 16, where a call's read buffers would
 *                          take more than a 512th of the first tier's limit (below 150 MiB; not where only
 *                          rows count)                                                             (default 128)
 *   ssdhash.garbage_percent  a table compacts when more of its files than this is garbage, 5..95; it also does when the
 *                          tier's limit leaves no room                                                (default 48)
 *   ssdhash.async_compaction  0: the put that needs it compacts; 1: a thread of the table, puts only when they
 *                          find no room             (default: TF_SSDHASH_ASYNC_COMPACTION in the environment, else 0)
 *   ssdhash.io             auto | io_uring | pread: auto takes pread where the kernel refuses io_uring  (default auto)
 *   ssdhash.direct         auto | direct | buffered: auto reads and writes through the page cache where the file
 *                          system refuses O_DIRECT; ts_store_describe says which it is              (default auto) */
#ifndef TS_SSDHASH_H
#define TS_SSDHASH_H

#include "tiers/records.h"

#include <pthread.h>

#define TS_SSD_IDLE_BUFFERS 8u
typedef struct ts_ssd_buffer {
  unsigned char *memory; /* NULL: none */
  uint64_t bytes;
} ts_ssd_buffer;

/* What is idle of the tables that were opened with the same options (shared.c). */
typedef struct ts_ssd_shared {
  pthread_mutex_t lock;
  pthread_cond_t returned; /* a reader */
  uint32_t tables, busy_readers, idle_readers, idle_buffers;
  struct ts_ssd_reader *readers;
  ts_ssd_buffer buffers[TS_SSD_IDLE_BUFFERS];
  pthread_cond_t last_returned;
  ts_ssd_buffer last; /* kept for compaction, so that one of them can always go on */
  bool last_taken;
} ts_ssd_shared;

/* Constant once read, so that tables copy them. */
typedef struct ts_ssd_settings {
  uint64_t file_bytes, buffer_bytes;
  uint32_t depth, garbage_percent;
  uint32_t async_compaction;
  uint32_t io;     /* 0 auto, 1 io_uring, 2 pread */
  uint32_t direct; /* 0 auto, 1 direct, 2 buffered */
} ts_ssd_settings;

typedef struct ts_ssdhash_options {
  ts_ssd_settings settings;
  ts_ssd_shared shared;
} ts_ssdhash_options;

#endif
