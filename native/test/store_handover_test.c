/* Hand-overs between threads of a store, forced by sync points (base/sync_point.h): a row that leaves while it is read, a
 * record that changes after it was read ahead, an eviction under way when somebody settles, working memory that runs out. */
#include "base/sync_point.h"
#include "test/store_types.h"

#include <pthread.h>
#include <time.h>

#define PATIENCE 120 /* seconds, for what takes milliseconds, and under a sanitizer on a busy machine many of them */
#define DIM 64u
#define FIRST 20000 /* keys from here on push others out */

static const storage_type over_ssd = {"DRAM_SSDHASH", "DRAM_SSDHASH", NULL, 2, true};

typedef struct call {
  pthread_t id;
  ts_store *store;
  uint32_t table;
  int64_t key; /* first of n */
  uint32_t n;
  float *rows;
  uint8_t found[1];
  int32_t status;
  _Atomic bool done;
  char text[512];
} call;

static int64_t *keys_of(const call *c) {
  int64_t *keys = malloc(c->n * sizeof *keys);
  for (uint32_t i = 0; i < c->n; i++) keys[i] = c->key + i;
  return keys;
}

static void *lookup(void *argument) {
  call *c = argument;
  int64_t *keys = keys_of(c);
  c->status = ts_table_lookup(c->store, c->table, keys, c->n, c->rows, c->text, sizeof c->text);
  free(keys);
  c->done = true;
  return NULL;
}

static void *find(void *argument) {
  call *c = argument;
  c->status = ts_table_find(c->store, 0, &c->key, 1, 0, c->rows, c->found, c->text, sizeof c->text);
  c->done = true;
  return NULL;
}

static void *settle(void *argument) {
  call *c = argument;
  c->status = ts_store_settle(c->store, c->text, sizeof c->text);
  c->done = true;
  return NULL;
}

static void start_in(call *c, ts_store *store, uint32_t table, void *(*what)(void *), int64_t key, uint32_t n) {
  *c = (call){.store = store, .table = table, .key = key, .n = n, .rows = calloc(n, sizeof(float) * DIM)};
  pthread_create(&c->id, NULL, what, c);
}

static void start(call *c, ts_store *store, void *(*what)(void *), int64_t key, uint32_t n) {
  start_in(c, store, 0, what, key, n);
}

/* What hangs ends the program: nothing after it makes sense. */
static void join(call *c) {
  struct timespec until;
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_sec += PATIENCE;
  const bool ended = pthread_timedjoin_np(c->id, NULL, &until) == 0;
  CHECK_MSG(ended, "%s", "a call hangs");
  if (!ended) _exit(1);
  CHECK_MSG(c->status == TS_OK, "%d %s", c->status, c->text);
}

/* Steps a key's row: all its weights become `value` less. */
static void step(ts_store *store, int64_t key, float value) {
  float gradient[DIM];
  char text[512];
  for (uint32_t j = 0; j < DIM; j++) gradient[j] = value;
  CHECK_MSG(ts_table_update(store, 0, &key, 1, gradient, text, sizeof text) == TS_OK, "%s", text);
}

static bool is(const float *row, float value) {
  for (uint32_t j = 0; j < DIM; j++)
    if (row[j] != value) return false;
  return true;
}

/* A store whose first tier is full of rows, key k's weights all -k - 1. */
static ts_store *full_store(const char *evictors, uint32_t rows) {
  ts_config *config = config_of_type(&over_ssd, "4194304,268435456", "all");
  ts_config_set(config, "eviction_threads", evictors, NULL, 0);
  ts_store *store = open_config(config);
  if (store == NULL) return NULL;
  config = CONFIG("name", "t", "learning_rate", "1", "initializer", "constant");
  set_number(config, "dim", DIM);
  add_config(store, config);
  float *row = calloc(rows, sizeof(float) * DIM);
  int64_t *keys = malloc(rows * sizeof *keys);
  char text[512];
  for (uint32_t i = 0; i < rows; i++) {
    keys[i] = i;
    for (uint32_t j = 0; j < DIM; j++) row[i * DIM + j] = (float)(i + 1);
  }
  float *out = malloc(rows * sizeof(float) * DIM);
  CHECK_MSG(ts_table_lookup(store, 0, keys, rows, out, text, sizeof text) == TS_OK, "%s", text);
  CHECK_MSG(ts_table_update(store, 0, keys, rows, row, text, sizeof text) == TS_OK, "%s", text);
  free(out);
  free(row);
  free(keys);
  return store;
}

