/* Sums over samples and ranks against the tree written out, and where keys go. */
#include "ranks/exchange.h"
#include "ranks/tickets.h"
#include "test/check.h"
#include "test/memory_ranks.h"

static char message[512];

static uint64_t counter;
static uint64_t any(uint64_t below) { return ts_random64(7, 0, counter++) % below; }
/* Numbers of very different size, so that another order of additions gives other bits. */
static float any_float(void) {
  return (float)((ts_unit(ts_random64(7, 1, counter++)) - 0.5) * (double)(UINT64_C(1) << any(30)));
}

/* ((0+1)+(2+3))+((4+5)+(6+7)), who is absent left out. */
typedef struct maybe {
  float value;
  bool there;
} maybe;
static maybe plus(maybe a, maybe b) {
  if (!a.there) return b;
  return b.there ? (maybe){a.value + b.value, true} : a;
}
static maybe tree_of(const maybe l[8]) {
  return plus(plus(plus(l[0], l[1]), plus(l[2], l[3])), plus(plus(l[4], l[5]), plus(l[6], l[7])));
}

#define ITEMS 600u
#define DIM 3u

static uint32_t mod_owner(const void *context, int64_t key) { return (uint32_t)((uint64_t)key % *(const uint32_t *)context); }

static void sums_of_keys(void) {
  static float values[ITEMS][DIM], out[ITEMS * DIM], scratch[TS_FOLD_LEVELS * DIM];
  for (uint32_t round = 0; round < 40; round++) {
    const uint32_t items = (uint32_t)any(ITEMS) + (round > 0), leaves = 1u << any(4), owners = 1 + (uint32_t)any(5);
    const int64_t kinds = 1 + (int64_t)any(200);
    int64_t keys[ITEMS];
    ts_fold f;
    CHECK(ts_fold_open(&f, ITEMS, (ts_err){message, sizeof message}) == TS_OK);
    ts_fold_begin(&f);
    for (uint32_t i = 0; i < items; i++) {
      keys[i] = (int64_t)any((uint64_t)kinds) - 3;
      for (uint32_t d = 0; d < DIM; d++) values[i][d] = any_float();
      f.from[i] = values[i];
      f.leaf[i] = (uint8_t)((uint64_t)i * leaves / items);
      ts_fold_add(&f, keys[i]);
    }
    uint32_t counts[8];
    ts_fold_end(&f, mod_owner, &owners, owners, counts);
    ts_fold_sum(&f, 0, f.count, leaves, DIM, scratch, out);
    uint32_t at = 0, seen = 0;
    for (uint32_t o = 0; o < owners; o++)
      for (uint32_t end = at + counts[o]; at < end; at++) CHECK(mod_owner(&owners, f.keys[at]) == o);
    CHECK(at == f.count);
    for (uint32_t k = 0; k < f.count; k++) {
      for (uint32_t other = 0; other < k; other++) CHECK(f.keys[other] != f.keys[k]);
      for (uint32_t d = 0; d < DIM; d++) {
        maybe leaf[8] = {{0}};
        for (uint32_t i = 0; i < items; i++)
          if (keys[i] == f.keys[k]) {
            leaf[f.leaf[i]] = plus(leaf[f.leaf[i]], (maybe){values[i][d], true});
            seen += d == 0;
          }
        const maybe sum = tree_of(leaf);
        CHECK_MSG(sum.there && memcmp(&sum.value, &out[k * DIM + d], sizeof sum.value) == 0, "key %lld of %u items: %.9g, by hand %.9g",
                  (long long)f.keys[k], items, (double)out[k * DIM + d], (double)sum.value);
      }
    }
    CHECK(seen == items);
    for (uint32_t i = 0; i < items; i++) CHECK(f.keys[f.of[i]] == keys[i]);
    ts_fold_close(&f);
  }
}

/* ---- over ranks ---- */

#define FLOATS 1003u
static float shards[8][FLOATS];

