/* exchange.c - what carrying a step's rows between ranks costs, against bare all-to-all messages of the same bytes. Run by
 * mpirun, each process a rank:
 *
 *   ranks_exchange <shim> <rounds> <tables> <batch> <dim> <vocabulary of a table> [<servers> <poll | yield>]
 *
 * Keys are skewed: key = vocabulary * u^3 for u uniform. A time is that of the slowest rank, messages alone and what lays them
 * out. All ranks begin each message together, here and in the floor: a rank that comes late makes the others wait, which on a
 * machine with other work costs them their processor, and says nothing about messages. Finding distinct keys and the rows themselves are not in it. Ways take turns, and in each the floor has one right before
 * or after it, with the same memory in the caches. Rank 0 prints "name=value", times in nanoseconds: of each way, of its floor
 * ("-floor"), the bytes it sent ("-bytes"); "keys" that it asked for, and "latency", of a message of a few bytes. */
#include "ranks/exchange.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char text[512];

static void check(int32_t status) {
  if (status == TS_OK) return;
  fprintf(stderr, "%s\n", text);
  exit(1);
}
#define TRY(call) check(call)
#define ERR ((ts_err){text, sizeof text})

enum { FUSED, SEPARATE, ALL, BF16, WAYS };
static const char *const names[WAYS] = {"fused", "separate", "all", "bf16"};

typedef struct bench {
  ts_ranks *ranks;
  uint32_t tables, items, dim;
  uint64_t vocabulary;
} bench;

/* All ranks begin together; the slowest one's time. */
static uint64_t slowest(const bench *b, uint64_t ns) {
  uint64_t all[TS_MOST_RANKS], most = 0;
  TRY(ts_ranks_gather(b->ranks, &ns, sizeof ns, all, ERR));
  for (uint32_t r = 0; r < b->ranks->ops.size; r++) most = TS_MAX(most, all[r]);
  return most;
}

static void ask(const bench *b, ts_exchange *x, uint32_t round) {
  for (uint32_t t = 0; t < b->tables; t++) {
    ts_fold_begin(&x->asked.folds[t]);
    for (uint32_t i = 0; i < b->items && ts_ranks_trains(b->ranks); i++) {
      const double u = ts_unit(ts_random64(b->ranks->ops.rank, round, (uint64_t)t * b->items + i));
      ts_exchange_add(x, t, (int64_t)((double)b->vocabulary * u * u * u), i * ts_ranks_shards(b->ranks) / b->items);
    }
    ts_exchange_ask(x, t);
  }
}

/* What an owner does between keys and rows; in no time. */
static void answer(const bench *b, ts_exchange *x) {
  for (uint32_t t = 0; t < b->tables; t++) {
    ts_exchange_collect(x, t);
    ts_exchange_reply(x, t, 0);
  }
}

static uint64_t exchange(const bench *b, ts_exchange *x) {
  uint64_t ns = 0, start;
  start = ts_now_ns();
  ts_exchange_pack(x, 0);
  ns += ts_now_ns() - start;
  slowest(b, 0);
  start = ts_now_ns();
  TRY(ts_exchange_keys(x, ERR));
  ns += ts_now_ns() - start;
  answer(b, x);
  slowest(b, 0);
  start = ts_now_ns();
  TRY(ts_exchange_send_rows(x, 0, ERR));
  ns += ts_now_ns() - start;
  slowest(b, 0);
  start = ts_now_ns();
  TRY(ts_exchange_send_gradients(x, ERR));
  ns += ts_now_ns() - start;
  return slowest(b, ns);
}

/* Messages of the same bytes, out of the same memory and into it; before the keys their counts, without which nobody knows how
 * many bytes to receive. The work around messages is done as well, in no time: processors and caches are as they are there. */
static uint64_t floor_of(const bench *b, ts_exchange *x) {
  uint64_t ns = 0, sent[2][TS_MOST_RANKS] = {{0}}, received[2][TS_MOST_RANKS] = {{0}};
  const uint32_t size = b->ranks->ops.size;
  for (uint32_t r = 0; r < size; r++)
    for (uint32_t t = 0; t < b->tables; t++) {
      const uint64_t asked = x->asked.counts[r * b->tables + t], owned = x->owned.counts[r * b->tables + t];
      sent[0][r] += asked * sizeof(int64_t);
      received[0][r] += owned * sizeof(int64_t);
      sent[1][r] += asked * b->dim * sizeof(float);
      received[1][r] += owned * b->dim * sizeof(float);
    }
  ts_exchange_pack(x, 0);
  for (uint32_t message = 0; message < 3; message++) {
    uint64_t half[2][TS_MOST_RANKS];
    for (uint32_t r = 0; r < size; r++) { /* rows go the other way, in BF16 half as many bytes */
      const uint64_t *from = message == 0 ? sent[0] : message == 1 ? received[1] : sent[1];
      const uint64_t *to = message == 0 ? received[0] : message == 1 ? sent[1] : received[1];
      const uint32_t less = message == 1 && x->options.bf16 ? 2 : 1;
      half[0][r] = from[r] / less;
      half[1][r] = to[r] / less;
    }
    const ts_exchange_side *out = message == 1 ? &x->owned : &x->asked, *in = message == 1 ? &x->asked : &x->owned;
    slowest(b, 0);
    const uint64_t start = ts_now_ns();
    if (message == 0) TRY(ts_ranks_alltoall(b->ranks, out->counts, b->tables * sizeof(uint32_t), in->counts, ERR));
    if (message == 0) TRY(ts_ranks_alltoallv(b->ranks, out->keys, half[0], in->keys, half[1], ERR));
    else TRY(ts_ranks_alltoallv(b->ranks, out->values, half[0], in->values, half[1], ERR));
    ns += ts_now_ns() - start;
    if (message == 0) answer(b, x);
  }
  return slowest(b, ns);
}

