/* The media model's formulas by hand, its limits, and the sharing of one medium by calls and background moves. */
#include "emulation/emulation.h"
#include "include/tierstore.h"
#include "media/media.h"
#include "test/check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Loads: 100 ns, 10 lines in flight, 1 GB/s of 256-byte granules; a limit as sharp as the options allow. */
static const char *const BASE[][2] = {
    {"medium", "made-up"},           {"granule", "256"},          {"sharpness", "64"},
    {"read_latency_ns", "100"},      {"read_bandwidth", "1e9"},   {"read_next_latency_ns", "50"},
    {"write_nt_latency_ns", "80"},   {"write_nt_bandwidth", "2e9"},
    {"write_cached_latency_ns", "100"}, {"write_cached_bandwidth", "2e9"}, {"write_cached_knee", "0.001"},
};

static ts_config *config_of(const char *prefix, const char *const more[][2], size_t n) {
  ts_config *config;
  CHECK(ts_config_create(&config) == TS_OK);
  char key[96];
  for (size_t i = 0; i < sizeof BASE / sizeof *BASE; i++) {
    snprintf(key, sizeof key, "%s.%s", prefix, BASE[i][0]);
    ts_config_set(config, key, BASE[i][1], NULL, 0);
  }
  for (size_t i = 0; i < n; i++) {
    snprintf(key, sizeof key, "%s.%s", prefix, more[i][0]);
    ts_config_set(config, key, more[i][1], NULL, 0);
  }
  return config;
}

static ts_medium medium_of(const char *const more[][2], size_t n) {
  ts_config *config = config_of("m", more, n);
  char message[256] = "";
  ts_config_reader reader = ts_config_read(config, "test", (ts_err){message, sizeof message});
  ts_medium medium;
  CHECK_MSG(ts_medium_read(&reader, "m", TS_MEDIA_OP_BIT(TS_MEDIA_READ), &medium) == TS_OK, "%s", message);
  ts_config_free(config);
  return medium;
}

static bool near(double a, double b) { return fabs(a / b - 1) < 1e-3; }

static void formulas_are_the_stated_ones(void) {
  ts_medium m = medium_of(NULL, 0);
  ts_media_access a = {.op = TS_MEDIA_READ, .bytes = 128, .threads = 1};
  CHECK(near(ts_medium_bandwidth(&m, &a), 0.5e9)); /* 256 bytes move for 128 */
  CHECK(near(ts_medium_peak(&m, &a), 0.5e9));
  a.bytes = 256;
  CHECK(near(ts_medium_bandwidth(&m, &a), 1e9));
  CHECK(ts_medium_latency_ns(&m, &(ts_media_access){.bytes = 64, .threads = 1}, 0) == 100);
  CHECK(ts_medium_batch_ps(&m, &(ts_media_access){.bytes = 256, .threads = 1}, 1000) == 256000000);
  CHECK(ts_medium_batch_ps(&m, &(ts_media_access){.bytes = 256, .threads = 4}, 1000) == 1024000000);
  CHECK(ts_medium_batch_ps(&m, &a, 0) == 0);
  a.bytes = 0;
  CHECK(ts_medium_batch_ps(&m, &a, 10) == 0 && ts_medium_bandwidth(&m, &a) == 0);
  a = (ts_media_access){.op = TS_MEDIA_WRITE_CACHED, .bytes = 256, .threads = 1};
  CHECK(near(ts_medium_bandwidth(&m, &a), 0.5e9)); /* every line writes a granule: 2 GB/s / 4 */

  ts_medium fast = medium_of((const char *const[][2]){{"read_bandwidth", "1e12"}, {"hop_ns", "40"}, {"write_nt_bandwidth", "1e12"}}, 3);
  a = (ts_media_access){.op = TS_MEDIA_READ, .bytes = 256, .threads = 2};
  CHECK(near(ts_medium_bandwidth(&fast, &a), 2 * 256 / 25.0 * 1e9)); /* (100 + 3 x 50) / 10 ns */
  a.hops = 1;
  CHECK(near(ts_medium_bandwidth(&fast, &a), 2 * 256 / 41.0 * 1e9));
  a = (ts_media_access){.op = TS_MEDIA_READ, .bytes = 64, .threads = 1, .mixed = true, .read_share = 0.5};
  CHECK(near(ts_medium_bandwidth(&fast, &a), 64 / (0.5 * 10 + 0.5 * 8) * 1e9));
}

