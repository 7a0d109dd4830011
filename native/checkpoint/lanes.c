/* lanes.c - see lanes.h. */
#include "checkpoint/lanes.h"

#include "base/sync_point.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

typedef struct lanes lanes;
typedef struct lane {
  lanes *all;
  ts_checkpoint_reader *reader;
  uint64_t from, until;
  pthread_t thread;
  bool runs; /* as a thread of its own */
  int32_t status;
  char words[1024]; /* of the status */
} lane;

struct lanes {
  ts_lanes_take take;
  void *context;
  atomic_bool stop; /* one of them failed */
  lane lane[TS_LANES_MOST];
  uint32_t count;
};

uint32_t ts_lanes_for(uint64_t bytes) {
  cpu_set_t allowed;
  const uint32_t cpus = sched_getaffinity(0, sizeof allowed, &allowed) == 0 ? (uint32_t)CPU_COUNT(&allowed) : 1;
  return bytes < TS_LANES_LEAST || cpus == 1 ? 1 : TS_MIN(2 * cpus, TS_LANES_MOST);
}

static int32_t give(lane *l, ts_err err) {
  ts_checkpoint_block block = {.kind = TS_BLOCK_ROWS};
  int32_t status = ts_checkpoint_select_part(l->reader, 0, l->from, l->until, err);
  while (status == TS_OK && !atomic_load_explicit(&l->all->stop, memory_order_relaxed)) {
    TS_SYNC("lanes:before_block");
    status = ts_checkpoint_next(l->reader, &block, err);
    if (status != TS_OK || block.kind == TS_BLOCK_END) break;
    if (block.kind != TS_BLOCK_BEFORE && block.kind != TS_BLOCK_MAP) status = l->all->take(l->all->context, &block, err);
  }
  if (status != TS_OK) atomic_store(&l->all->stop, true);
  return status;
}

static void *run(void *argument) {
  lane *l = argument;
  l->status = give(l, (ts_err){l->words, sizeof l->words});
  return NULL;
}

static int32_t give_before(const lanes *all, ts_err err) {
  int32_t status = TS_OK;
  for (uint32_t i = all->count; status == TS_OK && i-- > 0;) {
    ts_checkpoint_block block = {.kind = TS_BLOCK_ROWS};
    while (status == TS_OK && block.kind != TS_BLOCK_END) {
      status = ts_checkpoint_previous_before(all->lane[i].reader, &block, err);
      if (status == TS_OK && block.kind != TS_BLOCK_END) status = all->take(all->context, &block, err);
    }
  }
  return status;
}

/* The first lane is the caller's. What the system gives no thread for is done after it. */
static int32_t run_all(lanes *all, ts_err err) {
  for (uint32_t i = 1; i < all->count; i++) all->lane[i].runs = pthread_create(&all->lane[i].thread, NULL, run, &all->lane[i]) == 0;
  for (uint32_t i = 0; i < all->count; i++)
    if (!all->lane[i].runs) run(&all->lane[i]);
  for (uint32_t i = 1; i < all->count; i++)
    if (all->lane[i].runs) pthread_join(all->lane[i].thread, NULL);
  for (uint32_t i = 0; i < all->count; i++)
    if (all->lane[i].status != TS_OK) return ts_fail(err, all->lane[i].status, "%s", all->lane[i].words);
  ts_checkpoint_reader *readers[TS_LANES_MOST];
  for (uint32_t i = 0; i < all->count; i++) readers[i] = all->lane[i].reader;
  const int32_t status = ts_checkpoint_parts_whole(readers, all->count, err);
  return status == TS_OK ? give_before(all, err) : status;
}

int32_t ts_checkpoint_lanes(ts_checkpoint_reader *reader, uint32_t count, ts_lanes_take take, void *context, uint64_t *control,
                            bool *done, ts_err err) {
  uint64_t places[TS_LANES_MOST + 1];
  lanes all = {.take = take, .context = context};
  *done = false;
  int32_t status = ts_checkpoint_split(reader, 0, TS_MIN(count, TS_LANES_MOST), places, &all.count, err);
  if (status != TS_OK || all.count < 2) return status;
  *done = true;
  for (uint32_t i = 0; i < all.count; i++) all.lane[i] = (lane){.all = &all, .reader = reader, .from = places[i], .until = places[i + 1]};
  for (uint32_t i = 1; i < all.count; i++) all.lane[i].reader = NULL;
  for (uint32_t i = 1; status == TS_OK && i < all.count; i++) status = ts_checkpoint_reader_beside(reader, 0, &all.lane[i].reader, err);
  for (uint32_t i = 0; status == TS_OK && i < all.count; i++) ts_checkpoint_count_in(all.lane[i].reader, control);
  if (status == TS_OK) status = run_all(&all, err);
  for (uint32_t i = 1; i < all.count; i++) ts_checkpoint_reader_close(all.lane[i].reader);
  return status;
}
