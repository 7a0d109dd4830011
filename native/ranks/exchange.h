/* exchange.h - rows of a step between the ranks that train and the ranks that own them.
 *
 *   a trainer:  its distinct keys, by table and owner ── keys ──→  an owner: distinct keys of all trainers
 *               their rows                            ←── rows ──            looked up once
 *               one gradient a key, by the tree    ── gradients ─→           one gradient a key, by the tree: one step
 *
 * Where tables count lookups (admission, frequencies), a number goes with each key: how often it occurs.
 *
 * Three messages a step, and one of counts before them, each for all tables together, or one a table where they are not
 * fused. Values of a key are `dim` floats, in rows on their way back also half as many bytes (bf16).
 *
 * Rows may come in two parts: first those that another step, which is under way, does not change, then the others. Between them
 * goes a byte for each key that says in which part its row comes. */
#ifndef TS_RANKS_EXCHANGE_H
#define TS_RANKS_EXCHANGE_H

#include "ranks/fold.h"
#include "ranks/ranks.h"

typedef struct ts_exchange_options {
  uint32_t tables;
  const uint32_t *dims;  /* of the tables */
  const uint32_t *items; /* of the tables: keys of a whole batch, duplicates included */
  const uint32_t *own;   /* of the tables: of them, those of this rank's part of the batch, at most */
  bool separate;         /* a message for each table */
  bool duplicates;       /* a key and a gradient for each sample, instead of one for each distinct key */
  bool bf16;             /* rows are sent in BF16, and arrive rounded so on every rank, the owner's too */
  bool parts;            /* rows may come in two parts (ts_exchange_split) */
  bool counted;          /* owners learn how often each key occurs in the batch */
} ts_exchange_options;

/* One side of it: what lies where in its messages. Of rank r and table t it has counts[r * tables + t] keys; they lie at key
 * at[r * tables + t], their values at float value_at[...]. */
typedef struct ts_exchange_side {
  uint32_t *counts;
  uint64_t *at, *value_at;
  int64_t *keys;
  uint32_t *times; /* where they are counted: items of each key */
  uint8_t *later; /* where rows come in parts: whether a key's comes in the second */
  float *values;  /* rows, then gradients */
  ts_fold *folds; /* of the tables */
  uint32_t *shards; /* with duplicates: of rank r and table t, keys of each micro-shard, TS_MICRO_SHARDS numbers */
} ts_exchange_side;

typedef struct ts_exchange {
  ts_ranks *ranks;
  ts_exchange_options options;
  uint32_t *dims, extra; /* floats of a key: dims[t] + extra */
  ts_exchange_side asked, owned;
  float *rows;           /* of the owner's distinct keys; then their gradients */
  uint64_t *key_at;      /* of the tables: the first of their keys' places */
  uint32_t *times;       /* where they are counted: items of the owner's distinct keys, in the order of their rows */
  uint64_t *row_at;      /* of the tables, in floats */
  float *scratch;        /* tables x TS_FOLD_LEVELS x widest row */
  uint64_t *bytes[2];    /* of a message, by rank */
  uint16_t *halves[2];   /* a message in BF16: out and in */
  uint32_t widest;

  /* Rows in parts. Of an owner's distinct keys, `firsts` of a table are in the first part; the row of key i is number
   * places[key_at + i], and the key of row i is part_keys[key_at + i]. NULL: rows lie in the order of their keys. */
  uint32_t *firsts, *places;
  int64_t *part_keys;
  uint32_t *part_times; /* while times are put in that order */
  void *packed[2]; /* a message that has one part: out and in */
  bool split;      /* this step's rows come in two parts */
} ts_exchange;

/* Errors: TS_ENOMEM. After any result ts_exchange_close frees what was made. */
int32_t ts_exchange_open(ts_exchange *exchange, ts_ranks *ranks, const ts_exchange_options *options, ts_err err);
void ts_exchange_close(ts_exchange *exchange);

/* A trainer's keys of a table: ts_fold_begin(&asked.folds[table]), ts_exchange_add each, micro-shard by micro-shard counting
 * from this rank's first, then ts_exchange_ask. Tables side by side. */
void ts_exchange_add(ts_exchange *exchange, uint32_t table, int64_t key, uint32_t shard);
void ts_exchange_ask(ts_exchange *exchange, uint32_t table);
/* All tables asked: lays their keys out for the message; `extra` floats come with each row. */
void ts_exchange_pack(ts_exchange *exchange, uint32_t extra);
/* Sends keys. */
int32_t ts_exchange_keys(ts_exchange *exchange, ts_err err);
/* An owner makes the keys of a table distinct: they are in owned.folds[table]. Tables side by side. */
void ts_exchange_collect(ts_exchange *exchange, uint32_t table);
/* Then, if rows come in two parts: the second has those of the keys that `running` asked this owner for as well. Every rank
 * tells the others with ts_exchange_send_parts; without it all rows are in the first part, 0. */
void ts_exchange_split(ts_exchange *exchange, uint32_t table, const ts_exchange *running);
int32_t ts_exchange_send_parts(ts_exchange *exchange, ts_err err);
/* Where rows of a part belong, `stride` floats apart, and their `count` keys; how often each occurs, NULL where that is not
 * counted. */
float *ts_exchange_rows_of(const ts_exchange *exchange, uint32_t table, uint32_t part, const int64_t **keys,
                           const uint32_t **times, uint32_t *count, uint64_t *stride);
void ts_exchange_reply(ts_exchange *exchange, uint32_t table, uint32_t part); /* rows are there; tables side by side */
/* Sends a part; of rows in one part the second is no message. */
int32_t ts_exchange_send_rows(ts_exchange *exchange, uint32_t part, ts_err err);
/* Keys that this rank asked for whose rows come in each part. */
void ts_exchange_count_parts(const ts_exchange *exchange, uint64_t *counts);
/* Values of a trainer's distinct key number `key` of a table: its row; later its gradient. */
float *ts_exchange_value(const ts_exchange *exchange, uint32_t table, uint32_t key);
/* A trainer's gradients: asked.folds[table] has `from` of its items; sums them. Tables side by side. */
void ts_exchange_push(ts_exchange *exchange, uint32_t table);
int32_t ts_exchange_send_gradients(ts_exchange *exchange, ts_err err);
/* An owner's sums, in the order of owned.folds[table].keys. Tables side by side. */
const float *ts_exchange_sums(ts_exchange *exchange, uint32_t table);

/* ---- for exchange*.c ---- */

static inline uint32_t ts_exchange_width(const ts_exchange *e, uint32_t table) { return e->dims[table] + e->extra; }
bool ts_exchange_open_parts(ts_exchange *exchange, uint64_t keys, uint64_t values); /* of all tables; false: no memory */
void ts_exchange_close_parts(ts_exchange *exchange);
int32_t ts_exchange_send_part(ts_exchange *exchange, uint32_t part, ts_err err);

#endif
