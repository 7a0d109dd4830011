/* Checkpoints of stores in files: a full one and deltas behind it, each written while another thread goes on with lookups, updates,
 * removals and expiry, some of them cancelled; each must come back, alone, into another storage type and number of shards, as a
 * second store was that did the same calls up to there and stopped. Then training goes on alike.
 *
 * Then OpenEmbedding's defects D1 to D3 by name, and what is refused.
 *
 * A failure prints its seed; the program runs that one alone when given it. TIERSTORE_ROUNDS in the environment: how many. */
#include "test/checkpoint_calls.h"
#include "test/foreign_threads.h"
#include "test/changing_store.h"
#include "test/store_snapshot.h"

#include <sys/stat.h>

#define ROUNDS 28u
#define LINKS 4u

static char chain[160];

static void remove_chain(void) {
  char command[256];
  snprintf(command, sizeof command, "rm -rf '%s'", chain);
  CHECK(system(command) == 0);
}

static int32_t write_checkpoint(ts_store *store, const char *kind, uint64_t *control) {
  return write_checkpoint_to(store, chain, kind, control, ERR);
}

static int32_t restore(ts_store *store, uint32_t number) {
  ts_config *config = CONFIG("path", chain);
  set_number(config, "number", number);
  const int32_t status = ts_store_restore(store, config, NULL, ERR);
  ts_config_free(config);
  return status;
}

/* ---- chains ---- */

typedef struct side {
  const world *w;
  ts_store *store;
  uint32_t link;
} side;

/* The calls between two cuts; they begin while the first is written. */
static void *between(void *argument) {
  const side *s = argument;
  for (uint32_t i = 0; i < 30; i++)
    CHECK_MSG(call(s->w, s->store, 700 + s->link, i, true) == TS_OK, "seed %llu: %s", (unsigned long long)s->w->seed, message);
  return NULL;
}

static void agree(const world *w, ts_store *want, ts_store *got, const storage_type *type, uint32_t number) {
  snapshot a, b;
  snapshot_take(want, &a);
  snapshot_take(got, &b);
  const uint64_t differ = snapshots_differ(&a, &b, "restored");
  CHECK_MSG(differ == 0, "seed %llu: %s, checkpoint %u into %s: %llu keys differ", (unsigned long long)w->seed, w->type->name, number,
            type->name, (unsigned long long)differ);
  ts_evictors_settle(got->evictors);
  CHECK(limits_hold(got) && charges_agree(got));
  snapshot_free(&a);
  snapshot_free(&b);
}

