/* store.h - the inside of a store: tables over tiers. Shared by the files of this folder only.
 *
 * A table is divided by the high bits of the key's hash into shards. A shard has its part of everything: an index of the
 * rows in memory, the rows themselves in each memory tier, a policy, a lock. Below the memory tiers there may be one
 * tier of records (SSDHASH, LEVELDB), which knows by itself what it holds.
 *
 *   fast.c      rows in the first tier, looked up without a lock; the rest is left to
 *   fetch.c     reads records ahead, without a lock, for
 *   records.c   puts and removes records
 *   bring.c     decides which rows come up (promotion), are created or refused, a shard at a time under its lock, and
 *   place.c     carries that out
 *   evict.c     moves rows down (demotion): called by place.c, or by the background threads of evictors.c
 *   room.c      lets DRAM flow to the shard, or the index, that needs it
 *   spare.c     gives back memory that removed rows leave
 *   update.c    one optimizer step: makes sure of all rows, then
 *   step.c      steps them
 *   cut.c       holds a state fast while calls go on, cut_walk.c writes it, refill.c brings it back
 *   kept.c      cuts that stay in the tier that outlives the process: restore points
 *   gauges.c    what the first tier would hit at other sizes
 *
 * Locks, in the order in which they may be taken:
 *   cutting  whoever begins or ends a cut, or brings one back
 *   tables   whoever adds a table
 *   gate     no lock, but a wait, of calls that hold nothing (cut.h); closed by a cut's beginning and end
 *   growth   whoever moves first-tier memory between shards; taken with no shard locked
 *   shard    whoever changes a shard; never two at a time
 *   work     the list of idle working memory
 *   fetching the table's list of calls that read records ahead
 *   evictors the queue of background eviction
 *   a cut's slices, then its filters, then what its sink locks
 *   the sampler of gauges (cache/reuse.h), which nothing is locked in
 * A call takes its working memory before it locks a shard and never waits for a second one. Lock-free readers are inside
 * an epoch (base/epoch.h) for a few hundred keys at a time; a place in the first tier is used for another row only after
 * those that might look at it have left. */
#ifndef TS_STORE_H
#define TS_STORE_H

#include "base/disk.h"
#include "base/epoch.h"
#include "cache/policy.h"
#include "cache/reuse.h"
#include "emulation/emulation.h"
#include "index/index.h"
#include "optimizers/optimizer.h"
#include "optimizers/row_layout.h"
#include "store/admission.h"
#include "store/cut.h"
#include "tiers/budget.h"
#include "store/folder.h"
#include "store/initializer.h"
#include "store/rows.h"
#include "store/statistics.h"
#include "store/storage_type.h"
#include "base/owner.h"
#include "tiers/records.h"
#include "tiers/tier.h"

#define TS_MAX_TIERS TS_STORAGE_TIERS
#define TS_MAX_MEMORY_TIERS TS_STORAGE_TIERS
#define TS_MAX_TABLES 4096u
#define TS_MAX_SHARDS 64u
#define TS_NOT_ADMITTED 7u /* code of an index entry that counts lookups of a key without a row */

typedef struct ts_table ts_table;

typedef struct ts_store_tier {
  const char *type, *place;
  ts_tier tier;                   /* memory tiers */
  const ts_records_ops *records;  /* else */
  void *records_options;
  const char *directory;
  ts_budget budget;
  ts_emulation *emulation; /* NULL: none */
} ts_store_tier;

typedef struct ts_shard {
  _Alignas(64) pthread_mutex_t lock;
  ts_table *table;
  ts_index index;
  uint64_t index_grant; /* bytes already charged for the index's next growth */
  ts_rows rows[TS_MAX_MEMORY_TIERS];
  uint64_t recorded;    /* rows in memory that have a record below, too */
  uint64_t steal_hand;  /* of the search for copies to give up */
  bool full;            /* has looked for a victim: keep some places free from now on */
  /* By tier, down to DRAM: rows that left it, or got no place there, since the last rebalancing. */
  _Atomic uint64_t evictions[TS_MAX_MEMORY_TIERS];
  uint64_t lately, age; /* room.c: evictions when it last looked, and how long rows stay */
  /* evictors.c */
  struct ts_shard *next_queued;
  bool queued;
} ts_shard;

