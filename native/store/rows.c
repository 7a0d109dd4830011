/* rows.c - see rows.h. */
#include "store/rows.h"

#include <stdlib.h>
#include <string.h>

#define CHUNK_BYTES (UINT64_C(32) << 10) /* the smallest chunk of a large tier */
#define MAX_SHIFT 10u
/* Of a device's memory, what rows are looked at in: a transfer's price is spread over some hundred rows then. */
#define HOST_BYTES (UINT64_C(64) << 10)
#define HOST_SHARE 64u /* of the limit that pays for it, at most */
#define CHUNKS_AT_LEAST 256u /* a share is divided into at least so many chunks of the smallest size */

static ts_policy_word *span(void *context, uint64_t first, uint64_t *n) {
  const ts_rows *rows = context;
  *n = 0;
  if (first >= rows->next) return NULL;
  uint64_t inside, chunk = ts_rows_chunk(rows, first, &inside);
  *n = TS_MIN(ts_rows_in(rows, chunk) - inside, rows->next - first);
  return ts_beside_words(rows->beside[chunk], ts_rows_in(rows, chunk)) + inside;
}

/* What is kept beside rows may use the headroom for buffers: freeing memory can need it first. */
static void *take_for_policy(void *context, uint64_t bytes) {
  ts_rows *rows = context;
  if (!ts_budget_take(rows->dram_budget, TS_PURPOSE_POLICY, ts_piece_bytes(bytes))) return NULL;
  void *memory = ts_piece_take(rows->pieces, bytes);
  if (memory == NULL) ts_budget_give_back(rows->dram_budget, TS_PURPOSE_POLICY, ts_piece_bytes(bytes));
  return memory;
}

static void give_back_of_policy(void *context, void *memory, uint64_t bytes) {
  ts_rows *rows = context;
  ts_piece_give_back(rows->pieces, memory, bytes);
  ts_budget_give_back(rows->dram_budget, TS_PURPOSE_POLICY, ts_piece_bytes(bytes));
}

uint64_t ts_rows_first_of(const ts_rows *rows, uint64_t chunk) {
  uint64_t level = chunk / TS_LEVEL_CHUNKS, inside = chunk % TS_LEVEL_CHUNKS;
  return (((UINT64_C(1) << level) - 1) * TS_LEVEL_CHUNKS + (inside << level)) << rows->shift;
}

static uint64_t side_bytes(const ts_rows *rows, uint64_t n) {
  if (!rows->is_keyed) return 0;
  return n * (sizeof(int64_t) + sizeof(ts_policy_word) + sizeof(uint8_t) + (rows->has_below ? sizeof(uint32_t) : 0));
}

uint64_t ts_rows_bytes(const ts_rows *rows) { return ts_rows_first_of(rows, rows->chunk_count) * rows->stride; }

/* Memory beside a chunk of n rows, zeroed; NULL if there is none. */
static int64_t *take_beside(ts_rows *rows, uint64_t n) {
  const uint64_t bytes = ts_piece_bytes(side_bytes(rows, n));
  /* Beside rows of a lower tier, which those of DRAM move to: these would else leave it nothing. */
  if (!(rows->is_below_dram ? ts_budget_take_lent : ts_budget_take)(rows->dram_budget, TS_PURPOSE_POLICY, bytes)) {
    rows->dram_wanted = bytes;
    return NULL;
  }
  int64_t *keys = ts_piece_take(rows->pieces, side_bytes(rows, n));
  if (keys == NULL) ts_budget_give_back(rows->dram_budget, TS_PURPOSE_POLICY, bytes);
  return keys;
}

static void give_back_beside(ts_rows *rows, int64_t *keys, uint64_t n) {
  if (keys == NULL) return;
  ts_piece_give_back(rows->pieces, keys, side_bytes(rows, n));
  ts_budget_give_back(rows->dram_budget, TS_PURPOSE_POLICY, ts_piece_bytes(side_bytes(rows, n)));
}

