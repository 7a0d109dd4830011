/* memory_ranks.h - ranks as threads of one process, for tests: each has the functions that a shim has (ranks/ops.h). Messages
 * pass through a box from every rank to every other; a rank that aborts ends the waits of all. */
#ifndef TS_TEST_MEMORY_RANKS_H
#define TS_TEST_MEMORY_RANKS_H

#include "ranks/ranks.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_RANKS 12u

typedef struct memory_box {
  const void *bytes; /* NULL: empty */
  uint64_t count;
} memory_box;

/* A message from one rank to another that was posted and not yet taken. */
typedef struct memory_letter {
  struct memory_letter *next;
  uint64_t bytes;
  char content[];
} memory_letter;

typedef struct memory_job memory_job;
typedef struct memory_rank {
  memory_job *job;
  uint32_t number, served;
} memory_rank;

struct memory_job {
  pthread_mutex_t lock;
  pthread_cond_t changed;
  uint32_t size;
  bool aborted;
  int wrong; /* messages whose length was not what the other expected */
  memory_box boxes[MOST_RANKS][MOST_RANKS]; /* from, to */
  memory_letter *letters[MOST_RANKS][MOST_RANKS]; /* from, to: in their order */
  /* NULL, or called by who posts or takes, with no lock held: a test that wants a rank to be slow holds it here. */
  void (*before)(void *context, uint32_t rank, bool posts);
  void *before_context;
  memory_rank ranks[MOST_RANKS];
};

/* Puts, takes and waits until what was put is taken; `partners` by bits. */
static inline int memory_pass(memory_rank *r, uint32_t partners, const char *send, const uint64_t *sent, char *receive,
                              const uint64_t *received) {
  memory_job *j = r->job;
  const char *from = send;
  char *to = receive;
  pthread_mutex_lock(&j->lock);
  for (uint32_t p = 0; p < j->size; from += sent[p++])
    if (partners >> p & 1) j->boxes[r->number][p] = (memory_box){from, sent[p]};
  pthread_cond_broadcast(&j->changed);
  for (uint32_t p = 0; p < j->size; to += received[p++]) {
    if (!(partners >> p & 1)) continue;
    memory_box *box = &j->boxes[p][r->number];
    while (box->bytes == NULL && !j->aborted) pthread_cond_wait(&j->changed, &j->lock);
    if (j->aborted) break;
    j->wrong += box->count != received[p];
    memcpy(to, box->bytes, box->count < received[p] ? box->count : received[p]);
    *box = (memory_box){0};
    pthread_cond_broadcast(&j->changed);
  }
  for (uint32_t p = 0; p < j->size && !j->aborted; p++)
    while (j->boxes[r->number][p].bytes != NULL && (partners >> p & 1) && !j->aborted) pthread_cond_wait(&j->changed, &j->lock);
  const int code = j->aborted ? 1 : 0;
  pthread_mutex_unlock(&j->lock);
  return code;
}

static inline int memory_alltoallv(void *context, const void *send, const uint64_t *sent, void *receive,
                                   const uint64_t *received) {
  memory_rank *r = context;
  return memory_pass(r, (1u << r->job->size) - 1, send, sent, receive, received);
}

static inline int memory_alltoall(void *context, const void *send, uint64_t bytes, void *receive) {
  uint64_t each[MOST_RANKS];
  for (uint32_t i = 0; i < MOST_RANKS; i++) each[i] = bytes;
  return memory_alltoallv(context, send, each, receive, each);
}

static inline int memory_gather(void *context, const void *send, uint64_t bytes, void *receive) {
  memory_rank *r = context;
  char *all = malloc(bytes * r->job->size);
  if (all == NULL) return 1;
  for (uint32_t i = 0; i < r->job->size; i++) memcpy(all + i * bytes, send, bytes);
  const int code = memory_alltoall(context, all, bytes, receive);
  free(all);
  return code;
}

static inline int memory_swap(void *context, uint32_t partner, const void *send, uint64_t sent_bytes, void *receive,
                              uint64_t received_bytes) {
  uint64_t sent[MOST_RANKS] = {0}, received[MOST_RANKS] = {0};
  sent[partner] = sent_bytes;
  received[partner] = received_bytes;
  return memory_pass(context, 1u << partner, send, sent, receive, received);
}

