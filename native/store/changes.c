/* changes.c - which slots of a table's keys have changed: see cut.h. Slots are low bits of a hash, so a map of twice as
 * many has for each slot two that repeat it, one behind the other. */
#include "store/cut.h"

static void add_word(ts_changes *into, uint64_t word, uint64_t bits) {
  if (bits != 0) __atomic_fetch_or(&into->words[word], bits, __ATOMIC_RELAXED);
}

void ts_changes_add(ts_changes *into, const ts_changes *from) {
  if (into->words == NULL || from->words == NULL) return;
  const uint64_t to = ts_changes_words(into->log2), n = ts_changes_words(from->log2);
  if (to >= n)
    for (uint64_t w = 0; w < to; w++) add_word(into, w, from->words[w & (n - 1)]);
  else
    for (uint64_t w = 0; w < n; w++) add_word(into, w & (to - 1), from->words[w]);
}

uint64_t ts_changes_count(const ts_changes *c) {
  uint64_t n = 0;
  for (uint64_t w = 0; c->words != NULL && w < ts_changes_words(c->log2); w++) n += (uint64_t)__builtin_popcountll(c->words[w]);
  return n;
}
