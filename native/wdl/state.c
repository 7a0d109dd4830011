/* state.c - a trainer's state, out and in.
 *
 * Dense weights are written as the rows they are, optimizer state included (optimizers/row_layout.h): padding is part of them,
 * since a rule may let it decay. Writing runs twice, first to measure: so a cut takes one allocation and one copy. */
#include "wdl/state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FORM "1" /* changes with what pieces there are or hold */

/* ---- the parts of a model, in the order of their pieces ---- */

typedef struct part {
  char name[40];
  const ts_parameters *rows; /* dense weights, */
  ts_wide_weight *wide;      /* or a column of the wide part */
  uint64_t bytes;
} part;

static void name_part(part *p, const char *before, const char *name, uint32_t number) {
  if (number == 0) snprintf(p->name, sizeof p->name, "%s%s", before, name);
  else snprintf(p->name, sizeof p->name, "%s%s%u", before, name, number);
}

static void dense_part(ts_mlp *mlp, const char *before, uint32_t index, part *out) {
  const ts_mlp_parameter parameter = ts_mlp_parameter_at(mlp, index);
  const bool output = strncmp(parameter.name, "output.", strlen("output.")) == 0;
  name_part(out, output ? "" : before, parameter.name, 0);
  out->rows = ts_mlp_rows_of(mlp, index);
  out->bytes = (uint64_t)out->rows->rows * out->rows->optimizer.layout.stride;
}

/* False: there is no part of this number. */
static bool part_at(ts_model *m, uint32_t number, part *out) {
  *out = (part){0};
  const uint32_t top = ts_mlp_parameter_count(&m->top);
  if (number < top) {
    dense_part(&m->top, "mlp.", number, out);
    return true;
  }
  number -= top;
  if (ts_model_has_bottom(m)) {
    if (number >= ts_mlp_parameter_count(&m->bottom)) return false;
    dense_part(&m->bottom, "bottom.", number, out);
    return true;
  }
  if (!ts_model_has_wide(m) || number > TS_CATEGORIES) return false;
  out->wide = number == 0 ? m->wide.numeric : m->wide.column[number - 1];
  out->bytes = (number == 0 ? TS_NUMERICS : m->buckets) * sizeof(ts_wide_weight);
  name_part(out, "wide.", number == 0 ? "numeric" : "C", number);
  return true;
}

static uint64_t row_bytes(const part *p) { return p->rows->optimizer.layout.stride; }

static void add_part(ts_named *s, const part *p) {
  ts_named_begin(s, p->name, p->bytes);
  if (p->wide != NULL) ts_named_add(s, p->wide, p->bytes);
  for (uint32_t r = 0; p->wide == NULL && r < p->rows->rows; r++) ts_named_add(s, ts_parameters_row(p->rows, r), row_bytes(p));
}

static void take_part(const part *p, const unsigned char *content) {
  if (p->wide != NULL) memcpy(p->wide, content, p->bytes);
  for (uint32_t r = 0; p->wide == NULL && r < p->rows->rows; r++)
    memcpy(ts_parameters_row(p->rows, r), content + r * row_bytes(p), row_bytes(p));
}

/* ---- texts ---- */

static void add_widths(ts_text *text, const char *name, const uint32_t *widths, uint32_t count) {
  ts_text_add(text, "%s=", name);
  for (uint32_t i = 0; i < count; i++) ts_text_add(text, "%s%u", i == 0 ? "" : ",", widths[i]);
  ts_text_add(text, "\n");
}