static inline int memory_post(void *context, uint32_t to, const void *send, uint64_t bytes) {
  memory_rank *r = context;
  memory_job *j = r->job;
  if (j->before != NULL) j->before(j->before_context, r->number, true);
  memory_letter *letter = malloc(sizeof *letter + bytes);
  if (letter == NULL) return 1;
  *letter = (memory_letter){.bytes = bytes};
  memcpy(letter->content, send, bytes);
  pthread_mutex_lock(&j->lock);
  memory_letter **at = &j->letters[r->number][to];
  while (*at != NULL) at = &(*at)->next;
  *at = letter;
  pthread_cond_broadcast(&j->changed);
  const int code = j->aborted ? 1 : 0;
  pthread_mutex_unlock(&j->lock);
  return code;
}

static inline int memory_settle(void *context, uint32_t to) { /* what is posted was copied */
  (void)context;
  (void)to;
  return 0;
}

static inline int memory_take(void *context, uint32_t from, void *receive, uint64_t bytes) {
  memory_rank *r = context;
  memory_job *j = r->job;
  if (j->before != NULL) j->before(j->before_context, r->number, false);
  pthread_mutex_lock(&j->lock);
  memory_letter **at = &j->letters[from][r->number];
  while (*at == NULL && !j->aborted) pthread_cond_wait(&j->changed, &j->lock);
  memory_letter *letter = j->aborted ? NULL : *at;
  if (letter != NULL) *at = letter->next;
  if (letter != NULL) j->wrong += letter->bytes != bytes;
  pthread_mutex_unlock(&j->lock);
  if (letter != NULL) memcpy(receive, letter->content, letter->bytes < bytes ? letter->bytes : bytes);
  free(letter);
  return letter == NULL;
}

static inline int memory_next(void *context, uint32_t ranks, uint32_t *from) {
  memory_rank *r = context;
  memory_job *j = r->job;
  bool found = false;
  pthread_mutex_lock(&j->lock);
  while (!found && !j->aborted) {
    for (uint32_t i = 1; i <= ranks && !found; i++) {
      *from = (r->served + i) % ranks;
      found = j->letters[*from][r->number] != NULL;
    }
    if (!found) pthread_cond_wait(&j->changed, &j->lock);
  }
  if (found) r->served = *from;
  const int code = j->aborted ? 1 : 0;
  pthread_mutex_unlock(&j->lock);
  return code;
}

static inline void memory_text(void *context, int code, char *out, uint32_t cap) {
  (void)context;
  snprintf(out, cap, "a rank is gone (%d)", code);
}

static inline void memory_abort(void *context, int code) {
  memory_job *j = ((memory_rank *)context)->job;
  (void)code;
  pthread_mutex_lock(&j->lock);
  j->aborted = true;
  pthread_cond_broadcast(&j->changed);
  pthread_mutex_unlock(&j->lock);
}

static inline void memory_start(memory_job *job, uint32_t size) {
  memset(job, 0, sizeof *job);
  pthread_mutex_init(&job->lock, NULL);
  pthread_cond_init(&job->changed, NULL);
  job->size = size;
  for (uint32_t i = 0; i < size; i++) job->ranks[i] = (memory_rank){.job = job, .number = i};
}

static inline void memory_end(memory_job *job) {
  for (uint32_t from = 0; from < job->size; from++)
    for (uint32_t to = 0; to < job->size; to++)
      for (memory_letter *letter = job->letters[from][to], *next; letter != NULL; letter = next) {
        next = letter->next;
        free(letter);
        job->wrong += !job->aborted; /* nobody took it */
      }
  pthread_mutex_destroy(&job->lock);
  pthread_cond_destroy(&job->changed);
}

static inline ts_ranks_ops memory_ops(memory_job *job, uint32_t rank) {
  return (ts_ranks_ops){.version = TS_RANKS_OPS_VERSION,
                        .rank = rank,
                        .size = job->size,
                        .library = "threads of one process",
                        .context = &job->ranks[rank],
                        .gather = memory_gather,
                        .alltoall = memory_alltoall,
                        .alltoallv = memory_alltoallv,
                        .swap = memory_swap,
                        .post = memory_post,
                        .settle = memory_settle,
                        .take = memory_take,
                        .next = memory_next,
                        .error_text = memory_text,
                        .abort = memory_abort};
}

#endif
