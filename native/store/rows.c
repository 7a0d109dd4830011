/* rows.c - see rows.h. */
#include "store/rows.h"

#include <stdlib.h>
#include <string.h>

#define CHUNK_BYTES (UINT64_C(32) << 10) /* of a large tier: rows a chunk = this / stride, between the two below */
#define MAX_SHIFT 10u
#define CHUNKS_AT_LEAST 64u /* a limit is divided into at least so many chunks */

void ts_rows_init(ts_rows *rows, ts_tier *tier, ts_budget *budget, ts_budget *dram_budget, bool policy, uint64_t stride) {
  *rows = (ts_rows){.tier = tier, .budget = budget, .dram_budget = dram_budget, .policy = policy, .stride = stride,
                    .list_purpose = TS_PURPOSE_INDEX, .first_free = TS_NO_ROW};
  uint64_t bytes = TS_MIN(CHUNK_BYTES, budget->limit / CHUNKS_AT_LEAST);
  while (rows->shift < MAX_SHIFT && (stride << (rows->shift + 1)) <= bytes) rows->shift++;
}

static uint64_t policy_bytes(const ts_rows *rows) {
  return rows->policy ? (sizeof(int64_t) + sizeof(uint8_t)) << rows->shift : 0;
}

uint64_t ts_rows_chunk_bytes(const ts_rows *rows) { return rows->stride << rows->shift; }

static bool grow_list(ts_rows *rows) {
  if (rows->chunk_count < rows->chunk_capacity) return true;
  uint64_t capacity = rows->chunk_capacity == 0 ? 4 : rows->chunk_capacity + rows->chunk_capacity / 4 + 1;
  uint64_t bytes = capacity * sizeof *rows->chunks;
  /* Freeing first-tier memory moves rows down, which may need a longer list first: that may use the headroom. */
  ts_purpose purpose = TS_PURPOSE_INDEX;
  if (rows->list_grant >= bytes) {
    rows->list_grant -= bytes;
  } else if (!ts_budget_take(rows->dram_budget, purpose, bytes)) {
    purpose = TS_PURPOSE_BUFFERS;
    if (!ts_budget_take(rows->dram_budget, purpose, bytes)) {
      rows->dram_wanted = bytes;
      return false;
    }
  }
  ts_chunk *chunks = malloc(bytes);
  if (chunks == NULL) {
    ts_budget_give_back(rows->dram_budget, purpose, bytes);
    return false;
  }
  if (rows->chunk_count > 0) memcpy(chunks, rows->chunks, rows->chunk_count * sizeof *chunks);
  free(rows->chunks);
  ts_budget_give_back(rows->dram_budget, rows->list_purpose, rows->chunk_capacity * sizeof *chunks);
  rows->chunks = chunks;
  rows->chunk_capacity = capacity;
  rows->list_purpose = purpose;
  return true;
}

static bool add_chunk(ts_rows *rows) {
  uint64_t bytes = ts_rows_chunk_bytes(rows), policy = policy_bytes(rows);
  if (!grow_list(rows)) return false;
  if (!ts_budget_take(rows->budget, TS_PURPOSE_ROWS, bytes)) return false;
  if (policy > 0 && !ts_budget_take(rows->dram_budget, TS_PURPOSE_POLICY, policy)) {
    ts_budget_give_back(rows->budget, TS_PURPOSE_ROWS, bytes);
    return false;
  }
  ts_chunk chunk = {.rows = rows->tier->ops->take(rows->tier, bytes)};
  if (chunk.rows != NULL && policy > 0) {
    chunk.keys = malloc(policy);
    chunk.marks = (uint8_t *)(chunk.keys + (UINT64_C(1) << rows->shift));
    if (chunk.keys == NULL) {
      rows->tier->ops->give_back(rows->tier, chunk.rows, bytes);
      chunk.rows = NULL;
    } else {
      memset(chunk.marks, 0, UINT64_C(1) << rows->shift);
    }
  }
  if (chunk.rows == NULL) {
    ts_budget_give_back(rows->budget, TS_PURPOSE_ROWS, bytes);
    if (policy > 0) ts_budget_give_back(rows->dram_budget, TS_PURPOSE_POLICY, policy);
    return false;
  }
  rows->chunks[rows->chunk_count++] = chunk;
  return true;
}