static void add_rule(ts_text *text, const ts_optimizer *rule, const char *name) {
  ts_text_add(text, "deep_optimizer=%s\ndeep_learning_rate=%.9g\n", name,
              (double)atomic_load_explicit(&rule->learning_rate, memory_order_relaxed));
  const bool betas = rule->kind == TS_ADAM || rule->kind == TS_ADAM_ASYNC || rule->kind == TS_ADAMW;
  const bool decays = rule->kind == TS_ADAGRAD_DECAY;
  if (decays || rule->kind == TS_ADAGRAD)
    ts_text_add(text, "deep_initial_accumulator=%.9g\n", (double)rule->initial_accumulator);
  if (decays)
    ts_text_add(text, "deep_decay_rate=%.9g\ndeep_decay_step=%llu\ndeep_decay_baseline=%.9g\n", (double)rule->decay_rate,
                (unsigned long long)rule->decay_step, (double)rule->decay_baseline);
  if (betas)
    ts_text_add(text, "deep_beta1=%.17g\ndeep_beta2=%.17g\ndeep_epsilon=%.9g\n", rule->beta1, rule->beta2,
                (double)rule->epsilon);
  if (rule->kind == TS_ADAMW) ts_text_add(text, "deep_weight_decay=%.9g\n", (double)rule->weight_decay);
}

/* Options that results depend on, in the words of ts_trainer_open, and what the data are: equal in both or refused. */
void ts_trainer_write_options(const ts_trainer *t, ts_text *text) {
  const ts_trainer_options *o = &t->options;
  const ts_model *m = &t->model;
  ts_text_add(text, "form=" FORM "\nmodel=%s\nbatch=%u\nseed=%llu\ntables=", ts_model_names[m->kind], o->batch,
              (unsigned long long)o->seed);
  ts_tables_write(&o->tables, text);
  ts_text_add(text, "\n");
  add_widths(text, "hidden", o->hidden, o->layers);
  if (ts_model_has_bottom(m)) add_widths(text, "bottom", o->bottom, o->bottom_layers);
  add_rule(text, &m->top.rule, o->deep.name);
  if (ts_model_has_wide(m))
    ts_text_add(text,
                "wide_learning_rate=%.9g\nwide_l1=%.9g\nwide_l2=%.9g\nwide_initial_accumulator=%.9g\nwide_buckets=%u\n",
                (double)m->wide.learning_rate, (double)m->wide.l1, (double)m->wide.l2,
                (double)(float)o->wide_initial_accumulator, m->buckets);
  ts_text_add(text, "async_embedding=%d\nmicro_batch=%u\ngraph_fusion=%d\ndropout=%.17g\nbf16=%s\ndeterministic=%d\nsums=%s\n",
              o->async_embedding, o->micro_batch, m->top.options.fusion, o->dropout, ts_bf16_names[o->bf16],
              o->deterministic, o->apart > 0 ? "tree" : "order");
  ts_text_add(text, "data.rows=%llu\ndata.keys=%016llx\ndata.contents=%016llx\n",
              (unsigned long long)t->data.header.rows, (unsigned long long)t->data.header.key_digest,
              (unsigned long long)t->data.header.sums_checksum);
  /* Behind all else, and by samples unsaid: the form of checkpoints from before there was another way. */
  if (o->first_layer == TS_FIRST_DISTINCT) ts_text_add(text, "first_layer=%s\n", ts_first_layer_names[o->first_layer]);
}

/* How far it is, and the shapes of the dense weights, for whoever reads the pieces without a trainer. */
static void write_progress(ts_trainer *t, ts_text *text) {
  ts_model *m = &t->model;
  ts_text_add(text, "step=%llu\nupdates.mlp=%llu\n", (unsigned long long)t->step,
              (unsigned long long)atomic_load_explicit(&m->top.rule.steps, memory_order_relaxed));
  if (ts_model_has_bottom(m))
    ts_text_add(text, "updates.bottom=%llu\n",
                (unsigned long long)atomic_load_explicit(&m->bottom.rule.steps, memory_order_relaxed));
}

static void write_shapes(ts_trainer *t, ts_text *text) {
  part p;
  for (uint32_t i = 0; part_at(&t->model, i, &p); i++) {
    if (p.wide != NULL) continue;
    const ts_row_layout *l = &p.rows->optimizer.layout;
    ts_text_add(text, "%s=%u,%u,%u,%u\n", p.name, p.rows->rows, p.rows->width, l->slots, l->stride);
  }
}

