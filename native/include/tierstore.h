/* tierstore.h - the public interface of libtierstore: a tiered embedding store and a Wide & Deep trainer.
 *
 * This header is the manual. It is plain C17 and is bound one to one by ffi/symbols.ts; a test compares the two.
 *
 * Conventions
 *   - Every function returns an int32_t status unless it cannot fail: TS_OK (0) or a negative ts_status.
 *   - `err`, `err_cap`: a buffer of the caller that receives a NUL-terminated message when the status is negative
 *     (what was asked, what was found, what to do). NULL with err_cap 0 is accepted. Messages are never kept in
 *     the library: there is no thread-local or global error state.
 *   - Handles are opaque pointers. A handle is created by one call and destroyed by one call, which accepts NULL;
 *     using it afterwards is undefined.
 *   - Threads: every function of a store may be called from several threads at once. Lookups of rows in memory take no
 *     lock; whatever changes a table (updates, new rows, moves between tiers) locks one shard of it at a time. A lookup
 *     that runs beside an update of the same key may see some of its weights before and some after it; a row is never
 *     lost, and never another key's. A ts_config and a trainer serve one thread at a time, and what destroys a handle is
 *     its last call.
 *   - Forks: a ts_store and a ts_trainer are of the process that opened them. In a child that was forked from it every call
 *     on them is TS_EINVAL and touches nothing; closing them there is TS_OK and leaves files, threads and memory as they
 *     are, for the parent goes on with them. A child may open a store of its own; with LevelDB only if no parent used
 *     that before (TS_EUNAVAILABLE), for LevelDB's thread is not forked. Other handles are plain memory: each process has
 *     its own copy. A fork beside a running call is the caller's risk, as it is for every program with locks.
 *   - Buffers belong to the caller, who keeps them alive for the call. A NULL buffer is accepted when its count
 *     is 0 and refused otherwise.
 *   - Text arguments are NUL-terminated UTF-8. Sizes are bytes, times are nanoseconds, rows are fp32.
 *   - Functions that return text take (out, cap, needed): they write at most cap bytes including the NUL and
 *     store in *needed the bytes the whole text takes including the NUL. A short buffer is TS_ERANGE.
 *   - Long runs take `control`, a uint64_t[TS_CONTROL_WORDS] that both sides may touch while the call runs.
 *   - The library never prints, never aborts and never installs signal handlers. All state is in handles; what the process
 *     shares is what was found out once and does not change: the optional libraries that are open, the CPU's level.
 *   - Optional system libraries (libpmem, libmemkind, libleveldb, libdnnl, libz) are opened with dlopen when first needed;
 *     a missing one is TS_EUNAVAILABLE with its name and its Debian package. io_uring needs no library: the two system
 *     calls are made directly, and where the kernel refuses them files are read with pread.
 */
#ifndef TIERSTORE_H
#define TIERSTORE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TS_API __attribute__((visibility("default")))

/* Changes whenever a signature, a status or the meaning of a buffer changes. */
#define TS_ABI_VERSION 6u

/* Status codes. */
typedef enum ts_status {
  TS_OK = 0,
  TS_EINVAL = -1,       /* an argument or an option is wrong */
  TS_ENOMEM = -2,       /* the machine has no memory left */
  TS_EFULL = -3,        /* a byte limit of the store, or the disk below it, is full; what was there is unchanged, see each function */
  TS_EUNAVAILABLE = -4, /* a library, device or kernel feature is missing */
  TS_EIO = -5,          /* reading or writing a file failed */
  TS_EFORMAT = -6,      /* a file does not have the expected form */
  TS_ECANCELLED = -7,   /* the caller asked to stop through `control` */
  TS_ERANGE = -8,       /* an output buffer is too short; *needed says how long it must be */
  TS_EUNSUPPORTED = -9, /* valid, but this build or tier does not do it */
  TS_EINTERNAL = -10,   /* a bug in the library */
  TS_EDIVERGED = -11    /* training left the finite numbers: weights or outputs of the model are infinite or NaN */
} ts_status;

/* Words of `control`. */
#define TS_CONTROL_CANCEL 0u /* caller sets non-zero: stop at the next safe point with TS_ECANCELLED */
#define TS_CONTROL_DONE 1u   /* library: units done */
#define TS_CONTROL_TOTAL 2u  /* library: units in all, 0 if unknown */
#define TS_CONTROL_HOLD 3u   /* caller: ts_trainer_train waits before the step of this number, from 1; 0: before none */
#define TS_CONTROL_WORDS 4u

typedef struct ts_config ts_config;
typedef struct ts_store ts_store;
typedef struct ts_checkpoint ts_checkpoint;
typedef struct ts_trainer ts_trainer;
typedef struct ts_ranks ts_ranks;
typedef struct ts_gauge ts_gauge;

/* ---- library -------------------------------------------------------------------------------------------- */

/* TS_ABI_VERSION of the compiled library. */
TS_API uint32_t ts_abi_version(void);

/* "0.2.0 (gcc 12.2.0)" or the like. Errors: TS_ERANGE, TS_ENOMEM. */
TS_API int32_t ts_version(char *out, uint64_t cap, uint64_t *needed);

/* "TS_EFULL" for -3, and so on. Errors: TS_EINVAL for a number that is no status. */
TS_API int32_t ts_status_name(int32_t status, char *out, uint64_t cap, uint64_t *needed);

/* ---- options -------------------------------------------------------------------------------------------- */

/* An empty list of options. Free it with ts_config_free; every call that takes a ts_config copies what it needs.
 * Errors: TS_EINVAL (out is NULL), TS_ENOMEM. */
TS_API int32_t ts_config_create(ts_config **out);
TS_API void ts_config_free(ts_config *config); /* NULL is accepted */

/* Sets one option as text; setting it again replaces it. Numbers are decimal, lists are comma-separated.
 * Keys are checked by the call that uses the options: an unknown key is TS_EINVAL there.
 * Errors: TS_EINVAL (a NULL, an empty key, more than 128 options), TS_ENOMEM. */
TS_API int32_t ts_config_set(ts_config *config, const char *key, const char *value, char *err, uint32_t err_cap);

/* ---- store ---------------------------------------------------------------------------------------------- */

/* Opens a table set over tiers. Options:
 *   storage      DRAM | PMEM_LIBPMEM | PMEM_MEMKIND | PMEM_MBIND | SSDHASH | LEVELDB | DRAM_PMEM | DRAM_SSDHASH |
 *                DRAM_LEVELDB | DRAM_PMEM_SSDHASH | DRAM_PMEM_LEVELDB | HBM | HBM_DRAM | HBM_DRAM_PMEM |
 *                HBM_DRAM_LEVELDB | HBM_DRAM_SSDHASH | HBM_DRAM_PMEM_LEVELDB | HBM_DRAM_PMEM_SSDHASH (required)
 *                NULL keeps no row, for benches: what lookups and updates cost without memory behind them. A lookup makes
 *                each row anew, with its first values; an update does all but steps, and nothing comes of it; ts_table_find
 *                finds none, all counts of rows and their bytes are 0. Invariants of rows that are kept do not hold for it
 *   pmem         libpmem | memkind | mbind: what holds the PMEM tier of *DRAM_PMEM*            (required there)
 *   hbm          memkind | mbind | opencl: what holds the HBM tier (required with HBM). memkind, mbind: NUMA nodes whose memory
 *                the CPU reads and writes itself; memkind finds those of high bandwidth, MEMKIND_HBW_NODES in the environment
 *                names others. opencl: memory of an OpenCL device, of which an eighth, at most 32 MiB, is what transfers go
 *                through; a table there has one shard, whatever "shards" says, and a process that was forked from one with
 *                such a store opens none
 *   hbm_device   with hbm=opencl: part of the name of the device or of its platform        (default: a GPU, else any)
 *   hbm_pool_steps  with hbm=opencl, 0..1000000. 0: the tier's share of the device is taken whole at opening. Else a quarter of
 *                it, and more when rows need it, as far as the device gives it, at most the share; when so many steps have
 *                ended (ts_store_set_step), one piece is made of it, of the bytes that rows have then and as many as they
 *                would take in as many steps at the second half's rate, and transfers' buffers are made as large as these
 *                steps needed them. Where old and new do not fit the share together, or the device refuses, things stay as
 *                they are. What is needed later is taken then                                     (default 0)
 *   hbm_host_bytes  with hbm=opencl: bytes of the host's memory in which the tier goes on where its share of the device is
 *                used up, or the device gives no more; kernels reach rows there over the link. They add to the tier's limit
 *                and are taken when they are needed, a quarter first; 0, or 65536 and more            (default 0)
 *   hbm_nodes    NUMA nodes of an HBM tier of mbind, as pmem_nodes                              (required with it)
 *   pmem_nodes   NUMA nodes of the mbind tier, e.g. "2,3": its pages come from the nearest of them that has room, and from
 *                no other node; for PMEM and CXL memory that is system memory, without a library  (required with mbind)
 *   path         directory of the libpmem pool file and of the SSD tier's files (required with either; default none)
 *   ssd_path     directory of the SSD tier's files, where it is another one                   (default: path)
 *   size         bytes per tier, fastest first, e.g. "25165824,1073741824"; missing entries are 1073741824 (1 GiB,
 *                DeepRec's default); more entries than tiers is TS_EINVAL. Where everything counts, a first tier has at least
 *                1 MiB, or 4 MiB with an SSD tier, whose index and buffers it holds; others 64 KiB. With HBM above DRAM, all
 *                that is said here of the first tier but for its rows is said of DRAM         (default "")
 *   size_counts  all | rows. all: rows, index, policy metadata, queues and buffers count against the limits, those
 *                kept in DRAM against the first, or DRAM's below HBM; rows: only padded rows count, as in DeepRec
 *                                                                                               (default all)
 *   seed         uint64 seed of all initialisers                                                (default 0)
 *   policy       lru | lfu | clock | s3fifo | sieve | tinylfu: which rows leave a full tier      (default clock)
 *   eviction_threads  0..64 background threads for all tables; 0: the calling thread evicts
 *                                    (default: TF_MULTI_TIER_EV_EVICTION_THREADS in the environment, else 1)
 *   shards       0..64: parts of each table that change independently, a power of two; 0: 1 for a first tier below
 *                64 MiB, else 16. Policies work in each shard for itself                         (default 0)
 *   track_changes  0 | 1: keep for each table which of its rows change, so that a checkpoint can be a delta; a bit for each
 *                of some slots, at most a 64th of the first tier a table                         (default 0)
 *   gauges       0 | 1: sample lookups, for ts_store_gauges; at most a 64th of the first tier (of DRAM below HBM), 128 KiB at
 *                least                                                                           (default 0)
 *   gauges.rate  above 0, to 0.5: with gauges=1, the share of the rows that the sample begins with, down to the next power of two;
 *                a lookup of a sampled row takes about half a microsecond more                   (default 1/4096)
 *   persistent   0 | 1: the last tier outlives the process, from one restore point (ts_store_persist) to the next. Its files are
 *                in "tierstore-kept" of the path and stay when the store closes, if it has a point; a store at a time has
 *                them. For storage types whose last tier is SSDHASH, or PMEM over libpmem: its rows are records then, which are
 *                replaced, not changed where they lie, and have an index in the first tier's DRAM, so that the first size
 *                is 4 MiB at least; "path" is their directory, and "emulate.medium" is refused. Other last tiers are
 *                volatile or keep no points, TS_EUNSUPPORTED                                     (default 0)
 *   numa_node    NUMA node to bind the DRAM tier and the index to, -1: none                      (default -1)
 *   interleave_nodes  NUMA nodes that the rows of the DRAM tier are interleaved over, page by page, by the weights in
 *                /sys/kernel/mm/mempolicy/weighted_interleave (MPOL_WEIGHTED_INTERLEAVE, Linux 6.9); index and buffers are
 *                not                                                                            (default: none)
 *   kernels      auto | avx512 | avx2 | baseline: for tests; all give the same bits               (default auto)
 *   ssdhash.*, leveldb.*  options of these tiers; see native/tiers/ssdhash/ssdhash.h, native/tiers/leveldb/leveldb.h
 *   emulate.*    slow the PMEM tier down to a media model; see native/emulation/emulation.h     (default off)
 *   memory_mode.* account row accesses through a modelled direct-mapped DRAM cache; same header (default off)
 * Errors: TS_EINVAL, TS_EUNAVAILABLE (library, device or node missing), TS_EIO (path), TS_ENOMEM. */
