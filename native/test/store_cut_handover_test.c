/* Hand-overs between a cut and the calls beside it, forced by sync points (base/sync_point.h): calls under way when it begins and
 * when it ends, rows that move between what has been walked and what has not, up, down and back, records that change after they were
 * read, an index that grows and one that is compacted under the walk, a sink that fails. What the cut holds is each time what the
 * store was when it began. */
#include "base/sync_point.h"
#include "test/store_snapshot.h"
#include "test/store_types.h"

#include <time.h>

#define PATIENCE 120 /* seconds, for what takes milliseconds */
#define DIM 64u
#define FIRST 20000 /* keys from here on push others out */

static char message[512];
#define ERR message, sizeof message

static const storage_type in_dram = {"DRAM", "DRAM", NULL, NULL, 1, false};
static const storage_type over_ssd = {"DRAM_SSDHASH", "DRAM_SSDHASH", NULL, NULL, 2, true};
static const storage_type over_pmem = {"DRAM_PMEM", "DRAM_PMEM", "memkind", NULL, 2, false};
static const storage_type over_leveldb = {"DRAM_LEVELDB", "DRAM_LEVELDB", NULL, NULL, 2, true};
static const storage_type on_ssd = {"SSDHASH", "SSDHASH", NULL, NULL, 1, true};

/* ---- threads ---- */

typedef struct job {
  pthread_t id;
  ts_store *store;
  int64_t first;
  uint32_t n;
  ts_cut *cut;
  blocks *sink;
  int32_t status;
  _Atomic bool done;
  char text[512];
} job;

static void step_keys(ts_store *store, int64_t first, uint32_t n, int32_t *status, char *text) {
  int64_t *keys = malloc(n * sizeof *keys);
  float *gradients = malloc((size_t)n * DIM * sizeof *gradients);
  for (uint32_t i = 0; i < n; i++) keys[i] = first + i;
  for (uint32_t i = 0; i < n * DIM; i++) gradients[i] = 1;
  *status = ts_table_update(store, 0, keys, n, gradients, text, 512);
  free(keys);
  free(gradients);
}

static void *update(void *argument) {
  job *j = argument;
  step_keys(j->store, j->first, j->n, &j->status, j->text);
  j->done = true;
  return NULL;
}

static void *begin_cut(void *argument) {
  job *j = argument;
  j->status = ts_cut_begin(j->store, false, keep_block, j->sink, &j->cut, (ts_err){j->text, sizeof j->text});
  j->done = true;
  return NULL;
}

static void *write_cut(void *argument) {
  job *j = argument;
  j->status = ts_cut_write(j->cut, NULL, (ts_err){j->text, sizeof j->text});
  j->done = true;
  return NULL;
}

static void start(job *j, void *(*what)(void *)) {
  j->done = false;
  pthread_create(&j->id, NULL, what, j);
}

static void join(job *j, int32_t want) {
  struct timespec until;
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_sec += PATIENCE;
  const bool ended = pthread_timedjoin_np(j->id, NULL, &until) == 0;
  CHECK_MSG(ended, "%s", "a call hangs");
  if (!ended) _exit(1);
  CHECK_MSG(j->status == want, "%d %s", j->status, j->text);
}

/* ---- stores ---- */

static void update_now(ts_store *store, int64_t first, uint32_t n) {
  int32_t status;
  step_keys(store, first, n, &status, message);
  CHECK_MSG(status == TS_OK, "%s", message);
}

static void look_up(ts_store *store, int64_t first, uint32_t n) {
  int64_t *keys = malloc(n * sizeof *keys);
  float *rows = malloc((size_t)n * DIM * sizeof *rows);
  for (uint32_t i = 0; i < n; i++) keys[i] = first + i;
  CHECK_MSG(ts_table_lookup(store, 0, keys, n, rows, ERR) == TS_OK, "%s", message);
  free(keys);
  free(rows);
}

static int32_t tier_of(ts_store *store, int64_t key) {
  int32_t tier = -1;
  CHECK(ts_table_lookup_tier(store, 0, &key, 1, &tier, ERR) == TS_OK);
  return tier;
}