struct ts_table {
  ts_store *store;
  char *name;
  uint64_t name_hash;
  uint32_t number;
  ts_row_layout layout;
  ts_optimizer optimizer;
  ts_initializer initializer;
  ts_admission admission;
  ts_expiry expiry;
  uint32_t shard_bits, shard_count;
  ts_shard *shards;
  const ts_index *indexes[TS_MAX_SHARDS];
  ts_rows_view first[TS_MAX_SHARDS]; /* rows of the first tier */
  ts_records *records; /* NULL: no such tier */
  _Atomic bool doubtful; /* records.c: an error left open what the records are */
  pthread_mutex_t fetching;
  struct ts_work *fetches; /* fetch.c: calls that read records ahead */
  _Atomic bool tracking;    /* lookups tell the policies: not before rows may have to leave */
  pthread_mutex_t expiring; /* the position of expiry */
  _Atomic uint64_t statistics[TS_STATISTIC_COUNT];
  ts_reuse_table reuse;
  char *options; /* all that it was created with, "key=value" lines */
  /* cut.c: change while the gate is closed alone. */
  ts_changes changes;      /* with track_changes */
  uint64_t *spare_changes; /* as many words, zeros, for the next cut; NULL while one has them */
  ts_cut *cut;             /* NULL: none is open */
  bool steps_on_device;    /* where the first tier is one: it gives the bits of the host's rule; else rows step here */
  uint8_t turn;            /* TS_ROW_TURN or 0: kept.c */
  bool kept;               /* its files have a restore point, and stay when it closes */
  bool resumed;            /* it came with the point that the store was opened at; nobody has created it again yet */
};

/* Working memory of one slow lookup, update or other call: arrays for up to `capacity` distinct keys. */
typedef struct ts_work {
  struct ts_work *next, *next_fetch;
  unsigned char *memory;
  uint64_t bytes;
  /* carved out of memory for the call: */
  uint32_t capacity, count; /* distinct keys */
  int64_t *keys;
  uint64_t *hashes;
  uint32_t *times;            /* occurrences, counted by lookups */
  const float **gradients;    /* updates */
  ts_location *locations;     /* of one shard's keys at a time */
  unsigned char **rows;       /* the same */
  uint8_t *state;             /* bring.c */
  uint32_t *order;            /* numbers of keys, by shard */
  uint8_t *fetched;           /* records: what was read of the key is what there is; shard locked */
  uint8_t *passed;            /* lookups with a filter: it had counted the key often enough before the call */
  uint32_t *picked;           /* records: numbers of the keys that are read */
  uint8_t *found;             /* records: which were */
  uint32_t *slots;            /* hash table of key number + 1 */
  uint32_t slot_mask;
  unsigned char *staging;     /* [staging_capacity] rows of staging_bytes */
  uint32_t staging_capacity;
  uint64_t staging_bytes;
  float *sums; /* [capacity][sum_stride], updates only */
  uint32_t sum_stride;
  unsigned char *spare_row;
  uint32_t starts[TS_MAX_SHARDS + 1]; /* of each shard in `order` */
} ts_work;

typedef struct ts_evictors ts_evictors;

/* descent.c */
typedef struct ts_descent {
  pthread_mutex_t lock;
  pthread_cond_t left;
  uint32_t inside, shares; /* calls, and how many of them have borrowed memory */
} ts_descent;

