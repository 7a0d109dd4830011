/* segments.c - files, places, and lists of places. */
#include "base/seeded_bug.h"
#include "base/sync_point.h"
#include "tiers/pmem/table.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Segments grow with the table, so that a small one takes little and a large one has few. */
#define SMALLEST (UINT64_C(64) << 10)
#define LARGEST (UINT64_C(1) << 30)

int32_t ts_pm_path(const ts_pm_table *t, uint32_t segment, char out[TS_PM_PATH], ts_err err) {
  const int n = snprintf(out, TS_PM_PATH, "%s/%u.pool", t->directory, segment);
  if (n > 0 && n < (int)TS_PM_PATH) return TS_OK;
  return ts_fail(err, TS_EINVAL, "Cannot open the PMEM table \"%s\": its path has more than %u bytes", t->name, TS_PM_PATH - 1);
}

uint64_t ts_pm_first_place(uint32_t segment) { return segment == 0 ? TS_PM_FIRST : TS_PM_PAGE; }

uint64_t ts_pm_offset(const ts_pm_table *t, uint64_t place) {
  return ts_pm_first_place((uint32_t)(place >> TS_PM_SEGMENT_BITS)) +
         (place & ((UINT64_C(1) << TS_PM_SEGMENT_BITS) - 1)) * t->place_bytes;
}

static const ts_pmem_map *map_of(const ts_pm_table *t, uint64_t place) {
  return &t->segments[place >> TS_PM_SEGMENT_BITS].map;
}

ts_pm_head *ts_pm_at(const ts_pm_table *t, uint64_t place) {
  return (ts_pm_head *)(void *)(map_of(t, place)->base + ts_pm_offset(t, place));
}

static void copy(ts_pm_table *t, const ts_pmem_map *map, uint64_t offset, const void *from, uint64_t bytes) {
  t->pmem->copy(t->pmem, map, offset, from, bytes);
  t->copies++;
  t->bytes_written += bytes;
}

/* ---- lists ---- */

void ts_pm_push(ts_pm_table *t, ts_pm_list *list, uint64_t place) {
  ts_pm_at(t, place)->link = list->first;
  list->first = place + 1;
  list->count++;
}

uint64_t ts_pm_pop(ts_pm_table *t, ts_pm_list *list) {
  if (list->first == 0) return TS_PM_NO_PLACE;
  const uint64_t place = list->first - 1;
  list->first = ts_pm_at(t, place)->link;
  list->count--;
  return place;
}

uint64_t ts_pm_take(ts_pm_table *t) {
  const uint64_t place = ts_pm_pop(t, &t->free);
  return place != TS_PM_NO_PLACE ? place : ts_pm_place(t->segment_count - 1, t->next++);
}

/* ---- segments ---- */

int32_t ts_pm_segment_add(ts_pm_table *t, const ts_pmem_map *map, ts_err err) {
  if (t->segment_count == t->segment_capacity) {
    ts_pm_segment *more = realloc(t->segments, (2 * (size_t)t->segment_capacity + 4) * sizeof *more);
    if (more == NULL) return ts_fail(err, TS_ENOMEM, "Cannot open the PMEM table \"%s\": out of memory", t->name);
    t->segments = more;
    t->segment_capacity = 2 * t->segment_capacity + 4;
  }
  const uint64_t places = (map->bytes - ts_pm_first_place(t->segment_count)) / t->place_bytes;
  t->segments[t->segment_count++] =
      (ts_pm_segment){*map, (uint32_t)TS_MIN(places, UINT64_C(1) << TS_PM_SEGMENT_BITS)};
  t->medium_bytes += map->bytes;
  t->next = 0;
  return TS_OK;
}

/* A new file, charged already. What is there of this name came after the newest checkpoint of a table that is gone. */
static int create(ts_pm_table *t, const char *path, uint64_t bytes, ts_pmem_map *map) {
  int status = t->pmem->create(t->pmem, path, bytes, map);
  if (status == -EEXIST && t->pmem->unlink(t->pmem, path) == 0) status = t->pmem->create(t->pmem, path, bytes, map);
  return status;
}

static int32_t grow(ts_pm_table *t, uint64_t bytes, ts_err err) {
  char path[TS_PM_PATH];
  ts_pmem_map map;
  int32_t status = ts_pm_path(t, t->segment_count, path, err);
  if (status != TS_OK) return status;
  const int made = create(t, path, bytes, &map);
  if (made != 0) return ts_disk_fail(err, "create", path, made);
  ts_pm_geometry geometry = {.magic = TS_PM_MAGIC,
                             .pool = t->pool,
                             .table = t->name_hash,
                             .bytes = bytes,
                             .row_bytes = t->row_bytes,
                             .place_bytes = t->place_bytes,
                             .segment = t->segment_count,
                             .layout_words = t->layout_words};
  if (t->layout_words > 0) memcpy(geometry.layout, t->layout, (size_t)t->layout_words * 8);
  geometry.sum = ts_pm_geometry_sum(&geometry);
  copy(t, &map, 0, &geometry, sizeof geometry);
  t->pmem->drain(t->pmem);
  /* Places of the last one that were never used. */
  for (uint32_t n = t->segment_count > 0 ? t->segments[t->segment_count - 1].places : 0; n-- > t->next;)
    ts_pm_push(t, &t->free, ts_pm_place(t->segment_count - 1, n));
  status = ts_pm_segment_add(t, &map, err);
  if (status != TS_OK) {
    t->pmem->close(t->pmem, &map);
    t->pmem->unlink(t->pmem, path);
  }
  return status;
}