TS_API int32_t ts_store_open(const ts_config *config, ts_store **out, char *err, uint32_t err_cap);

/* Frees everything; trainers on the store must be closed before. NULL is accepted. Errors: none. */
TS_API int32_t ts_store_close(ts_store *store);

/* Adds a table and stores its number, counting from 0, in *table. Options:
 *   name         text, unique in the store                                                       (required)
 *   dim          weights a row, 1..65536                                                         (default 16)
 *   dtype        fp32 | bf16: of the weights; slots are fp32; bf16 is rounded stochastically, seeded  (default fp32)
 *   optimizer    sgd | adagrad | adagrad-decay | adagrad-decay-v2 | adam | adam-async | adamw | ftrl | ftrl-row-norm |
 *                rowwise-adagrad; their options and defaults: native/optimizers/optimizer.h                      (default sgd)
 *   learning_rate                                                                             (default 0.01)
 *   admission    none | counter | bloom: a key gets a row when it was looked up admission.frequency times before; until
 *                then lookups give admission.default_value and updates do nothing. counter counts exactly in the index;
 *                bloom is a counting Bloom filter, which judges 65,536 keys of a call at a time before it counts them;
 *                its name before, cbf, is read, too                                             (default none)
 *   admission.frequency      lookups that are not answered with a row, 1..2^30                     (default 1)
 *   admission.default_value                                                                       (default 0)
 *   admission.keys, .error, .counter_bits   bloom: keys expected, false positive probability, 8|16|32|64
 *                                                                                        (default 2^20, 0.01, 32)
 *   expire.steps    a row is gone when the global step is more than this beyond the step of its last update, or of its
 *                   creation where it had none                                                      (default: never)
 *   expire.l2       a row is gone whose weight was below this ...                                   (default: never)
 *   expire.l2_form  ... half-squared: 1/2 sum w^2, DeepRec's; norm: sqrt(sum w^2) ...        (default half-squared)
 *   expire.l2_every ... at the beginning of a global step that is a multiple of this; 0: only when ts_table_expire asks
 *                                                                                                  (default 1000)
 *   record_frequency, record_version  0 | 1: keep a row's lookups (4 bytes), the global step of its last update (8
 *                bytes; implied by expire.*)                                                    (default 0, 0)
 *   initializer  constant | uniform | truncated-normal | glorot | default-value-matrix  (default truncated-normal)
 *   initializer.value             constant: the value                                            (default 0)
 *   initializer.low, .high        uniform: half-open interval                                    (default -0.05, 0.05)
 *   initializer.mean, .stddev     truncated-normal: cut at two stddev                            (default 0, 0.05)
 *   initializer.fan_out           glorot: uniform in +-sqrt(6 / (dim + fan_out))                 (default dim)
 *   initializer.rows, .base       default-value-matrix: row key mod rows (unsigned) of a matrix made by
 *                                 the initialiser `base`                            (default 4096, truncated-normal)
 * A row's first values depend only on (seed, table name, key).
 * Errors: TS_EINVAL, TS_EFULL (the first tier cannot hold the table's fixed part), TS_ENOMEM. */
TS_API int32_t ts_table_create(ts_store *store, const ts_config *config, uint32_t *table, char *err, uint32_t err_cap);

/* Changes the learning rate of later updates. Errors: TS_EINVAL (not from 0 to 1e6, or 0 with ftrl). */
TS_API int32_t ts_table_set_learning_rate(ts_store *store, uint32_t table, double learning_rate, char *err,
                                          uint32_t err_cap);

/* Lookup or create: rows[i*dim .. ) becomes the weights of keys[i], for n keys in any order, duplicates allowed.
 * Absent keys are created once. Any int64 is a key. Rows of a lower tier may move to the first.
 * Errors: TS_EINVAL, TS_EFULL (no tier has room for a new row; rows created before it stay, and lookups of keys that the call
 * came to before it are counted, also for admission), TS_EIO, TS_EFORMAT, TS_ENOMEM. */
TS_API int32_t ts_table_lookup(ts_store *store, uint32_t table, const int64_t *keys, uint64_t n, float *rows, char *err,
                               uint32_t err_cap);

/* Read-only lookup: as above, but never inserts, moves or counts. found[i] is 1 or 0; absent rows are zeros.
 * `slot` 0 reads weights, 1.. the optimizer's slots (adagrad: accumulator; ftrl: n, then z; rowwise-adagrad: 1 is
 * the row's one sum, in each place). `found` may be NULL.
 * Emulated media are not waited for. Errors: TS_EINVAL, TS_EIO, TS_EFORMAT. */
TS_API int32_t ts_table_find(ts_store *store, uint32_t table, const int64_t *keys, uint64_t n, uint32_t slot, float *rows,
                             uint8_t *found, char *err, uint32_t err_cap);

/* Applies one optimizer step: gradients[i*dim .. ) belongs to keys[i]; gradients of equal keys are summed in the
 * order of the batch first. Rows in memory are updated where they are, rows of an SSD tier come to the first where it
 * has room. Errors: as ts_table_lookup. After TS_EFULL no row has stepped, so the call may be made again; new rows may
 * stay. If all keys have rows, no limit refuses: room for what replaces a row is taken when it is created. Records of an SSD
 * tier that cannot be read are met before a row steps. One exception, which the message names with how many rows at most
 * have stepped: rows that find no place in memory are put back to their SSD tier one part after the other, and the disk may
 * fail in between (TS_EIO; TS_EFULL where it is full beside the tier's files and its file system cannot promise room, or
 * damaged files cannot be compacted). */
TS_API int32_t ts_table_update(ts_store *store, uint32_t table, const int64_t *keys, uint64_t n, const float *gradients,
                               char *err, uint32_t err_cap);

/* Fused lookup of ragged bags: bag b holds keys[offsets[b] .. offsets[b + 1]); out[b*dim .. ) becomes the combination of
 * their rows in order, each scaled to max_norm first where its L2 norm is above it (0: no limit), then by weights[i]
 * (NULL: 1). offsets has bags + 1 entries that do not fall, the first 0. An empty bag gives zeros. Combiners as
 * embedding_lookup_sparse: sum; mean: sum / sum of weights; sqrtn: sum / sqrt(sum of squared weights).
 * Errors: as ts_table_lookup. */
#define TS_COMBINER_SUM 0u
#define TS_COMBINER_MEAN 1u
#define TS_COMBINER_SQRTN 2u
TS_API int32_t ts_table_lookup_bags(ts_store *store, uint32_t table, const int64_t *keys, const uint64_t *offsets,
                                    uint64_t bags, const float *weights, uint32_t combiner, float max_norm, float *out,
                                    char *err, uint32_t err_cap);

/* Updates from the gradients of such bags: gradients[b*dim .. ) is the loss's derivative by bag b, spread to the keys of
 * the bag with the combiner's factors (max_norm is not differentiated through, as in embedding_lookup_sparse under
 * clip_by_norm's straight pass where no row was clipped). Errors: as ts_table_update. */
TS_API int32_t ts_table_update_bags(ts_store *store, uint32_t table, const int64_t *keys, const uint64_t *offsets,
                                    uint64_t bags, const float *weights, uint32_t combiner, const float *gradients,
                                    char *err, uint32_t err_cap);

/* Removes keys for good, from every tier; absent ones are no error. *removed (may be NULL) counts them.
 * Errors: TS_EINVAL, TS_EIO. */
TS_API int32_t ts_table_remove(ts_store *store, uint32_t table, const int64_t *keys, uint64_t n, uint64_t *removed,
                               char *err, uint32_t err_cap);

/* The global step that later updates stamp rows with and expiry compares with: no other call should be under way. A step
 * below the one before takes away first what has expired, so that nothing comes back.
 * Errors: TS_EINVAL; of a lower step: TS_EIO, TS_EFORMAT. */
TS_API int32_t ts_store_set_step(ts_store *store, int64_t step, char *err, uint32_t err_cap);

/* Which rows have expired depends on keys, steps and updates alone: not on the storage type, threads, shards or the policy.
 * An expired row is absent to every call from that step on: a lookup creates its key's row anew, which must be admitted anew.
 * Its bytes go when a lookup or an update meets it, or in pieces that updates do by themselves, as many rows as they update;
 * ts_table_rows and statistics, which count, wait until all have gone.
 * This call does one such piece: looks at up to max_rows rows of all tiers, going on where the last one stopped. max_rows 0:
 * looks at all rows, and judges weights (expire.l2) as they are now, whatever expire.l2_every says.
 * *removed (may be NULL) counts the rows whose bytes went. Errors: TS_EINVAL (the table has no expiry), TS_EIO, TS_EFORMAT. */
TS_API int32_t ts_table_expire(ts_store *store, uint32_t table, uint64_t max_rows, uint64_t *removed, char *err,
                               uint32_t err_cap);

/* frequencies[i]: lookups of keys[i] that were counted (for a key not admitted, those so far), 0 if absent or not
 * recorded; versions[i]: the global step of its last update, -1 if none, absent or not recorded; for a key not admitted as
 * ts_table_waiting says, -1 where a Bloom filter counts. Either may be NULL.
 * Errors: TS_EINVAL, TS_EIO, TS_EFORMAT. */
TS_API int32_t ts_table_metadata(ts_store *store, uint32_t table, const int64_t *keys, uint64_t n, uint64_t *frequencies,
                                 int64_t *versions, char *err, uint32_t err_cap);

/* tiers[i] = tier of keys[i] counting from 0, or -1 if absent (DeepRec's lookup_tier). Errors: TS_EINVAL, TS_EIO, TS_EFORMAT. */
TS_API int32_t ts_table_lookup_tier(ts_store *store, uint32_t table, const int64_t *keys, uint64_t n, int32_t *tiers,
                                    char *err, uint32_t err_cap);

/* counts[t] = rows in tier t, for t < n_tiers, 0 for tiers it has not; a row counts once, but one that background eviction
 * moves during the call may count twice (ts_store_settle before, where that matters). Of a table with expiry, waits until all
 * expired rows have gone. Errors: TS_EINVAL; with expiry TS_EIO, TS_EFORMAT. */
TS_API int32_t ts_table_rows(ts_store *store, uint32_t table, uint64_t *counts, uint32_t n_tiers, char *err,
                             uint32_t err_cap);

