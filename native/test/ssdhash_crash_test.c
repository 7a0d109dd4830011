/* Power failures under an SSDHASH table with checkpoints: while a model is driven (ssdhash_checkpoints.h), what the disk has for
 * certain is kept beside its files, and at drawn moments - before and after writes, synchronizations, renames, removals of
 * files - the folder is made as a crash then could leave it, opened, and compared: it has exactly the rows of a checkpoint
 * that is not older than the last one that was said to be complete, each older one that was not dropped is whole, too, and
 * the table goes on from there.
 *
 * What a crash may leave (base/disk.h): of each file, by sectors of 512 bytes, what its last synchronization made certain or
 * what was written since; of the folder, the first few of the changes since it was last synchronized. */
#include "base/sync_point.h"
#include "test/ssdhash_checkpoints.h"
#include "tiers/ssdhash/table.h"

#define SECTOR 512u
#define FILES 512u
#define NAME 40u
#define CHANGES 512u
#define HANDLES 1024

typedef struct shadow {
  char name[NAME];
  unsigned char *certain, *last; /* last: what was written to a file that is unlinked */
  uint64_t certain_bytes, last_bytes;
  bool used, gone; /* gone: unlinked, perhaps not for certain */
} shadow;

/* What happened to names since the folder was last synchronized. */
typedef struct change {
  enum { CREATED, UNLINKED, RENAMED } what;
  uint32_t file;
  char to[NAME];
} change;

typedef struct crash_disk {
  ts_disk_ops ops; /* first */
  char folder[600];
  shadow files[FILES];
  change changes[CHANGES];
  uint32_t change_count;
  cp_model *m;
  uint64_t draws, images, before_first, seed;
  uint32_t one_in;
  bool inside, broken;
  uint64_t acknowledged; /* the newest checkpoint that was said to be complete */
  uint64_t dropping;     /* whose removal has begun */
  char names[HANDLES][NAME];  /* of open handles */
} crash_disk;

static crash_disk disk;

static const char *last_part(const char *path) { return strrchr(path, '/') + 1; }

static uint32_t shadow_of(const char *name) {
  uint32_t unused = FILES;
  for (uint32_t i = 0; i < FILES; i++) {
    if (disk.files[i].used && !disk.files[i].gone && strcmp(disk.files[i].name, name) == 0) return i;
    if (!disk.files[i].used) unused = i;
  }
  CHECK(unused < FILES);
  if (unused == FILES) exit(1);
  disk.files[unused] = (shadow){.used = true};
  snprintf(disk.files[unused].name, NAME, "%s", name);
  return unused;
}

static unsigned char *read_all(const char *name, uint64_t *bytes) {
  char path[700];
  struct stat s;
  snprintf(path, sizeof path, "%s/%s", disk.folder, name);
  int fd = open(path, O_RDONLY);
  *bytes = 0;
  if (fd < 0) return calloc(1, 1);
  CHECK(fstat(fd, &s) == 0);
  unsigned char *out = calloc((size_t)s.st_size + 1, 1);
  CHECK(pread(fd, out, (size_t)s.st_size, 0) == s.st_size);
  close(fd);
  *bytes = (uint64_t)s.st_size;
  return out;
}


static void forget(uint32_t i) {
  free(disk.files[i].certain);
  free(disk.files[i].last);
  disk.files[i] = (shadow){0};
}

static void changed(int what, uint32_t file, const char *to) {
  CHECK(disk.change_count < CHANGES);
  if (disk.change_count == CHANGES) exit(1);
  disk.changes[disk.change_count] = (change){.what = (unsigned)what, .file = file};
  snprintf(disk.changes[disk.change_count++].to, NAME, "%s", to);
}

static void make_certain(const char *name) {
  shadow *s = &disk.files[shadow_of(name)];
  free(s->certain);
  s->certain = read_all(name, &s->certain_bytes);
}

static void created(const char *name) { changed(CREATED, shadow_of(name), ""); }

static void unlinked(const char *name) {
  const uint32_t i = shadow_of(name);
  disk.files[i].last = read_all(name, &disk.files[i].last_bytes);
  disk.files[i].gone = true;
  changed(UNLINKED, i, "");
}

static void folder_is_certain(void) {
  for (uint32_t i = 0; i < disk.change_count; i++)
    if (disk.changes[i].what == UNLINKED) forget(disk.changes[i].file);
  disk.change_count = 0;
}

/* ---- an image ---- */

static uint64_t draw(uint64_t below) { return ts_random64(disk.seed, 9, disk.draws++) % below; }

