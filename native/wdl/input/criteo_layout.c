/* criteo_layout.c - cuts lines into fields and reads headers. */
#include "wdl/input/criteo_layout.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

bool ts_criteo_cut(char separator, const char *text, uint32_t n, ts_criteo_cell *cells, uint32_t *columns) {
  const char *end = text + n;
  uint32_t count = 0;
  for (const char *at = text;;) {
    ts_criteo_cell cell = {at, 0};
    const char *stop;
    if (at < end && *at == '"') {
      const char *close = memchr(at + 1, '"', (size_t)(end - at - 1));
      bool ends = close != NULL && (close + 1 == end || close[1] == separator);
      cell.text = at + 1;
      cell.n = (uint32_t)((close == NULL ? end : close) - cell.text);
      stop = ends ? close + 1 : NULL;
    } else {
      stop = memchr(at, separator, (size_t)(end - at));
      if (stop == NULL) stop = end;
      cell.n = (uint32_t)(stop - at);
    }
    if (count < TS_CRITEO_COLUMNS || stop == NULL) cells[TS_MIN(count, TS_CRITEO_COLUMNS - 1)] = cell;
    *columns = ++count;
    if (stop == NULL) return false;
    if (stop == end) return true;
    at = stop + 1;
  }
}

/* 0..39 a field of ours, -1 ignored (an id or an index without name), -2 unknown. */
static int field_of_name(const char *text, uint32_t length) {
  char name[16], *end;
  if (length == 0) return -1;
  if (length >= sizeof name) return -2;
  memcpy(name, text, length);
  name[length] = '\0';
  if (strcasecmp(name, "label") == 0) return 0;
  if (strcasecmp(name, "id") == 0) return -1;
  long n = name[1] >= '1' && name[1] <= '9' ? strtol(name + 1, &end, 10) : 0;
  if (n < 1 || *end != '\0') return -2;
  if ((name[0] == 'I' || name[0] == 'i') && n <= (long)TS_NUMERICS) return (int)n;
  if ((name[0] == 'C' || name[0] == 'c') && n <= (long)TS_CATEGORIES) return (int)(TS_NUMERICS + n);
  return -2;
}

/* A line of a file, for messages. */
typedef struct place {
  const char *path;
  uint64_t line;
} place;

static int32_t fail_at(ts_err err, place at, const char *what, const char *found, uint64_t n) {
  char shown[48];
  ts_found_text(found, n, shown, sizeof shown);
  return ts_fail(err, TS_EFORMAT, "%s:%llu: %s, found \"%s\"", at.path, (unsigned long long)at.line, what, shown);
}

static int32_t read_header(const ts_criteo_cell *names, uint32_t count, place at, ts_criteo_layout *out, ts_err err) {
  bool seen[TS_CRITEO_FIELDS] = {false};
  out->columns = 0;
  for (uint32_t i = 0; i < count; i++) {
    int field = field_of_name(names[i].text, names[i].n);
    if (field == -2)
      return fail_at(err, at, "expected columns Label, I1..I13, C1..C26 and perhaps Id", names[i].text, names[i].n);
    if (field >= 0 && seen[field]) return fail_at(err, at, "expected each column once", names[i].text, names[i].n);
    if (field >= 0) seen[field] = true;
    out->field[out->columns++] = (int8_t)field;
  }
  for (int f = 0; f < (int)TS_CRITEO_FIELDS; f++)
    if (!seen[f]) {
      char name[8];
      ts_criteo_field_name(f, name, sizeof name);
      return ts_fail(err, TS_EFORMAT,
                     "%s:%llu: column %s is missing in the header, which must name Label, I1..I13, C1..C26", at.path,
                     (unsigned long long)at.line, name);
    }
  return TS_OK;
}

int32_t ts_criteo_layout_find(const char *text, uint64_t n, uint32_t format, const char *path, ts_criteo_layout *out,
                              uint64_t *header, ts_err err) {
  *header = 0;
  place at = {path, 1};
  const char *line = text, *end = text + n, *stop;
  /* The first line with anything on it. */
  for (;; line = stop + 1, at.line++) {
    stop = memchr(line, '\n', (size_t)(end - line));
    if (stop == NULL) stop = end;
    if (stop == end || (stop > line && *line != '\r')) break;
  }
  uint32_t length = (uint32_t)(stop - line);
  if (length > 0 && line[length - 1] == '\r') length--;
  /* The form by what is in the file, not by one line, which may be broken. */
  bool tabs = memchr(text, '\t', n) != NULL, commas = memchr(text, ',', n) != NULL;
  if (format == TS_CRITEO_CSV && tabs && !commas)
    return fail_at(err, at, "expected comma-separated text (option \"format\" is \"csv\")", line, length);
  if (format == TS_CRITEO_TSV && !tabs)
    return fail_at(err, at, "expected tab-separated text (option \"format\" is \"tsv\")", line, length);
  out->separator = format == TS_CRITEO_TSV || (format == TS_CRITEO_AUTO && tabs) ? '\t' : ',';
  ts_criteo_cell cells[TS_CRITEO_COLUMNS];
  uint32_t columns;
  bool closed = ts_criteo_cut(out->separator, line, length, cells, &columns);
  for (uint32_t i = 0; i < TS_MIN(columns, TS_CRITEO_COLUMNS); i++)
    if (field_of_name(cells[i].text, cells[i].n) == 0) {
      *header = (uint64_t)(TS_MIN(stop + 1, end) - text);
      const ts_criteo_cell *last = &cells[TS_MIN(columns, TS_CRITEO_COLUMNS) - 1];
      if (!closed) return fail_at(err, at, "a quoted column name must end with a quote", last->text, last->n);
      if (columns > TS_CRITEO_COLUMNS) return fail_at(err, at, "expected 40 or 41 columns", last->text, last->n);
      return read_header(cells, columns, at, out, err);
    }
  out->columns = TS_CRITEO_FIELDS;
  for (uint32_t f = 0; f < TS_CRITEO_FIELDS; f++) out->field[f] = (int8_t)f;
  return TS_OK;
}
