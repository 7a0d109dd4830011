/* check.h - the whole test framework: CHECK prints what failed and where and counts it; a test program returns
 * test_result(). */
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

static inline int test_result(void) { return test_failures == 0 ? 0 : 1; }

#endif
