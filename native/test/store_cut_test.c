/* A cut that is written while other threads go on with lookups, updates, removals, expiry: what it holds must be, to the byte, the
 * state of a second store that was stopped where the cut is; it must come back into every other storage type and number of
 * shards; and both stores must go on alike. On every storage type, with tiers so small that rows move all the time, and with all
 * that rows and keys can have: slots, scalars, bf16, frequencies, versions, expiry, admission by counter and by filter.
 *
 * A failure prints its seed; the program runs that one alone when given it. TIERSTORE_ROUNDS in the environment: how many. */
#include "test/foreign_threads.h"
#include "test/changing_store.h"
#include "test/store_snapshot.h"

#define ROUNDS 42u
#define THREADS 4u

typedef struct worker {
  const world *w;
  ts_store *store;
  uint32_t number, threads, calls;
  bool steps;
  uint64_t over; /* limits exceeded */
} worker;

static void *work(void *argument) {
  worker *k = argument;
  for (uint32_t i = 0; i < k->calls; i++) {
    (void)call_part(k->w, k->store, 500 + k->number * 3000, i, k->steps, k->number, k->threads);
    k->over += !limits_hold(k->store);
  }
  return NULL;
}

static void same_metadata(const world *w, ts_store *a, ts_store *b) {
  int64_t keys[KEYS], va[KEYS], vb[KEYS];
  uint64_t fa[KEYS], fb[KEYS], differ = 0, da = 0, db = 1;
  for (uint32_t i = 0; i < KEYS; i++) keys[i] = key_of(i);
  for (uint32_t t = 0; t < TABLES; t++) {
    CHECK(ts_table_metadata(a, t, keys, KEYS, fa, va, ERR) == TS_OK && ts_table_metadata(b, t, keys, KEYS, fb, vb, ERR) == TS_OK);
    for (uint32_t i = 0; i < KEYS; i++) differ += fa[i] != fb[i] || va[i] != vb[i];
  }
  CHECK(ts_store_digest(a, &da, ERR) == TS_OK && ts_store_digest(b, &db, ERR) == TS_OK);
  CHECK_MSG(differ == 0 && da == db, "seed %llu: %llu frequencies or versions differ", (unsigned long long)w->seed, (unsigned long long)differ);
}

static void one_round(uint64_t seed) {
  world w = {.seed = seed, .type = &storage_types[seed % STORAGE_TYPES]};
  const uint32_t threads = seed / STORAGE_TYPES % 2 == 0 ? 1 : THREADS;
  w.tracks = any(&w, 1, 0, 2) == 0;
  for (uint32_t t = 0; t < TABLES; t++) w.dims[t] = (uint32_t[]){1, 4, 17, 64}[any(&w, 2, t, 4)];
  const uint32_t shards = 1u << any(&w, 3, 0, 4);
  ts_store *a = open_store(&w, w.type, shards, seed), *b = open_store(&w, w.type, shards, seed);
  if (a == NULL || b == NULL) return;
  const uint32_t before = 60 + (uint32_t)any(&w, 4, 0, 60);
  for (uint32_t i = 0; i < before; i++) {
    CHECK_MSG(call(&w, a, 200, i, true) == TS_OK, "seed %llu: %s", (unsigned long long)seed, message);
    CHECK(call(&w, b, 200, i, true) == TS_OK);
  }
  /* Rows that have expired, but are still there, are in a cut, too: whoever restores them does not see them. */
  const bool direct = any(&w, 5, 0, 3) == 0;
  for (uint32_t t = 0; direct && t < TABLES; t++) (void)counted_rows(a, t);
  /* The cut, and everybody goes on. */
  blocks sink;
  blocks_init(&sink);
  ts_cut *cut = NULL;
  CHECK_MSG(ts_cut_begin(a, false, keep_block, &sink, &cut, (ts_err){ERR}) == TS_OK, "seed %llu: %s", (unsigned long long)seed, message);
  if (cut == NULL) return;
  const ts_cut_state state = ts_cut_state_of(cut);
  ts_cut_table_state tables[TABLES];
  for (uint32_t t = 0; t < TABLES; t++) tables[t] = ts_cut_table_state_of(cut, t);
  worker workers[THREADS];
  pthread_t ids[THREADS];
  for (uint32_t i = 0; i < threads; i++) {
    workers[i] = (worker){.w = &w, .store = a, .number = i, .threads = threads, .calls = 80, .steps = threads == 1};
    pthread_create(&ids[i], NULL, work, &workers[i]);
  }
  CHECK_MSG(ts_cut_write(cut, NULL, (ts_err){ERR}) == TS_OK, "seed %llu: %s", (unsigned long long)seed, message);
  uint64_t over = 0;
  for (uint32_t i = 0; i < threads; i++) {
    pthread_join(ids[i], NULL);
    over += workers[i].over;
  }
  ts_cut_end(cut, true);
  ts_evictors_settle(a->evictors);
  CHECK_MSG(over == 0 && limits_hold(a) && charges_agree(a), "seed %llu (%s): limits", (unsigned long long)seed, w.type->name);
  /* What it holds is what the second store is. */
  snapshot want, got = {.b = sink};
  snapshot_take(b, &want);
  if (!direct) {
    /* Into another storage type and number of shards. */
    const storage_type *other = &storage_types[any(&w, 6, 0, STORAGE_TYPES)];
    ts_store *c = open_store(&w, other, 1u << any(&w, 7, 0, 4), seed + 1);
    CHECK_MSG(snapshot_refill(&sink, &state, tables, c, (ts_err){ERR}) == TS_OK, "seed %llu: %s", (unsigned long long)seed, message);
    ts_evictors_settle(c->evictors);
    CHECK_MSG(limits_hold(c) && charges_agree(c), "seed %llu (%s): limits", (unsigned long long)seed, other->name);
    for (uint32_t round = 0; round < 2; round++) {
      snapshot again;
      snapshot_take(c, &again);
      const uint64_t differ = snapshots_differ(&want, &again, round == 0 ? "restored" : "gone on");
      CHECK_MSG(differ == 0, "seed %llu: %s with %u threads into %s: %llu keys differ (%s)", (unsigned long long)seed, w.type->name,
                threads, other->name, (unsigned long long)differ, round == 0 ? "restored" : "gone on");
      same_metadata(&w, b, c);
      snapshot_free(&again);
      snapshot_free(&want);
      if (round == 0)
        for (uint32_t i = 0; i < 40; i++) {
          CHECK(call(&w, b, 300, i, true) == TS_OK);
          CHECK_MSG(call(&w, c, 300, i, true) == TS_OK, "seed %llu: %s", (unsigned long long)seed, message);
        }
      snapshot_take(b, &want);
    }
    ts_store_close(c);
  } else {
    put_together(&got);
    const uint64_t differ = snapshots_differ(&want, &got, "in the cut");
    CHECK_MSG(differ == 0, "seed %llu: %s with %u threads: %llu keys differ", (unsigned long long)seed, w.type->name, threads,
              (unsigned long long)differ);
    free(got.keys);
  }
  snapshot_free(&want);
  blocks_free(&sink);
  ts_store_close(a);
  ts_store_close(b);
}

int main(int argc, char **argv) {
  const char *rounds = getenv("TIERSTORE_ROUNDS");
  if (!make_folder("cut")) return 1;
  if (argc > 1) {
    one_round(strtoull(argv[1], NULL, 10));
  } else {
    const uint64_t n = rounds != NULL ? strtoull(rounds, NULL, 10) : ROUNDS;
    for (uint64_t i = 0; i < n; i++) one_round(i);
  }
  remove_folder();
  return test_result();
}
