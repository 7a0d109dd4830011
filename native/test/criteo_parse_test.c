/* Blocks of Criteo text into columns: every level of kernels gives the same rows and the same faults, on random and on
 * damaged text, and these are what the C library reads out of the same fields. */
#include "test/levels.h"
#include "base/cpu_level.h"
#include "test/check.h"
#include "wdl/input/criteo_parse.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static uint64_t draws;
static uint64_t draw(uint64_t below) { return ts_random64(77, 5, draws++) % below; }

static ts_criteo_block *blocks[TS_LEVELS + 1];
static ts_numerics numerics[TS_NUMERICS_KINDS];
static ts_criteo_layout plain = {.separator = '\t', .columns = TS_CRITEO_FIELDS};

/* A field of a good line: usual ones mostly, every kind that the form allows now and then. */
static int put_number(char *out) {
  switch (draw(12)) {
    case 0:
      return 0;
    case 1:
      return sprintf(out, "-%u", (unsigned)draw(100));
    case 2:
      return sprintf(out, "%u.0", (unsigned)draw(5000));
    case 3:
      return sprintf(out, "%s%u.%03u", draw(2) ? "-" : "+", (unsigned)draw(70000), (unsigned)draw(1000));
    case 4:
      return sprintf(out, "%llu", (unsigned long long)(ts_random64(1, 1, draws++) >> draw(64)));
    case 5:
      return sprintf(out, "%ue%d", (unsigned)draw(1000), (int)draw(30) - 15);
    case 6:
      return sprintf(out, "%08u", (unsigned)draw(100000000));
    case 7:
      return sprintf(out, "-%07u", (unsigned)draw(10000000));
    case 8:
      return sprintf(out, "-0");
    case 9:
      return sprintf(out, "%u", (unsigned)draw(200000));
    default:
      return sprintf(out, "%u", (unsigned)draw(500));
  }
}

static int put_key(char *out) {
  uint64_t key = ts_random64(2, 2, draws++);
  switch (draw(8)) {
    case 0:
      return 0;
    case 1:
      return sprintf(out, "%llX", (unsigned long long)(key >> draw(64)));
    case 2:
      return sprintf(out, "%016llx", (unsigned long long)key);
    case 3:
      return sprintf(out, "%llx", (unsigned long long)(key >> draw(64)));
    default:
      return sprintf(out, "%08x", (unsigned)key);
  }
}

static uint32_t put_text(char *out, uint32_t lines, const char *end) {
  char *at = out;
  for (uint32_t l = 0; l < lines; l++) {
    at += sprintf(at, draw(20) == 0 ? "%u.0" : "%u", (unsigned)draw(2));
    for (uint32_t j = 0; j < TS_NUMERICS; j++) {
      *at++ = '\t';
      at += put_number(at);
    }
    for (uint32_t c = 0; c < TS_CATEGORIES; c++) {
      *at++ = '\t';
      at += put_key(at);
    }
    at += sprintf(at, "%s", end);
  }
  return (uint32_t)(at - out);
}

static bool same_faults(const ts_criteo_block *a, const ts_criteo_block *b) {
  if (a->fault_count != b->fault_count) return false;
  for (uint32_t i = 0; i < a->fault_count; i++) {
    const ts_criteo_fault *x = &a->faults[i], *y = &b->faults[i];
    if (x->line != y->line || x->rows != y->rows || x->kind != y->kind || x->field != y->field ||
        x->found != y->found || strcmp(x->text, y->text) != 0)
      return false;
  }
  return true;
}

static bool same_rows(const ts_criteo_block *a, const ts_criteo_block *b) {
  if (a->rows != b->rows || memcmp(a->labels, b->labels, a->rows * 4) != 0) return false;
  for (uint32_t j = 0; j < TS_NUMERICS; j++)
    if (memcmp(a->numerics[j], b->numerics[j], a->rows * 4) != 0) return false;
  for (uint32_t c = 0; c < TS_CATEGORIES; c++)
    if (memcmp(a->keys[c], b->keys[c], a->rows * 8) != 0) return false;
  return true;
}

