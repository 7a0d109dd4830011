/* over_ranks.c - what makes a trainer one of several ranks: refusals, memory of messages, agreement, digest. */
#include "store/batches.h"
#include "store/store.h"
#include "wdl/trainer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int32_t refuse(const char *what, ts_err err) {
  return ts_fail(err, TS_EINVAL, "Cannot open trainer over ranks: %s", what);
}

static int32_t check(const ts_trainer_options *o, ts_err err) {
  if (o->micro_batch > 1) return refuse("a batch is cut into micro-shards already; leave micro_batch out", err);
  if (!o->deterministic) return refuse("results are the same on any number of ranks; leave deterministic out", err);
  for (uint32_t t = 0; t < o->tables.count; t++) {
    const ts_table_plan *plan = &o->tables.plans[t];
    if (ts_table_is_bag(plan))
      return ts_fail(err, TS_EINVAL, "Cannot open trainer over ranks: table \"%s\" has a combiner, whose bags one process must "
                                     "have whole; give its columns tables without one", plan->name);
    for (uint32_t i = 0; i < TS_TABLE_OPTIONS; i++)
      if (o->of_table[t][i] != NULL && strcmp(o->of_table[t][i], "0") != 0 && strcmp(o->of_table[t][i], "none") != 0)
        return ts_fail(err, TS_EINVAL, "Cannot open trainer over ranks: table \"%s\" has option \"%s\"; ranks send no counts of "
                                       "keys, which admission and records need, and expire nothing; leave it out",
                       plan->name, ts_table_options[i]);
  }
  return TS_OK;
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
  ts_text_add(&text, "%d %d %d %d %u %u %llu %s\n", o->ranks_separate, o->ranks_duplicates, o->ranks_bf16, o->ranks_ahead, t->over->ranks->trainers,
              t->over->ranks->owners, (unsigned long long)t->store->seed, version);
  const uint64_t word = text.bytes == NULL ? 0 : ts_hash_bytes(text.bytes, text.length, 0);
  free(text.bytes);
  return word;
}

static int32_t open_messages(ts_trainer *t, ts_err err) {
  ts_over_ranks *over = t->over;
  const ts_ranks *ranks = over->ranks;
  const ts_tables *tables = &t->options.tables;
  uint32_t dims[TS_CATEGORIES], items[TS_CATEGORIES], own[TS_CATEGORIES];
  over->most = (t->options.batch + ranks->trainers - 1) / ranks->trainers;
  for (uint32_t i = 0; i < tables->count; i++) {
    dims[i] = tables->plans[i].dim;
    items[i] = tables->plans[i].count * t->options.batch;
    own[i] = tables->plans[i].count * over->most;
  }
  const ts_exchange_options options = {.tables = tables->count,
                                       .dims = dims,
                                       .items = items,
                                       .own = own,
                                       .separate = t->options.ranks_separate,
                                       .duplicates = t->options.ranks_duplicates,
                                       .bf16 = t->options.ranks_bf16,
                                       .parts = t->options.ranks_ahead == TS_AHEAD_ROWS};
  const bool ahead = t->options.ranks_ahead != TS_AHEAD_NONE;
  int32_t status = ahead ? ts_courier_open(&over->courier, err) : TS_OK;
  for (uint32_t i = 0; i < (ahead ? 2 : 1) && status == TS_OK; i++)
    status = ts_exchange_open(&over->exchange[i], over->ranks, &options, err);
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
  int32_t status = check(&t->options, err);
  return status == TS_OK ? open_messages(t, err) : status;
}

void ts_rank_close(ts_trainer *t) {
  if (t->over == NULL) return;
  ts_courier_close(t->over->courier);
  for (uint32_t i = 0; i < 2; i++) ts_exchange_close(&t->over->exchange[i]);
  free(t->over->told);
  free(t->over->heard);
  free(t->over->scratch);
  free(t->over);
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
  status = ts_ranks_agree(ranks, status, status == TS_OK ? word_of(*out) : 0, "configuration, data or library", err);
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
  const int32_t agreed = ts_ranks_agree(t->over->ranks, status, word, what, (ts_err){text, sizeof text});
  return agreed == TS_OK ? TS_OK : ts_fail(err, agreed, "%s", text);
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
