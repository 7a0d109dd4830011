/* The pool of a device: taken in parts as rows need it, made one when the first steps are over, going on in memory of the host.
 * Rows are those of DRAM at each step, also where every call of OpenCL in turn is refused. */
#include "store/batches.h"
#include "test/refusing_device.h"

#define DIM 16u
#define STRIDE 128u /* bytes of a row: weights and accumulators */
#define BATCH 512u
#define LONGEST_WAIT 1024u /* blocks until a device that refused is asked again */
#define MOST_CALLS 300u /* that a refusal is tried at */
static float here[BATCH * DIM], there[BATCH * DIM], gradients[BATCH * DIM];
static bool any; /* call was refused */

typedef struct world {
  ts_store *device, *dram;
  uint32_t on_device, in_dram; /* tables */
  uint64_t share, host;
} world;

static uint64_t fact(ts_store *store, const char *key) {
  char said[2048], word[64];
  uint64_t needed;
  CHECK(ts_store_describe(store, said, sizeof said, &needed) == TS_OK);
  snprintf(word, sizeof word, " %s=", key);
  const char *at = strstr(said, word);
  CHECK_MSG(at != NULL, "%s is not in \"%s\"", key, said);
  return at == NULL ? 0 : strtoull(at + strlen(word), NULL, 10);
}

static bool says(ts_store *store, const char *what) {
  char said[2048];
  uint64_t needed;
  return ts_store_describe(store, said, sizeof said, &needed) == TS_OK && strstr(said, what) != NULL;
}

static world open_world(const char *storage, uint64_t share, uint32_t steps, uint64_t host) {
  world w = {.share = share, .host = host};
  ts_config *config = CONFIG("storage", storage, "hbm", "opencl", "eviction_threads", "0");
  char size[64];
  snprintf(size, sizeof size, "%llu,67108864", (unsigned long long)share);
  if (strcmp(storage, "HBM") == 0) *strchr(size, ',') = '\0';
  ts_config_set(config, "size", size, NULL, 0);
  set_number(config, "hbm_pool_steps", steps);
  set_number(config, "hbm_host_bytes", host);
  w.device = open_config(config);
  w.dram = open_config(CONFIG("storage", "DRAM", "size", "67108864"));
  if (w.device == NULL || w.dram == NULL) exit(1);
  w.on_device = add_config(w.device, CONFIG("name", "a", "dim", "16", "optimizer", "adagrad"));
  w.in_dram = add_config(w.dram, CONFIG("name", "a", "dim", "16", "optimizer", "adagrad"));
  return w;
}

static void close_world(world *w) { CHECK(ts_store_close(w->device) == TS_OK && ts_store_close(w->dram) == TS_OK); }

/* At any moment. */
static void bounds_hold_now(const world *w) {
  const uint64_t device = fact(w->device, "pool_bytes") + fact(w->device, "staging_bytes"), host = fact(w->device, "host_bytes");
  CHECK_MSG(device <= w->share && host <= w->host, "%llu bytes of %llu on the device, %llu of %llu of the host", (unsigned long long)device,
            (unsigned long long)w->share, (unsigned long long)host, (unsigned long long)w->host);
  CHECK(limits_hold(w->device));
}

static void bounds_hold(const world *w) {
  bounds_hold_now(w);
  CHECK(charges_agree(w->device));
}

/* What both stores have; the device's may refuse one call, which is then made again. */
static void both(const world *w, const char *what, int32_t (*act)(ts_store *, uint32_t, const int64_t *, float *), const int64_t *keys, uint64_t refused) {
  refuse_call(refused);
  int32_t status = act(w->device, w->on_device, keys, here);
  refuse_at = 0;
  any = any || hit;
  CHECK_MSG(ended_well(status) || (hit && status == TS_EFULL), "%s, call %llu: %d \"%s\"", what, (unsigned long long)refused, status, text);
  if (status != TS_OK) status = act(w->device, w->on_device, keys, here);
  CHECK_MSG(status == TS_OK, "%s, again: %d \"%s\"", what, status, text);
  CHECK_MSG(act(w->dram, w->in_dram, keys, there) == TS_OK, "%s", text);
}