/* Copies up to cap keys, in no particular order, and stores the number of keys there are in *n. Waits for background
 * eviction first. Errors: TS_EINVAL, TS_EIO, TS_EFORMAT. */
TS_API int32_t ts_table_keys(ts_store *store, uint32_t table, int64_t *keys, uint64_t cap, uint64_t *n, char *err,
                             uint32_t err_cap);

/* The keys that have a row, a piece a call: up to cap of them (1 or more) are copied, in no particular order, and counted in
 * *n; 0 is the end. cursor is four words of the caller's, zeros to begin with. Each key comes once while the table does not
 * change; rows that are created, removed or moved between two calls may be missed or come twice. Errors: TS_EINVAL, TS_EIO,
 * TS_EFORMAT. */
TS_API int32_t ts_table_walk(ts_store *store, uint32_t table, uint64_t *cursor, int64_t *keys, uint64_t cap, uint64_t *n,
                             char *err, uint32_t err_cap);

/* The same for keys that were looked up and are not admitted yet. frequencies[i]: lookups so far; versions[i]:
 * where rows record versions, the global step of the last lookup that counted it; -1 where they do not, or where step or count
 * are too large for the key's entry: with b = 4 + the bits of admission.frequency it keeps steps below 2^(32 - b) beside
 * counts below 2^b (2^26 steps for a frequency of 3). Either may be NULL. Without admission there are none. Errors: TS_EINVAL;
 * TS_EUNSUPPORTED (admission bloom: a Bloom filter does not keep keys). */
TS_API int32_t ts_table_waiting(ts_store *store, uint32_t table, uint64_t *cursor, int64_t *keys, uint64_t *frequencies,
                                int64_t *versions, uint64_t cap, uint64_t *n, char *err, uint32_t err_cap);

/* Bytes of one row of the table: weights and slots, each padded to 16 bytes, then frequency and version where recorded.
 * Errors: TS_EINVAL. */
TS_API int32_t ts_table_row_bytes(ts_store *store, uint32_t table, uint64_t *bytes, char *err, uint32_t err_cap);

/* The number of the table of this name in *table: of those that ts_table_create made, and those of trainers.
 * Errors: TS_EINVAL (none of this name). */
TS_API int32_t ts_table_named(ts_store *store, const char *name, uint32_t *table, char *err, uint32_t err_cap);

/* What a table is: "key=value" lines. dim, slots (arrays a row has, its weights included: what `slot` of ts_table_find goes
 * up to, less one), row_bytes (as ts_table_row_bytes), tiers (of the store), dtype, optimizer, admission, record_frequency,
 * record_version, expire.steps and expire.l2 where rows expire.
 * Errors: TS_EINVAL, TS_ERANGE, TS_ENOMEM. */
TS_API int32_t ts_table_describe(ts_store *store, uint32_t table, char *out, uint64_t cap, uint64_t *needed, char *err,
                                 uint32_t err_cap);

/* A 64-bit digest of every (table name, key, weights, slots), independent of tier and order. Errors: TS_EINVAL. */
TS_API int32_t ts_store_digest(ts_store *store, uint64_t *digest, char *err, uint32_t err_cap);

/* ---- checkpoints ----------------------------------------------------------------------------------------- */

/* A checkpoint is the state of all tables at one moment between two calls: rows with slots, frequencies and versions, keys
 * that wait for admission and Bloom filters, update counts, learning rates, the global step. Beginning it takes the time of
 * the calls under way; it is then written by ts_checkpoint_write, on any thread, while lookups, updates and everything else
 * go on. A row that they change is copied before, once or, of rows that come again and again, a few times. Memory for that is
 * charged to the first tier. One checkpoint of a store is open at a time.
 *
 * Begins one. Options:
 *   path   folder of a chain of checkpoints, which is made where it is missing (its parent must be there)     (required)
 *   kind   full | delta | auto. full: all rows; delta: what changed, came or went since the checkpoint that this store wrote, or
 *          was restored from, last, for which it must be open with track_changes; auto: a delta while the deltas on the last full
 *          one have fewer bytes together than that one, else, and where no delta can be, a full one: a restore reads at most about
 *          two full ones. Full ones also let the map of changes grow with the table                            (default auto)
 * Errors: TS_EINVAL (options; another one is open; no delta can be), TS_EUNAVAILABLE (another process or store writes in this
 * folder), TS_EFULL (the first tier has no room for its buffers, or the disk none), TS_EIO, TS_EFORMAT (what is in the folder is
 * damaged, or was continued by another store), TS_EUNSUPPORTED (storage NULL), TS_ENOMEM. */
TS_API int32_t ts_checkpoint_begin(ts_store *store, const ts_config *config, ts_checkpoint **out, char *err,
                                   uint32_t err_cap);

/* Writes it and makes it durable: after TS_OK it is there whatever happens. Once. `control` counts rows. After an error, or
 * TS_ECANCELLED, nothing of it stays, and the next delta has what this one would have had.
 * Errors: TS_EINVAL, TS_EIO, TS_EFULL (the disk), TS_EFORMAT (a record of an SSD tier is damaged), TS_ECANCELLED, TS_ENOMEM. */
TS_API int32_t ts_checkpoint_write(ts_checkpoint *checkpoint, uint64_t *control, char *err, uint32_t err_cap);

/* Frees it; what was not written is given up, as after an error. Before the store is closed, and not while it is written.
 * NULL is accepted. Always TS_OK. */
TS_API int32_t ts_checkpoint_close(ts_checkpoint *checkpoint);

/* Brings a checkpoint back into a store without rows, of any storage type, sizes, shards and policy. Its seed must be that of the
 * checkpoint. Tables are made where they are missing; those that are there must have been created with the same options. Rows of
 * the first tier then come first, so that they are in the first tier again; the rest goes where there is room. Training goes on
 * as if it had not stopped. Other calls wait meanwhile. `control` counts bytes.
 * Options:
 *   path    folder of the chain                                                                                  (required)
 *   number  which checkpoint; 0: the newest                                                                      (default 0)
 * Errors: TS_EINVAL (options; rows are there; another seed or other options of a table; no such checkpoint), TS_EFORMAT (a file is
 * damaged, or a link of the chain is missing, doubled, truncated or out of order: named), TS_EFULL (no tier has room), TS_EIO,
 * TS_ECANCELLED, TS_ENOMEM. After an error the store has no rows, and the tables it had. */
TS_API int32_t ts_store_restore(ts_store *store, const ts_config *config, uint64_t *control, char *err, uint32_t err_cap);

/* ---- restore points: checkpoints in place --------------------------------------------------------------------- */

/* A restore point is the state of a persistent store at one moment, as a checkpoint is, but stays where it is: rows of the last
 * tier keep the form that a point needs, whatever becomes of them, until the point is dropped. Only what is not there is written:
 * rows of the tiers above that changed since they were last put down, and beside that, in a small file, what no row has.
 *
 * Makes one. Takes the time of the calls under way; a thread of the store's then puts down what is above and makes the point
 * durable, beside lookups, updates and everything else. One is made at a time: a call waits for the one before. *number, which
 * may be NULL, gets its number; numbers rise. Options:
 *   keep  1..7: so many stay, the newest; older ones are dropped when this one is durable                         (default 2)
 * What a point needs takes room in the last tier: a call that must replace its rows may be TS_EFULL, which names the points.
 * Errors: TS_EINVAL (options; a checkpoint of the store is being written; opened without persistent=1), TS_EFULL (DRAM or disk),
 * TS_EIO, TS_ENOMEM. An error that a point meets later is returned once, by ts_store_persisted or the next call, which makes none
 * then. After any error the points that were durable still are. ts_store_close waits for the one under way. */
TS_API int32_t ts_store_persist(ts_store *store, const ts_config *config, uint64_t *number, char *err, uint32_t err_cap);

/* Waits until the last point is durable: it is there whatever happens then. `control` counts the rows of the tiers above that
 * were looked at. Cancelled, the point under way is given up: those that were durable stay, and the next one has its changes.
 * Errors: what it met, as above; TS_ECANCELLED. */
TS_API int32_t ts_store_persisted(ts_store *store, uint64_t *control, char *err, uint32_t err_cap);

/* Goes on from a point of the folder: right after ts_store_open with persistent=1, before tables are created. The tables of the
 * point are there afterwards, with their rows; ts_table_create with the same options gives them. Shards, sizes, policy, tiers
 * above the last may be others. What came after the point is gone for good; later points are, too, once all of an older one that
 * is asked for has been read and is whole.
 * *number, which may be NULL: which one was taken up; 0: the folder has none, and the store is a new one. Where it has some, no
 * table can be created before. `control` counts bytes; what is in all becomes known as tables are opened. Options:
 *   number  which point; 0: the newest                                                                           (default 0)
 * Errors: TS_EINVAL (options, another seed, tables are there, no such point: named with those there are), TS_EFORMAT (what
 * is damaged or missing, by file and place), TS_EFULL, TS_EIO, TS_ECANCELLED, TS_ENOMEM. After an error the store has no tables. */
TS_API int32_t ts_store_resume(ts_store *store, const ts_config *config, uint64_t *control, uint64_t *number, char *err,
                               uint32_t err_cap);

/* The points of a persistent store, as ts_checkpoint_describe lists checkpoints; empty: there are none. Errors: TS_EINVAL, TS_EIO,
 * TS_ENOMEM. */
TS_API int32_t ts_store_points(ts_store *store, char *out, uint64_t cap, uint64_t *needed, char *err, uint32_t err_cap);

/* Counters since open or the last ts_store_reset_statistics. out[0..n) in the order of ts_statistics_names;
 * *needed, which may be NULL, is the number there is. Waits until all expired rows have gone, so that they are counted alike
 * on every storage type. Errors: TS_EINVAL; of tables with expiry TS_EIO, TS_EFORMAT. */
TS_API int32_t ts_store_statistics(ts_store *store, uint64_t *out, uint32_t n, uint32_t *needed, char *err,
                                   uint32_t err_cap);
/* The same counters for one table. Errors: TS_EINVAL. */
TS_API int32_t ts_table_statistics(ts_store *store, uint32_t table, uint64_t *out, uint32_t n, uint32_t *needed, char *err,
                                   uint32_t err_cap);
/* Sets every counter to 0, when all expired rows have gone. Errors: as ts_store_statistics. */
TS_API int32_t ts_store_reset_statistics(ts_store *store, char *err, uint32_t err_cap);

/* With gauges=1: how many bytes of other rows, of all tables, were looked up between two lookups of a row, since open or the last
 * ts_store_reset_statistics: a first tier that holds that and the row would have hit under LRU. From a sample of the rows; counts
 * are estimates of all lookups, whole, and only grow. A row counts once a call (and 65,536 keys), by its distance before it; a key that
 * the call repeats hits from then on. Beside any calls. out[0..7 + B + G * (2 + B)):
 *   out[0..7)      G groups of rows, of which each is a sample of its own; B bins; the rate of the sample is 2^-out[2]; its rows now,
 *                  and their bytes; lookups in all, counted exactly (lookup_keys); 1 with size_counts=rows
 *   out[7..7 + B)  bytes up to which distances are in each bin, rising; the last has all beyond, too
 *   then by group: lookups of its rows; of them those that hit at no size, since the key came for the first time (or had no row yet
 *                  by the table's admission); the others by bin; what is missing to the first are repeats in a call
 * Lookups that a tier of C bytes of rows misses: the second, and the bins above C. Expiry and removals are not in it.
 * *needed, which may be NULL, is the number there is; n = 0 asks for it. Errors: TS_EINVAL (no gauges), TS_ERANGE, TS_ENOMEM. */
