/* disk.c - see disk.h. */
#include "test/crash/disk.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ALL_THREADS 3u

/* Memory that a test cannot do without. */
static void *more(void *memory, size_t bytes) {
  void *larger = realloc(memory, bytes);
  if (larger == NULL) abort();
  return larger;
}

/* ---- contents ---- */

static uint32_t new_inode(lab_state *s) {
  if (s->inode_count == s->inode_capacity) {
    s->inode_capacity = s->inode_capacity * 2 + 16;
    s->inodes = more(s->inodes, s->inode_capacity * sizeof *s->inodes);
  }
  s->inodes[s->inode_count] = (lab_inode){0};
  return s->inode_count++;
}

static void set_length(lab_inode *inode, uint64_t length) {
  if (length > inode->capacity) {
    inode->capacity = length * 2;
    inode->bytes = more(inode->bytes, inode->capacity);
  }
  if (length > inode->length) memset(inode->bytes + inode->length, 0, length - inode->length);
  inode->length = length;
}

static void put(lab_inode *inode, uint64_t offset, const unsigned char *bytes, uint64_t n) {
  if (n == 0) return;
  if (offset + n > inode->length) set_length(inode, offset + n);
  memcpy(inode->bytes + offset, bytes, n);
}

static int find(const lab_state *s, const char *path) {
  for (uint32_t i = 0; i < s->entry_count; i++)
    if (strcmp(s->entries[i].path, path) == 0) return (int)i;
  return -1;
}

static void add_entry(lab_state *s, const char *path, int inode) {
  if (s->entry_count == s->entry_capacity) {
    s->entry_capacity = s->entry_capacity * 2 + 16;
    s->entries = more(s->entries, s->entry_capacity * sizeof *s->entries);
  }
  lab_entry *entry = &s->entries[s->entry_count++];
  snprintf(entry->path, sizeof entry->path, "%s", path);
  entry->inode = inode;
}

static void remove_entry(lab_state *s, const char *path) {
  const int at = find(s, path);
  if (at >= 0) s->entries[at] = s->entries[--s->entry_count];
}

static void copy_state(const lab_state *from, lab_state *to) {
  *to = (lab_state){0};
  for (uint32_t i = 0; i < from->inode_count; i++) {
    const uint32_t n = new_inode(to);
    put(&to->inodes[n], 0, from->inodes[i].bytes, from->inodes[i].length);
  }
  for (uint32_t i = 0; i < from->entry_count; i++) add_entry(to, from->entries[i].path, from->entries[i].inode);
}

static void free_state(lab_state *s) {
  for (uint32_t i = 0; i < s->inode_count; i++) free(s->inodes[i].bytes);
  free(s->inodes);
  free(s->entries);
  *s = (lab_state){0};
}

/* What an operation on names does to them; files that are there keep their inodes. */
static void apply_name(lab_state *s, const lab_op *op) {
  int at;
  switch (op->kind) {
    case LAB_FOLDER: add_entry(s, op->path, -1); break;
    case LAB_CREATE: add_entry(s, op->path, op->inode); break;
    case LAB_UNLINK: remove_entry(s, op->path); break;
    case LAB_RENAME:
      remove_entry(s, op->to);
      at = find(s, op->path);
      if (at >= 0) snprintf(s->entries[at].path, LAB_PATH, "%s", op->to);
      break;
    default: break;
  }
}

/* ---- the operations ---- */

/* "/a/b/.." is "/a"; "/a/.." is "/". */
static void normal(const char *path, char out[LAB_PATH]) {
  snprintf(out, LAB_PATH, "%s", path);
  const size_t n = strlen(out);
  if (n < 3 || strcmp(out + n - 3, "/..") != 0) return;
  out[n - 3] = '\0';
  char *slash = strrchr(out, '/');
  slash[slash == out ? 1 : 0] = '\0';
}

static void folder_of(const char *path, char out[LAB_PATH]) {
  snprintf(out, LAB_PATH, "%s", path);
  char *slash = strrchr(out, '/');
  slash[slash == out ? 1 : 0] = '\0';
}

static bool is_folder(const lab_state *s, const char *path) {
  if (strcmp(path, "/") == 0) return true;
  const int at = find(s, path);
  return at >= 0 && s->entries[at].inode == -1;
}

