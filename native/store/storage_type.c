/* storage_type.c - see storage_type.h. The names are DeepRec's. */
#include "store/storage_type.h"

#include <string.h>

typedef enum part { PART_DRAM = 1, PART_PMEM = 2, PART_SSDHASH = 4, PART_LEVELDB = 8, PART_HBM = 16, PART_MEMKIND = 32, PART_LIBPMEM = 64 } part;

static const struct entry {
  const char *name;
  unsigned parts;
} entries[] = {
    {"DRAM", PART_DRAM},
    {"PMEM_LIBPMEM", PART_LIBPMEM},
    {"PMEM_MEMKIND", PART_MEMKIND},
    {"SSDHASH", PART_SSDHASH},
    {"LEVELDB", PART_LEVELDB},
    {"DRAM_PMEM", PART_DRAM | PART_PMEM},
    {"DRAM_SSDHASH", PART_DRAM | PART_SSDHASH},
    {"DRAM_LEVELDB", PART_DRAM | PART_LEVELDB},
    {"DRAM_PMEM_SSDHASH", PART_DRAM | PART_PMEM | PART_SSDHASH},
    {"DRAM_PMEM_LEVELDB", PART_DRAM | PART_PMEM | PART_LEVELDB},
    {"HBM", PART_HBM},
    {"HBM_DRAM", PART_HBM},
    {"HBM_DRAM_PMEM", PART_HBM},
    {"HBM_DRAM_LEVELDB", PART_HBM},
    {"HBM_DRAM_SSDHASH", PART_HBM},
    {"HBM_DRAM_PMEM_LEVELDB", PART_HBM},
    {"HBM_DRAM_PMEM_SSDHASH", PART_HBM},
};
#define ENTRIES (sizeof entries / sizeof *entries)

int32_t ts_storage_type_read(ts_config_reader *r, ts_storage_type *out) {
  static const char *const pmems[] = {"libpmem", "memkind", NULL};
  const char *names[ENTRIES + 1] = {NULL};
  for (uint32_t i = 0; i < ENTRIES; i++) names[i] = entries[i].name;
  const struct entry *e = &entries[ts_config_choice(r, "storage", NULL, names)];
  if (r->status != TS_OK) return r->status;
  if (e->parts & PART_HBM)
    return r->status = ts_fail(r->err, TS_EUNAVAILABLE,
                               "Cannot open store: storage %s needs a CUDA device; this build has no HBM tier", e->name);
  /* "pmem" beside a type without PMEM to choose must at least be one of the two. */
  uint32_t pmem = e->parts & PART_PMEM || ts_config_has(r->config, "pmem") ? ts_config_choice(r, "pmem", NULL, pmems) : 0;
  if (r->status != TS_OK) return r->status;
  *out = (ts_storage_type){.name = e->name};
  if (e->parts & PART_DRAM) out->memory[out->memory_tiers++] = &ts_dram_tier;
  if (e->parts & PART_LIBPMEM || (e->parts & PART_PMEM && pmem == 0)) out->memory[out->memory_tiers++] = &ts_pmem_libpmem_tier;
  if (e->parts & PART_MEMKIND || (e->parts & PART_PMEM && pmem == 1)) out->memory[out->memory_tiers++] = &ts_pmem_memkind_tier;
  if (e->parts & PART_SSDHASH) out->records = &ts_ssdhash_records;
  if (e->parts & PART_LEVELDB) out->records = &ts_leveldb_records;
  return TS_OK;
}