static int32_t tier_of(ts_store *store, int64_t key) {
  int32_t tier = -1;
  CHECK(ts_table_lookup_tier(store, 0, &key, 1, &tier, NULL, 0) == TS_OK);
  return tier;
}

/* Keys that are pushed through the first tier, so that what nobody uses leaves it. */
static void push_out(ts_store *store, int64_t key) {
  call c;
  for (int64_t first = FIRST; tier_of(store, key) == 0 && first < 40 * FIRST; first += 4000) {
    start(&c, store, lookup, first, 4000);
    join(&c);
    free(c.rows);
  }
  CHECK(tier_of(store, key) == 1);
}

/* Who reads a row without a lock keeps its place from being used again, however long it takes. */
static void a_row_leaves_while_it_is_read(void) {
  ts_store *store = full_store("0", 4000);
  if (store == NULL) return;
  call reader, writer;
  ts_sync_start();
  ts_sync_close("peek:found");
  const int64_t key = 3999;
  CHECK(tier_of(store, key) == 0);
  start(&reader, store, find, key, 1);
  CHECK(ts_sync_await("peek:found", 1));
  start(&writer, store, lookup, FIRST, 60000);
  CHECK(ts_sync_await("epoch:wait:reader_inside", 1));
  CHECK(!writer.done && !reader.done);
  ts_sync_open("peek:found");
  join(&reader);
  join(&writer);
  CHECK(ts_sync_stop());
  CHECK(reader.found[0] && is(reader.rows, -(float)(key + 1)));
  free(reader.rows);
  free(writer.rows);
  ts_store_close(store);
}

/* A call has read a record ahead; before it goes on, the row is stepped and leaves memory again as another record. */
static void a_record_changes_after_it_was_read_ahead(void) {
  ts_store *store = full_store("0", 4000);
  if (store == NULL) return;
  const int64_t key = 5;
  push_out(store, key);
  call reader;
  ts_sync_start();
  ts_sync_close_first("fetch:read");
  start(&reader, store, lookup, key, 1);
  CHECK(ts_sync_await("fetch:read", 1));
  step(store, key, 100);
  push_out(store, key);
  ts_sync_open("fetch:read");
  join(&reader);
  CHECK(ts_sync_stop());
  CHECK_MSG(is(reader.rows, -(float)(key + 1) - 100), "%g", reader.rows[0]);
  free(reader.rows);
  ts_store_close(store);
}

/* Settled means that nobody moves rows any more, also whoever had taken a shard from the queue before. */
static void settling_waits_for_an_eviction_under_way(void) {
  ts_store *store = full_store("1", 4000);
  if (store == NULL) return;
  CHECK(ts_store_settle(store, NULL, 0) == TS_OK);
  call writer, settler;
  ts_sync_start();
  ts_sync_close("evictors:taken");
  start(&writer, store, lookup, FIRST, 8000);
  CHECK(ts_sync_await("evictors:taken", 1));
  join(&writer); /* which evicted for itself what it needed */
  start(&settler, store, settle, 0, 1);
  CHECK(ts_sync_await("evictors:settle", 1));
  CHECK(!settler.done && ts_sync_reached("evictors:done") == 0);
  ts_sync_open("evictors:taken");
  join(&settler);
  CHECK(ts_sync_reached("evictors:done") >= 1);
  CHECK(ts_sync_stop());
  free(writer.rows);
  free(settler.rows);
  ts_store_close(store);
}

