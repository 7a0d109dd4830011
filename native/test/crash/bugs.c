/* bugs.c - the bugs that are seeded in the sources, and the switch that puts one of them in. */
#include "base/seeded_bug.h"
#include "test/crash/lab.h"

#include <string.h>

const char *lab_bug;

bool ts_seeded_bug(const char *name) { return lab_bug != NULL && strcmp(lab_bug, name) == 0; }

const char *const lab_bugs[] = {
#include "bugs.inc" /* the Makefile reads them off the sources */
    NULL};

const char *const lab_store_bugs[] = {
#include "store_bugs.inc"
    NULL};

const char *const lab_pmem_bugs[] = {
#include "pmem_bugs.inc"
    NULL};

const char *const lab_points_bugs[] = {
#include "points_bugs.inc"
    NULL};

const char *const lab_syncs[] = {"data", "compacted data", "manifest", "folder", "folder above", NULL};
