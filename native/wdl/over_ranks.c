/* over_ranks.c - what makes a trainer one of several ranks: refusals, memory of messages, agreement, digest. */
#include "base/control.h"
#include "store/batches.h"
#include "store/store.h"
#include "wdl/rank_async.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int32_t refuse(const char *what, ts_err err) {
  return ts_fail(err, TS_EINVAL, "Cannot open trainer over ranks: %s", what);
}

/* What a table is given for an option, NULL where that is nothing. */
static const char *given(const ts_trainer_options *o, uint32_t table, const char *option) {
  for (uint32_t i = 0; i < TS_TABLE_OPTIONS; i++) {
    const char *text = o->of_table[table][i];
    if (strcmp(ts_table_options[i], option) == 0)
      return text == NULL || strcmp(text, "0") == 0 || strcmp(text, "none") == 0 ? NULL : text;
  }
  return NULL;
}

/* Whether owners must know how often a key occurs. */
static bool is_counted(const ts_trainer_options *o, uint32_t table) {
  return given(o, table, "admission") != NULL || given(o, table, "record_frequency") != NULL;
}

/* The first option by which what a row is depends on the step at which it is looked up; NULL: none. */
static const char *dated(const ts_trainer_options *o, uint32_t table) {
  static const char *const options[] = {"expire.steps", "expire.l2", "record_version"};
  for (uint32_t i = 0; i < sizeof options / sizeof *options; i++)
    if (given(o, table, options[i]) != NULL) return options[i];
  return NULL;
}

static int32_t check_table(const ts_trainer_options *o, uint32_t table, ts_err err) {
  const char *name = o->tables.plans[table].name, *admission = given(o, table, "admission"), *date = dated(o, table);
  if (admission != NULL && strcmp(admission, "counter") != 0)
    return ts_fail(err, TS_EINVAL, "Cannot open trainer over ranks: table \"%s\" has admission \"%s\", whose counters are shared by "
                                   "keys, so that other keys would get rows on another number of ranks; choose \"counter\"", name, admission);
  if (date != NULL && o->ranks_ahead == TS_AHEAD_ROWS)
    return ts_fail(err, TS_EINVAL, "Cannot open trainer over ranks: table \"%s\" has option \"%s\", but rows that ranks_ahead \"rows\" "
                                   "sends have the date of the step before; choose \"none\" or \"keys\"", name, date);
  return TS_OK;
}

static int32_t check_async(const ts_trainer_options *o, const ts_ranks *ranks, ts_err err) {
  if (!o->ranks_async) return TS_OK;
  if (ts_ranks_trains(ranks) && ts_ranks_owns(ranks))
    return refuse("ranks_staleness is for ranks with servers: where every rank trains and holds rows, one that computes answers nobody; "
                  "start the ranks with servers, or leave ranks_staleness out", err);
  if (o->ranks_ahead != TS_AHEAD_NONE)
    return refuse("with ranks_staleness nobody knows which batch a rank gets next, so nothing of it can be sent ahead; leave ranks_ahead "
                  "and async_embedding out", err);
  return TS_OK;
}

static int32_t check(const ts_trainer_options *o, const ts_ranks *ranks, ts_err err) {
  if (TS_MICRO_SHARDS % o->micro_batch != 0)
    return ts_fail(err, TS_EINVAL, "Cannot open trainer over ranks: a batch has %u micro-shards, which micro_batch %u does not cut into "
                                   "equal parts: choose 1, 2, 4 or 8", TS_MICRO_SHARDS, o->micro_batch);
  if (!o->deterministic) return refuse("results are the same on any number of ranks; leave deterministic out", err);
  int32_t status = check_async(o, ranks, err);
  for (uint32_t t = 0; t < o->tables.count && status == TS_OK; t++) status = check_table(o, t, err);
  return status;
}