/* Rows of keys 0 to n - 1, all different. */
static ts_store *open_with(const storage_type *type, const char *sizes, const char *evictors, uint32_t n) {
  ts_config *config = config_of_type(type, sizes, "all");
  ts_config_set(config, "eviction_threads", evictors, NULL, 0);
  ts_config_set(config, "policy", "lru", NULL, 0);
  if (type->ssd && strstr(type->name, "SSDHASH") != NULL) ts_config_set(config, "ssdhash.garbage_percent", "20", NULL, 0);
  ts_store *store = open_config(config);
  if (store == NULL) return NULL;
  config = CONFIG("name", "t", "learning_rate", "1");
  set_number(config, "dim", DIM);
  add_config(store, config);
  look_up(store, 0, n);
  return store;
}

/* Pushes a key out of the first tier; the walk of the cut stands still meanwhile. */
static void push_out(ts_store *store, int64_t key) {
  static int64_t next = FIRST;
  for (uint32_t i = 0; i < 1000 && tier_of(store, key) == 0; i++) {
    look_up(store, next, 500);
    next += 500;
  }
  CHECK_MSG(tier_of(store, key) > 0, "key %lld stays", (long long)key);
}

/* ---- a cut that is held ---- */

typedef struct held {
  ts_store *store;
  snapshot want;
  blocks sink;
  job writer;
} held;

static void begin_now(held *h, ts_store *store) {
  *h = (held){.store = store};
  snapshot_take(store, &h->want);
  blocks_init(&h->sink);
  h->writer = (job){.store = store, .sink = &h->sink};
  begin_cut(&h->writer);
  CHECK_MSG(h->writer.status == TS_OK, "%s", h->writer.text);
}

/* What it holds is what the store was. */
static void end_now(held *h, const char *what) {
  snapshot got = {.b = h->sink};
  ts_cut_end(h->writer.cut, true);
  put_together(&got);
  CHECK_MSG(snapshots_differ(&h->want, &got, what) == 0, "%s", what);
  CHECK_MSG(limits_hold(h->store), "%s: limits are exceeded", what);
  CHECK_MSG(charges_come_to_agree(h->store), "%s: charges do not agree", what);
  free(got.keys);
  snapshot_free(&h->want);
  blocks_free(&h->sink);
}

/* ---- begin and end ---- */

static void waits_for_an_update_under_way(void) {
  ts_store *store = open_with(&in_dram, "16777216", "0", 3000);
  blocks sink;
  blocks_init(&sink);
  job u = {.store = store, .first = 0, .n = 3000}, late = {.store = store, .first = 0, .n = 3000}, b = {.store = store, .sink = &sink};
  ts_sync_start();
  ts_sync_close_first("work:release"); /* all its rows have stepped but the call is not over */
  start(&u, update);
  CHECK(ts_sync_await("work:release", 1));
  start(&b, begin_cut);
  CHECK(ts_sync_await("gate:close:wait", 1));
  start(&late, update); /* comes while the cut waits: behind it */
  CHECK(ts_sync_await("gate:enter:wait", 1));
  CHECK(!b.done && !late.done);
  ts_sync_open("work:release");
  join(&u, TS_OK);
  join(&b, TS_OK);
  join(&late, TS_OK);
  CHECK(ts_sync_stop());
  write_cut(&b);
  CHECK(b.status == TS_OK);
  ts_cut_end(b.cut, true);
  snapshot got = {.b = sink};
  put_together(&got);
  /* Each row has stepped once: with the late update it would be twice. */
  uint64_t wrong = got.count != 3000;
  for (uint64_t i = 0; i < got.count; i++) {
    float now, then;
    uint8_t found;
    float rows[DIM];
    CHECK(ts_table_find(store, 0, &got.keys[i].key, 1, 0, rows, &found, ERR) == TS_OK);
    now = rows[0];
    memcpy(&then, got.keys[i].row, sizeof then);
    wrong += then - 1 != now;
  }
  CHECK_MSG(wrong == 0, "%llu rows", (unsigned long long)wrong);
  free(got.keys);
  blocks_free(&sink);
  ts_store_close(store);
}