struct ts_store {
  ts_epochs epochs;
  ts_owner owner;
  const char *storage;
  uint32_t tier_count;
  uint32_t memory_tiers; /* the first so many; the last tier may be records */
  uint32_t dram;         /* the tier whose limit pays for what lies beside rows, storage_type.h */
  ts_store_tier tiers[TS_MAX_TIERS];
  ts_memory_mode *memory_mode; /* NULL: none */
  ts_folder folder; /* of the tier of records */
  ts_link_counts link_before; /* of a device, when counters were last set to 0 */
  uint64_t seed;
  bool rows_only;
  uint32_t level; /* of kernels: ts_cpu_level */
  uint32_t shards; /* a table */
  ts_policy_kind policy;
  ts_blocks *blocks;
  uint64_t block_slack; /* bytes that they may hold beside what is taken; charged as buffers of the first tier */
  float normal[TS_NORMAL_PIECES + 1];
  _Atomic int64_t step;
  _Atomic bool stepped; /* somebody sets it */
  pthread_mutex_t growth;
  pthread_mutex_t tables_lock;
  _Atomic uint32_t table_count;
  ts_table *tables[TS_MAX_TABLES];
  pthread_mutex_t work_lock;
  pthread_cond_t work_free;
  ts_work *idle;
  uint64_t work_limit; /* bytes of one call's working memory */
  uint64_t assured;    /* bytes of the largest there is, idle or in use: every table can work with it */
  uint32_t largest_works; /* how many there are of that size; never 0 once there is a table */
  _Atomic uint64_t calls_to_rebalance;
  ts_evictors *evictors; /* NULL: calls evict for themselves */
  ts_reuse *reuse;       /* of lookups; NULL: opened without gauges */
  ts_descent descent;
  ts_gate gate;
  bool track_changes;
  /* Of a store whose last tier outlives the process (option "persistent"). */
  bool persistent, resumable; /* resumable: its folder has restore points, and none has been taken up yet */
  uint64_t opens_at, *opens_control; /* the point that tables are opened at, 0: they are new ones; and who watches */
  bool opens_to_look; /* whether they can be: ts_records_options */
  uint64_t resumed_at;        /* the point that was taken up; 0: none */
  struct ts_keeper *keeper;   /* whoever makes restore points ... */
  void (*end_keeper)(ts_store *store); /* ... and ends before tables close; NULL: nobody yet */
  pthread_mutex_t cutting;
  ts_cut *cut; /* the open one, or NULL */
  /* What the changes of all tables are counted from: whoever keeps cuts says it in its own words; zeros: nothing. */
  unsigned char origin[TS_ORIGIN_BYTES];
  /* What everything that is to last is written through, and what PMEM pools are (NULL: ts_pmem_system). Tests bring their own. */
  const ts_disk_ops *disk;
  const ts_pmem_ops *pmem;
};

static inline void ts_count(ts_table *table, ts_statistic which, uint64_t n) {
  if (n > 0) atomic_fetch_add_explicit(&table->statistics[which], n, memory_order_relaxed);
}

static inline unsigned char *ts_work_staging(const ts_work *work, uint32_t number) {
  return work->staging + number * work->staging_bytes;
}
/* Shifts by 64 are undefined, so the shift is split. */
static inline uint32_t ts_shard_number(const ts_table *table, uint64_t hash) {
  return (uint32_t)(hash >> 1 >> (63 - table->shard_bits));
}
static inline ts_shard *ts_shard_of(const ts_table *table, uint64_t hash) {
  return &table->shards[ts_shard_number(table, hash)];
}
/* Whether the first tier is a device's memory, which the CPU cannot look into. */
static inline bool ts_is_on_device(const ts_store *store) {
  return store->memory_tiers > 0 && store->tiers[0].tier.ops->device != NULL;
}
static inline bool ts_has_records(const ts_store *store) { return store->memory_tiers < store->tier_count; }
static inline ts_store_tier *ts_records_tier(ts_store *store) { return &store->tiers[store->memory_tiers]; }
/* Rows can leave the first tier. */
static inline bool ts_is_tiered(const ts_store *store) { return store->memory_tiers > 0 && store->tier_count > 1; }
/* ... the tier that pays for what lies beside rows, so that rows can make room for that. */
static inline bool ts_is_dram_left(const ts_store *store) {
  return store->memory_tiers > 0 && store->dram + 1 < store->tier_count;
}
/* The limit that index, policies, buffers and working memory count against. */
static inline ts_budget *ts_dram_budget(const ts_store *store) {
  return (ts_budget *)(uintptr_t)&store->tiers[store->dram].budget;
}

/* What every call with a store begins with: it is there, and of this process. what: "read statistics". */
int32_t ts_store_check(const ts_store *store, const char *what, ts_err err);
/* ts_store_open with what is to last written through `disk`, and PMEM pools through `pmem`, NULL: ts_pmem_system. */
int32_t ts_store_open_on(const ts_config *config, const ts_disk_ops *disk, const ts_pmem_ops *pmem, ts_store **out, ts_err err);

/* One row of a locked shard as the CPU can read it; ts_rows_see. */
static inline int32_t ts_row_see(ts_shard *shard, ts_location l, const unsigned char **row, ts_err err) {
  const uint64_t slot = TS_LOCATION_ROW(l);
  return ts_rows_see(&shard->rows[TS_LOCATION_TIER(l)], 1, &slot, row, err);
}

/* ---- entries.c ---- */

#define TS_ENTRIES 256u
typedef struct ts_entries {
  uint32_t n;
  int64_t keys[TS_ENTRIES];
  ts_location locations[TS_ENTRIES];
  const unsigned char *rows[TS_ENTRIES]; /* as ts_rows_see has them; NULL: the key waits, or no rows were asked for */
} ts_entries;
/* The next entries of a locked shard's index, at most `most`; n is 0 at the end. Errors: those of a device. */
int32_t ts_entries_next(ts_shard *shard, ts_index_cursor *cursor, uint32_t most, bool with_rows, ts_entries *out, ts_err err);

