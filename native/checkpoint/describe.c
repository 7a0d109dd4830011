/* describe.c - what a chain's folder holds, without reading the data. */
#include "checkpoint/chain.h"
#include "checkpoint/tend.h"

#include <stdlib.h>

/* A value as a manifest writes it: on one line. */
static void add_line(ts_text *out, const char *key, const char *value) {
  ts_text_add(out, "%s=", key);
  ts_manifest_escape(value, out);
  ts_text_add(out, "\n");
}

int32_t ts_chain_describe(const ts_disk_ops *disk, const char *path, ts_text *out, ts_err err) {
  ts_chain chain;
  int32_t status = ts_chain_read(disk, path, &chain, err);
  if (status != TS_OK) return status;
  ts_chain_link **needed = calloc(chain.count + 1, sizeof *needed);
  if (needed == NULL) status = ts_fail(err, TS_ENOMEM, "Cannot describe the checkpoints of %s: out of memory", path);
  for (uint32_t i = 0; status == TS_OK && i < chain.count; i++) {
    ts_chain_link *link = &chain.links[i];
    uint32_t count;
    char words[1024] = "";
    const int32_t whole = ts_chain_needed(&chain, link, needed, &count, (ts_err){words, sizeof words});
    ts_text_add(out, "checkpoint=%u\nstate=%s\n", link->number,
                whole == TS_OK ? "whole" : whole == TS_EINVAL ? "abandoned" : "damaged");
    if (whole != TS_OK) add_line(out, "problem", words);
    if (whole == TS_OK) ts_text_add(out, "links=%u\n", count);
    for (uint32_t n = 0; link->status == TS_OK && n < link->manifest.count; n++)
      add_line(out, link->manifest.lines[n].key, link->manifest.lines[n].value);
  }
  free(needed);
  ts_chain_free(&chain);
  return status;
}

int32_t ts_checkpoint_describe(const char *path, char *out, uint64_t cap, uint64_t *needed, char *err,
                               uint32_t err_cap) {
  const ts_err e = {err, err_cap};
  if (path == NULL) return ts_fail(e, TS_EINVAL, "Cannot describe checkpoints: a path is needed");
  ts_text text = {0};
  const int32_t status = ts_chain_describe(&ts_disk_system, path, &text, e);
  if (status == TS_OK) return ts_text_tell(&text, "checkpoints", out, cap, needed, e);
  free(text.bytes);
  return status;
}
