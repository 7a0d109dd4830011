/* ranks.c - opens ranks, counts and times their messages, sums over them, lets them agree. */
#include "ranks/ranks.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SAID 400u /* bytes of a message that others are told */

/* What a rank tells the others. */
typedef struct opinion {
  uint64_t word;
  int32_t status;
  uint32_t asks;
  char text[SAID];
} opinion;

int32_t ts_ranks_make(const ts_ranks_ops *ops, uint32_t servers, ts_ranks **out, ts_err err) {
  const uint32_t size = ops == NULL ? 1 : ops->size;
  *out = NULL;
  if (ops != NULL && ops->version != TS_RANKS_OPS_VERSION)
    return ts_fail(err, TS_EINVAL, "Cannot join the ranks: the shim is of version %u, the library of %u; run the set-up again",
                   ops->version, TS_RANKS_OPS_VERSION);
  if (size > TS_MOST_RANKS || servers >= size)
    return ts_fail(err, TS_EINVAL, "Cannot join the ranks: found %u ranks, %u of them servers; at most %u ranks are possible, "
                                   "and one must train", size, servers, TS_MOST_RANKS);
  const uint32_t trainers = size - servers;
  if (TS_MICRO_SHARDS % trainers != 0)
    return ts_fail(err, TS_EINVAL, "Cannot join the ranks: %u ranks train, but a batch has %u micro-shards: use 1, 2, 4 or 8",
                   trainers, TS_MICRO_SHARDS);
  ts_ranks *r = calloc(1, sizeof *r);
  if (r == NULL) return ts_fail(err, TS_ENOMEM, "Cannot join the ranks: out of memory");
  r->gathered = calloc(size, sizeof(opinion));
  if (!ts_message_times_open(&r->times, size) || r->gathered == NULL) {
    free(r->gathered);
    ts_message_times_close(&r->times);
    free(r);
    return ts_fail(err, TS_ENOMEM, "Cannot join the ranks: out of memory");
  }
  r->ops = ops == NULL ? (ts_ranks_ops){.size = 1, .library = "none"} : *ops;
  r->trainers = trainers;
  r->owners = servers == 0 ? size : servers;
  r->first_owner = size - r->owners;
  ts_owner_make(&r->owner);
  *out = r;
  return TS_OK;
}

/* What the shim links must be seen by the plugins that an MPI opens, so its names become global once it is known for a shim. */
static int32_t open_shim(const char *path, const ts_ranks_ops **ops, ts_err err) {
  void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (handle == NULL)
    return ts_fail(err, TS_EUNAVAILABLE,
                   "Cannot join the ranks: %s; install openmpi-bin and libopenmpi-dev, or mpich and libmpich-dev, and run the "
                   "set-up again", dlerror());
  ts_ranks_shim *open = NULL;
  void *symbol = dlsym(handle, TS_RANKS_SHIM);
  memcpy(&open, &symbol, sizeof open);
  if (open == NULL) {
    dlclose(handle);
    return ts_fail(err, TS_EUNAVAILABLE, "Cannot join the ranks: \"%s\" is no shim of ranks; run the set-up again", path);
  }
  dlopen(path, RTLD_NOW | RTLD_NOLOAD | RTLD_GLOBAL); /* it is open, so this cannot fail */
  char why[256] = "";
  *ops = open(why, sizeof why);
  return *ops != NULL ? TS_OK : ts_fail(err, TS_EUNAVAILABLE, "Cannot join the ranks: %s", why);
}

int32_t ts_ranks_open(const ts_config *config, ts_ranks **out, char *err_text, uint32_t err_cap) {
  ts_err err = {err_text, err_cap};
  if (out == NULL) return ts_fail(err, TS_EINVAL, "Cannot join the ranks: a place for them is needed");
  *out = NULL;
  ts_config_reader r = ts_config_read(config, "ranks", err);
  const char *shim = ts_config_text(&r, "shim", NULL);
  const uint32_t servers = (uint32_t)ts_config_u64(&r, "servers", 0, 0, TS_MOST_RANKS);
  static const char *const ways[] = {"poll", "yield", NULL};
  const uint32_t yields = ts_config_choice(&r, "waits", "poll", ways);
  int32_t status = ts_config_finish(&r);
  if (status != TS_OK) return status;
  const ts_ranks_ops *ops = NULL;
  status = shim == NULL ? TS_OK : open_shim(shim, &ops, err);
  if (status == TS_OK) status = ts_ranks_make(ops, servers, out, err);
  if (status == TS_OK && ops != NULL && ops->wait_by != NULL) ops->wait_by(ops->context, yields);
  if (status != TS_OK && ops != NULL) ops->end(ops->context);
  return status;
}

int32_t ts_ranks_close(ts_ranks *r) {
  if (r == NULL || !ts_owner_is_here(&r->owner)) return TS_OK;
  if (r->ops.end != NULL) r->ops.end(r->ops.context);
  ts_owner_free(&r->owner);
  ts_message_times_close(&r->times);
  free(r->gathered);
  free(r);
  return TS_OK;
}

