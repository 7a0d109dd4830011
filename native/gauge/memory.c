/* memory.c - accesses to memory, timed by the clock of the thread that does them.
 *
 * A thread does accesses of `bytes` at random places (or one after the other) until it is told to stop; a load touches
 * each cache line once, a store writes lines whole. Random loads and cached stores are asked for AHEAD accesses before they
 * are done, as the store asks for its rows (native/kernels/gather.c): a core keeps as many lines on their way as it can,
 * not as many as a plain loop finds within its window. A latency is a chase: each line holds where the next one is, in an
 * order of full period (x -> a x + c modulo a power of two, Hull and Dobell), so that nothing can be fetched ahead. The
 * chase has the lower half of the memory, what loads it the upper. */
#include "gauge/gauge.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#if defined(__x86_64__)
#include <cpuid.h>
#include <emmintrin.h>
#endif

#define LEAST 8192u /* accesses that are timed */
#define AHEAD 16u    /* accesses between asking for lines and using them */

typedef struct worker {
  pthread_t id;
  const ts_gauge *gauge;
  const ts_gauge_query *query;
  atomic_bool *go, *stop;
  unsigned char *from;  /* what it may touch */
  uint64_t bytes, state, cpu;
  bool chases;
  uint64_t accesses, ns; /* done */
} worker;

static uint64_t thread_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

typedef enum flush_kind { NO_FLUSH, CLFLUSHOPT, CLWB } flush_kind;

#if defined(__x86_64__)
static flush_kind flush_of_cpu(void) {
  unsigned a, b, c, d;
  if (!__get_cpuid_count(7, 0, &a, &b, &c, &d)) return NO_FLUSH;
  return (b >> 24 & 1) != 0 ? CLWB : (b >> 23 & 1) != 0 ? CLFLUSHOPT : NO_FLUSH;
}

static inline void flush(flush_kind kind, unsigned char *line) {
  if (kind == CLWB) __asm__ volatile("clwb %0" : "+m"(*(volatile char *)line));
  else __asm__ volatile("clflushopt %0" : "+m"(*(volatile char *)line));
}

bool ts_gauge_has(ts_gauge_op op) { return op != TS_GAUGE_FLUSH || flush_of_cpu() != NO_FLUSH; }
#else
static flush_kind flush_of_cpu(void) { return NO_FLUSH; }
bool ts_gauge_has(ts_gauge_op op) { return op == TS_GAUGE_LOAD || op == TS_GAUGE_CACHED; }
#endif

static inline uint64_t load_row(const unsigned char *row, uint32_t bytes) {
  uint64_t sum = 0;
  for (uint32_t at = 0; at < bytes; at += TS_GAUGE_LINE) sum += *(const volatile uint64_t *)(const void *)(row + at);
  return sum;
}

static inline void store_row(ts_gauge_op op, bool fenced, unsigned char *row, uint32_t bytes, uint64_t value,
                             flush_kind kind) {
#if defined(__x86_64__)
  __m128i word = _mm_set1_epi64x((long long)value);
  for (uint32_t at = 0; at < bytes; at += TS_GAUGE_LINE) {
    __m128i *line = (__m128i *)(void *)(row + at);
    for (uint32_t i = 0; i < TS_GAUGE_LINE / 16; i++) {
      if (op == TS_GAUGE_NT) _mm_stream_si128(line + i, word);
      else _mm_store_si128(line + i, word);
    }
    if (op == TS_GAUGE_FLUSH) flush(kind, row + at);
  }
  if (fenced) _mm_sfence();
#else
  (void)op, (void)fenced, (void)kind;
  for (uint32_t at = 0; at < bytes; at += 8) *(volatile uint64_t *)(void *)(row + at) = value;
#endif
}

/* Asks for the lines of a row; without it a plain loop waits for the few that the CPU sees ahead. */
static inline void ask_for(ts_gauge_op op, const unsigned char *row, uint32_t bytes) {
  if (op == TS_GAUGE_LOAD)
    for (uint32_t at = 0; at < bytes; at += TS_GAUGE_LINE) __builtin_prefetch(row + at);
  else if (op == TS_GAUGE_CACHED)
    for (uint32_t at = 0; at < bytes; at += TS_GAUGE_LINE) __builtin_prefetch(row + at, 1);
}

/* A thread that got no core before the time was over does what can be timed all the same. */
static bool goes_on(const worker *w) {
  return w->accesses < LEAST || !atomic_load_explicit(w->stop, memory_order_relaxed);
}

/* An access that is to come. */
typedef struct access {
  unsigned char *row;
  bool load;
} access;

/* Where the accesses of a thread go, and which of them are loads: as many as the share asks for, the difference carried on. */
typedef struct drawing {
  uint64_t stride, rows, next;
  double share, due;
} drawing;

static inline access draw(worker *w, drawing *d) {
  uint64_t at = w->query->sequential ? d->next : (uint64_t)((unsigned __int128)ts_mix64(++w->state) * d->rows >> 64);
  d->next = at + 1 < d->rows ? at + 1 : 0;
  d->due += d->share;
  bool load = d->due >= 1;
  if (load) d->due -= 1;
  return (access){w->from + at * d->stride, load};
}

