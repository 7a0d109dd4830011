/* import.c - Criteo text into two cache files, by several threads, in the order of the files whatever their number.
 *
 * Rounds of three steps, each over all threads:
 *   1. parse the blocks of this round; one thread reads (and inflates) those of the next
 *   2. column by column: copy to train or test file, count the distinct keys
 *   3. write the groups that are full
 * Between 1 and 2 the calling thread walks over the blocks in their order and decides which rows count and what becomes
 * of broken lines. So rows, counts and messages are those of one reader.
 *
 * Memory: four blocks of text and two of columns a reader, groups for the rows of a round, and the sets of distinct
 * keys (key_set.h); any length of file. */
#include "base/control.h"
#include "wdl/input/criteo_parse.h"
#include "wdl/input/import_output.h"
#include "wdl/input/key_set.h"
#include "wdl/input/text_source.h"

#include "base/cpu_level.h"

#include <stdatomic.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MOST_READERS 256u
#define BLOCKS_A_READER 2u

/* A file of the list. */
typedef struct file {
  char *path;
  ts_criteo_layout layout;
  bool known; /* the layout */
  uint64_t bytes;
} file;

/* A block of text. */
typedef struct piece {
  char *memory; /* margin, text, margin */
  file *of;
  uint64_t lines_before; /* its header and what is before it */
  uint32_t begin, n;     /* in the text: what is to be parsed */
  bool too_long;
  int32_t status; /* reading failed here */
  char message[512];
} piece;

/* Rows [from, to) of a block that go to the files. */
typedef struct span {
  const ts_criteo_block *block;
  uint32_t from, to;
} span;

typedef struct import {
  file *files;
  uint32_t file_count, format, readers, blocks;
  uint64_t test_every, max_rows, *control;
  bool skip;
  uint32_t level;
  ts_numerics *numerics;
  ts_pool *pool;
  ts_import_output train, test;
  ts_key_set keys[TS_CATEGORIES], own[TS_CATEGORIES]; /* of the train rows; of the test rows */

  /* reading */
  ts_text_source source;
  uint32_t reading; /* file of the source */
  bool read_all;
  uint64_t read_bytes; /* of the files before it */
  piece *pieces[2];    /* `blocks` each: of this round and of the next */
  uint32_t piece_count[2];
  uint32_t now; /* which is this round's */
  ts_criteo_block **parsed;

  /* the walk over the blocks */
  const file *at_file;
  uint64_t line;                    /* lines of this file so far */
  uint64_t empty_line, empty_lines; /* the first of the empty lines just before, and how many */
  uint64_t rows;                    /* so far, of both files */
  span *spans;
  uint32_t span_count, span_room;
  uint64_t skipped[TS_CACHE_FAULTS];
  char first_skipped[256];

  /* failures of parallel parts */
  atomic_int status;
  char message[512];
  uint64_t unseen[TS_CATEGORIES], *digests;
  uint64_t train_full; /* groups of training to be written in step 3 */
} import;

static void fail(import *m, int32_t status, const char *message) {
  int expected = TS_OK;
  if (atomic_compare_exchange_strong(&m->status, &expected, status))
    snprintf(m->message, sizeof m->message, "%s", message);
}

static int32_t run_parts(import *m, uint32_t parts, void (*task)(void *, uint32_t), ts_err err) {
  ts_pool_run(m->pool, parts, task, m);
  int32_t status = atomic_load(&m->status);
  return status == TS_OK ? TS_OK : ts_fail(err, status, "%s", m->message);
}

/* ---- step 1: reading ---- */

/* The first text of a file: byte order mark, layout, header. */
static int32_t begin_file(import *m, piece *p, ts_err err) {
  char *text = p->memory + TS_PARSE_MARGIN;
  uint64_t header;
  if (p->n >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) p->begin = 3;
  int32_t status =
      ts_criteo_layout_find(text + p->begin, p->n - p->begin, m->format, p->of->path, &p->of->layout, &header, err);
  for (uint64_t i = 0; i < header; i++) p->lines_before += text[p->begin + i] == '\n';
  p->begin += (uint32_t)header;
  p->of->known = status == TS_OK;
  return status;
}