/* All levels alike; the baseline's result is in blocks[0]. */
static void parse_all(const ts_criteo_layout *layout, uint32_t kind, const char *text, uint32_t n, bool keep_on) {
  for (uint32_t level = 0; level <= ts_cpu_level(); level++) {
    CHECK(ts_criteo_parse(level, layout, &numerics[kind], text, n, keep_on, blocks[level]));
    CHECK_MSG(same_rows(blocks[0], blocks[level]), "level %u: %u rows, %u by the baseline", level, blocks[level]->rows,
              blocks[0]->rows);
    CHECK_MSG(same_faults(blocks[0], blocks[level]) && (!keep_on || blocks[level]->lines == blocks[0]->lines),
              "level %u: %u faults, %u by the baseline", level, blocks[level]->fault_count, blocks[0]->fault_count);
  }
}

static char *memory, *text;

static void good_text_is_read_as_the_c_library_does(void) {
  static const char *const ends[] = {"\n", "\r\n"};
  for (uint32_t round = 0; round < 40; round++) {
    uint32_t lines = round < 4 ? 600 : (uint32_t)draw(140), kind = round % 2;
    uint32_t n = put_text(text, lines, ends[round / 2 % 2]);
    CHECK(n <= TS_BLOCK_BYTES);
    parse_all(&plain, kind, text, n, false);
    const ts_criteo_block *b = blocks[0];
    CHECK_MSG(b->rows == lines && b->lines == lines && b->fault_count == 0, "%u of %u rows", b->rows, lines);
    uint32_t wrong = 0;
    const char *at = text;
    for (uint32_t r = 0; r < b->rows; r++)
      for (uint32_t f = 0; f < TS_CRITEO_FIELDS; f++) {
        size_t length = strcspn(at, "\t\r\n");
        char field[64] = {0};
        memcpy(field, at, length);
        at += length + 1 + (at[length] == '\r');
        if (f == 0) wrong += b->labels[r] != (float)strtod(field, NULL);
        else if (f <= TS_NUMERICS)
          wrong += b->numerics[f - 1][r] != ts_numeric_transform(kind, f - 1, strtod(field, NULL));
        else
          wrong +=
              b->keys[f - 1 - TS_NUMERICS][r] != (length == 0 ? TS_MISSING_KEY : (int64_t)strtoull(field, NULL, 16));
      }
    CHECK_MSG(wrong == 0, "%u values differ from strtod and strtoull", wrong);
    /* A quote sends every line of a block to the plain parser, which must agree. */
    memcpy(text + n, "\"\n", 2);
    for (uint32_t level = 0; level <= ts_cpu_level(); level++) {
      CHECK(ts_criteo_parse(level, &plain, &numerics[kind], text, n + 2, true, blocks[TS_LEVELS]));
      CHECK(same_rows(blocks[0], blocks[TS_LEVELS]) && blocks[TS_LEVELS]->fault_count == 1);
    }
    memset(text + n, '7', TS_PARSE_MARGIN); /* what is behind the text must not matter */
  }
}

static void damaged_text_has_the_same_faults(void) {
  static const char alphabet[] = "\t\t\n\n\r\",.-+eE0123456789abcdefABCDEFgGzZ`@/:G \0\x7f\xff\x80";
  uint64_t faults = 0, kinds[TS_FAULTS] = {0};
  for (uint32_t round = 0; round < 400; round++) {
    uint32_t n = put_text(text, 1 + (uint32_t)draw(200), "\n");
    for (uint64_t k = draw(round % 4 == 0 ? 2000 : 20); k > 0; k--) {
      /* Bytes replaced, taken out or put in. */
      uint32_t at = (uint32_t)draw(n);
      char c = alphabet[draw(round % 3 == 0 ? sizeof alphabet - 1 : sizeof alphabet - 12)];
      switch (draw(3)) {
        case 0:
          text[at] = c;
          break;
        case 1:
          memmove(text + at, text + at + 1, n - at - 1);
          n--;
          break;
        default:
          memmove(text + at + 1, text + at, n - at);
          text[at] = c;
          n++;
      }
    }
    text[n++] = '\n';
    parse_all(&plain, round % 2, text, n, true);
    faults += blocks[0]->fault_count;
    for (uint32_t i = 0; i < blocks[0]->fault_count; i++) kinds[blocks[0]->faults[i].kind]++;
    uint32_t ends = 0;
    for (uint32_t i = 0; i < n; i++) ends += text[i] == '\n';
    CHECK(blocks[0]->lines == ends && blocks[0]->rows + blocks[0]->fault_count == ends);
    parse_all(&plain, round % 2, text, n, false);
    /* It stops at the first line that is not empty and no row. */
    for (uint32_t i = 0; i < blocks[0]->fault_count; i++)
      CHECK((blocks[0]->faults[i].kind != TS_FAULT_EMPTY) == (i + 1 == blocks[0]->fault_count) ||
            i + 1 == blocks[0]->fault_count);
  }
  CHECK_MSG(faults > 1000, "only %llu faults", (unsigned long long)faults);
  for (uint32_t k = 0; k < TS_FAULTS; k++)
    if (k != TS_FAULT_LONG && k != TS_FAULT_KEY_RANGE && k != TS_FAULT_NUMBER_RANGE)
      CHECK_MSG(kinds[k] > 0, "no fault \"%s\" was made", ts_fault_name(k));
}

