/* rank_rows.c - rows of a table between the ranks that train and those that own them.
 *
 * A rank's keys of a table are listed micro-shard by micro-shard, there column by column and sample by sample, or, of bags,
 * sample by sample and there column by column: the order in which gradients of equal keys are summed, whatever the number of
 * ranks. The rank that trains combines its bags from the rows that came, and spreads their gradients before it sums them. */
#include "kernels/gather.h"
#include "store/batches.h"
#include "wdl/input/criteo_field.h"
#include "wdl/trainer.h"

#include <math.h>
#include <string.h>

/* Keys of one column and one micro-shard. */
typedef struct stretch {
  uint32_t column, vector; /* of the data; of the network */
  uint32_t first, rows;    /* samples */
  uint32_t shard, item;    /* counting from this rank's first; of the list */
} stretch;

/* Goes through them; starts with *at zeroed and `rows` 0. */
static bool next_stretch(const ts_trainer *t, uint32_t table, uint32_t *step, stretch *s) {
  const ts_table_plan *plan = &t->options.tables.plans[table];
  const ts_ranks *ranks = t->over->group;
  s->item += s->rows;
  const uint32_t shard = *step / plan->count, column = (*step)++ % plan->count;
  if (shard >= ts_ranks_shards(ranks)) return false;
  const ts_mlp_rows at = ts_mlp_cut(&t->model.top, ts_ranks_first_shard(ranks) + shard, 0, t->rows);
  *s = (stretch){plan->columns[column], plan->vector + column, at.first, at.rows, shard, s->item};
  return true;
}

ts_mlp_rows ts_rank_samples(const ts_trainer *t) {
  const ts_ranks *ranks = t->over->group;
  const uint32_t shards = ts_ranks_shards(ranks), first = ts_ranks_first_shard(ranks);
  if (shards == 0) return (ts_mlp_rows){0};
  const ts_mlp_rows begin = ts_mlp_cut(&t->model.top, first, 0, t->rows);
  const ts_mlp_rows end = ts_mlp_cut(&t->model.top, first + shards - 1, 0, t->rows);
  return (ts_mlp_rows){.piece = first, .first = begin.first, .rows = end.first + end.rows - begin.first};
}

static void ask_bags(const ts_trainer *t, ts_exchange *x, uint32_t table, const int64_t *keys) {
  const ts_table_plan *plan = &t->options.tables.plans[table];
  const uint32_t first = ts_ranks_first_shard(t->over->group);
  for (uint32_t shard = 0; shard < ts_ranks_shards(t->over->group); shard++) {
    const ts_mlp_rows at = ts_mlp_cut(&t->model.top, first + shard, 0, t->rows);
    for (uint32_t r = at.first; r < at.first + at.rows; r++)
      for (uint32_t c = 0; c < plan->count; c++) {
        const int64_t key = keys[(size_t)plan->columns[c] * t->options.batch + r];
        if (key != TS_MISSING_KEY) ts_exchange_add(x, table, key, shard);
      }
  }
}

static void ask_columns(const ts_trainer *t, ts_exchange *x, uint32_t table, const int64_t *keys) {
  uint32_t step = 0;
  for (stretch s = {0}; next_stretch(t, table, &step, &s);) {
    const int64_t *column = keys + (size_t)s.column * t->options.batch;
    for (uint32_t r = s.first; r < s.first + s.rows; r++) ts_exchange_add(x, table, column[r], s.shard);
  }
}

void ts_rank_ask(ts_trainer *t, ts_exchange *x, uint32_t table, const int64_t *keys) {
  ts_fold_begin(&x->asked.folds[table]);
  (ts_table_is_bag(&t->options.tables.plans[table]) ? ask_bags : ask_columns)(t, x, table, keys);
  ts_exchange_ask(x, table);
}

#define CHUNK 256u
#define WIDEST 1024u

/* Rows that exist; for others what training is given for a key that is not admitted, or zeros; behind each row whether there
 * is one. */
