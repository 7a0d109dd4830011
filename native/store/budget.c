/* budget.c - see budget.h. */
#include "store/budget.h"

/* `kept` of the limit may not be touched. */
static bool take(ts_budget *budget, uint64_t bytes, uint64_t kept) {
  uint64_t used = atomic_load_explicit(&budget->used, memory_order_relaxed);
  do {
    if (used + kept > budget->limit || bytes > budget->limit - kept - used) return false;
  } while (!atomic_compare_exchange_weak_explicit(&budget->used, &used, used + bytes, memory_order_seq_cst,
                                                  memory_order_relaxed));
  return true;
}

/* Working memory is recorded after it is charged and forgotten before it is given back, so that a reader of both
 * numbers can only see too much, never too little. */
static uint64_t kept_for_work(const ts_budget *budget, ts_purpose purpose) {
  if (purpose == TS_PURPOSE_WORK || purpose == TS_PURPOSE_BUFFERS) return 0;
  uint64_t work = atomic_load(&budget->reserved[TS_PURPOSE_WORK]);
  return work >= budget->headroom ? 0 : budget->headroom - work;
}

bool ts_budget_take(ts_budget *budget, ts_purpose purpose, uint64_t bytes) {
  if (!budget->rows_only && !take(budget, bytes, kept_for_work(budget, purpose))) return false;
  atomic_fetch_add_explicit(&budget->reserved[purpose], bytes, memory_order_relaxed);
  return true;
}

bool ts_budget_take_first(ts_budget *budget, ts_purpose purpose, uint64_t bytes) {
  if (!budget->rows_only && !take(budget, bytes, 0)) return false;
  atomic_fetch_add_explicit(&budget->reserved[purpose], bytes, memory_order_relaxed);
  return true;
}

void ts_budget_give_back(ts_budget *budget, ts_purpose purpose, uint64_t bytes) {
  atomic_fetch_sub_explicit(&budget->reserved[purpose], bytes, memory_order_relaxed);
  if (!budget->rows_only) atomic_fetch_sub_explicit(&budget->used, bytes, memory_order_relaxed);
}

bool ts_budget_take_row(ts_budget *budget, uint64_t bytes) { return !budget->rows_only || take(budget, bytes, 0); }

void ts_budget_give_back_row(ts_budget *budget, uint64_t bytes) {
  if (budget->rows_only) atomic_fetch_sub_explicit(&budget->used, bytes, memory_order_relaxed);
}