/* ---- out ---- */

static void write_all(ts_trainer *t, const ts_text *texts, ts_named *s) {
  static const char *const names[] = {"options", "progress", "shapes"};
  for (uint32_t i = 0; i < 3; i++) ts_named_put(s, names[i], texts[i].bytes, texts[i].length);
  part p;
  for (uint32_t i = 0; part_at(&t->model, i, &p); i++) add_part(s, &p);
}

int32_t ts_trainer_save_state(ts_trainer *t, ts_named *out, ts_err err) {
  ts_text texts[3] = {0};
  *out = (ts_named){0};
  ts_trainer_write_options(t, &texts[0]);
  write_progress(t, &texts[1]);
  write_shapes(t, &texts[2]);
  int32_t status = TS_ENOMEM;
  if (!texts[0].failed && !texts[1].failed && !texts[2].failed) {
    write_all(t, texts, out);
    status = ts_named_allocate(out);
    if (status == TS_OK) write_all(t, texts, out);
  }
  if (status != TS_OK) {
    status = ts_fail(err, status, "Cannot checkpoint the trainer: no memory for %llu bytes of dense weights",
                     (unsigned long long)out->used);
    *out = (ts_named){0};
  }
  for (uint32_t i = 0; i < 3; i++) free(texts[i].bytes);
  return status;
}

/* ---- in ---- */

static int32_t damaged(ts_err err, const char *what, const char *name) {
  return ts_fail(err, TS_EFORMAT, "Cannot restore the trainer: the trainer's state in the checkpoint %s%s", what, name);
}

/* The piece of this name that must come next. */
static int32_t expect(const ts_named *s, uint64_t *at, const char *name, ts_named_piece *out, ts_err err) {
  if (ts_named_next(s, at, out) && ts_named_is(out, name)) return TS_OK;
  return damaged(err, "lacks ", name);
}

typedef struct line {
  const char *text;
  uint32_t name, length; /* bytes before the "=", of all */
} line;

static bool next_line(const char **at, const char *end, line *out) {
  if (*at == end) return false;
  const char *stop = memchr(*at, '\n', (size_t)(end - *at));
  if (stop == NULL) stop = end;
  const char *equals = memchr(*at, '=', (size_t)(stop - *at));
  *out = (line){*at, (uint32_t)((equals == NULL ? stop : equals) - *at), (uint32_t)(stop - *at)};
  *at = stop == end ? end : stop + 1;
  return true;
}

static bool same_bytes(const char *a, uint32_t n, const char *b, uint32_t m) { return n == m && memcmp(a, b, n) == 0; }

static uint32_t value_bytes(const line *l) { return l->length > l->name ? l->length - l->name - 1 : 0; }

static int32_t differs(const line *ours, const line *theirs, ts_err err) {
  if (ours->text == NULL || theirs->text == NULL || !same_bytes(ours->text, ours->name, theirs->text, theirs->name)) {
    const line *l = theirs->text != NULL ? theirs : ours;
    return ts_fail(err, TS_EINVAL,
                   "Cannot restore the trainer: option \"%.*s\" is of %s; open the trainer with the options of the checkpoint's",
                   (int)l->name, l->text, l == theirs ? "the checkpoint's trainer and not of this one" : "this trainer alone");
  }
  const bool data = ours->name > 5 && memcmp(ours->text, "data.", 5) == 0;
  return ts_fail(err, TS_EINVAL,
                 "Cannot restore the trainer: %s \"%.*s\" is %.*s here and %.*s in the checkpoint; open the trainer with %s",
                 data ? "the training data are others:" : "option", (int)ours->name, ours->text, (int)value_bytes(ours),
                 ours->text + ours->name + 1, (int)value_bytes(theirs), theirs->text + theirs->name + 1,
                 data ? "the data of the checkpoint's" : "the checkpoint's");
}

