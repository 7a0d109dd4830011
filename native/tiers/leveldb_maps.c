/* leveldb_maps.c - finds LevelDB's mapped tables and turns read-ahead off for them, since its interface cannot.
 *
 * A table may be unmapped between the look and the advice, and the addresses be someone else's by then: the advice only
 * concerns how a mapped file is read ahead and changes no contents, so the worst is slower sequential reads of a
 * neighbour. */
#include "tiers/leveldb.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

uint32_t ts_leveldb_advise(const char *folder) {
  FILE *maps = fopen("/proc/self/maps", "re");
  if (maps == NULL) return 0;
  size_t folder_length = strlen(folder), cap = 0;
  char *line = NULL;
  uint32_t tables = 0;
  for (ssize_t n; (n = getline(&line, &cap, maps)) > 0;) {
    if (line[n - 1] == '\n') line[--n] = '\0';
    /* "from-to r--s offset device inode      path" */
    const char *path = strchr(line, '/');
    if (path == NULL || strncmp(path, folder, folder_length) != 0 || path[folder_length] != '/') continue;
    if (strcmp(line + n - 4, ".ldb") != 0) continue;
    unsigned long from, to;
    if (sscanf(line, "%lx-%lx", &from, &to) != 2 || to <= from) continue;
    if (madvise((void *)from, to - from, MADV_RANDOM) == 0) tables++; /* NOLINT: an address from the kernel's text */
  }
  free(line);
  fclose(maps);
  return tables;
}