int32_t ts_ranks_abort(ts_ranks *r, int32_t code) {
  if (r == NULL || !ts_owner_is_here(&r->owner)) return TS_EINVAL;
  if (r->ops.abort != NULL) r->ops.abort(r->ops.context, code);
  return TS_OK;
}

int32_t ts_ranks_describe(ts_ranks *r, char *out, uint64_t cap, uint64_t *needed) {
  if (r == NULL || !ts_owner_is_here(&r->owner)) return TS_EINVAL;
  ts_text text = {0};
  ts_text_add(&text, "rank=%u\nsize=%u\ntrainers=%u\nowners=%u\nlibrary=%s\n", r->ops.rank, r->ops.size, r->trainers, r->owners,
              r->ops.library);
  ts_text_add(&text, "messages=%llu\nsent_bytes=%llu\nreceived_bytes=%llu\nmessage_ns=%llu\n", (unsigned long long)r->calls,
              (unsigned long long)r->sent_bytes, (unsigned long long)r->received_bytes, (unsigned long long)r->ns);
  ts_text_add(&text, "waiting_ns=%llu\nmoving_ns=%llu\n", (unsigned long long)r->times.waiting_ns,
              (unsigned long long)r->times.moving_ns);
  return ts_text_return(&text, out, cap, needed);
}

/* ---- messages ---- */

int32_t ts_ranks_failed(const ts_ranks *lane, int code, const char *what, ts_err err) {
  const ts_ranks *r = lane->lane_of == NULL ? lane : lane->lane_of;
  char text[256] = "";
  if (code == 0) return TS_OK;
  if (code == TS_TIMES_DIFFER)
    return ts_fail(err, TS_EINTERNAL, "Cannot go on: rank %u of %u has not made as many messages as the others", r->ops.rank,
                   r->ops.size);
  r->ops.error_text(r->ops.context, code, text, sizeof text);
  return ts_fail(err, TS_EINTERNAL, "Cannot go on: rank %u of %u could not %s: %s", r->ops.rank, r->ops.size, what, text);
}

/* A message that ended with the carrier's `code`; the code of that, or of the comparison that follows. */
static int count(ts_ranks *r, uint32_t log, uint64_t sent, uint64_t received, uint64_t start, int code) {
  if (r->lane_of != NULL) return code; /* counted one by one */
  const uint64_t ns = ts_now_ns() - start;
  r->calls++;
  r->sent_bytes += sent;
  r->received_bytes += received;
  r->ns += ns;
  return code != 0 ? code : ts_message_times_add(&r->times, &r->ops, log, ns);
}

int ts_ranks_post(ts_ranks *r, uint32_t to, const void *send, uint64_t bytes) {
  const uint64_t start = ts_now_ns();
  const int code = r->ops.post(r->ops.context, to, send, bytes);
  r->calls++;
  r->sent_bytes += bytes;
  r->ns += ts_now_ns() - start;
  return code;
}

int ts_ranks_settle(ts_ranks *r, uint32_t to) {
  const uint64_t start = ts_now_ns();
  const int code = r->ops.settle(r->ops.context, to);
  r->ns += ts_now_ns() - start;
  return code;
}

int ts_ranks_next(ts_ranks *r, uint32_t *from) {
  const uint64_t start = ts_now_ns();
  const int code = r->ops.next(r->ops.context, r->trainers, from);
  r->ns += ts_now_ns() - start;
  return code;
}

int ts_ranks_take(ts_ranks *r, uint32_t from, void *receive, uint64_t bytes) {
  const uint64_t start = ts_now_ns();
  const int code = r->ops.take(r->ops.context, from, receive, bytes);
  r->received_bytes += bytes;
  r->ns += ts_now_ns() - start;
  return code;
}

int32_t ts_ranks_compare(ts_ranks *r, char *err_text, uint32_t err_cap) {
  const ts_err err = {err_text, err_cap};
  if (r == NULL) return ts_fail(err, TS_EINVAL, "Cannot compare times of messages: ranks are needed");
  const int32_t status = ts_owner_check(&r->owner, "group of ranks", err);
  if (status != TS_OK) return status;
  const int code = ts_message_times_compare(&r->times, &r->ops, r->trainers);
  return ts_ranks_failed(r, code, "compare times of messages", err);
}

int32_t ts_ranks_gather(ts_ranks *r, const void *send, uint64_t bytes, void *receive, ts_err err) {
  if (r->ops.gather == NULL) {
    memcpy(receive, send, bytes);
    return TS_OK;
  }
  const uint64_t start = ts_now_ns(), others = r->ops.size - 1;
  int code = r->ops.gather(r->ops.context, send, bytes, receive);
  code = count(r, TS_TIMES_OF_ALL, bytes * others, bytes * others, start, code);
  return ts_ranks_failed(r, code, "gather from all ranks", err);
}

