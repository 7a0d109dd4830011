/* The task graph and its executors: every task once, after what it waits for, whatever the threads; the order by
 * longest path; the stage: the right batch for each step, whoever prepares it. */
#include "test/wdl_fixture.h"
#include "wdl/common/batch_order.h"
#include "wdl/schedule/executor.h"
#include "wdl/schedule/stage.h"

#include <stdatomic.h>

#define MOST 400u

typedef struct world {
  ts_graph graph;
  uint32_t needs[MOST][8], need_count[MOST], kind[MOST];
  atomic_uint ran[MOST], early, clock;
  uint32_t when[MOST];
  double value[MOST]; /* of a task: a function of those it waits for */
} world;

static world w;

static void run_one(void *context, uint32_t part) {
  world *x = context;
  double value = part;
  for (uint32_t i = 0; i < x->need_count[part]; i++) {
    if (atomic_load(&x->ran[x->needs[part][i]]) == 0) atomic_fetch_add(&x->early, 1);
    value = value * 0.75 + x->value[x->needs[part][i]];
  }
  x->value[part] = value;
  x->when[part] = atomic_fetch_add(&x->clock, 1);
  atomic_fetch_add(&x->ran[part], 1);
}

/* Tasks in phases; each waits for a few of earlier phases. */
static void random_world(uint64_t seed, uint32_t tasks, uint32_t phases) {
  memset(&w, 0, sizeof w);
  for (uint32_t i = 0; i < tasks; i++) {
    const uint32_t phase = i * phases / tasks, first = (phase * tasks + phases - 1) / phases;
    ts_graph_add(&w.graph, run_one, i, phase, phase % 5);
    for (uint32_t k = 0; first > 0 && k < ts_random64(seed, i, 99) % 8; k++) {
      const uint32_t from = (uint32_t)(ts_random64(seed, i, k) % first);
      ts_graph_edge(&w.graph, from, i);
      w.needs[i][w.need_count[i]++] = from;
    }
  }
}

static void clear_runs(void) {
  for (uint32_t i = 0; i < MOST; i++) atomic_store(&w.ran[i], 0);
  atomic_store(&w.early, 0);
  atomic_store(&w.clock, 0);
}

static void tasks_run_once_and_in_order(void) {
  for (uint64_t seed = 0; seed < 12; seed++) {
    const uint32_t tasks = (uint32_t)(seed * 31 + 1);
    double expected[MOST] = {0};
    for (ts_executor_kind kind = TS_EXECUTOR_INLINE; kind <= TS_EXECUTOR_COST_MODEL; kind++)
      for (uint32_t threads = 1; threads <= 5; threads += 2) {
        random_world(seed, tasks, 1 + (uint32_t)(seed % 7));
        ts_pool *pool;
        ts_executor *executor;
        ts_err err = {message, sizeof message};
        CHECK(ts_graph_finish(&w.graph, err) == TS_OK && ts_pool_create(threads, &pool, err) == TS_OK);
        CHECK(ts_executor_create(kind, pool, &w.graph, &executor, err) == TS_OK);
        uint64_t ns[5] = {0};
        for (uint32_t round = 0; round < 20; round++) {
          clear_runs();
          ts_executor_run(executor, &w, ns, 5);
          uint32_t wrong = 0;
          for (uint32_t i = 0; i < tasks; i++) wrong += atomic_load(&w.ran[i]) != 1;
          CHECK_MSG(wrong == 0 && atomic_load(&w.early) == 0, "%s, %u threads, %u tasks: %u wrong, %u early",
                    ts_executor_names[kind], threads, tasks, wrong, atomic_load(&w.early));
          if (seed + threads + round + kind == 1) memcpy(expected, w.value, sizeof expected);
        }
        if (kind == TS_EXECUTOR_INLINE && threads == 1) memcpy(expected, w.value, sizeof expected);
        CHECK(memcmp(expected, w.value, sizeof expected) == 0);
        CHECK(ts_executor_knows_costs(executor));
        ts_executor_destroy(executor);
        ts_pool_destroy(pool);
        ts_graph_free(&w.graph);
      }
  }
}