/* Everything that must be equal on all ranks: of the trainer, its tables, their store and the library. */
static uint64_t word_of(const ts_trainer *t) {
  const ts_trainer_options *o = &t->options;
  const ts_part_rule *e = &o->embedding;
  char version[64] = "";
  uint64_t needed;
  ts_version(version, sizeof version, &needed);
  ts_text text = {0};
  ts_trainer_write_options(t, &text);
  ts_text_add(&text, "%s %.17g %.17g %.17g %.17g %.17g %.17g %.17g %.17g %d %.17g %.17g %.17g %llu\n", e->name, e->learning_rate,
              e->initial_accumulator, e->beta1, e->beta2, e->epsilon, e->weight_decay, e->decay_rate, e->decay_baseline,
              e->has_baseline, e->l1, e->l2, e->l2_shrinkage, (unsigned long long)e->decay_step);
  for (uint32_t i = 0; i < TS_INITIALIZER_OPTIONS; i++)
    ts_text_add(&text, "%s\n", o->initializer[i] == NULL ? "" : o->initializer[i]);
  for (uint32_t i = 0; i < o->tables.count * TS_TABLE_OPTIONS; i++) {
    const char *option = o->of_table[i / TS_TABLE_OPTIONS][i % TS_TABLE_OPTIONS];
    ts_text_add(&text, "%s\n", option == NULL ? "" : option);
  }
  ts_text_add(&text, "%d %d %d %d %d %u %u %u %llu %s\n", o->ranks_separate, o->ranks_duplicates, o->ranks_bf16, o->ranks_ahead,
              o->ranks_async, o->ranks_staleness, t->over->ranks->trainers, t->over->ranks->owners, (unsigned long long)t->store->seed, version);
  const uint64_t word = text.bytes == NULL ? 0 : ts_hash_bytes(text.bytes, text.length, 0);
  free(text.bytes);
  return word;
}

static int32_t open_messages(ts_trainer *t, ts_err err) {
  ts_over_ranks *over = t->over;
  const ts_ranks *ranks = over->ranks;
  const ts_tables *tables = &t->options.tables;
  uint32_t dims[TS_CATEGORIES], items[TS_CATEGORIES], own[TS_CATEGORIES];
  bool counted = false;
  const uint32_t most = (t->options.batch + ranks->trainers - 1) / ranks->trainers;
  over->most = t->options.ranks_async ? t->options.batch : most;
  for (uint32_t i = 0; i < tables->count; i++) {
    dims[i] = tables->plans[i].dim;
    items[i] = tables->plans[i].count * t->options.batch;
    own[i] = tables->plans[i].count * most;
    counted = counted || is_counted(&t->options, i);
  }
  const ts_exchange_options options = {.tables = tables->count,
                                       .dims = dims,
                                       .items = items,
                                       .own = own,
                                       .separate = t->options.ranks_separate,
                                       .duplicates = t->options.ranks_duplicates,
                                       .bf16 = t->options.ranks_bf16,
                                       .parts = t->options.ranks_ahead == TS_AHEAD_ROWS,
                                       .counted = counted};
  const bool ahead = t->options.ranks_ahead != TS_AHEAD_NONE;
  int32_t status = ahead ? ts_courier_open(&over->courier, err) : TS_OK;
  for (uint32_t i = 0; i < (ahead ? 2 : 1) && status == TS_OK; i++)
    status = ts_exchange_open(&over->exchange[i], over->ranks, &options, err);
  if (status == TS_OK && t->options.ranks_async) status = ts_async_open(t, &options, err);
  if (status != TS_OK) return status;
  const size_t report = sizeof(uint32_t) + over->most * sizeof(float);
  uint64_t floats = ts_mlp_gradient_floats(&t->model.top);
  if (ts_model_has_bottom(&t->model)) floats = TS_MAX(floats, ts_mlp_gradient_floats(&t->model.bottom));
  over->told = calloc(1, report);
  over->heard = calloc(ranks->ops.size, report);
  over->scratch = calloc(floats, sizeof(float));
  return over->told != NULL && over->heard != NULL && over->scratch != NULL
             ? TS_OK
             : ts_fail(err, TS_ENOMEM, "Cannot open trainer over ranks: out of memory");
}

int32_t ts_rank_open(ts_trainer *t, ts_err err) {
  int32_t status = check(&t->options, t->over->ranks, err);
  return status == TS_OK ? open_messages(t, err) : status;
}

void ts_rank_close(ts_trainer *t) {
  if (t->over == NULL) return;
  ts_courier_close(t->over->courier);
  ts_async_close(t);
  for (uint32_t i = 0; i < 2; i++) ts_exchange_close(&t->over->exchange[i]);
  free(t->over->told);
  free(t->over->heard);
  free(t->over->scratch);
  free(t->over);
}

