/* key_set.h - a set of int64 keys that only grows: exact distinct counts. Open addressing, at most 3/4 full, so 11 to
 * 22 bytes a key; all 33.8 M ids of Criteo Kaggle take at most 0.7 GB while they are counted. */
#ifndef TS_INPUT_KEY_SET_H
#define TS_INPUT_KEY_SET_H

#include "base/base.h"

typedef struct ts_key_set {
  uint64_t *slots; /* 0 = free */
  uint64_t capacity, count;
  bool zero; /* the key 0 is in the set */
} ts_key_set;

/* Adds a key; *added says whether it was new. False: out of memory, the set is as before. */
bool ts_key_set_add(ts_key_set *set, int64_t key, bool *added);
/* Adds n keys, asking the memory for the slots of later ones meanwhile. */
bool ts_key_set_add_all(ts_key_set *set, const int64_t *keys, uint64_t n);
bool ts_key_set_has(const ts_key_set *set, int64_t key);
void ts_key_set_free(ts_key_set *set);

#endif
