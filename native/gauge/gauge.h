/* gauge.h - a medium of this machine asked what it takes: the questions of ts_media_evaluate, answered by doing the
 * accesses. Three kinds of medium:
 *   - memory: of the process, bound to a NUMA node if one is named;
 *   - file: memory that a file system maps (DAX, or a memory file system; never a page cache), written as memory is;
 *   - drive: a file read and written past the page cache, `threads` requests always under way; none that is memory.
 * Files have no name (O_TMPFILE) and are gone with the process; a device itself is never opened.
 *
 * Memory is timed by the clock of the thread that accesses it: a thread that waits for a core is not waiting for memory.
 * What other threads of the machine take of the medium meanwhile stays in the figure. A drive is timed by the wall. */
#ifndef TS_GAUGE_H
#define TS_GAUGE_H

#include "base/base.h"

#define TS_GAUGE_CPUS 1024u
#define TS_GAUGE_LINE 64u
#define TS_GAUGE_BLOCK 4096u /* of a drive */
#define TS_GAUGE_DEPTH 1024u

typedef enum ts_gauge_kind { TS_GAUGE_MEMORY, TS_GAUGE_FILE, TS_GAUGE_DRIVE } ts_gauge_kind;
typedef enum ts_gauge_op { TS_GAUGE_LOAD, TS_GAUGE_NT, TS_GAUGE_CACHED, TS_GAUGE_FLUSH, TS_GAUGE_OPS } ts_gauge_op;

struct ts_gauge {
  ts_gauge_kind kind;
  unsigned char *memory; /* NULL of a drive */
  uint64_t bytes;
  int file; /* -1 of memory */
  uint32_t cpus;
  uint64_t cpu[TS_GAUGE_CPUS];
  uint64_t seed; /* another one each time, so that no access order is learnt */
};

/* One question, as ts_media_evaluate has them. */
typedef struct ts_gauge_query {
  bool latency;
  ts_gauge_op op;
  uint32_t bytes, threads;
  bool sequential, fenced, mixed;
  double read_share; /* of the bytes, where mixed */
  uint64_t region;   /* 0: half of the memory */
} ts_gauge_query;

/* Whether this CPU has the operation. */
bool ts_gauge_has(ts_gauge_op op);
/* out[0]: ns, or bytes/s of all threads; out[1]: bytes/s that others moved beside a latency. */
int32_t ts_gauge_memory(ts_gauge *gauge, const ts_gauge_query *query, uint64_t ns, double out[2], ts_err err);
int32_t ts_gauge_drive(ts_gauge *gauge, const ts_gauge_query *query, uint64_t ns, double out[2], ts_err err);

#endif