static lab_disk *begin(const ts_disk_ops *ops) {
  lab_disk *disk = (lab_disk *)(uintptr_t)ops;
  pthread_mutex_lock(&disk->lock);
  return disk;
}

static int end(lab_disk *disk, int status) {
  pthread_mutex_unlock(&disk->lock);
  return status;
}

static lab_op *record(lab_disk *disk, lab_op_kind kind, int inode, const char *path) {
  if (disk->op_count == disk->op_capacity) {
    disk->op_capacity = disk->op_capacity * 2 + 64;
    disk->log = more(disk->log, disk->op_capacity * sizeof *disk->log);
  }
  lab_op *op = &disk->log[disk->op_count++];
  *op = (lab_op){.kind = kind, .inode = inode, .threads = ALL_THREADS};
  if (path != NULL) snprintf(op->path, sizeof op->path, "%s", path);
  return op;
}

static lab_fault meet(lab_disk *disk) {
  if (disk->fault == LAB_NO_FAULT) return LAB_NO_FAULT;
  disk->fault_met = true;
  disk->fault_op = disk->op_count;
  return disk->fault;
}

/* Whether this operation is the one that fails, and how. */
static lab_fault next_fault(lab_disk *disk) {
  const bool now = disk->changes++ == disk->fault_at;
  return now && disk->fault < LAB_READ_EIO ? meet(disk) : LAB_NO_FAULT;
}

/* The same of reading. */
static lab_fault next_read_fault(lab_disk *disk) {
  const bool now = disk->reads++ == disk->fault_at;
  return now && disk->fault >= LAB_READ_EIO ? meet(disk) : LAB_NO_FAULT;
}

/* Of operations that write nothing: a lie and a short one are none. */
static int plain_fault(lab_disk *disk) {
  const lab_fault fault = next_fault(disk);
  return fault == LAB_EIO ? -EIO : fault == LAB_ENOSPC ? -ENOSPC : 0;
}

static int make_folder(const ts_disk_ops *ops, const char *path) {
  lab_disk *disk = begin(ops);
  char up[LAB_PATH];
  folder_of(path, up);
  if (!is_folder(&disk->now, up)) return end(disk, -ENOENT);
  if (find(&disk->now, path) >= 0) return end(disk, -EEXIST);
  const int fault = plain_fault(disk);
  if (fault != 0) return end(disk, fault);
  apply_name(&disk->now, record(disk, LAB_FOLDER, -1, path));
  return end(disk, 0);
}

static int list(const ts_disk_ops *ops, const char *folder, void (*each)(void *context, const char *name), void *context) {
  lab_disk *disk = begin(ops);
  if (!is_folder(&disk->now, folder)) return end(disk, -ENOENT);
  if (next_read_fault(disk) == LAB_READ_EIO) return end(disk, -EIO);
  const size_t n = strlen(folder);
  uint32_t count = 0;
  char(*names)[LAB_PATH] = more(NULL, ((size_t)disk->now.entry_count + 1) * sizeof *names);
  for (uint32_t i = 0; i < disk->now.entry_count; i++) {
    const char *path = disk->now.entries[i].path;
    if (strncmp(path, folder, n) == 0 && path[n] == '/' && strchr(path + n + 1, '/') == NULL)
      snprintf(names[count++], LAB_PATH, "%s", path + n + 1);
  }
  end(disk, 0);
  for (uint32_t i = 0; i < count; i++) each(context, names[i]); /* which may change the folder */
  free(names);
  return 0;
}

static int take_handle(lab_disk *disk, int inode, const char *path) {
  for (int i = 0; i < (int)(sizeof disk->handles / sizeof *disk->handles); i++)
    if (disk->handles[i].inode == -2) {
      disk->handles[i].inode = inode;
      snprintf(disk->handles[i].path, LAB_PATH, "%s", path);
      return i;
    }
  return -EMFILE;
}