static int32_t find_rows(ts_trainer *t, uint32_t table, const ts_fold *f, float *rows, uint64_t stride, ts_err err) {
  const uint32_t dim = t->options.tables.plans[table].dim, chunk = TS_MAX(CHUNK * 16 / TS_MIN(dim, WIDEST), 4u);
  float found_rows[CHUNK * 16];
  uint8_t found[CHUNK * 16];
  float otherwise;
  ts_table_admits_all(t->store, t->tables[table], &otherwise);
  for (uint32_t first = 0; first < f->count; first += chunk) {
    const uint32_t n = TS_MIN(f->count - first, chunk);
    int32_t status = ts_table_find(t->store, t->tables[table], f->keys + first, n, 0, found_rows, found, err.text, err.cap);
    if (status != TS_OK) return status;
    for (uint32_t i = 0; i < n; i++) {
      float *to = rows + (first + i) * stride;
      if (found[i]) memcpy(to, found_rows + (size_t)i * dim, dim * sizeof *to);
      else
        for (uint32_t d = 0; d < dim; d++) to[d] = otherwise;
      to[dim] = found[i];
    }
  }
  return TS_OK;
}

int32_t ts_rank_look_up(ts_trainer *t, ts_exchange *x, uint32_t table, uint32_t part, ts_err err) {
  const int64_t *keys;
  const uint32_t *times;
  uint32_t count;
  uint64_t stride;
  float *rows = ts_exchange_rows_of(x, table, part, &keys, &times, &count, &stride);
  const int32_t status =
      count == 0 ? TS_OK : ts_table_lookup_strided(t->store, t->tables[table], keys, times, count, rows, stride, err);
  if (status == TS_OK) ts_exchange_reply(x, table, part);
  return status;
}

int32_t ts_rank_serve(ts_trainer *t, uint32_t table, ts_err err) {
  ts_over_ranks *over = t->over;
  ts_exchange *x = ts_rank_exchange(t);
  if (!ts_ranks_owns(over->group)) return TS_OK;
  if (t->ahead != t->step) {
    ts_exchange_collect(x, table);
    return ts_rank_look_up(t, x, table, 0, err);
  }
  if (over->ahead_status[table] != TS_OK) return ts_fail(err, over->ahead_status[table], "%s", over->ahead_message[table]);
  switch (t->options.ranks_ahead) {
  case TS_AHEAD_KEYS: return ts_rank_look_up(t, x, table, 0, err);
  case TS_AHEAD_ROWS: return ts_rank_look_up(t, x, table, 1, err);
  default: return TS_OK;
  }
}

int32_t ts_rank_find(ts_trainer *t, uint32_t table, ts_err err) {
  ts_exchange *x = ts_rank_exchange(t);
  const int64_t *keys;
  const uint32_t *times;
  uint32_t count;
  uint64_t stride;
  if (!ts_ranks_owns(t->over->group)) return TS_OK;
  ts_exchange_collect(x, table);
  float *rows = ts_exchange_rows_of(x, table, 0, &keys, &times, &count, &stride);
  const int32_t status = find_rows(t, table, &x->owned.folds[table], rows, stride, err);
  if (status == TS_OK) ts_exchange_reply(x, table, 0);
  return status;
}

/* ---- rows into the network, gradients out of it ---- */

#define BAG_KEYS 512u

/* The bags of this rank's samples, from the first. */
static ts_bags make_bags(const ts_trainer *t, uint32_t table, const int64_t *keys) {
  const ts_table_plan *plan = &t->options.tables.plans[table];
  const ts_table_scratch *scratch = &t->scratch[table];
  const ts_mlp_rows mine = ts_rank_samples(t);
  ts_bags bags;
  ts_table_make_bags(plan, scratch, keys + mine.first, t->options.batch, mine.rows);
  ts_bags_begin(&bags, ts_cpu_level(), plan->dim, scratch->offsets, mine.rows, NULL, plan->combiner);
  return bags;
}

static void spread_bags(ts_trainer *t, uint32_t table, uint32_t which, const int64_t *keys, uint64_t *absent) {
  const ts_exchange *x = ts_rank_exchange(t);
  const ts_fold *f = &x->asked.folds[table];
  const ts_table_plan *plan = &t->options.tables.plans[table];
  const ts_row_layout plain = ts_row_layout_make(TS_FP32, plan->dim, 1, 0, false, false);
  const ts_mlp_rows mine = ts_rank_samples(t);
  ts_bags bags = make_bags(t, table, keys);
  float *from = t->scratch[table].rows;
  ts_bags_clear_empty(&bags, from);
  for (uint32_t first = 0; first < f->items; first += BAG_KEYS) {
    const void *rows[BAG_KEYS];
    const uint32_t n = TS_MIN(f->items - first, BAG_KEYS);
    for (uint32_t i = 0; i < n; i++) {
      const float *row = ts_exchange_value(x, table, f->of[first + i]);
      rows[i] = row;
      if (absent != NULL) *absent += row[plan->dim] == 0;
    }
    ts_bags_accumulate(&bags, &plain, rows, n, 0, from);
  }
  uint64_t stride;
  float *to = ts_model_rows(&t->model, which, plan->vector, &stride) + mine.first * stride;
  for (uint32_t r = 0; r < mine.rows; r++, to += stride, from += plan->dim) memcpy(to, from, plan->dim * sizeof *to);
}

