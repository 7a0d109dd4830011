/* Whatever fails while something is opened or made, nothing stays behind: no memory, no mapping, no file handle, no thread
 * and no file. Everything that the library asks of the system goes through the counters below (ld's --wrap, see the
 * Makefile), which refuse the n-th request, for every n that there is: allocations, mappings, threads, libraries and their
 * symbols. What other libraries leak the leak sanitizer tells, under which the nightly runs this. */
#include "test/store_types.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <grp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

/* ---- the counters ---- */

typedef enum request { ALLOCATION, MAPPING, THREAD, LIBRARY, SYMBOL, REQUESTS } request;
static const char *const request_names[] = {"allocation", "mapping", "thread", "library", "symbol"};

static _Atomic int64_t until[REQUESTS]; /* the request that is refused, counted down; below 1: none */
static _Atomic bool refused;
static bool given_all; /* options are made, which a scenario of their own is about */

static bool refuses(request kind) {
  if (given_all || atomic_load(&until[kind]) <= 0 || atomic_fetch_sub(&until[kind], 1) != 1) return false;
  atomic_store(&refused, true);
  return true;
}

/* Allocations that live, by address; 0: a free place, 1: one that was used. */
#define PLACES (1u << 18)
static void *live[PLACES];
static uint32_t live_count;
static pthread_mutex_t live_lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic int64_t mapped;

static uint32_t place_of(const void *p) { return (uint32_t)(((uintptr_t)p >> 4) * UINT64_C(0x9e3779b97f4a7c15) >> 46); }

static void *remember(void *p) {
  if (p == NULL) return p;
  pthread_mutex_lock(&live_lock);
  for (uint32_t at = place_of(p);; at = (at + 1) % PLACES)
    if ((uintptr_t)live[at] <= 1) {
      live[at] = p;
      break;
    }
  live_count++;
  pthread_mutex_unlock(&live_lock);
  return p;
}

static void forget(const void *p) {
  if (p == NULL) return;
  pthread_mutex_lock(&live_lock);
  for (uint32_t at = place_of(p), looked = 0; live[at] != NULL && looked < PLACES; at = (at + 1) % PLACES, looked++)
    if (live[at] == p) {
      live[at] = live[(at + 1) % PLACES] == NULL ? NULL : (void *)(uintptr_t)1;
      live_count--;
      break;
    }
  pthread_mutex_unlock(&live_lock);
}

#define REAL(type, name, parameters) \
  type __real_##name parameters;     \
  type __wrap_##name parameters
REAL(void *, malloc, (size_t n));
REAL(void *, calloc, (size_t n, size_t size));
REAL(void *, realloc, (void *p, size_t n));
REAL(void *, aligned_alloc, (size_t align, size_t n));
REAL(char *, strdup, (const char *text));
REAL(void, free, (void *p));
REAL(void *, mmap, (void *at, size_t n, int protection, int flags, int fd, off_t offset));
REAL(int, munmap, (void *at, size_t n));
REAL(int, pthread_create, (pthread_t *id, const pthread_attr_t *how, void *(*run)(void *), void *argument));
REAL(void *, dlopen, (const char *name, int flags));
REAL(void *, dlsym, (void *handle, const char *name));
REAL(char *, dlerror, (void));