/* ---- tables.c ---- */
int32_t ts_store_table(ts_store *store, uint32_t number, ts_table **out, ts_err err);
void ts_table_destroy(ts_table *table);
/* Refuses options ("key=value" lines) that differ, but for the learning rate: "Cannot <what> table "<name>": option ... in <here>
 * and ... in <there>". Errors: TS_EINVAL. */
int32_t ts_table_same_options(const char *what, const char *name, const char *ours, const char *here, const char *theirs,
                              const char *there, ts_err err);

/* ---- descent.c: no shard locked ---- */
void ts_descent_init(ts_descent *d);
void ts_descent_destroy(ts_descent *d);
/* Around whatever may move rows into the tier of records. */
void ts_descent_begin(ts_store *store);
/* False, and nothing to end, where that would have to wait; so it may be called with the lock on growth. */
bool ts_descent_try(ts_store *store);
void ts_descent_end(ts_store *store);
/* Bytes of the first tier that each has for itself. */
uint64_t ts_descent_share(const ts_store *store);

/* ---- work.c: working memory, and the distinct keys of a batch in it ---- */

typedef enum ts_work_kind { TS_WORK_LOOKUP, TS_WORK_UPDATE } ts_work_kind;
/* Working memory for up to `n` distinct keys; waits for one when memory is short. */
ts_work *ts_work_acquire(ts_table *table, uint64_t n, ts_work_kind kind);
void ts_work_release(ts_store *store, ts_work *work);
/* Makes sure that one can hold at least a few rows of this table. */
int32_t ts_work_prepare(ts_table *table, ts_err err);

/* One part of a batch: the keys whose hash ends in `part` out of `parts`, a power of two. Hashes of different keys
 * differ, so parts can be halved until they fit. */
typedef struct ts_part {
  uint64_t parts, part;
} ts_part;
static inline bool ts_part_has(ts_part part, uint64_t hash) { return (hash & (part.parts - 1)) == part.part; }
void ts_work_clear(ts_work *work);
/* Where the search begins: the shard is in the high bits and the part in the low ones, so the middle says it. */
static inline uint32_t ts_work_slot(const ts_work *work, uint64_t hash) { return (uint32_t)(hash >> 24) & work->slot_mask; }
/* The number of a key, added if it is new; UINT32_MAX if it does not fit. */
static inline uint32_t ts_work_add(ts_work *work, int64_t key, uint64_t hash) {
  for (uint32_t at = ts_work_slot(work, hash);; at = (at + 1) & work->slot_mask) {
    if (work->slots[at] == 0) {
      if (work->count == work->capacity) return UINT32_MAX;
      const uint32_t number = work->count++;
      work->slots[at] = number + 1;
      work->keys[number] = key;
      work->hashes[number] = hash;
      work->times[number] = 0;
      return number;
    }
    const uint32_t number = work->slots[at] - 1;
    if (work->keys[number] == key) return number;
  }
}
/* Makes the keys that are there already, all different, findable by their present numbers. */
void ts_work_renumber(ts_work *work);
/* The number of a key, or UINT32_MAX. */
uint32_t ts_work_find(const ts_work *work, int64_t key, uint64_t hash);
/* Prefetches what finding a key reads first. */
void ts_work_approach(const ts_work *work, uint64_t hash);
/* The number of a key that was added. */
uint32_t ts_work_number(const ts_work *work, int64_t key, uint64_t hash);
/* Fills order and starts. */
void ts_work_by_shard(const ts_table *table, ts_work *work);

/* ---- traffic.c: what a call did to an emulated medium, and what the model says it should have taken ---- */

typedef struct ts_traffic {
  uint64_t reads, writes; /* whole rows of the emulated tier, by moves */
  uint64_t ticks;         /* real time for them */
  uint64_t start, start_ticks;
  uint64_t others; /* what the medium was busy for the other side when this began */
  bool background; /* moves of a background thread */
} ts_traffic;
/* The tier that is emulated, or UINT32_MAX. */
uint32_t ts_traffic_tier(const ts_store *store);
void ts_traffic_begin(const ts_store *store, ts_traffic *traffic);
/* Says that what began are moves of a background thread: they share the medium with the calls. */
void ts_traffic_in_background(const ts_store *store, ts_traffic *traffic);
/* Writes and reads a row of a memory tier, counted where it is emulated. */
void ts_traffic_write(ts_shard *shard, uint32_t tier, uint64_t row, const void *from, ts_traffic *traffic);
void ts_traffic_read(ts_shard *shard, uint32_t tier, uint64_t row, void *to, ts_traffic *traffic);
/* Waits for the rest of the model's time; no lock held. */
void ts_traffic_wait(ts_table *table, ts_traffic *traffic);
/* The same for rows that a call read or changed where they are: distinct keys of single-tier PMEM, and what the Memory Mode
 * cache makes of DRAM rows. `real_ns`: what the call took. */
