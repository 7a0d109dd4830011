/* pmem.h - persistent memory behind ts_pmem_ops on the lab's disk: stores and drains become operations of its log, so that a crash
 * may come before each, and leaves any of the aligned words of 8 bytes that were not drained, or, where the medium is a file
 * system without DAX, not synchronised. */
#ifndef TS_TEST_CRASH_PMEM_H
#define TS_TEST_CRASH_PMEM_H

#include "base/pmem.h"
#include "test/crash/disk.h"

typedef struct lab_pmem {
  ts_pmem_ops ops; /* first */
  lab_disk *disk;
  bool is_pmem;    /* a drain makes durable; else a sync alone */
  pthread_mutex_t lock;
  pthread_t first; /* who began */
  uint32_t thread; /* as whom that one stores and drains now, 0 or 1: a drain is of what the same one stored; all others are 1 */
  int dirty[2][64]; /* of each, files with stores since its last drain */
  uint32_t dirty_count[2];
} lab_pmem;

void lab_pmem_begin(lab_pmem *pmem, lab_disk *disk, bool is_pmem);

#endif
