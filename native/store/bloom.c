/* bloom.c - see bloom.h. Counters are one zeroed block, so that the pages nobody counted in are not taken from the
 * machine, though they are charged. */
#include "store/bloom.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct ts_bloom {
  void *counters;
  uint64_t m, frequency, bytes;
  uint32_t k, width; /* width: bytes of a counter */
  bool (*charge)(void *context, int64_t bytes);
  void *context;
  uint64_t seeds[TS_BLOOM_HASHES]; /* already joined with the key's length */
};

/* fast-hash (Zilong Tan, 2012): a mixer and a multiplier. DeepRec feeds it the key and then a word of zeros, whose mix
 * is zero, so that the second round is the multiplication alone. */
#define FAST_HASH_MULTIPLIER UINT64_C(0x880355f21e6d1965)

static inline uint64_t fast_mix(uint64_t x) {
  x ^= x >> 23;
  x *= UINT64_C(0x2127599bf4325c37);
  return x ^ (x >> 47);
}

void ts_bloom_indices(const ts_bloom *bloom, int64_t key, uint64_t *indices) {
  uint64_t mixed = fast_mix((uint64_t)key);
  for (uint32_t i = 0; i < bloom->k; i++)
    indices[i] = fast_mix((bloom->seeds[i] ^ mixed) * FAST_HASH_MULTIPLIER * FAST_HASH_MULTIPLIER) % bloom->m;
}

/* ceil(|log2 x|) for 0 < x < 1, exact: x = mantissa * 2^exponent with 1/2 <= mantissa < 1. */
static uint64_t hashes_for(double error) {
  int exponent;
  frexp(error, &exponent);
  return (uint64_t)(1 - exponent);
}

static void first_primes(uint64_t *out, uint32_t n) {
  uint32_t found = 0;
  for (uint64_t candidate = 2; found < n; candidate++) {
    bool prime = true;
    for (uint32_t i = 0; i < found && prime && out[i] * out[i] <= candidate; i++) prime = candidate % out[i] != 0;
    if (prime) out[found++] = candidate;
  }
}

int32_t ts_bloom_create(uint64_t keys, double error, uint32_t counter_bits, uint64_t frequency,
                        bool (*charge)(void *context, int64_t bytes), void *context, ts_bloom **out, ts_err err) {
  *out = NULL;
  if (counter_bits != 8 && counter_bits != 16 && counter_bits != 32 && counter_bits != 64)
    return ts_fail(err, TS_EINVAL, "Cannot make a counting Bloom filter: counters of %u bits; choose 8, 16, 32 or 64",
                   counter_bits);
  uint64_t most = UINT64_MAX >> (64 - counter_bits);
  if (frequency == 0 || frequency > most)
    return ts_fail(err, TS_EINVAL,
                   "Cannot make a counting Bloom filter: counters of %u bits count from 1 to %llu, the frequency is "
                   "%llu",
                   counter_bits, (unsigned long long)most, (unsigned long long)frequency);
  if (!(error > 0 && error < 1) || hashes_for(error) > TS_BLOOM_HASHES)
    return ts_fail(err, TS_EINVAL,
                   "Cannot make a counting Bloom filter: the false positive probability must be from 2^-64 to below 1, "
                   "found %g",
                   error);
  double ln2 = ts_det_log(2);
  double m = ceil(-ts_det_log(error) / (ln2 * ln2) * (double)keys);
  uint32_t width = counter_bits / 8;
  if (keys == 0 || m > 0x1p62 / width)
    return ts_fail(err, TS_EINVAL,
                   "Cannot make a counting Bloom filter for %llu keys: choose from 1 to what memory holds",
                   (unsigned long long)keys);
  uint64_t counters = m < 1 ? 1 : (uint64_t)m;
  uint64_t bytes = sizeof(ts_bloom) + counters * width;
  if (!charge(context, (int64_t)bytes))
    return ts_fail(err, TS_EFULL,
                   "Cannot make a counting Bloom filter of %llu counters of %u bits: %llu bytes are more than the "
                   "limit has left; choose fewer keys, a larger error or narrower counters",
                   (unsigned long long)counters, counter_bits, (unsigned long long)bytes);
  ts_bloom *bloom = malloc(sizeof *bloom);
  void *block = bloom == NULL ? NULL : calloc(counters, width);
  if (block == NULL) {
    free(bloom);
    charge(context, -(int64_t)bytes);
    return ts_fail(err, TS_ENOMEM, "Cannot make a counting Bloom filter: the machine has no %llu bytes left",
                   (unsigned long long)bytes);
  }
  *bloom = (ts_bloom){.counters = block,
                      .m = counters,
                      .frequency = frequency,
                      .bytes = bytes,
                      .k = (uint32_t)hashes_for(error),
                      .width = width,
                      .charge = charge,
                      .context = context};
  first_primes(bloom->seeds, bloom->k);
  for (uint32_t i = 0; i < bloom->k; i++) bloom->seeds[i] ^= sizeof(int64_t) * FAST_HASH_MULTIPLIER;
  *out = bloom;
  return TS_OK;
}

