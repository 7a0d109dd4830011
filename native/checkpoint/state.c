/* state.c - named bytes, to STATE blocks and back. */
#include "checkpoint/state.h"

#include <stdlib.h>
#include <string.h>

#define CHUNK (UINT64_C(4) << 20) /* bytes of a piece in one block */

static int32_t append_piece(ts_checkpoint_writer *writer, const ts_named_piece *piece, unsigned char *payload,
                            uint64_t *blocks, ts_err err) {
  for (uint64_t done = 0; done < piece->bytes || done == 0; done += CHUNK) {
    const ts_state_head head = {.name_bytes = piece->name_bytes, .offset = done};
    const uint64_t some = TS_MIN(piece->bytes - done, CHUNK), before = sizeof head + piece->name_bytes;
    memcpy(payload, &head, sizeof head);
    memcpy(payload + sizeof head, piece->name, piece->name_bytes);
    if (some > 0) memcpy(payload + before, piece->content + done, some);
    const int32_t status = ts_checkpoint_append(writer, TS_BLOCK_STATE, 0, 1, payload, before + some, err);
    if (status != TS_OK) return status;
    ++*blocks;
  }
  return TS_OK;
}

int32_t ts_checkpoint_append_state(ts_checkpoint_writer *writer, const ts_named *state, uint64_t *blocks, ts_err err) {
  *blocks = 0;
  ts_named_piece piece;
  uint64_t most = 0;
  for (uint64_t at = 0; ts_named_next(state, &at, &piece);)
    most = TS_MAX(most, sizeof(ts_state_head) + piece.name_bytes + TS_MIN(piece.bytes, CHUNK));
  if (most == 0) return TS_OK;
  unsigned char *payload = malloc(most);
  if (payload == NULL)
    return ts_fail(err, TS_ENOMEM, "Cannot write the checkpoint: no memory for a block of %llu bytes", (unsigned long long)most);
  int32_t status = TS_OK;
  for (uint64_t at = 0; status == TS_OK && ts_named_next(state, &at, &piece);)
    status = append_piece(writer, &piece, payload, blocks, err);
  free(payload);
  return status;
}

/* The pieces so far; the last one grows by further blocks of its name. */
typedef struct gathered {
  ts_named named;
  uint64_t room;
  uint64_t last;       /* where the last piece begins */
  uint64_t last_bytes; /* of its content */
} gathered;

static bool make_room(gathered *g, uint64_t more) {
  if (g->room - g->named.used >= more) return true;
  const uint64_t room = TS_MAX(g->room * 2, g->named.used + more);
  unsigned char *bytes = realloc(g->named.bytes, room);
  if (bytes == NULL) return false;
  g->named.bytes = bytes;
  g->room = room;
  return true;
}

static int32_t damaged(ts_err err) {
  return ts_fail(err, TS_EFORMAT, "Cannot read the checkpoint: its blocks of named bytes are not in the order they were written in");
}

/* A piece's head in the gathered bytes, as named.h lays it out. */
static void set_bytes(gathered *g, const char *name, uint64_t bytes) {
  g->named.used = g->last;
  ts_named_begin(&g->named, name, bytes);
  g->named.used += bytes;
  g->last_bytes = bytes;
}

static int32_t gather(gathered *g, const ts_checkpoint_block *block, ts_err err) {
  ts_state_head head;
  if (block->bytes < sizeof head) return damaged(err);
  memcpy(&head, block->payload, sizeof head);
  if (head.zero != 0 || head.name_bytes == 0 || head.name_bytes > block->bytes - sizeof head) return damaged(err);
  const unsigned char *name = block->payload + sizeof head, *content = name + head.name_bytes;
  const uint64_t some = block->bytes - sizeof head - head.name_bytes;
  if (!make_room(g, sizeof head + head.name_bytes + some))
    return ts_fail(err, TS_ENOMEM, "Cannot read the checkpoint: no memory for %llu bytes of named bytes",
                   (unsigned long long)(g->named.used + block->bytes));
  char *text = strndup((const char *)name, head.name_bytes);
  if (text == NULL) return ts_fail(err, TS_ENOMEM, "Cannot read the checkpoint: out of memory");
  int32_t status = TS_OK;
  ts_named_piece last;
  uint64_t at = g->last;
  if (strlen(text) != head.name_bytes) status = damaged(err);
  else if (head.offset == 0) {
    g->last = g->named.used;
    ts_named_put(&g->named, text, content, some);
    g->last_bytes = some;
  } else if (!ts_named_next(&g->named, &at, &last) || !ts_named_is(&last, text) || head.offset != g->last_bytes) {
    status = damaged(err);
  } else {
    const uint64_t end = g->named.used;
    set_bytes(g, text, g->last_bytes + some);
    memcpy(g->named.bytes + end, content, some);
  }
  free(text);
  return status;
}

int32_t ts_checkpoint_read_state(ts_checkpoint_reader *reader, uint64_t blocks, ts_named *out, ts_err err) {
  gathered g = {0};
  int32_t status = TS_OK;
  for (uint64_t seen = 0; status == TS_OK && seen < blocks;) {
    ts_checkpoint_block block;
    status = ts_checkpoint_next(reader, &block, err);
    if (status == TS_OK && block.kind == TS_BLOCK_END)
      status = ts_fail(err, TS_EFORMAT, "Cannot read the checkpoint: it has %llu blocks of named bytes, its manifest says %llu",
                       (unsigned long long)seen, (unsigned long long)blocks);
    if (status != TS_OK || block.kind != TS_BLOCK_STATE) continue;
    status = gather(&g, &block, err);
    seen++;
  }
  if (status != TS_OK) ts_named_free(&g.named);
  *out = g.named;
  return status;
}
