/* One definition of each policy's decisions: a store with one thread and the replay by its rules keep the same rows in the
 * first tier after every batch, whatever the policy, the stream and the length of the batches. */
#include "cache/replay_batches.h"
#include "base/zipf.h"
#include "store_types.h"

enum { ROWS = 4096, DIM = 16, UNIVERSE = 20000, STREAMS = 4 };

/* One thread makes all calls here, so the thread sanitizer has little to look for: one stream a policy, and a look at all
 * keys every tenth batch. */
#if defined(__SANITIZE_THREAD__)
#define LOOK_EVERY 10u
static bool is_for(ts_policy_kind kind, uint32_t stream) { return (uint32_t)kind % STREAMS == stream; }
#else
#define LOOK_EVERY 1u
static bool is_for(ts_policy_kind kind, uint32_t stream) {
  (void)kind;
  (void)stream;
  return true;
}
#endif

static char message[512];

static int64_t key_of(uint64_t number) { return (int64_t)ts_mix64(number + 77); }

/* Zipf, uniform, a loop longer than the cache, and a hot set that wanders; with extreme keys. */
static int64_t draw(const ts_zipf *zipf, uint32_t kind, uint64_t i) {
  const uint64_t word = ts_random64(31, kind, i), rank = ts_zipf_rank(zipf, word);
  switch (kind) {
    case 0: return rank == 5 ? INT64_MIN : rank == 6 ? INT64_MAX : rank == 7 ? 0 : key_of(rank);
    case 1: return key_of(word % UNIVERSE);
    case 2: return key_of(word % 4 == 0 ? rank : i % (ROWS + 300));
    default: return key_of((rank + i / 50) % UNIVERSE);
  }
}

typedef struct pair {
  ts_store *store;
  uint32_t table;
  ts_batches *replay;
  uint64_t rows, misses, calls;
  uint64_t every; /* batches between two looks at all keys */
} pair;

static pair open_pair(const storage_type *type, ts_policy_kind kind, uint64_t capacity) {
  pair p = {.every = LOOK_EVERY};
  char sizes[64];
  snprintf(sizes, sizeof sizes, "%llu,%u", (unsigned long long)capacity * DIM * 4, 64u << 20);
  ts_config *config = config_of_type(type, sizes, "rows");
  ts_config_set(config, "policy", ts_policy_names[kind], NULL, 0);
  ts_config_set(config, "eviction_threads", "0", NULL, 0);
  ts_config_set(config, "shards", "1", NULL, 0);
  p.store = open_config(config);
  p.table = add_config(p.store, CONFIG("name", "t", "dim", "16", "optimizer", "sgd"));
  uint64_t bytes = 0;
  CHECK(ts_table_row_bytes(p.store, p.table, &bytes, message, sizeof message) == TS_OK && bytes == DIM * 4);
  CHECK(ts_batches_create(kind, capacity, &p.replay) == TS_OK);
  return p;
}

static void close_pair(pair *p) {
  ts_store_close(p->store);
  ts_batches_destroy(p->replay);
}

/* One batch through both; every key that was ever used is in the first tier of both, or of neither. */
static bool step(pair *p, const int64_t *keys, uint32_t n, const int64_t *all, uint32_t all_count, const char *what) {
  static float rows[70000 * DIM];
  static int32_t tiers[4 * UNIVERSE];
  if (n > 70000) return false;
  CHECK_MSG(ts_table_lookup(p->store, p->table, keys, n, rows, message, sizeof message) == TS_OK, "%s: %s", what, message);
  ts_batches_run(p->replay, keys, n, &p->rows, &p->misses);
  if (++p->calls % p->every != 0) return true;
  CHECK(ts_table_lookup_tier(p->store, p->table, all, all_count, tiers, message, sizeof message) == TS_OK);
  uint32_t here = 0;
  for (uint32_t i = 0; i < all_count; i++) {
    here += tiers[i] == 0;
    if ((tiers[i] == 0) == ts_batches_has(p->replay, all[i])) continue;
    CHECK_MSG(false, "%s, batch %llu: key %lld is in tier %d of the store", what, (unsigned long long)p->calls,
              (long long)all[i], tiers[i]);
    return false;
  }
  CHECK_MSG(here <= ROWS, "%s", what);
  return true;
}

