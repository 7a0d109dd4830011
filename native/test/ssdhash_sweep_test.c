/* Sweeps over the records of SSDHASH: every key that lives all the time comes, with its row or as a key to be got, whatever is put,
 * removed, compacted or damaged meanwhile; nothing that is dead comes. */
#include "base/sync_point.h"
#include "test/ssdhash_world.h"
#include "tiers/ssdhash/format.h"

#define ROW 128u
#define KEYS 6000u

static const char *const options[] = {"file_bytes=65536", "buffer_bytes=8192", "garbage_percent=20", NULL};
static uint64_t stamps[KEYS]; /* what each key holds; 0: nothing */

static void put(world *w, int64_t first, uint32_t n, uint64_t stamp) {
  CHECK_MSG(put_many(w, first, n, stamp) == TS_OK, "%s", w->message);
  for (uint32_t i = 0; i < n; i++) stamps[first + i] = stamp;
}

static void take_away(world *w, int64_t key) {
  CHECK(ops->remove(w->table, 1, &key, NULL, err_of(w)) == TS_OK);
  stamps[key] = 0;
}

static void make(world *w, const char *directory) {
  world_make(w, where(directory), "t", ROW, 1500000, 8 << 20, options);
  CHECK_MSG(world_open(w) == TS_OK, "%s", w->message);
  memset(stamps, 0, sizeof stamps);
  put(w, 0, KEYS, 1);
  for (int64_t key = 100; key < 160; key++) take_away(w, key);
  put(w, 2000, 1000, 2);
}

typedef struct seen {
  uint8_t row[KEYS], got[KEYS]; /* how often: with the row, as a key only */
  uint32_t wrong, calls;
} seen;

/* Sweeps; after the first call `meanwhile` changes things. Rows must be those of `first`, or what is there now. */
static void sweep(world *w, void (*meanwhile)(world *), seen *s) {
  ts_records_sweep *it = NULL;
  memset(s, 0, sizeof *s);
  CHECK_MSG(ops->sweeps->open(w->table, &it, err_of(w)) == TS_OK, "%s", w->message);
  static uint64_t first[KEYS];
  memcpy(first, stamps, sizeof first);
  for (uint32_t got = 1; got > 0; s->calls++) {
    int64_t keys[200];
    const unsigned char *rows[200];
    ts_record_place places[200];
    uint8_t same[200];
    bool read = false;
    CHECK_MSG(ops->sweeps->next(w->table, it, 200, keys, rows, places, &read, &got, err_of(w)) == TS_OK, "%s", w->message);
    for (uint32_t i = 0; i < got; i++) {
      unsigned char expected[ROW];
      const bool is_key = keys[i] >= 0 && keys[i] < KEYS;
      s->wrong += !is_key;
      if (!is_key) continue;
      if (read) s->row[keys[i]]++;
      else s->got[keys[i]]++;
      fill(expected, ROW, keys[i], read ? stamp_of(rows[i], ROW) : 0);
      s->wrong += read && (memcmp(expected, rows[i], ROW) != 0 ||
                           (stamp_of(rows[i], ROW) != first[keys[i]] && stamp_of(rows[i], ROW) != stamps[keys[i]]));
    }
    if (s->calls == 0 && meanwhile != NULL) meanwhile(w);
    if (read) ops->sweeps->still(w->table, got, keys, places, same);
    for (uint32_t i = 0; read && i < got; i++) s->wrong += same[i] != 0 && stamp_of(rows[i], ROW) != stamps[keys[i]];
  }
  ops->sweeps->close(w->table, it);
}

/* What lived all the time came; what is not there did not, but as what it was before. */
static uint32_t missing(const seen *s, const uint64_t *before) {
  uint32_t n = 0;
  for (uint32_t key = 0; key < KEYS; key++) n += stamps[key] != 0 && before[key] != 0 && s->row[key] + s->got[key] == 0;
  return n;
}

static void reads_nearly_all_in_order(void) {
  world w;
  seen s;
  make(&w, "order");
  sweep(&w, NULL, &s);
  uint32_t rows = 0, twice = 0, dead = 0;
  for (uint32_t key = 0; key < KEYS; key++) {
    rows += s.row[key];
    twice += s.row[key] + s.got[key] > 1;
    dead += stamps[key] == 0 && s.row[key] + s.got[key] > 0;
  }
  CHECK_MSG(s.wrong == 0 && missing(&s, stamps) == 0 && twice == 0 && dead == 0, "%u wrong, %u twice, %u dead", s.wrong, twice, dead);
  CHECK_MSG(rows > KEYS * 9 / 10, "%u rows", rows); /* the last ones are in memory: as keys */
  ts_records_counts counts;
  ops->count(w.table, &counts);
  CHECK_MSG(counts.reads < 40, "%llu reads", (unsigned long long)counts.reads);
  world_end(&w);
}

