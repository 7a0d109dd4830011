/* What a failing disk does to a store: a clear error, rows that were read stay right, other tables go on, the process lives.
 *
 * A full disk is a file system of a few MiB where the test may mount one (root with CAP_SYS_ADMIN; skipped otherwise), or
 * else the limit on file sizes (RLIMIT_FSIZE), which gives the same failure of a write. */
#include "test/foreign_threads.h"
#include "test/store_types.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define DIM 64u
#define N 3000u

static char message[1024];
#define ERR message, sizeof message
static float rows[N * DIM], again[N * DIM];
static int64_t keys[N];

static ts_store *open_with_two_tables(const char *storage) {
  ts_store *store = open_config(CONFIG("storage", storage, "size", "65536,67108864", "size_counts", "rows", "path", folder,
                                       "eviction_threads", "0"));
  add_config(store, CONFIG("name", "broken", "dim", "64"));
  add_config(store, CONFIG("name", "whole", "dim", "64"));
  return store;
}

static void fill(int64_t from) {
  for (int64_t i = 0; i < (int64_t)N; i++) keys[i] = from + i;
}

/* Files of a table whose path has `part` in it and ends in `ending`. */
static uint32_t each_file(const char *directory, const char *part, const char *ending, void (*visit)(const char *path)) {
  uint32_t n = 0;
  DIR *dir = opendir(directory);
  if (dir == NULL) return 0;
  for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
    char path[1024];
    struct stat s;
    if (entry->d_name[0] == '.' || snprintf(path, sizeof path, "%s/%s", directory, entry->d_name) >= (int)sizeof path) continue;
    if (stat(path, &s) != 0) continue;
    const size_t length = strlen(path), tail = strlen(ending);
    if (S_ISDIR(s.st_mode)) {
      n += each_file(path, part, ending, visit);
    } else if (strstr(path, part) != NULL && length > tail && strcmp(path + length - tail, ending) == 0) {
      visit(path);
      n++;
    }
  }
  closedir(dir);
  return n;
}

/* A bit in every 4 KiB but the first, which is the header's. */
static void flip_bits(const char *path) {
  int fd = open(path, O_RDWR);
  struct stat s;
  CHECK(fd >= 0 && fstat(fd, &s) == 0);
  for (off_t at = 4096 + 700; at < s.st_size; at += 1024) {
    unsigned char byte;
    if (pread(fd, &byte, 1, at) != 1) break;
    byte ^= 4;
    CHECK(pwrite(fd, &byte, 1, at) == 1);
  }
  close(fd);
}

static void a_flipped_bit_is_told(void) {
  static const struct {
    const char *storage, *part, *ending;
  } cases[] = {{"DRAM_SSDHASH", "broken", ".log"}, {"SSDHASH", "broken", ".log"}};
  for (uint32_t c = 0; c < 2; c++) {
    ts_store *store = c == 0 ? open_with_two_tables(cases[c].storage)
                             : open_config(CONFIG("storage", "SSDHASH", "size", "67108864", "path", folder));
    if (c == 1) {
      add_config(store, CONFIG("name", "broken", "dim", "64"));
      add_config(store, CONFIG("name", "whole", "dim", "64"));
    }
    fill(0);
    for (uint32_t t = 0; t < 2; t++) CHECK_MSG(ts_table_lookup(store, t, keys, N, rows, ERR) == TS_OK, "%s", message);
    CHECK(ts_store_settle(store, ERR) == TS_OK);
    memcpy(again, rows, sizeof rows);
    CHECK(ts_table_find(store, 0, keys, N, 0, rows, NULL, ERR) == TS_OK);
    CHECK(each_file(folder, cases[c].part, cases[c].ending, flip_bits) > 0);
    uint32_t refused = 0, right = 0, wrong = 0;
    static float first[N * DIM];
    memcpy(first, rows, sizeof rows);
    for (uint32_t i = 0; i < N; i++) {
      int32_t status = ts_table_lookup(store, 0, &keys[i], 1, again, ERR);
      if (status == TS_OK) {
        if (memcmp(again, first + i * DIM, DIM * sizeof(float)) == 0)
          right++;
        else
          wrong++;
        continue;
      }
      refused++;
      CHECK_MSG(status == TS_EFORMAT || status == TS_EIO, "%s: status %d: %s", cases[c].storage, status, message);
      CHECK_MSG(refused > 1 || (strstr(message, ".log") != NULL && strstr(message, "broken") != NULL), "%s", message);
      if (test_failures > 5) break;
    }
    CHECK_MSG(wrong == 0 && refused > 100 && right > 0, "%s: %u right, %u refused, %u wrong", cases[c].storage, right, refused,
              wrong);
    CHECK_MSG(ts_table_lookup(store, 1, keys, N, rows, ERR) == TS_OK, "the other table: %s", message);
    fill(1000000);
    CHECK_MSG(ts_table_lookup(store, 1, keys, N, rows, ERR) == TS_OK, "the other table: %s", message);
    CHECK(ts_store_close(store) == TS_OK);
  }
}