static int32_t look_up(ts_store *store, uint32_t table, const int64_t *keys, float *rows) { return ts_table_lookup(store, table, keys, BATCH, rows, ERR); }
static int32_t update(ts_store *store, uint32_t table, const int64_t *keys, float *rows) {
  (void)rows;
  return ts_table_update(store, table, keys, BATCH, gradients, ERR);
}

static void same(const world *w, const char *what) {
  uint64_t a = 0, b = 0;
  CHECK(ts_store_digest(w->device, &a, ERR) == TS_OK && ts_store_digest(w->dram, &b, ERR) == TS_OK);
  CHECK_MSG(a == b, "%s: other rows than in DRAM", what);
}

/* A step over rows of which `fresh` are new, at most BATCH. */
static void train(const world *w, int64_t step, uint32_t fresh, uint64_t refused) {
  static int64_t keys[BATCH];
  static int64_t newest;
  if (step == 0) newest = 0;
  newest += fresh;
  for (uint32_t i = 0; i < BATCH; i++)
    keys[i] = i < fresh || newest == 0 ? newest - i : (int64_t)(ts_mix64((uint64_t)(step * BATCH) + i) % (uint64_t)newest);
  refuse_call(refused);
  CHECK_MSG(ts_store_set_step(w->device, step, ERR) == TS_OK, "a step was told: %s", text); /* what is refused there changes nothing */
  refuse_at = 0;
  any = any || hit;
  CHECK(ts_store_set_step(w->dram, step, ERR) == TS_OK);
  both(w, "a lookup", look_up, keys, refused);
  CHECK_MSG(memcmp(here, there, sizeof here) == 0, "step %lld, refused %llu: other rows are looked up", (long long)step, (unsigned long long)refused);
  both(w, "an update", update, keys, refused);
}

/* Rows come as parts do, a quarter first; then one buffer has them, smaller than the share, and grows again when rows do. */
static void one_pool_is_sized_from_the_first_steps(void) {
  world w = open_world("HBM_DRAM", 4u << 20, 8, 0);
  CHECK(fact(w.device, "pool_parts") == 1 && says(w.device, "pool_plan=to-come"));
  const uint64_t first = fact(w.device, "pool_bytes"), staging = fact(w.device, "staging_bytes");
  CHECK_MSG(first < w.share / 4 && first > w.share / 8, "%llu bytes at first", (unsigned long long)first);
  for (int64_t step = 0; step < 8; step++) train(&w, step, 32, 0);
  CHECK(fact(w.device, "pool_bytes") == first && says(w.device, "pool_plan=to-come"));
  train(&w, 8, 0, 0);
  const uint64_t planned = fact(w.device, "pool_bytes");
  CHECK(says(w.device, "pool_plan=made") && fact(w.device, "pool_parts") == 1 && fact(w.device, "pool_ns") > 0);
  /* 8 steps and 8 more of 32 rows, in chunks. */
  CHECK_MSG(planned >= 16u * 32 * STRIDE && planned < first && planned < 4u * 16 * 32 * STRIDE, "%llu bytes are planned", (unsigned long long)planned);
  CHECK_MSG(fact(w.device, "staging_bytes") < staging, "transfers keep %llu bytes", (unsigned long long)staging);
  bounds_hold(&w);
  same(&w, "after the plan");
  for (int64_t step = 9; step < 60; step++) train(&w, step, 400, 0);
  CHECK(fact(w.device, "pool_bytes") > planned && fact(w.device, "pool_parts") > 1);
  bounds_hold(&w);
  same(&w, "after more");
  close_world(&w);
}

