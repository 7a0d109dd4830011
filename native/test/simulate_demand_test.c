/* Rows a step needs: against keys drawn one by one, limits, and Memory Mode against its published table and against a cache
 * with a tag for every line. */
#include "check.h"

#include "simulator/memory_mode_sample.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static char message[512];
static const ts_err err = {message, sizeof message};

static void the_state_machine(void) {
  ts_mm_line line = {UINT32_MAX, false};
  CHECK(ts_mm_touch(&line, 1, false) == TS_MM_CLEAN); /* nobody's: filled */
  CHECK(ts_mm_touch(&line, 1, false) == TS_MM_HIT);
  CHECK(ts_mm_touch(&line, 2, false) == TS_MM_CLEAN); /* 1 was only read */
  CHECK(ts_mm_touch(&line, 2, true) == TS_MM_HIT);
  CHECK(ts_mm_touch(&line, 1, true) == TS_MM_DIRTY); /* 2 is written back; the write allocates */
  CHECK(line.owner == 1 && line.dirty);
  CHECK(ts_mm_touch(&line, 3, false) == TS_MM_DIRTY);
  CHECK(!line.dirty);
}

static uint32_t rank_of(const ts_law *law, double at) {
  double place = at * law->total;
  uint64_t rank = 0;
  for (uint32_t b = 0; b < law->count; b++) {
    double here = (double)law->buckets[b].rows * law->buckets[b].weight;
    if (place < here) return (uint32_t)(rank + (uint64_t)(place / law->buckets[b].weight));
    place -= here;
    rank += law->buckets[b].rows;
  }
  return (uint32_t)(law->rows - 1);
}

/* Rows of 64 bytes in a cache of 4 KiB pages: every line has its tag, every step its keys, in their order. */
static double exact_read_misses(const ts_law *law, uint32_t lookups, uint32_t cache_pages, uint64_t seed) {
  uint32_t rows = (uint32_t)law->rows, lines = cache_pages * 64, steps = 6000;
  ts_mm_line *cache = malloc(lines * sizeof *cache);
  uint32_t *place = malloc(rows * sizeof *place), *last = calloc(rows, sizeof *last), *batch = malloc(lookups * sizeof *batch);
  for (uint32_t i = 0; i < lines; i++) cache[i] = (ts_mm_line){UINT32_MAX, false};
  for (uint32_t i = 0; i < rows; i++) place[i] = i;
  for (uint32_t i = rows - 1; i > 0; i--) { /* popularity says nothing about the address */
    uint32_t j = (uint32_t)(ts_random64(seed, 1, i) % (i + 1)), t = place[i];
    place[i] = place[j];
    place[j] = t;
  }
  for (uint32_t i = 0; i < rows; i++)
    place[i] = (uint32_t)(ts_random64(seed, 2, place[i] / 64) % cache_pages) * 64 + place[i] % 64;
  uint64_t misses = 0, reads = 0;
  for (uint32_t s = 1; s <= steps; s++) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < lookups; i++) {
      uint32_t row = rank_of(law, ts_unit(ts_random64(seed, 3, (uint64_t)s * lookups + i)));
      if (last[row] == s) continue;
      last[row] = s;
      batch[n++] = row;
    }
    for (uint32_t pass = 0; pass < 2; pass++)
      for (uint32_t i = 0; i < n; i++) {
        bool miss = ts_mm_touch(&cache[place[batch[i]]], batch[i], pass == 1) != TS_MM_HIT;
        if (pass == 0 && s > steps / 2) {
          reads++;
          misses += miss;
        }
      }
  }
  free(cache);
  free(place);
  free(last);
  free(batch);
  return (double)misses / (double)reads;
}

static void sampled_as_exact(void) {
  static const struct {
    double s;
    uint32_t pages;
  } cases[] = {{1.05, 100}, {0.8, 400}, {0, 200}};
  for (uint32_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    ts_law law;
    CHECK(ts_law_zipf(20000, cases[i].s, 0, NULL, 0, &law, err) == TS_OK);
    ts_demand_table table = {&law, 200, 64};
    ts_mm_options options = {.cache_bytes = cases[i].pages * 4096.0, .trains = true, .seed = 5, .samples = 100000, .threads = 1};
    double shares[2][TS_MM_RESULTS], exact = 0;
    CHECK(ts_mm_sample(&table, 1, &options, shares, err) == TS_OK);
    for (uint64_t seed = 0; seed < 3; seed++) exact += exact_read_misses(&law, 200, cases[i].pages, seed) / 3;
    double sampled = 1 - shares[0][TS_MM_HIT];
    CHECK_MSG(fabs(sampled - exact) < 0.02, "s %g, %u pages: sampled %.4f, exact %.4f", cases[i].s, cases[i].pages, sampled,
              exact);
    ts_law_free(&law);
  }
}