void ts_traffic_in_place(ts_table *table, const int64_t *keys, uint64_t n, uint64_t real_ns, bool write);
/* Rows changed in place in the emulated tier. */
void ts_traffic_updated(ts_table *table, uint64_t rows, uint64_t real_ns);

/* ---- fast.c: rows in the first tier ---- */

#define TS_FAST_BLOCK 256u
/* Looks up keys[0..n), n <= TS_PIECE, and writes the rows that are in the first tier to out, `stride` floats apart; sets a
 * bit in `missed` for each other one. Returns how many missed. out may be NULL: only looks. times[i]: lookups that key i
 * counts as; NULL: 1. */
#define TS_PIECE 65536u
uint64_t ts_fast_lookup(ts_table *table, ts_epoch_slot *slot, const int64_t *keys, const uint32_t *times, uint64_t n,
                        float *out, uint64_t stride, uint64_t missed[TS_PIECE / 64]);
/* One block of at most TS_FAST_BLOCK keys, inside an epoch: rows[i] is the row or NULL. Returns how many missed. */
uint32_t ts_fast_block(ts_table *table, const int64_t *keys, uint32_t n, void **rows, uint64_t *hashes);
/* As ts_fast_lookup, but marks the keys that have no row in any memory tier. */
uint64_t ts_fast_absent(ts_table *table, ts_epoch_slot *slot, const int64_t *keys, uint64_t n,
                        uint64_t missed[TS_PIECE / 64]);

/* ---- lookup.c ---- */
/* Creates or brings up the rows of these keys that are not in memory; counts no lookup. */
int32_t ts_lookup_make_rows(ts_table *table, const int64_t *keys, uint64_t n, ts_err err);
/* Refuses what is no list of bags. */
int32_t ts_bags_check(const ts_table *table, const char *what, const int64_t *keys, const uint64_t *offsets, uint64_t bags,
                      uint32_t combiner, const void *rows, ts_err err);

/* ---- gauges.c ---- */
/* With gauges=1. limit: of the tier that pays for them; *bytes: what they take, to be charged. Errors: TS_ENOMEM. */
int32_t ts_gauges_create(ts_store *store, uint64_t limit, double rate, uint64_t *bytes, ts_err err);

/* ---- remove.c ---- */

/* Whether a row is to go; NULL: yes. */
typedef bool ts_remove_test(const ts_table *table, const unsigned char *row);
/* Rows that had expired before are in *removed only if there is a test. */
int32_t ts_remove_rows(ts_table *table, const int64_t *keys, uint64_t n, ts_remove_test *test, uint64_t *removed, ts_err err);
/* A row of a memory tier, with what lies of it below; its shard is locked. */
int32_t ts_remove_in_memory(ts_shard *shard, int64_t key, ts_location location, ts_err err);

/* ---- expire.c ---- */
/* The moment of bf16 rounding where steps are set; elsewhere it is the number of the update call. */
#define TS_STEP_MOMENT(step) (UINT64_MAX - (uint64_t)(step))
static inline int64_t ts_step(const ts_store *store) { return atomic_load_explicit(&store->step, memory_order_relaxed); }
static inline bool ts_may_expire(const ts_table *table) { return table->expiry.by_steps || table->expiry.by_weight; }
/* Whether the row counts as absent: nobody may be given it, and who meets it under its shard's lock takes it away. */
bool ts_row_has_expired(const ts_table *table, const unsigned char *row);
static inline bool ts_row_expired(const ts_table *table, const unsigned char *row) {
  return ts_may_expire(table) && ts_row_has_expired(table, row);
}
/* A piece of the table's expiry, if it has one: looks at up to `rows` rows. */
int32_t ts_expire_piece(ts_table *table, uint64_t rows, uint64_t *removed, ts_err err);
/* Takes away all rows that have expired, if the table has expiry. Inside the gate. */
int32_t ts_expire_sweep(ts_table *table, ts_err err);
/* The same for who is outside. */
int32_t ts_expire_all(ts_table *table, ts_err err);

