/* record_checkpoints.h - what any tier of records that keeps checkpoints is tested with (WORLD_RECORDS, ssdhash_world.h): a
 * random run against the model, and the defects D1 to D5 that OpenEmbedding's persistent tables have, by name. */
#ifndef TS_TEST_RECORD_CHECKPOINTS_H
#define TS_TEST_RECORD_CHECKPOINTS_H

#include "test/ssdhash_checkpoints.h"

/* Options of a small table. */
#ifndef CP_OPTIONS
static const char *const small[] = {"file_bytes=32768", "buffer_bytes=4096", NULL};
#define CP_OPTIONS small
#endif

/* ---- the model ---- */

static void model_test(const char *name, uint64_t limit, uint32_t rounds, uint32_t most_kept, bool expect_full,
                       const char *const *options) {
  world w;
  static cp_model m;
  const char *directory = where(name);
  cp_make(&m, &w, directory, limit, limit + rounds, options);
  uint64_t compactions = 0, retained_rows = 0;
  ts_records_counts counts;
  uint32_t reopened = 0, dropped = 0;
  for (uint32_t round = 0; round < rounds && test_failures == 0; round++) {
    const uint64_t what = cp_random(&m, 100);
    if (what < 60) {
      for (uint64_t i = cp_random(&m, 60); i > 0; i--) {
        const uint64_t a = cp_random(&m, CP_KEYS), b = cp_random(&m, CP_KEYS);
        cp_put_one(&m, (uint32_t)(a * b / CP_KEYS));
      }
    } else if (what < 68) {
      for (uint64_t i = cp_random(&m, 20); i > 0; i--) cp_remove_one(&m, (uint32_t)cp_random(&m, CP_KEYS));
    } else if (what < 76 && !cp_pending(&m) && m.n < most_kept) {
      const int32_t status = cp_begin(&m, (uint32_t)cp_random(&m, 5));
      CHECK_MSG(status == TS_OK || (expect_full && status == TS_EFULL), "%s", w.message);
    } else if (what < 80 && cp_pending(&m)) {
      cp_put_waiting(&m, (uint32_t)cp_random(&m, 30));
    } else if (what < 88 && cp_pending(&m)) {
      const int32_t status = cp_complete(&m);
      CHECK_MSG(status == TS_OK || (expect_full && status == TS_EFULL), "%d %s", status, w.message);
      if (status != TS_OK && cp_complete_ones(&m) > 1) CHECK(cp_drop(&m, 0) == TS_OK);
    } else if (what < 94 && m.n > 0 && (m.n == most_kept || cp_random(&m, 4) == 0)) {
      const uint32_t at = cp_random(&m, 2) == 0 ? 0 : (uint32_t)cp_random(&m, m.n);
      if (m.all[at].complete && cp_complete_ones(&m) == 1) {
        CHECK_MSG(m.cuts->drop(w.table, m.all[at].number, err_of(&w)) == TS_EINVAL && strstr(w.message, "only complete"), "%s",
                  w.message);
      } else {
        CHECK_MSG(cp_drop(&m, at) == TS_OK, "%s", w.message);
        dropped++;
      }
    } else if (what < 96 && cp_complete_ones(&m) > 0) {
      const uint32_t at = (uint32_t)cp_random(&m, cp_complete_ones(&m));
      ops->count(w.table, &counts);
      compactions += counts.compactions;
      retained_rows += counts.retained_rows;
      world_close(&w, true);
      cp_reopen(&m, at, at == cp_complete_ones(&m) - 1 && cp_random(&m, 2) == 0);
      reopened++;
    } else if (what < 97) {
      CHECK(ops->flush(w.table, err_of(&w)) == TS_OK);
    }
    if (round % 10 == 0 || test_failures > 0) {
      /* Waiting rows are not in the table yet. */
      static cp_state in_table;
      in_table = m.now;
      bool waiting = false;
      for (uint32_t i = 0; i < CP_KEYS; i++) waiting |= m.waiting[i] != 0;
      if (!waiting) cp_check(&w, &in_table, name);
    }
    CHECK_MSG(w.medium.used <= limit && du(directory) <= limit, "%llu and %llu bytes of %llu",
              (unsigned long long)w.medium.used, (unsigned long long)du(directory), (unsigned long long)limit);
    CHECK(w.dram.used <= w.dram.limit);
  }
  ops->count(w.table, &counts);
  compactions += counts.compactions;
  retained_rows += counts.retained_rows;
  /* Every checkpoint that is left, from the newest on. */
  uint32_t left = cp_complete_ones(&m);
  for (; left > 0 && test_failures == 0; left--) {
    world_close(&w, true);
    cp_reopen(&m, left - 1, false);
    cp_check(&w, &m.now, "at the end");
  }
  CHECK_MSG(reopened > 0 && dropped > 0, "%s: %u reopened, %u dropped", name, reopened, dropped);
  if (ops == &ts_ssdhash_records)
    CHECK_MSG(compactions > 0 && retained_rows > 0, "%s: %llu compactions, %llu rows retained by them", name,
              (unsigned long long)compactions, (unsigned long long)retained_rows);
  CHECK_MSG((m.full > 0) == expect_full, "%s: %llu calls were refused", name, (unsigned long long)m.full);
  world_end(&w);
  CHECK_MSG(du(directory) == 0, "%llu bytes stay", (unsigned long long)du(directory));
}

