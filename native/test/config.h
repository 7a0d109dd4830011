/* config.h - options of stores, tables and calls in a line: CONFIG("storage", "DRAM", "shards", "2"). */
#ifndef TS_TEST_CONFIG_H
#define TS_TEST_CONFIG_H

#include "include/tierstore.h"

#include <stdlib.h>

/* Of keys and their values, NULL behind the last. The caller frees it. */
static inline ts_config *config_of(const char *const *pairs) {
  ts_config *config = NULL;
  if (ts_config_create(&config) != TS_OK) abort();
  for (; pairs[0] != NULL; pairs += 2)
    if (ts_config_set(config, pairs[0], pairs[1], NULL, 0) != TS_OK) abort();
  return config;
}
#define CONFIG(...) config_of((const char *const[]){__VA_ARGS__, NULL})

#endif
