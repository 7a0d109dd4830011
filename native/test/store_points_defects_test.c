/* The defects D1 to D5 that OpenEmbedding's persistent tables have, by name, on every storage type that keeps restore points. */
#include "base/sync_point.h"
#include "test/points_store.h"

#define IMAGES 64u

/* D1: back to a point, then one key is trained: the next point has the 63 others as they were there, not as the abandoned
 * timeline left them, and no key that only that had. */
static void d1(const char *storage, const char *path) {
  uint64_t taken, one;
  ts_store *a = open_at(storage, path, 0, &taken), *b = open_twin();
  step(a, 0, 64, 1), step(b, 0, 64, 1);
  one = persist_now(a, "3");
  step(a, 0, 65, 2);
  move_down(a, 0, 1000, false);
  persist_now(a, "3");
  ts_store_close(a);
  a = open_at(storage, path, one, &taken);
  CHECK_MSG(a != NULL, "%s", message);
  if (a == NULL) return;
  for (uint32_t i = 0; i < 20; i++) step(a, 0, 1, 3), step(b, 0, 1, 3);
  const uint64_t number = persist_now(a, "3");
  ts_store_close(a);
  check_at("D1", storage, path, number, digest(b));
  ts_store_close(b);
}

/* D2: a point is not durable yet while rows are replaced and the next is asked for; all of them are whole. */
static void d2(const char *storage, const char *path) {
  uint64_t taken, numbers[4], digests[4];
  ts_store *a = open_at(storage, path, 0, &taken);
  for (uint32_t i = 0; i < 4; i++) {
    step(a, 0, 40, 1);
    digests[i] = digest(a);
    CHECK_MSG(ts_store_persisted(a, NULL, ERR) == TS_OK, "%s", message);
    ts_sync_start();
    if (i == 1) ts_sync_close_first("kept:walk:piece");
    CHECK_MSG(persist(a, "4", &numbers[i]) == TS_OK, "%s", message);
    for (uint32_t k = 0; k < 20; k++) {
      step(a, 0, 40, 2);
      move_down(a, 0, 1000, false);
      look_up(a, 0, 40);
    }
    CHECK(ts_sync_stop());
  }
  ts_store_close(a);
  for (uint32_t i = 4; i-- > 0;) check_at("D2", storage, path, numbers[i], digests[i]); /* the newest first: those after it go */
}

/* D3: a point that was dropped is refused. */
static void d3(const char *storage, const char *path) {
  uint64_t taken, numbers[3];
  ts_store *a = open_at(storage, path, 0, &taken);
  for (uint32_t i = 0; i < 3; i++) {
    step(a, 0, 40, 1);
    numbers[i] = persist_now(a, "1");
  }
  const uint64_t want = digest(a);
  ts_store_close(a);
  for (uint32_t i = 0; i < 2; i++)
    CHECK_MSG(open_at(storage, path, numbers[i], &taken) == NULL && strstr(message, "dropped") != NULL, "D3: %s", message);
  check_at("D3", storage, path, numbers[2], want);
}

/* D4: rows of another geometry are refused. */
static void d4(const char *storage, const char *path) {
  uint64_t taken;
  ts_store *a = open_at(storage, path, 0, &taken);
  step(a, 0, 10, 1);
  persist_now(a, "1");
  const uint64_t want = digest(a);
  ts_store_close(a);
  ts_config *config = CONFIG("storage", storage, "path", path, "persistent", "1", "pmem", holder_of(storage)), *none = CONFIG("number", "0");
  CHECK(ts_store_open(config, &a, ERR) == TS_OK && ts_store_resume(a, none, NULL, NULL, ERR) == TS_OK);
  CHECK_MSG(make_table(a, "9") == TS_EINVAL && strstr(message, "\"dim\" is 9") != NULL, "D4: %s", message);
  ts_config_free(config);
  ts_config_free(none);
  ts_store_close(a);
  check_at("D4", storage, path, 0, want);
}

/* D5: at every hand-over while points are made and dropped, a process that ends there leaves one, and none older than the last
 * that was called durable. */
static struct {
  const char *path;
  uint32_t count;
  uint64_t durable[IMAGES], acknowledged;
} images;

static void keep_image(void *context, void *value) {
  (void)context, (void)value;
  char to[256];
  if (images.count == IMAGES) return;
  snprintf(to, sizeof to, "%s/image-%u", folder, images.count);
  CHECK(mkdir(to, 0700) == 0);
  copy_tree(images.path, to);
  images.durable[images.count++] = images.acknowledged;
}

static void d5(const char *storage, const char *path) {
  static const char *const points[] = {"kept:walk:piece", "kept:put",        "ssd:cut:begun",  "ssd:cut:synced",   "kept:completed",
                                       "ssd:cut:removed", "pmem:cut:begun", "pmem:cut:synced", "pmem:cut:removed", "points:made"};
  uint64_t taken, numbers[4], digests[4];
  images.path = path;
  images.count = 0;
  images.acknowledged = 0;
  ts_store *a = open_at(storage, path, 0, &taken);
  const uint64_t nothing = digest(a);
  ts_sync_start();
  for (uint32_t i = 0; i < sizeof points / sizeof *points; i++) ts_sync_call(points[i], keep_image, NULL);
  for (uint32_t i = 0; i < 4; i++) {
    step(a, 0, 30, (float)i);
    digests[i] = digest(a);
    numbers[i] = persist_now(a, "1");
    images.acknowledged = numbers[i];
  }
  CHECK(ts_sync_stop());
  ts_store_close(a);
  CHECK_MSG(images.count > 20, "%u", images.count);
  for (uint32_t k = 0; k < images.count; k++) {
    char image[256];
    snprintf(image, sizeof image, "%s/image-%u", folder, k);
    a = open_at(storage, image, 0, &taken);
    CHECK_MSG(a != NULL, "D5, image %u: %s", k, message);
    if (a == NULL) continue;
    uint64_t want = taken == 0 ? nothing : 0;
    for (uint32_t i = 0; i < 4; i++)
      if (numbers[i] == taken) want = digests[i];
    CHECK_MSG(taken >= images.durable[k] && digest(a) == want, "D5, image %u: point %llu, and %llu was durable", k,
              (unsigned long long)taken, (unsigned long long)images.durable[k]);
    ts_store_close(a);
    remove_tree(image);
  }
}

static void on_one(const char *storage) {
  in_folder(d1, storage);
  in_folder(d2, storage);
  in_folder(d3, storage);
  in_folder(d4, storage);
  in_folder(d5, storage);
}

int main(void) {
  on_each_storage(on_one);
  return test_result();
}