static int lock_folder(const ts_disk_ops *ops, const char *folder) {
  lab_disk *disk = begin(ops);
  if (!is_folder(&disk->now, folder)) return end(disk, -ENOENT);
  for (uint32_t i = 0; i < sizeof disk->handles / sizeof *disk->handles; i++)
    if (disk->handles[i].inode == -1 && strcmp(disk->handles[i].path, folder) == 0) return end(disk, -EWOULDBLOCK);
  return end(disk, take_handle(disk, -1, folder));
}

static int sync_folder(const ts_disk_ops *ops, const char *folder) {
  lab_disk *disk = begin(ops);
  char path[LAB_PATH];
  normal(folder, path);
  if (!is_folder(&disk->now, path)) return end(disk, -ENOENT);
  const lab_fault fault = next_fault(disk);
  lab_op *op = record(disk, LAB_SYNC_FOLDER, -1, path);
  op->failed = fault == LAB_EIO || fault == LAB_ENOSPC;
  op->lied = fault == LAB_LIE;
  return end(disk, fault == LAB_ENOSPC ? -ENOSPC : op->failed ? -EIO : 0);
}

static int open_file(const ts_disk_ops *ops, const char *path) {
  lab_disk *disk = begin(ops);
  const int at = find(&disk->now, path);
  if (next_read_fault(disk) == LAB_READ_EIO) return end(disk, -EIO);
  return end(disk, at < 0 ? -ENOENT : disk->now.entries[at].inode < 0 ? -EISDIR : take_handle(disk, disk->now.entries[at].inode, path));
}

static int create(const ts_disk_ops *ops, const char *path) {
  lab_disk *disk = begin(ops);
  char up[LAB_PATH];
  folder_of(path, up);
  if (!is_folder(&disk->now, up)) return end(disk, -ENOENT);
  if (find(&disk->now, path) >= 0) return end(disk, -EEXIST);
  const int fault = plain_fault(disk);
  if (fault != 0) return end(disk, fault);
  const int inode = (int)new_inode(&disk->now);
  apply_name(&disk->now, record(disk, LAB_CREATE, inode, path));
  return end(disk, take_handle(disk, inode, path));
}

static int64_t size(const ts_disk_ops *ops, int file) {
  lab_disk *disk = begin(ops);
  const int64_t bytes = (int64_t)disk->now.inodes[disk->handles[file].inode].length;
  end(disk, 0);
  return bytes;
}

static int64_t read_some(const ts_disk_ops *ops, int file, void *out, uint64_t bytes, uint64_t offset) {
  lab_disk *disk = begin(ops);
  const lab_inode *inode = &disk->now.inodes[disk->handles[file].inode];
  const lab_fault fault = next_read_fault(disk);
  uint64_t n = offset >= inode->length ? 0 : TS_MIN(bytes, inode->length - offset);
  if (fault == LAB_READ_EIO) return end(disk, -EIO);
  if (fault == LAB_READ_SHORT && n > 1) n /= 2;
  if (n > 0) memcpy(out, inode->bytes + offset, n);
  end(disk, 0);
  return (int64_t)n;
}

static void record_write(lab_disk *disk, int file, const void *in, uint64_t bytes, uint64_t offset, uint64_t grain,
                         uint32_t threads) {
  const int inode = disk->handles[file].inode;
  lab_op *op = record(disk, LAB_WRITE, inode, disk->handles[file].path);
  op->offset = offset;
  op->bytes = bytes;
  op->grain = grain;
  op->threads = threads;
  op->data = more(NULL, bytes);
  memcpy(op->data, in, bytes);
  put(&disk->now.inodes[inode], offset, op->data, bytes);
}

static int64_t write_some(const ts_disk_ops *ops, int file, const void *in, uint64_t bytes, uint64_t offset) {
  lab_disk *disk = begin(ops);
  const lab_fault fault = next_fault(disk);
  uint64_t n = bytes;
  if (fault == LAB_SHORT) n = bytes / 3; /* 0 of a write of a byte or two: no progress */
  if (fault == LAB_EIO || fault == LAB_ENOSPC) n = bytes / 2; /* what failed may have begun */
  if (n > 0) record_write(disk, file, in, n, offset, LAB_SECTOR, ALL_THREADS);
  end(disk, 0);
  return fault == LAB_EIO ? -EIO : fault == LAB_ENOSPC ? -ENOSPC : (int64_t)n;
}