/* ---- D1 to D5: defects of another system's persistent tables; what each is, its test's name says ---- */

static void put_range(cp_model *m, uint32_t first, uint32_t end) {
  for (uint32_t i = first; i < end; i++) CHECK_MSG(cp_put_one(m, i), "%s", m->w->message);
}

static void take(cp_model *m) {
  CHECK_MSG(cp_begin(m, 0) == TS_OK && cp_complete(m) == TS_OK, "%s", m->w->message);
}

/* D1: 64 keys, checkpoint 1; on to later rows of all of them; back to 1; only key 0 is trained; the next checkpoint has the
 * rows of checkpoint 1 but for key 0, however the files of the abandoned timeline are read. */
static void d1_rows_of_an_abandoned_timeline_never_come_back(void) {
  world w;
  static cp_model m;
  cp_make(&m, &w, where("d1"), 1 << 20, 1, CP_OPTIONS);
  put_range(&m, 0, 64);
  take(&m);
  for (uint32_t batch = 0; batch < 10; batch++) {
    put_range(&m, 0, 65);
    CHECK(ops->flush(w.table, err_of(&w)) == TS_OK);
  }
  CHECK(cp_begin(&m, 0) == TS_OK); /* numbered as what comes later */
  put_range(&m, 0, 65);
  CHECK(ops->flush(w.table, err_of(&w)) == TS_OK);
  world_close(&w, true);
  cp_reopen(&m, 0, true);
  cp_check(&w, &m.now, "D1 restored");
  for (uint32_t batch = 0; batch < 20; batch++) put_range(&m, 0, 1);
  take(&m);
  world_close(&w, true);
  cp_reopen(&m, 1, true);
  cp_check(&w, &m.now, "D1 restored again");
  CHECK(m.now.stamp[64] == 0 && m.number == 2);
  world_end(&w);
}

/* D2: a checkpoint stays incomplete while rows are replaced under pressure; what it retains is there when it is complete,
 * and later ones do not take it. */
static void d2_a_checkpoint_that_is_listed_has_all_its_rows(void) {
  world w;
  static cp_model m;
  cp_make(&m, &w, where("d2"), 400 << 10, 2, CP_OPTIONS);
  put_range(&m, 0, 40);
  take(&m);
  CHECK(cp_begin(&m, 2) == TS_OK);
  for (uint32_t batch = 0; batch < 60; batch++) put_range(&m, 0, 40);
  CHECK_MSG(cp_complete(&m) == TS_OK, "%s", w.message);
  for (uint32_t more = 0; more < 2; more++) {
    for (uint32_t batch = 0; batch < 60; batch++) put_range(&m, 0, 40);
    take(&m);
  }
  ts_records_counts counts;
  ops->count(w.table, &counts);
  /* Where records lie in a log it was compacted meanwhile; elsewhere places were used again. */
  if (ops == &ts_ssdhash_records) CHECK(counts.compactions > 0 && counts.retained_rows > 0);
  CHECK(counts.bytes_written > 4 * counts.medium_bytes && counts.retained > 0);
  CHECK(m.n == 4);
  for (uint32_t at = 4; at-- > 0;) {
    world_close(&w, true);
    cp_reopen(&m, at, false);
    cp_check(&w, &m.now, "D2");
  }
  world_end(&w);
}

