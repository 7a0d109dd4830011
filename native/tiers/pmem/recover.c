/* recover.c - opening a table at one of its checkpoints.
 *
 * The files are read once, from their beginnings: the index is built, and each place goes to the list that it belongs to. Nothing
 * has changed until the checkpoint is known to be whole. Then a root of a new timeline becomes durable, without the
 * checkpoints behind the one that is opened; after that, what came later is undone: records that were put are ended where they
 * began, ends are taken back. A crash in the middle of that leaves it to the next opening. Only then epochs count on. */
#include "base/seeded_bug.h"
#include "tiers/pmem/table.h"

#include "base/control.h"
#include "base/crc32c.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define RESERVED 256u /* records that are put into the index together */
#define PLACES_A_STEP 4096u

typedef struct scan {
  ts_pm_table *t;
  uint64_t *control;
  ts_pm_root root;   /* as it was found */
  uint32_t opened;   /* its cut that is opened */
  uint64_t rows, digest;
  ts_pm_list reopen, undo; /* places */
  uint64_t damaged, first_damaged;
  uint64_t twice; /* a place whose key another one has, too, or TS_PM_NO_PLACE */
  int64_t keys[RESERVED];
  uint64_t hashes[RESERVED], places[RESERVED];
  uint32_t n;
  ts_err err;
} scan;

static int32_t damaged_file(const ts_pm_table *t, uint32_t segment, const char *what, ts_err err) {
  char path[TS_PM_PATH];
  const int32_t status = ts_pm_path(t, segment, path, err);
  return status != TS_OK ? status : ts_fail(err, TS_EFORMAT, "Cannot open table \"%s\": %s %s", t->name, path, what);
}

/* ---- which root ---- */

static bool is_root(const ts_pm_root *root, const ts_pm_geometry *geometry, uint32_t turn) {
  return root->sequence % 2 == turn && root->sequence > 0 && root->cuts <= TS_RECORDS_CUTS &&
         (TS_BUG("pmem: roots are not checked") || ts_pm_root_sum(root) == root->sum) &&
         (geometry == NULL || root->pool == geometry->pool);
}

static bool is_geometry(const ts_pm_geometry *g) {
  return memcmp(g->magic, TS_PM_MAGIC, sizeof g->magic) == 0 && g->layout_words <= TS_PM_LAYOUT_WORDS && ts_pm_geometry_sum(g) == g->sum;
}

/* The newest root of file 0; *found false: no checkpoint was ever complete. */
static int32_t find_root(const ts_pm_table *t, const ts_pmem_map *map, ts_pm_root *out, bool *found, ts_err err) {
  *found = false;
  if (map->bytes <= TS_PM_FIRST) return TS_OK; /* it was being made */
  const ts_pm_geometry *geometry = (const ts_pm_geometry *)(const void *)map->base;
  const ts_pm_geometry *good = is_geometry(geometry) ? geometry : NULL;
  uint64_t word;
  memcpy(&word, map->base + TS_PM_WORD, sizeof word);
  const ts_pm_root *newest = NULL;
  for (uint32_t turn = 0; turn < 2; turn++) {
    const ts_pm_root *root = (const ts_pm_root *)(const void *)(map->base + (1 + turn) * TS_PM_PAGE);
    if (is_root(root, good, turn) && (newest == NULL || root->sequence > newest->sequence)) newest = root;
  }
  if (newest == NULL && word == 0) return TS_OK;
  if (good == NULL) return damaged_file(t, 0, "is damaged in its first 4096 bytes", err);
  if (good->bytes != map->bytes) return damaged_file(t, 0, "has another length than it says", err);
  if (newest == NULL) return damaged_file(t, 0, "is damaged between 4096 and 12288, where its checkpoints are named", err);
  if (!TS_BUG("pmem: the word is not looked at")) {
    if (word != 0 && word != ts_pm_word(good->pool, word)) return damaged_file(t, 0, "is damaged at offset 12288", err);
    /* Of the next sequence it is if a crash came before the word: all that it names is durable by then. */
    const uint32_t ahead = (uint32_t)newest->sequence - (uint32_t)word;
    if (ahead > 1) return damaged_file(t, 0, "is damaged between 4096 and 12288, where its newest checkpoint is named", err);
  }
  *out = *newest;
  *found = true;
  return TS_OK;
}