/* Directions of a link do not wait for each other; the memory behind it is one bus, and the smaller of the two counts. */
static void links_are_full_duplex(void) {
  ts_medium m = medium_of((const char *const[][2]){{"link_read", "1e9"}, {"link_write", "1e9"}, {"granule", "64"},
                                                   {"read_bandwidth", "10e9"}, {"write_nt_bandwidth", "10e9"}}, 5);
  ts_media_access a = {.op = TS_MEDIA_READ, .bytes = 64, .threads = 1, .mixed = true, .read_share = 0.5};
  CHECK(ts_medium_peak(&m, &a) > 1.9e9);
  a.read_share = 1;
  CHECK(near(ts_medium_peak(&m, &a), 1e9));
  a.read_share = 0.5;
  m.op[TS_MEDIA_READ].bandwidth = m.op[TS_MEDIA_WRITE_NT].bandwidth = 1.2;
  CHECK(near(ts_medium_peak(&m, &a), 1.2e9));
  a.devices = 2;
  CHECK(near(ts_medium_peak(&m, &a), 2.4e9));
}

static void crowds_get_in_each_others_way(void) {
  ts_medium m = medium_of((const char *const[][2]){{"read_knee", "8"}, {"modules", "6"}}, 2);
  double best = 0, last = 0;
  for (uint32_t threads = 1; threads <= 256; threads *= 2) {
    ts_media_access a = {.op = TS_MEDIA_READ, .bytes = 256, .threads = threads};
    last = ts_medium_bandwidth(&m, &a);
    best = TS_MAX(best, last);
  }
  CHECK(last < 0.5 * best && best < 6e9);
  /* One module serves one thread's 4 KiB, six serve many. */
  ts_media_access one = {.op = TS_MEDIA_READ, .bytes = 4096, .threads = 1}, small = one;
  small.bytes = 256;
  CHECK(ts_medium_bandwidth(&m, &one) < ts_medium_bandwidth(&m, &small));
}

/* However full the medium, no more waits than is in flight: 4 cores x 16 lines x 64 bytes at 1 GB/s. */
static void latency_rises_with_load_up_to_what_is_in_flight(void) {
  ts_medium m = medium_of((const char *const[][2]){{"granule", "64"}, {"load_linear", "0.3"}, {"load_queue", "0.1"},
                                                   {"load_queue_write", "0.4"}, {"cores", "4"}, {"write_nt_bandwidth", "1e9"}}, 6);
  ts_media_access a = {.op = TS_MEDIA_READ, .bytes = 64, .threads = 1}, w = a;
  w.mixed = true, w.read_share = 0.5;
  double last = 0;
  for (double u = 0; u <= 1; u += 0.125) {
    double now = ts_medium_latency_ns(&m, &a, u);
    CHECK(now > last && (u == 0 || u == 1 || ts_medium_latency_ns(&m, &w, u) > now));
    last = now;
  }
  CHECK(near(last, 4 * 16 * 64) && ts_medium_latency_ns(&m, &a, 7) == last);
  CHECK(ts_medium_latency_ns(&m, &a, 0.9999) < last && near(ts_medium_latency_ns(&m, &a, 0.1), 103.1));
  m.cores = 0.1; /* 102 bytes are in flight at most: nobody waits for anybody */
  CHECK(near(ts_medium_latency_ns(&m, &a, 1), 102.4));
}

