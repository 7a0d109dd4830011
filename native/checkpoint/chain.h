/* chain.h - what is in a chain's folder: its manifests, and what they are to each other. */
#ifndef TS_CHECKPOINT_CHAIN_H
#define TS_CHECKPOINT_CHAIN_H

#include "checkpoint/file.h"

/* Names: "<number, 8 hex>" and these. */
#define TS_CHECKPOINT_DATA ".ckpt"
#define TS_CHECKPOINT_FULL_DATA ".full.ckpt"
#define TS_CHECKPOINT_MANIFEST ".manifest"
#define TS_CHECKPOINT_NEW ".new"
/* Data of a share but the first: "<number, 8 hex>.<share, 4 hex>" and TS_CHECKPOINT_DATA. */
#define TS_CHECKPOINT_MOST_SHARES 1024u

/* A manifest of the folder. */
typedef struct ts_chain_link {
  uint32_t number; /* by its file's name */
  int32_t status;  /* TS_OK, or what is wrong with the manifest ... */
  char *words;     /* ... in words; NULL: nothing */
  ts_manifest manifest;
  /* Of the manifest, if it is sound: */
  uint32_t parent; /* 0: none */
  uint64_t timeline;
  bool delta;
  uint8_t chain[TS_CHECKPOINT_ID], id[TS_CHECKPOINT_ID], parent_id[TS_CHECKPOINT_ID];
  uint32_t share_count; /* 1: not over ranks */
  ts_checkpoint_share *shares;
  uint64_t bytes; /* of all of them */
} ts_chain_link;

typedef struct ts_chain {
  const ts_disk_ops *disk;
  char *path;
  ts_chain_link *links; /* by rising number */
  uint32_t count, capacity;
  char **names; /* what else is in the folder: data files, and what is left of writers */
  uint32_t name_count, name_capacity;
  uint32_t highest; /* number of any file that is named as this format names them */
  bool failed;      /* out of memory */
} ts_chain;

/* "<path>/<name>", or with a number and an ending; malloc's. NULL: out of memory. */
char *ts_chain_path(const char *path, const char *name);
char *ts_chain_file(const char *path, uint32_t number, const char *ending);
/* Of the data of share 1 or later. */
char *ts_chain_share_file(const char *path, uint32_t number, uint32_t share);

/* Reads all manifests. A damaged one is a link with words, not a failure. Errors: TS_EIO, TS_ENOMEM. */
int32_t ts_chain_read(const ts_disk_ops *disk, const char *path, ts_chain *out, ts_err err);
void ts_chain_free(ts_chain *chain);
/* NULL: there is none. */
ts_chain_link *ts_chain_find(const ts_chain *chain, uint32_t number);
/* Whether some manifest that is sound, or is damaged so that nobody knows, has this file as its data. */
bool ts_chain_names(const ts_chain *chain, const char *name);
/* Removes the files that no manifest names: what is left of writers. Errors: TS_EIO, TS_ENOMEM. */
int32_t ts_chain_sweep(const ts_chain *chain, ts_err err);
/* Removes all manifests but the newest, which must need none of them: the newest of them first, so that what is left at any
 * time is whole. Their data is what ts_chain_sweep then finds. Errors: TS_EIO, TS_ENOMEM. */
int32_t ts_chain_forget_older(const ts_chain *chain, ts_err err);
/* Removes one that no other needs: its manifest, durably, then its data. Errors: TS_EIO, TS_ENOMEM. */
int32_t ts_chain_forget(const ts_chain *chain, const ts_chain_link *link, ts_err err);
/* The link that the manifest of a delta names, if it is there and is what was named; otherwise what is wrong, by name.
 * Errors: TS_EFORMAT. */
int32_t ts_chain_parent(const ts_chain *chain, const ts_chain_link *link, ts_chain_link **out, ts_err err);
/* The path of a share's data; malloc's. NULL: out of memory. */
char *ts_chain_data(const ts_chain *chain, const ts_chain_link *link, uint32_t share);
/* The data files of a manifest whose other lines are sound (shares.c): fills in the link's shares and bytes. False: a line is
 * missing or is not what it should be, or there is no memory. */
bool ts_chain_take_shares(ts_chain_link *link);
/* Whether the data file of this path is there and has so many bytes. Errors: TS_EFORMAT, TS_EIO. */
int32_t ts_chain_file_length(const ts_disk_ops *disk, const char *file, const char *path, uint32_t number, uint64_t bytes,
                             ts_err err);
/* Whether all of a link's data is there and as long as its manifest says. Errors: TS_EFORMAT, TS_EIO, TS_ENOMEM. */
int32_t ts_chain_data_length(const ts_chain *chain, const ts_chain_link *link, ts_err err);
/* Checks that a link can be restored: it and, of a delta, its parents down to a full one, and the lengths of their data.
 * out (room for chain->count): those links, the one that was asked for first; *count: how many.
 * Errors: TS_EINVAL (of an abandoned timeline), TS_EFORMAT, TS_EIO, TS_ENOMEM. */
int32_t ts_chain_needed(const ts_chain *chain, ts_chain_link *link, ts_chain_link **out, uint32_t *count, ts_err err);
/* Refuses a link that is of an abandoned timeline: a newer one descends from before it. Errors: TS_EINVAL. */
int32_t ts_chain_current(const ts_chain *chain, const ts_chain_link *link, ts_err err);
/* A reader of one link's data alone; the chain stays the caller's. Errors: TS_ENOMEM. */
int32_t ts_checkpoint_reader_of(ts_chain *chain, ts_chain_link *link, ts_checkpoint_reader **out, ts_err err);

#endif
