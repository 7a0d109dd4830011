/* merge.c - see merge.h. */
#include "checkpoint/merge.h"

#include "base/seeded_bug.h"

#include <stdlib.h>
#include <string.h>

/* The changed slots of a table: those of newer links, and those of this link, which count from the next link on. */
typedef struct table_map {
  uint32_t slots_log2; /* 0: no map yet */
  uint64_t *decided, *fresh;
} table_map;

struct ts_checkpoint_merge {
  ts_checkpoint_reader *reader;
  uint32_t next_link;
  table_map *maps;
  uint32_t tables;
};

int32_t ts_checkpoint_merge_open(ts_checkpoint_reader *reader, ts_checkpoint_merge **out, ts_err err) {
  *out = calloc(1, sizeof **out);
  if (*out == NULL) return ts_fail(err, TS_ENOMEM, "Cannot read a chain of checkpoints: out of memory");
  (*out)->reader = reader;
  return TS_OK;
}

void ts_checkpoint_merge_close(ts_checkpoint_merge *m) {
  if (m == NULL) return;
  for (uint32_t i = 0; i < m->tables; i++) {
    free(m->maps[i].decided);
    free(m->maps[i].fresh);
  }
  free(m->maps);
  free(m);
}

static uint64_t words_of(const table_map *map) { return (UINT64_C(1) << map->slots_log2) / 64; }

int32_t ts_checkpoint_merge_link(ts_checkpoint_merge *m, bool *there, ts_err err) {
  *there = m->next_link < ts_checkpoint_links(m->reader);
  if (!*there) return TS_OK;
  for (uint32_t t = 0; t < m->tables; t++) {
    table_map *map = &m->maps[t];
    for (uint64_t i = 0; map->slots_log2 != 0 && i < words_of(map); i++) {
      map->decided[i] = map->fresh[i] | (TS_BUG("only the next newer link's slots count") ? 0 : map->decided[i]);
      map->fresh[i] = 0;
    }
  }
  return ts_checkpoint_select(m->reader, m->next_link++, err);
}

static int32_t malformed(const ts_checkpoint_merge *m, const char *what, ts_err err) {
  char where[512];
  return ts_fail(err, TS_EFORMAT, "Cannot read %s: %s", ts_checkpoint_where(m->reader, where, sizeof where), what);
}

#define TABLES_MOST (1u << 20) /* a block's number of a table above that is not one */

static int32_t take_map(ts_checkpoint_merge *m, const ts_checkpoint_block *block, ts_err err) {
  ts_map_head head;
  if (block->bytes != sizeof head + (uint64_t)block->count * 8 || block->table >= TABLES_MOST)
    return malformed(m, "its map of changed slots has not the length of its words", err);
  memcpy(&head, block->payload, sizeof head);
  if (head.slots_log2 < 6 || head.slots_log2 > TS_CHECKPOINT_SLOTS_LOG2_MOST)
    return malformed(m, "its map of changed slots has a size that maps do not have", err);
  if (block->table >= m->tables) {
    const uint32_t tables = block->table + 1;
    table_map *maps = realloc(m->maps, tables * sizeof *maps);
    if (maps == NULL) return ts_fail(err, TS_ENOMEM, "Cannot read a chain of checkpoints: out of memory");
    memset(maps + m->tables, 0, (tables - m->tables) * sizeof *maps);
    m->maps = maps;
    m->tables = tables;
  }
  table_map *map = &m->maps[block->table];
  if (map->slots_log2 == 0) {
    map->slots_log2 = head.slots_log2;
    map->decided = calloc(words_of(map), 8);
    map->fresh = calloc(words_of(map), 8);
    if (map->decided == NULL || map->fresh == NULL) {
      free(map->decided);
      free(map->fresh);
      *map = (table_map){0};
      return ts_fail(err, TS_ENOMEM, "Cannot read a chain of checkpoints: out of memory for a map of changed slots");
    }
  }
  const uint64_t words = words_of(map);
  if (map->slots_log2 != head.slots_log2 || head.first_word > words || block->count > words - head.first_word)
    return malformed(m, "its map of changed slots is not as large as that of a newer link", err);
  const unsigned char *from = block->payload + sizeof head;
  for (uint32_t i = 0; i < block->count; i++) {
    uint64_t word;
    memcpy(&word, from + (uint64_t)i * 8, 8);
    map->fresh[head.first_word + i] |= word;
    if (TS_BUG("a delta's slots hide its own rows")) map->decided[head.first_word + i] |= word;
  }
  return TS_OK;
}

/* Moves the entries that count to the front of the payload, which is the reader's memory and not read again. */
static int32_t filter(ts_checkpoint_merge *m, ts_checkpoint_block *block, ts_err err) {
  const uint64_t each = block->count == 0 ? 0 : block->bytes / block->count;
  const uint64_t least = block->kind == TS_BLOCK_ROWS ? sizeof(int64_t) : sizeof(ts_before_entry);
  if (block->count != 0 ? each < least || each * block->count != block->bytes : block->bytes != 0)
    return malformed(m, "its entries do not fit its length", err);
  if (block->table >= m->tables || m->maps[block->table].slots_log2 == 0) return TS_OK;
  if (TS_BUG("rows that were removed are left in") ||
      (block->kind == TS_BLOCK_WAITING && TS_BUG("counts that ended are left in")) ||
      (block->kind == TS_BLOCK_BEFORE && TS_BUG("images of older links count")))
    return TS_OK;
  const table_map *map = &m->maps[block->table];
  unsigned char *payload = (unsigned char *)block->payload;
  uint32_t kept = 0;
  for (uint32_t i = 0; i < block->count; i++) {
    int64_t key;
    memcpy(&key, payload + i * each, sizeof key);
    const uint64_t slot = ts_checkpoint_slot(key, map->slots_log2);
    if (map->decided[slot / 64] >> (slot % 64) & 1) continue;
    if (kept != i) memcpy(payload + kept * each, payload + i * each, each);
    kept++;
  }
  block->count = kept;
  block->bytes = kept * each;
  return TS_OK;
}

int32_t ts_checkpoint_merge_next(ts_checkpoint_merge *m, ts_checkpoint_block *out, ts_err err) {
  for (;;) {
    int32_t status = ts_checkpoint_next(m->reader, out, err);
    if (status != TS_OK || out->kind == TS_BLOCK_END) return status;
    if (out->kind == TS_BLOCK_MAP) {
      status = take_map(m, out, err);
    } else if (out->kind == TS_BLOCK_FILTER || out->kind == TS_BLOCK_STATE) {
      if (m->next_link == 1 || TS_BUG("filters and named bytes of older links count")) return TS_OK;
    } else {
      status = filter(m, out, err);
      if (status == TS_OK && out->count > 0) return TS_OK;
    }
    if (status != TS_OK) return status;
  }
}

int32_t ts_checkpoint_merge_previous_before(ts_checkpoint_merge *m, ts_checkpoint_block *out, ts_err err) {
  for (;;) {
    int32_t status = ts_checkpoint_previous_before(m->reader, out, err);
    if (TS_BUG("images before a change are not read")) *out = (ts_checkpoint_block){0};
    if (status != TS_OK || out->kind == TS_BLOCK_END) return status;
    status = filter(m, out, err);
    if (status != TS_OK || out->count > 0) return status;
  }
}