static void *no_memory(void) {
  errno = ENOMEM;
  return NULL;
}
void *__wrap_malloc(size_t n) { return refuses(ALLOCATION) ? no_memory() : remember(__real_malloc(n)); }
void *__wrap_calloc(size_t n, size_t size) {
  return refuses(ALLOCATION) ? no_memory() : remember(__real_calloc(n, size));
}
void *__wrap_aligned_alloc(size_t align, size_t n) {
  return refuses(ALLOCATION) ? no_memory() : remember(__real_aligned_alloc(align, n));
}
char *__wrap_strdup(const char *text) { return refuses(ALLOCATION) ? no_memory() : remember(__real_strdup(text)); }
void *__wrap_realloc(void *p, size_t n) {
  if (refuses(ALLOCATION)) return no_memory();
  forget(p);
  return remember(__real_realloc(p, n));
}
void __wrap_free(void *p) {
  forget(p);
  __real_free(p);
}
void *__wrap_mmap(void *at, size_t n, int protection, int flags, int fd, off_t offset) {
  if (refuses(MAPPING)) {
    errno = ENOMEM;
    return MAP_FAILED;
  }
  void *p = __real_mmap(at, n, protection, flags, fd, offset);
  if (p != MAP_FAILED && !(flags & MAP_FIXED)) atomic_fetch_add(&mapped, (int64_t)TS_ROUND_UP(n, 4096u));
  return p;
}
int __wrap_munmap(void *at, size_t n) {
  atomic_fetch_sub(&mapped, (int64_t)TS_ROUND_UP(n, 4096u));
  return __real_munmap(at, n);
}
int __wrap_pthread_create(pthread_t *id, const pthread_attr_t *how, void *(*run)(void *), void *argument) {
  return refuses(THREAD) ? EAGAIN : __real_pthread_create(id, how, run, argument);
}
void *__wrap_dlopen(const char *name, int flags) { return refuses(LIBRARY) ? NULL : __real_dlopen(name, flags); }
void *__wrap_dlsym(void *handle, const char *name) { return refuses(SYMBOL) ? NULL : __real_dlsym(handle, name); }
char *__wrap_dlerror(void) {
  static char words[] = "refused by the test";
  char *said = __real_dlerror();
  return said == NULL ? words : said;
}

/* ---- what is there ---- */

static uint32_t entries_of(const char *path) {
  uint32_t n = 0;
  DIR *directory = opendir(path);
  for (struct dirent *entry; directory != NULL && (entry = readdir(directory)) != NULL;) n += entry->d_name[0] != '.';
  if (directory != NULL) closedir(directory);
  return n;
}

typedef struct holdings {
  int64_t allocations, mapped, handles, threads, files;
} holdings;

static holdings take_stock(void) {
  return (holdings){.allocations = live_count,
                    .mapped = atomic_load(&mapped),
                    .handles = entries_of("/proc/self/fd"),
                    .threads = entries_of("/proc/self/task"),
                    .files = entries_of(folder)};
}

static void *nothing(void *argument) { return argument; }

/* Threads of this process when nothing is open. The thread sanitizer has one of its own from the first that is made on. */
static int64_t quiet = 1;

static void make_first_thread(void) {
  pthread_t id;
  CHECK(pthread_create(&id, NULL, nothing, NULL) == 0 && pthread_join(id, NULL) == 0);
  /* OpenCL drivers have threads that stay. */
  for (uint32_t i = 0; i < STORAGE_TYPES; i++)
    if (uses_opencl(&storage_types[i]) && strcmp(storage_types[i].storage, "HBM") == 0) {
      ts_config *config = config_of_type(&storage_types[i], "4194304", "all");
      (void)ts_store_probe(config, NULL, 0);
      ts_config_free(config);
    }
  usleep(100000); /* it may be listed a moment longer */
  quiet = entries_of("/proc/self/task");
}

/* A thread that was joined may be listed a moment longer. */
static holdings stock_when_quiet(int64_t threads) {
  holdings h = take_stock();
  for (uint32_t i = 0; h.threads > threads && i < 200; i++) {
    usleep(1000);
    h = take_stock();
  }
  return h;
}

static bool is_same(const char *what, const char *how, int64_t n, holdings before) {
  const holdings after = stock_when_quiet(before.threads);
  const bool same = after.allocations == before.allocations && after.mapped == before.mapped &&
                    after.handles == before.handles && after.threads <= before.threads && after.files == before.files;
  CHECK_MSG(same, "%s, %s %lld refused, leaves %lld allocations, %lld mapped bytes, %lld handles, %lld threads, %lld files",
            what, how, (long long)n, (long long)(after.allocations - before.allocations),
            (long long)(after.mapped - before.mapped), (long long)(after.handles - before.handles),
            (long long)(after.threads - before.threads), (long long)(after.files - before.files));
  return same;
}

/* Opens, makes and closes; returns the first status that is not TS_OK. */
typedef int32_t scenario(void *argument);
static char message[512];