static void change_much(world *w) {
  ts_records_counts counts = {0};
  /* A third of the keys by turns, so that files are left with some rows that live: these move. */
  for (uint64_t stamp = 3; stamp < 40 && counts.compacted_rows < 500; stamp++) {
    for (int64_t key = (int64_t)(stamp % 3) * 100; key < KEYS; key += 300) put(w, key, 100, stamp);
    ops->count(w->table, &counts);
  }
  CHECK_MSG(counts.compacted_rows >= 500, "%llu rows were compacted", (unsigned long long)counts.compacted_rows);
  for (int64_t key = 200; key < 260; key++) take_away(w, key);
  CHECK(ops->flush(w->table, err_of(w)) == TS_OK);
}

static void puts_removals_and_compaction_beside_it(void) {
  world w;
  seen s;
  make(&w, "beside");
  uint64_t before[KEYS];
  memcpy(before, stamps, sizeof before);
  sweep(&w, change_much, &s);
  CHECK_MSG(s.wrong == 0 && missing(&s, before) == 0, "%u wrong, %u missing", s.wrong, missing(&s, before));
  world_end(&w);
}

typedef struct once {
  world *w;
  bool done;
} once;

static void change_once(void *context, void *value) {
  once *o = context;
  (void)value;
  if (o->done) return;
  o->done = true;
  change_much(o->w);
}

/* The same while a file is pinned and not yet read, and between the two passes. */
static void changes_where_it_reads(const char *point) {
  world w;
  seen s;
  make(&w, strrchr(point, ':') + 1);
  uint64_t before[KEYS];
  memcpy(before, stamps, sizeof before);
  once o = {.w = &w};
  ts_sync_start();
  ts_sync_call(point, change_once, &o);
  sweep(&w, NULL, &s);
  CHECK(ts_sync_stop() && o.done);
  CHECK_MSG(s.wrong == 0 && missing(&s, before) == 0, "%s: %u wrong, %u missing", point, s.wrong, missing(&s, before));
  world_end(&w);
}

/* One flipped bit: the keys of that place and behind it in its file come as keys, and getting the one is refused. */
static void a_damaged_record_is_left_to_get(void) {
  world w;
  seen s;
  char path[600];
  make(&w, "damaged");
  CHECK(ops->flush(w.table, err_of(&w)) == TS_OK);
  log_file(where("damaged"), "t", 0, path, sizeof path);
  ts_ssd_layout l;
  CHECK(ts_ssd_layout_make(ROW, 0, &l));
  flip(path, (off_t)ts_ssd_offset(&l, 7) + 40);
  sweep(&w, NULL, &s);
  CHECK_MSG(s.wrong == 0 && missing(&s, stamps) == 0, "%u wrong, %u missing", s.wrong, missing(&s, stamps));
  CHECK(s.row[6] == 1 && s.row[7] == 0 && s.got[7] == 1 && s.got[8] == 1);
  unsigned char row[ROW], *out = row;
  int64_t key = 7;
  uint8_t found;
  CHECK(ops->get(w.table, 1, &key, &out, &found, err_of(&w)) == TS_EFORMAT && strstr(w.message, path) != NULL);
  world_end(&w);
}

static void says_when_memory_is_short(void) {
  world w;
  make(&w, "short");
  ts_records_sweep *it = NULL;
  w.dram.limit = w.dram.used + 100;
  CHECK(ops->sweeps->open(w.table, &it, err_of(&w)) == TS_EFULL && it == NULL && strstr(w.message, "DRAM") != NULL);
  w.dram.limit = 8 << 20;
  world_end(&w);
}

int main(void) {
  make_root(false);
  reads_nearly_all_in_order();
  puts_removals_and_compaction_beside_it();
  changes_where_it_reads("ssd:sweep:read");
  changes_where_it_reads("ssd:sweep:rest");
  a_damaged_record_is_left_to_get();
  says_when_memory_is_short();
  remove_root();
  return test_result();
}