typedef struct adder {
  memory_job *job;
  uint32_t number;
  uint64_t sent;
  float sums[8 * FLOATS], scratch[FLOATS];
} adder;

/* A rank adds its micro-shards, then the ranks theirs. */
static void *add_shards(void *argument) {
  adder *a = argument;
  const ts_ranks_ops ops = memory_ops(a->job, a->number);
  ts_ranks *ranks;
  CHECK(ts_ranks_make(&ops, 0, &ranks, (ts_err){message, sizeof message}) == TS_OK);
  const uint32_t own = ts_ranks_shards(ranks), first = ts_ranks_first_shard(ranks);
  for (uint32_t s = 0; s < own; s++) memcpy(a->sums + s * FLOATS, shards[first + s], sizeof shards[0]);
  ts_tree_sum(a->sums, FLOATS, own, FLOATS);
  CHECK(ts_ranks_sum(ranks, a->sums, FLOATS, a->scratch, (ts_err){message, sizeof message}) == TS_OK);
  a->sent = ranks->sent_bytes;
  ts_ranks_close(ranks);
  return NULL;
}

static void sums_over_ranks(void) {
  static adder adders[8];
  for (uint32_t s = 0; s < 8; s++)
    for (uint32_t i = 0; i < FLOATS; i++) shards[s][i] = any_float();
  for (uint32_t size = 1; size <= 8; size *= 2) {
    memory_job job;
    pthread_t threads[8];
    memory_start(&job, size);
    for (uint32_t r = 0; r < size; r++) {
      adders[r].job = &job;
      adders[r].number = r;
      pthread_create(&threads[r], NULL, add_shards, &adders[r]);
    }
    for (uint32_t r = 0; r < size; r++) pthread_join(threads[r], NULL);
    for (uint32_t r = 0; r < size; r++) {
      CHECK_MSG(adders[r].sent <= 2 * (FLOATS + 8) * sizeof(float), "%u ranks: %llu bytes sent", size,
                (unsigned long long)adders[r].sent);
      for (uint32_t i = 0; i < FLOATS; i++) {
        maybe leaf[8];
        for (uint32_t s = 0; s < 8; s++) leaf[s] = (maybe){shards[s][i], true};
        const float sum = tree_of(leaf).value;
        CHECK_MSG(memcmp(&sum, &adders[r].sums[i], sizeof sum) == 0, "%u ranks, float %u", size, i);
      }
    }
    CHECK(job.wrong == 0);
    memory_end(&job);
  }
}

/* ---- waiting and moving ---- */

#define ROUNDS 700u /* more than a log keeps */

typedef struct late {
  memory_job *job;
  uint32_t number;
  uint64_t waiting[4], moving[4]; /* by whether rank 3 is late in messages of all and in swaps */
  uint64_t held_ns, in_message_ns, real_waiting, real_moving;
} late;

/* Until every other rank is in the message. */
static void others_are_in(memory_job *j, uint32_t me) {
  pthread_mutex_lock(&j->lock);
  for (uint32_t p = 0; p < j->size; p++)
    while (p != me && j->boxes[p][me].bytes == NULL) pthread_cond_wait(&j->changed, &j->lock);
  pthread_mutex_unlock(&j->lock);
}