static void write_mixed(const char *directory, const char *name, const shadow *s, uint32_t style) {
  uint64_t bytes = s->last_bytes;
  unsigned char *now = s->gone ? NULL : read_all(s->name, &bytes);
  const unsigned char *newer = s->gone ? s->last : now;
  char path[700];
  CHECK(snprintf(path, sizeof path, "%s/%s", directory, name) < (int)sizeof path);
  int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
  CHECK(fd >= 0);
  /* 0: nothing that is not certain, 1: all of it, others: sector by sector; the length of either. */
  const bool longer = style == 1 || (style > 1 && draw(2) == 0);
  const uint64_t length = longer ? TS_MAX(bytes, s->certain_bytes) : s->certain_bytes;
  for (uint64_t at = 0; at < length; at += SECTOR) {
    const bool take_new = style == 1 || (style > 1 && draw(2) == 0);
    const unsigned char *from = take_new ? newer : s->certain;
    const uint64_t there = take_new ? bytes : s->certain_bytes, n = TS_MIN(SECTOR, length - at);
    unsigned char sector[SECTOR] = {0};
    if (at < there) memcpy(sector, from + at, TS_MIN(n, there - at));
    CHECK(pwrite(fd, sector, n, (off_t)at) == (ssize_t)n);
  }
  close(fd);
  free(now);
}

static const cp_state *state_of(const cp_model *m, uint64_t number) {
  for (uint32_t i = 0; i < m->n; i++)
    if (m->all[i].number == number) return &m->all[i].state;
  return NULL;
}

/* Names as the first `kept` changes leave them; files that were there before are there. */
static void build(const char *directory, uint32_t style) {
  const uint32_t kept = style == 0 ? 0 : style == 1 ? disk.change_count : (uint32_t)draw(disk.change_count + 1);
  for (uint32_t i = 0; i < FILES; i++) {
    const shadow *s = &disk.files[i];
    if (!s->used) continue;
    char name[NAME];
    snprintf(name, sizeof name, "%s", s->name);
    bool there = true;
    for (uint32_t c = disk.change_count; c-- > 0;) { /* back to before the changes that are not kept */
      const change *x = &disk.changes[c];
      if (x->file != i) continue;
      if (x->what == CREATED && c >= kept) there = false;
      if (x->what == UNLINKED && c < kept) there = false;
      if (x->what == RENAMED && c >= kept) snprintf(name, sizeof name, "%s", x->to);
    }
    if (there) write_mixed(directory, name, s, style);
  }
}

static void judge(const char *directory) {
  static const char *const options[] = {"file_bytes=32768", "buffer_bytes=4096", "io=pread", NULL};
  const cp_model *m = disk.m;
  world v;
  char why[600];
  ts_records_checkpoint list[TS_RECORDS_CUTS];
  world_make(&v, directory, "t", CP_ROW, 4 << 20, 8 << 20, options);
  const int32_t status = world_open(&v);
  CHECK_MSG(status == TS_OK, "image %llu: %s", (unsigned long long)disk.images, v.message);
  disk.broken |= status != TS_OK;
  const uint32_t n = v.table == NULL ? 0 : m->cuts->list(v.table, list);
  CHECK_MSG(n > 0 && list[n - 1].number >= disk.acknowledged, "image %llu: %u checkpoints, the last one is %llu, not %llu",
            (unsigned long long)disk.images, n, (unsigned long long)(n > 0 ? list[n - 1].number : 0),
            (unsigned long long)disk.acknowledged);
  /* None that was not dropped is missing. */
  for (uint32_t i = 0; i < m->n && n > 0; i++) {
    bool there = !m->all[i].complete || m->all[i].number == disk.dropping;
    for (uint32_t k = 0; k < n; k++) there |= list[k].number == m->all[i].number;
    CHECK_MSG(there, "image %llu: checkpoint %llu is gone", (unsigned long long)disk.images, (unsigned long long)m->all[i].number);
  }
  for (uint32_t k = n; k-- > 0;) {
    const cp_state *state = state_of(m, list[k].number);
    const bool right = state != NULL && cp_equal(&v, state, why, sizeof why);
    CHECK_MSG(right, "image %llu, checkpoint %llu: %s", (unsigned long long)disk.images, (unsigned long long)list[k].number,
              state == NULL ? "it was dropped" : why);
    disk.broken |= !right;
    /* It goes on from here: junk that the crash left takes no part in the next checkpoint. */
    if (k == n - 1 && right) {
      cp_state next = *state;
      for (uint32_t i = 0; i < CP_KEYS; i += 3) {
        unsigned char row[CP_ROW];
        const unsigned char *rows = row;
        const int64_t key = cp_key(i);
        next.stamp[i] = UINT64_C(1) << 60 | i;
        fill(row, CP_ROW, key, next.stamp[i]);
        CHECK_MSG(ops->put(v.table, 1, &key, NULL, &rows, NULL, err_of(&v)) == TS_OK, "%s", v.message);
      }
      const uint64_t number = list[k].number + 1;
      if (n == TS_RECORDS_CUTS) m->cuts->drop(v.table, list[0].number, err_of(&v));
      CHECK_MSG(m->cuts->begin(v.table, number, err_of(&v)) == TS_OK, "%s", v.message);
      CHECK_MSG(m->cuts->complete(v.table, number, NULL, 0, err_of(&v)) == TS_OK, "%s", v.message);
      world_close(&v, true);
      CHECK_MSG(world_open(&v) == TS_OK, "image %llu, gone on: %s", (unsigned long long)disk.images, v.message);
      if (v.table == NULL) break;
      CHECK_MSG(cp_equal(&v, &next, why, sizeof why), "image %llu, gone on: %s", (unsigned long long)disk.images, why);
    }
    world_close(&v, true);
    if (k == 0) break;
    v.open.at = list[k - 1].number;
    CHECK_MSG(world_open(&v) == TS_OK, "image %llu: %s", (unsigned long long)disk.images, v.message);
    if (v.table == NULL) break;
  }
  world_end(&v);
}

