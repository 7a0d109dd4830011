/* storage_type.h - what a storage type is made of: its tiers in order, fastest first. */
#ifndef TS_STORAGE_TYPE_H
#define TS_STORAGE_TYPE_H

#include "tiers/records.h"
#include "tiers/tier.h"

#define TS_STORAGE_TIERS 4u

typedef struct ts_storage_type {
  const char *name;
  uint32_t memory_tiers;
  uint32_t dram; /* the tier whose limit pays for what lies beside rows in DRAM: DRAM's own below HBM, else the first */
  const ts_tier_ops *memory[TS_STORAGE_TIERS];
  const ts_records_ops *records; /* NULL: none */
} ts_storage_type;

static inline uint32_t ts_storage_tiers(const ts_storage_type *type) { return type->memory_tiers + (type->records != NULL); }
/* Whether a tier of it needs a directory for its files. */
static inline bool ts_storage_in_files(const ts_storage_type *type) {
  return type->records != NULL && type->records->probe != NULL;
}
static inline const char *ts_storage_tier_type(const ts_storage_type *type, uint32_t tier) {
  return tier < type->memory_tiers ? type->memory[tier]->type : type->records->type;
}

/* Whether a tier of it is this one. */
bool ts_storage_has(const ts_storage_type *type, const ts_tier_ops *tier);
/* What it is where its last tier is to outlive the process: rows in memory of libpmem are records there, replaced out of place
 * (tiers/pmem), and the tiers above them a cache. Any other is what it was. */
void ts_storage_make_lasting(ts_storage_type *type);
/* Reads "storage", "pmem" and "hbm". Errors: TS_EINVAL. */
int32_t ts_storage_type_read(ts_config_reader *reader, ts_storage_type *out);

#endif