/* A cut has its memory and has not closed the gate: calls go on, make rows, step them, and all of that is in it. Once it is
 * alone a call waits, and is behind it. */
static void calls_before_and_behind_the_beginning(void) {
  ts_store *store = open_with(&in_dram, "16777216", "0", 3000);
  if (store == NULL) return;
  blocks sink;
  blocks_init(&sink);
  job late = {.store = store, .first = 0, .n = 3500}, b = {.store = store, .sink = &sink};
  ts_sync_start();
  ts_sync_close("cut:begin:wait");
  ts_sync_close("cut:begin:alone");
  start(&b, begin_cut);
  CHECK(ts_sync_await("cut:begin:wait", 1));
  look_up(store, 3000, 500); /* new rows */
  update_now(store, 0, 3500);
  ts_sync_open("cut:begin:wait");
  CHECK(ts_sync_await("cut:begin:alone", 1));
  start(&late, update);
  CHECK(ts_sync_await("gate:enter:wait", 1));
  CHECK(!b.done && !late.done);
  ts_sync_open("cut:begin:alone");
  join(&b, TS_OK);
  join(&late, TS_OK);
  CHECK(ts_sync_stop());
  write_cut(&b);
  CHECK_MSG(b.status == TS_OK, "%s", b.text);
  ts_cut_end(b.cut, true);
  snapshot got = {.b = sink};
  put_together(&got);
  uint64_t wrong = got.count != 3500;
  for (uint64_t i = 0; i < got.count; i++) { /* as after the first update: the late one took another 1 */
    float then, rows[DIM];
    uint8_t found;
    CHECK(ts_table_find(store, 0, &got.keys[i].key, 1, 0, rows, &found, ERR) == TS_OK && found);
    memcpy(&then, got.keys[i].row, sizeof then);
    wrong += then - 1 != rows[0];
  }
  CHECK_MSG(wrong == 0, "%llu rows", (unsigned long long)wrong);
  free(got.keys);
  blocks_free(&sink);
  ts_store_close(store);
}

/* A background thread has the turn of a shard; the cut begins, is written, and ends. */
static void does_not_wait_for_background_eviction(void) {
  ts_store *store = open_with(&over_ssd, "4194304,268435456", "1", 20000);
  ts_sync_start();
  ts_sync_close_first("evictors:taken");
  for (int64_t i = 0; ts_sync_reached("evictors:taken") < 1 && i < 300; i++) look_up(store, 50000 + i * 300, 300);
  CHECK(ts_sync_reached("evictors:taken") > 0);
  held h;
  begin_now(&h, store);
  start(&h.writer, write_cut);
  join(&h.writer, TS_OK);
  ts_sync_open("evictors:taken");
  CHECK(ts_sync_stop());
  ts_evictors_settle(store->evictors);
  end_now(&h, "beside background eviction");
  ts_store_close(store);
}

static void the_end_waits_for_a_touch_under_way(void) {
  ts_store *store = open_with(&in_dram, "16777216", "0", 3000);
  held h;
  begin_now(&h, store);
  ts_sync_start();
  ts_sync_close_first("cut:detach:wait"); /* all is walked */
  start(&h.writer, write_cut);
  CHECK(ts_sync_await("cut:detach:wait", 1));
  ts_sync_close_first("cut:touch");
  job u = {.store = store, .first = 100, .n = 50};
  start(&u, update);
  CHECK(ts_sync_await("cut:touch", 1));
  ts_sync_open("cut:detach:wait");
  CHECK(ts_sync_await("gate:close:wait", 1));
  CHECK(!h.writer.done);
  ts_sync_open("cut:touch");
  join(&u, TS_OK);
  join(&h.writer, TS_OK);
  CHECK(ts_sync_stop());
  CHECK_MSG(h.sink.of_part[TS_CUT_BEFORE] == 50, "%llu", (unsigned long long)h.sink.of_part[TS_CUT_BEFORE]);
  end_now(&h, "a touch at the end");
  ts_store_close(store);
}

/* However often rows in memory change beside a cut, each is told once, and none of these is met by the walk; the next cut is told of
 * them again. There are more than a slice remembers keys of. */
