/* emulation.c - a medium that rows are read from and written to in place (fsdax, KMEM DAX, CXL memory): the options
 * "emulate.*" and the time a batch of accesses takes there. The waiting itself is the store's: it takes the clock
 * before its real accesses and spins until the modelled time has passed. */
#include "emulation/emulation.h"

#include <stdlib.h>

/* What a tier may do to its rows. */
#define OPS (TS_MEDIA_OP_BIT(TS_MEDIA_READ) | TS_MEDIA_OP_BIT(TS_MEDIA_WRITE_NT) | TS_MEDIA_OP_BIT(TS_MEDIA_WRITE_CACHED))

struct ts_emulation {
  ts_medium medium;
};

int32_t ts_emulation_create(const ts_config *config, ts_emulation **out, ts_err err) {
  *out = NULL;
  if (config == NULL) return TS_OK;
  ts_config_reader reader = ts_config_read(config, "emulation", err);
  ts_config_ignore_others(&reader, "emulate.");
  /* Without a medium every other option of the prefix is a mistake, not a wish for defaults. */
  if (!ts_config_has(config, "emulate.medium")) return ts_config_finish(&reader);
  ts_emulation *emulation = calloc(1, sizeof *emulation);
  if (emulation == NULL) return ts_fail(err, TS_ENOMEM, "Cannot open emulation: out of memory");
  int32_t status = ts_medium_read(&reader, "emulate", OPS, &emulation->medium);
  if (status == TS_OK) status = ts_config_finish(&reader);
  if (status != TS_OK) {
    free(emulation);
    return status;
  }
  *out = emulation;
  return TS_OK;
}

void ts_emulation_destroy(ts_emulation *emulation) { free(emulation); }

const char *ts_emulation_medium(const ts_emulation *emulation) {
  return emulation == NULL ? "" : emulation->medium.name;
}

uint64_t ts_emulation_cost_ns(const ts_emulation *emulation, ts_media_op op, uint32_t bytes, uint64_t count) {
  if (emulation == NULL) return 0;
  ts_media_access access = {.op = op, .bytes = bytes, .threads = emulation->medium.threads};
  return (ts_medium_batch_ps(&emulation->medium, &access, count) + 500) / 1000;
}
