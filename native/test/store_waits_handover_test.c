/* The waits of a store and the moments between two of its locks, forced by sync points (base/sync_point.h): whoever waits
 * is woken, and what happens in between is seen. */
#include "base/sync_point.h"
#include "test/store_handover.h"

/* All slots of the readers are taken: a lookup waits until one is free. */
static void a_lookup_waits_for_a_slot(void) {
  ts_store *store = full_store("0", 1000);
  if (store == NULL) return;
  ts_epoch_slot *slots[TS_EPOCH_SLOTS];
  for (uint32_t i = 0; i < TS_EPOCH_SLOTS; i++) slots[i] = ts_epoch_claim(&store->epochs);
  call reader;
  ts_sync_start();
  start(&reader, store, lookup, 7, 1);
  CHECK(ts_sync_await("epoch:claim:all_taken", 3));
  CHECK(!reader.done);
  ts_epoch_release(slots[5]);
  join(&reader);
  CHECK(ts_sync_stop() && is(reader.rows, -8));
  for (uint32_t i = 0; i < TS_EPOCH_SLOTS; i++)
    if (i != 5) ts_epoch_release(slots[i]);
  free(reader.rows);
  ts_store_close(store);
}

/* Who takes a place away waits for those who came before, and not for one who comes after the time has moved on. */
static void a_later_reader_holds_nobody_up(void) {
  ts_store *store = full_store("0", 4000);
  if (store == NULL) return;
  push_out(store, 0);
  call reader, writer, warm;
  start(&warm, store, lookup, 3999, 1); /* in the first tier now, and the last to leave it */
  join(&warm);
  ts_sync_start();
  ts_sync_close_first("epoch:wait:begin");
  start(&writer, store, lookup, 50 * FIRST, 8000);
  CHECK(ts_sync_await("epoch:wait:begin", 1));
  ts_sync_close("peek:found");
  start(&reader, store, find, 3999, 1);
  CHECK(ts_sync_await("peek:found", 1) && ts_sync_reached("epoch:wait:begin") == 1);
  ts_sync_open("epoch:wait:begin");
  CHECK(ts_sync_await("epoch:wait:begin", 2)); /* the first wait is over, the second is for this reader, too */
  CHECK(ts_sync_await("epoch:wait:reader_inside", 1));
  CHECK(!reader.done && !writer.done);
  ts_sync_open("peek:found");
  join(&reader);
  join(&writer);
  CHECK(ts_sync_stop());
  CHECK(reader.found[0] && is(reader.rows, -4000));
  free(warm.rows);
  free(reader.rows);
  free(writer.rows);
  ts_store_close(store);
}

/* A lookup has found its rows without a lock, and they are pushed out before it copies them. */
static void rows_leave_before_they_are_copied(void) {
  enum { KEYS = 200 };
  ts_store *store = full_store("0", 4000);
  if (store == NULL) return;
  push_out(store, 0); /* from now on lookups tell the policy */
  call reader, writer, warm;
  start(&warm, store, lookup, 3000, KEYS);
  join(&warm);
  ts_sync_start();
  ts_sync_close_first("fast:found");
  start(&reader, store, lookup, 3000, KEYS);
  CHECK(ts_sync_await("fast:found", 1));
  start(&writer, store, lookup, FIRST, 60000);
  CHECK(ts_sync_await("epoch:wait:reader_inside", 1));
  CHECK(!reader.done && !writer.done);
  ts_sync_open("fast:found");
  join(&reader);
  join(&writer);
  CHECK(ts_sync_stop());
  for (uint32_t k = 0; k < KEYS; k++) CHECK(is(reader.rows + k * DIM, -(float)(3000 + k + 1)));
  free(warm.rows);
  free(reader.rows);
  free(writer.rows);
  ts_store_close(store);
}

/* A shard is queued while the thread that evicts stands between its last look at the queue and its sleep: it does not
 * oversleep that. */
