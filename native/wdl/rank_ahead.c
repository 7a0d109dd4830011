/* rank_ahead.c - over ranks, what is done for the next batch while a step runs.
 *
 *   keys                sent while this step's micro-shards compute, by the courier (ranks/courier.h)
 *   TS_AHEAD_ROWS       rows that this step does not change are looked up and sent before its update, the others after it: the
 *                       owner knows which, having the keys of both steps. Results are as without
 *   TS_AHEAD_STALE      all rows are, so that they miss exactly this step's update (asynchronous embedding)
 *
 * Gradients and these rows are sent while dense gradients are computed. A lookup that fails is told by the step that needs its
 * rows, before anything is updated. */
#include "wdl/trainer.h"

static ts_exchange *next_exchange(ts_trainer *t) { return &t->over->exchange[(t->step + 1) & 1]; }

void ts_rank_ahead_ask(void *context, uint32_t table) {
  ts_trainer *t = context;
  if (t->next != NULL) ts_rank_ask(t, next_exchange(t), table, t->next->keys);
}

static void send_keys(void *context) {
  ts_trainer *t = context;
  if (!ts_rank_silent(t)) ts_rank_said(t, ts_exchange_keys(next_exchange(t), ts_rank_message_err(t)));
}

void ts_rank_ahead_keys(void *context, uint32_t part) {
  ts_trainer *t = context;
  (void)part;
  if (t->next == NULL) return;
  ts_exchange_pack(next_exchange(t), 0);
  ts_courier_begin(t->over->courier, send_keys, t);
}

void ts_rank_ahead_serve(void *context, uint32_t table) {
  ts_trainer *t = context;
  const ts_ahead way = t->options.ranks_ahead;
  ts_exchange *next = next_exchange(t);
  t->over->ahead_status[table] = TS_OK;
  if (t->next == NULL || ts_rank_silent(t) || !ts_ranks_owns(t->over->group)) return;
  ts_exchange_collect(next, table);
  if (way == TS_AHEAD_KEYS) return;
  if (way == TS_AHEAD_ROWS) ts_exchange_split(next, table, ts_rank_exchange(t));
  t->over->ahead_status[table] =
      ts_rank_look_up(t, next, table, 0, (ts_err){t->over->ahead_message[table], sizeof t->over->ahead_message[table]});
}

static void send_gradients_and_rows(void *context) {
  ts_trainer *t = context;
  const ts_ahead way = t->options.ranks_ahead;
  const ts_err err = ts_rank_message_err(t);
  ts_exchange *next = next_exchange(t);
  if (!ts_rank_silent(t)) ts_rank_said(t, ts_exchange_send_gradients(ts_rank_exchange(t), err));
  if (t->next == NULL || way == TS_AHEAD_KEYS) return;
  if (!ts_rank_silent(t) && way == TS_AHEAD_ROWS) ts_rank_said(t, ts_exchange_send_parts(next, err));
  if (!ts_rank_silent(t)) ts_rank_said(t, ts_exchange_send_rows(next, 0, err));
}

void ts_rank_ahead_send(void *context, uint32_t part) {
  ts_trainer *t = context;
  (void)part;
  ts_courier_begin(t->over->courier, send_gradients_and_rows, t);
}

void ts_rank_ahead_wait(void *context, uint32_t part) {
  ts_trainer *t = context;
  (void)part;
  ts_courier_wait(t->over->courier);
}