static int sync_file(const ts_disk_ops *ops, int file) {
  lab_disk *disk = begin(ops);
  const lab_fault fault = next_fault(disk);
  lab_op *op = record(disk, LAB_SYNC, disk->handles[file].inode, disk->handles[file].path);
  op->failed = fault == LAB_EIO || fault == LAB_ENOSPC;
  op->lied = fault == LAB_LIE;
  return end(disk, fault == LAB_ENOSPC ? -ENOSPC : op->failed ? -EIO : 0);
}

static int reopen(const ts_disk_ops *ops, const char *path) { return open_file(ops, path); }

static int allocate(const ts_disk_ops *ops, int file, uint64_t offset, uint64_t bytes) {
  (void)file, (void)offset, (void)bytes;
  lab_disk *disk = begin(ops);
  return end(disk, plain_fault(disk));
}

static int truncate_file(const ts_disk_ops *ops, int file, uint64_t length) {
  lab_disk *disk = begin(ops);
  const int fault = plain_fault(disk), inode = disk->handles[file].inode;
  if (fault != 0) return end(disk, fault);
  record(disk, LAB_TRUNCATE, inode, disk->handles[file].path)->offset = length;
  set_length(&disk->now.inodes[inode], length);
  return end(disk, 0);
}

static int descriptor(const ts_disk_ops *ops, int file) {
  (void)ops, (void)file;
  return -1;
}

static int close_handle(const ts_disk_ops *ops, int file) {
  lab_disk *disk = begin(ops);
  disk->handles[file].inode = -2;
  return end(disk, 0);
}

static int rename_file(const ts_disk_ops *ops, const char *from, const char *to) {
  lab_disk *disk = begin(ops);
  if (find(&disk->now, from) < 0) return end(disk, -ENOENT);
  const int fault = plain_fault(disk);
  if (fault != 0) return end(disk, fault);
  lab_op *op = record(disk, LAB_RENAME, -1, from);
  snprintf(op->to, sizeof op->to, "%s", to);
  apply_name(&disk->now, op);
  return end(disk, 0);
}

static int unlink_file(const ts_disk_ops *ops, const char *path) {
  lab_disk *disk = begin(ops);
  if (find(&disk->now, path) < 0) return end(disk, -ENOENT);
  if (is_folder(&disk->now, path)) return end(disk, -EISDIR);
  const int fault = plain_fault(disk);
  if (fault != 0) return end(disk, fault);
  apply_name(&disk->now, record(disk, LAB_UNLINK, -1, path));
  return end(disk, 0);
}

static int remove_folder(const ts_disk_ops *ops, const char *path) {
  lab_disk *disk = begin(ops);
  char up[LAB_PATH];
  if (!is_folder(&disk->now, path)) return end(disk, -ENOENT);
  for (uint32_t i = 0; i < disk->now.entry_count; i++) {
    folder_of(disk->now.entries[i].path, up);
    if (strcmp(up, path) == 0) return end(disk, -ENOTEMPTY);
  }
  const int fault = plain_fault(disk);
  if (fault != 0) return end(disk, fault);
  apply_name(&disk->now, record(disk, LAB_UNLINK, -1, path));
  return end(disk, 0);
}

static const ts_disk_ops lab_ops = {.make_folder = make_folder,
                                    .list = list,
                                    .lock_folder = lock_folder,
                                    .sync_folder = sync_folder,
                                    .open = open_file,
                                    .create = create,
                                    .reopen = reopen,
                                    .size = size,
                                    .read = read_some,
                                    .write = write_some,
                                    .sync = sync_file,
                                    .close = close_handle,
                                    .allocate = allocate,
                                    .truncate = truncate_file,
                                    .descriptor = descriptor,
                                    .rename = rename_file,
                                    .unlink = unlink_file,
                                    .remove_folder = remove_folder};

void lab_disk_begin(lab_disk *disk) {
  *disk = (lab_disk){.ops = lab_ops};
  pthread_mutex_init(&disk->lock, NULL);
  for (uint32_t i = 0; i < sizeof disk->handles / sizeof *disk->handles; i++) disk->handles[i].inode = -2;
}