/* Reads on; false at the end of the last file. */
static bool read_piece(import *m, piece *p) {
  ts_err err = {p->message, sizeof p->message};
  char *text = p->memory + TS_PARSE_MARGIN;
  for (;;) {
    if (m->read_all) return false;
    p->of = &m->files[m->reading];
    p->begin = p->n = 0;
    p->lines_before = 0;
    p->too_long = false;
    p->status = TS_OK;
    bool end = false;
    if (m->source.fd < 0) p->status = ts_text_source_open(p->of->path, TS_BLOCK_BYTES, &m->source, err);
    if (p->status == TS_OK) p->status = ts_text_source_block(&m->source, text, &p->n, &p->too_long, &end, err);
    if (p->status == TS_OK && p->n > 0 && !p->of->known) p->status = begin_file(m, p, err);
    m->read_all = p->status != TS_OK;
    if (end) {
      m->read_bytes += m->source.total;
      ts_text_source_close(&m->source);
      m->reading++;
      m->read_all = m->reading == m->file_count;
      continue;
    }
    return true;
  }
}

static void read_next(import *m) {
  uint32_t next = 1 - m->now, n = 0;
  while (n < m->blocks && read_piece(m, &m->pieces[next][n])) n++;
  m->piece_count[next] = n;
}

/* Part 0 reads the next round's text, the others parse this round's. */
static void read_and_parse(void *context, uint32_t part) {
  import *m = context;
  if (part == 0) {
    read_next(m);
    return;
  }
  const piece *p = &m->pieces[m->now][part - 1];
  ts_criteo_block *b = m->parsed[part - 1];
  b->rows = b->lines = b->fault_count = 0;
  if (p->status != TS_OK || p->n == p->begin) return;
  if (!ts_criteo_parse(m->level, &p->of->layout, m->numerics, p->memory + TS_PARSE_MARGIN + p->begin, p->n - p->begin,
                       m->skip, b))
    fail(m, TS_ENOMEM, "Cannot import Criteo text: no memory for what is wrong with its lines");
}

/* ---- the walk over the blocks, in order ---- */

/* A broken line: the end of the import, or counted. */
static int32_t meet_fault(import *m, uint64_t line, uint32_t kind, uint64_t count, const char *what, ts_err err) {
  if (!m->skip) return ts_fail(err, TS_EFORMAT, "%s:%llu: %s", m->at_file->path, (unsigned long long)line, what);
  if (m->first_skipped[0] == '\0') {
    /* A message is one line of text; the path may be long, what is wrong is at the end. */
    const char *name = strrchr(m->at_file->path, '/');
    snprintf(m->first_skipped, sizeof m->first_skipped, "%.64s:%llu: %.150s",
             name == NULL ? m->at_file->path : name + 1, (unsigned long long)line, what);
  }
  m->skipped[kind] += count;
  return TS_OK;
}

/* Something follows the empty lines of this file, so they were not its end. */
static int32_t settle_empty_lines(import *m, ts_err err) {
  uint64_t count = m->empty_lines;
  char what[96];
  m->empty_lines = 0;
  if (count == 0) return TS_OK;
  ts_fault_text(TS_FAULT_EMPTY, -1, what, sizeof what);
  return meet_fault(m, m->empty_line, TS_FAULT_EMPTY, count, what, err);
}

static bool has_enough(const import *m) { return m->max_rows != 0 && m->rows >= m->max_rows; }

static int32_t take_rows(import *m, const ts_criteo_block *block, uint32_t from, uint32_t to, ts_err err) {
  if (from == to) return TS_OK;
  int32_t status = settle_empty_lines(m, err);
  if (status != TS_OK) return status;
  if (m->max_rows != 0) to = (uint32_t)TS_MIN(to, from + (m->max_rows - m->rows));
  if (m->span_count == m->span_room) {
    uint32_t room = TS_MAX(m->span_room * 2, 64);
    span *larger = realloc(m->spans, room * sizeof *larger);
    if (larger == NULL) return ts_fail(err, TS_ENOMEM, "Cannot import Criteo text: out of memory");
    m->spans = larger;
    m->span_room = room;
  }
  m->spans[m->span_count++] = (span){block, from, to};
  m->rows += to - from;
  return TS_OK;
}

