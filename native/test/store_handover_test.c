/* Hand-overs between threads of a store, forced by sync points (base/sync_point.h): a row that leaves while it is read, a
 * record that changes after it was read ahead, an eviction under way when somebody settles, working memory that runs out. */
#include "base/sync_point.h"
#include "test/store_handover.h"

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

/* One store sweeps the place where another has just made its folder and not yet locked it. */
typedef struct opener {
  pthread_t id;
  ts_store *store;
} opener;

static void *open_beside(void *argument) {
  ((opener *)argument)->store = open_config(config_of_type(&over_ssd, "100000,4000000", "rows"));
  return NULL;
}

static void stores_open_side_by_side(void) {
  opener first = {0}, second = {0};
  ts_sync_start();
  ts_sync_patience = PATIENCE;
  ts_sync_close_first("folder:opened");
  pthread_create(&first.id, NULL, open_beside, &first);
  CHECK(ts_sync_await("folder:opened", 1));
  open_beside(&second);
  ts_sync_open("folder:opened");
  pthread_join(first.id, NULL);
  CHECK(ts_sync_stop());
  if (first.store != NULL) add_config(first.store, CONFIG("name", "a", "dim", "64"));
  if (second.store != NULL) add_config(second.store, CONFIG("name", "a", "dim", "64"));
  ts_store_close(first.store);
  ts_store_close(second.store);
}

int main(void) {
  if (!make_folder("handover")) return 1;
  stores_open_side_by_side();
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