static void spread_columns(ts_trainer *t, uint32_t table, uint32_t which, uint64_t *absent) {
  const ts_exchange *x = ts_rank_exchange(t);
  const ts_fold *f = &x->asked.folds[table];
  const uint32_t dim = t->options.tables.plans[table].dim;
  uint32_t step = 0;
  for (stretch s = {0}; next_stretch(t, table, &step, &s);) {
    uint64_t stride;
    float *to = ts_model_rows(&t->model, which, s.vector, &stride) + s.first * stride;
    for (uint32_t r = 0; r < s.rows; r++, to += stride) {
      const float *row = ts_exchange_value(x, table, f->of[s.item + r]);
      memcpy(to, row, dim * sizeof *to);
      if (absent != NULL) *absent += row[dim] == 0;
    }
  }
}

void ts_rank_spread(ts_trainer *t, uint32_t table, uint32_t which, const int64_t *keys, uint64_t *absent) {
  if (!ts_ranks_trains(t->over->group)) return;
  if (ts_table_is_bag(&t->options.tables.plans[table])) spread_bags(t, table, which, keys, absent);
  else spread_columns(t, table, which, absent);
}

/* Every key of a bag has its bag's gradient by the same factor, so one a sample is kept, in place of the bags. */
static void push_bags(ts_trainer *t, uint32_t table, uint32_t which) {
  const ts_table_plan *plan = &t->options.tables.plans[table];
  const ts_mlp_rows mine = ts_rank_samples(t);
  ts_fold *f = &ts_rank_exchange(t)->asked.folds[table];
  ts_bags bags = make_bags(t, table, t->batch->keys);
  float *to = t->scratch[table].rows;
  uint64_t stride, item = 0;
  const float *gradients = ts_model_gradients(&t->model, which, plan->vector, &stride) + mine.first * stride;
  for (uint32_t r = 0; r < mine.rows; r++) memcpy(to + (size_t)r * plan->dim, gradients + r * stride, plan->dim * sizeof *to);
  for (uint32_t r = 0; r < mine.rows; r++) {
    const uint64_t keys = bags.offsets[r + 1] - bags.offsets[r];
    if (keys == 0) continue;
    float *gradient = to + (size_t)r * plan->dim;
    const float factor = plan->combiner == TS_COMBINER_SUM    ? 1
                         : plan->combiner == TS_COMBINER_MEAN ? 1 / (float)keys
                                                              : 1 / sqrtf((float)keys);
    for (uint32_t d = 0; d < plan->dim; d++) gradient[d] *= factor;
    for (uint64_t i = 0; i < keys; i++) f->from[item++] = gradient;
  }
}

static void push_columns(ts_trainer *t, uint32_t table, uint32_t which) {
  ts_fold *f = &ts_rank_exchange(t)->asked.folds[table];
  uint32_t step = 0;
  for (stretch s = {0}; next_stretch(t, table, &step, &s);) {
    uint64_t stride;
    const float *gradients = ts_model_gradients(&t->model, which, s.vector, &stride) + s.first * stride;
    for (uint32_t r = 0; r < s.rows; r++) f->from[s.item + r] = gradients + r * stride;
  }
}

void ts_rank_push(ts_trainer *t, uint32_t table, uint32_t which) {
  if (!ts_ranks_trains(t->over->group)) return;
  (ts_table_is_bag(&t->options.tables.plans[table]) ? push_bags : push_columns)(t, table, which);
  ts_exchange_push(ts_rank_exchange(t), table);
}

int32_t ts_rank_update(ts_trainer *t, uint32_t table, ts_err err) {
  ts_exchange *x = ts_rank_exchange(t);
  if (!ts_ranks_owns(t->over->group)) return TS_OK;
  const ts_fold *f = &x->owned.folds[table];
  if (f->count == 0) return ts_table_skip_update(t->store, t->tables[table], err);
  const float *sums = ts_exchange_sums(x, table);
  return ts_table_update_strided(t->store, t->tables[table], f->keys, f->count, sums, t->options.tables.plans[table].dim, err);
}
