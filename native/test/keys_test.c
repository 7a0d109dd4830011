/* Keys of profiles: published shares, the same keys everywhere, lives, repeats, parents, walks, epochs, eras, bags, bad
 * input. */
#include "check.h"

#include "simulator/keys.h"
#include "test/top_share.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static char message[512];
static const ts_err err = {message, sizeof message};

typedef struct numbers {
  const double *steps, *gaps, *bags;
  uint64_t step_count, gap_count, bag_count;
} numbers;

/* Adds a table with options given as key, value, ..., NULL. */
static int32_t add(ts_keys *keys, uint32_t *table, numbers n, ...) {
  ts_config *config;
  ts_config_create(&config);
  va_list list;
  va_start(list, n);
  for (const char *key; (key = va_arg(list, const char *)) != NULL;)
    ts_config_set(config, key, va_arg(list, const char *), message, sizeof message);
  va_end(list);
  int32_t status = ts_keys_add_table(keys, config, n.steps, n.step_count, n.gaps, n.gap_count, n.bags, n.bag_count, table,
                                     message, sizeof message);
  ts_config_free(config);
  return status;
}

static ts_keys *open_keys(uint64_t seed) {
  ts_keys *keys = NULL;
  CHECK(ts_keys_create(seed, &keys, message, sizeof message) == TS_OK);
  return keys;
}

static int64_t *drawn(ts_keys *keys, uint32_t table, uint64_t first, uint64_t samples) {
  int64_t *out = malloc(samples * sizeof *out);
  uint64_t n = 0;
  CHECK_MSG(ts_keys_fill(keys, table, first, samples, out, samples, NULL, &n, message, sizeof message) == TS_OK, "%s", message);
  CHECK(n == samples);
  return out;
}

/* ts_mix64 backwards. */
static uint64_t unmix(uint64_t x) {
  x ^= x >> 31 ^ x >> 62;
  x *= 0x319642b2d24d8ec3u;
  x ^= x >> 27 ^ x >> 54;
  x *= 0x96de1b173f119089u;
  return x ^ x >> 30 ^ x >> 60;
}

/* Share of the drawn keys whose rank is below `end`, in percent. */
static double share_below(ts_keys *keys, const int64_t *key, uint64_t n, uint64_t end) {
  uint64_t inside = 0;
  for (uint64_t i = 0; i < n; i++) inside += (unmix((uint64_t)key[i]) ^ keys->tables[0].mask) < end;
  return 100.0 * (double)inside / (double)n;
}

static double distance(double a, double b) { return a > b ? a - b : b - a; }

/* OpenEmbedding (ICDE 2023), table II: shares of the hottest 0.05, 0.1 and 1 % of 2.1e9 rows, within half a point. */
static void openembedding_shares(void) {
  enum { N = 400000 };
  static const double part[] = {0.0005, 0.001, 0.01}, published[] = {85.7, 89.5, 95.7};
  ts_keys *keys = open_keys(1);
  uint32_t table;
  CHECK_MSG(add(keys, &table, (numbers){0}, "tail", "zipf", "rows", "2100000000", "s", "1.346", "q", "4300", NULL) == TS_OK,
            "%s", message);
  int64_t *key = drawn(keys, table, 0, N);
  ts_law law;
  CHECK(ts_keys_table_law(&keys->tables[0], &law, err) == TS_OK);
  for (int i = 0; i < 3; i++) {
    uint64_t end = (uint64_t)(2.1e9 * part[i]);
    double of_law = 100 * top_share(&law, end), of_keys = share_below(keys, key, N, end);
    CHECK_MSG(distance(of_law, published[i]) <= 0.5, "%g: %.3f, published %.1f", part[i], of_law, published[i]);
    CHECK_MSG(distance(of_keys, published[i]) <= 0.5, "%g: %.3f, published %.1f", part[i], of_keys, published[i]);
    CHECK_MSG(distance(of_keys, of_law) <= 0.25, "%g: %.3f, law %.3f", part[i], of_keys, of_law);
  }
  ts_law_free(&law);
  free(key);
  ts_keys_close(keys);
}

