/* timeline.h - virtual time: tasks in a fixed order on resources that are taken in that order.
 *
 * Tasks are added one after the other, each with the tasks it waits for, and are timed at once. A task starts when what
 * it waits for has ended and one of its pool's places (cores, background threads) is free; then it holds the place for
 * its own work and takes turns on what it shares (a medium, a link, a lock), each for as long as its part of it needs:
 *
 *   start  = max(ends of what it waits for, the pool's first free place)
 *   turn i = max(start, when resource i was given back);  resource i is given back at turn i + part i
 *   end    = max(start + work, turn i + part i)
 *
 * Every time is a maximum of sums of durations and the order of turns is the order of adding, never that of arriving.
 * So times are monotone: a duration that shrinks makes nothing end later (a scheduler that reorders by arrival has
 * no such guarantee: Graham 1969, anomalies), and there is nothing that threads could race for.
 *
 * Times are picoseconds in 64 bits: 213 days. */
#ifndef TS_SIMULATOR_TIMELINE_H
#define TS_SIMULATOR_TIMELINE_H

#include "base/base.h"

#define TS_LINE_TURNS 8u
#define TS_NONE UINT32_MAX

typedef struct ts_turn {
  uint32_t resource;
  uint64_t ps;
} ts_turn;

/* What a task needs. */
typedef struct ts_line_spec {
  uint32_t kind;        /* the caller's: what its time counts as */
  uint32_t step, actor; /* whose: for the chart */
  uint32_t pool;        /* TS_NONE: it holds no place */
  uint64_t work;        /* ps at its place */
  uint32_t turns;
  ts_turn turn[TS_LINE_TURNS];
  uint64_t after; /* ps between the last of it and its end, holding nothing: a latency */
} ts_line_spec;

typedef struct ts_line_task {
  uint32_t kind, step, actor, pool;
  uint64_t start, done, end; /* done: the place is free; end = done + after */
  uint32_t cause;            /* the task that made it start when it did, TS_NONE at time 0 */
  uint8_t cause_turn;        /* how: UINT8_MAX it waited for its end, UINT8_MAX - 1 for its place, else for this turn */
  uint8_t turns, longest;    /* the turn that ended last; UINT8_MAX: its own work did */
  struct ts_line_part {
    uint32_t resource, cause; /* who had it before, if that made this turn late, else TS_NONE */
    uint64_t start, ps;
    uint8_t cause_turn;
  } part[TS_LINE_TURNS];
} ts_line_task;

typedef struct ts_line_resource {
  char name[48];
  uint32_t places;
  uint64_t *free;                /* when each place is free */
  struct ts_line_by *by;         /* who had it */
  uint64_t busy;                 /* ps of all places */
} ts_line_resource;

typedef struct ts_timeline {
  ts_line_resource *resources;
  uint32_t resource_count, resource_capacity;
  ts_line_task *tasks;
  uint32_t count, capacity;
  uint32_t *waits; /* of the task that is being made */
  uint32_t wait_count, wait_capacity;
  bool failed; /* out of memory */
} ts_timeline;

/* Number of the new resource: a pool of `places`, or with one place something that takes turns. */
uint32_t ts_timeline_resource(ts_timeline *line, uint32_t places, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* The next task waits for this one; TS_NONE is passed over. */
void ts_timeline_wait(ts_timeline *line, uint32_t task);
/* Adds the task and times it. Returns its number. */
uint32_t ts_timeline_add(ts_timeline *line, const ts_line_spec *spec);
/* A task without work that joins those it waits for. */
uint32_t ts_timeline_join(ts_timeline *line, uint32_t kind, uint32_t step, uint32_t actor);
uint64_t ts_timeline_end(const ts_timeline *line, uint32_t task); /* 0 for TS_NONE */
void ts_timeline_free(ts_timeline *line);

/* Follows what made `task` end when it did back to `until` and adds the time of each task on that way to
 * ps[kind * columns + column]: column 0 is own work, 1 + r is the turn on resource r, the last one latencies. The sum is
 * the end of the task minus `until`, exactly. Returns TS_EINTERNAL if it is not (a bug). */
int32_t ts_timeline_explain(const ts_timeline *line, uint32_t task, uint64_t until, uint32_t columns, uint64_t *ps);

#endif