static void one_round(uint64_t seed) {
  world w = {.seed = seed, .type = &storage_types[seed % STORAGE_TYPES], .tracks = true};
  for (uint32_t t = 0; t < TABLES; t++) w.dims[t] = (uint32_t[]){1, 4, 17, 64}[any(&w, 2, t, 4)];
  ts_store *a = open_store(&w, w.type, 1u << any(&w, 3, 0, 4), seed), *b = open_store(&w, &storage_types[0], 2, seed);
  if (a == NULL || b == NULL) return;
  for (uint32_t i = 0; i < 60; i++) {
    CHECK_MSG(call(&w, a, 200, i, true) == TS_OK, "seed %llu: %s", (unsigned long long)seed, message);
    CHECK(call(&w, b, 200, i, true) == TS_OK);
  }
  for (uint32_t link = 0; link < LINKS; link++) {
    ts_checkpoint *c = NULL;
    pthread_t id;
    side s = {.w = &w, .store = a, .link = link};
    ts_config *config = CONFIG("path", chain, "kind", link == 0 ? "full" : any(&w, 30, link, 6) == 0 ? "full" : "auto");
    CHECK_MSG(ts_checkpoint_begin(a, config, &c, ERR) == TS_OK, "seed %llu: %s", (unsigned long long)seed, message);
    ts_config_free(config);
    pthread_create(&id, NULL, between, &s);
    uint64_t control[TS_CONTROL_WORDS] = {0};
    /* One that comes to nothing: its changes are the next one's. */
    const bool cancelled = any(&w, 31, link, 4) == 0;
    control[TS_CONTROL_CANCEL] = cancelled;
    const int32_t status = ts_checkpoint_write(c, control, ERR);
    CHECK_MSG(status == (cancelled ? TS_ECANCELLED : TS_OK), "seed %llu: %d %s", (unsigned long long)seed, status, message);
    CHECK(ts_checkpoint_close(c) == TS_OK);
    pthread_join(id, NULL);
    ts_evictors_settle(a->evictors);
    CHECK(limits_hold(a) && charges_agree(a));
    if (!cancelled) {
      const storage_type *type = &storage_types[any(&w, 32, link, STORAGE_TYPES)];
      ts_store *restored = open_store(&w, type, 1u << any(&w, 33, link, 4), seed + link);
      CHECK_MSG(restore(restored, 0) == TS_OK, "seed %llu: %s", (unsigned long long)seed, message);
      agree(&w, b, restored, type, link + 1);
      ts_store_close(restored);
    }
    s.store = b;
    between(&s);
  }
  /* Compaction says the same in one. */
  uint64_t before = 0;
  ts_store *one = open_store(&w, w.type, 1, seed), *other = open_store(&w, &storage_types[0], 4, seed);
  const bool some = restore(one, 0) == TS_OK;
  if (some) {
    CHECK_MSG(ts_checkpoint_compact(chain, NULL, ERR) == TS_OK, "seed %llu: %s", (unsigned long long)seed, message);
    CHECK_MSG(restore(other, 0) == TS_OK, "seed %llu: %s", (unsigned long long)seed, message);
    agree(&w, one, other, &storage_types[0], 0);
    /* And what was restored goes on. */
    for (uint32_t i = 0; i < 30; i++) {
      CHECK_MSG(call(&w, one, 900, i, true) == TS_OK, "seed %llu: %s", (unsigned long long)seed, message);
      CHECK(call(&w, other, 900, i, true) == TS_OK);
    }
    CHECK(ts_store_digest(one, &before, ERR) == TS_OK);
    agree(&w, one, other, &storage_types[0], 0);
    /* A delta to what was restored. */
    CHECK_MSG(write_checkpoint(one, "delta", NULL) == TS_OK, "seed %llu: %s", (unsigned long long)seed, message);
    ts_store *last = open_store(&w, w.type, 8, seed);
    CHECK_MSG(restore(last, 0) == TS_OK, "seed %llu: %s", (unsigned long long)seed, message);
    agree(&w, other, last, w.type, 0);
    ts_store_close(last);
  }
  ts_store_close(one);
  ts_store_close(other);
  ts_store_close(a);
  ts_store_close(b);
  remove_chain();
}

/* ---- defects of OpenEmbedding ---- */

typedef struct small {
  ts_store *store;
  uint32_t table;
} small;

static void train(const small *s, int64_t first, uint32_t n, uint32_t times) {
  int64_t keys[256];
  float gradients[256 * 4], rows[256 * 4];
  for (uint32_t i = 0; i < n; i++) keys[i] = first + i;
  for (uint32_t i = 0; i < n * 4; i++) gradients[i] = 0.25f;
  for (uint32_t i = 0; i < times; i++) {
    CHECK(ts_store_set_step(s->store, ts_step(s->store) + 1, ERR) == TS_OK);
    CHECK(ts_table_lookup(s->store, s->table, keys, n, rows, ERR) == TS_OK);
    CHECK(ts_table_update(s->store, s->table, keys, n, gradients, ERR) == TS_OK);
  }
}

static ts_store *open_tracked(const storage_type *type) {
  static const char *const sizes[] = {"", "67108864", "4194304,67108864", "4194304,600000,67108864"};
  ts_config *config = config_of_type(type, sizes[type->tiers], "all");
  ts_config_set(config, "track_changes", "1", NULL, 0);
  return open_config(config);
}

static small new_small(const storage_type *type) {
  small s = {open_tracked(type), 0};
  s.table = add_config(s.store, CONFIG("name", "t", "dim", "4", "record_version", "1", "optimizer", "adagrad"));
  return s;
}

static uint64_t rows_in(const small *s) {
  uint64_t n = 0;
  CHECK(ts_table_keys(s->store, s->table, NULL, 0, &n, ERR) == TS_OK);
  return n;
}

static uint64_t digest_of(const small *s) {
  uint64_t digest = 0;
  CHECK(ts_store_digest(s->store, &digest, ERR) == TS_OK);
  return digest;
}