/* numpy's zipf folded by modulo into 1e6 rows: shares of the hottest 20 and 1 %, within 0.2 points. */
static void folded_shares(void) {
  enum { N = 1000000 };
  static const char *const s[] = {"1.1", "1.2"};
  static const double published[2][2] = {{76.9, 62.6}, {93.3, 85.9}};
  for (int i = 0; i < 2; i++) {
    ts_keys *keys = open_keys(3);
    uint32_t table;
    CHECK_MSG(add(keys, &table, (numbers){0}, "tail", "folded", "rows", "1000000", "s", s[i], NULL) == TS_OK, "%s", message);
    int64_t *key = drawn(keys, table, 0, N);
    ts_law law;
    CHECK(ts_keys_table_law(&keys->tables[0], &law, err) == TS_OK);
    for (int j = 0; j < 2; j++) {
      uint64_t end = j == 0 ? 200000 : 10000;
      double of_law = 100 * top_share(&law, end), of_keys = share_below(keys, key, N, end);
      CHECK_MSG(distance(of_law, published[i][j]) <= 0.2, "s %s: %.3f, published %.1f", s[i], of_law, published[i][j]);
      CHECK_MSG(distance(of_keys, of_law) <= 0.15, "s %s: %.3f, law %.3f", s[i], of_keys, of_law);
    }
    ts_law_free(&law);
    free(key);
    ts_keys_close(keys);
  }
}

/* The same keys on every machine: this figure must never change by itself. Any order and any part gives the same. */
static void keys_are_a_pure_function(void) {
  static const double steps[] = {1, 0.1, 0, 1000, 0.3, 50}, gaps[] = {0, 0.5, 0.25, 0.25}, bags[] = {0, 0.1, 1, 0.5, 7, 0.4};
  enum { N = 4000 };
  uint64_t digest = 0;
  for (int round = 0; round < 2; round++) {
    ts_keys *keys = open_keys(7);
    uint32_t a, b;
    CHECK_MSG(add(keys, &a, (numbers){steps, gaps, bags, 2, 4, 3}, "tail", "zipf", "rows", "1000000000000", "s", "1.05", "q", "2.5",
                  "repeats", "0.3", "life", "100000", NULL) == TS_OK, "%s", message);
    CHECK_MSG(add(keys, &b, (numbers){0}, "tail", "folded", "rows", "1000", "s", "1.2", "parent", "0", "parent_share", "0.5",
                  "keys", "rows", NULL) == TS_OK, "%s", message);
    for (uint32_t table = a; table <= b; table++) {
      int64_t *all = malloc(8 * N * sizeof *all), *part = malloc(8 * N * sizeof *part);
      uint64_t *offsets = malloc((N + 1) * sizeof *offsets), n, m;
      CHECK(ts_keys_fill(keys, table, 0, N, all, 8 * N, offsets, &n, message, sizeof message) == TS_OK);
      CHECK(offsets[0] == 0 && offsets[N] == n);
      for (uint64_t at = N - 1000, end = n;; at -= 1000) {
        CHECK(ts_keys_fill(keys, table, at, 1000, part, 8 * N, NULL, &m, message, sizeof message) == TS_OK);
        CHECK(offsets[at] + m == end && memcmp(part, all + offsets[at], m * sizeof *part) == 0);
        end = offsets[at];
        if (at == 0) break;
      }
      if (round == 0) digest = ts_hash_bytes(all, n * sizeof *all, digest);
      free(all);
      free(part);
      free(offsets);
    }
    ts_keys_close(keys);
  }
  CHECK_MSG(digest == UINT64_C(0x687b37453d690a66), "digest %llx", (unsigned long long)digest);
}

