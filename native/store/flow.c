/* flow.c - see flow.h. The stages of fast.c, in one loop over groups of sixteen keys.
 *
 * The idea: what a lookup waits for is not only memory but the translation of addresses: a row's page is in no translation
 * buffer, and an instruction that waits for one holds up all that come after it once the CPU's window is full. In loops
 * over whole blocks nothing else is in the window then, and work and waiting add up; in one loop they overlap, as far as
 * the window reaches. So a key has as few instructions as can be: everything that does not need its own address is done for
 * eight or sixteen at once, one turn of the loop later, when the stores that it reads have left the store buffer.
 *
 * Keys that are not at home are not searched for on the side, with instructions of their own. They wait in a queue until
 * there are sixteen, which then go through the loop as a group like others, one step further; so also the last few keys. */
#include "store/flow.h"

#include "base/cpu_level.h"
#include "store/rows_locate.h"

#ifdef TS_PROBE_VECTORS
#define AVX512 TS_PROBE_AVX512
#define GROUP 16u
#define MOST_DIM 32u
/* Turns of the loop from asking for a group's buckets to reading them, to computing its rows' addresses and asking for them,
 * to copying. Other distances, from 2, 1 and 2 to 6, 1 and 6, made no difference that could be told from noise. */
#define TO_LOOK 3u
#define TO_LOCATE (TO_LOOK + 1u)
#define TO_COPY (TO_LOCATE + 2u)
#define RING 8u
#define KEYS_AHEAD 256u /* keys are asked for: the hardware's prefetcher stays behind */
#define QUEUE (4u * GROUP) /* below GROUP when a group of the stream is taken; then its last few keys, and a group found there */
/* A place in the queue: the key's number, and above it how many buckets its search has gone beyond its home. */
#define STEP TS_FLOW_KEYS
#define NUMBER (STEP - 1u)
#define PATIENT (8u * STEP) /* from here on without a queue */

static_assert(TO_COPY < RING, "a group has its place until it is copied");

typedef struct group {
  _Alignas(64) uint32_t numbers[GROUP];
  uint32_t slots[GROUP], lows[GROUP], metas[GROUP], agains[GROUP];
  uint64_t hashes[GROUP];
  const ts_bucket *buckets[GROUP];
  const void *rows[GROUP];
  int64_t own[GROUP];
  const int64_t *keys;
  bool used;
  bool together; /* the keys stand beside each other in the batch */
} group;

typedef struct flow {
  ts_probe_directories directories;
  ts_rows_views views; /* of lookups */
  group ring[RING];
  _Alignas(64) uint32_t queue[QUEUE + GROUP];
  uint32_t queued;
  const int64_t *keys;
  const uint32_t *order; /* where keys are searched for: keys[order[i]] is number i */
  ts_location *locations;
  const void **rows;
  float *out;
  uint64_t stride, first, *missed, misses;
  __mmask16 low, high; /* which of a row's weights there are, of the first and second sixteen */
} flow;

static const float nothing[MOST_DIM]; /* in the place of rows that are not there */

AVX512 static inline void hash_group(group *g) {
  for (uint32_t i = 0; i < GROUP; i++) g->hashes[i] = ts_index_hash(g->keys[i]);
}

AVX512 static inline void aim(group *g, uint32_t i, const ts_segment *s, uint32_t bucket) {
  g->buckets[i] = ts_segment_bucket(s, bucket);
  __builtin_prefetch(g->buckets[i]);
}

/* The next keys of the batch. */
AVX512 static inline void aim_stream(const flow *f, group *g, uint32_t first, const bool ordered) {
  g->used = g->together = true;
  if (ordered) {
    g->keys = g->own;
    for (uint32_t i = 0; i < GROUP; i++) g->own[i] = f->keys[f->order[first + i]];
  } else {
    g->keys = f->keys + first;
    for (uint32_t i = 0; i < GROUP; i += TS_PROBE_LANES) __builtin_prefetch(g->keys + KEYS_AHEAD + i);
  }
  g->numbers[0] = first;
  hash_group(g);
  for (uint32_t i = 0; i < GROUP; i += TS_PROBE_LANES) {
    _Alignas(64) uint64_t at[TS_PROBE_LANES];
    _mm512_store_si512(at, ts_probe_entries(&f->directories, _mm512_load_si512(g->hashes + i)));
#pragma GCC unroll 8
    for (uint32_t j = 0; j < TS_PROBE_LANES; j++) {
      const ts_segment *s = ts_probe_segment(at[j]);
      aim(g, i + j, s, ts_segment_home(s, g->hashes[i + j]));
    }
  }
}