TS_API int32_t ts_store_gauges(ts_store *store, uint64_t *out, uint32_t n, uint32_t *needed, char *err, uint32_t err_cap);

/* Newline-separated "name unit" lines, in the order of ts_store_statistics. Errors: TS_ERANGE, TS_ENOMEM. */
TS_API int32_t ts_statistics_names(char *out, uint64_t cap, uint64_t *needed);

/* Every byte the store holds: lines "tier=<n> purpose=<rows|index|policy|buffers|slack> place=<DRAM|PMEM|SSD|NULL> bytes=<n>",
 * one "tier=<n> limit=<n> used=<n>" line per tier. Slack is reserved space without rows.
 * Errors: TS_EINVAL (store is NULL), TS_ERANGE, TS_ENOMEM. */
TS_API int32_t ts_store_memory(ts_store *store, char *out, uint64_t cap, uint64_t *needed);

/* Waits until background eviction has nothing to do and writes buffers of SSD tiers out. Errors: TS_EINVAL, TS_EIO. */
TS_API int32_t ts_store_settle(ts_store *store, char *err, uint32_t err_cap);

/* How each tier is really held: one line a tier, "tier=<n> type=<DRAM|PMEM_LIBPMEM|PMEM_MEMKIND|PMEM_MBIND|SSDHASH|LEVELDB|NULL>
 * medium=<...>" with path, file system, is_pmem, forced, nodes, where pages of rows lie, huge pages and emulation where they apply. Errors as ts_store_memory. */
TS_API int32_t ts_store_describe(ts_store *store, char *out, uint64_t cap, uint64_t *needed);

/* Whether a storage type can be opened here: TS_OK, or TS_EUNAVAILABLE/TS_EINVAL/TS_EIO with the reason in err.
 * Takes the options of ts_store_open; allocates nothing that lasts. */
TS_API int32_t ts_store_probe(const ts_config *config, char *err, uint32_t err_cap);

/* Hits that a cache of `capacity` rows under a policy has on a stream of n keys: lru, lfu, clock, s3fifo, sieve, tinylfu
 * (the store's own code) or opt, which knows the future (Belady 1966) and is the best there can be. A key counts each
 * time it comes. Errors: TS_EINVAL, TS_ENOMEM. */
TS_API int32_t ts_cache_replay(const char *policy, uint64_t capacity, const int64_t *keys, uint64_t n, uint64_t *hits,
                               char *err, uint32_t err_cap);

/* ---- data ----------------------------------------------------------------------------------------------- */

/* Writes a seeded synthetic Criteo data set into the binary cache format (native/wdl/input/cache_format.h). Options:
 *   out          path of the file to write (written beside it and renamed)                        (required)
 *   rows         rows to write                                                                    (required)
 *   split        train | test: independent rows of the same planted model                         (default train)
 *   scale        factor on Criteo Kaggle's cardinalities, 0 < scale <= 1                          (default 1)
 *   skew_s, skew_q   Zipf-Mandelbrot: weight of rank r is (r + q)^-s; q is scaled with the column  (default 1.15, 2.7)
 *   seed         uint64                                                                           (default 0)
 *   skew_rows    rows of the table whose law has skew_q; 0: each column's own rows in Criteo Kaggle  (default 0)
 *   train        split test: path of the train file of the same seed, scale and skew; the header then says which
 *                share of (row, column) pairs has a key that no train row has                     (default: not said)
 *   numerics     log | min_max: what the model gets for a numeric value x: sign(x) log(1 + |x|) / 2, or
 *                (x - minimum) / range with the constants of DeepRec's Wide & Deep script; keys and labels are the
 *                same with either                                                                 (default log)
 *   threads                                                                                       (default 1)
 * The file's header holds the planted model's AUC and logloss on the rows written, the AUC of its numeric part
 * alone, the share of logit variance of the categorical columns, and a digest of the key stream.
 * `control` counts rows. Errors: TS_EINVAL, TS_EIO (disk full, path), TS_ECANCELLED. */
TS_API int32_t ts_data_generate(const ts_config *config, uint64_t *control, char *err, uint32_t err_cap);

/* Converts Criteo text (TSV without header, or CSV with one; plain or gzip) into two cache files. Options:
 *   in           path of the text, or paths separated by line ends, whose rows follow one another  (required)
 *   train_out, test_out   paths of the files to write                                             (required)
 *   format       auto | tsv | csv                                                                 (default auto)
 *   test_every   every n-th row is held out                                                       (default 10)
 *   max_rows     0 = all                                                                          (default 0)
 *   numerics     log | min_max, as in ts_data_generate                                            (default log)
 *   on_error     error | skip: what becomes of a line that is no row: a wrong number of columns, a label that is not 0 or
 *                1, a number that is none or beyond fp32, a key that is none or has more than 16 digits, a quote that does
 *                not end, an empty line before the last, a line beyond 64 KiB, a NUL byte. error: the import fails and
 *                names file and line; skip: it is left out and counted by kind in both files' headers; what cannot be
 *                read at all (a bad header, a damaged gzip stream) is an error either way           (default error)
 *   readers      threads that share the files, 1 to 256; the files written do not depend on it     (default 1)
 * `control` counts bytes of the text. Errors: TS_EINVAL, TS_EFORMAT naming file and line, TS_EIO, TS_EUNAVAILABLE (gzip
 * without libz), TS_ENOMEM, TS_ECANCELLED. */
TS_API int32_t ts_data_import(const ts_config *config, uint64_t *control, char *err, uint32_t err_cap);

/* "key=value" lines on a cache file: rows, digest, cardinality.0..25 (distinct keys; for synthetic data, the
 * vocabulary), numerics, planted_auc, planted_logloss, numeric_auc, categorical_variance, unseen_share where known; of
 * imported data skipped (lines left out), skipped.<kind> where there are some, skipped.first (the first of them).
 * Errors: TS_EINVAL, TS_EIO, TS_EFORMAT, TS_ERANGE, TS_ENOMEM. */
TS_API int32_t ts_data_describe(const char *path, char *out, uint64_t cap, uint64_t *needed, char *err, uint32_t err_cap);

/* Reads a whole cache file and compares every 1024 rows with their sum and the keys with the digest; labels must be 0 or
 * 1, numerics finite. A trainer does the same, but for the digest, with the rows that it is about to use.
 * `control` counts rows. Errors: TS_EINVAL, TS_EIO, TS_EFORMAT naming what is damaged, TS_ENOMEM, TS_ECANCELLED. */
TS_API int32_t ts_data_verify(const char *path, uint64_t *control, char *err, uint32_t err_cap);

/* ---- Wide & Deep trainer -------------------------------------------------------------------------------- */

/* Opens a trainer on a store; it creates the tables it needs there, in order. The store must outlive it. Options:
 *   data         path of the train cache file                                                     (required)
 *   model        wdl: MLP over embeddings and numerics + linear model of numerics and hashed ids; deepfm: the same + the
 *                pairwise products of a factorization machine; dlrm: a bottom MLP over the numerics, dot products of all pairs
 *                of its output and the embeddings, a top MLP over those                              (default wdl)
 *   batch        samples a step                                                                   (default 2048)
 *   dim          weights an embedding row, 1..1024                                                (default 16)
 *   dims         the same column by column, 26 widths; deepfm and dlrm need equal ones          (default: dim for each)
 *   tables       "name:dim:combiner:columns;...", as "C1:16:none:C1;history:8:mean:C3,C4,C5": the embedding tables, each of the
 *                columns C1..C26 in one of them at most. none: each column is a vector of its own, and they share the table's
 *                rows; sum, mean, sqrtn: the ids of a sample are a bag (ts_table_lookup_bags), one vector; ids that are missing
 *                in the text are in no bag. Vectors are inputs in the order of the tables; the wide part has all columns.
 *                                                          (default: tables C1 to C26, one a column, as wide as dims says)
 *   hidden       widths of the hidden layers                                          (default "1024,512,256")
 *   bottom       dlrm: widths of the bottom MLP's layers before the last, which is as wide as an embedding; all are ReLU
 *                                                                                             (default "512,256")
 *   threads      compute threads                                                                  (default 1)
 *   seed         uint64: dense initial values and the order of batches                            (default 0)
 *   deep_optimizer      sgd | adagrad | adagrad_decay | adam | adam_async | adamw, for dense layers and embeddings, with the
 *                       formulas of native/optimizers/                                            (default adagrad)
 *   deep_learning_rate                                                                            (default 0.01)
 *   deep_beta1, deep_beta2, deep_epsilon   adam, adam_async, adamw                       (default 0.9, 0.999, 1e-8)
 *   deep_weight_decay                      adamw                                                  (default 1e-4)
 *   deep_decay_rate, deep_decay_step, deep_decay_baseline   adagrad_decay  (default 0.9, 100000, the first value of the sums)
 *   embedding_optimizer, embedding_learning_rate   for embeddings, where they differ, also ftrl and rowwise_adagrad; the other
 *                       numbers are the deep ones                                 (default: deep_optimizer, deep_learning_rate)
 *   embedding_l1, embedding_l2, embedding_l2_shrinkage   of embeddings with ftrl                           (default 0, 0, 0)
 *   embedding_initial_accumulator, embedding_epsilon   of embeddings with rowwise_adagrad                  (default 0, 1e-8)
 *   wide_optimizer      ftrl                                                                      (default ftrl)
 *   wide_learning_rate, wide_l1, wide_l2   FTRL of the wide part                                  (default 0.2, 0, 0)
 *   deep_initial_accumulator, wide_initial_accumulator   first value of Adagrad's and FTRL's sums of squares, above 0;
 *                       DeepRec's 0.1 hides the small gradients of rare ids in runs of under ten thousand steps
 *                                                                                            (default 0.1, 0.1)
 *   wide_buckets        wide weights a column (DeepRec's hash_bucket_size)                        (default 10000)
 *   initializer, initializer.*   of the embedding tables, as in ts_table_create
 *   admission, admission.*, expire.steps, expire.l2, expire.l2_form, expire.l2_every, record_frequency, record_version
 *                       of the embedding tables, as in ts_table_create. The step that rows expire by is the trainer's
 *   table.<name>.<option>   one of these for the table of this name instead: one that has an option of admission or of expire
 *                       has none of the general ones beside it; "table.<name>.expire" none: rows of this table do not expire
 * Switches, each an optimisation that DeepRec's documentation names; those marked * leave results as they are:
 *   stage      * batches prepared ahead by threads of their own, 0..8                              (default 1)
 *   stage_what * input: the batch is read; lookup: its rows are brought into the first tier as well, and their values are read
 *                in the step itself; auto: none of both, input and lookup are timed in turn, twice eight steps each, and the
 *                fastest is kept                                                                  (default input)
 *   readers    * threads that share this, each taking the next batch, 1..16                        (default 1)
 *   async_embedding  0 | 1: rows of a batch are looked up while the step before it computes and before that step's update, so
 *                they are one update old. Deterministic; the first step of a call looks its rows up itself     (default 0)
 *   micro_batch  1..64: the batch is cut into so many parts, whose gradients are summed in order for one update. A part's
 *                gradients are summed while the next one computes                                 (default 1)
 *   embedding_fusion * 0 | 1: tables write rows into the network's input and read gradients from it; 0: through a block a
 *                column, with copies                                                              (default 1)
 *   graph_fusion   0 | 1: bias, ReLU and dropout inside oneDNN's products, or passes of their own; 1 needs oneDNN 2
 *                                                                        (default 1 with oneDNN 2, 0 with version 3)
 *   first_layer    samples: the first hidden layer multiplies the vectors of every sample; distinct: each distinct row of a batch
 *                once, whose results samples add up, and the gradients of a row's samples are added up before they are
 *                multiplied, so update_keys counts a row once a batch. distinct needs model wdl, micro_batch 1, no ranks, and
 *                tables of one column without a combiner whose widths are multiples of 16. auto: distinct where it can be and
 *                costs less by the keys of the first two batches, else samples                       (default auto)
 *   dropout        share of hidden units set to zero in training, 0..0.9                          (default 0)
 *   memory_reuse * 0 | 1: a step's memory is planned once; 0: allocated and freed in every step, as without planning (default 1)
 *   executor   * inline: the calling thread alone; pool: phase after phase, spread over the threads; cost_model: one graph of
 *                tasks, the one with the longest remaining path first, by costs measured in the first 16 steps (default pool)
 *   bf16           off | dense: operands of products in BF16, sums and weights in FP32; rows: rows of the tables; all: both
 *                                                                                                 (default off)
 *   deterministic  1: a batch is cut into shards by its size alone; 0: into as many as threads     (default 1)
 * Results depend on the seed, the data and the other options: not on the storage type and, unless deterministic is 0, not on
 * `threads`.
 * Errors: TS_EINVAL, TS_EUNAVAILABLE (libdnnl; dense BF16 on a CPU without it), TS_EIO, TS_EFORMAT, TS_ENOMEM. */
