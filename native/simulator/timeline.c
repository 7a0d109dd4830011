/* timeline.c - times tasks as they are added; see timeline.h for the rules.
 *
 * A pool keeps when each of its places is free in a heap (Kiefer and Wolfowitz 1955: a task takes the place that is
 * free first), so a task costs the logarithm of the places. */
#include "simulator/timeline.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WAITED UINT8_MAX
#define PLACE (UINT8_MAX - 1)

/* Who had a place last. */
struct ts_line_by {
  uint32_t task;
  uint8_t turn;
};

static void *grow(ts_timeline *line, void *items, uint32_t *capacity, uint32_t count, size_t size) {
  if (count < *capacity) return items;
  uint32_t wanted = *capacity == 0 ? 256 : *capacity * 2;
  void *grown = realloc(items, (size_t)wanted * size);
  if (grown == NULL) {
    line->failed = true;
    return items;
  }
  *capacity = wanted;
  return grown;
}

uint32_t ts_timeline_resource(ts_timeline *line, uint32_t places, const char *format, ...) {
  line->resources = grow(line, line->resources, &line->resource_capacity, line->resource_count, sizeof *line->resources);
  if (line->failed) return 0;
  ts_line_resource *r = &line->resources[line->resource_count];
  memset(r, 0, sizeof *r);
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(r->name, sizeof r->name, format, arguments);
  va_end(arguments);
  r->places = TS_MAX(places, 1u);
  r->free = calloc(r->places, sizeof *r->free);
  r->by = calloc(r->places, sizeof *r->by);
  if (r->free == NULL || r->by == NULL) {
    free(r->free);
    free(r->by);
    line->failed = true;
    return 0;
  }
  for (uint32_t i = 0; i < r->places; i++) r->by[i] = (struct ts_line_by){TS_NONE, PLACE};
  return line->resource_count++;
}

/* Takes the place on top of the heap until `until`. */
static void take(ts_line_resource *r, uint64_t until, uint32_t task, uint8_t turn) {
  uint32_t at = 0;
  for (;;) {
    uint32_t child = 2 * at + 1;
    if (child >= r->places) break;
    if (child + 1 < r->places && r->free[child + 1] < r->free[child]) child++;
    if (r->free[child] >= until) break;
    r->free[at] = r->free[child];
    r->by[at] = r->by[child];
    at = child;
  }
  r->free[at] = until;
  r->by[at] = (struct ts_line_by){task, turn};
}

void ts_timeline_wait(ts_timeline *line, uint32_t task) {
  if (task == TS_NONE) return;
  line->waits = grow(line, line->waits, &line->wait_capacity, line->wait_count, sizeof *line->waits);
  if (!line->failed) line->waits[line->wait_count++] = task;
}

uint32_t ts_timeline_add(ts_timeline *line, const ts_line_spec *spec) {
  line->tasks = grow(line, line->tasks, &line->capacity, line->count, sizeof *line->tasks);
  if (line->failed) return 0;
  uint32_t number = line->count++;
  ts_line_task *task = &line->tasks[number];
  memset(task, 0, sizeof *task);
  *task = (ts_line_task){.kind = spec->kind, .step = spec->step, .actor = spec->actor, .pool = spec->pool,
                         .cause = TS_NONE, .cause_turn = WAITED, .turns = (uint8_t)spec->turns, .longest = UINT8_MAX};
  for (uint32_t i = 0; i < line->wait_count; i++) {
    const ts_line_task *before = &line->tasks[line->waits[i]];
    if (before->end <= task->start && task->cause != TS_NONE) continue;
    if (before->end < task->start) continue;
    task->start = before->end;
    task->cause = line->waits[i];
  }
  line->wait_count = 0;
  ts_line_resource *pool = spec->pool == TS_NONE ? NULL : &line->resources[spec->pool];
  if (pool != NULL && pool->free[0] > task->start) {
    task->start = pool->free[0];
    task->cause = pool->by[0].task;
    task->cause_turn = PLACE;
  }
  task->done = task->start + spec->work;
  for (uint8_t i = 0; i < task->turns; i++) {
    ts_line_resource *r = &line->resources[spec->turn[i].resource];
    struct ts_line_part *part = &task->part[i];
    *part = (struct ts_line_part){spec->turn[i].resource, TS_NONE, task->start, spec->turn[i].ps, WAITED};
    if (part->ps == 0) continue;
    if (r->free[0] > part->start) {
      part->start = r->free[0];
      part->cause = r->by[0].task;
      part->cause_turn = r->by[0].turn;
    }
    uint64_t end = part->start + part->ps;
    take(r, end, number, i);
    r->busy += part->ps;
    if (end > task->done) {
      task->done = end;
      task->longest = i;
    }
  }
  if (pool != NULL) {
    take(pool, task->done, number, PLACE);
    pool->busy += task->done - task->start;
  }
  task->end = task->done + spec->after;
  return number;
}

uint32_t ts_timeline_join(ts_timeline *line, uint32_t kind, uint32_t step, uint32_t actor) {
  ts_line_spec spec = {.kind = kind, .step = step, .actor = actor, .pool = TS_NONE};
  return ts_timeline_add(line, &spec);
}

uint64_t ts_timeline_end(const ts_timeline *line, uint32_t task) { return task == TS_NONE ? 0 : line->tasks[task].end; }

void ts_timeline_free(ts_timeline *line) {
  for (uint32_t i = 0; i < line->resource_count; i++) {
    free(line->resources[i].free);
    free(line->resources[i].by);
  }
  free(line->resources);
  free(line->tasks);
  free(line->waits);
  memset(line, 0, sizeof *line);
}

int32_t ts_timeline_explain(const ts_timeline *line, uint32_t number, uint64_t until, uint32_t columns, uint64_t *ps) {
  if (number == TS_NONE) return TS_OK;
  uint64_t at = line->tasks[number].end;
  uint8_t how = WAITED; /* which of its times `at` is: its end, its place's, that of a turn */
  while (at > until && number != TS_NONE) {
    const ts_line_task *task = &line->tasks[number];
    uint64_t *row = ps + (size_t)task->kind * columns;
    uint8_t turn = how < PLACE ? how : task->longest;
    if (how == WAITED && at > task->done) { /* latency */
      uint64_t from = TS_MAX(task->done, until);
      row[columns - 1] += at - from;
      at = from;
      how = PLACE;
      continue;
    }
    if (turn < PLACE) {
      const struct ts_line_part *part = &task->part[turn];
      uint64_t from = TS_MAX(part->start, until);
      if (at < from) return TS_EINTERNAL;
      row[1 + part->resource] += at - from;
      at = from;
      if (part->cause != TS_NONE) {
        number = part->cause;
        how = part->cause_turn;
        continue;
      }
    } else {
      uint64_t from = TS_MAX(task->start, until);
      if (at < from) return TS_EINTERNAL;
      row[0] += at - from;
      at = from;
    }
    number = task->cause;
    how = task->cause_turn;
  }
  return at <= until ? TS_OK : TS_EINTERNAL;
}