static int32_t find_cut(const ts_pm_table *t, const ts_pm_root *root, uint64_t at, uint32_t *opened, ts_err err) {
  if (root->cuts == 0) return damaged_file(t, 0, "names no checkpoint", err);
  *opened = root->cuts - 1;
  if (at == 0) return TS_OK;
  ts_text there = {0};
  for (uint32_t i = 0; i < root->cuts; i++) {
    if (root->cut[i].number == at) {
      *opened = i;
      free(there.bytes);
      return TS_OK;
    }
    ts_text_add(&there, "%s%llu", i == 0 ? "" : ", ", (unsigned long long)root->cut[i].number);
  }
  const int32_t status = ts_fail(err, TS_EINVAL, "Cannot open table \"%s\" at checkpoint %llu: it was dropped or never complete; %s has %s",
                                 t->name, (unsigned long long)at, t->directory, there.bytes != NULL ? there.bytes : "others");
  free(there.bytes);
  return status;
}

/* ---- geometry ---- */

static int32_t check_geometry(const ts_pm_table *t, const ts_pmem_map *map, uint32_t segment, ts_err err) {
  const ts_pm_geometry *g = (const ts_pm_geometry *)(const void *)map->base;
  if (map->bytes < TS_PM_PAGE || !is_geometry(g)) return damaged_file(t, segment, "is damaged in its first 4096 bytes", err);
  if (g->bytes != map->bytes) return damaged_file(t, segment, "has another length than it says", err);
  if (g->table != t->name_hash || g->segment != segment || g->pool != t->pool)
    return damaged_file(t, segment, "is of another table, or of another place in it", err);
  if (g->row_bytes != t->row_bytes)
    return ts_fail(err, TS_EFORMAT, "Cannot open table \"%s\": rows in %s have %u bytes, these are to have %u; open it as it was made",
                   t->name, t->directory, g->row_bytes, t->row_bytes);
  if (g->layout_words != t->layout_words)
    return ts_fail(err, TS_EFORMAT, "Cannot open table \"%s\": its layout in %s has %u words, this one has %u; open it as it was made",
                   t->name, t->directory, g->layout_words, t->layout_words);
  for (uint32_t i = 0; i < t->layout_words; i++)
    if (g->layout[i] != t->layout[i] && !TS_BUG("pmem: another layout is taken"))
      return ts_fail(err, TS_EFORMAT,
                     "Cannot open table \"%s\": word %u of its layout in %s is %llu, here it is %llu; open it as it was made", t->name, i,
                     t->directory, (unsigned long long)g->layout[i], (unsigned long long)t->layout[i]);
  return TS_OK;
}

/* Takes a file into the table. The map is closed if that fails. */
static int32_t adopt(ts_pm_table *t, ts_pmem_map *map, ts_err err) {
  const uint32_t segment = t->segment_count;
  int32_t status = check_geometry(t, map, segment, err);
  bool charged = false;
  if (status == TS_OK && !(charged = ts_budget_take(t->budget, TS_PURPOSE_ROWS, map->bytes)))
    status = ts_fail(err, TS_EFULL, "Cannot open table \"%s\": its files do not fit the %llu bytes of the PMEM tier; raise its size", t->name,
                     (unsigned long long)t->budget->limit);
  if (status == TS_OK) status = ts_pm_segment_add(t, map, err);
  if (status == TS_OK) return TS_OK;
  if (charged) ts_budget_give_back(t->budget, TS_PURPOSE_ROWS, map->bytes);
  t->pmem->close(t->pmem, map);
  return status;
}