int32_t ts_ranks_alltoall(ts_ranks *r, const void *send, uint64_t bytes, void *receive, ts_err err) {
  if (r->ops.alltoall == NULL) {
    memcpy(receive, send, bytes);
    return TS_OK;
  }
  const uint64_t start = ts_now_ns(), others = r->ops.size - 1;
  int code = r->ops.alltoall(r->ops.context, send, bytes, receive);
  code = count(r, TS_TIMES_OF_ALL, bytes * others, bytes * others, start, code);
  return ts_ranks_failed(r, code, "exchange counts", err);
}

int32_t ts_ranks_alltoallv(ts_ranks *r, const void *send, const uint64_t *send_bytes, void *receive,
                           const uint64_t *receive_bytes, ts_err err) {
  if (r->ops.alltoallv == NULL) {
    memcpy(receive, send, send_bytes[0]);
    return TS_OK;
  }
  const uint64_t start = ts_now_ns();
  uint64_t sent = 0, received = 0;
  for (uint32_t i = 0; i < r->ops.size; i++) {
    if (i == r->ops.rank) continue;
    sent += send_bytes[i];
    received += receive_bytes[i];
  }
  int code = r->ops.alltoallv(r->ops.context, send, send_bytes, receive, receive_bytes);
  code = count(r, TS_TIMES_OF_ALL, sent, received, start, code);
  return ts_ranks_failed(r, code, "exchange rows", err);
}

/* ---- sums ---- */

static int32_t swap(ts_ranks *r, uint32_t partner, const float *send, uint64_t sent, float *receive, uint64_t received,
                    ts_err err) {
  const uint64_t start = ts_now_ns(), size = sizeof(float);
  int code = r->ops.swap(r->ops.context, partner, send, sent * size, receive, received * size);
  code = count(r, ts_times_of_swaps(r->ops.rank ^ partner), sent * size, received * size, start, code);
  return ts_ranks_failed(r, code, "add up gradients", err);
}

/* Down: with the neighbours at distance 1, 2, 4, each keeps half of what it has and adds the other's, so that the pairs of
 * the tree are added in their order. Up: the same ways back, with sums. */
int32_t ts_ranks_sum(ts_ranks *r, float *values, uint64_t n, float *scratch, ts_err err) {
  struct {
    uint64_t first, end;
  } kept[8] = {{0, n}};
  uint32_t level = 0;
  const uint32_t me = r->ops.rank;
  for (uint32_t distance = 1; distance < r->trainers; distance *= 2, level++) {
    const uint64_t first = kept[level].first, end = kept[level].end, middle = first + (end - first) / 2;
    const bool lower = (me & distance) == 0;
    const uint64_t mine = lower ? first : middle, mine_end = lower ? middle : end;
    const uint64_t theirs = lower ? middle : first, theirs_end = lower ? end : middle;
    int32_t status = swap(r, me ^ distance, values + theirs, theirs_end - theirs, scratch, mine_end - mine, err);
    if (status != TS_OK) return status;
    for (uint64_t i = mine; i < mine_end; i++)
      values[i] = lower ? values[i] + scratch[i - mine] : scratch[i - mine] + values[i];
    kept[level + 1].first = mine;
    kept[level + 1].end = mine_end;
  }
  while (level-- > 0) {
    const uint32_t partner = me ^ (1u << level);
    const uint64_t mine = kept[level + 1].first, mine_end = kept[level + 1].end;
    const uint64_t theirs = mine == kept[level].first ? mine_end : kept[level].first;
    const uint64_t theirs_end = mine == kept[level].first ? kept[level].end : mine;
    int32_t status = swap(r, partner, values + mine, mine_end - mine, values + theirs, theirs_end - theirs, err);
    if (status != TS_OK) return status;
  }
  return TS_OK;
}

/* ---- agreement ---- */

int32_t ts_ranks_agree(ts_ranks *r, int32_t status, uint64_t word, const char *what, uint32_t *asks, ts_err err) {
  if (r->ops.gather == NULL) return status;
  opinion mine = {.word = word, .status = status, .asks = asks != NULL && *asks != 0}, *all = r->gathered;
  if (status != TS_OK && err.text != NULL) snprintf(mine.text, sizeof mine.text, "%s", err.text);
  const int code = r->ops.gather(r->ops.context, &mine, sizeof mine, all);
  if (code != 0) return ts_ranks_failed(r, code, "agree with the others", err);
  if (asks != NULL) {
    *asks = 0;
    for (uint32_t i = r->ops.size; i-- > 0;)
      if (all[i].asks != 0) *asks = i + 1;
  }
  for (uint32_t i = 0; i < r->ops.size; i++)
    if (all[i].status != TS_OK) return ts_fail(err, all[i].status, "Rank %u of %u: %s", i, r->ops.size, all[i].text);
  for (uint32_t i = 1; i < r->ops.size; i++)
    if (all[i].word != all[0].word)
      return ts_fail(err, TS_EINVAL, "Cannot train on %u ranks: rank %u has another %s than rank 0; start every rank with the same",
                     r->ops.size, i, what);
  return TS_OK;
}
