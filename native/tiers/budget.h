/* budget.h - a tier's byte limit. Memory is charged before it is taken, so a limit is never exceeded, also not for a
 * moment. Two ways of counting:
 *   all   everything the store allocates counts: blocks of rows against their tier; index, policy and buffers, which
 *         live in DRAM, against the first tier
 *   rows  only the padded bytes of existing rows count, as in DeepRec; the rest is recorded without a limit
 *
 * Who will need memory and cannot wait for it in the middle borrows it before (ts_budget_lend): what is lent is charged,
 * out of the headroom, and nobody can have it but ts_budget_take_lent. */
#ifndef TS_BUDGET_H
#define TS_BUDGET_H

#include "base/base.h"

#include <stdatomic.h>

/* WORK comes and goes with calls and lives in the headroom; BUFFERS, which stay, may use it, too. */
typedef enum ts_purpose {
  TS_PURPOSE_ROWS,
  TS_PURPOSE_INDEX,
  TS_PURPOSE_POLICY,
  TS_PURPOSE_BUFFERS,
  TS_PURPOSE_WORK,
  TS_PURPOSES
} ts_purpose;

typedef struct ts_budget {
  uint64_t limit;
  uint64_t headroom; /* of the limit, kept free for working memory: it comes and goes, rows and index stay */
  bool rows_only;
  _Atomic uint64_t used;                 /* what counts against the limit, with what is lent */
  _Atomic uint64_t lent;                 /* bytes that nobody has taken yet */
  _Atomic uint64_t reserved[TS_PURPOSES]; /* bytes really taken, by purpose */
} ts_budget;

/* Charges memory; false if the limit refuses. Never refuses when only rows count. */
bool ts_budget_take(ts_budget *budget, ts_purpose purpose, uint64_t bytes);
/* The same for what must be there before memory can be freed: may use the headroom whatever its purpose. */
bool ts_budget_take_first(ts_budget *budget, ts_purpose purpose, uint64_t bytes);
/* The same for callers that what is lent is there for: that is taken where nothing else is left. */
bool ts_budget_take_lent(ts_budget *budget, ts_purpose purpose, uint64_t bytes);
/* Sets bytes of the headroom aside; false if that would not leave `rest` bytes of the limit. */
bool ts_budget_lend(ts_budget *budget, uint64_t bytes, uint64_t rest);
/* Of what is lent and was not taken, `keep` bytes at most stay so. */
void ts_budget_unlend(ts_budget *budget, uint64_t keep);
/* What is used and not only lent. */
static inline uint64_t ts_budget_taken(const ts_budget *budget) {
  const uint64_t lent = atomic_load(&budget->lent), used = atomic_load(&budget->used);
  return used - TS_MIN(lent, used);
}
void ts_budget_give_back(ts_budget *budget, ts_purpose purpose, uint64_t bytes);
/* Charges one row's padded bytes when only rows count; always true otherwise. */
bool ts_budget_take_row(ts_budget *budget, uint64_t bytes);
void ts_budget_give_back_row(ts_budget *budget, uint64_t bytes);

#endif
