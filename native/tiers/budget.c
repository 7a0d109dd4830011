/* budget.c - see budget.h. */
#include "tiers/budget.h"

/* `rest` of the limit may not be touched. */
static bool take(ts_budget *budget, uint64_t bytes, uint64_t rest) {
  uint64_t used = atomic_load_explicit(&budget->used, memory_order_relaxed);
  do {
    if (used + rest > budget->limit || bytes > budget->limit - rest - used) return false;
  } while (!atomic_compare_exchange_weak_explicit(&budget->used, &used, used + bytes, memory_order_seq_cst,
                                                  memory_order_relaxed));
  return true;
}

/* Working memory is recorded after it is charged and forgotten before it is given back, so that a reader of both
 * numbers can only see too much, never too little. */
static uint64_t kept(const ts_budget *budget, ts_purpose purpose) {
  if (purpose == TS_PURPOSE_BUFFERS) return 0;
  /* Calls wait for working memory; what moves rows out of a full tier cannot wait for buffers. */
  if (purpose == TS_PURPOSE_WORK) return budget->headroom / 8 * 3;
  uint64_t work = atomic_load(&budget->reserved[TS_PURPOSE_WORK]);
  return TS_MAX(budget->headroom - TS_MIN(work, budget->headroom), budget->headroom / 2);
}

bool ts_budget_take(ts_budget *budget, ts_purpose purpose, uint64_t bytes) {
  if (!budget->rows_only) {
    /* What is lent is part of what is kept, but for an eighth of the headroom, for those who borrow nothing. */
    const uint64_t lent = atomic_load(&budget->lent), keep = kept(budget, purpose);
    if (!take(budget, bytes, keep == 0 ? 0 : TS_MAX(keep - TS_MIN(keep, lent), budget->headroom / 8))) return false;
  }
  atomic_fetch_add_explicit(&budget->reserved[purpose], bytes, memory_order_relaxed);
  return true;
}

bool ts_budget_take_first(ts_budget *budget, ts_purpose purpose, uint64_t bytes) {
  if (!budget->rows_only && !take(budget, bytes, 0)) return false;
  atomic_fetch_add_explicit(&budget->reserved[purpose], bytes, memory_order_relaxed);
  return true;
}

static bool take_of_lent(ts_budget *budget, uint64_t bytes) {
  uint64_t lent = atomic_load(&budget->lent);
  do {
    if (lent < bytes) return false;
  } while (!atomic_compare_exchange_weak(&budget->lent, &lent, lent - bytes));
  return true;
}

bool ts_budget_take_lent(ts_budget *budget, ts_purpose purpose, uint64_t bytes) {
  if (ts_budget_take_first(budget, purpose, bytes)) return true;
  if (!take_of_lent(budget, bytes)) return false;
  atomic_fetch_add_explicit(&budget->reserved[purpose], bytes, memory_order_relaxed);
  return true;
}

bool ts_budget_lend(ts_budget *budget, uint64_t bytes, uint64_t rest) {
  if (!take(budget, bytes, rest)) return false;
  atomic_fetch_add(&budget->lent, bytes);
  return true;
}

void ts_budget_unlend(ts_budget *budget, uint64_t keep) {
  uint64_t lent = atomic_load(&budget->lent);
  do {
    if (lent <= keep) return;
  } while (!atomic_compare_exchange_weak(&budget->lent, &lent, keep));
  atomic_fetch_sub(&budget->used, lent - keep);
}

void ts_budget_give_back(ts_budget *budget, ts_purpose purpose, uint64_t bytes) {
  atomic_fetch_sub_explicit(&budget->reserved[purpose], bytes, memory_order_relaxed);
  if (!budget->rows_only) atomic_fetch_sub_explicit(&budget->used, bytes, memory_order_relaxed);
}

bool ts_budget_take_row(ts_budget *budget, uint64_t bytes) { return !budget->rows_only || take(budget, bytes, 0); }

void ts_budget_give_back_row(ts_budget *budget, uint64_t bytes) {
  if (budget->rows_only) atomic_fetch_sub_explicit(&budget->used, bytes, memory_order_relaxed);
}