static void a_shard_is_queued_before_the_evictor_sleeps(void) {
  ts_store *store = full_store("1", 4000);
  if (store == NULL) return;
  push_out(store, 0);
  CHECK(ts_store_settle(store, NULL, 0) == TS_OK);
  call first, second;
  ts_sync_start();
  ts_sync_close_first("evictors:looks"); /* with the queue's lock, after the first shard was looked after */
  start(&first, store, lookup, 50 * FIRST, 4000);
  CHECK(ts_sync_await("evictors:looks", 1));
  const uint64_t called = ts_sync_reached("evictors:call"), taken = ts_sync_reached("evictors:taken");
  CHECK(called >= 1 && taken == 1);
  start(&second, store, lookup, 60 * FIRST, 8000);
  /* The first call may be there again already; then it has the shard, and the second one waits for it. */
  if (called == 1) CHECK(ts_sync_await("evictors:call", 2));
  CHECK(ts_sync_reached("evictors:taken") == taken);
  ts_sync_open("evictors:looks");
  CHECK(ts_sync_await("evictors:taken", taken + 1));
  join(&first);
  join(&second);
  CHECK(ts_store_settle(store, NULL, 0) == TS_OK);
  CHECK(ts_sync_reached("evictors:done") == ts_sync_reached("evictors:taken"));
  CHECK(ts_sync_stop());
  CHECK(limits_hold(store) && charges_agree(store));
  free(first.rows);
  free(second.rows);
  ts_store_close(store);
}

/* A call is about to queue its shard when another has it queued, looked after and taken out of the queue again. */
static void a_shard_is_queued_twice(void) {
  ts_store *store = full_store("1", 4000);
  if (store == NULL) return;
  push_out(store, 0);
  CHECK(ts_store_settle(store, NULL, 0) == TS_OK);
  call c;
  ts_sync_start();
  ts_sync_close_first("evictors:call");
  start(&c, store, lookup, 50 * FIRST, 4000);
  CHECK(ts_sync_await("evictors:call", 1));
  CHECK(ts_sync_reached("evictors:taken") == 0 && !c.done);
  ts_shard *shard = NULL; /* the one whose lock that call has */
  for (uint32_t s = 0; s < store->tables[0]->shard_count && shard == NULL; s++) {
    if (pthread_mutex_trylock(&store->tables[0]->shards[s].lock) == 0)
      pthread_mutex_unlock(&store->tables[0]->shards[s].lock);
    else
      shard = &store->tables[0]->shards[s];
  }
  CHECK(shard != NULL);
  if (shard != NULL) ts_evictors_call(shard); /* as another call for it would */
  CHECK(ts_sync_await("evictors:taken", 1)); /* and waits for the lock */
  ts_sync_open("evictors:call");
  join(&c);
  CHECK(ts_store_settle(store, NULL, 0) == TS_OK);
  CHECK(shard == NULL || !shard->queued);
  CHECK(ts_sync_reached("evictors:done") == ts_sync_reached("evictors:taken"));
  CHECK(ts_sync_stop());
  CHECK(limits_hold(store) && charges_agree(store));
  free(c.rows);
  ts_store_close(store);
}

/* A call that has read records ahead is told of changes until it has left the list, also when it has no use for them. */
static void a_record_changes_while_its_reader_leaves(void) {
  ts_store *store = full_store("0", 4000);
  if (store == NULL) return;
  const int64_t key = 5;
  push_out(store, key);
  call reader, again;
  ts_sync_start();
  ts_sync_close_first("fetch:end");
  start(&reader, store, lookup, key, 1);
  CHECK(ts_sync_await("fetch:end", 1));
  CHECK(store->tables[0]->fetches != NULL && !reader.done);
  step(store, key, 100);
  push_out(store, key);
  ts_sync_open("fetch:end");
  join(&reader);
  CHECK(ts_sync_stop());
  CHECK(store->tables[0]->fetches == NULL);
  CHECK(is(reader.rows, -(float)(key + 1)));
  start(&again, store, lookup, key, 1);
  join(&again);
  CHECK(is(again.rows, -(float)(key + 1) - 100));
  free(reader.rows);
  free(again.rows);
  ts_store_close(store);
}

