/* format.c - layout arithmetic, records to bytes and back, and their checksum. */
#include "base/seeded_bug.h"
#include "tiers/ssdhash/format.h"

#define FULL_PAGE (64u << 10)

bool ts_ssd_layout_make(uint32_t row_bytes, uint32_t version_bytes, ts_ssd_layout *out) {
  uint64_t record = (uint64_t)row_bytes + TS_SSD_RECORD_FIXED + version_bytes, best = 0;
  double least = 2;
  if (record > UINT32_MAX / 2) return false;
  for (uint64_t page = TS_ROUND_UP(record, TS_SSD_BLOCK);
       page <= TS_MAX((uint64_t)FULL_PAGE, TS_ROUND_UP(record, TS_SSD_BLOCK)); page += TS_SSD_BLOCK) {
    double waste = (double)(page % record) / (double)page;
    if (waste < least) {
      least = waste;
      best = page;
    }
    if (waste <= 0.01) break;
  }
  *out = (ts_ssd_layout){version_bytes, (uint32_t)record, (uint32_t)best, (uint32_t)(best / record)};
  return true;
}

static uint32_t record_checksum(const ts_ssd_layout *l, uint64_t number, uint32_t slot, const unsigned char *record) {
  uint64_t place[2] = {number, slot};
  uint32_t crc = ts_crc32c(0, place, sizeof place);
  crc = ts_crc32c(crc, record + 4, l->record_bytes - 4);
  return crc == 0 ? 1 : crc;
}

void ts_ssd_encode(const ts_ssd_layout *l, uint32_t row_bytes, uint64_t number, uint32_t slot,
                   const ts_ssd_record *record, unsigned char *out) {
  memcpy(out + 4, &record->sequence, 6);
  memcpy(out + 10, &record->key, 8);
  memcpy(out + TS_SSD_RECORD_FIXED, &record->version, l->version_bytes);
  memcpy(out + TS_SSD_RECORD_FIXED + l->version_bytes, record->row, row_bytes);
  uint32_t crc = record_checksum(l, number, slot, out);
  memcpy(out, &crc, 4);
}

bool ts_ssd_decode(const ts_ssd_layout *l, uint32_t row_bytes, uint64_t number, uint32_t slot, const unsigned char *in,
                   ts_ssd_record *record) {
  (void)row_bytes;
  uint32_t crc;
  memcpy(&crc, in, 4);
  if (crc != record_checksum(l, number, slot, in) && !TS_BUG("a record's checksum is not compared")) return false;
  record->sequence = record->version = 0;
  memcpy(&record->sequence, in + 4, 6);
  memcpy(&record->key, in + 10, 8);
  memcpy(&record->version, in + TS_SSD_RECORD_FIXED, l->version_bytes);
  record->row = in + TS_SSD_RECORD_FIXED + l->version_bytes;
  return true;
}
