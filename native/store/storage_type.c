/* storage_type.c - every storage type in one table. The names are DeepRec's, but for PMEM_MBIND and NULL. */
#include "store/storage_type.h"

/* Stands in the table for the PMEM tier that the option "pmem" names. */
static const ts_tier_ops pmem_by_option;

/* A type without tiers needs a CUDA device. */
static const ts_storage_type types[] = {
    {.name = "DRAM", .memory = {&ts_dram_tier}},
    {.name = "PMEM_LIBPMEM", .memory = {&ts_pmem_libpmem_tier}},
    {.name = "PMEM_MEMKIND", .memory = {&ts_pmem_memkind_tier}},
    {.name = "PMEM_MBIND", .memory = {&ts_pmem_mbind_tier}},
    {.name = "SSDHASH", .records = &ts_ssdhash_records},
    {.name = "LEVELDB", .records = &ts_leveldb_records},
    {.name = "DRAM_PMEM", .memory = {&ts_dram_tier, &pmem_by_option}},
    {.name = "DRAM_SSDHASH", .memory = {&ts_dram_tier}, .records = &ts_ssdhash_records},
    {.name = "DRAM_LEVELDB", .memory = {&ts_dram_tier}, .records = &ts_leveldb_records},
    {.name = "DRAM_PMEM_SSDHASH", .memory = {&ts_dram_tier, &pmem_by_option}, .records = &ts_ssdhash_records},
    {.name = "DRAM_PMEM_LEVELDB", .memory = {&ts_dram_tier, &pmem_by_option}, .records = &ts_leveldb_records},
    {.name = "NULL", .records = &ts_null_records},
    {.name = "HBM"},
    {.name = "HBM_DRAM"},
    {.name = "HBM_DRAM_PMEM"},
    {.name = "HBM_DRAM_LEVELDB"},
    {.name = "HBM_DRAM_SSDHASH"},
    {.name = "HBM_DRAM_PMEM_LEVELDB"},
    {.name = "HBM_DRAM_PMEM_SSDHASH"},
};
#define TYPES (sizeof types / sizeof *types)

int32_t ts_storage_type_read(ts_config_reader *r, ts_storage_type *out) {
  static const char *const pmems[] = {"libpmem", "memkind", "mbind", NULL};
  static const ts_tier_ops *const pmem_tiers[] = {&ts_pmem_libpmem_tier, &ts_pmem_memkind_tier, &ts_pmem_mbind_tier};
  const char *names[TYPES + 1] = {NULL};
  for (uint32_t i = 0; i < TYPES; i++) names[i] = types[i].name;
  *out = types[ts_config_choice(r, "storage", NULL, names)];
  if (r->status != TS_OK) return r->status;
  if (out->memory[0] == NULL && out->records == NULL)
    return r->status = ts_fail(r->err, TS_EUNAVAILABLE,
                               "Cannot open store: storage %s needs a CUDA device; this build has no HBM tier", out->name);
  /* "pmem" beside a type without PMEM to choose must at least be one that there is. */
  const bool chosen = out->memory[1] == &pmem_by_option;
  const uint32_t pmem = chosen || ts_config_has(r->config, "pmem") ? ts_config_choice(r, "pmem", NULL, pmems) : 0;
  if (r->status != TS_OK) return r->status;
  if (chosen) out->memory[1] = pmem_tiers[pmem];
  while (out->memory_tiers < TS_STORAGE_TIERS && out->memory[out->memory_tiers] != NULL) out->memory_tiers++;
  return TS_OK;
}