/* More calls than there is working memory for: the last one waits, and is woken. */
static void working_memory_runs_out(void) {
  enum { CALLS = 24 };
  ts_store *store = full_store("0", 4000);
  if (store == NULL) return;
  push_out(store, 0);
  call calls[CALLS];
  ts_sync_start();
  ts_sync_close("fetch:enlisted");
  for (uint32_t i = 0; i < CALLS; i++) start(&calls[i], store, lookup, i, 1000);
  CHECK(ts_sync_await("work:acquire:wait", 1));
  ts_sync_open("fetch:enlisted");
  for (uint32_t i = 0; i < CALLS; i++) {
    join(&calls[i]);
    for (uint32_t k = 0; k < 1000; k++) CHECK(is(calls[i].rows + k * DIM, -(float)(i + k + 1)));
    free(calls[i].rows);
  }
  CHECK(ts_sync_stop());
  CHECK(limits_hold(store) && charges_agree(store));
  ts_store_close(store);
}

/* Two calls move rows down where there is memory for one of them: the second waits for the first to leave, and is woken. */
static void the_way_down_is_for_one(void) {
  ts_store *store = full_store("0", 4000);
  if (store == NULL) return;
  push_out(store, 0);
  ts_budget *budget = &store->tiers[0].budget;
  call first, second;
  ts_sync_start();
  ts_sync_close_first("evict:rows:unreachable");
  start(&first, store, lookup, 50 * FIRST, 4000);
  CHECK(ts_sync_await("evict:rows:unreachable", 1));
  ts_sync_close("fetch:read"); /* the second has its working memory there */
  start(&second, store, lookup, 60 * FIRST, 1);
  CHECK(ts_sync_await("fetch:read", 2));
  /* Less than two of them count on is left. */
  const uint64_t used = atomic_load(&budget->used), left = budget->headroom / 8;
  const uint64_t taken = budget->limit - used > left ? budget->limit - used - left : 0;
  CHECK(taken == 0 || ts_budget_take_first(budget, TS_PURPOSE_BUFFERS, taken));
  ts_sync_open("fetch:read");
  CHECK(ts_sync_await("descent:wait", 1));
  CHECK(!first.done && !second.done);
  ts_budget_give_back(budget, TS_PURPOSE_BUFFERS, taken);
  ts_sync_open("evict:rows:unreachable");
  join(&first);
  join(&second);
  CHECK(ts_sync_reached("descent:left") >= 2);
  CHECK(ts_sync_stop());
  CHECK(limits_hold(store) && charges_agree(store));
  free(first.rows);
  free(second.rows);
  ts_store_close(store);
}

/* So many calls see the same free memory and go in to move rows down; then other calls' working memory and buffers take all
 * that anybody can have. Each has what it borrowed, and none is refused. */
static void what_is_lent_is_there(void) {
  enum { CALLS = 4, KEYS = 64 };
  ts_store *store = full_store("0", 4000);
  if (store == NULL) return;
  for (uint32_t t = 1; t < CALLS; t++) {
    char name[8];
    snprintf(name, sizeof name, "t%u", t);
    ts_config *config = CONFIG("name", name, "initializer", "constant", "initializer.value", "1");
    set_number(config, "dim", DIM);
    CHECK(add_config(store, config) == t);
    call few;
    start_in(&few, store, t, lookup, 0, KEYS);
    join(&few);
    free(few.rows);
  }
  ts_budget *budget = &store->tiers[0].budget;
  call calls[CALLS];
  ts_sync_start();
  ts_sync_close("descent:entered");
  for (uint32_t i = 0; i < CALLS; i++) start_in(&calls[i], store, i, lookup, 90 * FIRST, KEYS);
  CHECK(ts_sync_await("descent:entered", CALLS));
  CHECK(atomic_load(&budget->lent) == CALLS * ts_descent_share(store));
  uint64_t work = 0, buffers = 0;
  while (ts_budget_take(budget, TS_PURPOSE_WORK, 64)) work += 64;
  while (ts_budget_take(budget, TS_PURPOSE_BUFFERS, 64)) buffers += 64;
  CHECK_MSG(work > 0 && buffers > 0 && budget->limit - atomic_load(&budget->used) < 64, "%llu", (unsigned long long)buffers);
  /* All at once. */
  uint32_t given = 0;
  while (ts_budget_take_lent(budget, TS_PURPOSE_BUFFERS, ts_descent_share(store))) given++;
  CHECK_MSG(given == CALLS, "%u of %u calls have their share", given, CALLS);
  ts_budget_give_back(budget, TS_PURPOSE_BUFFERS, given * ts_descent_share(store));
  CHECK(ts_budget_lend(budget, given * ts_descent_share(store), 0));
  ts_sync_open("descent:entered");
  for (uint32_t i = 0; i < CALLS; i++) {
    join(&calls[i]);
    uint32_t wrong = 0;
    for (uint32_t k = 0; k < KEYS; k++) wrong += !is(calls[i].rows + (size_t)k * DIM, i == 0 ? 0 : 1);
    CHECK_MSG(wrong == 0, "%u rows of table %u are wrong", wrong, i);
    free(calls[i].rows);
  }
  CHECK(ts_sync_stop());
  ts_budget_give_back(budget, TS_PURPOSE_WORK, work);
  ts_budget_give_back(budget, TS_PURPOSE_BUFFERS, buffers);
  CHECK(atomic_load(&budget->lent) == 0 && limits_hold(store) && charges_agree(store));
  ts_store_close(store);
}

