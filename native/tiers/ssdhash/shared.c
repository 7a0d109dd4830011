/* shared.c - memory that the tables of one tier use in turn: what a read, a compaction or a write under way needs is
 * idle most of the time, and a store may have many tables. It is of the tier's options, which outlive the tables, and
 * goes with the last of these. */
#include "tiers/ssdhash/table.h"

#include <stdlib.h>

static void *take_memory(ts_budget *dram, uint64_t bytes) {
  if (!ts_budget_take(dram, TS_PURPOSE_BUFFERS, bytes)) return NULL;
  void *memory = aligned_alloc(TS_SSD_BLOCK, bytes);
  if (memory == NULL) ts_budget_give_back(dram, TS_PURPOSE_BUFFERS, bytes);
  return memory;
}

static void give_memory(ts_budget *dram, void *memory, uint64_t bytes) {
  free(memory);
  ts_budget_give_back(dram, TS_PURPOSE_BUFFERS, bytes);
}

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
    give_memory(t->dram, shared->buffers[i].memory, shared->buffers[i].bytes);
  if (last) {
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
  if (buffer.memory == NULL) buffer.memory = take_memory(t->dram, buffer.bytes);
  return buffer;
}

void ts_ssd_give_buffer(ts_ssd_table *t, ts_ssd_buffer *buffer) {
  if (buffer->memory == NULL) return;
  ts_ssd_shared *shared = t->shared;
  pthread_mutex_lock(&shared->lock);
  if (shared->idle_buffers < TS_SSD_IDLE_BUFFERS)
    shared->buffers[shared->idle_buffers++] = *buffer;
  else
    give_memory(t->dram, buffer->memory, buffer->bytes);
  pthread_mutex_unlock(&shared->lock);
  *buffer = (ts_ssd_buffer){0};
}
