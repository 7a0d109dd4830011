/* mounts.c - file systems that matter here: those mounted with DAX, those on PMEM block devices (to say that DAX is
 * missing), and the tmpfs at /dev/shm, where an emulated tier keeps its file. */
#include "machine/machine.h"

#include <mntent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

/* Value of the dax option: "dax=always" since Linux 5.8, plain "dax" before; NULL without one. */
static const char *dax_option(const struct mntent *mount, char *out, size_t cap) {
  const char *at = hasmntopt(mount, "dax");
  if (at == NULL) return NULL;
  if (at[3] != '=') return "dax";
  size_t n = strcspn(at + 4, ",");
  snprintf(out, cap, "%.*s", (int)n, at + 4);
  return out;
}

void ts_probe_mounts(ts_probe *probe) {
  char *text = ts_probe_text(probe, "/proc/self/mounts");
  if (text == NULL) return;
  /* getmntent reads files and undoes the kernel's escapes (\040 for a space); the text stands in for the file. */
  FILE *file = fmemopen(text, strlen(text) > 0 ? strlen(text) : 1, "r");
  struct mntent mount;
  char buffer[8192], word[32];
  uint32_t number = 0;
  int32_t shm = -1;
  while (file != NULL && getmntent_r(file, &mount, buffer, sizeof buffer) != NULL) {
    const char *dax = dax_option(&mount, word, sizeof word);
    bool pmem = strncmp(mount.mnt_fsname, "/dev/pmem", 9) == 0;
    bool tmpfs = strcmp(mount.mnt_type, "tmpfs") == 0 && strcmp(mount.mnt_dir, "/dev/shm") == 0;
    /* /dev/shm is often mounted twice; the facts asked of the path below are those of the visible one anyway. */
    if ((dax == NULL && !pmem && !tmpfs) || (tmpfs && shm >= 0)) continue;
    if (tmpfs) shm = (int32_t)number;
    ts_probe_fact(probe, mount.mnt_dir, "mount.%u.path", number);
    ts_probe_fact(probe, mount.mnt_fsname, "mount.%u.device", number);
    ts_probe_fact(probe, mount.mnt_type, "mount.%u.filesystem", number);
    if (dax != NULL) ts_probe_fact(probe, dax, "mount.%u.dax", number);
    bool writable = hasmntopt(&mount, "rw") != NULL;
    if (probe->roots[0] == '\0') {
      /* Only the live tree has these: a captured one would answer for the file system it is stored on. */
      writable = writable && access(mount.mnt_dir, W_OK) == 0;
      struct statvfs space;
      if (statvfs(mount.mnt_dir, &space) == 0) {
        ts_probe_number(probe, (uint64_t)space.f_blocks * space.f_frsize, "mount.%u.size", number);
        ts_probe_number(probe, (uint64_t)space.f_bavail * space.f_frsize, "mount.%u.free", number);
      }
    }
    ts_probe_fact(probe, writable ? "yes" : "no", "mount.%u.writable", number);
    number++;
  }
  if (file != NULL) fclose(file);
  free(text);
}