/* Two parts become one, larger than both; steps that fill the share leave it as it is. */
static void parts_become_one(void) {
  world w = open_world("HBM_DRAM", 4u << 20, 20, 0);
  for (int64_t step = 0; step < 20; step++) train(&w, step, step < 16 ? 500 : 10, 0);
  CHECK_MSG(fact(w.device, "pool_parts") == 2, "%llu parts", (unsigned long long)fact(w.device, "pool_parts"));
  bounds_hold(&w);
  train(&w, 20, 0, 0);
  CHECK_MSG(fact(w.device, "pool_parts") == 1 && says(w.device, "pool_plan=made"), "%llu parts", (unsigned long long)fact(w.device, "pool_parts"));
  same(&w, "two parts");
  bounds_hold(&w);
  close_world(&w);
  w = open_world("HBM_DRAM", 1u << 20, 20, 0);
  for (int64_t step = 0; step < 21; step++) train(&w, step, 500, 0);
  CHECK(says(w.device, "pool_plan=refused") && fact(w.device, "pool_parts") > 1);
  same(&w, "a full share");
  bounds_hold(&w);
  close_world(&w);
}

/* More rows than the device's share: the rest is in memory of the host, and none below. */
static void the_pool_goes_on_in_the_host(const char *storage, uint64_t share) {
  world w = open_world(storage, share, 0, 4u << 20);
  CHECK(fact(w.device, "host_bytes") == 0 && fact(w.device, "pool_parts") == 1);
  const uint64_t fit = fact(w.device, "pool_bytes") / STRIDE;
  uint32_t step = 0;
  for (; (uint64_t)step * BATCH < fit / 2; step++) train(&w, step, BATCH, 0);
  CHECK(fact(w.device, "host_bytes") == 0 && counter_of(w.device, TS_STAT_link_host_bytes) == 0);
  for (; step < 30; step++) train(&w, step, BATCH, 0);
  CHECK(fact(w.device, "host_bytes") > 0 && fact(w.device, "host_ns") > 0 && fact(w.device, "pool_parts") > 1);
  const uint64_t before = counter_of(w.device, TS_STAT_link_host_bytes);
  train(&w, step, BATCH, 0); /* of new rows alone */
  const uint64_t reached = counter_of(w.device, TS_STAT_link_host_bytes) - before;
  CHECK_MSG(reached >= BATCH * STRIDE && reached <= 6u * BATCH * STRIDE, "kernels reached %llu bytes", (unsigned long long)reached);
  CHECK(counter_of(w.device, TS_STAT_evicted) == 0);
  same(&w, storage);
  bounds_hold(&w);
  close_world(&w);
}

/* The n-th call of each of many steps is refused, for every n: while parts come, at the plan, beside it. */
static void refused(const char *storage, uint32_t steps, uint64_t host) {
  uint64_t most = 0;
  for (uint64_t n = 1; n <= MOST_CALLS && test_failures < 5; n++) {
    world w = open_world(storage, 1u << 20, steps, host);
    any = false;
    for (int64_t step = 0; step < 6; step++) train(&w, step, 300, step == (int64_t)(n % 3) || step == (int64_t)steps ? n : 0);
    same(&w, "refused");
    bounds_hold(&w);
    close_world(&w);
    most = n;
    if (!any) break;
  }
  CHECK_MSG(most > 20 && most < MOST_CALLS, "%s: %llu calls were refused", storage, (unsigned long long)most);
}

#define TRAINERS 3u
typedef struct trainer {
  const world *w;
  uint32_t number;
  _Atomic bool *done;
} trainer;

/* Rows of its own, so that their order is that of one thread. */
static void *train_some(void *context) {
  const trainer *t = context;
  int64_t keys[BATCH];
  float rows[BATCH * DIM];
  for (uint32_t step = 0; step < 40; step++) {
    for (uint32_t i = 0; i < BATCH; i++) keys[i] = (int64_t)(ts_mix64(step * BATCH + i) % (100 + 60u * step)) * TRAINERS + t->number;
    ts_store *const stores[] = {t->w->device, t->w->dram};
    for (uint32_t s = 0; s < 2; s++) {
      const uint32_t table = s == 0 ? t->w->on_device : t->w->in_dram;
      char why[512] = "";
      CHECK_MSG(ts_table_lookup(stores[s], table, keys, BATCH, rows, why, sizeof why) == TS_OK, "store %u: %s", s, why);
      CHECK_MSG(ts_table_update(stores[s], table, keys, BATCH, gradients, why, sizeof why) == TS_OK, "store %u: %s", s, why);
    }
  }
  atomic_store(t->done, true);
  return NULL;
}

