/* format.c - see format.h. */
#include "tiers/pmem/format.h"

#include "base/crc32c.h"
#include "base/seeded_bug.h"

uint32_t ts_pm_geometry_sum(const ts_pm_geometry *geometry) {
  ts_pm_geometry g = *geometry;
  g.sum = 0;
  return ts_crc32c(0, &g, sizeof g);
}

uint32_t ts_pm_root_sum(const ts_pm_root *root) {
  ts_pm_root r = *root;
  r.sum = 0;
  return ts_crc32c(0, &r, sizeof r);
}

uint32_t ts_pm_sum(uint64_t pool, uint64_t place, const ts_pm_head *head, const void *row) {
  const struct {
    uint64_t pool, place;
    int64_t key;
    uint64_t version;
    uint32_t from, timeline, length, zero;
  } what = {pool, place, head->key, head->version, head->from, head->timeline, head->length, 0};
  const uint32_t sum = ts_crc32c(0, &what, sizeof what);
  return TS_BUG("pmem: a record's sum leaves out the row") ? sum : ts_crc32c(sum, row, head->length & ~TS_PM_NOTE);
}

uint64_t ts_pm_until(uint64_t pool, uint64_t place, uint32_t sum, uint32_t epoch) {
  const struct {
    uint64_t pool, place;
    uint32_t sum, epoch;
  } what = {pool, place, TS_BUG("pmem: an end may be another record's") ? 0 : sum, epoch};
  return (uint64_t)ts_crc32c(0, &what, sizeof what) << 32 | epoch;
}

uint64_t ts_pm_word(uint64_t pool, uint64_t sequence) {
  const uint64_t what[2] = {pool, sequence & UINT32_MAX};
  return (uint64_t)ts_crc32c(0, what, sizeof what) << 32 | (sequence & UINT32_MAX);
}
