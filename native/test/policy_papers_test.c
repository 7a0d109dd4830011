/* s3fifo and tinylfu, which the store keeps without lists and without a sketch of all keys, against models written from
 * their papers: with lists, ghosts and a sketch as large as the papers have them. */
#include "base/zipf.h"
#include "cache/slot_map.h"
#include "test/check.h"

#include <stdlib.h>
#include <string.h>

static char message[512];

/* ---- entries in lists ---- */

enum { LISTS = 3 };

typedef struct entry {
  uint32_t newer, older;
  uint8_t list, count;
} entry;

typedef struct list {
  uint32_t newest, oldest;
  uint64_t n;
} list;

typedef struct lists {
  entry *entries;
  ts_slot_map map;
  uint32_t *spare;
  uint64_t spares;
  list of[LISTS];
} lists;

static lists new_lists(uint64_t entries) {
  lists l = {.entries = calloc(entries, sizeof(entry)), .spare = malloc(entries * sizeof(uint32_t)), .spares = entries};
  CHECK(l.entries != NULL && l.spare != NULL && ts_slot_map_init(&l.map, entries));
  for (uint64_t i = 0; i < entries; i++) l.spare[i] = (uint32_t)(entries - 1 - i);
  for (int i = 0; i < LISTS; i++) l.of[i] = (list){TS_NO_SLOT, TS_NO_SLOT, 0};
  return l;
}

static void free_lists(lists *l) {
  free(l->entries), free(l->spare);
  ts_slot_map_free(&l->map);
}

static void push(lists *l, uint32_t at, uint8_t which) {
  list *to = &l->of[which];
  entry *e = &l->entries[at];
  e->list = which, e->newer = TS_NO_SLOT, e->older = to->newest;
  *(to->newest == TS_NO_SLOT ? &to->oldest : &l->entries[to->newest].newer) = at;
  to->newest = at;
  to->n++;
}

static void take(lists *l, uint32_t at) {
  const entry *e = &l->entries[at];
  list *from = &l->of[e->list];
  *(e->newer == TS_NO_SLOT ? &from->newest : &l->entries[e->newer].older) = e->older;
  *(e->older == TS_NO_SLOT ? &from->oldest : &l->entries[e->older].newer) = e->newer;
  from->n--;
}

static void move(lists *l, uint32_t at, uint8_t to) { take(l, at), push(l, at, to); }

static void add(lists *l, int64_t key, uint8_t to) {
  uint32_t at = l->spare[--l->spares];
  l->entries[at].count = 0;
  ts_slot_map_add(&l->map, key, at);
  push(l, at, to);
}

static void drop(lists *l, uint32_t at) {
  take(l, at);
  ts_slot_map_remove(&l->map, at);
  l->spare[l->spares++] = at;
}

/* ---- the papers ---- */

/* Yang, Zhang, Qiu, Yue, Rashmi, FIFO Queues are All You Need for Cache Eviction (SOSP 2023), Algorithm 1; and as the authors'
 * own code has it, what comes while the cache fills enters main once the small queue has its tenth. */
