/* emulation.c - a medium that rows are read from and written to in place (fsdax, KMEM DAX, CXL memory): the options
 * "emulate.*" and the time a batch of accesses takes there. The waiting itself is the store's: it takes the clock
 * before its real accesses and spins until the modelled time has passed. */
#include "emulation/media_model.h"

#include <stdlib.h>

struct ts_emulation {
  ts_media_model model;
};

int32_t ts_emulation_create(const ts_config *config, ts_emulation **out, ts_err err) {
  *out = NULL;
  ts_config_reader reader = ts_config_read(config, "emulation", err);
  int32_t status = TS_OK;
  if (ts_config_has(config, "emulate.medium")) {
    ts_emulation *emulation = calloc(1, sizeof *emulation);
    if (emulation == NULL) return ts_fail(err, TS_ENOMEM, "emulation: no memory for the media model");
    uint32_t all = (1u << TS_MEDIA_OPS) - 1;
    status = ts_media_model_read(&reader, "emulate", all, &emulation->model);
    if (status == TS_OK) status = ts_media_options_finish(&reader, "emulate");
    if (status != TS_OK) {
      free(emulation);
      return status;
    }
    *out = emulation;
    return TS_OK;
  }
  /* Without a medium every other option of the prefix is a mistake, not a wish for defaults. */
  return ts_media_options_finish(&reader, "emulate");
}

void ts_emulation_destroy(ts_emulation *emulation) { free(emulation); }

const char *ts_emulation_medium(const ts_emulation *emulation) {
  return emulation == NULL ? "" : emulation->model.medium;
}

uint64_t ts_emulation_cost_ns(const ts_emulation *emulation, ts_media_op op, uint32_t bytes, uint64_t count) {
  if (emulation == NULL) return 0;
  return (uint64_t)(ts_media_batch_ns(&emulation->model, op, bytes, count) + 0.5);
}
