/* memory_mode_sample.h - Memory Mode at any size: how often a row finds its cache lines in the DRAM that stands in front
 * of PMEM, by sampling rows instead of keeping a tag for every line.
 *
 * The cache is direct-mapped with 64-byte lines and is indexed by physical addresses. Rows come in any order of
 * popularity over their pages, so what shares a line's place with a row is a random row of each page that has the same
 * place in the cache. How many pages that are is the kernel's doing:
 *
 *   random       pages of 4 KiB anywhere: their number is Poisson with mean (bytes of all tables) / (bytes of the cache)
 *   contiguous   physically contiguous (1 GiB pages): as evenly as possible; none if everything fits
 *
 * A sample is one access of a row, drawn in proportion to how often its kind of row is asked for: which rows share its
 * place, whether one of them came since its last access (a race: theirs against its own), which of them come in the same
 * step, and in which order. Then the line goes through the published state machine: lookups read, updates write, in the
 * order of the step. What is counted is the outcome for the row's own read and write. Rows of a batch come once
 * (duplicates are found before), as everywhere in the simulator.
 *
 * Same seed, same counts, on any number of threads: every sample has random numbers of its own and counts are whole. */
#ifndef TS_SIMULATOR_MEMORY_MODE_SAMPLE_H
#define TS_SIMULATOR_MEMORY_MODE_SAMPLE_H

#include "simulator/demand.h"

/* The state machine of one line. */
typedef struct ts_mm_line {
  uint32_t owner; /* whose line is there; UINT32_MAX: nobody's */
  bool dirty;
} ts_mm_line;
typedef enum ts_mm_result { TS_MM_HIT, TS_MM_CLEAN, TS_MM_DIRTY, TS_MM_RESULTS } ts_mm_result;
ts_mm_result ts_mm_touch(ts_mm_line *line, uint32_t owner, bool write);

typedef struct ts_mm_options {
  double cache_bytes;
  bool contiguous, trains; /* trains: every row that is looked up is also written */
  uint64_t seed;
  uint32_t samples, threads;
} ts_mm_options;

/* Shares of the row accesses, reads and writes, by what happened. Errors: TS_ENOMEM. */
int32_t ts_mm_sample(const ts_demand_table *tables, uint32_t count, const ts_mm_options *options,
                     double shares[2][TS_MM_RESULTS], ts_err err);

#endif
