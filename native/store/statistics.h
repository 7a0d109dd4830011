/* statistics.h - the store's counters, one list from which the enumeration, the names and the reset are made. Counters
 * grow until ts_store_reset_statistics. "distinct" counts a key once per call, however often the batch repeats it. */
#ifndef TS_STATISTICS_H
#define TS_STATISTICS_H

#define TS_STATISTICS(X)                                                           \
  X(lookup_calls, "calls")                                                         \
  X(lookup_keys, "keys")                                                           \
  X(lookup_distinct, "keys")                                                       \
  X(tier0_hits, "keys")       /* distinct looked-up keys found in the first tier */ \
  X(tier1_hits, "keys")       /* ... in the second tier */                          \
  X(created, "rows")          /* ... in no tier, and created */                     \
  X(update_calls, "calls")                                                         \
  X(update_keys, "keys")                                                           \
  X(update_distinct, "keys")                                                       \
  X(promoted, "rows")         /* moved up to the first tier */                      \
  X(evicted, "rows")          /* moved down from the first tier */                  \
  X(in_place_reads, "rows")   /* read in the second tier: no place above */         \
  X(in_place_updates, "rows") /* updated in the second tier */                      \
  X(rebalanced_chunks, "chunks") /* first-tier memory moved between tables */       \
  X(eviction_ns, "ns")        /* moving rows, and creating them in a tiered store */ \
  X(emulation_wait_ns, "ns")  /* waiting for the media model */                     \
  X(memory_mode_line_hits, "lines")                                                \
  X(memory_mode_clean_misses, "lines")                                             \
  X(memory_mode_dirty_misses, "lines")

typedef enum ts_statistic {
#define TS_STATISTIC_ENUM(name, unit) TS_STAT_##name,
  TS_STATISTICS(TS_STATISTIC_ENUM)
#undef TS_STATISTIC_ENUM
      TS_STATISTIC_COUNT
} ts_statistic;

#endif