static int32_t open_segments(ts_pm_table *t, const ts_pm_root *root, ts_err err) {
  char path[TS_PM_PATH];
  while (t->segment_count < root->segments) {
    ts_pmem_map map;
    int32_t status = ts_pm_path(t, t->segment_count, path, err);
    if (status != TS_OK) return status;
    const int error = t->pmem->open(t->pmem, path, &map);
    if (error == -ENOENT || error == -ENODATA)
      return ts_fail(err, TS_EFORMAT, "Cannot open table \"%s\": %s is %s; its checkpoints need it", t->name, path,
                     error == -ENOENT ? "missing" : "empty");
    if (error != 0) return ts_disk_fail(err, "open", path, error);
    status = adopt(t, &map, err);
    if (status != TS_OK) return status;
  }
  for (uint32_t i = 0; i < t->segment_count; i++) t->next = t->segments[i].places; /* all go to lists */
  return TS_OK;
}

/* ---- the scan ---- */

static int32_t insert(scan *s) {
  ts_pm_table *t = s->t;
  uint64_t wanted = 0;
  const int32_t status = ts_index_reserve(&t->index, s->hashes, s->n, &wanted);
  if (status == TS_EFULL)
    return ts_fail(s->err, TS_EFULL, "Cannot open table \"%s\": its index needs %llu more bytes of DRAM, the limit refuses them; raise the first size",
                   t->name, (unsigned long long)wanted);
  if (status != TS_OK) return ts_fail(s->err, status, "Cannot open table \"%s\": no memory for its index", t->name);
  for (uint32_t i = 0; i < s->n; i++) ts_index_prepare(&t->index, s->hashes[i]);
  for (uint32_t i = 0; i < s->n; i++) {
    if (ts_index_find_one(&t->index, s->keys[i]) != TS_LOCATION_NONE)
      s->twice = s->places[i];
    else
      ts_index_insert(&t->index, s->keys[i], s->hashes[i], s->places[i]);
  }
  ts_index_clear_reservations(&t->index);
  s->n = 0;
  return TS_OK;
}

static int32_t live(scan *s, const ts_pm_head *head, uint64_t place) {
  s->rows++;
  s->digest += ts_pm_digest(head);
  if ((uint32_t)head->until != TS_PM_OPEN) ts_pm_push(s->t, &s->reopen, place);
  s->keys[s->n] = head->key;
  s->hashes[s->n] = ts_index_hash(head->key);
  s->places[s->n++] = place;
  return s->n == RESERVED ? insert(s) : TS_OK;
}

static void note_part(scan *s, const ts_pm_head *head, uint64_t place) {
  ts_pm_table *t = s->t;
  for (uint32_t i = 0; i <= s->opened; i++)
    if (t->cuts[i].cut.epoch == head->from && (uint32_t)head->until == head->from + 1) {
      ts_pm_push(t, &t->cuts[i].note, place);
      return;
    }
  ts_pm_push(t, &t->free, place);
}

static int32_t look_at(scan *s, uint64_t place) {
  ts_pm_table *t = s->t;
  const ts_pm_head *head = ts_pm_at(t, place);
  if (!ts_pm_is_whole(t, place) || head->timeline > s->root.timeline) {
    if (head->length != 0 && s->damaged++ == 0) s->first_damaged = place;
    ts_pm_push(t, &t->free, place);
    return TS_OK;
  }
  const uint32_t epoch = t->cuts[s->opened].cut.epoch, until = (uint32_t)head->until;
  if (head->from > epoch) {
    ts_pm_push(t, &s->undo, place);
  } else if (head->length & TS_PM_NOTE) {
    note_part(s, head, place);
  } else if (until > epoch) {
    return live(s, head, place);
  } else {
    const int32_t cut = ts_pm_retaining(t, head->from, until);
    ts_pm_push(t, cut >= 0 ? &t->cuts[cut].retained : &t->free, place);
    t->retained += cut >= 0;
  }
  return TS_OK;
}