static uint64_t model_s3fifo(uint64_t capacity, const int64_t *keys, uint64_t n) {
  enum { SMALL, MAIN, GHOST };
  bool filled = false;
  lists l = new_lists(2 * capacity + 1);
  uint64_t hits = 0;
  for (uint64_t i = 0; i < n; i++) {
    uint32_t at = ts_slot_map_find(&l.map, keys[i]);
    bool ghost = at != TS_NO_SLOT && l.entries[at].list == GHOST;
    if (at != TS_NO_SLOT && !ghost) {
      hits++;
      l.entries[at].count = (uint8_t)TS_MIN(l.entries[at].count + 1, 3);
      continue;
    }
    if (ghost) drop(&l, at);
    while (l.of[SMALL].n + l.of[MAIN].n == capacity) {
      uint32_t old = l.of[MAIN].oldest;
      if (l.of[SMALL].n * 10 >= capacity || old == TS_NO_SLOT) {
        old = l.of[SMALL].oldest;
        if (l.entries[old].count > 1) {
          l.entries[old].count = 0;
          move(&l, old, MAIN);
        } else {
          move(&l, old, GHOST);
          if (l.of[GHOST].n > capacity) drop(&l, l.of[GHOST].oldest);
        }
      } else if (l.entries[old].count > 0) {
        l.entries[old].count--;
        move(&l, old, MAIN);
      } else {
        drop(&l, old);
      }
    }
    bool fills = l.of[SMALL].n + l.of[MAIN].n < capacity && l.of[SMALL].n * 10 >= capacity;
    filled |= l.of[SMALL].n + l.of[MAIN].n + 1 == capacity;
    add(&l, keys[i], ghost || (fills && !filled) ? MAIN : SMALL);
  }
  free_lists(&l);
  return hits;
}

/* A count-min sketch of four rows of 4-bit counters, four a row of the cache in each; halved when ten times as many
 * counters were raised as the cache has rows. */
typedef struct sketch {
  uint8_t *counters[4];
  uint64_t width, raised, period;
} sketch;

static uint8_t *counter(const sketch *s, int64_t key, int row) {
  return &s->counters[row][ts_random64(11, (uint64_t)row, (uint64_t)key) % s->width];
}

static uint32_t estimate(const sketch *s, int64_t key) {
  uint32_t least = 15;
  for (int row = 0; row < 4; row++) least = TS_MIN(least, *counter(s, key, row));
  return least;
}

static void count(sketch *s, int64_t key) {
  bool any = false;
  for (int row = 0; row < 4; row++) {
    uint8_t *c = counter(s, key, row);
    if (*c < 15) any = true, ++*c;
  }
  if (!any || ++s->raised < s->period) return;
  s->raised /= 2;
  for (int row = 0; row < 4; row++)
    for (uint64_t i = 0; i < s->width; i++) s->counters[row][i] /= 2;
}

/* Einziger, Friedman, Manes, TinyLFU (ACM ToS 2017), section 4: a window of a hundredth with LRU, a main part with
 * segmented LRU (a fifth on probation), and one sketch asked about the two that would leave. */
static uint64_t model_tinylfu(uint64_t capacity, const int64_t *keys, uint64_t n) {
  enum { WINDOW, PROBATION, PROTECTED };
  lists l = new_lists(capacity + 1);
  sketch s = {.width = 4 * capacity, .period = 10 * capacity};
  for (int row = 0; row < 4; row++) CHECK((s.counters[row] = calloc(s.width, 1)) != NULL);
  uint64_t hits = 0, window = TS_MAX(capacity / 100, 1), safe = (capacity - window) * 4 / 5;
  for (uint64_t i = 0; i < n; i++) {
    count(&s, keys[i]);
    uint32_t at = ts_slot_map_find(&l.map, keys[i]);
    if (at != TS_NO_SLOT) {
      hits++;
      move(&l, at, l.entries[at].list == WINDOW ? WINDOW : PROTECTED);
      if (l.of[PROTECTED].n > safe) move(&l, l.of[PROTECTED].oldest, PROBATION);
      continue;
    }
    add(&l, keys[i], WINDOW);
    if (l.of[WINDOW].n <= window) continue;
    uint32_t newcomer = l.of[WINDOW].oldest, old = l.of[l.of[PROBATION].n > 0 ? PROBATION : PROTECTED].oldest;
    if (l.of[WINDOW].n + l.of[PROBATION].n + l.of[PROTECTED].n > capacity) {
      bool admit = estimate(&s, l.map.keys[newcomer]) > estimate(&s, l.map.keys[old]);
      drop(&l, admit ? old : newcomer);
      if (!admit) continue;
    }
    move(&l, newcomer, PROBATION);
  }
  free_lists(&l);
  for (int row = 0; row < 4; row++) free(s.counters[row]);
  return hits;
}

