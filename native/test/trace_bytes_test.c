/* Keys of lines and records against plain loops, in blocks that begin and end anywhere, in memory that ends with them. */
#include "base/base.h"
#include "test/check.h"

#include <stdlib.h>
#include <string.h>

/* A plain reader of the same lines. */
static void plainly(const uint8_t *block, uint64_t bytes, int64_t *keys, uint64_t cap, uint64_t out[2]) {
  out[0] = out[1] = 0;
  for (uint64_t start = 0; out[0] < cap;) {
    uint64_t at = start, value = 0;
    while (at < bytes && block[at] >= '0' && block[at] <= '9') value = 10 * value + block[at++] - '0';
    const uint64_t digits = at - start;
    if (at < bytes && block[at] == '\r') at++;
    if (digits == 0 || digits > 18 || at >= bytes || block[at] != '\n') return;
    keys[out[0]++] = (int64_t)value;
    out[1] = start = at + 1;
  }
}

static void lines(void) {
  static const char *const odd[] = {"-5\n", "\n", "12 \n", "1a\n", "1234567890123456789\n", "\r\n", "/\n", ":\n", "\xff\n", "7\r\r\n", "+1\n", "1\0\n"};
  enum { MOST = 6000 };
  static int64_t keys[MOST], expected[MOST];
  uint64_t seen = 0;
  for (uint64_t round = 0; round < 4000; round++) {
    char text[MOST];
    uint64_t n = 0, count = ts_random64(1, round, 0) % 200, word = 1;
    for (uint64_t i = 0; i < count; i++) {
      word = ts_random64(2, round, i);
      const uint64_t digits = 1 + (round % 3 == 0 ? 2 + word % 4 : word % 18), value = ts_random64(3, round, i);
      char number[32];
      snprintf(number, sizeof number, "%020llu", (unsigned long long)value);
      n += (uint64_t)snprintf(text + n, sizeof text - n, "%s%s", number + 20 - digits, round % 2 == 0 && word % 5 == 0 ? "\r\n" : "\n");
      if (round % 4 != 0 && word % 151 == 0) {
        const uint64_t k = (word >> 20) % (sizeof odd / sizeof *odd), length = k == 11 ? 3 : strlen(odd[k]);
        memcpy(text + n, odd[k], length);
        n += length;
      }
    }
    if (round % 5 == 0 && n > 0) n -= ts_random64(4, round, 0) % TS_MIN(n, 9);
    uint8_t *block = malloc(TS_MAX(n, 1)); /* no byte more: a sanitizer sees what reads beyond */
    memcpy(block, text, n);
    const uint64_t cap = round % 7 == 0 ? word % 50 : MOST;
    for (uint64_t from = 0; from < TS_MIN(n, 3); from++) {
      uint64_t out[2], wanted[2];
      CHECK(ts_trace_lines(block + from, n - from, keys, cap, out) == TS_OK);
      plainly(block + from, n - from, expected, cap, wanted);
      CHECK_MSG(out[0] == wanted[0] && out[1] == wanted[1], "round %d: %d keys of %d bytes, expected %d of %d", (int)round, (int)out[0],
                (int)out[1], (int)wanted[0], (int)wanted[1]);
      CHECK_MSG(memcmp(keys, expected, out[0] * sizeof *keys) == 0, "round %d: another key", (int)round);
      seen += out[0];
    }
    free(block);
  }
  CHECK(seen > 100000);
  uint64_t out[2];
  CHECK(ts_trace_lines(NULL, 0, NULL, 0, out) == TS_OK && out[0] == 0 && out[1] == 0);
  CHECK(ts_trace_lines(NULL, 1, NULL, 0, out) == TS_EINVAL && ts_trace_lines(NULL, 0, NULL, 0, NULL) == TS_EINVAL);
}