uint64_t ts_rows_reserve(ts_rows *rows, uint64_t want) {
  rows->dram_wanted = 0;
  while (ts_rows_spare(rows) < want)
    if (!add_chunk(rows)) break;
  uint64_t can = TS_MIN(want, ts_rows_spare(rows));
  if (!rows->budget->rows_only) return can;
  while (rows->paid < can && ts_budget_take_row(rows->budget, rows->stride)) rows->paid++;
  return TS_MIN(can, rows->paid);
}

void ts_rows_settle(ts_rows *rows) {
  for (; rows->paid > 0; rows->paid--) ts_budget_give_back_row(rows->budget, rows->stride);
}

static inline uint64_t *link_of(ts_rows *rows, uint64_t row) {
  return rows->policy ? (uint64_t *)ts_rows_key(rows, row) : (uint64_t *)(void *)ts_rows_at(rows, row);
}

uint64_t ts_rows_take(ts_rows *rows, int64_t key) {
  uint64_t row = rows->first_free;
  if (row != TS_NO_ROW) {
    rows->first_free = *link_of(rows, row);
    rows->free_count--;
  } else {
    row = rows->next++;
  }
  rows->live++;
  if (rows->budget->rows_only) rows->paid--;
  if (rows->policy) {
    *ts_rows_key(rows, row) = key;
    *ts_rows_mark(rows, row) = TS_MARK_LIVE;
  }
  return row;
}

/* Links the row into the free list; its charge is the caller's business. */
static void vacate(ts_rows *rows, uint64_t row) {
  if (rows->policy) *ts_rows_mark(rows, row) = 0;
  *link_of(rows, row) = rows->first_free;
  rows->first_free = row;
  rows->free_count++;
  rows->live--;
}

void ts_rows_free(ts_rows *rows, uint64_t row) {
  vacate(rows, row);
  ts_budget_give_back_row(rows->budget, rows->stride);
}

void ts_rows_vacate(ts_rows *rows, uint64_t row) {
  vacate(rows, row);
  if (rows->budget->rows_only) rows->paid++;
}

void ts_rows_drop_chunk(ts_rows *rows) {
  uint64_t first = (rows->chunk_count - 1) << rows->shift;
  /* Unlink its freed rows. */
  uint64_t *link = &rows->first_free;
  while (*link != TS_NO_ROW) {
    if (*link >= first) {
      *link = *link_of(rows, *link);
      rows->free_count--;
    } else {
      link = link_of(rows, *link);
    }
  }
  if (rows->next > first) rows->next = first;
  if (rows->hand >= first) rows->hand = 0;
  ts_chunk *chunk = &rows->chunks[--rows->chunk_count];
  rows->tier->ops->give_back(rows->tier, chunk->rows, ts_rows_chunk_bytes(rows));
  ts_budget_give_back(rows->budget, TS_PURPOSE_ROWS, ts_rows_chunk_bytes(rows));
  free(chunk->keys);
  if (rows->policy) ts_budget_give_back(rows->dram_budget, TS_PURPOSE_POLICY, policy_bytes(rows));
}

void ts_rows_destroy(ts_rows *rows) {
  while (rows->chunk_count > 0) ts_rows_drop_chunk(rows);
  free(rows->chunks);
  ts_budget_give_back(rows->dram_budget, rows->list_purpose, rows->chunk_capacity * sizeof *rows->chunks);
  ts_budget_give_back(rows->dram_budget, TS_PURPOSE_INDEX, rows->list_grant);
  rows->chunks = NULL;
  rows->chunk_capacity = 0;
}