static void *compare_late(void *argument) {
  late *l = argument;
  const ts_ranks_ops ops = memory_ops(l->job, l->number);
  ts_ranks *r;
  CHECK(ts_ranks_make(&ops, 0, &r, (ts_err){message, sizeof message}) == TS_OK);
  /* Chosen times: moving takes 10, all but the late rank 3 wait `by`, in swaps only its partners 2 and 1. */
  for (uint32_t way = 0; way < 4; way++) {
    const uint64_t waited = r->times.waiting_ns, moved = r->times.moving_ns;
    for (uint64_t i = 0; i < ROUNDS; i++) {
      const uint64_t by = i, of_all = (way & 1) && l->number != 3 ? by : 0;
      CHECK(ts_message_times_add(&r->times, &ops, TS_TIMES_OF_ALL, 10 + of_all) == 0);
      for (uint32_t distance = 1; distance < 4; distance *= 2)
        CHECK(ts_message_times_add(&r->times, &ops, ts_times_of_swaps(distance), 10 + ((way & 2) && (l->number ^ distance) == 3 ? by : 0)) == 0);
    }
    CHECK(ts_ranks_compare(r, message, sizeof message) == TS_OK);
    l->waiting[way] = r->times.waiting_ns - waited;
    l->moving[way] = r->times.moving_ns - moved;
  }
  /* A real message, which rank 3 holds up for 20 ms while the others are in it. */
  char in[4], out = 1;
  const uint64_t waited = r->times.waiting_ns, moved = r->times.moving_ns;
  if (l->number == 3) {
    others_are_in(l->job, 3);
    const uint64_t start = ts_now_ns();
    while (ts_now_ns() - start < 20000000) {
    }
    l->held_ns = ts_now_ns() - start;
  }
  const uint64_t start = ts_now_ns();
  CHECK(ts_ranks_gather(r, &out, 1, in, (ts_err){message, sizeof message}) == TS_OK);
  l->in_message_ns = ts_now_ns() - start;
  CHECK(ts_ranks_compare(r, message, sizeof message) == TS_OK);
  l->real_waiting = r->times.waiting_ns - waited;
  l->real_moving = r->times.moving_ns - moved;
  CHECK(l->real_waiting + l->real_moving == r->ns);
  ts_ranks_close(r);
  return NULL;
}

/* A late rank makes those wait that have a message with it, and moving takes what it took. */
static void late_ranks_are_waited_for(void) {
  memory_job job;
  pthread_t threads[4];
  late ranks[4] = {0};
  memory_start(&job, 4);
  for (uint32_t r = 0; r < 4; r++) {
    ranks[r].job = &job;
    ranks[r].number = r;
    pthread_create(&threads[r], NULL, compare_late, &ranks[r]);
  }
  for (uint32_t r = 0; r < 4; r++) pthread_join(threads[r], NULL);
  const uint64_t all = (uint64_t)ROUNDS * (ROUNDS - 1) / 2;
  for (uint32_t r = 0; r < 4; r++)
    for (uint32_t way = 0; way < 4; way++) {
      const uint64_t wanted = ((way & 1) && r != 3 ? all : 0) + ((way & 2) && (r == 1 || r == 2) ? all : 0);
      CHECK_MSG(ranks[r].waiting[way] == wanted && ranks[r].moving[way] == 30 * ROUNDS, "rank %u, way %u: %llu waiting, %llu moving", r,
                way, (unsigned long long)ranks[r].waiting[way], (unsigned long long)ranks[r].moving[way]);
    }
  for (uint32_t r = 0; r < 4; r++) {
    CHECK(ranks[r].real_moving == ranks[3].real_moving && ranks[r].real_moving <= ranks[3].in_message_ns);
    CHECK(r == 3 || ranks[r].real_waiting + ranks[r].real_moving >= ranks[3].held_ns);
  }
  memory_end(&job);
}

/* Of keys that follow one another, as many belong to each, and not the same ones in another table. */
static void owners_have_equal_shares(void) {
  memory_job job;
  memory_start(&job, 5);
  const ts_ranks_ops ops = memory_ops(&job, 0);
  for (uint32_t servers = 0; servers <= 4; servers += 3 + (servers > 0)) {
    ts_ranks *ranks;
    if (servers == 0) {
      CHECK(ts_ranks_make(&ops, 0, &ranks, (ts_err){message, sizeof message}) == TS_EINVAL); /* five cannot train */
      continue;
    }
    CHECK(ts_ranks_make(&ops, servers, &ranks, (ts_err){message, sizeof message}) == TS_OK);
    uint32_t counts[5] = {0}, same = 0;
    for (int64_t key = 0; key < 30000; key++) {
      const uint32_t owner = ts_ranks_owner(ranks, 0, key);
      counts[owner]++;
      same += owner == ts_ranks_owner(ranks, 1, key);
    }
    for (uint32_t r = 0; r < 5; r++)
      CHECK_MSG(r < 5 - servers ? counts[r] == 0 : counts[r] > 30000 / servers * 0.95, "rank %u of 5, %u servers: %u keys", r, servers,
                counts[r]);
    CHECK_MSG(same < 30000 / servers * 1.05, "%u keys have the same owner in both tables", same);
    ts_ranks_close(ranks);
  }
  memory_end(&job);
}