static int32_t scan_all(scan *s) {
  ts_pm_table *t = s->t;
  int32_t status = TS_OK;
  uint64_t all = 0;
  for (uint32_t segment = 0; segment < t->segment_count; segment++) all += t->segments[segment].places;
  ts_index_expect(&t->index, TS_MIN(t->cuts[s->opened].cut.rows, all));
  ts_control_more(s->control, t->medium_bytes); /* after those of the tables before it */
  for (uint32_t segment = 0; segment < t->segment_count && status == TS_OK; segment++) {
    const uint32_t places = t->segments[segment].places;
    for (uint32_t n = 0; n < places && status == TS_OK; n++) {
      if (n % PLACES_A_STEP == 0 && ts_control_cancelled(s->control))
        return ts_fail(s->err, TS_ECANCELLED, "Cannot open table \"%s\": it was cancelled", t->name);
      status = look_at(s, ts_pm_place(segment, n));
      if ((n + 1) % PLACES_A_STEP == 0) ts_control_add(s->control, (uint64_t)PLACES_A_STEP * t->place_bytes);
    }
    ts_control_add(s->control, t->segments[segment].map.bytes - (uint64_t)(places / PLACES_A_STEP * PLACES_A_STEP) * t->place_bytes);
  }
  return status == TS_OK && s->n > 0 ? insert(s) : status;
}

/* ---- whether it is whole ---- */

static bool read_note(ts_pm_table *t, const ts_pm_kept *kept) {
  if (kept->cut.note_bytes == 0) return true;
  t->note = calloc(1, kept->cut.note_bytes);
  if (t->note == NULL) return false;
  for (uint64_t link = kept->note.first; link != 0; link = ts_pm_at(t, link - 1)->link) {
    const ts_pm_head *head = ts_pm_at(t, link - 1);
    const uint64_t at = (uint64_t)head->key * t->row_bytes, length = head->length & ~TS_PM_NOTE;
    if (head->key < 0 || at + length > kept->cut.note_bytes) return false;
    memcpy((unsigned char *)t->note + at, head + 1, length);
  }
  t->note_bytes = kept->cut.note_bytes;
  return ts_crc32c(0, t->note, t->note_bytes) == kept->cut.note_sum;
}

static int32_t check_whole(scan *s) {
  ts_pm_table *t = s->t;
  const ts_pm_kept *kept = &t->cuts[s->opened];
  const bool note = read_note(t, kept);
  if (s->twice != TS_PM_NO_PLACE) s->first_damaged = s->twice;
  const bool named = s->damaged > 0 || s->twice != TS_PM_NO_PLACE;
  if (TS_BUG("pmem: lost rows are not missed")) return TS_OK;
  if (s->rows == kept->cut.rows && s->digest == kept->cut.digest && s->twice == TS_PM_NO_PLACE && note) return TS_OK;
  char path[TS_PM_PATH] = "";
  if (named) (void)ts_pm_path(t, (uint32_t)(s->first_damaged >> TS_PM_SEGMENT_BITS), path, s->err);
  ts_text where = {0};
  if (named)
    ts_text_add(&where, "; the record at offset %llu of %s is damaged, the first of %llu", (unsigned long long)ts_pm_offset(t, s->first_damaged),
                path, (unsigned long long)TS_MAX(s->damaged, 1));
  const int32_t status = ts_fail(s->err, TS_EFORMAT, "Cannot open table \"%s\" at checkpoint %llu: %llu of its %llu rows are there%s%s; open an older one",
                                 t->name, (unsigned long long)kept->cut.number, (unsigned long long)s->rows, (unsigned long long)kept->cut.rows,
                                 note ? "" : ", its note is not", where.bytes != NULL ? where.bytes : "");
  free(where.bytes);
  return status;
}

/* ---- the new timeline ---- */