/* Every key that `draw` can give. */
static uint32_t all_keys(int64_t *all) {
  uint32_t n = 0;
  for (uint64_t i = 0; i < UNIVERSE; i++) all[n++] = key_of(i);
  all[n++] = INT64_MIN;
  all[n++] = INT64_MAX;
  all[n++] = 0;
  return n;
}

/* A curve's misses at one size, where each row counts once a batch. */
static double curve_misses(const char *policy, const int64_t *keys, uint64_t n, uint64_t batch, uint64_t capacity) {
  char number[24];
  snprintf(number, sizeof number, "%llu", (unsigned long long)batch);
  ts_config *config = CONFIG("policy", policy, "batch", number);
  double ratio = 0, facts[6] = {0};
  CHECK_MSG(ts_simulate_curve(config, keys, n, &capacity, 1, &ratio, facts, message, sizeof message) == TS_OK, "%s", message);
  ts_config_free(config);
  return ratio * facts[0];
}

static void over_records(ts_policy_kind kind, uint32_t stream, uint32_t batch, uint32_t batches, uint64_t capacity) {
  static const storage_type type = {"DRAM_SSDHASH", "DRAM_SSDHASH", NULL, NULL, 2, true};
  static int64_t all[UNIVERSE + 3], keys[70000];
  char what[96];
  snprintf(what, sizeof what, "%s, stream %u, batches of %u, %u rows", ts_policy_names[kind], stream, batch,
           (unsigned)capacity);
  ts_zipf zipf;
  CHECK(ts_zipf_create(UNIVERSE, 1.0, 0, &zipf, (ts_err){message, sizeof message}) == TS_OK);
  const uint32_t count = all_keys(all);
  pair p = open_pair(&type, kind, capacity);
  if (batch == 1) p.every = 800;
  int64_t *stream_keys = malloc((size_t)batch * batches * sizeof *stream_keys);
  CHECK(stream_keys != NULL);
  for (uint32_t b = 0; b < batches; b++) {
    for (uint32_t i = 0; i < batch; i++) keys[i] = draw(&zipf, stream, (uint64_t)b * batch + i);
    memcpy(stream_keys + (size_t)b * batch, keys, batch * sizeof *keys);
    if (!step(&p, keys, batch, all, count, what)) break;
  }
  /* The replay's hits are the store's: lookups less those that a lower tier or nobody served. */
  const uint64_t missed = counter_of(p.store, TS_STAT_tier1_hits) + counter_of(p.store, TS_STAT_created);
  CHECK_MSG(p.misses == missed, "%s: %llu misses, the store has %llu", what, (unsigned long long)p.misses,
            (unsigned long long)missed);
  CHECK_MSG(p.misses > capacity && p.misses < p.rows, "%s: %llu misses of %llu rows", what, (unsigned long long)p.misses,
            (unsigned long long)p.rows);
  /* And so are the curve's, which is told of the same lookups. Its lru counts a row in its batch where it came first, and looks at
   * what was in before the batch, which the store, where a batch is larger than the tier, does not keep to the batch's end. */
  const double of_curve = curve_misses(ts_policy_names[kind], stream_keys, (uint64_t)batch * batches, batch, capacity);
  const double apart = of_curve > (double)missed ? of_curve - (double)missed : (double)missed - of_curve;
  CHECK_MSG(apart <= (kind == TS_LRU ? (batch > capacity ? 0.1 : 0.02) * (double)missed : 0.5), "%s: %llu misses, the curve has %.1f", what,
            (unsigned long long)missed, of_curve);
  free(stream_keys);
  close_pair(&p);
  ts_zipf_free(&zipf);
}