/* Refuses each request of each kind in turn; `stride` above 1: those that `number` says and every stride-th after it, in
 * the quick form, where other scenarios come by the same code. */
static void refuse_some(const char *what, scenario *run, void *argument, uint32_t stride, uint32_t number) {
  if (getenv("TIERSTORE_ROUNDS") != NULL) stride = 1;
  message[0] = '\0';
  if (getenv("TIERSTORE_SHOW") != NULL) fprintf(stderr, "%.1f s: %s\n", (double)clock() / CLOCKS_PER_SEC, what);
  const int32_t whole = run(argument); /* also opens the libraries, which stay open */
  CHECK_MSG(whole == TS_OK, "%s: %s", what, message);
  if (whole != TS_OK) return;
  for (request kind = 0; kind < REQUESTS; kind++)
    for (int64_t n = 1 + number % stride;; n += stride) {
      const holdings before = stock_when_quiet(quiet);
      atomic_store(&refused, false);
      atomic_store(&until[kind], n);
      message[0] = '\0';
      const int32_t status = run(argument);
      atomic_store(&until[kind], 0);
      const bool hit = atomic_load(&refused);
      CHECK_MSG(status == TS_OK || hit, "%s fails by itself: %s", what, message);
      CHECK_MSG(status == TS_OK || message[0] != '\0', "%s, %s %lld refused: %d without a word", what, request_names[kind],
                (long long)n, status);
      if (!is_same(what, request_names[kind], n, before) || !hit) break;
    }
}

static void refuse_each(const char *what, scenario *run, void *argument) { refuse_some(what, run, argument, 1, 0); }

static int32_t make_options(ts_config **out, const char *const pairs[]) {
  int32_t status = ts_config_create(out);
  if (status != TS_OK) {
    *out = NULL;
    strcpy(message, "no options");
  }
  for (uint32_t i = 0; status == TS_OK && pairs[i] != NULL; i += 2)
    if (pairs[i + 1] != NULL) status = ts_config_set(*out, pairs[i], pairs[i + 1], message, sizeof message);
  return status;
}
static int32_t configure(ts_config **out, const char *const pairs[]) {
  given_all = true;
  const int32_t status = make_options(out, pairs);
  given_all = false;
  return status;
}
#define CONFIGURE(out, ...) configure(out, (const char *const[]){__VA_ARGS__, NULL})

/* The least that a media model needs. */
static int32_t add_medium(ts_config *config, const char *prefix) {
  static const char *const pairs[][2] = {{"medium", "made-up"},           {"in_flight", "10"},
                                         {"granule", "256"},              {"read_latency_ns", "30"},
                                         {"read_bandwidth", "1e12"},      {"write_nt_latency_ns", "10"},
                                         {"write_nt_bandwidth", "1e12"},  {"write_cached_latency_ns", "20"},
                                         {"write_cached_bandwidth", "1e12"}};
  int32_t status = TS_OK;
  given_all = true;
  for (uint32_t i = 0; status == TS_OK && i < sizeof pairs / sizeof *pairs; i++) {
    char key[64];
    snprintf(key, sizeof key, "%s.%s", prefix, pairs[i][0]);
    status = ts_config_set(config, key, pairs[i][1], message, sizeof message);
  }
  given_all = false;
  return status;
}

static int32_t options(void *argument) {
  (void)argument;
  ts_config *config = NULL;
  static const char *const pairs[] = {"storage", "DRAM", "storage", "SSDHASH", "size", "1,2", "path", "/tmp", NULL};
  const int32_t status = make_options(&config, pairs);
  ts_config_free(config);
  return status;
}

/* ---- stores and tables ---- */

typedef struct store_case {
  const storage_type *type;
  const char *sizes, *policy, *medium; /* prefix of a media model, or NULL */
  bool persistent;
} store_case;

