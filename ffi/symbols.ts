/**
 * The functions of `native/include/tierstore.h`, one to one: the C prototype stands above each. A test parses the
 * header and compares it with this table and with the symbols that the built library exports.
 *
 * Handles travel as `u64`, so that no code here needs to read native memory and a path-scoped `--allow-ffi` is
 * enough. Texts, arrays and out-parameters are buffers. Long runs are nonblocking: they work on a thread of their own
 * and their result is a promise.
 *
 * @module
 */

/** `TS_ABI_VERSION` of the header this table was written for. */
export const ABI_VERSION = 6;

/** What `Deno.dlopen` needs to know about every function of the library. */
export const symbols = {
  // uint32_t ts_abi_version(void);
  ts_abi_version: { parameters: [], result: "u32" },
  // int32_t ts_version(char *out, uint64_t cap, uint64_t *needed);
  ts_version: { parameters: ["buffer", "u64", "buffer"], result: "i32" },
  // int32_t ts_status_name(int32_t status, char *out, uint64_t cap, uint64_t *needed);
  ts_status_name: { parameters: ["i32", "buffer", "u64", "buffer"], result: "i32" },
  // int32_t ts_config_create(ts_config **out);
  ts_config_create: { parameters: ["buffer"], result: "i32" },
  // void ts_config_free(ts_config *config);
  ts_config_free: { parameters: ["u64"], result: "void" },
  // int32_t ts_config_set(ts_config *config, const char *key, const char *value, char *err, uint32_t err_cap);
  ts_config_set: { parameters: ["u64", "buffer", "buffer", "buffer", "u32"], result: "i32" },
  // int32_t ts_store_open(const ts_config *config, ts_store **out, char *err, uint32_t err_cap);
  ts_store_open: { parameters: ["u64", "buffer", "buffer", "u32"], result: "i32" },
  // int32_t ts_store_close(ts_store *store);
  ts_store_close: { parameters: ["u64"], result: "i32" },
  // int32_t ts_table_create(ts_store *store, const ts_config *config, uint32_t *table, char *err, uint32_t err_cap);
  ts_table_create: { parameters: ["u64", "u64", "buffer", "buffer", "u32"], result: "i32" },
  // int32_t ts_table_set_learning_rate(ts_store *store, uint32_t table, double learning_rate, char *err,
  //   uint32_t err_cap);
  ts_table_set_learning_rate: { parameters: ["u64", "u32", "f64", "buffer", "u32"], result: "i32" },
  // int32_t ts_table_lookup(ts_store *store, uint32_t table, const int64_t *keys, uint64_t n, float *rows,
  //   char *err, uint32_t err_cap);
  ts_table_lookup: { parameters: ["u64", "u32", "buffer", "u64", "buffer", "buffer", "u32"], result: "i32" },
  // int32_t ts_table_find(ts_store *store, uint32_t table, const int64_t *keys, uint64_t n, uint32_t slot,
  //   float *rows, uint8_t *found, char *err, uint32_t err_cap);
  ts_table_find: {
    parameters: ["u64", "u32", "buffer", "u64", "u32", "buffer", "buffer", "buffer", "u32"],
    result: "i32",
  },
  // int32_t ts_table_update(ts_store *store, uint32_t table, const int64_t *keys, uint64_t n,
  //   const float *gradients, char *err, uint32_t err_cap);
  ts_table_update: { parameters: ["u64", "u32", "buffer", "u64", "buffer", "buffer", "u32"], result: "i32" },
  // int32_t ts_table_lookup_bags(ts_store *store, uint32_t table, const int64_t *keys, const uint64_t *offsets,
  //   uint64_t bags, const float *weights, uint32_t combiner, float max_norm, float *out, char *err,
  //   uint32_t err_cap);
  ts_table_lookup_bags: {
    parameters: ["u64", "u32", "buffer", "buffer", "u64", "buffer", "u32", "f32", "buffer", "buffer", "u32"],
    result: "i32",
  },
  // int32_t ts_table_update_bags(ts_store *store, uint32_t table, const int64_t *keys, const uint64_t *offsets,
  //   uint64_t bags, const float *weights, uint32_t combiner, const float *gradients, char *err, uint32_t err_cap);
  ts_table_update_bags: {
    parameters: ["u64", "u32", "buffer", "buffer", "u64", "buffer", "u32", "buffer", "buffer", "u32"],
    result: "i32",
  },
  // int32_t ts_table_remove(ts_store *store, uint32_t table, const int64_t *keys, uint64_t n, uint64_t *removed,
  //   char *err, uint32_t err_cap);
  ts_table_remove: { parameters: ["u64", "u32", "buffer", "u64", "buffer", "buffer", "u32"], result: "i32" },
  // int32_t ts_store_set_step(ts_store *store, int64_t step, char *err, uint32_t err_cap);
  ts_store_set_step: { parameters: ["u64", "i64", "buffer", "u32"], result: "i32" },
  // int32_t ts_table_expire(ts_store *store, uint32_t table, uint64_t max_rows, uint64_t *removed, char *err,
  //   uint32_t err_cap);
  ts_table_expire: { parameters: ["u64", "u32", "u64", "buffer", "buffer", "u32"], result: "i32" },
  // int32_t ts_table_metadata(ts_store *store, uint32_t table, const int64_t *keys, uint64_t n,
  //   uint64_t *frequencies, int64_t *versions, char *err, uint32_t err_cap);
  ts_table_metadata: {
    parameters: ["u64", "u32", "buffer", "u64", "buffer", "buffer", "buffer", "u32"],
    result: "i32",
  },
  // int32_t ts_table_lookup_tier(ts_store *store, uint32_t table, const int64_t *keys, uint64_t n, int32_t *tiers,
  //   char *err, uint32_t err_cap);
  ts_table_lookup_tier: { parameters: ["u64", "u32", "buffer", "u64", "buffer", "buffer", "u32"], result: "i32" },
  // int32_t ts_table_rows(ts_store *store, uint32_t table, uint64_t *counts, uint32_t n_tiers, char *err,
  //   uint32_t err_cap);
  ts_table_rows: { parameters: ["u64", "u32", "buffer", "u32", "buffer", "u32"], result: "i32" },
  // int32_t ts_table_keys(ts_store *store, uint32_t table, int64_t *keys, uint64_t cap, uint64_t *n, char *err,
  //   uint32_t err_cap);
  ts_table_keys: { parameters: ["u64", "u32", "buffer", "u64", "buffer", "buffer", "u32"], result: "i32" },
  // int32_t ts_table_row_bytes(ts_store *store, uint32_t table, uint64_t *bytes, char *err, uint32_t err_cap);
  ts_table_row_bytes: { parameters: ["u64", "u32", "buffer", "buffer", "u32"], result: "i32" },
  // int32_t ts_table_walk(ts_store *store, uint32_t table, uint64_t *cursor, int64_t *keys, uint64_t cap,
  //   uint64_t *n, char *err, uint32_t err_cap);
  ts_table_walk: {
    parameters: ["u64", "u32", "buffer", "buffer", "u64", "buffer", "buffer", "u32"],
    result: "i32",
  },
  // int32_t ts_table_waiting(ts_store *store, uint32_t table, uint64_t *cursor, int64_t *keys,
  //   uint64_t *frequencies, int64_t *versions, uint64_t cap, uint64_t *n, char *err, uint32_t err_cap);
  ts_table_waiting: {
    parameters: ["u64", "u32", "buffer", "buffer", "buffer", "buffer", "u64", "buffer", "buffer", "u32"],
    result: "i32",
  },
  // int32_t ts_table_named(ts_store *store, const char *name, uint32_t *table, char *err, uint32_t err_cap);
  ts_table_named: { parameters: ["u64", "buffer", "buffer", "buffer", "u32"], result: "i32" },
  // int32_t ts_table_describe(ts_store *store, uint32_t table, char *out, uint64_t cap, uint64_t *needed, char *err,
  //   uint32_t err_cap);
  ts_table_describe: { parameters: ["u64", "u32", "buffer", "u64", "buffer", "buffer", "u32"], result: "i32" },
  // int32_t ts_store_digest(ts_store *store, uint64_t *digest, char *err, uint32_t err_cap);
  ts_store_digest: { parameters: ["u64", "buffer", "buffer", "u32"], result: "i32" },
  // int32_t ts_checkpoint_begin(ts_store *store, const ts_config *config, ts_checkpoint **out, char *err,
  //   uint32_t err_cap);
  ts_checkpoint_begin: { parameters: ["u64", "u64", "buffer", "buffer", "u32"], result: "i32" },
  // int32_t ts_checkpoint_write(ts_checkpoint *checkpoint, uint64_t *control, char *err, uint32_t err_cap);
  ts_checkpoint_write: { parameters: ["u64", "buffer", "buffer", "u32"], result: "i32", nonblocking: true },
  // int32_t ts_checkpoint_close(ts_checkpoint *checkpoint);
  ts_checkpoint_close: { parameters: ["u64"], result: "i32" },
  // int32_t ts_store_restore(ts_store *store, const ts_config *config, uint64_t *control, char *err, uint32_t err_cap);
  ts_store_restore: { parameters: ["u64", "u64", "buffer", "buffer", "u32"], result: "i32", nonblocking: true },
  // int32_t ts_store_persist(ts_store *store, const ts_config *config, uint64_t *number, char *err, uint32_t err_cap);
  ts_store_persist: { parameters: ["u64", "u64", "buffer", "buffer", "u32"], result: "i32", nonblocking: true },
  // int32_t ts_store_persisted(ts_store *store, uint64_t *control, char *err, uint32_t err_cap);
  ts_store_persisted: { parameters: ["u64", "buffer", "buffer", "u32"], result: "i32", nonblocking: true },
  // int32_t ts_store_resume(ts_store *store, const ts_config *config, uint64_t *control, uint64_t *number, char *err,
  //   uint32_t err_cap);
  ts_store_resume: {
    parameters: ["u64", "u64", "buffer", "buffer", "buffer", "u32"],
    result: "i32",
    nonblocking: true,
  },
  // int32_t ts_store_points(ts_store *store, char *out, uint64_t cap, uint64_t *needed, char *err, uint32_t err_cap);
  ts_store_points: { parameters: ["u64", "buffer", "u64", "buffer", "buffer", "u32"], result: "i32" },
  // int32_t ts_store_statistics(ts_store *store, uint64_t *out, uint32_t n, uint32_t *needed, char *err,
  //   uint32_t err_cap);
  ts_store_statistics: { parameters: ["u64", "buffer", "u32", "buffer", "buffer", "u32"], result: "i32" },
  // int32_t ts_table_statistics(ts_store *store, uint32_t table, uint64_t *out, uint32_t n, uint32_t *needed,
  //   char *err, uint32_t err_cap);
  ts_table_statistics: { parameters: ["u64", "u32", "buffer", "u32", "buffer", "buffer", "u32"], result: "i32" },
  // int32_t ts_store_reset_statistics(ts_store *store, char *err, uint32_t err_cap);
  ts_store_reset_statistics: { parameters: ["u64", "buffer", "u32"], result: "i32" },
  // int32_t ts_store_gauges(ts_store *store, uint64_t *out, uint32_t n, uint32_t *needed, char *err, uint32_t err_cap);
  ts_store_gauges: { parameters: ["u64", "buffer", "u32", "buffer", "buffer", "u32"], result: "i32" },
  // int32_t ts_statistics_names(char *out, uint64_t cap, uint64_t *needed);
  ts_statistics_names: { parameters: ["buffer", "u64", "buffer"], result: "i32" },
  // int32_t ts_store_memory(ts_store *store, char *out, uint64_t cap, uint64_t *needed);
  ts_store_memory: { parameters: ["u64", "buffer", "u64", "buffer"], result: "i32" },
  // int32_t ts_store_settle(ts_store *store, char *err, uint32_t err_cap);
  ts_store_settle: { parameters: ["u64", "buffer", "u32"], result: "i32" },
  // int32_t ts_store_describe(ts_store *store, char *out, uint64_t cap, uint64_t *needed);
  ts_store_describe: { parameters: ["u64", "buffer", "u64", "buffer"], result: "i32" },
  // int32_t ts_store_probe(const ts_config *config, char *err, uint32_t err_cap);
  ts_store_probe: { parameters: ["u64", "buffer", "u32"], result: "i32" },
  // int32_t ts_cache_replay(const char *policy, uint64_t capacity, const int64_t *keys, uint64_t n, uint64_t *hits,
  //   char *err, uint32_t err_cap);
  ts_cache_replay: { parameters: ["buffer", "u64", "buffer", "u64", "buffer", "buffer", "u32"], result: "i32" },
  // int32_t ts_data_generate(const ts_config *config, uint64_t *control, char *err, uint32_t err_cap);
  ts_data_generate: { parameters: ["u64", "buffer", "buffer", "u32"], result: "i32", nonblocking: true },
  // int32_t ts_data_import(const ts_config *config, uint64_t *control, char *err, uint32_t err_cap);
  ts_data_import: { parameters: ["u64", "buffer", "buffer", "u32"], result: "i32", nonblocking: true },
  // int32_t ts_data_describe(const char *path, char *out, uint64_t cap, uint64_t *needed, char *err,
  //   uint32_t err_cap);
  ts_data_describe: { parameters: ["buffer", "buffer", "u64", "buffer", "buffer", "u32"], result: "i32" },
  // int32_t ts_data_verify(const char *path, uint64_t *control, char *err, uint32_t err_cap);
  ts_data_verify: { parameters: ["buffer", "buffer", "buffer", "u32"], result: "i32", nonblocking: true },
  // int32_t ts_ranks_open(const ts_config *config, ts_ranks **out, char *err, uint32_t err_cap);
  ts_ranks_open: { parameters: ["u64", "buffer", "buffer", "u32"], result: "i32" },
  // int32_t ts_ranks_close(ts_ranks *ranks);
  ts_ranks_close: { parameters: ["u64"], result: "i32" },
  // int32_t ts_ranks_abort(ts_ranks *ranks, int32_t code);
  ts_ranks_abort: { parameters: ["u64", "i32"], result: "i32" },
  // int32_t ts_ranks_describe(ts_ranks *ranks, char *out, uint64_t cap, uint64_t *needed);
  ts_ranks_describe: { parameters: ["u64", "buffer", "u64", "buffer"], result: "i32" },
  // int32_t ts_ranks_compare(ts_ranks *ranks, char *err, uint32_t err_cap);
  ts_ranks_compare: { parameters: ["u64", "buffer", "u32"], result: "i32" },
  // int32_t ts_ranks_ping(ts_ranks *ranks, uint64_t bytes, uint32_t times, uint64_t *ns, char *err, uint32_t err_cap);
  ts_ranks_ping: { parameters: ["u64", "u64", "u32", "buffer", "buffer", "u32"], result: "i32" },
  // int32_t ts_trainer_open_ranks(ts_store *store, ts_ranks *ranks, const ts_config *config, ts_trainer **out, char *err,
  //   uint32_t err_cap);
  ts_trainer_open_ranks: { parameters: ["u64", "u64", "u64", "buffer", "buffer", "u32"], result: "i32" },
  // int32_t ts_trainer_open(ts_store *store, const ts_config *config, ts_trainer **out, char *err, uint32_t err_cap);
  ts_trainer_open: { parameters: ["u64", "u64", "buffer", "buffer", "u32"], result: "i32" },
  // int32_t ts_trainer_close(ts_trainer *trainer);
  ts_trainer_close: { parameters: ["u64"], result: "i32" },
  // int32_t ts_trainer_fill(ts_trainer *trainer, uint64_t *control, char *err, uint32_t err_cap);
  ts_trainer_fill: { parameters: ["u64", "buffer", "buffer", "u32"], result: "i32", nonblocking: true },
  // int32_t ts_trainer_train(ts_trainer *trainer, uint64_t warmup, uint64_t steps, uint64_t *step_ns,
  //   uint64_t *phase_ns, double *loss, uint64_t *control, char *err, uint32_t err_cap);
  ts_trainer_train: {
    parameters: ["u64", "u64", "u64", "buffer", "buffer", "buffer", "buffer", "buffer", "u32"],
    result: "i32",
    nonblocking: true,
  },
  // int32_t ts_control_wait(uint64_t *control, uint64_t done);
  ts_control_wait: { parameters: ["buffer", "u64"], result: "i32", nonblocking: true },
  // int32_t ts_control_pass(uint64_t *control, uint64_t hold);
  ts_control_pass: { parameters: ["buffer", "u64"], result: "i32" },
  // int32_t ts_trainer_evaluate(ts_trainer *trainer, const char *path, uint64_t max_rows, double *result,
  //   uint64_t *control, char *err, uint32_t err_cap);
  ts_trainer_evaluate: {
    parameters: ["u64", "buffer", "u64", "buffer", "buffer", "buffer", "u32"],
    result: "i32",
    nonblocking: true,
  },
  // int32_t ts_trainer_digest(ts_trainer *trainer, uint64_t *digest, char *err, uint32_t err_cap);
  ts_trainer_digest: { parameters: ["u64", "buffer", "buffer", "u32"], result: "i32", nonblocking: true },
  // int32_t ts_trainer_describe(ts_trainer *trainer, char *out, uint64_t cap, uint64_t *needed);
  ts_trainer_describe: { parameters: ["u64", "buffer", "u64", "buffer"], result: "i32" },
  // int32_t ts_trainer_parameters(ts_trainer *trainer, const char *name, float *out, uint64_t n, uint64_t *needed,
  //   char *err, uint32_t err_cap);
  ts_trainer_parameters: { parameters: ["u64", "buffer", "buffer", "u64", "buffer", "buffer", "u32"], result: "i32" },
  // int32_t ts_trainer_set_parameters(ts_trainer *trainer, const char *name, const float *values, uint64_t n,
  //   char *err, uint32_t err_cap);
  ts_trainer_set_parameters: { parameters: ["u64", "buffer", "buffer", "u64", "buffer", "u32"], result: "i32" },
  // int32_t ts_trainer_checkpoint_begin(ts_trainer *trainer, const ts_config *config, ts_checkpoint **out, char *err,
  //   uint32_t err_cap);
  ts_trainer_checkpoint_begin: { parameters: ["u64", "u64", "buffer", "buffer", "u32"], result: "i32" },
  // int32_t ts_trainer_checkpoint_commit(ts_trainer *trainer, ts_checkpoint *checkpoint, char *err, uint32_t err_cap);
  ts_trainer_checkpoint_commit: { parameters: ["u64", "u64", "buffer", "u32"], result: "i32", nonblocking: true },
  // int32_t ts_trainer_persist(ts_trainer *trainer, const ts_config *config, uint64_t *number, char *err,
  //   uint32_t err_cap);
  ts_trainer_persist: { parameters: ["u64", "u64", "buffer", "buffer", "u32"], result: "i32", nonblocking: true },
  // int32_t ts_trainer_restore(ts_trainer *trainer, const ts_config *config, uint64_t *control, char *err,
  //   uint32_t err_cap);
  ts_trainer_restore: { parameters: ["u64", "u64", "buffer", "buffer", "u32"], result: "i32", nonblocking: true },
  // int32_t ts_machine_probe(const char *roots, char *out, uint64_t cap, uint64_t *needed);
  ts_machine_probe: { parameters: ["buffer", "buffer", "u64", "buffer"], result: "i32" },
  // int32_t ts_machine_energy(const char *roots, char *out, uint64_t cap, uint64_t *needed);
  ts_machine_energy: { parameters: ["buffer", "buffer", "u64", "buffer"], result: "i32" },
  // int32_t ts_machine_verify_dax(const char *path, char *out, uint64_t cap, uint64_t *needed, char *err,
  //   uint32_t err_cap);
  ts_machine_verify_dax: { parameters: ["buffer", "buffer", "u64", "buffer", "buffer", "u32"], result: "i32" },
  // int32_t ts_machine_verify_node(uint32_t node, char *out, uint64_t cap, uint64_t *needed, char *err,
  //   uint32_t err_cap);
  ts_machine_verify_node: { parameters: ["u32", "buffer", "u64", "buffer", "buffer", "u32"], result: "i32" },
  // int32_t ts_simulate_demand(const ts_config *config, char *out, uint64_t cap, uint64_t *needed, char *err,
  //   uint32_t err_cap);
  ts_simulate_demand: { parameters: ["u64", "buffer", "u64", "buffer", "buffer", "u32"], result: "i32" },
  // int32_t ts_simulate(const ts_config *config, char *out, uint64_t cap, uint64_t *needed, char *err,
  //   uint32_t err_cap);
  ts_simulate: { parameters: ["u64", "buffer", "u64", "buffer", "buffer", "u32"], result: "i32" },
  // int32_t ts_step_cost(const ts_config *config, char *out, uint64_t cap, uint64_t *needed, char *err,
  //   uint32_t err_cap);
  ts_step_cost: { parameters: ["u64", "buffer", "u64", "buffer", "buffer", "u32"], result: "i32" },
  // int32_t ts_media_evaluate(const ts_config *config, const double *queries, uint64_t n, double *out, char *err,
  //   uint32_t err_cap);
  ts_media_evaluate: { parameters: ["u64", "buffer", "u64", "buffer", "buffer", "u32"], result: "i32" },
  // int32_t ts_gauge_open(const ts_config *config, ts_gauge **out, char *err, uint32_t err_cap);
  ts_gauge_open: { parameters: ["u64", "buffer", "buffer", "u32"], result: "i32" },
  // int32_t ts_gauge_take(ts_gauge *gauge, const double *query, uint64_t ns, double *out, char *err, uint32_t err_cap);
  ts_gauge_take: {
    parameters: ["u64", "buffer", "u64", "buffer", "buffer", "u32"],
    result: "i32",
    nonblocking: true,
  },
  // int32_t ts_gauge_close(ts_gauge *gauge);
  ts_gauge_close: { parameters: ["u64"], result: "i32" },
  // int32_t ts_gauge_lookups(ts_store *store, const uint32_t *tables, uint32_t threads, const int64_t *keys, uint64_t n,
  //   uint32_t dim, uint32_t rounds, double *seconds, char *err, uint32_t err_cap);
  ts_gauge_lookups: {
    parameters: ["u64", "buffer", "u32", "buffer", "u64", "u32", "u32", "buffer", "buffer", "u32"],
    result: "i32",
    nonblocking: true,
  },
  // int32_t ts_simulate_law(const ts_config *config, const double *hitters, uint32_t n, uint64_t *rows, double *weights,
  //   uint32_t cap, uint32_t *needed, char *err, uint32_t err_cap);
  ts_simulate_law: {
    parameters: ["u64", "buffer", "u32", "buffer", "buffer", "u32", "buffer", "buffer", "u32"],
    result: "i32",
  },
  // int32_t ts_simulate_curve(const ts_config *config, const int64_t *keys, uint64_t n, const uint64_t *sizes,
  //   uint32_t count, double *ratios, double *facts, char *err, uint32_t err_cap);
  ts_simulate_curve: {
    parameters: ["u64", "buffer", "u64", "buffer", "u32", "buffer", "buffer", "buffer", "u32"],
    result: "i32",
  },
  // int32_t ts_key_sample_create(const ts_config *config, ts_key_sample **out, char *err, uint32_t err_cap);
  ts_key_sample_create: { parameters: ["u64", "buffer", "buffer", "u32"], result: "i32" },
  // int32_t ts_key_sample_add(ts_key_sample *sample, const int64_t *keys, uint64_t n, int64_t mix, char *err,
  //   uint32_t err_cap);
  ts_key_sample_add: { parameters: ["u64", "buffer", "u64", "i64", "buffer", "u32"], result: "i32" },
  // int32_t ts_key_sample_facts(const ts_key_sample *sample, double *out, char *err, uint32_t err_cap);
  ts_key_sample_facts: { parameters: ["u64", "buffer", "buffer", "u32"], result: "i32" },
  // int32_t ts_key_sample_curve(const ts_key_sample *sample, const ts_config *config, const uint64_t *sizes,
  //   uint32_t count, double *ratios, double *errors, double *facts, char *err, uint32_t err_cap);
  ts_key_sample_curve: {
    parameters: ["u64", "u64", "buffer", "u32", "buffer", "buffer", "buffer", "buffer", "u32"],
    result: "i32",
  },
  // int32_t ts_key_sample_keys(const ts_key_sample *sample, int64_t *out, uint64_t cap, uint64_t *n, char *err,
  //   uint32_t err_cap);
  ts_key_sample_keys: { parameters: ["u64", "buffer", "u64", "buffer", "buffer", "u32"], result: "i32" },
  // int32_t ts_key_sample_close(ts_key_sample *sample);
  ts_key_sample_close: { parameters: ["u64"], result: "i32" },
  // int32_t ts_trace_lines(const uint8_t *block, uint64_t bytes, int64_t *keys, uint64_t cap, uint64_t *out);
  ts_trace_lines: { parameters: ["buffer", "u64", "buffer", "u64", "buffer"], result: "i32" },
  // int32_t ts_trace_column(const uint8_t *block, uint64_t bytes, uint32_t separator, uint32_t fields, uint32_t column,
  //   int64_t *keys, uint64_t cap, uint64_t *out);
  ts_trace_column: { parameters: ["buffer", "u64", "u32", "u32", "u32", "buffer", "u64", "buffer"], result: "i32" },
  // int32_t ts_trace_records(const uint8_t *block, uint64_t records, uint64_t first, uint32_t before, int64_t *keys,
  //   uint64_t *good);
  ts_trace_records: { parameters: ["buffer", "u64", "u64", "u32", "buffer", "buffer"], result: "i32" },
  // int32_t ts_trace_widen(const void *numbers, uint64_t n, uint32_t bytes, uint32_t has_sign, int64_t *keys);
  ts_trace_widen: { parameters: ["buffer", "u64", "u32", "u32", "buffer"], result: "i32" },
  // int32_t ts_simulate_law_curve(const ts_config *config, const uint64_t *rows, const double *weights, uint32_t buckets,
  //   const uint64_t *sizes, uint32_t count, double *ratios, double *facts, char *err, uint32_t err_cap);
  ts_simulate_law_curve: {
    parameters: ["u64", "buffer", "buffer", "u32", "buffer", "u32", "buffer", "buffer", "buffer", "u32"],
    result: "i32",
  },
  // int32_t ts_keys_create(uint64_t seed, ts_keys **out, char *err, uint32_t err_cap);
  ts_keys_create: { parameters: ["u64", "buffer", "buffer", "u32"], result: "i32" },
  // int32_t ts_keys_close(ts_keys *keys);
  ts_keys_close: { parameters: ["u64"], result: "i32" },
  // int32_t ts_keys_add_table(ts_keys *keys, const ts_config *config, const double *steps, uint64_t step_count,
  //   const double *gaps, uint64_t gap_count, const double *bags, uint64_t bag_count, uint32_t *table, char *err,
  //   uint32_t err_cap);
  ts_keys_add_table: {
    parameters: ["u64", "u64", "buffer", "u64", "buffer", "u64", "buffer", "u64", "buffer", "buffer", "u32"],
    result: "i32",
  },
  // int32_t ts_keys_fill(ts_keys *keys, uint32_t table, uint64_t first, uint64_t samples, int64_t *out, uint64_t cap,
  //   uint64_t *offsets, uint64_t *n, char *err, uint32_t err_cap);
  ts_keys_fill: {
    parameters: ["u64", "u32", "u64", "u64", "buffer", "u64", "buffer", "buffer", "buffer", "u32"],
    result: "i32",
  },
  // int32_t ts_keys_law(ts_keys *keys, uint32_t table, uint64_t *rows, double *shares, uint64_t cap, uint64_t *n,
  //   char *err, uint32_t err_cap);
  ts_keys_law: { parameters: ["u64", "u32", "buffer", "buffer", "u64", "buffer", "buffer", "u32"], result: "i32" },
  // int32_t ts_stream_create(uint64_t most, ts_stream **out, char *err, uint32_t err_cap);
  ts_stream_create: { parameters: ["u64", "buffer", "buffer", "u32"], result: "i32" },
  // int32_t ts_stream_close(ts_stream *stream);
  ts_stream_close: { parameters: ["u64"], result: "i32" },
  // int32_t ts_stream_add(ts_stream *stream, const int64_t *keys, uint64_t n, char *err, uint32_t err_cap);
  ts_stream_add: { parameters: ["u64", "buffer", "u64", "buffer", "u32"], result: "i32" },
  // int32_t ts_stream_limit(ts_stream *stream, uint64_t most, char *err, uint32_t err_cap);
  ts_stream_limit: { parameters: ["u64", "u64", "buffer", "u32"], result: "i32" },
  // int32_t ts_stream_facts(ts_stream *stream, double *out, char *err, uint32_t err_cap);
  ts_stream_facts: { parameters: ["u64", "buffer", "buffer", "u32"], result: "i32" },
  // int32_t ts_stream_lives(ts_stream *stream, uint32_t apart, char *err, uint32_t err_cap);
  ts_stream_lives: { parameters: ["u64", "u32", "buffer", "u32"], result: "i32" },
  // int32_t ts_stream_apart(ts_stream *stream, double *out, uint64_t cap, uint64_t *n, char *err, uint32_t err_cap);
  ts_stream_apart: { parameters: ["u64", "buffer", "u64", "buffer", "buffer", "u32"], result: "i32" },
  // int32_t ts_stream_groups(ts_stream *stream, double *out, uint64_t cap, uint64_t *n, char *err, uint32_t err_cap);
  ts_stream_groups: { parameters: ["u64", "buffer", "u64", "buffer", "buffer", "u32"], result: "i32" },
  // int32_t ts_stream_decluster(ts_stream *stream, const double *rates, uint64_t groups, const double *kernel,
  //   uint64_t bins, uint64_t seed, double *out, char *err, uint32_t err_cap);
  ts_stream_decluster: {
    parameters: ["u64", "buffer", "u64", "buffer", "u64", "u64", "buffer", "buffer", "u32"],
    result: "i32",
  },
  // int32_t ts_stream_keys(ts_stream *stream, int64_t *out, uint64_t cap, uint64_t *n, char *err, uint32_t err_cap);
  ts_stream_keys: { parameters: ["u64", "buffer", "u64", "buffer", "buffer", "u32"], result: "i32" },
  // int32_t ts_checkpoint_describe(const char *path, char *out, uint64_t cap, uint64_t *needed, char *err,
  //   uint32_t err_cap);
  ts_checkpoint_describe: { parameters: ["buffer", "buffer", "u64", "buffer", "buffer", "u32"], result: "i32" },
  // int32_t ts_checkpoint_verify(const char *path, uint64_t *control, char *err, uint32_t err_cap);
  ts_checkpoint_verify: { parameters: ["buffer", "buffer", "buffer", "u32"], result: "i32", nonblocking: true },
  // int32_t ts_checkpoint_compact(const char *path, uint64_t *control, char *err, uint32_t err_cap);
  ts_checkpoint_compact: { parameters: ["buffer", "buffer", "buffer", "u32"], result: "i32", nonblocking: true },
} as const;