void ts_bloom_destroy(ts_bloom *bloom) {
  if (bloom == NULL) return;
  bloom->charge(bloom->context, -(int64_t)bloom->bytes);
  free(bloom->counters);
  free(bloom);
}

uint64_t ts_bloom_counter(const ts_bloom *bloom, uint64_t index) {
  switch (bloom->width) {
    case 1: return __atomic_load_n((const uint8_t *)bloom->counters + index, __ATOMIC_RELAXED);
    case 2: return __atomic_load_n((const uint16_t *)bloom->counters + index, __ATOMIC_RELAXED);
    case 4: return __atomic_load_n((const uint32_t *)bloom->counters + index, __ATOMIC_RELAXED);
    default: return __atomic_load_n((const uint64_t *)bloom->counters + index, __ATOMIC_RELAXED);
  }
}

/* Adds up to the limit in one step, so that no other thread sees more than it; returns what was there. */
#define DEFINE_ADD(type)                                                                                  \
  static uint64_t add_##type(type *counter, uint64_t n, uint64_t limit) {                                 \
    type old = __atomic_load_n(counter, __ATOMIC_RELAXED), sum;                                           \
    do {                                                                                                  \
      if (old >= limit) return old;                                                                       \
      sum = (type)(n >= limit - old ? limit : old + n);                                                   \
    } while (!__atomic_compare_exchange_n(counter, &old, sum, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)); \
    return old;                                                                                           \
  }
DEFINE_ADD(uint8_t)
DEFINE_ADD(uint16_t)
DEFINE_ADD(uint32_t)
DEFINE_ADD(uint64_t)

static uint64_t add(ts_bloom *bloom, uint64_t index, uint64_t n) {
  switch (bloom->width) {
    case 1: return add_uint8_t((uint8_t *)bloom->counters + index, n, bloom->frequency);
    case 2: return add_uint16_t((uint16_t *)bloom->counters + index, n, bloom->frequency);
    case 4: return add_uint32_t((uint32_t *)bloom->counters + index, n, bloom->frequency);
    default: return add_uint64_t((uint64_t *)bloom->counters + index, n, bloom->frequency);
  }
}

uint64_t ts_bloom_add(ts_bloom *bloom, int64_t key, uint64_t n) {
  uint64_t indices[TS_BLOOM_HASHES], least = UINT64_MAX;
  ts_bloom_indices(bloom, key, indices);
  /* The additions are atomic and wait for each other; their cache lines need not. */
  for (uint32_t i = 0; i < bloom->k; i++)
    __builtin_prefetch((const unsigned char *)bloom->counters + indices[i] * bloom->width, 1);
  for (uint32_t i = 0; i < bloom->k; i++) {
    uint64_t old = n == 0 ? ts_bloom_counter(bloom, indices[i]) : add(bloom, indices[i], n);
    least = TS_MIN(least, old);
  }
  return least;
}

uint64_t ts_bloom_frequency(const ts_bloom *bloom, int64_t key) {
  uint64_t indices[TS_BLOOM_HASHES], least = UINT64_MAX;
  ts_bloom_indices(bloom, key, indices);
  for (uint32_t i = 0; i < bloom->k; i++) {
    uint64_t counter = ts_bloom_counter(bloom, indices[i]);
    least = TS_MIN(least, counter);
  }
  return least;
}

uint64_t ts_bloom_bytes(const ts_bloom *bloom) { return bloom->bytes; }
uint64_t ts_bloom_counters(const ts_bloom *bloom) { return bloom->m; }
uint32_t ts_bloom_hashes(const ts_bloom *bloom) { return bloom->k; }
uint32_t ts_bloom_width(const ts_bloom *bloom) { return bloom->width; }

uint64_t ts_bloom_counter_bytes(const ts_bloom *bloom) { return bloom->m * bloom->width; }

void ts_bloom_save(const ts_bloom *bloom, uint64_t first, uint64_t bytes, void *out) {
  for (uint64_t i = 0; i < bytes; i += bloom->width) {
    const uint64_t counter = ts_bloom_counter(bloom, (first + i) / bloom->width);
    memcpy((unsigned char *)out + i, &counter, bloom->width); /* little-endian */
  }
}

void ts_bloom_load(ts_bloom *bloom, uint64_t first, uint64_t bytes, const void *in) {
  memcpy((unsigned char *)bloom->counters + first, in, bytes);
}

void ts_bloom_clear(ts_bloom *bloom) { memset(bloom->counters, 0, ts_bloom_counter_bytes(bloom)); }
