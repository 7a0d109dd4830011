/* lanes.c - see lanes.h. */
#include "checkpoint/lanes.h"

#include "base/sync_point.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#define PARTS_MOST (4 * TS_LANES_MOST)
#define PART_LEAST (UINT64_C(16) << 20) /* bytes, where there are more parts than lanes */

/* A part of the file, which one lane gives away. */
typedef struct part {
  ts_checkpoint_reader *reader;
  uint64_t from, until;
  int32_t status;
  char words[1024]; /* of the status */
} part;

typedef struct lanes {
  ts_lanes_take take;
  void *context;
  atomic_bool stop;  /* a part failed */
  atomic_uint begun; /* parts, in the order of the file */
  part parts[PARTS_MOST];
  uint32_t count;
} lanes;

uint32_t ts_lanes_for(uint64_t bytes) {
  cpu_set_t allowed;
  const uint32_t cpus = sched_getaffinity(0, sizeof allowed, &allowed) == 0 ? (uint32_t)CPU_COUNT(&allowed) : 1;
  return bytes < TS_LANES_LEAST || cpus == 1 ? 1 : TS_MIN(2 * cpus, TS_LANES_MOST);
}

static int32_t give(lanes *all, part *p, ts_err err) {
  ts_checkpoint_block block = {.kind = TS_BLOCK_ROWS};
  int32_t status = ts_checkpoint_select_part(p->reader, 0, p->from, p->until, err);
  while (status == TS_OK && !atomic_load_explicit(&all->stop, memory_order_relaxed)) {
    TS_SYNC("lanes:before_block");
    status = ts_checkpoint_next(p->reader, &block, err);
    if (status != TS_OK || block.kind == TS_BLOCK_END) break;
    if (block.kind != TS_BLOCK_BEFORE && block.kind != TS_BLOCK_MAP) status = all->take(all->context, &block, err);
  }
  if (status != TS_OK) atomic_store(&all->stop, true);
  return status;
}

/* A lane takes the next part as soon as it is through with one: none waits long for the last. */
static void *run(void *argument) {
  lanes *all = argument;
  for (uint32_t i; (i = atomic_fetch_add(&all->begun, 1)) < all->count && !atomic_load(&all->stop);)
    all->parts[i].status = give(all, &all->parts[i], (ts_err){all->parts[i].words, sizeof all->parts[i].words});
  return NULL;
}

static int32_t give_before(const lanes *all, ts_err err) {
  int32_t status = TS_OK;
  for (uint32_t i = all->count; status == TS_OK && i-- > 0;) {
    ts_checkpoint_block block = {.kind = TS_BLOCK_ROWS};
    while (status == TS_OK && block.kind != TS_BLOCK_END) {
      status = ts_checkpoint_previous_before(all->parts[i].reader, &block, err);
      if (status == TS_OK && block.kind != TS_BLOCK_END) status = all->take(all->context, &block, err);
    }
  }
  return status;
}

/* One lane is the caller's. Parts for which the system gives no thread are left to the others. */
static int32_t run_all(lanes *all, uint32_t count, ts_err err) {
  pthread_t threads[TS_LANES_MOST];
  uint32_t made = 0;
  while (made + 1 < count && pthread_create(&threads[made], NULL, run, all) == 0) made++;
  run(all);
  for (uint32_t i = 0; i < made; i++) pthread_join(threads[i], NULL);
  ts_checkpoint_reader *readers[PARTS_MOST];
  for (uint32_t i = 0; i < all->count; i++) {
    if (all->parts[i].status != TS_OK) return ts_fail(err, all->parts[i].status, "%s", all->parts[i].words);
    readers[i] = all->parts[i].reader;
  }
  const int32_t status = ts_checkpoint_parts_whole(readers, all->count, err);
  return status == TS_OK ? give_before(all, err) : status;
}

int32_t ts_checkpoint_lanes(ts_checkpoint_reader *reader, uint32_t count, ts_lanes_take take, void *context, uint64_t *control,
                            bool *done, ts_err err) {
  uint64_t places[PARTS_MOST + 1];
  lanes all = {.take = take, .context = context};
  const uint64_t pieces = ts_checkpoint_link_bytes(reader, 0) / PART_LEAST;
  *done = false;
  count = TS_MIN(count, TS_LANES_MOST);
  if (count < 2) return TS_OK;
  int32_t status = ts_checkpoint_split(reader, 0, (uint32_t)TS_MAX(TS_MIN(pieces, PARTS_MOST), count), places, &all.count, err);
  if (status != TS_OK || all.count < 2) return status;
  *done = true;
  for (uint32_t i = 0; i < all.count; i++) all.parts[i] = (part){.reader = i == 0 ? reader : NULL, .from = places[i], .until = places[i + 1]};
  for (uint32_t i = 1; status == TS_OK && i < all.count; i++) status = ts_checkpoint_reader_beside(reader, 0, &all.parts[i].reader, err);
  for (uint32_t i = 0; status == TS_OK && i < all.count; i++) ts_checkpoint_count_in(all.parts[i].reader, control);
  if (status == TS_OK) status = run_all(&all, count, err);
  for (uint32_t i = 1; i < all.count; i++) ts_checkpoint_reader_close(all.parts[i].reader);
  return status;
}