/* A row's version as its record has it: 0, which takes no space there, for a row that was never updated or keeps none. */
static inline uint64_t ts_record_version(const ts_row_layout *layout, const void *row) {
  return (uint64_t)ts_row_version(layout, row) + 1;
}

/* ---- records.c: puts and removals of records ---- */

/* Puts records of keys of one locked shard; known[i] (ts_record_known) says whether keys[i] has one, NULL: nobody knows.
 * Calls that read ahead are told. */
int32_t ts_records_put(ts_table *table, uint32_t n, const int64_t *keys, const uint64_t *versions,
                       const unsigned char *const *rows, const uint8_t *known, ts_err err);
/* Removes the record of a key that has one, whose shard is locked. */
int32_t ts_records_remove(ts_table *table, int64_t key, ts_err err);
/* Whether the key has a record, asked of the tier; false after an error, too. */
bool ts_records_has(ts_table *table, int64_t key);

/* ---- fetch.c: records read ahead ---- */

/* Reads the records of work's keys that memory does not hold to their staging places; work->fetched tells which were
 * read, work->state which of those there are. No lock held. ts_fetch_end must follow, whatever the status. */
int32_t ts_fetch_begin(ts_table *table, ts_work *work, ts_err err);
void ts_fetch_end(ts_table *table, ts_work *work);
/* The same for the keys of these numbers, whose shard is locked. */
int32_t ts_fetch_again(ts_table *table, ts_work *work, const uint32_t *numbers, uint32_t n, ts_err err);
/* Records of these keys, of one locked shard, were put or removed. */
void ts_fetch_changed(ts_table *table, const int64_t *keys, uint32_t n);

/* ---- bring.c, place.c: misses ---- */

/* How keys without a place in the first tier are served. */
typedef struct ts_bring {
  ts_table *table;
  ts_work *work;
  bool count;                    /* lookups: admission counts occurrences */
  bool existing;                 /* keys without a row stay without; nothing is counted */
  bool again;                    /* the call has looked them up before: what was not admitted then is not now */
  bool fetched;                  /* ts_fetch_begin was called, keys are by shard */
  bool stay;                     /* nothing moves down for them: without a free place they are served where they are */
  const ts_optimizer_call *call; /* updates: rows step with work->gradients; NULL: lookups */
  const unsigned char *const *images; /* by number of the key: rows become these bytes, whatever admission says */
  bool fill;                     /* new rows take free places of the first tier, and make none */
  uint64_t *stepped;             /* with call: counts the rows that have taken their step, or may have when a put failed */
} ts_bring;
/* Whether rows change by it, beside what it counts. */
static inline bool ts_bring_changes(const ts_bring *b) { return b->call != NULL || b->images != NULL; }
/* The outcome for a key, in work->state. */
enum { TS_BROUGHT = 1, TS_NO_ROW_YET = 2 };
/* Serves work's keys: lookups leave each row's weights (fp32) at the key's staging place, updates step the rows. */
int32_t ts_bring_all(const ts_bring *bring, ts_err err);
/* A new row of a key; `scratch` holds dim floats. */
void ts_row_start(const ts_table *table, int64_t key, unsigned char *row, float *scratch);
/* Marks a row of a memory tier as changed: what lies below is not its copy any more. Shard locked. */
void ts_row_changed(ts_shard *shard, uint32_t tier, uint64_t row);

/* ---- record_walk.c ---- */

/* `row` is NULL where only keys are asked for. No shard is locked. */
typedef void ts_record_visit(void *context, int64_t key, const unsigned char *row);
/* Visits every row that is a record, not in memory too and not expired. Without rows nothing is read where the records know their
 * keys. */
int32_t ts_records_each(ts_table *table, bool with_rows, ts_record_visit *visit, void *context, ts_err err);

/* ---- evict.c ---- */

/* Moves up to `want` rows of a memory tier down by the policy; *freed tells how many places that gave. Shard locked. */
int32_t ts_evict(ts_shard *shard, uint32_t tier, uint32_t want, uint32_t *freed, ts_traffic *traffic, ts_err err);
/* Up to `want` free places in a lower memory tier, making them if it can; returns how many there are. */
uint64_t ts_evict_places(ts_shard *shard, uint32_t tier, uint64_t want, int32_t *status, ts_traffic *traffic, ts_err err);
/* Removes up to `want` records of rows that are in memory, too, to make room for others; returns how many. */
uint32_t ts_give_up_records(ts_shard *shard, uint32_t want);

