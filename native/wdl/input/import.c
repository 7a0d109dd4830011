/* criteo.c - imports Criteo text: streams lines into two cache files and counts the distinct keys of every column.
 *
 * Memory: two row groups, a megabyte of text, and the sets of distinct keys (see key_set.h); any length of file. */
#include "wdl/control.h"
#include "wdl/input/criteo_line.h"
#include "wdl/input/key_set.h"
#include "wdl/input/text_source.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* One of the two files being written. */
typedef struct output {
  ts_cache_writer writer;
  ts_cache_header header;
  ts_cache_group *group;
  uint64_t clicks;
} output;

typedef struct import {
  ts_text_source text;
  ts_criteo_layout layout;
  output train, test;
  ts_key_set keys[TS_CATEGORIES]; /* of the train rows */
  uint64_t test_every, max_rows, rows;
  uint64_t *control;
} import;

static int32_t flush(output *o, ts_err err) {
  uint64_t index = (o->header.rows - 1) / TS_CACHE_GROUP;
  uint32_t rows = (uint32_t)(o->header.rows - index * TS_CACHE_GROUP);
  o->header.key_digest += ts_cache_group_digest(o->group, index, rows);
  int32_t status = ts_cache_writer_group(&o->writer, index, o->group, err);
  memset(o->group, 0, sizeof *o->group);
  return status;
}

static int32_t append(output *o, const ts_criteo_row *row, ts_err err) {
  uint32_t at = (uint32_t)(o->header.rows++ % TS_CACHE_GROUP);
  o->group->labels[at] = row->label;
  o->clicks += row->label > 0;
  for (uint32_t j = 0; j < TS_NUMERICS; j++) o->group->numerics[j][at] = row->numerics[j];
  for (uint32_t c = 0; c < TS_CATEGORIES; c++) o->group->keys[c][at] = row->keys[c];
  return at + 1 == TS_CACHE_GROUP ? flush(o, err) : TS_OK;
}

static int32_t add_row(import *m, const ts_criteo_row *row, ts_err err) {
  m->rows++;
  if (m->rows % m->test_every == 0) return append(&m->test, row, err);
  bool added;
  for (uint32_t c = 0; c < TS_CATEGORIES; c++)
    if (!ts_key_set_add(&m->keys[c], row->keys[c], &added))
      return ts_fail(err, TS_ENOMEM, "Cannot import \"%s\": no memory for the distinct keys of column C%u",
                     m->text.path, c + 1);
  return append(&m->train, row, err);
}

static int32_t read_rows(import *m, uint32_t format, ts_err err) {
  ts_criteo_place place = {m->text.path, 0}, blank = {m->text.path, 0};
  bool started = false;
  while (m->max_rows == 0 || m->rows < m->max_rows) {
    char *line;
    uint64_t length;
    int32_t status = ts_text_source_line(&m->text, &line, &length, err);
    if (status != TS_OK) return status;
    if (line == NULL) break;
    place.line = m->text.line;
    if (blank.line != 0)
      return ts_fail(err, TS_EFORMAT, "%s:%llu: the line is empty and not the last one", blank.path,
                     (unsigned long long)blank.line);
    if (place.line == 1 && strncmp(line, "\xef\xbb\xbf", 3) == 0) line += 3; /* byte order mark */
    if (*line == '\0') {
      blank.line = place.line;
      continue;
    }
    bool header = false;
    if (!started) {
      started = true;
      status = ts_criteo_layout_find(line, format, place, &m->layout, &header, err);
      if (status != TS_OK) return status;
    }
    ts_criteo_row row;
    if (!header) {
      status = ts_criteo_parse(&m->layout, line, place, &row, err);
      if (status == TS_OK) status = add_row(m, &row, err);
      if (status != TS_OK) return status;
    }
    if (m->text.line % 4096 == 0) {
      ts_control_set(m->control, m->text.consumed);
      if (ts_control_cancelled(m->control)) return ts_fail(err, TS_ECANCELLED, "The import was cancelled");
    }
  }
  if (m->train.header.rows == 0)
    return ts_fail(err, TS_EFORMAT, "Cannot import \"%s\": it holds %llu rows, too few for a train file", m->text.path,
                   (unsigned long long)m->rows);
  return TS_OK;
}

/* After all rows: how much of the test file was never seen in training, and its own distinct keys. */
static int32_t compare(import *m, ts_err err) {
  ts_cache written = {.fd = m->test.writer.fd, .path = m->test.writer.path, .header = m->test.header};
  int64_t keys[TS_CACHE_GROUP];
  uint64_t unseen = 0, rows = m->test.header.rows;
  int32_t status = TS_OK;
  for (uint32_t c = 0; c < TS_CATEGORIES && status == TS_OK; c++) {
    ts_key_set own = {0};
    for (uint64_t first = 0; first < rows && status == TS_OK; first += TS_CACHE_GROUP) {
      uint64_t count = TS_MIN(rows - first, TS_CACHE_GROUP);
      status = ts_cache_read_column(&written, c, first, count, keys, err);
      for (uint64_t i = 0; i < count && status == TS_OK; i++) {
        bool added;
        if (!ts_key_set_add(&own, keys[i], &added))
          status = ts_fail(err, TS_ENOMEM, "Cannot import \"%s\": no memory for the distinct keys", m->text.path);
        unseen += !ts_key_set_has(&m->keys[c], keys[i]);
      }
    }
    m->train.header.cardinality[c] = m->keys[c].count;
    m->test.header.cardinality[c] = own.count;
    ts_key_set_free(&own);
  }
  if (rows > 0) m->test.header.unseen_share = (double)unseen / ((double)rows * TS_CATEGORIES);
  return status;
}