static inline const ts_segment *segment_of(const flow *f, uint64_t hash) {
  const ts_probe_directories *d = &f->directories;
  const uint64_t shard = hash >> 1 >> (63 - d->bits);
  return ts_probe_segment(d->entries[shard] + (hash << d->skip >> 1 >> (d->shifts[shard] - 1)) * sizeof(uint64_t));
}

/* The last of the queue; where they are too few, the first of those several times, which changes nothing. */
AVX512 __attribute__((noinline)) static void aim_queued(flow *f, group *g, const bool ordered) {
  const uint32_t n = TS_MIN(f->queued, GROUP);
  g->keys = g->own;
  g->used = true;
  g->together = false;
  f->queued -= n;
  for (uint32_t i = 0; i < GROUP; i++) {
    const uint32_t place = f->queue[f->queued + (i < n ? i : 0)], number = place & NUMBER;
    const int64_t key = f->keys[ordered ? f->order[number] : number];
    const uint64_t hash = ts_index_hash(key);
    const ts_segment *s = segment_of(f, hash);
    g->numbers[i] = place;
    g->own[i] = key;
    g->hashes[i] = hash;
    aim(g, i, s, ts_segment_visit(s, hash, place / STEP));
  }
}

AVX512 static inline void look(group *g) {
#pragma GCC unroll 16
  for (uint32_t i = 0; i < GROUP; i++) {
    const ts_probe_answer answer = ts_probe_look(g->buckets[i], g->keys[i]);
    g->lows[i] = answer.low;
    g->agains[i] = answer.again;
    g->metas[i] = answer.meta;
    g->slots[i] = answer.slot;
  }
}

/* For the few whose bucket was being changed, whose slot looks empty, or who are far from home. */
AVX512 __attribute__((noinline)) static void find_patiently(const flow *f, const group *g, uint32_t which, ts_probe_found *found) {
  _Alignas(64) ts_location locations[GROUP];
  _mm512_store_si512(locations, found->first);
  _mm512_store_si512(locations + TS_PROBE_LANES, found->second);
  for (uint32_t left = which; left != 0; left &= left - 1) {
    const uint32_t i = (uint32_t)__builtin_ctz(left);
    locations[i] = ts_segment_find(segment_of(f, g->hashes[i]), g->keys[i], g->hashes[i]);
  }
  found->first = _mm512_load_si512(locations);
  found->second = _mm512_load_si512(locations + TS_PROBE_LANES);
  found->more &= (__mmask16)~which;
}

AVX512 __attribute__((noinline)) static void mark_missed(flow *f, __m512i numbers, uint32_t which) {
  uint32_t number[GROUP];
  memcpy(number, &numbers, sizeof number);
  for (; which != 0; which &= which - 1) {
    const uint64_t i = f->first + (number[__builtin_ctz(which)] & NUMBER), bit = UINT64_C(1) << i % 64;
    f->misses += (f->missed[i / 64] & bit) == 0; /* some stand in a group several times */
    f->missed[i / 64] |= bit;
  }
}

/* What the looks say; who must look further is in the queue then. */
AVX512 static inline ts_probe_found find(flow *f, const group *g, __m512i *numbers) {
  const __m512i meta = _mm512_load_si512(g->metas), one_by_one = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  *numbers = g->together ? _mm512_add_epi32(_mm512_set1_epi32((int)g->numbers[0]), one_by_one) : _mm512_load_si512(g->numbers);
  ts_probe_found found = ts_probe_locations(_mm512_load_si512(g->slots), _mm512_load_si512(g->lows), meta, 0xFFFF);
  const __m512i steady = _mm512_andnot_si512(_mm512_set1_epi32(TS_BUCKET_CHANGE), meta);
  const __mmask16 patient = found.empty | _mm512_cmpneq_epi32_mask(_mm512_load_si512(g->agains), steady) |
                            _mm512_mask_cmpge_epu32_mask(found.more, *numbers, _mm512_set1_epi32((int)PATIENT));
  if (TS_UNLIKELY(patient != 0)) find_patiently(f, g, patient, &found);
  const __m512i further = _mm512_add_epi32(*numbers, _mm512_set1_epi32((int)STEP));
  _mm512_storeu_si512(f->queue + f->queued, _mm512_maskz_compress_epi32(found.more, further));
  f->queued += (uint32_t)__builtin_popcount(found.more);
  return found;
}

