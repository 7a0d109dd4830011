/* modules.c - memory modules as firmware describes them: SMBIOS structures of type 17 (DSP0134, 7.18), which the kernel shows to
 * root alone. */
#include "machine/machine.h"

#include <stdlib.h>
#include <string.h>

/* Offsets in the structure. */
#define SIZE 0x0Cu       /* MiB; with bit 15 KiB; 0: no module; 0x7FFF: in EXTENDED_SIZE */
#define TYPE 0x12u
#define SPEED 0x15u      /* the most it can, MT/s; 0: unknown; 0xFFFF: in EXTENDED_SPEED */
#define CONFIGURED 0x20u /* what it runs at, alike, in EXTENDED_CONFIGURED */
#define EXTENDED_SPEED 0x54u
#define EXTENDED_CONFIGURED 0x58u

#define MOST_KINDS 8u

/* Little-endian; 0 behind the end, which older firmware has sooner. */
static uint32_t number_at(const char *bytes, size_t length, size_t at, size_t width) {
  uint32_t value = 0;
  for (size_t i = width; i-- > 0;) value = value << 8 | (at + i < length ? (unsigned char)bytes[at + i] : 0u);
  return value;
}

static uint32_t speed_of(const char *bytes, size_t length, size_t at, size_t extended) {
  const uint32_t speed = number_at(bytes, length, at, 2);
  return speed == 0xFFFF ? number_at(bytes, length, extended, 4) & 0x7FFFFFFFu : speed;
}

static const char *type_name(uint32_t type) {
  static const struct {
    uint32_t type;
    const char *name;
  } names[] = {{0x18, "DDR3"},   {0x1A, "DDR4"},   {0x1E, "LPDDR4"}, {0x1F, "NVDIMM"},
               {0x20, "HBM"},    {0x21, "HBM2"},   {0x22, "DDR5"},   {0x23, "LPDDR5"}};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (names[i].type == type) return names[i].name;
  return "other";
}

/* "8 DDR5 at 4800 MT/s, 2 NVDIMM at 3200 MT/s": modules of a kind and a speed together, in the order of the first. */
void ts_probe_modules(ts_probe *probe) {
  struct {
    const char *type;
    uint32_t speed, count;
  } kinds[MOST_KINDS];
  uint32_t found = 0;
  ts_names entries = ts_probe_names(probe, "17-", "/sys/firmware/dmi/entries");
  for (uint32_t i = 0; i < entries.count; i++) {
    size_t length = 0;
    char *bytes = ts_probe_bytes(probe, &length, "/sys/firmware/dmi/entries/%s/raw", entries.names[i]);
    if (bytes == NULL) continue;
    if (number_at(bytes, length, SIZE, 2) != 0) {
      const char *type = type_name(number_at(bytes, length, TYPE, 1));
      const uint32_t runs = speed_of(bytes, length, CONFIGURED, EXTENDED_CONFIGURED);
      const uint32_t speed = runs != 0 ? runs : speed_of(bytes, length, SPEED, EXTENDED_SPEED);
      uint32_t k = 0;
      while (k < found && (strcmp(kinds[k].type, type) != 0 || kinds[k].speed != speed)) k++;
      if (k < found) kinds[k].count++;
      else if (found < MOST_KINDS) {
        kinds[found].type = type;
        kinds[found].speed = speed;
        kinds[found++].count = 1;
      }
    }
    free(bytes);
  }
  ts_names_free(&entries);
  ts_text text = {0};
  for (uint32_t k = 0; k < found; k++) {
    ts_text_add(&text, "%s%u %s", k > 0 ? ", " : "", kinds[k].count, kinds[k].type);
    if (kinds[k].speed != 0) ts_text_add(&text, " at %u MT/s", kinds[k].speed);
  }
  if (text.bytes != NULL) ts_probe_fact(probe, text.bytes, "memory.modules");
  free(text.bytes);
}
