/* store.h - the inside of a store: tables over tiers. Shared by the files of this folder only.
 *
 * Locks, in the order in which they may be taken:
 *   tables   whoever adds a table
 *   growth   whoever moves first-tier memory between tables; taken with no table lock held
 *   table    one batch call on one table at a time; calls on different tables run side by side
 *   buffers  the list of idle batch buffers
 * A call takes its buffer before it locks its table and never waits for a second one, so whoever waits for a buffer
 * holds neither `growth` nor a table. The list of tables only grows, and its length is published after its entry. */
#ifndef TS_STORE_H
#define TS_STORE_H

#include "cache/clock.h"
#include "emulation/emulation.h"
#include "index/index.h"
#include "optimizers/optimizer.h"
#include "store/budget.h"
#include "store/initializer.h"
#include "store/rows.h"
#include "store/statistics.h"
#include "tiers/tier.h"

#define TS_MAX_TIERS 2u /* what the storage types of today need; TS_INDEX_MAX_TIERS is the format's limit */
#define TS_MAX_TABLES 4096u

typedef struct ts_store_tier {
  ts_tier tier;
  ts_budget budget;
  ts_emulation *emulation; /* NULL: none */
} ts_store_tier;

typedef struct ts_table {
  ts_store *store;
  char *name;
  uint64_t name_hash;
  uint32_t number, dim, slots;
  uint32_t slot_bytes; /* of one padded slot */
  uint64_t stride;     /* bytes a row: slots * slot_bytes */
  ts_optimizer optimizer;
  ts_initializer initializer;
  pthread_mutex_t lock;
  ts_index index;
  uint64_t index_grant; /* bytes already charged for the index's next growth */
  ts_rows rows[TS_MAX_TIERS];
  uint64_t shortage; /* rows that found no free place in the first tier since the last rebalancing */
} ts_table;

/* Working memory of one batch call. */
typedef struct ts_batch {
  struct ts_batch *next;
  unsigned char *memory;
  uint64_t bytes;
  /* carved out of memory for the call: */
  uint32_t capacity, count; /* distinct keys */
  int64_t *keys;
  uint64_t *hashes;
  ts_location *locations;
  unsigned char **rows;
  uint32_t *inverse; /* position -> distinct, when all positions fit */
  uint32_t *slots;   /* hash table of distinct + 1 */
  uint32_t slot_mask;
  float *sums;       /* [capacity][stride of gradients], updates only */
  size_t sum_stride; /* floats */
  unsigned char *spare_row; /* one row, for rows that change places or are written whole */
} ts_batch;

struct ts_store {
  const char *storage;
  uint32_t tier_count;
  ts_store_tier tiers[TS_MAX_TIERS];
  ts_memory_mode *memory_mode; /* NULL: none */
  uint64_t seed;
  bool rows_only;
  ts_epochs epochs;
  ts_blocks *blocks; /* of the indexes */
  float normal[TS_NORMAL_PIECES + 1];
  pthread_mutex_t growth;
  pthread_mutex_t tables_lock;
  _Atomic uint32_t table_count;
  ts_table *tables[TS_MAX_TABLES];
  pthread_mutex_t buffers_lock;
  pthread_cond_t buffer_free;
  ts_batch *idle;
  uint64_t batch_limit; /* bytes of one batch's working memory */
  uint64_t assured;     /* bytes of the largest buffer there is, idle or in use: every table can work with it */
  _Atomic uint64_t calls_to_rebalance;
  _Atomic uint64_t statistics[TS_STATISTIC_COUNT];
};

static inline void ts_count(ts_store *store, ts_statistic which, uint64_t n) {
  if (n > 0) atomic_fetch_add_explicit(&store->statistics[which], n, memory_order_relaxed);
}

/* ---- tables.c ---- */
int32_t ts_store_table(ts_store *store, uint32_t number, ts_table **out, ts_err err);
void ts_table_destroy(ts_table *table);

/* ---- batch.c: finding the distinct keys of a batch in bounded memory ---- */

/* A buffer for `n` keys whose gradients take sum_floats each (0: none); waits for one when memory is short. */
ts_batch *ts_batch_acquire(ts_table *table, uint64_t n, uint32_t sum_floats);
void ts_batch_release(ts_store *store, ts_batch *batch);
/* Makes sure that one buffer can hold at least a few rows of this table. */
int32_t ts_batch_prepare(ts_table *table, ts_err err);

/* One part of a batch: the keys whose hash ends in `part` out of `parts`, a power of two. Hashes of different keys
 * differ, so parts can be halved until they fit. */
typedef struct ts_part {
  uint64_t parts, part;
} ts_part;
/* Collects the distinct keys of the part in order of first appearance; false if they do not fit. */
bool ts_batch_collect(ts_batch *batch, ts_part part, const int64_t *keys, uint64_t n);
/* The distinct number of keys[i] in a collected part. */
uint32_t ts_batch_distinct(const ts_batch *batch, int64_t key, uint64_t hash);
static inline bool ts_part_has(ts_part part, uint64_t hash) { return (hash & (part.parts - 1)) == part.part; }
/* Calls visit(context, part) for parts that fit the buffer, in a fixed order, collected. Stops at a failure. */
int32_t ts_batch_parts(ts_batch *batch, const int64_t *keys, uint64_t n,
                       int32_t (*visit)(void *context, ts_part part), void *context);

/* ---- room.c ---- */

/* Locks the table with room for every key of the batch that has no row: index slots and rows. TS_EFULL leaves the
 * table unchanged and unlocked. *single tells that the batch is one part, still collected and located. */
int32_t ts_room_for(ts_table *table, ts_batch *batch, const int64_t *keys, uint64_t n, bool *single, ts_err err);
/* Moves the rows of the last first-tier chunk down, keeping recently used ones by swapping; growth and table locked. */
int32_t ts_room_release_chunk(ts_table *table);
/* Lets memory flow to the tables that need it; no lock held. */
void ts_room_rebalance(ts_store *store);

/* ---- stall.c: what an emulated medium costs over the real one ---- */

/* Rows of the batch in a tier. */
uint64_t ts_batch_rows_in(const ts_batch *batch, uint32_t tier);
/* Model time beyond the rows' share of the real time for the whole batch. */
uint64_t ts_batch_excess(const ts_batch *batch, uint64_t rows, uint64_t real_ns, uint64_t model_ns);
/* Time of the Memory Mode model's misses for one access to every row of the batch; 0 without the model. */
uint64_t ts_memory_mode_excess(ts_table *table, const ts_batch *batch, uint32_t bytes, bool write);

/* ---- move.c: rows of one batch into and out of the first tier ---- */

/* Finds or makes a place for every collected key: after it batch->rows[i] points at the row. Table locked, room made. */
void ts_move_resolve(ts_table *table, ts_batch *batch, bool promote);
void ts_move_unpin(ts_table *table, ts_batch *batch);
/* Writes first-tier row `row` to a free place of the second tier and updates the index. */
void ts_move_down(ts_table *table, uint64_t row);

#endif
