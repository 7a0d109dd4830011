/* mappings.c - finds LevelDB's mapped tables and turns read-ahead off for them, since its interface cannot.
 *
 * A table may be unmapped between the look and the advice, and the addresses be someone else's by then: the advice only
 * concerns how a mapped file is read ahead and changes no contents, so the worst is slower sequential reads of a
 * neighbour. */
#include "tiers/leveldb/database.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define LONGEST_PAUSE_NS UINT64_C(1000000000)

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

/* Compactions bring new tables; LevelDB's statistics tell of them. */
void ts_leveldb_look_for_tables(ts_records *r) {
  if (!r->options.random_access) return;
  uint64_t now = ts_now_ns();
  if (now < atomic_load_explicit(&r->next_look_ns, memory_order_relaxed)) return;
  if (atomic_flag_test_and_set_explicit(&r->looking, memory_order_acquire)) return;
  if (ts_leveldb_use(r, (ts_err){0}) != TS_OK) {
    atomic_flag_clear_explicit(&r->looking, memory_order_release);
    return;
  }
  uint64_t pause = TS_LEVELDB_LOOK_EVERY_NS;
  char *text = r->api.property_value(r->db, "leveldb.stats");
  uint64_t signature = text == NULL ? 0 : ts_hash_bytes(text, strlen(text), 0);
  if (text != NULL) r->api.free(text);
  bool changed = signature != r->tables_signature;
  if (changed || atomic_load(&r->mapped) < atomic_load(&r->tables)) {
    uint32_t tables = ts_leveldb_count_tables(r), mapped = ts_leveldb_advise(r->folder);
    /* Tables beyond LevelDB's limit are never mapped: look less and less often while nothing comes of it. */
    bool came = changed || mapped != atomic_load(&r->mapped);
    r->pause_ns = came ? TS_LEVELDB_LOOK_EVERY_NS : TS_MIN(2 * r->pause_ns, LONGEST_PAUSE_NS);
    atomic_store(&r->tables, tables);
    atomic_store(&r->mapped, mapped);
    r->tables_signature = signature;
    uint64_t cost = ts_now_ns() - now;
    pause = TS_MAX(20 * cost, r->pause_ns);
  }
  ts_leveldb_unuse(r);
  atomic_store_explicit(&r->next_look_ns, now + pause, memory_order_relaxed);
  atomic_flag_clear_explicit(&r->looking, memory_order_release);
}