static small restored_small(const storage_type *type, uint32_t number) {
  small s = {open_tracked(type), 0};
  CHECK_MSG(restore(s.store, number) == TS_OK, "%s", message);
  CHECK(ts_table_named(s.store, "t", &s.table, ERR) == TS_OK);
  return s;
}

/* D1: a restore begins a new timeline; rows of the abandoned one never come back, whatever numbers the new one uses again. */
static void d1_abandoned_rows_never_come_back(const storage_type *type) {
  small s = new_small(type);
  train(&s, 0, 64, 1);
  CHECK_MSG(write_checkpoint(s.store, "auto", NULL) == TS_OK, "%s", message);
  const uint64_t first = digest_of(&s);
  train(&s, 0, 64, 10);
  train(&s, 1000, 1, 1); /* a key that the other timeline never has */
  CHECK(write_checkpoint(s.store, "auto", NULL) == TS_OK);
  ts_store_close(s.store);
  small again = restored_small(type, 1);
  CHECK(digest_of(&again) == first && rows_in(&again) == 64);
  train(&again, 0, 1, 20);
  const uint64_t want = digest_of(&again);
  CHECK_MSG(write_checkpoint(again.store, "auto", NULL) == TS_OK, "%s", message);
  ts_store_close(again.store);
  small last = restored_small(type, 0);
  CHECK_MSG(digest_of(&last) == want && rows_in(&last) == 64, "%s", type->name);
  ts_store_close(last.store);
  /* The one that was left behind is of no use any more, and says so. */
  small lost = {open_tracked(type), 0};
  CHECK(restore(lost.store, 2) == TS_EINVAL);
  ts_store_close(lost.store);
  remove_chain();
}

/* D2, D3: every checkpoint that can be asked for has all its rows, however many others were written before and after. */
static void d2_d3_listed_checkpoints_are_whole(const storage_type *type) {
  small s = new_small(type);
  uint64_t digests[6];
  train(&s, 0, 40, 1);
  for (uint32_t i = 0; i < 6; i++) {
    train(&s, 5 * i, 10, 2); /* key 39 stays cold */
    CHECK_MSG(write_checkpoint(s.store, i % 3 == 0 ? "full" : "delta", NULL) == TS_OK, "%s", message);
    digests[i] = digest_of(&s);
  }
  ts_store_close(s.store);
  for (uint32_t i = 0; i < 6; i++) {
    small back = restored_small(type, i + 1);
    CHECK_MSG(digest_of(&back) == digests[i] && rows_in(&back) == 40, "%s: checkpoint %u", type->name, i + 1);
    ts_store_close(back.store);
  }
  small none = {open_tracked(type), 0};
  CHECK(restore(none.store, 7) == TS_EINVAL);
  ts_store_close(none.store);
  remove_chain();
}

/* ---- refusals ---- */

static void refuses(void) {
  const storage_type *type = &storage_types[0];
  small s = new_small(type);
  CHECK(restore(s.store, 0) != TS_OK); /* there is no folder */
  train(&s, 0, 10, 1);
  CHECK(write_checkpoint(s.store, "delta", NULL) == TS_EINVAL);
  CHECK_MSG(write_checkpoint(s.store, "auto", NULL) == TS_OK, "%s", message);
  /* One at a time. */
  ts_checkpoint *c = NULL, *second = NULL;
  ts_config *config = CONFIG("path", chain), *elsewhere = CONFIG("path", folder);
  CHECK(ts_checkpoint_begin(s.store, config, &c, ERR) == TS_OK);
  char other[200];
  snprintf(other, sizeof other, "%s-other", chain);
  ts_config_set(elsewhere, "path", other, NULL, 0);
  CHECK(ts_checkpoint_begin(s.store, elsewhere, &second, ERR) == TS_EINVAL && second == NULL);
  CHECK(restore(s.store, 0) == TS_EINVAL);
  CHECK(ts_checkpoint_close(c) == TS_OK); /* not written: as if it had not been */
  CHECK(restore(s.store, 0) == TS_EINVAL); /* rows are there */
  CHECK(strstr(message, "has rows") != NULL);
  ts_config_free(config);
  ts_config_free(elsewhere);
  /* Another seed, other options. */
  ts_config *seeded = CONFIG("storage", "DRAM", "seed", "7");
  ts_store *store = open_config(seeded);
  CHECK(restore(store, 0) == TS_EINVAL && strstr(message, "seed") != NULL);
  ts_store_close(store);
  store = open_config(CONFIG("storage", "DRAM"));
  add_config(store, CONFIG("name", "t", "dim", "8", "record_version", "1", "optimizer", "adagrad"));
  CHECK(restore(store, 0) == TS_EINVAL);
  CHECK_MSG(strstr(message, "\"dim\" is 8 in the store and 4 in the checkpoint") != NULL, "%s", message);
  ts_store_close(store);
  /* A delta without its own map of changes. */
  store = open_config(CONFIG("storage", "DRAM"));
  CHECK(write_checkpoint(store, "delta", NULL) == TS_EINVAL && strstr(message, "track_changes=1") != NULL);
  ts_store_close(store);
  ts_store_close(s.store);
  remove_chain();
  snprintf(other, sizeof other, "rm -rf '%s-other'", chain);
  CHECK(system(other) == 0);
}

