/* statistics.h - the counters of a table, one list from which the enumeration, the names and the reset are made. Those of
 * a store are the sums. They grow until ts_store_reset_statistics.
 *
 * A lookup of a key is a hit of the tier where its row was. A key that a call repeats is looked up each time; what was
 * brought up by its first occurrence in the call counts once for the tier where it was, and then as the first tier's. */
#ifndef TS_STATISTICS_H
#define TS_STATISTICS_H

#include "base/base.h"

#define TS_STATISTICS(X)                                                                      \
  X(lookup_calls, "calls")                                                                    \
  X(lookup_keys, "keys")                                                                      \
  X(tier0_hits, "keys")          /* looked-up keys found in the first tier */                 \
  X(tier1_hits, "keys")          /* ... in the second, each once a call */                    \
  X(tier2_hits, "keys")                                                                       \
  X(tier3_hits, "keys")                                                                       \
  X(created, "rows")             /* ... in no tier, and created */                            \
  X(not_admitted, "keys")        /* ... answered with the default value, each once a call */  \
  X(update_calls, "calls")                                                                    \
  X(update_keys, "keys")                                                                      \
  X(update_distinct, "keys")     /* rows that took a step */                                  \
  X(promoted, "rows")            /* moved up to the first tier */                             \
  X(evicted, "rows")             /* moved down from the first tier */                         \
  X(evicted_clean, "rows")       /* ... of which the same bytes were below already */         \
  X(tier1_evicted, "rows")       /* moved down from the second tier */                        \
  X(tier2_evicted, "rows")                                                                    \
  X(evicted_by_calls, "rows")    /* of all: by the calling thread, the budget being full */   \
  X(in_place_reads, "rows")      /* read in a lower tier: no place above */                   \
  X(in_place_updates, "rows")    /* updated in a lower tier */                                \
  X(expired, "rows")                                                                          \
  X(removed, "rows")                                                                          \
  X(rebalanced_chunks, "chunks") /* first-tier memory moved between shards */                 \
  X(tier1_written, "bytes")      /* rows written to a lower tier: moved, created or updated there */ \
  X(tier2_written, "bytes")                                                                   \
  X(tier3_written, "bytes")                                                                   \
  X(records_read_bytes, "bytes")    /* of the tier of records, by the system */               \
  X(records_written_bytes, "bytes") /* over the rows' bytes: write amplification */           \
  X(records_compacted, "rows")                                                                \
  X(records_read_again, "rows")     /* changed or left memory while a call had read ahead */  \
  X(persisted, "rows")           /* of the tiers above the kept one, written for restore points */ \
  X(lock_wait_ns, "ns")          /* waiting for a shard, e.g. while it is evicted from */     \
  X(miss_ns, "ns")               /* misses handled: rows brought up, others moved down */      \
  X(emulation_wait_ns, "ns")     /* waiting for the media model */                            \
  X(link_up_bytes, "bytes")      /* to a device, and from it: of a store, which tables share, and not of a table */ \
  X(link_down_bytes, "bytes")                                                                 \
  X(link_transfers, "transfers")                                                              \
  X(link_host_bytes, "bytes")    /* of rows of a device that are in memory of the host: its kernels reach them over the link */ \
  X(link_ns, "ns")               /* calls that moved or stepped rows of a device */           \
  X(memory_mode_line_hits, "lines")                                                           \
  X(memory_mode_clean_misses, "lines")                                                        \
  X(memory_mode_dirty_misses, "lines")

typedef enum ts_statistic {
#define TS_STATISTIC_ENUM(name, unit) TS_STAT_##name,
  TS_STATISTICS(TS_STATISTIC_ENUM)
#undef TS_STATISTIC_ENUM
      TS_STATISTIC_COUNT
} ts_statistic;

/* One counter, summed over the tables; without those of records_*, which have to be collected. For callers that ask
 * often. */
uint64_t ts_store_counted(const ts_store *store, ts_statistic which);

#endif