/* A message to every rank of so few bytes that only its way counts. */
static uint64_t latency(const bench *b) {
  uint64_t sent[TS_MOST_RANKS] = {0}, received[TS_MOST_RANKS];
  slowest(b, 0);
  const uint64_t start = ts_now_ns();
  TRY(ts_ranks_alltoall(b->ranks, sent, sizeof *sent, received, ERR));
  return slowest(b, ts_now_ns() - start);
}

int main(int argc, char **argv) {
  if (argc != 7 && argc != 9) {
    fprintf(stderr, "Usage: ranks_exchange <shim> <rounds> <tables> <batch> <dim> <vocabulary> [<servers> <poll | yield>]\n");
    return 2;
  }
  const uint32_t rounds = (uint32_t)atoi(argv[2]), batch = (uint32_t)atoi(argv[4]);
  bench b = {.tables = (uint32_t)atoi(argv[3]), .dim = (uint32_t)atoi(argv[5]), .vocabulary = strtoull(argv[6], NULL, 10)};
  ts_config *config;
  check(ts_config_create(&config));
  check(ts_config_set(config, "shim", argv[1], text, sizeof text));
  if (argc == 9) check(ts_config_set(config, "servers", argv[7], text, sizeof text));
  if (argc == 9) check(ts_config_set(config, "waits", argv[8], text, sizeof text));
  TRY(ts_ranks_open(config, &b.ranks, text, sizeof text));
  ts_config_free(config);
  b.items = batch / b.ranks->trainers;
  uint32_t *dims = calloc(b.tables, sizeof *dims), *items = calloc(b.tables, sizeof *items), *own = calloc(b.tables, sizeof *own);
  if (dims == NULL || items == NULL || own == NULL) return 1;
  for (uint32_t t = 0; t < b.tables; t++) {
    dims[t] = b.dim;
    items[t] = batch;
    own[t] = b.items;
  }
  static ts_exchange ways[WAYS];
  for (uint32_t w = 0; w < WAYS; w++) {
    const ts_exchange_options o = {.tables = b.tables,
                                   .dims = dims,
                                   .items = items,
                                   .own = own,
                                   .separate = w == SEPARATE,
                                   .duplicates = w == ALL,
                                   .bf16 = w == BF16};
    TRY(ts_exchange_open(&ways[w], b.ranks, &o, ERR));
  }
  for (uint32_t round = 0; round < rounds + 2; round++) /* the first two warm up */
    for (uint32_t i = 0; i < WAYS; i++) {
      const uint32_t w = (i + round) % WAYS;
      ask(&b, &ways[w], round);
      exchange(&b, &ways[w]); /* brings its memory into the caches, for both that follow */
      const bool first = round % 2 == 0;
      uint64_t least = first ? 0 : floor_of(&b, &ways[w]);
      const uint64_t before = b.ranks->sent_bytes, ns = exchange(&b, &ways[w]), sent = b.ranks->sent_bytes - before;
      if (first) least = floor_of(&b, &ways[w]);
      const uint64_t way = latency(&b);
      if (b.ranks->ops.rank != 0 || round < 2) continue;
      uint64_t keys = 0;
      for (uint32_t p = 0; p < b.tables * b.ranks->ops.size; p++) keys += ways[w].asked.counts[p];
      if (w == FUSED) printf("keys=%llu\nlatency=%llu\n", (unsigned long long)keys, (unsigned long long)way);
      printf("%s=%llu\n%s-floor=%llu\n%s-bytes=%llu\n", names[w], (unsigned long long)ns, names[w], (unsigned long long)least,
             names[w], (unsigned long long)sent);
    }
  for (uint32_t w = 0; w < WAYS; w++) ts_exchange_close(&ways[w]);
  ts_ranks_close(b.ranks);
  free(dims);
  free(items);
  free(own);
  return 0;
}