/* A drive: 80 us a request, 1 GB/s. Requests in flight are asked for, not threads; four drives take four times as many. */
static void drives_have_queues(void) {
  ts_medium m = medium_of((const char *const[][2]){{"line", "4096"}, {"granule", "4096"}, {"queued", "1"},
                                                   {"read_latency_ns", "80000"}, {"read_jitter_ns", "10000"}}, 5);
  ts_media_access a = {.op = TS_MEDIA_READ, .bytes = 4096, .threads = 1};
  CHECK(near(ts_medium_bandwidth(&m, &a), 4096 / 80e-6));
  a.depth = 8;
  CHECK(near(ts_medium_bandwidth(&m, &a), 8 * 4096 / 80e-6) && near(ts_medium_latency_ns(&m, &a, 0), 80000));
  a.depth = 16, a.threads = 4; /* 64 requests: the drive is full, and they wait */
  CHECK(near(ts_medium_bandwidth(&m, &a), 1e9) && near(ts_medium_latency_ns(&m, &a, 0), 64 * 4096));
  a.devices = 4;
  double four = ts_medium_bandwidth(&m, &a);
  CHECK(four > 2.9e9 && four < 4e9 && ts_medium_latency_ns(&m, &a, 0) < 90000);
  a = (ts_media_access){.op = TS_MEDIA_READ, .bytes = 4096, .threads = 1, .percentile = 99};
  CHECK(near(ts_medium_latency_ns(&m, &a, 0), 70000 + 10000 * 4.60517));
  a.percentile = 50;
  CHECK(ts_medium_latency_ns(&m, &a, 0) < 80000);
}

/* A persisted access takes as long whether its latency or its bandwidth is asked. */
static void fences_let_nothing_overlap(void) {
  ts_medium m = medium_of((const char *const[][2]){{"write_nt_fence_ns", "50"}, {"write_nt_bandwidth", "1e12"}}, 2);
  for (uint32_t bytes = 64; bytes <= 4096; bytes *= 8) {
    ts_media_access a = {.op = TS_MEDIA_WRITE_NT, .bytes = bytes, .threads = 1, .fenced = true};
    CHECK(near(ts_medium_latency_ns(&m, &a, 0), 130 + 8 * (bytes / 64.0 - 1)));
    CHECK(near(1e9 / ts_medium_bandwidth(&m, &a) * bytes, ts_medium_latency_ns(&m, &a, 0)));
  }
  /* One access in flight at a time is a chain of loads. */
  ts_media_access chain = {.op = TS_MEDIA_READ, .bytes = 64, .threads = 1, .depth = 1};
  CHECK(near(64e9 / ts_medium_bandwidth(&m, &chain), ts_medium_latency_ns(&m, &chain, 0)));
}

/* What is near the modules grows with their number; stores of half a granule find the other half near, and move less. */
static void regions_know_how_many_modules_there_are(void) {
  const char *const options[][2] = {{"read_buffer1", "16384"}, {"read_buffer1_ns", "40"}, {"write_nt_combine", "16384"},
                                    {"stall_ns", "50000"}, {"stall_every", "1000"}, {"stall_region", "65536"}, {"modules", "1"}};
  ts_medium one = medium_of(options, 7), six = one;
  six.modules = 6;
  ts_media_access a = {.op = TS_MEDIA_READ, .bytes = 64, .threads = 1, .region = 98304};
  CHECK(near(ts_medium_latency_ns(&six, &a, 0), 40) && near(ts_medium_latency_ns(&one, &a, 0), 90));
  a = (ts_media_access){.op = TS_MEDIA_WRITE_NT, .bytes = 128, .threads = 1};
  CHECK(ts_medium_amplification(&one, &a) == 2);
  a.region = 32768;
  CHECK(ts_medium_amplification(&one, &a) == 1.75 && ts_medium_amplification(&six, &a) == 1);
  /* One store in a thousand stalls, in a small region; spread out, none does. */
  a.percentile = 99.95;
  CHECK(ts_medium_latency_ns(&one, &a, 0) == 50000);
  a.region = 1u << 30;
  CHECK(ts_medium_latency_ns(&one, &a, 0) < 200);
}

