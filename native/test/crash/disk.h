/* disk.h - a disk in memory behind ts_disk_ops that records what is done to it, fails where it is told to, and can be had back as
 * a crash would have left it.
 *
 * What a crash may leave is what base/disk.h says: of each file, what its last good sync made durable, and of the later
 * writes any part, by sectors of 512 bytes, with any length that the file has had since; of each folder, what its last good
 * sync made durable, and the first few of the operations since. After a sync that failed, the writes before it are never
 * durable, whatever is synchronised later. */
#ifndef TS_TEST_CRASH_DISK_H
#define TS_TEST_CRASH_DISK_H

#include "base/disk.h"

#define LAB_PATH 96u
#define LAB_SECTOR 512u

typedef struct lab_inode {
  unsigned char *bytes;
  uint64_t length, capacity;
} lab_inode;
typedef struct lab_entry {
  char path[LAB_PATH];
  int inode; /* -1: a folder */
} lab_entry;
/* Contents of a disk. The folder "/" is always there. */
typedef struct lab_state {
  lab_inode *inodes;
  lab_entry *entries;
  uint32_t inode_count, inode_capacity, entry_count, entry_capacity;
} lab_state;

typedef enum lab_op_kind { LAB_FOLDER, LAB_CREATE, LAB_WRITE, LAB_TRUNCATE, LAB_SYNC, LAB_RENAME, LAB_UNLINK, LAB_SYNC_FOLDER, LAB_MARK } lab_op_kind;
typedef struct lab_op {
  lab_op_kind kind;
  int inode;
  bool failed; /* of a sync: it did nothing */
  bool lied;   /* of a sync: it did nothing and said it had */
  uint64_t offset, bytes, grain;       /* offset: of a truncation, the length; grain: of what is torn, LAB_SECTOR or a word of 8 bytes */
  uint32_t threads;                    /* of stores: whose, a bit each; of a sync: of whose stores */
  unsigned char *data;                 /* written */
  char path[LAB_PATH], to[LAB_PATH];   /* to: of a rename */
  uint64_t mark;                       /* of whoever drives the disk */
} lab_op;

/* The last two are of reading: of looking for a file, of a folder's list, of bytes; the others of what changes something. */
typedef enum lab_fault { LAB_NO_FAULT, LAB_EIO, LAB_ENOSPC, LAB_SHORT, LAB_LIE, LAB_READ_EIO, LAB_READ_SHORT, LAB_FAULTS } lab_fault;

typedef struct lab_handle {
  int inode; /* -2: free, -1: a folder's lock */
  char path[LAB_PATH];
} lab_handle;

typedef struct lab_disk {
  ts_disk_ops ops; /* first */
  pthread_mutex_t lock;
  lab_state base, now; /* what was there when recording began, and is there */
  lab_op *log;
  uint32_t op_count, op_capacity;
  lab_handle handles[256];
  lab_fault fault;
  uint64_t fault_at, changes, reads; /* the operation that fails, counted over those of its kind; those so far */
  bool fault_met;
  uint32_t fault_op; /* the log's length then */
} lab_disk;

void lab_disk_begin(lab_disk *disk); /* empty */
void lab_disk_end(lab_disk *disk);
uint32_t lab_disk_files(const lab_disk *disk);
/* What is written to a file by stores of thread 0 or 1 into memory: it cannot fail, and is torn by words. Returns the file's inode. */
int lab_disk_store(lab_disk *disk, int file, const void *from, uint64_t bytes, uint64_t offset, uint32_t thread);
/* What this thread stored to the file is durable. */
void lab_disk_drain(lab_disk *disk, int inode, uint32_t thread);
/* A point in the log, for whoever drives the disk. */
void lab_disk_mark(lab_disk *disk, uint64_t mark);

/* Which of a kind of sync is taken for nothing, when images are made: "" none. See lab_sync_name. */
typedef struct lab_image_choice {
  uint32_t point;    /* operations that were begun */
  uint32_t style;    /* 0: nothing that was not durable is there, 1: all is, 2: names without data, 3: data without names, from 4: drawn */
  uint64_t seed;     /* of what is drawn */
  const char *without; /* syncs of this name count as not done; NULL: none */
} lab_image_choice;
/* What is there is durable, and the log begins anew: a disk that was crashed may be crashed again. */
void lab_disk_settle(lab_disk *disk);
/* The disk of a crash. The image has no log; end it with lab_disk_end. */
void lab_image(const lab_disk *disk, const lab_image_choice *choice, lab_disk *image);
/* What a sync is of: "data", "manifest", "compacted data", "folder", "folder above". */
const char *lab_sync_name(const lab_op *op);

#endif
