/* storage_type.c - every storage type in one table. The names are DeepRec's, but for PMEM_MBIND and NULL. */
#include "store/storage_type.h"

/* Stand in the table for the tiers that the options "pmem" and "hbm" name. */
static const ts_tier_ops pmem_by_option, hbm_by_option;

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
    {.name = "HBM", .memory = {&hbm_by_option}},
    {.name = "HBM_DRAM", .memory = {&hbm_by_option, &ts_dram_tier}},
    {.name = "HBM_DRAM_PMEM", .memory = {&hbm_by_option, &ts_dram_tier, &pmem_by_option}},
    {.name = "HBM_DRAM_LEVELDB", .memory = {&hbm_by_option, &ts_dram_tier}, .records = &ts_leveldb_records},
    {.name = "HBM_DRAM_SSDHASH", .memory = {&hbm_by_option, &ts_dram_tier}, .records = &ts_ssdhash_records},
    {.name = "HBM_DRAM_PMEM_LEVELDB",
     .memory = {&hbm_by_option, &ts_dram_tier, &pmem_by_option},
     .records = &ts_leveldb_records},
    {.name = "HBM_DRAM_PMEM_SSDHASH",
     .memory = {&hbm_by_option, &ts_dram_tier, &pmem_by_option},
     .records = &ts_ssdhash_records},
};
#define TYPES (sizeof types / sizeof *types)

bool ts_storage_has(const ts_storage_type *type, const ts_tier_ops *tier) {
  for (uint32_t t = 0; t < TS_STORAGE_TIERS; t++)
    if (type->memory[t] == tier) return true;
  return false;
}

void ts_storage_make_lasting(ts_storage_type *type) {
  if (type->records != NULL || type->memory[type->memory_tiers - 1] != &ts_pmem_libpmem_tier) return;
  type->memory[--type->memory_tiers] = NULL;
  type->records = &ts_pmem_records;
}

/* An option that names what holds one kind of memory. */
typedef struct holders {
  const char *option;
  const ts_tier_ops *by_option;
  const char *names[4]; /* NULL at the end */
  const ts_tier_ops *tiers[3];
} holders;

/* Puts the tier that the option names into its place. Beside a type without such a choice the option must at least name a
 * holder that there is. */
static void choose(ts_config_reader *r, const holders *h, ts_storage_type *type) {
  if (!ts_storage_has(type, h->by_option) && !ts_config_has(r->config, h->option)) return;
  const uint32_t chosen = ts_config_choice(r, h->option, NULL, h->names);
  for (uint32_t t = 0; r->status == TS_OK && t < TS_STORAGE_TIERS; t++)
    if (type->memory[t] == h->by_option) type->memory[t] = h->tiers[chosen];
}

int32_t ts_storage_type_read(ts_config_reader *r, ts_storage_type *out) {
  static const holders pmem = {"pmem", &pmem_by_option, {"libpmem", "memkind", "mbind", NULL},
                               {&ts_pmem_libpmem_tier, &ts_pmem_memkind_tier, &ts_pmem_mbind_tier}};
  static const holders hbm = {"hbm", &hbm_by_option, {"memkind", "mbind", "opencl", NULL},
                              {&ts_hbm_memkind_tier, &ts_hbm_mbind_tier, &ts_hbm_opencl_tier}};
  const char *names[TYPES + 1] = {NULL};
  for (uint32_t i = 0; i < TYPES; i++) names[i] = types[i].name;
  *out = types[ts_config_choice(r, "storage", NULL, names)];
  if (r->status != TS_OK) return r->status;
  choose(r, &pmem, out);
  choose(r, &hbm, out);
  while (out->memory_tiers < TS_STORAGE_TIERS && out->memory[out->memory_tiers] != NULL) out->memory_tiers++;
  out->dram = out->memory_tiers > 1 && out->memory[1] == &ts_dram_tier ? 1 : 0;
  return r->status;
}