/* Parts come and become one while other threads look rows up, make and step them. */
static void the_pool_changes_beside_other_threads(void) {
  for (uint32_t round = 0; round < 3; round++) {
    world w = open_world("HBM_DRAM", 1u << 20, 8 << round, round == 1 ? 1u << 20 : 0);
    _Atomic bool done[TRAINERS] = {false};
    trainer trainers[TRAINERS];
    pthread_t threads[TRAINERS];
    for (uint32_t i = 0; i < TRAINERS; i++) {
      trainers[i] = (trainer){&w, i, &done[i]};
      CHECK(pthread_create(&threads[i], NULL, train_some, &trainers[i]) == 0);
    }
    for (int64_t step = 0; !done[0] || !done[1] || !done[2]; step++) {
      CHECK(ts_store_set_step(w.device, step, ERR) == TS_OK && ts_store_set_step(w.dram, step, ERR) == TS_OK);
      bounds_hold_now(&w);
      usleep(500);
    }
    for (uint32_t i = 0; i < TRAINERS; i++) pthread_join(threads[i], NULL);
    for (int64_t step = 1000000; step < 1000100; step++) CHECK(ts_store_set_step(w.device, step, ERR) == TS_OK); /* of a fast machine */
    CHECK(!says(w.device, "pool_plan=to-come"));
    same(&w, "several threads");
    bounds_hold(&w);
    close_world(&w);
  }
}

/* A program that tells no step keeps its parts; one that repeats a step tells none. */
static void steps_are_those_that_are_told(void) {
  world w = open_world("HBM_DRAM", 4u << 20, 2, 0);
  for (uint32_t i = 0; i < 5; i++) CHECK(ts_store_set_step(w.device, 7, ERR) == TS_OK);
  CHECK(says(w.device, "pool_plan=to-come"));
  CHECK(ts_store_set_step(w.device, 8, ERR) == TS_OK && says(w.device, "pool_plan=to-come"));
  CHECK(ts_store_set_step(w.device, 9, ERR) == TS_OK && !says(w.device, "pool_plan=to-come"));
  close_world(&w);
}

/* A device that has no more memory: rows go on in the host's, or below, or there is one error that says so. */
static void a_device_may_have_no_more(void) {
  for (uint32_t way = 0; way < 3; way++) {
    static int64_t keys[BATCH];
    world w = open_world(way == 1 ? "HBM_DRAM" : "HBM", 2u << 20, 1000, way == 0 ? 2u << 20 : 0);
    const uint64_t before = fact(w.device, "pool_bytes");
    int32_t status = TS_OK;
    text[0] = '\0';
    is_full = true;
    for (int64_t first = 0; first < 20 && status == TS_OK; first++) {
      for (uint32_t i = 0; i < BATCH; i++) keys[i] = first * BATCH + i;
      status = ts_table_lookup(w.device, w.on_device, keys, BATCH, here, ERR);
    }
    CHECK_MSG(way == 2 ? status == TS_EFULL && strstr(text, "the device gives no more memory") != NULL : status == TS_OK, "way %u: %d \"%s\"", way, status, text);
    CHECK(fact(w.device, "pool_bytes") == before && (fact(w.device, "host_bytes") > 0) == (way == 0));
    is_full = false;
    for (uint32_t i = 0; i < LONGEST_WAIT && status != TS_OK; i++) status = ts_table_lookup(w.device, w.on_device, keys, BATCH, here, ERR);
    CHECK_MSG(status == TS_OK, "way %u, with memory again: %d \"%s\"", way, status, text);
    close_world(&w);
  }
}