static void questions_are_checked(void) {
  ts_config *config = config_of("medium", NULL, 0);
  double q[TS_MEDIA_QUERY] = {2, 0, 256, 1, 0, 0, 0, -1, 0, 0, 0, 0, 1, 0}, out = 0;
  char message[256] = "";
  CHECK(ts_media_evaluate(config, q, 1, &out, message, sizeof message) == TS_OK && near(out, 1e9));
  q[1] = 3;
  CHECK(ts_media_evaluate(config, q, 1, &out, message, sizeof message) == TS_EINVAL);
  CHECK_MSG(strstr(message, "no parameters") != NULL, "%s", message);
  static const double wrong[][2] = {{0, 9}, {1, -1}, {2, 0}, {2, 1e12}, {3, 0}, {7, 1.5}, {8, -1}, {9, -1}, {2, NAN}, {11, -1}, {12, 2000}, {13, 100}};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    double bad[TS_MEDIA_QUERY] = {2, 0, 256, 1, 0, 0, 0, -1, 0, 0, 0, 0, 1, 0};
    bad[(int)wrong[i][0]] = wrong[i][1];
    CHECK_MSG(ts_media_evaluate(config, bad, 1, &out, message, sizeof message) == TS_EINVAL, "column %g", wrong[i][0]);
  }
  CHECK(ts_media_evaluate(config, NULL, 0, NULL, message, sizeof message) == TS_OK);
  ts_config_set(config, "medium.read_bandwidth", "0", NULL, 0);
  CHECK(ts_media_evaluate(config, q, 1, &out, message, sizeof message) == TS_EINVAL);
  CHECK_MSG(strstr(message, "medium.read_bandwidth") != NULL, "%s", message);
  ts_config_free(config);
}

/* A call and a background thread that both need the medium for 1 ms take 2 ms; one that needs the cores only is not slowed. */
static void moves_and_rows_share_the_medium(void) {
  ts_config *config = config_of("emulate", NULL, 0);
  ts_emulation *e = NULL;
  CHECK(ts_emulation_create(config, &e, (ts_err){0}) == TS_OK && e != NULL);
  ts_emulation_work work = {0}, moves = {0};
  uint64_t calls = ts_emulation_others(e, TS_EMULATION_CALLS), back = ts_emulation_others(e, TS_EMULATION_BACKGROUND);
  ts_emulation_add(e, TS_EMULATION_CALLS, TS_MEDIA_READ, 256, 3906, &work); /* 1 ms at 1 GB/s */
  ts_emulation_add(e, TS_EMULATION_BACKGROUND, TS_MEDIA_WRITE_NT, 256, 7812, &moves);
  CHECK(near(work.alone_ns, 1e6) && near(work.busy_ns, 1e6) && near(moves.busy_ns, 1e6));
  CHECK(ts_emulation_shared_ns(e, &work, 0) == (uint64_t)(work.alone_ns + 0.5));
  ts_emulation_done(e, TS_EMULATION_CALLS, &work);
  ts_emulation_done(e, TS_EMULATION_BACKGROUND, &moves);
  calls = ts_emulation_others(e, TS_EMULATION_CALLS) - calls;
  back = ts_emulation_others(e, TS_EMULATION_BACKGROUND) - back;
  CHECK(near((double)ts_emulation_shared_ns(e, &work, calls), 2e6));
  CHECK(near((double)ts_emulation_shared_ns(e, &moves, back), 2e6));
  ts_emulation_destroy(e);
  ts_config_set(config, "emulate.read_bandwidth", "1e11", NULL, 0);
  CHECK(ts_emulation_create(config, &e, (ts_err){0}) == TS_OK);
  work = (ts_emulation_work){0};
  ts_emulation_add(e, TS_EMULATION_CALLS, TS_MEDIA_READ, 256, 40000, &work); /* 1 ms of the cores, 0.1 ms of the medium */
  CHECK(near((double)ts_emulation_shared_ns(e, &work, 500000), 1e6));
  ts_emulation_destroy(e);
  ts_config_free(config);
}

int main(void) {
  formulas_are_the_stated_ones();
  links_are_full_duplex();
  crowds_get_in_each_others_way();
  latency_rises_with_load_up_to_what_is_in_flight();
  drives_have_queues();
  fences_let_nothing_overlap();
  regions_know_how_many_modules_there_are();
  questions_are_checked();
  moves_and_rows_share_the_medium();
  return test_result();
}
