/* harness.c - the commands of the store bench's contenders.
 *
 *   prepare keys=<n> workload=<file> [options of the contender]   open, create all rows, step each once
 *                                                                 (stepped=0: do not)
 *   round kind=lookup|step distribution=<0..3> threads=<n> ms=<n> first=<batch>   whole batches until the time is up
 *   check distribution=<0..3> kind=lookup|step                    digest of one batch's weights (after one step)
 *   io                                                            bytes this process wrote to devices
 *   quit
 *
 * `step` is a lookup and then an update of the same batch. Threads live as long as the process and wait on a futex-based
 * barrier between rounds. A rate is the sum over threads of keys done / the thread's own time. */
#include "workload.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct worker {
  pthread_t thread;
  unsigned number;
  float *out;
  uint64_t batches, elapsed_ns;
  bool failed;
  char error[BENCH_TEXT];
} worker;

static struct {
  const workload *work;
  bool ready;
  float *gradients;
  worker workers[BENCH_THREADS];
  pthread_barrier_t start, end;
  /* the round */
  bool step;
  unsigned distribution, threads;
  uint64_t ns, first;
} bench;

float *bench_scratch(void) { return bench.workers[1].out; }

static bool run_batch(worker *w, const int64_t *keys) {
  if (!contender_lookup(w->number, keys, BENCH_BATCH, w->out, w->error)) return false;
  return !bench.step || contender_update(w->number, keys, BENCH_BATCH, bench.gradients, w->error);
}

static void *work(void *argument) {
  worker *w = argument;
  for (;;) {
    pthread_barrier_wait(&bench.start);
    w->batches = w->elapsed_ns = 0;
    w->failed = false;
    if (w->number < bench.threads) {
      uint64_t start = bench_now_ns();
      do {
        w->failed = !run_batch(w, workload_batch(bench.work, bench.distribution, w->number, bench.first + w->batches));
        w->batches++;
        w->elapsed_ns = bench_now_ns() - start;
      } while (!w->failed && w->elapsed_ns < bench.ns);
    }
    pthread_barrier_wait(&bench.end);
  }
  return NULL;
}