/* Each fault, alone among good lines, at every place of a run. */
static void each_fault_has_its_line(void) {
  static const struct {
    uint32_t kind, field; /* field of the line that is replaced */
    const char *instead;
  } cases[] = {{TS_FAULT_LABEL, 0, "2"},
               {TS_FAULT_LABEL, 0, ""},
               {TS_FAULT_LABEL, 0, "0.5"},
               {TS_FAULT_NUMBER, 5, "nan"},
               {TS_FAULT_NUMBER, 13, "-inf"},
               {TS_FAULT_NUMBER, 1, "-"},
               {TS_FAULT_NUMBER, 1, "--1"},
               {TS_FAULT_NUMBER, 2, "1 "},
               {TS_FAULT_NUMBER, 2, "0x12"},
               {TS_FAULT_NUMBER, 2, "."},
               {TS_FAULT_NUMBER_RANGE, 3, "1e39"},
               {TS_FAULT_NUMBER_RANGE, 3, "-9e999"},
               {TS_FAULT_KEY, 14, "1234567g"},
               {TS_FAULT_KEY, 39, "-1"},
               {TS_FAULT_KEY, 20, "12345678 "},
               {TS_FAULT_KEY_RANGE, 39, "00000000000000001"},
               {TS_FAULT_KEY_RANGE, 14, "12345678123456789"},
               {TS_FAULT_QUOTE, 4, "\"1"},
               {TS_FAULT_COLUMNS, 4, "1\t2"},
               {TS_FAULT_COLUMNS, 39, "1\t"},
               {TS_FAULT_EMPTY, 0, NULL}};
  for (uint32_t i = 0; i < sizeof cases / sizeof *cases; i++)
    for (uint32_t bad = 0; bad < 70; bad += 1 + bad / 8) {
      char *at = text;
      for (uint32_t l = 0; l < 70; l++) {
        for (uint32_t f = 0; f < TS_CRITEO_FIELDS && !(l == bad && cases[i].instead == NULL); f++)
          at += sprintf(at, "%s%s", f == 0 ? "" : "\t", l == bad && f == cases[i].field ? cases[i].instead : "1");
        *at++ = '\n';
      }
      parse_all(&plain, 0, text, (uint32_t)(at - text), true);
      const ts_criteo_block *b = blocks[0];
      CHECK_MSG(b->rows == 69 && b->fault_count == 1 && b->faults[0].kind == cases[i].kind &&
                    b->faults[0].line == bad && b->faults[0].rows == bad,
                "%s: %u rows, %u faults, kind %u in line %u", cases[i].instead, b->rows, b->fault_count,
                b->fault_count > 0 ? b->faults[0].kind : 0, b->fault_count > 0 ? b->faults[0].line : 0);
    }
  /* A line just within the limit and one beyond. */
  for (uint32_t over = 0; over < 2; over++) {
    uint32_t n = 0;
    for (uint32_t f = 0; f < TS_CRITEO_FIELDS; f++) n += (uint32_t)sprintf(text + n, "%s0", f == 0 ? "" : "\t");
    while (n < TS_LINE_BYTES + over) text[n++] = '0';
    text[n++] = '\n';
    parse_all(&plain, 0, text, n, true);
    CHECK(blocks[0]->fault_count == 1 && blocks[0]->faults[0].kind == (over ? TS_FAULT_LONG : TS_FAULT_KEY_RANGE));
  }
  memset(text, '\n', TS_BLOCK_BYTES); /* the most lines of a block */
  parse_all(&plain, 0, text, TS_BLOCK_BYTES, true);
  CHECK(blocks[0]->fault_count == TS_BLOCK_BYTES);
  memset(text, '\t', TS_BLOCK_BYTES - 1); /* the most separators */
  parse_all(&plain, 0, text, TS_BLOCK_BYTES, true);
  CHECK(blocks[0]->fault_count == 1);
  for (uint32_t i = 0; i < TS_BLOCK_BYTES; i++)
    text[i] = i % 40 == 39 ? '\n' : '\t'; /* the most lines that could be rows */
  text[TS_BLOCK_BYTES - 1] = '\n';
  parse_all(&plain, 0, text, TS_BLOCK_BYTES, true);
  CHECK(blocks[0]->rows == 0);
}