static void *step_by_100(void *argument) {
  call *c = argument;
  float gradient[DIM];
  for (uint32_t j = 0; j < DIM; j++) gradient[j] = 100;
  c->status = ts_table_update(c->store, 0, &c->key, 1, gradient, c->text, sizeof c->text);
  c->done = true;
  return NULL;
}

/* A record is on the medium and those who had read it before are not told yet: the shard is locked until they are, so none
 * of them takes the old one for the row. */
static void a_record_is_put_and_its_readers_not_told(void) {
  char text[512];
  ts_store *store = open_config(CONFIG("storage", "SSDHASH", "size", "67108864", "path", folder));
  if (store == NULL) return;
  ts_config *config = CONFIG("name", "t", "learning_rate", "1", "initializer", "constant");
  set_number(config, "dim", DIM);
  add_config(store, config);
  call reader, writer;
  step(store, 5, 6);
  CHECK_MSG(ts_store_settle(store, text, sizeof text) == TS_OK, "%s", text);
  ts_sync_start();
  ts_sync_close_first("fetch:read");
  start(&reader, store, lookup, 5, 1);
  CHECK(ts_sync_await("fetch:read", 1)); /* has the row of before */
  ts_sync_close_first("records:put");
  start(&writer, store, step_by_100, 5, 1);
  CHECK(ts_sync_await("records:put", 1));
  ts_shard *shard = ts_shard_of(store->tables[0], ts_index_hash(5));
  CHECK(pthread_mutex_trylock(&shard->lock) != 0);
  ts_sync_open("fetch:read");
  CHECK(!writer.done);
  ts_sync_open("records:put");
  join(&writer);
  join(&reader);
  CHECK(ts_sync_stop());
  CHECK_MSG(is(reader.rows, -106), "%g", reader.rows[0]);
  free(reader.rows);
  free(writer.rows);
  ts_store_close(store);
}

static void *create_wide(void *argument) {
  call *c = argument;
  ts_config *config = CONFIG("name", "wide", "dim", "1024");
  c->status = ts_table_create(c->store, config, &c->table, c->text, sizeof c->text);
  ts_config_free(config);
  c->done = true;
  return NULL;
}

/* A table of longer rows needs larger working memory while a call has all there is: it waits, and is woken. */
static void a_new_table_waits_for_working_memory(void) {
  ts_store *store = full_store("0", 4000);
  if (store == NULL) return;
  push_out(store, 0);
  call reader, creator;
  ts_sync_start();
  ts_sync_close_first("fetch:read");
  start(&reader, store, lookup, 0, 1);
  CHECK(ts_sync_await("fetch:read", 1));
  pthread_mutex_lock(&store->work_lock);
  const bool none = store->idle == NULL;
  pthread_mutex_unlock(&store->work_lock);
  CHECK(none);
  start(&creator, store, create_wide, 0, 1);
  CHECK(ts_sync_await("work:prepare:wait", 1));
  CHECK(!creator.done && !reader.done);
  ts_sync_open("fetch:read");
  join(&reader);
  join(&creator);
  CHECK(ts_sync_stop());
  CHECK(creator.table == 1 && is(reader.rows, -1));
  CHECK(limits_hold(store) && charges_agree(store));
  free(reader.rows);
  free(creator.rows);
  ts_store_close(store);
}

/* A call waits for working memory when the one that has some is about to give it back. */
static void working_memory_comes_back(void) {
  ts_store *store = full_store("0", 4000);
  if (store == NULL) return;
  push_out(store, 0);
  call first, second;
  ts_sync_start();
  ts_sync_close_first("work:release");
  start(&first, store, lookup, 0, 100);
  CHECK(ts_sync_await("work:release", 1));
  uint64_t taken = 0;
  while (ts_budget_take(&store->tiers[0].budget, TS_PURPOSE_WORK, 64)) taken += 64;
  start(&second, store, lookup, 100, 100);
  CHECK(ts_sync_await("work:acquire:wait", 1));
  CHECK(!first.done && !second.done);
  ts_sync_open("work:release");
  join(&first);
  join(&second);
  CHECK(ts_sync_stop());
  for (uint32_t k = 0; k < 100; k++) {
    CHECK(is(first.rows + k * DIM, -(float)(k + 1)));
    CHECK(is(second.rows + k * DIM, -(float)(100 + k + 1)));
  }
  ts_budget_give_back(&store->tiers[0].budget, TS_PURPOSE_WORK, taken);
  CHECK(limits_hold(store) && charges_agree(store));
  free(first.rows);
  free(second.rows);
  ts_store_close(store);
}