static void rows_in_memory_are_told_once(void) {
  enum { ROWS = 4000, CHANGED = 3000 };
  ts_store *store = open_with(&over_ssd, "4194304,268435456", "0", ROWS);
  for (uint32_t cut = 0; cut < 2; cut++) {
    held h;
    update_now(store, 0, CHANGED);
    begin_now(&h, store);
    for (uint32_t round = 0; round < 3; round++) update_now(store, 0, CHANGED);
    look_up(store, 0, CHANGED);
    for (int64_t key = 0; key < CHANGED; key += 100) CHECK(tier_of(store, key) == 0);
    start(&h.writer, write_cut);
    join(&h.writer, TS_OK);
    const uint64_t told = h.sink.of_part[TS_CUT_BEFORE], met = h.sink.of_part[TS_CUT_ROWS];
    CHECK_MSG(told == CHANGED && met == ROWS - CHANGED, "cut %u: %llu told, %llu met", cut, (unsigned long long)told, (unsigned long long)met);
    end_now(&h, "changed three times");
  }
  ts_store_close(store);
}

/* ---- rows that move under the walk ---- */

/* From the records, not walked yet, into memory, which is; changed there or not; and back down. */
static void up_after_memory_was_walked(bool change, bool back) {
  ts_store *store = open_with(&over_ssd, "4194304,268435456", "0", 20000);
  push_out(store, 5);
  push_out(store, 6);
  CHECK(tier_of(store, 5) == 1 && tier_of(store, 6) == 1);
  held h;
  begin_now(&h, store);
  ts_sync_start();
  ts_sync_close_first("cut:walk:below_memory");
  start(&h.writer, write_cut);
  CHECK(ts_sync_await("cut:walk:below_memory", 1));
  look_up(store, 5, 2);
  CHECK(tier_of(store, 5) == 0 && tier_of(store, 6) == 0);
  if (change) update_now(store, 5, 1);
  if (back) push_out(store, 5);
  ts_sync_open("cut:walk:below_memory");
  join(&h.writer, TS_OK);
  CHECK(ts_sync_stop());
  end_now(&h, change ? "changed above" : "moved up");
  ts_store_close(store);
}

/* From memory, not walked yet, down to the records. */
static void down_before_memory_is_walked(bool change) {
  ts_store *store = open_with(&over_ssd, "4194304,268435456", "0", 4000);
  look_up(store, 5, 1);
  CHECK(tier_of(store, 5) == 0);
  held h;
  begin_now(&h, store);
  ts_sync_start();
  ts_sync_close_first("cut:walk:piece");
  start(&h.writer, write_cut);
  CHECK(ts_sync_await("cut:walk:piece", 1));
  if (change) update_now(store, 5, 1);
  push_out(store, 5);
  ts_sync_open("cut:walk:piece");
  join(&h.writer, TS_OK);
  CHECK(ts_sync_stop());
  end_now(&h, "moved down");
  ts_store_close(store);
}

/* Read as a record; then it comes up, changes and goes down again before the walk looks whether it did. */
static void a_record_changes_after_it_was_read(const storage_type *type, const char *point, bool back) {
  ts_store *store = open_with(type, "33554432,268435456", "0", 120000); /* the walk has working memory while it is held */
  if (store == NULL) return;
  held h;
  begin_now(&h, store);
  ts_sync_start();
  ts_sync_close(point);
  start(&h.writer, write_cut);
  CHECK(ts_sync_await(point, 1));
  /* The first piece of records: some of these keys are in it. */
  for (int64_t key = 0; key < 20000; key += 400) update_now(store, key, 50);
  if (back) push_out(store, 19600);
  ts_sync_open(point);
  join(&h.writer, TS_OK);
  CHECK(ts_sync_stop());
  end_now(&h, "read before it changed");
  ts_store_close(store);
}