static uint64_t data_bytes(uint32_t number) {
  char path[200];
  struct stat facts = {0};
  snprintf(path, sizeof path, "%s/%08x.ckpt", chain, number);
  CHECK_MSG(stat(path, &facts) == 0, "%s", path);
  return (uint64_t)facts.st_size;
}

/* Maps grow when a full one begins, and are of one size along a chain: also in a store that was restored, and when a full one that
 * would have begun another chain of deltas comes to nothing. So deltas stay small, and right. */
static void maps_fit_their_chain(void) {
  small s = new_small(&storage_types[0]);
  const uint32_t first = s.store->tables[0]->changes.log2;
  for (int64_t at = 0; at < 40000; at += 250) train(&s, at, 250, 1);
  CHECK_MSG(write_checkpoint(s.store, "full", NULL) == TS_OK, "%s", message);
  const uint32_t grown = s.store->tables[0]->changes.log2;
  CHECK_MSG(grown > first, "%u slots after %u, as powers of two", grown, first);
  train(&s, 0, 200, 1);
  CHECK_MSG(write_checkpoint(s.store, "delta", NULL) == TS_OK, "%s", message);
  CHECK_MSG(data_bytes(2) < data_bytes(1) / 6, "%llu bytes, all %llu", (unsigned long long)data_bytes(2), (unsigned long long)data_bytes(1));
  ts_store_close(s.store);
  small back = restored_small(&storage_types[0], 0);
  CHECK(back.store->tables[0]->changes.log2 == grown);
  train(&back, 100, 100, 1);
  CHECK_MSG(write_checkpoint(back.store, "delta", NULL) == TS_OK, "%s", message);
  CHECK_MSG(data_bytes(3) < data_bytes(1) / 6, "%llu bytes, all %llu", (unsigned long long)data_bytes(3), (unsigned long long)data_bytes(1));
  for (int64_t at = 40000; at < 150000; at += 250) train(&back, at, 250, 1);
  uint64_t control[TS_CONTROL_WORDS] = {[TS_CONTROL_CANCEL] = 1};
  CHECK(write_checkpoint(back.store, "full", control) == TS_ECANCELLED);
  CHECK(back.store->tables[0]->changes.log2 == grown && charges_agree(back.store));
  train(&back, 7, 3, 1);
  CHECK_MSG(write_checkpoint(back.store, "delta", NULL) == TS_OK, "%s", message);
  const uint64_t want = digest_of(&back);
  ts_store_close(back.store);
  small last = restored_small(&storage_types[0], 0);
  CHECK(digest_of(&last) == want && rows_in(&last) == 150000);
  ts_store_close(last.store);
  remove_chain();
}

/* What a restore has brought in is no change. */
static void a_delta_to_a_restored_store_is_small(void) {
  small s = new_small(&storage_types[0]);
  for (int64_t at = 0; at < 3000; at += 250) train(&s, at, 250, 1);
  CHECK_MSG(write_checkpoint(s.store, "full", NULL) == TS_OK, "%s", message);
  ts_store_close(s.store);
  small back = restored_small(&storage_types[0], 0);
  train(&back, 0, 3, 1);
  CHECK_MSG(write_checkpoint(back.store, "delta", NULL) == TS_OK, "%s", message);
  CHECK_MSG(data_bytes(2) < data_bytes(1) / 6, "%llu bytes, all %llu", (unsigned long long)data_bytes(2), (unsigned long long)data_bytes(1));
  ts_store_close(back.store);
  remove_chain();
}

