/* check.h - the whole test framework: CHECK prints what failed and where and counts it; SKIP names what a machine does not
 * let a test do, and why, so that nothing is left out in silence; a test program returns test_result(). */
#ifndef TS_TEST_CHECK_H
#define TS_TEST_CHECK_H

#include <stdio.h>

static int test_failures;
#define TEST_MOST_LINES 40 /* of failures that are printed; the rest only counts */

#define CHECK(condition) CHECK_MSG(condition, "%s", "")
#define CHECK_MSG(condition, ...)                                                   \
  do {                                                                              \
    if (!(condition)) {                                                             \
      if (++test_failures > TEST_MOST_LINES) break;                                 \
      fprintf(stderr, "%s:%d: %s: not true: %s  ", __FILE__, __LINE__, __func__, #condition); \
      fprintf(stderr, __VA_ARGS__);                                                 \
      fputc('\n', stderr);                                                          \
    }                                                                               \
  } while (0)

static int test_skips;
static _Bool test_skipped_all;
#define TEST_EXIT_SKIPPED 77 /* nothing was tested */

/* SKIP("what", "why: %s", ...); `make check` counts these lines. SKIP_ALL: the whole program. */
#define SKIP(what, ...)            \
  do {                             \
    test_skips++;                  \
    printf("skipped: %s (", what); \
    printf(__VA_ARGS__);           \
    printf(")\n");                 \
    fflush(stdout);                \
  } while (0)
#define SKIP_ALL(what, ...)   \
  do {                        \
    SKIP(what, __VA_ARGS__);  \
    test_skipped_all = 1;     \
  } while (0)

static inline int test_result(void) {
  if (test_failures > 0) return 1;
  return test_skipped_all && test_skips > 0 ? TEST_EXIT_SKIPPED : 0;
}

#endif