/* Their records are older than the rows in memory, and are read as such; then the rows go down, and count as records. */
static void changed_rows_go_down_after_their_records_were_read(void) {
  enum { N = 300 }; /* the first that go down: the first piece of records is of them */
  ts_store *store = open_with(&over_ssd, "4194304,268435456", "0", N);
  for (int64_t key = 0; key < N; key++) push_out(store, key);
  update_now(store, 0, N);
  CHECK(tier_of(store, 0) == 0 && tier_of(store, N - 1) == 0);
  held h;
  begin_now(&h, store);
  ts_sync_start();
  ts_sync_close("cut:walk:swept");
  start(&h.writer, write_cut);
  CHECK(ts_sync_await("cut:walk:swept", 1));
  const uint64_t again = counter_of(store, TS_STAT_records_read_again);
  for (int64_t key = 0; key < N; key++) push_out(store, key);
  ts_sync_open("cut:walk:swept");
  join(&h.writer, TS_OK);
  CHECK(ts_sync_stop());
  CHECK_MSG(counter_of(store, TS_STAT_records_read_again) > again, "%s", "none of them was in that piece");
  end_now(&h, "rows that went down");
  ts_store_close(store);
}

/* Does something at each piece of the walk, which holds nothing there. */
typedef struct at_piece {
  ts_store *store;
  int64_t key;
  uint32_t piece;
} at_piece;

static void promote_some(void *context, void *value) {
  (void)value;
  at_piece *a = context;
  if (a->piece++ < 40) look_up(a->store, a->key + (int64_t)a->piece * 3, 3);
}

/* Between memory tiers: the first one is walked, the second is not; piece after piece the next rows move up. */
static void up_between_memory_tiers(void) {
  ts_store *store = open_with(&over_pmem, "1500000,67108864", "0", 20000);
  at_piece a = {.store = store, .key = 5};
  while (a.key < 1000 && tier_of(store, a.key) != 1) a.key++;
  CHECK(tier_of(store, a.key) == 1);
  held h;
  begin_now(&h, store);
  ts_sync_start();
  ts_sync_call("cut:walk:piece", promote_some, &a);
  write_cut(&h.writer);
  CHECK(ts_sync_stop());
  CHECK_MSG(a.piece > 4, "%u pieces", a.piece);
  end_now(&h, "moved to the first tier");
  ts_store_close(store);
}

/* ---- indexes that change under the walk ---- */

/* Segments are rebuilt and split, then emptied and joined. */
static void grow_or_shrink(void *context, void *value) {
  (void)value;
  at_piece *a = context;
  const int64_t piece = ++a->piece;
  if (piece > 14) return;
  if (piece % 2 == 1) {
    look_up(a->store, FIRST * 10 + piece * 10000, 10000);
    return;
  }
  int64_t keys[9000];
  uint64_t gone;
  for (int64_t i = 0; i < 9000; i++) keys[i] = i % 2 == 0 ? piece * 1000 + i : FIRST * 10 + (piece - 1) * 10000 + i;
  CHECK(ts_table_remove(a->store, 0, keys, 9000, &gone, ERR) == TS_OK);
}

static void grows_and_shrinks_under_the_walk(void) {
  ts_store *store = open_with(&in_dram, "67108864", "0", 30000);
  at_piece a = {.store = store};
  held h;
  begin_now(&h, store);
  ts_sync_start();
  ts_sync_call("cut:walk:piece", grow_or_shrink, &a);
  write_cut(&h.writer);
  CHECK(ts_sync_stop());
  CHECK_MSG(a.piece > 4, "%u pieces", a.piece);
  end_now(&h, "an index that grows and shrinks");
  ts_store_close(store);
}

/* The walk has read where records lay; they are rewritten elsewhere before it looks whether they are still there. */
static void compaction_under_the_walk(uint32_t rows) {
  ts_store *store = open_with(&on_ssd, "33554432", "0", rows);
  update_now(store, 0, rows);
  held h;
  begin_now(&h, store);
  ts_sync_start();
  ts_sync_close_first("cut:walk:below_memory");
  start(&h.writer, write_cut);
  CHECK(ts_sync_await("cut:walk:below_memory", 1));
  ts_sync_close_first("cut:walk:swept");
  ts_sync_open("cut:walk:below_memory");
  CHECK(ts_sync_await("cut:walk:swept", 1));
  const uint64_t before = counter_of(store, TS_STAT_records_compacted);
  /* Half of the rows, over and over: files become garbage. */
  for (uint32_t i = 0; i < 30 && counter_of(store, TS_STAT_records_compacted) == before; i++)
    for (int64_t first = 0; first + 1000 < rows; first += 2000) update_now(store, first, 1000);
  CHECK_MSG(counter_of(store, TS_STAT_records_compacted) > before, "%s", "nothing was compacted");
  ts_sync_open("cut:walk:swept");
  join(&h.writer, TS_OK);
  CHECK(ts_sync_stop());
  end_now(&h, "records that were compacted");
  ts_store_close(store);
}

