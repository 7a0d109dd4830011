/* The crash lab (test/crash): crash points of chains of checkpoints, faults, tampered files, and the proof that the lab finds what
 * it is there for: each seeded bug, and each sync that is left out.
 *
 *   TIERSTORE_POINTS   crash points (5000)
 *   TIERSTORE_BUG      try this seeded bug alone, and tell how it showed
 *   TIERSTORE_ONLY_POINTS  stores with restore points alone
 *
 * What was tried is printed as lines "name=value", which bench/crash reads. */
#include "check.h"
#include "test/crash/lab.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* What takes an image a tenth of a millisecond takes ten times as long there. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#else
#define SANITIZED 0
#endif

static void print(const lab_subject *subject, const lab_report *r) {
  printf("%s.runs=%llu\n%s.points=%llu\n%s.images=%llu\n%s.continued=%llu\n%s.faults=%llu\n%s.tampered=%llu\n%s.wrong=%llu\n",
         subject->name, (unsigned long long)r->runs, subject->name, (unsigned long long)r->points, subject->name,
         (unsigned long long)r->images, subject->name, (unsigned long long)r->gone_on, subject->name,
         (unsigned long long)r->faults, subject->name, (unsigned long long)r->tampered, subject->name,
         (unsigned long long)r->wrong);
}

/* What is tried of a bug until it shows: of files and stores, and of PMEM tables, where it may take a second crash. */
static const lab_limits for_pmem_bugs = {.points = 1500, .drawn = 4, .fault_runs = 60, .fault_stride = 5, .tampered = 6, .stop_at_first = true};
static const lab_limits for_bugs = {.points = 400, .drawn = 4, .fault_runs = 100, .fault_stride = 3, .tampered = 6, .stop_at_first = true};

static const lab_limits for_points_bugs = {.points = 500, .drawn = 2, .fault_runs = 160, .fault_stride = 61, .tampered = 80, .stop_at_first = true};

static bool is_of_points(const lab_subject *subject) {
  for (const lab_subject *const *each = lab_points; *each != NULL; each++)
    if (*each == subject) return true;
  return false;
}

static bool shows(const lab_subject *subject, const char *bug, const char *without, lab_report *report) {
  lab_limits limits = subject == &lab_pmem_fsdax || subject == &lab_pmem_file ? for_pmem_bugs : is_of_points(subject) ? for_points_bugs : for_bugs;
  limits.without = without;
  lab_bug = bug;
  *report = (lab_report){0};
  lab_try(subject, &limits, report);
  lab_bug = NULL;
  return report->wrong > 0;
}

/* Of two subjects (other may be NULL) one has to show it. */
static void seeded_bugs_show(const lab_subject *subject, const lab_subject *other, const char *const *names, bool without_syncs) {
  lab_report report;
  uint32_t bugs = 0, found = 0, wasted = 0;
  for (uint32_t i = 0; names[i] != NULL; i++, bugs++) {
    const bool shown = shows(subject, names[i], NULL, &report) || (other != NULL && shows(other, names[i], NULL, &report));
    found += shown;
    CHECK_MSG(shown, "the bug \"%s\" was not found in %llu images", names[i], (unsigned long long)report.images);
  }
  for (uint32_t i = 0; without_syncs && lab_syncs[i] != NULL; i++, bugs++) {
    const bool shown = shows(subject, NULL, lab_syncs[i], &report);
    found += shown;
    if (shown) continue;
    wasted++;
    printf("%s.wasted=%s\n", subject->name, lab_syncs[i]);
    CHECK_MSG(shown, "no crash point needs the sync of the %s", lab_syncs[i]);
  }
  printf("%s.bugs=%u\n%s.bugs-found=%u\n%s.syncs-wasted=%u\n", subject->name, bugs, subject->name, found, subject->name, wasted);
}

static bool is_among(const char *const *names, const char *name) {
  for (; *names != NULL; names++)
    if (strcmp(*names, name) == 0) return true;
  return false;
}

/* A table in PMEM, on fsdax and on another file system. */
static void pmem(uint64_t points) {
  const lab_subject *const subjects[] = {&lab_pmem_fsdax, &lab_pmem_file};
  for (uint32_t i = 0; i < 2; i++) {
    const lab_limits limits = {.points = points, .drawn = 4, .fault_runs = 30, .fault_stride = SANITIZED ? 41 : 7, .read_faults = true, .tampered = 10};
    lab_report report = {0};
    lab_try(subjects[i], &limits, &report);
    print(subjects[i], &report);
    CHECK_MSG(report.wrong == 0, "%llu wrong, the first: %s", (unsigned long long)report.wrong, report.words);
  }
}