static int32_t open_store(void *argument) {
  const store_case *c = argument;
  ts_config *config = NULL, *of_table = NULL;
  ts_store *store = NULL;
  uint32_t table;
  int32_t status = CONFIGURE(&config, "storage", c->type->storage, "size", c->sizes, "path", folder, "eviction_threads", "2",
                             "policy", c->policy, c->type->pmem == NULL ? "policy" : "pmem",
                             c->type->pmem == NULL ? c->policy : c->type->pmem);
  if (status == TS_OK && uses_mbind(c->type)) status = ts_config_set(config, "pmem_nodes", "0", message, sizeof message);
  if (status == TS_OK && c->type->hbm != NULL) status = ts_config_set(config, "hbm", c->type->hbm, message, sizeof message);
  if (status == TS_OK && uses_hbm_mbind(c->type)) status = ts_config_set(config, "hbm_nodes", "0", message, sizeof message);
  if (status == TS_OK && c->medium != NULL) status = add_medium(config, c->medium);
  if (status == TS_OK && c->persistent) status = ts_config_set(config, "persistent", "1", message, sizeof message);
  if (status == TS_OK && c->medium != NULL && c->medium[0] == 'm')
    status = ts_config_set(config, "memory_mode.cache_bytes", "1048576", message, sizeof message);
  if (status == TS_OK) status = ts_store_open(config, &store, message, sizeof message);
  if (status == TS_OK)
    status = CONFIGURE(&of_table, "name", "a", "dim", "4", "optimizer", "adagrad", "admission", "bloom", "admission.keys",
                       "1000", "expire.steps", "5");
  if (status == TS_OK) status = ts_table_create(store, of_table, &table, message, sizeof message);
  ts_config_free(config);
  ts_config_free(of_table);
  ts_store_close(store);
  return status;
}

static void stores_of_every_type(void) {
  static const char *const sizes[] = {"", "4194304", "4194304,2097152", "4194304,4194304,2097152",
                                      "4194304,4194304,2097152,2097152"};
  for (uint32_t i = 0; i < STORAGE_TYPES; i++) {
    const storage_type *type = &storage_types[i];
    store_case c = {type, sizes[all_tiers_of(type)], i % 2 == 0 ? "tinylfu" : "s3fifo", NULL, false};
    if (strcmp(type->storage, "DRAM") == 0) c.medium = "memory_mode";
    if (strcmp(type->storage, "DRAM_PMEM") == 0) c.medium = "emulate";
    ts_config *config = config_of_type(type, c.sizes, "all");
    const int32_t status = ts_store_probe(config, message, sizeof message);
    ts_config_free(config);
    if (status == TS_EUNAVAILABLE) {
      SKIP("failed_opens_test", "%s: %s", type->name, message);
      continue;
    }
    /* Each opening of a device compiles kernels; its own requests come all in the first of these types. */
    refuse_some(type->name, open_store, &c, i < 3 ? 1 : !uses_opencl(type) || strcmp(type->storage, "HBM") == 0 ? 3 : 40, i);
  }
}

/* Of those that are to last the folder stays; without a point it has nothing when they close. */
static void stores_that_last(void) {
  static const storage_type types[] = {{"PMEM_LIBPMEM that lasts", "PMEM_LIBPMEM", NULL, NULL, 1, false},
                                       {"DRAM_PMEM that lasts", "DRAM_PMEM", "libpmem", NULL, 2, false},
                                       {"DRAM_SSDHASH that lasts", "DRAM_SSDHASH", NULL, NULL, 2, true}};
  char kept[192];
  snprintf(kept, sizeof kept, "%s/tierstore-kept", folder);
  for (uint32_t i = 0; i < 3; i++) {
    store_case c = {&types[i], types[i].tiers == 1 ? "4194304" : "4194304,2097152", "clock", NULL, true};
    refuse_some(types[i].name, open_store, &c, 3, i);
    CHECK_MSG(rmdir(kept) == 0, "%s: files are left in %s", types[i].name, kept);
  }
}