TS_API int32_t ts_trainer_open(ts_store *store, const ts_config *config, ts_trainer **out, char *err, uint32_t err_cap);
/* ---- Ranks: several processes that train one model -------------------------------------------------------- */

/* Joins the processes that an MPI launcher (mpirun, srun) started. Options:
 *   shim     path of the library that set-up compiled against the MPI in use; without it this process is one rank alone
 *   servers  how many of the ranks, the last ones, hold rows and do not train; 0: every rank trains and holds a share  (default 0)
 *   waits    poll: a rank asks for a message without a pause until it is there, as MPI does; yield: it gives its processor away
 *            meanwhile                                                                                (default poll)
 * 1, 2, 4 or 8 ranks must train. A process may join once. Errors: TS_EINVAL, TS_EUNAVAILABLE (no MPI, not started by it),
 * TS_ENOMEM. */
TS_API int32_t ts_ranks_open(const ts_config *config, ts_ranks **out, char *err, uint32_t err_cap);
/* Leaves; every rank must, trainers on them first. Always TS_OK. NULL is accepted. */
TS_API int32_t ts_ranks_close(ts_ranks *ranks);
/* Ends the processes of all ranks, this one with exit code `code`: for a rank that cannot go on. Returns only where there is
 * one rank alone. Errors: TS_EINVAL. */
TS_API int32_t ts_ranks_abort(ts_ranks *ranks, int32_t code);
/* "key=value" lines: rank, size, trainers, owners (ranks that hold rows), library (name and version of the MPI), and since the
 * ranks were joined messages, sent_bytes, received_bytes (between ranks, of this one) and message_ns (in messages, waiting for
 * others included); of that, as far as ts_ranks_compare has been, waiting_ns and moving_ns. Errors: TS_EINVAL, TS_ERANGE. */
TS_API int32_t ts_ranks_describe(ts_ranks *ranks, char *out, uint64_t cap, uint64_t *needed);
/* Compares how long each message so far took the ranks, so that all of message_ns is divided: moving_ns is the time of the rank
 * that a message took the shortest, the last to come; what it took this rank longer is waiting_ns. In a swap of dense gradients
 * the two partners are compared. A call of all ranks, between those of trainers over them; every 512 messages ranks do so by
 * themselves. Errors: TS_EINVAL, TS_EINTERNAL (the MPI failed). */
TS_API int32_t ts_ranks_compare(ts_ranks *ranks, char *err, uint32_t err_cap);
/* Sends `bytes` to every other rank and takes as many from each, `times` times, one after the other; ns[i] becomes the nanoseconds
 * of the i-th here, waiting for the others included. Every rank calls, with the same numbers. These messages are among those of
 * ts_ranks_describe. Errors: TS_EINVAL (bytes not from 1 to 2^24; one rank alone), TS_ENOMEM, TS_EINTERNAL (the MPI failed). */
TS_API int32_t ts_ranks_ping(ts_ranks *ranks, uint64_t bytes, uint32_t times, uint64_t *ns, char *err, uint32_t err_cap);

/* As ts_trainer_open, over ranks, each with a store of its own: of any type, with any tiers. Every rank calls, with the same
 * options and data; fill, train, evaluate and digest are calls of all ranks, too. Options beside those of
 * ts_trainer_open:
 *   ranks_messages  * fused: a step's keys, rows and gradients of all tables are one message each; separate: one a table
 *                                                                                                (default fused)
 *   ranks_keys      * distinct: each key of a rank's samples is sent once; all: as often as it occurs       (default distinct)
 *   ranks_rows      fp32 | bf16: what rows are sent in                                            (default fp32)
 *   ranks_ahead     * none; keys: those of the next batch are sent while this step computes; rows: and those rows that this step
 *                     does not change, the others after its update                                (default none)
 *   ranks_staleness   none, or a number: ranks train asynchronously, where there are servers. Each takes whole batches, the next one
 *                     when it is done with one, and servers serve who comes first, so a slow rank takes fewer. A step begins when
 *                     all but so many steps before it are done, 0 to 1024; with 0 results are those of ranks in step. The first
 *                     server has the dense weights.                                              (default none: in step)
 * With async_embedding all rows of the next batch are sent while this step computes, so they miss exactly its update: the same
 * bits on any number of ranks too. Messages beside computing are made by a thread of their own.
 * A batch is cut into eight micro-shards, of which each rank that trains has an equal part; everything that is summed over
 * samples is summed by one tree over them. So results are the same bits on 1, 2, 4 and 8 ranks, with servers or without: those of
 * one rank alone, which are not those of ts_trainer_open; micro_batch, 1, 2, 4 or 8, leaves them as they are. Keys that wait for
 * their row are counted once a batch for all columns of a table, as often as they occur. Not over ranks: deterministic 0,
 * admission by bloom (keys of other ranks share its counters), ranks_ahead rows with expiry or record_version (rows would have the
 * date of the step before), ranks_staleness without servers or with ranks_ahead. With ranks_staleness a call of train has as
 * many steps as all ranks together take, step_ns[i] is the time from the end of one of them to that of the next, phase_ns that
 * of this rank's own steps; nothing is staged, since nobody knows which batch comes. A call of fill, train or evaluate that
 * one rank's `control` cancels ends on all ranks, with TS_ECANCELLED and the number of that rank. The ranks must outlive the
 * trainer.
 * Errors: those of ts_trainer_open, on all ranks the one of the lowest rank that has one; TS_EINVAL, where ranks differ in their
 * options, data or library. */
TS_API int32_t ts_trainer_open_ranks(ts_store *store, ts_ranks *ranks, const ts_config *config, ts_trainer **out, char *err,
                                     uint32_t err_cap);

/* Always TS_OK. The tables stay in the store. */
TS_API int32_t ts_trainer_close(ts_trainer *trainer);

/* Creates the rows of every key of the train file's vocabulary (synthetic data) or of every key in it (imported
 * data), so that the tables have their full size before the first step; tables with admission stay empty, since a key has to
 * earn its row there. `control` counts rows.
 * Errors: TS_EINVAL, TS_EFULL, TS_EIO, TS_EFORMAT, TS_ENOMEM, TS_ECANCELLED (the rows created so far stay). */
TS_API int32_t ts_trainer_fill(ts_trainer *trainer, uint64_t *control, char *err, uint32_t err_cap);

/* Trains `warmup` batches and then `steps` counted ones in one flow, going on where the last call stopped and around the file
 * at its end. After the warm-up the store's counters are set to 0; nothing else tells the counted steps from those before them:
 * what was prepared ahead stays. step_ns[i] is the wall time of counted step i; phase_ns[TS_PHASES] receives the sums over the
 * counted steps, loss the mean logloss over their samples. Any of the three may be NULL. `control` counts all steps. Where phases overlap, the wall time is
 * divided in the proportion of their work; what the stage's threads do is in no phase (ts_trainer_describe has it).
 * With control[TS_CONTROL_HOLD] = n, set before the call, training waits before step n (the warm-up's counted, from 1), in no
 * step's time, until ts_control_pass lets it on: what was prepared ahead stays. Background threads do not wait.
 * Errors: TS_EINVAL (also a hold in asynchronous training over ranks), TS_EFULL, TS_EIO, TS_EFORMAT, TS_ECANCELLED (the steps done so far hold), TS_EDIVERGED (the model gives
 * a sample an output that is not finite; that step is done, too, and only a trainer with other options gets on). */
#define TS_PHASE_INPUT 0u    /* reading the batch, or waiting for the stage to have read it */
#define TS_PHASE_LOOKUP 1u   /* embedding lookup, without eviction */
#define TS_PHASE_DENSE 2u    /* forward and backward of wide and MLP, and their optimizer */
#define TS_PHASE_UPDATE 3u   /* embedding update, without eviction */
#define TS_PHASE_EVICTION 4u /* moving rows between tiers */
#define TS_PHASES 5u
TS_API int32_t ts_trainer_train(ts_trainer *trainer, uint64_t warmup, uint64_t steps, uint64_t *step_ns, uint64_t *phase_ns,
                                double *loss, uint64_t *control, char *err, uint32_t err_cap);

/* Waits until so many units are done, and the run holds there or has gone on. From any thread, while the run goes on or before.
 * Errors: TS_EINVAL (control is NULL), TS_ECANCELLED (the run is to stop: it may never come there). */
TS_API int32_t ts_control_wait(uint64_t *control, uint64_t done);
/* Lets a run that holds go on, until before the step of another number; 0: to its end. Errors: TS_EINVAL (control is NULL). */
TS_API int32_t ts_control_pass(uint64_t *control, uint64_t hold);

/* Scores up to max_rows rows (0 = all) of a cache file by read-only lookups. result[0] = logloss, [1] = AUC (exact,
 * ties count half), [2] = rows, [3] = share of (row, column) pairs whose key has no row. `control` counts rows.
 * Errors: TS_EINVAL (a NULL, a file without rows), TS_EIO, TS_EFORMAT, TS_ENOMEM, TS_ECANCELLED, TS_EDIVERGED (an output is
 * not finite, so that nothing can be ranked by it). */
TS_API int32_t ts_trainer_evaluate(ts_trainer *trainer, const char *path, uint64_t max_rows, double *result,
                                   uint64_t *control, char *err, uint32_t err_cap);

/* A 64-bit digest of all dense parameters and the store's rows. Errors: TS_EINVAL. */
TS_API int32_t ts_trainer_digest(ts_trainer *trainer, uint64_t *digest, char *err, uint32_t err_cap);