/* ---- evictors.c ---- */
int32_t ts_evictors_create(ts_store *store, uint32_t threads, ts_evictors **out, ts_err err);
void ts_evictors_destroy(ts_evictors *evictors);
uint64_t ts_evictors_bytes(uint32_t threads);
/* Has the shard looked after if it is short of free places; shard locked. */
void ts_evictors_call(ts_shard *shard);
/* Waits until there is nothing to do. */
void ts_evictors_settle(ts_evictors *evictors);

/* ---- room.c ---- */

/* Frees first-tier memory by taking rows from shards, and charges it for the next growth of this shard's index. No lock
 * held. TS_EFULL: there is none to free. */
int32_t ts_room_free(ts_shard *shard, uint64_t bytes, ts_err err);
/* Makes so much of the first tier free for a table that is new; false if there is not so much to free. No lock held but
 * that on tables. */
bool ts_room_make(ts_store *store, uint64_t bytes);
/* Restores the headroom for buffers when growth had to use it, and lets memory flow to the shards that need it. No lock
 * held. */
void ts_room_balance(ts_store *store);
/* The first of these alone. */
void ts_room_restore(ts_store *store);
/* Gives up the last chunk of the shard's first tier, whose rows can leave it. Shard locked. */
int32_t ts_room_release(ts_shard *shard, uint32_t tier, ts_traffic *traffic, ts_err err);
/* Gets first-tier memory for a shard that has no row there. No lock held. */
void ts_room_feed(ts_shard *shard);

/* ---- tracking.c: maps of changes ---- */

/* With track_changes, of a new table. Errors: TS_EFULL. */
int32_t ts_tracking_begin(ts_table *table, ts_err err);
void ts_tracking_end(ts_table *table);
/* Maps without a change, of another size; false: there is no room, they are what they were. Gate closed, no cut open. */
bool ts_tracking_resize(ts_table *table, uint32_t log2);
/* Two maps for so many rows, if those of the table are too small and there is room for larger ones. */
bool ts_tracking_grow(ts_table *table, uint64_t rows, uint64_t *pair[2], uint32_t *log2);
void ts_tracking_give_back(ts_store *store, uint64_t *words, uint32_t log2); /* NULL: nothing */

/* ---- cut.c ---- */

/* What there was of a key: its row, or else a place of the index for a key that waits, or TS_LOCATION_NONE. */
typedef struct ts_touched {
  int64_t key;
  const unsigned char *row;
  ts_location location;
} ts_touched;
/* Whether changes must be told. */
static inline bool ts_is_watched(const ts_table *table) {
  return TS_UNLIKELY(table->cut != NULL || table->changes.words != NULL);
}
/* Before these keys of a locked shard change (also: come, go, or are counted), or their rows move up, which is no change. */
void ts_touch(ts_table *table, const ts_touched *touched, uint32_t n, bool change);
static inline void ts_touch_one(ts_table *table, int64_t key, const unsigned char *row, ts_location location, bool change) {
  if (ts_is_watched(table)) ts_touch(table, &(ts_touched){key, row, location}, 1, change);
}
/* Flags of a row that gets a place in memory: what a point or a cut under way is done with. Its shard is locked. */
uint8_t ts_cut_new_row(const ts_table *table, uint64_t hash);
/* Before the key is counted in the table's Bloom filter. */
void ts_touch_filter(const ts_table *table, int64_t key);

/* Begins a cut: waits for the calls under way. delta: of what changed since the last one that was kept. Errors: TS_EINVAL
 * (another one is open; delta without track_changes), TS_EFULL (no room for its buffers). */
int32_t ts_cut_begin(ts_store *store, bool delta, ts_cut_sink *sink, void *context, ts_cut **out, ts_err err);
/* The same for a restore point: of a store with persistent=1. Errors: as above; those of ts_records_cuts' begin. */
int32_t ts_cut_begin_in_place(ts_store *store, uint64_t number, ts_cut_sink *sink, void *context, ts_cut **out, ts_err err);
/* Gives all of it to the sink, beside whatever calls there are. Once. Errors: those of the sink; TS_ECANCELLED; of records
 * TS_EIO, TS_EFORMAT. */
int32_t ts_cut_write(ts_cut *cut, uint64_t *control, ts_err err);
/* Ends it. kept: changes count from it on; otherwise from where they did before. NULL: nothing. */
void ts_cut_end(ts_cut *cut, bool kept);

