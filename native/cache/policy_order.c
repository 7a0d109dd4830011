/* policy_order.c - the list of candidates: a small binary heap of the lowest keys (see policy_parts.h). */
#include "cache/policy_parts.h"

void ts_order_init(ts_order *order) {
  order->keys = order->inside;
  order->capacity = TS_ORDER_INLINE;
  ts_order_clear(order);
}

void ts_order_free(ts_policy *policy, ts_order *order) {
  if (order->keys == order->inside) return;
  policy->pool.give_back(policy->pool.context, order->keys, order->capacity * sizeof *order->keys);
  ts_order_init(order);
}

/* Gives an empty list the room that suits the pool; refused, it goes on with what it has. */
void ts_order_fit(ts_policy *policy, ts_order *order) {
  uint64_t want = TS_MIN(policy->slots / TS_ORDER_SHARE, TS_ORDER_LONGEST);
  if (want <= order->capacity + order->capacity / 4) return;
  uint64_t *keys = policy->pool.take(policy->pool.context, want * sizeof *order->keys);
  if (keys == NULL) return;
  ts_order_free(policy, order);
  order->keys = keys;
  order->capacity = (uint32_t)want;
}

static void swap(uint64_t *a, uint64_t *b) {
  uint64_t t = *a;
  *a = *b;
  *b = t;
}

/* Keeps the lower half of a full list (Hoare's selection); keys are distinct. */
void ts_order_halve(ts_order *order) {
  uint64_t *k = order->keys;
  int64_t low = 0, high = (int64_t)order->count - 1, want = order->count / 2;
  while (low < high) {
    int64_t middle = low + (high - low) / 2;
    if (k[middle] < k[low]) swap(&k[middle], &k[low]);
    if (k[high] < k[low]) swap(&k[high], &k[low]);
    if (k[high] < k[middle]) swap(&k[high], &k[middle]);
    uint64_t pivot = k[middle];
    int64_t i = low, j = high;
    while (i <= j) {
      while (k[i] < pivot) i++;
      while (k[j] > pivot) j--;
      if (i > j) break;
      swap(&k[i++], &k[j--]);
    }
    if (want <= j) high = j;
    else if (want >= i) low = i;
    else break;
  }
  order->count = (uint32_t)want;
  order->bound = k[want];
}

static void sift_down(ts_order *order, uint32_t at) {
  uint64_t *k = order->keys, key = k[at];
  for (;;) {
    uint32_t child = 2 * at + 1;
    if (child >= order->count) break;
    if (child + 1 < order->count && k[child + 1] < k[child]) child++;
    if (k[child] >= key) break;
    k[at] = k[child];
    at = child;
  }
  k[at] = key;
}

void ts_order_heapify(ts_order *order) {
  for (uint32_t i = order->count / 2; i-- > 0;) sift_down(order, i);
}

void ts_order_push(ts_order *order, uint64_t key) {
  if (key >= order->bound) return; /* the next scan finds it */
  if (order->count == order->capacity) {
    ts_order_halve(order);
    ts_order_heapify(order);
    if (key >= order->bound) return;
  }
  uint32_t at = order->count++;
  while (at > 0 && order->keys[(at - 1) / 2] > key) {
    order->keys[at] = order->keys[(at - 1) / 2];
    at = (at - 1) / 2;
  }
  order->keys[at] = key;
}

bool ts_order_pop(ts_order *order, uint64_t *key) {
  if (order->count == 0) return false;
  *key = order->keys[0];
  order->keys[0] = order->keys[--order->count];
  if (order->count > 1) sift_down(order, 0);
  return true;
}

uint32_t ts_offered(ts_policy *policy, const uint64_t *slots, uint32_t given) {
  for (uint32_t i = 0; i < given; i++)
    atomic_fetch_and_explicit(ts_word_at(policy, slots[i]), ~TS_OFFERED, memory_order_relaxed);
  return given;
}
