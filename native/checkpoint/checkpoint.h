/* checkpoint.h - checkpoints of stores: the cut (store/cut.h) of a store written into a chain's folder (file.h), and brought
 * back. What tierstore.h says of a checkpoint is said there; here is what a layer above adds to one of its own.
 *
 * Lines of a manifest, beside those of file.h:
 *   seed, step, step_set      of the store; step_set 1: somebody has set the step
 *   tables                    how many; for each, from 0:
 *   table.<i>.name, .options  name; all that it was created with, "key=value" lines
 *   table.<i>.updates, .learning_rate   update calls before the cut; as it is at the cut
 *   table.<i>.row_bytes, .dtype, .dim, .slots, .weight_bytes, .slot_bytes, .scalar_offset, .frequency_offset, .version_offset
 *                             where the parts of a row lie (optimizers/row_layout.h); an offset of 0: there is none
 *   table.<i>.changes_log2    of a store with track_changes: slots of its map of changes, as a power of two */
#ifndef TS_CHECKPOINT_CHECKPOINT_H
#define TS_CHECKPOINT_CHECKPOINT_H

#include "checkpoint/file.h"
#include "store/store.h"

/* What another layer adds to a checkpoint. */
typedef struct ts_checkpoint_part {
  void *context;
  /* On the thread that writes, before the rows: appends blocks, and lines of the manifest. */
  int32_t (*write)(void *context, ts_checkpoint_writer *writer, ts_manifest *lines, ts_err err);
  void (*free)(void *context); /* once, when it was written or given up */
} ts_checkpoint_part;
/* Between ts_checkpoint_begin and ts_checkpoint_write; the checkpoint's from then on. */
void ts_checkpoint_add_part(ts_checkpoint *checkpoint, ts_checkpoint_part part);

/* Begins a restore point (store/kept.c) whose part beside the kept tier is a checkpoint in the chain of `path`, with a number of
 * at least `least`; ts_checkpoint_write and _close go on with it. origin: the point that the store descends from, filled in when
 * this one is durable; it stays the caller's, and there. Errors: those of ts_checkpoint_begin. */
int32_t ts_point_begin(ts_store *store, const char *path, uint32_t least, ts_checkpoint_origin *origin, ts_checkpoint **out,
                       ts_err err);
/* The number that a checkpoint or a point will have; before it is written. */
uint32_t ts_checkpoint_begun_number(const ts_checkpoint *checkpoint);

/* One checkpoint of several stores, each in a process of its own. Each begins its share at the same moment of training: share 0
 * first, whose number the others are given. ts_checkpoint_write then brings a share to the disk; when all are there, all commit.
 * Options: those of ts_checkpoint_begin. Errors: those of it; TS_EUNSUPPORTED (a delta). */
int32_t ts_checkpoint_begin_share(ts_store *store, const ts_config *config, uint32_t number, uint32_t share, ts_checkpoint **out,
                                  ts_err err);
/* Whether ts_checkpoint_write was called, with whatever result. */
bool ts_checkpoint_is_written(const ts_checkpoint *checkpoint);
/* What was written. Errors: TS_EINVAL: not of ranks, or not on the disk. */
int32_t ts_checkpoint_share_written(const ts_checkpoint *checkpoint, ts_checkpoint_share *out, ts_err err);
/* Update calls of a table before the cut. */
uint64_t ts_checkpoint_table_updates(const ts_checkpoint *checkpoint, uint32_t table);
/* Share 0 writes the manifest that names all of them, [count], with the tables' updates [tables] where they are counted; the
 * others leave their files to it. Errors: those of ts_checkpoint_add_shares and _commit. */
int32_t ts_checkpoint_commit_shares(ts_checkpoint *checkpoint, const ts_checkpoint_share *shares, uint32_t count,
                                    const uint64_t *updates, uint32_t tables, ts_err err);

/* Opens the tables of a store that has none at a point of the chain of `path`. Errors: those of ts_store_restore; the store has
 * no tables then. */
int32_t ts_point_take_up(ts_store *store, const char *path, uint32_t number, uint64_t *control, ts_checkpoint_origin *origin,
                         ts_err err);
/* Whether that would be done: reads all that it reads, and changes neither the store nor files. Errors: as ts_point_take_up. */
int32_t ts_point_look(ts_store *store, const char *path, uint32_t number, uint64_t *control, ts_err err);
/* ts_store_persist with a part of another layer, which is freed in any case. */
int32_t ts_points_persist(ts_store *store, const ts_config *config, ts_checkpoint_part part, uint64_t *number, ts_err err);
/* Has another layer take up its part of the point that the store was opened at; nothing if there is none. Errors: TS_EINVAL (the
 * store has changed since, the point has no such part), those of `check` and of reading. */
int32_t ts_points_take_part(ts_store *store, int32_t (*check)(void *context, ts_checkpoint_reader *reader, ts_err err),
                            void *context, ts_err err);

/* What another layer restores with the store. Each may be NULL. */
typedef struct ts_restore_part {
  void *context;
  /* Before anything changes: reads what it needs of link 0 and refuses what it cannot take up. */
  int32_t (*check)(void *context, ts_checkpoint_reader *reader, ts_err err);
  /* When all rows are there; after a failure the store is emptied again. */
  int32_t (*load)(void *context, ts_err err);
  /* Whether the store is to have a key of a table, by the table's number in the store; NULL: all of them. */
  bool (*keeps)(void *context, uint32_t table, int64_t key);
} ts_restore_part;
/* ts_store_restore with a part of another layer; NULL: none. */
int32_t ts_checkpoint_restore(ts_store *store, const ts_config *config, const ts_restore_part *part, uint64_t *control,
                              ts_err err);

#endif