/* What is wrong before anything is asked of the system. */
static void options_that_are_refused(void) {
  static const char *const wrong[][3] = {
      {"storage", "HBM", NULL},          {"storage", "no such type", NULL}, {"size", "1", NULL},
      {"size", "1,2,3,4,5", NULL},       {"size", "x", NULL},               {"path", "/nonexistent/folder", NULL},
      {"path", "/proc/self/stat", NULL}, {"path", "", NULL},                {"policy", "oldest", NULL},
      {"shards", "3", NULL},             {"eviction_threads", "65", NULL},  {"unknown", "1", NULL},
      {"numa_node", "999", NULL},        {"kernels", "none", NULL},         {"emulate.medium", "none such", NULL},
      {"memory_mode.dram_bytes", "x", NULL}, {"ssdhash.depth", "x", NULL},  {"leveldb.bloom_bits", "x", NULL},
      {"pmem", "neither", NULL},         {"size_counts", "some", NULL},     {"seed", "-1", NULL},
  };
  static const char *const of_table[][2] = {{"dim", "0"},       {"dtype", "fp8"},       {"optimizer", "none such"},
                                            {"initializer", "x"}, {"admission", "x"},   {"admission.frequency", "0"},
                                            {"unknown", "1"},   {"learning_rate", "x"}, {"name", ""}};
  for (uint32_t i = 0; i < STORAGE_TYPES; i++)
    for (uint32_t w = 0; w < sizeof wrong / sizeof *wrong; w++) {
      if (uses_opencl(&storage_types[i]) && all_tiers_of(&storage_types[i]) > 2) continue; /* an opening takes 20 ms */
      if (getenv("TIERSTORE_ROUNDS") == NULL && w >= 9 && (i + w) % 4 != 0) continue; /* those before tell types apart */
      const holdings before = stock_when_quiet(quiet);
      ts_config *config = config_of_type(&storage_types[i], "", "all");
      ts_config_set(config, wrong[w][0], wrong[w][1], NULL, 0);
      ts_store *store = NULL;
      /* Some options are right for some types. */
      if (ts_store_open(config, &store, message, sizeof message) == TS_OK) ts_store_close(store);
      ts_config_free(config);
      char what[128];
      snprintf(what, sizeof what, "%s with %s=%s", storage_types[i].name, wrong[w][0], wrong[w][1]);
      is_same(what, "option", 0, before);
    }
  for (uint32_t w = 0; w < sizeof of_table / sizeof *of_table; w++) {
    const holdings before = stock_when_quiet(quiet);
    ts_store *store = open_config(CONFIG("storage", "DRAM", "size", "4194304"));
    ts_config *config = CONFIG("name", "a", "admission", "bloom", "admission.keys", "1000", of_table[w][0], of_table[w][1]);
    uint32_t table;
    CHECK_MSG(ts_table_create(store, config, &table, message, sizeof message) == TS_EINVAL, "%s=%s", of_table[w][0],
              of_table[w][1]);
    ts_config_free(config);
    ts_store_close(store);
    is_same(of_table[w][0], "option of a table", 0, before);
  }
}

/* In a process of its own that is nobody: root may write everywhere. */
static void folders_without_permission(void) {
  char closed[192];
  snprintf(closed, sizeof closed, "%s/closed", folder);
  if (mkdir(closed, 0500) != 0) {
    CHECK_MSG(false, "cannot make %s: %s", closed, strerror(errno));
    return;
  }
  fflush(NULL);
  const pid_t child = fork();
  if (child == 0) {
    if (geteuid() == 0 && (setgroups(0, NULL) != 0 || setgid(65534) != 0 || setuid(65534) != 0)) _exit(TEST_EXIT_SKIPPED);
    make_first_thread();
    for (uint32_t i = 0; i < STORAGE_TYPES; i++) {
      ts_config *config = config_of_type(&storage_types[i], "", "all");
      ts_config_set(config, "path", closed, NULL, 0);
      const holdings before = stock_when_quiet(quiet);
      ts_store *store = NULL;
      const int32_t status = ts_store_open(config, &store, message, sizeof message);
      const bool pool = strstr(storage_types[i].storage, "LIBPMEM") != NULL ||
                        (storage_types[i].pmem != NULL && strcmp(storage_types[i].pmem, "libpmem") == 0);
      const bool needs_files = storage_types[i].ssd || pool;
      CHECK_MSG((status != TS_OK) == needs_files || status == TS_EUNAVAILABLE, "%s: %d %s", storage_types[i].name, status,
                message);
      if (status == TS_OK) ts_store_close(store);
      is_same(storage_types[i].name, "folder", 0, before);
      ts_config_free(config);
    }
    _exit(test_result());
  }
  int status = -1;
  CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status));
  if (WIFEXITED(status) && WEXITSTATUS(status) == TEST_EXIT_SKIPPED)
    SKIP("failed_opens_test: folders_without_permission", "the user cannot be changed");
  else
    CHECK(status == 0);
  rmdir(closed);
}