static bool add_chunk(ts_rows *rows) {
  if (rows->chunk_count == rows->chunk_capacity) return false;
  uint64_t n = ts_rows_in(rows, rows->chunk_count), bytes = n * rows->stride;
  if (!ts_budget_take(rows->budget, TS_PURPOSE_ROWS, bytes)) return false;
  int64_t *beside = rows->is_keyed ? take_beside(rows, n) : NULL;
  if (!rows->is_keyed || beside != NULL) {
    unsigned char *chunk = rows->tier->ops->take(rows->tier, bytes);
    if (chunk != NULL) {
      if (rows->is_keyed) rows->beside[rows->chunk_count] = beside;
      rows->chunks[rows->chunk_count++] = chunk;
      return true;
    }
    give_back_beside(rows, beside, n);
  }
  ts_budget_give_back(rows->budget, TS_PURPOSE_ROWS, bytes);
  return false;
}

static uint64_t list_bytes(const ts_rows *rows) {
  return rows->chunk_capacity * (sizeof *rows->chunks + (rows->is_keyed ? sizeof *rows->beside : 0)) +
         rows->host_rows * rows->stride;
}

int32_t ts_rows_init(ts_rows *rows, ts_tier *tier, ts_pieces *pieces, ts_budget *budget, ts_budget *dram_budget,
                     uint64_t stride, uint64_t share, bool evicted, ts_policy_kind kind, bool has_below, bool is_below_dram) {
  *rows = (ts_rows){.pieces = pieces, .budget = budget, .dram_budget = dram_budget, .stride = stride, .first_free = TS_NO_ROW,
                    .has_below = has_below, .is_below_dram = is_below_dram, .is_keyed = evicted || tier->ops->device != NULL};
  if (tier->ops->device != NULL)
    rows->host_rows = (uint32_t)TS_MAX(TS_MIN(TS_MIN(HOST_BYTES, dram_budget->limit / HOST_SHARE) / stride, TS_ROWS_SEEN), 1u);
  uint64_t bytes = TS_MIN(CHUNK_BYTES, share / CHUNKS_AT_LEAST);
  while (rows->shift < MAX_SHIFT && (stride << (rows->shift + 1)) <= bytes) rows->shift++;
  /* Room in the lists for four times the share: a shard may get more than others. */
  uint64_t most = TS_MIN(4 * (TS_MIN(share, budget->limit) / stride) + 4, UINT64_C(1) << 33);
  while (ts_rows_first_of(rows, rows->chunk_capacity) < most) rows->chunk_capacity += TS_LEVEL_CHUNKS;
  if (!ts_budget_take(dram_budget, TS_PURPOSE_BUFFERS, list_bytes(rows))) return TS_EFULL;
  rows->chunks = calloc(rows->chunk_capacity, sizeof *rows->chunks);
  rows->beside = rows->is_keyed ? calloc(rows->chunk_capacity, sizeof *rows->beside) : NULL;
  rows->host = rows->host_rows > 0 ? malloc(rows->host_rows * stride) : NULL;
  rows->tier = tier; /* from here on, destroying it is right */
  if (rows->chunks == NULL || (rows->is_keyed && rows->beside == NULL)) return TS_ENOMEM;
  if (rows->host_rows > 0 && rows->host == NULL) return TS_ENOMEM;
  if (!evicted) return TS_OK;
  ts_policy_pool pool = {.context = rows, .span = span, .take = take_for_policy, .give_back = give_back_of_policy};
  return ts_policy_create(kind, &pool, &rows->policy);
}

uint64_t ts_rows_reserve(ts_rows *rows, uint64_t want) {
  rows->dram_wanted = 0;
  if (rows->budget->rows_only) {
    while (rows->paid < want && ts_budget_take_row(rows->budget, rows->stride)) rows->paid++;
    want = TS_MIN(want, rows->paid);
  }
  while (ts_rows_spare(rows) < want)
    if (!add_chunk(rows)) break;
  return TS_MIN(want, ts_rows_spare(rows));
}

