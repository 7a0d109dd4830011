/* verify.c - reads a chain's folder whole and names what is damaged. */
#include "base/control.h"
#include "checkpoint/chain.h"
#include "checkpoint/tend.h"

#include <stdio.h>
#include <stdlib.h>

/* The first damage in words, and how much more there is. */
typedef struct findings {
  char words[1024];
  uint32_t count;
} findings;

static void found(findings *f, const char *words) {
  if (f->count++ == 0) snprintf(f->words, sizeof f->words, "%s", words);
}

/* Reads the data of one link. Only what ends the whole verification is a failure. */
static int32_t read_data(ts_chain *chain, ts_chain_link *link, uint64_t *control, findings *f, ts_err err) {
  char words[1024] = "";
  const ts_err own = {words, sizeof words};
  ts_checkpoint_reader *r = NULL;
  int32_t status = ts_checkpoint_reader_of(chain, link, &r, own);
  if (status == TS_OK) status = ts_checkpoint_read_through(r, 0, control, own);
  ts_checkpoint_reader_close(r);
  if (status == TS_ECANCELLED) return ts_fail(err, status, "The verification of %s was cancelled", chain->path);
  if (status == TS_ENOMEM) return ts_fail(err, status, "%s", words);
  if (status != TS_OK) found(f, words);
  return TS_OK;
}

int32_t ts_chain_verify(const ts_disk_ops *disk, const char *path, uint64_t *control, ts_err err) {
  ts_chain chain;
  findings f = {.count = 0};
  int32_t status = ts_chain_read(disk, path, &chain, err);
  if (status != TS_OK) return status;
  ts_chain_link **needed = calloc(chain.count + 1, sizeof *needed);
  if (needed == NULL) status = ts_fail(err, TS_ENOMEM, "Cannot verify the checkpoints of %s: out of memory", path);
  uint64_t total = 0;
  for (uint32_t i = 0; i < chain.count; i++) total += chain.links[i].bytes;
  ts_control_start(control, total);
  for (uint32_t i = 0; status == TS_OK && i < chain.count; i++) {
    ts_chain_link *link = &chain.links[i];
    uint32_t count;
    char words[1024] = "";
    /* That a timeline was abandoned is no damage. */
    const int32_t whole = ts_chain_needed(&chain, link, needed, &count, (ts_err){words, sizeof words});
    if (whole != TS_OK && whole != TS_EINVAL) found(&f, words);
    else status = read_data(&chain, link, control, &f, err);
  }
  if (status == TS_OK && f.count > 0)
    status = f.count == 1 ? ts_fail(err, TS_EFORMAT, "%s", f.words)
                          : ts_fail(err, TS_EFORMAT, "%s; %u more checkpoints are damaged", f.words, f.count - 1);
  if (status == TS_OK) ts_control_finish(control);
  free(needed);
  ts_chain_free(&chain);
  return status;
}

int32_t ts_checkpoint_verify(const char *path, uint64_t *control, char *err, uint32_t err_cap) {
  const ts_err e = {err, err_cap};
  if (path == NULL) return ts_fail(e, TS_EINVAL, "Cannot verify checkpoints: a path is needed");
  return ts_chain_verify(&ts_disk_system, path, control, e);
}