static void d3_a_dropped_checkpoint_is_refused(void) {
  world w;
  static cp_model m;
  cp_make(&m, &w, where("d3"), 1 << 20, 3, CP_OPTIONS);
  for (uint32_t i = 0; i < 3; i++) {
    put_range(&m, 0, 40);
    take(&m);
  }
  CHECK(cp_drop(&m, 0) == TS_OK);
  cp_check_list(&m, &w);
  world_close(&w, true);
  w.open.at = 1;
  CHECK_MSG(world_open(&w) == TS_EINVAL && strstr(w.message, "checkpoint 1") != NULL && strstr(w.message, "2, 3") != NULL, "%s",
            w.message);
  w.open.at = 4;
  CHECK_MSG(world_open(&w) == TS_EINVAL, "%s", w.message);
  cp_reopen(&m, 1, true);
  cp_check(&w, &m.now, "D3");
  CHECK_MSG(m.cuts->drop(w.table, 1, err_of(&w)) == TS_EINVAL && m.cuts->drop(w.table, 7, err_of(&w)) == TS_EINVAL, "%s", w.message);
  world_end(&w);
}

static void d4_rows_of_another_layout_are_refused(void) {
  world w;
  static cp_model m;
  static const uint64_t sixteen[] = {16, 2}, twelve[] = {12, 2};
  cp_make(&m, &w, where("d4"), 1 << 20, 4, CP_OPTIONS);
  world_close(&w, false);
  w.open.layout = sixteen;
  w.open.layout_words = 2;
  CHECK(world_open(&w) == TS_OK);
  put_range(&m, 0, 40);
  take(&m);
  world_close(&w, true);
  w.open.layout = twelve; /* as many bytes */
  CHECK_MSG(world_open(&w) == TS_EFORMAT && strstr(w.message, "word 0") != NULL && strstr(w.message, "16") != NULL &&
                strstr(w.message, "12") != NULL,
            "%s", w.message);
  w.open.layout_words = 1;
  CHECK_MSG(world_open(&w) == TS_EFORMAT, "%s", w.message);
  w.open.layout = sixteen;
  w.open.layout_words = 2;
  w.open.row_bytes = CP_ROW + 8;
  CHECK_MSG(world_open(&w) == TS_EFORMAT && strstr(w.message, "72") != NULL && strstr(w.message, "80") != NULL, "%s", w.message);
  w.open.row_bytes = CP_ROW;
  cp_reopen(&m, 0, true);
  cp_check(&w, &m.now, "D4");
  world_end(&w);
}

/* D5: from the first complete checkpoint on there is one at every instant: between the drop of one and the completion of
 * another, and whatever fails. */
static void d5_there_is_always_a_checkpoint(void) {
  world w, v;
  static cp_model m;
  char copy[512], command[1100], why[600];
  const char *directory = where("d5");
  cp_make(&m, &w, directory, 1 << 20, 5, CP_OPTIONS);
  put_range(&m, 0, 40);
  take(&m);
  static cp_state first, second;
  first = m.now;
  CHECK(m.cuts->drop(w.table, 1, err_of(&w)) == TS_EINVAL);
  for (uint32_t at = 0; at < 5; at++) {
    if (at == 1) put_range(&m, 0, 40);
    if (at == 2) CHECK(cp_begin(&m, 3) == TS_OK);
    if (at == 3) CHECK(cp_complete(&m) == TS_OK);
    if (at == 3) second = m.now;
    if (at == 4) CHECK(cp_drop(&m, 0) == TS_OK);
    snprintf(copy, sizeof copy, "%s.copy%u", directory, at);
    snprintf(command, sizeof command, "cp -r %s %s", directory, copy);
    CHECK(system(command) == 0);
    world_make(&v, copy, "t", CP_ROW, 1 << 20, 8 << 20, CP_OPTIONS);
    CHECK_MSG(world_open(&v) == TS_OK, "%s", v.message);
    if (v.table != NULL) CHECK_MSG(cp_equal(&v, at < 3 ? &first : &second, why, sizeof why), "%u: %s", at, why);
    world_end(&v);
  }
  world_end(&w);
}

#endif
