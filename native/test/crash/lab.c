/* lab.c - see lab.h. */
#include "test/crash/lab.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- what workloads call ---- */

static void promise(lab_run *run, bool acknowledged, uint64_t digest) {
  if (run->promise_count == run->promise_capacity) {
    run->promise_capacity = run->promise_capacity * 2 + 16;
    run->promises = realloc(run->promises, run->promise_capacity * sizeof *run->promises);
    if (run->promises == NULL) abort();
  }
  run->promises[run->promise_count++] = (lab_promise){run->disk.op_count, acknowledged, digest};
}

void lab_may_commit(lab_run *run, uint64_t digest) { promise(run, false, digest); }
void lab_acknowledge(lab_run *run, uint64_t digest) { promise(run, true, digest); }

void lab_problem(lab_run *run, const char *format, ...) {
  if (run->problem[0] != '\0') return;
  va_list args;
  va_start(args, format);
  vsnprintf(run->problem, sizeof run->problem, format, args);
  va_end(args);
}

bool lab_failed(const lab_run *run) { return run->disk.fault_met; }

/* ---- judging ---- */

/* The operation at which a sync lied: behind it nothing can be promised but that no state is made up. */
static uint32_t lied_at(const lab_run *run) {
  for (uint32_t i = 0; i < run->disk.op_count; i++)
    if (run->disk.log[i].lied) return i;
  return UINT32_MAX;
}

/* Whether what an image holds is what was promised at that point. */
static bool is_promised(const lab_run *run, uint32_t point, bool lied, lab_answer answer, uint64_t digest) {
  bool good = answer != LAB_STATE && lied, nothing = true;
  for (uint32_t i = 0; i < run->promise_count && run->promises[i].point <= point; i++) {
    const lab_promise *p = &run->promises[i];
    if (p->acknowledged && !lied) good = nothing = false;
    good |= answer == LAB_STATE && p->digest == digest;
  }
  return good || (nothing && answer == LAB_NOTHING);
}

static const char *const styles[] = {"nothing unsynchronised", "everything", "names without data", "data without names", "a drawn part"};

static const char *const faults_named[] = {"no fault", "EIO before", "ENOSPC before", "a short write before", "a sync that lied before", "EIO of a read before",
                                           "a short read before"};