/* ---- steps that run beside each other ---- */

/* Every step is handed out once, in order, and finished in any; none is further ahead of one under way than it may be, and what is
 * missing is counted. */
static void steps_are_handed_out_within_the_bound(void) {
  for (uint32_t round = 0; round < 200; round++) {
    static ts_tickets t;
    const uint64_t first = any(5), steps = any(60), bound = any(9);
    bool done[70] = {false};
    uint64_t under_way[70], count = 0, handed = first;
    ts_tickets_begin(&t, first, first + steps, (uint32_t)bound);
    while (true) {
      uint64_t step, low = first;
      while (low < handed && done[low]) low++;
      const bool may = handed < first + steps && handed - low <= bound;
      if (any(2) == 0 || count == 0) {
        CHECK(ts_tickets_take(&t, &step) == may);
        if (may) CHECK(step == handed);
        if (may) under_way[count++] = handed++;
      } else {
        const uint64_t at = any(count);
        step = under_way[at];
        under_way[at] = under_way[--count];
        uint32_t missing = 0;
        for (uint64_t s = first; s < step; s++) missing += !done[s];
        CHECK(missing <= bound && ts_tickets_missing(&t, step) == missing);
        CHECK(ts_tickets_finish(&t, step) && !ts_tickets_finish(&t, step));
        done[step] = true;
      }
      if (count == 0 && handed == first + steps) break;
    }
    CHECK(!ts_tickets_finish(&t, first + steps + bound + 1));
  }
}

/* One rank alone needs no MPI; a file that is no shim is refused. */
static void opening(void) {
  ts_config *config;
  ts_ranks *ranks;
  char text[1024];
  uint64_t needed;
  CHECK(ts_config_create(&config) == TS_OK);
  CHECK(ts_ranks_open(config, &ranks, message, sizeof message) == TS_OK);
  CHECK(ts_ranks_describe(ranks, text, sizeof text, &needed) == TS_OK);
  CHECK_MSG(strstr(text, "rank=0\nsize=1\ntrainers=1\nowners=1\nlibrary=none\n") != NULL, "%s", text);
  CHECK(ts_ranks_agree(ranks, TS_OK, 5, "word", NULL, (ts_err){message, sizeof message}) == TS_OK);
  uint64_t ns = 0;
  CHECK(ts_ranks_ping(ranks, 8, 1, &ns, message, sizeof message) == TS_EINVAL && strstr(message, "one rank alone") != NULL);
  CHECK(ts_ranks_ping(ranks, 0, 1, &ns, message, sizeof message) == TS_EINVAL);
  CHECK(ts_ranks_close(ranks) == TS_OK);
  ts_config_set(config, "shim", "/nowhere/shim.so", NULL, 0);
  CHECK(ts_ranks_open(config, &ranks, message, sizeof message) == TS_EUNAVAILABLE);
  CHECK_MSG(strstr(message, "install openmpi-bin and libopenmpi-dev, or mpich and libmpich-dev") != NULL, "%s", message);
  ts_config_set(config, "shim", "libm.so.6", NULL, 0);
  CHECK(ts_ranks_open(config, &ranks, message, sizeof message) == TS_EUNAVAILABLE && strstr(message, "no shim") != NULL);
  ts_config_free(config);
}

int main(void) {
  sums_of_keys();
  sums_over_ranks();
  late_ranks_are_waited_for();
  owners_have_equal_shares();
  steps_are_handed_out_within_the_bound();
  opening();
  return test_result();
}