/* One thread: of the ready tasks the one with the longest way to go comes first. */
static void the_longest_path_goes_first(void) {
  memset(&w, 0, sizeof w);
  ts_graph *g = &w.graph;
  /* 0 and 1 are ready; 1 leads to a chain 3 -> 4, 0 to 2 alone. */
  for (uint32_t i = 0; i < 5; i++) ts_graph_add(g, run_one, i, i < 2 ? 0 : i < 4 ? 1 : 2, 0);
  ts_graph_edge(g, 0, 2);
  ts_graph_edge(g, 1, 3);
  ts_graph_edge(g, 3, 4);
  ts_err err = {message, sizeof message};
  CHECK(ts_graph_finish(g, err) == TS_OK);
  CHECK(g->tasks[1].path == 3 && g->tasks[0].path == 2 && ts_graph_longest_path(g) == 3 && ts_graph_work(g) == 5);
  ts_pool *pool;
  ts_executor *executor;
  CHECK(ts_pool_create(1, &pool, err) == TS_OK);
  CHECK(ts_executor_create(TS_EXECUTOR_COST_MODEL, pool, g, &executor, err) == TS_OK);
  uint64_t ns[1] = {0};
  ts_executor_run(executor, &w, ns, 1);
  static const uint32_t order[] = {1, 0, 3, 2, 4}; /* ways of 3, 2, 2, 1, 1; of equal ones the first */
  for (uint32_t i = 0; i < 5; i++)
    CHECK_MSG(w.when[order[i]] == i, "task %u ran as number %u", order[i], w.when[order[i]]);
  ts_executor_destroy(executor);
  ts_pool_destroy(pool);
  ts_graph_free(g);
}

static void impossible_graphs_are_refused(void) {
  ts_err err = {message, sizeof message};
  ts_graph g = {0};
  ts_graph_add(&g, NULL, 0, 1, 0);
  ts_graph_add(&g, NULL, 1, 0, 0);
  CHECK(ts_graph_finish(&g, err) == TS_EINTERNAL);
  ts_graph_free(&g);
  ts_graph_add(&g, NULL, 0, 0, 0);
  ts_graph_add(&g, NULL, 1, 0, 0);
  ts_graph_edge(&g, 1, 0);
  CHECK(ts_graph_finish(&g, err) == TS_EINTERNAL);
  ts_graph_free(&g);
}

/* ---- the stage ---- */

static void check_batch(const ts_stage_options *o, uint64_t step, const ts_batch *batch) {
  static float labels[100], numerics[TS_NUMERICS * 100];
  static int64_t keys[TS_CATEGORIES * 100];
  ts_err err = {message, sizeof message};
  const uint64_t first = ts_batch_start(o->seed, o->data->header.rows, o->batch, step);
  CHECK(ts_cache_read(o->data, first, o->batch, o->batch, labels, numerics, keys, err) == TS_OK);
  CHECK_MSG(memcmp(keys, batch->keys, sizeof keys) == 0 && memcmp(labels, batch->labels, sizeof labels) == 0 &&
                memcmp(numerics, batch->numerics, sizeof numerics) == 0,
            "step %llu", (unsigned long long)step);
}