static void what_is_not_for_it_is_refused(void) {
  static const char *const wrong[][3] = {{"hbm_host_bytes", "100", "it must be 0, or at least 65536"}, {"hbm_pool_steps", "x", "hbm_pool_steps"}};
  for (uint32_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    ts_config *config = CONFIG("storage", "HBM", "hbm", "opencl", "size", "1048576", wrong[i][0], wrong[i][1]);
    CHECK_MSG(ts_store_probe(config, ERR) == TS_EINVAL && strstr(text, wrong[i][2]) != NULL, "%s: \"%s\"", wrong[i][0], text);
    ts_config_free(config);
    config = CONFIG("storage", "DRAM", "size", "1048576", wrong[i][0], "65536");
    CHECK_MSG(ts_store_probe(config, ERR) == TS_EINVAL && strstr(text, "is for hbm=opencl") != NULL, "%s: \"%s\"", wrong[i][0], text);
    ts_config_free(config);
  }
}

/* Lookups into a matrix that has other columns, of weights of both types, by a device that is one and one that is none. */
static void weights_go_where_they_are_wanted(const char *type, uint32_t dim, uint32_t wider) {
  enum { ROWS = 20000 };
  static int64_t keys[ROWS];
  char width[16];
  snprintf(width, sizeof width, "%u", dim);
  ts_store *stores[] = {open_config(CONFIG("storage", "HBM_DRAM", "hbm", "opencl", "size", "524288,67108864", "eviction_threads", "0")),
                        open_config(CONFIG("storage", "DRAM", "size", "67108864"))};
  const uint64_t stride = dim + wider;
  float *rows[] = {malloc(ROWS * stride * sizeof(float)), malloc(ROWS * stride * sizeof(float))};
  uint64_t at = 1;
  for (uint32_t i = 0; i < ROWS; i++) keys[i] = (int64_t)(ts_mix64(at++) % 30000) * 3 - 500;
  for (uint32_t s = 0; s < 2; s++) {
    add_config(stores[s], CONFIG("name", "a", "dim", width, "optimizer", "adagrad", "dtype", type));
    for (uint32_t twice = 0; twice < 2; twice++) {
      memset(rows[s], 0, ROWS * stride * sizeof(float));
      CHECK_MSG(ts_table_lookup_strided(stores[s], 0, keys, NULL, ROWS, rows[s], stride, (ts_err){ERR}) == TS_OK, "%s", text);
    }
  }
  CHECK(counter_of(stores[0], TS_STAT_tier0_hits) > 500 && counter_of(stores[0], TS_STAT_tier1_hits) > 0);
  CHECK_MSG(memcmp(rows[0], rows[1], ROWS * stride * sizeof(float)) == 0, "%s, %u weights of %llu: other rows than in DRAM", type, dim, (unsigned long long)stride);
  for (uint32_t s = 0; s < 2; s++) {
    free(rows[s]);
    CHECK(ts_store_close(stores[s]) == TS_OK);
  }
}

int main(void) {
  if (!make_folder("opencl-pool")) return 1;
  what_is_not_for_it_is_refused();
  if (STORAGE_TYPES == sizeof storage_types / sizeof *storage_types) {
    for (uint32_t i = 0; i < BATCH * DIM; i++) gradients[i] = (float)(i % 37) * 0x1p-6f - 0.25f;
    for (uint32_t gpu = 0; gpu < 2; gpu++) {
      says_gpu = gpu == 1;
      one_pool_is_sized_from_the_first_steps();
      parts_become_one();
      the_pool_goes_on_in_the_host("HBM_DRAM", 256u << 10);
      the_pool_goes_on_in_the_host("HBM", 1u << 20);
      steps_are_those_that_are_told();
      a_device_may_have_no_more();
      the_pool_changes_beside_other_threads();
      refused("HBM_DRAM", 3, 0);
      refused("HBM_DRAM", 3, 1u << 20);
      weights_go_where_they_are_wanted("fp32", 16, 0);
      weights_go_where_they_are_wanted("fp32", 7, 3);
      weights_go_where_they_are_wanted("bf16", 16, 5);
      weights_go_where_they_are_wanted("bf16", 33, 0);
    }
  }
  remove_folder();
  return test_result();
}