static void access_rows(worker *w) {
  const ts_gauge_query *q = w->query;
  ts_gauge_op write = q->op == TS_GAUGE_LOAD ? TS_GAUGE_NT : q->op;
  flush_kind kind = flush_of_cpu();
  drawing d = {.stride = TS_ROUND_UP(q->bytes, TS_GAUGE_LINE),
               .share = q->mixed ? q->read_share : q->op == TS_GAUGE_LOAD ? 1 : 0};
  d.rows = w->bytes / d.stride;
  bool asks = !q->sequential && !q->fenced;
  uint64_t sum = 0;
  access coming[AHEAD];
  for (uint32_t i = 0; i < AHEAD; i++) coming[i] = draw(w, &d);
  while (goes_on(w)) {
    for (uint32_t i = 0; i < 256; i++) {
      access now = coming[i % AHEAD], then = coming[i % AHEAD] = draw(w, &d);
      if (asks) ask_for(then.load ? TS_GAUGE_LOAD : write, then.row, q->bytes);
      if (now.load) sum += load_row(now.row, q->bytes);
      else store_row(write, q->fenced, now.row, q->bytes, sum, kind);
    }
    w->accesses += 256;
  }
  w->state += sum; /* what was loaded counts */
}

static void chase(worker *w) {
  const unsigned char *from = w->from;
  uint64_t at = w->state % (w->bytes / TS_GAUGE_LINE);
  while (goes_on(w)) {
    for (uint32_t i = 0; i < 256; i++) at = *(const volatile uint64_t *)(const void *)(from + at * TS_GAUGE_LINE);
    w->accesses += 256;
  }
  w->state += at;
}

static void *work(void *argument) {
  worker *w = argument;
  if (w->cpu < CPU_SETSIZE) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(w->cpu, &one);
    sched_setaffinity(0, sizeof one, &one); /* a CPU that was taken away since leaves the thread where it is */
  }
  while (!atomic_load_explicit(w->go, memory_order_acquire)) sched_yield();
  uint64_t start = thread_ns();
  if (w->chases) chase(w);
  else access_rows(w);
  w->ns = TS_MAX(thread_ns() - start, 1u);
  return NULL;
}

/* The order of a chase over the first `lines` lines, a power of two. */
static void lay_chase(unsigned char *from, uint64_t lines, uint64_t seed) {
  uint64_t mask = lines - 1, a = (ts_mix64(seed) & ~UINT64_C(7)) | 5, c = ts_mix64(seed + 1) | 1;
  for (uint64_t i = 0; i < lines; i++) *(uint64_t *)(void *)(from + i * TS_GAUGE_LINE) = (a * i + c) & mask;
}

static uint64_t power_below(uint64_t n) {
  uint64_t p = 1;
  while (p * 2 <= n) p *= 2;
  return p;
}

int32_t ts_gauge_memory(ts_gauge *g, const ts_gauge_query *q, uint64_t ns, double out[2], ts_err err) {
  worker *workers = calloc(q->threads, sizeof *workers);
  if (workers == NULL) return ts_fail(err, TS_ENOMEM, "Cannot measure memory: out of memory");
  atomic_bool go = false, stop = false;
  bool chases = q->latency && q->op == TS_GAUGE_LOAD;
  uint64_t half = g->bytes / 2, lines = power_below((q->region > 0 ? q->region : half) / TS_GAUGE_LINE);
  g->seed = ts_mix64(g->seed + 1);
  if (chases) lay_chase(g->memory, lines, g->seed);
  uint32_t started = 0;
  int failed = 0;
  for (; started < q->threads && failed == 0; started += failed == 0) {
    worker *w = &workers[started];
    bool first = chases && started == 0;
    *w = (worker){.gauge = g, .query = q, .go = &go, .stop = &stop, .chases = first, .cpu = g->cpu[started],
                  .from = chases && !first ? g->memory + half : g->memory,
                  .bytes = first ? lines * TS_GAUGE_LINE : chases ? half : g->bytes,
                  .state = ts_random64(g->seed, 1, started)};
    failed = pthread_create(&w->id, NULL, work, w);
  }
  atomic_store(&go, true);
  struct timespec rest = {(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};
  while (failed == 0 && nanosleep(&rest, &rest) != 0) continue;
  atomic_store(&stop, true);
  double others = 0, slowest = 0;
  for (uint32_t i = 0; i < started; i++) {
    pthread_join(workers[i].id, NULL);
    double each = (double)workers[i].ns / (double)TS_MAX(workers[i].accesses, 1u);
    if (q->latency && i == 0) slowest = each;
    else others += q->bytes / each * 1e9;
  }
  free(workers);
  if (failed != 0) return ts_fail(err, TS_ENOMEM, "Cannot measure memory with %u threads: no thread could be started", q->threads);
  out[0] = q->latency ? slowest : others;
  out[1] = q->latency ? others : 0;
  return TS_OK;
}