/* ---- failures ---- */

static void a_sink_that_fails_stops_nobody_else(void) {
  ts_store *store = open_with(&over_ssd, "4194304,268435456", "1", 20000);
  held h;
  begin_now(&h, store);
  h.sink.refuse = TS_EFULL;
  for (int64_t i = 0; i < 20; i++) update_now(store, i * 700, 700); /* their touches fail, they do not */
  write_cut(&h.writer);
  CHECK(h.writer.status == TS_EFULL && strstr(h.writer.text, "told to refuse") != NULL);
  ts_cut_end(h.writer.cut, false);
  ts_evictors_settle(store->evictors);
  CHECK(limits_hold(store) && charges_come_to_agree(store));
  snapshot_free(&h.want);
  blocks_free(&h.sink);
  /* The next one is whole. */
  begin_now(&h, store);
  update_now(store, 0, 3000);
  write_cut(&h.writer);
  CHECK_MSG(h.writer.status == TS_OK, "%s", h.writer.text);
  end_now(&h, "after a failure");
  ts_store_close(store);
}

/* Every tier full: the cut finds memory, calls go on or are refused as before, and nothing hangs. */
static void all_tiers_full(const storage_type *type, const char *sizes) {
  ts_store *store = open_with(type, sizes, "1", 0);
  int64_t filled = 0;
  int32_t status = TS_OK;
  for (; filled < 200000; filled += 100) {
    step_keys(store, filled, 100, &status, message);
    if (status != TS_OK) break;
  }
  CHECK_MSG(status == TS_EFULL, "%s: %d %s", type->name, status, message);
  ts_evictors_settle(store->evictors);
  held h;
  begin_now(&h, store);
  start(&h.writer, write_cut);
  uint64_t over = 0;
  for (int64_t i = 0; i < 60; i++) {
    step_keys(store, i * 100 % (filled - 100), 100, &status, message);
    CHECK_MSG(status == TS_OK, "%s: rows that are there step: %s", type->name, message);
    over += !limits_hold(store);
    step_keys(store, filled + i * 100, 100, &status, message);
    CHECK(status == TS_EFULL || status == TS_OK);
    over += !limits_hold(store);
  }
  join(&h.writer, TS_OK);
  CHECK_MSG(over == 0, "%s: limits were exceeded %llu times", type->name, (unsigned long long)over);
  end_now(&h, type->name);
  ts_store_close(store);
}

int main(void) {
  if (!make_folder("cut-handover")) return 1;
  waits_for_an_update_under_way();
  calls_before_and_behind_the_beginning();
  does_not_wait_for_background_eviction();
  the_end_waits_for_a_touch_under_way();
  rows_in_memory_are_told_once();
  for (uint32_t i = 0; i < 4; i++) up_after_memory_was_walked(i & 1, i >> 1);
  down_before_memory_is_walked(false);
  down_before_memory_is_walked(true);
  for (uint32_t back = 0; back < 2; back++) {
    a_record_changes_after_it_was_read(&over_ssd, "cut:walk:swept", back == 1);
    a_record_changes_after_it_was_read(&over_leveldb, "cut:walk:records", back == 1);
  }
  changed_rows_go_down_after_their_records_were_read();
  up_between_memory_tiers();
  grows_and_shrinks_under_the_walk();
  compaction_under_the_walk(40000);
  a_sink_that_fails_stops_nobody_else();
  all_tiers_full(&in_dram, "4194304");
  all_tiers_full(&over_pmem, "1500000,4194304");
  all_tiers_full(&over_ssd, "4194304,8388608");
  all_tiers_full(&on_ssd, "8388608");
  remove_folder();
  return test_result();
}
