/* Restore points on media that fail: a sync that fails, one flipped bit anywhere, files of another store, an older point that is
 * damaged while later ones are whole. */
#include "base/sync_point.h"
#include "test/points_store.h"

static void pmem_sync_fails(void *context, void *value) {
  (void)context;
  *(int *)value = -EIO;
}

static void sync_fails(void *context, void *value) {
  (void)context;
  struct {
    const void *file;
    int error;
  } *s = value;
  s->error = EIO;
}

static void a_failure_leaves_the_last_one(const char *storage, const char *path) {
  uint64_t taken;
  ts_store *a = open_at(storage, path, 0, &taken);
  step(a, 0, 100, 1);
  const uint64_t number = persist_now(a, "1"), want = digest(a);
  step(a, 0, 100, 2);
  ts_sync_start();
  ts_sync_call("ssd:medium:sync", sync_fails, NULL);
  ts_sync_call("pmem:medium:sync", pmem_sync_fails, NULL);
  CHECK_MSG(persist(a, "1", NULL) == TS_OK, "%s", message);
  CHECK_MSG(ts_store_persisted(a, NULL, ERR) == TS_EIO && strstr(message, "synchronize") != NULL, "%s", message);
  CHECK_MSG(ts_store_persisted(a, NULL, ERR) == TS_OK, "%s", "it is told once");
  CHECK(ts_sync_stop());
  step(a, 0, 100, 3);
  CHECK_MSG(persist(a, "1", NULL) == TS_EIO && strstr(message, "not known") != NULL, "%s", message);
  look_up(a, 0, 100);
  ts_store_close(a);
  check_at("a sync that failed", storage, path, number, want);
}

static char files[64][400];
static uint32_t file_count;
static int list_one(const char *file, const struct stat *status, int type, struct FTW *walk) {
  (void)walk;
  if (type == FTW_F && status->st_size > 0 && file_count < 64) snprintf(files[file_count++], sizeof files[0], "%s", file);
  return 0;
}

static void flip(const char *file, uint64_t at, unsigned char bit) {
  unsigned char byte = 0;
  const int fd = open(file, O_RDWR);
  CHECK(fd >= 0 && pread(fd, &byte, 1, (off_t)at) == 1);
  byte ^= bit;
  CHECK(pwrite(fd, &byte, 1, (off_t)at) == 1);
  close(fd);
}

/* The next byte from `at` on that is not in a hole of the file; its length if there is none. */
static uint64_t next_data(const char *file, uint64_t at, uint64_t length) {
  const int fd = open(file, O_RDONLY);
  const off_t found = lseek(fd, (off_t)at, SEEK_DATA);
  CHECK(fd >= 0 && (found >= 0 || errno == ENXIO));
  close(fd);
  return found < 0 ? length : (uint64_t)found;
}

#define DRAWN 40u

/* The byte to damage after `at`, the `i`-th of a file. Every one of them in long runs; else some of the beginning, where headers are, and
 * some anywhere. */
static uint64_t next_byte(const char *file, uint32_t i, uint64_t at, uint64_t length) {
  if (getenv("TIERSTORE_ROUNDS") != NULL) return next_data(file, i == 0 ? 0 : at + 1, length);
  return i >= DRAWN ? length : i < DRAWN / 2 ? draw(TS_MIN(length, 128u)) : draw(length);
}

/* Each bit that counts is missed by name; no other state is ever taken up. */
static void one_bit(const char *storage, const char *path) {
  uint64_t taken, refused = 0, tried = 0;
  ts_store *a = open_at(storage, path, 0, &taken);
  step(a, 0, 20, 1);
  persist_now(a, "1");
  step(a, 5, 20, 1);
  persist_now(a, "1");
  const uint64_t want = digest(a);
  ts_store_close(a);
  char copy[256];
  snprintf(copy, sizeof copy, "%s/flipped", folder);
  file_count = 0;
  nftw(path, list_one, 16, FTW_PHYS);
  CHECK_MSG(file_count >= (in_pmem(storage) ? 2 : 3), "%u files", file_count); /* the table's, and the one beside */
  for (uint32_t f = 0; f < file_count; f++) {
    struct stat status;
    CHECK(stat(files[f], &status) == 0);
    const uint64_t length = (uint64_t)status.st_size;
    uint64_t at = 0;
    for (uint32_t i = 0; (at = next_byte(files[f], i, at, length)) < length; i++) {
      char damaged[700];
      mkdir(copy, 0700);
      copy_tree(path, copy);
      snprintf(damaged, sizeof damaged, "%s%s", copy, files[f] + strlen(path));
      flip(damaged, at, (unsigned char)(1u << draw(8)));
      message[0] = '\0';
      a = open_at(storage, copy, 0, &taken);
      tried++;
      if (a == NULL) {
        refused++;
        CHECK_MSG(strstr(message, files_of(storage)) != NULL || strstr(message, "points") != NULL || strstr(message, "table \"t\"") != NULL,
                  "byte %llu of %s: %s", (unsigned long long)at, files[f], message);
      } else {
        CHECK_MSG(digest(a) == want, "byte %llu of %s: another state", (unsigned long long)at, files[f]);
        ts_store_close(a);
      }
      remove_tree(copy);
    }
    if (getenv("TIERSTORE_SHOW") != NULL)
      printf("%s: %s, %llu bytes, %llu tried, %llu refused\n", storage, files[f] + strlen(path), (unsigned long long)length,
             (unsigned long long)tried, (unsigned long long)refused);
  }
  CHECK_MSG(getenv("TIERSTORE_ROUNDS") != NULL || refused > tried / 4, "%llu of %llu were refused", (unsigned long long)refused, (unsigned long long)tried);
}