static void the_stage_gives_the_right_batches(const ts_cache *data, ts_store *store, const uint32_t *tables) {
  ts_err err = {message, sizeof message};
  static const uint32_t depths[] = {0, 1, 3, 8};
  for (uint32_t d = 0; d < 4; d++)
    for (uint32_t held = 1; held <= 2; held++)
      for (uint32_t allocate = 0; allocate < 2; allocate++)
        for (ts_stage_what what = TS_STAGE_INPUT; what <= TS_STAGE_AUTO; what++) {
          ts_stage_options o = {.depth = depths[d],
                                .threads = 1 + d,
                                .held = held,
                                .what = what,
                                .allocate = allocate == 1,
                                .batch = 100,
                                .seed = 3,
                                .data = data,
                                .store = store,
                                .tables = tables};
          ts_stage *stage;
          CHECK(ts_stage_create(&o, &stage, err) == TS_OK);
          uint64_t step = 0;
          for (uint32_t call = 0; call < 3; call++) {
            const uint64_t end = step + 25;
            ts_stage_begin(stage, step, end);
            /* A step that comes first reads its batch itself: let the threads have the start. */
            while (depths[d] > 0 && what != TS_STAGE_AUTO && call == 0 && ts_stage_count(stage).batches == 0)
              usleep(100);
            ts_batch *batch, *next = NULL;
            /* The last call gives up early, with batches prepared. */
            for (; step < end - (call == 2 ? 10 : 0); step++) {
              if (next == NULL) CHECK(ts_stage_take(stage, step, &batch, err) == TS_OK);
              else batch = next;
              next = NULL;
              if (held == 2 && step + 1 < end) CHECK(ts_stage_take(stage, step + 1, &next, err) == TS_OK);
              check_batch(&o, step, batch);
              if (next != NULL) check_batch(&o, step + 1, next);
              ts_stage_give_back(stage, step);
              ts_stage_tell(stage, step, 1000);
            }
            ts_stage_end(stage);
          }
          const ts_stage_statistics s = ts_stage_count(stage);
          CHECK_MSG((depths[d] == 0 ? s.batches == 0 : what == TS_STAGE_AUTO || s.hits > 0) && s.hits <= s.batches,
                    "depth %u: %llu batches, %llu hits", depths[d], (unsigned long long)s.batches,
                    (unsigned long long)s.hits);
          const ts_stage_what choice = ts_stage_choice(stage);
          CHECK(depths[d] == 0          ? choice == TS_STAGE_NOTHING
                : what != TS_STAGE_AUTO ? choice == what
                                        : choice != TS_STAGE_AUTO);
          ts_stage_destroy(stage);
        }
}

/* What took the least time in the trial is kept. */
static void auto_keeps_the_fastest(const ts_cache *data, ts_store *store, const uint32_t *tables) {
  static const ts_stage_what ways[] = {TS_STAGE_NOTHING, TS_STAGE_INPUT, TS_STAGE_LOOKUP};
  ts_err err = {message, sizeof message};
  for (uint32_t best = 0; best < 3; best++) {
    ts_stage_options o = {.depth = 2,
                          .threads = 1,
                          .held = 1,
                          .what = TS_STAGE_AUTO,
                          .batch = 100,
                          .data = data,
                          .store = store,
                          .tables = tables};
    ts_stage *stage;
    CHECK(ts_stage_create(&o, &stage, err) == TS_OK);
    ts_stage_begin(stage, 0, 100);
    for (uint64_t step = 0; step < 48; step++) {
      ts_batch *batch;
      CHECK(ts_stage_choice(stage) == TS_STAGE_AUTO);
      CHECK(ts_stage_take(stage, step, &batch, err) == TS_OK);
      ts_stage_give_back(stage, step);
      ts_stage_tell(stage, step, step / 8 % 3 == best ? 900 : 1000);
    }
    CHECK(ts_stage_choice(stage) == ways[best]);
    ts_stage_end(stage);
    ts_stage_destroy(stage);
  }
}

int main(void) {
  make_folder();
  tasks_run_once_and_in_order();
  the_longest_path_goes_first();
  impossible_graphs_are_refused();
  CHECK(run(ts_data_generate, options("out", in_folder("a.cache"), "rows", "5000", "scale", "0.001", NULL), NULL) ==
        TS_OK);
  ts_cache data;
  ts_err err = {message, sizeof message};
  CHECK(ts_cache_open(in_folder("a.cache"), &data, err) == TS_OK);
  ts_store *store = NULL;
  ts_config *config =
      options("storage", "DRAM_SSDHASH", "size", "65536,268435456", "size_counts", "rows", "path", folder, NULL);
  CHECK(ts_store_open(config, &store, message, sizeof message) == TS_OK);
  ts_config_free(config);
  uint32_t tables[TS_CATEGORIES];
  for (uint32_t c = 0; c < TS_CATEGORIES; c++) {
    char name[8];
    snprintf(name, sizeof name, "C%u", c + 1);
    config = options("name", name, NULL);
    CHECK(ts_table_create(store, config, &tables[c], message, sizeof message) == TS_OK);
    ts_config_free(config);
  }
  the_stage_gives_the_right_batches(&data, store, tables);
  auto_keeps_the_fastest(&data, store, tables);
  ts_store_close(store);
  ts_cache_close(&data);
  remove_folder();
  return test_result();
}