int32_t ts_rank_plan(ts_trainer *t, ts_err err) {
  if (t->over->async != NULL && ts_ranks_trains(t->over->ranks)) ts_async_use(t, 0);
  const int32_t status = ts_rank_plan_step(t, err);
  ts_async_leave(t);
  return status;
}

int32_t ts_trainer_open_ranks(ts_store *store, ts_ranks *ranks, const ts_config *config, ts_trainer **out, char *err_text,
                              uint32_t err_cap) {
  char own_text[512];
  ts_err err = err_text == NULL ? (ts_err){own_text, sizeof own_text} : (ts_err){err_text, err_cap};
  if (ranks == NULL || out == NULL) return ts_fail(err, TS_EINVAL, "Cannot open trainer over ranks: ranks are needed");
  int32_t status = ts_owner_check(&ranks->owner, "group of ranks", err);
  if (status != TS_OK) return status;
  *out = NULL;
  status = ts_trainer_make(store, ranks, config, out, err);
  status = ts_ranks_agree(ranks, status, status == TS_OK ? word_of(*out) : 0, "configuration, data or library", NULL, err);
  if (status == TS_OK) return TS_OK;
  ts_trainer_close(*out);
  *out = NULL;
  return status;
}

/* ---- calls of all ranks ---- */

int32_t ts_rank_agree(ts_trainer *t, int32_t status, ts_err err) {
  return t->over == NULL ? status : ts_rank_agree_about(t, status, 0, "state", err);
}

int32_t ts_rank_agree_about(ts_trainer *t, int32_t status, uint64_t word, const char *what, ts_err err) {
  if (t->over->status != TS_OK) return ts_fail(err, t->over->status, "%s", t->over->message);
  char text[512];
  snprintf(text, sizeof text, "%s", status == TS_OK || err.text == NULL ? "" : err.text);
  uint32_t asks = ts_control_cancelled(t->over->control);
  const int32_t agreed = ts_ranks_agree(t->over->ranks, status, word, what, &asks, (ts_err){text, sizeof text});
  t->over->cancelled_by = asks;
  return agreed == TS_OK ? TS_OK : ts_fail(err, agreed, "%s", text);
}

void ts_rank_control(ts_trainer *t, const uint64_t *control) {
  if (t->over == NULL) return;
  t->over->control = control;
  t->over->cancelled_by = 0;
}

bool ts_rank_cancelled(const ts_trainer *t, const uint64_t *control, const char *what, ts_err err) {
  if (t->over == NULL) {
    if (!ts_control_cancelled(control)) return false;
    ts_fail(err, TS_ECANCELLED, "%s was cancelled", what);
    return true;
  }
  if (t->over->cancelled_by == 0) return false;
  ts_fail(err, TS_ECANCELLED, "%s was cancelled by rank %u of %u", what, t->over->cancelled_by - 1, t->over->ranks->ops.size);
  return true;
}

int32_t ts_rank_sum_counts(ts_trainer *t, uint64_t *values, uint32_t n, ts_err err) {
  uint64_t all[2 * TS_MOST_RANKS];
  int32_t status = ts_ranks_gather(t->over->ranks, values, n * sizeof *values, all, err);
  if (status != TS_OK) return status;
  memset(values, 0, n * sizeof *values);
  for (uint32_t i = 0; i < t->over->ranks->ops.size * n; i++) values[i % n] += all[i];
  return TS_OK;
}

/* Of the dense weights of every rank that trains, which must be equal, and of all ranks' rows. */
int32_t ts_rank_digest(ts_trainer *t, uint64_t *digest, ts_err err) {
  uint64_t rows = 0, names = 0, dense = ts_model_digest(&t->model), all[TS_MOST_RANKS];
  ts_ranks *ranks = t->over->ranks;
  int32_t status = ts_rank_agree(t, ts_store_digest_parts(t->store, &rows, &names, err), err);
  if (status == TS_OK) status = ts_rank_sum_counts(t, &rows, 1, err);
  if (status == TS_OK) status = ts_ranks_gather(ranks, &dense, sizeof dense, all, err);
  if (status != TS_OK) return status;
  for (uint32_t r = 1; r < ranks->trainers; r++)
    if (all[r] != all[0])
      return ts_fail(err, TS_EINTERNAL, "Cannot compute a digest: the dense weights of rank %u are not those of rank 0; are their "
                                        "CPUs of one type?", r);
  *digest = ts_mix64(all[0] ^ ts_mix64(rows + names));
  return TS_OK;
}