/* A call lets go of its shard to get memory for the index; before it comes back another has created the same rows, and
 * stepped one: it finds them. */
static void rows_are_created_while_the_index_waits_for_memory(void) {
  enum { KEYS = 500 };
  ts_store *store = full_store("0", 4000);
  if (store == NULL) return;
  ts_config *config = CONFIG("name", "b", "learning_rate", "1", "initializer", "constant", "initializer.value", "1");
  set_number(config, "dim", DIM);
  CHECK(add_config(store, config) == 1);
  push_out(store, 0);
  ts_budget *budget = &store->tiers[0].budget;
  call first, second;
  ts_sync_start();
  ts_sync_close_first("bring:index_wanted");
  ts_sync_close_first("fetch:read"); /* has its working memory there */
  start_in(&first, store, 1, lookup, 0, KEYS);
  CHECK(ts_sync_await("fetch:read", 1));
  const uint64_t used = atomic_load(&budget->used), left = budget->headroom / 16 * 7;
  const uint64_t taken = budget->limit - used > left ? budget->limit - used - left : 0;
  CHECK(taken == 0 || ts_budget_take_first(budget, TS_PURPOSE_BUFFERS, taken));
  ts_sync_open("fetch:read");
  CHECK(ts_sync_await("bring:index_wanted", 1));
  start_in(&second, store, 1, lookup, 0, KEYS);
  join(&second);
  float gradient[DIM];
  const int64_t key = 3;
  char text[512];
  for (uint32_t j = 0; j < DIM; j++) gradient[j] = 100;
  CHECK_MSG(ts_table_update(store, 1, &key, 1, gradient, text, sizeof text) == TS_OK, "%s", text);
  CHECK(!first.done);
  ts_sync_open("bring:index_wanted");
  join(&first);
  CHECK(ts_sync_stop());
  uint64_t counts[2], created[TS_STATISTIC_COUNT];
  CHECK(ts_table_rows(store, 1, counts, 2, text, sizeof text) == TS_OK && counts[0] + counts[1] == KEYS);
  CHECK(ts_table_statistics(store, 1, created, TS_STATISTIC_COUNT, NULL, text, sizeof text) == TS_OK);
  CHECK_MSG(created[TS_STAT_created] == KEYS, "%llu rows were created", (unsigned long long)created[TS_STAT_created]);
  uint32_t wrong = 0;
  for (uint32_t k = 0; k < KEYS; k++) {
    wrong += !is(first.rows + k * DIM, k == key ? -99 : 1);
    wrong += !is(second.rows + k * DIM, 1);
  }
  CHECK_MSG(wrong == 0, "%u rows are wrong", wrong);
  ts_budget_give_back(budget, TS_PURPOSE_BUFFERS, taken);
  CHECK(limits_hold(store) && charges_agree(store));
  free(first.rows);
  free(second.rows);
  ts_store_close(store);
}

int main(void) {
  if (!make_folder("waits")) return 1;
  a_lookup_waits_for_a_slot();
  a_later_reader_holds_nobody_up();
  rows_leave_before_they_are_copied();
  a_shard_is_queued_before_the_evictor_sleeps();
  a_shard_is_queued_twice();
  a_record_changes_while_its_reader_leaves();
  a_record_is_put_and_its_readers_not_told();
  a_new_table_waits_for_working_memory();
  working_memory_comes_back();
  rows_are_created_while_the_index_waits_for_memory();
  remove_folder();
  return test_result();
}