/* Rows of the first tier are there again, but for those that the index of what went down took the memory of, and so are those that
 * changed while the checkpoint was written. */
static void hot_rows_come_back_hot(const storage_type *type) {
  small s = new_small(type);
  static int64_t keys[60000];
  static int32_t before[60000], after[60000];
  for (uint32_t i = 0; i < 60000; i++) keys[i] = i;
  for (int64_t first = 0; first < 60000; first += 240) train(&s, first, 240, 1);
  ts_evictors_settle(s.store->evictors);
  CHECK(ts_table_lookup_tier(s.store, s.table, keys, 60000, before, ERR) == TS_OK);
  ts_checkpoint *c = NULL;
  ts_config *config = CONFIG("path", chain);
  CHECK(ts_checkpoint_begin(s.store, config, &c, ERR) == TS_OK);
  ts_config_free(config);
  train(&s, 0, 240, 1); /* long gone from the first tier */
  CHECK(ts_checkpoint_write(c, NULL, ERR) == TS_OK);
  CHECK(ts_checkpoint_close(c) == TS_OK);
  ts_store_close(s.store);
  small back = restored_small(type, 0);
  ts_evictors_settle(back.store->evictors);
  CHECK(ts_table_lookup_tier(back.store, back.table, keys, 60000, after, ERR) == TS_OK);
  uint32_t hot = 0, again = 0, changed = 0;
  for (uint32_t i = 0; i < 60000; i++) {
    hot += before[i] == 0;
    again += before[i] == 0 && after[i] == 0;
    changed += i < 240 && after[i] == 0;
  }
  CHECK_MSG(hot > 5000 && hot < 55000 && again > hot / 3 * 2, "%s: %u of %u", type->name, again, hot);
  CHECK_MSG(changed > 200, "%s: %u of 240", type->name, changed);
  ts_store_close(back.store);
  remove_chain();
}

/* A tier that is too small: TS_EFULL, and a store without rows, which can be used. */
static void full_tier_leaves_nothing(void) {
  small s = new_small(&storage_types[0]);
  for (int64_t first = 0; first < 40000; first += 256) train(&s, first, 256, 1);
  CHECK_MSG(write_checkpoint(s.store, "full", NULL) == TS_OK, "%s", message);
  ts_store *tight = open_config(CONFIG("storage", "DRAM", "size", "1100000"));
  CHECK(restore(tight, 0) == TS_EFULL);
  CHECK(atomic_load(&tight->table_count) == 0 && ts_step(tight) == 0 && limits_hold(tight) && charges_agree(tight));
  small with = {tight, add_config(tight, CONFIG("name", "t", "dim", "4", "record_version", "1", "optimizer", "adagrad"))};
  CHECK(restore(tight, 0) == TS_EFULL);
  CHECK(rows_in(&with) == 0 && limits_hold(tight) && charges_agree(tight));
  train(&with, 0, 100, 3);
  CHECK(rows_in(&with) == 100);
  ts_store_close(tight);
  ts_store_close(s.store);
  remove_chain();
}

int main(int argc, char **argv) {
  const char *rounds = getenv("TIERSTORE_ROUNDS");
  if (!make_folder("checkpoint")) return 1;
  snprintf(chain, sizeof chain, "%s/chain", folder);
  if (argc > 1) {
    one_round(strtoull(argv[1], NULL, 10));
  } else {
    const uint64_t n = rounds != NULL ? strtoull(rounds, NULL, 10) : ROUNDS;
    for (uint64_t i = 0; i < n; i++) one_round(i);
    for (uint32_t i = 0; i < STORAGE_TYPES; i++) {
      d1_abandoned_rows_never_come_back(&storage_types[i]);
      d2_d3_listed_checkpoints_are_whole(&storage_types[i]);
    }
    for (uint32_t i = 0; i < STORAGE_TYPES; i++)
      if (all_tiers_of(&storage_types[i]) == 2 && storage_types[i].ssd) hot_rows_come_back_hot(&storage_types[i]);
    maps_fit_their_chain();
    a_delta_to_a_restored_store_is_small();
    refuses();
    full_tier_leaves_nothing();
  }
  remove_folder();
  return test_result();
}