/* Two tables' indexes grow where another table has all memory: one call at a time takes rows from it, and the others wait
 * with no shard locked, so that rows which are there are served meanwhile. */
static void growth_is_for_one(void) {
  ts_store *store = full_store("0", 4000);
  if (store == NULL) return;
  for (uint32_t t = 1; t <= 2; t++) {
    ts_config *config = CONFIG("name", t == 1 ? "b" : "c", "initializer", "constant", "initializer.value", "1");
    set_number(config, "dim", DIM);
    CHECK(add_config(store, config) == t);
  }
  push_out(store, 0);
  call calls[2], other;
  start(&other, store, lookup, 7, 1); /* which is in the first tier then */
  join(&other);
  free(other.rows);
  ts_sync_start();
  ts_sync_close_first("room:free:alone");
  ts_sync_close("fetch:read"); /* both have their working memory there */
  for (uint32_t i = 0; i < 2; i++) start_in(&calls[i], store, i + 1, lookup, 0, 1000);
  CHECK(ts_sync_await("fetch:read", 2));
  ts_budget *budget = &store->tiers[0].budget;
  const uint64_t used = atomic_load(&budget->used), left = budget->headroom / 16 * 7; /* two of them borrow an eighth each */
  const uint64_t taken = budget->limit - used > left ? budget->limit - used - left : 0;
  CHECK(taken == 0 || ts_budget_take_first(budget, TS_PURPOSE_BUFFERS, taken));
  ts_sync_open("fetch:read");
  CHECK(ts_sync_await("room:free:alone", 1) && ts_sync_await("room:free:wait", 2));
  start(&other, store, lookup, 7, 1);
  join(&other);
  CHECK(is(other.rows, -8));
  CHECK(!calls[0].done && !calls[1].done && ts_sync_reached("room:free:alone") == 1);
  ts_sync_open("room:free:alone");
  for (uint32_t i = 0; i < 2; i++) {
    join(&calls[i]);
    uint32_t wrong = 0;
    for (uint32_t k = 0; k < calls[i].n; k++) wrong += !is(calls[i].rows + (size_t)k * DIM, 1);
    CHECK_MSG(wrong == 0, "%u rows of table %u are wrong", wrong, i + 1);
    free(calls[i].rows);
  }
  CHECK(ts_sync_reached("room:free:granted") >= 2);
  ts_budget_give_back(budget, TS_PURPOSE_BUFFERS, taken);
  CHECK(ts_sync_stop());
  CHECK(limits_hold(store) && charges_agree(store));
  free(other.rows);
  ts_store_close(store);
}

int main(void) {
  if (!make_folder("handover")) return 1;
  a_row_leaves_while_it_is_read();
  a_record_changes_after_it_was_read_ahead();
  settling_waits_for_an_eviction_under_way();
  working_memory_runs_out();
  the_way_down_is_for_one();
  what_is_lent_is_there();
  growth_is_for_one();
  remove_folder();
  return test_result();
}