static void wrong(lab_report *report, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void wrong(lab_report *report, const char *format, ...) {
  if (report->wrong++ > 0) return;
  va_list args;
  va_start(args, format);
  vsnprintf(report->words, sizeof report->words, format, args);
  va_end(args);
}

static void judge(const lab_subject *subject, const lab_run *run, const lab_image_choice *choice, bool lied, bool go_on,
                  lab_report *report) {
  lab_disk image;
  lab_image(&run->disk, choice, &image);
  if (go_on) lab_disk_settle(&image); /* opening it may be crashed, too */
  uint64_t digest = 0;
  char words[1024] = "";
  const lab_answer answer = subject->open(&image.ops, &digest, (ts_err){words, sizeof words});
  report->images++;
  if (!is_promised(run, choice->point, lied, answer, digest))
    wrong(report, "%s, seed %llu, operation %u of %u (%s), %s kept (draw %llu): %s %s", subject->name,
          (unsigned long long)run->seed, choice->point, run->disk.op_count, faults_named[run->disk.fault_met ? run->disk.fault : LAB_NO_FAULT], styles[TS_MIN(choice->style, 4u)],
          (unsigned long long)choice->seed,
          answer == LAB_STATE ? "a state that was not committed, or an older one than was acknowledged"
          : answer == LAB_NOTHING ? "nothing is there, though a commit was acknowledged" : "refused:",
          words);
  else if (go_on && !lied && subject->go_on != NULL) {
    report->gone_on++;
    if (!subject->go_on(&image, choice->seed, (ts_err){words, sizeof words}))
      wrong(report, "%s, seed %llu, operation %u, %s kept (draw %llu), going on: %s", subject->name, (unsigned long long)run->seed,
            choice->point, styles[TS_MIN(choice->style, 4u)], (unsigned long long)choice->seed, words);
  }
  lab_disk_end(&image);
}

/* An image of which one read fails: it is refused, or what is found is what was promised; and the next time all is there. */
static void judge_unreadable(const lab_subject *subject, const lab_run *run, const lab_image_choice *choice, lab_fault fault,
                             lab_report *report) {
  lab_disk image;
  lab_image(&run->disk, choice, &image);
  lab_disk_settle(&image);
  uint64_t digest = 0;
  char words[1024] = "";
  const ts_err err = {words, sizeof words};
  subject->open(&image.ops, &digest, err);
  const uint64_t reads = image.reads;
  lab_disk_end(&image);
  if (reads == 0) return;
  lab_image(&run->disk, choice, &image);
  lab_disk_settle(&image);
  image.fault = fault;
  image.fault_at = choice->seed % reads;
  words[0] = '\0';
  lab_answer answer = subject->open(&image.ops, &digest, err);
  const bool named = answer == LAB_REFUSED && fault == LAB_READ_EIO && strstr(words, "Input/output error") != NULL;
  report->faults += image.fault_met;
  if (!named && !is_promised(run, choice->point, false, answer, digest))
    wrong(report, "%s, seed %llu, operation %u, %s kept (draw %llu), read %llu fails: %s: %s", subject->name,
          (unsigned long long)run->seed, choice->point, styles[TS_MIN(choice->style, 4u)], (unsigned long long)choice->seed,
          (unsigned long long)image.fault_at,
          answer == LAB_REFUSED ? "refused" : answer == LAB_NOTHING ? "nothing is there" : "another state", words);
  image.fault = LAB_NO_FAULT;
  words[0] = '\0';
  answer = subject->open(&image.ops, &digest, err);
  if (!is_promised(run, choice->point, false, answer, digest))
    wrong(report, "%s, seed %llu, operation %u, %s kept (draw %llu), after read %llu had failed: %s: %s", subject->name,
          (unsigned long long)run->seed, choice->point, styles[TS_MIN(choice->style, 4u)], (unsigned long long)choice->seed,
          (unsigned long long)image.fault_at,
          answer == LAB_REFUSED ? "refused" : answer == LAB_NOTHING ? "nothing is there" : "another state", words);
  lab_disk_end(&image);
}

static void begin_run(const lab_subject *subject, lab_run *run, uint64_t seed, lab_fault fault, uint64_t fault_at) {
  *run = (lab_run){.seed = seed};
  lab_disk_begin(&run->disk);
  run->disk.fault = fault;
  run->disk.fault_at = fault_at;
  subject->run(run);
}

static void end_run(lab_run *run) {
  lab_disk_end(&run->disk);
  free(run->promises);
}

static bool done(const lab_limits *limits, const lab_report *report) { return limits->stop_at_first && report->wrong > 0; }

/* Crashes a run at every `stride`th operation. */
static void crash(const lab_subject *subject, const lab_limits *limits, const lab_run *run, uint32_t from, uint32_t stride,
                  lab_report *report) {
  const uint32_t lie = lied_at(run);
  if (run->problem[0] != '\0') wrong(report, "%s, seed %llu: %s", subject->name, (unsigned long long)run->seed, run->problem);
  for (uint32_t point = from; point <= run->disk.op_count && !done(limits, report); point += stride) {
    report->points++;
    for (uint32_t style = 0; style < 4 + limits->drawn && !done(limits, report); style++) {
      const lab_image_choice choice = {point, style, ts_random64(run->seed, point, style), limits->without};
      /* Of runs with a fault, which are many: nothing, everything, two drawn. */
      if (run->disk.fault_met && style != 0 && style != 1 && style != 4 && style != 5) continue;
      judge(subject, run, &choice, point > lie, style == 4 + point % 2 && point % 3 == 0, report);
      if (!run->disk.fault_met && style == 1 && point % 5 == 0)
        judge_unreadable(subject, run, &choice, point % 20 == 0 ? LAB_READ_SHORT : LAB_READ_EIO, report);
    }
  }
}

static void one_fault(const lab_subject *subject, const lab_limits *limits, uint64_t seed, lab_fault fault, uint64_t at,
                      lab_report *report) {
  lab_run run;
  begin_run(subject, &run, seed, fault, at);
  report->runs++;
  report->faults += run.disk.fault_met;
  /* Some of the way from there, and the end. */
  crash(subject, limits, &run, run.disk.fault_op + 1, 29, report);
  crash(subject, limits, &run, run.disk.op_count, 1, report);
  end_run(&run);
}

/* Operations that a fault can be of, in a run without faults. */
static uint64_t operations_of(const lab_subject *subject, uint64_t seed, lab_fault fault) {
  lab_run run;
  begin_run(subject, &run, seed, LAB_NO_FAULT, UINT64_MAX);
  const uint64_t operations = fault < LAB_READ_EIO ? run.disk.changes : run.disk.reads;
  end_run(&run);
  return operations;
}

static void faults(const lab_subject *subject, const lab_limits *limits, lab_report *report) {
  const lab_fault kinds = limits->read_faults ? LAB_FAULTS : LAB_READ_EIO;
  for (lab_fault fault = LAB_EIO; fault < kinds && limits->fault_stride > 0; fault++) {
    const uint64_t all = operations_of(subject, limits->seed, fault);
    for (uint64_t at = 0; at < all && !done(limits, report); at += limits->fault_stride)
      one_fault(subject, limits, limits->seed, fault, at, report);
  }
  for (uint32_t i = 0; i < limits->fault_runs && !done(limits, report); i++) {
    const uint64_t seed = limits->seed + 1 + i;
    const lab_fault fault = (lab_fault)(LAB_EIO + i % (kinds - LAB_EIO));
    const uint64_t all = operations_of(subject, seed, fault); /* 0: the workload reads nothing */
    if (all > 0) one_fault(subject, limits, seed, fault, ts_random64(seed, 2, i) % all, report);
  }
}

void lab_try(const lab_subject *subject, const lab_limits *limits, lab_report *report) {
  for (uint32_t i = 0; i < limits->tampered && subject->tamper != NULL && !done(limits, report); i++) {
    char words[1024] = "";
    report->tampered++;
    if (!subject->tamper(limits->seed + i, (ts_err){words, sizeof words}))
      wrong(report, "%s, seed %llu, tampered with: %s", subject->name, (unsigned long long)(limits->seed + i), words);
  }
  const uint64_t points = report->points;
  for (uint64_t seed = limits->seed; report->points - points < limits->points && !done(limits, report); seed++) {
    lab_run run;
    begin_run(subject, &run, seed, LAB_NO_FAULT, 0);
    report->runs++;
    crash(subject, limits, &run, 1, 1, report);
    end_run(&run);
  }
  faults(subject, limits, report);
}