/* A table's files of another store, whose point has the same number. */
static void tables_of_another_store(const char *storage, const char *path) {
  char other[256], from[400], to[400];
  uint64_t taken;
  snprintf(other, sizeof other, "%s/other", folder);
  CHECK(mkdir(other, 0700) == 0);
  const char *const paths[] = {path, other};
  for (uint32_t i = 0; i < 2; i++) {
    ts_store *a = open_at(storage, paths[i], 0, &taken);
    step(a, 0, 20, (float)i);
    persist_now(a, "1");
    ts_store_close(a);
  }
  char name[64];
  if (in_pmem(storage)) snprintf(name, sizeof name, "%016llx.pmem", (unsigned long long)ts_hash_bytes("t", 1, 0));
  else snprintf(name, sizeof name, "t.ssdhash");
  snprintf(from, sizeof from, "%s/tierstore-kept/%s", other, name);
  snprintf(to, sizeof to, "%s/tierstore-kept/%s", path, name);
  remove_tree(to);
  copy_tree(from, to);
  CHECK_MSG(open_at(storage, path, 0, &taken) == NULL && strstr(message, "not of this store") != NULL, "%s", message);
  remove_tree(to);
  CHECK_MSG(open_at(storage, path, 0, &taken) == NULL && strstr(message, "table \"t\"") != NULL, "no files at all: %s", message);
  remove_tree(other);
}

/* An older point is asked for, and what it needs is damaged, in any file: it is refused by name, or it was not needed; and what came
 * after it is there as before, since it is given up only when the older one has proved whole. */
static void a_damaged_older_one(const char *storage, const char *path) {
  uint64_t taken, refused = 0, of_table = 0;
  ts_store *a = open_at(storage, path, 0, &taken);
  step(a, 0, 60, 1);
  move_down(a, 0, 1000, false);
  const uint64_t one = persist_now(a, "3"), older = digest(a);
  step(a, 0, 60, 2); /* every row of the first is replaced, and stays for it */
  persist_now(a, "3");
  step(a, 30, 40, 3);
  const uint64_t three = persist_now(a, "3"), newest = digest(a);
  ts_store_close(a);
  char copy[256], other[400];
  snprintf(copy, sizeof copy, "%s/damaged", folder);
  file_count = 0;
  nftw(path, list_one, 16, FTW_PHYS);
  for (uint32_t f = 0; f < file_count; f++)
    for (uint32_t i = 0; i < 30; i++) {
      struct stat status;
      CHECK(stat(files[f], &status) == 0);
      /* Where a pool has its records, too. */
      const uint64_t most = TS_MIN((uint64_t)status.st_size, UINT64_C(48) << 10);
      const uint64_t at = i < 6 ? draw(TS_MIN(most, 128u)) : draw(most);
      const unsigned char bit = (unsigned char)(1u << draw(8));
      CHECK(mkdir(copy, 0700) == 0);
      copy_tree(path, copy);
      snprintf(other, sizeof other, "%s%s", copy, files[f] + strlen(path));
      flip(other, at, bit);
      message[0] = '\0';
      a = open_at(storage, copy, one, &taken);
      if (a != NULL) {
        CHECK_MSG(taken == one && digest(a) == older, "byte %llu of %s: another state", (unsigned long long)at, files[f]);
        ts_store_close(a);
      } else {
        refused++;
        of_table += strstr(files[f], files_of(storage)) != NULL;
        CHECK_MSG(strstr(message, files_of(storage)) != NULL || strstr(message, "points") != NULL || strstr(message, "table \"t\"") != NULL,
                  "byte %llu of %s: %s", (unsigned long long)at, files[f], message);
        flip(other, at, bit);
        a = open_at(storage, copy, 0, &taken);
        CHECK_MSG(a != NULL && taken == three, "byte %llu of %s: %llu is the newest: %s", (unsigned long long)at, files[f],
                  (unsigned long long)taken, message);
        if (a != NULL) CHECK(digest(a) == newest);
        ts_store_close(a);
        CHECK_MSG((a = open_at(storage, copy, one, &taken)) != NULL, "%s", message);
        if (a != NULL) CHECK(digest(a) == older);
        ts_store_close(a);
      }
      remove_tree(copy);
    }
  CHECK_MSG(of_table > 3 && refused > of_table, "%llu refused, %llu of them by the table's files", (unsigned long long)refused,
            (unsigned long long)of_table);
}

/* Nor is anything given up for an older one that a store of another seed asks for. */
static void an_older_one_of_another_seed(const char *storage, const char *path) {
  uint64_t taken;
  ts_store *a = open_at(storage, path, 0, &taken);
  step(a, 0, 60, 1);
  const uint64_t one = persist_now(a, "2");
  step(a, 0, 60, 2);
  const uint64_t two = persist_now(a, "2"), newest = digest(a);
  ts_store_close(a);
  ts_config *config = CONFIG("storage", storage, "path", path, "persistent", "1", "pmem", holder_of(storage), "seed", "77");
  ts_config *older = CONFIG("number", "1");
  CHECK(one == 1 && ts_store_open(config, &a, ERR) == TS_OK);
  CHECK_MSG(ts_store_resume(a, older, NULL, NULL, ERR) == TS_EINVAL && strstr(message, "seed") != NULL, "%s", message);
  ts_config_free(config);
  ts_config_free(older);
  ts_store_close(a);
  check_at("another seed", storage, path, two, newest);
}

static void on_one(const char *storage) {
  in_folder(a_failure_leaves_the_last_one, storage);
  in_folder(one_bit, storage);
  in_folder(tables_of_another_store, storage);
  in_folder(a_damaged_older_one, storage);
  in_folder(an_older_one_of_another_seed, storage);
}

int main(void) {
  on_each_storage(on_one);
  return test_result();
}