static int by_key(const void *a, const void *b) {
  int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

static uint64_t distinct(int64_t *key, uint64_t n) {
  qsort(key, n, sizeof *key, by_key);
  uint64_t d = n > 0;
  for (uint64_t i = 1; i < n; i++) d += key[i] != key[i - 1];
  return d;
}

static void row_numbers_are_those_of_the_table(void) {
  ts_keys *keys = open_keys(5);
  uint32_t table;
  CHECK(add(keys, &table, (numbers){0}, "tail", "zipf", "rows", "1000", "keys", "rows", NULL) == TS_OK);
  int64_t *key = drawn(keys, table, 0, 30000);
  for (int i = 0; i < 30000; i++) CHECK_MSG(key[i] >= 0 && key[i] < 1000, "%lld", (long long)key[i]);
  CHECK(distinct(key, 30000) == 1000);
  free(key);
  ts_keys_close(keys);
}

/* 100 rows that each live for 500 samples: after 50,000 samples there were 100 x 50,000 / 500 new ones. */
static void rows_are_replaced(void) {
  static const double steps[] = {100, 1, 500};
  ts_keys *keys = open_keys(5);
  uint32_t table;
  CHECK(add(keys, &table, (numbers){.steps = steps, .step_count = 1}, NULL) == TS_OK);
  int64_t *key = drawn(keys, table, 0, 50000);
  uint64_t d = distinct(key, 50000);
  /* A life holds 5 accesses on average and e^-5 of the lives none. */
  CHECK_MSG(d > 9900 && d < 10100, "%llu", (unsigned long long)d);
  free(key);
  ts_keys_close(keys);
}

/* Among 10^12 even rows nothing comes twice but repeats: share and gaps are those asked for. */
static void repeats_have_their_gaps(void) {
  static const double gaps[] = {0, 0, 0, 0, 0, 0, 0, 0.25, 0.25, 0.25, 0.25}; /* 8 to 15 samples */
  enum { N = 100000 };
  ts_keys *keys = open_keys(6);
  uint32_t table;
  CHECK(add(keys, &table, (numbers){.gaps = gaps, .gap_count = 11}, "tail", "zipf", "rows", "1000000000000", "repeats", "0.25", NULL) == TS_OK);
  int64_t *key = drawn(keys, table, 0, N);
  uint64_t repeats = 0, early = 0;
  for (uint64_t i = 16; i < N; i++) {
    bool repeat = false;
    for (uint64_t g = 1; g < 16; g++) {
      repeat = repeat || (g >= 8 && key[i] == key[i - g]);
      early += g < 8 && key[i] == key[i - g];
    }
    repeats += repeat;
  }
  CHECK_MSG(distance((double)repeats / N, 0.25) < 0.006, "%llu", (unsigned long long)repeats);
  /* Two repeats of one key may lie near each other. */
  CHECK_MSG(early < N / 20, "%llu", (unsigned long long)early);
  free(key);
  ts_keys_close(keys);
}

/* A child that takes every rank from its parent has one key for each of the parent's, and its own popularity. */
static void children_follow_parents(void) {
  enum { N = 200000 };
  static const char *const share[] = {"1", "0"};
  for (int i = 0; i < 2; i++) {
    ts_keys *keys = open_keys(8);
    uint32_t parent, child;
    CHECK(add(keys, &parent, (numbers){0}, "tail", "zipf", "rows", "10000", "s", "0.8", NULL) == TS_OK);
    CHECK(add(keys, &child, (numbers){0}, "tail", "zipf", "rows", "100", "s", "1", "parent", "0", "parent_share", share[i], NULL) == TS_OK);
    int64_t *p = drawn(keys, parent, 0, N), *c = drawn(keys, child, 0, N), *pair = malloc(N * sizeof *pair);
    for (int j = 0; j < N; j++) pair[j] = (int64_t)ts_mix64((uint64_t)p[j]) ^ c[j];
    uint64_t hottest = 0;
    for (int j = 0; j < N; j++) hottest += (unmix((uint64_t)c[j]) ^ keys->tables[1].mask) == 0;
    CHECK_MSG(distance((double)hottest / N, 0.19278) < 0.01, "%llu", (unsigned long long)hottest); /* 1 / H(100) */
    uint64_t pairs = distinct(pair, N), parents = distinct(p, N);
    CHECK_MSG(i == 0 ? pairs == parents : pairs > 4 * parents, "%llu pairs, %llu parents", (unsigned long long)pairs, (unsigned long long)parents);
    CHECK(distinct(c, N) == 100);
    free(p);
    free(c);
    free(pair);
    ts_keys_close(keys);
  }
}

static void refused(const char *with, numbers n, const char *key, const char *value) {
  ts_keys *keys = open_keys(0);
  uint32_t table;
  message[0] = '\0';
  CHECK_MSG(add(keys, &table, n, "tail", "zipf", "rows", "10", key, value, NULL) == TS_EINVAL && strstr(message, with) != NULL, "%s", message);
  ts_keys_close(keys);
}

static void bad_input_is_refused(void) {
  static const double much[] = {1, 0.7, 0, 1, 0.6, 0}, none[] = {0, 0.5, 0}, nan[] = {1, 0.0 / 0.0, 0}, empty[] = {0, 1};
  refused("add up to 1.3", (numbers){.steps = much, .step_count = 2}, "s", "1");
  refused("step 0 is 0 rows", (numbers){.steps = none, .step_count = 1}, "s", "1");
  refused("share ", (numbers){.steps = nan, .step_count = 1}, "s", "1");
  refused("parent is table 3", (numbers){0}, "parent", "3");
  refused("shares of gaps", (numbers){0}, "repeats", "0.5");
  refused("no bag holds a key", (numbers){.bags = empty, .bag_count = 1}, "s", "1");
  refused("nonsense", (numbers){0}, "nonsense", "1");
  refused("s above 1", (numbers){0}, "tail", "folded");
  ts_keys *keys = open_keys(0);
  uint32_t table;
  uint64_t n;
  CHECK(add(keys, &table, (numbers){0}, NULL) == TS_EINVAL);
  CHECK(ts_keys_fill(keys, 0, 0, 1, NULL, 0, NULL, &n, message, sizeof message) == TS_EINVAL);
  /* One row: the only key there is. */
  CHECK(add(keys, &table, (numbers){0}, "tail", "zipf", "rows", "1", NULL) == TS_OK);
  int64_t *key = drawn(keys, table, 12345, 100);
  CHECK(distinct(key, 100) == 1);
  CHECK(ts_keys_fill(keys, 0, 0, 5, key, 4, NULL, &n, message, sizeof message) == TS_ERANGE && n == 5);
  free(key);
  CHECK(add(keys, &table, (numbers){0}, "walk_rows", "10", NULL) == TS_OK);
  char walk[16];
  snprintf(walk, sizeof walk, "%u", table);
  CHECK(add(keys, &table, (numbers){0}, "tail", "zipf", "rows", "10", "parent", walk, "parent_share", "0.5", NULL) == TS_EINVAL &&
        strstr(message, "all a walk's") != NULL);
  ts_keys_close(keys);
}

/* Rows of a walk come once a pass, in one order, in shuffled blocks, in turns and evenly; numbers of rows tell which. */
static void walks_go_through_their_rows(void) {
  enum { N = 6000, ROWS = 300, LAW = 1000 };
  static const double steps[] = {LAW, 1, 0};
  static const char *const blocks[] = {"1", "25", "300"}, *const spreads[] = {"turns", "evenly"};
  for (int b = 0; b < 3; b++) {
    for (int spread = 0; spread < 2; spread++) {
      ts_keys *keys = open_keys(5);
      const uint32_t gone = spread == 0 ? 0 : 30 * 50 / 200; /* of the walk, at the beginning */
      uint32_t table, seen[ROWS] = {0}, at = gone, moved = 0, first[ROWS] = {0};
      for (uint32_t row = 0; row < gone; row++) seen[row] = b == 0, first[row] = row;
      CHECK_MSG(add(keys, &table, (numbers){.steps = steps, .step_count = 1}, "walk_rows", "300", "walk_run", "50", "walk_turn", "200",
                    "walk_start", "30", "walk_block", blocks[b], "walk_spread", spreads[spread], NULL) == TS_OK, "%s", message);
      int64_t *key = drawn(keys, table, 0, N);
      for (uint64_t i = 0; i < N; i++) {
        uint64_t id = unmix((uint64_t)key[i]) ^ keys->tables[0].mask;
        bool walks = id >= LAW;
        CHECK(id < LAW + ROWS);
        if (spread == 0) CHECK_MSG(walks == ((i + 30) % 200 >= 150), "key %llu", (unsigned long long)i);
        if (!walks) continue;
        uint32_t row = (uint32_t)id - LAW, pass = at / ROWS, place = at % ROWS;
        if (b == 0 || gone == 0) CHECK_MSG(seen[row]++ == pass, "row %u in pass %u", row, pass);
        if (pass == 0) first[row] = place;
        else moved += place != first[row];
        CHECK_MSG(b != 1 || place / 25 == first[row] / 25, "row %u left its block", row);
        at++;
      }
      CHECK_MSG(at == N / 4 + gone, "%u keys of the walk", at);
      CHECK_MSG(b == 0 ? moved == 0 : moved > 1000, "%u moved with blocks of %s", moved, blocks[b]);
      ts_law law;
      CHECK(ts_keys_table_law(&keys->tables[0], &law, err) == TS_OK);
      CHECK(law.count == 2 && distance(law.buckets[0].weight / law.total, 0.25 / ROWS) < 1e-9);
      CHECK(distance(law.buckets[1].weight / law.total, 0.75 / LAW) < 1e-9);
      ts_law_free(&law);
      free(key);
      ts_keys_close(keys);
    }
  }
}

/* Samples of an epoch come again: in order, or each in its block. */
static void epochs_come_again(void) {
  enum { EPOCH = 1000, N = 3500 };
  static const double steps[] = {100000000, 1, 0};
  static const char *const blocks[] = {"1", "100", "1000"};
  for (int b = 0; b < 3; b++) {
    ts_keys *keys = open_keys(6);
    uint32_t table;
    CHECK_MSG(add(keys, &table, (numbers){.steps = steps, .step_count = 1}, "epoch", "1000", "epoch_block", blocks[b], NULL) == TS_OK,
              "%s", message);
    int64_t *key = drawn(keys, table, 0, N);
    for (int pass = 1; pass < 3; pass++) {
      int moved = 0;
      for (int i = 0; i < EPOCH; i++) {
        int found = -1;
        for (int j = 0; j < EPOCH; j++)
          if (key[pass * EPOCH + j] == key[i]) {
            CHECK_MSG(found < 0, "sample %d comes twice", i);
            found = j;
          }
        CHECK_MSG(found >= 0, "sample %d does not come again", i);
        CHECK_MSG(b != 1 || found / 100 == i / 100, "sample %d left its block", i);
        moved += found != i;
      }
      CHECK_MSG(b == 0 ? moved == 0 : moved > EPOCH / 2, "%d moved with blocks of %s", moved, blocks[b]);
    }
    free(key);
    ts_keys_close(keys);
  }
}

/* Eras deal the ranks anew: the hottest row is another, all at once, out of so many. */
static void eras_deal_ranks_anew(void) {
  static const double steps[] = {1, 0.9, 0, 99, 0.1, 0};
  ts_keys *keys = open_keys(8);
  uint32_t table;
  CHECK_MSG(add(keys, &table, (numbers){.steps = steps, .step_count = 2}, "era", "500", "era_start", "1000", "era_rows", "200", NULL) == TS_OK, "%s", message);
  int64_t *key = drawn(keys, table, 0, 2000);
  int64_t hottest[4];
  for (int era = 0; era < 4; era++) {
    int most = 0;
    for (int i = 0; i < 20; i++) {
      int count = 0;
      for (int j = 0; j < 500; j++) count += key[era * 500 + j] == key[era * 500 + i];
      if (count > most) most = count, hottest[era] = key[era * 500 + i];
    }
    CHECK_MSG(most > 400, "the hottest row of era %d has %d of 500", era, most);
    CHECK(era == 0 || hottest[era] != hottest[era - 1]);
  }
  for (int i = 0; i < 2000; i++) CHECK((unmix((uint64_t)key[i]) ^ keys->tables[0].mask) < 200);
  free(key);
  CHECK(add(keys, &table, (numbers){.steps = steps, .step_count = 2}, "era", "500", "era_rows", "99", NULL) == TS_EINVAL);
  CHECK_MSG(strstr(message, "eras deal to 99 rows; give at least the 100") != NULL, "%s", message);
  CHECK(add(keys, &table, (numbers){.steps = steps, .step_count = 2}, "walk_rows", "5", "walk_run", "3", "walk_turn", "2", NULL) == TS_EINVAL);
  CHECK_MSG(strstr(message, "3 of 2 keys are the walk's") != NULL, "%s", message);
  ts_keys_close(keys);
}

int main(void) {
  openembedding_shares();
  folded_shares();
  keys_are_a_pure_function();
  row_numbers_are_those_of_the_table();
  rows_are_replaced();
  repeats_have_their_gaps();
  children_follow_parents();
  walks_go_through_their_rows();
  epochs_come_again();
  eras_deal_ranks_anew();
  bad_input_is_refused();
  return test_result();
}