/* Stores with restore points. */
static void points(uint64_t count) {
  setenv("PMEM_IS_PMEM_FORCE", "1", 1); /* of the PMEM above SSDHASH, which is volatile there */
  for (const lab_subject *const *subject = lab_points; *subject != NULL; subject++) {
    const bool many = count >= 1000;
    const lab_limits limits = {.points = count, .drawn = 2, .fault_runs = many ? 60 : 6, .fault_stride = SANITIZED ? 0 : many ? 13 : 131, .read_faults = true,
                               .tampered = many ? 300 : 15};
    lab_report report = {0};
    lab_try(*subject, &limits, &report);
    print(*subject, &report);
    CHECK_MSG(report.wrong == 0, "%llu wrong, the first: %s", (unsigned long long)report.wrong, report.words);
  }
}

/* Chains of checkpoints in files, whole stores that write them, and tables in PMEM. */
static void files_and_pmem(uint64_t count) {
  lab_report report = {0}, of_store = {0};
  const lab_limits limits = {.points = count,
                             .drawn = 4,
                             .fault_runs = 100,
                             .fault_stride = SANITIZED ? 11 : 1,
                             .read_faults = true,
                             .tampered = 20};
  lab_try(&lab_checkpoints, &limits, &report);
  print(&lab_checkpoints, &report);
  CHECK_MSG(report.wrong == 0, "%llu wrong, the first: %s", (unsigned long long)report.wrong, report.words);
  /* A store takes twenty times as long to open as a model. */
  const lab_limits of_stores = {.points = count / 20, .drawn = 2, .fault_runs = 4, .fault_stride = SANITIZED ? 0 : 23, .read_faults = true};
  lab_try(&lab_store, &of_stores, &of_store);
  print(&lab_store, &of_store);
  CHECK_MSG(of_store.wrong == 0, "%llu wrong, the first: %s", (unsigned long long)of_store.wrong, of_store.words);
  pmem(count / 2);
  if (SANITIZED) {
    SKIP("seeded bugs of the crash lab", "a sanitizer looks for its own");
    return;
  }
  seeded_bugs_show(&lab_checkpoints, NULL, lab_bugs, true);
  seeded_bugs_show(&lab_store, NULL, lab_store_bugs, false);
  seeded_bugs_show(&lab_pmem_fsdax, &lab_pmem_file, lab_pmem_bugs, false);
}

static void restore_points(uint64_t count) {
  points(count);
  if (!SANITIZED) seeded_bugs_show(lab_points[0], lab_points[1], lab_points_bugs, false);
}

static int one_bug(const char *bug) {
  lab_report report = {0};
  const bool of_pmem = is_among(lab_pmem_bugs, bug), of_points = is_among(lab_points_bugs, bug);
  const lab_subject *subject = of_points ? lab_points[0] : of_pmem ? &lab_pmem_fsdax : is_among(lab_store_bugs, bug) ? &lab_store : &lab_checkpoints;
  bool shown = shows(subject, bug, NULL, &report);
  if (!shown && of_pmem) shown = shows(subject = &lab_pmem_file, bug, NULL, &report);
  if (!shown && of_points) shown = shows(subject = lab_points[1], bug, NULL, &report);
  print(subject, &report);
  printf("%s\n", shown ? report.words : "not found");
  return shown ? 0 : 1;
}

int main(void) {
  setvbuf(stdout, NULL, _IOLBF, BUFSIZ);
  const char *points_text = getenv("TIERSTORE_POINTS"), *bug = getenv("TIERSTORE_BUG");
  if (bug != NULL) return one_bug(bug);
  if (getenv("TIERSTORE_ONLY_POINTS") != NULL) {
    restore_points(points_text != NULL ? strtoull(points_text, NULL, 10) : 200);
    return test_result();
  }
  const uint64_t count = points_text != NULL ? strtoull(points_text, NULL, 10) : SANITIZED ? 300 : 5000;
  /* Two halves that share nothing, each in a process of its own. */
  const pid_t other = fork();
  if (other < 0) abort();
  if (other == 0) {
    restore_points(count / 40);
    exit(test_result());
  }
  files_and_pmem(count);
  int status = -1;
  CHECK(waitpid(other, &status, 0) == other);
  CHECK_MSG(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the crash points of restore points ended with %#x", (unsigned)status);
  return test_result();
}
