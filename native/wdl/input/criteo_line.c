/* criteo_line.c - finds the columns of Criteo text and parses its lines. */
#include "wdl/input/criteo_line.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static int32_t fail_line(ts_err err, ts_criteo_place place, const char *what, const char *found) {
  /* A broken line may hold anything: show a short, printable piece. */
  char shown[48];
  uint32_t n = 0;
  for (; found != NULL && found[n] != '\0' && n < sizeof shown - 4; n++)
    shown[n] = (unsigned char)found[n] < 0x20 || found[n] == 0x7f ? '?' : found[n];
  if (found != NULL && found[n] != '\0') {
    memcpy(shown + n, "...", 3);
    n += 3;
  }
  shown[n] = '\0';
  return ts_fail(err, TS_EFORMAT, "%s:%llu: %s, found \"%s\"", place.path, (unsigned long long)place.line, what, shown);
}

static void field_name(int field, char *out, size_t cap) {
  if (field == 0) snprintf(out, cap, "label");
  else if (field <= (int)TS_NUMERICS) snprintf(out, cap, "I%d", field);
  else snprintf(out, cap, "C%d", field - (int)TS_NUMERICS);
}

/* Cuts one field off *at, in place; NULL once the line is used up. Quotes around a field are removed; false: a quoted
 * field does not end before a separator. */
static bool next_field(char **at, char separator, char **field) {
  char *p = *at;
  *field = p;
  if (p == NULL) return true;
  if (*p == '"') {
    char *close = strchr(p + 1, '"');
    if (close == NULL || (close[1] != separator && close[1] != '\0')) return false;
    *field = p + 1;
    *at = close[1] == '\0' ? NULL : close + 2;
    *close = '\0';
    return true;
  }
  char *end = strchr(p, separator);
  *at = end == NULL ? NULL : end + 1;
  if (end != NULL) *end = '\0';
  return true;
}

/* -1 ignored (an id or an index without name), -2 unknown. */
static int field_of_name(const char *name) {
  if (strcasecmp(name, "label") == 0) return 0;
  if (strcasecmp(name, "id") == 0 || *name == '\0') return -1;
  char *end;
  long n = name[0] != '\0' && name[1] >= '1' && name[1] <= '9' ? strtol(name + 1, &end, 10) : 0;
  if (n < 1 || *end != '\0') return -2;
  if ((name[0] == 'I' || name[0] == 'i') && n <= (long)TS_NUMERICS) return (int)n;
  if ((name[0] == 'C' || name[0] == 'c') && n <= (long)TS_CATEGORIES) return (int)(TS_NUMERICS + n);
  return -2;
}

static bool has_label_name(const char *line, char separator) {
  for (const char *p = line; p != NULL; p = strchr(p, separator)) {
    p += *p == separator;
    p += *p == '"';
    if (strncasecmp(p, "label", 5) == 0 && (p[5] == separator || p[5] == '\0' || p[5] == '"')) return true;
  }
  return false;
}

static int32_t read_header(char *line, ts_criteo_place place, ts_criteo_layout *out, ts_err err) {
  bool seen[TS_CRITEO_FIELDS] = {false};
  out->columns = 0;
  for (char *at = line, *name; at != NULL;) {
    if (!next_field(&at, out->separator, &name))
      return fail_line(err, place, "a quoted column name must end with a quote", name);
    int field = field_of_name(name);
    if (field == -2) return fail_line(err, place, "expected columns Label, I1..I13, C1..C26 and perhaps Id", name);
    if (field >= 0 && seen[field]) return fail_line(err, place, "expected each column once", name);
    if (out->columns == TS_CRITEO_COLUMNS) return fail_line(err, place, "expected 40 or 41 columns", name);
    if (field >= 0) seen[field] = true;
    out->field[out->columns++] = (int8_t)field;
  }
  for (int f = 0; f < (int)TS_CRITEO_FIELDS; f++)
    if (!seen[f]) {
      char name[8];
      field_name(f, name, sizeof name);
      return ts_fail(err, TS_EFORMAT,
                     "%s:%llu: column %s is missing in the header, which must name Label, I1..I13, C1..C26", place.path,
                     (unsigned long long)place.line, name);
    }
  return TS_OK;
}