/* ---- data and trainers ---- */

static const char *path_of(const char *name) {
  static char paths[4][192];
  static uint32_t next;
  char *path = paths[next++ % 4];
  snprintf(path, sizeof paths[0], "%s/%s", folder, name);
  return path;
}

static int32_t generate(void *argument) {
  (void)argument;
  ts_config *config = NULL;
  int32_t status = CONFIGURE(&config, "out", path_of("data"), "rows", "512", "scale", "0.001", "threads", "2");
  if (status == TS_OK) status = ts_data_generate(config, NULL, message, sizeof message);
  ts_config_free(config);
  unlink(path_of("data"));
  return status;
}

static int32_t import(void *argument) {
  (void)argument;
  ts_config *config = NULL;
  int32_t status = CONFIGURE(&config, "in", path_of("text"), "train_out", path_of("train"), "test_out", path_of("test"),
                             "readers", "2");
  if (status == TS_OK) status = ts_data_import(config, NULL, message, sizeof message);
  ts_config_free(config);
  unlink(path_of("train"));
  unlink(path_of("test"));
  return status;
}

static int32_t describe_data(void *argument) {
  char text[4096];
  uint64_t needed;
  return ts_data_describe(argument, text, sizeof text, &needed, message, sizeof message);
}

typedef struct trainer_case {
  const char *executor, *extra, *value;
} trainer_case;

static int32_t open_trainer(void *argument) {
  const trainer_case *c = argument;
  ts_config *of_store = NULL, *config = NULL;
  ts_store *store = NULL;
  ts_trainer *trainer = NULL;
  int32_t status = CONFIGURE(&of_store, "storage", "DRAM", "size", "67108864", "shards", "1");
  if (status == TS_OK) status = ts_store_open(of_store, &store, message, sizeof message);
  if (status == TS_OK)
    status = CONFIGURE(&config, "data", path_of("kept"), "batch", "64", "dim", "4", "hidden", "16,8", "threads", "2", "tables",
                       "C1:4:none:C1;bag:4:mean:C2,C3", "executor", c->executor, c->extra, c->value);
  if (status == TS_OK) status = ts_trainer_open(store, config, &trainer, message, sizeof message);
  ts_trainer_close(trainer);
  ts_config_free(of_store);
  ts_config_free(config);
  ts_store_close(store);
  return status;
}

/* ---- simulators ---- */

static int32_t make_keys(void *argument) {
  (void)argument;
  ts_keys *keys = NULL;
  ts_config *config = NULL;
  uint32_t table;
  static const double steps[] = {10, 0.2, 0, 100, 0.3, 50}, bags[] = {1, 0.5, 3, 0.5};
  int32_t status = ts_keys_create(1, &keys, message, sizeof message);
  if (status == TS_OK) status = CONFIGURE(&config, "tail", "zipf", "rows", "1000", "s", "1.1", "q", "2");
  if (status == TS_OK) status = ts_keys_add_table(keys, config, steps, 2, NULL, 0, bags, 2, &table, message, sizeof message);
  ts_config_free(config);
  ts_keys_close(keys);
  return status;
}