/* Over a memory tier rows that exist come in before new ones; when all exist, there is no difference. */
static void over_memory(ts_policy_kind kind) {
  static const storage_type type = {"DRAM_PMEM", "DRAM_PMEM", "memkind", NULL, 2, false};
  static int64_t all[UNIVERSE + 3];
  int64_t keys[500];
  ts_zipf zipf;
  CHECK(ts_zipf_create(UNIVERSE, 1.0, 0, &zipf, (ts_err){message, sizeof message}) == TS_OK);
  const uint32_t count = all_keys(all);
  pair p = open_pair(&type, kind, ROWS);
  bool same = true;
  for (uint32_t at = 0; same && at < count; at += 256)
    same = step(&p, all + at, TS_MIN(count - at, 256), all, count, "over memory, filling");
  for (uint64_t b = 0; same && b < 60; b++) {
    for (uint32_t i = 0; i < 500; i++) keys[i] = draw(&zipf, 3, b * 500 + i);
    same = step(&p, keys, 500, all, count, ts_policy_names[kind]);
  }
  close_pair(&p);
  ts_zipf_free(&zipf);
}

/* Key after key, where the store is one shard of a table, one thread and no thread that evicts, its hits are those of
 * ts_cache_replay: exactly with lru, lfu, clock and sieve. What s3fifo and tinylfu remember of the departed lies in the words of
 * the places, which the store has in chunks that come one after the other: they may differ by a tenth. */
static void key_after_key(ts_policy_kind kind) {
  static const storage_type type = {"DRAM_SSDHASH", "DRAM_SSDHASH", NULL, NULL, 2, true};
  enum { N = 9000, PLACES = 900 };
  static int64_t keys[N];
  float row[DIM];
  for (uint32_t stream = 0; stream < STREAMS; stream++) {
    if (!is_for(kind, stream)) continue;
    ts_zipf zipf;
    CHECK(ts_zipf_create(UNIVERSE / 4, 0.8, 0, &zipf, (ts_err){message, sizeof message}) == TS_OK);
    pair p = open_pair(&type, kind, PLACES);
    for (uint32_t i = 0; i < N; i++) {
      keys[i] = draw(&zipf, stream == 1 ? 0 : stream, i);
      CHECK(ts_table_lookup(p.store, p.table, keys + i, 1, row, message, sizeof message) == TS_OK);
    }
    uint64_t hits = 0;
    CHECK(ts_cache_replay(ts_policy_names[kind], PLACES, keys, N, &hits, message, sizeof message) == TS_OK);
    const uint64_t got = counter_of(p.store, TS_STAT_tier0_hits);
    const uint64_t apart = got > hits ? got - hits : hits - got;
    CHECK_MSG(hits > 0 && apart <= (kind == TS_S3FIFO || kind == TS_TINYLFU ? hits / 10 : 0), "%s, stream %u: the store has %llu hits, the replay %llu", ts_policy_names[kind],
              stream, (unsigned long long)got, (unsigned long long)hits);
    close_pair(&p);
    ts_zipf_free(&zipf);
  }
}

int main(void) {
  if (!make_folder("replay")) return 1;
  for (int kind = 0; kind < TS_POLICIES; kind++) {
    for (uint32_t stream = 0; stream < STREAMS; stream++)
      if (is_for((ts_policy_kind)kind, stream)) over_records((ts_policy_kind)kind, stream, 700, 40, ROWS);
    over_records((ts_policy_kind)kind, 1, 1, 12000, ROWS);
    over_records((ts_policy_kind)kind, 0, 70000, 3, ROWS); /* more than a piece, and than the cache */
    over_memory((ts_policy_kind)kind);
    key_after_key((ts_policy_kind)kind);
    /* Smaller than what comes in together. (What s3fifo and tinylfu remember of the departed lies otherwise in tiny tiers.) */
    if (kind != TS_S3FIFO && kind != TS_TINYLFU) over_records((ts_policy_kind)kind, 0, 2000, 10, 200);
  }
  remove_folder();
  return test_result();
}