int32_t ts_criteo_layout_find(char *first_line, uint32_t format, ts_criteo_place place, ts_criteo_layout *out,
                              bool *header, ts_err err) {
  for (uint32_t i = 0; i < TS_TRANSFORM_TABLE; i++) out->transform[i] = ts_numeric_transform(i);
  bool tabs = strchr(first_line, '\t') != NULL;
  out->separator = format == TS_CRITEO_TSV || (format == TS_CRITEO_AUTO && tabs) ? '\t' : ',';
  if (format == TS_CRITEO_CSV && tabs)
    return fail_line(err, place, "expected comma-separated text (option \"format\" is \"csv\")", first_line);
  if (format == TS_CRITEO_TSV && !tabs)
    return fail_line(err, place, "expected tab-separated text (option \"format\" is \"tsv\")", first_line);
  *header = has_label_name(first_line, out->separator);
  if (*header) return read_header(first_line, place, out, err);
  out->columns = TS_CRITEO_FIELDS;
  for (uint32_t f = 0; f < TS_CRITEO_FIELDS; f++) out->field[f] = (int8_t)f;
  return TS_OK;
}

/* A whole or decimal number; false for anything else, including nan, inf and hexadecimal forms. */
static bool parse_number(const char *text, double *out) {
  const char *p = text + (*text == '-' || *text == '+');
  uint64_t whole = 0;
  const char *digits = p;
  while (*p >= '0' && *p <= '9' && p - digits < 15) whole = whole * 10 + (uint64_t)(*p++ - '0');
  if (*p == '\0' && p > digits) {
    *out = *text == '-' ? -(double)whole : (double)whole;
    return true;
  }
  if (strspn(text, "0123456789+-.eE") != strlen(text)) return false;
  char *end;
  *out = strtod(text, &end);
  return end != text && *end == '\0' && isfinite(*out);
}

static bool parse_key(const char *text, int64_t *out) {
  uint64_t key = 0;
  const char *p = text;
  for (; *p != '\0' && p - text < 16; p++) {
    unsigned digit = *p >= '0' && *p <= '9'   ? (unsigned)(*p - '0')
                     : *p >= 'a' && *p <= 'f' ? (unsigned)(*p - 'a' + 10)
                     : *p >= 'A' && *p <= 'F' ? (unsigned)(*p - 'A' + 10)
                                              : 16u;
    if (digit == 16u) return false;
    key = key << 4 | digit;
  }
  *out = p == text ? TS_MISSING_KEY : (int64_t)key;
  return *p == '\0';
}

static int32_t parse_field(const ts_criteo_layout *layout, int field, const char *text, ts_criteo_place place,
                           ts_criteo_row *out, ts_err err) {
  char what[80], name[8];
  double x = 0;
  if (field == 0) {
    if (!parse_number(text, &x) || (x != 0 && x != 1)) return fail_line(err, place, "the label must be 0 or 1", text);
    out->label = (float)x;
    return TS_OK;
  }
  field_name(field, name, sizeof name);
  if (field <= (int)TS_NUMERICS) {
    if (*text != '\0' && !parse_number(text, &x)) {
      snprintf(what, sizeof what, "column %s must be a number or empty", name);
      return fail_line(err, place, what, text);
    }
    bool small = x >= 0 && x < TS_TRANSFORM_TABLE && x == (double)(uint32_t)x;
    out->numerics[field - 1] = small ? layout->transform[(uint32_t)x] : ts_numeric_transform(x);
    return TS_OK;
  }
  if (!parse_key(text, &out->keys[field - 1 - (int)TS_NUMERICS])) {
    snprintf(what, sizeof what, "column %s must be up to 16 hexadecimal digits or empty", name);
    return fail_line(err, place, what, text);
  }
  return TS_OK;
}

int32_t ts_criteo_parse(const ts_criteo_layout *layout, char *line, ts_criteo_place place, ts_criteo_row *out,
                        ts_err err) {
  char *at = line, *text;
  uint32_t column = 0;
  for (; at != NULL; column++) {
    if (!next_field(&at, layout->separator, &text))
      return fail_line(err, place, "a quoted field must end with a quote", text);
    if (column >= layout->columns) continue; /* counted for the message below */
    if (layout->field[column] < 0) continue;
    int32_t status = parse_field(layout, layout->field[column], text, place, out, err);
    if (status != TS_OK) return status;
  }
  if (column != layout->columns)
    return ts_fail(
        err, TS_EFORMAT, "%s:%llu: expected %u columns, found %u%s", place.path, (unsigned long long)place.line,
        layout->columns, column,
        column + 1 == TS_CRITEO_FIELDS ? " (rows without labels, such as the contest's test.txt, cannot be used)" : "");
  return TS_OK;
}
