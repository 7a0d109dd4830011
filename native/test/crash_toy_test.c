/* The crash lab on a store that is none of ours, the example of docs/crash-lab.md: a number in a file. And the proof that the lab finds
 * what such a store gets wrong: a file written in place, a sync left out, an error passed over. */
#include "base/crc32c.h"
#include "test/check.h"
#include "test/crash/lab.h"

#include <errno.h>
#include <string.h>

/* ---- the store ---- */

typedef struct record {
  uint64_t number;
  uint32_t crc, unused;
} record;

/* What a careless author forgets. */
static enum { CAREFUL, IN_PLACE, NO_SYNC, NO_FOLDER_SYNC, ERRORS_PASSED_OVER, KINDS } mistake;

static int save(const ts_disk_ops *disk, uint64_t number) {
  const record r = {.number = number, .crc = ts_crc32c(0, &number, sizeof number)};
  const char *const name = mistake == IN_PLACE ? "/toy" : "/toy.new";
  if (mistake != IN_PLACE) disk->unlink(disk, name); /* what a crash left */
  int file = disk->create(disk, name), error = 0;
  if (file == -EEXIST) file = disk->reopen(disk, name);
  if (file < 0) return file;
  error = ts_disk_write(disk, file, &r, sizeof r, 0);
  if (error == 0 && mistake != NO_SYNC) error = disk->sync(disk, file);
  disk->close(disk, file);
  if (error == 0 && mistake != IN_PLACE) error = disk->rename(disk, "/toy.new", "/toy");
  if (error == 0 && mistake != NO_FOLDER_SYNC) error = disk->sync_folder(disk, "/");
  return mistake == ERRORS_PASSED_OVER ? 0 : error;
}

/* -ENOENT: there is none; -EBADMSG: it is damaged. */
static int load(const ts_disk_ops *disk, uint64_t *number) {
  record r;
  const int file = disk->open(disk, "/toy");
  if (file < 0) return file;
  const int error = ts_disk_read(disk, file, &r, sizeof r, 0);
  disk->close(disk, file);
  if (error != 0) return error;
  *number = r.number;
  return r.crc == ts_crc32c(0, &r.number, sizeof r.number) ? 0 : -EBADMSG;
}

/* ---- its adapter ---- */

static void run(lab_run *r) {
  for (uint64_t i = 1; i <= 5; i++) {
    const uint64_t number = ts_random64(r->seed, 0, i);
    lab_may_commit(r, number); /* its digest is itself */
    const int error = save(&r->disk.ops, number);
    if (error == 0) lab_acknowledge(r, number);
    else if (!lab_failed(r)) lab_problem(r, "number %llu was not saved: %s", (unsigned long long)i, strerror(-error));
  }
}

static lab_answer open_toy(const ts_disk_ops *disk, uint64_t *digest, ts_err err) {
  const int error = load(disk, digest);
  if (error == 0) return LAB_STATE;
  if (error == -ENOENT) return LAB_NOTHING;
  ts_fail(err, TS_EIO, "/toy: %s", strerror(-error));
  return LAB_REFUSED;
}

static const lab_subject toy = {.name = "toy", .run = run, .open = open_toy};

int main(void) {
  static const char *const names[KINDS] = {"none", "written in place", "no sync", "no sync of the folder", "errors passed over"};
  const lab_limits limits = {.points = 200, .drawn = 4, .fault_runs = 20, .fault_stride = 1, .read_faults = true};
  for (mistake = CAREFUL; mistake < KINDS; mistake++) {
    lab_report report = {0};
    lab_try(&toy, &limits, &report);
    if (mistake == CAREFUL)
      CHECK_MSG(report.wrong == 0 && report.points >= 200 && report.faults > 0, "%s", report.words);
    else
      CHECK_MSG(report.wrong > 0, "the mistake \"%s\" was not found in %llu images", names[mistake],
                (unsigned long long)report.images);
  }
  return test_result();
}