/* What the trainer is and how its steps went since it was opened: "key=value" lines. Model: model, dense_parameters,
 * wide_parameters, inputs (of the top MLP), dims, deep_optimizer, embedding_optimizer, wide_optimizer, kernels (oneDNN's names
 * of its products), bf16, first_layer (samples or distinct). Steps: step (trained so far, those before a restore included), threads, executor, tasks, shards,
 * micro_batch, deterministic (0 with ranks_staleness above 0, too), schedule (measured once tasks have known costs; then also
 * work_ns and longest_path_ns of a step), embedding_fusion, graph_fusion, memory_reuse, minor_faults (of the process, while it
 * trained). Stage: stage, readers, stage_what, stage_choice (what is done ahead; undecided while auto tries, in the first
 * stage_trial steps), staged_batches, staged_hits (of them, those ready when their step began), staged_rows (keys below the
 * first tier when the stage looked), staged_input_ns, staged_lookup_ns (work of the stage's threads: in no phase),
 * overlapped_ns (of that, what no step waited for), async_embedding, stale_share (of looked-up rows, those that the step
 * between changed; of the last eight of every 64th step, read again when this is asked for). Over ranks: ranks_ahead (none,
 * keys, rows, or stale: async_embedding), ranks_rows_ahead, ranks_rows_after (distinct rows this rank asked for in steps, that
 * came before and after the update of the step before), ranks_ahead_ns (messages beside computing), ranks_waited_ns (of it,
 * what steps waited for). With ranks_staleness also that, ranks_batches (steps that each rank that trains took) and
 * ranks_missed (steps that missed the updates of 0, 1, ... steps before them, when they read rows or dense weights). Errors:
 * TS_EINVAL (trainer is NULL), TS_ERANGE, TS_ENOMEM. */
TS_API int32_t ts_trainer_describe(ts_trainer *trainer, char *out, uint64_t cap, uint64_t *needed);

/* Reads and writes dense parameters by name, without padding, for comparisons with other implementations: mlp.<l>.w
 * (inputs x outputs, row-major; the inputs of layer 0 are the 13 numerics, then C1's weights, C2's ...), mlp.<l>.b,
 * output.w, output.b, wide.numeric (13) and wide.C1 to wide.C26 (a weight a bucket: ts_mix64(key) mod wide_buckets). dlrm has
 * bottom.<l>.w and bottom.<l>.b instead of wide.*, and the inputs of its layer 0 are the bottom's output, then the dot products
 * (1,0), (2,0), (2,1) ... of that output, which is 0, and of C1, which is 1, and so on. *needed, which may be NULL, is the
 * number of values there are. Optimizer state is not touched. Errors: TS_EINVAL (no such name, another number of values),
 * TS_ERANGE (out has room for fewer). */
TS_API int32_t ts_trainer_parameters(ts_trainer *trainer, const char *name, float *out, uint64_t n, uint64_t *needed,
                                     char *err, uint32_t err_cap);
TS_API int32_t ts_trainer_set_parameters(ts_trainer *trainer, const char *name, const float *values, uint64_t n,
                                         char *err, uint32_t err_cap);

/* ts_checkpoint_begin of the trainer's store, with what the trainer has beside it, between two calls: dense and wide weights,
 * the state of their optimizers, the step, hence the place in the data: a copy in memory until it is written.
 * ts_checkpoint_write and _close go on with it; the trainer may train meanwhile, or be closed. Options and errors: as
 * ts_checkpoint_begin. */
TS_API int32_t ts_trainer_checkpoint_begin(ts_trainer *trainer, const ts_config *config, ts_checkpoint **out, char *err,
                                           uint32_t err_cap);

/* Over several ranks a checkpoint is one of all of them, in a folder that all of them reach. ts_trainer_checkpoint_begin is a call
 * of all ranks: each cuts its rows, between the same two calls. ts_checkpoint_write brings a rank's share to the disk, beside
 * training; then this call of all ranks makes it a checkpoint, of which rank 0 writes the manifest. It writes what is not written
 * yet. Until it succeeds the folder has what it had before, and a job that ends meanwhile leaves files that the next writer
 * removes. After a write that failed it is to be called as well: the others wait for it. Full ones only. It succeeds on all ranks
 * or on none, but for a failure after the manifest was written. Of a process alone it writes, if ts_checkpoint_write did not.
 * ts_checkpoint_close as before. Errors: of the lowest rank that has one those of ts_checkpoint_write, with its number;
 * TS_EFORMAT: rank 0 does not see another rank's file; TS_EINVAL. */
TS_API int32_t ts_trainer_checkpoint_commit(ts_trainer *trainer, ts_checkpoint *checkpoint, char *err, uint32_t err_cap);
/* ts_store_persist of the trainer's store, with what the trainer has beside it. A trainer that is opened on a store that was taken
 * up at such a point (ts_store_resume) goes on from it. */
TS_API int32_t ts_trainer_persist(ts_trainer *trainer, const ts_config *config, uint64_t *number, char *err, uint32_t err_cap);

/* ts_store_restore of the trainer's store, and the trainer with it: what it trains from here on is to the bit what the trainer
 * of the checkpoint trained after it in the same calls. Data and options must be those of that trainer, but for the ones marked
 * *, threads and the path of the data. Options and `control`: as ts_store_restore. Errors: as ts_store_restore, TS_EINVAL also
 * for an option that differs, which is named with both values, and for a checkpoint of a store without a trainer. After an error
 * the trainer is as it was.
 * Over ranks it is a call of all of them, from a folder that all of them reach: each takes the rows that it holds now, whatever the
 * number of ranks, the layout and the tiers were that wrote them. It succeeds on all or on none. Errors then also: TS_EUNSUPPORTED
 * (a table with a Bloom filter). */
TS_API int32_t ts_trainer_restore(ts_trainer *trainer, const ts_config *config, uint64_t *control, char *err, uint32_t err_cap);

/* ---- machine -------------------------------------------------------------------------------------------- */

/* What this machine is, as "key=value" lines: cpu.*, memory.*, node.<n>.*, dax.*, pmem.*, cxl.*, gpu.*, hugepages.*,
 * noise.*, library.*, mount.*, container.*, process.*; native/machine/machine.h lists them. Unknown things are absent, never guessed. `roots` is a prefix put before
 * /sys, /proc and /dev for tests, or "". Errors: TS_ERANGE, TS_ENOMEM. */
TS_API int32_t ts_machine_probe(const char *roots, char *out, uint64_t cap, uint64_t *needed);

/* What processors and memory have used since some moment, by counters of the kernel's powercap class (RAPL), as "key=value" lines
 * for each zone that is a package or its memory: <zone>.name (package-<n> | dram), <zone>.used and <zone>.range, microjoules; at
 * the range a counter begins again at 0. If none can be read: `missing`, why. `roots` as in ts_machine_probe. Errors: TS_ERANGE,
 * TS_ENOMEM. */
TS_API int32_t ts_machine_energy(const char *roots, char *out, uint64_t cap, uint64_t *needed);

/* Tries whether files of a directory are persistent memory: a file of 8 MiB is created there, loses its name at once,
 * and is mapped, written and read back. "key=value" lines; what was not reached is absent; an error is the system's text:
 *   folder.owner, .mode              user number; permissions, octal
 *   file_system.free, .block_size    bytes
 *   file.created, .error, .removed   yes | no: a file with room could be made; why not; nothing stays behind
 *   file.left                        the name that could not be removed
 *   map_sync, .error                 mmap with MAP_SYNC succeeded: stores reach the medium without the page cache
 *   map.page_size, .faults, .error   2097152 | 4096 | mixed, told from the number of page faults of 8 MiB
 *   pmem.library, .map_file, .error  libpmem is there; it mapped the file
 *   pmem.map_file_is_pmem, .is_pmem, .aligned_2m, .auto_flush   what libpmem says; its mapping begins at 2 MiB
 *   pmem.force                       PMEM_IS_PMEM_FORCE, if set: what libpmem says then proves nothing
 *   persist.by, .bytes, .read_back, .error   1 MiB through pmem_persist or pmem_msync, read back through the file
 * Errors: TS_EINVAL (no directory), TS_ERANGE, TS_ENOMEM. */
TS_API int32_t ts_machine_verify_dax(const char *path, char *out, uint64_t cap, uint64_t *needed, char *err,
                                     uint32_t err_cap);

/* Tries whether a NUMA node gives memory. "key=value" lines; what was not reached is absent:
 *   node.cpus, .total, .free         its CPUs (empty: none), bytes
 *   bind.allowed, .error             mbind of 8 MiB to it
 *   bind.pages, .landed              where the touched pages are (node:pages, ...); yes: all on the node
 *   memkind.library, .error          libmemkind is there
 *   memkind.nodes_asked              MEMKIND_DAX_KMEM_NODES, if set; memkind reads it once a process
 *   memkind.dax_kmem                 MEMKIND_DAX_KMEM is available
 *   memkind.pages, .landed           where 1 MiB of that kind is
 *   bind.move_pages_error, memkind.move_pages_error   the kernel refused to say
 * Errors: TS_EINVAL, TS_EUNAVAILABLE (no such node), TS_ERANGE, TS_ENOMEM. */
TS_API int32_t ts_machine_verify_node(uint32_t node, char *out, uint64_t cap, uint64_t *needed, char *err,
                                      uint32_t err_cap);

/* ---- simulator: steps in virtual time --------------------------------------------------------------------- */

/* Rows that a training step needs, and in which tier they are, from popularity laws: of any number of rows, in
 * milliseconds (native/simulator/demand.h has the formulas). Options:
 *   tables, workers            how many; up to 64 tables
 *   table<n>.rows, .s, .q      Zipf-Mandelbrot law (rank + q)^-s;  .hitters  shares of heavy hitters before it
 *   table<n>.buckets           instead: "rows,weight,rows,weight,..." of a reuse histogram
 *   table<n>.lookups           a worker's keys a step, duplicates counted;  .row_bytes  that a row takes
 *   policy                     lru or lfu                                                              (lru)
 *   capacity                   bytes of every tier but the last, which holds the rest
 *   page_bytes                 pages of so many bytes are placed by their heat, as by the kernel; two tiers     (rows)
 *   seen                       numbers of steps whose distinct rows are asked for
 *   cache_bytes, placement (random | contiguous), trains (1), samples, seed, threads    Memory Mode (memory_mode_sample.h)
 * Text: a line a table, "table distinct=<rows of one worker's batch> variance= all=<of all workers'> in<tier>= seen<n>=",
 * and with cache_bytes "memory_mode read_hit= read_clean= read_dirty= write_hit= ...", shares of row accesses.
 * Errors: TS_EINVAL, TS_ENOMEM, TS_ERANGE. */
TS_API int32_t ts_simulate_demand(const ts_config *config, char *out, uint64_t cap, uint64_t *needed, char *err,
                                  uint32_t err_cap);