/* ---- streams ---- */

static uint64_t draw(uint64_t stream, uint64_t i) { return ts_random64(5, stream, i); }

static void zipf(double s, uint64_t rows, uint64_t shift, int64_t *keys, uint64_t n) {
  ts_zipf law;
  CHECK(ts_zipf_create(rows, s, 0, &law, (ts_err){message, sizeof message}) == TS_OK);
  for (uint64_t i = 0; i < n; i++)
    keys[i] = (int64_t)((ts_zipf_rank(&law, draw(1, i)) + (i < n / 2 ? 0 : shift)) % rows);
  ts_zipf_free(&law);
}

enum { ZIPF_08, ZIPF_10, ZIPF_12, SHIFT, LOOP, SCANS, DRIFT, FAST_DRIFT, RECENT, UNIFORM, STREAMS };

/* RECENT: seven of eight keys come again, after 3,000 accesses on average. */
static void make(int kind, int64_t *keys, uint64_t n) {
  if (kind <= SHIFT)
    zipf(kind == ZIPF_08 ? 0.8 : kind == ZIPF_12 ? 1.2 : 1.0, 300000, kind == SHIFT ? 150000 : 0, keys, n);
  for (uint64_t i = 0; kind > SHIFT && i < n; i++) {
    uint64_t word = draw((uint64_t)kind, i), back = 0;
    for (int j = 0; j < 3; j++) back += (word >> 16 * j & 0xffff) % 2000;
    keys[i] = (int64_t)(kind == LOOP         ? i % 33480
                        : kind == SCANS      ? (i % 20 < 10 ? word % 5000 : 1000000 + i)
                        : kind == DRIFT      ? word % 20000 + i / 40
                        : kind == FAST_DRIFT ? word % 20000 + i / 4
                        : kind == UNIFORM    ? word % 50000
                                             : i);
    if (kind == RECENT && back < i && word >> 61 != 0) keys[i] = keys[i - 1 - back];
  }
}

/* ---- */

static double replayed(const char *policy, uint64_t capacity, const int64_t *keys, uint64_t n) {
  uint64_t hits;
  int32_t status = ts_cache_replay(policy, capacity, keys, n, &hits, message, sizeof message);
  CHECK_MSG(status == TS_OK, "%s: %s", policy, message);
  return (double)hits / (double)n;
}

int main(void) {
  enum { N = 500000 };
  static int64_t keys[N];
  static const uint64_t capacities[] = {300, 3000, 25000};
  for (int kind = 0; kind < STREAMS; kind++) {
    make(kind, keys, N);
    for (uint32_t c = 0; c < sizeof capacities / sizeof *capacities; c++) {
      uint64_t capacity = capacities[c];
      double tinylfu = replayed("tinylfu", capacity, keys, N), s3fifo = replayed("s3fifo", capacity, keys, N);
      double of_paper = (double)model_tinylfu(capacity, keys, N) / N;
      if (getenv("TIERSTORE_VERBOSE") != NULL)
        printf("stream %d, %6u rows: tinylfu %.4f (%+.4f), s3fifo %.4f (%+.4f)\n", kind, (unsigned)capacity, tinylfu,
               tinylfu - of_paper, s3fifo, s3fifo - (double)model_s3fifo(capacity, keys, N) / N);
      CHECK_MSG(tinylfu > of_paper - 0.003, "tinylfu, stream %d, %u rows: %.4f, the paper's %.4f", kind,
                (unsigned)capacity, tinylfu, of_paper);
      of_paper = (double)model_s3fifo(capacity, keys, N) / N;
      CHECK_MSG(s3fifo > of_paper - 0.004, "s3fifo, stream %d, %u rows: %.4f, the paper's %.4f", kind,
                (unsigned)capacity, s3fifo, of_paper);
    }
  }
  return test_result();
}
