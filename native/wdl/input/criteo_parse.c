/* criteo_parse.c - lines into columns: many regular lines at a time, the others one by one. */
#include "wdl/input/criteo_parse.h"

#include "wdl/input/criteo_kernels.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What all steps of one call share. */
typedef struct parsing {
  const ts_criteo_kernels *kernels;
  const ts_criteo_layout *layout;
  const ts_numerics *numerics;
  const char *text;
  bool keep_on, failed, stopped; /* no memory; at a fault */
  ts_criteo_block *out;
} parsing;

/* Something wrong with a field. */
typedef struct trouble {
  uint32_t kind, n;
  int32_t field;
  const char *text;
} trouble;

void ts_criteo_block_free(ts_criteo_block *block) {
  free(block->faults);
  block->faults = NULL;
  block->fault_capacity = 0;
}

void ts_criteo_fault_text(const ts_criteo_fault *fault, const ts_criteo_layout *layout, char *out, size_t cap) {
  if (fault->kind == TS_FAULT_COLUMNS) {
    bool unlabelled = fault->found + 1 == TS_CRITEO_FIELDS && layout->columns == TS_CRITEO_FIELDS;
    snprintf(out, cap, "expected %u columns, found %u%s", layout->columns, fault->found,
             unlabelled ? " (rows without labels, such as the contest's test.txt, cannot be used)" : "");
    return;
  }
  char what[96];
  ts_fault_text(fault->kind, fault->field, what, sizeof what);
  if (fault->field < 0 && fault->kind != TS_FAULT_QUOTE) snprintf(out, cap, "%s", what);
  else snprintf(out, cap, "%s, found \"%s\"", what, fault->text);
}

/* Notes that the line is no row. An empty one does not stop: it may be the end of the file. */
static void add_fault(parsing *p, uint32_t line, trouble what, uint32_t columns) {
  ts_criteo_block *b = p->out;
  if (b->fault_count == b->fault_capacity) {
    uint32_t capacity = TS_MAX(b->fault_capacity * 2, 16);
    ts_criteo_fault *larger = realloc(b->faults, capacity * sizeof *larger);
    if (larger == NULL) {
      p->failed = p->stopped = true;
      return;
    }
    b->faults = larger;
    b->fault_capacity = capacity;
  }
  ts_criteo_fault *f = &b->faults[b->fault_count++];
  *f = (ts_criteo_fault){.line = line, .rows = b->rows, .kind = what.kind, .field = what.field, .found = columns};
  ts_found_text(what.text, what.n, f->text, sizeof f->text);
  p->stopped |= !p->keep_on && what.kind != TS_FAULT_EMPTY;
}

/* One field by its definition, into a row of the block. */
static uint32_t read_field(parsing *p, int field, const char *text, uint32_t n, uint32_t row) {
  ts_criteo_block *b = p->out;
  if (field == 0) return ts_criteo_label(text, n, &b->labels[row]);
  if (field > (int)TS_NUMERICS) return ts_criteo_key(text, n, &b->keys[field - 1 - (int)TS_NUMERICS][row]);
  double x = 0;
  uint32_t column = (uint32_t)field - 1, fault = n == 0 ? TS_FAULT_NONE : ts_criteo_number(text, n, &x);
  b->numerics[column][row] = ts_numeric_transform(p->numerics->kind, column, x);
  return fault;
}

/* ---- one line ---- */

static void read_line(parsing *p, const char *text, uint32_t n) {
  ts_criteo_block *b = p->out;
  const ts_criteo_layout *layout = p->layout;
  ts_criteo_cell cells[TS_CRITEO_COLUMNS];
  uint32_t line = b->lines++, columns = 0;
  trouble what = {TS_FAULT_NONE, 0, -1, ""};
  if (n > 0 && text[n - 1] == '\r') n--;
  if (n > TS_LINE_BYTES) what.kind = TS_FAULT_LONG;
  else if (n == 0) what.kind = TS_FAULT_EMPTY;
  else if (memchr(text, '\0', n) != NULL) what.kind = TS_FAULT_NUL;
  else if (!ts_criteo_cut(layout->separator, text, n, cells, &columns)) {
    const ts_criteo_cell *last = &cells[TS_MIN(columns, TS_CRITEO_COLUMNS) - 1];
    what = (trouble){TS_FAULT_QUOTE, last->n, -1, last->text};
  } else if (columns != layout->columns) what.kind = TS_FAULT_COLUMNS;
  for (uint32_t k = 0; k < layout->columns && what.kind == TS_FAULT_NONE; k++) {
    int field = layout->field[k];
    uint32_t fault = field < 0 ? TS_FAULT_NONE : read_field(p, field, cells[k].text, cells[k].n, b->rows);
    if (fault != TS_FAULT_NONE) what = (trouble){fault, cells[k].n, field, cells[k].text};
  }
  if (what.kind == TS_FAULT_NONE) b->rows++;
  else add_fault(p, line, what, columns);
}

/* ---- a run of lines with the right number of columns ---- */

typedef struct run {
  uint32_t n;
  const uint32_t *at; /* at[0] is the end of the line before */
  uint64_t bad;       /* rows with a fault */
  trouble faults[TS_PARSE_RUN];
  uint64_t word[TS_PARSE_RUN];
  uint32_t length[TS_PARSE_RUN], end[TS_PARSE_RUN];
} run;

/* Loads one column of the run. */
static inline void load_column(const parsing *p, uint32_t k, run *r) {
  uint32_t columns = p->layout->columns;
  const uint32_t *at = r->at + k;
  const char *text = p->text;
  bool last = k + 1 == columns;
  for (uint32_t i = 0; i < r->n; i++, at += columns) {
    uint32_t start = at[0] + 1, end = at[1];
    if (last) end -= end > start && text[end - 1] == '\r';
    r->end[i] = end;
    r->length[i] = end - start;
    memcpy(&r->word[i], text + end - 8, 8); /* into the margin for the first field of a block */
  }
  for (uint32_t i = r->n; i % 8 != 0; i++) r->word[i] = r->length[i] = 0;
}

