/* Virtual time: tiny timelines computed by hand, explanations that add up, and that shorter work never ends later. */
#include "check.h"

#include "simulator/timeline.h"

#include <string.h>

static uint32_t task(ts_timeline *line, uint32_t kind, uint32_t pool, uint64_t work, uint32_t resource, uint64_t ps,
                     uint64_t after, uint32_t waits) {
  ts_line_spec spec = {.kind = kind, .pool = pool, .work = work, .after = after};
  if (resource != TS_NONE) spec.turn[spec.turns++] = (ts_turn){resource, ps};
  ts_timeline_wait(line, waits);
  return ts_timeline_add(line, &spec);
}

/* Two cores, a medium that takes turns:
 *   a  core 1: 0..10, medium 0..4        b  core 2: 0..10, medium 4..8
 *   c  waits for a place until 10, medium 10..30, so it ends at 30 (its own work ends at 15), and 5 later with latency
 *   d  waits for c: 35..37 */
static void by_hand(void) {
  ts_timeline line = {0};
  uint32_t cores = ts_timeline_resource(&line, 2, "cores"), medium = ts_timeline_resource(&line, 1, "medium");
  uint32_t a = task(&line, 0, cores, 10, medium, 4, 0, TS_NONE), b = task(&line, 0, cores, 10, medium, 4, 0, TS_NONE);
  uint32_t c = task(&line, 1, cores, 5, medium, 20, 5, TS_NONE), d = task(&line, 2, cores, 2, TS_NONE, 0, 0, c);
  CHECK(ts_timeline_end(&line, a) == 10);
  CHECK(ts_timeline_end(&line, b) == 10);
  CHECK(ts_timeline_end(&line, c) == 35);
  CHECK(ts_timeline_end(&line, d) == 37);
  CHECK(line.resources[medium].busy == 28);
  CHECK(line.resources[cores].busy == 10 + 10 + 20 + 2);
  uint64_t ps[3][4];
  memset(ps, 0, sizeof ps);
  CHECK(ts_timeline_explain(&line, d, 0, 4, &ps[0][0]) == TS_OK);
  CHECK(ps[2][0] == 2);          /* d's own work */
  CHECK(ps[1][3] == 5);          /* c's latency */
  CHECK(ps[1][1 + medium] == 20); /* c on the medium */
  CHECK(ps[0][0] == 10);         /* a, whose place c waited for */
  memset(ps, 0, sizeof ps);
  CHECK(ts_timeline_explain(&line, d, 33, 4, &ps[0][0]) == TS_OK);
  CHECK(ps[2][0] == 2 && ps[1][3] == 2);
  ts_timeline_free(&line);
}

/* A full medium serves in turn: the fourth of four equal tasks ends after four turns, although all have a core. */
static void turns_add_up(void) {
  ts_timeline line = {0};
  uint32_t cores = ts_timeline_resource(&line, 8, "cores"), medium = ts_timeline_resource(&line, 1, "medium");
  uint32_t last = TS_NONE;
  for (uint32_t i = 0; i < 4; i++) last = task(&line, 0, cores, 1, medium, 10, 0, TS_NONE);
  CHECK(ts_timeline_end(&line, last) == 40);
  ts_timeline_free(&line);
}

/* Random graphs: explanations are complete, and shortening any durations makes no task end later. */
static uint64_t random_graph(uint64_t seed, bool shorter, uint64_t *ends, uint32_t n) {
  ts_timeline line = {0};
  uint32_t pools[2] = {ts_timeline_resource(&line, 3, "pool"), ts_timeline_resource(&line, 1, "thread")};
  uint32_t media[2] = {ts_timeline_resource(&line, 1, "m0"), ts_timeline_resource(&line, 1, "m1")};
  for (uint32_t i = 0; i < n; i++) {
    uint64_t r = ts_random64(seed, i, 0), cut = shorter ? ts_random64(seed, i, 1) % 3 : 2;
    ts_line_spec spec = {.kind = i % 3, .pool = r % 5 == 0 ? TS_NONE : pools[r >> 8 & 1], .work = (r >> 16 & 255) * cut / 2,
                         .after = (r >> 24 & 15) * cut / 2};
    for (uint32_t m = 0; m < 2; m++)
      if (r >> (32 + m) & 1) spec.turn[spec.turns++] = (ts_turn){media[m], (r >> (36 + 8 * m) & 255) * cut / 2};
    for (uint32_t w = 0; w < 2 && i > 0; w++) ts_timeline_wait(&line, (uint32_t)(ts_random64(seed, i, 2 + w) % i));
    ends[i] = ts_timeline_end(&line, ts_timeline_add(&line, &spec));
  }
  uint64_t ps[3][8], sum = 0, latest = 0;
  uint32_t last = 0;
  for (uint32_t i = 0; i < n; i++)
    if (ends[i] > latest) {
      latest = ends[i];
      last = i;
    }
  memset(ps, 0, sizeof ps);
  CHECK(ts_timeline_explain(&line, last, latest / 3, 6, &ps[0][0]) == TS_OK);
  for (uint32_t i = 0; i < 24; i++) sum += (&ps[0][0])[i];
  CHECK_MSG(sum == latest - latest / 3, "explained %llu of %llu", (unsigned long long)sum, (unsigned long long)latest);
  ts_timeline_free(&line);
  return latest;
}

static void shorter_is_never_later(void) {
  for (uint64_t seed = 0; seed < 200; seed++) {
    uint64_t full[120], cut[120];
    random_graph(seed, false, full, 120);
    random_graph(seed, true, cut, 120);
    for (uint32_t i = 0; i < 120; i++) CHECK_MSG(cut[i] <= full[i], "seed %llu, task %u", (unsigned long long)seed, i);
  }
}

int main(void) {
  by_hand();
  turns_add_up();
  shorter_is_never_later();
  return test_result();
}
