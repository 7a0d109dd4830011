/* chain.c - see chain.h. */
#include "checkpoint/chain.h"

#include "base/seeded_bug.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MANIFEST_MOST (UINT64_C(16) << 20) /* bytes: ten thousand tables have a twentieth of that */

char *ts_chain_path(const char *path, const char *name) {
  char *all = NULL;
  return asprintf(&all, "%s/%s", path, name) < 0 ? NULL : all;
}

char *ts_chain_file(const char *path, uint32_t number, const char *ending) {
  char *all = NULL;
  return asprintf(&all, "%s/%08x%s", path, number, ending) < 0 ? NULL : all;
}

char *ts_chain_share_file(const char *path, uint32_t number, uint32_t share) {
  char *all = NULL;
  return asprintf(&all, "%s/%08x.%04x" TS_CHECKPOINT_DATA, path, number, share) < 0 ? NULL : all;
}

/* Reads so many hexadecimal digits; false: others are there. */
static bool read_hex(const char *text, uint32_t digits, uint32_t *out) {
  uint32_t n = 0;
  for (uint32_t i = 0; i < digits; i++) {
    const char c = text[i];
    if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'))) return false;
    n = n << 4 | (uint32_t)(c <= '9' ? c - '0' : c - 'a' + 10);
  }
  *out = n;
  return true;
}

#define SHARE_DATA "share" /* an ending of ending_of alone */

/* Whether a name is a number and one of our endings, and which; *share is 0 of all but the data of a share. */
static const char *ending_of(const char *name, uint32_t *number, uint32_t *share) {
  static const char *const endings[] = {TS_CHECKPOINT_DATA, TS_CHECKPOINT_FULL_DATA, TS_CHECKPOINT_MANIFEST,
                                        TS_CHECKPOINT_MANIFEST TS_CHECKPOINT_NEW};
  *share = 0;
  if (!read_hex(name, 8, number)) return NULL;
  if (name[8] == '.' && read_hex(name + 9, 4, share) && strcmp(name + 13, TS_CHECKPOINT_DATA) == 0) return SHARE_DATA;
  *share = 0;
  for (uint32_t i = 0; i < sizeof endings / sizeof *endings; i++)
    if (strcmp(name + 8, endings[i]) == 0) return endings[i];
  return NULL;
}

static void *grow(void *array, uint32_t *capacity, size_t each) {
  const uint32_t more = *capacity * 2 + 16;
  void *larger = realloc(array, more * each);
  if (larger != NULL) *capacity = more;
  return larger;
}

static void take_name(void *context, const char *name) {
  ts_chain *chain = context;
  uint32_t number, share;
  const char *ending = ending_of(name, &number, &share);
  if (ending == NULL || chain->failed) return;
  chain->highest = TS_MAX(chain->highest, number);
  if (strcmp(ending, TS_CHECKPOINT_MANIFEST) == 0) {
    if (chain->count == chain->capacity) {
      ts_chain_link *links = grow(chain->links, &chain->capacity, sizeof *links);
      if (links == NULL) {
        chain->failed = true;
        return;
      }
      chain->links = links;
    }
    chain->links[chain->count++] = (ts_chain_link){.number = number};
    return;
  }
  if (chain->name_count == chain->name_capacity) {
    char **names = grow(chain->names, &chain->name_capacity, sizeof *names);
    if (names == NULL) {
      chain->failed = true;
      return;
    }
    chain->names = names;
  }
  char *copy = strdup(name);
  if (copy == NULL) chain->failed = true;
  else chain->names[chain->name_count++] = copy;
}

static int by_number(const void *a, const void *b) {
  const uint32_t x = ((const ts_chain_link *)a)->number, y = ((const ts_chain_link *)b)->number;
  return (x > y) - (x < y);
}

/* A manifest may name no other file than its own. */
static bool is_data(uint32_t number, const char *name) {
  uint32_t n, share;
  const char *ending = name == NULL || strlen(name) < 8 ? NULL : ending_of(name, &n, &share);
  return ending != NULL && n == number &&
         (strcmp(ending, TS_CHECKPOINT_DATA) == 0 || strcmp(ending, TS_CHECKPOINT_FULL_DATA) == 0);
}

