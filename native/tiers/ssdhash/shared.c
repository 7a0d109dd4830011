/* shared.c - memory that the tables of one tier use in turn: what a read, a compaction or a write under way needs is
 * idle most of the time, and a store may have many tables. It is of the tier's options, which outlive the tables, and
 * goes with the last of these. */
#include "base/sync_point.h"
#include "tiers/ssdhash/table.h"

void ts_ssd_join(ts_ssd_table *t) {
  pthread_mutex_lock(&t->shared->lock);
  t->shared->tables++;
  pthread_mutex_unlock(&t->shared->lock);
}

void ts_ssd_leave(ts_ssd_table *t) {
  ts_ssd_shared *shared = t->shared;
  pthread_mutex_lock(&shared->lock);
  const bool last = --shared->tables == 0;
  for (uint32_t i = 0; last && i < shared->idle_buffers; i++)
    ts_ssd_give_memory(t, shared->buffers[i].memory, shared->buffers[i].bytes);
  if (last) {
    if (shared->last.memory != NULL) ts_ssd_give_memory(t, shared->last.memory, shared->last.bytes);
    shared->last = (ts_ssd_buffer){0};
    shared->idle_buffers = 0;
    ts_ssd_readers_free(t);
  }
  pthread_mutex_unlock(&shared->lock);
}

ts_ssd_buffer ts_ssd_take_buffer(ts_ssd_table *t, uint64_t bytes) {
  ts_ssd_shared *shared = t->shared;
  ts_ssd_buffer buffer = {.bytes = TS_ROUND_UP(bytes, TS_SSD_BLOCK)};
  pthread_mutex_lock(&shared->lock);
  for (uint32_t i = 0; i < shared->idle_buffers && buffer.memory == NULL; i++) {
    /* Not one that is much too large: tables of long rows want it back. */
    if (shared->buffers[i].bytes < buffer.bytes || shared->buffers[i].bytes / 2 > buffer.bytes) continue;
    buffer = shared->buffers[i];
    shared->buffers[i] = shared->buffers[--shared->idle_buffers];
  }
  pthread_mutex_unlock(&shared->lock);
  if (buffer.memory == NULL) buffer.memory = ts_ssd_take_memory(t, buffer.bytes);
  return buffer;
}

void ts_ssd_give_buffer(ts_ssd_table *t, ts_ssd_buffer *buffer) {
  if (buffer->memory == NULL) return;
  ts_ssd_shared *shared = t->shared;
  pthread_mutex_lock(&shared->lock);
  if (shared->idle_buffers < TS_SSD_IDLE_BUFFERS)
    shared->buffers[shared->idle_buffers++] = *buffer;
  else
    ts_ssd_give_memory(t, buffer->memory, buffer->bytes);
  pthread_mutex_unlock(&shared->lock);
  *buffer = (ts_ssd_buffer){0};
}

bool ts_ssd_keep_last(ts_ssd_table *t) {
  ts_ssd_shared *shared = t->shared;
  const uint64_t bytes = TS_ROUND_UP(t->chunk_memory, TS_SSD_BLOCK);
  pthread_mutex_lock(&shared->lock);
  while (shared->last_taken && shared->last.bytes < bytes) pthread_cond_wait(&shared->last_returned, &shared->lock);
  if (shared->last.bytes < bytes) {
    unsigned char *memory = ts_ssd_take_needed(t, bytes);
    if (memory != NULL) {
      if (shared->last.memory != NULL) ts_ssd_give_memory(t, shared->last.memory, shared->last.bytes);
      shared->last = (ts_ssd_buffer){memory, bytes};
    }
  }
  const bool kept = shared->last.bytes >= bytes;
  pthread_mutex_unlock(&shared->lock);
  return kept;
}

ts_ssd_buffer ts_ssd_take_last(ts_ssd_table *t) {
  ts_ssd_shared *shared = t->shared;
  pthread_mutex_lock(&shared->lock);
  while (shared->last_taken) {
    TS_SYNC("ssd:compact:wait_buffer");
    pthread_cond_wait(&shared->last_returned, &shared->lock);
  }
  shared->last_taken = shared->last.memory != NULL;
  const ts_ssd_buffer buffer = shared->last;
  pthread_mutex_unlock(&shared->lock);
  return buffer;
}

void ts_ssd_give_last(ts_ssd_table *t, ts_ssd_buffer *buffer) {
  ts_ssd_shared *shared = t->shared;
  pthread_mutex_lock(&shared->lock);
  const bool last = shared->last_taken && buffer->memory == shared->last.memory;
  if (last) shared->last_taken = false;
  pthread_cond_broadcast(&shared->last_returned);
  pthread_mutex_unlock(&shared->lock);
  if (!last) ts_ssd_give_buffer(t, buffer);
}