/* Training steps in virtual time (native/simulator/engine.h says what overlaps with what). Times in picoseconds, bytes/s
 * for bandwidths. Options:
 *   seed, steps (64), warmup (8), workers (1), per_host (1), servers (0: tables are in the memory of the one machine)
 *   cores, background (1), stage_threads (1), ahead (1), micro (1), lag (1), prefetch (0), async (0), promote (1), trains (1)
 *   prefetchers (1: those of the processors are on), activations (0; 1: outputs of lookups and gradients are written to and
 *   read from tier 0, a row a key, of one host)
 *   dense_on (cores | accelerator), dense_ps, dense_spread (coefficient of variation), rest_ps (of a worker between update
 *   and next request), parse_ps, key_ps, row_ps, update_ps, contend_ps (a row, for each other thread at the same memory)
 *   maintenance (critical | gap), lock_ps, lock_misses, lock_contention, miss_ps (a row that is brought up, beside its accesses), upkeep_ps (a different row a step that is kept in
 *   order), track_ps (a key looked up of a row that can leave its tier), rows_in_flight (that a thread waits for at once; 0: as the medium allows)
 *   allreduce_bytes, net_bandwidth, net_latency_ps, message_ps, fault_count, fault_ps, migrate_count, migrate_ps, page_bytes, flush_rows
 *   memory_mode (0), memory_mode.read_clean, .read_dirty, .write_clean, .write_dirty, .known    shares; tier 1 is behind 0
 *   tiers, tier<n>.<media option>    as in native/media/media.h; and .label, .write (nt | cached | flush), .fenced,
 *                                    .depth (accesses a core keeps under way), .devices (side by side), .region (bytes that rows are spread over), .round (bytes), .hops, .remote (share), .read_ps, .write_ps (added to each access)
 *   tables, tables.distinct, .variance, .all, .lookups, .value_bytes, .row_bytes, .in<tier>      a number a table, as
 *                                    ts_simulate_demand gives them; .in_place: 1 for a table whose rows stay where they are
 * Text, one fact a line: step_ps=<a number a step>, elapsed_ps, "part kind= on= ps=" (what the time was spent on; their
 * sum is elapsed_ps), "resource name= places= busy_ps= elapsed_ps=", "traffic tier= op= bytes= accesses=", net_bytes,
 * "question tier= op= bytes= threads= depth= hops= prefetch= ahead= region= sequential= fenced=" (what the media were asked, each
 * kind of access once, the first 64), "task kind= actor= start_ps= end_ps=" (of the last step). The same options give the same text on every machine.
 * Errors: TS_EINVAL, TS_ENOMEM, TS_ERANGE. */
TS_API int32_t ts_simulate(const ts_config *config, char *out, uint64_t cap, uint64_t *needed, char *err, uint32_t err_cap);

/* What one step of a simulation costs, without running it: the options of ts_simulate, expected counts of rows, the same
 * costs and overlap (native/simulator/step_cost.h). The seed and numbers of steps change nothing. Text, one fact a line:
 * step_ps; net_bytes, of all machines a step; "phase kind= span_ps=", from a part's start to its end, other parts may be
 * beside it; "busy kind= places= ps= on=", how long a part holds cores, a medium ("tier=" says which), a link or a lock of
 * the busiest machine; "traffic tier= op= bytes= accesses=", of all machines a step. Errors: TS_EINVAL, TS_ENOMEM,
 * TS_ERANGE. */
TS_API int32_t ts_step_cost(const ts_config *config, char *out, uint64_t cap, uint64_t *needed, char *err, uint32_t err_cap);

/* ---- simulator: media ---- */

/* Evaluates a media model (options "medium.*", native/media/media.h) for n queries of TS_MEDIA_QUERY numbers each:
 *   0 kind: 0 latency, ns, at a load of 0..1; 1 latency at a traffic of so many bytes/s; 2 bandwidth, bytes/s;
 *           3 peak, bytes/s, however many cores ask; 4 bytes that the media move for one asked for (amplification)
 *   1 operation: 0 load, 1 non-temporal store, 2 cached store, 3 store + flush       2 bytes of an access, 1 or more
 *   3 threads, 1 or more      4 sequential      5 a fence after every access         6 prefetchers on (4..6: 0 or 1)
 *   7 share of the bytes read, where reads and writes are in flight together; negative: one operation only
 *   8 NUMA hops               9 load or traffic (kinds 0 and 1)                     10 region in bytes, 0: not known
 *   11 accesses that each thread keeps in flight, 0: what a core's buffers hold, one at a drive; a latency with this and no
 *   load is that of these accesses beside each other   12 devices side by side, 0 or 1: one   13 percentile of a latency, 0: mean
 * Errors: TS_EINVAL (an option; a number out of range; an operation that the medium's options do not have). */
#define TS_MEDIA_QUERY 14
TS_API int32_t ts_media_evaluate(const ts_config *config, const double *queries, uint64_t n, double *out, char *err,
                                 uint32_t err_cap);
/* ---- media of this machine ---- */

/* Opens a medium of this machine to be measured. Options:
 *   kind      memory | file (memory that a file system maps: DAX, tmpfs) | drive (past the page cache)       (memory)
 *   bytes     that accesses fall on, whole MiB; of a drive they are written first                     (268435456)
 *   folder    of a file or drive: where a file without a name is put, which is gone with the handle; a device or a
 *             file that is there is never written                                                     (required there)
 *   node      NUMA node of the memory                                        (wherever the first touch puts it)
 *   cpus      on which threads run, one each; as many threads may be asked for    (those the process may use)
 * Errors: TS_EINVAL (an option, no folder, no such node), TS_EUNAVAILABLE (no O_TMPFILE or O_DIRECT there; a file system without
 * DAX, whose page cache would be measured; a drive that is memory), TS_EFULL, TS_EIO (also a folder that may not be written to),
 * TS_ENOMEM. */
TS_API int32_t ts_gauge_open(const ts_config *config, ts_gauge **out, char *err, uint32_t err_cap);

/* Does the accesses of a query of ts_media_evaluate for `ns` nanoseconds. out, two numbers: what the query asks for, and
 * the bytes/s that others moved beside a latency. Kinds 0 and 2 only. A latency of loads is that of one thread that chases
 * pointers, the other threads of the query do its accesses beside it; of stores that of one access with its fence. Threads
 * of a drive are requests under way, bytes whole blocks of 4096. Columns 6, 8 and 9 mean nothing here and are 0.
 * One call at a time. Errors: TS_EINVAL, TS_EUNSUPPORTED (this CPU has no such store), TS_EUNAVAILABLE, TS_EIO, TS_ENOMEM. */
TS_API int32_t ts_gauge_take(ts_gauge *gauge, const double *query, uint64_t ns, double *out, char *err, uint32_t err_cap);
TS_API int32_t ts_gauge_close(ts_gauge *gauge); /* NULL is accepted */
/* Looks keys up by `threads` threads at once, `rounds` times, each round begun together: thread t the keys [t * n, t * n + n) in
 * table tables[t], of `dim` weights. seconds[t * rounds + r]: of thread t's r-th lookup, by the wall clock. Errors: as
 * ts_table_lookup, and TS_EINVAL (a number out of range), TS_ENOMEM (also a thread that cannot be started). */
TS_API int32_t ts_gauge_lookups(ts_store *store, const uint32_t *tables, uint32_t threads, const int64_t *keys, uint64_t n,
                                uint32_t dim, uint32_t rounds, double *seconds, char *err, uint32_t err_cap);

/* ---- simulator: miss ratios ------------------------------------------------------------------------------ */

/* A popularity law as buckets of equally popular rows, most popular first: rows[i] rows of weights[i] each. Rank r of the
 * law has weight (r + q)^-s; hitters are shares of all accesses that rows in front of it have (heavy hitters, n of them, part
 * of the rows). Options: rows (required, up to 2^53), s (1.05), q (0). *needed: buckets there are; with fewer than that in
 * cap nothing is written. Errors: TS_EINVAL, TS_ENOMEM, TS_ERANGE (more buckets than cap). */
TS_API int32_t ts_simulate_law(const ts_config *config, const double *hitters, uint32_t n, uint64_t *rows, double *weights,
                               uint32_t cap, uint32_t *needed, char *err, uint32_t err_cap);

/* Miss ratios of caches of sizes[0..count) rows, rising, on a stream of n keys: ratios[i]. A row that comes for the first
 * time is a miss. Options:
 *   policy      lru, lfu, clock, s3fifo, sieve, tinylfu or opt                                     (lru)
 *   method      exact, or sampled: rows whose hash is below a threshold, in smaller caches         (exact)
 *   batch       lookups that come together and count each row once; 1: every lookup counts         (1)
 *   uncounted   keys at the beginning that only fill the caches, whole batches of them             (0)
 *   samples     rows that a sample should have                                                     (1048576)
 *   rate        share of the rows that are sampled, instead of samples
 * facts, which may be NULL, gets six numbers: lookups that count, distinct rows, first comings among the lookups (lru only), share of the rows
 * that was looked at, lookups replayed, bytes of memory used. Rows counted are exact also where sampled.
 * Errors: TS_EINVAL, TS_ENOMEM. */
TS_API int32_t ts_simulate_curve(const ts_config *config, const int64_t *keys, uint64_t n, const uint64_t *sizes,
                                 uint32_t count, double *ratios, double *facts, char *err, uint32_t err_cap);

/* The same in the steady state of independent draws from a law, given as buckets in any order. Options:
 *   method      analytic: policy lru (Che), fifo, random, or popular (the most popular rows stay);
 *               sampled: any policy of ts_simulate_curve, on a model of the law                    (analytic)
 *   policy, batch
 *   samples     rows of the model's cache                                                          (16384)
 *   seed        of what is drawn                                                                   (0)
 * facts, the same six: distinct rows of a batch, rows of the law, 0, smallest share of the rows in a model, lookups replayed, bytes.
 * Errors: TS_EINVAL, TS_ENOMEM. */
TS_API int32_t ts_simulate_law_curve(const ts_config *config, const uint64_t *rows, const double *weights, uint32_t buckets,
                                     const uint64_t *sizes, uint32_t count, double *ratios, double *facts, char *err,
                                     uint32_t err_cap);

/* A stream of keys of any length for curves, kept in bounded memory: all of it while that fits, then a sample of its rows (those
 * whose hash is below a threshold, which is halved as often as need be). What is kept depends on the keys and their order alone,
 * not on the blocks in which they are added. Options:
 *   batch       as in ts_simulate_curve                                                            (1)
 *   bytes       memory that the sample and a curve of it may take together; 0: any                 (0)
 *   rows        rows that may be kept; 0: any                                                      (0)
 * A batch takes 26 bytes a distinct row, up to 52 while its table grows. Errors: TS_EINVAL (also a batch that does not fit into
 * bytes), TS_ENOMEM. */
typedef struct ts_key_sample ts_key_sample;
TS_API int32_t ts_key_sample_create(const ts_config *config, ts_key_sample **out, char *err, uint32_t err_cap);
/* The next n keys, each combined with mix by exclusive or: tables that share a cache get different ones. Errors: TS_EINVAL,
 * TS_ENOMEM. */
TS_API int32_t ts_key_sample_add(ts_key_sample *sample, const int64_t *keys, uint64_t n, int64_t mix, char *err, uint32_t err_cap);
/* out[0] lookups that were added, [1] those kept, [2] the share of rows that is kept, [3] distinct rows of the whole stream (within
 * 2 % or so), [4] rows, each once a batch, [5] bytes that it has. Errors: TS_EINVAL. */
