/* base.h - what every part of libtierstore stands on: messages, options, text building, clocks, hashing, random
 * numbers, optional libraries, threads. Nothing here keeps state between calls. */
#ifndef TS_BASE_H
#define TS_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <pthread.h>

#include "tierstore.h"

#define TS_LIKELY(x) __builtin_expect(!!(x), 1)
#define TS_UNLIKELY(x) __builtin_expect(!!(x), 0)
/* These evaluate their arguments twice. */
#define TS_MIN(a, b) ((a) < (b) ? (a) : (b))
#define TS_MAX(a, b) ((a) > (b) ? (a) : (b))
#define TS_ROUND_UP(n, m) (((n) + (m) - 1) / (m) * (m))

/* ---- messages (status.c) ---- */

/* The caller's message buffer, passed down instead of a global. */
typedef struct ts_err {
  char *text;
  uint32_t cap;
} ts_err;

/* Writes a message and returns `status`, so that a failure is one statement. */
int32_t ts_fail(ts_err err, int32_t status, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* ---- text building (text.c) ---- */

/* A bounded, growing text for the (out, cap, needed) functions. */
typedef struct ts_text {
  char *bytes; /* NUL-terminated once anything was added */
  size_t length, capacity;
  bool failed; /* out of memory */
} ts_text;

void ts_text_add(ts_text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Copies to the caller, frees the text, returns TS_OK, TS_ERANGE or TS_ENOMEM. */
int32_t ts_text_return(ts_text *text, char *out, uint64_t cap, uint64_t *needed);
/* As ts_text_return, with words of what the text tells when that fails. */
int32_t ts_text_tell(ts_text *text, const char *what, char *out, uint64_t cap, uint64_t *needed, ts_err err);

/* ---- options (config.c) ---- */

/* Readers look an option up and mark it as known; after all were read, ts_config_finish refuses the keys that
 * nobody asked for. Each reader leaves *out at the default when the option is absent. */
#define TS_CONFIG_MOST 1024u /* options of one ts_config: a simulation names several media */
typedef struct ts_config_reader {
  const ts_config *config;
  const char *what; /* e.g. "store", for messages */
  ts_err err;
  int32_t status; /* first failure; later reads do nothing */
  uint64_t known[TS_CONFIG_MOST / 64]; /* bitmap over the entries */
  ts_text *found; /* receives "key=value" of every number and choice that is read, defaults too; NULL: nobody wants them */
} ts_config_reader;

ts_config_reader ts_config_read(const ts_config *config, const char *what, ts_err err);
const char *ts_config_text(ts_config_reader *r, const char *key, const char *fallback);
uint64_t ts_config_u64(ts_config_reader *r, const char *key, uint64_t fallback, uint64_t min, uint64_t max);
double ts_config_f64(ts_config_reader *r, const char *key, double fallback, double min, double max);
/* Index of the value in the NULL-terminated list of choices. */
uint32_t ts_config_choice(ts_config_reader *r, const char *key, const char *fallback, const char *const *choices);
/* Up to cap numbers; returns how many there were. */
uint32_t ts_config_u64_list(ts_config_reader *r, const char *key, uint64_t *out, uint32_t cap);
bool ts_config_has(const ts_config *config, const char *key);
/* Marks every key that starts with the prefix as known (for parts that read their own options). */
void ts_config_ignore_prefix(ts_config_reader *r, const char *prefix);
/* The other way round: marks every key that does not start with the prefix, so that such a part refuses its own only. */
void ts_config_ignore_others(ts_config_reader *r, const char *prefix);
int32_t ts_config_finish(ts_config_reader *r);
/* Adds a line to what was found. */
void ts_config_found(ts_config_reader *r, const char *key, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* ---- clocks (clock.c) ---- */

uint64_t ts_now_ns(void); /* monotonic */
/* Busy-waits until ts_now_ns() >= deadline: what a stalled memory access does to a core. */
void ts_spin_until(uint64_t deadline_ns);

/* ---- hashing and random numbers (hash.h is inline for the batch path; random.c for distributions) ---- */

/* A bijective 64-bit mixer (the finaliser constants of MurmurHash3 as improved by Stafford, variant 13). */
static inline uint64_t ts_mix64(uint64_t x) {
  x ^= x >> 30;
  x *= 0xbf58476d1ce4e5b9u;
  x ^= x >> 27;
  x *= 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}
uint64_t ts_hash_bytes(const void *bytes, size_t n, uint64_t seed);

/* Counter-based random numbers: a pure function of (seed, stream, counter), equal on every machine. */
static inline uint64_t ts_random64(uint64_t seed, uint64_t stream, uint64_t counter) {
  uint64_t a = ts_mix64(seed + 0x9e3779b97f4a7c15u);
  uint64_t b = ts_mix64(a ^ (stream + 0xd1b54a32d192ed03u));
  return ts_mix64(b + (counter + 1) * 0x9e3779b97f4a7c15u);
}
/* Uniform in [0, 1) with 53 bits. */
static inline double ts_unit(uint64_t r) { return (double)(r >> 11) * 0x1.0p-53; }

/* Deterministic elementary functions: only IEEE add, multiply, divide and exact scaling, so that key streams and
 * initial values are the same on every machine whatever its libm. Relative error below 1e-13 in the ranges used. */
double ts_det_exp(double x);
double ts_det_log(double x); /* x > 0 */
double ts_det_pow(double x, double y); /* x > 0 */
double ts_det_cos2pi(double turns); /* cos(2 pi turns) */
/* Standard normal from two random words (Box-Muller on the functions above). */
double ts_det_normal(uint64_t r1, uint64_t r2);

/* ---- optional libraries (library.c) ---- */

/* dlopen of the first soname of a NULL-terminated list; on failure TS_EUNAVAILABLE naming library and package.
 * The handle is never closed (the loader counts references). */
int32_t ts_library_open(const char *const *sonames, const char *package, void **handle, ts_err err);
/* dlsym into a table of {name, address of a function pointer}, ended by a NULL name. */
typedef struct ts_symbol {
  const char *name;
  void **address;
} ts_symbol;
int32_t ts_library_symbols(void *handle, const char *library, const ts_symbol *symbols, ts_err err);

/* ---- memory (numa.c) ---- */

#define TS_NUMA_NODES 1024u
/* Where pages come from. Bound: from the nearest of the nodes that has room, and from no other. Interleaved: from the nodes in
 * turn, as many from each as its weight in /sys/kernel/mm/mempolicy/weighted_interleave says (Linux 6.9). */
typedef enum ts_numa_policy { TS_NUMA_ANY, TS_NUMA_BIND, TS_NUMA_WEIGHTED_INTERLEAVE } ts_numa_policy;
typedef struct ts_numa {
  ts_numa_policy policy;
  unsigned long nodes[TS_NUMA_NODES / (8 * sizeof(unsigned long))]; /* a bit for each */
} ts_numa;
/* Adds a node. Errors: TS_EINVAL. */
int32_t ts_numa_add(ts_numa *numa, uint64_t node, ts_err err);
/* "0,2" for a message or a description. */
void ts_numa_list(const ts_numa *numa, ts_text *text);
/* Sets the policy of pages that were not touched yet. Errors: TS_EINVAL (no such node), TS_EUNAVAILABLE. */
int32_t ts_numa_place(const ts_numa *numa, void *memory, uint64_t bytes, ts_err err);
/* The same, bound to one node. */
int32_t ts_bind_memory(void *memory, uint64_t bytes, int node, ts_err err);
/* Adds to on[node] the pages of a range that lie there, of a sample of `most` at the most (512 or fewer). Pages that nobody
 * has touched lie nowhere, and a kernel that does not answer counts nothing. */
void ts_numa_pages(void *memory, uint64_t bytes, uint32_t most, uint32_t on[TS_NUMA_NODES]);
/* Adds " pages=<node>:<pages>,..." if there are any. */
void ts_numa_describe_pages(const uint32_t on[TS_NUMA_NODES], ts_text *text);

/* ---- threads (threads.c) ---- */

/* A fixed set of threads that run one task at a time: task(context, part) for part in [0, parts), the calling thread
 * included. With threads = 1 everything runs on the caller. Parts are taken in order, each by one thread. */
typedef struct ts_pool ts_pool;
int32_t ts_pool_create(uint32_t threads, ts_pool **out, ts_err err);
void ts_pool_run(ts_pool *pool, uint32_t parts, void (*task)(void *context, uint32_t part), void *context);
uint32_t ts_pool_threads(const ts_pool *pool);
void ts_pool_destroy(ts_pool *pool);

#endif