void lab_disk_end(lab_disk *disk) {
  for (uint32_t i = 0; i < disk->op_count; i++) free(disk->log[i].data);
  free(disk->log);
  free_state(&disk->base);
  free_state(&disk->now);
  pthread_mutex_destroy(&disk->lock);
}

void lab_disk_settle(lab_disk *disk) {
  for (uint32_t i = 0; i < disk->op_count; i++) free(disk->log[i].data);
  disk->op_count = 0;
  free_state(&disk->base);
  copy_state(&disk->now, &disk->base);
}

uint32_t lab_disk_files(const lab_disk *disk) {
  uint32_t files = 0;
  for (uint32_t i = 0; i < disk->now.entry_count; i++) files += disk->now.entries[i].inode >= 0;
  return files;
}

int lab_disk_store(lab_disk *disk, int file, const void *from, uint64_t bytes, uint64_t offset, uint32_t thread) {
  pthread_mutex_lock(&disk->lock);
  record_write(disk, file, from, bytes, offset, 8, 1u << thread);
  return end(disk, disk->handles[file].inode);
}

void lab_disk_drain(lab_disk *disk, int inode, uint32_t thread) {
  pthread_mutex_lock(&disk->lock);
  record(disk, LAB_SYNC, inode, NULL)->threads = 1u << thread;
  pthread_mutex_unlock(&disk->lock);
}

void lab_disk_mark(lab_disk *disk, uint64_t mark) {
  pthread_mutex_lock(&disk->lock);
  record(disk, LAB_MARK, -1, NULL)->mark = mark;
  pthread_mutex_unlock(&disk->lock);
}

/* ---- images ---- */

const char *lab_sync_name(const lab_op *op) {
  if (op->kind == LAB_SYNC_FOLDER) return strcmp(op->path, "/") == 0 ? "folder above" : "folder";
  return strstr(op->path, ".manifest") != NULL ? "manifest" : strstr(op->path, ".full.") != NULL ? "compacted data" : "data";
}

typedef struct drawing {
  uint64_t seed, drawn;
} drawing;

static uint64_t draw(drawing *d, uint64_t below) { return ts_random64(d->seed, 1, d->drawn++) % below; }

static bool counts(const lab_op *op, const lab_image_choice *choice) {
  return !op->failed && !op->lied && (choice->without == NULL || strcmp(lab_sync_name(op), choice->without) != 0);
}

/* Which operations' writes to a file are durable: those whose next sync was good. A sync that failed has lost those before it,
 * even if a later one succeeds. */
static bool *durable_writes(const lab_disk *disk, int inode, const lab_image_choice *choice) {
  bool *durable = more(NULL, choice->point + 1);
  uint32_t next = 0; /* whose stores are */
  for (uint32_t i = choice->point; i-- > 0;) {
    const lab_op *op = &disk->log[i];
    if (op->kind == LAB_SYNC && op->inode == inode && (op->failed || counts(op, choice)))
      next = op->failed ? 0 : next | op->threads;
    durable[i] = (op->threads & ~next) == 0;
  }
  return durable;
}

/* A file's contents after the crash. */
static void image_file(const lab_disk *disk, int inode, const lab_image_choice *choice, drawing *d, lab_inode *out) {
  bool *durable = durable_writes(disk, inode, choice);
  uint64_t longest = out->length;
  for (uint32_t i = 0; i < choice->point; i++) {
    const lab_op *op = &disk->log[i];
    if (op->kind == LAB_TRUNCATE && op->inode == inode) {
      const bool there = durable[i] || choice->style == 1 || choice->style == 3 || (choice->style >= 4 && draw(d, 2) == 0);
      if (there) set_length(out, op->offset);
      longest = TS_MAX(longest, op->offset);
      continue;
    }
    if (op->kind != LAB_WRITE || op->inode != inode) continue;
    longest = TS_MAX(longest, op->offset + op->bytes);
    if (durable[i] || choice->style == 1 || choice->style == 3) {
      put(out, op->offset, op->data, op->bytes);
      continue;
    }
    if (choice->style < 4) continue;
    const uint64_t how = draw(d, 4); /* lost, there, there up to somewhere, torn */
    if (how == 1) put(out, op->offset, op->data, op->bytes);
    if (how < 2) continue;
    const uint64_t cut = op->offset + draw(d, op->bytes + 1);
    for (uint64_t at = op->offset; at < op->offset + op->bytes;) {
      const uint64_t next = TS_MIN((at / op->grain + 1) * op->grain, op->offset + op->bytes);
      if (how == 2 ? at < cut / op->grain * op->grain : draw(d, 2) == 1) put(out, at, op->data + (at - op->offset), next - at);
      at = next;
    }
  }
  free(durable);
  /* Longer than what is there of it, with zeros: names and lengths may be durable before the data. */
  if (choice->style == 2 || (choice->style >= 4 && draw(d, 3) == 0)) set_length(out, TS_MAX(out->length, longest));
}

