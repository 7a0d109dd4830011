/* space.c - what a database may come to take, charged before it does; the rule is in leveldb.h. */
#include "tiers/leveldb/space.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_UNIT UINT64_C(4096)
#define STEP (UINT64_C(64) << 10)   /* charges are rounded up to this where the limit allows */
#define MOST_LOG UINT64_C(16384)
#define FIXED_FILES (UINT64_C(64) << 10)  /* manifest, log, LOG, ends of files */
#define OF_MANIFEST (UINT64_C(32) << 10)  /* of these */
#define MOST_MANIFEST (UINT64_C(1) << 20) /* as it grows: a 64th of the limit, at most this */
#define REMOVAL UINT64_C(32)        /* of a row: a deletion in the log, then in a table */

/* LevelDB tells of every file in its text LOG, which it appends to and never reads: the tier's limit holds all the same. */
static uint64_t cut_log(int folder, uint64_t bytes) {
  if (bytes < MOST_LOG) return bytes;
  const int fd = openat(folder, "LOG", O_WRONLY | O_CLOEXEC);
  if (fd < 0) return bytes;
  if (ftruncate(fd, 0) == 0) bytes = 0;
  close(fd);
  return bytes;
}

void ts_leveldb_measure(ts_leveldb_space *space) {
  DIR *folder = opendir(space->folder);
  if (folder == NULL) return; /* keeps the last number and what was logged since */
  uint64_t bytes = 0, manifest = 0;
  for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
    struct stat file;
    /* A file may go meanwhile. */
    if (fstatat(dirfd(folder), entry->d_name, &file, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(file.st_mode)) continue;
    uint64_t size = (uint64_t)file.st_size;
    if (strcmp(entry->d_name, "LOG") == 0) size = cut_log(dirfd(folder), size);
    if (strncmp(entry->d_name, "MANIFEST-", 9) == 0) manifest = TS_MAX(manifest, size);
    bytes += TS_ROUND_UP(size, FILE_UNIT);
  }
  closedir(folder);
  space->measured = bytes;
  space->manifest = manifest;
  space->since = 0;
}

static uint64_t growth_of_manifest(const ts_leveldb_space *space) { return TS_MIN(space->budget->limit / 64, MOST_MANIFEST); }

bool ts_leveldb_outgrown(const ts_leveldb_space *space) {
  return space->manifest > TS_MAX(OF_MANIFEST + growth_of_manifest(space), 2 * space->first_manifest);
}

static uint64_t need_of(const ts_leveldb_space *space, uint64_t files, uint64_t logged, uint64_t rows) {
  return files + 2 * logged + TS_MIN(files + logged, space->most_compaction) + rows * REMOVAL;
}

/* Files of so many rows after a whole compaction, and a sixteenth of garbage. */
static uint64_t files_of(const ts_leveldb_space *space, uint64_t rows) {
  const uint64_t fixed = FIXED_FILES + growth_of_manifest(space);
  return rows == 0 ? 0 : rows * space->record_bytes / 16 * 17 + fixed;
}

uint64_t ts_leveldb_need(const ts_leveldb_space *space, uint64_t rows, uint64_t bytes) {
  const uint64_t replacing = rows == 0 ? 0 : need_of(space, files_of(space, rows), space->largest_batch, rows);
  return TS_MAX(need_of(space, space->measured, space->since + bytes, rows), replacing);
}

/* Takes at least `least`, up to a whole step where the limit allows. */
static bool take(ts_budget *budget, ts_purpose purpose, uint64_t least, uint64_t *charged) {
  uint64_t steps = TS_ROUND_UP(least, STEP);
  if (ts_budget_take(budget, purpose, steps)) {
    *charged += steps;
    return true;
  }
  if (!ts_budget_take(budget, purpose, least)) return false;
  *charged += least;
  return true;
}

bool ts_leveldb_charge(ts_leveldb_space *space, uint64_t rows, uint64_t bytes, bool *dram_refused) {
  uint64_t need = ts_leveldb_need(space, rows, bytes);
  *dram_refused = false;
  if (need > space->charged && !take(space->budget, TS_PURPOSE_ROWS, need - space->charged, &space->charged))
    return false;
  if (space->charged > need + 4 * STEP) {
    ts_budget_give_back(space->budget, TS_PURPOSE_ROWS, space->charged - need);
    space->charged = need;
  }
  const uint64_t replacing = rows == 0 ? 0 : files_of(space, rows) + space->largest_batch;
  uint64_t tables = (uint64_t)((double)TS_MAX(space->measured + space->since + bytes, replacing) * space->table_dram);
  uint64_t held = space->index_charged + space->buffers_charged;
  if (tables > held && !take(space->dram, TS_PURPOSE_INDEX, tables - held, &space->index_charged) &&
      !take(space->dram, TS_PURPOSE_BUFFERS, tables - held, &space->buffers_charged)) {
    *dram_refused = !ts_budget_take_lent(space->dram, TS_PURPOSE_BUFFERS, tables - held);
    if (*dram_refused) return false;
    space->buffers_charged += tables - held;
  }
  /* What came from the headroom goes first. */
  if (held > tables + 4 * STEP) {
    uint64_t more = held - tables, buffers = TS_MIN(more, space->buffers_charged);
    ts_budget_give_back(space->dram, TS_PURPOSE_BUFFERS, buffers);
    ts_budget_give_back(space->dram, TS_PURPOSE_INDEX, more - buffers);
    space->buffers_charged -= buffers;
    space->index_charged -= more - buffers;
  }
  return true;
}

void ts_leveldb_give_back(ts_leveldb_space *space) {
  ts_budget_give_back(space->budget, TS_PURPOSE_ROWS, space->charged);
  ts_budget_give_back(space->dram, TS_PURPOSE_INDEX, space->index_charged);
  ts_budget_give_back(space->dram, TS_PURPOSE_BUFFERS, space->buffers_charged);
  space->charged = space->index_charged = space->buffers_charged = 0;
}
