/* folder.h - a store's own folder for the files of its tier of records. */
#ifndef TS_FOLDER_H
#define TS_FOLDER_H

#include "base/disk.h"

typedef struct ts_folder {
  char *path; /* NULL: none */
  int lock;   /* open file, or handle of the disk, that says that the folder is in use */
  bool stays; /* with what is in it, for who opens it again */
  const ts_disk_ops *disk; /* of one that stays */
} ts_folder;

/* Makes a new folder in `parent`, after removing those that ended programs left there. Errors: TS_EIO, TS_ENOMEM. */
int32_t ts_folder_create(const char *parent, ts_folder *out, ts_err err);
/* The one folder in `parent` that stays, made where it is missing, for a program at a time. Errors: TS_EUNAVAILABLE (another
 * store has it), TS_EIO, TS_EINVAL, TS_ENOMEM. */
int32_t ts_folder_keep(const ts_disk_ops *disk, const char *parent, ts_folder *out, ts_err err);
/* Whether there is something of this name in one that stays. Errors: TS_EIO: nobody knows. */
int32_t ts_folder_has(const ts_folder *folder, const char *name, bool *has, ts_err err);
/* Removes the folders in one that stays that nobody has locked, but the one of this name. */
void ts_folder_clear(const ts_folder *folder, const char *but);
/* Leaves one that stays; removes any other with everything in it. Accepts one that was never made. */
void ts_folder_remove(ts_folder *folder);

#endif
