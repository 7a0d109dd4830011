/* lab.h - the crash lab: a store's workload is recorded, crashed at every operation in many ways, opened again, and compared with
 * what was committed. A store under test is named by a lab_subject: what it does to a disk, and what it says a disk holds. */
#ifndef TS_TEST_CRASH_LAB_H
#define TS_TEST_CRASH_LAB_H

#include "test/crash/disk.h"

/* What opening a disk gave. */
typedef enum lab_answer {
  LAB_STATE,   /* a state, with its digest */
  LAB_NOTHING, /* there is nothing yet */
  LAB_REFUSED  /* words say what is wrong */
} lab_answer;

/* That a state may be found from here on, or (acknowledged) that an older one may not. */
typedef struct lab_promise {
  uint32_t point;
  bool acknowledged;
  uint64_t digest;
} lab_promise;

/* One run of a workload. */
typedef struct lab_run {
  lab_disk disk;
  uint64_t seed;
  lab_promise *promises;
  uint32_t promise_count, promise_capacity;
  char problem[1024]; /* what the workload itself saw go wrong; "" nothing */
} lab_run;

/* Called by workloads: right before a state may become durable, and after it was said to be. */
void lab_may_commit(lab_run *run, uint64_t digest);
void lab_acknowledge(lab_run *run, uint64_t digest);
/* Keeps the first problem. */
void lab_problem(lab_run *run, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Whether the disk has failed once in this run, so that a call may have failed for that. */
bool lab_failed(const lab_run *run);

typedef struct lab_subject {
  const char *name;
  /* A workload drawn from run->seed on run->disk. */
  void (*run)(lab_run *run);
  lab_answer (*open)(const ts_disk_ops *disk, uint64_t *digest, ts_err err);
  /* Opens a disk, goes on from it as a store would after a crash, and checks that; false with words. NULL: it is not tried. The
   * disk's log has what `open` did to the image. */
  bool (*go_on)(lab_disk *disk, uint64_t seed, ts_err err);
  /* What no crash does: files damaged, swapped, taken from elsewhere; false with words if one was not refused by name. NULL: none. */
  bool (*tamper)(uint64_t seed, ts_err err);
} lab_subject;

typedef struct lab_limits {
  uint64_t points;         /* crash points at the least */
  uint32_t drawn;          /* images a point beside the four that are always tried */
  uint32_t fault_runs;     /* runs with a fault at an operation that is drawn */
  uint32_t fault_stride;   /* beside them every so manyth operation of one run fails, in every way; 0: none */
  bool read_faults;        /* in workloads reads fail, too; when an image is opened, they always do */
  uint32_t tampered;       /* runs of tamper */
  bool stop_at_first;
  const char *without;     /* syncs of this name count as not done: lab_image_choice */
  uint64_t seed;
} lab_limits;

typedef struct lab_report {
  uint64_t runs, points, images, gone_on, faults, tampered, wrong;
  char words[1600]; /* of the first wrong one */
} lab_report;

/* Adds to the report. */
void lab_try(const lab_subject *subject, const lab_limits *limits, lab_report *report);

/* The seeded bug of base/seeded_bug.h that is there now; NULL: none. */
extern const char *lab_bug;
/* Names of all that are in the sources of files, of the store, of PMEM tables and of restore points, each ended by NULL. */
extern const char *const lab_bugs[], *const lab_store_bugs[], *const lab_pmem_bugs[], *const lab_points_bugs[];
/* Names of syncs (lab_sync_name), ended by NULL. */
extern const char *const lab_syncs[];

extern const lab_subject lab_checkpoints; /* subject_checkpoints.c */
extern const lab_subject lab_store;       /* subject_store.c */
/* subject_points.c: stores with restore points, on each storage type that keeps them; ended by NULL. */
extern const lab_subject *const lab_points[];
extern const lab_subject lab_pmem_fsdax, lab_pmem_file; /* subject_pmem.c: a table on fsdax, and on another file system */

#endif