/* Perhaps a crash, here. */
static void moment(void) {
  char directory[512], folder[600], command[700];
  if (disk.inside || disk.broken || draw(disk.one_in) != 0) return;
  if (disk.acknowledged == 0) return;
  disk.inside = true;
  const world w = *disk.m->w; /* its message */
  snprintf(directory, sizeof directory, "%s/image", root);
  CHECK(snprintf(folder, sizeof folder, "%s/t.ssdhash", directory) < (int)sizeof folder);
  mkdir(directory, 0755);
  mkdir(folder, 0755);
  build(folder, (uint32_t)draw(6));
  judge(directory);
  disk.images++;
  snprintf(command, sizeof command, "rm -rf %s", directory);
  CHECK(system(command) == 0);
  memcpy(disk.m->w->message, w.message, sizeof w.message);
  disk.inside = false;
}

/* ---- what the table does ---- */

static void on_moment(void *context, void *value) {
  (void)context;
  (void)value;
  moment();
}

static int named(int handle, const char *path) {
  if (handle < 0 || disk.inside) return handle;
  CHECK(handle < HANDLES);
  snprintf(disk.names[handle], NAME, "%s", last_part(path));
  return handle;
}
static int disk_create(const ts_disk_ops *ops_, const char *path) {
  (void)ops_;
  const int handle = named(ts_disk_system.create(&ts_disk_system, path), path);
  if (handle < 0 || disk.inside) return handle;
  created(last_part(path));
  moment();
  return handle;
}
static int disk_reopen(const ts_disk_ops *ops_, const char *path) {
  (void)ops_;
  return named(ts_disk_system.reopen(&ts_disk_system, path), path);
}
static int64_t disk_write(const ts_disk_ops *ops_, int file, const void *in, uint64_t bytes, uint64_t offset) {
  (void)ops_;
  const int64_t n = ts_disk_system.write(&ts_disk_system, file, in, bytes, offset);
  moment();
  return n;
}
static int disk_sync(const ts_disk_ops *ops_, int file) {
  (void)ops_;
  moment();
  const int status = ts_disk_system.sync(&ts_disk_system, file);
  if (!disk.inside) make_certain(disk.names[file]);
  moment();
  return status;
}
static int disk_sync_folder(const ts_disk_ops *ops_, const char *folder) {
  const int status = ts_disk_system.sync_folder(&ts_disk_system, folder);
  (void)ops_;
  if (!disk.inside) folder_is_certain();
  moment();
  return status;
}
static int disk_rename(const ts_disk_ops *ops_, const char *from, const char *to) {
  (void)ops_;
  if (!disk.inside) {
    const uint32_t i = shadow_of(last_part(from));
    changed(RENAMED, i, last_part(from));
    snprintf(disk.files[i].name, NAME, "%s", last_part(to));
  }
  const int status = ts_disk_system.rename(&ts_disk_system, from, to);
  moment();
  return status;
}
static int disk_unlink(const ts_disk_ops *ops_, const char *path) {
  (void)ops_;
  moment();
  if (!disk.inside && access(path, F_OK) == 0) unlinked(last_part(path));
  const int status = ts_disk_system.unlink(&ts_disk_system, path);
  moment();
  return status;
}

