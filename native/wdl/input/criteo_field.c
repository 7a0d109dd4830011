/* criteo_field.c - labels, numbers and keys out of text, one at a time. */
#include "wdl/input/criteo_field.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* 10^n is exact up to 10^22. */
static const double power_of_ten[] = {1e0, 1e1, 1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                      1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};
#define EXACT_DIGITS 15u
#define NUMBER_BYTES 127u

static inline bool is_digit(char c) { return c >= '0' && c <= '9'; }

/* Anything that strtod reads, but not nan, inf and hexadecimal forms. */
static uint32_t any_number(const char *text, uint32_t n, double *out) {
  char copy[NUMBER_BYTES + 1], *end;
  if (n == 0 || n > NUMBER_BYTES) return TS_FAULT_NUMBER;
  memcpy(copy, text, n);
  copy[n] = '\0';
  if (strspn(copy, "0123456789+-.eE") != n) return TS_FAULT_NUMBER;
  *out = strtod(copy, &end);
  if (end != copy + n) return TS_FAULT_NUMBER;
  return fabs(*out) <= (double)FLT_MAX ? TS_FAULT_NONE : TS_FAULT_NUMBER_RANGE;
}

uint32_t ts_criteo_number(const char *text, uint32_t n, double *out) {
  /* Up to 15 digits in all make a whole number that a double holds, and dividing it by an exact power of ten rounds
   * once, as strtod does. */
  uint32_t i = n > 0 && (*text == '-' || *text == '+'), digits = 0, decimals = 0;
  uint64_t whole = 0;
  for (; i < n && is_digit(text[i]) && digits < EXACT_DIGITS; i++, digits++)
    whole = whole * 10 + (uint64_t)(text[i] - '0');
  if (i < n && text[i] == '.')
    for (i++; i < n && is_digit(text[i]) && digits < EXACT_DIGITS; i++, digits++, decimals++)
      whole = whole * 10 + (uint64_t)(text[i] - '0');
  if (i == n && digits > 0) {
    double x = (double)whole / power_of_ten[decimals];
    *out = *text == '-' && whole != 0 ? -x : x;
    return TS_FAULT_NONE;
  }
  uint32_t fault = any_number(text, n, out);
  if (fault == TS_FAULT_NONE) *out += 0.0; /* -0 is 0 */
  return fault;
}

uint32_t ts_criteo_label(const char *text, uint32_t n, float *out) {
  double x;
  if (ts_criteo_number(text, n, &x) != TS_FAULT_NONE || (x != 0 && x != 1)) return TS_FAULT_LABEL;
  *out = (float)x;
  return TS_FAULT_NONE;
}

uint32_t ts_criteo_key(const char *text, uint32_t n, int64_t *out) {
  uint64_t key = 0;
  for (uint32_t i = 0; i < n; i++) {
    char c = text[i];
    uint32_t digit = is_digit(c)            ? (uint32_t)(c - '0')
                     : c >= 'a' && c <= 'f' ? (uint32_t)(c - 'a' + 10)
                     : c >= 'A' && c <= 'F' ? (uint32_t)(c - 'A' + 10)
                                            : 16u;
    if (digit == 16u) return TS_FAULT_KEY;
    key = key << 4 | digit;
  }
  *out = n == 0 ? TS_MISSING_KEY : (int64_t)key;
  return n > 16 ? TS_FAULT_KEY_RANGE : TS_FAULT_NONE;
}

void ts_criteo_field_name(int field, char *out, size_t cap) {
  if (field == 0) snprintf(out, cap, "label");
  else if (field <= (int)TS_NUMERICS) snprintf(out, cap, "I%u", (unsigned)field % 100);
  else snprintf(out, cap, "C%u", ((unsigned)field - TS_NUMERICS) % 100);
}

const char *ts_fault_name(uint32_t kind) {
  static const char *const names[] = {
#define TS_FAULT_NAME(NAME, name, text) #name,
      TS_FAULT_KINDS(TS_FAULT_NAME)
#undef TS_FAULT_NAME
  };
  return names[kind];
}

void ts_fault_text(uint32_t kind, int field, char *out, size_t cap) {
  static const char *const texts[] = {
#define TS_FAULT_TEXT(NAME, name, text) text,
      TS_FAULT_KINDS(TS_FAULT_TEXT)
#undef TS_FAULT_TEXT
  };
  const char *text = texts[kind], *mark = strstr(text, "%s");
  char name[8];
  ts_criteo_field_name(field, name, sizeof name);
  if (mark == NULL) snprintf(out, cap, "%s", text);
  else snprintf(out, cap, "%.*s%s%s", (int)(mark - text), text, name, mark + 2);
}

void ts_found_text(const char *text, uint64_t n, char *out, size_t cap) {
  size_t shown = 0;
  for (; shown < n && shown + 4 < cap; shown++)
    out[shown] = (unsigned char)text[shown] < 0x20 || text[shown] == 0x7f ? '?' : text[shown];
  if (shown < n) {
    memcpy(out + shown, "...", 3);
    shown += 3;
  }
  out[shown] = '\0';
}