/* Resident bytes of this process. */
static uint64_t resident(void) {
  unsigned long long pages = 0;
  FILE *file = fopen("/proc/self/statm", "r");
  if (file != NULL) {
    if (fscanf(file, "%*u %llu", &pages) != 1) pages = 0;
    fclose(file);
  }
  return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* Gradients of the step that every row does before the rounds: they depend on the key, so that a row found in a wrong
 * place shows in the digest. */
static void key_gradients(const int64_t *keys, uint32_t n, float *gradients) {
  for (uint32_t i = 0; i < n; i++)
    for (uint32_t j = 0; j < BENCH_DIM; j++)
      gradients[i * BENCH_DIM + j] = (float)((uint64_t)keys[i] >> j & 0xffffu) * 0x1.0p-16f - 0.5f;
}

static uint64_t gcd(uint64_t a, uint64_t b) { return b == 0 ? a : gcd(b, a % b); }

/* What creating took: the contender's calls alone, by the clock and by the CPU time of all its threads. */
typedef struct creation {
  uint64_t ns, cpu_ns;
} creation;

static bool create(const int64_t *keys, uint32_t n, creation *took, char *error) {
  const uint64_t cpu = bench_cpu_ns(), start = bench_now_ns();
  const bool ok = contender_create(keys, n, error);
  took->ns += bench_now_ns() - start;
  took->cpu_ns += bench_cpu_ns() - cpu;
  return ok;
}

/* Rows are created in an order that has nothing to do with their frequency, as ids come in training. */
static bool fill(uint64_t keys, bool step, creation *took, char *error) {
  static int64_t batch[BENCH_BATCH];
  uint64_t stride = (uint64_t)((double)keys * 0.6180339887) | 1;
  while (gcd(stride, keys) != 1) stride += 2;
  for (int pass = 0; pass < (step ? 2 : 1); pass++) {
    for (uint64_t first = 0, rank = 0; first < keys; first += BENCH_BATCH) {
      uint32_t n = keys - first < BENCH_BATCH ? (uint32_t)(keys - first) : BENCH_BATCH;
      for (uint32_t i = 0; i < n; i++, rank = (rank + stride) % keys) batch[i] = bench_id(rank);
      if (pass == 0) {
        if (!create(batch, n, took, error)) return false;
        continue;
      }
      key_gradients(batch, n, bench.workers[0].out);
      if (!contender_update(0, batch, n, bench.workers[0].out, error)) return false;
    }
  }
  return true;
}

static bool prepare(const bench_options *options, char *reply, char *error) {
  uint64_t keys = bench_number(options, "keys", 0);
  if (keys == 0) return bench_fail(error, "Cannot prepare: keys must be above 0");
  if (bench.work != NULL) return bench_fail(error, "Cannot prepare twice");
  if (!workload_map(bench_text(options, "workload", ""), &bench.work, error)) return false;
  if (keys < bench.work->keys)
    return bench_fail(error, "Cannot run a workload of %llu keys on %llu rows", (unsigned long long)bench.work->keys,
                      (unsigned long long)keys);
  const uint64_t floats = (uint64_t)BENCH_BATCH * BENCH_DIM;
  bench.gradients = bench_pages(floats * sizeof(float));
  for (uint64_t i = 0; i < floats; i++) bench.gradients[i] = (float)(bench_mix(i) >> 40) * 0x1.0p-30f - 0x1.0p-7f;
  pthread_barrier_init(&bench.start, NULL, BENCH_THREADS + 1);
  pthread_barrier_init(&bench.end, NULL, BENCH_THREADS + 1);
  for (unsigned t = 0; t < BENCH_THREADS; t++) {
    bench.workers[t].number = t;
    bench.workers[t].out = bench_pages(floats * sizeof(float));
    memset(bench.workers[t].out, 0, floats * sizeof(float));
    int problem = pthread_create(&bench.workers[t].thread, NULL, work, &bench.workers[t]);
    if (problem != 0) return bench_fail(error, "Cannot start a thread: %s", strerror(problem));
  }
  uint64_t start = bench_now_ns(), before = resident();
  creation took = {0, 0};
  if (!contender_open(options, keys, error) || !fill(keys, bench_number(options, "stepped", 1) != 0, &took, error) || !contender_ready(options, error)) return false;
  bench.ready = true;
  snprintf(reply, BENCH_TEXT, "seconds=%.3f create=%.6f create_cpu=%.6f resident=%llu baseline=%llu",
           (double)(bench_now_ns() - start) * 1e-9, (double)took.ns * 1e-9, (double)took.cpu_ns * 1e-9,
           (unsigned long long)resident(), (unsigned long long)before);
  return true;
}

static bool round_options(const bench_options *options, char *error) {
  if (!bench.ready) return bench_fail(error, "Cannot run: nothing was prepared");
  const char *kind = bench_text(options, "kind", "");
  bench.step = strcmp(kind, "step") == 0;
  if (!bench.step && strcmp(kind, "lookup") != 0) return bench_fail(error, "Cannot run \"%s\": lookup or step", kind);
  bench.distribution = (unsigned)bench_number(options, "distribution", BENCH_DISTRIBUTIONS);
  bench.threads = (unsigned)bench_number(options, "threads", 1);
  if (bench.distribution >= BENCH_DISTRIBUTIONS || bench.threads == 0 || bench.threads > BENCH_THREADS)
    return bench_fail(error, "Cannot run distribution %u on %u threads: below %u, 1 to %u", bench.distribution,
                      bench.threads, BENCH_DISTRIBUTIONS, BENCH_THREADS);
  bench.ns = bench_number(options, "ms", 100) * 1000000u;
  bench.first = bench_number(options, "first", 0);
  return true;
}

static bool run_round(const bench_options *options, char *reply, char *error) {
  if (!round_options(options, error)) return false;
  uint64_t cpu = bench_cpu_ns(), keys = 0, longest = 0;
  double rate = 0;
  pthread_barrier_wait(&bench.start);
  pthread_barrier_wait(&bench.end);
  cpu = bench_cpu_ns() - cpu;
  for (unsigned t = 0; t < bench.threads; t++) {
    const worker *w = &bench.workers[t];
    if (w->failed) return bench_fail(error, "%s", w->error);
    keys += w->batches * BENCH_BATCH;
    rate += (double)(w->batches * BENCH_BATCH) * 1e9 / (double)w->elapsed_ns;
    if (w->elapsed_ns > longest) longest = w->elapsed_ns;
  }
  snprintf(reply, BENCH_TEXT, "rate=%.1f keys=%llu seconds=%.6f cpu=%.6f", rate, (unsigned long long)keys,
           (double)longest * 1e-9, (double)cpu * 1e-9);
  return true;
}

static bool check(const bench_options *options, char *reply, char *error) {
  if (!round_options(options, error)) return false;
  worker *w = &bench.workers[0];
  const int64_t *keys = workload_batch(bench.work, bench.distribution, 0, bench.first);
  if (!run_batch(w, keys)) return bench_fail(error, "%s", w->error);
  if (!contender_lookup(0, keys, BENCH_BATCH, w->out, error)) return false;
  uint64_t digest = 0;
  for (uint64_t i = 0; i < (uint64_t)BENCH_BATCH * BENCH_DIM; i++) {
    uint32_t bits;
    memcpy(&bits, &w->out[i], sizeof bits);
    digest = bench_mix(digest + bits + 1);
  }
  snprintf(reply, BENCH_TEXT, "digest=%016llx", (unsigned long long)digest);
  return true;
}

/* Bytes that this process had written to devices: proc(5), write_bytes less what was cancelled before it got there. */
static bool device_bytes(char *reply, char *error) {
  FILE *file = fopen("/proc/self/io", "r");
  if (file == NULL) return bench_fail(error, "Cannot read \"/proc/self/io\": %s", strerror(errno));
  char line[128];
  unsigned long long value = 0, written = 0, cancelled = 0, got = 0;
  while (fgets(line, sizeof line, file) != NULL) {
    if (sscanf(line, "write_bytes: %llu", &value) == 1) written = value, got = 1;
    if (sscanf(line, "cancelled_write_bytes: %llu", &value) == 1) cancelled = value;
  }
  fclose(file);
  if (!got) return bench_fail(error, "Cannot read \"/proc/self/io\": it has no write_bytes");
  snprintf(reply, BENCH_TEXT, "written=%llu cancelled=%llu", written, cancelled);
  return true;
}

bool bench_obey(const char *verb, const bench_options *options, char *reply, char *error) {
  if (strcmp(verb, "prepare") == 0) return prepare(options, reply, error);
  if (strcmp(verb, "round") == 0) return run_round(options, reply, error);
  if (strcmp(verb, "check") == 0) return check(options, reply, error);
  if (strcmp(verb, "io") == 0) return device_bytes(reply, error);
  return contender_command(verb, options, reply, error);
}