/* The second of three fields; lines that are not plain, and every cut of the block. */
static void columns(void) {
  static const char good[] = "ab,17,x\n1,2,3\r\n-,123456789012345678,~\n";
  static const char *const odd[] = {"a,1\n", "a,1,2,3\n", "a,,b\n", "a,-1,b\n", ",1,b\n", "a,1,\n", "\"a\",1,b\n", "a b,1,c\n", "a, 1,b\n", "#a,1,b\n",
                                    "a,1234567890123456789,b\n", "a,1x,b\n", "\xc3\xbc,1,b\n", "a\t,1,b\n", "a,1,b\r\r\n", "a,1;b\n", "\n"};
  static const int64_t expected[] = {17, 2, 123456789012345678};
  static const uint64_t ends[] = {8, 15, sizeof good - 1};
  for (uint64_t n = 0; n < sizeof good; n++) {
    uint8_t *block = malloc(TS_MAX(n, 1));
    memcpy(block, good, n);
    int64_t keys[3];
    uint64_t out[2], whole = 0;
    while (whole < 3 && ends[whole] <= n) whole++;
    CHECK(ts_trace_column(block, n, ',', 3, 1, keys, 3, out) == TS_OK);
    CHECK_MSG(out[0] == whole && out[1] == (whole == 0 ? 0 : ends[whole - 1]), "%d bytes: %d keys", (int)n, (int)out[0]);
    CHECK(memcmp(keys, expected, whole * sizeof *keys) == 0);
    CHECK(ts_trace_column(block, n, ',', 3, 1, keys, 1, out) == TS_OK && out[0] == TS_MIN(whole, 1));
    free(block);
  }
  for (uint32_t i = 0; i < sizeof odd / sizeof *odd; i++) {
    char text[100];
    int64_t keys[9];
    uint64_t out[2];
    const int n = snprintf(text, sizeof text, "%s%s%s", good, odd[i], good);
    CHECK(ts_trace_column((const uint8_t *)text, (uint64_t)n, ',', 3, 1, keys, 9, out) == TS_OK);
    CHECK_MSG(out[0] == 3 && out[1] == sizeof good - 1, "%s: %d keys", odd[i], (int)out[0]);
  }
  uint8_t *line = malloc(70000);
  for (uint32_t length = 65530; length < 65540; length++) {
    int64_t key;
    uint64_t out[2];
    memset(line, 'x', length);
    memcpy(line + length - 3, ",5\n", 3);
    CHECK(ts_trace_column(line, length, ',', 2, 1, &key, 1, out) == TS_OK && out[0] == (length <= 65536));
  }
  free(line);
  uint64_t out[2];
  CHECK(ts_trace_column(NULL, 0, ',', 3, 3, NULL, 0, out) == TS_EINVAL && ts_trace_column(NULL, 0, 200, 3, 1, NULL, 0, out) == TS_EINVAL);
}

static void put(uint8_t *record, uint32_t time, int64_t key, int64_t next) {
  memcpy(record, &time, 4);
  memcpy(record + 4, &key, 8);
  memset(record + 12, 0xaa, 4);
  memcpy(record + 16, &next, 8);
}

static void records(void) {
  enum { N = 1000 };
  uint8_t *block = malloc(24 * N + 1) + 1;
  int64_t keys[N];
  uint64_t good;
  for (int i = 0; i < N; i++) put(block + 24 * i, 5 + (uint32_t)i / 3, -7 * (int64_t)i, i % 3 == 0 ? -1 : i % 3 == 1 ? INT64_MAX : 500 + i + 1);
  CHECK(ts_trace_records(block, N, 500, 5, keys, &good) == TS_OK && good == N);
  for (int i = 0; i < N; i++) CHECK(keys[i] == -7 * (int64_t)i);
  CHECK(ts_trace_records(block, N, 500, 6, keys, &good) == TS_OK && good == 0);
  CHECK(ts_trace_records(block, N, 503, 5, keys, &good) == TS_OK && good == 2); /* the third is followed by itself */
  put(block + 24 * 700, 6, 1, -1); /* its time falls */
  CHECK(ts_trace_records(block, N, 500, 5, keys, &good) == TS_OK && good == 700);
  put(block + 24 * 600, 205, 1, -2);
  CHECK(ts_trace_records(block, N, 500, 5, keys, &good) == TS_OK && good == 600);
  CHECK(ts_trace_records(NULL, 0, 0, 0, NULL, &good) == TS_OK && good == 0);
  CHECK(ts_trace_records(NULL, 1, 0, 0, keys, &good) == TS_EINVAL);
  free(block - 1);
}

static void numbers(void) {
  enum { N = 301 };
  uint8_t *bytes = malloc(8 * N + 1);
  int64_t keys[N];
  for (uint64_t i = 0; i < 8 * N + 1; i++) bytes[i] = (uint8_t)ts_random64(6, 1, i);
  for (uint32_t width = 1; width <= 8; width *= 2)
    for (uint32_t has_sign = 0; has_sign < 2; has_sign++)
      for (uint32_t from = 0; from < 2; from++) {
        CHECK(ts_trace_widen(bytes + from, N, width, has_sign, keys) == TS_OK);
        for (uint32_t i = 0; i < N; i++) {
          uint64_t value = 0;
          for (uint32_t k = width; k-- > 0;) value = value << 8 | bytes[from + i * width + k];
          const uint64_t top = UINT64_C(1) << (8 * width - 1);
          if (has_sign && width < 8 && (value & top) != 0) value -= 2 * top;
          CHECK_MSG(keys[i] == (int64_t)value, "%u bytes, sign %u: %lld", width, has_sign, (long long)keys[i]);
        }
      }
  CHECK(ts_trace_widen(bytes, 1, 3, 0, keys) == TS_EINVAL && ts_trace_widen(NULL, 1, 8, 0, keys) == TS_EINVAL);
  free(bytes);
}

int main(void) {
  numbers();
  lines();
  columns();
  records();
  return test_result();
}
