/* pmem.c - see pmem.h. */
#include "test/crash/pmem.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static lab_pmem *of(const ts_pmem_ops *ops) { return (lab_pmem *)(uintptr_t)ops; }

/* The file is the map's; where it cannot be read it is closed. */
static int map(lab_pmem *p, int file, uint64_t bytes, ts_pmem_map *out) {
  const ts_disk_ops *disk = &p->disk->ops;
  *out = (ts_pmem_map){.base = aligned_alloc(64, TS_ROUND_UP(bytes, 64)), .bytes = bytes, .is_pmem = p->is_pmem, .file = file};
  if (out->base == NULL) abort();
  const int status = ts_disk_read(disk, file, out->base, bytes, 0);
  if (status == 0) return 0;
  free(out->base);
  disk->close(disk, file);
  *out = (ts_pmem_map){0};
  return status;
}

static int create(const ts_pmem_ops *ops, const char *path, uint64_t bytes, ts_pmem_map *out) {
  lab_pmem *p = of(ops);
  const ts_disk_ops *disk = &p->disk->ops;
  char folder[LAB_PATH];
  snprintf(folder, sizeof folder, "%s", path);
  *strrchr(folder, '/') = '\0';
  const int file = disk->create(disk, path);
  if (file < 0) return file;
  unsigned char *zeros = calloc(1, bytes);
  if (zeros == NULL) abort();
  int status = ts_disk_write(disk, file, zeros, bytes, 0);
  free(zeros);
  if (status == 0) status = disk->sync(disk, file);
  if (status == 0) status = disk->sync_folder(disk, folder);
  if (status == 0) return map(p, file, bytes, out);
  disk->close(disk, file);
  disk->unlink(disk, path);
  return status;
}

static int open_file(const ts_pmem_ops *ops, const char *path, ts_pmem_map *out) {
  lab_pmem *p = of(ops);
  const ts_disk_ops *disk = &p->disk->ops;
  const int file = disk->open(disk, path);
  if (file < 0) return file;
  const int64_t bytes = disk->size(disk, file);
  if (bytes > 0) return map(p, file, (uint64_t)bytes, out);
  disk->close(disk, file);
  return -ENODATA;
}

static int unlink_file(const ts_pmem_ops *ops, const char *path) {
  const ts_disk_ops *disk = &of(ops)->disk->ops;
  return disk->unlink(disk, path);
}

static void close_map(const ts_pmem_ops *ops, ts_pmem_map *out) {
  const ts_disk_ops *disk = &of(ops)->disk->ops;
  if (out->base == NULL) return;
  free(out->base);
  out->base = NULL;
  disk->close(disk, out->file);
}

static uint32_t whose(const lab_pmem *p) { return pthread_equal(pthread_self(), p->first) ? p->thread : 1; }

static void copy(const ts_pmem_ops *ops, const ts_pmem_map *to, uint64_t offset, const void *from, uint64_t bytes) {
  lab_pmem *p = of(ops);
  const uint32_t thread = whose(p);
  if (offset % 8 != 0 || bytes % 8 != 0 || offset + bytes > to->bytes) abort();
  pthread_mutex_lock(&p->lock);
  memcpy(to->base + offset, from, bytes);
  const int inode = lab_disk_store(p->disk, to->file, from, bytes, offset, thread);
  bool known = false;
  for (uint32_t i = 0; i < p->dirty_count[thread]; i++) known |= p->dirty[thread][i] == inode;
  if (!known) p->dirty[thread][p->dirty_count[thread]++] = inode;
  pthread_mutex_unlock(&p->lock);
}

static void drain(const ts_pmem_ops *ops) {
  lab_pmem *p = of(ops);
  const uint32_t thread = whose(p);
  pthread_mutex_lock(&p->lock);
  for (uint32_t i = 0; p->is_pmem && i < p->dirty_count[thread]; i++) lab_disk_drain(p->disk, p->dirty[thread][i], thread);
  p->dirty_count[thread] = 0;
  pthread_mutex_unlock(&p->lock);
}

static int sync_map(const ts_pmem_ops *ops, const ts_pmem_map *map_of) {
  lab_pmem *p = of(ops);
  return p->is_pmem ? 0 : p->disk->ops.sync(&p->disk->ops, map_of->file);
}

void lab_pmem_begin(lab_pmem *pmem, lab_disk *disk, bool is_pmem) {
  *pmem = (lab_pmem){.ops = {.create = create,
                             .open = open_file,
                             .unlink = unlink_file,
                             .close = close_map,
                             .copy = copy,
                             .drain = drain,
                             .sync = sync_map},
                     .disk = disk,
                     .lock = PTHREAD_MUTEX_INITIALIZER,
                     .first = pthread_self(),
                     .is_pmem = is_pmem};
}