/* The state beside its rows. */
typedef struct ts_cut_state {
  int64_t step;
  bool stepped; /* somebody has set it */
  uint32_t tables;
} ts_cut_state;
typedef struct ts_cut_table_state {
  const char *name, *options;
  const ts_row_layout *layout;
  uint64_t updates; /* calls */
  uint64_t rows;    /* about so many, now */
  float learning_rate;
  uint32_t changes_log2; /* of the map that later deltas have; 0: changes are not kept */
} ts_cut_table_state;
ts_cut_state ts_cut_state_of(const ts_cut *cut);
ts_cut_table_state ts_cut_table_state_of(const ts_cut *cut, uint32_t table);

/* ---- kept.c: the tier that outlives the process, and its restore points ---- */

typedef struct ts_kept {
  const ts_records_cuts *cuts;
  ts_records *state;
} ts_kept;
/* Whether stores of this type can have restore points. Errors: TS_EUNSUPPORTED in words. */
int32_t ts_kept_check(const ts_storage_type *type, ts_err err);
#define TS_POINTS "points" /* in the folder of a persistent store: what its restore points are beside the kept tier */
/* Of a table of a persistent store. */
ts_kept ts_table_kept(const ts_table *table);
/* Before rows of a memory tier become records, at most so many as are put together; and before the record of a row in memory
 * goes. Shard locked. */
void ts_kept_before_leaving(ts_shard *shard, uint32_t tier, const uint64_t *slots, uint32_t n);
void ts_kept_before_loss(ts_shard *shard, uint32_t tier, uint64_t row);
/* After ts_cut_write, before ts_cut_end: makes it durable in every table. Errors: of ts_records_cuts' complete. */
int32_t ts_kept_complete(ts_cut *cut, const void *note, uint32_t bytes, ts_err err);
/* Drops the points of all tables that are none of these; the only complete one of a table stays. Errors: TS_EIO. */
int32_t ts_kept_tidy(ts_store *store, const uint64_t *numbers, uint32_t n, ts_err err);

/* ---- refill.c: a cut, or a chain of them, brought back ---- */

typedef struct ts_refill ts_refill;
/* Waits for the calls under way; all others wait until the end. Tables may be created meanwhile, by this thread. Errors: TS_EINVAL (a table has rows or waiting keys, a cut is open), TS_ENOMEM. */
int32_t ts_refill_begin(ts_store *store, ts_refill **out, ts_err err);
/* What comes in is what a restore point has beside the rows that tables were opened with: of keys that have one nothing waits. */
void ts_refill_over(ts_refill *refill);
/* What rows expire by comes before them; of an end that is not kept it is what it was. */
void ts_refill_state(ts_refill *refill, int64_t step, bool stepped);
/* About how many rows will come to a table: its index makes room ahead, if that is where all rows are looked up. */
void ts_refill_expect(ts_refill *refill, uint32_t table, uint64_t rows);
/* Whether parts, but those of BEFORE, may come in any order, and from several threads at once: rows have one place
 * to be, and no table has keys that wait. Once all tables are there. */
bool ts_refill_any_order(const ts_refill *refill);
/* Once all tables' rows are expected: a thread has their pages ready, until the end. */
void ts_refill_warm(ts_refill *refill);
/* Once all has come in. */
void ts_refill_table_state(ts_refill *refill, uint32_t table, uint64_t updates, float learning_rate);
/* A part, by the tables' numbers here; of a cut BEFORE comes behind ROWS and WAITING, and from the last block to the first.
 * Errors: TS_EFULL, TS_EIO, TS_EFORMAT, TS_ENOMEM. */
int32_t ts_refill_part(ts_refill *refill, ts_cut_part part, uint32_t table, uint32_t count, const void *bytes, uint64_t n,
                       ts_err err);
/* kept: changes count from here on; otherwise tables that were there are empty, and those created since are gone. NULL:
 * nothing. */
void ts_refill_end(ts_refill *refill, bool kept);

/* ---- spare.c ---- */

/* Gives memory of removed rows back to a tier's limit: chunks that rows can do without, and room of indexes; false if there
 * is none. growth held, no shard locked. */
bool ts_spare_sweep(ts_store *store, uint32_t tier);
/* The same with no lock held; `all`: not only of those that have much to give. */
bool ts_spare_free(ts_store *store, uint32_t tier, bool all);
/* Copies in this tier that lie from row `first` on are given up: their rows are above. Shard locked. */
void ts_spare_copies(ts_shard *shard, uint32_t tier, uint64_t first);
/* The room of one index, which may have become too large. Shard locked. */
bool ts_spare_index(ts_shard *shard);

#endif