static bool changes_names(const lab_op *op) {
  return op->kind == LAB_FOLDER || op->kind == LAB_CREATE || op->kind == LAB_RENAME || op->kind == LAB_UNLINK;
}

/* Up to which operation the changes of a folder's names are there. */
static uint32_t names_until(const lab_disk *disk, const char *folder, const lab_image_choice *choice, drawing *d) {
  uint32_t durable = 0, later = 0;
  char up[LAB_PATH];
  for (uint32_t i = 0; i < choice->point; i++)
    if (disk->log[i].kind == LAB_SYNC_FOLDER && strcmp(disk->log[i].path, folder) == 0 && counts(&disk->log[i], choice)) durable = i;
  if (choice->style == 1 || choice->style == 2) return choice->point;
  if (choice->style == 0 || choice->style == 3) return durable;
  for (uint32_t i = durable; i < choice->point; i++) {
    if (!changes_names(&disk->log[i])) continue;
    folder_of(disk->log[i].path, up);
    later += strcmp(up, folder) == 0;
  }
  uint64_t take = draw(d, (uint64_t)later + 1);
  for (uint32_t i = durable; i < choice->point; i++) {
    if (!changes_names(&disk->log[i])) continue;
    folder_of(disk->log[i].path, up);
    if (strcmp(up, folder) == 0 && take-- == 0) return i;
  }
  return choice->point;
}

#define FOLDERS 16u

/* A folder may have been made, removed and made again. */
static uint32_t add_folder(char folders[FOLDERS][LAB_PATH], uint32_t n, const char *path) {
  for (uint32_t i = 0; i < n; i++)
    if (strcmp(folders[i], path) == 0) return n;
  if (n == FOLDERS) abort();
  snprintf(folders[n], LAB_PATH, "%s", path);
  return n + 1;
}

void lab_image(const lab_disk *disk, const lab_image_choice *choice, lab_disk *image) {
  drawing d = {.seed = choice->seed};
  lab_disk_begin(image);
  copy_state(&disk->base, &image->now);
  while (image->now.inode_count < disk->now.inode_count) new_inode(&image->now);
  /* Names, a folder at a time: those above first, whose names the others need. */
  char folders[FOLDERS][LAB_PATH] = {"/"};
  uint32_t folder_count = 1, until[FOLDERS];
  for (uint32_t i = 0; i < choice->point; i++)
    if (disk->log[i].kind == LAB_FOLDER) folder_count = add_folder(folders, folder_count, disk->log[i].path);
  for (uint32_t i = 0; i < disk->base.entry_count; i++)
    if (disk->base.entries[i].inode == -1) folder_count = add_folder(folders, folder_count, disk->base.entries[i].path);
  for (uint32_t f = 0; f < folder_count; f++) until[f] = names_until(disk, folders[f], choice, &d);
  for (uint32_t i = 0; i < choice->point; i++) {
    const lab_op *op = &disk->log[i];
    if (!changes_names(op)) continue;
    char up[LAB_PATH];
    folder_of(op->path, up);
    for (uint32_t f = 0; f < folder_count; f++)
      if (strcmp(up, folders[f]) == 0 && i < until[f] && is_folder(&image->now, up)) apply_name(&image->now, op);
  }
  for (uint32_t i = 0; i < image->now.entry_count; i++) {
    const int inode = image->now.entries[i].inode;
    if (inode >= 0) image_file(disk, inode, choice, &d, &image->now.inodes[inode]);
  }
}