/* The lines of this layer, out of a manifest whose sum is right. */
static int32_t understand(ts_chain_link *link, const char *path, ts_err err) {
  const ts_manifest *m = &link->manifest;
  uint64_t format = 0, number = 0, parent = 0;
  const char *kind = ts_manifest_get(m, "kind");
  if (!ts_manifest_u64(m, "format", &format))
    return ts_fail(err, TS_EFORMAT, "Cannot read %s: it has no line \"format\"; it is not a manifest of a checkpoint", path);
  const bool shared = format == TS_CHECKPOINT_SHARES_FORMAT;
  if (format != TS_CHECKPOINT_FORMAT && !shared)
    return ts_fail(err, TS_EFORMAT, "Cannot read %s: its format is %llu, this version reads %u and %u; use the version that wrote it",
                   path, (unsigned long long)format, TS_CHECKPOINT_FORMAT, TS_CHECKPOINT_SHARES_FORMAT);
  const bool whole =
      ts_manifest_u64(m, "number", &number) && ts_manifest_u64(m, "parent", &parent) &&
      ts_manifest_u64(m, "timeline", &link->timeline) && ts_manifest_id(m, "chain", link->chain) && ts_manifest_id(m, "id", link->id) &&
      is_data((uint32_t)number, ts_manifest_get(m, "data")) && (parent == 0 || ts_manifest_id(m, "parent_id", link->parent_id)) &&
      kind != NULL && (strcmp(kind, "full") == 0 || (strcmp(kind, "delta") == 0 && !shared)) && ts_chain_take_shares(link);
  if (!whole) return ts_fail(err, TS_EFORMAT, "Cannot read %s: a line of it is missing or is not what it should be", path);
  link->delta = strcmp(kind, "delta") == 0;
  if (number != link->number && !TS_BUG("a doubled manifest is not seen"))
    return ts_fail(err, TS_EFORMAT, "Cannot read %s: it is the manifest of checkpoint %llu; a link of the chain is doubled",
                   path, (unsigned long long)number);
  if (parent >= number)
    return ts_fail(err, TS_EFORMAT, "Cannot read %s: its parent is checkpoint %llu, which is not before it; the chain is in the "
                   "wrong order", path, (unsigned long long)parent);
  if (link->delta && parent == 0)
    return ts_fail(err, TS_EFORMAT, "Cannot read %s: it is a delta and has no parent", path);
  link->parent = (uint32_t)parent;
  return TS_OK;
}

static int32_t read_manifest(const ts_disk_ops *disk, const char *path, ts_manifest *out, ts_err err) {
  const int file = disk->open(disk, path);
  if (file < 0) return ts_disk_fail(err, "open", path, file);
  const int64_t bytes = disk->size(disk, file);
  int32_t status = bytes < 0 ? ts_disk_fail(err, "read", path, (int)bytes) : TS_OK;
  if (status == TS_OK && bytes > (int64_t)MANIFEST_MOST)
    status = ts_fail(err, TS_EFORMAT, "Cannot read %s: it has %lld bytes; it is not a manifest", path, (long long)bytes);
  char *text = status == TS_OK ? malloc((size_t)bytes + 1) : NULL;
  if (status == TS_OK && text == NULL) status = ts_fail(err, TS_ENOMEM, "Cannot read %s: out of memory", path);
  const int error = status == TS_OK ? ts_disk_read(disk, file, text, (uint64_t)bytes, 0) : 0;
  if (error != 0) status = ts_disk_fail(err, "read", path, error);
  if (status == TS_OK) status = ts_manifest_parse(text, (uint64_t)bytes, path, out, err);
  free(text);
  disk->close(disk, file);
  return status;
}