static int32_t walk_block(import *m, const piece *p, const ts_criteo_block *b, ts_err err) {
  uint32_t taken = 0;
  int32_t status = TS_OK;
  char what[160];
  for (uint32_t i = 0; i < b->fault_count; i++) {
    const ts_criteo_fault *f = &b->faults[i];
    status = take_rows(m, b, taken, f->rows, err);
    if (status != TS_OK || has_enough(m)) return status;
    taken = f->rows;
    uint64_t line = m->line + f->line + 1;
    if (f->kind == TS_FAULT_EMPTY) {
      if (m->empty_lines++ == 0) m->empty_line = line;
      continue;
    }
    status = settle_empty_lines(m, err);
    ts_criteo_fault_text(f, &p->of->layout, what, sizeof what);
    if (status == TS_OK) status = meet_fault(m, line, f->kind, 1, what, err);
    if (status != TS_OK) return status;
  }
  status = take_rows(m, b, taken, b->rows, err);
  m->line += b->lines;
  return status;
}

static int32_t walk(import *m, ts_err err) {
  m->span_count = 0;
  for (uint32_t i = 0; i < m->piece_count[m->now] && !has_enough(m); i++) {
    const piece *p = &m->pieces[m->now][i];
    if (p->of != m->at_file) {
      m->at_file = p->of;
      m->line = m->empty_lines = 0;
    }
    if (p->status == TS_EFORMAT && p->of->known) /* a damaged stream; a bad header names its line itself */
      return ts_fail(err, p->status, "%s (in line %llu)", p->message, (unsigned long long)m->line + 1);
    if (p->status != TS_OK) return ts_fail(err, p->status, "%s", p->message);
    m->line += p->lines_before;
    int32_t status = walk_block(m, p, m->parsed[i], err);
    if (status == TS_OK && p->too_long && !has_enough(m)) {
      char what[96];
      ts_fault_text(TS_FAULT_LONG, -1, what, sizeof what);
      m->line++;
      status = settle_empty_lines(m, err);
      if (status == TS_OK) status = meet_fault(m, m->line, TS_FAULT_LONG, 1, what, err);
    }
    if (status != TS_OK) return status;
  }
  return TS_OK;
}

/* ---- step 2: columns ---- */

/* One column's values, 4 or 8 bytes each, into the two files; `value` is where the column is in a group. */
#define COPY(TYPE, SOURCE, TARGET)                                                           \
  for (uint32_t i = 0; i < m->span_count; i++) {                                             \
    const span *s = &m->spans[i];                                                            \
    const TYPE *from = (SOURCE);                                                             \
    for (uint32_t r = s->from; r < s->to; r++) {                                             \
      bool held_out = --to_test == 0;                                                        \
      if (held_out) to_test = m->test_every;                                                 \
      uint64_t *row = held_out ? &test : &train;                                             \
      ts_cache_group *group = ts_import_output_group(held_out ? &m->test : &m->train, *row); \
      (TARGET)[(*row)++ % TS_CACHE_GROUP] = from[r];                                         \
    }                                                                                        \
  }

/* Part 0 is the labels, then come the numerics, then the keys. */
static void copy_column(void *context, uint32_t part) {
  import *m = context;
  /* Rows before this round. */
  uint64_t train = m->train.header.rows, test = m->test.header.rows;
  uint64_t to_test = m->test_every - (train + test) % m->test_every;
  if (part == 0) {
    COPY(float, s->block->labels, group->labels)
  } else if (part <= TS_NUMERICS) {
    COPY(float, s->block->numerics[part - 1], group->numerics[part - 1])
  } else {
    uint32_t c = part - 1 - TS_NUMERICS;
    COPY(int64_t, s->block->keys[c], group->keys[c])
    for (uint64_t row = m->train.header.rows; row < train;) {
      uint64_t at = row % TS_CACHE_GROUP, n = TS_MIN(TS_CACHE_GROUP - at, train - row);
      if (!ts_key_set_add_all(&m->keys[c], ts_import_output_group(&m->train, row)->keys[c] + at, n)) {
        char what[96];
        snprintf(what, sizeof what, "Cannot import Criteo text: no memory for the distinct keys of column C%u", c + 1);
        fail(m, TS_ENOMEM, what);
        return;
      }
      row += n;
    }
  }
}

