/* records.c - see records.h. */
#include "tiers/records.h"

int32_t ts_records_cuts_of(const ts_records_ops *ops, const ts_records_cuts **out, ts_err err) {
  *out = ops->cuts;
  if (*out != NULL) return TS_OK;
  return ts_fail(err, TS_EUNSUPPORTED,
                 "Cannot keep checkpoints in a tier of type %s: it has none in place; use SSDHASH or PMEM_LIBPMEM, or write "
                 "checkpoints to files",
                 ops->type);
}
