/* engine.h - training steps in virtual time: what a step asks of cores, media, links and locks, with the overlap that
 * the trainer and parameter servers really have.
 *
 * Two shapes.
 *
 * One host (servers 0). The tables are in the memory of the machine that trains; its `cores` look up, compute and update:
 *
 *   parse(k) -> [prefetch(k)] -> lookups of the tables(k) -> dense(k): forward and backward, then gradients -> updates(k)
 *                                        `-> eviction(k), in the background
 *
 *   Batches are parsed `ahead` steps before they are needed by threads of the stage (0: by the step itself, first).
 *   prefetch: the stage brings rows from lower tiers up. async: lookups of step k + 1 run beside the dense part of step
 *   k, each before the update of its table. micro: dense work is cut into that many pieces, gradients of one are computed
 *   beside the next. Eviction frees what promotion took; lookups of step k + lag wait for it (back-pressure), and without
 *   background threads lookups do it themselves. The layers and tables of a step are shared by all cores.
 *
 * Parameter servers (servers >= 1). `workers` processes on hosts of `per_host`, each with its own accelerator or cores;
 * rows are spread evenly over the servers:
 *
 *   parse(k) -> pull: request -> server reads rows -> answer, for every server -> dense(k) -> push of gradients ->
 *   all have pushed (barrier) -> update at the server -> pulls of k + 1.       all-reduce of dense weights after dense(k)
 *
 *   maintenance = critical: rows are promoted and evicted, and the order of rows is kept, while a pull or a push is
 *   served; gap: by background threads between the pulls and the update, which waits for them.
 *   A lock that all requests of a server share is held `lock_ps` for each row (in the gap: by pulls alone) and, with lock_misses, while rows are
 *   brought up (with one tier: while they are read and written); each further worker that asks at the same time lengthens it by lock_contention.
 *
 * Every duration comes from counts of rows (expected ones with a seeded spread: `variance`) and the media model; a
 * medium whose link is full-duplex gives reads and writes turns of their own. */
#ifndef TS_SIMULATOR_ENGINE_H
#define TS_SIMULATOR_ENGINE_H

#include "media/media.h"
#include "simulator/timeline.h"

#define TS_SIM_TIERS 4u
#define TS_SIM_TABLES 1024u

/* What time counts as. */
typedef enum ts_sim_kind {
  TS_SIM_PARSE, TS_SIM_PULL, TS_SIM_LOOKUP, TS_SIM_DENSE, TS_SIM_ALLREDUCE, TS_SIM_PUSH, TS_SIM_UPDATE, TS_SIM_EVICTION,
  TS_SIM_MAINTENANCE, TS_SIM_MIGRATION, TS_SIM_FAULTS, TS_SIM_KINDS
} ts_sim_kind;
extern const char *const ts_sim_kind_names[TS_SIM_KINDS + 1];

/* Rows of one table a step. */
typedef struct ts_sim_table {
  double distinct, variance;     /* of one worker's batch */
  double all;                    /* of all workers' batches together */
  double in_tier[TS_SIM_TIERS];  /* of `all` */
  double lookups;                /* keys of one worker's batch, duplicates counted */
  uint32_t value_bytes, row_bytes; /* weights; weights and slots */
  bool in_place; /* its rows stay in the tiers that they are in */
} ts_sim_table;

typedef struct ts_sim_tier {
  ts_medium medium;
  char name[TS_MEDIUM_NAME];
  uint32_t round;          /* rows take a multiple of this */
  uint32_t hops;           /* NUMA hops of `remote` of the accesses */
  double remote;           /* share of the accesses */
  uint32_t depth;          /* accesses that a core keeps under way, where the medium's threads stand for them (SSDs) */
  ts_media_op write;       /* how rows are written */
  bool fenced;
  uint64_t region;         /* bytes that rows are spread over; 0: not known */
  uint64_t read_ps, write_ps; /* added to each access by one core: page walks, calls */
} ts_sim_tier;