/* ---- step 3: writing ---- */

static void write_group(void *context, uint32_t part) {
  import *m = context;
  char message[512];
  ts_import_output *o = part < m->train_full ? &m->train : &m->test;
  uint64_t index = part < m->train_full ? part : part - m->train_full;
  uint32_t rows = (uint32_t)TS_MIN(o->header.rows - (o->first + index) * TS_CACHE_GROUP, TS_CACHE_GROUP);
  const ts_cache_group *group = o->groups[index];
  uint64_t clicks = 0;
  for (uint32_t i = 0; i < rows; i++) clicks += group->labels[i] > 0;
  __atomic_fetch_add(&o->clicks, clicks, __ATOMIC_RELAXED);
  int32_t status = ts_import_output_write(o, index, rows, &m->digests[part], (ts_err){message, sizeof message});
  if (status != TS_OK) fail(m, status, message);
}

/* Writes the full groups; at the end, all. */
static int32_t write_groups(import *m, bool all, ts_err err) {
  ts_import_output *const outputs[2] = {&m->train, &m->test};
  uint64_t full[2];
  for (int k = 0; k < 2; k++)
    full[k] = (outputs[k]->header.rows + (all ? TS_CACHE_GROUP - 1 : 0)) / TS_CACHE_GROUP - outputs[k]->first;
  m->train_full = full[0];
  free(m->digests);
  m->digests = calloc(full[0] + full[1] + 1, sizeof *m->digests);
  if (m->digests == NULL) return ts_fail(err, TS_ENOMEM, "Cannot import Criteo text: out of memory");
  int32_t status = run_parts(m, (uint32_t)(full[0] + full[1]), write_group, err);
  if (status != TS_OK) return status;
  for (uint64_t i = 0; i < full[0] + full[1]; i++) outputs[i >= full[0]]->header.key_digest += m->digests[i];
  for (int k = 0; k < 2; k++) ts_import_output_rotate(outputs[k], full[k]);
  return TS_OK;
}

/* ---- all rounds ---- */

static int32_t import_rows(import *m, ts_err err) {
  m->now = 1;
  read_next(m); /* into pieces[0] */
  for (m->now = 0; m->piece_count[m->now] > 0 && !has_enough(m); m->now = 1 - m->now) {
    int32_t status = run_parts(m, 1 + m->piece_count[m->now], read_and_parse, err);
    if (status == TS_OK) status = walk(m, err);
    if (status != TS_OK) return status;
    uint64_t test = m->rows / m->test_every, train = m->rows - test;
    if (!ts_import_output_reserve(&m->train, train) || !ts_import_output_reserve(&m->test, test))
      return ts_fail(err, TS_ENOMEM, "Cannot import Criteo text: no memory for the rows of a round");
    status = run_parts(m, 1 + TS_NUMERICS + TS_CATEGORIES, copy_column, err);
    if (status != TS_OK) return status;
    m->train.header.rows = train;
    m->test.header.rows = test;
    status = write_groups(m, false, err);
    if (status != TS_OK) return status;
    ts_control_set(m->control, m->read_bytes + m->source.consumed);
    if (ts_control_cancelled(m->control)) return ts_fail(err, TS_ECANCELLED, "The import was cancelled");
  }
  if (m->train.header.rows > 0) return write_groups(m, true, err);
  uint64_t skipped = 0;
  for (uint32_t k = 0; k < TS_FAULTS; k++) skipped += m->skipped[k];
  if (skipped == 0)
    return ts_fail(err, TS_EFORMAT, "Cannot import \"%s\": it holds %llu rows, too few for a train file",
                   m->files[0].path, (unsigned long long)m->rows);
  return ts_fail(
      err, TS_EFORMAT,
      "Cannot import \"%s\": it holds %llu rows, too few for a train file; %llu lines were skipped, first %s",
      m->files[0].path, (unsigned long long)m->rows, (unsigned long long)skipped, m->first_skipped);
}