static int32_t measure_stream(void *argument) {
  (void)argument;
  static int64_t keys[4000];
  for (uint32_t i = 0; i < 4000; i++) keys[i] = (int64_t)(ts_random64(3, 0, i) % (i % 3 == 0 ? 20 : 900));
  ts_stream *stream = NULL;
  static double out[65536];
  uint64_t n;
  int32_t status = ts_stream_create(3000, &stream, message, sizeof message);
  if (status == TS_OK) status = ts_stream_add(stream, keys, 4000, message, sizeof message);
  if (status == TS_OK) status = ts_stream_lives(stream, 1, message, sizeof message);
  if (status == TS_OK) status = ts_stream_groups(stream, out, 65536, &n, message, sizeof message);
  if (status == TS_OK) status = ts_stream_apart(stream, out, 65536, &n, message, sizeof message);
  ts_stream_close(stream);
  return status;
}

static int32_t draw_curve(void *argument) {
  static int64_t keys[5000];
  for (uint32_t i = 0; i < 5000; i++) keys[i] = (int64_t)(ts_random64(5, 0, i) % 700);
  const uint64_t sizes[] = {10, 100, 500};
  double ratios[3], facts[16];
  uint64_t hits;
  const char *policy = argument;
  ts_config *config = NULL;
  int32_t status = CONFIGURE(&config, "policy", policy, "batch", "10");
  if (status == TS_OK) status = ts_simulate_curve(config, keys, 5000, sizes, 3, ratios, facts, message, sizeof message);
  ts_config_free(config);
  if (status == TS_OK) status = ts_cache_replay(policy, 100, keys, 5000, &hits, message, sizeof message);
  return status;
}

static int32_t draw_sample_curve(void *argument) {
  static int64_t keys[70000];
  for (uint32_t i = 0; i < 70000; i++) keys[i] = (int64_t)(ts_random64(5, 1, i) % 7000);
  const uint64_t sizes[] = {10, 100, 500};
  double ratios[3], errors[3], facts[6];
  const char *policy = argument;
  ts_config *config = NULL, *of_curve = NULL;
  ts_key_sample *sample = NULL;
  int32_t status = CONFIGURE(&config, "batch", "2000", "rows", "1000");
  if (status == TS_OK) status = CONFIGURE(&of_curve, "policy", policy);
  if (status == TS_OK) status = ts_key_sample_create(config, &sample, message, sizeof message);
  if (status == TS_OK) status = ts_key_sample_add(sample, keys, 70000, 0, message, sizeof message);
  if (status == TS_OK) status = ts_key_sample_curve(sample, of_curve, sizes, 3, ratios, errors, facts, message, sizeof message);
  ts_key_sample_close(sample);
  ts_config_free(of_curve);
  ts_config_free(config);
  return status;
}

static int32_t draw_law_curve(void *argument) {
  ts_config *config = NULL, *of_curve = NULL;
  static uint64_t rows[4096];
  static double weights[4096];
  const uint64_t sizes[] = {10, 100};
  double ratios[2], facts[16];
  uint32_t n = 0;
  int32_t status = CONFIGURE(&config, "rows", "5000", "s", "1.1", "q", "3");
  if (status == TS_OK) status = ts_simulate_law(config, NULL, 0, rows, weights, 4096, &n, message, sizeof message);
  if (status == TS_OK) status = CONFIGURE(&of_curve, "policy", "lru", "method", argument);
  if (status == TS_OK)
    status = ts_simulate_law_curve(of_curve, rows, weights, n, sizes, 2, ratios, facts, message, sizeof message);
  ts_config_free(config);
  ts_config_free(of_curve);
  return status;
}

static int32_t simulate_demand(void *argument) {
  static char out[65536];
  uint64_t needed;
  ts_config *config = NULL;
  int32_t status = CONFIGURE(&config, "tables", "2", "workers", "2", "table0.rows", "10000", "table0.lookups", "100",
                             "table0.row_bytes", "64", "table1.rows", "500", "table1.lookups", "100", "table1.row_bytes",
                             "64", "capacity", "100000", "seen", "2,4", argument, "65536");
  if (status == TS_OK) status = ts_simulate_demand(config, out, sizeof out, &needed, message, sizeof message);
  ts_config_free(config);
  return status;
}