AVX512 static inline void locate(flow *f, group *g) {
  __m512i numbers;
  const ts_probe_found found = find(f, g, &numbers);
  __mmask8 here[2] = {0xFF, 0xFF};
  const __m512i none = _mm512_set1_epi64((int64_t)(uintptr_t)nothing);
  __m512i rows = ts_rows_locate8(&f->views, _mm512_load_si512(g->hashes), found.first, &here[0]);
  _mm512_store_si512(g->rows, _mm512_mask_mov_epi64(none, here[0], rows));
  rows = ts_rows_locate8(&f->views, _mm512_load_si512(g->hashes + TS_PROBE_LANES), found.second, &here[1]);
  _mm512_store_si512(g->rows + TS_PROBE_LANES, _mm512_mask_mov_epi64(none, here[1], rows));
#pragma GCC unroll 16
  for (uint32_t i = 0; i < GROUP; i++) __builtin_prefetch(g->rows[i]);
  if (TS_UNLIKELY(f->high != 0))
    for (uint32_t i = 0; i < GROUP; i++) __builtin_prefetch((const char *)g->rows[i] + 64);
  const uint32_t away = 0xFFFFu & ~(here[0] | (uint32_t)here[1] << TS_PROBE_LANES | found.more);
  if (TS_UNLIKELY(away != 0)) mark_missed(f, numbers, away);
}

/* Of a search for locations alone; a key of the queue had none in an earlier group. */
AVX512 static inline void keep(flow *f, const group *g) {
  __m512i numbers;
  const ts_probe_found found = find(f, g, &numbers);
  if (TS_LIKELY(g->together)) {
    _mm512_storeu_si512(f->locations + g->numbers[0], found.first);
    _mm512_storeu_si512(f->locations + g->numbers[0] + TS_PROBE_LANES, found.second);
  } else {
    const __m512i number = _mm512_and_si512(numbers, _mm512_set1_epi32((int)NUMBER));
    _mm512_i32scatter_epi64(f->locations, _mm512_castsi512_si256(number), found.first, sizeof *f->locations);
    _mm512_i32scatter_epi64(f->locations, _mm512_extracti64x4_epi64(number, 1), found.second, sizeof *f->locations);
  }
}

/* Of a search for addresses alone. */
AVX512 static inline void keep_rows(flow *f, const group *g) {
  __m512i numbers;
  const ts_probe_found found = find(f, g, &numbers);
  __mmask8 here[2] = {0xFF, 0xFF};
  const __m512i first = ts_rows_locate8(&f->views, _mm512_load_si512(g->hashes), found.first, &here[0]);
  const __m512i second = ts_rows_locate8(&f->views, _mm512_load_si512(g->hashes + TS_PROBE_LANES), found.second, &here[1]);
  if (TS_LIKELY(g->together)) {
    _mm512_storeu_si512(f->rows + g->numbers[0], first);
    _mm512_storeu_si512(f->rows + g->numbers[0] + TS_PROBE_LANES, second);
  } else {
    const __m512i number = _mm512_and_si512(numbers, _mm512_set1_epi32((int)NUMBER));
    _mm512_i32scatter_epi64(f->rows, _mm512_castsi512_si256(number), first, sizeof *f->rows);
    _mm512_i32scatter_epi64(f->rows, _mm512_extracti64x4_epi64(number, 1), second, sizeof *f->rows);
  }
}

AVX512 static inline void copy_row(const flow *f, const void *row, float *restrict out) {
  _mm512_mask_storeu_ps(out, f->low, _mm512_maskz_loadu_ps(f->low, row));
  if (TS_UNLIKELY(f->high != 0)) _mm512_mask_storeu_ps(out + 16, f->high, _mm512_maskz_loadu_ps(f->high, (const float *)row + 16));
}

/* A key of the queue was in an earlier group, too, which has put zeros where its row goes now. */
AVX512 static inline void copy(const flow *f, const group *g) {
  if (TS_UNLIKELY(!g->together)) {
    for (uint32_t i = 0; i < GROUP; i++) copy_row(f, g->rows[i], f->out + (g->numbers[i] & NUMBER) * f->stride);
    return;
  }
  float *out = f->out + g->numbers[0] * f->stride;
  if (f->low == 0xFFFF && f->high == 0) { /* the usual width, without masks */
#pragma GCC unroll 16
    for (uint32_t i = 0; i < GROUP; i++, out += f->stride) _mm512_storeu_ps(out, _mm512_loadu_ps(g->rows[i]));
  } else {
    for (uint32_t i = 0; i < GROUP; i++, out += f->stride) copy_row(f, g->rows[i], out);
  }
}