/* The fields that a kernel left over. */
static void read_others(parsing *p, int field, uint64_t others, run *r) {
  for (; others != 0; others &= others - 1) {
    uint32_t i = (uint32_t)__builtin_ctzll(others);
    const char *text = p->text + r->end[i] - r->length[i];
    uint32_t fault = read_field(p, field, text, r->length[i], p->out->rows + i);
    if (fault == TS_FAULT_NONE || (r->bad >> i & 1)) continue;
    r->bad |= UINT64_C(1) << i;
    r->faults[i] = (trouble){fault, r->length[i], field, text};
  }
}

static uint64_t read_labels(const run *r, float *out) {
  uint64_t others = 0;
  for (uint32_t i = 0; i < r->n; i++) {
    uint32_t value = (uint32_t)(r->word[i] >> 56) - '0';
    out[i] = (float)value;
    others |= (uint64_t)(r->length[i] != 1 || value > 1) << i;
  }
  return others;
}

/* Takes the rows with faults out of what a run wrote. */
static void drop_rows(parsing *p, const run *r) {
  ts_criteo_block *b = p->out;
  uint32_t first = b->rows;
  for (uint32_t i = 0; i < r->n && !p->stopped; i++) {
    if (r->bad >> i & 1) {
      add_fault(p, b->lines + i, r->faults[i], 0);
      continue;
    }
    uint32_t from = first + i, to = b->rows++;
    if (from == to) continue;
    b->labels[to] = b->labels[from];
    for (uint32_t j = 0; j < TS_NUMERICS; j++) b->numerics[j][to] = b->numerics[j][from];
    for (uint32_t c = 0; c < TS_CATEGORIES; c++) b->keys[c][to] = b->keys[c][from];
  }
}

static void read_run(parsing *p, run *r) {
  ts_criteo_block *b = p->out;
  int32_t x[TS_PARSE_RUN];
  r->bad = 0;
  for (uint32_t k = 0; k < p->layout->columns; k++) {
    int field = p->layout->field[k];
    if (field < 0) continue;
    load_column(p, k, r);
    uint64_t others;
    if (field == 0) others = read_labels(r, b->labels + b->rows);
    else if (field <= (int)TS_NUMERICS) {
      others = p->kernels->integers(r->word, r->length, r->n, x);
      for (uint64_t left = others; left != 0; left &= left - 1) x[__builtin_ctzll(left)] = 0;
      ts_numerics_transform(p->numerics, (uint32_t)field - 1, x, r->n, b->numerics[field - 1] + b->rows);
    } else others = p->kernels->keys(r->word, r->length, r->n, b->keys[field - 1 - (int)TS_NUMERICS] + b->rows);
    if (TS_UNLIKELY(others != 0)) read_others(p, field, others, r);
  }
  if (TS_UNLIKELY(r->bad != 0)) drop_rows(p, r);
  else b->rows += r->n;
  b->lines += r->n;
}

/* ---- a block ---- */

static const ts_criteo_kernels *kernels_of(uint32_t level) {
#if defined(__x86_64__)
  if (level == TS_LEVEL_AVX512) return &ts_criteo_kernels_avx512;
  if (level == TS_LEVEL_AVX2) return &ts_criteo_kernels_avx2;
#else
  (void)level;
#endif
  return &ts_criteo_kernels_baseline;
}

/* The lines whose ends a scan found. Returns the index of the last of these ends. */
static uint32_t read_lines(parsing *p, const ts_criteo_scan *s, run *r) {
  uint32_t before = 0, columns = p->layout->columns;
  for (uint32_t l = 0; l < s->lines && !p->stopped;) {
    uint32_t end = before;
    for (r->n = 0; !s->special && r->n < TS_PARSE_RUN && l + r->n < s->lines; r->n++) {
      uint32_t next = s->line_ends[l + r->n];
      if (next - end != columns || s->at[next] - s->at[end] > TS_LINE_BYTES) break;
      end = next;
    }
    if (r->n > 0) {
      r->at = s->at + before;
      read_run(p, r);
      l += r->n;
      before = end;
    } else {
      uint32_t start = s->at[before] + 1;
      before = s->line_ends[l++];
      read_line(p, p->text + start, s->at[before] - start);
    }
  }
  return before;
}

bool ts_criteo_parse(uint32_t level, const ts_criteo_layout *layout, const ts_numerics *numerics, const char *text,
                     uint32_t n, bool keep_on, ts_criteo_block *out) {
  parsing p = {kernels_of(level), layout, numerics, text, keep_on, false, false, out};
  ts_criteo_scan s = {.at = out->at, .count = 1, .line_ends = out->line_ends};
  run r;
  out->rows = out->lines = out->fault_count = 0;
  s.at[0] = UINT32_MAX; /* the line before ended at -1 */
  for (uint32_t from = 0; from < n && !p.stopped; from += TS_SCAN_BYTES) {
    uint32_t to = TS_MIN(n, from + TS_SCAN_BYTES);
    s.lines = 0;
    p.kernels->scan(text, from, to, layout->separator, &s);
    uint32_t last = read_lines(&p, &s, &r);
    /* The beginning of a line stays, and if something special may be in it, that too. */
    s.special = s.special && s.at[last] + 1 != to;
    s.count -= last;
    memmove(s.at, s.at + last, s.count * sizeof *s.at);
  }
  return !p.failed;
}