/* After all rows: how much of the test file was never seen in training, and its own distinct keys. */
static void compare_column(void *context, uint32_t c) {
  import *m = context;
  ts_cache written = {.fd = m->test.writer.fd, .path = m->test.writer.path, .header = m->test.header};
  int64_t keys[TS_CACHE_GROUP];
  char message[512];
  for (uint64_t first = 0; first < m->test.header.rows; first += TS_CACHE_GROUP) {
    uint64_t count = TS_MIN(m->test.header.rows - first, TS_CACHE_GROUP);
    int32_t status = ts_cache_read_column(&written, c, first, count, keys, (ts_err){message, sizeof message});
    if (status == TS_OK && !ts_key_set_add_all(&m->own[c], keys, count)) {
      status = TS_ENOMEM;
      snprintf(message, sizeof message, "Cannot import Criteo text: no memory for the distinct keys of column C%u",
               c + 1);
    }
    if (status != TS_OK) {
      fail(m, status, message);
      return;
    }
    for (uint64_t i = 0; i < count; i++) m->unseen[c] += !ts_key_set_has(&m->keys[c], keys[i]);
  }
}

static int32_t finish_headers(import *m, ts_err err) {
  int32_t status = run_parts(m, TS_CATEGORIES, compare_column, err);
  if (status != TS_OK) return status;
  uint64_t unseen = 0, rows = m->test.header.rows;
  for (uint32_t c = 0; c < TS_CATEGORIES; c++) {
    unseen += m->unseen[c];
    m->train.header.cardinality[c] = m->keys[c].count;
    m->test.header.cardinality[c] = m->own[c].count;
  }
  if (rows > 0) m->test.header.unseen_share = (double)unseen / ((double)rows * TS_CATEGORIES);
  ts_import_output *const outputs[2] = {&m->train, &m->test};
  for (int k = 0; k < 2; k++) {
    ts_cache_header *h = &outputs[k]->header;
    h->click_rate = h->rows > 0 ? (double)outputs[k]->clicks / (double)h->rows : __builtin_nan("");
    memcpy(h->skipped, m->skipped, sizeof h->skipped);
    memcpy(h->first_skipped, m->first_skipped, sizeof h->first_skipped);
  }
  return TS_OK;
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

/* ---- opening and closing ---- */

/* The list of files: paths separated by line ends. */
static int32_t list_files(import *m, const char *in, uint64_t *bytes, ts_err err) {
  uint32_t count = 1;
  for (const char *p = in; *p != '\0'; p++) count += *p == '\n';
  m->files = calloc(count, sizeof *m->files);
  if (m->files == NULL) return ts_fail(err, TS_ENOMEM, "Cannot import Criteo text: out of memory");
  m->file_count = count;
  for (uint32_t i = 0; i < count; i++) {
    size_t n = strcspn(in, "\n");
    struct stat st;
    file *f = &m->files[i];
    f->path = strndup(in, n);
    if (f->path == NULL) return ts_fail(err, TS_ENOMEM, "Cannot import Criteo text: out of memory");
    if (stat(f->path, &st) != 0) return ts_fail(err, TS_EIO, "Cannot open \"%s\": %s", f->path, strerror(errno));
    *bytes += (uint64_t)st.st_size;
    in += n + 1;
  }
  return TS_OK;
}

static int32_t allocate(import *m, ts_err err) {
  m->blocks = m->readers * BLOCKS_A_READER;
  m->numerics = malloc(sizeof *m->numerics);
  m->parsed = calloc(m->blocks, sizeof *m->parsed);
  bool fine = m->numerics != NULL && m->parsed != NULL;
  for (int k = 0; k < 2 && fine; k++) {
    m->pieces[k] = calloc(m->blocks, sizeof **m->pieces);
    fine = m->pieces[k] != NULL;
    for (uint32_t i = 0; i < m->blocks && fine; i++) {
      m->pieces[k][i].memory = calloc(1, TS_BLOCK_BYTES + 2 * TS_PARSE_MARGIN);
      fine = m->pieces[k][i].memory != NULL;
    }
  }
  for (uint32_t i = 0; i < m->blocks && fine; i++) fine = (m->parsed[i] = calloc(1, sizeof **m->parsed)) != NULL;
  return fine ? TS_OK : ts_fail(err, TS_ENOMEM, "Cannot import Criteo text: out of memory");
}

static void release(import *m) {
  ts_import_output_close(&m->train);
  ts_import_output_close(&m->test);
  ts_pool_destroy(m->pool);
  ts_text_source_close(&m->source);
  for (uint32_t c = 0; c < TS_CATEGORIES; c++) {
    ts_key_set_free(&m->keys[c]);
    ts_key_set_free(&m->own[c]);
  }
  for (uint32_t i = 0; i < m->blocks; i++) {
    for (int k = 0; k < 2; k++)
      if (m->pieces[k] != NULL) free(m->pieces[k][i].memory);
    if (m->parsed == NULL || m->parsed[i] == NULL) continue;
    ts_criteo_block_free(m->parsed[i]);
    free(m->parsed[i]);
  }
  for (uint32_t i = 0; i < m->file_count; i++) free(m->files[i].path);
  free(m->pieces[0]);
  free(m->pieces[1]);
  free(m->parsed);
  free(m->files);
  free(m->numerics);
  free(m->spans);
  free(m->digests);
  free(m);
}

int32_t ts_data_import(const ts_config *config, uint64_t *control, char *err_text, uint32_t err_cap) {
  ts_err err = {err_text, err_cap};
  static const char *const formats[] = {"auto", "tsv", "csv", NULL}, *const policies[] = {"error", "skip", NULL};
  import *m = calloc(1, sizeof *m);
  if (m == NULL) return ts_fail(err, TS_ENOMEM, "Cannot import Criteo text: out of memory");
  m->source.fd = m->train.writer.fd = m->test.writer.fd = -1;
  m->control = control;
  m->level = ts_cpu_level();
  ts_config_reader r = ts_config_read(config, "Criteo text", err);
  const char *in = ts_config_text(&r, "in", NULL), *train_out = ts_config_text(&r, "train_out", NULL),
             *test_out = ts_config_text(&r, "test_out", NULL);
  m->format = ts_config_choice(&r, "format", "auto", formats);
  m->test_every = ts_config_u64(&r, "test_every", 10, 2, UINT64_MAX);
  m->max_rows = ts_config_u64(&r, "max_rows", 0, 0, UINT64_MAX);
  m->skip = ts_config_choice(&r, "on_error", "error", policies) == 1;
  uint32_t numerics = ts_config_choice(&r, "numerics", "log", ts_numerics_names);
  m->readers = (uint32_t)ts_config_u64(&r, "readers", 1, 1, MOST_READERS);
  int32_t status = ts_config_finish(&r);
  uint64_t bytes = 0;
  if (status == TS_OK && (in == NULL || train_out == NULL || test_out == NULL))
    status = ts_fail(err, TS_EINVAL, "Cannot import Criteo text: option \"%s\" is required",
                     in == NULL          ? "in"
                     : train_out == NULL ? "train_out"
                                         : "test_out");
  if (status == TS_OK && strcmp(train_out, test_out) == 0)
    status =
        ts_fail(err, TS_EINVAL, "Cannot import Criteo text: \"train_out\" and \"test_out\" are both \"%s\"", train_out);
  if (status == TS_OK) status = list_files(m, in, &bytes, err);
  if (status == TS_OK) status = allocate(m, err);
  if (status == TS_OK) status = ts_pool_create(m->readers, &m->pool, err);
  if (status == TS_OK) {
    ts_numerics_prepare(numerics, m->numerics);
    ts_control_start(control, bytes);
    status = ts_import_output_open(&m->train, train_out, 0, numerics, err);
  }
  if (status == TS_OK) status = ts_import_output_open(&m->test, test_out, 1, numerics, err);
  if (status == TS_OK) status = import_rows(m, err);
  if (status == TS_OK) status = finish_headers(m, err);
  if (status == TS_OK) status = put_in_place(m, train_out, err);
  if (status == TS_OK) ts_control_set(control, bytes);
  release(m);
  return status;
}
