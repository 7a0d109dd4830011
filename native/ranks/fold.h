/* fold.h - distinct keys of a list, and sums over the items of each key in the order of the tree (ranks.h).
 *
 * Items come leaf by leaf: a leaf is a micro-shard where gradients of samples are summed, a rank where those of ranks are. The
 * items of a leaf are added in their order, leaves by the tree; a leaf without items of a key is left out, so
 * that x + nothing is x and a sum over a subtree can be taken anywhere. */
#ifndef TS_RANKS_FOLD_H
#define TS_RANKS_FOLD_H

#include "base/base.h"

typedef struct ts_fold {
  uint32_t room;  /* items at most */
  uint32_t slots; /* of the table by hash; a power of two */
  int64_t *keys;  /* distinct, `count` of them, in the order of their owners and there of their first items */
  int64_t *met;   /* the same in the order of their first items */
  uint32_t count, items;
  uint32_t *of;    /* number of an item's key */
  uint32_t *first; /* items of key i: sorted[first[i]] to sorted[first[i + 1] - 1], in their order */
  uint32_t *sorted, *table, *owner, *number;
  const float **from; /* an item's values; its owner's to set before ts_fold_sum */
  uint8_t *leaf;      /* an item's leaf, not falling from item to item; likewise */
} ts_fold;

/* Room for so many items. Errors: TS_ENOMEM; ts_fold_close frees what was made. */
int32_t ts_fold_open(ts_fold *fold, uint32_t room, ts_err err);
void ts_fold_close(ts_fold *fold);

/* Starts a list; then items one by one; then the end of it. */
void ts_fold_begin(ts_fold *fold);
void ts_fold_add(ts_fold *fold, int64_t key);
/* The same for lists whose equal keys stay apart. */
void ts_fold_add_apart(ts_fold *fold, int64_t key);
/* owner_of says where a key belongs, of up to TS_FOLD_OWNERS `owners`; counts[i] becomes how many keys belong to i. NULL: all
 * belong to 0. */
#define TS_FOLD_OWNERS 1024u
typedef uint32_t ts_fold_owner(const void *context, int64_t key);
void ts_fold_end(ts_fold *fold, ts_fold_owner *owner_of, const void *context, uint32_t owners, uint32_t *counts);

/* Whether a list without keys that stay apart has this one. */
bool ts_fold_has(const ts_fold *fold, int64_t key);

/* out[i * dim ..] = the sum over the items of key first + i, of `count` keys. `leaves` is 1, 2, 4 or 8; `scratch` has
 * TS_FOLD_LEVELS * dim floats. */
#define TS_FOLD_LEVELS 3u
void ts_fold_sum(const ts_fold *fold, uint32_t first, uint32_t count, uint32_t leaves, uint32_t dim, float *scratch,
                 float *out);

/* values of leaf 0 = the sum over leaves by the tree, of n floats each, `stride` apart; leaves are overwritten. */
void ts_tree_sum(float *values, uint64_t stride, uint32_t leaves, uint64_t n);

#endif