/* In a process of its own: what is limited stays so. */
static int full_disk(const char *storage) {
  signal(SIGXFSZ, SIG_IGN); /* the limit's way to fail a write is a signal, first */
  ts_store *store = open_with_two_tables(storage);
  fill(0);
  CHECK_MSG(ts_table_lookup(store, 0, keys, N, rows, ERR) == TS_OK, "%s", message);
  CHECK_MSG(ts_store_settle(store, ERR) == TS_OK, "%s", message);
  memcpy(again, rows, sizeof rows);
  const struct rlimit none = {4096, 4096};
  CHECK(setrlimit(RLIMIT_FSIZE, &none) == 0);
  int32_t status = TS_OK;
  for (int64_t b = 1; status == TS_OK && b < 200; b++) {
    fill(b * N);
    status = ts_table_lookup(store, 0, keys, N, rows, ERR);
  }
  CHECK_MSG(status == TS_EIO && strstr(message, folder) != NULL, "%s: status %d: %s", storage, status, message);
  /* What was there can be read; read-only, for there is no place to move rows to. */
  fill(0);
  uint8_t found[N];
  status = ts_table_find(store, 0, keys, N, 0, rows, found, ERR);
  CHECK_MSG(status == TS_OK && memcmp(rows, again, sizeof rows) == 0, "%s: %s", storage, message);
  for (uint32_t i = 0; i < N; i++) CHECK(found[i]);
  CHECK_MSG(ts_table_find(store, 1, keys, N, 0, rows, found, ERR) == TS_OK, "%s", message);
  ts_store_close(store);
  return test_result();
}

static void a_full_disk_is_told(const char *storage) {
  fflush(stderr);
  pid_t child = fork();
  if (child == 0) _exit(full_disk(storage));
  int status = -1;
  CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void an_unwritable_directory_is_told(void) {
  static const char *const storages[] = {"SSDHASH", "DRAM_SSDHASH", "LEVELDB", "DRAM_LEVELDB", "PMEM_LIBPMEM"};
  for (uint32_t i = 0; i < 5; i++) {
    ts_store *store = NULL;
    ts_config *config = CONFIG("storage", storages[i], "path", "/proc");
    int32_t status = ts_store_open(config, &store, ERR);
    CHECK_MSG(status == TS_EIO && strstr(message, "/proc") != NULL, "%s: %d %s", storages[i], status, message);
    ts_config_free(config);
  }
}

int main(void) {
  if (!make_folder("faults")) return 1;
  an_unwritable_directory_is_told();
  a_flipped_bit_is_told();
  a_full_disk_is_told("DRAM_SSDHASH");
  a_full_disk_is_told("DRAM_LEVELDB");
  remove_folder();
  return test_result();
}