static int32_t open_output(output *o, const char *path, uint32_t split, ts_err err) {
  double unknown = __builtin_nan("");
  o->header = (ts_cache_header){.vocabulary = TS_VOCABULARY_IMPORTED,
                                .split = split,
                                .scale = unknown,
                                .skew_s = unknown,
                                .skew_q = unknown,
                                .planted_auc = unknown,
                                .planted_logloss = unknown,
                                .numeric_auc = unknown,
                                .categorical_variance = unknown,
                                .unseen_share = unknown};
  o->group = calloc(1, sizeof *o->group);
  if (o->group == NULL) return ts_fail(err, TS_ENOMEM, "Cannot import Criteo text: out of memory");
  return ts_cache_writer_open(path, &o->writer, err);
}

static int32_t finish_output(output *o, ts_err err) {
  int32_t status = o->header.rows % TS_CACHE_GROUP != 0 ? flush(o, err) : TS_OK;
  o->header.click_rate = o->header.rows > 0 ? (double)o->clicks / (double)o->header.rows : __builtin_nan("");
  return status;
}

static int32_t put_in_place(import *m, const char *train_out, ts_err err) {
  int32_t status = ts_cache_writer_header(&m->train.writer, &m->train.header, err);
  if (status == TS_OK) status = ts_cache_writer_header(&m->test.writer, &m->test.header, err);
  if (status == TS_OK) status = ts_cache_writer_rename(&m->train.writer, err);
  if (status != TS_OK) return status;
  status = ts_cache_writer_rename(&m->test.writer, err);
  if (status != TS_OK) unlink(train_out); /* the two files go together */
  return status;
}

static void close_output(output *o) {
  ts_cache_writer_close(&o->writer);
  free(o->group);
}

int32_t ts_data_import(const ts_config *config, uint64_t *control, char *err_text, uint32_t err_cap) {
  ts_err err = {err_text, err_cap};
  static const char *const formats[] = {"auto", "tsv", "csv", NULL};
  ts_config_reader r = ts_config_read(config, "Criteo text", err);
  const char *in = ts_config_text(&r, "in", NULL), *train_out = ts_config_text(&r, "train_out", NULL),
             *test_out = ts_config_text(&r, "test_out", NULL);
  uint32_t format = ts_config_choice(&r, "format", "auto", formats);
  uint64_t test_every = ts_config_u64(&r, "test_every", 10, 2, UINT64_MAX);
  uint64_t max_rows = ts_config_u64(&r, "max_rows", 0, 0, UINT64_MAX);
  int32_t status = ts_config_finish(&r);
  if (status != TS_OK) return status;
  if (in == NULL || train_out == NULL || test_out == NULL)
    return ts_fail(err, TS_EINVAL, "Cannot import Criteo text: option \"%s\" is required",
                   in == NULL          ? "in"
                   : train_out == NULL ? "train_out"
                                       : "test_out");
  if (strcmp(train_out, test_out) == 0)
    return ts_fail(err, TS_EINVAL, "Cannot import Criteo text: \"train_out\" and \"test_out\" are both \"%s\"",
                   train_out);
  import *m = calloc(1, sizeof *m);
  if (m == NULL) return ts_fail(err, TS_ENOMEM, "Cannot import Criteo text: out of memory");
  m->test_every = test_every;
  m->max_rows = max_rows;
  m->control = control;
  m->train.writer.fd = m->test.writer.fd = -1;
  status = ts_text_source_open(in, &m->text, err);
  if (status == TS_OK) ts_control_start(control, m->text.total);
  if (status == TS_OK) status = open_output(&m->train, train_out, 0, err);
  if (status == TS_OK) status = open_output(&m->test, test_out, 1, err);
  if (status == TS_OK) status = read_rows(m, format, err);
  if (status == TS_OK) status = finish_output(&m->train, err);
  if (status == TS_OK) status = finish_output(&m->test, err);
  if (status == TS_OK) status = compare(m, err);
  if (status == TS_OK) status = put_in_place(m, train_out, err);
  if (status == TS_OK) ts_control_set(control, m->text.total);
  close_output(&m->train);
  close_output(&m->test);
  for (uint32_t c = 0; c < TS_CATEGORIES; c++) ts_key_set_free(&m->keys[c]);
  ts_text_source_close(&m->text);
  free(m);
  return status;
}
