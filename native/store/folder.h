/* folder.h - a store's own folder for the files of its tier of records. */
#ifndef TS_FOLDER_H
#define TS_FOLDER_H

#include "base/base.h"

typedef struct ts_folder {
  char *path; /* NULL: none */
  int lock;   /* open file that says that the folder is in use */
} ts_folder;

/* Makes a new folder in `parent`, after removing those that ended programs left there. Errors: TS_EIO, TS_ENOMEM. */
int32_t ts_folder_create(const char *parent, ts_folder *out, ts_err err);
/* Removes it with everything in it; accepts one that was never made. */
void ts_folder_remove(ts_folder *folder);

#endif