static uint64_t spare(const ts_pm_table *t) {
  return t->free.count + (t->segment_count > 0 ? t->segments[t->segment_count - 1].places - t->next : 0);
}

static int32_t full(const ts_pm_table *t, const char *what, ts_err err) {
  char cuts[192] = "", retained[320] = "";
  ts_pm_say_cuts(t, false, cuts, sizeof cuts);
  if (t->retained > 0)
    snprintf(retained, sizeof retained, " (%llu records more were replaced and stay for the checkpoints %s: drop one)",
             (unsigned long long)t->retained, cuts);
  return ts_fail(err, TS_EFULL, "Cannot %s table \"%s\" in PMEM: that tier is full, %llu of %llu bytes are used%s; raise its size", what,
                 t->name, (unsigned long long)atomic_load(&t->budget->used), (unsigned long long)t->budget->limit, retained);
}

int32_t ts_pm_reserve(ts_pm_table *t, uint64_t want, const char *what, ts_err err) {
  while (spare(t) < want) {
    const uint64_t least = TS_ROUND_UP(ts_pm_first_place(t->segment_count) + 2 * (uint64_t)t->place_bytes, TS_PM_PAGE);
    uint64_t bytes = TS_MAX(t->medium_bytes / 4, SMALLEST);
    bytes = TS_MAX(TS_ROUND_UP(TS_MIN(bytes, LARGEST), TS_PM_PAGE), least);
    bool charged = false;
    while (t->segment_count < TS_PM_SEGMENTS && !(charged = ts_budget_take(t->budget, TS_PURPOSE_ROWS, bytes)) && bytes > least)
      bytes = TS_MAX(TS_ROUND_UP(bytes / 2, TS_PM_PAGE), least);
    if (!charged) return full(t, what, err);
    const int32_t status = grow(t, bytes, err);
    if (status != TS_OK) {
      ts_budget_give_back(t->budget, TS_PURPOSE_ROWS, bytes);
      return status;
    }
  }
  return TS_OK;
}

/* ---- records ---- */

void ts_pm_write(ts_pm_table *t, uint64_t place, ts_pm_head *head, uint32_t until, const void *row) {
  const uint32_t length = head->length & ~TS_PM_NOTE;
  head->sum = ts_pm_sum(t->pool, place, head, row);
  head->until = ts_pm_until(t->pool, place, head->sum, until);
  head->link = 0;
  memcpy(t->staging, head, sizeof *head);
  memcpy(t->staging + sizeof *head, row, length);
  const uint64_t bytes = TS_ROUND_UP(sizeof *head + length, 8);
  memset(t->staging + sizeof *head + length, 0, bytes - sizeof *head - length);
  copy(t, map_of(t, place), ts_pm_offset(t, place), t->staging, bytes);
}

void ts_pm_end(ts_pm_table *t, uint64_t place, uint32_t epoch) {
  const uint64_t until = ts_pm_until(t->pool, place, ts_pm_at(t, place)->sum, epoch);
  copy(t, map_of(t, place), ts_pm_offset(t, place) + offsetof(ts_pm_head, until), &until, sizeof until);
}

bool ts_pm_is_whole(const ts_pm_table *t, uint64_t place) {
  const ts_pm_head *head = ts_pm_at(t, place);
  const uint32_t length = head->length & ~TS_PM_NOTE;
  if (head->length == 0 || length > t->row_bytes) return false;
  if (!TS_BUG("pmem: records are not checked") && ts_pm_sum(t->pool, place, head, head + 1) != head->sum) return false;
  return TS_BUG("pmem: ends are not checked") ||
         head->until == ts_pm_until(t->pool, place, head->sum, (uint32_t)head->until);
}

int32_t ts_pm_sync(ts_pm_table *t, ts_err err) {
  pthread_rwlock_rdlock(&t->lock);
  const uint32_t n = t->segment_count;
  ts_pmem_map *maps = malloc(((size_t)n + 1) * sizeof *maps);
  for (uint32_t i = 0; maps != NULL && i < n; i++) maps[i] = t->segments[i].map; /* they stay until the table closes */
  pthread_rwlock_unlock(&t->lock);
  if (maps == NULL) return ts_fail(err, TS_ENOMEM, "Cannot synchronize table \"%s\": out of memory", t->name);
  int32_t status = TS_OK;
  for (uint32_t i = TS_BUG("pmem: the first file is not synchronised") ? 1 : 0; i < n && status == TS_OK; i++) {
    if (TS_BUG("pmem: later files are not synchronised") && i > 0) break;
    char path[TS_PM_PATH] = "";
    int error = 0; /* what a test's medium answers; 0: ask the real one */
    TS_SYNC_VALUE("pmem:medium:sync", error);
    if (error == 0) error = t->pmem->sync(t->pmem, &maps[i]);
    if (error == 0 || TS_BUG("pmem: a sync that failed is passed over")) continue;
    t->sync_failed = true;
    status = ts_pm_path(t, i, path, err);
    if (status == TS_OK) status = ts_disk_fail(err, "synchronize", path, error);
  }
  free(maps);
  return status;
}