static int32_t begin_timeline(scan *s) {
  ts_pm_table *t = s->t;
  ts_pm_root root = s->root;
  while (root.cuts > s->opened + 1 && !TS_BUG("pmem: later checkpoints are not dropped")) ts_pm_root_leave_out(&root, root.cuts - 1);
  t->root = s->root;
  t->timeline = s->root.timeline + 1;
  /* What was read may never have become durable, the word behind it not even written. */
  int32_t status = TS_BUG("pmem: the root that is read is trusted") ? TS_OK : ts_pm_root_store(t, &s->root, s->err);
  if (status == TS_OK) status = ts_pm_root_write(t, &root, s->err);
  uint64_t place;
  while (status == TS_OK && (place = ts_pm_pop(t, &s->reopen)) != TS_PM_NO_PLACE)
    if (!TS_BUG("pmem: ends of an abandoned timeline stay")) ts_pm_end(t, place, TS_PM_OPEN);
  while (status == TS_OK && (place = ts_pm_pop(t, &s->undo)) != TS_PM_NO_PLACE) {
    if (!TS_BUG("pmem: records of an abandoned timeline stay")) ts_pm_end(t, place, ts_pm_at(t, place)->from);
    ts_pm_push(t, &t->free, place);
  }
  if (status != TS_OK) return status;
  t->pmem->drain(t->pmem);
  /* Not with the next checkpoint: if synchronizing that failed, who opens the table then would see what is not on the medium. */
  status = ts_pm_sync(t, s->err);
  if (status != TS_OK) return status;
  /* Files that no checkpoint needs. */
  for (uint32_t i = t->segment_count; i < TS_PM_SEGMENTS; i++) {
    char path[TS_PM_PATH];
    if (ts_pm_path(t, i, path, s->err) != TS_OK || t->pmem->unlink(t->pmem, path) != 0) break;
  }
  return TS_OK;
}

int32_t ts_pm_recover(ts_pm_table *t, uint64_t at, bool looks, uint64_t *control, ts_err err) {
  char path[TS_PM_PATH];
  ts_pmem_map map;
  scan *s = calloc(1, sizeof *s);
  int32_t status = s == NULL ? ts_fail(err, TS_ENOMEM, "Cannot open table \"%s\": out of memory", t->name) : ts_pm_path(t, 0, path, err);
  if (status != TS_OK) {
    free(s);
    return status;
  }
  s->t = t;
  s->control = control;
  s->twice = TS_PM_NO_PLACE;
  s->err = err;
  bool found = false;
  const int error = t->pmem->open(t->pmem, path, &map);
  if (error == 0) {
    status = find_root(t, &map, &s->root, &found, err);
    if (status == TS_OK && found && t->temporary)
      status = ts_fail(err, TS_EINVAL, "Cannot open table \"%s\" for a while: %s has checkpoints; remove it, or open it to stay", t->name, path);
    if (status == TS_OK && found) status = find_cut(t, &s->root, at, &s->opened, err);
    if (status == TS_OK && found) t->pool = s->root.pool;
    if (status != TS_OK || !found) t->pmem->close(t->pmem, &map);
    else status = adopt(t, &map, err);
  } else if (error != -ENOENT && error != -ENODATA) {
    status = ts_disk_fail(err, "open", path, error);
  }
  if (status == TS_OK && !found) {
    /* What is there belongs to no checkpoint; files are made anew. */
    if (at != 0)
      status = ts_fail(err, TS_EINVAL, "Cannot open table \"%s\" at checkpoint %llu: %s has none", t->name, (unsigned long long)at, t->directory);
    for (uint32_t i = 0; status == TS_OK && i < TS_PM_SEGMENTS; i++)
      if (ts_pm_path(t, i, path, err) != TS_OK || t->pmem->unlink(t->pmem, path) != 0) break;
    free(s);
    return status;
  }
  if (status == TS_OK) status = open_segments(t, &s->root, err);
  if (status == TS_OK) {
    t->cut_count = s->opened + 1;
    for (uint32_t i = 0; i < t->cut_count; i++) t->cuts[i] = (ts_pm_kept){.cut = s->root.cut[i], .complete = true};
    status = scan_all(s);
  }
  if (status == TS_OK) status = check_whole(s);
  if (status == TS_OK && !looks) status = begin_timeline(s);
  if (status == TS_OK) {
    const ts_pm_cut *cut = &t->cuts[s->opened].cut;
    t->epoch = cut->epoch + 1;
    t->begun = cut->number;
    t->digest = cut->digest;
  }
  free(s);
  return status;
}