TS_API int32_t ts_key_sample_facts(const ts_key_sample *sample, double *out, char *err, uint32_t err_cap);
/* Miss ratios, as ts_simulate_curve says; the only option is policy. errors, which may be NULL, gets the standard error of each
 * ratio, by the spread of eight parts of the sample; 0 where all is kept. facts: the same six; bytes include the sample's.
 * Errors: TS_EINVAL, TS_ENOMEM. */
TS_API int32_t ts_key_sample_curve(const ts_key_sample *sample, const ts_config *config, const uint64_t *sizes, uint32_t count,
                                   double *ratios, double *errors, double *facts, char *err, uint32_t err_cap);
/* The kept keys in their order. Errors: TS_EINVAL, TS_ERANGE (cap is below *n). */
TS_API int32_t ts_key_sample_keys(const ts_key_sample *sample, int64_t *out, uint64_t cap, uint64_t *n, char *err,
                                  uint32_t err_cap);
/* Always TS_OK; NULL is accepted. */
TS_API int32_t ts_key_sample_close(ts_key_sample *sample);

/* ---- simulator: bytes of traces --------------------------------------------------------------------------- */

/* Keys of lines of 1 to 18 decimal digits that end with LF or CR LF, from the beginning of a block. out[0]: how many; out[1]: bytes of
 * their lines. It ends before the first line that is anything else or has no end in the block, or after cap keys. Errors: TS_EINVAL. */
TS_API int32_t ts_trace_lines(const uint8_t *block, uint64_t bytes, int64_t *keys, uint64_t cap, uint64_t *out);
/* The same of one column, numbered from 0, of lines of so many fields with a separator (a byte of ASCII) between them. The other fields
 * are printable ASCII without blanks and quotes, and not empty; a line has up to 65,536 bytes and does not begin with #. */
TS_API int32_t ts_trace_column(const uint8_t *block, uint64_t bytes, uint32_t separator, uint32_t fields, uint32_t column,
                               int64_t *keys, uint64_t cap, uint64_t *out);
/* Ids of records of libCacheSim's oracleGeneral (24 bytes: time u32, id u64, size u32, next access i64), of which `first` lie before
 * the block, the last of them with the time `before`. *good: how many there are up to the first whose time falls, or whose next access
 * is neither -1 nor ahead. Errors: TS_EINVAL. */
TS_API int32_t ts_trace_records(const uint8_t *block, uint64_t records, uint64_t first, uint32_t before, int64_t *keys,
                                uint64_t *good);
/* n whole numbers of 1, 2, 4 or 8 bytes, lowest byte first, wherever they lie, as keys; those of 8 bytes keep their bits. Errors:
 * TS_EINVAL. */
TS_API int32_t ts_trace_widen(const void *numbers, uint64_t n, uint32_t bytes, uint32_t has_sign, int64_t *keys);

/* ---- simulator: keys of profiles ------------------------------------------------------------------------ */

/* Keys of tables, drawn from laws of popularity: a pure function of seed, table, sample and position, the same on every
 * machine. Calls that only read (fill, law) may run on several threads at once. */
typedef struct ts_keys ts_keys;
/* Measures a stream of keys in one pass; one thread at a time. */
typedef struct ts_stream ts_stream;

/* An empty set of tables. Errors: TS_EINVAL (out is NULL), TS_ENOMEM. */
TS_API int32_t ts_keys_create(uint64_t seed, ts_keys **out, char *err, uint32_t err_cap);
/* Always TS_OK; NULL is accepted. */
TS_API int32_t ts_keys_close(ts_keys *keys);

/* Adds a table, whose number counts from 0. Its rows are steps (3 numbers each: rows, their share of the accesses together,
 * samples until a row is replaced by a new one or 0: never) and a tail, which has what the steps leave. Options:
 *   tail         none | zipf: rank r of the tail has weight (r + q)^-s | folded: draws of a Zipf law without end, modulo
 *                `rows`                                                                          (default none)
 *   rows, s, q   of the tail                                                                     (default 0)
 *   life         samples until a row of the tail is replaced, 0: never                            (default 0)
 *   pool         rows that replace others are drawn from so many, which come and go; 0: they are new   (default 0)
 *   repeats      share of keys that are the key some samples before; `gaps` are the shares of repeats over 1, 2, 3
 *                samples, then of four classes an octave (native/simulator/gaps.h)                                                          (default 0)
 *   parent, parent_share   a table added before, and the share of samples that take this table's rank from the parent's
 *                                                                                                (default none)
 *   walk_rows    rows of a walk, which come each once a pass: a share of the keys; 0: none           (default 0)
 *   walk_run, walk_turn, walk_start   of every `turn` keys so many are the walk's, and so many are gone at the beginning
 *                                                                                                (default 1, 1, 0)
 *   walk_spread  turns: the last of them | evenly: spread among them                               (default turns)
 *   walk_block   rows that are shuffled among themselves in each pass: 1: one order, walk_rows: any   (default 1)
 *   epoch        samples after which the same come again, 0: never; epoch_block: samples that are shuffled among
 *                themselves each time                                                             (default 0, 1)
 *   era          samples after which ranks without a life are dealt anew, 0: never; era_start: those of the first that
 *                are gone at the beginning; era_rows: rows that they are dealt to  (default 0, 0, the rows of the law)
 *   keys         hashed: spread over 64 bits; rows: numbers from 0, new rows after those           (default hashed)
 * bags: pairs of a number of keys a sample, up to 4095, and its share; none: one key a sample.
 * Errors: TS_EINVAL, TS_ENOMEM. */
TS_API int32_t ts_keys_add_table(ts_keys *keys, const ts_config *config, const double *steps, uint64_t step_count,
                                 const double *gaps, uint64_t gap_count, const double *bags, uint64_t bag_count,
                                 uint32_t *table, char *err, uint32_t err_cap);
/* Keys of samples first .. first + samples - 1. offsets (NULL or samples + 1 numbers): where each sample's keys begin.
 * *n is how many keys there are. Errors: TS_EINVAL, TS_ERANGE (cap is below *n). */
TS_API int32_t ts_keys_fill(ts_keys *keys, uint32_t table, uint64_t first, uint64_t samples, int64_t *out, uint64_t cap,
                            uint64_t *offsets, uint64_t *n, char *err, uint32_t err_cap);
/* The law of the rows that are there at one time: buckets of rows of equal share, heaviest first; shares[i] is that of one
 * row. Errors: TS_EINVAL, TS_ERANGE (cap is below *n), TS_ENOMEM. */
TS_API int32_t ts_keys_law(ts_keys *keys, uint32_t table, uint64_t *rows, double *shares, uint64_t cap, uint64_t *n,
                           char *err, uint32_t err_cap);

/* A stream to measure, of which up to `most` accesses are kept, 13 bytes each and 40 a row; beyond, a sample of rows.
 * Errors: TS_EINVAL, TS_ENOMEM. */
TS_API int32_t ts_stream_create(uint64_t most, ts_stream **out, char *err, uint32_t err_cap);
/* Always TS_OK; NULL is accepted. */
TS_API int32_t ts_stream_close(ts_stream *stream);
/* The next n keys. Errors: TS_EINVAL, TS_ENOMEM. */
TS_API int32_t ts_stream_add(ts_stream *stream, const int64_t *keys, uint64_t n, char *err, uint32_t err_cap);
/* From now on `most` accesses are kept, which may be fewer than before: memory that many streams share. Errors: TS_EINVAL, TS_ENOMEM. */
TS_API int32_t ts_stream_limit(ts_stream *stream, uint64_t most, char *err, uint32_t err_cap);
/* out[0] accesses, [1] those kept, [2] rows kept, [3] the share of rows that is kept. Errors: TS_EINVAL. */
TS_API int32_t ts_stream_facts(ts_stream *stream, double *out, char *err, uint32_t err_cap);
/* Takes each row for one life without repeats (apart = 0), or cuts its time where its rate changes: by the gain in likelihood
 * of accesses that are no repeats, at least 8 (apart = 1). What follows counts lives. Errors: TS_EINVAL, TS_ENOMEM. */
TS_API int32_t ts_stream_lives(ts_stream *stream, uint32_t apart, char *err, uint32_t err_cap);
/* After ts_stream_groups: the most used rows that were there all the time and are in no group, 2 numbers each: 1 if its
 * accesses are kept, 0 if they are only counted; its accesses that are no repeats. Errors: TS_EINVAL, TS_ERANGE (cap is
 * below *n). */
TS_API int32_t ts_stream_apart(ts_stream *stream, double *out, uint64_t cap, uint64_t *n, char *err, uint32_t err_cap);
/* The lives of kept rows in groups of like ones, 4 numbers each: lives, means of their accesses that are no repeats and of the
 * numbers of the first and last of them. Errors: TS_EINVAL, TS_ERANGE (cap is below *n), TS_ENOMEM. */
TS_API int32_t ts_stream_groups(ts_stream *stream, double *out, uint64_t cap, uint64_t *n, char *err, uint32_t err_cap);
/* Tells causes from repeats, at random by their odds. rates: how often a row of each group is asked for, per access;
 * kernel: density of repeats by class of gap, per access. out[b]: expected repeats.
 * Errors: TS_EINVAL, TS_ENOMEM. */
TS_API int32_t ts_stream_decluster(ts_stream *stream, const double *rates, uint64_t groups, const double *kernel,
                                   uint64_t bins, uint64_t seed, double *out, char *err, uint32_t err_cap);
/* The kept keys in their order. Errors: TS_EINVAL, TS_ERANGE (cap is below *n). */
TS_API int32_t ts_stream_keys(ts_stream *stream, int64_t *out, uint64_t cap, uint64_t *n, char *err, uint32_t err_cap);

/* ---- checkpoints as files -------------------------------------------------------------------------------- */

/* What a folder of checkpoints holds, without reading their data: for each, by rising number, a line "checkpoint=<number>", "state=",
 * whole (it and all it needs are there), abandoned (a store was restored to an earlier one and went on from there) or damaged,
 * "problem=" in words where it is not whole, "links=" (files to read to restore it) where it is, and the lines of its manifest.
 * Errors: TS_EINVAL, TS_EIO, TS_ERANGE, TS_ENOMEM. */
TS_API int32_t ts_checkpoint_describe(const char *path, char *out, uint64_t cap, uint64_t *needed, char *err,
                                      uint32_t err_cap);
/* Reads all checkpoints of a folder and compares every sum. control: bytes done and in all.
 * Errors: TS_EFORMAT (the file and offset of the first damage, and how many more checkpoints are damaged), TS_EIO, TS_EINVAL,
 * TS_ECANCELLED, TS_ENOMEM. */
TS_API int32_t ts_checkpoint_verify(const char *path, uint64_t *control, char *err, uint32_t err_cap);
/* Makes a full checkpoint of the newest, under its number, and removes all others and what was abandoned. A store that wrote or
 * was restored from the newest can go on from it. Memory: a block of up to 64 MiB and one bit a changed slot, twice. control:
 * bytes. When it fails or the process dies, the newest is there, as it was or as a full one.
 * Errors: TS_EINVAL (no checkpoint), TS_EUNAVAILABLE (a writer is at work in the folder), TS_EFORMAT (damaged), TS_EIO, TS_EFULL,
 * TS_ECANCELLED, TS_ENOMEM. */
TS_API int32_t ts_checkpoint_compact(const char *path, uint64_t *control, char *err, uint32_t err_cap);

#ifdef __cplusplus
}
#endif

#endif