/* DRAM as a direct-mapped cache of lines in front of the second tier. Shares of row accesses. */
typedef struct ts_sim_memory_mode {
  bool on;
  double read_clean, read_dirty, write_clean, write_dirty; /* misses by what the victim was; the rest hits */
  double known;                                            /* of write hits: the line is known to be there */
} ts_sim_memory_mode;

typedef struct ts_sim {
  uint64_t seed;
  uint32_t steps, warmup;
  uint32_t workers, per_host, servers;
  uint32_t cores, background, stage_threads;
  uint32_t ahead, micro, lag;
  bool prefetch, async, promote, accelerator;
  bool activations; /* outputs and gradients of a batch are written to and read from the first tier, a row a key; else caches hold them */
  bool prefetchers; /* of the processors are on, as they are delivered */
  bool trains; /* rows that are looked up are updated; else they leave a tier without being written */
  bool gap, lock_misses;
  uint64_t parse_ps, dense_ps; /* core time of parsing a batch; time of dense work of one worker on all its cores */
  double dense_spread; /* coefficient of variation of a worker's dense time and rest from step to step, log-normal */
  uint64_t rest_ps; /* time of a worker's step after its rows are updated: dense optimizer, framework */
  uint64_t key_ps, row_ps, update_ps; /* core time a key, a distinct row looked up, a row updated */
  uint64_t contend_ps; /* that each such row takes longer for each other thread at the same memory */
  uint64_t lock_ps, upkeep_ps; /* a row under the lock; a different row of all batches that is kept in order */
  uint64_t track_ps;           /* a key that is looked up where rows can leave their tier: its use is told to the policy */
  uint64_t miss_ps;            /* a row that is brought up and the one that leaves for it, beside their accesses */
  double lock_contention;
  double rows_in_flight; /* rows that one thread waits for at the same time; 0: as many as the medium's lines allow */
  double allreduce_bytes, net_bandwidth; /* bytes/s */
  uint64_t net_latency_ps, message_ps; /* message_ps: that a message holds each end of its link beside its bytes */
  double fault_count, fault_ps;               /* page faults of a step */
  double migrate_count, migrate_ps;           /* pages moved a step by the kernel */
  uint32_t page_bytes;
  double flush_rows; /* rows a step that a checkpoint writes again to the last tier */
  ts_sim_memory_mode memory_mode;
  uint32_t tier_count, table_count;
  ts_sim_tier tier[TS_SIM_TIERS];
  ts_sim_table *tables;
} ts_sim;

/* Accesses of one kind by one thread of several. */
typedef struct ts_access_kind {
  uint32_t tier, bytes, threads, hops; /* threads: that do such accesses at the same time */
  bool write;
} ts_access_kind;

#define TS_ACCESS_COSTS 64u /* kinds of accesses whose costs are kept */

/* What came out. */
typedef struct ts_sim_outcome {
  ts_timeline line;
  uint32_t *step_task;  /* the task that ends each step, warm-up included */
  double bytes[TS_SIM_TIERS][2]; /* moved, counted steps: reads, writes */
  double accesses[TS_SIM_TIERS][2];
  double net_bytes;
  uint32_t asked;                       /* kinds of accesses that the media were asked for, the first TS_ACCESS_COSTS */
  ts_access_kind ask[TS_ACCESS_COSTS];
} ts_sim_outcome;

/* Reads the options; see tierstore.h. Errors: TS_EINVAL, TS_ENOMEM. */
int32_t ts_sim_read(const ts_config *config, ts_sim *out, ts_err err);
void ts_sim_free(ts_sim *sim);
/* Errors: TS_ENOMEM. */
int32_t ts_sim_run(const ts_sim *sim, ts_sim_outcome *out, ts_err err);
void ts_sim_outcome_free(ts_sim_outcome *out);

#endif