static int32_t check_options(ts_trainer *t, const ts_named_piece *theirs, ts_err err) {
  ts_text text = {0};
  ts_trainer_write_options(t, &text);
  if (text.failed) return ts_fail(err, TS_ENOMEM, "Cannot restore the trainer: out of memory");
  const char *a = text.bytes, *const a_end = a + text.length;
  const char *b = (const char *)theirs->content, *const b_end = b + theirs->bytes;
  int32_t status = TS_OK;
  for (bool first = true; status == TS_OK; first = false) {
    line ours = {0}, other = {0};
    const bool more = next_line(&a, a_end, &ours), others = next_line(&b, b_end, &other);
    if (!more && !others) break;
    if (more && others && same_bytes(ours.text, ours.length, other.text, other.length)) continue;
    status = first ? damaged(err, "is of another version than this library's ", FORM) : differs(&ours, &other, err);
  }
  free(text.bytes);
  return status;
}

/* Whole numbers behind "name=" in a text of lines. */
static bool read_number(const ts_named_piece *text, const char *name, uint64_t *out) {
  const char *at = (const char *)text->content, *const end = at + text->bytes;
  for (line l; next_line(&at, end, &l);) {
    if (!same_bytes(l.text, l.name, name, (uint32_t)strlen(name))) continue;
    const uint32_t digits = value_bytes(&l);
    uint64_t value = 0;
    for (uint32_t i = 0; i < digits; i++) {
      const char c = l.text[l.name + 1 + i];
      if (c < '0' || c > '9' || value > (INT64_MAX - 9) / 10) return false;
      value = value * 10 + (uint64_t)(c - '0');
    }
    *out = value;
    return digits > 0;
  }
  return false;
}

typedef struct progress {
  uint64_t step, of_top, of_bottom;
} progress;

/* Checks everything, and calls take_part for each part where that is asked. */
static int32_t read_all(ts_trainer *t, const ts_named *s, bool take, progress *out, ts_err err) {
  uint64_t at = 0;
  ts_named_piece options, text, shapes;
  int32_t status = expect(s, &at, "options", &options, err);
  if (status == TS_OK) status = check_options(t, &options, err);
  if (status == TS_OK) status = expect(s, &at, "progress", &text, err);
  if (status == TS_OK) status = expect(s, &at, "shapes", &shapes, err);
  if (status != TS_OK) return status;
  if (!read_number(&text, "step", &out->step)) return damaged(err, "lacks ", "its step");
  if (!read_number(&text, "updates.mlp", &out->of_top) ||
      (ts_model_has_bottom(&t->model) && !read_number(&text, "updates.bottom", &out->of_bottom)))
    return damaged(err, "lacks ", "its updates");
  part p;
  for (uint32_t i = 0; part_at(&t->model, i, &p); i++) {
    ts_named_piece found;
    status = expect(s, &at, p.name, &found, err);
    if (status != TS_OK) return status;
    if (found.bytes != p.bytes) return damaged(err, "has another size of ", p.name);
    if (take) take_part(&p, found.content);
  }
  return at == s->used ? TS_OK : damaged(err, "has more than this library knows after ", "its last piece");
}

int32_t ts_trainer_check_state(ts_trainer *t, const ts_named *state, ts_err err) {
  progress ignored = {0};
  return read_all(t, state, false, &ignored, err);
}

int32_t ts_trainer_load_state(ts_trainer *t, const ts_named *state, ts_err err) {
  progress p = {0};
  int32_t status = read_all(t, state, false, &p, err);
  if (status == TS_OK) status = read_all(t, state, true, &p, err);
  if (status != TS_OK) return status;
  ts_model *m = &t->model;
  atomic_store_explicit(&m->top.rule.steps, p.of_top, memory_order_relaxed);
  ts_mlp_pack(&m->top);
  if (ts_model_has_bottom(m)) {
    atomic_store_explicit(&m->bottom.rule.steps, p.of_bottom, memory_order_relaxed);
    ts_mlp_pack(&m->bottom);
  }
  t->step = p.step;
  t->ahead = TS_NO_STEP;
  t->staled_count = 0;
  return TS_OK;
}
