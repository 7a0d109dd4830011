/* table_options.c - admission, expiry and what rows record: options of all tables, and of single ones instead. */
#include "wdl/options.h"

#include <stdio.h>

const char *const ts_table_options[TS_TABLE_OPTIONS] = {
    "admission",       "admission.frequency",    "admission.default_value", "admission.keys",
    "admission.error", "admission.counter_bits", "expire.steps",            "expire.l2",
    "expire.l2_form",  "expire.l2_every",        "record_frequency",       "record_version"};

/* Options that stand and fall together: a table that has one of its own has none of the general ones. */
static const struct {
  uint32_t first, count;
  const char *none; /* an option that says "none" for the whole of them */
} groups[] = {{0, 6, NULL}, {6, 4, "expire"}, {10, 1, NULL}, {11, 1, NULL}};

static const char *own_text(ts_config_reader *r, const char *table, const char *option) {
  char key[TS_TABLE_NAME_BYTES + 40];
  snprintf(key, sizeof key, "table.%s.%s", table, option);
  return ts_config_text(r, key, NULL);
}

void ts_trainer_read_table_options(ts_config_reader *r, ts_trainer_options *o) {
  static const char *const only_none[] = {"none", NULL};
  const char *general[TS_TABLE_OPTIONS];
  for (uint32_t i = 0; i < TS_TABLE_OPTIONS; i++) general[i] = ts_config_text(r, ts_table_options[i], NULL);
  for (uint32_t t = 0; t < o->tables.count; t++) {
    const char *name = o->tables.plans[t].name, **given = o->of_table[t];
    for (uint32_t g = 0; g < sizeof groups / sizeof *groups; g++) {
      bool own = false;
      if (groups[g].none != NULL) {
        char key[TS_TABLE_NAME_BYTES + 40];
        snprintf(key, sizeof key, "table.%s.%s", name, groups[g].none);
        own = ts_config_has(r->config, key);
        ts_config_choice(r, key, "none", only_none);
      }
      for (uint32_t i = groups[g].first; i < groups[g].first + groups[g].count; i++)
        own = (given[i] = own_text(r, name, ts_table_options[i])) != NULL || own;
      for (uint32_t i = groups[g].first; !own && i < groups[g].first + groups[g].count; i++) given[i] = general[i];
    }
  }
}