static void threads_change_nothing(void) {
  ts_law law;
  CHECK(ts_law_zipf(1000000000, 1.1, 100, NULL, 0, &law, err) == TS_OK);
  ts_demand_table table = {&law, 50000, 512};
  double one[2][TS_MM_RESULTS], two[2][TS_MM_RESULTS];
  ts_mm_options options = {.cache_bytes = 96e9, .trains = true, .seed = 3, .samples = 20000, .threads = 1};
  CHECK(ts_mm_sample(&table, 1, &options, one, err) == TS_OK);
  options.threads = 2;
  CHECK(ts_mm_sample(&table, 1, &options, two, err) == TS_OK);
  CHECK(memcmp(one, two, sizeof one) == 0);
  double sum = one[0][0] + one[0][1] + one[0][2];
  CHECK_MSG(fabs(sum - 1) < 1e-9, "shares add up to %.17g", sum);
  options.contiguous = true;
  options.cache_bytes = 600e9; /* everything fits, page beside page */
  CHECK(ts_mm_sample(&table, 1, &options, two, err) == TS_OK);
  CHECK(two[0][TS_MM_HIT] > 1 - 1e-9 && two[1][TS_MM_HIT] > 1 - 1e-9);
  options.trains = false;
  options.contiguous = false;
  CHECK(ts_mm_sample(&table, 1, &options, two, err) == TS_OK);
  CHECK(two[0][TS_MM_DIRTY] == 0 && two[1][0] + two[1][1] + two[1][2] == 0); /* serving writes nothing */
  ts_law_free(&law);
}

/* LRU of whole batches, replayed row by row. */
static void lru_as_replayed(void) {
  ts_law law;
  CHECK(ts_law_zipf(3000, 1.0, 5, NULL, 0, &law, err) == TS_OK);
  enum { LOOKUPS = 150, CAPACITY = 400, STEPS = 8000, ROWS = 3000 };
  static uint32_t seen[ROWS];
  double distinct = 0, late = 0;
  /* A row is in the cache if fewer than CAPACITY others came since it did: those of the steps between, and of the rows of
   * its own last step those that came after it, half of them. */
  for (uint32_t s = 1; s <= STEPS; s++) {
    uint32_t batch[LOOKUPS], n = 0;
    for (uint32_t i = 0; i < LOOKUPS; i++) {
      uint32_t row = rank_of(&law, ts_unit(ts_random64(9, 0, (uint64_t)s * LOOKUPS + i)));
      bool again = false;
      for (uint32_t j = 0; j < n; j++) again = again || batch[j] == row;
      if (!again) batch[n++] = row;
    }
    for (uint32_t i = 0; i < n && s > STEPS / 4 && s % 7 == 0; i++) {
      uint32_t newer = 0, beside = 0;
      for (uint32_t r = 0; r < ROWS; r++) {
        newer += seen[r] > seen[batch[i]];
        beside += seen[r] == seen[batch[i]];
      }
      newer += beside / 2;
      distinct++;
      if (seen[batch[i]] == 0 || newer >= CAPACITY) late++;
    }
    for (uint32_t i = 0; i < n; i++) seen[batch[i]] = s;
  }
  ts_demand_table table = {&law, LOOKUPS, 64};
  double capacity = CAPACITY * 64.0;
  ts_demand out;
  ts_demand_of(&table, 1, TS_DEMAND_LRU, &capacity, 2, &out);
  CHECK_MSG(fabs(out.in_tier[1] / out.distinct - late / distinct) < 0.01, "model %.4f, replayed %.4f",
            out.in_tier[1] / out.distinct, late / distinct);
  ts_law_free(&law);
}

static void limits(void) {
  ts_law one, many;
  CHECK(ts_law_zipf(1, 1, 0, NULL, 0, &one, err) == TS_OK);
  CHECK(ts_law_zipf(1000000000000, 1.05, 0, NULL, 0, &many, err) == TS_OK);
  ts_demand_table tables[] = {{&one, 1000, 64}, {&many, 1000, 64}};
  ts_demand out[2];
  double before = 1e300;
  for (double capacity = 0; capacity < 1e15; capacity = capacity * 8 + 64) { /* nothing fits ... everything fits */
    for (ts_demand_policy policy = TS_DEMAND_LRU; policy <= TS_DEMAND_LFU; policy++) {
      ts_demand_of(tables, 2, policy, &capacity, 2, out);
      for (uint32_t t = 0; t < 2; t++) {
        CHECK(out[t].in_tier[0] >= 0 && out[t].in_tier[1] >= 0);
        CHECK(fabs(out[t].in_tier[0] + out[t].in_tier[1] - out[t].distinct) <= out[t].distinct * 1e-9);
      }
    }
    ts_demand_of(tables, 2, TS_DEMAND_LRU, &capacity, 2, out);
    double missed = out[0].in_tier[1] + out[1].in_tier[1];
    CHECK_MSG(missed <= before + 1e-6, "more cache, more misses at %g bytes", capacity);
    before = missed;
    if (capacity == 0) CHECK(fabs(missed - out[0].distinct - out[1].distinct) < 1e-6);
  }
  CHECK(before == 0);
  CHECK(out[0].distinct > 0.999999 && out[0].distinct <= 1);
  ts_law_free(&one);
  ts_law_free(&many);
}

int main(void) {
  the_state_machine();
  sampled_as_exact();
  threads_change_nothing();
  lru_as_replayed();
  limits();
  return test_result();
}
