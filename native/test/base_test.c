/* Options, text, deterministic functions and the thread pool. */
#include "base/base.h"
#include "base/crc32c.h"
#include "test/check.h"

#include <math.h>
#include <stdatomic.h>
#include <string.h>

static void options_are_checked(void) {
  char message[256];
  ts_err err = {message, sizeof message};
  ts_config *config;
  CHECK(ts_config_create(&config) == TS_OK);
  ts_config_set(config, "size", "1,22,333", NULL, 0);
  ts_config_set(config, "seed", "18446744073709551615", NULL, 0);
  ts_config_set(config, "rate", "0.25", NULL, 0);
  ts_config_set(config, "kind", "b", NULL, 0);
  const char *const kinds[] = {"a", "b", NULL};
  ts_config_reader r = ts_config_read(config, "thing", err);
  uint64_t sizes[2] = {0};
  CHECK(ts_config_u64_list(&r, "size", sizes, 2) == 3 && sizes[0] == 1 && sizes[1] == 22);
  CHECK(ts_config_u64(&r, "seed", 0, 0, UINT64_MAX) == UINT64_MAX);
  CHECK(ts_config_f64(&r, "rate", 0, 0, 1) == 0.25);
  CHECK(ts_config_choice(&r, "kind", NULL, kinds) == 1);
  CHECK(ts_config_finish(&r) == TS_OK);

  r = ts_config_read(config, "thing", err);
  CHECK(ts_config_finish(&r) == TS_EINVAL && strstr(message, "unknown option \"size\"") != NULL);
  r = ts_config_read(config, "thing", err);
  ts_config_u64(&r, "rate", 0, 0, 9);
  CHECK(r.status == TS_EINVAL && strstr(message, "from 0 to 9, found \"0.25\"") != NULL);
  ts_config_set(config, "kind", "c", NULL, 0);
  r = ts_config_read(config, "thing", err);
  ts_config_choice(&r, "kind", NULL, kinds);
  CHECK(r.status == TS_EINVAL && strstr(message, "unknown kind \"c\", known are a, b") != NULL);
  ts_config_set(config, "seed", "18446744073709551616", NULL, 0);
  r = ts_config_read(config, "thing", err);
  ts_config_u64(&r, "seed", 0, 0, UINT64_MAX);
  CHECK(r.status == TS_EINVAL);
  ts_config_free(config);
}

static void text_reports_what_it_needs(void) {
  char out[8];
  uint64_t needed = 0;
  CHECK(ts_status_name(TS_EFULL, out, sizeof out, &needed) == TS_ERANGE && needed == 9 && out[0] == '\0');
  char wide[16];
  CHECK(ts_status_name(TS_EFULL, wide, sizeof wide, &needed) == TS_OK && strcmp(wide, "TS_EFULL") == 0);
  CHECK(ts_status_name(7, wide, sizeof wide, &needed) == TS_EINVAL);
}

static void functions_agree_with_libm(void) {
  for (int i = -4000; i <= 4000; i++) {
    double x = i * 0.17;
    CHECK_MSG(fabs(ts_det_exp(x) - exp(x)) <= 1e-13 * exp(x), "exp(%g)", x);
    double y = ts_unit(ts_random64(1, 2, (uint64_t)(i + 4000))) * pow(10, i % 300) + 1e-300;
    CHECK_MSG(fabs(ts_det_log(y) - log(y)) <= 1e-13 * fmax(1, fabs(log(y))), "log(%g)", y);
    CHECK_MSG(fabs(ts_det_cos2pi(x) - cos(6.283185307179586477 * x)) < 1e-11, "cos2pi(%g)", x);
  }
  double sum = 0, squares = 0;
  const int n = 200000;
  for (int i = 0; i < n; i++) {
    double z = ts_det_normal(ts_random64(3, 0, (uint64_t)i), ts_random64(3, 1, (uint64_t)i));
    sum += z;
    squares += z * z;
  }
  CHECK(fabs(sum / n) < 0.01 && fabs(squares / n - 1) < 0.02);
}

typedef struct counting {
  atomic_uint hits[64];
} counting;

static void count_part(void *context, uint32_t part) { atomic_fetch_add(&((counting *)context)->hits[part], 1); }

static void pool_runs_every_part_once(void) {
  for (uint32_t threads = 1; threads <= 3; threads++) {
    ts_pool *pool;
    CHECK(ts_pool_create(threads, &pool, (ts_err){0}) == TS_OK);
    for (int round = 0; round < 2000; round++) {
      counting c = {0};
      uint32_t parts = (uint32_t)(round % 65);
      ts_pool_run(pool, parts, count_part, &c);
      for (uint32_t i = 0; i < 64; i++) CHECK(atomic_load(&c.hits[i]) == (i < parts ? 1u : 0u));
    }
    ts_pool_destroy(pool);
  }
}

/* By bits, as RFC 3720 has it. */
static uint32_t crc_by_bits(uint32_t crc, const unsigned char *p, size_t n) {
  crc = ~crc;
  for (size_t i = 0; i < n; i++) {
    crc ^= p[i];
    for (int b = 0; b < 8; b++) crc = crc & 1 ? crc >> 1 ^ 0x82f63b78u : crc >> 1;
  }
  return ~crc;
}

static void checksums_are_those_of_the_definition(void) {
  static unsigned char bytes[10000];
  CHECK(ts_crc32c(0, "123456789", 9) == 0xe3069283u); /* the check value of the catalogues */
  for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = (unsigned char)ts_mix64(i);
  for (size_t n = 0; n < sizeof bytes; n += n < 70 || (n > 1500 && n < 1560) ? 1 : 97) {
    const uint32_t begin = (uint32_t)ts_mix64(n), whole = ts_crc32c(begin, bytes + n % 8, n - n % 8);
    const size_t first = n / 3;
    CHECK_MSG(whole == crc_by_bits(begin, bytes + n % 8, n - n % 8), "%zu bytes", n);
    CHECK_MSG(ts_crc32c_join(ts_crc32c(begin, bytes, first), ts_crc32c(0, bytes + first, n - first), n - first) == ts_crc32c(begin, bytes, n),
              "%zu bytes, joined", n);
  }
}

int main(void) {
  checksums_are_those_of_the_definition();
  options_are_checked();
  text_reports_what_it_needs();
  functions_agree_with_libm();
  pool_runs_every_part_once();
  return test_result();
}