typedef enum wanted { COPIES, ADDRESSES, LOCATIONS } wanted;

/* The loop over n keys; for locations, of keys in an order. */
AVX512 TS_PROBE_INLINE void run(flow *f, const ts_table *table, uint32_t n, const wanted what) {
  f->queued = 0;
  ts_probe_directories_of(&f->directories, table->indexes, table->shard_bits);
  for (uint32_t i = 0; i < RING; i++) f->ring[i].used = false;
  uint32_t begun = 0;
  /* `idle`: turns since a group began. */
  for (uint32_t t = 0, idle = 0; idle <= TO_COPY; t++, idle++) {
    group *aimed = &f->ring[t % RING], *looked = &f->ring[(t - TO_LOOK) % RING], *located = &f->ring[(t - TO_LOCATE) % RING];
    const group *copied = &f->ring[(t - TO_COPY) % RING];
    if (TS_LIKELY(f->queued < GROUP && n - begun >= GROUP)) {
      aim_stream(f, aimed, begun, what == LOCATIONS);
      begun += GROUP;
      idle = 0;
    } else {
      if (f->queued < GROUP)
        while (begun < n) f->queue[f->queued++] = begun++;
      aimed->used = f->queued >= GROUP || (f->queued > 0 && idle > TO_LOCATE);
      if (aimed->used) {
        aim_queued(f, aimed, what == LOCATIONS);
        idle = 0;
      }
    }
    if (looked->used) look(looked);
    if (what == COPIES) {
      if (located->used) locate(f, located);
      if (copied->used) copy(f, copied);
    } else if (located->used) {
      if (what == LOCATIONS) keep(f, located);
      else keep_rows(f, located);
    }
  }
}

AVX512 uint64_t ts_flow_lookup(ts_table *table, const int64_t *keys, uint32_t n, float *out, uint64_t stride, uint64_t first,
                               uint64_t *missed) {
  const uint32_t dim = table->layout.dim;
  flow f;
  f.keys = keys;
  f.out = out;
  f.stride = stride;
  f.first = first;
  f.missed = missed;
  f.misses = 0;
  f.low = (__mmask16)(dim >= 16 ? 0xFFFF : (1u << dim) - 1);
  f.high = (__mmask16)(dim <= 16 ? 0 : (UINT32_C(1) << (dim - 16)) - 1);
  ts_rows_views_of(&f.views, table->first, table->shard_bits);
  run(&f, table, n, COPIES);
  return f.misses;
}

AVX512 void ts_flow_find(const ts_table *table, const int64_t *keys, const uint32_t *order, uint32_t n, ts_location *locations) {
  flow f;
  f.keys = keys;
  f.order = order;
  f.locations = locations;
  run(&f, table, n, LOCATIONS);
}

AVX512 uint32_t ts_flow_rows(const ts_table *table, const int64_t *keys, uint32_t n, const void **rows) {
  flow f;
  f.keys = keys;
  f.rows = rows;
  ts_rows_views_of(&f.views, table->first, table->shard_bits);
  run(&f, table, n, ADDRESSES);
  uint32_t absent = 0;
  for (uint32_t i = 0; i < n; i++) absent += rows[i] == NULL;
  return absent;
}

bool ts_flow_finds(const ts_table *table) {
  return table->store->level >= TS_LEVEL_AVX512 && table->shard_bits <= TS_PROBE_MOST_BITS;
}

bool ts_flow_serves(const ts_table *table) {
  return ts_flow_finds(table) && table->layout.type == TS_FP32 && table->layout.dim <= MOST_DIM;
}
#else
bool ts_flow_finds(const ts_table *table) {
  (void)table;
  return false;
}

void ts_flow_find(const ts_table *table, const int64_t *keys, const uint32_t *order, uint32_t n, ts_location *locations) {
  (void)table, (void)keys, (void)order, (void)n, (void)locations;
}

uint32_t ts_flow_rows(const ts_table *table, const int64_t *keys, uint32_t n, const void **rows) {
  (void)table, (void)keys, (void)rows;
  return n;
}

bool ts_flow_serves(const ts_table *table) {
  (void)table;
  return false;
}

uint64_t ts_flow_lookup(ts_table *table, const int64_t *keys, uint32_t n, float *out, uint64_t stride, uint64_t first,
                        uint64_t *missed) {
  (void)table, (void)keys, (void)out, (void)stride, (void)first, (void)missed;
  return n;
}
#endif