int32_t ts_chain_read(const ts_disk_ops *disk, const char *path, ts_chain *out, ts_err err) {
  *out = (ts_chain){.disk = disk, .path = strdup(path)};
  const int error = disk->list(disk, path, take_name, out);
  int32_t status = error == 0 ? TS_OK : ts_disk_fail(err, "read the folder of checkpoints", path, error);
  if (out->count > 0 && !TS_BUG("the newest checkpoint is the one listed last")) qsort(out->links, out->count, sizeof *out->links, by_number);
  for (uint32_t i = 0; status == TS_OK && i < out->count && !out->failed; i++) {
    ts_chain_link *link = &out->links[i];
    char words[1024] = "";
    char *file = ts_chain_file(path, link->number, TS_CHECKPOINT_MANIFEST);
    if (file == NULL) out->failed = true;
    else link->status = read_manifest(disk, file, &link->manifest, (ts_err){words, sizeof words});
    if (file != NULL && link->status == TS_OK) link->status = understand(link, file, (ts_err){words, sizeof words});
    free(file);
    if (link->status != TS_OK && (link->words = strdup(words)) == NULL) out->failed = true;
    if (link->status == TS_ENOMEM) out->failed = true;
  }
  if (status == TS_OK && (out->failed || out->path == NULL))
    status = ts_fail(err, TS_ENOMEM, "Cannot read the folder of checkpoints %s: out of memory", path);
  if (status != TS_OK) ts_chain_free(out);
  return status;
}

void ts_chain_free(ts_chain *chain) {
  for (uint32_t i = 0; i < chain->count; i++) {
    ts_manifest_free(&chain->links[i].manifest);
    free(chain->links[i].words);
    free(chain->links[i].shares);
  }
  for (uint32_t i = 0; i < chain->name_count; i++) free(chain->names[i]);
  free(chain->links);
  free(chain->names);
  free(chain->path);
  *chain = (ts_chain){0};
}

ts_chain_link *ts_chain_find(const ts_chain *chain, uint32_t number) {
  for (uint32_t i = 0; i < chain->count; i++)
    if (chain->links[i].number == number) return &chain->links[i];
  return NULL;
}

bool ts_chain_names(const ts_chain *chain, const char *name) {
  uint32_t number, share;
  if (ending_of(name, &number, &share) == NULL) return true;
  const ts_chain_link *link = ts_chain_find(chain, number);
  if (link == NULL) return false;
  if (share > 0) return link->status != TS_OK || share < link->share_count;
  const char *data = ts_manifest_get(&link->manifest, "data");
  return link->status != TS_OK || (strcmp(data, name) == 0 && !TS_BUG("compacted data is taken for a leftover"));
}

static int32_t remove_file(const ts_chain *chain, char *file, ts_err err) {
  if (file == NULL) return ts_fail(err, TS_ENOMEM, "Cannot remove files of %s: out of memory", chain->path);
  const int error = chain->disk->unlink(chain->disk, file);
  const bool gone = error == 0 || error == -ENOENT; /* now, or before */
  const int32_t status = gone ? TS_OK : ts_disk_fail(err, "remove what is needed no more", file, error);
  free(file);
  return status;
}

int32_t ts_chain_sweep(const ts_chain *chain, ts_err err) {
  int32_t status = TS_OK;
  if (TS_BUG("leftovers are not removed")) return TS_OK;
  for (uint32_t i = 0; status == TS_OK && i < chain->name_count; i++)
    if (!ts_chain_names(chain, chain->names[i]))
      status = remove_file(chain, ts_chain_path(chain->path, chain->names[i]), err);
  return status;
}

int32_t ts_chain_forget_older(const ts_chain *chain, ts_err err) {
  int32_t status = TS_OK;
  for (uint32_t i = chain->count; status == TS_OK && i-- > 1;) {
    const uint32_t at = TS_BUG("compaction removes the oldest manifest first") ? chain->count - 1 - i : i - 1;
    status = remove_file(chain, ts_chain_file(chain->path, chain->links[at].number, TS_CHECKPOINT_MANIFEST), err);
  }
  return status;
}

int32_t ts_chain_forget(const ts_chain *chain, const ts_chain_link *link, ts_err err) {
  int32_t status = remove_file(chain, ts_chain_file(chain->path, link->number, TS_CHECKPOINT_MANIFEST), err);
  const int error = status == TS_OK ? chain->disk->sync_folder(chain->disk, chain->path) : 0;
  if (error != 0) status = ts_disk_fail(err, "synchronise the folder", chain->path, error);
  for (uint32_t i = 0; status == TS_OK && link->status == TS_OK && i < link->share_count; i++)
    status = remove_file(chain, ts_chain_data(chain, link, i), err);
  return status;
}

