/* checkpoint_calls.h - a checkpoint begun and written in one call. */
#ifndef TS_TEST_CHECKPOINT_CALLS_H
#define TS_TEST_CHECKPOINT_CALLS_H

#include "test/check.h"
#include "test/config.h"

/* Of a kind ("full", "delta", "auto") into a folder; the status of what failed first. */
static inline int32_t write_checkpoint_to(ts_store *store, const char *path, const char *kind, uint64_t *control, char *err,
                                          uint32_t err_cap) {
  ts_checkpoint *c = NULL;
  ts_config *config = CONFIG("path", path, "kind", kind);
  int32_t status = ts_checkpoint_begin(store, config, &c, err, err_cap);
  ts_config_free(config);
  if (status == TS_OK) status = ts_checkpoint_write(c, control, err, err_cap);
  CHECK(ts_checkpoint_close(c) == TS_OK);
  return status;
}

#endif