void ts_rows_settle(ts_rows *rows) {
  for (; rows->paid > 0; rows->paid--) ts_budget_give_back_row(rows->budget, rows->stride);
}

static inline uint64_t *link_of(ts_rows *rows, uint64_t row) {
  return rows->is_keyed ? (uint64_t *)ts_rows_key(rows, row) : (uint64_t *)(void *)ts_rows_at(rows, row);
}

uint64_t ts_rows_take(ts_rows *rows, int64_t key) {
  uint64_t row = rows->first_free;
  if (row != TS_NO_ROW) {
    memcpy(&rows->first_free, link_of(rows, row), sizeof rows->first_free);
    rows->free_count--;
  } else {
    row = rows->next++;
  }
  rows->live++;
  if (rows->budget->rows_only) rows->paid--;
  if (rows->is_keyed) {
    *ts_rows_key(rows, row) = key;
    *ts_rows_flags(rows, row) = 0;
  }
  return row;
}

void ts_rows_free(ts_rows *rows, uint64_t row) {
  memcpy(link_of(rows, row), &rows->first_free, sizeof rows->first_free);
  rows->first_free = row;
  rows->free_count++;
  rows->live--;
  ts_budget_give_back_row(rows->budget, rows->stride);
}

void ts_rows_unlink(ts_rows *rows, uint64_t first) {
  void *link = &rows->first_free; /* rows need not lie at multiples of 8 */
  for (uint64_t row;;) {
    memcpy(&row, link, sizeof row);
    if (row == TS_NO_ROW) return;
    if (row < first) {
      link = link_of(rows, row);
      continue;
    }
    memcpy(link, link_of(rows, row), sizeof row);
    rows->free_count--;
  }
}

void ts_rows_drop_chunk(ts_rows *rows) {
  uint64_t first = ts_rows_first_of(rows, rows->chunk_count - 1), n = ts_rows_in(rows, rows->chunk_count - 1);
  ts_rows_unlink(rows, first);
  if (rows->next > first) rows->next = first;
  uint64_t last = --rows->chunk_count;
  rows->tier->ops->give_back(rows->tier, rows->chunks[last], n * rows->stride);
  ts_budget_give_back(rows->budget, TS_PURPOSE_ROWS, n * rows->stride);
  rows->chunks[last] = NULL;
  if (!rows->is_keyed) return;
  give_back_beside(rows, rows->beside[last], n);
  rows->beside[last] = NULL;
}

void ts_rows_destroy(ts_rows *rows) {
  while (rows->chunk_count > 0) {
    rows->first_free = TS_NO_ROW; /* no need to unlink one by one */
    ts_rows_drop_chunk(rows);
  }
  ts_budget_give_back(rows->dram_budget, TS_PURPOSE_BUFFERS, list_bytes(rows));
  free(rows->host);
  free(rows->chunks);
  free(rows->beside);
  ts_policy_destroy(rows->policy);
}

int32_t ts_rows_see(ts_rows *rows, uint32_t n, const uint64_t *slots, const unsigned char **out, ts_err err) {
  for (uint32_t i = 0; i < n; i++) out[i] = ts_rows_at(rows, slots[i]);
  if (rows->tier->ops->device == NULL || n == 0) return TS_OK;
  const int32_t status = rows->tier->ops->device->read(rows->tier, n, (const void *const *)out, (uint32_t)rows->stride, rows->host,
                                                       rows->stride, NULL, err);
  for (uint32_t i = 0; i < n; i++) out[i] = rows->host + i * rows->stride;
  return status;
}

int32_t ts_rows_copy(ts_rows *rows, uint64_t to, uint64_t from, ts_err err) {
  const ts_tier_ops *ops = rows->tier->ops;
  if (ops->device != NULL)
    return ops->device->copy(rows->tier, ts_rows_at(rows, to), ts_rows_at(rows, from), (uint32_t)rows->stride, err);
  ops->write(rows->tier, ts_rows_at(rows, to), ts_rows_at(rows, from), rows->stride);
  return TS_OK;
}