int32_t ts_chain_parent(const ts_chain *chain, const ts_chain_link *link, ts_chain_link **out, ts_err err) {
  ts_chain_link *parent = ts_chain_find(chain, link->parent);
  *out = parent;
  if (parent == NULL)
    return ts_fail(err, TS_EFORMAT, "Cannot read checkpoint %u of %s: its parent, checkpoint %u (%08x" TS_CHECKPOINT_MANIFEST
                   "), is missing", link->number, chain->path, link->parent, link->parent);
  if (parent->status != TS_OK) return ts_fail(err, parent->status, "%s", parent->words);
  if (memcmp(parent->chain, link->chain, TS_CHECKPOINT_ID) != 0 && !TS_BUG("another chain is not seen"))
    return ts_fail(err, TS_EFORMAT, "Cannot read checkpoint %u of %s: checkpoint %u is of another chain (%s, not %s)",
                   link->number, chain->path, parent->number, ts_manifest_get(&parent->manifest, "chain"),
                   ts_manifest_get(&link->manifest, "chain"));
  if (memcmp(parent->id, link->parent_id, TS_CHECKPOINT_ID) != 0 && !TS_BUG("another parent is not seen"))
    return ts_fail(err, TS_EFORMAT, "Cannot read checkpoint %u of %s: checkpoint %u is not the one that it was made from (it is "
                   "%s, not %s)", link->number, chain->path, parent->number, ts_manifest_get(&parent->manifest, "id"),
                   ts_manifest_get(&link->manifest, "parent_id"));
  if (parent->timeline > link->timeline)
    return ts_fail(err, TS_EFORMAT, "Cannot read checkpoint %u of %s: it is of timeline %llu, its parent %u of the later timeline "
                   "%llu; it is of a timeline that was abandoned", link->number, chain->path,
                   (unsigned long long)link->timeline, parent->number, (unsigned long long)parent->timeline);
  return TS_OK;
}

int32_t ts_chain_current(const ts_chain *chain, const ts_chain_link *link, ts_err err) {
  for (uint32_t i = 0; i < chain->count && chain->links[i].number < link->number; i++)
    if (chain->links[i].status == TS_OK && chain->links[i].timeline > link->timeline && !TS_BUG("timelines are not compared"))
      return ts_fail(err, TS_EINVAL, "Cannot read checkpoint %u of %s: it is of timeline %llu, which was abandoned: checkpoint %u "
                     "before it is of timeline %llu", link->number, chain->path, (unsigned long long)link->timeline,
                     chain->links[i].number, (unsigned long long)chain->links[i].timeline);
  const ts_chain_link *newest = &chain->links[chain->count - 1], *at = newest;
  while (at != NULL && at->status == TS_OK && at->number > link->number)
    at = at->parent == 0 ? NULL : ts_chain_find(chain, at->parent);
  if (at == NULL || at->status != TS_OK || at->number == link->number || TS_BUG("an abandoned checkpoint is taken")) return TS_OK;
  return ts_fail(err, TS_EINVAL, "Cannot read checkpoint %u of %s: its timeline was abandoned when checkpoint %u was restored and "
                 "went on as checkpoint %u; move the files of later numbers away to go back to it", link->number, chain->path,
                 at->number, newest->number);
}

int32_t ts_chain_needed(const ts_chain *chain, ts_chain_link *link, ts_chain_link **out, uint32_t *count, ts_err err) {
  *count = 0;
  int32_t status = link->status == TS_OK ? ts_chain_current(chain, link, err) : ts_fail(err, link->status, "%s", link->words);
  while (status == TS_OK) {
    out[(*count)++] = link;
    status = ts_chain_data_length(chain, link, err);
    if (status != TS_OK || !link->delta) break;
    status = ts_chain_parent(chain, link, &link, err); /* a number below the link's: this ends */
  }
  return status;
}
