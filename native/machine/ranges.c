/* ranges.c - where memory lies among physical addresses: System RAM as the kernel lists it, the memory blocks of each
 * node, and the memmap= options that set parts of it aside (Documentation/admin-guide/kernel-parameters.txt of Linux).
 * The kernel does not compare such an option with the RAM there is; whoever writes one has to. */
#include "machine/machine.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MEMORY "/sys/devices/system/memory"
#define NODES "/sys/devices/system/node"

static void ram(ts_probe *probe) {
  char *text = ts_probe_text(probe, "/proc/iomem"), *rest = NULL;
  if (text == NULL) return;
  uint32_t number = 0;
  for (char *line = strtok_r(text, "\n", &rest); line != NULL; line = strtok_r(NULL, "\n", &rest)) {
    /* Indented lines are parts of the range above them. */
    uint64_t first, last;
    char name[64];
    if (!isxdigit((unsigned char)*line) ||
        sscanf(line, "%" SCNx64 "-%" SCNx64 " : %63[^\n]", &first, &last, name) != 3 ||
        strcmp(name, "System RAM") != 0 || last <= first)
      continue;
    ts_probe_number(probe, first, "memory.ram.%u.start", number);
    ts_probe_number(probe, last + 1, "memory.ram.%u.end", number);
    number++;
  }
  free(text);
}

static void memmap(ts_probe *probe) {
  char *line = ts_probe_text(probe, "/proc/cmdline"), *rest = NULL;
  if (line == NULL) return;
  ts_text found = {0};
  for (char *word = strtok_r(line, " \n", &rest); word != NULL; word = strtok_r(NULL, " \n", &rest))
    if (strncmp(word, "memmap=", 7) == 0) ts_text_add(&found, "%s%s", found.length > 0 ? " " : "", word);
  if (found.length > 0) ts_probe_fact(probe, found.bytes, "kernel.cmdline_memmap");
  free(found.bytes);
  free(line);
}

/* memory<n> covers block n: phys_index holds the same number in hexadecimal, as block_size_bytes does its size. */
static bool block(const ts_probe *probe, const char *node, const char *name, uint64_t *out) {
  char line[64], *end;
  if (!ts_probe_line(probe, line, sizeof line, NODES "/%s/%s/phys_index", node, name) || line[0] == '\0') return false;
  *out = strtoull(line, &end, 16);
  return *end == '\0';
}

static void nodes(ts_probe *probe) {
  char line[64], *end;
  if (!ts_probe_line(probe, line, sizeof line, MEMORY "/block_size_bytes") || line[0] == '\0') return;
  uint64_t size = strtoull(line, &end, 16);
  if (*end != '\0' || size == 0) return;
  ts_names all = ts_probe_names(probe, "node", NODES);
  for (uint32_t i = 0; i < all.count; i++) {
    const char *node = all.names[i];
    if (!isdigit((unsigned char)node[4])) continue;
    ts_names blocks = ts_probe_names(probe, "memory", NODES "/%s", node);
    const char *lowest = NULL, *highest = NULL; /* names come in natural order; memory_side_cache is no block */
    for (uint32_t b = 0; b < blocks.count; b++) {
      if (!isdigit((unsigned char)blocks.names[b][6])) continue;
      if (lowest == NULL) lowest = blocks.names[b];
      highest = blocks.names[b];
    }
    uint64_t first, last;
    if (lowest != NULL && block(probe, node, lowest, &first) && block(probe, node, highest, &last)) {
      ts_probe_number(probe, first * size, "node.%s.start", node + 4);
      ts_probe_number(probe, (last + 1) * size, "node.%s.end", node + 4);
    }
    ts_names_free(&blocks);
  }
  ts_names_free(&all);
}

void ts_probe_ranges(ts_probe *probe) {
  ram(probe);
  memmap(probe);
  nodes(probe);
}