/* A quoted line anywhere around the end of a pass of TS_SCAN_BYTES is a row like any other. */
static void quotes_reach_over_the_passes(void) {
  for (uint32_t shift = 0; shift < 300; shift++) {
    uint32_t n = 0, lines = 0, quoted = 0, zeros = shift;
    for (; n < TS_SCAN_BYTES + 4000; lines++) {
      bool quote = quoted == 0 && n + 200 > TS_SCAN_BYTES + shift % 100;
      for (uint32_t f = 0; f < TS_CRITEO_FIELDS; f++) {
        if (f > 0) text[n++] = '\t';
        /* Zeros before ids move everything behind them. */
        for (uint32_t i = 0; f > TS_NUMERICS && i < 15 && zeros > 0; i++, zeros--) text[n++] = '0';
        n += (uint32_t)sprintf(text + n, quote && f < 20 ? "\"1\"" : "1");
      }
      text[n++] = '\n';
      quoted += quote;
    }
    parse_all(&plain, 0, text, n, true);
    CHECK_MSG(blocks[0]->rows == lines && blocks[0]->fault_count == 0, "%u of %u rows", blocks[0]->rows, lines);
  }
}

/* DeepRec's constants: its Wide & Deep script takes I2 from -3 and divides by the range of each column. */
static void numerics_are_deeprecs(void) {
  CHECK(ts_numeric_transform(TS_NUMERICS_MIN_MAX, 0, 1539) == 1.0f);
  CHECK(ts_numeric_transform(TS_NUMERICS_MIN_MAX, 1, -3) == 0.0f);
  CHECK(ts_numeric_transform(TS_NUMERICS_MIN_MAX, 1, 22066) == 1.0f);
  CHECK(ts_numeric_transform(TS_NUMERICS_MIN_MAX, 4, 2655388.0 / 4) == 0.25f);
  CHECK(ts_numeric_transform(TS_NUMERICS_MIN_MAX, 9, 3) == 3.0f / 9.0f);
  CHECK(ts_numeric_transform(TS_NUMERICS_MIN_MAX, 12, 6879) == 1.0f);
  CHECK(fabs((double)ts_numeric_transform(TS_NUMERICS_LOG, 0, -9999) + log(10000) / 2) < 1e-6);
}

int main(void) {
  skip_missing_levels("criteo_parse_test");
  memory = calloc(1, TS_BLOCK_BYTES * 2 + 2 * TS_PARSE_MARGIN);
  text = memory + TS_PARSE_MARGIN;
  for (uint32_t i = 0; i <= TS_LEVELS; i++) blocks[i] = calloc(1, sizeof *blocks[i]);
  for (uint32_t f = 0; f < TS_CRITEO_FIELDS; f++) plain.field[f] = (int8_t)f;
  for (uint32_t k = 0; k < TS_NUMERICS_KINDS; k++) ts_numerics_prepare(k, &numerics[k]);
  good_text_is_read_as_the_c_library_does();
  damaged_text_has_the_same_faults();
  each_fault_has_its_line();
  quotes_reach_over_the_passes();
  numerics_are_deeprecs();
  for (uint32_t i = 0; i <= TS_LEVELS; i++) {
    ts_criteo_block_free(blocks[i]);
    free(blocks[i]);
  }
  free(memory);
  return test_result();
}