/* ---- the run ---- */

static void crashes(uint64_t seed, uint32_t rounds, uint32_t one_in, uint64_t limit, uint64_t least) {
  static const char *const options[] = {"file_bytes=32768", "buffer_bytes=4096", "io=pread", NULL};
  world w;
  static cp_model m;
  char name[32];
  uint64_t retained_rows = 0;
  ts_records_counts counts;
  snprintf(name, sizeof name, "crash%llu", (unsigned long long)seed);
  const char *directory = where(name);
  disk = (crash_disk){.ops = ts_disk_system, .m = &m, .seed = seed, .one_in = one_in};
  disk.ops.create = disk_create;
  disk.ops.reopen = disk_reopen;
  disk.ops.write = disk_write;
  disk.ops.sync = disk_sync;
  disk.ops.sync_folder = disk_sync_folder;
  disk.ops.rename = disk_rename;
  disk.ops.unlink = disk_unlink;
  snprintf(disk.folder, sizeof disk.folder, "%s/t.ssdhash", directory);
  cp_make(&m, &w, directory, limit, seed, options);
  world_close(&w, false);
  w.open.disk = &disk.ops;
  ts_sync_start();
  ts_sync_call("ssd:compact:rewritten", on_moment, NULL);
  ts_sync_call("ssd:restore:loaded", on_moment, NULL);
  CHECK_MSG(world_open(&w) == TS_OK, "%s", w.message);
  for (uint32_t round = 0; round < rounds && test_failures == 0; round++) {
    const uint64_t what = cp_random(&m, 100);
    if (what < 60) {
      for (uint64_t i = cp_random(&m, 60); i > 0; i--) {
        const uint64_t a = cp_random(&m, CP_KEYS), b = cp_random(&m, CP_KEYS);
        cp_put_one(&m, (uint32_t)(a * b / CP_KEYS)); /* the limit may refuse it */
      }
    } else if (what < 68) {
      for (uint64_t i = cp_random(&m, 20); i > 0; i--) cp_remove_one(&m, (uint32_t)cp_random(&m, CP_KEYS));
    } else if (what < 80 && !cp_pending(&m) && m.n < 4) {
      const int32_t status = cp_begin(&m, 3);
      CHECK_MSG(status == TS_OK || status == TS_EFULL, "%s", w.message);
    } else if (what < 88 && cp_pending(&m)) {
      const int32_t status = cp_complete(&m);
      CHECK_MSG(status == TS_OK || status == TS_EFULL, "%s", w.message);
      if (status == TS_OK) disk.acknowledged = m.number;
    } else if (what < 96 && cp_complete_ones(&m) > 1) {
      const uint32_t at = (uint32_t)cp_random(&m, cp_complete_ones(&m));
      if (m.all[at].number == disk.acknowledged && at > 0) disk.acknowledged = m.all[at - 1].number;
      disk.dropping = m.all[at].number;
      CHECK_MSG(cp_drop(&m, at) == TS_OK, "%s", w.message);
      disk.dropping = 0;
    } else if (what < 97 && cp_complete_ones(&m) > 0) {
      /* The newest: opening an older one drops this, which the model would have to allow for. */
      ops->count(w.table, &counts);
      retained_rows += counts.retained_rows;
      world_close(&w, true);
      cp_reopen(&m, cp_complete_ones(&m) - 1, true);
    }
  }
  CHECK(ts_sync_stop());
  CHECK_MSG(disk.images >= least, "%llu images", (unsigned long long)disk.images);
  printf("ssdhash_crash_test: %llu images of crashes\n", (unsigned long long)disk.images);
  ops->count(w.table, &counts);
  retained_rows += counts.retained_rows;
  CHECK_MSG(retained_rows > 0 || limit > (400 << 10), "%s", "nothing that is retained was moved");
  disk.inside = true; /* it goes */
  world_end(&w);
  for (uint32_t i = 0; i < FILES; i++) forget(i);
}

int main(int argc, char **argv) {
  make_root(false);
  if (argc > 1) {
    crashes(strtoull(argv[1], NULL, 10), argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 4000, 4, 400 << 10, 1);
  } else {
    crashes(1, 700, 4, 900 << 10, 200);
    crashes(2, 700, 4, 400 << 10, 200);
  }
  remove_root();
  return test_result();
}