static int32_t simulate_steps(void *argument) {
  static char out[1u << 18];
  uint64_t needed;
  ts_config *config = NULL;
  int32_t status =
      CONFIGURE(&config, "steps", "8", "warmup", "2", "workers", "2", "per_host", "1", "servers", argument, "cores", "2",
                "dense_ps", "1000000", "key_ps", "1000", "row_ps", "1000", "update_ps", "1000", "tiers", "1", "tier0.label",
                "dram", "tables", "1", "tables.distinct", "100", "tables.variance", "10", "tables.all",
                "150", "tables.lookups", "200", "tables.value_bytes", "64", "tables.row_bytes", "128", "tables.in0", "100",
                "net_bandwidth", "1e9", "net_latency_ps", "1000000");
  if (status == TS_OK) status = add_medium(config, "tier0");
  if (status == TS_OK) status = ts_simulate(config, out, sizeof out, &needed, message, sizeof message);
  ts_config_free(config);
  return status;
}

static int32_t look_at_machine(void *argument) {
  (void)argument;
  static char out[1u << 20];
  uint64_t needed;
  const int32_t status = ts_machine_probe(folder, out, sizeof out, &needed); /* has no words */
  strcpy(message, "the machine");
  return status;
}

static void write_text(void) {
  FILE *f = fopen(path_of("text"), "w");
  for (uint32_t r = 0; f != NULL && r < 300; r++) {
    fprintf(f, "%u", r % 2);
    for (uint32_t c = 0; c < 13; c++) fprintf(f, "\t%u", r + c);
    for (uint32_t c = 0; c < 26; c++) fprintf(f, "\t%08x", r * 31 + c);
    fputc('\n', f);
  }
  if (f != NULL) fclose(f);
}

int main(void) {
  if (!make_folder("failed-opens")) return 1;
  folders_without_permission(); /* forks: before there are threads */
  make_first_thread();
  refuse_each("options", options, NULL);
  options_that_are_refused();
  stores_of_every_type();
  stores_that_last();
  refuse_some("generated data", generate, NULL, 2, 0);
  write_text();
  refuse_each("imported data", import, NULL);
  unlink(path_of("text"));
  ts_config *config = CONFIG("out", path_of("kept"), "rows", "512", "scale", "0.001");
  CHECK_MSG(ts_data_generate(config, NULL, message, sizeof message) == TS_OK, "%s", message);
  ts_config_free(config);
  refuse_each("description of data", describe_data, (void *)(uintptr_t)path_of("kept"));
  const trainer_case trainers[] = {{"inline", "memory_reuse", "0"},
                                   {"pool", "model", "wdl"},
                                   {"cost_model", "async_embedding", "1"}};
  for (uint32_t i = 0; i < sizeof trainers / sizeof *trainers; i++) {
    const int32_t status = open_trainer((void *)(uintptr_t)&trainers[i]);
    if (status == TS_EUNAVAILABLE) SKIP("failed_opens_test: trainers", "%s", message);
    else refuse_some(trainers[i].executor, open_trainer, (void *)(uintptr_t)&trainers[i], 3, i);
  }
  unlink(path_of("kept"));
  refuse_each("keys", make_keys, NULL);
  refuse_each("stream", measure_stream, NULL);
  static const char *const policies[] = {"lru", "lfu", "clock", "s3fifo", "sieve", "tinylfu", "opt"};
  for (uint32_t i = 0; i < sizeof policies / sizeof *policies; i++)
    refuse_each(policies[i], draw_curve, (void *)(uintptr_t)policies[i]);
  refuse_each("sample, lru", draw_sample_curve, (void *)(uintptr_t)"lru");
  refuse_each("sample, opt", draw_sample_curve, (void *)(uintptr_t)"opt");
  refuse_each("law, by formula", draw_law_curve, (void *)(uintptr_t)"analytic");
  refuse_each("law, by sample", draw_law_curve, (void *)(uintptr_t)"sampled");
  refuse_each("demand", simulate_demand, (void *)(uintptr_t)"cache_bytes");
  refuse_each("steps of a host", simulate_steps, (void *)(uintptr_t)"0");
  refuse_each("steps of servers", simulate_steps, (void *)(uintptr_t)"2");
  refuse_each("machine", look_at_machine, NULL);
  remove_folder();
  return test_result();
}
